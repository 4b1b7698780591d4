//! `bench`: how long replays take, and whether they got slower.

use super::{CliError, Exit, note, say, tapes, write};
use crate::ReplayError;
use crate::testing::{Game, headless};
use bevy_replay_tape::Tape;
use core::hint::black_box;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Tapes, and folders of tapes
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How often each is played; the fastest counts
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Times of an earlier bench, as it wrote them
    #[arg(long)]
    against: Option<PathBuf>,
    /// How many times slower than there a tape may be
    #[arg(long, default_value_t = 1.25)]
    max_ratio: f64,
    /// Write the times to a file instead of stdout
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What a bench writes.
#[derive(Debug, Serialize, Deserialize)]
struct Times {
    /// Nanoseconds of a fixed piece of work in the same run: how fast the machine was.
    calibration_ns: f64,
    /// Nanoseconds per tick, tape by tape.
    tick_ns: BTreeMap<String, f64>,
}

pub(super) fn run(game: &Game, arguments: &Arguments) -> Result<Exit, CliError> {
    let old = match &arguments.against {
        None => None,
        Some(path) => {
            let text = std::fs::read(path).map_err(CliError::file(path))?;
            let json = |error| CliError::Json { path: path.display().to_string(), error };
            Some(serde_json::from_slice::<Times>(&text).map_err(json)?)
        }
    };
    let mut times = Times { calibration_ns: f64::INFINITY, tick_ns: BTreeMap::new() };
    let mut exit = Exit::Yes;
    for path in tapes(&arguments.paths)? {
        let tape = Arc::new(Tape::load(&path)?);
        let name = path.display().to_string();
        let mut best = f64::INFINITY;
        for _ in 0..arguments.runs.max(1) {
            // Beside each run, so that a machine that gets busy slows both.
            times.calibration_ns = times.calibration_ns.min(nanos(calibrate)?.0);
            match nanos(|| play(game, &tape)) {
                Ok((ns, ())) => best = best.min(ns),
                Err(error) => {
                    note(format_args!("{name}: {error}"));
                    exit = Exit::NoAnswer;
                    break;
                }
            }
        }
        if best.is_finite() {
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            times.tick_ns.insert(name, best / tape.tick_count().max(1) as f64);
        }
    }
    if let Some(old) = &old
        && is_slower(old, &times, arguments.max_ratio)
    {
        exit = Exit::No;
    }
    let json = |error| CliError::Json { path: "the times".into(), error };
    let text = serde_json::to_string_pretty(&times).map_err(json)?;
    match &arguments.out {
        Some(path) => write(path, text.as_bytes())?,
        None => say(text),
    }
    Ok(exit)
}

/// Tells the ratio of each tape to its old time, both measured by the fixed work of their own run.
fn is_slower(old: &Times, new: &Times, max_ratio: f64) -> bool {
    let machine = old.calibration_ns / new.calibration_ns;
    note(format_args!("machine: {machine:.2} x the speed it had then"));
    let mut slower = false;
    for (name, now) in &new.tick_ns {
        let Some(before) = old.tick_ns.get(name) else {
            note(format_args!("{name}: {now:.0} ns per tick, no time to compare with"));
            continue;
        };
        let ratio = now / before * machine;
        let word = if ratio > max_ratio { "SLOWER" } else { "ok" };
        note(format_args!("{name}: {now:.0} ns per tick, {ratio:.2} x ({word}, allowed {max_ratio:.2})"));
        slower |= ratio > max_ratio;
    }
    slower
}

fn play(game: &Game, tape: &Arc<Tape>) -> Result<(), ReplayError> {
    headless(game).replay_inputs(tape).map(drop)
}

/// Hashes 16 MiB: memory and integer units, which ticks use too.
fn calibrate() -> Result<(), ReplayError> {
    let block = vec![0x5A_u8; 1 << 20];
    for _ in 0..16 {
        black_box(xxh3_64(black_box(&block)));
    }
    Ok(())
}

fn nanos<T>(run: impl FnOnce() -> Result<T, ReplayError>) -> Result<(f64, T), CliError> {
    #[expect(clippy::disallowed_methods, reason = "time is what is measured")]
    let start = Instant::now();
    let result = run().map_err(|error| CliError::Run { error: Box::new(error) })?;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    Ok((start.elapsed().as_nanos() as f64, result))
}
