//! The game: a hero in the middle of a meadow of sweets, three waves of enemies, two weapons and a ring.
//!
//! It is written as a game must be that is compared bit by bit: fixed-point numbers, timers that count ticks,
//! one stream of random numbers per purpose, and loops sorted by `SimId` wherever their order matters.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::fixed::{Fx, FxVec2};
use bevy_replay::prelude::*;

/// What a tick reads.
#[derive(Resource, Default, Clone, TickInput)]
pub(crate) struct Pad {
    x: i8,
    y: i8,
    #[once]
    ring: bool,
}

/// Who a body belongs to. The hero is a body like the others, so that there are always two of each type.
#[derive(Component, Canonical, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Hero,
    Sweets,
}

#[derive(Component, Canonical, Default, Clone, Copy)]
pub(crate) struct Position(FxVec2);

/// Per tick.
#[derive(Component, Canonical, Default, Clone, Copy)]
pub(crate) struct Velocity(FxVec2);

#[derive(Component, Canonical, Clone, Copy)]
pub(crate) struct Health(u16);

#[derive(Component, Canonical)]
pub(crate) struct Enemy {
    kind: Kind,
    /// It stands still until this tick.
    stunned_until: u64,
}

#[derive(Canonical, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Jelly,
    Brittle,
}

/// Flies straight on, and is spent by what it hits.
#[derive(Component, Canonical)]
pub(crate) struct Gumdrop {
    ticks_left: u16,
}

/// Flies out and comes back, and hits what it passes.
#[derive(Component, Canonical)]
pub(crate) struct Boomerang {
    age: u16,
    hits: u16,
}

/// Thrown by itself whenever it is ready.
#[derive(Component, Canonical)]
pub(crate) struct Weapon {
    throws: Throw,
    ready_at: u64,
}

#[derive(Canonical, Clone, Copy, PartialEq, Eq)]
enum Throw {
    Gumdrop,
    Boomerang,
}

/// Lies where an enemy fell.
#[derive(Component, Canonical)]
pub(crate) struct Sugar {
    worth: u32,
    gone_at: u64,
}

#[derive(Resource, Canonical, Default, Debug)]
pub(crate) struct Score {
    pub(crate) points: u32,
    pub(crate) kills: u32,
}

#[derive(Resource, Canonical)]
pub(crate) struct Wave {
    pub(crate) number: u32,
    waiting: u32,
    next_at: u64,
}

/// The thunder ring: stuns and hurts everything near, by itself when enough is near, or on the button.
#[derive(Resource, Canonical, Default)]
pub(crate) struct ThunderRing {
    ready_at: u64,
    pub(crate) thunders: u32,
}

#[derive(StreamLabel)]
struct Spawns;

#[derive(StreamLabel)]
struct Loot;

const WAVES: u32 = 3;
const WAVE_TICKS: u64 = 560;
const REACH: Fx = Fx::lit("90");

/// The game at level 1.
pub(crate) fn app(app: &mut App) {
    game(1)(app);
}

/// The game: the level says how many enemies a wave has.
pub(crate) fn game(level: u32) -> impl Fn(&mut App) + Clone + Send + Sync + 'static {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("candy").rules(1).seed(12_345))
            .record_input::<Pad>()
            .register_authoritative::<(Side, Position, Velocity, Health, Enemy, Gumdrop, Boomerang, Weapon, Sugar)>()
            .register_authoritative_resource::<Score>()
            .register_authoritative_resource::<Wave>()
            .register_authoritative_resource::<ThunderRing>()
            .register_stream::<Spawns>()
            .register_stream::<Loot>()
            .init_resource::<Score>()
            .init_resource::<ThunderRing>()
            .insert_resource(Wave { number: 0, waiting: 0, next_at: 0 })
            .add_systems(Startup, populate)
            .add_systems(
                FixedUpdate,
                (begin_wave, spawn(level), steer, chase, fly, thunder, throw, hit, touch, collect).chain(),
            );
    }
}

fn populate(mut commands: Commands) {
    commands.spawn((Side::Hero, Position::default(), Velocity::default(), Health(2000)));
    commands.spawn(Weapon { throws: Throw::Gumdrop, ready_at: 10 });
    commands.spawn(Weapon { throws: Throw::Boomerang, ready_at: 25 });
}

