//! Types of every kind, and random values of them.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test crate uses a part of what they share")]
#![allow(clippy::disallowed_types, reason = "hash containers must have a canonical form, too")]
#![allow(clippy::vec_box, reason = "boxes without bytes must have one, too")]

pub mod frame;

use bevy_replay_tape::Canonical;
use core::time::Duration;
use proptest::collection::{self, btree_map, btree_set, hash_map, hash_set, vec_deque};
use proptest::option;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Unit;

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Empty {}

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Single(pub i64);

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Pair(pub u8, pub String);

/// Variants of every kind, some named as RON names other things.
#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub enum Action {
    Wait,
    Walk(i32),
    Swap(Pair, (u8,)),
    Cast {
        spell: String,
        at: [Float; 2],
        target: Option<Option<u16>>,
    },
    Braces {},
    Parentheses(),
    None,
    Some,
    NaN(u8, u8),
    #[canonical(name = "Some2")]
    Other(Box<Action>),
    #[canonical(name = "true")]
    True {
        inf: bool,
    },
}

/// A float by its bits, so that random values hold all of them.
#[derive(Canonical, Clone, Copy)]
#[canonical(crate = bevy_replay_tape)]
pub struct Float(pub f64);

impl core::fmt::Debug for Float {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?} = {:#x}", self.0, self.0.to_bits())
    }
}

/// Equal if they are the same state: all NaN are one.
impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits() || self.0.is_nan() && other.0.is_nan()
    }
}

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Numbers {
    pub a: (u8, u16, u32, u64, u128),
    pub b: (i8, i16, i32, i64, i128),
    pub c: (usize, isize),
    pub d: Float,
    pub e: bool,
    pub f: char,
    pub g: Duration,
}

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Containers {
    pub list: Vec<Action>,
    pub queue: VecDeque<u16>,
    pub units: Vec<Unit>,
    pub boxes: Vec<Box<()>>,
    pub array: [Option<Empty>; 3],
    pub map: BTreeMap<i32, String>,
    pub names: HashMap<String, Float>,
    pub set: BTreeSet<Option<char>>,
    pub marks: HashSet<(i8, bool)>,
    pub nested: BTreeMap<String, BTreeMap<u8, BTreeSet<i64>>>,
}

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Rich {
    pub numbers: Numbers,
    pub containers: Containers,
    pub action: Action,
    pub single: Single,
    pub unit: Unit,
    pub maybe: Option<Option<Box<Action>>>,
    pub r#type: ((), (Single,), [u8; 0]),
}

/// Nested as deep as the bytes say; two levels each.
#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
pub struct Nest(pub Vec<Nest>);

/// Any bits, and more often than by chance those at the edges.
pub fn float() -> impl Strategy<Value = f64> {
    let edges = vec![0.0, -0.0, 1.5, f64::MIN, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::from_bits(1)];
    prop_oneof![any::<u64>().prop_map(f64::from_bits), proptest::sample::select(edges)]
}

pub fn float32() -> impl Strategy<Value = f32> {
    let edges = vec![0.0, -0.0, 1.5, f32::MIN, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(1)];
    prop_oneof![any::<u32>().prop_map(f32::from_bits), proptest::sample::select(edges)]
}

pub fn character() -> impl Strategy<Value = char> {
    let edges = vec!['\0', '\'', '"', '\\', '\n', '\r', '\t', '\u{7f}', '\u{301}', '\u{feff}', '\u{202e}', '😀'];
    prop_oneof![any::<char>(), proptest::sample::select(edges)]
}

pub fn text() -> impl Strategy<Value = String> {
    collection::vec(character(), 0..8).prop_map(String::from_iter)
}

pub fn action() -> impl Strategy<Value = Action> {
    let leaf = prop_oneof![
        Just(Action::Wait),
        any::<i32>().prop_map(Action::Walk),
        (any::<u8>(), text(), any::<u8>()).prop_map(|(a, b, c)| Action::Swap(Pair(a, b), (c,))),
        (text(), float(), float(), any::<Option<Option<u16>>>()).prop_map(|(spell, x, y, target)| Action::Cast {
            spell,
            at: [Float(x), Float(y)],
            target
        }),
        Just(Action::Braces {}),
        Just(Action::Parentheses()),
        Just(Action::None),
        Just(Action::Some),
        any::<(u8, u8)>().prop_map(|(a, b)| Action::NaN(a, b)),
        any::<bool>().prop_map(|inf| Action::True { inf }),
    ];
    leaf.prop_recursive(3, 4, 1, |inner| inner.prop_map(|inner| Action::Other(Box::new(inner))))
}

