//! The deck in a running game: pause, step, speed, seek, loop, branches.

use crate::game::{self, Steer, headless};
use crate::game::{Outcome, arena_with, script};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::tape::Tape;
use bevy_replay::{DeckError, PlayOptions, SeekFinished, Speed, digest, prelude::*};
use bevy_time::{Time, TimePlugin, TimeUpdateStrategy, Timer, TimerMode};
use core::time::Duration;
use std::sync::Arc;

#[derive(Resource, Default)]
struct Arrivals(Vec<SeekFinished>);

#[derive(Component, Canonical)]
struct Fuse(Timer);

#[derive(Message, Canonical, Clone)]
struct Bang(u32);

/// The arena, with timers, queued commands and messages that nobody reads.
fn timed(app: &mut App) {
    arena_with(app, ReplayPlugin::new("arena").rules(1).seed(7).rewind(true).detail(Detail::Values));
    app.register_authoritative::<Fuse>().record_messages::<Bang>();
    app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut commands: Commands| {
        if tick.0 % 20 == 3 {
            commands.spawn(Fuse(Timer::from_seconds(0.4, TimerMode::Once)));
        }
    });
    app.add_systems(
        FixedUpdate,
        |time: Res<Time>,
         mut fuses: Query<(Entity, &mut Fuse)>,
         mut bangs: MessageWriter<Bang>,
         mut commands: Commands| {
            for (entity, mut fuse) in &mut fuses {
                if fuse.0.tick(time.delta()).just_finished() {
                    bangs.write(Bang(1));
                    commands.entity(entity).despawn();
                }
            }
        },
    );
}

/// An app in which frames take as long as ticks.
fn app_of(game: impl Fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins(TimePlugin);
    game(&mut app);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_micros(15_625)));
    app.init_resource::<Arrivals>();
    app.add_observer(|arrived: On<SeekFinished>, mut all: ResMut<Arrivals>| all.0.push(arrived.event().clone()));
    app.update(); // starts the clock
    app
}

fn playing(game: impl Fn(&mut App), tape: &Arc<Tape>) -> App {
    let mut app = app_of(game);
    deck(&mut app).play(tape.clone(), PlayOptions::verify().held());
    app
}

fn deck(app: &mut App) -> Mut<'_, Deck> {
    app.world_mut().resource_mut::<Deck>()
}

fn tick(app: &App) -> u64 {
    app.world().resource::<SimTick>().0
}

/// Runs frames until so many ticks have run.
#[track_caller]
fn run_to(app: &mut App, wanted: u64) {
    for _ in 0..5000 {
        if tick(app) == wanted {
            return;
        }
        app.update();
    }
    panic!("tick {} instead of {wanted}", tick(app));
}

/// Runs frames until a seek has come to its end.
#[track_caller]
fn settle(app: &mut App) -> SeekFinished {
    for _ in 0..5000 {
        app.update();
        if let Some(arrived) = app.world_mut().resource_mut::<Arrivals>().0.pop() {
            return arrived;
        }
    }
    panic!("the seek never ends");
}

#[track_caller]
fn assert_at(app: &mut App, tape: &Tape, at: u64) {
    assert_eq!(tick(app), at);
    if let Some(root) = at.checked_sub(1).and_then(|last| tape.root_after(last)) {
        assert_eq!(digest(app.world_mut()).ok(), Some(root), "the state after {at} ticks");
    }
}

fn recorded(ticks: u32) -> Result<Arc<Tape>, ReplayError> {
    Ok(headless(timed).inputs(script(ticks)).run()?.tape().clone())
}

#[test]
fn ten_passes_at_three_speeds_in_one_app_are_equal() -> Outcome {
    let tape = recorded(600)?;
    let mut app = playing(timed, &tape);
    for pass in 0..10 {
        deck(&mut app).set_speed([Speed::Normal, Speed::Times(8.0), Speed::Max][pass % 3]);
        while tick(&app) < 400 {
            app.update();
        }
        deck(&mut app).restart();
        let arrived = settle(&mut app);
        assert_eq!(arrived, SeekFinished { tick: 0, doubt: None }, "pass {pass}");
        run_to(&mut app, 600);
        assert_at(&mut app, &tape, 600);
        deck(&mut app).restart();
        assert_eq!(settle(&mut app).doubt, None, "pass {pass}: each tick was as the first time");
    }
    run_to(&mut app, 600);
    let report = app.world().resource::<Deck>().report().ok_or("no report")?;
    assert!(report.is_verified(), "{report}");
    Ok(())
}

