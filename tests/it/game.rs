//! The games that the tests record and replay, and what the tests ask of them.

use bevy_app::{Plugins, prelude::*};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};

/// What a test returns.
pub(crate) type Outcome = Result<(), Box<dyn core::error::Error>>;

/// How many compute threads a child process is to have.
pub(crate) const THREADS: &str = "BEVY_REPLAY_TEST_THREADS";

/// Makes a headless app with four compute threads, however few the machine has.
pub(crate) fn headless<M>(game: impl Plugins<M>) -> Headless {
    make_threads();
    Headless::new(game)
}

/// Makes the threads of this process, if there are none yet.
pub(crate) fn make_threads() {
    let threads = std::env::var(THREADS).ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(threads).build());
}

/// Compares the digests of each tick.
#[track_caller]
pub(crate) fn assert_same_roots(expected: &[u64], got: &[u64], what: &str) {
    let first = expected.iter().zip(got).position(|(a, b)| a != b);
    assert_eq!(first, None, "{what}: the first tick that differs");
    assert_eq!(expected.len(), got.len(), "{what}: number of ticks");
}

/// Returns the text of the panic, which must come.
#[track_caller]
pub(crate) fn panic_text<R>(run: impl FnOnce() -> R) -> String {
    let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) else { panic!("it must panic") };
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// Returns the error, which must come.
#[track_caller]
pub(crate) fn error_of<T, E>(result: Result<T, E>) -> E {
    match result {
        Ok(_) => panic!("it must fail"),
        Err(error) => error,
    }
}

/// What a tick of [`arena`] reads.
#[derive(Resource, Default, Clone, TickInput)]
pub(crate) struct Steer {
    pub(crate) x: i8,
    pub(crate) y: i8,
    #[once]
    pub(crate) fire: bool,
}

/// An input for each of so many ticks: steps, pauses and shots.
pub(crate) fn script(ticks: u32) -> impl Iterator<Item = Steer> {
    let axis = |phase: u32| if phase < 6 { 1 } else { -i8::from(phase < 12) };
    (0..ticks).map(move |i| Steer { x: axis(i % 17), y: axis(i % 23), fire: i % 5 == 3 })
}

#[derive(Component, Canonical, Default, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Component, Canonical, Default, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Velocity {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Component, Canonical, Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Health(pub(crate) u16);

/// A lane without bytes.
#[derive(Component, Canonical)]
pub(crate) struct Hero;

/// A lane in sparse sets; comes and goes.
#[derive(Component, Canonical)]
#[component(storage = "SparseSet")]
pub(crate) struct Burning(u8);

/// Disables its entity while it counts.
#[derive(Component, Canonical)]
pub(crate) struct Stunned(u8);

/// A lane without a fixed width.
#[derive(Component, Canonical, Default)]
pub(crate) struct Bag {
    items: Vec<String>,
    open: Option<u8>,
}

/// A lane with a reference.
#[derive(Component, Canonical)]
pub(crate) struct Aim(Option<Entity>);

#[derive(Component, Canonical)]
pub(crate) struct Bullet(u8);

#[derive(Resource, Canonical, Default, PartialEq, Eq, Debug)]
pub(crate) struct Score(pub(crate) u32);

/// mulberry32.
#[derive(Resource, Canonical)]
pub(crate) struct Rng(pub(crate) u32);

impl Rng {
    pub(crate) fn draw(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x6D2B_79F5);
        let mut t = (self.0 ^ (self.0 >> 15)).wrapping_mul(1 | self.0);
        t = t.wrapping_add((t ^ (t >> 7)).wrapping_mul(61 | t)) ^ t;
        t ^ (t >> 14)
    }

    /// In [-1, 1), of 16 bits, so that it is exact.
    fn unit(&mut self) -> f32 {
        f32::from(u16::try_from(self.draw() >> 16).unwrap_or(0)) / 32768.0 - 1.0
    }
}

/// A shooter in which all kinds of lanes change: spawns, despawns, tables, disabled entities, references, lists.
///
/// It is written as games should be: where the order of entities matters they are sorted by sim id.
pub(crate) fn arena(app: &mut App) {
    arena_with(app, ReplayPlugin::new("arena").rules(1).seed(7));
}

