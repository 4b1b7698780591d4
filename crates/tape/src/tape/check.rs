//! Whether the parts of a tape fit each other.

use super::{Digests, Header, PlanOnTape, Tape, TapeError, TapeLimits};
use crate::schema::Layout;
use crate::value::Value;

impl Tape {
    /// Checks that the parts fit each other: after this, each recorded value can be read.
    pub(super) fn check(&self, limits: TapeLimits) -> Result<(), TapeError> {
        let wrong = |reason: String| Err(TapeError::Inconsistent { reason });
        let Self { header, initial, tracks, clock, digests, values, marks: _, end } = self;
        check_header(header, limits)?;
        TapeLimits::check("ticks", end.tick_count, limits.ticks)?;
        if header.timestep_ns == 0 || clock.iter().any(|change| change.timestep_ns == 0) {
            return wrong("a tick of 0 ns".into());
        }
        if header.tick_first.checked_add(end.tick_count).is_none() {
            return wrong(format!("{} ticks from tick {}", end.tick_count, header.tick_first));
        }
        if !clock.is_sorted_by(|a, b| a.tick < b.tick) {
            return wrong("changes of the timestep are out of order".into());
        }
        digests.check(header, end.tick_count)?;
        let tick_end = header.tick_first + end.tick_count;
        for track in tracks {
            let layout = Layout::of(&track.schema);
            for (index, (tick, bytes)) in track.changes.iter().enumerate() {
                // What goes for the nesting of the first value goes for all of its layout.
                if index > 0 && layout.as_ref().is_some_and(|layout| layout.fits(bytes)) {
                    continue;
                }
                let place = || format!("{} at tick {tick}", track.name);
                Value::decode(&track.schema, bytes).map_err(|error| TapeError::BadValue { place: place(), error })?;
            }
            // The input of a tick that did not finish may be there.
            if let Some((tick, _)) = track.changes.last().filter(|(tick, _)| *tick > tick_end) {
                return wrong(format!("{} changes at tick {tick}, but the tape ends at tick {tick_end}", track.name));
            }
        }
        let Some(initial) = initial else {
            return if values.is_empty() { Ok(()) } else { wrong("recorded values without an initial state".into()) };
        };
        if initial.tick != header.tick_first {
            return wrong(format!("the initial state is that of tick {}, not {}", initial.tick, header.tick_first));
        }
        for lane in &initial.lanes {
            if let Some(id) = lane.ids.iter().find(|id| initial.roster.row(**id).is_none()) {
                return wrong(format!("sim:{id} has {} in the initial state, but does not exist", lane.name));
            }
        }
        let ids = values.iter().fold(initial.roster.len(), |sum, delta| sum + delta.spawned.len());
        TapeLimits::check("ids", ids as u64, limits.ids)?;
        let mut image = initial.clone();
        for delta in values {
            if delta.tick <= image.tick || delta.tick > tick_end {
                return wrong(format!(
                    "values that lead from tick {} to tick {} of {tick_end}",
                    image.tick, delta.tick
                ));
            }
            image.apply(delta)?;
        }
        Ok(())
    }
}

/// Checks what a header says of itself, before anything of that size is made.
pub(super) fn check_header(header: &Header, limits: TapeLimits) -> Result<(), TapeError> {
    check_format(header.format)?;
    let lists = [("inputs", &header.tracks), ("types", &header.lanes), ("resources", &header.resources)];
    TapeLimits::check("types", lists.iter().map(|(_, specs)| specs.len() as u64).sum(), limits.types)?;
    for (what, specs) in lists {
        if let Some(pair) = specs.windows(2).find(|pair| pair[0].name >= pair[1].name) {
            let (a, b) = (&pair[0].name, &pair[1].name);
            return Err(TapeError::Inconsistent {
                reason: format!("{what} ascend by name, but {a} stands before {b}"),
            });
        }
    }
    for PlanOnTape { events: _, name, signature, plan } in &header.plans {
        if let Some(plan) = plan.as_ref().filter(|plan| plan.signature() != signature || plan.name() != name) {
            let reason = format!(
                "it names plan {name}, signature {signature}, and stores {}, signature {}",
                plan.name(),
                plan.signature()
            );
            return Err(TapeError::Inconsistent { reason });
        }
    }
    Ok(())
}

pub(super) fn check_format(found: u32) -> Result<(), TapeError> {
    let known = super::FORMAT_VERSION;
    if found > known { Err(TapeError::NewerFormat { found, known }) } else { Ok(()) }
}

/// The one part of a header that every format has.
#[derive(serde::Deserialize)]
pub(super) struct FormatOfHeader {
    #[serde(default)]
    pub(super) format: u32,
}

impl Digests {
    pub(super) fn check(&self, header: &Header, tick_count: u64) -> Result<(), TapeError> {
        let wrong = |reason: String| Err(TapeError::Inconsistent { reason });
        let Self { roots, lane_ticks, lane_digests } = self;
        if header.root_interval == 0 {
            return wrong("a root digest every 0 ticks".into());
        }
        if roots.len() as u64 > tick_count / header.root_interval {
            return wrong(format!("{} root digests for {tick_count} ticks", roots.len()));
        }
        let per_tick = header.lanes.len() + header.resources.len();
        if lane_digests.len() != lane_ticks.len() * per_tick {
            return wrong(format!("{} digests of {per_tick} types for {} ticks", lane_digests.len(), lane_ticks.len()));
        }
        if !lane_ticks.is_sorted_by(|a, b| a < b) || lane_ticks.last().is_some_and(|last| *last >= tick_count) {
            return wrong(format!("ticks with digests of types are out of order, or not among {tick_count}"));
        }
        Ok(())
    }
}
