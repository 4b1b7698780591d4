//! What was played, kept while the inspector is open: digests of types, and values within a budget of bytes.

use bevy_replay_tape::{Delta, Digest, Image, LaneDelta, StreamDraws};
use core::ops::Range;
use std::collections::BTreeMap;

/// What a run has made of the ticks that it played. `after` counts ticks that have run, as [`Image::tick`] does.
///
/// Each tick takes eight bytes per type and stream, and what it changed. Where that is over the budget, the oldest
/// values go first; digests stay.
#[derive(Default)]
pub(crate) struct Trace {
    budget_bytes: usize,
    /// What `rows` begins with.
    first: u64,
    /// Digests of all types, then draws of all streams, after each tick; see `is_played`.
    rows: Vec<u64>,
    is_played: Vec<bool>,
    type_count: usize,
    /// Names of streams and the index of their resource.
    streams: Vec<(String, usize)>,
    steps: BTreeMap<u64, Step>,
    step_bytes: usize,
    /// The state after the last tick, which the next one is packed against.
    last: Option<Image>,
    /// Ticks that were played since [`take_touched`](Self::take_touched) was called.
    touched: Option<Range<u64>>,
    /// The earliest tick that was played for the first time after later ones had been, since
    /// [`take_filled`](Self::take_filled) was called.
    filled: Option<u64>,
    /// How often something was forgotten that may have been looked at.
    cuts: u64,
    is_running: bool,
}

/// How a state follows from the one before.
pub(crate) enum Step {
    /// By what the tick changed.
    Delta(Delta),
    /// The one before is not known.
    Whole(Image),
}

impl Step {
    fn size_bytes(&self) -> usize {
        match self {
            Self::Delta(delta) => delta.size_bytes(),
            Self::Whole(image) => image.size_bytes(),
        }
    }
}

impl Trace {
    pub(crate) fn new(budget_bytes: usize) -> Self {
        Self { budget_bytes, is_running: true, ..Self::default() }
    }

