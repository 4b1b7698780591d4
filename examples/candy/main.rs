//! A whole game in fixed-point numbers, played by nobody, as a determinism test plays it.
//!
//! Run it: `cargo run --release --features fixed --example candy`
//!
//! What to look at: two runs of the same 1,800 ticks have the same digests, at many times real time. The same
//! scenario is a golden test in `tests/golden`, with its digests in `tests/baselines`.

mod game;

use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use game::{Enemy, Score, ThunderRing, Wave};

const TICKS: u64 = 1800;

fn main() -> Result<(), ReplayError> {
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
    Ok(())
}
