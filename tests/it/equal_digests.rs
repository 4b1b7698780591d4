//! The same tape gives the same digests, whatever must not matter.

use crate::game::{self, Outcome, arena, arena_reversed, assert_same_roots, clutter, headless, scramble, script};
use bevy_app::FixedMain;
use bevy_app::prelude::*;
use bevy_ecs::name::Name;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Executor, Pacing, RecordingEnded, Run, digest, image};
use core::time::Duration;

const TICKS: u32 = 200;

/// The digests of all ticks, and proof that the game did something.
fn recorded(headless: Headless) -> Result<Run, ReplayError> {
    let run = headless.inputs(script(TICKS)).run()?;
    assert_eq!(run.tape().digests.roots.len() as u64, u64::from(TICKS));
    Ok(run)
}

/// Records the arena, and replays it in another app: verified, and each tick's root the same.
fn same_in(name: &str, other: impl Fn() -> Headless) -> Outcome {
    let expected = recorded(headless(arena))?;
    let replayed = other().verify(expected.tape())?;
    replayed.assert_verified();
    assert_eq!(replayed.report().compared, u64::from(TICKS));
    let again = recorded(other())?;
    assert_same_roots(&expected.tape().digests.roots, &again.tape().digests.roots, name);
    Ok(())
}

/// Records a game, and replays it in another app, where it must diverge.
fn diverges_in<M>(game: impl bevy_app::Plugins<M>, other: Headless) -> Outcome {
    let expected = headless(game).inputs(script(TICKS)).run()?;
    let replayed = other.verify(expected.tape())?;
    assert!(!replayed.report().is_verified(), "the planted fault must be found");
    Ok(())
}

#[test]
fn arena_exercises_all_its_lanes() -> Outcome {
    let run = recorded(headless(arena).detail(Detail::Values))?;
    let (tape, mut image) = (run.tape(), run.tape().initial.clone());
    let mut most = vec![0; image.as_ref().map_or(0, |image| image.lanes.len())];
    for tick in tape.ticks() {
        assert!(tape.step_image(&mut image, tick));
        for (most, lane) in most.iter_mut().zip(image.iter().flat_map(|image| &image.lanes)) {
            *most = lane.ids.len().max(*most);
        }
    }
    let specs = tape.header.lanes.iter().zip(&most);
    let poor: Vec<_> =
        specs.filter(|(spec, most)| **most < 2 && !["Hero", "Aim", "Bag"].contains(&&*spec.name)).collect();
    assert!(poor.is_empty(), "lanes that never held two rows: {poor:?}");
    assert!(run.resource::<game::Score>()?.0 > 100);
    Ok(())
}

#[test]
fn ticks_per_frame_change_no_digest() -> Outcome {
    for per_frame in [1, 4, 16] {
        let pacing = Pacing::TicksPerFrame(per_frame);
        same_in(&format!("{per_frame} ticks per frame"), || headless(arena).pacing(pacing.clone()))?;
    }
    for frames in [vec![5], vec![5, 40, 0, 1, 250]] {
        let pacing = Pacing::Frames(frames.iter().map(|ms| Duration::from_millis(*ms)).collect());
        same_in(&format!("frames of {frames:?} ms"), || headless(arena).pacing(pacing.clone()))?;
    }
    Ok(())
}

#[test]
fn tick_that_counts_frames_diverges_at_four_ticks_per_frame() -> Outcome {
    #[derive(Resource, Default)]
    struct Frames(u32);
    fn counting(app: &mut App) {
        arena(app);
        app.init_resource::<Frames>().add_systems(Update, |mut frames: ResMut<Frames>| frames.0 += 1);
        app.add_systems(FixedUpdate, |frames: Res<Frames>, mut score: ResMut<game::Score>| score.0 += frames.0);
    }
    diverges_in(counting, headless(counting).pacing(Pacing::TicksPerFrame(4)))
}

#[test]
fn executors_change_no_digest() -> Outcome {
    for executor in [Executor::SingleThreaded, Executor::AsBuilt] {
        same_in(&format!("{executor:?}"), || headless(arena).executor(executor))?;
    }
    Ok(())
}

