//! The one walk over the world: from components and resources to an image.

use super::StateError;
use super::registry::Registry;
use super::restore::RowOrder;
use super::roster::Roster;
use super::sim_id::SimIds;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{BlockDigests, Canonical, Digest, EncodeNotes, Image, Lane, ResourceState, Value};
use bevy_tasks::ComputeTaskPool;
use std::collections::BTreeSet;

/// Captures images into memory it keeps.
#[derive(Default)]
pub(crate) struct Capturer {
    roster: Roster,
    /// The latest image.
    pub(crate) image: Image,
    /// Its digest.
    pub(crate) digest: Digest,
    /// The image before and what was known of it, where somebody asked to keep it.
    before: Option<(Image, Vec<BlockDigests>)>,
    /// The hashes of each lane's rows, as far as they have not changed.
    known: Vec<BlockDigests>,
    /// The change tick after the last capture, where change ticks are trusted.
    pub(crate) trusted_since: Option<Tick>,
    /// Most rows each lane had.
    pub(crate) rows_max: Vec<usize>,
    /// Which resource holds the next sim id.
    sim_ids_at: usize,
    /// What was met while each lane was written.
    lane_notes: Vec<EncodeNotes>,
    /// Types for which a NaN or a dangling reference was noted.
    noted: BTreeSet<(&'static str, usize)>,
    /// What was noted, in words.
    pub(crate) notes: Vec<String>,
}

/// Other threads help where they take over so many bytes of rows, and more; below that it takes longer to wake them.
const SHARED_BYTES: usize = 250_000;

/// The threads that help, if this process has some.
fn helpers() -> Option<&'static ComputeTaskPool> {
    bevy_tasks::cfg::multi_threaded! {
        if { ComputeTaskPool::try_get() } else { None }
    }
}

/// Name of the built-in resource that holds the next sim id.
pub(crate) const SIM_IDS: &str = "SimIds";

impl Capturer {
    pub(crate) fn attach(&mut self, world: &mut World, registry: &Registry) {
        self.roster.attach(world);
        let specs = registry.lanes.iter().map(|lane| lane.spec());
        self.image.lanes = specs.map(|spec| Lane::new(&*spec.name, spec.schema.clone())).collect();
        self.rows_max = vec![0; registry.lanes.len()];
        self.lane_notes = vec![EncodeNotes::default(); registry.lanes.len()];
        self.known = vec![BlockDigests::default(); registry.lanes.len()];
        let specs = registry.resources.iter().map(|resource| resource.spec());
        self.image.resources = specs.map(|spec| ResourceState::new(&*spec.name, spec.schema.clone())).collect();
        self.image.resources.push(ResourceState::new(SIM_IDS, u64::schema().into()));
        self.image.resources.sort_by(|a, b| a.name.cmp(&b.name));
        self.sim_ids_at = self.image.resources.iter().position(|state| &*state.name == SIM_IDS).unwrap_or_default();
    }

    /// Keeps the image before the latest from now on, or no longer.
    pub(crate) fn keep_before(&mut self, keeps: bool) {
        self.before = keeps.then(|| (self.image.clone(), self.known.clone()));
    }

    /// The image before the latest, if it is kept.
    pub(crate) fn before(&self) -> Option<&Image> {
        self.before.as_ref().map(|(image, _)| image)
    }

