//! What happens at the two borders of a tick.

mod findings;
#[cfg(feature = "inspector")]
mod inspected;
mod requests;
mod travel;

use crate::deck::branch::{self, Branch};
#[cfg(feature = "file")]
use crate::deck::file::Outcome;
#[cfg(feature = "file")]
use crate::deck::flight;
use crate::deck::flight::Flight;
use crate::deck::history::History;
use crate::deck::playback::{Playback, Verifier};
use crate::deck::recorder::Recorder;
use crate::deck::transport;
use crate::deck::{
    Deck, DeckError, DeckRefused, DeckState, Diverged, PlayOptions, RecordingEnded, ReplayFinished, Request,
};
use crate::input::From;
use crate::plugin::ReplayPlugin;
use crate::state::capture::Capturer;
use crate::state::registry::{Registry, unfiltered};
use crate::state::restore::{self, RestoreError, RowOrder};
use crate::state::sim_id::SimIds;
use crate::state::{Finding, Guard, SimId, StateError, coverage};
use crate::tick::gate::Gate;
use crate::tick::probes::Probes;
use crate::tick::reads::{FrameClockRead, TickReads};
use crate::tick::{AmbiguousPairs, SimTick, TickOrder, border, gate, order};
use bevy_app::FixedUpdate;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::name::Name;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{InternedScheduleLabel, SystemKey};
use bevy_replay_tape::{
    Difference, Digest, Divergence, EndReason, Header, HeaderDifference, Image, Report, Start, SystemEffect, Tape,
    TypeSpec, Verdict,
};
use bevy_time::{Fixed, Time};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Holds the [`Runtime`]; taken out while a border runs, so that it can read the world.
#[derive(Resource)]
pub(crate) struct Core(Option<Box<Runtime>>);

impl Default for Core {
    fn default() -> Self {
        Self(Some(Box::default()))
    }
}

/// Everything the borders of a tick work on.
///
/// Where input comes from and what is done with the state are independent of each other: a recording
/// may read live input or a tape's, and a tape may be played with or without comparing.
#[derive(Default)]
pub(crate) struct Runtime {
    pub(crate) settings: ReplayPlugin,
    pub(crate) registry: Registry,
    pub(crate) capturer: Capturer,
    /// Captures between the borders, so that the image of the last tick stays.
    looker: Capturer,
    attached: bool,
    /// Tape input instead of live input.
    pub(crate) playback: Option<Playback>,
    recorder: Option<Recorder>,
    /// Files that are being finished.
    #[cfg(feature = "file")]
    writers: Vec<crate::deck::file::TapeWriter>,
    verifier: Option<Verifier>,
    flight: Option<Arc<Mutex<Flight>>>,
    /// Whether a divergence is to be saved when the tick has ended.
    flight_is_due: bool,
    /// What was played, so that one can go back.
    pub(crate) history: Option<History>,
    /// What is put back when the run-up of a jump ends, after that many ticks.
    after_run_up: Option<(Image, RowOrder)>,
    /// What was played, for whoever looks at both runs.
    #[cfg(feature = "inspector")]
    pub(crate) trace: Option<crate::deck::trace::Trace>,
    /// The first tick that was not as when it was played first: a jump has not put everything back.
    pub(crate) unfaithful_at: Option<u64>,
    /// The branch that is recorded: which one it shares its beginning with, and up to where.
    branch_at: Option<(usize, u64)>,
    /// A change of input that waits until its tick is reached.
    edit: Option<Edit>,
    /// What each tick came to, for somebody who compares it.
    pub(crate) observed: Option<Vec<Observed>>,
    /// The state before the first tick that was observed.
    pub(crate) initial: Option<Image>,
    /// What the game said of the run while a tape was played; `None` if none was.
    pub(crate) claimed: Option<BTreeMap<String, String>>,
    /// Whether the running replay was forced.
    forced: bool,
    /// Whether the tape stays in the deck at its end.
    is_held: bool,
    /// How the types, and plans, of the tape at hand became those of the app.
    resolved: Vec<String>,
    /// What the tick sees of the input at hand.
    seen: Vec<u8>,
    /// Which inputs the running tick was shown.
    let_in: Vec<usize>,
    /// The running tick, and whether it counts: the start gate is open.
    tick: u64,
    counts: bool,
    /// Whether a tick has run.
    has_begun: bool,
    /// Schedules that follow the order of the tick, besides the known ones.
    ordered: Vec<InternedScheduleLabel>,
    /// Those of the known ones that are not there yet.
    awaited: order::Awaited,
    /// Kinds of findings that were told.
    found: BTreeSet<(bool, String)>,
    /// What was found, in words.
    pub(crate) findings: Vec<String>,
    /// Empties derived state at each border, to see that it is rebuilt before it is read.
    pub(crate) clears_derived: bool,
    /// Records nothing, in memory or in files, whatever the game asks: the run is one of many attempts.
    pub(crate) leaves_no_trace: bool,
    /// The change tick after the last capture.
    captured_at: Option<Tick>,
    /// Commands that wait for a time, and how many did when the tick began.
    delayed: border::DelayedCommands,
    delayed_before: usize,
    hand_run: border::HandRun,
    events: Vec<Told>,
}

