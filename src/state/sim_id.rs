//! The stable identity of a simulated entity.

use super::registry::unfiltered;
use bevy_ecs::component::RequiredComponentsError;
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::prelude::*;
use bevy_ecs::world::DeferredWorld;
use bevy_replay_tape::EntityIds;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The stable identity of a simulated entity: what an `Entity` is not from one run to the next.
///
/// Each entity with a registered authoritative type has one. Ids ascend in the order of spawning,
/// starting at 0. A game may insert ids of its own; later ones then start above them. Clones get new ids.
/// Where the order of a query matters, let it read the id and sort by it:
/// `Query<(&SimId, &mut Health)>`, `query.iter_mut().sort::<&SimId>()`.
#[derive(Component, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[component(immutable, clone_behavior = Ignore, on_insert = keep_ahead, on_remove = note_taken)]
pub struct SimId(pub u64);

/// Hands out sim ids. Shared with the constructors of required components, which see no world.
#[derive(Resource, Debug, Clone, Default)]
pub(crate) struct SimIds(Arc<Counter>);

#[derive(Debug, Default)]
struct Counter {
    next: AtomicU64,
    /// Whether a state is being restored.
    restoring: AtomicBool,
    /// Ids that were removed, and who had them.
    taken: Mutex<Vec<(u64, Entity)>>,
}

/// In ids that are given while a state is restored: whoever gets one is not part of that state.
const TRANSIENT: u64 = 1 << 63;

/// While this lives, new ids are transient.
pub(crate) struct Restoring(SimIds);

impl Drop for Restoring {
    fn drop(&mut self) {
        self.0.0.restoring.store(false, Ordering::Relaxed);
    }
}

impl SimIds {
    fn draw(&self) -> SimId {
        match self.0.restoring.load(Ordering::Relaxed) {
            false => SimId(self.0.next.fetch_add(1, Ordering::Relaxed)),
            true => SimId(self.0.next.fetch_add(1, Ordering::Relaxed) | TRANSIENT),
        }
    }

    pub(crate) fn restoring(&self) -> Restoring {
        self.0.restoring.store(true, Ordering::Relaxed);
        Restoring(self.clone())
    }

    pub(crate) fn set_next(&self, next: u64) {
        self.0.next.store(next, Ordering::Relaxed);
    }

    /// Ids that were removed since the last call, and who had them.
    pub(crate) fn taken(&self) -> Vec<(u64, Entity)> {
        self.0.taken.lock().map(|mut taken| core::mem::take(&mut *taken)).unwrap_or_default()
    }

    /// The id the next simulated entity gets.
    pub(crate) fn next(&self) -> u64 {
        self.0.next.load(Ordering::Relaxed)
    }
}

/// Keeps later ids above one that was inserted by hand.
fn keep_ahead(world: DeferredWorld, context: HookContext) {
    if let (Some(ids), Some(id)) = (world.get_resource::<SimIds>(), world.get::<SimId>(context.entity))
        && (id.0 & TRANSIENT == 0 || !ids.0.restoring.load(Ordering::Relaxed))
    {
        ids.0.next.fetch_max(id.0.saturating_add(1), Ordering::Relaxed);
    }
}

/// Remembers who lost an id: despawned entities may, others must not.
fn note_taken(world: DeferredWorld, context: HookContext) {
    if let (Some(ids), Some(id)) = (world.get_resource::<SimIds>(), world.get::<SimId>(context.entity))
        && let Ok(mut taken) = ids.0.taken.lock()
    {
        taken.push((id.0, context.entity));
    }
}

/// Gives each entity with a `T` a sim id, also those that exist already.
pub(crate) fn require<T: Component>(world: &mut World) {
    let ids = world.get_resource_or_init::<SimIds>().clone();
    if !matches!(
        world.try_register_required_components_with::<T, SimId>(move || ids.draw()),
        Err(RequiredComponentsError::ArchetypeExists(_))
    ) {
        return; // done, or the type requires a `SimId` already
    }
    // Bevy allows no new requirement once a type was spawned: give ids to what is there, and to what comes.
    let mut without = world.query_filtered::<Entity, (With<T>, Without<SimId>, Allow<Disabled>)>();
    let mut entities: Vec<Entity> = without.iter(world).collect();
    entities.sort_unstable_by_key(|entity| (entity.index_u32(), entity.generation().to_bits()));
    for entity in entities {
        give(world, entity);
    }
    world.add_observer(|added: On<Add<T>>, mut commands: Commands| {
        let entity = added.entity;
        commands.queue(move |world: &mut World| give(world, entity));
    });
}

fn give(world: &mut World, entity: Entity) {
    let id = world.resource::<SimIds>().clone();
    if let Ok(mut entity) = world.get_entity_mut(entity)
        && !entity.contains::<SimId>()
    {
        entity.insert(id.draw());
    }
}

/// Sim ids of a world's entities, for references inside canonical bytes.
pub(crate) struct WorldIds<'w> {
    pub(crate) world: &'w World,
    /// Entities by sim id; only where bytes are read back.
    pub(crate) entities: BTreeMap<u64, Entity>,
}

impl<'w> WorldIds<'w> {
    /// For reading bytes that hold entities. Looks at all simulated entities.
    pub(crate) fn reading(world: &'w mut World) -> Self {
        let mut all = unfiltered::<(Entity, &SimId), ()>(world);
        let entities = all.iter(world).map(|(entity, id)| (id.0, entity)).collect();
        Self { world, entities }
    }

    /// For writing canonical bytes.
    pub(crate) fn writing(world: &'w World) -> Self {
        Self { world, entities: BTreeMap::new() }
    }
}

impl EntityIds for WorldIds<'_> {
    fn sim_id(&self, entity_bits: u64) -> Option<u64> {
        let entity = Entity::try_from_bits(entity_bits)?;
        self.world.get::<SimId>(entity).map(|id| id.0)
    }

    fn entity_bits(&self, sim_id: u64) -> Option<u64> {
        self.entities.get(&sim_id).map(|entity| entity.to_bits())
    }
}
