//! The transport: record, stop, play.

pub(crate) mod branch;
#[cfg(feature = "file")]
pub(crate) mod file;
pub(crate) mod flight;
pub(crate) mod history;
pub(crate) mod playback;
pub(crate) mod recorder;
#[cfg(feature = "inspector")]
pub(crate) mod trace;
pub(crate) mod transport;

use bevy_ecs::prelude::*;
use bevy_replay_tape::{EndReason, HeaderDifference, Report, Tape};
#[cfg(feature = "file")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use branch::Branch;
pub use flight::FlightRecorder;
pub use recorder::{Detail, RecorderLimits};
pub use transport::{SeekFinished, SeekProgress, Speed};

/// The transport of an app: records its ticks and plays tapes.
///
/// Calls are carried out at the beginning of the next tick. What came of them is told by the events
/// [`RecordingEnded`], [`Diverged`], [`ReplayFinished`] and [`DeckRefused`], and kept here.
///
/// # Examples
///
/// ```
/// # use bevy_replay::prelude::*; use bevy_ecs::prelude::*;
/// fn record_key(mut deck: ResMut<Deck>) {
///     if deck.is_recording() { deck.stop() } else { deck.record() }
/// }
/// ```
#[derive(Resource, Debug, Default)]
pub struct Deck {
    pub(crate) requests: Vec<Request>,
    pub(crate) state: DeckState,
    pub(crate) is_replaying: bool,
    pub(crate) transport: transport::Transport,
    pub(crate) branches: Vec<Branch>,
    pub(crate) tape: Option<Arc<Tape>>,
    pub(crate) report: Option<Report>,
    pub(crate) error: Option<DeckError>,
    #[cfg(feature = "file")]
    pub(crate) saved: Option<PathBuf>,
}

/// What the deck is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeckState {
    /// Nothing; a tick costs next to nothing more.
    #[default]
    Idle,
    /// Recording.
    Recording {
        /// How many ticks are on the tape.
        tick_count: u64,
        /// About how many bytes they take in memory.
        size_bytes: u64,
    },
    /// Playing a tape.
    Replaying {
        /// How many of its ticks have run.
        tick_count: u64,
        /// How many it has.
        tick_count_max: u64,
    },
}

/// How to play a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PlayOptions {
    /// Plays the inputs only: digests on the tape are ignored, other rules are accepted.
    ///
    /// For tapes of bugs, whose digests were made by the bug, and for comparing rules.
    pub inputs_only: bool,
    /// Plays a tape that would be refused, and calls the result unverified.
    pub force: bool,
    /// At its end the tape stays in the deck, so that one can go back. Default: it is taken out, and live input resumes.
    pub hold: bool,
    /// Compares digests although other rules are accepted.
    pub(crate) compare: bool,
    /// Keeps no states to go back to.
    pub(crate) forget: bool,
    /// Leaves the app's clock alone: the inputs were not recorded with one.
    pub(crate) keep_clock: bool,
}

impl PlayOptions {
    /// Digests must match.
    #[must_use]
    pub fn verify() -> Self {
        Self::default()
    }

    /// Digests are ignored.
    #[must_use]
    pub fn inputs_only() -> Self {
        Self { inputs_only: true, ..Self::default() }
    }

    /// The tape stays in the deck at its end; see [`hold`](Self::hold).
    #[must_use]
    pub fn held(self) -> Self {
        Self { hold: true, ..self }
    }

    /// Whether digests are compared at all.
    pub(crate) fn compares(self) -> bool {
        self.compare || !self.inputs_only
    }
}

#[derive(Debug)]
pub(crate) enum Request {
    Record,
    #[cfg(feature = "file")]
    RecordTo(PathBuf),
    Stop,
    Play(Arc<Tape>, PlayOptions),
    Mark(String),
    Claim(String, String),
    SaveFlight,
    TakeOver,
    Edit {
        name: String,
        tick: u64,
        bytes: Vec<u8>,
    },
    SwitchTo(usize),
}

impl Deck {
    /// Records from the next tick on.
    ///
    /// From the first tick the tape says only how the app gets there ([`Start::Gate`](bevy_replay_tape::Start)); later it
    /// holds the state, which a replay puts back ([`Start::Image`](bevy_replay_tape::Start)).
    pub fn record(&mut self) {
        self.requests.push(Request::Record);
    }

