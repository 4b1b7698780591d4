//! The first system whose effect differs between two runs of a tick.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

/// What one step of a tick did to the state: a system, or the commands that systems have queued.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemEffect {
    /// The schedule the step is in.
    pub schedule: String,
    /// Name of the system; of commands, the names of all systems that may have queued them. Empty: the step is what was
    /// written between the last tick and this one.
    pub systems: Vec<String>,
    /// Whether commands were applied.
    pub is_commands: bool,
    /// Which of how many systems of the schedule it is, counted from 1; of commands, after how many they are applied.
    pub place: (usize, usize),
    /// Types whose values changed: their digests before and after. The name is empty where entities came or went only.
    pub changed: BTreeMap<String, (u64, u64)>,
}

/// The first system whose effect differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstWrong {
    /// Name of the system, or of those whose commands it may be.
    pub systems: Vec<String>,
    /// Its schedule.
    pub schedule: String,
    /// Which of how many systems of the schedule it is, counted from 1; of commands, after how many they are applied.
    pub place: (usize, usize),
    /// What is wrong about it.
    pub how: Wrong,
}

/// What is wrong about a system.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// It left another state behind.
    Effect,
    /// Commands that it had queued did.
    Commands,
    /// It ran before another system in one run, and after it in the other.
    Order {
        /// The other system.
        other: String,
    },
    /// The state was written between the last tick and this one, by no system of a tick.
    Outside,
    /// It changed the state, and in the run that is compared it is not there.
    Missing,
    /// It changed the state, and only in the run that is compared is it there.
    Added,
}

impl fmt::Display for FirstWrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schedule, place: (place, count), .. } = self;
        let systems = self.systems.join(", ");
        match &self.how {
            Wrong::Effect => write!(f, "{systems} ({} of {count} in {schedule})", nth(*place)),
            Wrong::Commands => {
                write!(f, "commands of {systems} (applied after the {} of {count} in {schedule})", nth(*place))
            }
            Wrong::Outside => f.write_str("none: the state was written between this tick and the one before"),
            Wrong::Order { other } => write!(f, "order of {systems} and {other} is not fixed ({schedule})"),
            Wrong::Missing => write!(f, "{systems} ({} of {count} in {schedule}), expected only", nth(*place)),
            Wrong::Added => write!(f, "{systems} ({} of {count} in {schedule}), not expected", nth(*place)),
        }
    }
}

