//! One recording: header, initial image, input tracks, digests, values, marks, end.

mod changes;
mod check;
mod chunk;
mod columns;
mod cut;
mod error;
#[cfg(feature = "file")]
mod file;
mod header;
mod limits;
mod parts;
mod reader;
mod resolve;
mod text;
mod writer;

use crate::image::{Delta, Image};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use changes::{Changes, Track};
pub use cut::CutError;
pub use error::TapeError;
pub(crate) use header::hex;
pub use header::{FORMAT_VERSION, Header, HeaderDifference, PlanOnTape, Start, TypeSpec};
pub use limits::TapeLimits;
pub use reader::Recovered;
pub use resolve::Resolved;
pub(crate) use text::unfenced;
pub use writer::{TapePart, TapeStream};

/// A recording as a value. `tick` counts ticks since the start gate; 0 is the first.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Header, Tape};
/// let tape = Tape::new(Header::new("my_game"));
/// assert_eq!(Tape::from_text(&tape.to_text())?, tape);
/// assert_eq!(Tape::from_bytes(&tape.to_bytes())?, tape);
/// # Ok::<(), bevy_replay_tape::TapeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tape {
    /// What was recorded, by what.
    pub header: Header,
    /// The state before the first tick; `None` for inputs written by hand.
    pub initial: Option<Image>,
    /// The recorded inputs, one track per type.
    pub tracks: Vec<Track>,
    /// Changes of the length of a tick after the first.
    pub clock: Vec<ClockChange>,
    /// Digests of the images.
    pub digests: Digests,
    /// What each tick changed, where values were recorded; ascending by tick.
    pub values: Vec<Delta>,
    /// The user's bookmarks.
    pub marks: Vec<Mark>,
    /// How the recording ended.
    pub end: End,
}

/// From this tick on, a tick is this long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockChange {
    /// The first tick of that length.
    pub tick: u64,
    /// Length in nanoseconds.
    pub timestep_ns: u64,
}

/// Digests of the images after ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digests {
    /// The root after each [`root_interval`](Header::root_interval) ticks: by default after each tick, the first
    /// being that of the image after tick `tick_first`.
    pub roots: Vec<u64>,
    /// The digests of all lanes and then all resources, in the header's order, after some ticks:
    /// for each such tick its 0-based number since `tick_first`. Ascending.
    pub lane_ticks: Vec<u64>,
    /// The digests that belong to `lane_ticks`, one tick after another.
    pub lane_digests: Vec<u64>,
}

impl Digests {
    /// Returns the lane and resource digests of a tick since `tick_first`, where they were kept.
    #[must_use]
    pub fn lanes(&self, index: u64) -> Option<&[u64]> {
        Some(self.row(self.lane_ticks.binary_search(&index).ok()?))
    }

    /// Returns the digests that belong to a place in `lane_ticks`.
    fn row(&self, row: usize) -> &[u64] {
        let per_tick = self.lane_digests.len().checked_div(self.lane_ticks.len()).unwrap_or(0);
        self.lane_digests.get(row * per_tick..(row + 1) * per_tick).unwrap_or_default()
    }
}

/// A bookmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The tick that ran next when it was set.
    pub tick: u64,
    /// What the user wrote.
    pub text: String,
}

/// How a recording ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How many ticks are on the tape.
    pub tick_count: u64,
    /// Why it ended.
    pub reason: EndReason,
    /// What the game says of the run, as its final score.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, String>,
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum EndReason {
    /// It was stopped.
    Stopped,
    /// It reached [the recorder's limits](crate::Header); the tape is whole up to there.
    CapacityReached,
    /// The state could not be captured any more; the tape is whole up to there.
    CaptureFailed,
    /// The file was written more slowly than the game made ticks; the tape is whole up to there.
    WriterTooSlow,
    /// The file could not be written any more; the tape is whole up to there.
    WriteFailed,
    /// It never ended: the recorder died.
    Unfinished,
}

/// What a tape that does not say how it ended stands for.
impl Default for End {
    fn default() -> Self {
        Self { tick_count: 0, reason: EndReason::Unfinished, claims: BTreeMap::new() }
    }
}

impl Tape {
    /// Makes a tape without ticks.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self {
            header,
            initial: None,
            tracks: Vec::new(),
            clock: Vec::new(),
            digests: Digests::default(),
            values: Vec::new(),
            marks: Vec::new(),
            end: End { tick_count: 0, reason: EndReason::Stopped, claims: BTreeMap::new() },
        }
    }

    /// Returns how many ticks are on the tape.
    #[must_use]
    pub fn tick_count(&self) -> u64 {
        self.end.tick_count
    }

    /// Returns the ticks on the tape.
    #[must_use]
    pub fn ticks(&self) -> core::ops::Range<u64> {
        self.header.tick_first..self.header.tick_first + self.end.tick_count
    }

    /// Returns the track of a type.
    #[must_use]
    pub fn track(&self, name: &str) -> Option<&Track> {
        self.tracks.iter().find(|track| track.name == name)
    }

    /// Returns the root digest of the image after a tick, where it is on the tape.
    #[must_use]
    pub fn root_after(&self, tick: u64) -> Option<u64> {
        let ticks = tick.checked_sub(self.header.tick_first)?.checked_add(1)?;
        let roots = ticks.checked_div(self.header.root_interval)?;
        let is_due = roots * self.header.root_interval == ticks;
        self.digests.roots.get(usize::try_from(roots.checked_sub(1)?).ok()?).copied().filter(|_| is_due)
    }

    /// Returns the lane and resource digests after a tick, where they are on the tape.
    #[must_use]
    pub fn lanes_after(&self, tick: u64) -> Option<&[u64]> {
        self.digests.lanes(tick.checked_sub(self.header.tick_first)?)
    }

    /// Returns the length of a tick.
    #[must_use]
    pub fn timestep_ns(&self, tick: u64) -> u64 {
        let changes = self.clock.partition_point(|change| change.tick <= tick);
        changes.checked_sub(1).map_or(self.header.timestep_ns, |last| self.clock[last].timestep_ns)
    }

    /// Returns the time that has passed when a tick begins, in nanoseconds, where the first began at `elapsed_ns`.
    #[must_use]
    pub fn elapsed_ns(&self, tick: u64) -> u64 {
        let mut elapsed = self.header.elapsed_ns;
        let (mut from, mut length) = (self.header.tick_first, self.header.timestep_ns);
        for change in self.clock.iter().take_while(|change| change.tick < tick) {
            elapsed = elapsed.saturating_add(change.tick.saturating_sub(from).saturating_mul(length));
            (from, length) = (change.tick.max(from), change.timestep_ns);
        }
        elapsed.saturating_add(tick.saturating_sub(from).saturating_mul(length))
    }

    /// Returns the inputs that a tick read, as text, for reports.
    #[must_use]
    pub fn inputs_text(&self, tick: u64) -> Vec<String> {
        self.tracks.iter().map(|track| track.text_at(tick)).collect()
    }
}

impl End {
    /// Returns the reason in words, for a line of a report.
    #[must_use]
    pub fn reason_text(&self) -> &'static str {
        match self.reason {
            EndReason::Stopped => "complete",
            EndReason::CapacityReached => "complete up to the recorder's limit",
            EndReason::CaptureFailed => "complete up to a failed capture",
            EndReason::WriterTooSlow => "complete up to where the disk was too slow",
            EndReason::WriteFailed => "complete up to where the file could not be written",
            EndReason::Unfinished => "unfinished",
        }
    }
}
