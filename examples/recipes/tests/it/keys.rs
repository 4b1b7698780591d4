//! Keys pressed at a frame of the app, as a window would send them, and what the library found.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_input::ButtonState::{self, Pressed, Released};
use bevy_input::keyboard::{Key, KeyCode, KeyboardInput, NativeKey};
use bevy_replay::{Finding, Pacing, Run, coverage};
use std::time::Duration;

pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Frame, key, and whether it goes down.
pub type Script = &'static [(u32, KeyCode, ButtonState)];

/// What the library found in a run.
#[derive(Resource, Default)]
pub struct Found(pub Vec<String>);

/// Adds a player to a game who presses these keys.
pub fn played(game: fn(&mut App), script: Script) -> impl Fn(&mut App) + Send + Sync + Clone + 'static {
    move |app: &mut App| {
        game(app);
        app.init_resource::<Found>();
        app.add_observer(|finding: On<Finding>, mut found: ResMut<Found>| found.0.push(finding.to_string()));
        app.add_systems(First, move |mut frame: Local<u32>, mut keys: MessageWriter<KeyboardInput>| {
            keys.write_batch(script.iter().filter(|row| row.0 == *frame).map(|row| event(row.1, row.2)));
            *frame += 1;
        });
    }
}

fn event(key_code: KeyCode, state: ButtonState) -> KeyboardInput {
    let logical_key = Key::Unidentified(NativeKey::Unidentified);
    KeyboardInput { key_code, logical_key, state, text: None, repeat: false, window: Entity::PLACEHOLDER }
}

/// Frames of 5 ms, so that two of three have no tick.
pub fn short_frames() -> Pacing {
    Pacing::Frames(vec![Duration::from_millis(5)])
}

/// Frames of which some have no tick, and some have several.
pub fn uneven_frames() -> Pacing {
    Pacing::Frames([4, 4, 4, 9, 40, 90].map(Duration::from_millis).into())
}

/// Somebody who leans on the keyboard while a tape is played.
pub const MASHED: Script = &[
    (1, KeyCode::KeyD, Pressed),
    (2, KeyCode::Space, Pressed),
    (2, KeyCode::KeyW, Pressed),
    (3, KeyCode::KeyA, Pressed),
    (4, KeyCode::Space, Released),
    (5, KeyCode::Space, Pressed),
    (5, KeyCode::KeyC, Pressed),
    (6, KeyCode::KeyW, Released),
    (7, KeyCode::KeyW, Pressed),
    (9, KeyCode::ArrowRight, Pressed),
];

/// Nothing is found, and each component of a simulated entity has a role.
pub fn is_clean(run: &mut Run) -> Outcome {
    assert_eq!(run.resource::<Found>()?.0, [""; 0]);
    let open = coverage(run.world_mut());
    assert_eq!(open.unregistered, [""; 0], "{open}");
    Ok(())
}
