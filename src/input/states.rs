//! Bevy's states, exact in ticks.
//!
//! The frame's `StateTransition` stays, so that menus work while no tick runs. What it must not carry out are
//! requests for authoritative states: they are held until the next tick, are recorded input of it, and are carried
//! out at its beginning. What a tick requests takes effect at the beginning of the next one.

use super::{From, TrackSource};
use crate::runtime;
use crate::state::lanes::ResourceSource;
use crate::state::purity::place_of;
use crate::state::restore::SimIndex;
use crate::state::sim_id::WorldIds;
use crate::tick::gate;
use bevy_app::{App, Last};
use bevy_ecs::change_detection::{DetectChanges, DetectChangesMut, Tick};
use bevy_ecs::message::Messages;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{
    Canonical, DecodeError, EncodeNotes, NoEntities, ResourceState, Source, TypeSpec, VecSink, encode_to_vec,
};
use bevy_state::state::{
    FreelyMutableState, NextState, OnEnter, OnExit, OnTransition, PreviousState, State, StateTransition,
    StateTransitionEvent, StateTransitionSystems, setup_state_transitions_in_world,
};
use bevy_time::{Time, Virtual};
use core::any::{Any, TypeId, type_name};
use core::marker::PhantomData;
use core::panic::Location;
use std::sync::Arc;

/// A [`NextState`] as a value.
#[derive(Canonical, Debug, Clone, Default)]
enum Request<S> {
    #[default]
    Unchanged,
    Pending(S),
    PendingIfDifferent(S),
}

impl<S: FreelyMutableState> Request<S> {
    fn take(next: &mut NextState<S>) -> Self {
        match core::mem::take(next) {
            NextState::Unchanged => Self::Unchanged,
            NextState::Pending(state) => Self::Pending(state),
            NextState::PendingIfDifferent(state) => Self::PendingIfDifferent(state),
        }
    }

    fn is_pending(&self) -> bool {
        !matches!(self, Self::Unchanged)
    }
}

impl<S: FreelyMutableState> core::convert::From<Request<S>> for NextState<S> {
    fn from(request: Request<S>) -> Self {
        match request {
            Request::Unchanged => Self::Unchanged,
            Request::Pending(state) => Self::Pending(state),
            Request::PendingIfDifferent(state) => Self::PendingIfDifferent(state),
        }
    }
}

/// Requests that wait for the next tick.
#[derive(Resource, Debug)]
struct Requests<S> {
    /// Made outside of ticks: recorded input.
    by_frame: Request<S>,
    /// Made by the last tick: authoritative.
    by_tick: Request<S>,
    /// For how many frames one has waited while time is paused.
    frames_waited: u32,
}

/// After so many frames in which a request waits while time is paused, somebody should know.
const FRAMES_WAITED_MAX: u32 = 2;

/// What an image holds of a state.
#[derive(Canonical)]
struct StateRow<S> {
    current: Option<S>,
    previous: Option<S>,
    requested: Request<S>,
}

/// Whether a tick is running, and whether `StateTransition` is due at its beginning.
#[derive(Resource, Debug, Default)]
struct TickTransition {
    is_inside: bool,
    is_due: bool,
}

/// Makes a state authoritative.
pub(crate) fn register<S: FreelyMutableState + Canonical>(app: &mut App, caller: &'static Location<'static>) {
    assert!(
        app.get_schedule(StateTransition).is_some(),
        "register_authoritative_state::<{name}>() at {caller} needs Bevy's states (add `StatesPlugin` and call \
         `init_state::<{name}>()` before)",
        name = type_name::<S>(),
    );
    let requests = Requests::<S> { by_frame: Request::Unchanged, by_tick: Request::Unchanged, frames_waited: 0 };
    app.insert_resource(requests).init_resource::<TickTransition>();
    app.add_systems(
        StateTransition,
        hold::<S>.run_if(outside_ticks).before(StateTransitionSystems::DependentTransitions),
    );
    app.add_systems(Last, warn_of_pause::<S>);
    runtime::with(app.world_mut(), |_, runtime| {
        let spec = |what, schema| TypeSpec { name: format!("{what}<{}>", S::type_name()), schema: Arc::new(schema) };
        let track = StateTrack::<S> {
            spec: spec("NextState", Request::<S>::schema()),
            unchanged: encode_to_vec(&Request::<S>::Unchanged),
            of: PhantomData,
        };
        runtime.registry.add_track::<State<S>>("register_authoritative_state", track, caller);
        let row = StateSource::<S> { spec: spec("State", StateRow::<S>::schema()), of: PhantomData };
        runtime.registry.resources.push(Box::new(row));
        runtime.registry.tick_schedules.push(|label| {
            let label: &dyn Any = label;
            label.is::<OnEnter<S>>() || label.is::<OnExit<S>>() || label.is::<OnTransition<S>>()
        });
    });
}

