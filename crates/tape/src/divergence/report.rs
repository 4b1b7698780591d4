//! The report as text. The first line alone is a useful answer.

use super::{Divergence, HeaderDifference, Later};
use crate::image::{Difference, Side};
use crate::value::Value;
use core::fmt;

/// What a replay or a comparison found.
///
/// Printed with `{}` it shows ten differences, with `{:#}` all of them and the bits of floats.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// The first tick that both sides have.
    pub tick_first: u64,
    /// How many ticks either side has from there on: expected, got.
    pub ticks: (u64, u64),
    /// How many ticks could be compared.
    pub compared: u64,
    /// The first difference.
    pub divergence: Option<Divergence>,
    /// What the headers disagree about.
    pub header_differences: Vec<HeaderDifference>,
    /// Which tape, and what made it.
    pub tape: String,
    /// What it was compared with.
    pub replayed_by: String,
    /// What else is worth knowing, as a NaN in the state.
    pub notes: Vec<String>,
}

/// The answer of a replay or a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// All digests agree.
    Verified,
    /// Two runs differ, or one is shorter.
    Diverged,
    /// Nothing could be compared, or a refusal was overridden.
    Unverified,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verified => "verified",
            Self::Diverged => "diverged",
            Self::Unverified => "unverified",
        })
    }
}

impl Report {
    /// Returns whether everything agrees.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.verdict == Verdict::Verified
    }

    /// Returns where the first difference is: `tick 97`, `before the first tick` or `none`.
    #[must_use]
    pub fn first_divergence(&self) -> String {
        match (&self.divergence, self.ticks) {
            (Some(found), _) => match found.tick {
                None => "before the first tick".into(),
                Some(tick) if found.tick_earliest < tick => format!("between tick {} and {tick}", found.tick_earliest),
                Some(tick) => format!("tick {tick}"),
            },
            (None, (a, b)) if a != b => format!("tick {}", self.tick_first + a.min(b)),
            _ => "none".into(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        let Some(found) = &self.divergence else { return hints };
        let rows = found.differences.as_deref().unwrap_or_default();
        let floats = rows.iter().any(|row| row.ulps().is_some());
        let differs = |field: &str| self.header_differences.iter().any(|row| row.field == field);
        if floats && (differs("target") || differs("features")) {
            hints.push(
                "floats differ and so do the targets or features: `f32::sin`, `cos`, `powf` and the like are not \
                 the same everywhere; use `bevy_math::ops` with the feature `libm`, or fixed-point numbers"
                    .into(),
            );
        }
        if found.tick.is_none() {
            hints.push(
                "the app starts from another state than the recording did: compare seed, level and start-up systems"
                    .into(),
            );
        }
        for (stream, excess) in found.streams.iter().filter_map(|stream| Some((stream, stream.excess()?))) {
            let draws = |count: i128| if count == 1 { "once".into() } else { format!("{count} times") };
            let drew = match excess {
                ..0 => format!("{} less", draws(-excess)),
                _ => format!("{} more", draws(excess)),
            };
            let when = if found.tick.is_some_and(|tick| tick == found.tick_earliest) { " in this tick" } else { "" };
            let name = &stream.name;
            hints.push(format!(
                "stream {name} drew {drew} than expected{when}; look for a draw that is new, gone or behind a condition"
            ));
        }
        if differs("game version") && found.tick.is_some() {
            hints.push(
                "the game's version changed; if its rules changed on purpose, raise `rules` and record anew".into(),
            );
        }
        hints
    }
}

/// Groups thousands: `9,117`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns `sim:12 "Goblin"`; nothing for a resource.
fn entity(row: &Difference, found: &Divergence) -> String {
    match row.sim_id.map(|id| (id, found.names.get(&id))) {
        Some((id, Some(name))) => format!("sim:{id} {name:?}"),
        Some((id, None)) => format!("sim:{id}"),
        None => String::new(),
    }
}

/// Letters of a value that are shown unless all are asked for.
const LETTERS_SHOWN: usize = 60;

/// Returns one side of a difference; `all` of it and with bits, or what fits a line.
fn side(side: &Side, all: bool) -> String {
    match side {
        Side::Value(Value::F32(raw)) if all => format!("{side} (0x{raw:08X})"),
        Side::Value(Value::F64(raw)) if all => format!("{side} (0x{raw:016X})"),
        _ => side.shown(if all { usize::MAX } else { LETTERS_SHOWN }),
    }
}

/// Types that the first line names, and systems of a line.
const TYPES_SHOWN: usize = 3;

/// One line: where, and what differs first. With `{:#}` values are shown whole, however long.
impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tick {
            None => f.write_str("diverged before the first tick: ")?,
            Some(tick) => {
                if self.tick_earliest < tick {
                    write!(f, "diverged between tick {} and tick {tick}", self.tick_earliest)?;
                } else {
                    write!(f, "diverged at tick {tick}")?;
                }
                if self.timestep_ns > 0 {
                    let hundredths = u128::from(tick) * u128::from(self.timestep_ns) / 10_000_000;
                    write!(f, " ({}.{:02} s)", hundredths / 100, hundredths % 100)?;
                }
                f.write_str(": ")?;
            }
        }
        let types = self.types.as_deref().unwrap_or_default();
        match (self.differences.as_deref(), types, self.roots) {
            (Some([row, others @ ..]), ..) => {
                let place = format!("{} {}{}", entity(row, self), row.type_name, row.path);
                let all = f.alternate();
                write!(f, "{} expected {} got {}", place.trim(), side(&row.expected, all), side(&row.got, all))?;
                if others.is_empty() { Ok(()) } else { write!(f, " (+{} more)", grouped(others.len() as u64)) }
            }
            (_, [name], _) => write!(f, "{name} differs"),
            (_, [_, ..], _) => {
                let (shown, others) = types.split_at(types.len().min(TYPES_SHOWN));
                f.write_str(&shown.join(", "))?;
                if !others.is_empty() {
                    write!(f, " and {}", counted(others.len() as u64, "more type"))?;
                }
                f.write_str(" differ")
            }
            (_, [], Some((expected, got))) => write!(f, "digest expected {expected:016X} got {got:016X}"),
            _ => f.write_str("the states differ"),
        }
    }
}

