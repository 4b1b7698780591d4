//! Where a game stands in its plan.

use bevy_ecs::prelude::*;
use bevy_replay_tape::{Canonical, DecodeError, Plan, SchemaBuilder, ShapeId, Sink, Source};
use core::fmt;
use core::marker::PhantomData;

/// Where a game stands in its plan, of one type of events. Authoritative: part of each image, and so of seeks and
/// branches.
///
/// Write it in ticks, or at start-up. The plan's time moves by one with each tick while it runs.
#[derive(Resource)]
pub struct PlanCursor<E> {
    place: Place,
    of: PhantomData<fn() -> E>,
}

/// What of it is in the image.
#[derive(Canonical, Debug, Clone, PartialEq, Eq, Default)]
struct Place {
    /// Signature of the plan; empty if there is none.
    plan: String,
    /// How long it is.
    ticks: u64,
    /// The plan's tick that comes next.
    time: u64,
    /// How many of its events have come.
    next: u64,
    is_paused: bool,
}

impl<E> Default for PlanCursor<E> {
    fn default() -> Self {
        Self { place: Place::default(), of: PhantomData }
    }
}

impl<E> PlanCursor<E> {
    pub(super) fn at_start_of(plan: &Plan) -> Self {
        let place = Place { plan: plan.signature().into(), ticks: plan.ticks(), ..Place::default() };
        Self { place, of: PhantomData }
    }

    /// Starts a plan: its tick 0 is the tick that comes next.
    pub fn start(&mut self, plan: &Plan) {
        *self = Self::at_start_of(plan);
    }

    /// Ends the plan; no more of its events come.
    pub fn stop(&mut self) {
        *self = Self::default();
    }

    /// Stops the plan's time from the next tick on.
    pub fn pause(&mut self) {
        self.place.is_paused = true;
    }

    /// Has the plan's time go on with the next tick.
    pub fn resume(&mut self) {
        self.place.is_paused = false;
    }

    /// Returns whether the plan's time is stopped.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.place.is_paused
    }

    /// Returns how many ticks of the plan have begun, the running one included.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.place.time
    }

    /// Returns how many events of the plan have come.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.place.next
    }

    /// Returns the [signature](Plan::signature) of the plan; empty if there is none.
    #[must_use]
    pub fn signature(&self) -> &str {
        &self.place.plan
    }

    /// Returns whether the plan has come to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.place.plan.is_empty() && self.place.time >= self.place.ticks
    }

    pub(super) fn is_running(&self) -> bool {
        let Place { plan, ticks, time, next: _, is_paused } = &self.place;
        !plan.is_empty() && !is_paused && time < ticks
    }

    pub(super) fn advance(&mut self, events: u64) {
        self.place.time += 1;
        self.place.next += events;
    }
}

impl<E> fmt::Debug for PlanCursor<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { plan, ticks, time, next, is_paused } = &self.place;
        f.debug_struct("PlanCursor")
            .field("plan", plan)
            .field("ticks", ticks)
            .field("time", time)
            .field("next", next)
            .field("is_paused", is_paused)
            .finish()
    }
}

impl<E: Canonical> Canonical for PlanCursor<E> {
    const WIDTH: Option<usize> = None;
    fn type_name() -> String {
        format!("PlanCursor<{}>", E::type_name())
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        Place::shape(types)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.place.encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(Self { place: Place::decode(input)?, of: PhantomData })
    }
}
