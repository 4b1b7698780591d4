//! Checks of schemas that come from a tape.

use super::{Field, SHAPES_MAX, Schema, Shape, is_tuple};
use crate::value::is_name;
use std::collections::BTreeSet;

/// Why a schema read from a tape is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// There is no shape at all.
    #[error("a schema needs at least one shape")]
    Empty,
    /// There are more than [`SHAPES_MAX`] shapes.
    #[error("a schema of {count} shapes is over the limit of {SHAPES_MAX}")]
    TooManyShapes {
        /// How many there are.
        count: usize,
    },
    /// A shape refers to one that does not exist.
    #[error("shape {from} refers to shape {to}, but there are only {count}")]
    DanglingShape {
        /// The referring shape.
        from: usize,
        /// The missing one.
        to: u32,
        /// How many there are.
        count: usize,
    },
    /// A number has a width that no encoding has.
    #[error("shape {shape} is a number of {bits} bits (known: 8, 16, 32, 64, 128; floats 32, 64)")]
    UnknownWidth {
        /// The shape.
        shape: usize,
        /// Its width.
        bits: u32,
    },
    /// A fixed-point number has more bits behind the point than it has.
    #[error("shape {shape} has {fraction_bits} of {bits} bits behind the point")]
    LongFraction {
        /// The shape.
        shape: usize,
        /// Its width.
        bits: u32,
        /// How many of them are behind the point.
        fraction_bits: u32,
    },
    /// A type, field or variant has a name that cannot be written as text.
    #[error("shape {shape} has the name {name:?} (fields and variants are named as identifiers)")]
    BadName {
        /// The shape.
        shape: usize,
        /// The name.
        name: String,
    },
    /// Two fields of one struct or variant, or two variants of one enum, share a name.
    #[error("shape {shape} has two parts named {name}")]
    DuplicateName {
        /// The shape.
        shape: usize,
        /// The name.
        name: String,
    },
    /// Two variants of one enum share a tag.
    #[error("two variants of enum {name} share the tag {tag:08x}")]
    DuplicateTag {
        /// The enum.
        name: String,
        /// The tag.
        tag: u32,
    },
}

impl From<Schema> for Vec<Shape> {
    fn from(schema: Schema) -> Self {
        schema.shapes
    }
}

impl TryFrom<Vec<Shape>> for Schema {
    type Error = SchemaError;

    fn try_from(shapes: Vec<Shape>) -> Result<Self, SchemaError> {
        let count = shapes.len();
        if count == 0 {
            return Err(SchemaError::Empty);
        }
        if count > SHAPES_MAX {
            return Err(SchemaError::TooManyShapes { count });
        }
        for (index, shape) in shapes.iter().enumerate() {
            check_shape(index, shape, count)?;
        }
        Ok(Self { shapes })
    }
}

fn check_shape(index: usize, shape: &Shape, count: usize) -> Result<(), SchemaError> {
    if let Some(to) = Schema::children(shape).into_iter().find(|id| id.0 as usize >= count) {
        return Err(SchemaError::DanglingShape { from: index, to: to.0, count });
    }
    match shape {
        Shape::UInt { bits } | Shape::Int { bits } | Shape::Fixed { bits, .. }
            if !matches!(bits, 8 | 16 | 32 | 64 | 128) =>
        {
            Err(SchemaError::UnknownWidth { shape: index, bits: *bits })
        }
        Shape::Float { bits } if !matches!(bits, 32 | 64) => {
            Err(SchemaError::UnknownWidth { shape: index, bits: *bits })
        }
        Shape::Fixed { bits, fraction_bits, .. } if fraction_bits > bits => {
            Err(SchemaError::LongFraction { shape: index, bits: *bits, fraction_bits: *fraction_bits })
        }
        Shape::Struct { name, fields } => {
            check_type_name(index, name)?;
            check_fields(index, fields)
        }
        Shape::Enum { name, variants } => {
            check_type_name(index, name)?;
            check_names(index, variants.iter().map(|variant| &*variant.name))?;
            variants.iter().try_for_each(|variant| check_fields(index, &variant.fields))?;
            let mut tags: Vec<u32> = variants.iter().map(|variant| variant.tag).collect();
            tags.sort_unstable();
            match tags.windows(2).find(|pair| pair[0] == pair[1]) {
                Some(pair) => Err(SchemaError::DuplicateTag { name: name.clone(), tag: pair[0] }),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_type_name(shape: usize, name: &str) -> Result<(), SchemaError> {
    if name.contains(char::is_control) {
        return Err(SchemaError::BadName { shape, name: name.into() });
    }
    Ok(())
}

fn check_fields(shape: usize, fields: &[Field]) -> Result<(), SchemaError> {
    let names = || fields.iter().map(|field| &*field.name);
    if is_tuple(fields) {
        return match names().enumerate().find(|(i, name)| **name != *i.to_string()) {
            Some((_, name)) => Err(SchemaError::BadName { shape, name: name.into() }),
            None => Ok(()),
        };
    }
    check_names(shape, names())
}

fn check_names<'a>(shape: usize, names: impl Iterator<Item = &'a str>) -> Result<(), SchemaError> {
    let mut known = BTreeSet::new();
    for name in names {
        if !is_name(name) {
            return Err(SchemaError::BadName { shape, name: name.into() });
        }
        if !known.insert(name) {
            return Err(SchemaError::DuplicateName { shape, name: name.into() });
        }
    }
    Ok(())
}
