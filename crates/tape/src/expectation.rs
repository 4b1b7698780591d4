//! What the state must be after some ticks, in one line.

use crate::image::Image;
use crate::schema::{Field, Schema, Shape, ShapeId};
use crate::value::{Value, encode_text};
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

/// What the state must be after some ticks: `tick 300 [sim:4] Player.on_ground == false`.
///
/// `tick 300` is the state after 300 ticks. The entity may be left out for a resource, and where only one entity has
/// the type. Then comes a field (`Player.pos.x`, `Bag.items[0]`, or the whole value: `Score`), one of `==`, `!=`, `<`,
/// `<=`, `>`, `>=`, and a value as a tape's text form has it.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::Expectation;
/// let line: Expectation = "tick 300 [sim:4] Player.on_ground == false".parse()?;
/// assert_eq!(line.tick(), 300);
/// assert_eq!(line.to_string(), "tick 300 [sim:4] Player.on_ground == false");
/// # Ok::<(), bevy_replay_tape::ExpectationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    tick: u64,
    sim_id: Option<u64>,
    type_name: String,
    path: Vec<Step>,
    comparison: Operator,
    value: String,
}

/// Why an expectation cannot be read, cannot be answered, or is not met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpectationError {
    /// The line is no expectation.
    #[error("`{line}` is no expectation: {reason} (as in `tick 300 [sim:4] Player.on_ground == false`)")]
    BadLine {
        /// The line.
        line: String,
        /// What is wrong.
        reason: String,
    },
    /// What it names is not there.
    #[error("{expectation}: {reason}")]
    NoAnswer {
        /// The line.
        expectation: String,
        /// What is not there, and what is.
        reason: String,
    },
    /// The state is another one.
    #[error("expected {expectation}, got {got}")]
    NotMet {
        /// The line.
        expectation: String,
        /// The value that is there.
        got: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// The longer ones first, as they begin with shorter ones.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::Different),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = OPERATORS.iter().find(|(_, operator)| operator == self);
        f.write_str(text.map_or("", |(text, _)| text))
    }
}

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Different => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, sim_id, type_name, path, comparison, value } = self;
        write!(f, "tick {tick} ")?;
        if let Some(id) = sim_id {
            write!(f, "[sim:{id}] ")?;
        }
        f.write_str(type_name)?;
        for step in path {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Item(key) => write!(f, "[{key}]")?,
            }
        }
        write!(f, " {comparison} {value}")
    }
}

impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(line: &str) -> Result<Self, ExpectationError> {
        let bad = |reason: &str| ExpectationError::BadLine { line: line.trim().into(), reason: reason.into() };
        let rest = line.trim().strip_prefix("tick ").ok_or_else(|| bad("it begins with `tick` and a number"))?;
        let (tick, rest) = rest.trim_start().split_once(' ').ok_or_else(|| bad("nothing is behind the tick"))?;
        let tick = tick.parse().map_err(|_| bad(&format!("`{tick}` is no tick")))?;
        let (sim_id, rest) = match entity_of(rest.trim_start()) {
            None => (None, rest.trim_start()),
            Some((id, rest)) => {
                let id = id.parse().map_err(|_| bad(&format!("`{id}` is no sim id")))?;
                (Some(id), rest.trim_start())
            }
        };
        let (at, (sign, comparison)) = operator_of(rest).ok_or_else(|| bad("no comparison as `==` stands in it"))?;
        let (place, value) = (rest[..at].trim(), rest[at + sign.len()..].trim());
        if value.is_empty() {
            return Err(bad(&format!("no value stands behind `{sign}`")));
        }
        let (type_name, path) = place_of(place).ok_or_else(|| bad(&format!("`{place}` is no type and field")))?;
        Ok(Self { tick, sim_id, type_name, path, comparison, value: value.into() })
    }
}

/// Splits `[sim:4] rest` or `sim:4 rest`.
fn entity_of(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix("[sim:") {
        Some(rest) => rest.split_once(']'),
        None => text.strip_prefix("sim:")?.split_once(' '),
    }
}

/// Finds the first comparison outside of brackets, quotes and the arguments of a generic type.
fn operator_of(text: &str) -> Option<(usize, (&'static str, Operator))> {
    let (mut depth, mut quoted) = (0_u32, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            // A comparison stands between spaces, and so `Grid<u8>` is a name.
            _ if !quoted && depth == 0 && text[..at].ends_with(' ') => {
                if let Some(found) = OPERATORS.iter().find(|(sign, _)| text[at..].starts_with(sign)) {
                    return Some((at, *found));
                }
            }
            _ => {}
        }
    }
    // `x==3`, without spaces
    let (at, found) =
        OPERATORS[..4].iter().filter_map(|found| Some((text.find(found.0)?, found))).min_by_key(|(at, _)| *at)?;
    Some((at, *found))
}

/// Splits `Player.pos.items[3]`.
fn place_of(text: &str) -> Option<(String, Vec<Step>)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut path = Vec::new();
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            path.push(Step::Field(tail[..end].into()));
            rest = &tail[end..];
        } else {
            let (key, tail) = rest.strip_prefix('[')?.split_once(']')?;
            path.push(Step::Item(key.trim().into()));
            rest = tail;
        }
    }
    let named = |step: &Step| !matches!(step, Step::Field(name) | Step::Item(name) if name.is_empty());
    (!name.is_empty() && !name.contains(char::is_whitespace) && path.iter().all(named)).then(|| (name.into(), path))
}

