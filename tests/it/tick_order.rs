//! Systems inside a tick run in the order in which they were added, where the game leaves it open.

use crate::game::{Outcome, headless};
use bevy_app::{FixedMain, prelude::*};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ScheduleLabel;
use bevy_replay::prelude::*;
use bevy_replay::{AmbiguousPair, AmbiguousPairs};
use std::collections::BTreeSet;

/// Who ran, one letter each.
#[derive(Resource, Canonical, Default)]
struct Log(String);

fn log<const NAME: char>(mut log: ResMut<Log>) {
    log.0.push(NAME);
}

/// Ordered against nothing and in conflict with nobody.
fn harmless() {}

/// The order of one tick.
fn order_of(order: TickOrder, systems: fn(&mut App)) -> Result<String, ReplayError> {
    let game = move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("order").order(order)).register_authoritative_resource::<Log>();
        app.init_resource::<Log>();
        systems(app);
    };
    Ok(headless(game).record(1)?.resource::<Log>()?.0.clone())
}

fn eight(app: &mut App) {
    app.add_systems(FixedUpdate, (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>));
    app.add_systems(FixedUpdate, (log::<'e'>, log::<'f'>)).add_systems(FixedUpdate, (log::<'g'>, log::<'h'>));
}

#[test]
fn unordered_conflicting_systems_run_as_they_were_added() -> Outcome {
    assert_eq!(order_of(TickOrder::Fixed, eight)?, "abcdefgh");
    Ok(())
}

#[test]
fn ninth_system_at_the_end_moves_no_other_pair() -> Outcome {
    let nine = order_of(TickOrder::Fixed, |app| {
        eight(app);
        app.add_systems(FixedUpdate, log::<'i'>);
    })?;
    assert_eq!(nine, "abcdefghi");
    Ok(())
}

#[test]
fn ninth_system_before_the_third_moves_no_other_pair() -> Outcome {
    let nine = order_of(TickOrder::Fixed, |app| {
        eight(app);
        app.add_systems(FixedUpdate, log::<'i'>.before(log::<'c'>));
    })?;
    assert_eq!(nine, "abicdefgh");
    Ok(())
}

#[test]
fn system_put_behind_a_later_one_moves_no_other_pair() -> Outcome {
    let moved = order_of(TickOrder::Fixed, |app| {
        eight(app);
        app.configure_sets(FixedUpdate, Last.after(log::<'f'>));
        app.add_systems(FixedUpdate, log::<'i'>.in_set(Last));
    })?;
    assert_eq!(moved, "abcdefghi");
    #[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
    struct Last;
    Ok(())
}

#[test]
fn harmless_system_moves_nobody_but_would_in_the_order_of_bevy() -> Outcome {
    fn plain(app: &mut App) {
        app.add_systems(FixedUpdate, (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>));
        app.add_systems(FixedUpdate, (log::<'e'>, log::<'f'>).chain());
    }
    fn more(app: &mut App) {
        app.add_systems(FixedUpdate, harmless);
        app.add_systems(FixedUpdate, (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>.after(harmless)));
        app.add_systems(FixedUpdate, (log::<'e'>, log::<'f'>).chain());
    }
    assert_eq!(order_of(TickOrder::Fixed, plain)?, "abcdef");
    assert_eq!(order_of(TickOrder::Fixed, more)?, "abcdef");
    assert_ne!(order_of(TickOrder::AsScheduled, plain)?, order_of(TickOrder::AsScheduled, more)?);
    Ok(())
}

#[test]
fn exclusive_systems_are_ordered_too() -> Outcome {
    let order = order_of(TickOrder::Fixed, |app| {
        let exclusive = |name: char| move |world: &mut World| world.resource_mut::<Log>().0.push(name);
        app.add_systems(FixedUpdate, (exclusive('a'), log::<'b'>, exclusive('c'), exclusive('d'), log::<'e'>));
    })?;
    assert_eq!(order, "abcde");
    Ok(())
}

#[test]
fn system_added_while_the_game_runs_comes_last() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("order")).register_authoritative_resource::<Log>();
        app.init_resource::<Log>().add_systems(Update, |world: &mut World, mut frame: Local<u32>| {
            *frame += 1;
            if *frame == 1 {
                let mut schedules = world.resource_mut::<Schedules>();
                schedules.add_systems(FixedUpdate, (log::<'i'>, log::<'j'>));
            }
        });
        eight(app);
    };
    assert_eq!(headless(game).record(2)?.resource::<Log>()?.0, "abcdefghabcdefghij");
    Ok(())
}

