//! A tour of the deck: record, seek back, take over, branch, compare.
//!
//! Run it: `cargo run --release --example time_travel`
//!
//! What to look at: the game is played to tick 300, goes back to tick 120 and is played on by somebody else. Both futures
//! are tapes that share their beginning; the comparison names the first tick and the field where they part.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{SeekFinished, TimeTravel};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

/// What a tick reads.
#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
    #[once]
    jump: bool,
}

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
    y: i32,
    rise: i32,
}

#[derive(Component, Canonical)]
struct Coin(i32);

#[derive(Resource, Canonical, Default)]
struct Score(u32);

/// Who holds the controls.
#[derive(Resource, Default)]
struct Player(u64);

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("time_travel").detail(Detail::Values).rewind(true));
    app.record_input::<Steer>().register_authoritative::<(Hero, Coin)>();
    app.init_resource::<Score>().register_authoritative_resource::<Score>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
        commands.spawn_batch((1..40).map(|place| Coin(place * 9)));
    });
    app.add_systems(FixedUpdate, (run_and_jump, collect).chain());
}

fn run_and_jump(steer: Res<Steer>, mut hero: Single<&mut Hero>) {
    hero.x += i32::from(steer.x);
    if steer.jump && hero.y == 0 {
        hero.rise = 6;
    }
    hero.y = (hero.y + hero.rise).max(0);
    hero.rise = if hero.y == 0 { 0 } else { hero.rise - 1 };
}

fn collect(hero: Single<&Hero>, coins: Query<(Entity, &Coin)>, mut score: ResMut<Score>, mut commands: Commands) {
    for (coin, place) in &coins {
        if place.0 == hero.x && hero.y > 10 {
            score.0 += 1;
            commands.entity(coin).despawn();
        }
    }
}

/// The first player runs right and jumps now and then, the second jumps more often.
fn play(tick: Res<SimTick>, player: Res<Player>, mut steer: ResMut<Steer>) {
    steer.x = 1;
    steer.jump |= tick.0.is_multiple_of([31, 12][usize::from(player.0 > 0)]);
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut app = App::new();
    app.add_plugins((TimePlugin, game)).init_resource::<Player>().add_systems(PreUpdate, play);
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.add_observer(|arrived: On<SeekFinished>| println!("went back: {} ticks have run", arrived.tick));

    deck(&mut app).record();
    run_to(&mut app, 300);
    println!("played 300 ticks: score {}", score(&app));

    deck(&mut app).seek(120);
    while tick(&app) != 120 {
        app.update();
    }
    println!("the score then: {}", score(&app));
    app.world_mut().resource_mut::<Player>().0 = 1;
    deck(&mut app).take_over();
    run_to(&mut app, 300);
    println!("played on by somebody else to tick 300: score {}", score(&app));
    deck(&mut app).stop();
    app.update();

    let branches = app.world().resource::<Deck>().branches().to_vec();
    for (index, branch) in branches.iter().enumerate() {
        let parent = branch.parent.map_or("a game of its own".into(), |parent| format!("from branch {parent}"));
        println!("branch {index}: {} ticks, {parent}, parts at tick {}", branch.tape.tick_count(), branch.at);
    }
    println!("\n{}", branches[0].tape.diff(&branches[1].tape));

    // Any tick of either future, without the app that made it.
    let mut travel = TimeTravel::new(|| Headless::new(game), &branches[1].tape)?;
    for target in [300, 150, 151, 10, 299] {
        travel.seek(target)?;
        let score = travel.world().resource::<Score>().0;
        println!("tick {target}: hero at {}, score {score}", travel.single::<Hero>()?.x);
    }
    let mut diverged = 0;
    for branch in &branches {
        diverged += u64::from(!Headless::new(game).verify(&branch.tape)?.report().is_verified());
    }
    println!("\nreplayed {} branches, {diverged} diverged", branches.len());
    Ok(())
}

fn deck(app: &mut App) -> Mut<'_, Deck> {
    app.world_mut().resource_mut::<Deck>()
}

fn tick(app: &App) -> u64 {
    app.world().resource::<SimTick>().0
}

fn score(app: &App) -> u32 {
    app.world().resource::<Score>().0
}

fn run_to(app: &mut App, ticks: u64) {
    while tick(app) < ticks {
        app.update();
    }
}
