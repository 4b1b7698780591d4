//! Canonical bytes: one encoding per state, read back strictly.
#![allow(clippy::disallowed_types, reason = "hash containers must have a canonical form, too")]

mod common;

use bevy_replay_tape::{
    Canonical, DEPTH_MAX, DecodeError, EncodeNotes, NoEntities, SlotSink, Source, Value, VecSink, decode_from_slice,
    encode_text, encode_to_vec,
};
use common::{Action, Empty, Float, Nest, Numbers, Rich, Single, Unit};
use core::fmt::Debug;
use core::marker::PhantomData;
use core::time::Duration;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// Checks all that is promised of the bytes of a value.
fn check<T: Canonical>(value: &T) -> TestCaseResult {
    let bytes = encode_to_vec(value);
    let schema = T::schema();
    if let Some(width) = T::WIDTH {
        prop_assert_eq!(bytes.len(), width);
        prop_assert_eq!(schema.width(), Some(width));
        let (mut slot, mut notes) = (vec![0xee; width], EncodeNotes::default());
        value.encode(&mut SlotSink::new(&mut slot, &NoEntities, &mut notes));
        prop_assert_eq!(&slot, &bytes);
    }
    if let Some(width) = schema.width() {
        prop_assert_eq!(bytes.len(), width);
    }
    let decoded = decode_from_slice::<T>(&bytes)?;
    prop_assert_eq!(&encode_to_vec(&decoded), &bytes);
    prop_assert_eq!(Value::measure(&schema, &bytes)?, bytes.len());
    let mut in_place = decoded;
    in_place.decode_in_place(&mut Source::new(&bytes, &NoEntities))?;
    prop_assert_eq!(&encode_to_vec(&in_place), &bytes);

    for end in 0..bytes.len() {
        prop_assert!(decode_from_slice::<T>(&bytes[..end]).is_err(), "cut at byte {}", end);
        prop_assert!(Value::decode(&schema, &bytes[..end]).is_err(), "cut at byte {}", end);
    }
    let longer = [&*bytes, &[0]].concat();
    prop_assert_eq!(decode_from_slice::<T>(&longer).map(drop), Err(DecodeError::LeftOver { extra: 1 }));
    prop_assert_eq!(Value::decode(&schema, &longer).map(drop), Err(DecodeError::LeftOver { extra: 1 }));
    Ok(())
}

/// Checks that a value comes back, and what [`check`] checks.
fn check_equal<T: Canonical + Debug + PartialEq>(value: &T) -> TestCaseResult {
    prop_assert_eq!(&decode_from_slice::<T>(&encode_to_vec(value))?, value);
    check(value)
}

/// Checks that bytes are read as a value with the type and with its schema, or refused by both, and that nothing but
/// the canonical bytes of a value is read as it.
fn check_refusals<T: Canonical>(bytes: &[u8]) -> TestCaseResult {
    let typed = decode_from_slice::<T>(bytes);
    let untyped = Value::decode(&T::schema(), bytes);
    prop_assert_eq!(typed.is_ok(), untyped.is_ok(), "{:?}, {:?}", typed.err(), untyped);
    if let Ok(value) = typed {
        prop_assert_eq!(&encode_to_vec(&value)[..], bytes);
    }
    Ok(())
}

