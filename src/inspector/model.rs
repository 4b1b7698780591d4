//! What the inspector shows, without egui and without a world: brought up to date from what is at hand, in pieces that
//! fit a frame.

use super::compare::{Expected, FieldRow, Layouts, differing, fields};
use super::history::{FieldHistory, FieldKey};
use super::timeline::{Content, Mark, Peaks, Row, Window};
use crate::deck::history::History;
use crate::deck::trace::Trace;
use crate::deck::{DeckState, SeekProgress, Speed};
use bevy_replay_tape::{
    Comparison, Divergence, Evidence, Header, HeaderDifference, Image, Report, StreamDraws, Tape, Track,
};
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is at hand in a frame.
pub(super) struct Seen<'a> {
    pub(super) status: Status,
    /// The tape that is played: what is expected.
    pub(super) tape: Option<&'a Arc<Tape>>,
    /// The tape that is recorded.
    pub(super) recorded: Option<&'a Tape>,
    pub(super) history: Option<&'a History>,
    pub(super) trace: Option<&'a Trace>,
    /// Which ticks were played or forgotten since the last frame.
    pub(super) touched: Option<Range<u64>>,
    /// From where on there is more than there was between known ticks.
    pub(super) filled: Option<u64>,
    /// The state at hand: what was got.
    pub(super) image: Option<&'a Image>,
    /// What a tape of this app says of itself; asked for when a tape comes.
    pub(super) app: &'a dyn Fn() -> Header,
}

/// What the deck is doing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Status {
    /// How many ticks have run.
    pub(super) tick: u64,
    pub(super) state: DeckState,
    pub(super) is_replaying: bool,
    pub(super) is_paused: bool,
    pub(super) speed: Speed,
    pub(super) seek: Option<SeekProgress>,
    pub(super) looped: Option<Range<u64>>,
    pub(super) branches: Vec<BranchRow>,
    /// Whether a tape is at hand that can be played.
    pub(super) can_play: bool,
    pub(super) timestep: Duration,
    /// The first tick that was not as when it was played first: a jump has not put everything back.
    pub(super) doubtful_from: Option<u64>,
}

/// A tape among those that share a beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BranchRow {
    pub(super) at: u64,
    pub(super) ticks: u64,
    pub(super) is_own: bool,
    pub(super) is_current: bool,
}

/// What is selected: an entity or the resources, and one of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Selection {
    /// `Some(None)` for the resources.
    pub(super) of: Option<Option<u64>>,
    pub(super) field: Option<(String, String)>,
}

/// What is shown beside the entities and their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pane {
    /// Only where there is no room for all: the entities.
    #[default]
    Entities,
    /// Only where there is no room for all: the fields.
    Fields,
    History,
    Inputs,
    Streams,
    Header,
}

/// What is told at the bottom until something else is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// An entity in the list, with the number of its fields that differ.
pub(super) type EntityRow = (Option<u64>, u32);

/// What the inspector shows.
#[derive(Default)]
pub(super) struct Model {
    pub(super) status: Status,
    pub(super) tape: Option<Arc<Tape>>,
    /// The ticks of the timeline.
    pub(super) ticks: Range<u64>,
    pub(super) window: Option<Window>,
    /// How many columns the timeline has; told by the view.
    pub(super) columns: usize,
    pub(super) rows: Vec<Row>,
    pub(super) keyframes: Vec<u64>,
    pub(super) marks: Vec<(u64, String)>,
    pub(super) report: Option<Report>,
    /// One that has come since the last frame, perhaps with its tape.
    new_report: Option<Report>,
    pub(super) header_differences: Vec<HeaderDifference>,
    pub(super) type_count: usize,
    comparison: Option<Comparison>,
    peaks: Peaks,
    /// Ticks of which it is still to be seen whether they differ.
    pending: Option<Range<u64>>,
    expected: Option<Expected>,
    layouts: Layouts,
    /// Of which state the entities and fields are, whether both runs are known, and which ids there are.
    compared: Option<Compared>,
    counts: BTreeMap<Option<u64>, u32>,
    roster: Arc<bevy_replay_tape::Ids>,
    pub(super) types_that_differ: Vec<String>,
    pub(super) entities: Vec<EntityRow>,
    pub(super) fields: Vec<FieldRow>,
    pub(super) inputs: Vec<String>,
    pub(super) streams: Vec<StreamDraws>,
    pub(super) names: BTreeMap<u64, String>,
    pub(super) selection: Selection,
    pub(super) history: Option<FieldHistory>,
    pub(super) filter: String,
    pub(super) shows_all_entities: bool,
    pub(super) shows_all_fields: bool,
    pub(super) pane: Pane,
    /// Name that is being typed for a test.
    pub(super) test_name: Option<String>,
    pub(super) can_export: bool,
    pub(super) is_exporting: bool,
    pub(super) notice: Option<Notice>,
    /// How far what is being looked for has come, in words and as a part.
    pub(super) work: Option<(&'static str, f32)>,
    /// The walk to the expected state was cancelled, at this state.
    cancelled_at: Option<u64>,
    trace_bytes: (usize, usize),
    shown_by: Option<(String, bool, bool)>,
}

/// What the entities and fields were made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Compared {
    after: u64,
    has_expected: bool,
    /// Which time this state was played.
    cuts: u64,
}

