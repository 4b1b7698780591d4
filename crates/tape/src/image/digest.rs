//! Digest version 1, specified in `docs/digest.md`. Frozen: a change here needs a new version.

use super::{Ids, Image, Lane, ResourceState};
use twox_hash::XxHash3_64;
use xxhash_rust::xxh3::Xxh3Default;

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

fn put(hasher: &mut Xxh3Default, value: u64) {
    hasher.update(&value.to_le_bytes());
}

fn put_name(hasher: &mut Xxh3Default, name: &str) {
    put(hasher, name.len() as u64);
    hasher.update(name.as_bytes());
}

/// Hashes of the blocks of a lane's rows that are known to be unchanged since they were computed.
///
/// For a caller that knows which rows changed. Whoever forgets too little gets the digest of another state.
#[derive(Debug, Clone, Default)]
pub struct BlockDigests(Vec<Option<u64>>);

impl BlockDigests {
    /// Forgets all blocks: any row may have changed, or there are others now.
    pub fn forget_all(&mut self) {
        self.0.clear();
    }

    /// Forgets the block of a row.
    pub fn forget(&mut self, row: usize) {
        if let Some(block) = self.0.get_mut(row / BLOCK_ROWS) {
            *block = None;
        }
    }

    /// Hashes the rows of a block while they are at hand.
    pub fn learn(&mut self, block: usize, rows: &[u8]) {
        if self.0.len() <= block {
            self.0.resize(block + 1, None);
        }
        self.0[block] = Some(XxHash3_64::oneshot(rows));
    }

    /// Returns whether anything is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn lane_digest(lane: &Lane, known: Option<&mut BlockDigests>) -> u64 {
    let mut nothing = Vec::new();
    let known = known.map_or(&mut nothing, |known| {
        known.0.resize(lane.ids.len().div_ceil(BLOCK_ROWS), None);
        &mut known.0
    });
    let Lane { name, schema: _, ids, rows } = lane;
    let Ids { ids, block_digests } = &**ids;
    let mut hasher = Xxh3Default::new();
    put_name(&mut hasher, name);
    put(&mut hasher, ids.len() as u64);
    // Sixteen bytes a block: gathered, because many short updates cost more than the hash.
    let mut gathered = [0; 16 * 32];
    let mut used = 0;
    for (block, ids_digest) in block_digests.iter().enumerate() {
        let first = block * BLOCK_ROWS;
        let last = ids.len().min(first + BLOCK_ROWS);
        let compute = || XxHash3_64::oneshot(&rows.bytes[rows.range(first..last)]);
        let rows_digest = known.get_mut(block).map_or_else(compute, |known| *known.get_or_insert_with(compute));
        gathered[used..used + 8].copy_from_slice(&ids_digest.to_le_bytes());
        gathered[used + 8..used + 16].copy_from_slice(&rows_digest.to_le_bytes());
        used += 16;
        if used == gathered.len() {
            hasher.update(&gathered);
            used = 0;
        }
    }
    hasher.update(&gathered[..used]);
    hasher.digest()
}

fn resource_digest(resource: &ResourceState) -> u64 {
    let ResourceState { name, schema: _, present, bytes } = resource;
    let mut hasher = Xxh3Default::new();
    put_name(&mut hasher, name);
    put(&mut hasher, u64::from(*present));
    hasher.update(bytes);
    hasher.digest()
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

        let mut hasher = Xxh3Default::new();
        put(&mut hasher, *tick);
        put(&mut hasher, roster.len() as u64);
        for parts in [&roster.block_digests, &digest.lanes, &digest.resources] {
            put(&mut hasher, parts.len() as u64);
            for part in parts {
                put(&mut hasher, *part);
            }
        }
        digest.root = hasher.digest();
    }
}
