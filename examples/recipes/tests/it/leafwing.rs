//! leafwing-input-manager.

use crate::keys::{MASHED, Outcome, Script, is_clean, played, short_frames, uneven_frames};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_input::ButtonState::{Pressed, Released};
use bevy_input::keyboard::KeyCode;
use bevy_replay::{Pacing, Run, prelude::*};
use leafwing_input_manager::prelude::*;
use recipes::leafwing::{Action, Hero, game};

/// The first player taps twice, each time between two ticks; the second holds a key.
const TAPS_AND_A_HOLD: Script = &[
    (4, KeyCode::KeyW, Pressed),
    (5, KeyCode::KeyW, Released),
    (10, KeyCode::ArrowRight, Pressed),
    (31, KeyCode::KeyW, Pressed),
    (32, KeyCode::KeyW, Released),
    (70, KeyCode::ArrowRight, Released),
];

fn heroes(run: &mut Run) -> Vec<(i32, u32)> {
    let world = run.world_mut();
    let mut heroes = world.query::<(&SimId, &Hero)>();
    heroes.iter(world).sort::<&SimId>().map(|(_, hero)| (hero.x, hero.jumps)).collect()
}

fn recorded() -> Result<Run, ReplayError> {
    Headless::new(played(game, TAPS_AND_A_HOLD)).pacing(short_frames()).record(60)
}

#[test]
fn tap_is_seen_by_one_tick_and_a_hold_by_each() -> Outcome {
    let mut run = recorded()?;
    // 60 frames of 5 ms hold 19.2 ticks of 15.625 ms: here 20.
    assert_eq!(heroes(&mut run), [(0, 2), (20, 0)]);
    is_clean(&mut run)
}

#[test]
fn replay_is_equal_while_other_keys_are_pressed_at_any_frame_rate() -> Outcome {
    let recorded = recorded()?;
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4), short_frames(), uneven_frames()] {
        let mut replayed = Headless::new(played(game, MASHED)).pacing(pacing).verify(recorded.tape())?.verified()?;
        assert_eq!(heroes(&mut replayed), [(0, 2), (20, 0)]);
        is_clean(&mut replayed)?;
    }
    Ok(())
}

#[derive(Resource, Default)]
struct Seen(u32);

/// Counts what ticks would see of taps if they read `ActionState`.
fn reading_the_state(app: &mut App) {
    game(app);
    app.init_resource::<Seen>();
    app.add_systems(FixedUpdate, |players: Query<&ActionState<Action>>, mut seen: ResMut<Seen>| {
        seen.0 += u32::from(players.iter().any(|actions| actions.just_pressed(&Action::Jump)));
    });
}

#[test]
fn tick_that_reads_the_state_itself_misses_a_tap() -> Outcome {
    let mut run = Headless::new(played(reading_the_state, TAPS_AND_A_HOLD)).pacing(short_frames()).record(60)?;
    assert_eq!(heroes(&mut run)[0].1, 2);
    assert_eq!(run.resource::<Seen>()?.0, 1);
    Ok(())
}

#[test]
fn replay_of_ticks_that_read_the_state_itself_sees_live_keys() -> Outcome {
    let recorded = Headless::new(played(reading_the_state, &[])).record(60)?;
    let replayed = Headless::new(played(reading_the_state, MASHED)).verify(recorded.tape())?.verified()?;
    assert!(replayed.resource::<Seen>()?.0 > 0);
    Ok(())
}

#[test]
fn manager_does_not_see_a_tap_within_one_frame() -> Outcome {
    const TAP: Script = &[(4, KeyCode::KeyW, Pressed), (4, KeyCode::KeyW, Released)];
    let mut run = Headless::new(played(game, TAP)).pacing(short_frames()).record(20)?;
    assert_eq!(heroes(&mut run), [(0, 0), (0, 0)]);
    Ok(())
}

#[test]
fn game_goes_on_from_the_middle_while_a_key_is_held() -> Outcome {
    assert_eq!(Headless::rejoin(|| Headless::new(game), recorded()?.tape(), 7)?, None);
    Ok(())
}
