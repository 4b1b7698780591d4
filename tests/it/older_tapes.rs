//! Tapes of older versions of a game: inputs are found by name, and the report says what was done.

use crate::game::{Outcome, error_of, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Run, Tape};

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
    dashes: u32,
}

mod old {
    use super::*;

    #[derive(Resource, Default, Clone, TickInput)]
    pub(super) struct Steer {
        pub(super) boost: u8,
        pub(super) x: i8,
        pub(super) act: Act,
    }

    #[derive(Canonical, Default, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Act {
        #[default]
        Wait,
        Walk,
    }
}

mod new {
    use super::*;

    /// `boost` was removed, `dash` added; `x` stands elsewhere, and `Act` has another variant.
    #[derive(Resource, Clone, TickInput)]
    pub(super) struct Steer {
        pub(super) x: i8,
        pub(super) act: Act,
        pub(super) dash: u8,
    }

    impl Default for Steer {
        fn default() -> Self {
            Self { x: 0, act: Act::Wait, dash: 2 }
        }
    }

    #[derive(Canonical, Default, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Act {
        Swim,
        #[default]
        Wait,
        Walk,
    }
}

mod wide {
    use super::*;

    #[derive(Resource, Default, Clone, TickInput)]
    pub(super) struct Steer {
        pub(super) boost: u8,
        pub(super) x: i16,
        pub(super) act: old::Act,
    }
}

fn base(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("versions")).register_authoritative::<Hero>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Hero::default());
    });
}

fn old_game(app: &mut App) {
    base(app);
    app.record_input::<old::Steer>();
    app.add_systems(FixedUpdate, |steer: Res<old::Steer>, mut hero: Single<&mut Hero>| {
        hero.x += if steer.act == old::Act::Walk { i32::from(steer.x) } else { 0 };
    });
}

fn new_game(app: &mut App) {
    base(app);
    app.record_input::<new::Steer>();
    app.add_systems(FixedUpdate, |steer: Res<new::Steer>, mut hero: Single<&mut Hero>| {
        hero.x += if steer.act == new::Act::Walk { i32::from(steer.x) } else { 0 };
        hero.x += if steer.act == new::Act::Swim { 1000 } else { 0 };
        hero.dashes += u32::from(steer.dash / 100);
        assert_eq!(steer.dash, 2, "the default of what the tape lacks");
    });
}

fn wide_game(app: &mut App) {
    base(app);
    app.record_input::<wide::Steer>();
}

fn recorded() -> Result<Run, ReplayError> {
    let steer = |tick: i8| old::Steer {
        boost: 9,
        x: tick % 5,
        act: if tick % 3 == 0 { old::Act::Wait } else { old::Act::Walk },
    };
    headless(old_game).inputs((0..60).map(steer)).run()
}

#[test]
fn an_input_whose_fields_have_changed_is_played_and_the_report_says_how() -> Outcome {
    let recorded = recorded()?;
    for tape in [Tape::from_bytes(&recorded.tape().to_bytes())?, Tape::from_text(&recorded.tape().to_text())?] {
        let run = headless(new_game).verify(&tape)?;
        run.assert_verified();
        assert_eq!(
            run.report().notes,
            ["Steer.boost was removed: what is recorded of it is dropped", "Steer.dash was added: its default is used"]
        );
        assert_eq!(run.single::<Hero>()?.x, recorded.single::<Hero>()?.x);
    }
    Ok(())
}

#[test]
fn an_input_with_another_type_is_refused_with_the_field_and_both_types() -> Outcome {
    let recorded = recorded()?;
    for error in [
        error_of(headless(wide_game).verify(recorded.tape())),
        error_of(headless(wide_game).replay_inputs(recorded.tape())),
    ] {
        let expected = "the tape is refused: input Steer.x: the tape has `i8`, this app has `i16` ";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    Ok(())
}
