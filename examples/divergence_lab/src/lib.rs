//! A garden at night, and seven faults that can be planted in it while it runs.
//!
//! `game` is all that decides a run, written as games should be; `faults` has the wrong version of seven of its systems;
//! `tape` plays the lantern, `places` says where things are shown. None of them needs a window. `controls` reads keys and
//! mouse, `view` shows the garden, `log` tells scripts what happens.

pub mod controls;
pub mod faults;
pub mod game;
pub mod log;
pub mod places;
pub mod tape;
pub mod view;
