//! Fixed-point numbers: how exact they are, and what they do at the ends of their range.

use crate::game::Outcome;
use bevy_replay::fixed::{Fx, FxVec2, atan2, sin_cos, sqrt};
use bevy_replay::rand::rand_core::{Rng, SeedableRng};
use bevy_replay::tape::{Canonical, decode_from_slice, encode_to_vec};
use rand_chacha::ChaCha8Rng;

const COUNT: u32 = 1_000_000;

/// 2^-24 in units of 2^-32.
const SMALL: i64 = 1 << 8;

fn numbers() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

#[test]
fn square_root_is_within_one_unit_in_the_last_place() -> Outcome {
    let mut random = numbers();
    for _ in 0..COUNT {
        let bits = (random.next_u64() >> 1) >> (random.next_u32() % 63);
        let root = u128::try_from(sqrt(Fx::from_bits(bits.cast_signed()))?.to_bits())?;
        // root = √(bits · 2^32) in whole numbers; the neighbours of the exact root enclose it.
        let square = u128::from(bits) << 32;
        assert!(root.saturating_sub(1).pow(2) <= square && square <= (root + 1).pow(2), "√{bits} gave {root}");
    }
    assert!(sqrt(Fx::from_num(-1)).is_err());
    Ok(())
}

/// The difference of a fixed-point number and a float, in units of 2^-32.
fn off(fixed: Fx, exact: f64) -> f64 {
    (fixed.to_num::<f64>() - exact).abs() * f64::from(2_u32.pow(31)) * 2.0
}

#[test]
fn sine_and_cosine_are_within_2_to_the_minus_24_in_two_turns() {
    let mut random = numbers();
    let turn = Fx::TAU.to_bits();
    let mut worst = 0.0_f64;
    for _ in 0..COUNT {
        let bits = random.next_u64().cast_signed().rem_euclid(2 * turn + 1) - turn;
        let angle = Fx::from_bits(bits);
        let (sin, cos) = sin_cos(angle);
        // `f64` is a thousand times finer than what is asked for; this is a test, it reaches no tick.
        let (exact_sin, exact_cos) = angle.to_num::<f64>().sin_cos();
        worst = worst.max(off(sin, exact_sin)).max(off(cos, exact_cos));
    }
    println!("worst error of sin_cos: {worst:.3} · 2^-32");
    assert!(worst <= 256.0, "{worst} · 2^-32");
}

#[test]
fn unit_vectors_have_length_one_within_2_to_the_minus_24() -> Outcome {
    let mut random = numbers();
    let mut worst = 0;
    for _ in 0..COUNT {
        // Lengths of 2^-8 to 2^15, spread over their exponents.
        let exponent = random.next_u32() % 23;
        let length = (1_u64 << (24 + exponent)) + (random.next_u64() >> (40 - exponent));
        let angle = Fx::from_bits((random.next_u64() >> 30).cast_signed());
        let vector = FxVec2::X.rotate(angle) * Fx::from_bits(length.cast_signed());
        let unit = vector.normalise().ok_or("it has a length")?;
        worst = worst.max((unit.length() - Fx::ONE).to_bits().abs());
    }
    println!("worst error of a unit vector's length: {worst} · 2^-32");
    assert!(worst <= SMALL, "{worst} · 2^-32");
    assert_eq!(FxVec2::ZERO.normalise(), None);
    Ok(())
}

#[test]
fn angles_lead_back_to_their_vectors() {
    let mut random = numbers();
    for _ in 0..COUNT / 10 {
        let bits = random.next_u64().cast_signed() % Fx::PI.to_bits();
        let angle = Fx::from_bits(bits);
        let found = (FxVec2::X * Fx::from_num(1000)).rotate(angle).angle();
        assert!((found - angle).to_bits().abs() <= SMALL, "{angle} came back as {found}");
    }
    assert_eq!(atan2(Fx::ZERO, Fx::ZERO), 0);
}

#[test]
fn vectors_saturate_at_the_ends_of_the_range() -> Outcome {
    let far = FxVec2::new(Fx::MAX, Fx::MIN);
    assert_eq!(far + far, far);
    assert_eq!(far - FxVec2::new(Fx::MIN, Fx::MAX), far);
    assert_eq!(far * Fx::from_num(2), far);
    assert_eq!(-far, FxVec2::new(-Fx::MAX, Fx::MAX));
    assert_eq!(far.length(), Fx::MAX);
    assert_eq!(far.dot(far), Fx::MAX);
    assert_eq!(far.distance(-far), Fx::MAX);
    assert!(far.normalise().ok_or("it has a length")?.length() <= Fx::ONE);
    Ok(())
}

#[test]
fn bare_numbers_overflow_as_the_build_says() {
    let sum = std::panic::catch_unwind(|| Fx::MAX + std::hint::black_box(Fx::ONE));
    assert_eq!(sum.is_err(), cfg!(debug_assertions), "panics with `overflow-checks`, wraps without: {sum:?}");
}

#[test]
fn vectors_are_canonical_by_their_raw_bits() -> Outcome {
    let vector = FxVec2::new(Fx::from_bits(1), Fx::from_bits(-2));
    let bytes = encode_to_vec(&vector);
    assert_eq!(bytes, [1_i64.to_le_bytes(), (-2_i64).to_le_bytes()].concat());
    assert_eq!(decode_from_slice::<FxVec2>(&bytes)?, vector);
    assert_eq!(FxVec2::schema().to_string(), "FxVec2 { x: I32F32, y: I32F32 }");
    Ok(())
}

#[test]
fn functions_give_the_same_bits_for_ever() -> Outcome {
    let third = Fx::ONE / 3;
    let (sin, cos) = sin_cos(third);
    let turned = FxVec2::from_ints(3, -5).rotate(third);
    let found = [sqrt(third)?, sin, cos, atan2(third, -third), turned.x, turned.y, turned.length()];
    assert_eq!(found.map(Fx::to_bits), BITS);
    Ok(())
}

const BITS: [i64; 7] =
    [2_479_700_524, 1_405_290_522, 4_058_559_181, 10_119_778_278, 19_202_130_153, -16_076_924_339, 25_043_747_695];
