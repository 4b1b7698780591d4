//! What the examples name of renderer and sound, as types without a meaning: neither can change the game.

#![allow(dead_code, reason = "nobody draws or plays them")]

use bevy::prelude::*;

#[derive(Component)]
pub struct MeshMaterial2d<M: Asset>(pub Handle<M>);

#[derive(Component)]
pub struct MeshMaterial3d<M: Asset>(pub Handle<M>);

impl<M: Asset> Default for MeshMaterial3d<M> {
    fn default() -> Self {
        Self(Handle::default())
    }
}

#[derive(Asset, TypePath)]
pub struct ColorMaterial;

impl From<Color> for ColorMaterial {
    fn from(_: Color) -> Self {
        Self
    }
}

#[derive(Asset, TypePath, Default)]
pub struct StandardMaterial {
    pub base_color: Color,
    pub emissive: LinearRgba,
}

impl From<Color> for StandardMaterial {
    fn from(base_color: Color) -> Self {
        Self { base_color, ..Self::default() }
    }
}

#[derive(Asset, TypePath)]
pub struct AudioSource;

#[derive(Component)]
pub struct AudioPlayer(pub Handle<AudioSource>);

#[derive(Component)]
pub struct PlaybackSettings;

impl PlaybackSettings {
    pub const DESPAWN: Self = Self;
}

/// `DefaultPlugins`, as far as the examples need them without a window. `Headless` has brought time and task pools.
pub fn headless_plugins(app: &mut App) {
    app.add_plugins((TransformPlugin, bevy::input::InputPlugin, AssetPlugin::default()));
    app.init_asset::<Mesh>().init_asset::<Font>().init_asset::<AudioSource>();
    app.init_resource::<bevy::text::TextIterScratch>();
    app.init_asset::<ColorMaterial>().init_asset::<StandardMaterial>();
}
