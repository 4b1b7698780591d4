//! Reads the binary form.

use super::check::{FormatOfHeader, check_format, check_header};
use super::chunk::{
    Budget, CLOCK, Chunk, END, HEAD, INIT, INPUT, LANES, MAGIC, MARKS, OPEN, ROOTS, TICK, VALUES, check_sizes, chunks,
};
use super::columns::{self, ColumnError};
use super::parts::{delta_from_parts, image_from_parts};
use super::{Changes, ClockChange, End, FORMAT_VERSION, Header, Mark, Tape, TapeError, TapeLimits, Track, TypeSpec};
use crate::canonical::{Canonical, decode_from_slice};
use std::path::Path;

/// What could be read of a damaged tape.
#[derive(Debug)]
pub struct Recovered {
    /// The ticks before the damage. Where there was any, or the recorder died, it is
    /// [`Unfinished`](crate::EndReason::Unfinished).
    pub tape: Tape,
    /// Where the tape is damaged.
    pub damage: Option<TapeError>,
    /// How many bytes of the file are not on the tape.
    pub lost_bytes: u64,
}

impl Tape {
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
    /// The file of a recorder that died is read up to the last ticks that are whole, as
    /// [`Unfinished`](crate::EndReason::Unfinished). Any other tape must be whole.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming what is wrong.
    pub fn from_bytes_limited(bytes: &[u8], limits: TapeLimits) -> Result<Self, TapeError> {
        let Recovered { tape, damage, .. } = match read(bytes, limits)? {
            Form::Text(tape) => return Ok(tape),
            Form::Binary(read) => read,
        };
        damage.map_or(Ok(tape), Err)
    }

    /// Reads as many ticks of a damaged tape as are whole.
    ///
    /// # Errors
    ///
    /// [`TapeError`] if not even its header is, if it is over a limit, or if it is text.
    pub fn recover(bytes: &[u8], limits: TapeLimits) -> Result<Recovered, TapeError> {
        match read(bytes, limits)? {
            Form::Text(tape) => Ok(Recovered { tape, damage: None, lost_bytes: 0 }),
            Form::Binary(read) => Ok(read),
        }
    }

    /// Reads a file in the binary or the text form.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming what is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TapeError> {
        Self::load_limited(path, TapeLimits::default())
    }

    /// Reads a file in the binary or the text form.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming what is wrong.
    pub fn load_limited(path: impl AsRef<Path>, limits: TapeLimits) -> Result<Self, TapeError> {
        Self::from_bytes_limited(&read_file(path.as_ref(), limits)?, limits)
    }
}

/// Reads a file, and no more of it than the limit allows.
pub(crate) fn read_file(path: &Path, limits: TapeLimits) -> Result<Vec<u8>, TapeError> {
    use std::io::Read;
    let mut bytes = Vec::new();
    // One byte more than the limit is enough to refuse a file without end.
    let file = std::fs::File::open(path).map_err(|error| TapeError::io(path, error))?;
    let read = file.take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| TapeError::io(path, error))?;
    Ok(bytes)
}

enum Form {
    Text(Tape),
    Binary(Recovered),
}

