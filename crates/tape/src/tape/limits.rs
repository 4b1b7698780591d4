//! How much of a tape that is not trusted is read.

use super::TapeError;

/// How much a reader accepts from a tape it does not trust.
///
/// What a tape claims is checked before memory of that size is set aside.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Header, Tape, TapeLimits};
/// let mut limits = TapeLimits::default();
/// limits.bytes = 10;
/// let bytes = Tape::new(Header::new("my_game")).to_bytes();
/// assert!(Tape::from_bytes_limited(&bytes, limits).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TapeLimits {
    /// Size of the file in bytes. Default: 1 GiB.
    pub bytes: u64,
    /// Size of the header once unpacked, in bytes. Default: 4 MiB, some 300 bytes a type.
    pub header_bytes: u64,
    /// Size of all chunks and tracks once unpacked, in bytes. Default: 1 GiB.
    pub unpacked_bytes: u64,
    /// Ticks. Default: 16 million, almost three days at 64 Hz.
    pub ticks: u64,
    /// Tracks, component types and resource types together. Default: 4096.
    pub types: u64,
    /// Sim ids of the initial state, and those spawned later. Default: 16 million.
    pub ids: u64,
}

impl Default for TapeLimits {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            header_bytes: 4 << 20,
            unpacked_bytes: 1 << 30,
            ticks: 1 << 24,
            types: 4096,
            ids: 1 << 24,
        }
    }
}

impl TapeLimits {
    /// Accepts everything, for tapes of one's own.
    pub const NONE: Self = Self {
        bytes: u64::MAX,
        header_bytes: u64::MAX,
        unpacked_bytes: u64::MAX,
        ticks: u64::MAX,
        types: u64::MAX,
        ids: u64::MAX,
    };

    pub(crate) fn check(what: &'static str, found: u64, limit: u64) -> Result<(), TapeError> {
        if found > limit { Err(TapeError::OverLimit { what, found, limit }) } else { Ok(()) }
    }
}
