//! Keyboard, mouse and gamepads: a game that reads Bevy's own types in ticks is recorded as it is.

mod button_track;
mod buttons;
mod edges;
mod motion;
mod pad_track;
mod pads;
mod view;

use crate::plugin::ReplayPlugin;
use crate::runtime;
use bevy_app::prelude::*;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::message::MessageReader;
use bevy_ecs::prelude::*;
use bevy_input::gamepad::{Gamepad, GamepadInput};
use bevy_input::keyboard::{Key, KeyCode, KeyboardFocusLost};
use bevy_input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseButton};
use bevy_input::{ButtonInput, InputPlugin, InputSystems};
use button_track::ButtonTrack;
use core::panic::Location;
use edges::Gathered;
use motion::{Sum, SumTrack};
use pad_track::PadTrack;

pub use buttons::{Button, Buttons, Keyboard, LogicalKeys, MouseButtons};
pub use motion::{MouseMotion, MouseScroll};
pub use pads::{Gamepads, Pad, PadSlot};

/// Records keyboard, mouse and gamepads, and makes them exact in ticks.
///
/// A game that reads `Res<ButtonInput<KeyCode>>`, `Res<ButtonInput<Key>>`, `Res<ButtonInput<MouseButton>>`,
/// `Res<AccumulatedMouseMotion>`, `Res<AccumulatedMouseScroll>` or `Query<&Gamepad>` in `FixedUpdate` and its
/// neighbours needs no change. Inside a tick they show the *tick's* view, outside the frame's, as Bevy's own
/// `Res<Time>` does:
///
/// - Each edge is seen by exactly one tick: a tap between two ticks is `just_pressed` and `just_released` in
///   the next, two ticks in one frame do not see it twice. What the game presses by hand counts, too.
/// - Motion and wheel are summed up until a tick spends them, once.
/// - Sticks and triggers are read as they stand when the tick begins.
/// - When the window loses the focus, everything held is released, on the live devices and in ticks. (Bevy
///   0.20 alone releases `KeyCode`s only.) Sticks and triggers return to 0 until they are moved.
///
/// It is in force whether or not anything is recorded. Add it before or after [`ReplayPlugin`] and Bevy's
/// `InputPlugin`, which is added if it is missing.
///
/// # While a tape is played
///
/// Ticks see the tape's devices; live ones change nothing and are still there outside ticks. At the tape's
/// end everything it held is released, once, in the first tick that follows. A button that is down on the live
/// device at that moment is not seen before it is pressed anew, so nothing fires by itself. Sticks count at once.
///
/// A button that is down before an app's first tick, and was not pressed in a frame that this plugin saw, is
/// `pressed` in the first tick, not `just_pressed`.
///
/// Tapes know a pad by its [`PadSlot`]. Where the app has no pad in a slot, a `Gamepad` entity stands in while the
/// tape has one; a live pad of which the tape knows nothing is disabled inside ticks, and at rest.
///
/// # Privacy
///
/// Text that was typed is never recorded, only keys: physical ones (`KeyD`) and what they stand for in the player's
/// layout (`d`). Both tell the same, so whoever types a password into the game must be covered by [`TextFocus`].
///
/// # Limits
///
/// Not covered, and not to be read in ticks: touch (Bevy's `Touches` cannot be built from outside), gestures,
/// and raw messages such as `KeyboardInput`, `MouseWheel` or `GamepadEvent`. What a tick writes into one of these
/// resources ends with it.
///
/// # Cost
///
/// A tick in which nothing happens takes about a microsecond more, and allocates nothing.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # use bevy_input::{ButtonInput, keyboard::KeyCode};
/// # #[derive(Component, Canonical)] struct Hero { y: i32 }
/// fn game(app: &mut App) {
///     app.add_plugins((ReplayPlugin::new("my_game"), RawInputPlugin { gamepads: false, ..Default::default() }));
///     app.register_authoritative::<Hero>();
///     app.add_systems(FixedUpdate, |keys: Res<ButtonInput<KeyCode>>, mut hero: Single<&mut Hero>| {
///         if keys.just_pressed(KeyCode::Space) {
///             hero.y = 5;
///         }
///     });
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawInputPlugin {
    /// Physical and logical keys. Default: on.
    pub keyboard: bool,
    /// Mouse buttons, motion and wheel. Default: on.
    pub mouse: bool,
    /// Gamepads. Default: on.
    pub gamepads: bool,
}

