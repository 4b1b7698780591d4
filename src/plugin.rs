//! The plugin and its settings.

use crate::deck::{Deck, Detail, FlightRecorder, RecorderLimits, transport};
use crate::runtime::{self, Core};
use crate::state::Guard;
use crate::tick::gate::StartGate;
use crate::tick::{self, SimTick, TickOrder};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;

/// The game's master seed: what its generators are seeded with at start-up.
///
/// Set by [`ReplayPlugin::seed`], written on tapes, and set from the tape before a headless replay starts.
#[derive(Resource, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub u64);

/// Adds the tick border, sim ids and the [`Deck`] to an app.
///
/// Gameplay stays in `FixedUpdate` and its neighbours. Add it before or after the game's own plugins.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_replay::prelude::*;
/// let mut app = App::new();
/// app.add_plugins(bevy_time::TimePlugin);
/// app.add_plugins(ReplayPlugin::new("my_game").rules(3).version(env!("CARGO_PKG_VERSION")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayPlugin {
    /// Which game; tapes of another one are refused.
    pub game: String,
    /// Which rules of the game; raise it when a change makes old tapes invalid. Default: 0.
    pub rules: u32,
    /// Version of the game, shown when something diverges. Default: empty.
    pub version: String,
    /// The master seed. Default: 0.
    pub seed: u64,
    /// How systems inside a tick are ordered. Default: [`TickOrder::Fixed`].
    pub order: TickOrder,
    /// How much a tape says of the state. Default: [`Detail::Lanes`] in debug builds, else [`Detail::Roots`].
    pub detail: Detail,
    /// After how many ticks each a tape has digests. Default: 1, each tick; 0 is as 1.
    ///
    /// With 64 a finished tape takes about a fifth of a byte a tick instead of eight, and a divergence is known to within
    /// that many ticks.
    pub digest_interval: u64,
    /// How long a recording may become. Default: four hours at 64 Hz, 256 MiB.
    pub limits: RecorderLimits,
    /// Reads only rows whose change tick has moved, while those are less than a quarter. Default: false, every row is read.
    ///
    /// Faster where little changes, and it trusts Bevy's change detection: a write that bypasses it
    /// (`bypass_change_detection`) is not seen. Turns itself off while values are recorded.
    pub trust_change_ticks: bool,
    /// How many bytes of states a replay keeps, so that one can go back. Default: 64 MiB.
    pub keyframe_bytes: usize,
    /// Whether states are kept while recording, too, so that one can go back in a running game. Default: false.
    pub rewind: bool,
    /// Keeps the last seconds of play at hand. Default: none.
    pub flight: Option<FlightRecorder>,
    /// How writes to authoritative state between ticks are found. Default: [`Guard::Full`] in debug builds, else
    /// [`Guard::Ticks`].
    pub guard: Guard,
}

impl Default for ReplayPlugin {
    fn default() -> Self {
        Self {
            game: String::new(),
            rules: 0,
            version: String::new(),
            seed: 0,
            order: TickOrder::default(),
            digest_interval: 1,
            detail: Detail::default(),
            limits: RecorderLimits::default(),
            trust_change_ticks: false,
            keyframe_bytes: 64 << 20,
            rewind: false,
            flight: None,
            guard: Guard::default(),
        }
    }
}

impl ReplayPlugin {
    /// Makes the plugin for a game.
    #[must_use]
    pub fn new(game: impl Into<String>) -> Self {
        Self { game: game.into(), ..Self::default() }
    }

    /// Sets [`rules`](Self::rules).
    #[must_use]
    pub fn rules(self, rules: u32) -> Self {
        Self { rules, ..self }
    }

    /// Sets [`version`](Self::version).
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        Self { version: version.into(), ..self }
    }

    /// Sets [`seed`](Self::seed).
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets [`order`](Self::order).
    #[must_use]
    pub fn order(self, order: TickOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets [`detail`](Self::detail).
    #[must_use]
    pub fn detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// Sets [`digest_interval`](Self::digest_interval).
    #[must_use]
    pub fn digest_interval(self, digest_interval: u64) -> Self {
        Self { digest_interval, ..self }
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn limits(self, limits: RecorderLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets [`trust_change_ticks`](Self::trust_change_ticks).
    #[must_use]
    pub fn trust_change_ticks(self, trust_change_ticks: bool) -> Self {
        Self { trust_change_ticks, ..self }
    }

    /// Sets [`keyframe_bytes`](Self::keyframe_bytes).
    #[must_use]
    pub fn keyframe_bytes(self, keyframe_bytes: usize) -> Self {
        Self { keyframe_bytes, ..self }
    }

    /// Sets [`rewind`](Self::rewind).
    #[must_use]
    pub fn rewind(self, rewind: bool) -> Self {
        Self { rewind, ..self }
    }

    /// Sets [`flight`](Self::flight).
    #[must_use]
    pub fn flight(self, flight: FlightRecorder) -> Self {
        Self { flight: Some(flight), ..self }
    }

    /// Sets [`guard`](Self::guard).
    #[must_use]
    pub fn guard(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }
}

impl Plugin for ReplayPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<SimTick>().init_resource::<Deck>().init_resource::<Core>().init_resource::<StartGate>();
        app.insert_resource(Seed(self.seed));
        runtime::with(app.world_mut(), |_, runtime| runtime.settings = self.clone());
        app.world_mut().get_resource_or_init::<crate::state::sim_id::SimIds>();
        // Not in `Last`, which most apps would run for this alone.
        app.add_systems(Main, runtime::between_ticks.after(Main::run_main));
        tick::border::install(app);
        tick::order::install(app, self.order);
        tick::phase::install(app);
        transport::install(app);
    }

    fn finish(&self, app: &mut App) {
        runtime::with(app.world_mut(), |world, runtime| runtime.freeze(world));
    }
}
