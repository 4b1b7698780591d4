//! Each edge is seen by exactly one tick, however many ticks a frame has.

use super::*;

/// `+1` for each press of the space bar that a tick sees, `+100` for each release.
#[derive(Component, Canonical, Default)]
struct Counter(u32);

fn counting_game(app: &mut App) {
    app.add_plugins((game, |app: &mut App| {
        app.register_authoritative::<Counter>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Counter::default());
        });
        app.add_systems(FixedUpdate, |keys: Res<ButtonInput<KeyCode>>, mut counter: Single<&mut Counter>| {
            counter.0 += u32::from(keys.just_pressed(KeyCode::Space));
            counter.0 += 100 * u32::from(keys.just_released(KeyCode::Space));
        });
    }));
}

fn count(rig: &mut Rig) -> u32 {
    let world = rig.app.world_mut();
    world.query::<&Counter>().single(world).map_or(0, |counter| counter.0)
}

fn assert_counts(tape: &Arc<Tape>, count: u32) -> Outcome {
    for ticks in [1, 4] {
        let run = headless(counting_game).pacing(Pacing::TicksPerFrame(ticks)).verify(tape)?;
        run.assert_verified();
        assert_eq!(run.single::<Counter>()?.0, count);
    }
    Ok(())
}

/// bevyengine/bevy#6183.
#[test]
fn tap_between_two_ticks_is_seen_once() -> Outcome {
    let mut rig = Rig::of(counting_game);
    rig.app.world_mut().resource_mut::<Deck>().record();
    let frame = Duration::from_millis(5);
    assert!(rig.frame_of(frame).is_empty());
    rig.press(KeyCode::Space).release(KeyCode::Space);
    assert!(rig.frame_of(frame).is_empty());
    assert!(rig.frame_of(frame).is_empty());
    assert_eq!(rig.frame_of(frame), ["Space+- Shift+-"]);
    assert_eq!(count(&mut rig), 101);
    rig.ticks(3);
    assert_eq!(count(&mut rig), 101);
    let tape = rig.tape();
    assert_counts(&tape, 101)
}

/// bevyengine/bevy#6183.
#[test]
fn press_in_a_frame_of_two_ticks_is_new_in_the_first_only() -> Outcome {
    let mut rig = Rig::of(counting_game);
    rig.app.world_mut().resource_mut::<Deck>().record();
    rig.press(KeyCode::Space);
    assert_eq!(rig.frame_of(Duration::from_micros(31_250)), ["Space+= Shift+=", "Space= Shift="]);
    assert_eq!(count(&mut rig), 1);
    let tape = rig.tape();
    assert_counts(&tape, 1)
}

#[test]
fn edges_are_seen_once_at_no_one_two_and_three_ticks_per_frame() -> Outcome {
    let mut rig = Rig::recording();
    rig.press(KeyCode::KeyA);
    assert!(rig.frame(0).is_empty());
    assert!(rig.frame(0).is_empty());
    assert_eq!(rig.frame(1), ["KeyA+= Character(\"a\")+="]);
    assert_eq!(rig.frame(3), ["KeyA= Character(\"a\")="; 3]);
    rig.release(KeyCode::KeyA).press(KeyCode::KeyA);
    assert_eq!(rig.frame(2), ["KeyA+=- Character(\"a\")+=-", "KeyA= Character(\"a\")="]);
    rig.release(KeyCode::KeyA);
    assert!(rig.frame(0).is_empty());
    rig.press(KeyCode::KeyA);
    assert!(rig.frame(0).is_empty());
    rig.release(KeyCode::KeyA);
    assert_eq!(rig.frame(3), ["KeyA+- Character(\"a\")+-", "", ""]);
    rig.press(KeyCode::KeyA).release(KeyCode::KeyA).press(KeyCode::KeyA);
    assert_eq!(rig.frame(1), ["KeyA+=- Character(\"a\")+=-"]);
    let log = rig.app.world().resource::<Log>().0.clone();
    assert_replays(&rig.tape(), &log)
}

#[test]
fn update_and_preupdate_see_the_frames_own_state() {
    let mut rig = Rig::new();
    rig.press(KeyCode::KeyA);
    rig.frame(0);
    assert_eq!(rig.last_frame(), "KeyA+= Character(\"a\")+=");
    rig.frame(2);
    assert_eq!(rig.last_frame(), "KeyA= Character(\"a\")=");
    rig.mouse(1.0, 0.0);
    rig.frame(0);
    assert_eq!(rig.last_frame(), "KeyA= Character(\"a\")= moved 1 0");
    assert_eq!(rig.frame(1), ["KeyA= Character(\"a\")= moved 1 0"]);
    assert_eq!(rig.last_frame(), "KeyA= Character(\"a\")=");
}

