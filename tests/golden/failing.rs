//! The texts of tests that fail.

use crate::Outcome;
use crate::texts::{Enemy, file, given_baseline, is_fresh_process, message, scenario, sound};
use bevy_replay::testing::Environment;
use std::fs;
use std::hash::{BuildHasher, RandomState};

#[test]
fn changed_behaviour_is_told_with_tick_entity_field_and_command() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/changed")?;
    let weaker = |tick: u64, enemy: &mut Enemy| enemy.hp -= 2 * u32::from(tick == 97);
    let text = message(scenario(folder.path(), "camp/changed", weaker).check(), folder.path());
    let (first, rest) = text.split_once('\n').ok_or("several lines")?;
    let digests = first.strip_prefix("camp/changed: behaviour changed by tick 120 (1.87 s): digest expected ");
    let (expected, got) = digests.ok_or("first line")?.split_once(" got ").ok_or("two digests")?;
    assert!(expected.len() == 16 && got.len() == 16 && expected != got, "{first}");
    assert_eq!(
        rest,
        "  first difference: tick 97 (1.51 s), sim:1 Enemy.hp expected 1975 got 1973
  types that differ at the end: Enemy
  two fresh processes agree: the game is deterministic, its behaviour has changed
  if that is what you meant:  BEVY_REPLAY_BLESS=1 BEVY_REPLAY_REASON=\"…\" cargo test \
         failing::changed_behaviour_is_told_with_tick_entity_field_and_command
  baseline: BASELINES/camp.changed.PLATFORM.txt"
    );
    Ok(())
}

#[test]
fn drift_that_heals_is_red_at_its_snapshot() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/drift")?;
    let drift = |tick: u64, enemy: &mut Enemy| enemy.heat = u32::from((100..130).contains(&tick));
    let text = message(scenario(folder.path(), "camp/drift", drift).check(), folder.path());
    assert!(text.starts_with("camp/drift: behaviour changed by tick 120 (1.87 s): digest expected "), "{text}");
    assert!(text.contains("\n  first difference: tick 100 (1.56 s), sim:1 Enemy.heat expected 0 got 1\n"), "{text}");
    assert!(text.contains("\n  it heals: equal again from snapshot 180 on (1 of 4 snapshots differ)\n"), "{text}");
    Ok(())
}

#[test]
fn baseline_of_another_schema_fails_with_the_way_out() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/schema")?;
    if !is_fresh_process() {
        let path = file(folder.path(), "camp/schema", "txt");
        fs::write(&path, fs::read_to_string(&path)?.replace("schema=1", "schema=0"))?;
    }
    let text = message(scenario(folder.path(), "camp/schema", sound).check(), folder.path());
    assert_eq!(
        text,
        "camp/schema: the baseline has schema 0, this version reads schema 1
  its digests cannot be compared with those of this version
  if that is what you meant:  BEVY_REPLAY_BLESS=1 BEVY_REPLAY_REASON=\"…\" cargo test \
         failing::baseline_of_another_schema_fails_with_the_way_out
  baseline: BASELINES/camp.schema.PLATFORM.txt"
    );
    Ok(())
}

#[test]
fn baseline_of_other_rules_and_types_names_them() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/rules")?;
    if !is_fresh_process() {
        let path = file(folder.path(), "camp/rules", "txt");
        fs::write(&path, fs::read_to_string(&path)?.replace("rules=1", "rules=0").replace("type=Enemy", "type=Foe"))?;
    }
    let text = message(scenario(folder.path(), "camp/rules", sound).check(), folder.path());
    assert_eq!(
        text,
        "camp/rules: the baseline is older than the scenario, so its digests say nothing
  rules: baseline 0, now 1
  type Enemy: not in the baseline
  type Foe: only in the baseline
  if that is what you meant:  BEVY_REPLAY_BLESS=1 BEVY_REPLAY_REASON=\"…\" cargo test \
         failing::baseline_of_other_rules_and_types_names_them
  baseline: BASELINES/camp.rules.PLATFORM.txt"
    );
    Ok(())
}

/// Another number in each call.
fn chance() -> u32 {
    u32::try_from(RandomState::new().hash_one(0) >> 40).unwrap_or_default()
}

/// Another number in each process.
fn chance_of_process() -> u32 {
    std::process::id()
}

