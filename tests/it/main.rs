//! One module per behaviour.

#[cfg(feature = "testing")]
mod audit;
mod border;
mod border_checks;
mod captures;
mod changed_digests;
#[cfg(all(feature = "raw-input", feature = "states", feature = "reflect"))]
mod clean_game;
mod compare;
mod deck;
#[cfg(feature = "raw-input")]
mod devices;
mod equal_digests;
mod executors;
mod expectations;
#[cfg(feature = "file")]
mod files;
mod find_divergence;
#[cfg(feature = "fixed")]
mod fixed;
#[cfg(feature = "reflect")]
mod foreign_types;
mod frame_rates;
mod game;
mod hierarchy;
mod import;
mod input_changes;
mod last_words;
mod leaks;
mod limits;
mod mid_game;
mod older_tapes;
mod once;
#[cfg(feature = "plan")]
mod plan;
mod platforms;
mod processes;
mod purity;
mod readme;
mod refusals;
mod registration;
mod roles;
mod runs;
#[cfg(feature = "testing")]
mod shrink;
mod sim_ids;
mod start_gate;
#[cfg(feature = "states")]
mod states;
mod streams;
mod tick_order;
mod time_travel;
mod timestep;
mod transport;
mod trusted_ticks;
