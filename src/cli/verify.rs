//! `verify`: do the tapes hold?

use super::{CliError, Exit, note, say, tapes, write};
use crate::testing::Game;
use crate::testing::examine::{Answer, Examined, Limits, examine};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Tapes, and folders of tapes
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How many tapes are played at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Play only the k-th of n parts of all tapes, as 2/5
    #[arg(long)]
    shard: Option<String>,
    /// Write the results as JUnit XML
    #[arg(long)]
    junit: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Play no tape of more ticks
    #[arg(long)]
    ticks_max: Option<u64>,
    /// Give a tape up after so many seconds
    #[arg(long)]
    seconds_max: Option<u64>,
}

/// One result, as JSON.
#[derive(Serialize)]
struct Row<'a> {
    path: String,
    answer: String,
    ticks: u64,
    text: &'a str,
    claims: Vec<ClaimRow<'a>>,
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    name: &'a str,
    claimed: Option<&'a str>,
    replayed: Option<&'a str>,
}

pub(super) fn run(game: &Game, arguments: &Arguments) -> Result<Exit, CliError> {
    let mut paths = tapes(&arguments.paths)?;
    if let Some(shard) = &arguments.shard {
        paths = part_of(paths, shard)?;
    }
    let limits = Limits {
        ticks_max: arguments.ticks_max,
        time_max: arguments.seconds_max.map(Duration::from_secs),
        any_rules: false,
    };
    let examined = examine_all(game, &paths, limits, arguments.jobs);
    if arguments.json {
        let path = "the results".to_owned();
        let rows: Vec<Row<'_>> = examined.iter().map(row).collect();
        say(serde_json::to_string_pretty(&rows).map_err(|error| CliError::Json { path, error })?);
    } else {
        examined.iter().for_each(print);
    }
    if let Some(path) = &arguments.junit {
        let text = junit(&examined).to_string();
        let text = text.map_err(|error| CliError::Junit { path: path.display().to_string(), error })?;
        write(path, text.as_bytes())?;
    }
    let count = |wanted: Answer| examined.iter().filter(|tape| tape.answer == wanted).count();
    let (verified, unanswered) = (count(Answer::Verified), count(Answer::Unjudged));
    note(format!("{verified} of {} tapes verified", examined.len()));
    Ok(if verified + unanswered < examined.len() {
        Exit::No
    } else if unanswered > 0 {
        Exit::NoAnswer
    } else {
        Exit::Yes
    })
}

/// Returns the k-th of n parts: each n-th tape, so that long neighbours are spread.
fn part_of(paths: Vec<PathBuf>, shard: &str) -> Result<Vec<PathBuf>, CliError> {
    let numbers = shard.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    let (k, n): (usize, usize) =
        numbers.filter(|(k, n)| (1..=*n).contains(k)).ok_or_else(|| CliError::BadShard { shard: shard.into() })?;
    Ok(paths.into_iter().skip(k - 1).step_by(n).collect())
}

/// Plays the tapes, so many at a time; results are in the order of the paths.
fn examine_all(game: &Game, paths: &[PathBuf], limits: Limits, jobs: usize) -> Vec<Examined> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(paths.len()));
    let work = || {
        while let Some((index, path)) = take(&next, paths) {
            let examined = examine(game, path, limits);
            if let Ok(mut results) = results.lock() {
                results.push((index, examined));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.clamp(1, paths.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|result| result.0);
    results.into_iter().map(|result| result.1).collect()
}

fn take<'a>(next: &AtomicUsize, paths: &'a [PathBuf]) -> Option<(usize, &'a Path)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    paths.get(index).map(|path| (index, &**path))
}

fn print(tape: &Examined) {
    let Examined { path, answer, ticks, text, claims } = tape;
    say(format_args!("{answer:<13}  {}  {ticks} ticks", path.display()));
    for claim in claims {
        say(format_args!("  claim {claim}"));
    }
    if *answer != Answer::Verified {
        text.lines().for_each(|line| say(format_args!("  {line}").to_string().trim_end()));
    }
}

fn row(tape: &Examined) -> Row<'_> {
    let claims = tape.claims.iter().map(|claim| ClaimRow {
        name: &claim.name,
        claimed: claim.claimed.as_deref(),
        replayed: claim.replayed.as_deref(),
    });
    Row {
        path: tape.path.display().to_string(),
        answer: tape.answer.to_string(),
        ticks: tape.ticks,
        text: &tape.text,
        claims: claims.collect(),
    }
}

fn junit(examined: &[Examined]) -> Report {
    let mut suite = TestSuite::new("tapes");
    for tape in examined {
        let status = match tape.answer {
            Answer::Verified => TestCaseStatus::success(),
            Answer::Diverged
            | Answer::ClaimsDiffer
            | Answer::ExpectationFailed
            | Answer::Damaged
            | Answer::Unfinished => failed(NonSuccessKind::Failure, tape),
            Answer::Unjudged => failed(NonSuccessKind::Error, tape),
        };
        suite.add_test_case(TestCase::new(tape.path.display().to_string(), status));
    }
    let mut report = Report::new("replays");
    report.add_test_suite(suite);
    report
}

fn failed(kind: NonSuccessKind, tape: &Examined) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(tape.answer.to_string()).set_description(&*tape.text);
    status
}
