//! One authoritative type's way into an image.

mod writer;

use super::codec::Codec;
use super::purity::place_of;
use super::registry::unfiltered;
use super::restore::{SimIndex, WriteBack};
use super::roster::Roster;
use super::sim_id::{SimId, WorldIds};
use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::resource::IsResource;
use bevy_replay_tape::{
    BLOCK_ROWS, BlockDigests, DecodeError, EncodeNotes, Ids, Lane, ResourceState, SlotSink, Source, TypeSpec, VecSink,
};
use core::any::TypeId;
use core::marker::PhantomData;
use std::sync::Arc;
use writer::Writer;

/// A registered component type.
pub(crate) trait LaneSource: Send + Sync {
    /// Name and encoding.
    fn spec(&self) -> &TypeSpec;
    /// The component.
    fn of(&self) -> TypeId;
    /// Prepares to read a world.
    fn attach(&mut self, world: &mut World);
    /// Finds out which rows there are; the roster is that of this moment.
    fn select(&mut self, world: &World, roster: &mut Roster, lane: &mut Lane, known: &mut BlockDigests);
    /// Writes the rows that were selected over those of the last capture, and forgets the blocks of those that differ;
    /// with `since` it may look only at rows with a newer change tick. The roster is still that of `select`.
    fn capture(
        &mut self,
        world: &World,
        roster: &Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        since: Option<Tick>,
        notes: &mut EncodeNotes,
    );
    /// Writes rows back that are not as wanted; `now` is what the world holds.
    fn restore(&self, world: &mut World, index: &SimIndex, wanted: &Lane, now: &Lane) -> Result<(), DecodeError>;
    /// Returns where an entity's value was written last, where Bevy knows it.
    fn writer(&self, world: &World, entity: Entity) -> Option<String>;
    /// Returns an entity whose value was written after a change tick, and where.
    fn written_since(&mut self, world: &World, since: Tick) -> Option<(u64, Option<String>)>;
}

type ChangesQuery<T> = QueryState<(&'static SimId, Ref<'static, T>), Without<IsResource>>;

/// Reads components of one type.
pub(crate) struct ComponentLane<T: Component, C> {
    spec: TypeSpec,
    codec: C,
    query: Option<QueryState<(&'static SimId, &'static T), Without<IsResource>>>,
    changes: Option<ChangesQuery<T>>,
    /// The tables of the latest capture, as the query meets them.
    columns: Vec<usize>,
    /// The same, ascending, if these are not.
    tables: Vec<usize>,
    /// Their rows in the roster; none for types that are read entity by entity.
    selection: Option<usize>,
    scattered: Scattered,
}

/// Rows that come in no order: sparse-set components and values without a fixed width.
#[derive(Default)]
pub(super) struct Scattered {
    rows: Vec<(u64, usize, usize)>,
    bytes: Vec<u8>,
}

impl Scattered {
    pub(super) fn push(&mut self, id: u64, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        encode(&mut self.bytes);
        self.rows.push((id, start, self.bytes.len()));
    }

    /// Puts the rows into a lane, in the order of their ids.
    pub(super) fn settle(&mut self, lane: &mut Lane) {
        self.rows.sort_unstable();
        if !lane.ids.iter().eq(self.rows.iter().map(|row| &row.0)) {
            let sorted = Ids::new(self.rows.iter().map(|row| row.0).collect());
            lane.ids = Arc::new(sorted.expect("ids are unique: the roster checked all tables"));
        }
        lane.rows.clear();
        for (_, start, end) in self.rows.drain(..) {
            lane.rows.push(|out| out.extend_from_slice(&self.bytes[start..end]));
        }
        self.bytes.clear();
    }
}

impl<T: Component, C: Codec<T>> ComponentLane<T, C> {
    pub(crate) fn new(codec: C) -> Self {
        let (spec, scattered) = (codec.spec(), Scattered::default());
        let (columns, tables) = (Vec::new(), Vec::new());
        Self { spec, codec, query: None, changes: None, columns, tables, selection: None, scattered }
    }

