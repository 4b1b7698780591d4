//! Recordings in files: whole, partial, refused; whatever happens to the file, the game goes on.

use crate::game::{Outcome, answer, headless, in_child_through, panic_text, task};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{DeckError, DeckRefused, EndReason, RecordingEnded, RecordingSaved, Tape};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use core::time::Duration;
use std::path::{Path, PathBuf};

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
}

/// The tick in which a system panics.
#[derive(Resource)]
struct PanicsAt(u64);

/// What observers were told, in that order.
#[derive(Resource, Default)]
struct Told(Vec<String>);

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("files")).record_input::<Steer>().register_authoritative::<Hero>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
    });
    app.add_systems(PreUpdate, |tick: Res<SimTick>, mut steer: ResMut<Steer>| {
        steer.x = if tick.0 % 7 < 3 { 1 } else { -1 };
    });
    app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += i32::from(steer.x));
}

/// An app that records into a file or folder. It has had its first frame, which has no length, and runs a tick in each.
fn app(path: &Path) -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, game)).init_resource::<Told>();
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.add_observer(|ended: On<RecordingEnded>, mut told: ResMut<Told>| told.0.push(format!("{:?}", ended.reason)));
    app.add_observer(|saved: On<RecordingSaved>, mut told: ResMut<Told>| {
        told.0.push(format!("saved {}, {} bytes", saved.path.display(), saved.size_bytes));
    });
    app.add_observer(|refused: On<DeckRefused>, mut told: ResMut<Told>| told.0.push(refused.error.to_string()));
    app.world_mut().resource_mut::<Deck>().record_to(path);
    app.update();
    app
}

fn run(app: &mut App, frames: u32) {
    (0..frames).for_each(|_| app.update());
}

/// Runs frames without ticks until that is so.
fn wait_for(app: &mut App, what: impl Fn(&mut App) -> bool) {
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    for _ in 0..10_000 {
        app.update();
        if what(app) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1)); // another thread writes
    }
    panic!("it did not happen: {:?}", app.world().resource::<Told>().0);
}

fn names(folder: &Path) -> Result<Vec<String>, std::io::Error> {
    let mut names: Vec<String> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, std::io::Error>>()?;
    names.sort();
    Ok(names)
}

/// Asserts that a tape plays to the digests on it.
fn assert_verified(tape: &Tape) -> Outcome {
    headless(game).verify(tape)?.assert_verified();
    Ok(())
}

#[test]
fn a_recording_is_in_its_file_when_it_has_ended() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.tape");
    let mut app = app(&path);
    run(&mut app, 100);
    assert_eq!(names(folder.path())?, ["run.tape.partial"]);
    app.world_mut().resource_mut::<Deck>().claim("score", "12");
    app.world_mut().resource_mut::<Deck>().stop();
    wait_for(&mut app, |app| app.world().resource::<Deck>().saved().is_some());
    assert_eq!(names(folder.path())?, ["run.tape"]);
    let tape = Tape::load(&path)?;
    let deck = app.world().resource::<Deck>();
    assert_eq!(Some(&tape), deck.tape().map(|tape| &**tape));
    assert_eq!((tape.tick_count(), tape.end.reason, deck.saved()), (100, EndReason::Stopped, Some(&*path)));
    assert_eq!(tape.end.claims["score"], "12");
    let size = std::fs::metadata(&path)?.len();
    let saved = format!("saved {}, {size} bytes", path.display());
    assert_eq!(app.world().resource::<Told>().0, ["Stopped".to_owned(), saved]);
    assert_verified(&tape)
}

#[test]
fn what_is_at_hand_is_written_when_the_game_pauses() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut app = app(&folder.path().join("run.tape"));
    run(&mut app, 45);
    let partial = folder.path().join("run.tape.partial");
    wait_for(&mut app, |_| Tape::load(&partial).is_ok_and(|tape| tape.tick_count() == 45));
    let tape = Tape::load(&partial)?;
    assert_eq!(tape.end.reason, EndReason::Unfinished);
    let run = headless(game).verify(&tape)?;
    run.assert_verified();
    assert_eq!(run.report().notes, ["the tape is unfinished: its recorder died after 45 ticks"]);
    Ok(())
}

