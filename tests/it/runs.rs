//! Headless runs: where tapes come from, what a run answers, and why it gives no answer.

use crate::game::{Outcome, error_of, headless, panic_text};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Pacing, Run, TapeSource};
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i32);

#[derive(Component, Canonical, Default, Debug, PartialEq)]
struct Hero {
    x: i32,
}

#[derive(Component, Canonical)]
struct Foe;

#[derive(Component)]
struct Nobody;

#[derive(Resource, Canonical, Default)]
struct Level(u8);

#[derive(Resource)]
struct Missing;

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("runs")).record_input::<Push>().register_authoritative::<(Hero, Foe)>();
    app.register_authoritative_resource::<Level>().init_resource::<Level>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
        commands.spawn_batch([Foe, Foe]);
    });
    app.add_systems(FixedUpdate, |push: Res<Push>, mut hero: Single<&mut Hero>| hero.x += push.0);
}

fn recorded() -> Result<Run, ReplayError> {
    headless(game).inputs([1, 2, 3, 4].map(Push)).run()
}

#[test]
fn component_and_resource_of_a_run_can_be_read() -> Outcome {
    let mut run = recorded()?;
    assert_eq!(run.single::<Hero>()?, &Hero { x: 10 });
    assert_eq!(run.resource::<Level>()?.0, 0);
    assert_eq!(run.world().resource::<SimTick>().0, 4);
    let foes = run.world_mut().query::<&Foe>().iter(run.world()).count();
    assert_eq!(foes, 2);
    Ok(())
}

#[test]
fn component_that_is_not_there_once_is_an_error_with_its_number() -> Outcome {
    let run = recorded()?;
    let texts = [
        error_of(run.single::<Foe>()).to_string(),
        error_of(run.single::<Nobody>()).to_string(),
        error_of(run.resource::<Missing>()).to_string(),
    ];
    assert_eq!(
        texts,
        [
            "it::runs::Foe: expected exactly one, found 2",
            "it::runs::Nobody: expected exactly one, found 0",
            "it::runs::Missing: expected exactly one, found 0",
        ]
    );
    Ok(())
}

#[test]
fn report_of_a_recording_and_tape_of_a_replay_panic() -> Outcome {
    let run = recorded()?;
    assert_eq!(panic_text(|| run.report().is_verified()), "only `verify` and `force` compare digests");
    let replayed = headless(game).verify(run.tape())?;
    assert_eq!(panic_text(|| replayed.tape().tick_count()), "only `record` and `run` make a tape");
    let unchecked = headless(game).replay_inputs(run.tape())?;
    assert_eq!(panic_text(|| unchecked.assert_verified()), "only `verify` and `force` compare digests");
    Ok(())
}

#[test]
fn diverged_run_is_an_error_and_a_panic_with_the_whole_report() -> Outcome {
    fn other(app: &mut App) {
        game(app);
        app.add_systems(FixedUpdate, |mut level: ResMut<Level>| level.0 = 3);
    }
    let run = headless(other).verify(recorded()?.tape())?;
    let report = run.report().to_string();
    assert!(report.starts_with("diverged at tick 0 (0.00 s): "), "{report}");
    assert_eq!(panic_text(|| run.assert_verified()), report);
    assert_eq!(error_of(run.verified()).to_string(), report);
    Ok(())
}

#[test]
fn verified_run_is_handed_on() -> Outcome {
    let run = headless(game).verify(recorded()?.tape())?.verified()?;
    assert_eq!(run.single::<Hero>()?.x, 10);
    Ok(())
}

#[test]
fn inputs_for_a_type_that_is_not_recorded_are_an_error() {
    #[derive(Resource, Default, Clone, TickInput)]
    struct Other(u8);
    let error = error_of(headless(game).inputs([Other(1)]).run()).to_string();
    assert_eq!(error, "inputs were given for Other, which the game does not record (call `record_input::<Other>()`)");
}

#[test]
fn game_without_the_plugin_is_an_error() -> Outcome {
    let without = || headless(|_: &mut App| {});
    let expected = "the game does not add `ReplayPlugin` (add it in the plugin that is handed to `Headless`)";
    assert_eq!(error_of(without().record(1)).to_string(), expected);
    let tape = recorded()?.tape().clone();
    assert_eq!(error_of(without().verify(&tape)).to_string(), expected);
    assert_eq!(error_of(headless(game).compare_with(without(), &tape)).to_string(), expected);
    Ok(())
}

#[test]
fn app_without_a_clock_gets_one() -> Outcome {
    let app = || {
        let mut app = App::new();
        app.add_plugins(game);
        app
    };
    let run = Headless::from_app(app()).inputs([1, 2].map(Push)).run()?;
    assert_eq!(run.single::<Hero>()?.x, 3);
    Headless::from_app(app()).verify(run.tape())?.assert_verified();
    Ok(())
}

#[test]
fn app_that_was_finished_already_runs() -> Outcome {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), bevy_time::TimePlugin, game));
    app.finish();
    app.cleanup();
    assert_eq!(Headless::from_app(app).inputs([5].map(Push)).run()?.single::<Hero>()?.x, 5);
    Ok(())
}

