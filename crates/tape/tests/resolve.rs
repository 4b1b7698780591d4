//! Tapes of older games: what was added has its default, what was removed is dropped, what has another type is named.
#![allow(unreachable_pub, reason = "the older and the newer types stand in modules of their own")]

mod common;

use bevy_replay_tape::{
    Canonical, Changes, Header, Resolution, Tape, TapeError, Track, TypeSpec, Value, encode_to_vec,
};
use proptest::prelude::*;
use std::sync::Arc;

mod old {
    use super::Canonical;

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Steer {
        pub x: i8,
        pub boost: u16,
        pub aim: Aim,
        pub action: Action,
        pub queue: Vec<Aim>,
        pub seen: std::collections::BTreeSet<Aim>,
    }

    #[derive(Canonical, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Aim {
        pub a: u8,
        pub b: u8,
    }

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub enum Action {
        Wait,
        Jump { high: bool },
        Fly,
    }
}

mod new {
    use super::Canonical;

    /// `boost` was removed, `dash` and `aim.c` were added, fields and variants were reordered, `Swim` was inserted.
    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Steer {
        pub aim: Aim,
        pub dash: Option<u8>,
        pub x: i8,
        pub action: Action,
        pub queue: Vec<Aim>,
        pub seen: std::collections::BTreeSet<Aim>,
    }

    #[derive(Canonical, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    #[canonical(crate = bevy_replay_tape)]
    pub struct Aim {
        pub b: u8,
        pub c: u16,
        pub a: u8,
    }

    #[derive(Canonical, Debug, Clone, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    pub enum Action {
        Jump { high: bool, twice: bool },
        Swim(u8),
        Wait,
    }
}

fn old_steer(action: old::Action) -> old::Steer {
    let aim = |a, b| old::Aim { a, b };
    old::Steer { x: -3, boost: 9, aim: aim(1, 2), action, queue: vec![aim(3, 4)], seen: [aim(1, 9), aim(2, 8)].into() }
}

fn new_steer(action: new::Action, c: u16, dash: Option<u8>) -> new::Steer {
    let aim = |a, b, c| new::Aim { a, b, c };
    new::Steer {
        x: -3,
        aim: aim(1, 2, c),
        dash,
        action,
        queue: vec![aim(3, 4, 0)],
        seen: [aim(1, 9, 0), aim(2, 8, 0)].into(),
    }
}

