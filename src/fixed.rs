//! Fixed-point numbers: arithmetic that is the same on every machine and in every build.
//!
//! The types are those of the `fixed` crate, the functions those of `fixed_analytics`; both use integers
//! alone. [`sqrt`] is rounded to the nearest number, [`sin_cos`] and [`atan2`] are within one unit in the last place.
//! Numbers are authoritative state by their raw bits.
//!
//! # Overflow
//!
//! [`FxVec2`] and the functions here *saturate*: a result that is too large is the largest there is, in debug and
//! release builds alike. The operators of a bare [`Fx`] do not: they panic where `overflow-checks` are on (debug
//! builds) and wrap where they are off. Where a sum or product may overflow, say what is wanted:
//! `a.saturating_add(b)`, `a.wrapping_mul(b)`, `a.checked_div(b)`.
//!
//! # Examples
//!
//! ```
//! use bevy_replay::fixed::{Fx, FxVec2, atan2, sin_cos};
//! let target = FxVec2::new(Fx::from_num(3), Fx::from_num(4));
//! assert_eq!(target.length(), 5);
//! let (sin, cos) = sin_cos(atan2(target.y, target.x));
//! assert!((sin - Fx::from_num(0.8)).abs() < Fx::from_num(0.000_001));
//! assert!((cos - Fx::from_num(0.6)).abs() < Fx::from_num(0.000_001));
//! ```

use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_replay_tape::Canonical;
use core::fmt;
use core::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};
use serde::{Deserialize, Serialize};

pub use ::fixed::{traits, types};
pub use fixed_analytics::{atan2, cos, hypot, mul_div, sin, sin_cos, sqrt};

/// The number most games need: 32 bits before the point, 32 behind it. Range ±2^31, step 2^-32.
pub type Fx = types::I32F32;

/// A vector of two fixed-point numbers. Its arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Canonical, Serialize, Deserialize, Reflect)]
#[reflect(opaque)]
#[reflect(Default, Debug, PartialEq, Hash, Clone)]
pub struct FxVec2 {
    /// To the right.
    pub x: Fx,
    /// Up.
    pub y: Fx,
}

impl FxVec2 {
    /// No length.
    pub const ZERO: Self = Self { x: Fx::ZERO, y: Fx::ZERO };
    /// One to the right.
    pub const X: Self = Self { x: Fx::ONE, y: Fx::ZERO };
    /// One up.
    pub const Y: Self = Self { x: Fx::ZERO, y: Fx::ONE };

    /// Makes a vector.
    #[must_use]
    pub const fn new(x: Fx, y: Fx) -> Self {
        Self { x, y }
    }

    /// Makes a vector of whole numbers.
    #[must_use]
    pub fn from_ints(x: i32, y: i32) -> Self {
        Self { x: Fx::from_num(x), y: Fx::from_num(y) }
    }

    /// Returns the length, rounded once: no square on the way can overflow.
    #[must_use]
    pub fn length(self) -> Fx {
        hypot(self.x, self.y)
    }

    /// Returns the distance between two points.
    #[must_use]
    pub fn distance(self, other: Self) -> Fx {
        (self - other).length()
    }

    /// Returns the vector of length 1 in this direction; `None` for the vector without length.
    #[must_use]
    pub fn normalise(self) -> Option<Self> {
        let [x, y] = fixed_analytics::normalize([self.x, self.y]).ok()?;
        Some(Self { x, y })
    }

    /// Returns `x·x' + y·y'`, exact and rounded once.
    #[must_use]
    pub fn dot(self, other: Self) -> Fx {
        fixed_analytics::dot(&[self.x, self.y], &[other.x, other.y])
    }

    /// Returns the vector turned to the left by an angle in radians.
    #[must_use]
    pub fn rotate(self, angle: Fx) -> Self {
        let (sin, cos) = sin_cos(angle);
        let (along, across) = (Self { x: cos, y: -sin }, Self { x: sin, y: cos });
        Self { x: self.dot(along), y: self.dot(across) }
    }

    /// Returns the angle to the x axis in radians, from -π to π; 0 for the vector without length.
    #[must_use]
    pub fn angle(self) -> Fx {
        atan2(self.y, self.x)
    }
}

impl Add for FxVec2 {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { x: self.x.saturating_add(other.x), y: self.y.saturating_add(other.y) }
    }
}

impl Sub for FxVec2 {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { x: self.x.saturating_sub(other.x), y: self.y.saturating_sub(other.y) }
    }
}

impl Mul<Fx> for FxVec2 {
    type Output = Self;
    fn mul(self, factor: Fx) -> Self {
        Self { x: self.x.saturating_mul(factor), y: self.y.saturating_mul(factor) }
    }
}

impl Neg for FxVec2 {
    type Output = Self;
    fn neg(self) -> Self {
        Self { x: self.x.saturating_neg(), y: self.y.saturating_neg() }
    }
}

impl AddAssign for FxVec2 {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for FxVec2 {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl fmt::Display for FxVec2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}
