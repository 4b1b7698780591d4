//! Values as JSON, for programs that know nothing of their types; and back, guided by their schema.

use super::{Value, ValueTextError, encode_text};
use crate::canonical::{DEPTH_MAX, NO_ENTITY, decode_from_slice, encode_to_vec};
use crate::schema::{Field, Schema, Shape, ShapeId, is_tuple};
use core::time::Duration;
use serde_json::{Map, Number, Value as Json};

/// Above that, programs that keep numbers as floats lose digits.
const EXACT_MAX: u64 = 1 << 53;

impl Value {
    /// Returns the value as JSON; the inverse is [`encode_json`].
    #[must_use]
    pub fn to_json(&self) -> Json {
        let list = |items: &[Self]| Json::Array(items.iter().map(Self::to_json).collect());
        match self {
            Self::Bool(value) => Json::Bool(*value),
            Self::UInt(value) => integer(false, *value, value),
            Self::Int(value) => integer(*value < 0, value.unsigned_abs(), value),
            Self::F32(bits) => float(f64::from(f32::from_bits(*bits))),
            Self::F64(bits) => float(f64::from_bits(*bits)),
            Self::Fixed(..) | Self::UFixed(..) => Json::String(self.to_string()),
            Self::Char(value) => Json::String(value.to_string()),
            Self::String(value) => Json::String(value.clone()),
            Self::Duration(value) => Json::Array(vec![value.as_secs().into(), value.subsec_nanos().into()]),
            Self::Entity(Some(id)) => integer(false, (*id).into(), id),
            Self::Entity(None) | Self::Option(None) => Json::Null,
            Self::Option(Some(value)) => Json::Array(vec![value.to_json()]),
            Self::List(items) | Self::Set(items) | Self::Tuple(items) => list(items),
            Self::Map(pairs) => {
                Json::Array(pairs.iter().map(|(key, value)| vec![key.to_json(), value.to_json()].into()).collect())
            }
            Self::Struct(parts) => fields(parts),
            Self::Enum(name, parts) if parts.is_empty() => Json::String(name.clone()),
            Self::Enum(name, parts) => Json::Object(Map::from_iter([(name.clone(), fields(parts))])),
        }
    }
}

fn integer(negative: bool, magnitude: u128, shown: impl ToString) -> Json {
    match i64::try_from(magnitude) {
        Ok(value) if magnitude <= u128::from(EXACT_MAX) => Json::Number(if negative { -value } else { value }.into()),
        _ => Json::String(shown.to_string()),
    }
}

fn float(value: f64) -> Json {
    Number::from_f64(value).map_or_else(|| Json::String(format!("{value:?}")), Json::Number)
}

fn fields(parts: &[(String, Value)]) -> Json {
    if parts.first().is_some_and(|(name, _)| name == "0") {
        return Json::Array(parts.iter().map(|(_, value)| value.to_json()).collect());
    }
    Json::Object(parts.iter().map(|(name, value)| (name.clone(), value.to_json())).collect())
}

/// Reads JSON into canonical bytes; the inverse of decoding a [`Value`] and [`Value::to_json`].
///
/// # Errors
///
/// [`ValueTextError`] naming the place.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Canonical, encode_json, encode_to_vec};
/// let schema = <(i8, bool)>::schema();
/// assert_eq!(encode_json(&schema, &serde_json::from_str("[1, true]")?)?, encode_to_vec(&(1_i8, true)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode_json(schema: &Schema, json: &Json) -> Result<Vec<u8>, ValueTextError> {
    let mut out = Vec::new();
    put(schema, Schema::ROOT, json, 0, &mut out).map_err(|reason| {
        let text = json.to_string().chars().take(200).collect();
        ValueTextError { text, expected: schema.to_string(), reason }
    })?;
    Ok(out)
}

