//! Values from RON text, guided by their schema.

use crate::canonical::{Canonical, DEPTH_MAX, DecodeError, NO_ENTITY, decode_from_slice, encode_to_vec};
use crate::schema::{Field, Schema, Shape, ShapeId, is_tuple};
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use serde::de::{DeserializeSeed, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Why text is no value of a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {expected}: {reason}")]
pub struct ValueTextError {
    /// The text.
    pub text: String,
    /// The schema as a Rust type.
    pub expected: String,
    /// What is wrong, and where.
    pub reason: String,
}

/// Reads RON text into canonical bytes; the inverse of decoding a [`Value`](super::Value) and printing it.
///
/// # Errors
///
/// [`ValueTextError`] naming the place.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Canonical, encode_text, encode_to_vec};
/// let schema = <(i8, bool)>::schema();
/// assert_eq!(encode_text(&schema, "(1, true)")?, encode_to_vec(&(1_i8, true)));
/// # Ok::<(), bevy_replay_tape::ValueTextError>(())
/// ```
pub fn encode_text(schema: &Schema, text: &str) -> Result<Vec<u8>, ValueTextError> {
    let fail = |reason: String| ValueTextError { text: text.into(), expected: schema.to_string(), reason };
    let mut out = Vec::new();
    let seed = Seed { schema, id: Schema::ROOT, depth: 0, out: &mut out };
    let read = ron_options().from_str_seed(text, seed);
    read.map_err(|error| fail(error.to_string()))?;
    Ok(out)
}

/// A level of a value takes up to three of RON's, and the tape around it some more.
pub(crate) fn ron_options() -> ron::Options {
    ron::Options::default().with_recursion_limit(3 * DEPTH_MAX as usize + 16)
}

/// Appends the canonical bytes of one value.
struct Seed<'a> {
    schema: &'a Schema,
    id: ShapeId,
    depth: u32,
    out: &'a mut Vec<u8>,
}

impl Seed<'_> {
    fn at(&mut self, id: ShapeId) -> Seed<'_> {
        Seed { schema: self.schema, id, depth: self.depth + 1, out: self.out }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        match self.schema.shape(self.id) {
            Shape::Bool => input.deserialize_bool(self),
            Shape::UInt { .. } => input.deserialize_u128(self),
            Shape::Int { .. } => input.deserialize_i128(self),
            Shape::Float { bits: 32 } => input.deserialize_f32(self),
            Shape::Float { .. } => input.deserialize_f64(self),
            Shape::Fixed { bits, fraction_bits, signed } => {
                // A decimal of 128 bits does not fit a float, so its digits are read as they stand.
                let digits = <Box<ron::value::RawValue>>::deserialize(input)?;
                let digits = digits.get_ron().trim();
                let (negative, magnitude) =
                    fixed_raw(digits, *fraction_bits).ok_or_else(|| D::Error::custom("no exact fixed-point number"))?;
                self.put_integer(negative, magnitude, *bits, *signed, digits)
            }
            Shape::Char => input.deserialize_char(self),
            Shape::String => input.deserialize_string(self),
            Shape::Duration => input.deserialize_tuple(2, self),
            Shape::Entity => input.deserialize_option(self),
            _ if self.depth == DEPTH_MAX => Err(D::Error::custom(DecodeError::TooDeep)),
            Shape::Option { .. } => input.deserialize_option(self),
            Shape::Array { .. } | Shape::List { .. } | Shape::Set { .. } => input.deserialize_seq(self),
            Shape::Map { .. } => input.deserialize_map(self),
            Shape::Tuple { items } => input.deserialize_tuple(items.len(), self),
            Shape::Struct { fields, .. } => deserialize_fields(fields, self, input),
            Shape::Enum { .. } => input.deserialize_enum("", &[], self),
        }
    }
}

fn deserialize_fields<'de, D: Deserializer<'de>>(fields: &[Field], seed: Seed<'_>, input: D) -> Result<(), D::Error> {
    match fields {
        [] => input.deserialize_tuple_struct("", 0, seed),
        fields if is_tuple(fields) => input.deserialize_tuple_struct("", fields.len(), seed),
        _ => input.deserialize_struct("", &[], seed),
    }
}

