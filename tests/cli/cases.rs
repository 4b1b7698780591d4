//! What the commands answer.

use crate::{Steer, game};
use bevy_replay::prelude::*;
use bevy_replay::tape::{Changes, Tape, encode_to_vec};
use std::path::Path;
use std::process::{Command, Output};

type Outcome = Result<(), Box<dyn core::error::Error>>;
pub(crate) type Test = fn() -> Outcome;

pub(crate) const ALL: [(&str, Test); 17] = [
    ("sound_tapes_are_verified_with_their_claims", sound_tapes_are_verified_with_their_claims),
    ("edited_claim_is_told_beside_the_replayed_value", edited_claim_is_told_beside_the_replayed_value),
    ("edited_digest_is_told_from_an_edited_input", edited_digest_is_told_from_an_edited_input),
    ("edited_input_is_told_with_its_tick", edited_input_is_told_with_its_tick),
    ("tape_that_cannot_be_judged_is_no_answer", tape_that_cannot_be_judged_is_no_answer),
    ("results_are_written_as_json_and_junit", results_are_written_as_json_and_junit),
    ("shards_play_each_tape_once", shards_play_each_tape_once),
    ("compare_reports_and_never_fails", compare_reports_and_never_fails),
    ("audit_prints_a_table_with_other_numbers_of_threads", audit_prints_a_table_with_other_numbers_of_threads),
    ("bless_writes_what_two_fresh_processes_agree_on", bless_writes_what_two_fresh_processes_agree_on),
    ("import_makes_a_test_of_a_pasted_text", import_makes_a_test_of_a_pasted_text),
    ("shrink_writes_a_shorter_tape_that_panics", shrink_writes_a_shorter_tape_that_panics),
    ("shrink_keeps_what_is_expected", shrink_keeps_what_is_expected),
    ("shrink_says_no_to_a_tape_that_does_not_fail", shrink_says_no_to_a_tape_that_does_not_fail),
    ("shrink_writes_over_nothing", shrink_writes_over_nothing),
    ("bench_fails_past_its_bound", bench_fails_past_its_bound),
    ("mistakes_in_the_arguments_are_no_answer", mistakes_in_the_arguments_are_no_answer),
];

/// Runs the game with these arguments in a folder.
fn steps(folder: &Path, args: &[&str]) -> Result<(i32, String, String), Box<dyn core::error::Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let output: Output = command.current_dir(folder).env("STEPS_BASELINES", folder).args(args).output()?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes);
    Ok((output.status.code().ok_or("killed")?, text(output.stdout)?, text(output.stderr)?))
}

/// Twelve steps: to the right, but every third.
fn tape() -> Result<Tape, ReplayError> {
    let inputs = (0..12).map(|tick| Steer { x: if tick % 3 == 2 { 0 } else { 1 } });
    let run = Headless::new(game).detail(Detail::Roots).inputs(inputs).run()?;
    Ok(Tape::clone(run.tape()))
}

fn sound_tapes_are_verified_with_their_claims() -> Outcome {
    let folder = tempfile::tempdir()?;
    tape()?.save(folder.path().join("a.tape"))?;
    tape()?.save(folder.path().join("b.ron"))?;
    let (code, out, err) = steps(folder.path(), &["verify", ".", "--jobs", "2"])?;
    let expected = "verified       ./a.tape  12 ticks\n  claim score: claimed 8, replayed 8\nverified       ./b.ron  12 \
                    ticks\n  claim score: claimed 8, replayed 8\n";
    assert_eq!((code, &*out, &*err), (0, expected, "2 of 2 tapes verified\n"));
    Ok(())
}

fn edited_claim_is_told_beside_the_replayed_value() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut edited = tape()?;
    edited.end.claims.insert("score".into(), "99999".into());
    edited.save(folder.path().join("a.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "a.tape"])?;
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("claims differ  a.tape  12 ticks\n  claim score: claimed 99999, replayed 8\n"), "{out}");
    Ok(())
}

fn edited_digest_is_told_from_an_edited_input() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut edited = tape()?;
    edited.digests.roots[5] ^= 1;
    edited.save(folder.path().join("a.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "a.tape"])?;
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("diverged       a.tape  12 ticks\n"), "{out}");
    assert!(out.contains("the digests of tick 5 were altered on the tape, or the difference heals"), "{out}");
    Ok(())
}

