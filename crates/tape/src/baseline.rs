//! Baselines: a scenario's digests as a small text, to be committed beside the code that makes them.
//!
//! ```text
//! # candy/whole_game
//! schema=1
//! scenario=candy/whole_game
//! os=linux
//! arch=x86_64
//! game=candy
//! rules=1
//! digest=1
//! snapshot_count=30
//! seed=12345
//! ticks=1800
//! snapshot_first=60
//! snapshot_interval=60
//! timestep_ns=15625000
//! inputs=idle
//! param=ability ThunderRing
//! type=Enemy 5C1F8A64E1B3D2A7
//! commit=1a2b3c4
//! reason=the first baseline
//! ---
//! 60:C6202871EAEDBD4B
//! ```
//!
//! A line `type=` has the digest of a type after the last tick. A line `n:HASH` is the root digest after n ticks.

use crate::image::DIGEST_VERSION;
use core::fmt;
use core::str::FromStr;
use std::collections::BTreeSet;

/// Version of the text. One that says another is of no use to this version: it must be approved anew.
pub const BASELINE_SCHEMA: u32 = 1;

/// The digests of one scenario on one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Baseline {
    /// Version of the text.
    pub schema: u32,
    /// Which scenario.
    pub scenario: String,
    /// Operating system, as `linux`.
    pub os: String,
    /// Processor, as `x86_64`.
    pub arch: String,
    /// Which game.
    pub game: String,
    /// Which rules of it.
    pub rules: u32,
    /// Version of the rules that make a digest.
    pub digest_version: u32,
    /// The master seed.
    pub seed: u64,
    /// How many ticks were run.
    pub ticks: u64,
    /// After how many ticks the first digest was taken.
    pub snapshot_first: u64,
    /// How many ticks lie between two digests.
    pub snapshot_interval: u64,
    /// Length of a tick in nanoseconds.
    pub timestep_ns: u64,
    /// What the ticks read: `idle`, `scripted` or `synthetic`, with a fingerprint where there is one.
    pub inputs: String,
    /// What else makes the scenario: name and value.
    pub params: Vec<(String, String)>,
    /// Authoritative types and their digests after the last tick.
    pub types: Vec<(String, u64)>,
    /// Commit of the code that made it; empty if unknown.
    pub commit: String,
    /// Why it was approved.
    pub reason: String,
    /// Digests: after so many ticks, the root.
    pub snapshots: Vec<(u64, u64)>,
}

/// Why a text is no baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// It is there, and cannot be read.
    #[error("the baseline cannot be read: {reason} (take it from version control, or approve it anew)")]
    Unreadable {
        /// What the system says.
        reason: String,
    },
    /// It is of another version.
    #[error("the baseline has schema {schema}, this version reads schema {BASELINE_SCHEMA}")]
    OtherSchema {
        /// Its version.
        schema: u32,
    },
    /// A line cannot be read.
    #[error(
        "line {line} of the baseline is no {expected}: `{text}` (take it from version control, or approve it anew)"
    )]
    BadLine {
        /// Number of the line, from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        text: String,
    },
    /// A line is not there.
    #[error("the baseline has no line `{key}=` (take it from version control, or approve it anew)")]
    MissingLine {
        /// Its key.
        key: &'static str,
    },
    /// There are more or fewer digests than it says.
    #[error("the baseline says {expected} digests and has {got} (take it from version control, or approve it anew)")]
    WrongCount {
        /// What it says.
        expected: u64,
        /// How many there are.
        got: u64,
    },
}

/// The answer of a comparison of two baselines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaselineAnswer {
    /// All digests are equal.
    Equal,
    /// They were not made by the same scenario: what differs, in words.
    Incomparable(Vec<String>),
    /// A digest differs.
    Differs(BaselineDifference),
}

/// Where two baselines part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaselineDifference {
    /// After how many ticks the first digest differs.
    pub tick: u64,
    /// The digest that was expected.
    pub expected: u64,
    /// The digest that came.
    pub got: u64,
    /// After how many ticks the last equal digest before it was taken.
    pub agreeing: Option<u64>,
    /// From which digest on all are equal again, if they are.
    pub healed_at: Option<u64>,
    /// How many digests differ.
    pub different: usize,
    /// Types whose digests after the last tick differ.
    pub types: Vec<String>,
}

