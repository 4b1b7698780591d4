//! The stream of one recorded input type.

use crate::canonical::DecodeError;
use crate::schema::Schema;
use crate::value::Value;
use core::ops::Range;
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
        self.after(self.ticks.partition_point(|change| *change <= tick))
    }

    /// Returns the value in force after so many changes.
    fn after(&self, count: usize) -> Option<&[u8]> {
        Some(self.get(count.checked_sub(1)?)?.1)
    }

    /// Returns how many changes are before a tick.
    #[must_use]
    pub fn count_before(&self, tick: u64) -> usize {
        self.ticks.partition_point(|change| *change < tick)
    }

    /// Returns the first of these ticks at which another value is in force than in `other`.
    #[must_use]
    pub fn first_difference(&self, other: &Self, ticks: Range<u64>) -> Option<u64> {
        if self == other {
            return None;
        }
        let mut tick = ticks.start;
        // How many changes of either there were up to this tick.
        let (mut count, mut other_count) =
            [self, other].map(|all| all.ticks.partition_point(|change| *change <= tick)).into();
        while tick < ticks.end {
            if self.after(count) != other.after(other_count) {
                return Some(tick);
            }
            let (next, other_next) = (self.ticks.get(count), other.ticks.get(other_count));
            tick = *[next, other_next].into_iter().flatten().min()?;
            count += usize::from(next == Some(&tick));
            other_count += usize::from(other_next == Some(&tick));
        }
        None
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
        self.push(tick, value);
        true
    }

    /// Adds a change of which is known that it is one.
    pub(super) fn push(&mut self, tick: u64, value: &[u8]) {
        self.ticks.push(tick);
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few ticks and few values, so that two of them often have much in common.
    fn changes() -> impl Strategy<Value = Changes> {
        proptest::collection::vec((0_u64..12, 0_u8..3), 0..8).prop_map(|mut rows| {
            rows.sort_unstable();
            let mut changes = Changes::default();
            for (tick, value) in rows {
                changes.record(tick, &[value]);
            }
            changes
        })
    }

    proptest! {
        #[test]
        fn the_first_difference_is_where_the_values_in_force_differ(
            a in changes(),
            b in changes(),
            ticks in (0_u64..14, 0_u64..14),
        ) {
            let ticks = ticks.0..ticks.1;
            let expected = ticks.clone().find(|tick| a.at(*tick) != b.at(*tick));
            prop_assert_eq!(a.first_difference(&b, ticks.clone()), expected);
            prop_assert_eq!(a.first_difference(&a, ticks), None);
        }
    }
}
