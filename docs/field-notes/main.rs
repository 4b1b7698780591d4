//! Records each example for six seconds, and plays the tape in ways that must not matter.
//!
//! `cargo run` examines all, `cargo run -- iter_combinations` one.

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
use bevy_replay::prelude::*;
use bevy_replay::{AmbiguousPairs, Pacing, coverage};
use core::fmt::Display;
use core::time::Duration;
use games::*;



const TICKS: u64 = 384;

type Game = fn(TickOrder, &mut App);
type Outcome<T = ()> = Result<T, Box<dyn core::error::Error>>;

const GAMES: [(&str, Game, bool); 4] = [
    ("breakout, as published", breakout_published::adapter::replayable, true),
    ("breakout, in ticks", breakout_in_ticks::adapter::replayable, true),
    ("iter_combinations, as published", iter_combinations_published::adapter::replayable, false),
    ("iter_combinations, cured", iter_combinations_cured::adapter::replayable, false),
];

fn main() -> Outcome {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, game, has_keys) in GAMES.iter().filter(|(name, ..)| name.starts_with(&wanted)) {
        println!("\n== {name}");
        examine(*game, *has_keys)?;
    }
    Ok(())
}

fn headless(game: Game, order: TickOrder) -> Headless {
    Headless::new(move |app: &mut App| game(order, app))
}

fn examine(game: Game, has_keys: bool) -> Outcome {
    let make = move || headless(game, TickOrder::Fixed);
    let keys = breakout_published::adapter::keys(TICKS);
    let recording = make().detail(Detail::Values).at(TICKS, |world| match coverage(world) {
        Ok(coverage) => println!("{coverage}"),
        Err(error) => println!("no coverage: {error}"),
    });

    let recorded = if has_keys { recording.inputs(keys).run()? } else { recording.record(TICKS)? };

    let tape = recorded.tape();
    for pair in &recorded.resource::<AmbiguousPairs>()?.pairs {
        println!("order left open in {}: {} / {}", pair.schedule, pair.first, pair.second);
    }
    for ticks in [1, 4, 16] {
        let run = make().pacing(Pacing::TicksPerFrame(ticks)).verify(tape)?;
        row(&format!("{ticks} ticks per frame"), run.report());
    }
    let display = Pacing::Frames(vec![Duration::from_nanos(1_000_000_000 / 240)]);
    row("frames of a 240 Hz display", make().pacing(display).verify(tape)?.report());
    for seed in 0..4 {
        let run = headless(game, TickOrder::Shuffled { seed }).verify(tape)?;
        row(&format!("system order, shuffle {seed}"), run.report());
    }
    row("twice in one process", or_equal(Headless::twice(make, tape)?));
    row("restored at every 60th tick", or_equal(Headless::rejoin(make, tape, 60)?));
    row("20 seeks", or_equal(Headless::seeks(make, tape, 20, 1)?));
    Ok(())
}

fn or_equal(leak: Option<impl Display>) -> String {
    leak.map_or_else(|| "equal".into(), |leak| leak.to_string())
}

/// One line: what was done, and the first line of what came of it.
fn row(what: &str, report: impl Display) {
    let text = report.to_string();
    println!("{what:<28} {}", text.lines().next().unwrap_or_default());
}
