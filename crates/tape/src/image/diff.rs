//! What differs between two images, by entity, field and value.

use super::{Image, Lane};
use crate::schema::Schema;
use crate::value::Value;
use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

/// One difference between two images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The entity; `None` for a resource.
    pub sim_id: Option<u64>,
    /// Name of the type; empty if the entity itself exists on one side only.
    pub type_name: String,
    /// Where in the value, as `.velocity.x` or `.items[3]`; empty for the whole value.
    pub path: String,
    /// What the first image holds.
    pub expected: Side,
    /// What the second image holds.
    pub got: Side,
}

/// One side of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// This value.
    Value(Value),
    /// So many items in a list.
    Count(usize),
    /// Nothing: the entity, the component or the resource is not there.
    Absent,
    /// The entity is there (and on the other side it is not).
    Present,
    /// The bytes could not be read with the schema.
    Unreadable,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Count(count) => write!(f, "{count} item{}", if *count == 1 { "" } else { "s" }),
            Self::Absent => f.write_str("absent"),
            Self::Present => f.write_str("present"),
            Self::Unreadable => f.write_str("unreadable bytes"),
        }
    }
}

impl Side {
    /// Returns what people read, and of what is longer than so many letters the beginning.
    #[must_use]
    pub fn shown(&self, letters_max: usize) -> String {
        let text = match self {
            Self::Value(Value::Entity(Some(id))) => format!("sim:{id}"),
            Self::Value(Value::Entity(None)) => "no entity".into(),
            _ => self.to_string(),
        };
        match text.chars().nth(letters_max) {
            Some(_) => text.chars().take(letters_max.saturating_sub(1)).chain(['…']).collect(),
            None => text,
        }
    }
}

impl Difference {
    /// Returns `sim:12 Velocity.x` or, for a resource, `Score.points`.
    #[must_use]
    pub fn place(&self) -> String {
        match self.sim_id {
            Some(id) if self.type_name.is_empty() => format!("sim:{id}"),
            Some(id) => format!("sim:{id} {}{}", self.type_name, self.path),
            None => format!("{}{}", self.type_name, self.path),
        }
    }

    /// Returns how many representable floats the two values are apart, if both are floats and none is NaN.
    ///
    /// For display only: nothing in this crate compares with a tolerance.
    #[must_use]
    pub fn ulps(&self) -> Option<u64> {
        // Negative floats count downwards from zero, so that neighbours differ by one across it.
        let line = |bits: i64, min: i64| if bits < 0 { min.wrapping_sub(bits) } else { bits };
        match (&self.expected, &self.got) {
            (Side::Value(a), Side::Value(b)) if a.has_nan() || b.has_nan() => None,
            (Side::Value(Value::F32(a)), Side::Value(Value::F32(b))) => {
                let on_line = |bits: u32| line(i64::from(bits.cast_signed()), i64::from(i32::MIN));
                Some(on_line(*a).abs_diff(on_line(*b)))
            }
            (Side::Value(Value::F64(a)), Side::Value(Value::F64(b))) => {
                Some(line(a.cast_signed(), i64::MIN).abs_diff(line(b.cast_signed(), i64::MIN)))
            }
            _ => None,
        }
    }
}

impl Image {
    /// Returns what differs, entities ascending by sim id, then resources; `self` is what was expected.
    ///
    /// The tick is not compared. Types that only one image knows are differences of each of their rows.
    #[must_use]
    pub fn diff(&self, got: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let whole = |id: u64, expected: Side, got: Side| Difference {
            sim_id: Some(id),
            type_name: String::new(),
            path: String::new(),
            expected,
            got,
        };
        let only_expected: BTreeSet<u64> =
            self.roster.iter().filter(|id| got.roster.row(**id).is_none()).copied().collect();
        let only_got: BTreeSet<u64> = got.roster.iter().filter(|id| self.roster.row(**id).is_none()).copied().collect();
        found.extend(only_expected.iter().map(|id| whole(*id, Side::Present, Side::Absent)));
        found.extend(only_got.iter().map(|id| whole(*id, Side::Absent, Side::Present)));

        diff_lanes(&mut found, self, got, |a, b| {
            let ids: BTreeSet<u64> = a.ids.iter().chain(b.ids.iter()).copied().collect();
            ids.difference(&only_expected).filter(|id| !only_got.contains(id)).copied().collect()
        });
        found.sort_by_key(|difference| difference.sim_id);
        diff_resources(&mut found, self, got);
        found
    }
}

impl Image {
    /// Returns what differs in one entity that both have, or in the resources (`None`): the rows that
    /// [`diff`](Self::diff) has of it, by type.
    #[must_use]
    pub fn diff_of(&self, got: &Self, sim_id: Option<u64>) -> Vec<Difference> {
        let mut found = Vec::new();
        match sim_id {
            Some(id) => diff_lanes(&mut found, self, got, |_, _| vec![id]),
            None => diff_resources(&mut found, self, got),
        }
        found
    }
}