impl Expectation {
    /// Returns after how many ticks the state is meant.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Looks whether a state, which must be that of [`tick`](Self::tick), is the expected one.
    ///
    /// # Errors
    ///
    /// [`ExpectationError::NotMet`] if it is not, [`ExpectationError::NoAnswer`] if what the line names is not there.
    pub fn check(&self, image: &Image) -> Result<(), ExpectationError> {
        let no_answer = |reason: String| ExpectationError::NoAnswer { expectation: self.to_string(), reason };
        let (schema, bytes) = self.find(image).map_err(no_answer)?;
        let value = Value::decode(schema, bytes).map_err(|error| no_answer(error.to_string()))?;
        let (got, id) = walk(schema, &value, &self.path).map_err(no_answer)?;
        let part = schema.part(id);
        let expected = encode_text(&part, &self.value).map_err(|error| no_answer(error.to_string()))?;
        let expected = Value::decode(&part, &expected).map_err(|error| no_answer(error.to_string()))?;
        let holds = match (order(got, &expected), self.comparison) {
            (Some(order), comparison) => comparison.holds(order),
            (None, Operator::Equal) => got == &expected,
            (None, Operator::Different) => got != &expected,
            (None, _) => return Err(no_answer(format!("values of {part} have no order (compare with `==` or `!=`)"))),
        };
        if holds {
            Ok(())
        } else {
            Err(ExpectationError::NotMet { expectation: self.to_string(), got: got.to_string() })
        }
    }

    fn find<'a>(&self, image: &'a Image) -> Result<(&'a Schema, &'a [u8]), String> {
        let name = &*self.type_name;
        if let Some(resource) = image.resource(name).filter(|_| self.sim_id.is_none()) {
            let bytes = resource.get().ok_or_else(|| format!("there is no {name}"))?;
            return Ok((&resource.schema, bytes));
        }
        let names = || {
            let resources = image.resources.iter().map(|resource| &*resource.name);
            image.lanes.iter().map(|lane| &*lane.name).chain(resources).collect::<Vec<_>>().join(", ")
        };
        let lane = image.lane(name).ok_or_else(|| format!("there is no type {name} (known: {})", names()))?;
        let id = match (self.sim_id, &lane.ids[..]) {
            (Some(id), _) => id,
            (None, [id]) => *id,
            (None, ids) => {
                return Err(format!("{} entities have {name} (name one, as in `[sim:4] {name}`)", ids.len()));
            }
        };
        let bytes = lane.get(id).ok_or_else(|| format!("sim:{id} has no {name}"))?;
        Ok((&lane.schema, bytes))
    }
}

/// Follows a path into a value; what is optional is looked into.
fn walk<'a>(schema: &Schema, value: &'a Value, path: &[Step]) -> Result<(&'a Value, ShapeId), String> {
    let (mut value, mut id) = (value, Schema::ROOT);
    for step in path {
        while let (Value::Option(Some(inner)), Shape::Option { item }) = (value, schema.shape(id)) {
            (value, id) = (inner, *item);
        }
        let missing = || match step {
            Step::Field(name) => format!("{} has no field {name}", schema.text(id)),
            Step::Item(key) => format!("{} has no item {key}", schema.text(id)),
        };
        let field = |fields: &[Field], name: &str| fields.iter().position(|field| field.name == *name);
        let index = |key: &String| key.parse::<usize>().ok();
        (value, id) = match (step, value, schema.shape(id)) {
            (_, Value::Option(None), _) => return Err(format!("nothing is in {}", schema.text(id))),
            (Step::Field(name), Value::Struct(values), Shape::Struct { fields, .. }) => {
                let at = field(fields, name).ok_or_else(missing)?;
                (&values[at].1, fields[at].shape)
            }
            (Step::Field(name), Value::Enum(variant, values), Shape::Enum { variants, .. }) => {
                let fields =
                    variants.iter().find(|known| known.name == *variant).map_or(&[][..], |known| &known.fields);
                let at = field(fields, name).ok_or_else(|| format!("{variant} has no field {name}"))?;
                (&values[at].1, fields[at].shape)
            }
            (Step::Field(name), Value::Tuple(values), Shape::Tuple { items }) => {
                let at = index(name).filter(|at| *at < values.len()).ok_or_else(missing)?;
                (&values[at], items[at])
            }
            (Step::Item(key), Value::List(values), Shape::List { item } | Shape::Array { item, .. }) => {
                (index(key).and_then(|at| values.get(at)).ok_or_else(missing)?, *item)
            }
            (Step::Item(key), Value::Map(pairs), Shape::Map { value: item, .. }) => {
                let found = pairs.iter().find(|(known, _)| known.to_string() == *key);
                (&found.ok_or_else(missing)?.1, *item)
            }
            _ => return Err(missing()),
        };
    }
    Ok((value, id))
}

/// Returns which of two values is greater, where that has a meaning.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::UInt(a), Value::UInt(b)) | (Value::UFixed(a, _), Value::UFixed(b, _)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) | (Value::Fixed(a, _), Value::Fixed(b, _)) => Some(a.cmp(b)),
        (Value::F32(a), Value::F32(b)) => f32::from_bits(*a).partial_cmp(&f32::from_bits(*b)),
        (Value::F64(a), Value::F64(b)) => f64::from_bits(*a).partial_cmp(&f64::from_bits(*b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
