//! bevy_enhanced_input: contexts are evaluated inside the tick, on devices that are recorded.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::related;
use bevy_enhanced_input::prelude::*;
use bevy_input::keyboard::KeyCode;
use bevy_replay::prelude::*;

#[derive(InputAction)]
#[action_output(bool)]
pub struct Run;

#[derive(InputAction)]
#[action_output(bool)]
pub struct Jump;

/// Fires when its key has been held for a while.
#[derive(InputAction)]
#[action_output(bool)]
pub struct Charge;

#[derive(Component, Canonical, Default, Debug)]
pub struct Hero {
    pub x: i32,
    pub jumps: u32,
    pub charges: u32,
}

/// How long `Charge` must be held: 16 ticks.
const CHARGE_SECS: f32 = 0.25;

pub fn game(app: &mut App) {
    app.add_plugins((ReplayPlugin::new("enhanced_input"), RawInputPlugin::default(), EnhancedInputPlugin));
    app.add_input_context_to::<FixedPreUpdate, Hero>();
    app.register_authoritative::<Hero>();
    app.observation::<(Actions<Hero>, ContextPriority<Hero>, ContextActivity<Hero>)>();
    app.reads_frame_clock(EnhancedInputSystems::Update); // for `TimeKind::Real`, which no condition may use
    app.add_observer(|jump: On<Start<Jump>>, mut heroes: Query<&mut Hero>| {
        if let Ok(mut hero) = heroes.get_mut(jump.context) {
            hero.jumps += 1;
        }
    });
    app.add_observer(|run: On<Fire<Run>>, mut heroes: Query<&mut Hero>| {
        if let Ok(mut hero) = heroes.get_mut(run.context) {
            hero.x += 1;
        }
    });
    app.add_observer(|charge: On<Fire<Charge>>, mut heroes: Query<&mut Hero>| {
        if let Ok(mut hero) = heroes.get_mut(charge.context) {
            hero.charges += 1;
        }
    });
    app.add_systems(Startup, |mut commands: Commands| {
        let charge = Hold::new(CHARGE_SECS).one_shot(true).with_time_kind(TimeKind::Auto); // not the wall clock
        commands.spawn((
            Hero::default(),
            related!(Actions<Hero>[
                (Action::<Run>::new(), related!(Bindings[Binding::from(KeyCode::KeyD)])),
                (Action::<Jump>::new(), related!(Bindings[Binding::from(KeyCode::Space)])),
                (Action::<Charge>::new(), charge, related!(Bindings[Binding::from(KeyCode::KeyC)])),
            ]),
        ));
    });
}
