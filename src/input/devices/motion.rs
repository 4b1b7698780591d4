//! Motion and wheel of the mouse: sums, spent once per tick.

use super::view::OtherTick;
use crate::input::{From, TrackSource};
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseScrollPixelsPerLine, MouseScrollUnit};
use bevy_replay_tape::{Canonical, DecodeError, TickInput, TypeSpec, decode_from_slice, encode_to_vec};
use std::sync::Arc;

/// How far the mouse moved since the previous tick, in Bevy's unit: `AccumulatedMouseMotion`.
#[derive(Debug, Clone, Copy, PartialEq, Default, TickInput)]
pub struct MouseMotion {
    /// To the right.
    #[once]
    pub x: f32,
    /// Down.
    #[once]
    pub y: f32,
}

/// How far the wheel turned since the previous tick: `AccumulatedMouseScroll`.
#[derive(Debug, Clone, Copy, PartialEq, Default, TickInput)]
pub struct MouseScroll {
    /// To the right.
    #[once]
    pub x: f32,
    /// Up.
    #[once]
    pub y: f32,
    /// Whether both are pixels, as touchpads give them, and not lines.
    #[once]
    pub in_pixels: bool,
}

/// A resource in which Bevy sums up what happened in a frame.
pub(super) trait Sum: Resource<Mutability = Mutable> + Copy + PartialEq + Default {
    /// Its form on a tape.
    type Value: TickInput + Copy + PartialEq + Send + Sync;

    /// Adds a frame's sum to a tick's.
    fn add(&mut self, frame: &Self, pixels_per_line: &MouseScrollPixelsPerLine);
    fn value(&self) -> Self::Value;
    fn of(value: Self::Value) -> Self;
}

impl Sum for AccumulatedMouseMotion {
    type Value = MouseMotion;

    fn add(&mut self, frame: &Self, _: &MouseScrollPixelsPerLine) {
        self.delta += frame.delta;
    }
    fn value(&self) -> MouseMotion {
        MouseMotion { x: self.delta.x, y: self.delta.y }
    }
    fn of(MouseMotion { x, y }: MouseMotion) -> Self {
        let mut sum = Self::default();
        (sum.delta.x, sum.delta.y) = (x, y);
        sum
    }
}

impl Sum for AccumulatedMouseScroll {
    type Value = MouseScroll;

    /// A tick has one unit, the last: what came in another is converted.
    fn add(&mut self, frame: &Self, pixels_per_line: &MouseScrollPixelsPerLine) {
        if frame.delta == Self::default().delta {
            return;
        }
        *self = match frame.unit {
            MouseScrollUnit::Line => self.to_lines(pixels_per_line),
            MouseScrollUnit::Pixel => self.to_pixels(pixels_per_line),
        };
        self.delta += frame.delta;
    }
    fn value(&self) -> MouseScroll {
        MouseScroll { x: self.delta.x, y: self.delta.y, in_pixels: self.unit == MouseScrollUnit::Pixel }
    }
    fn of(MouseScroll { x, y, in_pixels }: MouseScroll) -> Self {
        let mut sum = Self::default();
        (sum.delta.x, sum.delta.y) = (x, y);
        sum.unit = if in_pixels { MouseScrollUnit::Pixel } else { MouseScrollUnit::Line };
        sum
    }
}

/// What no tick has spent yet.
#[derive(Resource, Debug, Default)]
pub(super) struct Unspent<R: Sum>(R);

pub(super) fn sum_up<R: Sum>(
    frame: Res<R>,
    pixels_per_line: Option<Res<MouseScrollPixelsPerLine>>,
    mut unspent: ResMut<Unspent<R>>,
) {
    let pixels_per_line = pixels_per_line.map(|ratio| *ratio).unwrap_or_default();
    unspent.bypass_change_detection().0.add(&frame, &pixels_per_line);
}

/// One of the mouse's accumulators. Inside ticks it holds the tick's sum, outside the frame's.
#[derive(Debug)]
pub(super) struct SumTrack<R: Sum> {
    spec: TypeSpec,
    /// What the running tick sees, or the last one saw.
    value: R::Value,
    /// Its canonical bytes.
    bytes: Vec<u8>,
    /// The side that is not in the world.
    other: R,
    other_tick: OtherTick,
    is_inside: bool,
    /// Whether the next tick is the first that counts.
    starts: bool,
}

impl<R: Sum> SumTrack<R> {
    pub(super) fn new() -> Self {
        let value = R::Value::default();
        Self {
            spec: TypeSpec { name: R::Value::type_name(), schema: Arc::new(R::Value::schema()) },
            value,
            bytes: encode_to_vec(&value),
            other: R::default(),
            other_tick: OtherTick::default(),
            is_inside: false,
            starts: false,
        }
    }
}

impl<R: Sum> TrackSource for SumTrack<R> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    fn default(&self) -> Option<Vec<u8>> {
        Some(encode_to_vec(&R::Value::default()))
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let recorded = match from {
            From::Live => None,
            From::Nothing => Some(R::Value::default()),
            From::Tape(bytes) => Some(decode_from_slice::<R::Value>(bytes)?),
        };
        let mut unspent = world.get_resource_or_init::<Unspent<R>>();
        let live = core::mem::take(&mut unspent.bypass_change_detection().0);
        let value = recorded.unwrap_or_else(|| live.value());
        // A sum that is not zero has just been changed, even if the last one was the same.
        let changed = core::mem::take(&mut self.starts) || value != self.value || R::of(value) != R::default();
        if value != self.value {
            self.value = value;
            self.bytes = encode_to_vec(&value);
        }
        self.other = R::of(value);
        let now = world.change_tick();
        let mut live = world.get_resource_or_init::<R>();
        core::mem::swap(live.bypass_change_detection(), &mut self.other);
        self.other_tick.swap(&mut live, changed, now);
        self.is_inside = true;
        seen.extend_from_slice(&self.bytes);
        Ok(())
    }

    fn end(&mut self, world: &mut World) {
        if !core::mem::take(&mut self.is_inside) {
            return;
        }
        let now = world.change_tick();
        let mut live = world.get_resource_or_init::<R>();
        core::mem::swap(live.bypass_change_detection(), &mut self.other);
        self.other_tick.swap(&mut live, false, now);
    }

    fn start(&mut self) {
        self.starts = true;
    }

    /// The mouse is where it is; there is nothing to let go of.
    fn release(&mut self, _: &mut World) {}
}
