//! A tape becomes a test in a crate's folder.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{ImportError, ImportSource, Run, import_tape};
use std::path::Path;

type Done = Result<(), Box<dyn std::error::Error>>;

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    jump: bool,
}

#[derive(Component, Canonical, Default)]
struct Hero {
    y: i32,
    on_ground: bool,
}

/// With the bug a hero never lands.
fn game(has_bug: bool) -> impl Fn(&mut App) + Send + Sync + 'static {
    move |app| {
        app.add_plugins(ReplayPlugin::new("jumper").version("0.1.0"))
            .record_input::<Steer>()
            .register_authoritative::<Hero>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Hero { on_ground: true, ..Hero::default() });
        });
        app.add_systems(FixedUpdate, move |steer: Res<Steer>, mut hero: Single<&mut Hero>| {
            hero.y = if steer.jump && hero.on_ground { 3 } else { (hero.y - 1).max(i32::from(has_bug)) };
            hero.on_ground = hero.y == 0;
        });
    }
}

fn recorded() -> Result<Run, ReplayError> {
    Headless::new(game(true)).inputs((0..20).map(|tick| Steer { jump: tick % 5 < 4 })).run()
}

fn files(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[test]
fn an_imported_bug_is_red_then_green_then_red_again() -> Done {
    let folder = tempfile::tempdir()?;
    let source = ImportSource::Tape(recorded()?.tape().clone());
    let imported = import_tape(&source, folder.path(), "lands", "jumper::game")?;
    let before = std::fs::read(&imported.tape)?;
    let lands = |has_bug| -> Result<bool, ReplayError> {
        let run = Headless::new(game(has_bug)).replay_inputs(&imported.tape)?;
        Ok(run.single::<Hero>()?.on_ground)
    };
    assert_eq!([lands(true)?, lands(false)?, lands(true)?], [false, true, false]);
    assert_eq!(std::fs::read(&imported.tape)?, before);
    Ok(())
}

#[test]
fn a_test_names_what_can_be_asserted_and_waits_for_it() -> Done {
    let folder = tempfile::tempdir()?;
    let mut tape = (**recorded()?.tape()).clone();
    tape.end.claims.insert("score".into(), "3\n*/".into());
    tape.header.target = "x86_64-linux".into();
    let source = ImportSource::Tape(tape.into());
    let imported = import_tape(&source, folder.path(), "lands", "jumper::GamePlugin")?;
    let text = std::fs::read_to_string(imported.test)?;
    let expected = r#"//! A recorded bug as a test: its inputs are played, then the expectation is checked.
//!
//! Recorded by jumper 0.1.0 rules 0, x86_64-linux: 20 ticks.
//! Claimed: score = 3\n*/

use bevy_replay::prelude::*;

#[test]
fn lands() -> Result<(), ReplayError> {
    // Inputs only: the digests on the tape were made by the bug.
    let run = Headless::new(jumper::GamePlugin).replay_inputs("tests/tapes/lands.tape")?;
    // Say what should be true, as in `Some(run.single::<Hero>()?.on_ground)`. What the tape knows:
    // components Hero; resources none.
    let is_right: Option<bool> = None;
    assert_eq!(is_right, Some(true), "after {} ticks (None: say what is expected)", run.resource::<SimTick>()?.0);
    Ok(())
}
"#;
    assert_eq!(text, expected);
    Ok(())
}

#[test]
fn pasted_text_is_kept_as_text() -> Done {
    let folder = tempfile::tempdir()?;
    let pasted = format!("```ron\r\n{}\r\n```\n", recorded()?.tape().to_text().replace('\n', "\r\n"));
    let imported = import_tape(&ImportSource::from_entry(&pasted), folder.path(), "pasted", "jumper::game")?;
    assert!(imported.tape.ends_with("tapes/pasted.ron"));
    let run = Headless::new(game(false)).replay_inputs(&imported.tape)?;
    assert_eq!(run.resource::<SimTick>()?.0, 20);
    Ok(())
}

#[test]
fn nothing_is_overwritten_and_a_second_name_works() -> Done {
    let folder = tempfile::tempdir()?;
    let source = ImportSource::Tape(recorded()?.tape().clone());
    let first = import_tape(&source, folder.path(), "lands", "jumper::game")?;
    std::fs::write(&first.test, "mine")?;
    let Err(ImportError::Exists { path }) = import_tape(&source, folder.path(), "lands", "jumper::game") else {
        return Err("it must be refused".into());
    };
    assert!(path.ends_with("lands.rs"), "{path}");
    // The same with the tape alone: the test that was written for it goes again.
    std::fs::remove_file(&first.test)?;
    let refused = import_tape(&source, folder.path(), "lands", "jumper::game");
    assert!(matches!(refused, Err(ImportError::Exists { path }) if path.ends_with("lands.tape")));
    assert_eq!(files(folder.path())?, ["tapes"]);
    import_tape(&source, folder.path(), "lands_2", "jumper::game")?;
    Ok(())
}

#[test]
fn a_damaged_tape_leaves_no_file() -> Done {
    let folder = tempfile::tempdir()?;
    let mut bytes = recorded()?.tape().to_bytes();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = folder.path().join("damaged.tape");
    std::fs::write(&damaged, bytes)?;
    let entry = format!("\"{}\"", damaged.display());
    let refused = import_tape(&ImportSource::from_entry(&entry), &folder.path().join("tests"), "lands", "jumper::game");
    assert!(matches!(refused, Err(ImportError::Tape(_))));
    assert_eq!(files(folder.path())?, ["damaged.tape"]);
    Ok(())
}

#[test]
fn a_name_that_rust_would_refuse_is_refused_first() -> Done {
    let folder = tempfile::tempdir()?;
    let source = ImportSource::Tape(recorded()?.tape().clone());
    for name in ["", "Third", "third coin", "3rd", "../up", "match", "_", "über"] {
        let refused = import_tape(&source, folder.path(), name, "jumper::game");
        assert!(matches!(refused, Err(ImportError::BadName { .. })), "{name}");
    }
    assert_eq!(files(folder.path())?, [""; 0]);
    Ok(())
}