    /// Records from the next tick on, as [`record`](Self::record), and into a file while the game runs.
    ///
    /// A folder (one that exists, or a path that ends in `/`) gets `my_game-0001.tape`, or the next number that is free.
    /// Until the recording has ended the file has `.partial` behind its name; if the game dies then, it holds all but
    /// the last half second, and can be played as it is. Nothing is overwritten, and no tick waits for the disk: when
    /// it is too slow the recording ends as [`EndReason::WriterTooSlow`]. [`RecordingSaved`] tells when the file is
    /// finished; what goes wrong with it is told by [`DeckRefused`], and the game goes on.
    #[cfg(feature = "file")]
    pub fn record_to(&mut self, path: impl Into<PathBuf>) {
        self.requests.push(Request::RecordTo(path.into()));
    }

    /// Saves the last seconds of play as a tape, which starts in the middle of the game: into a file, where
    /// [`FlightRecorder::folder`] is set, and into [`tape`](Self::tape). [`RecordingSaved`] tells when the file is finished.
    pub fn save_flight(&mut self) {
        self.requests.push(Request::SaveFlight);
    }

    /// Ends the recording, or stops playing; at the next border of a tick, or at the end of the frame.
    pub fn stop(&mut self) {
        self.requests.push(Request::Stop);
    }

    /// Plays a tape from the next tick on. One that starts with the app must be played from the first tick: call it at
    /// start-up. One that holds a state can be played at any time.
    pub fn play(&mut self, tape: impl Into<Arc<Tape>>, options: PlayOptions) {
        self.requests.push(Request::Play(tape.into(), options));
    }

    /// Sets a bookmark at the next tick of the recording.
    pub fn mark(&mut self, text: impl Into<String>) {
        self.requests.push(Request::Mark(text.into()));
    }

    /// Writes what the game says of the run on the tape, as its final score. A later claim of that name replaces it.
    pub fn claim(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.requests.push(Request::Claim(name.into(), value.into()));
    }

    /// Returns what the deck is doing.
    #[must_use]
    pub fn state(&self) -> DeckState {
        self.state
    }

    /// Returns whether it records.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        matches!(self.state, DeckState::Recording { .. })
    }

    /// Returns whether it plays a tape, recorded anew or not.
    #[must_use]
    pub fn is_replaying(&self) -> bool {
        self.is_replaying
    }

    /// Returns the last finished recording.
    #[must_use]
    pub fn tape(&self) -> Option<&Arc<Tape>> {
        self.tape.as_ref()
    }

    /// Returns the file of the last recording that was written whole.
    #[cfg(feature = "file")]
    #[must_use]
    pub fn saved(&self) -> Option<&Path> {
        self.saved.as_deref()
    }

    /// Returns what the last finished replay found.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Returns why the last request was refused.
    #[must_use]
    pub fn error(&self) -> Option<&DeckError> {
        self.error.as_ref()
    }
}

/// Run condition: a tape is played, so that live input changes nothing.
#[must_use]
pub fn is_replaying(deck: Res<Deck>) -> bool {
    deck.is_replaying()
}

/// Run condition: no tape is played, so that live input counts.
///
/// For systems that ask the world outside for input: a network, a text field, an asynchronous task. While a tape is
/// played it answers in their place.
#[must_use]
pub fn is_live(deck: Res<Deck>) -> bool {
    !deck.is_replaying()
}

/// Event: the recording has ended; the tape is in [`Deck::tape`]. The game goes on.
#[derive(Event, Debug, Clone)]
pub struct RecordingEnded {
    /// Why.
    pub reason: EndReason,
    /// The tape.
    pub tape: Arc<Tape>,
}

/// Event: the file of a recording is finished.
#[cfg(feature = "file")]
#[derive(Event, Debug, Clone)]
pub struct RecordingSaved {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub size_bytes: u64,
}

/// Event: a replay has met its first difference; it goes on, to see whether that heals.
#[derive(Event, Debug, Clone)]
pub struct Diverged {
    /// What is known now. [`ReplayFinished`] brings the whole of it.
    pub report: Report,
}

/// Event: the tape has ended. Live input is back, unless the tape stays in the deck.
#[derive(Event, Debug, Clone)]
pub struct ReplayFinished {
    /// What was found.
    pub report: Report,
}

/// Event: a request was refused, and nothing has changed; or a file could not be written.
#[derive(Event, Debug, Clone)]
pub struct DeckRefused {
    /// Why.
    pub error: DeckError,
}

