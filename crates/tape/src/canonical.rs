//! The one byte encoding of authoritative values.
//!
//! Two values are the same state if and only if their canonical bytes are equal, on every machine
//! and in every build. The rules are listed in `docs/digest.md` and frozen with digest version 1.

mod collections;
mod scalars;

#[cfg(feature = "bevy")]
mod bevy;
#[cfg(feature = "fixed")]
mod fixed;
#[cfg(feature = "glam")]
mod glam;

use crate::schema::{Schema, SchemaBuilder, ShapeId};

/// Encodes a value into canonical bytes and back.
///
/// Derive it: `#[derive(Canonical)]`. Fields that cannot change future gameplay are marked
/// `#[canonical(observation)]`, `#[canonical(presentation)]` or `#[canonical(derived)]` and left out.
///
/// # Determinism
///
/// A hand-written implementation must write the same bytes for the same state on every machine:
/// fixed widths, little endian, no addresses, no hash order, no padding. The bytes must be
/// self-delimiting, and [`decode`](Self::decode) must read exactly what [`encode`](Self::encode) wrote.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no canonical form, so it cannot be authoritative state or recorded input",
    label = "no `Canonical` encoding for `{Self}`",
    note = "if it is your own type, add `#[derive(Canonical)]`",
    note = "if the field cannot change future gameplay, mark it `#[canonical(observation)]`, `#[canonical(presentation)]` or `#[canonical(derived)]`",
    note = "glam and fixed types need the cargo features `glam` and `fixed`"
)]
pub trait Canonical: Sized + 'static {
    /// Size of the encoding in bytes where every value has the same; `None` where it varies.
    ///
    /// Also `None` for what holds a [`Box`], which may lead back to the type: its
    /// [`Schema::width`](crate::Schema::width) may still be known.
    const WIDTH: Option<usize>;

    /// Returns the name shown in reports; for registered types also the name of the lane or track.
    fn type_name() -> String;

    /// Describes the encoding, so that bytes can be read without the type.
    fn shape(types: &mut SchemaBuilder) -> ShapeId;

    /// Appends the canonical bytes of `self`.
    fn encode<S: Sink>(&self, out: &mut S);

    /// Appends the canonical bytes of items of a list, one after another; types whose bytes can be written faster
    /// together do so.
    #[doc(hidden)]
    fn encode_all<S: Sink>(items: &[Self], out: &mut S) {
        items.iter().for_each(|item| item.encode(out));
    }

    /// Reads a value; fields with a role other than authoritative take their `Default`.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] where the bytes end early or hold no value of this type.
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError>;

    /// Overwrites `self` with a decoded value; fields with a role other than authoritative are kept.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode); `self` may then hold some of the new fields.
    fn decode_in_place(&mut self, input: &mut Source<'_>) -> Result<(), DecodeError> {
        *self = Self::decode(input)?;
        Ok(())
    }

    /// Returns the schema of this type as data.
    fn schema() -> Schema {
        Schema::of::<Self>()
    }
}

/// Translates between a world's entities and sim ids.
///
/// Canonical bytes never hold a raw entity: an entity is written as the sim id it points at.
pub trait EntityIds {
    /// Returns the sim id of the entity with these bits; `None` if it is dead or has no sim id.
    fn sim_id(&self, entity_bits: u64) -> Option<u64>;
    /// Returns the bits of the entity that carries this sim id.
    fn entity_bits(&self, sim_id: u64) -> Option<u64>;
}

/// An [`EntityIds`] without entities: each reference is dangling.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEntities;

impl EntityIds for NoEntities {
    fn sim_id(&self, _: u64) -> Option<u64> {
        None
    }
    fn entity_bits(&self, _: u64) -> Option<u64> {
        None
    }
}

/// What an encoding had to normalise; counts since the last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodeNotes {
    /// Floats that were NaN and were written as the one canonical NaN.
    pub nan_count: u64,
    /// Entities without a sim id, written as "none".
    pub dangling_count: u64,
}

/// Where canonical bytes go.
pub trait Sink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
    /// Appends an entity as the sim id it points at; `u64::MAX` stands for none.
    fn put_entity(&mut self, entity_bits: u64);
    /// Counts a NaN that was written as the canonical one.
    fn note_nan(&mut self);
    /// Encodes into `buffer` with the same entity ids and notes (for parts that must be sorted by their bytes).
    fn nested(&mut self, buffer: &mut Vec<u8>, encode: impl FnOnce(&mut VecSink<'_>));
}

/// A [`Sink`] that grows a vector.
#[expect(missing_debug_implementations, reason = "borrows a trait object")]
pub struct VecSink<'a> {
    out: &'a mut Vec<u8>,
    ids: &'a dyn EntityIds,
    notes: &'a mut EncodeNotes,
}

