//! Fresh processes: what differs from one to the next shows, and what must not differ does not.

use crate::game::{Label, Outcome, Rng, answer, headless, in_child, scramble, task};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Executor, Run};
use std::collections::BTreeSet;

/// Whether the buildings burn down in an order that each process has its own of.
#[derive(Clone, Copy)]
enum Walk {
    Hashed,
    Sorted,
}

#[derive(Component, Canonical)]
struct Building(u32);

#[derive(Resource, Canonical, Default)]
struct Score(u32);

/// widelands/widelands#4816: all buildings fall in tick 10, in the order of a set.
fn kingdom(walk: Walk) -> Headless {
    headless(move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("kingdom")).register_authoritative::<Building>();
        app.register_authoritative_resource::<Score>().register_authoritative_resource::<Rng>();
        app.init_resource::<Score>().insert_resource(Rng(1));
        app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch((0..50).map(Building)));
        app.add_systems(FixedUpdate, move |world: &mut World| {
            if world.resource::<SimTick>().0 == 10 {
                fall(world, walk);
            }
        });
    })
}

fn fall(world: &mut World, walk: Walk) {
    let mut buildings = world.query::<(Entity, &Building)>();
    let all: Vec<(Entity, u32)> = buildings.iter(world).map(|(entity, building)| (entity, building.0)).collect();
    let numbers = all.iter().map(|(_, number)| *number);
    #[expect(clippy::disallowed_types, reason = "this is the fault that must be found")]
    let order: Vec<u32> = match walk {
        Walk::Hashed => numbers.collect::<std::collections::HashSet<u32>>().into_iter().collect(),
        Walk::Sorted => numbers.collect::<BTreeSet<u32>>().into_iter().collect(),
    };
    for number in order {
        let draw = world.resource_mut::<Rng>().draw();
        let mut score = world.resource_mut::<Score>();
        score.0 = score.0.wrapping_add(draw.wrapping_mul(number));
        for (entity, _) in all.iter().filter(|(_, other)| *other == number) {
            world.despawn(*entity);
        }
    }
}

/// Plays a tape in five fresh processes and returns the first two lines of each report.
fn in_five_processes(test: &str, walk: Walk) -> Result<Vec<Vec<String>>, Box<dyn core::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kingdom.tape");
    std::fs::write(&path, kingdom(walk).detail(Detail::Values).record(20)?.tape().to_bytes())?;
    (0..5).map(|_| in_child(test, path.to_str().ok_or("path")?, 2)).collect()
}

fn play(walk: Walk, path: &str) -> Outcome {
    let run = kingdom(walk).verify(path)?;
    answer(run.report().first_divergence());
    answer(run.report().to_string().lines().next().unwrap_or_default());
    Ok(())
}

#[test]
fn walk_over_a_hash_set_diverges_in_its_tick_in_each_fresh_process() -> Outcome {
    if let Some(path) = task() {
        return play(Walk::Hashed, &path);
    }
    let test = concat!(module_path!(), "::walk_over_a_hash_set_diverges_in_its_tick_in_each_fresh_process");
    let mut scores = BTreeSet::new();
    for report in in_five_processes(test, Walk::Hashed)? {
        assert_eq!(report[0], "tick 10");
        let score = report[1].strip_prefix("diverged at tick 10 (0.15 s): Score.0 expected ");
        scores.insert(score.ok_or_else(|| report[1].clone())?.to_owned());
    }
    assert!(scores.len() > 1, "the tick is always the same, the score is not: {scores:?}");
    Ok(())
}

#[test]
fn walk_over_a_sorted_set_is_verified_in_each_fresh_process() -> Outcome {
    if let Some(path) = task() {
        return play(Walk::Sorted, &path);
    }
    let test = concat!(module_path!(), "::walk_over_a_sorted_set_is_verified_in_each_fresh_process");
    for report in in_five_processes(test, Walk::Sorted)? {
        assert_eq!(report, ["none", "verified: replayed 20 ticks, 0 diverged"]);
    }
    Ok(())
}

