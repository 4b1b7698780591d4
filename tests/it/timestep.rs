//! A game may change the length of its ticks during a run; a replay has the same ticks.

use crate::game::{Outcome, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::tape::ClockChange;
use bevy_replay::{Pacing, Tape};
use bevy_time::{Fixed, Time, TimePlugin, TimeUpdateStrategy};
use core::time::Duration;
use std::sync::Arc;

const TICK_NS: u64 = 15_625_000;
const SLOW_NS: u64 = 31_250_000;
const FAST_NS: u64 = 10_000_000;

/// Elapsed time and length of each tick, in nanoseconds.
#[derive(Resource, Canonical, Default)]
struct Clock(Vec<(u64, u64)>);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Ticks that write down what they see of time.
fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("clock")).register_authoritative_resource::<Clock>().init_resource::<Clock>();
    app.add_systems(FixedUpdate, |time: Res<Time>, fixed: Res<Time<Fixed>>, mut clock: ResMut<Clock>| {
        assert_eq!((time.elapsed(), time.delta()), (fixed.elapsed(), fixed.delta()), "both clocks of a tick agree");
        clock.0.push((nanos(time.elapsed()), nanos(time.delta())));
    });
}

/// Slow motion from tick 5 on, and back from tick 8 on: a rule of the game.
fn changed_inside(app: &mut App) {
    game(app);
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut clock: ResMut<Time<Fixed>>| match tick.0 {
        4 => clock.set_timestep(Duration::from_nanos(SLOW_NS)),
        7 => clock.set_timestep(Duration::from_nanos(TICK_NS)),
        _ => {}
    });
}

fn changes(tape: &Tape) -> Vec<(u64, u64)> {
    tape.clock.iter().map(|ClockChange { tick, timestep_ns }| (*tick, *timestep_ns)).collect()
}

fn lengths(app: &App) -> Vec<u64> {
    app.world().resource::<Clock>().0.iter().map(|(_, length)| *length).collect()
}

fn is_gapless(clock: &[(u64, u64)]) -> bool {
    clock.windows(2).all(|pair| pair[1].0 - pair[0].0 == pair[1].1)
}

/// All ways to play it headlessly.
fn assert_plays(build: fn(&mut App), tape: &Tape) -> Outcome {
    let frames = |lengths: &[u64]| Pacing::Frames(lengths.iter().map(|ms| Duration::from_millis(*ms)).collect());
    for pacing in
        [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4), Pacing::TicksPerFrame(100), frames(&[5]), frames(&[90, 3])]
    {
        let run = headless(build).pacing(pacing.clone()).verify(tape)?;
        run.assert_verified();
        assert_eq!(run.report().compared, tape.tick_count());
        assert_eq!(run.resource::<SimTick>()?.0, tape.tick_count(), "{pacing:?}: not a tick more");
    }
    Ok(())
}

#[test]
fn timestep_changed_inside_a_tick_is_recorded_and_replayed() -> Outcome {
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4), Pacing::Frames(vec![Duration::from_millis(40)])]
    {
        let run = headless(changed_inside).pacing(pacing).record(12)?;
        let clock = &run.resource::<Clock>()?.0;
        let lengths: Vec<_> = clock.iter().map(|(_, length)| *length).collect();
        assert_eq!(lengths, [[TICK_NS; 5].as_slice(), &[SLOW_NS; 3], &[TICK_NS; 4]].concat());
        assert!(is_gapless(clock), "{clock:?}");
        assert_eq!(changes(run.tape()), [(5, SLOW_NS), (8, TICK_NS)]);
        assert_plays(changed_inside, run.tape())?;
    }
    Ok(())
}

#[test]
fn frame_of_so_many_ticks_has_so_many_though_one_shortens_the_next() -> Outcome {
    fn faster(app: &mut App) {
        game(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut clock: ResMut<Time<Fixed>>| {
            if tick.0 == 1 {
                clock.set_timestep(Duration::from_nanos(FAST_NS / 10));
            }
        });
        app.init_resource::<Frames>().add_systems(Update, |tick: Res<SimTick>, mut frames: ResMut<Frames>| {
            frames.0.push(tick.0);
        });
    }
    #[derive(Resource, Default)]
    struct Frames(Vec<u64>);
    let run = headless(faster).pacing(Pacing::TicksPerFrame(4)).record(12)?;
    assert_eq!(run.resource::<Frames>()?.0, [4, 8, 12]);
    assert_eq!(run.tape().tick_count(), 12);
    Ok(())
}

