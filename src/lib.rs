//! Deterministic record and replay for Bevy games, and reports that name the tick, the entity and the
//! field where two runs part.
//!
//! It is for games that need a bug to happen again, golden replays in CI, lockstep and rollback netcode
//! that must not drift, and servers that verify uploaded runs. It is not a video recorder, and it does
//! not make a game deterministic: it finds what is not.
//!
//! # Quick start
//!
//! ```
#![doc = include_str!("../examples/minimal.rs")]
//! ```
//!
//! # What your game must do
//!
//! 1. Run gameplay in `FixedUpdate` and its neighbours.
//! 2. Put what reaches it from outside into a resource that derives [`TickInput`], write it *between*
//!    ticks (in `PreUpdate`, `Update` or `RunFixedMainLoop`), and call
//!    [`record_input`](ReplayAppExt::record_input). Or read Bevy's `ButtonInput`, mouse accumulators and
//!    `Gamepad`s in ticks as they are, and add [`RawInputPlugin`].
//! 3. Derive [`Canonical`](trait@Canonical) for the components and resources that can change future
//!    gameplay, and call [`register_authoritative`](ReplayAppExt::register_authoritative) and
//!    [`register_authoritative_resource`](ReplayAppExt::register_authoritative_resource).
//! 4. Keep everything else out of the tick: no wall clock, no global random numbers, no hash-map order,
//!    no state in `Local`s.
//!
//! # Concepts
//!
//! **Tick.** One run of Bevy's `FixedMain`; [`SimTick`] counts them. Its border is held outermost
//! whatever other plugins add ([`ReplaySystems`]). A report names the 0-based tick whose run made the
//! difference.
//!
//! **Input.** A tick sees a recorded input as it stood at its beginning. While a tape is played the
//! tape's value replaces it, and live writers are ignored. Fields marked `#[once]` are seen by exactly
//! one tick.
//!
//! **Authoritative state.** What can change future gameplay. Each value has one encoding in bytes, the
//! same on every machine. Fields that cannot change the game are marked
//! `#[canonical(observation)]` (traces, statistics), `#[canonical(presentation)]` (interpolation,
//! effects) or `#[canonical(derived)]` (caches, rebuilt before they are read) and never count.
//!
//! **Sim id.** [`SimId`] is what identifies an entity in a tape and in a report. Registered components
//! bring one; cameras, effects and debug entities have none and cannot change a digest.
//!
//! **Image and digest.** An [`Image`] is the encoded state after a tick, a digest is its hash. Reports,
//! tapes and comparisons are functions of images.
//!
//! **Messages and removals.** A registered message type has one buffer inside ticks and one outside, so that
//! no tick misses a message or sees one twice ([`record_messages`](ReplayAppExt::record_messages),
//! [`TickReader`]); removed components are offered the same way ([`TickRemovals`]).
//!
//! **States.** A registered one of Bevy's states changes at the beginning of a tick, and requests for it are recorded
//! (feature `states`: `register_authoritative_state`). Others change with the frames, as a pause menu's must.
//!
//! **Other crates' types.** They are registered and recorded through reflection (feature `reflect`:
//! `register_authoritative_reflect`, `record_input_reflect`), on entities that have a [`SimId`] from elsewhere; parents
//! and children with [`register_hierarchy`](ReplayAppExt::register_hierarchy).
//!
//! **Start gate.** Tapes begin at the first tick, or when [`start_when`](ReplayAppExt::start_when) says that the game is
//! ready.
//!
//! **Purity.** Authoritative state written between two ticks, input written inside one, a frame's clock read in one: each
//! is a [`Finding`]; how it is looked for is set by [`Guard`]. [`coverage`] lists components of simulated
//! entities that nobody registered or gave a role.
//!
//! **Order.** Where a game leaves the order of conflicting systems open, they run in the order in which
//! they were added, on every executor: [`TickOrder`]. [`AmbiguousPairs`] lists them.
//!
//! **Tape.** A [`Tape`] is a value: header, initial state, inputs, digests. It has a text form. In a file
//! ([`Deck::record_to`], [`Tape::save`]) it is as [`guide::tape_format`] says; the program `bevy-replay` of
//! `bevy_replay_tape` reads tapes of any game.
//!
//! **Random numbers.** Gameplay draws from a [`Stream`] per purpose, which nothing else can move; particles and
//! sounds from [`CosmeticRng`].
//!
//! **Plans.** What is random can be compiled before play and then be consumed tick by tick, so that nothing is drawn
//! while the game runs (feature `plan`: `PlanBuilder`, `Plans`, `PlanCursor`).
//!
//! # Plugins
//!
//! | plugin | feature | runs in | does |
//! |---|---|---|---|
//! | [`ReplayPlugin`] | always | `FixedMain` | border, sim ids, order of systems, [`Deck`] |
//! | [`RawInputPlugin`] | `raw-input` | `First`, `PreUpdate`, `RunFixedMainLoop`, `FixedMain` | keyboard, mouse and gamepads as ticks see them, recorded |
//! | `RecorderBarPlugin` | `recorder-ui` | `PreUpdate`, `Update`, egui's pass | record, replay, export and import for players |
//! | `InspectorPlugin` | `inspector` | `PreUpdate`, `Update`, egui's pass | both runs side by side, at any tick |
//!
//! # Recording, replaying, comparing
//!
//! In a running game the [`Deck`] records and plays, pauses, steps, seeks and branches; [`TimeTravel`] does so without a
//! window, and a [`FlightRecorder`] keeps the last seconds at hand. In tests [`Headless`]
//! runs an app without a window: [`inputs`](Headless::inputs) and [`run`](Headless::run) record,
//! [`verify`](Headless::verify) plays a tape and compares digests,
//! [`replay_inputs`](Headless::replay_inputs) plays its inputs only,
//! [`compare`](Headless::compare) reports differences and never refuses rules, and
//! [`compare_with`](Headless::compare_with) runs two apps side by side.
//!
//! ```
//! # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
//! # #[derive(Resource, Default, Clone, TickInput)] struct Steer { x: i8 }
//! # #[derive(Component, Canonical)] struct Hero { x: i32 }
//! # fn game_with(speed: i32) -> impl Fn(&mut App) + Send + Sync + 'static { move |app: &mut App| {
//! #     app.add_plugins(ReplayPlugin::new("my_game")).record_input::<Steer>().register_authoritative::<Hero>();
//! #     app.add_systems(Startup, |mut commands: Commands| { commands.spawn(Hero { x: 0 }); });
//! #     app.add_systems(FixedUpdate, move |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += speed * i32::from(steer.x));
//! # } }
//! let recorded = Headless::new(game_with(2)).inputs([0, 0, 1].map(|x| Steer { x })).run()?;
//! let report = Headless::new(game_with(2)).compare_with(Headless::new(game_with(3)), recorded.tape())?;
//! assert_eq!(
//!     report.divergence.ok_or("they differ")?.to_string(),
//!     "diverged at tick 2 (0.03 s): sim:0 Hero.x expected 2 got 3",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How much a report can say depends on what the tape holds: [`Detail`].
//!
//! A player's tape becomes a test with [`import_tape`]: see [`guide::player_loop`].
//!
//! The cause of a divergence is found with [`guide::debugging`]; [`guide::determinism`] lists what breaks a
//! replay, and the cures.
//!
//! # Guarantees and limits
//!
//! - Where a game keeps to the points above, a tape replays to the same digests at any number of ticks per
//!   frame, at any frame rate, on one thread or many, in debug and release builds.
//! - Nothing has a tolerance. A digest is a function of the state alone: every registered value is read.
//! - Recordings begin at any tick, and any tick of a tape can be gone to; what of a game's state no image holds
//!   ([`guide::time_travel`]) is then found by the digests.
//! - Recorded inputs are resources, components of simulated entities, messages, requests for states, keyboard, mouse
//!   and gamepads. Touch is not recorded.
//! - Floats: `+ - * /` and `sqrt` are the same everywhere, `sin`, `powf` and the like are not.
//! - 32-bit and wasm32 targets are untested.
//!
//! # Feature flags
//!
//! | feature | adds |
//! |---|---|
//! | `file` (default) | records into files while the game runs: [`Deck::record_to`], [`Tape::save`] |
//! | `raw-input` (default) | keyboard, mouse and gamepads as recorded input: [`RawInputPlugin`] |
//! | `states` | Bevy's states, exact in ticks and recorded |
//! | `reflect` | components and resources of other crates, through reflection |
//! | `glam` | canonical encodings of glam's types |
//! | `fixed` | fixed-point numbers, vectors and functions with the same bits in every build: the module `fixed` |
//! | `plan` | event plans, compiled before play: [`guide`]'s page `plans` |
//! | `libm` | Bevy's maths through `libm`, the same on every platform; written on tapes |
//! | `testing` | golden tests, one test per tape, and shorter tapes that fail: the module `testing` |
//! | `cli` | the command line of a game's own program: the module `cli` |
//! | `diagnostics` | names of systems and components in reports |
//! | `multi_threaded` | Bevy's multi-threaded executor, where the app uses it |
//! | `recorder-ui` | the recorder bar for shipped games: `RecorderBarPlugin` |
//! | `inspector` | a window on both runs of a tape: `InspectorPlugin` |
//!
//! # Troubleshooting
//!
//! - *The tape is refused*: the message names the item and both values. Inputs whose fields were added, removed or
//!   reordered are read all the same; a field with another type is named. Raise `rules` only when old
//!   tapes should stop being valid; play a bug's tape with `replay_inputs`.
//! - *It diverges at the first tick*: the initial states differ; the report lists fields. Is the level
//!   built from [`Seed`]?
//! - *It diverges only with several threads*: is [`TickOrder::Fixed`] on, and are the game's own
//!   schedules inside the tick named with [`tick_schedule`](ReplayAppExt::tick_schedule)?

