//! States kept so that a replay can go on there: keyframes under a budget of bytes.

use crate::state::restore::RowOrder;
use bevy_replay_tape::{Delta, Image};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Ticks between keyframes.
const GAP_MIN: u64 = 64;
/// Where the budget does not suffice for that, the gap may be this part of the distance.
const GAP_SHARE: u64 = 8;
/// How many ticks are run before messages stand as they did; see [`Keyframe::run_up`].
pub(crate) const RUN_UP_TICKS: u64 = 2;

/// What an app has played of a tape, or recorded: the ground over which it can jump.
pub(crate) struct History {
    keyframes: BTreeMap<u64, Keyframe>,
    /// Never thinned out while anything else is left: the start and the marks.
    pinned: BTreeSet<u64>,
    budget_bytes: usize,
    size_bytes: usize,
    first: u64,
    /// The root after each tick when it was played first.
    roots: Vec<u64>,
    /// What keyframes nearby are packed against.
    base: Option<Arc<Image>>,
    /// Whether systems read messages before others write them; known after the first tick.
    pub(crate) needs_run_up: Option<bool>,
}

struct Keyframe {
    base: Arc<Image>,
    /// What leads from the base to the state; `None` where that is the base itself.
    delta: Option<Delta>,
    order: RowOrder,
    /// Where readers of messages carry some from tick to tick: the state two ticks later, which is put back after
    /// these ticks were run for the sake of the readers.
    run_up: Option<(Delta, RowOrder)>,
}

impl Keyframe {
    fn image(&self) -> Image {
        let mut image = Image::clone(&self.base);
        if let Some(delta) = &self.delta {
            image.apply(delta).expect("a keyframe was packed against this base");
        }
        image
    }

    fn size_bytes(&self) -> usize {
        let delta = self.delta.as_ref().map_or(self.base.size_bytes(), Delta::size_bytes);
        let run_up = self.run_up.as_ref().map_or(0, |(delta, order)| delta.size_bytes() + order.size_bytes());
        delta + self.order.size_bytes() + run_up
    }
}

/// Where to start from to reach a tick.
pub(crate) struct JumpPoint {
    /// The state that is put back, and the tick that runs next from there.
    pub(crate) image: Image,
    pub(crate) order: RowOrder,
    /// The state that is put back after the run-up.
    pub(crate) after_run_up: Option<(Image, RowOrder)>,
}

impl History {
    /// Begins at a state; marks are ticks at which states are kept if possible.
    pub(crate) fn new(image: Image, order: RowOrder, budget_bytes: usize, marks: impl Iterator<Item = u64>) -> Self {
        let first = image.tick;
        let mut history = Self {
            keyframes: BTreeMap::new(),
            pinned: marks.chain([first]).collect(),
            budget_bytes,
            size_bytes: 0,
            first,
            roots: Vec::new(),
            base: None,
            needs_run_up: None,
        };
        history.keep(&image, order);
        history
    }

    /// How many ticks were played, one after another, counted from the start gate.
    pub(crate) fn played(&self) -> u64 {
        self.first + self.roots.len() as u64
    }

    /// The root after so many ticks, where they were played.
    pub(crate) fn root_after(&self, ticks: u64) -> Option<u64> {
        let index = ticks.checked_sub(self.first + 1)?;
        self.roots.get(usize::try_from(index).ok()?).copied()
    }

    /// The root after each tick that was played.
    pub(crate) fn roots(&self) -> &[u64] {
        &self.roots
    }

    /// How many bytes the keyframes take.
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The ticks at which states are kept.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = u64> {
        self.keyframes.keys().copied()
    }

    /// Keeps a state at this tick if possible.
    pub(crate) fn pin(&mut self, tick: u64) {
        self.pinned.insert(tick);
    }

    /// Takes the state after a tick. Returns whether it is that of the first time this tick was played.
    pub(crate) fn end_tick(&mut self, image: &Image, root: u64, order: impl Fn() -> RowOrder) -> bool {
        let tick = image.tick;
        let index = usize::try_from(tick.saturating_sub(self.first + 1)).unwrap_or(usize::MAX);
        let known = self.roots.get(index).copied();
        if known.is_some_and(|known| known != root) {
            return false;
        }
        if index == self.roots.len() {
            self.roots.push(root);
        }
        let wanted = tick.is_multiple_of(GAP_MIN) || self.pinned.contains(&tick);
        if wanted && !self.keyframes.contains_key(&tick) {
            self.keep(image, order());
        } else if self.needs_run_up == Some(true) {
            self.keep_run_up(image, order);
        }
        true
    }

    /// Forgets what was played after a tick: another future begins there.
    pub(crate) fn cut(&mut self, tick: u64) {
        self.roots.truncate(usize::try_from(tick.saturating_sub(self.first)).unwrap_or(usize::MAX));
        let later: Vec<u64> = self.keyframes.range(tick + 1..).map(|(tick, _)| *tick).collect();
        later.into_iter().for_each(|tick| self.drop_keyframe(tick));
        for keyframe in self.keyframes.values_mut() {
            if keyframe.run_up.as_ref().is_some_and(|(delta, _)| delta.tick > tick) {
                self.size_bytes -= keyframe.size_bytes();
                keyframe.run_up = None;
                self.size_bytes += keyframe.size_bytes();
            }
        }
    }

