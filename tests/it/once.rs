//! `#[once]` fields are seen by exactly one tick, however many ticks a frame has.

use crate::game::{Outcome, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Pacing, Run};
use core::time::Duration;

#[derive(Resource, Default, Clone, TickInput)]
struct Pad {
    #[once]
    tap: bool,
    #[once]
    wheel: i32,
    /// The twin without the mark.
    held: bool,
}

/// The ticks that saw each.
#[derive(Resource, Canonical, Default, Debug, PartialEq, Eq)]
struct Seen {
    taps: Vec<u64>,
    wheel: Vec<(u64, i32)>,
    held: Vec<u64>,
}

/// The player taps and turns the wheel by 3 in these frames.
fn game(tapped: &'static [u32]) -> impl Fn(&mut App) + Send + Sync + 'static {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("once")).record_input::<Pad>();
        app.register_authoritative_resource::<Seen>().init_resource::<Seen>();
        app.add_systems(PreUpdate, |mut frame: Local<u32>, mut pad: ResMut<Pad>| {
            if tapped.contains(&*frame) {
                pad.tap |= true;
                pad.wheel += 3;
                pad.held = true;
            }
            *frame += 1;
        });
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, pad: Res<Pad>, mut seen: ResMut<Seen>| {
            if pad.tap {
                seen.taps.push(tick.0);
            }
            if pad.wheel != 0 {
                seen.wheel.push((tick.0, pad.wheel));
            }
            if pad.held {
                seen.held.push(tick.0);
            }
        });
    }
}

/// Records frames of so many ticks each; the first frame of an app has none.
fn record(ticks_per_frame: &[u32], tapped: &'static [u32]) -> Result<Run, ReplayError> {
    let lengths = [0].iter().chain(ticks_per_frame);
    let frames = lengths.map(|ticks| Duration::from_nanos(15_625_000) * *ticks).collect();
    let ticks = ticks_per_frame.iter().sum::<u32>();
    let run = headless(game(tapped)).pacing(Pacing::Frames(frames)).record(u64::from(ticks))?;
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4)] {
        let replayed = headless(game(&[])).pacing(pacing).verify(run.tape())?;
        replayed.assert_verified();
        assert_eq!(replayed.resource::<Seen>()?, run.resource::<Seen>()?);
    }
    Ok(run)
}

#[test]
fn tap_is_seen_by_one_tick_of_a_frame_with_one_two_or_three() -> Outcome {
    for (ticks_per_frame, seen) in [([1, 1, 1, 1], 1), ([2, 2, 2, 2], 2), ([3, 3, 3, 3], 3), ([1, 3, 2, 1], 1)] {
        let run = record(&ticks_per_frame, &[2])?;
        assert_eq!(run.resource::<Seen>()?.taps, [seen], "{ticks_per_frame:?}");
        assert_eq!(run.resource::<Seen>()?.wheel, [(seen, 3)], "{ticks_per_frame:?}");
    }
    Ok(())
}

#[test]
fn tap_between_two_ticks_is_seen_once() -> Outcome {
    let run = record(&[1, 0, 0, 0, 1, 2], &[3])?;
    assert_eq!(run.resource::<Seen>()?.taps, [1]);
    Ok(())
}

#[test]
fn taps_of_several_frames_without_a_tick_are_one_tap_and_the_wheel_is_summed() -> Outcome {
    let run = record(&[1, 0, 0, 0, 3, 1], &[2, 3, 4])?;
    assert_eq!(run.resource::<Seen>()?.taps, [1]);
    assert_eq!(run.resource::<Seen>()?.wheel, [(1, 9)]);
    Ok(())
}

#[test]
fn tap_in_each_frame_is_seen_by_the_first_tick_of_each() -> Outcome {
    let run = record(&[2, 0, 1, 3, 1], &[0, 1, 2, 3, 4, 5])?;
    assert_eq!(run.resource::<Seen>()?.taps, [0, 2, 3, 6], "frame by frame: ticks 0-1, none, 2, 3-5, 6");
    assert_eq!(run.resource::<Seen>()?.wheel, [(0, 6), (2, 6), (3, 3), (6, 3)]);
    Ok(())
}

#[test]
fn field_without_the_mark_is_seen_by_all_ticks() -> Outcome {
    let run = record(&[1, 2, 3], &[2])?;
    assert_eq!(run.resource::<Seen>()?.held, [1, 2, 3, 4, 5]);
    Ok(())
}

#[test]
fn input_for_each_tick_by_hand_is_seen_by_its_tick_only() -> Outcome {
    let tap = |tap| Pad { tap, wheel: i32::from(tap), held: false };
    for per_frame in [1, 3] {
        let run = headless(game(&[]))
            .pacing(Pacing::TicksPerFrame(per_frame))
            .inputs([true, false, true, true, false].map(tap))
            .record(8)?;
        assert_eq!(run.resource::<Seen>()?.taps, [0, 2, 3]);
    }
    Ok(())
}

#[test]
fn last_input_by_hand_is_not_repeated_where_another_type_has_more() -> Outcome {
    #[derive(Resource, Default, Clone, TickInput)]
    struct Other(u8);
    let game = |app: &mut App| {
        game(&[])(app);
        app.record_input::<Other>();
    };
    let tap = Pad { tap: true, wheel: 2, held: true };
    let run = headless(game).inputs([tap]).inputs([1, 2, 3].map(Other)).run()?;
    assert_eq!(run.tape().tick_count(), 3);
    assert_eq!(run.resource::<Seen>()?, &Seen { taps: vec![0], wheel: vec![(0, 2)], held: vec![0] });
    Ok(())
}
