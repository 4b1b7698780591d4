//! Tapes as text: what people write, paste and mistype.

mod common;

use bevy_replay_tape::{Canonical, Changes, Header, Tape, TapeError, Track, TypeSpec, encode_to_vec};
use common::tapes::falling;
use std::sync::Arc;

type TestResult = Result<(), TapeError>;

#[test]
fn text_is_one_line_per_change() {
    let text = falling(30).to_text();
    assert!(text.contains("\n    (0, \"Steer\", (x: -1, jump: true)),\n"), "{text}");
    assert!(text.contains("\n    (1, \"Body\", (at: (x: 0, y: 0), speed: 0.0)),\n"), "{text}");
    assert!(text.ends_with("),\n)\n"), "{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "no spaces at the ends of lines");
}

#[test]
fn text_in_markdown_fences_is_read() -> TestResult {
    let (tape, text) = (falling(2), falling(2).to_text());
    for (open, close) in [
        ("```\n", "```"),
        ("```ron\n", "```\n"),
        ("  ```rust,ignore\r\n", "```\r\n\r\n"),
        ("~~~\n", "~~~"),
        ("~~~ ron title=\"bug\"\n", "~~~\n"),
        ("````ron\n", "````"),
        ("```\n", ""),
        ("\u{feff}```\n", "```"),
        ("\u{feff}", "\n\n"),
        ("\n\n\t", ""),
        ("// a comment\n/* and another */ ", ""),
    ] {
        assert_eq!(Tape::from_bytes(format!("{open}{text}{close}").as_bytes())?, tape, "{open:?} {close:?}");
    }
    Ok(())
}

#[test]
fn text_errors_name_line_and_column_of_what_was_pasted() {
    for nothing in ["```", "```tick", "~~~~", "```\n```"] {
        assert!(matches!(Tape::from_text(nothing), Err(TapeError::BadText { .. })), "{nothing}");
    }
    let text = falling(2).to_text();
    let line = text.lines().position(|line| line.contains("timestep_ns")).unwrap_or_default() + 1;
    let broken = text.replace("timestep_ns: 15625000", "timestep_ns: soon");
    let column = "    timestep_ns: ".len() + 1;
    for (before, lines) in [("", 0), ("```ron\n", 1), ("\n\n~~~\n", 3), ("\u{feff}// bug\n", 1)] {
        let error = Tape::from_text(&format!("{before}{broken}")).expect_err("soon is no number").to_string();
        assert_eq!(error, format!("line {}, column {column}: Expected integer", line + lines));
    }
    let error = Tape::from_text("   (header: 1)").expect_err("1 is no header").to_string();
    assert!(error.starts_with("line 1, column 13: "), "{error}");
}

#[test]
fn misspelt_parts_of_a_text_are_named() {
    let error = |from: &str, to: &str| {
        let text = falling(30).to_text();
        assert!(text.contains(from), "{from}");
        Tape::from_text(&text.replacen(from, to, 1)).expect_err("it is misspelt").to_string()
    };
    assert!(error("inputs:", "input:").contains("`input`"), "{}", error("inputs:", "input:"));
    assert!(error("despawned:", "despawn:").contains("`despawn`"));
    assert_eq!(
        error("(0, \"Steer\",", "(0, \"Stear\","),
        "the tape contradicts itself: inputs of Stear, which the header does not list"
    );
    assert_eq!(
        error("(1, \"Body\", (at", "(1, \"Bodie\", (at"),
        "the tape contradicts itself: values of Bodie, which the header does not list"
    );
    assert_eq!(
        error("(0, \"Steer\", (x: -1, jump: true)", "(0, \"Steer\", (x: -1, jmup: true)"),
        "Steer at tick 0: `(x: -1, jmup: true)` is no Steer { x: i8, jump: bool }: 1:9-1:13: no field `jmup` (known: x, jump)"
    );
    assert_eq!(
        error("(1, \"Body\", (at: (x: 0,", "(1, \"Body\", (at: (x: 1.5,").split(" is no ").next(),
        Some("sim:1 Body: `(at: (x: 1.5, y: 0), speed: 0.0)`")
    );
    assert!(error("(2, \"Bag\", (items: []", "(2, \"Bag\", (items: [-1]").starts_with("sim:2 Bag after tick 2: "));
    assert!(error("(\"Score\", 0)", "(\"Score\", \"0\")").starts_with("Score: "));
    assert!(error("reason: Stopped", "reason: Stoped").contains("Stoped"));
    assert!(
        error("seed: \"0000000000000000\"", "seed: \"twelve\"")
            .contains("`twelve` is no hexadecimal number of 64 bits")
    );
}

#[test]
fn text_out_of_order_is_refused_with_the_place() {
    let mut swapped = falling(30);
    swapped.digests.lane_ticks.swap(0, 1);
    assert_eq!(
        Tape::from_text(&swapped.to_text()).expect_err("out of order").to_string(),
        "the tape contradicts itself: ticks with digests of types are out of order, or not among 30"
    );
    let tape = falling(30).to_text();
    let swapped = tape.replacen("(0, \"Steer\"", "(9, \"Steer\"", 1);
    let error = Tape::from_text(&swapped).expect_err("out of order").to_string();
    assert_eq!(error, "the tape contradicts itself: Steer at tick 1 is out of order");
    let doubled = tape.replacen("    (\"Score\", 0),\n", "    (\"Score\", 0),\n    (\"Score\", 0),\n", 1);
    let error = Tape::from_text(&doubled).expect_err("twice").to_string();
    assert_eq!(error, "the tape contradicts itself: Score stands twice in the initial state");
}

#[test]
fn a_tape_written_by_hand_needs_only_what_it_says() -> TestResult {
    let tape = Tape::from_text(
        r#"(
            header: (game: "my_game", tracks: [(name: "Steer", schema: [
                Struct(name: "Steer", fields: [(name: "x", shape: 1), (name: "jump", shape: 2)]),
                Int(bits: 8), Bool,
            ])]),
            inputs: [
                (0, "Steer", (x: 1, jump: false)),
                (4, "Steer", (jump: true, x: 1)),
                (5, "Steer", (jump: true, x: 1)), // as before
            ],
            end: (tick_count: 60, reason: Stopped),
        )"#,
    )?;
    assert_eq!(tape.inputs_text(4), ["Steer(x: 1, jump: true)"]);
    assert_eq!((tape.ticks(), tape.header.timestep_ns), (0..60, 15_625_000));
    assert_eq!(tape.tracks[0].changes.len(), 2);
    assert_eq!((&*tape.header.target, &*tape.header.crate_version), ("", ""), "what it does not say is unknown");

    let no_end = r#"(header: (tracks: [(name: "A", schema: [Bool])]), inputs: [(0, "A", true), (1, "A", false)])"#;
    let error = Tape::from_text(no_end).expect_err("it plays nothing").to_string();
    assert_eq!(error, "the tape contradicts itself: A changes at tick 1, but the tape ends at tick 0");
    Ok(())
}

