//! A game that uses everything, and does nothing wrong: nothing is found, and it replays at any pace.

use crate::game::{Outcome, headless};
use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::name::Name;
use bevy_ecs::prelude::*;
use bevy_input::{ButtonInput, keyboard::KeyCode};
use bevy_replay::devices::Keyboard;
use bevy_replay::{Finding, Guard, Pacing, TickReader, coverage, prelude::*};
use bevy_state::app::{AppExtStates, StatesPlugin};
use bevy_state::prelude::*;
use bevy_time::{Time, Virtual};
use bevy_transform::components::Transform;
use core::time::Duration;

#[derive(States, Canonical, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Build,
    Fight,
}

#[derive(States, Default, Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Menu {
    #[default]
    Closed,
    Open,
}

#[derive(Component, Canonical)]
struct Hero {
    steps: u32,
}

#[derive(Component, Canonical)]
struct Foe(u8);

#[derive(Component)]
struct Sprite;

#[derive(Message, Canonical, Clone)]
struct Hit(u32);

#[derive(Resource, Canonical, Default)]
struct Score(u32);

#[derive(Resource, Default)]
struct Told(Vec<Finding>);

#[derive(Resource)]
struct Loading(u32);

fn clean(guard: Guard) -> impl Fn(&mut App) + Send + Sync + Copy + 'static {
    move |app| {
        app.add_plugins((ReplayPlugin::new("clean").guard(guard), RawInputPlugin::default(), StatesPlugin));
        app.init_state::<Phase>().init_state::<Menu>();
        app.register_authoritative::<(Hero, Foe)>()
            .register_authoritative_reflect::<Transform>()
            .register_authoritative_resource::<Score>()
            .register_authoritative_state::<Phase>()
            .register_hierarchy()
            .record_messages::<Hit>()
            .track_removals::<Foe>();
        app.init_resource::<Score>().init_resource::<Told>().insert_resource(Loading(3));
        app.start_when(|loading: Res<Loading>| loading.0 == 0);
        app.add_observer(|found: On<Finding>, mut told: ResMut<Told>| told.0.push(found.event().clone()));
        app.add_systems(PreUpdate, |mut loading: ResMut<Loading>| loading.0 = loading.0.saturating_sub(1));
        app.add_systems(Startup, |mut commands: Commands, _clock: Res<Time<Virtual>>| {
            commands.spawn((Hero { steps: 0 }, Transform::default())).with_children(|hero| {
                hero.spawn(Foe(200));
            });
        });
        app.add_systems(FixedUpdate, (walk, spawn, hurt, count).chain().run_if(started));
        app.add_systems(OnEnter(Phase::Fight), |mut score: ResMut<Score>, clock: Res<Time>| {
            score.0 += u32::try_from(clock.delta().as_millis()).unwrap_or(0);
        });
        app.add_systems(Update, (draw, open_menu, listen));
    }
}

fn started(loading: Res<Loading>) -> bool {
    loading.0 == 0
}

fn walk(
    keys: Res<ButtonInput<KeyCode>>,
    mut hero: Single<(&mut Hero, &mut Transform)>,
    mut next: ResMut<NextState<Phase>>,
) {
    let (hero, place) = &mut *hero;
    if keys.pressed(KeyCode::KeyD) {
        hero.steps += 1;
        place.translation.x += 0.25;
    }
    if keys.just_pressed(KeyCode::Space) {
        next.set(if hero.steps.is_multiple_of(2) { Phase::Fight } else { Phase::Build });
    }
}

fn spawn(tick: Res<SimTick>, hero: Single<Entity, With<Hero>>, mut commands: Commands) {
    if tick.0.is_multiple_of(40) {
        commands.spawn((Foe(30), Transform::from_xyz(1.0, 2.0, 3.0), ChildOf(*hero)));
    }
}

fn hurt(mut foes: Query<(Entity, &SimId, &mut Foe)>, mut hits: MessageWriter<Hit>, mut commands: Commands) {
    for (entity, id, mut foe) in foes.iter_mut().sort::<&SimId>() {
        foe.0 -= 1;
        if foe.0 == 5 {
            commands.entity(entity).insert(Disabled);
        }
        hits.write(Hit(u32::from(foe.0) + u32::try_from(id.0 % 7).unwrap_or(0)));
    }
}