fn edited_input_is_told_with_its_tick() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut edited = tape()?;
    let mut changes = Changes::default();
    for (tick, bytes) in edited.tracks[0].changes.iter() {
        changes.record(tick, bytes);
        if tick == 3 {
            changes.record(4, &encode_to_vec(&Steer { x: 9 }));
        }
    }
    edited.tracks[0].changes = changes;
    edited.save(folder.path().join("a.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "a.tape"])?;
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("diverged at tick 4 (0.06 s)"), "{out}");
    assert!(out.contains("inputs of this tick  Steer(x: 9)"), "{out}");
    let causes = "the game does not repeat itself (an audit names where), or it has changed since the recording, or an input of tick 4 or before was altered";
    assert!(out.contains(causes), "{out}");
    Ok(())
}

fn tape_that_cannot_be_judged_is_no_answer() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut other = tape()?;
    other.header.rules = 1;
    other.save(folder.path().join("other_rules.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "other_rules.tape"])?;
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("rules: the tape has 1, this app has 2"), "{out}");

    let mut bare = tape()?;
    bare.digests = Default::default();
    bare.save(folder.path().join("bare.tape"))?;
    assert_eq!(steps(folder.path(), &["verify", "bare.tape"])?.0, 2);

    tape()?.save(folder.path().join("long.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "long.tape", "--ticks-max", "11"])?;
    assert_eq!((code, out.contains("12 ticks are more than the 11 that are allowed")), (2, true), "{out}");

    std::fs::write(folder.path().join("noise.tape"), [7; 100])?;
    let (code, out, _) = steps(folder.path(), &["verify", "noise.tape", "long.tape"])?;
    assert_eq!((code, out.contains("damaged")), (1, true), "what is no tape is damaged: {out}");

    // A recording that was never ended is right as far as it goes, which is not what was asked.
    let mut died = tape()?;
    died.end.reason = bevy_replay::EndReason::Unfinished;
    died.save(folder.path().join("died.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "died.tape"])?;
    assert_eq!((code, out.contains("unfinished")), (1, true), "{out}");
    Ok(())
}

fn results_are_written_as_json_and_junit() -> Outcome {
    let folder = tempfile::tempdir()?;
    tape()?.save(folder.path().join("a.tape"))?;
    let mut edited = tape()?;
    edited.digests.roots[5] ^= 1;
    edited.save(folder.path().join("b.tape"))?;
    let (code, out, _) = steps(folder.path(), &["verify", "a.tape", "b.tape", "--json", "--junit", "out/junit.xml"])?;
    assert_eq!(code, 1);
    let rows: serde_json::Value = serde_json::from_str(&out)?;
    assert_eq!(rows[0]["answer"], "verified");
    assert_eq!(rows[0]["claims"][0]["claimed"], "8");
    assert_eq!(rows[1]["answer"], "diverged");
    let junit = std::fs::read_to_string(folder.path().join("out/junit.xml"))?;
    assert!(junit.contains("<testsuite name=\"tapes\" tests=\"2\"") && junit.contains("failures=\"1\""), "{junit}");
    Ok(())
}

fn shards_play_each_tape_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    for name in ["a", "b", "c"] {
        tape()?.save(folder.path().join(format!("{name}.tape")))?;
    }
    let mut all: Vec<String> = Vec::new();
    for (shard, count) in [("1/2", 2), ("2/2", 1)] {
        let (code, out, _) = steps(folder.path(), &["verify", ".", "--shard", shard])?;
        let tapes = out.lines().filter(|line| line.starts_with("verified"));
        let tapes: Vec<String> = tapes.map(ToOwned::to_owned).collect();
        assert_eq!((code, tapes.len()), (0, count), "{out}");
        all.extend(tapes);
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 3);
    for wrong in ["0/2", "3/2", "half"] {
        let (code, _, err) = steps(folder.path(), &["verify", ".", "--shard", wrong])?;
        assert_eq!((code, &*err), (2, &*format!("`{wrong}` is no shard (write k/n, with k from 1 to n)\n")));
    }
    Ok(())
}

fn compare_reports_and_never_fails() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut other = tape()?;
    other.header.rules = 1;
    other.digests.roots[5] ^= 1;
    other.save(folder.path().join("a.tape"))?;
    let (code, out, _) = steps(folder.path(), &["compare", "a.tape"])?;
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("a.tape\ndiverged at tick 5 (0.07 s)"), "{out}");
    assert!(out.contains("rules: expected 1, got 2"), "{out}");
    Ok(())
}

fn bless_writes_what_two_fresh_processes_agree_on() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (code, out, err) = steps(folder.path(), &["bless", "steps/idle", "--reason", "for this test"])?;
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("approved: for this test (git add "), "{out}");
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder.path())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    assert_eq!(names.len(), 2, "text and tape: {names:?}");
    let (code, _, err) = steps(folder.path(), &["bless", "steps/running", "--reason", "x"])?;
    assert_eq!((code, &*err), (2, "there is no scenario `steps/running` (there are: steps/idle)\n"));
    assert_eq!(steps(folder.path(), &["bless", "steps/idle"])?.0, 2, "without a reason");
    Ok(())
}

