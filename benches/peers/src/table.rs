//! The table: ratios first, then what was measured, then what either did.

use cpu_time::ThreadTime;

/// What a ratio should be.
#[derive(Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Shown for judgement.
    None,
}

pub struct Row {
    pub what: String,
    pub ratio: f64,
    pub target: Target,
    pub ours: String,
    pub peer: (&'static str, String),
}

/// What was measured, and what either side did for it.
pub struct Part {
    pub title: &'static str,
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
}

impl Row {
    fn holds(&self) -> Option<bool> {
        match self.target {
            Target::AtLeast(target) => Some(self.ratio >= target),
            Target::AtMost(target) => Some(self.ratio <= target),
            Target::None => None,
        }
    }
}

pub fn print(parts: &[Part]) {
    for Part { title, rows, notes } in parts {
        println!("\n{title}");
        println!("{:<52} {:>8} {:>8} {:5} {:>14} {:>12}", "name", "value", "target", "", "bevy_replay", "peer");
        for row in rows {
            let target = match row.target {
                Target::AtLeast(target) => format!(">= {target}"),
                Target::AtMost(target) => format!("<= {target}"),
                Target::None => String::new(),
            };
            let verdict = row.holds().map_or("", |holds| if holds { "ok" } else { "SHORT" });
            let Row { what, ratio, target: _, ours, peer: (peer, value) } = row;
            println!("{what:<52} {ratio:>8.3} {target:>8} {verdict:5} {ours:>14} {value:>12} {peer}");
        }
        for note in notes {
            println!("  {note}");
        }
    }
    let judged: Vec<(&Row, bool)> =
        parts.iter().flat_map(|part| &part.rows).filter_map(|row| Some((row, row.holds()?))).collect();
    let short: Vec<&str> = judged.iter().filter(|(_, holds)| !holds).map(|(row, _)| &*row.what).collect();
    let held = judged.len() - short.len();
    match &*short {
        [] => println!("\n{held} of {held} rows hold their target"),
        short => println!("\n{held} of {} rows hold their target; SHORT: {}", judged.len(), short.join(", ")),
    }
}

/// Seconds that each of these takes in each of so many rounds in turns, so that noise meets all of them.
///
/// It is the time that this thread had a processor: what else the machine does meanwhile is not counted. Two rounds more
/// are run first, and not counted either.
pub fn in_turns<const N: usize>(rounds: usize, mut cases: [&mut dyn FnMut(); N]) -> [Vec<f64>; N] {
    let mut times = [const { Vec::new() }; N];
    for round in 0..rounds + 2 {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let start = ThreadTime::now();
            case();
            let seconds = start.elapsed().as_secs_f64();
            if round >= 2 {
                times.push(seconds);
            }
        }
    }
    times
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds, in a unit that fits.
pub fn time(seconds: f64) -> String {
    match seconds.abs() {
        s if s < 1e-6 => format!("{:.1} ns", seconds * 1e9),
        s if s < 1e-3 => format!("{:.1} us", seconds * 1e6),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}

/// Numbers without a pattern (SplitMix64), as digests are.
pub fn random(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
