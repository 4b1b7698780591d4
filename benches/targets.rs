//! The performance targets, as ratios against the physical limit in the same run.
//!
//! Run it: `cargo bench --bench targets`; a word behind `--` picks rows by their names.
//!
//! The limit is copying and hashing (XXH3-64) the same bytes, sim ids included, once. Each figure is the
//! median of many runs. `SHORT` means that the target is missed.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod common;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{digest, prelude::*};
use common::{Health, Position, Velocity, heading, row, turns};
use std::hint::black_box;
use std::time::Instant;
use twox_hash::XxHash3_64;

#[derive(Component)]
struct Red;
#[derive(Component)]
struct Blue;

fn main() {
    heading();
    let n = 100_000;
    let limit = limit(n);
    println!("limit for {n} entities: {:.0} us", limit * 1e6);
    row("digest, 3 archetypes, all changed", 1.6, || median(41, &mut world(n, 3), move_all, look) / limit);
    row("digest, 1 archetype in table order, all changed", 1.0, || {
        median(41, &mut world(n, 1), move_all, look) / limit
    });
    row("digest, 3 archetypes, 1 % changed", 1.1, || median(41, &mut world(n, 3), move_some, look) / limit);
    row("the same, trusting change ticks", 0.5, || median(41, &mut trusting(n, 3), move_some, look) / limit);
    row("digest, 3 archetypes, 1 % despawned and spawned", 4.0, || median(41, &mut world(n, 3), churn, look) / limit);
    row("growth 1 k to 1 M entities, ratio off its middle by", 0.3, growth);
    row("game of 10 k entities, digest each tick / bare", 1.1, || {
        let [bare, recording] = frames([Game::Bare, Game::Recording]);
        let share = self::limit(10_000) / bare;
        println!("a frame of the game of 10 k entities: {:.1} us bare; the limit is {share:.2} of it", bare * 1e6);
        recording / bare
    });
    row("game of 10 k entities, plugin idle / bare", 1.01, || {
        let [bare, idle] = frames([Game::Bare, Game::Idle]);
        idle / bare
    });
}

fn growth() -> f64 {
    let ratios = [(1_000, 2001), (10_000, 201), (100_000, 41), (1_000_000, 11)]
        .map(|(n, runs)| median(runs, &mut world(n, 3), move_all, look) / limit(n));
    println!("growth, 1 k / 10 k / 100 k / 1 M entities: {ratios:.2?}");
    let middle = (ratios.iter().copied().fold(f64::MAX, f64::min) + ratios.iter().copied().fold(0.0, f64::max)) / 2.0;
    ratios.iter().map(|ratio| (ratio / middle - 1.0).abs()).fold(0.0, f64::max)
}

#[derive(Clone, Copy)]
enum Game {
    Bare,
    Idle,
    Recording,
}

/// Seconds the median frame of each of these takes.
fn frames<const N: usize>(games: [Game; N]) -> [f64; N] {
    turns(&mut games.map(game), 2_000).map(common::median)
}

/// Ten thousand bodies in three archetypes that move and bounce, a tick in each frame.
fn game(game: Game) -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), bevy_time::TimePlugin));
    app.insert_resource(bevy_time::TimeUpdateStrategy::FixedTimesteps(1));
    app.add_systems(FixedUpdate, (integrate, bounce).chain());
    if !matches!(game, Game::Bare) {
        app.add_plugins(ReplayPlugin::new("targets").detail(Detail::Roots));
        app.register_authoritative::<(Position, Velocity, Health)>();
    }
    for i in 0..10_000 {
        spawn(app.world_mut(), i, 3);
    }
    if matches!(game, Game::Recording) {
        app.world_mut().resource_mut::<Deck>().record();
    }
    app
}

fn integrate(mut bodies: Query<(&mut Position, &Velocity)>) {
    for (mut position, velocity) in &mut bodies {
        for axis in 0..3 {
            position.0[axis] += velocity.0[axis];
        }
    }
}

fn bounce(mut bodies: Query<(&Position, &mut Velocity, &mut Health)>) {
    for (position, mut velocity, mut health) in &mut bodies {
        for axis in 0..3 {
            if position.0[axis].abs() > 5_000 && position.0[axis] * velocity.0[axis] > 0 {
                velocity.0[axis] = -velocity.0[axis];
                health.0 -= 1;
            }
        }
    }
}

/// Seconds the median run of `timed` takes; `prepare` runs before each and is not counted.
fn median(runs: usize, world: &mut World, prepare: fn(&mut World), timed: fn(&mut World)) -> f64 {
    let times = (0..runs + 2)
        .map(|_| {
            prepare(world);
            let start = Instant::now();
            timed(world);
            start.elapsed().as_secs_f64()
        })
        .skip(2)
        .collect();
    common::median(times)
}

fn limit(n: usize) -> f64 {
    let bytes = n * (24 + 24 + 4 + 3 * 8);
    let (source, mut target) = (vec![7_u8; bytes], vec![0_u8; bytes]);
    let times = (0..101)
        .map(|_| {
            let start = Instant::now();
            target.copy_from_slice(black_box(&source));
            black_box(XxHash3_64::oneshot(&target));
            start.elapsed().as_secs_f64()
        })
        .collect();
    common::median(times)
}

fn world(n: usize, archetypes: usize) -> World {
    filled(ReplayPlugin::new("targets"), n, archetypes)
}

fn trusting(n: usize, archetypes: usize) -> World {
    filled(ReplayPlugin::new("targets").trust_change_ticks(true), n, archetypes)
}

fn filled(plugin: ReplayPlugin, n: usize, archetypes: usize) -> World {
    let mut app = App::new();
    app.add_plugins((bevy_time::TimePlugin, plugin));
    app.register_authoritative::<(Position, Velocity, Health)>();
    app.finish();
    let mut world = core::mem::take(app.world_mut());
    (0..n).for_each(|i| spawn(&mut world, i, archetypes));
    world
}

fn spawn(world: &mut World, i: usize, archetypes: usize) {
    let body = (Position([i64::try_from(i).unwrap_or_default(); 3]), Velocity([1; 3]), Health(100));
    match i % archetypes {
        0 => world.spawn(body),
        1 => world.spawn((body, Red)),
        _ => world.spawn((body, Blue)),
    };
}

fn move_all(world: &mut World) {
    let mut bodies = world.query::<(&mut Position, &mut Velocity, &mut Health)>();
    for (mut position, mut velocity, mut health) in bodies.iter_mut(world) {
        position.0[0] += velocity.0[0];
        velocity.0[1] ^= 1;
        health.0 ^= 1;
    }
}

fn move_some(world: &mut World) {
    let mut bodies = world.query::<(&SimId, &mut Position)>();
    for (id, mut position) in bodies.iter_mut(world) {
        if id.0 % 100 == 0 {
            position.0[0] += 1;
        }
    }
}

fn churn(world: &mut World) {
    let mut bodies = world.query::<(Entity, &SimId)>();
    let all: Vec<(Entity, u64)> = bodies.iter(world).map(|(entity, id)| (entity, id.0)).collect();
    let pick = |id: u64| id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let newest = all.iter().map(|body| body.1).max().unwrap_or(0);
    let gone: Vec<Entity> = all.iter().filter(|body| pick(body.1 ^ newest) % 100 == 0).map(|body| body.0).collect();
    for (i, entity) in gone.into_iter().enumerate() {
        world.despawn(entity);
        spawn(world, i, 3);
    }
}

fn look(world: &mut World) {
    black_box(digest(world).expect("each entity has its own sim id"));
}
