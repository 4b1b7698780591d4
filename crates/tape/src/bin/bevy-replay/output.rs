//! What a command says, and its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// What goes to the standard output, and whether the answer is yes.
pub(crate) struct Answer {
    out: Vec<u8>,
    yes: bool,
}

/// Why there is no output.
pub(crate) enum Failure {
    /// The tape is damaged: the answer is no.
    Damaged(String),
    /// Usage, a file that cannot be read or written, a tape that is refused.
    NoAnswer(String),
}

impl Answer {
    pub(crate) fn text(out: String) -> Self {
        Self { out: out.into_bytes(), yes: true }
    }

    pub(crate) fn bytes(out: Vec<u8>) -> Self {
        Self { out, yes: true }
    }

    /// Turns the answer into a no where that does not hold.
    pub(crate) fn only_if(self, yes: bool) -> Self {
        Self { yes: self.yes && yes, ..self }
    }
}

pub(crate) fn finish(answer: Result<Answer, Failure>) -> ExitCode {
    let (text, code) = match answer {
        Ok(Answer { out, yes }) => {
            let mut stdout = io::stdout().lock();
            return match stdout.write_all(&out).and_then(|()| stdout.flush()) {
                Ok(()) => ExitCode::from(u8::from(!yes)),
                // Who has read enough has not failed.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(u8::from(!yes)),
                Err(error) => say(&format!("the output cannot be written: {error}"), 2),
            };
        }
        Err(Failure::Damaged(text)) => (format!("damaged: {text}"), 1),
        Err(Failure::NoAnswer(text)) => (text, 2),
    };
    say(&text, code)
}

fn say(text: &str, code: u8) -> ExitCode {
    // Where it cannot be said the exit code says it.
    let _ = writeln!(io::stderr(), "bevy-replay: {}", printable(text));
    ExitCode::from(code)
}

/// Replaces what would steer a terminal: names on a tape may hold anything.
pub(crate) fn printable(text: &str) -> String {
    let shown = |letter: char| letter == '\n' || !letter.is_control();
    text.chars().map(|letter| if shown(letter) { letter } else { '\u{fffd}' }).collect()
}

/// Groups thousands: `9,117`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8_lossy(&groups.join(&b',')).into_owned()
}

/// Returns a size for people: `93.4 KB`.
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", grouped(bytes / unit), bytes % unit * 10 / unit);
    match bytes {
        ..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} KB", tenths(1000)),
        _ => format!("{} MB", tenths(1_000_000)),
    }
}

/// Returns a length of time for people: `2 min 30 s`.
pub(crate) fn length(nanos: u128) -> String {
    let millis = nanos / 1_000_000;
    let (hours, minutes, seconds) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}.{:02} s", millis % 1000 / 10),
        (0, _) => format!("{minutes} min {seconds} s"),
        _ => format!("{hours} h {minutes} min {seconds} s"),
    }
}
