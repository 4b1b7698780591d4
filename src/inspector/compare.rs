//! Two states side by side: which entities differ, and their fields.

use crate::deck::history::History;
use crate::state::restore::RowOrder;
use bevy_replay_tape::{Difference, Image, Lane, Schema, Shape, ShapeId, Side, Tape, Value};
use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Walks through the states that a tape expects, and keeps some to go back to.
pub(super) struct Expected {
    tape: Arc<Tape>,
    image: Option<Image>,
    kept: History,
    first: u64,
}

/// Bytes of expected states that are kept to go back to.
const KEPT_BYTES: usize = 64 << 20;

impl Expected {
    /// Begins at the first tick; `None` where the tape holds no values.
    pub(super) fn new(tape: &Arc<Tape>) -> Option<Self> {
        let image = tape.initial.clone().filter(|_| !tape.values.is_empty())?;
        let kept = History::new(image.clone(), RowOrder::default(), KEPT_BYTES, core::iter::empty());
        Some(Self { tape: tape.clone(), first: image.tick, image: Some(image), kept })
    }

    /// Goes on to a state as long as there is time; returns how much is done, while it is not there.
    pub(super) fn go_to(&mut self, after: u64, is_time: &dyn Fn() -> bool) -> Option<f32> {
        let target = after.max(self.first);
        let here = self.image.as_ref().map(|image| image.tick);
        if here.is_none_or(|here| target < here || self.kept.nearest(target) > here) {
            self.image = self.kept.jump_point(self.kept.nearest(target)).map(|point| point.image);
        }
        let from = self.image.as_ref()?.tick;
        while let Some(here) = self.image.as_ref().map(|image| image.tick).filter(|here| *here < target) {
            if !self.tape.step_image(&mut self.image, here) {
                self.image = None; // the tape has no values from here on
                return None;
            }
            if let Some(image) = &self.image {
                self.kept.end_tick(image, 0, RowOrder::default);
            }
            if here + 1 < target && !is_time() {
                return Some((here + 1 - from) as f32 / (target - from) as f32);
            }
        }
        None
    }

    /// Returns the state, if it was reached.
    pub(super) fn at(&self, after: u64) -> Option<&Image> {
        self.image.as_ref().filter(|image| image.tick == after)
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.kept.size_bytes() + self.kept.roots().len() * 8 + self.image.as_ref().map_or(0, Image::size_bytes)
    }
}

/// Where the fields of a type stand, if they always stand there.
#[derive(Debug, Default)]
pub(super) struct Layouts(BTreeMap<Arc<str>, Option<Vec<Range<usize>>>>);

impl Layouts {
    /// Returns how many fields of two values differ.
    fn differing(&mut self, lane: &Lane, a: &[u8], b: &[u8]) -> u32 {
        let known = self.0.get(&lane.name);
        let layout = match known {
            Some(layout) => layout,
            None => {
                let layout = layout_of(&lane.schema);
                self.0.entry(lane.name.clone()).or_insert(layout)
            }
        };
        let count = match layout {
            Some(fields) => fields.iter().filter(|field| a.get((*field).clone()) != b.get((*field).clone())).count(),
            None => Difference::count(&lane.schema, a, b),
        };
        u32::try_from(count.max(1)).unwrap_or(u32::MAX)
    }
}

/// Returns where each leaf of a value stands; `None` where that depends on the value.
fn layout_of(schema: &Schema) -> Option<Vec<Range<usize>>> {
    fn add(schema: &Schema, id: ShapeId, at: &mut usize, fields: &mut Vec<Range<usize>>) -> Option<()> {
        let mut leaf = |size: usize| {
            fields.push(*at..*at + size);
            *at += size;
        };
        match schema.shape(id) {
            Shape::Bool => leaf(1),
            Shape::UInt { bits } | Shape::Int { bits } | Shape::Float { bits } | Shape::Fixed { bits, .. } => {
                leaf(*bits as usize / 8);
            }
            Shape::Entity => leaf(8),
            Shape::Array { item, len } if *len <= 64 => {
                for _ in 0..*len {
                    add(schema, *item, at, fields)?;
                }
            }
            Shape::Tuple { items } => items.iter().try_for_each(|item| add(schema, *item, at, fields))?,
            Shape::Struct { fields: inner, .. } => {
                inner.iter().try_for_each(|field| add(schema, field.shape, at, fields))?;
            }
            _ => return None,
        }
        Some(())
    }
    let (mut at, mut fields) = (0, Vec::new());
    add(schema, Schema::ROOT, &mut at, &mut fields)?;
    (schema.width() == Some(at)).then_some(fields)
}

