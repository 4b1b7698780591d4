//! The deck in a live app: frames of given lengths, live writers, nobody calls `finish`.

use crate::game::Outcome;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{
    DeckError, DeckRefused, DeckState, EndReason, PlayOptions, RecordingEnded, ReplayFinished, Report, Tape, Verdict,
};
use bevy_time::{Fixed, Time, TimePlugin, TimeUpdateStrategy, Virtual};
use core::time::Duration;
use std::sync::Arc;

const TICK: Duration = Duration::from_nanos(15_625_000);

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
    #[once]
    jump: bool,
}

#[derive(Component, Canonical, Default, Clone, PartialEq, Eq, Debug)]
struct Hero {
    x: i32,
    jumps: u32,
}

/// Elapsed time and length of each tick, in nanoseconds.
#[derive(Resource, Canonical, Default)]
struct Clock(Vec<(u64, u64)>);

/// What is written to the input before each tick: by frame.
#[derive(Resource, Default)]
struct Live(Vec<Option<i8>>);

/// What observers were told, in that order.
#[derive(Resource, Default)]
struct Told(Vec<&'static str>, Vec<Report>);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("live"))
        .record_input::<Steer>()
        .register_authoritative::<Hero>()
        .register_authoritative_resource::<Clock>()
        .init_resource::<Clock>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
    });
    app.add_systems(
        FixedUpdate,
        |steer: Res<Steer>, time: Res<Time>, mut hero: Single<&mut Hero>, mut clock: ResMut<Clock>| {
            hero.x += i32::from(steer.x);
            hero.jumps += u32::from(steer.jump);
            clock.0.push((nanos(time.elapsed()), nanos(time.delta())));
        },
    );
}

/// An app of the game with frames of one tick; in frame n the player holds `live[n]`, and jumps if there is any.
fn app(live: &[Option<i8>]) -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, game));
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1)).insert_resource(Live(live.to_vec()));
    app.add_systems(PreUpdate, |live: Res<Live>, mut frame: Local<usize>, mut steer: ResMut<Steer>| {
        if let Some(x) = live.0.get(*frame).copied().flatten() {
            steer.x = x;
            steer.jump |= true;
        }
        *frame += 1;
    });
    app.init_resource::<Told>();
    app.add_observer(|_: On<RecordingEnded>, mut told: ResMut<Told>| told.0.push("recording ended"))
        .add_observer(|event: On<Diverged>, mut told: ResMut<Told>| {
            told.0.push("diverged");
            told.1.push(event.report.clone());
        })
        .add_observer(|event: On<ReplayFinished>, mut told: ResMut<Told>| {
            told.0.push("finished");
            told.1.push(event.report.clone());
        })
        .add_observer(|event: On<DeckRefused>, mut told: ResMut<Told>| {
            told.0.push(match event.error {
                DeckError::NotAtStart { .. } => "not at start",
                DeckError::Busy => "busy",
                DeckError::Refused { .. } => "refused",
                _ => "other error",
            });
        });
    app
}

fn frames(app: &mut App, count: u32) {
    for _ in 0..count {
        app.update();
    }
}

fn deck(app: &mut App) -> Mut<'_, Deck> {
    app.world_mut().resource_mut::<Deck>()
}

fn hero(app: &mut App) -> Result<Hero, Box<dyn core::error::Error>> {
    let world = app.world_mut();
    Ok(world.query::<&Hero>().single(world)?.clone())
}

fn ticks(app: &App) -> u64 {
    app.world().resource::<SimTick>().0
}

fn told(app: &App) -> &[&'static str] {
    &app.world().resource::<Told>().0
}

/// Runs ten ticks of an app and returns their tape. The first frame has no tick, the second is frame 1.
fn tape(live: &[Option<i8>]) -> Result<Arc<Tape>, Box<dyn core::error::Error>> {
    let mut app = app(live);
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    frames(&mut app, 11);
    deck(&mut app).stop();
    frames(&mut app, 1);
    Ok(deck(&mut app).tape().ok_or("no tape")?.clone())
}

/// Steps, a pause, and a key that is held to the end.
const KEYS: [Option<i8>; 11] = [None, Some(1), None, Some(0), Some(-1), None, None, Some(1), None, None, None];

/// A player who wants something else in every frame.
fn fidgety() -> Vec<Option<i8>> {
    (0..11).map(|frame| Some(if frame % 2 == 0 { 100 } else { -100 })).collect()
}