/// What a tick came to.
pub(crate) struct Observed {
    pub(crate) image: Image,
    pub(crate) digest: Digest,
    /// What each of its systems did, where there are probes.
    pub(crate) effects: Vec<SystemEffect>,
}

/// Another input for one tick.
struct Edit {
    name: String,
    tick: u64,
    bytes: Vec<u8>,
}

/// What observers are told once the border is done.
enum Told {
    RecordingEnded(RecordingEnded),
    #[cfg(feature = "file")]
    Saved(crate::deck::RecordingSaved),
    Diverged(Box<Diverged>),
    ReplayFinished(Box<ReplayFinished>),
    Found(Box<Finding>),
    Refused(DeckRefused),
}

/// Takes the runtime out of the world, and puts it back.
pub(crate) fn with<R>(world: &mut World, run: impl FnOnce(&mut World, &mut Runtime) -> R) -> R {
    // First this, as `get_resource_or_init` takes longer, and it is asked for twice a tick.
    let core = match world.get_resource_mut::<Core>() {
        Some(core) => core,
        None => world.get_resource_or_init::<Core>(),
    };
    let mut runtime = core.into_inner().0.take().expect(
        "bevy_replay was called while it is at work: from a hook or observer of a recorded input, from a system that rebuilds \
         derived state, or after a panic inside a tick (call it between ticks, or make a new app)",
    );
    let result = run(world, &mut runtime);
    let events = core::mem::take(&mut runtime.events);
    world.resource_mut::<Core>().0 = Some(runtime);
    for event in events {
        match event {
            Told::RecordingEnded(event) => world.trigger(event),
            #[cfg(feature = "file")]
            Told::Saved(event) => world.trigger(event),
            Told::Diverged(event) => world.trigger(*event),
            Told::ReplayFinished(event) => world.trigger(*event),
            Told::Refused(event) => world.trigger(event),
            Told::Found(event) => world.trigger(*event),
        }
        world.flush();
    }
    result
}

pub(crate) fn begin_tick(world: &mut World) {
    with(world, |world, runtime| {
        runtime.freeze(world);
        let mut tick = world.resource::<SimTick>().0;
        if !runtime.has_begun {
            border::apply_final_commands(world);
            runtime.order_schedules(world);
        }
        let counts = match gate::open(world) {
            Gate::Closed => false,
            Gate::Opens => {
                runtime.registry.tracks.iter_mut().for_each(|source| source.start());
                true
            }
            Gate::Open => true,
        };
        runtime.counts = counts;
        if counts {
            runtime.guard(world, tick);
            runtime.guard_streams(world, tick);
        }
        runtime.clear_derived(world);
        if counts && !world.resource::<Deck>().requests.is_empty() {
            let requests = core::mem::take(&mut world.resource_mut::<Deck>().requests);
            for request in requests {
                if let Err(error) = runtime.carry_out(world, tick, request) {
                    runtime.refuse(world, error);
                }
            }
            tick = world.resource::<SimTick>().0; // a tape may begin with a state that was put back
            runtime.show_state(world, tick);
        }
        runtime.tick = tick;
        if let Some(playback) = &mut runtime.playback {
            playback.begin_tick(world, tick);
        }
        if let Some(recorder) = &mut runtime.recorder {
            recorder.begin_tick(tick, timestep_ns(world));
        }
        for begin in &runtime.registry.at_begin {
            begin(world);
        }
        if counts {
            runtime.begin_flight(world, tick);
        }
        runtime.transition_others(world, tick);
        runtime.let_in.clear();
        let (mut first, mut is_live) = (0, false);
        while let Err((failed, error)) = runtime.let_inputs_in(world, tick, first) {
            runtime.end_playback(world);
            runtime.refuse(world, error);
            // Live input for this one and the rest; one that cannot be let in at all is left out.
            first = if core::mem::replace(&mut is_live, true) { failed + 1 } else { failed };
        }
        runtime.with_probes(world, |probes, state| probes.begin_tick(state));
        #[cfg(feature = "plan")]
        if counts {
            runtime.registry.send_due(world);
            runtime.with_probes(world, |probes, state| probes.border_step("the event plan", state));
        }
        runtime.delayed_before = runtime.delayed.count(world);
        runtime.awaited.install_on_those_there(world);
    });
    #[cfg(feature = "states")]
    if crate::input::states::transition(world) {
        with(world, |world, runtime| runtime.awaited.install_on_those_there(world)); // whom a state has brought
    }
}

