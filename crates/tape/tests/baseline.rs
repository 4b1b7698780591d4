//! Baselines as text, and their comparison.

use bevy_replay_tape::{Baseline, BaselineAnswer, BaselineError};

type Outcome = Result<(), Box<dyn core::error::Error>>;

fn baseline() -> Baseline {
    let mut baseline = Baseline::new("candy/whole_game");
    (baseline.os, baseline.arch) = ("windows".into(), "x86_64".into());
    (baseline.game, baseline.rules, baseline.seed) = ("candy".into(), 3, 12_345);
    (baseline.ticks, baseline.snapshot_first, baseline.snapshot_interval) = (240, 60, 60);
    (baseline.timestep_ns, baseline.inputs) = (15_625_000, "idle".into());
    baseline.params = vec![("ability".into(), "ThunderRing".into())];
    baseline.types = vec![("Enemy".into(), 1), ("Messages<Hit>".into(), u64::MAX)];
    (baseline.commit, baseline.reason) = ("1a2b3c4".into(), "the first baseline".into());
    baseline.snapshots = vec![(60, 0xC620_2871_EAED_BD4B), (120, 2), (180, 3), (240, 4)];
    baseline
}

const TEXT: &str = "\
# candy/whole_game
schema=1
scenario=candy/whole_game
os=windows
arch=x86_64
game=candy
rules=3
digest=1
snapshot_count=4
seed=12345
ticks=240
snapshot_first=60
snapshot_interval=60
timestep_ns=15625000
inputs=idle
param=ability ThunderRing
type=Enemy 0000000000000001
type=Messages<Hit> FFFFFFFFFFFFFFFF
commit=1a2b3c4
reason=the first baseline
---
60:C6202871EAEDBD4B
120:0000000000000002
180:0000000000000003
240:0000000000000004
";

#[test]
fn text_is_as_documented_and_reads_back() -> Outcome {
    assert_eq!(baseline().to_string(), TEXT);
    assert_eq!(TEXT.parse::<Baseline>()?, baseline());
    assert_eq!(TEXT.replace('\n', "\r\n").parse::<Baseline>()?, baseline());
    Ok(())
}

#[test]
fn text_of_another_schema_says_so_whatever_else_it_holds() {
    let other = TEXT.replace("schema=1", "schema=7\nmoon=full");
    assert_eq!(other.parse::<Baseline>(), Err(BaselineError::OtherSchema { schema: 7 }));
}

#[test]
fn damaged_text_is_refused_with_the_line() {
    let error = |from: &str, to: &str| TEXT.replace(from, to).parse::<Baseline>().map_err(|error| error.to_string());
    let tail = "(take it from version control, or approve it anew)";
    let cases = [
        (
            "120:0000000000000002",
            "120:2",
            format!("line 23 of the baseline is no digest of 16 hex digits: `120:2` {tail}"),
        ),
        (
            "180:",
            "100:",
            format!("line 24 of the baseline is no later tick than the line before: `100:0000000000000003` {tail}"),
        ),
        ("seed=12345", "seed=many", format!("line 10 of the baseline is no number that fits: `seed=many` {tail}")),
        ("rules=3\n", "", format!("the baseline has no line `rules=` {tail}")),
        ("240:0000000000000004\n", "", format!("the baseline says 4 digests and has 3 {tail}")),
        ("inputs=idle", "inputs", format!("line 15 of the baseline is no `key=value`: `inputs` {tail}")),
        (
            "inputs=idle",
            "input=idle",
            format!("line 15 of the baseline is no line that this version knows: `input=idle` {tail}"),
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(error(from, to), Err(expected));
    }
}

#[test]
fn text_cut_anywhere_is_an_error_and_no_panic() {
    for end in 0..TEXT.len() - 1 {
        assert!(TEXT[..end].parse::<Baseline>().is_err(), "cut after {end} bytes");
    }
}

#[test]
fn comparison_says_where_digests_part_and_whether_they_meet_again() -> Outcome {
    let mut got = baseline();
    (got.os, got.commit, got.reason) = ("linux".into(), "other".into(), "another".into());
    assert_eq!(baseline().compare(&got), BaselineAnswer::Equal);
    got.snapshots[1].1 = 7;
    let BaselineAnswer::Differs(found) = baseline().compare(&got) else { return Err("they differ".into()) };
    assert_eq!((found.tick, found.expected, found.got), (120, 2, 7));
    assert_eq!((found.agreeing, found.healed_at, found.different), (Some(60), Some(180), 1));
    got.snapshots[3].1 = 7;
    let BaselineAnswer::Differs(found) = baseline().compare(&got) else { return Err("they differ".into()) };
    assert_eq!((found.healed_at, found.different), (None, 2));
    Ok(())
}

#[test]
fn other_settings_are_named_and_not_taken_for_other_behaviour() -> Outcome {
    let mut got = baseline();
    (got.rules, got.seed) = (4, 1);
    got.types[0].0 = "Foe".into();
    got.snapshots[0].1 = 0;
    let BaselineAnswer::Incomparable(found) = baseline().compare(&got) else { return Err("other settings".into()) };
    let expected = [
        "rules: baseline 3, now 4",
        "seed: baseline 12345, now 1",
        "type Foe: not in the baseline",
        "type Enemy: only in the baseline",
    ];
    assert_eq!(found, expected);
    Ok(())
}
