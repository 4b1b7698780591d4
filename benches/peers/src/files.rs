//! How large recordings of played games are.

use crate::table::{Part, Row, Target, random};
use crate::wise::Probe;
use bevy_replay_tape::{Canonical, Changes, Header, Tape, Track, TypeSpec};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickwise::{Recorder, RecorderConfig};

#[derive(Canonical)]
#[canonical(crate = bevy_replay_tape)]
struct Ticcmd {
    forward: i8,
    side: i8,
    turn: i8,
    buttons: u8,
}

pub fn part() -> Result<Part, Box<dyn Error>> {
    let (folder, files) = demos()?;
    let (mut tics, mut ours, mut peers) = (0, 0, 0);
    for file in &files {
        let bytes = std::fs::read(file)?;
        let (head, body) = bytes.split_first_chunk::<13>().ok_or("a demo has a header of 13 bytes and an end")?;
        let players = head[9..13].iter().filter(|playing| **playing != 0).count();
        let inputs: Vec<&[u8]> = body[..body.len() - 1].chunks_exact(4 * players).collect();
        tics += inputs.len();
        ours += tape(&inputs, players).to_bytes().len();
        peers += recording(&inputs)?.len();
    }
    let row = |bytes: usize| format!("{:.2} B/tick", bytes as f64 / tics as f64);
    let short = if files.len() < 11 { "; the target is for all 11" } else { "" };
    Ok(Part {
        title: "File: played games, a 64-bit root each tick",
        rows: vec![Row {
            what: format!("{} Freedoom demos", files.len()),
            ratio: ours as f64 / peers as f64,
            target: Target::AtMost(0.23),
            ours: row(ours),
            peer: ("tickwise", row(peers)),
        }],
        notes: vec![format!("{tics} tics of {}{short}: {ours} B and {peers} B.", folder.display())],
    })
}

/// The demos in the folder that `FREEDOOM_DEMOS` names, else all that were brought beside the repository, else two.
fn demos() -> Result<(PathBuf, Vec<PathBuf>), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = here.join("../../../shared/data/freedoom-demos");
    let folder = match std::env::var_os("FREEDOOM_DEMOS") {
        Some(folder) => folder.into(),
        None if beside.exists() => beside,
        None => here.join("../../crates/tape/benches/data"),
    };
    let files = std::fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error} (set FREEDOOM_DEMOS to a folder of demos)", folder.display()))?;
    let mut files: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "lmp"));
    files.sort();
    if files.is_empty() {
        return Err(format!("{} holds no demos (*.lmp)", folder.display()).into());
    }
    Ok((folder.canonicalize()?, files))
}

fn tape(inputs: &[&[u8]], players: usize) -> Tape {
    let schema = Arc::new(Ticcmd::schema());
    let names: Vec<String> = (0..players).map(|player| format!("Player{player}")).collect();
    let mut tape = Tape::new(Header::new("peers"));
    tape.header.tracks = names.iter().map(|name| TypeSpec { name: name.clone(), schema: schema.clone() }).collect();
    tape.tracks =
        names.into_iter().map(|name| Track { name, schema: schema.clone(), changes: Changes::default() }).collect();
    for (tick, input) in (0..).zip(inputs) {
        for (track, value) in tape.tracks.iter_mut().zip(input.chunks(4)) {
            track.changes.record(tick, value);
        }
        tape.digests.roots.push(random(tick));
    }
    tape.end.tick_count = inputs.len() as u64;
    tape
}

fn recording(inputs: &[&[u8]]) -> Result<Vec<u8>, tickwise::RecordError> {
    let mut recorder = Recorder::new(Vec::new(), RecorderConfig::default())?;
    for (tick, input) in (0..).zip(inputs) {
        recorder.record_tick(tick, input, &Probe(random(tick)))?;
    }
    recorder.finish()
}
