//! Nothing but the tick may change authoritative state, and nothing but the outside may change input.

use bevy_ecs::prelude::*;
use bevy_replay_tape::Difference;
use core::fmt;

/// How writes to authoritative state between ticks are found, while recording or replaying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guard {
    /// Not at all.
    Off,
    /// By change ticks: cheap, but a write that bypasses change detection is missed, and a mutable borrow
    /// without a write is reported. Default in release builds.
    Ticks,
    /// By values: the state before a tick must be that after the last one. Costs a second capture per tick. Also finds
    /// runs of `FixedUpdate` outside of ticks.
    /// Default in debug builds.
    Full,
}

impl Default for Guard {
    fn default() -> Self {
        if cfg!(debug_assertions) { Self::Full } else { Self::Ticks }
    }
}

/// Event: something was done that a replay cannot repeat. Each kind is told once per type.
///
/// The same text is a note in reports, and a warning in the log.
#[derive(Event, Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// Authoritative state was written between two ticks.
    WrittenOutside {
        /// The tick that would have run next.
        tick: u64,
        /// Name of the type; empty if entities were spawned or despawned.
        type_name: String,
        /// The entity; `None` for a resource.
        sim_id: Option<u64>,
        /// The field and both values, where [`Guard::Full`] knows them.
        difference: Option<Difference>,
        /// Where it was written last. Needs the feature `diagnostics`.
        writer: Option<String>,
    },
    /// Numbers were drawn from a stream between two ticks: how many, depends on the frame rate.
    DrawnOutside {
        /// The tick that would have run next.
        tick: u64,
        /// Name of the stream.
        stream: String,
        /// How many.
        draws: u64,
    },
    /// An entity lost its sim id and lives on: in no image any more, or as somebody else.
    SimIdRemoved {
        /// The tick.
        tick: u64,
        /// The id.
        id: u64,
        /// Who had it.
        entity: Entity,
    },
    /// A recorded input was written inside a tick, so the tape does not hold what systems after that read.
    InputWrittenInside {
        /// The tick.
        tick: u64,
        /// Name of the input.
        input: String,
        /// Where it was written. Needs the feature `diagnostics`.
        writer: Option<String>,
    },
    /// A system of the tick reads a clock that follows the frames.
    FrameClockRead {
        /// Name of the system. Needs the feature `diagnostics`.
        system: String,
        /// The clock: `Time<Real>` or `Time<Virtual>`.
        clock: &'static str,
    },
    /// A tick queued commands for later, which the frame's clock lets go.
    DelayedCommands {
        /// The tick.
        tick: u64,
    },
    /// A schedule of the tick got its first systems inside a tick, and ran them in Bevy's own order there.
    AddedInside {
        /// The tick.
        tick: u64,
        /// The schedule.
        schedule: String,
    },
    /// `FixedUpdate` was run outside of `FixedMain`: no tick knows of it.
    RunByHand {
        /// The tick that would have run next.
        tick: u64,
    },
}

impl Finding {
    /// What is told once.
    pub(crate) fn key(&self) -> (bool, String) {
        match self {
            Self::SimIdRemoved { .. } => (false, "SimId".into()),
            Self::DrawnOutside { stream, .. } => (false, format!("Stream<{stream}>")),
            Self::WrittenOutside { type_name, .. } => (true, type_name.clone()),
            Self::InputWrittenInside { input, .. } => (false, input.clone()),
            Self::FrameClockRead { system, clock } => (false, format!("{clock} {system}")),
            Self::DelayedCommands { .. } => (false, "delayed commands".into()),
            Self::AddedInside { schedule, .. } => (false, format!("added {schedule}")),
            Self::RunByHand { .. } => (false, "run by hand".into()),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |f: &mut fmt::Formatter<'_>, writer: &Option<String>| match writer {
            Some(writer) => write!(f, ", at {writer}"),
            None => Ok(()),
        };
        match self {
            Self::WrittenOutside { tick, type_name, sim_id, difference, writer } => {
                f.write_str("authoritative state was written outside a tick: ")?;
                match (difference, sim_id) {
                    (Some(row), _) => write!(f, "{} was {}, is {}", row.place(), row.expected, row.got)?,
                    (None, Some(id)) => write!(f, "{type_name} of sim:{id}")?,
                    (None, None) => f.write_str(type_name)?,
                }
                at(f, writer)?;
                write!(f, ", before tick {tick} (move the write into `FixedUpdate`, or make it a recorded input)")
            }
            Self::DrawnOutside { tick, stream, draws } => write!(
                f,
                "stream {stream} was drawn from outside a tick: {draws} draw{} before tick {tick} (draw in `FixedUpdate`, or \
                 use `CosmeticRng` for what cannot change the game)",
                if *draws == 1 { "" } else { "s" }
            ),
            Self::SimIdRemoved { tick, id, entity } => write!(
                f,
                "sim:{id} was taken away from entity {entity} at tick {tick}, which lives on in no image, or as another (do not \
                 remove `SimId`, nor a registered type with `remove_with_requires`)"
            ),
            Self::InputWrittenInside { tick, input, writer } => {
                write!(f, "input {input} was written inside tick {tick}")?;
                at(f, writer)?;
                f.write_str(" (write it between ticks: in `PreUpdate`, `Update` or `RunFixedMainLoop`)")
            }
            Self::FrameClockRead { system, clock } => write!(
                f,
                "{system} runs inside ticks and reads `{clock}`, which follows the frames (read `Time`: inside a tick it is \
                 the tick's)"
            ),
            Self::DelayedCommands { tick } => write!(
                f,
                "tick {tick} queued delayed commands, which the frame's clock lets go between ticks (count ticks in a \
                 component, and act when they are up)"
            ),
            Self::AddedInside { tick, schedule } => write!(
                f,
                "`{schedule}` got its first systems inside tick {tick}, and if they ran there, then in Bevy's own order, \
                 which may change from run to run (add one of them before the first tick, or all between ticks)"
            ),
            Self::RunByHand { tick } => write!(
                f,
                "`FixedUpdate` was run outside of `FixedMain` before tick {tick}: no tape knows of it (run `FixedMain`, or \
                 let `Time<Virtual>` drive it)"
            ),
        }
    }
}

/// Returns `file:line` of the last write, where Bevy knows it.
pub(crate) fn place_of(location: Option<&core::panic::Location<'_>>) -> Option<String> {
    location.map(|location| format!("{}:{}", location.file(), location.line()))
}
