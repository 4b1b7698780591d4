//! A run that is one of many: it may fail, and leaves nothing behind.

use super::{Headless, ReplayError};
use crate::deck::PlayOptions;
use bevy_replay_tape::{Tape, TypeSpec};
use core::time::Duration;
use std::sync::Arc;

impl Headless {
    /// Keeps the run from recording and from saving anything, whatever the game asks for.
    pub(crate) fn leaves_no_trace(mut self) -> Self {
        self.with(|_, runtime| {
            runtime.leaves_no_trace = true;
            runtime.registry.on_one_thread = true;
            runtime.settings.flight = None;
        });
        self
    }

    /// Plays the inputs of a tape until so many ticks have run since the start gate; the game is at hand afterwards,
    /// if only to be looked at.
    pub(crate) fn attempt(&mut self, tape: &Arc<Tape>, ticks: u64) -> Result<(), ReplayError> {
        self.begin(tape, PlayOptions { forget: true, ..PlayOptions::inputs_only() }.held())?;
        self.drive(ticks)?;
        self.check_reached()
    }

    /// Returns how many ticks have run since the start gate; also after a panic.
    pub(crate) fn ticks_run(&self) -> u64 {
        self.ticks()
    }

    /// Shortens the time that the run may take.
    pub(crate) fn limit_time(&mut self, time: Duration) {
        self.time_max = Some(self.time_max.map_or(time, |own| own.min(time)));
    }

    /// Returns the recorded types, and the canonical bytes that ticks see where a tape has nothing for them.
    pub(crate) fn inputs_at_rest(&mut self) -> Result<Vec<(TypeSpec, Vec<u8>)>, ReplayError> {
        self.start()?;
        let rest = |source: &dyn crate::input::TrackSource| Some((source.spec().clone(), source.default()?));
        Ok(self.with(|_, runtime| runtime.registry.tracks.iter().filter_map(|source| rest(&**source)).collect()))
    }
}
