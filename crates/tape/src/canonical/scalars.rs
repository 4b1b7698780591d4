//! Numbers, text, options, tuples and arrays.

use super::{Canonical, DecodeError, Sink, Source, width_sum};
use crate::schema::{SchemaBuilder, Shape, ShapeId};
use core::marker::PhantomData;
use core::time::Duration;

macro_rules! integers {
    ($($t:ident $variant:ident $bits:literal),*) => {$(
        impl Canonical for $t {
            const WIDTH: Option<usize> = Some($bits / 8);
            fn type_name() -> String { stringify!($t).into() }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|_| Shape::$variant { bits: $bits }) }
            #[inline(always)]
            fn encode<S: Sink>(&self, out: &mut S) { out.put(&self.to_le_bytes()); }
            fn encode_all<S: Sink>(items: &[Self], out: &mut S) {
                const WIDTH: usize = $bits / 8;
                let mut bytes = [0; 32 * WIDTH];
                for items in items.chunks(32) {
                    for (slot, item) in bytes.chunks_exact_mut(WIDTH).zip(items) {
                        slot.copy_from_slice(&item.to_le_bytes());
                    }
                    out.put(&bytes[..items.len() * WIDTH]);
                }
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { Ok(Self::from_le_bytes(input.array()?)) }
        }
    )*};
}
integers!(u8 UInt 8, u16 UInt 16, u32 UInt 32, u64 UInt 64, u128 UInt 128, i8 Int 8, i16 Int 16, i32 Int 32, i64 Int 64, i128 Int 128);

macro_rules! pointer_sized {
    ($($t:ident as $wide:ident $variant:ident),*) => {$(
        impl Canonical for $t {
            const WIDTH: Option<usize> = Some(8);
            fn type_name() -> String { stringify!($t).into() }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|_| Shape::$variant { bits: 64 }) }
            #[inline(always)]
            fn encode<S: Sink>(&self, out: &mut S) { out.put(&(*self as $wide).to_le_bytes()); }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
                let wide = $wide::decode(input)?;
                Self::try_from(wide).map_err(|_| DecodeError::invalid(concat!(stringify!($t), " on this machine"), wide))
            }
        }
    )*};
}
pointer_sized!(usize as u64 UInt, isize as i64 Int);

macro_rules! floats {
    ($($t:ident $bits:literal $nan:literal),*) => {$(
        impl Canonical for $t {
            const WIDTH: Option<usize> = Some($bits / 8);
            fn type_name() -> String { stringify!($t).into() }
            fn shape(types: &mut SchemaBuilder) -> ShapeId { types.define::<Self>(|_| Shape::Float { bits: $bits }) }
            #[inline(always)]
            fn encode<S: Sink>(&self, out: &mut S) {
                let bits = if self.is_nan() { out.note_nan(); $nan } else { self.to_bits() };
                out.put(&bits.to_le_bytes());
            }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
                let value = Self::from_le_bytes(input.array()?);
                if value.is_nan() && value.to_bits() != $nan {
                    return Err(DecodeError::invalid(concat!("canonical ", stringify!($t)), format!("a NaN with the bits {:x}", value.to_bits())));
                }
                Ok(value)
            }
        }
    )*};
}
// The quiet NaN of IEEE 754 with an empty payload and a clear sign, as WebAssembly's canonical NaN.
floats!(f32 32 0x7fc0_0000_u32, f64 64 0x7ff8_0000_0000_0000_u64);

impl Canonical for bool {
    const WIDTH: Option<usize> = Some(1);
    fn type_name() -> String {
        "bool".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|_| Shape::Bool)
    }
    #[inline(always)]
    fn encode<S: Sink>(&self, out: &mut S) {
        out.put(&[u8::from(*self)]);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        match input.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [byte] => Err(DecodeError::invalid("bool", byte)),
        }
    }
}

impl Canonical for char {
    const WIDTH: Option<usize> = Some(4);
    fn type_name() -> String {
        "char".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|_| Shape::Char)
    }
    #[inline]
    fn encode<S: Sink>(&self, out: &mut S) {
        out.put(&u32::from(*self).to_le_bytes());
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        let code = u32::decode(input)?;
        Self::from_u32(code).ok_or_else(|| DecodeError::invalid("char", code))
    }
}

impl Canonical for String {
    const WIDTH: Option<usize> = None;
    fn type_name() -> String {
        "String".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|_| Shape::String)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.len().encode(out);
        out.put(self.as_bytes());
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        let count = input.count(1)?;
        let bytes = input.take(count)?;
        let text = core::str::from_utf8(bytes).map_err(|error| DecodeError::invalid("UTF-8 text", error))?;
        Ok(text.into())
    }
}

