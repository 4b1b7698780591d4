//! Tapes that fail are made short.

use crate::game::{Outcome, Rng, error_of, headless, panic_text};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::testing::{Shrink, ShrinkError, Shrunk};
use bevy_replay::{EndReason, FlightRecorder, Headless, ReplayError, Tape, prelude::*};
use core::cell::Cell;
use core::time::Duration;
use std::sync::atomic::{AtomicU32, Ordering};

/// Which key is down; none is 0.
#[derive(Resource, Default, Clone, TickInput)]
struct Keys {
    down: u8,
    shift: bool,
}

#[derive(Resource, Default, Clone, TickInput)]
struct Stick {
    x: i8,
}

#[derive(Message, Canonical, Clone)]
struct Said(u8);

#[derive(Component, Canonical, Default)]
struct Player {
    x: i32,
    last: u8,
    /// How many keys of [`COMBO`] were pressed.
    step: u32,
}

const COMBO: [u8; 3] = [7, 11, 3];

/// What is wrong with the game.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// It panics after the third key.
    Panic,
    /// And in another way, after less: when shift alone is held.
    TwoPanics,
    /// After the third key the player cannot move.
    Stuck,
}

fn game(fault: Fault) -> impl Fn(&mut App) + Clone + Send + Sync + 'static {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("combo")).record_input::<Keys>().record_input::<Stick>();
        app.record_messages::<Said>().register_authoritative::<Player>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Player::default());
        });
        let play = move |keys: Res<Keys>, stick: Res<Stick>, tick: Res<SimTick>, mut player: Single<&mut Player>| {
            let is_press = keys.down != 0 && keys.down != player.last;
            player.last = keys.down;
            if is_press && COMBO.get(player.step as usize) == Some(&keys.down) {
                player.step += 1;
            }
            if player.step < 3 || fault != Fault::Stuck {
                player.x += i32::from(stick.x);
            }
            assert!(player.step < 3 || !matches!(fault, Fault::Panic | Fault::TwoPanics), "combo in tick {}", tick.0);
            assert!(fault != Fault::TwoPanics || player.step > 0 || !keys.shift || keys.down > 0, "only shift");
        };
        app.add_systems(FixedUpdate, play);
    }
}

/// Random keys, of which the last is the first that ends the combo; steered now and then.
fn random_play(ticks: u32) -> Result<Tape, ReplayError> {
    let mut rng = Rng(3);
    let keys: Vec<Keys> = (0..ticks)
        .map(|tick| match rng.draw() {
            _ if tick + 1 == ticks => Keys { down: COMBO[2], shift: true },
            draw if draw % 3 > 0 => Keys::default(),
            _ => Keys { down: 4 + u8::try_from(rng.draw() % 10).unwrap_or(0), shift: rng.draw().is_multiple_of(2) },
        })
        .collect();
    let sticks = (0..ticks).map(|tick| Stick { x: [1, 1, 0, -1, -1, 0, 1][(tick / 5 % 7) as usize] });
    let run = headless(game(Fault::None)).inputs(keys).inputs(sticks).run()?;
    Ok(Tape::clone(run.tape()))
}

fn text(shrunk: &Shrunk) -> Vec<String> {
    let tracks = shrunk.tape.tracks.iter();
    tracks.flat_map(|track| track.changes.iter().map(|(tick, _)| format!("{tick} {}", track.text_at(tick)))).collect()
}

