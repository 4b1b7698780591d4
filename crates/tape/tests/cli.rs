//! The program `bevy-replay`, run as users run it.

mod common;

use bevy_replay_tape::{EndReason, Package, Plan, PlanOnTape, Tape, TapeStream};
use common::tapes::falling;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output, Stdio};

type TestResult = Result<(), Box<dyn Error>>;

/// Runs the program in a folder.
fn run(folder: &Path, arguments: &[&str]) -> Result<Output, std::io::Error> {
    Command::new(env!("CARGO_BIN_EXE_bevy-replay")).current_dir(folder).args(arguments).output()
}

/// Returns the exit code and what was said, first on the standard output.
fn said(folder: &Path, arguments: &[&str]) -> Result<(i32, String, String), Box<dyn Error>> {
    let Output { status, stdout, stderr } = run(folder, arguments)?;
    Ok((status.code().ok_or("it was killed")?, String::from_utf8(stdout)?, String::from_utf8(stderr)?))
}

/// A folder with a tape, one that differs, a damaged one and an unfinished one.
fn folder() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let tape = falling(60);
    tape.save(folder.path().join("run.tape"))?;
    let mut other = tape.clone();
    other.digests.roots[40] ^= 1;
    other.save(folder.path().join("other.tape"))?;
    let mut bytes = tape.to_bytes();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join("damaged.tape"), bytes)?;
    let (mut stream, mut partial) = TapeStream::begin(&tape.header, tape.initial.as_ref());
    partial.extend(stream.append(&bevy_replay_tape::TapePart { tick_count: 20, ..Default::default() }));
    partial.extend(b"torn");
    std::fs::write(folder.path().join("run.tape.partial"), partial)?;
    std::fs::write(folder.path().join("photo.png"), b"\x89PNG\r\n")?;
    Ok(folder)
}

/// A plan as it was written by `PlanBuilder`, so that this test needs no feature.
const PLAN: &str = include_str!("data/mission.plan.ron");

#[test]
fn a_package_is_a_tape_until_a_digit_is_changed() -> TestResult {
    let folder = tempfile::tempdir()?;
    let plan = Plan::from_text(PLAN)?;
    let mut tape = falling(60);
    tape.header.plans.push(PlanOnTape {
        events: "Throw".into(),
        name: plan.name().into(),
        signature: plan.signature().into(),
        plan: Some(plan.clone().into()),
    });
    let text = Package::new(tape)?.to_text();
    std::fs::write(folder.path().join("package.ron"), &text)?;
    let (code, out, _) = said(folder.path(), &["info", "package.ron"])?;
    assert_eq!(code, 0, "{out}");
    let line = format!("  plan     Throw: mission 04, 8 events in 600 ticks, signature {}\n", plan.signature());
    assert!(out.contains(&line), "{out}");
    let (code, out, _) = said(folder.path(), &["check", "package.ron"])?;
    assert!(code == 0 && out.starts_with("sound: 60 ticks"), "{out}");

    std::fs::write(folder.path().join("changed.ron"), text.replacen("rules: 0", "rules: 1", 1))?;
    let (code, out, _) = said(folder.path(), &["check", "changed.ron"])?;
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("damaged: changed.ron: the package was changed: signature "), "{out}");
    Ok(())
}

#[test]
fn info_says_what_is_on_a_tape() -> TestResult {
    let folder = folder()?;
    let (code, out, _) = said(folder.path(), &["info", "run.tape"])?;
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "run.tape   my_game rules 0, tape format 1, complete");
    assert_eq!(lines[1], "  60 ticks at 64 Hz = 1.06 s   seed 0   starts at tick 0 with 1 entities, 6 types");
    assert!(out.contains("input    Steer: 60 changes"), "{out}");
    assert!(out.contains("claims score = 12"), "{out}");
    assert!(out.contains(&format!("id {}", falling(60).id())), "{out}");
    let (_, json, _) = said(folder.path(), &["info", "--json", "run.tape"])?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    assert_eq!(
        (&json["ticks"], &json["state"], &json["claims"]["score"]),
        (&60.into(), &"complete".into(), &"12".into())
    );
    let (code, out, _) = said(folder.path(), &["info", "run.tape.partial"])?;
    assert_eq!((code, out.lines().next()), (0, Some("run.tape.partial   my_game rules 0, tape format 1, unfinished")));
    Ok(())
}

