//! An input held in a component of simulated entities: split screen, input crates.

use super::{From, TrackSource};
use crate::state::SimId;
use crate::state::registry::unfiltered;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_replay_tape::{Canonical, DecodeError, EncodeNotes, NoEntities, Source, TickInput, TypeSpec, VecSink};
use std::sync::Arc;

/// One component type as recorded input; a value is the list of (sim id, component), ascending.
pub(crate) struct ComponentTrack<T: Component<Mutability = Mutable>> {
    spec: TypeSpec,
    query: Option<QueryState<(&'static SimId, &'static mut T)>>,
}

impl<T: Component<Mutability = Mutable> + TickInput> ComponentTrack<T> {
    pub(crate) fn new() -> Self {
        Self { spec: TypeSpec { name: T::type_name(), schema: Arc::new(Vec::<(u64, T)>::schema()) }, query: None }
    }
}

impl<T: Component<Mutability = Mutable> + TickInput> TrackSource for ComponentTrack<T> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let query = self.query.as_mut().expect("registries are frozen before the first tick");
        let recorded = match from {
            From::Live => None,
            From::Nothing => Some(Vec::new()),
            From::Tape(bytes) => {
                let mut source = Source::new(bytes, &NoEntities);
                let recorded = Vec::<(u64, T)>::decode(&mut source)?;
                source.finish()?;
                Some(recorded)
            }
        };
        let mut rows: Vec<(u64, Mut<T>)> = query.iter_mut(world).map(|(id, value)| (id.0, value)).collect();
        rows.sort_unstable_by_key(|row| row.0);
        if let Some(recorded) = recorded {
            for (id, live) in &mut rows {
                let value = recorded.iter().find(|row| row.0 == *id).map_or_else(T::default, |row| row.1.clone());
                if encode(&value) != encode(&**live) {
                    **live = value;
                }
            }
        }
        let mut sink_bytes = Vec::new();
        for (id, value) in &rows {
            sink_bytes.extend_from_slice(&id.to_le_bytes());
            sink_bytes.extend(encode(&**value));
        }
        seen.extend_from_slice(&(rows.len() as u64).to_le_bytes());
        seen.append(&mut sink_bytes);
        Ok(())
    }

    fn end(&mut self, world: &mut World) {
        if T::HAS_ONCE
            && let Some(query) = &mut self.query
        {
            for (_, mut value) in query.iter_mut(world) {
                value.bypass_change_detection().consume();
            }
        }
    }

    fn release(&mut self, world: &mut World) {
        let Some(query) = &mut self.query else { return };
        for (_, mut value) in query.iter_mut(world) {
            *value = T::default();
        }
    }
}

fn encode(value: &impl TickInput) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut VecSink::new(&mut out, &NoEntities, &mut EncodeNotes::default()));
    out
}
