//! What going back costs, and the flight recorder.
//!
//! Run it: `cargo bench --bench time_travel`

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod common;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{FlightRecorder, TimeTravel, prelude::*};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use common::{Health, Position, Velocity, heading, row, turns};
use std::time::Instant;

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i8);

/// Ten minutes at 64 Hz.
const TICKS: u64 = 10 * 60 * 64;

fn game(entities: i64) -> impl Fn(&mut App) + Copy + Send + Sync + 'static {
    move |app: &mut App| game_with(app, entities, ReplayPlugin::new("bench").detail(Detail::Roots))
}

fn game_with(app: &mut App, entities: i64, plugin: ReplayPlugin) {
    app.add_plugins(plugin).record_input::<Push>().register_authoritative::<(Position, Velocity, Health)>();
    app.add_systems(Startup, move |mut commands: Commands| {
        let unit = |i: i64| (Position([i, 0, -i]), Velocity([i % 7 - 3, i % 5 - 2, 1]), Health(100));
        commands.spawn_batch((0..entities).map(unit));
    });
    app.add_systems(FixedUpdate, |push: Res<Push>, mut units: Query<(&mut Position, &mut Velocity)>| {
        for (mut place, mut speed) in &mut units {
            for axis in 0..3 {
                place.0[axis] += speed.0[axis] + i64::from(push.0);
                if place.0[axis].abs() > 5000 {
                    speed.0[axis] = -speed.0[axis];
                }
            }
        }
    });
}

fn main() -> Result<(), ReplayError> {
    heading();
    seeks()?;
    flight();
    Ok(())
}

fn seeks() -> Result<(), ReplayError> {
    let inputs = (0..TICKS).map(|tick| Push(i8::try_from(tick % 3).unwrap_or(0)));
    let tape = Headless::new(game(1000)).inputs(inputs).run()?.tape().clone();
    let mut travel = TimeTravel::new(|| Headless::new(game(1000)), &tape)?;
    let start = Instant::now();
    travel.seek(TICKS)?;
    let straight = start.elapsed().as_secs_f64();
    println!("playing 10 min with 1 k entities: {straight:.2} s");
    let (mut longest, mut bytes_max, mut back) = (0.0_f64, 0, 0.0_f64);
    let mut target = TICKS / 2;
    for _ in 0..100 {
        target = (target * 7919 + 12_345) % TICKS;
        let start = Instant::now();
        travel.seek(target)?;
        longest = longest.max(start.elapsed().as_secs_f64());
        bytes_max = bytes_max.max(travel.keyframes().1);
        travel.seek((target + 200).min(TICKS))?;
        let start = Instant::now();
        travel.step(-1)?;
        back = back.max(start.elapsed().as_secs_f64());
    }
    let (keyframes, bytes) = travel.keyframes();
    println!("{} keyframes, {:.1} MiB", keyframes.len(), bytes as f64 / f64::from(1 << 20));
    row("longest seek / playing it all", 1.0 / 200.0, || longest / straight);
    row("most MiB of keyframes", 64.0, || bytes_max as f64 / f64::from(1 << 20));
    row("longest step back, ms", 16.0, || back * 1e3);
    Ok(())
}

/// A tick of 10 k entities with and without the flight recorder, in turns, as the machine is noisy.
fn flight() {
    let app_of = |plugin: ReplayPlugin| {
        let mut app = App::new();
        app.add_plugins(TimePlugin).insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
        game_with(&mut app, 10_000, plugin);
        app
    };
    let flight = ReplayPlugin::new("bench").flight(FlightRecorder::default());
    let mut apps = [app_of(ReplayPlugin::new("bench")), app_of(flight)];
    let [without, with] = turns(&mut apps, 10_000);
    let [_, mut flying] = apps;
    let mean = |times: &[f64]| times[..times.len() * 99 / 100].iter().sum::<f64>() / (times.len() * 99 / 100) as f64;
    println!(
        "a tick of 10 k entities: {:.0} us, with the flight recorder {:.0} us",
        mean(&without) * 1e6,
        mean(&with) * 1e6
    );
    row("flight recorder, part of the tick", 0.05, || mean(&with) / mean(&without) - 1.0);
    let over_median = |times: &[f64]| (times[times.len() - 1] - times[times.len() / 2]) * 1e3;
    println!("longest of 10,000 ticks without it: {:.1} ms over the median", over_median(&without));
    row("longest of 10,000 ticks with it, ms over the median", 1.0, || over_median(&with));
    flying.world_mut().resource_mut::<Deck>().save_flight();
    flying.update();
    if let Some(tape) = flying.world().resource::<Deck>().tape() {
        let initial = tape.initial.as_ref().map_or(0, bevy_replay::Image::size_bytes);
        let inputs: usize = tape.tracks.iter().map(|track| track.changes.size_bytes()).sum();
        let seconds = tape.tick_count() as f64 / 64.0;
        println!(
            "{seconds:.0} s of flight: {:.1} MiB a part, {:.1} KiB of inputs",
            initial as f64 / f64::from(1 << 20),
            inputs as f64 / 1024.0
        );
        row("flight recorder, MiB at most", 16.0, || 3.0 * initial as f64 / f64::from(1 << 20));
    }
}
