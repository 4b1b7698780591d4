//! One module per behaviour.

mod border;
mod changed_digests;
mod equal_digests;
mod executors;
mod game;
mod refusals;
mod registration;
mod roles;
mod tick_order;
