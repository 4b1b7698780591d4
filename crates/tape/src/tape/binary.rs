//! The binary form: a magic number, then chunks of kind, length, CRC-32 and payload.
//!
//! Format 0 is provisional: it is written whole, and tapes of it are not kept readable.
//! Payloads are canonical bytes ([`Canonical`](crate::Canonical)) or JSON.

use super::{ClockChange, Digests, End, Header, Mark, Tape, Track};
use crate::canonical::{Canonical, DecodeError, decode_from_slice, encode_to_vec};
use crate::image::{Delta, DeltaError, Ids, Image, Lane, LaneDelta, ResourceState};
use crate::tape::{Changes, EndReason};
use crate::value::{Value, ValueTextError};
use std::collections::BTreeSet;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"BVYTAPE\n";

/// Why a tape could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapeError {
    /// The bytes do not start as a tape does.
    #[error("this is no bevy_replay tape: it starts with {found} (a text tape starts with a parenthesis)")]
    NotATape {
        /// The first bytes.
        found: String,
    },
    /// A chunk ends behind the file.
    #[error("the tape ends inside the chunk at byte {offset} (it was cut off, or not written to its end)")]
    Truncated {
        /// Where the chunk starts.
        offset: usize,
    },
    /// A chunk does not match its checksum.
    #[error("chunk {kind} at byte {offset} is damaged: crc {stored:08x} stored, {computed:08x} computed")]
    ChecksumMismatch {
        /// Kind of the chunk.
        kind: String,
        /// Where it starts.
        offset: usize,
        /// The checksum in the file.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// The tape was written by a newer version of this crate.
    #[error("the tape has format {found}, this version of bevy_replay reads up to {known} (update bevy_replay)")]
    NewerFormat {
        /// Format of the tape.
        found: u32,
        /// Newest format this crate reads.
        known: u32,
    },
    /// A chunk that every tape has is missing.
    #[error("the tape has no chunk {kind} (it was cut off, or not written to its end)")]
    MissingChunk {
        /// Kind of the chunk.
        kind: &'static str,
    },
    /// A chunk that stands once stands twice.
    #[error("the tape has a second chunk {kind} at byte {offset}")]
    RepeatedChunk {
        /// Kind of the chunk.
        kind: String,
        /// Where the second one starts.
        offset: usize,
    },
    /// The payload of a chunk is no value of its kind.
    #[error("{place} cannot be read: {error}")]
    BadValue {
        /// Which part of the tape.
        place: String,
        /// What is wrong.
        error: DecodeError,
    },
    /// A JSON payload is none.
    #[error("{place} cannot be read: {error}")]
    BadJson {
        /// Which part of the tape.
        place: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// The text form has a mistake.
    #[error("line {line}, column {column}: {reason}")]
    BadText {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// A value in the text form has a mistake.
    #[error("{place}: {error}")]
    BadTextValue {
        /// Which part of the tape.
        place: String,
        /// What is wrong.
        error: ValueTextError,
    },
    /// Parts of the tape contradict each other.
    #[error("the tape contradicts itself: {reason}")]
    Inconsistent {
        /// How.
        reason: String,
    },
    /// A recorded change does not fit the image before it.
    #[error(transparent)]
    BadDelta(#[from] DeltaError),
    /// The tape is larger than the reader allows.
    #[error("the tape has {found} {what}, the limit is {limit} (raise it in TapeLimits if you trust the tape)")]
    OverLimit {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much is allowed.
        limit: u64,
    },
    /// The file could not be read.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
}

/// How much a reader accepts from a tape it does not trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TapeLimits {
    /// Size of the file in bytes. Default: 1 GiB.
    pub bytes: u64,
    /// Ticks. Default: 16 million, almost three days at 64 Hz.
    pub ticks: u64,
    /// Tracks, component types and resource types together. Default: 4096.
    pub types: u64,
}

impl Default for TapeLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, ticks: 1 << 24, types: 4096 }
    }
}

impl TapeLimits {
    pub(super) fn check(what: &'static str, found: u64, limit: u64) -> Result<(), TapeError> {
        if found > limit { Err(TapeError::OverLimit { what, found, limit }) } else { Ok(()) }
    }
}

type ImageParts = (u64, Vec<u64>, Vec<(Vec<u64>, Vec<u8>)>, Vec<Option<Vec<u8>>>);
type TrackParts = Vec<(u64, Vec<u8>)>;
type DeltaParts = (u64, Vec<u64>, Vec<u64>, Vec<(u32, Vec<u64>, Vec<u64>, Vec<u8>)>, Vec<(u32, Option<Vec<u8>>)>);