impl<'a> VecSink<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<u8>, ids: &'a dyn EntityIds, notes: &'a mut EncodeNotes) -> Self {
        Self { out, ids, notes }
    }
}

fn put_entity(sink: &mut impl Sink, ids: &dyn EntityIds, notes: &mut EncodeNotes, bits: u64) {
    let id = ids.sim_id(bits).unwrap_or_else(|| {
        notes.dangling_count += 1;
        NO_ENTITY
    });
    sink.put(&id.to_le_bytes());
}

/// The sim id written for an entity that points at nothing simulated.
pub const NO_ENTITY: u64 = u64::MAX;

/// What sinks with `ids` and `notes` have in common.
macro_rules! with_ids_and_notes {
    () => {
        fn put_entity(&mut self, entity_bits: u64) {
            let (ids, mut notes) = (self.ids, *self.notes);
            put_entity(self, ids, &mut notes, entity_bits);
            *self.notes = notes;
        }
        #[inline(always)]
        fn note_nan(&mut self) {
            self.notes.nan_count += 1;
        }
        fn nested(&mut self, buffer: &mut Vec<u8>, encode: impl FnOnce(&mut VecSink<'_>)) {
            encode(&mut VecSink::new(buffer, self.ids, self.notes));
        }
    };
}

impl Sink for VecSink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
    with_ids_and_notes!();
}

/// A [`Sink`] over a slot of exactly [`Canonical::WIDTH`] bytes: the hot path of a capture.
#[expect(missing_debug_implementations, reason = "borrows a trait object")]
pub struct SlotSink<'a> {
    slot: &'a mut [u8],
    at: usize,
    ids: &'a dyn EntityIds,
    notes: &'a mut EncodeNotes,
}

impl<'a> SlotSink<'a> {
    /// Writes into `slot` from its start.
    #[inline]
    pub fn new(slot: &'a mut [u8], ids: &'a dyn EntityIds, notes: &'a mut EncodeNotes) -> Self {
        Self { slot, at: 0, ids, notes }
    }
}

impl Sink for SlotSink<'_> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.slot[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
    with_ids_and_notes!();
}

/// A [`Sink`] that writes nothing, and compares with the bytes of another value of the same type and width.
#[expect(missing_debug_implementations, reason = "borrows a trait object")]
pub struct CompareSink<'a> {
    slot: &'a [u8],
    at: usize,
    differs: bool,
    ids: &'a dyn EntityIds,
    notes: &'a mut EncodeNotes,
}

impl<'a> CompareSink<'a> {
    /// Compares with `slot` from its start.
    #[inline]
    pub fn new(slot: &'a [u8], ids: &'a dyn EntityIds, notes: &'a mut EncodeNotes) -> Self {
        Self { slot, at: 0, differs: false, ids, notes }
    }

    /// Returns whether any byte so far was another.
    #[inline]
    #[must_use]
    pub fn differs(&self) -> bool {
        self.differs
    }
}

impl Sink for CompareSink<'_> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.differs |= self.slot[self.at..self.at + bytes.len()] != *bytes;
        self.at += bytes.len();
    }
    with_ids_and_notes!();
}

/// Why bytes could not be read as a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside the value.
    #[error("the value ends early (bytes missing: {missing})")]
    Truncated {
        /// How many more bytes were needed.
        missing: usize,
    },
    /// A list claims more items than the rest of the bytes can hold.
    #[error("a list of {count} items cannot stand in {available} bytes")]
    TooFewBytes {
        /// How many items it claims.
        count: u64,
        /// How many bytes are left.
        available: usize,
    },
    /// Bytes are left over after the value.
    #[error("the value ends before its bytes do (left over: {extra})")]
    LeftOver {
        /// How many bytes follow.
        extra: usize,
    },
    /// The bytes are no value of the type.
    #[error("{found} is no value of {expected}")]
    Invalid {
        /// The type or the rule that was expected.
        expected: String,
        /// What stood there.
        found: String,
    },
    /// The items of a set or map are not in the order of their bytes.
    #[error("the items of a set or map are not in the order of their bytes")]
    Unsorted,
    /// Values are nested deeper than [`DEPTH_MAX`].
    #[error("the value is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// More than 4,096 parts of the value take no bytes.
    #[error("the value has more than {EMPTY_PARTS_MAX} parts that take no bytes")]
    TooManyEmptyParts,
}

impl DecodeError {
    /// Makes an [`Invalid`](Self::Invalid).
    pub fn invalid(expected: impl Into<String>, found: impl ToString) -> Self {
        Self::Invalid { expected: expected.into(), found: found.to_string() }
    }
}

