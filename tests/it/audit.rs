//! The audit finds what must not matter and does, and names it; of a clean game it says that all is equal.

use crate::game::{self, Outcome, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::testing::{Audit, AuditOutcome, AuditReport};
use bevy_replay::{Pacing, prelude::*};
use core::time::Duration;

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i32);

#[derive(Component, Canonical)]
struct Val {
    v: i32,
}

#[derive(Resource, Canonical, Default)]
struct Sum(u64);

/// Four numbers, and what is wrong with what is done to them.
fn values(fault: fn(&mut App)) -> impl Fn(&mut App) + Send + Sync + Clone {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("values"))
            .record_input::<Push>()
            .register_authoritative::<Val>()
            .register_authoritative_resource::<Sum>()
            .init_resource::<Sum>();
        app.add_systems(Startup, |mut commands: Commands| {
            for v in 1..5 {
                commands.spawn(Val { v });
            }
        });
        app.add_systems(FixedUpdate, push);
        fault(app);
    }
}

fn push(push: Res<Push>, mut vals: Query<&mut Val>) {
    vals.iter_mut().for_each(|mut val| val.v = (val.v + push.0) % 1000);
}

fn audit(fault: fn(&mut App)) -> Result<AuditReport, ReplayError> {
    let game = values(fault);
    let inputs = (0..100).map(|tick| Push(if tick == 40 { 7 } else { i32::from(tick % 5 == 0) }));
    let tape = headless(game.clone()).inputs(inputs).run()?.tape().clone();
    Audit::new(move || headless(game.clone())).shuffles(4).restored_every(30).run(tape)
}

/// The rows that differ, as the table has them.
fn differing(report: &AuditReport) -> Vec<String> {
    let rows = report.rows.iter().filter(|row| row.outcome.verdict() == "DIFFERS");
    rows.map(|row| format!("{}: {}", row.perturbation, row.outcome.first_difference())).collect()
}

#[track_caller]
fn assert_only(report: &AuditReport, row: &str, difference: &str) {
    let rows = differing(report);
    assert_eq!(rows.len(), 1, "{report}");
    assert!(rows[0].starts_with(row) && rows[0].contains(difference), "{report}");
    assert!(!report.is_clean());
}

#[test]
fn clean_games_are_equal_in_all_rows() -> Outcome {
    let report = audit(|_| {})?;
    assert!(report.is_clean(), "{report}");
    assert!(report.ambiguous.is_empty(), "{report}");
    let equal = report.rows.iter().filter(|row| matches!(row.outcome, AuditOutcome::Equal)).count();
    assert!(equal >= 8, "{report}");
    let tape = headless(game::arena).inputs(game::script(200)).run()?.tape().clone();
    let report = Audit::new(|| headless(game::arena)).shuffles(4).run(tape)?;
    assert_only(&report, "system order", "order of it::game::drift and it::game::steer is not fixed"); // it is left open there
    Ok(())
}

#[test]
fn two_systems_without_an_order_are_named() -> Outcome {
    fn double(push: Res<Push>, mut vals: Query<&mut Val>) {
        vals.iter_mut().for_each(|mut val| val.v *= if push.0 == 7 { 2 } else { 1 });
    }
    let report = audit(|app| _ = app.add_systems(FixedUpdate, double))?;
    assert_only(&report, "system order, 4 shuffles", "tick 40, sim:0 Val.v ");
    assert_only(&report, "system order", "double is not fixed (FixedUpdate)");
    let [pair] = &*report.ambiguous else { return Err(format!("{report}").into()) };
    assert!(pair.first.ends_with("push") && pair.second.ends_with("double"), "{pair:?}");
    assert_eq!(pair.shared, ["Val"]);
    assert!(report.to_string().contains("ambiguous pairs on authoritative state: "), "{report}");
    Ok(())
}

#[test]
fn what_follows_frames_is_named() -> Outcome {
    #[derive(Resource, Default)]
    struct Frames(u64);
    fn count(frames: Res<Frames>, tick: Res<SimTick>, mut sum: ResMut<Sum>) {
        sum.0 += if tick.0 == 40 { frames.0 } else { 0 };
    }
    let report = audit(|app| {
        app.init_resource::<Frames>().add_systems(Update, |mut frames: ResMut<Frames>| frames.0 += 1);
        app.add_systems(FixedUpdate, count);
    })?;
    let rows = differing(&report);
    assert!(rows[0].starts_with("ticks per frame 1 / 4 / 16: tick 40, Sum.0 "), "{report}");
    assert!(rows[0].contains("count (") && rows[0].ends_with("[4 per frame]"), "{report}");
    assert!(rows.iter().any(|row| row.starts_with("frame pattern with a 43-tick hitch: tick 40, Sum.0 ")), "{report}");
    Ok(())
}

