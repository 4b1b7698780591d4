//! The flight recorder: the last seconds of play, always at hand.
//!
//! It is a row of short recordings, each with the state at its beginning. The oldest is dropped when the others are
//! long enough; together they are a tape that starts in the middle of a game.

use super::recorder::{Detail, Recorder, RecorderLimits};
use bevy_replay_tape::{ClockChange, EndReason, Header, Image, Tape};
use std::collections::VecDeque;
#[cfg(feature = "file")]
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, Weak};

/// How much of the past the flight recorder keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightRecorder {
    /// At least so many seconds of play, where there were as many. Default: 30.
    pub seconds: u32,
    /// Most bytes in memory, about; reached, less is kept. Default: 16 MiB.
    pub bytes: u64,
    /// Where tapes are saved on request, when a replay diverges, and when the game panics; the ten youngest are kept.
    /// Default: none, they are in [`Deck::tape`](crate::Deck::tape) only.
    #[cfg(feature = "file")]
    pub folder: Option<PathBuf>,
}

impl Default for FlightRecorder {
    fn default() -> Self {
        Self {
            seconds: 30,
            bytes: 16 << 20,
            #[cfg(feature = "file")]
            folder: None,
        }
    }
}

/// So many parts make up the seconds.
const PARTS: u64 = 3;
/// Ticks between two digests; parts are of whole intervals.
pub(crate) const ROOT_INTERVAL: u64 = 64;
/// How many saved tapes are kept in a folder.
#[cfg(feature = "file")]
const KEPT_MAX: usize = 10;

pub(crate) struct Flight {
    settings: FlightRecorder,
    parts: VecDeque<Recorder>,
}

impl Flight {
    pub(crate) fn new(settings: FlightRecorder) -> Arc<Mutex<Self>> {
        let flight = Arc::new(Mutex::new(Self { settings, parts: VecDeque::new() }));
        watch_for_panics(&flight);
        flight
    }

    /// Whether a part begins with this tick, so that the state before it is needed.
    pub(crate) fn begins_part(&self, timestep_ns: u64) -> bool {
        let seconds = u64::from(self.settings.seconds.max(1));
        let ticks = (seconds * 1_000_000_000).div_ceil(timestep_ns.max(1) * (PARTS - 1));
        let part_max = ticks.next_multiple_of(ROOT_INTERVAL);
        let size_max = self.settings.bytes / PARTS;
        self.parts.back().is_none_or(|part| {
            let (ticks, size) = (part.tape.tick_count(), part.size_bytes());
            ticks.is_multiple_of(ROOT_INTERVAL) && ticks > 0 && (ticks >= part_max || size > size_max)
        })
    }

    /// Begins a part at a state.
    pub(crate) fn begin_part(&mut self, mut header: Header, image: Image) {
        header.root_interval = ROOT_INTERVAL;
        self.parts.push_back(Recorder::new(header, image, Detail::Roots, RecorderLimits { ticks: 0, bytes: u64::MAX }));
        let size = |parts: &VecDeque<Recorder>| parts.iter().map(Recorder::size_bytes).sum::<u64>();
        while self.parts.len() > 1 && (self.parts.len() as u64 > PARTS || size(&self.parts) > self.settings.bytes) {
            self.parts.pop_front();
        }
    }

    /// The recording of the running tick.
    pub(crate) fn part(&mut self) -> Option<&mut Recorder> {
        self.parts.back_mut()
    }

    /// Whether the state after the running tick is wanted.
    pub(crate) fn wants_state(&self) -> bool {
        self.parts.back().is_some_and(|part| (part.tape.tick_count() + 1).is_multiple_of(ROOT_INTERVAL))
    }

    /// Forgets everything: what comes next does not follow from it.
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
    }

    /// All that is kept, as one tape.
    pub(crate) fn tape(&self, reason: EndReason) -> Option<Tape> {
        let mut parts = self.parts.iter().map(|part| &part.tape);
        let mut tape = parts.next()?.clone();
        for part in parts {
            let end = tape.ticks().end;
            for (track, more) in tape.tracks.iter_mut().zip(&part.tracks) {
                for (tick, value) in more.changes.iter().filter(|(tick, _)| *tick >= end) {
                    track.changes.record(tick, value);
                }
            }
            if part.header.timestep_ns != tape.timestep_ns(end) {
                tape.clock.push(ClockChange { tick: end, timestep_ns: part.header.timestep_ns });
            }
            tape.clock.extend(&part.clock);
            tape.digests.roots.extend(&part.digests.roots);
            tape.marks.extend(part.marks.iter().cloned());
            tape.end.tick_count += part.end.tick_count;
        }
        tape.end.reason = reason;
        Some(tape)
    }

    #[cfg(feature = "file")]
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.settings.folder.as_deref()
    }
}

/// The name of the files, and of what is pruned.
#[cfg(feature = "file")]
pub(crate) fn file_stem(game: &str) -> String {
    format!("{game}-flight")
}

/// Deletes the oldest of our own files beyond those that are kept.
#[cfg(feature = "file")]
pub(crate) fn prune(folder: &Path, game: &str, is_before: bool) {
    let stem = format!("{}-", super::file::safe_name(&file_stem(game)));
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let ours = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let number = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".tape"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let modified = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let mut ours: Vec<PathBuf> = ours.collect();
    ours.sort_by_key(|path| (modified(path), path.clone()));
    // One more is on its way.
    let extra = (ours.len() + usize::from(is_before)).saturating_sub(KEPT_MAX);
    for path in ours.iter().take(extra) {
        if let Err(error) = std::fs::remove_file(path) {
            tracing::warn!("{} could not be deleted: {error}", path.display());
        }
    }
}

/// The flight recorders of this process.
static FLIGHTS: Mutex<Vec<Weak<Mutex<Flight>>>> = Mutex::new(Vec::new());

/// Saves what was recorded when the game panics, before it unwinds; a file is written only where there is a folder.
fn watch_for_panics(flight: &Arc<Mutex<Flight>>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_attempt() {
                save_all();
            }
            before(info);
        }));
    });
    if let Ok(mut flights) = FLIGHTS.lock() {
        flights.retain(|flight| flight.strong_count() > 0);
        flights.push(Arc::downgrade(flight));
    }
}

/// Whether this panic is looked for, as it is when a tape is shrunk.
fn is_attempt() -> bool {
    #[cfg(feature = "testing")]
    return crate::testing::shrink::is_attempt();
    #[cfg(not(feature = "testing"))]
    false
}

/// Never waits for a lock: the thread that panics may hold it.
fn save_all() {
    let Ok(flights) = FLIGHTS.try_lock() else { return };
    for flight in flights.iter().filter_map(Weak::upgrade) {
        if let Ok(flight) = flight.try_lock() {
            save_crash(&flight);
        }
    }
}

#[cfg(feature = "file")]
fn save_crash(flight: &Flight) {
    let (Some(folder), Some(tape)) = (flight.folder(), flight.tape(EndReason::Unfinished)) else { return };
    match super::file::save_new(folder, &file_stem(&tape.header.game), &tape) {
        Ok(path) => {
            tracing::error!("the game has panicked; the last seconds are in {}", path.display());
            prune(folder, &tape.header.game, false);
        }
        Err(error) => tracing::error!("the game has panicked; its last seconds could not be saved: {error}"),
    }
}

#[cfg(not(feature = "file"))]
fn save_crash(_: &Flight) {}