/// How a tick compares.
const UNKNOWN: u16 = 0;
const SAME: u16 = 1;

impl Model {
    /// Takes what is at hand, and goes on with what is not finished as long as there is time.
    pub(super) fn update(&mut self, seen: &Seen<'_>, is_time: &dyn Fn() -> bool) {
        let was_at = core::mem::replace(&mut self.status, seen.status.clone()).tick;
        self.take_tape(seen);
        self.report = self.new_report.take().or(self.report.take());
        self.take_ticks(seen);
        if self.status.tick != was_at
            && let (Some(tick), Some(window)) = (self.status.tick.checked_sub(1), &mut self.window)
        {
            window.reveal(tick as f64, &self.ticks);
        }
        if let Some(touched) = seen.touched.clone() {
            self.expect(touched.start.saturating_sub(1)..touched.end.saturating_sub(1));
        }
        // Some come as others are thinned out, so their number says nothing.
        self.keyframes.clear();
        self.keyframes.extend(seen.history.iter().flat_map(|history| history.ticks()));
        self.trace_bytes = seen.trace.map_or((0, 0), Trace::size_bytes);
        self.work = None;
        self.compare_ticks(seen, is_time);
        self.compare_states(seen, is_time);
        self.follow_field(seen, is_time);
        let current = seen.tape.map(|tape| &**tape).or(seen.recorded);
        self.rows = self.rows_of(current, seen.trace);
    }

    /// Begins anew with another tape.
    fn take_tape(&mut self, seen: &Seen<'_>) {
        let Some(tape) = seen.tape else {
            if seen.recorded.is_some() && self.tape.is_some() {
                self.forget_tape(); // another run begins
            }
            return;
        };
        if self.tape.as_ref().is_some_and(|known| Arc::ptr_eq(known, tape)) {
            return;
        }
        let is_branch = self.tape.as_ref().is_some_and(|known| known.header.tick_first == tape.header.tick_first);
        self.forget_tape();
        let app = (seen.app)();
        self.header_differences = tape.header.differences(&app);
        self.comparison = Some(Comparison::new(&tape.header, &app));
        self.expected = Expected::new(tape);
        self.tape = Some(tape.clone());
        if !is_branch {
            self.window = None;
        }
        self.expect(tape.ticks());
    }

    fn forget_tape(&mut self) {
        (self.tape, self.comparison, self.expected, self.compared) = (None, None, None, None);
        (self.peaks, self.pending, self.cancelled_at) = (Peaks::default(), None, None);
        (self.report, self.history) = (None, None);
        self.header_differences.clear();
        self.marks.clear();
        self.counts.clear();
    }

    fn take_ticks(&mut self, seen: &Seen<'_>) {
        let tape = seen.tape.map(|tape| &**tape).or(seen.recorded).or(self.tape.as_deref());
        let ticks = match tape {
            Some(tape) => tape.ticks(),
            None => {
                let range = seen.trace.map(Trace::range).unwrap_or_default();
                range.start.saturating_sub(1)..range.end.saturating_sub(1)
            }
        };
        let was_whole = self.window.is_none_or(|window| window == Window::all(&self.ticks));
        self.ticks = ticks;
        if was_whole {
            self.window = Some(Window::all(&self.ticks));
        }
        let marks = tape.map(|tape| &*tape.marks).unwrap_or_default();
        if marks.len() != self.marks.len() {
            self.marks = marks.iter().map(|mark| (mark.tick, mark.text.clone())).collect();
        }
        self.type_count = tape.map_or(0, |tape| tape.header.lanes.len() + tape.header.resources.len());
    }

    /// Has these ticks compared.
    fn expect(&mut self, ticks: Range<u64>) {
        let pending = self.pending.take().unwrap_or_else(|| ticks.clone());
        self.pending = Some(pending.start.min(ticks.start)..pending.end.max(ticks.end));
    }

