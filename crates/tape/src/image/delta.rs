//! What one image adds to another: the value trace of a tape, and the packing of keyframes.

use super::{Ids, Image, Lane, Rows};
use crate::value::Value;
use std::sync::Arc;

/// Turns the image before a tick into the one after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delta {
    /// Tick of the image this leads to.
    pub tick: u64,
    /// Ids that are gone.
    pub despawned: Vec<u64>,
    /// Ids that are new.
    pub spawned: Vec<u64>,
    /// Lanes with changes, by their index in the image.
    pub lanes: Vec<LaneDelta>,
    /// Resources with changes, by their index: the new bytes, or `None` if gone.
    pub resources: Vec<(u32, Option<Vec<u8>>)>,
}

impl Delta {
    /// Returns about how many bytes it takes in memory.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let ids = |lane: &LaneDelta| 8 * (lane.removed.len() + lane.changed.len());
        let lanes: usize = self.lanes.iter().map(|lane| ids(lane) + lane.bytes.len() + 64).sum();
        let resources: usize = self.resources.iter().map(|(_, bytes)| bytes.as_ref().map_or(0, Vec::len) + 32).sum();
        64 + 8 * (self.despawned.len() + self.spawned.len()) + lanes + resources
    }
}

/// Changes of one lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDelta {
    /// Index of the lane in the image.
    pub lane: u32,
    /// Ids that lost the component.
    pub removed: Vec<u64>,
    /// Ids whose value is new or changed, ascending.
    pub changed: Vec<u64>,
    /// Their values, one after another.
    pub bytes: Vec<u8>,
}

/// Why a delta does not fit an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// It names a lane or resource the image does not have.
    #[error("the change that leads to tick {tick} names type {index}, but there are only {count}")]
    UnknownType {
        /// Tick of the image it leads to.
        tick: u64,
        /// The index.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// Its ids or types are not ascending, or an id is spawned that exists.
    #[error("the change that leads to tick {tick} has ids or types out of order, or one stands twice")]
    Unsorted {
        /// Tick of the image it leads to.
        tick: u64,
    },
    /// It names an entity that does not exist then, or removes a component that an entity does not have.
    #[error("the change that leads to tick {tick} names sim:{sim_id}, which is not there")]
    UnknownEntity {
        /// Tick of the image it leads to.
        tick: u64,
        /// The entity.
        sim_id: u64,
    },
    /// Its bytes are no values of the type.
    #[error("the change of {type_name} that leads to tick {tick} cannot be read: {error}")]
    BadValue {
        /// Tick of the image it leads to.
        tick: u64,
        /// The type.
        type_name: String,
        /// What is wrong.
        error: crate::DecodeError,
    },
}

fn only_in(a: &[u64], b: &Ids) -> Vec<u64> {
    a.iter().filter(|id| b.row(**id).is_none()).copied().collect()
}

impl Image {
    /// Returns what leads from `before` to `self`. Both must have the same types.
    ///
    /// # Panics
    ///
    /// If there are more than four billion types.
    #[must_use]
    pub fn delta_from(&self, before: &Self) -> Delta {
        let mut delta = Delta { tick: self.tick, ..Delta::default() };
        if self.roster != before.roster {
            delta.despawned = only_in(&before.roster, &self.roster);
            delta.spawned = only_in(&self.roster, &before.roster);
        }
        for (index, (new, old)) in self.lanes.iter().zip(&before.lanes).enumerate() {
            if new.ids == old.ids && new.rows == old.rows {
                continue;
            }
            let lane = u32::try_from(index).expect("fewer than 2^32 types");
            let mut change =
                LaneDelta { lane, removed: only_in(&old.ids, &new.ids), changed: Vec::new(), bytes: Vec::new() };
            let have_same_ids = new.ids == old.ids;
            for (row, id) in new.ids.iter().enumerate() {
                let bytes = new.rows.row(row);
                let before = if have_same_ids { Some(old.rows.row(row)) } else { old.get(*id) };
                if before != Some(bytes) {
                    change.changed.push(*id);
                    change.bytes.extend_from_slice(bytes);
                }
            }
            delta.lanes.push(change);
        }
        for (index, (new, old)) in self.resources.iter().zip(&before.resources).enumerate() {
            if new.get() != old.get() {
                let index = u32::try_from(index).expect("fewer than 2^32 types");
                delta.resources.push((index, new.get().map(<[u8]>::to_vec)));
            }
        }
        delta
    }

