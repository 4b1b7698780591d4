//! Any tick of a tape can be gone to, and is the same as when it is played straight.

use crate::game::{self, Outcome, arena, headless, scramble, script};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::tape::Tape;
use bevy_replay::{Arrival, ReplayError, TimeTravel, prelude::*};
use std::sync::Arc;

type Game = fn(&mut App);

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

fn record(game: Game, ticks: u32) -> Result<Arc<Tape>, ReplayError> {
    Ok(headless(game).inputs(script(ticks)).run()?.tape().clone())
}

fn travel(game: Game, tape: &Arc<Tape>) -> Result<TimeTravel, ReplayError> {
    TimeTravel::new(move || headless(game), tape)
}

/// Goes to a tick, and compares it with the tape.
fn arrive(travel: &mut TimeTravel, tape: &Tape, target: u64) -> Result<Arrival, Box<dyn core::error::Error>> {
    let arrival = travel.seek(target)?;
    let target = target.min(tape.tick_count());
    assert_eq!(travel.tick(), target);
    if let Some(root) = target.checked_sub(1).and_then(|last| tape.root_after(last)) {
        assert_eq!(travel.digest()?, root, "at tick {target}, {arrival:?}");
    }
    Ok(arrival)
}

/// Seeks at random, and then plays to the end tick by tick.
fn wander(game: Game, ticks: u32, seeks: u32, seed: u64) -> Result<TimeTravel, Box<dyn core::error::Error>> {
    let tape = record(game, ticks)?;
    let mut travel = travel(game, &tape)?;
    let mut dice = Dice(seed);
    for seek in 0..seeks {
        let target = match seek % 9 {
            0 => 0,
            1 => u64::from(ticks),
            2 => travel.tick(),
            3 => u64::from(ticks) + 100,
            _ => dice.below(u64::from(ticks) + 1),
        };
        arrive(&mut travel, &tape, target)?;
    }
    let back = dice.below(u64::from(ticks));
    arrive(&mut travel, &tape, back)?;
    while travel.tick() < u64::from(ticks) {
        let next = travel.tick() + 1;
        arrive(&mut travel, &tape, next)?;
    }
    Ok(travel)
}

#[test]
fn two_hundred_random_seek_sequences_agree_with_straight_playback_at_each_tick() -> Outcome {
    let tape = record(arena, 2000)?;
    let presses = tape.tracks.iter().map(|track| track.changes.len()).sum::<usize>();
    assert!(presses >= 40, "{presses} changes of input");
    let mut travel = travel(arena, &tape)?;
    arrive(&mut travel, &tape, 2000)?;
    for seed in 1..=200 {
        let mut dice = Dice(seed);
        for seek in 0..4 {
            let target = match (seed + seek) % 11 {
                0 => 0,
                1 => 2000,
                2 => travel.tick(),
                3 => 5000,
                _ => dice.below(2001),
            };
            arrive(&mut travel, &tape, target)?;
        }
        for _ in 0..8 {
            let next = travel.tick() + 1;
            arrive(&mut travel, &tape, next)?;
        }
    }
    assert_eq!(travel.hidden_state(), None);
    travel.seek(3)?;
    while travel.tick() < 2000 {
        let next = travel.tick() + 1;
        arrive(&mut travel, &tape, next)?;
    }
    Ok(())
}

/// Draws numbers in the order in which its query visits entities, which is the order of rows.
fn draws_in_query_order(app: &mut App) {
    arena(app);
    app.add_systems(
        FixedUpdate,
        |mut foes: Query<&mut game::Position, With<game::Health>>, mut rng: ResMut<game::Rng>| {
            for mut foe in &mut foes {
                foe.x += f32::from(u8::try_from(rng.draw() >> 28).unwrap_or(0)) / 64.0;
            }
        },
    );
}

#[test]
fn game_that_draws_in_query_order_jumps_over_played_ground() -> Outcome {
    let travel = wander(draws_in_query_order, 600, 40, 7)?;
    assert_eq!(travel.hidden_state(), None);
    Ok(())
}

