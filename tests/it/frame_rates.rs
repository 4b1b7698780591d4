//! Frames come in any length; ticks see each thing once, and tape ticks are ticks that ran.

use crate::game::{Outcome, headless};
use bevy_app::{ScheduleRunnerPlugin, prelude::*};
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Pacing, Tape};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use core::time::Duration;
use std::sync::Arc;

const TICK: Duration = Duration::from_nanos(15_625_000);

fn millis(lengths: &[u64]) -> Vec<Duration> {
    lengths.iter().map(|length| Duration::from_millis(*length)).collect()
}

/// An app that was recorded, its tape, and how many ticks each frame had.
type Recorded = (App, Arc<Tape>, Vec<u64>);

/// Records a live app over frames of these lengths; the first is the one in which Bevy's clocks start.
fn record_live(game: fn(&mut App), frames: &[Duration]) -> Result<Recorded, Box<dyn core::error::Error>> {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, game));
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    let mut ticks_per_frame = Vec::new();
    for frame in frames {
        let before = app.world().resource::<SimTick>().0;
        app.insert_resource(TimeUpdateStrategy::ManualDuration(*frame));
        app.update();
        ticks_per_frame.push(app.world().resource::<SimTick>().0 - before);
    }
    app.world_mut().resource_mut::<Deck>().stop();
    app.insert_resource(TimeUpdateStrategy::ManualDuration(TICK));
    app.update();
    let tape = app.world().resource::<Deck>().tape().ok_or("no tape")?.clone();
    Ok((app, tape, ticks_per_frame))
}

#[derive(Message, Canonical, Clone)]
struct Hit(u32);

/// (tick, message) as ticks read them.
#[derive(Resource, Canonical, Default, PartialEq, Debug)]
struct Hits(Vec<(u64, u32)>);

/// bevyengine/bevy#7691: one message per frame, read by ticks.
fn hits(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("hits")).record_messages::<Hit>();
    app.register_authoritative_resource::<Hits>().init_resource::<Hits>();
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut hits: MessageReader<Hit>, mut log: ResMut<Hits>| {
        log.0.extend(hits.read().map(|hit| (tick.0, hit.0)));
    });
}

fn one_hit_per_frame(app: &mut App) {
    hits(app);
    app.add_systems(Update, |mut frame: Local<u32>, mut hits: MessageWriter<Hit>| {
        hits.write(Hit(*frame));
        *frame += 1;
    });
}

#[test]
fn message_per_frame_is_read_once_each_whatever_the_frames() -> Outcome {
    let frames = millis(&[2, 2, 2, 2, 40, 2, 2, 60, 2, 2]);
    let (_, tape, ticks_per_frame) = record_live(one_hit_per_frame, &frames)?;
    assert_eq!(ticks_per_frame, [0, 0, 0, 0, 2, 1, 0, 4, 0, 0]);
    let expected = [(0, 0), (0, 1), (0, 2), (0, 3), (2, 4), (3, 5), (3, 6)];
    let replays = [
        headless(hits).verify(&tape)?,
        headless(one_hit_per_frame).verify(&tape)?,
        headless(one_hit_per_frame).pacing(Pacing::TicksPerFrame(3)).verify(&tape)?,
        headless(hits).pacing(Pacing::Frames(millis(&[7]))).verify(&tape)?,
    ];
    for run in replays {
        run.assert_verified();
        assert_eq!(run.resource::<Hits>()?.0, expected);
    }
    Ok(())
}

#[test]
fn app_of_minimal_plugins_replays_messages() -> Outcome {
    let (_, tape, _) = record_live(one_hit_per_frame, &millis(&[2, 2, 2, 2, 40, 2, 2, 60, 2, 2]))?;
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, ScheduleRunnerPlugin::run_once(), hits));
    Headless::from_app(app).verify(&tape)?.assert_verified();
    Ok(())
}

