//! Where two runs part: one model for the report, the audit, the tools and the inspector.

mod report;

use crate::image::{Difference, Image};
use std::collections::BTreeMap;

use crate::tape::Header;
pub use crate::tape::HeaderDifference;
pub use report::{Report, Verdict};

/// What one run knows of its state after a tick.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// Digest of the image.
    pub root: Option<u64>,
    /// Digests of the lanes and then the resources, in the header's order.
    pub types: Option<&'a [u64]>,
    /// The image itself.
    pub image: Option<&'a Image>,
}

/// The first difference between two runs: as much as the data can say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Divergence {
    /// The 0-based tick whose run made the difference; `None` if the states differ before the first.
    pub tick: Option<u64>,
    /// Length of a tick, to show the tick as a time.
    pub timestep_ns: u64,
    /// The last tick after which both agreed, if any.
    pub last_agreeing: Option<u64>,
    /// Root digests, expected and got.
    pub roots: Option<(u64, u64)>,
    /// Names of the types that differ, where their digests are known.
    pub types: Option<Vec<String>>,
    /// Entities, fields and values, where values are known.
    pub differences: Option<Vec<Difference>>,
    /// Names of entities, for people.
    pub names: BTreeMap<u64, String>,
    /// What the tick read.
    pub inputs: Vec<String>,
    /// What became of it in the ticks after.
    pub later: Later,
}

impl Divergence {
    /// Returns the entities that differ, where values are known.
    pub fn sim_ids(&self) -> impl Iterator<Item = u64> + use<> {
        let rows = self.differences.iter().flatten();
        rows.filter_map(|row| row.sim_id).collect::<Vec<_>>().into_iter()
    }
}

/// How many of the ticks from a divergence on differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Later {
    /// Ticks compared, the diverging one included.
    pub compared: u64,
    /// Those that differ.
    pub different: u64,
    /// The tick from which on all agree again.
    pub healed_at: Option<u64>,
}

/// Compares two runs tick by tick.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Comparison, Evidence, Header};
/// let header = Header::new("my_game");
/// let mut comparison = Comparison::new(&header, &header);
/// let state = |root| Evidence { root: Some(root), ..Evidence::default() };
/// assert!(!comparison.tick(0, &state(7), &state(7)));
/// assert!(comparison.tick(1, &state(8), &state(9)), "the first difference");
/// let report = comparison.finish(2, 2);
/// assert_eq!(report.divergence.and_then(|divergence| divergence.tick), Some(1));
/// ```
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Types both know: name, and index on either side.
    common: Vec<(String, usize, usize)>,
    /// Whether both know the same types, so that roots can be compared.
    comparable_roots: bool,
    header_differences: Vec<HeaderDifference>,
    tick_first: u64,
    timestep_ns: u64,
    last_agreeing: Option<u64>,
    compared: u64,
    first: Option<Divergence>,
}

impl Comparison {
    /// Starts to compare; the second header is that of the run under test.
    #[must_use]
    pub fn new(expected: &Header, got: &Header) -> Self {
        let names = |header: &Header| -> Vec<String> {
            header.lanes.iter().chain(&header.resources).map(|spec| spec.name.clone()).collect()
        };
        let (a, b) = (names(expected), names(got));
        let common = a
            .iter()
            .enumerate()
            .filter_map(|(i, name)| Some((name.clone(), i, b.iter().position(|other| other == name)?)));
        Self {
            common: common.collect(),
            comparable_roots: a == b && expected.digest_version == got.digest_version,
            header_differences: expected.differences(got),
            tick_first: expected.tick_first,
            timestep_ns: expected.timestep_ns,
            last_agreeing: None,
            compared: 0,
            first: None,
        }
    }

    /// Compares the states before the first tick; returns whether they differ.
    pub fn initial(&mut self, expected: &Image, got: &Image) -> bool {
        let found = self.common_differences(expected, got);
        if found.is_empty() || self.first.is_some() {
            return false;
        }
        self.first =
            Some(Divergence { timestep_ns: self.timestep_ns, differences: Some(found), ..Divergence::default() });
        true
    }

    /// Compares the states after a tick; returns whether this is the first difference.
    pub fn tick(&mut self, tick: u64, expected: &Evidence<'_>, got: &Evidence<'_>) -> bool {
        let Some(same) = self.same(expected, got) else { return false };
        self.compared += 1;
        if let Some(first) = &mut self.first {
            first.later.compared += 1;
            if same {
                first.later.healed_at.get_or_insert(tick);
            } else {
                first.later.different += 1;
                first.later.healed_at = None;
            }
            return false;
        }
        if same {
            self.last_agreeing = Some(tick);
            return false;
        }
        let types = self.types_that_differ(expected, got);
        let differences = match (expected.image, got.image) {
            (Some(expected), Some(got)) => Some(self.common_differences(expected, got)),
            _ => None,
        };
        self.first = Some(Divergence {
            tick: Some(tick),
            timestep_ns: self.timestep_ns,
            last_agreeing: self.last_agreeing,
            roots: expected.root.zip(got.root),
            types,
            differences,
            later: Later { compared: 1, different: 1, healed_at: None },
            ..Divergence::default()
        });
        true
    }