#[expect(clippy::disallowed_types, reason = "its order must not reach the digest")]
type Stock = std::collections::HashMap<String, u16>;

/// gschup/bevy_ggrs#49: all that a seeded hasher, an address or a registration order could get into.
#[derive(Component, Canonical, Clone)]
struct Everything {
    name: String,
    samples: Vec<f32>,
    mood: Option<Mood>,
    nested: Nested,
    stock: Stock,
}

#[derive(Canonical, Clone)]
enum Mood {
    Calm,
    Angry { at: Option<Entity>, since: u64 },
}

#[derive(Canonical, Clone, Default)]
struct Nested {
    pair: (u8, i64),
    deep: [Option<char>; 3],
}

fn everything(reversed: bool) -> impl Fn(&mut App) + Send + Sync + 'static {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("everything"));
        if reversed {
            scramble(app);
            app.register_authoritative_resource::<Rng>().register_authoritative::<(Building, Everything)>();
        } else {
            app.register_authoritative::<Everything>().register_authoritative::<Building>();
            app.register_authoritative_resource::<Rng>();
        }
        app.insert_resource(Rng(9)).add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Label(0));
            let building = commands.spawn(Building(7)).id();
            for i in 0..20_u16 {
                commands.spawn(Everything {
                    name: format!("number {i}"),
                    samples: vec![f32::from(i) * 0.5; usize::from(i % 4)],
                    mood: [None, Some(Mood::Calm), Some(Mood::Angry { at: Some(building), since: 3 })]
                        [usize::from(i % 3)]
                    .clone(),
                    nested: Nested { pair: (1, -i64::from(i)), deep: [Some('ß'), None, Some('x')] },
                    stock: (0..i).map(|n| (format!("item {n}"), n)).collect(),
                });
            }
        });
        app.add_systems(FixedUpdate, |mut all: Query<(&SimId, &mut Everything)>, mut rng: ResMut<Rng>| {
            for (_, mut one) in all.iter_mut().sort::<&SimId>() {
                one.nested.pair.1 += i64::from(rng.draw() % 5);
                one.stock.remove("item 3");
                one.stock.insert("item 3".into(), 4);
                one.name.push('!');
            }
        });
    }
}

/// The digests of `everything` after 1 to 10 ticks, on every machine.
const DIGESTS: [&str; 10] = [
    "49AAB5718BEFA998",
    "EA32E41795E3CE76",
    "825A72B980810F82",
    "B1F5A179EC3016BA",
    "F4F608B82D0C9CA6",
    "460F4537E3F66540",
    "8F43E2B487070FB9",
    "31B27016EB8179C3",
    "092DAA3F04217F1F",
    "D99C5C5205EA7790",
];

fn roots(run: &Run) -> Vec<String> {
    run.tape().digests.roots.iter().map(|root| format!("{root:016X}")).collect()
}

#[test]
fn digests_are_the_same_in_fresh_processes_with_one_and_eight_threads() -> Outcome {
    if let Some(task) = task() {
        let run = headless(everything(task == "reversed")).executor(Executor::AsBuilt).record(10)?;
        roots(&run).iter().for_each(answer);
        return Ok(());
    }
    let test = concat!(module_path!(), "::digests_are_the_same_in_fresh_processes_with_one_and_eight_threads");
    let here = roots(&headless(everything(false)).record(10)?);
    assert_eq!(here.iter().collect::<BTreeSet<_>>().len(), 10, "each tick has another");
    assert_eq!(here, DIGESTS, "committed with digest version 1");
    for (task, threads) in [("straight", 1), ("straight", 8), ("reversed", 1), ("reversed", 8)] {
        assert_eq!(in_child(test, task, threads)?, here, "{task}, {threads} threads");
    }
    Ok(())
}