#[test]
fn message_that_is_not_recorded_diverges() -> Outcome {
    fn unrecorded(app: &mut App) {
        app.add_plugins(ReplayPlugin::new("hits")).add_message::<Hit>();
        app.register_authoritative_resource::<Hits>().init_resource::<Hits>();
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut hits: MessageReader<Hit>, mut log: ResMut<Hits>| {
            log.0.extend(hits.read().map(|hit| (tick.0, hit.0)));
        });
        app.add_systems(Update, |mut frame: Local<u32>, mut hits: MessageWriter<Hit>| {
            hits.write(Hit(*frame));
            *frame += 1;
        });
    }
    let (_, tape, _) = record_live(unrecorded, &millis(&[2, 2, 2, 2, 40, 2, 2, 60, 2, 2]))?;
    assert!(!headless(unrecorded).verify(&tape)?.report().is_verified());
    Ok(())
}

#[derive(Resource, Default, Clone, TickInput)]
struct KeyD {
    held: bool,
    #[once]
    just_pressed: bool,
}

/// The ticks that saw the key go down, and those that saw it held.
#[derive(Resource, Canonical, Default, Debug, PartialEq)]
struct Seen {
    just_pressed: Vec<u64>,
    held: Vec<u64>,
}

fn keys(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("suspend")).record_input::<KeyD>();
    app.register_authoritative_resource::<Seen>().init_resource::<Seen>();
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, key: Res<KeyD>, mut seen: ResMut<Seen>| {
        if key.just_pressed {
            seen.just_pressed.push(tick.0);
        }
        if key.held {
            seen.held.push(tick.0);
        }
    });
}

/// The player presses D in the frame that comes after so many ticks of frames, and lets go in the next.
fn pressed_in_frame<const FRAME: u32>(app: &mut App) {
    keys(app);
    app.add_systems(PreUpdate, |mut frame: Local<u32>, mut key: ResMut<KeyD>| {
        key.just_pressed |= *frame == FRAME;
        key.held = *frame == FRAME;
        *frame += 1;
    });
}

/// bevyengine/bevy#5692: 64 frames, one of ten seconds, 64 more.
fn suspend() -> Vec<Duration> {
    [[TICK; 64].as_slice(), &[Duration::from_secs(10)], &[TICK; 64]].concat()
}

fn assert_suspended(game: fn(&mut App), frames: &[Duration], ticks: u64) -> Outcome {
    let (app, tape, ticks_per_frame) = record_live(game, frames)?;
    let mut expected = [[1; 64].as_slice(), &[16], &[1; 64]].concat();
    if frames.len() == 130 {
        expected.insert(0, 0);
    } else {
        expected[0] = 0;
    }
    assert_eq!(ticks_per_frame, expected, "250 ms of the ten seconds");
    assert_eq!((tape.tick_count(), tape.digests.roots.len() as u64), (ticks, ticks));
    let first = ticks - 64 - 16;
    let seen = app.world().resource::<Seen>();
    assert_eq!((&*seen.just_pressed, &*seen.held), (&[first][..], &*(first..first + 16).collect::<Vec<_>>()));
    for pacing in [
        Pacing::TicksPerFrame(1),
        Pacing::TicksPerFrame(16),
        Pacing::TicksPerFrame(1000),
        Pacing::Frames(vec![Duration::from_millis(5)]),
        Pacing::Frames(vec![Duration::from_secs(10)]),
        Pacing::Frames(suspend()),
    ] {
        let run = headless(keys).pacing(pacing.clone()).verify(&tape)?;
        run.assert_verified();
        assert_eq!((run.report().compared, run.resource::<SimTick>()?.0), (ticks, ticks), "{pacing:?}");
        assert_eq!(run.resource::<Seen>()?, seen);
    }
    Ok(())
}

#[test]
fn suspend_of_ten_seconds_is_sixteen_ticks_where_the_first_frame_starts_the_clock() -> Outcome {
    assert_suspended(pressed_in_frame::<64>, &suspend(), 143)
}

#[test]
fn suspend_of_ten_seconds_is_sixteen_ticks_after_a_frame_that_started_the_clock() -> Outcome {
    let frames = [[TICK].as_slice(), &suspend()].concat();
    assert_suspended(pressed_in_frame::<65>, &frames, 144)
}
