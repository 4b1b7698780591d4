//! Recordings that begin in the middle of a game, and the flight recorder.

use crate::game::{self, Outcome, Steer, arena_with, headless, panic_text};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::tape::{Start, Tape};
use bevy_replay::{DeckError, FlightRecorder, PlayOptions, RecordingSaved, prelude::*};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

fn plugin() -> ReplayPlugin {
    ReplayPlugin::new("arena").rules(1).seed(7)
}

fn arena(app: &mut App) {
    arena_with(app, plugin());
}

/// Steers by the frame.
fn steered(app: &mut App) {
    app.add_systems(PreUpdate, |mut steer: ResMut<Steer>, tick: Res<SimTick>| {
        steer.x = i8::try_from(tick.0 / 7 % 3).unwrap_or(0) - 1;
        steer.fire |= tick.0.is_multiple_of(9);
    });
}

fn app_of(game: impl Fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins(TimePlugin);
    game(&mut app);
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.update();
    app
}

fn run(app: &mut App, ticks: u64) {
    for _ in 0..ticks {
        app.update();
    }
}

/// Plays for so many ticks, and then records so many.
fn record_late(game: impl Fn(&mut App), before: u64, ticks: u64) -> Arc<Tape> {
    let mut app = app_of(game);
    run(&mut app, before);
    app.world_mut().resource_mut::<Deck>().record();
    run(&mut app, ticks);
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    app.world().resource::<Deck>().tape().expect("a tape was recorded").clone()
}

#[test]
fn recording_that_begins_at_tick_300_replays_in_a_fresh_app_and_through_a_file() -> Outcome {
    let tape = record_late(|app| (arena(app), steered(app)).1, 300, 200);
    assert_eq!((tape.header.start, tape.header.tick_first, tape.tick_count()), (Start::Image, 300, 200));
    headless(arena).verify(&tape)?.assert_verified();
    headless((game::scramble, arena, game::clutter)).verify(&tape)?.assert_verified();
    assert_eq!(Tape::from_bytes(&tape.to_bytes())?, *tape);
    assert_eq!(Tape::from_text(&tape.to_text())?, *tape);
    Ok(())
}

#[test]
fn tape_without_the_state_it_starts_from_is_refused() -> Outcome {
    let mut tape = Tape::clone(&record_late(arena, 20, 10));
    tape.initial = None;
    tape.values.clear();
    let error = game::error_of(headless(arena).replay_inputs(tape));
    assert!(error.to_string().contains("from a state that is not on it"), "{error}");
    Ok(())
}

/// A Local and a resource that nobody registered: what no image holds.
#[test]
fn hidden_state_diverges_after_a_late_start_and_is_hinted_at() -> Outcome {
    #[derive(Resource, Default)]
    struct Wave(u32);
    let hiding = |app: &mut App| {
        arena(app);
        app.init_resource::<Wave>();
        app.add_systems(
            FixedUpdate,
            |mut cooldown: Local<u32>, mut wave: ResMut<Wave>, mut score: ResMut<game::Score>| {
                *cooldown += 1;
                wave.0 += 1;
                score.0 += wave.0 + *cooldown % 3;
            },
        );
    };
    let tape = record_late(hiding, 300, 200);
    let replayed = headless(hiding).verify(&tape)?;
    let report = replayed.report();
    let divergence = report.divergence.as_ref().ok_or("it must diverge")?;
    assert_eq!(divergence.tick, Some(300));
    let text = report.to_string();
    assert!(text.contains("state not in the image"), "{text}");
    assert!(text.contains("Wave"), "{text}");
    Ok(())
}

#[cfg(all(feature = "raw-input", feature = "states"))]
mod held {
    use super::*;
    use crate::game::{answer, in_child, task};
    use bevy_input::{ButtonInput, keyboard::KeyCode};
    use bevy_state::app::{AppExtStates, StatesPlugin};
    use bevy_state::prelude::*;

    #[derive(States, Canonical, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Phase {
        #[default]
        Build,
        Fight,
    }

    #[derive(Resource, Canonical, Default)]
    struct Log(Vec<String>);

    fn machine(app: &mut App) {
        app.add_plugins((ReplayPlugin::new("machine"), RawInputPlugin::default(), StatesPlugin)).init_state::<Phase>();
        app.register_authoritative_state::<Phase>();
        app.init_resource::<Log>().register_authoritative_resource::<Log>();
        app.add_systems(OnEnter(Phase::Fight), |tick: Res<SimTick>, mut log: ResMut<Log>| {
            log.0.push(format!("{} fight", tick.0));
        });
        app.add_systems(
            FixedUpdate,
            |tick: Res<SimTick>,
             keys: Res<ButtonInput<KeyCode>>,
             mut next: ResMut<NextState<Phase>>,
             mut log: ResMut<Log>| {
                if keys.just_pressed(KeyCode::KeyD) {
                    log.0.push(format!("{} down", tick.0));
                }
                if keys.pressed(KeyCode::KeyD) && tick.0.is_multiple_of(25) {
                    log.0.push(format!("{} held", tick.0));
                }
                match tick.0 % 100 {
                    50 => next.set(Phase::Fight),
                    99 => next.set(Phase::Build),
                    _ => {}
                }
            },
        );
    }

    fn pressed(app: &mut App) {
        machine(app);
        app.add_systems(PreUpdate, |tick: Res<SimTick>, mut keys: ResMut<ButtonInput<KeyCode>>| {
            if (280..350).contains(&tick.0) {
                keys.press(KeyCode::KeyD);
            } else {
                keys.release(KeyCode::KeyD);
            }
        });
    }

    #[test]
    fn recording_with_a_key_held_and_a_state_machine_midway_replays_in_a_fresh_process() -> Outcome {
        const TEST: &str = concat!(
            module_path!(),
            "::recording_with_a_key_held_and_a_state_machine_midway_replays_in_a_fresh_process"
        );
        if let Some(path) = task() {
            let replayed = headless(machine).verify(Path::new(&path))?;
            answer(replayed.report().to_string().lines().next().unwrap_or_default());
            return Ok(());
        }
        let tape = record_late(pressed, 300, 200);
        let first = tape.inputs_text(300).join(" ");
        assert!(first.contains("held: [\"KeyD\"]") && first.contains("pressed: []"), "{first}");
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("late.tape");
        tape.save(&path)?;
        let answers = in_child(TEST, &path.to_string_lossy(), 1)?;
        assert_eq!(answers, ["verified: replayed 200 ticks, 0 diverged"]);
        Ok(())
    }
}

