//! What a tick sees of a device's buttons, as a value.

use bevy_input::ButtonInput;
use bevy_input::gamepad::GamepadButton;
use bevy_input::keyboard::{Key, KeyCode};
use bevy_input::mouse::MouseButton;
use bevy_replay_tape::{Canonical, DecodeError, Field, SchemaBuilder, Shape, ShapeId, Sink, Source, TickInput};
use core::fmt::Debug;
use core::hash::Hash;
use serde::{Serialize, de::DeserializeOwned};

/// A kind of button: a physical key, a logical key, a button of the mouse or of a pad.
///
/// On tapes buttons go by the names Bevy gives them: `KeyD`, `Space`, `Left`, `South`.
pub trait Button: Clone + Eq + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name of the type of the value, and of its track.
    const TRACK: &'static str;
    /// Whether it also writes text, so that ticks do not see it while a text field has the focus.
    const TYPES_TEXT: bool = false;

    /// Returns the name on tapes.
    ///
    /// # Panics
    ///
    /// Never for Bevy's buttons.
    fn name(&self) -> String {
        ron::to_string(self).expect("a button is a plain enum")
    }

    /// Returns the button of that name.
    fn named(name: &str) -> Option<Self> {
        ron::from_str(name).ok()
    }
}

impl Button for KeyCode {
    const TRACK: &'static str = "Keyboard";
    const TYPES_TEXT: bool = true;
}

/// A key that writes one character goes by that character, all others by their names: `a`, `+`, `Shift`.
impl Button for Key {
    const TRACK: &'static str = "LogicalKeys";
    const TYPES_TEXT: bool = true;

    fn name(&self) -> String {
        match self {
            Self::Character(text) if text.chars().count() == 1 => text.to_string(),
            key => ron::to_string(key).expect("a key is a plain enum"),
        }
    }

    fn named(name: &str) -> Option<Self> {
        if name.chars().count() == 1 { Some(Self::Character(name.into())) } else { ron::from_str(name).ok() }
    }
}

impl Button for MouseButton {
    const TRACK: &'static str = "MouseButtons";
}

impl Button for GamepadButton {
    const TRACK: &'static str = "PadButtons";
}

/// What one tick sees of the buttons of a device.
///
/// On a tape: `Keyboard(held: ["KeyD"], pressed: ["Space"], released: [])`. A button that was tapped
/// between two ticks is in `pressed` and `released`, but not in `held`.
///
/// # Examples
///
/// Inputs for a headless run, without a keyboard:
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # use bevy_input::{ButtonInput, keyboard::KeyCode};
/// use bevy_replay::devices::Keyboard;
/// # #[derive(Component, Canonical, Default)] struct Hero { x: i32 }
/// fn game(app: &mut App) {
///     app.add_plugins((ReplayPlugin::new("my_game"), RawInputPlugin::default())).register_authoritative::<Hero>();
///     app.add_systems(Startup, |mut commands: Commands| { commands.spawn(Hero::default()); });
///     app.add_systems(FixedUpdate, |keys: Res<ButtonInput<KeyCode>>, mut hero: Single<&mut Hero>| {
///         hero.x += i32::from(keys.pressed(KeyCode::KeyD));
///     });
/// }
/// let (up, down) = (Keyboard::default(), Keyboard::holding([KeyCode::KeyD]));
/// let run = Headless::new(game).inputs([up.clone(), down.clone(), down, up]).run()?;
/// assert_eq!(run.single::<Hero>()?.x, 2);
/// # Ok::<(), ReplayError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buttons<T> {
    /// Those that are down.
    pub held: Vec<T>,
    /// Those that went down since the previous tick.
    pub pressed: Vec<T>,
    /// Those that went up since the previous tick.
    pub released: Vec<T>,
}

impl<T> Default for Buttons<T> {
    fn default() -> Self {
        Self { held: Vec::new(), pressed: Vec::new(), released: Vec::new() }
    }
}

