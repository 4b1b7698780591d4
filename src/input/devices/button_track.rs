//! Keys and mouse buttons as recorded input.

use super::TextFocus;
use super::buttons::{Button, Buttons};
use super::edges::{Edges, Gathered};
use super::view::{OtherTick, View};
use crate::input::{From, TrackSource};
use crate::state::purity::place_of;
use bevy_ecs::change_detection::{DetectChanges, DetectChangesMut, Tick};
use bevy_ecs::world::World;
use bevy_input::ButtonInput;
use bevy_replay_tape::{Canonical, DecodeError, TypeSpec, decode_from_slice, encode_to_vec};
use std::sync::Arc;

/// What a tape says where text was typed.
const TEXT_FIELD: &str = "keyboard not recorded: text field";

/// One `ButtonInput` resource. Inside ticks it holds the tick's view, outside the frame's.
#[derive(Debug)]
pub(super) struct ButtonTrack<T: Button> {
    spec: TypeSpec,
    view: View<T>,
    /// The canonical bytes of the view.
    bytes: Vec<u8>,
    /// The side that is not in the world.
    other: ButtonInput<T>,
    other_tick: OtherTick,
    /// Whether `other` must be made to show the view.
    is_stale: bool,
    /// The change tick of the view in the running tick.
    inside: Option<Tick>,
    /// Empty between ticks; kept so that no tick allocates.
    new: Edges<T>,
    is_gap: bool,
    /// Whether the next tick is the first that counts.
    starts: bool,
}

impl<T: Button> ButtonTrack<T> {
    pub(super) fn new() -> Self {
        Self {
            spec: TypeSpec { name: Buttons::<T>::type_name(), schema: Arc::new(Buttons::<T>::schema()) },
            view: View::default(),
            bytes: encode_to_vec(&Buttons::<T>::default()),
            other: ButtonInput::default(),
            other_tick: OtherTick::default(),
            is_stale: false,
            inside: None,
            new: Edges::default(),
            is_gap: false,
            starts: false,
        }
    }
}

impl<T: Button> TrackSource for ButtonTrack<T> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn default(&self) -> Option<Vec<u8>> {
        Some(encode_to_vec(&Buttons::<T>::default()))
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let is_live = matches!(from, From::Live);
        let recorded = match from {
            From::Live => None,
            From::Nothing => Some(Buttons::default()),
            From::Tape(bytes) if bytes == self.bytes => None,
            From::Tape(bytes) => Some(decode_from_slice(bytes)?),
        };
        let hidden = T::TYPES_TEXT && world.get_resource::<TextFocus>().is_some_and(|focus| focus.0);
        let mut gathered = world.get_resource_or_init::<Gathered<T>>();
        let gathered = gathered.bypass_change_detection();
        core::mem::swap(&mut gathered.new, &mut self.new);
        self.is_gap = (core::mem::take(&mut gathered.was_private) || hidden) && is_live;

        let now = world.change_tick();
        let mut live = world.get_resource_or_init::<ButtonInput<T>>();
        let held_before = self.view.value.held.len();
        let updated = match recorded {
            Some(value) => self.view.set(value),
            None if is_live => {
                self.view.resumes |= self.is_gap;
                self.view.follow(&live, &self.new, hidden)
            }
            None => self.view.repeat(),
        };
        self.new.clear();
        if updated {
            self.bytes = encode_to_vec(&self.view.value);
        }
        if updated || self.is_stale {
            self.view.value.show(&mut self.other);
            self.is_stale = false;
        }
        let changed = core::mem::take(&mut self.starts)
            || self.view.value.has_edges()
            || (updated && self.view.value.held.len() != held_before);
        core::mem::swap(live.bypass_change_detection(), &mut self.other);
        self.other_tick.swap(&mut live, changed, now);
        self.inside = Some(live.last_changed());
        seen.extend_from_slice(&self.bytes);
        Ok(())
    }

    /// Presses that come from nowhere. What a tick takes away to spend it, a replay takes away again.
    fn written_inside(&mut self, world: &mut World) -> Option<Option<String>> {
        let live = world.get_resource_ref::<ButtonInput<T>>()?;
        if self.inside.is_none_or(|shown| shown == live.last_changed()) {
            return None;
        }
        let Buttons { held, pressed, .. } = &self.view.value;
        let is_new = live.get_pressed().any(|button| !held.contains(button))
            || live.get_just_pressed().any(|button| !pressed.contains(button));
        is_new.then(|| place_of(live.changed_by().into_option()))
    }

    fn end(&mut self, world: &mut World) {
        let Some(shown) = self.inside.take() else { return };
        let now = world.change_tick();
        let mut live = world.get_resource_or_init::<ButtonInput<T>>();
        // What the tick wrote into its view ends with it.
        self.is_stale |= live.last_changed() != shown;
        core::mem::swap(live.bypass_change_detection(), &mut self.other);
        self.other_tick.swap(&mut live, false, now);
    }

    fn last_seen(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }

    fn start(&mut self) {
        self.starts = true;
    }

    fn resume(&mut self, _: &mut World, last: From<'_>) {
        if let From::Tape(bytes) = last
            && let Ok(value) = decode_from_slice(bytes)
        {
            self.view.set(value);
            self.bytes = bytes.to_vec();
            self.is_stale = true;
        }
    }

    fn release(&mut self, _: &mut World) {
        self.view.resumes = true;
    }

    fn gap(&self) -> Option<&'static str> {
        self.is_gap.then_some(TEXT_FIELD)
    }
}
