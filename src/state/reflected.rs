//! Canonical bytes of types that know nothing of them, through reflection.

use super::codec::Codec;
use bevy_ecs::entity::Entity;
use bevy_reflect::enums::{DynamicEnum, DynamicVariant, VariantInfo};
use bevy_reflect::list::DynamicList;
use bevy_reflect::map::DynamicMap;
use bevy_reflect::set::DynamicSet;
use bevy_reflect::structs::DynamicStruct;
use bevy_reflect::tuple::DynamicTuple;
use bevy_reflect::tuple_struct::DynamicTupleStruct;
use bevy_reflect::{
    FromReflect, PartialReflect, ReflectMut, ReflectRef, TypeInfo, TypePath, Typed, array::DynamicArray,
};
use bevy_replay_tape::{
    Canonical, DecodeError, Field, Schema, SchemaBuilder, Shape, ShapeId, Sink, Source, Variant, VecSink,
};
use core::any::TypeId;
use core::marker::PhantomData;
use core::panic::Location;
use core::time::Duration;
use std::collections::BTreeMap;

/// The encoding of a type by what reflection says of it: the same that a derived `Canonical` would have.
pub(crate) struct Reflected<T> {
    schema: Schema,
    /// What each shape stands for.
    infos: BTreeMap<ShapeId, &'static TypeInfo>,
    width: Option<usize>,
    of: PhantomData<fn() -> T>,
}

/// A type on its way into a schema.
#[derive(Default)]
struct Walk {
    infos: BTreeMap<ShapeId, &'static TypeInfo>,
    /// Where we are, for messages.
    path: Vec<String>,
    /// Fields without canonical form.
    unsupported: Vec<String>,
}

impl<T: FromReflect + Typed + TypePath> Reflected<T> {
    /// Reads the declaration of the type. Panics where a field has no canonical form.
    pub(crate) fn new(call: &str, caller: &Location<'_>) -> Self {
        let mut walk = Walk::default();
        let schema = Schema::build(|types| walk.shape(T::type_info(), types));
        assert!(
            walk.unsupported.is_empty(),
            "{call}::<{name}>() at {caller}: no canonical form for {fields} (leave such fields out with \
             `#[reflect(ignore)]`, or keep what counts in a component of your own)",
            name = T::short_type_path(),
            fields = walk.unsupported.join(", "),
        );
        let width = schema.width();
        Self { schema, infos: walk.infos, width, of: PhantomData }
    }
}

impl<T: FromReflect + Typed + TypePath> Codec<T> for Reflected<T> {
    fn name(&self) -> String {
        T::short_type_path().into()
    }
    fn shape(&self, types: &mut SchemaBuilder) -> ShapeId {
        Walk::default().shape(T::type_info(), types)
    }
    fn width(&self) -> Option<usize> {
        self.width
    }
    fn encode<S: Sink>(&self, value: &T, out: &mut S) {
        self.put(Schema::ROOT, value, out);
    }
    fn decode(&self, input: &mut Source<'_>) -> Result<T, DecodeError> {
        let value = self.take(Schema::ROOT, input)?;
        T::from_reflect(&*value)
            .ok_or_else(|| DecodeError::invalid(T::short_type_path(), "a value that `FromReflect` refuses"))
    }
    fn decode_in_place(&self, value: &mut T, input: &mut Source<'_>) -> Result<(), DecodeError> {
        self.apply(Schema::ROOT, value, input)
    }
}

macro_rules! leaves {
    ($($t:ty)*) => {
        /// The shape of a type without parts.
        fn leaf_shape(id: TypeId, types: &mut SchemaBuilder) -> Option<ShapeId> {
            $(if id == TypeId::of::<$t>() { return Some(<$t>::shape(types)); })*
            None
        }
        fn leaf_info(id: TypeId) -> Option<&'static TypeInfo> {
            $(if id == TypeId::of::<$t>() { return Some(<$t>::type_info()); })*
            None
        }
        fn put_leaf<S: Sink>(value: &dyn PartialReflect, out: &mut S) {
            $(if let Some(value) = value.try_downcast_ref::<$t>() { return value.encode(out); })*
            debug_assert!(false, "registration has found a shape for {}", value.reflect_type_path());
        }
        fn take_leaf(id: TypeId, input: &mut Source<'_>) -> Result<Box<dyn PartialReflect>, DecodeError> {
            $(if id == TypeId::of::<$t>() { return Ok(Box::new(<$t>::decode(input)?)); })*
            Err(DecodeError::invalid("a type without parts", "another"))
        }
    };
}
leaves!(f32 bool u32 i32 u8 u64 usize Entity f64 i64 u16 i16 i8 u128 i128 isize char String Duration);

