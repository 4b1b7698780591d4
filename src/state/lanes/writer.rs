//! Rows of a fixed width, from tables to where they stand in the image.

use crate::state::codec::Codec;
use crate::state::roster::{Arrangement, Places};
use crate::state::sim_id::WorldIds;
use bevy_replay_tape::{BLOCK_ROWS, BlockDigests, EncodeNotes, SlotSink};

/// Writes the rows of a type with a fixed width.
pub(super) struct Writer<'a, C> {
    pub(super) codec: &'a C,
    pub(super) slots: &'a mut [u8],
    pub(super) known: &'a mut BlockDigests,
    pub(super) ids: &'a WorldIds<'a>,
    pub(super) notes: &'a mut EncodeNotes,
}

/// More tables than that are written one after another.
const INTERLEAVED_MAX: usize = 16;

impl<C> Writer<'_, C> {
    /// Writes tables to where their rows stand.
    ///
    /// Where it `COMPARES`, it forgets the blocks of rows that differ from those of the last capture, leaves the others as
    /// they are, and returns how many differ.
    pub(super) fn write<'t, T: 't, const COMPARES: bool>(
        mut self,
        tables: impl Iterator<Item = (&'t [T], &'t Places)>,
    ) -> usize
    where
        C: Codec<T>,
    {
        // Asked here and not by the caller, as it is a constant in these loops then.
        let Some(width) = self.codec.width().filter(|width| *width > 0) else { return 0 };
        let slots = core::mem::take(&mut self.slots);
        let mut changed = 0;
        let mut interleaved: [(&[T], Option<&Places>); INTERLEAVED_MAX] = [(&[], None); INTERLEAVED_MAX];
        let mut count = 0;
        for (values, places) in tables {
            let rows = values.iter().zip(&places.ranks);
            match places.arrangement {
                Arrangement::Interleaved if count < INTERLEAVED_MAX => {
                    interleaved[count] = (values, Some(places));
                    count += 1;
                }
                Arrangement::Run => {
                    let first = places.ranks.first().map_or(0, |rank| *rank as usize);
                    for ((value, rank), slot) in rows.zip(slots[first * width..].chunks_exact_mut(width)) {
                        changed += self.row::<T, COMPARES>(value, *rank, slot, width);
                    }
                }
                Arrangement::Interleaved | Arrangement::Scattered => {
                    for (value, rank) in rows {
                        let slot = &mut slots[*rank as usize * width..][..width];
                        changed += self.row::<T, COMPARES>(value, *rank, slot, width);
                    }
                }
            }
        }
        if count == 0 {
            return changed;
        }
        // They are written together, one block of the image after another, so that no memory is visited once for each
        // table; and a block is hashed while it is at hand.
        let mut blocks = slots.chunks_exact_mut(BLOCK_ROWS * width);
        let full = blocks.len();
        for (block, slots) in (&mut blocks).enumerate() {
            changed += self.block::<T, COMPARES>(block, &interleaved[..count], slots, width);
        }
        let rest = blocks.into_remainder();
        if !rest.is_empty() {
            changed += self.block::<T, COMPARES>(full, &interleaved[..count], rest, width);
        }
        changed
    }

    /// Writes the rows of a block, and returns how many are known to differ.
    #[inline(always)] // so that the size of a full block is a constant, and no row is looked for outside of it
    fn block<T, const COMPARES: bool>(
        &mut self,
        block: usize,
        tables: &[(&[T], Option<&Places>)],
        slots: &mut [u8],
        width: usize,
    ) -> usize
    where
        C: Codec<T>,
    {
        let mut changed = 0;
        for (values, places) in tables {
            let Some(Places { ranks, ends, .. }) = places else { continue };
            let start = block.checked_sub(1).map_or(0, |before| ends[before] as usize);
            let rows = start..ends[block] as usize;
            for (value, rank) in values[rows.clone()].iter().zip(&ranks[rows]) {
                let row = *rank as usize % BLOCK_ROWS;
                changed += self.row::<T, COMPARES>(value, *rank, &mut slots[row * width..][..width], width);
            }
        }
        self.known.learn(block, slots);
        changed
    }

    /// Writes a row, and returns 1 if it is known to differ.
    #[inline(always)]
    fn row<T, const COMPARES: bool>(&mut self, value: &T, rank: u32, slot: &mut [u8], width: usize) -> usize
    where
        C: Codec<T>,
    {
        // Small values are put together apart: what is read and what is written are then known not to overlap, and they
        // are compared and copied in few steps.
        let mut apart = [0; 64];
        if let Some(apart) = apart.get_mut(..width) {
            self.codec.encode(value, &mut SlotSink::new(apart, self.ids, self.notes));
            if COMPARES && slot == apart {
                return 0;
            }
            slot.copy_from_slice(apart);
        } else {
            self.codec.encode(value, &mut SlotSink::new(slot, self.ids, self.notes));
        }
        if COMPARES {
            self.known.forget(rank as usize);
        }
        usize::from(COMPARES)
    }
}
