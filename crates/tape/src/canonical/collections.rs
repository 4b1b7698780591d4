//! Lists, sets and maps. Hash containers are sorted by the bytes of their keys.

use super::{Canonical, DecodeError, Sink, Source, VecSink, width_sum};
use crate::schema::{SchemaBuilder, Shape, ShapeId};
use core::hash::{BuildHasher, Hash};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

fn decode_list<T: Canonical, C: FromIterator<T>>(input: &mut Source<'_>) -> Result<C, DecodeError> {
    input.deeper(|input| {
        let count = input.count(T::WIDTH.unwrap_or(0))?;
        (0..count).map(|_| Ok(input.part(T::decode)?.0)).collect()
    })
}

/// Reads the items of a set or map; `width` is that of an item, where all have the same.
fn decode_sorted<'a, T, C: FromIterator<T>>(
    input: &mut Source<'a>,
    width: Option<usize>,
    decode: impl Fn(&mut Source<'a>) -> Result<T, DecodeError>,
) -> Result<C, DecodeError> {
    input.deeper(|input| {
        let count = input.count(width.unwrap_or(0))?;
        let mut before: &[u8] = &[];
        let next = |_| {
            let (item, bytes) = input.part(&decode)?;
            // Equal items are possible: two references to entities that are gone.
            if core::mem::replace(&mut before, bytes) > bytes { Err(DecodeError::Unsorted) } else { Ok(item) }
        };
        (0..count).map(next).collect()
    })
}

macro_rules! lists {
    ($($list:ident $items:ident => [$($slices:expr),*];)*) => {$(
        impl<T: Canonical> Canonical for $list<T> {
            const WIDTH: Option<usize> = None;
            fn type_name() -> String { format!("{}<{}>", stringify!($list), T::type_name()) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|types| Shape::List { item: T::shape(types) }) }
            fn encode<S: Sink>(&self, out: &mut S) {
                self.len().encode(out);
                let $items = self;
                $(T::encode_all($slices, out);)*
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { decode_list(input) }
        }
    )*};
}
lists!(Vec items => [items]; VecDeque items => [items.as_slices().0, items.as_slices().1];);

/// Writes a count and the items in the order of their bytes.
///
/// `Ord` of the key type is not used, so that a map and its schema agree on the order without the type.
/// Encodings delimit themselves, so pairs in the order of their bytes are in the order of their keys.
fn encode_sorted<S: Sink>(out: &mut S, mut items: Vec<Vec<u8>>) {
    items.sort_unstable();
    items.len().encode(out);
    for item in items {
        out.put(&item);
    }
}

fn item<S: Sink>(out: &mut S, encode: impl FnOnce(&mut VecSink<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    out.nested(&mut bytes, encode);
    bytes
}

macro_rules! sets_and_maps {
    ($set:ident<$($sb:ident: $sbound:path),*> $map:ident ($($key:tt)*)) => {
        impl<T: Canonical + $($key)*, $($sb: $sbound + Default + 'static),*> Canonical for $set<T, $($sb),*> {
            const WIDTH: Option<usize> = None;
            fn type_name() -> String { format!("{}<{}>", stringify!($set), T::type_name()) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|types| Shape::Set { item: T::shape(types) }) }
            fn encode<S: Sink>(&self, out: &mut S) {
                let items = self.iter().map(|value| item(out, |sink| value.encode(sink))).collect();
                encode_sorted(out, items);
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { decode_sorted(input, T::WIDTH, T::decode) }
        }
        impl<K: Canonical + $($key)*, V: Canonical, $($sb: $sbound + Default + 'static),*> Canonical for $map<K, V, $($sb),*> {
            const WIDTH: Option<usize> = None;
            fn type_name() -> String { format!("{}<{}, {}>", stringify!($map), K::type_name(), V::type_name()) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId {
                types.define::<Self>(|types| Shape::Map { key: K::shape(types), value: V::shape(types) })
            }
            fn encode<S: Sink>(&self, out: &mut S) {
                let pair = |(key, value): (&K, &V)| item(out, |sink| { key.encode(sink); value.encode(sink); });
                let items = self.iter().map(pair).collect();
                encode_sorted(out, items);
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
                let pair = |input: &mut Source<'_>| Ok((K::decode(input)?, V::decode(input)?));
                decode_sorted(input, width_sum(K::WIDTH, V::WIDTH), pair)
            }
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
