//! `shrink`: the shortest tape that fails in the same way.

use super::{CliError, Exit, say};
use crate::testing::{Game, Progress, Shrink, ShrinkError, headless};
use bevy_replay_tape::{Tape, TapeError};
use clap::ValueEnum;
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Example: my_game shrink crash.tape --out crash.ron --seconds-max 20\n\nExit codes: 0 = shrunk, and it \
                  still fails; 1 = the tape does not fail; 2 = no answer"
)]
pub(super) struct Arguments {
    /// A tape that fails
    tape: PathBuf,
    /// Where the shortest tape so far is written, as text if the name ends in .ron. Default: NAME.shrunk.tape beside it
    #[arg(long)]
    out: Option<PathBuf>,
    /// Stop after so many seconds
    #[arg(long, default_value_t = 60)]
    seconds_max: u64,
    /// What counts as failing. Default: whichever of them comes first
    #[arg(long = "as", value_enum)]
    fails_as: Option<FailsAs>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailsAs {
    /// The game panics
    Panic,
    /// What the tape expects is not so
    Expectation,
}

/// So many input changes are printed.
const CHANGES_SHOWN_MAX: usize = 10;

pub(super) fn run(game: &Game, arguments: &Arguments) -> Result<Exit, CliError> {
    let path = &arguments.tape;
    let mut out = Output::new(arguments.out.clone().unwrap_or_else(|| path.with_extension("shrunk.tape")))?;
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    let mut saved = Ok(());
    let shrink = Shrink::new(|| headless(game), Tape::load(path)?).time_max(Duration::from_secs(arguments.seconds_max));
    let shrink = match arguments.fails_as {
        None => shrink,
        Some(FailsAs::Panic) => shrink.panics(),
        Some(FailsAs::Expectation) => shrink.expectations(),
    };
    let better = |tape: &Tape, progress: &Progress| {
        spinner.set_message(format!("{}, {} tries", progress.size, progress.tries));
        if saved.is_ok() {
            saved = out.write(tape);
        }
    };
    let shrunk = shrink.on_better(better).run();
    spinner.finish_and_clear();
    let shrunk = match shrunk {
        Ok(shrunk) => shrunk,
        Err(error @ ShrinkError::DoesNotFail { .. }) => {
            say(error);
            return Ok(Exit::No);
        }
        Err(error) => return Err(error.into()),
    };
    say(&shrunk);
    if shrunk.after.input_changes <= CHANGES_SHOWN_MAX {
        for change in changes(&shrunk.tape) {
            say(format_args!("  {change}"));
        }
    }
    saved?;
    say(format_args!("{} tries; written to {}", shrunk.tries, out.path.display()));
    Ok(Exit::Yes)
}

/// One line for each input change, ascending by tick.
fn changes(tape: &Tape) -> Vec<String> {
    let all = tape.tracks.iter().flat_map(|track| track.changes.iter().map(move |(tick, _)| (tick, track)));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(tick, _)| *tick);
    all.into_iter().map(|(tick, track)| format!("tick {tick}  {}", track.text_at(tick))).collect()
}

/// A file that this run alone may write over.
struct Output {
    path: PathBuf,
    is_ours: bool,
}

impl Output {
    fn new(path: PathBuf) -> Result<Self, CliError> {
        match path.exists() {
            true => Err(CliError::OutExists { path: path.display().to_string() }),
            false => Ok(Self { path, is_ours: false }),
        }
    }

    /// At each moment the file holds a whole tape.
    fn write(&mut self, tape: &Tape) -> Result<(), CliError> {
        if !self.is_ours {
            tape.save(&self.path)?; // it refuses to write over what came in between
            self.is_ours = true;
            return Ok(());
        }
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else { return Ok(()) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let failed = |error| TapeError::Io { path: self.path.display().to_string(), error };
        let beside = tempfile::tempdir_in(folder).map_err(failed)?;
        let next = beside.path().join(name);
        tape.save(&next)?;
        Ok(std::fs::rename(&next, &self.path).map_err(failed)?)
    }
}
