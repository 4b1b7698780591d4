//! Trusting change ticks gives the digests of reading every row, for every write that change detection sees.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{digest, prelude::*};

#[derive(Component, Canonical, Clone)]
struct Body([i32; 3]);

#[derive(Component, Canonical)]
struct Target(Entity);

#[derive(Component, Canonical)]
struct Tale(String);

#[derive(Component)]
struct Red;

fn app(trust: bool) -> App {
    let mut app = App::new();
    app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("trust").trust_change_ticks(trust)));
    app.register_authoritative::<(Body, Target, Tale)>();
    app.finish();
    app
}

/// A few writes of every kind, decided by `step` alone.
fn disturb(world: &mut World, step: u64) {
    let mut pick = step.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut draw = |below: usize| {
        pick = pick.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(pick >> 33).unwrap_or(0) % below.max(1)
    };
    let mut all = world.query_filtered::<(Entity, &SimId), With<Body>>();
    let mut bodies: Vec<(u64, Entity)> = all.iter(world).map(|(entity, id)| (id.0, entity)).collect();
    bodies.sort_unstable();
    for _ in 0..4 {
        let (_, entity) = bodies[draw(bodies.len())];
        let Ok(mut body) = world.get_entity_mut(entity) else { continue };
        match draw(9) {
            0 => body.despawn(),
            1 => {
                body.insert(Red);
            }
            2 => {
                body.remove::<Red>();
            }
            3 => {
                body.insert(Tale(format!("step {step}")));
            }
            4 => {
                body.remove::<Body>();
            }
            5 => {
                let (_, target) = bodies[draw(bodies.len())];
                body.insert(Target(target));
            }
            6 => {
                body.insert(Body([7, 7, 7]));
            }
            _ => {
                if let Some(mut body) = body.get_mut::<Body>() {
                    body.0[1] += 1;
                }
            }
        }
    }
    world.spawn(Body([i32::try_from(step).unwrap_or(0); 3]));
}

#[test]
fn trusted_digests_are_those_of_reading_every_row() -> Result<(), Box<dyn core::error::Error>> {
    let (mut trusting, mut reading) = (app(true), app(false));
    for app in [&mut trusting, &mut reading] {
        (0..400).for_each(|i| {
            app.world_mut().spawn(Body([i; 3]));
        });
    }
    for step in 0..400 {
        if step % 3 != 0 {
            disturb(trusting.world_mut(), step);
            disturb(reading.world_mut(), step);
        }
        assert_eq!(digest(trusting.world_mut())?, digest(reading.world_mut())?, "step {step}");
    }
    Ok(())
}

#[test]
fn a_write_that_bypasses_change_detection_is_seen_unless_ticks_are_trusted() -> Result<(), Box<dyn core::error::Error>>
{
    for trust in [true, false] {
        let mut app = app(trust);
        let entity = app.world_mut().spawn(Body([1; 3])).id();
        let before = digest(app.world_mut())?;
        let mut body = app.world_mut().get_mut::<Body>(entity).ok_or("spawned")?;
        body.bypass_change_detection().0[0] = 9;
        assert_eq!(digest(app.world_mut())? == before, trust, "that is what is trusted");
    }
    Ok(())
}

#[test]
fn a_table_that_comes_and_goes_is_read_anew() -> Result<(), Box<dyn core::error::Error>> {
    let (mut trusting, mut reading) = (app(true), app(false));
    for step in 0..12 {
        let digests = [&mut trusting, &mut reading].map(|app| {
            let world = app.world_mut();
            match step % 3 {
                0 => {
                    world.spawn((Body([step; 3]), Red));
                }
                1 => {
                    world.spawn(Body([step; 3]));
                }
                _ => {
                    let reds: Vec<Entity> = world.query_filtered::<Entity, With<Red>>().iter(world).collect();
                    reds.into_iter().for_each(|red| {
                        world.despawn(red);
                    });
                }
            }
            digest(world)
        });
        assert_eq!(digests[0].clone()?, digests[1].clone()?, "step {step}");
    }
    // All of a lane gone, and others in its tables.
    for app in [&mut trusting, &mut reading] {
        let world = app.world_mut();
        let all: Vec<Entity> = world.query_filtered::<Entity, With<Body>>().iter(world).collect();
        all.into_iter().for_each(|body| {
            world.despawn(body);
        });
        world.spawn(Tale("the end".into()));
    }
    assert_eq!(digest(trusting.world_mut())?, digest(reading.world_mut())?);
    Ok(())
}
