//! Pause, step, seek, speed, loop: how many ticks a frame runs.
//!
//! While the deck has its hand on the time, `Time<Virtual>` is paused and ticks are given to `Time<Fixed>` one by one,
//! past Bevy's limit of a quarter of a second per frame.

use super::{Deck, DeckError, Request};
use crate::runtime;
use crate::state::suspects;
use crate::tick::SimTick;
use bevy_app::{App, RunFixedMainLoop, RunFixedMainLoopSystems};
use bevy_ecs::prelude::*;
use bevy_platform::time::Instant;
use bevy_time::{Fixed, Real, Time, Virtual};
use core::ops::Range;
use core::time::Duration;

/// How fast a tape is played.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Speed {
    /// As it was recorded: Bevy's clock drives the ticks. Default.
    #[default]
    Normal,
    /// So many times as fast, 0.25 to 16.
    Times(f32),
    /// As fast as it goes, within the budget of a frame.
    Max,
}

/// How far a seek has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeekProgress {
    /// The tick from which it plays on.
    pub from: u64,
    /// How many ticks have run.
    pub tick: u64,
    /// The tick it goes to.
    pub target: u64,
}

/// Event: the deck stands at the tick that was asked for.
#[derive(Event, Debug, Clone, PartialEq, Eq)]
pub struct SeekFinished {
    /// How many ticks have run.
    pub tick: u64,
    /// Why the state may not be that of straight playback, with suspects; told once. `None` while all is well.
    pub doubt: Option<String>,
}

/// What is asked of the time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    Pause,
    Resume,
    Step(i64),
    Seek(u64),
    JumpToMark(usize),
    Cancel,
    Speed(Speed),
    Loop(Option<Range<u64>>),
}

/// The deck's hand on the time.
#[derive(Debug, Default)]
pub(crate) struct Transport {
    pub(crate) orders: Vec<Order>,
    pub(crate) is_paused: bool,
    pub(crate) speed: Speed,
    pub(crate) looped: Option<Range<u64>>,
    pub(crate) seek: Option<Seek>,
    /// Time that has passed and no tick has spent.
    owed: Duration,
    /// Whether the pause of `Time<Virtual>` is ours.
    has_paused_clock: bool,
    /// Whether the tape in the deck has come to its end, and is held there.
    pub(crate) is_at_end: bool,
    /// Ticks this frame may still run, and until when.
    frame: Option<(u64, Instant)>,
    /// Whether it was told that jumps are not to be trusted.
    pub(crate) has_doubted: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Seek {
    pub(crate) from: u64,
    pub(crate) target: u64,
}

/// How long ticks may keep a frame from being drawn.
const FRAME_BUDGET: Duration = Duration::from_millis(12);

impl Transport {
    /// No more ticks in this frame.
    pub(crate) fn end_frame(&mut self) {
        self.frame = None;
    }

    fn has_hand_on_time(&self) -> bool {
        self.is_paused || self.speed != Speed::Normal || self.seek.is_some() || self.looped.is_some()
    }
}

pub(crate) fn install(app: &mut App) {
    app.add_systems(
        RunFixedMainLoop,
        (
            drive.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop),
            arrive.in_set(RunFixedMainLoopSystems::AfterFixedMainLoop),
        ),
    );
}

/// Carries out orders, and gives the frame its ticks.
pub(crate) fn drive(world: &mut World) {
    let transport = &world.resource::<Deck>().transport;
    let is_idle = transport.orders.is_empty() && !transport.has_hand_on_time() && !transport.is_at_end;
    if is_idle && !transport.has_paused_clock {
        return;
    }
    let orders = core::mem::take(&mut world.resource_mut::<Deck>().transport.orders);
    for order in orders {
        if let Err(error) = carry_out(world, order) {
            runtime::with(world, |world, runtime| runtime.refuse(world, error));
        }
    }
    let tick = world.resource::<SimTick>().0;
    let end = runtime::with(world, |_, runtime| runtime.held_end());
    let transport = &world.resource::<Deck>().transport;
    let is_free = !transport.is_paused && transport.seek.is_none();
    let looped = transport.looped.clone().filter(|_| is_free);
    let part_end = looped.as_ref().map(|part| end.map_or(part.end, |end| end.min(part.end)));
    if let Some(part) = looped.filter(|_| part_end.is_some_and(|end| tick >= end))
        && let Err(error) = go_to(world, part.start)
    {
        world.resource_mut::<Deck>().transport.looped = None;
        runtime::with(world, |world, runtime| runtime.refuse(world, error));
    }
    let end = match part_end {
        Some(part_end) if tick < part_end => Some(part_end),
        _ => end,
    };
    take_time(world, end);
}