#[test]
fn names_on_a_tape_cannot_steer_the_terminal() -> TestResult {
    let folder = folder()?;
    let mut tape = falling(3);
    tape.header.game = "\u{1b}[2Jgame".into();
    tape.save(folder.path().join("odd.tape"))?;
    let (_, out, _) = said(folder.path(), &["info", "odd.tape"])?;
    assert!(!out.contains('\u{1b}') && out.contains("[2Jgame"), "{out}");
    Ok(())
}

#[test]
fn check_answers_in_its_first_word_and_its_exit_code() -> TestResult {
    let folder = folder()?;
    for (file, expected, word) in [
        ("run.tape", 0, "sound: 60 ticks, id "),
        ("other.tape", 1, "failed: the values after tick 40 have the digest "),
        ("damaged.tape", 1, "damaged: damaged.tape: chunk "),
        ("run.tape.partial", 1, "unfinished: 20 ticks, id "),
    ] {
        let (code, out, _) = said(folder.path(), &["check", file])?;
        assert_eq!(code, expected, "{out}");
        assert!(out.starts_with(word), "{out}");
        let (code, json, _) = said(folder.path(), &["check", "--json", file])?;
        let json: serde_json::Value = serde_json::from_str(&json)?;
        assert_eq!(code, expected);
        assert!(word.starts_with(json["verdict"].as_str().ok_or("it has one")?), "{json}");
    }
    for file in ["photo.png", "missing.tape"] {
        let (code, out, error) = said(folder.path(), &["check", file])?;
        assert_eq!((code, &*out), (2, ""));
        assert!(error.starts_with(&format!("bevy-replay: {file}: ")), "{error}");
    }
    Ok(())
}

#[test]
fn expectations_are_checked_against_the_values() -> TestResult {
    let folder = folder()?;
    let check = |line: &str| said(folder.path(), &["check", "run.tape", "--expect", line]);
    let (code, out, _) = check("tick 30 [sim:1] Body.at.x == 30")?;
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("1 expectations met"), "{out}");
    let (code, out, _) = check("tick 30 Body.at.x < 30")?;
    assert_eq!((code, &*out), (1, "failed: expected tick 30 Body.at.x < 30, got 30\n"));
    let (code, out, error) = check("tick 900 Score == 0")?;
    assert_eq!((code, &*out), (2, ""), "what was asked and cannot be answered is no success");
    assert!(error.contains("unverified: "), "{error}");
    assert!(error.contains("tick 900 Score == 0: the tape has no values there (play it to see)"), "{error}");
    let (code, _, error) = check("tock 30")?;
    assert_eq!(code, 2);
    assert!(error.contains("`tock 30` is no expectation: it begins with `tick` and a number"), "{error}");

    let mut tape = falling(60);
    tape.header.expectations = vec!["tick 60 Score == 0".into(), "tick 5 Body.at.x == 6".into()];
    tape.save(folder.path().join("expects.tape"))?;
    let (code, out, _) = said(folder.path(), &["check", "expects.tape"])?;
    assert_eq!((code, &*out), (1, "failed: expected tick 5 Body.at.x == 6, got 5\n"));
    Ok(())
}

