//! Which entities are simulated, and in which order their rows stand in an image.

use super::StateError;
use super::registry::unfiltered;
use super::restore::RowOrder;
use super::sim_id::SimId;
use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::resource::IsResource;
use bevy_replay_tape::{Ids, NO_ENTITY};
use std::sync::Arc;

type RosterQuery = QueryState<(Entity, &'static SimId), Without<IsResource>>;

/// The id columns of all tables with simulated entities, as they stood at the last capture.
///
/// Lanes ask it for a [`Selection`]: the rows of some tables in ascending order of their ids. It is
/// computed anew only when an id column differs, which is found by comparing the columns themselves;
/// change ticks do not tell when rows move.
#[derive(Default)]
pub(crate) struct Roster {
    query: Option<RosterQuery>,
    tables: Vec<Table>,
    /// Tables by the address of their id column during the current capture, ascending.
    addresses: Vec<(usize, usize)>,
    selections: Vec<Selection>,
}

#[derive(Default)]
struct Table {
    ids: Vec<u64>,
}

/// The rows of some tables in ascending order of their ids.
struct Selection {
    /// Which tables: indices into the roster, ascending.
    tables: Vec<usize>,
    /// The ids, ascending.
    ids: Arc<Ids>,
    /// For each of `tables`, where its rows go.
    places: Vec<Places>,
}

/// Where the rows of a table stand in the image.
pub(crate) enum Places {
    /// One after another from here: the table is in order and no other lies between.
    Run(usize),
    /// Each row where this says, ascending: the table is in order and others lie between.
    Ascending(Vec<u32>),
    /// Each row where this says.
    Scattered(Vec<u32>),
}

impl Roster {
    pub(crate) fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
    }

    /// Looks at all id columns; afterwards selections are those of this moment.
    pub(crate) fn update(&mut self, world: &World) -> Result<Arc<Ids>, StateError> {
        let query = self.query.as_mut().expect("registries are frozen before the first capture");
        self.addresses.clear();
        let mut changed = false;
        let mut count = 0;
        let columns = query.contiguous_iter(world).expect("`SimId` is stored in tables");
        for (_, ids) in columns {
            self.addresses.push((ids.as_ptr().addr(), count));
            if count == self.tables.len() {
                self.tables.push(Table::default());
            }
            let table = &mut self.tables[count];
            if !same(&table.ids, ids) {
                table.ids.clear();
                table.ids.extend(ids.iter().map(|id| id.0));
                changed = true;
            }
            count += 1;
        }
        changed |= count != self.tables.len();
        self.tables.truncate(count);
        self.addresses.sort_unstable();
        if changed {
            self.selections.clear();
        }
        if self.selections.is_empty() {
            let all = self.select((0..count).collect()).map_err(|id| self.duplicate(world, id))?;
            if all.ids.last() == Some(&NO_ENTITY) {
                self.tables.clear(); // look again next time
                return Err(StateError::ReservedSimId);
            }
            self.selections.push(all);
        }
        Ok(self.selections[0].ids.clone())
    }

    /// Returns in which order rows stand, table by table, where it is not that of their ids.
    pub(crate) fn order(&self) -> RowOrder {
        RowOrder(self.tables.iter().filter(|table| !table.ids.is_sorted()).map(|table| table.ids.clone()).collect())
    }

    /// Returns the table whose id column this is.
    pub(crate) fn table(&self, ids: &[SimId]) -> Option<usize> {
        let address = ids.as_ptr().addr();
        self.addresses.binary_search_by_key(&address, |entry| entry.0).ok().map(|index| self.addresses[index].1)
    }

    /// Returns the number of the selection of these tables (ascending), if it has been made since rows moved.
    pub(crate) fn known_selection(&self, tables: &[usize]) -> Option<usize> {
        self.selections.iter().position(|selection| selection.tables == tables)
    }

    /// Returns the number of the selection of these tables (ascending).
    pub(crate) fn selection(&mut self, tables: &[usize]) -> usize {
        self.known_selection(tables).unwrap_or_else(|| {
            let selection = self.select(tables.to_vec()).expect("ids are unique: `update` checked all tables");
            self.selections.push(selection);
            self.selections.len() - 1
        })
    }

    /// Returns the ids of a selection, ascending.
    pub(crate) fn ids(&self, selection: usize) -> &Arc<Ids> {
        &self.selections[selection].ids
    }

    /// Returns where the rows of the table with this id column stand in a selection.
    pub(crate) fn places(&self, selection: usize, ids: &[SimId]) -> Option<&Places> {
        let selection = &self.selections[selection];
        selection.tables.binary_search(&self.table(ids)?).ok().map(|index| &selection.places[index])
    }

    /// Sorts the rows of some tables; fails with an id that stands twice.
    fn select(&self, tables: Vec<usize>) -> Result<Selection, u64> {
        let counts: Vec<usize> = tables.iter().map(|table| self.tables[*table].ids.len()).collect();
        let total: usize = counts.iter().sum();
        // (id, table, row); a stable sort finds the runs that tables mostly consist of.
        let mut order: Vec<(u64, u32, u32)> = Vec::with_capacity(total);
        for (slot, table) in (0..).zip(&tables) {
            order.extend(self.tables[*table].ids.iter().zip(0..).map(|(id, row)| (*id, slot, row)));
        }
        order.sort_by_key(|entry| entry.0);
        if let Some(pair) = order.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(pair[0].0);
        }
        let mut ranks: Vec<Vec<u32>> = counts.iter().map(|count| vec![0; *count]).collect();
        for ((_, slot, row), rank) in order.iter().zip(0..) {
            ranks[*slot as usize][*row as usize] = rank;
        }
        let places = ranks.into_iter().map(|ranks| {
            let first = ranks.first().copied().unwrap_or(0);
            if ranks.iter().zip(first..).all(|(rank, place)| *rank == place) {
                Places::Run(first as usize)
            } else if ranks.is_sorted() {
                Places::Ascending(ranks)
            } else {
                Places::Scattered(ranks)
            }
        });
        let places = places.collect();
        let ids = Ids::new(order.into_iter().map(|entry| entry.0).collect()).expect("sorted, and each id once");
        Ok(Selection { tables, ids: Arc::new(ids), places })
    }

    fn duplicate(&mut self, world: &World, id: u64) -> StateError {
        self.tables.clear(); // look again next time
        let query = self.query.as_mut().expect("set by `attach`");
        let mut carriers = query.iter(world).filter(|(_, sim_id)| sim_id.0 == id).map(|(entity, _)| entity);
        let (first, second) = (carriers.next(), carriers.next());
        let found = |entity: Option<Entity>| entity.unwrap_or(Entity::PLACEHOLDER);
        StateError::DuplicateSimId { id, first: found(first), second: found(second) }
    }
}

/// Compares without leaving early, so that it runs at memory speed.
fn same(known: &[u64], ids: &[SimId]) -> bool {
    known.len() == ids.len() && known.iter().zip(ids).fold(0, |sum, (a, b)| sum | (a ^ b.0)) == 0
}
