//! Keys switch faults and play the tape; the mouse holds the lantern while no tape is played.

use crate::faults::{Faults, PLANTED};
use crate::game::{GARDEN, Lantern};
use bevy::input::InputSystems;
use bevy::prelude::*;
use bevy_egui::input::EguiWantsInput;
use bevy_replay::prelude::*;
use bevy_replay::{InspectorCommand, PlayOptions, Tape};
use std::sync::Arc;

/// Adds the controls, and plays the tape.
pub struct ControlsPlugin {
    pub tape: Arc<Tape>,
}

/// The tape of the clean game.
#[derive(Resource)]
struct Clean(Arc<Tape>);

const KEYS: [KeyCode; PLANTED.len()] = [
    KeyCode::Digit1,
    KeyCode::Digit2,
    KeyCode::Digit3,
    KeyCode::Digit4,
    KeyCode::Digit5,
    KeyCode::Digit6,
    KeyCode::Digit7,
];

impl Plugin for ControlsPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(Clean(self.tape.clone()));
        app.add_systems(Startup, |tape: Res<Clean>, mut deck: ResMut<Deck>| play(&tape, &mut deck));
        app.add_systems(PreUpdate, (press_keys, hold_lantern.run_if(bevy_replay::is_live)).after(InputSystems));
        app.add_observer(stop_at_divergence);
    }
}

fn play(tape: &Clean, deck: &mut Deck) {
    deck.play(tape.0.clone(), PlayOptions::verify().held());
    deck.resume();
}

fn press_keys(
    keys: Res<ButtonInput<KeyCode>>,
    typing: Res<EguiWantsInput>,
    tape: Res<Clean>,
    mut faults: ResMut<Faults>,
    mut deck: ResMut<Deck>,
) {
    if typing.wants_any_keyboard_input() {
        return;
    }
    let switched: Vec<_> =
        PLANTED.iter().zip(KEYS).filter(|(_, key)| keys.just_pressed(*key)).map(|(planted, _)| planted.fault).collect();
    for fault in &switched {
        faults.switch(*fault);
    }
    if !switched.is_empty() || keys.just_pressed(KeyCode::KeyR) {
        play(&tape, &mut deck);
    }
}

fn hold_lantern(
    window: Option<Single<&Window>>,
    camera: Option<Single<(&Camera, &GlobalTransform)>>,
    buttons: Res<ButtonInput<MouseButton>>,
    pointing: Res<EguiWantsInput>,
    mut lantern: ResMut<Lantern>,
) {
    let (Some(window), Some(camera)) = (window, camera) else { return };
    let (camera, place) = *camera;
    let cursor = window.cursor_position().filter(|_| !pointing.wants_any_pointer_input());
    if let Some(at) = cursor.and_then(|cursor| camera.viewport_to_world_2d(place, cursor).ok()) {
        let at = at.clamp(-GARDEN, GARDEN);
        let clap = lantern.clap || buttons.just_pressed(MouseButton::Left);
        lantern.set_if_neq(Lantern { x: at.x as i16, y: at.y as i16, clap });
    }
}

/// The first difference is what one wants to look at: the inspector goes there and selects it.
fn stop_at_divergence(found: On<Diverged>, mut commands: MessageWriter<InspectorCommand>) {
    commands.write(InspectorCommand::GoToDivergence);
    let rows = found.report.divergence.as_ref().and_then(|divergence| divergence.differences.as_ref());
    if let Some(first) = rows.and_then(|rows| rows.first()) {
        let field = Some((first.type_name.clone(), first.path.clone()));
        commands.write(InspectorCommand::Select { sim_id: first.sim_id, field });
    }
}
