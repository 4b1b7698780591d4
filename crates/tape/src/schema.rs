//! The encoding of a type as data, so that tapes can be read without the types that made them.

use crate::canonical::Canonical;
use core::any::TypeId;
use core::fmt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Index of a [`Shape`] in its [`Schema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShapeId(u32);

/// How one type is encoded. All numbers are little endian; counts are `u64`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Shape {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned integer of 8, 16, 32, 64 or 128 bits (`usize`: 64).
    UInt {
        /// Width in bits.
        bits: u32,
    },
    /// Two's complement integer of 8, 16, 32, 64 or 128 bits (`isize`: 64).
    Int {
        /// Width in bits.
        bits: u32,
    },
    /// IEEE 754 number of 32 or 64 bits; every NaN is the positive quiet one with an empty payload.
    Float {
        /// Width in bits.
        bits: u32,
    },
    /// Fixed-point number by its raw bits.
    Fixed {
        /// Width in bits.
        bits: u32,
        /// How many of them are behind the binary point.
        fraction_bits: u32,
        /// Whether the raw bits are two's complement.
        signed: bool,
    },
    /// Unicode scalar value as `u32`.
    Char,
    /// Count of bytes, then UTF-8.
    String,
    /// Seconds as `u64`, nanoseconds below a second as `u32`.
    Duration,
    /// Sim id as `u64`; `u64::MAX` is none.
    Entity,
    /// A [`Shape::Bool`], then the value if true.
    Option {
        /// The value.
        item: ShapeId,
    },
    /// `len` values.
    Array {
        /// Each value.
        item: ShapeId,
        /// How many.
        len: u64,
    },
    /// Count, then the values in their order.
    List {
        /// Each value.
        item: ShapeId,
    },
    /// Count, then the values in the order of their bytes.
    Set {
        /// Each value.
        item: ShapeId,
    },
    /// Count, then pairs in the order of their bytes.
    Map {
        /// Each key.
        key: ShapeId,
        /// Each value.
        value: ShapeId,
    },
    /// The values in their order.
    Tuple {
        /// The values.
        items: Vec<ShapeId>,
    },
    /// The authoritative fields in the order of the declaration.
    Struct {
        /// Name of the type, for people.
        name: String,
        /// The fields; those of a tuple struct are named `0`, `1`, ….
        fields: Vec<Field>,
    },
    /// A tag as `u32`, then the fields of that variant.
    Enum {
        /// Name of the type, for people.
        name: String,
        /// The variants in the order of the declaration.
        variants: Vec<Variant>,
    },
}

/// A field of a struct or of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name; `0`, `1`, … in a tuple struct.
    pub name: String,
    /// Its encoding.
    pub shape: ShapeId,
}

/// A variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Low 32 bits of the XXH3-64 of its name, so that inserting a variant moves no other.
    pub tag: u32,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// The encoding of a type and of all it is made of. The first shape is the type itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Shape>", into = "Vec<Shape>")]
pub struct Schema {
    shapes: Vec<Shape>,
}

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
    /// Two variants of one enum share a tag.
    #[error("two variants of enum {name} share the tag {tag:08x}")]
    DuplicateTag {
        /// The enum.
        name: String,
        /// The tag.
        tag: u32,
    },
}

/// Most shapes a schema may have.
pub const SHAPES_MAX: usize = 4096;

/// Builds a [`Schema`]; handed to [`Canonical::shape`].
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    shapes: Vec<Option<Shape>>,
    known: BTreeMap<TypeId, ShapeId>,
}

impl SchemaBuilder {
    /// Defines the shape of `T`, once; a type that contains itself refers to itself.
    ///
    /// # Panics
    ///
    /// If a type has more than four billion shapes.
    pub fn define<T: 'static>(&mut self, shape: impl FnOnce(&mut Self) -> Shape) -> ShapeId {
        if let Some(id) = self.known.get(&TypeId::of::<T>()) {
            return *id;
        }
        let index = self.shapes.len();
        let id = ShapeId(u32::try_from(index).expect("a type has fewer than 2^32 shapes"));
        self.known.insert(TypeId::of::<T>(), id);
        self.shapes.push(None);
        self.shapes[index] = Some(shape(self));
        id
    }
}

impl Schema {
    /// Returns the schema of a type.
    #[must_use]
    pub fn of<T: Canonical>() -> Self {
        let mut types = SchemaBuilder::default();
        let root = T::shape(&mut types);
        debug_assert_eq!(root, Self::ROOT, "the type asked for is defined first");
        Self { shapes: types.shapes.into_iter().flatten().collect() }
    }

    /// The shape of the type itself.
    pub const ROOT: ShapeId = ShapeId(0);

    /// Returns a shape.
    #[must_use]
    pub fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// Returns the size of the encoding in bytes where every value has the same.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        self.width_of(Self::ROOT, &mut vec![None; self.shapes.len()])
    }

    /// `known` holds the shapes that are done; one that is begun counts as unknown, as it contains itself.
    fn width_of(&self, id: ShapeId, known: &mut Vec<Option<Option<usize>>>) -> Option<usize> {
        if let Some(width) = known[id.0 as usize] {
            return width;
        }
        known[id.0 as usize] = Some(None);
        let mut sum = |shapes: &mut dyn Iterator<Item = ShapeId>| {
            let mut total = 0_usize;
            for shape in shapes {
                total = total.checked_add(self.width_of(shape, known)?)?;
            }
            Some(total)
        };
        let width = match self.shape(id) {
            Shape::Bool => Some(1),
            Shape::UInt { bits } | Shape::Int { bits } | Shape::Float { bits } | Shape::Fixed { bits, .. } => {
                Some(*bits as usize / 8)
            }
            Shape::Char => Some(4),
            Shape::Duration => Some(12),
            Shape::Entity => Some(8),
            Shape::Option { item } => sum(&mut core::iter::once(*item)).filter(|width| *width == 0).map(|_| 1),
            Shape::Array { len: 0, .. } => Some(0),
            Shape::Array { item, len } => {
                let len = usize::try_from(*len).ok();
                sum(&mut core::iter::once(*item)).zip(len).and_then(|(width, len)| width.checked_mul(len))
            }
            Shape::Tuple { items } => sum(&mut items.iter().copied()),
            Shape::Struct { fields, .. } => sum(&mut fields.iter().map(|field| field.shape)),
            Shape::Enum { variants, .. } => {
                let mut widths =
                    variants.iter().map(|variant| sum(&mut variant.fields.iter().map(|field| field.shape)));
                let first = widths.next().unwrap_or(Some(0));
                first.filter(|first| widths.all(|width| width == Some(*first))).and_then(|width| width.checked_add(4))
            }
            Shape::String | Shape::List { .. } | Shape::Set { .. } | Shape::Map { .. } => None,
        };
        known[id.0 as usize] = Some(width);
        width
    }

    /// Returns whether both describe the same bytes: names of types are for people and do not count.
    #[must_use]
    pub fn same_encoding(&self, other: &Self) -> bool {
        self.anonymous() == other.anonymous()
    }

    fn anonymous(&self) -> Vec<Shape> {
        let mut shapes = self.shapes.clone();
        for shape in &mut shapes {
            if let Shape::Struct { name, .. } | Shape::Enum { name, .. } = shape {
                name.clear();
            }
        }
        shapes
    }

    fn children(shape: &Shape) -> Vec<ShapeId> {
        match shape {
            Shape::Option { item } | Shape::Array { item, .. } | Shape::List { item } | Shape::Set { item } => {
                vec![*item]
            }
            Shape::Map { key, value } => vec![*key, *value],
            Shape::Tuple { items } => items.clone(),
            Shape::Struct { fields, .. } => fields.iter().map(|field| field.shape).collect(),
            Shape::Enum { variants, .. } => {
                variants.iter().flat_map(|variant| &variant.fields).map(|field| field.shape).collect()
            }
            Shape::Bool | Shape::UInt { .. } | Shape::Int { .. } | Shape::Float { .. } | Shape::Fixed { .. } => {
                Vec::new()
            }
            Shape::Char | Shape::String | Shape::Duration | Shape::Entity => Vec::new(),
        }
    }
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
        for (from, shape) in shapes.iter().enumerate() {
            if let Some(to) = Self::children(shape).into_iter().find(|id| id.0 as usize >= count) {
                return Err(SchemaError::DanglingShape { from, to: to.0, count });
            }
            match shape {
                Shape::UInt { bits } | Shape::Int { bits } | Shape::Fixed { bits, .. }
                    if !matches!(bits, 8 | 16 | 32 | 64 | 128) =>
                {
                    return Err(SchemaError::UnknownWidth { shape: from, bits: *bits });
                }
                Shape::Float { bits } if !matches!(bits, 32 | 64) => {
                    return Err(SchemaError::UnknownWidth { shape: from, bits: *bits });
                }
                Shape::Enum { name, variants } => {
                    let mut tags: Vec<u32> = variants.iter().map(|variant| variant.tag).collect();
                    tags.sort_unstable();
                    if let Some(pair) = tags.windows(2).find(|pair| pair[0] == pair[1]) {
                        return Err(SchemaError::DuplicateTag { name: name.clone(), tag: pair[0] });
                    }
                }
                _ => {}
            }
        }
        Ok(Self { shapes })
    }
}

/// Reads like the Rust type: `Steer { x: i8, jump: bool }`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Self::ROOT, &mut Vec::new())
    }
}

impl Schema {
    fn write(&self, f: &mut fmt::Formatter<'_>, id: ShapeId, above: &mut Vec<ShapeId>) -> fmt::Result {
        let shape = self.shape(id);
        if above.contains(&id) || above.len() > 4 {
            return match shape {
                Shape::Struct { name, .. } | Shape::Enum { name, .. } => f.write_str(name),
                _ => f.write_str("…"),
            };
        }
        above.push(id);
        match shape {
            Shape::Bool => f.write_str("bool")?,
            Shape::UInt { bits } => write!(f, "u{bits}")?,
            Shape::Int { bits } => write!(f, "i{bits}")?,
            Shape::Float { bits } => write!(f, "f{bits}")?,
            Shape::Fixed { bits, fraction_bits, signed } => {
                write!(
                    f,
                    "{}{}F{fraction_bits}",
                    if *signed { "I" } else { "U" },
                    bits.saturating_sub(*fraction_bits)
                )?;
            }
            Shape::Char => f.write_str("char")?,
            Shape::String => f.write_str("String")?,
            Shape::Duration => f.write_str("Duration")?,
            Shape::Entity => f.write_str("Entity")?,
            Shape::Option { item } => self.write_around(f, "Option<", *item, ">", above)?,
            Shape::Array { item, len } => self.write_around(f, "[", *item, &format!("; {len}]"), above)?,
            Shape::List { item } => self.write_around(f, "Vec<", *item, ">", above)?,
            Shape::Set { item } => self.write_around(f, "Set<", *item, ">", above)?,
            Shape::Map { key, value } => {
                self.write_around(f, "Map<", *key, ", ", above)?;
                self.write_around(f, "", *value, ">", above)?;
            }
            Shape::Tuple { items } => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    self.write_around(f, if i == 0 { "" } else { ", " }, *item, "", above)?;
                }
                f.write_str(")")?;
            }
            Shape::Struct { name, fields } => {
                f.write_str(name)?;
                self.write_fields(f, fields, above)?;
            }
            Shape::Enum { name, variants } => {
                write!(f, "{name} = ")?;
                for (i, variant) in variants.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { " | " }, variant.name)?;
                    self.write_fields(f, &variant.fields, above)?;
                }
            }
        }
        above.pop();
        Ok(())
    }

    fn write_around(
        &self,
        f: &mut fmt::Formatter<'_>,
        open: &str,
        item: ShapeId,
        close: &str,
        above: &mut Vec<ShapeId>,
    ) -> fmt::Result {
        f.write_str(open)?;
        self.write(f, item, above)?;
        f.write_str(close)
    }

    fn write_fields(&self, f: &mut fmt::Formatter<'_>, fields: &[Field], above: &mut Vec<ShapeId>) -> fmt::Result {
        if fields.is_empty() {
            return Ok(());
        }
        let tuple = is_tuple(fields);
        f.write_str(if tuple { "(" } else { " { " })?;
        for (i, field) in fields.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            if !tuple {
                write!(f, "{}: ", field.name)?;
            }
            self.write(f, field.shape, above)?;
        }
        f.write_str(if tuple { ")" } else { " }" })
    }
}

/// Returns whether the fields are those of a tuple struct.
pub(crate) fn is_tuple(fields: &[Field]) -> bool {
    fields.first().is_some_and(|field| field.name.starts_with(|c: char| c.is_ascii_digit()))
}
