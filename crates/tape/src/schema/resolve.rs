//! Values of an older type read as those of a newer one: by the names of fields and variants.

use super::{Field, Schema, Shape, ShapeId};
use crate::canonical::{Canonical, DecodeError, NO_ENTITY, NoEntities, Source};
use crate::value::Value;
use std::collections::BTreeSet;

/// How values of one schema are read as those of another.
///
/// A field that was added has its default, one that was removed is dropped, fields and variants may stand in
/// another order, and variants may be added. A field with another type is an error.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Canonical, Resolution, encode_to_vec};
/// mod old { #[derive(bevy_replay_tape::Canonical)] #[canonical(crate = bevy_replay_tape)] pub struct Steer { pub x: i8 } }
/// mod new { #[derive(bevy_replay_tape::Canonical)] #[canonical(crate = bevy_replay_tape)] pub struct Steer { pub y: i8, pub x: i8 } }
/// let (before, now) = (old::Steer::schema(), new::Steer::schema());
/// let resolution = Resolution::new(&before, &now)?;
/// assert_eq!(resolution.notes(), ["y was added: its default is used"]);
/// assert_eq!(resolution.convert(&encode_to_vec(&old::Steer { x: 7 }), None)?, encode_to_vec(&new::Steer { y: 0, x: 7 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Resolution<'a> {
    from: &'a Schema,
    to: &'a Schema,
    notes: Vec<String>,
    is_identity: bool,
}

/// A field has another type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: the tape has `{expected}`, this app has `{got}` (give the field another name, or its old type)",
    shown(path)
)]
pub struct ResolveError {
    /// The field, as `position.x`; empty for the value itself.
    pub path: String,
    /// Its type on the tape.
    pub expected: String,
    /// Its type in the app.
    pub got: String,
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the value" } else { path }
}

impl<'a> Resolution<'a> {
    /// Pairs two schemas; `from` is that of the tape.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] naming a field that has another type.
    pub fn new(from: &'a Schema, to: &'a Schema) -> Result<Self, ResolveError> {
        let mut paired = Self { from, to, notes: Vec::new(), is_identity: true };
        // Types may contain themselves: each pair is looked at once.
        let mut seen = BTreeSet::new();
        let mut pairs = vec![(Schema::ROOT, Schema::ROOT, String::new())];
        while let Some((a, b, path)) = pairs.pop() {
            if seen.insert((a, b)) {
                let at = pairs.len();
                paired.pair(a, b, &path, &mut pairs)?;
                pairs[at..].reverse(); // so that notes come in the order of the fields
            }
        }
        Ok(paired)
    }

