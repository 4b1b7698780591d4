//! Writes the binary form: whole, or chunk by chunk while the game runs.

#[cfg(feature = "file")]
use super::TapeError;
use super::chunk::{CLOCK, END, HEAD, INIT, INPUT, LANES, MAGIC, MARKS, OPEN, Packing, ROOTS, TICK, VALUES, put_chunk};
use super::parts::{delta_parts, image_parts};
use super::{Changes, ClockChange, Digests, End, Header, Mark, Tape, columns};
use crate::canonical::encode_to_vec;
use crate::image::{Delta, Image};
use sha2::{Digest as _, Sha256};
use std::ops::Range;
#[cfg(feature = "file")]
use std::path::Path;

/// So many ticks of a finished tape stand in one group of chunks: damage in one leaves those before it whole.
///
/// Twice as many make the played games of `benches/tape_sizes.rs` smaller by less than 1 %.
const GROUP_TICKS: u64 = 1 << 13;

/// What some ticks add to a tape that is being written.
///
/// The numbers in it are those of the whole tape: ticks since the start gate, and for `digests.lane_ticks` since
/// `tick_first`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TapePart {
    /// How many ticks they are.
    pub tick_count: u64,
    /// Changes of each input, in the header's order.
    pub inputs: Vec<Changes>,
    /// Changes of the length of a tick.
    pub clock: Vec<ClockChange>,
    /// Digests.
    pub digests: Digests,
    /// What each tick changed.
    pub values: Vec<Delta>,
    /// Bookmarks.
    pub marks: Vec<Mark>,
}

/// Writes a tape while it is recorded: each call returns the bytes to append to the file.
///
/// Wherever the file ends, [`Tape::from_bytes`] reads the ticks of all parts that are whole, and calls it
/// [`Unfinished`](crate::EndReason::Unfinished).
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{EndReason, Header, Tape, TapePart, TapeStream};
/// let (mut stream, mut file) = TapeStream::begin(&Header::new("my_game"), None);
/// file.extend(stream.append(&TapePart { tick_count: 32, ..TapePart::default() }));
/// let tape = Tape::from_bytes(&file)?;
/// assert_eq!((tape.tick_count(), tape.end.reason), (32, EndReason::Unfinished));
/// # Ok::<(), bevy_replay_tape::TapeError>(())
/// ```
#[derive(Debug)]
pub struct TapeStream {
    widths: Vec<Option<usize>>,
    tick_first: u64,
    tick_count: u64,
    /// The last value of each input.
    before: Vec<Option<Vec<u8>>>,
    packing: Packing,
}

/// A slice of a tape, as it is written.
struct Group<'a> {
    tick_count: u64,
    inputs: Vec<(&'a Changes, Range<usize>)>,
    clock: &'a [ClockChange],
    roots: &'a [u64],
    lane_ticks: &'a [u64],
    lane_digests: &'a [u64],
    values: &'a [Delta],
    marks: &'a [Mark],
}

impl TapeStream {
    /// Begins a file.
    #[must_use]
    pub fn begin(header: &Header, initial: Option<&Image>) -> (Self, Vec<u8>) {
        let mut out = MAGIC.to_vec();
        put_chunk(&mut out, OPEN, &[], Packing::Plain);
        let stream = Self::start(&mut out, header, initial, Packing::Fast);
        (stream, out)
    }

    fn start(out: &mut Vec<u8>, header: &Header, initial: Option<&Image>, packing: Packing) -> Self {
        put_chunk(out, HEAD, &json(header), packing);
        if let Some(image) = initial {
            put_chunk(out, INIT, &encode_to_vec(&image_parts(image)), packing);
        }
        Self {
            widths: header.tracks.iter().map(|track| track.schema.width()).collect(),
            tick_first: header.tick_first,
            tick_count: 0,
            before: vec![None; header.tracks.len()],
            packing,
        }
    }

