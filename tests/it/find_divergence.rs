//! The faults of `examples/find_divergence` are found where they were planted, and nothing else is.

#[path = "../../examples/find_divergence/arena.rs"]
mod arena;
#[path = "../../examples/find_divergence/faults.rs"]
mod faults;

use crate::game::Outcome;
use faults::{PLANTED, Planted};

fn planted(name: &str) -> Result<Planted, String> {
    PLANTED.iter().find(|planted| planted.name == name).copied().ok_or_else(|| format!("no fault {name}"))
}

#[track_caller]
fn assert_found(name: &str, line: &str) -> Outcome {
    let planted = planted(name)?;
    let report = (planted.find)()?;
    assert!(planted.is_found_by(&report), "{}\n{report}", planted.about);
    let text = report.to_string();
    assert!(text.starts_with(line), "{text}");
    Ok(())
}

#[test]
fn game_without_a_fault_replays() -> Outcome {
    assert_found("clean", "verified: replayed 64 ticks, 0 diverged")
}

#[test]
fn hash_order_is_found_in_who_got_what() -> Outcome {
    assert_found("hash-order", "diverged at tick 22 (0.34 s): sim:")
}

#[test]
fn hash_order_leaves_the_generator_alone() -> Outcome {
    let report = (planted("hash-order")?.find)()?;
    let rows = report.divergence.and_then(|found| found.differences).ok_or("no values")?;
    assert!(rows.iter().all(|row| row.type_name == "Health"), "all drew as often: {rows:?}");
    Ok(())
}

#[test]
fn wall_clock_is_found_where_it_enters_the_state() -> Outcome {
    assert_found("wall-clock", "diverged at tick 22 (0.34 s): Rng.0 expected ")
}

#[test]
fn draw_from_outside_the_tick_is_found_in_the_next_tick() -> Outcome {
    assert_found("stolen-draw", "diverged at tick 23 (0.35 s): Rng.0 expected 3072508260 got 1240942447\n")
}

#[test]
fn order_of_two_systems_is_found_in_what_both_write() -> Outcome {
    assert_found("system-order", "diverged at tick 22 (0.34 s): sim:0 Health.0 expected 26 got 31 (+18 more)\n")
}

#[test]
fn last_bit_of_a_sine_is_found() -> Outcome {
    assert_found("sin", "diverged at tick 22 (0.34 s): sim:0 Velocity.x expected ")?;
    let report = (planted("sin")?.find)()?;
    let rows = report.divergence.and_then(|found| found.differences).ok_or("no values")?;
    assert!(rows.iter().all(|row| row.ulps() == Some(1)), "{rows:?}");
    Ok(())
}

#[test]
fn transform_of_the_last_frame_is_found_at_another_pace() -> Outcome {
    assert_found(
        "global-transform",
        "diverged at tick 22 (0.34 s): sim:0 Velocity.x expected 0.87109375 got 0.8203125 (+18 more)\n",
    )
}

#[test]
fn removals_forgotten_between_ticks_are_found_at_another_pace() -> Outcome {
    assert_found("removals", "diverged at tick 23 (0.35 s): Score.0 expected 1 got 0\n")
}

#[test]
fn state_outside_the_image_is_found_in_what_is_made_from_it() -> Outcome {
    assert_found("local", "diverged at tick 22 (0.34 s): sim:20 Egg.0 expected ")
}

#[test]
fn answer_about_another_place_does_not_count() -> Outcome {
    let elsewhere = Planted { place: Some((21, "Score.0")), ..planted("removals")? };
    assert!(!elsewhere.is_found_by(&(elsewhere.find)()?));
    let nowhere = Planted { place: None, ..elsewhere };
    assert!(!nowhere.is_found_by(&(nowhere.find)()?));
    Ok(())
}