impl Walk {
    fn shape(&mut self, info: &'static TypeInfo, types: &mut SchemaBuilder) -> ShapeId {
        let id = leaf_shape(info.type_id(), types)
            .unwrap_or_else(|| types.define_type(info.type_id(), |types| self.inner(info, types)));
        self.infos.insert(id, info);
        id
    }

    fn inner(&mut self, info: &'static TypeInfo, types: &mut SchemaBuilder) -> Shape {
        let name = || info.type_path_table().short_path().to_owned();
        match info {
            TypeInfo::Struct(info) => {
                let fields = info.iter().map(|field| self.field(field.name(), field.type_info(), types));
                Shape::Struct { name: name(), fields: fields.collect() }
            }
            TypeInfo::TupleStruct(info) => {
                let fields = info.iter().map(|field| self.field(field.index(), field.type_info(), types));
                Shape::Struct { name: name(), fields: fields.collect() }
            }
            TypeInfo::Tuple(info) => {
                let items = info.iter().map(|field| self.field(field.index(), field.type_info(), types).shape);
                Shape::Tuple { items: items.collect() }
            }
            TypeInfo::Array(info) => {
                Shape::Array { item: self.field("[]", info.item_info(), types).shape, len: info.capacity() as u64 }
            }
            TypeInfo::List(info) => Shape::List { item: self.field("[]", info.item_info(), types).shape },
            // Reflection says nothing of the items but their id.
            TypeInfo::Set(info) => match leaf_info(info.value_ty().id()) {
                Some(item) => Shape::Set { item: self.shape(item, types) },
                None => self.refuse(info.value_ty().short_path()),
            },
            TypeInfo::Map(info) => {
                // Reflection can look up no other keys.
                let is_key = |info: &TypeInfo| matches!(info, TypeInfo::Enum(_) | TypeInfo::Opaque(_));
                let key = self.field("key", info.key_info().filter(|info| is_key(info)), types).shape;
                Shape::Map { key, value: self.field("[]", info.value_info(), types).shape }
            }
            TypeInfo::Enum(_) if is_option(info) => match info.as_enum().ok().and_then(|info| info.variant("Some")) {
                Some(VariantInfo::Tuple(some)) => {
                    let item = some.field_at(0).and_then(|field| field.type_info());
                    Shape::Option { item: self.field("?", item, types).shape }
                }
                _ => self.refuse("Option"),
            },
            TypeInfo::Enum(info) => {
                let variants = info.iter().map(|variant| {
                    let fields = match variant {
                        VariantInfo::Struct(info) => {
                            info.iter().map(|field| self.field(field.name(), field.type_info(), types)).collect()
                        }
                        VariantInfo::Tuple(info) => {
                            info.iter().map(|field| self.field(field.index(), field.type_info(), types)).collect()
                        }
                        VariantInfo::Unit(_) => Vec::new(),
                    };
                    Variant::new(variant.name(), fields)
                });
                Shape::Enum { name: name(), variants: variants.collect() }
            }
            TypeInfo::Opaque(_) => self.refuse(info.type_path_table().short_path()),
        }
    }

    fn field(&mut self, name: impl ToString, info: Option<&'static TypeInfo>, types: &mut SchemaBuilder) -> Field {
        self.path.push(name.to_string());
        let shape = match info {
            Some(info) => self.shape(info, types),
            None => types.define_type(TypeId::of::<Self>(), |_| self.refuse("a type without reflection")),
        };
        self.path.pop();
        Field { name: name.to_string(), shape }
    }

    fn refuse(&mut self, of: &str) -> Shape {
        let place = if self.path.is_empty() { "itself".to_owned() } else { format!("`{}`", self.path.join(".")) };
        self.unsupported.push(format!("{place} ({of})"));
        Shape::Bool
    }
}

fn is_option(info: &TypeInfo) -> bool {
    let path = info.type_path_table();
    path.module_path() == Some("core::option") && path.ident() == Some("Option")
}

