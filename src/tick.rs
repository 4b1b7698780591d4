//! The tick: its number, its border, the order of systems inside it, and its clock.

pub(crate) mod border;
pub(crate) mod clock;
pub(crate) mod gate;
pub(crate) mod order;
pub(crate) mod phase;
pub(crate) mod probes;
pub(crate) mod reads;

use bevy_ecs::prelude::*;

pub use border::ReplaySystems;
pub use order::{AmbiguousPair, AmbiguousPairs, TickOrder};
pub use phase::SimPhase;

/// How many ticks have run since the start gate.
///
/// Inside a tick this is the 0-based number of that tick, the one reports name.
#[derive(Resource, Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimTick(pub u64);
