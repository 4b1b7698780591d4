//! What the recorder bar knows and decides. No egui, no files, no world.

use super::text::{RecorderText, clock, filled, grouped, size};
use crate::deck::DeckState;
use crate::import::{ImportSource, Imported};
use bevy_ecs::message::Message;
use bevy_replay_tape::{EndReason, Report, Tape};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Message: what the player wants of the recorder bar. Buttons and hotkeys write it; a game's own menu may, too.
#[derive(Message, Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecorderAction {
    /// Starts a recording, or ends the one that runs.
    ToggleRecording,
    /// Ends the recording or replay that runs.
    Stop,
    /// Takes the last seconds of play from the flight recorder, where the game has one.
    SaveLast,
    /// Sets a bookmark in the recording.
    Mark,
    /// Replays the tape at hand and compares, or ends the replay that runs.
    Replay,
    /// Asks where the tape at hand is to go.
    Export,
    /// Asks for a tape.
    Import,
    /// Asks for the name of a test that replays the tape at hand.
    MakeTest,
    /// Forgets the tape at hand; asked twice if it has no file yet.
    Discard,
    /// Opens the system's file dialog for the open entry.
    Browse,
    /// Carries out what the open entry asks.
    Submit,
    /// Closes the open entry.
    Cancel,
}

/// What is to be done about it, outside the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    /// Into a new file in this folder.
    Record(PathBuf),
    SaveFlight,
    Stop,
    Mark(String),
    Play(Arc<Tape>),
    Work(Job),
}

/// Work on files and dialogs, away from the game's thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Job {
    Save { tape: Arc<Tape>, path: PathBuf },
    Open(ImportSource),
    MakeTest { tape: Arc<Tape>, tests: PathBuf, name: String, game: String },
    PickTarget { path: PathBuf },
    PickSource { folder: PathBuf },
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Saved { tape: Arc<Tape>, path: PathBuf },
    NotSaved { error: String },
    Opened { source: ImportSource, tape: Arc<Tape> },
    NotOpened { error: String },
    TestWritten(Imported),
    NoTestWritten { error: String },
    Picked(Option<PathBuf>),
}

/// The tape that can be replayed and exported.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AtHand {
    pub(super) tape: Arc<Tape>,
    /// Where it is kept; `None` if it would be lost.
    name: Option<String>,
}

/// An entry that waits for the player.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prompt {
    pub(super) kind: PromptKind,
    pub(super) entry: String,
    /// Whether it was opened just now, so that it takes the keyboard.
    pub(super) is_new: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    Export,
    Import,
    Test,
}

/// Message: what the recorder bar tells the player, for games that show or log it in their own way, too.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
pub struct RecorderToast {
    /// What is told, from [`RecorderText`].
    pub text: String,
    /// Whether something went wrong.
    pub is_error: bool,
}

/// A line that goes away by itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Toast {
    pub(super) told: RecorderToast,
    left: Duration,
}

/// How long a toast stays: long enough to read a path, and to copy an error.
const TOAST: Duration = Duration::from_secs(8);
const ERROR_TOAST: Duration = Duration::from_secs(20);
/// Older ones go when there are more.
const TOASTS_MAX: usize = 4;

/// What the bar works with.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// Where tapes go unless the player says otherwise.
    pub(super) folder: PathBuf,
    /// The game's name, for files.
    pub(super) game: String,
    /// The folder of tests, where tests may be made, and the game as a Rust expression.
    pub(super) tests: Option<(PathBuf, String)>,
    /// How many seconds the flight recorder keeps, where there is one.
    pub(super) flight_seconds: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) settings: Settings,
    pub(super) text: RecorderText,
    pub(super) deck: DeckState,
    /// Length of a tick, for showing time.
    pub(super) timestep: Duration,
    pub(super) at_hand: Option<AtHand>,
    pub(super) prompt: Option<Prompt>,
    pub(super) toasts: Vec<Toast>,
    /// Toasts that the game was not told of yet.
    pub(super) news: Vec<RecorderToast>,
    /// How many jobs are at work.
    pub(super) jobs: usize,
    marks: u32,
    /// How many names were suggested, so that two exports do not get the same.
    exports: u32,
    discard_asked: bool,
}

