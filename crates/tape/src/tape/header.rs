//! What a tape says of itself.

use crate::image::DIGEST_VERSION;
use crate::plan::Plan;
use crate::schema::{Resolution, ResolveError, Schema};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Version of the tape format that this crate writes. Every later version of this crate reads it.
pub const FORMAT_VERSION: u32 = 1;

/// What a tape says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Version of the rules that make a digest.
    pub digest_version: u32,
    /// Which game; a tape of another game is refused.
    pub game: String,
    /// Which rules of that game; raised by its authors when old tapes stop being valid.
    pub rules: u32,
    /// Version of the game, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub game_version: String,
    /// Version of `bevy_replay`.
    pub crate_version: String,
    /// Version of Bevy.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bevy_version: String,
    /// Target triple or `architecture-system` the recorder ran on.
    pub target: String,
    /// Features that change results, such as `libm`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Length of the first tick in nanoseconds.
    pub timestep_ns: u64,
    /// The game's master seed.
    #[serde(with = "hex")]
    pub seed: u64,
    /// The first tick on the tape, counted from the start gate.
    pub tick_first: u64,
    /// `Time<Fixed>`'s elapsed time before the first tick, in nanoseconds.
    pub elapsed_ns: u64,
    /// How a replay gets to the first tick.
    pub start: Start,
    /// After how many ticks each a root digest is on the tape. Default: 1, each tick.
    #[serde(skip_serializing_if = "is_one")]
    pub root_interval: u64,
    /// Recorded inputs, ascending by name.
    pub tracks: Vec<TypeSpec>,
    /// Authoritative components, ascending by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<TypeSpec>,
    /// Authoritative resources, ascending by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<TypeSpec>,
    /// Event plans by which the recording was played.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanOnTape>,
    /// Fingerprints of content given by the game.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub content: BTreeMap<String, String>,
    /// What the state must be, one [`Expectation`](crate::Expectation) a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<String>,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// How a replay gets to the first tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Start {
    /// The app gets there by itself; its state is compared with the tape's.
    #[default]
    Gate,
    /// The initial image is restored.
    Image,
}

/// A recorded or authoritative type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeSpec {
    /// Its name.
    pub name: String,
    /// Its encoding.
    pub schema: Arc<Schema>,
}

/// An event plan by which a recording was played: stored, or named by its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOnTape {
    /// Name of the type of its events.
    pub events: String,
    /// Name of the plan.
    pub name: String,
    /// Its [signature](Plan::signature).
    pub signature: String,
    /// The plan, where it is stored on the tape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<Plan>>,
}

/// `mission 04, signature 1f2e…`
impl core::fmt::Display for PlanOnTape {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, signature {}", self.name, self.signature)
    }
}

/// What a field that a tape does not have stands for: unknown where that is possible.
impl Default for Header {
    fn default() -> Self {
        Self { crate_version: String::new(), target: String::new(), ..Self::new("") }
    }
}

impl Header {
    /// Makes a header for a game, 64 ticks a second from tick 0.
    #[must_use]
    pub fn new(game: impl Into<String>) -> Self {
        Self {
            format: FORMAT_VERSION,
            digest_version: DIGEST_VERSION,
            game: game.into(),
            rules: 0,
            game_version: String::new(),
            crate_version: env!("CARGO_PKG_VERSION").into(),
            bevy_version: String::new(),
            target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            features: Vec::new(),
            timestep_ns: 15_625_000,
            seed: 0,
            tick_first: 0,
            elapsed_ns: 0,
            start: Start::Gate,
            root_interval: 1,
            tracks: Vec::new(),
            lanes: Vec::new(),
            resources: Vec::new(),
            plans: Vec::new(),
            content: BTreeMap::new(),
            expectations: Vec::new(),
            notes: String::new(),
        }
    }

    /// Returns `my_game 0.4.1 rules 3, x86_64-linux`.
    #[must_use]
    pub fn origin(&self) -> String {
        let Self { game, game_version, rules, target, .. } = self;
        let game = if game.is_empty() { "unknown game" } else { game };
        let space = if game_version.is_empty() { "" } else { " " };
        let comma = if target.is_empty() { "" } else { ", " };
        format!("{game}{space}{game_version} rules {rules}{comma}{target}")
    }
}

fn is_one(interval: &u64) -> bool {
    *interval == 1
}

/// 64-bit values as 16 hex digits: readable, and safe in JSON, whose numbers end at 2^53.
pub(crate) mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{value:016X}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
        let text = String::deserialize(input)?;
        u64::from_str_radix(&text, 16)
            .map_err(|_| D::Error::custom(format!("`{text}` is no hexadecimal number of 64 bits")))
    }
}

/// One thing two headers disagree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderDifference {
    /// What it is, as `rules` or `type Velocity`.
    pub field: String,
    /// What the tape says.
    pub expected: String,
    /// What the replaying side says.
    pub got: String,
    /// Whether the tape is refused for it; everything else is information for a report.
    pub refused: bool,
}

impl core::fmt::Display for HeaderDifference {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: the tape has {}, this app has {}", self.field, self.expected, self.got)
    }
}