#[test]
fn a_game_that_is_closed_leaves_a_finished_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.tape");
    let mut app = app(&path);
    run(&mut app, 50);
    drop(app);
    assert_eq!(names(folder.path())?, ["run.tape"]);
    let tape = Tape::load(&path)?;
    assert_eq!((tape.tick_count(), tape.end.reason), (50, EndReason::Stopped));
    assert_verified(&tape)
}

fn panicking_run(path: &Path, tick: u64) -> String {
    let mut app = app(path);
    app.insert_resource(PanicsAt(tick));
    app.add_systems(FixedPostUpdate, |tick: Res<SimTick>, at: Res<PanicsAt>| assert!(tick.0 < at.0, "planted"));
    panic_text(move || run(&mut app, 1000))
}

#[test]
fn a_panic_in_a_system_loses_nothing_before_its_tick() -> Outcome {
    let folder = tempfile::tempdir()?;
    for tick in [1, 31, 32, 33, 77] {
        let path = folder.path().join(format!("{tick}.tape"));
        assert!(panicking_run(&path, tick).contains("planted"));
        let tape = Tape::load(folder.path().join(format!("{tick}.tape.partial")))?;
        assert_eq!((tape.tick_count(), tape.end.reason), (tick, EndReason::Unfinished));
        assert_verified(&tape)?;
    }
    Ok(())
}

#[test]
fn recordings_in_a_folder_are_numbered_and_crashes_overwrite_nothing() -> Outcome {
    let root = tempfile::tempdir()?;
    let folder = root.path().join("my/tapes/");
    for _ in 0..10 {
        panicking_run(&folder, 40);
    }
    for _ in 0..2 {
        let mut app = app(&folder);
        run(&mut app, 10);
    }
    let expected = (1..=10).map(|number| format!("files-{number:04}.tape.partial"));
    let expected: Vec<String> = expected.chain(["files-0011.tape".into(), "files-0012.tape".into()]).collect();
    assert_eq!(names(&folder)?, expected);
    for name in &expected {
        assert_verified(&Tape::load(folder.join(name))?)?;
    }
    Ok(())
}

/// Runs a game whose file cannot be written; returns what it was told, and how it went on.
fn told_without_a_file(path: &Path) -> Vec<String> {
    let mut app = app(path);
    run(&mut app, 40);
    assert!(app.world().resource::<Deck>().is_recording(), "it goes on in memory");
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    assert_eq!(app.world().resource::<Deck>().tape().map(|tape| tape.tick_count()), Some(40));
    app.world().resource::<Told>().0.clone()
}

#[test]
fn an_existing_recording_is_left_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.tape");
    let partial = folder.path().join("run.tape.partial");
    for existing in [&path, &partial] {
        std::fs::write(existing, "mine")?;
        let told = told_without_a_file(&path);
        let reason = "there is such a recording already, whole or partial (choose another name)";
        let expected = format!("the recording could not be written to {}: {reason}", path.display());
        assert_eq!(told, [expected, "Stopped".into()]);
        assert_eq!(std::fs::read_to_string(existing)?, "mine");
        assert_eq!(names(folder.path())?.len(), 1);
        std::fs::remove_file(existing)?;
    }
    Ok(())
}

