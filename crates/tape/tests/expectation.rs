//! Expectations: read, met, not met, and what they say where there is no answer.

mod common;

use bevy_replay_tape::{Expectation, ExpectationError, Image};
use common::world::{Mood, Thing, World, bag, body};

fn image() -> Image {
    let mut world = World { tick: 7, score: Some(12), news: Some(vec!["a".into(), "b".into()]), ..World::default() };
    let mut full = bag();
    full.items = vec![5, 6];
    full.owner = Some(3);
    full.prices.insert("egg".into(), -2);
    world.things.insert(1, Thing { body: Some(body(10, 0.5)), bag: Some(full), ..Thing::default() });
    world.things.insert(4, Thing { body: Some(body(-3, -0.0)), mood: Some(Mood::Angry(9)), ..Thing::default() });
    world.image()
}

fn check(line: &str) -> Result<(), ExpectationError> {
    line.parse::<Expectation>()?.check(&image())
}

#[track_caller]
fn told(line: &str) -> String {
    check(line).expect_err("it does not hold").to_string()
}

#[test]
fn what_is_so_is_met() -> Result<(), ExpectationError> {
    for line in [
        "tick 7 [sim:4] Body.at.x == -3",
        "tick 7 sim:4 Body.at.x==-3",
        "  tick 7   [sim:4]   Body.at.x   !=   3  ",
        "tick 7 [sim:1] Body.speed >= 0.5",
        "tick 7 [sim:4] Body.speed == 0.0",
        "tick 7 [sim:1] Body == (at: (x: 10, y: 0), speed: 0.5)",
        "tick 7 Score > 11",
        "tick 7 Score <= 12",
        "tick 7 News[1] == \"b\"",
        "tick 7 News != [\"a < b\"]",
        "tick 7 Bag.items[0] < 6",
        "tick 7 Bag.owner == Some(3)",
        "tick 7 Bag.prices[\"egg\"] == -2",
        "tick 7 Mood == Angry(9)",
        "tick 7 Mood.0 > 8",
    ] {
        check(line)?;
        let line: Expectation = line.parse()?;
        assert_eq!(line.to_string().parse::<Expectation>()?, line);
    }
    Ok(())
}

#[test]
fn what_is_not_so_is_told_with_the_value() {
    assert_eq!(told("tick 7 [sim:4] Body.at.x == 3"), "expected tick 7 [sim:4] Body.at.x == 3, got -3");
    assert_eq!(told("tick 7 Score < 12"), "expected tick 7 Score < 12, got 12");
    assert_eq!(told("tick 7 Mood == Calm"), "expected tick 7 Mood == Calm, got Angry(9)");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let reason = |line: &str| told(line).split_once(": ").map(|(_, reason)| reason.to_owned()).unwrap_or_default();
    assert_eq!(reason("tick 7 Bod.x == 1"), "there is no type Bod (known: Bag, Body, Frozen, Mood, News, Score)");
    assert_eq!(
        told("tick 7 Body.at.x == 1"),
        "tick 7 Body.at.x == 1: 2 entities have Body (name one, as in `[sim:4] Body`)"
    );
    assert!(told("tick 7 [sim:9] Body.at.x == 1").ends_with("sim:9 has no Body"));
    assert!(
        told("tick 7 [sim:1] Body.z == 1")
            .ends_with("Body { at: Place { x: i32, y: i32 }, speed: f32 } has no field z")
    );
    assert!(told("tick 7 Bag.items[2] == 1").ends_with("Vec<u16> has no item 2"));
    assert!(told("tick 7 Mood.of == 1").ends_with("Angry has no field of"));
    assert!(told("tick 7 Score == x").contains("is no u32"));
    assert!(told("tick 7 Mood < Calm").contains("have no order (compare with `==` or `!=`)"));
}

#[test]
fn lines_that_are_none_say_why() {
    for (line, reason) in [
        ("", "it begins with `tick` and a number"),
        ("tick", "it begins with `tick` and a number"),
        ("tick 5", "nothing is behind the tick"),
        ("tick x Score == 1", "`x` is no tick"),
        ("tick 5 [sim:x] Score == 1", "`x` is no sim id"),
        ("tick 5 Score", "no comparison as `==` stands in it"),
        ("tick 5 Score ==", "no value stands behind `==`"),
        ("tick 5 == 1", "`` is no type and field"),
        ("tick 5 Score..x == 1", "`Score..x` is no type and field"),
        ("tick 5 [sim:1 Score == 1", "`[sim:1 Score` is no type and field"),
    ] {
        let error = line.parse::<Expectation>().expect_err(line).to_string();
        assert!(error.contains(&format!("is no expectation: {reason} (as in ")), "{error}");
    }
}
