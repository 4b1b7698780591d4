//! Files and dialogs: the one place where the recorder bar leaves the game's thread.

use super::model::{Job, Outcome};
use crate::import::{ImportSource, import_tape};
use bevy_ecs::prelude::*;
use bevy_replay_tape::Tape;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{IoTaskPool, Task, TaskPool};
use rfd::AsyncFileDialog;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Jobs that are at work.
#[derive(Resource, Default)]
pub(super) struct Jobs(Vec<Task<Outcome>>);

impl Jobs {
    /// Begins a job. Called on the main thread, where some systems want their dialogs to be made.
    pub(super) fn start(&mut self, job: Job) {
        let pool = IoTaskPool::get_or_init(TaskPool::new);
        self.0.push(match job {
            Job::Save { tape, path } => pool.spawn(async move { save(tape, path) }),
            Job::Open(source) => pool.spawn(async move {
                match source.read() {
                    Ok(tape) => Outcome::Opened { source, tape },
                    Err(error) => Outcome::NotOpened { error: error.to_string() },
                }
            }),
            Job::MakeTest { tape, tests, name, game } => pool.spawn(async move {
                match import_tape(&ImportSource::Tape(tape), &tests, &name, &game) {
                    Ok(imported) => Outcome::TestWritten(imported),
                    Err(error) => Outcome::NoTestWritten { error: error.to_string() },
                }
            }),
            Job::PickTarget { path } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let picked = dialog(path.parent()).set_file_name(name).save_file();
                pool.spawn(async move { Outcome::Picked(picked.await.map(|file| file.path().into())) })
            }
            Job::PickSource { folder } => {
                let picked = dialog(Some(&folder)).pick_file();
                pool.spawn(async move { Outcome::Picked(picked.await.map(|file| file.path().into())) })
            }
        });
    }

    /// Returns what came of the jobs that have ended.
    pub(super) fn finished(&mut self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        self.0.retain_mut(|task| match check_ready(task) {
            Some(outcome) => {
                outcomes.push(outcome);
                false
            }
            None => true,
        });
        outcomes
    }
}

/// A dialog for tapes in the nearest folder that exists.
fn dialog(folder: Option<&Path>) -> AsyncFileDialog {
    let dialog = AsyncFileDialog::new().add_filter("tape", &["tape", "ron", "txt"]);
    match folder.and_then(|folder| folder.ancestors().find(|folder| folder.is_dir())) {
        Some(folder) => dialog.set_directory(folder),
        None => dialog,
    }
}

/// Writes a tape into a folder that is made if it is missing; never over another file.
fn save(tape: Arc<Tape>, path: PathBuf) -> Outcome {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return Outcome::NotSaved { error: format!("{}: {error} (choose another folder)", folder.display()) };
    }
    if path.exists() {
        return Outcome::NotSaved { error: format!("{} exists already (choose another name)", path.display()) };
    }
    match tape.save(&path) {
        Ok(()) => Outcome::Saved { tape, path },
        Err(error) => Outcome::NotSaved { error: format!("{error} (choose another place)") },
    }
}

/// Where tapes of a game go: `<data dir>/<game>/tapes`, or the working directory where the system has no such place.
pub(super) fn default_folder(game: &str) -> PathBuf {
    dirs::data_dir().unwrap_or_default().join(game).join("tapes")
}
