//! Event plans: each event comes once, in its tick, wherever a replay begins, and no other plan takes its place.

#[path = "../../examples/orders/consumer.rs"]
mod consumer;
#[path = "../../examples/orders/game.rs"]
mod game;
#[path = "../../examples/orders/missions.rs"]
mod missions;

use crate::game::{Outcome, error_of};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::tape::{PlanCounts, PlanError};
use bevy_replay::{EventClass, Pacing, Package, Plan, PlanBuilder, TimeTravel, digest};
use std::sync::Arc;

#[derive(Canonical, Debug, Clone, PartialEq)]
struct Wave {
    foes: u32,
}

/// The events that systems of the tick have seen: the tick, and the id.
#[derive(Resource, Canonical, Default, Clone, PartialEq, Debug)]
struct Seen(Vec<(u64, u32)>);

/// What frames have seen.
#[derive(Resource, Default)]
struct Shown(Vec<u32>);

#[derive(Resource, Default, Clone, TickInput)]
struct Menu {
    #[once]
    start: bool,
    pause: bool,
}

fn plan(seed: u64, builder: u32) -> Result<Plan, PlanError> {
    let mut plan = PlanBuilder::new("level 1", seed, 90).builder_version(builder);
    let waves: Vec<u32> = (0..12).map(|foes| plan.require(Wave { foes })).collect();
    plan.spread(&waves, 0..88, 2);
    let twin = plan.add(Wave { foes: 99 });
    let tick = plan.placed(0..88).next().map_or(0, |(tick, _)| tick);
    plan.at(twin, tick);
    let last = plan.risk(Wave { foes: 7 });
    plan.at(last, 89);
    plan.build()
}

/// A game that writes down what it sees; the plan starts by itself, or when the menu says so.
#[derive(Clone)]
struct Level {
    plans: Plans<Wave>,
}

impl Level {
    fn new(plan: Plan) -> Result<Self, PlanError> {
        Ok(Self { plans: Plans::new([plan])? })
    }
}

impl Plugin for Level {
    fn build(&self, app: &mut App) {
        app.add_plugins(ReplayPlugin::new("level").rules(1))
            .record_input::<Menu>()
            .register_authoritative_resource::<Seen>()
            .register_plans(self.plans.clone())
            .init_resource::<Seen>()
            .init_resource::<Shown>()
            .add_systems(FixedUpdate, (menu, see).chain())
            .add_systems(Update, show);
    }
}

fn menu(menu: Res<Menu>, plans: Res<Plans<Wave>>, mut cursor: ResMut<PlanCursor<Wave>>) {
    if let (true, Some(plan)) = (menu.start, plans.iter().last()) {
        cursor.start(plan);
    }
    match menu.pause {
        true if !cursor.is_paused() => cursor.pause(),
        false if cursor.is_paused() => cursor.resume(),
        _ => {}
    }
}

fn see(tick: Res<SimTick>, mut waves: MessageReader<Planned<Wave>>, mut seen: ResMut<Seen>) {
    seen.0.extend(waves.read().map(|wave| (tick.0, wave.id)));
}

fn show(mut waves: MessageReader<Planned<Wave>>, mut shown: ResMut<Shown>) {
    shown.0.extend(waves.read().map(|wave| wave.id));
}

fn expected(plan: &Plan) -> Vec<(u64, u32)> {
    plan.events().iter().map(|event| (event.tick, event.id)).collect()
}

#[test]
fn each_event_is_seen_once_in_its_tick_at_any_number_of_ticks_per_frame() -> Outcome {
    let plan = plan(7, 1)?;
    for ticks in [1, 2, 7, 100] {
        let run = Headless::new(Level::new(plan.clone())?).pacing(Pacing::TicksPerFrame(ticks)).record(100)?;
        assert_eq!(run.resource::<Seen>()?.0, expected(&plan), "{ticks} ticks a frame");
        let ids: Vec<u32> = plan.events().iter().map(|event| event.id).collect();
        assert_eq!(run.resource::<Shown>()?.0, ids, "{ticks} ticks a frame");
        let cursor = run.resource::<PlanCursor<Wave>>()?;
        assert!(cursor.is_over());
        assert_eq!((cursor.time(), cursor.event_count(), cursor.signature()), (90, 14, plan.signature()));
    }
    Ok(())
}

