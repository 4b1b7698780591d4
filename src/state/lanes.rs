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
    /// Writes all rows, and hashes the blocks that are at hand; the roster is that of this moment.
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
        if let Some(width) = self.codec.width()
            && let Ok(columns) = query.contiguous_iter(world)
        {
            let simulated = "a table with a registered type has simulated entities";
            self.tables.clear();
            self.tables.extend(columns.map(|(ids, _)| roster.table(ids).expect(simulated)));
            let mut sorted = core::mem::take(&mut self.tables);
            sorted.sort_unstable();
            let index = roster.selection(&sorted);
            lane.ids = roster.ids(index).clone();
            let slots = lane.rows.slots(lane.ids.len());
            let mut mixed = Mixed::default();
            // The first pass found out which tables take part, this one reads them.
            for (column, values) in query.contiguous_iter(world).expect("the query was dense a moment ago") {
                let places = roster.places(index, column).expect(simulated);
                if !mixed.add(values, places) {
                    encode_column(&self.codec, values, places, slots, width, &ids, notes);
                }
            }
            mixed.encode(&self.codec, slots, width, known, &ids, notes);
            self.tables = sorted;
            return Ok(());
        }
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
                    known.forget(rank);
                    let slot = &mut lane.rows.slots(lane.ids.len())[rank * width..(rank + 1) * width];
                    self.codec.encode(value, &mut SlotSink::new(slot, &ids, notes));
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

/// Tables in order whose rows lie between each other's.
///
/// They are written together, one block of the image after another, so that no memory is visited once for each table; and
/// a block is hashed while it is at hand.
struct Mixed<'a, T> {
    /// What is left of each, and where it goes.
    tables: [(&'a [T], &'a [u32]); MIXED_MAX],
    count: usize,
}

/// More tables than that are written one after another.
const MIXED_MAX: usize = 16;

impl<T> Default for Mixed<'_, T> {
    fn default() -> Self {
        Self { tables: [(&[], &[]); MIXED_MAX], count: 0 }
    }
}

impl<'a, T> Mixed<'a, T> {
    /// Returns whether the table is one of them.
    fn add(&mut self, values: &'a [T], places: &'a Places) -> bool {
        let (Places::Ascending(ranks), Some(place)) = (places, self.tables.get_mut(self.count)) else { return false };
        *place = (values, ranks);
        self.count += 1;
        true
    }

    /// To be called when all other tables are written.
    fn encode<C: Codec<T>>(
        mut self,
        codec: &C,
        slots: &mut [u8],
        width: usize,
        known: &mut BlockDigests,
        ids: &WorldIds<'_>,
        notes: &mut EncodeNotes,
    ) {
        if self.count == 0 || width == 0 {
            return;
        }
        for (block, first) in (0..slots.len()).step_by(BLOCK_ROWS * width).enumerate() {
            let end = slots.len().min(first + BLOCK_ROWS * width);
            for (values, ranks) in &mut self.tables[..self.count] {
                let count = encode_rows(codec, values, ranks, &mut slots[..end], width, ids, notes);
                (*values, *ranks) = (&values[count..], &ranks[count..]);
            }
            known.learn(block, &slots[first..end]);
        }
    }
}

/// Writes the values of one table to where their rows stand.
fn encode_column<T, C: Codec<T>>(
    codec: &C,
    values: &[T],
    places: &Places,
    slots: &mut [u8],
    width: usize,
    ids: &WorldIds<'_>,
    notes: &mut EncodeNotes,
) {
    if width == 0 {
        return;
    }
    match places {
        Places::Run(first) => {
            let slots = &mut slots[first * width..(first + values.len()) * width];
            for (value, slot) in values.iter().zip(slots.chunks_exact_mut(width)) {
                codec.encode(value, &mut SlotSink::new(slot, ids, notes));
            }
        }
        Places::Ascending(ranks) | Places::Scattered(ranks) => {
            encode_rows(codec, values, ranks, slots, width, ids, notes);
        }
    }
}

/// Writes values to where these say, up to the first that has no slot; returns how many.
#[inline]
fn encode_rows<T, C: Codec<T>>(
    codec: &C,
    values: &[T],
    ranks: &[u32],
    slots: &mut [u8],
    width: usize,
    ids: &WorldIds<'_>,
    notes: &mut EncodeNotes,
) -> usize {
    // Small values are put together apart: what is read and what is written are then known not to overlap, and they are
    // copied in few steps.
    let mut apart = [0; 64];
    let mut count = 0;
    for (value, rank) in values.iter().zip(ranks) {
        let start = *rank as usize * width;
        let Some(slot) = slots.get_mut(start..start + width) else { break };
        match apart.get_mut(..width) {
            Some(apart) => {
                codec.encode(value, &mut SlotSink::new(apart, ids, notes));
                slot.copy_from_slice(apart);
            }
            None => codec.encode(value, &mut SlotSink::new(slot, ids, notes)),
        }
        count += 1;
    }
    count
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
