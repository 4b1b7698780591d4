//! Deterministic record and replay for Bevy games.

extern crate self as bevy_replay;

mod app_ext;
mod deck;
mod headless;
mod input;
mod plugin;
mod runtime;
mod state;
mod tick;

pub use app_ext::ReplayAppExt;
pub use bevy_replay_tape as tape;
pub use bevy_replay_tape::{Canonical, Divergence, EndReason, Image, Report, Tape, TapeError, TickInput, Verdict};
pub use deck::{
    Deck, DeckError, DeckRefused, DeckState, Detail, Diverged, PlayOptions, RecorderLimits, RecordingEnded,
    ReplayFinished,
};
pub use headless::{Executor, Headless, Pacing, ReplayError, Run, TapeSource};
pub use plugin::{ReplayPlugin, Seed};
pub use state::{AuthoritativeTypes, Declared, SimId, StateError, digest, image};
pub use tick::{AmbiguousPair, AmbiguousPairs, ReplaySystems, SimTick, TickOrder};

/// What most games need.
pub mod prelude {
    pub use crate::{
        Canonical, Deck, Detail, Diverged, Headless, RecorderLimits, ReplayAppExt, ReplayError, ReplayPlugin, SimId,
        SimTick, TickInput, TickOrder,
    };
}

/// The Bevy release this crate is built for, as tapes name it.
const BEVY_VERSION: &str = "0.20";

/// What derived code refers to; no part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::Declared;
    pub use bevy_replay_tape::__private::*;
}
