//! Comparisons and their reports. The texts stand here as a user sees them.

mod common;

use bevy_replay_tape::{Canonical, Comparison, Delta, Evidence, Header, Image, Report, Tape, Verdict, encode_to_vec};
use common::tapes::{Steer, falling, header, recorded};
use common::world::{Bag, Body, Mood, Place, Thing, World, bag, body};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A body that is pushed right at each tick, and what a run makes of it from a tick on.
fn worlds(ticks: u64, change: impl Fn(u64, &mut World)) -> Vec<World> {
    let world = |tick: u64| {
        let thing = |x: u64| Thing {
            body: Some(Body { at: Place { x: i32::try_from(x).unwrap_or(-1), y: 0 }, speed: 3.5 }),
            mood: Some(Mood::Calm),
            ..Thing::default()
        };
        let things = BTreeMap::from([(3, thing(tick)), (12, thing(2 * tick))]);
        let mut world = World { tick, things, score: Some(0), ..World::default() };
        change(tick, &mut world);
        world
    };
    (0..=ticks).map(world).collect()
}

fn nothing(_: u64, _: &mut World) {}

fn run(worlds: &[World]) -> Tape {
    let inputs = vec![(String::new(), Steer { x: 1, jump: false }); worlds.len() - 1];
    let mut tape = recorded(worlds, &inputs);
    tape.header.target = "x86_64-linux".into();
    tape.header.rules = 3;
    tape.header.game_version = "0.4.1".into();
    tape
}

/// A tape that knows less: roots only.
fn roots_only(mut tape: Tape) -> Tape {
    tape.initial = None;
    tape.values.clear();
    (tape.digests.lane_ticks, tape.digests.lane_digests) = (Vec::new(), Vec::new());
    tape
}

/// A tape that knows roots, and digests of types at each tick.
fn with_types(worlds: &[World]) -> Tape {
    let mut tape = roots_only(run(worlds));
    for (index, world) in (0..).zip(&worlds[1..]) {
        let digest = world.image().digest();
        tape.digests.lane_ticks.push(index);
        tape.digests.lane_digests.extend([digest.lanes, digest.resources].concat());
    }
    tape
}

fn thing(world: &mut World, id: u64) -> &mut Thing {
    world.things.entry(id).or_default()
}

#[track_caller]
fn assert_text(report: &Report, expected: &str) {
    let text = report.to_string();
    assert_eq!(text, expected, "\n--- got\n{text}\n--- expected\n{expected}\n");
    assert!(text.lines().all(|line| line == line.trim_end()), "no spaces at the ends of lines");
    let first = text.lines().next().unwrap_or_default();
    let verdict = if report.divergence.is_some() && report.verdict != Verdict::Unverified {
        Verdict::Diverged
    } else {
        report.verdict
    };
    assert!(first.starts_with(&verdict.to_string()), "the first line says the verdict: {first}");
}

// Texts

#[test]
fn equal_tapes_are_verified() {
    let tape = run(&worlds(120, nothing));
    let report = tape.diff(&tape);
    assert_text(&report, "verified: replayed 120 ticks, 0 diverged");
    assert_eq!((report.verdict, report.compared, report.first_divergence()), (Verdict::Verified, 120, "none".into()));
    assert!(report.is_verified());
    assert_text(&roots_only(tape.clone()).diff(&roots_only(tape)), "verified: replayed 120 ticks, 0 diverged");
    let one = run(&worlds(1, nothing));
    assert_text(&one.diff(&one), "verified: replayed 1 tick, 0 diverged");
    let long = roots_only(run(&worlds(1200, nothing)));
    assert_text(&long.diff(&long), "verified: replayed 1,200 ticks, 0 diverged");
}

#[test]
fn tapes_without_ticks_are_verified() {
    let tape = Tape::new(Header::new("my_game"));
    assert_text(&tape.diff(&tape), "verified: replayed 0 ticks, 0 diverged");
}