const ROWS_SHOWN: usize = 10;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_answer(f)?;
        if let Some(found) = &self.divergence {
            self.write_rows(f, found)?;
        }
        let lines = self.lines();
        if !lines.is_empty() {
            writeln!(f)?;
        }
        for (name, text) in &lines {
            write!(f, "\n  {name:<20} {text}")?;
        }
        for note in &self.notes {
            write!(f, "\n\n  note: {note}")?;
        }
        for hint in self.hints() {
            write!(f, "\n\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl Report {
    /// Writes the first line: the answer, and where and what differs first.
    fn write_answer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verdict == Verdict::Unverified {
            f.write_str("unverified: ")?;
        }
        let ticks = counted(self.ticks.1, "tick");
        match (&self.divergence, self.length(), self.verdict) {
            (Some(found), ..) if f.alternate() => write!(f, "{found:#}"),
            (Some(found), ..) => write!(f, "{found}"),
            (None, Some(length), _) => write!(f, "diverged at tick {}: {length}", self.tick_end()),
            (None, None, Verdict::Unverified) if self.compared == 0 => {
                write!(f, "replayed {ticks}, nothing on the tape to compare them with")
            }
            (None, None, Verdict::Unverified) => write!(f, "replayed {ticks}, 0 diverged"),
            (None, None, verdict) => write!(f, "{verdict}: replayed {ticks}, 0 diverged"),
        }?;
        let is_partly =
            self.divergence.is_none() && 0 < self.compared && self.compared < self.ticks.0.min(self.ticks.1);
        if is_partly { write!(f, " ({} could be compared)", grouped(self.compared)) } else { Ok(()) }
    }

    /// The tick at which the shorter side ends.
    fn tick_end(&self) -> u64 {
        self.tick_first + self.ticks.0.min(self.ticks.1)
    }

    /// Says which side is shorter, if one is.
    fn length(&self) -> Option<String> {
        let (expected, got) = self.ticks;
        let shorter = if expected < got { "the tape" } else { "the run" };
        let end = self.tick_first + expected.max(got);
        (expected != got).then(|| format!("{shorter} ends at tick {}, the other goes on to {end}", self.tick_end()))
    }

    /// What is known besides the answer and the values, line by line.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(found) = &self.divergence {
            lines.extend(found.lines());
            lines.extend(self.length().map(|length| ("length", length)));
            let origins = [("expected by", &self.tape), ("got from", &self.replayed_by)];
            lines.extend(origins.into_iter().filter(|row| !row.1.is_empty()).map(|(name, text)| (name, text.clone())));
        }
        if self.verdict != Verdict::Verified {
            let names = core::iter::once("headers differ in").chain(core::iter::repeat(""));
            let row = |row: &HeaderDifference| format!("{}: expected {}, got {}", row.field, row.expected, row.got);
            lines.extend(names.zip(self.header_differences.iter().map(row)));
        }
        if self.divergence.as_ref().is_some_and(|found| found.differences.is_none()) {
            let how = "record with `Detail::Values`, or compare with a second app";
            lines.push(("for field and values", how.into()));
        }
        lines
    }

    fn write_rows(&self, f: &mut fmt::Formatter<'_>, found: &Divergence) -> fmt::Result {
        let rows = found.differences.as_deref().unwrap_or_default();
        let all = f.alternate();
        let (shown, others) = rows.split_at(if all { rows.len() } else { rows.len().min(ROWS_SHOWN) });
        let cells: Vec<[String; 5]> = shown
            .iter()
            .map(|row| {
                let ulps = row.ulps().map(|ulps| format!("(float, {} ulp)", grouped(ulps))).unwrap_or_default();
                let field = format!("{}{}", row.type_name, row.path);
                [entity(row, found), field, side(&row.expected, all), side(&row.got, all), ulps]
            })
            .collect();
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (w0, w1, w2, w3) = (width(0), width(1), width(2), width(3));
        // A column that is empty in all rows takes no place.
        let (gap0, gap1) = (if w0 > 0 { "  " } else { "" }, if w1 > 0 { "  " } else { "" });
        if !cells.is_empty() {
            writeln!(f)?;
        }
        for [entity, field, expected, got, ulps] in &cells {
            let place = format!("{entity:<w0$}{gap0}{field:<w1$}{gap1}");
            let row = format!("  {place}expected  {expected:<w2$}  got  {got:<w3$}  {ulps}");
            write!(f, "\n{}", row.trim_end())?;
        }
        if !others.is_empty() {
            write!(f, "\n  and {} more (--all, or in code `{{:#}}`)", grouped(others.len() as u64))?;
        }
        Ok(())
    }
}