#[test]
fn three_presses_in_order_are_left_of_six_hundred_ticks_and_the_game_still_panics() -> Outcome {
    let tape = random_play(600)?;
    let shrunk = Shrink::new(|| headless(game(Fault::Panic)), &tape).run()?;
    assert_eq!(shrunk.before.ticks, 600);
    assert!(shrunk.before.input_changes > 300, "{shrunk}");
    let keys = |down: u8| format!("Keys(down: {down}, shift: false)");
    let expected = (0..).zip(COMBO).map(|(tick, key)| format!("{tick} {}", keys(key))).collect::<Vec<_>>();
    assert_eq!((text(&shrunk), shrunk.after.ticks), (expected, 3));
    assert!(!shrunk.is_out_of_time);
    assert!(shrunk.failure.starts_with("panicked at tests/it/shrink.rs:"), "{}", shrunk.failure);
    let notes = format!("shrunk from tape {}: {}", tape.id(), shrunk.failure);
    assert_eq!(shrunk.tape.header.notes, notes);

    // It is a tape as any other.
    for tape in [Tape::from_bytes(&shrunk.tape.to_bytes())?, Tape::from_text(&shrunk.tape.to_text())?] {
        assert_eq!(tape, shrunk.tape);
        assert_eq!(panic_text(|| headless(game(Fault::Panic)).replay_inputs(&tape)), "combo in tick 2");
        headless(game(Fault::None)).replay_inputs(&tape)?;
    }

    let guide = include_str!("../../docs/debugging.md").replace("\r\n", "\n");
    let shown = format!("shrunk: {} -> {}; still fails: panicked at src/combo.rs:41:13: ", shrunk.before, shrunk.after);
    assert!(guide.contains(&shown), "docs/debugging.md does not show\n{shown}");
    assert!(guide.contains(&format!("\n{} tries; written to", shrunk.tries)), "{} tries", shrunk.tries);
    Ok(())
}

#[test]
fn tick_in_which_a_recording_died_is_found_behind_its_end() -> Outcome {
    let mut tape = random_play(200)?;
    (tape.end.tick_count, tape.end.reason) = (199, EndReason::Unfinished);
    tape.digests = Default::default();
    let shrunk = Shrink::new(|| headless(game(Fault::Panic)), &tape).panics().run()?;
    assert_eq!((shrunk.before.ticks, shrunk.after.ticks), (199, 3), "{shrunk}");
    assert_eq!(panic_text(|| headless(game(Fault::Panic)).replay_to_crash(&shrunk.tape)), "combo in tick 2");
    Ok(())
}

#[test]
fn another_panic_does_not_count() -> Outcome {
    // The first key comes before shift alone does, which would be a panic by itself.
    let presses = [Keys { down: 7, shift: false }, Keys { down: 0, shift: true }].map(|keys| (keys, 20));
    let presses = presses.into_iter().chain([(Keys { down: 11, shift: true }, 20), (Keys { down: 3, shift: true }, 1)]);
    let inputs: Vec<Keys> = presses.flat_map(|(keys, ticks)| vec![keys; ticks]).collect();
    let recorded = headless(game(Fault::None)).inputs(inputs).run()?;
    let shrunk = Shrink::new(|| headless(game(Fault::TwoPanics)), recorded.tape()).run()?;
    assert!(shrunk.failure.contains("combo in tick "), "{shrunk}");
    assert_eq!(shrunk.after.input_changes, 3, "{:?}", text(&shrunk));
    Ok(())
}

#[test]
fn expectation_that_is_not_met_stays_at_its_tick() -> Outcome {
    let mut tape = random_play(200)?;
    let line = "tick 200 Player.step < 3";
    tape.header.expectations = vec!["tick 10 Player.step < 3".into(), line.into()];
    let shrunk = Shrink::new(|| headless(game(Fault::None)), &tape).run()?;
    assert_eq!(shrunk.failure, "expected tick 200 Player.step < 3, got 3");
    assert_eq!((shrunk.after.ticks, shrunk.after.input_changes <= 6), (200, true), "{:?}", text(&shrunk));
    assert_eq!(shrunk.tape.header.expectations, tape.header.expectations);
    let error = error_of(headless(game(Fault::None)).replay_inputs(&shrunk.tape));
    assert_eq!(error.to_string(), "expected tick 200 Player.step < 3, got 3");

    // One that is given goes onto the tape, which ends with it.
    tape.header.expectations = vec!["tick 190 Player.step < 3".into()];
    let shrunk = Shrink::new(|| headless(game(Fault::None)), &tape).expectation("tick 100 Player.step == 0").run()?;
    assert_eq!(shrunk.tape.header.expectations, ["tick 100 Player.step == 0"]);
    assert_eq!((shrunk.after.ticks, shrunk.after.input_changes), (100, 2), "{:?}", text(&shrunk));
    Ok(())
}

#[test]
fn function_says_what_fails() -> Outcome {
    let tape = random_play(200)?;
    let tries = Cell::new(0);
    let is_far = |tape: &Tape| {
        tries.set(tries.get() + 1);
        let run = headless(game(Fault::None)).replay_inputs(tape).expect("it plays");
        run.single::<Player>().expect("there is one").x >= 3
    };
    let shrunk = Shrink::new(|| headless(game(Fault::None)), &tape).fails_when(is_far).run()?;
    assert_eq!(text(&shrunk), ["0 Stick(x: 1)"]);
    assert_eq!(shrunk.after.ticks, 3);
    assert_eq!(shrunk.tries, tries.get());
    Ok(())
}

