//! The derive macros of `bevy_replay`; use them through that crate.
//!
//! [`Canonical`](macro@Canonical) gives a type its canonical bytes and its schema,
//! [`TickInput`](macro@TickInput) also makes it a track of recorded input.

mod attributes;
mod canonical;
mod declaration;
mod stream_label;
#[cfg(test)]
mod tests;
mod tick_input;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

/// Derives the canonical encoding of a struct or enum: its authoritative fields in the order of the
/// declaration.
///
/// Structs may be named, tuples or units, enums may mix such variants, and types may be generic:
/// every type parameter then needs a canonical form itself. Types that borrow have none, because
/// authoritative state owns its data.
///
/// # Roles of fields
///
/// Ask of each field: can it change future gameplay? If not, mark it:
///
/// | attribute | the field |
/// |---|---|
/// | `#[canonical(authoritative)]`, or nothing | is encoded, hashed and saved |
/// | `#[canonical(observation)]` | is only looked at: statistics, traces |
/// | `#[canonical(presentation)]` | is only shown or heard: interpolation, sounds |
/// | `#[canonical(derived)]` | is rebuilt from authoritative state before anything reads it |
///
/// A field with one of the last three roles is left out of bytes, width and schema, so its type
/// needs no canonical form, only `Default`: decoding makes it anew, decoding in place keeps it. It
/// may be added, moved and removed without any effect on tapes.
///
/// # Names
///
/// `#[canonical(name = "...")]` on a type, variant or field replaces its name in schemas, and the
/// name of a variant also where its tag is made: a rename in the code then keeps old tapes readable.
///
/// ```
/// # use bevy_replay_tape::{Canonical, encode_to_vec};
/// #[derive(Canonical)]
/// #[canonical(name = "Door")]
/// # #[canonical(crate = bevy_replay_tape)]
/// enum Gate {
///     Closed,
///     #[canonical(name = "Open")] // as it was called when the first tapes were recorded
///     Ajar {
///         #[canonical(name = "ticks")]
///         ticks_left: u16,
///         #[canonical(presentation)]
///         creak_volume: f32,
///     },
/// }
///
/// assert_eq!(Gate::schema().to_string(), "Door = Closed | Open { ticks: u16 }");
/// let ajar = Gate::Ajar { ticks_left: 7, creak_volume: 0.5 };
/// assert_eq!(encode_to_vec(&ajar)[4..], [7, 0]);
/// # let _ = Gate::Closed;
/// ```
///
/// # Encoding of enums
///
/// A variant is a tag of four bytes, then its fields. The tag is the low 32 bits of the XXH3-64 (seed
/// 0) of the variant's name: inserting or moving a variant changes no bytes of the others. Two names
/// with the same tag in one enum do not compile.
///
/// # Where generated code finds its traits
///
/// In `::bevy_replay`. If that crate has another name in your `Cargo.toml`, say so with
/// `#[canonical(crate = path)]` on the type.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Canonical, decode_from_slice, encode_to_vec};
///
/// #[derive(Canonical, Debug, PartialEq)]
/// # #[canonical(crate = bevy_replay_tape)]
/// struct Health {
///     points: u16,
///     poisoned: bool,
///     #[canonical(observation)]
///     hits: Vec<String>,
/// }
///
/// let health = Health { points: 300, poisoned: true, hits: vec!["lava".into()] };
/// assert_eq!(encode_to_vec(&health), [44, 1, 1]);
/// assert_eq!(Health::WIDTH, Some(3));
///
/// let decoded: Health = decode_from_slice(&[44, 1, 1])?;
/// assert_eq!(decoded, Health { points: 300, poisoned: true, hits: vec![] });
/// # Ok::<(), bevy_replay_tape::DecodeError>(())
/// ```
///
/// An authoritative field needs a canonical form:
///
/// ```compile_fail
/// # use bevy_replay_tape::Canonical;
/// #[derive(Canonical)]
/// # #[canonical(crate = bevy_replay_tape)]
/// struct Clock {
///     started: std::time::Instant,
/// }
/// ```
///
/// and a field has one role:
///
/// ```compile_fail
/// # use bevy_replay_tape::Canonical;
/// #[derive(Canonical)]
/// # #[canonical(crate = bevy_replay_tape)]
/// struct Path {
///     #[canonical(observation, derived)]
///     steps: Vec<u8>,
/// }
/// ```
#[proc_macro_derive(Canonical, attributes(canonical))]
pub fn derive_canonical(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let output = canonical::derive(&input);
    output.unwrap_or_else(Error::into_compile_error).into()
}

/// Derives recorded input of a struct: everything that [`Canonical`](macro@Canonical) derives, and
/// what happens to the input when a tick has used it up.
///
/// Derive `Clone` and `Default` as well, but not `Canonical`: it is part of this derive, and asking
/// for both is a conflict of two implementations. All that is said there holds here.
///
/// # One-shots
///
/// A field marked `#[once]` is seen by exactly one tick, however many ticks a frame has: after the
/// tick it takes its `Default`. Other fields hold their value until the game writes another. A
/// `#[once]` field is recorded, so it cannot have a role that leaves it out.
///
/// # Examples
///
/// ```
/// # use bevy_replay_tape::TickInput;
/// #[derive(TickInput, Clone, Default)]
/// # #[canonical(crate = bevy_replay_tape)]
/// struct Steer {
///     x: i8,
///     #[once]
///     jump: bool,
/// }
///
/// let mut steer = Steer { x: -1, jump: true };
/// steer.consume(); // after the tick
/// assert_eq!((steer.x, steer.jump), (-1, false));
/// ```
///
/// An enum has no fields that could be one-shots; wrap it in a struct:
///
/// ```compile_fail
/// # use bevy_replay_tape::TickInput;
/// #[derive(TickInput, Clone, Default)]
/// # #[canonical(crate = bevy_replay_tape)]
/// enum Action {
///     #[default]
///     Wait,
///     Jump(#[once] bool),
/// }
/// ```
#[proc_macro_derive(TickInput, attributes(canonical, once))]
pub fn derive_tick_input(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let output = tick_input::derive(&input);
    output.unwrap_or_else(Error::into_compile_error).into()
}

/// Derives the label of a stream of random numbers, named as the type.
///
/// `#[stream(name = "...")]` gives it another name, so that a rename in the code moves no numbers.
#[proc_macro_derive(StreamLabel, attributes(stream))]
pub fn derive_stream_label(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let output = stream_label::derive(&input);
    output.unwrap_or_else(Error::into_compile_error).into()
}
