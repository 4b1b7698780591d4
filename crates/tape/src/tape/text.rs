//! The text form (RON): one line per change, readable in a diff, fit to be pasted into an issue.

use super::binary::{empty_image, sorted_ids};
use super::header::hex;
use super::{Changes, ClockChange, Digests, End, Header, Mark, Tape, TapeError, TapeLimits, Track};
use crate::image::{Delta, Image, LaneDelta};
use crate::schema::Schema;
use crate::value::{Value, encode_text};
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use ron::value::RawValue;
use serde::{Deserialize, Serialize};

/// A 64-bit digest, in hex.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Hex(#[serde(with = "hex")] u64);

type Text = Box<RawValue>;

#[derive(Serialize, Deserialize)]
struct TextTape {
    header: Header,
    /// Sim ids of the initial state; without them there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entities: Option<Vec<u64>>,
    /// (sim id, type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    components: Vec<(u64, String, Text)>,
    /// (type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<(String, Text)>,
    /// (tick, type, value)
    #[serde(default)]
    inputs: Vec<(u64, String, Text)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clock: Vec<ClockChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roots: Vec<Hex>,
    /// (ticks since the first, digests of types)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    types: Vec<(u64, Vec<Hex>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<TextDelta>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Mark>,
    #[serde(default)]
    end: End,
}

#[derive(Serialize, Deserialize)]
struct TextDelta {
    after: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    despawned: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spawned: Vec<u64>,
    /// (sim id, type)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<(u64, String)>,
    /// (sim id, type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed: Vec<(u64, String, Text)>,
    /// (type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<(String, Option<Text>)>,
}

/// Returns whether text is meant to be a tape: it starts as RON does, or as a Markdown fence.
pub(super) fn looks_like_text(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    ["(", "//", "/*", "```", "~~~", "#!["].iter().any(|sign| start.starts_with(sign))
}

/// Takes the text out of a Markdown fence, if it stands in one.
fn unfenced(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}').trim();
    for fence in ["```", "~~~"] {
        if let Some(rest) = text.strip_prefix(fence) {
            let body = rest.split_once('\n').map_or("", |(_language, body)| body);
            return body.trim_end().strip_suffix(fence).unwrap_or(body);
        }
    }
    text
}

fn raw(schema: &Schema, bytes: &[u8]) -> Text {
    let text = Value::decode(schema, bytes).map_or_else(|error| format!("\"{error}\""), |value| value.to_string());
    RawValue::from_boxed_ron(text.into()).expect("values print as RON")
}

fn bytes(schema: &Schema, text: &RawValue, place: impl Fn() -> String) -> Result<Vec<u8>, TapeError> {
    encode_text(schema, text.get_ron()).map_err(|error| TapeError::BadTextValue { place: place(), error })
}

impl Tape {
    /// Writes the text form.
    ///
    /// # Panics
    ///
    /// Never: all parts of a tape can be written.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { header, initial, tracks, clock, digests, values, marks, end } = self;
        let mut inputs: Vec<(u64, String, Text)> = tracks
            .iter()
            .flat_map(|track| {
                track.changes.iter().map(|(tick, bytes)| (tick, track.name.clone(), raw(&track.schema, bytes)))
            })
            .collect();
        inputs.sort_by_key(|change| change.0);
        let text = TextTape {
            header: header.clone(),
            entities: initial.as_ref().map(|image| image.roster.to_vec()),
            components: initial.iter().flat_map(component_rows).collect(),
            resources: initial.iter().flat_map(resource_rows).collect(),
            inputs,
            clock: clock.clone(),
            roots: digests.roots.iter().map(|root| Hex(*root)).collect(),
            types: digests
                .lane_ticks
                .iter()
                .map(|tick| {
                    (*tick, digests.lanes(*tick).unwrap_or_default().iter().map(|digest| Hex(*digest)).collect())
                })
                .collect(),
            values: initial.iter().flat_map(|image| values.iter().map(|delta| text_delta(image, delta))).collect(),
            marks: marks.clone(),
            end: end.clone(),
        };
        let style = PrettyConfig::new().depth_limit(2).new_line("\n").indentor("  ").separate_tuple_members(false);
        let options = ron::Options::default().without_recursion_limit();
        let mut out =
            options.to_string_pretty(&text, style.extensions(Extensions::empty())).expect("a tape is plain data");
        out.push('\n');
        out
    }

    /// Reads the text form with the default limits. Windows line ends and Markdown fences are accepted.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming the line, or the value, and what is wrong with it.
    pub fn from_text(text: &str) -> Result<Self, TapeError> {
        Self::from_text_limited(text, TapeLimits::default())
    }

    /// Reads the text form.
    ///
    /// # Errors
    ///
    /// [`TapeError`] naming the line, or the value, and what is wrong with it.
    pub fn from_text_limited(text: &str, limits: TapeLimits) -> Result<Self, TapeError> {
        TapeLimits::check("bytes", text.len() as u64, limits.bytes)?;
        let parsed: Result<TextTape, _> = ron::from_str(unfenced(text));
        let text = parsed.map_err(|error| TapeError::BadText {
            line: error.span.start.line,
            column: error.span.start.col,
            reason: error.code.to_string(),
        })?;
        let TextTape { header, entities, components, resources, inputs, clock, roots, types, values, marks, end } =
            text;

        let specs = header.tracks.iter();
        let mut tracks: Vec<Track> = specs
            .map(|spec| Track { name: spec.name.clone(), schema: spec.schema.clone(), changes: Changes::default() })
            .collect();
        for (tick, name, value) in inputs {
            let track = tracks.iter_mut().find(|track| track.name == name);
            let unknown =
                || TapeError::Inconsistent { reason: format!("inputs of {name}, which the header does not list") };
            let track = track.ok_or_else(unknown)?;
            let place = || format!("{name} at tick {tick}");
            let value = bytes(&track.schema, &value, place)?;
            let last = track.changes.iter().last().map(|(tick, _)| tick);
            if last.is_some_and(|last| last >= tick) {
                return Err(TapeError::Inconsistent { reason: format!("{} is out of order", place()) });
            }
            track.changes.record(tick, &value);
        }
        let initial = entities.map(|ids| initial_image(&header, ids, &components, &resources)).transpose()?;
        let values = match &initial {
            Some(image) => values.into_iter().map(|delta| delta_of_text(image, delta)).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let digests = Digests {
            roots: roots.into_iter().map(|root| root.0).collect(),
            lane_ticks: types.iter().map(|(tick, _)| *tick).collect(),
            lane_digests: types.into_iter().flat_map(|(_, digests)| digests).map(|digest| digest.0).collect(),
        };
        let tape = Self { header, initial, tracks, clock, digests, values, marks, end };
        tape.check(limits)?;
        Ok(tape)
    }
}

