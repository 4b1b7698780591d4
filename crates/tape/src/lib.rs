//! The values of `bevy_replay`, without an engine: canonical encoding and schemas, images of a game's
//! state, their digests and differences, tapes, and the report that names a divergence.
//!
//! Nothing here touches a `World` or a clock, and files are touched by [`Tape::load`] and `Tape::save` alone. Games use this
//! crate through `bevy_replay`, which re-exports it; tools that read tapes of games they have never seen use
//! it alone.
//!
//! What is frozen on disk is written in `docs/digest.md` and `docs/tape-format.md`.
//!
//! # Feature flags
//!
//! | feature | adds |
//! |---|---|
//! | `file` (default) | `Tape::save` |
//! | `cli` | the program `bevy-replay` |
//! | `bevy` | canonical encodings of Bevy's `Entity`, `Timer` and `Stopwatch` |
//! | `glam` | canonical encodings of glam's vectors, quaternions and matrices |
//! | `plan` | `PlanBuilder`, which builds event plans; plans are read without it, too |
//! | `fixed` | canonical encodings of the `fixed` crate's numbers |

mod baseline;
mod canonical;
mod divergence;
mod expectation;
mod image;
mod input;
mod plan;
mod schema;
mod tape;
mod value;

pub use baseline::{BASELINE_SCHEMA, Baseline, BaselineAnswer, BaselineDifference, BaselineError};
pub use bevy_replay_macros::{Canonical, TickInput};
pub use canonical::{
    Canonical, CompareSink, DEPTH_MAX, DecodeError, EncodeNotes, EntityIds, NO_ENTITY, NoEntities, Sink, SlotSink,
    Source, VecSink, decode_from_slice, encode_to_vec, width_equal, width_sum,
};
pub use divergence::{
    Comparison, Divergence, Evidence, FirstWrong, HeaderDifference, Later, Report, StreamDraws, SystemEffect, Verdict,
    Wrong, first_wrong,
};
pub use expectation::{Expectation, ExpectationError};
pub use image::{
    BLOCK_ROWS, BlockDigests, DIGEST_VERSION, Delta, DeltaError, Difference, Digest, Ids, Image, Lane, LaneDelta,
    ResourceState, Rows, Side,
};
pub use input::TickInput;
pub use plan::{
    ContractFailure, EventClass, PLAN_GENERATOR, PLAN_LAYOUT, Package, PackageError, Plan, PlanChapter, PlanContract,
    PlanCounts, PlanError, PlanEvent, PlanLayer, PlanVersions,
};
#[cfg(feature = "plan")]
pub use plan::{PlanBuilder, PlanRng};
/// The crate whose traits [`PlanRng`] implements, in the release that draws the numbers of [`PLAN_GENERATOR`].
#[cfg(feature = "plan")]
pub use rand;
pub use schema::{
    Field, Resolution, ResolveError, SHAPES_MAX, Schema, SchemaBuilder, SchemaError, Shape, ShapeId, Variant,
};
pub use tape::{
    Changes, ClockChange, CutError, Digests, End, EndReason, FORMAT_VERSION, Header, Mark, PlanOnTape, Recovered,
    Resolved, Start, Tape, TapeError, TapeLimits, TapePart, TapeStream, Track, TypeSpec,
};
pub use value::{Value, ValueTextError, encode_json, encode_text};

/// What derived code refers to; no part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        Canonical, DecodeError, Field, SchemaBuilder, Shape, ShapeId, Sink, Source, TickInput, Variant, width_equal,
        width_sum,
    };
}
