//! What makes `ecs/iter_combinations` replayable: it is a child of the example's module, so it may name its types.

use super::{Acceleration, LastPos, Mass, Star, game};
use crate::stand_ins::headless_plugins;
use bevy::prelude::*;
use bevy_replay::prelude::*;

pub fn replayable(app: &mut App) {
    app.add_plugins((headless_plugins, ReplayPlugin::new("iter_combinations"), RawInputPlugin::default(), game));
    app.register_authoritative::<(Mass, Acceleration, LastPos, Star)>().register_authoritative_reflect::<Transform>();
}
