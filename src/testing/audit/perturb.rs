//! What must not matter.

use crate::tick::TickOrder;
use crate::{Executor, Headless, Pacing};
use bevy_replay_tape::Tape;
use core::time::Duration;

/// A row of the audit: games that must go as the game as it is.
pub(super) struct Perturbation {
    pub(super) name: String,
    needs: Needs,
    /// What is told of the variant, and how it is made.
    pub(super) variants: Vec<(String, Variant)>,
}

type Variant = Box<dyn Fn(Headless) -> Headless>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Threads,
    Derived,
}

impl Perturbation {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), needs: Needs::Nothing, variants: Vec::new() }
    }

    fn with(mut self, variant: impl Into<String>, perturb: impl Fn(Headless) -> Headless + 'static) -> Self {
        self.variants.push((variant.into(), Box::new(perturb)));
        self
    }

    /// Why it cannot be tried, if it cannot.
    pub(super) fn not_tested(&self, has_derived: bool) -> Option<&'static str> {
        match self.needs {
            Needs::Threads if !cfg!(feature = "multi_threaded") => Some("needs the feature `multi_threaded`"),
            Needs::Derived if !has_derived => Some("the game registers no derived state"),
            _ => None,
        }
    }
}

/// No perturbation at all. Where this differs, no other row can say anything.
pub(super) fn none() -> Perturbation {
    Perturbation::new("twice in one process").with("", |game| game)
}

/// All others that are games of their own.
pub(super) fn all(tape: &Tape, shuffles: u64) -> Vec<Perturbation> {
    let per_frame = |rows: Perturbation, ticks: u32| {
        rows.with(format!("{ticks} per frame"), move |game| game.pacing(Pacing::TicksPerFrame(ticks)))
    };
    let hitches = hitches(Duration::from_nanos(tape.header.timestep_ns));
    let mut shuffled = Perturbation::new(format!("system order, {shuffles} shuffles"));
    for seed in 1..=shuffles {
        shuffled = shuffled.with(format!("shuffle {seed}"), move |game| game.order(TickOrder::Shuffled { seed }));
    }
    vec![
        [1, 4, 16].into_iter().fold(Perturbation::new("ticks per frame 1 / 4 / 16"), per_frame),
        Perturbation::new("frame pattern with a 43-tick hitch")
            .with("", move |game| game.pacing(Pacing::Frames(hitches.clone()))),
        Perturbation { needs: Needs::Threads, ..Perturbation::new("the app's own executors") }
            .with("", |game| game.executor(Executor::AsBuilt)),
        shuffled,
        Perturbation::new("entity allocation scrambled").with("", |game| game.scrambled(1)),
        (1..4).fold(Perturbation::new("archetypes scrambled"), |rows, seed| {
            rows.with(format!("seed {seed}"), move |game| game.scattered(seed))
        }),
        Perturbation { needs: Needs::Derived, ..Perturbation::new("derived state cleared each tick") }
            .with("", Headless::clear_derived),
    ]
}

/// Frames as counted in a game on a laptop: half of them without a tick, some with two, one with seven, and one with 43,
/// of which Bevy lets through what its clamp allows.
fn hitches(timestep: Duration) -> Vec<Duration> {
    let frame = |i: u32| match i {
        9 => timestep * 43,
        20 => timestep * 7 + timestep / 100,
        _ if i % 33 == 5 => timestep * 2,
        _ => timestep / 2,
    };
    (0..200).map(frame).collect()
}