/// [`arena`], with other settings.
pub(crate) fn arena_with(app: &mut App, plugin: ReplayPlugin) {
    app.add_plugins(plugin).add_plugins(arena_systems);
    app.record_input::<Steer>()
        .register_authoritative::<(Position, Velocity, Health, Hero, Burning, Stunned, Bag, Aim, Bullet)>()
        .register_authoritative_resource::<Score>()
        .register_authoritative_resource::<Rng>();
}

/// [`arena`], registered back to front.
pub(crate) fn arena_reversed(app: &mut App) {
    app.register_authoritative_resource::<Rng>()
        .register_authoritative_resource::<Score>()
        .register_authoritative::<Bullet>()
        .register_authoritative::<(Aim, Bag)>()
        .register_authoritative::<(Stunned, Burning, Hero, Health, Velocity, Position)>()
        .record_input::<Steer>();
    app.add_plugins(arena_systems).add_plugins(ReplayPlugin::new("arena").rules(1).seed(7));
}

fn arena_systems(app: &mut App) {
    app.insert_resource(Score(0)).insert_resource(Rng(7)).add_systems(Startup, populate);
    app.add_systems(FixedUpdate, (steer, fire, drift, hit, burn, stun, aim, reinforce));
}

fn foe(rng: &mut Rng) -> impl Bundle {
    let place = Position { x: rng.unit() * 40.0, y: rng.unit() * 40.0 };
    (place, Velocity { x: rng.unit(), y: rng.unit() }, Health(3))
}

fn populate(mut commands: Commands, mut rng: ResMut<Rng>) {
    let still = (Position::default(), Velocity::default());
    commands.spawn((Hero, still, Health(100), Bag::default(), Aim(None)));
    for _ in 0..12 {
        commands.spawn(foe(&mut rng));
    }
}

fn steer(steer: Res<Steer>, mut hero: Single<&mut Velocity, With<Hero>>) {
    hero.x = (hero.x + f32::from(steer.x) * 0.25).clamp(-2.0, 2.0);
    hero.y = (hero.y + f32::from(steer.y) * 0.25).clamp(-2.0, 2.0);
}

fn fire(steer: Res<Steer>, hero: Single<&Position, With<Hero>>, mut rng: ResMut<Rng>, mut commands: Commands) {
    if steer.fire {
        for _ in 0..4 {
            commands.spawn((**hero, Velocity { x: rng.unit() * 8.0, y: rng.unit() * 8.0 }, Bullet(20)));
        }
    }
}

/// Disabled entities drift, too.
fn drift(mut bodies: Query<(&mut Position, &mut Velocity), Allow<Disabled>>) {
    for (mut position, mut velocity) in &mut bodies {
        position.x += velocity.x;
        position.y += velocity.y;
        if position.x.abs() > 50.0 {
            velocity.x = -velocity.x;
        }
        if position.y.abs() > 50.0 {
            velocity.y = -velocity.y;
        }
    }
}

type Foe = (With<Health>, Without<Hero>);