proptest! {
    #[test]
    fn numbers_text_and_durations_come_back(value in common::numbers()) {
        check_equal(&value)?;
        check_equal(&value.a)?;
        check_equal(&(value.b, value.c, value.e))?;
        check_equal(&(value.f, value.g))?;
    }

    #[test]
    fn floats_come_back_bit_by_bit(a in common::float32(), b in common::float()) {
        check(&a)?;
        check(&b)?;
        let bits = |value: f32| if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
        prop_assert_eq!(decode_from_slice::<f32>(&encode_to_vec(&a))?.to_bits(), bits(a));
        check_equal(&Float(b))?;
    }

    #[test]
    fn containers_come_back(value in common::containers()) {
        check_equal(&value.list)?;
        check_equal(&value.queue)?;
        check_equal(&value.units)?;
        check_equal(&value.boxes)?;
        check_equal(&value.array)?;
        check_equal(&value.map)?;
        check_equal(&value.names)?;
        check_equal(&value.set)?;
        check_equal(&value.marks)?;
        check_equal(&value.nested)?;
    }

    #[test]
    fn derived_types_come_back(value in common::rich()) {
        check_equal(&value)?;
    }

    #[test]
    fn other_states_have_other_bytes(a in common::rich(), b in common::rich(), c in common::action(), d in common::action()) {
        prop_assert_eq!(a == b, encode_to_vec(&a) == encode_to_vec(&b));
        prop_assert_eq!(c == d, encode_to_vec(&c) == encode_to_vec(&d));
    }

    #[test]
    fn changed_bytes_are_refused_by_the_type_and_by_its_schema_alike(
        value in common::rich(),
        at in any::<proptest::sample::Index>(),
        byte in prop_oneof![any::<u8>(), 0..3_u8],
    ) {
        let mut bytes = encode_to_vec(&value);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        check_refusals::<Rich>(&bytes)?;
    }

    #[test]
    fn random_bytes_are_refused_by_the_type_and_by_its_schema_alike(bytes in proptest::collection::vec(0..3_u8, 0..40)) {
        check_refusals::<BTreeMap<u8, Option<u16>>>(&bytes)?;
        check_refusals::<HashSet<(bool, u8)>>(&bytes)?;
        check_refusals::<Vec<Vec<Option<bool>>>>(&bytes)?;
        check_refusals::<(Duration, char, f32)>(&bytes)?;
        check_refusals::<[(i16, Box<u8>); 3]>(&bytes)?;
        check_refusals::<Nest>(&bytes)?;
    }

    #[test]
    fn hash_containers_encode_the_same_for_any_order_of_insertion(
        pairs in proptest::collection::vec((any::<i16>(), common::text()), 0..20).prop_shuffle(),
    ) {
        // What is inserted twice keeps its last value, so each key stands once here.
        let ordered: BTreeMap<i16, String> = pairs.iter().cloned().collect();
        let keys: BTreeSet<i16> = ordered.keys().copied().collect();
        for reversed in [false, true] {
            let mut pairs: Vec<_> = ordered.clone().into_iter().collect();
            if reversed {
                pairs.reverse();
            }
            // Each map has another hasher, so another order.
            let map: HashMap<i16, String> = pairs.iter().cloned().collect();
            let set: HashSet<i16> = pairs.iter().map(|pair| pair.0).collect();
            prop_assert_eq!(encode_to_vec(&map), encode_to_vec(&ordered));
            prop_assert_eq!(encode_to_vec(&set), encode_to_vec(&keys));
        }
    }
}

#[test]
fn schemas_know_the_widths_of_their_types() {
    fn check<T: Canonical>(width: Option<usize>) {
        assert_eq!((T::WIDTH, T::schema().width()), (width, width), "{}", T::type_name());
    }
    check::<u8>(Some(1));
    check::<u128>(Some(16));
    check::<usize>(Some(8));
    check::<isize>(Some(8));
    check::<f32>(Some(4));
    check::<bool>(Some(1));
    check::<char>(Some(4));
    check::<Duration>(Some(12));
    check::<String>(None);
    check::<Option<u8>>(None);
    check::<Option<()>>(Some(1));
    check::<Option<[u16; 0]>>(Some(1));
    check::<[u16; 3]>(Some(6));
    check::<[String; 0]>(Some(0));
    check::<[String; 1]>(None);
    check::<()>(Some(0));
    check::<(u8, u16, Unit, PhantomData<String>)>(Some(3));
    check::<(u8, Vec<u8>)>(None);
    check::<Vec<()>>(None);
    check::<VecDeque<u8>>(None);
    check::<BTreeMap<u8, u8>>(None);
    check::<HashSet<u8>>(None);
    check::<Empty>(Some(0));
    check::<Single>(Some(8));
    check::<Numbers>(Some(31 + 31 + 16 + 8 + 1 + 4 + 12));
    check::<Action>(None);
    check::<Nest>(None);
}

#[test]
fn boxes_have_a_width_in_the_schema_only() {
    assert_eq!((Box::<u32>::WIDTH, Box::<u32>::schema().width()), (None, Some(4)));
    assert_eq!(Box::<u32>::schema(), u32::schema());
}

