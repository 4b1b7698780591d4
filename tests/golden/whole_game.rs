//! Layer two: a whole game, idle.

#[path = "../../examples/candy/game.rs"]
pub(crate) mod candy;

use crate::Outcome;
use bevy_replay::prelude::*;
use bevy_replay::testing::{Audit, ReplayTest};
use candy::{Enemy, Score, Wave};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn candy_whole_game() -> Outcome {
    let checked = ReplayTest::new("candy/whole_game", candy::app)
        .ticks(1800)
        .every(60)
        .seed(12_345)
        .param("level", 1)
        .param("ability", "ThunderRing")
        .idle()
        .cross_platform(true)
        .check()?;
    assert_eq!((checked.ticks, checked.snapshots), (1800, 30));
    let untested = checked.notes.iter().find(|note| note.starts_with("order untested"));
    assert_eq!(untested, None, "each type was there twice");
    if !cfg!(debug_assertions) {
        assert!(checked.speed >= 10.0, "{:.1} x real time", checked.speed);
    }
    Ok(())
}

#[test]
fn candy_is_a_whole_game_when_nobody_plays() -> Outcome {
    let most = Arc::new(AtomicUsize::new(0));
    let mut headless = Headless::new(candy::app);
    for ticks in (60..=1800).step_by(60) {
        let most = most.clone();
        headless = headless.at(ticks, move |world| {
            most.fetch_max(world.query::<&Enemy>().iter(world).count(), Ordering::Relaxed);
        });
    }
    let run = headless.record(1800)?;
    assert!(most.load(Ordering::Relaxed) >= 20, "{most:?} enemies at peak");
    assert!(run.resource::<Score>()?.kills > 0);
    assert_eq!(run.resource::<Wave>()?.number, 3);
    assert!(run.tape().header.lanes.len() >= 8);
    Ok(())
}

#[test]
fn higher_level_is_another_game() -> Outcome {
    let roots =
        |level| Ok::<_, ReplayError>(Headless::new(candy::game(level)).record(600)?.tape().digests.roots.clone());
    assert_ne!(roots(1)?, roots(2)?);
    Ok(())
}

#[test]
fn candy_does_not_depend_on_what_must_not_matter() -> Outcome {
    let tape = Headless::new(candy::app).record(300)?.tape().clone();
    let report = Audit::new(|| Headless::new(candy::app)).shuffles(4).restored_every(100).run(tape)?;
    assert!(report.is_clean(), "{report}");
    Ok(())
}