impl Seed<'_> {
    /// Appends an integer if it fits the width.
    fn put_integer<E: Error>(
        self,
        negative: bool,
        magnitude: u128,
        bits: u32,
        signed: bool,
        text: impl fmt::Display,
    ) -> Result<(), E> {
        let max = u128::MAX >> (u128::BITS - bits);
        let fits = match (negative, signed) {
            (false, false) => magnitude <= max,
            (false, true) => magnitude <= max >> 1,
            (true, true) => magnitude <= (max >> 1) + 1,
            (true, false) => magnitude == 0,
        };
        if !fits {
            return Err(E::custom(format_args!("{text} is out of the range of {}", self.schema.text(self.id))));
        }
        let value = if negative { magnitude.wrapping_neg() } else { magnitude };
        self.out.extend_from_slice(&value.to_le_bytes()[..bits as usize / 8]);
        Ok(())
    }

    /// Appends exactly `count` values.
    fn put_sequence<'de, A: SeqAccess<'de>>(
        mut self,
        items: impl Iterator<Item = ShapeId>,
        count: u64,
        mut input: A,
    ) -> Result<(), A::Error> {
        for (i, item) in items.enumerate() {
            let missing = || A::Error::custom(format_args!("{count} values expected, {i} found"));
            input.next_element_seed(self.at(item))?.ok_or_else(missing)?;
        }
        match input.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::custom(format_args!("{count} values expected, more found"))),
        }
    }

    fn put_fields<'de, A: MapAccess<'de>>(self, fields: &[Field], mut input: A) -> Result<(), A::Error> {
        let mut parts: Vec<Option<Vec<u8>>> = vec![None; fields.len()];
        while let Some(name) = input.next_key_seed(PhantomData::<Name>)? {
            let known = || fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
            let index = fields.iter().position(|field| field.name == name.0);
            let index = index.ok_or_else(|| A::Error::custom(format!("no field `{}` (known: {})", name.0, known())))?;
            let mut part = Vec::new();
            let seed = Seed { schema: self.schema, id: fields[index].shape, depth: self.depth + 1, out: &mut part };
            input.next_value_seed(seed).map_err(|error| within(&name.0, &error))?;
            if parts[index].replace(part).is_some() {
                return Err(A::Error::custom(format!("field `{}` stands twice", name.0)));
            }
        }
        for (field, part) in fields.iter().zip(parts) {
            let part = part.ok_or_else(|| A::Error::custom(format!("field `{}` is missing", field.name)))?;
            self.out.extend_from_slice(&part);
        }
        Ok(())
    }
}

/// Adds the field or variant in which an error was found: `position: x: 300 is out of the range of i8`.
fn within<E: Error>(name: &str, error: &E) -> E {
    E::custom(format_args!("{name}: {error}"))
}

/// Returns whether a field or variant of this name can be read back from text.
pub(crate) fn is_name(text: &str) -> bool {
    ron::from_str::<Name>(text).is_ok_and(|name| name.0 == text)
}

/// The name of a field or variant, borrowed or not.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name(#[serde(deserialize_with = "name")] String);