impl<T> Reflected<T> {
    fn put<S: Sink>(&self, id: ShapeId, value: &dyn PartialReflect, out: &mut S) {
        let fields = |out: &mut S, shapes: &[Field], values: &mut dyn Iterator<Item = &dyn PartialReflect>| {
            for (field, value) in shapes.iter().zip(values) {
                self.put(field.shape, value, out);
            }
        };
        match (self.schema.shape(id), value.reflect_ref()) {
            (Shape::Struct { fields: shapes, .. }, ReflectRef::Struct(value)) => {
                fields(out, shapes, &mut value.iter_fields().map(|(_, value)| value));
            }
            (Shape::Struct { fields: shapes, .. }, ReflectRef::TupleStruct(value)) => {
                fields(out, shapes, &mut value.iter_fields());
            }
            (Shape::Tuple { items }, ReflectRef::Tuple(value)) => {
                for (item, value) in items.iter().zip(value.iter_fields()) {
                    self.put(*item, value, out);
                }
            }
            (Shape::Array { item, .. }, ReflectRef::Array(value)) => {
                value.iter().for_each(|value| self.put(*item, value, out));
            }
            (Shape::List { item }, ReflectRef::List(value)) => {
                value.len().encode(out);
                value.iter().for_each(|value| self.put(*item, value, out));
            }
            (Shape::Set { item }, ReflectRef::Set(value)) => {
                put_sorted(out, value.iter(), |value, out| self.put(*item, value, out));
            }
            (Shape::Map { key, value: item }, ReflectRef::Map(value)) => {
                put_sorted(out, value.iter(), |(name, value), out| {
                    self.put(*key, name, out);
                    self.put(*item, value, out);
                });
            }
            (Shape::Option { item }, ReflectRef::Enum(value)) => {
                let value = value.field_at(0);
                value.is_some().encode(out);
                if let Some(value) = value {
                    self.put(*item, value, out);
                }
            }
            (Shape::Enum { variants, .. }, ReflectRef::Enum(value)) => {
                if let Some(variant) = variants.iter().find(|variant| variant.name == value.variant_name()) {
                    variant.tag.encode(out);
                    fields(out, &variant.fields, &mut value.iter_fields().map(|field| field.value()));
                }
            }
            _ => put_leaf(value, out),
        }
    }

    fn take(&self, id: ShapeId, input: &mut Source<'_>) -> Result<Box<dyn PartialReflect>, DecodeError> {
        let info = *self.infos.get(&id).ok_or_else(|| DecodeError::invalid("a registered type", "another"))?;
        let shape = self.schema.shape(id);
        if matches!(info, TypeInfo::Opaque(_)) {
            return take_leaf(info.type_id(), input);
        }
        input.deeper(|input| {
            let value: Box<dyn PartialReflect> = match (shape, info) {
                (Shape::Struct { fields, .. }, TypeInfo::Struct(_)) => {
                    let mut value = DynamicStruct::default();
                    for field in fields {
                        value.insert_boxed(&*field.name, self.take(field.shape, input)?);
                    }
                    Box::new(value)
                }
                (Shape::Struct { fields, .. }, _) => {
                    let mut value = DynamicTupleStruct::default();
                    for field in fields {
                        value.insert_boxed(self.take(field.shape, input)?);
                    }
                    Box::new(value)
                }
                (Shape::Tuple { items }, _) => {
                    let mut value = DynamicTuple::default();
                    for item in items {
                        value.insert_boxed(self.take(*item, input)?);
                    }
                    Box::new(value)
                }
                (Shape::Array { item, len }, _) => {
                    let items = (0..*len).map(|_| self.take(*item, input));
                    Box::new(DynamicArray::new(items.collect::<Result<_, _>>()?))
                }
                (Shape::List { item }, _) => {
                    let mut value = DynamicList::default();
                    for _ in 0..self.count(*item, input)? {
                        value.push_box(self.take(*item, input)?);
                    }
                    Box::new(value)
                }
                (Shape::Set { item }, _) => {
                    let mut value = DynamicSet::default();
                    for _ in 0..self.count(*item, input)? {
                        bevy_reflect::set::Set::insert_boxed(&mut value, self.take(*item, input)?);
                    }
                    Box::new(value)
                }
                (Shape::Map { key, value: item }, _) => {
                    let mut value = DynamicMap::default();
                    for _ in 0..self.count(*key, input)? {
                        let key = self.take(*key, input)?;
                        bevy_reflect::map::Map::insert_boxed(&mut value, key, self.take(*item, input)?);
                    }
                    Box::new(value)
                }
                (Shape::Option { item }, _) => Box::new(match bool::decode(input)? {
                    false => DynamicEnum::new("None", DynamicVariant::Unit),
                    true => {
                        let mut some = DynamicTuple::default();
                        some.insert_boxed(self.take(*item, input)?);
                        DynamicEnum::new("Some", DynamicVariant::Tuple(some))
                    }
                }),
                (Shape::Enum { variants, name }, TypeInfo::Enum(info)) => {
                    let tag = u32::decode(input)?;
                    let variant = variants.iter().find(|variant| variant.tag == tag);
                    let variant = variant.ok_or_else(|| DecodeError::invalid(name, format!("tag {tag:08x}")))?;
                    let content = match info.variant(&variant.name) {
                        Some(VariantInfo::Struct(_)) => {
                            let mut value = DynamicStruct::default();
                            for field in &variant.fields {
                                value.insert_boxed(&*field.name, self.take(field.shape, input)?);
                            }
                            DynamicVariant::Struct(value)
                        }
                        Some(VariantInfo::Tuple(_)) => {
                            let mut value = DynamicTuple::default();
                            for field in &variant.fields {
                                value.insert_boxed(self.take(field.shape, input)?);
                            }
                            DynamicVariant::Tuple(value)
                        }
                        _ => DynamicVariant::Unit,
                    };
                    Box::new(DynamicEnum::new(&*variant.name, content))
                }
                _ => take_leaf(info.type_id(), input)?,
            };
            Ok(value)
        })
    }