#[test]
fn key_repeat_makes_no_second_press() {
    let mut rig = Rig::new();
    rig.press(KeyCode::KeyA);
    assert_eq!(rig.frame(1), ["KeyA+= Character(\"a\")+="]);
    for _ in 0..5 {
        rig.message(KeyboardInput { repeat: true, ..key_input(KeyCode::KeyA, ButtonState::Pressed) });
        assert_eq!(rig.frame(1), ["KeyA= Character(\"a\")="]);
    }
}

#[test]
fn chord_is_listed_in_one_order() -> Outcome {
    let mut rig = Rig::recording();
    let keys = [KeyCode::KeyW, KeyCode::KeyD, KeyCode::Space, KeyCode::ShiftLeft, KeyCode::Digit1];
    for key in keys {
        rig.press(key);
    }
    rig.ticks(2);
    for key in keys {
        rig.release(key);
    }
    rig.ticks(2);
    let tape = rig.tape();
    let track = tape.track("Keyboard").ok_or("no track")?;
    let held = r#"["Digit1", "KeyD", "KeyW", "ShiftLeft", "Space"]"#;
    assert_eq!(track.text_at(0), format!("Keyboard(held: {held}, pressed: {held}, released: [])"));
    assert_eq!(track.text_at(1), format!("Keyboard(held: {held}, pressed: [], released: [])"));
    assert_eq!(track.text_at(2), format!("Keyboard(held: [], pressed: [], released: {held})"));
    assert_eq!(track.text_at(3), "Keyboard(held: [], pressed: [], released: [])");
    assert_eq!(track.changes.len(), 4);
    Ok(())
}

#[test]
fn press_and_release_by_hand_count_in_the_next_tick() {
    let mut rig = Rig::of((game, |app: &mut App| {
        app.add_systems(Update, |mut keys: ResMut<ButtonInput<KeyCode>>, mut frame: Local<u32>| {
            *frame += 1;
            match *frame {
                3 => keys.press(KeyCode::Space),
                5 => keys.release(KeyCode::Space),
                7 => {
                    keys.press(KeyCode::Space);
                    keys.release(KeyCode::Space);
                }
                _ => {}
            }
        });
    }));
    // The app's first frame has no tick, so line n is that of frame n + 2.
    let log = rig.ticks(9);
    assert_eq!(log, ["", "", "Space+=", "Space=", "Space-", "", "Space+-", "", ""]);
}

#[test]
fn key_that_is_down_before_the_first_tick_without_an_edge_is_held() -> Outcome {
    let mut rig = Rig::of((game, |app: &mut App| {
        let mut keys = app.world_mut().resource_mut::<ButtonInput<KeyCode>>();
        keys.press(KeyCode::KeyW);
        keys.clear();
    }));
    rig.app.world_mut().resource_mut::<Deck>().record();
    let log = rig.ticks(2);
    assert_eq!(log, ["KeyW=", "KeyW="]);
    assert_replays(&rig.tape(), &log)
}

#[test]
fn what_a_tick_writes_into_its_view_ends_with_it() {
    let mut rig = Rig::of((game, |app: &mut App| {
        app.add_systems(FixedLast, |mut keys: ResMut<ButtonInput<KeyCode>>, tick: Res<SimTick>| {
            if tick.0 == 1 {
                keys.press(KeyCode::KeyX);
                keys.reset(KeyCode::KeyA);
            }
        });
    }));
    rig.press(KeyCode::KeyA);
    let log = rig.ticks(4);
    assert_eq!(log[1..], ["KeyA= Character(\"a\")="; 3]);
    assert_eq!(rig.last_frame(), "KeyA= Character(\"a\")=");
}