/// How deep values may be nested: each list, set, map, option, array, tuple, struct and enum is a level.
///
/// Few enough that all readers, of bytes and of text, fit the 2 MiB stack of a thread in a debug build.
pub const DEPTH_MAX: u32 = 64;

/// How many parts of a value may take no bytes: the size of the input bounds the number of all others.
const EMPTY_PARTS_MAX: u32 = 1 << 12;

/// Canonical bytes being read.
#[expect(missing_debug_implementations, reason = "borrows a trait object")]
pub struct Source<'a> {
    bytes: &'a [u8],
    ids: &'a dyn EntityIds,
    depth: u32,
    empty_parts: u32,
}

impl<'a> Source<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8], ids: &'a dyn EntityIds) -> Self {
        Self { bytes, ids, depth: 0, empty_parts: 0 }
    }

    /// Reads what is made of other values: one level deeper.
    ///
    /// # Errors
    ///
    /// What `read` returns, and [`DecodeError::TooDeep`] below [`DEPTH_MAX`] levels, so that damaged
    /// bytes cannot exhaust the stack.
    pub fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, DecodeError>) -> Result<T, DecodeError> {
        if self.depth == DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Reads one of many parts, and returns its bytes with it.
    ///
    /// Damaged bytes can claim any number of parts that take none; that many are refused.
    pub(crate) fn part<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<(T, &'a [u8]), DecodeError> {
        let before = self.bytes;
        let value = read(self)?;
        let bytes = &before[..before.len() - self.bytes.len()];
        if bytes.is_empty() {
            self.empty_parts += 1;
            if self.empty_parts > EMPTY_PARTS_MAX {
                return Err(DecodeError::TooManyEmptyParts);
            }
        }
        Ok((value, bytes))
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] if fewer are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self
            .bytes
            .split_at_checked(count)
            .ok_or_else(|| DecodeError::Truncated { missing: count - self.bytes.len() })?;
        self.bytes = tail;
        Ok(head)
    }

    /// Takes the next `N` bytes as an array.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] if fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self
            .bytes
            .split_first_chunk::<N>()
            .ok_or_else(|| DecodeError::Truncated { missing: N - self.bytes.len() })?;
        self.bytes = tail;
        Ok(*head)
    }

    /// Takes a `u64` count of items that need at least `item_bytes` bytes each.
    ///
    /// # Errors
    ///
    /// [`DecodeError::TooFewBytes`] if the rest cannot hold that many, so that a damaged count
    /// never allocates.
    pub fn count(&mut self, item_bytes: usize) -> Result<usize, DecodeError> {
        let count = u64::from_le_bytes(self.array()?);
        let fits = usize::try_from(count).ok().filter(|n| n.saturating_mul(item_bytes) <= self.bytes.len());
        fits.ok_or(DecodeError::TooFewBytes { count, available: self.bytes.len() })
    }

    /// Takes an entity: the bits of the entity that carries the stored sim id, or `None`.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Truncated`] if fewer than eight bytes are left.
    pub fn entity_bits(&mut self) -> Result<Option<u64>, DecodeError> {
        let id = u64::from_le_bytes(self.array()?);
        Ok(if id == NO_ENTITY { None } else { self.ids.entity_bits(id) })
    }

    /// Returns how many bytes are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Checks that nothing is left over.
    ///
    /// # Errors
    ///
    /// [`DecodeError::LeftOver`] otherwise.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(DecodeError::LeftOver { extra: self.bytes.len() }) }
    }
}

/// Returns the canonical bytes of a value that holds no entities.
///
/// # Examples
///
/// ```
/// assert_eq!(bevy_replay_tape::encode_to_vec(&(7_u16, true)), [7, 0, 1]);
/// ```
#[must_use]
pub fn encode_to_vec<T: Canonical>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut VecSink::new(&mut out, &NoEntities, &mut EncodeNotes::default()));
    out
}

/// Reads a value that holds no entities and nothing after it.
///
/// # Errors
///
/// As [`Canonical::decode`], and [`DecodeError::LeftOver`].
pub fn decode_from_slice<T: Canonical>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut source = Source::new(bytes, &NoEntities);
    let value = T::decode(&mut source)?;
    source.finish()?;
    Ok(value)
}

/// Adds two widths; the sum is known only where both are. Used by the derive macro.
#[must_use]
pub const fn width_sum(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        _ => None,
    }
}

/// Returns the width all variants share, if they do. Used by the derive macro.
#[must_use]
pub const fn width_equal(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(x), Some(y)) if x == y => Some(x),
        _ => None,
    }
}
