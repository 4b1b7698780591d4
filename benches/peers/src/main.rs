//! bevy_replay beside the closest peers: the same work, in one run, in one table.
//!
//! Run it: `cargo run --release --manifest-path benches/peers/Cargo.toml`, for all of it, or with the names of parts:
//! `digest`, `recorder`, `files`, `compare`.
//!
//! Each time is that of one thread, the median of rounds in turns. `SHORT` means that a target is missed.

mod compare;
mod digest;
mod files;
mod ggrs;
mod recorder;
mod table;
mod wise;

type Measure = fn() -> Result<table::Part, Box<dyn std::error::Error>>;

const PARTS: [(&str, Measure); 4] =
    [("digest", digest::part), ("recorder", recorder::part), ("files", files::part), ("compare", compare::part)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let parts: Result<Vec<_>, _> = PARTS.iter().filter(|(name, _)| is_wanted(name)).map(|(_, part)| part()).collect();
    table::print(&parts?);
    Ok(())
}
