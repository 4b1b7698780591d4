//! Block Dash: a small platformer that a player can record, export, import and replay.
//!
//! `game` is all that decides a run and needs no window: tests and servers use it alone. `controls` reads keyboard and
//! gamepads, `view` shows the game; neither can change what the game does.

pub mod controls;
pub mod game;
pub mod view;