impl Baseline {
    /// Makes a baseline of this machine, without digests.
    #[must_use]
    pub fn new(scenario: impl Into<String>) -> Self {
        Self {
            schema: BASELINE_SCHEMA,
            scenario: scenario.into(),
            os: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
            game: String::new(),
            rules: 0,
            digest_version: DIGEST_VERSION,
            seed: 0,
            ticks: 0,
            snapshot_first: 0,
            snapshot_interval: 0,
            timestep_ns: 0,
            inputs: String::new(),
            params: Vec::new(),
            types: Vec::new(),
            commit: String::new(),
            reason: String::new(),
            snapshots: Vec::new(),
        }
    }

    /// Returns `x86_64-linux`.
    #[must_use]
    pub fn platform(&self) -> String {
        format!("{}-{}", self.arch, self.os)
    }

    /// Returns whether both have the same digests, whoever made them and why.
    #[must_use]
    pub fn same_digests(&self, other: &Self) -> bool {
        self.snapshots == other.snapshots && self.types == other.types
    }

    /// Compares with what was made later or elsewhere; `self` is what is expected.
    #[must_use]
    pub fn compare(&self, got: &Self) -> BaselineAnswer {
        let differences = self.settings_that_differ(got);
        if !differences.is_empty() {
            return BaselineAnswer::Incomparable(differences);
        }
        let pairs = || self.snapshots.iter().zip(&got.snapshots);
        let differs = |pair: &(&(u64, u64), &(u64, u64))| pair.0 != pair.1;
        let Some(first) = pairs().position(|pair| differs(&pair)) else { return BaselineAnswer::Equal };
        let last = pairs().rposition(|pair| differs(&pair)).unwrap_or(first);
        BaselineAnswer::Differs(BaselineDifference {
            tick: self.snapshots[first].0,
            expected: self.snapshots[first].1,
            got: got.snapshots[first].1,
            agreeing: first.checked_sub(1).map(|before| self.snapshots[before].0),
            healed_at: self.snapshots.get(last + 1).map(|snapshot| snapshot.0),
            different: pairs().filter(differs).count(),
            types: self.types.iter().zip(&got.types).filter(|(a, b)| a.1 != b.1).map(|(a, _)| a.0.clone()).collect(),
        })
    }

    fn settings_that_differ(&self, got: &Self) -> Vec<String> {
        let Self {
            schema: _, // another one cannot be read at all
            os: _,
            arch: _,
            commit: _,
            reason: _,
            snapshots,
            scenario,
            game,
            rules,
            digest_version,
            seed,
            ticks,
            snapshot_first,
            snapshot_interval,
            timestep_ns,
            inputs,
            params,
            types,
        } = self;
        let text = |params: &[(String, String)]| {
            params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
        };
        let rows = [
            ("scenario", scenario.clone(), got.scenario.clone()),
            ("game", game.clone(), got.game.clone()),
            ("rules", rules.to_string(), got.rules.to_string()),
            ("digest version", digest_version.to_string(), got.digest_version.to_string()),
            ("seed", seed.to_string(), got.seed.to_string()),
            ("ticks", ticks.to_string(), got.ticks.to_string()),
            ("first snapshot", snapshot_first.to_string(), got.snapshot_first.to_string()),
            ("snapshot interval", snapshot_interval.to_string(), got.snapshot_interval.to_string()),
            ("snapshots", snapshots.len().to_string(), got.snapshots.len().to_string()),
            ("length of a tick", format!("{timestep_ns} ns"), format!("{} ns", got.timestep_ns)),
            ("inputs", inputs.clone(), got.inputs.clone()),
            ("parameters", text(params), text(&got.params)),
        ];
        let differs = rows.into_iter().filter(|(_, a, b)| a != b);
        let mut found: Vec<String> = differs.map(|(what, a, b)| format!("{what}: baseline {a}, now {b}")).collect();
        let names =
            |types: &'_ [(String, u64)]| -> BTreeSet<String> { types.iter().map(|row| row.0.clone()).collect() };
        let (before, now) = (names(types), names(&got.types));
        found.extend(now.difference(&before).map(|name| format!("type {name}: not in the baseline")));
        found.extend(before.difference(&now).map(|name| format!("type {name}: only in the baseline")));
        found
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What users write is one line each.
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Self { schema, scenario, os, arch, game, rules, digest_version, seed, ticks, .. } = self;
        writeln!(f, "# {scenario}\nschema={schema}\nscenario={scenario}\nos={os}\narch={arch}\ngame={}", line(game))?;
        writeln!(f, "rules={rules}\ndigest={digest_version}\nsnapshot_count={}", self.snapshots.len())?;
        writeln!(f, "seed={seed}\nticks={ticks}\nsnapshot_first={}", self.snapshot_first)?;
        writeln!(f, "snapshot_interval={}\ntimestep_ns={}", self.snapshot_interval, self.timestep_ns)?;
        writeln!(f, "inputs={}", line(&self.inputs))?;
        for (name, value) in &self.params {
            writeln!(f, "param={} {}", line(name).replace(' ', "_"), line(value))?;
        }
        for (name, digest) in &self.types {
            writeln!(f, "type={name} {digest:016X}")?;
        }
        writeln!(f, "commit={}\nreason={}\n---", line(&self.commit), line(&self.reason))?;
        self.snapshots.iter().try_for_each(|(tick, root)| writeln!(f, "{tick}:{root:016X}"))
    }
}

