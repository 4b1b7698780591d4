//! Writes outside the tick, inputs written inside it, roles, and what nobody has spoken for.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Coverage, Finding, Guard, TickReader, TickRemovals, coverage, prelude::*};

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
}

#[derive(Component, Canonical)]
struct Boomerang(u8);

#[derive(Component, Canonical)]
struct Ghost(u8);

#[derive(Component, Default)]
struct Trace;

#[derive(Resource, Default)]
pub(crate) struct Found(pub(crate) Vec<Finding>);

pub(crate) fn game(guard: Guard) -> impl Fn(&mut App) + Send + Sync + 'static {
    move |app| {
        app.add_plugins(ReplayPlugin::new("purity").guard(guard)).record_input::<Steer>();
        app.register_authoritative::<Hero>().init_resource::<Found>();
        app.add_observer(|found: On<Finding>, mut all: ResMut<Found>| all.0.push(found.event().clone()));
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn_batch([Hero { x: 1 }, Hero { x: 2 }]);
        });
        app.add_systems(FixedUpdate, |mut heroes: Query<&mut Hero>| {
            heroes.iter_mut().for_each(|mut hero| hero.x += 1);
        });
    }
}

fn cheat(tick: Res<SimTick>, mut heroes: Query<(&SimId, &mut Hero)>) {
    for (id, mut hero) in &mut heroes {
        if tick.0 == 5 && id.0 == 1 {
            hero.x = 100;
        }
    }
}

fn cheat_unseen(tick: Res<SimTick>, mut heroes: Query<(&SimId, &mut Hero)>) {
    for (id, mut hero) in &mut heroes {
        if tick.0 == 5 && id.0 == 1 {
            hero.bypass_change_detection().x = 100;
        }
    }
}

fn findings<M>(
    guard: Guard,
    system: impl IntoScheduleConfigs<bevy_ecs::system::ScheduleSystem, M> + Clone + Send + Sync + 'static,
) -> Result<Vec<Finding>, ReplayError> {
    let run = Headless::new(move |app: &mut App| {
        game(guard)(app);
        app.add_systems(Update, system.clone());
    });
    Ok(run.record(20)?.resource::<Found>()?.0.clone())
}

#[test]
fn a_write_outside_a_tick_is_told_with_entity_field_and_values() -> Result<(), ReplayError> {
    let found = findings(Guard::Full, cheat)?;
    let [Finding::WrittenOutside { tick: 5, type_name, sim_id: Some(1), difference: Some(row), writer }] = &*found
    else {
        panic!("{found:?}")
    };
    assert_eq!(type_name, "Hero");
    assert_eq!(format!("{} {} {}", row.place(), row.expected, row.got), "sim:1 Hero.x 7 100");
    if cfg!(feature = "diagnostics") {
        assert!(writer.as_ref().is_some_and(|place| place.contains("purity.rs:")), "{writer:?}");
    }
    Ok(())
}

#[test]
fn a_write_that_bypasses_change_detection_is_found_by_values_only() -> Result<(), ReplayError> {
    assert_eq!(findings(Guard::Full, cheat_unseen)?.len(), 1);
    assert_eq!(findings(Guard::Ticks, cheat_unseen)?, []);
    Ok(())
}

#[test]
fn a_write_outside_a_tick_is_found_by_change_ticks() -> Result<(), ReplayError> {
    let found = findings(Guard::Ticks, cheat)?;
    assert!(
        matches!(&*found, [Finding::WrittenOutside { tick: 5, sim_id: Some(1), difference: None, .. }]),
        "{found:?}"
    );
    Ok(())
}

#[test]
fn the_guard_can_be_off() -> Result<(), ReplayError> {
    assert_eq!(findings(Guard::Off, cheat)?, []);
    Ok(())
}

#[test]
fn a_clean_game_stays_silent_over_ten_thousand_ticks() -> Result<(), ReplayError> {
    for guard in [Guard::Full, Guard::Ticks] {
        let run = Headless::new(game(guard)).record(10_000)?;
        assert_eq!(run.resource::<Found>()?.0, []);
    }
    Ok(())
}

#[test]
fn a_type_that_interpolation_writes_can_be_exempted() -> Result<(), ReplayError> {
    let run = Headless::new(|app: &mut App| {
        game(Guard::Full)(app);
        app.written_between_ticks::<Hero>().add_systems(Update, cheat);
    });
    assert_eq!(run.record(20)?.resource::<Found>()?.0, []);
    Ok(())
}

