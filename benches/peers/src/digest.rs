//! What it costs each tick to know whether two runs are the same.

use crate::ggrs;
use crate::table::{Part, Row, Target, median, time};
use bevy_app::{FixedMain, prelude::*};
use bevy_ecs::prelude::*;
use bevy_replay::{digest, prelude::*};
use bevy_time::{Fixed, Time, TimePlugin};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;
use synctick::{StableHash, stable_hash};

#[derive(Component, Canonical, Clone, Copy)]
struct Position([i64; 3]);
#[derive(Component, Canonical, Clone, Copy)]
struct Velocity([i64; 3]);
#[derive(Component, Canonical, Clone, Copy)]
struct Health(i32);
#[derive(Component)]
struct Red;
#[derive(Component)]
struct Blue;

pub fn part() -> Result<Part, Box<dyn Error>> {
    let (mut rows, mut still, mut ticks, mut hashes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (entities, name, rounds, runs) in [(1_000, "1 k", 25, 200), (10_000, "10 k", 15, 40), (100_000, "100 k", 9, 12)]
    {
        let (mut looked, mut recorded) = (game(entities), game(entities));
        let (mut peer, mut state) = (ggrs::Game::new(entities), Plain::new(entities));
        let mut digest = Vec::new();
        let mut unchanged = Vec::new();
        let (mut whole, mut save, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        // Several runs of one, then as many of the next: each has its memory as near as in a game that has the processor to
        // itself.
        for _ in 0..rounds {
            digest.extend(each(runs, &mut looked, |app| move_all(app.world_mut()), |app| look(app.world_mut())));
            unchanged.extend(each(runs, &mut looked, |_| {}, |app| look(app.world_mut())));
            whole.extend(each(runs, &mut recorded, |app| move_all(app.world_mut()), tick));
            save.extend(each(runs, &mut peer, ggrs::Game::move_all, ggrs::Game::save));
            plain.extend(each(runs, &mut state, Plain::move_all, |state| hash(state)));
        }
        let [digest, unchanged, whole, save, plain] = [digest, unchanged, whole, save, plain].map(median);
        check(&mut recorded, &mut peer)?;
        let row = |what: &str, target, ours: f64, peer, theirs: f64| Row {
            what: format!("{name} entities{what}, times as fast"),
            ratio: theirs / ours,
            target,
            ours: time(ours),
            peer: (peer, time(theirs)),
        };
        rows.push(row("", Target::AtLeast(20.0), digest, "bevy_ggrs", save));
        still.push(row(", none moves", Target::None, unchanged, "bevy_ggrs", save));
        ticks.push(row(", in a whole tick", Target::None, whole, "bevy_ggrs", save));
        hashes.push(row("", Target::None, digest, "synctick", plain));
    }
    rows.extend(still);
    rows.extend(ticks);
    rows.extend(hashes);
    Ok(Part {
        title: "Digest: 3 components of 24, 24 and 4 bytes, 3 archetypes; all three change before each",
        rows,
        notes: [
            "bevy_replay: `digest`, which does what the border of a tick does: all values into an image, hashed (XXH3)",
            "  none moves: values are compared with those of the last image, and none is written or hashed",
            "  whole tick: an empty game's `FixedMain` while recording, with all that Bevy and the border do in it",
            "bevy_ggrs: an empty game's `SaveWorld` with its checksums (SeaHash) alone; a session saves snapshots in it, too",
            "synctick: `stable_hash` (FNV-1a) of the same values in sorted lists; to gather them there is not counted",
        ]
        .map(Into::into)
        .into(),
    })
}

/// Seconds of each of so many runs; what `prepare` takes is not counted, nor are the first three, which find the caches as
/// others left them.
fn each<T>(runs: usize, on: &mut T, prepare: impl Fn(&mut T), run: impl Fn(&mut T)) -> Vec<f64> {
    let timed = |_| {
        prepare(on);
        let start = Instant::now();
        run(on);
        start.elapsed().as_secs_f64()
    };
    (0..runs + 3).map(timed).skip(3).collect()
}

fn move_all(world: &mut World) {
    let mut bodies = world.query::<(&mut Position, &mut Velocity, &mut Health)>();
    for (mut position, mut velocity, mut health) in bodies.iter_mut(world) {
        position.0[0] += velocity.0[0];
        velocity.0[1] ^= 1;
        health.0 ^= 1;
    }
}

fn look(world: &mut World) {
    black_box(digest(world).expect("each entity has its own sim id"));
}

fn hash(state: &Plain) {
    black_box(stable_hash(black_box(state)));
}

/// The same state where there is no ECS to read it from.
#[derive(StableHash)]
struct Plain {
    ids: Vec<u64>,
    positions: Vec<[i64; 3]>,
    velocities: Vec<[i64; 3]>,
    healths: Vec<i32>,
}

impl Plain {
    fn move_all(&mut self) {
        for (position, velocity) in self.positions.iter_mut().zip(&mut self.velocities) {
            position[0] += velocity[0];
            velocity[1] ^= 1;
        }
        self.healths.iter_mut().for_each(|health| *health ^= 1);
    }

    fn new(entities: u32) -> Self {
        let all = 0..entities;
        Self {
            ids: all.clone().map(u64::from).collect(),
            positions: all.clone().map(|i| [i.into(); 3]).collect(),
            velocities: all.clone().map(|_| [1; 3]).collect(),
            healths: all.map(|_| 100).collect(),
        }
    }
}

/// A game that is recorded, and does nothing.
fn game(entities: u32) -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, ReplayPlugin::new("peers")));
    app.register_authoritative::<(Position, Velocity, Health)>();
    app.finish();
    let world = app.world_mut();
    for i in 0..entities {
        let body = (Position([i.into(); 3]), Velocity([1; 3]), Health(100));
        match i % 3 {
            0 => world.spawn(body),
            1 => world.spawn((body, Red)),
            _ => world.spawn((body, Blue)),
        };
    }
    world.resource_mut::<Deck>().record();
    app
}

/// A whole tick.
fn tick(app: &mut App) {
    let mut clock = app.world_mut().resource_mut::<Time<Fixed>>();
    let timestep = clock.timestep();
    clock.advance_by(timestep);
    app.world_mut().run_schedule(FixedMain);
}

/// That both have really looked.
fn check(ours: &mut App, peer: &mut ggrs::Game) -> Result<(), Box<dyn Error>> {
    let before = peer.checksum();
    peer.disturb();
    peer.save();
    if peer.checksum() == before {
        return Err("bevy_ggrs has seen no change".into());
    }
    ours.world_mut().resource_mut::<Deck>().stop();
    tick(ours);
    let deck = ours.world().resource::<Deck>();
    let tape = deck.tape().ok_or("nothing was recorded")?;
    if tape.digests.roots.len() as u64 != tape.tick_count() || tape.tick_count() == 0 {
        return Err("not each tick has a digest".into());
    }
    Ok(())
}
