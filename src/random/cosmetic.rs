//! Random numbers that no replay repeats.

use super::generator::{Generator, draws_from};
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use core::hash::BuildHasher;

/// Random numbers for particles, camera shake and sounds, as a system parameter.
///
/// They differ from system to system and from run to run, so that a tick which uses them by mistake
/// diverges at once. Nothing of them is recorded, and drawing moves no [`Stream`](super::Stream). It works
/// anywhere, at any frame rate.
///
/// # Examples
///
/// ```
/// # use bevy_replay::prelude::*;
/// fn sparks(mut rng: CosmeticRng) {
///     let angle = rng.random_range(0.0..6.28_f32);
/// #   let _ = angle;
/// }
/// ```
#[derive(SystemParam, Debug)]
pub struct CosmeticRng<'s> {
    own: Local<'s, Own>,
}

#[derive(Debug)]
struct Own(Generator);

impl Default for Own {
    #[allow(clippy::disallowed_types, reason = "its seed is to differ in each run")]
    fn default() -> Self {
        let entropy = std::hash::RandomState::new();
        Self(Generator::new([0, 1, 2, 3].map(|word: u8| entropy.hash_one(word)), None))
    }
}

draws_from!(CosmeticRng<'_>, <>, self => self.own.0);