#[test]
fn debug_entities_cameras_and_unregistered_components_change_no_digest() -> Outcome {
    for executor in [Executor::SingleThreaded, Executor::AsBuilt] {
        same_in("clutter last", || headless((arena, clutter)).executor(executor))?;
        same_in("clutter first", || headless((clutter, arena)).executor(executor))?;
    }
    Ok(())
}

/// What a game has on its screen while it is debugged: names, sprites, gizmos, and observers of all that happens.
fn overlays(app: &mut App) {
    #[derive(Component)]
    struct Sprite;
    #[derive(Component)]
    struct Gizmo;
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Outline;
    #[derive(Resource, Default)]
    struct Heard(u32);

    app.init_resource::<Heard>();
    app.add_observer(|_: On<Diverged>, mut heard: ResMut<Heard>| heard.0 += 1);
    app.add_observer(|_: On<RecordingEnded>, mut heard: ResMut<Heard>| heard.0 += 1);
    app.add_observer(|added: On<Add<game::Health>>, mut commands: Commands| {
        commands.entity(added.entity).insert(Name::new("someone")).with_child(Sprite);
    });
    app.add_observer(|_: On<Remove<game::Bullet>>, mut commands: Commands| {
        commands.spawn(Gizmo);
    });
    let blink = |units: Query<(Entity, &SimId, Has<Outline>), With<game::Health>>, mut commands: Commands| {
        for (unit, id, is_outlined) in &units {
            match is_outlined {
                true => commands.entity(unit).remove::<Outline>(),
                false if id.0.is_multiple_of(2) => commands.entity(unit).insert(Outline),
                false => continue,
            };
        }
    };
    let draw = |gizmos: Query<Entity, With<Gizmo>>, mut commands: Commands| {
        gizmos.iter().for_each(|gizmo| commands.entity(gizmo).despawn());
        commands.spawn_batch((0..3).map(|_| Gizmo));
    };
    app.add_systems(Update, (blink, draw));
    app.add_systems(FixedMain, (|mut heard: ResMut<Heard>| heard.0 += 1).after(FixedMain::run_fixed_main));
}

#[test]
fn overlays_sprites_names_gizmos_and_observers_change_no_digest() -> Outcome {
    for executor in [Executor::SingleThreaded, Executor::AsBuilt] {
        same_in("overlays", || headless((arena, overlays)).executor(executor))?;
        same_in("overlays first", || headless((overlays, arena)).pacing(Pacing::TicksPerFrame(3)))?;
    }
    Ok(())
}

#[test]
fn tick_that_counts_all_entities_diverges_among_debug_entities() -> Outcome {
    fn counting(app: &mut App) {
        arena(app);
        app.add_systems(FixedUpdate, |all: Query<Entity>, mut score: ResMut<game::Score>| {
            score.0 += u32::try_from(all.iter().count()).unwrap_or(0);
        });
    }
    diverges_in(counting, headless((counting, clutter)))
}

#[test]
fn scrambled_entity_indices_change_no_digest() -> Outcome {
    same_in("scrambled", || headless((scramble, arena)))?;
    same_in("scrambled and cluttered", || headless((scramble, clutter, arena)).pacing(Pacing::TicksPerFrame(3)))
}

#[test]
fn state_that_holds_an_entity_index_diverges_when_indices_are_scrambled() -> Outcome {
    fn leaking(app: &mut App) {
        arena(app);
        app.add_systems(FixedUpdate, |hero: Single<Entity, With<game::Hero>>, mut score: ResMut<game::Score>| {
            score.0 += hero.index_u32();
        });
    }
    diverges_in(leaking, headless((scramble, leaking)))
}

#[test]
fn reversed_registration_changes_no_digest() -> Outcome {
    same_in("reversed", || headless(arena_reversed))
}

