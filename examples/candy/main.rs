//! A whole game in fixed-point numbers, played by nobody, as a determinism test plays it.
//!
//! Run it: `cargo run --release --features fixed --example candy`
//!
//! What to look at: a replay of 1,800 ticks has the same digests, at many times real time. The same scenario is a golden
//! test in `tests/golden`, with its digests in `tests/baselines`. With the feature `cli` the program plays tapes and
//! approves the scenario, too: `cargo run --features fixed,cli --example candy -- verify my.tape`

mod game;

use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use game::{Enemy, Score, ThunderRing, Wave};
use std::process::ExitCode;

const TICKS: u64 = 1800;

fn main() -> Result<ExitCode, ReplayError> {
    #[cfg(feature = "cli")]
    if let Some(code) = command_line().run() {
        return Ok(code);
    }
    let mut recording = Headless::new(game::app).detail(Detail::Roots);
    for ticks in (300..=TICKS).step_by(300) {
        recording = recording.at(ticks, move |world: &mut World| {
            let enemies = world.query::<&Enemy>().iter(world).count();
            let (wave, score) = (world.resource::<Wave>().number, world.resource::<Score>());
            println!("after {ticks} ticks: wave {wave}, {enemies} enemies, {} kills", score.kills);
        });
    }
    let recorded = recording.record(TICKS)?;
    let replayed = Headless::new(game::app).verify(recorded.tape())?;
    let (score, ring) = (replayed.resource::<Score>()?, replayed.resource::<ThunderRing>()?);
    println!("{} points, {} kills, {} thunders", score.points, score.kills, ring.thunders);
    println!("{}", replayed.report());
    Ok(ExitCode::SUCCESS)
}

/// `verify`, `compare`, `bless`, `import` and `bench`, for this game.
#[cfg(feature = "cli")]
fn command_line() -> bevy_replay::cli::ReplayCli {
    let whole_game = bevy_replay::testing::ReplayTest::new("candy/whole_game", game::app).ticks(TICKS).seed(12_345);
    let whole_game = whole_game.param("level", 1).param("ability", "ThunderRing").cross_platform(true);
    bevy_replay::cli::ReplayCli::new(game::app).scenario(whole_game)
}
