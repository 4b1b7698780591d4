//! The `fixed` crate's numbers, by their raw bits.

use super::{Canonical, DecodeError, Sink, Source};
use crate::schema::{SchemaBuilder, Shape, ShapeId};
use fixed::types::extra::Unsigned;

macro_rules! numbers {
    ($($t:ident $raw:ident $bits:literal $signed:literal)*) => {$(
        impl<F: Unsigned + 'static> Canonical for fixed::$t<F> {
            const WIDTH: Option<usize> = Some($bits / 8);
            fn type_name() -> String { format!("{}<{}>", stringify!($t), F::U32) }
            fn shape(types: &mut SchemaBuilder) -> ShapeId {
                types.define::<Self>(|_| Shape::Fixed { bits: $bits, fraction_bits: F::U32, signed: $signed })
            }
            #[inline(always)]
            fn encode<S: Sink>(&self, out: &mut S) { self.to_bits().encode(out); }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> { $raw::decode(input).map(Self::from_bits) }
        }
    )*};
}
numbers! {
    FixedI8 i8 8 true FixedI16 i16 16 true FixedI32 i32 32 true FixedI64 i64 64 true FixedI128 i128 128 true
    FixedU8 u8 8 false FixedU16 u16 16 false FixedU32 u32 32 false FixedU64 u64 64 false FixedU128 u128 128 false
}
