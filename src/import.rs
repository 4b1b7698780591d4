//! Turns a tape, or its pasted text, into a test.

use crate::state::capture::SIM_IDS;
use bevy_replay_tape::{Tape, TapeError, TypeSpec};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an imported tape comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportSource {
    /// A file, binary or text.
    Path(PathBuf),
    /// The text form, as pasted from an issue: Markdown fences around it do no harm.
    Text(String),
    /// A tape at hand.
    Tape(Arc<Tape>),
}

impl ImportSource {
    /// Takes what a user typed or pasted: the text of a tape starts with `(` or a fence, everything else is a path.
    ///
    /// Quotes around a path, as file managers copy it, do no harm.
    #[must_use]
    pub fn from_entry(entry: &str) -> Self {
        let entry = entry.trim();
        if entry.starts_with('(') || entry.starts_with("```") {
            return Self::Text(entry.into());
        }
        let path = entry.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(entry);
        Self::Path(path.into())
    }

    /// Reads the tape.
    ///
    /// # Errors
    ///
    /// [`TapeError`] if it cannot be read, or is damaged.
    pub fn read(&self) -> Result<Arc<Tape>, TapeError> {
        match self {
            Self::Path(path) => Tape::load(path).map(Arc::new),
            Self::Text(text) => Tape::from_text(text).map(Arc::new),
            Self::Tape(tape) => Ok(tape.clone()),
        }
    }
}

/// The files that an import has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The tape: `tapes/NAME.tape` in the folder of tests, or `tapes/NAME.ron` if it came as text.
    pub tape: PathBuf,
    /// The test: `NAME.rs` in the folder of tests.
    pub test: PathBuf,
}

/// Why a tape was not imported. Nothing was written, and nothing overwritten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The tape could not be read.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The name cannot be that of a Rust function.
    #[error(
        "`{name}` cannot be the name of a test (use lower-case letters, digits and `_`, as in `third_coin`, and no keyword)"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// A file of that name is there already.
    #[error("{path} exists already (choose another name)")]
    Exists {
        /// The file.
        path: String,
    },
    /// A file could not be written.
    #[error("{path}: {error} (choose a folder that can be written)")]
    Io {
        /// The file or folder.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
}

/// Puts a tape into a crate's folder of tests, and writes a test that plays its inputs and waits for an expectation.
///
/// The folder is a crate's `tests`; `tests/tapes/NAME.tape` and `tests/NAME.rs` are written, and folders that are
/// missing. `game` is the Rust expression that the test hands to [`Headless::new`](crate::Headless::new), such as
/// `my_game::GamePlugin`. The test is red until the expectation is written.
///
/// # Errors
///
/// [`ImportError`] if the tape cannot be read, if one of the files exists, or if they cannot be written. Then neither
/// file was written.
///
/// # Examples
///
/// ```
/// use bevy_replay::{ImportSource, import_tape};
/// # use bevy_replay::tape::{Header, Tape};
/// # let folder = tempfile::tempdir()?;
/// # let tests = folder.path();
/// # let pasted = Tape::new(Header::new("my_game")).to_text();
/// let imported = import_tape(&ImportSource::from_entry(&pasted), tests, "third_coin", "my_game::GamePlugin")?;
/// assert!(imported.test.ends_with("third_coin.rs"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_tape(source: &ImportSource, tests: &Path, name: &str, game: &str) -> Result<Imported, ImportError> {
    if !is_function_name(name) {
        return Err(ImportError::BadName { name: name.into() });
    }
    let tape = source.read()?;
    let is_text = match source {
        ImportSource::Text(_) => true,
        ImportSource::Path(path) => {
            path.extension().is_some_and(|extension| ["ron", "txt", "md"].iter().any(|text| extension == *text))
        }
        ImportSource::Tape(_) => false,
    };
    let file = format!("{name}.{}", if is_text { "ron" } else { "tape" });
    let tapes = tests.join("tapes");
    let imported = Imported { tape: tapes.join(&file), test: tests.join(format!("{name}.rs")) };
    std::fs::create_dir_all(&tapes).map_err(|error| io(&tapes, error))?;
    let bytes = if is_text { tape.to_text().into_bytes() } else { tape.to_bytes() };
    write_new(&imported.test, test_text(&tape, name, &file, game).as_bytes())?;
    if let Err(error) = write_new(&imported.tape, &bytes) {
        _ = std::fs::remove_file(&imported.test); // it was written a moment ago, and is of no use alone
        return Err(error);
    }
    Ok(imported)
}

/// Words that are no names of functions.
const KEYWORDS: &str = " as async await become box break const continue crate do dyn else enum extern false final fn for \
    gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try \
    type typeof unsafe unsized use virtual where while yield abstract _ ";

fn is_function_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !KEYWORDS.contains(&format!(" {name} "))
}

/// Writes a file that must not exist.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), ImportError> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(ImportError::Exists { path: path.display().to_string() });
        }
        Err(error) => return Err(io(path, error)),
    };
    file.write_all(bytes).map_err(|error| {
        _ = std::fs::remove_file(path); // half a file of ours
        io(path, error)
    })
}

fn io(path: &Path, error: std::io::Error) -> ImportError {
    ImportError::Io { path: path.display().to_string(), error }
}

/// The test, with all that the tape says about what could be asserted.
fn test_text(tape: &Tape, name: &str, file: &str, game: &str) -> String {
    let header = &tape.header;
    let mut text = format!(
        "//! A recorded bug as a test: its inputs are played, then the expectation is checked.\n\
         //!\n\
         //! Recorded by {}: {} ticks.\n",
        header.origin(),
        tape.tick_count(),
    );
    for mark in &tape.marks {
        // One line each, whatever a player has written.
        _ = writeln!(text, "//! Mark at tick {}: {}", mark.tick, mark.text.escape_debug());
    }
    for (claim, value) in &tape.end.claims {
        _ = writeln!(text, "//! Claimed: {} = {}", claim.escape_debug(), value.escape_debug());
    }
    let names = |specs: &[TypeSpec]| {
        // Not what this crate puts on every tape.
        let own = |name: &&str| ![SIM_IDS, "Disabled"].contains(name);
        let names: Vec<&str> = specs.iter().map(|spec| &*spec.name).filter(own).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    _ = write!(
        text,
        r#"
use bevy_replay::prelude::*;

#[test]
fn {name}() -> Result<(), ReplayError> {{
    // Inputs only: the digests on the tape were made by the bug.
    let run = Headless::new({game}).replay_inputs("tests/tapes/{file}")?;
    // Say what should be true, as in `Some(run.single::<Hero>()?.on_ground)`. What the tape knows:
    // components {components}; resources {resources}.
    let is_right: Option<bool> = None;
    assert_eq!(is_right, Some(true), "after {{}} ticks (None: say what is expected)", run.resource::<SimTick>()?.0);
    Ok(())
}}
"#,
        components = names(&header.lanes),
        resources = names(&header.resources),
    );
    text
}
