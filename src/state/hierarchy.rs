//! Which simulated entities are children of which, in their order.

use super::SimId;
use super::lanes::{LaneSource, Scattered};
use super::purity::place_of;
use super::registry::unfiltered;
use super::restore::SimIndex;
use super::roster::Roster;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::hierarchy::Children;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::resource::IsResource;
use bevy_replay_tape::{
    BlockDigests, Canonical, DecodeError, EncodeNotes, Lane, NoEntities, Schema, Shape, Source, TypeSpec,
};
use core::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

type ChildrenQuery = QueryState<(&'static SimId, Ref<'static, Children>), Without<IsResource>>;

/// One row for each simulated entity with simulated children: their ids, in their order.
///
/// Other children, as the sprites of a unit, do not count; nor does a parent that is not simulated.
pub(crate) struct HierarchyLane {
    spec: TypeSpec,
    query: Option<ChildrenQuery>,
    scattered: Scattered,
    /// Each parent at the last capture, and a fingerprint of its simulated children.
    known: Vec<(u64, u64)>,
}

impl HierarchyLane {
    pub(crate) fn new() -> Self {
        let schema = Schema::build(|types| {
            types.define::<Vec<Entity>>(|types| Shape::List { item: types.define::<Entity>(|_| Shape::Entity) })
        });
        let spec = TypeSpec { name: "Children".into(), schema: Arc::new(schema) };
        Self { spec, query: None, scattered: Scattered::default(), known: Vec::new() }
    }
}

/// The sim ids among some entities.
fn simulated(world: &World, entities: &[Entity]) -> impl Iterator<Item = u64> {
    entities.iter().filter_map(|entity| world.get::<SimId>(*entity).map(|id| id.0))
}

/// FNV-1a over the sim ids, for telling whether they have changed.
fn fingerprint(world: &World, children: &[Entity]) -> u64 {
    simulated(world, children).fold(0xCBF2_9CE4_8422_2325, |sum, id| (sum ^ id).wrapping_mul(0x0100_0000_01B3))
}

/// The children of each parent.
fn families(lane: &Lane) -> Result<BTreeMap<u64, Vec<u64>>, DecodeError> {
    let row = |(row, id): (usize, &u64)| {
        let children = Vec::decode(&mut Source::new(lane.rows.row(row), &NoEntities))?;
        Ok((*id, children))
    };
    lane.ids.iter().enumerate().map(row).collect()
}

impl LaneSource for HierarchyLane {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn of(&self) -> TypeId {
        TypeId::of::<Children>()
    }

    fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
    }

    fn select(&mut self, _: &World, _: &mut Roster, _: &mut Lane, _: &mut BlockDigests) {}

    // Reads all, whatever `since` says: a child that becomes simulated changes no tick of its parent.
    fn capture(
        &mut self,
        world: &World,
        _: &Roster,
        lane: &mut Lane,
        blocks: &mut BlockDigests,
        _: Option<Tick>,
        _: &mut EncodeNotes,
    ) {
        blocks.forget_all();
        let query = self.query.as_mut().expect("registries are frozen before the first capture");
        self.known.clear();
        for (id, children) in query.iter(world) {
            let count = simulated(world, &children).count() as u64;
            if count > 0 {
                self.known.push((id.0, fingerprint(world, &children)));
                self.scattered.push(id.0, |bytes| {
                    bytes.extend_from_slice(&count.to_le_bytes());
                    simulated(world, &children).for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
                });
            }
        }
        self.known.sort_unstable();
        self.scattered.settle(lane);
    }

    fn restore(&self, world: &mut World, index: &SimIndex, wanted: &Lane, now: &Lane) -> Result<(), DecodeError> {
        let (wanted, now) = (families(wanted)?, families(now)?);
        let parent_of = |families: &BTreeMap<u64, Vec<u64>>| -> BTreeMap<u64, u64> {
            families.iter().flat_map(|(parent, children)| children.iter().map(|child| (*child, *parent))).collect()
        };
        let (parents, parents_now) = (parent_of(&wanted), parent_of(&now));
        for child in parents_now.keys().filter(|child| !parents.contains_key(child)) {
            if let Some(child) = index.get(*child) {
                world.entity_mut(child).remove::<ChildOf>();
            }
        }
        for (child, parent) in parents.iter().filter(|(child, parent)| parents_now.get(child) != Some(parent)) {
            if let (Some(child), Some(parent)) = (index.get(*child), index.get(*parent)) {
                world.entity_mut(child).insert(ChildOf(parent));
            }
        }
        for (parent, children) in wanted {
            let order: BTreeMap<Entity, usize> =
                children.iter().zip(1..).filter_map(|(child, place)| Some((index.get(*child)?, place))).collect();
            if let Some(mut children) = index.get(parent).and_then(|parent| world.get_mut::<Children>(parent)) {
                children.sort_by_key(|child| order.get(child).copied().unwrap_or(0));
            }
        }
        Ok(())
    }

    fn writer(&self, world: &World, entity: Entity) -> Option<String> {
        place_of(world.get_entity(entity).ok()?.get_changed_by::<Children>()?.into_option())
    }

    fn written_since(&mut self, world: &World, since: Tick) -> Option<(u64, Option<String>)> {
        let now = world.read_change_tick();
        let mut rows = self.query.as_mut()?.iter(world);
        let known = &self.known;
        let (id, children) = rows.find(|(id, children)| {
            // A sprite that comes or goes changes the component, too.
            let row = (id.0, fingerprint(world, children));
            let place = known.partition_point(|known| *known < row);
            let was_parent = known.iter().skip(place.saturating_sub(1)).take(2).any(|known| known.0 == id.0);
            children.last_changed().is_newer_than(since, now)
                && known.get(place) != Some(&row)
                && (was_parent || simulated(world, children).next().is_some())
        })?;
        Some((id.0, place_of(children.changed_by().into_option())))
    }
}