#[test]
fn added_registration_changes_the_digest() -> Outcome {
    fn more(app: &mut App) {
        app.register_authoritative_resource::<More>();
        arena(app);
    }
    #[derive(Resource, Canonical)]
    struct More;
    let (plain, more) = (recorded(headless(arena))?, recorded(headless(more))?);
    assert_ne!(plain.tape().digests.roots[0], more.tape().digests.roots[0]);
    Ok(())
}

#[test]
fn everything_that_must_not_matter_at_once_changes_no_digest() -> Outcome {
    same_in("all at once", || {
        headless((scramble, arena_reversed, clutter)).executor(Executor::AsBuilt).pacing(Pacing::TicksPerFrame(4))
    })
}

/// Both build profiles and all platforms must print the same line; the continuous integration compares them.
#[test]
fn final_root_is_printed_for_comparison_between_builds() -> Outcome {
    let run = recorded(headless(arena))?;
    let root = run.tape().digests.roots.last().ok_or("no ticks")?;
    println!("arena after {TICKS} ticks: root {root:016X}");
    assert_eq!(run.tape().root_after(u64::from(TICKS) - 1), Some(*root));
    Ok(())
}

#[derive(Component, Canonical, Clone, Copy)]
struct Wide([i64; 9]);
#[derive(Component, Canonical, Clone, Copy)]
struct Small(u32);
/// Marks put entities into tables of their own.
#[derive(Component)]
struct Mark<const N: u32>;

fn spawn_marked(world: &mut World, i: u32, tables: u32) {
    let mut entity = world.spawn((Wide([i64::from(i); 9]), Small(i)));
    let kind = i % tables;
    if kind & 1 != 0 {
        entity.insert(Mark::<0>);
    }
    if kind & 2 != 0 {
        entity.insert(Mark::<1>);
    }
    if kind & 4 != 0 {
        entity.insert(Mark::<2>);
    }
    if kind & 8 != 0 {
        entity.insert(Mark::<3>);
    }
    if kind & 16 != 0 {
        entity.insert(Mark::<4>);
    }
}

/// That the image holds what the world holds, and that the digest is that of the image.
fn assert_captured(world: &mut World, what: &str) -> Outcome {
    let root = digest(world)?;
    let image = image(world)?;
    assert_eq!(root, image.digest().root, "{what}");
    let mut bodies = world.query::<(&SimId, &Wide, &Small)>();
    let lane = |name| image.lane(name).ok_or("it is registered");
    let (wide, small) = (lane("Wide")?, lane("Small")?);
    for (id, value, number) in bodies.iter(world) {
        let expected: Vec<u8> = value.0.iter().flat_map(|part| part.to_le_bytes()).collect();
        assert_eq!(wide.get(id.0), Some(&*expected), "{what}, sim:{}", id.0);
        assert_eq!(small.get(id.0), Some(&number.0.to_le_bytes()[..]), "{what}, sim:{}", id.0);
    }
    assert_eq!(wide.ids.len(), bodies.iter(world).count(), "{what}");
    Ok(())
}

#[test]
fn rows_of_many_tables_are_captured_and_hashed_as_they_are() -> Outcome {
    for tables in [1, 2, 3, 20, 32] {
        for entities in [0, 1, 127, 128, 129, 300, 1000] {
            let mut app = App::new();
            app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("tables")));
            app.register_authoritative::<(Wide, Small)>();
            app.finish();
            let world = app.world_mut();
            (0..entities).for_each(|i| spawn_marked(world, i, tables));
            let what = format!("{entities} entities in {tables} tables");
            assert_captured(world, &what)?;
            // Values change; then rows move, and no table is in order any more.
            for mut small in world.query::<&mut Small>().iter_mut(world) {
                small.0 = small.0.wrapping_mul(31) ^ 5;
            }
            assert_captured(world, &format!("{what}, changed"))?;
            let all: Vec<Entity> = world.query_filtered::<Entity, With<Small>>().iter(world).collect();
            for entity in all.iter().step_by(7) {
                world.despawn(*entity);
            }
            (0..entities / 9).for_each(|i| spawn_marked(world, i, tables));
            assert_captured(world, &format!("{what}, some despawned"))?;
        }
    }
    Ok(())
}
