//! Shorter tapes from a tape: pure functions, nothing is played.

use bevy_replay_tape::{
    Changes, ClockChange, Digests, EndReason, Expectation, Schema, Start, Tape, Track, TypeSpec, Value, encode_text,
};
use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A run of ticks in which a track has one value, which is not the one it has at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// Index of the track.
    pub(super) track: usize,
    pub(super) ticks: Range<u64>,
    pub(super) value: Arc<[u8]>,
}

/// The value that stands in for what is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rest {
    value: Arc<[u8]>,
    /// Whether ticks see it where the tape has nothing.
    is_default: bool,
}

impl Rest {
    /// The app's default where the types are the same ones, else the first value on the tape.
    pub(super) fn of(track: &Track, known: &[(TypeSpec, Vec<u8>)]) -> Self {
        let is_track = |spec: &TypeSpec| spec.name == track.name && spec.schema.same_encoding(&track.schema);
        match known.iter().find(|(spec, _)| is_track(spec)) {
            Some((_, value)) => Self { value: (&**value).into(), is_default: true },
            None => {
                let first = track.changes.get(0).map(|(_, value)| value);
                Self { value: first.unwrap_or_default().into(), is_default: false }
            }
        }
    }
}

/// Leaves only what an input tape needs: digests and values of other inputs would be wrong.
pub(super) fn inputs_of(tape: &Tape) -> Tape {
    let mut inputs = tape.clone();
    inputs.digests = Digests::default();
    inputs.header.root_interval = 1;
    inputs.values.clear();
    inputs.end.claims.clear();
    if tape.header.start == Start::Gate {
        inputs.initial = None; // the app gets there by itself
    }
    inputs
}

/// Returns how many input changes are on a tape.
pub(super) fn change_count(tape: &Tape) -> usize {
    tape.tracks.iter().map(|track| track.changes.len()).sum()
}

/// Ends a tape after these ticks, which may be some more than it has.
pub(super) fn ending_at(tape: &Tape, tick_end: u64) -> Tape {
    let mut cut = tape.clone();
    cut.end.tick_count = tick_end.saturating_sub(tape.header.tick_first);
    cut.end.reason = EndReason::Stopped;
    for track in &mut cut.tracks {
        track.changes = changes(track.changes.iter().filter(|(tick, _)| *tick < tick_end));
    }
    cut.clock.retain(|change| change.tick < tick_end);
    cut.marks.retain(|mark| mark.tick <= tick_end);
    // One of a later tick would never be looked at.
    let is_reached = |line: &String| line.parse().is_ok_and(|line: Expectation| line.tick() <= tick_end);
    cut.header.expectations.retain(is_reached);
    cut
}

fn changes<'a>(all: impl Iterator<Item = (u64, &'a [u8])>) -> Changes {
    let mut changes = Changes::default();
    for (tick, value) in all {
        changes.record(tick, value);
    }
    changes
}

/// Returns the segments of a tape, ascending by their first tick.
pub(super) fn segments(tape: &Tape, rests: &[Rest]) -> Vec<Segment> {
    let all = tape.ticks();
    let mut segments = Vec::new();
    for (index, (track, rest)) in tape.tracks.iter().zip(rests).enumerate() {
        for (at, (tick, value)) in track.changes.iter().enumerate() {
            let next = track.changes.get(at + 1).map_or(all.end, |(next, _)| next);
            let ticks = tick.max(all.start)..next.min(all.end);
            if !ticks.is_empty() && *value != *rest.value {
                segments.push(Segment { track: index, ticks, value: value.into() });
            }
        }
    }
    segments.sort_by_key(|segment| segment.ticks.start);
    segments
}

/// Returns the tape with these segments and nothing else; they ascend and do not overlap on a track.
///
/// The value before the first tick stays: it is what the first tick differs from.
pub(super) fn with_segments(tape: &Tape, rests: &[Rest], segments: &[Segment]) -> Tape {
    let all = tape.ticks();
    let mut edited = tape.clone();
    for (index, (track, rest)) in edited.tracks.iter_mut().zip(rests).enumerate() {
        let before = track.changes.iter().take_while(|(tick, _)| *tick < all.start).last();
        let mut changes = changes(before.into_iter());
        let mut at = all.start;
        // Where nothing was recorded yet, the default needs no words.
        let rest_from = |changes: &mut Changes, tick: u64| {
            if !(changes.is_empty() && rest.is_default) {
                changes.record(tick, &rest.value);
            }
        };
        for segment in segments.iter().filter(|segment| segment.track == index) {
            if segment.ticks.start > at {
                rest_from(&mut changes, at);
            }
            changes.record(segment.ticks.start, &segment.value);
            at = segment.ticks.end;
        }
        if at < all.end && !track.changes.is_empty() {
            rest_from(&mut changes, at);
        }
        track.changes = changes;
    }
    edited
}