#[derive(Component)]
struct Mark<const N: u8>;

/// New kinds of entities appear as the game goes on.
fn grows_archetypes(app: &mut App) {
    draws_in_query_order(app);
    app.add_systems(
        FixedUpdate,
        |tick: Res<SimTick>, foes: Query<(Entity, &SimId), With<game::Health>>, mut commands: Commands| {
            for (foe, id) in &foes {
                if !(id.0 + tick.0).is_multiple_of(31) {
                    continue;
                }
                let mut foe = commands.entity(foe);
                match tick.0 / 60 {
                    1 => foe.try_insert(Mark::<1>),
                    2 => foe.try_insert(Mark::<2>),
                    3 => foe.try_insert(Mark::<3>),
                    4 => foe.try_insert(Mark::<4>),
                    _ => foe.try_remove::<Mark<2>>(),
                };
            }
        },
    );
}

#[test]
fn game_whose_archetypes_appear_during_play_is_right_everywhere() -> Outcome {
    wander(grows_archetypes, 400, 40, 11)?;
    Ok(())
}

/// Keeps what it does in a place that nobody can read.
fn hides_state(app: &mut App) {
    arena(app);
    app.init_resource::<Wave>();
    app.add_systems(FixedUpdate, |mut count: Local<u32>, mut score: ResMut<game::Score>, mut wave: ResMut<Wave>| {
        *count += 1;
        wave.0 += 1;
        if (*count).is_multiple_of(7) {
            score.0 += *count;
        }
    });
}

#[derive(Resource, Default)]
struct Wave(u32);

#[test]
fn game_with_a_hidden_local_is_right_everywhere_and_says_so_once_with_suspects() -> Outcome {
    let travel = wander(hides_state, 300, 30, 3)?;
    let hidden = travel.hidden_state().ok_or("the jump must be found out")?;
    assert!(hidden.contains("suspects"), "{hidden}");
    assert!(hidden.contains("Wave"), "{hidden}");
    assert!(hidden.contains("`Local`s"), "{hidden}");
    Ok(())
}

#[derive(Message, Canonical, Clone)]
struct Ping(u32);

/// Reads what the last tick wrote, through a cursor.
fn carries_messages(app: &mut App) {
    arena(app);
    app.record_messages::<Ping>();
    let read = |mut pings: MessageReader<Ping>, mut score: ResMut<game::Score>| {
        score.0 = pings.read().fold(score.0, |sum, ping| sum.wrapping_mul(3).wrapping_add(ping.0));
    };
    let write = |tick: Res<SimTick>, mut pings: MessageWriter<Ping>| {
        for n in 0..(tick.0 * 7919) % 3 {
            pings.write(Ping(u32::try_from(tick.0 * 10 + n).unwrap_or(0)));
        }
    };
    app.add_systems(FixedPreUpdate, read).add_systems(FixedUpdate, write);
}

#[test]
fn game_with_carried_messages_is_right_everywhere() -> Outcome {
    let travel = wander(carries_messages, 400, 40, 5)?;
    assert_eq!(travel.hidden_state(), None, "the run-up puts the readers right");
    Ok(())
}

/// Sorts by sim id wherever the order matters, as the arena does.
#[test]
fn game_that_sorts_by_sim_id_jumps_through_keyframes_only() -> Outcome {
    let tape = record(arena, 500)?;
    let mut travel = travel(arena, &tape)?;
    arrive(&mut travel, &tape, 500)?;
    for target in [480, 20, 300, 64, 499, 1] {
        let arrival = arrive(&mut travel, &tape, target)?;
        assert!(matches!(arrival, Arrival::Jumped { .. } | Arrival::PlayedOn), "{arrival:?}");
    }
    let (keyframes, bytes) = travel.keyframes();
    assert!(keyframes.len() >= 4 && keyframes[0] == 0, "{keyframes:?}");
    assert!(bytes > 0 && bytes < 64 << 20);
    Ok(())
}

