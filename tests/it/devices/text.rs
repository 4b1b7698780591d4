//! While the player types text, keys are nobody's business.

use super::*;

const MARK: &str = "keyboard not recorded: text field";

fn focus(rig: &mut Rig, is_typing: bool) {
    rig.app.insert_resource(TextFocus(is_typing));
}

#[test]
fn typed_keys_reach_no_tick_and_no_tape() -> Outcome {
    let mut rig = Rig::recording();
    rig.press(KeyCode::KeyD);
    rig.ticks(2);
    focus(&mut rig, true);
    for key in [KeyCode::KeyH, KeyCode::KeyI] {
        rig.press(key);
        rig.frame(0);
        rig.frame(1);
        rig.release(key);
        rig.frame(1);
    }
    rig.press(KeyCode::KeyX).release(KeyCode::KeyX);
    rig.frame(1);
    // Still down when the player is done.
    rig.press(KeyCode::Enter);
    rig.frame(1);
    focus(&mut rig, false);
    rig.ticks(3);
    rig.release(KeyCode::Enter).release(KeyCode::KeyD);
    rig.ticks(1);
    rig.press(KeyCode::KeyD);
    rig.ticks(2);

    let log = rig.app.world().resource::<Log>().0.clone();
    let mut expected = vec!["KeyD+= Character(\"d\")+=", "KeyD= Character(\"d\")=", "KeyD- Character(\"d\")-"];
    expected.extend([""; 9]);
    expected.extend(["KeyD+= Character(\"d\")+=", "KeyD= Character(\"d\")="]);
    assert_eq!(log, expected);
    let tape = rig.tape();
    let marks: Vec<(u64, &str)> = tape.marks.iter().map(|mark| (mark.tick, mark.text.as_str())).collect();
    assert_eq!(marks, [(2, MARK)]);
    let text = tape.to_text();
    assert!(["KeyH", "KeyI", "KeyX", "Enter", "\"h\"", "\"i\""].iter().all(|key| !text.contains(key)), "{text}");
    assert_replays(&tape, &log)
}

#[test]
fn text_typed_between_two_ticks_is_a_gap_too() {
    let mut rig = Rig::recording();
    rig.press(KeyCode::KeyD);
    rig.ticks(1);
    focus(&mut rig, true);
    rig.press(KeyCode::KeyH);
    rig.frame(0);
    focus(&mut rig, false);
    rig.frame(0);
    assert_eq!(rig.ticks(2), ["KeyD- Character(\"d\")-", ""]);
    let tape = rig.tape();
    assert_eq!(tape.marks.iter().map(|mark| mark.tick).collect::<Vec<_>>(), [1]);
}

#[test]
fn key_that_ends_the_text_is_not_seen() {
    let mut rig = Rig::of((game, |app: &mut App| {
        app.insert_resource(TextFocus(true));
        app.add_systems(Update, |keys: Res<ButtonInput<KeyCode>>, mut focus: ResMut<TextFocus>| {
            if keys.just_pressed(KeyCode::Enter) {
                focus.0 = false;
            }
        });
    }));
    rig.ticks(1);
    rig.press(KeyCode::Enter);
    assert_eq!(rig.ticks(3), [""; 3]);
    rig.release(KeyCode::Enter).press(KeyCode::Enter);
    assert_eq!(rig.ticks(1), ["Enter+= Shift+="]);
}

#[test]
fn mouse_and_pads_are_recorded_while_text_is_typed() {
    let mut rig = Rig::recording();
    focus(&mut rig, true);
    rig.click(MouseButton::Left, ButtonState::Pressed).mouse(1.0, 0.0);
    assert_eq!(rig.frame(1), ["Left+= moved 1 0"]);
}

#[test]
fn recording_that_begins_in_a_text_field_is_marked_and_a_replay_is_not_disturbed_by_one() -> Outcome {
    let mut rig = Rig::recording();
    focus(&mut rig, true);
    rig.press(KeyCode::KeyH);
    rig.ticks(2);
    focus(&mut rig, false);
    rig.ticks(1);
    rig.press(KeyCode::KeyD);
    rig.ticks(2);
    let log = rig.app.world().resource::<Log>().0.clone();
    let tape = rig.tape();
    assert_eq!(tape.marks.iter().map(|mark| mark.tick).collect::<Vec<_>>(), [0]);
    let typing = |app: &mut App| {
        app.insert_resource(TextFocus(true));
    };
    headless((game, fidget, typing)).verify(&tape)?.assert_verified();
    assert_replays(&tape, &log)
}
