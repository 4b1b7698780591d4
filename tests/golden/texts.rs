//! A small game, its faults, and folders of baselines to try them on.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::testing::{Baseline, Environment, ReplayTest, ReplayTestError};
use std::path::{Path, PathBuf};

#[derive(Component, Canonical, Clone, Copy)]
pub(crate) struct Enemy {
    pub(crate) hp: u32,
    pub(crate) heat: u32,
}

/// Two enemies that lose health and warm up, and what else is wrong with them.
pub(crate) fn camp(
    fault: impl Fn(u64, &mut Enemy) + Copy + Send + Sync + 'static,
) -> impl Fn(&mut App) + Clone + Send + Sync {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("camp").rules(1)).register_authoritative::<Enemy>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn_batch([Enemy { hp: 1000, heat: 0 }, Enemy { hp: 2000, heat: 0 }]);
        });
        app.add_systems(FixedUpdate, move |tick: Res<SimTick>, mut enemies: Query<(&SimId, &mut Enemy)>| {
            for (id, mut enemy) in &mut enemies {
                enemy.hp -= u32::from(tick.0.is_multiple_of(4));
                if id.0 == 1 {
                    fault(tick.0, &mut enemy);
                }
            }
        });
    }
}

pub(crate) fn sound(_: u64, _: &mut Enemy) {}

/// A scenario in its own folder; what the environment asks for is what is said here.
pub(crate) fn scenario(
    folder: &Path,
    name: &str,
    fault: impl Fn(u64, &mut Enemy) + Copy + Send + Sync + 'static,
) -> ReplayTest {
    ReplayTest::new(name, camp(fault)).ticks(240).every(60).folder(folder).environment(Environment::default())
}

/// Whether this process was started by a test to run a scenario once: no files are needed then.
pub(crate) fn is_fresh_process() -> bool {
    std::env::var_os("BEVY_REPLAY_CHILD").is_some()
}

/// The file of this platform's baseline.
pub(crate) fn file(folder: &Path, name: &str, extension: &str) -> PathBuf {
    let platform = Baseline::new("").platform();
    folder.join(format!("{}.{platform}.{extension}", name.replace('/', ".")))
}

/// Approves the sound game as the baseline of the scenario `to`.
///
/// Under another name, so that a fresh process does not take it for the scenario under test.
pub(crate) fn given_baseline(folder: &Path, to: &str) -> Result<(), Box<dyn core::error::Error>> {
    let from = format!("{to}_before");
    scenario(folder, &from, sound).bless("the first baseline")?;
    if is_fresh_process() {
        return Ok(());
    }
    std::fs::rename(file(folder, &from, "tape"), file(folder, to, "tape"))?;
    let text = std::fs::read_to_string(file(folder, &from, "txt"))?;
    std::fs::remove_file(file(folder, &from, "txt"))?;
    let lines = text.replace(&from, to);
    let lines = lines.lines().map(|line| if line.starts_with("commit=") { "commit=" } else { line });
    std::fs::write(file(folder, to, "txt"), lines.map(|line| format!("{line}\n")).collect::<String>())?;
    Ok(())
}

/// The message of a test that must fail, with the folder and the platform left out.
pub(crate) fn message<T: core::fmt::Debug>(result: Result<T, ReplayTestError>, folder: &Path) -> String {
    let Err(error) = result else { return "it passed".into() };
    let text = error.to_string().replace(&folder.display().to_string(), "BASELINES");
    assert_eq!(
        text,
        format!("{error:?}").replace(&folder.display().to_string(), "BASELINES"),
        "as test runners show it"
    );
    text.replace(&Baseline::new("").platform(), "PLATFORM")
}