impl Tape {
    /// Writes the binary form.
    ///
    /// # Panics
    ///
    /// Never: all parts of a tape can be written.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { header, initial, tracks, clock, digests, values, marks, end } = self;
        let mut out = MAGIC.to_vec();
        let json = |value: Result<Vec<u8>, serde_json::Error>| value.expect("headers, marks and ends are plain data");
        put_chunk(&mut out, b"HEAD", &json(serde_json::to_vec(header)));
        if let Some(image) = initial {
            put_chunk(&mut out, b"INIT", &encode_to_vec(&image_parts(image)));
        }
        for track in tracks {
            let parts: TrackParts = track.changes.iter().map(|(tick, value)| (tick, value.to_vec())).collect();
            put_chunk(&mut out, b"TRCK", &encode_to_vec(&parts));
        }
        let clock: Vec<(u64, u64)> = clock.iter().map(|change| (change.tick, change.timestep_ns)).collect();
        put_chunk(&mut out, b"CLCK", &encode_to_vec(&clock));
        put_chunk(&mut out, b"ROOT", &encode_to_vec(&digests.roots));
        put_chunk(&mut out, b"LANE", &encode_to_vec(&(digests.lane_ticks.clone(), digests.lane_digests.clone())));
        for delta in values {
            put_chunk(&mut out, b"DELT", &encode_to_vec(&delta_parts(delta)));
        }
        put_chunk(&mut out, b"MARK", &json(serde_json::to_vec(marks)));
        put_chunk(&mut out, b"END ", &json(serde_json::to_vec(end)));
        out
    }

    /// Reads the binary or the text form with the default limits.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TapeError> {
        Self::from_bytes_limited(bytes, TapeLimits::default())
    }

    /// Reads the binary or the text form.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming what is wrong.
    pub fn from_bytes_limited(bytes: &[u8], limits: TapeLimits) -> Result<Self, TapeError> {
        TapeLimits::check("bytes", bytes.len() as u64, limits.bytes)?;
        let Some(body) = bytes.strip_prefix(MAGIC) else {
            return match core::str::from_utf8(bytes) {
                Ok(text) if super::text::looks_like_text(text) => Self::from_text_limited(text, limits),
                _ => Err(TapeError::NotATape { found: start_of(bytes) }),
            };
        };
        let tape = read_chunks(body, limits)?;
        tape.check(limits)?;
        Ok(tape)
    }

    /// Writes a new file: in the text form if its name ends in `.ron` or `.txt`, else in the binary form.
    ///
    /// # Errors
    ///
    /// [`TapeError::Io`] if it cannot be written, or if there is such a file already: nothing is overwritten.
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), TapeError> {
        use std::io::Write;
        let path = path.as_ref();
        let is_text = path.extension().is_some_and(|extension| extension == "ron" || extension == "txt");
        let bytes = if is_text { self.to_text().into_bytes() } else { self.to_bytes() };
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create_new(true).open(path);
        let written = file.and_then(|mut file| file.write_all(&bytes));
        written.map_err(|error| TapeError::Io { path: path.display().to_string(), error })
    }

    /// Reads a file in the binary or the text form.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming what is wrong.
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, TapeError> {
        use std::io::Read;
        let path = path.as_ref();
        let io = |error| TapeError::Io { path: path.display().to_string(), error };
        let limits = TapeLimits::default();
        let mut bytes = Vec::new();
        // One byte more than the limit is enough to refuse a file without end.
        std::fs::File::open(path).map_err(io)?.take(limits.bytes + 1).read_to_end(&mut bytes).map_err(io)?;
        Self::from_bytes_limited(&bytes, limits)
    }

    /// Checks that the parts fit each other: after this, each recorded value can be read.
    pub(super) fn check(&self, limits: TapeLimits) -> Result<(), TapeError> {
        let wrong = |reason: String| Err(TapeError::Inconsistent { reason });
        let Self { header, initial, tracks, clock, digests, values, marks: _, end } = self;
        check_header(header, limits)?;
        TapeLimits::check("ticks", end.tick_count, limits.ticks)?;
        if header.timestep_ns == 0 || clock.iter().any(|change| change.timestep_ns == 0) {
            return wrong("a tick of 0 ns".into());
        }
        if header.tick_first.checked_add(end.tick_count).is_none() {
            return wrong(format!("{} ticks from tick {}", end.tick_count, header.tick_first));
        }
        if !clock.is_sorted_by(|a, b| a.tick < b.tick) {
            return wrong("changes of the timestep are out of order".into());
        }
        digests.check(header, end.tick_count)?;
        let tick_end = header.tick_first + end.tick_count;
        for track in tracks {
            for (tick, bytes) in track.changes.iter() {
                let place = || format!("{} at tick {tick}", track.name);
                Value::decode(&track.schema, bytes).map_err(|error| TapeError::BadValue { place: place(), error })?;
            }
            // The input of a tick that did not finish may be there.
            if let Some((tick, _)) = track.changes.last().filter(|(tick, _)| *tick > tick_end) {
                return wrong(format!("{} changes at tick {tick}, but the tape ends at tick {tick_end}", track.name));
            }
        }
        let Some(initial) = initial else {
            return if values.is_empty() { Ok(()) } else { wrong("recorded values without an initial state".into()) };
        };
        if initial.tick != header.tick_first {
            return wrong(format!("the initial state is that of tick {}, not {}", initial.tick, header.tick_first));
        }
        for lane in &initial.lanes {
            if let Some(id) = lane.ids.iter().find(|id| initial.roster.row(**id).is_none()) {
                return wrong(format!("sim:{id} has {} in the initial state, but does not exist", lane.name));
            }
        }
        let mut image = initial.clone();
        for delta in values {
            if delta.tick <= image.tick || delta.tick > tick_end {
                return wrong(format!(
                    "values that lead from tick {} to tick {} of {tick_end}",
                    image.tick, delta.tick
                ));
            }
            image.apply(delta)?;
        }
        Ok(())
    }
}

