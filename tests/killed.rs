//! A game that is killed leaves a tape: it opens, says that it is unfinished, lacks at most a second, and replays.
//!
//! `cargo test --test killed -- 200` kills 200 games at random moments; without a number it is 20.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that waits for another, and says what it saw"
)]

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{EndReason, Tape};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const TICKS_PER_SECOND: u64 = 64;

/// What each game is given as the path of its recording.
const CHILD: &str = "BEVY_REPLAY_TEST_RECORD_TO";

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
}

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("killed")).record_input::<Steer>().register_authoritative::<Hero>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
    });
    app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += i32::from(steer.x));
}

/// Plays until it is killed, eight times as fast as a player would, and says after each tick how many have run.
fn play(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, game));
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.add_systems(PreUpdate, |tick: Res<SimTick>, mut steer: ResMut<Steer>| {
        steer.x = if tick.0.wrapping_mul(2_654_435_761) >> 7 & 1 == 0 { 1 } else { -1 };
    });
    app.world_mut().resource_mut::<Deck>().record_to(path);
    let mut out = std::io::stdout().lock();
    loop {
        app.update();
        writeln!(out, "tick {}", app.world().resource::<SimTick>().0)?;
        std::thread::sleep(Duration::from_secs(1) / u32::try_from(8 * TICKS_PER_SECOND)?);
    }
}

/// Kills a game after so long; returns how many ticks it had played and how many are on its tape.
fn kill(path: &Path, after: Duration) -> Result<(u64, u64), Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?).env(CHILD, path).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("it is piped")?).lines();
    // The time runs from the second tick on, so that a slow start is no part of it.
    let ticks = |line: String| line.strip_prefix("tick ").and_then(|count| count.parse().ok()).unwrap_or(0_u64);
    let mut played = 0;
    while played < 2 {
        played = ticks(lines.next().ok_or("the game ended by itself")??);
    }
    let start = Instant::now();
    while start.elapsed() < after {
        played = ticks(lines.next().ok_or("the game ended by itself")??);
    }
    child.kill()?; // SIGKILL where there is one
    child.wait()?;
    for line in lines {
        played = ticks(line?);
    }
    let tape = Tape::load(path.with_extension("tape.partial"))?;
    if tape.end.reason != EndReason::Unfinished {
        return Err(format!("the tape says that it is {}", tape.end.reason_text()).into());
    }
    Headless::new(game).verify(&tape)?.verified()?;
    Ok((played, tape.tick_count()))
}

fn run(count: u64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (mut most, mut all) = (0, 0);
    for number in 0..count {
        // Spread evenly over the time that it takes to write two parts, in an order that looks random.
        let after = Duration::from_micros(number.wrapping_mul(2_654_435_761) % 1_000_000);
        let (played, on_tape) = kill(&folder.path().join(format!("{number}.tape")), after)?;
        let lost = played.saturating_sub(on_tape);
        if lost > TICKS_PER_SECOND {
            return Err(format!("killed after {played} ticks, {on_tape} are on the tape").into());
        }
        most = most.max(lost);
        all += on_tape;
    }
    println!("{count} of {count} killed games left a tape: {all} ticks replayed, at most {most} lost by one");
    Ok(())
}

fn main() -> ExitCode {
    let result = match std::env::var_os(CHILD) {
        Some(path) => play(Path::new(&path)),
        // The arguments of other test programs are for them.
        None => run(std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(20)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}
