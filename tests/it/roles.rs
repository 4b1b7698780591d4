//! Only authoritative fields count: observation, presentation and derived fields may change in every way.

use crate::game::{Outcome, assert_same_roots, error_of, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i8);

/// A game whose `Hero` and `Level` have these fields; `touch` writes those that must not count.
macro_rules! version {
    (
        $version:ident,
        $hero:ident: { $($hero_fields:tt)* },
        $level:ident: { $($level_fields:tt)* },
        $touch:block
    ) => {
        mod $version {
            use super::*;

            #[derive(Component, Canonical, Default)]
            struct Hero { $($hero_fields)* }

            #[derive(Resource, Canonical, Default)]
            struct Level { $($level_fields)* }

            pub(super) fn game(app: &mut App) {
                app.add_plugins(ReplayPlugin::new("roles"))
                    .record_input::<Push>()
                    .register_authoritative::<Hero>()
                    .register_authoritative_resource::<Level>()
                    .init_resource::<Level>();
                app.add_systems(Startup, |mut commands: Commands| {
                    commands.spawn_batch((0..3).map(|_| Hero::default()));
                });
                app.add_systems(FixedUpdate, |push: Res<Push>, mut heroes: Query<&mut Hero>, mut $level: ResMut<Level>| {
                    for mut $hero in &mut heroes {
                        $hero.x += i32::from(push.0);
                        $hero.y -= 1;
                        $level.score += 3;
                        $touch
                    }
                });
            }
        }
    };
}

version!(plain, hero: { x: i32, y: i32 }, level: { score: u32 }, {});

version!(
    observed,
    hero: {
        x: i32,
        y: i32,
        #[canonical(observation)]
        trace: Vec<String>,
    },
    level: {
        score: u32,
        #[canonical(observation)]
        visits: u64,
    },
    {
        let x = hero.x;
        hero.trace.push(format!("at {x}"));
        level.visits += 1;
    }
);

version!(
    rewritten,
    hero: {
        #[canonical(presentation)]
        blend: f32,
        #[canonical(derived)]
        path: std::collections::BTreeMap<u8, f64>,
        x: i32,
        #[canonical(observation)]
        trace: [u64; 3],
        y: i32,
    },
    level: {
        #[canonical(derived)]
        cache: Option<Box<u8>>,
        score: u32,
    },
    {
        hero.blend = f32::NAN;
        let x = hero.x;
        hero.path.insert(1, f64::from(x));
        hero.trace[1] += 7;
        level.cache = Some(Box::new(3));
    }
);

version!(
    reordered,
    hero: {
        #[canonical(observation)]
        trace: [u64; 3],
        x: i32,
        y: i32,
        #[canonical(derived)]
        path: std::collections::BTreeMap<u8, f64>,
        #[canonical(presentation)]
        blend: f32,
    },
    level: { score: u32, #[canonical(derived)] cache: Option<Box<u8>> },
    {
        hero.blend += 0.1;
        hero.trace[0] += 1;
        hero.path.clear();
        level.cache = None;
    }
);

version!(promoted, hero: { x: i32, y: i32, trace: u8 }, level: { score: u32 }, { hero.trace = 1; });
version!(swapped, hero: { y: i32, x: i32 }, level: { score: u32 }, {});

const PUSHES: [i8; 8] = [0, 1, 1, -1, 0, 5, 5, -2];

type Game = fn(&mut App);

#[test]
fn changes_of_fields_without_a_vote_change_no_digest_no_schema_and_no_acceptance() -> Outcome {
    let versions: [(&str, Game); 4] = [
        ("plain", plain::game),
        ("observed", observed::game),
        ("rewritten", rewritten::game),
        ("reordered", reordered::game),
    ];
    for (name, game) in versions {
        let recorded = headless(game).inputs(PUSHES.map(Push)).detail(Detail::Values).run()?;
        for (other_name, other) in versions {
            let replayed = headless(other).verify(recorded.tape())?;
            replayed.assert_verified();
            assert_eq!(replayed.report().header_differences, [], "{name} in {other_name}");
            let again = headless(other).inputs(PUSHES.map(Push)).detail(Detail::Values).run()?;
            assert_same_roots(&recorded.tape().digests.roots, &again.tape().digests.roots, other_name);
            assert_eq!(**recorded.tape(), **again.tape(), "{name} and {other_name}: the whole tape");
        }
    }
    Ok(())
}

#[test]
fn added_authoritative_field_is_refused_by_name() -> Outcome {
    let recorded = headless(plain::game).inputs(PUSHES.map(Push)).run()?;
    let error = error_of(headless(promoted::game).verify(recorded.tape()));
    assert_eq!(
        error.to_string(),
        "the tape is refused: type Hero: the tape has `Hero { x: i32, y: i32 }`, this app has \
         `Hero { x: i32, y: i32, trace: u8 }` (play its inputs only, or force it and get an unverified result)"
    );
    Ok(())
}

#[test]
fn reordered_authoritative_fields_are_refused() -> Outcome {
    let recorded = headless(plain::game).inputs(PUSHES.map(Push)).run()?;
    let error = error_of(headless(swapped::game).verify(recorded.tape())).to_string();
    assert!(error.contains("this app has `Hero { y: i32, x: i32 }`"), "{error}");
    Ok(())
}

/// Three bytes of padding behind `kind`, two behind `ammo`.
#[derive(Component, Canonical, Clone, Copy)]
struct Padded {
    kind: u8,
    range: u32,
    ammo: u16,
}

/// Leaves free memory full of a pattern, for later allocations to find.
fn poison(pattern: u8) {
    let blocks: Vec<Vec<u8>> = (0..400).map(|i| vec![pattern; 8 << (i % 12)]).collect();
    std::hint::black_box(&blocks);
}

#[test]
fn padding_never_counts() -> Outcome {
    assert!(size_of::<Padded>() > 7, "the test needs padding");
    assert_eq!(Padded::WIDTH, Some(7));
    let record = |pattern: u8| {
        headless(move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("padded")).register_authoritative::<Padded>();
            app.add_systems(Startup, move |mut commands: Commands| {
                for i in 0..100 {
                    poison(pattern);
                    commands.spawn(*Box::new(Padded { kind: i, range: u32::from(i) * 1000, ammo: 7 }));
                }
            });
            app.add_systems(FixedUpdate, move |mut all: Query<&mut Padded>| {
                poison(pattern);
                for mut one in &mut all {
                    let moved = Box::new(Padded { ammo: one.ammo + 1, ..*one });
                    *one = *moved;
                }
            });
        })
        .record(3)
    };
    let (zeros, ones) = (record(0x00)?, record(0xFF)?);
    assert_same_roots(&zeros.tape().digests.roots, &ones.tape().digests.roots, "poisoned");
    let image = zeros.tape().initial.as_ref().ok_or("no image")?;
    let lane = image.lane("Padded").ok_or("no lane")?;
    assert_eq!(lane.rows.bytes().len(), 7 * 100);
    assert_eq!(lane.get(2), Some(&[2, 0xD0, 0x07, 0, 0, 7, 0][..]));
    assert_eq!(zeros.tape().initial, ones.tape().initial);
    Ok(())
}
