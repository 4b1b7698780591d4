//! The file of a tape: written while the game runs, cut off, damaged, made to exhaust its reader.
#![expect(unsafe_code, reason = "a counting allocator is the only way to see how much memory a reader takes")]

mod common;

use bevy_replay_tape::{
    Canonical, Changes, Delta, Digests, EndReason, Header, Mark, Recovered, Tape, TapeError, TapeLimits, TapePart,
    TapeStream, Track, TypeSpec, encode_to_vec,
};
use common::frame::{Chunk, MAGIC, chunk, chunks, file};
use common::tapes::{Steer, falling, tape};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

type TestResult = Result<(), TapeError>;

// How much memory a reader takes

struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn note(bytes: usize, sign: i64) {
    let held = HELD.get() + sign * i64::try_from(bytes).unwrap_or(i64::MAX);
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

// SAFETY: all work is done by the system's allocator; counting touches two cells that need no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(layout.size(), -1);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns what was computed, how much memory was held on the way at most, and how long it took.
#[expect(clippy::disallowed_methods, reason = "how long a reader takes is what is tested")]
fn measured<T>(run: impl FnOnce() -> T) -> (T, u64, Duration) {
    let before = HELD.get();
    PEAK.set(before);
    let start = Instant::now();
    let result = run();
    (result, u64::try_from(PEAK.get() - before).unwrap_or(0), start.elapsed())
}

// Written while the game runs

/// Cuts a tape into parts of so many ticks, as a recorder hands them over.
fn parts(tape: &Tape, ticks: u64) -> Vec<TapePart> {
    let first = tape.header.tick_first;
    let count = tape.tick_count();
    let part = |from: u64| {
        let to = (from + ticks).min(count);
        let is_last = to == count;
        let among = |tick: u64| tick >= first + from && (tick < first + to || is_last);
        let inputs = tape.tracks.iter().map(|track| {
            let mut changes = Changes::default();
            for (tick, value) in track.changes.iter().filter(|(tick, _)| among(*tick)) {
                changes.record(tick, value);
            }
            changes
        });
        let rows = (0..).zip(&tape.digests.lane_ticks).filter(|&(_, index)| (from..to).contains(index));
        let per_tick = tape.header.lanes.len() + tape.header.resources.len();
        let rows: Vec<(usize, u64)> = rows.map(|(row, index)| (row, *index)).collect();
        let roots = (from..to).filter_map(|index| tape.root_after(first + index)).collect();
        TapePart {
            tick_count: to - from,
            inputs: inputs.collect(),
            clock: tape.clock.iter().filter(|change| among(change.tick)).copied().collect(),
            digests: Digests {
                roots,
                lane_ticks: rows.iter().map(|row| row.1).collect(),
                lane_digests: rows
                    .iter()
                    .flat_map(|(row, _)| &tape.digests.lane_digests[row * per_tick..(row + 1) * per_tick])
                    .copied()
                    .collect(),
            },
            values: tape.values.iter().filter(|delta| among(delta.tick - 1)).cloned().collect::<Vec<Delta>>(),
            marks: if is_last { tape.marks.clone() } else { Vec::new() },
        }
    };
    (0..count.max(1)).step_by(usize::try_from(ticks).unwrap_or(1)).map(part).collect()
}

/// The file of a recorder that is still at work.
fn streamed(tape: &Tape, ticks: u64) -> (TapeStream, Vec<u8>) {
    let (mut stream, mut out) = TapeStream::begin(&tape.header, tape.initial.as_ref());
    for part in parts(tape, ticks) {
        out.extend(stream.append(&part));
    }
    (stream, out)
}

fn good() -> Tape {
    falling(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_streamed_tape_is_the_tape(tape in tape(), ticks in 1..4_u64) {
        let (stream, mut file) = streamed(&tape, ticks);
        let unfinished = Tape::from_bytes(&file)?;
        prop_assert_eq!(unfinished.end.reason, EndReason::Unfinished);
        prop_assert_eq!(Tape { end: tape.end.clone(), ..unfinished }, tape.clone());
        file.extend(stream.end(&tape.end));
        prop_assert_eq!(Tape::from_bytes(&file)?, tape);
    }

    #[test]
    fn changed_streams_are_refused_or_cut_but_never_something_else(
        tape in tape(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (_, mut file) = streamed(&tape, 2);
        let at = at.index(file.len());
        file[at] = byte;
        if let Ok(read) = Tape::from_bytes(&file) {
            assert_prefix(&read, &tape);
        }
    }
}

/// Asserts that a tape is the beginning of another.
#[track_caller]
fn assert_prefix(read: &Tape, whole: &Tape) {
    assert_eq!(read.header, whole.header);
    assert!(read.tick_count() <= whole.tick_count());
    if read.initial.is_none() {
        assert_eq!(read.tick_count(), if whole.initial.is_none() { read.tick_count() } else { 0 });
    }
    for tick in read.ticks() {
        assert_eq!(read.root_after(tick), whole.root_after(tick), "tick {tick}");
        assert_eq!(read.inputs_text(tick), whole.inputs_text(tick), "tick {tick}");
        assert_eq!(read.timestep_ns(tick), whole.timestep_ns(tick), "tick {tick}");
    }
    assert!(whole.values.starts_with(&read.values));
}

#[test]
fn a_stream_that_ends_anywhere_is_read_up_to_its_last_part() -> TestResult {
    let tape = falling(60);
    let (_, file) = streamed(&tape, 8);
    let (_, start) = TapeStream::begin(&tape.header, tape.initial.as_ref());
    let mut read_ticks = Vec::new();
    for end in 0..=file.len() {
        match Tape::from_bytes(&file[..end]) {
            Ok(read) => {
                assert_eq!(read.end.reason, EndReason::Unfinished, "cut at byte {end}");
                if end == file.len() || end % 7 == 0 {
                    assert_prefix(&read, &tape);
                }
                read_ticks.push(read.tick_count());
            }
            Err(error) => assert!(end < start.len(), "cut at byte {end}: {error}"),
        }
    }
    assert!(read_ticks.is_sorted());
    read_ticks.dedup();
    assert_eq!(read_ticks, [0, 8, 16, 24, 32, 40, 48, 56, 60]);
    Ok(())
}

#[test]
fn ends_of_recordings_are_read_back() -> TestResult {
    for reason in [
        EndReason::Stopped,
        EndReason::CapacityReached,
        EndReason::CaptureFailed,
        EndReason::WriterTooSlow,
        EndReason::WriteFailed,
        EndReason::Unfinished,
    ] {
        let mut tape = falling(3);
        tape.end.reason = reason;
        assert_eq!(Tape::from_bytes(&tape.to_bytes())?.end.reason, reason);
        assert_eq!(Tape::from_text(&tape.to_text())?.end.reason, reason);
    }
    Ok(())
}

// Damage

#[test]
fn a_finished_tape_cut_at_any_byte_is_refused_or_recovered_as_its_beginning() {
    let tape = good();
    let bytes = tape.to_bytes();
    for end in 0..bytes.len() {
        assert!(Tape::from_bytes(&bytes[..end]).is_err(), "cut at byte {end}");
        let recovered = if end % 17 == 0 { Tape::recover(&bytes[..end], TapeLimits::default()).ok() } else { None };
        if let Some(Recovered { tape: read, damage, .. }) = recovered {
            assert!(damage.is_some(), "cut at byte {end}");
            assert_eq!(read.end.reason, EndReason::Unfinished);
            assert_prefix(&read, &tape);
        }
    }
}

#[test]
fn bits_flipped_in_the_header_and_the_first_two_chunks_are_found() {
    let mut bytes = good().to_bytes();
    let end = chunk_end(&bytes, chunk_end(&bytes, MAGIC.len()));
    for bit in 0..end * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Tape::from_bytes(&bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

fn chunk_end(bytes: &[u8], start: usize) -> usize {
    let length = bytes[start + 4..start + 12].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    start + 16 + length
}

#[test]
fn false_lengths_are_found() {
    let bytes = good().to_bytes();
    let mut start = MAGIC.len();
    while start < bytes.len() {
        let remaining = (bytes.len() - start - 16) as u64;
        for length in [0, (1 << 32) - 1, remaining + 1, u64::MAX] {
            let mut damaged = bytes.clone();
            damaged[start + 4..start + 12].copy_from_slice(&length.to_le_bytes());
            let (read, held, _) = measured(|| Tape::from_bytes(&damaged));
            assert!(read.is_err(), "chunk at {start} with length {length}");
            assert!(held < 4 * bytes.len() as u64 + (1 << 20), "{held} bytes held");
        }
        start = chunk_end(&bytes, start);
    }
}

#[test]
fn damage_in_a_long_tape_costs_only_the_ticks_after_it() -> TestResult {
    let mut tape = Tape::new(Header::new("my_game"));
    tape.digests.roots = (0..20_000).collect();
    tape.end.tick_count = 20_000;
    let mut bytes = tape.to_bytes();
    let at = bytes.len() - 1000; // among the last roots
    bytes[at] ^= 1;
    let error = Tape::from_bytes(&bytes).expect_err("it is damaged").to_string();
    assert!(error.contains(r#"(recover the first 16384 ticks with "bevy-replay recover")"#), "{error}");
    let Recovered { tape: read, damage, lost_bytes } = Tape::recover(&bytes, TapeLimits::default())?;
    assert_eq!((read.tick_count(), read.end.reason), (16_384, EndReason::Unfinished));
    assert_eq!(damage.map(|damage| damage.to_string()), Some(error));
    assert!(lost_bytes > 8 * 3616 && lost_bytes < 8 * 3616 + 200, "{lost_bytes}");
    assert_prefix(&read, &tape);
    Ok(())
}

#[test]
fn what_is_unusual_but_right_is_read() -> TestResult {
    let no_ticks = Tape::new(Header::new("my_game"));
    assert_eq!(Tape::from_bytes(&no_ticks.to_bytes())?, no_ticks);
    // Empty chunks, chunks in pieces, and chunks of later versions.
    let tape = falling(30);
    let mut pieces = chunks(&tape.to_bytes());
    let at = pieces.iter().position(|chunk| &chunk.0 == b"ROOT").expect("it has roots");
    let roots = pieces[at].1.split_off(16);
    pieces.insert(at + 1, (*b"ROOT", roots));
    pieces.insert(at, (*b"ROOT", Vec::new()));
    pieces.insert(at, (*b"NEW!", vec![7; 100]));
    pieces.push((*b"NEW!", Vec::new()));
    assert_eq!(Tape::from_bytes(&file(&pieces))?, tape);
    let empty = [&file(&pieces)[..], &chunk(b"new?", &[])].concat();
    assert_eq!(Tape::from_bytes(&empty)?, tape);
    Ok(())
}

#[test]
fn garbage_behind_a_tape_is_found() {
    let bytes = good().to_bytes();
    for tail in [&[0; 64 << 10][..], b"\n", b"PK\x03\x04 and more of an archive that was put behind it", MAGIC] {
        let error = Tape::from_bytes(&[&bytes, tail].concat()).expect_err("something is behind it");
        assert!(matches!(error, TapeError::Truncated { .. } | TapeError::ChecksumMismatch { .. }), "{error}");
    }
    assert!(Tape::from_bytes(&vec![0; 64 << 10]).is_err());
    assert!(Tape::from_bytes(&[]).is_err());
}

#[test]
fn a_tape_of_the_provisional_format_is_named() {
    let mut header = Header::new("my_game");
    header.format = 0;
    let head = chunk(b"HEAD", &[&[0], &serde_json::to_vec(&header).expect("plain data")[..]].concat());
    let error = Tape::from_bytes(&[MAGIC, &head, &chunk(b"END ", b"\0{}")].concat()).expect_err("format 0");
    assert!(error.to_string().starts_with("the tape has the provisional format 0, "), "{error}");
}

// Bombs

/// Reads what is made to exhaust its reader: it is refused, with little memory and soon.
#[track_caller]
fn defused(bomb: &[u8], expected: &str) {
    let (read, held, time) = measured(|| Tape::from_bytes(bomb));
    let error = read.expect_err("it is over the limits").to_string();
    assert!(error.contains(expected), "{error}");
    assert!(held < 256 << 20, "{held} bytes held");
    assert!(time < Duration::from_secs(2), "{time:?}");
}

fn zeros(count: u64) -> Vec<u8> {
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![0; 1 << 20];
    for _ in 0..count >> 20 {
        deflate.write_all(&block).expect("memory takes it");
    }
    deflate.finish().expect("memory takes it")
}

fn with_packed(kind: &[u8; 4], claimed: u64, deflated: &[u8]) -> Vec<u8> {
    let head = &chunks(&falling(3).to_bytes())[0].1;
    let packed = chunk(kind, &[&[1], &claimed.to_le_bytes()[..], deflated].concat());
    [
        MAGIC,
        &chunk(b"HEAD", &[&[0], &head[..]].concat()),
        &packed,
        &chunk(b"END ", b"\0{\"tick_count\":3,\"reason\":\"Stopped\"}"),
    ]
    .concat()
}

#[test]
fn a_chunk_that_inflates_without_end_is_refused() {
    let (size, deflated) = (5 << 30, zeros(1 << 26));
    for kind in [b"INIT", b"INPT", b"CLCK", b"ROOT", b"LANE", b"DELT", b"MARK"] {
        defused(&with_packed(kind, size, &deflated), "bytes once unpacked, the limit is 1073741824");
        defused(&with_packed(kind, 1000, &deflated), "it does not unpack to the 1000 bytes that it claims");
    }
    let many =
        [&with_packed(b"INIT", 1 << 29, &[])[..], &chunk(b"MARK", &[&[1], &(1_u64 << 30).to_le_bytes()[..]].concat())];
    defused(&many.concat(), "bytes once unpacked, the limit is 1073741824");
    let head = [MAGIC, &chunk(b"HEAD", &[&[1], &size.to_le_bytes()[..], &deflated].concat()), &chunk(b"END ", b"\0{}")];
    defused(&head.concat(), "bytes of header, the limit is 4194304");
}

#[test]
fn a_claim_of_a_size_sets_no_memory_aside() {
    let (read, held, _) = measured(|| Tape::from_bytes(&with_packed(b"ROOT", 1 << 29, &[3, 0])));
    assert!(read.is_err());
    assert!(held < 1 << 20, "{held} bytes held");
}

#[test]
fn counts_without_end_are_refused() {
    let with = |change: &dyn Fn(&mut Vec<Chunk>)| {
        let mut chunks = chunks(&falling(3).to_bytes());
        change(&mut chunks);
        file(&chunks)
    };
    let end = |text: &str| {
        let text = text.as_bytes().to_vec();
        with(&|chunks| chunks.last_mut().expect("it has an end").1.clone_from(&text))
    };
    defused(&end(r#"{"tick_count":9223372036854775808,"reason":"Stopped"}"#), "ticks, the limit is 16777216");
    let put = |kind: &[u8; 4], content: &[u8]| {
        with(&|chunks| {
            let at = chunks.iter().position(|chunk| &chunk.0 == kind).expect("it has one");
            chunks[at].1 = content.to_vec();
        })
    };
    let billion = [0x80, 0x94, 0xeb, 0xdc, 0x03]; // 10^9
    defused(&put(b"INPT", &[&[0; 8], &billion[..], &[0, 0, 0, 0]].concat()), "it claims more than it holds");
    defused(&put(b"LANE", &[&billion[..], &[0; 8]].concat()), "it claims more than it holds");
    let items = 1_000_000_000_u64.to_le_bytes();
    defused(&put(b"CLCK", &[&items[..], &[0; 64]].concat()), "cannot stand in");
    defused(&put(b"DELT", &[&items[..], &[0; 64]].concat()), "cannot");
}

#[test]
fn rows_that_a_few_bytes_stand_for_are_counted_before_they_are_made() {
    // 256 columns, and one of them changes 4 million times.
    type Wide = [[u8; 16]; 16];
    let mut header = Header::new("my_game");
    header.tracks = vec![TypeSpec { name: "Wide".into(), schema: Arc::new(Wide::schema()) }];
    let count = 1_u32 << 23;
    let varint = |value: u32| {
        let [low, middle, high, top] = [value, value >> 7, value >> 14, value >> 21].map(|part| part.to_le_bytes()[0]);
        [low | 128, middle | 128, high | 128, top & 127]
    };
    let mut content = [&[0; 8], &varint(count)[..], &[0x80, 2]].concat();
    content.extend(varint(count));
    content.resize(content.len() + count as usize, 0);
    content.extend([1, 0].repeat(255));
    content.extend((0..count + 255).map(|row| row.to_le_bytes()[0] % 2));
    let mut tape = Tape::new(header);
    tape.end.tick_count = u64::from(count);
    let mut chunks = chunks(&tape.to_bytes());
    chunks.insert(1, (*b"INPT", content));
    defused(&file(&chunks), "bytes once unpacked, the limit is 1073741824");
}

#[test]
fn types_without_end_are_refused() {
    let specs = r#"{"name":"a","schema":["Bool"]},"#.repeat(30_000);
    let head = format!(r#"{{"format":1,"tracks":[{}]}}"#, specs.trim_end_matches(','));
    let bomb = file(&[(*b"HEAD", head.into_bytes()), (*b"END ", b"{}".to_vec())]);
    defused(&bomb, "types, the limit is 4096");
}

#[test]
fn ids_without_end_are_refused() -> TestResult {
    let tape = falling(30); // one entity at first, six more on the way
    let mut limits = TapeLimits::default();
    limits.ids = 7;
    assert_eq!(Tape::from_bytes_limited(&tape.to_bytes(), limits)?, tape);
    limits.ids = 6;
    let error = Tape::from_bytes_limited(&tape.to_bytes(), limits).expect_err("7 ids").to_string();
    assert_eq!(error, "the tape has 7 ids, the limit is 6 (raise it in TapeLimits if you trust the tape)");
    Ok(())
}

#[test]
fn names_that_look_like_paths_are_only_names() -> TestResult {
    let mut tape = Tape::new(Header::new("../../etc/passwd"));
    tape.end.claims.insert("/dev/null".into(), "C:\\windows".into());
    tape.marks.push(Mark { tick: 0, text: "\u{1b}[2J".into() });
    assert_eq!(Tape::from_bytes(&tape.to_bytes())?, tape);
    assert_eq!(Tape::from_text(&tape.to_text())?, tape);
    Ok(())
}

// Size, id and files

#[test]
fn roots_may_stand_at_an_interval() -> TestResult {
    let mut tape = Tape::new(Header::new("my_game"));
    tape.header.root_interval = 64;
    tape.end.tick_count = 130;
    tape.digests.roots = vec![7, 8];
    assert_eq!((tape.root_after(62), tape.root_after(63), tape.root_after(64)), (None, Some(7), None));
    assert_eq!((tape.root_after(127), tape.root_after(191)), (Some(8), None));
    assert_eq!(Tape::from_bytes(&tape.to_bytes())?, tape);
    assert_eq!(Tape::from_text(&tape.to_text())?, tape);
    assert!(tape.diff(&tape).is_verified());
    tape.digests.roots.push(9);
    assert!(Tape::from_bytes(&tape.to_bytes()).is_err());
    Ok(())
}

#[test]
fn the_id_is_that_of_the_tape_in_every_form() -> TestResult {
    let tape = good();
    let id = tape.id();
    assert_eq!(id.len(), 64);
    assert_eq!(Tape::from_bytes(&tape.to_bytes())?.id(), id);
    assert_eq!(Tape::from_text(&tape.to_text())?.id(), id);
    let mut other = tape.clone();
    other.end.claims.insert("score".into(), "13".into());
    assert_ne!(other.id(), id);
    Ok(())
}

#[test]
fn saving_overwrites_nothing_and_leaves_nothing_behind() -> Result<(), Box<dyn core::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.tape");
    std::fs::write(&path, "mine")?;
    let error = good().save(&path).expect_err("there is such a file").to_string();
    assert!(error.starts_with(&path.display().to_string()) && error.contains("exists"), "{error}");
    assert_eq!(std::fs::read_to_string(&path)?, "mine");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    let missing = folder.path().join("missing/run.tape");
    assert!(good().save(&missing).is_err());
    Ok(())
}

#[test]
fn values_of_another_width_are_written_and_refused() {
    let mut tape = Tape::new(Header::new("my_game"));
    let schema = Arc::new(Steer::schema());
    tape.header.tracks = vec![TypeSpec { name: "Steer".into(), schema: schema.clone() }];
    let mut changes = Changes::default();
    changes.record(0, &encode_to_vec(&Steer { x: 1, jump: false }));
    changes.record(1, &[1, 2, 3]);
    tape.tracks = vec![Track { name: "Steer".into(), schema, changes }];
    tape.end.tick_count = 2;
    let error = Tape::from_bytes(&tape.to_bytes()).expect_err("three bytes are no Steer").to_string();
    assert!(error.contains("the width of its values is not that of its type"), "{error}");
}

/// Writes the tapes of the current format that are kept for ever. Run by hand, once for each format.
#[test]
#[ignore = "it makes a fixture"]
fn write_the_tapes_of_this_format() -> TestResult {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/tapes");
    let tape = falling(50);
    tape.save(folder.join("v1.tape"))?;
    tape.save(folder.join("v1.ron"))?;
    let mut stream = TapeStream::begin(&tape.header, tape.initial.as_ref());
    let part = &parts(&tape, 32)[0];
    let file = [stream.1, stream.0.append(part), b"INPT and so on".to_vec()].concat();
    std::fs::write(folder.join("v1.tape.partial"), file).map_err(|error| TapeError::Io { path: String::new(), error })
}