extern crate self as bevy_replay;

mod app_ext;
#[cfg(feature = "recorder-ui")]
mod bar;
#[cfg(feature = "cli")]
pub mod cli;
mod deck;
#[cfg(feature = "fixed")]
pub mod fixed;
mod headless;
mod import;
mod input;
#[cfg(feature = "inspector")]
mod inspector;
#[cfg(any(feature = "recorder-ui", feature = "inspector"))]
mod numbers;
#[cfg(feature = "plan")]
mod plan;
mod plugin;
mod random;
mod runtime;
mod state;
#[cfg(feature = "testing")]
pub mod testing;
mod tick;

pub use app_ext::{DerivedState, ReplayAppExt};
#[cfg(feature = "recorder-ui")]
pub use bar::{BarCorner, RecorderAction, RecorderBarPlugin, RecorderKeys, RecorderText, RecorderToast};
pub use bevy_replay_macros::StreamLabel;
pub use bevy_replay_tape as tape;
pub use bevy_replay_tape::{Canonical, Divergence, EndReason, Image, Report, Tape, TapeError, TickInput, Verdict};
#[cfg(feature = "plan")]
pub use bevy_replay_tape::{EventClass, Package, Plan, PlanBuilder, PlanContract, PlanError};
#[cfg(feature = "file")]
pub use deck::RecordingSaved;
pub use deck::{
    Branch, Deck, DeckError, DeckRefused, DeckState, Detail, Diverged, FlightRecorder, PlayOptions, RecorderLimits,
    RecordingEnded, ReplayFinished, SeekFinished, SeekProgress, Speed, is_live, is_replaying,
};
pub use headless::{Arrival, Executor, Headless, Leak, Pacing, ReplayError, Run, TapeSource, TimeTravel};
pub use import::{ImportError, ImportSource, Imported, import_tape};
pub use input::TickReader;
#[cfg(feature = "raw-input")]
pub use input::devices::{PadSlot, RawInputPlugin, TextFocus};
#[cfg(feature = "inspector")]
pub use inspector::{Inspector, InspectorCommand, InspectorPlugin, InspectorSelected, InspectorSelection};
#[cfg(feature = "plan")]
pub use plan::{PlanCursor, Planned, Plans};
pub use plugin::{ReplayPlugin, Seed};
/// The crate whose traits [`Stream`] implements, in the release that draws the numbers tapes expect.
pub use rand;
pub use random::{CosmeticRng, EntityStream, Stream, StreamLabel};
#[doc(hidden)]
pub use state::WriteBack;
pub use state::{
    AuthoritativeTypes, Coverage, Declared, Finding, Guard, RestoreError, SimId, StateError, TickRemovals, coverage,
    digest, image,
};
pub use tick::{AmbiguousPair, AmbiguousPairs, ReplaySystems, SimPhase, SimTick, TickOrder};

