//! A tape that does not fit the app is refused before anything has run, by name and with both values.

use crate::game::{Outcome, error_of, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Run, Tape, Verdict};
use bevy_time::{Fixed, Time};
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Resource, Default, Clone, TickInput)]
struct Push(i8);

#[derive(Component, Canonical)]
struct Hero {
    x: i32,
}

#[derive(Component, Canonical)]
struct Bonus;

#[derive(Resource, Canonical, Default)]
struct Level(u8);

/// The types of other games, under the same names.
mod other {
    use super::*;

    #[derive(Resource, Default, Clone, TickInput)]
    pub(super) struct Push {
        pub(super) x: i8,
    }

    #[derive(Component, Canonical)]
    pub(super) struct Hero {
        pub(super) x: i64,
    }
}

/// One game with everything that a refusal can be about.
#[derive(Clone)]
struct Game {
    name: &'static str,
    rules: u32,
    version: &'static str,
    timestep: Duration,
    input: bool,
    input_schema: bool,
    lane: bool,
    lane_schema: bool,
    resource: bool,
    speed: i32,
    /// Systems that have run at start-up and between ticks.
    ran: Arc<AtomicU32>,
    /// Systems that have run in ticks.
    ran_in_ticks: Arc<AtomicU32>,
}

impl Game {
    fn new() -> Self {
        Self {
            name: "demo",
            rules: 1,
            version: "1.0",
            timestep: Duration::from_nanos(15_625_000),
            input: true,
            input_schema: true,
            lane: true,
            lane_schema: true,
            resource: true,
            speed: 1,
            ran: Arc::default(),
            ran_in_ticks: Arc::default(),
        }
    }

