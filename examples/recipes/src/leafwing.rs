//! leafwing-input-manager: what the actions say between ticks is the recorded input.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_input::InputPlugin;
use bevy_input::keyboard::KeyCode;
use bevy_reflect::Reflect;
use bevy_replay::prelude::*;
use leafwing_input_manager::plugin::InputManagerSystem;
use leafwing_input_manager::prelude::*;
use leafwing_input_manager::systems::tick_action_state;

#[derive(Actionlike, Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Left,
    Right,
    Jump,
}

/// What ticks know of a player's actions.
#[derive(Component, TickInput, Default, Clone, Debug)]
pub struct Control {
    run: i8,
    #[once] // seen by exactly one tick
    jump: bool,
}

#[derive(Component, Canonical, Default, Debug)]
#[require(Control)]
pub struct Hero {
    pub x: i32,
    pub jumps: u32,
}

/// In `PreUpdate`. `|=`: a tap between two ticks waits for the next one.
fn gather(mut players: Query<(&ActionState<Action>, &mut Control)>) {
    for (actions, mut control) in &mut players {
        control.run = i8::from(actions.pressed(&Action::Right)) - i8::from(actions.pressed(&Action::Left));
        control.jump |= actions.just_pressed(&Action::Jump);
    }
}

/// In `FixedUpdate`: reads `Control`, never `ActionState`.
fn play(mut heroes: Query<(&Control, &mut Hero)>) {
    for (control, mut hero) in &mut heroes {
        hero.x += i32::from(control.run);
        hero.jumps += u32::from(control.jump);
    }
}

pub fn game(app: &mut App) {
    app.add_plugins((ReplayPlugin::new("leafwing"), InputPlugin, InputManagerPlugin::<Action>::default()));
    app.register_authoritative::<Hero>().record_input_component::<Control>();
    app.observation::<(ActionState<Action>, InputMap<Action>)>(); // no tick reads them
    app.reads_frame_clock(tick_action_state::<Action>); // for the feature `timing`
    app.add_systems(PreUpdate, gather.after(InputManagerSystem::Update));
    app.add_systems(FixedUpdate, play);
    app.add_systems(Startup, |mut commands: Commands| {
        let keys =
            |left, right, jump| InputMap::new([(Action::Left, left), (Action::Right, right), (Action::Jump, jump)]);
        commands.spawn((Hero::default(), keys(KeyCode::KeyA, KeyCode::KeyD, KeyCode::KeyW)));
        commands.spawn((Hero::default(), keys(KeyCode::ArrowLeft, KeyCode::ArrowRight, KeyCode::ArrowUp)));
    });
}
