//! Digest version 1, specified in `docs/digest.md`. Frozen: a change here needs a new version.

use super::{Ids, Image, Lane, ResourceState};
use twox_hash::XxHash3_64;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// Version of the rules that make a digest.
pub const DIGEST_VERSION: u32 = 1;

/// Rows hashed together. Chosen by measurement; the table is in `docs/digest.md`.
pub const BLOCK_ROWS: usize = 128;

/// The hashes of an image: the root, and those it is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// Hash of the whole image.
    pub root: u64,
    /// Hash of each lane, in the image's order.
    pub lanes: Vec<u64>,
    /// Hash of each resource, in the image's order.
    pub resources: Vec<u64>,
}

/// Returns the hash of each block of ids.
pub(super) fn ids_blocks(ids: &[u64]) -> Vec<u64> {
    let mut bytes = [0; BLOCK_ROWS * 8];
    let block = |ids: &[u64]| {
        for (slot, id) in bytes.chunks_exact_mut(8).zip(ids) {
            slot.copy_from_slice(&id.to_le_bytes());
        }
        XxHash3_64::oneshot(&bytes[..ids.len() * 8])
    };
    ids.chunks(BLOCK_ROWS).map(block).collect()
}

/// XXH3-64 of what is put into it.
///
/// What is short is gathered and hashed at once: to set up a hasher of streams takes longer than that.
struct Hasher {
    gathered: [u8; 240],
    used: usize,
    /// What did not fit.
    stream: Option<Xxh3Default>,
}

impl Hasher {
    fn new() -> Self {
        Self { gathered: [0; 240], used: 0, stream: None }
    }

    #[inline]
    fn put(&mut self, value: u64) {
        if self.used + 8 > self.gathered.len() {
            self.flush();
        }
        self.gathered[self.used..][..8].copy_from_slice(&value.to_le_bytes());
        self.used += 8;
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        if self.used + bytes.len() > self.gathered.len() {
            self.flush();
        }
        match self.gathered.get_mut(self.used..self.used + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.used += bytes.len();
            }
            None => self.stream.get_or_insert_with(Xxh3Default::new).update(bytes),
        }
    }

    fn flush(&mut self) {
        self.stream.get_or_insert_with(Xxh3Default::new).update(&self.gathered[..self.used]);
        self.used = 0;
    }

    fn put_name(&mut self, name: &str) {
        self.put(name.len() as u64);
        self.put_bytes(name.as_bytes());
    }

    fn finish(mut self) -> u64 {
        let rest = &self.gathered[..self.used];
        match &mut self.stream {
            None => xxh3_64(rest),
            Some(stream) => {
                stream.update(rest);
                stream.digest()
            }
        }
    }
}

/// Hashes of the blocks of a lane's rows, and which of them are out of date.
///
/// For a caller that knows which rows changed. Whoever forgets too little gets the digest of another state: one row where its
/// value changes, all where there are other ids.
#[derive(Debug, Clone, Default)]
pub struct BlockDigests {
    digests: Vec<u64>,
    is_known: Vec<bool>,
    /// The hash of the lane, as long as none of these is forgotten.
    lane: Option<u64>,
    /// How many blocks were hashed since the capture began.
    learned: usize,
    /// So many times no comparing.
    pause: u8,
}

impl BlockDigests {
    /// Captures in a row that do not compare once most blocks were found to differ: then comparing costs more than it
    /// saves.
    const PAUSE: u8 = 15;

    /// Begins a capture of so many rows, and returns whether it is worth comparing them with those of the last one.
    ///
    /// If it is not, all blocks are forgotten.
    pub fn begin(&mut self, rows: usize) -> bool {
        let is_worth_it = !self.is_known.is_empty() && self.pause == 0;
        if !is_worth_it {
            self.pause = self.pause.saturating_sub(1);
            self.is_known.fill(false);
            self.lane = None;
        }
        let blocks = rows.div_ceil(BLOCK_ROWS);
        if blocks != self.is_known.len() {
            self.lane = None;
        }
        self.is_known.resize(blocks, false);
        self.digests.resize(blocks, 0);
        self.learned = 0;
        is_worth_it
    }

    /// Ends a capture that compared.
    pub fn end(&mut self) {
        if self.learned * 2 > self.is_known.len() {
            self.pause = Self::PAUSE;
        }
    }