fn component_rows(image: &Image) -> Vec<(u64, String, Text)> {
    let lanes = image.lanes.iter();
    let rows = lanes.flat_map(|lane| {
        lane.ids.iter().enumerate().map(|(row, id)| (*id, lane.name.to_string(), raw(&lane.schema, lane.rows.row(row))))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| row.0);
    rows
}

fn resource_rows(image: &Image) -> Vec<(String, Text)> {
    let present = image.resources.iter().filter(|resource| resource.present);
    present.map(|resource| (resource.name.to_string(), raw(&resource.schema, &resource.bytes))).collect()
}

fn unknown_type(name: &str) -> TapeError {
    TapeError::Inconsistent { reason: format!("values of {name}, which the header does not list") }
}

fn initial_image(
    header: &Header,
    ids: Vec<u64>,
    components: &[(u64, String, Text)],
    resources: &[(String, Text)],
) -> Result<Image, TapeError> {
    let mut image = empty_image(header);
    image.roster = sorted_ids(ids, "the initial state")?;
    if let Some((_, name, _)) = components.iter().find(|(_, name, _)| image.lane(name).is_none()) {
        return Err(unknown_type(name));
    }
    for lane in &mut image.lanes {
        let mut ids = Vec::new();
        for (id, _, value) in components.iter().filter(|(_, name, _)| **name == *lane.name) {
            ids.push(*id);
            let value = bytes(&lane.schema, value, || format!("sim:{id} {}", lane.name))?;
            lane.rows.push(|out| out.extend_from_slice(&value));
        }
        lane.ids = sorted_ids(ids, &lane.name)?;
    }
    for (name, value) in resources {
        let resource =
            image.resources.iter_mut().find(|resource| *resource.name == **name).ok_or_else(|| unknown_type(name))?;
        resource.bytes = bytes(&resource.schema, value, || name.clone())?;
        resource.present = true;
    }
    Ok(image)
}

fn text_delta(image: &Image, delta: &Delta) -> TextDelta {
    let Delta { tick, despawned, spawned, lanes, resources } = delta;
    let (mut removed, mut changed) = (Vec::new(), Vec::new());
    for LaneDelta { lane, removed: gone, changed: ids, bytes } in lanes {
        let lane = &image.lanes[*lane as usize];
        let name = || lane.name.to_string();
        removed.extend(gone.iter().map(|id| (*id, name())));
        let mut rest = &**bytes;
        for id in ids {
            let size = Value::measure(&lane.schema, rest).unwrap_or(rest.len());
            changed.push((*id, name(), raw(&lane.schema, &rest[..size])));
            rest = &rest[size..];
        }
    }
    let resources = resources.iter().map(|(index, bytes)| {
        let resource = &image.resources[*index as usize];
        (resource.name.to_string(), bytes.as_ref().map(|bytes| raw(&resource.schema, bytes)))
    });
    TextDelta {
        after: *tick,
        despawned: despawned.clone(),
        spawned: spawned.clone(),
        removed,
        changed,
        resources: resources.collect(),
    }
}

fn delta_of_text(image: &Image, text: TextDelta) -> Result<Delta, TapeError> {
    let TextDelta { after, despawned, spawned, removed, changed, resources } = text;
    let mut delta = Delta { tick: after, despawned, spawned, ..Delta::default() };
    let known = |name: &String| image.lane(name).is_some();
    let names = removed.iter().map(|row| &row.1).chain(changed.iter().map(|row| &row.1));
    if let Some(name) = names.into_iter().find(|name| !known(name)) {
        return Err(unknown_type(name));
    }
    for (lane, index) in image.lanes.iter().zip(0_u32..) {
        let mut change = LaneDelta { lane: index, removed: Vec::new(), changed: Vec::new(), bytes: Vec::new() };
        change.removed.extend(removed.iter().filter(|row| *row.1 == *lane.name).map(|row| row.0));
        for (id, _, value) in changed.iter().filter(|row| *row.1 == *lane.name) {
            change.changed.push(*id);
            change.bytes.extend(bytes(&lane.schema, value, || format!("sim:{id} {} after tick {after}", lane.name))?);
        }
        if !change.removed.is_empty() || !change.changed.is_empty() {
            delta.lanes.push(change);
        }
    }
    for (name, value) in resources {
        let found = image.resources.iter().zip(0_u32..).find(|(resource, _)| *resource.name == *name);
        let (resource, index) = found.ok_or_else(|| unknown_type(&name))?;
        let value =
            value.map(|value| bytes(&resource.schema, &value, || format!("{name} after tick {after}"))).transpose()?;
        delta.resources.push((index, value));
    }
    Ok(delta)
}
