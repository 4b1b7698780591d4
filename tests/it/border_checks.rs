//! What a tick must neither read nor leave behind is told.

use crate::purity::{Found, game};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Finding, Guard, TickReader, coverage, prelude::*};
use bevy_time::{DelayedCommandsExt, Real, Time, Virtual};

#[derive(Component)]
struct Spark;

/// What was found in so many ticks.
fn told(game: impl Fn(&mut App) + Send + Sync + 'static, ticks: u64) -> Vec<Finding> {
    let run = Headless::new(game).record(ticks);
    run.and_then(|run| Ok(run.resource::<Found>()?.0.clone())).unwrap_or_default()
}

#[test]
fn system_of_the_tick_that_reads_a_clock_of_the_frame_is_named_once() {
    let reads = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(FixedUpdate, frame_clock).add_systems(FixedLast, pause);
        app.add_systems(Update, frame_clock);
    };
    let found = told(reads, 4);
    let [Finding::FrameClockRead { system, clock }] = &found[..] else { panic!("one finding: {found:?}") };
    assert!(system.ends_with("frame_clock"), "{system}");
    assert_eq!(*clock, "Time<Real>");
}

fn frame_clock(clock: Res<Time<Real>>, _: Res<Time>) {
    let _ = clock.elapsed();
}

#[test]
fn system_that_asks_for_whole_entities_is_named_only_if_it_asks_for_a_clock_too() {
    fn whole(_: Query<EntityRef, With<Spark>>) {}
    fn both(_: Query<EntityRef, With<Spark>>, clock: Res<Time<Real>>) {
        let _ = clock.elapsed();
    }
    let asking = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(FixedUpdate, (whole, both));
    };
    let found = told(asking, 3);
    let [Finding::FrameClockRead { system, .. }] = &found[..] else { panic!("one finding: {found:?}") };
    assert!(system.ends_with("both"), "{system}");
}

#[test]
fn system_that_is_known_to_read_a_clock_of_the_frame_is_not_named() {
    #[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
    enum Foreign {
        Outer,
        Inner,
    }
    fn other(clock: Res<Time<Real>>) {
        let _ = clock.elapsed();
    }
    let by_function = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(FixedUpdate, (frame_clock, other)).reads_frame_clock(frame_clock);
    };
    let found = told(by_function, 3);
    let [Finding::FrameClockRead { system, .. }] = &found[..] else { panic!("one finding: {found:?}") };
    assert!(system.ends_with("other"), "{system}");

    let by_set = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.configure_sets(FixedUpdate, Foreign::Inner.in_set(Foreign::Outer)).reads_frame_clock(Foreign::Outer);
        app.add_systems(FixedUpdate, (frame_clock, other).in_set(Foreign::Inner));
    };
    assert_eq!(told(by_set, 3), []);
}

/// Who may write the clock pauses the game; that is no reading.
fn pause(mut clock: ResMut<Time<Virtual>>) {
    clock.set_relative_speed(1.0);
}

#[test]
fn start_up_systems_may_read_a_clock_of_the_frame_and_run_conditions_may_not() {
    let starting = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(Startup, frame_clock).add_systems(Update, frame_clock);
    };
    assert_eq!(told(starting, 3), []);
    let gated = |app: &mut App| {
        game(Guard::Ticks)(app);
        let is_late = |clock: Res<Time<Real>>| clock.elapsed().as_secs() > 60;
        app.add_systems(FixedUpdate, (|| {}).run_if(is_late));
    };
    let found = told(gated, 3);
    assert!(matches!(&found[..], [Finding::FrameClockRead { clock: "Time<Real>", .. }]), "{found:?}");
}

#[test]
fn delayed_command_of_a_tick_is_reported_and_one_of_the_frame_is_not() {
    let delaying = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut commands: Commands| {
            if tick.0 == 2 {
                commands.delayed().secs(0.1).spawn(Spark);
            }
        });
    };
    assert_eq!(told(delaying, 5), [Finding::DelayedCommands { tick: 2 }]);
    let outside = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(Update, |mut commands: Commands| {
            commands.delayed().secs(0.1).spawn(Spark);
        });
    };
    assert_eq!(told(outside, 5), []);
}