#[test]
fn two_runs_that_differ_write_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let random = |tick: u64, enemy: &mut Enemy| enemy.heat = if tick == 100 { chance() } else { 0 };
    let text = message(scenario(folder.path(), "camp/random", random).check(), folder.path());
    let start =
        "camp/random: not deterministic: two runs in one process differ, tick 100 (1.56 s), sim:1 Enemy.heat expected ";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("\n  nothing written; a baseline would be wrong in the next run\n"), "{text}");
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn processes_that_differ_are_no_baseline() -> Outcome {
    let folder = tempfile::tempdir()?;
    let random = |tick: u64, enemy: &mut Enemy| enemy.heat = if tick >= 100 { chance_of_process() } else { 0 };
    for result in [
        scenario(folder.path(), "camp/process", random).check(),
        scenario(folder.path(), "camp/process", random).bless("I am sure"),
    ] {
        let text = message(result, folder.path());
        assert!(
            text.starts_with("camp/process: not deterministic: fresh processes differ, after 120 ticks: digest "),
            "{text}"
        );
        assert!(text.contains("in a fresh process (Enemy)\n  nothing written"), "{text}");
    }
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn missing_baseline_is_written_once_and_fails_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    let test = scenario(folder.path(), "camp/new", sound);
    assert_eq!(
        message(test.check(), folder.path()),
        "camp/new: there was no baseline of this platform; two fresh processes agree, so it was written
  this run fails so that nobody takes it for a test that passed
  commit it:  git add BASELINES/camp.new.PLATFORM.txt"
    );
    let checked = test.check()?;
    assert_eq!(checked.notes, ["no baseline of another platform, so nothing is proved across platforms yet"]);
    let tape = fs::metadata(file(folder.path(), "camp/new", "tape"))?;
    assert!(tape.len() <= 256 << 10);
    Ok(())
}

#[test]
fn missing_baseline_under_ci_leaves_the_tree_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut ci = Environment::default();
    ci.ci = true;
    let test = scenario(folder.path(), "camp/ci", sound).environment(ci.clone());
    let text = message(test.check(), folder.path());
    assert!(
        text.starts_with("camp/ci: no baseline of this platform, and under CI none is written into the tree\n"),
        "{text}"
    );
    assert!(text.contains("baselines/camp.ci.PLATFORM.txt; commit it"), "{text}");
    assert!(text.contains("\nscenario=camp/ci\n") && text.contains("\n---\n60:"), "the text is printed: {text}");
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);

    ci.missing_passes = true;
    let checked = test.environment(ci).check()?;
    assert!(checked.notes.iter().any(|note| note.contains("\n---\n60:")), "{checked}");
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn approval_needs_a_reason_and_a_name_and_keeps_the_old_files_until_a_green_run() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/approved")?;
    let hotter = |_: u64, enemy: &mut Enemy| enemy.heat += 1;
    let mut bless = Environment::default();
    bless.bless = true;
    let test =
        |environment: &Environment| scenario(folder.path(), "camp/approved", hotter).environment(environment.clone());
    let text = message(test(&bless).check(), folder.path());
    assert_eq!(text, "BEVY_REPLAY_BLESS is set, but no reason is given (set BEVY_REPLAY_REASON=\"…\")");
    bless.reason = "goblins are hot".into();
    let text = message(test(&bless).check(), folder.path());
    assert!(text.starts_with("BEVY_REPLAY_BLESS is set, but no test is named"), "{text}");
    bless.names_a_test = true;
    let before = fs::read_to_string(file(folder.path(), "camp/approved", "txt")).unwrap_or_default();
    let checked = test(&bless).check()?;
    assert!(checked.notes.iter().any(|note| note.starts_with("approved: goblins are hot (git add ")), "{checked}");
    let after = fs::read_to_string(file(folder.path(), "camp/approved", "txt"))?;
    assert!(after.contains("\nreason=goblins are hot\n") && after != before, "{after}");
    assert_eq!(fs::read_to_string(file(folder.path(), "camp/approved", "txt.old"))?, before);
    assert!(file(folder.path(), "camp/approved", "tape.old").exists());

    test(&Environment::default()).check()?;
    assert!(!file(folder.path(), "camp/approved", "txt.old").exists(), "a green run has seen the new one hold");
    assert!(!file(folder.path(), "camp/approved", "tape.old").exists());
    Ok(())
}