#[test]
fn held_tape_stops_at_its_end_at_any_number_of_ticks_per_frame() -> Outcome {
    let tape = recorded(100)?;
    for per_frame in [1, 3, 7] {
        let mut app = playing(timed, &tape);
        app.insert_resource(TimeUpdateStrategy::FixedTimesteps(per_frame));
        for _ in 0..130 {
            app.update();
        }
        assert_at(&mut app, &tape, 100);
        deck(&mut app).seek(40);
        settle(&mut app);
        for _ in 0..90 {
            app.update();
        }
        assert_at(&mut app, &tape, 100);
        deck(&mut app).stop();
        for _ in 0..5 {
            app.update();
        }
        assert!(tick(&app) > 100, "live again");
    }
    Ok(())
}

#[test]
fn two_steps_in_a_frame_are_two_and_a_stop_ends_a_seek() -> Outcome {
    let tape = recorded(300)?;
    let mut app = playing(timed, &tape);
    run_to(&mut app, 290);
    deck(&mut app).step(-1);
    deck(&mut app).step(-1);
    settle(&mut app);
    assert_at(&mut app, &tape, 288);
    deck(&mut app).seek(3);
    app.update();
    deck(&mut app).resume();
    deck(&mut app).seek(250);
    deck(&mut app).stop();
    app.update();
    app.update();
    let stopped = tick(&app);
    for _ in 0..4 {
        app.update();
    }
    assert!(tick(&app) <= stopped + 4, "a live game runs at its own pace: {stopped}, {}", tick(&app));
    Ok(())
}

#[test]
fn hidden_local_is_told_once_with_suspects() -> Outcome {
    let hiding = |app: &mut App| {
        timed(app);
        app.add_systems(FixedUpdate, |mut count: Local<u32>, mut score: ResMut<game::Score>| {
            *count += 1;
            score.0 += *count % 5;
        });
    };
    let tape = headless(hiding).inputs(script(300)).run()?.tape().clone();
    let mut app = playing(hiding, &tape);
    run_to(&mut app, 250);
    let mut doubts = Vec::new();
    for target in [100, 240, 50, 200] {
        deck(&mut app).seek(target);
        doubts.extend(settle(&mut app).doubt);
    }
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    assert!(doubts[0].contains("suspects"), "{doubts:?}");
    Ok(())
}

#[test]
fn pause_stops_ticks_and_not_frames_and_steps_go_both_ways() -> Outcome {
    #[derive(Resource, Default)]
    struct Frames(u32);
    let counting = |app: &mut App| {
        timed(app);
        app.init_resource::<Frames>().add_systems(Update, |mut frames: ResMut<Frames>| frames.0 += 1);
    };
    let tape = recorded(200)?;
    let mut app = playing(counting, &tape);
    run_to(&mut app, 90);
    deck(&mut app).pause();
    let before = app.world().resource::<Frames>().0;
    for _ in 0..10 {
        app.update();
    }
    assert_at(&mut app, &tape, 90);
    assert_eq!(app.world().resource::<Frames>().0, before + 10);
    for (step, at) in [(1, 91), (1, 92), (-1, 91), (-5, 86), (-1, 85), (40, 125), (-200, 0), (500, 200)] {
        deck(&mut app).step(step);
        assert_eq!(settle(&mut app).doubt, None);
        assert_at(&mut app, &tape, at);
    }
    deck(&mut app).seek(10);
    settle(&mut app);
    deck(&mut app).resume();
    run_to(&mut app, 30);
    assert!(app.world().resource::<Time<bevy_time::Virtual>>().relative_speed() > 0.0);
    assert!(!app.world().resource::<Time<bevy_time::Virtual>>().is_paused(), "the clock is given back");
    Ok(())
}

