//! Named streams, and streams of single entities.

use super::StreamLabel;
use super::generator::{Generator, Place, draws_from, key};
use crate::plugin::Seed;
use crate::state::SimId;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_replay_tape::{Canonical, DecodeError, SchemaBuilder, ShapeId, Sink, Source};
use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeMap;

/// The random numbers of one purpose, as a system parameter that is a generator of the `rand` crate.
///
/// A ChaCha8 generator seeded from ([`Seed`], name of the label) with its first draw, so that adding,
/// removing or using another stream moves nothing. It is authoritative: key, place and number of draws are
/// in each image, and reports tell the draws. Register it with
/// [`register_stream`](crate::ReplayAppExt::register_stream).
///
/// Draw in ticks and at start-up only. What is drawn between ticks depends on the frame rate; it is reported as a
/// [`Finding`](crate::Finding). Systems that draw from one stream run in the order of
/// [`TickOrder`](crate::TickOrder), systems with different streams in parallel.
///
/// # Determinism
///
/// Inside a loop over a query the order of the entities decides who gets which number: sort by [`SimId`], or
/// give each entity its own numbers with [`of`](Self::of).
///
/// # Panics
///
/// When its system is first run, if the stream was not registered.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// #[derive(StreamLabel)]
/// struct Loot;
///
/// fn drop_loot(mut rng: Stream<Loot>, mut commands: Commands) {
///     if rng.random_bool(0.1) {
///         commands.spawn(Coin { worth: rng.random_range(1..=6) });
///     }
/// }
/// # #[derive(Component, Canonical)] struct Coin { worth: u8 }
/// fn game(app: &mut App) {
///     app.add_plugins(ReplayPlugin::new("my_game")).register_stream::<Loot>().register_authoritative::<Coin>();
///     app.add_systems(FixedUpdate, drop_loot);
/// }
/// # let recorded = Headless::new(game).record(20)?;
/// # Headless::new(game).verify(recorded.tape())?.assert_verified();
/// # Ok::<(), ReplayError>(())
/// ```
#[derive(SystemParam)]
pub struct Stream<'w, 's, L: StreamLabel> {
    _registered: Local<'s, Registered<L>>,
    state: ResMut<'w, StreamState<L>>,
    seed: Res<'w, Seed>,
}

/// Says which call is missing before Bevy says that a resource is.
struct Registered<L>(PhantomData<fn() -> L>);

impl<L: StreamLabel> FromWorld for Registered<L> {
    fn from_world(world: &mut World) -> Self {
        assert!(
            world.contains_resource::<StreamState<L>>(),
            "a system draws from Stream<{0}>, which is not registered (call `register_stream::<{0}>()` on the app)",
            L::NAME
        );
        Self(PhantomData)
    }
}

impl<L: StreamLabel> Stream<'_, '_, L> {
    /// Returns the numbers of one entity, which no other entity and no order of a loop can move.
    ///
    /// They end with the entity: ids are not given twice.
    pub fn of(&mut self, entity: SimId) -> EntityStream<'_> {
        let key = self.state.streams.key(L::NAME, *self.seed);
        let entities = &mut self.state.streams.entities;
        EntityStream(entities.entry(entity.0).or_insert_with(|| Generator::new(key, Some(entity.0))))
    }

    /// Returns how many numbers were drawn so far, those of single entities not counted.
    #[must_use]
    pub fn draws(&self) -> u64 {
        self.state.streams.own.as_ref().map_or(0, Generator::draws)
    }

    fn generator(&mut self) -> &mut Generator {
        let key = self.state.streams.key(L::NAME, *self.seed);
        self.state.streams.own.get_or_insert_with(|| Generator::new(key, None))
    }
}

draws_from!(Stream<'_, '_, L>, <, L: StreamLabel>, self => self.generator());

impl<L: StreamLabel> fmt::Debug for Stream<'_, '_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("name", &L::NAME).field("draws", &self.draws()).finish()
    }
}

/// The random numbers of one entity; a generator of the `rand` crate.
#[derive(Debug)]
pub struct EntityStream<'a>(&'a mut Generator);

