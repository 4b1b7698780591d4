//! At the recorder's limit the tape ends whole, the game is told and runs on. Tapes of different lengths.

use crate::game::{Outcome, Steer, arena, error_of, headless, script};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{EndReason, RecordingEnded, Run, Verdict};
use core::time::Duration;

/// What observers were told, and in which tick.
#[derive(Resource, Default)]
struct Told(Vec<(EndReason, u64, u64)>);

fn limited(limits: RecorderLimits) -> Headless {
    headless(move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("limits").limits(limits)).record_input::<Steer>();
        app.register_authoritative_resource::<Sum>().init_resource::<Sum>();
        app.add_systems(FixedUpdate, |steer: Res<Steer>, mut sum: ResMut<Sum>| sum.0 += i64::from(steer.x) + 1);
        app.init_resource::<Told>();
        app.add_observer(|ended: On<RecordingEnded>, tick: Res<SimTick>, mut told: ResMut<Told>| {
            told.0.push((ended.reason, ended.tape.tick_count(), tick.0));
        });
    })
    .detail(Detail::Roots)
}

#[derive(Resource, Canonical, Default)]
struct Sum(i64);

/// The tape is whole: it is on its own what a shorter recording would have been.
fn assert_whole(run: &Run, limits: RecorderLimits, ticks: u64) -> Outcome {
    let tape = run.tape();
    assert_eq!((tape.end.reason, tape.tick_count()), (EndReason::CapacityReached, ticks));
    assert_eq!(tape.digests.roots.len() as u64, ticks);
    assert_eq!(run.resource::<Told>()?.0, [(EndReason::CapacityReached, ticks, ticks)], "told once, in its tick");
    assert_eq!(bevy_replay::Tape::from_bytes(&tape.to_bytes())?, **tape);
    let replayed = limited(limits).verify(tape)?;
    replayed.assert_verified();
    assert_eq!(replayed.report().compared, ticks);
    Ok(())
}

#[test]
fn tape_ends_whole_at_the_limit_of_ticks_and_the_game_runs_on() -> Outcome {
    let limits = RecorderLimits { ticks: 100, ..RecorderLimits::default() };
    let run = limited(limits).inputs(script(150)).run()?;
    assert_eq!(run.resource::<SimTick>()?.0, 150);
    let sum: i64 = script(150).map(|steer| i64::from(steer.x) + 1).sum();
    assert_eq!(run.resource::<Sum>()?.0, sum, "the game went on with its input");
    assert_whole(&run, limits, 100)
}

#[test]
fn tape_below_the_limit_of_ticks_is_stopped_by_the_game() -> Outcome {
    let limits = RecorderLimits { ticks: 100, ..RecorderLimits::default() };
    let run = limited(limits).inputs(script(99)).run()?;
    assert_eq!((run.tape().end.reason, run.tape().tick_count()), (EndReason::Stopped, 99));
    Ok(())
}

#[test]
fn tape_ends_whole_at_the_limit_of_bytes_and_the_game_runs_on() -> Outcome {
    let limits = RecorderLimits { bytes: 1000, ..RecorderLimits::default() };
    let run = limited(limits).inputs(script(500)).run()?;
    assert_eq!(run.resource::<SimTick>()?.0, 500);
    let ticks = run.tape().tick_count();
    assert!((20..120).contains(&ticks), "{ticks} ticks of at least 8 bytes in 1000 bytes");
    assert_whole(&run, limits, ticks)
}

#[test]
fn more_detail_fits_fewer_ticks_under_the_limit_of_bytes() -> Outcome {
    let limits = RecorderLimits { bytes: 20_000, ..RecorderLimits::default() };
    let mut ticks = Vec::new();
    for detail in [Detail::Roots, Detail::Lanes, Detail::Values] {
        ticks.push(limited(limits).detail(detail).inputs(script(5000)).run()?.tape().tick_count());
    }
    assert!(ticks.is_sorted_by(|more, fewer| more > fewer), "{ticks:?}: more detail, fewer ticks");
    Ok(())
}

#[test]
fn limit_smaller_than_the_first_tick_keeps_one_whole_tick() -> Outcome {
    let limits = RecorderLimits { ticks: 0, bytes: 0 };
    let run = limited(limits).inputs(script(5)).run()?;
    assert_whole(&run, limits, 1)
}

#[test]
fn tape_of_500_ticks_against_one_of_600_ends_at_tick_500() -> Outcome {
    let short = headless(arena).inputs(script(500)).detail(Detail::Roots).run()?;
    let long = headless(arena).inputs(script(600)).detail(Detail::Roots).run()?;
    let report = short.tape().diff(long.tape());
    assert_eq!((report.verdict, report.compared, report.ticks), (Verdict::Diverged, 500, (500, 600)));
    assert_eq!(report.divergence, None, "all that both have agrees");
    assert_eq!(report.first_divergence(), "tick 500");
    assert_eq!(report.to_string(), "diverged at tick 500: the tape ends at tick 500, the other goes on to 600");
    let report = long.tape().diff(short.tape());
    assert_eq!(report.to_string(), "diverged at tick 500: the run ends at tick 500, the other goes on to 600");
    let report = long.tape().diff(long.tape());
    assert_eq!(report.to_string(), "verified: replayed 600 ticks, 0 diverged");
    Ok(())
}

#[test]
fn tapes_of_different_lengths_that_differ_before_say_both() -> Outcome {
    let record = |ticks, first: i8| {
        let inputs =
            script(ticks).zip(0..).map(move |(steer, i)| Steer { x: if i == 7 { first } else { steer.x }, ..steer });
        headless(arena).inputs(inputs).detail(Detail::Values).run()
    };
    let (short, long) = (record(20, 1)?, record(30, -1)?);
    let report = short.tape().diff(long.tape());
    assert_eq!(report.first_divergence(), "tick 7");
    let text = report.to_string();
    assert!(text.contains("length               the tape ends at tick 20, the other goes on to 30"), "{text}");
    Ok(())
}

#[test]
fn run_that_takes_longer_than_it_may_is_given_up() -> Outcome {
    let error = error_of(limited(RecorderLimits::default()).time_max(Duration::ZERO).record(1000));
    let ReplayError::TooSlow { ticks, .. } = error else { return Err(error.into()) };
    assert!(ticks < 1000, "{ticks} ticks ran");
    let run = limited(RecorderLimits::default()).time_max(Duration::from_secs(3600)).record(10)?;
    assert_eq!(run.tape().tick_count(), 10);
    Ok(())
}

#[test]
fn claims_of_a_replay_stand_beside_those_of_the_tape() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("claims"));
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut deck: ResMut<Deck>| {
            deck.claim("ticks", (tick.0 + 1).to_string());
        });
    };
    let recorded = headless(game).record(7)?;
    assert!(recorded.claims().is_empty(), "they are on the tape");
    let replayed = headless(game).verify(recorded.tape())?;
    assert_eq!(replayed.claims(), &recorded.tape().end.claims);
    assert_eq!(replayed.claims()["ticks"], "7");
    Ok(())
}
