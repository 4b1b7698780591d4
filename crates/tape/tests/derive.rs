//! What the derive macros generate.

use bevy_replay_tape::{
    Canonical, DecodeError, EncodeNotes, NoEntities, Schema, SlotSink, Source, TickInput, decode_from_slice,
    encode_to_vec,
};
use core::fmt::Debug;
use std::collections::BTreeMap;

type TestResult = Result<(), DecodeError>;

/// Checks both directions, the width, and that bytes cut anywhere are refused.
#[track_caller]
fn assert_round_trip<T: Canonical + Debug + PartialEq>(value: &T) -> Result<Vec<u8>, DecodeError> {
    let bytes = encode_to_vec(value);
    assert_eq!(&decode_from_slice::<T>(&bytes)?, value);
    assert_eq!(T::schema().width(), T::WIDTH);
    if let Some(width) = T::WIDTH {
        assert_eq!(bytes.len(), width);
        let (mut slot, mut notes) = (vec![0; width], EncodeNotes::default());
        value.encode(&mut SlotSink::new(&mut slot, &NoEntities, &mut notes));
        assert_eq!(slot, bytes);
    }
    for end in 0..bytes.len() {
        assert!(decode_from_slice::<T>(&bytes[..end]).is_err(), "cut at byte {end}");
    }
    Ok(bytes)
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Named {
    x: i8,
    y: u16,
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Tuple(u16, String);

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Unit;

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Empty {}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
enum Mixed {
    Unit,
    Tuple(u8, Named),
    Named { text: String },
}

#[test]
fn structs_are_their_fields_in_order() -> TestResult {
    assert_eq!(assert_round_trip(&Named { x: -1, y: 258 })?, [0xff, 2, 1]);
    assert_eq!(assert_round_trip(&Tuple(7, "ab".into()))?, [7, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b']);
    assert!(assert_round_trip(&Unit)?.is_empty());
    assert!(assert_round_trip(&Empty {})?.is_empty());
    Ok(())
}

#[test]
fn schemas_read_like_the_declarations() {
    assert_eq!(Named::schema().to_string(), "Named { x: i8, y: u16 }");
    assert_eq!(Tuple::schema().to_string(), "Tuple(u16, String)");
    assert_eq!(Unit::schema().to_string(), "Unit");
    assert_eq!(Empty::schema().to_string(), "Empty");
    let mixed = "Mixed = Unit | Tuple(u8, Named { x: i8, y: u16 }) | Named { text: String }";
    assert_eq!(Mixed::schema().to_string(), mixed);
}

#[test]
fn enums_are_a_tag_and_the_fields_of_the_variant() -> TestResult {
    // Known answers: the low 32 bits of XXH3-64 of the name, little endian. Frozen by the tape format.
    assert_eq!(assert_round_trip(&Mixed::Unit)?, tag("Unit"));
    let tuple = assert_round_trip(&Mixed::Tuple(9, Named { x: 1, y: 2 }))?;
    assert_eq!(tuple, [tag("Tuple"), vec![9, 1, 2, 0]].concat());
    let named = assert_round_trip(&Mixed::Named { text: "a".into() })?;
    assert_eq!(named, [tag("Named"), vec![1, 0, 0, 0, 0, 0, 0, 0, b'a']].concat());
    Ok(())
}

fn tag(name: &str) -> Vec<u8> {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes()).to_le_bytes()[..4].to_vec()
}

#[test]
fn tags_are_those_of_format_1() {
    assert_eq!(encode_to_vec(&Mixed::Unit), 0x7ecb_1b4c_u32.to_le_bytes());
}

#[test]
fn widths_are_known_where_all_values_share_one() {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    enum Even {
        _A(u16),
        _B { _x: u8, _y: bool },
    }
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    enum Uneven {
        _A(u16),
        _B,
    }
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    enum Bare {
        _A,
        _B,
    }
    assert_eq!(Named::WIDTH, Some(3));
    assert_eq!(Tuple::WIDTH, None);
    assert_eq!(Unit::WIDTH, Some(0));
    assert_eq!(Even::WIDTH, Some(6));
    assert_eq!(Uneven::WIDTH, None);
    assert_eq!(Bare::WIDTH, Some(4));
    assert_eq!(Mixed::WIDTH, None);
}

#[test]
fn unknown_tags_are_refused_by_name() {
    let expected = Err(DecodeError::invalid("enum Mixed", "tag 00000001"));
    assert_eq!(decode_from_slice::<Mixed>(&[1, 0, 0, 0]), expected);
    let mut value = Mixed::Unit;
    let result = value.decode_in_place(&mut Source::new(&[1, 0, 0, 0], &NoEntities));
    assert_eq!(result, expected.map(drop));
    assert_eq!(value, Mixed::Unit);
}

#[test]
fn bytes_left_over_are_refused() {
    assert_eq!(decode_from_slice::<Named>(&[0; 4]), Err(DecodeError::LeftOver { extra: 1 }));
}

/// A type that has no canonical form.
#[derive(Debug, Default, Clone, PartialEq)]
struct Opaque(u32);

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Roles {
    #[canonical(observation)]
    trace: Opaque,
    #[canonical(authoritative)]
    x: u8,
    #[canonical(presentation)]
    colour: Opaque,
    y: u8,
    #[canonical(derived)]
    cache: Option<Opaque>,
}

fn roles() -> Roles {
    Roles { trace: Opaque(1), x: 2, colour: Opaque(3), y: 4, cache: Some(Opaque(5)) }
}

#[test]
fn fields_with_other_roles_are_left_out() -> TestResult {
    let bytes = encode_to_vec(&roles());
    assert_eq!(bytes, [2, 4]);
    assert_eq!(Roles::WIDTH, Some(2));
    assert_eq!(Roles::schema().to_string(), "Roles { x: u8, y: u8 }");
    let decoded: Roles = decode_from_slice(&bytes)?;
    assert_eq!(decoded, Roles { trace: Opaque(0), x: 2, colour: Opaque(0), y: 4, cache: None });
    Ok(())
}

#[test]
fn decoding_in_place_keeps_fields_with_other_roles() -> TestResult {
    let mut value = roles();
    value.decode_in_place(&mut Source::new(&[20, 40], &NoEntities))?;
    assert_eq!(value, Roles { x: 20, y: 40, ..roles() });
    Ok(())
}

#[test]
fn decoding_in_place_keeps_what_is_left_out_of_nested_fields() -> TestResult {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Outer(Roles);
    let mut value = Outer(roles());
    value.decode_in_place(&mut Source::new(&[20, 40], &NoEntities))?;
    assert_eq!(value.0, Roles { x: 20, y: 40, ..roles() });
    Ok(())
}

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
enum Mood {
    Calm,
    Angry(#[canonical(observation)] Opaque, u8),
    Waiting {
        #[canonical(derived)]
        cache: Opaque,
    },
    Deep {
        roles: Roles,
    },
}

fn decode_over(mut value: Mood, bytes_of: &Mood) -> Result<Mood, DecodeError> {
    value.decode_in_place(&mut Source::new(&encode_to_vec(bytes_of), &NoEntities))?;
    Ok(value)
}

#[test]
fn variants_leave_out_fields_with_other_roles() {
    assert_eq!(
        Mood::schema().to_string(),
        "Mood = Calm | Angry(u8) | Waiting | Deep { roles: Roles { x: u8, y: u8 } }"
    );
    assert_eq!(encode_to_vec(&Mood::Angry(Opaque(1), 2))[4..], [2]);
    assert_eq!(encode_to_vec(&Mood::Waiting { cache: Opaque(1) }).len(), 4);
}

#[test]
fn decoding_the_same_variant_in_place_keeps_fields_with_other_roles() -> TestResult {
    let angry = decode_over(Mood::Angry(Opaque(1), 2), &Mood::Angry(Opaque(9), 3))?;
    assert_eq!(angry, Mood::Angry(Opaque(1), 3));
    let waiting = decode_over(Mood::Waiting { cache: Opaque(1) }, &Mood::Waiting { cache: Opaque(9) })?;
    assert_eq!(waiting, Mood::Waiting { cache: Opaque(1) });
    let other = Roles { x: 20, y: 40, cache: None, ..roles() };
    let deep = decode_over(Mood::Deep { roles: roles() }, &Mood::Deep { roles: other })?;
    assert_eq!(deep, Mood::Deep { roles: Roles { x: 20, y: 40, ..roles() } });
    Ok(())
}

#[test]
fn decoding_another_variant_in_place_replaces_the_value() -> TestResult {
    let moods = [
        Mood::Calm,
        Mood::Angry(Opaque(0), 1),
        Mood::Waiting { cache: Opaque(0) },
        Mood::Deep { roles: Roles { trace: Opaque(0), colour: Opaque(0), cache: None, ..roles() } },
    ];
    for from in &moods {
        for to in &moods {
            assert_eq!(&decode_over(from.clone(), to)?, to);
        }
    }
    Ok(())
}

#[test]
fn decoding_in_place_without_skipped_fields_equals_decoding() -> TestResult {
    let mut value = Mixed::Unit;
    for bytes in [tag("Unit"), [tag("Tuple"), vec![9, 1, 2, 0]].concat(), tag("Unit")] {
        value.decode_in_place(&mut Source::new(&bytes, &NoEntities))?;
        assert_eq!(value, decode_from_slice(&bytes)?);
    }
    Ok(())
}

#[test]
fn enums_of_one_variant_are_decoded_in_place() -> TestResult {
    #[derive(Canonical, Debug, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    enum Only {
        One(u8, #[canonical(observation)] u8),
    }
    let mut value = Only::One(1, 2);
    let bytes = encode_to_vec(&Only::One(3, 4));
    value.decode_in_place(&mut Source::new(&bytes, &NoEntities))?;
    assert_eq!(value, Only::One(3, 2));
    Ok(())
}

/// The same type over the life of a game, each in a module of its own.
mod versions {
    pub(crate) mod first {
        use bevy_replay_tape::Canonical;
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) struct Body {
            pub(crate) x: i32,
            pub(crate) y: i32,
        }
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) struct Pair(pub(crate) u8, pub(crate) u16);
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) enum Action {
            Walk(u8),
            Jump,
        }
    }
    pub(crate) mod second {
        use bevy_replay_tape::Canonical;
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) struct Body {
            #[canonical(observation)]
            pub(crate) trace: Vec<f64>,
            pub(crate) x: i32,
            #[canonical(presentation)]
            pub(crate) x_shown: f32,
            pub(crate) y: i32,
        }
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) struct Pair(#[canonical(observation)] pub(crate) u64, pub(crate) u8, pub(crate) u16);
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) enum Action {
            Crouch,
            Jump,
            Walk(u8),
        }
    }
    pub(crate) mod third {
        use bevy_replay_tape::Canonical;
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape)]
        pub(crate) struct Body {
            pub(crate) x: i32,
            #[canonical(presentation)]
            pub(crate) x_shown: f32,
            pub(crate) y: i32,
            #[canonical(observation)]
            pub(crate) trace: Vec<f64>,
        }
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape, name = "Pair")]
        pub(crate) struct Couple {
            #[canonical(name = "0")]
            pub(crate) a: u8,
            #[canonical(name = "1")]
            pub(crate) b: u16,
        }
        #[derive(Canonical, Debug, PartialEq)]
        #[canonical(crate = bevy_replay_tape, name = "Action")]
        pub(crate) enum Deed {
            #[canonical(name = "Walk")]
            Stroll(u8),
            #[canonical(name = "Jump")]
            Leap,
        }
    }
}
use versions::{first, second, third};

