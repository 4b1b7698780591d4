//! What each plan must be, and what a game asks of its own.

use super::{EventClass, Plan, PlanError, PlanEvent};
use crate::canonical::Canonical;
use core::fmt;
use std::collections::BTreeMap;

/// One thing that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractFailure {
    /// Two events have one id.
    #[error("id {id} is given twice, to {first} and to {second} (ids are given once, when an event is made)")]
    DuplicateId {
        /// The id.
        id: u32,
        /// The one, as it is cited.
        first: String,
        /// The other.
        second: String,
    },
    /// An event would come when the plan is over.
    #[error("{event} is beyond the end: the plan has {ticks} ticks (move it, or make the plan longer)")]
    BeyondEnd {
        /// The event, as it is cited.
        event: String,
        /// How many ticks the plan has.
        ticks: u64,
    },
    /// An event was made and not put anywhere.
    #[error("event {id:03} / {kind} has no tick (put it somewhere with `at`, `spread` or `spread_in`)")]
    NotPlaced {
        /// Its id.
        id: u32,
        /// Its kind.
        kind: String,
    },
    /// An event is outside of the window of its layer.
    #[error("{event} is outside of layer {layer}, ticks {} to {}", ticks.start, ticks.end.saturating_sub(1))]
    OutsideLayer {
        /// The event, as it is cited.
        event: String,
        /// Name of the layer.
        layer: String,
        /// Its window.
        ticks: core::ops::Range<u64>,
    },
    /// An event names a layer that is not there.
    #[error("{event} is in layer {layer}, and there are {count} (they are counted from 0)")]
    NoSuchLayer {
        /// The event, as it is cited.
        event: String,
        /// Number of the layer.
        layer: u32,
        /// How many there are.
        count: usize,
    },
    /// The ids of chapters are not one behind the other.
    #[error("chapter {chapter} has ids {} to {}, which do not follow those before it", ids.start, ids.end)]
    BadChapter {
        /// Its name.
        chapter: String,
        /// Its ids.
        ids: core::ops::Range<u32>,
    },
    /// A window is too short for what should go into it.
    #[error("{events} events do not fit into ticks {} to {} (make the window longer, or the gap shorter)", ticks.start, ticks.end.saturating_sub(1))]
    NoRoom {
        /// How many.
        events: usize,
        /// The window.
        ticks: core::ops::Range<u64>,
    },
    /// There are more or fewer of something than the contract says.
    #[error("{found} {what}, the contract has {expected}")]
    Count {
        /// What is counted.
        what: String,
        /// How many the contract has.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Required events are missing.
    #[error("{found} of {needed} required {what} (add what is missing with `require`)")]
    Missing {
        /// What is needed.
        what: String,
        /// How many the contract needs.
        needed: usize,
        /// How many there are.
        found: usize,
    },
}

/// What no plan may be without, however it was made.
pub(super) fn failures(plan: &Plan) -> Vec<ContractFailure> {
    let mut failures = Vec::new();
    let mut end = 0;
    for chapter in &plan.chapters {
        if chapter.ids.start < end || chapter.ids.end < chapter.ids.start {
            // Which chapter an event is in cannot be said then.
            return vec![ContractFailure::BadChapter { chapter: chapter.name.clone(), ids: chapter.ids.clone() }];
        }
        end = chapter.ids.end;
    }
    let mut seen: BTreeMap<u32, &PlanEvent> = BTreeMap::new();
    for event in &plan.events {
        if let Some(first) = seen.insert(event.id, event) {
            failures.push(ContractFailure::DuplicateId {
                id: event.id,
                first: plan.cite_inside(first),
                second: plan.cite_inside(event),
            });
        }
        if event.tick >= plan.ticks {
            failures.push(ContractFailure::BeyondEnd { event: plan.cite_inside(event), ticks: plan.ticks });
        }
        let Some(index) = event.layer else { continue };
        match plan.layers.get(index as usize) {
            None => failures.push(ContractFailure::NoSuchLayer {
                event: plan.cite_inside(event),
                layer: index,
                count: plan.layers.len(),
            }),
            Some(layer) if !layer.ticks.contains(&event.tick) => failures.push(ContractFailure::OutsideLayer {
                event: plan.cite_inside(event),
                layer: layer.name.clone(),
                ticks: layer.ticks.clone(),
            }),
            Some(_) => {}
        }
    }
    failures
}

type Predicate<E> = Box<dyn Fn(&E) -> bool>;