    fn keep(&mut self, image: &Image, order: RowOrder) {
        let packed = self.base.as_ref().and_then(|base| {
            let delta = image.delta_from(base);
            (delta.size_bytes() < image.size_bytes() / 2).then(|| (base.clone(), Some(delta)))
        });
        let (base, delta) = packed.unwrap_or_else(|| (Arc::new(image.clone()), None));
        self.base = Some(base.clone());
        let keyframe = Keyframe { base, delta, order, run_up: None };
        self.size_bytes += keyframe.size_bytes();
        self.keyframes.insert(image.tick, keyframe);
        self.thin_out(image.tick);
    }

    fn keep_run_up(&mut self, image: &Image, order: impl Fn() -> RowOrder) {
        let Some(start) = image.tick.checked_sub(RUN_UP_TICKS) else { return };
        let Some(keyframe) = self.keyframes.get_mut(&start).filter(|keyframe| keyframe.run_up.is_none()) else {
            return;
        };
        self.size_bytes -= keyframe.size_bytes();
        keyframe.run_up = Some((image.delta_from(&keyframe.image()), order()));
        self.size_bytes += keyframe.size_bytes();
        self.thin_out(image.tick);
    }

    /// Drops keyframes while they are over the budget.
    fn thin_out(&mut self, here: u64) {
        let gap_wanted = |tick: u64| GAP_MIN.max(here.abs_diff(tick) / GAP_SHARE);
        while self.size_bytes > self.budget_bytes {
            // The one whose place is missed least: the gap it leaves, in relation to what the distance allows.
            let ticks: Vec<u64> = self.keyframes.keys().copied().collect();
            let missed = |place: &usize| {
                let (before, tick) = (ticks[place - 1], ticks[*place]);
                let after = ticks.get(place + 1).copied().unwrap_or_else(|| here.max(tick));
                (self.pinned.contains(&tick), (after - before) * 1024 / gap_wanted(tick))
            };
            let Some(place) = (1..ticks.len()).min_by_key(missed) else { return };
            self.drop_keyframe(ticks[place]);
        }
    }

    fn drop_keyframe(&mut self, tick: u64) {
        if let Some(keyframe) = self.keyframes.remove(&tick) {
            self.size_bytes -= keyframe.size_bytes();
        }
    }

    /// Returns the tick of the last keyframe from which a tick can be reached.
    pub(crate) fn nearest(&self, tick: u64) -> u64 {
        let reaches = |at: u64, keyframe: &Keyframe| {
            self.needs_run_up != Some(true)
                || at == self.first
                || (at + RUN_UP_TICKS <= tick && keyframe.run_up.is_some())
        };
        let before = self.keyframes.range(..=tick).rev();
        before
            .map(|(at, keyframe)| (*at, keyframe))
            .find(|(at, keyframe)| reaches(*at, keyframe))
            .map_or(self.first, |(at, _)| at)
    }

    /// Returns what is kept at a tick.
    pub(crate) fn jump_point(&self, tick: u64) -> Option<JumpPoint> {
        let keyframe = self.keyframes.get(&tick)?;
        let image = keyframe.image();
        let after_run_up = keyframe.run_up.as_ref().map(|(delta, order)| {
            let mut later = image.clone();
            later.apply(delta).expect("a run-up was packed against this keyframe");
            (later, order.clone())
        });
        Some(JumpPoint { image, order: keyframe.order.clone(), after_run_up })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_replay_tape::Ids;

    /// A state that has nothing in common with that of another tick, so that each is kept whole.
    fn image(tick: u64) -> Image {
        let ids = Ids::new((tick * 64..(tick + 1) * 64).collect()).expect("in order");
        Image { tick, roster: Arc::new(ids), ..Image::default() }
    }

    /// Plays so many ticks, with room for so many states.
    fn played(ticks: u64, states: usize, marks: &[u64]) -> (History, Vec<usize>) {
        let image = image(0);
        let budget = states * image.size_bytes();
        let mut history = History::new(image, RowOrder::default(), budget, marks.iter().copied());
        let mut sizes = Vec::new();
        for tick in 1..=ticks {
            assert!(history.end_tick(&self::image(tick), tick, RowOrder::default));
            sizes.push(history.size_bytes());
        }
        (history, sizes)
    }

    fn gaps(history: &History) -> Vec<(u64, u64)> {
        let ticks: Vec<u64> = history.ticks().collect();
        ticks.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
    }

    #[test]
    fn within_the_budget_each_gap_is_the_least() {
        let (history, _) = played(6400, 200, &[]);
        assert_eq!(history.ticks().count(), 101);
        assert!(gaps(&history).iter().all(|(_, gap)| *gap == GAP_MIN));
    }

    #[test]
    fn where_the_budget_is_short_gaps_grow_with_the_distance_and_marks_stay() {
        let (history, sizes) = played(38_400, 60, &[5_001]);
        assert!(sizes.iter().all(|size| *size <= history.budget_bytes));
        assert_eq!(history.ticks().count(), 60);
        assert!(history.ticks().any(|tick| tick == 0) && history.ticks().any(|tick| tick == 5_001));
        for (tick, gap) in gaps(&history) {
            let allowed = GAP_MIN.max((38_400 - tick) / GAP_SHARE);
            assert!(gap <= allowed, "a gap of {gap} after tick {tick}, allowed are {allowed}");
        }
    }

    #[test]
    fn another_root_than_the_first_time_is_noticed_and_a_cut_forgets() {
        let (mut history, _) = played(200, 100, &[]);
        assert!(history.end_tick(&image(100), 100, RowOrder::default));
        assert!(!history.end_tick(&image(100), 7, RowOrder::default));
        history.cut(99);
        assert_eq!((history.played(), history.nearest(150)), (99, 64));
        assert!(history.end_tick(&image(100), 7, RowOrder::default));
    }
}