#[test]
fn values_as_deep_as_bytes_may_be_are_read_from_text() -> TestResult {
    let depth = bevy_replay_tape::DEPTH_MAX as usize / 2;
    let nest = (1..depth).fold(common::Nest(Vec::new()), |inner, _| common::Nest(vec![inner]));
    let schema = Arc::new(common::Nest::schema());
    let mut tape = Tape::new(Header::new("deep"));
    tape.header.tracks.push(TypeSpec { name: "Nest".into(), schema: schema.clone() });
    let mut changes = Changes::default();
    changes.record(0, &encode_to_vec(&nest));
    tape.tracks.push(Track { name: "Nest".into(), schema, changes });
    assert_eq!(Tape::from_text(&tape.to_text())?, tape);
    assert_eq!(Tape::from_bytes(&tape.to_bytes())?, tape);
    Ok(())
}

#[test]
fn text_nested_without_end_is_refused() {
    for open in ["(", "[", "{", "Some(", "(header:", "(header: (content: {\"a\":"] {
        assert!(Tape::from_text(&open.repeat(10_000)).is_err());
    }
    for open in ["(", "[", "{", "Some(", "A(a:"] {
        let text = format!("(header: (), inputs: [(0, \"A\", {})])", open.repeat(10_000));
        assert!(Tape::from_text(&text).is_err());
    }
}

#[test]
fn a_tape_that_no_reader_takes_can_still_be_written_as_text() {
    let mut tape = falling(2);
    let mut changes = Changes::default();
    changes.record(0, &[1]);
    tape.tracks[1].changes = changes;
    let text = tape.to_text();
    assert!(text.contains("(0, \"Steer\", \"the value ends early (bytes missing: 1)\")"), "{text}");
}

#[test]
fn a_text_of_many_changes_is_read_back() -> TestResult {
    // In quadratic time this would take minutes.
    let mut tape = Tape::new(Header::new("long"));
    let schema = Arc::new(u32::schema());
    tape.header.tracks.push(TypeSpec { name: "A".into(), schema: schema.clone() });
    let mut changes = Changes::default();
    for tick in 0..60_000_u32 {
        changes.record(tick.into(), &tick.to_le_bytes());
    }
    tape.tracks.push(Track { name: "A".into(), schema, changes });
    tape.end.tick_count = 60_000;
    assert_eq!(Tape::from_text(&tape.to_text())?, tape);
    Ok(())
}
