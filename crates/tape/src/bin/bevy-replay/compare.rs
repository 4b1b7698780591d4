//! `bevy-replay check` and `bevy-replay diff`

use crate::output::{Answer, Failure, grouped, printable};
use bevy_replay_tape::{EndReason, Expectation, Tape, TapeLimits, Verdict};
use serde_json::json;
use std::path::PathBuf;

/// Checks a tape against itself: checksums, values, digests of what is recorded, expectations
///
/// The first line begins with `sound`, `unfinished`, `damaged`, `failed` or `unverified`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: bevy-replay check boss_fight.tape\n\nExit codes: 0 = sound, 1 = damaged, unfinished, or not what it says, 2 = it could not be read, or has no values for what was asked"
)]
pub(crate) struct Check {
    /// The tape
    tape: PathBuf,
    /// Also checks an expectation: `tick 300 [sim:4] Player.on_ground == false`
    #[arg(long, value_name = "LINE")]
    expect: Vec<String>,
    /// Writes JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        let given = self.expect.iter().map(|line| line.parse::<Expectation>());
        let given: Vec<Expectation> =
            given.collect::<Result<_, _>>().map_err(|error| Failure::NoAnswer(error.to_string()))?;
        let (word, lines) = match crate::tape(&self.tape, limits) {
            Ok(tape) => look(&tape, &given),
            Err(Failure::Damaged(text)) => ("damaged", vec![text]),
            Err(failure) => return Err(failure),
        };
        let text = match self.json {
            true => format!("{}\n", json!({ "verdict": word, "lines": lines })),
            false => format!("{word}: {}\n", lines.join("\n  ")),
        };
        match word {
            "unverified" => Err(Failure::NoAnswer(printable(text.trim_end()))),
            _ => Ok(Answer::text(printable(&text)).only_if(word == "sound")),
        }
    }
}

/// Returns the verdict, and what there is to say of it.
fn look(tape: &Tape, given: &[Expectation]) -> (&'static str, Vec<String>) {
    let mut wrong = Vec::new();
    let mut image = tape.initial.clone();
    let mut digests = 0_u64;
    for tick in tape.ticks() {
        if !tape.step_image(&mut image, tick) {
            break;
        }
        let (Some(image), Some(root)) = (&image, tape.root_after(tick)) else { continue };
        digests += 1;
        let found = image.digest().root;
        if found != root {
            wrong.push(format!("the values after tick {tick} have the digest {found:016X}, the tape says {root:016X}"));
            break;
        }
    }
    let (mut met, mut open, mut unanswered) = (0_u64, Vec::new(), false);
    let on_tape = tape.header.expectations.iter().map(|line| line.parse::<Expectation>());
    let on_tape = on_tape.filter_map(|line| line.map_err(|error| wrong.push(error.to_string())).ok());
    let on_tape: Vec<Expectation> = on_tape.collect();
    let asked = given.iter().map(|expectation| (expectation, true));
    for (expectation, is_asked) in on_tape.iter().map(|expectation| (expectation, false)).chain(asked) {
        match tape.image_after(expectation.tick()).map(|image| expectation.check(&image)) {
            None => {
                open.push(format!("{expectation}: the tape has no values there (play it to see)"));
                unanswered |= is_asked;
            }
            Some(Ok(())) => met += 1,
            Some(Err(error)) => wrong.push(error.to_string()),
        }
    }
    let mut lines = vec![format!("{} ticks, id {}", grouped(tape.tick_count()), tape.id())];
    if digests > 0 {
        lines.push(format!("{} digests agree with the values", grouped(digests)));
    }
    if met > 0 {
        lines.push(format!("{} expectations met", grouped(met)));
    }
    lines.extend(open);
    if !wrong.is_empty() {
        return ("failed", wrong);
    }
    match tape.end.reason {
        _ if unanswered => ("unverified", lines),
        EndReason::Unfinished => ("unfinished", lines),
        _ => ("sound", lines),
    }
}

/// Compares two tapes; the first is what is expected
///
/// The first line begins with `verified`, `diverged` or `unverified`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: bevy-replay diff before.tape after.tape\n\nExit codes: 0 = equal, 1 = they differ, 2 = nothing could be compared, or a tape could not be read"
)]
pub(crate) struct Diff {
    /// What is expected
    expected: PathBuf,
    /// What is compared with it
    got: PathBuf,
    /// Shows all differences, and the bits of floats
    #[arg(long)]
    all: bool,
    /// Writes JSON
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(crate) fn run(self, limits: TapeLimits) -> Result<Answer, Failure> {
        let (expected, got) = (crate::tape(&self.expected, limits)?, crate::tape(&self.got, limits)?);
        let report = expected.diff(&got);
        let text = if self.all { format!("{report:#}") } else { report.to_string() };
        if report.verdict == Verdict::Unverified && expected.tick_count() > 0 {
            return Err(Failure::NoAnswer(text));
        }
        let text = match self.json {
            true => json!({
                "verdict": report.verdict.to_string(),
                "first_divergence": report.first_divergence(),
                "ticks": [report.ticks.0, report.ticks.1],
                "compared": report.compared,
                "report": text,
            })
            .to_string(),
            false => printable(&text),
        };
        Ok(Answer::text(format!("{}\n", text.trim_end())).only_if(report.verdict != Verdict::Diverged))
    }
}
