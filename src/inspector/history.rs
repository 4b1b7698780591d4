//! One field of one entity over all ticks, in both runs.

use super::compare::leaf;
use crate::deck::trace::{Step, Trace, changed_row};
use bevy_replay_tape::{Delta, Image, Tape, Value};

/// Which field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldKey {
    /// `None` for a resource.
    pub(super) sim_id: Option<u64>,
    pub(super) type_name: String,
    pub(super) path: String,
}

/// The values of a field in one run, where they change.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// After how many ticks, and the value as a number; no number is `NaN`, as is no value.
    points: Vec<(u64, f64)>,
    last: Option<Option<Value>>,
    /// All that lead to states up to here were looked at.
    scanned: u64,
}

impl Line {
    fn put(&mut self, after: u64, value: Option<Value>) {
        if self.last.as_ref() != Some(&value) {
            self.points.push((after, value.as_ref().and_then(number).unwrap_or(f64::NAN)));
            self.last = Some(value);
        }
    }

    /// Forgets what was read from a state on: there is more of it now.
    fn rewind(&mut self, after: u64) {
        self.points.truncate(self.points.partition_point(|(at, _)| *at < after));
        self.last = None;
        self.scanned = self.scanned.min(after.saturating_sub(1));
    }

    #[cfg(test)]
    pub(super) fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Returns whether there is anything that can be drawn.
    pub(super) fn has_numbers(&self) -> bool {
        self.points.iter().any(|(_, value)| !value.is_nan())
    }

    /// Returns the strokes of the line between two states, with about as many corners as there are columns at most: one
    /// for each time in which there is a number. No two neighbours are the same place, which has no direction.
    pub(super) fn strokes(&self, from: f64, to: f64, columns: usize) -> Vec<Vec<[f64; 2]>> {
        let mut corners = self.drawn(from, to, columns);
        corners.dedup();
        let strokes = corners.split(|corner| !corner[1].is_finite()).filter(|stroke| !stroke.is_empty());
        strokes.map(<[_]>::to_vec).collect()
    }

    /// Returns the corners; what is no number is `NaN`.
    fn drawn(&self, from: f64, to: f64, columns: usize) -> Vec<[f64; 2]> {
        let first = self.points.partition_point(|(after, _)| (*after as f64) < from).saturating_sub(1);
        let end = self.points.partition_point(|(after, _)| (*after as f64) <= to);
        let shown = &self.points[first.min(end)..end];
        let mut corners = Vec::new();
        if shown.len() <= columns * 2 {
            let mut before: Option<f64> = None;
            for (after, value) in shown {
                let x = (*after as f64).max(from);
                // A value stays until the next.
                corners.extend(before.map(|before| [x, before]));
                corners.push([x, *value]);
                before = Some(*value);
            }
            corners.extend(before.map(|before| [to.min(self.scanned.max(1) as f64), before]));
            return corners;
        }
        let step = (to - from) / columns.max(1) as f64;
        let mut rest = shown;
        for column in 0..columns {
            let until = from + step * (column + 1) as f64;
            let count = rest.partition_point(|(after, _)| (*after as f64) < until);
            let (here, later) = rest.split_at(count);
            rest = later;
            let values = || here.iter().map(|(_, value)| *value).filter(|value| !value.is_nan());
            let x = from + step * (column as f64 + 0.5);
            if let (Some(least), Some(most)) = (values().reduce(f64::min), values().reduce(f64::max)) {
                corners.extend([[x, least], [x, most]]);
            }
        }
        corners
    }
}

/// Returns a value as a number, if it is one.
#[expect(clippy::cast_precision_loss, reason = "a plot has fewer pixels than a float has bits")]
fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::UInt(value) => *value as f64,
        Value::Int(value) => *value as f64,
        Value::F32(bits) => f64::from(f32::from_bits(*bits)),
        Value::F64(bits) => f64::from_bits(*bits),
        Value::Fixed(raw, fraction_bits) => *raw as f64 / power_of_two(*fraction_bits),
        Value::UFixed(raw, fraction_bits) => *raw as f64 / power_of_two(*fraction_bits),
        Value::Duration(value) => value.as_secs_f64(),
        Value::Option(Some(value)) => return number(value),
        _ => return None,
    })
}

