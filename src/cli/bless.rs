//! `bless`: approves a changed baseline.

use super::{CliError, Exit, note, say};
use crate::testing::ReplayTest;
use crate::testing::processes::Relaunch;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the scenario
    scenario: String,
    /// Why its digests change; goes into the baseline
    #[arg(long)]
    reason: String,
}

pub(super) fn run(scenarios: &[ReplayTest], arguments: &Arguments) -> Result<Exit, CliError> {
    let Some(scenario) = scenarios.iter().find(|scenario| scenario.scenario() == arguments.scenario) else {
        let known = scenarios.iter().map(ReplayTest::scenario).collect::<Vec<_>>().join(", ");
        return Err(CliError::NoScenario { name: arguments.scenario.clone(), known });
    };
    match scenario.clone().relaunched_as(Relaunch::SameArguments).bless(&arguments.reason) {
        Ok(checked) => {
            say(checked);
            Ok(Exit::Yes)
        }
        Err(error) => {
            note(error);
            Ok(Exit::No)
        }
    }
}