/// The guides, as pages.
///
/// Links between them are defined here for rustdoc; the files end in the same links for everywhere else.
pub mod guide {
    /// [debugging.md]: crate::guide::debugging
    /// [recipes.md]: crate::guide::recipes
    /// [clippy.toml]: #clippytoml
    #[cfg_attr(feature = "plan", doc = "[plans.md]: crate::guide::plans")]
    ///
    #[doc = include_str!("../docs/determinism.md")]
    ///
    /// # clippy.toml
    ///
    /// ```toml
    #[doc = include_str!("../docs/clippy.toml")]
    /// ```
    pub mod determinism {}

    /// [determinism.md]: crate::guide::determinism
    /// [hash container]: crate::guide::determinism#hash-containers
    /// [clock]: crate::guide::determinism#clocks
    /// [random numbers]: crate::guide::determinism#random-numbers
    /// [order of a loop]: crate::guide::determinism#order-of-queries
    /// [order of two systems]: crate::guide::determinism#order-of-systems
    /// [floats]: crate::guide::determinism#floats
    /// [frame rate]: crate::guide::determinism#frame-rate
    /// [states]: crate::guide::determinism#states
    /// [another order]: crate::guide::determinism#order-of-spawns-and-despawns
    /// [parallel iteration]: crate::guide::determinism#parallel-iteration
    /// [hidden state]: crate::guide::determinism#hidden-state
    ///
    #[doc = include_str!("../docs/debugging.md")]
    pub mod debugging {}

