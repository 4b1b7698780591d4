//! One module per behaviour.

mod changed_digests;
mod equal_digests;
mod game;
mod roles;