fn flying(folder: Option<&Path>) -> impl Fn(&mut App) + Send + Sync + use<> {
    let flight = FlightRecorder { seconds: 3, folder: folder.map(Path::to_owned), ..FlightRecorder::default() };
    move |app| {
        arena_with(app, plugin().flight(flight.clone()));
        steered(app);
    }
}

#[test]
fn flight_recorder_has_the_last_seconds_and_they_replay() -> Outcome {
    let mut app = app_of(flying(None));
    run(&mut app, 1000);
    app.world_mut().resource_mut::<Deck>().save_flight();
    app.update();
    let tape = app.world().resource::<Deck>().tape().ok_or("no tape")?.clone();
    assert_eq!(tape.header.start, Start::Image);
    assert!((192..=500).contains(&tape.tick_count()), "{} ticks", tape.tick_count());
    assert!(tape.ticks().end >= 1000, "up to now: {:?}", tape.ticks());
    assert!(!tape.digests.roots.is_empty());
    headless(arena).verify(&tape)?.assert_verified();

    let mut none = app_of(arena);
    none.world_mut().resource_mut::<Deck>().save_flight();
    none.update();
    assert_eq!(none.world().resource::<Deck>().error(), Some(&DeckError::NoFlight));
    Ok(())
}

#[derive(Resource, Default)]
struct Saved(Vec<std::path::PathBuf>);

#[test]
fn ten_flights_are_kept_and_others_files_are_left_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let other = folder.path().join("arena-0001.tape");
    std::fs::write(&other, "mine")?;
    let mut app = app_of(flying(Some(folder.path())));
    app.init_resource::<Saved>();
    app.add_observer(|saved: On<RecordingSaved>, mut all: ResMut<Saved>| all.0.push(saved.path.clone()));
    for round in 1..=13 {
        run(&mut app, 100);
        app.world_mut().resource_mut::<Deck>().save_flight();
        for _ in 0..2000 {
            app.update();
            if app.world().resource::<Saved>().0.len() == round {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(app.world().resource::<Saved>().0.len(), round);
    }
    let files =
        std::fs::read_dir(folder.path())?.flatten().map(|entry| entry.file_name().into_string().unwrap_or_default());
    let flights = files.filter(|name| name.starts_with("arena-flight-")).count();
    assert_eq!(flights, 10);
    assert_eq!(std::fs::read_to_string(&other)?, "mine");
    let last = app.world().resource::<Saved>().0.last().ok_or("nothing saved")?.clone();
    headless(arena).verify(&*last)?.assert_verified();
    Ok(())
}

#[test]
fn divergence_saves_what_has_led_to_it() -> Outcome {
    fn generous(app: &mut App) {
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut score: ResMut<game::Score>| {
            score.0 += u32::from(tick.0 == 150);
        });
    }
    let folder = tempfile::tempdir()?;
    let tape = headless(arena).inputs(game::script(400)).run()?.tape().clone();
    let mut app = app_of(|app| (flying(Some(folder.path()))(app), generous(app)).1);
    app.init_resource::<Saved>();
    app.add_observer(|saved: On<RecordingSaved>, mut all: ResMut<Saved>| all.0.push(saved.path.clone()));
    app.world_mut().resource_mut::<Deck>().play(tape, PlayOptions::verify());
    for _ in 0..2000 {
        app.update();
        if !app.world().resource::<Saved>().0.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let [path] = &*app.world().resource::<Saved>().0 else { return Err("one divergence, one file".into()) };
    let saved = Tape::load(path)?;
    assert_eq!(saved.ticks().end, 151, "up to the tick that diverged");
    headless((arena, generous)).verify(&saved)?.assert_verified();
    Ok(())
}

/// Panics when the score is high enough, as a bug does.
fn fragile(app: &mut App) {
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, score: Res<game::Score>| {
        assert!(score.0 < 600 || tick.0 < 400, "the score of {} is too high at tick {}", score.0, tick.0);
    });
}

#[test]
fn panic_leaves_a_tape_that_replays_to_the_same_panic() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = panic_text(|| {
        let flying = flying(Some(folder.path()));
        let mut app = app_of(|app: &mut App| {
            flying(app);
            fragile(app);
        });
        run(&mut app, 5000);
    });
    assert!(text.contains("too high at tick"), "{text}");
    let files: Vec<_> = std::fs::read_dir(folder.path())?.flatten().map(|entry| entry.path()).collect();
    let [path] = &files[..] else { panic!("one tape: {files:?}") };
    let tape = Tape::load(path)?;
    let again = panic_text(|| {
        headless(|app: &mut App| {
            arena(app);
            fragile(app);
        })
        .replay_to_crash(&tape)
        .map(drop)
    });
    assert_eq!(again, text);
    // All ticks before it are verified.
    headless(|app: &mut App| {
        arena(app);
        fragile(app);
    })
    .verify(&tape)
    .map(|run| assert_eq!(run.report().divergence, None))?;
    Ok(())
}