/// Integers, and more often than by chance the smallest and the largest.
fn edges<T: Arbitrary + Clone + 'static>(min: T, max: T) -> impl Strategy<Value = T> {
    prop_oneof![2 => any::<T>(), 1 => Just(min), 1 => Just(max)]
}

macro_rules! edges {
    ($($t:ident),*) => { ($(edges($t::MIN, $t::MAX)),*) };
}

pub fn numbers() -> impl Strategy<Value = Numbers> {
    (
        edges!(u8, u16, u32, u64, u128),
        edges!(i8, i16, i32, i64, i128),
        edges!(usize, isize),
        float(),
        any::<bool>(),
        character(),
        any::<Duration>(),
    )
        .prop_map(|(a, b, c, d, e, f, g)| Numbers { a, b, c, d: Float(d), e, f, g })
}

pub fn containers() -> impl Strategy<Value = Containers> {
    let few = 0..4_usize;
    let lists = (
        collection::vec(action(), few.clone()),
        vec_deque(any::<u16>(), few.clone()),
        collection::vec(Just(Unit), few.clone()),
        collection::vec(Just(Box::new(())), few.clone()),
        [option::of(Just(Empty {})), option::of(Just(Empty {})), option::of(Just(Empty {}))],
    );
    let inner = btree_map(any::<u8>(), btree_set(any::<i64>(), few.clone()), few.clone());
    let maps = (
        btree_map(any::<i32>(), text(), few.clone()),
        hash_map(text(), float().prop_map(Float), few.clone()),
        btree_set(option::of(character()), few.clone()),
        hash_set(any::<(i8, bool)>(), few.clone()),
        btree_map(text(), inner, few),
    );
    (lists, maps).prop_map(|((list, queue, units, boxes, array), (map, names, set, marks, nested))| Containers {
        list,
        queue,
        units,
        boxes,
        array,
        map,
        names,
        set,
        marks,
        nested,
    })
}

pub fn rich() -> impl Strategy<Value = Rich> {
    let maybe = option::of(option::of(action().prop_map(Box::new)));
    (numbers(), containers(), action(), any::<i64>(), maybe, any::<i64>()).prop_map(
        |(numbers, containers, action, single, maybe, other)| Rich {
            numbers,
            containers,
            action,
            single: Single(single),
            unit: Unit,
            maybe,
            r#type: ((), (Single(other),), []),
        },
    )
}

/// A small world as a model of images: what exists, with any of four components, and two resources.
pub mod world {
    use super::*;
    use bevy_replay_tape::{Ids, Image, Lane, ResourceState, encode_to_vec};
    use std::sync::Arc;

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Body {
        pub at: Place,
        pub speed: f32,
    }

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Place {
        pub x: i32,
        pub y: i32,
    }

    /// Rows of any width.
    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Bag {
        pub items: Vec<u16>,
        pub owner: Option<u8>,
        pub prices: BTreeMap<String, i8>,
        pub seals: BTreeSet<u8>,
    }

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub enum Mood {
        Calm,
        Angry(u8),
        Afraid { of: u64 },
    }

    /// Rows without bytes.
    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Frozen;

    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct Thing {
        pub bag: Option<Bag>,
        pub body: Option<Body>,
        pub frozen: Option<Frozen>,
        pub mood: Option<Mood>,
    }

    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct World {
        pub tick: u64,
        pub things: BTreeMap<u64, Thing>,
        pub news: Option<Vec<String>>,
        pub score: Option<u32>,
    }