impl Divergence {
    /// What is known besides the values, line by line.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        match self.types.as_deref() {
            Some([]) if self.differences.is_none() => {
                lines.push((
                    "types that differ",
                    "none, so the entities themselves or the number of ticks differ".into(),
                ));
            }
            Some(types) if self.differences.is_none() => lines.push(("types that differ", types.join(", "))),
            _ => {}
        }
        lines.extend(self.first_wrong.as_ref().map(|found| ("first wrong system", found.to_string())));
        if !self.writers.is_empty() {
            let (shown, others) = self.writers.split_at(self.writers.len().min(TYPES_SHOWN));
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            lines.push(("can be written by", shown.join(", ") + &more));
        }
        lines.extend(self.written_at.clone().map(|place| ("last written at", place)));
        if !self.streams.is_empty() {
            lines.push(("streams", self.streams.iter().map(ToString::to_string).collect::<Vec<_>>().join("     ")));
        }
        if !self.inputs.is_empty() {
            lines.push(("inputs of this tick", self.inputs.join("  ")));
        }
        let Later { compared, different, healed_at } = self.later;
        let share = format!("({} of {} differ)", grouped(different), counted(compared, "tick"));
        let later = match healed_at {
            // The tick that diverged is one of them: of those after it nothing is known.
            _ if compared <= u64::from(self.tick.is_some()) => String::new(),
            Some(tick) => format!("later: heals at tick {tick} {share}"),
            None => format!("later: persists {share}"),
        };
        if self.tick.is_some() {
            let last = self.last_agreeing.map_or_else(|| "none".into(), |tick| tick.to_string());
            lines.push(("last agreeing tick", format!("{last:<16} {later}").trim_end().into()));
        } else if let Some(later) = later.strip_prefix("later: ") {
            lines.push(("later", later.into()));
        }
        lines
    }
}