#[test]
fn a_message_holds_what_the_plan_says_of_its_event() -> Outcome {
    #[derive(Resource, Default)]
    struct Kept(Vec<Planned<Wave>>);
    let plan = plan(7, 1)?;
    let game = (Level::new(plan.clone())?, |app: &mut App| {
        app.init_resource::<Kept>()
            .add_systems(FixedUpdate, |mut waves: MessageReader<Planned<Wave>>, mut kept: ResMut<Kept>| {
                kept.0.extend(waves.read().cloned())
            });
    });
    let run = Headless::new(game).record(90)?;
    let last = run.resource::<Kept>()?.0.last().cloned().ok_or("no event")?;
    assert_eq!(last, Planned { id: 13, class: EventClass::Risk, layer: None, version: 1, event: Wave { foes: 7 } });
    Ok(())
}

#[test]
fn a_reader_that_does_not_run_in_the_tick_of_an_event_never_sees_it() -> Outcome {
    let plan = plan(7, 1)?;
    let game = (Level::new(plan.clone())?, |app: &mut App| {
        #[derive(Resource, Canonical, Default)]
        struct Odd(Vec<u32>);
        fn is_odd(tick: Res<SimTick>) -> bool {
            tick.0 % 2 == 1
        }
        app.init_resource::<Odd>().register_authoritative_resource::<Odd>();
        let see = |mut waves: MessageReader<Planned<Wave>>, mut odd: ResMut<Odd>| {
            odd.0.extend(waves.read().map(|wave| wave.id));
        };
        app.add_systems(FixedUpdate, see.run_if(is_odd)).add_systems(
            FixedLast,
            |odd: Res<Odd>, mut deck: ResMut<Deck>| {
                deck.claim("odd", format!("{:?}", odd.0));
            },
        );
        // Nobody but the plan sends events.
        app.add_systems(Update, |mut waves: MessageWriter<Planned<Wave>>| {
            waves.write(Planned { id: 99, class: EventClass::Extra, layer: None, version: 1, event: Wave { foes: 0 } });
        });
    });
    let run = Headless::new(game).record(90)?;
    let odd: Vec<u32> = expected(&plan).into_iter().filter(|(tick, _)| tick % 2 == 1).map(|(_, id)| id).collect();
    assert!(!odd.is_empty() && odd.len() < plan.events().len());
    assert_eq!(run.tape().end.claims["odd"], format!("{odd:?}"));
    assert_eq!(run.resource::<Seen>()?.0, expected(&plan));
    Ok(())
}

#[test]
fn the_time_of_a_plan_stands_while_it_is_paused() -> Outcome {
    let plan = plan(7, 1)?;
    let inputs = (0..140_u64).map(|tick| Menu { pause: (20..60).contains(&tick), ..Menu::default() });
    let recorded = Headless::new(Level::new(plan.clone())?).inputs(inputs).run()?;
    // Paused in tick 20, whose events were there; resumed in tick 60.
    let moved = |(tick, id): (u64, u32)| (if tick > 20 { tick + 40 } else { tick }, id);
    let late: Vec<_> = expected(&plan).into_iter().map(moved).collect();
    assert_eq!(recorded.resource::<Seen>()?.0, late);
    Headless::new(Level::new(plan)?).verify(recorded.tape())?.assert_verified();
    Ok(())
}

#[test]
fn a_plan_waits_for_the_start_gate() -> Outcome {
    let plan = plan(7, 1)?;
    let level = Level::new(plan.clone())?;
    let game = (level, |app: &mut App| {
        app.start_when(|mut ticks: Local<u32>| {
            *ticks += 1;
            *ticks > 20
        });
    });
    let run = Headless::new(game).record(90)?;
    assert_eq!(run.resource::<Seen>()?.0, expected(&plan));
    Ok(())
}

fn waiting() -> Result<Level, PlanError> {
    let second = Plan::from_text(&plan(8, 1)?.to_text().replace("level 1", "level 2"))?;
    Ok(Level { plans: Plans::new([plan(7, 1)?, second])?.waiting() })
}

#[test]
fn a_waiting_plan_starts_with_the_tick_after_it_was_chosen() -> Outcome {
    let inputs = (0..120_u64).map(|tick| Menu { start: tick == 9, ..Menu::default() });
    let recorded = Headless::new(waiting()?).inputs(inputs).run()?;
    let late: Vec<_> = expected(&plan(8, 1)?).into_iter().map(|(tick, id)| (tick + 10, id)).collect();
    assert_eq!(recorded.resource::<Seen>()?.0, late);
    Headless::new(waiting()?).verify(recorded.tape())?.assert_verified();
    let none = Headless::new(waiting()?).record(100)?;
    assert_eq!(none.resource::<Seen>()?.0, []);
    Ok(())
}

