//! Canonical bytes read with a schema alone: what reports, text tapes and tools show.

mod json;
mod text;

use crate::canonical::{Canonical, DecodeError, NO_ENTITY, NoEntities, Source};
use crate::schema::{Field, Schema, Shape, ShapeId, is_tuple};
use core::fmt;
use core::time::Duration;

pub use json::encode_json;
pub use text::{ValueTextError, encode_text};
pub(crate) use text::{is_name, ron_options};

/// A decoded value. Exact: floats and fixed-point numbers keep their bits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// Unsigned integer of any width.
    UInt(u128),
    /// Signed integer of any width.
    Int(i128),
    /// Bits of an `f32`.
    F32(u32),
    /// Bits of an `f64`.
    F64(u64),
    /// Raw bits of a signed fixed-point number, and how many are behind the point.
    Fixed(i128, u32),
    /// Raw bits of an unsigned fixed-point number, and how many are behind the point.
    UFixed(u128, u32),
    /// Unicode scalar value.
    Char(char),
    /// Text.
    String(String),
    /// Length of time.
    Duration(Duration),
    /// The sim id an entity reference points at, or none.
    Entity(Option<u64>),
    /// Optional value.
    Option(Option<Box<Value>>),
    /// Array or list.
    List(Vec<Value>),
    /// Set, in the order of the items' bytes.
    Set(Vec<Value>),
    /// Pairs of key and value, in the order of their bytes.
    Map(Vec<(Value, Value)>),
    /// Tuple.
    Tuple(Vec<Value>),
    /// Struct: fields by name.
    Struct(Vec<(String, Value)>),
    /// Enum: name of the variant and its fields.
    Enum(String, Vec<(String, Value)>),
}

impl Value {
    /// Reads one value and nothing after it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] where the bytes are no value of that schema.
    pub fn decode(schema: &Schema, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut source = Source::new(bytes, &NoEntities);
        let (value, _) = Self::read(schema, Schema::ROOT, &mut source)?;
        source.finish()?;
        Ok(value)
    }

    /// Returns how many bytes the first value of `bytes` takes.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] where the bytes are no value of that schema.
    pub fn measure(schema: &Schema, bytes: &[u8]) -> Result<usize, DecodeError> {
        let mut source = Source::new(bytes, &NoEntities);
        let (_, bytes) = Self::read(schema, Schema::ROOT, &mut source)?;
        Ok(bytes.len())
    }

