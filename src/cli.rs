//! The command line of a game's own program: what needs the game to be answered.
//!
//! | command | does |
//! |---|---|
//! | `verify PATHS` | plays tapes, compares digests and claims; `--jobs`, `--shard k/n`, `--junit`, `--json`, limits |
//! | `compare PATHS` | plays inputs with these rules and reports where states part; never fails for that |
//! | `audit TAPE` | plays a tape under perturbations that must not matter, and says which do |
//! | `bless SCENARIO --reason TEXT` | approves a changed baseline |
//! | `import FILE` | puts a tape or a pasted text into `tests/tapes`, and writes a test that plays it |
//! | `shrink TAPE` | finds a shorter tape that fails in the same way: a panic, or an expectation on the tape |
//! | `bench PATHS` | times tapes; `--against old.json --max-ratio R` fails past the bound |
//!
//! Exit code 0 says yes, 1 that the answer is no (diverged, a claim differs, too slow), 2 that there is no answer (usage,
//! a file, a refused tape). Results are on stdout, everything else on stderr.
//!
//! # Examples
//!
//! ```no_run
//! use bevy_replay::cli::ReplayCli;
//! use bevy_replay::testing::ReplayTest;
//! use std::process::ExitCode;
//! # use bevy_app::prelude::*;
//! # fn game(app: &mut App) {}
//!
//! fn main() -> ExitCode {
//!     let cli = ReplayCli::new(game).scenario(ReplayTest::new("my_game/whole_game", game).ticks(1800));
//!     if let Some(code) = cli.run() {
//!         return code; // `my_game verify …`; everything else is the game's own
//!     }
//!     // … the windowed game …
//! #   ExitCode::SUCCESS
//! }
//! ```

mod audit;
mod bench;
mod bless;
mod compare;
mod import;
mod shrink;
mod verify;

use crate::testing::Game;
use crate::testing::ReplayTest;
use bevy_app::App;
use clap::{Parser, Subcommand};
use core::any::type_name_of_val;
use core::fmt;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The command line inside a game's own program.
#[expect(missing_debug_implementations, reason = "holds the game")]
pub struct ReplayCli {
    game: Game,
    /// Path of the function, for tests that are written.
    game_path: &'static str,
    scenarios: Vec<ReplayTest>,
}

#[derive(Parser)]
#[command(name = "replay", about = "Plays tapes of this game, compares them, and makes tests of them")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play tapes and compare digests and claims
    Verify(verify::Arguments),
    /// Play the inputs of tapes with these rules and report where the states part
    Compare(compare::Arguments),
    /// Play a tape under perturbations that must not matter, and say which do
    Audit(audit::Arguments),
    /// Approve what a scenario does now
    Bless(bless::Arguments),
    /// Make a test of a tape or of pasted text
    Import(import::Arguments),
    /// Find a shorter tape that fails in the same way
    Shrink(shrink::Arguments),
    /// Time tapes, and compare the times with older ones
    Bench(bench::Arguments),
}

const COMMANDS: [&str; 7] = ["verify", "compare", "audit", "bless", "import", "shrink", "bench"];

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Yes.
    Yes,
    /// The answer is no.
    No,
    /// There is no answer.
    NoAnswer,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::NoAnswer => 2,
        })
    }
}

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error("{path}: {error}")]
    File { path: String, error: std::io::Error },
    #[error("{path}: {error}")]
    Json { path: String, error: serde_json::Error },
    #[error("{path}: {error}")]
    Junit { path: String, error: quick_junit::SerializeError },
    #[error(transparent)]
    Tape(#[from] bevy_replay_tape::TapeError),
    #[error("{error}")]
    Run { error: Box<crate::ReplayError> },
    #[error("no tape under {paths} (tapes end in .tape or .ron)")]
    NoTape { paths: String },
    #[error("`{shard}` is no shard (write k/n, with k from 1 to n)")]
    BadShard { shard: String },
    #[error("there is no scenario `{name}` (there are: {known})")]
    NoScenario { name: String, known: String },
    #[error("{path} is there already, and this run did not write it (choose another name with --out, or delete it)")]
    OutExists { path: String },
    #[error(transparent)]
    Shrink(#[from] crate::testing::ShrinkError),
    #[error(transparent)]
    Import(#[from] crate::ImportError),
}

impl CliError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::File { path, error }
    }
}

impl ReplayCli {
    /// Makes the command line of a game: the function that adds it to an app.
    #[must_use]
    pub fn new(game: impl Fn(&mut App) + Send + Sync + 'static) -> Self {
        let game_path = type_name_of_val(&game);
        Self { game: Arc::new(game), game_path, scenarios: Vec::new() }
    }

    /// Adds a scenario that can be approved.
    #[must_use]
    pub fn scenario(mut self, scenario: ReplayTest) -> Self {
        self.scenarios.push(scenario);
        self
    }

    /// Carries out the command of this process's arguments; `None` if there is none, and the game may go on.
    #[must_use]
    pub fn run(&self) -> Option<ExitCode> {
        let args: Vec<OsString> = std::env::args_os().collect();
        let asked = args.get(1).and_then(|arg| arg.to_str()).is_some_and(|arg| COMMANDS.contains(&arg));
        asked.then(|| self.run_with(args))
    }

    /// Carries out the command of these arguments; the first is the program's name.
    #[must_use]
    pub fn run_with(&self, args: impl IntoIterator<Item = OsString>) -> ExitCode {
        let command = match Arguments::try_parse_from(args) {
            Ok(arguments) => arguments.command,
            Err(error) => {
                drop(error.print()); // help is an answer, a mistake is none
                return if error.use_stderr() { Exit::NoAnswer } else { Exit::Yes }.into();
            }
        };
        let exit = match command {
            Command::Verify(arguments) => verify::run(&self.game, &arguments),
            Command::Compare(arguments) => compare::run(&self.game, &arguments),
            Command::Audit(arguments) => audit::run(&self.game, &arguments),
            Command::Bless(arguments) => bless::run(&self.scenarios, &arguments),
            Command::Import(arguments) => import::run(self.game_path, &arguments),
            Command::Shrink(arguments) => shrink::run(&self.game, &arguments),
            Command::Bench(arguments) => bench::run(&self.game, &arguments),
        };
        match exit {
            Ok(exit) => exit.into(),
            Err(error) => {
                note(error);
                Exit::NoAnswer.into()
            }
        }
    }
}

/// Writes a line of the result. Where nobody reads it any more there is nothing to do.
fn say(text: impl fmt::Display) {
    drop(writeln!(std::io::stdout(), "{text}"));
}

/// Writes a line about the work.
fn note(text: impl fmt::Display) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Returns all tapes under these paths.
fn tapes(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let shown = || paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let found = crate::testing::examine::tapes(paths).map_err(|error| CliError::File { path: shown(), error })?;
    if found.is_empty() { Err(CliError::NoTape { paths: shown() }) } else { Ok(found) }
}

fn write(path: &Path, text: &[u8]) -> Result<(), CliError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(CliError::file(folder))?;
    }
    std::fs::write(path, text).map_err(CliError::file(path))
}
