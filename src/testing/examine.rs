//! Plays a tape that somebody handed in, and says what of it holds.

use super::Game;
use crate::ReplayError;
use bevy_replay_tape::{EndReason, ExpectationError, Report, Tape, TapeError};
use core::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How much a tape may ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    pub(crate) ticks_max: Option<u64>,
    pub(crate) time_max: Option<Duration>,
    /// Whether a tape of other rules is played and compared.
    pub(crate) any_rules: bool,
}

/// The answer to one tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Verified,
    /// The states are others than the tape says.
    Diverged,
    /// The states are right, what the tape claims of them is not.
    ClaimsDiffer,
    /// What a line on the tape expects is not so.
    ExpectationFailed,
    /// The file is damaged.
    Damaged,
    /// The states are right as far as the recording goes, which was never ended.
    Unfinished,
    /// It could not be played, or there is nothing on it to compare with.
    Unjudged,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Verified => "verified",
            Self::Diverged => "diverged",
            Self::ClaimsDiffer => "claims differ",
            Self::ExpectationFailed => "expectation failed",
            Self::Damaged => "damaged",
            Self::Unfinished => "unfinished",
            Self::Unjudged => "unjudged",
        })
    }
}

/// A claim on a tape, and what the replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) name: String,
    pub(crate) claimed: Option<String>,
    pub(crate) replayed: Option<String>,
}

impl Claim {
    fn holds(&self) -> bool {
        self.claimed.is_none() || self.claimed == self.replayed
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
        write!(f, "{}: claimed {}, replayed {}", self.name, text(&self.claimed), text(&self.replayed))
    }
}

/// What was found out about one tape.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line prints it"))]
pub(crate) struct Examined {
    pub(crate) path: PathBuf,
    pub(crate) answer: Answer,
    pub(crate) ticks: u64,
    /// The answer in words; several lines if the tape diverged.
    pub(crate) text: String,
    pub(crate) claims: Vec<Claim>,
}

/// Plays a tape and compares digests and claims.
pub(crate) fn examine(game: &Game, path: &Path, limits: Limits) -> Examined {
    let failed = |error: String, ticks| Examined {
        path: path.into(),
        answer: Answer::Unjudged,
        ticks,
        text: error,
        claims: Vec::new(),
    };
    let tape = match Tape::load(path) {
        Ok(tape) => Arc::new(tape),
        Err(error @ (TapeError::Io { .. } | TapeError::NewerFormat { .. })) => return failed(error.to_string(), 0),
        Err(error) => return Examined { answer: Answer::Damaged, ..failed(error.to_string(), 0) },
    };
    let ticks = tape.tick_count();
    if let Some(max) = limits.ticks_max.filter(|max| ticks > *max) {
        return failed(format!("{ticks} ticks are more than the {max} that are allowed"), ticks);
    }
    let mut headless = super::headless(game);
    if let Some(time_max) = limits.time_max {
        headless = headless.time_max(time_max);
    }
    for line in &tape.header.expectations {
        headless = headless.expect(line.clone());
    }
    // A game that panics on one tape must not keep the others from being looked at.
    let play = || if limits.any_rules { headless.examine(tape.clone()) } else { headless.verify(&tape) };
    let Ok(played) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)) else {
        return failed("the game panicked on this tape (its message is above)".into(), ticks);
    };
    let run = match played {
        Ok(run) => run,
        Err(error @ ReplayError::Expectation(ExpectationError::NotMet { .. })) => {
            return Examined { answer: Answer::ExpectationFailed, ..failed(error.to_string(), ticks) };
        }
        Err(error @ ReplayError::TooSlow { ticks, .. }) => return failed(error.to_string(), ticks),
        Err(error) => return failed(error.to_string(), ticks),
    };
    let names: std::collections::BTreeSet<&String> = tape.end.claims.keys().chain(run.claims().keys()).collect();
    let claim = |name: &String| Claim {
        name: name.clone(),
        claimed: tape.end.claims.get(name).cloned(),
        replayed: run.claims().get(name).cloned(),
    };
    let claims: Vec<Claim> = names.into_iter().map(claim).collect();
    let report = run.report();
    let (answer, text) = if report.compared == 0 && ticks > 0 {
        (Answer::Unjudged, report.to_string())
    } else if report.divergence.is_some() || !report.is_verified() {
        (Answer::Diverged, [report.to_string(), why_states_part(report)].concat())
    } else if let Some(claim) = claims.iter().find(|claim| !claim.holds()) {
        (Answer::ClaimsDiffer, format!("the digests agree, but not the claims: {claim}"))
    } else if tape.end.reason == EndReason::Unfinished {
        (Answer::Unfinished, format!("{report}\n\n  the recording was never ended: the game died"))
    } else {
        (Answer::Verified, report.to_string())
    };
    Examined { path: path.into(), answer, ticks, text, claims }
}

/// Tells what may be the cause, by whether the states meet again: after an altered digest they do, after an altered input
/// they do not.
fn why_states_part(report: &Report) -> String {
    let Some(found) = &report.divergence else { return String::new() };
    let Some(tick) = found.tick else { return String::new() };
    let Some(healed_at) = found.later.healed_at else {
        // Nothing is known of later ones where it was the last one compared.
        return match found.later.compared > 1 {
            true => format!(
                "\n\n  the states stay apart: the game does not repeat itself (an audit names where), or it has changed since \
                 the recording, or an input of tick {tick} or before was altered"
            ),
            false => String::new(),
        };
    };
    let ticks =
        if healed_at == tick + 1 { format!("tick {tick}") } else { format!("ticks {tick} to {}", healed_at - 1) };
    format!("\n\n  the states meet again: the digests of {ticks} were altered on the tape, or the difference heals")
}

/// Returns all tapes under these paths, folder by folder, ascending by name.
pub(crate) fn tapes(paths: &[PathBuf]) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside: Vec<PathBuf> =
                std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
            inside.retain(|path| path.is_dir() || is_tape(path));
            inside.sort();
            found.extend(tapes(&inside)?);
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn is_tape(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tape" || extension == "ron")
}
