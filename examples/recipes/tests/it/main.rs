//! The recipes of docs/recipes.md, run.

mod avian;
mod enhanced_input;
mod keys;
mod leafwing;
mod lockstep;
mod page;
