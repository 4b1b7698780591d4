//! The game: fruit flies up, the blade cuts what is on the order, and no bomb. All integers, in thousandths.
//!
//! It knows of no window: a front end reads the entities and [`Order`], and writes [`Blade`] and [`Choice`].

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::EventClass;
use bevy_replay::prelude::*;

/// What a plan throws.
#[derive(Canonical, Debug, Clone, PartialEq, Eq)]
pub(crate) enum Throw {
    Apple { column: u8 },
    Pear { column: u8 },
    Lemon { column: u8 },
    Melon { column: u8 },
    Plum { column: u8 },
    Bomb { column: u8 },
}

impl Throw {
    pub(crate) fn column(&self) -> u8 {
        match self {
            Self::Apple { column } | Self::Pear { column } | Self::Lemon { column } => *column,
            Self::Melon { column } | Self::Plum { column } | Self::Bomb { column } => *column,
        }
    }
}

/// From how many columns things are thrown.
pub(crate) const COLUMNS: u8 = 8;
/// Between two columns.
pub(crate) const COLUMN_WIDTH: i32 = 100_000;
/// Things are cut where the blade comes so near to their middle.
pub(crate) const RADIUS: i32 = 30_000;
/// Upwards, a tick.
const THROW_SPEED: i32 = 14_000;
/// Of speed, a tick.
const GRAVITY: i32 = 300;
/// How long a thing stays in the air.
pub(crate) const FLIGHT_TICKS: u64 = 94;

#[derive(Canonical, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Point {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

/// A straight part of the blade's way.
#[derive(Canonical, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stroke {
    pub(crate) from: Point,
    pub(crate) to: Point,
}

/// A recorded input: the way of the blade since the last tick, all of it.
#[derive(Resource, Default, Clone, Debug, PartialEq, TickInput)]
pub(crate) struct Blade {
    #[once]
    pub(crate) strokes: Vec<Stroke>,
}

/// A recorded input: what the player wants to play, so that it is on the tape.
#[derive(Resource, Default, Clone, Debug, PartialEq, TickInput)]
pub(crate) struct Choice {
    #[once]
    pub(crate) wish: Option<Wish>,
}

#[derive(Canonical, Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The mission of that name, from its beginning.
    Play(String),
    /// No mission.
    Leave,
}

/// A thing in the air. It is a copy of its event.
#[derive(Component, Canonical, Debug, Clone)]
#[require(Flight)]
pub(crate) struct Thrown {
    pub(crate) event: u32,
    pub(crate) class: EventClass,
    pub(crate) what: Throw,
}

/// Where a thing is, and how fast it rises.
#[derive(Component, Canonical, Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    pub(crate) at: Point,
    pub(crate) speed: i32,
}

impl Flight {
    /// Where it will be after a tick.
    pub(crate) fn next(self) -> Self {
        let Self { at: Point { x, y }, speed } = self;
        Self { at: Point { x, y: y + speed }, speed: speed - GRAVITY }
    }
}

/// The rules that a player knows.
#[derive(Resource, Canonical, Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// For so many ticks after a cut the blade is blunt.
    pub(crate) cooldown: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self { cooldown: 30 }
    }
}

/// How the order stands.
#[derive(Resource, Canonical, Debug, Clone, Default)]
pub(crate) struct Order {
    /// The name of the mission; empty if there is none.
    pub(crate) mission: String,
    /// How many things are on it.
    pub(crate) needed: u32,
    /// How many of them are cut.
    pub(crate) cut: u32,
    /// How many others are cut.
    pub(crate) extra: u32,
    /// Bombs that were hit.
    pub(crate) bombs: u32,
    /// How many things on the order fell uncut.
    pub(crate) missed: u32,
    /// The first thing on the order that fell uncut, by its event.
    pub(crate) lost: Option<u32>,
    /// For so many ticks the blade is blunt.
    pub(crate) blunt: u32,
    /// Whether nothing more will be thrown.
    pub(crate) is_over: bool,
}

impl Order {
    pub(crate) fn is_completed(&self) -> bool {
        self.needed > 0 && self.cut == self.needed && self.bombs == 0
    }
}

/// The game with its missions. The first is played unless they are [waiting](Plans::waiting), and each that is
/// [chosen](Choice).
#[derive(Clone)]
pub(crate) struct OrdersPlugin {
    pub(crate) missions: Plans<Throw>,
    pub(crate) rules: Rules,
}