#[test]
fn frames_without_length_are_an_error_and_no_endless_loop() {
    for frames in [vec![], vec![Duration::ZERO]] {
        let error = error_of(headless(game).pacing(Pacing::Frames(frames)).record(1)).to_string();
        assert!(error.starts_with("no tick ran in 10001 frames ("), "{error}");
    }
}

#[test]
fn zero_ticks_are_a_tape() -> Outcome {
    let run = headless(game).record(0)?;
    assert_eq!(run.tape().tick_count(), 0);
    let replayed = headless(game).verify(run.tape())?;
    assert_eq!(replayed.report().to_string(), "verified: replayed 0 ticks, 0 diverged");
    Ok(())
}

#[test]
fn zero_ticks_per_frame_are_taken_for_one() -> Outcome {
    assert_eq!(headless(game).pacing(Pacing::TicksPerFrame(0)).record(3)?.tape().tick_count(), 3);
    Ok(())
}

#[test]
fn checks_look_at_the_world_after_their_ticks() -> Outcome {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let look = |ticks: u64| {
        let seen = seen.clone();
        move |world: &mut World| {
            let tick = world.resource::<SimTick>().0;
            let x = world.query::<&Hero>().iter(world).next().map(|hero| hero.x);
            seen.lock().expect("no panic").push((ticks, tick, x));
        }
    };
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4), Pacing::TicksPerFrame(100)] {
        let run = headless(game).pacing(pacing).inputs([1, 2, 3, 4].map(Push));
        run.at(3, look(3)).at(0, look(0)).at(1, look(1)).at(4, look(4)).at(9, look(9)).run()?;
        let seen = core::mem::take(&mut *seen.lock().expect("no panic"));
        assert_eq!(seen, [(0, 0, None), (1, 1, Some(1)), (3, 3, Some(6)), (4, 4, Some(10))]);
    }
    Ok(())
}

#[test]
fn given_inputs_are_followed_by_those_of_the_game() -> Outcome {
    fn live(app: &mut App) {
        game(app);
        app.add_systems(PreUpdate, |mut push: ResMut<Push>| push.0 = 100);
    }
    let run = headless(live).inputs([1, 2].map(Push)).record(4)?;
    assert_eq!(run.single::<Hero>()?.x, 203);
    headless(game).verify(run.tape())?.assert_verified();
    Ok(())
}

fn plays(source: impl TapeSource) -> Outcome {
    let run = headless(game).verify(source)?;
    run.assert_verified();
    assert_eq!(run.single::<Hero>()?.x, 10);
    Ok(())
}

#[test]
fn tape_is_taken_from_a_value_a_reference_and_a_path() -> Outcome {
    let tape = recorded()?.tape().clone();
    let folder = tempfile::tempdir()?;
    let path: PathBuf = folder.path().join("hero.tape");
    std::fs::write(&path, tape.to_bytes())?;
    plays(&tape)?;
    plays(tape.clone())?;
    plays(&*tape)?;
    plays((*tape).clone())?;
    plays(path.to_str().ok_or("path")?)?;
    plays(path.as_path())?;
    plays(&path)?;
    plays(path)
}

#[test]
fn tape_as_text_is_taken_from_a_path_and_a_value() -> Outcome {
    let run = headless(game).inputs([1, 2, 3, 4].map(Push)).detail(Detail::Values).run()?;
    let text = run.tape().to_text();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("hero.ron");
    for text in [text.clone(), text.replace('\n', "\r\n"), format!("```ron\n{text}```\n")] {
        std::fs::write(&path, &text)?;
        plays(&path)?;
        plays(bevy_replay::Tape::from_text(&text)?)?;
    }
    Ok(())
}

#[test]
fn hand_written_text_with_another_input_diverges() -> Outcome {
    let run = headless(game).inputs([1, 2, 3, 4].map(Push)).detail(Detail::Values).run()?;
    let text = run.tape().to_text();
    let changed = text.replace("(2, \"Push\", (3))", "(2, \"Push\", (7))");
    assert_ne!(text, changed, "{text}");
    let run = headless(game).verify(bevy_replay::Tape::from_text(&changed)?)?;
    let report = run.report().to_string();
    assert!(report.starts_with("diverged at tick 2 (0.03 s): sim:0 Hero.x expected 6 got 10"), "{report}");
    Ok(())
}

#[test]
fn tape_that_is_missing_or_damaged_is_an_error_with_its_path_or_place() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("hero.tape");
    let error = error_of(headless(game).verify(&path)).to_string();
    assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
    let mut bytes = recorded()?.tape().to_bytes();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes)?;
    let error = error_of(headless(game).verify(&path)).to_string();
    assert!(error.contains("is damaged: crc "), "{error}");
    std::fs::write(&path, "hello")?;
    let error = error_of(headless(game).verify(&path)).to_string();
    assert!(error.contains("this is no bevy_replay tape: it starts with hello"), "{error}");
    Ok(())
}