#[test]
fn adding_and_moving_an_observation_field_changes_no_bytes_and_no_schema() {
    assert_eq!(first::Body::schema(), second::Body::schema());
    assert_eq!(first::Body::schema(), third::Body::schema());
    assert_eq!(first::Pair::schema(), second::Pair::schema());
    let bytes = encode_to_vec(&first::Body { x: 1, y: 2 });
    assert_eq!(encode_to_vec(&second::Body { trace: vec![3.0], x: 1, x_shown: 0.5, y: 2 }), bytes);
    assert_eq!(encode_to_vec(&third::Body { trace: vec![], x: 1, x_shown: 0.25, y: 2 }), bytes);
    assert_eq!(encode_to_vec(&second::Pair(9, 1, 2)), encode_to_vec(&first::Pair(1, 2)));
}

#[test]
fn inserting_a_variant_leaves_the_bytes_of_others() -> TestResult {
    use second::Action;
    assert_eq!(encode_to_vec(&first::Action::Jump), encode_to_vec(&Action::Jump));
    let walk: Action = decode_from_slice(&encode_to_vec(&first::Action::Walk(3)))?;
    assert_eq!(walk, Action::Walk(3));
    assert!(decode_from_slice::<first::Action>(&encode_to_vec(&Action::Crouch)).is_err());
    Ok(())
}

