//! Authoritative state: sim ids, registered types, and the capture of an image.

pub(crate) mod capture;
pub(crate) mod codec;
pub(crate) mod coverage;
pub(crate) mod hierarchy;
pub(crate) mod lanes;
pub(crate) mod purity;
#[cfg(feature = "reflect")]
pub(crate) mod reflected;
pub(crate) mod registry;
pub(crate) mod removals;
pub(crate) mod restore;
mod roster;
pub(crate) mod sim_id;

use crate::runtime;
use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;
use bevy_replay_tape::Image;

pub(crate) use coverage::suspects;
pub use coverage::{Coverage, coverage};
pub use purity::{Finding, Guard};
pub use registry::{AuthoritativeTypes, Declared};
pub use removals::TickRemovals;
pub use restore::{RestoreError, WriteBack};
pub use sim_id::SimId;

/// Why the authoritative state cannot be captured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// An entity carries the id that stands for "none" in references.
    #[error(
        "an entity carries sim:{}, which stands for \"no entity\" in references (insert a smaller `SimId`)",
        u64::MAX
    )]
    ReservedSimId,
    /// Two entities carry one sim id.
    #[error(
        "sim:{id} is carried by two entities, {first} and {second} (give each its own: let the registered types bring \
         the `SimId`, or insert one that no other entity has)"
    )]
    DuplicateSimId {
        /// The id.
        id: u64,
        /// One entity.
        first: Entity,
        /// The other.
        second: Entity,
    },
}

/// Returns the root digest of the authoritative state as it is now.
///
/// Inside a tick this is a state that no tape knows; between ticks it is the digest of the last tick,
/// unless something was written since. Registering ends with the first call.
///
/// # Errors
///
/// [`StateError`] if two entities carry one sim id.
pub fn digest(world: &mut World) -> Result<u64, StateError> {
    runtime::with(world, |world, runtime| runtime.look(world).map(|capturer| capturer.digest.root))
}

/// Returns the authoritative state as it is now: every registered value of every simulated entity.
///
/// # Errors
///
/// [`StateError`] if two entities carry one sim id.
pub fn image(world: &mut World) -> Result<Image, StateError> {
    runtime::with(world, |world, runtime| runtime.look(world).map(|capturer| capturer.image.clone()))
}