/// Before the gate opens the frame carries out all requests, as Bevy does.
fn outside_ticks(transition: Res<TickTransition>, gate: Res<gate::StartGate>) -> bool {
    !transition.is_inside && gate.is_open
}

/// Keeps the frame from carrying out a request.
fn hold<S: FreelyMutableState>(mut next: ResMut<NextState<S>>, mut requests: ResMut<Requests<S>>) {
    if !matches!(*next, NextState::Unchanged) {
        requests.by_frame = Request::take(next.bypass_change_detection());
    }
}

/// Says once that a request waits for a tick that cannot come.
fn warn_of_pause<S: FreelyMutableState>(mut requests: ResMut<Requests<S>>, clock: Option<Res<Time<Virtual>>>) {
    let waits = requests.by_frame.is_pending() && clock.is_some_and(|clock| clock.is_paused());
    let frames = if waits { requests.frames_waited + 1 } else { 0 };
    requests.bypass_change_detection().frames_waited = frames;
    if frames == FRAMES_WAITED_MAX {
        tracing::warn!(
            "a request for the authoritative state {} waits for a tick, and none runs while `Time<Virtual>` is paused (unpause \
             it; a state that pauses the game must not be authoritative)",
            type_name::<S>(),
        );
    }
}

/// Carries out what other states are waiting for, as the frame would, before a tick changes its own.
pub(crate) fn transition_others(world: &mut World) {
    let tick_clock = world.get_resource::<Time>().copied();
    if let Some(frame_clock) = world.get_resource::<Time<Virtual>>().map(Time::as_generic) {
        world.insert_resource(frame_clock);
    }
    world.run_schedule(StateTransition);
    if let Some(tick_clock) = tick_clock {
        world.insert_resource(tick_clock);
    }
}

/// Carries out requests at the beginning of a tick, after all inputs were let in; returns whether there were any.
pub(crate) fn transition(world: &mut World) -> bool {
    let Some(mut transition) = world.get_resource_mut::<TickTransition>() else { return false };
    transition.is_inside = true;
    let is_due = core::mem::take(&mut transition.is_due);
    if is_due {
        world.run_schedule(StateTransition);
    }
    is_due
}

/// Requests made outside of ticks, as recorded input.
struct StateTrack<S> {
    spec: TypeSpec,
    /// The canonical bytes of no request.
    unchanged: Vec<u8>,
    of: PhantomData<fn() -> S>,
}