    fn lane<'a, T: Canonical>(values: impl Iterator<Item = (u64, Option<&'a T>)>) -> Lane {
        let mut lane = Lane::new(T::type_name(), T::schema().into());
        let held: Vec<(u64, &T)> = values.filter_map(|(id, value)| Some((id, value?))).collect();
        lane.ids = Arc::new(Ids::new(held.iter().map(|row| row.0).collect()).expect("keys of a map ascend"));
        for (_, value) in held {
            lane.rows.push(|out| out.extend(encode_to_vec(value)));
        }
        lane
    }

    fn resource<T: Canonical>(name: &str, value: Option<&T>) -> ResourceState {
        let mut state = ResourceState::new(name, T::schema().into());
        state.present = value.is_some();
        state.bytes = value.map(encode_to_vec).unwrap_or_default();
        state
    }

    impl World {
        pub fn image(&self) -> Image {
            let things = || self.things.iter().map(|(id, thing)| (*id, thing));
            Image {
                tick: self.tick,
                roster: Arc::new(Ids::new(self.things.keys().copied().collect()).expect("keys of a map ascend")),
                lanes: vec![
                    lane(things().map(|(id, thing)| (id, thing.bag.as_ref()))),
                    lane(things().map(|(id, thing)| (id, thing.body.as_ref()))),
                    lane(things().map(|(id, thing)| (id, thing.frozen.as_ref()))),
                    lane(things().map(|(id, thing)| (id, thing.mood.as_ref()))),
                ],
                resources: vec![resource("News", self.news.as_ref()), resource("Score", self.score.as_ref())],
            }
        }
    }

    pub fn body(x: i32, speed: f32) -> Body {
        Body { at: Place { x, y: 0 }, speed }
    }

    pub fn bag() -> Bag {
        Bag { items: Vec::new(), owner: None, prices: BTreeMap::new(), seals: BTreeSet::new() }
    }

    fn random_bag() -> impl Strategy<Value = Bag> {
        let few = 0..3_usize;
        let prices = btree_map("[a-c]", any::<i8>(), few.clone());
        (collection::vec(0..3_u16, few.clone()), any::<Option<u8>>(), prices, btree_set(0..3_u8, few))
            .prop_map(|(items, owner, prices, seals)| Bag { items, owner, prices, seals })
    }

    fn thing() -> impl Strategy<Value = Thing> {
        let body = (0..3_i32, any::<i32>(), float32()).prop_map(|(x, y, speed)| Body { at: Place { x, y }, speed });
        let mood = prop_oneof![
            Just(Mood::Calm),
            (0..3_u8).prop_map(Mood::Angry),
            any::<u64>().prop_map(|of| Mood::Afraid { of }),
        ];
        (option::of(random_bag()), option::of(body), option::of(Just(Frozen)), option::of(mood))
            .prop_map(|(bag, body, frozen, mood)| Thing { bag, body, frozen, mood })
    }

    /// Worlds with few ids, so that two of them have entities in common.
    pub fn world() -> impl Strategy<Value = World> {
        let id = prop_oneof![0..8_u64, Just(u64::MAX - 1)];
        let news = option::of(collection::vec("[a-z\n]{0,3}", 0..3));
        (0..3_u64, btree_map(id, thing(), 0..8), news, option::of(0..3_u32))
            .prop_map(|(tick, things, news, score)| World { tick, things, news, score })
    }
}

/// Whole tapes.
pub mod tapes {
    use super::world::{Thing, World, bag, body, world};
    use super::*;
    use bevy_replay_tape::{
        Changes, ClockChange, End, EndReason, Header, Image, Mark, Start, Tape, Track, TypeSpec, encode_to_vec,
    };
    use std::sync::Arc;

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Steer {
        pub x: i8,
        pub jump: bool,
    }

    /// Returns a header for the types of an image, and two inputs: `Said` (any text) and `Steer`.
    pub fn header(image: &Image) -> Header {
        let spec =
            |name: &str, schema: &Arc<bevy_replay_tape::Schema>| TypeSpec { name: name.into(), schema: schema.clone() };
        let mut header = Header::new("my_game");
        header.tick_first = image.tick;
        header.tracks = vec![spec("Said", &Arc::new(String::schema())), spec("Steer", &Arc::new(Steer::schema()))];
        header.lanes = image.lanes.iter().map(|lane| spec(&lane.name, &lane.schema)).collect();
        header.resources = image.resources.iter().map(|state| spec(&state.name, &state.schema)).collect();
        header
    }