#[test]
fn keyframes_stay_within_their_budget_and_seeks_stay_right() -> Outcome {
    fn frugal(app: &mut App) {
        game::arena_with(app, ReplayPlugin::new("arena").rules(1).seed(7).keyframe_bytes(12_000));
    }
    let tape = record(arena, 1500)?;
    let mut travel = travel(frugal, &tape)?;
    for target in [1500, 700, 1499, 3, 900] {
        arrive(&mut travel, &tape, target)?;
        let (_, bytes) = travel.keyframes();
        assert!(bytes <= 12_000, "{bytes} bytes");
    }
    Ok(())
}

#[derive(Component, Canonical)]
struct Unit;

#[derive(Component, Canonical)]
struct Target(Option<Entity>);

/// 20 units that aim at each other, five of them with children; what one aims at is gone from tick 5 on.
fn references(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("references"));
    app.register_authoritative::<(Unit, Target)>().register_hierarchy();
    app.add_systems(Startup, |mut commands: Commands| {
        let units: Vec<Entity> = (0..20).map(|_| commands.spawn(Unit).id()).collect();
        for (i, unit) in units.iter().enumerate() {
            commands.entity(*unit).insert(Target(Some(units[(i * 7 + 3) % 20])));
        }
        for i in 5..17 {
            commands.entity(units[i]).insert(ChildOf(units[i % 5]));
        }
    });
    app.add_systems(
        FixedUpdate,
        |tick: Res<SimTick>, units: Query<(Entity, &SimId), With<Unit>>, mut commands: Commands| {
            for (unit, id) in &units {
                match (tick.0, id.0) {
                    (5, 19) => commands.entity(unit).despawn(),
                    (40, 7) => {
                        commands.entity(unit).remove::<ChildOf>();
                    }
                    (60, _) if id.0 == 6 => {
                        let parent = units.iter().find(|(_, id)| id.0 == 3).map(|(entity, _)| entity);
                        commands.entity(unit).insert(ChildOf(parent.unwrap_or(unit)));
                    }
                    _ => {}
                }
            }
        },
    );
    // A camera takes the place of the unit that is gone: freed indices come back once 128 of them wait.
    app.add_systems(Update, |mut commands: Commands, cameras: Query<Entity, With<Camera>>| {
        for camera in cameras.iter().take(64) {
            commands.entity(camera).despawn();
        }
        commands.spawn_batch((0..64).map(|_| Camera));
    });
}

#[derive(Component)]
struct Camera;

#[test]
fn references_and_families_are_right_after_fifty_seeks() -> Outcome {
    let tape = headless(references).record(120)?.tape().clone();
    let mut travel = TimeTravel::new(|| headless(references), &tape)?;
    let relations = |travel: &mut TimeTravel| {
        let world = travel.world_mut();
        let mut units = world.query::<(&SimId, &Target, Option<&Children>)>();
        let id = |entity: Entity| world.get::<SimId>(entity).map(|id| id.0);
        let mut rows: Vec<(u64, Option<u64>, Vec<Option<u64>>)> = units
            .iter(world)
            .map(|(sim_id, target, children)| {
                let children = children.map(|children| children.iter().map(id).collect()).unwrap_or_default();
                (sim_id.0, target.0.and_then(id), children)
            })
            .collect();
        rows.sort();
        rows
    };
    let mut straight = vec![Vec::new()];
    let (mut gone, mut reused) = (None, false);
    for tick in 1..=120 {
        arrive(&mut travel, &tape, tick)?;
        straight.push(relations(&mut travel));
        let world = travel.world_mut();
        gone = gone
            .or_else(|| world.query::<(Entity, &SimId)>().iter(world).find(|(_, id)| id.0 == 19).map(|(unit, _)| unit));
        let mut cameras = world.query_filtered::<Entity, With<Camera>>();
        reused |= cameras.iter(world).any(|camera| gone.is_some_and(|gone| camera.index() == gone.index()));
    }
    assert!(reused, "a camera had the index of {gone:?}");
    let mut dice = Dice(99);
    for _ in 0..50 {
        let target = 1 + dice.below(120);
        arrive(&mut travel, &tape, target)?;
        assert_eq!(relations(&mut travel), straight[usize::try_from(target)?], "at tick {target}");
        let count = if target > 5 { 19 } else { 20 };
        let world = travel.world_mut();
        assert_eq!(world.query::<&Unit>().iter(world).count(), count);
    }
    let dangling = straight[100].iter().filter(|(_, target, _)| target.is_none()).count();
    assert_eq!(dangling, 1, "one unit aimed at the one that is gone");
    Ok(())
}