#[test]
fn two_games_part_on_the_shorter_tape_too() -> Outcome {
    let tape = random_play(200)?;
    let (old, new) = (|| headless(game(Fault::None)), || headless(game(Fault::Stuck)));
    let mut longer = tape;
    // The combo is complete in the last tick, where the stick rests.
    longer.end.tick_count += 40;
    let sticks = longer.tracks.iter_mut().find(|track| track.name == "Stick").ok_or("a track")?;
    sticks.changes.record(220, &[255]);
    let shrunk = Shrink::new(old, &longer).diverges_from(new).run()?;
    assert!(shrunk.failure.starts_with("diverged at tick "), "{shrunk}");
    assert!(shrunk.after.input_changes <= 5, "{:?}", text(&shrunk));
    let report = old().compare_with(new(), &shrunk.tape)?;
    assert_eq!(report.divergence.as_ref().and_then(|found| found.tick), Some(shrunk.after.ticks - 1), "{report}");
    Ok(())
}

#[test]
fn tape_that_does_not_fail_is_an_error_that_says_what_was_tried() -> Outcome {
    let tape = random_play(200)?;
    let make = || headless(game(Fault::None));
    let error = error_of(Shrink::new(make, &tape).run());
    assert!(matches!(error, ShrinkError::DoesNotFail { .. }));
    assert!(error.to_string().contains("200 ticks ran without a panic, and it expects nothing"), "{error}");
    let error = error_of(Shrink::new(make, &tape).expectation("tick 200 Player.step == 3").run());
    assert!(error.to_string().ends_with("200 ticks ran without a panic, and all that it expects is so"), "{error}");
    let error = error_of(Shrink::new(make, &tape).diverges_from(make).run());
    assert!(error.to_string().ends_with("after 200 ticks the two have not parted"), "{error}");
    let error = error_of(Shrink::new(make, &tape).fails_when(|_| panic!("not now")).run());
    assert!(error.to_string().contains("the function panicked at tests/it/shrink.rs:"), "{error}");
    let error = error_of(Shrink::new(|| headless(game(Fault::Panic)), &tape).expectations().run());
    assert!(error.to_string().contains("before that, panicked at tests/it/shrink.rs:"), "{error}");
    let error = error_of(Shrink::new(|| headless(ReplayPlugin::new("another")), &tape).run());
    assert!(matches!(error, ShrinkError::Unplayable(_)), "{error}");
    Ok(())
}

#[test]
fn without_time_the_cut_tape_is_the_result() -> Outcome {
    let mut tape = random_play(200)?;
    tape.end.tick_count += 100;
    let mut seen = Vec::new();
    let shrink = Shrink::new(|| headless(game(Fault::Panic)), &tape).time_max(Duration::ZERO);
    let shrunk = shrink.on_better(|tape, progress| seen.push((tape.clone(), *progress))).run()?;
    assert_eq!((shrunk.before.ticks, shrunk.after.ticks, shrunk.tries), (300, 200, 2));
    assert!(shrunk.is_out_of_time && shrunk.to_string().ends_with("(out of time: it may get shorter)"), "{shrunk}");
    assert_eq!(seen.len(), 1);
    assert_eq!((&seen[0].0, seen[0].1.size), (&shrunk.tape, shrunk.after));
    Ok(())
}

#[test]
fn each_better_tape_is_shorter_and_fails() -> Outcome {
    let tape = random_play(200)?;
    let mut seen = Vec::new();
    let shrink = Shrink::new(|| headless(game(Fault::Panic)), &tape);
    let shrunk = shrink.on_better(|tape, progress| seen.push((tape.clone(), progress.size))).run()?;
    assert!(seen.len() > 5);
    assert!(seen.is_sorted_by(|a, b| a.1.input_changes >= b.1.input_changes));
    assert_eq!(seen.last().map(|last| &last.0), Some(&shrunk.tape));
    for (tape, _) in seen.iter().step_by(4) {
        panic_text(|| headless(game(Fault::Panic)).replay_inputs(tape));
    }
    Ok(())
}

