//! Makes a tape that fails as short as it gets.
//!
//! The tape is cut behind the tick in which it fails. Then whole tracks are left out, then runs of equal input, many at
//! a time, down to single ones (*ddmin*); then ticks in which nothing changes, then the ends of what is held, then
//! single fields; and again, until nothing more can go or time is up.

mod edit;
mod minimize;
mod quiet;

use crate::headless::TapeSource;
use crate::{Headless, ReplayError};
use bevy_replay_tape::{EndReason, ExpectationError, Tape, TapeError, TypeSpec};
use core::fmt;
use core::ops::ControlFlow;
use core::time::Duration;
use edit::Rest;
use minimize::{Fails, ddmin, smallest};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::Xxh3;

pub(crate) use quiet::is_attempt;

/// Finds a shorter tape that fails in the same way.
///
/// What counts as failing is a panic, or an expectation on the tape that is not met, whichever comes first; or what one
/// of [`panics`](Self::panics), [`expectations`](Self::expectations), [`expectation`](Self::expectation),
/// [`diverges_from`](Self::diverges_from), [`fails_when`](Self::fails_when) says. The last of them that is called holds.
///
/// The result is a tape of inputs, to be played with [`Headless::replay_inputs`]: the digests and values of the longer
/// tape would not hold any more. Its last tick is the one in which it fails. Nothing on it can be left out by itself;
/// a shorter tape that fails in another way is not looked for.
///
/// Each try makes the game anew. Tries record nothing, save nothing that this crate saves, and print neither panics nor
/// logs of the thread that runs them; what the game itself writes to files or prints, it does in each of them. Panics
/// are caught, so the program must not be built with `panic = "abort"`.
///
/// # Determinism
///
/// The same tape and the same game give the same result, unless time runs out.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// use bevy_replay::testing::Shrink;
/// # #[derive(Resource, Default, Clone, TickInput)] struct Keys { left: bool, #[once] fire: bool }
/// # #[derive(Component, Canonical)] struct Ammo(u32);
/// # fn game(shots: u32) -> impl Fn(&mut App) + Clone + Send + Sync + 'static {
/// #     move |app: &mut App| {
/// #         app.add_plugins(ReplayPlugin::new("my_game")).record_input::<Keys>().register_authoritative::<Ammo>();
/// #         app.add_systems(Startup, move |mut commands: Commands| { commands.spawn(Ammo(shots)); });
/// #         app.add_systems(FixedUpdate, |keys: Res<Keys>, mut ammo: Single<&mut Ammo>| {
/// #             if keys.fire { ammo.0 = ammo.0.checked_sub(1).expect("no ammo") }
/// #         });
/// #     }
/// # }
/// # let inputs = (0..600).map(|tick| Keys { left: tick % 7 < 3, fire: tick % 20 == 19 });
/// # let recorded = Headless::new(game(100)).inputs(inputs).run()?;
/// # let (game, tape) = (game(2), recorded.tape());
/// // 600 ticks of a player who runs about and shoots; at the third shot the game panics
/// let shrunk = Shrink::new(|| Headless::new(game.clone()), tape).run()?;
/// assert_eq!(shrunk.after.to_string(), "3 ticks, 1 input change");
/// assert!(shrunk.failure.ends_with("no ammo"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[expect(missing_debug_implementations, reason = "holds functions")]
pub struct Shrink<'a> {
    make: Make<'a>,
    tape: Result<Arc<Tape>, TapeError>,
    failing: Failing<'a>,
    /// What is expected besides the tape's own.
    expectations: Vec<String>,
    time_max: Duration,
    on_better: OnBetter<'a>,
}

type Make<'a> = Box<dyn Fn() -> Headless + 'a>;
type OnBetter<'a> = Box<dyn FnMut(&Tape, &Progress) + 'a>;

/// What counts as failing.
enum Failing<'a> {
    PanicOrExpectation,
    Panic,
    Expectation,
    Divergence(Make<'a>),
    Function(Box<dyn Fn(&Tape) -> bool + 'a>),
}

/// How long a tape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapeSize {
    /// Ticks.
    pub ticks: u64,
    /// Changes of all recorded inputs, the first values among them.
    pub input_changes: usize,
}

impl TapeSize {
    fn of(tape: &Tape) -> Self {
        Self { ticks: tape.tick_count(), input_changes: edit::change_count(tape) }
    }
}