#[test]
fn fields_and_variants_are_found_by_name() -> Result<(), Box<dyn core::error::Error>> {
    let (from, to) = (old::Steer::schema(), new::Steer::schema());
    let resolution = Resolution::new(&from, &to)?;
    assert!(!resolution.is_identity());
    assert_eq!(
        resolution.notes(),
        [
            "boost was removed: what is recorded of it is dropped",
            "dash was added: its default is used",
            "aim.c was added: its default is used",
            "action.Jump.twice was added: its default is used",
        ]
    );
    let wait = encode_to_vec(&old_steer(old::Action::Wait));
    assert_eq!(resolution.convert(&wait, None)?, encode_to_vec(&new_steer(new::Action::Wait, 0, None)));
    let default = encode_to_vec(&new_steer(new::Action::Swim(1), 7, Some(5)));
    let expected = new_steer(new::Action::Jump { high: true, twice: false }, 7, Some(5));
    let jump = encode_to_vec(&old_steer(old::Action::Jump { high: true }));
    assert_eq!(resolution.convert(&jump, Some(&default))?, encode_to_vec(&expected));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn values_are_converted_field_by_field_and_damaged_ones_never_panic(
        x in any::<i8>(),
        (a, b) in any::<(u8, u8)>(),
        high in any::<Option<bool>>(),
        queue in prop::collection::vec(any::<(u8, u8)>(), 0..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let aims = |list: &[(u8, u8)]| list.iter().map(|(a, b)| old::Aim { a: *a, b: *b }).collect::<Vec<_>>();
        let twins = |list: &[(u8, u8)]| list.iter().map(|(a, b)| new::Aim { a: *a, b: *b, c: 0 }).collect::<Vec<_>>();
        let before = old::Steer {
            x,
            boost: 1,
            aim: old::Aim { a, b },
            action: high.map_or(old::Action::Wait, |high| old::Action::Jump { high }),
            queue: aims(&queue),
            seen: aims(&queue).into_iter().collect(),
        };
        let after = new::Steer {
            x,
            aim: new::Aim { a, b, c: 0 },
            dash: None,
            action: high.map_or(new::Action::Wait, |high| new::Action::Jump { high, twice: false }),
            queue: twins(&queue),
            seen: twins(&queue).into_iter().collect(),
        };
        let (from, to) = (old::Steer::schema(), new::Steer::schema());
        let resolution = Resolution::new(&from, &to)?;
        let mut bytes = encode_to_vec(&before);
        prop_assert_eq!(resolution.convert(&bytes, None)?, encode_to_vec(&after));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        if let Ok(converted) = resolution.convert(&bytes, None) {
            Value::decode(&to, &converted)?;
        }
    }
}

#[test]
fn a_removed_variant_is_an_error_where_it_was_recorded() -> Result<(), Box<dyn core::error::Error>> {
    let (from, to) = (old::Steer::schema(), new::Steer::schema());
    let resolution = Resolution::new(&from, &to)?;
    let error = resolution.convert(&encode_to_vec(&old_steer(old::Action::Fly)), None).expect_err("it is gone");
    assert_eq!(error.to_string(), "`Fly`, which was removed, is no value of enum Action");
    Ok(())
}

#[test]
fn another_type_is_named_with_its_field_and_both_types() {
    let error = |from: &bevy_replay_tape::Schema, to: &bevy_replay_tape::Schema| {
        Resolution::new(from, to).expect_err("a type has changed").to_string()
    };
    mod wide {
        #[derive(bevy_replay_tape::Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub struct Steer {
            pub x: i16,
        }
    }
    assert_eq!(
        error(&old::Steer::schema(), &wide::Steer::schema()),
        "x: the tape has `i8`, this app has `i16` (give the field another name, or its old type)"
    );
    assert!(error(&u8::schema(), &bool::schema()).starts_with("the value: the tape has `u8`, this app has `bool`"));
    assert!(error(&<[u8; 3]>::schema(), &<[u8; 4]>::schema()).contains("`[u8; 3]`, this app has `[u8; 4]`"));
    assert!(error(&Vec::<u8>::schema(), &Vec::<i8>::schema()).starts_with("[]: the tape has `u8`"));
    assert!(error(&<(u8, u8)>::schema(), &<(u8, u8, u8)>::schema()).contains("`(u8, u8)`"));
    assert!(
        error(&common::Single::schema(), &wide::Steer::schema()).starts_with("the value: the tape has `Single(i64)`")
    );
    assert!(error(&Option::<u8>::schema(), &u8::schema()).contains("`Option<u8>`, this app has `u8`"));
}

#[test]
fn types_that_only_gained_variants_keep_their_bytes() -> Result<(), Box<dyn core::error::Error>> {
    mod more {
        #[derive(bevy_replay_tape::Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub enum Action {
            Swim,
            Wait,
            Jump { high: bool },
            Fly,
        }
    }
    let (from, to) = (old::Action::schema(), more::Action::schema());
    let resolution = Resolution::new(&from, &to)?;
    assert!(resolution.is_identity());
    let bytes = encode_to_vec(&old::Action::Jump { high: true });
    assert_eq!(resolution.convert(&bytes, None)?, bytes);
    assert_eq!(Value::decode(&to, &bytes)?.to_string(), "Jump(high: true)");
    Ok(())
}

#[test]
fn types_that_contain_themselves_are_converted() -> Result<(), Box<dyn core::error::Error>> {
    mod a {
        #[derive(bevy_replay_tape::Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub struct Tree {
            pub leaf: u8,
            pub twigs: Vec<Tree>,
        }
    }
    mod b {
        #[derive(bevy_replay_tape::Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub struct Tree {
            pub twigs: Vec<Tree>,
            pub leaf: u8,
        }
    }
    let (from, to) = (a::Tree::schema(), b::Tree::schema());
    let leaf = || a::Tree { leaf: 2, twigs: Vec::new() };
    let tree = a::Tree { leaf: 1, twigs: vec![leaf(), leaf()] };
    let twin = || b::Tree { leaf: 2, twigs: Vec::new() };
    let expected = b::Tree { leaf: 1, twigs: vec![twin(), twin()] };
    assert_eq!(Resolution::new(&from, &to)?.convert(&encode_to_vec(&tree), None)?, encode_to_vec(&expected));
    Ok(())
}

