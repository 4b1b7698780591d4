//! What makes `showcase/breakout` replayable: it is a child of the example's module, so it may name its types.

use super::{Ball, Brick, Collider, Paddle, Score, Velocity, Wall, game};
use crate::stand_ins::headless_plugins;
use bevy::prelude::*;
use bevy_replay::devices::Keyboard;
use bevy_replay::prelude::*;

pub fn replayable(app: &mut App) {
    app.add_plugins((headless_plugins, ReplayPlugin::new("breakout"), RawInputPlugin::default(), game));
    app.register_authoritative::<(Ball, Brick, Collider, Paddle, Velocity, Wall)>()
        .register_authoritative_reflect::<Transform>()
        .register_authoritative_resource::<Score>();
}

/// The paddle goes to and fro.
pub fn keys(ticks: u64) -> impl Iterator<Item = Keyboard> {
    (0..ticks).map(|tick| {
        Keyboard::holding([match tick % 160 {
            0..80 => KeyCode::ArrowRight,
            _ => KeyCode::ArrowLeft,
        }])
    })
}
