//! Runs an app without a window: records it, plays tapes in it, compares it.

#[cfg(feature = "testing")]
mod attempt;
mod checks;
mod compare;
mod drive;
mod error;
mod run;
mod scramble;
mod travel;

use crate::deck::{Deck, DeckError, Detail, PlayOptions};
#[cfg(feature = "testing")]
use crate::plugin::Seed;
use crate::runtime::{self, Runtime};
use crate::tick::TickOrder;
use crate::tick::order::BuildSettings;
use bevy_app::{Plugins, prelude::*};
use bevy_ecs::prelude::*;
use bevy_replay_tape::{
    Changes, Comparison, Expectation, Header, HeaderDifference, Report, Tape, TapeError, TickInput, Track,
    encode_to_vec,
};
use bevy_time::TimePlugin;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use checks::Leak;
pub use error::ReplayError;
pub use run::Run;
pub use travel::{Arrival, TimeTravel};

/// An app without a window that runs ticks as fast as it can.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # #[derive(Resource, Default, Clone, TickInput)] struct Steer { x: i8 }
/// # #[derive(Component, Canonical)] struct Hero { x: i32 }
/// fn game(app: &mut App) {
///     app.add_plugins(ReplayPlugin::new("my_game")).record_input::<Steer>().register_authoritative::<Hero>();
///     app.add_systems(Startup, |mut commands: Commands| { commands.spawn(Hero { x: 0 }); });
///     app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += i32::from(steer.x));
/// }
/// let recorded = Headless::new(game).inputs([1, 1, 0, -1].map(|x| Steer { x })).run()?;
/// assert_eq!(recorded.single::<Hero>()?.x, 1);
/// Headless::new(game).verify(recorded.tape())?.assert_verified();
/// # Ok::<(), ReplayError>(())
/// ```
#[expect(missing_debug_implementations, reason = "an app cannot be printed")]
pub struct Headless {
    app: App,
    pacing: Pacing,
    executor: Executor,
    feed: Tape,
    checks: Vec<(u64, Check)>,
    expectations: Vec<String>,
    /// Those that are not looked at yet, the first one last.
    expected: Vec<Expectation>,
    detail: Option<Detail>,
    seed: Option<u64>,
    time_max: Option<Duration>,
    /// How much of it is used up.
    time_spent: Duration,
    frame: usize,
}

type Check = Box<dyn FnOnce(&mut World)>;

/// How many ticks a frame runs. A replay must not depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pacing {
    /// Exactly so many in each frame. Default: 1.
    TicksPerFrame(u32),
    /// As many as fit, for frames of these lengths, over and over, as in a windowed game.
    Frames(Vec<Duration>),
}

/// On which executor the schedules run. A replay must not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Executor {
    /// All schedules on one thread. Default: a light tick takes 3 µs instead of 200.
    #[default]
    SingleThreaded,
    /// As the app has them.
    AsBuilt,
}

/// Where a tape comes from: a path, a reference or a value.
pub trait TapeSource {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// [`TapeError`] if it cannot be read.
    fn tape(self) -> Result<Arc<Tape>, TapeError>;
}

macro_rules! tape_sources {
    ($($t:ty: $source:ident => $tape:expr;)*) => {$(
        impl TapeSource for $t {
            fn tape(self) -> Result<Arc<Tape>, TapeError> {
                let $source = self;
                Ok($tape)
            }
        }
    )*};
}
tape_sources! {
    Arc<Tape>: tape => tape;
    &Arc<Tape>: tape => tape.clone();
    Tape: tape => Arc::new(tape);
    &Tape: tape => Arc::new(tape.clone());
    &Path: path => Arc::new(Tape::load(path)?);
    PathBuf: path => Arc::new(Tape::load(path)?);
    &PathBuf: path => Arc::new(Tape::load(path)?);
    &str: path => Arc::new(Tape::load(path)?);
}

impl Headless {
    /// Makes an app with time and task pools, and adds the game to it: a plugin, or a function that takes the app.
    #[must_use]
    pub fn new<M>(game: impl Plugins<M>) -> Self {
        let mut app = App::new();
        app.add_plugins((TaskPoolPlugin::default(), TimePlugin)).add_plugins(game);
        Self::from_app(app)
    }

    /// Takes a whole app that was not run yet. It must not need a window.
    #[must_use]
    pub fn from_app(app: App) -> Self {
        Self {
            app,
            pacing: Pacing::TicksPerFrame(1),
            executor: Executor::default(),
            feed: Tape::new(Header::default()),
            checks: Vec::new(),
            expectations: Vec::new(),
            expected: Vec::new(),
            detail: None,
            seed: None,
            time_max: None,
            time_spent: Duration::ZERO,
            frame: 0,
        }
    }

