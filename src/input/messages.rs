//! Messages: two buffers per type, one inside ticks and one outside.
//!
//! Bevy rotates buffers once per frame, so a tick that runs every third frame, or three times in one,
//! reads another set of messages each time the frame rate changes. Here what is written outside enters
//! the next tick as recorded input, and what a tick writes is seen by the frame that follows.

use super::{From, TrackSource};
use crate::state::sim_id::WorldIds;
use bevy_ecs::message::{Message, MessageCursor, Messages};
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_replay_tape::{
    Canonical, DecodeError, EncodeNotes, SchemaBuilder, ShapeId, Sink, Source, TypeSpec, VecSink, encode_to_vec,
};
use std::sync::Arc;

/// What the previous tick wrote, of one message type. Authoritative.
#[derive(Resource, Debug, Clone)]
pub(crate) struct LastMessages<M: Message>(Vec<M>);

impl<M: Message> Default for LastMessages<M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<M: Message + Canonical> Canonical for LastMessages<M> {
    const WIDTH: Option<usize> = None;
    fn type_name() -> String {
        format!("Messages<{}>", M::type_name())
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        Vec::<M>::shape(types)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        self.0.encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        Vec::decode(input).map(Self)
    }
}

/// Reads the messages that the previous tick wrote, each of them every time.
///
/// It has no cursor, so unlike a `MessageReader` it hides no state from an image. For systems inside
/// ticks; the type must be registered with [`record_messages`](crate::ReplayAppExt::record_messages).
///
/// # Examples
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # #[derive(Message, Canonical, Clone)] struct Hit { damage: u32 }
/// # #[derive(Component)] struct Health(u32);
/// fn take_damage(hits: TickReader<Hit>, mut health: Single<&mut Health>) {
///     health.0 -= hits.read().map(|hit| hit.damage).sum::<u32>();
/// }
/// ```
#[derive(SystemParam, Debug)]
pub struct TickReader<'w, M: Message> {
    last: Res<'w, LastMessages<M>>,
}

impl<M: Message> TickReader<'_, M> {
    /// Returns the messages in the order in which they were written.
    pub fn read(&self) -> core::slice::Iter<'_, M> {
        self.last.0.iter()
    }

    /// Returns whether the previous tick wrote none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.0.is_empty()
    }
}

/// Messages of one type as recorded input.
pub(crate) struct MessageTrack<M: Message> {
    spec: TypeSpec,
    /// The buffer of the side that is not running.
    other: Messages<M>,
    /// What the next tick has not seen yet.
    to_tick: MessageCursor<M>,
    /// What the next frame has not seen yet.
    to_frame: MessageCursor<M>,
    new: Vec<M>,
    is_hushed: bool,
}

impl<M: Message + Canonical + Clone> MessageTrack<M> {
    pub(crate) fn new() -> Self {
        let spec = TypeSpec { name: M::type_name(), schema: Arc::new(Vec::<M>::schema()) };
        let (to_tick, to_frame) = (MessageCursor::default(), MessageCursor::default());
        Self { spec, other: Messages::default(), to_tick, to_frame, new: Vec::new(), is_hushed: false }
    }
}

impl<M: Message + Canonical + Clone> TrackSource for MessageTrack<M> {
    fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    /// No messages.
    fn default(&self) -> Option<Vec<u8>> {
        Some(encode_to_vec(&0_u64))
    }

    fn begin(&mut self, world: &mut World, from: From<'_>, seen: &mut Vec<u8>) -> Result<(), DecodeError> {
        let reads_entities = self.spec.schema.has_entities() && matches!(from, From::Tape(_));
        let ids = if reads_entities { WorldIds::reading(world) } else { WorldIds::writing(world) };
        let recorded = match from {
            From::Live => None,
            From::Nothing => Some(Vec::new()),
            From::Tape(bytes) => {
                let mut source = Source::new(bytes, &ids);
                let recorded = Vec::<M>::decode(&mut source)?;
                source.finish()?;
                Some(recorded)
            }
        };
        let mut live = world.resource_mut::<Messages<M>>();
        let live = live.bypass_change_detection();
        self.new.clear();
        self.new.extend(self.to_tick.read(live).cloned());
        if let Some(recorded) = recorded {
            self.new = recorded;
        }
        core::mem::swap(live, &mut self.other);
        let ids = WorldIds::writing(world);
        let mut notes = EncodeNotes::default();
        self.new.encode(&mut VecSink::new(seen, &ids, &mut notes));
        if notes != EncodeNotes::default() {
            // A NaN or a dead entity: the tick sees what a replay will see.
            let ids = WorldIds::reading(world);
            if let Ok(shown) = Vec::decode(&mut Source::new(seen, &ids)) {
                self.new = shown;
            }
        }
        let mut live = world.resource_mut::<Messages<M>>();
        if !self.new.is_empty() {
            live.write_batch(self.new.drain(..));
        }
        self.to_frame = live.get_cursor_current();
        Ok(())
    }

    fn end(&mut self, world: &mut World) {
        let mut last = core::mem::take(&mut world.resource_mut::<LastMessages<M>>().bypass_change_detection().0);
        last.clear();
        let mut live = world.resource_mut::<Messages<M>>();
        {
            let live = live.bypass_change_detection();
            last.extend(self.to_frame.read(live).cloned());
            live.update();
            core::mem::swap(live, &mut self.other);
        }
        if !last.is_empty() && !self.is_hushed {
            live.write_batch(last.iter().cloned());
        }
        self.to_tick = live.get_cursor_current();
        world.resource_mut::<LastMessages<M>>().bypass_change_detection().0 = last;
    }

    fn resume(&mut self, world: &mut World, _: From<'_>) {
        self.other.clear(); // not a new one: readers would lose what is written before they read again
        self.to_tick = world.resource::<Messages<M>>().get_cursor_current();
    }

    fn hush(&mut self, is_hushed: bool) {
        self.is_hushed = is_hushed;
    }

    fn release(&mut self, world: &mut World) {
        // What was written while the tape played must not reach the first live tick all at once.
        self.to_tick = world.resource::<Messages<M>>().get_cursor_current();
    }
}