/// Why the deck refused a request, or gave up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeckError {
    /// A tape that starts with the app is played from its first tick.
    #[error(
        "the tape starts with the app, and {tick} ticks have run already (play it at start-up, or start the app anew)"
    )]
    NotAtStart {
        /// How many ticks have run.
        tick: u64,
    },
    /// There is nothing to play over and over.
    #[error("a loop from tick {start} to tick {end} has no ticks (give the earlier tick first)")]
    EmptyLoop {
        /// The first tick.
        start: u64,
        /// The tick after the last.
        end: u64,
    },
    /// The edited tick is not on the tape.
    #[error("tick {tick} is not on the tape, whose ticks are {first} to {end}")]
    NotOnTape {
        /// The tick.
        tick: u64,
        /// The first tick of the tape.
        first: u64,
        /// The tick after its last.
        end: u64,
    },
    /// The state is not that of the tape at this tick: a jump has not put everything back.
    #[error(
        "a branch cannot begin at tick {tick}, as its state is not that of straight playback (play from the start)"
    )]
    NotFaithful {
        /// The tick.
        tick: u64,
    },
    /// The tape starts in the middle of a game, and holds no state to start from.
    #[error(
        "the tape starts at tick {tick} from a state that is not on it (record it anew, or cut it from its beginning)"
    )]
    NoInitialState {
        /// Its first tick.
        tick: u64,
    },
    /// There is no flight recorder.
    #[error("there is no flight recorder, or no tick has run (set `ReplayPlugin::flight`)")]
    NoFlight,
    /// A tape is needed, and none is in the deck.
    #[error(
        "going back, branching and editing need a tape in the deck (play one, or record with `ReplayPlugin::rewind(true)`)"
    )]
    NoTape,
    /// The tape has no such mark.
    #[error("the tape has no mark {index} (they are counted from 0)")]
    NoSuchMark {
        /// Its number.
        index: usize,
    },
    /// There is no such branch.
    #[error("there is no branch {index} (they are counted from 0)")]
    NoSuchBranch {
        /// Its number.
        index: usize,
    },
    /// A branch begins in another way than the tape in the deck.
    #[error("branch {index} and the tape in the deck have no beginning in common (stop, and play it)")]
    Unrelated {
        /// Its number.
        index: usize,
    },
    /// The tape has no such input.
    #[error("the tape has no input {name}")]
    NoSuchInput {
        /// Name of the type.
        name: String,
    },
    /// A state could not be put back.
    #[error(transparent)]
    Restore(#[from] crate::state::RestoreError),
    /// There is no recording to write on.
    #[error("marks and claims are written on a recording, and none is running (call `record` first)")]
    NotRecording,
    /// The tick that was to be recorded has no length.
    #[error(
        "the tick has no length: `FixedMain` was run by hand without a clock (advance `Time<Fixed>` by its timestep before \
         each run, or let `Time<Virtual>` drive it)"
    )]
    TickWithoutLength,
    /// The deck is busy.
    #[error("the deck is busy (stop it first)")]
    Busy,
    /// The tape belongs to another game, or to other rules.
    #[error("{}", refusal(differences))]
    Refused {
        /// What differs.
        differences: Vec<HeaderDifference>,
    },
    /// A tape of an older game holds a value that has no like in this app.
    #[error("{reason} (play the tape with the game that recorded it)")]
    NotConvertible {
        /// Which value, and why.
        reason: String,
    },
    /// A plan on the tape has other events than the game's.
    #[error(transparent)]
    Plan(#[from] bevy_replay_tape::PlanError),
    /// A recorded input is no value of the app's type.
    #[error("input {name} at tick {tick} cannot be read: {error}")]
    BadInput {
        /// Name of the type.
        name: String,
        /// The tick.
        tick: u64,
        /// What is wrong.
        error: bevy_replay_tape::DecodeError,
    },
    /// A recording could not be written to its file.
    #[error("the recording could not be written to {path}: {reason}")]
    File {
        /// The file or folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The state could not be captured.
    #[error(transparent)]
    State(#[from] crate::state::StateError),
}

fn refusal(differences: &[HeaderDifference]) -> String {
    let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
    // Inputs of another plan mean nothing.
    let is_of_plan = differences.iter().any(|row| row.field.starts_with("plan "));
    let cure = if is_of_plan { "play it with that very plan" } else { "play its inputs only" };
    format!("the tape is refused: {} ({cure}, or force it and get an unverified result)", lines.join("; "))
}
