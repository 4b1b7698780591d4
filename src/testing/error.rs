//! Why a determinism test fails, in the words a developer reads.

use crate::ReplayError;
use bevy_replay_tape::{BaselineDifference, BaselineError, TapeError};
use core::fmt;

/// Why a determinism test fails. Its `Debug` text is its message too, as that is what test runners show.
#[non_exhaustive]
pub enum ReplayTestError {
    /// The digests are not those of the baseline.
    Changed(Box<BehaviourChange>),
    /// Two runs differ.
    Nondeterministic {
        /// Name of the scenario.
        scenario: String,
        /// Which runs.
        who: &'static str,
        /// Where they part.
        difference: String,
    },
    /// The baseline was made by another scenario, other rules or with other types.
    OtherScenario {
        /// Name of the scenario.
        scenario: String,
        /// What differs.
        differences: Vec<String>,
        /// The command that approves the change.
        approve: String,
        /// Path of the baseline.
        baseline: String,
    },
    /// The baseline cannot be read: it is of another schema, or damaged.
    Outdated {
        /// Name of the scenario.
        scenario: String,
        /// What is wrong with it.
        error: BaselineError,
        /// The command that approves a new one.
        approve: String,
        /// Path of the baseline.
        baseline: String,
    },
    /// There was no baseline, and now there is one.
    Written {
        /// Name of the scenario.
        scenario: String,
        /// Path of the baseline.
        baseline: String,
    },
    /// There is no baseline, and under `CI` none is written into the tree.
    Missing {
        /// Name of the scenario.
        scenario: String,
        /// Where it was put instead.
        path: String,
        /// What it holds.
        text: String,
    },
    /// Another platform has other digests, and they must be the same.
    PeerDiffers {
        /// Name of the scenario.
        scenario: String,
        /// Which platform.
        platform: String,
        /// After how many ticks the first digest differs.
        tick: u64,
        /// The other platform's digest.
        expected: u64,
        /// This platform's.
        got: u64,
    },
    /// A reason is needed to approve anything.
    NoReason {
        /// Name of the scenario.
        scenario: String,
    },
    /// `BEVY_REPLAY_BLESS` without `BEVY_REPLAY_REASON`.
    BlessWithoutReason,
    /// `BEVY_REPLAY_BLESS` for all tests at once.
    BlessWithoutName,
    /// The game could not be run.
    Run {
        /// Name of the scenario.
        scenario: String,
        /// What is wrong.
        error: Box<ReplayError>,
    },
    /// A fresh process gave no answer.
    Process {
        /// Name of the scenario.
        scenario: String,
        /// What is wrong.
        reason: String,
    },
    /// A file cannot be written.
    File {
        /// Its path.
        path: String,
        /// What is wrong.
        error: std::io::Error,
    },
    /// The tape beside the baseline cannot be written.
    Tape(TapeError),
}

/// How the digests of a scenario differ from its baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BehaviourChange {
    /// Name of the scenario.
    pub scenario: String,
    /// Length of a tick.
    pub timestep_ns: u64,
    /// How many digests the baseline has.
    pub snapshots: usize,
    /// Where the digests part.
    pub difference: BaselineDifference,
    /// The first tick, entity and field, as far as the tape beside the baseline knows them.
    pub first: String,
    /// Commit of the baseline; empty if unknown.
    pub commit: String,
    /// Files under `src` that changed since.
    pub changes: Vec<String>,
    /// The command that approves the change.
    pub approve: String,
    /// Path of the baseline.
    pub baseline: String,
}

impl std::error::Error for ReplayTestError {}

impl fmt::Debug for ReplayTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A tick as a time: ` (1.87 s)`.
fn seconds(tick: u64, timestep_ns: u64) -> String {
    let hundredths = u128::from(tick) * u128::from(timestep_ns) / 10_000_000;
    format!("{}.{:02} s", hundredths / 100, hundredths % 100)
}

