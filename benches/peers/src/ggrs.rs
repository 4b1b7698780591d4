//! The checksums of bevy_ggrs, with the Bevy that it needs.

// The derives of this Bevy look for it under this name.
use bevy_0_19::ecs as bevy_ecs;
use bevy_0_19::prelude::*;
use bevy_ggrs::prelude::*;
use bevy_ggrs::{ChecksumPlugin, Rollback, RollbackOrdered, SaveWorld, SnapshotSetPlugin};

#[derive(Component, Clone, Copy, Hash)]
struct Position([i64; 3]);
#[derive(Component, Clone, Copy, Hash)]
struct Velocity([i64; 3]);
#[derive(Component, Clone, Copy, Hash)]
struct Health(i32);
#[derive(Component)]
struct Red;
#[derive(Component)]
struct Blue;

/// A world whose `SaveWorld` makes checksums of these, and no snapshots, which it does in games.
pub struct Game(App);

impl Game {
    pub fn new(entities: u32) -> Self {
        let mut app = App::new();
        app.init_resource::<RollbackOrdered>().init_schedule(SaveWorld);
        app.add_plugins((SnapshotSetPlugin, ChecksumPlugin));
        app.checksum_component_with_hash::<Position>();
        app.checksum_component_with_hash::<Velocity>();
        app.checksum_component_with_hash::<Health>();
        app.finish();
        let world = app.world_mut();
        for i in 0..entities {
            let body = (Position([i.into(); 3]), Velocity([1; 3]), Health(100), Rollback);
            match i % 3 {
                0 => world.spawn(body),
                1 => world.spawn((body, Red)),
                _ => world.spawn((body, Blue)),
            };
        }
        world.flush();
        Self(app)
    }

    pub fn save(&mut self) {
        self.0.world_mut().run_schedule(SaveWorld);
    }

    pub fn checksum(&self) -> u128 {
        self.0.world().resource::<Checksum>().0
    }

    /// Changes all three of each.
    pub fn move_all(&mut self) {
        let world = self.0.world_mut();
        let mut bodies = world.query::<(&mut Position, &mut Velocity, &mut Health)>();
        for (mut position, mut velocity, mut health) in bodies.iter_mut(world) {
            position.0[0] += velocity.0[0];
            velocity.0[1] ^= 1;
            health.0 ^= 1;
        }
    }

    /// Changes one value by one bit.
    pub fn disturb(&mut self) {
        let mut bodies = self.0.world_mut().query::<&mut Health>();
        if let Some(mut health) = bodies.iter_mut(self.0.world_mut()).next() {
            health.0 ^= 1;
        }
    }
}