    /// Writes more ticks.
    #[must_use]
    pub fn append(&mut self, part: &TapePart) -> Vec<u8> {
        let TapePart { tick_count, inputs, clock, digests, values, marks } = part;
        let Digests { roots, lane_ticks, lane_digests } = digests;
        let inputs = inputs.iter().map(|changes| (changes, 0..changes.len())).collect();
        let mut out = Vec::new();
        let tick_count = *tick_count;
        self.put(&mut out, &Group { tick_count, inputs, clock, roots, lane_ticks, lane_digests, values, marks });
        put_chunk(&mut out, TICK, &self.tick_count.to_le_bytes(), Packing::Plain);
        out
    }

    /// Ends the file; nothing may be appended.
    #[must_use]
    pub fn end(self, end: &End) -> Vec<u8> {
        let mut out = Vec::new();
        put_chunk(&mut out, END, &json(end), self.packing);
        out
    }

    fn put(&mut self, out: &mut Vec<u8>, group: &Group<'_>) {
        let Group { tick_count, inputs, clock, roots, lane_ticks, lane_digests, values, marks } = group;
        let base = self.tick_first.saturating_add(self.tick_count);
        if inputs.iter().any(|(_, range)| !range.is_empty()) {
            // What the tick before the first one saw is there, too, where the tape starts in the middle of a game.
            let firsts = inputs.iter().filter_map(|(changes, range)| Some(changes.get(range.start)?.0));
            let base = firsts.fold(base, u64::min);
            let (mut content, mut bytes) = (base.to_le_bytes().to_vec(), Vec::new());
            for (((changes, range), width), before) in inputs.iter().zip(&self.widths).zip(&mut self.before) {
                let rows: Vec<_> = range.clone().filter_map(|index| changes.get(index)).collect();
                columns::put((&mut content, &mut bytes), base, *width, before, &rows);
            }
            content.extend(bytes);
            put_chunk(out, INPUT, &content, self.packing);
        }
        if !clock.is_empty() {
            let clock: Vec<(u64, u64)> = clock.iter().map(|change| (change.tick, change.timestep_ns)).collect();
            put_chunk(out, CLOCK, &encode_to_vec(&clock), self.packing);
        }
        if !roots.is_empty() {
            put_chunk(out, ROOTS, &words(roots), Packing::Plain);
        }
        if !lane_ticks.is_empty() {
            let mut content = Vec::with_capacity(8 * (1 + lane_ticks.len() + lane_digests.len()));
            columns::put_varint(&mut content, lane_ticks.len() as u64);
            columns::put_ticks(&mut content, 0, lane_ticks.iter().copied());
            content.extend(words(lane_digests));
            put_chunk(out, LANES, &content, self.packing);
        }
        if !values.is_empty() {
            let deltas: Vec<_> = values.iter().map(delta_parts).collect();
            put_chunk(out, VALUES, &encode_to_vec(&deltas), self.packing);
        }
        if !marks.is_empty() {
            put_chunk(out, MARKS, &json(marks), self.packing);
        }
        self.tick_count = self.tick_count.saturating_add(*tick_count);
    }
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> Vec<u8> {
    serde_json::to_vec(value).expect("headers, marks and ends are plain data")
}

impl Tape {
    /// Writes the binary form, as small as it gets.
    ///
    /// # Panics
    ///
    /// Never: all parts of a tape can be written.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.packed(Packing::Best)
    }