/// Looks at what a step of the tick has made of the state.
pub(crate) fn probe(world: &mut World, step: (InternedScheduleLabel, SystemKey)) {
    // A border may run systems, too, and their effects are the border's.
    if world.resource::<Core>().0.is_some() {
        with(world, |world, runtime| runtime.with_probes(world, |probes, state| probes.step(step, state)));
    }
}

/// Carries out what needs no tick: a stop, a mark or a claim between two ticks, and what is to be said of files.
pub(crate) fn between_ticks(world: &mut World) {
    #[cfg(feature = "file")]
    if world.resource::<Core>().0.as_ref().is_some_and(|runtime| runtime.has_files()) {
        with(world, |world, runtime| runtime.tend_files(world));
    }
    if world.resource::<Deck>().requests.is_empty() {
        return;
    }
    with(world, |world, runtime| {
        let requests = core::mem::take(&mut world.resource_mut::<Deck>().requests);
        let starts = |request: &Request| match request {
            Request::Stop | Request::Mark(_) | Request::Claim(..) => false,
            Request::SaveFlight | Request::TakeOver | Request::Edit { .. } | Request::SwitchTo(_) => false,
            Request::Record | Request::Play(..) => true,
            #[cfg(feature = "file")]
            Request::RecordTo(_) => true,
        };
        let first_start = requests.iter().position(starts).unwrap_or(requests.len());
        let tick = world.resource::<SimTick>().0;
        let mut later = Vec::new();
        for (index, request) in requests.into_iter().enumerate() {
            if index >= first_start {
                later.push(request); // it begins with the next tick, and what follows it must wait
            } else if let Err(error) = runtime.carry_out(world, tick, request) {
                runtime.refuse(world, error);
            }
        }
        world.resource_mut::<Deck>().requests = later;
    });
}

pub(crate) fn end_tick(world: &mut World) {
    world.flush();
    with(world, |world, runtime| {
        let (tick, counts) = (runtime.tick, runtime.counts);
        if !core::mem::replace(&mut runtime.has_begun, true) {
            runtime.check_order(world);
        }
        runtime.take_inputs_back(world, tick, counts);
        if !counts {
            world.resource::<SimIds>().taken();
            return;
        }
        runtime.check_border(world, tick);
        world.resource_mut::<SimTick>().0 = tick + 1;
        let flight_wants_state =
            runtime.flight().is_some_and(|mut flight| flight.wants_state() || end_unread(&mut flight));
        let reads_state = runtime.reads_state() || flight_wants_state;
        if reads_state {
            match runtime.capturer.capture(world, &mut runtime.registry, tick + 1) {
                Ok(()) => {
                    runtime.captured_at = Some(world.increment_change_tick());
                    runtime.capturer.trusted_since =
                        runtime.captured_at.filter(|_| runtime.settings.trust_change_ticks);
                    runtime.remember(world, tick);
                    if flight_wants_state && let Some(mut flight) = runtime.flight() {
                        let Capturer { image, digest, .. } = &runtime.capturer;
                        flight.part().and_then(|part| part.end_tick(image, digest, None));
                    }
                    runtime.take_state(world, tick);
                }
                Err(error) => {
                    runtime.end_recording(world, EndReason::CaptureFailed);
                    runtime.end_playback(world);
                    runtime.refuse(world, error.into());
                }
            }
        }
        if !reads_state {
            runtime.capturer.trusted_since = None; // change ticks that old are not to be trusted
        }
        if runtime.playback.as_ref().is_some_and(|playback| tick + 1 >= playback.tape.ticks().end) {
            match runtime.is_held {
                true => runtime.reach_end(world),
                false => runtime.end_playback(world),
            }
        }
        if runtime.recorder.is_some() || runtime.playback.is_some() {
            runtime.show_state(world, tick + 1);
        }
        runtime.hand_run.end_tick(world);
        if core::mem::take(&mut runtime.flight_is_due)
            && let Err(error) = runtime.save_flight(world)
        {
            runtime.refuse(world, error);
        }
    });
    transport::after_tick(world);
}