fn name<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    struct Identifier;
    impl Visitor<'_> for Identifier {
        type Value = String;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            Ok(text.into())
        }
    }
    input.deserialize_identifier(Identifier)
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of {}", self.schema.text(self.id))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.out.push(u8::from(value));
        Ok(())
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<(), E> {
        match self.schema.shape(self.id) {
            Shape::UInt { bits } => self.put_integer(false, value, *bits, false, value),
            _ => Err(E::custom("unexpected number")),
        }
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<(), E> {
        match self.schema.shape(self.id) {
            Shape::Int { bits } => self.put_integer(value < 0, value.unsigned_abs(), *bits, true, value),
            _ => Err(E::custom("unexpected number")),
        }
    }

    fn visit_f32<E: Error>(self, value: f32) -> Result<(), E> {
        put(self, &value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        put(self, &value)
    }

    fn visit_char<E: Error>(self, value: char) -> Result<(), E> {
        put(self, &value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        put(self, &String::from(value))
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        match self.schema.shape(self.id) {
            Shape::Entity => put(self, &NO_ENTITY),
            _ => put(self, &false),
        }
    }

    fn visit_some<D: Deserializer<'de>>(mut self, input: D) -> Result<(), D::Error> {
        match self.schema.shape(self.id) {
            Shape::Entity => put(self, &u64::deserialize(input)?),
            Shape::Option { item } => {
                self.out.push(1);
                self.at(*item).deserialize(input)
            }
            _ => Err(D::Error::custom("unexpected Some")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut input: A) -> Result<(), A::Error> {
        let schema = self.schema;
        match schema.shape(self.id) {
            Shape::Tuple { items } => self.put_sequence(items.iter().copied(), items.len() as u64, input),
            Shape::Struct { fields, .. } => self.put_sequence(shapes(fields), fields.len() as u64, input),
            Shape::Array { item, len } => self.put_sequence((0..*len).map(|_| *item), *len, input),
            Shape::Duration => {
                let missing = || A::Error::custom("seconds and nanoseconds expected");
                let seconds: u64 = input.next_element()?.ok_or_else(missing)?;
                let nanos: u32 = input.next_element()?.ok_or_else(missing)?;
                let bytes = encode_to_vec(&(seconds, nanos));
                let duration: Duration = decode_from_slice(&bytes).map_err(A::Error::custom)?;
                put(self, &duration)
            }
            Shape::List { item } => {
                let at = self.out.len();
                self.out.extend_from_slice(&0_u64.to_le_bytes());
                let mut count = 0_u64;
                while input.next_element_seed(self.at(*item))?.is_some() {
                    count += 1;
                }
                self.out[at..at + 8].copy_from_slice(&count.to_le_bytes());
                Ok(())
            }
            Shape::Set { item } => {
                let mut parts = Vec::new();
                loop {
                    let mut part = Vec::new();
                    let seed = Seed { schema, id: *item, depth: self.depth + 1, out: &mut part };
                    if input.next_element_seed(seed)?.is_none() {
                        return put_sorted(self, parts);
                    }
                    parts.push(part);
                }
            }
            _ => Err(A::Error::custom("unexpected list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<(), A::Error> {
        let schema = self.schema;
        match schema.shape(self.id) {
            Shape::Struct { fields, .. } => self.put_fields(fields, input),
            Shape::Map { key, value } => {
                let mut parts = Vec::new();
                loop {
                    let mut part = Vec::new();
                    let seed = Seed { schema, id: *key, depth: self.depth + 1, out: &mut part };
                    if input.next_key_seed(seed)?.is_none() {
                        return put_sorted(self, parts);
                    }
                    input.next_value_seed(Seed { schema, id: *value, depth: self.depth + 1, out: &mut part })?;
                    parts.push(part);
                }
            }
            _ => Err(A::Error::custom("unexpected map")),
        }
    }

    fn visit_enum<A: EnumAccess<'de>>(self, input: A) -> Result<(), A::Error> {
        let schema = self.schema;
        let Shape::Enum { variants, .. } = schema.shape(self.id) else {
            return Err(A::Error::custom("unexpected enum"));
        };
        let (name, access) = input.variant_seed(PhantomData::<Name>)?;
        let known = || variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ");
        let variant = variants.iter().find(|variant| variant.name == name.0);
        let variant =
            variant.ok_or_else(|| A::Error::custom(format!("no variant `{}` (known: {})", name.0, known())))?;
        self.out.extend_from_slice(&variant.tag.to_le_bytes());
        let fields = &variant.fields;
        let read = match fields.as_slice() {
            [] => access.unit_variant(),
            fields if is_tuple(fields) => access.tuple_variant(fields.len(), FieldsOf { seed: self, fields }),
            fields => access.struct_variant(&[], FieldsOf { seed: self, fields }),
        };
        read.map_err(|error| within(&name.0, &error))
    }
}

/// Reads the fields of a variant.
struct FieldsOf<'a> {
    seed: Seed<'a>,
    fields: &'a [Field],
}

impl<'de> Visitor<'de> for FieldsOf<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fields of a variant")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, input: A) -> Result<(), A::Error> {
        self.seed.put_sequence(shapes(self.fields), self.fields.len() as u64, input)
    }

    fn visit_map<A: MapAccess<'de>>(self, input: A) -> Result<(), A::Error> {
        self.seed.put_fields(self.fields, input)
    }
}

fn shapes(fields: &[Field]) -> impl Iterator<Item = ShapeId> {
    fields.iter().map(|field| field.shape)
}

fn put<E: Error>(seed: Seed<'_>, value: &impl Canonical) -> Result<(), E> {
    seed.out.extend_from_slice(&encode_to_vec(value));
    Ok(())
}

fn put_sorted<E: Error>(seed: Seed<'_>, mut parts: Vec<Vec<u8>>) -> Result<(), E> {
    parts.sort();
    put::<E>(Seed { schema: seed.schema, id: seed.id, depth: seed.depth, out: seed.out }, &parts.len())?;
    seed.out.extend(parts.concat());
    Ok(())
}

/// Reads a decimal as sign and raw bits, if it is exact.
fn fixed_raw(text: &str, fraction_bits: u32) -> Option<(bool, u128)> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut raw: u128 = whole.parse().ok()?;
    // Binary digits from decimal ones: double the decimal fraction, take what passes the point.
    let mut decimal: Vec<u8> =
        fraction.bytes().map(|digit| digit.is_ascii_digit().then(|| digit - b'0')).collect::<Option<_>>()?;
    for _ in 0..fraction_bits {
        let mut carry = 0;
        for digit in decimal.iter_mut().rev() {
            let doubled = *digit * 2 + carry;
            (*digit, carry) = (doubled % 10, doubled / 10);
        }
        raw = raw.checked_mul(2)?.checked_add(u128::from(carry))?;
    }
    decimal.iter().all(|digit| *digit == 0).then_some((negative, raw))
}
