//! Bevy's states, exact in ticks.

use crate::game::{Outcome, assert_same_roots, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Pacing, prelude::*};
use bevy_state::app::{AppExtStates, StatesPlugin};
use bevy_state::prelude::*;
use bevy_state::state::PreviousState;
use bevy_time::{Fixed, Time, TimePlugin, TimeUpdateStrategy, Virtual};
use core::time::Duration;

#[derive(States, Canonical, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Build,
    Fight,
    Over,
}

#[derive(SubStates, Canonical, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[source(Phase = Phase::Fight)]
enum Round {
    #[default]
    One,
    Two,
}

/// Is entered outside of ticks.
#[derive(States, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Menu {
    #[default]
    Closed,
    Open,
}

/// What happened, tick by tick.
#[derive(Resource, Canonical, Default, Clone, PartialEq, Eq, Debug)]
struct Log(Vec<String>);

#[derive(Resource, Default, Clone, TickInput)]
struct Skip(bool);

fn game(app: &mut App) {
    app.add_plugins((ReplayPlugin::new("states"), StatesPlugin)).init_state::<Phase>().add_sub_state::<Round>();
    app.register_authoritative_state::<Phase>().register_authoritative_state::<Round>();
    app.record_input::<Skip>().init_resource::<Log>().register_authoritative_resource::<Log>();
    app.add_systems(OnEnter(Phase::Fight), note("enter fight"));
    app.add_systems(OnExit(Phase::Fight), note("exit fight"));
    app.add_systems(OnEnter(Round::Two), note("enter round two"));
    app.add_systems(OnEnter(Phase::Over), note("enter over"));
    app.add_systems(FixedUpdate, (fight, rest));
}

type Clocks<'w> = (Res<'w, SimTick>, Res<'w, Time>, Res<'w, Time<Fixed>>);

fn note(what: &'static str) -> impl Fn(Clocks<'_>, ResMut<Log>) {
    move |(tick, clock, fixed), mut log| {
        let is_tick_clock = clock.elapsed() == fixed.elapsed() && clock.delta() == fixed.timestep();
        let clock = if is_tick_clock { "" } else { " by the frame's clock" };
        log.0.push(format!("{} {what}{clock}", tick.0));
    }
}

fn fight(tick: Res<SimTick>, mut phase: ResMut<NextState<Phase>>, mut round: ResMut<NextState<Round>>) {
    match tick.0 {
        4 => phase.set(Phase::Fight),
        10 => round.set(Round::Two),
        19 => phase.set(Phase::Over),
        _ => {}
    }
}

/// A tick that depends on the state.
fn rest(phase: Res<State<Phase>>, before: Option<Res<PreviousState<Phase>>>, mut log: ResMut<Log>, skip: Res<Skip>) {
    if *phase == Phase::Fight && skip.0 && before.is_some_and(|before| *before.get() == Phase::Build) {
        log.0.push("skipped".into());
    }
}

fn inputs() -> impl Iterator<Item = Skip> {
    (0..30_u32).map(|tick| Skip(tick.is_multiple_of(7)))
}

#[test]
fn state_requested_in_a_tick_of_a_long_frame_is_entered_by_the_next_tick() -> Outcome {
    let recorded = headless(game).pacing(Pacing::TicksPerFrame(3)).inputs(inputs()).run()?;
    let expected = ["5 enter fight", "skipped", "11 enter round two", "skipped", "20 exit fight", "20 enter over"];
    assert_eq!(recorded.resource::<Log>()?.0, expected);
    for ticks in [1, 2, 7] {
        let replayed = headless(game).pacing(Pacing::TicksPerFrame(ticks)).verify(recorded.tape())?.verified()?;
        assert_eq!(replayed.report().notes, Vec::<String>::new());
        assert_eq!(replayed.resource::<Log>()?, recorded.resource::<Log>()?);
    }
    Ok(())
}

/// An app that runs by hand: each entry of the pattern is a frame of so many ticks.
fn frames(app: &mut App, pattern: &[u32]) {
    for ticks in pattern {
        app.insert_resource(TimeUpdateStrategy::FixedTimesteps(*ticks));
        app.update();
    }
}

/// As a player who clicks on a button in a menu.
fn request_at_frame(frame: u32, phase: Phase) -> impl FnMut(Local<u32>, ResMut<NextState<Phase>>) {
    move |mut frames, mut next| {
        *frames += 1;
        if *frames == frame {
            next.set(phase);
        }
    }
}