/// Gives the frame its ticks, or the time back to Bevy.
fn take_time(world: &mut World, end: Option<u64>) {
    let tick = world.resource::<SimTick>().0;
    let real = world.get_resource::<Time<Real>>().map_or(Duration::ZERO, Time::delta);
    let timestep = world.resource::<Time<Fixed>>().timestep();
    let mut deck = world.resource_mut::<Deck>();
    let transport = &mut deck.bypass_change_detection().transport;
    let holds = end.is_some_and(|end| tick >= end) && transport.seek.is_none();
    transport.is_at_end &= holds;
    if !transport.has_hand_on_time() && !holds {
        transport.frame = None;
        transport.owed = Duration::ZERO;
        if core::mem::take(&mut transport.has_paused_clock)
            && let Some(mut clock) = world.get_resource_mut::<Time<Virtual>>()
        {
            clock.unpause();
        }
        return;
    }
    let to_end = end.map_or(u64::MAX, |end| end.saturating_sub(tick));
    let ticks = match (transport.seek, transport.speed) {
        (Some(seek), _) => seek.target.saturating_sub(tick),
        (None, _) if transport.is_paused || holds => 0,
        (None, Speed::Max) => to_end,
        (None, speed) => {
            let times = if let Speed::Times(times) = speed { times.clamp(0.25, 16.0) } else { 1.0 };
            transport.owed += real.mul_f32(times);
            let ticks = transport.owed.as_nanos() / timestep.as_nanos().max(1);
            let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
            transport.owed -= timestep * ticks;
            u64::from(ticks).min(to_end)
        }
    };
    transport.frame = Some((ticks, now() + FRAME_BUDGET));
    if let Some(mut clock) = world.get_resource_mut::<Time<Virtual>>() {
        let was_paused = clock.is_paused();
        clock.pause();
        clock.advance_by(Duration::ZERO); // what this frame would have given to ticks
        world.resource_mut::<Deck>().bypass_change_detection().transport.has_paused_clock |= !was_paused;
    }
    give_tick(world, ticks > 0);
}

#[expect(clippy::disallowed_methods, reason = "a frame must be drawn now and then; it reaches no tick")]
fn now() -> Instant {
    Instant::now()
}

/// Lets one more tick run, or none.
fn give_tick(world: &mut World, is_due: bool) {
    let mut clock = world.resource_mut::<Time<Fixed>>();
    clock.discard_overstep(Duration::MAX);
    if is_due {
        let timestep = clock.timestep();
        clock.accumulate_overstep(timestep);
    }
}

/// Another tick, if one is left and there is time. The last word of a tick.
pub(crate) fn after_tick(world: &mut World) {
    let mut deck = world.resource_mut::<Deck>();
    let Some((left, until)) = &mut deck.bypass_change_detection().transport.frame else { return };
    *left = left.saturating_sub(1);
    let is_due = *left > 0 && now() < *until;
    give_tick(world, is_due);
}

/// Tells when a seek has come to its end.
fn arrive(world: &mut World) {
    let Some(seek) = world.resource::<Deck>().transport.seek else { return };
    let tick = world.resource::<SimTick>().0;
    if tick < seek.target {
        return;
    }
    let unfaithful = runtime::with(world, |_, runtime| {
        runtime.hush(false);
        runtime.unfaithful_at
    });
    let mut deck = world.resource_mut::<Deck>();
    deck.transport.seek = None;
    let is_new = unfaithful.is_some() && !core::mem::replace(&mut deck.transport.has_doubted, unfaithful.is_some());
    let doubt = unfaithful.filter(|_| is_new).map(|at| {
        let suspects = runtime::with(world, |world, runtime| suspects(world, runtime));
        format!("tick {at} was not the same when it was played again after a jump{suspects}")
    });
    if let Some(doubt) = &doubt {
        tracing::warn!("{doubt}");
    }
    world.trigger(SeekFinished { tick, doubt });
    let edit = runtime::with(world, |world, runtime| runtime.edit_here(world, tick));
    if let Err(error) = edit {
        runtime::with(world, |world, runtime| runtime.refuse(world, error));
    }
}

fn carry_out(world: &mut World, order: Order) -> Result<(), DeckError> {
    let tick = world.resource::<SimTick>().0;
    match order {
        Order::Pause => world.resource_mut::<Deck>().transport.is_paused = true,
        Order::Resume => world.resource_mut::<Deck>().transport.is_paused = false,
        Order::Speed(speed) => world.resource_mut::<Deck>().transport.speed = speed,
        Order::Loop(Some(part)) if part.is_empty() => {
            return Err(DeckError::EmptyLoop { start: part.start, end: part.end });
        }
        Order::Loop(part) => {
            if let Some(part) = &part {
                runtime::with(world, |_, runtime| runtime.pin(part.start));
            }
            world.resource_mut::<Deck>().transport.looped = part;
        }
        Order::Step(ticks) => {
            let mut deck = world.resource_mut::<Deck>();
            deck.transport.is_paused = true;
            let base = deck.transport.seek.map_or(tick, |seek| seek.target);
            go_to(world, base.saturating_add_signed(ticks))?;
        }
        Order::Seek(target) => go_to(world, target)?,
        Order::JumpToMark(index) => {
            let mark = runtime::with(world, |_, runtime| runtime.mark_tick(index));
            go_to(world, mark.ok_or(DeckError::NoSuchMark { index })?)?;
        }
        Order::Cancel => {
            let mut deck = world.resource_mut::<Deck>();
            if deck.transport.seek.take().is_some() {
                deck.transport.is_paused = true;
                runtime::with(world, |_, runtime| runtime.hush(false));
            }
        }
    }
    Ok(())
}

