//! What the environment asks of a test.

use super::ReplayTestError;

/// What the environment asks of a test; read from it by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Environment {
    /// Whether scenarios are to be approved: `BEVY_REPLAY_BLESS=1`.
    pub bless: bool,
    /// Why: `BEVY_REPLAY_REASON`.
    pub reason: String,
    /// Whether the tree must stay as it is: `CI`.
    pub ci: bool,
    /// Whether a missing baseline is no failure there: `BEVY_REPLAY_BASELINE_MISSING=pass`.
    pub missing_passes: bool,
    /// Whether the command line names a test; what is approved must be named.
    pub names_a_test: bool,
}

impl Environment {
    /// Reads the environment.
    #[must_use]
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let is_set = |name: &str| !matches!(&*variable(name), "" | "0" | "false");
        Self {
            bless: is_set("BEVY_REPLAY_BLESS"),
            reason: variable("BEVY_REPLAY_REASON"),
            ci: is_set("CI"),
            missing_passes: variable("BEVY_REPLAY_BASELINE_MISSING") == "pass",
            // nextest names each test to its process, whatever it was asked for itself.
            names_a_test: !is_set("NEXTEST") && names_a_test(std::env::args().skip(1)),
        }
    }

    /// Returns the reason, if scenarios are to be approved.
    pub(super) fn approval(&self) -> Result<Option<String>, ReplayTestError> {
        match self.bless {
            false => Ok(None),
            true if self.reason.trim().is_empty() => Err(ReplayTestError::BlessWithoutReason),
            true if !self.names_a_test => Err(ReplayTestError::BlessWithoutName),
            true => Ok(Some(self.reason.clone())),
        }
    }

    pub(super) fn approve_command(test: &str) -> String {
        format!("BEVY_REPLAY_BLESS=1 BEVY_REPLAY_REASON=\"…\" cargo test {test}")
    }
}

/// Whether the arguments of a test binary hold a filter.
fn names_a_test(args: impl Iterator<Item = String>) -> bool {
    let with_value = ["--test-threads", "--skip", "--format", "--color", "--logfile", "--shuffle-seed", "-Z"];
    let mut is_value = false;
    args.into_iter().any(|arg| {
        let is_filter = !is_value && !arg.starts_with('-') && !arg.is_empty();
        is_value = with_value.contains(&&*arg);
        is_filter
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_told_from_options_and_their_values() {
        let names = |line: &str| names_a_test(line.split_whitespace().map(ToOwned::to_owned));
        assert!(!names(""));
        assert!(!names("--nocapture --test-threads 4 --skip slow --format=terse"));
        assert!(names("whole_game"));
        assert!(names("--exact whole_game"));
        assert!(names("--test-threads 4 whole_game --nocapture"));
    }
}
