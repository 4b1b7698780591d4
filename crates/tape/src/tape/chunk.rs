//! The frame of the file: a magic number, then chunks of kind, length, CRC-32 and payload.

use super::{TapeError, TapeLimits};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::borrow::Cow;
use std::io::{Read, Write};

/// How a tape starts. The line end shows up where a transfer has changed line ends.
pub(super) const MAGIC: &[u8; 8] = b"BVYTAPE\n";

/// Four letters.
pub(super) type Kind = [u8; 4];

/// The file is being written: it may end anywhere, and what follows the last [`TICK`] is not there yet.
pub(super) const OPEN: Kind = *b"OPEN";
/// The header, as JSON.
pub(super) const HEAD: Kind = *b"HEAD";
/// The state before the first tick.
pub(super) const INIT: Kind = *b"INIT";
/// Changes of inputs, column by column.
pub(super) const INPUT: Kind = *b"INPT";
/// Changes of the length of a tick.
pub(super) const CLOCK: Kind = *b"CLCK";
/// Root digests.
pub(super) const ROOTS: Kind = *b"ROOT";
/// Digests of types.
pub(super) const LANES: Kind = *b"LANE";
/// Changes of values.
pub(super) const VALUES: Kind = *b"DELT";
/// Bookmarks, as JSON.
pub(super) const MARKS: Kind = *b"MARK";
/// All chunks of the ticks so far are written.
pub(super) const TICK: Kind = *b"TICK";
/// How the recording ended, as JSON.
pub(super) const END: Kind = *b"END ";

/// The kinds that this format knows.
const KINDS: [Kind; 11] = [OPEN, HEAD, INIT, INPUT, CLOCK, ROOTS, LANES, VALUES, MARKS, TICK, END];

const HEAD_BYTES: usize = 4 + 8 + 4;
const PLAIN: u8 = 0;
const DEFLATED: u8 = 1;

/// A chunk whose checksum is right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) kind: Kind,
    /// Where it starts in the file.
    pub(super) offset: usize,
    /// Where it ends.
    pub(super) end: usize,
    payload: &'a [u8],
    /// Size of what is in it.
    content_bytes: u64,
}

/// How hard a chunk is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Not at all: what is random does not become smaller.
    Plain,
    /// While the game runs.
    Fast,
    /// Once, at the end.
    Best,
}

pub(super) fn put_chunk(out: &mut Vec<u8>, kind: Kind, content: &[u8], packing: Packing) {
    let packed = packed(content, packing);
    let length = packed.as_ref().map_or(1 + content.len(), |packed| 9 + packed.len()) as u64;
    out.extend_from_slice(&kind);
    out.extend_from_slice(&length.to_le_bytes());
    let crc_at = out.len();
    out.extend_from_slice(&[0; 4]);
    match packed {
        None => {
            out.push(PLAIN);
            out.extend_from_slice(content);
        }
        Some(packed) => {
            out.push(DEFLATED);
            out.extend_from_slice(&(content.len() as u64).to_le_bytes());
            out.extend_from_slice(&packed);
        }
    }
    let crc = crc_of(kind, length, &out[crc_at + 4..]);
    out[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Returns the compressed content where that is smaller.
fn packed(content: &[u8], packing: Packing) -> Option<Vec<u8>> {
    let level = match packing {
        Packing::Plain => return None,
        Packing::Fast => Compression::fast(),
        Packing::Best => Compression::best(),
    };
    let mut encoder = DeflateEncoder::new(Vec::new(), level);
    let packed = encoder.write_all(content).and_then(|()| encoder.finish()).ok()?;
    (packed.len() + 8 < content.len()).then_some(packed)
}

fn crc_of(kind: Kind, length: u64, payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&kind);
    crc.update(&length.to_le_bytes());
    crc.update(payload);
    crc.finalize()
}

/// Splits the next chunk off, and checks it against its checksum.
fn next_chunk<'a>(rest: &mut &'a [u8], offset: usize) -> Result<Chunk<'a>, TapeError> {
    let truncated = || TapeError::Truncated { offset, ticks_before: 0 };
    let (head, tail) = rest.split_first_chunk::<HEAD_BYTES>().ok_or_else(truncated)?;
    let [k0, k1, k2, k3, l0, l1, l2, l3, l4, l5, l6, l7, c0, c1, c2, c3] = *head;
    let (kind, length) = ([k0, k1, k2, k3], u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]));
    let split = usize::try_from(length).ok().and_then(|length| tail.split_at_checked(length));
    let (payload, after) = split.ok_or_else(truncated)?;
    let (stored, computed) = (u32::from_le_bytes([c0, c1, c2, c3]), crc_of(kind, length, payload));
    if stored != computed {
        return Err(TapeError::ChecksumMismatch { kind: shown(kind), offset, stored, computed, ticks_before: 0 });
    }
    let end = offset + HEAD_BYTES + payload.len();
    let mut chunk = Chunk { kind, offset, end, payload, content_bytes: 0 };
    if KINDS.contains(&kind) {
        chunk.content_bytes = match *payload {
            [PLAIN, ..] => length - 1,
            [DEFLATED, l0, l1, l2, l3, l4, l5, l6, l7, ..] => u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]),
            _ => return Err(chunk.unreadable("its packing is unknown")),
        };
    }
    *rest = after;
    Ok(chunk)
}

