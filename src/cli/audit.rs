//! `audit`: does anything matter that must not?

use super::{CliError, Exit, note, say};
use crate::testing::audit::threads::{Child, task};
use crate::testing::{Audit, Game, headless};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The tape that is played again and again
    tape: PathBuf,
    /// How many other legal orders of systems are tried
    #[arg(long, default_value_t = 16)]
    shuffles: u64,
    /// After how many ticks each the state is put into a new game
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(game: &Game, arguments: &Arguments) -> Result<Exit, CliError> {
    let game = game.clone();
    let make = move || headless(&game);
    let failed = |error| CliError::Run { error: Box::new(error) };
    if let Some(task) = task() {
        return task.carry_out(make, &arguments.tape).map(|()| Exit::Yes).map_err(failed);
    }
    let child = Child::new(std::env::args_os().skip(1)).map_err(CliError::file(&arguments.tape))?;
    let audit = Audit::new(make).shuffles(arguments.shuffles).restored_every(arguments.every).child(child);
    let report = audit.progress(|row| note(format_args!("  {row} …"))).run(&arguments.tape).map_err(failed)?;
    if arguments.json {
        let rows: Vec<_> = report
            .rows
            .iter()
            .map(|row| {
                let (verdict, first) = (row.outcome.verdict().to_lowercase(), row.outcome.first_difference());
                serde_json::json!({ "perturbation": row.perturbation, "verdict": verdict, "first_difference": first })
            })
            .collect();
        let pairs: Vec<_> = report.ambiguous.iter().map(|pair| {
            serde_json::json!({ "first": pair.first, "second": pair.second, "schedule": pair.schedule, "shared": pair.shared })
        }).collect();
        let table = serde_json::json!({ "clean": report.is_clean(), "rows": rows, "ambiguous": pairs, "untested": report.untested, "findings": report.findings });
        say(table);
    } else {
        say(&report);
    }
    Ok(if report.is_clean() { Exit::Yes } else { Exit::No })
}
