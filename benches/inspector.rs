//! What a frame of the inspector costs, with 10,000 entities and an hour of tape, and what it keeps.
//!
//! Run it: `cargo bench --features inspector --bench inspector`. The hour is recorded and replayed first, which takes a
//! minute or two; `-- 6400` does with so many ticks.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod common;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_egui::egui::{Event, Modifiers, MouseWheelUnit, Rect, TouchPhase, Vec2, pos2, vec2};
use bevy_egui::{
    EguiContext, EguiGlobalSettings, EguiInput, EguiPlugin, EguiPrimaryContextPass, EguiRenderOutput,
    PrimaryEguiContext,
};
use bevy_replay::{Inspector, InspectorCommand, InspectorPlugin, PlayOptions, RecorderLimits, prelude::*};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use common::{Health, Position, Velocity, heading, row};
use std::time::Instant;

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i8);
/// From which tick on the rules are others.
#[derive(Resource)]
struct Fault(u64);

/// An hour at 64 Hz.
const HOUR: u64 = 60 * 60 * 64;
const ENTITIES: i64 = 10_000;
/// How many entities move in a tick.
const MOVING: u64 = 16;

fn game(app: &mut App, fault: u64) {
    let limits = RecorderLimits { bytes: 4 << 30, ..RecorderLimits::default() };
    let plugin = ReplayPlugin::new("bench").detail(Detail::Values).limits(limits).trust_change_ticks(true);
    app.add_plugins(plugin.guard(bevy_replay::Guard::Off)).insert_resource(Fault(fault));
    app.record_input::<Push>().register_authoritative::<(Position, Velocity, Health)>();
    app.add_systems(Startup, move |mut commands: Commands| {
        let unit = |i: i64| (Position([i, 0, -i]), Velocity([i % 7 - 3, i % 5 - 2, 1]), Health(100));
        commands.spawn_batch((0..ENTITIES).map(unit));
    });
    app.add_systems(
        FixedUpdate,
        |tick: Res<SimTick>,
         fault: Res<Fault>,
         push: Res<Push>,
         mut all: Local<Vec<Entity>>,
         ids: Query<(Entity, &SimId)>,
         mut units: Query<(&mut Position, &Velocity)>| {
            if all.is_empty() {
                let mut sorted: Vec<(u64, Entity)> = ids.iter().map(|(entity, id)| (id.0, entity)).collect();
                sorted.sort_unstable();
                all.extend(sorted.into_iter().map(|(_, entity)| entity));
            }
            let is_wrong = i64::from(tick.0 >= fault.0);
            for step in 0..MOVING {
                let index = usize::try_from(tick.0 * MOVING + step).unwrap_or(0) % all.len();
                if let Ok((mut place, speed)) = units.get_mut(all[index]) {
                    place.0[0] += speed.0[0] + i64::from(push.0) + is_wrong;
                }
            }
        },
    );
}

fn main() -> Result<(), ReplayError> {
    let ticks = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(HOUR);
    heading();
    idle();
    let start = Instant::now();
    let inputs = (0..ticks).map(|tick| Push(i8::try_from(tick / 40 % 3).unwrap_or(0)));
    let run = Headless::new(|app: &mut App| game(app, u64::MAX)).inputs(inputs).run()?;
    let tape = run.tape().clone();
    let values: usize = tape.values.iter().map(bevy_replay::tape::Delta::size_bytes).sum();
    println!(
        "recorded {ticks} ticks of {ENTITIES} entities in {:.0} s; values on the tape {} MiB",
        start.elapsed().as_secs_f64(),
        values >> 20
    );

    let mut app = app(ticks / 2);
    app.world_mut().resource_mut::<Deck>().play(tape, PlayOptions::verify().held());
    app.world_mut().resource_mut::<Deck>().seek(ticks);
    let start = Instant::now();
    play_until(&mut app, ticks);
    println!("replayed with the inspector open in {:.0} s", start.elapsed().as_secs_f64());
    let (trace, found) = app.world().resource::<Inspector>().size_bytes();
    println!("kept of what was played: {} MiB; found out from it: {} MiB", trace >> 20, found >> 20);

    app.world_mut().write_message(InspectorCommand::Toggle);
    let closed = frames(&mut app, 300, |_, _| ());
    app.world_mut().write_message(InspectorCommand::Toggle);
    // What is looked for is found before the figures begin.
    let field = Some(("Position".into(), ".0[0]".into()));
    app.world_mut().write_message(InspectorCommand::Select { sim_id: Some(5), field });
    let work = frames(&mut app, 300, |_, _| ());
    println!("a frame with the window closed: {:.3} ms", median(&closed));
    row("while a history is read, 99 of 100 frames, ms more", 16.0, || slow(&work) - median(&closed));
    let still = frames(&mut app, 1000, |_, _| ());
    row("still, median, ms more", 4.0, || median(&still) - median(&closed));
    row("still, 99 of 100 frames, ms more", 16.0, || slow(&still) - median(&closed));
    let zoom = frames(&mut app, 1000, |input, frame| {
        let y = if frame / 100 % 2 == 0 { 24.0 } else { -24.0 };
        let (unit, delta) = (MouseWheelUnit::Point, vec2(0.0, y));
        input.events.push(Event::PointerMoved(pos2(700.0 + (frame % 60) as f32, 360.0)));
        input.events.push(Event::MouseWheel { unit, delta, modifiers: Modifiers::NONE, phase: TouchPhase::Move });
    });
    row("zooming the timeline, median, ms more", 4.0, || median(&zoom) - median(&closed));
    row("zooming the timeline, 99 of 100 frames, ms more", 16.0, || slow(&zoom) - median(&closed));
    // Steps back and forth where all entities differ: a tick, a comparison and a list in each frame.
    let mut step = 0;
    let mut times = Vec::new();
    for _ in 0..300 {
        step += 1;
        let tick = ticks - 128 + step % 64;
        app.world_mut().write_message(InspectorCommand::Seek(tick));
        times.extend(frames(&mut app, 3, |_, _| ()));
    }
    println!("stepping (ticks run, too): median {:.2} ms, 99 of 100 within {:.2} ms", median(&times), slow(&times));
    Ok(())
}