#[test]
fn tapes_with_nothing_to_compare_are_unverified() {
    let mut tape = roots_only(run(&worlds(120, nothing)));
    tape.digests.roots.clear();
    let report = tape.diff(&tape);
    assert_eq!(report.verdict, Verdict::Unverified);
    assert_text(
        &report,
        "\
unverified: replayed 120 ticks, nothing on the tape to compare them with",
    );
}

#[test]
fn tapes_compared_at_some_ticks_only_say_so() {
    let mut tape = roots_only(run(&worlds(120, nothing)));
    tape.digests.roots.truncate(2);
    assert_text(&tape.diff(&tape), "verified: replayed 120 ticks, 0 diverged (2 could be compared)");
}

#[test]
fn roots_alone_say_the_tick() {
    let expected = roots_only(run(&worlds(120, nothing)));
    let got = roots_only(run(&worlds(120, |tick, world| {
        if tick > 97 {
            world.score = Some(1);
        }
    })));
    let roots = expected.digests.roots[97];
    let other = got.digests.roots[97];
    let report = expected.diff(&got);
    assert_eq!(report.first_divergence(), "tick 97");
    assert_text(
        &report,
        &format!(
            "\
diverged at tick 97 (1.51 s): digest expected {roots:016X} got {other:016X}

  inputs of this tick  Said(\"\")  Steer(x: 1, jump: false)
  last agreeing tick   96               later: persists (23 of 23 ticks differ)
  expected by          my_game 0.4.1 rules 3, x86_64-linux
  got from             my_game 0.4.1 rules 3, x86_64-linux
  for field and values record with `Detail::Values`, or compare with a second app"
        ),
    );
}

#[test]
fn digests_of_types_say_the_types() {
    let expected = with_types(&worlds(20, nothing));
    let got = with_types(&worlds(20, |tick, world| {
        if tick > 5 {
            thing(world, 3).body = None;
        }
    }));
    assert_text(
        &expected.diff(&got),
        "\
diverged at tick 5 (0.07 s): Body differs

  types that differ    Body
  inputs of this tick  Said(\"\")  Steer(x: 1, jump: false)
  last agreeing tick   4                later: persists (15 of 15 ticks differ)
  expected by          my_game 0.4.1 rules 3, x86_64-linux
  got from             my_game 0.4.1 rules 3, x86_64-linux
  for field and values record with `Detail::Values`, or compare with a second app",
    );
    let everything = with_types(&worlds(20, |tick, world| {
        if tick > 5 {
            *thing(world, 3) = Thing { bag: Some(bag()), ..Thing::default() };
            world.score = None;
        }
    }));
    let report = expected.diff(&everything).to_string();
    assert!(report.starts_with("diverged at tick 5 (0.07 s): Bag, Body, Mood and 1 more type differ\n"), "{report}");
    assert!(report.contains("\n  types that differ    Bag, Body, Mood, Score\n"), "{report}");
}

#[test]
fn an_entity_without_components_is_no_difference_of_a_type() {
    let expected = with_types(&worlds(3, nothing));
    let got = with_types(&worlds(3, |tick, world| {
        if tick > 1 {
            world.things.insert(99, Thing::default());
        }
    }));
    let text = expected.diff(&got).to_string();
    assert!(text.starts_with("diverged at tick 1 (0.01 s): digest expected "), "{text}");
    let line = "\n  types that differ    none, so the entities themselves or the number of ticks differ\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn values_say_entity_field_and_both_values() {
    let expected = run(&worlds(482, nothing));
    let got = run(&worlds(482, |tick, world| {
        if tick > 481 {
            thing(world, 12).body = Some(Body { at: Place { x: 963, y: 0 }, speed: 3.499_878 });
        }
    }));
    let mut report = expected.diff(&got);
    assert_text(
        &report,
        "\
diverged at tick 481 (7.51 s): sim:12 Body.at.x expected 964 got 963 (+1 more)

  sim:12  Body.at.x   expected  964  got  963
  sim:12  Body.speed  expected  3.5  got  3.499878  (float, 512 ulp)

  inputs of this tick  Said(\"\")  Steer(x: 1, jump: false)
  last agreeing tick   480
  expected by          my_game 0.4.1 rules 3, x86_64-linux
  got from             my_game 0.4.1 rules 3, x86_64-linux",
    );
    let exact = format!("{report:#}");
    let row = "\n  sim:12  Body.speed  expected  3.5 (0x40600000)  got  3.499878 (0x405FFE00)  (float, 512 ulp)\n";
    assert!(exact.contains(row), "{exact}");

    // Names that the app gives stand beside the ids.
    let found = report.divergence.as_mut().expect("it diverged");
    found.names.insert(12, "Goblin".into());
    assert_eq!(found.sim_ids().collect::<Vec<_>>(), [12, 12]);
    let text = report.to_string();
    let first = "diverged at tick 481 (7.51 s): sim:12 \"Goblin\" Body.at.x expected 964 got 963 (+1 more)\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.contains("\n  sim:12 \"Goblin\"  Body.speed  expected  3.5  got  3.499878  (float, 512 ulp)\n"),
        "{text}"
    );
}

#[test]
fn columns_of_rows_line_up_whatever_they_hold() {
    let expected = run(&worlds(1, nothing));
    let got = run(&worlds(1, |tick, world| {
        if tick == 1 {
            thing(world, 3).mood = Some(Mood::Angry(7));
            thing(world, 3).bag = Some(Bag { items: vec![1, 2], ..bag() });
            world.things.insert(1000, Thing::default());
            world.score = Some(123_456);
            world.news = Some(vec!["ä".into()]);
        }
    }));
    assert_text(
        &expected.diff(&got),
        "\
diverged at tick 0 (0.00 s): sim:3 Bag expected absent got (items: [1, 2], owner: None, prices: {}, seals: []) (+4 more)

  sim:3     Bag    expected  absent  got  (items: [1, 2], owner: None, prices: {}, seals: [])
  sim:3     Mood   expected  Calm    got  Angry(7)
  sim:1000         expected  absent  got  present
            News   expected  absent  got  [\"ä\"]
            Score  expected  0       got  123456

  inputs of this tick  Said(\"\")  Steer(x: 1, jump: false)
  last agreeing tick   none
  expected by          my_game 0.4.1 rules 3, x86_64-linux
  got from             my_game 0.4.1 rules 3, x86_64-linux",
    );
}

#[test]
fn resources_alone_leave_no_empty_column() {
    let expected = run(&worlds(2, nothing));
    let got = run(&worlds(2, |tick, world| {
        if tick > 1 {
            world.score = Some(5);
        }
    }));
    let text = expected.diff(&got).to_string();
    assert!(
        text.starts_with("diverged at tick 1 (0.01 s): Score expected 0 got 5\n\n  Score  expected  0  got  5\n\n"),
        "{text}"
    );
}

#[test]
fn over_ten_rows_are_counted_and_shown_on_request() {
    let expected = run(&worlds(1, nothing));
    let got = run(&worlds(1, |tick, world| {
        if tick == 1 {
            (100..1312).for_each(|id| {
                world.things.insert(id, Thing::default());
            });
        }
    }));
    let report = expected.diff(&got);
    let text = report.to_string();
    assert!(
        text.starts_with("diverged at tick 0 (0.00 s): sim:100 expected absent got present (+1,211 more)\n"),
        "{text}"
    );
    assert!(
        text.contains("\n  sim:109  expected  absent  got  present\n  and 1,202 more (--all, or in code `{:#}`)\n"),
        "{text}"
    );
    let all = format!("{report:#}");
    assert_eq!(all.matches("got  present").count(), 1212);
    assert!(!all.contains("more (--all"));
}

#[test]
fn long_values_are_cut_unless_all_are_asked_for() {
    let expected = run(&worlds(1, nothing));
    let got = run(&worlds(1, |tick, world| {
        if tick == 1 {
            world.news = Some(vec!["x".repeat(1000)]);
        }
    }));
    let report = expected.diff(&got);
    let text = report.to_string();
    let cut = format!("News expected absent got [\"{}…\n", "x".repeat(57));
    assert!(text.starts_with(&format!("diverged at tick 0 (0.00 s): {cut}")), "{text}");
    assert!(format!("{report:#}").contains(&"x".repeat(1000)));
}

#[test]
fn entities_in_fields_are_shown_by_their_sim_id() {
    #[derive(Debug)]
    struct Target;
    impl Target {
        fn image(id: u64) -> Image {
            let schema: bevy_replay_tape::Schema = serde_json::from_str(r#"["Entity"]"#).expect("a schema");
            let mut image = Image::default();
            let mut state = bevy_replay_tape::ResourceState::new("Target", schema.into());
            (state.present, state.bytes) = (true, encode_to_vec(&id));
            image.resources.push(state);
            image
        }
    }
    let (a, b) = (Target::image(7), Target::image(u64::MAX));
    let mut comparison = Comparison::new(&header(&a), &header(&a));
    assert!(comparison.initial(&a, &b));
    let text = comparison.finish(0, 0).to_string();
    assert!(text.starts_with("diverged before the first tick: Target expected sim:7 got no entity\n"), "{text}");
}

#[test]
fn a_difference_before_the_first_tick_says_so() {
    let expected = run(&worlds(120, nothing));
    let got = run(&worlds(120, |_, world| world.score = Some(9)));
    let report = expected.diff(&got);
    assert_eq!(report.first_divergence(), "before the first tick");
    assert_text(
        &report,
        "\
diverged before the first tick: Score expected 0 got 9

  Score  expected  0  got  9

  later                persists (120 of 120 ticks differ)
  expected by          my_game 0.4.1 rules 3, x86_64-linux
  got from             my_game 0.4.1 rules 3, x86_64-linux

  hint: the app starts from another state than the recording did: compare seed, level and start-up systems",
    );
    let heals = expected.diff(&run(&worlds(120, |tick, world| {
        if tick == 0 {
            world.score = Some(9);
        }
    })));
    assert!(
        heals.to_string().contains("\n  later                heals at tick 0 (0 of 120 ticks differ)\n"),
        "{heals}"
    );
    assert_eq!(heals.verdict, Verdict::Diverged);
}

#[test]
fn a_divergence_that_heals_is_told_with_the_tick() {
    let expected = roots_only(run(&worlds(1200, nothing)));
    let got = roots_only(run(&worlds(1200, |tick, world| {
        if (101..=108).contains(&tick) || tick == 110 {
            world.score = Some(1);
        }
    })));
    let report = expected.diff(&got);
    let line = "\n  last agreeing tick   99               later: heals at tick 110 (9 of 1,100 ticks differ)\n";
    assert!(report.to_string().contains(line), "{report}");
    assert_eq!(report.verdict, Verdict::Diverged);
}

#[test]
fn nothing_is_said_of_ticks_that_were_not_compared_yet() {
    let header = Header::new("my_game");
    let mut comparison = Comparison::new(&header, &header);
    let root = |root| Evidence { root: Some(root), ..Evidence::default() };
    assert!(comparison.tick(0, &root(1), &root(2)));
    let text = comparison.finish(120, 120).to_string();
    assert!(text.contains("\n  last agreeing tick   none\n"), "{text}");
    assert!(!text.contains("later"), "{text}");
}

#[test]
fn tapes_of_different_length_diverge_where_the_shorter_ends() {
    let (short, long) = (roots_only(run(&worlds(500, nothing))), roots_only(run(&worlds(600, nothing))));
    let report = short.diff(&long);
    assert_eq!(report.first_divergence(), "tick 500");
    assert_eq!(report.verdict, Verdict::Diverged);
    assert_text(
        &report,
        "\
diverged at tick 500: the tape ends at tick 500, the other goes on to 600",
    );
    let text = long.diff(&short).to_string();
    let line = "diverged at tick 500: the run ends at tick 500, the other goes on to 600";
    assert_eq!(text, line);
}

#[test]
fn a_difference_comes_before_the_difference_in_length() {
    let expected = roots_only(run(&worlds(50, nothing)));
    let got = roots_only(run(&worlds(60, |tick, world| world.score = Some(u32::from(tick > 20)))));
    let text = expected.diff(&got).to_string();
    assert!(text.starts_with("diverged at tick 20 (0.31 s): digest expected "), "{text}");
    assert!(text.contains("\n  length               the tape ends at tick 50, the other goes on to 60\n"), "{text}");
}

#[test]
fn digests_at_intervals_say_between_which_ticks() {
    let header = Header::new("my_game");
    let mut comparison = Comparison::new(&header, &header);
    let root = |root| Evidence { root: Some(root), ..Evidence::default() };
    let none = Evidence::default();
    for tick in 0..180 {
        let (expected, got) = if tick % 60 == 59 { (root(tick), root(tick.min(120))) } else { (none, none) };
        assert_eq!(comparison.tick(tick, &expected, &got), tick == 179);
    }
    assert_eq!(comparison.divergence().map(|found| (found.tick_earliest, found.last_agreeing)), Some((120, Some(119))));
    let report = comparison.finish(180, 180);
    assert_eq!(report.first_divergence(), "between tick 120 and 179");
    let text = report.to_string();
    assert!(
        text.starts_with(
            "diverged between tick 120 and tick 179 (2.79 s): digest expected 00000000000000B3 got 0000000000000078\n"
        ),
        "{text}"
    );

    // Where the very first digest differs, any tick up to it may be the one.
    let mut comparison = Comparison::new(&header, &header);
    assert!(comparison.tick(59, &root(1), &root(2)));
    let text = comparison.finish(60, 60).to_string();
    assert!(text.starts_with("diverged between tick 0 and tick 59 (0.92 s): "), "{text}");
}

#[test]
fn times_are_left_out_where_ticks_had_no_one_length() {
    let (mut expected, got) = (falling(30), falling(30));
    expected.digests.roots[20] ^= 1;
    let text = expected.diff(&got).to_string();
    assert!(text.starts_with("diverged at tick 20: "), "{text}");
}

#[test]
fn inputs_that_differ_are_named() {
    let worlds = worlds(30, nothing);
    let tape = |x: i8| {
        let inputs: Vec<_> =
            (0..30).map(|tick| (String::new(), Steer { x: if tick < 12 { 0 } else { x }, jump: false })).collect();
        recorded(&worlds, &inputs)
    };
    assert_text(
        &tape(1).diff(&tape(-1)),
        "\
verified: replayed 30 ticks, 0 diverged

  note: inputs differ from tick 12 on: expected Steer(x: 1, jump: false), got Steer(x: -1, jump: false)",
    );
}

#[test]
fn parts_of_a_tape_are_compared_where_both_have_them() {
    let whole = run(&worlds(60, nothing));
    let cut = |mut worlds: Vec<World>| run(&worlds.split_off(40));
    let late = cut(worlds(60, nothing));
    assert_eq!(late.ticks(), 40..60);
    for report in [whole.diff(&late), late.diff(&whole)] {
        assert_eq!((report.verdict, report.compared, report.tick_first), (Verdict::Verified, 20, 40));
        assert_text(&report, "verified: replayed 20 ticks, 0 diverged");
    }
    let other = cut(worlds(60, |tick, world| {
        if tick > 50 {
            world.score = Some(1);
        }
    }));
    assert!(whole.diff(&other).to_string().starts_with("diverged at tick 50 (0.78 s): Score expected 0 got 1\n"));
    let start = cut(worlds(60, |tick, world| {
        if tick == 40 {
            world.score = Some(1);
        }
    }));
    assert!(whole.diff(&start).to_string().starts_with("diverged before the first tick: Score expected 0 got 1\n"));
    let early = run(&worlds(30, nothing));
    assert_eq!(early.diff(&late).compared, 0);
}

// What can be compared

#[test]
fn types_that_only_one_side_knows_are_left_out_of_the_comparison() {
    let expected = run(&worlds(10, nothing));
    let without_mood = |tape: &Tape| {
        let mut tape = tape.clone();
        tape.header.lanes.remove(3);
        let initial = tape.initial.as_mut().expect("it has one");
        initial.lanes.remove(3);
        for delta in &mut tape.values {
            delta.lanes.retain(|lane| lane.lane != 3);
        }
        for root in &mut tape.digests.roots {
            *root ^= 1;
        }
        let digests = &mut tape.digests.lane_digests;
        *digests = digests.chunks(6).flat_map(|row| [&row[..3], &row[4..]].concat()).collect();
        tape
    };
    let report = expected.diff(&without_mood(&expected));
    assert_eq!((report.verdict, report.compared), (Verdict::Verified, 10), "{report}");
    assert_eq!(report.header_differences.len(), 1);

    let got = without_mood(&run(&worlds(10, |tick, world| {
        if tick > 4 {
            world.score = Some(1);
            thing(world, 3).mood = None;
        }
    })));
    let text = expected.diff(&got).to_string();
    assert!(text.starts_with("diverged at tick 4 (0.06 s): Score expected 0 got 1\n"), "{text}");
    let line = "\n  headers differ in    type Mood: expected `Mood = Calm | Angry(u8) | Afraid { of: u64 }`, got none of that name";
    assert!(text.contains(line), "{text}");
    // Digests of the common types are compared by name, wherever they stand.
    let (mut expected, mut got) = (with_types(&worlds(10, nothing)), with_types(&worlds(10, nothing)));
    got.header.lanes.remove(0);
    let digests = &mut got.digests.lane_digests;
    *digests = digests.chunks(6).flat_map(|row| row[1..].to_vec()).collect();
    assert_eq!(expected.diff(&got).verdict, Verdict::Verified);
    expected.digests.lane_digests[6 * 7 + 1] ^= 1;
    let text = expected.diff(&got).to_string();
    assert!(text.starts_with("diverged at tick 7 (0.10 s): Body differs\n"), "{text}");
}

#[test]
fn nothing_in_common_is_not_verified() {
    let mut expected = with_types(&worlds(10, nothing));
    let mut got = expected.clone();
    for spec in got.header.lanes.iter_mut().chain(&mut got.header.resources) {
        spec.name.push('2');
    }
    assert_eq!(expected.diff(&got).verdict, Verdict::Unverified);
    // The same for digests made by other rules.
    got = expected.clone();
    got.header.digest_version += 1;
    assert_eq!(expected.diff(&got).verdict, Verdict::Unverified);
    got.digests.lane_digests[0] ^= 1;
    assert_eq!(expected.diff(&got).verdict, Verdict::Unverified);
    expected.header.digest_version += 1;
    assert_eq!(expected.diff(&got).verdict, Verdict::Verified, "roots are compared where both have them");
}

#[test]
fn digests_of_a_type_whose_encoding_changed_are_not_compared() {
    let mut expected = with_types(&worlds(10, nothing));
    let mut got = expected.clone();
    got.header.lanes[1].schema = Arc::new(Steer::schema());
    for (index, digest) in got.digests.lane_digests.iter_mut().enumerate() {
        *digest ^= u64::from(index % 6 == 1);
    }
    got.digests.roots.iter_mut().for_each(|root| *root ^= 1);
    assert_eq!(expected.diff(&got).verdict, Verdict::Verified);
    expected.digests.lane_digests[6 * 3 + 5] ^= 1;
    let text = expected.diff(&got).to_string();
    assert!(text.starts_with("diverged at tick 3 (0.04 s): Score differs\n"), "{text}");
}

#[test]
fn only_the_first_difference_is_reported_and_annotated() {
    let header = Header::new("my_game");
    let mut comparison = Comparison::new(&header, &header);
    let root = |root| Evidence { root: Some(root), ..Evidence::default() };
    comparison.annotate(|_| panic!("there is nothing to annotate"));
    assert!(!comparison.tick(0, &root(1), &root(1)));
    assert!(comparison.tick(1, &root(1), &root(2)));
    comparison.annotate(|found| found.inputs.push("Steer(x: 1)".into()));
    assert!(!comparison.tick(2, &root(1), &root(3)));
    let found = comparison.divergence().expect("it diverged");
    assert_eq!((found.tick, found.roots, found.inputs.len()), (Some(1), Some((1, 2)), 1));
    assert_eq!((found.later.compared, found.later.different, found.later.healed_at), (2, 2, None));
}

#[test]
fn a_forced_replay_says_unverified_first() {
    let header = Header::new("my_game");
    let mut other = header.clone();
    other.rules = 1;
    let mut comparison = Comparison::new(&header, &other);
    let root = |root| Evidence { root: Some(root), ..Evidence::default() };
    comparison.tick(0, &root(1), &root(1));
    let mut report = comparison.clone().finish(1, 1);
    report.verdict = Verdict::Unverified;
    assert_text(
        &report,
        "\
unverified: replayed 1 tick, 0 diverged

  headers differ in    rules: expected 0, got 1",
    );
    comparison.tick(1, &root(1), &root(2));
    let mut report = comparison.finish(2, 2);
    report.verdict = Verdict::Unverified;
    let text = report.to_string();
    assert!(text.starts_with("unverified: diverged at tick 1 (0.01 s): digest expected "), "{text}");
}

#[test]
fn known_causes_are_hinted_at() {
    let (mut expected, mut got) = (
        run(&worlds(3, nothing)),
        run(&worlds(3, |tick, world| {
            if tick > 1 {
                thing(world, 3).body = Some(body(1, 3.6));
            }
        })),
    );
    let hints = |expected: &Tape, got: &Tape| {
        let text = expected.diff(got).to_string();
        text.lines()
            .filter(|line| line.contains("hint: "))
            .map(|line| line[8..].chars().take(40).collect())
            .collect::<Vec<String>>()
    };
    assert!(hints(&expected, &got).is_empty());
    got.header.target = "aarch64-macos".into();
    assert_eq!(hints(&expected, &got), ["floats differ and so do the targets or f"]);
    got.header.game_version = "0.4.2".into();
    assert_eq!(hints(&expected, &got)[1], "the game's version changed; if its rules");
    (expected, got) = (roots_only(expected), roots_only(got));
    assert_eq!(
        hints(&expected, &got),
        ["the game's version changed; if its rules"],
        "whether floats differ is not known"
    );
    let text = expected.diff(&got).to_string();
    let lines = "
  headers differ in    game version: expected 0.4.1, got 0.4.2
                       target: expected x86_64-linux, got aarch64-macos
";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn notes_follow_the_answer() {
    let tape = run(&worlds(2, nothing));
    let mut report = tape.diff(&tape);
    report.notes.push("NaN in Body of sim:3 after tick 1".into());
    assert_text(
        &report,
        "\
verified: replayed 2 ticks, 0 diverged

  note: NaN in Body of sim:3 after tick 1",
    );
}

// Values of a tape

#[test]
fn images_are_stepped_along_the_recorded_values() {
    let worlds = worlds(5, nothing);
    let tape = run(&worlds);
    let mut image = tape.initial.clone();
    for (tick, world) in (0..).zip(&worlds[1..]) {
        assert!(tape.step_image(&mut image, tick));
        assert_eq!(image.as_ref(), Some(&world.image()));
    }
    assert!(!tape.step_image(&mut image, 5), "there is no such tick");
    assert!(!tape.step_image(&mut None, 0));
    let mut gap = tape;
    gap.values[2] = Delta { tick: 30, ..Delta::default() };
    assert!(!gap.step_image(&mut gap.initial.clone(), 2));
}