    /// Compares the digests of ticks that were played.
    fn compare_ticks(&mut self, seen: &Seen<'_>, is_time: &dyn Fn() -> bool) {
        let (Some(comparison), Some(tape), Some(mut pending)) = (&self.comparison, &self.tape, self.pending.take())
        else {
            return;
        };
        let ticks = tape.ticks();
        pending = pending.start.max(ticks.start)..pending.end.min(ticks.end);
        let (from, count) = (pending.start, pending.end.saturating_sub(pending.start));
        for tick in pending.clone() {
            let got = Evidence {
                root: seen.history.and_then(|history| history.root_after(tick + 1)),
                types: seen.trace.and_then(|trace| trace.types_after(tick + 1)),
                image: None,
            };
            let expected = Evidence { root: tape.root_after(tick), types: tape.lanes_after(tick), image: None };
            let value = match comparison.types_that_differ(&expected, &got) {
                Some(types) => SAME.saturating_add(u16::try_from(types.len()).unwrap_or(u16::MAX)),
                None => comparison.same(&expected, &got).map_or(UNKNOWN, |same| SAME + u16::from(!same)),
            };
            self.peaks.set(usize::try_from(tick - ticks.start).unwrap_or(usize::MAX), value);
            if (tick - from) % 64 == 63 && !is_time() {
                self.pending = Some(tick + 1..pending.end);
                self.work = Some(("comparing ticks", (tick + 1 - from) as f32 / count.max(1) as f32));
                return;
            }
        }
    }

    /// Compares the state at hand with the one that is expected.
    fn compare_states(&mut self, seen: &Seen<'_>, is_time: &dyn Fn() -> bool) {
        let after = seen.status.tick;
        let Some(got) = seen.image.filter(|image| image.tick == after) else { return };
        if self.cancelled_at.is_some_and(|at| at != after) {
            self.cancelled_at = None;
        }
        if seen.status.seek.is_none()
            && self.cancelled_at.is_none()
            && let Some(expected) = &mut self.expected
            && let Some(progress) = expected.go_to(after, is_time)
        {
            self.work = Some(("looking for the expected state", progress));
        }
        let expected = self.expected.as_ref().and_then(|expected| expected.at(after));
        let compared = Compared { after, has_expected: expected.is_some(), cuts: seen.trace.map_or(0, Trace::cuts) };
        if self.compared != Some(compared) {
            self.compared = Some(compared);
            self.roster = got.roster.clone();
            self.counts = match expected {
                Some(expected) => differing(expected, got, &mut self.layouts),
                None => BTreeMap::new(),
            };
            self.streams = StreamDraws::between(expected, Some(got));
            self.fields = match self.selection.of {
                Some(of) => fields(expected, Some(got), of),
                None => Vec::new(),
            };
            let tape = seen.tape.map(|tape| &**tape).or(seen.recorded).or(self.tape.as_deref());
            let tick = after.saturating_sub(1);
            self.inputs = match tape.filter(|tape| tape.ticks().contains(&tick) && after > 0) {
                Some(tape) => tape.inputs_text(tick),
                None => Vec::new(),
            };
            self.types_that_differ = self.types_at(tick, seen);
            self.shown_by = None;
        }
        let shown_by = (self.filter.clone(), self.shows_all_entities, self.has_values());
        if self.shown_by.as_ref() != Some(&shown_by) {
            self.entities = self.list();
            self.shown_by = Some(shown_by);
        }
    }

    fn types_at(&self, tick: u64, seen: &Seen<'_>) -> Vec<String> {
        let (Some(comparison), Some(tape)) = (&self.comparison, &self.tape) else { return Vec::new() };
        let got = Evidence { types: seen.trace.and_then(|trace| trace.types_after(tick + 1)), ..Evidence::default() };
        let expected = Evidence { types: tape.lanes_after(tick), ..Evidence::default() };
        comparison.types_that_differ(&expected, &got).unwrap_or_default()
    }