fn import_makes_a_test_of_a_pasted_text() -> Outcome {
    let folder = tempfile::tempdir()?;
    let pasted = format!("```ron\r\n{}```\r\n", tape()?.to_text().replace('\n', "\r\n"));
    std::fs::write(folder.path().join("issue 12.txt"), pasted)?;
    let (code, out, err) = steps(folder.path(), &["import", "issue 12.txt"])?;
    assert_eq!(code, 0, "{out}{err}");
    let lines =
        "tests/tapes/issue_12.ron\ntests/issue_12.rs\nthe test is red until you say in it what should be true\n";
    assert_eq!(out.replace('\\', "/"), lines);
    let imported = Tape::load(folder.path().join("tests/tapes/issue_12.ron"))?;
    assert_eq!(imported, tape()?);
    let test = std::fs::read_to_string(folder.path().join("tests/issue_12.rs"))?;
    assert!(test.contains("\n#[test]\nfn issue_12() -> Result<(), ReplayError> {\n"), "{test}");
    assert!(test.contains("Headless::new(cli::game).replay_inputs(\"tests/tapes/issue_12.ron\")?;"), "{test}");

    let (code, _, err) = steps(folder.path(), &["import", "issue 12.txt"])?;
    assert_eq!((code, err.contains("exists already (choose another name)")), (2, true), "{err}");
    let (code, _, err) = steps(folder.path(), &["import", "issue 12.txt", "--name", "12th"])?;
    assert_eq!((code, err.contains("`12th` cannot be the name of a test")), (2, true), "{err}");
    Ok(())
}

/// Twelve hundred steps back and forth; at tick 600 a leap off the world.
fn leap() -> Result<Tape, ReplayError> {
    let mut tape = tape()?;
    let mut changes = Changes::default();
    for tick in 0..1200 {
        let x = if (600..602).contains(&tick) { 60 } else { [1, 0, -1][tick % 3] };
        changes.record(tick as u64, &encode_to_vec(&Steer { x }));
    }
    tape.tracks[0].changes = changes;
    tape.end.tick_count = 1200;
    tape.digests = Default::default();
    Ok(tape)
}

fn shrink_writes_a_shorter_tape_that_panics() -> Outcome {
    let folder = tempfile::tempdir()?;
    leap()?.save(folder.path().join("fall.ron"))?;
    let (code, out, err) = steps(folder.path(), &["shrink", "fall.ron"])?;
    let mut lines = out.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with("shrunk: 1200 ticks, 1199 input changes -> 2 ticks, 1 input change; still fails: panicked at tests/cli/main.rs:"), "{out}");
    assert!(first.ends_with(": fell off the world"), "{out}");
    assert_eq!(lines.next(), Some("  tick 0  Steer(x: 60)"));
    assert!(lines.next().is_some_and(|line| line.ends_with(" tries; written to fall.shrunk.tape")), "{out}");
    assert_eq!((code, &*err), (0, ""), "no panic is printed");
    let shrunk = Tape::load(folder.path().join("fall.shrunk.tape"))?;
    assert_eq!(shrunk.tick_count(), 2);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 2, "nothing else is left behind");

    let arguments = ["shrink", "fall.ron", "--as", "panic", "--out", "small.ron", "--seconds-max", "0"];
    let (code, out, _) = steps(folder.path(), &arguments)?;
    assert_eq!((code, out.contains("-> 602 ticks, ")), (0, true), "{out}");
    assert!(out.contains("(out of time: it may get shorter)") && !out.contains("tick 0"), "{out}");
    assert!(std::fs::read_to_string(folder.path().join("small.ron"))?.starts_with('('));
    Ok(())
}

fn shrink_keeps_what_is_expected() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut tape = tape()?;
    tape.header.expectations.push("tick 8 Score == (0)".into());
    tape.save(folder.path().join("points.tape"))?;
    let (code, out, err) = steps(folder.path(), &["shrink", "points.tape", "--as", "expectation"])?;
    assert_eq!(code, 0, "{out}{err}");
    let first = out.lines().next().unwrap_or_default();
    assert!(
        first.contains("-> 8 ticks, ") && first.ends_with("still fails: expected tick 8 Score == (0), got (1)"),
        "{out}"
    );
    let shrunk = Tape::load(folder.path().join("points.shrunk.tape"))?;
    assert_eq!(shrunk.header.expectations, ["tick 8 Score == (0)"]);
    Ok(())
}

