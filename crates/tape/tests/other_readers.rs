//! A reader that was written from `docs/tape-format.md` alone, in Python, reads what this crate writes; and this crate
//! reads the tapes of every format it ever wrote.

mod common;

use bevy_replay_tape::{EndReason, Tape, TapePart, TapeStream};
use common::tapes::{falling, tape};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::error::Error;
use std::path::Path;
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a Python of version 3, if there is one.
fn python() -> Option<&'static str> {
    ["python3", "python"].into_iter().find(|name| {
        Command::new(name)
            .args(["-c", "import sys, zlib; sys.exit(sys.version_info < (3, 6))"])
            .status()
            .is_ok_and(|status| status.success())
    })
}

#[test]
fn python_reads_the_same_tape() -> Result<(), Box<dyn Error>> {
    let Some(python) = python() else {
        println!("skipped: there is no Python 3 here, which would read the tapes a second time");
        return Ok(());
    };
    let files = tempfile::tempdir()?;
    let mut tapes = vec![falling(0), falling(300)];
    let mut long = falling(3);
    long.digests.roots = (0..20_000).collect();
    long.end.tick_count = 20_000;
    tapes.push(long);
    let mut runner = TestRunner::deterministic();
    for _ in 0..20 {
        let random = tape().new_tree(&mut runner).map_err(|reason| reason.to_string())?;
        tapes.push(random.current());
    }
    let mut written: Vec<(Vec<u8>, Tape)> = tapes.iter().map(|tape| (tape.to_bytes(), tape.clone())).collect();
    // What a recorder leaves that dies.
    let unfinished = falling(40);
    let (mut stream, mut bytes) = TapeStream::begin(&unfinished.header, unfinished.initial.as_ref());
    let inputs = unfinished.tracks.iter().map(|track| track.changes.clone()).collect();
    bytes.extend(stream.append(&TapePart { tick_count: 40, inputs, ..TapePart::default() }));
    let read = Tape::from_bytes(&bytes)?;
    assert_eq!((read.tick_count(), read.end.reason), (40, EndReason::Unfinished));
    bytes.extend(&stream.append(&TapePart { tick_count: 1, ..TapePart::default() })[..10]);
    written.push((bytes, read));
    for (index, (bytes, tape)) in written.iter().enumerate() {
        let path = files.path().join("run.tape");
        std::fs::write(&path, bytes)?;
        let output = Command::new(python).arg(folder().join("tests/read_tape.py")).arg(&path).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tape {index}: {error}\n{}", tape.to_text());
        let read: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        assert_eq!(read, tape.to_json(), "tape {index}");
    }
    Ok(())
}

#[test]
fn a_tape_of_format_1_is_read_for_ever() -> Result<(), Box<dyn Error>> {
    let tapes = folder().join("../../assets/tapes");
    let tape = Tape::load(tapes.join("v1.tape"))?;
    assert_eq!(tape.header.format, 1);
    assert_eq!(tape.to_text(), std::fs::read_to_string(tapes.join("v1.ron"))?.replace("\r\n", "\n"));
    let unfinished = Tape::load(tapes.join("v1.tape.partial"))?;
    assert_eq!((unfinished.tick_count(), unfinished.end.reason), (32, EndReason::Unfinished));
    for tick in unfinished.ticks() {
        assert_eq!(unfinished.root_after(tick), tape.root_after(tick));
        assert_eq!(unfinished.inputs_text(tick), tape.inputs_text(tick));
    }
    // Each recorded digest is that of the recorded values: the digest has not moved either.
    let mut image = tape.initial.clone();
    for tick in tape.ticks() {
        assert!(tape.step_image(&mut image, tick));
        assert_eq!(image.as_ref().map(|image| image.digest().root), tape.root_after(tick));
    }
    assert_eq!(tape.id(), "e24ea3ece53a4e3d7fcd247038995bb0c6c4f926f44552c33edaf98a6cdef2a0");
    Ok(())
}