fn play(app: &mut App, tape: &Arc<Tape>) {
    let tape = tape.clone();
    app.add_systems(Startup, move |mut deck: ResMut<Deck>| deck.play(tape.clone(), PlayOptions::verify()));
}

#[test]
fn recording_from_start_up_ends_in_the_deck() -> Outcome {
    let mut app = app(&KEYS);
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    frames(&mut app, 1);
    assert_eq!((ticks(&app), deck(&mut app).state()), (0, DeckState::Idle), "no tick has run");
    frames(&mut app, 10);
    assert!(matches!(deck(&mut app).state(), DeckState::Recording { tick_count: 10, size_bytes: 80.. }));
    assert!(deck(&mut app).is_recording() && deck(&mut app).tape().is_none());
    deck(&mut app).stop();
    frames(&mut app, 2);
    assert_eq!(deck(&mut app).state(), DeckState::Idle);
    assert_eq!(told(&app), ["recording ended"]);
    assert_eq!(ticks(&app), 12, "the game goes on");
    let tape = deck(&mut app).tape().ok_or("no tape")?.clone();
    assert_eq!((tape.tick_count(), tape.end.reason), (10, EndReason::Stopped));
    assert_eq!(tape.inputs_text(0), ["Steer(x: 1, jump: true)"]);
    assert_eq!(tape.inputs_text(1), ["Steer(x: 1, jump: false)"]);
    assert_eq!(tape.inputs_text(9), ["Steer(x: 1, jump: false)"]);
    Ok(())
}

#[test]
fn tape_wins_over_live_writers_tick_by_tick() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&fidgety());
    play(&mut app, &tape);
    // Writes between two ticks of one frame cannot be made from outside; after each tick is the nearest.
    app.add_systems(FixedLast, |mut steer: ResMut<Steer>| steer.x = 77);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(TICK * 3));
    frames(&mut app, 4);
    assert!(matches!(deck(&mut app).state(), DeckState::Replaying { tick_count: 9, tick_count_max: 10 }));
    assert!(deck(&mut app).is_replaying());
    let before = hero(&mut app)?;
    assert_eq!(before, Hero { x: [1, 1, 0, -1, -1, -1, 1, 1, 1].iter().sum(), jumps: 4 });
    frames(&mut app, 1);
    let report = deck(&mut app).report().ok_or("no report")?.clone();
    assert_eq!((report.verdict, report.compared), (Verdict::Verified, 10));
    assert_eq!(told(&app), ["finished"]);
    assert_eq!(deck(&mut app).state(), DeckState::Idle);
    Ok(())
}

#[test]
fn after_the_tape_nothing_is_held_and_live_input_works() -> Outcome {
    let tape = tape(&KEYS)?;
    // Silent until frame 15: then the player steers.
    let mut live = vec![None; 15];
    live.push(Some(5));
    let mut app = app(&live);
    play(&mut app, &tape);
    frames(&mut app, 11);
    assert_eq!(ticks(&app), 10);
    let after = hero(&mut app)?;
    assert_eq!(app.world().resource::<Steer>().x, 0, "the tape's key is released");
    frames(&mut app, 4);
    assert_eq!((ticks(&app), hero(&mut app)?), (14, after.clone()), "nothing is held");
    frames(&mut app, 2);
    assert_eq!(hero(&mut app)?, Hero { x: after.x + 10, jumps: after.jumps + 1 });
    Ok(())
}

#[test]
fn live_keys_of_the_replay_are_not_held_after_it() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&fidgety());
    play(&mut app, &tape);
    frames(&mut app, 11);
    let after = hero(&mut app)?;
    frames(&mut app, 3);
    assert_eq!(hero(&mut app)?, after);
    Ok(())
}

#[test]
fn app_that_plays_nothing_is_steered_by_its_player() -> Outcome {
    let mut app = app(&fidgety());
    frames(&mut app, 3);
    assert_eq!(hero(&mut app)?, Hero { x: 0, jumps: 2 }, "the twin of the tests above: 100 - 100");
    assert_eq!(told(&app), <[&str; 0]>::default());
    Ok(())
}