#[test]
fn any_tick_of_a_plan_can_be_gone_to() -> Outcome {
    let level = Level::new(plan(7, 1)?)?;
    let inputs = (0..140_u64).map(|tick| Menu { pause: (20..60).contains(&tick), ..Menu::default() });
    let recorded = Headless::new(level.clone()).inputs(inputs).run()?;
    let tape = recorded.tape();
    let mut travel = TimeTravel::new(move || Headless::new(level.clone()), tape)?;
    for target in [140, 3, 90, 20, 21, 60, 61, 0, 139, 59, 100, 1] {
        travel.seek(target)?;
        for tick in target..(target + 12).min(140) {
            travel.seek(tick + 1)?;
            assert_eq!(Some(travel.digest()?), tape.root_after(tick), "after tick {tick}, from {target}");
        }
    }
    assert_eq!(travel.hidden_state(), None);
    Ok(())
}

#[test]
fn a_tape_that_begins_in_the_middle_of_a_plan_goes_on_with_it() -> Outcome {
    let level = Level::new(plan(7, 1)?)?;
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), bevy_time::TimePlugin, level.clone()));
    app.insert_resource(bevy_time::TimeUpdateStrategy::FixedTimesteps(1));
    (0..31).for_each(|_| app.update());
    app.world_mut().resource_mut::<Deck>().record();
    (0..40).for_each(|_| app.update());
    app.world_mut().resource_mut::<Deck>().stop();
    app.update();
    let tape = app.world().resource::<Deck>().tape().cloned().ok_or("no tape")?;
    assert_eq!(tape.header.tick_first, 30);
    Headless::new(level).verify(&tape)?.assert_verified();
    Ok(())
}

#[test]
fn a_tape_is_played_by_its_own_plan_and_says_so() -> Outcome {
    let old = plan(7, 1)?;
    let recorded = Headless::new(Level::new(old.clone())?).record(100)?;
    let rebuilt = plan(7, 2)?;
    assert_ne!(old.signature(), rebuilt.signature());
    let run = Headless::new(Level::new(rebuilt)?).verify(recorded.tape())?;
    run.assert_verified();
    let note = "played by the plan of the tape: level 1 of builder 1, here 2";
    assert_eq!(run.report().notes.iter().filter(|line| *line == note).count(), 1, "{}", run.report());
    assert_eq!(run.resource::<PlanCursor<Wave>>()?.signature(), old.signature());
    // As inputs, too.
    let run = Headless::new(Level::new(plan(9, 1)?)?).replay_inputs(recorded.tape())?;
    assert_eq!(run.resource::<Seen>()?.0, expected(&old));
    // With its own plan there is nothing to say.
    let run = Headless::new(Level::new(old)?).verify(recorded.tape())?;
    assert!(run.report().notes.iter().all(|line| !line.contains("plan")), "{}", run.report());
    Ok(())
}

#[test]
fn a_plan_that_is_named_only_is_played_by_the_same_one_or_refused_with_both_signatures() -> Outcome {
    let old = plan(7, 1)?;
    let level = Level { plans: Plans::new([old.clone()])?.by_signature() };
    let recorded = Headless::new(level.clone()).record(100)?;
    assert!(recorded.tape().header.plans.iter().all(|plan| plan.plan.is_none()));
    Headless::new(level).verify(recorded.tape())?.assert_verified();
    // An app that has it among others.
    let other = Plan::from_text(&plan(8, 1)?.to_text().replace("level 1", "level 2"))?;
    Headless::new(Level { plans: Plans::new([other, old.clone()])? }).verify(recorded.tape())?.assert_verified();

    let rebuilt = plan(7, 2)?;
    let refused = format!(
        "plan Wave: the tape has level 1, signature {}, this app has level 1, signature {}",
        old.signature(),
        rebuilt.signature()
    );
    let game = || Level::new(rebuilt.clone()).map(Headless::new);
    assert!(error_of(game()?.verify(recorded.tape())).to_string().contains(&refused));
    assert!(error_of(game()?.replay_inputs(recorded.tape())).to_string().contains(&refused));
    assert!(!game()?.force(recorded.tape())?.report().is_verified());
    Ok(())
}

/// Waves of a later version of the game.
mod later {
    #[derive(bevy_replay::Canonical, Clone)]
    pub(super) struct Wave {
        pub(super) foes: u32,
        pub(super) bosses: u32,
    }
}

