//! The timeline without pixels: which ticks are shown, and what each column of them shows.

use core::ops::Range;

/// The part of the tape that is shown, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub(super) start: f64,
    pub(super) end: f64,
}

/// Fewest ticks that are shown: each is wide enough to be clicked.
const TICKS_MIN: f64 = 16.0;

/// Returns the integer part of a number, and 0 below that.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}

/// Returns how many of these go into a length.
pub(super) fn count(length: f32, each: f32) -> usize {
    usize::try_from(whole(f64::from(length / each))).unwrap_or(usize::MAX)
}

impl Window {
    /// Shows all of these.
    pub(super) fn all(ticks: &Range<u64>) -> Self {
        let (start, end) = (ticks.start as f64, ticks.end as f64);
        Self { start, end: end.max(start + TICKS_MIN) }
    }

    pub(super) fn length(&self) -> f64 {
        self.end - self.start
    }

    /// Returns where a tick begins, 0 at the left and 1 at the right.
    pub(super) fn place(&self, tick: f64) -> f64 {
        (tick - self.start) / self.length()
    }

    /// Returns where a tick begins on a line that begins at `left`.
    #[expect(clippy::cast_possible_truncation, reason = "pixels are few")]
    pub(super) fn x(&self, tick: f64, left: f32, width: f32) -> f32 {
        left + self.place(tick) as f32 * width
    }

    /// Returns the tick at a place.
    pub(super) fn tick_at(&self, place: f64, ticks: &Range<u64>) -> u64 {
        let tick = whole(self.start + place * self.length());
        tick.clamp(ticks.start, ticks.end.saturating_sub(1).max(ticks.start))
    }

    /// Shows more ticks (`factor` above 1) or fewer, and leaves the one at a place where it is.
    pub(super) fn zoom(&mut self, place: f64, factor: f64, ticks: &Range<u64>) {
        let whole = Self::all(ticks);
        let at = self.start + place * self.length();
        let length = (self.length() * factor).clamp(TICKS_MIN, whole.length());
        self.start = at - place * length;
        self.end = self.start + length;
        self.keep_inside(&whole);
    }

    /// Shows earlier or later ticks, by parts of its length.
    pub(super) fn pan(&mut self, parts: f64, ticks: &Range<u64>) {
        let by = parts * self.length();
        (self.start, self.end) = (self.start + by, self.end + by);
        self.keep_inside(&Self::all(ticks));
    }

    /// Moves as little as is needed to show a tick.
    pub(super) fn reveal(&mut self, tick: f64, ticks: &Range<u64>) {
        let length = self.length();
        if tick < self.start {
            (self.start, self.end) = (tick, tick + length);
        } else if tick + 1.0 > self.end {
            (self.start, self.end) = (tick + 1.0 - length, tick + 1.0);
        }
        self.keep_inside(&Self::all(ticks));
    }

    fn keep_inside(&mut self, whole: &Self) {
        let length = self.length().min(whole.length());
        self.start = self.start.clamp(whole.start, whole.end - length);
        self.end = self.start + length;
    }

    /// Returns the ticks of each of so many columns of equal width; at least one each.
    pub(super) fn columns(&self, count: usize) -> impl Iterator<Item = Range<u64>> + use<> {
        let (start, step) = (self.start, self.length() / count.max(1) as f64);
        let tick = move |column: usize| whole(start + step * column as f64);
        (0..count).map(move |column| tick(column)..tick(column + 1).max(tick(column) + 1))
    }
}

/// A small number per tick, and the greatest of any range of ticks in a moment: each level halves the one below.
#[derive(Debug, Clone, Default)]
pub(super) struct Peaks {
    levels: Vec<Vec<u16>>,
}