#[test]
fn a_game_that_plays_between_ticks_is_not_clean_though_its_rows_are_equal() -> Outcome {
    let report = audit(|app| {
        app.add_systems(Update, |tick: Res<SimTick>, mut sum: ResMut<Sum>| sum.0 = tick.0 / 20);
    })?;
    assert!(!report.is_clean(), "{report}");
    let text = report.to_string();
    assert!(text.contains("\nfound: authoritative state was written outside a tick: Sum.0 was 0, is 1"), "{text}");
    Ok(())
}

#[test]
fn entity_numbers_in_the_state_are_named() -> Outcome {
    fn leak(vals: Query<Entity, With<Val>>, mut sum: ResMut<Sum>) {
        sum.0 = vals.iter().map(Entity::to_bits).max().unwrap_or_default();
    }
    let report = audit(|app| _ = app.add_systems(FixedUpdate, leak))?;
    assert!(differing(&report)[0].starts_with("entity allocation scrambled: tick 0, Sum.0 "), "{report}");
    Ok(())
}

#[test]
fn loops_that_depend_on_their_order_are_named() -> Outcome {
    fn last(vals: Query<&SimId, With<Val>>, mut sum: ResMut<Sum>) {
        sum.0 = vals.iter().last().map_or(0, |id| id.0);
    }
    let report = audit(|app| _ = app.add_systems(FixedUpdate, last))?;
    assert_only(&report, "archetypes scrambled", "tick 0, Sum.0 ");
    assert_only(&report, "archetypes scrambled", "last (");
    Ok(())
}

#[test]
fn derived_state_that_is_read_before_it_is_rebuilt_is_named() -> Outcome {
    #[derive(Resource, Default)]
    struct Cache(u64);
    fn read(cache: Res<Cache>, mut sum: ResMut<Sum>) {
        sum.0 += cache.0;
    }
    let report = audit(|app| {
        app.init_resource::<Cache>();
        app.derived::<Cache>();
        app.add_systems(FixedUpdate, (read, |mut cache: ResMut<Cache>| cache.0 += 1).chain());
    })?;
    let rows = differing(&report);
    assert!(rows.iter().any(|row| row.starts_with("derived state cleared each tick: tick 1, Sum.0 1 / 0")), "{report}");
    Ok(())
}

#[test]
fn what_a_first_run_leaves_behind_is_named() -> Outcome {
    use core::sync::atomic::{AtomicU64, Ordering};
    static LAID: AtomicU64 = AtomicU64::new(0);
    fn lay(tick: Res<SimTick>, mut sum: ResMut<Sum>) {
        if tick.0 == 12 {
            sum.0 = LAID.fetch_add(1, Ordering::Relaxed);
        }
    }
    let report = audit(|app| _ = app.add_systems(FixedUpdate, lay))?;
    assert_only(&report, "twice in one process: tick 12, Sum.0 ", "lay (");
    assert!(report.to_string().contains("everything else       not tested  two runs alike differ already"), "{report}");
    Ok(())
}

#[test]
fn state_that_no_image_holds_is_named_where_it_is_restored() -> Outcome {
    #[derive(Component, Default)]
    struct Heat(u64);
    fn burn(mut heat: Single<&mut Heat>, mut sum: ResMut<Sum>) {
        heat.0 += 1;
        sum.0 = heat.0;
    }
    let report = audit(|app| {
        app.add_systems(PostStartup, |vals: Query<Entity, With<Val>>, mut commands: Commands| {
            if let Some(val) = vals.iter().next() {
                commands.entity(val).insert(Heat(0));
            }
        });
        app.add_systems(FixedUpdate, burn);
    })?;
    let rows = differing(&report);
    let restored = rows.iter().find(|row| row.starts_with("restored at every 30th tick: tick 30, ")).ok_or("no row")?;
    assert!(restored.contains("state outside the image") && restored.contains("Heat"), "{report}");
    Ok(())
}

#[test]
fn a_panic_under_a_perturbation_is_a_row() -> Outcome {
    #[derive(Resource, Default)]
    struct Frames(u64);
    fn fragile(frames: Res<Frames>, tick: Res<SimTick>) {
        assert!(frames.0 >= tick.0, "more ticks than frames");
    }
    let report = audit(|app| {
        app.init_resource::<Frames>().add_systems(First, |mut frames: ResMut<Frames>| frames.0 += 1);
        app.add_systems(FixedUpdate, fragile);
    });
    let rows = differing(&report?);
    assert_eq!(rows[0], "ticks per frame 1 / 4 / 16: the game panicked [4 per frame]");
    Ok(())
}

#[test]
fn side_by_side_games_may_have_other_frames() -> Outcome {
    let game = values(|_| {});
    let tape = headless(game.clone()).inputs((0..100).map(Push)).run()?.tape().clone();
    let frames = Pacing::Frames(vec![Duration::from_millis(5), Duration::from_millis(90), Duration::from_millis(1)]);
    let report = headless(game.clone()).compare_with(headless(game).pacing(frames), &tape)?;
    assert!(report.is_verified() && report.compared == 100, "{report}");
    Ok(())
}
