//! An input held in a component of simulated entities: split screen, input crates.

use super::{From, TrackSource};
use crate::state::SimId;
use crate::state::registry::unfiltered;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_replay_tape::{Canonical, DecodeError, EncodeNotes, NoEntities, Source, TickInput, TypeSpec, VecSink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One component type as recorded input; a value is the list of (sim id, component), ascending.
pub(crate) struct ComponentTrack<T: Component<Mutability = Mutable>> {
    spec: TypeSpec,
    query: Option<QueryState<(&'static SimId, &'static mut T)>>,
    /// What the last tick was shown, entity by entity, and when that changed.
    shown: BTreeMap<u64, (Vec<u8>, Tick)>,
}

impl<T: Component<Mutability = Mutable> + TickInput> ComponentTrack<T> {
    pub(crate) fn new() -> Self {
        Self {
            spec: TypeSpec { name: T::type_name(), schema: Arc::new(Vec::<(u64, T)>::schema()) },
            query: None,
            shown: BTreeMap::new(),
        }
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
        let recorded: Option<BTreeMap<u64, T>> = recorded.map(|rows| rows.into_iter().collect());
        let mut rows: Vec<(u64, Mut<T>)> = query.iter_mut(world).map(|(id, value)| (id.0, value)).collect();
        rows.sort_unstable_by_key(|row| row.0);
        (rows.len() as u64).encode(&mut VecSink::new(seen, &NoEntities, &mut EncodeNotes::default()));
        let mut shown = BTreeMap::new();
        for (id, mut live) in rows {
            if let Some(recorded) = &recorded {
                *live.bypass_change_detection() = recorded.get(&id).cloned().unwrap_or_default();
            }
            let mut bytes = Vec::new();
            (id, live.clone()).encode(&mut VecSink::new(&mut bytes, &NoEntities, &mut EncodeNotes::default()));
            seen.extend_from_slice(&bytes);
            // As for a resource: changed for the tick exactly if the value is.
            let changed = match self.shown.remove(&id) {
                Some((before, changed)) if before == bytes => {
                    live.set_last_changed(changed);
                    changed
                }
                _ => {
                    live.set_changed();
                    live.last_changed()
                }
            };
            shown.insert(id, (bytes, changed));
        }
        self.shown = shown;
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
