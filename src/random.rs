//! Random numbers: gameplay draws from named streams, everything else from [`CosmeticRng`].
//!
//! Seeding a generator does not make a game reproducible: the n-th number is the same, who draws it is
//! not. So each purpose has a stream of its own, which nothing else can move.

mod cosmetic;
mod generator;
mod stream;

pub use cosmetic::CosmeticRng;
#[cfg(feature = "testing")]
pub(crate) use generator::{Generator, draws_from, key as stream_key};
pub use stream::{EntityStream, Stream};
pub(crate) use stream::{StreamHandle, StreamState, end_startup};

/// Names a stream; derive it on an empty struct.
///
/// The name is that of the type, or the one given with `#[stream(name = "…")]`. It is part of the seed, of
/// tapes and of reports: a renamed stream draws other numbers.
///
/// # Examples
///
/// ```
/// # use bevy_replay::prelude::*;
/// #[derive(StreamLabel)]
/// struct Loot;
/// assert_eq!(Loot::NAME, "Loot");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no stream of random numbers",
    note = "add `#[derive(StreamLabel)]` to it"
)]
pub trait StreamLabel: Send + Sync + 'static {
    /// The name.
    const NAME: &'static str;
}