#[test]
fn clock_of_the_tape_replaces_that_of_the_app_which_then_goes_on() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&[]);
    play(&mut app, &tape);
    let mut own = Time::<Fixed>::from_duration(TICK);
    own.advance_by(Duration::from_secs(5));
    app.insert_resource(own);
    frames(&mut app, 11);
    let elapsed = |app: &App, tick: usize| app.world().resource::<Clock>().0[tick];
    assert_eq!(elapsed(&app, 0), (nanos(TICK), nanos(TICK)), "the tape's time, not 5 s");
    assert_eq!(elapsed(&app, 9), (nanos(TICK * 10), nanos(TICK)));
    assert!(deck(&mut app).report().is_some_and(Report::is_verified));
    frames(&mut app, 1);
    let first = Duration::from_secs(5) + TICK * 2; // the app itself counted the tick that started the tape
    assert_eq!(elapsed(&app, 10), (nanos(first), nanos(TICK)));
    frames(&mut app, 1);
    assert_eq!(elapsed(&app, 11), (nanos(first + TICK), nanos(TICK)));
    assert_eq!(app.world().resource::<Time>().elapsed(), app.world().resource::<Time<Virtual>>().elapsed());
    Ok(())
}

#[test]
fn time_that_waits_for_a_tick_is_neither_lost_nor_doubled_by_a_tape() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&[]);
    play(&mut app, &tape);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(10)));
    frames(&mut app, 101);
    assert_eq!(ticks(&app), 1_000_000_000 / nanos(TICK), "one second of ticks, ten of them the tape's");
    Ok(())
}

#[test]
fn first_difference_and_the_end_are_told_once_each_in_that_order() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&[]);
    play(&mut app, &tape);
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut hero: Single<&mut Hero>| {
        hero.x += i32::from(tick.0 == 4 || tick.0 == 6);
    });
    frames(&mut app, 6);
    assert_eq!(told(&app), ["diverged"], "at once, not at the end");
    frames(&mut app, 10);
    assert_eq!(told(&app), ["diverged", "finished"]);
    let reports = app.world().resource::<Told>().1.clone();
    for report in &reports {
        assert_eq!(report.verdict, Verdict::Diverged);
        assert_eq!(report.divergence.as_ref().and_then(|found| found.tick), Some(4));
    }
    let later = reports[1].divergence.as_ref().map(|found| (found.later.compared, found.later.different));
    assert_eq!(later, Some((6, 6)));
    assert_eq!(deck(&mut app).report(), reports.get(1));
    Ok(())
}

#[test]
fn replay_may_be_recorded_and_gives_the_same_tape() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&fidgety());
    play(&mut app, &tape);
    app.add_systems(PostStartup, |mut deck: ResMut<Deck>| deck.record());
    frames(&mut app, 11);
    deck(&mut app).stop();
    frames(&mut app, 1);
    assert_eq!(told(&app), ["finished", "recording ended"]);
    let mut again = (**deck(&mut app).tape().ok_or("no tape")?).clone();
    again.header.elapsed_ns = tape.header.elapsed_ns;
    assert_eq!(again, *tape);
    Ok(())
}

#[test]
fn tape_that_starts_with_the_app_is_refused_later_and_the_game_goes_on() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&KEYS);
    frames(&mut app, 6);
    frames(&mut app, 1);
    deck(&mut app).play(tape, PlayOptions::verify());
    frames(&mut app, 4);
    assert_eq!(told(&app), ["not at start"]);
    assert_eq!(
        deck(&mut app).error().map(ToString::to_string).as_deref(),
        Some("the tape starts with the app, and 6 ticks have run already (play it at start-up, or start the app anew)")
    );
    assert_eq!(deck(&mut app).state(), DeckState::Idle);
    assert_eq!(ticks(&app), 10);
    let mut plain = self::app(&KEYS);
    frames(&mut plain, 11);
    assert_eq!(hero(&mut app)?, hero(&mut plain)?, "nothing has changed");
    Ok(())
}

#[test]
fn recording_asked_for_twice_at_the_start_is_one_and_later_it_is_refused() -> Outcome {
    let mut app = app(&KEYS);
    app.add_systems(Startup, |mut deck: ResMut<Deck>| {
        deck.record();
        deck.record();
    });
    frames(&mut app, 4);
    assert_eq!(told(&app), [""; 0]);
    deck(&mut app).record();
    frames(&mut app, 1);
    assert_eq!(told(&app), ["busy"]);
    assert!(deck(&mut app).is_recording());
    Ok(())
}

