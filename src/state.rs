//! Authoritative state: sim ids, registered types, and the capture of an image.

pub(crate) mod capture;
mod lanes;
pub(crate) mod registry;
mod roster;
pub(crate) mod sim_id;

use bevy_ecs::entity::Entity;

pub use registry::{AuthoritativeTypes, Declared};
pub use sim_id::SimId;

/// Why the authoritative state cannot be captured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
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
