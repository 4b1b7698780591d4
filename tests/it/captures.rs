//! What a capture reads is what the world holds, whatever was done to it since the capture before.
//!
//! The capture compares with the one before, keeps the order of rows and skips blocks; the model here looks at each
//! entity on its own and keeps nothing.

use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_replay::tape::{EncodeNotes, EntityIds, Ids, Image, Lane, Schema, VecSink};
use bevy_replay::{digest, image, prelude::*};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// As wide as a row of the fast path can be compared in parts.
#[derive(Component, Canonical, Clone)]
struct Body([i64; 3]);

#[derive(Component, Canonical, Clone)]
struct Level(u8);

#[derive(Component, Canonical, Clone)]
struct Marked;

#[derive(Component, Canonical)]
struct Target(Entity);

#[derive(Component, Canonical)]
struct Tale(String);

#[derive(Component, Canonical)]
#[component(storage = "SparseSet")]
struct Burning(u16);

/// Not authoritative: moves entities from table to table.
#[derive(Component)]
struct Red;

/// What is done to the entity that `whom` picks, or to all.
#[derive(Debug, Clone)]
enum Deed {
    Spawn {
        red: bool,
        level: Option<u8>,
    },
    SpawnBatch(u8),
    Despawn,
    Disable,
    Enable,
    Redden,
    Whiten,
    Overwrite(i64),
    WriteInPlace(i64),
    /// Writes and takes it back at once.
    WriteSame,
    WriteUnseen(u8),
    WriteAll,
    WriteAllUnseen,
    Swap,
    Remove,
    Burn(u16),
    Quench,
    Tell(u8),
    Aim,
    Mark,
}

fn deeds() -> impl Strategy<Value = Vec<(Deed, usize)>> {
    let deed = prop_oneof![
        (any::<bool>(), any::<Option<u8>>()).prop_map(|(red, level)| Deed::Spawn { red, level }),
        any::<u8>().prop_map(Deed::SpawnBatch),
        Just(Deed::Despawn),
        Just(Deed::Disable),
        Just(Deed::Enable),
        Just(Deed::Redden),
        Just(Deed::Whiten),
        any::<i64>().prop_map(Deed::Overwrite),
        any::<i64>().prop_map(Deed::WriteInPlace),
        Just(Deed::WriteSame),
        any::<u8>().prop_map(Deed::WriteUnseen),
        Just(Deed::WriteAll),
        Just(Deed::WriteAllUnseen),
        Just(Deed::Swap),
        Just(Deed::Remove),
        any::<u16>().prop_map(Deed::Burn),
        Just(Deed::Quench),
        any::<u8>().prop_map(Deed::Tell),
        Just(Deed::Aim),
        Just(Deed::Mark),
    ];
    prop::collection::vec((deed, any::<usize>()), 0..12)
}

/// All entities with a sim id, ascending by it; disabled ones, too.
fn entities(world: &World) -> BTreeMap<u64, Entity> {
    let all = world.archetypes().iter().flat_map(|archetype| archetype.entities().iter().map(|entity| entity.id()));
    all.filter_map(|entity| Some((world.get::<SimId>(entity)?.0, entity))).collect()
}

fn act(world: &mut World, deed: &Deed, whom: usize) {
    let all: Vec<Entity> = entities(world).into_values().collect();
    let pick = |whom: usize| all.get(whom % all.len().max(1)).copied();
    match deed {
        Deed::Spawn { red, level } => {
            let mut entity = world.spawn(Body([1, 2, 3]));
            if *red {
                entity.insert(Red);
            }
            if let Some(level) = level {
                entity.insert(Level(*level));
            }
        }
        Deed::SpawnBatch(count) => {
            world.spawn_batch((0..*count).map(|level| (Body([i64::from(level); 3]), Level(level))).collect::<Vec<_>>());
        }
        Deed::WriteAll => {
            let mut bodies = world.query::<&mut Body>();
            bodies.iter_mut(world).for_each(|mut body| body.0[0] += 1);
        }
        Deed::WriteAllUnseen => {
            let mut levels = world.query::<&mut Level>();
            for mut level in levels.iter_mut(world) {
                let level = level.bypass_change_detection();
                level.0 = level.0.wrapping_add(1);
            }
        }
        _ => {
            let (Some(entity), Some(other)) = (pick(whom), pick(whom / 7 + 1)) else { return };
            act_on(world, deed, entity, other);
        }
    }
}

