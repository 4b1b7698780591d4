//! Recording unchanged input allocates nothing per tick, and an idle plugin nothing at all.
#![expect(unsafe_code, reason = "a counting allocator is the only way to see allocations")]

use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{Schedules, SingleThreadedExecutor};
use bevy_replay::prelude::*;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use core::cell::Cell;
use std::alloc::{GlobalAlloc, Layout, System};

struct Counting;

thread_local! {
    /// Whether this thread counts; others of the test binary run at the same time.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    if COUNTS.get() {
        COUNT.set(COUNT.get() + 1);
    }
}

// SAFETY: all work is done by the system's allocator; counting touches two cells that need no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// From this tick on allocations are counted: memory has its size by then.
const WARM: u64 = 100;

/// Ten minutes at 64 Hz.
const TICKS: u64 = 38_400;

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
    #[once]
    jump: bool,
}

#[derive(Component, Canonical, Default)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Canonical)]
#[component(storage = "SparseSet")]
struct Burning(u8);

/// A lane without a fixed width.
#[derive(Component, Canonical)]
struct Name(String, Vec<u16>);

#[derive(Component, Canonical)]
struct Aim(Entity);

#[derive(Component, Canonical)]
struct Hero;

#[derive(Component)]
struct Unregistered;

#[derive(Resource, Canonical, Default)]
struct Score(u64);

#[derive(Resource, Default)]
struct Counted {
    ticks: u64,
}

/// All kinds of lanes, several tables, ids in no order; ticks change values and allocate nothing themselves.
fn game(app: &mut App) {
    game_of(app, 10);
}

/// With so many of each kind of foe.
fn game_of(app: &mut App, foes: u16) {
    app.add_plugins(ReplayPlugin::new("allocations"))
        .record_input::<Steer>()
        .register_authoritative::<(Position, Burning, Name, Aim, Hero)>()
        .register_authoritative_resource::<Score>()
        .init_resource::<Score>()
        .init_resource::<Counted>();
    app.add_systems(Startup, move |mut commands: Commands| {
        let hero = commands.spawn((Hero, Position::default(), Name("hero".into(), vec![1, 2]))).id();
        for i in 0..foes {
            commands.spawn((SimId(100_000 - u64::from(i)), Position::default(), Aim(hero)));
            commands.spawn((Position::default(), Burning(i.to_le_bytes()[0]), Unregistered));
            commands.spawn((Position::default(), Name(format!("foe {i}"), vec![]), Disabled));
        }
    });
    app.add_systems(
        FixedUpdate,
        |steer: Res<Steer>, mut all: Query<(&mut Position, Option<&mut Burning>)>, mut score: ResMut<Score>| {
            for (mut position, burning) in &mut all {
                position.x += f32::from(steer.x) + 0.5;
                position.y = -position.x;
                if let Some(mut burning) = burning {
                    burning.0 = burning.0.wrapping_add(1);
                }
            }
            score.0 += 1;
        },
    );
    app.add_systems(
        RunFixedMainLoop,
        (
            (|tick: Res<SimTick>| COUNTS.set(tick.0 >= WARM)).in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop),
            (|mut counted: ResMut<Counted>| {
                counted.ticks += u64::from(COUNTS.get());
                COUNTS.set(false);
            })
            .in_set(RunFixedMainLoopSystems::AfterFixedMainLoop),
        ),
    );
}

fn counted() -> u64 {
    COUNT.replace(0)
}

/// Runs frames of one tick.
fn run_live(app: &mut App, ticks: u64) {
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin));
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
    for _ in 0..=ticks {
        app.update();
    }
    assert_eq!(app.world().resource::<SimTick>().0, ticks);
    assert_eq!(app.world().resource::<Counted>().ticks, ticks - WARM);
}

#[test]
fn ten_minutes_of_unchanged_input_are_recorded_without_an_allocation() -> Result<(), ReplayError> {
    let run = Headless::new(game).detail(Detail::Roots).record(TICKS)?;
    assert_eq!(counted(), 0, "allocations in {} ticks", TICKS - WARM);
    assert_eq!(run.resource::<Counted>()?.ticks, TICKS - WARM);
    assert_eq!(run.tape().digests.roots.len() as u64, TICKS);
    assert_eq!(run.tape().tracks[0].changes.len(), 1);
    assert_eq!(run.resource::<Score>()?.0, TICKS);
    Ok(())
}

