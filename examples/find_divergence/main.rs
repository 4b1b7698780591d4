//! Eight ways to break a replay, planted one by one in a small game, and what the reports say of them.
//!
//! Run it: `cargo run --example find_divergence`, or one fault with the whole report:
//! `cargo run --example find_divergence -- hash-order`
//!
//! What to look at: each fault is reported at the tick, system, type and field where it was planted, and the
//! game without a fault is not reported. `arena.rs` is the game, written as games should be; `faults.rs`
//! has the faults, each with its cure. `docs/determinism.md` explains them one after another.

mod arena;
mod faults;

use bevy_replay::prelude::*;
use faults::PLANTED;
use std::process::ExitCode;

fn main() -> Result<ExitCode, ReplayError> {
    match std::env::args().nth(1) {
        None => find_all(),
        Some(name) => find_one(&name),
    }
}

fn find_all() -> Result<ExitCode, ReplayError> {
    let (mut found, mut false_alarms) = (0, 0);
    for planted in &PLANTED {
        let report = (planted.find)()?;
        let text = report.to_string();
        let first_line = text.lines().next().unwrap_or_default();
        println!("{}: {}", planted.name, first_line.trim_start_matches("verified: "));
        match planted.place {
            Some(_) => found += usize::from(planted.is_found_by(&report)),
            None => false_alarms += usize::from(!planted.is_found_by(&report)),
        }
    }
    let count = PLANTED.iter().filter(|planted| planted.place.is_some()).count();
    println!("\n{found} of {count} planted faults found where they were planted, {false_alarms} false alarms");
    Ok(if found == count && false_alarms == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn find_one(name: &str) -> Result<ExitCode, ReplayError> {
    let Some(planted) = PLANTED.iter().find(|planted| planted.name == name) else {
        let names = PLANTED.map(|planted| planted.name).join(", ");
        println!("there is no fault `{name}` (choose one of {names})");
        return Ok(ExitCode::from(2));
    };
    let report = (planted.find)()?;
    println!("{}\n\n{report}", planted.about);
    Ok(if planted.is_found_by(&report) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
