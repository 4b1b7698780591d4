//! A reproduction package: plan, inputs and versions in one signed text.

use super::sha256;
use crate::tape::{PlanOnTape, Tape, TapeError, TapeLimits, unfenced};

/// Everything that is needed to see a run of a plan again: the plan (or its signature), the inputs, and the versions of
/// what made both, as one signed text.
///
/// It is the text of a tape with a signature in its first line, so that each tool for tapes reads it. The signature is
/// over all that follows; line ends do not count.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Header, Package, PackageError, Tape};
/// let error = Package::new(Tape::new(Header::new("my_game"))).unwrap_err();
/// assert!(matches!(error, PackageError::NoPlan { .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    tape: Tape,
}

/// Why a package was not made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The tape was not played by a plan.
    #[error("the tape of {game} was not played by a plan, so it is no package (save it as a tape)")]
    NoPlan {
        /// Which game.
        game: String,
    },
    /// The text does not start as a package does.
    #[error("this is no package: it starts with `{found}` (a package starts with `{PREFIX}` and 64 digits)")]
    NotAPackage {
        /// The first line.
        found: String,
    },
    /// The content of a package is not what was signed.
    #[error("the package was changed: signature {stored} stored, {computed} computed (take it as it was exported)")]
    SignatureMismatch {
        /// The signature in its first line.
        stored: String,
        /// That of what follows.
        computed: String,
    },
    /// The tape in it cannot be read.
    #[error(transparent)]
    Tape(#[from] TapeError),
}

/// How a package starts. To readers of tapes it is a comment.
const PREFIX: &str = "// bevy_replay package, signature ";

impl Package {
    /// Makes the package of a tape.
    ///
    /// # Errors
    ///
    /// [`PackageError::NoPlan`] if its header names no plan.
    pub fn new(tape: Tape) -> Result<Self, PackageError> {
        if tape.header.plans.is_empty() {
            return Err(PackageError::NoPlan { game: tape.header.game });
        }
        Ok(Self { tape })
    }

    /// Returns the inputs, with the versions in their header.
    #[must_use]
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// Returns the inputs, with the versions in their header.
    #[must_use]
    pub fn into_tape(self) -> Tape {
        self.tape
    }

    /// Returns whether text is meant to be a package.
    #[must_use]
    pub fn is_package(text: &str) -> bool {
        unfenced(text).starts_with(PREFIX)
    }

    /// Returns the plans.
    #[must_use]
    pub fn plans(&self) -> &[PlanOnTape] {
        &self.tape.header.plans
    }

    /// Writes the package.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = self.tape.to_text();
        format!("{PREFIX}{}\n{text}", signature(&text))
    }

    /// Reads a package with the default limits. Windows line ends and Markdown fences are accepted.
    ///
    /// # Errors
    ///
    /// [`PackageError`]; where a digit was changed, naming both signatures.
    pub fn from_text(text: &str) -> Result<Self, PackageError> {
        Self::from_text_limited(text, TapeLimits::default())
    }

    /// Reads a package.
    ///
    /// # Errors
    ///
    /// As [`from_text`](Self::from_text).
    pub fn from_text_limited(text: &str, limits: TapeLimits) -> Result<Self, PackageError> {
        TapeLimits::check("bytes", text.len() as u64, limits.bytes)?;
        let body = unfenced(text);
        let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
        let Some(stored) = first.trim_end().strip_prefix(PREFIX) else {
            let found = first.trim_end().chars().take(PREFIX.len()).collect();
            return Err(PackageError::NotAPackage { found });
        };
        let computed = signature(rest);
        if stored != computed {
            return Err(PackageError::SignatureMismatch { stored: stored.into(), computed });
        }
        Self::new(Tape::from_text_limited(rest, limits)?)
    }
}

/// The same whatever a transfer does to line ends.
fn signature(text: &str) -> String {
    sha256(text.replace('\r', "").trim_end().as_bytes())
}