    /// Reads a value, and returns its bytes with it.
    pub(crate) fn read<'a>(
        schema: &Schema,
        id: ShapeId,
        input: &mut Source<'a>,
    ) -> Result<(Self, &'a [u8]), DecodeError> {
        input.part(|input| match schema.shape(id) {
            Shape::Bool => bool::decode(input).map(Self::Bool),
            Shape::UInt { bits } => widened(input, *bits, false).map(u128::from_le_bytes).map(Self::UInt),
            Shape::Int { bits } => widened(input, *bits, true).map(i128::from_le_bytes).map(Self::Int),
            Shape::Float { bits: 32 } => f32::decode(input).map(|value| Self::F32(value.to_bits())),
            Shape::Float { .. } => f64::decode(input).map(|value| Self::F64(value.to_bits())),
            Shape::Fixed { bits, fraction_bits, signed: true } => {
                widened(input, *bits, true).map(|raw| Self::Fixed(i128::from_le_bytes(raw), *fraction_bits))
            }
            Shape::Fixed { bits, fraction_bits, signed: false } => {
                widened(input, *bits, false).map(|raw| Self::UFixed(u128::from_le_bytes(raw), *fraction_bits))
            }
            Shape::Char => char::decode(input).map(Self::Char),
            Shape::String => String::decode(input).map(Self::String),
            Shape::Duration => Duration::decode(input).map(Self::Duration),
            Shape::Entity => u64::decode(input).map(|id| Self::Entity(Some(id).filter(|id| *id != NO_ENTITY))),
            inner => input.deeper(|input| Self::read_inside(schema, inner, input)),
        })
    }

    /// Reads a value that is made of others. Apart from [`read`](Self::read), and in loops, to keep the stack small.
    fn read_inside(schema: &Schema, shape: &Shape, input: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(match shape {
            Shape::Option { .. } if !bool::decode(input)? => Self::Option(None),
            Shape::Option { item } => Self::Option(Some(Box::new(Self::read(schema, *item, input)?.0))),
            Shape::Array { item, len } => Self::List(Self::read_list(schema, *item, *len, input)?),
            Shape::List { item } => {
                let count = input.count(0)? as u64;
                Self::List(Self::read_list(schema, *item, count, input)?)
            }
            Shape::Set { item } => {
                let (mut items, mut before): (_, &[u8]) = (Vec::new(), &[]);
                for _ in 0..input.count(0)? {
                    let (value, bytes) = Self::read(schema, *item, input)?;
                    if core::mem::replace(&mut before, bytes) > bytes {
                        return Err(DecodeError::Unsorted);
                    }
                    items.push(value);
                }
                Self::Set(items)
            }
            Shape::Map { key, value } => {
                let (mut pairs, mut before): (_, (&[u8], &[u8])) = (Vec::new(), (&[], &[]));
                for _ in 0..input.count(0)? {
                    let (key, key_bytes) = Self::read(schema, *key, input)?;
                    let (value, value_bytes) = Self::read(schema, *value, input)?;
                    let bytes = (key_bytes, value_bytes);
                    if core::mem::replace(&mut before, bytes) > bytes {
                        return Err(DecodeError::Unsorted);
                    }
                    pairs.push((key, value));
                }
                Self::Map(pairs)
            }
            Shape::Tuple { items } => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(Self::read(schema, *item, input)?.0);
                }
                Self::Tuple(values)
            }
            Shape::Struct { fields, .. } => Self::Struct(Self::read_fields(schema, fields, input)?),
            Shape::Enum { name, variants } => {
                let tag = u32::decode(input)?;
                let variant = variants.iter().find(|variant| variant.tag == tag);
                let variant =
                    variant.ok_or_else(|| DecodeError::invalid(format!("enum {name}"), format!("tag {tag:08x}")))?;
                Self::Enum(variant.name.clone(), Self::read_fields(schema, &variant.fields, input)?)
            }
            _ => unreachable!("all other shapes are leaves"),
        })
    }

    fn read_list(schema: &Schema, item: ShapeId, count: u64, input: &mut Source<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut items = Vec::new(); // the count is not to be trusted with memory
        for _ in 0..count {
            items.push(Self::read(schema, item, input)?.0);
        }
        Ok(items)
    }

    fn read_fields(
        schema: &Schema,
        fields: &[Field],
        input: &mut Source<'_>,
    ) -> Result<Vec<(String, Self)>, DecodeError> {
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            values.push((field.name.clone(), Self::read(schema, field.shape, input)?.0));
        }
        Ok(values)
    }

    /// Returns whether a NaN is somewhere inside.
    #[must_use]
    pub fn has_nan(&self) -> bool {
        match self {
            Self::F32(bits) => f32::from_bits(*bits).is_nan(),
            Self::F64(bits) => f64::from_bits(*bits).is_nan(),
            _ => self.parts().any(|(_, part)| part.has_nan()),
        }
    }

    /// Returns whether an entity reference inside points at nothing simulated.
    #[must_use]
    pub fn has_dangling(&self) -> bool {
        matches!(self, Self::Entity(None)) || self.parts().any(|(_, part)| part.has_dangling())
    }

    /// Returns the values inside with the step of the field path that leads there.
    pub fn parts(&self) -> Box<dyn Iterator<Item = (String, &Self)> + '_> {
        match self {
            Self::Struct(fields) | Self::Enum(_, fields) => {
                Box::new(fields.iter().map(|(name, value)| (format!(".{name}"), value)))
            }
            Self::Tuple(items) => Box::new(items.iter().enumerate().map(|(i, value)| (format!(".{i}"), value))),
            Self::List(items) => Box::new(items.iter().enumerate().map(|(i, value)| (format!("[{i}]"), value))),
            Self::Set(items) => Box::new(items.iter().map(|value| (format!("[{value}]"), value))),
            Self::Map(pairs) => Box::new(pairs.iter().map(|(key, value)| (format!("[{key}]"), value))),
            Self::Option(Some(value)) => Box::new(core::iter::once((String::new(), &**value))),
            _ => Box::new(core::iter::empty()),
        }
    }
}

