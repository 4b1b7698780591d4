//! `orders`, played with the mouse, with the recorder bar.
//!
//! Run it in its own folder: `cargo run`, before Rust 1.97.1 `cargo run --ignore-rust-version`. Hold the left mouse button
//! (or a finger) and draw the blade through what has a ring. R begins the mission again, Esc goes to the missions. F5
//! begins a recording and ends it, F7 replays it, F8 exports it, F9 imports one. `cargo run -- --headless TAPE` replays an
//! exported tape without a window, and says how the order stands at its end.
//!
//! What to look at: the rules and the plans are the files of `examples/orders`, which know of no window. `pointer` turns
//! what the mouse does into recorded input, however many moves a frame has; which mission is played is recorded input,
//! too. Nothing that draws reads a plan.

#[path = "../../orders/game.rs"]
mod game;
mod log;
mod menu;
#[path = "../../orders/missions.rs"]
mod missions;
mod pictures;
mod places;
mod pointer;
#[cfg(test)]
mod tests;
mod view;

use bevy::prelude::*;
use bevy::window::WindowResolution;
use bevy_replay::prelude::*;
use bevy_replay::{PlanError, RecorderBarPlugin, Tape};
use game::{Order, OrdersPlugin, Rules};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn core::error::Error>>;

const USAGE: &str = "usage: orders_window [--speed FACTOR] [--tapes FOLDER] [--log]
       orders_window --headless TAPE

--speed FACTOR   for practice: 0.5 is half as fast; from 0.05 to 4
--tapes FOLDER   where the recorder bar exports to
--log            prints what happens, line by line
--headless TAPE  replays a tape without a window; exit code 0 verified, 1 diverged, 2 no answer";

struct Options {
    speed: f32,
    tapes: Option<PathBuf>,
    log: bool,
    headless: Option<PathBuf>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options { speed: 1.0, tapes: None, log: false, headless: None };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--speed" => options.speed = arguments.next()?.parse().ok().filter(|speed| (0.05..=4.0).contains(speed))?,
            "--tapes" => options.tapes = Some(arguments.next()?.into()),
            "--headless" => options.headless = Some(arguments.next()?.into()),
            "--log" => options.log = true,
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = match &options.headless {
        Some(tape) => verify(tape),
        None => play(options),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

/// The game: no mission is played until the player chooses one.
fn orders() -> Result<OrdersPlugin, PlanError> {
    Ok(OrdersPlugin { missions: Plans::new(missions::all()?)?.waiting(), rules: Rules::default() })
}

/// Replays a tape without a window.
fn verify(tape: &Path) -> Outcome<ExitCode> {
    let run = Headless::new(orders()?).verify(Tape::load(tape)?)?;
    println!("{}", run.report());
    println!("{}", log::line(run.resource::<Order>()?));
    Ok(if run.report().is_verified() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays in a window.
fn play(options: Options) -> Outcome<ExitCode> {
    let window = Window { title: "Orders".into(), resolution: WindowResolution::new(1280, 720), ..Window::default() };
    let mut bar = RecorderBarPlugin::default();
    if let Some(tapes) = options.tapes {
        bar = bar.folder(tapes);
    }
    let mut app = App::new();
    app.add_plugins(DefaultPlugins.set(WindowPlugin { primary_window: Some(window), ..WindowPlugin::default() }))
        .add_plugins((orders()?, bar, pointer::PointerPlugin, menu::MenuPlugin, view::ViewPlugin));
    app.world_mut().resource_mut::<Time<Virtual>>().set_relative_speed(options.speed);
    if options.log {
        app.add_plugins(log::to_stdout);
    }
    Ok(match app.run() {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    })
}
