//! One module per behaviour.

mod equal_digests;
mod game;
