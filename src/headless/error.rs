//! Why a headless run gave no answer.

use crate::deck::DeckError;
use bevy_replay_tape::{ExpectationError, Report, TapeError};
use core::time::Duration;

/// Why a headless run gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The tape could not be read.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The tape was refused, or the state could not be captured.
    #[error(transparent)]
    Deck(#[from] DeckError),
    /// The game has no [`ReplayPlugin`](crate::ReplayPlugin).
    #[error("the game does not add `ReplayPlugin` (add it in the plugin that is handed to `Headless`)")]
    NoPlugin,
    /// Inputs were given for a type that is not recorded.
    #[error("inputs were given for {name}, which the game does not record (call `record_input::<{name}>()`)")]
    NotRecorded {
        /// Name of the type.
        name: String,
    },
    /// Inputs were given twice for one type.
    #[error("inputs were given twice for {name} (chain the two lists into one)")]
    InputsTwice {
        /// Name of the type.
        name: String,
    },
    /// Frames went by without a tick.
    #[error(
        "no tick ran in {frames} frames (does the game run `FixedMain`? are the frames of `Pacing::Frames` longer than 0? \
         does the condition of `start_when` ever hold?)"
    )]
    NoTicks {
        /// How many.
        frames: u32,
    },
    /// The run took too long.
    #[error("given up after {ticks} ticks: the run took longer than {time_max:?} (allow more, or split the tape)")]
    TooSlow {
        /// How many ticks had run.
        ticks: u64,
        /// How long it might take.
        time_max: Duration,
    },
    /// Not exactly one entity has the component, or the resource is not there.
    #[error("{name}: expected exactly one, found {found}")]
    NotSingle {
        /// Name of the type.
        name: String,
        /// How many there are.
        found: usize,
    },
    /// A state could not be put back.
    #[error(transparent)]
    Restore(#[from] crate::state::RestoreError),
    /// The state is not what was expected, or the line that says so cannot be read.
    #[error(transparent)]
    Expectation(#[from] ExpectationError),
    /// An expectation is of a tick that did not come.
    #[error("`{line}` is never looked at: the run has {ticks} ticks")]
    NotReached {
        /// The line.
        line: String,
        /// How many ticks have run.
        ticks: u64,
    },
    /// The digests do not match.
    #[error("{0}")]
    Diverged(Box<Report>),
}