draws_from!(EntityStream<'_>, <>, self => self.0);

/// All generators of one label.
#[derive(Resource)]
pub(crate) struct StreamState<L> {
    pub(crate) streams: Streams,
    of: PhantomData<fn() -> L>,
}

impl<L> Default for StreamState<L> {
    fn default() -> Self {
        Self { streams: Streams::default(), of: PhantomData }
    }
}

/// The generators of one label, whichever it is.
#[derive(Default)]
pub(crate) struct Streams {
    key: Option<[u64; 4]>,
    own: Option<Generator>,
    entities: BTreeMap<u64, Generator>,
    /// Draws when the last tick ended, or the start-up schedules.
    at_border: Option<u64>,
}

impl Streams {
    fn key(&mut self, name: &str, seed: Seed) -> [u64; 4] {
        *self.key.get_or_insert_with(|| key(seed.0, name))
    }

    fn draws(&self) -> u64 {
        self.own.iter().chain(self.entities.values()).map(Generator::draws).sum()
    }

    /// How many numbers were drawn since the last border.
    pub(crate) fn drawn_outside(&self) -> u64 {
        self.at_border.map_or(0, |before| self.draws().saturating_sub(before))
    }

    /// Forgets entities that are gone, and counts anew what is drawn outside from here on.
    pub(crate) fn end_tick(&mut self, gone: &[u64]) {
        for id in gone {
            self.entities.remove(id);
        }
        self.at_border = Some(self.draws());
    }

    fn place(&self) -> Place {
        self.own.as_ref().map_or(Place { draws: 0, word: 0 }, Generator::place)
    }
}

/// How the borders of a tick reach a stream.
pub(crate) struct StreamHandle {
    pub(crate) name: &'static str,
    pub(crate) streams: for<'w> fn(&'w mut World) -> Option<Mut<'w, Streams>>,
}

impl StreamHandle {
    pub(crate) fn new<L: StreamLabel>() -> Self {
        Self { name: L::NAME, streams: streams_of::<L> }
    }
}

fn streams_of<L: StreamLabel>(world: &mut World) -> Option<Mut<'_, Streams>> {
    Some(world.get_resource_mut::<StreamState<L>>()?.map_unchanged(|state| &mut state.streams))
}

/// Ends what start-up schedules may draw, in the first frame.
pub(crate) fn end_startup<L: StreamLabel>(mut state: ResMut<StreamState<L>>) {
    let streams = &mut state.bypass_change_detection().streams;
    if streams.at_border.is_none() {
        streams.at_border = Some(streams.draws());
    }
}

/// The encoding of a stream; the key is zeros before the first draw.
#[derive(Canonical)]
struct Encoded {
    draws: u64,
    word: u64,
    key: [u64; 4],
    entities: BTreeMap<u64, Place>,
}

impl<L: StreamLabel> Canonical for StreamState<L> {
    const WIDTH: Option<usize> = None;
    fn type_name() -> String {
        format!("Stream<{}>", L::NAME)
    }
    fn shape(types: &mut SchemaBuilder) -> ShapeId {
        Encoded::shape(types)
    }
    fn encode<S: Sink>(&self, out: &mut S) {
        let Streams { key, own: _, entities, at_border: _ } = &self.streams;
        let Place { draws, word } = self.streams.place();
        let entities = entities.iter().map(|(id, generator)| (*id, generator.place())).collect();
        Encoded { draws, word, key: key.unwrap_or_default(), entities }.encode(out);
    }
    fn decode(input: &mut Source<'_>) -> Result<Self, DecodeError> {
        let Encoded { draws, word, key, entities } = Encoded::decode(input)?;
        let at = |id: Option<u64>, place: Place| Generator::at(key, id, place);
        let streams = Streams {
            key: (key != [0; 4]).then_some(key),
            own: (draws > 0).then(|| at(None, Place { draws, word })),
            entities: entities.into_iter().map(|(id, place)| (id, at(Some(id), place))).collect(),
            at_border: None,
        };
        Ok(Self { streams, of: PhantomData })
    }
}