    /// Sets how many ticks a frame runs.
    #[must_use]
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// Sets on which executor the schedules run.
    #[must_use]
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }

    /// Has systems whose order the game leaves open follow this rule, instead of the plugin's setting.
    #[must_use]
    pub fn order(mut self, order: TickOrder) -> Self {
        self.app.world_mut().get_resource_or_init::<BuildSettings>().order = order;
        self.with(|_, runtime| runtime.settings.order = order);
        self
    }

    /// Sets how much a recording says of the state, instead of the plugin's setting.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.detail = Some(detail);
        self
    }

    /// Records without the limits that the game has set.
    #[cfg(feature = "testing")]
    pub(crate) fn unlimited(mut self) -> Self {
        let limits = crate::RecorderLimits { ticks: u64::MAX, bytes: u64::MAX };
        self.with(|_, runtime| runtime.settings.limits = limits);
        self
    }

    /// Empties [derived state](crate::ReplayAppExt::derived) before each tick: digests must not change.
    ///
    /// Where they do, the state is read before it is rebuilt; rebuild it earlier, or make it authoritative.
    #[must_use]
    pub fn clear_derived(mut self) -> Self {
        self.with(|_, runtime| runtime.clears_derived = true);
        self
    }

    /// Whether the game has derived state.
    #[cfg(feature = "testing")]
    pub(crate) fn has_derived(&mut self) -> bool {
        self.with(|_, runtime| !runtime.registry.derived.is_empty())
    }

    /// What was noticed at the borders of ticks.
    #[cfg(feature = "testing")]
    pub(crate) fn findings(&mut self) -> Vec<String> {
        self.with(|_, runtime| runtime.findings.clone())
    }

    #[cfg(feature = "testing")]
    pub(crate) fn world_mut(&mut self) -> &mut World {
        self.app.world_mut()
    }

    /// Sets the master seed, instead of the plugin's.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Gives the run up when it has taken so long, on the wall clock: for tapes of strangers. Default: never.
    #[must_use]
    pub fn time_max(mut self, time: Duration) -> Self {
        self.time_max = Some(time);
        self
    }

    /// Gives one input per tick, from the first tick on. May be called once for each recorded type.
    ///
    /// A type with fewer inputs than another is released when it has no more.
    #[must_use]
    pub fn inputs<T: TickInput>(mut self, inputs: impl IntoIterator<Item = T>) -> Self {
        let mut changes = Changes::default();
        let mut ticks = 0;
        for input in inputs {
            changes.record(ticks, &encode_to_vec(&input));
            ticks += 1;
        }
        changes.record(ticks, &encode_to_vec(&T::default()));
        self.feed.end.tick_count = self.feed.end.tick_count.max(ticks);
        self.feed.tracks.push(Track { name: T::type_name(), schema: Arc::new(T::schema()), changes });
        self
    }

    /// Looks at the world after so many ticks of the run that follows.
    #[must_use]
    pub fn at(mut self, ticks: u64, check: impl FnOnce(&mut World) + 'static) -> Self {
        self.checks.push((ticks, Box::new(check)));
        self
    }

    /// Expects the state to be so in the run that follows: `tick 300 [sim:4] Player.on_ground == false`, see
    /// [`Expectation`]. Where it is not, the run fails with [`ReplayError::Expectation`].
    ///
    /// The first state that can be looked at is that after one tick: start-up runs with the first tick.
    ///
    /// [`replay_inputs`](Self::replay_inputs) also expects what the tape's header does.
    #[must_use]
    pub fn expect(mut self, line: impl Into<String>) -> Self {
        self.expectations.push(line.into());
        self
    }

    /// Runs as many ticks as there are inputs, and records them.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the game cannot be run or recorded.
    pub fn run(self) -> Result<Run, ReplayError> {
        let ticks = self.feed.tick_count();
        self.record(ticks)
    }

    /// Runs so many ticks, with the given inputs and then with the game's own, and records them.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the game cannot be run or recorded.
    pub fn record(mut self, ticks: u64) -> Result<Run, ReplayError> {
        self.start()?;
        if !self.feed.tracks.is_empty() {
            let feed = core::mem::replace(&mut self.feed, Tape::new(Header::default()));
            self.feed_inputs(feed)?;
        }
        self.deck().record();
        self.drive(ticks)?;
        self.check_reached()?;
        let tape = self.with(|world, runtime| {
            runtime.end_recording(world, bevy_replay_tape::EndReason::Stopped);
            world.resource::<Deck>().tape().cloned()
        });
        let tape = tape.unwrap_or_else(|| Arc::new(Tape::new(self.header()))); // no tick, no recording
        Ok(self.into_run(None, Some(tape)))
    }

    /// Plays a tape and compares digests; goes on after a difference, to see whether it heals.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read or is refused. A divergence is a result, not an error:
    /// see [`Run::report`], [`Run::verified`] and [`Run::assert_verified`].
    pub fn verify(self, tape: impl TapeSource) -> Result<Run, ReplayError> {
        self.play(tape.tape()?, PlayOptions::verify())
    }

    /// Plays a tape that would be refused, and compares digests; the result is unverified.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read or played.
    pub fn force(self, tape: impl TapeSource) -> Result<Run, ReplayError> {
        self.play(tape.tape()?, PlayOptions { force: true, ..PlayOptions::verify() })
    }

    /// Plays the inputs of a tape; its digests are ignored, and other rules are accepted.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read or its inputs do not fit the game.
    pub fn replay_inputs(self, tape: impl TapeSource) -> Result<Run, ReplayError> {
        self.play(tape.tape()?, PlayOptions::inputs_only())
    }

    /// Plays a tape and compares digests; other rules are accepted, and told in the report.
    #[cfg(feature = "testing")]
    pub(crate) fn examine(self, tape: Arc<Tape>) -> Result<Run, ReplayError> {
        self.play(tape, PlayOptions { compare: true, ..PlayOptions::inputs_only() })
    }

    /// Plays the inputs of a tape, and the tick after its last: the one in which the game died, when its tape is unfinished.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read or its inputs do not fit the game; a panic of the game is a panic here.
    pub fn replay_to_crash(mut self, tape: impl TapeSource) -> Result<Run, ReplayError> {
        let tape = tape.tape()?;
        self.begin(&tape, PlayOptions { forget: true, ..PlayOptions::inputs_only() }.held())?;
        self.drive(tape.ticks().end + 1)?;
        Ok(self.into_run(None, None))
    }

    fn play(mut self, tape: Arc<Tape>, options: PlayOptions) -> Result<Run, ReplayError> {
        self.begin(&tape, PlayOptions { forget: true, ..options })?;
        self.drive(tape.ticks().end)?;
        self.check_reached()?;
        let report = match options.compares() {
            true => Some(self.finished_report(&tape)?),
            false => None,
        };
        Ok(self.into_run(report, None))
    }

    /// Starts the app with the tape in its deck; refuses before anything has run.
    fn begin(&mut self, tape: &Arc<Tape>, options: PlayOptions) -> Result<(), ReplayError> {
        self.seed.get_or_insert(tape.header.seed);
        self.start()?;
        let mut differences = self.refusals(tape, options);
        if !differences.is_empty() && differences.iter().all(|row| row.field == "timestep") {
            self.app.update(); // a frame without a tick: start-up systems may set it
            differences = self.refusals(tape, options);
        }
        if !differences.is_empty() && !options.force {
            return Err(DeckError::Refused { differences }.into());
        }
        // Start-up systems may look at them.
        #[cfg(feature = "plan")]
        self.with(|world, runtime| runtime.registry.load_plans(world, tape)).map_err(DeckError::from)?;
        if options.inputs_only && !options.compare {
            self.expectations.extend(tape.header.expectations.iter().cloned());
        }
        self.deck().play(tape.clone(), options);
        Ok(())
    }

    fn refusals(&mut self, tape: &Tape, options: PlayOptions) -> Vec<HeaderDifference> {
        self.with(|world, runtime| runtime.refusals(world, tape, &runtime.header(world, 0), options))
    }

    fn finished_report(&mut self, tape: &Tape) -> Result<Report, ReplayError> {
        if tape.tick_count() == 0 {
            let header = self.header();
            let empty = Comparison::new(&tape.header, &header).finish(0, 0);
            return Ok(self.with(|world, runtime| runtime.report(world, empty, tape)));
        }
        let report = self.app.world().resource::<Deck>().report().cloned();
        Ok(report.expect("a replay that ran to its end has a report"))
    }

    fn feed_inputs(&mut self, mut feed: Tape) -> Result<(), ReplayError> {
        let header = self.header();
        for (index, track) in feed.tracks.iter().enumerate() {
            let fits =
                |spec: &bevy_replay_tape::TypeSpec| spec.name == track.name && spec.schema.same_encoding(&track.schema);
            if !header.tracks.iter().any(fits) {
                return Err(ReplayError::NotRecorded { name: track.name.clone() });
            }
            if feed.tracks[..index].iter().any(|other| other.name == track.name) {
                return Err(ReplayError::InputsTwice { name: track.name.clone() });
            }
        }
        let end = feed.end;
        feed.header = header;
        feed.end = end;
        self.deck().play(feed, PlayOptions { keep_clock: true, forget: true, ..PlayOptions::inputs_only() });
        Ok(())
    }

    /// The seed the game has by itself.
    #[cfg(feature = "testing")]
    pub(crate) fn master_seed(&self) -> u64 {
        self.app.world().get_resource::<Seed>().map_or(0, |seed| seed.0)
    }

    fn deck(&mut self) -> Mut<'_, Deck> {
        self.app.world_mut().resource_mut::<Deck>()
    }

    fn with<R>(&mut self, run: impl FnOnce(&mut World, &mut Runtime) -> R) -> R {
        runtime::with(self.app.world_mut(), run)
    }

    fn header(&mut self) -> Header {
        self.with(|world, runtime| runtime.header(world, 0))
    }

    fn into_run(mut self, report: Option<Report>, tape: Option<Arc<Tape>>) -> Run {
        let claims = self.with(|_, runtime| runtime.claimed.take()).unwrap_or_default();
        Run::new(self.app, report, tape, claims)
    }
}