#[test]
fn a_file_that_appears_meanwhile_is_left_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.tape");
    let mut app = app(&path);
    run(&mut app, 40);
    std::fs::write(&path, "mine")?;
    app.world_mut().resource_mut::<Deck>().stop();
    wait_for(&mut app, |app| app.world().resource::<Deck>().error().is_some());
    let error = app.world().resource::<Deck>().error().map(ToString::to_string).unwrap_or_default();
    let partial = folder.path().join("run.tape.partial");
    assert!(
        error.contains("exists") && error.contains(&format!("(what was recorded is in {})", partial.display())),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&path)?, "mine");
    let tape = Tape::load(&partial)?;
    assert_eq!((tape.tick_count(), tape.end.reason), (40, EndReason::Stopped), "it is whole");
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_named() {
    let told = told_without_a_file(Path::new("/proc/run.tape"));
    assert!(told[0].starts_with("the recording could not be written to /proc/run.tape: "), "{told:?}");
    let told = told_without_a_file(Path::new("/proc/tapes/"));
    assert!(told[0].starts_with("the recording could not be written to /proc/tapes/: "), "{told:?}");
}

/// A limit on the size of files stands in for a full disk: what fits is written, then writing fails.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_recording_and_keeps_what_fitted() -> Outcome {
    if let Some(path) = task() {
        let mut app = app(Path::new(&path));
        for tick in 0_u32.. {
            app.world_mut().resource_mut::<Deck>().mark(format!("{tick} {}", "0123456789".repeat(10)));
            app.update();
            if !app.world().resource::<Deck>().is_recording() && tick > 0 {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let ticks = app.world().resource::<SimTick>().0;
        wait_for(&mut app, |app| app.world().resource::<Told>().0.len() > 1);
        run(&mut app, 10);
        assert_eq!(app.world().resource::<Deck>().tape().map(|tape| tape.tick_count()), Some(ticks));
        app.world().resource::<Told>().0.iter().for_each(answer);
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.tape");
    let limited = r#"trap "" XFSZ; ulimit -f 16; exec "$0" "$@""#;
    let test = concat!(module_path!(), "::a_full_disk_ends_the_recording_and_keeps_what_fitted");
    let told = in_child_through(&["sh", "-c", limited], test, &path.display().to_string(), 1)?;
    assert!(told.iter().any(|line| line == "WriteFailed"), "{told:?}");
    let partial = PathBuf::from(format!("{}.partial", path.display()));
    let reason = format!("(what was recorded is in {})", partial.display());
    assert!(told.iter().any(|line| line.contains("too large") && line.ends_with(&reason)), "{told:?}");
    let tape = Tape::load(&partial)?;
    assert_eq!(tape.end.reason, EndReason::Unfinished);
    assert!(tape.tick_count() >= 32, "{}", tape.tick_count());
    assert_verified(&tape)
}

#[test]
fn a_second_recording_beside_the_first_is_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut app = app(&folder.path().join("a.tape"));
    run(&mut app, 2);
    app.world_mut().resource_mut::<Deck>().record_to(folder.path().join("b.tape"));
    app.update();
    assert_eq!(app.world().resource::<Deck>().error(), Some(&DeckError::Busy));
    assert_eq!(names(folder.path())?, ["a.tape.partial"]);
    Ok(())
}

#[test]
fn digests_at_an_interval_find_a_divergence_in_it() -> Outcome {
    let game = |speed: i32| {
        move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("interval").digest_interval(16)).register_authoritative::<Hero>();
            app.add_systems(Startup, |mut commands: Commands| {
                commands.spawn(Hero::default());
            });
            app.add_systems(FixedUpdate, move |tick: Res<SimTick>, mut hero: Single<&mut Hero>| {
                hero.x += if tick.0 < 40 { 1 } else { speed };
            });
        }
    };
    let recorded = headless(game(1)).record(100)?;
    assert_eq!(recorded.tape().digests.roots.len(), 6);
    let tape = Tape::from_bytes(&recorded.tape().to_bytes())?;
    headless(game(1)).verify(&tape)?.assert_verified();
    let report = headless(game(2)).verify(&tape)?.report().clone();
    assert_eq!(report.first_divergence(), "between tick 32 and 47");
    Ok(())
}
