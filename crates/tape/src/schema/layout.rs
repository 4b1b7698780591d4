//! Values that all have one layout: whether bytes are one is seen without decoding them.

use super::{Schema, Shape, ShapeId};
use crate::canonical::{Canonical, decode_from_slice};
use core::ops::Range;

/// Most parts that are looked at one by one.
const PARTS_MAX: usize = 256;

/// Where the parts stand that can be wrong in a value of booleans and numbers.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    width: usize,
    bools: Vec<usize>,
    f32s: Vec<Range<usize>>,
    f64s: Vec<Range<usize>>,
    parts: usize,
}

impl Layout {
    /// Returns `None` where values have no one layout, or parts of other kinds.
    pub(crate) fn of(schema: &Schema) -> Option<Self> {
        let mut layout = Self::default();
        schema.width()?; // a type that contains itself has no end
        layout.add(schema, Schema::ROOT)?;
        Some(layout)
    }

    fn add(&mut self, schema: &Schema, id: ShapeId) -> Option<()> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return None;
        }
        match schema.shape(id) {
            Shape::Bool => {
                let at = self.take(8).start;
                self.bools.push(at);
            }
            Shape::UInt { bits } | Shape::Int { bits } | Shape::Fixed { bits, .. } => {
                self.take(*bits);
            }
            Shape::Float { bits: 32 } => {
                let at = self.take(32);
                self.f32s.push(at);
            }
            Shape::Float { .. } => {
                let at = self.take(64);
                self.f64s.push(at);
            }
            Shape::Entity => {
                self.take(64);
            }
            Shape::Array { item, len } => (0..*len).try_for_each(|_| self.add(schema, *item))?,
            Shape::Tuple { items } => items.iter().try_for_each(|item| self.add(schema, *item))?,
            Shape::Struct { fields, .. } => fields.iter().try_for_each(|field| self.add(schema, field.shape))?,
            _ => return None,
        }
        Some(())
    }

    fn take(&mut self, bits: u32) -> Range<usize> {
        let start = self.width;
        self.width += bits as usize / 8;
        start..self.width
    }

    /// Returns whether bytes are such a value. How deep it is nested is not looked at: that is the same for all.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.width
            && self.bools.iter().all(|at| bytes[*at] <= 1)
            && all::<f32>(&self.f32s, bytes)
            && all::<f64>(&self.f64s, bytes)
    }
}

fn all<T: Canonical>(places: &[Range<usize>], bytes: &[u8]) -> bool {
    places.iter().all(|place| decode_from_slice::<T>(&bytes[place.clone()]).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use proptest::prelude::*;

    type Stick = (bool, (f32, [i16; 2]), [(bool, u8); 2], f64);

    /// Bytes of which many are a boolean, and some a NaN.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let nan = prop_oneof![Just(f32::NAN), Just(-f32::NAN), Just(f32::from_bits(0x7f80_0001)), any::<f32>()];
        let wide = prop_oneof![Just(f64::NAN), Just(-f64::NAN), any::<f64>()];
        let byte = || prop_oneof![4 => 0_u8..2, 1 => any::<u8>()];
        (byte(), nan, any::<[u8; 4]>(), [byte(), byte(), byte(), byte()], wide, 0_usize..3).prop_map(
            |(first, nan, ints, pairs, wide, cut)| {
                let mut bytes = [&[first][..], &nan.to_le_bytes(), &ints, &pairs, &wide.to_le_bytes()].concat();
                bytes.truncate(if cut == 0 { bytes.len() - 1 } else { bytes.len() });
                bytes
            },
        )
    }

    proptest! {
        #[test]
        fn bytes_fit_exactly_if_they_can_be_decoded(bytes in bytes()) {
            let schema = Schema::of::<Stick>();
            let layout = Layout::of(&schema).expect("booleans and numbers");
            prop_assert_eq!(layout.fits(&bytes), Value::decode(&schema, &bytes).is_ok());
        }
    }

    #[test]
    fn what_is_not_of_booleans_and_numbers_has_no_layout() {
        for schema in [
            Schema::of::<String>(),
            Schema::of::<char>(),
            Schema::of::<Option<u8>>(),
            Schema::of::<(u8, Vec<u8>)>(),
            Schema::of::<[u8; PARTS_MAX]>(),
        ] {
            assert!(Layout::of(&schema).is_none(), "{schema:?}");
        }
        assert_eq!(Layout::of(&Schema::of::<[u8; PARTS_MAX - 1]>()).map(|layout| layout.width), Some(PARTS_MAX - 1));
    }
}
