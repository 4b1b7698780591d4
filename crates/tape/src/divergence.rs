//! Where two runs part: one model for the report, the audit, the tools and the inspector.

mod draws;
mod report;
mod systems;

use crate::image::{Difference, Image};
use crate::schema::Resolution;
use crate::tape::{Header, Track, TypeSpec};
use std::collections::{BTreeMap, BTreeSet};

pub use crate::tape::HeaderDifference;
pub use draws::StreamDraws;
pub use report::{Report, Verdict};
pub use systems::{FirstWrong, SystemEffect, Wrong, first_wrong};

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
    /// Length of a tick in nanoseconds, to show the tick as a time; 0 where ticks had no one length.
    pub timestep_ns: u64,
    /// The first tick that may have made the difference: earlier than `tick` where those between were not compared.
    pub tick_earliest: u64,
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
    /// How often each stream of random numbers was drawn from, from the start to the end of the tick.
    pub streams: Vec<StreamDraws>,
    /// The first system whose effect differs, where both runs were watched.
    pub first_wrong: Option<FirstWrong>,
    /// The systems that may write what differs first; known where one run is at hand. Exclusive ones come last, and end in
    /// ` (exclusive)`.
    pub writers: Vec<String>,
    /// The source line that wrote what differs first, where Bevy knows it.
    pub written_at: Option<String>,
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
    /// The types both know.
    common: Vec<CommonType>,
    /// Whether both make digests by the same rules.
    comparable_digests: bool,
    /// Whether also all types are the same, so that roots can be compared.
    comparable_roots: bool,
    header_differences: Vec<HeaderDifference>,
    tick_first: u64,
    timestep_ns: u64,
    last_agreeing: Option<u64>,
    compared: u64,
    first: Option<Divergence>,
}

/// A type that both runs know.
#[derive(Debug, Clone)]
struct CommonType {
    name: String,
    /// Its place among the types of either run.
    places: (usize, usize),
    /// Whether its bytes, and so its digests, mean the same.
    same_encoding: bool,
}

