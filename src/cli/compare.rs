//! `compare`: where do these rules lead elsewhere?

use super::{CliError, Exit, note, say, tapes};
use crate::ReplayError;
use crate::testing::{Game, headless};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Tapes, and folders of tapes
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Show all differences and the bits of floats
    #[arg(long)]
    all: bool,
}

pub(super) fn run(game: &Game, arguments: &Arguments) -> Result<Exit, CliError> {
    let mut exit = Exit::Yes;
    for path in tapes(&arguments.paths)? {
        match compare(game, &path) {
            Ok(report) if arguments.all => say(format_args!("{}\n{report:#}\n", path.display())),
            Ok(report) => say(format_args!("{}\n{report}\n", path.display())),
            Err(error) => {
                note(format_args!("{}: {error}", path.display()));
                exit = Exit::NoAnswer;
            }
        }
    }
    Ok(exit)
}

fn compare(game: &Game, path: &std::path::Path) -> Result<crate::Report, ReplayError> {
    headless(game).compare(path)
}
