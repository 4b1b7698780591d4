//! Tapes in both forms: read back as written, and refused with the place and the reason where they are damaged.

mod common;

use bevy_replay_tape::{
    Changes, Digests, End, EndReason, FORMAT_VERSION, Header, Ids, Mark, Tape, TapeError, TapeLimits, encode_to_vec,
};
use common::frame::{Chunk, MAGIC, chunks, file};
use common::tapes::{Steer, falling, recorded, tape};
use common::world::World;
use proptest::prelude::*;
use std::sync::Arc;

type TestResult = Result<(), TapeError>;

/// The tape that the tests below damage.
fn good() -> Tape {
    falling(30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_tape_is_read_back_from_bytes_and_from_text(tape in tape()) {
        prop_assert_eq!(&Tape::from_bytes(&tape.to_bytes())?, &tape);
        let text = tape.to_text();
        prop_assert_eq!(&Tape::from_text(&text)?, &tape, "{}", text);
        prop_assert_eq!(&Tape::from_bytes(text.as_bytes())?, &tape);
        prop_assert_eq!(&Tape::from_text(&text)?.to_text(), &text);
        let json = tape.to_json().to_string();
        prop_assert_eq!(&Tape::from_bytes(json.as_bytes())?, &tape, "{}", json);
        let windows = text.replace('\n', "\r\n");
        prop_assert_eq!(&Tape::from_text(&windows)?, &tape);
        prop_assert_eq!(&Tape::from_text(&format!("\u{feff}\r\n~~~\r\n{windows}~~~\r\n"))?, &tape);
    }

    #[test]
    fn changed_bytes_are_refused_or_read_but_never_panic(
        tape in tape(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = tape.to_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = Tape::from_bytes(&bytes) {
            prop_assert_eq!(read, tape);
        }
    }

    #[test]
    fn changed_payloads_with_a_right_checksum_are_refused_or_read_but_never_panic(
        tape in tape(),
        chunk in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![any::<u8>(), 0..3_u8],
        cut: bool,
    ) {
        let mut chunks = chunks(&tape.to_bytes());
        let chunk = chunk.index(chunks.len());
        let payload = &mut chunks[chunk].1;
        if !payload.is_empty() {
            let at = at.index(payload.len());
            payload[at] = byte;
            if cut {
                payload.truncate(at);
            }
        }
        use_tape(&file(&chunks));
    }

    #[test]
    fn changed_text_is_refused_or_read_but_never_panics(
        tape in tape(),
        at in any::<prop::sample::Index>(),
        letter in common::character(),
        cut: bool,
    ) {
        let mut letters: Vec<char> = tape.to_text().chars().collect();
        let at = at.index(letters.len());
        letters[at] = letter;
        if cut {
            letters.truncate(at);
        }
        use_tape(String::from_iter(letters).as_bytes());
    }

    #[test]
    fn random_bytes_are_no_tape(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        use_tape(&bytes);
        use_tape(&[MAGIC, &bytes].concat());
    }
}

/// Does with bytes all that a tool does with a tape, if they are one.
fn use_tape(bytes: &[u8]) {
    let Ok(tape) = Tape::from_bytes(bytes) else { return };
    let text = tape.to_text();
    assert_eq!(Tape::from_text(&text).as_ref().ok(), Some(&tape), "{text}");
    let mut image = tape.initial.clone();
    // A damaged count of ticks may be large; what is on the tape is not.
    for tick in tape.ticks().take(100) {
        assert_eq!(tape.inputs_text(tick).len(), tape.tracks.len());
        assert_ne!(tape.timestep_ns(tick), 0);
        if tape.step_image(&mut image, tick) {
            assert_eq!(image.as_ref().map(|image| image.digest().lanes.len()), Some(tape.header.lanes.len()));
        }
    }
}

// The form of the file

fn index_of(chunks: &[Chunk], kind: &[u8; 4]) -> usize {
    chunks.iter().position(|chunk| &chunk.0 == kind).expect("each tape has it")
}

/// Why the good tape is refused with other chunks.
fn refused(change: impl FnOnce(&mut Vec<Chunk>)) -> String {
    let mut chunks = chunks(&good().to_bytes());
    change(&mut chunks);
    Tape::from_bytes(&file(&chunks)).expect_err("it is damaged").to_string()
}

/// Why a changed tape is refused, in both forms.
#[track_caller]
fn inconsistent(change: impl FnOnce(&mut Tape)) -> String {
    let mut tape = good();
    change(&mut tape);
    let error = Tape::from_bytes(&tape.to_bytes()).expect_err("it contradicts itself").to_string();
    let from_text = Tape::from_text(&tape.to_text()).expect_err("it contradicts itself").to_string();
    assert_eq!(error, from_text);
    error
}

#[test]
fn a_tape_cut_at_any_byte_is_refused() {
    let bytes = good().to_bytes();
    for end in 0..bytes.len() {
        let error = Tape::from_bytes(&bytes[..end]).expect_err("it is cut");
        match error {
            TapeError::NotATape { .. } if end < MAGIC.len() => {}
            TapeError::Truncated { offset, .. } if offset <= end => {}
            TapeError::MissingChunk { .. } => {}
            error => panic!("cut at byte {end}: {error}"),
        }
    }
}

#[test]
fn text_cut_at_any_byte_is_refused() {
    let text = good().to_text();
    for end in (0..text.trim_end().len()).step_by(31) {
        assert!(Tape::from_bytes(&text.as_bytes()[..end]).is_err(), "cut at byte {end}");
    }
}

#[test]
fn a_tape_with_any_bit_flipped_is_refused() {
    let mut bytes = falling(3).to_bytes();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Tape::from_bytes(&bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn damage_is_named_with_its_chunk_and_place() {
    let mut bytes = good().to_bytes();
    bytes[MAGIC.len() + 20] ^= 1;
    let error = Tape::from_bytes(&bytes).expect_err("it is damaged").to_string();
    assert!(error.starts_with("chunk HEAD at byte 8 is damaged: crc "), "{error}");
}

#[test]
fn what_is_no_tape_says_how_it_starts() {
    let reason = |bytes: &[u8]| Tape::from_bytes(bytes).expect_err("no tape").to_string();
    assert_eq!(
        reason(b""),
        "this is no bevy_replay tape: it starts with nothing (0 bytes) (a text tape starts with a parenthesis)"
    );
    assert!(reason(&vec![0; 64 << 10]).contains(r"it starts with \x00\x00"));
    assert!(reason(b"\x89PNG\r\n").contains(r"it starts with \x89PNG\r\n"));
    assert!(reason(b"hello").contains("it starts with hello"));
    assert!(reason("\u{feff}hello".as_bytes()).contains("it starts with"));
    assert_eq!(reason(MAGIC), "the tape has no chunk HEAD (it was cut off, or not written to its end)");
}

#[test]
fn missing_repeated_and_misplaced_chunks_are_named() {
    let missing = |kind: &[u8; 4]| {
        refused(|chunks| {
            chunks.remove(index_of(chunks, kind));
        })
    };
    assert!(missing(b"HEAD").starts_with("the tape has no chunk HEAD"));
    assert!(missing(b"END ").starts_with("the tape has no chunk END"));

    for kind in [b"HEAD", b"INIT"] {
        let error = refused(|chunks| {
            let at = index_of(chunks, kind);
            chunks.insert(at, chunks[at].clone());
        });
        let expected = format!("the tape has a second chunk {} at byte ", kind.escape_ascii());
        assert!(error.starts_with(&expected), "{error}");
    }
    let late = refused(|chunks| {
        let at = index_of(chunks, b"DELT");
        let delta = chunks.remove(at);
        chunks.push(delta);
    });
    assert!(late.contains("stands behind the end"), "{late}");
    let first = refused(|chunks| chunks.swap(0, 1));
    assert!(first.starts_with("the tape has no chunk HEAD"));
}

#[test]
fn chunks_of_unknown_kinds_are_skipped() -> TestResult {
    let tape = good();
    let mut chunks = chunks(&tape.to_bytes());
    for at in [chunks.len(), 4, 1] {
        chunks.insert(at, (*b"NEW!", vec![1, 2, 3]));
        chunks.insert(at, (*b"NEW!", Vec::new()));
    }
    assert_eq!(Tape::from_bytes(&file(&chunks))?, tape);
    Ok(())
}

#[test]
fn bytes_behind_the_last_chunk_are_refused() {
    let bytes = good().to_bytes();
    for tail in [&b"\0"[..], b"\n", b"trailing garbage of more than one chunk head"] {
        assert!(matches!(Tape::from_bytes(&[&bytes, tail].concat()), Err(TapeError::Truncated { .. })));
    }
}

#[test]
fn chunks_that_claim_any_length_are_refused() {
    for length in [u64::MAX, u64::MAX - 16, 1 << 63, 1 << 32, 1000] {
        let bytes = [MAGIC, b"HEAD", &length.to_le_bytes(), &[0; 4], b"{}"].concat();
        assert!(matches!(Tape::from_bytes(&bytes), Err(TapeError::Truncated { offset: 8, .. })), "{length}");
    }
}

#[test]
fn payloads_that_claim_any_count_are_refused() {
    for kind in [b"INIT", b"INPT", b"CLCK", b"LANE", b"DELT"] {
        for count in [u64::MAX, 1 << 60, 1 << 33] {
            for zeros in [0, 8, 16, 64] {
                let payload = [&vec![0; zeros][..], &count.to_le_bytes(), &[0; 64]].concat();
                let error = refused(|chunks| {
                    let at = index_of(chunks, kind);
                    chunks[at].1.clone_from(&payload);
                });
                assert!(error.contains("cannot be read") || error.contains("contradicts"), "{error}");
            }
        }
    }
}

#[test]
fn a_tape_of_a_newer_format_is_refused_before_anything_else_of_it() {
    let newer = FORMAT_VERSION + 1;
    let expected = format!(
        "the tape has format {newer}, this version of bevy_replay reads up to {FORMAT_VERSION} (update bevy_replay)"
    );
    let mut tape = good();
    tape.header.format = newer;
    assert_eq!(Tape::from_bytes(&tape.to_bytes()).expect_err("newer").to_string(), expected);
    assert_eq!(Tape::from_text(&tape.to_text()).expect_err("newer").to_string(), expected);
    // It may hold what this version cannot read.
    let head = format!(r#"{{"format":{newer},"lanes":{{"x":[{{"Tensor":3}}]}}}}"#);
    let bytes = file(&[(*b"HEAD", head.into_bytes()), (*b"INIT", vec![1, 2, 3])]);
    assert_eq!(Tape::from_bytes(&bytes).expect_err("newer").to_string(), expected);
    let text = format!("(sections: [], header: (format: {newer}, lanes: {{\"x\": Tensor(3)}}))");
    assert_eq!(Tape::from_text(&text).expect_err("newer").to_string(), expected);
}

#[test]
fn parts_that_contradict_each_other_are_named() {
    let contradicts = |expected: &str, change: &dyn Fn(&mut Tape)| {
        assert_eq!(inconsistent(change), format!("the tape contradicts itself: {expected}"));
    };
    contradicts("10 ticks from tick 18446744073709551610", &|tape| {
        *tape = Tape::new(Header::new("my_game"));
        (tape.header.tick_first, tape.end.tick_count) = (u64::MAX - 5, 10);
    });
    contradicts("30 root digests for 29 ticks", &|tape| tape.end.tick_count = 29);
    contradicts("a tick of 0 ns", &|tape| tape.header.timestep_ns = 0);
    contradicts("a tick of 0 ns", &|tape| tape.clock[0].timestep_ns = 0);
    contradicts("changes of the timestep are out of order", &|tape| tape.clock.push(tape.clock[0]));
    contradicts("ticks with digests of types are out of order, or not among 30", &|tape| {
        tape.digests.lane_ticks[14] = 30
    });
    contradicts("types ascend by name, but Body stands before Bag", &|tape| tape.header.lanes.swap(0, 1));
    contradicts("inputs ascend by name, but Steer stands before Steer", &|tape| {
        tape.header.tracks[0] = tape.header.tracks[1].clone();
    });
    contradicts("resources ascend by name, but Score stands before News", &|tape| tape.header.resources.swap(0, 1));
    contradicts("values that lead from tick 1 to tick 1 of 30", &|tape| tape.values[1].tick = 1);
    contradicts("values that lead from tick 29 to tick 31 of 30", &|tape| tape.values[29].tick = 31);
    contradicts("sim:3 has Frozen in the initial state, but does not exist", &|tape| {
        let initial = tape.initial.as_mut().expect("it was made with one");
        initial.lanes[2].ids = Arc::new(Ids::new(vec![3]).expect("ascending"));
    });
    contradicts("Steer changes at tick 31, but the tape ends at tick 30", &|tape| {
        tape.tracks[1].changes.record(31, &encode_to_vec(&Steer { x: 9, jump: false }));
    });
    assert_eq!(
        inconsistent(|tape| tape.values[3].lanes[0].changed[0] = 7),
        "the change that leads to tick 4 names sim:7, which is not there"
    );
}

#[test]
fn binary_parts_that_no_text_can_hold_are_refused() {
    type Lanes = Vec<(Vec<u64>, Vec<u8>)>;
    let init = |initial: (u64, Vec<u64>, Lanes, Vec<Option<Vec<u8>>>)| {
        refused(|chunks| {
            let at = index_of(chunks, b"INIT");
            chunks[at].1 = encode_to_vec(&initial);
        })
    };
    let none = || vec![(vec![], vec![]); 4];
    let other = "the tape contradicts itself: the initial state has other types than the header";
    assert_eq!(init((0, vec![], none()[1..].to_vec(), vec![None; 2])), other);
    assert_eq!(init((0, vec![], none(), vec![None; 3])), other);
    let tick = "the tape contradicts itself: the initial state is that of tick 1, not 0";
    assert_eq!(init((1, vec![], none(), vec![None; 2])), tick);
    let order = "sim ids of the initial state are out of order, or one stands twice";
    assert!(init((0, vec![2, 1], none(), vec![None; 2])).ends_with(order));
    assert!(init((0, vec![1, 1], none(), vec![None; 2])).ends_with(order));
    let mut bodies = none();
    bodies[1] = (vec![2, 1], vec![0; 24]);
    assert!(
        init((0, vec![1, 2], bodies, vec![None; 2])).ends_with("sim ids of Body are out of order, or one stands twice")
    );
    let mut bodies = none();
    bodies[1] = (vec![1], vec![0; 13]);
    let error = init((0, vec![1], bodies, vec![None; 2]));
    assert_eq!(error, "Body in the initial state cannot be read: the value ends before its bytes do (left over: 1)");
    let error = init((0, vec![], none(), vec![None, Some(vec![0; 3])]));
    assert_eq!(error, "Score in the initial state cannot be read: the value ends early (bytes missing: 1)");

    let lanes = refused(|chunks| {
        let at = index_of(chunks, b"LANE");
        chunks[at].1 = [&[2, 0, 1][..], &[7; 8 * 11]].concat();
    });
    assert_eq!(lanes, "the tape contradicts itself: 11 digests of 6 types for 2 ticks");

    // No change of Said, then those of Steer: the ticks of both columns, then their bytes.
    let steer = |changes: &[u8]| {
        refused(|chunks| {
            let at = index_of(chunks, b"INPT");
            chunks[at].1 = [&[0; 9], changes].concat();
        })
    };
    let bad = |reason: &str| format!("Steer: {reason} (the program that wrote it has a fault)");
    assert!(steer(&[2, 2, 2, 3, 0, 1, 3, 1, 1, 0]).ends_with(&bad("it does not change at tick 4")));
    assert!(steer(&[1, 2, 1, 3, 0, 1]).ends_with(&bad("its first value is not whole")));
    assert!(steer(&[2, 2, 1, 3, 1, 3, 1, 0]).ends_with(&bad("it has 1 changes, not the 2 that it claims")));
    assert!(steer(&[1, 3, 1, 3, 1, 3, 1, 0]).ends_with(&bad("the width of its values is not that of its type")));
    assert!(steer(&[1, 2, 1, 3, 1, 3, 1]).ends_with(&bad("it ends early")));
    assert_eq!(steer(&[1, 2, 1, 3, 1, 3, 1, 2]), "Steer at tick 3 cannot be read: 2 is no value of bool");
    let json = refused(|chunks| {
        let at = index_of(chunks, b"MARK");
        chunks[at].1 = b"[1]".to_vec();
    });
    assert!(json.starts_with("the marks cannot be read: "), "{json}");
    let no_state = refused(|chunks| {
        let at = index_of(chunks, b"INIT");
        chunks.remove(at);
    });
    assert_eq!(no_state, "the tape contradicts itself: recorded values without an initial state");
}

#[test]
fn tapes_over_a_limit_are_refused_with_the_limit() {
    let tape = good();
    let (bytes, text) = (tape.to_bytes(), tape.to_text());
    let limits = |change: &dyn Fn(&mut TapeLimits)| {
        let mut limits = TapeLimits::default();
        change(&mut limits);
        limits
    };
    let check = |what: &str, count: u64, set: &dyn Fn(&mut TapeLimits, u64)| {
        for (form, data) in [("bytes", &bytes[..]), ("text", text.as_bytes())] {
            let count = if what == "bytes" { data.len() as u64 } else { count };
            let exact = Tape::from_bytes_limited(data, limits(&|limits| set(limits, count)));
            assert_eq!(exact.ok().as_ref(), Some(&tape), "{form} with {count} {what}");
            match Tape::from_bytes_limited(data, limits(&|limits| set(limits, count - 1))) {
                Err(TapeError::OverLimit { what: named, found, limit }) => {
                    assert_eq!((named, found, limit), (what, count, count - 1), "{form}");
                }
                other => panic!("{form} with {count} {what}: {other:?}"),
            }
        }
    };
    check("bytes", 0, &|limits, count| limits.bytes = count);
    check("ticks", 30, &|limits, count| limits.ticks = count);
    check("types", 8, &|limits, count| limits.types = count);
    let error = TapeError::OverLimit { what: "ticks", found: 30, limit: 29 };
    assert_eq!(
        error.to_string(),
        "the tape has 30 ticks, the limit is 29 (raise it in TapeLimits if you trust the tape)"
    );
}

#[test]
fn tapes_are_loaded_from_files_in_both_forms() -> Result<(), Box<dyn core::error::Error>> {
    let folder = std::env::temp_dir().join(format!("bevy_replay_tape-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let tape = falling(3);
    let (bytes, text) = (folder.join("a.tape"), folder.join("a.ron"));
    std::fs::write(&bytes, tape.to_bytes())?;
    std::fs::write(&text, tape.to_text())?;
    assert_eq!(Tape::load(&bytes)?, tape);
    assert_eq!(Tape::load(&text)?, tape);
    let error = Tape::load(folder.join("none.tape")).expect_err("there is none").to_string();
    assert!(error.contains("none.tape: "), "{error}");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

// What is asked of a tape

#[test]
fn changes_keep_what_differs_and_find_it_again() {
    let mut changes = Changes::default();
    assert!(changes.is_empty() && changes.last().is_none() && changes.at(5).is_none() && changes.get(0).is_none());
    assert!(changes.record(3, b"a"));
    assert!(!changes.record(4, b"a"), "the same value");
    assert!(!changes.record(3, b"b"), "the same tick");
    assert!(!changes.record(2, b"b"), "an earlier tick");
    assert!(changes.record(7, b""));
    assert!(changes.record(u64::MAX, b"ccc"));
    assert_eq!(changes.iter().collect::<Vec<_>>(), [(3, &b"a"[..]), (7, b""), (u64::MAX, b"ccc")]);
    assert_eq!(
        [changes.at(2), changes.at(3), changes.at(6), changes.at(7)],
        [None, Some(&b"a"[..]), Some(b"a"), Some(b"")]
    );
    assert_eq!((changes.at(u64::MAX), changes.last()), (Some(&b"ccc"[..]), Some((u64::MAX, &b"ccc"[..]))));
    assert_eq!((changes.len(), changes.get(2), changes.get(3), changes.get(9)), (3, changes.last(), None, None));
}

#[test]
fn digests_and_lengths_of_ticks_are_found_by_tick() {
    let mut tape = Tape::new(Header::new("my_game"));
    tape.header.tick_first = 10;
    tape.end.tick_count = 3;
    tape.digests = Digests { roots: vec![7, 8], lane_ticks: vec![0, 2], lane_digests: vec![1, 2, 3, 4] };
    assert_eq!([9, 10, 11, 12].map(|tick| tape.root_after(tick)), [None, Some(7), Some(8), None]);
    assert_eq!([9, 10, 11, 12].map(|tick| tape.lanes_after(tick)), [None, Some(&[1, 2][..]), None, Some(&[3, 4])]);
    tape.clock = vec![bevy_replay_tape::ClockChange { tick: 11, timestep_ns: 5 }];
    assert_eq!([9, 10, 11, u64::MAX].map(|tick| tape.timestep_ns(tick)), [15_625_000, 15_625_000, 5, 5]);
    assert_eq!((tape.ticks(), tape.tick_count()), (10..13, 3));
    assert!(tape.track("Steer").is_none());
}

#[test]
fn inputs_are_shown_as_the_tick_saw_them() {
    let tape = recorded(
        &[World::default(), World { tick: 1, ..World::default() }, World { tick: 2, ..World::default() }],
        &[("hi".into(), Steer { x: 1, jump: true })],
    );
    assert_eq!(tape.inputs_text(0), ["Said(\"hi\")", "Steer(x: 1, jump: true)"]);
    assert_eq!(tape.inputs_text(1), tape.inputs_text(0), "a value stays until it changes");
    let empty = recorded(&[World::default()], &[]);
    assert_eq!(empty.inputs_text(0), ["Said (nothing yet)", "Steer (nothing yet)"]);
}

#[test]
fn the_end_is_told_in_words() {
    let words = |reason| End { tick_count: 0, reason, claims: Default::default() }.reason_text();
    assert_eq!(words(EndReason::Stopped), "complete");
    assert_eq!(words(EndReason::CapacityReached), "complete up to the recorder's limit");
    assert_eq!(words(EndReason::CaptureFailed), "complete up to a failed capture");
    assert_eq!(words(End::default().reason), "unfinished");
    let mark = Mark { tick: 3, text: "here".into() };
    assert_eq!(good().marks[0].text, mark.text);
}
