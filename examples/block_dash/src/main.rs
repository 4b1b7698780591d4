//! Block Dash in a window, with the recorder bar.
//!
//! Run it in its own folder: `cargo run`. Arrow keys or A and D run, Space jumps; a gamepad's stick and its lower button
//! do the same (on Linux with `--features gamepad`). F5 begins a recording and ends it, F7 replays it, F8 exports it, F9
//! imports one. `cargo run -- --headless TAPE` replays an exported tape without a window, and says whether the score it
//! claims is the one that is played.

#[path = "../../windowed/log.rs"]
mod windowed;

use bevy::prelude::*;
use bevy::window::WindowResolution;
use bevy_replay::prelude::*;
use bevy_replay::{BarCorner, RecorderBarPlugin, RecordingEnded, ReplayFinished};
use block_dash::controls::ControlsPlugin;
use block_dash::game::{GamePlugin, Score};
use block_dash::view::ViewPlugin;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: block_dash [--tapes FOLDER] [--tests FOLDER] [--log]
       block_dash --headless TAPE

--tapes FOLDER   where the recorder bar exports to
--tests FOLDER   lets the recorder bar turn a tape into a test there
--log            prints what happens, line by line
--headless TAPE  replays a tape without a window; exit code 0 verified, 1 diverged or false claim, 2 no answer";

#[derive(Default)]
struct Options {
    tapes: Option<PathBuf>,
    tests: Option<PathBuf>,
    log: bool,
    headless: Option<PathBuf>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tapes" => options.tapes = Some(arguments.next()?.into()),
            "--tests" => options.tests = Some(arguments.next()?.into()),
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
    if let Some(tape) = &options.headless {
        return verify(tape).unwrap_or_else(|error| {
            eprintln!("{error}");
            ExitCode::from(2)
        });
    }
    match play(options) {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    }
}

/// Replays a tape without a window.
fn verify(path: &PathBuf) -> Result<ExitCode, ReplayError> {
    let tape = bevy_replay::Tape::load(path)?;
    let claimed = tape.end.claims.get("score").cloned();
    let run = Headless::new(GamePlugin).verify(tape)?;
    let score = run.resource::<Score>()?;
    println!("{}", run.report());
    println!("score {}, claimed {}", score.points, claimed.as_deref().unwrap_or("nothing"));
    let is_true = claimed.is_none_or(|claimed| claimed == score.points.to_string());
    Ok(if run.report().is_verified() && is_true { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays in a window.
fn play(options: Options) -> AppExit {
    let window = Window {
        title: "Block Dash".into(),
        resolution: WindowResolution::new(1280, 720),
        resizable: false,
        ..Window::default()
    };
    let mut bar = RecorderBarPlugin::default().corner(BarCorner::TopRight);
    if let Some(tapes) = options.tapes {
        bar = bar.folder(tapes);
    }
    if let Some(tests) = options.tests {
        bar = bar.tests(tests, "block_dash::game::GamePlugin");
    }
    let mut app = App::new();
    app.add_plugins(DefaultPlugins.set(WindowPlugin { primary_window: Some(window), ..WindowPlugin::default() }))
        .add_plugins((GamePlugin, bar, ControlsPlugin, ViewPlugin));
    if options.log {
        log_to_stdout(&mut app);
    }
    app.run()
}

/// Prints what happens, for scripts.
fn log_to_stdout(app: &mut App) {
    windowed::to_stdout(app);
    app.add_systems(Update, |score: Res<Score>, mut before: Local<(u32, u32)>| {
        let now = (score.points, score.jumps);
        if *before != now {
            println!("score {} jumps {}", now.0, now.1);
            *before = now;
        }
    });
    app.add_observer(|ended: On<RecordingEnded>, score: Res<Score>| {
        println!("recorded {} ticks, score {}", ended.tape.tick_count(), score.points);
    });
    app.add_observer(|done: On<ReplayFinished>, score: Res<Score>| {
        println!("replayed, score {}: {}", score.points, done.report);
    });
}