fn tape(name: &str, changes: &[old::Steer]) -> Tape {
    let schema = Arc::new(old::Steer::schema());
    let mut tape = Tape::new(Header::new("my_game"));
    tape.header.tracks = vec![TypeSpec { name: name.into(), schema: schema.clone() }];
    let mut recorded = Changes::default();
    for (tick, steer) in (0..).zip(changes) {
        recorded.record(tick, &encode_to_vec(steer));
    }
    tape.tracks = vec![Track { name: name.into(), schema, changes: recorded }];
    tape.end.tick_count = changes.len() as u64;
    tape
}

fn app() -> Header {
    let mut header = Header::new("my_game");
    header.tracks = vec![TypeSpec { name: "Steer".into(), schema: Arc::new(new::Steer::schema()) }];
    header
}

#[test]
fn a_tape_of_an_older_game_says_what_was_done() -> Result<(), TapeError> {
    let tape = tape("Steer", &[old_steer(old::Action::Wait), old_steer(old::Action::Jump { high: true })]);
    assert!(tape.header.differences(&app()).iter().all(|row| !row.refused));
    let resolved = tape.resolved(&app(), |_| None)?.expect("the types differ");
    assert_eq!(resolved.notes[1], "Steer.dash was added: its default is used");
    assert_eq!(resolved.notes.len(), 4);
    let inputs = resolved.tape.inputs_text(1);
    assert!(inputs[0].starts_with("Steer(aim: (b: 2, c: 0, a: 1), dash: None, x: -3, action: Jump(high: true, twice:"));
    assert_eq!(Tape::from_bytes(&resolved.tape.to_bytes())?, resolved.tape);
    assert_eq!(resolved.tape.resolved(&app(), |_| None)?, None);
    Ok(())
}

#[test]
fn a_variant_that_is_gone_is_named_with_its_tick() {
    let tape = tape("Steer", &[old_steer(old::Action::Wait), old_steer(old::Action::Fly)]);
    let error = tape.resolved(&app(), |_| None).expect_err("Fly is gone").to_string();
    assert_eq!(error, "Steer at tick 1 cannot be read: `Fly`, which was removed, is no value of enum Action");
}

#[test]
fn state_is_converted_with_its_changes_and_its_digests_are_left_out() -> Result<(), TapeError> {
    use common::world::{World, body};
    mod newer {
        #[derive(bevy_replay_tape::Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub struct Body {
            pub heat: u8,
            pub at: crate::common::world::Place,
            pub speed: f32,
        }
    }
    let mut worlds = vec![World::default(); 3];
    for (world, tick) in worlds.iter_mut().zip(0..) {
        world.tick = tick;
        let x = i32::try_from(tick).unwrap_or(0);
        world.things.insert(4, common::world::Thing { body: Some(body(x, 0.5)), ..Default::default() });
    }
    let tape = common::tapes::recorded(&worlds, &[]);
    let mut app = tape.header.clone();
    app.lanes[1].schema = Arc::new(newer::Body::schema());
    assert!(tape.header.differences(&app).iter().any(|row| row.refused && row.field == "type Body"));
    let resolved = tape.resolved(&app, |_| None)?.expect("the types differ").tape;
    assert_eq!(Tape::from_bytes(&resolved.to_bytes())?, resolved);
    assert_eq!(resolved.header.lanes[1], app.lanes[1]);
    assert!(resolved.digests.roots.is_empty());
    let mut image = resolved.initial.clone();
    assert!(resolved.step_image(&mut image, 0) && resolved.step_image(&mut image, 1));
    let lane = image.expect("it has values").lanes.swap_remove(1);
    let value = lane.value(4).ok().flatten().map(|value| value.to_string());
    assert_eq!(value.as_deref(), Some("(heat: 0, at: (x: 2, y: 0), speed: 0.5)"));
    Ok(())
}
