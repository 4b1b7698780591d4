//! Which entities are simulated, and in which order their rows stand in an image.

use super::StateError;
use super::registry::unfiltered;
use super::restore::RowOrder;
use super::sim_id::SimId;
use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::resource::IsResource;
use bevy_replay_tape::{BLOCK_ROWS, Ids, NO_ENTITY};
use core::ops::Range;
use std::sync::Arc;

type RosterQuery = QueryState<(Entity, &'static SimId), Without<IsResource>>;

/// The id columns of all tables with simulated entities, as they stood at the last capture.
///
/// Lanes ask it for a [`Selection`]: the rows of some tables in ascending order of their ids. It is
/// brought up to date only when an id column differs, which is found by comparing the columns themselves;
/// change ticks do not tell when rows move. Rows that moved are sorted and merged into those that stayed.
#[derive(Default)]
pub(crate) struct Roster {
    query: Option<RosterQuery>,
    tables: Vec<Table>,
    /// Tables by the address of their id column during the current capture, ascending.
    addresses: Vec<(usize, usize)>,
    selections: Vec<Selection>,
    /// Rows that hold another id than at the capture before, in ascending order of their ids.
    moved: Vec<Row>,
}

#[derive(Default)]
struct Table {
    ids: Vec<u64>,
}

/// A row of a table. The order of rows is that of their ids, and no two of them are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    id: u64,
    /// Index into the roster.
    table: u32,
    index: u32,
}

impl Row {
    /// Whether the row still holds its id.
    fn stays(&self, tables: &[Table]) -> bool {
        let table = tables.get(self.table as usize);
        table.and_then(|table| table.ids.get(self.index as usize)) == Some(&self.id)
    }
}

/// The rows of some tables in ascending order of their ids.
#[derive(Default)]
struct Selection {
    /// Which tables: indices into the roster, ascending.
    tables: Vec<usize>,
    /// The rows, ascending.
    rows: Vec<Row>,
    /// Their ids.
    ids: Arc<Ids>,
    /// For each table of the roster, where its rows go; nowhere if it is none of `tables`.
    places: Vec<Places>,
    /// Memory of what it was before, to be used again: a large world asks the system for none per tick.
    rows_before: Vec<Row>,
    ids_before: Option<Arc<Ids>>,
    /// Whether a lane has asked for it since rows moved; the others are dropped when they move again.
    is_used: bool,
}

/// Where the rows of a table stand in the image.
#[derive(Default)]
pub(crate) struct Places {
    /// The rank of each row.
    pub(crate) ranks: Vec<u32>,
    /// The rows by ascending rank, and their ranks; empty if they stand so in the table.
    pub(crate) order: Vec<(u32, u32)>,
    /// How many rows stand before the end of each block of the image.
    ends: Vec<u32>,
}

impl Roster {
    pub(crate) fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
    }

    /// Looks at all id columns; afterwards selections are those of this moment.
    pub(crate) fn update(&mut self, world: &World) -> Result<Arc<Ids>, StateError> {
        let query = self.query.as_mut().expect("registries are frozen before the first capture");
        self.addresses.clear();
        self.moved.clear();
        let known = self.tables.len();
        let mut count = 0;
        let mut changed = false;
        let columns = query.contiguous_iter(world).expect("`SimId` is stored in tables");
        for (_, ids) in columns {
            self.addresses.push((ids.as_ptr().addr(), count));
            if count == self.tables.len() {
                self.tables.push(Table::default());
            }
            let table = &mut self.tables[count];
            if !same(&table.ids, ids) {
                changed = true;
                let rows = ids.iter().enumerate().filter(|(index, id)| table.ids.get(*index) != Some(&id.0));
                self.moved.extend(rows.map(|(index, id)| Row { id: id.0, table: narrow(count), index: narrow(index) }));
                table.ids.clear();
                table.ids.extend(ids.iter().map(|id| id.0));
            }
            count += 1;
        }
        self.tables.truncate(count);
        self.addresses.sort_unstable();
        if changed || count != known || self.selections.is_empty() {
            self.bring_up_to_date(count != known).map_err(|id| self.duplicate(world, id))?;
        }
        let all = &self.selections[0];
        if all.ids.last() == Some(&NO_ENTITY) {
            self.forget();
            return Err(StateError::ReservedSimId);
        }
        Ok(all.ids.clone())
    }

    /// Puts rows that moved where they belong in each selection; the first one is of all tables.
    fn bring_up_to_date(&mut self, tables_differ: bool) -> Result<(), u64> {
        let Self { tables, selections, moved, .. } = self;
        moved.sort_unstable();
        if selections.is_empty() {
            selections.push(Selection::default());
        }
        // Indices of tables mean others when there are more or fewer of them.
        if tables_differ {
            selections.truncate(1);
            selections[0].tables = (0..tables.len()).collect();
        }
        let mut is_first = true;
        selections.retain(|selection| core::mem::take(&mut is_first) || selection.is_used);
        selections.iter_mut().try_for_each(|selection| {
            selection.is_used = false;
            selection.merge(tables, moved)
        })
    }

    /// Looks again next time.
    fn forget(&mut self) {
        self.tables.clear();
        self.selections.clear();
    }

    /// Returns in which order rows stand, table by table, where it is not that of their ids.
    pub(crate) fn order(&self) -> RowOrder {
        RowOrder(self.tables.iter().filter(|table| !table.ids.is_sorted()).map(|table| table.ids.clone()).collect())
    }

    /// Returns the table whose id column this is.
    pub(crate) fn table(&self, ids: &[SimId]) -> usize {
        let address = ids.as_ptr().addr();
        let index = self.addresses.binary_search_by_key(&address, |entry| entry.0);
        self.addresses[index.expect("a table with a registered type has simulated entities")].1
    }

    /// Returns the number of the selection of these tables (ascending).
    pub(crate) fn selection(&mut self, tables: &[usize]) -> usize {
        let known = self.selections.iter().position(|selection| selection.tables.iter().eq(tables));
        let index = known.unwrap_or_else(|| {
            let all = self.selections[0].rows.iter();
            let rows = all.filter(|row| tables.binary_search(&(row.table as usize)).is_ok()).copied().collect();
            let mut selection = Selection { tables: tables.to_vec(), rows, ..Selection::default() };
            selection.merge(&self.tables, &[]).expect("ids are unique: `update` checked all tables");
            self.selections.push(selection);
            self.selections.len() - 1
        });
        self.selections[index].is_used = true;
        index
    }

    /// Returns the ids of a selection, ascending.
    pub(crate) fn ids(&self, selection: usize) -> &Arc<Ids> {
        &self.selections[selection].ids
    }

    /// Returns where the rows of a table stand in a selection it is part of.
    pub(crate) fn places(&self, selection: usize, table: usize) -> &Places {
        &self.selections[selection].places[table]
    }

    fn duplicate(&mut self, world: &World, id: u64) -> StateError {
        self.forget();
        let query = self.query.as_mut().expect("set by `attach`");
        let mut carriers = query.iter(world).filter(|(_, sim_id)| sim_id.0 == id).map(|(entity, _)| entity);
        let (first, second) = (carriers.next(), carriers.next());
        let found = |entity: Option<Entity>| entity.unwrap_or(Entity::PLACEHOLDER);
        StateError::DuplicateSimId { id, first: found(first), second: found(second) }
    }
}

