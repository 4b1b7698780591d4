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
    assert_found("system-order", "diverged at tick 22 (0.34 s): sim:0 Health.0 expected 31 got 26 (+18 more)\n")
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

/// What `docs/debugging.md` shows is what the tools say.
mod guide {
    use super::Outcome;
    use super::arena::{Health, Orders, arena, strike};
    use bevy_app::prelude::*;
    use bevy_ecs::prelude::*;
    use bevy_replay::prelude::*;
    use bevy_replay::tape::Tape;

    const GUIDE: &str = include_str!("../../docs/debugging.md");

    fn poison(orders: Res<Orders>, mut creatures: Query<&mut Health>) {
        if orders.strike {
            creatures.iter_mut().for_each(|mut health| health.0 = health.0.saturating_sub(10));
        }
    }

    fn fever(orders: Res<Orders>, mut creatures: Query<&mut Health>) {
        if orders.strike {
            creatures.iter_mut().for_each(|mut health| health.0 /= 2);
        }
    }

    fn before(app: &mut App) {
        app.add_systems(FixedUpdate, (poison, fever).after(strike));
    }

    fn after(app: &mut App) {
        app.add_systems(FixedUpdate, (fever, poison).after(strike));
    }

    fn headless(order: TickOrder, illnesses: fn(&mut App)) -> Headless {
        Headless::new((ReplayPlugin::new("arena").order(order), arena, illnesses))
    }

    fn fixed(illnesses: fn(&mut App)) -> Headless {
        headless(TickOrder::Fixed, illnesses)
    }

    #[cfg(feature = "diagnostics")]
    fn recorded(detail: Detail) -> Result<std::sync::Arc<Tape>, ReplayError> {
        Ok(fixed(before).inputs(super::arena::script()).detail(detail).run()?.tape().clone())
    }

    #[track_caller]
    fn assert_shown(output: &str) {
        let here = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        let output = output.replace(&here, "x86_64-linux").replace("\r\n", "\n");
        let output =
            output.replace("it::find_divergence::guide::", "game::").replace("it::find_divergence::arena::", "game::");
        let lines = output.split('\n').map(|line| match line.split_once("tests/it/find_divergence.rs:") {
            Some((name, _)) => format!("{name}src/illness.rs:12"),
            None => line.to_owned(),
        });
        let output = lines.collect::<Vec<_>>().join("\n");
        assert!(GUIDE.replace("\r\n", "\n").contains(&output), "docs/debugging.md does not show\n{output}");
    }

    #[test]
    #[cfg(feature = "diagnostics")] // for the line that wrote last
    fn reports_at_each_detail_are_shown() -> Outcome {
        for detail in [Detail::Values, Detail::Lanes, Detail::Roots] {
            let replayed = fixed(after).verify(recorded(detail)?)?;
            let report = replayed.report().to_string();
            assert_shown(if detail == Detail::Values { &report } else { report.lines().next().unwrap_or_default() });
        }
        Ok(())
    }

    #[test]
    #[cfg(feature = "diagnostics")] // for the line that wrote last
    fn system_is_shown() -> Outcome {
        let report = fixed(before).compare_with(fixed(after), recorded(Detail::Roots)?)?.to_string();
        let lines: Vec<&str> = report.lines().skip_while(|line| !line.contains("first wrong system")).take(2).collect();
        assert_shown(&lines.join("\n"));
        Ok(())
    }

    #[test]
    #[cfg(feature = "testing")]
    fn audit_is_shown() -> Outcome {
        let report = bevy_replay::testing::Audit::new(|| fixed(before)).run(recorded(Detail::Roots)?)?.to_string();
        let executors = "the app's own executors             ";
        let rows = report.lines().map(|line| match line.strip_prefix(executors) {
            Some(_) => format!("{executors}not tested  needs the feature `multi_threaded`"),
            None => line.to_owned(),
        });
        assert_shown(&rows.collect::<Vec<_>>().join("\n"));
        Ok(())
    }

    #[test]
    fn tape_reduced_by_hand_still_diverges() -> Outcome {
        let start = GUIDE.find("```ron").ok_or("no tape")?;
        let end = GUIDE[start + 3..].find("```").ok_or("no end")? + start + 6;
        let tape = Tape::from_text(&GUIDE[start..end])?;
        assert_eq!(tape.tick_count(), 1);
        let report = fixed(before).compare_with(fixed(after), tape)?.to_string();
        assert_shown(report.lines().next().unwrap_or_default());
        Ok(())
    }
}
