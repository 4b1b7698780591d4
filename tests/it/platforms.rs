//! Floats of another platform, and entities of another world.

use crate::game::{Outcome, assert_same_roots, headless, scramble};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Report, Tape};

#[derive(Component, Canonical, Clone, Copy)]
struct Heading(f32);

#[derive(Component, Canonical)]
struct Place {
    x: f32,
}

/// cscorley/bevy_ggrs_rapier_example#22: a sine that is not the same on all platforms.
///
/// From tick 5 on, the sine of the other platform is the next larger float.
fn ship(other_platform: bool) -> Headless {
    #[expect(clippy::disallowed_methods, reason = "the fault that must be found")]
    let sine = move |x: f32, tick: u64| if other_platform && tick >= 5 { x.sin().next_up() } else { x.sin() };
    headless(move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("ship")).register_authoritative::<(Heading, Place)>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn(Place { x: 0.0 });
            commands.spawn((Heading(0.5), Name::new("Argo")));
        });
        app.add_systems(FixedUpdate, move |tick: Res<SimTick>, mut ships: Query<&mut Heading>| {
            for mut heading in &mut ships {
                heading.0 = sine(heading.0 + 0.75, tick.0);
            }
        });
    })
    .detail(Detail::Values)
}

fn foreign(tape: &Tape) -> Tape {
    let mut tape = tape.clone();
    tape.header.target = "aarch64-macos".into();
    // The other of the two, as far as this build goes.
    tape.header.features = if cfg!(feature = "libm") { Vec::new() } else { vec!["libm".into()] };
    tape
}

fn replayed(other_platform: bool) -> Result<Report, ReplayError> {
    let tape = foreign(ship(false).record(12)?.tape());
    Ok(ship(other_platform).verify(tape)?.report().clone())
}

#[test]
fn sine_that_is_one_ulp_off_is_named_with_both_values_and_the_platforms() -> Outcome {
    let report = replayed(true)?;
    let found = report.divergence.clone().ok_or("no divergence")?;
    assert_eq!((found.tick, found.last_agreeing), (Some(5), Some(4)));
    let rows = found.differences.ok_or("no values")?;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].sim_id, &*rows[0].type_name, &*rows[0].path), (Some(1), "Heading", ".0"));
    assert_eq!(rows[0].ulps(), Some(1));
    let text = report.to_string();
    let (expected, got) = (rows[0].expected.to_string(), rows[0].got.to_string());
    let here = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    assert!(
        text.starts_with(&format!(
            "diverged at tick 5 (0.07 s): sim:1 \"Argo\" Heading.0 expected {expected} got {got}\n"
        )),
        "{text}"
    );
    for part in [
        format!("expected  {expected}  got  {got}  (float, 1 ulp)"),
        format!("target: expected aarch64-macos, got {here}"),
        format!("features: expected {}", if cfg!(feature = "libm") { "none, got libm" } else { "libm, got none" }),
        "hint: floats differ and so do the targets or features: `f32::sin`, `cos`, `powf` and the like are not the same \
         everywhere; use `bevy_math::ops` with the feature `libm`, or fixed-point numbers"
            .into(),
        "later: persists (7 of 7 ticks differ)".into(),
    ] {
        assert!(text.contains(&part), "{part} is missing in:\n{text}");
    }
    let bits = |side: &str| side.parse::<f32>().map(|value| format!("{side} (0x{:08X})", value.to_bits()));
    let all = format!("{report:#}");
    assert!(all.contains(&bits(&expected)?) && all.contains(&bits(&got)?), "{all}");
    Ok(())
}

#[test]
fn same_sine_on_a_foreign_tape_is_verified_without_a_word() -> Outcome {
    assert_eq!(replayed(false)?.to_string(), "verified: replayed 12 ticks, 0 diverged");
    Ok(())
}

#[test]
fn hint_at_the_platform_is_left_out_where_platforms_agree() -> Outcome {
    let tape = ship(false).record(12)?.tape().clone();
    let text = ship(true).verify(tape)?.report().to_string();
    assert!(!text.contains("hint:") && text.contains("(float, 1 ulp)"), "{text}");
    Ok(())
}

#[derive(Component, Canonical)]
struct Bullet {
    shot_in: u64,
    /// The bullet before.
    before: Option<Entity>,
    by: Entity,
}

/// gschup/bevy_ggrs#81: three bullets per tick, and the oldest go when there are more than ten.
fn bullets(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("bullets")).register_authoritative::<(Bullet, Place)>();
    app.add_systems(Startup, |mut commands: Commands| {
        commands.spawn(Place { x: 1.0 });
    });
    let shoot = |tick: Res<SimTick>,
                 gun: Single<Entity, With<Place>>,
                 bullets: Query<(Entity, &SimId), With<Bullet>>,
                 mut commands: Commands| {
        let mut all: Vec<_> = bullets.iter().collect();
        all.sort_by_key(|(_, id)| **id);
        let mut before = all.last().map(|(entity, _)| *entity);
        for _ in 0..3 {
            before = Some(commands.spawn(Bullet { shot_in: tick.0, before, by: *gun }).id());
        }
        let excess = (all.len() + 3).saturating_sub(10);
        all.iter().take(excess).for_each(|(entity, _)| commands.entity(*entity).despawn());
    };
    app.add_systems(FixedUpdate, shoot);
}

#[test]
fn scrambled_generations_of_the_recording_world_reach_no_digest() -> Outcome {
    let recorded = headless((scramble, bullets)).record(60)?;
    let replayed = headless(bullets).verify(recorded.tape())?;
    replayed.assert_verified();
    assert_eq!(replayed.report().compared, 60);
    let again = headless(bullets).record(60)?;
    assert_same_roots(&recorded.tape().digests.roots, &again.tape().digests.roots, "without debug entities");
    Ok(())
}

#[test]
fn raw_entity_bits_in_the_state_diverge_between_such_worlds() -> Outcome {
    #[derive(Resource, Canonical, Default)]
    struct Raw(u64);
    fn leaking(app: &mut App) {
        bullets(app);
        app.register_authoritative_resource::<Raw>().init_resource::<Raw>();
        app.add_systems(FixedUpdate, |bullets: Query<Entity, With<Bullet>>, mut raw: ResMut<Raw>| {
            raw.0 = bullets.iter().map(Entity::to_bits).max().unwrap_or_default();
        });
    }
    let recorded = headless((scramble, leaking)).detail(Detail::Values).record(60)?;
    let report = headless(leaking).verify(recorded.tape())?.report().to_string();
    assert!(report.contains("Raw.0 expected"), "{report}");
    Ok(())
}

#[test]
fn tape_says_whether_maths_goes_through_libm() -> Outcome {
    let recorded = headless(|app: &mut App| {
        app.add_plugins(ReplayPlugin::new("maths"));
    });
    let features = &recorded.record(1)?.tape().header.features.clone();
    assert_eq!(features.iter().any(|feature| feature == "libm"), cfg!(feature = "libm"), "{features:?}");
    Ok(())
}