    /// Returns what was done to fields, for people: `dash was added: its default is used`.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether all values keep their bytes: at most variants were added or removed.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.is_identity
    }

    fn pair(
        &mut self,
        a: ShapeId,
        b: ShapeId,
        path: &str,
        pairs: &mut Vec<(ShapeId, ShapeId, String)>,
    ) -> Result<(), ResolveError> {
        let (from, to) = (self.from, self.to);
        let changed =
            || ResolveError { path: path.into(), expected: from.text(a).to_string(), got: to.text(b).to_string() };
        match (from.shape(a), to.shape(b)) {
            // Where no name has stayed it is another type, as a tuple struct that was given names.
            (Shape::Struct { fields: old, .. }, Shape::Struct { fields: new, .. })
                if old.is_empty() || new.is_empty() || old.iter().any(|field| find(new, field).is_some()) =>
            {
                self.pair_fields(old, new, path, pairs);
            }
            (Shape::Enum { variants: old, .. }, Shape::Enum { variants: new, .. }) => {
                for variant in old {
                    let Some(twin) = new.iter().find(|twin| twin.name == variant.name) else { continue };
                    self.is_identity &= variant.tag == twin.tag;
                    self.pair_fields(&variant.fields, &twin.fields, &join(path, &variant.name), pairs);
                }
            }
            (Shape::Array { item, len }, Shape::Array { item: twin, len: new }) if len == new => {
                pairs.push((*item, *twin, format!("{path}[]")));
            }
            (Shape::Option { item }, Shape::Option { item: twin }) => pairs.push((*item, *twin, path.into())),
            (Shape::List { item }, Shape::List { item: twin }) | (Shape::Set { item }, Shape::Set { item: twin }) => {
                pairs.push((*item, *twin, format!("{path}[]")));
            }
            (Shape::Map { key, value }, Shape::Map { key: new_key, value: new_value }) => {
                pairs.push((*key, *new_key, format!("{path}[]")));
                pairs.push((*value, *new_value, format!("{path}[]")));
            }
            (Shape::Tuple { items }, Shape::Tuple { items: twins }) if items.len() == twins.len() => {
                for (index, (item, twin)) in items.iter().zip(twins).enumerate() {
                    pairs.push((*item, *twin, join(path, &index.to_string())));
                }
            }
            (a, b) if is_leaf(a) && a == b => {}
            _ => return Err(changed()),
        }
        Ok(())
    }

    fn pair_fields(&mut self, old: &[Field], new: &[Field], path: &str, pairs: &mut Vec<(ShapeId, ShapeId, String)>) {
        self.is_identity &= old.len() == new.len() && old.iter().zip(new).all(|(a, b)| a.name == b.name);
        for field in old {
            let path = join(path, &field.name);
            match find(new, field) {
                Some(twin) => pairs.push((field.shape, twin.shape, path)),
                None => self.notes.push(format!("{path} was removed: what is recorded of it is dropped")),
            }
        }
        for field in new.iter().filter(|field| find(old, field).is_none()) {
            self.notes.push(format!("{} was added: its default is used", join(path, &field.name)));
        }
    }

    /// Converts one value. Fields that were added are taken from `default`, canonical bytes of the newer type;
    /// without it, and inside of lists, they are zero, empty or the first variant.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are no value of the older schema, or hold a variant that the newer one lacks.
    pub fn convert(&self, bytes: &[u8], default: Option<&[u8]>) -> Result<Vec<u8>, DecodeError> {
        if self.is_identity {
            Value::decode(self.to, bytes)?;
            return Ok(bytes.to_vec());
        }
        let mut source = Source::new(bytes, &NoEntities);
        let mut out = Vec::new();
        self.value(Schema::ROOT, Schema::ROOT, &mut source, default, &mut out)?;
        source.finish()?;
        Value::decode(self.to, &out)?; // what was added may be too much to be read
        Ok(out)
    }

    fn value(
        &self,
        a: ShapeId,
        b: ShapeId,
        input: &mut Source<'_>,
        default: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        let (old, new) = (self.from.shape(a), self.to.shape(b));
        if is_leaf(old) {
            let (_, bytes) = Value::read(self.from, a, input)?;
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let ((), _) = input.part(|input| input.deeper(|input| self.value_inside(old, new, input, default, out)))?;
        Ok(())
    }

    fn value_inside(
        &self,
        old: &Shape,
        new: &Shape,
        input: &mut Source<'_>,
        default: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        match (old, new) {
            (Shape::Struct { fields: old, .. }, Shape::Struct { fields: new, .. }) => {
                self.fields(old, new, input, default, out)
            }
            (Shape::Enum { name, variants: old }, Shape::Enum { variants: new, .. }) => {
                let tag = u32::decode(input)?;
                let invalid = |found: String| DecodeError::invalid(format!("enum {name}"), found);
                let variant = old.iter().find(|variant| variant.tag == tag);
                let variant = variant.ok_or_else(|| invalid(format!("tag {tag:08x}")))?;
                let twin = new.iter().find(|twin| twin.name == variant.name);
                let twin = twin.ok_or_else(|| invalid(format!("`{}`, which was removed,", variant.name)))?;
                out.extend_from_slice(&twin.tag.to_le_bytes());
                self.fields(&variant.fields, &twin.fields, input, None, out)
            }
            (Shape::Option { item }, Shape::Option { item: twin }) => {
                let some = bool::decode(input)?;
                out.push(u8::from(some));
                if some { self.value(*item, *twin, input, None, out) } else { Ok(()) }
            }
            (Shape::Array { item, len }, Shape::Array { item: twin, .. }) => {
                (0..*len).try_for_each(|_| self.value(*item, *twin, input, None, out))
            }
            (Shape::List { item }, Shape::List { item: twin }) => {
                let count = input.count(0)?;
                out.extend_from_slice(&(count as u64).to_le_bytes());
                (0..count).try_for_each(|_| self.value(*item, *twin, input, None, out))
            }
            (Shape::Set { item }, Shape::Set { item: twin }) => self.sorted(&[(*item, *twin)], input, out),
            (Shape::Map { key, value }, Shape::Map { key: new_key, value: new_value }) => {
                self.sorted(&[(*key, *new_key), (*value, *new_value)], input, out)
            }
            (Shape::Tuple { items }, Shape::Tuple { items: twins }) => {
                items.iter().zip(twins).try_for_each(|(item, twin)| self.value(*item, *twin, input, None, out))
            }
            _ => unreachable!("what cannot be paired is refused before"),
        }
    }

    fn fields(
        &self,
        old: &[Field],
        new: &[Field],
        input: &mut Source<'_>,
        default: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        let mut defaults: Vec<Option<&[u8]>> = vec![None; new.len()];
        if let Some(default) = default {
            let mut source = Source::new(default, &NoEntities);
            for (field, default) in new.iter().zip(&mut defaults) {
                *default = Some(Value::read(self.to, field.shape, &mut source)?.1);
            }
        }
        let mut parts: Vec<Option<Vec<u8>>> = vec![None; new.len()];
        for field in old {
            match new.iter().position(|twin| twin.name == field.name) {
                Some(index) => {
                    let part = parts[index].insert(Vec::new());
                    self.value(field.shape, new[index].shape, input, defaults[index], part)?;
                }
                None => drop(Value::read(self.from, field.shape, input)?),
            }
        }
        for ((field, part), default) in new.iter().zip(parts).zip(defaults) {
            match (part, default) {
                (Some(bytes), _) => out.extend_from_slice(&bytes),
                (None, Some(bytes)) => out.extend_from_slice(bytes),
                (None, None) => zero(self.to, field.shape, &mut ZERO_SHAPES_MAX.clone(), out)?,
            }
        }
        Ok(())
    }

    /// Converts the items of a set or map, and puts them into the order of their new bytes.
    fn sorted(
        &self,
        parts: &[(ShapeId, ShapeId)],
        input: &mut Source<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        let mut items = Vec::new();
        for _ in 0..input.count(0)? {
            let mut item = Vec::new();
            for (old, new) in parts {
                self.value(*old, *new, input, None, &mut item)?;
            }
            items.push(item);
        }
        items.sort();
        out.extend_from_slice(&(items.len() as u64).to_le_bytes());
        items.iter().for_each(|item| out.extend_from_slice(item));
        Ok(())
    }
}

