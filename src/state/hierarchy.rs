//! Which simulated entities are children of which, in their order.

use super::lanes::{LaneSource, Scattered};
use super::purity::place_of;
use super::registry::unfiltered;
use super::roster::Roster;
use super::{SimId, StateError};
use bevy_ecs::change_detection::Tick;
use bevy_ecs::hierarchy::Children;
use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_ecs::resource::IsResource;
use bevy_replay_tape::{BlockDigests, EncodeNotes, Lane, Schema, Shape, TypeSpec};
use std::sync::Arc;

type ChildrenQuery = QueryState<(&'static SimId, Ref<'static, Children>), Without<IsResource>>;

/// One row for each simulated entity with simulated children: their ids, in their order.
///
/// Other children, as the sprites of a unit, do not count; nor does a parent that is not simulated.
pub(crate) struct HierarchyLane {
    spec: TypeSpec,
    query: Option<ChildrenQuery>,
    scattered: Scattered,
}

impl HierarchyLane {
    pub(crate) fn new() -> Self {
        let schema = Schema::build(|types| {
            types.define::<Vec<Entity>>(|types| Shape::List { item: types.define::<Entity>(|_| Shape::Entity) })
        });
        let spec = TypeSpec { name: "Children".into(), schema: Arc::new(schema) };
        Self { spec, query: None, scattered: Scattered::default() }
    }
}

/// The sim ids among some entities.
fn simulated(world: &World, entities: &[Entity]) -> impl Iterator<Item = u64> {
    entities.iter().filter_map(|entity| world.get::<SimId>(*entity).map(|id| id.0))
}

impl LaneSource for HierarchyLane {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn attach(&mut self, world: &mut World) {
        self.query = Some(unfiltered(world));
    }

    fn capture(
        &mut self,
        world: &World,
        _: &mut Roster,
        lane: &mut Lane,
        _: &mut EncodeNotes,
    ) -> Result<(), StateError> {
        let query = self.query.as_mut().expect("registries are frozen before the first capture");
        for (id, children) in query.iter(world) {
            let count = simulated(world, &children).count() as u64;
            if count > 0 {
                self.scattered.push(id.0, |bytes| {
                    bytes.extend_from_slice(&count.to_le_bytes());
                    simulated(world, &children).for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
                });
            }
        }
        self.scattered.settle(lane);
        Ok(())
    }

    fn update(
        &mut self,
        _: &World,
        _: &mut Roster,
        _: &mut Lane,
        _: &mut BlockDigests,
        _: Tick,
        _: &mut EncodeNotes,
    ) -> bool {
        false // a child that becomes simulated changes no tick of its parent
    }

    fn writer(&self, world: &World, entity: Entity) -> Option<String> {
        place_of(world.get_entity(entity).ok()?.get_changed_by::<Children>()?.into_option())
    }

    fn written_since(&mut self, world: &World, since: Tick) -> Option<(u64, Option<String>)> {
        let now = world.read_change_tick();
        let mut rows = self.query.as_mut()?.iter(world);
        let (id, children) = rows.find(|(_, children)| {
            // A sprite that comes or goes changes the component, too.
            children.last_changed().is_newer_than(since, now) && simulated(world, children).next().is_some()
        })?;
        Some((id.0, place_of(children.changed_by().into_option())))
    }
}