/// A live app; its player turns the speed up in frame 4 and down in frame 7.
fn live(app: &mut App) {
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, game));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_nanos(SLOW_NS)));
}

fn changed_outside(app: &mut App) {
    app.add_systems(PreUpdate, |mut frame: Local<u32>, mut clock: ResMut<Time<Fixed>>| {
        match *frame {
            4 => clock.set_timestep(Duration::from_nanos(FAST_NS)),
            7 => clock.set_timestep(Duration::from_nanos(TICK_NS)),
            _ => {}
        }
        *frame += 1;
    });
}

fn recorded(app: &mut App, frames: u32) -> Result<Arc<Tape>, Box<dyn core::error::Error>> {
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    for _ in 0..frames {
        app.update();
    }
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    Ok(app.world().resource::<Deck>().tape().ok_or("no tape")?.clone())
}

#[test]
fn timestep_changed_between_ticks_is_recorded_and_replayed_without_the_change() -> Outcome {
    let mut app = App::new();
    live(&mut app);
    changed_outside(&mut app);
    let tape = recorded(&mut app, 11)?;
    let fast = changes(&tape);
    assert_eq!(fast.iter().map(|change| change.1).collect::<Vec<_>>(), [FAST_NS, TICK_NS]);
    assert_eq!(fast[0].0, 6, "two ticks a frame up to the fourth");
    assert!(fast[1].0 > 12, "three ticks a frame then");
    assert_plays(game, &tape)?;
    for per_frame in [1, 4] {
        let run = headless((game, changed_outside)).pacing(Pacing::TicksPerFrame(per_frame)).verify(&tape)?;
        run.assert_verified();
        assert_eq!(run.resource::<SimTick>()?.0, tape.tick_count());
    }
    Ok(())
}

#[test]
fn live_app_with_changes_of_its_own_has_the_ticks_of_the_tape_and_then_its_own() -> Outcome {
    let tape = headless(changed_inside).record(12)?.tape().clone();
    let mut app = App::new();
    live(&mut app);
    let to_play = tape.clone();
    app.add_systems(Startup, move |mut deck: ResMut<Deck>| {
        deck.play(to_play.clone(), bevy_replay::PlayOptions::verify());
    });
    for _ in 0..20 {
        app.update();
    }
    let report = app.world().resource::<Deck>().report().ok_or("no report")?;
    assert!(report.is_verified(), "{report}");
    let lengths = lengths(&app);
    assert_eq!(lengths[..12], [[TICK_NS; 5].as_slice(), &[SLOW_NS; 3], &[TICK_NS; 4]].concat());
    assert!(lengths.len() > 20 && lengths[12..].iter().all(|length| *length == TICK_NS));
    let clock = &app.world().resource::<Clock>().0;
    assert!(is_gapless(&clock[..12]) && is_gapless(&clock[12..]), "{clock:?}");
    Ok(())
}

#[test]
fn tape_without_its_changes_of_the_timestep_diverges() -> Outcome {
    let mut app = App::new();
    live(&mut app);
    changed_outside(&mut app);
    let mut tape = (*recorded(&mut app, 11)?).clone();
    tape.clock.clear();
    let run = headless(game).verify(tape)?;
    assert_eq!(run.report().divergence.as_ref().and_then(|found| found.tick), Some(6));
    Ok(())
}

#[test]
fn start_of_the_clock_is_the_tapes() -> Outcome {
    fn late(app: &mut App) {
        game(app);
        let mut clock = Time::<Fixed>::from_duration(Duration::from_nanos(TICK_NS));
        clock.advance_by(Duration::from_secs(100));
        app.insert_resource(clock);
    }
    let tape = headless(late).record(5)?.tape().clone();
    assert_eq!(tape.header.elapsed_ns, 100_000_000_000);
    let run = headless(game).verify(&tape)?;
    run.assert_verified();
    assert_eq!(run.resource::<Clock>()?.0[0], (100_000_000_000 + TICK_NS, TICK_NS));
    assert_plays(game, &tape)?;
    assert_plays(late, &headless(game).record(5)?.tape().clone())
}
