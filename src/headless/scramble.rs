//! The same game among other entities: indices, generations, tables and the order of rows in them must not matter.

use super::Headless;
use crate::state::SimId;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;

/// An entity that is no part of the game.
#[derive(Component)]
struct Clutter;

/// Splits the game's archetypes.
#[derive(Component)]
struct Scattered;

/// How many entities come and go in each frame.
const PER_FRAME: usize = 40;

impl Headless {
    /// Spawns and despawns entities that are no part of the game, before it starts and in each frame: digests must not
    /// change. Where they do, an `Entity` has got into the state as a number, or into an order.
    #[must_use]
    pub fn scrambled(mut self, seed: u64) -> Self {
        let world = self.app.world_mut();
        let clutter: Vec<Entity> = (0..1000).map(|_| world.spawn(Clutter).id()).collect();
        let mut state = seed;
        for entity in clutter {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 {
                world.despawn(entity);
            }
        }
        self.app.add_systems(First, |mut commands: Commands, clutter: Query<Entity, With<Clutter>>| {
            for entity in clutter.iter().step_by(3).take(PER_FRAME) {
                commands.entity(entity).despawn();
            }
            commands.spawn_batch((0..PER_FRAME).map(|_| Clutter));
        });
        self
    }

    /// Gives about half of the simulated entities a component of ours, so that queries visit them in another order:
    /// digests must not change. Where they do, a loop depends on its order; `query.iter().sort::<&SimId>()` has one that
    /// does not.
    #[must_use]
    pub fn scattered(mut self, seed: u64) -> Self {
        let key = 0x9E37_79B9_7F4A_7C15 ^ (seed << 1);
        let is_chosen = move |id: u64| id.wrapping_add(1).wrapping_mul(key).count_ones().is_multiple_of(2);
        self.app.add_observer(move |added: On<Add<SimId>>, ids: Query<&SimId>, mut commands: Commands| {
            if ids.get(added.entity).is_ok_and(|id| is_chosen(id.0)) {
                commands.entity(added.entity).insert(Scattered);
            }
        });
        self
    }
}
