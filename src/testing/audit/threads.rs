//! Other numbers of threads. Bevy's pools are made once in a process, so each number is a process of its own.

use super::AuditOutcome;
use crate::{Executor, Headless, ReplayError};
use bevy_app::TaskPoolOptions;
use bevy_replay_tape::{Tape, TapeError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

pub(crate) const NAME: &str = "1 / 2 / 8 threads";
const COUNTS: [usize; 3] = [1, 2, 8];
const THREADS: &str = "BEVY_REPLAY_THREADS";
const ANSWER: &str = "BEVY_REPLAY_THREADS_ANSWER";

/// How this program is started to play a tape.
#[derive(Debug)]
pub(crate) struct Child {
    program: PathBuf,
    args: Vec<std::ffi::OsString>,
}

impl Child {
    /// This program, with these arguments.
    pub(crate) fn new(args: impl IntoIterator<Item = std::ffi::OsString>) -> std::io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, args: args.into_iter().collect() })
    }

    /// Plays the tape on each number of threads until one differs.
    pub(super) fn play(&self, expected: &Tape) -> AuditOutcome {
        if !cfg!(feature = "multi_threaded") {
            return AuditOutcome::NotTested("needs the feature `multi_threaded`".into());
        }
        for threads in COUNTS {
            match self.roots(threads) {
                Err(failed) => return failed,
                Ok(roots) => {
                    let differs = expected.digests.roots.iter().zip(&roots).position(|(a, b)| a != b);
                    let short = (expected.digests.roots.len() != roots.len()).then_some(roots.len());
                    if let Some(index) = differs.or(short) {
                        return AuditOutcome::Threads { threads, tick: expected.header.tick_first + index as u64 };
                    }
                }
            }
        }
        AuditOutcome::Equal
    }

    /// The roots of a process with so many threads.
    fn roots(&self, threads: usize) -> Result<Vec<u64>, AuditOutcome> {
        let not_started = |error: std::io::Error| AuditOutcome::NotTested(error.to_string());
        let answer = tempfile::NamedTempFile::new().map_err(not_started)?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).env(THREADS, threads.to_string()).env(ANSWER, answer.path());
        let output = command.output().map_err(not_started)?;
        let variant = format!("{threads} threads");
        match output.status.code() {
            Some(0) => {}
            Some(2) => {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(AuditOutcome::Failed { variant, error: said.lines().last().unwrap_or_default().into() });
            }
            _ => return Err(AuditOutcome::Panicked { variant }),
        }
        let text = std::fs::read_to_string(answer.path()).map_err(not_started)?;
        let roots = text.lines().map(|line| u64::from_str_radix(line, 16));
        roots.collect::<Result<_, _>>().map_err(|error| AuditOutcome::Failed { variant, error: error.to_string() })
    }
}

/// What this process was started for, if an audit started it.
pub(crate) struct Task {
    threads: usize,
    answer: PathBuf,
}

/// Returns what this process was started for, if an audit started it.
pub(crate) fn task() -> Option<Task> {
    Some(Task { threads: std::env::var(THREADS).ok()?.parse().ok()?, answer: std::env::var_os(ANSWER)?.into() })
}

impl Task {
    /// Plays the tape on that number of threads, and writes the root after each tick.
    pub(crate) fn carry_out(&self, make: impl Fn() -> Headless, tape: &Path) -> Result<(), ReplayError> {
        // So many for systems; what else there is gets one.
        let mut options = TaskPoolOptions::with_num_threads(self.threads + 2);
        (options.compute.min_threads, options.compute.max_threads) = (self.threads, self.threads);
        options.create_default_pools();
        let tape = Arc::new(Tape::load(tape)?);
        let roots = make().executor(Executor::AsBuilt).straight(&tape, u64::MAX)?.roots;
        let text: String = roots.iter().map(|root| format!("{root:016X}\n")).collect();
        let failed = |error| TapeError::Io { path: self.answer.display().to_string(), error };
        Ok(std::fs::write(&self.answer, text).map_err(failed)?)
    }
}