#[test]
fn negative_zero_is_another_state_than_zero() {
    assert_ne!(encode_to_vec(&-0.0_f32), encode_to_vec(&0.0_f32));
    assert_ne!(encode_to_vec(&-0.0_f64), encode_to_vec(&0.0_f64));
}

/// The bytes of a value and what was noted.
fn noted<T: Canonical>(value: &T) -> (Vec<u8>, EncodeNotes) {
    let (mut bytes, mut notes) = (Vec::new(), EncodeNotes::default());
    value.encode(&mut VecSink::new(&mut bytes, &NoEntities, &mut notes));
    (bytes, notes)
}

#[test]
fn all_nan_encode_as_one_and_are_counted() -> Result<(), DecodeError> {
    let quiet = encode_to_vec(&f32::NAN);
    for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff_u32] {
        let (bytes, notes) = noted(&f32::from_bits(bits));
        assert_eq!((bytes, notes.nan_count), (quiet.clone(), 1), "{bits:x}");
    }
    for bits in [0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001, u64::MAX] {
        let (bytes, notes) = noted(&f64::from_bits(bits));
        assert_eq!((bytes, notes.nan_count), (encode_to_vec(&f64::NAN), 1), "{bits:x}");
    }
    assert_eq!(noted(&f32::INFINITY).1, EncodeNotes::default());
    let inside = BTreeMap::from([(1_u8, vec![f32::NAN, 1.0]), (2, vec![-f32::NAN])]);
    assert_eq!(noted(&inside).1.nan_count, 2);
    Ok(())
}

#[test]
fn nan_with_another_payload_is_refused() {
    let payload = 0x7fc0_0001_u32.to_le_bytes();
    let error = DecodeError::invalid("canonical f32", "a NaN with the bits 7fc00001");
    assert_eq!(decode_from_slice::<f32>(&payload).map(drop), Err(error.clone()));
    assert_eq!(Value::decode(&f32::schema(), &payload).map(drop), Err(error));
}

#[test]
fn sets_and_maps_out_of_order_are_refused() {
    let count = 2_u64.to_le_bytes();
    let set = [&count[..], &[2, 1]].concat();
    assert_eq!(decode_from_slice::<BTreeSet<u8>>(&set), Err(DecodeError::Unsorted));
    assert_eq!(decode_from_slice::<HashSet<u8>>(&set), Err(DecodeError::Unsorted));
    assert_eq!(Value::decode(&BTreeSet::<u8>::schema(), &set), Err(DecodeError::Unsorted));
    let map = [&count[..], &[2, 0, 1, 0]].concat();
    assert_eq!(decode_from_slice::<BTreeMap<u8, bool>>(&map), Err(DecodeError::Unsorted));
    assert_eq!(Value::decode(&BTreeMap::<u8, bool>::schema(), &map), Err(DecodeError::Unsorted));
}

#[test]
fn keys_are_ordered_by_their_bytes_and_not_by_their_type() {
    let map = BTreeMap::from([(-1_i8, 'a'), (1, 'b')]);
    let keys: Vec<u8> = encode_to_vec(&map)[8..].iter().step_by(5).copied().collect();
    assert_eq!(keys, [1, 0xff]);
}

#[test]
fn counts_without_bytes_behind_them_are_refused_at_once() {
    fn check<T: Canonical>() {
        for count in [u64::MAX, u64::MAX / 2, 1 << 40, 100_000] {
            let bytes = [&count.to_le_bytes()[..], &[0; 40]].concat();
            assert!(decode_from_slice::<T>(&bytes).is_err(), "{} of {count}", T::type_name());
            assert!(Value::decode(&T::schema(), &bytes).is_err(), "{} of {count}", T::type_name());
        }
    }
    check::<String>();
    check::<Vec<u8>>();
    check::<Vec<u128>>();
    check::<Vec<String>>();
    check::<Vec<()>>();
    check::<Vec<Box<()>>>();
    check::<Vec<Vec<()>>>();
    check::<VecDeque<Empty>>();
    check::<BTreeSet<()>>();
    check::<HashSet<u32>>();
    check::<BTreeMap<(), [Unit; 4]>>();
    check::<HashMap<u8, Vec<u8>>>();
    check::<Nest>();
}