    /// Makes the list of entities: those with most differences first, or all of them.
    fn list(&self) -> Vec<EntityRow> {
        let filter = self.filter.trim().to_lowercase();
        let is_wanted = |id: Option<u64>| {
            filter.is_empty()
                || match id {
                    None => "resources".contains(&*filter),
                    Some(id) => {
                        format!("sim:{id}").contains(&*filter)
                            || self.names.get(&id).is_some_and(|name| name.to_lowercase().contains(&*filter))
                    }
                }
        };
        let count = |id: Option<u64>| self.counts.get(&id).copied().unwrap_or(0);
        let mut rows: Vec<EntityRow> = if self.shows_all_entities {
            let alone = self.counts.keys().filter(|id| id.is_some_and(|id| self.roster.row(id).is_none()));
            let all = self.roster.iter().map(|id| Some(*id)).chain([None]).chain(alone.copied());
            all.filter(|id| is_wanted(*id)).map(|id| (id, count(id))).collect()
        } else {
            self.counts.iter().filter(|(id, _)| is_wanted(**id)).map(|(id, count)| (*id, *count)).collect()
        };
        rows.sort_by_key(|(id, count)| (core::cmp::Reverse(*count), id.is_none(), *id));
        rows
    }

    /// Goes on with the history of the selected field.
    fn follow_field(&mut self, seen: &Seen<'_>, is_time: &dyn Fn() -> bool) {
        let (Some(history), Some(types)) = (&mut self.history, seen.image) else { return };
        if let Some(after) = seen.filled {
            history.rewind(after);
        }
        history.update(self.tape.as_deref(), seen.trace, types, is_time);
        if let Some(progress) = history.progress {
            self.work = Some(("reading the history", progress));
        }
    }

    /// Makes the lines of the timeline.
    fn rows_of(&self, tape: Option<&Tape>, trace: Option<&Trace>) -> Vec<Row> {
        let Some(window) = self.window else { return Vec::new() };
        let mut rows = Vec::new();
        let shown = |tick: u64| (tick as f64) >= window.start && (tick as f64) < window.end;
        if let Some(tape) = &self.tape {
            let first = tape.header.tick_first;
            let index = |tick: u64| usize::try_from(tick.saturating_sub(first)).unwrap_or(usize::MAX);
            let bar = |ticks: Range<u64>| match self.peaks.max(index(ticks.start)..index(ticks.end)) {
                UNKNOWN => (0.0, Mark::Same),
                SAME => (0.12, Mark::Same),
                more => {
                    let part = f32::from(more - SAME) / self.type_count.max(1) as f32;
                    (0.4 + 0.6 * part.min(1.0), Mark::Differs)
                }
            };
            let bars = window.columns(self.columns).map(bar).collect();
            rows.push(Row { label: "types that differ".into(), content: Content::Bars(bars) });
        }
        let points = |label: &str, mark: Mark, points: Vec<(u64, String)>| {
            (!points.is_empty()).then(|| Row { label: label.into(), content: Content::Points(mark, points) })
        };
        let first = self.keyframes.partition_point(|tick| (*tick as f64) < window.start);
        let keyframes = self.keyframes[first..].iter().take_while(|tick| shown(**tick));
        let keyframes = keyframes.map(|tick| (*tick, String::new())).collect();
        rows.extend(points("keyframes", Mark::Keyframe, keyframes));
        rows.extend(points("marks", Mark::Bookmark, self.marks.clone()));
        let branches = self.status.branches.iter().enumerate().filter(|(_, branch)| !branch.is_own);
        let branches = branches.map(|(index, branch)| (branch.at, format!("branch {index}"))).collect();
        rows.extend(points("branches", Mark::Branch, branches));
        for track in tape.map(|tape| &*tape.tracks).unwrap_or_default() {
            let bars = window.columns(self.columns).map(|ticks| (activity(track, &ticks), Mark::Activity)).collect();
            rows.push(Row { label: track.name.clone(), content: Content::Bars(bars) });
        }
        if let Some(trace) = trace {
            for (index, name) in trace.streams().enumerate() {
                // What was drawn where nothing was played is not told.
                let (first, last) = (trace.range().start, trace.range().end.saturating_sub(1));
                let initial = tape.and_then(|tape| tape.initial.as_ref()).filter(|image| image.tick < first);
                let draws_after = |after: u64| match initial {
                    Some(initial) if after <= initial.tick => StreamDraws::count(initial, name),
                    _ => trace.draws_after(index, after.max(first).min(last)),
                };
                let drawn = |ticks: Range<u64>| Some(draws_after(ticks.end)?.saturating_sub(draws_after(ticks.start)?));
                let drawn: Vec<Option<u64>> = window.columns(self.columns).map(drawn).collect();
                let most = drawn.iter().flatten().copied().max().unwrap_or(0).max(1);
                let bar = |drawn: &Option<u64>| (drawn.unwrap_or(0) as f32 / most as f32, Mark::Activity);
                let bars = drawn.iter().map(bar).collect();
                rows.push(Row { label: format!("draws of {name}"), content: Content::Bars(bars) });
            }
        }
        rows
    }