fn put(schema: &Schema, id: ShapeId, json: &Json, depth: u32, out: &mut Vec<u8>) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("nested deeper than {DEPTH_MAX} levels"));
    }
    let wrong = || format!("`{}` is no {}", json.to_string().chars().take(60).collect::<String>(), schema.text(id));
    let array = || json.as_array().ok_or_else(wrong);
    let each = |items: &mut dyn Iterator<Item = (ShapeId, &Json)>, out: &mut Vec<u8>| -> Result<(), String> {
        for (index, (id, item)) in items.enumerate() {
            put(schema, id, item, depth + 1, out).map_err(|error| format!("{index}: {error}"))?;
        }
        Ok(())
    };
    match schema.shape(id) {
        Shape::Bool => out.push(u8::from(json.as_bool().ok_or_else(wrong)?)),
        // Their text is RON, too; a float of JSON is the exact one.
        Shape::UInt { .. } | Shape::Int { .. } | Shape::Fixed { .. } => {
            let text = match json {
                Json::Number(number) => number.to_string(),
                Json::String(text) => text.clone(),
                _ => return Err(wrong()),
            };
            out.extend(encode_text(&schema.leaf(id), &text).map_err(|error| error.to_string())?);
        }
        Shape::Float { bits } => {
            let value = match json {
                Json::Number(number) => number.as_f64(),
                Json::String(text) => text.parse().ok(),
                _ => None,
            };
            let value: f64 = value.ok_or_else(wrong)?;
            if *bits == 64 {
                out.extend(encode_to_vec(&value));
            } else {
                #[expect(clippy::cast_possible_truncation, reason = "what it loses is looked at")]
                let narrow = value as f32;
                if !value.is_nan() && f64::from(narrow) != value {
                    return Err(wrong());
                }
                out.extend(encode_to_vec(&narrow));
            }
        }
        Shape::Char => {
            let mut letters = json.as_str().ok_or_else(wrong)?.chars();
            let (Some(letter), None) = (letters.next(), letters.next()) else { return Err(wrong()) };
            out.extend(encode_to_vec(&letter));
        }
        Shape::String => out.extend(encode_to_vec(&json.as_str().ok_or_else(wrong)?.to_owned())),
        Shape::Duration => {
            let [secs, nanos] = array()?.as_slice() else { return Err(wrong()) };
            let nanos = nanos.as_u64().and_then(|nanos| u32::try_from(nanos).ok());
            let bytes = encode_to_vec(&(secs.as_u64().ok_or_else(wrong)?, nanos.ok_or_else(wrong)?));
            decode_from_slice::<Duration>(&bytes).map_err(|error| error.to_string())?;
            out.extend(bytes);
        }
        Shape::Entity => {
            let id = match json {
                Json::Null => Some(NO_ENTITY),
                Json::String(text) => text.parse().ok(),
                json => json.as_u64(),
            };
            out.extend(encode_to_vec(&id.ok_or_else(wrong)?));
        }
        Shape::Option { item } => match json {
            Json::Null => out.push(0),
            json => {
                let Some([value]) = json.as_array().map(Vec::as_slice) else { return Err(wrong()) };
                out.push(1);
                put(schema, *item, value, depth + 1, out)?;
            }
        },
        Shape::Array { item, len } => {
            let items = array()?;
            if items.len() as u64 != *len {
                return Err(wrong());
            }
            each(&mut items.iter().map(|value| (*item, value)), out)?;
        }
        Shape::List { item } => {
            let items = array()?;
            out.extend((items.len() as u64).to_le_bytes());
            each(&mut items.iter().map(|value| (*item, value)), out)?;
        }
        Shape::Set { item } => put_sorted(schema, &[*item], array()?.iter().map(core::slice::from_ref), depth, out)?,
        Shape::Map { key, value } => {
            let pairs: Vec<&[Json]> = array()?.iter().filter_map(|pair| pair.as_array().map(Vec::as_slice)).collect();
            if pairs.len() != array()?.len() || pairs.iter().any(|pair| pair.len() != 2) {
                return Err(wrong());
            }
            put_sorted(schema, &[*key, *value], pairs.into_iter(), depth, out)?;
        }
        Shape::Tuple { items } => {
            let values = array()?;
            if values.len() != items.len() {
                return Err(wrong());
            }
            each(&mut items.iter().copied().zip(values), out)?;
        }
        Shape::Struct { fields, .. } => put_fields(schema, fields, json, depth, out)?,
        Shape::Enum { variants, .. } => {
            let (name, parts) = match json {
                Json::String(name) => (name, None),
                Json::Object(object) if object.len() == 1 => {
                    object.iter().next().map(|(name, parts)| (name, Some(parts))).ok_or_else(wrong)?
                }
                _ => return Err(wrong()),
            };
            let variant = variants.iter().find(|variant| variant.name == *name);
            let variant = variant.ok_or_else(|| format!("no variant `{name}`"))?;
            out.extend(variant.tag.to_le_bytes());
            match parts {
                None if variant.fields.is_empty() => {}
                None => return Err(wrong()),
                Some(parts) => put_fields(schema, &variant.fields, parts, depth, out)
                    .map_err(|error| format!("{name}: {error}"))?,
            }
        }
    }
    Ok(())
}

fn put_fields(schema: &Schema, fields: &[Field], json: &Json, depth: u32, out: &mut Vec<u8>) -> Result<(), String> {
    let values: Vec<&Json> = match json {
        Json::Array(values) if is_tuple(fields) => values.iter().collect(),
        Json::Object(object) if !is_tuple(fields) => {
            if let Some(name) = object.keys().find(|name| fields.iter().all(|field| field.name != **name)) {
                return Err(format!("no field `{name}`"));
            }
            fields.iter().filter_map(|field| object.get(&field.name)).collect()
        }
        _ => return Err("fields expected".into()),
    };
    if values.len() != fields.len() {
        return Err(format!("{} fields expected, {} found", fields.len(), values.len()));
    }
    for (field, value) in fields.iter().zip(values) {
        put(schema, field.shape, value, depth + 1, out).map_err(|error| format!("{}: {error}", field.name))?;
    }
    Ok(())
}

/// Writes the items of a set, or the pairs of a map, in the order of their bytes.
fn put_sorted<'a>(
    schema: &Schema,
    shapes: &[ShapeId],
    items: impl Iterator<Item = &'a [Json]>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut written = Vec::new();
    for item in items {
        let mut bytes = Vec::new();
        for (id, value) in shapes.iter().zip(item) {
            put(schema, *id, value, depth + 1, &mut bytes)?;
        }
        written.push(bytes);
    }
    written.sort();
    out.extend((written.len() as u64).to_le_bytes());
    written.iter().for_each(|bytes| out.extend_from_slice(bytes));
    Ok(())
}