#[test]
fn motion_and_wheel_are_spent_once() -> Outcome {
    let mut rig = Rig::recording();
    rig.mouse(1.0, 2.0).mouse(0.5, 0.0);
    assert!(rig.frame(0).is_empty());
    rig.mouse(4.0, 0.0).wheel(2.0, MouseScrollUnit::Line);
    assert_eq!(rig.frame(3), ["moved 5.5 2 scrolled 0 2 Line", "", ""]);
    rig.wheel(1.0, MouseScrollUnit::Line);
    assert!(rig.frame(0).is_empty());
    rig.wheel(50.0, MouseScrollUnit::Pixel);
    assert!(rig.frame(0).is_empty());
    // One line is 100 pixels where the game says nothing else.
    assert_eq!(rig.frame(1), ["scrolled 0 150 Pixel"]);
    assert_eq!(rig.frame(1), [""]);
    let log = rig.app.world().resource::<Log>().0.clone();
    let tape = rig.tape();
    assert_eq!(tape.track("MouseMotion").ok_or("no track")?.text_at(0), "MouseMotion(x: 5.5, y: 2.0)");
    assert_replays(&tape, &log)
}

#[test]
fn change_detection_speaks_of_each_sides_own_value() {
    #[derive(Resource, Default)]
    struct Changed(Vec<&'static str>);
    let mut rig = Rig::of((game, |app: &mut App| {
        app.init_resource::<Changed>();
        let note = |what: &'static str| move |mut changed: ResMut<Changed>| changed.0.push(what);
        app.add_systems(FixedUpdate, note("tick").run_if(resource_changed::<ButtonInput<KeyCode>>));
        app.add_systems(Update, note("frame").run_if(resource_changed::<ButtonInput<KeyCode>>));
    }));
    let changed = |rig: &mut Rig, ticks| {
        rig.frame(ticks);
        core::mem::take(&mut rig.app.world_mut().resource_mut::<Changed>().0)
    };
    changed(&mut rig, 3);
    assert!(changed(&mut rig, 3).is_empty());
    rig.press(KeyCode::KeyA);
    assert_eq!(changed(&mut rig, 0), ["frame"]);
    assert!(changed(&mut rig, 0).is_empty());
    assert_eq!(changed(&mut rig, 3), ["tick"]);
    assert!(changed(&mut rig, 3).is_empty());
    rig.release(KeyCode::KeyA);
    assert_eq!(changed(&mut rig, 2), ["tick", "frame"]);
}

/// A frame pattern of real games: no tick in half of the frames, one in most of the others, now and then more.
#[test]
fn random_presses_at_a_real_frame_pattern_are_each_seen_once() -> Outcome {
    let keys = [KeyCode::KeyA, KeyCode::KeyD, KeyCode::KeyW, KeyCode::KeyS];
    let mut rig = Rig::recording();
    let mut random = crate::game::Rng(11);
    let mut is_down = [false; 4];
    // What the next tick must see of each key: went down, went up.
    let mut edges = [(false, false); 4];
    let mut log = Vec::new();
    for frame in 0..600_u32 {
        for (i, key) in keys.into_iter().enumerate() {
            // Up to three edges per key and frame.
            for _ in 0..random.draw() % 12 / 3 * (random.draw() % 3) / 2 {
                is_down[i] = !is_down[i];
                if is_down[i] {
                    edges[i].0 = true
                } else {
                    edges[i].1 = true
                }
                rig.key(key, if is_down[i] { ButtonState::Pressed } else { ButtonState::Released });
            }
        }
        let ticks = match frame {
            57 => 7,
            211 => 43,
            100 | 150 | 250 | 300 | 350 | 400 => 2,
            frame => frame % 2,
        };
        let seen = rig.frame(ticks);
        // Bevy lets a frame be no longer than a quarter of a second.
        assert_eq!(seen.len(), ticks.min(16) as usize);
        for line in seen {
            let mut expected = Vec::new();
            for (i, key) in keys.into_iter().enumerate() {
                let (pressed, released) = core::mem::take(&mut edges[i]);
                if is_down[i] || pressed || released {
                    let mark = |is: bool, mark: &'static str| if is { mark } else { "" };
                    let (pressed, held, released) = (mark(pressed, "+"), mark(is_down[i], "="), mark(released, "-"));
                    expected.push(format!("{key:?}{pressed}{held}{released}"));
                }
            }
            expected.sort();
            let physical: Vec<&str> = line.split(' ').filter(|part| part.starts_with("Key")).collect();
            assert_eq!(physical, expected, "frame {frame}");
            log.push(line);
        }
    }
    assert!(
        log.len() > 300 && log.iter().any(|line| line.contains("+=-")) && log.iter().any(|line| line.contains("+-"))
    );
    assert_replays(&rig.tape(), &log)
}
