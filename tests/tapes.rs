//! One test per tape, as a game has it with `replay_tests!`: two tapes are two tests, to be listed, filtered and shared
//! out. The tapes are recorded here, so that they are of the format of the day.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use std::path::Path;
use std::process::ExitCode;

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical)]
struct Hero {
    x: i32,
}

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("tapes")).record_input::<Steer>().register_authoritative::<Hero>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero { x: 0 });
    });
    app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += i32::from(steer.x));
}

fn main() -> Result<ExitCode, Box<dyn core::error::Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tapes");
    std::fs::create_dir_all(&folder)?;
    for (name, x) in [("to_the_left", -1), ("to_the_right", 1)] {
        let recorded = Headless::new(game).inputs((0..100).map(|_| Steer { x })).run()?;
        // Other tests of this file may be reading it, in processes of their own.
        let part = folder.join(format!("{name}.{}", std::process::id()));
        std::fs::write(&part, recorded.tape().to_bytes())?;
        std::fs::rename(&part, folder.join(format!("{name}.tape")))?;
    }
    Ok(bevy_replay::testing::run_tests(game, &folder, Vec::new()))
}
