//! What the game registers: once, in time, under one name each; and in any order.

use crate::game::{Outcome, error_of, headless, panic_text};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_time::TimePlugin;

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i8);

#[derive(Component, Canonical, Default)]
struct Health(u16);

#[derive(Resource, Canonical, Default)]
struct Level(u8);

mod elsewhere {
    use super::*;

    #[derive(Resource, Default, Clone, TickInput)]
    pub(super) struct Push(i8);

    #[derive(Component, Canonical)]
    pub(super) struct Health(u16);

    #[derive(Resource, Canonical)]
    pub(super) struct Level(u8);
}

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, ReplayPlugin::new("registration")));
    app
}

/// Two calls in two places; the panic names both.
fn assert_names_both(text: &str, call: &str, first: u32, second: u32) {
    let file = file!();
    let expected = [
        format!("{call}() at {file}:{second}:"),
        format!(": the type is registered already, at {file}:{first}:"),
        " (remove one of the two calls)".into(),
    ];
    for part in expected {
        assert!(text.contains(&part), "{part:?} is missing in {text:?}");
    }
}

#[test]
fn component_registered_twice_panics_with_both_places() {
    let mut app = app();
    let first = line!() + 1;
    app.register_authoritative::<Health>();
    let text = panic_text(|| app.register_authoritative::<(Health,)>().is_plugin_added::<TimePlugin>());
    assert_names_both(&text, "register_authoritative::<it::registration::Health>", first, line!() - 1);
}

#[test]
fn a_tuple_with_a_role_for_a_registered_type_panics_with_both_places() {
    let mut app = app();
    let first = line!() + 1;
    app.register_authoritative::<Health>();
    let text = panic_text(|| app.observation::<(Name, Health)>().is_plugin_added::<TimePlugin>());
    let file = file!();
    assert!(text.contains(&format!("a type of the tuple is registered already, at {file}:{first}:")), "{text}");
    assert!(text.ends_with("(leave it out of one of the two)"), "{text}");
}

#[test]
fn resource_registered_twice_panics_with_both_places() {
    let mut app = app();
    let first = line!() + 1;
    app.register_authoritative_resource::<Level>();
    let text = panic_text(|| app.register_authoritative_resource::<Level>().is_plugin_added::<TimePlugin>());
    assert_names_both(&text, "register_authoritative_resource::<it::registration::Level>", first, line!() - 1);
}

#[test]
fn input_registered_twice_panics_with_both_places() {
    let mut app = app();
    let first = line!() + 1;
    app.record_input::<Push>();
    let text = panic_text(|| app.record_input::<Push>().is_plugin_added::<TimePlugin>());
    assert_names_both(&text, "record_input::<it::registration::Push>", first, line!() - 1);
}

/// All ways to register; each must come too late for such an app.
fn assert_too_late(made: impl Fn() -> App) {
    let line = line!() + 2;
    let texts = [
        panic_text(|| made().register_authoritative::<Health>().is_plugin_added::<TimePlugin>()),
        panic_text(|| made().register_authoritative_resource::<Level>().is_plugin_added::<TimePlugin>()),
        panic_text(|| made().record_input::<Push>().is_plugin_added::<TimePlugin>()),
    ];
    let calls = [
        "register_authoritative::<it::registration::Health>()",
        "register_authoritative_resource::<it::registration::Level>()",
        "record_input::<it::registration::Push>()",
    ];
    for ((text, call), line) in texts.iter().zip(calls).zip(line..) {
        assert!(text.starts_with(&format!("{call} at {}:{line}:", file!())), "{text}");
        let rest = " comes too late: types are frozen when the app is finished or runs its first tick (call it while \
                    plugins are built)";
        assert!(text.ends_with(rest), "{text}");
    }
}

#[test]
fn registering_after_finish_panics() {
    assert_too_late(|| {
        let mut app = app();
        app.finish();
        app
    });
}

#[test]
fn registering_after_the_first_tick_panics_where_nobody_called_finish() {
    assert_too_late(|| {
        let mut app = app();
        app.insert_resource(bevy_time::TimeUpdateStrategy::FixedTimesteps(1));
        app.update(); // no tick yet: its delta is zero
        app.update();
        assert_eq!(app.world().resource::<SimTick>().0, 1);
        app
    });
}

#[test]
fn registering_before_the_first_tick_is_in_time_where_nobody_called_finish() {
    let mut app = app();
    app.insert_resource(bevy_time::TimeUpdateStrategy::FixedTimesteps(1));
    app.update();
    assert_eq!(app.world().resource::<SimTick>().0, 0);
    app.register_authoritative::<Health>().record_input::<Push>();
    app.update();
}

#[test]
fn resource_registered_as_a_component_panics_with_the_right_call() {
    for inserted in [true, false] {
        let text = panic_text(|| {
            let mut app = app();
            if inserted {
                app.init_resource::<Level>();
            }
            app.register_authoritative::<Level>();
            app.finish();
        });
        assert_eq!(
            text.split(" at ").next(),
            Some("register_authoritative::<it::registration::Level>()"),
            "inserted before: {inserted}"
        );
        let cure = "the type is a resource (call register_authoritative_resource::<it::registration::Level>())";
        assert!(text.ends_with(cure), "{text}");
    }
}

