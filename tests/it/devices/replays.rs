//! A tape replaces the live devices, and leaves nothing behind.

use super::*;

#[derive(Component, Canonical, Default)]
struct Movers {
    by_key_code: i32,
    by_key: i32,
}

fn walking_game(app: &mut App) {
    app.add_plugins(game);
    app.register_authoritative::<Movers>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Movers::default());
    });
    app.add_systems(
        FixedUpdate,
        |codes: Res<ButtonInput<KeyCode>>, keys: Res<ButtonInput<Key>>, mut movers: Single<&mut Movers>| {
            let a = Key::Character("a".into());
            movers.by_key_code += i32::from(codes.pressed(KeyCode::KeyA) || codes.pressed(KeyCode::ArrowRight));
            movers.by_key_code -= i32::from(codes.pressed(KeyCode::ArrowLeft));
            movers.by_key += i32::from(keys.pressed(a));
        },
    );
}

fn walked(rig: &mut Rig) -> (i32, i32) {
    let world = rig.app.world_mut();
    world.query::<&Movers>().single(world).map_or((0, 0), |movers| (movers.by_key_code, movers.by_key))
}

/// bevyengine/bevy#25483.
#[test]
fn focus_loss_releases_physical_and_logical_keys_live_and_in_the_tape() -> Outcome {
    let mut rig = Rig::of(walking_game);
    rig.app.world_mut().resource_mut::<Deck>().record();
    rig.ticks(10);
    rig.press(KeyCode::KeyA);
    rig.ticks(10);
    assert_eq!(walked(&mut rig), (10, 10));
    rig.message(KeyboardFocusLost);
    assert_eq!(rig.ticks(1), ["KeyA- Character(\"a\")-"]);
    assert_eq!(rig.ticks(39), [""; 39]);
    assert_eq!(walked(&mut rig), (10, 10));
    assert_eq!(rig.last_frame(), "");

    let tape = rig.tape();
    let text = |track: &str| tape.track(track).map(|track| track.text_at(20)).ok_or("no track");
    assert_eq!(text("Keyboard")?, r#"Keyboard(held: [], pressed: [], released: ["KeyA"])"#);
    assert_eq!(text("LogicalKeys")?, r#"LogicalKeys(held: [], pressed: [], released: ["a"])"#);
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(7)] {
        let run = headless(walking_game).pacing(pacing).verify(&tape)?;
        run.assert_verified();
        let movers = run.single::<Movers>()?;
        assert_eq!((movers.by_key_code, movers.by_key), (10, 10));
        assert_eq!(run.resource::<Log>()?.0.last().map(String::as_str), Some(""));
    }
    Ok(())
}

#[test]
fn focus_loss_releases_mouse_buttons_and_pads_too() -> Outcome {
    let mut rig = Rig::recording();
    let pad = rig.plug();
    rig.frame(1);
    rig.click(MouseButton::Left, ButtonState::Pressed);
    rig.pad_button(pad, GamepadButton::South, 1.0).pad_button(pad, GamepadButton::RightTrigger2, 0.5);
    rig.pad_axis(pad, GamepadAxis::LeftStickX, 0.75);
    assert_eq!(rig.ticks(2)[1], "Left= pad0 South= 0.75 0.5");
    rig.message(KeyboardFocusLost);
    assert_eq!(rig.frame(2), ["Left- pad0 South- 0 0", "pad0 0 0"]);
    rig.pad_axis(pad, GamepadAxis::LeftStickX, 0.5);
    assert_eq!(rig.frame(1), ["pad0 0.5 0"]);
    let log = rig.app.world().resource::<Log>().0.clone();
    assert_replays(&rig.tape(), &log)
}

/// raysan5/raylib#3964.
#[test]
fn key_held_at_the_tapes_end_is_released_once_and_live_keys_change_nothing() -> Outcome {
    let mut rig = Rig::of(walking_game);
    rig.app.world_mut().resource_mut::<Deck>().record();
    rig.ticks(5);
    rig.press(KeyCode::ArrowRight);
    rig.ticks(25);
    let (end, tape) = (walked(&mut rig), rig.tape());
    assert_eq!((tape.tick_count(), end), (30, (25, 0)));

    let mut rig = Rig::of(walking_game);
    rig.app.world_mut().resource_mut::<Deck>().play(tape, PlayOptions::verify());
    rig.ticks(12);
    rig.press(KeyCode::ArrowLeft);
    assert_eq!(rig.ticks(18), ["ArrowRight= Shift="; 18]);
    let report = rig.app.world().resource::<Deck>().report().ok_or("no report")?;
    assert!(report.is_verified(), "{report}");
    assert_eq!(walked(&mut rig), end);

    let after = rig.ticks(30);
    assert_eq!(after[0], "ArrowRight- Shift-");
    assert_eq!(after[1..], [""; 29]);
    assert_eq!(walked(&mut rig), end);
    assert_eq!(rig.last_frame(), "ArrowLeft= Shift=", "outside ticks the live key is still down");
    rig.release(KeyCode::ArrowLeft);
    assert_eq!(rig.frame(1), [""]);
    rig.press(KeyCode::ArrowLeft);
    assert_eq!(rig.frame(1), ["ArrowLeft+= Shift+="]);
    rig.release(KeyCode::ArrowLeft);
    assert_eq!(rig.frame(1), ["ArrowLeft- Shift-"]);
    assert_eq!(walked(&mut rig), (24, 0));
    Ok(())
}

/// A tape in which `KeyA` is pressed in tick 3 and never released.
fn short_tape() -> Arc<Tape> {
    let mut rig = Rig::recording();
    rig.ticks(3);
    rig.press(KeyCode::KeyA);
    rig.ticks(3);
    rig.tape()
}

#[test]
fn key_that_tape_and_player_hold_is_released_too_and_counts_when_pressed_anew() {
    let mut rig = Rig::playing(&short_tape());
    rig.press(KeyCode::KeyA);
    assert_eq!(rig.ticks(6)[3..], ["KeyA+= Character(\"a\")+=", "KeyA= Character(\"a\")=", "KeyA= Character(\"a\")="]);
    assert_eq!(rig.ticks(3), ["KeyA- Character(\"a\")-", "", ""]);
    rig.release(KeyCode::KeyA).press(KeyCode::KeyA);
    assert_eq!(rig.ticks(2), ["KeyA+= Character(\"a\")+=", "KeyA= Character(\"a\")="]);
    rig.release(KeyCode::KeyA);
    assert_eq!(rig.ticks(2), ["KeyA- Character(\"a\")-", ""]);
}

#[test]
fn key_pressed_right_after_the_tapes_end_counts_at_once() {
    let mut rig = Rig::playing(&short_tape());
    rig.ticks(6);
    rig.press(KeyCode::KeyA).press(KeyCode::KeyD);
    rig.frame(0);
    let seen = "KeyA+=- KeyD+= Character(\"a\")+=- Character(\"d\")+=";
    assert_eq!(rig.frame(1), [seen]);
}

#[test]
fn tape_that_is_stopped_lets_go_in_that_tick() {
    let mut rig = Rig::playing(&short_tape());
    rig.ticks(5);
    rig.app.world_mut().resource_mut::<Deck>().stop();
    assert_eq!(rig.ticks(2), ["KeyA- Character(\"a\")-", ""]);
}

#[test]
fn motion_of_the_replaying_player_does_not_arrive_after_the_tape() {
    let mut rig = Rig::playing(&short_tape());
    for _ in 0..6 {
        rig.mouse(100.0, 0.0).wheel(1.0, MouseScrollUnit::Line);
        assert!(!rig.frame(1)[0].contains("moved"));
    }
    rig.ticks(1);
    rig.mouse(1.0, 0.0);
    assert_eq!(rig.ticks(2), ["moved 1 0", ""]);
}

#[test]
fn live_keys_before_during_and_after_change_no_digest_and_leave_nothing_stuck() -> Outcome {
    let tape = short_tape();
    let mut rig = Rig::of((game, fidget));
    rig.app.world_mut().resource_mut::<Deck>().play(tape.clone(), PlayOptions::verify());
    rig.frame(0);
    let seen: Vec<String> = (0..3).flat_map(|_| rig.frame(2)).collect();
    assert_eq!(seen, ["", "", "", "KeyA+= Character(\"a\")+=", "KeyA= Character(\"a\")=", "KeyA= Character(\"a\")="]);
    let report = rig.app.world().resource::<Deck>().report().ok_or("no report")?;
    assert!(report.is_verified(), "{report}");
    // The player goes on, and then lets go of everything.
    rig.ticks(20);
    assert!(!rig.frame(1)[0].is_empty());
    Ok(())
}

#[test]
fn unknown_key_on_a_tape_ends_it_and_live_input_is_let_in_at_once() -> Outcome {
    let mut tape = Tape::clone(&short_tape());
    let track = tape.tracks.iter_mut().find(|track| track.name == "LogicalKeys").ok_or("no track")?;
    let bad = bevy_replay::tape::encode_text(&track.schema, r#"(held: ["Hyperdrive"], pressed: [], released: [])"#)?;
    assert!(track.changes.record(4, &bad) || track.changes.record(5, &bad));
    let mut rig = Rig::playing(&Arc::new(tape));
    rig.ticks(5);
    rig.press(KeyCode::KeyB);
    rig.frame(0);
    let log = rig.ticks(3);
    let error = rig.app.world().resource::<Deck>().error().ok_or("no error")?.to_string();
    assert_eq!(error, "input LogicalKeys at tick 5 cannot be read: Hyperdrive is no value of LogicalKeys");
    // The tick that could not be played has what was let in before; all is live from the next one on. The tape
    // still covered the press of the physical key, but not that of the logical one.
    assert_eq!(log[0], "KeyA= Character(\"a\")- Character(\"b\")+=");
    assert_eq!(log[1], "KeyA- Character(\"b\")=");
    assert_eq!(log[2], "Character(\"b\")=");
    Ok(())
}

#[test]
fn plugins_may_be_added_in_any_order() -> Outcome {
    fn reversed(app: &mut App) {
        app.add_plugins((RawInputPlugin::default(), ReplayPlugin::new("devices"), InputPlugin));
        app.register_authoritative_resource::<Seen>().init_resource::<Seen>().init_resource::<Log>();
        app.add_systems(FixedUpdate, look.pipe(remember));
    }
    let tape = short_tape();
    headless(reversed).verify(&tape)?.assert_verified();
    Ok(())
}

#[test]
fn only_the_devices_that_are_asked_for_are_recorded() -> Outcome {
    let tracks = |plugin: RawInputPlugin| -> Result<Vec<String>, ReplayError> {
        let game = move |app: &mut App| _ = app.add_plugins((ReplayPlugin::new("devices"), plugin));
        Ok(headless(game).record(1)?.tape().header.tracks.iter().map(|track| track.name.clone()).collect())
    };
    let none = RawInputPlugin { keyboard: false, mouse: false, gamepads: false };
    assert!(tracks(none)?.is_empty());
    assert_eq!(tracks(RawInputPlugin { keyboard: true, ..none })?, ["Keyboard", "LogicalKeys"]);
    assert_eq!(tracks(RawInputPlugin { mouse: true, ..none })?, ["MouseButtons", "MouseMotion", "MouseScroll"]);
    assert_eq!(tracks(RawInputPlugin { gamepads: true, ..none })?, ["Gamepads"]);
    assert_eq!(tracks(RawInputPlugin::default())?.len(), 6);
    Ok(())
}

#[test]
fn devices_without_the_border_of_a_tick_are_refused() {
    let text = crate::game::panic_text(|| App::new().add_plugins(RawInputPlugin::default()).finish());
    assert!(text.contains("RawInputPlugin needs ReplayPlugin"), "{text}");
}

#[test]
fn windowless_app_without_bevys_input_plugin_gets_it() -> Outcome {
    fn bare(app: &mut App) {
        app.add_plugins((ReplayPlugin::new("devices"), RawInputPlugin::default()));
        app.register_authoritative_resource::<Seen>().init_resource::<Seen>().init_resource::<Log>();
        app.add_systems(FixedUpdate, look.pipe(remember));
    }
    headless(bare).verify(short_tape())?.assert_verified();
    let press = |world: &mut World| world.resource_mut::<ButtonInput<KeyCode>>().press(KeyCode::KeyA);
    let release = |world: &mut World| world.resource_mut::<ButtonInput<KeyCode>>().release(KeyCode::KeyA);
    let run = headless(bare).at(1, press).at(3, release).record(5)?;
    assert_eq!(run.resource::<Log>()?.0, ["", "KeyA+=", "KeyA=", "KeyA-", ""]);
    Ok(())
}

#[test]
fn keys_are_given_by_hand() -> Outcome {
    use bevy_replay::devices::{Keyboard, MouseMotion as Motion};
    let space = [KeyCode::Space];
    let keys = [Keyboard::default(), Keyboard::pressing(space), Keyboard::holding(space), Keyboard::tapping(space)];
    let motion = [Motion { x: 1.0, y: 0.0 }, Motion { x: 2.0, y: 0.0 }];
    let run = headless(game).inputs(keys).inputs(motion).run()?;
    assert_eq!(run.resource::<Log>()?.0, ["moved 1 0", "Space+= moved 2 0", "Space=", "Space+-"]);
    headless((game, fidget)).verify(run.tape())?.assert_verified();
    Ok(())
}

#[test]
fn tape_with_devices_has_a_text_that_reads_back() -> Outcome {
    let mut rig = Rig::recording();
    let pad = rig.plug();
    rig.press(KeyCode::Space).press(KeyCode::Unidentified(bevy_input::keyboard::NativeKeyCode::Xkb(7)));
    rig.click(MouseButton::Other(9), ButtonState::Pressed).wheel(-1.0, MouseScrollUnit::Pixel);
    rig.ticks(1);
    rig.pad_button(pad, GamepadButton::Other(3), 1.0).pad_axis(pad, GamepadAxis::Other(3), 0.5);
    rig.ticks(2);
    let tape = rig.tape();
    let text = tape.to_text();
    for line in [
        r#"(held: ["Space", "Unidentified(Xkb(7))"], pressed: ["Space", "Unidentified(Xkb(7))"], released: [])"#,
        r#"(held: ["Other(9)"], pressed: ["Other(9)"], released: [])"#,
        "(x: 0.0, y: -1.0, in_pixels: true)",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let read = Tape::from_text(&text)?;
    assert_eq!(read, *tape);
    headless(game).verify(read)?.assert_verified();
    Ok(())
}
