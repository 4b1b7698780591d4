//! How long it takes to find where two recordings part.

use crate::table::{Part, Row, Target, in_turns, median, random, time};
use crate::wise::Probe;
use bevy_replay_tape::{Canonical, Changes, Header, Tape, Track, TypeSpec, encode_to_vec};
use std::error::Error;
use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use tickwise::compare::{Outcome, first_divergence_from};
use tickwise::format::RecReader;
use tickwise::{Recorder, RecorderConfig};

const TICKS: u64 = 100_000;

#[derive(Canonical)]
#[canonical(crate = bevy_replay_tape)]
struct Pad {
    stick: u8,
    buttons: u8,
}

pub fn part() -> Result<Part, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (name, interval) in [("4 % of them with new input", 25), ("each with new input", 1)] {
        let (ours, peers) = (
            [None, Some(TICKS - 1)].map(|parted_at| tape(interval, parted_at).to_bytes()),
            [recording(interval, None)?, recording(interval, Some(TICKS - 1))?],
        );
        let (mut found, mut peer_found) = (None, None);
        let all =
            in_turns(41, [&mut || found = black_box(diff(&ours)), &mut || peer_found = black_box(peer_diff(&peers))]);
        let [seconds, peer_seconds] = all.map(median);
        if (found, peer_found) != (Some(TICKS - 1), Some(TICKS - 1)) {
            return Err(format!("both must find tick {}: {found:?}, {peer_found:?}", TICKS - 1).into());
        }
        rows.push(Row {
            what: format!("100 k ticks, {name}"),
            ratio: seconds / peer_seconds,
            target: Target::AtMost(0.2),
            ours: time(seconds),
            peer: ("tickwise", time(peer_seconds)),
        });
    }
    Ok(Part {
        title: "Compare two recordings that differ in their last tick, from their bytes",
        rows,
        notes: [
            "bevy_replay: reads both tapes, checks checksums and every value, and finds the first difference of roots and of inputs",
            "tickwise: reads both recordings without checking their checksum, and finds the first difference of hashes",
        ]
        .map(Into::into)
        .into(),
    })
}

fn pad(tick: u64, interval: u64) -> Pad {
    Pad { stick: (tick / interval % 4) as u8, buttons: 0 }
}

fn root(tick: u64, parted_at: Option<u64>) -> u64 {
    random(tick) ^ u64::from(parted_at.is_some_and(|at| tick >= at))
}

fn tape(interval: u64, parted_at: Option<u64>) -> Tape {
    let (name, schema) = ("Pad".to_owned(), Arc::new(Pad::schema()));
    let mut tape = Tape::new(Header::new("peers"));
    tape.header.tracks = vec![TypeSpec { name: name.clone(), schema: schema.clone() }];
    let mut changes = Changes::default();
    for tick in 0..TICKS {
        changes.record(tick, &encode_to_vec(&pad(tick, interval)));
        tape.digests.roots.push(root(tick, parted_at));
    }
    tape.tracks = vec![Track { name, schema, changes }];
    tape.end.tick_count = TICKS;
    tape
}

fn recording(interval: u64, parted_at: Option<u64>) -> Result<Vec<u8>, tickwise::RecordError> {
    let mut recorder = Recorder::new(Vec::new(), RecorderConfig::default())?;
    for tick in 0..TICKS {
        recorder.record_tick(tick, &encode_to_vec(&pad(tick, interval)), &Probe(root(tick, parted_at)))?;
    }
    recorder.finish()
}

fn diff(tapes: &[Vec<u8>; 2]) -> Option<u64> {
    let (a, b) = (Tape::from_bytes(&tapes[0]).ok()?, Tape::from_bytes(&tapes[1]).ok()?);
    a.diff(&b).divergence?.tick
}

fn peer_diff(recordings: &[Vec<u8>; 2]) -> Option<u64> {
    let open = |bytes| RecReader::open(Cursor::new(bytes)).ok();
    let (mut a, mut b) = (open(&recordings[0])?, open(&recordings[1])?);
    match first_divergence_from(&mut a, &mut b).ok()?.outcome {
        Outcome::Diverged(found) => Some(found.tick),
        Outcome::Identical { .. } => None,
    }
}
