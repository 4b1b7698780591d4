//! One-line expectations: in a test, and on a tape whose inputs are played.

use crate::game::{Outcome, error_of, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Pacing, ReplayError, Tape};

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    jump: bool,
}

#[derive(Component, Canonical, Default)]
struct Player {
    y: i32,
    on_ground: bool,
}

/// A player who falls a tick after the jump; with the fault never.
fn game(fault: bool) -> impl Fn(&mut App) + Send + Sync + 'static {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("expectations")).record_input::<Steer>().register_authoritative::<Player>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Player::default());
        });
        app.add_systems(FixedUpdate, move |steer: Res<Steer>, mut player: Single<&mut Player>| {
            player.y = if steer.jump { 5 } else { (player.y - i32::from(!fault)).max(0) };
            player.on_ground = player.y == 0;
        });
    }
}

/// The tape of a bug, with what should be so instead.
fn bug() -> Result<Tape, ReplayError> {
    let recorded = headless(game(true)).inputs((0..20).map(|tick| Steer { jump: tick == 10 })).run()?;
    let mut tape = Tape::clone(recorded.tape());
    tape.header.expectations = vec!["tick 16 Player.on_ground == true".into()];
    Ok(tape)
}

#[test]
fn a_tape_with_an_expectation_is_red_with_the_bug_and_green_without_it() -> Outcome {
    let tape = Tape::from_text(&bug()?.to_text())?;
    headless(game(false)).replay_inputs(&tape)?;
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(7)] {
        let error = error_of(headless(game(true)).pacing(pacing).replay_inputs(&tape));
        assert_eq!(error.to_string(), "expected tick 16 Player.on_ground == true, got false");
    }
    headless(game(true)).verify(&tape)?.assert_verified(); // digests say nothing of what should be
    Ok(())
}

#[test]
fn a_test_can_expect_more() -> Outcome {
    let tape = bug()?;
    let replay = |line: &str| headless(game(false)).expect(line).replay_inputs(&tape);
    replay("tick 11 [sim:0] Player.y == 5")?;
    replay("tick 1 Player.y == 0")?;
    replay("tick 20 Player.on_ground == true")?;
    assert_eq!(error_of(replay("tick 11 Player.y > 5")).to_string(), "expected tick 11 Player.y > 5, got 5");
    let late = error_of(replay("tick 21 Player.y == 0")).to_string();
    assert_eq!(late, "`tick 21 Player.y == 0` is never looked at: the run has 20 ticks");
    assert!(
        error_of(replay("tick 3 Hero.y == 0")).to_string().contains("there is no type Hero (known: Disabled, Player")
    );
    assert!(error_of(replay("never")).to_string().starts_with("`never` is no expectation: "));
    Ok(())
}
