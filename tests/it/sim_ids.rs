//! Which entities are simulated, and under which ids.

use crate::game::{Health, Label, Outcome, Position, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;

/// The ids on the initial image of a world made by `make`.
fn ids(make: impl Fn(&mut World) + Send + Sync + Clone + 'static) -> Result<Vec<u64>, ReplayError> {
    let game = move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("ids")).register_authoritative::<(Health, Position)>();
        let make = make.clone();
        app.add_systems(Startup, move |world: &mut World| make(world));
    };
    let run = headless(game).record(1)?;
    Ok(run.tape().initial.iter().flat_map(|image| image.roster.to_vec()).collect())
}

#[test]
fn ids_ascend_in_the_order_of_spawning() -> Outcome {
    let found = ids(|world| {
        let order = [3, 1, 2].map(|health| world.spawn(Health(health)).id());
        world.spawn(Label(1));
        let fourth = world.spawn((Label(2), Position::default(), Health(9))).id();
        let found: Vec<_> = order.iter().chain([&fourth]).map(|entity| world.get::<SimId>(*entity).copied()).collect();
        assert_eq!(found, [0, 1, 2, 3].map(|id| Some(SimId(id))));
    })?;
    assert_eq!(found, [0, 1, 2, 3]);
    Ok(())
}

#[test]
fn entity_without_registered_type_has_no_id() -> Outcome {
    let found = ids(|world| {
        let camera = world.spawn(Label(0)).id();
        assert_eq!(world.get::<SimId>(camera), None);
        world.entity_mut(camera).insert(Health(1));
        assert_eq!(world.get::<SimId>(camera), Some(&SimId(0)), "it is simulated now");
    })?;
    assert_eq!(found, [0]);
    Ok(())
}

#[test]
fn ids_after_one_by_hand_stand_above_it() -> Outcome {
    let found = ids(|world| {
        world.spawn(Health(0));
        world.spawn((SimId(40), Health(0)));
        world.spawn(Health(0));
        world.spawn((SimId(5), Health(0)));
        world.spawn(Health(0));
    })?;
    assert_eq!(found, [0, 5, 40, 41, 42]);
    Ok(())
}

#[test]
fn clone_gets_an_id_of_its_own() -> Outcome {
    let found = ids(|world| {
        let one = world.spawn((Health(7), Position::default())).id();
        let two = world.entity_mut(one).clone_and_spawn();
        assert_eq!(world.get::<Health>(two), Some(&Health(7)));
        assert_eq!(world.get::<SimId>(two), Some(&SimId(1)));
    })?;
    assert_eq!(found, [0, 1]);
    Ok(())
}

#[test]
fn entity_that_moves_between_tables_keeps_its_id() -> Outcome {
    let found = ids(|world| {
        let one = world.spawn(Health(7)).id();
        world.spawn(Health(8));
        world.entity_mut(one).insert(Position::default()).insert(Label(1)).remove::<Health>();
        assert_eq!(world.get::<SimId>(one), Some(&SimId(0)));
    })?;
    assert_eq!(found, [0, 1]);
    Ok(())
}

#[test]
fn ids_follow_the_order_in_which_systems_were_added_on_both_executors() -> Outcome {
    for executor in [bevy_replay::Executor::SingleThreaded, bevy_replay::Executor::AsBuilt] {
        let game = |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("ids")).register_authoritative::<Health>();
            app.add_systems(
                Startup,
                (
                    |mut commands: Commands| {
                        commands.spawn(Health(10));
                    },
                    |mut commands: Commands| {
                        commands.spawn(Health(11));
                    },
                    |mut commands: Commands| {
                        commands.spawn(Health(12));
                    },
                ),
            );
            app.add_systems(PreStartup, |mut commands: Commands| {
                commands.spawn(Health(9));
            });
        };
        let run = headless(game).executor(executor).record(1)?;
        let lane = run.tape().initial.as_ref().and_then(|image| image.lane("Health")).ok_or("no lane")?;
        let healths: Vec<_> = lane.rows.bytes().chunks(2).map(|bytes| bytes[0]).collect();
        assert_eq!(healths, [9, 10, 11, 12], "{executor:?}");
    }
    Ok(())
}

#[test]
fn type_that_was_spawned_before_it_was_registered_has_ids_then_and_later() -> Outcome {
    let game = |app: &mut App| {
        app.world_mut().spawn(Health(1));
        app.world_mut().spawn((Health(2), bevy_ecs::entity_disabling::Disabled));
        app.add_plugins(ReplayPlugin::new("ids")).register_authoritative::<Health>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Health(3));
        });
        app.add_systems(FixedUpdate, |mut commands: Commands| {
            commands.spawn(Health(4));
        });
    };
    let run = headless(game).detail(Detail::Values).record(2)?;
    assert_eq!(run.tape().initial.as_ref().map(|image| image.roster.to_vec()), Some(vec![0, 1, 2]));
    let last = run.tape().values.last().ok_or("no values")?;
    assert_eq!(last.spawned, [4]);
    headless(game).verify(run.tape())?.assert_verified();
    Ok(())
}

#[test]
fn next_id_is_part_of_the_state() -> Outcome {
    let game = |wasted: bool| {
        headless(move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("ids")).register_authoritative::<Health>();
            app.add_systems(FixedUpdate, move |tick: Res<SimTick>, mut commands: Commands| {
                if wasted && tick.0 == 2 {
                    commands.spawn(Health(1)).despawn();
                }
            });
        })
        .detail(Detail::Values)
    };
    let tape = game(false).record(5)?.tape().clone();
    let replayed = game(true).verify(tape)?;
    let text = replayed.report().to_string();
    assert!(text.starts_with("diverged at tick 2 (0.03 s): SimIds expected 0 got 1"), "{text}");
    Ok(())
}