fn read(bytes: &[u8], limits: TapeLimits) -> Result<Form, TapeError> {
    TapeLimits::check("bytes", bytes.len() as u64, limits.bytes)?;
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return match core::str::from_utf8(bytes) {
            Ok(text) if super::text::looks_like_text(text) => Ok(Form::Text(Tape::from_text_limited(text, limits)?)),
            _ => Err(TapeError::NotATape { found: start_of(bytes) }),
        };
    };
    let (mut chunks, mut damage) = chunks(body);
    let is_open = chunks.first().is_some_and(|chunk| chunk.kind == OPEN);
    let mut ticks = 0;
    if !chunks.iter().any(|chunk| chunk.kind == END) {
        // What follows the last whole group is not on the tape yet.
        let is_start = |chunk: &Chunk<'_>| matches!(chunk.kind, OPEN | HEAD | INIT);
        let start = chunks.iter().position(|chunk| !is_start(chunk)).unwrap_or(chunks.len());
        let last = chunks.iter().rposition(|chunk| chunk.kind == TICK);
        chunks.truncate(last.map_or(start, |last| last + 1));
        ticks = last.map_or(Ok(0), |last| tick_count(&chunks[last]))?;
        damage = match damage {
            // The recorder died while it wrote.
            Some(TapeError::Truncated { .. }) | None if is_open => None,
            None => Some(TapeError::MissingChunk { kind: "END" }),
            damage => damage,
        };
    }
    if let Some(TapeError::Truncated { ticks_before, .. } | TapeError::ChecksumMismatch { ticks_before, .. }) =
        &mut damage
    {
        *ticks_before = ticks;
    }
    let budget = check_sizes(&chunks, limits)?;
    if !chunks.iter().any(|chunk| chunk.kind == HEAD) {
        let no_head = TapeError::MissingChunk { kind: "HEAD" };
        return Err(damage.filter(|damage| !matches!(damage, TapeError::MissingChunk { .. })).unwrap_or(no_head));
    }
    let end = chunks.last().map_or(0, |chunk| chunk.end);
    let is_whole = damage.is_none() && chunks.iter().any(|chunk| chunk.kind == END);
    let lost_bytes = if is_whole { 0 } else { bytes.len().saturating_sub(end) as u64 };
    let tape = read_chunks(&chunks, budget, limits)?;
    tape.check(limits)?;
    Ok(Form::Binary(Recovered { tape, damage, lost_bytes }))
}

fn start_of(bytes: &[u8]) -> String {
    match bytes {
        [] => "nothing (0 bytes)".into(),
        bytes => bytes.iter().take(8).map(|byte| byte.escape_ascii().to_string()).collect(),
    }
}