#[test]
fn speed_is_in_ticks_per_frame_past_the_limit_of_bevy() -> Outcome {
    let tape = recorded(600)?;
    for (times, ticks) in [(0.25, 5), (0.5, 10), (2.0, 40), (16.0, 320)] {
        let mut app = playing(timed, &tape);
        run_to(&mut app, 1);
        deck(&mut app).set_speed(Speed::Times(times));
        for _ in 0..20 {
            app.update();
        }
        // On a slow machine a frame's budget may hold fewer, but not none.
        let ran = tick(&app) - 1;
        assert!((ticks.min(20)..=ticks).contains(&ran), "{ran} ticks at {times}");
    }
    Ok(())
}

#[test]
fn loop_goes_round_and_a_seek_can_be_cancelled() -> Outcome {
    let tape = recorded(400)?;
    let mut app = playing(timed, &tape);
    run_to(&mut app, 120);
    deck(&mut app).set_loop(Some(100..110));
    let mut seen = Vec::new();
    for _ in 0..90 {
        app.update();
        seen.push(tick(&app));
    }
    // The first time it comes back from the keyframe before; from then on there is one at the beginning of the part.
    assert!(seen[40..].iter().all(|tick| (100..=110).contains(tick)), "{seen:?}");
    assert!(seen.iter().filter(|tick| **tick == 105).count() >= 2, "{seen:?}");
    deck(&mut app).set_loop(None);
    deck(&mut app).seek(399);
    app.update();
    let progress = app.world().resource::<Deck>().seek_progress(app.world().resource::<SimTick>());
    if let Some(progress) = progress {
        assert_eq!(progress.target, 399);
        deck(&mut app).cancel_seek();
        app.update();
        let stopped = tick(&app);
        app.update();
        assert_eq!(tick(&app), stopped);
        assert!(app.world().resource::<Deck>().is_paused());
    }
    Ok(())
}

/// Who steers.
#[derive(Resource)]
struct Hand(i8);

/// Steers by hand, to the one side or the other.
fn steer_by_hand(app: &mut App) {
    timed(app);
    app.insert_resource(Hand(1));
    app.add_systems(PreUpdate, |hand: Res<Hand>, mut steer: ResMut<Steer>, tick: Res<SimTick>| {
        steer.x = hand.0;
        steer.fire |= tick.0.is_multiple_of(7);
    });
}

#[test]
fn player_goes_back_in_a_running_game_takes_over_and_both_futures_are_kept() -> Outcome {
    let mut app = app_of(steer_by_hand);
    deck(&mut app).record();
    run_to(&mut app, 200);
    deck(&mut app).seek(80);
    assert_eq!(settle(&mut app).doubt, None);
    assert_eq!(tick(&app), 80);
    let first = app.world().resource::<Deck>().branches()[0].tape.clone();
    assert_eq!(first.tick_count(), 200);
    assert_at(&mut app, &first, 80);

    deck(&mut app).take_over();
    app.insert_resource(Hand(-1));
    run_to(&mut app, 150);
    deck(&mut app).stop();
    app.update();
    let branches = app.world().resource::<Deck>().branches().to_vec();
    assert_eq!((branches.len(), branches[1].parent, branches[1].at), (2, Some(0), 80));
    assert_eq!(branches[1].tape.values.len(), 150, "values of the whole branch");
    let second = branches[1].tape.clone();
    assert_eq!(second.digests.roots[..80], first.digests.roots[..80]);
    assert_ne!(second.digests.roots[149], first.digests.roots[149]);
    headless(timed).verify(&first)?.assert_verified();
    headless(timed).verify(&second)?.assert_verified();
    Ok(())
}

#[test]
fn edited_input_is_played_on_and_makes_a_branch() -> Outcome {
    let tape = recorded(200)?;
    let mut app = playing(timed, &tape);
    run_to(&mut app, 150);
    deck(&mut app).edit_input(60, &Steer { x: -1, y: 1, fire: true });
    settle(&mut app);
    deck(&mut app).set_speed(Speed::Max);
    run_to(&mut app, 200);
    app.update();
    let branches = app.world().resource::<Deck>().branches().to_vec();
    assert_eq!((branches.len(), branches[1].parent, branches[1].at), (2, Some(0), 60));
    let edited = branches[1].tape.clone();
    assert_eq!(edited.digests.roots[..60], tape.digests.roots[..60]);
    assert_ne!(edited.digests.roots[60], tape.digests.roots[60]);
    assert!(edited.inputs_text(60).iter().any(|text| text.contains("x: -1")), "{:?}", edited.inputs_text(60));
    assert_eq!(edited.inputs_text(61), tape.inputs_text(61));
    headless(timed).verify(&edited)?.assert_verified();

    deck(&mut app).switch_to(0);
    settle(&mut app);
    assert_at(&mut app, &tape, 200);
    deck(&mut app).seek(100);
    settle(&mut app);
    assert_at(&mut app, &tape, 100);
    deck(&mut app).switch_to(1);
    settle(&mut app);
    assert_at(&mut app, &edited, 100);
    Ok(())
}