#[test]
fn dump_prints_inputs_digests_and_states() -> TestResult {
    let (folder, tape) = (folder()?, falling(60));
    let (code, out, _) = said(folder.path(), &["dump", "run.tape"])?;
    assert_eq!(code, 0);
    assert_eq!(out.lines().next(), Some(r#"0 Said "tick 0""#));
    assert!(out.contains("\n1 Steer (x: 0, jump: false)\n"), "{out}");
    let (_, out, _) = said(folder.path(), &["dump", "run.tape", "--digests"])?;
    assert_eq!(out.lines().nth(59), Some(&*format!("59 {:016X}", tape.digests.roots[59])));
    let (_, out, _) = said(folder.path(), &["dump", "run.tape", "--state", "12"])?;
    let first = format!("state after 12 ticks, 2 entities, root {:016X}", tape.digests.roots[11]);
    assert_eq!(out.lines().next(), Some(&*first));
    assert!(out.contains("\nsim:1 Body (at: (x: 12, y: 0), speed: 6.0)\n"), "{out}");
    let (_, json, _) = said(folder.path(), &["dump", "run.tape", "--state", "12", "--json"])?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    assert_eq!(json["components"][0], serde_json::json!([1, "Body", { "at": { "x": 12, "y": 0 }, "speed": 6.0 }]));
    let (code, _, error) = said(folder.path(), &["dump", "run.tape", "--state", "61"])?;
    assert_eq!(code, 2);
    assert!(error.ends_with("the tape has no values after 61 ticks (it has those of ticks 0 to 60)\n"), "{error}");
    Ok(())
}

#[test]
fn every_form_leads_back_to_the_same_tape() -> TestResult {
    let (folder, tape) = (folder()?, falling(60));
    let path = |name: &str| folder.path().join(name);
    for arguments in [
        &["to-text", "run.tape", "-o", "run.ron"][..],
        &["to-tape", "run.ron", "-o", "from_text.tape"],
        &["to-tape", "run.tape", "-o", "run.json"],
        &["to-tape", "run.json", "-o", "from_json.tape"],
    ] {
        let (code, out, error) = said(folder.path(), arguments)?;
        assert_eq!(code, 0, "{error}");
        assert_eq!(out, format!("wrote {}: 60 ticks\n", arguments[3]));
        assert_eq!(Tape::load(path(arguments[3]))?, tape);
    }
    let dumped = run(folder.path(), &["dump", "run.tape", "--json"])?.stdout;
    std::fs::write(path("dumped.json"), &dumped)?;
    assert_eq!(run(folder.path(), &["to-tape", "dumped.json"])?.stdout, std::fs::read(path("run.tape"))?);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bevy-replay"))
        .args(["to-text", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().ok_or("it is piped")?, &dumped)?;
    assert_eq!(String::from_utf8(child.wait_with_output()?.stdout)?, tape.to_text());
    Ok(())
}

#[test]
fn nothing_is_overwritten() -> TestResult {
    let folder = folder()?;
    for (arguments, target) in [
        (&["to-text", "run.tape", "-o", "photo.png"][..], "photo.png"),
        (&["cut", "run.tape", "--to", "3", "-o", "other.tape"], "other.tape"),
        (&["recover", "run.tape.partial", "-o", "run.tape"], "run.tape"),
    ] {
        let before = std::fs::read(folder.path().join(target))?;
        let (code, _, error) = said(folder.path(), arguments)?;
        assert_eq!(code, 2);
        assert!(error.contains("exists"), "{error}");
        assert_eq!(std::fs::read(folder.path().join(target))?, before);
    }
    Ok(())
}

#[test]
fn diff_says_where_two_tapes_part() -> TestResult {
    let folder = folder()?;
    let (code, out, _) = said(folder.path(), &["diff", "run.tape", "run.tape"])?;
    assert_eq!(code, 0);
    assert!(out.starts_with("verified"), "{out}");
    let (code, out, _) = said(folder.path(), &["diff", "run.tape", "other.tape"])?;
    assert_eq!(code, 1);
    assert!(out.starts_with("diverged at tick 40: "), "{out}");
    let (code, json, _) = said(folder.path(), &["diff", "--json", "run.tape", "other.tape"])?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    assert_eq!((code, &json["verdict"], &json["first_divergence"]), (1, &"diverged".into(), &"tick 40".into()));
    Ok(())
}

#[test]
fn cut_keeps_the_digests_of_what_is_kept() -> TestResult {
    let (folder, tape) = (folder()?, falling(60));
    let (code, _, error) = said(folder.path(), &["cut", "run.tape", "--from", "20", "--to", "50", "-o", "part.tape"])?;
    assert_eq!(code, 0, "{error}");
    let part = Tape::load(folder.path().join("part.tape"))?;
    assert_eq!(part.ticks(), 20..50);
    for tick in 20..50 {
        assert_eq!(part.root_after(tick), tape.root_after(tick));
        assert_eq!(part.lanes_after(tick), tape.lanes_after(tick));
        assert_eq!(part.inputs_text(tick), tape.inputs_text(tick));
        assert_eq!(part.timestep_ns(tick), tape.timestep_ns(tick));
    }
    assert_eq!(part.image_after(50), tape.image_after(50));
    assert!(part.initial.is_some() && part.end.claims.is_empty());
    let (code, out, _) = said(folder.path(), &["check", "part.tape"])?;
    assert_eq!(code, 0, "{out}");
    let (code, _, error) = said(folder.path(), &["cut", "run.tape", "--to", "61"])?;
    assert_eq!(
        (code, error.contains("ticks 0 to 61 are not all among those of the tape, 0 to 60")),
        (2, true),
        "{error}"
    );
    Ok(())
}

#[test]
fn recover_keeps_what_is_whole() -> TestResult {
    let folder = folder()?;
    let (code, out, error) = said(folder.path(), &["recover", "run.tape.partial", "-o", "saved.tape"])?;
    assert_eq!(code, 0, "{error}");
    assert_eq!(out, "recovered 20 ticks into saved.tape, 4 bytes lost\n");
    let tape = Tape::load(folder.path().join("saved.tape"))?;
    assert_eq!((tape.tick_count(), tape.end.reason), (20, EndReason::Unfinished));
    Ok(())
}

#[test]
fn limits_can_be_set() -> TestResult {
    let folder = folder()?;
    for limit in ["--max-bytes", "--max-unpacked-bytes", "--max-ticks"] {
        let (code, _, error) = said(folder.path(), &["info", "run.tape", limit, "10"])?;
        assert_eq!(code, 2);
        assert!(error.contains("the limit is 10"), "{error}");
    }
    Ok(())
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() -> TestResult {
    let folder = tempfile::tempdir()?;
    falling(3000).save(folder.path().join("long.tape"))?;
    let mut child = Command::new(env!("CARGO_BIN_EXE_bevy-replay"))
        .current_dir(folder.path())
        .args(["to-text", "long.tape"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let Output { status, stderr, .. } = child.wait_with_output()?;
    assert_eq!((status.code(), String::from_utf8(stderr)?), (Some(0), String::new()));
    Ok(())
}

#[test]
fn each_help_ends_in_an_example_that_runs_and_its_exit_codes() -> TestResult {
    let folder = folder()?;
    std::fs::rename(folder.path().join("run.tape"), folder.path().join("boss_fight.tape"))?;
    std::fs::rename(folder.path().join("run.tape.partial"), folder.path().join("boss_fight.tape.partial"))?;
    std::fs::copy(folder.path().join("boss_fight.tape"), folder.path().join("before.tape"))?;
    std::fs::copy(folder.path().join("boss_fight.tape"), folder.path().join("after.tape"))?;
    for command in ["info", "check", "dump", "diff", "cut", "to-text", "to-tape", "recover"] {
        let (code, help, _) = said(folder.path(), &[command, "--help"])?;
        assert_eq!(code, 0);
        let tail: Vec<&str> = help.lines().rev().take_while(|line| !line.starts_with("Example: ")).collect();
        assert!(tail.iter().any(|line| line.starts_with("Exit codes: 0 = ")), "{help}");
        let example = help.lines().find_map(|line| line.strip_prefix("Example: bevy-replay ")).ok_or("an example")?;
        let example = example.replace("--state 500", "--state 50").replace("--to 500", "--to 50");
        let mut arguments: Vec<&str> = example.split(' ').collect();
        if command == "to-tape" || command == "recover" {
            *arguments.last_mut().ok_or("a target")? = "new.tape";
        }
        let (code, _, error) = said(folder.path(), &arguments)?;
        assert_eq!(code, 0, "{example}: {error}");
        let _ = std::fs::remove_file(folder.path().join("new.tape"));
    }
    let (code, _, error) = said(folder.path(), &["unknown"])?;
    assert_eq!(code, 2, "{error}");
    Ok(())
}