/// Nanoseconds as `u128` would waste four bytes a value: seconds as `u64`, then nanoseconds as `u32`.
impl Canonical for Duration {
    const WIDTH: Option<usize> = Some(12);
    fn type_name() -> String {
        "Duration".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|_| Shape::Duration)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.as_secs().encode(out);
        self.subsec_nanos().encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        let (seconds, nanos) = (u64::decode(input)?, u32::decode(input)?);
        if nanos >= 1_000_000_000 {
            return Err(DecodeError::invalid("Duration (nanoseconds below a second)", nanos));
        }
        Ok(Self::new(seconds, nanos))
    }
}

impl<T: Canonical> Canonical for Option<T> {
    const WIDTH: Option<usize> = match T::WIDTH {
        Some(0) => Some(1),
        _ => None,
    };
    fn type_name() -> String {
        format!("Option<{}>", T::type_name())
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|types| Shape::Option { item: T::shape(types) })
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.is_some().encode(out);
        if let Some(value) = self {
            value.encode(out);
        }
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        input.deeper(|input| Ok(if bool::decode(input)? { Some(T::decode(input)?) } else { None }))
    }
    fn decode_in_place(&mut self, input: &mut Source<'_>) -> Result<(), DecodeError> {
        input.deeper(|input| {
            match (bool::decode(input)?, &mut *self) {
                (true, Some(value)) => value.decode_in_place(input)?,
                (true, None) => *self = Some(T::decode(input)?),
                (false, _) => *self = None,
            }
            Ok(())
        })
    }
}

impl<T: Canonical> Canonical for Box<T> {
    const WIDTH: Option<usize> = None; // a recursive type has no width to ask for
    fn type_name() -> String {
        T::type_name()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        T::shape(types)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        T::encode(self, out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        T::decode(input).map(Self::new)
    }
    fn decode_in_place(&mut self, input: &mut Source<'_>) -> Result<(), DecodeError> {
        T::decode_in_place(self, input)
    }
}

impl<T: 'static> Canonical for PhantomData<T> {
    const WIDTH: Option<usize> = Some(0);
    fn type_name() -> String {
        "()".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<()>(|_| Shape::Tuple { items: Vec::new() })
    }
    fn encode<S: Sink>(&self, _: &mut S) {}
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        input.deeper(|_| Ok(Self))
    }
}

impl<T: Canonical, const N: usize> Canonical for [T; N] {
    const WIDTH: Option<usize> = match T::WIDTH {
        _ if N == 0 => Some(0),
        Some(width) => Some(width * N),
        None => None,
    };
    fn type_name() -> String {
        format!("[{}; {N}]", T::type_name())
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|types| Shape::Array { item: T::shape(types), len: N as u64 })
    }
    #[inline(always)]
    fn encode<S: Sink>(&self, out: &mut S) {
        for item in self {
            item.encode(out);
        }
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        let items = input.deeper(|input| (0..N).map(|_| T::decode(input)).collect::<Result<Vec<T>, _>>())?;
        items.try_into().map_err(|_| DecodeError::invalid(Self::type_name(), "another length"))
    }
    fn decode_in_place(&mut self, input: &mut Source<'_>) -> Result<(), DecodeError> {
        input.deeper(|input| self.iter_mut().try_for_each(|item| item.decode_in_place(input)))
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),*))*) => {$(
        impl<$($t: Canonical),*> Canonical for ($($t,)*) {
            const WIDTH: Option<usize> = {
                #[allow(unused_mut, reason = "the empty tuple adds nothing")]
                let mut width = Some(0);
                $(width = width_sum(width, $t::WIDTH);)*
                width
            };
            fn type_name() -> String {
                let names: Vec<String> = vec![$($t::type_name()),*];
                format!("({})", names.join(", "))
            }
            fn shape(types: &mut SchemaBuilder) -> ShapeId {
                types.define::<Self>(|_types| Shape::Tuple { items: vec![$($t::shape(_types)),*] })
            }
            #[inline]
            fn encode<S: Sink>(&self, _out: &mut S) { $(self.$i.encode(_out);)* }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { input.deeper(|_input| Ok(($($t::decode(_input)?,)*))) }
            fn decode_in_place(&mut self, input: &mut Source<'_>) -> Result<(), DecodeError> {
                input.deeper(|_input| {
                    $(self.$i.decode_in_place(_input)?;)*
                    Ok(())
                })
            }
        }
    )*};
}
tuples! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
