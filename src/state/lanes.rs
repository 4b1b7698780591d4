//! One authoritative type's way into an image.

use super::StateError;
use super::codec::Codec;
use super::purity::place_of;
use super::registry::unfiltered;
use super::restore::{SimIndex, WriteBack};
use super::roster::{Places, Roster};
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

/// A registered component type.
pub(crate) trait LaneSource: Send + Sync {
    /// Name and encoding.
    fn spec(&self) -> &TypeSpec;
    /// The component.
    fn of(&self) -> TypeId;
    /// Prepares to read a world.
    fn attach(&mut self, world: &mut World);
    /// Writes all rows over those of the last capture, and forgets the blocks of those that differ; the roster is
    /// that of this moment.
    fn capture(
        &mut self,
        world: &World,
        roster: &mut Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        notes: &mut EncodeNotes,
    ) -> Result<(), StateError>;
    /// Writes only rows with a newer change tick over those of the last capture, and forgets their blocks.
    ///
    /// Returns whether that was possible: the rows must be those of the last capture.
    fn update(
        &mut self,
        world: &World,
        roster: &mut Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        since: Tick,
        notes: &mut EncodeNotes,
    ) -> bool;
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
    tables: Vec<usize>,
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
        Self { spec, codec, query: None, changes: None, tables: Vec::new(), scattered }
    }
}

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

    fn capture(
        &mut self,
        world: &World,
        roster: &mut Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        notes: &mut EncodeNotes,
    ) -> Result<(), StateError> {
        let query = self.query.as_mut().expect("registries are frozen before the first capture");
        let ids = WorldIds::writing(world);
        if self.codec.width().is_some()
            && let Ok(columns) = query.contiguous_iter(world)
        {
            const IS_SIMULATED: &str = "a table with a registered type has simulated entities";
            // Anew each time: rows that move to another table in their order leave all id columns as they were.
            self.tables.clear();
            self.tables.extend(columns.map(|(ids, _)| roster.table(ids).expect(IS_SIMULATED)));
            self.tables.sort_unstable();
            let index = roster.selection(&self.tables);
            if !Arc::ptr_eq(&lane.ids, roster.ids(index)) {
                lane.ids = roster.ids(index).clone();
                known.forget_all();
            }
            // It is known now which tables take part, and these are they.
            let columns = query.contiguous_iter(world).expect("the query was dense a moment ago");
            let tables = columns.map(|(ids, values)| (values, roster.places(index, ids).expect(IS_SIMULATED)));
            let compares = known.begin();
            let slots = lane.rows.slots(lane.ids.len());
            let writer = Writer { codec: &self.codec, slots, known, ids: &ids, notes };
            if compares {
                let changed = writer.write::<T, true>(tables);
                known.end(changed, lane.ids.len());
            } else {
                writer.write::<T, false>(tables);
            }
            return Ok(());
        }
        known.forget_all();
        for (id, value) in query.iter(world) {
            self.scattered.push(id.0, |bytes| self.codec.encode(value, &mut VecSink::new(bytes, &ids, notes)));
        }
        self.scattered.settle(lane);
        Ok(())
    }

    fn update(
        &mut self,
        world: &World,
        roster: &mut Roster,
        lane: &mut Lane,
        known: &mut BlockDigests,
        since: Tick,
        notes: &mut EncodeNotes,
    ) -> bool {
        // A reference to an entity changes when its target goes, without any write here.
        let Some(width) = self.codec.width().filter(|width| *width > 0 && !self.spec.schema.has_entities()) else {
            return false;
        };
        let Some(index) = roster.known_selection(&self.tables) else { return false }; // rows have moved
        let changes = self.changes.as_mut().expect("registries are frozen before the first capture");
        let Ok(columns) = changes.contiguous_iter(world) else { return false };
        if known.is_empty() || !Arc::ptr_eq(&lane.ids, roster.ids(index)) {
            return false;
        }
        let (ids, now) = (WorldIds::writing(world), world.read_change_tick());
        let mut rows = 0;
        for (column, values) in columns {
            let Some(places) = roster.places(index, column) else { return false };
            let ticks = values.changed_ticks_slice();
            rows += ticks.len();
            for (row, (value, tick)) in values.into_inner().iter().zip(ticks).enumerate() {
                if tick.is_newer_than(since, now) {
                    let rank = match places {
                        Places::Run(first) => first + row,
                        Places::Ascending(ranks) | Places::Scattered(ranks) => ranks[row] as usize,
                    };
                    let slot = &mut lane.rows.slots(lane.ids.len())[rank * width..(rank + 1) * width];
                    self.codec.encode(value, &mut SlotSink::new(slot, &ids, notes));
                    known.forget(rank);
                }
            }
        }
        rows == lane.ids.len()
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
        // Without leaving early, so that it runs at memory speed. Who it was is looked for only if it was somebody.
        let any = |ticks: &[Tick]| ticks.iter().fold(false, |any, tick| any | tick.is_newer_than(since, now));
        if let Ok(mut columns) = changes.contiguous_iter(world)
            && !columns.any(|(_, values)| any(values.changed_ticks_slice()))
        {
            return None;
        }
        let mut rows = changes.iter(world);
        let (id, value) = rows.find(|(_, value)| value.last_changed().is_newer_than(since, now))?;
        Some((id.0, place_of(value.changed_by().into_option())))
    }
}