impl Default for RawInputPlugin {
    fn default() -> Self {
        Self { keyboard: true, mouse: true, gamepads: true }
    }
}

/// Whether a text field has the focus: then keys are text, which no tick sees and no tape holds.
///
/// Set it while the player types; it counts from the next frame on. All keys are released once, and a tape gets
/// the mark "keyboard not recorded: text field". Afterwards a key counts when it is pressed anew.
///
/// # Examples
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # #[derive(Resource)] struct Chat { is_open: bool }
/// fn follow_chat(chat: Res<Chat>, mut focus: ResMut<TextFocus>) {
///     focus.0 = chat.is_open;
/// }
/// ```
#[derive(Resource, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextFocus(pub bool);

impl Plugin for RawInputPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<TextFocus>().add_message::<KeyboardFocusLost>();
        if self.keyboard {
            record_buttons::<KeyCode>(app);
            record_buttons::<Key>(app);
        }
        if self.mouse {
            record_buttons::<MouseButton>(app);
            record_sum::<AccumulatedMouseMotion>(app);
            record_sum::<AccumulatedMouseScroll>(app);
        }
        if self.gamepads {
            add_track::<Gamepad>(app, PadTrack::new());
            pads::watch(app.world_mut());
            app.add_systems(First, pads::end_frame_of_pads)
                .add_systems(RunFixedMainLoop, pads::gather_pads.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop))
                .add_systems(PreUpdate, rest_pads_on_focus_loss.after(InputSystems));
        }
    }

    fn finish(&self, app: &mut App) {
        assert!(
            app.is_plugin_added::<ReplayPlugin>(),
            "RawInputPlugin needs ReplayPlugin, which runs the border of a tick (add it too, before or after)"
        );
        if !app.is_plugin_added::<InputPlugin>() {
            app.add_plugins(InputPlugin);
        }
    }
}

fn add_track<T: 'static>(app: &mut App, track: impl super::TrackSource + 'static) {
    let caller = Location::caller();
    runtime::with(app.world_mut(), |_, runtime| runtime.registry.add_track::<T>("RawInputPlugin", track, caller));
}

fn record_buttons<T: Button>(app: &mut App) {
    add_track::<ButtonInput<T>>(app, ButtonTrack::<T>::new());
    app.init_resource::<ButtonInput<T>>()
        .init_resource::<Gathered<T>>()
        .add_systems(First, end_frame::<T>)
        .add_systems(RunFixedMainLoop, gather::<T>.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop))
        .add_systems(PreUpdate, release_on_focus_loss::<T>.after(InputSystems));
}

fn record_sum<R: Sum>(app: &mut App) {
    add_track::<R>(app, SumTrack::<R>::new());
    app.init_resource::<R>()
        .init_resource::<motion::Unspent<R>>()
        .add_systems(RunFixedMainLoop, motion::sum_up::<R>.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop));
}

fn gather<T: Button>(live: Res<ButtonInput<T>>, focus: Res<TextFocus>, mut gathered: ResMut<Gathered<T>>) {
    gathered.bypass_change_detection().gather(&live, T::TYPES_TEXT && focus.0);
}

fn end_frame<T: Button>(live: Res<ButtonInput<T>>, focus: Res<TextFocus>, mut gathered: ResMut<Gathered<T>>) {
    gathered.bypass_change_detection().end_frame(&live, T::TYPES_TEXT && focus.0);
}

fn release_on_focus_loss<T: Button>(mut lost: MessageReader<KeyboardFocusLost>, mut live: ResMut<ButtonInput<T>>) {
    if lost.read().count() > 0 {
        live.release_all();
    }
}

fn rest_pads_on_focus_loss(
    mut lost: MessageReader<KeyboardFocusLost>,
    mut pads: Query<&mut Gamepad, (Without<pads::StandIn>, Allow<Disabled>)>,
) {
    if lost.read().count() == 0 {
        return;
    }
    for mut pad in &mut pads {
        pad.digital_mut().release_all();
        let inputs: Vec<GamepadInput> = pad.analog().all_axes().copied().collect();
        for input in inputs {
            pad.analog_mut().set(input, 0.0);
        }
    }
}