    /// Writes only rows with a newer change tick over those of the last capture, and forgets their blocks.
    ///
    /// Returns whether that was possible, and worth it.
    fn update(
        &mut self,
        world: &World,
        roster: &Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        since: Tick,
        notes: &mut EncodeNotes,
    ) -> bool {
        // A reference to an entity changes when its target goes, without any write here.
        let Some(width) = self.codec.width().filter(|width| *width > 0 && !self.spec.schema.has_entities()) else {
            return false;
        };
        let Some(selection) = self.selection.filter(|_| !known.is_empty()) else { return false };
        let (ids, now) = (WorldIds::writing(world), world.read_change_tick());
        let columns = self.changes.as_mut().expect(IS_FROZEN).contiguous_iter(world).expect(IS_DENSE);
        let slots = lane.rows.slots(lane.ids.len());
        let mut changed = 0;
        for (column, values) in columns {
            let ranks = &roster.places(selection, roster.table(column)).ranks;
            let ticks = values.changed_ticks_slice();
            let parts = ticks.chunks(PART_ROWS).zip(values.into_inner().chunks(PART_ROWS));
            for ((ticks, values), ranks) in parts.zip(ranks.chunks(PART_ROWS)) {
                let newer = count_newer(ticks, since, now);
                if newer == 0 {
                    continue;
                }
                changed += newer;
                if changed * 4 > lane.ids.len() {
                    return false; // all rows at memory speed take less; what was written here is written again
                }
                for ((value, tick), rank) in values.iter().zip(ticks).zip(ranks) {
                    if tick.is_newer_than(since, now) {
                        let rank = *rank as usize;
                        let slot = &mut slots[rank * width..][..width];
                        self.codec.encode(value, &mut SlotSink::new(slot, &ids, notes));
                        known.forget(rank);
                    }
                }
            }
        }
        true
    }
}

const IS_FROZEN: &str = "registries are frozen before the first capture";
const IS_DENSE: &str = "the query was dense when the rows were selected";

impl<T: Component, C: Codec<T>> LaneSource for ComponentLane<T, C>
where
    T::Mutability: WriteBack<T>,
{
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn of(&self) -> TypeId {
        TypeId::of::<T>()
    }

    fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
        self.changes = Some(unfiltered(world));
    }

    fn select(&mut self, world: &World, roster: &mut Roster, lane: &mut Lane, known: &mut BlockDigests) {
        self.selection = None;
        let query = self.query.as_mut().expect(IS_FROZEN);
        let columns = self.codec.width().and_then(|_| query.contiguous_iter(world).ok());
        if let Some(columns) = columns {
            // Anew each time: rows that move to another table in their order leave all id columns as they were.
            self.columns.clear();
            self.columns.extend(columns.map(|(ids, _)| roster.table(ids)));
            let index = match self.columns.is_sorted() {
                true => roster.selection(&self.columns),
                false => {
                    self.tables.clone_from(&self.columns);
                    self.tables.sort_unstable();
                    roster.selection(&self.tables)
                }
            };
            if !Arc::ptr_eq(&lane.ids, roster.ids(index)) {
                lane.ids = roster.ids(index).clone();
                known.forget_all();
            }
            self.selection = Some(index);
        }
    }

    fn capture(
        &mut self,
        world: &World,
        roster: &Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        since: Option<Tick>,
        notes: &mut EncodeNotes,
    ) {
        if since.is_some_and(|since| self.update(world, roster, lane, known, since, notes)) {
            return;
        }
        let query = self.query.as_mut().expect(IS_FROZEN);
        let ids = WorldIds::writing(world);
        if let Some(selection) = self.selection {
            let columns = query.contiguous_iter(world).expect(IS_DENSE);
            let tables = self.columns.iter().map(|table| roster.places(selection, *table));
            let tables = columns.zip(tables).map(|((_, values), places)| (values, places));
            let rows = lane.ids.len();
            let compares = known.begin(rows);
            let slots = lane.rows.slots(rows.next_multiple_of(BLOCK_ROWS));
            let writer = Writer { codec: &self.codec, slots, rows, known, ids: &ids, notes };
            if compares {
                writer.write::<T, true>(tables);
                known.end();
            } else {
                writer.write::<T, false>(tables);
            }
            lane.rows.slots(rows);
            return;
        }
        known.forget_all();
        for (id, value) in query.iter(world) {
            self.scattered.push(id.0, |bytes| self.codec.encode(value, &mut VecSink::new(bytes, &ids, notes)));
        }
        self.scattered.settle(lane);
    }

    fn restore(&self, world: &mut World, index: &SimIndex, wanted: &Lane, now: &Lane) -> Result<(), DecodeError> {
        let is_gone = |id: &&u64| wanted.ids.row(**id).is_none();
        for entity in now.ids.iter().filter(is_gone).filter_map(|id| index.get(*id)) {
            world.entity_mut(entity).remove::<T>();
        }
        for (row, id) in wanted.ids.iter().enumerate() {
            let bytes = wanted.rows.row(row);
            let Some(entity) = index.get(*id) else { continue };
            // A reference may point at an entity that was spawned anew.
            if now.get(*id) != Some(bytes) || self.spec.schema.has_entities() {
                let mut entity = world.entity_mut(entity);
                let read = |value: &mut T| {
                    let mut source = Source::new(bytes, index);
                    self.codec.decode_in_place(value, &mut source)?;
                    source.finish()
                };
                let new = || self.codec.decode(&mut Source::new(bytes, index));
                T::Mutability::write_back(&mut entity, read, new)?;
            }
        }
        Ok(())
    }

    fn writer(&self, world: &World, entity: Entity) -> Option<String> {
        place_of(world.get_entity(entity).ok()?.get_changed_by::<T>()?.into_option())
    }

    fn written_since(&mut self, world: &World, since: Tick) -> Option<(u64, Option<String>)> {
        let (now, changes) = (world.read_change_tick(), self.changes.as_mut()?);
        // Who it was is looked for only if it was somebody.
        if let Ok(mut columns) = changes.contiguous_iter(world)
            && columns.all(|(_, values)| count_newer(values.changed_ticks_slice(), since, now) == 0)
        {
            return None;
        }
        let mut rows = changes.iter(world);
        let (id, value) = rows.find(|(_, value)| value.last_changed().is_newer_than(since, now))?;
        Some((id.0, place_of(value.changed_by().into_option())))
    }
}

