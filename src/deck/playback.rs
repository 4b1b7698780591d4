//! Plays a tape: its inputs replace the live ones, its clock replaces the app's, its digests are compared.

use crate::input::From;
use crate::state::registry::Registry;
use crate::tick::clock;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{Comparison, Digest, Evidence, Header, Image, Tape};
use bevy_time::{Fixed, Time};
use core::time::Duration;
use std::sync::Arc;

pub(crate) struct Playback {
    pub(crate) tape: Arc<Tape>,
    /// The app's clock, for when the tape ends; `None` if the tape has no clock of its own.
    own_clock: Option<Time<Fixed>>,
    /// Elapsed time at the end of the tick that was played last.
    elapsed: Duration,
}

impl Playback {
    pub(crate) fn new(world: &World, tape: Arc<Tape>, keep_clock: bool) -> Self {
        let own_clock = (!keep_clock).then(|| *world.resource::<Time<Fixed>>());
        let elapsed = Duration::from_nanos(tape.header.elapsed_ns);
        Self { tape, own_clock, elapsed }
    }

    /// The next tick is this one.
    pub(crate) fn go_to(&mut self, world: &mut World, tick: u64) {
        if self.own_clock.is_some() {
            self.elapsed = Duration::from_nanos(self.tape.elapsed_ns(tick));
            let last = tick.saturating_sub(1).max(self.tape.header.tick_first);
            clock::set(world, Duration::from_nanos(self.tape.timestep_ns(last)), self.elapsed);
        }
    }

    /// Puts the tape's clock in place of the app's.
    pub(crate) fn begin_tick(&mut self, world: &mut World, tick: u64) {
        if self.own_clock.is_some() {
            let timestep = Duration::from_nanos(self.tape.timestep_ns(tick));
            self.elapsed += timestep;
            clock::set(world, timestep, self.elapsed);
        }
    }

    /// What the tape has for a type at a tick.
    pub(crate) fn input(&self, name: &str, tick: u64) -> From<'_> {
        let recorded = self.tape.track(name).and_then(|track| track.changes.at(tick));
        recorded.map_or(From::Nothing, From::Tape)
    }

    /// Releases everything held and gives the app its own clock back.
    pub(crate) fn finish(&self, world: &mut World, registry: &mut Registry) {
        for source in &mut registry.tracks {
            source.release(world);
        }
        if let Some(own) = self.own_clock {
            clock::put_back(world, own);
        }
    }
}

/// Compares a run with a tape.
pub(crate) struct Verifier {
    pub(crate) comparison: Comparison,
    tape: Arc<Tape>,
    /// The state the tape expects, where it has values.
    expected: Option<Image>,
    types: Vec<u64>,
    /// Each tick is compared once: a part that is played again was.
    pub(crate) next: u64,
}

impl Verifier {
    /// Compares the states before the first tick, too.
    pub(crate) fn new(tape: Arc<Tape>, app: &Header, initial: &Image) -> Self {
        let mut comparison = Comparison::new(&tape.header, app);
        if let Some(expected) = &tape.initial {
            comparison.initial(expected, initial);
        }
        let expected = tape.initial.clone().filter(|_| !tape.values.is_empty());
        let next = tape.header.tick_first;
        Self { comparison, tape, expected, types: Vec::new(), next }
    }

    /// Compares the states after a tick; returns whether this is the first difference.
    pub(crate) fn end_tick(&mut self, tick: u64, image: &Image, digest: &Digest) -> bool {
        if tick != self.next {
            return false;
        }
        self.next += 1;
        if !self.tape.step_image(&mut self.expected, tick) {
            self.expected = None;
        }
        self.types.clear();
        self.types.extend(digest.lanes.iter().chain(&digest.resources));
        let expected = Evidence {
            root: self.tape.root_after(tick),
            types: self.tape.lanes_after(tick),
            image: self.expected.as_ref(),
        };
        let got = Evidence { root: Some(digest.root), types: Some(&self.types), image: Some(image) };
        self.comparison.tick(tick, &expected, &got)
    }
}
