//! Bevy's `Entity`, `Timer` and `Stopwatch`.

use super::{Canonical, DecodeError, Sink, Source};
use crate::schema::{Field, SchemaBuilder, Shape, ShapeId};
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_reflect::GetPath;
use bevy_time::{Stopwatch, Timer, TimerMode};
use core::time::Duration;

/// The sim id of the entity; a dead entity or one without a sim id is none, and reported.
impl Canonical for Entity {
    const WIDTH: Option<usize> = Some(8);
    fn type_name() -> String {
        "Entity".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|_| Shape::Entity)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        out.put_entity(self.to_bits());
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(input.entity_bits()?.and_then(Self::try_from_bits).unwrap_or(Self::PLACEHOLDER))
    }
}

/// Whether an entity is disabled is state; there is no more to say.
impl Canonical for Disabled {
    const WIDTH: Option<usize> = Some(0);
    fn type_name() -> String {
        "Disabled".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|_| Shape::Struct { name: Self::type_name(), fields: Vec::new() })
    }
    fn encode<S: Sink>(&self, _: &mut S) {}
    fn decode(_: &mut Source<'_>) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

fn fields<const N: usize>(fields: [(&str, ShapeId); N]) -> Vec<Field> {
    fields.map(|(name, shape)| Field { name: name.into(), shape }).into()
}

impl Canonical for Stopwatch {
    const WIDTH: Option<usize> = Some(13);
    fn type_name() -> String {
        "Stopwatch".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|types| Shape::Struct {
            name: Self::type_name(),
            fields: fields([("elapsed", Duration::shape(types)), ("is_paused", bool::shape(types))]),
        })
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.elapsed().encode(out);
        self.is_paused().encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        input.deeper(|input| {
            let mut watch = Self::new();
            watch.set_elapsed(Duration::decode(input)?);
            if bool::decode(input)? {
                watch.pause();
            }
            Ok(watch)
        })
    }
}

impl Canonical for Timer {
    const WIDTH: Option<usize> = Some(12 + 12 + 1 + 1 + 1 + 4);
    fn type_name() -> String {
        "Timer".into()
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        types.define::<Self>(|types| Shape::Struct {
            name: Self::type_name(),
            fields: fields([
                ("duration", Duration::shape(types)),
                ("elapsed", Duration::shape(types)),
                ("is_paused", bool::shape(types)),
                ("repeating", bool::shape(types)),
                ("finished", bool::shape(types)),
                ("times_finished_this_tick", u32::shape(types)),
            ]),
        })
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.duration().encode(out);
        self.elapsed().encode(out);
        self.is_paused().encode(out);
        matches!(self.mode(), TimerMode::Repeating).encode(out);
        self.is_finished().encode(out);
        self.times_finished_this_tick().encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        input.deeper(|input| {
            let (duration, elapsed) = (Duration::decode(input)?, Duration::decode(input)?);
            let (paused, repeating) = (bool::decode(input)?, bool::decode(input)?);
            let mut timer = Self::new(duration, if repeating { TimerMode::Repeating } else { TimerMode::Once });
            timer.set_elapsed(elapsed);
            if paused {
                timer.pause();
            }
            // The two results of the last `tick` have no setter; both are reachable by name.
            *private(&mut timer, "finished")? = bool::decode(input)?;
            *private(&mut timer, "times_finished_this_tick")? = u32::decode(input)?;
            Ok(timer)
        })
    }
}

fn private<'t, T: bevy_reflect::Reflect>(timer: &'t mut Timer, field: &str) -> Result<&'t mut T, DecodeError> {
    timer.path_mut::<T>(field).map_err(|_| DecodeError::invalid("Timer", format!("no field `{field}` in this Bevy")))
}
