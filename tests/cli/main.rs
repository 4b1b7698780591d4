//! The command line of a game, run as the program it is: this one is the game if its first argument is a command, and
//! the tests of it otherwise.

mod cases;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::Deck;
use bevy_replay::cli::ReplayCli;
use bevy_replay::prelude::*;
use bevy_replay::testing::ReplayTest;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical)]
struct Hero {
    x: i32,
}

#[derive(Resource, Canonical, Default)]
struct Score(u32);

/// Each step to the right is a point; the score is claimed as it is. The world ends at 100.
fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("steps").rules(2)).record_input::<Steer>().register_authoritative::<Hero>();
    app.register_authoritative_resource::<Score>().init_resource::<Score>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero { x: 0 });
    });
    app.add_systems(
        FixedUpdate,
        |steer: Res<Steer>, mut hero: Single<&mut Hero>, mut score: ResMut<Score>, mut deck: ResMut<Deck>| {
            hero.x += i32::from(steer.x);
            assert!(hero.x < 100, "fell off the world");
            score.0 += u32::from(steer.x > 0);
            deck.claim("score", score.0.to_string());
        },
    );
}

fn main() -> ExitCode {
    let scenario = ReplayTest::new("steps/idle", game).ticks(120);
    let scenario = match std::env::var_os("STEPS_BASELINES") {
        Some(folder) => scenario.folder(folder),
        None => scenario,
    };
    if let Some(code) = ReplayCli::new(game).scenario(scenario).run() {
        return code;
    }
    let trial = |(name, test): (&str, cases::Test)| {
        Trial::test(name, move || test().map_err(|error| Failed::from(error.to_string())))
    };
    libtest_mimic::run(&Arguments::from_args(), cases::ALL.into_iter().map(trial).collect()).exit_code()
}
