//! The game without a window: moths, beetles and bats in a garden at night, and a lantern that the player holds.
//!
//! Loops are sorted by `SimId` wherever their order matters, and floats only meet `+ - * /` and `sqrt`, which are the
//! same on every machine. Seven systems have a wrong version in `faults`, which runs in their place while it is on.

use crate::faults::{self, Fault, instead};
use bevy::ecs::schedule::ScheduleConfigs;
use bevy::ecs::system::ScheduleSystem;
use bevy::prelude::*;
use bevy_replay::prelude::*;

/// From the middle of the garden to its edges.
pub const GARDEN: Vec2 = Vec2::new(600.0, 240.0);

/// How many there are at the beginning, in the order of their sim ids.
pub const POPULATION: [(Kind, u64); 3] = [(Kind::Moth, 200), (Kind::Beetle, 80), (Kind::Bat, 20)];

/// What the player does: it is all that reaches the game from outside, and what a tape holds.
#[derive(Resource, Default, Clone, PartialEq, Eq, Debug, TickInput)]
pub struct Lantern {
    pub x: i16,
    pub y: i16,
    #[once] // moths are frightened once, however many ticks a frame has
    pub clap: bool,
}

#[derive(Canonical, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Moth,
    Beetle,
    Bat,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Moth => "moth",
            Self::Beetle => "beetle",
            Self::Bat => "bat",
        }
    }
}

#[derive(Component, Canonical, Debug)]
pub struct Creature {
    pub kind: Kind,
}

#[derive(Component, Canonical, Clone, Copy, Debug)]
pub struct Position {
    pub x: f32,
    pub y: f32,
}

/// Per tick.
#[derive(Component, Canonical, Clone, Copy, Default, Debug)]
pub struct Velocity {
    pub x: f32,
    pub y: f32,
}

/// A creature without energy is gone.
#[derive(Component, Canonical, Debug)]
pub struct Energy(pub f32);

/// Feeds the first creature that comes by.
#[derive(Component, Canonical, Debug)]
pub struct Nectar {
    pub gone_at: u64,
}

/// Becomes a moth.
#[derive(Component, Canonical, Debug)]
pub struct Egg {
    pub number: u32,
    pub hatches_at: u64,
}

#[derive(Resource, Canonical, Default, Debug)]
pub struct Wind {
    pub x: f32,
    pub y: f32,
}

/// How many eggs were laid.
#[derive(Resource, Canonical, Default, Debug)]
pub struct Laid(pub u32);

/// How large the flame of the lantern is drawn. Nothing in the game depends on it.
#[derive(Resource, Default)]
pub struct Flame(pub f32);

#[derive(StreamLabel)]
pub struct Garden;

#[derive(StreamLabel)]
pub struct Weather;

#[derive(StreamLabel)]
pub struct Bloom;

#[derive(StreamLabel)]
pub struct Dew;

impl From<Vec2> for Position {
    fn from(Vec2 { x, y }: Vec2) -> Self {
        Self { x, y }
    }
}

impl From<Vec2> for Velocity {
    fn from(Vec2 { x, y }: Vec2) -> Self {
        Self { x, y }
    }
}

impl Position {
    pub fn get(self) -> Vec2 {
        Vec2::new(self.x, self.y)
    }
}

impl Velocity {
    pub fn get(self) -> Vec2 {
        Vec2::new(self.x, self.y)
    }
}

/// Adds the game; `Headless::new(GamePlugin)` runs it without a window.
pub struct GamePlugin;