#[test]
fn renaming_with_the_name_attribute_changes_no_bytes_and_no_schema() -> TestResult {
    assert_eq!(third::Deed::type_name(), "Action");
    assert_eq!(third::Deed::schema(), first::Action::schema());
    assert_eq!(third::Couple::schema(), first::Pair::schema());
    let leap: third::Deed = decode_from_slice(&encode_to_vec(&first::Action::Jump))?;
    assert_eq!(leap, third::Deed::Leap);
    assert_eq!(encode_to_vec(&third::Deed::Stroll(4)), encode_to_vec(&first::Action::Walk(4)));
    let error = decode_from_slice::<third::Deed>(&[1, 0, 0, 0]);
    assert_eq!(error, Err(DecodeError::invalid("enum Action", "tag 00000001")));
    assert_eq!(encode_to_vec(&third::Couple { a: 1, b: 2 }), encode_to_vec(&first::Pair(1, 2)));
    Ok(())
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Grid<T, S: Copy, const N: usize, const WRAPS: bool>
where
    T: PartialEq,
{
    cells: [T; N],
    spare: Option<S>,
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
enum Either<L, R = bool> {
    Left(L),
    Right(R),
}

#[test]
fn generic_types_are_named_with_their_arguments() {
    type Small = Grid<Named, u8, 2, true>;
    assert_eq!(Small::type_name(), "Grid<Named, u8, 2, true>");
    let schema = "Grid<Named, u8, 2, true> { cells: [Named { x: i8, y: u16 }; 2], spare: Option<u8> }";
    assert_eq!(Small::schema().to_string(), schema);
    assert_eq!(Either::<u8, Vec<Unit>>::type_name(), "Either<u8, Vec<Unit>>");
    assert_eq!(Either::<u8>::WIDTH, Some(5));
    assert_eq!(Either::<u16>::WIDTH, None);
}

#[test]
fn generic_types_round_trip() -> TestResult {
    let grid = Grid::<_, u8, 2, false> { cells: [Either::<u8>::Left(3), Either::Right(true)], spare: Some(1) };
    assert_round_trip(&grid)?;
    Ok(())
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
enum Tree {
    Leaf(i32),
    Node(Vec<Tree>),
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Chain<T> {
    value: T,
    next: Option<Box<Self>>,
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Room {
    doors: BTreeMap<u8, Door>,
}

#[derive(Canonical, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Door {
    leads_to: Box<Room>,
}

#[test]
fn types_that_contain_themselves_have_finite_schemas() {
    assert_eq!(Tree::schema().to_string(), "Tree = Leaf(i32) | Node(Vec<Tree>)");
    assert_eq!(Chain::<u8>::schema().to_string(), "Chain<u8> { value: u8, next: Option<Chain<u8>> }");
    assert_eq!(Room::schema().to_string(), "Room { doors: Map<u8, Door { leads_to: Room }> }");
    assert_eq!(Vec::from(Tree::schema()).len(), 3);
    assert_eq!(Tree::WIDTH, None);
    assert_eq!(Chain::<u8>::WIDTH, None);
}

#[test]
fn types_that_contain_themselves_round_trip() -> TestResult {
    assert_round_trip(&Tree::Node(vec![Tree::Leaf(1), Tree::Node(vec![]), Tree::Node(vec![Tree::Leaf(-2)])]))?;
    assert_round_trip(&Chain { value: 1_u8, next: Some(Box::new(Chain { value: 2, next: None })) })?;
    let cellar = Door { leads_to: Box::new(Room { doors: BTreeMap::new() }) };
    assert_round_trip(&Room { doors: BTreeMap::from([(3, cellar)]) })?;
    Ok(())
}

#[test]
fn raw_identifiers_are_named_without_their_prefix() -> TestResult {
    #[expect(non_camel_case_types, reason = "raw identifiers are keywords")]
    #[derive(Canonical, Debug, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    enum r#match {
        r#else { r#type: u8 },
    }
    assert_eq!(r#match::type_name(), "match");
    assert_eq!(r#match::schema().to_string(), "match = else { type: u8 }");
    assert_eq!(assert_round_trip(&r#match::r#else { r#type: 1 })?[..4], tag("else"));
    Ok(())
}

#[test]
fn generated_code_does_not_depend_on_names_in_scope() -> TestResult {
    #![allow(non_camel_case_types, dead_code, unused_imports, reason = "the names are those that generated code uses")]
    struct String;
    struct Vec;
    struct u32;
    enum Shadow {
        Ok,
        Err,
        Some,
        None,
    }
    use Shadow::{Err, None, Ok, Some};
    #[derive(Canonical, Debug, PartialEq)]
    #[canonical(crate = bevy_replay_tape)]
    enum Plain<S, __T> {
        Ok { out: S, input: u8, types: __T },
        None(#[canonical(derived)] bool),
    }
    let value = Plain::Ok { out: 1_u8, input: 2, types: 3_u8 };
    let bytes = encode_to_vec(&value);
    let Result::Ok(decoded) = decode_from_slice::<Plain<u8, u8>>(&bytes) else {
        panic!("the bytes are those of a value");
    };
    assert_eq!(decoded, value);
    assert_eq!(Plain::<u8, u8>::schema(), Schema::of::<Plain<u8, u8>>());
    let _ = Plain::<u8, u8>::None(true);
    Result::Ok(())
}

#[test]
fn deprecated_fields_and_variants_are_encoded() {
    #![allow(deprecated, reason = "only the values here; generated code must be silent by itself")]
    mod old {
        #![deny(deprecated)]
        use bevy_replay_tape::Canonical;
        #[derive(Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub(super) struct Old {
            #[deprecated]
            pub(super) x: u8,
        }
        #[derive(Canonical)]
        #[canonical(crate = bevy_replay_tape)]
        pub(super) enum Older {
            #[deprecated]
            A(u8),
        }
    }
    assert_eq!(encode_to_vec(&old::Old { x: 1 }), [1]);
    assert_eq!(encode_to_vec(&old::Older::A(1))[4..], [1]);
}

#[derive(TickInput, Clone, Default, Debug, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
struct Steer {
    x: i8,
    #[once]
    jump: bool,
    #[once]
    #[canonical(authoritative, name = "says")]
    text: String,
    #[canonical(observation)]
    device: u32,
}

#[test]
fn consuming_input_returns_one_shots_to_their_default() {
    let mut steer = Steer { x: 1, jump: true, text: "hi".into(), device: 7 };
    steer.consume();
    assert_eq!(steer, Steer { x: 1, jump: false, text: String::new(), device: 7 });
}

#[test]
fn input_has_a_canonical_form() -> TestResult {
    assert_eq!(Steer::schema().to_string(), "Steer { x: i8, jump: bool, says: String }");
    assert_round_trip(&Steer { x: 1, jump: true, text: "hi".into(), device: 0 })?;
    Ok(())
}

#[test]
fn input_knows_whether_it_has_one_shots() {
    #[derive(TickInput, Clone, Default)]
    #[canonical(crate = bevy_replay_tape)]
    struct Level(u8);
    #[derive(TickInput, Clone, Default)]
    #[canonical(crate = bevy_replay_tape)]
    struct Pulse<T>(u8, #[once] T);
    #[derive(TickInput, Clone, Default)]
    #[canonical(crate = bevy_replay_tape)]
    struct Nothing;

    assert_eq!(
        [Steer::HAS_ONCE, Level::HAS_ONCE, Pulse::<u8>::HAS_ONCE, Nothing::HAS_ONCE],
        [true, false, true, false]
    );
    let (mut level, mut pulse) = (Level(1), Pulse(2, 3_u8));
    level.consume();
    pulse.consume();
    Nothing.consume();
    assert_eq!((level.0, pulse.0, pulse.1), (1, 2, 0));
}
