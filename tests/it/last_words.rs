//! What is said at the very end of a run, or between two ticks, is not lost.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Deck, DeckError, EndReason, Finding, Verdict, prelude::*};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use core::time::Duration;

#[derive(Component, Canonical)]
struct Hero(u32);

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("last words")).register_authoritative::<Hero>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero(0));
    });
    app.add_systems(FixedUpdate, |mut hero: Single<&mut Hero>| hero.0 += 1);
}

fn live() -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, game));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_nanos(15_625_000)));
    app.world_mut().resource_mut::<Deck>().record();
    (0..11).for_each(|_| app.update());
    app
}

#[test]
fn a_claim_made_in_the_last_tick_is_on_the_tape() -> Result<(), ReplayError> {
    let claiming = |app: &mut App| {
        game(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut deck: ResMut<Deck>| {
            if deck.is_recording() {
                deck.claim("score", tick.0.to_string());
            }
        });
    };
    let run = Headless::new(claiming).record(10)?;
    assert_eq!(run.tape().end.claims.get("score").map(String::as_str), Some("9"));
    Ok(())
}

#[test]
fn a_stop_between_two_ticks_ends_the_recording_in_the_same_frame() {
    let mut app = live();
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO)); // a pause menu: no tick runs
    let mut deck = app.world_mut().resource_mut::<Deck>();
    deck.claim("score", "7");
    deck.stop();
    app.update();
    let tape = app.world().resource::<Deck>().tape().cloned().expect("the recording has ended");
    assert_eq!((tape.tick_count(), tape.end.reason), (10, EndReason::Stopped));
    assert_eq!(tape.end.claims.get("score").map(String::as_str), Some("7"));
}

#[test]
fn a_claim_without_a_recording_is_refused_and_the_run_goes_on() -> Result<(), ReplayError> {
    let claiming = |app: &mut App| {
        game(app);
        app.add_systems(Update, |mut deck: ResMut<Deck>| deck.claim("score", "1"));
    };
    let tape = Headless::new(game).record(5)?.tape().clone();
    Headless::new(claiming).verify(tape)?.assert_verified();

    let mut app = live();
    let mut deck = app.world_mut().resource_mut::<Deck>();
    deck.stop();
    app.update();
    app.world_mut().resource_mut::<Deck>().mark("too late");
    app.update();
    assert_eq!(app.world().resource::<Deck>().error(), Some(&DeckError::NotRecording));
    Ok(())
}

#[test]
fn a_stopped_replay_is_unverified_not_diverged() -> Result<(), ReplayError> {
    let tape = Headless::new(game).record(20)?.tape().clone();
    let mut app = App::new();
    app.add_plugins((TimePlugin, game));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_nanos(15_625_000)));
    app.world_mut().resource_mut::<Deck>().play(tape, bevy_replay::PlayOptions::verify());
    (0..6).for_each(|_| app.update());
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    let report = app.world().resource::<Deck>().report().cloned().expect("the replay has ended");
    assert_eq!(report.verdict, Verdict::Unverified, "{report}");
    assert!(report.to_string().contains("of 20 ticks"), "{report}");
    Ok(())
}

#[test]
fn a_game_that_records_from_its_start_can_be_recorded_and_verified_headlessly() -> Result<(), ReplayError> {
    let recording = |app: &mut App| {
        game(app);
        app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    };
    let run = Headless::new(recording).record(8)?;
    assert_eq!(run.tape().tick_count(), 8);
    Headless::new(recording).verify(run.tape())?.assert_verified();
    Ok(())
}

#[test]
fn an_app_that_has_run_already_is_refused() {
    let refused = Headless::from_app(live()).record(5).err();
    assert_eq!(refused.map(|error| error.to_string().contains("have run already")), Some(true));
}

#[test]
fn a_sim_id_taken_from_a_living_entity_is_told_and_a_despawn_is_not() -> Result<(), ReplayError> {
    #[derive(Resource, Default)]
    struct Told(Vec<Finding>);
    let run = |take: fn(&mut World, Entity)| -> Result<Vec<Finding>, ReplayError> {
        let run = Headless::new(move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("ids")).register_authoritative::<Hero>().init_resource::<Told>();
            app.add_observer(|found: On<Finding>, mut told: ResMut<Told>| told.0.push(found.event().clone()));
            app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch([Hero(1), Hero(2)]));
            app.add_systems(FixedUpdate, move |world: &mut World| {
                if world.resource::<SimTick>().0 == 3 {
                    let mut heroes = world.query_filtered::<Entity, With<Hero>>();
                    let first = heroes.iter(world).next().expect("two were spawned");
                    take(world, first);
                }
            });
        });
        Ok(run.record(6)?.resource::<Told>()?.0.clone())
    };
    let told = run(|world, entity| {
        world.entity_mut(entity).remove::<SimId>();
    })?;
    assert!(matches!(&*told, [Finding::SimIdRemoved { tick: 3, .. }]), "{told:?}");
    let told = run(|world, entity| {
        world.entity_mut(entity).remove::<SimId>().insert(SimId(77));
    })?;
    assert!(matches!(&*told, [Finding::SimIdRemoved { tick: 3, .. }]), "given another: {told:?}");
    let told = run(|world, entity| {
        world.despawn(entity);
    })?;
    assert_eq!(told, []);
    Ok(())
}

#[test]
fn a_tape_is_saved_once_and_read_back_in_both_forms() -> Result<(), Box<dyn core::error::Error>> {
    let tape = Headless::new(game).record(8)?.tape().clone();
    let folder = tempfile::tempdir()?;
    for name in ["run.tape", "run.ron"] {
        let path = folder.path().join(name);
        tape.save(&path)?;
        Headless::new(game).verify(&path)?.assert_verified();
        assert!(tape.save(&path).is_err(), "nothing is overwritten");
    }
    assert!(std::fs::read_to_string(folder.path().join("run.ron"))?.starts_with('('));
    Ok(())
}

#[test]
fn the_id_that_stands_for_none_is_refused() {
    let refused = Headless::new(|app: &mut App| {
        app.add_plugins(ReplayPlugin::new("ids")).register_authoritative::<Hero>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn((Hero(1), SimId(u64::MAX)));
        });
    })
    .record(3);
    let text = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.contains("stands for \"no entity\""), "{text}");
}

#[test]
fn a_tick_run_by_hand_without_a_clock_is_not_recorded() {
    let mut app = App::new();
    app.add_plugins((TimePlugin, game));
    app.world_mut().resource_mut::<Deck>().record();
    app.world_mut().run_schedule(bevy_app::FixedMain);
    assert_eq!(app.world().resource::<Deck>().error(), Some(&DeckError::TickWithoutLength));
}
