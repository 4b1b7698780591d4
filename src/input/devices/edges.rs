//! What happens to buttons between two ticks, collected frame by frame.

use super::buttons::Button;
use bevy_ecs::resource::Resource;
use bevy_input::ButtonInput;

/// Buttons that went down and up since the last tick.
#[derive(Debug)]
pub(super) struct Edges<T> {
    pub(super) pressed: Vec<T>,
    pub(super) released: Vec<T>,
}

impl<T> Default for Edges<T> {
    fn default() -> Self {
        Self { pressed: Vec::new(), released: Vec::new() }
    }
}

impl<T> Edges<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.pressed.is_empty() && self.released.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.pressed.clear();
        self.released.clear();
    }
}

/// Collects edges frame by frame, from the live resource.
///
/// From the resource and not from messages: that keeps what a user interface has taken for itself and
/// what the game presses by hand. It looks twice per frame, so that a tap made in `Update` is seen too.
#[derive(Resource, Debug)]
pub(super) struct Gathered<T: Button> {
    /// Not seen by any tick yet.
    pub(super) new: Edges<T>,
    /// Seen in this frame already; Bevy keeps them until the next.
    of_frame: Edges<T>,
    /// Whether this frame belongs to a text field.
    frame_is_private: bool,
    /// Whether any frame since the last tick did.
    pub(super) was_private: bool,
}

impl<T: Button> Default for Gathered<T> {
    fn default() -> Self {
        let (new, of_frame) = (Edges::default(), Edges::default());
        Self { new, of_frame, frame_is_private: false, was_private: false }
    }
}

impl<T: Button> Gathered<T> {
    /// Takes what has happened in this frame so far.
    pub(super) fn gather(&mut self, live: &ButtonInput<T>, is_private: bool) {
        self.frame_is_private |= is_private;
        let Self { new, of_frame, .. } = self;
        let take = |button: &T, of_frame: &mut Vec<T>, new: &mut Vec<T>| {
            if !of_frame.contains(button) {
                of_frame.push(button.clone());
                if !new.contains(button) {
                    new.push(button.clone());
                }
            }
        };
        live.get_just_pressed().for_each(|button| take(button, &mut of_frame.pressed, &mut new.pressed));
        live.get_just_released().for_each(|button| take(button, &mut of_frame.released, &mut new.released));
        if self.frame_is_private {
            self.new.clear();
            self.was_private = true;
        }
    }

    /// Takes what the rest of the last frame has brought, just before Bevy forgets it.
    pub(super) fn end_frame(&mut self, live: &ButtonInput<T>, is_private: bool) {
        self.gather(live, false);
        self.forget_frame();
        self.frame_is_private = is_private;
    }

    pub(super) fn forget_frame(&mut self) {
        self.of_frame.clear();
    }
}
