//! avian: a pile of boxes, pushed by recorded input.

use avian2d::collider_tree::ColliderTreeProxyKey;
use avian2d::collision::collider::EnlargedAabb;
use avian2d::dynamics::integrator::VelocityIntegrationData;
use avian2d::dynamics::rigid_body::forces::AccumulatedLocalAcceleration;
use avian2d::dynamics::solver::islands::BodyIslandNode;
use avian2d::dynamics::solver::solver_body::SolverBodyIndex;
use avian2d::physics_transform::{PreSolveDeltaPosition, PreSolveDeltaRotation};
use avian2d::prelude::*;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};

#[derive(Resource, TickInput, Default, Clone)]
pub struct Push {
    pub x: i8,
}

/// Brings a sim id, which avian's own components must not do.
#[derive(Component, Canonical)]
pub struct Crate;

pub fn game(app: &mut App) {
    app.add_plugins((ReplayPlugin::new("avian"), PhysicsPlugins::default()));
    app.record_input::<Push>().register_authoritative::<Crate>();
    app.register_authoritative_reflect::<Position>()
        .register_authoritative_reflect::<Rotation>()
        .register_authoritative_reflect::<LinearVelocity>()
        .register_authoritative_reflect::<AngularVelocity>()
        .register_authoritative_reflect::<Sleeping>()
        .register_authoritative_reflect::<SleepTimer>();
    kept_by_avian(app);
    app.add_systems(Startup, stack).add_systems(FixedUpdate, push);
}

/// What avian derives, or keeps for itself: it follows from the start and what is registered, and no image can hold it.
fn kept_by_avian(app: &mut App) {
    app.observation::<(Transform, GlobalTransform, TransformTreeChanged)>();
    app.observation::<(RigidBody, Collider, ColliderMarker, CollisionLayers, ColliderDensity, SleepThreshold)>();
    app.observation::<(ColliderOf, RigidBodyColliders, ColliderTransform, ColliderMassProperties, BodySizeMetrics)>();
    app.observation::<(ComputedMass, ComputedAngularInertia, ComputedCenterOfMass, AccumulatedLocalAcceleration)>();
    app.observation::<(ColliderAabb, EnlargedAabb, ColliderAabbMargin, ColliderTreeProxyKey)>();
    app.observation::<(PreSolveDeltaPosition, PreSolveDeltaRotation, VelocityIntegrationData)>();
    app.observation::<(SolverBodyIndex, BodyIslandNode)>();
}

fn stack(mut commands: Commands) {
    commands.spawn((RigidBody::Static, Collider::rectangle(40.0, 2.0), Position::from_xy(0.0, -1.0)));
    for i in 0..40_u8 {
        let (row, column) = (f32::from(i / 5), f32::from(i % 5));
        let at = Position::from_xy(1.05 * column + 0.2 * row - 3.0, 0.6 + 1.1 * row);
        commands.spawn((Crate, RigidBody::Dynamic, Collider::rectangle(1.0, 1.0), at));
    }
}

fn push(push: Res<Push>, mut crates: Query<&mut LinearVelocity, With<Crate>>) {
    if push.x != 0 {
        for mut velocity in &mut crates {
            velocity.x += 0.25 * f32::from(push.x);
        }
    }
}
