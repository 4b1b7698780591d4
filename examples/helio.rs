//! A tiny integer simulation, recorded, replayed and compared with another version of its rules.
//!
//! Run it: `cargo run --release --example helio`
//!
//! What to look at: two replays of one tape give one checksum and no divergence; the second version of
//! the rules, run on the same inputs, is told apart at the first tick it matters, down to the field.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::tape::Tape;

fn main() -> Result<(), ReplayError> {
    let recorded = Headless::new(Helio::V1).inputs((0..120).map(scripted)).detail(Detail::Values).run()?;
    let tape: &Tape = recorded.tape();
    println!("entities: {}", entities(recorded.world()).len());
    println!("legacy checksum: {}", legacy_checksum(recorded.world()));

    // A text is a whole tape: what is replayed here could have come out of an issue.
    let pasted = Tape::from_text(&tape.to_text())?;
    let replayed = Headless::new(Helio::V1).verify(pasted)?;
    println!("legacy checksum of the replay: {}", legacy_checksum(replayed.world()));
    println!("first divergence: {}", replayed.report().first_divergence());

    println!("\nthe same inputs with version 2 of the rules:");
    let changed = Headless::new(Helio::V2).replay_inputs(tape)?;
    println!("legacy checksum: {}", legacy_checksum(changed.world()));
    println!("{}", Headless::new(Helio::V1).compare_with(Headless::new(Helio::V2), tape)?);

    println!("\nreplayed {} ticks, {} diverged", tape.tick_count(), u64::from(!replayed.report().is_verified()));
    Ok(())
}

/// What a tick reads.
#[derive(Resource, Default, Clone, TickInput)]
struct Frame {
    accel_x: i8,
    accel_y: i8,
    spawn: bool,
}

/// In thousandths: 1.0 is 1000.
#[derive(Component, Canonical, Default)]
struct Position {
    x: i32,
    y: i32,
}

/// In thousandths a tick.
#[derive(Component, Canonical)]
struct Velocity {
    x: i32,
    y: i32,
}

/// mulberry32.
#[derive(Resource, Canonical)]
struct Rng(u32);

impl Rng {
    fn draw(&mut self, low: i32, high: i32) -> i32 {
        self.0 = self.0.wrapping_add(0x6D2B_79F5);
        let mut t = (self.0 ^ (self.0 >> 15)).wrapping_mul(1 | self.0);
        t = t.wrapping_add((t ^ (t >> 7)).wrapping_mul(61 | t)) ^ t;
        let out = t ^ (t >> 14);
        low + (out % (high - low + 1).cast_unsigned()).cast_signed()
    }
}

/// The game, in two versions.
#[derive(Clone, Copy, PartialEq)]
enum Helio {
    V1,
    /// More friction, and no limit on speed.
    V2,
}

impl Plugin for Helio {
    fn build(&self, app: &mut App) {
        let rules = if *self == Self::V1 { 1 } else { 2 };
        app.add_plugins(ReplayPlugin::new("helio").rules(rules).seed(0x00C0_FFEE))
            .record_input::<Frame>()
            .register_authoritative::<(Position, Velocity)>()
            .register_authoritative_resource::<Rng>()
            .insert_resource(Rng(0x00C0_FFEE));
        match self {
            Self::V1 => app.add_systems(FixedUpdate, (accelerate::<24, 4000>, drift, spawn).chain()),
            Self::V2 => app.add_systems(FixedUpdate, (accelerate::<25, { i32::MAX }>, drift, spawn).chain()),
        };
    }
}

fn accelerate<const FRICTION: i32, const LIMIT: i32>(frame: Res<Frame>, mut velocities: Query<&mut Velocity>) {
    let next = |v: i32, accel: i8| (v + i32::from(accel) * 120 - v.signum() * FRICTION).clamp(-LIMIT, LIMIT);
    for mut velocity in &mut velocities {
        velocity.x = next(velocity.x, frame.accel_x);
        velocity.y = next(velocity.y, frame.accel_y);
    }
}

fn drift(mut bodies: Query<(&mut Position, &Velocity)>) {
    for (mut position, velocity) in &mut bodies {
        position.x += velocity.x;
        position.y += velocity.y;
    }
}

fn spawn(frame: Res<Frame>, bodies: Query<&Position>, mut rng: ResMut<Rng>, mut commands: Commands) {
    if frame.spawn && bodies.iter().len() < 64 {
        let (x, y) = (rng.draw(-4000, 4000), rng.draw(-4000, 4000));
        commands.spawn((Position::default(), Velocity { x, y }));
    }
}

/// The input of tick `i`.
fn scripted(i: u32) -> Frame {
    Frame {
        accel_x: if i % 17 < 6 { 1 } else { -i8::from(i % 17 < 12) },
        accel_y: if i % 23 < 8 { -1 } else { i8::from(i % 23 < 16) },
        spawn: i.is_multiple_of(10),
    }
}

/// Positions and velocities in the order of spawning.
fn entities(world: &World) -> Vec<[i32; 4]> {
    let Some(mut bodies) = world.try_query::<(&SimId, &Position, &Velocity)>() else { return Vec::new() };
    let mut rows: Vec<_> = bodies.iter(world).collect();
    rows.sort_by_key(|row| row.0);
    rows.into_iter().map(|(_, position, velocity)| [position.x, position.y, velocity.x, velocity.y]).collect()
}

/// FNV-1a over tick, count and all values, as the original simulation computed it: four bytes each.
fn legacy_checksum(world: &World) -> u32 {
    let rows = entities(world);
    let counts = [world.resource::<SimTick>().0, rows.len() as u64];
    let values = rows.into_iter().flatten().map(|value| u64::from(value.cast_unsigned()));
    let bytes = counts.into_iter().chain(values).flat_map(|word| word.to_le_bytes().into_iter().take(4));
    bytes.fold(0x811C_9DC5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
