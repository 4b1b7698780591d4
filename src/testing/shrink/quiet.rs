//! Panics that are looked for: caught, remembered, and not printed a thousand times.

use core::cell::{Cell, RefCell};
use core::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Component, Path};
use std::sync::Once;

/// A panic, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Panicked {
    /// `src/game.rs:12:5`; unknown for a panic on another thread.
    place: Option<String>,
    /// The first line of its message.
    message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "panicked at {place}: {}", self.message),
            None => write!(f, "panicked: {}", self.message),
        }
    }
}

impl Panicked {
    /// What two panics share if they are the same: all but the numbers in the message.
    pub(super) fn kind(&self) -> String {
        let mut kind = self.place.clone().unwrap_or_default();
        for letter in self.message.chars() {
            match letter {
                '0'..='9' if kind.ends_with('#') => {}
                '0'..='9' => kind.push('#'),
                _ => kind.push(letter),
            }
        }
        kind
    }
}

thread_local! {
    static IS_ATTEMPT: Cell<bool> = const { Cell::new(false) };
    /// The first of the running attempt: those that follow come of it.
    static FIRST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

/// Whether this thread is in an attempt.
pub(crate) fn is_attempt() -> bool {
    IS_ATTEMPT.get()
}

/// Runs what may panic. Neither panics nor logs of this thread are printed meanwhile.
pub(super) fn attempt<R>(run: impl FnOnce() -> R) -> Result<R, Panicked> {
    install_hook();
    FIRST.take();
    let was_attempt = IS_ATTEMPT.replace(true);
    let silent = tracing::subscriber::NoSubscriber::default();
    let result = catch_unwind(AssertUnwindSafe(|| tracing::subscriber::with_default(silent, run)));
    IS_ATTEMPT.set(was_attempt);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        FIRST.take().unwrap_or_else(|| Panicked { place: None, message: first_line(text) })
    })
}

/// One hook for the whole process; it hands on what it does not know.
fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Where a panic ends the process its message is the last word.
            if cfg!(panic = "unwind") && is_attempt() {
                remember(info);
            } else {
                before(info);
            }
        }));
    });
}

fn remember(info: &PanicHookInfo<'_>) {
    let place = |location: &core::panic::Location<'_>| {
        format!("{}:{}:{}", without_folders(location.file()), location.line(), location.column())
    };
    FIRST.with_borrow_mut(|first| {
        let message = first_line(info.payload_as_str());
        first.get_or_insert(Panicked { place: info.location().map(place), message });
    });
}

fn first_line(text: Option<&str>) -> String {
    text.and_then(|text| text.lines().next()).unwrap_or("a panic without a message").to_owned()
}

/// Leaves out where on this machine a crate lies: tapes are handed on.
fn without_folders(file: &str) -> String {
    let path = Path::new(file);
    if path.is_relative() {
        return file.replace('\\', "/");
    }
    let parts: Vec<_> = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let sources = parts.iter().rposition(|part| part.as_os_str() == "src");
    let from = sources.unwrap_or(parts.len().saturating_sub(1)).saturating_sub(1);
    parts[from..].iter().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_panic_of_an_attempt_is_the_one() {
        let panicked = attempt(|| {
            let inner = catch_unwind(|| panic!("tick {}\nand more", 12));
            assert!(inner.is_err());
            panic!("a system has panicked");
        });
        let panicked = panicked.map(|never: ()| never).unwrap_err();
        assert_eq!(panicked.message, "tick 12");
        assert!(panicked.to_string().starts_with("panicked at src/testing/shrink/quiet.rs:"), "{panicked}");
        assert!(panicked.kind().ends_with("tick #"), "{}", panicked.kind());
        assert!(!is_attempt());
    }

    #[test]
    fn what_another_thread_panicked_with_is_known_by_its_message() {
        let panicked = attempt(|| std::panic::resume_unwind(Box::new("far away")));
        assert_eq!(panicked.map(|never: ()| never).unwrap_err().to_string(), "panicked: far away");
    }

    #[test]
    fn paths_of_this_machine_stay_on_it() {
        assert_eq!(without_folders("src/game.rs"), "src/game.rs");
        #[cfg(unix)]
        {
            let registry = "/home/ann/.cargo/registry/src/index/bevy_ecs-0.20.1/src/world/mod.rs";
            assert_eq!(without_folders(registry), "bevy_ecs-0.20.1/src/world/mod.rs");
            assert_eq!(without_folders("/home/ann/game/examples/demo.rs"), "examples/demo.rs");
        }
    }
}
