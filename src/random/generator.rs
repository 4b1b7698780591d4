//! One generator, and how it is seeded. Frozen: known-answer tests pin the first draws.

use bevy_replay_tape::Canonical;
use rand::SeedableRng;
use rand::rand_core::Rng;
use rand_chacha::ChaCha8Rng;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// ChaCha with 8 rounds, and how often it was drawn from.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    rng: ChaCha8Rng,
    draws: u64,
}

/// Where a generator stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Canonical)]
pub(crate) struct Place {
    /// How many numbers were drawn.
    pub(crate) draws: u64,
    /// How many 32-bit words of the key stream they took.
    pub(crate) word: u64,
}

/// The key of a stream: four XXH3-64 hashes, with the seeds 0 to 3, over its name and the master seed.
pub(crate) fn key(master_seed: u64, name: &str) -> [u64; 4] {
    let bytes = [name.as_bytes(), &master_seed.to_le_bytes()].concat();
    [0, 1, 2, 3].map(|seed| xxh3_64_with_seed(&bytes, seed))
}

impl Generator {
    /// Makes the generator of a stream, or that of one entity: the ChaCha stream after its sim id.
    pub(crate) fn new(key: [u64; 4], sim_id: Option<u64>) -> Self {
        let mut seed = [0; 32];
        for (slot, word) in seed.chunks_exact_mut(8).zip(key) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        let mut rng = ChaCha8Rng::from_seed(seed);
        rng.set_stream(sim_id.map_or(0, |id| id.wrapping_add(1)));
        Self { rng, draws: 0 }
    }

    /// Makes the generator that stands there.
    pub(crate) fn at(key: [u64; 4], sim_id: Option<u64>, place: Place) -> Self {
        let mut generator = Self::new(key, sim_id);
        generator.rng.set_word_pos(place.word.into());
        generator.draws = place.draws;
        generator
    }

    pub(crate) fn place(&self) -> Place {
        Place { draws: self.draws, word: u64::try_from(self.rng.get_word_pos()).unwrap_or(u64::MAX) }
    }

    pub(crate) fn draws(&self) -> u64 {
        self.draws
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        self.draws += 1;
        self.rng.next_u32()
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.draws += 1;
        self.rng.next_u64()
    }

    pub(crate) fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.draws += 1;
        self.rng.fill_bytes(bytes);
    }
}

/// Implements rand's generator traits by a generator that the expression finds.
macro_rules! draws_from {
    ($t:ty, <$($l:lifetime)? $(, $p:ident: $bound:path)?>, $self:ident => $generator:expr) => {
        impl<$($l,)? $($p: $bound)?> rand::rand_core::TryRng for $t {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut $self) -> Result<u32, Self::Error> {
                Ok($generator.next_u32())
            }
            fn try_next_u64(&mut $self) -> Result<u64, Self::Error> {
                Ok($generator.next_u64())
            }
            fn try_fill_bytes(&mut $self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                $generator.fill_bytes(bytes);
                Ok(())
            }
        }
    };
}
pub(crate) use draws_from;