#[test]
fn an_input_written_inside_a_tick_is_told() -> Result<(), ReplayError> {
    let run = Headless::new(|app: &mut App| {
        game(Guard::Full)(app);
        app.add_systems(FixedPreUpdate, |tick: Res<SimTick>, mut steer: ResMut<Steer>| {
            if tick.0 == 3 {
                steer.x = 1;
            }
        });
    });
    let found = run.record(20)?.resource::<Found>()?.0.clone();
    assert!(matches!(&*found, [Finding::InputWrittenInside { tick: 3, input, .. }] if input == "Steer"), "{found:?}");
    Ok(())
}

#[test]
fn a_finding_is_a_note_in_the_report() -> Result<(), ReplayError> {
    let tape = Headless::new(game(Guard::Full)).record(20)?.tape().clone();
    let run = Headless::new(|app: &mut App| {
        game(Guard::Full)(app);
        app.add_systems(Update, cheat);
    });
    let report = run.verify(tape)?.report().to_string();
    assert!(report.contains("authoritative state was written outside a tick: sim:1 Hero.x was 7, is 100"), "{report}");
    Ok(())
}

#[test]
fn a_component_without_a_role_is_listed_once_until_it_has_one() -> Result<(), ReplayError> {
    let run = |spoken_for: bool| -> Result<Coverage, ReplayError> {
        let mut run = Headless::new(move |app: &mut App| {
            game(Guard::Full)(app);
            app.register_authoritative::<(Boomerang, Ghost)>();
            if spoken_for {
                app.observation::<(Trace, Name)>();
            }
            app.add_systems(Startup, |mut commands: Commands| {
                commands.spawn_batch([(Hero { x: 5 }, Trace), (Hero { x: 6 }, Trace)]);
                commands.spawn((Boomerang(1), Name::new("thrown")));
            });
        })
        .record(2)?;
        Ok(coverage(run.world_mut()))
    };
    let found = run(false)?;
    let traces = found.unregistered.iter().filter(|name| name.contains("Trace")).count();
    assert_eq!(traces, 1, "{found}");
    assert_eq!(found.order_untested, ["Boomerang"]);
    assert_eq!(found.never_seen, ["Ghost"]);
    assert_eq!(run(true)?.unregistered, [""; 0], "a role silences it, for each type of a tuple");
    Ok(())
}

/// A cache of the sum of all heroes.
#[derive(Resource, Default)]
struct Sum(i32);

fn rebuild(heroes: Query<&Hero>, mut sum: ResMut<Sum>) {
    sum.0 = heroes.iter().map(|hero| hero.x).sum();
}

fn add_sum(sum: Res<Sum>, mut heroes: Query<&mut Hero>) {
    heroes.iter_mut().for_each(|mut hero| hero.x = hero.x.wrapping_add(sum.0 % 7));
}

fn cached(app: &mut App) {
    game(Guard::Full)(app);
    app.init_resource::<Sum>();
    app.add_systems(FixedUpdate, (rebuild.run_if(|tick: Res<SimTick>| tick.0 == 0), add_sum, rebuild).chain());
}

#[test]
fn derived_state_that_is_rebuilt_can_be_cleared_at_each_border() -> Result<(), ReplayError> {
    let rebuilt = |app: &mut App| {
        cached(app);
        app.derived::<Sum>().rebuilt_by(rebuild);
    };
    let tape = Headless::new(rebuilt).record(30)?.tape().clone();
    Headless::new(rebuilt).clear_derived().verify(tape)?.assert_verified();
    Ok(())
}

#[test]
fn derived_state_that_is_read_before_it_is_rebuilt_is_found() -> Result<(), ReplayError> {
    let forgotten = |app: &mut App| {
        cached(app);
        app.derived::<Sum>();
    };
    let tape = Headless::new(forgotten).record(30)?.tape().clone();
    let report = Headless::new(forgotten).clear_derived().verify(tape)?.report().clone();
    assert_eq!(report.first_divergence(), "tick 1");
    Ok(())
}

#[derive(Message, Canonical, Clone)]
struct Hit(u32);

#[derive(Resource, Default)]
struct Written(u32);

#[derive(Resource, Default, Canonical)]
struct Log(Vec<(u64, u32)>);

#[derive(Resource, Default, Canonical)]
struct Echo(Vec<u32>);

#[derive(Resource, Default)]
struct Frames(Vec<u32>);