#[test]
fn tape_that_begins_in_the_middle_keeps_its_state_and_what_was_held() -> Outcome {
    let run = headless(game(Fault::None)).detail(Detail::Values);
    // The first key is pressed before the part begins, and held into it.
    let held = |tick: u64| match tick {
        0..60 => Keys { down: 7, shift: false },
        100 => Keys { down: 11, shift: true },
        150 => Keys { down: 3, shift: true },
        _ => Keys { down: if tick.is_multiple_of(5) { 9 } else { 0 }, shift: false },
    };
    let tape = run.inputs((0..200).map(held)).run()?.tape().cut(40..200)?;
    let shrunk = Shrink::new(|| headless(game(Fault::Panic)), &tape).run()?;
    let keys = |down: u8| format!("Keys(down: {down}, shift: false)");
    let expected = [(40, keys(11)), (41, keys(3))].map(|(tick, keys)| format!("{tick} {keys}"));
    assert_eq!((text(&shrunk), shrunk.after.ticks), (expected.into(), 2));
    assert_eq!((shrunk.tape.header.tick_first, &shrunk.tape.initial), (40, &tape.initial));
    assert_eq!(panic_text(|| headless(game(Fault::Panic)).replay_inputs(&shrunk.tape)), "combo in tick 41");
    Ok(())
}

#[test]
fn text_tape_is_shrunk_as_any_other() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("crash.ron");
    random_play(200)?.save(&path)?;
    let [first, second] = [(); 2].map(|()| Shrink::new(|| headless(game(Fault::Panic)), &path).run());
    let first = first?;
    assert_eq!(first.after.input_changes, 3);
    assert_eq!(first, second?, "the same tape gives the same result");
    Ok(())
}

#[test]
fn messages_and_the_rest_of_the_tracks_can_go() -> Outcome {
    let hears = |app: &mut App| {
        game(Fault::None)(app);
        app.add_systems(FixedUpdate, |mut said: MessageReader<Said>| {
            said.read().for_each(|said| assert_ne!(said.0, 9, "it heard that"));
        });
    };
    let mut tape = random_play(200)?;
    let said = tape.tracks.iter_mut().find(|track| track.name == "Said").ok_or("a track")?;
    said.changes = Default::default();
    for (tick, numbers) in [(0, &[][..]), (5, &[1, 2]), (6, &[]), (100, &[4, 9]), (101, &[]), (150, &[9])] {
        let message = |number: &u8| Said(*number);
        said.changes.record(tick, &bevy_replay::tape::encode_to_vec(&numbers.iter().map(message).collect::<Vec<_>>()));
    }
    let shrunk = Shrink::new(|| headless(hears), &tape).run()?;
    assert_eq!((text(&shrunk), shrunk.after.ticks), (vec!["0 Said([(4), (9)])".to_owned()], 1));
    Ok(())
}

#[test]
fn game_that_does_not_fail_each_time_is_told() -> Outcome {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let tape = random_play(200)?;
    let moody = |app: &mut App| {
        game(if RUNS.fetch_add(1, Ordering::Relaxed) == 0 { Fault::Panic } else { Fault::None })(app);
    };
    let error = error_of(Shrink::new(|| headless(moody), &tape).run());
    assert!(matches!(error, ShrinkError::Unsteady { .. }), "{error}");
    Ok(())
}

#[test]
fn tries_leave_no_files_behind() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_owned();
    let saving = move |app: &mut App| {
        let path = path.clone();
        let flight = FlightRecorder { folder: Some(path.clone()), ..FlightRecorder::default() };
        app.add_plugins(ReplayPlugin::new("combo").flight(flight)).record_input::<Keys>();
        app.register_authoritative::<Player>();
        app.add_systems(Startup, move |mut commands: Commands, mut deck: ResMut<Deck>| {
            commands.spawn(Player::default());
            deck.record_to(path.join("run.tape"));
        });
        app.add_systems(FixedUpdate, |keys: Res<Keys>| assert_ne!(keys.down, COMBO[2], "that key"));
    };
    let mut keys_only = random_play(200)?;
    keys_only.tracks.retain(|track| track.name == "Keys");
    let shrunk = Shrink::new(|| Headless::new(saving.clone()), &keys_only).run()?;
    assert_eq!(shrunk.after.to_string(), "1 tick, 1 input change");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}
