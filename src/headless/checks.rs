//! Whether a game can be gone back in: checks that play a tape in ways that must not matter.

use super::{Headless, ReplayError, TapeSource, TimeTravel};
use crate::deck::PlayOptions;
use crate::state::suspects;
use bevy_replay_tape::{Digests, Image, Start, Tape};
use core::fmt;
use std::sync::Arc;

/// State that a game has besides the image: where it shows first, and what may hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leak {
    /// The 0-based tick whose run made the difference.
    pub tick: u64,
    /// The first difference, with both values, where it is known.
    pub difference: Option<String>,
    /// What may hold the state.
    pub suspects: String,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}", self.tick)?;
        if let Some(difference) = &self.difference {
            write!(f, ", {difference}")?;
        }
        write!(f, ": state outside the image{}", self.suspects)
    }
}

/// A game after straight playback: the root after each tick, and the state after some.
pub(crate) struct Straight {
    pub(crate) roots: Vec<u64>,
    images: Vec<Image>,
    /// The state that the game itself starts from.
    #[cfg(feature = "testing")]
    pub(crate) initial: Option<Image>,
    #[cfg(feature = "testing")]
    pub(crate) game: Headless,
}

impl Headless {
    /// Plays a tape, and each time so many ticks have run puts the state into a game made anew, which must go on in
    /// the same way. `None` if it does.
    ///
    /// A game that passes can be recorded from any tick, and joined by others in the middle.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be played.
    pub fn rejoin(make: impl Fn() -> Self, tape: impl TapeSource, every: u64) -> Result<Option<Leak>, ReplayError> {
        let tape = tape.tape()?;
        let every = every.max(1);
        let straight = make().straight(&tape, every)?;
        for image in &straight.images {
            let part = part_from(&tape, image, &straight.roots, every);
            let mut game = make();
            // Whatever rules the tape was made with: the states it is compared with are this game's own.
            game.begin(&Arc::new(part.clone()), PlayOptions { forget: true, force: true, ..PlayOptions::verify() })?;
            game.drive(part.ticks().end)?;
            let report = game.finished_report(&part)?;
            if let Some(tick) = report.divergence.as_ref().and_then(|found| found.tick) {
                let difference = first_difference(&make, &tape, &part, tick)?;
                let suspects = game.with(|world, runtime| suspects(world, runtime));
                return Ok(Some(Leak { tick, difference, suspects }));
            }
        }
        Ok(None)
    }

    /// Plays a tape twice in this process, in games made anew: what the first leaves behind (statics, caches, files)
    /// must not matter to the second. `None` if it does not.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be played.
    pub fn twice(make: impl Fn() -> Self, tape: impl TapeSource) -> Result<Option<Leak>, ReplayError> {
        let tape = tape.tape()?;
        let first = make().straight(&tape, u64::MAX)?.roots;
        let second = make().straight(&tape, u64::MAX)?.roots;
        let differs = first.iter().zip(&second).position(|(a, b)| a != b);
        Ok(differs.map(|index| Leak {
            tick: tape.header.tick_first + index as u64,
            difference: None,
            suspects: "; suspects: statics, thread-locals, files".into(),
        }))
    }

    /// Goes to ticks of a tape at random, and compares each with straight playback. `None` if all are the same.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be played.
    pub fn seeks(
        make: impl Fn() -> Self + Clone + 'static,
        tape: impl TapeSource,
        count: u32,
        seed: u64,
    ) -> Result<Option<Leak>, ReplayError> {
        let tape = tape.tape()?;
        let straight = make().straight(&tape, u64::MAX)?.roots;
        let mut travel = TimeTravel::new(make, &tape)?;
        let mut state = seed;
        for _ in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            travel.seek(tape.header.tick_first + (state >> 33) % (tape.tick_count() + 1))?;
            if let Some(found) = travel.hidden_state() {
                return Ok(Some(leak_of(found, travel.tick())));
            }
            let index = usize::try_from(travel.tick() - tape.header.tick_first).unwrap_or(usize::MAX);
            let expected = index.checked_sub(1).and_then(|last| straight.get(last).copied());
            if expected.is_some_and(|root| travel.digest().ok() != Some(root)) {
                return Ok(Some(leak_of("", travel.tick().saturating_sub(1))));
            }
        }
        Ok(None)
    }

    /// Plays a tape from its start; keeps the state each time so many ticks have run.
    pub(crate) fn straight(mut self, tape: &Arc<Tape>, every: u64) -> Result<Straight, ReplayError> {
        let ticks = tape.ticks();
        self.begin(tape, PlayOptions::inputs_only().held())?;
        let mut images = Vec::new();
        let mut next = ticks.start.saturating_add(every);
        while next < ticks.end {
            self.drive(next)?;
            images.push(self.with(|_, runtime| runtime.capturer.image.clone()));
            next = next.saturating_add(every);
        }
        self.drive(ticks.end)?;
        let roots = self.with(|_, runtime| runtime.history.as_ref().map(|history| history.roots().to_vec()));
        Ok(Straight {
            roots: roots.unwrap_or_default(),
            images,
            #[cfg(feature = "testing")]
            initial: self.with(|_, runtime| runtime.initial.take()),
            #[cfg(feature = "testing")]
            game: self,
        })
    }
}

fn leak_of(found: &str, here: u64) -> Leak {
    let number = |text: &str| text.strip_prefix("tick ")?.split(' ').next()?.parse().ok();
    let suspects = found.split_once("; suspects").map(|(_, rest)| format!("; suspects{rest}")).unwrap_or_default();
    Leak { tick: number(found).unwrap_or(here), difference: None, suspects }
}

/// The tape from a state on, up to the next one.
fn part_from(tape: &Tape, image: &Image, roots: &[u64], every: u64) -> Tape {
    let mut part = tape.clone();
    let skipped = image.tick - tape.header.tick_first;
    part.header.elapsed_ns = tape.elapsed_ns(image.tick);
    part.header.timestep_ns = tape.timestep_ns(image.tick);
    part.clock.retain(|change| change.tick > image.tick);
    (part.header.start, part.header.tick_first, part.header.root_interval) = (Start::Image, image.tick, 1);
    part.initial = Some(image.clone());
    part.values.clear();
    part.end.tick_count = every.min(tape.tick_count() - skipped);
    let from = usize::try_from(skipped).unwrap_or(usize::MAX);
    let count = usize::try_from(part.end.tick_count).unwrap_or(usize::MAX);
    let roots = roots.iter().skip(from).take(count).copied().collect();
    part.digests = Digests { roots, ..Digests::default() };
    part
}

/// What differs after a tick between straight playback and a game that was joined.
fn first_difference(
    make: &impl Fn() -> Headless,
    tape: &Arc<Tape>,
    part: &Tape,
    tick: u64,
) -> Result<Option<String>, ReplayError> {
    let image_of = |tape: &Arc<Tape>| -> Result<Image, ReplayError> {
        let mut game = make();
        game.begin(tape, PlayOptions::inputs_only().held())?;
        game.drive(tick + 1)?;
        Ok(game.with(|_, runtime| runtime.capturer.image.clone()))
    };
    let (expected, got) = (image_of(tape)?, image_of(&Arc::new(part.clone()))?);
    let row = expected.diff(&got).into_iter().next();
    Ok(row.map(|row| format!("{} {} / {}", row.place(), row.expected, row.got)))
}
