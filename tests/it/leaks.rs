//! What a game has besides its image is found by checks, and named.

use crate::game::{self, Outcome, arena, headless, script};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn clean_game_passes_all_checks() -> Outcome {
    let tape = headless(arena).inputs(script(200)).run()?.tape().clone();
    assert_eq!(Headless::rejoin(|| headless(arena), &tape, 50)?, None);
    assert_eq!(Headless::twice(|| headless(arena), &tape)?, None);
    assert_eq!(Headless::seeks(|| headless(arena), &tape, 20, 7)?, None);
    Ok(())
}

#[derive(Resource, Default)]
struct Wave(u32);

fn hides_a_resource(app: &mut App) {
    arena(app);
    app.init_resource::<Wave>();
    app.add_systems(FixedUpdate, |mut wave: ResMut<Wave>, mut score: ResMut<game::Score>| {
        wave.0 += 1;
        score.0 += wave.0 / 60;
    });
}

#[test]
fn resource_that_nobody_registered_is_found_by_rejoin_and_by_seeks() -> Outcome {
    let tape = headless(hides_a_resource).inputs(script(200)).run()?.tape().clone();
    let leak = Headless::rejoin(|| headless(hides_a_resource), &tape, 60)?.ok_or("it must be found")?;
    let text = leak.to_string();
    assert_eq!(leak.tick, 60);
    assert!(text.starts_with("tick 60, Score.0 ") && text.contains("state outside the image"), "{text}");
    assert!(text.contains("Wave"), "{text}");
    let leak = Headless::seeks(|| headless(hides_a_resource), &tape, 20, 7)?.ok_or("it must be found")?;
    assert!(leak.to_string().contains("Wave"), "{leak}");
    assert_eq!(Headless::twice(|| headless(hides_a_resource), &tape)?, None, "each game has its own");
    Ok(())
}

static GAMES: AtomicU32 = AtomicU32::new(0);

fn hides_a_static(app: &mut App) {
    arena(app);
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut score: ResMut<game::Score>| {
        if tick.0 == 30 {
            score.0 += GAMES.fetch_add(1, Ordering::Relaxed);
        }
    });
}

#[test]
fn static_is_found_by_playing_twice_in_one_process() -> Outcome {
    let tape = headless(hides_a_static).inputs(script(60)).run()?.tape().clone();
    let leak = Headless::twice(|| headless(hides_a_static), &tape)?.ok_or("it must be found")?;
    assert_eq!(leak.tick, 30);
    assert!(leak.to_string().contains("statics"), "{leak}");
    Ok(())
}