impl Plugin for GamePlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(ReplayPlugin::new("divergence_lab").rules(1).version(env!("CARGO_PKG_VERSION")).seed(9))
            .record_input::<Lantern>()
            .register_authoritative::<(Creature, Position, Velocity, Energy, Nectar, Egg)>()
            .register_authoritative_resource::<Wind>()
            .register_authoritative_resource::<Laid>()
            .register_stream::<Garden>()
            .register_stream::<Weather>()
            .register_stream::<Bloom>()
            .register_stream::<Dew>()
            .presentation::<Name>()
            .presentation::<Flame>()
            .observation::<faults::Faults>(); // so that reports do not suspect the switch
        app.init_resource::<Wind>().init_resource::<Laid>().init_resource::<Flame>().init_resource::<faults::Faults>();
        app.add_observer(name(|creature: &Creature| creature.kind.name()))
            .add_observer(name(|_: &Nectar| "nectar"))
            .add_observer(name(|_: &Egg| "egg"))
            .add_systems(Startup, populate);
        // What is decided in a tick is first seen in the next one: a fault's first difference is its own.
        let movement = (
            drift,
            fly,
            instead(Fault::LastBit, faults::last_bit::crawl, crawl),
            instead(Fault::GlobalTransform, faults::global_transform::hunt, hunt),
        );
        let life = (bite, bloom, drink, hatch, instead(Fault::HiddenLocal, faults::hidden_local::lay, lay));
        let night = (
            instead(Fault::SystemOrder, faults::system_order::weather(), weather()),
            instead(Fault::StolenDraw, faults::stolen_draw::flicker, flicker),
            instead(Fault::HashOrder, faults::hash_order::dew, dew),
            instead(Fault::WallClock, faults::wall_clock::blow, blow),
        );
        app.add_systems(FixedUpdate, (movement.chain(), life.chain(), night.chain()).chain());
    }
}

fn populate(mut rng: Stream<Garden>, mut commands: Commands) {
    for (kind, count) in POPULATION {
        for _ in 0..count {
            let place = Vec2::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)) * GARDEN;
            commands.spawn(creature(kind, place.into(), rng.random_range(20.0..60.0)));
        }
    }
}

fn creature(kind: Kind, position: Position, energy: f32) -> impl Bundle {
    (Creature { kind }, position, Velocity::default(), Energy(energy))
}

type NamedBy<T> = (&'static SimId, &'static T);

/// Reports call things by name; also those that a replay puts back.
fn name<T: Component>(what: fn(&T) -> &str) -> impl Fn(On<Add<T>>, Query<NamedBy<T>>, Commands) {
    move |added, all, mut commands| {
        if let Ok((id, value)) = all.get(added.entity) {
            commands.entity(added.entity).insert(Name::new(format!("{} {}", what(value), id.0)));
        }
    }
}

fn drift(mut creatures: Query<(&mut Position, &mut Velocity)>) {
    for (mut position, mut velocity) in &mut creatures {
        let mut place = position.get() + velocity.get();
        let outside = place.abs().cmpgt(GARDEN);
        *velocity = Vec2::select(outside, -velocity.get(), velocity.get()).into();
        place = place.clamp(-GARDEN, GARDEN);
        *position = place.into();
    }
}

fn limited(velocity: Vec2, speed_max: f32) -> Velocity {
    let speed = velocity.length();
    (if speed > speed_max { velocity * (speed_max / speed) } else { velocity }).into()
}

/// Moths circle the lantern, carried by the wind.
fn fly(lantern: Res<Lantern>, wind: Res<Wind>, mut creatures: Query<(&Creature, &Position, &mut Velocity)>) {
    let light = Vec2::new(lantern.x.into(), lantern.y.into());
    let wind = Vec2::new(wind.x, wind.y);
    for (_, position, mut velocity) in creatures.iter_mut().filter(|(creature, ..)| creature.kind == Kind::Moth) {
        let way = light - position.get();
        let distance = way.length().max(1.0);
        let towards = way / distance;
        let pull = if distance > 70.0 { 0.05 } else { -0.08 };
        let fright = if lantern.clap && distance < 200.0 { 4.0 } else { 0.0 };
        let push = towards * (pull - fright) + towards.perp() * 0.04 + wind;
        *velocity = limited(velocity.get() + push, 2.4);
    }
}

