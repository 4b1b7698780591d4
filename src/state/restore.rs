//! From an image back to a world.
//!
//! In this order: missing entities, values (only what differs), relations, what is left over, resources, the
//! counter of sim ids, the order of rows. Then the state is captured anew and compared.

use super::StateError;
use super::capture::{Capturer, SIM_IDS};
use super::registry::{Registry, unfiltered};
use super::sim_id::{SimId, SimIds};
use bevy_ecs::component::{ComponentMutability, Immutable, Mutable};
use bevy_ecs::prelude::*;
use bevy_replay_tape::{DecodeError, Difference, EntityIds, Image};
use std::collections::BTreeMap;

/// Why a state cannot be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A type of the image is not registered in the app.
    #[error("the saved state holds {name}, which the app has not registered (register it as when the state was saved)")]
    Unregistered {
        /// Name of the type.
        name: String,
    },
    /// A type of the app is not in the image.
    #[error(
        "the saved state holds no {name}, which the app has registered (start from a state that was saved with it)"
    )]
    NotSaved {
        /// Name of the type.
        name: String,
    },
    /// A type has other fields in the image than in the app.
    #[error(
        "{name} has other fields in the saved state than in the app (start from a state that was saved with these)"
    )]
    OtherFields {
        /// Name of the type.
        name: String,
    },
    /// A value cannot be read.
    #[error("{name} of the saved state cannot be read: {error}")]
    BadValue {
        /// Name of the type.
        name: String,
        /// What is wrong.
        error: DecodeError,
    },
    /// The world does not keep what was written into it.
    #[error(
        "the state was written back, but {} is {} instead of {} (a hook or an observer of a registered type changes it)",
        difference.place(), difference.got, difference.expected
    )]
    NotKept {
        /// The first difference.
        difference: Box<Difference>,
    },
    /// The state cannot be captured.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Entities by their sim ids.
#[derive(Default)]
pub(crate) struct SimIndex(BTreeMap<u64, Entity>);

impl SimIndex {
    pub(crate) fn of(world: &mut World) -> Self {
        let mut all = unfiltered::<(Entity, &SimId), ()>(world);
        Self(all.iter(world).map(|(entity, id)| (id.0, entity)).collect())
    }

    pub(crate) fn get(&self, id: u64) -> Option<Entity> {
        self.0.get(&id).copied()
    }
}

impl EntityIds for SimIndex {
    fn sim_id(&self, _: u64) -> Option<u64> {
        None // only for reading
    }
    fn entity_bits(&self, sim_id: u64) -> Option<u64> {
        self.get(sim_id).map(Entity::to_bits)
    }
}

/// How a component is overwritten: in place, or by insertion where it is immutable. Resources are components, too.
#[doc(hidden)]
pub trait WriteBack<T: Component>: ComponentMutability {
    /// Overwrites the component, or inserts it.
    fn write_back(
        entity: &mut EntityWorldMut<'_>,
        in_place: impl FnOnce(&mut T) -> Result<(), DecodeError>,
        new: impl FnOnce() -> Result<T, DecodeError>,
    ) -> Result<(), DecodeError>;
}

impl<T: Component<Mutability = Mutable>> WriteBack<T> for Mutable {
    fn write_back(
        entity: &mut EntityWorldMut<'_>,
        in_place: impl FnOnce(&mut T) -> Result<(), DecodeError>,
        new: impl FnOnce() -> Result<T, DecodeError>,
    ) -> Result<(), DecodeError> {
        match entity.get_mut::<T>() {
            Some(mut value) => in_place(&mut value),
            None => {
                entity.insert(new()?);
                Ok(())
            }
        }
    }
}

impl<T: Component<Mutability = Immutable>> WriteBack<T> for Immutable {
    fn write_back(
        entity: &mut EntityWorldMut<'_>,
        _: impl FnOnce(&mut T) -> Result<(), DecodeError>,
        new: impl FnOnce() -> Result<T, DecodeError>,
    ) -> Result<(), DecodeError> {
        entity.insert(new()?);
        Ok(())
    }
}

/// In which order the rows of tables stand: it is what a query without `sort` visits.
///
/// Tables whose rows are in the order of their ids are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RowOrder(pub(crate) Vec<Vec<u64>>);

impl RowOrder {
    pub(crate) fn size_bytes(&self) -> usize {
        self.0.iter().map(|table| 8 * table.len() + 24).sum()
    }
}