/// Checks what a header says of itself, before anything of that size is made.
pub(super) fn check_header(header: &Header, limits: TapeLimits) -> Result<(), TapeError> {
    check_format(header.format)?;
    let lists = [("inputs", &header.tracks), ("types", &header.lanes), ("resources", &header.resources)];
    TapeLimits::check("types", lists.iter().map(|(_, specs)| specs.len() as u64).sum(), limits.types)?;
    for (what, specs) in lists {
        if let Some(pair) = specs.windows(2).find(|pair| pair[0].name >= pair[1].name) {
            let (a, b) = (&pair[0].name, &pair[1].name);
            return Err(TapeError::Inconsistent {
                reason: format!("{what} ascend by name, but {a} stands before {b}"),
            });
        }
    }
    Ok(())
}

pub(super) fn check_format(found: u32) -> Result<(), TapeError> {
    let known = super::FORMAT_VERSION;
    if found > known { Err(TapeError::NewerFormat { found, known }) } else { Ok(()) }
}

/// The one part of a header that every format has.
#[derive(serde::Deserialize)]
pub(super) struct FormatOfHeader {
    #[serde(default)]
    pub(super) format: u32,
}

impl Digests {
    fn check(&self, header: &Header, tick_count: u64) -> Result<(), TapeError> {
        let wrong = |reason: String| Err(TapeError::Inconsistent { reason });
        let Self { roots, lane_ticks, lane_digests } = self;
        if roots.len() as u64 > tick_count {
            return wrong(format!("{} root digests for {tick_count} ticks", roots.len()));
        }
        let per_tick = header.lanes.len() + header.resources.len();
        if lane_digests.len() != lane_ticks.len() * per_tick {
            return wrong(format!("{} digests of {per_tick} types for {} ticks", lane_digests.len(), lane_ticks.len()));
        }
        if !lane_ticks.is_sorted_by(|a, b| a < b) || lane_ticks.last().is_some_and(|last| *last >= tick_count) {
            return wrong(format!("ticks with digests of types are out of order, or not among {tick_count}"));
        }
        Ok(())
    }
}

fn start_of(bytes: &[u8]) -> String {
    match bytes {
        [] => "nothing (0 bytes)".into(),
        bytes => bytes.iter().take(8).map(|byte| byte.escape_ascii().to_string()).collect(),
    }
}

