//! Rows of a fixed width, from tables to where they stand in the image.

use crate::state::codec::Codec;
use crate::state::roster::Places;
use crate::state::sim_id::WorldIds;
use bevy_replay_tape::{BLOCK_ROWS, BlockDigests, CompareSink, EncodeNotes, SlotSink};

/// Writes the rows of a type with a fixed width.
pub(super) struct Writer<'a, C> {
    pub(super) codec: &'a C,
    /// Room for all rows, filled up to whole blocks.
    pub(super) slots: &'a mut [u8],
    pub(super) rows: usize,
    pub(super) known: &'a mut BlockDigests,
    pub(super) ids: &'a WorldIds<'a>,
    pub(super) notes: &'a mut EncodeNotes,
}

/// The values of a table, and where they go.
type Column<'t, T> = (&'t [T], &'t Places);

/// Tables that are written together: as many as most types are in; more take another walk over the image.
type Group<'t, T> = [Option<Column<'t, T>>; 16];

impl<C> Writer<'_, C> {
    /// Writes tables to where their rows stand, one block of the image after another, so that no memory is visited once
    /// for each table; and hashes each block while it is at hand.
    ///
    /// Where it `COMPARES`, it leaves blocks as they are in which no row differs from those of the last capture.
    pub(super) fn write<'t, T: 't, const COMPARES: bool>(mut self, mut tables: impl Iterator<Item = Column<'t, T>>)
    where
        C: Codec<T>,
    {
        // Asked here and not by the caller, as it is a constant in these loops then.
        let Some(width) = self.codec.width().filter(|width| *width > 0) else { return };
        let slots = core::mem::take(&mut self.slots);
        let mut next = tables.next();
        while next.is_some() {
            let mut group: Group<'t, T> = [None; _];
            for place in &mut group {
                *place = next.take();
                if place.is_some() {
                    next = tables.next();
                }
            }
            // Their size is a constant, so that no row is looked for outside of one.
            for (block, slots) in slots.chunks_exact_mut(BLOCK_ROWS * width).enumerate() {
                if !COMPARES || self.differs(block, &group, slots, width) {
                    self.write_block(block, &group, slots, width);
                }
                if next.is_none() {
                    let rows = (self.rows - block * BLOCK_ROWS).min(BLOCK_ROWS);
                    self.known.learn(block, &slots[..rows * width]);
                }
            }
        }
    }

    /// Whether a row of a block is not as it stands there.
    #[inline(always)]
    fn differs<T>(&mut self, block: usize, group: &Group<'_, T>, slots: &[u8], width: usize) -> bool
    where
        C: Codec<T>,
    {
        group.iter().map_while(|column| *column).any(|(values, places)| {
            let rows = places.block(block);
            if places.order.is_empty() {
                self.differ(values[rows.clone()].iter().zip(places.ranks[rows].iter().copied()), slots, width)
            } else {
                self.differ(places.order[rows].iter().map(|(row, rank)| (&values[*row as usize], *rank)), slots, width)
            }
        })
    }

    /// Looks at all rows, as that takes less than to ask after each.
    #[inline(always)]
    fn differ<'t, T: 't>(&mut self, rows: impl Iterator<Item = (&'t T, u32)>, slots: &[u8], width: usize) -> bool
    where
        C: Codec<T>,
    {
        let mut differs = false;
        for (value, rank) in rows {
            let slot = &slots[rank as usize % BLOCK_ROWS * width..][..width];
            let mut sink = CompareSink::new(slot, self.ids, self.notes);
            self.codec.encode(value, &mut sink);
            differs |= sink.differs();
        }
        differs
    }

    /// Writes the rows of a block.
    #[inline(always)]
    fn write_block<T>(&mut self, block: usize, group: &Group<'_, T>, slots: &mut [u8], width: usize)
    where
        C: Codec<T>,
    {
        for (values, places) in group.iter().map_while(|column| *column) {
            let rows = places.block(block);
            if places.order.is_empty() {
                self.write_rows(values[rows.clone()].iter().zip(places.ranks[rows].iter().copied()), slots, width);
            } else {
                let rows = places.order[rows].iter().map(|(row, rank)| (&values[*row as usize], *rank));
                self.write_rows(rows, slots, width);
            }
        }
        self.known.forget(block * BLOCK_ROWS);
    }

    #[inline(always)]
    fn write_rows<'t, T: 't>(&mut self, rows: impl Iterator<Item = (&'t T, u32)>, slots: &mut [u8], width: usize)
    where
        C: Codec<T>,
    {
        for (value, rank) in rows {
            let slot = &mut slots[rank as usize % BLOCK_ROWS * width..][..width];
            // Values of up to a cache line are put together apart: what is read and what is written are then known not to
            // overlap, and they are copied in few steps.
            let mut apart = [0; 64];
            match apart.get_mut(..width) {
                Some(apart) => {
                    self.codec.encode(value, &mut SlotSink::new(apart, self.ids, self.notes));
                    slot.copy_from_slice(apart);
                }
                None => self.codec.encode(value, &mut SlotSink::new(slot, self.ids, self.notes)),
            }
        }
    }
}