    /// Returns what identifies the tape: the SHA-256 of its binary form before compression, in 64 hex digits.
    ///
    /// The same tape has the same id as a file, as text and in memory.
    #[must_use]
    pub fn id(&self) -> String {
        Sha256::digest(self.packed(Packing::Plain)).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn packed(&self, packing: Packing) -> Vec<u8> {
        let Self { header, initial, tracks, digests, marks, end, .. } = self;
        let mut out = MAGIC.to_vec();
        let mut stream = TapeStream::start(&mut out, header, initial.as_ref(), packing);
        let per_tick = header.lanes.len() + header.resources.len();
        let mut from = Places { inputs: vec![0; tracks.len()], ..Places::default() };
        while stream.tick_count + GROUP_TICKS < end.tick_count {
            let to = self.places(stream.tick_count + GROUP_TICKS, &from);
            let lanes = |row: usize| (row * per_tick).min(digests.lane_digests.len());
            let lane_digests = lanes(from.lanes)..lanes(to.lanes);
            stream.put(&mut out, &self.group(GROUP_TICKS, &from, &to, lane_digests, &[]));
            put_chunk(&mut out, TICK, &stream.tick_count.to_le_bytes(), Packing::Plain);
            from = to;
        }
        // The last group holds whatever else there is, right or wrong.
        let to = Places {
            inputs: tracks.iter().map(|track| track.changes.len()).collect(),
            clock: self.clock.len(),
            roots: digests.roots.len(),
            lanes: digests.lane_ticks.len(),
            values: self.values.len(),
        };
        let lane_digests = (from.lanes * per_tick).min(digests.lane_digests.len())..digests.lane_digests.len();
        stream.put(&mut out, &self.group(end.tick_count - stream.tick_count, &from, &to, lane_digests, marks));
        out.extend(stream.end(end));
        out
    }

    fn group<'a>(
        &'a self,
        tick_count: u64,
        from: &Places,
        to: &Places,
        lane_digests: Range<usize>,
        marks: &'a [Mark],
    ) -> Group<'a> {
        let ranges = from.inputs.iter().zip(&to.inputs).map(|(from, to)| *from..*to);
        Group {
            tick_count,
            inputs: self.tracks.iter().map(|track| &track.changes).zip(ranges).collect(),
            clock: &self.clock[from.clock..to.clock],
            roots: &self.digests.roots[from.roots..to.roots],
            lane_ticks: &self.digests.lane_ticks[from.lanes..to.lanes],
            lane_digests: &self.digests.lane_digests[lane_digests],
            values: &self.values[from.values..to.values],
            marks,
        }
    }

    /// Returns where so many ticks end in each list. A tape that is in no order is not split further.
    fn places(&self, tick_count: u64, from: &Places) -> Places {
        let tick = self.header.tick_first.saturating_add(tick_count);
        let roots = tick_count.checked_div(self.header.root_interval).unwrap_or(0);
        let roots = usize::try_from(roots).unwrap_or(usize::MAX);
        let inputs = self.tracks.iter().zip(&from.inputs);
        Places {
            inputs: inputs.map(|(track, from)| track.changes.count_before(tick).max(*from)).collect(),
            clock: self.clock.partition_point(|change| change.tick < tick).max(from.clock),
            roots: roots.min(self.digests.roots.len()),
            lanes: self.digests.lane_ticks.partition_point(|index| *index < tick_count).max(from.lanes),
            values: self.values.partition_point(|delta| delta.tick <= tick).max(from.values),
        }
    }

    /// Writes a new file: in the text form if its name ends in `.ron` or `.txt`, else in the binary form.
    ///
    /// The file appears whole or not at all.
    ///
    /// # Errors
    ///
    /// [`TapeError::Io`] if it cannot be written, or if there is such a file already: nothing is overwritten.
    #[cfg(feature = "file")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), TapeError> {
        let path = path.as_ref();
        let is_text = path.extension().is_some_and(|extension| extension == "ron" || extension == "txt");
        let bytes = if is_text { self.to_text().into_bytes() } else { self.to_bytes() };
        super::file::write_new(path, &bytes).map_err(|error| TapeError::io(path, error))
    }
}

/// Where a group ends in each list of a tape.
#[derive(Default)]
struct Places {
    inputs: Vec<usize>,
    clock: usize,
    roots: usize,
    lanes: usize,
    values: usize,
}
