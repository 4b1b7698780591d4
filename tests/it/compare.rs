//! What a comparison says, by what there is to compare: roots, types, values, or a second app.

use crate::game::{Outcome, headless};
use bevy_app::FixedMain;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Report, Seed, Verdict};

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i32);

#[derive(Component, Canonical, Default)]
struct Hero {
    x: i32,
    /// Follows the tick alone, so that differences heal.
    phase: u64,
}

#[derive(Component, Canonical, Default)]
struct Still(u8);

/// A game, and what is wrong with it.
#[derive(Clone, Default)]
struct Game {
    rules: u32,
    /// Pushes twice in this tick.
    slips_at: Option<u64>,
    /// Shows another phase in these ticks.
    blinks_at: &'static [u64],
    starts_at: i32,
    version: &'static str,
}

impl Plugin for Game {
    fn build(&self, app: &mut App) {
        let Self { rules, slips_at, blinks_at, starts_at, version } = self.clone();
        app.add_plugins(ReplayPlugin::new("compare").rules(rules).version(version).seed(5))
            .record_input::<Push>()
            .register_authoritative::<(Hero, Still)>();
        app.add_systems(Startup, move |mut commands: Commands| {
            commands.spawn(Still(1));
            commands.spawn((Hero { x: starts_at, phase: 0 }, Still(2), Name::new("Ada")));
        });
        app.add_systems(FixedUpdate, move |tick: Res<SimTick>, push: Res<Push>, mut hero: Single<&mut Hero>| {
            hero.x += push.0 * if slips_at == Some(tick.0) { 2 } else { 1 };
            hero.phase = tick.0 * 10 + u64::from(blinks_at.contains(&tick.0));
        });
    }
}

