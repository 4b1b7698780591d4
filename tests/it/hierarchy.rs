//! Which entity is a child of which, and in which order, is state once it is registered.

use crate::game::{Outcome, assert_same_roots, headless};
use bevy_app::prelude::*;
use bevy_ecs::name::Name;
use bevy_ecs::prelude::*;
use bevy_replay::{Finding, Guard, ReplayError, coverage, prelude::*};

#[derive(Component, Canonical)]
struct Part(u8);

/// A picture of a part.
#[derive(Component)]
struct Sprite;

/// Two ships with guns; a gun changes hands at tick 3.
fn game(app: &mut App) {
    guarded(app, Guard::Full);
}

fn guarded(app: &mut App, guard: Guard) {
    app.add_plugins(ReplayPlugin::new("hierarchy").guard(guard)).register_authoritative::<Part>().register_hierarchy();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Part(0)).with_children(|ship| {
            ship.spawn(Part(1));
            ship.spawn(Part(2));
        });
        commands.spawn(Part(10)).with_children(|ship| {
            ship.spawn(Part(11));
        });
    });
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, parts: Query<(Entity, &Part)>, mut commands: Commands| {
        let find = |wanted| parts.iter().find(|(_, part)| part.0 == wanted).map(|(entity, _)| entity);
        if tick.0 == 3
            && let (Some(ship), Some(gun)) = (find(10), find(1))
        {
            commands.entity(gun).insert(ChildOf(ship));
        }
    });
}

#[test]
fn parent_and_order_of_children_are_state() -> Outcome {
    let recorded = headless(game).detail(Detail::Values).record(10)?;
    headless(game).verify(recorded.tape())?.assert_verified();

    let reordered = |app: &mut App| {
        game(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut ships: Query<&mut Children>| {
            if tick.0 == 6 {
                for mut children in &mut ships {
                    let last = children.len() - 1;
                    children.swap(0, last);
                }
            }
        });
    };
    let report = headless(reordered).compare(recorded.tape())?;
    let text = report.divergence.ok_or("they differ")?.to_string();
    assert!(text.starts_with("diverged at tick 6 (0.09 s): sim:3 Children[0] expected sim:4 got sim:1"), "{text}");

    let other_ship = |app: &mut App| {
        game(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, guns: Query<(Entity, &Part)>, mut commands: Commands| {
            for (gun, part) in &guns {
                if tick.0 == 8 && part.0 == 11 {
                    commands.entity(gun).remove::<ChildOf>();
                }
            }
        });
    };
    let divergence = headless(other_ship).compare(recorded.tape())?.divergence.ok_or("they differ")?;
    assert_eq!(divergence.tick, Some(8));
    assert!(divergence.to_string().contains("Children"), "{divergence}");
    Ok(())
}

#[test]
fn child_sprites_change_no_digest() -> Outcome {
    let recorded = headless(game).record(10)?;
    let drawn = |app: &mut App| {
        app.world_mut().spawn_batch((0..7).map(|_| Sprite));
        game(app);
        app.add_systems(Update, |parts: Query<Entity, With<Part>>, mut commands: Commands, mut frame: Local<u32>| {
            *frame += 1;
            for part in &parts {
                commands.entity(part).insert(Name::new("part"));
                let sprite = commands.spawn((Sprite, ChildOf(part))).id();
                if (*frame).is_multiple_of(2) {
                    commands.entity(sprite).despawn();
                }
            }
        });
        // A simulated part on a parent that is only drawn has no parent, as far as the state goes.
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Sprite);
        });
    };
    let replayed = headless(drawn).verify(recorded.tape())?.verified()?;
    assert_eq!(replayed.report().notes, Vec::<String>::new());
    let again = headless(drawn).record(10)?;
    assert_same_roots(&recorded.tape().digests.roots, &again.tape().digests.roots, "with sprites");
    Ok(())
}

#[test]
fn sprites_between_ticks_are_no_finding_and_a_simulated_child_is() -> Outcome {
    let found = |with_part: bool| -> Result<Vec<Finding>, ReplayError> {
        let drawn = move |app: &mut App| {
            guarded(app, Guard::Ticks);
            app.init_resource::<Told>();
            app.add_observer(|found: On<Finding>, mut told: ResMut<Told>| told.0.push(found.event().clone()));
            app.add_systems(
                Update,
                move |parts: Query<(Entity, &Part)>, tick: Res<SimTick>, mut commands: Commands| {
                    for (part, name) in &parts {
                        commands.entity(part).with_child(Sprite);
                        if with_part && name.0 == 0 && tick.0 == 5 {
                            commands.entity(part).with_child(Part(99));
                        }
                    }
                },
            );
        };
        Ok(headless(drawn).record(10)?.resource::<Told>()?.0.clone())
    };
    assert_eq!(found(false)?, []);
    assert!(!found(true)?.is_empty());
    Ok(())
}

#[derive(Resource, Default)]
struct Told(Vec<Finding>);

#[test]
fn unregistered_hierarchy_is_listed() -> Outcome {
    let unregistered = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("hierarchy")).register_authoritative::<Part>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Part(0)).with_child(Part(1));
        });
    };
    let mut run = headless(unregistered).record(1)?;
    let listed = coverage(run.world_mut()).unregistered;
    assert!(listed.iter().any(|name| name.ends_with("ChildOf")), "{listed:?}");
    let mut run = headless(game).record(1)?;
    assert_eq!(coverage(run.world_mut()).unregistered, Vec::<String>::new());
    Ok(())
}
