//! The audit: one tape under perturbations that must not matter.

mod perturb;
mod report;
#[cfg(feature = "cli")]
pub(crate) mod threads;

use crate::headless::Leak;
use crate::state::coverage;
use crate::tick::{AmbiguousPair, AmbiguousPairs};
use crate::{Headless, ReplayError, TapeSource};
use bevy_replay_tape::{Digests, Image, Start, Tape};
use perturb::Perturbation;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub use report::{AuditOutcome, AuditReport, AuditRow};

/// Plays one tape again and again under perturbations that must not matter, and says which do.
///
/// Ticks per frame, executors, threads, other legal orders of systems, other entities and archetypes, derived state that
/// was cleared, a second run in the process, jumps, and states that were put into a new app: each is a row of the
/// [`AuditReport`]. A difference is reported as [`compare_with`](Headless::compare_with) does.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::{prelude::*, testing::Audit};
/// # #[derive(Resource, Default, Clone, TickInput)] struct Steer { x: i8 }
/// # #[derive(Component, Canonical)] struct Hero { x: i32 }
/// # fn game(app: &mut App) {
/// #     app.add_plugins(ReplayPlugin::new("my_game")).record_input::<Steer>().register_authoritative::<Hero>();
/// #     app.add_systems(Startup, |mut commands: Commands| { commands.spawn(Hero { x: 0 }); });
/// #     app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += i32::from(steer.x));
/// # }
/// let tape = Headless::new(game).inputs([1, 1, 0, -1].map(|x| Steer { x })).run()?.tape().clone();
/// let report = Audit::new(|| Headless::new(game)).run(tape)?;
/// assert!(report.is_clean(), "{report}");
/// # Ok::<(), ReplayError>(())
/// ```
#[expect(missing_debug_implementations, reason = "holds functions")]
pub struct Audit<G> {
    make: G,
    shuffles: u64,
    every: u64,
    #[cfg(feature = "cli")]
    child: Option<threads::Child>,
    progress: Box<dyn FnMut(&str)>,
}

impl<G: Fn() -> Headless + Clone + 'static> Audit<G> {
    /// Makes the audit of a game, which is made again and again.
    pub fn new(make: G) -> Self {
        Self {
            make,
            shuffles: 16,
            every: 60,
            #[cfg(feature = "cli")]
            child: None,
            progress: Box::new(|_| {}),
        }
    }

    /// Sets how many other legal orders of systems are tried. Default: 16.
    #[must_use]
    pub fn shuffles(self, shuffles: u64) -> Self {
        Self { shuffles, ..self }
    }

    /// Sets after how many ticks each the state is put into a new app. Default: 60.
    #[must_use]
    pub fn restored_every(self, ticks: u64) -> Self {
        Self { every: ticks, ..self }
    }

    /// Sets how this program is started to play the tape on other numbers of threads.
    #[cfg(feature = "cli")]
    #[must_use]
    pub(crate) fn child(self, child: threads::Child) -> Self {
        Self { child: Some(child), ..self }
    }

    /// Is called with the name of each row before it is tried.
    #[must_use]
    pub fn progress(self, progress: impl FnMut(&str) + 'static) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Carries it out.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read, or not be played in the game as it is.
    pub fn run(mut self, tape: impl TapeSource) -> Result<AuditReport, ReplayError> {
        let tape = tape.tape()?;
        let straight = (self.make)().straight(&tape, u64::MAX)?;
        let mut game = straight.game;
        let mut ambiguous = game.world_mut().get_resource::<AmbiguousPairs>().cloned().unwrap_or_default().pairs;
        ambiguous.retain(|pair| !pair.shared.is_empty());
        let untested = coverage(game.world_mut()).order_untested;
        let (has_derived, findings) = (game.has_derived(), game.findings());
        drop(game);
        let expected = expected(&tape, straight.roots, straight.initial);

        let mut report = AuditReport { rows: Vec::new(), ambiguous, untested, findings };
        let twice = perturb::none();
        (self.progress)(&twice.name);
        let outcome = self.perturbed(&twice, &tape, &expected, &report.ambiguous);
        let is_hopeless = !matches!(outcome, AuditOutcome::Equal);
        report.push(twice.name, outcome);
        if is_hopeless {
            report.push("everything else", AuditOutcome::NotTested("two runs alike differ already".into()));
            return Ok(report);
        }
        for perturbation in perturb::all(&tape, self.shuffles) {
            (self.progress)(&perturbation.name);
            let outcome = match perturbation.not_tested(has_derived) {
                Some(why) => AuditOutcome::NotTested(why.into()),
                None => self.perturbed(&perturbation, &tape, &expected, &report.ambiguous),
            };
            report.push(perturbation.name, outcome);
        }
        #[cfg(feature = "cli")]
        if let Some(child) = &self.child {
            (self.progress)(threads::NAME);
            report.push(threads::NAME, child.play(&expected));
        }
        let every = self.every.max(1);
        let restored = format!("restored at every {every}th tick");
        (self.progress)(&restored);
        report.push(restored, leaks(|| Headless::rejoin(self.make.clone(), &tape, every)));
        let seeks = "40 seeks, and straight on";
        (self.progress)(seeks);
        report.push(seeks, leaks(|| Headless::seeks(self.make.clone(), &tape, 40, 1)));
        Ok(report)
    }

    /// Plays the tape in each variant until one differs, and that one again beside the game as it is.
    fn perturbed(
        &self,
        perturbation: &Perturbation,
        tape: &Arc<Tape>,
        expected: &Arc<Tape>,
        ambiguous: &[AmbiguousPair],
    ) -> AuditOutcome {
        for (variant, perturb) in &perturbation.variants {
            let make = || perturb((self.make)());
            let variant = variant.clone();
            let report = match caught(|| make().compare(expected)) {
                None => return AuditOutcome::Panicked { variant },
                Some(Err(error)) => return AuditOutcome::Failed { variant, error: error.to_string() },
                Some(Ok(report)) => report,
            };
            if report.is_verified() {
                continue;
            }
            let both = caught(|| (self.make)().compare_with(make(), tape));
            // On threads, or by chance, the second time may be like the first.
            let report = both.and_then(Result::ok).filter(|report| !report.is_verified()).unwrap_or(report);
            let startup = |pair: &&AmbiguousPair| pair.schedule.ends_with("Startup");
            let startup = ambiguous.iter().filter(startup).cloned().collect();
            return AuditOutcome::Differs { variant, report: Box::new(report), startup };
        }
        AuditOutcome::Equal
    }
}

/// Runs a check of its own.
fn leaks(check: impl FnOnce() -> Result<Option<Leak>, ReplayError>) -> AuditOutcome {
    let variant = String::new();
    match caught(check) {
        None => AuditOutcome::Panicked { variant },
        Some(Err(error)) => AuditOutcome::Failed { variant, error: error.to_string() },
        Some(Ok(leak)) => leak.map_or(AuditOutcome::Equal, AuditOutcome::Leaks),
    }
}

/// What panics only under a perturbation is a finding, and the rows that follow are still of use.
fn caught<R>(run: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

/// The tape with the digests of straight playback in this program.
fn expected(tape: &Tape, roots: Vec<u64>, initial: Option<Image>) -> Arc<Tape> {
    let mut expected = tape.clone();
    if tape.header.start == Start::Gate {
        expected.initial = initial;
    }
    expected.header.root_interval = 1;
    expected.digests = Digests { roots, ..Digests::default() };
    expected.values.clear();
    Arc::new(expected)
}