#[test]
fn schedule_that_a_tick_runs_follows_the_order_once_it_is_declared() -> Outcome {
    #[derive(ScheduleLabel, Debug, Clone, PartialEq, Eq, Hash, Default)]
    struct Physics;
    fn nested(app: &mut App) {
        app.init_schedule(Physics);
        app.add_systems(Physics, (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>));
        app.add_systems(Physics, (log::<'e'>, log::<'f'>).chain());
        app.add_systems(FixedUpdate, |world: &mut World| world.run_schedule(Physics));
    }
    let declared = order_of(TickOrder::Fixed, |app| {
        nested(app);
        app.tick_schedule(Physics);
    })?;
    assert_eq!(declared, "abcdef");
    assert_ne!(order_of(TickOrder::Fixed, nested)?, "abcdef", "Bevy's own order");
    Ok(())
}

#[test]
fn systems_put_straight_into_the_tick_are_ordered_too() -> Outcome {
    fn loose(app: &mut App) {
        app.add_systems(FixedUpdate, log::<'u'>);
        app.add_systems(FixedMain, (log::<'a'>, log::<'b'>, log::<'c'>));
        app.add_systems(FixedMain, log::<'z'>.before(FixedMain::run_fixed_main));
    }
    let orders = [
        order_of(TickOrder::Fixed, loose)?,
        order_of(TickOrder::Fixed, |app| {
            app.add_systems(FixedMain, (harmless, || {}, || {}));
            loose(app);
        })?,
        order_of(TickOrder::Fixed, |app| {
            loose(app);
            app.add_systems(FixedMain, (harmless.before(log::<'b'>), || {}, || {}));
        })?,
    ];
    assert_eq!(orders, ["zuabc"; 3], "`run_fixed_main` was added by the app, before all others");
    Ok(())
}

#[test]
fn shuffled_seeds_give_different_legal_orders() -> Outcome {
    let mut orders = BTreeSet::new();
    for seed in 0..16 {
        let order = order_of(TickOrder::Shuffled { seed }, |app| {
            eight(app);
            app.configure_sets(FixedUpdate, Late.after(log::<'a'>));
            app.add_systems(FixedUpdate, log::<'z'>.in_set(Late));
        })?;
        assert_eq!(order_of(TickOrder::Shuffled { seed }, eight)?, order_of(TickOrder::Shuffled { seed }, eight)?);
        assert_eq!(order.chars().collect::<BTreeSet<_>>(), "abcdefghz".chars().collect(), "each once");
        assert_eq!(order.len(), 9);
        assert!(order.find('a') < order.find('z'), "{order} breaks what the game asks for");
        orders.insert(order);
    }
    assert!(orders.len() > 8, "{orders:?}");
    #[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
    struct Late;
    Ok(())
}

#[test]
fn chained_systems_have_one_order_for_all_seeds() -> Outcome {
    for seed in 0..16 {
        let order = order_of(TickOrder::Shuffled { seed }, |app| {
            app.add_systems(FixedUpdate, (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>).chain());
        })?;
        assert_eq!(order, "abcd", "seed {seed}");
    }
    Ok(())
}

#[derive(Component, Canonical)]
struct Value(u32);

fn add(mut values: Query<&mut Value>) {
    for mut value in &mut values {
        value.0 = value.0.wrapping_add(3);
    }
}

fn double(mut values: Query<&mut Value>) {
    for mut value in &mut values {
        value.0 = value.0.wrapping_mul(2);
    }
}

/// bevyengine/bevy#15036: two systems that conflict and are not ordered.
fn add_and_double(order: TickOrder, chained: bool) -> Headless {
    headless(move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("arithmetic").order(order)).register_authoritative::<Value>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn_batch([Value(0), Value(1)]);
        });
        match chained {
            true => app.add_systems(FixedUpdate, (add, double).chain()),
            false => app.add_systems(FixedUpdate, (add, double)),
        };
    })
}

#[test]
fn other_order_of_two_systems_is_reported_at_its_first_tick_with_the_component() -> Outcome {
    let record =
        |seed, chained| add_and_double(TickOrder::Shuffled { seed }, chained).detail(Detail::Values).record(20);
    let first = record(0, false)?;
    let mut disagreeing = 0;
    for seed in 1..16 {
        let replayed = add_and_double(TickOrder::Shuffled { seed }, false).verify(first.tape())?;
        if replayed.report().is_verified() {
            continue;
        }
        disagreeing += 1;
        let report = replayed.report();
        let found = report.divergence.as_ref().ok_or("no divergence")?;
        assert_eq!(found.tick, Some(0));
        let rows = found.differences.as_ref().ok_or("no values")?;
        let places: Vec<_> = rows.iter().map(|row| (row.sim_id, &*row.type_name, &*row.path)).collect();
        assert_eq!(places, [(Some(0), "Value", ".0"), (Some(1), "Value", ".0")]);
        assert_eq!(report.ticks, (20, 20), "it plays on");
    }
    assert!(disagreeing > 0, "no seed turned the two around");
    let chained = record(0, true)?;
    for seed in 1..16 {
        add_and_double(TickOrder::Shuffled { seed }, true).verify(chained.tape())?.assert_verified();
    }
    Ok(())
}

