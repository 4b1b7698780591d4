//! Baselines on disk.

use super::recorded::{Recorded, first_difference};
use super::{Baseline, ReplayTestError};
use bevy_replay_tape::{BaselineError, Tape};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The files of one scenario.
pub(super) struct Files {
    folder: PathBuf,
    /// The scenario, as part of a file name.
    stem: String,
}

/// Returns the folder of the package under test.
pub(super) fn package_folder() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Returns the build's folder, as seen from the running program.
fn target_folder() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    let deps = exe.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "deps"));
    let target = deps.and_then(|deps| deps.parent()?.parent());
    target.map_or_else(|| package_folder().join("target"), Path::to_path_buf)
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> ReplayTestError {
    let path = path.display().to_string();
    move |error| ReplayTestError::File { path, error }
}

impl Files {
    pub(super) fn new(folder: Option<PathBuf>, scenario: &str) -> Self {
        let folder = folder.unwrap_or_else(|| package_folder().join("tests").join("baselines"));
        let letter = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '.' };
        Self { folder, stem: scenario.chars().map(letter).collect() }
    }

    fn path(&self, platform: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{platform}.{extension}", self.stem))
    }

    fn own(&self, extension: &str) -> PathBuf {
        self.path(&Baseline::new("").platform(), extension)
    }

    /// Returns the path of this platform's baseline, as a developer knows it.
    pub(super) fn shown(&self) -> String {
        let path = self.own("txt");
        path.strip_prefix(package_folder()).unwrap_or(&path).display().to_string()
    }

    /// Reads this platform's baseline; `None` if there is none.
    pub(super) fn read(&self) -> Result<Option<Baseline>, BaselineError> {
        match fs::read_to_string(self.own("txt")) {
            Ok(text) => text.parse().map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BaselineError::Unreadable { reason: error.to_string() }),
        }
    }

    /// Reads the baselines of other platforms, ascending by name.
    pub(super) fn peers(&self) -> Vec<(String, Result<Baseline, BaselineError>)> {
        let own = Baseline::new("").platform();
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let platform = |name: std::ffi::OsString| {
            let name = name.into_string().ok()?;
            let platform = name.strip_prefix(&self.stem)?.strip_prefix('.')?.strip_suffix(".txt")?;
            (!platform.contains('.') && platform != own).then(|| platform.to_owned())
        };
        let mut platforms: Vec<String> = names.filter_map(platform).collect();
        platforms.sort();
        let read = |platform: String| {
            let text = fs::read_to_string(self.path(&platform, "txt")).unwrap_or_default();
            (platform, text.parse())
        };
        platforms.into_iter().map(read).collect()
    }

    /// Says where a run parts from the one that made the baseline, as far as the tape beside it knows.
    pub(super) fn first_difference(&self, got: &Tape) -> String {
        match Tape::load(self.own("tape")) {
            Ok(expected) => first_difference(&expected, got)
                .unwrap_or_else(|| "none: the tape beside the baseline is that of another run".into()),
            Err(error) => format!("unknown, as the tape beside the baseline cannot be read: {error}"),
        }
    }

    /// Says why the tape beside the baseline cannot be read, if it cannot: a failure would have no fields then.
    pub(super) fn unreadable_tape(&self) -> Option<String> {
        Tape::load(self.own("tape")).err().map(|error| format!("a failure could tell no fields: {error}"))
    }

    /// Writes the baseline and its tape; what was there before stays as `.old`.
    pub(super) fn approve(&self, run: &Recorded, reason: &str) -> Result<(), ReplayTestError> {
        fs::create_dir_all(&self.folder).map_err(file_error(&self.folder))?;
        let (tape, text) = (self.own("tape"), self.own("txt"));
        // All that can fail is done before anything that is there is touched.
        let new = tape.with_extension("tape.part");
        fs::write(&new, run.companion().to_bytes()).map_err(file_error(&new))?;
        for path in [&tape, &text] {
            let old = self.old(path);
            // What was seen to hold last is kept, however often is approved meanwhile.
            if path.exists() && !old.exists() {
                fs::copy(path, &old).map_err(file_error(&old))?;
            }
        }
        fs::rename(&new, &tape).map_err(file_error(&tape))?;
        write(&text, &run.approved(reason).to_string())
    }

    fn old(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.folder.join(name + ".old")
    }

    /// Removes what was kept from before the last approval: what was approved has been seen to hold.
    pub(super) fn forget_old(&self) {
        for extension in ["txt", "tape"] {
            drop(fs::remove_file(self.old(&self.own(extension))));
        }
    }

    /// Writes the baseline where it is no part of the tree; returns its path and text.
    pub(super) fn write_aside(&self, run: &Recorded, reason: &str) -> Result<(String, String), ReplayTestError> {
        let aside = Self { folder: target_folder().join("baselines"), stem: self.stem.clone() };
        aside.approve(run, reason)?;
        aside.forget_old();
        Ok((aside.own("txt").display().to_string(), run.approved(reason).to_string()))
    }
}

/// Writes a file as a whole, or not at all.
pub(super) fn write(path: &Path, text: &str) -> Result<(), ReplayTestError> {
    let part = path.with_extension("part");
    let written = fs::File::create(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).map_err(file_error(path))
}
