//! An input held in a resource.

use super::{From, TrackSource};
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{DecodeError, EncodeNotes, NoEntities, Source, TickInput, TypeSpec, VecSink};
use core::marker::PhantomData;
use std::sync::Arc;

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

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        if !world.contains_resource::<T>() {
            world.insert_resource(T::default());
        }
        let mut live = world.resource_mut::<T>();
        encode(&*live, seen);
        let recorded = match from {
            From::Live => return Ok(()),
            From::Nothing => T::default(),
            From::Tape(recorded) if recorded == seen => return Ok(()),
            From::Tape(recorded) => {
                let mut source = Source::new(recorded, &NoEntities);
                let value = T::decode(&mut source)?;
                source.finish()?;
                value
            }
        };
        *live = recorded;
        seen.clear();
        encode(&*live, seen);
        Ok(())
    }

    fn end(&mut self, world: &mut World) {
        if T::HAS_ONCE
            && let Some(mut value) = world.get_resource_mut::<T>()
        {
            // Not a change of the input: the next tick sees what the game gathers for it.
            value.bypass_change_detection().consume();
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