    /// Applies what [`delta_from`](Self::delta_from) found.
    ///
    /// # Errors
    ///
    /// [`DeltaError`] if the delta does not fit this image; the image may then be half changed.
    pub fn apply(&mut self, delta: &Delta) -> Result<(), DeltaError> {
        let tick = delta.tick;
        let unknown = |index: u32, count: usize| DeltaError::UnknownType { tick, index, count };
        let types_ascend = delta.lanes.is_sorted_by(|a, b| a.lane < b.lane);
        if !types_ascend || !delta.resources.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(DeltaError::Unsorted { tick });
        }
        check_ids(&delta.despawned, &self.roster, tick)?;
        if !delta.spawned.is_empty() || !delta.despawned.is_empty() {
            let mut ids: Vec<u64> =
                self.roster.iter().filter(|id| delta.despawned.binary_search(id).is_err()).copied().collect();
            ids.extend(&delta.spawned);
            ids.sort_unstable();
            self.roster = Arc::new(Ids::new(ids).ok_or(DeltaError::Unsorted { tick })?);
        }
        let lane_count = self.lanes.len();
        for change in &delta.lanes {
            let lane = self.lanes.get_mut(change.lane as usize).ok_or_else(|| unknown(change.lane, lane_count))?;
            check_ids(&change.removed, &lane.ids, tick)?;
            check_ids(&change.changed, &self.roster, tick)?;
            apply_lane(lane, change, tick)?;
        }
        let has_despawned = |lane: &Lane| delta.despawned.iter().find(|id| lane.ids.row(**id).is_some()).copied();
        if let Some(sim_id) = self.lanes.iter().find_map(has_despawned) {
            return Err(DeltaError::UnknownEntity { tick, sim_id });
        }
        let resource_count = self.resources.len();
        for (index, bytes) in &delta.resources {
            let resource = self.resources.get_mut(*index as usize).ok_or_else(|| unknown(*index, resource_count))?;
            let bad = |error| DeltaError::BadValue { tick, type_name: resource.name.to_string(), error };
            if let Some(bytes) = bytes {
                Value::decode(&resource.schema, bytes).map_err(bad)?;
            }
            resource.present = bytes.is_some();
            resource.bytes.clear();
            resource.bytes.extend_from_slice(bytes.as_deref().unwrap_or_default());
        }
        self.tick = tick;
        Ok(())
    }
}

/// Checks that ids ascend and are among those that exist.
fn check_ids(ids: &[u64], known: &Ids, tick: u64) -> Result<(), DeltaError> {
    if !ids.is_sorted_by(|a, b| a < b) {
        return Err(DeltaError::Unsorted { tick });
    }
    match ids.iter().find(|id| known.row(**id).is_none()) {
        Some(sim_id) => Err(DeltaError::UnknownEntity { tick, sim_id: *sim_id }),
        None => Ok(()),
    }
}

fn apply_lane(lane: &mut Lane, change: &LaneDelta, tick: u64) -> Result<(), DeltaError> {
    let bad = |error| DeltaError::BadValue { tick, type_name: lane.name.to_string(), error };
    let mut values = Vec::with_capacity(change.changed.len());
    let mut rest = &*change.bytes;
    for id in &change.changed {
        let size = Value::measure(&lane.schema, rest).map_err(bad)?;
        values.push((*id, &rest[..size]));
        rest = &rest[size..];
    }
    if !rest.is_empty() {
        return Err(bad(crate::DecodeError::LeftOver { extra: rest.len() }));
    }
    // Most ticks change values of one size in place.
    let in_place = |(id, bytes): &(u64, &[u8])| lane.get(*id).is_some_and(|old| old.len() == bytes.len());
    if change.removed.is_empty() && values.iter().all(in_place) {
        for (row, bytes) in values.iter().filter_map(|(id, bytes)| Some((lane.ids.row(*id)?, bytes))) {
            let range = lane.rows.range(row..row + 1);
            lane.rows.bytes[range].copy_from_slice(bytes);
        }
        return Ok(());
    }
    // Two ascending lists merged: the old rows that stay, and the new values.
    let mut rows = Rows::new(lane.rows.width());
    let mut ids = Vec::with_capacity(lane.ids.len() + values.len());
    let mut new = values.into_iter().peekable();
    let mut put = |id: u64, bytes: &[u8]| {
        ids.push(id);
        rows.push(|out| out.extend_from_slice(bytes));
    };
    for (row, id) in lane.ids.iter().enumerate() {
        while let Some((new_id, bytes)) = new.next_if(|(new_id, _)| new_id <= id) {
            put(new_id, bytes);
        }
        if change.removed.binary_search(id).is_err() && change.changed.binary_search(id).is_err() {
            put(*id, lane.rows.row(row));
        }
    }
    new.for_each(|(id, bytes)| put(id, bytes));
    lane.ids = Arc::new(Ids::new(ids).ok_or(DeltaError::Unsorted { tick })?);
    lane.rows = rows;
    Ok(())
}