#[test]
fn tape_of_another_game_is_refused_before_the_first_tick_and_the_game_goes_on() -> Outcome {
    let mut tape = (*tape(&KEYS)?).clone();
    tape.header.rules = 9;
    let tape = Arc::new(tape);
    let mut app = app(&KEYS);
    play(&mut app, &tape);
    frames(&mut app, 11);
    assert_eq!(told(&app), ["refused"]);
    let text = deck(&mut app).error().map(ToString::to_string).unwrap_or_default();
    assert!(text.starts_with("the tape is refused: rules: the tape has 9, this app has 0"), "{text}");
    let mut plain = self::app(&KEYS);
    frames(&mut plain, 11);
    assert_eq!(hero(&mut app)?, hero(&mut plain)?);
    Ok(())
}

#[test]
fn deck_says_what_it_does_from_its_first_tick_on() -> Outcome {
    #[derive(Resource, Default)]
    struct Seen(Vec<(bool, bool)>);
    let tape = tape(&KEYS)?;
    let watch = |app: &mut App| {
        app.init_resource::<Seen>().add_systems(FixedUpdate, |deck: Res<Deck>, mut seen: ResMut<Seen>| {
            seen.0.push((deck.is_recording(), deck.is_replaying()));
        });
    };
    let mut app = app(&[]);
    watch(&mut app);
    play(&mut app, &tape);
    frames(&mut app, 12);
    let mut expected = vec![(false, true); 10];
    expected.push((false, false));
    assert_eq!(app.world().resource::<Seen>().0, expected);
    let mut app = self::app(&[]);
    watch(&mut app);
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    frames(&mut app, 3);
    deck(&mut app).stop();
    frames(&mut app, 1);
    assert_eq!(app.world().resource::<Seen>().0, [(true, false), (true, false), (false, false)]);
    Ok(())
}

#[test]
fn marks_and_claims_are_on_the_tape() -> Outcome {
    let mut app = app(&KEYS);
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut deck: ResMut<Deck>| match tick.0 {
        2 => deck.mark("the jump"),
        3 => deck.claim("score", "10"),
        5 => deck.claim("score", "20"),
        6 => deck.claim("level", "cave"),
        _ => {}
    });
    frames(&mut app, 11);
    deck(&mut app).mark("the end");
    deck(&mut app).stop();
    frames(&mut app, 1);
    let tape = deck(&mut app).tape().ok_or("no tape")?.clone();
    let marks: Vec<_> = tape.marks.iter().map(|mark| (mark.tick, &*mark.text)).collect();
    assert_eq!(marks, [(3, "the jump"), (10, "the end")], "the tick that ran next");
    let claims: Vec<_> = tape.end.claims.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(claims, [("level", "cave"), ("score", "20")]);
    assert_eq!(Tape::from_text(&tape.to_text())?, *tape);
    Ok(())
}

#[test]
fn stopped_replay_gives_input_back_and_says_how_far_it_came() -> Outcome {
    let tape = tape(&KEYS)?;
    let mut app = app(&[]);
    play(&mut app, &tape);
    frames(&mut app, 5);
    deck(&mut app).stop();
    frames(&mut app, 3);
    assert_eq!(told(&app), ["finished"]);
    let report = deck(&mut app).report().ok_or("no report")?.clone();
    assert_eq!((report.compared, report.ticks, report.divergence.clone()), (4, (4, 4), None));
    assert_eq!(report.verdict, Verdict::Unverified);
    assert_eq!(report.notes, ["stopped after 4 of 10 ticks"]);
    assert_eq!(app.world().resource::<Steer>().x, 0);
    Ok(())
}

#[test]
fn app_that_is_finished_first_records_the_same_tape() -> Outcome {
    let mut app = app(&KEYS);
    app.add_systems(Startup, |mut deck: ResMut<Deck>| deck.record());
    app.finish();
    app.cleanup();
    frames(&mut app, 11);
    deck(&mut app).stop();
    frames(&mut app, 1);
    assert_eq!(deck(&mut app).tape(), Some(&tape(&KEYS)?));
    Ok(())
}

#[test]
fn tape_of_a_live_app_is_verified_headlessly_and_the_other_way_round() -> Outcome {
    let live = tape(&KEYS)?;
    let run = crate::game::headless(game).verify(&live)?;
    run.assert_verified();
    let inputs = [1, 0, -1].map(|x| Steer { x, jump: x == 0 });
    let headless = crate::game::headless(game).inputs(inputs).run()?.tape().clone();
    let mut app = app(&fidgety());
    play(&mut app, &headless);
    frames(&mut app, 5);
    assert!(deck(&mut app).report().is_some_and(Report::is_verified));
    Ok(())
}
