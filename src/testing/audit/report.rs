//! What the audit found, as a table.

use crate::headless::Leak;
use crate::tick::AmbiguousPair;
use crate::{Divergence, Report};
use core::fmt;

/// What an audit found; printed it is a table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuditReport {
    /// What was tried, in order.
    pub rows: Vec<AuditRow>,
    /// Systems of which the game leaves the order open although both use authoritative state.
    ///
    /// [`TickOrder::Fixed`](crate::TickOrder) orders them as they were added; the shuffles say whether that matters.
    pub ambiguous: Vec<AmbiguousPair>,
    /// Authoritative types of which there never were two, so that no order within them was tested.
    pub untested: Vec<String>,
    /// What was noticed while the tape was played as it is: a [`Finding`](crate::Finding) each. A game that is written
    /// between ticks stands still where no frame passes, so that the rows say little of it.
    pub findings: Vec<String>,
}

/// One perturbation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuditRow {
    /// What was done to the game.
    pub perturbation: String,
    /// What came of it.
    pub outcome: AuditOutcome,
}

/// What came of a perturbation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AuditOutcome {
    /// The states are the same after each tick.
    Equal,
    /// They are not.
    Differs {
        /// Which of the variants, if there are several.
        variant: String,
        /// How, as [`compare_with`](crate::Headless::compare_with) has it.
        report: Box<Report>,
        /// Start-up systems whose order is open: what may be behind another initial state.
        startup: Vec<AmbiguousPair>,
    },
    /// They are not: the game has state that no image holds.
    Leaks(Leak),
    /// They are not, on another number of threads.
    Threads {
        /// How many.
        threads: usize,
        /// The first tick after which the digests differ.
        tick: u64,
    },
    /// The game panicked; its message is on stderr.
    Panicked {
        /// In which of the variants, if there are several.
        variant: String,
    },
    /// The game could not be run so.
    Failed {
        /// In which of the variants, if there are several.
        variant: String,
        /// Why.
        error: String,
    },
    /// It could not be tried, and why.
    NotTested(String),
}

impl AuditOutcome {
    /// Returns `equal`, `DIFFERS`, `FAILED` or `not tested`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::NotTested(_) => "not tested",
            Self::Failed { .. } => "FAILED",
            _ => "DIFFERS",
        }
    }

    /// Returns what differs first and why; empty if nothing does.
    #[must_use]
    pub fn first_difference(&self) -> String {
        let within = |variant: &str| if variant.is_empty() { String::new() } else { format!(" [{variant}]") };
        match self {
            Self::Equal => String::new(),
            Self::Differs { variant, report, startup } => {
                let found = report.divergence.as_ref();
                let text = found.map_or_else(|| report.first_divergence(), |found| first_difference(found, startup));
                text + &within(variant)
            }
            Self::Leaks(leak) => leak.to_string(),
            Self::Threads { threads, tick } => format!("tick {tick} [{threads} threads]"),
            Self::Panicked { variant } => format!("the game panicked{}", within(variant)),
            Self::Failed { variant, error } => format!("{error}{}", within(variant)),
            Self::NotTested(why) => why.clone(),
        }
    }
}

fn first_difference(found: &Divergence, startup: &[AmbiguousPair]) -> String {
    let mut text = found.tick.map_or_else(|| "before the first tick".to_owned(), |tick| format!("tick {tick}"));
    match (found.differences.as_deref(), found.types.as_deref()) {
        (Some([row, ..]), _) => text += &format!(", {} {} / {}", row.place(), row.expected, row.got),
        (_, Some(types @ [_, ..])) => text += &format!(", {}", types.join(", ")),
        _ => {}
    }
    if let Some(wrong) = &found.first_wrong {
        text += &format!(": {wrong}");
    } else if let (None, [pair, ..]) = (found.tick, startup) {
        text += &format!(": order of {} and {} is not fixed ({})", pair.first, pair.second, pair.schedule);
    }
    text
}

impl AuditReport {
    /// Returns whether nothing that must not matter did, and nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let is_well = |row: &AuditRow| matches!(row.outcome, AuditOutcome::Equal | AuditOutcome::NotTested(_));
        self.findings.is_empty() && self.rows.iter().all(is_well)
    }

    pub(super) fn push(&mut self, perturbation: impl Into<String>, outcome: AuditOutcome) {
        self.rows.push(AuditRow { perturbation: perturbation.into(), outcome });
    }
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = "perturbation";
        let width = self.rows.iter().map(|row| row.perturbation.chars().count()).chain([head.len()]).max().unwrap_or(0);
        write!(f, "{head:<width$}  verdict     first difference")?;
        for AuditRow { perturbation, outcome } in &self.rows {
            let line = format!("{perturbation:<width$}  {:<10}  {}", outcome.verdict(), outcome.first_difference());
            write!(f, "\n{}", line.trim_end())?;
        }
        let pairs = self
            .ambiguous
            .iter()
            .map(|AmbiguousPair { first, second, shared, .. }| format!("{first}, {second} ({})", shared.join(", ")));
        for (i, pair) in pairs.enumerate() {
            let head = "ambiguous pairs on authoritative state: ";
            let lead = if i == 0 { head.to_owned() } else { " ".repeat(head.len()) };
            write!(f, "\n{lead}{pair}")?;
        }
        if !self.untested.is_empty() {
            write!(f, "\nnot tested: order within {} (never two at a snapshot)", self.untested.join(", "))?;
        }
        for finding in &self.findings {
            write!(f, "\nfound: {finding}")?;
        }
        Ok(())
    }
}