impl Peaks {
    pub(super) fn set(&mut self, index: usize, value: u16) {
        let (mut index, mut value) = (index, value);
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let row = &mut self.levels[level];
            if row.len() <= index {
                row.resize(index + 1, 0);
            }
            row[index] = value;
            let pair = index & !1;
            value = row[pair].max(row.get(pair + 1).copied().unwrap_or(0));
            let is_top = row.len() <= 1;
            index /= 2;
            if is_top {
                return;
            }
        }
    }

    pub(super) fn max(&self, range: Range<usize>) -> u16 {
        let (mut start, mut end, mut found) = (range.start, range.end, 0);
        for row in &self.levels {
            let at = |index: usize| row.get(index).copied().unwrap_or(0);
            if start >= end {
                break;
            }
            if start % 2 == 1 {
                found = found.max(at(start));
                start += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                found = found.max(at(end));
            }
            (start, end) = (start / 2, end / 2);
        }
        found
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.levels.iter().map(|level| level.capacity() * 2).sum()
    }
}

/// What something on the timeline stands for: a colour, and a shape of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Both runs agree.
    Same,
    /// They differ.
    Differs,
    /// Something was done: an input changed, a stream was drawn from.
    Activity,
    /// A state is kept.
    Keyframe,
    /// A bookmark of the user.
    Bookmark,
    /// Another tape begins.
    Branch,
    /// What is expected.
    Expected,
    /// What was got.
    Got,
}

/// One line of the timeline. Another kind of line is one more in [`Model::rows`](super::model::Model).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) label: String,
    pub(super) content: Content,
}

/// What stands in a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// One bar per column, 0 to 1 high.
    Bars(Vec<(f32, Mark)>),
    /// Signs at ticks, with a text.
    Points(Mark, Vec<(u64, String)>),
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKS: Range<u64> = 100..10_100;

    #[test]
    fn the_wheel_goes_from_the_whole_tape_to_single_ticks_and_back() {
        let mut window = Window::all(&TICKS);
        let pointed = window.tick_at(0.25, &TICKS);
        for _ in 0..100 {
            window.zoom(0.25, 0.8, &TICKS);
        }
        assert_eq!((window.length(), window.tick_at(0.25, &TICKS)), (TICKS_MIN, pointed));
        assert_eq!(window.columns(16).nth(4), Some(pointed..pointed + 1));
        for _ in 0..100 {
            window.zoom(0.9, 1.25, &TICKS);
        }
        assert_eq!(window, Window::all(&TICKS));
    }

    #[test]
    fn a_window_stays_on_the_tape() {
        let mut window = Window { start: 100.0, end: 200.0 };
        window.pan(-1.0, &TICKS);
        assert_eq!(window, Window { start: 100.0, end: 200.0 });
        window.pan(0.5, &TICKS);
        assert_eq!(window, Window { start: 150.0, end: 250.0 });
        window.reveal(10_099.0, &TICKS);
        assert_eq!(window, Window { start: 10_000.0, end: 10_100.0 });
        window.reveal(10_050.0, &TICKS);
        assert_eq!(window.start, 10_000.0, "it is shown already");
        assert_eq!((window.tick_at(-3.0, &TICKS), window.tick_at(3.0, &TICKS)), (9_700, 10_099));
    }

    #[test]
    fn columns_cover_each_tick_once_or_share_it() {
        let window = Window { start: 0.0, end: 1000.0 };
        let columns: Vec<Range<u64>> = window.columns(300).collect();
        assert!(columns.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((columns[0].start, columns[299].end), (0, 1000));
        let close = Window { start: 10.0, end: 26.0 };
        assert!(close.columns(320).all(|ticks| ticks.end - ticks.start == 1));
    }

    #[test]
    fn the_greatest_of_a_range_is_that_of_looking_at_each() {
        let (mut peaks, mut plain) = (Peaks::default(), vec![0_u16; 777]);
        let mut draw = 1_u32;
        for step in 0..3_000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (index, value) = ((draw >> 8) as usize % 777, (draw >> 20) as u16 % 50);
            peaks.set(index, value);
            plain[index] = value;
            let (a, b) = ((draw >> 3) as usize % 777, step % 777);
            let range = a.min(b)..a.max(b);
            assert_eq!(peaks.max(range.clone()), plain[range].iter().copied().max().unwrap_or(0));
        }
    }
}