fn power_of_two(bits: u32) -> f64 {
    (0..bits).fold(1.0, |power, _| power * 2.0)
}

/// The history of a field in both runs, made in pieces.
#[derive(Debug, Clone)]
pub(super) struct FieldHistory {
    pub(super) key: FieldKey,
    pub(super) expected: Line,
    pub(super) got: Line,
    cuts: Option<u64>,
    /// How much is done, while it is not all.
    pub(super) progress: Option<f32>,
    pub(super) is_cancelled: bool,
}

/// So many ticks are looked at before the clock is.
const PIECE: usize = 256;

impl FieldHistory {
    pub(super) fn new(key: FieldKey) -> Self {
        let (expected, got) = (Line::default(), Line::default());
        Self { key, expected, got, cuts: None, progress: Some(0.0), is_cancelled: false }
    }

    /// Ticks were played that lie before known ones.
    pub(super) fn rewind(&mut self, after: u64) {
        self.got.rewind(after);
    }

    /// Looks at what has come since, as long as there is time.
    pub(super) fn update(
        &mut self,
        tape: Option<&Tape>,
        trace: Option<&Trace>,
        types: &Image,
        is_time: &dyn Fn() -> bool,
    ) {
        if self.is_cancelled {
            return;
        }
        self.progress = None;
        if let Some((tape, initial)) = tape.and_then(|tape| Some((tape, tape.initial.as_ref()?)))
            && !tape.values.is_empty()
        {
            self.scan_expected(tape, initial, is_time);
        }
        if let Some(trace) = trace {
            if self.cuts.replace(trace.cuts()).is_some_and(|cuts| cuts != trace.cuts()) {
                self.got = Line::default();
            }
            self.scan_got(trace, types, is_time);
        }
    }

    fn scan_expected(&mut self, tape: &Tape, initial: &Image, is_time: &dyn Fn() -> bool) {
        if self.expected.points.is_empty() {
            self.expected.put(initial.tick, self.key.value(initial));
        }
        let mut next = tape.values.partition_point(|delta| delta.tick <= self.expected.scanned);
        while next < tape.values.len() {
            let end = (next + PIECE).min(tape.values.len());
            for delta in &tape.values[next..end] {
                if let Some(value) = self.key.changed(initial, delta) {
                    self.expected.put(delta.tick, value);
                }
                self.expected.scanned = delta.tick;
            }
            next = end;
            if next < tape.values.len() && !is_time() {
                self.progress = Some(next as f32 / tape.values.len() as f32 / 2.0);
                return;
            }
        }
    }

    fn scan_got(&mut self, trace: &Trace, types: &Image, is_time: &dyn Fn() -> bool) {
        let range = trace.range();
        for (count, (after, step)) in trace.steps_from(self.got.scanned).enumerate() {
            if after == self.got.scanned && after > 0 {
                continue;
            }
            match step {
                Step::Whole(image) => {
                    if after > self.got.scanned + 1 && !self.got.points.is_empty() {
                        self.got.put(self.got.scanned + 1, None); // what was not played has no value
                    }
                    self.got.put(after, self.key.value(image));
                }
                Step::Delta(delta) => {
                    if let Some(value) = self.key.changed(types, delta) {
                        self.got.put(after, value);
                    }
                }
            }
            self.got.scanned = after;
            if count % PIECE == PIECE - 1 && !is_time() {
                let done = after.saturating_sub(range.start) as f32 / (range.end - range.start).max(1) as f32;
                self.progress = Some(0.5 + done / 2.0);
                return;
            }
        }
    }