/// One line of a text, where it stands.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn bad(self, expected: &'static str) -> BaselineError {
        BaselineError::BadLine { line: self.number, expected, text: self.text.into() }
    }

    fn number<T: FromStr>(self, text: &str) -> Result<T, BaselineError> {
        text.trim().parse().map_err(|_| self.bad("number that fits"))
    }

    fn digest(self, text: &str) -> Result<u64, BaselineError> {
        let is_digest = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
        let digest = is_digest.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        digest.ok_or_else(|| self.bad("digest of 16 hex digits"))
    }
}

impl FromStr for Baseline {
    type Err = BaselineError;

    fn from_str(text: &str) -> Result<Self, BaselineError> {
        let lines = text.lines().zip(1..).map(|(text, number)| Line { number, text: text.trim_end() });
        let mut lines = lines.filter(|line| !line.text.is_empty() && !line.text.starts_with('#'));
        let mut baseline = Self::new("");
        let mut count = 0;
        let mut missing: BTreeSet<&'static str> = KEYS.into();
        for line in lines.by_ref() {
            if line.text == "---" {
                break;
            }
            let (key, value) = line.text.split_once('=').ok_or_else(|| line.bad("`key=value`"))?;
            missing.remove(key);
            match key {
                "schema" => {
                    baseline.schema = line.number(value)?;
                    if baseline.schema != BASELINE_SCHEMA {
                        return Err(BaselineError::OtherSchema { schema: baseline.schema });
                    }
                }
                "scenario" => baseline.scenario = value.into(),
                "os" => baseline.os = value.into(),
                "arch" => baseline.arch = value.into(),
                "game" => baseline.game = value.into(),
                "rules" => baseline.rules = line.number(value)?,
                "digest" => baseline.digest_version = line.number(value)?,
                "snapshot_count" => count = line.number(value)?,
                "seed" => baseline.seed = line.number(value)?,
                "ticks" => baseline.ticks = line.number(value)?,
                "snapshot_first" => baseline.snapshot_first = line.number(value)?,
                "snapshot_interval" => baseline.snapshot_interval = line.number(value)?,
                "timestep_ns" => baseline.timestep_ns = line.number(value)?,
                "inputs" => baseline.inputs = value.into(),
                "param" => {
                    let (name, value) = value.split_once(' ').unwrap_or((value, ""));
                    baseline.params.push((name.into(), value.into()));
                }
                "type" => {
                    let (name, digest) = value.rsplit_once(' ').ok_or_else(|| line.bad("type and digest"))?;
                    baseline.types.push((name.into(), line.digest(digest)?));
                }
                "commit" => baseline.commit = value.into(),
                "reason" => baseline.reason = value.into(),
                _ => return Err(line.bad("line that this version knows")),
            }
        }
        if let Some(key) = missing.into_iter().next() {
            return Err(BaselineError::MissingLine { key });
        }
        for line in lines {
            let (tick, root) = line.text.split_once(':').ok_or_else(|| line.bad("`tick:digest`"))?;
            let (tick, root) = (line.number(tick)?, line.digest(root)?);
            if baseline.snapshots.last().is_some_and(|last: &(u64, u64)| last.0 >= tick) {
                return Err(line.bad("later tick than the line before"));
            }
            baseline.snapshots.push((tick, root));
        }
        let got = baseline.snapshots.len() as u64;
        if got != count {
            return Err(BaselineError::WrongCount { expected: count, got });
        }
        Ok(baseline)
    }
}

/// Lines that each baseline has, whatever else it has.
const KEYS: [&str; 16] = [
    "schema",
    "scenario",
    "os",
    "arch",
    "game",
    "rules",
    "digest",
    "snapshot_count",
    "seed",
    "ticks",
    "snapshot_first",
    "snapshot_interval",
    "timestep_ns",
    "inputs",
    "commit",
    "reason",
];