#[test]
fn fixed_update_run_by_hand_is_reported() {
    let by_hand = |app: &mut App| {
        game(Guard::Full)(app);
        app.add_systems(Update, |world: &mut World| {
            if world.resource::<SimTick>().0 == 3 {
                world.run_schedule(FixedUpdate);
            }
        });
    };
    let found = told(by_hand, 6);
    assert!(found.contains(&Finding::RunByHand { tick: 3 }), "{found:?}");
    assert_eq!(told(game(Guard::Full), 6), []);
}

#[test]
fn schedule_that_gets_its_first_systems_inside_a_tick_is_reported() {
    fn add(tick: Res<SimTick>, mut schedules: ResMut<Schedules>) {
        if tick.0 == 2 && !schedules.contains(FixedLast) {
            schedules.add_systems(FixedLast, || ());
        }
    }
    let inside = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(FixedUpdate, add);
    };
    assert_eq!(told(inside, 5), [Finding::AddedInside { tick: 2, schedule: "FixedLast".into() }]);
    let between = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_systems(Update, add);
    };
    assert_eq!(told(between, 5), []);
}

#[derive(Component, Default, Clone, TickInput)]
struct Stick {
    x: i8,
}

#[test]
fn input_component_written_inside_a_tick_is_reported() {
    let with_stick = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.record_input_component::<Stick>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Stick::default());
        });
        app.add_systems(PreUpdate, |mut sticks: Query<&mut Stick>| {
            sticks.iter_mut().for_each(|mut stick| stick.x += 1)
        });
    };
    assert_eq!(told(with_stick, 4), []);
    let writes = move |app: &mut App| {
        with_stick(app);
        app.add_systems(FixedPreUpdate, |mut sticks: Query<&mut Stick>| {
            sticks.iter_mut().for_each(|mut stick| stick.x = 9)
        });
    };
    let found = told(writes, 4);
    assert!(
        matches!(&found[..], [Finding::InputWrittenInside { tick: 0, input, .. }] if input == "Stick"),
        "{found:?}"
    );
}

#[cfg(feature = "raw-input")]
#[test]
fn key_pressed_by_a_tick_is_reported_and_one_it_spends_is_not() {
    use bevy_input::{ButtonInput, keyboard::KeyCode};
    let with_keys = |app: &mut App| {
        game(Guard::Ticks)(app);
        app.add_plugins(RawInputPlugin::default());
        app.add_systems(PreUpdate, |mut keys: ResMut<ButtonInput<KeyCode>>| keys.press(KeyCode::KeyA));
    };
    let spends = move |app: &mut App| {
        with_keys(app);
        app.add_systems(FixedUpdate, |mut keys: ResMut<ButtonInput<KeyCode>>| {
            keys.clear_just_pressed(KeyCode::KeyA);
        });
    };
    assert_eq!(told(spends, 4), []);
    let presses = move |app: &mut App| {
        with_keys(app);
        app.add_systems(FixedPreUpdate, |mut keys: ResMut<ButtonInput<KeyCode>>| keys.press(KeyCode::KeyB));
    };
    let found = told(presses, 4);
    assert!(matches!(&found[..], [Finding::InputWrittenInside { input, .. }] if input == "Keyboard"), "{found:?}");
}

#[derive(Message, Canonical, Clone)]
struct Ping(u8);

#[test]
fn message_read_before_it_is_written_is_listed_as_carried() -> Result<(), ReplayError> {
    fn listen(mut pings: MessageReader<Ping>) {
        pings.read().for_each(drop);
    }
    fn call(mut pings: MessageWriter<Ping>) {
        pings.write(Ping(1));
    }
    let carried = |systems: fn(&mut App)| -> Result<Vec<String>, ReplayError> {
        let mut run = Headless::new(move |app: &mut App| {
            game(Guard::Ticks)(app);
            app.record_messages::<Ping>();
            systems(app);
        })
        .record(2)?;
        Ok(coverage(run.world_mut()).carried_messages)
    };
    let listed = carried(|app| {
        app.add_systems(FixedUpdate, listen).add_systems(FixedPostUpdate, call);
    })?;
    assert!(listed.len() == 1 && listed[0].starts_with("Ping (read by ") && listed[0].ends_with("call)"), "{listed:?}");
    let after = carried(|app| {
        app.add_systems(FixedUpdate, (call, listen).chain());
    })?;
    assert_eq!(after, Vec::<String>::new());
    let cursorless = carried(|app| {
        app.add_systems(FixedUpdate, (|pings: TickReader<Ping>| drop(pings.read()), call).chain());
    })?;
    assert_eq!(cursorless, Vec::<String>::new());
    Ok(())
}
