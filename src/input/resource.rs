//! An input held in a resource.

use super::{From, TrackSource};
use crate::state::codec::Codec;
use crate::state::purity::place_of;
use crate::state::restore::SimIndex;
use crate::state::sim_id::WorldIds;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{DecodeError, EncodeNotes, NoEntities, Source, TypeSpec, VecSink};
use core::marker::PhantomData;

/// An input held in a resource.
pub(crate) struct ResourceTrack<T, C> {
    spec: TypeSpec,
    codec: C,
    /// The canonical bytes of a value at rest.
    rest: Vec<u8>,
    /// What the running tick was shown, and when.
    shown: Vec<u8>,
    since: Tick,
    /// When ticks saw it change last, and when it changed for the frame.
    changed: Option<Tick>,
    frame_changed: Option<Tick>,
    of: PhantomData<fn() -> T>,
}

impl<T: Resource<Mutability = Mutable> + Default, C: Codec<T>> ResourceTrack<T, C> {
    pub(crate) fn new(codec: C) -> Self {
        let (spec, mut rest) = (codec.spec(), Vec::new());
        codec.encode(&T::default(), &mut VecSink::new(&mut rest, &NoEntities, &mut EncodeNotes::default()));
        Self {
            spec,
            rest,
            codec,
            shown: Vec::new(),
            since: Tick::new(0),
            changed: None,
            frame_changed: None,
            of: PhantomData,
        }
    }

    fn encode(&self, world: &World, value: &T, out: &mut Vec<u8>) -> EncodeNotes {
        let mut notes = EncodeNotes::default();
        self.codec.encode(value, &mut VecSink::new(out, &WorldIds::writing(world), &mut notes));
        notes
    }

    /// Puts a recorded value in the place of the live one; where it cannot be read, nothing is changed.
    fn overwrite(&self, world: &mut World, bytes: &[u8]) -> Result<(), DecodeError> {
        let ids = match self.spec.schema.has_entities() {
            true => SimIndex::of(world),
            false => SimIndex::default(),
        };
        let mut source = Source::new(bytes, &ids);
        self.codec.decode(&mut source)?;
        source.finish()?;
        let mut live = world.resource_mut::<T>();
        self.codec.decode_in_place(live.bypass_change_detection(), &mut Source::new(bytes, &ids))
    }
}

impl<T: Resource<Mutability = Mutable> + Default, C: Codec<T>> TrackSource for ResourceTrack<T, C> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn default(&self) -> Option<Vec<u8>> {
        Some(self.rest.clone())
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        if !world.contains_resource::<T>() {
            world.insert_resource(T::default());
        }
        let notes = self.encode(world, world.resource::<T>(), seen);
        let recorded: Option<&[u8]> = match from {
            // A NaN or a dead entity: the tick sees what a replay will see.
            From::Live if notes != EncodeNotes::default() => Some(&*seen),
            From::Live => None,
            From::Nothing => Some(&self.rest),
            From::Tape(recorded) if recorded == seen => None,
            From::Tape(recorded) => Some(recorded),
        };
        // Live and replayed, at any frame rate: the input has changed for the tick exactly if its value has.
        let frame_changed = world.resource_mut::<T>().last_changed();
        let is_overwritten = recorded.is_some();
        if let Some(recorded) = recorded {
            self.overwrite(world, recorded)?;
        }
        if is_overwritten {
            seen.clear();
            self.encode(world, world.resource::<T>(), seen);
        }
        self.frame_changed = Some(frame_changed);
        let mut live = world.resource_mut::<T>();
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

    fn written_inside(&mut self, world: &mut World) -> Option<Option<String>> {
        let value = world.get_resource_ref::<T>()?;
        if !value.last_changed().is_newer_than(self.since, world.read_change_tick()) {
            return None;
        }
        let mut now = Vec::new();
        self.encode(world, &value, &mut now);
        (now != self.shown).then(|| place_of(value.changed_by().into_option()))
    }

    fn end(&mut self, world: &mut World) {
        let now = world.read_change_tick();
        let Some(mut value) = world.get_resource_mut::<T>() else { return };
        // Not a change of the input: the next tick sees what the game gathers for it.
        self.codec.consume(value.bypass_change_detection());
        let written_inside = value.last_changed().is_newer_than(self.since, now);
        if let Some(frame_changed) = self.frame_changed.filter(|_| !written_inside) {
            value.set_last_changed(frame_changed);
        }
    }

    fn last_seen(&self) -> Option<&[u8]> {
        self.changed.map(|_| &*self.shown)
    }

    fn start(&mut self) {
        self.changed = None;
    }

    fn resume(&mut self, world: &mut World, last: From<'_>) {
        let mut shown = Vec::new();
        match last {
            From::Tape(bytes) => shown.extend_from_slice(bytes),
            From::Nothing | From::Live => shown.extend_from_slice(&self.rest),
        }
        self.shown = shown;
        self.changed.get_or_insert(world.change_tick());
    }

    fn release(&mut self, world: &mut World) {
        if world.contains_resource::<T>() {
            if let Err(error) = self.overwrite(world, &self.rest) {
                tracing::error!("input {} could not be released: {error}", self.spec.name);
            }
            world.resource_mut::<T>().set_changed();
        }
    }
}
