//! Writes a recording to a file while the game runs, on a thread of its own.

use super::DeckError;
use bevy_replay_tape::{Header, Image, Tape, TapePart, TapeStream};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How many parts may wait to be written: half a minute of play at 64 Hz. A tick never waits for the disk.
const PARTS_WAITING_MAX: usize = 64;

/// Most recordings in one folder.
const NUMBER_MAX: u32 = 99_999;

/// A recording on its way into a file.
pub(crate) struct TapeWriter {
    path: PathBuf,
    /// Gone when the recording has ended.
    parts: Option<SyncSender<TapePart>>,
    /// The whole tape, once it has ended.
    finished: Arc<Mutex<Option<Arc<Tape>>>>,
    /// Returns the size of the finished file.
    thread: Option<JoinHandle<io::Result<u64>>>,
}

struct OnDisk(File);

impl Write for OnDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

/// What became of a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    Saved { path: PathBuf, size_bytes: u64 },
    Failed(DeckError),
}

/// Why a part could not be handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// So many parts are waiting that the disk must be too slow.
    TooSlow,
    /// The file could not be written.
    Failed,
}

impl TapeWriter {
    /// Begins a new file at `path`, or the next free number in that folder.
    pub(crate) fn begin(path: &Path, header: &Header, initial: &Image) -> Result<Self, DeckError> {
        Self::begin_named(path, &header.game, header, initial)
    }

    /// Begins a new file at `path`, or the next free number of that name in that folder.
    pub(crate) fn begin_named(path: &Path, name: &str, header: &Header, initial: &Image) -> Result<Self, DeckError> {
        let (path, file) = create(path, name)?;
        Self::start(path, OnDisk(file), header, initial)
    }

    /// Writes into `file`; a flush brings it to the disk.
    pub(super) fn start(
        path: PathBuf,
        mut file: impl Write + Send + 'static,
        header: &Header,
        initial: &Image,
    ) -> Result<Self, DeckError> {
        let (mut stream, start) = TapeStream::begin(header, Some(initial));
        let (parts, waiting) = sync_channel::<TapePart>(PARTS_WAITING_MAX);
        let finished = Arc::new(Mutex::new(None));
        let (target, tape) = (path.clone(), finished.clone());
        let work = move || -> io::Result<u64> {
            let mut ticks = 0;
            file.write_all(&start)?;
            for part in waiting {
                ticks += part.tick_count;
                file.write_all(&stream.append(&part))?;
            }
            let tape: Option<Arc<Tape>> = tape.lock().map_or(None, |mut tape| tape.take());
            let Some(tape) = tape else {
                file.flush()?; // the game has died; the partial file says all there is
                return Ok(0);
            };
            if ticks == tape.tick_count() {
                file.write_all(&stream.end(&tape.end))?;
            }
            file.flush()?;
            finish(&target, &tape)
        };
        let thread = std::thread::Builder::new().name("tape writer".into()).spawn(work);
        let thread = Some(thread.map_err(|error| failed(&path, &error))?);
        Ok(Self { path, parts: Some(parts), finished, thread })
    }

    /// Hands ticks over without waiting.
    pub(crate) fn append(&self, part: TapePart) -> Result<(), Refused> {
        let Some(parts) = &self.parts else { return Err(Refused::Failed) };
        parts.try_send(part).map_err(|error| match error {
            TrySendError::Full(_) => Refused::TooSlow,
            TrySendError::Disconnected(_) => Refused::Failed,
        })
    }

    /// Hands the last ticks over of a game that dies; waits for the disk.
    pub(crate) fn append_last(&self, part: TapePart) {
        if let Some(parts) = &self.parts {
            let _ = parts.send(part); // where the writer has given up it has said why
        }
    }

    /// Ends the recording; the file is finished while the game goes on.
    pub(crate) fn finish(&mut self, tape: Arc<Tape>) {
        if let Ok(mut finished) = self.finished.lock() {
            *finished = Some(tape);
        }
        self.parts = None;
    }

    /// Returns what became of the file, once that is known.
    pub(crate) fn outcome(&mut self) -> Option<Outcome> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        let died = |_| Err(io::Error::other("the thread that writes it has panicked"));
        Some(match thread.join().unwrap_or_else(died) {
            Ok(size_bytes) => Outcome::Saved { path: self.path.clone(), size_bytes },
            Err(error) => Outcome::Failed(failed(&self.path, &error)),
        })
    }
}