fn read_chunks(chunks: &[Chunk<'_>], mut budget: Budget, limits: TapeLimits) -> Result<Tape, TapeError> {
    let mut tape: Option<Tape> = None;
    let (mut committed, mut seen) = (0, Vec::new());
    for (index, chunk) in chunks.iter().enumerate() {
        if seen.contains(&END) {
            let reason = format!("chunk {} at byte {} stands behind the end", chunk.name(), chunk.offset);
            return Err(TapeError::Inconsistent { reason });
        }
        if matches!(chunk.kind, OPEN | HEAD | INIT | END) {
            if seen.contains(&chunk.kind) {
                return Err(TapeError::RepeatedChunk { kind: chunk.name(), offset: chunk.offset });
            }
            seen.push(chunk.kind);
        }
        match (&mut tape, chunk.kind) {
            (_, OPEN) if index == 0 => {}
            (_, OPEN) => return Err(chunk.unreadable("it stands first or not at all")),
            (None, HEAD) => tape = Some(empty(read_header(chunk, limits)?)),
            (None, _) => return Err(TapeError::MissingChunk { kind: "HEAD" }),
            (Some(tape), TICK) => {
                let ticks = tick_count(chunk)?;
                if ticks < committed {
                    return Err(TapeError::Inconsistent { reason: format!("{ticks} ticks follow {committed}") });
                }
                committed = ticks;
                tape.end.tick_count = ticks;
            }
            (Some(tape), _) => read_chunk(tape, chunk, &mut budget)?,
        }
    }
    let tape = tape.ok_or(TapeError::MissingChunk { kind: "HEAD" })?;
    if tape.end.tick_count < committed {
        let reason = format!("{committed} ticks on a tape of {}", tape.end.tick_count);
        return Err(TapeError::Inconsistent { reason });
    }
    Ok(tape)
}

/// A tape of these types, without ticks and without an end.
fn empty(header: Header) -> Tape {
    let track =
        |spec: &TypeSpec| Track { name: spec.name.clone(), schema: spec.schema.clone(), changes: Changes::default() };
    let tracks = header.tracks.iter().map(track).collect();
    Tape { tracks, end: End::default(), ..Tape::new(header) }
}

fn tick_count(chunk: &Chunk<'_>) -> Result<u64, TapeError> {
    let count = (*chunk.content()?).try_into().map_err(|_| chunk.unreadable("it holds no number of ticks"))?;
    Ok(u64::from_le_bytes(count))
}

fn read_header(chunk: &Chunk<'_>, limits: TapeLimits) -> Result<Header, TapeError> {
    let content = chunk.content()?;
    // A later format may write what this one cannot read.
    let format = json::<FormatOfHeader>("the header", &content)?.format;
    check_format(format)?;
    if format < FORMAT_VERSION {
        return Err(TapeError::OlderFormat { found: format });
    }
    let header = json("the header", &content)?;
    check_header(&header, limits)?;
    Ok(header)
}

fn read_chunk(tape: &mut Tape, chunk: &Chunk<'_>, budget: &mut Budget) -> Result<(), TapeError> {
    let content = chunk.content()?;
    match chunk.kind {
        INIT => {
            tape.initial = Some(image_from_parts(&tape.header, canonical("the initial state", &content)?)?);
        }
        INPUT => read_inputs(tape, chunk, &content, budget)?,
        CLOCK => {
            let clock: Vec<(u64, u64)> = canonical("the clock", &content)?;
            tape.clock.extend(clock.into_iter().map(|(tick, timestep_ns)| ClockChange { tick, timestep_ns }));
        }
        ROOTS => tape.digests.roots.extend(words(chunk, &content)?),
        LANES => {
            let mut rest = &*content;
            let bad = |reason: &str| chunk.unreadable(reason);
            let count = columns::varint(&mut rest).map_err(bad)?;
            let count = columns::items(count, rest).map_err(bad)?;
            budget.take((count as u64).saturating_mul(16))?; // before memory for them is set aside, twice
            tape.digests.lane_ticks.extend(columns::read_ticks(&mut rest, 0, count).map_err(bad)?);
            tape.digests.lane_digests.extend(words(chunk, rest)?);
        }
        VALUES => {
            let deltas: Vec<_> = canonical("the changes of values", &content)?;
            tape.values.extend(deltas.into_iter().map(delta_from_parts));
        }
        MARKS => tape.marks.extend(json::<Vec<Mark>>("the marks", &content)?),
        END => tape.end = json::<End>("the end", &content)?,
        _ => {} // the others are read with the whole
    }
    Ok(())
}

fn read_inputs(tape: &mut Tape, chunk: &Chunk<'_>, content: &[u8], budget: &mut Budget) -> Result<(), TapeError> {
    let Some((base, mut rest)) = content.split_first_chunk() else {
        return Err(chunk.unreadable("it ends early"));
    };
    let base = u64::from_le_bytes(*base);
    let failed = |name: &str, error| match error {
        ColumnError::Bad(reason) => chunk.unreadable(format!("{name}: {reason}")),
        ColumnError::Refused(error) => error,
    };
    let mut when = Vec::with_capacity(tape.tracks.len());
    for track in &tape.tracks {
        let read = columns::read_when(&mut rest, base, track.schema.width(), |bytes| budget.take(bytes));
        when.push(read.map_err(|error| failed(&track.name, error))?);
    }
    for (track, when) in tape.tracks.iter_mut().zip(when) {
        let read = columns::read_what(&mut rest, when, &mut track.changes);
        read.map_err(|error| failed(&track.name, error))?;
    }
    if rest.is_empty() { Ok(()) } else { Err(chunk.unreadable("bytes are left over")) }
}

fn words(chunk: &Chunk<'_>, content: &[u8]) -> Result<impl Iterator<Item = u64>, TapeError> {
    let (words, []) = content.as_chunks::<8>() else { return Err(chunk.unreadable("it ends inside a digest")) };
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)))
}

fn json<T: serde::de::DeserializeOwned>(place: &'static str, content: &[u8]) -> Result<T, TapeError> {
    serde_json::from_slice(content).map_err(|error| TapeError::BadJson { place, error })
}

fn canonical<T: Canonical>(place: &str, content: &[u8]) -> Result<T, TapeError> {
    decode_from_slice(content).map_err(|error| TapeError::BadValue { place: place.into(), error })
}
