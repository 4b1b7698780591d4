//! Tapes that share a beginning.

use super::Deck;
use bevy_replay_tape::{Changes, Tape};
use std::sync::Arc;

/// A tape that was in the deck, or was made from one that was.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Branch {
    /// The tape.
    pub tape: Arc<Tape>,
    /// Which branch it shares its beginning with, counted from 0; `None` for a recording of its own.
    pub parent: Option<usize>,
    /// The first tick that is not the parent's.
    pub at: u64,
}

impl Deck {
    /// Returns the tapes that were played, and what was made of them, in the order in which they came.
    #[must_use]
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    pub(crate) fn branch_of(&self, tape: &Arc<Tape>) -> Option<usize> {
        self.branches.iter().position(|branch| Arc::ptr_eq(&branch.tape, tape))
    }
}

/// The tape with another input in one tick, up to its end; without digests from there on.
pub(crate) fn edited(tape: &Tape, name: &str, tick: u64, bytes: &[u8]) -> Tape {
    let mut edited = tape.clone();
    if let Some(track) = edited.tracks.iter_mut().find(|track| track.name == name) {
        let old = core::mem::take(&mut track.changes);
        let mut points: Vec<u64> = old.iter().map(|(tick, _)| tick).chain([tick, tick + 1]).collect();
        points.sort_unstable();
        points.dedup();
        let mut changes = Changes::default();
        for point in points {
            let value = if point == tick { Some(bytes) } else { old.at(point) };
            // What was at rest before any change is at rest again after the edit; the app knows how that looks.
            if let Some(value) = value {
                changes.record(point, value);
            }
        }
        track.changes = changes;
    }
    edited
}

/// Whether two tapes begin in the same state, at the same time.
pub(crate) fn have_one_beginning(a: &Tape, b: &Tape) -> bool {
    let beginning = |tape: &Tape| {
        let header = &tape.header;
        (header.start, header.tick_first, header.seed, header.timestep_ns, header.elapsed_ns)
    };
    beginning(a) == beginning(b) && a.initial == b.initial
}

/// The first tick at which two tapes have other inputs, or one of them ends.
pub(crate) fn part_at(a: &Tape, b: &Tape) -> u64 {
    let end = a.ticks().end.min(b.ticks().end);
    let mut first = end;
    for track in &a.tracks {
        let Some(other) = b.track(&track.name) else { return a.header.tick_first };
        let points = track.changes.iter().chain(other.changes.iter()).map(|(tick, _)| tick);
        let differs = |tick: &u64| track.changes.at(*tick) != other.changes.at(*tick);
        first = points.filter(differs).fold(first, u64::min);
    }
    first
}