/// Returns the ticks between two changes of any input.
pub(super) fn stretches(tape: &Tape) -> Vec<Range<u64>> {
    let Range { start, end } = tape.ticks();
    let ticks = tape.tracks.iter().flat_map(|track| track.changes.iter().map(|(tick, _)| tick));
    let borders: BTreeSet<u64> = ticks.filter(|tick| *tick > start && *tick < end).chain([start, end]).collect();
    let borders: Vec<u64> = borders.into_iter().collect();
    borders.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Returns the tape without these ticks: what comes after them comes so much earlier.
pub(super) fn without_ticks(tape: &Tape, ticks: &Range<u64>) -> Tape {
    let Range { start: from, end: to } = ticks.clone();
    let earlier = |tick: u64| if tick >= to { tick - (to - from) } else { tick.min(from) };
    let mut edited = tape.clone();
    edited.end.tick_count -= to - from;
    for track in &mut edited.tracks {
        let before = track.changes.iter().take_while(|(tick, _)| *tick < from);
        let here = track.changes.at(to).map(|value| (from, value));
        let after = track.changes.iter().skip_while(|(tick, _)| *tick <= to);
        track.changes = changes(before.chain(here).chain(after.map(|(tick, value)| (earlier(tick), value))));
    }
    let length = ClockChange { tick: from, timestep_ns: tape.timestep_ns(to) };
    let is_inside = |change: &&ClockChange| (from..=to).contains(&change.tick);
    let here = tape.clock.iter().any(|change| is_inside(&change)).then_some(length);
    let before = tape.clock.iter().take_while(|change| change.tick < from).copied();
    let after = tape.clock.iter().skip_while(|change| change.tick <= to);
    let after = after.map(|change| ClockChange { tick: earlier(change.tick), ..*change });
    edited.clock = before.chain(here).chain(after).collect();
    for mark in &mut edited.marks {
        mark.tick = earlier(mark.tick);
    }
    edited
}

/// Returns a value with one field as it is at rest, for each field that is another; none for what has no fields.
pub(super) fn simpler(schema: &Schema, value: &[u8], rest: &Rest) -> Vec<Arc<[u8]>> {
    let fields = |bytes: &[u8]| match Value::decode(schema, bytes) {
        Ok(Value::Struct(fields)) => fields,
        _ => Vec::new(),
    };
    let (now, at_rest) = (fields(value), fields(&rest.value));
    let differing = now.iter().zip(&at_rest).enumerate().filter(|(_, (a, b))| a != b);
    let simpler = differing.filter_map(|(index, (_, field))| {
        let mut simpler = now.clone();
        simpler[index] = field.clone();
        encode_text(schema, &Value::Struct(simpler).to_string()).ok()
    });
    simpler.map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_replay_tape::{Canonical, Header, Mark, TickInput, encode_to_vec};
    use proptest::prelude::*;

    #[derive(Debug, Clone, Default, TickInput)]
    struct Steer {
        x: i8,
        jump: bool,
    }

    /// A tape of two tracks, from tick 10 on. Before it the first one was held.
    fn tape(values: &[(u8, u8)]) -> (Tape, Vec<Rest>) {
        let mut tape = Tape::new(Header::new("edits"));
        tape.header.tick_first = 10;
        tape.end.tick_count = values.len() as u64;
        let track =
            |name: &str| Track { name: name.into(), schema: Arc::new(u8::schema()), changes: Changes::default() };
        tape.tracks = vec![track("A"), track("B")];
        tape.tracks[0].changes.record(9, &[1]);
        for (tick, (a, b)) in (10..).zip(values) {
            tape.tracks[0].changes.record(tick, &[*a]);
            tape.tracks[1].changes.record(tick, &[*b]);
        }
        let known = [(TypeSpec { name: "A".into(), schema: Arc::new(u8::schema()) }, vec![0])];
        let rests = tape.tracks.iter().map(|track| Rest::of(track, &known)).collect();
        (tape, rests)
    }

    /// What a tick sees.
    fn seen(tape: &Tape, track: usize, tick: u64) -> u8 {
        tape.tracks[track].changes.at(tick).map_or(0, |value| value[0])
    }

    fn all_seen(tape: &Tape) -> Vec<(u8, u8)> {
        tape.ticks().map(|tick| (seen(tape, 0, tick), seen(tape, 1, tick))).collect()
    }

    #[test]
    fn what_is_left_out_is_at_rest_and_the_value_before_the_first_tick_stays() {
        let (tape, rests) = tape(&[(1, 7), (1, 7), (2, 8), (0, 8), (3, 7)]);
        let all = segments(&tape, &rests);
        let text: Vec<_> = all.iter().map(|found| (found.track, found.ticks.clone(), found.value[0])).collect();
        assert_eq!(text, [(0, 10..12, 1), (0, 12..13, 2), (1, 12..14, 8), (0, 14..15, 3)]);
        let bare = with_segments(&tape, &rests, &[]);
        assert_eq!(all_seen(&bare), [(0, 7); 5]);
        assert_eq!(bare.tracks[0].changes.iter().collect::<Vec<_>>(), [(9, &[1][..]), (10, &[0])]);
        assert_eq!(bare.tracks[1].changes.iter().collect::<Vec<_>>(), [(10, &[7][..])], "its default is not known");
    }

    #[test]
    fn a_default_is_not_written_down() {
        let (mut tape, rests) = tape(&[(0, 0), (1, 0), (0, 0)]);
        tape.tracks[0].changes = changes(tape.tracks[0].changes.iter().skip(1));
        let edited = with_segments(&tape, &rests, &segments(&tape, &rests));
        assert_eq!(edited.tracks[0].changes.iter().collect::<Vec<_>>(), [(11, &[1][..]), (12, &[0])]);
    }

    #[test]
    fn clock_marks_and_expectations_follow_the_ticks() {
        let (mut tape, _) = tape(&[(0, 0); 10]);
        tape.clock = vec![ClockChange { tick: 13, timestep_ns: 5 }, ClockChange { tick: 18, timestep_ns: 6 }];
        tape.marks = [12, 14, 19].map(|tick| Mark { tick, text: String::new() }).into();
        tape.header.expectations = [12, 18].map(|tick| format!("tick {tick} A == 0")).into();
        let edited = without_ticks(&tape, &(12..15));
        assert_eq!(edited.tick_count(), 7);
        let clock = [ClockChange { tick: 12, timestep_ns: 5 }, ClockChange { tick: 15, timestep_ns: 6 }];
        assert_eq!(edited.clock, clock);
        assert_eq!(edited.marks.iter().map(|mark| mark.tick).collect::<Vec<_>>(), [12, 12, 16]);
        assert_eq!(ending_at(&edited, 17).header.expectations, ["tick 12 A == 0"]);
    }

    #[test]
    fn fields_go_to_rest_one_by_one() {
        let track = Track { name: "Steer".into(), schema: Arc::new(Steer::schema()), changes: Changes::default() };
        let known =
            [(TypeSpec { name: "Steer".into(), schema: track.schema.clone() }, encode_to_vec(&Steer::default()))];
        let rest = Rest::of(&track, &known);
        let simpler = simpler(&track.schema, &encode_to_vec(&Steer { x: -3, jump: true }), &rest);
        let expected = [Steer { x: 0, jump: true }, Steer { x: -3, jump: false }].map(|value| encode_to_vec(&value));
        assert_eq!(simpler.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>(), expected);
    }

    fn values() -> impl Strategy<Value = Vec<(u8, u8)>> {
        prop::collection::vec((0_u8..3, 0_u8..3), 1..40)
    }

    proptest! {
        #[test]
        fn all_segments_are_the_tape(values in values()) {
            let (tape, rests) = tape(&values);
            let edited = with_segments(&tape, &rests, &segments(&tape, &rests));
            prop_assert_eq!(all_seen(&edited), values);
            prop_assert!(change_count(&edited) <= change_count(&tape));
        }

        #[test]
        fn leaving_out_ticks_leaves_the_others(values in values(), from in 0_usize..40, count in 0_usize..40) {
            let (from, count) = (from.min(values.len()), count.min(values.len() - from.min(values.len())));
            let (tape, _) = tape(&values);
            let ticks = 10 + from as u64..10 + (from + count) as u64;
            let edited = without_ticks(&tape, &ticks);
            let left = [&values[..from], &values[from + count..]].concat();
            prop_assert_eq!(all_seen(&edited), left);
            prop_assert!(change_count(&edited) <= change_count(&tape));
        }

        #[test]
        fn stretches_cover_the_tape_and_are_constant(values in values()) {
            let (tape, _) = tape(&values);
            let mut at = 10;
            for stretch in stretches(&tape) {
                prop_assert_eq!(stretch.start, at);
                prop_assert!(!stretch.is_empty());
                prop_assert!(stretch.clone().all(|tick| (0..2).all(|track| seen(&tape, track, tick) == seen(&tape, track, at))));
                at = stretch.end;
            }
            prop_assert_eq!(at, tape.ticks().end);
        }
    }
}