fn find<'a>(fields: &'a [Field], like: &Field) -> Option<&'a Field> {
    fields.iter().find(|field| field.name == like.name)
}

fn join(path: &str, step: &str) -> String {
    if path.is_empty() { step.into() } else { format!("{path}.{step}") }
}

fn is_leaf(shape: &Shape) -> bool {
    match shape {
        Shape::Bool | Shape::UInt { .. } | Shape::Int { .. } | Shape::Float { .. } | Shape::Fixed { .. } => true,
        Shape::Char | Shape::String | Shape::Duration | Shape::Entity => true,
        Shape::Option { .. } | Shape::Array { .. } | Shape::List { .. } | Shape::Set { .. } => false,
        Shape::Map { .. } | Shape::Tuple { .. } | Shape::Struct { .. } | Shape::Enum { .. } => false,
    }
}

/// Writes the value that a type has without anything said: zero, empty, or its first variant.
///
/// `left` bounds how many shapes are visited: an array may claim any length, and an enum may begin with itself.
fn zero(schema: &Schema, id: ShapeId, left: &mut u32, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    *left = left.checked_sub(1).ok_or(DecodeError::TooDeep)?;
    let bytes = match schema.shape(id) {
        Shape::Array { item, len } => return (0..*len).try_for_each(|_| zero(schema, *item, left, out)),
        Shape::Tuple { items } => return items.iter().try_for_each(|item| zero(schema, *item, left, out)),
        Shape::Struct { fields, .. } => {
            return fields.iter().try_for_each(|field| zero(schema, field.shape, left, out));
        }
        Shape::Enum { name, variants } => {
            let none = || DecodeError::invalid(format!("enum {name}"), "no variant");
            let variant = variants.first().ok_or_else(none)?;
            out.extend_from_slice(&variant.tag.to_le_bytes());
            return variant.fields.iter().try_for_each(|field| zero(schema, field.shape, left, out));
        }
        Shape::Entity => {
            out.extend_from_slice(&NO_ENTITY.to_le_bytes());
            return Ok(());
        }
        Shape::UInt { bits } | Shape::Int { bits } | Shape::Float { bits } | Shape::Fixed { bits, .. } => bits / 8,
        Shape::Bool | Shape::Option { .. } => 1,
        Shape::Char => 4,
        Shape::Duration => 12,
        Shape::String | Shape::List { .. } | Shape::Set { .. } | Shape::Map { .. } => 8, // a count of nothing
    };
    out.resize(out.len() + bytes as usize, 0);
    Ok(())
}

/// Most shapes of the default of a field; each takes a level of the stack at most.
const ZERO_SHAPES_MAX: u32 = 1 << 10;
