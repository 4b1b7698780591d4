//! The text form of a plan (RON): one line per event. Tapes hold the same in their header.

use super::{EventClass, PLAN_LAYOUT, Plan, PlanChapter, PlanError, PlanEvent, PlanLayer, PlanVersions, kind_of};
use crate::schema::Schema;
use crate::tape::hex;
use crate::value::{encode_text, ron_options};
use ron::error::Position;
use ron::ser::PrettyConfig;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct PlanText {
    name: String,
    #[serde(with = "hex")]
    seed: u64,
    layout: u32,
    generator: u32,
    content: u32,
    builder: u32,
    ticks: u64,
    schema: Arc<Schema>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    chapters: Vec<ChapterText>,
    /// (name, first tick, tick after the last)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    layers: Vec<(String, u64, u64)>,
    /// (tick, id, class, layer, version, event)
    events: Vec<(u64, u32, EventClass, Option<u32>, u32, String)>,
    signature: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct ChapterText {
    name: String,
    #[serde(with = "hex")]
    seed: u64,
    /// (first, the one after the last)
    ids: (u32, u32),
    signature: String,
}

impl From<Plan> for PlanText {
    fn from(plan: Plan) -> Self {
        let events = plan.events.iter().map(|event| {
            let PlanEvent { id, tick, class, layer, version, kind: _, payload: _ } = event;
            (*tick, *id, *class, *layer, *version, plan.payload_text(event))
        });
        let events = events.collect();
        let Plan { name, seed, versions, ticks, schema, chapters, layers, events: _, signature } = plan;
        let PlanVersions { layout, generator, content, builder } = versions;
        let chapters = chapters.into_iter().map(|PlanChapter { name, seed, ids, signature }| ChapterText {
            name,
            seed,
            ids: (ids.start, ids.end),
            signature,
        });
        let layers = layers.into_iter().map(|PlanLayer { name, ticks }| (name, ticks.start, ticks.end));
        Self {
            name,
            seed,
            layout,
            generator,
            content,
            builder,
            ticks,
            schema,
            chapters: chapters.collect(),
            layers: layers.collect(),
            events,
            signature,
        }
    }
}

impl TryFrom<PlanText> for Plan {
    type Error = PlanError;

    fn try_from(text: PlanText) -> Result<Self, PlanError> {
        let PlanText {
            name,
            seed,
            layout,
            generator,
            content,
            builder,
            ticks,
            schema,
            chapters,
            layers,
            events,
            signature,
        } = text;
        if layout > PLAN_LAYOUT {
            return Err(PlanError::NewerLayout { plan: name, found: layout, known: PLAN_LAYOUT });
        }
        if schema.has_entities() {
            return Err(PlanError::HasEntities { events: schema.to_string() });
        }
        let events = events.into_iter().map(|(tick, id, class, layer, version, payload)| {
            let bad = |error| PlanError::BadEvent { plan: name.clone(), id, error };
            let payload = encode_text(&schema, &payload).map_err(bad)?;
            Ok(PlanEvent { id, tick, class, layer, version, kind: kind_of(&schema, &payload), payload })
        });
        let events = events.collect::<Result<_, PlanError>>()?;
        let stored: Vec<String> = chapters.iter().map(|chapter| chapter.signature.clone()).collect();
        let chapters = chapters.into_iter().map(|ChapterText { name, seed, ids, signature }| PlanChapter {
            name,
            seed,
            ids: ids.0..ids.1,
            signature,
        });
        let layers = layers.into_iter().map(|(name, start, end)| PlanLayer { name, ticks: start..end });
        let plan = Self {
            seed,
            versions: PlanVersions { layout, generator, content, builder },
            ticks,
            chapters: chapters.collect(),
            layers: layers.collect(),
            events,
            schema,
            name,
            signature: String::new(),
        };
        let plan = plan.complete()?;
        let changed = plan.chapters.iter().zip(&stored).filter(|(chapter, stored)| chapter.signature != **stored);
        let changed: Vec<String> = changed.map(|(chapter, _)| chapter.name.clone()).collect();
        if plan.signature != signature || !changed.is_empty() {
            let Self { name, signature: computed, .. } = plan;
            return Err(PlanError::SignatureMismatch { plan: name, stored: signature, computed, chapters: changed });
        }
        Ok(plan)
    }
}

impl Plan {
    /// Writes the plan as text, one line per event.
    ///
    /// # Panics
    ///
    /// Never: all parts of a plan can be written.
    #[must_use]
    pub fn to_text(&self) -> String {
        let style = PrettyConfig::new().depth_limit(2).new_line("\n").indentor("  ").separate_tuple_members(false);
        let mut text = ron_options().to_string_pretty(self, style).expect("a plan is plain data");
        text.push('\n');
        text
    }

    /// Reads the text of a plan, and checks it against its contract and its signature. Nothing is built anew.
    ///
    /// # Errors
    ///
    /// [`PlanError`] naming what is wrong; [`PlanError::SignatureMismatch`] where it was changed.
    pub fn from_text(text: &str) -> Result<Self, PlanError> {
        let text: PlanText = ron_options().from_str(text).map_err(|error| {
            let Position { line, col } = error.span.start;
            PlanError::BadText { line, column: col, reason: error.code.to_string() }
        })?;
        text.try_into()
    }
}
