//! Mouse and fingers become the recorded input, between ticks.

use crate::game::{Blade, Order, Point, Stroke};
use crate::menu::Stage;
use crate::places::{Screen, to_game};
use bevy::input::ButtonState;
use bevy::input::InputSystems;
use bevy::input::mouse::MouseButtonInput;
use bevy::input::touch::TouchPhase;
use bevy::prelude::*;
use bevy::window::WindowEvent;
use bevy_egui::input::EguiWantsInput;
use bevy_replay::prelude::*;

/// Has the pointer draw the blade.
pub(crate) struct PointerPlugin;

impl Plugin for PointerPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Pointer>().add_systems(PreUpdate, draw_blade.after(InputSystems));
    }
}

/// The pointer in frames. Ticks see [`Blade`] alone.
#[derive(Resource, Default)]
pub(crate) struct Pointer {
    /// Where it was last, in pixels of the window.
    pub(crate) cursor: Option<Vec2>,
    /// Where the blade was last, while it is drawn.
    blade: Option<Point>,
    /// The finger that draws it, if it is one.
    finger: Option<u64>,
    /// What was drawn since the last frame.
    pub(crate) strokes: Vec<Stroke>,
}

impl Pointer {
    fn go(&mut self, to: Vec2, screen: Screen) {
        self.cursor = Some(to);
        let to = to_game(screen.to_world(to));
        if let Some(from) = self.blade.replace(to).filter(|from| *from != to) {
            self.strokes.push(Stroke { from, to });
        }
    }

    fn lift(&mut self) {
        (self.blade, self.finger) = (None, None);
    }
}

/// Reads what has come in the order in which it came, so that no part of the way is lost, however long the frame was.
///
/// What no tick has seen yet stays in [`Blade`]; the way goes on where it was in the last frame.
fn draw_blade(
    mut events: MessageReader<WindowEvent>,
    window: Option<Single<&Window>>,
    wants: Option<Res<EguiWantsInput>>,
    order: Res<Order>,
    deck: Res<Deck>,
    mut pointer: ResMut<Pointer>,
    mut blade: ResMut<Blade>,
) {
    pointer.strokes.clear();
    let Some(screen) = window.map(|window| Screen::of(&window)) else { return };
    let may_cut = Stage::of(&order) == Stage::Playing && !deck.is_replaying();
    if !may_cut {
        pointer.lift();
    }
    let may_draw = may_cut && !wants.is_some_and(|wants| wants.wants_any_pointer_input());
    for event in events.read() {
        match event {
            WindowEvent::CursorMoved(moved) => {
                let is_drawn = pointer.blade.is_some() && pointer.finger.is_none();
                if is_drawn {
                    pointer.go(moved.position, screen);
                }
                pointer.cursor = Some(moved.position);
            }
            WindowEvent::MouseButtonInput(MouseButtonInput { button: MouseButton::Left, state, .. }) => match state {
                ButtonState::Pressed if may_draw && pointer.blade.is_none() => {
                    if let Some(at) = pointer.cursor {
                        pointer.go(at, screen);
                    }
                }
                ButtonState::Released if pointer.finger.is_none() => pointer.lift(),
                _ => {}
            },
            WindowEvent::TouchInput(touch) => match touch.phase {
                TouchPhase::Started if may_draw && pointer.blade.is_none() => {
                    pointer.finger = Some(touch.id);
                    pointer.go(touch.position, screen);
                }
                TouchPhase::Moved if pointer.finger == Some(touch.id) => pointer.go(touch.position, screen),
                TouchPhase::Ended | TouchPhase::Canceled if pointer.finger == Some(touch.id) => pointer.lift(),
                _ => {}
            },
            WindowEvent::WindowFocused(focus) if !focus.focused => pointer.lift(),
            _ => {}
        }
    }
    if !pointer.strokes.is_empty() {
        blade.strokes.extend(&pointer.strokes);
    }
}