impl Difference {
    /// Returns how many rows [`Image::diff`] has of two values of one encoding, given as bytes.
    #[must_use]
    pub fn count(schema: &Schema, expected: &[u8], got: &[u8]) -> usize {
        let mut found = Vec::new();
        diff_bytes(&mut found, None, "", (schema, Some(expected)), (schema, Some(got)));
        found.len()
    }
}

/// Compares the values of entities that `ids` chooses for a pair of lanes.
fn diff_lanes(found: &mut Vec<Difference>, a: &Image, b: &Image, ids: impl Fn(&Lane, &Lane) -> Vec<u64>) {
    let empty = Lane::new("", Schema::of::<()>().into());
    let names: BTreeSet<&str> = a.lanes.iter().chain(&b.lanes).map(|lane| &*lane.name).collect();
    for name in names {
        let (a, b) = (a.lane(name).unwrap_or(&empty), b.lane(name).unwrap_or(&empty));
        if a.ids == b.ids && a.rows == b.rows {
            continue;
        }
        for id in ids(a, b) {
            diff_bytes(found, Some(id), name, (&a.schema, a.get(id)), (&b.schema, b.get(id)));
        }
    }
}

fn diff_resources(found: &mut Vec<Difference>, a: &Image, b: &Image) {
    let names: BTreeSet<&str> = a.resources.iter().chain(&b.resources).map(|resource| &*resource.name).collect();
    let unknown = Schema::of::<()>().into();
    for name in names {
        let (a, b) = (a.resource(name), b.resource(name));
        let schema =
            |state: Option<&'_ super::ResourceState>| state.map_or_else(|| &unknown, |state| &state.schema).clone();
        let bytes = |state: Option<&'_ super::ResourceState>| state.and_then(|state| state.get()).map(<[u8]>::to_vec);
        diff_bytes(found, None, name, (&schema(a), bytes(a).as_deref()), (&schema(b), bytes(b).as_deref()));
    }
}

type Bytes<'a> = (&'a Schema, Option<&'a [u8]>);

fn diff_bytes(found: &mut Vec<Difference>, sim_id: Option<u64>, name: &str, a: Bytes<'_>, b: Bytes<'_>) {
    if a.1 == b.1 {
        return;
    }
    let side = |(schema, bytes): Bytes<'_>| match bytes {
        None => Side::Absent,
        Some(bytes) => Value::decode(schema, bytes).map_or(Side::Unreadable, Side::Value),
    };
    let row = Difference { sim_id, type_name: name.into(), path: String::new(), expected: side(a), got: side(b) };
    match (&row.expected, &row.got) {
        (Side::Value(x), Side::Value(y)) => diff_values(found, &row, String::new(), x, y),
        _ => found.push(row),
    }
}

fn diff_values(found: &mut Vec<Difference>, row: &Difference, path: String, a: &Value, b: &Value) {
    if a == b {
        return;
    }
    let leaf = |path: String, expected: Side, got: Side| Difference {
        path,
        expected,
        got,
        sim_id: row.sim_id,
        type_name: row.type_name.clone(),
    };
    let (parts_a, parts_b): (Vec<_>, Vec<_>) = (a.parts().collect(), b.parts().collect());
    let start = found.len();
    match (a, b) {
        (Value::List(x), Value::List(y)) if x.is_empty() || y.is_empty() => {}
        (Value::List(_), Value::List(_))
        | (Value::Tuple(_), Value::Tuple(_))
        | (Value::Option(_), Value::Option(_)) => {
            let (count_a, count_b) = (parts_a.len(), parts_b.len());
            let pairs = parts_a.into_iter().zip(parts_b);
            pairs.for_each(|((step, x), (_, y))| diff_values(found, row, format!("{path}{step}"), x, y));
            if count_a != count_b && !matches!(a, Value::Option(_)) {
                found.insert(start, leaf(path.clone(), Side::Count(count_a), Side::Count(count_b)));
            }
        }
        (Value::Enum(x, _), Value::Enum(y, _)) if x != y => {}
        (Value::Struct(_), Value::Struct(_))
        | (Value::Enum(..), Value::Enum(..))
        | (Value::Map(_), Value::Map(_))
        | (Value::Set(_), Value::Set(_)) => {
            // What has a name or a key is compared with what has the same on the other side.
            let keys_a: BTreeMap<&str, &Value> = parts_a.iter().map(|(step, value)| (&**step, *value)).collect();
            let keys_b: BTreeMap<&str, &Value> = parts_b.iter().map(|(step, value)| (&**step, *value)).collect();
            for (step, x) in &parts_a {
                match keys_b.get(&**step) {
                    Some(y) => diff_values(found, row, format!("{path}{step}"), x, y),
                    None => found.push(leaf(format!("{path}{step}"), Side::Value((*x).clone()), Side::Absent)),
                }
            }
            let only_b = parts_b.iter().filter(|(step, _)| !keys_a.contains_key(&**step));
            found
                .extend(only_b.map(|(step, y)| leaf(format!("{path}{step}"), Side::Absent, Side::Value((*y).clone()))));
        }
        _ => {}
    }
    // What has no parts to compare, or equal ones (a key that stands twice), differs as a whole.
    if found.len() == start {
        found.push(leaf(path, Side::Value(a.clone()), Side::Value(b.clone())));
    }
}
