//! The encoding of a type as data, so that tapes can be read without the types that made them.

mod check;
mod layout;
mod resolve;
mod text;

use crate::canonical::{Canonical, DEPTH_MAX};
use core::any::TypeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use check::SchemaError;
pub(crate) use layout::Layout;
pub use resolve::{Resolution, ResolveError};

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

impl Variant {
    /// Makes a variant; its tag follows from its name.
    #[must_use]
    pub fn new(name: &str, fields: Vec<Field>) -> Self {
        let [a, b, c, d, ..] = xxhash_rust::xxh3::xxh3_64(name.as_bytes()).to_le_bytes();
        Self { name: name.into(), tag: u32::from_le_bytes([a, b, c, d]), fields }
    }
}

/// The encoding of a type and of all it is made of. The first shape is the type itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Shape>", into = "Vec<Shape>")]
pub struct Schema {
    shapes: Vec<Shape>,
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
        self.define_type(TypeId::of::<T>(), shape)
    }

    /// As [`define`](Self::define), for a type that is known by its id only.
    ///
    /// # Panics
    ///
    /// If a type has more than four billion shapes.
    pub fn define_type(&mut self, of: TypeId, shape: impl FnOnce(&mut Self) -> Shape) -> ShapeId {
        if let Some(id) = self.known.get(&of) {
            return *id;
        }
        let index = self.shapes.len();
        let id = ShapeId(u32::try_from(index).expect("a type has fewer than 2^32 shapes"));
        self.known.insert(of, id);
        self.shapes.push(None);
        self.shapes[index] = Some(shape(self));
        id
    }
}

impl Schema {
    /// Returns the schema of a type.
    #[must_use]
    pub fn of<T: Canonical>() -> Self {
        Self::build(|types| T::shape(types))
    }

    /// Returns the schema of the type that is defined first.
    #[must_use]
    pub fn build(define: impl FnOnce(&mut SchemaBuilder) -> ShapeId) -> Self {
        let mut types = SchemaBuilder::default();
        let root = define(&mut types);
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

    /// Returns the schema of a part: one of its shapes and all that this is made of.
    #[must_use]
    pub(crate) fn part(&self, id: ShapeId) -> Self {
        let (mut shapes, mut ids) = (Vec::new(), BTreeMap::from([(id, Self::ROOT)]));
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            for child in Self::children(self.shape(id)) {
                let next = ShapeId(u32::try_from(ids.len()).unwrap_or(u32::MAX));
                if let std::collections::btree_map::Entry::Vacant(entry) = ids.entry(child) {
                    entry.insert(next);
                    left.push(child);
                }
            }
        }
        let mut places: Vec<(ShapeId, ShapeId)> = ids.iter().map(|(old, new)| (*new, *old)).collect();
        places.sort_unstable();
        for (_, old) in places {
            let mut shape = self.shape(old).clone();
            Self::children_mut(&mut shape).for_each(|child| *child = ids[child]);
            shapes.push(shape);
        }
        Self { shapes }
    }

    /// Returns the schema of a number.
    pub(crate) fn leaf(&self, id: ShapeId) -> Self {
        Self { shapes: vec![self.shape(id).clone()] }
    }

    fn children_mut(shape: &mut Shape) -> Box<dyn Iterator<Item = &mut ShapeId> + '_> {
        match shape {
            Shape::Option { item } | Shape::Array { item, .. } | Shape::List { item } | Shape::Set { item } => {
                Box::new(core::iter::once(item))
            }
            Shape::Map { key, value } => Box::new([key, value].into_iter()),
            Shape::Tuple { items } => Box::new(items.iter_mut()),
            Shape::Struct { fields, .. } => Box::new(fields.iter_mut().map(|field| &mut field.shape)),
            Shape::Enum { variants, .. } => {
                Box::new(variants.iter_mut().flat_map(|variant| &mut variant.fields).map(|field| &mut field.shape))
            }
            Shape::Bool | Shape::UInt { .. } | Shape::Int { .. } | Shape::Float { .. } | Shape::Fixed { .. } => {
                Box::new(core::iter::empty())
            }
            Shape::Char | Shape::String | Shape::Duration | Shape::Entity => Box::new(core::iter::empty()),
        }
    }

    /// Returns the size of the encoding in bytes where every value has the same.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        self.width_of(Self::ROOT, &mut vec![None; self.shapes.len()], 0)
    }

    /// `known` holds the shapes that are done; one that is begun counts as unknown, as it contains itself.
    fn width_of(&self, id: ShapeId, known: &mut Vec<Option<Option<usize>>>, depth: u32) -> Option<usize> {
        if let Some(width) = known[id.0 as usize] {
            return width;
        }
        known[id.0 as usize] = Some(None);
        if depth > DEPTH_MAX {
            return None; // no value of it can be read
        }
        let mut sum = |shapes: &mut dyn Iterator<Item = ShapeId>| {
            let mut total = 0_usize;
            for shape in shapes {
                total = total.checked_add(self.width_of(shape, known, depth + 1)?)?;
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

    /// Returns whether a value may hold references to entities.
    #[must_use]
    pub fn has_entities(&self) -> bool {
        self.shapes.iter().any(|shape| matches!(shape, Shape::Entity))
    }

    /// Returns whether both describe the same bytes with the same names of fields and variants.
    ///
    /// Names of types are for people and do not count.
    #[must_use]
    pub fn same_encoding(&self, other: &Self) -> bool {
        // Types may contain themselves: what is being compared counts as the same until proved otherwise. Joining
        // what was found to be paired keeps the number of comparisons below that of the shapes.
        let mut joined: Vec<usize> = (0..self.shapes.len() + other.shapes.len()).collect();
        let mut pairs = vec![(Self::ROOT, Self::ROOT)];
        while let Some((a, b)) = pairs.pop() {
            let group_a = group(&mut joined, a.0 as usize);
            let group_b = group(&mut joined, self.shapes.len() + b.0 as usize);
            if group_a == group_b {
                continue;
            }
            joined[group_a] = group_b;
            let (a, b) = (self.shape(a), other.shape(b));
            if outline(a) != outline(b) {
                return false;
            }
            pairs.extend(Self::children(a).into_iter().zip(Self::children(b)));
        }
        true
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

/// Returns the representative of a shape among those it was joined with.
fn group(joined: &mut [usize], mut shape: usize) -> usize {
    while joined[shape] != shape {
        joined[shape] = joined[joined[shape]];
        shape = joined[shape];
    }
    shape
}

/// Returns a shape without what it refers to and without the name of its type.
fn outline(shape: &Shape) -> Shape {
    let mut shape = shape.clone();
    let forget = |fields: &mut Vec<Field>| fields.iter_mut().for_each(|field| field.shape = Schema::ROOT);
    match &mut shape {
        Shape::Option { item } | Shape::Array { item, .. } | Shape::List { item } | Shape::Set { item } => {
            *item = Schema::ROOT;
        }
        Shape::Map { key, value } => (*key, *value) = (Schema::ROOT, Schema::ROOT),
        Shape::Tuple { items } => items.fill(Schema::ROOT),
        Shape::Struct { name, fields } => {
            name.clear();
            forget(fields);
        }
        Shape::Enum { name, variants } => {
            name.clear();
            variants.iter_mut().for_each(|variant| forget(&mut variant.fields));
        }
        _ => {}
    }
    shape
}

/// Returns whether the fields are those of a tuple struct.
pub(crate) fn is_tuple(fields: &[Field]) -> bool {
    fields.first().is_some_and(|field| field.name.starts_with(|c: char| c.is_ascii_digit()))
}