    /// Overwrites a value; ignored fields of structs are kept.
    fn apply(&self, id: ShapeId, value: &mut dyn PartialReflect, input: &mut Source<'_>) -> Result<(), DecodeError> {
        if let Shape::Struct { fields, .. } = self.schema.shape(id) {
            return input.deeper(|input| {
                for (index, field) in fields.iter().enumerate() {
                    let part = match value.reflect_mut() {
                        ReflectMut::Struct(value) => value.field_mut(&field.name),
                        ReflectMut::TupleStruct(value) => value.field_mut(index),
                        _ => None,
                    };
                    let missing = || DecodeError::invalid(&field.name, "no such field");
                    self.apply(field.shape, part.ok_or_else(missing)?, input)?;
                }
                Ok(())
            });
        }
        let read = self.take(id, input)?;
        match value.reflect_mut() {
            // What is applied to a list leaves items behind.
            ReflectMut::List(list) => drop(list.drain()),
            ReflectMut::Map(map) => drop(map.drain()),
            ReflectMut::Set(set) => drop(set.drain()),
            _ => {}
        }
        value.try_apply(&*read).map_err(|error| DecodeError::invalid(value.reflect_type_path(), error))
    }

    /// Reads how many items follow; a damaged count never allocates.
    fn count(&self, item: ShapeId, input: &mut Source<'_>) -> Result<usize, DecodeError> {
        let is_empty = matches!(self.schema.shape(item), Shape::Struct { fields, .. } if fields.is_empty());
        let count = input.count(usize::from(!is_empty))?;
        if is_empty && count > EMPTY_ITEMS_MAX { Err(DecodeError::TooManyEmptyParts) } else { Ok(count) }
    }
}

/// How many items that take no bytes a list may have, as elsewhere in canonical bytes.
const EMPTY_ITEMS_MAX: usize = 1 << 12;

/// Writes a count and the items in the order of their bytes.
fn put_sorted<S: Sink, V>(out: &mut S, items: impl Iterator<Item = V>, put: impl Fn(V, &mut VecSink<'_>)) {
    let mut encoded: Vec<Vec<u8>> = items
        .map(|item| {
            let mut bytes = Vec::new();
            out.nested(&mut bytes, |sink| put(item, sink));
            bytes
        })
        .collect();
    encoded.sort_unstable();
    encoded.len().encode(out);
    encoded.iter().for_each(|item| out.put(item));
}
