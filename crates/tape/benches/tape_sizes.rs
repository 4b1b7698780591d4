//! How large tapes are, beside the raw inputs and their deflate; and how long two of them take to compare.
//!
//! Run it: `cargo bench -p bevy_replay_tape --bench tape_sizes`. Reads the demos in `benches/data`, or in the folder
//! that `FREEDOOM_DEMOS` names.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints what its clock says")]

use bevy_replay_tape::{Canonical, Changes, Header, Tape, Track, TypeSpec, encode_to_vec};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

#[derive(Canonical)]
#[canonical(crate = bevy_replay_tape)]
struct Ticcmd {
    forward: i8,
    side: i8,
    turn: i8,
    buttons: u8,
}

#[derive(Canonical)]
#[canonical(crate = bevy_replay_tape)]
struct Pad {
    x: i8,
    y: i8,
    fire: bool,
    jump: bool,
}

/// A row of the table.
struct Row {
    what: &'static str,
    ticks: u64,
    raw: usize,
    deflated: usize,
    tape: usize,
}

impl Row {
    fn print(&self, target: &str) {
        let Self { what, ticks, raw, deflated, tape } = *self;
        let per_tick = |bytes: usize| bytes as f64 / ticks as f64;
        println!(
            "{what:38} {ticks:7} {raw:9} {deflated:9} {tape:9} {:8.3} {:8.3}  {target}",
            per_tick(tape),
            tape as f64 / deflated as f64
        );
    }
}

fn deflated(raw: &[u8]) -> Result<usize, Box<dyn Error>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(raw)?;
    Ok(encoder.finish()?.len())
}

/// Numbers without a pattern (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn tape_of<T: Canonical>(names: &[&str], ticks: u64) -> Tape {
    let schema = Arc::new(T::schema());
    let mut tape = Tape::new(Header::new("bench"));
    tape.header.tracks = names.iter().map(|name| TypeSpec { name: (*name).into(), schema: schema.clone() }).collect();
    tape.tracks = names
        .iter()
        .map(|name| Track { name: (*name).into(), schema: schema.clone(), changes: Changes::default() })
        .collect();
    tape.end.tick_count = ticks;
    tape
}

/// A stick and two buttons; 4 % of the ticks press or release something. Returns the tape and the raw inputs.
fn digital(ticks: u64, root_interval: u64) -> (Tape, Vec<u8>) {
    let mut random = Random(1);
    let mut tape = tape_of::<Pad>(&["Pad"], ticks);
    tape.header.root_interval = root_interval;
    let (mut pad, mut raw) = (Pad { x: 0, y: 0, fire: false, jump: false }, Vec::new());
    for tick in 0..ticks {
        if random.below(100) < 4 {
            match random.below(4) {
                0 => pad.x = if pad.x == 0 { [-1, 1][usize::from(random.below(2) == 0)] } else { 0 },
                1 => pad.y = if pad.y == 0 { [-1, 1][usize::from(random.below(2) == 0)] } else { 0 },
                2 => pad.fire = !pad.fire,
                _ => pad.jump = !pad.jump,
            }
        }
        let value = encode_to_vec(&pad);
        tape.tracks[0].changes.record(tick, &value);
        raw.extend(value);
    }
    tape.digests.roots = (0..ticks / root_interval).map(|_| random.next()).collect();
    raw.extend(tape.digests.roots.iter().flat_map(|root| root.to_le_bytes()));
    (tape, raw)
}

/// Returns the tape of a demo, and its raw inputs.
fn demo(file: &Path) -> Result<(Tape, Vec<u8>), Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let (head, body) = bytes.split_first_chunk::<13>().ok_or("a demo has a header")?;
    let players = head[9..13].iter().filter(|playing| **playing != 0).count();
    let tics = (body.len() - 1) / (4 * players);
    let raw = body[..tics * 4 * players].to_vec();
    let names = ["Player0", "Player1", "Player2", "Player3"];
    let mut tape = tape_of::<Ticcmd>(&names[..players], tics as u64);
    for (tick, tic) in (0..).zip(raw.chunks(4 * players)) {
        for (track, value) in tape.tracks.iter_mut().zip(tic.chunks(4)) {
            track.changes.record(tick, value);
        }
    }
    Ok((tape, raw))
}

fn demos() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = here.join("../../../shared/data/freedoom-demos");
    let folder = match std::env::var_os("FREEDOOM_DEMOS") {
        Some(folder) => folder.into(),
        None if beside.exists() => beside,
        None => here.join("benches/data"),
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "lmp"));
    files.sort();
    Ok(files)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:38} {:>7} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "", "ticks", "raw B", "deflate B", "tape B", "B/tick", "/deflate"
    );
    let (tape, raw) = digital(100_000, 64);
    let what = "digital, 4 % changing, root each second";
    Row { what, ticks: 100_000, raw: raw.len(), deflated: deflated(&raw)?, tape: tape.to_bytes().len() }
        .print("target <= 0.25 B/tick");

    let files = demos()?;
    let mut row = Row { what: "Freedoom demos, inputs only", ticks: 0, raw: 0, deflated: 0, tape: 0 };
    let mut rooted = Row { what: "Freedoom demos, root each tic", ..row };
    for file in &files {
        let (mut tape, mut raw) = demo(file)?;
        row.ticks += tape.tick_count();
        row.raw += raw.len();
        row.deflated += deflated(&raw)?;
        row.tape += tape.to_bytes().len();
        let mut random = Random(2);
        tape.digests.roots = (0..tape.tick_count()).map(|_| random.next()).collect();
        raw.extend(tape.digests.roots.iter().flat_map(|root| root.to_le_bytes()));
        rooted.ticks += tape.tick_count();
        rooted.raw += raw.len();
        rooted.deflated += deflated(&raw)?;
        rooted.tape += tape.to_bytes().len();
    }
    row.print("target <= 0.65 of deflate");
    rooted.print("target <= 9.5 B/tick");
    let short = if files.len() < 11 { "; the targets are for all 11, see `benches/data`" } else { "" };
    println!("({} demos{short})", files.len());

    let (a, _) = digital(100_000, 1);
    let mut b = a.clone();
    b.digests.roots[99_999] ^= 1;
    let (a, b) = (a.to_bytes(), b.to_bytes());
    let mut times: Vec<(f64, f64)> = Vec::new();
    for _ in 0..11 {
        let start = Instant::now();
        let (a, b) = (Tape::from_bytes(&a)?, Tape::from_bytes(&b)?);
        let read = start.elapsed();
        let report = black_box(a.diff(&b));
        if report.divergence.and_then(|found| found.tick) != Some(99_999) {
            return Err("the last tick differs".into());
        }
        times.push((read.as_secs_f64() * 1e3, start.elapsed().as_secs_f64() * 1e3));
    }
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (read, all) = times[times.len() / 2];
    println!("compare two tapes of 100,000 ticks: {all:.1} ms, {read:.1} ms of it to read them");
    Ok(())
}