/// The file is brought to its end, also where the app is dropped at once.
impl Drop for TapeWriter {
    fn drop(&mut self) {
        self.parts = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // nobody is left to be told
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> DeckError {
    let partial = partial(path);
    let reason = match partial.exists() {
        true => format!("{error} (what was recorded is in {})", partial.display()),
        false => error.to_string(),
    };
    DeckError::File { path: path.display().to_string(), reason }
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Makes the partial file of a recording that has a free name.
fn create(path: &Path, game: &str) -> Result<(PathBuf, File), DeckError> {
    let is_folder = path.is_dir() || path.as_os_str().to_string_lossy().ends_with(['/', '\\']);
    if !is_folder {
        return create_file(path).map(|file| (path.into(), file)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => DeckError::File {
                path: path.display().to_string(),
                reason: "there is such a recording already, whole or partial (choose another name)".into(),
            },
            _ => failed(path, &error),
        });
    }
    fs::create_dir_all(path).map_err(|error| failed(path, &error))?;
    let game = safe_name(game);
    for number in 1..=NUMBER_MAX {
        let path = path.join(format!("{game}-{number:04}.tape"));
        match create_file(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    let reason = format!("it holds {NUMBER_MAX} recordings (move some away)");
    Err(DeckError::File { path: path.display().to_string(), reason })
}

/// A name that is one on each system.
pub(super) fn safe_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect()
}

/// Saves a tape under a free number of that name in a folder; waits for the disk.
pub(super) fn save_new(folder: &Path, name: &str, tape: &Tape) -> Result<PathBuf, DeckError> {
    let (path, file) = create(&folder.join(""), name)?;
    drop(file);
    finish(&path, tape).map_err(|error| {
        let _ = fs::remove_file(partial(&path)); // it is empty
        failed(&path, &error)
    })?;
    Ok(path)
}

/// Makes the partial file, unless it or the finished one is there.
fn create_file(path: &Path) -> io::Result<File> {
    if path.try_exists()? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    OpenOptions::new().write(true).create_new(true).open(partial(path))
}

/// Writes the finished tape and then deletes the partial one; returns the size.
fn finish(path: &Path, tape: &Tape) -> io::Result<u64> {
    tape.save(path).map_err(|error| match error {
        bevy_replay_tape::TapeError::Io { error, .. } => error,
        error => io::Error::other(error),
    })?;
    match fs::remove_file(partial(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok(fs::metadata(path)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deck::recorder::{Detail, Recorder, RecorderLimits};
    use bevy_replay_tape::{Digest, EndReason};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    /// A disk that writes nothing until it is told to.
    struct Stuck(mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the time that a tick waits is what is tested")]
    fn a_disk_that_is_too_slow_ends_the_tape_whole_and_no_tick_waits() -> Result<(), Box<dyn core::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.tape");
        let (go_on, stuck) = mpsc::channel();
        let header = Header::new("my_game");
        let mut recorder = Recorder::new(header.clone(), Image::default(), Detail::Roots, RecorderLimits::default());
        recorder.goes_into(TapeWriter::start(path.clone(), Stuck(stuck), &header, &Image::default())?);
        let mut waits = Vec::new();
        let reason = loop {
            recorder.begin_tick(waits.len() as u64, header.timestep_ns);
            let digest = Digest { root: waits.len() as u64, ..Digest::default() };
            let start = Instant::now();
            let ended = recorder.end_tick(&Image::default(), &digest, None);
            waits.push(start.elapsed());
            if let Some(reason) = ended {
                break reason;
            }
        };
        assert_eq!(reason, EndReason::WriterTooSlow);
        // One part is in the hands of the thread, so many wait, and the next one finds no room.
        let ticks = waits.len() as u64;
        assert!((64 * 32..=66 * 32).contains(&ticks), "{ticks}");
        waits.sort();
        let most = waits[waits.len() * 99 / 100];
        assert!(most < Duration::from_micros(100), "99 of 100 ticks wait for less than {most:?}");
        let (tape, writer) = recorder.finish(reason);
        assert_eq!((tape.tick_count(), tape.end.reason), (ticks, EndReason::WriterTooSlow));
        drop(go_on);
        drop(writer); // waits for the file
        assert_eq!(*tape, Tape::load(&path)?);
        Ok(())
    }
}
