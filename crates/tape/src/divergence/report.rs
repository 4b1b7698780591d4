//! The report as text. The first line alone is a useful answer.

use super::{Divergence, HeaderDifference};
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
    /// The first tick that was compared.
    pub tick_first: u64,
    /// How many ticks either side has: expected, got.
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

    /// Returns `first divergence: none`, or where it is.
    #[must_use]
    pub fn first_divergence(&self) -> String {
        match (&self.divergence, self.ticks) {
            (Some(found), _) => {
                found.tick.map_or_else(|| "before the first tick".into(), |tick| format!("tick {tick}"))
            }
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

fn entity(row: &Difference, found: &Divergence) -> String {
    let name = row.sim_id.and_then(|id| found.names.get(&id));
    match (row.sim_id, name) {
        (Some(id), Some(name)) => format!("sim:{id} {name:?} "),
        (Some(id), None) => format!("sim:{id} "),
        (None, _) => String::new(),
    }
}

fn side(side: &Side, bits: bool) -> String {
    match side {
        Side::Value(Value::F32(raw)) if bits => format!("{side} (0x{raw:08X})"),
        Side::Value(Value::F64(raw)) if bits => format!("{side} (0x{raw:016X})"),
        _ => side.to_string(),
    }
}

/// One line: what differs first.
impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tick {
            None => f.write_str("diverged before the first tick: ")?,
            Some(tick) => {
                let nanos = u128::from(tick) * u128::from(self.timestep_ns);
                let hundredths = nanos / 10_000_000;
                match self.last_agreeing {
                    Some(last) if last + 1 < tick => write!(f, "diverged between tick {} and tick {tick}", last + 1)?,
                    _ => write!(f, "diverged at tick {tick}")?,
                }
                write!(f, " ({}.{:02} s): ", hundredths / 100, hundredths % 100)?;
            }
        }
        match (&self.differences, &self.types, self.roots) {
            (Some(rows), ..) if !rows.is_empty() => {
                let row = &rows[0];
                write!(f, "{}{}{} ", entity(row, self), row.type_name, row.path)?;
                write!(f, "expected {} got {}", row.expected, row.got)?;
                if rows.len() > 1 {
                    write!(f, " (+{} more)", rows.len() - 1)?;
                }
                Ok(())
            }
            (_, Some(types), _) if !types.is_empty() => write!(f, "{} differ", types.join(", ")),
            (_, _, Some((expected, got))) => write!(f, "digest expected {expected:016X} got {got:016X}"),
            _ => f.write_str("the states differ"),
        }
    }
}

const ROWS_SHOWN: usize = 10;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, got) = self.ticks;
        let length = if expected == got {
            None
        } else {
            let (short, long) = (expected.min(got) + self.tick_first, expected.max(got) + self.tick_first);
            let which = if expected < got { "the tape" } else { "the run" };
            Some(format!("{which} ends at tick {short}, the other goes on to {long}"))
        };
        let Some(found) = &self.divergence else {
            match (&length, self.verdict) {
                (Some(length), _) => write!(f, "diverged at tick {}: {length}", expected.min(got) + self.tick_first)?,
                (None, Verdict::Unverified) if self.compared == 0 => {
                    write!(f, "unverified: replayed {} ticks, nothing on the tape to compare them with", grouped(got))?;
                }
                (None, verdict) => write!(f, "{verdict}: replayed {} ticks, 0 diverged", grouped(got))?,
            }
            for note in &self.notes {
                write!(f, "\n  note: {note}")?;
            }
            return Ok(());
        };
        write!(f, "{found}")?;
        self.write_rows(f, found)?;
        writeln!(f)?;
        let mut line = |name: &str, text: &str| write!(f, "\n  {name:<20} {text}");
        match &found.types {
            Some(types) if !types.is_empty() && found.differences.is_none() => {
                line("types that differ", &types.join(", "))?
            }
            _ => {}
        }
        if !found.inputs.is_empty() {
            line("inputs of this tick", &found.inputs.join("  "))?;
        }
        let last = found.last_agreeing.map_or_else(|| "none".into(), |tick| tick.to_string());
        let later = match (found.tick, found.later.healed_at) {
            (None, _) => String::new(),
            (_, Some(tick)) => format!(
                "later: heals at tick {tick} ({} of {} ticks differ)",
                grouped(found.later.different),
                grouped(found.later.compared)
            ),
            _ => format!(
                "later: persists ({} of {} ticks differ)",
                grouped(found.later.different),
                grouped(found.later.compared)
            ),
        };
        line("last agreeing tick", format!("{last:<16} {later}").trim_end())?;
        if let Some(length) = length {
            line("length", &length)?;
        }
        if !self.tape.is_empty() {
            line("expected by", &self.tape)?;
        }
        if !self.replayed_by.is_empty() {
            line("got from", &self.replayed_by)?;
        }
        for (i, row) in self.header_differences.iter().enumerate() {
            line(
                if i == 0 { "headers differ in" } else { "" },
                &format!("{}: expected {}, got {}", row.field, row.expected, row.got),
            )?;
        }
        if found.differences.is_none() {
            line("for field and values", "record with `Detail::Values`, or compare with a second app")?;
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
    fn write_rows(&self, f: &mut fmt::Formatter<'_>, found: &Divergence) -> fmt::Result {
        let Some(rows) = &found.differences else { return Ok(()) };
        let all = f.alternate();
        let shown = &rows[..if all { rows.len() } else { rows.len().min(ROWS_SHOWN) }];
        let cells: Vec<[String; 5]> = shown
            .iter()
            .map(|row| {
                let ulps = row.ulps().map(|ulps| format!("(float, {} ulp)", grouped(ulps))).unwrap_or_default();
                [
                    entity(row, found),
                    format!("{}{}", row.type_name, row.path),
                    side(&row.expected, all),
                    side(&row.got, all),
                    ulps,
                ]
            })
            .collect();
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (w0, w1, w2, w3) = (width(0), width(1), width(2), width(3));
        if !cells.is_empty() {
            writeln!(f)?;
        }
        for [entity, field, expected, got, ulps] in &cells {
            let row = format!("  {entity:<w0$} {field:<w1$}  expected  {expected:<w2$}  got  {got:<w3$}  {ulps}");
            write!(f, "\n{}", row.trim_end())?;
        }
        if shown.len() < rows.len() {
            write!(f, "\n  and {} more (print with {{:#}} to see all)", grouped((rows.len() - shown.len()) as u64))?;
        }
        Ok(())
    }
}
