//! The performance targets, as ratios against the physical limit in the same run.
//!
//! Run it: `cargo bench --bench targets`; a word behind `--` picks rows by their names.
//!
//! The limit is copying and hashing (XXH3-64) the same bytes, sim ids included, once, right after they were written, as
//! a game writes its state. Each figure is the quotient of the medians of many runs of both, which take turns, so that
//! both meet the same noise. `SHORT` means that the target is missed.
//!
//! Digests are taken on one thread: their worlds have no compute pool. The games have one, as Bevy's own do, and their
//! systems run on it; three types of 10,000 entities are just enough for its threads to help with the digest, too. Where all
//! rows change, one capture in sixteen compares them first, which takes half as long again and is in no median.

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
    row("digest, 3 archetypes, all changed", 1.6, || to_limit(n, &mut world(n, 3), move_all));
    row("digest, 1 archetype in table order, all changed", 1.0, || to_limit(n, &mut world(n, 1), move_all));
    row("digest, 3 archetypes, 1 % changed", 1.1, || to_limit(n, &mut world(n, 3), move_some));
    row("the same, trusting change ticks", 0.5, || to_limit(n, &mut trusting(n, 3), move_some));
    row("digest, 3 archetypes, 1 % despawned and spawned", 4.0, || to_limit(n, &mut world(n, 3), churn));
    row("growth 1 k to 1 M entities, ratio off its middle by", 0.3, growth);
    row("game of 10 k entities, digest each tick / bare", 1.1, || {
        let [bare, recording] = frames([Game::Bare, Game::Recording]);
        let mut limit = Limit::of(10_000);
        let share = common::median((0..201).map(|_| limit.run()).collect()) / bare;
        println!("a frame of the game of 10 k entities: {:.1} us bare; the limit is {share:.2} of it", bare * 1e6);
        recording / bare
    });
    row("game of 10 k entities, plugin idle / bare", 1.01, || {
        let [bare, idle] = frames([Game::Bare, Game::Idle]);
        idle / bare
    });
}

fn growth() -> f64 {
    let ratios = [1_000, 10_000, 100_000, 1_000_000].map(|n| to_limit(n, &mut world(n, 3), move_all));
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

/// Turns of the limit and of digests.
const TURNS: usize = 10;
/// The first runs of a turn find the caches as the other left them, and are not counted.
const WARM_RUNS: usize = 3;

/// Time a digest of so many entities takes, over the limit; `prepare` runs before each and is not counted.
fn to_limit(n: usize, world: &mut World, prepare: fn(&mut World)) -> f64 {
    let mut limit = Limit::of(n);
    let (mut limits, mut digests) = (Vec::new(), Vec::new());
    let runs = (1_000_000 / n).clamp(15, 500); // a turn takes some milliseconds, and a large world's some tenths of a second
    for _ in 0..TURNS {
        limits.extend((0..runs).map(|_| limit.run()).skip(WARM_RUNS));
        let timed = |_| {
            prepare(world);
            let start = Instant::now();
            black_box(digest(world).expect("each entity has its own sim id"));
            start.elapsed().as_secs_f64()
        };
        digests.extend((0..runs).map(timed).skip(WARM_RUNS));
    }
    common::median(digests) / common::median(limits)
}

/// The bytes of a world, ids included, and where they are copied.
struct Limit {
    source: Vec<u8>,
    target: Vec<u8>,
}

impl Limit {
    fn of(n: usize) -> Self {
        let bytes = n * (24 + 24 + 4 + 3 * 8);
        Self { source: vec![7; bytes], target: vec![0; bytes] }
    }

    /// Seconds it takes to copy and hash them, after they were written.
    fn run(&mut self) -> f64 {
        black_box(&mut self.source).chunks_mut(8).for_each(|word| word[0] ^= 1);
        let start = Instant::now();
        self.target.copy_from_slice(black_box(&self.source));
        black_box(XxHash3_64::oneshot(&self.target));
        start.elapsed().as_secs_f64()
    }
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
