//! Keyboard and gamepads become the game's controls, between ticks.

use crate::game::Controls;
use bevy::input::InputSystems;
use bevy::prelude::*;

/// How far a stick must be pushed.
const STICK: f32 = 0.4;

pub struct ControlsPlugin;

impl Plugin for ControlsPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(PreUpdate, gather.after(InputSystems));
    }
}

/// Any device may steer. A jump stays wanted until a tick has seen it.
pub fn gather(
    keys: Option<Res<ButtonInput<KeyCode>>>,
    pads: Query<&Gamepad>,
    typing: Option<Res<bevy_egui::input::EguiWantsInput>>,
    mut controls: ResMut<Controls>,
) {
    let typing = typing.is_some_and(|wants| wants.wants_any_keyboard_input());
    let keys = keys.as_deref().filter(|_| !typing);
    let held = |wanted: &[KeyCode]| keys.is_some_and(|keys| keys.any_pressed(wanted.iter().copied()));
    let tapped = |wanted: &[KeyCode]| keys.is_some_and(|keys| keys.any_just_pressed(wanted.iter().copied()));
    let stick = |pad: &Gamepad| pad.get(GamepadAxis::LeftStickX).unwrap_or_default();

    let left = held(&[KeyCode::ArrowLeft, KeyCode::KeyA])
        || pads.iter().any(|pad| pad.pressed(GamepadButton::DPadLeft) || stick(pad) < -STICK);
    let right = held(&[KeyCode::ArrowRight, KeyCode::KeyD])
        || pads.iter().any(|pad| pad.pressed(GamepadButton::DPadRight) || stick(pad) > STICK);
    let jump = tapped(&[KeyCode::Space, KeyCode::ArrowUp, KeyCode::KeyW])
        || pads.iter().any(|pad| pad.just_pressed(GamepadButton::South));
    let wanted = Controls { left, right, jump: controls.jump || jump };
    controls.set_if_neq(wanted);
}
