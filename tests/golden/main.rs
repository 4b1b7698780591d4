//! Golden scenarios of this crate: committed digests, in two layers, and the texts of tests that fail.

mod core_layer;
mod failing;
mod peers;
mod texts;
mod whole_game;

/// What a test returns.
type Outcome = Result<(), Box<dyn core::error::Error>>;