/// A tick of which the flight recorder needs no state.
fn end_unread(flight: &mut Flight) -> bool {
    if let Some(part) = flight.part() {
        part.end_tick_unread();
    }
    false
}

/// Length of the running tick.
fn timestep_ns(world: &World) -> u64 {
    nanos(world.resource::<Time<Fixed>>().delta())
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Runtime {
    /// Ends registering: from here on the types and their order are fixed.
    pub(crate) fn freeze(&mut self, world: &mut World) {
        if self.attached {
            return;
        }
        self.attached = true;
        self.flight = self.settings.flight.clone().map(Flight::new);
        self.registry.freeze(world);
        self.awaited.install_on_those_there(world);
        self.order_schedules(world);
        self.capturer.attach(world, &self.registry);
        self.looker.attach(world, &self.registry);
        let lanes = self.registry.lanes.iter().map(|lane| (lane.of(), &lane.spec().name));
        let types = lanes.chain(self.registry.resources.iter().map(|resource| (resource.of(), &resource.spec().name)));
        world.get_resource_or_init::<TickReads>().authoritative = types.map(|(of, name)| (of, name.clone())).collect();
    }

    /// Has the schedules of states follow the order of the tick.
    fn order_schedules(&mut self, world: &mut World) {
        for (label, place) in order::state_schedules(world, &self.registry.tick_schedules) {
            if !self.ordered.contains(&label) {
                order::install_on(world, label, place);
                self.ordered.push(label);
            }
        }
    }

    /// Carries out what other states are waiting for, where this tick changes registered ones.
    fn transition_others(&mut self, world: &mut World, tick: u64) {
        let Self { registry, playback, .. } = self;
        let is_due = registry.tracks.iter().any(|source| {
            let recorded = playback.as_ref().map(|playback| playback.input(&source.spec().name, tick));
            source.wants_transition(world, recorded.unwrap_or(From::Live))
        });
        #[cfg(feature = "states")]
        if is_due {
            crate::input::states::transition_others(world);
        }
        #[cfg(not(feature = "states"))]
        let _ = is_due;
    }

    /// Shows the state to the probes, where there are any. Two entities with one sim id are reported at the tick's end.
    fn with_probes(&mut self, world: &mut World, see: impl FnOnce(&mut Probes, &Capturer)) {
        if let Some(mut probes) = world.remove_resource::<Probes>() {
            if let Ok(state) = self.look(world) {
                see(&mut probes, state);
            }
            world.insert_resource(probes);
        }
    }

    /// Captures the world as it is, for whoever asks.
    pub(crate) fn look(&mut self, world: &mut World) -> Result<&Capturer, StateError> {
        self.freeze(world);
        let tick = world.resource::<SimTick>().0;
        self.looker.capture(world, &mut self.registry, tick)?;
        self.looker.trusted_since = self.settings.trust_change_ticks.then(|| world.increment_change_tick());
        Ok(&self.looker)
    }

    /// Shows the tick its inputs from the first of these on, live or the tape's, and records them.
    ///
    /// Where one cannot be read, it and those after it have not been let in; its index is returned.
    fn let_inputs_in(&mut self, world: &mut World, tick: u64, first: usize) -> Result<(), (usize, DeckError)> {
        let Self { registry, playback, recorder, seen, let_in, flight, .. } = self;
        let mut flight = flight.as_ref().and_then(|flight| flight.lock().ok());
        for (index, source) in registry.tracks.iter_mut().enumerate().skip(first) {
            let name = &source.spec().name;
            let from = playback.as_ref().map_or(From::Live, |playback| playback.input(name, tick));
            seen.clear();
            if let Err(error) = source.begin(world, from, seen) {
                return Err((index, DeckError::BadInput { name: source.spec().name.clone(), tick, error }));
            }
            let_in.push(index);
            if let Some(part) = flight.as_deref_mut().and_then(Flight::part) {
                part.input(index, tick, seen);
            }
            if let Some(recorder) = recorder {
                recorder.input(index, tick, seen);
            }
        }
        if let Some(recorder) = recorder {
            recorder.gap(tick, registry.tracks.iter().find_map(|source| source.gap()));
        }
        Ok(())
    }

    /// Ends what exactly this tick may see, and looks for inputs written inside it.
    fn take_inputs_back(&mut self, world: &mut World, tick: u64, counts: bool) {
        let mut written = Vec::new();
        for index in &self.let_in {
            let source = &mut self.registry.tracks[*index];
            if counts
                && self.settings.guard != Guard::Off
                && let Some(writer) = source.written_inside(world)
            {
                written.push(Finding::InputWrittenInside { tick, input: source.spec().name.clone(), writer });
            }
            source.end(world);
        }
        written.into_iter().for_each(|finding| self.tell(finding));
    }

    /// Looks for numbers that were drawn since the last tick.
    fn guard_streams(&mut self, world: &mut World, tick: u64) {
        // What a game with a start gate draws while it gets ready is compared with the initial state.
        if self.settings.guard == Guard::Off || (tick == 0 && gate::has_condition(world)) {
            return;
        }
        for index in 0..self.registry.streams.len() {
            let stream = &self.registry.streams[index];
            let draws = (stream.streams)(world).map_or(0, |streams| streams.drawn_outside());
            if draws > 0 {
                let stream = stream.name.into();
                self.tell(Finding::DrawnOutside { tick, stream, draws });
            }
        }
    }

    /// Whether somebody wants the state after each tick.
    fn reads_state(&self) -> bool {
        self.recorder.is_some()
            || self.verifier.is_some()
            || self.history.is_some()
            || self.observed.is_some()
            || self.is_traced()
    }

    /// Hands the captured state to whoever wants it.
    fn take_state(&mut self, world: &mut World, tick: u64) {
        #[cfg(feature = "inspector")]
        self.trace();
        let Capturer { image, digest, .. } = &self.capturer;
        if let Some(observed) = &mut self.observed {
            let effects = world.get_resource_mut::<Probes>().map(|mut probes| core::mem::take(&mut probes.effects));
            let (image, digest) = (image.clone(), digest.clone());
            observed.push(Observed { image, digest, effects: effects.unwrap_or_default() });
        }
        let ended =
            self.recorder.as_mut().and_then(|recorder| recorder.end_tick(image, digest, self.capturer.before()));
        // What differs because a jump has not put everything back is not the game's doing.
        let is_faithful = self.unfaithful_at.is_none();
        let diverged =
            is_faithful && self.verifier.as_mut().is_some_and(|verifier| verifier.end_tick(tick, image, digest));
        if let Some(reason) = ended {
            self.end_recording(world, reason);
        }
        if diverged {
            self.annotate(world, tick);
            self.tell_divergence(world);
        }
    }
}

/// Adds to a divergence who may have written what differs first, and where it was written last.
pub(crate) fn name_writers(found: &mut Divergence, world: &mut World, registry: &Registry) {
    let Some(row) = found.differences.iter().flatten().find(|row| !row.type_name.is_empty()) else { return };
    found.written_at = writer(world, registry, row, None);
    found.writers = world.get_resource::<TickReads>().map(|reads| reads.writers(&row.type_name)).unwrap_or_default();
}

/// Where a value that differs was written last, where Bevy knows it; of a resource, if that was after a change tick.
fn writer(world: &mut World, registry: &Registry, row: &Difference, since: Option<Tick>) -> Option<String> {
    let carrier = row.sim_id.and_then(|id| entity_of(world, id));
    let lane = registry.lanes.iter().find(|lane| lane.spec().name == row.type_name);
    let resource = registry.resources.iter().find(|resource| resource.spec().name == row.type_name);
    match (lane, carrier) {
        (Some(lane), Some(entity)) => lane.writer(world, entity),
        _ => resource?.written_since(world, since.unwrap_or_default())?,
    }
}

/// The entity that carries a sim id.
fn entity_of(world: &mut World, id: u64) -> Option<Entity> {
    let mut carriers = unfiltered::<(Entity, &SimId), ()>(world);
    carriers.iter(world).find(|(_, carried)| carried.0 == id).map(|(entity, _)| entity)
}

/// The names of simulated entities, for reports.
pub(crate) fn names(world: &mut World, ids: impl Iterator<Item = u64>) -> BTreeMap<u64, String> {
    let wanted: BTreeSet<u64> = ids.collect();
    let mut named = unfiltered::<(&SimId, &Name), ()>(world);
    let found = named.iter(world).filter(|(id, _)| wanted.contains(&id.0));
    found.map(|(id, name)| (id.0, name.as_str().to_owned())).collect()
}
