//! Canonical bytes read with a schema alone: what reports, text tapes and tools show.

mod text;

use crate::canonical::{Canonical, DEPTH_MAX, DecodeError, NO_ENTITY, NoEntities, Source};
use crate::schema::{Field, Schema, Shape, ShapeId, is_tuple};
use core::fmt;
use core::time::Duration;

pub use text::{ValueTextError, encode_text};

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
    /// Raw bits of a fixed-point number, sign extended, and how many are behind the point.
    Fixed(i128, u32),
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
    /// Array, list or set.
    List(Vec<Value>),
    /// Pairs of key and value.
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
        let value = Self::read(schema, Schema::ROOT, &mut source, 0)?;
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
        Self::read(schema, Schema::ROOT, &mut source, 0)?;
        Ok(bytes.len() - source.remaining())
    }

    fn read(schema: &Schema, id: ShapeId, input: &mut Source<'_>, depth: u32) -> Result<Self, DecodeError> {
        if depth > DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        let fields = |fields: &[Field], input: &mut Source<'_>| -> Result<Vec<(String, Self)>, DecodeError> {
            fields
                .iter()
                .map(|field| Ok((field.name.clone(), Self::read(schema, field.shape, input, depth + 1)?)))
                .collect()
        };
        let items = |count: usize, item: ShapeId, input: &mut Source<'_>| -> Result<Vec<Self>, DecodeError> {
            let mut list = Vec::new();
            for _ in 0..count {
                let before = input.remaining();
                list.push(Self::read(schema, item, input, depth + 1)?);
                if before == input.remaining() && list.len() > 4096 {
                    return Err(DecodeError::invalid("list of values without size", count));
                }
            }
            Ok(list)
        };
        Ok(match schema.shape(id) {
            Shape::Bool => Self::Bool(bool::decode(input)?),
            Shape::UInt { bits } => Self::UInt(u128::from_le_bytes(widened(input, *bits, false)?)),
            Shape::Int { bits } => Self::Int(i128::from_le_bytes(widened(input, *bits, true)?)),
            Shape::Float { bits: 32 } => Self::F32(u32::decode(input)?),
            Shape::Float { .. } => Self::F64(u64::decode(input)?),
            Shape::Fixed { bits, fraction_bits, signed } => {
                Self::Fixed(i128::from_le_bytes(widened(input, *bits, *signed)?), *fraction_bits)
            }
            Shape::Char => Self::Char(char::decode(input)?),
            Shape::String => Self::String(String::decode(input)?),
            Shape::Duration => Self::Duration(Duration::decode(input)?),
            Shape::Entity => Self::Entity(Some(u64::decode(input)?).filter(|id| *id != NO_ENTITY)),
            Shape::Option { item } => Self::Option(if bool::decode(input)? {
                Some(Box::new(Self::read(schema, *item, input, depth + 1)?))
            } else {
                None
            }),
            Shape::Array { item, len } => {
                let count = usize::try_from(*len).map_err(|_| DecodeError::invalid("array", len))?;
                Self::List(items(count, *item, input)?)
            }
            Shape::List { item } | Shape::Set { item } => {
                let count = input.count(0)?;
                Self::List(items(count, *item, input)?)
            }
            Shape::Map { key, value } => {
                let count = input.count(0)?;
                let mut pairs = Vec::new();
                for _ in 0..count {
                    let before = input.remaining();
                    pairs.push((
                        Self::read(schema, *key, input, depth + 1)?,
                        Self::read(schema, *value, input, depth + 1)?,
                    ));
                    if before == input.remaining() && pairs.len() > 1 {
                        return Err(DecodeError::invalid("map of values without size", count));
                    }
                }
                Self::Map(pairs)
            }
            Shape::Tuple { items } => Self::Tuple(
                items.iter().map(|item| Self::read(schema, *item, input, depth + 1)).collect::<Result<_, _>>()?,
            ),
            Shape::Struct { fields: list, .. } => Self::Struct(fields(list, input)?),
            Shape::Enum { name, variants } => {
                let tag = u32::decode(input)?;
                let variant = variants.iter().find(|variant| variant.tag == tag);
                let variant =
                    variant.ok_or_else(|| DecodeError::invalid(format!("enum {name}"), format!("tag {tag:08x}")))?;
                Self::Enum(variant.name.clone(), fields(&variant.fields, input)?)
            }
        })
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
    pub(crate) fn parts(&self) -> Box<dyn Iterator<Item = (String, &Self)> + '_> {
        match self {
            Self::Struct(fields) | Self::Enum(_, fields) => {
                Box::new(fields.iter().map(|(name, value)| (format!(".{name}"), value)))
            }
            Self::Tuple(items) => Box::new(items.iter().enumerate().map(|(i, value)| (format!(".{i}"), value))),
            Self::List(items) => Box::new(items.iter().enumerate().map(|(i, value)| (format!("[{i}]"), value))),
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
            Self::Fixed(raw, fraction_bits) => f.write_str(&fixed_text(*raw, *fraction_bits)),
            Self::Char(value) => write!(f, "{value:?}"),
            Self::String(value) => write!(f, "{value:?}"),
            Self::Duration(value) => write!(f, "({}, {})", value.as_secs(), value.subsec_nanos()),
            Self::Entity(Some(id)) => write!(f, "Some({id})"),
            Self::Entity(None) | Self::Option(None) => f.write_str("None"),
            Self::Option(Some(value)) => write!(f, "Some({value})"),
            Self::List(items) => list(f, "[", items, "]"),
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
            Self::Enum(name, list) if list.is_empty() => f.write_str(name),
            Self::Enum(name, list) => {
                f.write_str(name)?;
                fields(f, list)
            }
        }
    }
}

/// Exact decimal text of a fixed-point number.
fn fixed_text(raw: i128, fraction_bits: u32) -> String {
    if fraction_bits == 0 || fraction_bits > 124 {
        return format!("{raw}");
    }
    let magnitude = raw.unsigned_abs();
    let (whole, mut rest) = (magnitude >> fraction_bits, magnitude & ((1 << fraction_bits) - 1));
    let mut digits = String::new();
    // Each step moves one decimal digit over the point; the top four bits must stay free for it.
    while rest != 0 {
        rest *= 10;
        digits.push(char::from(b'0' + u8::try_from(rest >> fraction_bits).unwrap_or(9)));
        rest &= (1 << fraction_bits) - 1;
    }
    if digits.is_empty() {
        digits.push('0');
    }
    format!("{}{whole}.{digits}", if raw < 0 { "-" } else { "" })
}
