//! What is another state has another digest, and what is the same state has the same.

use crate::game::{Health, Outcome, Position, Score, Velocity, headless};
use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Run, Verdict};
use std::collections::BTreeMap;

#[derive(Resource, Canonical)]
struct Flag;

/// Records two ticks of a world that stands still as it was made.
fn still(make: impl Fn(&mut World) + Send + Sync + 'static) -> Headless {
    let make = std::sync::Arc::new(make);
    headless(move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("still"))
            .register_authoritative::<(Position, Velocity, Health)>()
            .register_authoritative_resource::<Score>()
            .register_authoritative_resource::<Flag>();
        let make = make.clone();
        app.add_systems(Startup, move |world: &mut World| make(world));
    })
}

fn root(make: impl Fn(&mut World) + Send + Sync + 'static) -> Result<u64, ReplayError> {
    let run = still(make).record(2)?;
    assert_eq!(run.tape().digests.roots.len(), 2);
    Ok(run.tape().digests.roots[1])
}

fn at(x: f32) -> Position {
    Position { x, y: 1.0 }
}

fn foes(world: &mut World, foes: &[(Position, u16)]) {
    world.spawn_batch(foes.iter().map(|(position, health)| (*position, Health(*health))).collect::<Vec<_>>());
}

#[test]
fn each_change_of_the_state_changes_the_digest() -> Outcome {
    let base = |world: &mut World| foes(world, &[(at(0.0), 1), (at(2.0), 2), (at(3.0), 3)]);
    let roots = [
        ("base", root(base)?),
        ("base again", root(base)?),
        ("two entities swapped", root(|world| foes(world, &[(at(2.0), 2), (at(0.0), 1), (at(3.0), 3)]))?),
        ("two values swapped", root(|world| foes(world, &[(at(0.0), 2), (at(2.0), 1), (at(3.0), 3)]))?),
        ("a value twice", root(|world| foes(world, &[(at(0.0), 1), (at(2.0), 2), (at(2.0), 2)]))?),
        ("-0.0 for 0.0", root(|world| foes(world, &[(at(-0.0), 1), (at(2.0), 2), (at(3.0), 3)]))?),
        (
            "an entity of defaults added",
            root(move |world| {
                base(world);
                world.spawn((Position::default(), Health::default()));
            })?,
        ),
        (
            "an entity with nothing but its id added",
            root(move |world| {
                base(world);
                world.spawn(SimId(3));
            })?,
        ),
        (
            "an entity added and gone",
            root(move |world| {
                base(world);
                world.spawn(Health(0)).despawn();
            })?,
        ),
        (
            "a component of defaults added",
            root(move |world| {
                base(world);
                let first = world.query_filtered::<Entity, With<Health>>().iter(world).next();
                if let Some(first) = first {
                    world.entity_mut(first).insert(Velocity::default());
                }
            })?,
        ),
        (
            "a resource of defaults added",
            root(move |world| {
                base(world);
                world.insert_resource(Score::default());
            })?,
        ),
        (
            "a resource without bytes added",
            root(move |world| {
                base(world);
                world.insert_resource(Flag);
            })?,
        ),
        (
            "an entity with another id",
            root(|world| {
                foes(world, &[(at(0.0), 1), (at(2.0), 2)]);
                world.spawn((SimId(9), at(3.0), Health(3)));
            })?,
        ),
    ];
    let mut seen = BTreeMap::new();
    let equal: Vec<_> = roots.into_iter().filter_map(|(name, root)| Some((seen.insert(root, name)?, name))).collect();
    assert_eq!(equal, [("base", "base again")], "only these may have one digest");
    Ok(())
}

#[test]
fn disabled_entity_counts_with_its_value_and_that_it_is_disabled() -> Outcome {
    let disabled = |health| {
        root(move |world| {
            world.spawn((Health(health), Disabled));
        })
    };
    assert_eq!(disabled(5)?, disabled(5)?);
    assert_ne!(disabled(5)?, disabled(6)?);
    let enabled = root(|world| {
        world.spawn(Health(5));
    })?;
    assert_ne!(disabled(5)?, enabled, "whether an entity is disabled is state");
    Ok(())
}

#[test]
fn order_of_rows_and_tables_changes_no_digest() -> Outcome {
    let spawned = |order: [u64; 4]| {
        root(move |world| {
            for id in order {
                let common = (SimId(id), Health(u16::try_from(id).unwrap_or(0)));
                match id % 2 {
                    0 => world.spawn((common, at(1.0))),
                    _ => world.spawn(common),
                };
            }
        })
    };
    let expected = spawned([0, 1, 2, 3])?;
    for order in [[3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
        assert_eq!(spawned(order)?, expected, "{order:?}");
    }
    Ok(())
}

fn nan(bits: u32) -> Headless {
    still(move |world| {
        world.spawn(at(0.0));
        world.spawn(at(f32::from_bits(bits)));
    })
}

fn notes(run: &Run) -> &[String] {
    &run.report().notes
}

#[test]
fn payload_of_a_nan_changes_no_digest_and_is_reported() -> Outcome {
    let quiet = nan(0x7FC0_0000).record(2)?;
    for bits in [0x7FC0_0001, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF] {
        let other = nan(bits).verify(quiet.tape())?;
        assert_eq!(other.report().verdict, Verdict::Verified);
        assert_eq!(
            notes(&other),
            ["NaN in Position of sim:1 after tick 0: it has one canonical form, so its payload is not compared"]
        );
        assert!(other.report().to_string().contains("note: NaN in Position of sim:1"), "{}", other.report());
    }
    let infinite = nan(0x7F80_0000).verify(quiet.tape())?;
    assert_eq!(infinite.report().verdict, Verdict::Diverged, "infinity is no NaN");
    Ok(())
}

#[test]
fn state_without_nan_brings_no_note() -> Outcome {
    let tape = nan(0).record(2)?.tape().clone();
    let replayed = nan(0).verify(tape)?;
    assert_eq!(notes(&replayed), <[String; 0]>::default());
    Ok(())
}

#[test]
fn reference_to_an_entity_without_id_is_recorded_as_none_and_reported() -> Outcome {
    #[derive(Component, Canonical)]
    struct Leader(Entity);
    #[derive(Component)]
    struct Unsimulated;
    let game = |simulated: bool| {
        headless(move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("leader")).register_authoritative::<(Leader, Health)>();
            app.add_systems(Startup, move |world: &mut World| {
                let leader = if simulated { world.spawn(Health(1)).id() } else { world.spawn(Unsimulated).id() };
                world.spawn((SimId(5), Leader(leader)));
            });
        })
    };
    let (simulated, dangling) = (game(true).record(2)?, game(false).record(2)?);
    assert_ne!(simulated.tape().digests.roots, dangling.tape().digests.roots);
    let replayed = game(false).verify(dangling.tape())?;
    replayed.assert_verified();
    assert_eq!(notes(&replayed), ["Leader of sim:5 points at no simulated entity after tick 0: recorded as none"]);
    let replayed = game(true).verify(simulated.tape())?;
    assert_eq!(notes(&replayed), <[String; 0]>::default());
    Ok(())
}