impl Selection {
    /// Puts rows that moved (ascending) between those that stayed; fails with an id that stands twice.
    fn merge(&mut self, tables: &[Table], moved: &[Row]) -> Result<(), u64> {
        let mut moved = moved.iter().filter(|row| self.tables.binary_search(&(row.table as usize)).is_ok()).peekable();
        core::mem::swap(&mut self.rows, &mut self.rows_before);
        self.rows.clear();
        for row in self.rows_before.iter().filter(|row| row.stays(tables)) {
            while let Some(moved) = moved.next_if(|moved| moved.id <= row.id) {
                self.rows.push(*moved);
            }
            self.rows.push(*row);
        }
        self.rows.extend(moved);

        let mut ids = self.ids_before.take().and_then(Arc::into_inner).map(Ids::into_vec).unwrap_or_default();
        ids.clear();
        ids.extend(self.rows.iter().map(|row| row.id));
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(pair[0]);
        }
        let ids = Ids::new(ids).expect("merged in ascending order, and each once");
        self.ids_before = Some(core::mem::replace(&mut self.ids, Arc::new(ids)));

        self.places.resize_with(tables.len(), Places::default);
        for table in &self.tables {
            self.places[*table].begin(tables[*table].ids.len());
        }
        for (row, rank) in self.rows.iter().zip(0..) {
            self.places[row.table as usize].push(row.index, rank);
        }
        let blocks = self.rows.len().div_ceil(BLOCK_ROWS);
        self.tables.iter().for_each(|table| self.places[*table].end(blocks));
        Ok(())
    }
}

impl Places {
    /// The rows that stand in a block, as a part of the rows by ascending rank.
    #[inline]
    pub(crate) fn block(&self, block: usize) -> Range<usize> {
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[block] as usize
    }

    /// Begins anew, with so many rows.
    fn begin(&mut self, rows: usize) {
        self.ranks.clear();
        self.ranks.resize(rows, 0);
        self.order.clear();
        self.ends.clear();
    }

    /// Adds the row with the next higher rank.
    fn push(&mut self, row: u32, rank: u32) {
        let block = rank as usize / BLOCK_ROWS;
        if block > self.ends.len() {
            self.ends.resize(block, narrow(self.order.len()));
        }
        self.ranks[row as usize] = rank;
        self.order.push((row, rank));
    }

    /// Ends it, with so many blocks in the image.
    fn end(&mut self, blocks: usize) {
        self.ends.resize(blocks, narrow(self.order.len()));
        if self.ranks.is_sorted() {
            self.order.clear();
        }
    }
}

/// Tables and their rows are counted in 32 bits by Bevy, too.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("Bevy has no more tables or rows")
}

/// Compares without leaving early, so that it runs at memory speed.
fn same(known: &[u64], ids: &[SimId]) -> bool {
    known.len() == ids.len() && known.iter().zip(ids).fold(0, |sum, (a, b)| sum | (a ^ b.0)) == 0
}