/// What a tick costs while nothing is recorded or played and the window is closed.
///
/// Both apps take turns, so that a machine that gets busy slows both; the least of all turns counts.
fn idle() {
    let mut apps = [None, Some(InspectorPlugin::default())].map(|inspector| app_with(inspector, u64::MAX));
    let mut least = [f64::INFINITY; 2];
    for _ in 0..20 {
        for (app, least) in apps.iter_mut().zip(&mut least) {
            let mut frame = |ticks: u32| {
                app.insert_resource(TimeUpdateStrategy::FixedTimesteps(ticks));
                median(&frames(app, 200, |_, _| ()))
            };
            *least = least.min((frame(16) - frame(1)) / 15.0 * 1e3);
        }
    }
    let [without, closed] = least;
    println!("a tick of the game: {without:.2} us without the inspector, {closed:.2} us with it closed");
    row("inspector closed, us more a tick", 2.0, || closed - without);
}

/// The game in a window of 1280 × 720 that nobody sees, with the inspector open, and with other rules from a tick on.
fn app(fault: u64) -> App {
    app_with(Some(InspectorPlugin::default().open(true)), fault)
}

fn app_with(inspector: Option<InspectorPlugin>, fault: u64) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        bevy_input::InputPlugin,
        bevy_window::WindowPlugin { primary_window: None, ..Default::default() },
        EguiPlugin::default(),
    ));
    if let Some(inspector) = inspector {
        app.add_plugins(inspector);
    }
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context = false;
    app.init_schedule(EguiPrimaryContextPass); // which only what draws brings along
    game(&mut app, fault);
    // Nobody uploads textures.
    app.add_systems(Last, |mut outputs: Query<&mut EguiRenderOutput>| {
        outputs.iter_mut().for_each(|mut output| output.textures_delta.clear());
    });
    app.world_mut().spawn((EguiContext::default(), PrimaryEguiContext));
    app.finish();
    app.cleanup();
    app
}

fn play_until(app: &mut App, ticks: u64) {
    while app.world().resource::<SimTick>().0 < ticks {
        frames(app, 1, |_, _| ());
    }
}

/// Runs frames, and returns how long each took in milliseconds.
fn frames(app: &mut App, count: usize, ask: impl Fn(&mut EguiInput, usize)) -> Vec<f64> {
    let mut times = Vec::with_capacity(count);
    for frame in 0..count {
        let world = app.world_mut();
        let mut inputs = world.query::<&mut EguiInput>();
        for mut input in inputs.iter_mut(world) {
            input.screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(1280.0, 720.0)));
            ask(&mut input, frame);
        }
        let start = Instant::now();
        app.update();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times
}

fn median(times: &[f64]) -> f64 {
    common::median(times.to_vec())
}

/// The single slowest frame is the machine's.
fn slow(times: &[f64]) -> f64 {
    common::percentile(times.to_vec(), 99)
}
