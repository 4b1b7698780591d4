//! An input held in a resource.

use super::{From, TrackSource};
use crate::state::purity::place_of;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{DecodeError, EncodeNotes, NoEntities, Source, TickInput, TypeSpec, VecSink};
use core::marker::PhantomData;
use std::sync::Arc;

/// An input held in a resource.
pub(crate) struct ResourceTrack<T> {
    spec: TypeSpec,
    /// What the running tick was shown, and when.
    shown: Vec<u8>,
    since: Tick,
    /// When ticks saw it change last, and when it changed for the frame.
    changed: Option<Tick>,
    frame_changed: Option<Tick>,
    of: PhantomData<fn() -> T>,
}

impl<T: Resource + TickInput> ResourceTrack<T> {
    pub(crate) fn new() -> Self {
        let spec = TypeSpec { name: T::type_name(), schema: Arc::new(T::schema()) };
        Self { spec, shown: Vec::new(), since: Tick::new(0), changed: None, frame_changed: None, of: PhantomData }
    }
}

impl<T: Resource<Mutability = Mutable> + TickInput> TrackSource for ResourceTrack<T> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        if !world.contains_resource::<T>() {
            world.insert_resource(T::default());
        }
        encode(world.resource::<T>(), seen);
        let recorded = match from {
            From::Live => None,
            From::Nothing => Some(T::default()),
            From::Tape(recorded) if recorded == seen => None,
            From::Tape(recorded) => {
                let mut source = Source::new(recorded, &NoEntities);
                let value = T::decode(&mut source)?;
                source.finish()?;
                Some(value)
            }
        };
        if let Some(recorded) = &recorded {
            seen.clear();
            encode(recorded, seen);
        }
        // Live and replayed, at any frame rate: the input has changed for the tick exactly if its value has.
        let mut live = world.resource_mut::<T>();
        self.frame_changed = Some(live.last_changed());
        if let Some(recorded) = recorded {
            *live.bypass_change_detection() = recorded;
        }
        match self.changed {
            Some(changed) if self.shown == *seen => live.set_last_changed(changed),
            _ => {
                live.set_changed();
                self.changed = Some(live.last_changed());
            }
        }
        self.shown.clear();
        self.shown.extend_from_slice(seen);
        self.since = world.increment_change_tick();
        Ok(())
    }

    fn written_inside(&self, world: &World) -> Option<Option<String>> {
        let value = world.get_resource_ref::<T>()?;
        if !value.last_changed().is_newer_than(self.since, world.read_change_tick()) {
            return None;
        }
        let mut now = Vec::new();
        encode(&*value, &mut now);
        (now != self.shown).then(|| place_of(value.changed_by().into_option()))
    }

    fn end(&mut self, world: &mut World) {
        let now = world.read_change_tick();
        let Some(mut value) = world.get_resource_mut::<T>() else { return };
        // Not a change of the input: the next tick sees what the game gathers for it.
        value.bypass_change_detection().consume();
        let written_inside = value.last_changed().is_newer_than(self.since, now);
        if let Some(frame_changed) = self.frame_changed.filter(|_| !written_inside) {
            value.set_last_changed(frame_changed);
        }
    }

    fn release(&mut self, world: &mut World) {
        if let Some(mut value) = world.get_resource_mut::<T>() {
            *value = T::default();
        }
    }
}

fn encode(value: &impl TickInput, out: &mut Vec<u8>) {
    value.encode(&mut VecSink::new(out, &NoEntities, &mut EncodeNotes::default()));
}
