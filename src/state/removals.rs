//! Removed components, tick by tick.
//!
//! Bevy keeps removals for two *frames*: a tick may miss them, or see them twice. Here a tick sees what
//! was removed since the previous tick began, once.

use super::SimId;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_replay_tape::{Canonical, DecodeError, SchemaBuilder, ShapeId, Sink, Source};
use core::marker::PhantomData;

/// The sim ids of entities that lost a `T`, in the order in which it happened. Authoritative.
#[derive(Resource, Debug)]
pub(crate) struct Removals<T> {
    shown: Vec<u64>,
    collected: Vec<u64>,
    of: PhantomData<fn() -> T>,
}

impl<T> Default for Removals<T> {
    fn default() -> Self {
        Self { shown: Vec::new(), collected: Vec::new(), of: PhantomData }
    }
}

/// What the next tick will be shown is what counts; what this one was shown has had its effect.
impl<T: Canonical> Canonical for Removals<T> {
    const WIDTH: Option<usize> = None;
    fn type_name() -> String {
        format!("Removals<{}>", T::type_name())
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        Vec::<u64>::shape(types)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.collected.encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(Self { collected: Vec::decode(input)?, ..Self::default() })
    }
}

/// Reads which simulated entities lost a `T` since the previous tick began, by despawn or removal.
///
/// For systems inside ticks; the type must be registered with
/// [`track_removals`](crate::ReplayAppExt::track_removals). Entities without a [`SimId`] are not listed.
#[derive(SystemParam, Debug)]
pub struct TickRemovals<'w, T: Component> {
    removals: Res<'w, Removals<T>>,
}

impl<T: Component> TickRemovals<'_, T> {
    /// Returns the sim ids in the order of removal.
    pub fn read(&self) -> impl ExactSizeIterator<Item = SimId> {
        self.removals.shown.iter().map(|id| SimId(*id))
    }
}

/// Watches removals; returns what is to be called at the beginning of each tick.
pub(crate) fn watch<T: Component>(world: &mut World) -> fn(&mut World) {
    world.init_resource::<Removals<T>>();
    world.add_observer(
        |removed: On<Remove<T>>, ids: Query<&SimId, Allow<Disabled>>, mut removals: ResMut<Removals<T>>| {
            if let Ok(id) = ids.get(removed.entity) {
                removals.collected.push(id.0);
            }
        },
    );
    |world| {
        let mut removals = world.resource_mut::<Removals<T>>();
        let Removals { shown, collected, of: _ } = removals.bypass_change_detection();
        shown.clear();
        shown.append(collected);
    }
}