impl Model {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Decides what is to be done about an action.
    pub(super) fn act(&mut self, action: RecorderAction) -> Option<Order> {
        let discard_asked = core::mem::take(&mut self.discard_asked);
        match action {
            RecorderAction::ToggleRecording if self.is_recording() => Some(Order::Stop),
            RecorderAction::ToggleRecording => {
                self.make_way()?;
                self.prompt = None;
                self.marks = 0;
                Some(Order::Record(self.settings.folder.clone()))
            }
            RecorderAction::SaveLast => {
                self.settings.flight_seconds?;
                self.make_way()?;
                Some(Order::SaveFlight)
            }
            RecorderAction::Stop => self.is_busy().then_some(Order::Stop),
            RecorderAction::Mark if self.is_recording() => {
                self.marks += 1;
                let number: &dyn ToString = &self.marks;
                let text = filled(&self.text.mark_text, &[("number", number)]);
                let told = filled(&self.text.marked, &[("number", number)]);
                self.tell(told);
                Some(Order::Mark(text))
            }
            RecorderAction::Mark => self.refuse(self.text.not_recording.to_string()),
            RecorderAction::Replay if self.is_replaying() => Some(Order::Stop),
            RecorderAction::Replay => {
                let tape = self.free_tape()?;
                self.prompt = None;
                Some(Order::Play(tape))
            }
            RecorderAction::Discard => {
                let tape = self.free_tape()?;
                if self.has_unsaved() && !discard_asked {
                    self.discard_asked = true;
                    let ticks = grouped(tape.tick_count());
                    return self.refuse(filled(&self.text.really_discard, &[("ticks", &ticks)]));
                }
                let told = if self.has_unsaved() { &self.text.discarded } else { &self.text.put_aside };
                let told = told.to_string();
                (self.at_hand, self.prompt) = (None, None);
                self.tell(told);
                None
            }
            RecorderAction::Export => {
                self.free_tape()?;
                let file = match self.exports {
                    0 => format!("{}.tape", self.settings.game),
                    more => format!("{}-{}.tape", self.settings.game, more + 1),
                };
                self.ask(PromptKind::Export, self.settings.folder.join(file).display().to_string())
            }
            RecorderAction::Import => {
                self.make_way()?;
                self.ask(PromptKind::Import, String::new())
            }
            RecorderAction::MakeTest => {
                self.free_tape()?;
                self.settings.tests.as_ref()?;
                self.ask(PromptKind::Test, String::new())
            }
            RecorderAction::Browse => {
                let prompt = self.prompt.as_ref()?;
                let job = match prompt.kind {
                    PromptKind::Export => Job::PickTarget { path: prompt.entry.trim().into() },
                    PromptKind::Import => Job::PickSource { folder: self.settings.folder.clone() },
                    PromptKind::Test => return None,
                };
                self.start(job)
            }
            RecorderAction::Submit => self.submit(),
            RecorderAction::Cancel => {
                self.prompt = None;
                None
            }
        }
    }

    fn submit(&mut self) -> Option<Order> {
        let Prompt { kind, entry, .. } = self.prompt.as_ref()?;
        let entry = entry.trim();
        if entry.is_empty() || self.jobs > 0 {
            return None;
        }
        let job = match kind {
            PromptKind::Export => Job::Save { tape: self.at_hand.as_ref()?.tape.clone(), path: entry.into() },
            PromptKind::Import => Job::Open(ImportSource::from_entry(entry)),
            PromptKind::Test => {
                let (tests, game) = self.settings.tests.clone()?;
                Job::MakeTest { tape: self.at_hand.as_ref()?.tape.clone(), tests, name: entry.into(), game }
            }
        };
        self.start(job)
    }