    /// Returns whether both states agree; `None` if nothing of them can be compared.
    fn same(&self, expected: &Evidence<'_>, got: &Evidence<'_>) -> Option<bool> {
        if self.comparable_roots
            && let Some((a, b)) = expected.root.zip(got.root)
        {
            return Some(a == b);
        }
        if let Some((a, b)) = expected.types.zip(got.types) {
            return Some(self.common.iter().all(|(_, i, j)| a.get(*i) == b.get(*j)));
        }
        let (a, b) = expected.image.zip(got.image)?;
        Some(self.common_differences(a, b).is_empty())
    }

    fn types_that_differ(&self, expected: &Evidence<'_>, got: &Evidence<'_>) -> Option<Vec<String>> {
        let (a, b) = expected.types.zip(got.types)?;
        Some(self.common.iter().filter(|(_, i, j)| a.get(*i) != b.get(*j)).map(|(name, ..)| name.clone()).collect())
    }

    fn common_differences(&self, expected: &Image, got: &Image) -> Vec<Difference> {
        let mut found = expected.diff(got);
        found.retain(|row| row.type_name.is_empty() || self.common.iter().any(|(name, ..)| *name == row.type_name));
        found
    }

    /// Returns the first difference so far.
    #[must_use]
    pub fn divergence(&self) -> Option<&Divergence> {
        self.first.as_ref()
    }

    /// Adds what only the caller knows: inputs of the tick, names of entities.
    pub fn annotate(&mut self, annotate: impl FnOnce(&mut Divergence)) {
        if let Some(first) = &mut self.first {
            annotate(first);
        }
    }

    /// Ends the comparison; the numbers are how many ticks either run has.
    #[must_use]
    pub fn finish(self, expected_ticks: u64, got_ticks: u64) -> Report {
        let verdict = if self.first.is_some() || expected_ticks != got_ticks {
            Verdict::Diverged
        } else if self.compared == 0 && expected_ticks > 0 {
            Verdict::Unverified
        } else {
            Verdict::Verified
        };
        Report {
            verdict,
            tick_first: self.tick_first,
            ticks: (expected_ticks, got_ticks),
            compared: self.compared,
            divergence: self.first,
            header_differences: self.header_differences,
            tape: String::new(),
            replayed_by: String::new(),
            notes: Vec::new(),
        }
    }
}

impl crate::Tape {
    /// Compares two tapes without running anything; `self` is what is expected.
    ///
    /// # Examples
    ///
    /// ```
    /// use bevy_replay_tape::{Header, Tape};
    /// let tape = Tape::new(Header::new("my_game"));
    /// assert!(tape.diff(&tape).is_verified());
    /// ```
    #[must_use]
    pub fn diff(&self, got: &Self) -> Report {
        let mut comparison = Comparison::new(&self.header, &got.header);
        let mut images = (self.initial.clone(), got.initial.clone());
        if let (Some(a), Some(b)) = &images {
            comparison.initial(a, b);
        }
        let first = self.header.tick_first.max(got.header.tick_first);
        let last = self.ticks().end.min(got.ticks().end);
        for tick in first..last {
            for (tape, image) in [(self, &mut images.0), (got, &mut images.1)] {
                if !tape.step_image(image, tick) {
                    *image = None;
                }
            }
            let evidence = |tape: &'_ Self| Evidence { root: tape.root_after(tick), types: None, image: None };
            let expected = Evidence { types: self.lanes_after(tick), image: images.0.as_ref(), ..evidence(self) };
            let other = Evidence { types: got.lanes_after(tick), image: images.1.as_ref(), ..evidence(got) };
            if comparison.tick(tick, &expected, &other) {
                comparison.annotate(|found| found.inputs = self.inputs_text(tick));
            }
        }
        let mut report = comparison.finish(self.tick_count(), got.tick_count());
        report.tape = self.header.origin();
        report.replayed_by = got.header.origin();
        report
    }

    /// Brings an image to the state after a tick with the recorded values; returns whether the tape has them.
    #[must_use]
    pub fn step_image(&self, image: &mut Option<Image>, tick: u64) -> bool {
        let Some(image) = image else { return false };
        match self.values.binary_search_by_key(&(tick + 1), |delta| delta.tick) {
            Ok(index) => image.apply(&self.values[index]).is_ok(),
            Err(_) => false,
        }
    }
}
