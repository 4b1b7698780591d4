//! One test per tape and scenario, so that test runners list, filter, share out and report them.

use super::examine::{Answer, Limits, examine, tapes};
use super::processes::Relaunch;
use super::{Game, ReplayTest};
use bevy_app::App;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Makes the `main` of a test target: one test for each tape in a folder, and one for each scenario.
///
/// The target needs `harness = false` in `Cargo.toml`. A tape's test is named as its file, a scenario's as the
/// scenario. Tapes are played as they are: their digests must match, whatever rules they name. Put tapes of bugs, whose
/// digests were made by the bug, elsewhere, and play them with
/// [`replay_inputs`](crate::Headless::replay_inputs).
///
/// # Examples
///
/// ```toml
/// [[test]]
/// name = "golden"
/// harness = false
/// ```
///
/// ```no_run
/// # mod my_game { pub fn app(app: &mut bevy_app::App) {} }
/// # use bevy_replay::testing::ReplayTest;
/// // tests/golden.rs
/// bevy_replay::replay_tests!(my_game::app, "tests/golden", [
///     ReplayTest::new("my_game/whole_game", my_game::app).ticks(1800),
/// ]);
/// ```
#[macro_export]
macro_rules! replay_tests {
    ($game:expr, $folder:expr $(,)?) => {
        $crate::replay_tests!($game, $folder, []);
    };
    ($game:expr, $folder:expr, [$($scenario:expr),* $(,)?] $(,)?) => {
        fn main() -> std::process::ExitCode {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join($folder);
            $crate::testing::run_tests($game, &folder, vec![$($scenario),*])
        }
    };
}

/// Runs one test for each tape in a folder and one for each scenario; the body of [`replay_tests!`](crate::replay_tests).
pub fn run_tests(
    game: impl Fn(&mut App) + Send + Sync + 'static,
    folder: &Path,
    scenarios: Vec<ReplayTest>,
) -> ExitCode {
    let arguments = Arguments::from_args();
    let game: Game = Arc::new(game);
    let mut trials: Vec<Trial> = Vec::new();
    match tapes(&[folder.to_path_buf()]) {
        Ok(paths) => trials.extend(paths.into_iter().map(|path| {
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string().replace('\\', "/");
            let game = game.clone();
            Trial::test(name, move || {
                let examined = examine(&game, &path, Limits { any_rules: true, ..Limits::default() });
                if examined.answer == Answer::Verified { Ok(()) } else { Err(Failed::from(examined.text)) }
            })
        })),
        Err(error) => {
            let text = format!("{}: {error}", folder.display());
            trials.push(Trial::test("tapes", move || Err(Failed::from(text))));
        }
    }
    trials.extend(scenarios.into_iter().map(|scenario| {
        let name = scenario.scenario().to_owned();
        let scenario = scenario.relaunched_as(Relaunch::Test(name.clone()));
        Trial::test(name, move || scenario.check().map(drop).map_err(|error| Failed::from(error.to_string())))
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}
