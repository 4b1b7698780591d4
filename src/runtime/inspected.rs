//! What the inspector sees of a run.

use super::*;
use crate::deck::trace::Trace;

/// What is at hand between two ticks.
pub(crate) struct Inspected<'a> {
    /// The tape that is played.
    pub(crate) tape: Option<&'a Arc<Tape>>,
    /// The tape that is recorded.
    pub(crate) recorded: Option<&'a Tape>,
    pub(crate) history: Option<&'a History>,
    pub(crate) trace: Option<&'a Trace>,
    /// The state, where it could be captured.
    pub(crate) image: Option<&'a Image>,
}

impl Runtime {
    /// Keeps what is played from here on, or no longer; what was kept stays until another tape begins.
    pub(crate) fn run_trace(&mut self, world: &World, budget_bytes: Option<usize>) {
        let (is_fresh, tick) = (self.reads_state(), world.resource::<SimTick>().0);
        match (&mut self.trace, budget_bytes) {
            (None, Some(budget_bytes)) => self.trace = Some(Trace::new(budget_bytes)),
            (Some(trace), _) => trace.run(budget_bytes.is_some()),
            (None, None) => {}
        }
        if let Some(trace) = &mut self.trace
            && is_fresh
            && self.capturer.image.tick == tick
        {
            trace.stand_at(&self.capturer.image);
        }
    }

    /// Hands the captured state to the trace. While readers of messages are being made right after a jump, it waits.
    pub(super) fn trace(&mut self) {
        if let Some(trace) = self.trace.as_mut().filter(|_| self.after_run_up.is_none()) {
            trace.end_tick(&self.capturer.image, &self.capturer.digest);
        }
    }

    /// Returns what is at hand between two ticks.
    pub(crate) fn inspected(&mut self, world: &mut World) -> Inspected<'_> {
        let tick = world.resource::<SimTick>().0;
        let is_fresh = self.captured_at.is_some() && self.capturer.image.tick == tick;
        let is_seen = is_fresh || self.looker.image.tick == tick && !self.looker.image.roster.is_empty();
        let is_known = is_seen || self.look(world).is_ok();
        let image = if is_fresh { &self.capturer.image } else { &self.looker.image };
        Inspected {
            tape: self.playback.as_ref().map(|playback| &playback.tape),
            recorded: self.recorder.as_ref().map(|recorder| &recorder.tape),
            history: self.history.as_ref(),
            trace: self.trace.as_ref(),
            image: is_known.then_some(image),
        }
    }
}
