//! Where things are shown: between the last two ticks. Frames write this, and no tick may read it.

use crate::game::{Creature, Egg, Nectar, Position, Velocity};
use bevy::prelude::*;
use bevy::transform::components::TransformTreeChanged;
use bevy_replay::prelude::*;

/// Where an entity was after the last two ticks.
#[derive(Component, Default)]
pub struct Seen {
    before: Vec2,
    now: Vec2,
}

pub struct PlacesPlugin;

impl Plugin for PlacesPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<TransformPlugin>() {
            app.add_plugins(TransformPlugin);
        }
        app.presentation::<Seen>().presentation::<Transform>().presentation::<GlobalTransform>();
        app.presentation::<TransformTreeChanged>();
        app.add_observer(place);
        app.add_systems(FixedPostUpdate, remember);
        app.add_systems(Update, interpolate);
    }
}

/// How near something is to the eye: what flies is above what lies.
fn height(creature: Option<&Creature>) -> f32 {
    creature.map_or(1.0, |creature| 2.0 + f32::from(creature.kind as u8))
}

fn place(added: On<Add<Position>>, bodies: Query<(&Position, Option<&Creature>)>, mut commands: Commands) {
    if let Ok((position, creature)) = bodies.get(added.entity) {
        let now = position.get();
        let transform = Transform::from_translation(now.extend(height(creature)));
        commands.entity(added.entity).insert((Seen { before: now, now }, transform));
    }
}

/// After each tick: what was now is before.
fn remember(mut bodies: Query<(&Position, &mut Seen)>) {
    for (position, mut seen) in &mut bodies {
        let now = position.get();
        *seen = Seen { before: seen.now, now };
    }
}

type Moving<'w, 's> = Query<
    'w,
    's,
    (&'static Seen, Option<&'static Velocity>, &'static mut Transform),
    Or<(With<Creature>, With<Nectar>, With<Egg>)>,
>;

fn interpolate(time: Res<Time<Fixed>>, mut bodies: Moving) {
    for (seen, velocity, mut transform) in &mut bodies {
        let at = seen.before.lerp(seen.now, time.overstep_fraction());
        transform.translation = at.extend(transform.translation.z);
        if let Some(velocity) = velocity.filter(|velocity| velocity.get() != Vec2::ZERO) {
            transform.rotation = Quat::from_rotation_z(velocity.get().to_angle());
        }
    }
}
