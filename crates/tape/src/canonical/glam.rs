//! glam's vectors, quaternions and matrices, component by component.

use super::{Canonical, DecodeError, Sink, Source};
use crate::schema::{Field, SchemaBuilder, Shape, ShapeId};

macro_rules! vectors {
    ($($t:ident [$item:ident; $n:literal] $($field:ident)*;)*) => {$(
        impl Canonical for glam::$t {
            const WIDTH: Option<usize> = Some($n * size_of::<$item>());
            fn type_name() -> String { stringify!($t).into() }
            fn shape(types: &mut SchemaBuilder) -> ShapeId {
                types.define::<Self>(|types| {
                    let item = $item::shape(types);
                    Shape::Struct {
                        name: stringify!($t).into(),
                        fields: vec![$(Field { name: stringify!($field).into(), shape: item }),*],
                    }
                })
            }
            #[inline(always)]
            fn encode<S: Sink>(&self, out: &mut S) { $(self.$field.encode(out);)* }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_array(<[$item; $n]>::decode(input)?))
            }
        }
    )*};
}
vectors! {
    Vec2 [f32; 2] x y; Vec3 [f32; 3] x y z; Vec3A [f32; 3] x y z; Vec4 [f32; 4] x y z w; Quat [f32; 4] x y z w;
    DVec2 [f64; 2] x y; DVec3 [f64; 3] x y z; DVec4 [f64; 4] x y z w; DQuat [f64; 4] x y z w;
    IVec2 [i32; 2] x y; IVec3 [i32; 3] x y z; IVec4 [i32; 4] x y z w;
    UVec2 [u32; 2] x y; UVec3 [u32; 3] x y z; UVec4 [u32; 4] x y z w;
    I64Vec2 [i64; 2] x y; I64Vec3 [i64; 3] x y z; I64Vec4 [i64; 4] x y z w;
    U64Vec2 [u64; 2] x y; U64Vec3 [u64; 3] x y z; U64Vec4 [u64; 4] x y z w;
}

macro_rules! matrices {
    ($($t:ident [$item:ident; $n:literal];)*) => {$(
        impl Canonical for glam::$t {
            const WIDTH: Option<usize> = Some($n * size_of::<$item>());
            fn type_name() -> String { stringify!($t).into() }
            fn shape(types: &mut SchemaBuilder) -> ShapeId {
                types.define::<Self>(|types| Shape::Array { item: $item::shape(types), len: $n })
            }
            fn encode<S: Sink>(&self, out: &mut S) { self.to_cols_array().encode(out); }
            fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_cols_array(&<[$item; $n]>::decode(input)?))
            }
        }
    )*};
}
matrices! {
    Mat2 [f32; 4]; Mat3 [f32; 9]; Mat3A [f32; 9]; Mat4 [f32; 16]; Affine2 [f32; 6]; Affine3A [f32; 12];
    DMat2 [f64; 4]; DMat3 [f64; 9]; DMat4 [f64; 16]; DAffine2 [f64; 6]; DAffine3 [f64; 12];
}
