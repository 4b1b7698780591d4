//! An input held in a component of simulated entities: split screen, input crates.

use super::{From, TrackSource};
use crate::state::SimId;
use crate::state::codec::Codec;
use crate::state::purity::place_of;
use crate::state::registry::unfiltered;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_replay_tape::{
    Canonical, DecodeError, EncodeNotes, NoEntities, Schema, Shape, Source, TypeSpec, VecSink, encode_to_vec,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One component type as recorded input; a value is the list of (sim id, component), ascending.
pub(crate) struct ComponentTrack<T: Component<Mutability = Mutable>, C> {
    spec: TypeSpec,
    codec: C,
    query: Option<QueryState<(&'static SimId, &'static mut T)>>,
    /// What the last tick was shown, entity by entity, and when that changed.
    shown: BTreeMap<u64, (Vec<u8>, Tick)>,
    /// The change tick when the running tick was shown its input.
    since: Tick,
}

impl<T: Component<Mutability = Mutable>, C: Codec<T>> ComponentTrack<T, C> {
    pub(crate) fn new(codec: C) -> Self {
        let schema = Schema::build(|types| {
            types.define::<Vec<(u64, T)>>(|types| {
                let row = types.define::<(u64, T)>(|types| {
                    let id = u64::shape(types);
                    Shape::Tuple { items: vec![id, codec.shape(types)] }
                });
                Shape::List { item: row }
            })
        });
        let spec = TypeSpec { name: codec.name(), schema: Arc::new(schema) };
        assert!(
            !spec.schema.has_entities(),
            "the recorded component {} holds an `Entity`, which means another one in each app (record its sim id, or a message)",
            spec.name
        );
        Self { spec, codec, query: None, shown: BTreeMap::new(), since: Tick::new(0) }
    }

    /// The canonical bytes of each entity's value.
    fn rows(&self, bytes: &[u8]) -> Result<BTreeMap<u64, Vec<u8>>, DecodeError> {
        let mut source = Source::new(bytes, &NoEntities);
        let mut rows = BTreeMap::new();
        for _ in 0..source.count(size_of::<u64>())? {
            let id = u64::decode(&mut source)?;
            let value = self.codec.decode(&mut source)?;
            rows.insert(id, encode(&self.codec, id, &value).0);
        }
        source.finish()?;
        Ok(rows)
    }

    /// Puts a row's value in the place of a live one.
    fn overwrite(&self, live: &mut Mut<T>, row: &[u8]) -> Result<(), DecodeError> {
        let mut source = Source::new(&row[size_of::<u64>()..], &NoEntities);
        self.codec.decode_in_place(live.bypass_change_detection(), &mut source)
    }
}

/// The canonical bytes of a row, and what had to be normalised for them.
fn encode<T>(codec: &impl Codec<T>, id: u64, value: &T) -> (Vec<u8>, EncodeNotes) {
    let (mut bytes, mut notes) = (id.to_le_bytes().to_vec(), EncodeNotes::default());
    codec.encode(value, &mut VecSink::new(&mut bytes, &NoEntities, &mut notes));
    (bytes, notes)
}

impl<T: Component<Mutability = Mutable> + Default, C: Codec<T>> TrackSource for ComponentTrack<T, C> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    /// No rows: each entity has its default.
    fn default(&self) -> Option<Vec<u8>> {
        Some(encode_to_vec(&0_u64))
    }

    fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let mut recorded = match from {
            From::Live => None,
            From::Nothing => Some(BTreeMap::new()),
            From::Tape(bytes) => Some(self.rows(bytes)?),
        };
        let mut query = self.query.take().expect("registries are frozen before the first tick");
        let mut rows: Vec<(u64, Mut<T>)> = query.iter_mut(world).map(|(id, value)| (id.0, value)).collect();
        rows.sort_unstable_by_key(|row| row.0);
        seen.extend_from_slice(&(rows.len() as u64).to_le_bytes());
        let mut shown = BTreeMap::new();
        for (id, mut live) in rows {
            if let Some(recorded) = &mut recorded {
                let row = recorded.remove(&id).unwrap_or_else(|| encode(&self.codec, id, &T::default()).0);
                self.overwrite(&mut live, &row)?;
            }
            let (bytes, notes) = encode(&self.codec, id, &*live);
            if notes != EncodeNotes::default() {
                // A NaN: the tick sees what a replay will see.
                self.overwrite(&mut live, &bytes)?;
            }
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
        self.query = Some(query);
        self.since = world.increment_change_tick();
        Ok(())
    }

    fn written_inside(&mut self, world: &mut World) -> Option<Option<String>> {
        let (query, now) = (self.query.as_mut()?, world.read_change_tick());
        let mut written = query.iter_mut(world).filter(|(id, value)| {
            // One that appeared in this tick has no tape to defeat yet.
            value.last_changed().is_newer_than(self.since, now)
                && self.shown.get(&id.0).is_some_and(|(shown, _)| *shown != encode(&self.codec, id.0, &**value).0)
        });
        written.next().map(|(_, value)| place_of(value.changed_by().into_option()))
    }

    fn end(&mut self, world: &mut World) {
        if self.codec.has_once()
            && let Some(query) = &mut self.query
        {
            for (_, mut value) in query.iter_mut(world) {
                self.codec.consume(value.bypass_change_detection());
            }
        }
    }

    fn start(&mut self) {
        self.shown.clear();
    }

    fn resume(&mut self, world: &mut World, last: From<'_>) {
        let From::Tape(bytes) = last else { return self.shown.clear() };
        let Ok(rows) = self.rows(bytes) else { return }; // the tick that sees it says so
        let now = world.change_tick();
        let changed = |id: &u64| self.shown.get(id).map_or(now, |(_, changed)| *changed);
        self.shown = rows.into_iter().map(|(id, row)| (id, (row, changed(&id)))).collect();
    }

    fn release(&mut self, world: &mut World) {
        let Some(query) = &mut self.query else { return };
        let mut rows = Vec::new();
        let rest = encode(&self.codec, 0, &T::default()).0;
        for (_, mut value) in query.iter_mut(world) {
            let mut source = Source::new(&rest[size_of::<u64>()..], &NoEntities);
            rows.push(self.codec.decode_in_place(&mut value, &mut source));
        }
        if let Some(Err(error)) = rows.into_iter().find(Result::is_err) {
            tracing::error!("input {} could not be released: {error}", self.spec.name);
        }
    }
}