fn assert_one_name(text: &str, name: &str) {
    let expected = format!(
        "two registered types are called `{name}` (give one another name: `#[canonical(name = \"…\")]`; keep that of another crate in a component of your own)"
    );
    assert_eq!(text, expected);
}

#[test]
fn two_types_with_one_name_panic() {
    type Register = fn(&mut App);
    let register: [(Register, &str); 3] = [
        (
            |app| {
                app.register_authoritative::<(Health, elsewhere::Health)>();
            },
            "Health",
        ),
        (
            |app| {
                app.register_authoritative_resource::<Level>().register_authoritative_resource::<elsewhere::Level>();
            },
            "Level",
        ),
        (
            |app| {
                app.record_input::<Push>().record_input::<elsewhere::Push>();
            },
            "Push",
        ),
    ];
    for (register, name) in register {
        let text = panic_text(|| {
            let mut app = app();
            register(&mut app);
            app.finish();
        });
        assert_one_name(&text, name);
    }
}

#[test]
fn component_and_resource_with_one_name_panic() {
    #[derive(Component, Canonical)]
    #[canonical(name = "Level")]
    struct Storey(u8);
    let text = panic_text(|| {
        let mut app = app();
        app.register_authoritative::<Storey>().register_authoritative_resource::<Level>();
        app.finish();
    });
    assert_one_name(&text, "Level");
}

#[test]
fn resource_with_a_name_of_our_own_panics() {
    #[derive(Resource, Canonical)]
    struct SimIds(u64);
    let text = panic_text(|| {
        let mut app = app();
        app.register_authoritative_resource::<SimIds>();
        app.finish();
    });
    assert_one_name(&text, "SimIds");
}

#[test]
fn second_type_under_another_name_is_accepted() -> Outcome {
    #[derive(Component, Canonical)]
    #[canonical(name = "Vigour")]
    struct Health(u8);
    let run = headless(|app: &mut App| {
        app.add_plugins(ReplayPlugin::new("names")).register_authoritative::<(Health, super::registration::Health)>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Health(1));
        });
    })
    .record(1)?;
    let names: Vec<_> = run.tape().header.lanes.iter().map(|spec| &*spec.name).collect();
    assert_eq!(names, ["Disabled", "Health", "Vigour"]);
    Ok(())
}

#[test]
fn registering_before_and_after_the_plugin_gives_one_tape() -> Outcome {
    fn systems(app: &mut App) {
        app.init_resource::<Level>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn_batch([Health(1), Health(2)]);
        });
        app.add_systems(FixedUpdate, |push: Res<Push>, mut all: Query<&mut Health>, mut level: ResMut<Level>| {
            all.iter_mut().for_each(|mut health| health.0 += u16::from(push.0.unsigned_abs()));
            level.0 += 1;
        });
    }
    fn types(app: &mut App) {
        app.record_input::<Push>().register_authoritative::<Health>().register_authoritative_resource::<Level>();
    }
    fn plugin(app: &mut App) {
        app.add_plugins(ReplayPlugin::new("registration"));
    }
    let first = headless((plugin, types, systems)).inputs([1, -2, 0].map(Push)).run()?;
    assert_eq!(first.tape().tracks.len(), 1);
    for other in [headless((types, plugin, systems)), headless((systems, types, plugin))] {
        let other = other.inputs([1, -2, 0].map(Push)).run()?;
        assert_eq!(**first.tape(), **other.tape());
    }
    Ok(())
}

#[test]
fn schedule_declared_without_the_plugin_panics() {
    let text = panic_text(|| App::new().tick_schedule(Update).is_plugin_added::<TimePlugin>());
    assert_eq!(text, "tick_schedule(Update) needs ReplayPlugin (add it before this call)");
}

#[test]
fn two_entities_with_one_id_at_the_start_are_named() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("twins")).register_authoritative::<Health>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn((SimId(7), Health(1)));
            commands.spawn((SimId(7), Level2));
        });
    };
    #[derive(Component)]
    struct Level2;
    let error = error_of(headless(game).record(3)).to_string();
    assert_twins(&error, 7);
    Ok(())
}

/// The text names the id and two different entities.
fn assert_twins(error: &str, id: u64) {
    let rest =
        error.strip_prefix(&format!("sim:{id} is carried by two entities, ")).unwrap_or_else(|| panic!("{error}"));
    let (entities, cure) = rest.split_once(" (").unwrap_or_else(|| panic!("{error}"));
    let (first, second) = entities.split_once(" and ").unwrap_or_else(|| panic!("{error}"));
    assert_ne!(first, second);
    assert!(first.contains('v') && second.contains('v'), "{error}: they are entities");
    assert_eq!(
        cure,
        "give each its own: let the registered types bring the `SimId`, or insert one that no other entity has)"
    );
}

#[test]
fn second_entity_with_one_id_in_a_later_tick_ends_the_recording() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("twins")).register_authoritative::<Health>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn((SimId(2), Health(1)));
        });
        app.add_systems(FixedUpdate, |tick: Res<SimTick>, mut commands: Commands| {
            if tick.0 == 3 {
                commands.spawn((SimId(2), Health(5)));
            }
        });
    };
    assert_twins(&error_of(headless(game).record(5)).to_string(), 2);
    headless(game).record(3)?;
    Ok(())
}
