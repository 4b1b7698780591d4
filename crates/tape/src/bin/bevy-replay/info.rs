//! `bevy-replay info`

use crate::output::{Answer, Failure, grouped, length, printable, size};
use bevy_replay_tape::{EndReason, PlanOnTape, Tape, TapeLimits};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// Says what is on a tape
///
/// Exit codes: 0 = the tape was read, 1 = it is damaged, 2 = it could not be read
#[derive(clap::Args)]
#[command(
    after_help = "Example: bevy-replay info boss_fight.tape\n\nExit codes: 0 = the tape was read, 1 = it is damaged, 2 = it could not be read"
)]
pub(crate) struct Info {
    /// The tape
    tape: PathBuf,
    /// Writes JSON
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        let bytes = crate::bytes(&self.tape, limits)?;
        let tape = crate::read(&self.tape, &bytes, limits)?;
        let name = self.tape.file_name().unwrap_or(self.tape.as_os_str()).to_string_lossy().into_owned();
        if self.json {
            return Ok(Answer::text(format!("{}\n", as_json(&tape, &name, bytes.len() as u64))));
        }
        Ok(Answer::text(printable(&as_text(&tape, &name, bytes.len() as u64))))
    }
}

/// Returns how the recording ended, in one word.
pub(crate) fn state(tape: &Tape) -> &'static str {
    match tape.end.reason {
        EndReason::Unfinished => "unfinished",
        EndReason::Stopped => "complete",
        _ => "shortened",
    }
}

/// Returns how long the ticks are together, in nanoseconds.
fn nanos(tape: &Tape) -> u128 {
    let mut total = 0_u128;
    let (mut from, mut timestep) = (tape.header.tick_first, tape.header.timestep_ns);
    let end = tape.ticks().end;
    for change in tape.clock.iter().filter(|change| change.tick < end) {
        total += u128::from(change.tick.saturating_sub(from)) * u128::from(timestep);
        (from, timestep) = (change.tick.max(from), change.timestep_ns);
    }
    total + u128::from(end.saturating_sub(from)) * u128::from(timestep)
}

fn rate(timestep_ns: u64) -> String {
    let millihertz = 1_000_000_000_000 / timestep_ns.max(1);
    match millihertz % 1000 {
        0 => format!("{} Hz", millihertz / 1000),
        rest => format!("{}.{rest:03} Hz", millihertz / 1000),
    }
}

fn as_json(tape: &Tape, name: &str, size_bytes: u64) -> serde_json::Value {
    let header = &tape.header;
    json!({
        "file": name,
        "state": state(tape),
        "id": tape.id(),
        "game": header.game,
        "game_version": header.game_version,
        "rules": header.rules,
        "format": header.format,
        "digest_version": header.digest_version,
        "ticks": tape.tick_count(),
        "tick_first": header.tick_first,
        "timestep_ns": header.timestep_ns,
        "seed": format!("{:016X}", header.seed),
        "entities": tape.initial.as_ref().map(|image| image.roster.len()),
        "types": header.lanes.len() + header.resources.len(),
        "inputs": tape.tracks.iter().map(|track| json!({ "name": track.name, "type": track.schema.to_string(), "changes": track.changes.len() })).collect::<Vec<_>>(),
        "plans": header.plans.iter().map(|plan| json!({ "events": plan.events, "name": plan.name, "signature": plan.signature, "stored": plan.plan.is_some() })).collect::<Vec<_>>(),
        "roots": tape.digests.roots.len(),
        "values": tape.values.len(),
        "marks": tape.marks,
        "claims": tape.end.claims,
        "reason": format!("{:?}", tape.end.reason),
        "target": header.target,
        "bevy_version": header.bevy_version,
        "size_bytes": size_bytes,
    })
}

fn as_text(tape: &Tape, name: &str, size_bytes: u64) -> String {
    let header = &tape.header;
    let mut out = String::new();
    let mut line = |text: String| {
        // A string takes whatever is written into it.
        let _ = writeln!(out, "{text}");
    };
    let game = format!("{} {} rules {}", header.game, header.game_version, header.rules);
    let game = game.split_whitespace().collect::<Vec<_>>().join(" ");
    line(format!("{name}   {game}, tape format {}, {}", header.format, tape.end.reason_text()));
    let count = tape.tick_count();
    let entities = match &tape.initial {
        Some(image) => format!("{} entities", grouped(image.roster.len() as u64)),
        None => "no recorded state".into(),
    };
    line(format!(
        "  {} ticks at {} = {}   seed {}   starts at tick {} with {entities}, {} types",
        grouped(count),
        rate(header.timestep_ns),
        length(nanos(tape)),
        header.seed,
        header.tick_first,
        header.lanes.len() + header.resources.len(),
    ));
    for track in &tape.tracks {
        let (changes, bytes) = (track.changes.len() as u64, track.changes.size_bytes() as u64);
        line(format!("  input    {}: {} changes, {}", track.name, grouped(changes), size(bytes)));
    }
    // What is in a plan is the future of some player: only its name is shown.
    for PlanOnTape { events, name, signature, plan } in &header.plans {
        let plan = plan.as_ref().map_or_else(
            || "not on the tape".into(),
            |plan| format!("{} events in {} ticks", grouped(plan.events().len() as u64), grouped(plan.ticks())),
        );
        line(format!("  plan     {events}: {name}, {plan}, signature {signature}"));
    }
    let roots = tape.digests.roots.len() as u64;
    let every =
        if header.root_interval == 1 { "each tick".into() } else { format!("each {} ticks", header.root_interval) };
    line(format!(
        "  digests  {}   {}",
        if roots == 0 { "no roots".into() } else { format!("root {every} {}", size(8 * roots)) },
        match tape.digests.lane_ticks.len() as u64 {
            0 => "none of types".into(),
            rows => format!("types of {} ticks {}", grouped(rows), size(8 * tape.digests.lane_digests.len() as u64)),
        },
    ));
    let values: u64 = tape.values.iter().map(|delta| delta.size_bytes() as u64).sum();
    let claims: Vec<String> = tape.end.claims.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    line(format!(
        "  values   {}   marks {}   claims {}",
        if tape.values.is_empty() { "none".into() } else { size(values) },
        tape.marks.len(),
        if claims.is_empty() { "none".into() } else { claims.join(", ") },
    ));
    let features = if header.features.is_empty() { "none".into() } else { header.features.join(", ") };
    let unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    line(format!(
        "  recorded on {}, Bevy {}, features {features}   {}{}",
        unknown(&header.target),
        unknown(&header.bevy_version),
        size(size_bytes),
        match count {
            0 => String::new(),
            count => format!(" ({}.{} B/tick)", size_bytes / count, size_bytes * 10 / count % 10),
        },
    ));
    line(format!("  id {}", tape.id()));
    out
}