#[test]
fn jump_to_a_mark_and_what_is_not_there_is_refused() -> Outcome {
    let marking = |app: &mut App| {
        timed(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut deck: ResMut<Deck>| {
            if tick.0 == 70 && deck.is_recording() && !deck.is_replaying() {
                deck.mark("stuck here");
            }
        });
    };
    let mut app = app_of(marking);
    deck(&mut app).record();
    run_to(&mut app, 120);
    deck(&mut app).jump_to_mark(0);
    settle(&mut app);
    assert_eq!(tick(&app), 71);
    deck(&mut app).jump_to_mark(5);
    app.update();
    assert_eq!(app.world().resource::<Deck>().error(), Some(&DeckError::NoSuchMark { index: 5 }));

    deck(&mut app).set_loop(Some(20..20));
    app.update();
    assert_eq!(app.world().resource::<Deck>().error(), Some(&DeckError::EmptyLoop { start: 20, end: 20 }));
    deck(&mut app).edit_input(500, &Steer::default());
    app.update();
    let error = app.world().resource::<Deck>().error().cloned();
    assert!(matches!(error, Some(DeckError::NotOnTape { tick: 500, .. })), "{error:?}");

    let mut idle = app_of(timed);
    run_to(&mut idle, 5);
    deck(&mut idle).seek(2);
    idle.update();
    assert_eq!(idle.world().resource::<Deck>().error(), Some(&DeckError::NoTape));
    Ok(())
}

/// Messages that ticks write on the way to another place are not shown to the frame.
#[test]
fn reader_outside_of_ticks_hears_nothing_of_a_seek() -> Outcome {
    #[derive(Resource, Default)]
    struct Heard(usize);
    let hearing = |app: &mut App| {
        timed(app);
        app.init_resource::<Heard>();
        app.add_systems(Update, |mut bangs: MessageReader<Bang>, mut heard: ResMut<Heard>| {
            heard.0 += bangs.read().count()
        });
    };
    let tape = recorded(300)?;
    let mut app = playing(hearing, &tape);
    run_to(&mut app, 290);
    app.update();
    let before = app.world().resource::<Heard>().0;
    assert!(before > 5, "{before} bangs");
    deck(&mut app).pause();
    deck(&mut app).seek(20);
    settle(&mut app);
    deck(&mut app).seek(280);
    settle(&mut app);
    for _ in 0..3 {
        app.update();
    }
    assert_eq!(app.world().resource::<Heard>().0, before);
    Ok(())
}

/// The first tick sees each input as changed; a state that counts this is the same after a restart.
#[test]
fn after_a_restart_an_input_is_changed_when_it_was_the_first_time() -> Outcome {
    #[derive(Resource, Default, Canonical)]
    struct Changes(u32);
    fn game(app: &mut App) {
        app.add_plugins(ReplayPlugin::new("changes").rewind(true)).record_input::<Steer>();
        app.register_authoritative_resource::<Changes>().init_resource::<Changes>();
        app.add_systems(FixedUpdate, |steer: Res<Steer>, mut changes: ResMut<Changes>| {
            changes.0 += u32::from(steer.is_changed());
        });
    }
    let tape = headless(game).inputs([Steer::default(), Steer::default(), Steer::default()]).run()?.tape().clone();
    let mut app = playing(game, &tape);
    run_to(&mut app, 3);
    assert_eq!(app.world().resource::<Changes>().0, 1);
    for pass in 0..2 {
        deck(&mut app).restart();
        assert_eq!(settle(&mut app).doubt, None, "pass {pass}");
        run_to(&mut app, 3);
        assert_eq!(app.world().resource::<Changes>().0, 1, "pass {pass}");
        assert_at(&mut app, &tape, 3);
    }
    Ok(())
}
