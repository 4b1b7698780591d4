//! Gamepads: slots, and what a tick sees of each pad, as a value.

use super::buttons::{Button, Buttons};
use super::edges::Gathered;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_input::gamepad::{Gamepad, GamepadAxis, GamepadButton, GamepadInput};
use bevy_replay_tape::{Canonical, DecodeError, TickInput};

/// Which player's gamepad it is: 0, 1, … in the order in which pads were connected.
///
/// [`RawInputPlugin`](super::RawInputPlugin) puts it on each entity with Bevy's `Gamepad`. A pad that is
/// unplugged frees its slot, one that is plugged in takes the lowest free slot. Tapes know pads by their
/// slots: what the pad in slot 1 did is shown by whatever pad is in slot 1 when the tape is played.
///
/// # Determinism
///
/// Find a player's pad by its slot. Neither the `Entity` nor the order of a query is the same in a replay.
///
/// # Examples
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_input::gamepad::{Gamepad, GamepadButton}; use bevy_replay::prelude::*;
/// fn jump(pads: Query<(&PadSlot, &Gamepad)>) {
///     for (slot, pad) in pads.iter().sort::<&PadSlot>() {
///         if pad.just_pressed(GamepadButton::South) { /* player `slot.0` jumps */ }
///     }
/// }
/// ```
#[derive(Component, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[component(immutable)]
pub struct PadSlot(pub u8);

/// A gamepad that only shows what a tape says of a slot in which there is no pad.
#[derive(Component, Debug)]
pub(super) struct StandIn;

/// What one tick sees of all gamepads.
///
/// On a tape: `Gamepads(connected: [(slot: 0, buttons: (held: ["South"], pressed: [], released: []), axes:
/// [("LeftStickX", 0.5)], strengths: [("South", 1.0)])])`.
#[derive(Debug, Clone, PartialEq, Default, TickInput)]
pub struct Gamepads {
    /// The pads that are there, by slot.
    pub connected: Vec<Pad>,
}

/// What one tick sees of one gamepad.
#[derive(Debug, Clone, PartialEq, Default, Canonical)]
pub struct Pad {
    /// Its [`PadSlot`].
    pub slot: u8,
    /// Its buttons.
    pub buttons: Buttons<GamepadButton>,
    /// How far its sticks are pushed, by Bevy's names of the axes, raw; those not named are at 0.
    pub axes: Vec<(String, f32)>,
    /// How far its buttons are pushed, by Bevy's names, raw; those not named are at 0.
    pub strengths: Vec<(String, f32)>,
}

/// Sticks and triggers that are not at rest, in any order.
pub(super) type Analog = Vec<(GamepadInput, f32)>;

/// Whether a pad without this entry shows the same.
pub(super) fn is_at_rest(input: GamepadInput, value: f32) -> bool {
    let is_standard =
        !matches!(input, GamepadInput::Axis(GamepadAxis::Other(_)) | GamepadInput::Button(GamepadButton::Other(_)));
    is_standard && value.to_bits() == 0
}

impl Pad {
    pub(super) fn new(slot: u8, buttons: Buttons<GamepadButton>, analog: &Analog) -> Self {
        let mut pad = Self { slot, buttons, ..Self::default() };
        for &(input, value) in analog {
            match input {
                GamepadInput::Axis(axis) => pad.axes.push((axis_name(axis), value)),
                GamepadInput::Button(button) => pad.strengths.push((button.name(), value)),
            }
        }
        pad.axes.sort_by(|a, b| a.0.cmp(&b.0));
        pad.strengths.sort_by(|a, b| a.0.cmp(&b.0));
        pad
    }

    pub(super) fn analog(&self) -> Result<Analog, DecodeError> {
        let axes = self.axes.iter().map(|(name, value)| {
            let axis: GamepadAxis = ron::from_str(name).map_err(|_| DecodeError::invalid("GamepadAxis", name))?;
            Ok((axis.into(), *value))
        });
        let strengths = self.strengths.iter().map(|(name, value)| {
            let button = GamepadButton::named(name).ok_or_else(|| DecodeError::invalid("GamepadButton", name))?;
            Ok((button.into(), *value))
        });
        axes.chain(strengths).collect()
    }
}

fn axis_name(axis: GamepadAxis) -> String {
    ron::to_string(&axis).expect("an axis is a plain enum")
}

/// Which pad is in which slot.
#[derive(Resource, Debug, Default)]
pub(super) struct Pads {
    pub(super) slots: Vec<Slot>,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) pad: Option<Entity>,
    pub(super) buttons: Gathered<GamepadButton>,
}

impl Pads {
    /// Gives a new pad the lowest free slot; none if there are too many.
    fn take_slot(&mut self, pad: Entity) -> Option<PadSlot> {
        let free = self.slots.iter().position(|slot| slot.pad.is_none()).unwrap_or(self.slots.len());
        let slot = u8::try_from(free).ok()?;
        if free == self.slots.len() {
            self.slots.push(Slot::default());
        }
        self.slots[free].pad = Some(pad);
        Some(PadSlot(slot))
    }
}

/// Finds pads that are there already, and watches for others.
pub(super) fn watch(world: &mut World) {
    world.init_resource::<Pads>();
    let mut found = crate::state::registry::unfiltered::<Entity, With<Gamepad>>(world);
    let mut pads: Vec<Entity> = found.iter(world).collect();
    pads.sort_unstable();
    for pad in pads {
        connect(world, pad);
    }
    world.add_observer(|on: On<Add<Gamepad>>, mut commands: Commands| {
        let pad = on.entity;
        commands.queue(move |world: &mut World| connect(world, pad));
    });
    world.add_observer(|on: On<Remove<Gamepad>>, mut pads: ResMut<Pads>, mut commands: Commands| {
        if let Some(slot) = pads.slots.iter_mut().find(|slot| slot.pad == Some(on.entity)) {
            slot.pad = None;
            commands.entity(on.entity).try_remove::<PadSlot>();
        }
    });
}

fn connect(world: &mut World, pad: Entity) {
    let Ok(entity) = world.get_entity(pad) else { return };
    let is_pad = entity.contains::<Gamepad>() && !entity.contains::<StandIn>();
    let mut pads = world.resource_mut::<Pads>();
    if is_pad && pads.slots.iter().all(|slot| slot.pad != Some(pad)) {
        let slot = pads.take_slot(pad);
        if let Some(slot) = slot {
            world.entity_mut(pad).insert(slot);
        }
    }
}

pub(super) fn gather_pads(live: Query<&Gamepad, Allow<Disabled>>, mut pads: ResMut<Pads>) {
    for slot in &mut pads.bypass_change_detection().slots {
        if let Some(pad) = slot.pad.and_then(|pad| live.get(pad).ok()) {
            slot.buttons.gather(pad.digital(), false);
        }
    }
}

pub(super) fn end_frame_of_pads(live: Query<&Gamepad, Allow<Disabled>>, mut pads: ResMut<Pads>) {
    for slot in &mut pads.bypass_change_detection().slots {
        match slot.pad.and_then(|pad| live.get(pad).ok()) {
            Some(pad) => slot.buttons.end_frame(pad.digital(), false),
            None => slot.buttons.forget_frame(),
        }
    }
}
