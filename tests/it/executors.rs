//! Both executors give the same state, also where systems conflict in hidden ways.

use crate::game::{Outcome, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::Executor;
use bevy_replay::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which side of each race waits for the other, as far as the schedule lets it.
#[derive(Clone, Copy, PartialEq)]
enum Late {
    Nobody,
    First,
    Second,
}

/// How far the two sides of a race have come in this tick, and who holds back.
#[derive(Resource, Clone)]
struct Race {
    late: Late,
    first_done: Arc<AtomicBool>,
    second_done: Arc<AtomicBool>,
}

impl Race {
    fn new(late: Late) -> Self {
        Self { late, first_done: Arc::default(), second_done: Arc::default() }
    }

    fn begin_first(&self) {
        wait(self.late == Late::First, &self.second_done);
    }

    fn begin_second(&self) {
        wait(self.late == Late::Second, &self.first_done);
    }
}

/// Lets others run until the flag is set, but not for ever: the schedule may forbid what is waited for.
fn wait(wanted: bool, flag: &AtomicBool) {
    for _ in 0..if wanted { 300 } else { 0 } {
        if flag.load(Ordering::Acquire) {
            break;
        }
        std::thread::yield_now();
    }
}

fn done(flag: &AtomicBool) {
    flag.store(true, Ordering::Release);
}

#[derive(Component, Canonical)]
struct Mark(u32);

#[derive(Resource, Canonical, Default)]
struct Seen(Vec<u64>);

/// Only written by one side of each race.
#[derive(Resource, Canonical, Default)]
struct Switch(u32);

#[derive(Resource, Canonical, Default)]
struct Hits(u32);

#[derive(Resource, Default)]
struct Unrelated(u32);

#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
struct Gated;

/// A reader that is unordered to the sync point Bevy puts between a spawner and what follows it.
fn sync_point(app: &mut App, race: &Race) {
    let (one, two, three, four) = (race.clone(), race.clone(), race.clone(), race.clone());
    let spawn = move |mut commands: Commands| {
        one.begin_first();
        commands.spawn(Mark(1));
        done(&two.first_done);
    };
    let follow = |mut unrelated: ResMut<Unrelated>| unrelated.0 += 1;
    let read = move |marks: Query<&Mark>, mut seen: ResMut<Seen>| {
        seen.0.push(marks.iter().count() as u64);
        done(&four.second_done);
    };
    app.add_systems(FixedUpdate, (move || three.begin_second(), read).chain());
    app.add_systems(FixedUpdate, (spawn, follow).chain());
}

/// A writer, and a system that runs or not by what is written: only the condition reads it.
fn run_condition(app: &mut App, race: &Race, of_set: bool) {
    let (one, two, three, four) = (race.clone(), race.clone(), race.clone(), race.clone());
    let write = move |mut switch: ResMut<Switch>| {
        switch.0 += 1;
        done(&two.first_done);
    };
    let is_on = move |switch: Res<Switch>| {
        done(&four.second_done);
        switch.0 % 2 == 1
    };
    let hit = |mut hits: ResMut<Hits>| hits.0 += 1;
    app.add_systems(FixedUpdate, (move || one.begin_first(), write).chain());
    let wait = move || three.begin_second();
    if of_set {
        app.configure_sets(FixedUpdate, Gated.run_if(is_on));
        app.add_systems(FixedUpdate, (wait, hit.in_set(Gated)).chain());
    } else {
        app.add_systems(FixedUpdate, (wait, hit.run_if(is_on)).chain());
    }
}

/// Systems that share nothing but commands: the ids of what they spawn follow their order.
fn commands_only(app: &mut App, race: &Race) {
    let (one, two) = (race.clone(), race.clone());
    let first = move |mut commands: Commands| {
        one.begin_first();
        let entity = commands.spawn_empty().id();
        commands.entity(entity).insert(Mark(entity.index_u32()));
        done(&one.first_done);
    };
    let second = move |mut commands: Commands| {
        two.begin_second();
        let entity = commands.spawn_empty().id();
        commands.entity(entity).insert(Mark(1000 + entity.index_u32()));
        done(&two.second_done);
    };
    app.add_systems(FixedUpdate, (first, second));
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Trap {
    SyncPoint,
    RunCondition,
    RunConditionOfSet,
    CommandsOnly,
}

const TRAPS: [Trap; 4] = [Trap::SyncPoint, Trap::RunCondition, Trap::RunConditionOfSet, Trap::CommandsOnly];

/// The last root of three ticks with these traps.
fn outcome(traps: &[Trap], order: TickOrder, executor: Executor, late: Late) -> Result<u64, ReplayError> {
    let traps = traps.to_vec();
    let game = move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("races").order(order)).register_authoritative::<Mark>();
        app.register_authoritative_resource::<Seen>()
            .register_authoritative_resource::<Switch>()
            .register_authoritative_resource::<Hits>();
        app.init_resource::<Seen>().init_resource::<Switch>().init_resource::<Hits>().init_resource::<Unrelated>();
        for trap in &traps {
            let race = Race::new(late);
            match trap {
                Trap::SyncPoint => sync_point(app, &race),
                Trap::RunCondition => run_condition(app, &race, false),
                Trap::RunConditionOfSet => run_condition(app, &race, true),
                Trap::CommandsOnly => commands_only(app, &race),
            }
            app.add_systems(FixedLast, move || {
                race.first_done.store(false, Ordering::Release);
                race.second_done.store(false, Ordering::Release);
            });
        }
    };
    let run = headless(game).executor(executor).detail(Detail::Roots).record(3)?;
    Ok(run.tape().digests.roots[2])
}

fn outcomes(traps: &[Trap], order: TickOrder, executor: Executor, runs: u32) -> Result<BTreeSet<u64>, ReplayError> {
    let late = |run: u32| [Late::Nobody, Late::First, Late::Second][(run % 3) as usize];
    (0..runs).map(|run| outcome(traps, order, executor, late(run))).collect()
}

#[test]
fn hidden_conflicts_have_one_outcome_on_both_executors() -> Outcome {
    let single = outcomes(&TRAPS, TickOrder::Fixed, Executor::SingleThreaded, 200)?;
    let multi = outcomes(&TRAPS, TickOrder::Fixed, Executor::AsBuilt, 200)?;
    assert_eq!(single.len(), 1);
    assert_eq!(single, multi);
    Ok(())
}

#[test]
fn each_hidden_conflict_alone_has_one_outcome() -> Outcome {
    for trap in TRAPS {
        let single = outcomes(&[trap], TickOrder::Fixed, Executor::SingleThreaded, 3)?;
        let multi = outcomes(&[trap], TickOrder::Fixed, Executor::AsBuilt, 30)?;
        assert_eq!(single.len(), 1, "{trap:?}");
        assert_eq!(single, multi, "{trap:?}");
    }
    Ok(())
}

#[test]
fn hidden_conflicts_have_several_outcomes_in_the_order_of_bevy() -> Outcome {
    for trap in TRAPS {
        let mut found = BTreeSet::new();
        for _ in 0..20 {
            found.append(&mut outcomes(&[trap], TickOrder::AsScheduled, Executor::AsBuilt, 3)?);
            if found.len() > 1 {
                break;
            }
        }
        assert!(found.len() > 1, "{trap:?} is no trap");
    }
    Ok(())
}