fn shrink_says_no_to_a_tape_that_does_not_fail() -> Outcome {
    let folder = tempfile::tempdir()?;
    tape()?.save(folder.path().join("sound.tape"))?;
    let (code, out, err) = steps(folder.path(), &["shrink", "sound.tape"])?;
    assert_eq!((code, &*err), (1, ""));
    assert!(out.starts_with("the tape does not fail in this way: 12 ticks ran without a panic, "), "{out}");
    assert!(!folder.path().join("sound.shrunk.tape").exists());

    std::fs::write(folder.path().join("noise.tape"), [7; 100])?;
    assert_eq!(steps(folder.path(), &["shrink", "noise.tape"])?.0, 2);
    let (code, out, _) = steps(folder.path(), &["shrink", "--help"])?;
    assert_eq!((code, out.contains("Example: my_game shrink crash.tape")), (0, true), "{out}");
    Ok(())
}

fn shrink_writes_over_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    leap()?.save(folder.path().join("fall.tape"))?;
    let out = folder.path().join("fall.shrunk.tape");
    std::fs::write(&out, "mine")?;
    let (code, _, err) = steps(folder.path(), &["shrink", "fall.tape"])?;
    let expected = "fall.shrunk.tape is there already, and this run did not write it (choose another name with --out, or delete it)\n";
    assert_eq!((code, &*err, &*std::fs::read_to_string(out)?), (2, expected, "mine"));
    Ok(())
}

fn bench_fails_past_its_bound() -> Outcome {
    let folder = tempfile::tempdir()?;
    tape()?.save(folder.path().join("a.tape"))?;
    let (code, _, err) = steps(folder.path(), &["bench", "a.tape", "--runs", "3", "--out", "now.json"])?;
    assert_eq!(code, 0, "{err}");
    let against = |ns: f64, bound: &str| -> Result<i32, Box<dyn core::error::Error>> {
        let now: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path().join("now.json"))?)?;
        let old = serde_json::json!({ "calibration_ns": now["calibration_ns"], "tick_ns": { "a.tape": ns } });
        std::fs::write(folder.path().join("old.json"), old.to_string())?;
        Ok(steps(folder.path(), &["bench", "a.tape", "--against", "old.json", "--max-ratio", bound])?.0)
    };
    assert_eq!(against(1.0, "1.25")?, 1, "a tick takes longer than a nanosecond");
    assert_eq!(against(1e12, "1.25")?, 0, "and less than a quarter of an hour");
    let (code, _, err) = steps(folder.path(), &["bench", "a.tape", "--against", "none.json"])?;
    assert_eq!((code, err.starts_with("none.json: ")), (2, true), "{err}");
    Ok(())
}

fn mistakes_in_the_arguments_are_no_answer() -> Outcome {
    let folder = tempfile::tempdir()?;
    assert_eq!(steps(folder.path(), &["verify"])?.0, 2);
    assert_eq!(steps(folder.path(), &["verify", "--moon", "."])?.0, 2);
    let (code, _, err) = steps(folder.path(), &["verify", "."])?;
    assert_eq!((code, &*err), (2, "no tape under . (tapes end in .tape or .ron)\n"));
    assert_eq!(steps(folder.path(), &["verify", "--help"])?.0, 0);
    Ok(())
}

fn audit_prints_a_table_with_other_numbers_of_threads() -> Outcome {
    let folder = tempfile::tempdir()?;
    tape()?.save(folder.path().join("a.tape"))?;
    let (code, out, err) = steps(folder.path(), &["audit", "a.tape", "--shuffles", "2", "--every", "5"])?;
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("perturbation                        verdict     first difference\n"), "{out}");
    let verdict = if cfg!(feature = "multi_threaded") { "equal\n" } else { "not tested  needs the feature" };
    assert!(out.contains(&format!("1 / 2 / 8 threads                   {verdict}")), "{out}");
    assert!(out.contains("restored at every 5th tick          equal\n"), "{out}");
    assert!(out.contains("not tested: order within Hero (never two at a snapshot)"), "{out}");
    let (code, out, _) = steps(folder.path(), &["audit", "a.tape", "--shuffles", "2", "--json"])?;
    let table: serde_json::Value = serde_json::from_str(&out)?;
    assert_eq!((code, table["clean"].as_bool()), (0, Some(true)), "{out}");
    assert_eq!(table["rows"][0]["verdict"], "equal", "{out}");
    assert_eq!(table["untested"][0], "Hero", "{out}");
    Ok(())
}