/// The flow that beetles follow: round and round the garden.
pub(crate) fn flow(place: Vec2) -> Vec2 {
    let round = Vec2::new(-place.y / GARDEN.y, place.x / GARDEN.x);
    round * 0.9 - place / GARDEN * 0.1
}

fn crawl(mut creatures: Query<(&Creature, &Position, &mut Velocity)>) {
    for (_, position, mut velocity) in creatures.iter_mut().filter(|(creature, ..)| creature.kind == Kind::Beetle) {
        *velocity = (velocity.get() * 0.9 + flow(position.get()) * 0.1).into();
    }
}

/// Bats fly to the nearest moth; of two that are as near, to the older one.
fn hunt(creatures: Query<(&SimId, &Creature, &Position)>, mut bats: Query<(&Creature, &Position, &mut Velocity)>) {
    let moths: Vec<_> = creatures.iter().filter(|(_, creature, _)| creature.kind == Kind::Moth).collect();
    for (_, position, mut velocity) in bats.iter_mut().filter(|(creature, ..)| creature.kind == Kind::Bat) {
        let places = moths.iter().map(|(id, _, place)| (**id, place.get()));
        *velocity = hunting(position.get(), velocity.get(), places);
    }
}

/// What becomes of a bat's velocity when its prey is there.
pub(crate) fn hunting(bat: Vec2, velocity: Vec2, moths: impl Iterator<Item = (SimId, Vec2)>) -> Velocity {
    let nearest = moths
        .map(|(id, place)| (place.distance_squared(bat), id, place))
        .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let towards = nearest.map_or(Vec2::ZERO, |(_, _, place)| (place - bat).normalize_or_zero());
    limited(velocity * 0.97 + towards * 0.15, 2.0)
}

/// A moth loses what a bat gains.
fn bite(mut creatures: Query<(Entity, &SimId, &Creature, &Position, &mut Energy)>, mut commands: Commands) {
    let all: Vec<_> =
        creatures.iter().sort::<&SimId>().map(|(entity, _, kind, at, _)| (entity, kind.kind, at.get())).collect();
    let of_kind = |wanted: Kind| all.iter().filter(move |(_, kind, _)| *kind == wanted);
    for &(bat, _, from) in of_kind(Kind::Bat) {
        for &(moth, ..) in of_kind(Kind::Moth).filter(|(.., at)| at.distance_squared(from) < 64.0) {
            if let Ok([(.., mut gains), (.., mut loses)]) = creatures.get_many_mut([bat, moth]) {
                gains.0 += 1.0;
                loses.0 -= 1.0;
            }
        }
    }
    for (entity, _, _, _, energy) in creatures.iter().sort::<&SimId>() {
        if energy.0 <= 0.0 {
            commands.entity(entity).despawn();
        }
    }
}

fn bloom(tick: Res<SimTick>, nectar: Query<(), With<Nectar>>, mut rng: Stream<Bloom>, mut commands: Commands) {
    if tick.0.is_multiple_of(8) && nectar.count() < 40 {
        let place = Vec2::new(rng.random_range(-0.95..0.95), rng.random_range(-0.95..0.95)) * GARDEN;
        commands.spawn((Nectar { gone_at: tick.0 + rng.random_range(200..400_u64) }, Position::from(place)));
    }
}

/// The oldest creature that is near drinks.
fn drink(
    tick: Res<SimTick>,
    nectar: Query<(Entity, &SimId, &Nectar, &Position)>,
    mut creatures: Query<(&SimId, &Position, &mut Energy), With<Creature>>,
    mut commands: Commands,
) {
    for (entity, _, nectar, place) in nectar.iter().sort::<&SimId>() {
        let near = |position: &Position| position.get().distance_squared(place.get()) < 100.0;
        let drinker = creatures.iter_mut().filter(|(_, position, _)| near(position)).min_by_key(|(id, ..)| **id);
        let is_gone = drinker.is_some() || tick.0 >= nectar.gone_at;
        if let Some((.., mut energy)) = drinker {
            energy.0 += 15.0;
        }
        if is_gone {
            commands.entity(entity).despawn();
        }
    }
}

