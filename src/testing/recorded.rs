//! One run of a scenario, and what is made of it.

use super::{Baseline, ReplayTest, git};
use crate::{Detail, ReplayError};
use bevy_replay_tape::{Image, Tape};
use core::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Largest tape that is put beside a baseline.
const COMPANION_BYTES_MAX: usize = 256 << 10;

/// One run of a scenario.
pub(super) struct Recorded {
    pub(super) tape: Arc<Tape>,
    pub(super) baseline: Baseline,
    /// Types of which no snapshot held two.
    order_untested: Vec<String>,
    /// How many times faster than in the game.
    speed: f64,
}

/// What a scenario was found to do. Printed, it is the summary of the test.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// Name of the scenario.
    pub scenario: String,
    /// How many ticks were run.
    pub ticks: u64,
    /// How many digests were taken.
    pub snapshots: usize,
    /// How many times faster than real time it ran, with all values recorded.
    pub speed: f64,
    /// What else is worth knowing: other platforms, types whose order is untested.
    pub notes: Vec<String>,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, ticks, snapshots, speed, notes } = self;
        write!(f, "{scenario}: {ticks} ticks, {snapshots} digests, {speed:.0} x real time")?;
        notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

impl Recorded {
    pub(super) fn new(test: &ReplayTest) -> Result<Self, ReplayError> {
        #[expect(clippy::disallowed_methods, reason = "how fast it ran is told, and reaches no tick")]
        let start = Instant::now();
        let tape = record(test, Detail::Values)?;
        let took = start.elapsed().as_secs_f64();
        let played: u64 = tape.ticks().map(|tick| tape.timestep_ns(tick)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let speed = played as f64 / 1e9 / took.max(1e-9);

        let first = test.first.unwrap_or(test.every);
        let mut baseline = Baseline::new(&*test.scenario);
        baseline.game.clone_from(&tape.header.game);
        baseline.rules = tape.header.rules;
        baseline.seed = tape.header.seed;
        baseline.ticks = test.ticks;
        (baseline.snapshot_first, baseline.snapshot_interval) = (first, test.every);
        baseline.timestep_ns = tape.header.timestep_ns;
        baseline.inputs = test.inputs.to_string();
        baseline.params.clone_from(&test.params);
        let mut order_untested = Vec::new();
        if let Some(mut image) = tape.initial.clone() {
            let mut rows_max = vec![0; image.lanes.len()];
            let mut snapshot = |image: &Image| {
                // The last tick is one, so that no tick is behind the last snapshot.
                let is_due = image.tick >= first && (image.tick - first).is_multiple_of(test.every);
                if is_due || image.tick == test.ticks {
                    let root = image.tick.checked_sub(1).and_then(|tick| tape.root_after(tick));
                    baseline.snapshots.push((image.tick, root.unwrap_or_else(|| image.digest().root)));
                    for (most, lane) in rows_max.iter_mut().zip(&image.lanes) {
                        *most = lane.ids.len().max(*most);
                    }
                }
            };
            snapshot(&image);
            for delta in &tape.values {
                image.apply(delta).expect("the recorder made it of these images");
                snapshot(&image);
            }
            let digest = image.digest();
            let names = image.lanes.iter().map(|lane| &lane.name);
            let names = names.chain(image.resources.iter().map(|resource| &resource.name));
            baseline.types =
                names.map(ToString::to_string).zip(digest.lanes.into_iter().chain(digest.resources)).collect();
            let seldom = image.lanes.iter().zip(rows_max).filter(|(_, most)| *most == 1);
            order_untested = seldom.map(|(lane, _)| lane.name.to_string()).collect();
        }
        Ok(Self { tape, baseline, order_untested, speed })
    }

    /// Returns the summary, so far.
    pub(super) fn checked(&self) -> Checked {
        let untested = |name: &String| format!("order untested: {name} (never two at a snapshot)");
        Checked {
            scenario: self.baseline.scenario.clone(),
            ticks: self.baseline.ticks,
            snapshots: self.baseline.snapshots.len(),
            speed: self.speed,
            notes: self.order_untested.iter().map(untested).collect(),
        }
    }

    /// Returns the baseline as it is approved now.
    pub(super) fn approved(&self, reason: &str) -> Baseline {
        let mut baseline = self.baseline.clone();
        (baseline.commit, baseline.reason) = (git::commit(), reason.trim().into());
        baseline
    }

    /// Returns the tape that is put beside the baseline: all inputs and roots, the digests of types at snapshots, and
    /// the values of as many of the first ticks as fit.
    pub(super) fn companion(&self) -> Tape {
        let mut tape = (*self.tape).clone();
        let kept = tape.digests.clone();
        (tape.digests.lane_ticks, tape.digests.lane_digests) = (Vec::new(), Vec::new());
        for tick in self.baseline.snapshots.iter().filter_map(|(after, _)| after.checked_sub(1)) {
            if let Some(row) = kept.lanes(tick) {
                tape.digests.lane_ticks.push(tick);
                tape.digests.lane_digests.extend_from_slice(row);
            }
        }
        let values = core::mem::take(&mut tape.values);
        let with = |count: usize| Tape { values: values[..count].to_vec(), ..tape.clone() };
        // The size grows with the number of values: look for the largest that fits, from below, as whole tapes are long.
        let is_small = |count: usize| with(count).to_bytes().len() <= COMPANION_BYTES_MAX;
        let (mut fits, mut too_many) = (0, values.len().min(64) + 1);
        while is_small(too_many - 1) {
            fits = too_many - 1;
            if fits == values.len() {
                return with(fits);
            }
            too_many = values.len().min(2 * fits) + 1;
        }
        // A sixteenth more or less is not worth packing a tape once more.
        while too_many - fits > 1 + fits / 16 {
            let middle = fits.midpoint(too_many);
            if is_small(middle) { fits = middle } else { too_many = middle }
        }
        with(fits)
    }
}

/// Runs the scenario once.
pub(super) fn record(test: &ReplayTest, detail: Detail) -> Result<Arc<Tape>, ReplayError> {
    let mut headless = super::headless(&test.game).detail(detail);
    let seed = test.seed.unwrap_or_else(|| headless.master_seed());
    headless = test.inputs.feed(headless.seed(seed), seed, test.ticks);
    let tape = headless.unlimited().record(test.ticks)?.tape().clone();
    debug_assert_eq!(tape.tick_count(), test.ticks, "nothing ends a recording without limits early");
    Ok(tape)
}

/// Returns where two runs part: `tick 97 (1.51 s), sim:3 Enemy.hp expected 40 got 38`.
pub(super) fn first_difference(expected: &Tape, got: &Tape) -> Option<String> {
    let report = expected.diff(got);
    if report.is_verified() {
        return None;
    }
    let text = report.divergence.as_ref().map(|found| found.to_string());
    let text = text.unwrap_or_else(|| report.to_string().lines().next().unwrap_or_default().into());
    let text = text.strip_prefix("diverged at ").or_else(|| text.strip_prefix("diverged ")).unwrap_or(&text);
    Some(text.replacen(": ", ", ", 1))
}