/// Returns how many fields of each entity differ, and of the resources (`None`); those without a difference are left out.
pub(super) fn differing(expected: &Image, got: &Image, layouts: &mut Layouts) -> BTreeMap<Option<u64>, u32> {
    let mut counts = BTreeMap::new();
    let mut add = |id: Option<u64>, count: u32| *counts.entry(id).or_insert(0) += count;
    let has_same_roster = expected.roster == got.roster;
    let is_in_both = |id: u64| has_same_roster || (expected.roster.row(id).is_some() && got.roster.row(id).is_some());
    if !has_same_roster {
        let alone = |a: &Image, b: &Image| a.roster.iter().copied().filter(|id| b.roster.row(*id).is_none()).collect();
        let (left, right): (Vec<u64>, Vec<u64>) = (alone(expected, got), alone(got, expected));
        left.into_iter().chain(right).for_each(|id| add(Some(id), 1));
    }
    for b in &got.lanes {
        let Some(a) = expected.lane(&b.name).filter(|a| a.schema.same_encoding(&b.schema)) else { continue };
        if a.ids == b.ids {
            if a.rows == b.rows {
                continue;
            }
            for (row, id) in a.ids.iter().enumerate() {
                let (x, y) = (a.rows.row(row), b.rows.row(row));
                if x != y {
                    add(Some(*id), layouts.differing(b, x, y));
                }
            }
            continue;
        }
        for id in b.ids.iter().filter(|id| is_in_both(**id)) {
            match (a.get(*id), b.get(*id)) {
                (Some(x), Some(y)) if x != y => add(Some(*id), layouts.differing(b, x, y)),
                (None, Some(_)) => add(Some(*id), 1),
                _ => {}
            }
        }
        a.ids.iter().filter(|id| b.ids.row(**id).is_none() && is_in_both(**id)).for_each(|id| add(Some(*id), 1));
    }
    match expected.diff_of(got, None).len() {
        0 => {}
        count => add(None, u32::try_from(count).unwrap_or(u32::MAX)),
    }
    counts
}

/// A field with its value in both runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldRow {
    pub(super) type_name: Arc<str>,
    pub(super) path: String,
    /// `None` where nothing is known of it.
    pub(super) expected: Option<String>,
    pub(super) got: Option<String>,
    /// How many floats lie between the two.
    pub(super) ulps: Option<u64>,
    pub(super) differs: bool,
}

/// Returns the fields of an entity, or of all resources (`None`), of states that are known: of each type what differs, as
/// the report has it, and then the rest.
pub(super) fn fields(expected: Option<&Image>, got: Option<&Image>, sim_id: Option<u64>) -> Vec<FieldRow> {
    let Some(types) = got.or(expected) else { return Vec::new() };
    let differences = match (expected, got) {
        (Some(expected), Some(got)) => expected.diff_of(got, sim_id),
        _ => Vec::new(),
    };
    let names: Vec<&Arc<str>> = match sim_id {
        Some(_) => types.lanes.iter().map(|lane| &lane.name).collect(),
        None => types.resources.iter().map(|resource| &resource.name).collect(),
    };
    let value = |image: &Image, name: &str| match sim_id {
        Some(id) => image.lane(name)?.value(id).ok()?,
        None => image.resource(name).and_then(|resource| Value::decode(&resource.schema, resource.get()?).ok()),
    };
    let mut rows = Vec::new();
    for name in names {
        let differing = || differences.iter().filter(|row| *row.type_name == **name);
        rows.extend(differing().map(|row| FieldRow {
            type_name: name.clone(),
            path: row.path.clone(),
            expected: Some(row.expected.shown(LETTERS_MAX)),
            got: Some(row.got.shown(LETTERS_MAX)),
            ulps: row.ulps().filter(|ulps| *ulps > 0),
            differs: true,
        }));
        let Some(value) = value(types, name) else { continue };
        // A variant that differs inside is told by its fields, and what differs as a whole is told as that.
        let is_told = |path: &str| {
            let whole = |row: &&Difference| !matches!(row.expected, Side::Count(_));
            differing().filter(whole).any(|row| is_within(path, &row.path) || is_within(&row.path, path))
        };
        for (path, leaf) in leaves(&value).into_iter().filter(|(path, _)| !is_told(path)) {
            let text = Side::Value(leaf.clone()).shown(LETTERS_MAX);
            let (expected, got) = (expected.map(|_| text.clone()), got.map(|_| text.clone()));
            rows.push(FieldRow { type_name: name.clone(), path, expected, got, ulps: None, differs: false });
        }
    }
    rows
}

/// Whether a path leads to a part of what the other leads to, or to the same.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Letters of a value that are shown.
const LETTERS_MAX: usize = 200;