/// Reads `bits / 8` bytes and extends them to 128 bits.
fn widened(input: &mut Source<'_>, bits: u32, signed: bool) -> Result<[u8; 16], DecodeError> {
    let bytes = input.take(bits as usize / 8)?;
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    Ok(wide)
}

/// Names that RON takes for something else than a variant, unless they are marked as raw.
const LITERALS: [&str; 10] = ["true", "false", "Some", "None", "inf", "inff32", "inff64", "NaN", "NaNf32", "NaNf64"];

/// RON text; the inverse is [`encode_text`].
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, open: &str, items: &[Self], close: &str| {
            f.write_str(open)?;
            for (i, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
            }
            f.write_str(close)
        };
        let fields = |f: &mut fmt::Formatter<'_>, fields: &[(String, Self)]| {
            let shown: Vec<Field> =
                fields.iter().map(|(name, _)| Field { name: name.clone(), shape: Schema::ROOT }).collect();
            let tuple = is_tuple(&shown);
            f.write_str("(")?;
            for (i, (name, value)) in fields.iter().enumerate() {
                f.write_str(if i == 0 { "" } else { ", " })?;
                if !tuple {
                    write!(f, "{name}: ")?;
                }
                write!(f, "{value}")?;
            }
            f.write_str(")")
        };
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::UInt(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::F32(bits) => write!(f, "{:?}", f32::from_bits(*bits)),
            Self::F64(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
            Self::Fixed(raw, fraction_bits) => write_fixed(f, *raw < 0, raw.unsigned_abs(), *fraction_bits),
            Self::UFixed(raw, fraction_bits) => write_fixed(f, false, *raw, *fraction_bits),
            Self::Char(value) => write!(f, "{value:?}"),
            Self::String(value) => write!(f, "{value:?}"),
            Self::Duration(value) => write!(f, "({}, {})", value.as_secs(), value.subsec_nanos()),
            Self::Entity(Some(id)) => write!(f, "Some({id})"),
            Self::Entity(None) | Self::Option(None) => f.write_str("None"),
            Self::Option(Some(value)) => write!(f, "Some({value})"),
            Self::List(items) | Self::Set(items) => list(f, "[", items, "]"),
            Self::Tuple(items) if items.len() == 1 => list(f, "(", items, ",)"),
            Self::Tuple(items) => list(f, "(", items, ")"),
            Self::Map(pairs) => {
                f.write_str("{")?;
                for (i, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Self::Struct(list) => fields(f, list),
            Self::Enum(name, list) if list.is_empty() && name != "Some" => f.write_str(name),
            Self::Enum(name, list) => {
                f.write_str(if LITERALS.contains(&name.as_str()) { "r#" } else { "" })?;
                f.write_str(name)?;
                if list.is_empty() { Ok(()) } else { fields(f, list) }
            }
        }
    }
}

/// Writes a fixed-point number as an exact decimal.
fn write_fixed(f: &mut fmt::Formatter<'_>, negative: bool, magnitude: u128, fraction_bits: u32) -> fmt::Result {
    let whole = magnitude.checked_shr(fraction_bits).unwrap_or(0);
    write!(f, "{}{whole}.", if negative { "-" } else { "" })?;
    // The bits behind the point, moved to the top: times ten, what passes the top is the next digit.
    let mut rest = magnitude.checked_shl(u128::BITS.saturating_sub(fraction_bits)).unwrap_or(0);
    loop {
        let (low, digit) = rest.carrying_mul(10, 0);
        write!(f, "{digit}")?;
        rest = low;
        if rest == 0 {
            return Ok(());
        }
    }
}
