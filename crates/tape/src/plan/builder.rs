//! Builds a plan: first what is required, then the rest; ids when an event is made, ticks when it is put somewhere.

use super::contract::ContractFailure;
use super::{
    EventClass, PLAN_GENERATOR, PLAN_LAYOUT, Plan, PlanChapter, PlanError, PlanEvent, PlanLayer, PlanVersions, kind_of,
};
use crate::canonical::{Canonical, encode_to_vec};
use core::convert::Infallible;
use core::fmt;
use core::ops::Range;
use rand::rand_core::{Rng, TryRng};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};

/// Builds a [`Plan`] before play.
///
/// Build in this order: the events without which the mission cannot be completed, the extra ones, their places, and then
/// the risk, where there is room. An event gets its id when it is made, so that shuffling and placing move no id.
///
/// # Determinism
///
/// Draw from [`rng`](Self::rng) alone: it belongs to this builder, and follows from the seed and the chapter.
/// [`Plan::reproducible`] finds a builder that draws from elsewhere.
///
/// # Examples
///
/// ```
/// use bevy_replay_tape::{Canonical, Plan, PlanBuilder, PlanError};
/// use rand::RngExt;
///
/// #[derive(Canonical)]
/// # #[canonical(crate = bevy_replay_tape)]
/// enum Throw { Apple { column: u8 }, Bomb { column: u8 } }
///
/// fn mission(seed: u64) -> Result<Plan, PlanError> {
///     let mut plan = PlanBuilder::new("mission 01", seed, 600).content_version(3).builder_version(1);
///     let apples: Vec<u32> = (0..5)
///         .map(|_| {
///             let column = plan.rng().random_range(0..8);
///             plan.require(Throw::Apple { column })
///         })
///         .collect();
///     plan.spread(&apples, 0..500, 30);
///     if let Some(tick) = plan.free_tick(0..500, 10) {
///         let bomb = plan.risk(Throw::Bomb { column: 0 });
///         plan.at(bomb, tick);
///     }
///     plan.build()
/// }
/// assert_eq!(mission(7)?.signature(), mission(7)?.signature());
/// assert_ne!(mission(7)?.signature(), mission(8)?.signature());
/// # Ok::<(), PlanError>(())
/// ```
pub struct PlanBuilder<E> {
    name: String,
    seed: u64,
    ticks: u64,
    content: u32,
    builder: u32,
    event_version: u32,
    drafts: Vec<Draft<E>>,
    chapters: Vec<PlanChapter>,
    layers: Vec<PlanLayer>,
    rng: PlanRng,
    failures: Vec<ContractFailure>,
}

/// An event whose place is still open.
struct Draft<E> {
    class: EventClass,
    version: u32,
    layer: Option<u32>,
    tick: Option<u64>,
    event: E,
}

/// The generator of a builder; one of the `rand` crate. Version [`PLAN_GENERATOR`].
#[derive(Debug, Clone)]
pub struct PlanRng(ChaCha8Rng);

impl PlanRng {
    /// Seeds it with SHA-256 over version, seed and chapter.
    fn new(seed: u64, chapter: &str) -> Self {
        let mut hash = Sha256::new_with_prefix("bevy_replay plan generator");
        hash.update(PLAN_GENERATOR.to_le_bytes());
        hash.update(seed.to_le_bytes());
        hash.update(chapter);
        Self(ChaCha8Rng::from_seed(hash.finalize().into()))
    }
}

impl TryRng for PlanRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl<E: Canonical> PlanBuilder<E> {
    /// Begins a plan of so many ticks.
    #[must_use]
    pub fn new(name: impl Into<String>, seed: u64, ticks: u64) -> Self {
        Self {
            name: name.into(),
            seed,
            ticks,
            content: 1,
            builder: 1,
            event_version: 1,
            drafts: Vec::new(),
            chapters: Vec::new(),
            layers: Vec::new(),
            rng: PlanRng::new(seed, ""),
            failures: Vec::new(),
        }
    }

    /// Says which content the plan is of; raise it when tables or missions change. Default: 1.
    #[must_use]
    pub fn content_version(self, content: u32) -> Self {
        Self { content, ..self }
    }

    /// Says which code builds the plan; raise it when that changes. Default: 1.
    #[must_use]
    pub fn builder_version(self, builder: u32) -> Self {
        Self { builder, ..self }
    }

    /// Says which version the events made from here on have. Default: 1.
    pub fn event_version(&mut self, version: u32) {
        self.event_version = version;
    }

    /// Returns the generator of the plan, or of the running chapter.
    pub fn rng(&mut self) -> &mut PlanRng {
        &mut self.rng
    }

    /// Begins a chapter: what is made from here on belongs to it, and is drawn from a seed of its own.
    ///
    /// What other chapters draw, or hold, does not change it, nor its signature.
    pub fn chapter(&mut self, name: impl Into<String>) {
        let name = name.into();
        let first = self.next_id();
        let mut rng = PlanRng::new(self.seed, &name);
        let seed = rng.next_u64();
        self.rng = PlanRng::new(seed, "");
        self.chapters.push(PlanChapter { name, seed, ids: first..first, signature: String::new() });
    }

    /// Adds a layer: a window of time with events of its own, which [`spread_in`](Self::spread_in) puts there.
    pub fn layer(&mut self, name: impl Into<String>, ticks: Range<u64>) -> u32 {
        self.layers.push(PlanLayer { name: name.into(), ticks });
        u32::try_from(self.layers.len() - 1).unwrap_or(u32::MAX)
    }