#[test]
fn parts_without_bytes_are_bounded_over_the_whole_value() -> Result<(), DecodeError> {
    let most = 4096;
    let units = |count: usize| encode_to_vec(&vec![(); count]);
    assert_eq!(decode_from_slice::<Vec<()>>(&units(most))?.len(), most);
    assert!(Value::decode(&Vec::<()>::schema(), &units(most)).is_ok());
    let error = Err(DecodeError::TooManyEmptyParts);
    assert_eq!(decode_from_slice::<Vec<()>>(&units(most + 1)).map(drop), error);
    assert_eq!(Value::decode(&Vec::<()>::schema(), &units(most + 1)).map(drop), error);
    let lists = encode_to_vec(&vec![vec![(); most / 2]; 3]);
    assert_eq!(decode_from_slice::<Vec<Vec<()>>>(&lists).map(drop), error);
    assert_eq!(Value::decode(&Vec::<Vec<()>>::schema(), &lists).map(drop), error);
    Ok(())
}

/// Bytes of [`Nest`]s inside each other.
fn nest_bytes(count: usize) -> Vec<u8> {
    let mut bytes = 1_u64.to_le_bytes().repeat(count - 1);
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn values_nested_too_deep_are_refused_by_all_readers() -> Result<(), DecodeError> {
    let most = DEPTH_MAX as usize / 2;
    let bytes = nest_bytes(most);
    decode_from_slice::<Nest>(&bytes)?;
    let text = Value::decode(&Nest::schema(), &bytes)?.to_string();
    assert_eq!(encode_text(&Nest::schema(), &text), Ok(bytes));

    for count in [most + 1, most * 2, 100_000] {
        let bytes = nest_bytes(count);
        assert_eq!(decode_from_slice::<Nest>(&bytes).map(drop), Err(DecodeError::TooDeep), "{count}");
        assert_eq!(Nest(Vec::new()).decode_in_place(&mut Source::new(&bytes, &NoEntities)), Err(DecodeError::TooDeep));
        assert_eq!(Value::decode(&Nest::schema(), &bytes).map(drop), Err(DecodeError::TooDeep), "{count}");
        assert_eq!(Value::measure(&Nest::schema(), &bytes), Err(DecodeError::TooDeep), "{count}");
        let text = format!("{}{}", "([".repeat(count), "])".repeat(count));
        assert!(encode_text(&Nest::schema(), &text).is_err(), "{count}");
    }
    Ok(())
}

#[test]
fn each_kind_of_level_counts_the_same_with_and_without_the_type() {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    enum Tree {
        Leaf,
        Boxed(Option<Box<Tree>>),
        Mapped { trees: BTreeMap<(u8,), [Box<Tree>; 1]> },
    }
    for wrap in [
        |tree| Tree::Boxed(Some(Box::new(tree))),
        |tree| Tree::Mapped { trees: BTreeMap::from([((1,), [Box::new(tree)])]) },
    ] {
        let mut tree = Tree::Leaf;
        let mut refused = 0;
        for _ in 0..DEPTH_MAX {
            let bytes = encode_to_vec(&tree);
            let typed = decode_from_slice::<Tree>(&bytes).map(drop);
            assert_eq!(typed, Value::decode(&Tree::schema(), &bytes).map(drop));
            refused += u32::from(typed == Err(DecodeError::TooDeep));
            tree = wrap(tree);
        }
        assert!(refused > 0 && refused < DEPTH_MAX);
    }
}

#[cfg(feature = "glam")]
mod glam {
    use super::*;

    macro_rules! check_all {
        ($bits:ident $from_array:ident: $($t:ident [$item:ty; $n:literal])*) => {$({
            let items: [$item; $n] = core::array::from_fn(|i| <$item>::from_le_bytes(
                $bits[i * size_of::<$item>()..][..size_of::<$item>()].try_into().expect("the slice is that long"),
            ));
            check(&::glam::$t::$from_array(items.into()))?;
            check_refusals::<::glam::$t>(&$bits[..$n * size_of::<$item>()])?;
        })*};
    }

    macro_rules! check_matrices {
        ($bits:ident: $($t:ident [$item:ty; $n:literal])*) => {$({
            let items: [$item; $n] = core::array::from_fn(|i| <$item>::from_le_bytes(
                $bits[i * size_of::<$item>()..][..size_of::<$item>()].try_into().expect("the slice is that long"),
            ));
            check(&::glam::$t::from_cols_array(&items))?;
            check_refusals::<::glam::$t>(&$bits[..$n * size_of::<$item>()])?;
        })*};
    }

    fn check_vectors(bits: &[u8]) -> TestCaseResult {
        check_all! { bits from_array:
            Vec2 [f32; 2] Vec3 [f32; 3] Vec3A [f32; 3] Vec4 [f32; 4] Quat [f32; 4]
            DVec2 [f64; 2] DVec3 [f64; 3] DVec4 [f64; 4] DQuat [f64; 4]
            IVec2 [i32; 2] IVec3 [i32; 3] IVec4 [i32; 4] UVec2 [u32; 2] UVec3 [u32; 3] UVec4 [u32; 4]
            I64Vec2 [i64; 2] I64Vec3 [i64; 3] I64Vec4 [i64; 4] U64Vec2 [u64; 2] U64Vec3 [u64; 3] U64Vec4 [u64; 4]
        }
        check_matrices! { bits:
            Mat2 [f32; 4] Mat3 [f32; 9] Mat3A [f32; 9] Mat4 [f32; 16] Affine2 [f32; 6] Affine3A [f32; 12]
            DMat2 [f64; 4] DMat3 [f64; 9] DMat4 [f64; 16] DAffine2 [f64; 6] DAffine3 [f64; 12]
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn vectors_and_matrices_come_back(bits in proptest::collection::vec(any::<u8>(), 128)) {
            check_vectors(&bits)?;
        }
    }

    #[test]
    fn vectors_are_their_components_in_order() -> Result<(), DecodeError> {
        let vector = ::glam::Vec3A::new(1.0, 2.0, -3.0);
        assert_eq!(encode_to_vec(&vector), encode_to_vec(&[1.0_f32, 2.0, -3.0]), "no padding");
        assert_eq!(
            Value::decode(&::glam::Vec3A::schema(), &encode_to_vec(&vector))?.to_string(),
            "(x: 1.0, y: 2.0, z: -3.0)"
        );
        let matrix = ::glam::Mat3A::from_cols_array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert_eq!(decode_from_slice::<::glam::Mat3A>(&encode_to_vec(&matrix))?, matrix);
        Ok(())
    }
}

#[cfg(feature = "fixed")]
mod fixed {
    use super::*;
    use ::fixed::types::extra::{U0, U1, U7, U8, U16, U31, U32, U64, U127, U128};
    use ::fixed::{FixedI8, FixedI16, FixedI32, FixedI64, FixedI128, FixedU8, FixedU16, FixedU32, FixedU64, FixedU128};

    macro_rules! check_all {
        ($bits:ident: $($t:ident<$fraction:ident> $raw:ident)*) => {$({
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "random bits of any width")]
            let value = $t::<$fraction>::from_bits($bits as $raw);
            check_equal(&value)?;
            let (schema, bytes) = ($t::<$fraction>::schema(), encode_to_vec(&value));
            prop_assert_eq!(&bytes, &value.to_bits().to_le_bytes());
            let text = Value::decode(&schema, &bytes)?.to_string();
            prop_assert_eq!(encode_text(&schema, &text)?, bytes);
        })*};
    }

    fn check_fixed(bits: u128) -> TestCaseResult {
        check_all! { bits:
            FixedI8<U0> i8 FixedI8<U7> i8 FixedI8<U8> i8 FixedI16<U1> i16 FixedI16<U16> i16 FixedI32<U16> i32
            FixedI32<U31> i32 FixedI64<U32> i64 FixedI64<U64> i64 FixedI128<U0> i128 FixedI128<U64> i128
            FixedI128<U127> i128 FixedI128<U128> i128
            FixedU8<U0> u8 FixedU8<U8> u8 FixedU16<U7> u16 FixedU32<U16> u32 FixedU64<U32> u64 FixedU64<U64> u64
            FixedU128<U0> u128 FixedU128<U127> u128 FixedU128<U128> u128
        }
        Ok(())
    }

    #[test]
    fn fixed_point_numbers_are_shown_exactly() -> Result<(), DecodeError> {
        fn shown<T: Canonical>(value: T) -> Result<String, DecodeError> {
            Ok(Value::decode(&T::schema(), &encode_to_vec(&value))?.to_string())
        }
        assert_eq!(shown(FixedI32::<U16>::from_bits(-1))?, "-0.0000152587890625");
        assert_eq!(shown(FixedI32::<U16>::from_bits(98_304))?, "1.5");
        assert_eq!(shown(FixedI8::<U0>::MIN)?, "-128.0");
        assert_eq!(shown(FixedU8::<U8>::MAX)?, "0.99609375");
        assert_eq!(shown(FixedI128::<U64>::MIN)?, "-9223372036854775808.0");
        assert_eq!(shown(FixedU128::<U0>::MAX)?, "340282366920938463463374607431768211455.0");
        let smallest = "0.000000000000000000000000000000000000002938735877055718769921841343055614194546663891930218803\
                        77187926569604314863681793212890625";
        assert_eq!(shown(FixedU128::<U128>::from_bits(1))?, smallest);
        Ok(())
    }

    #[test]
    fn decimals_that_no_fixed_point_number_is_are_refused() {
        let error = |text| encode_text(&FixedI8::<U7>::schema(), text).expect_err("no such number").to_string();
        assert!(error("0.1").ends_with("no exact fixed-point number"), "{}", error("0.1"));
        assert!(error("1.0").ends_with("1.0 is out of the range of I1F7"), "{}", error("1.0"));
        assert!(error("-1.0078125").ends_with("is out of the range of I1F7"));
        assert!(error("Some(1)").ends_with("no exact fixed-point number"));
    }

    proptest! {
        #[test]
        fn small_fixed_point_numbers_are_shown_as_the_float_they_equal(bits: i32) {
            let value = FixedI32::<U16>::from_bits(bits);
            let text = Value::decode(&FixedI32::<U16>::schema(), &encode_to_vec(&value))?.to_string();
            // Rust prints floats exactly if it is asked for enough digits.
            let exact = format!("{:.16}", value.to_num::<f64>());
            prop_assert_eq!(format!("{text:0<width$}", width = exact.len()), exact);
        }

        #[test]
        fn fixed_point_numbers_come_back_from_bytes_and_text(
            bits in prop_oneof![any::<u128>(), Just(0), Just(1), Just(u128::MAX), Just(1 << 127), Just((1 << 127) - 1)],
        ) {
            check_fixed(bits)?;
        }
    }
}