    /// Takes an image of the world as it is after `tick` ticks, and its digest.
    pub(crate) fn capture(&mut self, world: &World, registry: &mut Registry, tick: u64) -> Result<(), StateError> {
        let roster = self.roster.update(world)?; // where this fails the images stay as they are
        if let Some((before, known)) = &mut self.before {
            core::mem::swap(before, &mut self.image);
            core::mem::swap(known, &mut self.known);
            self.trusted_since = None; // this memory holds the state before the last one
        }
        self.image.tick = tick;
        self.image.roster = roster;
        self.capture_lanes(world, registry);
        let mut own = registry.resources.iter();
        for (index, state) in self.image.resources.iter_mut().enumerate() {
            if index == self.sim_ids_at {
                state.present = true;
                state.bytes.clear();
                state.bytes.extend_from_slice(&world.resource::<SimIds>().next().to_le_bytes());
            } else if let Some(source) = own.next() {
                let mut notes = EncodeNotes::default();
                source.capture(world, state, &mut notes);
                if notes.nan_count > 0 && self.noted.insert(("resource", index)) {
                    self.notes.push(format!(
                        "NaN in {} after tick {tick}: it has one canonical form, so its payload is not compared",
                        state.name
                    ));
                }
                if notes.dangling_count > 0 && self.noted.insert(("dangling resource", index)) {
                    self.notes.push(format!(
                        "{} points at no simulated entity after tick {tick}: recorded as none",
                        state.name
                    ));
                }
            }
        }
        self.image.digest_known(&mut self.digest, &mut self.known);
        Ok(())
    }

    /// Writes the rows of all types.
    fn capture_lanes(&mut self, world: &World, registry: &mut Registry) {
        let Self { roster, image, known, trusted_since, lane_notes, .. } = self;
        for ((source, lane), known) in registry.lanes.iter_mut().zip(&mut image.lanes).zip(&mut *known) {
            source.select(world, roster, lane, known);
        }
        let (roster, since) = (&*roster, *trusted_since);
        lane_notes.fill(EncodeNotes::default());
        // As many as the last time; the largest type stays with this thread.
        let bytes = image.lanes.iter().map(|lane| lane.rows.bytes().len());
        let largest = bytes.clone().enumerate().max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
        let shares = !registry.on_one_thread && bytes.sum::<usize>() - largest.1 >= SHARED_BYTES;
        let lanes = registry.lanes.iter_mut().zip(&mut image.lanes).zip(known).zip(lane_notes);
        let work = lanes
            .map(|(((source, lane), known), notes)| move || source.capture(world, roster, lane, known, since, notes));
        match helpers().filter(|_| shares) {
            Some(pool) => drop(pool.scope(|scope| {
                let mut own = None;
                for (index, mut work) in work.enumerate() {
                    match index == largest.0 {
                        true => own = Some(work),
                        false => scope.spawn(async move { work() }),
                    }
                }
                own.into_iter().for_each(|mut work| work());
            })),
            None => work.for_each(|mut work| work()),
        }
        for index in 0..registry.lanes.len() {
            self.rows_max[index] = self.rows_max[index].max(self.image.lanes[index].ids.len());
            let notes = self.lane_notes[index];
            if notes != EncodeNotes::default() {
                self.note_lane(index, notes);
            }
        }
    }

    /// In which order the rows of the latest image stand in their tables.
    pub(crate) fn row_order(&self) -> RowOrder {
        self.roster.order()
    }

    /// Says once per type which entity holds a NaN, or a reference to something that is not simulated.
    fn note_lane(&mut self, index: usize, notes: EncodeNotes) {
        let lane = &self.image.lanes[index];
        let first = |wanted: &dyn Fn(&Value) -> bool| {
            let holds = |id: &&u64| lane.value(**id).ok().flatten().is_some_and(|value| wanted(&value));
            lane.ids.iter().find(holds).copied().unwrap_or_default()
        };
        let tick = self.image.tick;
        if notes.nan_count > 0 && self.noted.insert(("NaN", index)) {
            let id = first(&Value::has_nan);
            self.notes.push(format!(
                "NaN in {} of sim:{id} after tick {tick}: it has one canonical form, so its payload is not compared",
                lane.name
            ));
        }
        if notes.dangling_count > 0 && self.noted.insert(("dangling", index)) {
            let id = first(&Value::has_dangling);
            self.notes.push(format!(
                "{} of sim:{id} points at no simulated entity after tick {tick}: recorded as none",
                lane.name
            ));
        }
    }
}