type Foes<'w, 's> =
    Query<'w, 's, (Entity, &'static SimId, &'static Position, &'static mut Health), (Without<Hero>, Without<Bullet>)>;

fn hit(
    mut bullets: Query<(Entity, &SimId, &Position, &mut Bullet)>,
    mut foes: Foes,
    mut bag: Single<&mut Bag>,
    mut score: ResMut<Score>,
    mut commands: Commands,
) {
    for (bullet, _, place, mut left) in bullets.iter_mut().sort::<&SimId>() {
        left.0 -= 1;
        let near = |foe: &Position| (foe.x - place.x).abs() < 6.0 && (foe.y - place.y).abs() < 6.0;
        let struck = foes.iter_mut().sort::<&SimId>().find(|(_, _, at, health)| near(at) && health.0 > 0);
        if let Some((foe, id, _, mut health)) = struck {
            health.0 -= 1;
            score.0 += 10;
            if health.0 == 0 {
                bag.items.push(format!("loot of {}", id.0));
                bag.open = u8::try_from(bag.items.len()).ok();
                commands.entity(foe).despawn();
            } else {
                commands.entity(foe).insert(Burning(4)).insert((Stunned(6), Disabled));
            }
        } else if left.0 > 0 {
            continue;
        }
        commands.entity(bullet).despawn();
    }
}

fn burn(mut burning: Query<(Entity, &mut Burning)>, mut commands: Commands) {
    for (entity, mut burning) in &mut burning {
        burning.0 -= 1;
        if burning.0 == 0 {
            commands.entity(entity).remove::<Burning>();
        }
    }
}

fn stun(mut stunned: Query<(Entity, &mut Stunned), With<Disabled>>, mut commands: Commands) {
    for (entity, mut stunned) in &mut stunned {
        stunned.0 -= 1;
        if stunned.0 == 0 {
            commands.entity(entity).remove::<(Stunned, Disabled)>();
        }
    }
}

fn aim(mut hero: Single<(&mut Aim, &Position)>, foes: Query<(Entity, &SimId, &Position), Foe>) {
    let (aim, place) = &mut *hero;
    let distance = |at: &Position| (at.x - place.x).powi(2) + (at.y - place.y).powi(2);
    let nearest = foes.iter().min_by(|a, b| distance(a.2).total_cmp(&distance(b.2)).then(a.1.cmp(b.1)));
    aim.0 = nearest.map(|(entity, ..)| entity);
}

fn reinforce(tick: Res<SimTick>, mut rng: ResMut<Rng>, mut commands: Commands) {
    if tick.0 % 16 == 7 {
        commands.spawn(foe(&mut rng));
    }
}

/// Spawned and despawned entities, so that all later ones get other indices.
pub(crate) fn scramble(app: &mut App) {
    let world = app.world_mut();
    let entities: Vec<Entity> = (0..1000).map(|i| world.spawn(Label(i)).id()).collect();
    for entity in entities.iter().step_by(3).chain(entities.iter().skip(1).step_by(3)) {
        world.despawn(*entity);
    }
}

/// No part of the simulation.
#[derive(Component)]
pub(crate) struct Label(pub(crate) u64);

/// A camera, a thousand debug entities that come and go, and labels on all simulated entities.
pub(crate) fn clutter(app: &mut App) {
    #[derive(Component)]
    struct Camera;
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Highlighted;
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Camera);
        commands.spawn_batch((0..1000).map(Label));
    });
    let label = |new: Query<(Entity, &SimId), Without<Label>>, mut commands: Commands| {
        for (entity, id) in &new {
            let mut entity = commands.entity(entity);
            match id.0 % 3 {
                0 => entity.try_insert(Label(id.0)),
                1 => entity.try_insert((Label(id.0), Highlighted)),
                _ => entity.try_insert(Highlighted),
            };
        }
    };
    let renew = |debug: Query<(Entity, &Label), Without<SimId>>, mut commands: Commands| {
        for (entity, label) in debug.iter().take(10) {
            commands.entity(entity).despawn();
            commands.spawn((Label(label.0), Disabled));
            commands.spawn(Label(label.0));
        }
    };
    app.add_systems(FixedUpdate, label).add_systems(FixedFirst, renew).add_systems(Update, label);
}

const CHILD: &str = "BEVY_REPLAY_TEST_CHILD";
const ANSWER: &str = "answer: ";

/// Runs a test of this binary in a process of its own, which finds `task` in [`task`], and returns its answer.
pub(crate) fn in_child(test: &str, task: &str, threads: u32) -> Result<Vec<String>, Box<dyn core::error::Error>> {
    in_child_through(&["env"], test, task, threads)
}

/// Like [`in_child`], started by another program.
pub(crate) fn in_child_through(
    starter: &[&str],
    test: &str,
    task: &str,
    threads: u32,
) -> Result<Vec<String>, Box<dyn core::error::Error>> {
    let test = test.strip_prefix(concat!(env!("CARGO_CRATE_NAME"), "::")).unwrap_or(test);
    let output = std::process::Command::new(starter[0])
        .args(&starter[1..])
        .arg(std::env::current_exe()?)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, task)
        .env(THREADS, threads.to_string())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        return Err(format!("the child failed: {text}{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let lines = text.lines().filter_map(|line| line.split_once(ANSWER));
    let answer: Vec<String> = lines.map(|(_, answer)| answer.to_owned()).collect();
    if answer.is_empty() { Err(format!("{test} did not run: {text}").into()) } else { Ok(answer) }
}

/// Returns what a child process is to do; `None` in the parent.
pub(crate) fn task() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Answers the parent.
#[expect(clippy::print_stdout, reason = "the parent reads it there")]
pub(crate) fn answer(text: impl core::fmt::Display) {
    println!("{ANSWER}{text}");
}
