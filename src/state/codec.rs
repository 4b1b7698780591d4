//! How values of a type become canonical bytes, and back.

use bevy_replay_tape::{Canonical, DecodeError, Schema, SchemaBuilder, ShapeId, Sink, Source, TickInput, TypeSpec};
use std::sync::Arc;

/// The encoding of one type: its own, or by reflection.
pub(crate) trait Codec<T>: Send + Sync + 'static {
    /// Name shown in reports.
    fn name(&self) -> String;
    /// Describes the encoding.
    fn shape(&self, types: &mut SchemaBuilder) -> ShapeId;
    /// Size of the encoding in bytes where every value has the same.
    fn width(&self) -> Option<usize>;
    /// Appends the canonical bytes of a value.
    fn encode<S: Sink>(&self, value: &T, out: &mut S);
    /// Reads a value.
    fn decode(&self, input: &mut Source<'_>) -> Result<T, DecodeError>;
    /// Overwrites a value, but for what has no place in canonical bytes.
    fn decode_in_place(&self, value: &mut T, input: &mut Source<'_>) -> Result<(), DecodeError> {
        *value = self.decode(input)?;
        Ok(())
    }
    /// Whether a value of input has parts that exactly one tick sees.
    fn has_once(&self) -> bool {
        false
    }
    /// Clears what exactly one tick may see.
    fn consume(&self, _value: &mut T) {}

    /// Name and encoding.
    fn spec(&self) -> TypeSpec {
        TypeSpec { name: self.name(), schema: Arc::new(Schema::build(|types| self.shape(types))) }
    }
}

/// The encoding that a type brings itself.
pub(crate) struct Own<T> {
    /// For recorded input of which some parts are seen by one tick only.
    consume: Option<fn(&mut T)>,
}

impl<T: Canonical> Own<T> {
    pub(crate) fn new() -> Self {
        Self { consume: None }
    }

    /// For recorded input.
    pub(crate) fn input() -> Self
    where
        T: TickInput,
    {
        Self { consume: T::HAS_ONCE.then_some(T::consume) }
    }
}

impl<T: Canonical> Codec<T> for Own<T> {
    fn name(&self) -> String {
        T::type_name()
    }
    fn shape(&self, types: &mut SchemaBuilder) -> ShapeId {
        T::shape(types)
    }
    #[inline(always)]
    fn width(&self) -> Option<usize> {
        T::WIDTH
    }
    #[inline]
    fn encode<S: Sink>(&self, value: &T, out: &mut S) {
        value.encode(out);
    }
    fn decode(&self, input: &mut Source<'_>) -> Result<T, DecodeError> {
        T::decode(input)
    }
    fn decode_in_place(&self, value: &mut T, input: &mut Source<'_>) -> Result<(), DecodeError> {
        value.decode_in_place(input)
    }
    fn has_once(&self) -> bool {
        self.consume.is_some()
    }
    fn consume(&self, value: &mut T) {
        if let Some(consume) = self.consume {
            consume(value);
        }
    }
}