    /// Returns whether the expected values of the state at hand are known.
    pub(super) fn has_values(&self) -> bool {
        self.compared.is_some_and(|compared| compared.has_expected)
    }

    /// Returns whether there is anything that says whether the runs differ.
    pub(super) fn has_expected_values(&self) -> bool {
        self.expected.is_some()
    }

    /// Returns the tick whose end is shown; `None` before the first.
    pub(super) fn shown_tick(&self) -> Option<u64> {
        let after = self.status.seek.map_or(self.status.tick, |seek| seek.target);
        after.checked_sub(1).filter(|tick| *tick >= self.ticks.start)
    }

    /// Returns the first difference.
    pub(super) fn divergence(&self) -> Option<&Divergence> {
        self.new_report.as_ref().or(self.report.as_ref())?.divergence.as_ref()
    }

    /// Returns the state that shows the first difference, as a number of ticks that have run.
    pub(super) fn divergence_at(&self) -> Option<u64> {
        self.divergence().map(|found| found.tick.map_or(self.ticks.start, |tick| tick + 1))
    }

    /// Returns the keyframe before or after the state that is shown.
    pub(super) fn keyframe(&self, is_forward: bool) -> u64 {
        let after = self.status.seek.map_or(self.status.tick, |seek| seek.target);
        if is_forward {
            let next = self.keyframes.partition_point(|tick| *tick <= after);
            self.keyframes.get(next).copied().unwrap_or(self.ticks.end)
        } else {
            let before = self.keyframes.partition_point(|tick| *tick < after).checked_sub(1);
            before.map_or(self.ticks.start, |before| self.keyframes[before])
        }
    }

    /// Returns when a tick ends, from the first on.
    pub(super) fn time_of(&self, tick: u64) -> Duration {
        let ticks = tick.saturating_sub(self.ticks.start) + 1;
        let Some(tape) = &self.tape else {
            return self.status.timestep.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
        };
        Duration::from_nanos(tape.elapsed_ns(tick + 1).saturating_sub(tape.header.elapsed_ns))
    }

    /// Selects an entity or the resources; a field stays selected where it is of the same type.
    pub(super) fn select(&mut self, selection: Selection) {
        if self.selection == selection {
            return;
        }
        let is_other = self.selection.of != selection.of;
        let key = selection.of.zip(selection.field.clone());
        self.history = key.map(|(sim_id, (type_name, path))| FieldHistory::new(FieldKey { sim_id, type_name, path }));
        self.selection = selection;
        if is_other {
            self.compared = None;
        }
    }

    /// Gives up what is being looked for.
    pub(super) fn cancel_work(&mut self) {
        self.cancelled_at = Some(self.status.tick);
        if let Some(history) = &mut self.history
            && history.progress.take().is_some()
        {
            history.is_cancelled = true;
        }
        (self.pending, self.work) = (None, None);
    }

    /// Takes what a replay has found.
    pub(super) fn take_report(&mut self, report: &Report) {
        self.new_report = Some(report.clone());
    }

    /// Takes the names of entities.
    pub(super) fn name(&mut self, names: BTreeMap<u64, String>) {
        self.names = names;
        self.shown_by = None;
    }

    /// Returns the ids whose names are wanted, if they have changed since the given ones.
    pub(super) fn roster(&self) -> &Arc<bevy_replay_tape::Ids> {
        &self.roster
    }

    pub(super) fn tell(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: false });
    }

    pub(super) fn tell_error(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: true });
    }

    /// Returns about how many bytes are kept: what was played, and what was found out from it.
    pub(super) fn size_bytes(&self) -> (usize, usize) {
        let (values, rest) = self.trace_bytes;
        let expected = self.expected.as_ref().map_or(0, Expected::size_bytes);
        let history = self.history.as_ref().map_or(0, FieldHistory::size_bytes);
        (values + rest, expected + history + self.peaks.size_bytes())
    }
}

/// How much happened on a track: an input that is held is half as high as one that changes.
fn activity(track: &Track, ticks: &Range<u64>) -> f32 {
    let changes = &track.changes;
    let count = changes.count_before(ticks.end) - changes.count_before(ticks.start);
    // What is at rest is encoded as zeros.
    let is_held = changes.at(ticks.start).is_some_and(|value| value.iter().any(|byte| *byte != 0));
    match count {
        0 if is_held => 0.5,
        0 => 0.06,
        count => 0.6 + 0.4 * (count as f32 / (ticks.end - ticks.start) as f32).min(1.0),
    }
}