/// Returns the parts of a value that have no parts themselves, with their paths.
fn leaves(value: &Value) -> Vec<(String, &Value)> {
    fn add<'a>(path: String, value: &'a Value, found: &mut Vec<(String, &'a Value)>) {
        let start = found.len();
        // A variant and what it holds are told together.
        if !matches!(value, Value::Enum(..)) {
            value.parts().for_each(|(step, part)| add(format!("{path}{step}"), part, found));
        }
        if found.len() == start {
            found.push((path, value));
        }
    }
    let mut found = Vec::new();
    add(String::new(), value, &mut found);
    found
}

/// Returns the part of a value at a path.
pub(super) fn leaf<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    value.parts().find_map(|(step, part)| leaf(part, path.strip_prefix(&*step)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_replay_tape::{Canonical, Ids, encode_to_vec};

    type Plain = ((f32, i16), [u8; 3], bool);

    fn image<T: Canonical>(rows: &[(u64, T)]) -> Image {
        let ids = Arc::new(Ids::new(rows.iter().map(|(id, _)| *id).collect()).expect("in order"));
        let mut lane = Lane::new("Body", T::schema().into());
        lane.ids = ids.clone();
        rows.iter().for_each(|(_, value)| lane.rows.push(|out| out.extend(encode_to_vec(value))));
        Image { tick: 1, roster: ids, lanes: vec![lane], resources: Vec::new() }
    }

    /// What a report would list for these states, counted per entity.
    fn reported(a: &Image, b: &Image) -> BTreeMap<Option<u64>, u32> {
        let mut counts = BTreeMap::new();
        a.diff(b).iter().for_each(|row| *counts.entry(row.sim_id).or_insert(0) += 1);
        counts
    }

    #[test]
    fn fields_that_differ_are_counted_as_the_report_lists_them() {
        let plain: [Plain; 3] = [((1.0, 2), [1, 2, 3], true), ((1.5, 2), [1, 9, 9], true), ((0.0, 0), [0; 3], false)];
        assert!(layout_of(&Plain::schema()).is_some(), "it has one");
        let (a, b) = (image(&[(3, plain[0]), (5, plain[0])]), image(&[(3, plain[1]), (5, plain[0]), (8, plain[2])]));
        let counts = differing(&a, &b, &mut Layouts::default());
        assert_eq!(counts, BTreeMap::from([(Some(3), 3), (Some(8), 1)]));
        assert_eq!(counts, reported(&a, &b));

        type Loose = (Vec<u8>, Option<f32>, String);
        assert!(layout_of(&Loose::schema()).is_none(), "it depends on the value");
        let (a, b): (Loose, Loose) = ((vec![1, 2], Some(1.0), "x".into()), (vec![1, 3], None, "x".into()));
        let (a, b) = (image(&[(3, a)]), image(&[(3, b)]));
        assert_eq!(differing(&a, &b, &mut Layouts::default()), reported(&a, &b));
    }

    #[test]
    fn fields_that_differ_are_those_of_the_report_and_the_rest_follows() {
        type Loose = (i32, Vec<u8>, Option<f32>, i32);
        let (a, b): (Loose, Loose) = ((1, vec![1, 2], Some(1.0), 5), (1, vec![1, 3, 4], None, 6));
        let (a, b) = (image(&[(3, a)]), image(&[(3, b)]));
        let rows = fields(Some(&a), Some(&b), Some(3));
        let (differ, same): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.differs);
        let reported: Vec<String> = a.diff(&b).into_iter().map(|row| row.path).collect();
        assert_eq!(differ.iter().map(|row| row.path.clone()).collect::<Vec<_>>(), reported);
        assert_eq!(same.iter().map(|row| &*row.path).collect::<Vec<_>>(), [".0", ".1[0]", ".1[2]"]);
        assert!(is_within(".x.y", ".x") && is_within(".x", ".x") && !is_within(".xy", ".x"));
    }

    #[test]
    fn each_field_has_a_path_that_leads_to_it() {
        let value: Plain = ((1.0, -2), [7, 8, 9], true);
        let value = Value::decode(&Plain::schema(), &encode_to_vec(&value)).expect("it was encoded");
        let paths: Vec<String> = leaves(&value).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, [".0.0", ".0.1", ".1[0]", ".1[1]", ".1[2]", ".2"]);
        assert!(leaves(&value).iter().all(|(path, part)| leaf(&value, path) == Some(part)));
        assert_eq!(leaf(&value, ".1[3]"), None);
    }

    #[test]
    fn what_is_there_in_one_run_only_is_absent_in_the_other() {
        let (a, b) = (image(&[(3, 5_u32)]), image::<u32>(&[]));
        let rows = fields(Some(&a), Some(&b), Some(3));
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].expected.as_deref(), rows[0].got.as_deref(), rows[0].differs),
            (Some("5"), Some("absent"), true)
        );
        let unknown = fields(None, Some(&a), Some(3));
        assert_eq!(
            (unknown[0].expected.as_deref(), unknown[0].got.as_deref(), unknown[0].differs),
            (None, Some("5"), false)
        );
    }
}