fn count(
    hits: TickReader<Hit>,
    gone: TickRemovals<Foe>,
    mut score: ResMut<Score>,
    mut asleep: Query<(Entity, &mut Foe), With<Disabled>>,
    mut commands: Commands,
) {
    score.0 = hits.read().fold(score.0, |score, hit| score.wrapping_mul(3).wrapping_add(hit.0));
    score.0 += u32::try_from(gone.read().len()).unwrap_or(0);
    for (entity, mut foe) in &mut asleep {
        foe.0 -= 1;
        if foe.0 == 0 {
            commands.entity(entity).despawn();
        }
    }
}

/// What is only seen.
fn draw(units: Query<(Entity, Has<Name>), With<SimId>>, sprites: Query<Entity, With<Sprite>>, mut commands: Commands) {
    for sprite in sprites.iter().take(4) {
        commands.entity(sprite).despawn();
    }
    for (unit, is_named) in units.iter().take(3) {
        commands.entity(unit).with_child(Sprite);
        if !is_named {
            commands.entity(unit).insert(Name::new("unit"));
        }
    }
}

fn open_menu(mut frames: Local<u32>, mut menu: ResMut<NextState<Menu>>) {
    *frames += 1;
    match *frames % 10 {
        3 => menu.set(Menu::Open),
        7 => menu.set(Menu::Closed),
        _ => {}
    }
}

/// Frames hear of every hit.
fn listen(mut hits: MessageReader<Hit>, mut heard: Local<u64>) {
    *heard += hits.read().count() as u64;
}

fn keys(ticks: u32) -> impl Iterator<Item = Keyboard> {
    (0..ticks).map(|tick| {
        let held = [(tick % 9 < 4, KeyCode::KeyD), (tick % 50 < 2, KeyCode::Space)];
        let mut keys = Keyboard::holding(held.iter().filter(|(is_held, _)| *is_held).map(|(_, key)| *key));
        if tick.is_multiple_of(50) {
            keys.pressed.push(KeyCode::Space);
        }
        keys
    })
}

/// As counted in a game on a laptop: half of the frames without a tick, six with two, one with seven, one with 43.
pub(crate) fn real_frames() -> Pacing {
    let mut frames = Vec::new();
    for i in 0..200_u64 {
        frames.push(Duration::from_micros(match i {
            50 => 7 * 15_625 + 100,
            120 => 43 * 15_625, // clamped as Bevy clamps
            _ if i % 33 == 5 => 2 * 15_625,
            _ => 7_812,
        }));
    }
    Pacing::Frames(frames)
}

#[test]
fn nothing_is_found_in_ten_thousand_ticks() -> Outcome {
    for guard in [Guard::Full, Guard::Ticks] {
        let mut run = headless(clean(guard)).inputs(keys(10_000)).run()?;
        assert_eq!(run.resource::<Told>()?.0, [], "{guard:?}");
        let found = coverage(run.world_mut());
        let ours = |name: &&String| !name.contains("bevy_transform") && !name.ends_with("Name");
        assert_eq!(found.unregistered.iter().filter(ours).count(), 0, "{found}");
        assert_eq!(found.carried_messages, Vec::<String>::new());
        assert_eq!(found.never_seen, Vec::<String>::new());
    }
    Ok(())
}

#[test]
fn it_replays_without_a_note_at_the_real_pace_and_any_other() -> Outcome {
    let paces = [real_frames(), Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(3)];
    for recorded_at in &paces {
        let recorded = headless(clean(Guard::Full)).pacing(recorded_at.clone()).inputs(keys(400)).run()?;
        assert!(recorded.resource::<Score>()?.0 > 1000);
        for pace in &paces {
            let replayed = headless(clean(Guard::Full)).pacing(pace.clone()).verify(recorded.tape())?.verified()?;
            assert_eq!(replayed.report().notes, Vec::<String>::new(), "recorded at {recorded_at:?}, at {pace:?}");
        }
    }
    Ok(())
}
