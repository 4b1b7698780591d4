//! Hands what was recorded to the file, some ticks at a time.

use super::Recorder;
use crate::deck::DeckError;
use crate::deck::file::{Refused, TapeWriter};
use bevy_replay_tape::{Changes, EndReason, Header, Tape, TapePart};
use std::path::Path;
use std::sync::Arc;

/// What of the tape is not handed to the file yet: where it begins in each list of the tape.
pub(super) struct IntoFile {
    writer: TapeWriter,
    ticks: u64,
    inputs: Vec<usize>,
    clock: usize,
    roots: usize,
    lanes: usize,
    lane_digests: usize,
    values: usize,
    marks: usize,
    /// For how many frames no tick was recorded.
    idle_frames: u32,
}

/// Ticks are handed to the file at least so often, in ticks and in nanoseconds.
const PART_MAX: (u64, u64) = (32, 500_000_000);

/// So many frames without a tick are a pause: what is at hand goes to the file.
const IDLE_FRAMES_MAX: u32 = 30;

impl Recorder {
    /// Also writes into a file.
    pub(crate) fn write_to(&mut self, path: &Path) -> Result<(), DeckError> {
        let Some(initial) = &self.tape.initial else { return Ok(()) };
        let writer = TapeWriter::begin(path, &self.tape.header, initial)?;
        self.goes_into(writer);
        Ok(())
    }

    pub(in crate::deck) fn goes_into(&mut self, writer: TapeWriter) {
        self.file = Some(IntoFile {
            writer,
            ticks: 0,
            inputs: vec![0; self.tape.tracks.len()],
            clock: 0,
            roots: 0,
            lanes: 0,
            lane_digests: 0,
            values: 0,
            marks: 0,
            idle_frames: 0,
        });
    }

    /// Returns whether what was recorded goes to a file, too.
    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn hand_over_when_due(&mut self) -> Option<EndReason> {
        let file = self.file.as_mut()?;
        file.idle_frames = 0;
        let waiting = self.tape.end.tick_count - file.ticks;
        let is_due = waiting >= PART_MAX.0 || waiting.saturating_mul(self.timestep_ns) >= PART_MAX.1;
        if is_due { self.hand_over() } else { None }
    }

    /// Hands what is at hand to the file when the game pauses; to be called once a frame.
    pub(crate) fn idle(&mut self) -> Option<EndReason> {
        let file = self.file.as_mut()?;
        file.idle_frames += 1;
        if file.idle_frames == IDLE_FRAMES_MAX && self.tape.end.tick_count > file.ticks {
            self.hand_over()
        } else {
            None
        }
    }

    fn hand_over(&mut self) -> Option<EndReason> {
        let part = self.take_part()?;
        match self.file.as_ref()?.writer.append(part) {
            Ok(()) => None,
            Err(Refused::TooSlow) => Some(EndReason::WriterTooSlow),
            Err(Refused::Failed) => Some(EndReason::WriteFailed),
        }
    }

    /// Returns what was recorded since the last time.
    fn take_part(&mut self) -> Option<TapePart> {
        let Self { tape, file, .. } = self;
        let file = file.as_mut()?;
        let tail = |changes: &Changes, from: &mut usize| {
            let mut tail = Changes::default();
            for (tick, value) in (*from..changes.len()).filter_map(|index| changes.get(index)) {
                tail.record(tick, value);
            }
            *from = changes.len();
            tail
        };
        let tracks = tape.tracks.iter().zip(&mut file.inputs);
        let mut part = TapePart {
            tick_count: tape.end.tick_count - file.ticks,
            inputs: tracks.map(|(track, from)| tail(&track.changes, from)).collect(),
            clock: tape.clock[file.clock..].to_vec(),
            values: tape.values[file.values..].to_vec(),
            marks: tape.marks[file.marks..].to_vec(),
            ..TapePart::default()
        };
        part.digests.roots = tape.digests.roots[file.roots..].to_vec();
        part.digests.lane_ticks = tape.digests.lane_ticks[file.lanes..].to_vec();
        part.digests.lane_digests = tape.digests.lane_digests[file.lane_digests..].to_vec();
        (file.ticks, file.clock, file.values) = (tape.end.tick_count, tape.clock.len(), tape.values.len());
        (file.marks, file.roots, file.lanes) =
            (tape.marks.len(), tape.digests.roots.len(), tape.digests.lane_ticks.len());
        file.lane_digests = tape.digests.lane_digests.len();
        Some(part)
    }

    /// Ends the recording; returns the tape, and the writer that is finishing its file.
    pub(crate) fn finish(mut self, reason: EndReason) -> (Arc<Tape>, Option<TapeWriter>) {
        self.tape.end.reason = reason;
        self.tape.digests.roots.shrink_to_fit();
        let part = self.take_part();
        let tape = Arc::new(core::mem::replace(&mut self.tape, Tape::new(Header::default())));
        let writer = part.zip(self.file.take()).map(|(part, file)| {
            let mut writer = file.writer;
            let _ = writer.append(part); // where there is no room: the finished file holds it all the same
            writer.finish(tape.clone());
            writer
        });
        (tape, writer)
    }
}

/// A recorder that is dropped at work: its app was closed, or has panicked.
impl Drop for Recorder {
    fn drop(&mut self) {
        let part = self.take_part();
        let Some((part, file)) = part.zip(self.file.take()) else { return };
        let mut writer = file.writer;
        writer.append_last(part);
        if !std::thread::panicking() {
            writer.finish(Arc::new(core::mem::replace(&mut self.tape, Tape::new(Header::default()))));
        }
    }
}