/// Returns the known chunks up to the first damage, and the damage.
pub(super) fn chunks(body: &[u8]) -> (Vec<Chunk<'_>>, Option<TapeError>) {
    let (mut rest, mut found) = (body, Vec::new());
    while !rest.is_empty() {
        let offset = MAGIC.len() + body.len() - rest.len();
        match next_chunk(&mut rest, offset) {
            Ok(chunk) if KINDS.contains(&chunk.kind) => found.push(chunk),
            Ok(_of_a_later_version) => {}
            Err(damage) => return (found, Some(damage)),
        }
    }
    (found, None)
}

/// Checks the sizes that chunks claim before anything of such a size is made; returns what they may still grow by.
pub(super) fn check_sizes(chunks: &[Chunk<'_>], limits: TapeLimits) -> Result<Budget, TapeError> {
    for chunk in chunks.iter().filter(|chunk| chunk.kind == HEAD) {
        TapeLimits::check("bytes of header", chunk.content_bytes, limits.header_bytes)?;
    }
    let total = chunks.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.content_bytes));
    TapeLimits::check("bytes once unpacked", total, limits.unpacked_bytes)?;
    Ok(Budget { used: total, limit: limits.unpacked_bytes })
}

/// How large what is read may become.
#[derive(Debug)]
pub(super) struct Budget {
    used: u64,
    limit: u64,
}

impl Budget {
    /// Takes what the rows of a track will need.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), TapeError> {
        self.used = self.used.saturating_add(bytes);
        TapeLimits::check("bytes once unpacked", self.used, self.limit)
    }
}

impl Chunk<'_> {
    /// Returns its kind, for people.
    pub(super) fn name(&self) -> String {
        shown(self.kind)
    }

    /// Says why the chunk cannot be read although its checksum is right.
    pub(super) fn unreadable(&self, reason: impl Into<String>) -> TapeError {
        TapeError::BadChunk { kind: shown(self.kind), offset: self.offset, reason: reason.into() }
    }

    /// Returns the content; never more than the chunk claims.
    pub(super) fn content(&self) -> Result<Cow<'_, [u8]>, TapeError> {
        let (_packing, plain) = self.payload.split_at(1);
        if self.payload[0] == PLAIN {
            return Ok(plain.into());
        }
        let claimed = self.content_bytes;
        let mut decoder = DeflateDecoder::new(&plain[8..]).take(claimed);
        // No deflated byte stands for more than 1032; so a false claim cannot make us set memory aside.
        let most = (plain.len() as u64).saturating_mul(1032).min(claimed);
        let mut content = Vec::with_capacity(usize::try_from(most).unwrap_or_default());
        let read = decoder.read_to_end(&mut content);
        read.map_err(|error| self.unreadable(format!("it cannot be unpacked: {error}")))?;
        let mut decoder = decoder.into_inner();
        let is_more =
            decoder.read(&mut [0]).map_err(|error| self.unreadable(format!("it cannot be unpacked: {error}")))?;
        if is_more > 0 || content.len() as u64 != claimed || decoder.total_in() + 8 != plain.len() as u64 {
            return Err(self.unreadable(format!("it does not unpack to the {claimed} bytes that it claims")));
        }
        Ok(content.into())
    }
}

fn shown(kind: Kind) -> String {
    kind.escape_ascii().to_string()
}
