//! What the ticks of a scenario read.

use crate::Headless;
use crate::random::{Generator, draws_from, stream_key};
use bevy_replay_tape::{TickInput, encode_to_vec};
use core::fmt;
use rand::RngExt;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The random numbers of synthetic inputs; a generator of the `rand` crate.
#[derive(Debug)]
pub struct InputRng(Generator);

draws_from!(InputRng, <>, self => self.0);

/// How often a synthetic input is not idle.
const DENSITY: f64 = 0.30;

type Feed = Arc<dyn Fn(Headless, u64, u64) -> Headless + Send + Sync>;

/// The inputs of a scenario, type by type.
#[derive(Clone, Default)]
pub(super) struct Inputs {
    feeds: Vec<Feed>,
    /// What a baseline says of them.
    names: Vec<String>,
}

impl Inputs {
    pub(super) fn script<T: TickInput + Send + Sync>(&mut self, inputs: Vec<T>) {
        let bytes: Vec<u8> = inputs.iter().flat_map(encode_to_vec).collect();
        self.names.push(format!("scripted {:016X}", xxh3_64(&bytes)));
        self.feeds.push(Arc::new(move |headless: Headless, _, _| headless.inputs(inputs.iter().cloned())));
    }

    pub(super) fn synthesise<T: TickInput>(&mut self, make: impl Fn(&mut InputRng) -> T + Send + Sync + 'static) {
        self.names.push(format!("synthetic {DENSITY:.2}"));
        let nth = (self.feeds.len() as u64).checked_sub(1);
        self.feeds.push(Arc::new(move |headless: Headless, seed, ticks| {
            let mut rng = InputRng(Generator::new(stream_key(seed, "input"), nth));
            headless.inputs((0..ticks).map(|_| if rng.random_bool(DENSITY) { make(&mut rng) } else { T::default() }))
        }));
    }

    /// Hands the inputs of so many ticks to a run.
    pub(super) fn feed(&self, headless: Headless, seed: u64, ticks: u64) -> Headless {
        self.feeds.iter().fold(headless, |headless, feed| feed(headless, seed, ticks))
    }
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() { f.write_str("idle") } else { f.write_str(&self.names.join(", ")) }
    }
}
