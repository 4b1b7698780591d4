//! Layer one: integers, fixed-point numbers, random streams and synthetic input, without a game around them.

use crate::Outcome;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::fixed::{Fx, FxVec2, sqrt};
use bevy_replay::prelude::*;
use bevy_replay::testing::ReplayTest;

/// The input of helio: accelerations and a spawn.
#[derive(Resource, Default, Clone, TickInput)]
struct Frame {
    accel_x: i8,
    accel_y: i8,
    #[once]
    spawn: bool,
}

/// In thousandths, as helio has it.
#[derive(Component, Canonical)]
struct Body {
    place: [i32; 2],
    velocity: [i32; 2],
}

/// A needle that turns with fixed-point sines.
#[derive(Component, Canonical)]
struct Needle {
    tip: FxVec2,
    root: Fx,
}

#[derive(StreamLabel)]
struct Spawns;

#[derive(StreamLabel)]
struct Winds;

fn core(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("core").rules(1))
        .record_input::<Frame>()
        .register_authoritative::<(Body, Needle)>()
        .register_stream::<Spawns>()
        .register_stream::<Winds>()
        .add_systems(FixedUpdate, (accelerate, drift, spawn, turn).chain());
}

fn accelerate(frame: Res<Frame>, mut bodies: Query<&mut Body>) {
    let next = |v: i32, accel: i8| (v + i32::from(accel) * 120 - v.signum() * 24).clamp(-4000, 4000);
    for mut body in &mut bodies {
        body.velocity = [next(body.velocity[0], frame.accel_x), next(body.velocity[1], frame.accel_y)];
    }
}

fn drift(mut bodies: Query<&mut Body>) {
    for mut body in &mut bodies {
        body.place = [0, 1].map(|axis| body.place[axis].wrapping_add(body.velocity[axis]));
    }
}

fn spawn(frame: Res<Frame>, bodies: Query<&Body>, mut rng: Stream<Spawns>, mut commands: Commands) {
    if frame.spawn && bodies.iter().len() < 64 {
        let velocity = [rng.random_range(-4000..=4000), rng.random_range(-4000..=4000)];
        commands.spawn((Body { place: [0, 0], velocity }, Needle { tip: FxVec2::X, root: Fx::ONE }));
    }
}

fn turn(mut needles: Query<(&SimId, &mut Needle)>, mut wind: Stream<Winds>) {
    for (id, mut needle) in needles.iter_mut().sort::<&SimId>() {
        let gust = Fx::from_bits(wind.of(*id).random_range(-(1_i64 << 29)..1 << 29));
        needle.tip = needle.tip.rotate(gust);
        needle.root = sqrt(needle.root.saturating_add(needle.tip.dot(FxVec2::Y).abs())).unwrap_or_default();
    }
}

#[test]
fn core_layer() -> Outcome {
    let axis = |rng: &mut bevy_replay::testing::InputRng| rng.random_range(-1..=1);
    let checked = ReplayTest::new("core/synthetic", core)
        .ticks(3600)
        .every(60)
        .snapshot_first(0)
        .seed(12_345)
        .synthetic(move |rng| Frame { accel_x: axis(rng), accel_y: axis(rng), spawn: rng.random_bool(0.1) })
        .cross_platform(true)
        .check()?;
    assert_eq!((checked.ticks, checked.snapshots), (3600, 61));
    Ok(())
}