    /// Takes what a job has brought. Where it failed, the entry stays open for another try.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.jobs = self.jobs.saturating_sub(1);
        match outcome {
            Outcome::Saved { tape, path } => {
                if let Some(at_hand) = self.at_hand.as_mut().filter(|at_hand| Arc::ptr_eq(&at_hand.tape, &tape)) {
                    at_hand.name = Some(file_name(&path));
                }
                self.exports += 1;
                self.close(PromptKind::Export);
                self.tell(filled(&self.text.saved, &[("path", &path.display())]));
            }
            Outcome::Opened { source, tape } => {
                let name = match &source {
                    ImportSource::Path(path) => file_name(path),
                    ImportSource::Text(_) | ImportSource::Tape(_) => self.text.pasted.to_string(),
                };
                let ticks = grouped(tape.tick_count());
                self.tell(filled(&self.text.loaded, &[("name", &name), ("ticks", &ticks)]));
                self.close(PromptKind::Import);
                if self.has_unsaved() {
                    // Recorded while the file was read: the file can be opened again, the recording cannot be made again.
                    self.refuse(self.text.unsaved_first.to_string());
                } else {
                    self.at_hand = Some(AtHand { tape, name: Some(name) });
                }
            }
            Outcome::TestWritten(Imported { test, .. }) => {
                self.close(PromptKind::Test);
                self.tell(filled(&self.text.test_written, &[("path", &test.display())]));
            }
            Outcome::Picked(Some(path)) => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.entry = path.display().to_string();
                }
            }
            Outcome::Picked(None) => _ = self.refuse(self.text.nothing_picked.to_string()),
            Outcome::NotSaved { error } => _ = self.refuse(filled(&self.text.not_saved, &[("error", &error)])),
            Outcome::NotOpened { error } => _ = self.refuse(filled(&self.text.not_opened, &[("error", &error)])),
            Outcome::NoTestWritten { error } => {
                _ = self.refuse(filled(&self.text.no_test_written, &[("error", &error)]));
            }
        }
    }

    /// The deck has a new recording, whoever asked for it.
    pub(super) fn recorded(&mut self, tape: Arc<Tape>) {
        let reason = tape.end.reason;
        let ticks = grouped(tape.tick_count());
        if reason == EndReason::Stopped {
            self.tell(filled(&self.text.recorded, &[("ticks", &ticks)]));
        } else {
            let reason = tape.end.reason_text();
            self.refuse(filled(&self.text.ended_early, &[("ticks", &ticks), ("reason", &reason)]));
        }
        self.at_hand = Some(AtHand { tape, name: None });
    }

    /// The file of the recording is finished.
    pub(super) fn saved(&mut self, path: &Path) {
        if let Some(at_hand) = self.at_hand.as_mut().filter(|at_hand| at_hand.name.is_none()) {
            at_hand.name = Some(file_name(path));
        }
        self.tell(filled(&self.text.saved, &[("path", &path.display())]));
    }

    /// The deck has ended a replay.
    pub(super) fn replayed(&mut self, report: &Report) {
        let report_text = report.to_string();
        let answer = report_text.lines().next().unwrap_or_default();
        let told = filled(&self.text.replayed, &[("answer", &answer)]);
        if report.is_verified() { self.tell(told) } else { _ = self.refuse(told) }
    }

    /// The deck has refused a request.
    pub(super) fn refused(&mut self, error: &str) {
        _ = self.refuse(filled(&self.text.refused, &[("error", &error)]));
    }

    /// Lets toasts grow old.
    pub(super) fn pass(&mut self, time: Duration) {
        for toast in &mut self.toasts {
            toast.left = toast.left.saturating_sub(time);
        }
        self.toasts.retain(|toast| !toast.left.is_zero());
    }

    pub(super) fn is_recording(&self) -> bool {
        matches!(self.deck, DeckState::Recording { .. })
    }

    pub(super) fn is_replaying(&self) -> bool {
        matches!(self.deck, DeckState::Replaying { .. })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.deck != DeckState::Idle
    }

    /// Whether a recording would be lost.
    pub(super) fn has_unsaved(&self) -> bool {
        self.at_hand.as_ref().is_some_and(|at_hand| at_hand.name.is_none())
    }

    /// The bar's one line about what is going on.
    pub(super) fn status(&self) -> Option<String> {
        let time = |ticks: u64| clock(self.timestep.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX)));
        match self.deck {
            DeckState::Recording { tick_count, size_bytes } => Some(filled(
                &self.text.recording,
                &[("time", &time(tick_count)), ("ticks", &grouped(tick_count)), ("size", &size(size_bytes))],
            )),
            DeckState::Replaying { tick_count, tick_count_max } => Some(filled(
                &self.text.replaying,
                &[("tick", &grouped(tick_count)), ("ticks", &grouped(tick_count_max))],
            )),
            DeckState::Idle => {
                let AtHand { tape, name } = self.at_hand.as_ref()?;
                let ticks = tape.tick_count();
                let name = name.as_deref().unwrap_or(&self.text.unsaved);
                Some(filled(&self.text.at_hand, &[("name", &name), ("ticks", &grouped(ticks)), ("time", &time(ticks))]))
            }
        }
    }

    /// The tape at hand, where the deck is free for it; otherwise says why not.
    fn free_tape(&mut self) -> Option<Arc<Tape>> {
        let text = match &self.at_hand {
            _ if self.is_busy() => &self.text.stop_first,
            Some(at_hand) => return Some(at_hand.tape.clone()),
            None => &self.text.no_tape,
        };
        let text = text.to_string();
        self.refuse(text);
        None
    }

    /// Returns whether another tape may take the place of the one at hand; otherwise says why not.
    fn make_way(&mut self) -> Option<()> {
        let text = if self.is_busy() {
            &self.text.stop_first
        } else if self.has_unsaved() {
            &self.text.unsaved_first
        } else {
            return Some(());
        };
        let text = text.to_string();
        self.refuse(text);
        None
    }

    fn ask(&mut self, kind: PromptKind, entry: String) -> Option<Order> {
        self.prompt = Some(Prompt { kind, entry, is_new: true });
        None
    }

    fn close(&mut self, kind: PromptKind) {
        self.prompt.take_if(|prompt| prompt.kind == kind);
    }

    fn start(&mut self, job: Job) -> Option<Order> {
        self.jobs += 1;
        Some(Order::Work(job))
    }

    fn tell(&mut self, text: String) {
        self.toast(RecorderToast { text, is_error: false });
    }

    /// Says why something cannot be done.
    fn refuse(&mut self, text: String) -> Option<Order> {
        self.toast(RecorderToast { text, is_error: true });
        None
    }

    fn toast(&mut self, told: RecorderToast) {
        self.news.push(told.clone());
        self.toasts.retain(|old| old.told != told);
        let left = if told.is_error { ERROR_TOAST } else { TOAST };
        self.toasts.push(Toast { told, left });
        let surplus = self.toasts.len().saturating_sub(TOASTS_MAX);
        self.toasts.drain(..surplus);
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
