//! What a tape says of itself.

use crate::image::DIGEST_VERSION;
use crate::schema::Schema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version of the tape format that this crate writes. 0 is provisional: its tapes are not kept readable.
pub const FORMAT_VERSION: u32 = 0;

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
    pub game_version: String,
    /// Version of `bevy_replay`.
    pub crate_version: String,
    /// Version of Bevy.
    pub bevy_version: String,
    /// Target triple or `architecture-system` the recorder ran on.
    pub target: String,
    /// Features that change results, such as `libm`.
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
    /// Recorded inputs, ascending by name.
    pub tracks: Vec<TypeSpec>,
    /// Authoritative components, ascending by name.
    pub lanes: Vec<TypeSpec>,
    /// Authoritative resources, ascending by name.
    pub resources: Vec<TypeSpec>,
    /// Fingerprints of content given by the game.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub content: BTreeMap<String, String>,
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

impl Default for Header {
    fn default() -> Self {
        Self::new("")
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
            tracks: Vec::new(),
            lanes: Vec::new(),
            resources: Vec::new(),
            content: BTreeMap::new(),
            notes: String::new(),
        }
    }

    /// Returns `my_game 0.4.1 rules 3, x86_64-linux`.
    #[must_use]
    pub fn origin(&self) -> String {
        let Self { game, game_version, rules, target, .. } = self;
        let space = if game_version.is_empty() { "" } else { " " };
        format!("{game}{space}{game_version} rules {rules}, {target}")
    }
}

/// 64-bit values as 16 hex digits: readable, and safe in JSON, whose numbers end at 2^53.
pub(super) mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::tape) fn serialize<S: Serializer>(value: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{value:016X}"))
    }

    pub(in crate::tape) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
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
            content,
            notes: _,
        } = self;
        let mut found = Vec::new();
        let mut compare = |field: &str, expected: String, got: String, refused: bool| {
            if expected != got {
                found.push(HeaderDifference { field: field.into(), expected, got, refused });
            }
        };
        compare("game", format!("`{game}`"), format!("`{}`", got.game), true);
        compare("rules", rules.to_string(), got.rules.to_string(), true);
        compare("digest version", digest_version.to_string(), got.digest_version.to_string(), true);
        compare("timestep", format!("{timestep_ns} ns"), format!("{} ns", got.timestep_ns), true);
        compare_types(&mut compare, "input", tracks, &got.tracks);
        compare_types(&mut compare, "type", lanes, &got.lanes);
        compare_types(&mut compare, "resource", resources, &got.resources);
        compare("seed", format!("{seed:016X}"), format!("{:016X}", got.seed), false);
        compare("game version", game_version.clone(), got.game_version.clone(), false);
        compare("bevy_replay", crate_version.clone(), got.crate_version.clone(), false);
        compare("Bevy", bevy_version.clone(), got.bevy_version.clone(), false);
        compare("target", target.clone(), got.target.clone(), false);
        compare("features", listed(features), listed(&got.features), false);
        let fingerprints = |content: &BTreeMap<String, String>| {
            listed(&content.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>())
        };
        compare("content", fingerprints(content), fingerprints(&got.content), false);
        found
    }
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

fn compare_types(
    compare: &mut impl FnMut(&str, String, String, bool),
    kind: &str,
    expected: &[TypeSpec],
    got: &[TypeSpec],
) {
    let names: std::collections::BTreeSet<&str> = expected.iter().chain(got).map(|spec| spec.name.as_str()).collect();
    for name in names {
        let of = |specs: &'_ [TypeSpec]| specs.iter().find(|spec| spec.name == name).map(|spec| spec.schema.clone());
        let text = |schema: &Option<Arc<Schema>>| {
            schema.as_ref().map_or_else(|| "none of that name".into(), |schema| format!("`{schema}`"))
        };
        let (a, b) = (of(expected), of(got));
        if let (Some(a), Some(b)) = (&a, &b)
            && a.same_encoding(b)
        {
            continue;
        }
        compare(&format!("{kind} {name}"), text(&a), text(&b), true);
    }
}