/// Returns `1st`, `2nd`, `3rd`, `4th`, …
fn nth(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Returns the first step whose effect differs; `None` if all are the same.
///
/// Steps are told apart by schedule and name. Where their order differs, it is said to be the cause only of systems that
/// may get into each other's way: of those that `is_open` says have no fixed order, or that change one type.
#[must_use]
pub fn first_wrong(
    expected: &[SystemEffect],
    got: &[SystemEffect],
    is_open: impl Fn(&str, &str) -> bool,
) -> Option<FirstWrong> {
    let pairs = pairs(expected, got);
    let partner_of: BTreeMap<usize, usize> = pairs.iter().map(|(i, j)| (*j, *i)).collect();
    let changes = |step: &SystemEffect| !step.changed.is_empty();
    let differs = |(i, step): (usize, &SystemEffect)| match pairs.get(&i) {
        Some(j) => (step.changed != got[*j].changed).then_some((i, Some(*j))),
        None => changes(step).then_some((i, None)),
    };
    let (i, partner) = expected.iter().enumerate().find_map(differs).unzip();
    let partner = partner.flatten();
    let wrong = |step: &SystemEffect, systems: &[String], how| {
        let (schedule, place) = (step.schedule.clone(), step.place);
        Some(FirstWrong { systems: systems.to_vec(), schedule, place, how })
    };
    // A step that is there only now counts if it comes before.
    let added = got.iter().enumerate().find(|(j, step)| !partner_of.contains_key(j) && changes(step));
    if let Some((j, step)) = added
        && (i.is_none() || partner.is_some_and(|partner| j < partner))
    {
        return wrong(step, &step.systems, if step.systems.is_empty() { Wrong::Outside } else { Wrong::Added });
    }
    let i = i?;
    let step = &expected[i];
    if step.systems.is_empty() {
        return wrong(step, &[], Wrong::Outside);
    }
    let Some(j) = partner else { return wrong(step, &step.systems, Wrong::Missing) };
    if step.is_commands {
        // The same systems have queued commands, in another order.
        let sorted = |step: &SystemEffect| step.systems.iter().cloned().collect::<BTreeSet<_>>();
        let turned = step.systems.iter().zip(&got[j].systems).find(|(a, b)| a != b);
        return match turned.filter(|_| sorted(step) == sorted(&got[j])) {
            Some((one, other)) => wrong(step, core::slice::from_ref(one), Wrong::Order { other: other.clone() }),
            None => wrong(step, &step.systems, Wrong::Commands),
        };
    }
    // Another step that stands on its other side.
    let turned = pairs.iter().filter(|(a, b)| (**a < i) != (**b < j) && **a != i).map(|(a, _)| &expected[*a]);
    let turned: Vec<&SystemEffect> = turned.filter(|other| !other.is_commands && changes(other)).collect();
    let open = |other: &SystemEffect| {
        let mut names = step.systems.iter().flat_map(|a| other.systems.iter().map(move |b| (a, b)));
        names.any(|(a, b)| is_open(a, b) || is_open(b, a))
    };
    let shares = |other: &SystemEffect| other.changed.keys().any(|name| step.changed.contains_key(name));
    let in_the_way = |other: &&&SystemEffect| open(other) || shares(other);
    match turned.iter().find(in_the_way) {
        Some(other) => wrong(step, &step.systems, Wrong::Order { other: other.systems.join(", ") }),
        None => wrong(step, &step.systems, Wrong::Effect),
    }
}

/// Which step of the one run is which of the other: the n-th of a name is the n-th of that name, and the n-th time that
/// commands are applied is the n-th time.
fn pairs(expected: &[SystemEffect], got: &[SystemEffect]) -> BTreeMap<usize, usize> {
    let keys = |steps: &[SystemEffect]| {
        let mut counts = BTreeMap::new();
        let key = |step: &SystemEffect| {
            let systems = if step.is_commands { Vec::new() } else { step.systems.clone() };
            let key = (step.schedule.clone(), step.is_commands, systems);
            let count: &mut usize = counts.entry(key.clone()).or_default();
            *count += 1;
            (key, *count)
        };
        steps.iter().map(key).collect::<Vec<_>>()
    };
    let places: BTreeMap<_, usize> = keys(got).into_iter().zip(0..).collect();
    keys(expected).iter().enumerate().filter_map(|(i, key)| Some((i, *places.get(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, changed: &[(&str, u64, u64)]) -> SystemEffect {
        SystemEffect {
            schedule: "FixedUpdate".into(),
            systems: vec![name.into()],
            place: (1, 3),
            changed: changed.iter().map(|(name, a, b)| ((*name).into(), (*a, *b))).collect(),
            ..SystemEffect::default()
        }
    }

    /// The order of `writer` and `reader` is open.
    fn first(expected: &[SystemEffect], got: &[SystemEffect]) -> Option<FirstWrong> {
        first_wrong(expected, got, |a, b| (a, b) == ("writer", "reader"))
    }

    #[track_caller]
    fn assert_found(expected: &[SystemEffect], got: &[SystemEffect], text: &str) {
        assert_eq!(first(expected, got).map(|found| found.to_string()).as_deref(), Some(text));
    }

    #[test]
    fn first_other_effect_is_named() {
        let run = |to| [step("a", &[("X", 1, 2)]), step("b", &[("Y", 1, to)]), step("c", &[("X", 2, to)])];
        assert_found(&run(5), &run(6), "b (1st of 3 in FixedUpdate)");
        assert_eq!(first(&run(5), &run(5)), None);
    }

    #[test]
    fn systems_that_do_not_concern_each_other_may_change_places() {
        let (a, b) = (step("a", &[("X", 1, 2)]), step("b", &[("Y", 1, 2)]));
        assert_eq!(first(&[a.clone(), b.clone()], &[b, a]), None);
    }

    #[test]
    fn two_orders_of_two_systems_are_named() {
        let add = |from, to| step("add", &[("X", from, to)]);
        let double = |from, to| step("double", &[("X", from, to)]);
        let text = "order of add and double is not fixed (FixedUpdate)";
        assert_found(&[add(4, 5), double(5, 10)], &[double(4, 8), add(8, 9)], text);
    }

    #[test]
    fn reader_that_moved_before_the_writer_is_named() {
        let (writer, idle) = (step("writer", &[("X", 1, 2)]), step("reader", &[]));
        let reader = |to| step("reader", &[("Y", 1, to)]);
        let text = "order of reader and writer is not fixed (FixedUpdate)";
        assert_found(&[writer.clone(), reader(7)], &[reader(8), writer.clone()], text);
        assert_found(&[writer.clone(), idle], &[reader(8), writer], text);
    }

    #[test]
    fn systems_that_do_not_concern_it_are_not_blamed() {
        let (clouds, writer) = (step("clouds", &[("C", 1, 2)]), step("writer", &[("X", 1, 2)]));
        let reader = |to| step("reader", &[("Y", 1, to)]);
        let text = "order of reader and writer is not fixed (FixedUpdate)";
        assert_found(&[clouds.clone(), writer.clone(), reader(7)], &[reader(8), clouds.clone(), writer], text);
        let steer = |to| step("steer", &[("Y", 1, to)]);
        assert_found(&[clouds.clone(), steer(7)], &[steer(8), clouds], "steer (1st of 3 in FixedUpdate)");
    }

    #[test]
    fn systems_of_one_run_only_are_named_in_their_turn() {
        let (a, b) = (step("a", &[("X", 1, 2)]), step("b", &[("X", 2, 3)]));
        assert_found(&[a.clone(), b.clone()], std::slice::from_ref(&a), "b (1st of 3 in FixedUpdate), expected only");
        assert_found(std::slice::from_ref(&b), &[a.clone(), b.clone()], "a (1st of 3 in FixedUpdate), not expected");
        let later = step("b", &[("X", 9, 3)]);
        assert_found(&[b], &[a, later], "a (1st of 3 in FixedUpdate), not expected");
    }

    #[test]
    fn commands_are_told_apart_from_systems() {
        let commands = |to| SystemEffect {
            systems: vec!["spawn".into(), "loot".into()],
            is_commands: true,
            place: (2, 3),
            ..step("", &[("", 1, to)])
        };
        let text = "commands of spawn, loot (applied after the 2nd of 3 in FixedUpdate)";
        assert_found(&[commands(2)], &[commands(3)], text);
        let turned = SystemEffect { systems: vec!["loot".into(), "spawn".into()], ..commands(3) };
        assert_found(&[commands(2)], &[turned], "order of spawn and loot is not fixed (FixedUpdate)");
    }

    #[test]
    fn what_was_written_between_ticks_is_nobodys_fault_inside() {
        let outside = SystemEffect { schedule: String::new(), systems: Vec::new(), ..step("", &[("X", 1, 2)]) };
        let text = "none: the state was written between this tick and the one before";
        assert_found(&[outside.clone(), step("a", &[("X", 2, 3)])], &[step("a", &[("X", 1, 3)])], text);
        assert_found(&[step("a", &[("X", 1, 3)])], &[outside, step("a", &[("X", 2, 3)])], text);
    }

    #[test]
    fn a_system_that_runs_twice_is_compared_run_by_run() {
        let run = |to| [step("a", &[("X", 1, 2)]), step("a", &[("X", 2, to)])];
        assert_eq!(first(&run(3), &run(3)), None);
        assert!(first(&run(3), &run(4)).is_some());
    }

    #[test]
    fn ordinals_read_well() {
        assert_eq!([1, 2, 3, 4, 11, 12, 13, 21, 102].map(nth).join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd");
    }
}
