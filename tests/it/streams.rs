//! Random streams: who draws what, and what may not move it.

use crate::game::{Outcome, assert_same_roots, headless, panic_text};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Finding, Guard, Pacing, Seed, TimeTravel};
use core::time::Duration;

#[derive(StreamLabel)]
struct Loot;

#[derive(StreamLabel)]
struct Ai;

#[derive(StreamLabel)]
#[stream(name = "loot of old")]
struct Renamed;

/// What was drawn, tick by tick.
#[derive(Resource, Canonical, Default)]
struct Drawn(Vec<u64>);

/// One draw from `Loot` in each tick.
fn looter(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("looter").guard(Guard::Full)).register_stream::<Loot>();
    app.register_authoritative_resource::<Drawn>().init_resource::<Drawn>();
    app.add_systems(FixedUpdate, |mut loot: Stream<Loot>, mut drawn: ResMut<Drawn>| drawn.0.push(loot.random()));
}

fn drawn(run: &bevy_replay::Run) -> Result<Vec<u64>, ReplayError> {
    Ok(run.resource::<Drawn>()?.0.clone())
}

/// Findings of a run, in words.
#[derive(Resource, Default)]
struct Told(Vec<String>);

fn listen(app: &mut App) {
    app.init_resource::<Told>().add_observer(|found: On<Finding>, mut told: ResMut<Told>| {
        told.0.push(found.event().to_string());
    });
}

#[test]
fn first_draws_of_a_stream_are_the_same_for_ever() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("draws").seed(12_345));
        app.register_stream::<Loot>().register_stream::<Renamed>();
        app.register_authoritative_resource::<Drawn>().init_resource::<Drawn>();
        app.add_systems(FixedUpdate, |mut a: Stream<Loot>, mut b: Stream<Renamed>, mut drawn: ResMut<Drawn>| {
            let of_entity = a.of(SimId(7)).random();
            let dice = u64::from(a.random_range(1..=6_u8));
            drawn.0.extend([a.random(), b.random(), of_entity, a.random_range(0..1000), dice]);
        });
    };
    let run = headless(game).record(2)?;
    assert_eq!(drawn(&run)?, KNOWN);
    Ok(())
}

/// Frozen with digest version 1.
const KNOWN: [u64; 10] = [
    1_734_931_192_002_638_057,
    18_422_769_623_838_574_965,
    12_184_524_468_420_619_163,
    713,
    3,
    5_191_769_915_118_593_289,
    573_089_165_724_898_029,
    9_892_146_712_515_699_359,
    240,
    2,
];

#[test]
fn adding_and_lazily_using_streams_moves_no_other_streams_draws() -> Outcome {
    let alone = headless(looter).record(30)?;
    for (first, from_tick) in [(true, 0), (false, 0), (false, 20)] {
        let more = move |app: &mut App| {
            app.register_stream::<Ai>().register_stream::<Renamed>();
            app.add_systems(FixedPreUpdate, move |tick: Res<SimTick>, mut ai: Stream<Ai>| {
                if tick.0 >= from_tick {
                    ai.random::<[u64; 3]>();
                }
            });
        };
        let with = if first { headless((more, looter)) } else { headless((looter, more)) }.record(30)?;
        assert_eq!(drawn(&with)?, drawn(&alone)?);
    }
    Ok(())
}

#[test]
fn streams_follow_the_master_seed() -> Outcome {
    let seeded = |seed| {
        let game = move |app: &mut App| {
            looter(app);
            app.insert_resource(Seed(seed));
        };
        drawn(&headless(game).record(3)?)
    };
    assert_eq!(seeded(1)?, seeded(1)?);
    assert_ne!(seeded(1)?, seeded(2)?);
    Ok(())
}

/// ofpisnotdead-com/CWR-CE#172: particles that draw k numbers per frame.
fn particles(app: &mut App) {
    app.add_systems(Update, |mut rng: CosmeticRng, mut frame: Local<u32>| {
        *frame += 1;
        for _ in 0..*frame % 7 {
            let _: u64 = rng.random();
        }
    });
}

/// The same, from a stream that gameplay draws from.
fn thieving_particles(app: &mut App) {
    app.add_systems(Update, |mut rng: Stream<Loot>, mut frame: Local<u32>| {
        *frame += 1;
        for _ in 0..*frame % 7 {
            let _: u64 = rng.random();
        }
    });
}

fn at_frame_rate(hz: u64) -> Pacing {
    Pacing::Frames(vec![Duration::from_nanos(1_000_000_000 / hz)])
}

#[test]
fn particles_that_draw_cosmetic_numbers_change_no_digest_at_any_frame_rate() -> Outcome {
    let without = headless(looter).record(40)?;
    for hz in [20, 64, 144, 1000] {
        let with = headless((looter, particles)).pacing(at_frame_rate(hz)).record(40)?;
        assert_same_roots(&without.tape().digests.roots, &with.tape().digests.roots, "with particles");
        headless(looter).verify(with.tape())?.assert_verified();
    }
    Ok(())
}

#[test]
fn particles_that_draw_from_a_gameplay_stream_are_told_with_its_name() -> Outcome {
    let recorded = headless((looter, thieving_particles, listen)).pacing(at_frame_rate(144)).detail(Detail::Values);
    let recorded = recorded.record(40)?;
    let told = &recorded.resource::<Told>()?.0;
    let [only] = &**told else { panic!("one finding: {told:?}") };
    assert!(only.starts_with("stream Loot was drawn from outside a tick: "), "{only}");
    assert!(only.ends_with("(draw in `FixedUpdate`, or use `CosmeticRng` for what cannot change the game)"), "{only}");

    let replayed = headless(looter).verify(recorded.tape())?;
    let report = replayed.report();
    assert_eq!(report.first_divergence(), "before the first tick", "a frame came before it: {report}");
    let text = report.to_string();
    assert!(text.contains("Stream<Loot>.draws"), "{text}");
    Ok(())
}

