//! Where things of the game are in the window. The picture is 1280 by 720 points, and is enlarged to fit.

use crate::game::{COLUMN_WIDTH, COLUMNS, Point, RADIUS};
use bevy::prelude::*;

/// Size of the picture, in points. The world has its zero in the middle.
pub(crate) const PICTURE: Vec2 = Vec2::new(1280.0, 720.0);
/// How many points a thousand of the game's units are.
pub(crate) const POINTS: f32 = 1.5;
/// Things are cut where the blade comes so near, in points.
pub(crate) const RADIUS_POINTS: f32 = RADIUS as f32 / 1000.0 * POINTS;
/// Height above the middle of the picture from which things are thrown.
const GROUND: f32 = -264.0;
/// Half the way from the first column to the last.
const MIDDLE: f32 = (COLUMNS as i32 - 1) as f32 * COLUMN_WIDTH as f32 / 2.0;

/// From the game to the world.
pub(crate) fn to_world(Point { x, y }: Point) -> Vec2 {
    Vec2::new(x as f32 - MIDDLE, y as f32) / 1000.0 * POINTS + Vec2::Y * GROUND
}

/// From the world to the game.
pub(crate) fn to_game(at: Vec2) -> Point {
    let Vec2 { x, y } = ((at - Vec2::Y * GROUND) * 1000.0 / POINTS + Vec2::X * MIDDLE).round();
    Point { x: x as i32, y: y as i32 }
}

/// The picture in a window of some size, as `ScalingMode::AutoMin` shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    size: Vec2,
    /// Pixels of the window for each point.
    pub(crate) scale: f32,
}

impl Screen {
    pub(crate) fn of(window: &Window) -> Self {
        let size = window.size();
        Self { size, scale: (size / PICTURE).min_element().max(f32::EPSILON) }
    }

    /// From the world to pixels from the upper left.
    pub(crate) fn to_window(self, at: Vec2) -> Vec2 {
        self.size / 2.0 + at * Vec2::new(1.0, -1.0) * self.scale
    }

    /// From pixels from the upper left to the world.
    pub(crate) fn to_world(self, at: Vec2) -> Vec2 {
        (at - self.size / 2.0) / self.scale * Vec2::new(1.0, -1.0)
    }
}
