//! The canonical bytes of a whole authoritative world after a tick, and the functions of them.
//!
//! An image is plain data. Digests, snapshots, reports and tools are functions of images; none of
//! them walks a world.

mod delta;
mod diff;
mod digest;

use crate::DecodeError;
use crate::schema::Schema;
use crate::value::Value;
use core::ops::Range;
use std::sync::Arc;

pub use delta::{Delta, DeltaError, LaneDelta};
pub use diff::{Difference, Side};
pub use digest::{BLOCK_ROWS, BlockDigests, DIGEST_VERSION, Digest};

/// Sim ids in ascending order, each once, with the digests of their blocks.
///
/// Shared by all lanes with the same rows, so that ids are hashed only when they change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    ids: Vec<u64>,
    block_digests: Vec<u64>,
}

impl Ids {
    /// Takes ids that are ascending, each once; `None` if they are not.
    #[must_use]
    pub fn new(ids: Vec<u64>) -> Option<Self> {
        ids.is_sorted_by(|a, b| a < b).then(|| Self { block_digests: digest::ids_blocks(&ids), ids })
    }

    /// Returns the ids alone.
    #[must_use]
    pub fn into_vec(self) -> Vec<u64> {
        self.ids
    }

    /// Returns the row of an id.
    #[must_use]
    pub fn row(&self, id: u64) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }
}

impl core::ops::Deref for Ids {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.ids
    }
}

/// Canonical bytes of the rows of a lane, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    width: Option<usize>,
    /// Where each row ends; only without a fixed width.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Rows {
    /// Makes empty rows; `width` as [`Canonical::WIDTH`](crate::Canonical::WIDTH).
    #[must_use]
    pub fn new(width: Option<usize>) -> Self {
        Self { width, ends: Vec::new(), bytes: Vec::new() }
    }

    /// Returns the size of a row in bytes, where all have the same.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Returns where a row stands in [`bytes`](Self::bytes).
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn range(&self, rows: Range<usize>) -> Range<usize> {
        let start = |row: usize| match self.width {
            Some(width) => row * width,
            None if row == 0 => 0,
            None => self.ends[row - 1],
        };
        start(rows.start)..start(rows.end)
    }

    /// Returns the bytes of one row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u8] {
        &self.bytes[self.range(row..row + 1)]
    }

    /// Returns the bytes of all rows.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    /// Makes room for `count` rows of a fixed width and returns their bytes, whatever they held before.
    ///
    /// # Panics
    ///
    /// If the rows have no fixed width.
    pub fn slots(&mut self, count: usize) -> &mut [u8] {
        let width = self.width.expect("rows have a fixed width");
        self.bytes.resize(count * width, 0);
        &mut self.bytes
    }

    /// Appends a row.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        if self.width.is_none() {
            self.ends.push(self.bytes.len());
        }
    }
}

/// One authoritative type: the ids that have it, and their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Name of the type; lanes are ordered by it.
    pub name: Arc<str>,
    /// Its encoding.
    pub schema: Arc<Schema>,
    /// The entities that have it.
    pub ids: Arc<Ids>,
    /// Their values, row by row as the ids.
    pub rows: Rows,
}

impl Lane {
    /// Makes a lane without rows.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, schema: Arc<Schema>) -> Self {
        let rows = Rows::new(schema.width());
        Self { name: name.into(), schema, ids: Arc::default(), rows }
    }

    /// Returns the canonical bytes of an entity's value.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<&[u8]> {
        Some(self.rows.row(self.ids.row(id)?))
    }

    /// Returns an entity's value.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] where the bytes are no value of the lane's schema.
    pub fn value(&self, id: u64) -> Result<Option<Value>, DecodeError> {
        self.get(id).map(|bytes| Value::decode(&self.schema, bytes)).transpose()
    }
}

/// One authoritative resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceState {
    /// Name of the type; resources are ordered by it.
    pub name: Arc<str>,
    /// Its encoding.
    pub schema: Arc<Schema>,
    /// Whether the world holds it.
    pub present: bool,
    /// Its canonical bytes; empty if absent.
    pub bytes: Vec<u8>,
}

impl ResourceState {
    /// Makes an absent resource.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, schema: Arc<Schema>) -> Self {
        Self { name: name.into(), schema, present: false, bytes: Vec::new() }
    }

    /// Returns the bytes if the world holds it.
    #[must_use]
    pub fn get(&self) -> Option<&[u8]> {
        self.present.then_some(&*self.bytes)
    }
}

/// The authoritative world after `tick` ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// How many ticks have run since the start gate.
    pub tick: u64,
    /// All sim ids.
    pub roster: Arc<Ids>,
    /// Component types, ascending by name.
    pub lanes: Vec<Lane>,
    /// Resource types, ascending by name.
    pub resources: Vec<ResourceState>,
}

impl Image {
    /// Returns the lane of a type.
    #[must_use]
    pub fn lane(&self, name: &str) -> Option<&Lane> {
        self.lanes.iter().find(|lane| &*lane.name == name)
    }

    /// Returns a resource.
    #[must_use]
    pub fn resource(&self, name: &str) -> Option<&ResourceState> {
        self.resources.iter().find(|resource| &*resource.name == name)
    }

    /// Returns the size of all canonical bytes and ids.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let lanes: usize = self.lanes.iter().map(|lane| lane.rows.bytes.len() + 8 * lane.ids.len()).sum();
        let resources: usize = self.resources.iter().map(|resource| resource.bytes.len()).sum();
        8 * self.roster.len() + lanes + resources
    }
}
