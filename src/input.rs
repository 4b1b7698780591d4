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

    /// Canonical bytes of what a tick sees where a tape has nothing, where that is one value: the type's default.
    /// Fields that a tape lacks are taken from it.
    fn default(&self) -> Option<Vec<u8>> {
        None
    }

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

    /// Whether Bevy's states change at the beginning of the tick.
    fn wants_transition(&self, _world: &World, _from: From<'_>) -> bool {
        false
    }

    /// The canonical bytes of what the last tick saw.
    fn last_seen(&self) -> Option<&[u8]> {
        None
    }

    /// Takes back what exactly this tick may see.
    fn end(&mut self, world: &mut World);

    /// Releases all that a tape holds; live input resumes.
    fn release(&mut self, world: &mut World);

    /// The start gate opens: the tick that begins is the first, so its input has changed.
    fn start(&mut self) {}

    /// A state was put back: the next tick follows one that saw this.
    fn resume(&mut self, _world: &mut World, _last: From<'_>) {}

    /// Keeps what ticks make of it from the frame, or no longer; while ticks are run to get somewhere else.
    fn hush(&mut self, _is_hushed: bool) {}

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