fn begin_wave(tick: Res<SimTick>, mut wave: ResMut<Wave>) {
    if wave.number < WAVES && tick.0 >= wave.next_at {
        wave.number += 1;
        wave.waiting = u32::MAX; // filled in by `spawn`, which knows the level
        wave.next_at = tick.0 + WAVE_TICKS;
    }
}

/// A new enemy every eighth tick, on a circle around the meadow.
fn spawn(level: u32) -> impl FnMut(Res<SimTick>, ResMut<Wave>, Stream<Spawns>, Commands) {
    move |tick, mut wave, mut rng, mut commands| {
        if wave.waiting == u32::MAX {
            wave.waiting = 22 + 6 * level + 4 * wave.number;
        }
        if wave.waiting == 0 || !tick.0.is_multiple_of(8) {
            return;
        }
        wave.waiting -= 1;
        let angle = Fx::from_bits(rng.random_range(0..Fx::TAU.to_bits()));
        let kind = if rng.random_bool(0.3) { Kind::Brittle } else { Kind::Jelly };
        let health = if kind == Kind::Brittle { 12 } else { 30 };
        let place = FxVec2::X.rotate(angle) * Fx::lit("260");
        let enemy = Enemy { kind, stunned_until: 0 };
        commands.spawn((Side::Sweets, enemy, Position(place), Velocity::default(), Health(health)));
    }
}

