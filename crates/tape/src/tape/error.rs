//! Why a tape is not read.

use crate::canonical::DecodeError;
use crate::image::DeltaError;
use crate::value::ValueTextError;

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
    #[error("the tape ends inside the chunk at byte {offset} (it was cut off; {})", recovery(*ticks_before))]
    Truncated {
        /// Where the chunk starts.
        offset: usize,
        /// How many ticks before it are whole.
        ticks_before: u64,
    },
    /// A chunk does not match its checksum.
    #[error("chunk {kind} at byte {offset} is damaged: crc {stored:08x} stored, {computed:08x} computed ({})", recovery(*ticks_before))]
    ChecksumMismatch {
        /// Kind of the chunk.
        kind: String,
        /// Where it starts.
        offset: usize,
        /// The checksum in the file.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
        /// How many ticks before it are whole.
        ticks_before: u64,
    },
    /// A chunk whose checksum is right holds what its kind cannot.
    #[error("chunk {kind} at byte {offset} cannot be read: {reason} (the program that wrote it has a fault)")]
    BadChunk {
        /// Kind of the chunk.
        kind: String,
        /// Where it starts.
        offset: usize,
        /// What is wrong.
        reason: String,
    },
    /// The tape has the provisional format 0.
    #[error(
        "the tape has the provisional format {found}, which is not read any more (export it as text with the version that wrote it)"
    )]
    OlderFormat {
        /// Format of the tape.
        found: u32,
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

impl TapeError {
    pub(crate) fn io(path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), error }
    }
}

fn recovery(ticks: u64) -> String {
    match ticks {
        0 => "nothing before it can be recovered".into(),
        ticks => format!("recover the first {ticks} ticks with \"bevy-replay recover\""),
    }
}