/// Writes the rows of a type with a fixed width.
struct Writer<'a, C> {
    codec: &'a C,
    slots: &'a mut [u8],
    known: &'a mut BlockDigests,
    ids: &'a WorldIds<'a>,
    notes: &'a mut EncodeNotes,
}

/// More tables than that are written one after another.
const MIXED_MAX: usize = 16;

impl<C> Writer<'_, C> {
    /// Writes tables to where their rows stand.
    ///
    /// Where it `COMPARES`, it forgets the blocks of rows that differ from those of the last capture, leaves the others as
    /// they are, and returns how many differ.
    fn write<'t, T: 't, const COMPARES: bool>(mut self, tables: impl Iterator<Item = (&'t [T], &'t Places)>) -> usize
    where
        C: Codec<T>,
    {
        // Asked here and not by the caller, as it is a constant in these loops then.
        let Some(width) = self.codec.width().filter(|width| *width > 0) else { return 0 };
        let mut changed = 0;
        // Tables in order whose rows lie between each other's: what is left of each.
        let mut mixed: [(&[T], &[u32]); MIXED_MAX] = [(&[], &[]); MIXED_MAX];
        let mut mixed_count = 0;
        for (values, places) in tables {
            match places {
                Places::Run(first) => {
                    for (value, rank) in values.iter().zip(*first..) {
                        changed += self.row::<T, COMPARES>(value, rank, width);
                    }
                }
                Places::Ascending(ranks) if mixed_count < MIXED_MAX => {
                    mixed[mixed_count] = (values, ranks);
                    mixed_count += 1;
                }
                Places::Ascending(ranks) | Places::Scattered(ranks) => {
                    for (value, rank) in values.iter().zip(ranks) {
                        changed += self.row::<T, COMPARES>(value, *rank as usize, width);
                    }
                }
            }
        }
        if mixed_count == 0 {
            return changed;
        }
        // They are written together, one block of the image after another, so that no memory is visited once for each
        // table; and a block is hashed while it is at hand.
        for (block, first) in (0..self.slots.len() / width).step_by(BLOCK_ROWS).enumerate() {
            let end = first + BLOCK_ROWS;
            for (values, ranks) in &mut mixed[..mixed_count] {
                let mut count = 0;
                for (value, rank) in values.iter().zip(*ranks).take_while(|(_, rank)| (**rank as usize) < end) {
                    changed += self.row::<T, COMPARES>(value, *rank as usize, width);
                    count += 1;
                }
                (*values, *ranks) = (&values[count..], &ranks[count..]);
            }
            self.known.learn(block, &self.slots[first * width..self.slots.len().min(end * width)]);
        }
        changed
    }

    /// Writes a row, and returns 1 if it is known to differ.
    #[inline(always)]
    fn row<T, const COMPARES: bool>(&mut self, value: &T, rank: usize, width: usize) -> usize
    where
        C: Codec<T>,
    {
        let slot = &mut self.slots[rank * width..][..width];
        // Small values are put together apart: what is read and what is written are then known not to overlap, and they
        // are compared and copied in few steps.
        let mut apart = [0; 64];
        let Some(apart) = apart.get_mut(..width) else {
            self.codec.encode(value, &mut SlotSink::new(slot, self.ids, self.notes));
            self.known.forget(rank);
            return usize::from(COMPARES);
        };
        self.codec.encode(value, &mut SlotSink::new(apart, self.ids, self.notes));
        if COMPARES && slot == apart {
            return 0;
        }
        slot.copy_from_slice(apart);
        if COMPARES {
            self.known.forget(rank);
        }
        usize::from(COMPARES)
    }
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
