//! Why a plan is not taken.

use super::{ContractFailure, Plan};
use crate::schema::Schema;
use crate::value::ValueTextError;

/// Why a plan was not built, read or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan breaks its contract.
    #[error("{plan}: {}", listed(failures))]
    Contract {
        /// Name of the plan.
        plan: String,
        /// What is wrong.
        failures: Vec<ContractFailure>,
    },
    /// Two plans have the same content.
    #[error("{first} and {second} are the same content, signature {signature} (build one from another seed)")]
    SameContent {
        /// Name of the one.
        first: String,
        /// Name of the other.
        second: String,
        /// What both have.
        signature: String,
    },
    /// The content of a plan is not what was signed.
    #[error(
        "{plan} was changed after it was built: signature {stored} stored, {computed} computed{} (take the plan as it \
         was built)",
        changed(chapters)
    )]
    SignatureMismatch {
        /// Name of the plan.
        plan: String,
        /// The signature that stands with the plan.
        stored: String,
        /// That of its content.
        computed: String,
        /// The chapters that were changed, where there are some.
        chapters: Vec<String>,
    },
    /// The plan was written by a newer version of this crate.
    #[error("{plan} has layout {found}, this version of bevy_replay reads up to {known} (update bevy_replay)")]
    NewerLayout {
        /// Name of the plan.
        plan: String,
        /// Layout of the plan.
        found: u32,
        /// Newest layout this crate reads.
        known: u32,
    },
    /// The text of a plan has a mistake.
    #[error("line {line}, column {column}: {reason}")]
    BadText {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// The payload of an event in the text of a plan has a mistake.
    #[error("{plan} / event {id:03}: {error}")]
    BadEvent {
        /// Name of the plan.
        plan: String,
        /// Id of the event.
        id: u32,
        /// What is wrong.
        error: ValueTextError,
    },
    /// The events are of another type than the game's.
    #[error("{plan} has events `{found}`, this game's are `{expected}` (play it with the game that built it)")]
    OtherEvents {
        /// Name of the plan.
        plan: String,
        /// The type of the plan's events.
        found: String,
        /// The game's.
        expected: String,
    },
    /// The events refer to entities.
    #[error("events `{events}` refer to entities, and there are none before play (name them by data)")]
    HasEntities {
        /// The type of the events.
        events: String,
    },
    /// One seed has made two plans.
    #[error(
        "{plan} was built twice from one seed and differs: {place} (draw from `PlanBuilder::rng` alone, and loop over \
         nothing that has no order)"
    )]
    NotReproducible {
        /// Name of the plan.
        plan: String,
        /// The first difference.
        place: String,
    },
    /// There is no plan to play.
    #[error("there are no plans of {events} (give at least one)")]
    NoPlans {
        /// Name of the type of the events.
        events: String,
    },
}

impl PlanError {
    pub(super) fn other_events(plan: &Plan, expected: &Schema) -> Self {
        Self::OtherEvents { plan: plan.name.clone(), found: plan.schema.to_string(), expected: expected.to_string() }
    }
}

/// Most failures that one error lists.
const LISTED_MAX: usize = 10;

fn listed(failures: &[ContractFailure]) -> String {
    let mut lines: Vec<String> = failures.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    if failures.len() > LISTED_MAX {
        lines.push(format!("and {} more", failures.len() - LISTED_MAX));
    }
    lines.join("; ")
}

fn changed(chapters: &[String]) -> String {
    if chapters.is_empty() { String::new() } else { format!(", changed in {}", chapters.join(", ")) }
}