/// What a game asks of a plan: counts, and required events.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "plan")] {
/// use bevy_replay_tape::{Canonical, PlanBuilder, PlanContract};
/// # #[derive(Canonical)] #[canonical(crate = bevy_replay_tape)]
/// enum Throw { Apple, Bomb }
/// let mut plan = PlanBuilder::new("mission 01", 7, 100);
/// let apple = plan.require(Throw::Apple);
/// plan.at(apple, 10);
/// let plan = plan.build()?;
///
/// let contract = PlanContract::new().events(1).needs("apples", 2, |throw| matches!(throw, Throw::Apple));
/// assert_eq!(
///     contract.check(&plan).unwrap_err().to_string(),
///     "mission 01: 1 of 2 required apples (add what is missing with `require`)"
/// );
/// # }
/// # Ok::<(), bevy_replay_tape::PlanError>(())
/// ```
pub struct PlanContract<E> {
    counts: Vec<(&'static str, Count, usize)>,
    needs: Vec<(String, usize, Predicate<E>)>,
}

type Count = fn(&PlanCounts) -> usize;

impl<E: Canonical> PlanContract<E> {
    /// Makes a contract that asks for nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: Vec::new(), needs: Vec::new() }
    }

    fn count(mut self, what: &'static str, count: Count, expected: usize) -> Self {
        self.counts.push((what, count, expected));
        self
    }

    /// Asks for so many events.
    #[must_use]
    pub fn events(self, count: usize) -> Self {
        self.count("events", |counts| counts.events, count)
    }

    /// Asks for so many events that must be avoided.
    #[must_use]
    pub fn risk(self, count: usize) -> Self {
        self.count("risk events", |counts| counts.risk, count)
    }

    /// Asks for so many required events.
    #[must_use]
    pub fn required(self, count: usize) -> Self {
        self.count("required events", |counts| counts.required, count)
    }

    /// Asks for so many layers.
    #[must_use]
    pub fn layers(self, count: usize) -> Self {
        self.count("layers", |counts| counts.layers, count)
    }

    /// Asks for at least so many *required* events of which something holds.
    #[must_use]
    pub fn needs(mut self, what: impl Into<String>, count: usize, holds: impl Fn(&E) -> bool + 'static) -> Self {
        self.needs.push((what.into(), count, Box::new(holds)));
        self
    }

    /// Checks a plan.
    ///
    /// # Errors
    ///
    /// [`PlanError::Contract`] with all that is wrong; [`PlanError::OtherEvents`] if its events are not `E`.
    pub fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let counts = PlanCounts::of([plan]);
        let counted = self.counts.iter().filter_map(|(what, count, expected)| {
            let found = count(&counts);
            (found != *expected).then(|| ContractFailure::Count { what: (*what).into(), expected: *expected, found })
        });
        let mut failures: Vec<ContractFailure> = counted.collect();
        let required = plan.events.iter().filter(|event| event.class == EventClass::Required);
        let required: Vec<E> = required.map(|event| plan.decode(event)).collect::<Result<_, _>>()?;
        for (what, needed, holds) in &self.needs {
            let found = required.iter().filter(|event| holds(event)).count();
            if found < *needed {
                failures.push(ContractFailure::Missing { what: what.clone(), needed: *needed, found });
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(PlanError::Contract { plan: plan.name.clone(), failures }) }
    }
}

impl<E: Canonical> Default for PlanContract<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for PlanContract<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs = self.needs.iter().map(|(what, count, _)| (what, count));
        let counts = self.counts.iter().map(|(what, _, count)| (what, count));
        f.debug_map().entries(counts).entries(needs).finish()
    }
}

/// What there is in some plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PlanCounts {
    /// Plans.
    pub plans: usize,
    /// Events of all classes.
    pub events: usize,
    /// Events that need not be avoided.
    pub ordinary: usize,
    /// Events that must be avoided.
    pub risk: usize,
    /// Layers.
    pub layers: usize,
    /// Events without which a plan cannot be completed.
    pub required: usize,
    /// Plans whose content is that of an earlier one.
    pub duplicates: usize,
}

impl PlanCounts {
    /// Counts what there is.
    #[must_use]
    pub fn of<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Self {
        let mut counts = Self::default();
        let mut signatures = BTreeMap::new();
        for plan in plans {
            let of = |class| plan.events.iter().filter(|event| event.class == class).count();
            let Self { plans, events, ordinary, risk, layers, required, duplicates } = &mut counts;
            *plans += 1;
            *events += plan.events.len();
            *ordinary += of(EventClass::Required) + of(EventClass::Extra);
            *risk += of(EventClass::Risk);
            *layers += plan.layers.len();
            *required += of(EventClass::Required);
            *duplicates += usize::from(signatures.insert(&plan.signature, ()).is_some());
        }
        counts
    }
}

impl Plan {
    /// Checks that no two plans are the same content.
    ///
    /// # Errors
    ///
    /// [`PlanError::SameContent`] naming the first two that are.
    pub fn check_distinct<'a>(plans: impl IntoIterator<Item = &'a Self>) -> Result<(), PlanError> {
        let mut names = BTreeMap::new();
        for Self { name, signature, .. } in plans {
            if let Some(first) = names.insert(signature, name) {
                let (first, second, signature) = (first.clone(), name.clone(), signature.clone());
                return Err(PlanError::SameContent { first, second, signature });
            }
        }
        Ok(())
    }
}