/// What one tick sees of the physical keys: `ButtonInput<KeyCode>`.
pub type Keyboard = Buttons<KeyCode>;
/// What one tick sees of the logical keys: `ButtonInput<Key>`.
pub type LogicalKeys = Buttons<Key>;
/// What one tick sees of the mouse's buttons: `ButtonInput<MouseButton>`.
pub type MouseButtons = Buttons<MouseButton>;

impl<T: Button> Buttons<T> {
    /// Makes a value in which buttons are down that were down before.
    #[must_use]
    pub fn holding(held: impl IntoIterator<Item = T>) -> Self {
        Self { held: sorted(held), ..Self::default() }
    }

    /// Makes a value in which buttons have just gone down.
    #[must_use]
    pub fn pressing(pressed: impl IntoIterator<Item = T>) -> Self {
        let pressed = sorted(pressed);
        Self { held: pressed.clone(), pressed, ..Self::default() }
    }

    /// Makes a value in which buttons went down and up since the previous tick.
    #[must_use]
    pub fn tapping(tapped: impl IntoIterator<Item = T>) -> Self {
        let pressed = sorted(tapped);
        Self { released: pressed.clone(), pressed, ..Self::default() }
    }

    /// Returns whether anything went down or up.
    #[must_use]
    pub(super) fn has_edges(&self) -> bool {
        !self.pressed.is_empty() || !self.released.is_empty()
    }

    /// Makes Bevy's resource show this value, and nothing else.
    pub(super) fn show(&self, input: &mut ButtonInput<T>) {
        input.reset_all();
        for button in &self.released {
            input.press(button.clone());
            input.release(button.clone());
            input.clear_just_pressed(button.clone());
        }
        for button in &self.held {
            input.press(button.clone());
            if !self.pressed.contains(button) {
                input.clear_just_pressed(button.clone());
            }
        }
        for button in self.pressed.iter().filter(|button| !self.held.contains(button)) {
            input.press(button.clone());
            input.release(button.clone());
            if !self.released.contains(button) {
                input.clear_just_released(button.clone());
            }
        }
    }
}

/// In the order of their names, each once.
pub(super) fn sorted<T: Button>(buttons: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut buttons: Vec<T> = buttons.into_iter().collect();
    if buttons.len() > 1 {
        buttons.sort_by_cached_key(Button::name);
        buttons.dedup();
    }
    buttons
}

impl<T: Button> Canonical for Buttons<T> {
    const WIDTH: Option<usize> = None;

    fn type_name() -> String {
        T::TRACK.into()
    }

    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|types| {
            let names = Vec::<String>::shape(types);
            let field = |name: &str| Field { name: name.into(), shape: names };
            Shape::Struct { name: T::TRACK.into(), fields: ["held", "pressed", "released"].map(field).into() }
        })
    }

    fn encode<S: Sink>(&self, out: &mut S) {
        let Self { held, pressed, released } = self;
        for buttons in [held, pressed, released] {
            let mut names: Vec<String> = buttons.iter().map(Button::name).collect();
            names.sort_unstable();
            names.dedup();
            names.encode(out);
        }
    }

    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        input.deeper(|input| {
            Ok(Self { held: decode_names(input)?, pressed: decode_names(input)?, released: decode_names(input)? })
        })
    }
}

/// In any order: somebody may have written them by hand.
fn decode_names<T: Button>(input: &mut Source<'_>) -> Result<Vec<T>, DecodeError> {
    let names = Vec::<String>::decode(input)?;
    let buttons = names.iter().map(|name| T::named(name).ok_or_else(|| DecodeError::invalid(T::TRACK, name)));
    Ok(sorted(buttons.collect::<Result<Vec<T>, _>>()?))
}

impl<T: Button> TickInput for Buttons<T> {
    const HAS_ONCE: bool = true;

    fn consume(&mut self) {
        self.pressed.clear();
        self.released.clear();
    }
}