/// One numbered message per frame; each tick logs what it reads, and echoes it to the frames.
fn messages(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("messages")).record_messages::<Hit>();
    app.register_authoritative_resource::<Log>().register_authoritative_resource::<Echo>();
    app.init_resource::<Log>().init_resource::<Echo>().init_resource::<Written>().init_resource::<Frames>();
    app.add_systems(Update, |mut hits: MessageWriter<Hit>, mut next: ResMut<Written>| {
        hits.write(Hit(next.0));
        next.0 += 1;
    });
    app.add_systems(
        FixedUpdate,
        |mut hits: MessageReader<Hit>,
         last: TickReader<Hit>,
         tick: Res<SimTick>,
         mut log: ResMut<Log>,
         mut echo: ResMut<Echo>| {
            log.0.extend(hits.read().map(|hit| (tick.0, hit.0)));
            echo.0.extend(last.read().map(|hit| hit.0));
        },
    );
    app.add_systems(FixedPostUpdate, |tick: Res<SimTick>, mut hits: MessageWriter<Hit>| {
        hits.write(Hit(1_000 + u32::try_from(tick.0).unwrap_or(0)));
    });
    app.add_systems(Last, |mut hits: MessageReader<Hit>, mut frames: ResMut<Frames>| {
        frames.0.extend(hits.read().map(|hit| hit.0).filter(|number| *number >= 1_000));
    });
}

fn milliseconds(lengths: &[u64]) -> bevy_replay::Pacing {
    bevy_replay::Pacing::Frames(lengths.iter().map(|length| core::time::Duration::from_millis(*length)).collect())
}

#[test]
fn messages_reach_ticks_without_gap_or_repeat_at_any_frame_rate() -> Result<(), ReplayError> {
    let run = Headless::new(messages).pacing(milliseconds(&[2, 2, 2, 2, 40, 2, 2, 60, 2, 2])).record(40)?;
    let log = &run.resource::<Log>()?.0;
    let outside: Vec<u32> = log.iter().map(|row| row.1).filter(|number| *number < 1_000).collect();
    assert!(outside.len() > 50, "{outside:?}");
    assert!(outside.iter().copied().eq((0..).take(outside.len())), "no gap, no repeat: {outside:?}");

    let replayed = Headless::new(messages).verify(run.tape())?;
    replayed.assert_verified();
    assert_eq!(replayed.resource::<Log>()?.0, *log, "the same messages in the same ticks, at one tick per frame");
    Ok(())
}

#[test]
fn frames_see_every_message_that_a_tick_wrote() -> Result<(), ReplayError> {
    for pacing in [milliseconds(&[5]), milliseconds(&[16, 120, 3]), bevy_replay::Pacing::TicksPerFrame(4)] {
        let run = Headless::new(messages).pacing(pacing).record(24)?;
        let seen = &run.resource::<Frames>()?.0;
        assert!(seen.iter().copied().eq((1_000..).take(seen.len())) && seen.len() >= 24, "{seen:?}");
    }
    Ok(())
}

#[test]
fn a_tick_reader_sees_what_the_previous_tick_wrote() -> Result<(), ReplayError> {
    let run = Headless::new(messages).pacing(bevy_replay::Pacing::TicksPerFrame(3)).record(12)?;
    assert!(run.resource::<Echo>()?.0.iter().copied().eq(1_000..1_011), "{:?}", run.resource::<Echo>()?.0);
    Ok(())
}

#[derive(Resource, Default, Canonical)]
struct Gone(Vec<(u64, u64)>);

fn removals(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("removals")).register_authoritative::<Hero>().track_removals::<Hero>();
    app.register_authoritative_resource::<Gone>().init_resource::<Gone>();
    app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch((0..10).map(|x| Hero { x })));
    app.add_systems(
        FixedUpdate,
        |tick: Res<SimTick>,
         heroes: Query<(Entity, &SimId), With<Hero>>,
         mut commands: Commands,
         gone: TickRemovals<Hero>,
         mut log: ResMut<Gone>| {
            log.0.extend(gone.read().map(|id| (tick.0, id.0)));
            if let Some((entity, _)) = heroes.iter().find(|(_, id)| id.0 == tick.0) {
                commands.entity(entity).despawn();
            }
        },
    );
}

#[test]
fn removals_are_seen_in_the_next_tick_once_at_any_frame_rate() -> Result<(), ReplayError> {
    let expected: Vec<(u64, u64)> = (0..10).map(|id| (id + 1, id)).collect();
    let mut tape = None;
    for ticks_per_frame in [1, 4, 16] {
        let run = Headless::new(removals).pacing(bevy_replay::Pacing::TicksPerFrame(ticks_per_frame)).record(20)?;
        assert_eq!(run.resource::<Gone>()?.0, expected);
        tape = Some(run.tape().clone());
    }
    Headless::new(removals).pacing(milliseconds(&[3])).verify(tape.ok_or(ReplayError::NoPlugin)?)?.assert_verified();
    Ok(())
}
