//! Event plans: what will happen to a player, compiled before play, as a value.
//!
//! A plan holds all that was drawn at random, so that nothing needs to be drawn while the game runs. Its signature says
//! whether two plans are the same content; its seed does not.

#[cfg(feature = "plan")]
mod builder;
mod contract;
mod error;
mod package;
mod text;

use crate::canonical::{Canonical, decode_from_slice, encode_to_vec};
use crate::schema::{Schema, Shape};
use crate::value::Value;
use core::ops::Range;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

#[cfg(feature = "plan")]
pub use builder::{PlanBuilder, PlanRng};
pub use contract::{ContractFailure, PlanContract, PlanCounts};
pub use error::PlanError;
pub use package::{Package, PackageError};

/// Version of what a plan consists of, and of its signature. Part of the signature.
pub const PLAN_LAYOUT: u32 = 1;

/// Version of the generator that builders draw from: ChaCha with 8 rounds, and the methods of rand 0.10. Part of the
/// signature.
pub const PLAN_GENERATOR: u32 = 1;

/// A plan of events, compiled before play and never changed again.
///
/// Made by a [`PlanBuilder`], or read from text: both check it, so that what there is fits together. Events are
/// ordered by (tick, id). Ticks are business time: they count from the start of the plan and stand while it is paused.
///
/// # Determinism
///
/// The [signature](Self::signature) is over all that a game gets to see of a plan: versions, length, chapters, layers and
/// events. The name and the seed say where the plan comes from, and are left out: one content under two names is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "text::PlanText", into = "text::PlanText")]
pub struct Plan {
    name: String,
    seed: u64,
    versions: PlanVersions,
    ticks: u64,
    schema: Arc<Schema>,
    chapters: Vec<PlanChapter>,
    layers: Vec<PlanLayer>,
    events: Vec<PlanEvent>,
    signature: String,
}

/// What made a plan. All four are in its signature: one seed makes another plan where one of them differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanVersions {
    /// [`PLAN_LAYOUT`] of the crate that built it.
    pub layout: u32,
    /// [`PLAN_GENERATOR`] of the crate that built it.
    pub generator: u32,
    /// The game's version of its content: tables, missions.
    pub content: u32,
    /// The game's version of the code that builds plans.
    pub builder: u32,
}

/// What an event is to the contract of its plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, bevy_replay_macros::Canonical,
)]
#[canonical(crate = crate)]
pub enum EventClass {
    /// The plan cannot be completed without it.
    Required,
    /// It may be missed.
    Extra,
    /// It must be avoided.
    Risk,
}

/// One event of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanEvent {
    /// Given when the event was made, ascending from 0; it stays, wherever the event is put.
    pub id: u32,
    /// When it happens, in ticks since the start of the plan.
    pub tick: u64,
    /// What it is to the contract.
    pub class: EventClass,
    /// Which of the plan's [layers](Plan::layers) it belongs to.
    pub layer: Option<u32>,
    /// Version of the event, given by the game. Default: 1.
    pub version: u32,
    /// Name of the variant of the payload, or of its type.
    pub kind: String,
    /// The canonical bytes of the game's event.
    pub payload: Vec<u8>,
}

/// A window of time with events of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanLayer {
    /// Its name.
    pub name: String,
    /// The ticks in which its events happen.
    pub ticks: Range<u64>,
}

/// A part of a large plan, with a seed of its own: what is drawn for one moves nothing in another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanChapter {
    /// Its name.
    pub name: String,
    /// Its seed, which follows from the plan's and its name.
    pub seed: u64,
    /// The ids of its events.
    pub ids: Range<u32>,
    /// SHA-256 over its events, their ids counted from the chapter's first. Does not change with other chapters.
    pub signature: String,
}

impl Plan {
    /// Returns the name, as `mission 04`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the seed that the builder drew from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns what made the plan.
    #[must_use]
    pub fn versions(&self) -> PlanVersions {
        self.versions
    }

    /// Returns how many ticks the plan takes; all events come before that.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the encoding of the events.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the chapters, in the order in which they were built; none where the builder made none.
    #[must_use]
    pub fn chapters(&self) -> &[PlanChapter] {
        &self.chapters
    }

    /// Returns the layers.
    #[must_use]
    pub fn layers(&self) -> &[PlanLayer] {
        &self.layers
    }

    /// Returns the events, ascending by (tick, id).
    #[must_use]
    pub fn events(&self) -> &[PlanEvent] {
        &self.events
    }

    /// Returns the event with that id. Looks at one event after another.
    #[must_use]
    pub fn event(&self, id: u32) -> Option<&PlanEvent> {
        self.events.iter().find(|event| event.id == id)
    }

    /// Returns what the plan is: the SHA-256 over its content, in 64 hex digits.
    ///
    /// Over the bytes of `docs/plans.md`; frozen for each [`PLAN_LAYOUT`].
    #[must_use]
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// Names an event in reports: `mission 04 / event 018 / bomb / tick 112`.
    #[must_use]
    pub fn cite(&self, event: &PlanEvent) -> String {
        format!("{} / {}", self.name, self.cite_inside(event))
    }

