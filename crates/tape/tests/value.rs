//! Values without their types: text that is read back into the same bytes, mistakes that are named, and schemas
//! that mean ill.
#![allow(clippy::disallowed_types, reason = "hash containers must have a canonical form, too")]

mod common;

use bevy_replay_tape::{
    Canonical, DecodeError, Schema, SchemaError, Shape, Value, ValueTextError, decode_from_slice, encode_text,
    encode_to_vec,
};
use common::{Action, Empty, Float, Numbers, Pair, Rich, Single, Unit};
use core::time::Duration;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

fn show<T: Canonical>(value: &T) -> Result<String, DecodeError> {
    Ok(Value::decode(&T::schema(), &encode_to_vec(value))?.to_string())
}

/// Checks that the text of a value is read back into its bytes, as it stands and laid out by hand.
fn check<T: Canonical>(value: &T) -> TestCaseResult {
    let (schema, bytes) = (T::schema(), encode_to_vec(value));
    let text = show(value)?;
    prop_assert_eq!(encode_text(&schema, &text), Ok(bytes.clone()), "{}", text);
    prop_assert_eq!(encode_text(&schema, &format!("\r\n// by hand\r\n {text} /* end */\r\n")), Ok(bytes), "{}", text);
    // A tape takes values out of its text before it knows their types.
    let raw: Result<Box<ron::value::RawValue>, _> = ron::from_str(&text);
    prop_assert!(raw.is_ok(), "{}: {:?}", text, raw);
    Ok(())
}

proptest! {
    #[test]
    fn text_of_numbers_is_read_back(value in common::numbers(), a in common::float32(), b in common::float()) {
        check(&value)?;
        check(&(a, b))?;
    }

    #[test]
    fn text_of_containers_is_read_back(value in common::containers()) {
        check(&value)?;
    }

    #[test]
    fn text_of_derived_types_is_read_back(value in common::rich()) {
        check(&value)?;
    }

    #[test]
    fn text_of_strings_and_chars_is_read_back(text: String, special in common::text(), letter in common::character()) {
        check(&(text, special, letter))?;
    }

    #[test]
    fn random_text_is_no_value_but_an_error(text in "[-0-9a-zA-Z(){}\\[\\]:,.'\"\\\\# \n]{0,24}") {
        if let Ok(bytes) = encode_text(&Rich::schema(), &text) {
            prop_assert!(Value::decode(&Rich::schema(), &bytes).is_ok());
        }
        if let Ok(bytes) = encode_text(&Action::schema(), &text) {
            prop_assert!(Value::decode(&Action::schema(), &bytes).is_ok());
        }
    }

    #[test]
    fn changed_text_is_another_value_or_an_error(
        value in common::rich(),
        at in any::<prop::sample::Index>(),
        letter in common::character(),
    ) {
        let mut letters: Vec<char> = show(&value)?.chars().collect();
        let at = at.index(letters.len());
        letters[at] = letter;
        if let Ok(bytes) = encode_text(&Rich::schema(), &String::from_iter(letters)) {
            prop_assert!(Value::decode(&Rich::schema(), &bytes).is_ok());
        }
    }
}

#[test]
fn every_char_is_read_back_from_text() -> Result<(), ValueTextError> {
    for letter in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
        let bytes = encode_to_vec(&letter);
        assert_eq!(encode_text(&char::schema(), &format!("{letter:?}"))?, bytes, "{letter:?}");
    }
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    for part in all.chunks(0x1000) {
        let text = String::from_iter(part);
        assert_eq!(encode_text(&String::schema(), &format!("{text:?}"))?, encode_to_vec(&text), "{text:?}");
    }
    Ok(())
}