/// Sets out for a tick: by a jump to a kept state where that is nearer.
fn go_to(world: &mut World, target: u64) -> Result<(), DeckError> {
    let tick = world.resource::<SimTick>().0;
    runtime::with(world, |_, runtime| runtime.drop_edit_unless(target));
    let is_live_step = target >= tick && runtime::with(world, |_, runtime| runtime.playback.is_none());
    let from = match is_live_step {
        true => tick, // a game without a tape can be stepped on
        false => runtime::with(world, |world, runtime| runtime.set_out(world, target))?,
    };
    let target = match is_live_step {
        true => target,
        false => runtime::with(world, |_, runtime| runtime.clamp_to_tape(target)),
    };
    world.resource_mut::<Deck>().transport.seek = Some(Seek { from, target });
    Ok(())
}

impl Deck {
    /// Stops the ticks; a frame goes on. What is asked of the time is carried out before the ticks of the next frame.
    pub fn pause(&mut self) {
        self.transport.orders.push(Order::Pause);
    }

    /// Lets the ticks go on.
    pub fn resume(&mut self) {
        self.transport.orders.push(Order::Resume);
    }

    /// Pauses, and runs so many ticks, or goes back by so many on the tape.
    pub fn step(&mut self, ticks: i64) {
        self.transport.orders.push(Order::Step(ticks));
    }

    /// Goes to where so many ticks have run; past an end of the tape is that end. [`SeekFinished`] tells when it is there.
    ///
    /// Going back needs a tape in the deck, or a recording with [`ReplayPlugin::rewind`](crate::ReplayPlugin::rewind):
    /// that one ends, and is then played. The frame goes on meanwhile, and no reader outside of ticks sees what the ticks
    /// on the way write.
    pub fn seek(&mut self, tick: u64) {
        self.transport.orders.push(Order::Seek(tick));
    }

    /// Goes to the first tick.
    pub fn restart(&mut self) {
        self.seek(0);
    }

    /// Goes to a mark of the tape, counted from 0.
    pub fn jump_to_mark(&mut self, index: usize) {
        self.transport.orders.push(Order::JumpToMark(index));
    }

    /// Ends a seek where it is, and pauses.
    pub fn cancel_seek(&mut self) {
        self.transport.orders.push(Order::Cancel);
    }

    /// Sets how fast ticks run; what is no number is normal.
    ///
    /// `Time<Virtual>` stands still at any speed but [`Normal`](Speed::Normal), and a pause of the game's own that is made
    /// meanwhile is not told apart from the deck's.
    pub fn set_speed(&mut self, speed: Speed) {
        let speed = if matches!(speed, Speed::Times(times) if times.is_nan()) { Speed::Normal } else { speed };
        self.transport.orders.push(Order::Speed(speed));
    }

    /// Plays a part of the tape over and over, or no longer.
    pub fn set_loop(&mut self, part: Option<Range<u64>>) {
        self.transport.orders.push(Order::Loop(part));
    }

    /// Returns whether the deck has stopped the ticks.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.transport.is_paused
    }

    /// Returns how fast ticks run.
    #[must_use]
    pub fn speed(&self) -> Speed {
        self.transport.speed
    }

    /// Returns how far a seek has come, while there is one.
    #[must_use]
    pub fn seek_progress(&self, tick: &SimTick) -> Option<SeekProgress> {
        self.transport.seek.map(|seek| SeekProgress { from: seek.from, tick: tick.0, target: seek.target })
    }

    /// Lets the player take over at this tick: live input comes back, and what is played is recorded from here on, as a
    /// new [branch](Self::branches) whose beginning is the tape's.
    pub fn take_over(&mut self) {
        self.requests.push(Request::TakeOver);
    }

    /// Changes the input of one tick, plays the tape from there, and records what comes of it as a new
    /// [branch](Self::branches).
    pub fn edit_input<T: bevy_replay_tape::TickInput>(&mut self, tick: u64, input: &T) {
        let bytes = bevy_replay_tape::encode_to_vec(input);
        self.requests.push(Request::Edit { name: T::type_name(), tick, bytes });
    }

    /// Puts another branch into the deck, at this tick or where both part.
    pub fn switch_to(&mut self, branch: usize) {
        self.requests.push(Request::SwitchTo(branch));
    }
}
