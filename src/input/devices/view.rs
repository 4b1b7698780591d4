//! How a tick's view follows a live device, and how the two sides share one resource.

use super::buttons::{Button, Buttons};
use super::edges::Edges;
use bevy_ecs::change_detection::{DetectChangesMut, Tick};
use bevy_input::ButtonInput;

/// The buttons as the ticks see them.
#[derive(Debug)]
pub(super) struct View<T> {
    /// What the running tick sees, or the last one saw.
    pub(super) value: Buttons<T>,
    /// Down, but not seen before they are pressed anew.
    unseen: Vec<T>,
    /// Whether live input comes back with the next tick.
    pub(super) resumes: bool,
    has_started: bool,
}

impl<T> Default for View<T> {
    fn default() -> Self {
        Self { value: Buttons::default(), unseen: Vec::new(), resumes: false, has_started: false }
    }
}

impl<T: Button> View<T> {
    /// Takes a tape's value; returns whether it is another than the last tick's.
    pub(super) fn set(&mut self, value: Buttons<T>) -> bool {
        self.repeat();
        let updated = self.value != value;
        self.value = value;
        updated
    }

    /// Takes the same value from a tape once more.
    pub(super) fn repeat(&mut self) -> bool {
        self.unseen.clear();
        (self.resumes, self.has_started) = (false, true);
        false
    }

    /// Follows the live buttons; returns whether the value is another than the last tick's.
    ///
    /// When live input comes back (`resumes`), all that was held is released, and what is down then is
    /// not seen before it is pressed anew. While `hidden`, nothing is down.
    pub(super) fn follow(&mut self, live: &ButtonInput<T>, new: &Edges<T>, hidden: bool) -> bool {
        let first = !core::mem::replace(&mut self.has_started, true);
        let resumes = core::mem::take(&mut self.resumes) || hidden;
        let held = &self.value.held;
        let still = live.get_pressed().len() == held.len() && live.get_pressed().all(|button| held.contains(button));
        if still && !resumes && !first && new.is_empty() && self.unseen.is_empty() {
            let updated = self.value.has_edges();
            self.value.pressed.clear();
            self.value.released.clear();
            return updated;
        }

        let before = core::mem::take(&mut self.value);
        let is_down = |button: &T| live.get_pressed().any(|down| down == button);
        let was_unseen = core::mem::take(&mut self.unseen);
        let pressed_anew = |button: &T| new.pressed.contains(button) && !hidden;
        if resumes {
            self.unseen.extend(live.get_pressed().filter(|button| !pressed_anew(button)).cloned());
        } else {
            let stays =
                |button: &&T| is_down(button) && !new.pressed.contains(button) && !new.released.contains(button);
            self.unseen.extend(was_unseen.iter().filter(stays).cloned());
        }

        let mut buttons: Vec<&T> = before.held.iter().chain(live.get_pressed()).chain(&new.pressed).collect();
        buttons = sorted_refs(buttons);
        for button in buttons {
            // Down before the first tick without an edge: held, as far as anybody knows.
            let found_held = first && is_down(button) && !new.pressed.contains(button);
            let was_held = (before.held.contains(button) && !resumes) || found_held;
            let held = is_down(button) && !hidden && !self.unseen.contains(button);
            let pressed = pressed_anew(button);
            // A release of what no tick saw down is none.
            let released = new.released.contains(button) && !resumes && !was_unseen.contains(button);
            let (press, release) = match (was_held, held) {
                (false, false) => (pressed, pressed),
                (false, true) => (true, pressed && released),
                (true, false) => (pressed && released, true),
                // Up and down again, even if the way down was too quick to be seen.
                (true, true) => (released, released),
            };
            if held {
                self.value.held.push(button.clone());
            }
            if press {
                self.value.pressed.push(button.clone());
            }
            if release || (resumes && before.held.contains(button)) {
                self.value.released.push(button.clone());
            }
        }
        self.value != before
    }
}

fn sorted_refs<T: Button>(mut buttons: Vec<&T>) -> Vec<&T> {
    buttons.sort_by_cached_key(|button| button.name());
    buttons.dedup();
    buttons
}

/// The change tick of the side that is not in the world: in each of the two, `is_changed` speaks of its own value.
#[derive(Debug, Default)]
pub(super) struct OtherTick(Option<Tick>);

impl OtherTick {
    /// Puts the other side's change tick in force; `changed` if its value was changed just now.
    pub(super) fn swap(&mut self, live: &mut impl DetectChangesMut, changed: bool, now: Tick) {
        let other = self.0.replace(live.last_changed());
        match other {
            _ if changed => live.set_changed(),
            Some(tick) => live.set_last_changed(no_older_than_bevy_allows(tick, now)),
            None => {}
        }
    }
}

/// Bevy keeps the ticks in the world from growing so old that they wrap; this one it does not see.
fn no_older_than_bevy_allows(tick: Tick, now: Tick) -> Tick {
    let age_max = Tick::MAX.get();
    if now.get().wrapping_sub(tick.get()) > age_max { Tick::new(now.get().wrapping_sub(age_max)) } else { tick }
}