type Hero<'w, 's, D> = Query<'w, 's, (D, &'static Side), Without<Enemy>>;

fn steer(pad: Res<Pad>, mut heroes: Hero<&'static mut Velocity>) {
    for (mut velocity, side) in &mut heroes {
        if *side == Side::Hero {
            let wish = FxVec2::from_ints(pad.x.into(), pad.y.into());
            velocity.0 = wish.normalise().unwrap_or_default() * Fx::lit("1.5");
        }
    }
}

/// Where the hero is.
fn hero_of(heroes: &Hero<&'static Position>) -> Option<FxVec2> {
    heroes.iter().find(|(_, side)| **side == Side::Hero).map(|(position, _)| position.0)
}

fn chase(
    tick: Res<SimTick>,
    heroes: Hero<&'static Position>,
    mut enemies: Query<(&Enemy, &Position, &mut Velocity), Without<Weapon>>,
) {
    let Some(hero) = hero_of(&heroes) else { return };
    for (enemy, position, mut velocity) in &mut enemies {
        let speed = if enemy.kind == Kind::Brittle { Fx::lit("0.9") } else { Fx::lit("0.55") };
        let stunned = tick.0 < enemy.stunned_until;
        let towards = (hero - position.0).normalise().unwrap_or_default();
        // They come in spirals.
        velocity.0 = if stunned { FxVec2::ZERO } else { towards.rotate(Fx::lit("0.4")) * speed };
    }
}

fn fly(mut bodies: Query<(&mut Position, &Velocity)>) {
    for (mut position, velocity) in &mut bodies {
        position.0 += velocity.0;
    }
}

type Foes<'w, 's> =
    Query<'w, 's, (&'static SimId, &'static Position, &'static mut Health, &'static mut Enemy), With<Enemy>>;

fn thunder(
    tick: Res<SimTick>,
    pad: Res<Pad>,
    heroes: Hero<&'static Position>,
    mut ring: ResMut<ThunderRing>,
    mut foes: Foes,
) {
    let Some(hero) = hero_of(&heroes) else { return };
    let near = |position: &Position| position.0.distance(hero) < REACH;
    let count = foes.iter().filter(|(_, position, ..)| near(position)).count();
    if tick.0 < ring.ready_at || count == 0 || (count < 8 && !pad.ring) {
        return;
    }
    ring.ready_at = tick.0 + 320;
    ring.thunders += 1;
    for (_, position, mut health, mut enemy) in &mut foes {
        if near(position) {
            health.0 = health.0.saturating_sub(8);
            enemy.stunned_until = tick.0 + 90;
        }
    }
}

fn throw(
    tick: Res<SimTick>,
    heroes: Hero<&'static Position>,
    mut weapons: Query<(&SimId, &mut Weapon)>,
    enemies: Query<(&SimId, &Position), With<Enemy>>,
    mut commands: Commands,
) {
    let Some(hero) = hero_of(&heroes) else { return };
    let nearest = enemies.iter().min_by_key(|(id, position)| (position.0.distance(hero), **id));
    let Some((_, target)) = nearest.filter(|(_, position)| position.0.distance(hero) < Fx::lit("220")) else { return };
    let aim = (target.0 - hero).normalise().unwrap_or(FxVec2::X);
    for (_, mut weapon) in weapons.iter_mut().sort::<&SimId>() {
        if tick.0 < weapon.ready_at {
            continue;
        }
        let start = Position(hero);
        match weapon.throws {
            Throw::Gumdrop => {
                weapon.ready_at = tick.0 + 12;
                commands.spawn((Gumdrop { ticks_left: 70 }, start, Velocity(aim * Fx::lit("3.5"))));
            }
            Throw::Boomerang => {
                weapon.ready_at = tick.0 + 40;
                commands.spawn((Boomerang { age: 0, hits: 0 }, start, Velocity(aim * Fx::lit("3"))));
            }
        }
    }
}

type Thrown<'w, 's> = Query<
    'w,
    's,
    (
        Entity,
        &'static SimId,
        &'static Position,
        &'static mut Velocity,
        Option<&'static mut Gumdrop>,
        Option<&'static mut Boomerang>,
    ),
    (Or<(With<Gumdrop>, With<Boomerang>)>, Without<Enemy>, Without<Side>),
>;

fn hit(mut thrown: Thrown, mut foes: Foes, heroes: Hero<&'static Position>, mut commands: Commands) {
    let hero = hero_of(&heroes).unwrap_or_default();
    for (entity, _, position, mut velocity, gumdrop, boomerang) in thrown.iter_mut().sort::<&SimId>() {
        let damage = if gumdrop.is_some() { 9 } else { 4 };
        let struck = foes
            .iter_mut()
            .sort::<&SimId>()
            .find(|(_, foe, health, _)| health.0 > 0 && foe.0.distance(position.0) < Fx::lit("9"));
        let mut is_spent = false;
        if let Some(mut gumdrop) = gumdrop {
            gumdrop.ticks_left -= 1;
            is_spent = gumdrop.ticks_left == 0 || struck.is_some();
        }
        if let Some(mut boomerang) = boomerang {
            boomerang.age += 1;
            boomerang.hits += u16::from(struck.is_some());
            if boomerang.age > 45 {
                velocity.0 = (hero - position.0).normalise().unwrap_or_default() * Fx::lit("3");
                is_spent = position.0.distance(hero) < Fx::lit("4");
            }
        }
        if let Some((_, _, mut health, _)) = struck {
            health.0 = health.0.saturating_sub(damage);
        }
        if is_spent {
            commands.entity(entity).despawn();
        }
    }
}

/// What touches the hero hurts; what has no health left falls, and some leave sugar.
fn touch(
    tick: Res<SimTick>,
    mut heroes: Query<(&Side, &Position, &mut Health), Without<Enemy>>,
    enemies: Query<(Entity, &SimId, &Position, &Health), With<Enemy>>,
    mut score: ResMut<Score>,
    mut rng: Stream<Loot>,
    mut commands: Commands,
) {
    for (entity, _, position, health) in enemies.iter().sort::<&SimId>() {
        for (_, hero, mut left) in heroes.iter_mut().filter(|(side, ..)| **side == Side::Hero) {
            if hero.0.distance(position.0) < Fx::lit("10") {
                left.0 = left.0.saturating_sub(1);
            }
        }
        if health.0 == 0 {
            score.kills += 1;
            score.points += 10;
            if rng.random_bool(0.6) {
                let (worth, lasts) = (rng.random_range(1..=5), rng.random_range(150..300_u64));
                commands.spawn((Sugar { worth, gone_at: tick.0 + lasts }, *position));
            }
            commands.entity(entity).despawn();
        }
    }
}

fn collect(
    tick: Res<SimTick>,
    heroes: Hero<&'static Position>,
    sugar: Query<(Entity, &Sugar, &Position)>,
    mut score: ResMut<Score>,
    mut commands: Commands,
) {
    let hero = hero_of(&heroes).unwrap_or_default();
    let mut all: Vec<_> = sugar.iter().collect();
    all.sort_by_key(|(_, sugar, _)| (sugar.gone_at, sugar.worth)); // sums and despawns: ties do not matter
    for (entity, sugar, position) in all {
        let is_taken = position.0.distance(hero) < Fx::lit("16");
        score.points += if is_taken { sugar.worth } else { 0 };
        if is_taken || tick.0 >= sugar.gone_at {
            commands.entity(entity).despawn();
        }
    }
}
