//! Determinism tests: a scenario of the game, run again and again, against digests committed with the code.
//!
//! A [`ReplayTest`] runs a scenario and checks three things:
//!
//! - **(a)** two runs are equal. This needs no baseline.
//! - **(b)** the digests are those of this platform's committed [`Baseline`]. If not, behaviour has changed: the
//!   message names the first tick, entity and field, and the command that approves it.
//! - **(c)** they are those of every *other* platform's committed baseline. A difference is a note, or a failure with
//!   [`cross_platform`](ReplayTest::cross_platform).
//!
//! Baselines are small text files in `tests/baselines`, one per scenario and platform. Beside each lies a tape of at
//! most 256 KiB with the values of its first ticks, from which messages take what was expected.
//!
//! # Approving a change
//!
//! A normal run never writes over a baseline. An intended change is approved by name and with a reason, which goes
//! into the file:
//!
//! ```text
//! BEVY_REPLAY_BLESS=1 BEVY_REPLAY_REASON="goblins hit harder" cargo test goblin_camp
//! ```
//!
//! or, with [`ReplayCli`](crate::cli::ReplayCli) in the game, `my_game bless SCENARIO --reason "…"`. Both are one code
//! path: the scenario is run in two fresh processes first, and if they disagree nothing is written. The old files stay
//! beside the new ones (`.old`) until the next run that passes.
//!
//! # Environment
//!
//! | variable | does |
//! |---|---|
//! | `BEVY_REPLAY_BLESS=1` | approves the scenarios of the tests that are named on the command line |
//! | `BEVY_REPLAY_REASON` | says why; needed to approve |
//! | `CI` | a missing baseline is written to `target/baselines` and printed, not into the tree |
//! | `BEVY_REPLAY_BASELINE_MISSING=pass` | and (a) and (c) suffice then: the first run on a new platform |
//!
//! # Examples
//!
//! ```
//! # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
//! # #[derive(Component, Canonical)] struct Hero { x: i32 }
//! # fn game(app: &mut App) {
//! #     app.add_plugins(ReplayPlugin::new("my_game")).register_authoritative::<Hero>();
//! #     app.add_systems(Startup, |mut commands: Commands| { commands.spawn(Hero { x: 0 }); });
//! # }
//! use bevy_replay::testing::{ReplayTest, ReplayTestError};
//!
//! // a test like any other, with `#[test]`
//! fn whole_game() -> Result<(), ReplayTestError> {
//!     ReplayTest::new("my_game/whole_game", game).ticks(1800).every(60).seed(12_345).idle().check()?;
//!     Ok(())
//! }
//! ```

pub(crate) mod audit;
mod environment;
mod error;
pub(crate) mod examine;
pub(crate) mod files;
mod git;
mod inputs;
pub(crate) mod processes;
mod recorded;
pub(crate) mod shrink;
mod trials;

use crate::{Detail, Headless, ReplayError};
use bevy_app::App;
use std::path::PathBuf;
use std::sync::Arc;

pub use audit::{Audit, AuditOutcome, AuditReport, AuditRow};
pub use bevy_replay_tape::Baseline;
pub use environment::Environment;
pub use error::{BehaviourChange, ReplayTestError};
pub use inputs::InputRng;
pub use recorded::Checked;
pub use shrink::{Progress, Shrink, ShrinkError, Shrunk, TapeSize};
pub use trials::run_tests;

use bevy_replay_tape::{BaselineAnswer, BaselineError, TickInput};
use files::Files;
use inputs::Inputs;
use processes::Relaunch;
use recorded::{Recorded, first_difference};

/// A function that adds the game to an app.
pub(crate) type Game = Arc<dyn Fn(&mut App) + Send + Sync>;

/// The game, made anew, without a window.
pub(crate) fn headless(game: &Game) -> Headless {
    let game = game.clone();
    Headless::new(move |app: &mut App| game(app))
}