#[test]
fn values_read_like_ron() -> Result<(), DecodeError> {
    assert_eq!(show(&(u128::MAX, i128::MIN))?, format!("({}, {})", u128::MAX, i128::MIN));
    assert_eq!(show(&[0.1_f32, -0.0, f32::INFINITY, f32::NAN])?, "[0.1, -0.0, inf, NaN]");
    assert_eq!(show(&[f64::MIN_POSITIVE / 2.0, 1e300, f64::NEG_INFINITY])?, "[1.1125369292536007e-308, 1e300, -inf]");
    assert_eq!(show(&("a \"b\"\n\0é".to_owned(), '\''))?, r#"("a \"b\"\n\0é", '\'')"#);
    assert_eq!(show(&Duration::new(3, 5))?, "(3, 5)");
    assert_eq!(show(&(Some(Some(1_u8)), Some(None::<u8>), None::<Option<u8>>))?, "(Some(Some(1)), Some(None), None)");
    assert_eq!(show(&(1_u8,))?, "(1,)");
    assert_eq!(show(&((), Unit, Empty {}, Single(-1), Pair(2, "b".into())))?, "((), (), (), (-1), (2, \"b\"))");
    assert_eq!(show(&BTreeMap::from([("a".to_owned(), BTreeSet::from([2_u8, 1]))]))?, r#"{"a": [1, 2]}"#);
    assert_eq!(show(&Action::Wait)?, "Wait");
    assert_eq!(show(&Action::Walk(-3))?, "Walk(-3)");
    let cast = Action::Cast { spell: "fire".into(), at: [Float(1.0), Float(2.5)], target: Some(None) };
    assert_eq!(show(&cast)?, r#"Cast(spell: "fire", at: [(1.0), (2.5)], target: Some(None))"#);
    assert_eq!(show(&Action::None)?, "None");
    assert_eq!(show(&[Action::Some, Action::NaN(1, 2)])?, "[r#Some, r#NaN(1, 2)]", "literals of RON are marked");
    Ok(())
}

#[test]
fn text_may_be_written_in_other_ways() -> Result<(), ValueTextError> {
    let same = |text: &str, value: &Numbers| {
        Ok::<bool, ValueTextError>(encode_text(&Numbers::schema(), text)? == encode_to_vec(value))
    };
    let value = Numbers {
        a: (1, 2, 3, 4, 5),
        b: (-1, -2, -3, -4, -5),
        c: (6, -6),
        d: Float(2.0),
        e: true,
        f: 'x',
        g: Duration::new(1, 2),
    };
    assert!(same(
        "(g: (1, 2), f: 'x', e: true, d: (2), c: (6, -6), b: (-1, -2, -3, -4, -5), a: (1, 2, 3, 4, 5,),)",
        &value
    )?);
    assert!(same(
        "(a: (0x1, 0b10, 0o3, 4, 5), b: (-1, -2, -3, -4, -5), c: (6, -6), d: (2.), e: true, f: '\\u{78}', g: (1, 2))",
        &value
    )?);
    let unsorted = encode_text(&BTreeMap::<u8, bool>::schema(), "{2: true, 1: false}")?;
    assert_eq!(unsorted, encode_to_vec(&BTreeMap::from([(1_u8, false), (2, true)])));
    assert_eq!(encode_text(&HashSet::<u8>::schema(), "[2, 1]")?, encode_to_vec(&HashSet::from([1_u8, 2])));
    Ok(())
}

/// The reason why text is refused; the whole error names text and type, too.
fn reason<T: Canonical>(text: &str) -> String {
    let error = encode_text(&T::schema(), text).expect_err(text);
    assert_eq!((error.text.as_str(), error.expected), (text, T::schema().to_string()));
    error.reason
}

#[track_caller]
fn assert_reason<T: Canonical>(text: &str, expected: &str) {
    let reason = reason::<T>(text);
    assert!(reason.contains(expected), "`{text}` is refused with `{reason}`, which does not say `{expected}`");
}

#[test]
fn unknown_missing_and_repeated_fields_are_named() {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Steer {
        _x: i8,
        _jump: bool,
    }
    assert_reason::<Steer>("(_x: 1, _jmup: true)", "no field `_jmup` (known: _x, _jump)");
    assert_reason::<Steer>("(_x: 1)", "field `_jump` is missing");
    assert_reason::<Steer>("(_x: 1, _x: 2, _jump: true)", "field `_x` stands twice");
    assert_reason::<Steer>("(_x: 300, _jump: true)", "_x: 300 is out of the range of i8");
    assert_reason::<Steer>("(_x: 1, _jump: 1)", "_jump: Expected boolean");
    assert_reason::<Steer>("(_x: 1, _jump: true) x", "trailing");
    let error = encode_text(&Steer::schema(), "(_x: 300)").expect_err("out of range").to_string();
    assert_eq!(error, "`(_x: 300)` is no Steer { _x: i8, _jump: bool }: 1:6-1:9: _x: 300 is out of the range of i8");
}

#[test]
fn unknown_variants_and_wrong_fields_of_variants_are_named() {
    assert_reason::<Action>(
        "Jump",
        "no variant `Jump` (known: Wait, Walk, Swap, Cast, Braces, Parentheses, None, Some, NaN, Some2, true)",
    );
    assert_reason::<Action>("Cast(spel: \"fire\")", "no field `spel` (known: spell, at, target)");
    assert_reason::<Action>("Cast(spell: \"fire\")", "Cast: field `at` is missing");
    assert_reason::<Action>("Other(Swap((256, \"\"), (0,)))", "Some2");
    assert_reason::<Action>("Some2(Swap((256, \"\"), (0,)))", "Some2: Swap: 256 is out of the range of u8");
    assert_reason::<Option<Action>>("Some(Cast(spell: 1))", "Cast: spell: Expected string");
    assert_reason::<Action>("NaN(1)", "2 values expected, 1 found");
    assert_reason::<Action>("NaN(1, 2, 3)", "2 values expected, more found");
}

#[test]
fn values_of_another_type_are_refused_with_the_type() {
    assert_reason::<u8>("256", "256 is out of the range of u8");
    assert_reason::<u8>("-1", "Integer is out of bounds");
    assert_reason::<u128>("340282366920938463463374607431768211456", "Integer is out of bounds");
    assert_reason::<i128>("-170141183460469231731687303715884105729", "Integer is out of bounds");
    assert_reason::<i64>("9223372036854775808", "9223372036854775808 is out of the range of i64");
    assert_reason::<i8>("-129", "-129 is out of the range of i8");
    assert_reason::<[u8; 2]>("[1]", "2 values expected, 1 found");
    assert_reason::<[u8; 2]>("[1, 2, 3]", "2 values expected, more found");
    assert_reason::<(u8, u8)>("(1, 2, 3)", "2 values expected, more found");
    assert_reason::<Duration>("(1, 1000000000)", "1000000000 is no value of Duration (nanoseconds below a second)");
    assert_reason::<Duration>("(1)", "seconds and nanoseconds expected");
    assert_reason::<Duration>("(1, 2, 3)", "Expected closing `)`");
    assert_reason::<Option<u8>>("1", "Expected option");
    assert_reason::<String>("abc", "Expected string");
    assert_reason::<char>("'ab'", "Expected char");
    assert_reason::<Vec<u8>>("[1", "Expected comma");
    assert_reason::<HashMap<u8, u8>>("{1}", "Expected colon");
    assert_reason::<()>("(1)", "0 values expected, more found");
    assert_reason::<f32>("x", "Expected float");
    assert_reason::<u8>("", "Unexpected end of RON");
}

#[test]
fn text_nested_without_end_is_refused() {
    for (open, close) in [("[", "]"), ("(", ")"), ("{", "}"), ("Some(", ")"), ("A(", ")"), ("(a:", ")"), ("{0:", "}")] {
        for text in [open.repeat(10_000), format!("{}{}", open.repeat(10_000), close.repeat(10_000))] {
            assert!(encode_text(&Rich::schema(), &text).is_err());
            assert!(encode_text(&Action::schema(), &format!("Other({text})")).is_err());
        }
    }
}

/// Reads a schema as tapes hold it.
fn schema(json: &str) -> Result<Schema, serde_json::Error> {
    serde_json::from_str(json)
}

#[test]
fn schemas_are_read_back_as_they_were_written() -> Result<(), Box<dyn core::error::Error>> {
    for written in [Rich::schema(), Action::schema(), u8::schema(), common::Nest::schema()] {
        assert_eq!(schema(&serde_json::to_string(&written)?)?, written);
        assert_eq!(ron::from_str::<Schema>(&ron::to_string(&written)?)?, written);
    }
    Ok(())
}

#[test]
fn schemas_that_are_none_are_refused_with_the_reason() {
    let shapes = |json: &str| Schema::try_from(serde_json::from_str::<Vec<Shape>>(json).expect("shapes"));
    let quoted = |name: &str| serde_json::Value::from(name).to_string();
    let field = |name: &str| format!(r#"{{"name":{},"shape":1}}"#, quoted(name));
    let fields = |names: &[&str]| names.iter().map(|name| field(name)).collect::<Vec<_>>().join(",");
    let of = |names: &[&str]| format!(r#"[{{"Struct":{{"name":"A","fields":[{}]}}}},"Bool"]"#, fields(names));
    let variant = |name: &str, tag: u32| format!(r#"{{"name":{},"tag":{tag},"fields":[]}}"#, quoted(name));
    let enum_of = |a: &str, b: &str| format!(r#"[{{"Enum":{{"name":"A","variants":[{a},{b}]}}}}]"#);

    assert_eq!(shapes("[]"), Err(SchemaError::Empty));
    let many = format!("[{}]", vec!["\"Bool\""; 4097].join(","));
    assert_eq!(shapes(&many), Err(SchemaError::TooManyShapes { count: 4097 }));
    let dangling = r#"[{"Option":{"item":1}}]"#;
    assert_eq!(shapes(dangling), Err(SchemaError::DanglingShape { from: 0, to: 1, count: 1 }));
    for shape in ["UInt", "Int", "Float"] {
        let json = format!(r#"[{{"{shape}":{{"bits":24}}}}]"#);
        assert_eq!(shapes(&json), Err(SchemaError::UnknownWidth { shape: 0, bits: 24 }));
    }
    let long = r#"[{"Fixed":{"bits":16,"fraction_bits":17,"signed":true}}]"#;
    assert_eq!(shapes(long), Err(SchemaError::LongFraction { shape: 0, bits: 16, fraction_bits: 17 }));
    for name in ["", "a b", "a: 1, b", "r#a", "1a", "a\u{1b}", "(", "-"] {
        let bad = Err(SchemaError::BadName { shape: 0, name: name.into() });
        assert_eq!(shapes(&of(&["ok", name])), bad);
        assert_eq!(shapes(&enum_of(&variant("Ok", 1), &variant(name, 2))), bad);
    }
    assert_eq!(shapes(&of(&["0", "2"])), Err(SchemaError::BadName { shape: 0, name: "2".into() }));
    assert_eq!(shapes(&of(&["0", "a"])), Err(SchemaError::BadName { shape: 0, name: "a".into() }));
    assert_eq!(shapes(&of(&["a", "a"])), Err(SchemaError::DuplicateName { shape: 0, name: "a".into() }));
    let twice = enum_of(&variant("B", 1), &variant("B", 2));
    assert_eq!(shapes(&twice), Err(SchemaError::DuplicateName { shape: 0, name: "B".into() }));
    let tags = enum_of(&variant("B", 1), &variant("C", 1));
    assert_eq!(shapes(&tags), Err(SchemaError::DuplicateTag { name: "A".into(), tag: 1 }));
    let name = r#"[{"Struct":{"name":"A\u0007","fields":[]}}]"#;
    assert_eq!(shapes(name), Err(SchemaError::BadName { shape: 0, name: "A\u{7}".into() }));
    assert!(shapes(&of(&["0", "1"])).is_ok() && shapes(&of(&["a", "é"])).is_ok());
}

#[test]
fn schemas_that_contain_themselves_without_end_are_refused_by_depth() -> Result<(), serde_json::Error> {
    for json in [
        r#"[{"Struct":{"name":"A","fields":[{"name":"a","shape":0}]}}]"#,
        r#"[{"Tuple":{"items":[0]}}]"#,
        r#"[{"Tuple":{"items":[1]}},{"Array":{"item":0,"len":18446744073709551615}}]"#,
        r#"[{"Array":{"item":0,"len":2}}]"#,
        r#"[{"Option":{"item":0}}]"#,
    ] {
        let schema = schema(json)?;
        assert_eq!(schema.width(), None, "{json}");
        assert_eq!(Value::decode(&schema, &[1; 10_000]), Err(DecodeError::TooDeep), "{json}");
        assert!(encode_text(&schema, &"(".repeat(10_000)).is_err());
        assert!(schema.to_string().len() < 1_000);
    }
    Ok(())
}

#[test]
fn schemas_that_grow_without_bytes_are_refused_by_the_number_of_parts() -> Result<(), serde_json::Error> {
    // Each tuple holds the next one ten times: 10^40 parts, none of which takes a byte.
    let levels: Vec<String> = (1..=40).map(|next| format!(r#"{{"Tuple":{{"items":{:?}}}}}"#, vec![next; 10])).collect();
    let schema = schema(&format!(r#"[{},{{"Tuple":{{"items":[]}}}}]"#, levels.join(",")))?;
    assert_eq!(schema.width(), Some(0));
    assert_eq!(Value::decode(&schema, &[]), Err(DecodeError::TooManyEmptyParts));
    assert_eq!(Value::measure(&schema, &[]), Err(DecodeError::TooManyEmptyParts));
    assert!(schema.to_string().len() < 10_000);
    assert!(schema.same_encoding(&schema.clone()));

    let array = r#"[{"Array":{"item":1,"len":18446744073709551615}},{"Tuple":{"items":[]}}]"#;
    assert_eq!(Value::decode(&self::schema(array)?, &[]), Err(DecodeError::TooManyEmptyParts));
    assert!(encode_text(&self::schema(array)?, "[(), ()]").is_err());
    Ok(())
}

#[test]
fn schemas_of_many_levels_are_measured_and_shown_within_bounds() -> Result<(), serde_json::Error> {
    let levels: Vec<String> = (1..4096).map(|next| format!(r#"{{"Tuple":{{"items":[{next}]}}}}"#)).collect();
    let deep = schema(&format!(r#"[{},"Bool"]"#, levels.join(",")))?;
    assert_eq!(deep.width(), None, "no value of it can be read");
    assert_eq!(Value::decode(&deep, &[0]), Err(DecodeError::TooDeep));
    assert!(deep.same_encoding(&deep.clone()));

    let items = vec![1; 100_000];
    let wide = schema(&format!(r#"[{{"Tuple":{{"items":{items:?}}}}},"Bool"]"#))?;
    assert_eq!(wide.width(), Some(100_000));
    assert!(wide.to_string().ends_with(", …)"), "{wide}");
    Ok(())
}

#[test]
fn widths_of_huge_arrays_overflow_nothing() -> Result<(), serde_json::Error> {
    let array = |len: u64| schema(&format!(r#"[{{"Array":{{"item":1,"len":{len}}}}},{{"UInt":{{"bits":128}}}}]"#));
    assert_eq!(array(u64::MAX)?.width(), None);
    assert_eq!(array(4)?.width(), Some(64));
    assert!(Value::decode(&array(u64::MAX)?, &[0; 64]).is_err());
    Ok(())
}

#[test]
fn schemas_of_the_same_bytes_are_the_same_encoding() {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Wide {
        _a: usize,
        _b: u64,
        _next: Option<Box<Wide>>,
    }
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Same {
        _a: u64,
        _b: u64,
        _next: Option<Box<Unrolled>>,
    }
    /// The same type again: what contains itself may be written out once more.
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Unrolled {
        _a: u64,
        _b: usize,
        _next: Option<Box<Same>>,
    }
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Other {
        _a: u64,
        _b: u64,
        _next: Option<Box<Differs>>,
    }
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Differs {
        _a: u64,
        _b: u32,
        _next: Option<Box<Other>>,
    }
    let same = |a: &Schema, b: &Schema| {
        assert_eq!(a.same_encoding(b), b.same_encoding(a));
        a.same_encoding(b)
    };
    assert!(same(&Wide::schema(), &Same::schema()));
    assert!(same(&Same::schema(), &Unrolled::schema()));
    assert!(!same(&Same::schema(), &Other::schema()));
    assert!(same(&<(Vec<u8>, BTreeSet<i8>)>::schema(), &<(std::collections::VecDeque<u8>, HashSet<i8>)>::schema()));
    assert!(!same(&u8::schema(), &i8::schema()));
    assert!(!same(&Vec::<u8>::schema(), &BTreeSet::<u8>::schema()));
    assert!(!same(&<[u8; 2]>::schema(), &<[u8; 3]>::schema()));
    assert!(!same(&<(u8, u8)>::schema(), &<(u8, u8, u8)>::schema()));
    assert!(!same(&Single::schema(), &Pair::schema()));
}

#[test]
fn nan_inside_a_value_is_found() -> Result<(), DecodeError> {
    let value = BTreeMap::from([(1_u8, vec![Some(f64::NAN)])]);
    let read = Value::decode(&BTreeMap::<u8, Vec<Option<f64>>>::schema(), &encode_to_vec(&value))?;
    assert!(read.has_nan());
    let none = decode_from_slice::<BTreeMap<u8, Vec<Option<f64>>>>(&encode_to_vec(&BTreeMap::from([(
        1_u8,
        vec![Some(1.0_f64)],
    )])))?;
    assert!(!Value::decode(&BTreeMap::<u8, Vec<Option<f64>>>::schema(), &encode_to_vec(&none))?.has_nan());
    Ok(())
}