#[test]
fn a_plan_is_not_converted_to_events_of_another_type() -> Outcome {
    let recorded = Headless::new(Level::new(plan(7, 1)?)?).record(10)?;
    let mut later = PlanBuilder::new("level 1", 1, 90);
    let wave = later.require(later::Wave { foes: 1, bosses: 1 });
    later.at(wave, 1);
    let plans = Plans::<later::Wave>::new([later.build()?])?;
    let game = move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("level").rules(1)).record_input::<Menu>().register_plans(plans.clone());
        app.init_resource::<Seen>().register_authoritative_resource::<Seen>();
    };
    assert_eq!(
        error_of(Headless::new(game).replay_inputs(recorded.tape())).to_string(),
        "level 1 has events `Wave { foes: u32 }`, this game's are `Wave { foes: u32, bosses: u32 }` (play it with the game \
         that built it)"
    );
    let error = error_of(Plans::<u8>::new([plan(7, 1)?])).to_string();
    assert!(error.starts_with("level 1 has events `Wave { foes: u32 }`, this game's are `u8`"), "{error}");
    assert!(matches!(Plans::<Wave>::new([] as [Plan; 0]), Err(PlanError::NoPlans { .. })));
    assert!(matches!(Plans::<Wave>::new([plan(7, 1)?, plan(7, 1)?]), Err(PlanError::SameContent { .. })));
    Ok(())
}

#[test]
fn another_plan_differs_before_the_first_tick_by_name() -> Outcome {
    let recorded = Headless::new(Level { plans: Plans::new([plan(7, 1)?])?.by_signature() }).record(30)?;
    let forced = Headless::new(Level::new(plan(8, 1)?)?).force(recorded.tape())?;
    let report = forced.report().to_string();
    assert!(report.contains("PlanCursor<Wave>.plan"), "{report}");
    Ok(())
}

#[test]
fn the_apps_own_plans_are_there_again_when_a_tape_has_ended() -> Outcome {
    let old = plan(7, 1)?;
    let recorded = Headless::new(Level::new(old.clone())?).record(40)?;
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), bevy_time::TimePlugin, Level::new(plan(7, 2)?)?));
    app.insert_resource(bevy_time::TimeUpdateStrategy::FixedTimesteps(1));
    app.world_mut().resource_mut::<Deck>().play(recorded.tape().clone(), bevy_replay::PlayOptions::verify());
    let names = |app: &App| {
        app.world().resource::<Plans<Wave>>().iter().map(|plan| plan.versions().builder).collect::<Vec<u32>>()
    };
    (0..20).for_each(|_| app.update());
    assert_eq!(names(&app), vec![1_u32]);
    (0..40).for_each(|_| app.update());
    let deck = app.world().resource::<Deck>();
    assert!(deck.report().is_some_and(bevy_replay::Report::is_verified), "{:?}", deck.report());
    assert_eq!(names(&app), vec![2_u32, 1]);
    // The game goes on by the plan of the tape, as its state is that of the plan.
    (0..50).for_each(|_| app.update());
    let seen = &app.world().resource::<Seen>().0;
    assert_eq!(*seen, expected(&old));
    let before = digest(app.world_mut())?;
    app.update();
    assert_ne!(before, digest(app.world_mut())?);
    Ok(())
}

#[test]
fn the_plans_of_the_orders_keep_their_contract() -> Outcome {
    let plans = missions::all()?;
    let counts = PlanCounts::of(&plans);
    let PlanCounts { plans: count, events, ordinary, risk, layers, required, duplicates, .. } = counts;
    assert_eq!([count, events, ordinary, risk, layers, required, duplicates], [12, 499, 421, 78, 33, 297, 0]);
    Ok(())
}

#[test]
fn the_consumer_completes_each_mission_and_its_tapes_replay_without_it() -> Outcome {
    // All twelve are played by the example, in a release build.
    for mission in [1, 4, 12] {
        let plan = Arc::new(missions::build(mission, missions::BUILDER)?);
        let run = consumer::play(&plan, game::Rules::default())?;
        let order = consumer::judge(&plan, &run)?.map_err(|failed| failed.to_string())?;
        assert_eq!((order.cut, order.bombs), (order.needed, 0), "{}", plan.name());
        let packed = Package::from_text(&Package::new((**run.tape()).clone())?.to_text())?;
        let replayed = Headless::new(consumer::game(&plan, game::Rules::default())?).verify(packed.tape())?;
        replayed.assert_verified();
        assert!(consumer::judge(&plan, &replayed)?.is_ok());
    }
    Ok(())
}

#[test]
fn with_the_cooldown_doubled_the_consumer_names_plan_event_and_what_remains() -> Outcome {
    let plan = Arc::new(missions::build(4, missions::BUILDER)?);
    let run = consumer::play(&plan, game::Rules { cooldown: 2 * game::Rules::default().cooldown })?;
    let failed = consumer::judge(&plan, &run)?.map(drop).map_err(|failed| failed.to_string());
    let failed = failed.err().ok_or("it was completed")?;
    assert!(failed.starts_with("mission 04 / event "), "{failed}");
    assert!(failed.contains(" fell uncut; ") && failed.ends_with(" of 22 required remain"), "{failed}");
    Ok(())
}
