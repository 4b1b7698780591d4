//! Tapes begin when the game says so; what comes before is on no tape.

use crate::game::{Outcome, assert_same_roots, error_of, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Finding, PlayOptions, ReplayError, is_live, is_replaying, prelude::*};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical)]
struct Hero {
    x: i32,
}

/// How many frames the assets need.
#[derive(Resource)]
struct Loading(u32);

#[derive(Resource, Default)]
struct TicksSeen(u32);

fn is_loaded(loading: Res<Loading>) -> bool {
    loading.0 == 0
}

/// Loads for so many frames, then spawns its level.
fn game(frames: u32) -> impl Fn(&mut App) + Send + Sync + 'static {
    move |app| {
        app.add_plugins(ReplayPlugin::new("gate")).record_input::<Steer>().register_authoritative::<Hero>();
        app.insert_resource(Loading(frames)).init_resource::<TicksSeen>().start_when(is_loaded);
        app.add_systems(PreUpdate, |mut loading: ResMut<Loading>, mut commands: Commands| {
            if loading.0 > 0 {
                loading.0 -= 1;
                if loading.0 == 0 {
                    commands.spawn(Hero { x: 0 });
                }
            }
        });
        app.add_systems(FixedUpdate, |steer: Res<Steer>, mut heroes: Query<&mut Hero>, mut seen: ResMut<TicksSeen>| {
            seen.0 += 1;
            heroes.iter_mut().for_each(|mut hero| hero.x += i32::from(steer.x));
        });
    }
}

fn inputs() -> impl Iterator<Item = Steer> {
    (0..20).map(|tick| Steer { x: tick % 3 })
}

#[test]
fn game_that_loads_longer_has_the_same_tape() -> Outcome {
    let fast = headless(game(1)).inputs(inputs()).run()?;
    let slow = headless(game(40)).inputs(inputs()).run()?;
    assert_eq!(slow.tape().header.tick_first, 0);
    assert_eq!((fast.tape().tick_count(), slow.tape().tick_count()), (20, 20));
    assert_same_roots(&fast.tape().digests.roots, &slow.tape().digests.roots, "loading takes longer");
    assert_eq!((fast.resource::<TicksSeen>()?.0, slow.resource::<TicksSeen>()?.0), (20, 59));
    headless(game(25)).verify(slow.tape())?.assert_verified();
    Ok(())
}

#[test]
fn recording_asked_for_at_start_up_begins_at_the_gate_with_live_input() -> Outcome {
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game(5)).insert_resource(TimeUpdateStrategy::FixedTimesteps(2));
    app.add_systems(PreUpdate, |mut steer: ResMut<Steer>| steer.x = 2);
    app.world_mut().resource_mut::<Deck>().record();
    for _ in 0..8 {
        app.update();
    }
    assert_eq!(app.world().resource::<SimTick>().0, 8, "4 of 8 frames came after loading");
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    let tape = app.world().resource::<Deck>().tape().ok_or("no tape")?.clone();
    assert_eq!(tape.tick_count(), 8);
    headless(game(9)).verify(&tape)?.assert_verified();
    Ok(())
}

#[test]
fn what_is_simulated_before_the_gate_is_compared_field_by_field() -> Outcome {
    let falling = |frames| {
        move |app: &mut App| {
            game(frames)(app);
            app.add_systems(Startup, |mut commands: Commands| {
                commands.spawn(Hero { x: 7 });
            });
            app.add_systems(FixedUpdate, |mut heroes: Query<&mut Hero>| {
                heroes.iter_mut().for_each(|mut hero| hero.x += 1);
            });
        }
    };
    let recorded = headless(falling(3)).inputs(inputs()).run()?;
    let report = headless(falling(9)).compare(recorded.tape())?;
    let text = report.divergence.ok_or("they differ")?.to_string();
    assert!(text.contains("sim:0 Hero.x expected 9 got 15"), "{text}");
    Ok(())
}

#[derive(Resource, Canonical, Default)]
struct Changes(Vec<bool>);

#[test]
fn input_held_before_the_gate_is_new_to_the_first_tick() -> Outcome {
    let noticing = |app: &mut App| {
        game(4)(app);
        app.init_resource::<Changes>().register_authoritative_resource::<Changes>();
        app.add_systems(FixedUpdate, |steer: Res<Steer>, mut changes: ResMut<Changes>| {
            changes.0.push(steer.is_changed())
        });
        app.add_systems(Update, |mut changes: ResMut<Changes>, tick: Res<SimTick>| {
            if tick.0 == 0 {
                changes.0.clear(); // what was before the gate
            }
        });
    };
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(noticing).insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.insert_resource(Steer { x: 2 });
    app.world_mut().resource_mut::<Deck>().record();
    for _ in 0..9 {
        app.update();
    }
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    let tape = app.world().resource::<Deck>().tape().ok_or("no tape")?.clone();
    assert!(app.world().resource::<Changes>().0[0]);
    headless(noticing).verify(&tape)?.assert_verified();
    Ok(())
}

#[test]
fn what_is_wrong_before_the_gate_is_told_when_it_counts() -> Outcome {
    let wrong = |app: &mut App| {
        game(5)(app);
        app.init_resource::<Told>();
        app.add_observer(|found: On<Finding>, mut told: ResMut<Told>| told.0.push(found.event().clone()));
        app.add_systems(FixedPreUpdate, |tick: Res<SimTick>, mut steer: ResMut<Steer>, heroes: Query<&Hero>| {
            if heroes.is_empty() || tick.0 == 6 {
                steer.x += 1;
            }
        });
    };
    let run = headless(wrong).record(10)?;
    let told = &run.resource::<Told>()?.0;
    assert!(matches!(&told[..], [Finding::InputWrittenInside { tick: 6, .. }]), "{told:?}");
    Ok(())
}

#[derive(Resource, Default)]
struct Told(Vec<Finding>);

#[test]
fn gate_that_never_opens_is_an_error_that_says_so() {
    let closed = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("gate")).start_when(|| false);
    };
    let error = error_of(headless(closed).record(1));
    assert!(matches!(error, ReplayError::NoTicks { .. }));
    assert!(error.to_string().contains("start_when"), "{error}");
}

#[derive(Resource, Default)]
struct Ran {
    live: u32,
    replaying: u32,
}

#[test]
fn run_conditions_tell_live_input_from_a_tape() -> Outcome {
    let recorded = headless(game(0)).inputs(inputs()).run()?;
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game(0)).insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.init_resource::<Ran>();
    app.add_systems(
        FixedUpdate,
        (
            (|mut ran: ResMut<Ran>| ran.live += 1).run_if(is_live),
            (|mut ran: ResMut<Ran>| ran.replaying += 1).run_if(is_replaying),
        ),
    );
    // Recorded while it is replayed: a replay all the same.
    let mut deck = app.world_mut().resource_mut::<Deck>();
    deck.play(recorded.tape().clone(), PlayOptions::inputs_only());
    deck.record();
    for _ in 0..25 {
        app.update();
    }
    let ran = app.world().resource::<Ran>();
    assert_eq!((ran.replaying, ran.live), (20, 4), "25 frames, the first of which starts the clock");
    Ok(())
}
