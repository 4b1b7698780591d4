//! Gamepads have slots.

use super::*;
use bevy_ecs::entity_disabling::Disabled;

fn slots(rig: &mut Rig) -> Vec<(u8, Entity)> {
    let world = rig.app.world_mut();
    let mut slots: Vec<(u8, Entity)> =
        world.query::<(&PadSlot, Entity)>().iter(world).map(|(slot, pad)| (slot.0, pad)).collect();
    slots.sort();
    slots
}

#[test]
fn pads_take_the_lowest_free_slot_in_the_order_of_connection() {
    let mut rig = Rig::new();
    // Entities in another order than connections.
    let [a, b, c] = [(); 3].map(|()| rig.app.world_mut().spawn_empty().id());
    for pad in [c, a, b] {
        rig.replug(pad);
    }
    rig.frame(1);
    assert_eq!(slots(&mut rig), [(0, c), (1, a), (2, b)]);
    rig.unplug(a);
    rig.frame(1);
    assert_eq!(slots(&mut rig), [(0, c), (2, b)]);
    let d = rig.plug();
    rig.replug(a);
    rig.frame(0);
    assert_eq!(slots(&mut rig), [(0, c), (1, d), (2, b), (3, a)]);
    rig.app.world_mut().despawn(c);
    let e = rig.plug();
    rig.frame(0);
    assert_eq!(slots(&mut rig), [(0, e), (1, d), (2, b), (3, a)]);
}

#[test]
fn edges_and_sticks_of_a_pad_are_exact() -> Outcome {
    let mut rig = Rig::recording();
    let pad = rig.plug();
    assert!(rig.frame(0).is_empty());
    rig.pad_button(pad, GamepadButton::South, 1.0).pad_button(pad, GamepadButton::South, 0.0);
    assert!(rig.frame(0).is_empty());
    rig.pad_axis(pad, GamepadAxis::LeftStickX, 0.5);
    assert_eq!(rig.frame(2), ["pad0 South+- 0.5 0", "pad0 0.5 0"]);
    rig.pad_button(pad, GamepadButton::East, 1.0).pad_axis(pad, GamepadAxis::LeftStickX, -0.25);
    assert_eq!(rig.frame(3), ["pad0 East+= -0.25 0", "pad0 East= -0.25 0", "pad0 East= -0.25 0"]);
    assert_eq!(rig.last_frame(), "pad0 East+= -0.25 0");
    rig.pad_button(pad, GamepadButton::East, 0.0).pad_axis(pad, GamepadAxis::LeftStickX, 0.0);
    assert_eq!(rig.frame(1), ["pad0 East- 0 0"]);
    let log = rig.app.world().resource::<Log>().0.clone();
    let tape = rig.tape();
    assert_eq!(
        tape.track("Gamepads").ok_or("no track")?.text_at(2),
        r#"Gamepads(connected: [(slot: 0, buttons: (held: ["East"], pressed: ["East"], released: []), axes: [("LeftStickX", -0.25)], strengths: [("East", 1.0)])])"#
    );
    assert_replays(&tape, &log)
}

/// Two players; one pad is unplugged with a button down and replaced by another.
fn two_players() -> (Arc<Tape>, Vec<String>) {
    let mut rig = Rig::recording();
    let (a, b) = (rig.plug(), rig.plug());
    rig.ticks(2);
    rig.pad_button(a, GamepadButton::South, 1.0).pad_axis(a, GamepadAxis::LeftStickX, 1.0);
    rig.pad_button(b, GamepadButton::North, 1.0);
    rig.ticks(2);
    rig.unplug(a);
    rig.ticks(2);
    let c = rig.plug();
    rig.ticks(1);
    rig.pad_button(c, GamepadButton::West, 1.0).pad_button(b, GamepadButton::North, 0.0);
    rig.ticks(2);
    // Unplugged and replaced between two ticks, with a button down.
    rig.unplug(c);
    rig.plug();
    rig.ticks(2);
    let log = rig.app.world().resource::<Log>().0.clone();
    (rig.tape(), log)
}

#[test]
fn pad_that_is_unplugged_and_replaced_keeps_its_player() -> Outcome {
    let (tape, log) = two_players();
    let expected = [
        "pad0 0 0 pad1 0 0",
        "pad0 0 0 pad1 0 0",
        "pad0 South+= 1 0 pad1 North+= 0 0",
        "pad0 South= 1 0 pad1 North= 0 0",
        "pad1 North= 0 0",
        "pad1 North= 0 0",
        "pad0 0 0 pad1 North= 0 0",
        "pad0 West+= 0 0 pad1 North- 0 0",
        "pad0 West= 0 0 pad1 0 0",
        "pad0 West- 0 0 pad1 0 0",
        "pad0 0 0 pad1 0 0",
    ];
    assert_eq!(log, expected);
    assert_replays(&tape, &log)
}

#[test]
fn pads_of_a_tape_are_shown_by_the_live_pads_in_their_slots() -> Outcome {
    let (tape, log) = two_players();
    let mut rig = Rig::playing(&tape);
    rig.app.world_mut().spawn_empty();
    let pads = [rig.plug(), rig.plug(), rig.plug()];
    rig.frame(0);
    for (tick, expected) in log.iter().enumerate() {
        for pad in pads {
            rig.pad_button(pad, GamepadButton::Start, if tick % 2 == 0 { 1.0 } else { 0.0 });
        }
        assert_eq!(rig.ticks(1), [expected.as_str()]);
        assert_eq!(slots(&mut rig), [(0, pads[0]), (1, pads[1]), (2, pads[2])], "no others, and none disabled");
    }
    let report = rig.app.world().resource::<Deck>().report().ok_or("no report")?;
    assert!(report.is_verified(), "{report}");
    // `Start` is down on all of them, and is seen when it is pressed anew.
    assert_eq!(rig.ticks(1), ["pad0 0 0 pad1 0 0 pad2 0 0"]);
    rig.pad_button(pads[1], GamepadButton::Start, 0.0);
    rig.frame(0);
    rig.pad_button(pads[1], GamepadButton::Start, 1.0);
    assert_eq!(rig.ticks(1), ["pad0 0 0 pad1 Start+= 0 0 pad2 0 0"]);
    Ok(())
}