#[test]
fn ten_thousand_entities_are_recorded_without_an_allocation_per_tick() -> Result<(), ReplayError> {
    let run = Headless::new(|app: &mut App| game_of(app, 3_400)).detail(Detail::Roots).record(WARM + 100)?;
    assert_eq!(counted(), 0);
    assert_eq!((run.resource::<Counted>()?.ticks, run.tape().digests.roots.len()), (100, 200));
    Ok(())
}

#[test]
fn idle_plugin_allocates_nothing() {
    let mut app = App::new();
    app.add_plugins(game);
    run_live(&mut app, 2000);
    assert_eq!(counted(), 0);
}

/// Nothing is kept of what is played, and nothing is drawn.
#[cfg(feature = "inspector")]
#[test]
fn a_closed_inspector_costs_ticks_no_allocation() {
    use bevy_replay::{Inspector, InspectorPlugin};
    let mut app = App::new();
    let windows = bevy_window::WindowPlugin { primary_window: None, ..Default::default() };
    app.add_plugins((game, bevy_input::InputPlugin, windows, InspectorPlugin::default()));
    run_live(&mut app, 2000);
    assert_eq!(counted(), 0);
    assert!(!app.world().resource::<Inspector>().is_open());
    assert_eq!(app.world().resource::<Inspector>().size_bytes(), (0, 0));
}

/// Keys, buttons and sticks that stay as they are, and a mouse that moves.
#[cfg(feature = "raw-input")]
mod devices {
    use super::*;
    use bevy_input::gamepad::{Gamepad, GamepadAxis, GamepadButton};
    use bevy_input::keyboard::KeyCode;
    use bevy_input::mouse::{AccumulatedMouseMotion, MouseButton};
    use bevy_input::{ButtonInput, InputPlugin, InputSystems};

    fn game(app: &mut App) {
        app.add_plugins((super::game, InputPlugin, RawInputPlugin::default()));
        app.world_mut().resource_mut::<ButtonInput<KeyCode>>().press(KeyCode::KeyD);
        app.world_mut().resource_mut::<ButtonInput<MouseButton>>().press(MouseButton::Left);
        let mut pad = Gamepad::default();
        pad.digital_mut().press(GamepadButton::South);
        pad.analog_mut().set(GamepadAxis::LeftStickX, 0.5);
        app.world_mut().spawn(pad);
        let still = |mut motion: ResMut<AccumulatedMouseMotion>| motion.delta.x = 1.0;
        app.add_systems(PreUpdate, still.after(InputSystems));
        app.add_systems(
            FixedUpdate,
            |keys: Res<ButtonInput<KeyCode>>, motion: Res<AccumulatedMouseMotion>, pad: Single<&Gamepad>| {
                assert!(keys.pressed(KeyCode::KeyD) && motion.delta.x > 0.0 && pad.left_stick().x > 0.0);
            },
        );
    }

    #[test]
    fn devices_that_change_nothing_allocate_nothing() {
        let mut app = App::new();
        app.add_plugins(game);
        run_live(&mut app, 2000);
        assert_eq!(counted(), 0);
    }

    #[test]
    fn devices_are_recorded_and_replayed_without_an_allocation_per_tick() -> Result<(), ReplayError> {
        let mut counts = Vec::new();
        for ticks in [1000, 3000] {
            let tape = Headless::new(game).detail(Detail::Roots).record(ticks)?.tape().clone();
            assert_eq!(counted(), 0);
            Headless::new(game).verify(tape)?.assert_verified();
            counts.push(counted());
        }
        assert_eq!(counts[0], counts[1]);
        Ok(())
    }
}

#[test]
fn replay_allocates_for_its_report_and_nothing_per_tick() -> Result<(), ReplayError> {
    let mut counts = Vec::new();
    for ticks in [1000, 3000] {
        let tape = Headless::new(game).detail(Detail::Roots).record(ticks)?.tape().clone();
        counted();
        Headless::new(game).verify(tape)?.assert_verified();
        counts.push(counted());
    }
    assert_eq!(counts[0], counts[1]);
    Ok(())
}

#[test]
fn allocation_of_the_game_is_counted() -> Result<(), ReplayError> {
    Headless::new((game, |app: &mut App| {
        app.add_systems(FixedUpdate, || {
            std::hint::black_box(Box::new(1));
        });
    }))
    .detail(Detail::Roots)
    .record(200)?;
    assert_eq!(counted(), 200 - WARM);
    Ok(())
}
