//! Everything in `FixedMain` is inside the border, whoever put it there and when.

use crate::game::{Outcome, headless};
use bevy_app::{FixedMain, FixedMainScheduleOrder, prelude::*};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ScheduleLabel;
use bevy_replay::prelude::*;
use bevy_replay::{Executor, Pacing, ReplaySystems};

#[derive(Resource, Default, Clone, TickInput)]
struct Push(u32);

/// What each place of the tick read from the input.
#[derive(Resource, Canonical, Default)]
struct Seen(Vec<(String, u32)>);

/// What each place spawned, with the tick in which it did.
#[derive(Component, Canonical, Debug, PartialEq)]
struct Spawned(String, u64);

#[derive(ScheduleLabel, Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Early;

#[derive(ScheduleLabel, Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Late;

/// Reads the input and spawns an entity, through commands.
fn place(name: &'static str) -> impl FnMut(Res<Push>, Res<SimTick>, ResMut<Seen>, Commands) + Send + Sync + 'static {
    move |push: Res<Push>, tick: Res<SimTick>, mut seen: ResMut<Seen>, mut commands: Commands| {
        seen.0.push((name.into(), push.0));
        commands.spawn(Spawned(name.into(), tick.0));
    }
}

/// A plugin of somebody else, who knows nothing of the border.
fn stranger(app: &mut App) {
    app.init_schedule(Early).init_schedule(Late);
    let mut order = app.world_mut().resource_mut::<FixedMainScheduleOrder>();
    order.insert_before(FixedFirst, Early);
    order.insert_after(FixedLast, Late);
    app.add_systems(Early, place("early")).add_systems(Late, place("late"));
    app.add_systems(FixedMain, place("loose"))
        .add_systems(FixedMain, place("before").before(FixedMain::run_fixed_main))
        .add_systems(FixedMain, place("after").after(FixedMain::run_fixed_main));
}

/// The earliest schedule there can be.
fn first_of_all(app: &mut App) {
    app.init_schedule(Early);
    app.world_mut().resource_mut::<FixedMainScheduleOrder>().labels.insert(0, Early.intern());
    app.add_systems(Early, place("first of all"));
}

fn game(app: &mut App) {
    game_in(app, TickOrder::Fixed);
}

fn game_in(app: &mut App, order: TickOrder) {
    app.add_plugins(ReplayPlugin::new("border").order(order))
        .record_input::<Push>()
        .register_authoritative::<Spawned>()
        .register_authoritative_resource::<Seen>()
        .init_resource::<Seen>();
    app.add_systems(FixedUpdate, place("update"));
    // Live input: another value in each frame.
    app.add_systems(PreUpdate, |mut push: ResMut<Push>| push.0 += 100);
}

/// Everything that a tick reads is the tape's, and everything it does is in its image.
fn stays_inside(build: fn(&mut App), places: usize) -> Outcome {
    for executor in [Executor::SingleThreaded, Executor::AsBuilt] {
        let recorded = headless(build).executor(executor).detail(Detail::Values).inputs((0..4).map(Push)).run()?;
        let tape = recorded.tape();

        let seen = &recorded.resource::<Seen>()?.0;
        assert_eq!(seen.len(), 4 * places, "{seen:?}");
        for (tick, seen) in (0..4).zip(seen.chunks(places)) {
            assert!(seen.iter().all(|(_, push)| *push == tick), "tick {tick} saw {seen:?}");
        }

        let mut image = tape.initial.clone();
        for tick in 0..4_usize {
            assert!(tape.step_image(&mut image, tick as u64));
            let lane = image.as_ref().and_then(|image| image.lane("Spawned")).ok_or("no lane")?;
            assert_eq!(lane.ids.len(), (tick + 1) * places, "commands of tick {tick} are applied in its image");
            let last = lane.ids.last().copied().unwrap_or_default();
            let text = lane.value(last)?.ok_or("no value")?.to_string();
            assert!(text.ends_with(&format!(", {tick})")), "{text} is not of tick {tick}");
        }

        let replayed = headless(build).executor(executor).pacing(Pacing::TicksPerFrame(2)).verify(tape)?;
        replayed.assert_verified();
        assert_eq!(replayed.resource::<Seen>()?.0, *seen);
    }
    Ok(())
}

#[test]
fn schedules_and_systems_of_a_plugin_added_before_stay_inside() -> Outcome {
    stays_inside(
        |app| {
            stranger(app);
            game(app);
        },
        6,
    )
}

#[test]
fn schedules_and_systems_of_a_plugin_added_after_stay_inside() -> Outcome {
    stays_inside(
        |app| {
            game(app);
            stranger(app);
        },
        6,
    )
}

#[test]
fn strangers_stay_inside_in_the_order_of_bevy_and_in_shuffled_ones() -> Outcome {
    stays_inside(
        |app| {
            stranger(app);
            game_in(app, TickOrder::AsScheduled);
        },
        6,
    )?;
    stays_inside(
        |app| {
            game_in(app, TickOrder::Shuffled { seed: 3 });
            stranger(app);
        },
        6,
    )
}

#[test]
fn schedule_put_in_front_of_all_others_stays_inside() -> Outcome {
    stays_inside(
        |app| {
            game(app);
            first_of_all(app);
        },
        2,
    )
}

#[test]
fn commands_of_a_schedule_that_does_not_apply_them_are_applied() -> Outcome {
    stays_inside(
        |app| {
            game(app);
            for label in [FixedUpdate.intern(), FixedLast.intern()] {
                app.edit_schedule(label, |schedule| {
                    schedule.set_apply_final_deferred(false);
                });
            }
            app.add_systems(FixedLast, place("last"));
        },
        2,
    )
}

#[test]
fn write_between_ticks_is_in_the_image_of_the_next_tick_only() -> Outcome {
    fn between(app: &mut App) {
        game(app);
        app.add_systems(Last, |mut seen: ResMut<Seen>| seen.0.push(("between".into(), 0)));
    }
    let recorded = headless(between).detail(Detail::Values).record(3)?;
    let mut image = recorded.tape().initial.clone();
    let mut lengths = Vec::new();
    for tick in recorded.tape().ticks() {
        assert!(recorded.tape().step_image(&mut image, tick));
        let seen = image.as_ref().and_then(|image| image.resource("Seen")).ok_or("no resource")?;
        lengths.push(seen.bytes[0]);
    }
    assert_eq!(lengths, [1, 3, 5]);
    Ok(())
}

#[test]
fn own_systems_of_the_border_run_where_their_sets_say() -> Outcome {
    #[derive(Resource, Canonical, Default)]
    struct Order(Vec<u8>);
    let step = |step: u8| move |mut order: ResMut<Order>| order.0.push(step);
    let game = move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("sets")).register_authoritative_resource::<Order>().init_resource::<Order>();
        app.add_systems(FixedUpdate, step(1));
        app.add_systems(FixedMain, (step(0).after(ReplaySystems::BeginTick).before(FixedMain::run_fixed_main),));
        app.add_systems(FixedMain, step(2).before(ReplaySystems::EndTick).after(FixedMain::run_fixed_main));
    };
    let run = headless(game).record(2)?;
    assert_eq!(run.resource::<Order>()?.0, [0, 1, 2, 0, 1, 2]);
    headless(game).verify(run.tape())?.assert_verified();
    Ok(())
}