impl fmt::Display for TapeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |is_one: bool| if is_one { "" } else { "s" };
        let Self { ticks, input_changes } = self;
        write!(f, "{ticks} tick{}, ", plural(*ticks == 1))?;
        write!(f, "{input_changes} input change{}", plural(*input_changes == 1))
    }
}

/// How far shrinking has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// How often a tape was played.
    pub tries: u32,
    /// The shortest tape that fails, so far.
    pub size: TapeSize,
    /// Since the beginning.
    pub elapsed: Duration,
}

/// A shorter tape that fails in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shrunk {
    /// The tape. Its notes say what it was made of, and how it fails.
    pub tape: Tape,
    /// How it fails, in one line: `panicked at src/game.rs:12:5: no ammo`.
    pub failure: String,
    /// The length of the tape that was given.
    pub before: TapeSize,
    /// The length of the shorter tape.
    pub after: TapeSize,
    /// How often a tape was played.
    pub tries: u32,
    /// Whether time ran out before everything was tried.
    pub is_out_of_time: bool,
}

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tape: _, failure, before, after, tries: _, is_out_of_time } = self;
        write!(f, "shrunk: {before} -> {after}; still fails: {failure}")?;
        if *is_out_of_time { f.write_str(" (out of time: it may get shorter)") } else { Ok(()) }
    }
}

/// Why a tape was not shrunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShrinkError {
    /// The tape could not be read.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The tape could not be played.
    #[error("the tape cannot be played: {0}")]
    Unplayable(Box<ReplayError>),
    /// The tape does not fail in the way that was asked for.
    #[error("the tape does not fail in this way: {found}")]
    DoesNotFail {
        /// What was tried, and what came of it.
        found: String,
    },
    /// The tape failed once, and not again, or in another way.
    #[error(
        "the tape fails, but not each time: first it {first}; up to there, played again, it {second} (shrink what is \
         deterministic; `Headless::twice` and docs/debugging.md help to find why this is not)"
    )]
    Unsteady {
        /// How it failed.
        first: String,
        /// What came of the second time.
        second: String,
    },
}

impl<'a> Shrink<'a> {
    /// Takes a tape that fails. `make` makes the game, anew for each try.
    #[must_use]
    pub fn new(make: impl Fn() -> Headless + 'a, tape: impl TapeSource) -> Self {
        Self {
            make: Box::new(make),
            tape: tape.tape(),
            failing: Failing::PanicOrExpectation,
            expectations: Vec::new(),
            time_max: Duration::from_secs(60),
            on_better: Box::new(|_, _| {}),
        }
    }

    /// The tape fails if the game panics. It must be the same panic: at the same place in the source, with the same first
    /// line of the message except for its numbers.
    ///
    /// What the tape expects goes on being expected: where it is not so before the panic, the panic does not come.
    #[must_use]
    pub fn panics(mut self) -> Self {
        self.failing = Failing::Panic;
        self
    }

    /// The tape fails if the first expectation in its header that is not met now is not met, whatever the value is then.
    ///
    /// Expectations stay at their ticks, so no tick before them is left out. They should hold whatever the player does:
    /// `Player.on_ground == true` can be shrunk, `Score.0 == 300` is not met without any input either.
    #[must_use]
    pub fn expectations(mut self) -> Self {
        self.failing = Failing::Expectation;
        self
    }

    /// As [`expectations`](Self::expectations), with this line besides, which is on the shorter tape, too.
    #[must_use]
    pub fn expectation(mut self, line: impl Into<String>) -> Self {
        self.expectations.push(line.into());
        self.expectations()
    }

    /// The tape fails if the game and another one (another version, another order of systems) part on it; see
    /// [`Headless::compare_with`]. Any difference counts.
    #[must_use]
    pub fn diverges_from(mut self, other: impl Fn() -> Headless + 'a) -> Self {
        self.failing = Failing::Divergence(Box::new(other));
        self
    }

    /// The tape fails if the function says so. It has to play the tape itself; a panic of it says no.
    #[must_use]
    pub fn fails_when(mut self, fails: impl Fn(&Tape) -> bool + 'a) -> Self {
        self.failing = Failing::Function(Box::new(fails));
        self
    }

    /// Sets when to stop, on the wall clock. Default: 60 s.
    ///
    /// Whatever it is, the tape is played twice: once to see how it fails, once cut behind that tick. A try is stopped
    /// between two frames; a tick that never ends is not.
    #[must_use]
    pub fn time_max(mut self, time: Duration) -> Self {
        self.time_max = time;
        self
    }