    /// Makes an event without which the plan cannot be completed; returns its id.
    pub fn require(&mut self, event: E) -> u32 {
        self.make(EventClass::Required, event)
    }

    /// Makes an event that may be missed; returns its id.
    pub fn add(&mut self, event: E) -> u32 {
        self.make(EventClass::Extra, event)
    }

    /// Makes an event that must be avoided; returns its id.
    pub fn risk(&mut self, event: E) -> u32 {
        self.make(EventClass::Risk, event)
    }

    fn make(&mut self, class: EventClass, event: E) -> u32 {
        let id = self.next_id();
        let version = self.event_version;
        self.drafts.push(Draft { class, version, layer: None, tick: None, event });
        if let Some(chapter) = self.chapters.last_mut() {
            chapter.ids.end = id + 1;
        }
        id
    }

    fn next_id(&self) -> u32 {
        u32::try_from(self.drafts.len()).unwrap_or(u32::MAX)
    }

    /// Puts an event at a tick.
    ///
    /// # Panics
    ///
    /// If this builder has not made the event.
    pub fn at(&mut self, id: u32, tick: u64) {
        self.draft(id).tick = Some(tick);
    }

    /// Puts events into a window in an order that is drawn, evenly and with at least `gap` ticks between two.
    ///
    /// Where they do not fit, [`build`](Self::build) says so.
    ///
    /// # Panics
    ///
    /// If this builder has not made one of the events.
    pub fn spread(&mut self, ids: &[u32], ticks: Range<u64>, gap: u64) {
        let mut ids = ids.to_vec();
        ids.shuffle(&mut self.rng);
        let length = ticks.end.saturating_sub(ticks.start).checked_div(ids.len() as u64).unwrap_or(0);
        let room = length.checked_sub(gap).filter(|_| length > 0);
        let Some(room) = room else {
            if !ids.is_empty() {
                self.failures.push(ContractFailure::NoRoom { events: ids.len(), ticks });
            }
            return;
        };
        for (id, slot) in ids.into_iter().zip(0..) {
            let tick = ticks.start + slot * length + self.rng.random_range(0..room.max(1));
            self.at(id, tick);
        }
    }

    /// Puts events into the window of a layer, as [`spread`](Self::spread) does, and makes them part of it.
    ///
    /// # Panics
    ///
    /// If this builder has not made the layer, or one of the events.
    pub fn spread_in(&mut self, layer: u32, ids: &[u32], gap: u64) {
        let ticks = self.layers[layer as usize].ticks.clone();
        for id in ids {
            self.draft(*id).layer = Some(layer);
        }
        self.spread(ids, ticks, gap);
    }

    /// Draws a tick of a window that is at least `clear` ticks from each event that has its place; `None` if there is
    /// none.
    pub fn free_tick(&mut self, ticks: Range<u64>, clear: u64) -> Option<u64> {
        let taken: Vec<u64> = self.drafts.iter().filter_map(|draft| draft.tick).collect();
        let free: Vec<u64> =
            ticks.filter(|tick| taken.iter().all(|taken| taken.abs_diff(*tick) >= clear.max(1))).collect();
        if free.is_empty() { None } else { Some(free[self.rng.random_range(0..free.len())]) }
    }

    /// Returns the events that have their place in a window, in the order in which they were made.
    pub fn placed(&self, ticks: Range<u64>) -> impl Iterator<Item = (u64, &E)> {
        let placed = self.drafts.iter().filter_map(|draft| Some((draft.tick?, &draft.event)));
        placed.filter(move |(tick, _)| ticks.contains(tick))
    }

    #[track_caller]
    fn draft(&mut self, id: u32) -> &mut Draft<E> {
        let count = self.drafts.len();
        let draft = self.drafts.get_mut(id as usize);
        draft.unwrap_or_else(|| panic!("event {id} was not made by this builder, which has {count} (use the id that `require`, `add` or `risk` has returned)"))
    }

    /// Signs the plan.
    ///
    /// # Errors
    ///
    /// [`PlanError::Contract`] if an event has no place, is beyond the end, or did not fit.
    pub fn build(self) -> Result<Plan, PlanError> {
        let Self { name, seed, ticks, content, builder, drafts, chapters, layers, mut failures, .. } = self;
        let schema = E::schema();
        if schema.has_entities() {
            return Err(PlanError::HasEntities { events: schema.to_string() });
        }
        let mut events = Vec::with_capacity(drafts.len());
        for (id, Draft { class, version, layer, tick, event }) in (0..).zip(drafts) {
            let payload = encode_to_vec(&event);
            let kind = kind_of(&schema, &payload);
            match tick {
                Some(tick) => events.push(PlanEvent { id, tick, class, layer, version, kind, payload }),
                None => failures.push(ContractFailure::NotPlaced { id, kind }),
            }
        }
        if !failures.is_empty() {
            return Err(PlanError::Contract { plan: name, failures });
        }
        let versions = PlanVersions { layout: PLAN_LAYOUT, generator: PLAN_GENERATOR, content, builder };
        let schema = schema.into();
        Plan { name, seed, versions, ticks, schema, chapters, layers, events, signature: String::new() }.complete()
    }
}

impl<E> fmt::Debug for PlanBuilder<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, seed, drafts, .. } = self;
        f.debug_struct("PlanBuilder")
            .field("name", name)
            .field("seed", seed)
            .field("events", &drafts.len())
            .finish_non_exhaustive()
    }
}
