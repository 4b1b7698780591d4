//! Writes a tape while the game runs.

#[cfg(feature = "file")]
pub(super) mod hand_over;

use bevy_replay_tape::{ClockChange, Digest, EndReason, Header, Image, Mark, Tape, Track};

/// How much a tape says of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The root digest of each tick: a divergence has a tick. Default in release builds.
    Roots,
    /// Also the digest of each type: a divergence has a type. Default in debug builds.
    Lanes,
    /// Also what each tick changed: a divergence has an entity, a field and both values.
    Values,
}

impl Default for Detail {
    fn default() -> Self {
        if cfg!(debug_assertions) { Self::Lanes } else { Self::Roots }
    }
}

/// How long a recording may become. At a limit the tape ends whole, and the game goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecorderLimits {
    /// Ticks. Default: 921,600, four hours at 64 Hz.
    pub ticks: u64,
    /// Bytes in memory, about. Default: 256 MiB.
    pub bytes: u64,
}

impl Default for RecorderLimits {
    fn default() -> Self {
        Self { ticks: 4 * 60 * 60 * 64, bytes: 256 << 20 }
    }
}

/// Most roots for which memory is set aside at the start, so that no tick waits for more: 8 MiB.
const ROOTS_RESERVED: u64 = 1 << 20;

pub(crate) struct Recorder {
    pub(crate) tape: Tape,
    detail: Detail,
    limits: RecorderLimits,
    timestep_ns: u64,
    size_bytes: u64,
    /// Why an input is not recorded at the moment.
    gap: Option<&'static str>,
    #[cfg(feature = "file")]
    file: Option<hand_over::IntoFile>,
}

impl Recorder {
    pub(crate) fn new(header: Header, initial: Image, detail: Detail, limits: RecorderLimits) -> Self {
        let timestep_ns = header.timestep_ns;
        let mut tape = Tape::new(header);
        let specs = tape.header.tracks.iter();
        tape.tracks = specs
            .map(|spec| Track { name: spec.name.clone(), schema: spec.schema.clone(), changes: Default::default() })
            .collect();
        let reserved = limits.ticks.min(limits.bytes / 8).min(ROOTS_RESERVED);
        tape.digests.roots.reserve_exact(usize::try_from(reserved).unwrap_or_default());
        let size_bytes = initial.size_bytes() as u64;
        tape.initial = Some(initial);
        Self {
            tape,
            detail,
            limits,
            timestep_ns,
            size_bytes,
            gap: None,
            #[cfg(feature = "file")]
            file: None,
        }
    }

    /// Goes on after the last tick of a tape.
    pub(crate) fn resume(tape: Tape, detail: Detail, limits: RecorderLimits) -> Self {
        // Values of part of the ticks would be values of none.
        let detail = if tape.values.is_empty() { detail.min(Detail::Lanes) } else { detail };
        let inputs: usize = tape.tracks.iter().map(|track| track.changes.size_bytes()).sum();
        let initial = tape.initial.as_ref().map_or(0, Image::size_bytes);
        Self {
            timestep_ns: tape.timestep_ns(tape.ticks().end),
            size_bytes: (inputs + initial) as u64 + 8 * tape.tick_count(),
            detail,
            limits,
            gap: None,
            #[cfg(feature = "file")]
            file: None,
            tape,
        }
    }

    /// Writes down what the tick before the first one saw of an input.
    pub(crate) fn input_before(&mut self, track: usize, tick: u64, seen: &[u8]) {
        if let Some(before) = tick.checked_sub(1) {
            self.tape.tracks[track].changes.record(before, seen);
        }
    }

    pub(crate) fn keeps_values(&self) -> bool {
        self.detail >= Detail::Values
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Writes down how long the tick is, where that has changed.
    pub(crate) fn begin_tick(&mut self, tick: u64, timestep_ns: u64) {
        if timestep_ns != self.timestep_ns {
            self.timestep_ns = timestep_ns;
            self.size_bytes += 16;
            self.tape.clock.push(ClockChange { tick, timestep_ns });
        }
    }

    /// Copies what the tick sees of an input, where that has changed.
    pub(crate) fn input(&mut self, track: usize, tick: u64, seen: &[u8]) {
        if self.tape.tracks[track].changes.record(tick, seen) {
            self.size_bytes += seen.len() as u64 + 16;
        }
    }

    /// Marks the tick with which an input stops being recorded.
    pub(crate) fn gap(&mut self, tick: u64, gap: Option<&'static str>) {
        if let (None, Some(reason)) = (self.gap, gap) {
            self.tape.marks.push(Mark { tick, text: reason.into() });
            self.size_bytes += reason.len() as u64 + 32;
        }
        self.gap = gap;
    }

    /// Sets a bookmark.
    pub(crate) fn mark(&mut self, tick: u64, text: String) {
        self.size_bytes += text.len() as u64 + 16;
        self.tape.marks.push(Mark { tick, text });
    }

    /// Writes down what the game says of the run.
    pub(crate) fn claim(&mut self, name: String, value: String) {
        self.size_bytes += (name.len() + value.len()) as u64;
        self.tape.end.claims.insert(name, value);
    }

    /// Writes down that a tick has ended whose state nobody looked at.
    pub(crate) fn end_tick_unread(&mut self) {
        self.tape.end.tick_count += 1;
    }

    /// Writes down what the tick made; returns why the tape must end, if it must.
    pub(crate) fn end_tick(&mut self, image: &Image, digest: &Digest, before: Option<&Image>) -> Option<EndReason> {
        let Digest { root, lanes, resources } = digest;
        let digests = &mut self.tape.digests;
        let interval = self.tape.header.root_interval;
        // No division where each tick has a root, as by default.
        let is_due = interval == 1 || (self.tape.end.tick_count + 1).is_multiple_of(interval);
        if is_due {
            digests.roots.push(*root);
            self.size_bytes += 8;
        }
        if is_due && self.detail >= Detail::Lanes {
            digests.lane_ticks.push(self.tape.end.tick_count);
            digests.lane_digests.extend_from_slice(lanes);
            digests.lane_digests.extend_from_slice(resources);
            self.size_bytes += 8 * (1 + lanes.len() + resources.len()) as u64;
        }
        if let Some(before) = before
            && self.keeps_values()
        {
            let delta = image.delta_from(before);
            self.size_bytes += delta.size_bytes() as u64;
            self.tape.values.push(delta);
        }
        self.tape.end.tick_count += 1;
        let full = self.tape.end.tick_count >= self.limits.ticks || self.size_bytes >= self.limits.bytes;
        if full {
            return Some(EndReason::CapacityReached);
        }
        #[cfg(feature = "file")]
        return self.hand_over_when_due();
        #[cfg(not(feature = "file"))]
        None
    }

    /// Ends the recording; returns the tape.
    #[cfg(not(feature = "file"))]
    pub(crate) fn finish(mut self, reason: EndReason) -> std::sync::Arc<Tape> {
        self.tape.end.reason = reason;
        self.tape.digests.roots.shrink_to_fit();
        self.tape.into()
    }
}