impl Plugin for OrdersPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(ReplayPlugin::new("orders").rules(1).version(env!("CARGO_PKG_VERSION")))
            .record_input::<Blade>()
            .record_input::<Choice>()
            .register_authoritative::<(Thrown, Flight)>()
            .register_authoritative_resource::<Order>()
            .register_authoritative_resource::<Rules>()
            .register_plans(self.missions.clone())
            .insert_resource(self.rules)
            .init_resource::<Order>()
            .add_systems(FixedUpdate, (begin, throw, fly, cut, end, choose).chain());
    }
}

/// In the first tick of a plan: the order is what the plan requires, and nothing is in the air.
fn begin(
    missions: Res<Plans<Throw>>,
    cursor: Res<PlanCursor<Throw>>,
    things: Query<Entity, With<Thrown>>,
    mut order: ResMut<Order>,
    mut commands: Commands,
) {
    let Some(plan) = missions.running(&cursor).filter(|_| cursor.time() == 1) else { return };
    let needed = plan.events().iter().filter(|event| event.class == EventClass::Required).count();
    let needed = u32::try_from(needed).unwrap_or(u32::MAX);
    *order = Order { mission: plan.name().to_owned(), needed, ..Order::default() };
    for entity in &things {
        commands.entity(entity).despawn();
    }
}

fn throw(mut events: MessageReader<Planned<Throw>>, mut commands: Commands) {
    for Planned { id, class, event, .. } in events.read() {
        let at = Point { x: i32::from(event.column()) * COLUMN_WIDTH, y: 0 };
        let thrown = Thrown { event: *id, class: *class, what: event.clone() };
        commands.spawn((thrown, Flight { at, speed: THROW_SPEED }));
    }
}

fn fly(mut things: Query<(Entity, &Thrown, &mut Flight)>, mut order: ResMut<Order>, mut commands: Commands) {
    let mut lost = Vec::new();
    for (entity, thrown, mut flight) in &mut things {
        *flight = flight.next();
        if flight.at.y < 0 {
            commands.entity(entity).despawn();
            lost.extend((thrown.class == EventClass::Required).then_some(thrown.event));
        }
    }
    order.missed += u32::try_from(lost.len()).unwrap_or(u32::MAX);
    // The order of a query is not that of the plan.
    order.lost = order.lost.or(lost.into_iter().min());
}

fn cut(
    blade: Res<Blade>,
    rules: Res<Rules>,
    things: Query<(Entity, &Thrown, &Flight)>,
    mut order: ResMut<Order>,
    mut commands: Commands,
) {
    if order.blunt > 0 {
        order.blunt -= 1;
        return;
    }
    let meets = |at: Point| blade.strokes.iter().any(|stroke| is_near(at, stroke.from, stroke.to, RADIUS));
    for (entity, thrown, flight) in &things {
        if flight.at.y >= 0 && meets(flight.at) {
            commands.entity(entity).despawn();
            match thrown.class {
                EventClass::Required => order.cut += 1,
                EventClass::Extra => order.extra += 1,
                EventClass::Risk => order.bombs += 1,
            }
            order.blunt = rules.cooldown;
        }
    }
}

fn end(cursor: Res<PlanCursor<Throw>>, mut order: ResMut<Order>) {
    if cursor.is_over() && !order.is_over {
        order.is_over = true;
    }
}

/// Last, so that the tick that comes next is the first of the mission.
fn choose(
    choice: Res<Choice>,
    missions: Res<Plans<Throw>>,
    things: Query<Entity, With<Thrown>>,
    mut cursor: ResMut<PlanCursor<Throw>>,
    mut order: ResMut<Order>,
    mut commands: Commands,
) {
    match &choice.wish {
        Some(Wish::Play(mission)) => {
            if let Some(plan) = missions.get(mission) {
                cursor.start(plan);
            }
        }
        Some(Wish::Leave) => {
            cursor.stop();
            *order = Order::default();
            for entity in &things {
                commands.entity(entity).despawn();
            }
        }
        None => {}
    }
}

/// Whether a point is within `radius` of the way between two others; exact.
pub(crate) fn is_near(point: Point, from: Point, to: Point, radius: i32) -> bool {
    let minus = |a: Point, b: Point| (i128::from(a.x) - i128::from(b.x), i128::from(a.y) - i128::from(b.y));
    let dot = |a: (i128, i128), b: (i128, i128)| a.0 * b.0 + a.1 * b.1;
    let (way, offset) = (minus(to, from), minus(point, from));
    let (length, along) = (dot(way, way), dot(offset, way));
    let radius = i128::from(radius) * i128::from(radius);
    if along <= 0 {
        return dot(offset, offset) <= radius;
    }
    if along >= length {
        let offset = minus(point, to);
        return dot(offset, offset) <= radius;
    }
    let across = offset.0 * way.1 - offset.1 * way.0;
    across * across <= radius * length
}
