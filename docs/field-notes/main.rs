//! `field_notes GAME record TAPE` plays an example for six seconds and saves the tape; `field_notes GAME audit TAPE` plays the
//! tape in ways that must not matter. All commands of `ReplayCli` are there, as `verify`.

mod stand_ins;

/// The examples, as `docs/field-notes.sh` has prepared them.
#[allow(dead_code, reason = "not ours")]
mod games {
    pub mod breakout_in_ticks;
    pub mod breakout_published;
    pub mod iter_combinations_cured;
    pub mod iter_combinations_published;
}

use bevy::prelude::*;
use bevy_replay::cli::ReplayCli;
use bevy_replay::prelude::*;
use bevy_replay::{Finding, Pacing, coverage};
use core::time::Duration;
use games::*;
use std::process::ExitCode;

const TICKS: u64 = 384;

type Game = fn(&mut App);

const GAMES: [(&str, Game); 4] = [
    ("breakout_published", breakout_published::adapter::replayable),
    ("breakout_in_ticks", breakout_in_ticks::adapter::replayable),
    ("iter_combinations_published", iter_combinations_published::adapter::replayable),
    ("iter_combinations_cured", iter_combinations_cured::adapter::replayable),
];

fn main() -> Result<ExitCode, ReplayError> {
    let mut args = std::env::args_os().skip(1).peekable();
    let name = args.next().unwrap_or_default();
    let Some((name, game)) = GAMES.iter().find(|(known, _)| *known == name) else {
        eprintln!("choose one of {}", GAMES.map(|(name, _)| name).join(", "));
        return Ok(ExitCode::from(2));
    };
    if args.next_if(|command| command == "record").is_none() {
        return Ok(ReplayCli::new(game).run_with(core::iter::once((*name).into()).chain(args)));
    }
    record(*game)?.save(std::path::PathBuf::from(args.next().unwrap_or_default()))?;
    Ok(ExitCode::SUCCESS)
}

/// Records the game, and says what is seen on the way.
fn record(game: Game) -> Result<bevy_replay::Tape, ReplayError> {
    let watched = move |app: &mut App| {
        app.add_plugins(game).add_observer(|found: On<Finding>| println!("finding: {}", *found));
    };
    // On a display of 60 Hz, as in a window.
    let frames = Pacing::Frames(vec![Duration::from_nanos(1_000_000_000 / 60)]);
    let headless = Headless::new(watched).detail(Detail::Values).pacing(frames);
    let headless = headless.at(TICKS, |world| println!("{}", coverage(world)));
    // Only breakout reads them.
    let recorded = headless.inputs(breakout_published::adapter::keys(TICKS)).run()?;
    Ok(bevy_replay::Tape::clone(recorded.tape()))
}