#[test]
fn request_of_a_frame_is_recorded_and_replayed_in_its_tick() -> Outcome {
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game).add_systems(Update, request_at_frame(3, Phase::Over));
    app.world_mut().resource_mut::<Deck>().record();
    frames(&mut app, &[0, 1, 2, 0, 0, 1]); // requested in the third frame, after its ticks
    app.world_mut().resource_mut::<Deck>().stop();
    frames(&mut app, &[0]);
    assert_eq!(app.world().resource::<Log>().0, ["3 enter over"]);

    let tape = app.world().resource::<Deck>().tape().ok_or("no tape")?.clone();
    let replayed = headless(game).verify(&tape)?.verified()?;
    assert_eq!(replayed.resource::<Log>()?.0, ["3 enter over"]);
    let text = tape.to_text();
    assert!(text.contains("Pending"), "{text}");
    Ok(())
}

#[test]
fn live_request_during_a_replay_changes_nothing_and_does_not_come_after_it() -> Outcome {
    let recorded = headless(game).inputs(inputs()).run()?;
    let busy = |app: &mut App| {
        game(app);
        app.add_systems(Update, |mut next: ResMut<NextState<Phase>>| next.set(Phase::Build));
    };
    headless(busy).verify(recorded.tape())?.assert_verified();

    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game).add_systems(Update, request_at_frame(5, Phase::Build));
    app.world_mut().resource_mut::<Deck>().play(recorded.tape().clone(), bevy_replay::PlayOptions::verify());
    frames(&mut app, &[0, 1, 1, 1, 1, 1, 10, 10, 10, 1]);
    assert!(app.world().resource::<Deck>().report().ok_or("no report")?.is_verified());
    assert_eq!(*app.world().resource::<State<Phase>>(), Phase::Over);

    // Nor does one that is made in the frame in which the tape is taken out.
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game);
    app.world_mut().resource_mut::<Deck>().play(recorded.tape().clone(), bevy_replay::PlayOptions::verify());
    frames(&mut app, &[0, 2]);
    app.world_mut().resource_mut::<NextState<Phase>>().set(Phase::Over);
    app.world_mut().resource_mut::<Deck>().stop();
    frames(&mut app, &[1, 1]);
    assert_eq!(*app.world().resource::<State<Phase>>(), Phase::Build);
    Ok(())
}

#[derive(Message, Canonical, Clone)]
struct Opened(u8);

#[derive(Resource, Canonical, Default)]
struct Heard(Vec<u64>);

/// A tick asks for a registered state and for one that is not, whose `OnEnter` writes a recorded message.
#[test]
fn state_that_is_not_registered_is_entered_outside_of_ticks_even_where_a_tick_changes_another() -> Outcome {
    let both = |app: &mut App| {
        game(app);
        app.init_state::<Menu>().record_messages::<Opened>();
        app.init_resource::<Heard>().register_authoritative_resource::<Heard>();
        app.add_systems(
            OnEnter(Menu::Open),
            |mut opened: MessageWriter<Opened>, clock: Res<Time>, fixed: Res<Time<Fixed>>| {
                assert_ne!(clock.delta(), fixed.delta(), "it runs by the frame's clock");
                opened.write(Opened(1));
            },
        );
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut menu: ResMut<NextState<Menu>>| {
            if tick.0 == 4 {
                menu.set(Menu::Open);
            }
        });
        app.add_systems(
            FixedUpdate,
            |tick: Res<SimTick>, mut opened: MessageReader<Opened>, mut heard: ResMut<Heard>| {
                heard.0.extend(opened.read().map(|_| tick.0));
            },
        );
    };
    for recorded_at in [1, 3] {
        let recorded = headless(both).pacing(Pacing::TicksPerFrame(recorded_at)).record(30)?;
        assert_eq!(recorded.resource::<Heard>()?.0, [5]);
        for ticks in [1, 2, 3, 5] {
            headless(both).pacing(Pacing::TicksPerFrame(ticks)).verify(recorded.tape())?.assert_verified();
        }
    }
    Ok(())
}

/// A computed state: nobody registers it, and it changes in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct InFight;

impl ComputedStates for InFight {
    type SourceStates = Phase;
    fn compute(phase: Phase) -> Option<Self> {
        (phase == Phase::Fight).then_some(Self)
    }
}

#[test]
fn systems_that_enter_a_computed_state_follow_the_order_of_the_tick_and_engine_pairs_are_not_listed() -> Outcome {
    fn log<const NAME: char>(mut log: ResMut<Log>) {
        log.0.push(NAME.into());
    }
    let computed = |app: &mut App| {
        game(app);
        app.add_computed_state::<InFight>().init_state::<Menu>();
        app.add_systems(OnEnter(InFight), (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>));
    };
    let run = headless(computed).inputs(inputs()).run()?;
    let entered: String = run.resource::<Log>()?.0.iter().filter(|line| line.len() == 1).cloned().collect();
    assert_eq!(entered, "abcd");
    let pairs = &run.resource::<bevy_replay::AmbiguousPairs>()?.pairs;
    assert!(pairs.iter().all(|pair| pair.schedule != "StateTransition"), "{pairs:?}");
    Ok(())
}

