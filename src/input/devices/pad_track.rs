//! Gamepads as recorded input.

use super::buttons::Buttons;
use super::edges::Edges;
use super::pads::{Analog, Gamepads, Pad, PadSlot, Pads, StandIn, is_at_rest};
use super::view::{OtherTick, View};
use crate::input::{From, TrackSource};
use bevy_ecs::change_detection::{DetectChanges, DetectChangesMut, Tick};
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_input::ButtonInput;
use bevy_input::gamepad::{Gamepad, GamepadAxis, GamepadButton, GamepadInput};
use bevy_replay_tape::{Canonical, DecodeError, TypeSpec, decode_from_slice, encode_to_vec};
use std::sync::Arc;

/// Buttons, and sticks and triggers, of one pad.
type Controls = (Buttons<GamepadButton>, Analog);

/// Sticks and triggers of a pad that are not at rest.
fn off_rest(pad: &Gamepad) -> impl Iterator<Item = (GamepadInput, f32)> {
    let all = pad.analog().all_axes_and_values().map(|(input, value)| (*input, value));
    all.filter(|(input, value)| !is_at_rest(*input, *value))
}

/// All gamepads. Inside ticks each holds the tick's view of its slot, outside the frame's.
#[derive(Debug)]
pub(super) struct PadTrack {
    spec: TypeSpec,
    seats: Vec<Seat>,
    /// The canonical bytes of all views.
    bytes: Vec<u8>,
    /// Empty between ticks; kept so that no tick allocates.
    live: Vec<Option<Entity>>,
    /// Whether the next tick is the first that counts.
    starts: bool,
}

/// What ticks see of one slot.
#[derive(Debug, Default)]
struct Seat {
    is_connected: bool,
    view: View<GamepadButton>,
    analog: Analog,
    new: Edges<GamepadButton>,
    /// The side that is not in the world.
    other: Gamepad,
    other_tick: OtherTick,
    /// Whether `other` must be made to show the view.
    is_stale: bool,
    stand_in: Option<Entity>,
    /// In the running tick: the pad, and the change tick of its view.
    inside: Option<(Entity, Tick)>,
    /// In the running tick: whether we have disabled the pad.
    is_hidden: bool,
}

impl Seat {
    /// Follows the pad in this slot, if there is one; returns whether the tick sees anything else than the last one.
    fn follow(&mut self, live: Option<&Gamepad>) -> bool {
        let was_connected = self.is_connected;
        let updated = match live {
            Some(pad) => {
                self.is_connected = true;
                let is_known = |(input, value): (GamepadInput, f32)| {
                    self.analog.iter().any(|known| known.0 == input && known.1.to_bits() == value.to_bits())
                };
                let is_still = off_rest(pad).count() == self.analog.len() && off_rest(pad).all(is_known);
                if !is_still {
                    self.rest();
                    self.analog.extend(off_rest(pad));
                }
                self.view.follow(pad.digital(), &self.new, false) | !is_still
            }
            // A stand-in lets go of what the tape held, and is gone one tick later.
            None if self.lingers() => {
                self.rest();
                self.view.follow(&ButtonInput::default(), &Edges::default(), false)
            }
            None => {
                self.leave();
                false
            }
        };
        updated || was_connected != self.is_connected
    }

    fn lingers(&self) -> bool {
        self.view.resumes && self.stand_in.is_some() && !self.view.value.held.is_empty()
    }

    /// Shows what a tape has for this slot; returns whether the tick sees anything else than the last one.
    fn set(&mut self, pad: Option<Controls>) -> bool {
        let was_connected = self.is_connected;
        let Some((buttons, analog)) = pad else {
            self.leave();
            return was_connected;
        };
        self.is_connected = true;
        let moved = analog != self.analog;
        if moved {
            self.rest();
            self.analog = analog;
        }
        self.view.set(buttons) || moved || !was_connected
    }

    /// The slot is empty.
    fn leave(&mut self) {
        if self.is_connected || self.view.resumes {
            self.rest();
            self.is_connected = false;
            self.view = View::default();
            self.is_stale = true;
        }
    }

    /// Puts sticks and triggers back, in the side that shows the view too.
    fn rest(&mut self) {
        for (input, _) in self.analog.drain(..) {
            match input {
                GamepadInput::Axis(GamepadAxis::Other(_)) | GamepadInput::Button(GamepadButton::Other(_)) => {
                    self.other.analog_mut().remove(input);
                }
                _ => _ = self.other.analog_mut().set(input, 0.0),
            }
        }
    }

    /// Exchanges the pad's state with the side that is not in the world.
    fn swap(&mut self, pad: &mut Mut<Gamepad>, changed: bool, now: Tick) {
        let live = pad.bypass_change_detection();
        core::mem::swap(live.digital_mut(), self.other.digital_mut());
        core::mem::swap(live.analog_mut(), self.other.analog_mut());
        self.other_tick.swap(pad, changed, now);
    }

    fn show(&mut self) {
        if self.is_stale {
            *self.other.analog_mut() = core::mem::take(Gamepad::default().analog_mut());
            self.is_stale = false;
        }
        for (input, value) in &self.analog {
            self.other.analog_mut().set(*input, *value);
        }
        self.view.value.show(self.other.digital_mut());
    }
}

