//! Fresh processes: what differs from one process to the next (hash seeds, addresses) shows between them.

use super::files::write;
use super::{Baseline, ReplayTestError};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

const SCENARIO: &str = "BEVY_REPLAY_CHILD";
const ANSWER: &str = "BEVY_REPLAY_CHILD_ANSWER";

/// How a fresh process gets to the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Relaunch {
    /// It is reached by the test of this name.
    Test(String),
    /// It is reached as in this process.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command line is started so"))]
    SameArguments,
}

/// What this process was started for.
pub(super) struct Task {
    pub(super) scenario: String,
    answer: PathBuf,
}

/// Returns what this process was started for, if a test started it.
pub(super) fn task() -> Option<Task> {
    Some(Task { scenario: std::env::var(SCENARIO).ok()?, answer: std::env::var_os(ANSWER)?.into() })
}

impl Task {
    /// Writes the answer and ends the process: what follows in the test is the parent's business.
    pub(super) fn answer<T>(&self, baseline: &Baseline) -> Result<T, ReplayTestError> {
        write(&self.answer, &baseline.to_string())?;
        std::process::exit(0)
    }
}

/// Returns the name of the running test, where the thread has it.
pub(super) fn test_name() -> Option<String> {
    let name = std::thread::current().name().map(ToOwned::to_owned);
    name.filter(|name| name != "main").or_else(|| {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let exact = args.iter().any(|arg| arg == "--exact");
        args.into_iter().find(|arg| exact && !arg.starts_with('-'))
    })
}

/// Runs the scenario in a fresh process and returns its digests.
pub(super) fn run(scenario: &str, relaunch: Option<&Relaunch>) -> Result<Baseline, ReplayTestError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let failed = |reason: String| ReplayTestError::Process { scenario: scenario.into(), reason };
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let answer = std::env::temp_dir().join(format!("bevy_replay-{}-{count}.txt", std::process::id()));
    let mut command = Command::new(std::env::current_exe().map_err(|error| failed(error.to_string()))?);
    match relaunch {
        Some(Relaunch::Test(name)) => command.args([name, "--exact"]),
        Some(Relaunch::SameArguments) => command.args(std::env::args_os().skip(1)),
        None => match test_name() {
            Some(name) => command.args([&*name, "--exact"]),
            None => command.args(std::env::args_os().skip(1)),
        },
    };
    let output = command.env(SCENARIO, scenario).env(ANSWER, &answer).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let text = std::fs::read_to_string(&answer);
    drop(std::fs::remove_file(&answer));
    let text = text.map_err(|_| {
        let said = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
        failed(format!("it ended with {}\n{}", output.status, said.trim_end()))
    })?;
    text.parse().map_err(|error: bevy_replay_tape::BaselineError| failed(error.to_string()))
}
