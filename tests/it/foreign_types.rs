//! Types of other crates, through reflection: as state and as input.
#![expect(clippy::disallowed_types, reason = "types of other crates may hold hash sets")]

use crate::game::{Outcome, error_of, headless, panic_text};
use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_reflect::Reflect;
use bevy_replay::{coverage, prelude::*};
use bevy_transform::components::Transform;
use std::collections::{BTreeMap, HashSet};

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
}

#[derive(Component)]
struct Camera;

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("foreign")).register_authoritative::<Hero>();
    app.register_authoritative_reflect::<Transform>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn((Hero::default(), Transform::from_xyz(1.0, 0.0, 0.0)));
        commands.spawn((Camera, Transform::from_xyz(0.0, 0.0, 9.0)));
    });
    app.add_systems(FixedUpdate, |mut heroes: Query<&mut Transform, With<Hero>>| {
        for mut hero in &mut heroes {
            hero.translation.x += 0.5;
        }
    });
}

#[test]
fn transform_of_a_hero_is_state_and_that_of_a_camera_is_not() -> Outcome {
    let recorded = headless(game).detail(Detail::Values).record(20)?;
    let moving_camera = |app: &mut App| {
        game(app);
        app.add_systems(Update, |mut cameras: Query<&mut Transform, With<Camera>>| {
            cameras.iter_mut().for_each(|mut camera| camera.rotation *= Quat::from_rotation_y(0.1));
        });
    };
    headless(moving_camera).verify(recorded.tape())?.assert_verified();

    let drifting = |app: &mut App| {
        game(app);
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut heroes: Query<&mut Transform, With<Hero>>| {
            if tick.0 == 7 {
                heroes.iter_mut().for_each(|mut hero| hero.scale.z = 2.0);
            }
        });
    };
    let report = headless(drifting).compare(recorded.tape())?;
    let text = report.divergence.ok_or("they differ")?.to_string();
    assert_eq!(text, "diverged at tick 7 (0.10 s): sim:0 Transform.scale.z expected 1.0 got 2.0");
    Ok(())
}

#[test]
fn disabled_is_state_in_each_game() -> Outcome {
    let disabling = |at: u64| {
        move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("foreign")).register_authoritative::<Hero>();
            app.add_systems(Startup, |mut commands: Commands| {
                commands.spawn(Hero::default());
            });
            app.add_systems(
                FixedUpdate,
                move |tick: Res<SimTick>, heroes: Query<Entity, With<Hero>>, mut commands: Commands| {
                    if tick.0 == at {
                        heroes.iter().for_each(|hero| {
                            commands.entity(hero).insert(Disabled);
                        });
                    }
                },
            );
        }
    };
    let recorded = headless(disabling(4)).detail(Detail::Values).record(10)?;
    let report = headless(disabling(6)).compare(recorded.tape())?;
    let divergence = report.divergence.ok_or("they differ")?;
    assert_eq!(divergence.tick, Some(4));
    assert!(divergence.to_string().contains("Disabled"), "{divergence}");
    Ok(())
}

/// All that a schema can say.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
struct Everything {
    flag: bool,
    small: u8,
    wide: i64,
    word: usize,
    text: String,
    letter: char,
    maybe: Option<Vec3>,
    list: Vec<(u16, f32)>,
    array: [i8; 3],
    map: BTreeMap<u32, String>,
    by_kind: BTreeMap<Kind, u8>,
    kind: Kind,
    target: Entity,
    unit: Unit,
    pair: Pair,
    #[reflect(ignore)]
    cache: f32,
}

#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[reflect(Hash, PartialEq)]
enum Kind {
    Idle,
    Chase(u8),
    Flee { from: u16 },
}

#[derive(Reflect, Clone, Debug, PartialEq)]
struct Unit;

#[derive(Reflect, Clone, Debug, PartialEq)]
struct Pair(u8, f64);

/// The same with a canonical form of its own.
mod own {
    use super::{BTreeMap, Canonical, Component, Entity};

    #[derive(Component, Canonical)]
    #[canonical(name = "Everything")]
    pub(super) struct Everything {
        pub(super) flag: bool,
        pub(super) small: u8,
        pub(super) wide: i64,
        pub(super) word: usize,
        pub(super) text: String,
        pub(super) letter: char,
        pub(super) maybe: Option<Vec3>,
        pub(super) list: Vec<(u16, f32)>,
        pub(super) array: [i8; 3],
        pub(super) map: BTreeMap<u32, String>,
        pub(super) by_kind: BTreeMap<Kind, u8>,
        pub(super) kind: Kind,
        pub(super) target: Entity,
        pub(super) unit: Unit,
        pub(super) pair: Pair,
    }

