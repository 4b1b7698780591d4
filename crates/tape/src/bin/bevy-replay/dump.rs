//! `bevy-replay dump`

use crate::output::{Answer, Failure, printable};
use bevy_replay_tape::{Image, Tape, TapeLimits, Value};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Prints inputs, digests, or the state at a tick
///
/// With `--json` and nothing else it prints the whole tape, and `to-tape` reads it back.
#[derive(clap::Args)]
#[command(
    after_help = "Example: bevy-replay dump boss_fight.tape --state 500\n\nExit codes: 0 = printed, 1 = the tape is damaged, 2 = it could not be read, or has no values there"
)]
pub(crate) struct Dump {
    /// The tape
    tape: PathBuf,
    /// Prints the inputs, one change a line (what is printed by default)
    #[arg(long)]
    inputs: bool,
    /// Prints the root digest after each tick
    #[arg(long)]
    digests: bool,
    /// Prints the state after so many ticks, where the tape has values
    #[arg(long, value_name = "TICKS")]
    state: Option<u64>,
    /// Writes JSON
    #[arg(long)]
    json: bool,
}

impl Dump {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        let tape = crate::tape(&self.tape, limits)?;
        if let Some(ticks) = self.state {
            let image = image(&tape, ticks, &self.tape)?;
            return Ok(Answer::text(if self.json { state_json(&image) } else { printable(&state_text(&image)) }));
        }
        if self.json && !self.inputs && !self.digests {
            return Ok(Answer::text(format!("{}\n", tape.to_json())));
        }
        let mut out = String::new();
        if self.json {
            let inputs = json!(
                inputs(&tape)
                    .iter()
                    .map(|(tick, name, value)| json!([tick, name, value.to_json()]))
                    .collect::<Vec<_>>()
            );
            let roots =
                json!(roots(&tape).map(|(tick, root)| json!([tick, format!("{root:016X}")])).collect::<Vec<_>>());
            let all = match (self.inputs, self.digests) {
                (true, false) => json!({ "inputs": inputs }),
                (false, _) => json!({ "roots": roots }),
                (true, true) => json!({ "inputs": inputs, "roots": roots }),
            };
            return Ok(Answer::text(format!("{all}\n")));
        }
        // A string takes whatever is written into it.
        if self.inputs || !self.digests {
            for (tick, name, value) in inputs(&tape) {
                let _ = writeln!(out, "{tick} {name} {value}");
            }
        }
        if self.digests {
            for (tick, root) in roots(&tape) {
                let _ = writeln!(out, "{tick} {root:016X}");
            }
        }
        Ok(Answer::text(printable(&out)))
    }
}

/// The state after so many ticks.
fn image(tape: &Tape, ticks: u64, path: &Path) -> Result<Image, Failure> {
    let first = tape.header.tick_first;
    tape.image_after(ticks).ok_or_else(|| {
        let has = match (&tape.initial, tape.values.last()) {
            (None, _) => "no state at all".into(),
            (_, None) => format!("that of tick {first} only"),
            (_, Some(last)) => format!("those of ticks {first} to {}", last.tick),
        };
        Failure::NoAnswer(format!("{}: the tape has no values after {ticks} ticks (it has {has})", path.display()))
    })
}

fn inputs(tape: &Tape) -> Vec<(u64, &str, Value)> {
    let mut all: Vec<(u64, &str, Value)> = Vec::new();
    for track in &tape.tracks {
        // What was read from a file can be decoded.
        let values =
            track.changes.iter().filter_map(|(tick, bytes)| Some((tick, Value::decode(&track.schema, bytes).ok()?)));
        all.extend(values.map(|(tick, value)| (tick, &*track.name, value)));
    }
    all.sort_by_key(|change| change.0);
    all
}

fn roots(tape: &Tape) -> impl Iterator<Item = (u64, u64)> {
    tape.ticks().filter_map(|tick| Some((tick, tape.root_after(tick)?)))
}

/// The values of an image: each component of each entity, then the resources.
fn values(image: &Image) -> Vec<(Option<u64>, &str, Value)> {
    let mut all = Vec::new();
    for lane in &image.lanes {
        for (row, id) in lane.ids.iter().enumerate() {
            all.extend(
                Value::decode(&lane.schema, lane.rows.row(row)).ok().map(|value| (Some(*id), &*lane.name, value)),
            );
        }
    }
    all.sort_by_key(|value| value.0);
    for resource in &image.resources {
        let value = resource.get().and_then(|bytes| Value::decode(&resource.schema, bytes).ok());
        all.extend(value.map(|value| (None, &*resource.name, value)));
    }
    all
}

fn state_text(image: &Image) -> String {
    let mut out = format!(
        "state after {} ticks, {} entities, root {:016X}\n",
        image.tick,
        image.roster.len(),
        image.digest().root
    );
    for (id, name, value) in values(image) {
        let _ = match id {
            Some(id) => writeln!(out, "sim:{id} {name} {value}"),
            None => writeln!(out, "{name} {value}"),
        };
    }
    out
}

fn state_json(image: &Image) -> String {
    let rows = values(image);
    let components = rows.iter().filter_map(|(id, name, value)| Some(json!([(*id)?, name, value.to_json()])));
    let resources = rows.iter().filter(|row| row.0.is_none()).map(|(_, name, value)| json!([name, value.to_json()]));
    let all = json!({
        "ticks": image.tick,
        "root": format!("{:016X}", image.digest().root),
        "entities": image.roster.to_vec(),
        "components": components.collect::<Vec<_>>(),
        "resources": resources.collect::<Vec<_>>(),
    });
    format!("{all}\n")
}