fn put_chunk(out: &mut Vec<u8>, kind: &[u8; 4], payload: &[u8]) {
    out.extend_from_slice(kind);
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(&chunk_crc(kind, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

fn chunk_crc(kind: &[u8; 4], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(kind);
    crc.update(payload);
    crc.finalize()
}

const CHUNK_HEAD_BYTES: usize = 4 + 8 + 4;

/// The kinds that this format knows.
const KINDS: [&[u8; 4]; 9] = [b"HEAD", b"INIT", b"TRCK", b"CLCK", b"ROOT", b"LANE", b"DELT", b"MARK", b"END "];

fn read_chunks(mut rest: &[u8], limits: TapeLimits) -> Result<Tape, TapeError> {
    let mut offset = MAGIC.len();
    let mut tape: Option<Tape> = None;
    let mut seen: BTreeSet<[u8; 4]> = BTreeSet::new();
    while !rest.is_empty() {
        let truncated = TapeError::Truncated { offset };
        let Some((head, tail)) = rest.split_first_chunk::<CHUNK_HEAD_BYTES>() else { return Err(truncated) };
        let kind: [u8; 4] = [head[0], head[1], head[2], head[3]];
        let number = |range: core::ops::Range<usize>| {
            head[range].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let (length, stored) = (number(4..12), u32::from_le_bytes([head[12], head[13], head[14], head[15]]));
        let Some((payload, after)) = usize::try_from(length).ok().and_then(|length| tail.split_at_checked(length))
        else {
            return Err(truncated);
        };
        let kind_text = || kind.escape_ascii().to_string();
        let computed = chunk_crc(&kind, payload);
        if computed != stored {
            return Err(TapeError::ChecksumMismatch { kind: kind_text(), offset, stored, computed });
        }
        if KINDS.contains(&&kind) {
            let is_ended = seen.contains(b"END ");
            if !seen.insert(kind) && !matches!(&kind, b"TRCK" | b"DELT") {
                return Err(TapeError::RepeatedChunk { kind: kind_text(), offset });
            }
            if is_ended {
                let reason = format!("chunk {} at byte {offset} stands behind the end", kind_text());
                return Err(TapeError::Inconsistent { reason });
            }
        }
        match &mut tape {
            None if &kind == b"HEAD" => tape = Some(Tape::new(read_header(payload, limits)?)),
            None => return Err(TapeError::MissingChunk { kind: "HEAD" }),
            Some(tape) => read_chunk(tape, &kind, payload, limits)?,
        }
        offset += CHUNK_HEAD_BYTES + payload.len();
        rest = after;
    }
    let tape = tape.ok_or(TapeError::MissingChunk { kind: "HEAD" })?;
    if !seen.contains(b"END ") {
        return Err(TapeError::MissingChunk { kind: "END" });
    }
    if tape.tracks.len() != tape.header.tracks.len() {
        return Err(TapeError::MissingChunk { kind: "TRCK" });
    }
    Ok(tape)
}

fn read_header(payload: &[u8], limits: TapeLimits) -> Result<Header, TapeError> {
    // A later format may write what this one cannot read.
    check_format(json::<FormatOfHeader>("the header", payload)?.format)?;
    let header = json("the header", payload)?;
    check_header(&header, limits)?;
    Ok(header)
}

fn json<T: serde::de::DeserializeOwned>(place: &'static str, payload: &[u8]) -> Result<T, TapeError> {
    serde_json::from_slice(payload).map_err(|error| TapeError::BadJson { place, error })
}

fn canonical<T: Canonical>(place: &str, payload: &[u8]) -> Result<T, TapeError> {
    decode_from_slice(payload).map_err(|error| TapeError::BadValue { place: place.into(), error })
}

fn read_chunk(tape: &mut Tape, kind: &[u8; 4], payload: &[u8], limits: TapeLimits) -> Result<(), TapeError> {
    let header: &Header = &tape.header;
    match kind {
        b"INIT" => tape.initial = Some(image_from_parts(header, canonical("the initial state", payload)?)?),
        b"TRCK" => {
            let Some(spec) = header.tracks.get(tape.tracks.len()) else {
                return Err(TapeError::Inconsistent {
                    reason: format!("more tracks than the {} of the header", header.tracks.len()),
                });
            };
            let mut changes = Changes::default();
            for (tick, value) in canonical::<TrackParts>(&format!("track {}", spec.name), payload)? {
                if !changes.record(tick, &value) {
                    return Err(TapeError::Inconsistent {
                        reason: format!("{} does not change at tick {tick}", spec.name),
                    });
                }
            }
            tape.tracks.push(Track { name: spec.name.clone(), schema: spec.schema.clone(), changes });
        }
        b"CLCK" => {
            let clock: Vec<(u64, u64)> = canonical("the clock", payload)?;
            tape.clock = clock.into_iter().map(|(tick, timestep_ns)| ClockChange { tick, timestep_ns }).collect();
        }
        b"ROOT" => {
            tape.digests.roots = canonical("the root digests", payload)?;
            TapeLimits::check("ticks", tape.digests.roots.len() as u64, limits.ticks)?;
        }
        b"LANE" => (tape.digests.lane_ticks, tape.digests.lane_digests) = canonical("the digests of types", payload)?,
        b"DELT" => tape.values.push(delta_from_parts(canonical("a change of values", payload)?)),
        b"MARK" => tape.marks = json::<Vec<Mark>>("the marks", payload)?,
        b"END " => tape.end = json::<End>("the end", payload)?,
        _ => {} // a kind of a later version
    }
    Ok(())
}

fn image_parts(image: &Image) -> ImageParts {
    let Image { tick, roster, lanes, resources } = image;
    (
        *tick,
        roster.to_vec(),
        lanes.iter().map(|lane| (lane.ids.to_vec(), lane.rows.bytes().to_vec())).collect(),
        resources.iter().map(|resource| resource.get().map(<[u8]>::to_vec)).collect(),
    )
}

/// Makes the image a header promises, without entities.
pub(super) fn empty_image(header: &Header) -> Image {
    Image {
        tick: header.tick_first,
        roster: Arc::default(),
        lanes: header.lanes.iter().map(|spec| Lane::new(&*spec.name, spec.schema.clone())).collect(),
        resources: header.resources.iter().map(|spec| ResourceState::new(&*spec.name, spec.schema.clone())).collect(),
    }
}

/// Makes ids of a list that must be ascending.
pub(super) fn sorted_ids(ids: Vec<u64>, place: &str) -> Result<Arc<Ids>, TapeError> {
    let wrong =
        || TapeError::Inconsistent { reason: format!("sim ids of {place} are out of order, or one stands twice") };
    Ids::new(ids).map(Arc::new).ok_or_else(wrong)
}

fn image_from_parts(header: &Header, (tick, roster, lanes, resources): ImageParts) -> Result<Image, TapeError> {
    let mut image = empty_image(header);
    image.tick = tick;
    image.roster = sorted_ids(roster, "the initial state")?;
    if lanes.len() != image.lanes.len() || resources.len() != image.resources.len() {
        return Err(TapeError::Inconsistent { reason: "the initial state has other types than the header".into() });
    }
    for (lane, (ids, bytes)) in image.lanes.iter_mut().zip(lanes) {
        lane.ids = sorted_ids(ids, &lane.name)?;
        let mut rest = &*bytes;
        let bad = |error| TapeError::BadValue { place: format!("{} in the initial state", lane.name), error };
        for _ in 0..lane.ids.len() {
            let size = Value::measure(&lane.schema, rest).map_err(bad)?;
            lane.rows.push(|out| out.extend_from_slice(&rest[..size]));
            rest = &rest[size..];
        }
        if !rest.is_empty() {
            return Err(bad(DecodeError::LeftOver { extra: rest.len() }));
        }
    }
    for (resource, bytes) in image.resources.iter_mut().zip(resources) {
        resource.present = bytes.is_some();
        resource.bytes = bytes.unwrap_or_default();
        if resource.present {
            Value::decode(&resource.schema, &resource.bytes).map_err(|error| TapeError::BadValue {
                place: format!("{} in the initial state", resource.name),
                error,
            })?;
        }
    }
    Ok(image)
}

fn delta_parts(delta: &Delta) -> DeltaParts {
    let Delta { tick, despawned, spawned, lanes, resources } = delta;
    let lanes = lanes
        .iter()
        .map(|LaneDelta { lane, removed, changed, bytes }| (*lane, removed.clone(), changed.clone(), bytes.clone()));
    (*tick, despawned.clone(), spawned.clone(), lanes.collect(), resources.clone())
}

fn delta_from_parts((tick, despawned, spawned, lanes, resources): DeltaParts) -> Delta {
    let lanes = lanes.into_iter().map(|(lane, removed, changed, bytes)| LaneDelta { lane, removed, changed, bytes });
    Delta { tick, despawned, spawned, lanes: lanes.collect(), resources }
}

impl Default for End {
    fn default() -> Self {
        Self { tick_count: 0, reason: EndReason::Unfinished, claims: std::collections::BTreeMap::new() }
    }
}