    #[derive(Canonical)]
    pub(super) struct Vec3 {
        pub(super) x: f32,
        pub(super) y: f32,
        pub(super) z: f32,
    }

    #[derive(Canonical, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Kind {
        Idle,
        Chase(u8),
        Flee { from: u16 },
    }

    #[derive(Canonical)]
    pub(super) struct Unit;

    #[derive(Canonical)]
    pub(super) struct Pair(pub(super) u8, pub(super) f64);
}

#[test]
fn reflected_type_has_the_digest_of_the_same_type_with_a_derive() -> Outcome {
    let reflected = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("foreign")).register_authoritative::<Hero>();
        app.register_authoritative_reflect::<Everything>();
        app.add_systems(Startup, |mut commands: Commands| {
            let target = commands.spawn(Hero { x: 3 }).id();
            commands.spawn((
                Hero::default(),
                Everything {
                    flag: true,
                    small: 7,
                    wide: -9,
                    word: 11,
                    text: "grün".into(),
                    letter: 'ß',
                    maybe: Some(Vec3::new(1.0, -0.0, f32::NAN)),
                    list: vec![(1, 0.5), (2, 0.25)],
                    array: [1, -2, 3],
                    map: BTreeMap::from([(300, "b".into()), (2, "a".into())]),
                    by_kind: BTreeMap::from([(Kind::Flee { from: 4 }, 1), (Kind::Chase(2), 2)]),
                    kind: Kind::Chase(5),
                    target,
                    unit: Unit,
                    pair: Pair(1, 2.5),
                    cache: 1.0,
                },
            ));
        });
    };
    let derived = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("foreign")).register_authoritative::<(Hero, own::Everything)>();
        app.add_systems(Startup, |mut commands: Commands| {
            let target = commands.spawn(Hero { x: 3 }).id();
            commands.spawn((
                Hero::default(),
                own::Everything {
                    flag: true,
                    small: 7,
                    wide: -9,
                    word: 11,
                    text: "grün".into(),
                    letter: 'ß',
                    maybe: Some(own::Vec3 { x: 1.0, y: -0.0, z: -f32::NAN }),
                    list: vec![(1, 0.5), (2, 0.25)],
                    array: [1, -2, 3],
                    map: BTreeMap::from([(300, "b".into()), (2, "a".into())]),
                    by_kind: BTreeMap::from([(own::Kind::Flee { from: 4 }, 1), (own::Kind::Chase(2), 2)]),
                    kind: own::Kind::Chase(5),
                    target,
                    unit: own::Unit,
                    pair: own::Pair(1, 2.5),
                },
            ));
        });
    };
    let (a, b) = (headless(reflected).record(2)?, headless(derived).record(2)?);
    let lane = |run: &bevy_replay::Run| {
        let header = &run.tape().header;
        header.lanes.iter().find(|lane| lane.name == "Everything").map(|lane| lane.schema.clone())
    };
    assert!(lane(&a).ok_or("no lane")?.same_encoding(&*lane(&b).ok_or("no lane")?));
    assert_eq!(a.tape().digests.roots, b.tape().digests.roots);
    Ok(())
}

#[derive(Component, Reflect, Default)]
struct Opaque {
    when: Option<When>,
}

#[derive(Reflect, Clone)]
#[reflect(opaque)]
struct When;

#[test]
fn field_without_canonical_form_is_refused_by_name() {
    let text = panic_text(|| {
        let mut app = App::new();
        app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("foreign")));
        app.register_authoritative_reflect::<Opaque>();
    });
    assert!(text.contains("no canonical form for `when.?` (When)"), "{text}");
    assert!(text.contains("#[reflect(ignore)]"), "{text}");
}

#[test]
fn resource_is_no_foreign_component() {
    let text = panic_text(|| {
        let mut app = App::new();
        app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("foreign")));
        app.register_authoritative_reflect::<Actions>();
    });
    assert!(text.contains("register_authoritative_resource_reflect"), "{text}");
}

/// As an input crate has it.
#[derive(Component, Reflect, Default)]
struct Pressed {
    buttons: Vec<String>,
}