    /// Has a function look at each tape that is better than all before: to save it, or to show how far things are.
    ///
    /// The first is the tape cut behind the tick in which it fails.
    #[must_use]
    pub fn on_better(mut self, better: impl FnMut(&Tape, &Progress) + 'a) -> Self {
        self.on_better = Box::new(better);
        self
    }

    /// Shrinks the tape.
    ///
    /// # Errors
    ///
    /// [`ShrinkError`] if the tape cannot be read or played, does not fail, or does not fail each time.
    pub fn run(self) -> Result<Shrunk, ShrinkError> {
        let Self { make, tape, failing, expectations, time_max, on_better } = self;
        let started = now();
        let original = tape?;
        let player = Player { make, failing };
        let mut whole = edit::inputs_of(&original);
        for line in expectations {
            if !whole.header.expectations.contains(&line) {
                whole.header.expectations.push(line);
            }
        }
        // Of a recording that ended with the game, the tick in which that was is not on the tape.
        let has_died = whole.end.reason == EndReason::Unfinished;
        let first = player.play(&whole, whole.ticks().end + u64::from(has_died), None);
        let first = match first.map_err(Box::new).map_err(ShrinkError::Unplayable)? {
            Outcome::Fails(failure) => failure,
            Outcome::Holds(found) => return Err(ShrinkError::DoesNotFail { found }),
        };
        let cut = edit::ending_at(&whole, first.tick_end);
        let failure = match player.play(&cut, cut.ticks().end, None) {
            Ok(Outcome::Fails(failure)) if failure.kind == first.kind => failure,
            Ok(Outcome::Fails(Failure { text: second, .. }) | Outcome::Holds(second)) => {
                return Err(ShrinkError::Unsteady { first: first.text, second });
            }
            Err(error) => return Err(ShrinkError::Unsteady { first: first.text, second: error.to_string() }),
        };
        let known = player.inputs_at_rest();
        let mut search = Search {
            player,
            original: original.id(),
            rests: cut.tracks.iter().map(|track| Rest::of(track, &known)).collect(),
            tried: BTreeSet::from([fingerprint(&cut)]),
            best: cut,
            failure,
            tries: 2,
            started,
            time_max,
            on_better,
        };
        search.tell();
        let is_out_of_time = search.run().is_break();
        let tape = search.noted();
        Ok(Shrunk {
            failure: search.failure.text,
            before: TapeSize::of(&original),
            after: TapeSize::of(&tape),
            tape,
            tries: search.tries,
            is_out_of_time,
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a limit on the search, which reaches no tick")]
fn now() -> Instant {
    Instant::now()
}

/// How a tape failed.
struct Failure {
    /// What has to be equal for another failure to be the same.
    kind: String,
    /// The line for people.
    text: String,
    /// The tick after the last that it takes.
    tick_end: u64,
    /// Whether it is about a certain tick, so that none may be left out.
    is_at_tick: bool,
}

enum Outcome {
    Fails(Failure),
    /// What came of it instead.
    Holds(String),
}

/// Plays tapes, and says whether they fail.
struct Player<'a> {
    make: Make<'a>,
    failing: Failing<'a>,
}

impl Player<'_> {
    /// Plays a tape until so many ticks have run.
    fn play(&self, tape: &Tape, ticks: u64, time_max: Option<Duration>) -> Result<Outcome, ReplayError> {
        let tape = Arc::new(tape.clone());
        match &self.failing {
            Failing::PanicOrExpectation | Failing::Panic | Failing::Expectation => {
                self.play_to_failure(&tape, ticks, time_max)
            }
            Failing::Divergence(other) => self.play_beside(other, &tape, time_max),
            Failing::Function(fails) => Ok(match quiet::attempt(|| fails(&tape)) {
                Ok(true) => Outcome::Fails(Failure {
                    kind: "function".into(),
                    text: "the function says so".into(),
                    tick_end: tape.ticks().end,
                    is_at_tick: false,
                }),
                Ok(false) => Outcome::Holds("the function says that it does not".into()),
                Err(panic) => Outcome::Holds(format!("the function {panic}")),
            }),
        }
    }

    fn play_to_failure(
        &self,
        tape: &Arc<Tape>,
        ticks: u64,
        time_max: Option<Duration>,
    ) -> Result<Outcome, ReplayError> {
        let mut game = None;
        let played = quiet::attempt(|| game.insert(limited((self.make)(), time_max)).attempt(tape, ticks));
        let reached = game.as_ref().map_or(0, Headless::ticks_run).max(tape.header.tick_first);
        drop(quiet::attempt(|| drop(game))); // what is left of it may panic again
        let failure = match played {
            Err(panic) => {
                Failure { kind: panic.kind(), text: panic.to_string(), tick_end: reached + 1, is_at_tick: false }
            }
            Ok(Err(ReplayError::Expectation(ExpectationError::NotMet { expectation, got }))) => Failure {
                text: format!("expected {expectation}, got {got}"),
                kind: expectation,
                tick_end: reached,
                is_at_tick: true,
            },
            Ok(Err(error)) => return Err(error),
            Ok(Ok(())) => {
                let ran = format!("{} ticks ran without a panic", tape.tick_count());
                return Ok(Outcome::Holds(match tape.header.expectations.len() {
                    0 => format!(
                        "{ran}, and it expects nothing (say what should be, as in `tick 300 Player.on_ground == true`)"
                    ),
                    _ => format!("{ran}, and all that it expects is so"),
                }));
            }
        };
        Ok(match (&self.failing, failure.is_at_tick) {
            (Failing::Panic, true) | (Failing::Expectation, false) => {
                Outcome::Holds(format!("before that, {}", failure.text))
            }
            _ => Outcome::Fails(failure),
        })
    }

    fn play_beside(
        &self,
        other: &dyn Fn() -> Headless,
        tape: &Arc<Tape>,
        time_max: Option<Duration>,
    ) -> Result<Outcome, ReplayError> {
        let compare = || limited((self.make)(), time_max).compare_with(limited(other(), time_max), tape);
        let report = match quiet::attempt(compare) {
            Ok(report) => report?,
            Err(panic) => return Ok(Outcome::Holds(format!("before the two part, one {panic}"))),
        };
        Ok(match &report.divergence {
            Some(found) => Outcome::Fails(Failure {
                kind: "divergence".into(),
                text: report.to_string().lines().next().unwrap_or_default().into(),
                tick_end: found.tick.unwrap_or(tape.header.tick_first) + 1,
                is_at_tick: false,
            }),
            None => Outcome::Holds(format!("after {} ticks the two have not parted", tape.tick_count())),
        })
    }

    /// What the game's inputs are at rest; nothing where it cannot be made.
    fn inputs_at_rest(&self) -> Vec<(TypeSpec, Vec<u8>)> {
        let inputs = quiet::attempt(|| limited((self.make)(), None).inputs_at_rest().unwrap_or_default());
        inputs.unwrap_or_default()
    }
}

/// A game for one try.
fn limited(game: Headless, time_max: Option<Duration>) -> Headless {
    let mut game = game.leaves_no_trace();
    if let Some(time) = time_max {
        game.limit_time(time);
    }
    game
}

/// The shortest tape so far, and what was tried.
struct Search<'a> {
    player: Player<'a>,
    /// Id of the tape that was given.
    original: String,
    rests: Vec<Rest>,
    best: Tape,
    failure: Failure,
    /// Fingerprints of the tapes that were played.
    tried: BTreeSet<u64>,
    tries: u32,
    started: Instant,
    time_max: Duration,
    on_better: OnBetter<'a>,
}

impl Search<'_> {
    fn run(&mut self) -> ControlFlow<()> {
        if matches!(self.player.failing, Failing::Function(_)) {
            self.cut_end()?;
        }
        loop {
            let before = self.best.clone();
            self.leave_out_tracks()?;
            self.leave_out_segments()?;
            self.leave_out_ticks()?;
            self.shorten_segments()?;
            self.simplify_values()?;
            if self.best == before {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Plays a shorter tape, and keeps it if it fails in the same way.
    fn attempt(&mut self, tape: &Tape) -> Fails {
        if edit::change_count(tape) > edit::change_count(&self.best) || !self.tried.insert(fingerprint(tape)) {
            return ControlFlow::Continue(false);
        }
        let left = self.time_max.saturating_sub(self.started.elapsed());
        if left.is_zero() {
            return ControlFlow::Break(());
        }
        self.tries += 1;
        match self.player.play(tape, tape.ticks().end, Some(left)) {
            Ok(Outcome::Fails(failure)) if failure.kind == self.failure.kind => {
                self.best = edit::ending_at(tape, failure.tick_end);
                self.failure = failure;
                self.tried.insert(fingerprint(&self.best));
                self.tell();
                ControlFlow::Continue(true)
            }
            // One that cannot be played, or takes too long, does not fail in this way.
            _ => ControlFlow::Continue(false),
        }
    }

    /// For what does not say in which tick it fails.
    fn cut_end(&mut self) -> ControlFlow<()> {
        let whole = self.best.clone();
        let first = whole.header.tick_first;
        smallest(0, whole.tick_count(), |ticks| self.attempt(&edit::ending_at(&whole, first + ticks)))?;
        ControlFlow::Continue(())
    }

    fn leave_out_tracks(&mut self) -> ControlFlow<()> {
        let base = self.best.clone();
        let segments = edit::segments(&base, &self.rests);
        let tracks: BTreeSet<usize> = segments.iter().map(|segment| segment.track).collect();
        ddmin(tracks.into_iter().collect(), |kept: &[usize]| {
            let kept: Vec<_> = segments.iter().filter(|segment| kept.contains(&segment.track)).cloned().collect();
            let tape = edit::with_segments(&base, &self.rests, &kept);
            self.attempt(&tape)
        })?;
        ControlFlow::Continue(())
    }

    fn leave_out_segments(&mut self) -> ControlFlow<()> {
        let base = self.best.clone();
        ddmin(edit::segments(&base, &self.rests), |kept| {
            let tape = edit::with_segments(&base, &self.rests, kept);
            self.attempt(&tape)
        })?;
        ControlFlow::Continue(())
    }

    /// From the end, so that what is in front stays where it is.
    fn leave_out_ticks(&mut self) -> ControlFlow<()> {
        if self.failure.is_at_tick {
            return ControlFlow::Continue(());
        }
        for stretch in edit::stretches(&self.best).into_iter().rev() {
            let base = self.best.clone();
            let end = stretch.end.min(base.ticks().end);
            smallest(0, end.saturating_sub(stretch.start), |kept| {
                self.attempt(&edit::without_ticks(&base, &(stretch.start + kept..end)))
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Lets go of what is held earlier, and holds it later.
    fn shorten_segments(&mut self) -> ControlFlow<()> {
        for index in (0..edit::segments(&self.best, &self.rests).len()).rev() {
            for is_tail in [true, false] {
                let base = self.best.clone();
                let all = edit::segments(&base, &self.rests);
                let Some(ticks) = all.get(index).map(|segment| segment.ticks.clone()) else { continue };
                smallest(1, ticks.end - ticks.start, |length| {
                    let mut all = all.clone();
                    all[index].ticks =
                        if is_tail { ticks.start..ticks.start + length } else { ticks.end - length..ticks.end };
                    let tape = edit::with_segments(&base, &self.rests, &all);
                    self.attempt(&tape)
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Field by field, to what it is at rest.
    fn simplify_values(&mut self) -> ControlFlow<()> {
        for index in (0..edit::segments(&self.best, &self.rests).len()).rev() {
            let base = self.best.clone();
            let mut all = edit::segments(&base, &self.rests);
            let Some(track) = all.get(index).map(|segment| segment.track) else { continue };
            loop {
                let schema = &base.tracks[track].schema;
                let mut found = None;
                for value in edit::simpler(schema, &all[index].value, &self.rests[track]) {
                    let mut edited = all.clone();
                    edited[index].value = value;
                    let tape = edit::with_segments(&base, &self.rests, &edited);
                    if self.attempt(&tape)? {
                        found = Some(edited);
                        break;
                    }
                }
                match found {
                    Some(edited) => all = edited,
                    None => break,
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn tell(&mut self) {
        let (tape, size) = (self.noted(), TapeSize::of(&self.best));
        (self.on_better)(&tape, &Progress { tries: self.tries, size, elapsed: self.started.elapsed() });
    }

    /// The best tape, which says where it comes from.
    fn noted(&self) -> Tape {
        let mut tape = self.best.clone();
        let notes = &mut tape.header.notes;
        if !notes.is_empty() {
            notes.push('\n');
        }
        notes.push_str(&format!("shrunk from tape {}: {}", self.original, self.failure.text));
        tape
    }
}

/// What tells apart the tapes that are made of one.
fn fingerprint(tape: &Tape) -> u64 {
    let mut hash = Xxh3::new();
    let number = |hash: &mut Xxh3, number: u64| hash.update(&number.to_le_bytes());
    number(&mut hash, tape.tick_count());
    for track in &tape.tracks {
        number(&mut hash, track.changes.len() as u64);
        for (tick, value) in track.changes.iter() {
            number(&mut hash, tick);
            number(&mut hash, value.len() as u64);
            hash.update(value);
        }
    }
    for change in &tape.clock {
        number(&mut hash, change.tick);
        number(&mut hash, change.timestep_ns);
    }
    hash.digest()
}
