//! bevy_replay beside other crates: the code that `docs/recipes.md` shows. The tests run it.

pub mod avian;
pub mod enhanced_input;
pub mod leafwing;
pub mod lockstep;