fn act_on(world: &mut World, deed: &Deed, entity: Entity, other: Entity) {
    let mut it = world.entity_mut(entity);
    match deed {
        Deed::Despawn => it.despawn(),
        Deed::Disable => drop(it.insert(Disabled)),
        Deed::Enable => drop(it.remove::<Disabled>()),
        Deed::Redden => drop(it.insert(Red)),
        Deed::Whiten => drop(it.remove::<Red>()),
        Deed::Overwrite(value) => drop(it.insert(Body([*value, 0, -1]))),
        Deed::WriteInPlace(value) => {
            if let Some(mut body) = it.get_mut::<Body>() {
                body.0[2] = *value;
            }
        }
        Deed::WriteSame => {
            if let Some(mut body) = it.get_mut::<Body>() {
                body.0[1] ^= 1;
                body.0[1] ^= 1;
            }
        }
        Deed::WriteUnseen(value) => {
            if let Some(mut level) = it.get_mut::<Level>() {
                level.bypass_change_detection().0 = *value;
            }
        }
        Deed::Remove => drop(it.remove::<Level>()),
        Deed::Burn(value) => drop(it.insert(Burning(*value))),
        Deed::Quench => drop(it.remove::<Burning>()),
        Deed::Tell(length) => drop(it.insert(Tale("la".repeat(usize::from(*length % 9))))),
        Deed::Aim => drop(it.insert(Target(other))),
        Deed::Mark => drop(it.insert(Marked)),
        Deed::Swap => {
            let mut bodies = world.query::<&mut Body>();
            if let Ok([mut a, mut b]) = bodies.get_many_mut(world, [entity, other]) {
                core::mem::swap(&mut *a, &mut *b);
            }
        }
        Deed::Spawn { .. } | Deed::SpawnBatch(_) | Deed::WriteAll | Deed::WriteAllUnseen => {}
    }
}

/// Sim ids by the bits of entities.
struct Known(BTreeMap<u64, u64>);

impl EntityIds for Known {
    fn sim_id(&self, entity_bits: u64) -> Option<u64> {
        self.0.get(&entity_bits).copied()
    }
    fn entity_bits(&self, _: u64) -> Option<u64> {
        None // nothing is decoded
    }
}

