//! bevy_enhanced_input.

use crate::keys::{MASHED, Outcome, Script, is_clean, played, short_frames, uneven_frames};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::related;
use bevy_enhanced_input::prelude::*;
use bevy_input::ButtonState::{Pressed, Released};
use bevy_input::keyboard::KeyCode;
use bevy_replay::{Pacing, Run, prelude::*};
use recipes::enhanced_input::{Hero, game};

/// Two taps between ticks, one key that is held, one that is held for long enough, and one that is not.
const TAPS_AND_HOLDS: Script = &[
    (4, KeyCode::Space, Pressed),
    (5, KeyCode::Space, Released),
    (10, KeyCode::KeyD, Pressed),
    (20, KeyCode::KeyC, Pressed),
    (31, KeyCode::Space, Pressed),
    (31, KeyCode::Space, Released), // within one frame
    (50, KeyCode::KeyC, Released),
    (60, KeyCode::KeyC, Pressed),
    (70, KeyCode::KeyD, Released),
    (120, KeyCode::KeyC, Released),
];

fn hero(run: &Run) -> Result<(i32, u32, u32), ReplayError> {
    let hero = run.single::<Hero>()?;
    Ok((hero.x, hero.jumps, hero.charges))
}

fn recorded() -> Result<Run, ReplayError> {
    Headless::new(played(game, TAPS_AND_HOLDS)).pacing(short_frames()).record(60)
}

#[test]
fn tap_is_seen_by_one_tick_and_a_hold_by_each() -> Outcome {
    let mut run = recorded()?;
    assert_eq!(hero(&run)?, (20, 2, 1));
    is_clean(&mut run)
}

#[test]
fn replay_is_equal_while_other_keys_are_pressed_at_any_frame_rate() -> Outcome {
    let recorded = recorded()?;
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4), short_frames(), uneven_frames()] {
        let mut replayed = Headless::new(played(game, MASHED)).pacing(pacing).verify(recorded.tape())?.verified()?;
        assert_eq!(hero(&replayed)?, (20, 2, 1));
        is_clean(&mut replayed)?;
    }
    Ok(())
}

#[test]
fn game_goes_on_from_the_middle_where_no_action_is_held() -> Outcome {
    let recorded = recorded()?;
    assert_eq!(Headless::rejoin(|| Headless::new(game), recorded.tape(), 45)?, None);
    // After 28 ticks a key is down, and its `Hold` begins anew.
    let leak = Headless::rejoin(|| Headless::new(game), recorded.tape(), 28)?.ok_or("an action is held")?;
    assert_eq!(leak.difference.as_deref(), Some("sim:0 Hero.charges 1 / 0"));
    Ok(())
}

#[derive(Component)]
struct Menu;

#[derive(InputAction)]
#[action_output(bool)]
struct Open;

#[test]
fn replay_parts_where_a_context_of_the_frame_consumes_keys_of_ticks() -> Outcome {
    let consuming = |app: &mut App| {
        played(game, TAPS_AND_HOLDS)(app);
        app.add_input_context::<Menu>().add_systems(Startup, |mut commands: Commands| {
            let settings = ActionSettings { consume_input: true, ..Default::default() };
            let open = (Action::<Open>::new(), settings, related!(Bindings[Binding::from(KeyCode::Space)]));
            commands.spawn((Menu, related!(Actions<Menu>[open])));
        });
    };
    let recorded = Headless::new(consuming).detail(Detail::Values).pacing(short_frames()).record(60)?;
    let replayed = Headless::new(played(game, &[])).verify(recorded.tape())?;
    let found = replayed.report().divergence.as_ref().ok_or("a live key was consumed")?.to_string();
    assert!(found.contains("Hero.jumps expected 0 got 1"), "{found}");
    Ok(())
}
