//! The smallest game that records and replays. Run it: `cargo run --example minimal`
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
    #[once] // seen by exactly one tick
    jump: bool,
}

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
    y: i32,
    #[canonical(observation)] // cannot change the game, so it is not compared
    _trace: Vec<String>,
}

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("minimal")).record_input::<Steer>().register_authoritative::<Hero>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
    });
    app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| {
        hero.x += i32::from(steer.x);
        hero.y = if steer.jump { 5 } else { (hero.y - 1).max(0) };
    });
}

fn main() -> Result<(), ReplayError> {
    let inputs = (0..64).map(|tick| Steer { x: 1, jump: tick == 10 });
    let recorded = Headless::new(game).inputs(inputs).run()?;
    let replayed = Headless::new(game).verify(recorded.tape())?;
    println!("{}", replayed.report());
    Ok(())
}