#[test]
fn seeks_are_right_in_a_world_with_other_entities() -> Outcome {
    fn cluttered(app: &mut App) {
        scramble(app);
        arena(app);
        game::clutter(app);
    }
    let tape = record(arena, 300)?;
    let mut travel = travel(cluttered, &tape)?;
    for target in [300, 17, 200, 64, 65, 299] {
        arrive(&mut travel, &tape, target)?;
    }
    assert_eq!(travel.hidden_state(), None);
    Ok(())
}

#[cfg(feature = "raw-input")]
#[test]
fn held_key_is_pressed_and_not_just_pressed_after_a_seek() -> Outcome {
    use bevy_input::{ButtonInput, keyboard::KeyCode};
    use bevy_replay::devices::Keyboard;
    #[derive(Resource, Canonical, Default)]
    struct Edges(Vec<String>);
    fn keyed(app: &mut App) {
        app.add_plugins((ReplayPlugin::new("keys"), RawInputPlugin::default()));
        app.init_resource::<Edges>().register_authoritative_resource::<Edges>();
        app.add_systems(
            FixedUpdate,
            |tick: Res<SimTick>, keys: Res<ButtonInput<KeyCode>>, mut edges: ResMut<Edges>| {
                if keys.just_pressed(KeyCode::KeyD) {
                    edges.0.push(format!("{} down", tick.0));
                }
                if keys.just_released(KeyCode::KeyD) {
                    edges.0.push(format!("{} up", tick.0));
                }
            },
        );
    }
    let held = |tick: u64| (50..120).contains(&tick);
    let inputs = (0..200).map(|tick| if held(tick) { Keyboard::holding([KeyCode::KeyD]) } else { Keyboard::default() });
    let tape = headless(keyed).inputs(inputs).run()?.tape().clone();
    let mut travel = TimeTravel::new(|| headless(keyed), &tape)?;
    for target in [200, 80, 130, 100, 60, 199, 119, 51] {
        arrive(&mut travel, &tape, target)?;
        travel.step(1)?;
        let seen = &travel.world().resource::<Edges>().0;
        assert!(seen.len() <= 2, "{seen:?}");
    }
    Ok(())
}

#[cfg(feature = "states")]
#[test]
fn states_are_right_after_seeks_and_nothing_is_entered_twice() -> Outcome {
    use bevy_state::app::{AppExtStates, StatesPlugin};
    use bevy_state::prelude::*;
    #[derive(States, Canonical, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Phase {
        #[default]
        Build,
        Fight,
        Rest,
    }
    #[derive(Resource, Canonical, Default)]
    struct Entered(u32);
    fn phased(app: &mut App) {
        app.add_plugins((ReplayPlugin::new("states"), StatesPlugin)).init_state::<Phase>();
        app.register_authoritative_state::<Phase>();
        app.init_resource::<Entered>().register_authoritative_resource::<Entered>();
        for phase in [Phase::Build, Phase::Fight, Phase::Rest] {
            app.add_systems(OnEnter(phase), |mut entered: ResMut<Entered>| entered.0 += 1);
        }
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut next: ResMut<NextState<Phase>>| match tick.0 % 50 {
            10 => next.set(Phase::Fight),
            30 => next.set(Phase::Rest),
            49 => next.set(Phase::Build),
            _ => {}
        });
    }
    let tape = headless(phased).record(200)?.tape().clone();
    let mut travel = TimeTravel::new(|| headless(phased), &tape)?;
    for target in [200, 11, 150, 31, 10, 129, 64, 65] {
        arrive(&mut travel, &tape, target)?;
    }
    assert_eq!(travel.hidden_state(), None);
    Ok(())
}