    /// Goes on, or pauses: what was played meanwhile is not known.
    pub(crate) fn run(&mut self, is_running: bool) {
        self.is_running = is_running;
        if !is_running {
            self.last = None;
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Begins anew: what comes has nothing to do with what was.
    pub(crate) fn restart(&mut self, image: &Image) {
        let (budget_bytes, is_running, cuts) = (self.budget_bytes, self.is_running, self.cuts + 1);
        *self = Self { budget_bytes, is_running, cuts, ..Self::default() };
        self.stand_at(image);
    }

    /// The world was put into a state.
    pub(crate) fn stand_at(&mut self, image: &Image) {
        if !self.is_running {
            return;
        }
        if !self.steps.contains_key(&image.tick) {
            self.keep(image.tick, Step::Whole(image.clone()));
        }
        self.last = Some(image.clone());
    }

    /// Takes the state after a tick. Where it is another than the last time, what came after that is forgotten.
    pub(crate) fn end_tick(&mut self, image: &Image, digest: &Digest) {
        if !self.is_running {
            return;
        }
        let after = image.tick;
        let row = self.row_of(image, digest);
        let known = self.row(after);
        if known.is_some_and(|known| known[..self.type_count] != row[..self.type_count]) {
            self.cut(after - 1);
        }
        if !self.steps.contains_key(&after) && after < self.range().end {
            self.filled = Some(self.filled.map_or(after, |filled| filled.min(after)));
        }
        match self.last.take_if(|last| last.tick + 1 == after) {
            Some(mut before) => {
                let delta = image.delta_from(&before);
                // Where little changes, that is less than to copy it all.
                let is_small = delta.size_bytes() < image.size_bytes() / 8;
                let is_brought_up = is_small && before.apply(&delta).is_ok();
                self.last = Some(if is_brought_up { before } else { image.clone() });
                self.keep(after, Step::Delta(delta));
            }
            None => {
                if !self.steps.contains_key(&after) {
                    self.keep(after, Step::Whole(image.clone()));
                }
                self.last = Some(image.clone());
            }
        }
        self.put_row(after, &row);
        let touched = self.touched.take().unwrap_or(after..after + 1);
        self.touched = Some(touched.start.min(after)..touched.end.max(after + 1));
    }

    /// Forgets what was played after so many ticks: another future begins there.
    pub(crate) fn cut(&mut self, after: u64) {
        let later = self.steps.split_off(&(after + 1));
        self.step_bytes -= later.values().map(Step::size_bytes).sum::<usize>();
        let kept = usize::try_from((after + 1).saturating_sub(self.first)).unwrap_or(usize::MAX);
        if kept < self.is_played.len() {
            let end = self.first + self.is_played.len() as u64;
            self.is_played.truncate(kept);
            self.rows.truncate(kept * self.width());
            let touched = self.touched.take().unwrap_or(after + 1..end);
            self.touched = Some(touched.start.min(after + 1)..touched.end.max(end));
        }
        self.cuts += 1;
    }

    fn width(&self) -> usize {
        self.type_count + self.streams.len()
    }

    /// Digests of types and draws of streams.
    fn row_of(&mut self, image: &Image, digest: &Digest) -> Vec<u64> {
        if self.rows.is_empty() {
            self.type_count = digest.lanes.len() + digest.resources.len();
            let named = image.resources.iter().enumerate();
            let streams = named.filter_map(|(index, resource)| Some((stream_name(&resource.name)?.to_owned(), index)));
            self.streams = streams.collect();
        }
        let mut row: Vec<u64> = digest.lanes.iter().chain(&digest.resources).copied().collect();
        let before = image.tick.checked_sub(1).and_then(|before| self.row(before));
        for (place, (name, index)) in self.streams.iter().enumerate() {
            // A stream that has the same digest has the same draws.
            let type_index = digest.lanes.len() + index;
            let same = before.filter(|before| before.get(type_index) == row.get(type_index));
            let known = same.and_then(|before| before.get(self.type_count + place)).copied();
            row.push(known.unwrap_or_else(|| StreamDraws::count(image, name).unwrap_or_default()));
        }
        row
    }

    fn put_row(&mut self, after: u64, row: &[u64]) {
        let width = row.len();
        if self.is_played.is_empty() {
            self.first = after;
        } else if after < self.first {
            let missing = usize::try_from(self.first - after).unwrap_or_default();
            self.rows.splice(0..0, core::iter::repeat_n(0, missing * width));
            self.is_played.splice(0..0, core::iter::repeat_n(false, missing));
            self.first = after;
        }
        let index = usize::try_from(after - self.first).unwrap_or_default();
        if index >= self.is_played.len() {
            self.is_played.resize(index + 1, false);
            self.rows.resize((index + 1) * width, 0);
        }
        self.is_played[index] = true;
        self.rows[index * width..(index + 1) * width].copy_from_slice(row);
    }

    fn keep(&mut self, after: u64, step: Step) {
        self.step_bytes += step.size_bytes();
        if let Some(old) = self.steps.insert(after, step) {
            self.step_bytes -= old.size_bytes();
        }
        while self.step_bytes > self.budget_bytes {
            let Some((_, oldest)) = self.steps.pop_first() else { return };
            self.step_bytes -= oldest.size_bytes();
        }
    }

    fn row(&self, after: u64) -> Option<&[u64]> {
        let index = usize::try_from(after.checked_sub(self.first)?).ok()?;
        let is_played = *self.is_played.get(index)?;
        let width = self.width();
        is_played.then(|| &self.rows[index * width..(index + 1) * width])
    }

    /// Returns the digests of all types after so many ticks, where they were played.
    pub(crate) fn types_after(&self, after: u64) -> Option<&[u64]> {
        Some(&self.row(after)?[..self.type_count])
    }

    /// Returns how often a stream was drawn from, from the start on.
    pub(crate) fn draws_after(&self, stream: usize, after: u64) -> Option<u64> {
        self.row(after)?.get(self.type_count + stream).copied()
    }

    /// Returns the names of the streams.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &str> {
        self.streams.iter().map(|(name, _)| &**name)
    }

    /// Returns the ticks that are known, holes included.
    pub(crate) fn range(&self) -> Range<u64> {
        self.first..self.first + self.is_played.len() as u64
    }

    /// Returns how the states from there on follow from each other, as far as they are kept.
    pub(crate) fn steps_from(&self, after: u64) -> impl Iterator<Item = (u64, &Step)> {
        self.steps.range(after..).map(|(after, step)| (*after, step))
    }

    /// Returns which ticks were played or forgotten since it was asked last.
    pub(crate) fn take_touched(&mut self) -> Option<Range<u64>> {
        self.touched.take()
    }

    /// Returns from where on there is more than there was, if ticks between known ones were played since it was asked last.
    pub(crate) fn take_filled(&mut self) -> Option<u64> {
        self.filled.take()
    }

    /// Returns how often something was forgotten.
    pub(crate) fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Returns about how many bytes it takes: values, and everything else.
    pub(crate) fn size_bytes(&self) -> (usize, usize) {
        let last = self.last.as_ref().map_or(0, Image::size_bytes);
        (self.step_bytes, self.rows.capacity() * 8 + self.is_played.capacity() + last)
    }
}

/// A stream is the resource of that name.
fn stream_name(resource: &str) -> Option<&str> {
    resource.strip_prefix("Stream<")?.strip_suffix('>')
}

/// Returns the new bytes of an entity's value in what a tick changed: `Some(None)` if it lost the component.
pub(crate) fn changed_row<'a>(image: &Image, delta: &'a Delta, lane: usize, sim_id: u64) -> Option<Option<&'a [u8]>> {
    if delta.despawned.binary_search(&sim_id).is_ok() {
        return Some(None);
    }
    let found = delta.lanes.binary_search_by_key(&lane, |change| change.lane as usize).ok()?;
    let LaneDelta { removed, changed, bytes, .. } = &delta.lanes[found];
    if removed.binary_search(&sim_id).is_ok() {
        return Some(None);
    }
    let row = changed.binary_search(&sim_id).ok()?;
    let schema = &image.lanes.get(lane)?.schema;
    let start = match schema.width() {
        Some(width) => row * width,
        None => {
            let mut start = 0;
            for _ in 0..row {
                start += bevy_replay_tape::Value::measure(schema, bytes.get(start..)?).ok()?;
            }
            start
        }
    };
    let size = match schema.width() {
        Some(width) => width,
        None => bevy_replay_tape::Value::measure(schema, bytes.get(start..)?).ok()?,
    };
    Some(bytes.get(start..start + size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_replay_tape::{Canonical, Ids, Lane, ResourceState, encode_to_vec};
    use std::sync::Arc;

    /// One entity with one number, and a resource without one.
    fn image(after: u64, value: u32) -> Image {
        let ids = Arc::new(Ids::new(vec![7]).expect("in order"));
        let mut lane = Lane::new("Hp", u32::schema().into());
        lane.ids = ids.clone();
        lane.rows.push(|out| out.extend(encode_to_vec(&value)));
        let resources = vec![ResourceState::new("Score", u32::schema().into())];
        Image { tick: after, roster: ids, lanes: vec![lane], resources }
    }

    fn digest(value: u32) -> Digest {
        Digest { root: u64::from(value), lanes: vec![u64::from(value)], resources: vec![1] }
    }

    fn play(trace: &mut Trace, ticks: core::ops::RangeInclusive<u64>, value: impl Fn(u64) -> u32) {
        for after in ticks {
            trace.end_tick(&image(after, value(after)), &digest(value(after)));
        }
    }

    fn values(trace: &Trace) -> Vec<(u64, bool)> {
        trace.steps_from(0).map(|(after, step)| (after, matches!(step, Step::Whole(_)))).collect()
    }

    #[test]
    fn what_is_played_again_replaces_what_was_and_another_future_forgets() {
        let mut trace = Trace::new(1 << 20);
        trace.restart(&image(0, 0));
        play(&mut trace, 1..=20, |after| u32::try_from(after).unwrap_or(0));
        assert_eq!((trace.range(), trace.types_after(20), trace.types_after(21)), (1..21, Some(&[20, 1][..]), None));
        assert_eq!(trace.take_touched(), Some(1..21));
        trace.stand_at(&image(10, 10));
        play(&mut trace, 11..=12, |after| u32::try_from(after).unwrap_or(0));
        assert_eq!((trace.range(), trace.take_touched()), (1..21, Some(11..13)));
        play(&mut trace, 13..=14, |_| 99);
        assert_eq!((trace.range(), trace.types_after(14)), (1..15, Some(&[99, 1][..])));
        assert_eq!(trace.take_touched(), Some(13..21), "those that are forgotten, too");
        assert_eq!(values(&trace).last(), Some(&(14, false)));
    }

    #[test]
    fn the_oldest_values_go_first_and_digests_stay() {
        let mut trace = Trace::new(2_000);
        trace.restart(&image(0, 0));
        play(&mut trace, 1..=100, |after| u32::try_from(after).unwrap_or(0));
        let kept = values(&trace);
        assert!(trace.size_bytes().0 <= 2_000 && kept.len() > 5, "{kept:?}");
        assert!(kept[0].0 > 80 && kept[kept.len() - 1].0 == 100, "{kept:?}");
        assert_eq!(trace.types_after(1), Some(&[1, 1][..]));
    }

    #[test]
    fn what_was_not_seen_is_a_hole_and_the_state_after_it_is_kept_whole() {
        let mut trace = Trace::new(1 << 20);
        trace.restart(&image(0, 0));
        play(&mut trace, 1..=3, |_| 1);
        trace.run(false);
        play(&mut trace, 4..=6, |_| 2);
        trace.run(true);
        play(&mut trace, 7..=8, |_| 3);
        assert_eq!((trace.types_after(3).is_some(), trace.types_after(5), trace.range()), (true, None, 1..9));
        assert_eq!(trace.take_filled(), None);
        assert_eq!(values(&trace), [(0, true), (1, false), (2, false), (3, false), (7, true), (8, false)]);
        trace.stand_at(&image(3, 1));
        play(&mut trace, 4..=5, |_| 2);
        assert_eq!((trace.take_filled(), trace.take_filled()), (Some(4), None));
        assert_eq!((trace.types_after(5).is_some(), trace.types_after(6), trace.range()), (true, None, 1..9));
    }

    #[test]
    fn a_changed_value_is_found_in_a_delta() {
        let delta = image(1, 5).delta_from(&image(0, 4));
        assert_eq!(changed_row(&image(0, 4), &delta, 0, 7), Some(Some(&encode_to_vec(&5_u32)[..])));
        assert_eq!(changed_row(&image(0, 4), &delta, 0, 8), None);
        let gone = Delta { despawned: vec![7], ..Delta::default() };
        assert_eq!(changed_row(&image(0, 4), &gone, 0, 7), Some(None));
    }
}