#[test]
fn one_draw_more_is_reported_with_stream_and_tick() -> Outcome {
    let one_more = |app: &mut App| {
        app.add_systems(FixedLast, |tick: Res<SimTick>, mut loot: Stream<Loot>| {
            if tick.0 == 12 {
                loot.random::<u32>();
            }
        });
    };
    let recorded = headless(looter).detail(Detail::Values).record(30)?;
    let text = headless((looter, one_more)).verify(recorded.tape())?.report().to_string();
    assert!(text.starts_with("diverged at tick 12 (0.18 s): Stream<Loot>.draws expected 13 got 14"), "{text}");
    assert!(text.contains("\n  streams              Loot: expected 13 draws, got 14\n"), "{text}");
    assert!(text.contains("hint: stream Loot drew once more than expected in this tick"), "{text}");

    let lanes = headless(looter).detail(Detail::Lanes).record(30)?;
    let text = headless((looter, one_more)).verify(lanes.tape())?.report().to_string();
    assert!(text.starts_with("diverged at tick 12 (0.18 s): Stream<Loot> differs"), "{text}");
    assert!(text.contains("\n  streams              Loot: 14 draws\n"), "{text}");
    Ok(())
}

#[test]
fn start_up_may_draw() -> Outcome {
    let game = |app: &mut App| {
        looter(app);
        listen(app);
        app.add_systems(Startup, |mut loot: Stream<Loot>, mut drawn: ResMut<Drawn>| drawn.0.push(loot.random()));
    };
    let recorded = headless(game).record(5)?;
    assert_eq!(recorded.resource::<Told>()?.0, Vec::<String>::new());
    headless(game).pacing(at_frame_rate(144)).verify(recorded.tape())?.assert_verified();
    Ok(())
}

#[derive(Component, Canonical)]
struct Goblin(u64);

#[test]
fn streams_of_entities_do_not_depend_on_the_order_of_a_loop_and_end_with_them() -> Outcome {
    let camp = |reversed: bool| {
        move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("camp")).register_stream::<Ai>().register_authoritative::<Goblin>();
            app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch((0..5).map(Goblin)));
            app.add_systems(
                FixedUpdate,
                move |tick: Res<SimTick>,
                      mut goblins: Query<(Entity, &SimId, &mut Goblin)>,
                      mut ai: Stream<Ai>,
                      mut commands: Commands| {
                    let mut all: Vec<_> = goblins.iter_mut().collect();
                    all.sort_by_key(|(_, id, _)| if reversed { u64::MAX - id.0 } else { id.0 });
                    for (entity, id, mut goblin) in all {
                        goblin.0 = ai.of(*id).random();
                        if tick.0 == 7 && id.0 < 2 {
                            commands.entity(entity).despawn();
                        }
                    }
                },
            );
        }
    };
    let recorded = headless(camp(false)).detail(Detail::Values).record(10)?;
    headless(camp(true)).verify(recorded.tape())?.assert_verified();
    let mut image = recorded.tape().initial.clone();
    let entities: Vec<usize> = (0..10)
        .map(|tick| {
            assert!(recorded.tape().step_image(&mut image, tick));
            let state = image.as_ref().and_then(|image| image.resource("Stream<Ai>")).map(|state| state.bytes.len());
            state.unwrap_or_default()
        })
        .collect();
    let of_two = 2 * 24;
    assert_eq!(entities[6] - entities[7], of_two, "two have gone in tick 7: {entities:?}");
    Ok(())
}

#[test]
fn using_a_stream_that_is_not_registered_names_the_missing_call() {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("forgotten"));
        app.add_systems(FixedUpdate, |mut loot: Stream<Loot>| {
            let _: u8 = loot.random();
        });
    };
    let text = panic_text(|| headless(game).record(1));
    assert_eq!(
        text,
        "a system draws from Stream<Loot>, which is not registered (call `register_stream::<Loot>()` on the app)"
    );
}

#[test]
fn two_streams_of_one_name_are_refused() {
    mod other {
        #[derive(bevy_replay::StreamLabel)]
        pub(super) struct Loot;
    }
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("twins")).register_stream::<Loot>().register_stream::<other::Loot>();
    };
    let text = panic_text(|| headless(game).record(1));
    assert!(text.starts_with("two registered types are called `Stream<Loot>`"), "{text}");
}

#[test]
fn streams_go_with_the_state_when_time_is_travelled() -> Outcome {
    let game = |app: &mut App| {
        looter(app);
        app.register_stream::<Ai>().register_authoritative::<Goblin>();
        app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch((0..5).map(Goblin)));
        app.add_systems(
            FixedUpdate,
            |tick: Res<SimTick>, mut goblins: Query<(&SimId, &mut Goblin)>, mut ai: Stream<Ai>| {
                for (id, mut goblin) in goblins.iter_mut().sort::<&SimId>() {
                    // The first draws of some come late: before them there is no key.
                    if tick.0 >= 40 * id.0 {
                        goblin.0 = ai.of(*id).random();
                    }
                }
                let _: u32 = ai.random();
            },
        );
    };
    let tape = headless(game).record(300)?.tape().clone();
    let mut travel = TimeTravel::new(move || headless(game), &tape)?;
    for target in [300, 10, 150, 149, 0, 299, 35, 36, 200] {
        travel.seek(target)?;
        if let Some(root) = target.checked_sub(1).and_then(|last| tape.root_after(last)) {
            assert_eq!(travel.digest()?, root, "at tick {target}");
        }
    }
    Ok(())
}