impl<S: FreelyMutableState + Canonical> TrackSource for StateTrack<S> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn default(&self) -> Option<Vec<u8>> {
        Some(self.unchanged.clone())
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let recorded = match from {
            From::Live => None,
            From::Nothing => Some(Request::Unchanged),
            From::Tape(bytes) => {
                let mut source = Source::new(bytes, &NoEntities);
                let request = Request::decode(&mut source)?;
                source.finish()?;
                Some(request)
            }
        };
        // What was requested after the frame's transition waits in `NextState` itself.
        let late = take_next::<S>(world);
        let mut requests = world.resource_mut::<Requests<S>>();
        let requests = requests.bypass_change_detection();
        let held = core::mem::take(&mut requests.by_frame);
        let by_tick = core::mem::take(&mut requests.by_tick);
        let outside = recorded.unwrap_or(if late.is_pending() { late } else { held });
        outside.encode(&mut VecSink::new(seen, &NoEntities, &mut EncodeNotes::default()));
        let request = if outside.is_pending() { outside } else { by_tick };
        if request.is_pending() {
            if let Some(mut next) = world.get_resource_mut::<NextState<S>>() {
                *next = request.into();
            }
            world.resource_mut::<TickTransition>().is_due = true;
        }
        Ok(())
    }

    fn wants_transition(&self, world: &World, from: From<'_>) -> bool {
        let requests = world.resource::<Requests<S>>();
        let recorded = match from {
            From::Live => {
                let next = world.get_resource::<NextState<S>>();
                requests.by_frame.is_pending() || next.is_some_and(|next| !matches!(next, NextState::Unchanged))
            }
            From::Nothing => false,
            From::Tape(bytes) => bytes != self.unchanged,
        };
        recorded || requests.by_tick.is_pending()
    }

    fn end(&mut self, world: &mut World) {
        world.resource_mut::<TickTransition>().is_inside = false;
        let by_tick = take_next::<S>(world);
        if by_tick.is_pending() {
            world.resource_mut::<Requests<S>>().by_tick = by_tick;
        }
    }

    fn release(&mut self, world: &mut World) {
        // What was requested while the tape played must not reach the first live tick.
        take_next::<S>(world);
        world.resource_mut::<Requests<S>>().by_frame = Request::Unchanged;
    }
}

fn take_next<S: FreelyMutableState>(world: &mut World) -> Request<S> {
    let next = world.get_resource_mut::<NextState<S>>();
    next.map_or(Request::Unchanged, |mut next| Request::take(next.bypass_change_detection()))
}

/// Bevy makes this value in transitions only, so one is carried out in a world of its own.
fn previous_state<S: FreelyMutableState>(state: S) -> PreviousState<S> {
    let mut world = World::new();
    setup_state_transitions_in_world(&mut world);
    world.init_resource::<Messages<StateTransitionEvent<S>>>();
    S::register_state(world.resource_mut::<Schedules>().entry(StateTransition));
    world.insert_resource(State::new(state.clone()));
    world.insert_resource(NextState::Pending(state));
    world.run_schedule(StateTransition);
    world.remove_resource().expect("a transition leaves the state before")
}

/// What an image holds of a state: which one, which before, and what the tick requested.
struct StateSource<S> {
    spec: TypeSpec,
    of: PhantomData<fn() -> S>,
}

impl<S: FreelyMutableState + Canonical> ResourceSource for StateSource<S> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn of(&self) -> TypeId {
        TypeId::of::<State<S>>()
    }

    fn capture(&self, world: &World, state: &mut ResourceState, notes: &mut EncodeNotes) {
        let row = StateRow {
            current: world.get_resource::<State<S>>().map(|state| state.get().clone()),
            previous: world.get_resource::<PreviousState<S>>().map(|state| state.get().clone()),
            requested: world.resource::<Requests<S>>().by_tick.clone(),
        };
        state.present = true;
        state.bytes.clear();
        row.encode(&mut VecSink::new(&mut state.bytes, &WorldIds::writing(world), notes));
    }

    /// Nothing is entered or left: what `OnEnter` did is in the image, too.
    fn restore(&self, world: &mut World, index: &SimIndex, wanted: &ResourceState) -> Result<(), DecodeError> {
        let mut source = Source::new(&wanted.bytes, index);
        let StateRow::<S> { current, previous, requested } = StateRow::decode(&mut source)?;
        source.finish()?;
        match current {
            Some(state) => world.insert_resource(State::new(state)),
            None => drop(world.remove_resource::<State<S>>()),
        }
        match previous {
            Some(state) => world.insert_resource(previous_state(state)),
            None => drop(world.remove_resource::<PreviousState<S>>()),
        }
        let mut requests = world.resource_mut::<Requests<S>>();
        (requests.by_tick, requests.by_frame) = (requested, Request::Unchanged);
        take_next::<S>(world);
        Ok(())
    }

    fn written_since(&self, world: &World, since: Tick) -> Option<Option<String>> {
        let state = world.get_resource_ref::<State<S>>()?;
        let newer = state.last_changed().is_newer_than(since, world.read_change_tick());
        newer.then(|| place_of(state.changed_by().into_option()))
    }
}
