//! Lists, sets and maps. Hash containers are sorted by the bytes of their keys.

use super::{Canonical, DecodeError, Sink, Source};
use crate::schema::{SchemaBuilder, Shape, ShapeId};
use core::hash::{BuildHasher, Hash};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Least bytes an item takes, so that a damaged count cannot allocate more than the input is long.
fn item_bytes<T: Canonical>() -> usize {
    T::WIDTH.unwrap_or(1)
}

fn decode_items<T: Canonical, C: FromIterator<T>>(input: &mut Source<'_>) -> Result<C, DecodeError> {
    let count = input.count(item_bytes::<T>())?;
    if T::WIDTH == Some(0) && count > ZERO_SIZED_ITEMS_MAX {
        return Err(DecodeError::invalid("list of values without size", count));
    }
    input.deeper(|input| (0..count).map(|_| T::decode(input)).collect())
}

/// Most items of a list whose items take no bytes: nothing else bounds the count of a damaged one.
pub(crate) const ZERO_SIZED_ITEMS_MAX: usize = 1 << 16;

macro_rules! lists {
    ($($list:ident),*) => {$(
        impl<T: Canonical> Canonical for $list<T> {
            const WIDTH: Option<usize> = None;
            fn type_name() -> String { format!("{}<{}>", stringify!($list), T::type_name()) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|types| Shape::List { item: T::shape(types) }) }
            fn encode<S: Sink>(&self, out: &mut S) {
                self.len().encode(out);
                for item in self { item.encode(out); }
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { decode_items(input) }
        }
    )*};
}
lists!(Vec, VecDeque);

/// Writes a count and the parts in the order of their bytes.
///
/// `Ord` of the key type is not used, so that a map and its schema agree on the order without the type.
fn encode_sorted<S: Sink>(out: &mut S, mut parts: Vec<(Vec<u8>, Vec<u8>)>) {
    parts.sort();
    parts.len().encode(out);
    for (key, value) in parts {
        out.put(&key);
        out.put(&value);
    }
}

fn part<S: Sink, T: Canonical>(out: &mut S, value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    out.nested(&mut bytes, |sink| value.encode(sink));
    bytes
}

macro_rules! sets_and_maps {
    ($set:ident<$($sb:ident: $sbound:path),*> $map:ident ($($key:tt)*)) => {
        impl<T: Canonical + $($key)*, $($sb: $sbound + Default + 'static),*> Canonical for $set<T, $($sb),*> {
            const WIDTH: Option<usize> = None;
            fn type_name() -> String { format!("{}<{}>", stringify!($set), T::type_name()) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|types| Shape::Set { item: T::shape(types) }) }
            #[allow(clippy::iter_over_hash_type, reason = "the parts are sorted before they are written")]
            fn encode<S: Sink>(&self, out: &mut S) {
                let mut parts = Vec::with_capacity(self.len());
                for item in self { parts.push((part(out, item), Vec::new())); }
                encode_sorted(out, parts);
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { decode_items(input) }
        }
        impl<K: Canonical + $($key)*, V: Canonical, $($sb: $sbound + Default + 'static),*> Canonical for $map<K, V, $($sb),*> {
            const WIDTH: Option<usize> = None;
            fn type_name() -> String { format!("{}<{}, {}>", stringify!($map), K::type_name(), V::type_name()) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId {
                types.define::<Self>(|types| Shape::Map { key: K::shape(types), value: V::shape(types) })
            }
            #[allow(clippy::iter_over_hash_type, reason = "the parts are sorted before they are written")]
            fn encode<S: Sink>(&self, out: &mut S) {
                let mut parts = Vec::with_capacity(self.len());
                for (key, value) in self { parts.push((part(out, key), part(out, value))); }
                encode_sorted(out, parts);
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { decode_items::<(K, V), Self>(input) }
        }
    };
}

mod hashed {
    #![allow(clippy::disallowed_types, reason = "users may hold hash containers; their encoding is sorted")]
    use super::*;
    use std::collections::{HashMap, HashSet};
    sets_and_maps!(HashSet<H: BuildHasher> HashMap (Eq + Hash));
}
sets_and_maps!(BTreeSet<> BTreeMap (Ord));
