//! Where two games part: one tape, played in both.

use super::{Headless, Pacing, ReplayError, TapeSource};
use crate::deck::PlayOptions;
use crate::runtime::{self, Observed};
use crate::tick::AmbiguousPairs;
use crate::tick::order::BuildSettings;
use crate::tick::probes::Probes;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{Comparison, Evidence, Report, first_wrong};
use std::collections::BTreeSet;

impl Headless {
    /// Plays the inputs of a tape and reports where the states part from the recorded ones. Never refuses rules.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read or its inputs do not fit the game.
    pub fn compare(mut self, tape: impl TapeSource) -> Result<Report, ReplayError> {
        let tape = tape.tape()?;
        self.begin(&tape, PlayOptions { compare: true, forget: true, ..PlayOptions::inputs_only() })?;
        self.drive(tape.ticks().end)?;
        self.finished_report(&tape)
    }

    /// Plays the inputs of a tape in two apps, tick by tick side by side, and reports where `self` and `other` part.
    ///
    /// `self` is what is expected. Both states are at hand after each system, so the report has fields and values whatever
    /// the tape holds, and names the first system whose effect differs. For that, systems of the tick run one by one,
    /// in an order that they could have run in anyway; a difference that comes from threads may not show.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read or its inputs do not fit one of the games.
    pub fn compare_with(mut self, mut other: Headless, tape: impl TapeSource) -> Result<Report, ReplayError> {
        let tape = tape.tape()?;
        for side in [&mut self, &mut other] {
            side.app.world_mut().get_resource_or_init::<BuildSettings>().is_probed = true;
            side.app.init_resource::<Probes>();
            side.begin(&tape, PlayOptions { forget: true, ..PlayOptions::inputs_only() })?;
        }
        let mut comparison = Comparison::new(&self.header(), &other.header());
        // With one tick per frame both stand at the tick when they are compared, and more can be asked of them.
        let at_once =
            if [&self, &other].iter().all(|side| side.pacing == Pacing::TicksPerFrame(1)) { 1 } else { TICKS_AT_ONCE };
        let mut next = tape.ticks().start;
        while next < tape.ticks().end {
            let end = tape.ticks().end.min(next + at_once);
            let (expected, got) = (self.observe(end)?, other.observe(end)?);
            if next == tape.ticks().start {
                let initial = [&mut self, &mut other].map(|side| side.with(|_, runtime| runtime.initial.take()));
                if let [Some(expected), Some(got)] = initial {
                    comparison.initial(&expected, &got);
                }
            }
            for (tick, (expected, got)) in (next..).zip(expected.iter().zip(&got)) {
                let types = [expected, got].map(|side| [&*side.digest.lanes, &*side.digest.resources].concat());
                if comparison.tick(tick, &evidence(expected, &types[0]), &evidence(got, &types[1])) {
                    comparison.annotate(|found| {
                        found.inputs = tape.inputs_text(tick);
                        let open = [&self, &other].map(|side| open_pairs(side.app.world()));
                        let is_open = |a: &str, b: &str| open.iter().any(|open| open.contains(&(a.into(), b.into())));
                        found.first_wrong = first_wrong(&expected.effects, &got.effects, is_open);
                        other.with(|world, runtime| {
                            found.names = runtime::names(world, found.sim_ids());
                            if at_once == 1 {
                                runtime::name_writers(found, world, &runtime.registry);
                            }
                        });
                        if found.first_wrong.is_some() {
                            found.writers.clear(); // the one that was wrong is known better
                        }
                    });
                }
            }
            next = end;
        }
        let (expected, got) = (self.header(), other.header());
        let mut report = comparison.finish(tape.tick_count(), tape.tick_count());
        (report.tape, report.replayed_by) = (expected.origin(), got.origin());
        report.notes = self.with(|_, runtime| runtime.capturer.notes.clone());
        report.notes.extend(other.with(|_, runtime| runtime.capturer.notes.clone()));
        report.notes.dedup();
        Ok(report)
    }

    /// Plays on, and returns what each tick came to.
    fn observe(&mut self, end: u64) -> Result<Vec<Observed>, ReplayError> {
        self.with(|_, runtime| runtime.observed = Some(Vec::new()));
        self.drive(end)?;
        Ok(self.with(|_, runtime| runtime.observed.take()).unwrap_or_default())
    }
}

/// Ticks that one app runs before the other follows: enough for frames of many ticks.
const TICKS_AT_ONCE: u64 = 48;

/// The names of systems of which the game leaves the order open.
fn open_pairs(world: &World) -> BTreeSet<(String, String)> {
    let pairs = world.get_resource::<AmbiguousPairs>().into_iter().flat_map(|found| &found.pairs);
    pairs.map(|pair| (pair.first.clone(), pair.second.clone())).collect()
}

fn evidence<'a>(observed: &'a Observed, types: &'a [u64]) -> Evidence<'a> {
    Evidence { root: Some(observed.digest.root), types: Some(types), image: Some(&observed.image) }
}
