//! Runs frames of an app, and as many ticks in each as are wanted.

use super::{Check, Executor, Headless, Pacing, ReplayError};
use crate::deck::{DeckError, transport};
use crate::plugin::{ReplayPlugin, Seed};
use crate::tick::{SimTick, order};
use bevy_app::{FixedMain, prelude::*};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{Schedules, SingleThreadedExecutor};
use bevy_replay_tape::Expectation;
use bevy_time::{Fixed, Time, TimePlugin, TimeUpdateStrategy};
use core::time::Duration;

/// How many ticks the next frame may still run.
#[derive(Resource)]
pub(super) struct TicksLeft {
    pub(super) ticks: u64,
    /// Whether it runs all of them, or as many as fit into its length.
    pub(super) exact: bool,
}

impl TicksLeft {
    /// Gives the loop exactly the time of the ticks that are left, whatever pause, speed and clamp say.
    fn set_overstep(&self, clock: &mut Time<Fixed>) {
        let left = u32::try_from(self.ticks).unwrap_or(u32::MAX);
        if self.exact || left == 0 {
            clock.discard_overstep(Duration::MAX);
            clock.accumulate_overstep(clock.timestep() * left);
        }
    }
}

fn before_ticks(left: Res<TicksLeft>, mut clock: ResMut<Time<Fixed>>) {
    left.set_overstep(&mut clock);
}

/// Again after each tick: one may have changed the length of the next.
fn after_tick(mut left: ResMut<TicksLeft>, mut clock: ResMut<Time<Fixed>>) {
    left.ticks = left.ticks.saturating_sub(1);
    left.set_overstep(&mut clock);
}

/// After so many frames without a tick a run is given up.
const TICKLESS_FRAMES_MAX: u32 = 10_000;

impl Headless {
    /// Finishes the plugins and takes the clock into its hands. Start-up systems run with the first tick.
    pub(super) fn start(&mut self) -> Result<(), ReplayError> {
        while self.app.plugins_state() == bevy_app::PluginsState::Adding {
            bevy_tasks::tick_global_task_pools_on_main_thread();
        }
        if !self.app.is_plugin_added::<ReplayPlugin>() {
            return Err(ReplayError::NoPlugin);
        }
        if !self.app.is_plugin_added::<TimePlugin>() {
            self.app.add_plugins(TimePlugin);
        }
        if self.app.world().get_resource::<SimTick>().is_some_and(|tick| tick.0 > 0) {
            return Err(DeckError::NotAtStart { tick: self.ticks() }.into());
        }
        self.app.finish();
        self.app.cleanup();
        let detail = self.detail;
        self.with(|_, runtime| runtime.settings.detail = detail.unwrap_or(runtime.settings.detail));
        let world = self.app.world_mut();
        if let Some(seed) = self.seed {
            world.insert_resource(Seed(seed));
        }
        if self.executor == Executor::SingleThreaded {
            world.get_resource_or_init::<order::BuildSettings>().is_single_threaded = true;
            for (_, schedule) in world.resource_mut::<Schedules>().iter_mut() {
                schedule.set_executor(SingleThreadedExecutor::new());
            }
        }
        world.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
        world.insert_resource(TicksLeft { ticks: 0, exact: true });
        self.app
            .add_systems(
                RunFixedMainLoop,
                before_ticks.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop).after(transport::drive),
            )
            .add_systems(FixedMain, after_tick.after(FixedMain::run_fixed_main));
        Ok(())
    }

    pub(super) fn ticks(&self) -> u64 {
        self.app.world().resource::<SimTick>().0
    }

    /// Runs frames until so many ticks have run, and the checks that are due on the way.
    pub(super) fn drive(&mut self, ticks: u64) -> Result<(), ReplayError> {
        for line in core::mem::take(&mut self.expectations) {
            self.expected.push(line.parse()?);
        }
        self.expected.sort_by_key(|expectation| core::cmp::Reverse(expectation.tick()));
        let mut tickless = 0;
        #[expect(clippy::disallowed_methods, reason = "a limit on the run, which reaches no tick")]
        let start = std::time::Instant::now();
        if self.expected.last().is_some_and(|expectation| expectation.tick() == 0) && self.ticks() == 0 {
            *self.app.world_mut().resource_mut() = TicksLeft { ticks: 0, exact: true };
            self.app.update(); // a frame without a tick: the game starts up
        }
        self.run_checks()?;
        while self.ticks() < ticks {
            let before = self.ticks();
            let next = self.expected.last().map(Expectation::tick).filter(|tick| *tick > before);
            self.update(next.map_or(ticks, |next| next.min(ticks)));
            // What the game itself asks of the deck may be refused without harm to the run.
            match self.deck().error.take() {
                None
                | Some(
                    DeckError::Busy | DeckError::NotRecording | DeckError::NotAtStart { .. } | DeckError::File { .. },
                ) => {}
                Some(error) => return Err(error.into()),
            }
            if let Some(time_max) = self.time_max.filter(|time_max| self.time_spent + start.elapsed() > *time_max) {
                return Err(ReplayError::TooSlow { ticks: self.ticks(), time_max });
            }
            tickless = if self.ticks() == before { tickless + 1 } else { 0 };
            if tickless > TICKLESS_FRAMES_MAX {
                return Err(ReplayError::NoTicks { frames: tickless });
            }
            self.run_checks()?;
        }
        self.time_spent += start.elapsed();
        Ok(())
    }

    /// Makes sure that each expectation was looked at.
    pub(super) fn check_reached(&self) -> Result<(), ReplayError> {
        match self.expected.last() {
            Some(left) => Err(ReplayError::NotReached { line: left.to_string(), ticks: self.ticks() }),
            None => Ok(()),
        }
    }

    /// Runs one frame, but not past the wanted tick or the next check where the pacing allows.
    pub(super) fn update(&mut self, ticks: u64) {
        match &self.pacing {
            Pacing::TicksPerFrame(per_frame) => {
                let next_check = self.checks.iter().map(|check| check.0).filter(|tick| *tick > self.ticks()).min();
                let left = ticks.min(next_check.unwrap_or(ticks)) - self.ticks();
                let per_frame = u64::from((*per_frame).max(1)).min(left);
                *self.app.world_mut().resource_mut() = TicksLeft { ticks: per_frame, exact: true };
            }
            Pacing::Frames(lengths) => {
                let length = lengths.get(self.frame % lengths.len().max(1)).copied().unwrap_or_default();
                self.frame += 1;
                *self.app.world_mut().resource_mut() = TimeUpdateStrategy::ManualDuration(length);
                let left = ticks - self.ticks();
                *self.app.world_mut().resource_mut() = TicksLeft { ticks: left, exact: false };
            }
        }
        self.app.update();
    }

    /// Runs the checks that are due, and takes the expectations that are.
    pub(super) fn run_checks(&mut self) -> Result<(), ReplayError> {
        let now = self.ticks();
        let (due, later) = core::mem::take(&mut self.checks).into_iter().partition(|check| check.0 <= now);
        self.checks = later;
        let mut due: Vec<(u64, Check)> = due;
        due.sort_by_key(|check| check.0);
        for (_, check) in due {
            check(self.app.world_mut());
        }
        while let Some(expectation) = self.expected.pop_if(|expectation| expectation.tick() == now) {
            self.with(|world, runtime| -> Result<(), ReplayError> {
                let state = runtime.look(world).map_err(DeckError::State)?;
                Ok(expectation.check(&state.image)?)
            })?;
        }
        Ok(())
    }
}
