//! `bevy-replay to-text`, `to-tape`, `cut` and `recover`

use crate::output::{Answer, Failure, grouped, printable};
use crate::{Form, Target};
use bevy_replay_tape::{Recovered, Tape, TapeLimits};
use std::path::PathBuf;

const EXIT_CODES: &str = "Exit codes: 0 = written, 1 = the tape is damaged, 2 = it could not be read or written";

/// Writes a tape as text (RON): one line per change, to be read, edited or pasted
#[derive(clap::Args)]
#[command(after_help = format!("Example: bevy-replay to-text boss_fight.tape -o boss_fight.ron\n\n{EXIT_CODES}"))]
pub(crate) struct ToText {
    /// The tape
    tape: PathBuf,
    #[command(flatten)]
    target: Target,
}

impl ToText {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        self.target.write(&crate::tape(&self.tape, limits)?, Form::Text)
    }
}

/// Writes text or JSON as a tape
#[derive(clap::Args)]
#[command(after_help = format!("Example: bevy-replay to-tape boss_fight.ron -o boss_fight.tape\n\n{EXIT_CODES}"))]
pub(crate) struct ToTape {
    /// Text that `to-text` wrote, JSON that `dump --json` wrote, or any tape
    tape: PathBuf,
    #[command(flatten)]
    target: Target,
}

impl ToTape {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        self.target.write(&crate::tape(&self.tape, limits)?, Form::Binary)
    }
}

/// Keeps some of the ticks of a tape
#[derive(clap::Args)]
#[command(after_help = format!("Example: bevy-replay cut boss_fight.tape --to 500 -o start.tape\n\n{EXIT_CODES}"))]
pub(crate) struct Cut {
    /// The tape
    tape: PathBuf,
    /// First tick to keep; needs recorded values [default: the tape's first]
    #[arg(long, value_name = "TICK")]
    from: Option<u64>,
    /// The tick after the last to keep [default: the tape's end]
    #[arg(long, value_name = "TICK")]
    to: Option<u64>,
    #[command(flatten)]
    target: Target,
}

impl Cut {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        let tape = crate::tape(&self.tape, limits)?;
        let all = tape.ticks();
        let part = tape.cut(self.from.unwrap_or(all.start)..self.to.unwrap_or(all.end));
        let part = part.map_err(|error| Failure::NoAnswer(format!("{}: {error}", self.tape.display())))?;
        self.target.write(&part, Form::Binary)
    }
}

/// Reads as many ticks of a damaged or unfinished tape as are whole, and writes them as a tape
#[derive(clap::Args)]
#[command(
    after_help = "Example: bevy-replay recover boss_fight.tape.partial -o boss_fight.tape\n\nExit codes: 0 = written, 1 = nothing can be recovered, 2 = it could not be read or written"
)]
pub(crate) struct Recover {
    /// The tape
    tape: PathBuf,
    #[command(flatten)]
    target: Target,
}

impl Recover {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        let bytes = crate::bytes(&self.tape, limits)?;
        let recovered = Tape::recover(&bytes, limits).map_err(|error| crate::bad(&self.tape, &error))?;
        let Recovered { tape, damage, lost_bytes } = recovered;
        let written = self.target.write(&tape, Form::Binary)?;
        let Some(path) = &self.target.output else { return Ok(written) };
        let damage = damage.map_or_else(String::new, |damage| format!("  {damage}\n"));
        Ok(Answer::text(printable(&format!(
            "recovered {} ticks into {}, {} bytes lost\n{damage}",
            grouped(tape.tick_count()),
            path.display(),
            grouped(lost_bytes)
        ))))
    }
}