impl fmt::Display for ReplayTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(change) => write!(f, "{change}"),
            Self::Nondeterministic { scenario, who, difference } => write!(
                f,
                "{scenario}: not deterministic: {who} differ, {difference}\n  nothing written; a baseline would be wrong \
                 in the next run\n  what breaks a replay, and how to find it: docs/debugging.md of bevy_replay"
            ),
            Self::OtherScenario { scenario, differences, approve, baseline } => {
                write!(f, "{scenario}: the baseline is older than the scenario, so its digests say nothing")?;
                differences.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
                write_way_out(f, approve, baseline)
            }
            Self::Outdated { scenario, error, approve, baseline } => {
                write!(f, "{scenario}: {error}")?;
                if matches!(error, BaselineError::OtherSchema { .. }) {
                    f.write_str("\n  its digests cannot be compared with those of this version")?;
                }
                write_way_out(f, approve, baseline)
            }
            Self::Written { scenario, baseline } => write!(
                f,
                "{scenario}: there was no baseline of this platform; two fresh processes agree, so it was written\n  \
                 this run fails so that nobody takes it for a test that passed\n  commit it:  git add {baseline}"
            ),
            Self::Missing { scenario, path, text } => write!(
                f,
                "{scenario}: no baseline of this platform, and under CI none is written into the tree\n  it is in \
                 {path}; commit it, or set BEVY_REPLAY_BASELINE_MISSING=pass for a new platform's first run\n{text}"
            ),
            Self::PeerDiffers { scenario, platform, tick, expected, got } => write!(
                f,
                "{scenario}: other digests than on {platform} from snapshot {tick} on: expected {expected:016X} got \
                 {got:016X}\n  both must be the same (`cross_platform(true)`): look for floats beyond + - * / and sqrt"
            ),
            Self::NoReason { scenario } => write!(f, "{scenario}: a change is approved with a reason (say why)"),
            Self::BlessWithoutReason => {
                f.write_str("BEVY_REPLAY_BLESS is set, but no reason is given (set BEVY_REPLAY_REASON=\"…\")")
            }
            Self::BlessWithoutName => f.write_str(
                "BEVY_REPLAY_BLESS is set, but no test is named (name what you approve: `cargo test TEST_NAME`)",
            ),
            Self::Run { scenario, error } => write!(f, "{scenario}: {error}"),
            Self::Process { scenario, reason } => write!(f, "{scenario}: a fresh process gave no answer: {reason}"),
            Self::File { path, error } => write!(f, "{path}: {error}"),
            Self::Tape(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for BehaviourChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, timestep_ns, snapshots, difference, first, commit, changes, approve, baseline } = self;
        let BaselineDifference { tick, expected, got, different, healed_at, types, .. } = difference;
        let time = seconds(*tick, *timestep_ns);
        write!(f, "{scenario}: behaviour changed by tick {tick} ({time}): ")?;
        write!(f, "digest expected {expected:016X} got {got:016X}\n  first difference: {first}")?;
        if let Some(healed_at) = healed_at {
            write!(f, "\n  it heals: equal again from snapshot {healed_at} on")?;
            write!(f, " ({different} of {snapshots} snapshots differ)")?;
        } else if !types.is_empty() {
            write!(f, "\n  types that differ at the end: {}", types.join(", "))?;
        }
        f.write_str("\n  two fresh processes agree: the game is deterministic, its behaviour has changed")?;
        if !commit.is_empty() {
            let nothing = ["nothing under src".to_owned()];
            let lines = if changes.is_empty() { &nothing[..] } else { &changes[..] };
            lines.iter().try_for_each(|line| write!(f, "\n  since the baseline (commit {commit}): {line}"))?;
        }
        write_way_out(f, approve, baseline)
    }
}

fn write_way_out(f: &mut fmt::Formatter<'_>, approve: &str, baseline: &str) -> fmt::Result {
    write!(f, "\n  if that is what you meant:  {approve}\n  baseline: {baseline}")
}