fn hatch(tick: Res<SimTick>, eggs: Query<(Entity, &SimId, &Egg, &Position)>, mut commands: Commands) {
    for (entity, _, egg, position) in eggs.iter().sort::<&SimId>() {
        if tick.0 >= egg.hatches_at {
            commands.entity(entity).despawn();
            commands.spawn(creature(Kind::Moth, *position, 20.0));
        }
    }
}

/// Every 24th tick the strongest beetle lays an egg.
fn lay(
    tick: Res<SimTick>,
    creatures: Query<(&SimId, &Creature, &Position, &Energy)>,
    mut laid: ResMut<Laid>,
    mut commands: Commands,
) {
    if let Some(nest) = nest(*tick, creatures) {
        commands.spawn((Egg { number: laid.0, hatches_at: tick.0 + 120 }, nest));
        laid.0 += 1;
    }
}

/// Where an egg is laid in this tick.
pub(crate) fn nest(tick: SimTick, creatures: Query<(&SimId, &Creature, &Position, &Energy)>) -> Option<Position> {
    let beetles = creatures.iter().filter(|(_, creature, ..)| creature.kind == Kind::Beetle);
    let strongest = beetles.max_by(|a, b| a.3.0.total_cmp(&b.3.0).then(a.0.cmp(b.0)));
    strongest.filter(|_| tick.0.is_multiple_of(24)).map(|(_, _, position, _)| *position)
}

/// In cold moments beetles lose a quarter of their energy, and then warm up again.
fn weather() -> ScheduleConfigs<ScheduleSystem> {
    (frost, thaw).chain()
}

fn beetles_in_the_cold(tick: SimTick, creatures: Query<(&Creature, &mut Energy)>, change: impl Fn(f32) -> f32) {
    if tick.0.is_multiple_of(50) && tick.0 > 0 {
        for (creature, mut energy) in creatures {
            if creature.kind == Kind::Beetle {
                energy.0 = change(energy.0);
            }
        }
    }
}

pub(crate) fn frost(tick: Res<SimTick>, creatures: Query<(&Creature, &mut Energy)>) {
    beetles_in_the_cold(*tick, creatures, |energy| energy * 0.75);
}

pub(crate) fn thaw(tick: Res<SimTick>, creatures: Query<(&Creature, &mut Energy)>) {
    beetles_in_the_cold(*tick, creatures, |energy| energy + 8.0);
}

/// Only shown, so its random numbers are nobody else's.
fn flicker(mut rng: CosmeticRng, mut flame: ResMut<Flame>) {
    flame.0 = rng.random_range(0.0..1.0);
}

/// Whether dew falls in this tick.
pub(crate) fn dew_falls(tick: SimTick) -> bool {
    tick.0.is_multiple_of(60) && tick.0 > 0
}

/// Every second there are three rounds of dew for everybody, the oldest first.
fn dew(tick: Res<SimTick>, mut creatures: Query<(&SimId, &mut Energy)>, mut rng: Stream<Dew>) {
    for _ in (0..3).filter(|_| dew_falls(*tick)) {
        for (_, mut energy) in creatures.iter_mut().sort::<&SimId>() {
            energy.0 += rng.random_range(0.0..2.0);
        }
    }
}

/// Whether the wind turns in this tick.
pub(crate) fn wind_turns(tick: SimTick) -> bool {
    tick.0.is_multiple_of(16)
}

fn blow(tick: Res<SimTick>, mut rng: Stream<Weather>, mut wind: ResMut<Wind>) {
    if wind_turns(*tick) {
        *wind = Wind { x: rng.random_range(-0.03..0.03), y: rng.random_range(-0.03..0.03) };
    }
}
