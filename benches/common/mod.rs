//! What the benchmarks share: the components of their games, games that take turns, and rows.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

use bevy_app::App;
use bevy_ecs::component::Component;
use bevy_replay::Canonical;
use std::time::Instant;

#[derive(Component, Canonical, Clone, Copy)]
pub(crate) struct Position(pub(crate) [i64; 3]);
#[derive(Component, Canonical, Clone, Copy)]
pub(crate) struct Velocity(pub(crate) [i64; 3]);
#[derive(Component, Canonical, Clone, Copy)]
pub(crate) struct Health(pub(crate) i32);

/// Frames before the first that counts: memory has its size by then.
const WARM: usize = 200;

/// Returns the seconds of each app's frames, ascending; the apps take turns, so that all of them meet the same noise.
pub(crate) fn turns<const N: usize>(apps: &mut [App; N], frames: usize) -> [Vec<f64>; N] {
    let mut times = [const { Vec::new() }; N];
    for frame in 0..WARM + frames {
        for (app, times) in apps.iter_mut().zip(&mut times) {
            let start = Instant::now();
            app.update();
            if frame >= WARM {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    times.map(sorted)
}

pub(crate) fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

pub(crate) fn median(times: Vec<f64>) -> f64 {
    percentile(times, 50)
}

pub(crate) fn percentile(times: Vec<f64>, percent: usize) -> f64 {
    let times = sorted(times);
    times[(times.len() - 1) * percent / 100]
}

pub(crate) fn heading() {
    println!("{:<58} {:>10} {:>10}", "name", "value", "target");
}

/// Prints a row, if its name holds the words given on the command line.
pub(crate) fn row(name: &str, target: f64, value: impl FnOnce() -> f64) {
    // The inspector's benchmark takes a number of ticks.
    let is_word = |word: &String| !word.starts_with("--") && word.parse::<u64>().is_err();
    if !std::env::args().skip(1).filter(is_word).all(|word| name.contains(&word)) {
        return;
    }
    let value = value();
    println!("{name:<58} {value:>10.4} {target:>10.4} {}", if value <= target { "ok" } else { "SHORT" });
}
