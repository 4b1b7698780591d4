//! The stream of one recorded input type.

use crate::canonical::DecodeError;
use crate::schema::Schema;
use crate::value::Value;
use std::sync::Arc;

/// Values at the ticks where they changed. Between two changes the value stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    ticks: Vec<u64>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Changes {
    /// Returns how many changes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ticks.len()
    }

    /// Returns whether there is no change at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ticks.is_empty()
    }

    /// Returns the size of the values and their ticks in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len() + 16 * self.ticks.len()
    }

    /// Returns the tick and the value of a change.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(u64, &[u8])> {
        let tick = *self.ticks.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((tick, &self.bytes[start..self.ends[index]]))
    }

    /// Returns the tick and the value of the last change.
    #[must_use]
    pub fn last(&self) -> Option<(u64, &[u8])> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Returns all changes.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the value in force at a tick.
    #[must_use]
    pub fn at(&self, tick: u64) -> Option<&[u8]> {
        let index = self.ticks.partition_point(|change| *change <= tick).checked_sub(1)?;
        Some(self.get(index)?.1)
    }

    /// Returns how many changes are before a tick.
    #[must_use]
    pub fn count_before(&self, tick: u64) -> usize {
        self.ticks.partition_point(|change| *change < tick)
    }

    /// Removes all changes and keeps the memory.
    pub fn clear(&mut self) {
        self.ticks.clear();
        self.ends.clear();
        self.bytes.clear();
    }

    /// Records the value a tick sees; stored only if it differs from the last one.
    ///
    /// Returns whether it was stored. A tick at or before the last change is not stored.
    pub fn record(&mut self, tick: u64, value: &[u8]) -> bool {
        if self.last().is_some_and(|(last_tick, last_value)| last_value == value || last_tick >= tick) {
            return false;
        }
        self.ticks.push(tick);
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
        true
    }
}

/// The stream of one recorded input type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// Name of the type.
    pub name: String,
    /// Its encoding.
    pub schema: Arc<Schema>,
    /// The recorded values.
    pub changes: Changes,
}

impl Track {
    /// Returns the value a tick saw.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] where the bytes are no value of the track's schema.
    pub fn value_at(&self, tick: u64) -> Result<Option<Value>, DecodeError> {
        self.changes.at(tick).map(|bytes| Value::decode(&self.schema, bytes)).transpose()
    }

    /// Returns `Steer(x: 1, jump: false)`, or `Said("hi")` for what is no struct.
    #[must_use]
    pub fn text_at(&self, tick: u64) -> String {
        match self.value_at(tick) {
            Ok(Some(value @ (Value::Struct(_) | Value::Tuple(_)))) => format!("{}{value}", self.name),
            Ok(Some(value)) => format!("{}({value})", self.name),
            Ok(None) => format!("{} (nothing yet)", self.name),
            Err(error) => format!("{} ({error})", self.name),
        }
    }
}
