//! The lab in a window: a garden, seven faults, and the inspector over it.
//!
//! Run it in its own folder: `cargo run`, before Rust 1.97.1 `cargo run --ignore-rust-version`. A tape of the clean game
//! is played; the keys 1 to 7 switch a fault and play it again. The first difference stops it: the inspector shows the
//! tick, the entity, the type and the field, with both values, and the entity is ringed in the garden. F12 opens and
//! closes the inspector, R plays again. Take over in the inspector, and the lantern follows the mouse; a click claps.
//!
//! What to look at: each fault has another cause, and is found where it was planted: `src/faults.rs` says where.

use bevy::prelude::*;
use bevy::window::WindowResolution;
use bevy_replay::prelude::*;
use bevy_replay::{DeckRefused, InspectorPlugin, Tape};
use divergence_lab::controls::ControlsPlugin;
use divergence_lab::faults::{Faults, PLANTED, Planted};
use divergence_lab::view::ViewPlugin;
use divergence_lab::{log, tape};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "usage: divergence_lab [--fault NAME] [--play TAPE] [--log]
       divergence_lab --make-tape FILE
       divergence_lab --headless [--play TAPE]
       divergence_lab --list

--fault NAME      has a fault on from the start; see --list for their names
--play TAPE       plays this tape, not one recorded at start-up
--log             prints what happens, line by line
--make-tape FILE  records the clean game, and saves the tape
--headless        plays the tape with no fault and with each, without a window; exit code 1 if one is not found
--list            lists the faults: name, tick, entity, and field";

#[derive(Default)]
struct Options {
    fault: Option<&'static Planted>,
    play: Option<PathBuf>,
    log: bool,
    make_tape: Option<PathBuf>,
    headless: bool,
    list: bool,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--fault" => options.fault = Some(Planted::named(&arguments.next()?)?),
            "--play" => options.play = Some(arguments.next()?.into()),
            "--log" => options.log = true,
            "--make-tape" => options.make_tape = Some(arguments.next()?.into()),
            "--headless" => options.headless = true,
            "--list" => options.list = true,
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
    run(options).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

fn run(options: Options) -> Result<ExitCode, ReplayError> {
    if let Some(file) = &options.make_tape {
        tape::record()?.save(file)?;
        println!("saved {}", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    if options.list {
        for planted in &PLANTED {
            println!("{} {} {} {}{}", planted.name, planted.tick, planted.who(), planted.type_name, planted.path);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let tape = options.play.as_ref().map_or_else(tape::record, |file| Ok(Tape::load(file)?))?;
    if options.headless {
        return find_all(&tape);
    }
    Ok(match show(tape, &options) {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    })
}

/// Plays the tape without a window.
fn find_all(tape: &Tape) -> Result<ExitCode, ReplayError> {
    let mut failed = 0;
    let clean = Headless::new(tape::game).verify(tape)?;
    println!("clean: {}", clean.report());
    failed += usize::from(!clean.report().is_verified());
    for planted in &PLANTED {
        let faults = Faults::only(planted.fault);
        let game = (tape::game, move |app: &mut App| {
            app.insert_resource(faults.clone());
        });
        let report = Headless::new(tape::game).compare_with(Headless::new(game), tape)?;
        let text = report.to_string();
        println!("{}: {}", planted.name, text.lines().next().unwrap_or_default());
        if let Some(first) = report.divergence.as_ref().and_then(|found| found.first_wrong.as_ref()) {
            println!("  first wrong system: {first}");
        }
        failed += usize::from(!planted.is_found_by(&report) || !planted.is_blamed_by(&report));
    }
    println!("{} of {} answers are right", PLANTED.len() + 1 - failed, PLANTED.len() + 1);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(tape: Tape, options: &Options) -> AppExit {
    let window =
        Window { title: "Divergence Lab".into(), resolution: WindowResolution::new(1280, 720), ..Window::default() };
    let mut app = App::new();
    app.add_plugins(DefaultPlugins.set(WindowPlugin { primary_window: Some(window), ..WindowPlugin::default() }))
        .add_plugins((tape::game, InspectorPlugin::default().open(true), ViewPlugin))
        .add_plugins(ControlsPlugin { tape: Arc::new(tape) });
    if let Some(planted) = options.fault {
        app.insert_resource(Faults::only(planted.fault));
    }
    app.add_observer(|refused: On<DeckRefused>| error!("{}", refused.error));
    if options.log {
        app.add_plugins(log::to_stdout);
    }
    app.run()
}
