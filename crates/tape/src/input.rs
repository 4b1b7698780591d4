//! What a tick reads from outside.

use crate::canonical::Canonical;

/// A value that reaches the simulation from outside, once per tick, and is recorded.
///
/// Derive it. Fields marked `#[once]` (a jump, a click) are seen by exactly one tick: they return to
/// their default at its end. Set them with `|=`, so that a press between two ticks is not lost.
pub trait TickInput: Canonical + Clone + Default {
    /// Whether any field is marked `#[once]`.
    const HAS_ONCE: bool;

    /// Returns the `#[once]` fields to their default.
    fn consume(&mut self);
}