#[test]
fn ambiguous_pair_is_named_and_a_chained_one_is_not() -> Outcome {
    let pairs = |chained| -> Result<Vec<AmbiguousPair>, ReplayError> {
        let run = add_and_double(TickOrder::Fixed, chained).record(1)?;
        let found = run.resource::<AmbiguousPairs>()?.pairs.iter();
        Ok(found.filter(|pair| pair.schedule == "FixedUpdate").cloned().collect())
    };
    let found = pairs(false)?;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&*found[0].first, &*found[0].second), ("it::tick_order::add", "it::tick_order::double"));
    assert_eq!(pairs(true)?, []);
    Ok(())
}

#[test]
fn ambiguous_pairs_by_run_condition_and_by_commands_are_named() -> Outcome {
    fn gated(mut commands: Commands) {
        commands.spawn(Value(0));
    }
    fn spawner(mut commands: Commands) {
        commands.spawn(Value(1));
    }
    fn disjoint(_: Query<&Log2>) {}
    #[derive(Component)]
    struct Log2;
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("pairs")).register_authoritative::<Value>().init_resource::<Log>();
        app.add_systems(FixedUpdate, (gated.run_if(|log: Res<Log>| log.0.is_empty()), spawner, log::<'x'>, disjoint));
    };
    let run = headless(game).record(1)?;
    let short = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
    let pairs = run.resource::<AmbiguousPairs>()?.pairs.iter().filter(|pair| pair.schedule == "FixedUpdate");
    let pairs: BTreeSet<_> = pairs.map(|pair| (short(&pair.first), short(&pair.second))).collect();
    assert!(pairs.contains(&("gated".into(), "spawner".into())), "{pairs:?}");
    assert_eq!(pairs.len(), 2, "{pairs:?}");
    assert!(pairs.iter().any(|(first, second)| first == "gated" && second.contains('x')), "{pairs:?}");
    Ok(())
}

#[test]
fn schedule_that_gets_systems_late_follows_the_order_from_the_next_tick_on() -> Outcome {
    fn fill(mut schedules: ResMut<Schedules>, tick: Res<SimTick>) {
        if tick.0 == 1 {
            schedules.add_systems(FixedLast, (log::<'a'>, log::<'b'>));
        }
    }
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("late")).init_resource::<Log>().add_systems(FixedUpdate, fill);
    };
    let run = headless(game).record(4)?;
    assert_eq!(run.resource::<Log>()?.0[2..], *"abab", "in the tick of their adding they run as Bevy likes");
    let pairs: Vec<_> = run.resource::<AmbiguousPairs>()?.pairs.iter().map(|pair| &*pair.schedule).collect();
    assert_eq!(pairs, ["FixedLast"]);
    Ok(())
}

#[test]
fn schedule_that_gets_systems_late_runs_on_the_thread_of_the_others() -> Outcome {
    #[derive(Resource, Default)]
    struct Threads(Vec<std::thread::ThreadId>);
    fn note(mut threads: ResMut<Threads>) {
        threads.0.push(std::thread::current().id());
    }
    fn fill(mut schedules: ResMut<Schedules>, tick: Res<SimTick>) {
        if tick.0 == 1 {
            schedules.add_systems(FixedLast, note);
        }
    }
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("late")).init_resource::<Threads>().add_systems(FixedUpdate, fill);
    };
    let run = headless(game).record(8)?;
    let threads = &run.resource::<Threads>()?.0;
    assert_eq!(
        threads[1..],
        vec![std::thread::current().id(); 6],
        "in the tick of their adding they run as Bevy likes"
    );
    Ok(())
}

#[test]
fn schedule_that_gets_systems_between_ticks_follows_the_order_at_once() -> Outcome {
    let mut app = App::new();
    app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("late"))).init_resource::<Log>();
    app.insert_resource(bevy_time::TimeUpdateStrategy::FixedTimesteps(1));
    app.update();
    app.update();
    app.add_systems(FixedLast, (log::<'a'>, log::<'b'>));
    app.update();
    app.update();
    assert_eq!(app.world().resource::<Log>().0, "abab");
    Ok(())
}