    /// Returns the last state before this one in which the field is new, in either run.
    pub(super) fn change_before(&self, after: u64) -> Option<u64> {
        let before = |line: &Line| {
            let index = line.points.partition_point(|(at, _)| *at < after).checked_sub(1)?;
            line.points.get(index).map(|point| point.0)
        };
        before(&self.expected).max(before(&self.got))
    }

    /// Returns the next state after this one in which the field is new, in either run.
    pub(super) fn change_after(&self, after: u64) -> Option<u64> {
        let next = |line: &Line| {
            let index = line.points.partition_point(|(at, _)| *at <= after);
            line.points.get(index).map(|point| point.0)
        };
        [next(&self.expected), next(&self.got)].into_iter().flatten().min()
    }

    pub(super) fn size_bytes(&self) -> usize {
        (self.expected.points.capacity() + self.got.points.capacity()) * 16
    }
}

impl FieldKey {
    /// Returns the value in a state.
    fn value(&self, image: &Image) -> Option<Value> {
        let value = match self.sim_id {
            Some(id) => image.lane(&self.type_name)?.value(id).ok()??,
            None => {
                let resource = image.resource(&self.type_name)?;
                Value::decode(&resource.schema, resource.get()?).ok()?
            }
        };
        leaf(&value, &self.path).cloned()
    }

    /// Returns the value that a tick gave the field, if it wrote its type.
    fn changed(&self, types: &Image, delta: &Delta) -> Option<Option<Value>> {
        let (schema, bytes) = match self.sim_id {
            Some(id) => {
                let lane = types.lanes.iter().position(|lane| *lane.name == *self.type_name)?;
                (&types.lanes[lane].schema, changed_row(types, delta, lane, id)?)
            }
            None => {
                let index = types.resources.iter().position(|resource| *resource.name == *self.type_name)?;
                let found = delta.resources.binary_search_by_key(&index, |(at, _)| *at as usize).ok()?;
                (&types.resources[index].schema, delta.resources[found].1.as_deref())
            }
        };
        let value = bytes.and_then(|bytes| Value::decode(schema, bytes).ok());
        Some(value.and_then(|value| leaf(&value, &self.path).cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_drawn_in_steps_and_far_away_by_its_least_and_most() {
        let mut line = Line { scanned: 1000, ..Line::default() };
        (0..1000_u32).for_each(|after| line.put(u64::from(after), Some(Value::UInt(u128::from(after / 10 % 7)))));
        assert_eq!(line.points().len(), 100, "a value that stays is no change");
        let close = line.drawn(5.0, 25.0, 100);
        assert_eq!(close, [[5.0, 0.0], [10.0, 0.0], [10.0, 1.0], [20.0, 1.0], [20.0, 2.0], [25.0, 2.0]]);
        let far = line.drawn(0.0, 1000.0, 10);
        assert_eq!((far.len(), far[0][1], far[1][1]), (20, 0.0, 6.0));
    }

    #[test]
    fn a_line_has_gaps_where_there_is_no_number_and_never_stands_still() {
        let mut line = Line { scanned: 9, ..Line::default() };
        let values = [None, Some(7), None, Some(8)].map(|value| value.map(Value::UInt));
        [0, 3, 5, 9].into_iter().zip(values).for_each(|(after, value)| line.put(after, value));
        assert_eq!(line.strokes(0.0, 20.0, 100), [vec![[3.0, 7.0], [5.0, 7.0]], vec![[9.0, 8.0]]]);
    }

    #[test]
    fn what_is_no_number_has_changes_and_no_line() {
        let mut line = Line::default();
        line.put(0, Some(Value::String("a".into())));
        line.put(4, None);
        assert_eq!((line.points().len(), line.has_numbers()), (2, false));
        assert_eq!(number(&Value::Option(Some(Box::new(Value::Int(-3))))), Some(-3.0));
        assert_eq!(number(&Value::Fixed(-3, 1)), Some(-1.5));
    }
}
