//! The game: twenty creatures in an arena. It has no fault.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;

/// How many ticks are played.
const TICKS: u64 = 64;

/// The tick in which lightning strikes. Most faults show then.
pub(super) const STRIKE: u64 = 22;

/// What a tick reads.
#[derive(Resource, Default, Clone, TickInput)]
pub(super) struct Orders {
    x: i8,
    y: i8,
    #[once]
    pub(super) strike: bool,
}

/// The player's orders, tick by tick.
pub(super) fn script() -> impl Iterator<Item = Orders> {
    let axis = |phase: u64| if phase < 6 { 1 } else { -i8::from(phase < 12) };
    (0..TICKS).map(move |tick| Orders { x: axis(tick % 17), y: axis(tick % 23), strike: tick == STRIKE })
}

#[derive(Component, Canonical)]
pub(super) struct Creature;

#[derive(Component, Canonical)]
pub(super) struct Position {
    pub(super) x: f32,
    pub(super) y: f32,
}

#[derive(Component, Canonical)]
pub(super) struct Velocity {
    pub(super) x: f32,
    pub(super) y: f32,
}

#[derive(Component, Canonical)]
pub(super) struct Health(pub(super) u32);

/// The gameplay's random numbers (mulberry32). What is drawn here is part of the state.
#[derive(Resource, Canonical)]
pub(super) struct Rng(pub(super) u32);

impl Rng {
    /// Draws a number below `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x6D2B_79F5);
        let mut t = (self.0 ^ (self.0 >> 15)).wrapping_mul(1 | self.0);
        t = t.wrapping_add((t ^ (t >> 7)).wrapping_mul(61 | t)) ^ t;
        (t ^ (t >> 14)) % end
    }
}

pub(super) fn arena(app: &mut App) {
    app.record_input::<Orders>()
        .register_authoritative::<(Creature, Position, Velocity, Health)>()
        .register_authoritative_resource::<Rng>()
        .insert_resource(Rng(7))
        .add_systems(Startup, populate)
        .add_systems(FixedUpdate, (push, drift, itch, strike).chain());
}

fn populate(mut rng: ResMut<Rng>, mut commands: Commands) {
    for _ in 0..20 {
        let position = Position { x: rng.below(200) as f32 - 100.0, y: rng.below(200) as f32 - 100.0 };
        let velocity = Velocity { x: rng.below(8) as f32 / 4.0 - 1.0, y: rng.below(8) as f32 / 4.0 - 1.0 };
        commands.spawn((Creature, position, velocity, Health(60 + rng.below(40))));
    }
}

fn push(orders: Res<Orders>, mut creatures: Query<&mut Velocity>) {
    for mut velocity in &mut creatures {
        velocity.x = (velocity.x + f32::from(orders.x) * 0.25).clamp(-2.0, 2.0);
        velocity.y = (velocity.y + f32::from(orders.y) * 0.25).clamp(-2.0, 2.0);
    }
}

fn drift(mut creatures: Query<(&mut Position, &mut Velocity)>) {
    for (mut position, mut velocity) in &mut creatures {
        position.x += velocity.x;
        position.y += velocity.y;
        if position.x.abs() > 100.0 {
            velocity.x = -velocity.x;
        }
        if position.y.abs() > 100.0 {
            velocity.y = -velocity.y;
        }
    }
}

/// Every fifth tick fleas bite. Sorted, so that each creature draws the same number in each run.
fn itch(tick: Res<SimTick>, mut creatures: Query<(&SimId, &mut Health)>, mut rng: ResMut<Rng>) {
    if tick.0.is_multiple_of(5) {
        for (_, mut health) in creatures.iter_mut().sort::<&SimId>() {
            health.0 = health.0.saturating_sub(rng.below(3)).max(1);
        }
    }
}

/// Lightning strikes the weakest; among equals the one spawned first.
pub(super) fn strike(
    orders: Res<Orders>,
    creatures: Query<(Entity, &SimId, &Health), With<Creature>>,
    mut commands: Commands,
) {
    if orders.strike
        && let Some((weakest, ..)) = creatures.iter().min_by_key(|(_, id, health)| (health.0, **id))
    {
        commands.entity(weakest).despawn();
    }
}