impl PadTrack {
    pub(super) fn new() -> Self {
        let value = Gamepads::default();
        Self {
            starts: false,
            spec: TypeSpec { name: Gamepads::type_name(), schema: Arc::new(Gamepads::schema()) },
            seats: Vec::new(),
            bytes: encode_to_vec(&value),
            live: Vec::new(),
        }
    }

    fn value(&self) -> Gamepads {
        let slots = (0..=u8::MAX).zip(&self.seats).filter(|(_, seat)| seat.is_connected);
        Gamepads {
            connected: slots.map(|(slot, seat)| Pad::new(slot, seat.view.value.clone(), &seat.analog)).collect(),
        }
    }

    /// Takes the pads of each slot, and what has happened to them.
    fn look(&mut self, world: &mut World) {
        let mut pads = world.get_resource_or_init::<Pads>();
        let slots = &mut pads.bypass_change_detection().slots;
        if self.seats.len() < slots.len() {
            self.seats.resize_with(slots.len(), Seat::default);
        }
        self.live.clear();
        for (slot, seat) in slots.iter_mut().zip(&mut self.seats) {
            seat.new.clear();
            core::mem::swap(&mut slot.buttons.new, &mut seat.new);
            self.live.push(slot.pad);
        }
    }
}

/// The pads of a tape by slot.
fn decode(bytes: &[u8]) -> Result<Vec<Option<Controls>>, DecodeError> {
    let mut slots = Vec::new();
    for pad in decode_from_slice::<Gamepads>(bytes)?.connected {
        let index = usize::from(pad.slot);
        if slots.len() <= index {
            slots.resize_with(index + 1, || None);
        }
        let analog = pad.analog()?;
        if slots[index].replace((pad.buttons, analog)).is_some() {
            return Err(DecodeError::invalid("Gamepads", format!("two pads in slot {index}")));
        }
    }
    Ok(slots)
}

impl TrackSource for PadTrack {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn default(&self) -> Option<Vec<u8>> {
        Some(encode_to_vec(&Gamepads::default()))
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let is_live = matches!(from, From::Live);
        let mut recorded = match from {
            From::Live => None,
            From::Nothing => Some(Vec::new()),
            From::Tape(bytes) if bytes == self.bytes => None,
            From::Tape(bytes) => Some(decode(bytes)?),
        };
        self.look(world);
        let slots = recorded.as_ref().map_or(0, Vec::len).max(self.seats.len());
        self.seats.resize_with(slots, Seat::default);
        self.live.resize(slots, None);

        let now = world.change_tick();
        let starts = core::mem::take(&mut self.starts);
        let mut updated = false;
        for (index, seat) in self.seats.iter_mut().enumerate() {
            let live = self.live[index].filter(|pad| world.get::<Gamepad>(*pad).is_some());
            let is_new = match &mut recorded {
                Some(slots) => seat.set(slots.get_mut(index).and_then(Option::take)),
                None if is_live => seat.follow(live.and_then(|pad| world.get::<Gamepad>(pad))),
                None => seat.view.repeat(),
            };
            updated |= is_new;
            if is_new || seat.is_stale {
                seat.show();
            }
            if (live.is_some() || !seat.is_connected)
                && let Some(stand_in) = seat.stand_in.take()
            {
                _ = world.try_despawn(stand_in);
            }
            seat.stand_in = seat.stand_in.filter(|pad| world.get::<Gamepad>(*pad).is_some());
            if live.is_none() && seat.is_connected && seat.stand_in.is_none() {
                let slot = PadSlot(u8::try_from(index).unwrap_or(u8::MAX));
                seat.stand_in = Some(world.spawn((Gamepad::default(), slot, StandIn)).id());
            }
            let Some(pad) = live.or(seat.stand_in) else { continue };
            seat.is_hidden = !seat.is_connected && world.get::<Disabled>(pad).is_none();
            if seat.is_hidden {
                world.entity_mut(pad).insert(Disabled);
            }
            if let Some(mut gamepad) = world.get_mut::<Gamepad>(pad) {
                seat.swap(&mut gamepad, starts || is_new || seat.view.value.has_edges(), now);
                seat.inside = Some((pad, gamepad.last_changed()));
            }
        }
        if updated {
            self.bytes = encode_to_vec(&self.value());
        }
        seen.extend_from_slice(&self.bytes);
        Ok(())
    }

    fn end(&mut self, world: &mut World) {
        let now = world.change_tick();
        for seat in &mut self.seats {
            let Some((pad, shown)) = seat.inside.take() else { continue };
            if let Some(mut gamepad) = world.get_mut::<Gamepad>(pad) {
                // What the tick wrote into its view ends with it.
                seat.is_stale |= gamepad.last_changed() != shown;
                seat.swap(&mut gamepad, false, now);
            } else {
                seat.is_stale = true;
            }
            if core::mem::take(&mut seat.is_hidden)
                && let Ok(mut entity) = world.get_entity_mut(pad)
            {
                entity.remove::<Disabled>();
            }
        }
    }

    fn start(&mut self) {
        self.starts = true;
    }

    fn release(&mut self, world: &mut World) {
        for seat in &mut self.seats {
            seat.view.resumes = true;
            if seat.inside.is_none()
                && !seat.lingers()
                && let Some(stand_in) = seat.stand_in.take()
            {
                _ = world.try_despawn(stand_in);
            }
        }
    }
}