const PUSHES: [i32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

fn record(game: Game, detail: Detail) -> Result<bevy_replay::Run, ReplayError> {
    headless(game).inputs(PUSHES.map(Push)).detail(detail).run()
}

fn slip() -> Game {
    Game { slips_at: Some(4), ..Game::default() }
}

fn first_line(report: &Report) -> String {
    report.to_string().lines().next().unwrap_or_default().to_owned()
}

const FIELD: &str = "diverged at tick 4 (0.06 s): sim:1 \"Ada\" Hero.x expected 15 got 20";

#[test]
fn roots_say_the_tick() -> Outcome {
    let tape = record(Game::default(), Detail::Roots)?.tape().clone();
    let report = headless(slip()).compare(&tape)?;
    assert_eq!(report.verdict, Verdict::Diverged);
    let found = report.divergence.clone().ok_or("no divergence")?;
    assert_eq!((found.tick, found.last_agreeing, found.types, found.differences), (Some(4), Some(3), None, None));
    let text = report.to_string();
    assert!(text.starts_with("diverged at tick 4 (0.06 s): digest expected "), "{text}");
    assert!(text.contains("inputs of this tick  Push(5)"), "{text}");
    assert!(text.contains("for field and values record with `Detail::Values`, or compare with a second app"), "{text}");
    Ok(())
}

#[test]
fn lanes_say_the_type_too() -> Outcome {
    let tape = record(Game::default(), Detail::Lanes)?.tape().clone();
    let report = headless(slip()).compare(&tape)?;
    assert_eq!(first_line(&report), "diverged at tick 4 (0.06 s): Hero differs");
    Ok(())
}

#[test]
fn values_say_the_entity_the_field_and_both_values_too() -> Outcome {
    let tape = record(Game::default(), Detail::Values)?.tape().clone();
    assert_eq!(first_line(&headless(slip()).compare(&tape)?), FIELD);
    assert_eq!(first_line(headless(slip()).verify(&tape)?.report()), FIELD);
    assert_eq!(first_line(&tape.diff(record(slip(), Detail::Values)?.tape())), FIELD.replace(" \"Ada\"", ""));
    Ok(())
}

#[test]
fn systems_that_may_write_it_are_named_and_exclusive_ones_after_them() -> Outcome {
    #[derive(Resource, Clone, Copy)]
    struct Rates {
        pace: i32,
        points: i32,
    }
    /// No system has it as a parameter.
    #[derive(Resource, Canonical)]
    struct Score(i32);
    fn cheat(_: &mut World) {}
    fn look(_: Single<&Hero>, mut commands: Commands) {
        commands.queue(|_: &mut World| {}); // so that there is a sync point, which is no system of the game
    }
    fn walk(rates: Res<Rates>, mut hero: Single<&mut Hero>) {
        hero.x += rates.pace;
    }
    fn score(world: &mut World) {
        let points = world.resource::<Rates>().points;
        world.insert_resource(Score(points));
    }
    let game = |pace, points| {
        move |app: &mut App| {
            app.add_plugins(ReplayPlugin::new("writers")).insert_resource(Rates { pace, points });
            app.register_authoritative::<Hero>().register_authoritative_resource::<Score>();
            app.add_systems(Startup, |mut commands: Commands| _ = commands.spawn(Hero::default()));
            app.add_systems(FixedUpdate, (cheat, look, walk).chain()).add_systems(FixedMain, score);
        }
    };
    let tape = headless(game(1, 1)).detail(Detail::Values).record(2)?.tape().clone();
    for (pace, points, declared) in [(2, 1, 1), (1, 2, 0)] {
        let found = headless(game(pace, points)).compare(&tape)?.divergence.ok_or("no divergence")?;
        let (first, rest) = found.writers.split_at(declared);
        let is_exclusive = |name: &String| name.ends_with(" (exclusive)");
        assert!(!first.iter().any(is_exclusive) && rest.iter().all(is_exclusive), "{:?}", found.writers);
        assert_eq!(rest.len(), 2, "{:?}", found.writers);
    }
    Ok(())
}

#[test]
fn second_app_says_it_whatever_the_tape_holds() -> Outcome {
    for detail in [Detail::Roots, Detail::Lanes, Detail::Values] {
        let tape = record(Game::default(), detail)?.tape().clone();
        let report = headless(Game::default()).compare_with(headless(slip()), &tape)?;
        assert_eq!(first_line(&report), FIELD, "{detail:?}");
        assert!(report.to_string().contains("inputs of this tick  Push(5)"), "{report}");
        let turned = headless(slip()).compare_with(headless(Game::default()), &tape)?;
        assert_eq!(first_line(&turned), FIELD.replace("expected 15 got 20", "expected 20 got 15"));
    }
    Ok(())
}

#[test]
fn second_app_that_is_the_same_is_verified() -> Outcome {
    let tape = record(slip(), Detail::Roots)?.tape().clone();
    let report = headless(Game::default()).compare_with(headless(Game::default()), &tape)?;
    assert_eq!(report.to_string(), "verified: replayed 10 ticks, 0 diverged", "the tape's own digests do not count");
    assert_eq!(report.compared, 10);
    Ok(())
}

#[test]
fn comparing_reports_other_rules_and_never_refuses_them() -> Outcome {
    let tape = record(Game { rules: 1, version: "1.0", ..Game::default() }, Detail::Values)?.tape().clone();
    let same = headless(Game { rules: 2, ..Game::default() }).compare(&tape)?;
    assert_eq!(first_line(&same), "verified: replayed 10 ticks, 0 diverged");
    let other = Game { rules: 2, version: "2.0", ..slip() };
    for report in [
        headless(other.clone()).compare(&tape)?,
        headless(Game { rules: 1, version: "1.0", ..Game::default() }).compare_with(headless(other), &tape)?,
    ] {
        assert_eq!(first_line(&report), FIELD);
        let text = report.to_string();
        assert!(
            text.contains("rules: expected 1, got 2") && text.contains("game version: expected 1.0, got 2.0"),
            "{text}"
        );
    }
    Ok(())
}

#[test]
fn difference_that_stays_is_said_to_persist() -> Outcome {
    let tape = record(Game::default(), Detail::Roots)?.tape().clone();
    let text = headless(slip()).compare(&tape)?.to_string();
    assert!(text.contains("last agreeing tick   3                later: persists (6 of 6 ticks differ)"), "{text}");
    Ok(())
}

#[test]
fn difference_that_goes_away_is_said_to_heal() -> Outcome {
    let tape = record(Game::default(), Detail::Roots)?.tape().clone();
    let blinking = |blinks_at| Game { blinks_at, ..Game::default() };
    let report = headless(blinking(&[3, 4])).compare(&tape)?;
    assert_eq!(report.verdict, Verdict::Diverged, "healed is not verified");
    let text = report.to_string();
    assert!(
        text.contains("last agreeing tick   2                later: heals at tick 5 (2 of 7 ticks differ)"),
        "{text}"
    );
    let text = headless(blinking(&[3, 6])).compare(&tape)?.to_string();
    assert!(text.contains("later: heals at tick 7 (2 of 7 ticks differ)"), "it differed again in between: {text}");
    let text = headless(blinking(&[3, 9])).compare(&tape)?.to_string();
    assert!(text.contains("later: persists (2 of 7 ticks differ)"), "it differs in the last tick: {text}");
    let text = headless(Game::default()).compare_with(headless(blinking(&[0])), &tape)?.to_string();
    assert!(
        text.contains("last agreeing tick   none             later: heals at tick 1 (1 of 10 ticks differ)"),
        "{text}"
    );
    Ok(())
}

#[test]
fn another_start_is_reported_field_by_field_before_the_first_tick() -> Outcome {
    let tape = record(Game::default(), Detail::Roots)?.tape().clone();
    let other = || headless(Game { starts_at: 7, ..Game::default() });
    let reports = [
        other().compare(&tape)?,
        other().verify(&tape)?.report().clone(),
        headless(Game::default()).compare_with(other(), &tape)?,
    ];
    for report in reports {
        assert_eq!(report.first_divergence(), "before the first tick");
        let text = report.to_string();
        assert!(text.starts_with("diverged before the first tick: sim:1 "), "{text}");
        assert!(text.contains("Hero.x expected 0 got 7"), "{text}");
        assert!(text.contains("hint: the app starts from another state than the recording did"), "{text}");
    }
    Ok(())
}

#[test]
fn apps_with_different_types_are_compared_in_those_they_share() -> Outcome {
    #[derive(Component, Canonical)]
    struct Extra(u8);
    fn with_extra(game: Game) -> Headless {
        headless((game, |app: &mut App| {
            app.register_authoritative::<Extra>();
            app.add_systems(PostStartup, |hero: Single<Entity, With<Hero>>, mut commands: Commands| {
                commands.entity(*hero).insert(Extra(1));
            });
            app.add_systems(FixedUpdate, |mut extra: Single<&mut Extra>| extra.0 += 1);
        }))
    }
    let tape = record(Game::default(), Detail::Values)?.tape().clone();
    let same = [
        with_extra(Game::default()).compare(&tape)?,
        headless(Game::default()).compare_with(with_extra(Game::default()), &tape)?,
    ];
    for report in same {
        assert_eq!((report.verdict, report.compared), (Verdict::Verified, 10), "{report}");
    }
    let differing =
        [with_extra(slip()).compare(&tape)?, headless(Game::default()).compare_with(with_extra(slip()), &tape)?];
    for report in differing {
        assert_eq!(first_line(&report), FIELD);
    }
    Ok(())
}

#[test]
fn seed_of_the_tape_is_that_of_the_replay() -> Outcome {
    #[derive(Resource, Canonical)]
    struct Drawn(u64);
    let game = |app: &mut App| {
        app.add_plugins(Game::default()).register_authoritative_resource::<Drawn>();
        app.add_systems(Startup, |seed: Res<Seed>, mut commands: Commands| commands.insert_resource(Drawn(seed.0)));
    };
    let own = headless(game).record(2)?;
    let other = headless(game).seed(77).record(2)?;
    assert_eq!((own.resource::<Drawn>()?.0, own.tape().header.seed), (5, 5));
    assert_eq!((other.resource::<Drawn>()?.0, other.tape().header.seed), (77, 77));
    headless(game).verify(other.tape())?.assert_verified();
    let wrong = headless(game).seed(78).verify(other.tape())?;
    let text = wrong.report().to_string();
    assert!(text.contains("Drawn.0 expected 77 got 78"), "{text}");
    assert!(text.contains("seed: expected 000000000000004D, got 000000000000004E"), "{text}");
    Ok(())
}

#[test]
fn systems_of_nested_schedules_are_named() -> Outcome {
    use bevy_ecs::schedule::ScheduleLabel;
    #[derive(ScheduleLabel, Debug, Clone, PartialEq, Eq, Hash)]
    struct Combat;
    fn fight(mut hero: Single<&mut Hero>) {
        hero.x += 1;
    }
    fn slip(tick: Res<SimTick>, mut hero: Single<&mut Hero>) {
        hero.x += i32::from(tick.0 == 6);
    }
    fn nested(app: &mut App) {
        app.add_plugins(Game::default()).init_schedule(Combat).tick_schedule(Combat);
        app.add_systems(Combat, fight);
        app.add_systems(FixedUpdate, |world: &mut World| world.run_schedule(Combat));
    }
    fn slipping(app: &mut App) {
        nested(app);
        app.add_systems(Combat, slip);
    }
    let tape = headless(nested).inputs(PUSHES.map(Push)).run()?.tape().clone();
    let report = headless(nested).compare_with(headless(slipping), &tape)?;
    let text = report.to_string();
    assert!(text.starts_with("diverged at tick 6 (0.09 s): sim:1 \"Ada\" Hero.x expected 35 got 36"), "{text}");
    assert!(text.contains("slip (2nd of 2 in Combat), not expected"), "{text}");
    Ok(())
}

#[test]
fn commands_and_writes_outside_are_told_apart_from_systems() -> Outcome {
    #[derive(Resource)]
    struct Off;
    fn spawner(tick: Res<SimTick>, off: Option<Res<Off>>, mut commands: Commands) {
        if tick.0 == 3 {
            commands.spawn(Still(if off.is_some() { 7 } else { 6 }));
        }
    }
    fn spawning(app: &mut App) {
        app.add_plugins(Game::default()).add_systems(FixedUpdate, spawner);
    }
    fn other(app: &mut App) {
        app.insert_resource(Off);
        spawning(app);
    }
    let tape = headless(spawning).inputs(PUSHES.map(Push)).run()?.tape().clone();
    let text = headless(spawning).compare_with(headless(other), &tape)?.to_string();
    assert!(text.starts_with("diverged at tick 3"), "{text}");
    assert!(
        text.contains("commands of it::compare::commands_and") && text.contains("spawner (applied after"),
        "{text}"
    );

    fn meddling(app: &mut App) {
        spawning(app);
        app.add_systems(Update, |tick: Res<SimTick>, mut hero: Single<&mut Hero>| hero.x += i32::from(tick.0 == 5));
    }
    let text = headless(spawning).compare_with(headless(meddling), &tape)?.to_string();
    assert!(text.starts_with("diverged at tick 5"), "{text}");
    assert!(text.contains("none: the state was written between this tick and the one before"), "{text}");
    Ok(())
}