#[cfg(feature = "bevy")]
mod bevy {
    use super::*;
    use bevy_ecs::entity::Entity;
    use bevy_replay_tape::{EntityIds, NO_ENTITY};
    use bevy_time::{Stopwatch, Timer, TimerMode};

    /// What may happen to a timer.
    #[derive(Debug, Clone)]
    enum Step {
        Tick(u32),
        Pause,
        Unpause,
        Reset,
        SetElapsed(u32),
        Finish,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (0..5_000_u32).prop_map(Step::Tick),
            1 => Just(Step::Pause),
            1 => Just(Step::Unpause),
            1 => Just(Step::Reset),
            1 => (0..5_000_u32).prop_map(Step::SetElapsed),
            1 => Just(Step::Finish),
        ];
        proptest::collection::vec(step, 0..6)
    }

    proptest! {
        #[test]
        fn timers_and_stopwatches_come_back_in_every_state(
            duration in prop_oneof![Just(0), 1..3_000_u32],
            repeats: bool,
            steps in steps(),
            next in 0..5_000_u32,
        ) {
            let millis = |ms: u32| Duration::from_millis(ms.into());
            let mode = if repeats { TimerMode::Repeating } else { TimerMode::Once };
            let (mut timer, mut watch) = (Timer::new(millis(duration), mode), Stopwatch::new());
            for step in steps {
                match step {
                    Step::Tick(ms) => { timer.tick(millis(ms)); watch.tick(millis(ms)); }
                    Step::Pause => { timer.pause(); watch.pause(); }
                    Step::Unpause => { timer.unpause(); watch.unpause(); }
                    Step::Reset => { timer.reset(); watch.reset(); }
                    Step::SetElapsed(ms) => { timer.set_elapsed(millis(ms)); watch.set_elapsed(millis(ms)); }
                    // With more time elapsed than its duration, Bevy's own `finish` panics.
                    Step::Finish => if timer.elapsed() <= timer.duration() { timer.finish() },
                }
            }
            check_equal(&timer)?;
            check_equal(&watch)?;
            // And it goes on as the original does.
            let mut copy: Timer = decode_from_slice(&encode_to_vec(&timer))?;
            prop_assert_eq!(copy.tick(millis(next)), timer.tick(millis(next)));
        }
    }

    /// Two entities with the sim ids 7 and 8.
    struct Two;
    const FIRST: Entity = Entity::from_raw_u32(3).unwrap();
    const SECOND: Entity = Entity::from_raw_u32(2).unwrap();
    const STRANGER: Entity = Entity::from_raw_u32(9).unwrap();

    impl EntityIds for Two {
        fn sim_id(&self, bits: u64) -> Option<u64> {
            [(FIRST, 7), (SECOND, 8)].iter().find(|pair| pair.0.to_bits() == bits).map(|pair| pair.1)
        }
        fn entity_bits(&self, sim_id: u64) -> Option<u64> {
            [(FIRST, 7), (SECOND, 8)].iter().find(|pair| pair.1 == sim_id).map(|pair| pair.0.to_bits())
        }
    }

    fn encode<T: Canonical>(value: &T) -> (Vec<u8>, EncodeNotes) {
        let (mut bytes, mut notes) = (Vec::new(), EncodeNotes::default());
        value.encode(&mut VecSink::new(&mut bytes, &Two, &mut notes));
        (bytes, notes)
    }

    #[test]
    fn entities_are_their_sim_ids() -> Result<(), DecodeError> {
        let value = (FIRST, vec![SECOND], BTreeMap::from([(SECOND, FIRST), (FIRST, SECOND)]));
        let (bytes, notes) = encode(&value);
        assert_eq!(notes, EncodeNotes::default());
        type Same = (u64, Vec<u64>, BTreeMap<u64, u64>);
        assert_eq!(decode_from_slice::<Same>(&bytes)?, (7, vec![8], BTreeMap::from([(7, 8), (8, 7)])));
        type Entities = (Entity, Vec<Entity>, BTreeMap<Entity, Entity>);
        assert_eq!(Entities::decode(&mut Source::new(&bytes, &Two))?, value);
        let mut slot = [0; 8];
        FIRST.encode(&mut SlotSink::new(&mut slot, &Two, &mut EncodeNotes::default()));
        assert_eq!(slot, 7_u64.to_le_bytes());
        Ok(())
    }

    #[test]
    fn entities_without_a_sim_id_are_none_and_counted() -> Result<(), DecodeError> {
        let (bytes, notes) = encode(&(STRANGER, FIRST, Entity::PLACEHOLDER));
        assert_eq!(notes.dangling_count, 2);
        assert_eq!(decode_from_slice::<(u64, u64, u64)>(&bytes)?, (NO_ENTITY, 7, NO_ENTITY));
        let read = <(Entity, Entity, Entity)>::decode(&mut Source::new(&bytes, &Two))?;
        assert_eq!(read, (Entity::PLACEHOLDER, FIRST, Entity::PLACEHOLDER));
        assert!(Value::decode(&Entity::schema(), &NO_ENTITY.to_le_bytes())?.has_dangling());
        assert!(!Value::decode(&Entity::schema(), &7_u64.to_le_bytes())?.has_dangling());
        Ok(())
    }

    #[test]
    fn two_lost_entities_in_a_set_are_read_as_one() -> Result<(), DecodeError> {
        let (bytes, notes) = encode(&HashSet::from([STRANGER, Entity::PLACEHOLDER, FIRST]));
        assert_eq!(notes.dangling_count, 2);
        let read = HashSet::<Entity>::decode(&mut Source::new(&bytes, &Two))?;
        assert_eq!(read, HashSet::from([FIRST, Entity::PLACEHOLDER]));
        assert_eq!(Value::decode(&HashSet::<Entity>::schema(), &bytes)?.to_string(), "[Some(7), None, None]");
        Ok(())
    }
}
