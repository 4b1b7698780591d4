//! When an input counts as changed: for a tick exactly if its value has, live and replayed.

use crate::game::{Outcome, headless};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Pacing, prelude::*};

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
    #[once]
    fire: bool,
}

#[derive(Component, Default, Clone, TickInput)]
struct Stick {
    x: i8,
}

#[derive(Resource, Default, Canonical)]
struct Changes {
    resource: Vec<u64>,
    component: Vec<u64>,
}

/// Writes its input in each frame, also where the value stays, and counts the ticks that see a change.
fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("changes")).record_input::<Steer>().record_input_component::<Stick>();
    app.register_authoritative_resource::<Changes>().init_resource::<Changes>();
    app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch([Stick::default(), Stick::default()]));
    app.add_systems(PreUpdate, |tick: Res<SimTick>, mut steer: ResMut<Steer>, mut sticks: Query<&mut Stick>| {
        let x = i8::from(tick.0 >= 12);
        steer.x = x;
        sticks.iter_mut().for_each(|mut stick| stick.x = x);
    });
    app.add_systems(
        FixedUpdate,
        |tick: Res<SimTick>, steer: Res<Steer>, sticks: Query<Ref<Stick>>, mut changes: ResMut<Changes>| {
            if steer.is_changed() {
                changes.resource.push(tick.0);
            }
            changes.component.extend(sticks.iter().filter(|stick| stick.is_changed()).map(|_| tick.0));
        },
    );
}

#[test]
fn an_input_is_changed_for_a_tick_exactly_if_its_value_is() -> Result<(), ReplayError> {
    for ticks_per_frame in [1, 4] {
        let run = Headless::new(game).pacing(Pacing::TicksPerFrame(ticks_per_frame)).record(40)?;
        let changes = run.resource::<Changes>()?;
        assert_eq!(changes.resource, [0, 12], "{ticks_per_frame} ticks per frame");
        assert_eq!(changes.component, [0, 0, 12, 12], "{ticks_per_frame} ticks per frame");
        for replayed_at in [1, 4, 16] {
            Headless::new(game).pacing(Pacing::TicksPerFrame(replayed_at)).verify(run.tape())?.assert_verified();
        }
    }
    Ok(())
}

#[test]
fn a_frame_still_sees_that_an_input_was_written() -> Result<(), ReplayError> {
    #[derive(Resource, Default)]
    struct Seen(u32);
    let run = Headless::new(|app: &mut App| {
        game(app);
        app.init_resource::<Seen>();
        app.add_systems(Update, |mut seen: ResMut<Seen>| seen.0 += 1)
            .add_systems(PostUpdate, |steer: Res<Steer>, mut seen: ResMut<Seen>| {
                seen.0 -= u32::from(steer.is_changed())
            });
    });
    assert_eq!(run.record(40)?.resource::<Seen>()?.0, 0, "written in each frame, so changed in each frame");
    Ok(())
}

#[derive(Resource, Default, Clone, TickInput)]
struct Cursor {
    over: Option<Entity>,
    pressure: f32,
}

#[derive(Component, Canonical)]
struct Unit {
    clicks: u32,
}

/// The tick sees an entity of its own world, and of a NaN what the tape will hold.
#[test]
fn entity_in_a_recorded_resource_is_found_in_a_world_with_other_entities() -> Outcome {
    #[derive(Resource, Canonical, Default)]
    struct Bits(Vec<u64>);
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("cursor")).record_input::<Cursor>().register_authoritative::<Unit>();
        app.init_resource::<Bits>().register_authoritative_resource::<Bits>();
        app.add_systems(Startup, |mut commands: Commands| commands.spawn_batch((0..4).map(|_| Unit { clicks: 0 })));
        app.add_systems(FixedUpdate, |cursor: Res<Cursor>, mut units: Query<&mut Unit>, mut bits: ResMut<Bits>| {
            if let Some(mut unit) = cursor.over.and_then(|unit| units.get_mut(unit).ok()) {
                unit.clicks += 1;
            }
            bits.0.push(u64::from(cursor.pressure.to_bits()));
        });
    };
    let playing = move |app: &mut App| {
        game(app);
        app.add_systems(PreUpdate, |units: Query<(Entity, &SimId)>, mut cursor: ResMut<Cursor>, tick: Res<SimTick>| {
            cursor.over = units.iter().find(|(_, id)| id.0 == tick.0 % 5).map(|(entity, _)| entity);
            cursor.pressure = f32::from_bits(0x7FC0_0000 | u32::try_from(tick.0).unwrap_or(0));
        });
    };
    let recorded = headless(playing).record(12)?;
    headless((crate::game::scramble, game)).verify(recorded.tape())?.assert_verified();
    Ok(())
}