/// A scenario of a game that must run the same way each time, everywhere, until a change is approved.
#[derive(Clone)]
pub struct ReplayTest {
    scenario: String,
    game: Game,
    ticks: u64,
    every: u64,
    first: Option<u64>,
    seed: Option<u64>,
    inputs: Inputs,
    params: Vec<(String, String)>,
    cross_platform: bool,
    folder: Option<PathBuf>,
    environment: Environment,
    relaunch: Option<Relaunch>,
}

impl core::fmt::Debug for ReplayTest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (scenario, inputs) = (&self.scenario, self.inputs.to_string());
        f.debug_struct("ReplayTest").field("scenario", scenario).field("inputs", &inputs).finish_non_exhaustive()
    }
}

impl ReplayTest {
    /// Names a scenario of a game: 600 ticks, a digest after each 60th, the game's own seed, idle.
    ///
    /// The name is also that of the baseline's file, with dots for slashes.
    #[must_use]
    pub fn new(scenario: impl Into<String>, game: impl Fn(&mut App) + Send + Sync + 'static) -> Self {
        Self {
            scenario: scenario.into(),
            game: Arc::new(game),
            ticks: 600,
            every: 60,
            first: None,
            seed: None,
            inputs: Inputs::default(),
            params: Vec::new(),
            cross_platform: false,
            folder: None,
            environment: Environment::from_env(),
            relaunch: None,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Sets how many ticks are run. Default: 600.
    #[must_use]
    pub fn ticks(self, ticks: u64) -> Self {
        Self { ticks, ..self }
    }

    /// Sets after how many ticks a digest is taken, again and again. Default: 60; 0 is taken for 1.
    #[must_use]
    pub fn every(self, ticks: u64) -> Self {
        Self { every: ticks.max(1), ..self }
    }

    /// Sets after how many ticks the first digest is taken; 0 is the state before the first tick.
    /// Default: as [`every`](Self::every).
    #[must_use]
    pub fn snapshot_first(self, ticks: u64) -> Self {
        Self { first: Some(ticks), ..self }
    }

    /// Sets the master seed. Default: the game's.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Has the ticks read default inputs. Default.
    #[must_use]
    pub fn idle(self) -> Self {
        Self { inputs: Inputs::default(), ..self }
    }

    /// Has the ticks read these inputs, one per tick; may be called once per recorded type.
    #[must_use]
    pub fn inputs<T: TickInput + Send + Sync>(mut self, inputs: impl IntoIterator<Item = T>) -> Self {
        self.inputs.script(inputs.into_iter().collect::<Vec<T>>());
        self
    }

    /// Has the ticks read made-up inputs: each tick is idle with probability 0.7, else it reads what `make` returns.
    ///
    /// All chances come from the stream `input` of the master seed. May be called once per recorded type.
    #[must_use]
    pub fn synthetic<T: TickInput>(mut self, make: impl Fn(&mut InputRng) -> T + Send + Sync + 'static) -> Self {
        self.inputs.synthesise(make);
        self
    }

    /// Writes down what else makes the scenario, as a level; a baseline with another value is not compared.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.params.push((name.into(), value.to_string()));
        self
    }

    /// Says that all platforms must have the same digests. Default: false, a difference is a note.
    #[must_use]
    pub fn cross_platform(self, required: bool) -> Self {
        Self { cross_platform: required, ..self }
    }

    /// Sets the folder of the baselines. Default: `tests/baselines` of the package.
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Sets what is otherwise read from the environment.
    #[must_use]
    pub fn environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    pub(crate) fn relaunched_as(self, relaunch: Relaunch) -> Self {
        Self { relaunch: Some(relaunch), ..self }
    }

    /// Runs the scenario and checks it; approves it instead where the environment says so.
    ///
    /// A summary is printed, which test runners show where a test fails or with `--nocapture`.
    ///
    /// # Errors
    ///
    /// [`ReplayTestError`]: the message is what a developer needs, from the first difference to the command that
    /// approves it.
    #[expect(clippy::print_stdout, reason = "test runners capture it")]
    pub fn check(&self) -> Result<Checked, ReplayTestError> {
        let checked = match self.environment.approval()? {
            Some(reason) => self.bless(&reason),
            None => self.compare(),
        }?;
        println!("{checked}");
        Ok(checked)
    }

    /// Approves what the scenario does now, if two fresh processes agree with this one.
    ///
    /// # Errors
    ///
    /// [`ReplayTestError`]: nothing was written then.
    pub fn bless(&self, reason: &str) -> Result<Checked, ReplayTestError> {
        if let Some(skipped) = self.answer_parent()? {
            return Ok(skipped);
        }
        if reason.trim().is_empty() {
            return Err(ReplayTestError::NoReason { scenario: self.scenario.clone() });
        }
        let run = self.record()?;
        self.fresh_processes_agree(&run)?;
        let files = self.files();
        let before = files.read().ok().flatten();
        let changes = before.map(|before| git::changes(&before.commit)).unwrap_or_default();
        files.approve(&run, reason)?;
        let mut checked = run.checked();
        checked.notes.extend(changes.iter().map(|line| format!("since the baseline before: {line}")));
        checked.notes.push(format!("approved: {} (git add {})", reason.trim(), files.shown()));
        Ok(checked)
    }

    fn compare(&self) -> Result<Checked, ReplayTestError> {
        if let Some(skipped) = self.answer_parent()? {
            return Ok(skipped);
        }
        let run = self.record()?;
        self.runs_agree(&run)?;
        let files = self.files();
        let mut checked = run.checked();
        let own = files.read();
        match own {
            Ok(Some(expected)) => {
                self.compare_own(&expected, &run, &files)?;
                checked.notes.extend(files.unreadable_tape());
            }
            Ok(None) => self.missing(&run, &files, &mut checked)?,
            Err(error) => return Err(self.outdated(&error, &files)),
        }
        self.compare_peers(&run.baseline, &files, &mut checked)?;
        files.forget_old();
        Ok(checked)
    }

    /// (a)
    fn runs_agree(&self, run: &Recorded) -> Result<(), ReplayTestError> {
        let again = |detail| recorded::record(self, detail).map_err(|error| self.failed(error));
        let Some(difference) = first_difference(&run.tape, &*again(Detail::Roots)?) else { return Ok(()) };
        // With luck it differs again, and this time with values.
        let difference = first_difference(&run.tape, &*again(Detail::Values)?).unwrap_or(difference);
        Err(self.nondeterministic("two runs in one process", difference))
    }

    /// (b)
    fn compare_own(&self, expected: &Baseline, run: &Recorded, files: &Files) -> Result<(), ReplayTestError> {
        match expected.compare(&run.baseline) {
            BaselineAnswer::Equal => Ok(()),
            BaselineAnswer::Incomparable(differences) => Err(ReplayTestError::OtherScenario {
                scenario: self.scenario.clone(),
                differences,
                approve: self.approve_command(),
                baseline: files.shown(),
            }),
            BaselineAnswer::Differs(difference) => {
                self.fresh_processes_agree(run)?;
                Err(ReplayTestError::Changed(Box::new(BehaviourChange {
                    scenario: self.scenario.clone(),
                    timestep_ns: run.baseline.timestep_ns,
                    first: files.first_difference(&run.tape),
                    snapshots: run.baseline.snapshots.len(),
                    difference,
                    commit: expected.commit.clone(),
                    changes: git::changes(&expected.commit),
                    approve: self.approve_command(),
                    baseline: files.shown(),
                })))
            }
            _ => Err(ReplayTestError::OtherScenario {
                scenario: self.scenario.clone(),
                differences: vec!["an answer that this version does not know".into()],
                approve: self.approve_command(),
                baseline: files.shown(),
            }),
        }
    }

    /// (c)
    fn compare_peers(&self, got: &Baseline, files: &Files, checked: &mut Checked) -> Result<(), ReplayTestError> {
        let peers = files.peers();
        if peers.is_empty() {
            checked.notes.push("no baseline of another platform, so nothing is proved across platforms yet".into());
        }
        for (platform, peer) in peers {
            let note = match peer.map(|peer| peer.compare(got)) {
                Ok(BaselineAnswer::Equal) => format!("equal to {platform}"),
                Ok(BaselineAnswer::Differs(found)) => {
                    let (scenario, tick) = (self.scenario.clone(), found.tick);
                    if self.cross_platform {
                        let (expected, got) = (found.expected, found.got);
                        return Err(ReplayTestError::PeerDiffers { scenario, platform, tick, expected, got });
                    }
                    format!("differs from {platform} from snapshot {tick} on (not required to be equal)")
                }
                Ok(BaselineAnswer::Incomparable(differences)) => {
                    format!("skipped {platform}, which has another baseline: {}", differences.join("; "))
                }
                Ok(_) => format!("skipped {platform}"),
                Err(error) => format!("skipped {platform}: {error}"),
            };
            checked.notes.push(note);
        }
        Ok(())
    }

    fn missing(&self, run: &Recorded, files: &Files, checked: &mut Checked) -> Result<(), ReplayTestError> {
        self.fresh_processes_agree(run)?;
        let reason = "the first baseline";
        let scenario = self.scenario.clone();
        if !self.environment.ci {
            files.approve(run, reason)?;
            return Err(ReplayTestError::Written { scenario, baseline: files.shown() });
        }
        let (path, text) = files.write_aside(run, reason)?;
        if !self.environment.missing_passes {
            return Err(ReplayTestError::Missing { scenario, path, text });
        }
        checked.notes.push(format!("no baseline of this platform yet: written to {path} for you to commit\n{text}"));
        Ok(())
    }

    fn outdated(&self, error: &BaselineError, files: &Files) -> ReplayTestError {
        ReplayTestError::Outdated {
            scenario: self.scenario.clone(),
            error: error.clone(),
            approve: self.approve_command(),
            baseline: files.shown(),
        }
    }

    fn nondeterministic(&self, who: &'static str, difference: String) -> ReplayTestError {
        ReplayTestError::Nondeterministic { scenario: self.scenario.clone(), who, difference }
    }

    /// Runs the scenario in two fresh processes; all three runs must have the same digests.
    fn fresh_processes_agree(&self, run: &Recorded) -> Result<(), ReplayTestError> {
        for _ in 0..2 {
            let fresh = processes::run(&self.scenario, self.relaunch.as_ref())?;
            if !run.baseline.same_digests(&fresh) {
                let difference = match run.baseline.compare(&fresh) {
                    BaselineAnswer::Differs(found) => format!(
                        "after {} ticks: digest {:016X} here, {:016X} in a fresh process{}",
                        found.tick,
                        found.expected,
                        found.got,
                        if found.types.is_empty() { String::new() } else { format!(" ({})", found.types.join(", ")) }
                    ),
                    BaselineAnswer::Incomparable(differences) => differences.join("; "),
                    _ => "the digests of types".into(),
                };
                return Err(self.nondeterministic("fresh processes", difference));
            }
        }
        Ok(())
    }

    /// In a process that was started to run a scenario once: if it is this one, runs it, writes the answer and ends
    /// the process; another one on the way there is run, but neither compared nor approved.
    fn answer_parent(&self) -> Result<Option<Checked>, ReplayTestError> {
        match processes::task() {
            Some(task) if task.scenario == self.scenario => task.answer(&self.record()?.baseline),
            Some(_) => Ok(Some(self.record()?.checked())),
            None => Ok(None),
        }
    }

    fn record(&self) -> Result<Recorded, ReplayTestError> {
        Recorded::new(self).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: ReplayError) -> ReplayTestError {
        ReplayTestError::Run { scenario: self.scenario.clone(), error: Box::new(error) }
    }

    fn files(&self) -> Files {
        Files::new(self.folder.clone(), &self.scenario)
    }

    fn approve_command(&self) -> String {
        match &self.relaunch {
            Some(Relaunch::SameArguments) => format!("bless {} --reason \"…\"", self.scenario),
            Some(Relaunch::Test(name)) => Environment::approve_command(name),
            None => Environment::approve_command(&processes::test_name().unwrap_or_else(|| self.scenario.clone())),
        }
    }
}
