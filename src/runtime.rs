//! What happens at the two borders of a tick.

#[cfg(feature = "file")]
use crate::deck::file::Outcome;
use crate::deck::history::History;
use crate::deck::playback::{Playback, Verifier};
use crate::deck::recorder::Recorder;
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
use crate::tick::reads::{FrameClockRead, TickReads};
use crate::tick::{AmbiguousPairs, SimTick, TickOrder, border, gate, order};
use bevy_app::FixedUpdate;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::name::Name;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::InternedScheduleLabel;
use bevy_replay_tape::{EndReason, Header, HeaderDifference, Image, Report, Start, Tape, TypeSpec, Verdict};
use bevy_time::{Fixed, Time};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    /// What was played, so that one can go back.
    pub(crate) history: Option<History>,
    /// What is put back when the run-up of a jump ends, after that many ticks.
    after_run_up: Option<(Image, RowOrder)>,
    /// The first tick that was not as when it was played first: a jump has not put everything back.
    pub(crate) unfaithful_at: Option<u64>,
    /// Whether somebody reads the image of each tick.
    pub(crate) observing: bool,
    /// The state before the first tick that was observed.
    pub(crate) initial: Option<Image>,
    /// What the game said of the run while a tape was played; `None` if none was.
    pub(crate) claimed: Option<BTreeMap<String, String>>,
    /// Whether the running replay was forced.
    forced: bool,
    /// Whether the tape stays in the deck at its end.
    is_held: bool,
    /// How the types of the tape at hand became those of the app.
    resolved: Vec<String>,
    /// What the tick sees of the input at hand.
    seen: Vec<u8>,
    /// Which inputs the running tick was shown.
    let_in: Vec<usize>,
    /// Whether a tick has run.
    has_begun: bool,
    /// Schedules that follow the order of the tick, besides the known ones.
    ordered: Vec<InternedScheduleLabel>,
    /// Kinds of findings that were told.
    found: BTreeSet<(bool, String)>,
    /// What was found, in words.
    findings: Vec<String>,
    /// Empties derived state at each border, to see that it is rebuilt before it is read.
    pub(crate) clears_derived: bool,
    /// The change tick after the last capture.
    captured_at: Option<Tick>,
    /// Commands that wait for a time, and how many did when the tick began.
    delayed: border::DelayedCommands,
    delayed_before: usize,
    hand_run: border::HandRun,
    events: Vec<Told>,
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
    let mut runtime = world.get_resource_or_init::<Core>().0.take().expect(
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
        let tick = world.resource::<SimTick>().0;
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
            runtime.show_state(world, tick);
        }
        if let Some(playback) = &mut runtime.playback {
            playback.begin_tick(world, tick);
        }
        if let Some(recorder) = &mut runtime.recorder {
            recorder.begin_tick(tick, timestep_ns(world));
        }
        for begin in &runtime.registry.at_begin {
            begin(world);
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
        runtime.delayed_before = runtime.delayed.count(world);
    });
    #[cfg(feature = "states")]
    crate::input::states::transition(world);
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
        let tick = world.resource::<SimTick>().0;
        if !core::mem::replace(&mut runtime.has_begun, true) {
            runtime.check_order(world);
        }
        let counts = gate::is_open(world);
        runtime.take_inputs_back(world, tick, counts);
        if !counts {
            world.resource::<SimIds>().taken();
            return;
        }
        runtime.check_border(world, tick);
        world.resource_mut::<SimTick>().0 = tick + 1;
        if runtime.reads_state() {
            match runtime.capturer.capture(world, &mut runtime.registry, tick + 1) {
                Ok(()) => {
                    runtime.captured_at = Some(world.increment_change_tick());
                    runtime.capturer.trusted_since =
                        runtime.captured_at.filter(|_| runtime.settings.trust_change_ticks);
                    runtime.remember(world, tick);
                    runtime.take_state(world, tick);
                }
                Err(error) => {
                    runtime.end_recording(world, EndReason::CaptureFailed);
                    runtime.end_playback(world);
                    runtime.refuse(world, error.into());
                }
            }
        }
        if runtime.playback.as_ref().is_some_and(|playback| tick + 1 >= playback.tape.ticks().end) {
            match runtime.is_held {
                true => runtime.tell_finished(world),
                false => runtime.end_playback(world),
            }
        }
        if runtime.recorder.is_some() || runtime.playback.is_some() {
            runtime.show_state(world, tick + 1);
        }
        runtime.hand_run.end_tick(world);
    });
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
        self.registry.freeze(world);
        self.order_schedules(world);
        self.capturer.attach(world, &self.registry);
        self.looker.attach(world, &self.registry);
    }

    /// Has the schedules of states follow the order of the tick.
    fn order_schedules(&mut self, world: &mut World) {
        for (label, place) in order::state_schedules(world, &self.registry.tick_schedules) {
            if !self.ordered.contains(&label) {
                order::install_on(world, label, self.settings.order, place);
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

    /// Captures the world as it is, for whoever asks.
    pub(crate) fn look(&mut self, world: &mut World) -> Result<&Capturer, StateError> {
        self.freeze(world);
        let tick = world.resource::<SimTick>().0;
        self.looker.capture(world, &mut self.registry, tick)?;
        self.looker.trusted_since = self.settings.trust_change_ticks.then(|| world.increment_change_tick());
        Ok(&self.looker)
    }

    /// Warns if the schedules of the tick do not follow the order that was asked for.
    fn check_order(&self, world: &World) {
        let followed = world.get_resource::<AmbiguousPairs>().is_some_and(|found| found.has_seen(&FixedUpdate));
        if self.settings.order != TickOrder::AsScheduled && !followed {
            tracing::warn!(
                "`FixedUpdate` was replaced after `ReplayPlugin` was added, so the order of its systems is not fixed \
                 (add `ReplayPlugin` last, or use `edit_schedule` instead of `add_schedule`)"
            );
        }
    }

    /// What a tape of this app says of itself, at this tick.
    pub(crate) fn header(&self, world: &World, tick: u64) -> Header {
        let clock = world.resource::<Time<Fixed>>();
        let specs = |specs: &mut dyn Iterator<Item = (&Arc<str>, &Arc<bevy_replay_tape::Schema>)>| {
            specs.map(|(name, schema)| TypeSpec { name: name.to_string(), schema: schema.clone() }).collect()
        };
        let mut header = Header::new(&*self.settings.game);
        header.rules = self.settings.rules;
        header.game_version.clone_from(&self.settings.version);
        header.bevy_version = crate::BEVY_VERSION.into();
        header.features.extend(cfg!(feature = "libm").then(|| "libm".into()));
        header.timestep_ns = nanos(clock.timestep());
        header.seed = world.get_resource::<crate::Seed>().map_or(self.settings.seed, |seed| seed.0);
        header.tick_first = tick;
        header.start = Start::Gate;
        header.tracks = self.registry.tracks.iter().map(|track| track.spec().clone()).collect();
        header.lanes = specs(&mut self.capturer.image.lanes.iter().map(|lane| (&lane.name, &lane.schema)));
        header.resources = specs(&mut self.capturer.image.resources.iter().map(|state| (&state.name, &state.schema)));
        header
    }

    /// Returns why a tape would be refused.
    pub(crate) fn refusals(tape: &Tape, app: &Header, options: PlayOptions) -> Vec<HeaderDifference> {
        let mut refused = tape.header.differences(app);
        refused.retain(|row| row.refused);
        if options.inputs_only {
            refused.retain(|row| match row.field.split_once(' ') {
                Some(("input", field)) => field.split('.').next().is_some_and(|name| tape.track(name).is_some()),
                _ => matches!(row.field.as_str(), "game" | "timestep"),
            });
        }
        if options.keep_clock {
            refused.retain(|row| row.field != "timestep");
        }
        refused
    }

    fn carry_out(&mut self, world: &mut World, tick: u64, request: Request) -> Result<(), DeckError> {
        match request {
            #[cfg(feature = "file")]
            Request::RecordTo(path) => {
                match &self.recorder {
                    Some(recorder) if recorder.tape.end.tick_count > 0 || recorder.has_file() => {
                        return Err(DeckError::Busy);
                    }
                    _ => self.carry_out(world, tick, Request::Record)?,
                }
                // Where there can be no file the recording goes on in memory.
                if let Some(recorder) = &mut self.recorder {
                    recorder.write_to(&path)?;
                }
            }
            Request::Record => {
                match &self.recorder {
                    Some(recorder) if recorder.tape.end.tick_count == 0 => return Ok(()), // asked for twice
                    Some(_) => return Err(DeckError::Busy),
                    None => {}
                }
                if timestep_ns(world) == 0 {
                    return Err(DeckError::TickWithoutLength);
                }
                let initial = self.capture_start(world, tick)?;
                let mut header = self.header(world, tick);
                header.timestep_ns = timestep_ns(world);
                header.elapsed_ns = nanos(world.resource::<Time<Fixed>>().elapsed()).saturating_sub(header.timestep_ns);
                let recorder = Recorder::new(header, initial, self.settings.detail, self.settings.limits);
                self.capturer.before = recorder.keeps_values().then(|| self.capturer.image.clone());
                self.recorder = Some(recorder);
            }
            Request::Play(tape, options) => {
                if self.playback.is_some() {
                    return Err(DeckError::Busy);
                }
                if tape.header.tick_first != 0 {
                    return Err(DeckError::StartsFromImage { tick: tape.header.tick_first });
                }
                let header = self.header(world, tick);
                let differences = Self::refusals(&tape, &header, options);
                if !differences.is_empty() && !options.force {
                    return Err(DeckError::Refused { differences });
                }
                self.forced = !differences.is_empty();
                self.claimed = Some(BTreeMap::new());
                let initial = self.capture_start(world, tick)?;
                let tape = self.resolve(tape, &header)?;
                if options.compares() {
                    let verifier = Verifier::new(tape.clone(), &header, &initial);
                    self.verifier = Some(verifier);
                }
                if !options.forget {
                    self.begin_history(tape.marks.iter().map(|mark| mark.tick));
                }
                self.is_held = options.hold;
                self.initial = Some(initial);
                self.playback = Some(Playback::new(world, tape, options.keep_clock));
                if self.verifier.as_ref().is_some_and(|verifier| verifier.comparison.divergence().is_some()) {
                    self.tell_divergence(world);
                }
            }
            Request::Stop => {
                self.end_recording(world, EndReason::Stopped);
                self.end_playback(world);
            }
            Request::Mark(text) => self.recorder.as_mut().ok_or(DeckError::NotRecording)?.mark(tick, text),
            Request::Claim(name, value) => match (&mut self.recorder, &mut self.claimed) {
                (Some(recorder), _) => recorder.claim(name, value),
                (None, Some(claimed)) => drop(claimed.insert(name, value)),
                (None, None) => return Err(DeckError::NotRecording),
            },
        }
        Ok(())
    }

    /// Reads the tape of an older game as one of this game.
    fn resolve(&mut self, tape: Arc<Tape>, header: &Header) -> Result<Arc<Tape>, DeckError> {
        let default = |name: &str| {
            let source = self.registry.tracks.iter().find(|source| source.spec().name == name);
            source.and_then(|source| source.default())
        };
        let resolved = tape.resolved(header, default);
        let resolved = resolved.map_err(|error| DeckError::NotConvertible { reason: error.to_string() })?;
        let Some(resolved) = resolved else {
            self.resolved.clear();
            return Ok(tape);
        };
        resolved.notes.iter().for_each(|note| tracing::warn!("the tape is of an older game: {note}"));
        self.resolved = resolved.notes;
        Ok(Arc::new(resolved.tape))
    }

    /// The state before the first tick of a tape.
    fn capture_start(&mut self, world: &World, tick: u64) -> Result<Image, DeckError> {
        if tick != 0 {
            return Err(DeckError::NotAtStart { tick });
        }
        self.capturer.capture(world, &mut self.registry, tick)?;
        Ok(self.capturer.image.clone())
    }

    /// Shows the tick its inputs from the first of these on, live or the tape's, and records them.
    ///
    /// Where one cannot be read, it and those after it have not been let in; its index is returned.
    fn let_inputs_in(&mut self, world: &mut World, tick: u64, first: usize) -> Result<(), (usize, DeckError)> {
        let Self { registry, playback, recorder, seen, let_in, .. } = self;
        for (index, source) in registry.tracks.iter_mut().enumerate().skip(first) {
            let name = &source.spec().name;
            let from = playback.as_ref().map_or(From::Live, |playback| playback.input(name, tick));
            seen.clear();
            if let Err(error) = source.begin(world, from, seen) {
                return Err((index, DeckError::BadInput { name: source.spec().name.clone(), tick, error }));
            }
            let_in.push(index);
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

    /// Looks for what a tick must not leave behind, nor read.
    fn check_border(&mut self, world: &mut World, tick: u64) {
        self.check_sim_ids(world, tick);
        if self.settings.guard == Guard::Off {
            return;
        }
        if self.delayed.count(world) > self.delayed_before {
            self.tell(Finding::DelayedCommands { tick });
        }
        let reads = world.get_resource_mut::<TickReads>();
        if reads.as_ref().is_some_and(|reads| !reads.frame_clocks.is_empty()) {
            let found = reads.map(|mut reads| core::mem::take(&mut reads.frame_clocks)).unwrap_or_default();
            for FrameClockRead { system, clock } in found {
                self.tell(Finding::FrameClockRead { system, clock });
            }
        }
    }

    /// Looks for entities that live on without the sim id they had, or with another.
    ///
    /// What was drawn for entities that are gone goes with them.
    fn check_sim_ids(&mut self, world: &mut World, tick: u64) {
        let taken = world.resource::<SimIds>().taken();
        let gone: Vec<u64> = taken.iter().map(|(id, _)| *id).collect();
        for stream in &self.registry.streams {
            if let Some(mut streams) = (stream.streams)(world) {
                streams.bypass_change_detection().end_tick(&gone); // bookkeeping, no change of the state
            }
        }
        for (id, entity) in taken {
            if world.get_entity(entity).is_ok_and(|entity| entity.get::<SimId>() != Some(&SimId(id))) {
                self.tell(Finding::SimIdRemoved { tick, id, entity });
            }
        }
    }

    /// Looks for authoritative state that was written since the last tick.
    fn guard(&mut self, world: &mut World, tick: u64) {
        let Some(since) = self.captured_at.filter(|_| self.capturer.image.tick == tick) else { return };
        if self.settings.guard == Guard::Full && self.hand_run.ran_since(world) {
            self.tell(Finding::RunByHand { tick });
        }
        match self.settings.guard {
            Guard::Off => {}
            Guard::Ticks => self.guard_by_ticks(world, tick, since),
            Guard::Full => self.guard_by_values(world, tick),
        }
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

    /// Empties derived state and has it rebuilt, where that is wanted.
    fn clear_derived(&self, world: &mut World) {
        if self.clears_derived {
            for derived in &self.registry.derived {
                (derived.clear)(world);
                if let Some(rebuild) = derived.rebuild
                    && let Err(error) = world.run_system(rebuild)
                {
                    tracing::error!("derived state could not be rebuilt: {error}");
                }
            }
        }
    }

    fn guard_by_ticks(&mut self, world: &World, tick: u64, since: Tick) {
        let mut found = Vec::new();
        let mut note = |name: &str, sim_id: Option<u64>, writer: Option<String>| {
            let type_name = name.to_owned();
            found.push(Finding::WrittenOutside { tick, type_name, sim_id, difference: None, writer });
        };
        for lane in &mut self.registry.lanes {
            if let Some((id, writer)) = lane.written_since(world, since) {
                note(&lane.spec().name, Some(id), writer);
            }
        }
        for resource in &self.registry.resources {
            if let Some(writer) = resource.written_since(world, since) {
                note(&resource.spec().name, None, writer);
            }
        }
        found.into_iter().for_each(|finding| self.tell(finding));
    }

    fn guard_by_values(&mut self, world: &mut World, tick: u64) {
        if self.look(world).is_err() || self.looker.digest.root == self.capturer.digest.root {
            return; // two entities with one sim id are reported at the end of the tick
        }
        for row in self.capturer.image.diff(&self.looker.image) {
            if self.is_settled(&(true, row.type_name.clone())) {
                continue; // before anything is looked up: a type may be written in each frame
            }
            let carrier = row.sim_id.and_then(|id| entity_of(world, id));
            let lane = self.registry.lanes.iter().find(|lane| lane.spec().name == row.type_name);
            let resource = self.registry.resources.iter().find(|resource| resource.spec().name == row.type_name);
            let writer = match (lane, carrier) {
                (Some(lane), Some(entity)) => lane.writer(world, entity),
                _ => resource.and_then(|resource| resource.written_since(world, self.captured_at?)?),
            };
            let (type_name, sim_id) = (row.type_name.clone(), row.sim_id);
            self.tell(Finding::WrittenOutside { tick, type_name, sim_id, difference: Some(row), writer });
        }
    }

    /// Tells a finding, each kind once per type.
    fn tell(&mut self, finding: Finding) {
        let key = finding.key();
        if self.is_settled(&key) {
            return;
        }
        self.found.insert(key);
        tracing::warn!("{finding}");
        self.findings.push(finding.to_string());
        self.events.push(Told::Found(Box::new(finding)));
    }

    /// Whether findings of that kind are told already, or not wanted.
    fn is_settled(&self, key: &(bool, String)) -> bool {
        (key.0 && self.registry.is_unguarded(&key.1)) || self.found.contains(key)
    }

    /// Most rows each lane had in a captured image.
    pub(crate) fn rows_max(&self) -> impl Iterator<Item = usize> {
        self.capturer.rows_max.iter().zip(&self.looker.rows_max).map(|(a, b)| *a.max(b))
    }

    /// Whether somebody wants the state after each tick.
    fn reads_state(&self) -> bool {
        self.recorder.is_some() || self.verifier.is_some() || self.history.is_some() || self.observing
    }

    /// Begins to keep states, from the one that was just captured.
    fn begin_history(&mut self, marks: impl Iterator<Item = u64>) {
        let Capturer { image, .. } = &self.capturer;
        let (order, budget) = (self.capturer.row_order(), self.settings.keyframe_bytes);
        self.history = Some(History::new(image.clone(), order, budget, marks));
        (self.after_run_up, self.unfaithful_at) = (None, None);
    }

    /// Keeps the captured state where it is due, and looks whether a part that is played again is the same.
    fn remember(&mut self, world: &mut World, tick: u64) {
        if let Some((image, order)) = self.after_run_up.take_if(|(image, _)| image.tick == tick + 1)
            && let Err(error) = restore::restore(world, &mut self.registry, &mut self.capturer, &image, &order)
        {
            tracing::error!("after a jump: {error}");
        }
        let Some(history) = self.history.as_mut().filter(|_| self.after_run_up.is_none()) else { return };
        history.needs_run_up.get_or_insert_with(|| !coverage::carried_messages(world).is_empty());
        let capturer = &self.capturer;
        if !history.end_tick(&capturer.image, capturer.digest.root, || capturer.row_order()) {
            self.unfaithful_at.get_or_insert(tick);
        }
    }

    /// Puts the state back that was kept at a tick; that tick runs next.
    pub(crate) fn jump(&mut self, world: &mut World, tick: u64) -> Result<(), RestoreError> {
        let Some(point) = self.history.as_ref().and_then(|history| history.jump_point(tick)) else { return Ok(()) };
        restore::restore(world, &mut self.registry, &mut self.capturer, &point.image, &point.order)?;
        self.after_run_up = point.after_run_up;
        world.resource_mut::<SimTick>().0 = tick;
        let Self { registry, playback, .. } = self;
        if let Some(playback) = playback {
            playback.go_to(world, tick);
            for source in &mut registry.tracks {
                let last = tick.checked_sub(1).map_or(From::Nothing, |last| playback.input(&source.spec().name, last));
                source.resume(world, last);
            }
        }
        self.captured_at = Some(world.increment_change_tick());
        self.hand_run.end_tick(world);
        Ok(())
    }

    /// Keeps what ticks write from the frame, or no longer.
    pub(crate) fn hush(&mut self, is_hushed: bool) {
        self.registry.tracks.iter_mut().for_each(|source| source.hush(is_hushed));
    }

    /// Hands the captured state to whoever wants it.
    fn take_state(&mut self, world: &mut World, tick: u64) {
        let Capturer { image, digest, before, .. } = &self.capturer;
        let ended = self.recorder.as_mut().and_then(|recorder| recorder.end_tick(image, digest, before.as_ref()));
        let diverged = self.verifier.as_mut().is_some_and(|verifier| verifier.end_tick(tick, image, digest));
        if let Some(reason) = ended {
            self.end_recording(world, reason);
        }
        if diverged {
            self.annotate(world, tick);
            self.tell_divergence(world);
        }
    }

    /// Adds what the world knows of a divergence.
    fn annotate(&mut self, world: &mut World, tick: u64) {
        let (Some(verifier), Some(playback)) = (&mut self.verifier, &self.playback) else { return };
        verifier.comparison.annotate(|found| {
            found.inputs = playback.tape.inputs_text(tick);
            found.names = names(world, found.sim_ids());
        });
    }

    fn tell_divergence(&mut self, world: &World) {
        let (Some(verifier), Some(playback)) = (&self.verifier, &self.playback) else { return };
        let ticks = playback.tape.tick_count();
        let report = self.report(world, verifier.comparison.clone().finish(ticks, ticks), &playback.tape);
        self.events.push(Told::Diverged(Box::new(Diverged { report })));
    }

    /// Completes a report with what only the app knows.
    pub(crate) fn report(&self, world: &World, mut report: Report, tape: &Tape) -> Report {
        report.tape = tape.header.origin();
        report.replayed_by = self.header(world, 0).origin();
        report.notes.extend_from_slice(&self.capturer.notes);
        report.notes.extend_from_slice(&self.findings);
        report.notes.extend_from_slice(&self.resolved);
        if tape.end.reason == EndReason::Unfinished {
            report.notes.push(format!("the tape is unfinished: its recorder died after {} ticks", tape.tick_count()));
        }
        if self.forced {
            report.verdict = Verdict::Unverified;
        }
        report
    }

    pub(crate) fn end_recording(&mut self, world: &mut World, reason: EndReason) {
        let Some(mut recorder) = self.recorder.take() else { return };
        self.capturer.before = None;
        // What the last tick said of the run still belongs to it.
        let mut deck = world.resource_mut::<Deck>();
        for request in core::mem::take(&mut deck.requests) {
            match request {
                Request::Mark(text) => recorder.mark(recorder.tape.ticks().end, text),
                Request::Claim(name, value) => recorder.claim(name, value),
                other => deck.requests.push(other),
            }
        }
        #[cfg(feature = "file")]
        let tape = {
            let (tape, writer) = recorder.finish(reason);
            self.writers.extend(writer);
            tape
        };
        #[cfg(not(feature = "file"))]
        let tape = recorder.finish(reason);
        deck.tape = Some(tape.clone());
        deck.state = DeckState::Idle;
        self.events.push(Told::RecordingEnded(RecordingEnded { reason, tape }));
    }

    /// Returns whether a recording goes into a file, or a file is being finished.
    #[cfg(feature = "file")]
    fn has_files(&self) -> bool {
        !self.writers.is_empty() || self.recorder.as_ref().is_some_and(Recorder::has_file)
    }

    /// Tells what became of files, and hands ticks over while the game pauses.
    #[cfg(feature = "file")]
    fn tend_files(&mut self, world: &mut World) {
        if let Some(reason) = self.recorder.as_mut().and_then(Recorder::idle) {
            self.end_recording(world, reason);
        }
        for mut writer in core::mem::take(&mut self.writers) {
            match writer.outcome() {
                None => self.writers.push(writer),
                Some(Outcome::Failed(error)) => self.refuse(world, error),
                Some(Outcome::Saved { path, size_bytes }) => {
                    world.resource_mut::<Deck>().saved = Some(path.clone());
                    self.events.push(Told::Saved(crate::deck::RecordingSaved { path, size_bytes }));
                }
            }
        }
    }

    /// Ends a replay: complete, or cut short.
    pub(crate) fn end_playback(&mut self, world: &mut World) {
        self.tell_finished(world);
        let Some(playback) = self.playback.take() else { return };
        playback.finish(world, &mut self.registry);
        self.history = None;
        let mut deck = world.resource_mut::<Deck>();
        (deck.state, deck.is_replaying) = (DeckState::Idle, false);
    }

    /// Tells what a replay has found, once.
    fn tell_finished(&mut self, world: &mut World) {
        let (Some(playback), Some(verifier)) = (&self.playback, self.verifier.take()) else { return };
        let played = verifier.next - playback.tape.header.tick_first;
        let mut report = self.report(world, verifier.comparison.finish(played, played), &playback.tape);
        let count = playback.tape.tick_count();
        if played < count {
            report.notes.push(format!("stopped after {played} of {count} ticks"));
            if report.is_verified() {
                report.verdict = Verdict::Unverified;
            }
        }
        world.resource_mut::<Deck>().report = Some(report.clone());
        self.events.push(Told::ReplayFinished(Box::new(ReplayFinished { report })));
    }

    fn refuse(&mut self, world: &mut World, error: DeckError) {
        tracing::error!("{error}");
        world.resource_mut::<Deck>().error = Some(error.clone());
        self.events.push(Told::Refused(DeckRefused { error }));
    }

    /// Shows in the deck what it is doing.
    fn show_state(&self, world: &mut World, tick: u64) {
        let state = self.deck_state(tick);
        let mut deck = world.resource_mut::<Deck>();
        deck.state = state;
        deck.is_replaying = self.playback.is_some();
    }

    fn deck_state(&self, tick: u64) -> DeckState {
        if let Some(recorder) = &self.recorder {
            return DeckState::Recording {
                tick_count: recorder.tape.end.tick_count,
                size_bytes: recorder.size_bytes(),
            };
        }
        match &self.playback {
            Some(playback) => DeckState::Replaying {
                tick_count: tick.saturating_sub(playback.tape.header.tick_first),
                tick_count_max: playback.tape.tick_count(),
            },
            None => DeckState::Idle,
        }
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