    /// Makes a tape of what a game recorded: the worlds before the first tick and after each.
    pub fn recorded(worlds: &[World], inputs: &[(String, Steer)]) -> Tape {
        let images: Vec<Image> = worlds.iter().map(World::image).collect();
        let mut tape = Tape::new(header(&images[0]));
        tape.tracks = tape
            .header
            .tracks
            .iter()
            .map(|spec| Track { name: spec.name.clone(), schema: spec.schema.clone(), changes: Changes::default() })
            .collect();
        for (tick, (said, steer)) in (tape.header.tick_first..).zip(inputs) {
            tape.tracks[0].changes.record(tick, &encode_to_vec(said));
            tape.tracks[1].changes.record(tick, &encode_to_vec(steer));
        }
        for (index, pair) in (0..).zip(images.windows(2)) {
            let digest = pair[1].digest();
            tape.digests.roots.push(digest.root);
            if index % 2 == 0 {
                tape.digests.lane_ticks.push(index);
                tape.digests.lane_digests.extend([digest.lanes, digest.resources].concat());
            }
            tape.values.push(pair[1].delta_from(&pair[0]));
        }
        tape.end.tick_count = worlds.len() as u64 - 1;
        tape.initial = images.into_iter().next();
        tape
    }

    /// Makes a tape of so many ticks: one body falls and one comes and goes.
    pub fn falling(ticks: u64) -> Tape {
        let world = |tick: u64| {
            let mut world = World { tick, news: Some(Vec::new()), score: Some(0), ..World::default() };
            let speed = f32::from(u16::try_from(tick).unwrap_or(u16::MAX)) * 0.5;
            world
                .things
                .insert(1, Thing { body: Some(body(i32::try_from(tick).unwrap_or(-1), speed)), ..Default::default() });
            if tick % 5 == 2 {
                world.things.insert(2, Thing { bag: Some(bag()), ..Default::default() });
            }
            world
        };
        let worlds: Vec<World> = (0..=ticks).map(world).collect();
        let x = |tick: u64| match tick % 3 {
            0 => -1,
            1 => 0,
            _ => 1,
        };
        let inputs: Vec<(String, Steer)> =
            (0..ticks).map(|tick| (format!("tick {}", tick / 10), Steer { x: x(tick), jump: tick % 7 == 0 })).collect();
        let mut tape = recorded(&worlds, &inputs);
        tape.clock.push(ClockChange { tick: ticks / 2, timestep_ns: 20_000_000 });
        tape.marks.push(Mark { tick: ticks / 3, text: "here".into() });
        tape.end.claims.insert("score".into(), "12".into());
        tape
    }

    fn input() -> impl Strategy<Value = (String, Steer)> {
        (text(), any::<i8>(), any::<bool>()).prop_map(|(said, x, jump)| (said, Steer { x, jump }))
    }

    /// Random tapes; each part that may be missing sometimes is.
    pub fn tape() -> impl Strategy<Value = Tape> {
        let worlds = collection::vec(world(), 1..7);
        let parts = (any::<[bool; 4]>(), text(), any::<[u64; 3]>(), 1..u64::MAX, any::<Option<u32>>());
        (worlds, collection::vec(input(), 0..8), parts).prop_map(|(mut worlds, inputs, parts)| {
            let first = worlds[0].tick;
            for (world, tick) in worlds.iter_mut().zip(first..) {
                world.tick = tick;
            }
            let inputs = &inputs[..inputs.len().min(worlds.len())];
            let mut tape = recorded(&worlds, inputs);
            let ([values, initial, roots, restores], odd, numbers, timestep_ns, claim) = parts;
            if !values || !initial {
                tape.values.clear();
            }
            if !initial {
                tape.initial = None;
            }
            if !roots {
                tape.digests = Default::default();
            }
            let Header { game, game_version, bevy_version, notes, .. } = &mut tape.header;
            for text in [game, game_version, bevy_version, notes] {
                text.clone_from(&odd);
            }
            tape.header.features = vec![odd.clone()];
            tape.header.content.insert(odd.clone(), odd.clone());
            (tape.header.seed, tape.header.elapsed_ns) = (numbers[0], numbers[1]);
            tape.header.timestep_ns = timestep_ns;
            tape.header.start = if restores { Start::Image } else { Start::Gate };
            tape.clock = vec![ClockChange { tick: first + 1, timestep_ns }];
            tape.marks = vec![Mark { tick: numbers[2], text: odd.clone() }];
            let reason = if restores { EndReason::CapacityReached } else { EndReason::Unfinished };
            let claims = claim.map(|claim| (odd, claim.to_string())).into_iter().collect();
            tape.end = End { reason, claims, ..tape.end };
            tape
        })
    }
}