impl Comparison {
    /// Starts to compare; the second header is that of the run under test.
    #[must_use]
    pub fn new(expected: &Header, got: &Header) -> Self {
        let specs = |header: &'_ Header| -> Vec<TypeSpec> { [&*header.lanes, &*header.resources].concat() };
        let (a, b) = (specs(expected), specs(got));
        let places: BTreeMap<&str, usize> = b.iter().enumerate().map(|(place, spec)| (&*spec.name, place)).collect();
        let common: Vec<CommonType> = a
            .iter()
            .enumerate()
            .filter_map(|(i, spec)| {
                let j = *places.get(&*spec.name)?;
                let same_encoding = Resolution::new(&spec.schema, &b[j].schema).is_ok_and(|pair| pair.is_identity());
                Some(CommonType { name: spec.name.clone(), places: (i, j), same_encoding })
            })
            .collect();
        let same_types = a.len() == b.len() && a.len() == common.len();
        let same_places = common.iter().all(|common| common.places.0 == common.places.1 && common.same_encoding);
        let comparable_digests = expected.digest_version == got.digest_version;
        Self {
            common,
            comparable_digests,
            comparable_roots: comparable_digests && same_types && same_places,
            header_differences: expected.differences(got),
            tick_first: expected.tick_first.max(got.tick_first),
            timestep_ns: if expected.timestep_ns == got.timestep_ns { expected.timestep_ns } else { 0 },
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
        self.first = Some(Divergence {
            timestep_ns: self.timestep_ns,
            tick_earliest: self.tick_first,
            differences: Some(found),
            streams: draws::of(Some(expected), Some(got)),
            ..Divergence::default()
        });
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
            tick_earliest: self.last_agreeing.map_or(self.tick_first, |last| last + 1),
            last_agreeing: self.last_agreeing,
            roots: expected.root.zip(got.root),
            types,
            differences,
            streams: draws::of(expected.image, got.image),
            later: Later { compared: 1, different: 1, healed_at: None },
            ..Divergence::default()
        });
        true
    }

    /// Compares roots from the first tick on, of so many ticks at most, as long as they agree; returns how many did.
    ///
    /// As [`tick`](Self::tick) for each, only faster.
    fn same_roots(&mut self, expected: &[u64], got: &[u64], ticks_max: u64) -> u64 {
        if !self.comparable_roots || self.first.is_some() {
            return 0;
        }
        let agreeing = expected.iter().zip(got).take_while(|(a, b)| a == b).count() as u64;
        let agreeing = agreeing.min(ticks_max);
        self.compared += agreeing;
        self.last_agreeing = agreeing.checked_sub(1).map(|last| self.tick_first + last);
        agreeing
    }

    /// Returns whether both states agree; `None` if nothing of them can be compared.
    #[must_use]
    pub fn same(&self, expected: &Evidence<'_>, got: &Evidence<'_>) -> Option<bool> {
        if self.comparable_roots
            && let Some((a, b)) = expected.root.zip(got.root)
        {
            return Some(a == b);
        }
        if let Some(different) = self.types_that_differ(expected, got) {
            return Some(different.is_empty());
        }
        let (a, b) = expected.image.zip(got.image)?;
        Some(self.common_differences(a, b).is_empty())
    }

    /// Returns the names of the types whose digests differ; `None` if no digests can be compared.
    #[must_use]
    pub fn types_that_differ(&self, expected: &Evidence<'_>, got: &Evidence<'_>) -> Option<Vec<String>> {
        let (a, b) = expected.types.zip(got.types)?;
        let comparable = || self.common.iter().filter(|common| common.same_encoding);
        if !self.comparable_digests || comparable().next().is_none() {
            return None;
        }
        let differs = |common: &&CommonType| a.get(common.places.0) != b.get(common.places.1);
        Some(comparable().filter(differs).map(|common| common.name.clone()).collect())
    }

    fn common_differences(&self, expected: &Image, got: &Image) -> Vec<Difference> {
        let known: BTreeSet<&str> = self.common.iter().map(|common| &*common.name).collect();
        let mut found = expected.diff(got);
        found.retain(|row| row.type_name.is_empty() || known.contains(&*row.type_name));
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

    /// Ends the comparison; the numbers are how many ticks either run has, from the first that both have.
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
        let (first, last) = (comparison.tick_first, self.ticks().end.min(got.ticks().end));
        let (mut image, mut got_image) = (self.image_before(first), got.image_before(first));
        if let (Some(expected), Some(got)) = (&image, &got_image) {
            comparison.initial(expected, got);
        }
        let agreeing = comparison.same_roots(self.roots_from(first), got.roots_from(first), last.saturating_sub(first));
        for (tape, image) in [(self, &mut image), (got, &mut got_image)] {
            if !(first..first + agreeing).all(|tick| tape.step_image(image, tick)) {
                *image = None;
            }
        }
        for tick in first + agreeing..last {
            for (tape, image) in [(self, &mut image), (got, &mut got_image)] {
                if !tape.step_image(image, tick) {
                    *image = None;
                }
            }
            let (expected, got) = (self.evidence(tick, image.as_ref()), got.evidence(tick, got_image.as_ref()));
            if comparison.tick(tick, &expected, &got) {
                comparison.annotate(|found| found.inputs = self.inputs_text(tick));
            }
        }
        if !self.clock.is_empty() || !got.clock.is_empty() {
            comparison.annotate(|found| found.timestep_ns = 0);
        }
        let ticks = |tape: &Self| tape.ticks().end.saturating_sub(first);
        let mut report = comparison.finish(ticks(self), ticks(got));
        report.tape = self.header.origin();
        report.replayed_by = got.header.origin();
        report.notes.extend(self.input_difference(got, first..last));
        report
    }

    /// Returns the roots from that of a tick on, where each tick has one.
    fn roots_from(&self, tick: u64) -> &[u64] {
        let start = usize::try_from(tick.saturating_sub(self.header.tick_first)).unwrap_or(usize::MAX);
        self.digests.roots.get(start..).filter(|_| self.header.root_interval == 1).unwrap_or_default()
    }

    fn evidence<'a>(&'a self, tick: u64, image: Option<&'a Image>) -> Evidence<'a> {
        Evidence { root: self.root_after(tick), types: self.lanes_after(tick), image }
    }

    /// Returns the image before a tick, where the tape has the values.
    fn image_before(&self, tick: u64) -> Option<Image> {
        let mut image = self.initial.clone();
        let has_values = (self.header.tick_first..tick).all(|tick| self.step_image(&mut image, tick));
        image.filter(|_| has_values)
    }

    /// Says which of these ticks is the first that read other inputs.
    fn input_difference(&self, got: &Self, ticks: core::ops::Range<u64>) -> Option<String> {
        let common = self.tracks.iter().filter_map(|track| Some((track, got.track(&track.name)?)));
        let common = common.filter(|(a, b)| a.schema.same_encoding(&b.schema));
        let first =
            |(a, b): (&Track, &Track)| Some((a.changes.first_difference(&b.changes, ticks.clone())?, a.name.clone()));
        let (tick, name) = common.filter_map(first).min()?;
        let text = |tape: &Self| tape.track(&name).map_or_else(String::new, |track| track.text_at(tick));
        Some(format!("inputs differ from tick {tick} on: expected {}, got {}", text(self), text(got)))
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
