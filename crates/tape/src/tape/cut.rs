//! A part of a tape as a tape of its own.

use super::{Changes, EndReason, Start, Tape};
use core::ops::Range;
use core::time::Duration;

/// Why a tape cannot be cut there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// The ticks are not on the tape.
    #[error("ticks {from} to {to} are not all among those of the tape, {first} to {end}")]
    NotOnTape {
        /// First tick to keep.
        from: u64,
        /// The tick after the last to keep.
        to: u64,
        /// First tick of the tape.
        first: u64,
        /// The tick after its last.
        end: u64,
    },
    /// A tape can begin later only with the state at its new beginning.
    #[error(
        "the tape has no values up to tick {from}, so a part of it cannot begin there (keep its beginning, or record with `Detail::Values`)"
    )]
    NoState {
        /// First tick to keep.
        from: u64,
    },
}

impl Tape {
    /// Returns the part of a tape that these ticks are. Digests stay as they are.
    ///
    /// A part that does not begin with the tape starts from the recorded state there ([`Start::Image`]). What the game
    /// claims of the whole run is left out where the end is cut off.
    ///
    /// # Errors
    ///
    /// [`CutError`] if the ticks are not on the tape, or the state before them is not.
    ///
    /// # Examples
    ///
    /// ```
    /// use bevy_replay_tape::{Header, Tape};
    /// let mut tape = Tape::new(Header::new("my_game"));
    /// tape.end.tick_count = 100;
    /// assert_eq!(tape.cut(0..40)?.tick_count(), 40);
    /// # Ok::<(), bevy_replay_tape::CutError>(())
    /// ```
    pub fn cut(&self, ticks: Range<u64>) -> Result<Self, CutError> {
        let Range { start: from, end: to } = ticks;
        let all = self.ticks();
        if from < all.start || to > all.end || from > to {
            return Err(CutError::NotOnTape { from, to, first: all.start, end: all.end });
        }
        let mut part = self.clone();
        let skipped = from - all.start;
        part.end.tick_count = to - from;
        if to < all.end {
            part.end.claims.clear();
            part.end.reason = EndReason::Stopped;
        }
        if skipped > 0 {
            let no_state = || CutError::NoState { from };
            if !(all.start..from).all(|tick| self.step_image(&mut part.initial, tick)) {
                return Err(no_state());
            }
            part.header.start = Start::Image;
            part.header.timestep_ns = self.timestep_ns(from);
            part.header.tick_first = from;
            let elapsed: Duration = (all.start..from).map(|tick| Duration::from_nanos(self.timestep_ns(tick))).sum();
            let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            part.header.elapsed_ns = self.header.elapsed_ns.saturating_add(elapsed);
        }
        for track in &mut part.tracks {
            let mut changes = Changes::default();
            if let Some(held) = track.changes.at(from) {
                changes.record(from, held);
            }
            for (tick, value) in track.changes.iter().filter(|(tick, _)| *tick > from && (*tick < to || to == all.end))
            {
                changes.record(tick, value);
            }
            track.changes = changes;
        }
        part.clock.retain(|change| change.tick > from && change.tick < to);
        part.values.retain(|delta| delta.tick > from && delta.tick <= to);
        part.marks.retain(|mark| (from..=to).contains(&mark.tick));
        self.cut_digests(&mut part, skipped);
        Ok(part)
    }

    fn cut_digests(&self, part: &mut Self, skipped: u64) {
        let count = part.end.tick_count;
        let interval = self.header.root_interval.max(1);
        let per_tick = self.header.lanes.len() + self.header.resources.len();
        part.digests.roots = match skipped.is_multiple_of(interval) {
            true => {
                let (from, len) = (skipped / interval, count / interval);
                let roots = self.digests.roots.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
                roots.take(usize::try_from(len).unwrap_or(usize::MAX)).copied().collect()
            }
            false => Vec::new(), // they would stand at other ticks
        };
        let rows =
            self.digests.lane_ticks.iter().enumerate().filter(|(_, index)| (skipped..skipped + count).contains(*index));
        let rows: Vec<(usize, u64)> = rows.map(|(row, index)| (row, index - skipped)).collect();
        part.digests.lane_ticks = rows.iter().map(|row| row.1).collect();
        let digests = rows.iter().flat_map(|(row, _)| &self.digests.lane_digests[row * per_tick..(row + 1) * per_tick]);
        part.digests.lane_digests = digests.copied().collect();
    }

    /// Returns the state after so many ticks, counted from the start gate, where the tape has it.
    #[must_use]
    pub fn image_after(&self, tick_count: u64) -> Option<crate::Image> {
        let mut image = self.initial.clone();
        let has_values = (self.header.tick_first..tick_count).all(|tick| self.step_image(&mut image, tick));
        image.filter(|image| has_values && image.tick == tick_count)
    }
}
