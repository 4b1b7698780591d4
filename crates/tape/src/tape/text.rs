//! The text form (RON): one line per change, readable in a diff, fit to be pasted into an issue. And the same as JSON,
//! for other programs.

use super::check::{FormatOfHeader, check_format, check_header};
use super::header::hex;
use super::parts::{empty_image, sorted_ids};
use super::{Changes, ClockChange, Digests, End, Header, Mark, Tape, TapeError, TapeLimits, Track};
use crate::image::{Delta, Image, LaneDelta};
use crate::schema::Schema;
use crate::value::{Value, ValueTextError, encode_json, encode_text, ron_options};
use ron::error::{Position, SpannedError};
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use ron::value::RawValue;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A 64-bit digest, in hex.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Hex(#[serde(with = "hex")] u64);

/// How one value is written: as RON, or as JSON.
trait Written: Sized + Serialize + for<'de> Deserialize<'de> {
    /// Shows canonical bytes.
    fn shown(schema: &Schema, bytes: &[u8]) -> Self;
    /// Reads it back.
    fn read(&self, schema: &Schema) -> Result<Vec<u8>, ValueTextError>;
}

type Text = Box<RawValue>;

impl Written for Text {
    fn shown(schema: &Schema, bytes: &[u8]) -> Self {
        let value = Value::decode(schema, bytes).map(|value| value.to_string());
        let written = value.map(|text| ron_options().from_str(&text));
        // Values of schemas that no tape may hold are no RON; that they are there is still seen.
        match written {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => RawValue::from_boxed_ron("\"unreadable\"".into()).expect("a string is RON"),
            Err(error) => RawValue::from_boxed_ron(format!("{:?}", error.to_string()).into()).expect("a string is RON"),
        }
    }

    fn read(&self, schema: &Schema) -> Result<Vec<u8>, ValueTextError> {
        encode_text(schema, self.get_ron())
    }
}

impl Written for Json {
    fn shown(schema: &Schema, bytes: &[u8]) -> Self {
        Value::decode(schema, bytes).map_or_else(|error| Self::String(error.to_string()), |value| value.to_json())
    }

    fn read(&self, schema: &Schema) -> Result<Vec<u8>, ValueTextError> {
        encode_json(schema, self)
    }
}

/// What is read of a text of a later format.
#[derive(Deserialize)]
struct TextFormat {
    header: FormatOfHeader,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
struct TextTape<T> {
    header: Header,
    /// Sim ids of the initial state; without them there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entities: Option<Vec<u64>>,
    /// (sim id, type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    components: Vec<(u64, String, T)>,
    /// (type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<(String, T)>,
    /// (tick, type, value)
    #[serde(default)]
    inputs: Vec<(u64, String, T)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clock: Vec<ClockChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roots: Vec<Hex>,
    /// (ticks since the first, digests of types)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    types: Vec<(u64, Vec<Hex>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<TextDelta<T>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Mark>,
    #[serde(default)]
    end: End,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
struct TextDelta<T> {
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
    changed: Vec<(u64, String, T)>,
    /// (type, value)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<(String, Option<T>)>,
}

/// Returns whether text is meant to be a tape: it starts as RON does, or as a Markdown fence.
pub(super) fn looks_like_text(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    ["(", "//", "/*", "```", "~~~", "#![", "{"].iter().any(|sign| start.starts_with(sign))
}

/// Takes the text out of a Markdown fence, if it stands in one.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}').trim();
    let fence = if text.starts_with("```") { '`' } else { '~' };
    let rest = text.trim_start_matches(fence);
    if text.len() - rest.len() < 3 {
        return text;
    }
    // Where nothing is inside, the end of the text: errors say where in the text they are.
    let body = rest.split_once('\n').map_or(&rest[rest.len()..], |(_language, body)| body);
    body.trim_end().trim_end_matches(fence)
}

/// Says where in `text` the reading of `body`, a part of it, went wrong.
fn bad_text(text: &str, body: &str, error: &SpannedError) -> TapeError {
    if let Ok(TextFormat { header }) = ron_options().from_str(body)
        && let Err(newer) = check_format(header.format)
    {
        return newer;
    }
    let before = &text[..body.as_ptr().addr() - text.as_ptr().addr()];
    let indent = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    let Position { line, col } = error.span.start;
    let rest = body.lines().nth(line - 1).unwrap_or_default().chars().skip(col - 1);
    let col = col + rest.take_while(|letter| letter.is_whitespace()).count();
    TapeError::BadText {
        line: line + before.matches('\n').count(),
        column: if line == 1 { col + indent } else { col },
        reason: error.code.to_string(),
    }
}

fn bytes(schema: &Schema, text: &impl Written, place: impl Fn() -> String) -> Result<Vec<u8>, TapeError> {
    text.read(schema).map_err(|error| TapeError::BadTextValue { place: place(), error })
}

impl Tape {
    /// Writes the text form.
    ///
    /// # Panics
    ///
    /// Never: all parts of a tape can be written.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = self.written::<Text>();
        let style = PrettyConfig::new().depth_limit(2).new_line("\n").indentor("  ").separate_tuple_members(false);
        let options = ron::Options::default().without_recursion_limit();
        let mut out =
            options.to_string_pretty(&text, style.extensions(Extensions::empty())).expect("a tape is plain data");
        out.push('\n');
        out
    }

    fn written<T: Written>(&self) -> TextTape<T> {
        let Self { header, initial, tracks, clock, digests, values, marks, end } = self;
        let mut inputs: Vec<(u64, String, T)> = tracks
            .iter()
            .flat_map(|track| {
                track.changes.iter().map(|(tick, bytes)| (tick, track.name.clone(), T::shown(&track.schema, bytes)))
            })
            .collect();
        inputs.sort_by_key(|change| change.0);
        TextTape {
            header: header.clone(),
            entities: initial.as_ref().map(|image| image.roster.to_vec()),
            components: initial.iter().flat_map(component_rows).collect(),
            resources: initial.iter().flat_map(resource_rows).collect(),
            inputs,
            clock: clock.clone(),
            roots: digests.roots.iter().map(|root| Hex(*root)).collect(),
            types: (0..)
                .zip(&digests.lane_ticks)
                .map(|(row, tick)| (*tick, digests.row(row).iter().map(|digest| Hex(*digest)).collect()))
                .collect(),
            values: initial.iter().flat_map(|image| values.iter().map(|delta| text_delta(image, delta))).collect(),
            marks: marks.clone(),
            end: end.clone(),
        }
    }

    /// Writes the tape as JSON, for other programs; read back as any other form.
    ///
    /// Values are objects and arrays; what JSON cannot hold is text: numbers above 2^53, NaN and infinity, fixed-point
    /// numbers. An option is `null` or an array of one, a map is an array of pairs, a variant with fields an object of
    /// one.
    ///
    /// # Panics
    ///
    /// Never: all parts of a tape can be written.
    #[must_use]
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self.written::<Json>()).expect("a tape is plain data")
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
        let body = unfenced(text);
        if body.starts_with('{') {
            return Self::from_json_limited(body, limits);
        }
        let text: TextTape<Text> = ron_options().from_str(body).map_err(|error| bad_text(text, body, &error))?;
        Self::from_written(text, limits)
    }

    /// Reads the JSON form.
    pub(super) fn from_json_limited(text: &str, limits: TapeLimits) -> Result<Self, TapeError> {
        let bad = |error: serde_json::Error| {
            if let Ok(TextFormat { header }) = serde_json::from_str(text)
                && let Err(newer) = check_format(header.format)
            {
                return newer;
            }
            // The place stands in the error's text, too.
            let (line, column, reason) = (error.line(), error.column(), error.to_string());
            let reason = reason.split(" at line ").next().unwrap_or(&reason).into();
            TapeError::BadText { line, column, reason }
        };
        Self::from_written(serde_json::from_str::<TextTape<Json>>(text).map_err(bad)?, limits)
    }

    fn from_written<T: Written>(text: TextTape<T>, limits: TapeLimits) -> Result<Self, TapeError> {
        let TextTape { mut header, entities, components, resources, inputs, clock, roots, types, values, marks, end } =
            text;

        check_header(&header, limits)?;
        header.format = super::FORMAT_VERSION; // the text of an older format is read as it was written

        let specs = header.tracks.iter();
        let mut tracks: Vec<Track> = specs
            .map(|spec| Track { name: spec.name.clone(), schema: spec.schema.clone(), changes: Changes::default() })
            .collect();
        for (tick, name, value) in inputs {
            // The names of a header ascend.
            let Ok(index) = tracks.binary_search_by(|track| track.name.cmp(&name)) else {
                let reason = format!("inputs of {name}, which the header does not list");
                return Err(TapeError::Inconsistent { reason });
            };
            let track = &mut tracks[index];
            let place = || format!("{name} at tick {tick}");
            let value = bytes(&track.schema, &value, place)?;
            if track.changes.last().is_some_and(|(last, _)| last >= tick) {
                return Err(TapeError::Inconsistent { reason: format!("{} is out of order", place()) });
            }
            track.changes.record(tick, &value);
        }
        let initial = entities.map(|ids| initial_image(&header, ids, components, resources)).transpose()?;
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

fn component_rows<T: Written>(image: &Image) -> Vec<(u64, String, T)> {
    let lanes = image.lanes.iter();
    let rows = lanes.flat_map(|lane| {
        lane.ids
            .iter()
            .enumerate()
            .map(|(row, id)| (*id, lane.name.to_string(), T::shown(&lane.schema, lane.rows.row(row))))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| row.0);
    rows
}

fn resource_rows<T: Written>(image: &Image) -> Vec<(String, T)> {
    let present = image.resources.iter().filter(|resource| resource.present);
    present.map(|resource| (resource.name.to_string(), T::shown(&resource.schema, &resource.bytes))).collect()
}

fn unknown_type(name: &str) -> TapeError {
    TapeError::Inconsistent { reason: format!("values of {name}, which the header does not list") }
}

/// Sorts rows by type; the types are those of an image, whose names ascend.
fn by_lane<T>(image: &Image, rows: Vec<(u64, String, T)>) -> Result<Vec<Vec<(u64, T)>>, TapeError> {
    let mut sorted: Vec<Vec<(u64, T)>> = image.lanes.iter().map(|_| Vec::new()).collect();
    for (id, name, value) in rows {
        let index = image.lanes.binary_search_by(|lane| (*lane.name).cmp(&name));
        sorted[index.map_err(|_| unknown_type(&name))?].push((id, value));
    }
    Ok(sorted)
}

/// Returns the place of a resource in an image.
fn resource_index(image: &Image, name: &str) -> Result<usize, TapeError> {
    image.resources.binary_search_by(|resource| (*resource.name).cmp(name)).map_err(|_| unknown_type(name))
}

fn initial_image<T: Written>(
    header: &Header,
    ids: Vec<u64>,
    components: Vec<(u64, String, T)>,
    resources: Vec<(String, T)>,
) -> Result<Image, TapeError> {
    let mut image = empty_image(header);
    image.roster = sorted_ids(ids, "the initial state")?;
    let rows = by_lane(&image, components)?;
    for (lane, rows) in image.lanes.iter_mut().zip(rows) {
        lane.ids = sorted_ids(rows.iter().map(|row| row.0).collect(), &lane.name)?;
        for (id, value) in rows {
            let value = bytes(&lane.schema, &value, || format!("sim:{id} {}", lane.name))?;
            lane.rows.push(|out| out.extend_from_slice(&value));
        }
    }
    for (name, value) in resources {
        let index = resource_index(&image, &name)?;
        let resource = &mut image.resources[index];
        if resource.present {
            return Err(TapeError::Inconsistent { reason: format!("{name} stands twice in the initial state") });
        }
        resource.bytes = bytes(&resource.schema, &value, || name.clone())?;
        resource.present = true;
    }
    Ok(image)
}

fn text_delta<T: Written>(image: &Image, delta: &Delta) -> TextDelta<T> {
    let Delta { tick, despawned, spawned, lanes, resources } = delta;
    let (mut removed, mut changed) = (Vec::new(), Vec::new());
    for LaneDelta { lane, removed: gone, changed: ids, bytes } in lanes {
        let lane = &image.lanes[*lane as usize];
        let name = || lane.name.to_string();
        removed.extend(gone.iter().map(|id| (*id, name())));
        let mut rest = &**bytes;
        for id in ids {
            let size = Value::measure(&lane.schema, rest).unwrap_or(rest.len());
            changed.push((*id, name(), T::shown(&lane.schema, &rest[..size])));
            rest = &rest[size..];
        }
    }
    let resources = resources.iter().map(|(index, bytes)| {
        let resource = &image.resources[*index as usize];
        (resource.name.to_string(), bytes.as_ref().map(|bytes| T::shown(&resource.schema, bytes)))
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

fn delta_of_text<T: Written>(image: &Image, text: TextDelta<T>) -> Result<Delta, TapeError> {
    let TextDelta { after, despawned, spawned, removed, changed, resources } = text;
    let mut delta = Delta { tick: after, despawned, spawned, ..Delta::default() };
    let removed = by_lane(image, removed.into_iter().map(|(id, name)| (id, name, ())).collect())?;
    let changed = by_lane(image, changed)?;
    for (((lane, removed), changed), index) in image.lanes.iter().zip(removed).zip(changed).zip(0_u32..) {
        if removed.is_empty() && changed.is_empty() {
            continue;
        }
        let removed = removed.into_iter().map(|(id, ())| id).collect();
        let mut change = LaneDelta { lane: index, removed, changed: Vec::new(), bytes: Vec::new() };
        for (id, value) in changed {
            change.changed.push(id);
            change.bytes.extend(bytes(&lane.schema, &value, || format!("sim:{id} {} after tick {after}", lane.name))?);
        }
        delta.lanes.push(change);
    }
    for (name, value) in resources {
        let index = resource_index(image, &name)?;
        let schema = &image.resources[index].schema;
        let value = value.map(|value| bytes(schema, &value, || format!("{name} after tick {after}"))).transpose()?;
        delta.resources.push((u32::try_from(index).map_err(|_| unknown_type(&name))?, value));
    }
    Ok(delta)
}
