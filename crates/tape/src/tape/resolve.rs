//! A tape of an older game read as one of a newer one.

use super::{Changes, Digests, Header, Tape, TapeError, TypeSpec};
use crate::canonical::DecodeError;
use crate::image::{Delta, Image, Lane};
use crate::schema::{Resolution, Schema};
use crate::value::Value;
use std::sync::Arc;

/// A tape whose values are those of a newer game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The tape. It has no digests where components or resources were converted: those were of the older bytes.
    pub tape: Tape,
    /// What was done, for people: `Steer.dash was added: its default is used`.
    pub notes: Vec<String>,
}

impl Tape {
    /// Converts inputs, initial state and recorded values to the types of an app, by the names of their fields.
    ///
    /// `default` gives the canonical bytes of a type's default, from which added fields are taken. Returns `None` if
    /// all types are the same. A type that cannot be converted stays as it is: see [`Header::differences`].
    ///
    /// # Errors
    ///
    /// [`TapeError::BadValue`] if a recorded value holds a variant that the app's type lacks.
    pub fn resolved(
        &self,
        app: &Header,
        default: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Option<Resolved>, TapeError> {
        let [inputs, lanes, resources] = [
            pairs(&self.header.tracks, &app.tracks),
            pairs(&self.header.lanes, &app.lanes),
            pairs(&self.header.resources, &app.resources),
        ];
        if inputs.is_empty() && lanes.is_empty() && resources.is_empty() {
            return Ok(None);
        }
        let mut tape = self.clone();
        let mut notes = Vec::new();
        for pair in inputs.iter().chain(&lanes).chain(&resources) {
            notes.extend(pair.resolution.notes().iter().map(|note| format!("{}.{note}", pair.name)));
        }
        for pair in &inputs {
            let default = default(pair.name);
            let Some(track) = tape.tracks.iter_mut().find(|track| track.name == pair.name) else { continue };
            let mut changes = Changes::default();
            for (tick, bytes) in track.changes.iter() {
                let converted = pair.resolution.convert(bytes, default.as_deref());
                changes.record(tick, &converted.map_err(|error| bad(format!("{} at tick {tick}", pair.name), error))?);
            }
            (track.changes, track.schema) = (changes, pair.schema.clone());
            tape.header.tracks[pair.index].schema = pair.schema.clone();
        }
        for pair in &lanes {
            tape.header.lanes[pair.index].schema = pair.schema.clone();
        }
        for pair in &resources {
            tape.header.resources[pair.index].schema = pair.schema.clone();
        }
        if let Some(image) = &mut tape.initial {
            convert_image(image, &lanes, &resources)?;
        }
        for delta in &mut tape.values {
            convert_delta(delta, &self.header, &lanes, &resources)?;
        }
        if lanes.iter().chain(&resources).any(|pair| !pair.resolution.is_identity()) {
            tape.digests = Digests::default();
        }
        Ok(Some(Resolved { tape, notes }))
    }
}

/// A type that is another one in the app, and can be converted.
struct Pair<'a> {
    name: &'a str,
    index: usize,
    schema: &'a Arc<Schema>,
    resolution: Resolution<'a>,
}

fn pairs<'a>(tape: &'a [TypeSpec], app: &'a [TypeSpec]) -> Vec<Pair<'a>> {
    let pair = |(index, spec): (usize, &'a TypeSpec)| {
        let twin = app.iter().find(|twin| twin.name == spec.name)?;
        if spec.schema.same_encoding(&twin.schema) {
            return None;
        }
        let resolution = Resolution::new(&spec.schema, &twin.schema).ok()?;
        Some(Pair { name: &spec.name, index, schema: &twin.schema, resolution })
    };
    tape.iter().enumerate().filter_map(pair).collect()
}

fn bad(place: String, error: DecodeError) -> TapeError {
    TapeError::BadValue { place, error }
}

fn convert_image(image: &mut Image, lanes: &[Pair<'_>], resources: &[Pair<'_>]) -> Result<(), TapeError> {
    for pair in lanes {
        let Some(old) = image.lanes.get_mut(pair.index) else { continue };
        let mut lane = Lane { ids: old.ids.clone(), ..Lane::new(old.name.clone(), pair.schema.clone()) };
        for (row, id) in old.ids.iter().enumerate() {
            let value = pair.resolution.convert(old.rows.row(row), None);
            let value = value.map_err(|error| bad(format!("sim:{id} {}", pair.name), error))?;
            lane.rows.push(|out| out.extend_from_slice(&value));
        }
        *old = lane;
    }
    for pair in resources {
        let Some(state) = image.resources.get_mut(pair.index) else { continue };
        if state.present {
            state.bytes = pair.resolution.convert(&state.bytes, None).map_err(|error| bad(pair.name.into(), error))?;
        }
        state.schema = pair.schema.clone();
    }
    Ok(())
}

fn convert_delta(
    delta: &mut Delta,
    header: &Header,
    lanes: &[Pair<'_>],
    resources: &[Pair<'_>],
) -> Result<(), TapeError> {
    let tick = delta.tick;
    let place = |name: &str| format!("{name} after tick {tick}");
    for change in &mut delta.lanes {
        let Some(pair) = lanes.iter().find(|pair| pair.index == change.lane as usize) else { continue };
        let (old, mut rest, mut bytes) = (&header.lanes[pair.index].schema, &*change.bytes, Vec::new());
        for _ in &change.changed {
            let size = Value::measure(old, rest).map_err(|error| bad(place(pair.name), error))?;
            let value = pair.resolution.convert(&rest[..size], None);
            bytes.extend(value.map_err(|error| bad(place(pair.name), error))?);
            rest = &rest[size..];
        }
        change.bytes = bytes;
    }
    for (index, value) in &mut delta.resources {
        let pair = resources.iter().find(|pair| pair.index == *index as usize);
        if let (Some(pair), Some(bytes)) = (pair, value) {
            *bytes = pair.resolution.convert(bytes, None).map_err(|error| bad(place(pair.name), error))?;
        }
    }
    Ok(())
}