#[test]
fn state_is_part_of_the_image() -> Outcome {
    let recorded = headless(game).detail(Detail::Values).inputs(inputs()).run()?;
    let late = |app: &mut App| {
        game(app);
        app.add_systems(FixedLast, |tick: Res<SimTick>, mut next: ResMut<NextState<Phase>>| {
            if tick.0 == 4 {
                next.set(Phase::Over);
            }
        });
    };
    let report = headless(late).compare(recorded.tape())?;
    let text = report.divergence.ok_or("they differ")?.to_string();
    assert_eq!(text, "diverged at tick 4 (0.06 s): State<Phase>.requested.0 expected Fight got Over");
    Ok(())
}

#[test]
fn menu_that_pauses_time_when_it_is_entered_can_be_left() {
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game).init_state::<Menu>();
    app.add_systems(OnEnter(Menu::Open), |mut clock: ResMut<Time<Virtual>>| clock.pause());
    app.add_systems(OnExit(Menu::Open), |mut clock: ResMut<Time<Virtual>>| clock.unpause());
    app.add_systems(Update, |mut menu: ResMut<NextState<Menu>>, mut frame: Local<u32>| {
        *frame += 1;
        match *frame {
            5 => menu.set(Menu::Open),
            9 => menu.set(Menu::Closed),
            _ => {}
        }
    });
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_micros(15_625)));
    for _ in 0..8 {
        app.update();
    }
    let paused_at = app.world().resource::<SimTick>().0;
    assert_eq!(*app.world().resource::<State<Menu>>(), Menu::Open);
    assert!(app.world().resource::<Time<Virtual>>().is_paused());
    for _ in 0..6 {
        app.update();
    }
    assert_eq!(*app.world().resource::<State<Menu>>(), Menu::Closed);
    assert!(app.world().resource::<SimTick>().0 > paused_at);
}

#[test]
fn state_that_is_not_registered_changes_without_ticks() {
    let mut app = App::new();
    app.add_plugins(TimePlugin).add_plugins(game).init_state::<Menu>();
    frames(&mut app, &[0, 0]);
    app.world_mut().resource_mut::<NextState<Menu>>().set(Menu::Open);
    app.world_mut().resource_mut::<NextState<Phase>>().set(Phase::Over);
    frames(&mut app, &[0, 0, 0]);
    assert_eq!(*app.world().resource::<State<Menu>>(), Menu::Open);
    assert_eq!(*app.world().resource::<State<Phase>>(), Phase::Build);
    frames(&mut app, &[1]);
    assert_eq!(*app.world().resource::<State<Phase>>(), Phase::Over);
}

/// Two systems of `OnEnter` whose order is open run as they were added.
#[test]
fn systems_that_enter_a_state_follow_the_order_of_the_tick() -> Outcome {
    fn log<const NAME: char>(mut log: ResMut<Log>) {
        log.0.push(NAME.into());
    }
    let ordered = |order: TickOrder| {
        move |app: &mut App| {
            app.add_plugins((ReplayPlugin::new("order").order(order), StatesPlugin)).init_state::<Phase>();
            app.register_authoritative_state::<Phase>().init_resource::<Log>().register_authoritative_resource::<Log>();
            app.add_systems(FixedUpdate, |mut next: ResMut<NextState<Phase>>| next.set_if_different(Phase::Fight));
            app.add_systems(OnEnter(Phase::Fight), (log::<'a'>, log::<'b'>, log::<'c'>, log::<'d'>));
        }
    };
    let entered = |order| -> Result<String, ReplayError> {
        Ok(headless(ordered(order)).record(3)?.resource::<Log>()?.0.concat())
    };
    assert_eq!(entered(TickOrder::Fixed)?, "abcd");
    assert!((0..8).any(|seed| entered(TickOrder::Shuffled { seed }).is_ok_and(|order| order != "abcd")));
    Ok(())
}

#[test]
fn states_replay_equal_at_frames_of_any_length() -> Outcome {
    let recorded = headless(game).inputs(inputs()).run()?;
    let frames = [3_u64, 40, 9, 0, 120, 16].map(Duration::from_millis).to_vec();
    let replayed = headless(game).pacing(Pacing::Frames(frames)).verify(recorded.tape())?;
    replayed.assert_verified();
    let again = headless(game).inputs(inputs()).run()?;
    assert_same_roots(&recorded.tape().digests.roots, &again.tape().digests.roots, "recorded twice");
    Ok(())
}
