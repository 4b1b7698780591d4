//! The game without a window.

use bevy::prelude::*;
use bevy_replay::prelude::*;
use block_dash::controls::gather;
use block_dash::game::{BLOCK, Coin, Controls, GamePlugin, Player, Score, places};

fn right() -> Controls {
    Controls { right: true, ..Controls::default() }
}

fn jump() -> Controls {
    Controls { jump: true, ..right() }
}

/// Runs to the right for so many ticks and jumps in one of them, if that is wanted.
fn run_right(ticks: usize, jumps_at: Option<usize>) -> Headless {
    Headless::new(GamePlugin).inputs((0..ticks).map(move |tick| if Some(tick) == jumps_at { jump() } else { right() }))
}

#[test]
fn running_right_collects_the_first_coin() -> Result<(), ReplayError> {
    let mut run = run_right(60, None).run()?;
    let score = run.resource::<Score>()?;
    assert_eq!((score.points, score.coins, score.jumps), (10, 1, 0));
    let left = run.world_mut().query::<&Coin>().iter(run.world()).count();
    assert_eq!(left + 1, places('o').count());
    Ok(())
}

#[test]
fn a_jump_is_three_blocks_high_and_ends_on_the_ground() -> Result<(), ReplayError> {
    let standing = run_right(5, None).run()?.single::<Player>()?.y;
    let mut highest = 0;
    for ticks in 5..50 {
        highest = highest.max(run_right(ticks, Some(4)).run()?.single::<Player>()?.y);
    }
    assert!((3 * BLOCK..4 * BLOCK).contains(&(highest - standing)), "{}", highest - standing);
    let after = run_right(60, Some(4)).run()?;
    assert_eq!((after.single::<Player>()?.y, after.single::<Player>()?.on_ground), (standing, true));
    assert_eq!(after.resource::<Score>()?.jumps, 1);
    Ok(())
}

#[test]
fn a_jump_wanted_shortly_before_landing_counts() -> Result<(), ReplayError> {
    let inputs = (0..80).map(|tick| if tick == 4 || tick == 38 { jump() } else { right() });
    let run = Headless::new(GamePlugin).inputs(inputs).run()?;
    assert_eq!(run.resource::<Score>()?.jumps, 2);
    Ok(())
}

#[test]
fn blocks_stop_the_player() -> Result<(), ReplayError> {
    // The hill in the middle of the level is three blocks high: nobody runs through it.
    let run = run_right(300, None).run()?;
    assert!((15 * BLOCK..16 * BLOCK).contains(&run.single::<Player>()?.x));
    Ok(())
}

#[test]
fn a_recording_replays_and_claims_its_score() -> Result<(), ReplayError> {
    let recorded = run_right(400, Some(100)).run()?;
    let claimed = recorded.tape().end.claims.get("score").cloned();
    let replayed = Headless::new(GamePlugin).verify(recorded.tape())?;
    replayed.assert_verified();
    assert_eq!(claimed, Some(replayed.resource::<Score>()?.points.to_string()));
    Ok(())
}

/// What the devices make of the controls.
fn controls_with(press: impl FnOnce(&mut World)) -> Controls {
    let mut world = World::new();
    world.init_resource::<Controls>();
    press(&mut world);
    world.run_system_cached(gather).map(|()| world.resource::<Controls>().clone()).unwrap_or_default()
}

#[test]
fn keyboard_and_gamepad_steer_alike() {
    let keys = controls_with(|world| {
        let mut keys = ButtonInput::<KeyCode>::default();
        keys.press(KeyCode::ArrowRight);
        keys.press(KeyCode::Space);
        world.insert_resource(keys);
    });
    let pad = controls_with(|world| {
        let mut pad = Gamepad::default();
        pad.digital_mut().press(GamepadButton::South);
        pad.analog_mut().set(GamepadAxis::LeftStickX, 0.9);
        world.spawn(pad);
    });
    assert_eq!(keys, jump());
    assert_eq!(pad, jump());
}
