//! Recorded inputs: what reaches the simulation from outside, once per tick.

use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{DecodeError, NoEntities, Source, TickInput, TypeSpec, VecSink};
use core::marker::PhantomData;
use std::sync::Arc;

/// A recorded input type.
pub(crate) trait TrackSource: Send + Sync {
    /// Name and encoding.
    fn spec(&self) -> &TypeSpec;
    /// Writes what the tick is about to see.
    fn read(&self, world: &World, out: &mut Vec<u8>);
    /// Replaces it with a recorded value, where it differs from `current`.
    fn replace(&self, world: &mut World, recorded: &[u8], current: &[u8]) -> Result<(), DecodeError>;
    /// Returns what exactly one tick may see to its default.
    fn consume(&self, world: &mut World);
    /// Returns all of it to its default.
    fn reset(&self, world: &mut World);
}

/// An input held in a resource.
pub(crate) struct ResourceTrack<T> {
    spec: TypeSpec,
    of: PhantomData<fn() -> T>,
}

impl<T: Resource + TickInput> ResourceTrack<T> {
    pub(crate) fn new() -> Self {
        Self { spec: TypeSpec { name: T::type_name(), schema: Arc::new(T::schema()) }, of: PhantomData }
    }
}

impl<T: Resource<Mutability = Mutable> + TickInput> TrackSource for ResourceTrack<T> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn read(&self, world: &World, out: &mut Vec<u8>) {
        let absent;
        let value = match world.get_resource::<T>() {
            Some(value) => value,
            None => {
                absent = T::default();
                &absent
            }
        };
        value.encode(&mut VecSink::new(out, &NoEntities, &mut Default::default()));
    }

    fn replace(&self, world: &mut World, recorded: &[u8], current: &[u8]) -> Result<(), DecodeError> {
        if recorded == current {
            return Ok(());
        }
        let mut source = Source::new(recorded, &NoEntities);
        let value = T::decode(&mut source)?;
        source.finish()?;
        match world.get_resource_mut::<T>() {
            Some(mut live) => *live = value,
            None => world.insert_resource(value),
        }
        Ok(())
    }

    fn consume(&self, world: &mut World) {
        if T::HAS_ONCE
            && let Some(mut value) = world.get_resource_mut::<T>()
        {
            // Not a change of the input: the next tick sees what the game gathers for it.
            value.bypass_change_detection().consume();
        }
    }

    fn reset(&self, world: &mut World) {
        if let Some(mut value) = world.get_resource_mut::<T>() {
            *value = T::default();
        }
    }
}
