//! What is the least that still fails? Knows nothing of tapes.

use core::ops::ControlFlow;

/// The answer to one question, or no more time for questions.
pub(super) type Fails = ControlFlow<(), bool>;

/// Returns a list in which no single item can be left out, or all of them, without the failure going away.
///
/// This is *ddmin* (A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input, IEEE Transactions on
/// Software Engineering 28(2), 2002) with its complements alone, which is what makes the result minimal: halves are
/// left out first, then quarters, and single items until none can go. All items together must fail.
pub(super) fn ddmin<T: Clone>(mut items: Vec<T>, mut fails: impl FnMut(&[T]) -> Fails) -> ControlFlow<(), Vec<T>> {
    if items.is_empty() || fails(&[])? {
        return ControlFlow::Continue(Vec::new());
    }
    let mut size = items.len().div_ceil(2);
    loop {
        let (mut from, mut is_shorter) = (0, false);
        while from < items.len() && size < items.len() {
            let to = (from + size).min(items.len());
            let others = [&items[..from], &items[to..]].concat();
            if fails(&others)? {
                (items, is_shorter) = (others, true);
            } else {
                from = to;
            }
        }
        match size {
            1 if is_shorter => {} // what could not go may go now
            0 | 1 => return ControlFlow::Continue(items),
            _ => size = size.div_ceil(2),
        }
    }
}

/// Returns the smallest number from `low` on that fails, where greater ones do, too; `high` must fail.
///
/// The lowest two are asked for first: most often nothing is needed, or one.
pub(super) fn smallest(low: u64, high: u64, mut fails: impl FnMut(u64) -> Fails) -> ControlFlow<(), u64> {
    let (mut below, mut least) = (low, high);
    for number in [low, low.saturating_add(1)] {
        if number >= least || fails(number)? {
            return ControlFlow::Continue(number.min(least));
        }
        below = number;
    }
    while least - below > 1 {
        let middle = below + (least - below) / 2;
        if fails(middle)? {
            least = middle;
        } else {
            below = middle;
        }
    }
    ControlFlow::Continue(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn done<T>(result: ControlFlow<(), T>) -> T {
        match result {
            ControlFlow::Continue(value) => value,
            ControlFlow::Break(()) => panic!("nothing stops it"),
        }
    }

    #[test]
    fn three_of_a_thousand_take_few_questions() {
        let mut asked = 0;
        let kept = done(ddmin((0..1000).collect(), |kept: &[u32]| {
            asked += 1;
            ControlFlow::Continue([7, 500, 993].iter().all(|needed| kept.contains(needed)))
        }));
        assert_eq!(kept, [7, 500, 993]);
        assert!(asked < 100, "{asked} questions");
    }

    #[test]
    fn what_fails_by_itself_needs_nothing() {
        assert!(done(ddmin(vec![1, 2, 3], |_| ControlFlow::Continue(true))).is_empty());
    }

    #[test]
    fn it_stops_when_there_is_no_more_time() {
        let mut left = 3;
        let stopped = ddmin((0..100).collect::<Vec<u32>>(), |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(false) }
        });
        assert_eq!(stopped, ControlFlow::Break(()));
    }

    proptest! {
        /// A set that needs more than one item at a time to be left out stays, whatever the failure is made of.
        #[test]
        fn no_single_item_can_be_left_out(count in 0_u32..40, salt: u64) {
            let all: Vec<u32> = (0..count).collect();
            let fails = |kept: &[u32]| {
                let sum = kept.iter().fold(salt, |sum, item| sum.rotate_left(7) ^ u64::from(*item).wrapping_mul(0x9E37_79B9));
                kept.len() == all.len() || sum % 3 == 0
            };
            let kept = done(ddmin(all.clone(), |kept| ControlFlow::Continue(fails(kept))));
            prop_assert!(fails(&kept));
            for index in 0..kept.len() {
                let mut others = kept.clone();
                others.remove(index);
                prop_assert!(!fails(&others), "{} can go from {kept:?}", kept[index]);
            }
        }

        /// Where more never hurts, the result is exactly what is needed.
        #[test]
        fn what_is_needed_is_left(count in 1_usize..200, needed in prop::collection::btree_set(0_usize..200, 0..6)) {
            let needed: BTreeSet<usize> = needed.into_iter().filter(|item| *item < count).collect();
            let fails = |kept: &[usize]| ControlFlow::Continue(needed.iter().all(|item| kept.contains(item)));
            let kept = done(ddmin((0..count).collect(), fails));
            prop_assert_eq!(kept, needed.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn the_smallest_number_is_found(low in 0_u64..50, least in 0_u64..2000, above in 0_u64..2000) {
            let least = least.max(low);
            let found = done(smallest(low, least + above, |number| ControlFlow::Continue(number >= least)));
            prop_assert_eq!(found, least);
        }
    }
}