    #[doc = include_str!("../docs/time-travel.md")]
    pub mod time_travel {}

    #[doc = include_str!("../docs/inspector.md")]
    pub mod inspector {}

    #[doc = include_str!("../docs/digest.md")]
    pub mod digest {}

    #[doc = include_str!("../docs/player-loop.md")]
    pub mod player_loop {}

    /// [Streams]: crate::guide::determinism#random-numbers
    ///
    #[cfg(feature = "plan")]
    #[doc = include_str!("../docs/plans.md")]
    pub mod plans {}

    #[doc = include_str!("../docs/recipes.md")]
    pub mod recipes {}

    #[doc = include_str!("../docs/scaling.md")]
    pub mod scaling {}

    #[doc = include_str!("../docs/peers.md")]
    pub mod peers {}

    /// [digest.md]: crate::guide::digest
    #[cfg_attr(feature = "plan", doc = "[plans.md]: crate::guide::plans")]
    ///
    #[doc = include_str!("../docs/tape-format.md")]
    pub mod tape_format {}
    #[cfg(feature = "testing")]
    #[doc = include_str!("../docs/golden-replays.md")]
    pub mod golden_replays {}
}

/// What ticks see of keyboard, mouse and gamepads, as values on tapes. Games read Bevy's own types.
#[cfg(feature = "raw-input")]
pub mod devices {
    pub use crate::input::devices::{
        Button, Buttons, Gamepads, Keyboard, LogicalKeys, MouseButtons, MouseMotion, MouseScroll, Pad,
    };
}

/// What most games need.
pub mod prelude {
    pub use crate::{
        Canonical, CosmeticRng, Deck, Detail, Diverged, Headless, RecorderLimits, ReplayAppExt, ReplayError,
        ReplayPlugin, SimId, SimTick, Stream, StreamLabel, TickInput, TickOrder, TickReader, TickRemovals,
    };
    #[cfg(feature = "raw-input")]
    pub use crate::{PadSlot, RawInputPlugin, TextFocus};
    #[cfg(feature = "plan")]
    pub use crate::{PlanBuilder, PlanCursor, Planned, Plans};
    pub use rand::RngExt;
}

/// The Bevy release this crate is built for, as tapes name it.
const BEVY_VERSION: &str = "0.20";

/// What derived code refers to; no part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::Declared;
    pub use bevy_replay_tape::__private::*;
}