#[test]
fn pad_that_is_plugged_in_during_a_replay_takes_over_from_its_stand_in() -> Outcome {
    let (tape, log) = two_players();
    let mut rig = Rig::playing(&tape);
    assert_eq!(rig.ticks(3), log[..3]);
    assert_eq!(slots(&mut rig).iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [0, 1]);
    let pad = rig.plug();
    assert_eq!(rig.ticks(1), log[3..4]);
    assert_eq!(slots(&mut rig)[0], (0, pad));
    assert_eq!(slots(&mut rig).len(), 2);
    rig.unplug(pad);
    assert_eq!(rig.ticks(3), log[4..7]);
    rig.replug(pad);
    assert_eq!(rig.ticks(4), log[7..]);
    let report = rig.app.world().resource::<Deck>().report().ok_or("no report")?;
    assert!(report.is_verified(), "{report}");
    Ok(())
}

#[test]
fn stand_in_lets_go_of_its_buttons_and_is_gone() {
    let mut rig = Rig::recording();
    let pad = rig.plug();
    rig.ticks(1);
    rig.pad_button(pad, GamepadButton::South, 1.0).pad_axis(pad, GamepadAxis::LeftStickX, 1.0);
    rig.ticks(2);
    let held = rig.tape();
    let mut rig = Rig::playing(&held);
    assert_eq!(rig.ticks(3), ["pad0 0 0", "pad0 South+= 1 0", "pad0 South= 1 0"]);
    assert_eq!(rig.last_frame(), "pad0 0 0", "outside ticks a stand-in is at rest");
    assert_eq!(rig.ticks(3), ["pad0 South- 0 0", "", ""]);
    assert!(slots(&mut rig).is_empty());

    let mut rig = Rig::recording();
    rig.plug();
    rig.ticks(2);
    let idle = rig.tape();
    let mut rig = Rig::playing(&idle);
    assert_eq!(rig.ticks(2), ["pad0 0 0"; 2]);
    assert!(slots(&mut rig).is_empty());
    assert_eq!(rig.ticks(1), [""]);
}

#[test]
fn pad_of_which_the_tape_knows_nothing_is_not_there_inside_ticks() {
    let mut rig = Rig::recording();
    rig.ticks(3);
    let tape = rig.tape();
    let mut rig = Rig::playing(&tape);
    let (pad, disabled) = (rig.plug(), rig.plug());
    rig.frame(0);
    rig.app.world_mut().entity_mut(disabled).insert(Disabled);
    rig.pad_button(pad, GamepadButton::South, 1.0).pad_axis(pad, GamepadAxis::LeftStickX, 1.0);
    assert_eq!(rig.ticks(3), [""; 3]);
    assert_eq!(rig.last_frame(), "pad0 South= 1 0");
    assert!(rig.app.world().entity(disabled).contains::<Disabled>(), "who was disabled stays so");
    assert_eq!(rig.ticks(2), ["pad0 1 0"; 2]);
    // A release between ticks of the replay was not lost.
    rig.pad_button(pad, GamepadButton::South, 0.0);
    rig.frame(0);
    rig.pad_button(pad, GamepadButton::South, 1.0);
    assert_eq!(rig.ticks(1), ["pad0 South+= 1 0"]);
}

#[test]
fn pad_that_was_there_before_the_plugin_has_a_slot() {
    let mut rig = Rig::of((|app: &mut App| _ = app.world_mut().spawn(Gamepad::default()), game));
    assert_eq!(rig.ticks(1), ["pad0 0 0"]);
}

#[test]
fn pad_that_is_replaced_within_a_frame_leaves_no_edge_to_its_successor() {
    let mut rig = Rig::new();
    let pad = rig.plug();
    rig.frame(1);
    rig.pad_button(pad, GamepadButton::South, 1.0);
    assert_eq!(rig.frame(1), ["pad0 South+= 0 0"]);
    rig.app.world_mut().despawn(pad);
    let pad = rig.plug();
    // The last pad's press is in its frame still; this one's tap is another.
    rig.frame(0);
    rig.pad_button(pad, GamepadButton::South, 1.0).pad_button(pad, GamepadButton::South, 0.0);
    assert_eq!(rig.frame(2), ["pad0 South+- 0 0", "pad0 0 0"]);
}

#[test]
fn two_pads_in_one_slot_are_refused() -> Outcome {
    let mut rig = Rig::recording();
    rig.ticks(2);
    let mut tape = Tape::clone(&rig.tape());
    let track = tape.tracks.iter_mut().find(|track| track.name == "Gamepads").ok_or("no track")?;
    let pad = "(slot: 1, buttons: (held: [], pressed: [], released: []), axes: [], strengths: [])";
    let twice = format!("(connected: [{pad}, {pad}])");
    assert!(track.changes.record(1, &bevy_replay::tape::encode_text(&track.schema, &twice)?));
    let error = crate::game::error_of(headless(game).verify(tape)).to_string();
    assert!(error.contains("two pads in slot 1"), "{error}");
    Ok(())
}