/// Puts a state into the world. Leaves the capturer with an image of it.
pub(crate) fn restore(
    world: &mut World,
    registry: &mut Registry,
    capturer: &mut Capturer,
    image: &Image,
    order: &RowOrder,
) -> Result<(), RestoreError> {
    capturer.trusted_since = None;
    capturer.capture(world, registry, image.tick)?;
    let now = capturer.image.clone();
    check_types(&now, image)?;

    let ids = world.resource::<SimIds>().clone();
    let restoring = ids.restoring();
    let written = write(world, registry, &now, image);
    drop(restoring);
    written?;
    reorder(world, order);
    world.resource::<SimIds>().taken();

    capturer.capture(world, registry, image.tick)?;
    if capturer.digest.root != image.digest().root {
        let difference = image.diff(&capturer.image).into_iter().next();
        if let Some(difference) = difference.map(Box::new) {
            return Err(RestoreError::NotKept { difference });
        }
    }
    Ok(())
}

fn check_types(now: &Image, image: &Image) -> Result<(), RestoreError> {
    let types = |image: &Image| -> Vec<(String, _)> {
        let lanes = image.lanes.iter().map(|lane| (lane.name.to_string(), lane.schema.clone()));
        lanes.chain(image.resources.iter().map(|state| (state.name.to_string(), state.schema.clone()))).collect()
    };
    let (here, there) = (types(now), types(image));
    for (name, schema) in &there {
        match here.iter().find(|(other, _)| other == name) {
            None => return Err(RestoreError::Unregistered { name: name.clone() }),
            Some((_, known)) if !known.same_encoding(schema) => {
                return Err(RestoreError::OtherFields { name: name.clone() });
            }
            Some(_) => {}
        }
    }
    match here.iter().find(|(name, _)| !there.iter().any(|(other, _)| other == name)) {
        Some((name, _)) => Err(RestoreError::NotSaved { name: name.clone() }),
        None => Ok(()),
    }
}

fn write(world: &mut World, registry: &Registry, now: &Image, image: &Image) -> Result<(), RestoreError> {
    let mut all = unfiltered::<(Entity, &SimId), ()>(world);
    let mut index = SimIndex::of(world);
    for id in image.roster.iter() {
        if index.get(*id).is_none() {
            index.0.insert(*id, world.spawn(SimId(*id)).id());
        }
    }
    for (source, (wanted, now)) in registry.lanes.iter().zip(image.lanes.iter().zip(&now.lanes)) {
        source.restore(world, &index, wanted, now).map_err(|error| bad(&wanted.name, error))?;
    }
    world.flush();
    let is_wanted = |id: &SimId| image.roster.row(id.0).is_some();
    let extra: Vec<Entity> = all.iter(world).filter(|(_, id)| !is_wanted(id)).map(|(entity, _)| entity).collect();
    for entity in extra {
        if let Ok(entity) = world.get_entity_mut(entity) {
            entity.despawn(); // else it went with its parent
        }
    }
    world.flush();
    let mut own = registry.resources.iter();
    for wanted in &image.resources {
        if &*wanted.name == SIM_IDS {
            let next = wanted.bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            world.resource::<SimIds>().set_next(next);
        } else if let Some(source) = own.next() {
            source.restore(world, &index, wanted).map_err(|error| bad(&wanted.name, error))?;
        }
    }
    world.flush();
    Ok(())
}

fn bad(name: &str, error: DecodeError) -> RestoreError {
    RestoreError::BadValue { name: name.into(), error }
}

/// Moves a row out of its table, and back to its end.
#[derive(Component)]
struct RowMove;

/// Puts the rows of tables into a recorded order.
fn reorder(world: &mut World, order: &RowOrder) {
    let mut ranks = BTreeMap::new();
    for (rank, id) in order.0.iter().flatten().enumerate() {
        ranks.insert(*id, rank);
    }
    let mut tables: BTreeMap<u32, Vec<(usize, u64, Entity)>> = BTreeMap::new();
    let mut all = unfiltered::<(Entity, &SimId), ()>(world);
    for (entity, id) in all.iter(world) {
        if let Some(location) = world.entities().get(entity).ok().flatten() {
            // Tables in the order of their ids come last, and are in that order then.
            let rank = ranks.get(&id.0).copied().unwrap_or(usize::MAX);
            tables.entry(location.table_id.as_u32()).or_default().push((rank, id.0, entity));
        }
    }
    for mut rows in tables.into_values() {
        if rows.is_sorted() {
            continue;
        }
        rows.sort_unstable();
        for (_, _, entity) in &rows {
            world.entity_mut(*entity).insert(RowMove);
        }
        for (_, _, entity) in &rows {
            world.entity_mut(*entity).remove::<RowMove>();
        }
    }
}