    /// Names an event where the plan is named already.
    fn cite_inside(&self, event: &PlanEvent) -> String {
        let PlanEvent { id, tick, kind, .. } = event;
        let kind = kind.to_lowercase();
        match self.chapter_of(*id) {
            Some(index) => format!("{} / event {id:03} / {kind} / tick {tick}", self.chapters[index].name),
            None => format!("event {id:03} / {kind} / tick {tick}"),
        }
    }

    /// Finds the chapter of an event. The ids of chapters ascend.
    fn chapter_of(&self, id: u32) -> Option<usize> {
        let index = self.chapters.partition_point(|chapter| chapter.ids.end <= id);
        self.chapters.get(index).filter(|chapter| chapter.ids.contains(&id)).map(|_| index)
    }

    /// Returns the game's event.
    ///
    /// # Errors
    ///
    /// [`PlanError::OtherEvents`] if the plan holds events of another type.
    pub fn decode<E: Canonical>(&self, event: &PlanEvent) -> Result<E, PlanError> {
        let other = || PlanError::other_events(self, &E::schema());
        if !self.schema.same_encoding(&E::schema()) {
            return Err(other());
        }
        decode_from_slice(&event.payload).map_err(|_| other())
    }

    /// Builds a plan twice and returns it if both are the same: a builder that draws from a global generator, a clock or
    /// the order of a hash map is found before it is shipped.
    ///
    /// # Errors
    ///
    /// [`PlanError::NotReproducible`] naming the first event that differs; what the builder itself says.
    pub fn reproducible(build: impl Fn() -> Result<Self, PlanError>) -> Result<Self, PlanError> {
        let (first, second) = (build()?, build()?);
        if first.signature == second.signature {
            return Ok(first);
        }
        let pairs = first.events.iter().zip(&second.events);
        let place = match pairs.into_iter().find(|(a, b)| a != b) {
            Some((a, b)) => format!("first {}, then {}", first.shown(a), second.shown(b)),
            None => format!("first {} events, then {}", first.events.len(), second.events.len()),
        };
        Err(PlanError::NotReproducible { plan: first.name, place })
    }

    /// Cites an event, with what is in it: `mission 04 / event 018 / bomb / tick 112 Bomb(column: 3)`.
    #[must_use]
    pub fn shown(&self, event: &PlanEvent) -> String {
        format!("{} {}", self.cite(event), self.payload_text(event))
    }

    /// Writes the payload of an event as RON.
    fn payload_text(&self, event: &PlanEvent) -> String {
        Value::decode(&self.schema, &event.payload).map_or_else(|error| error.to_string(), |value| value.to_string())
    }

    /// Completes and checks what a builder or a text has put together.
    fn complete(mut self) -> Result<Self, PlanError> {
        self.events.sort_by_key(|event| (event.tick, event.id));
        let failures = contract::failures(&self);
        if !failures.is_empty() {
            return Err(PlanError::Contract { plan: self.name, failures });
        }
        self.sign_chapters();
        self.signature = self.computed_signature();
        Ok(self)
    }

    fn sign_chapters(&mut self) {
        let mut hashes = vec![Sha256::new(); self.chapters.len()];
        for event in &self.events {
            if let Some(index) = self.chapter_of(event.id) {
                hashes[index].update(event_bytes(event, self.chapters[index].ids.start));
            }
        }
        for (chapter, hash) in self.chapters.iter_mut().zip(hashes) {
            chapter.signature = hex(hash);
        }
    }

    /// What the signature is over; frozen for each layout.
    fn computed_signature(&self) -> String {
        let Self {
            name: _, // where it comes from, not what it is
            seed: _,
            versions: PlanVersions { layout, generator, content, builder },
            ticks,
            schema,
            chapters,
            layers,
            events,
            signature: _,
        } = self;
        let mut bytes = encode_to_vec(&"bevy_replay plan".to_owned());
        let schema = serde_json::to_string(schema).expect("a schema is plain data");
        bytes.extend(encode_to_vec(&(*layout, *generator, *content, *builder, *ticks, schema)));
        let chapters: Vec<(String, u32, u32, String)> = chapters
            .iter()
            .map(|PlanChapter { name, seed: _, ids, signature }| (name.clone(), ids.start, ids.end, signature.clone()))
            .collect();
        let layers: Vec<(String, u64, u64)> =
            layers.iter().map(|PlanLayer { name, ticks }| (name.clone(), ticks.start, ticks.end)).collect();
        bytes.extend(encode_to_vec(&(chapters, layers, events.len() as u64)));
        for event in events {
            bytes.extend(event_bytes(event, 0));
        }
        sha256(&bytes)
    }
}

fn event_bytes(event: &PlanEvent, id_first: u32) -> Vec<u8> {
    // The kind follows from the payload.
    let PlanEvent { id, tick, class, layer, version, kind: _, payload } = event;
    let class = match class {
        EventClass::Required => 0_u8,
        EventClass::Extra => 1,
        EventClass::Risk => 2,
    };
    encode_to_vec(&(*tick, id - id_first, class, *layer, *version, payload.clone()))
}

fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the variant, or of the type.
fn kind_of(schema: &Schema, payload: &[u8]) -> String {
    match Value::decode(schema, payload) {
        Ok(Value::Enum(variant, _)) => variant,
        _ => match schema.shape(Schema::ROOT) {
            Shape::Struct { name, .. } | Shape::Enum { name, .. } => name.clone(),
            _ => "event".into(),
        },
    }
}
