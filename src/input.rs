//! Recorded inputs: what reaches the simulation from outside, once per tick.

mod component;
#[cfg(feature = "raw-input")]
pub(crate) mod devices;
mod messages;
mod resource;
#[cfg(feature = "states")]
pub(crate) mod states;

use bevy_ecs::world::World;
use bevy_replay_tape::{DecodeError, TypeSpec};

pub(crate) use component::ComponentTrack;
pub use messages::TickReader;
pub(crate) use messages::{LastMessages, MessageTrack};
pub(crate) use resource::ResourceTrack;

/// A recorded input type.
///
/// A tick sees of it what `begin` lets in, and nothing that is written outside while the tick runs.
pub(crate) trait TrackSource: Send + Sync {
    /// Name and encoding.
    fn spec(&self) -> &TypeSpec;

    /// Prepares to read a world, when registering has ended.
    fn attach(&mut self, _world: &mut World) {}

    /// Lets the tick see the live input, or the recorded value in its place, and writes what it sees.
    ///
    /// Where it fails it has changed nothing.
    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError>;

    /// Returns where the input was written inside the tick that ends, if it was.
    fn written_inside(&mut self, _world: &mut World) -> Option<Option<String>> {
        None
    }

    /// Takes back what exactly this tick may see.
    fn end(&mut self, world: &mut World);

    /// Releases all that a tape holds; live input resumes.
    fn release(&mut self, world: &mut World);

    /// Why the running tick's live input is kept from ticks and tapes, if it is.
    fn gap(&self) -> Option<&'static str> {
        None
    }
}

/// Where a tick's input comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From<'a> {
    /// From the game.
    Live,
    /// From a tape that has nothing for this type yet.
    Nothing,
    /// From a tape.
    Tape(&'a [u8]),
}