/// Rows whose change ticks are asked together: few enough that a changed one has few to be looked at beside it.
const PART_ROWS: usize = 64;

/// Counts ticks newer than `since`, without leaving early, so that it runs at memory speed.
///
/// Never fewer than [`Tick::is_newer_than`] finds, and more only if `since` is older than the age at which Bevy caps others.
fn count_newer(ticks: &[Tick], since: Tick, now: Tick) -> usize {
    let age = |tick: Tick| now.get().wrapping_sub(tick.get());
    let count: u32 = ticks.iter().map(|tick| u32::from(age(*tick) < age(since))).sum();
    count as usize
}

/// A registered resource type.
pub(crate) trait ResourceSource: Send + Sync {
    /// Name and encoding.
    fn spec(&self) -> &TypeSpec;
    /// The resource.
    fn of(&self) -> TypeId;
    /// Writes the value, or that there is none.
    fn capture(&self, world: &World, state: &mut ResourceState, notes: &mut EncodeNotes);
    /// Writes the value back, or takes it away.
    fn restore(&self, world: &mut World, index: &SimIndex, wanted: &ResourceState) -> Result<(), DecodeError>;
    /// Returns where it was written last, where Bevy knows it, if that was after a change tick.
    fn written_since(&self, world: &World, since: Tick) -> Option<Option<String>>;
}

/// Reads a resource.
pub(crate) struct ResourceRow<T, C> {
    spec: TypeSpec,
    codec: C,
    of: PhantomData<fn() -> T>,
}

impl<T: Resource, C: Codec<T>> ResourceRow<T, C> {
    pub(crate) fn new(codec: C) -> Self {
        Self { spec: codec.spec(), codec, of: PhantomData }
    }
}

impl<T: Resource, C: Codec<T>> ResourceSource for ResourceRow<T, C>
where
    T::Mutability: WriteBack<T>,
{
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn of(&self) -> TypeId {
        TypeId::of::<T>()
    }

    fn capture(&self, world: &World, state: &mut ResourceState, notes: &mut EncodeNotes) {
        state.bytes.clear();
        let value = world.get_resource::<T>();
        state.present = value.is_some();
        if let Some(value) = value {
            self.codec.encode(value, &mut VecSink::new(&mut state.bytes, &WorldIds::writing(world), notes));
        }
    }

    fn restore(&self, world: &mut World, index: &SimIndex, wanted: &ResourceState) -> Result<(), DecodeError> {
        if !wanted.present {
            world.remove_resource::<T>();
            return Ok(());
        }
        let read = |value: &mut T| {
            let mut source = Source::new(&wanted.bytes, index);
            self.codec.decode_in_place(value, &mut source)?;
            source.finish()
        };
        let new = || self.codec.decode(&mut Source::new(&wanted.bytes, index));
        let carrier = world.component_id::<T>().and_then(|id| world.resource_entities().get(id));
        match carrier.filter(|_| world.contains_resource::<T>()) {
            Some(carrier) => T::Mutability::write_back(&mut world.entity_mut(carrier), read, new),
            None => {
                world.insert_resource(new()?);
                Ok(())
            }
        }
    }

    fn written_since(&self, world: &World, since: Tick) -> Option<Option<String>> {
        let value = world.get_resource_ref::<T>()?;
        let newer = value.last_changed().is_newer_than(since, world.read_change_tick());
        newer.then(|| place_of(value.changed_by().into_option()))
    }
}