    /// Forgets all blocks: any row may have changed, or there are others now.
    pub fn forget_all(&mut self) {
        self.is_known.clear();
        self.lane = None;
    }

    /// Forgets the block of a row.
    #[inline(always)]
    pub fn forget(&mut self, row: usize) {
        self.lane = None;
        if let Some(is_known) = self.is_known.get_mut(row / BLOCK_ROWS) {
            *is_known = false;
        }
    }

    /// Hashes the rows of a block while they are at hand, if its hash is not known.
    ///
    /// # Panics
    ///
    /// If the capture was begun with fewer rows.
    pub fn learn(&mut self, block: usize, rows: &[u8]) {
        if !core::mem::replace(&mut self.is_known[block], true) {
            self.digests[block] = XxHash3_64::oneshot(rows);
            self.lane = None;
            self.learned += 1;
        }
    }

    /// Returns whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_known.is_empty()
    }
}

fn lane_digest(lane: &Lane, known: Option<&mut BlockDigests>) -> u64 {
    let mut nothing = BlockDigests::default();
    let BlockDigests { digests, is_known, lane: whole, .. } = known.unwrap_or(&mut nothing);
    *whole.get_or_insert_with(|| {
        let blocks = lane.ids.len().div_ceil(BLOCK_ROWS);
        digests.resize(blocks, 0);
        is_known.resize(blocks, false);
        let Lane { name, schema: _, ids, rows } = lane;
        let Ids { ids, block_digests } = &**ids;
        let mut hasher = Hasher::new();
        hasher.put_name(name);
        hasher.put(ids.len() as u64);
        let rows_digests = digests.iter_mut().zip(is_known);
        for (block, (ids_digest, (rows_digest, is_known))) in block_digests.iter().zip(rows_digests).enumerate() {
            if !core::mem::replace(is_known, true) {
                let first = block * BLOCK_ROWS;
                let last = ids.len().min(first + BLOCK_ROWS);
                *rows_digest = XxHash3_64::oneshot(&rows.bytes[rows.range(first..last)]);
            }
            hasher.put(*ids_digest);
            hasher.put(*rows_digest);
        }
        hasher.finish()
    })
}

fn resource_digest(resource: &ResourceState) -> u64 {
    let ResourceState { name, schema: _, present, bytes } = resource;
    let mut hasher = Hasher::new();
    hasher.put_name(name);
    hasher.put(u64::from(*present));
    hasher.put_bytes(bytes);
    hasher.finish()
}

impl Image {
    /// Returns the digest of the image.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        self.digest_into(&mut digest);
        digest
    }

    /// Writes the digest of the image over another one, without allocating once that has the size.
    pub fn digest_into(&self, digest: &mut Digest) {
        self.digest_known(digest, &mut []);
    }

    /// As [`digest_into`](Self::digest_into), without hashing what is known of each lane.
    pub fn digest_known(&self, digest: &mut Digest, known: &mut [BlockDigests]) {
        let Self { tick, roster, lanes, resources } = self;
        let mut known = known.iter_mut();
        digest.lanes.clear();
        digest.lanes.extend(lanes.iter().map(|lane| lane_digest(lane, known.next())));
        digest.resources.clear();
        digest.resources.extend(resources.iter().map(resource_digest));

        let mut hasher = Hasher::new();
        hasher.put(*tick);
        hasher.put(roster.len() as u64);
        for parts in [&roster.block_digests, &digest.lanes, &digest.resources] {
            hasher.put(parts.len() as u64);
            parts.iter().for_each(|part| hasher.put(*part));
        }
        digest.root = hasher.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_have_the_hash_of_the_whole(sizes in proptest::collection::vec(0_usize..400, 0..8)) {
            let mut hasher = Hasher::new();
            let mut whole = Vec::new();
            for size in sizes {
                let part: Vec<u8> = (whole.len()..whole.len() + size).map(|at| (at * 7).to_le_bytes()[0]).collect();
                if let Ok(word) = part[..].try_into() {
                    hasher.put(u64::from_le_bytes(word));
                } else {
                    hasher.put_bytes(&part);
                }
                whole.extend(part);
            }
            prop_assert_eq!(hasher.finish(), xxh3_64(&whole));
        }
    }
}