/// Reads a type entity by entity.
fn lane<T: Component>(world: &World, name: String, schema: Schema, encode: impl Fn(&T, &mut VecSink<'_>)) -> Lane {
    let entities = entities(world);
    let known = Known(entities.iter().map(|(id, entity)| (entity.to_bits(), *id)).collect());
    let mut lane = Lane::new(name, schema.into());
    let mut ids = Vec::new();
    for (id, entity) in entities {
        if let Some(value) = world.get::<T>(entity) {
            ids.push(id);
            lane.rows.push(|bytes| encode(value, &mut VecSink::new(bytes, &known, &mut EncodeNotes::default())));
        }
    }
    lane.ids = Arc::new(Ids::new(ids).expect("a map is in order"));
    lane
}

fn own<T: Component + Canonical>(world: &World) -> Lane {
    lane::<T>(world, T::type_name(), T::schema(), |value, bytes| value.encode(bytes))
}

fn model(world: &World, captured: &Image) -> Image {
    let disabled = Schema::build(<()>::shape);
    let mut lanes = vec![
        own::<Body>(world),
        own::<Level>(world),
        own::<Marked>(world),
        own::<Target>(world),
        own::<Tale>(world),
        own::<Burning>(world),
        lane::<Disabled>(world, "Disabled".into(), disabled, |_, _| ()),
    ];
    lanes.sort_by(|a, b| a.name.cmp(&b.name));
    let roster = Ids::new(entities(world).into_keys().collect()).expect("a map is in order");
    Image { tick: captured.tick, roster: Arc::new(roster), lanes, resources: captured.resources.clone() }
}

fn app(trusts: bool, entities: i64) -> App {
    let mut app = App::new();
    app.add_plugins((bevy_time::TimePlugin, ReplayPlugin::new("captures").trust_change_ticks(trusts)));
    app.register_authoritative::<(Body, Level, Marked, Target, Tale, Burning)>();
    app.finish();
    // More than two blocks, in three tables whose rows alternate.
    for i in 0..entities {
        let mut entity = app.world_mut().spawn((Body([i; 3]), Level(0)));
        match i % 3 {
            0 => drop(entity.insert(Red)),
            1 => drop(entity.insert(Marked)),
            _ => {}
        }
    }
    app
}

fn check(world: &mut World) -> Result<(), TestCaseError> {
    let captured = image(world).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let model = model(world, &captured);
    prop_assert_eq!(captured.diff(&model), vec![]);
    for (captured, model) in captured.lanes.iter().zip(&model.lanes) {
        prop_assert!(captured.name == model.name && captured.ids == model.ids && captured.rows == model.rows);
    }
    prop_assert_eq!((captured.lanes.len(), &captured.roster), (model.lanes.len(), &model.roster));
    // The second look compares with the first.
    for _ in 0..2 {
        let root = digest(world).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(root, model.digest().root);
    }
    Ok(())
}

/// All id columns stay as they are where the rows of a table move to another one in their order.
#[test]
fn a_whole_table_that_moves_is_read_where_it_is() -> Result<(), TestCaseError> {
    for trusts in [false, true] {
        for entities in [1, 2] {
            let mut app = app(trusts, entities);
            check(app.world_mut())?;
            let last = usize::try_from(entities - 1).unwrap_or(0);
            for deed in [Deed::Disable, Deed::Enable, Deed::Remove, Deed::Burn(1), Deed::Aim, Deed::Mark, Deed::Whiten]
            {
                act(app.world_mut(), &deed, last);
                check(app.world_mut())?;
            }
        }
    }
    Ok(())
}

/// Not authoritative: one bit of which table an entity is in.
#[derive(Component)]
struct Bit<const N: usize>;

/// In 48 tables, in order or not; 600 rows are five blocks, of which each has rows of all tables.
#[test]
fn rows_of_many_tables_are_read_where_they_are() -> Result<(), TestCaseError> {
    for trusts in [false, true] {
        let mut app = app(trusts, 0);
        let world = app.world_mut();
        for i in 0..600 {
            let mut entity = world.spawn((Body([i; 3]), Level(0)));
            let bits = i % 48;
            (bits & 1 != 0).then(|| entity.insert(Bit::<0>).id());
            (bits & 2 != 0).then(|| entity.insert(Bit::<1>).id());
            (bits & 4 != 0).then(|| entity.insert(Bit::<2>).id());
            (bits & 8 != 0).then(|| entity.insert(Bit::<3>).id());
            (bits & 16 != 0).then(|| entity.insert(Bit::<4>).id());
            (bits & 32 != 0).then(|| entity.insert(Bit::<5>).id());
        }
        check(world)?;
        // The last row of a table takes the place of one that goes.
        for whom in [0, 100, 200, 300, 400, 500] {
            act(world, &Deed::Despawn, whom);
        }
        check(world)?;
        for deed in [Deed::WriteAll, Deed::WriteInPlace(7), Deed::Overwrite(9), Deed::Swap] {
            act(world, &deed, 333);
            check(world)?;
        }
        if !trusts {
            act(world, &Deed::WriteAllUnseen, 0);
            act(world, &Deed::WriteUnseen(77), 555);
            check(world)?;
        }
    }
    Ok(())
}

/// So large a world is written type by type on the threads of the compute pool.
#[test]
fn large_world_is_read_the_same_on_all_threads() -> Result<(), TestCaseError> {
    crate::game::make_threads();
    let mut app = app(false, 35_000);
    let world = app.world_mut();
    for entity in entities(world).into_values() {
        world.entity_mut(entity).insert(Target(entity));
    }
    for deed in [Deed::WriteAll, Deed::Despawn, Deed::WriteAllUnseen, Deed::Aim, Deed::Tell(3), Deed::WriteUnseen(9)] {
        act(world, &deed, 29_000);
        check(world)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_capture_is_what_reading_each_entity_gives(
        entities in prop_oneof![0_i64..4, Just(300)],
        ticks in prop::collection::vec(deeds(), 1..24),
    ) {
        let mut app = app(false, entities);
        check(app.world_mut())?;
        for deeds in &ticks {
            deeds.iter().for_each(|(deed, whom)| act(app.world_mut(), deed, *whom));
            check(app.world_mut())?;
        }
    }

    /// Writes that change detection does not see are what such a game promises not to do.
    #[test]
    fn so_is_one_that_trusts_change_ticks(
        entities in prop_oneof![0_i64..4, Just(300)],
        ticks in prop::collection::vec(deeds(), 1..24),
    ) {
        let mut app = app(true, entities);
        check(app.world_mut())?;
        for deeds in &ticks {
            let seen = |deed: &&(Deed, usize)| !matches!(deed.0, Deed::WriteUnseen(_) | Deed::WriteAllUnseen);
            deeds.iter().filter(seen).for_each(|(deed, whom)| act(app.world_mut(), deed, *whom));
            check(app.world_mut())?;
        }
    }

    /// There the image before the last one is kept, and its memory is written next.
    #[test]
    fn recorded_values_have_the_digests_of_recorded_roots(ticks in prop::collection::vec(deeds(), 1..24)) {
        let ticks = Arc::new(ticks);
        let game = |ticks: &Arc<Vec<Vec<(Deed, usize)>>>| {
            let ticks = ticks.clone();
            move |app: &mut App| {
                app.add_plugins(ReplayPlugin::new("captures"))
                    .register_authoritative::<(Body, Level, Marked, Target, Tale, Burning)>();
                app.add_systems(Startup, |world: &mut World| act(world, &Deed::SpawnBatch(200), 0));
                let ticks = ticks.clone();
                app.add_systems(FixedUpdate, move |world: &mut World| {
                    let tick = usize::try_from(world.resource::<SimTick>().0).unwrap_or(0);
                    ticks[tick].iter().for_each(|(deed, whom)| act(world, deed, *whom));
                });
            }
        };
        let record = |detail| Headless::new(game(&ticks)).detail(detail).record(ticks.len() as u64);
        let fail = |error: ReplayError| TestCaseError::fail(error.to_string());
        let (roots, values) = (record(Detail::Roots).map_err(fail)?, record(Detail::Values).map_err(fail)?);
        prop_assert_eq!(&roots.tape().digests.roots, &values.tape().digests.roots);
    }
}