    fn ran(&self) -> [u32; 2] {
        [&self.ran, &self.ran_in_ticks].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Plugin for Game {
    fn build(&self, app: &mut App) {
        app.add_plugins(ReplayPlugin::new(self.name).rules(self.rules).version(self.version));
        app.insert_resource(Time::<Fixed>::from_duration(self.timestep));
        app.init_resource::<Push>().init_resource::<Level>();
        match (self.input, self.input_schema) {
            (true, true) => app.record_input::<Push>(),
            (true, false) => app.record_input::<other::Push>(),
            _ => app,
        };
        if self.lane {
            app.register_authoritative::<Bonus>();
        }
        match self.lane_schema {
            true => app.register_authoritative::<Hero>(),
            false => app.register_authoritative::<other::Hero>(),
        };
        if self.resource {
            app.register_authoritative_resource::<Level>();
        }
        let speed = self.speed;
        let [count, count_tick] = [&self.ran, &self.ran_in_ticks].map(|count| {
            let count = count.clone();
            move || {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        app.add_systems(PreStartup, count.clone()).add_systems(First, count).add_systems(FixedFirst, count_tick);
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn((Hero { x: 0 }, other::Hero { x: 0 }));
        });
        app.add_systems(FixedUpdate, move |push: Res<Push>, mut heroes: Query<&mut Hero>| {
            for mut hero in &mut heroes {
                hero.x += speed * i32::from(push.0);
            }
        });
    }
}

const TICKS: u64 = 10;

fn tape() -> Result<Tape, ReplayError> {
    Ok((**headless(Game::new()).inputs([1, 1, 0, 0, 1, 1, 2, 2, -1, 0].map(Push)).run()?.tape()).clone())
}

/// The apps that must refuse, each altered in one thing, with the one thing as the error names it.
fn altered() -> Vec<(Game, &'static str)> {
    let base = Game::new();
    vec![
        (Game { name: "other", ..base.clone() }, "game: the tape has `demo`, this app has `other`"),
        (Game { rules: 2, ..base.clone() }, "rules: the tape has 1, this app has 2"),
        (
            Game { timestep: Duration::from_millis(20), ..base.clone() },
            "timestep: the tape has 15625000 ns, this app has 20000000 ns",
        ),
        (Game { input: false, ..base.clone() }, "input Push: the tape has `Push(i8)`, this app has none of that name"),
        (
            Game { input_schema: false, ..base.clone() },
            "input Push: the tape has `Push(i8)`, this app has `Push { x: i8 }`",
        ),
        (Game { lane: false, ..base.clone() }, "type Bonus: the tape has `Bonus`, this app has none of that name"),
        (Game { lane_schema: false, ..base.clone() }, "type Hero.x: the tape has `i32`, this app has `i64`"),
        (Game { resource: false, ..base }, "resource Level: the tape has `Level(u8)`, this app has none of that name"),
    ]
    .into_iter()
    .map(|(game, text)| (Game { ran: Arc::default(), ran_in_ticks: Arc::default(), ..game }, text))
    .collect()
}

fn refusal(differences: &str) -> String {
    format!("the tape is refused: {differences} (play its inputs only, or force it and get an unverified result)")
}

#[test]
fn each_thing_that_does_not_fit_is_refused_before_anything_has_run() -> Outcome {
    let tape = tape()?;
    for (game, difference) in altered() {
        let error = error_of(headless(game.clone()).verify(&tape));
        assert_eq!(error.to_string(), refusal(difference));
        if game.timestep == Game::new().timestep {
            assert_eq!(game.ran(), [0, 0], "systems have run: {difference}");
        }
        assert_eq!(game.ran()[1], 0, "start-up may set the timestep, so it has run; ticks have not");
    }
    Ok(())
}

#[test]
fn game_that_fits_is_played() -> Outcome {
    let game = Game::new();
    headless(game.clone()).verify(tape()?)?.assert_verified();
    assert_eq!(game.ran(), [1 + 10, 10]);
    Ok(())
}

#[test]
fn type_that_only_the_app_has_is_refused() -> Outcome {
    let poor = Game { lane: false, input: false, ..Game::new() };
    let tape = headless(poor).record(3)?.tape().clone();
    let error = error_of(headless(Game::new()).verify(tape));
    let (input, lane) = (
        "input Push: the tape has none of that name, this app has `Push(i8)`",
        "type Bonus: the tape has none of that name, this app has `Bonus`",
    );
    assert_eq!(error.to_string(), refusal(&format!("{input}; {lane}")), "all of it at once");
    Ok(())
}

#[test]
fn other_digest_version_is_refused() -> Outcome {
    let mut tape = tape()?;
    tape.header.digest_version += 1;
    let error = error_of(headless(Game::new()).verify(tape)).to_string();
    assert_eq!(error, refusal("digest version: the tape has 2, this app has 1"));
    Ok(())
}

#[test]
fn forced_tape_plays_to_its_end_and_is_unverified() -> Outcome {
    let tape = tape()?;
    for (game, difference) in altered().into_iter().filter(|(game, _)| game.input_schema) {
        let run = headless(game).force(&tape)?;
        assert_eq!(run.report().verdict, Verdict::Unverified, "{difference}");
        assert_eq!(run.resource::<SimTick>()?.0, TICKS, "{difference}");
        assert!(run.verified().is_err(), "{difference}");
    }
    Ok(())
}

#[test]
fn forced_tape_that_fits_is_verified() -> Outcome {
    headless(Game::new()).force(tape()?)?.assert_verified();
    Ok(())
}

#[test]
fn forced_tape_that_diverges_is_unverified_but_reported() -> Outcome {
    let run = headless(Game { rules: 2, speed: 3, ..Game::new() }).force(tape()?)?;
    assert_eq!(run.report().verdict, Verdict::Unverified);
    assert_eq!(run.report().divergence.as_ref().and_then(|found| found.tick), Some(0));
    Ok(())
}

#[test]
fn input_that_cannot_be_read_stops_a_forced_tape_with_its_name() -> Outcome {
    let mut tape = tape()?;
    let ticks = tape.ticks();
    for track in &mut tape.tracks {
        track.changes = Default::default();
        for tick in ticks.clone() {
            track.changes.record(tick, &[u8::try_from(tick)?; 3]);
        }
    }
    let error = error_of(headless(Game::new()).force(tape)).to_string();
    assert!(error.starts_with("input Push at tick 0 cannot be read: "), "{error}");
    Ok(())
}

fn x(run: &Run) -> Result<i32, ReplayError> {
    Ok(run.single::<Hero>()?.x)
}

#[test]
fn inputs_are_replayed_under_other_rules_types_and_speeds() -> Outcome {
    let tape = tape()?;
    for game in [
        Game { rules: 2, speed: 10, ..Game::new() },
        Game { lane: false, speed: 10, ..Game::new() },
        Game { lane_schema: false, speed: 10, ..Game::new() },
        Game { resource: false, speed: 10, ..Game::new() },
    ] {
        assert_eq!(x(&headless(game).replay_inputs(&tape)?)?, 70);
    }
    Ok(())
}

#[test]
fn inputs_of_another_game_timestep_or_input_type_are_refused() -> Outcome {
    let tape = tape()?;
    for index in [0, 2, 3, 4] {
        let (game, difference) = altered().swap_remove(index);
        let error = error_of(headless(game.clone()).replay_inputs(&tape)).to_string();
        assert_eq!(error, refusal(difference));
        assert_eq!(game.ran()[1], 0);
    }
    Ok(())
}

#[test]
fn game_version_bevy_and_target_alone_never_refuse_and_say_nothing_while_all_agrees() -> Outcome {
    for alter in [
        |tape: &mut Tape| tape.header.game_version = "0.9".into(),
        |tape: &mut Tape| tape.header.bevy_version = "0.19".into(),
        |tape: &mut Tape| tape.header.target = "aarch64-macos".into(),
        |tape: &mut Tape| tape.header.features = vec!["libm".into()],
        |tape: &mut Tape| tape.header.crate_version = "0.0.1".into(),
    ] {
        let mut tape = tape()?;
        alter(&mut tape);
        let run = headless(Game::new()).verify(tape)?;
        run.assert_verified();
        assert_eq!(run.report().to_string(), "verified: replayed 10 ticks, 0 diverged");
    }
    Ok(())
}

#[test]
fn game_version_bevy_and_target_are_in_the_report_of_a_divergence() -> Outcome {
    let mut tape = tape()?;
    tape.header.game_version = "0.9".into();
    tape.header.bevy_version = "0.19".into();
    tape.header.target = "aarch64-macos".into();
    let run = headless(Game { speed: 2, ..Game::new() }).verify(tape)?;
    assert_eq!(run.report().verdict, Verdict::Diverged);
    let text = run.report().to_string();
    let here = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    for line in [
        "game version: expected 0.9, got 1.0".into(),
        "Bevy: expected 0.19, got 0.20".into(),
        format!("target: expected aarch64-macos, got {here}"),
        "expected by          demo 0.9 rules 1, aarch64-macos".into(),
        format!("got from             demo 1.0 rules 1, {here}"),
    ] {
        assert!(text.contains(&line), "{line} is missing in:\n{text}");
    }
    Ok(())
}

#[test]
fn timestep_that_the_game_sets_at_start_up_is_accepted() -> Outcome {
    fn game(app: &mut App) {
        app.add_plugins(Game::new());
        app.add_systems(Startup, |mut clock: ResMut<Time<Fixed>>| clock.set_timestep_hz(50.0));
    }
    let recorded = headless(game).inputs([1, 2, 3].map(Push)).run()?;
    assert_eq!(recorded.tape().header.timestep_ns, 20_000_000);
    headless(game).verify(recorded.tape())?.assert_verified();
    headless(game).replay_inputs(recorded.tape())?;
    let error = error_of(headless(Game::new()).verify(recorded.tape())).to_string();
    assert_eq!(error, refusal("timestep: the tape has 20000000 ns, this app has 15625000 ns"));
    Ok(())
}