impl Header {
    /// Returns what differs; `self` is the tape's header, `got` that of the app or tape beside it.
    #[must_use]
    pub fn differences(&self, got: &Self) -> Vec<HeaderDifference> {
        let Self {
            format: _,     // two readable formats hold the same tape
            tick_first: _, // where a tape starts is not a property of the app
            elapsed_ns: _,
            start: _,
            root_interval: _, // a matter of size
            digest_version,
            game,
            rules,
            game_version,
            crate_version,
            bevy_version,
            target,
            features,
            timestep_ns,
            seed,
            tracks,
            lanes,
            resources,
            plans,
            content,
            expectations: _,
            notes: _,
        } = self;
        let differs = |field: &str, expected: String, got: String, refused: bool| {
            (expected != got).then(|| HeaderDifference { field: field.into(), expected, got, refused })
        };
        let refused = |field: &str, expected: String, got: String| differs(field, expected, got, true);
        let told = |field: &str, expected: String, got: String| differs(field, expected, got, false);
        // What one side does not say is no difference.
        let known = |field: &str, expected: &str, got: &str| {
            if expected.is_empty() || got.is_empty() { None } else { told(field, expected.into(), got.into()) }
        };
        let fingerprints = |content: &BTreeMap<String, String>| {
            listed(&content.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>())
        };
        let mut found: Vec<HeaderDifference> = Vec::new();
        found.extend(refused("game", format!("`{game}`"), format!("`{}`", got.game)));
        found.extend(refused("rules", rules.to_string(), got.rules.to_string()));
        found.extend(refused("digest version", digest_version.to_string(), got.digest_version.to_string()));
        found.extend(refused("timestep", format!("{timestep_ns} ns"), format!("{} ns", got.timestep_ns)));
        found.extend(type_differences("input", tracks, &got.tracks));
        found.extend(type_differences("type", lanes, &got.lanes));
        found.extend(type_differences("resource", resources, &got.resources));
        found.extend(plan_differences(plans, &got.plans));
        found.extend(told("seed", format!("{seed:016X}"), format!("{:016X}", got.seed)));
        found.extend(known("game version", game_version, &got.game_version));
        found.extend(known("bevy_replay", crate_version, &got.crate_version));
        found.extend(known("Bevy", bevy_version, &got.bevy_version));
        found.extend(known("target", target, &got.target));
        found.extend(told("features", listed(features), listed(&got.features)));
        found.extend(told("content", fingerprints(content), fingerprints(&got.content)));
        found
    }
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

/// A side with more plans can play those of the other.
fn plan_differences(expected: &[PlanOnTape], got: &[PlanOnTape]) -> Vec<HeaderDifference> {
    let types: BTreeSet<&str> = expected.iter().map(|plan| &*plan.events).collect();
    let difference = |events: &str| {
        let got: Vec<&PlanOnTape> = got.iter().filter(|plan| plan.events == events).collect();
        let is_missing = |plan: &&PlanOnTape| got.iter().all(|other| other.signature != plan.signature);
        let missing: Vec<&PlanOnTape> =
            expected.iter().filter(|plan| plan.events == events).filter(is_missing).collect();
        // The plan of that name says more than a list of all.
        let namesakes: Vec<&PlanOnTape> =
            got.iter().filter(|plan| missing.iter().any(|other| other.name == plan.name)).copied().collect();
        let namesakes = if namesakes.is_empty() { &got } else { &namesakes };
        let shown = |plans: &[&PlanOnTape]| listed(&plans.iter().map(ToString::to_string).collect::<Vec<_>>());
        (!missing.is_empty()).then(|| HeaderDifference {
            field: format!("plan {events}"),
            expected: shown(&missing),
            got: shown(namesakes),
            refused: true,
        })
    };
    types.into_iter().filter_map(difference).collect()
}

fn type_differences(kind: &str, expected: &[TypeSpec], got: &[TypeSpec]) -> Vec<HeaderDifference> {
    let by_name = |specs: &'_ [TypeSpec]| -> BTreeMap<String, Arc<Schema>> {
        specs.iter().map(|spec| (spec.name.clone(), spec.schema.clone())).collect()
    };
    let (expected, got) = (by_name(expected), by_name(got));
    let names: BTreeSet<&String> = expected.keys().chain(got.keys()).collect();
    let text = |schema: Option<&Arc<Schema>>| schema.map_or("none of that name".into(), |schema| format!("`{schema}`"));
    let difference = |name: &String| {
        let (a, b) = (expected.get(name), got.get(name));
        let row =
            |refused| HeaderDifference { field: format!("{kind} {name}"), expected: text(a), got: text(b), refused };
        let Some((old, new)) = a.zip(b) else { return Some(row(true)) };
        match Resolution::new(old, new) {
            Ok(resolution) if resolution.is_identity() => None,
            // Inputs are converted. Digests cannot be: those of the tape are of the older bytes.
            Ok(_) => Some(row(kind != "input")),
            Err(ResolveError { path, expected, got }) => {
                let field = if path.is_empty() { format!("{kind} {name}") } else { format!("{kind} {name}.{path}") };
                Some(HeaderDifference {
                    field,
                    expected: format!("`{expected}`"),
                    got: format!("`{got}`"),
                    refused: true,
                })
            }
        }
    };
    names.into_iter().filter_map(difference).collect()
}
