//! Phases of a tick, for games that want them.

use bevy_app::{App, FixedUpdate};
use bevy_ecs::prelude::*;

/// Phases of `FixedUpdate`, one after the other. Optional: systems in none of them run as their own order says.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::{SimPhase, prelude::*};
/// # fn steer() {} fn fly() {} fn count_hits() {}
/// # let mut app = App::new();
/// # app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("my_game")));
/// app.add_systems(FixedUpdate, (count_hits.in_set(SimPhase::Derive), fly.in_set(SimPhase::Apply)));
/// app.add_systems(FixedUpdate, steer.in_set(SimPhase::Control)); // runs before both
/// ```
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SimPhase {
    /// Takes in what came from outside: inputs, messages, events of a plan.
    Ingress,
    /// Turns inputs into intentions.
    Control,
    /// Rebuilds derived state: grids, distances, lists of neighbours.
    Derive,
    /// Decides: behaviour, targets, paths. Reads the world, writes plans.
    Plan,
    /// Acts: moves, collides, deals damage, spawns.
    Apply,
    /// Despawns, counts, ends rounds.
    Cleanup,
}

pub(crate) fn install(app: &mut App) {
    use SimPhase::{Apply, Cleanup, Control, Derive, Ingress, Plan};
    app.configure_sets(FixedUpdate, (Ingress, Control, Derive, Plan, Apply, Cleanup).chain());
}