#[derive(Resource, Reflect, Default, Debug)]
struct Actions {
    axes: BTreeMap<u8, f32>,
    pressed: Vec<String>,
    mode: Option<Mode>,
    chord: HashSet<i16>,
    /// What the player has set up; no part of what is recorded.
    #[reflect(ignore)]
    bindings: Vec<String>,
}

#[derive(Reflect, Clone, Copy, PartialEq, Debug)]
enum Mode {
    Walk,
    Swim { depth: f32 },
    Fly(u8),
}

#[derive(Resource, Canonical, Default)]
struct Seen(Vec<String>);

#[test]
fn foreign_resource_is_recorded_and_replayed_as_input() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("foreign")).record_input_reflect::<Actions>();
        app.init_resource::<Seen>().register_authoritative_resource::<Seen>();
        app.add_systems(FixedUpdate, |actions: Res<Actions>, mut seen: ResMut<Seen>| {
            let Actions { axes, pressed, mode, chord, .. } = &*actions;
            seen.0.push(format!("{axes:?} {pressed:?} {mode:?} {}", chord.len()));
        });
    };
    let gathering = move |app: &mut App| {
        game(app);
        app.add_systems(PreUpdate, |mut actions: ResMut<Actions>, mut frame: Local<u8>| {
            *frame += 1;
            actions.axes.insert(*frame % 3, f32::from(*frame) / 4.0);
            actions.pressed = vec![format!("key {}", *frame); usize::from(*frame % 3)];
            actions.chord = (0..i16::from(*frame % 3)).collect();
            actions.mode =
                [None, Some(Mode::Walk), Some(Mode::Swim { depth: 1.5 }), Some(Mode::Fly(3))][usize::from(*frame % 4)];
        });
    };
    let recorded = headless(gathering).record(9)?;
    let replayed = headless(game).verify(recorded.tape())?.verified()?;
    assert_eq!(replayed.resource::<Seen>()?.0, recorded.resource::<Seen>()?.0);
    let bound = move |app: &mut App| {
        game(app);
        app.insert_resource(Actions { bindings: vec!["jump".into()], ..Actions::default() });
    };
    let replayed = headless(bound).verify(recorded.tape())?.verified()?;
    assert_eq!(replayed.resource::<Actions>()?.bindings, ["jump"], "bindings outlive a replay");
    assert!(recorded.resource::<Seen>()?.0[5].contains("Swim"), "{:?}", recorded.resource::<Seen>()?.0);
    Ok(())
}

#[test]
fn foreign_component_is_recorded_by_sim_id() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("foreign")).record_input_component_reflect::<Pressed>();
        app.register_authoritative::<Hero>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn_batch((0..2).map(|_| (Hero::default(), Pressed::default())));
        });
        app.add_systems(FixedUpdate, |mut heroes: Query<(&Pressed, &mut Hero)>| {
            for (pressed, mut hero) in &mut heroes {
                hero.x += i32::try_from(pressed.buttons.len()).unwrap_or(0);
            }
        });
    };
    let gathering = move |app: &mut App| {
        game(app);
        app.add_systems(PreUpdate, |mut all: Query<(&SimId, &mut Pressed)>, mut frame: Local<usize>| {
            *frame += 1;
            for (id, mut pressed) in &mut all {
                pressed.buttons = vec!["x".into(); (*frame * (usize::try_from(id.0).unwrap_or(0) + 1)) % 5];
            }
        });
    };
    let recorded = headless(gathering).record(12)?;
    let padded = move |app: &mut App| {
        app.world_mut().spawn_batch((0..50).map(|_| Camera));
        game(app);
    };
    headless(padded).verify(recorded.tape())?.assert_verified();
    Ok(())
}

#[test]
fn registering_a_foreign_type_silences_the_coverage_report() -> Outcome {
    let mut run = headless(game).record(2)?;
    let listed = coverage(run.world_mut()).unregistered;
    assert!(!listed.iter().any(|name| name.ends_with("::Transform")), "{listed:?}");
    let unregistered = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("foreign")).register_authoritative::<Hero>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn((Hero::default(), Disabled));
        });
    };
    let mut run = headless(unregistered).record(2)?;
    let listed = coverage(run.world_mut()).unregistered;
    assert_eq!(listed, Vec::<String>::new(), "`Disabled` is always part of the state");
    let error = error_of(headless(unregistered).verify(headless(game).record(2)?.tape()));
    assert!(error.to_string().contains("Transform"), "{error}");
    Ok(())
}
