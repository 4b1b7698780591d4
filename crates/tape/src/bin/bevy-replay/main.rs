//! Reads, checks and changes tapes of any game.

mod change;
mod compare;
mod dump;
mod info;
mod output;

use bevy_replay_tape::{Package, PackageError, Tape, TapeError, TapeLimits};
use clap::{Parser, Subcommand};
use output::{Answer, Failure};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reads, checks and changes the tapes that bevy_replay records, of any game.
///
/// A tape may have any form: the file of a recorder, text (RON), or JSON. `-` is the standard input.
#[derive(Parser)]
#[command(
    name = "bevy-replay",
    version,
    after_help = "Exit codes: 0 = sound or equal, 1 = the answer is no, 2 = no answer"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Largest file that is read, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// Largest tape once unpacked, in bytes
    #[arg(long, global = true, value_name = "BYTES")]
    max_unpacked_bytes: Option<u64>,
    /// Most ticks that are read
    #[arg(long, global = true, value_name = "TICKS")]
    max_ticks: Option<u64>,
}

#[derive(Subcommand)]
enum Command {
    Info(info::Info),
    Check(compare::Check),
    Dump(dump::Dump),
    ToText(change::ToText),
    ToTape(change::ToTape),
    Diff(compare::Diff),
    Cut(change::Cut),
    Recover(change::Recover),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_help = !error.use_stderr();
            // Where nobody reads the help any more there is nothing left to say.
            let _ = error.print();
            return ExitCode::from(if is_help { 0 } else { 2 });
        }
    };
    let mut limits = TapeLimits::default();
    limits.bytes = arguments.max_bytes.unwrap_or(limits.bytes);
    limits.unpacked_bytes = arguments.max_unpacked_bytes.unwrap_or(limits.unpacked_bytes);
    limits.ticks = arguments.max_ticks.unwrap_or(limits.ticks);
    let answer = match arguments.command {
        Command::Info(command) => command.run(limits),
        Command::Check(command) => command.run(limits),
        Command::Dump(command) => command.run(limits),
        Command::ToText(command) => command.run(limits),
        Command::ToTape(command) => command.run(limits),
        Command::Diff(command) => command.run(limits),
        Command::Cut(command) => command.run(limits),
        Command::Recover(command) => command.run(limits),
    };
    output::finish(answer)
}

/// Reads the bytes of a file, or of the standard input.
fn bytes(path: &Path, limits: TapeLimits) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let io = |error| Failure::NoAnswer(format!("{}: {error}", path.display()));
    let source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(path).map_err(io)?),
    };
    let mut bytes = Vec::new();
    // One byte more than the limit is enough to refuse a file without end.
    source.take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Reads a tape.
fn tape(path: &Path, limits: TapeLimits) -> Result<Tape, Failure> {
    read(path, &bytes(path, limits)?, limits)
}

/// Reads a tape; a package that was changed is none.
fn read(path: &Path, bytes: &[u8], limits: TapeLimits) -> Result<Tape, Failure> {
    match core::str::from_utf8(bytes).ok().filter(|text| Package::is_package(text)) {
        Some(text) => match Package::from_text_limited(text, limits) {
            Ok(package) => Ok(package.into_tape()),
            Err(PackageError::Tape(error)) => Err(bad(path, &error)),
            Err(error) => Err(Failure::Damaged(format!("{}: {error}", path.display()))),
        },
        None => Tape::from_bytes_limited(bytes, limits).map_err(|error| bad(path, &error)),
    }
}

/// Says why a file is no sound tape.
fn bad(path: &Path, error: &TapeError) -> Failure {
    let text = format!("{}: {error}", path.display());
    match error {
        TapeError::Io { .. }
        | TapeError::OverLimit { .. }
        | TapeError::NotATape { .. }
        | TapeError::NewerFormat { .. }
        | TapeError::OlderFormat { .. } => Failure::NoAnswer(text),
        _ => Failure::Damaged(text),
    }
}

/// Where a changed tape goes.
#[derive(clap::Args)]
struct Target {
    /// New file; its name says the form (`.ron`, `.txt`: text, `.json`: JSON, else binary). Never overwrites
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Target {
    /// Writes a tape into the file, or to the standard output in a form.
    fn write(&self, tape: &Tape, form: Form) -> Result<Answer, Failure> {
        let Some(path) = &self.output else { return Ok(Answer::bytes(form.write(tape))) };
        let is = |extension: &str| path.extension().is_some_and(|found| found == extension);
        let written = match is("json") {
            true => std::fs::File::create_new(path).and_then(|mut file| {
                use std::io::Write;
                file.write_all(&Form::Json.write(tape))
            }),
            false => {
                return match tape.save(path) {
                    Ok(()) => Ok(Answer::text(format!("wrote {}: {} ticks\n", path.display(), tape.tick_count()))),
                    Err(error) => Err(Failure::NoAnswer(error.to_string())),
                };
            }
        };
        written.map_err(|error| Failure::NoAnswer(format!("{}: {error}", path.display())))?;
        Ok(Answer::text(format!("wrote {}: {} ticks\n", path.display(), tape.tick_count())))
    }
}

/// How a tape is written.
#[derive(Clone, Copy)]
enum Form {
    Binary,
    Text,
    Json,
}

impl Form {
    fn write(self, tape: &Tape) -> Vec<u8> {
        match self {
            Self::Binary => tape.to_bytes(),
            Self::Text => tape.to_text().into_bytes(),
            Self::Json => format!("{}\n", tape.to_json()).into_bytes(),
        }
    }
}
