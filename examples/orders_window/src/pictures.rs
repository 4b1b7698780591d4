//! The pictures of the game, drawn by formula when it starts. Colours are those of Okabe and Ito, which most people with
//! colour blindness can tell apart; whatever must be told apart differs in shape, too.

use crate::game::Throw;
use bevy::asset::RenderAssetUsages;
use bevy::math::{FloatPow, ops};
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use core::f32::consts::TAU;

/// Side of a picture, in pixels.
pub(crate) const SIDE: u32 = 128;

pub(crate) const WHITE: Vec3 = Vec3::ONE;
const BLACK: Vec3 = Vec3::new(0.06, 0.06, 0.09);
const BARK: Vec3 = Vec3::new(0.36, 0.22, 0.12);
const ORANGE: Vec3 = Vec3::new(0.90, 0.62, 0.00);
pub(crate) const YELLOW: Vec3 = Vec3::new(0.94, 0.89, 0.26);
const GREEN: Vec3 = Vec3::new(0.00, 0.62, 0.45);
const VERMILION: Vec3 = Vec3::new(0.84, 0.37, 0.00);
const PURPLE: Vec3 = Vec3::new(0.80, 0.47, 0.65);

/// A colour, and how much of what is below it is covered.
type Layer = (Vec3, f32);

/// The pictures.
#[derive(Resource)]
pub(crate) struct Pictures {
    apple: Handle<Image>,
    pear: Handle<Image>,
    lemon: Handle<Image>,
    melon: Handle<Image>,
    plum: Handle<Image>,
    bomb: Handle<Image>,
    /// Around what is on the order.
    pub(crate) ring: Handle<Image>,
    /// A drop of juice.
    pub(crate) drop: Handle<Image>,
    pub(crate) evening: Handle<Image>,
    pub(crate) counter: Handle<Image>,
}

impl Pictures {
    pub(crate) fn draw(images: &mut Assets<Image>) -> Self {
        Self {
            apple: images.add(picture(apple)),
            pear: images.add(picture(pear)),
            lemon: images.add(picture(lemon)),
            melon: images.add(picture(melon)),
            plum: images.add(picture(plum)),
            bomb: images.add(picture(bomb)),
            ring: images.add(picture(|at| [(WHITE, cover(0.045 - (at.length() - 0.93).abs()))])),
            drop: images.add(picture(|at| [(WHITE, cover(0.9 - at.length()))])),
            evening: images.add(picture(evening)),
            counter: images.add(picture(counter)),
        }
    }

    pub(crate) fn of(&self, what: &Throw) -> &Handle<Image> {
        match what {
            Throw::Apple { .. } => &self.apple,
            Throw::Pear { .. } => &self.pear,
            Throw::Lemon { .. } => &self.lemon,
            Throw::Melon { .. } => &self.melon,
            Throw::Plum { .. } => &self.plum,
            Throw::Bomb { .. } => &self.bomb,
        }
    }
}

/// What a thing is called, and the colour of its juice.
pub(crate) fn describe(what: &Throw) -> (&'static str, Vec3) {
    match what {
        Throw::Apple { .. } => ("apple", VERMILION),
        Throw::Pear { .. } => ("pear", GREEN),
        Throw::Lemon { .. } => ("lemon", YELLOW),
        Throw::Melon { .. } => ("melon", ORANGE),
        Throw::Plum { .. } => ("plum", PURPLE),
        Throw::Bomb { .. } => ("bomb", WHITE),
    }
}

pub(crate) fn color(Vec3 { x, y, z }: Vec3) -> Color {
    Color::srgb(x, y, z)
}

/// A picture from the layers over each point, the lowest first; both coordinates are from -1 to 1, up is positive.
fn picture<const N: usize>(layers: impl Fn(Vec2) -> [Layer; N]) -> Image {
    let place = |index: u32| (index as f32 + 0.5) / (SIDE as f32 / 2.0) - 1.0;
    let pixel = |index: u32| {
        let at = Vec2::new(place(index % SIDE), -place(index / SIDE));
        let layers = layers(at);
        // What cannot be seen has the colour of the edge, which is blurred with it.
        let mut seen = layers.first().map_or(Vec4::ZERO, |(color, _)| color.extend(0.0));
        for (color, cover) in layers {
            // Of what is there so far, as much stays as is not covered.
            let alpha = cover + seen.w * (1.0 - cover);
            let mixed = seen.truncate().lerp(color, if alpha > 0.0 { cover / alpha } else { 0.0 });
            seen = mixed.extend(alpha);
        }
        (seen * 255.0).round().to_array().map(|channel| channel as u8)
    };
    let data = (0..SIDE * SIDE).flat_map(pixel).collect();
    let size = Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 };
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::RENDER_WORLD)
}

/// How much of a pixel is covered by a shape whose border is so far away; inside is positive.
fn cover(inside: f32) -> f32 {
    (inside * SIDE as f32 / 2.0 + 0.5).clamp(0.0, 1.0)
}

fn circle(at: Vec2, middle: Vec2, radius: f32) -> f32 {
    radius - at.distance(middle)
}

fn ellipse(at: Vec2, axes: Vec2) -> f32 {
    (1.0 - (at / axes).length()) * axes.min_element()
}

/// A rod with round ends.
fn rod(at: Vec2, from: Vec2, to: Vec2, radius: f32) -> f32 {
    let way = to - from;
    let along = ((at - from).dot(way) / way.length_squared()).clamp(0.0, 1.0);
    radius - at.distance(from + way * along)
}

/// The part of two circles that both cover.
fn leaf(at: Vec2, middle: Vec2, turned: f32) -> f32 {
    let at = Vec2::from_angle(-turned).rotate(at - middle);
    circle(at, Vec2::new(0.0, 0.16), 0.26).min(circle(at, Vec2::new(0.0, -0.16), 0.26))
}

/// A body that is lit from the upper left, with a dark rim.
fn body(at: Vec2, inside: f32, color: Vec3) -> [Layer; 2] {
    let light = 1.0 + 0.22 * at.dot(Vec2::new(-0.6, 0.8));
    [(color * 0.52, cover(inside)), ((color * light).clamp(Vec3::ZERO, Vec3::ONE), cover(inside - 0.055))]
}

fn shine(at: Vec2, middle: Vec2) -> Layer {
    let at = Vec2::from_angle(-0.7).rotate(at - middle);
    (WHITE, cover(ellipse(at, Vec2::new(0.19, 0.11))) * 0.55)
}

fn apple(at: Vec2) -> [Layer; 5] {
    let lobe = |side: f32| circle(at, Vec2::new(side * 0.24, 0.06), 0.5);
    let foot = |side: f32| circle(at, Vec2::new(side * 0.14, -0.26), 0.44);
    let [rim, skin] = body(at, lobe(-1.0).max(lobe(1.0)).max(foot(-1.0)).max(foot(1.0)), VERMILION);
    let stem = (BARK, cover(rod(at, Vec2::new(0.0, 0.4), Vec2::new(0.06, 0.76), 0.05)));
    [rim, skin, shine(at, Vec2::new(-0.36, 0.24)), stem, (GREEN, cover(leaf(at, Vec2::new(0.28, 0.66), 0.35)))]
}

fn pear(at: Vec2) -> [Layer; 5] {
    let along = ((at.y + 0.28) / 0.62).clamp(0.0, 1.0);
    let radius = 0.54.lerp(0.27, along * along * (3.0 - 2.0 * along));
    let inside = radius - at.distance(Vec2::new(0.0, -0.28 + 0.62 * along));
    let [rim, skin] = body(at, inside, GREEN);
    let stem = (BARK, cover(rod(at, Vec2::new(0.0, 0.56), Vec2::new(-0.08, 0.8), 0.045)));
    let leaf = (GREEN * 0.7, cover(leaf(at, Vec2::new(0.2, 0.7), 0.5)));
    [rim, skin, shine(at, Vec2::new(-0.24, -0.06)), stem, leaf]
}

fn lemon(at: Vec2) -> [Layer; 4] {
    let turned = Vec2::from_angle(-0.35).rotate(at);
    let tips = rod(turned, Vec2::new(-0.72, 0.0), Vec2::new(0.72, 0.0), 0.12);
    let [rim, skin] = body(at, ellipse(turned, Vec2::new(0.72, 0.52)).max(tips), YELLOW);
    let leaf = (GREEN, cover(leaf(at, Vec2::new(0.52, 0.56), 0.9)));
    [rim, skin, shine(at, Vec2::new(-0.26, 0.14)), leaf]
}

fn melon(at: Vec2) -> [Layer; 4] {
    let inside = circle(at, Vec2::ZERO, 0.78);
    let [rim, skin] = body(at, inside, ORANGE);
    // Ribs run from pole to pole, nearer to each other at the sides.
    let turned = Vec2::from_angle(-0.5).rotate(at);
    let half_width = (0.78_f32.squared() - turned.y.squared()).max(0.01).sqrt();
    let around = ops::asin((turned.x / half_width).clamp(-1.0, 1.0));
    let rib = ops::cos(around * 5.0).abs();
    let pale = Vec3::new(0.98, 0.88, 0.62);
    let ribs = (pale, cover(inside - 0.055) * ((0.26 - rib) * 8.0).clamp(0.0, 1.0));
    [rim, skin, ribs, shine(at, Vec2::new(-0.32, 0.34))]
}

fn plum(at: Vec2) -> [Layer; 5] {
    let inside = ellipse(at, Vec2::new(0.58, 0.7));
    let [rim, skin] = body(at, inside, PURPLE);
    let seam = 0.025 - (at.distance(Vec2::new(-0.75, 0.1)) - 0.95).abs();
    let seam = (PURPLE * 0.6, cover(seam.min(inside - 0.055)));
    let leaf = (GREEN, cover(leaf(at, Vec2::new(0.2, 0.72), 0.3)));
    [rim, skin, seam, shine(at, Vec2::new(-0.24, 0.26)), leaf]
}

/// No fruit has corners: a star with eight spikes, a white outline, and a cross.
fn bomb(at: Vec2) -> [Layer; 4] {
    let spike = TAU / 8.0;
    let turned = (at.to_angle().rem_euclid(spike) - spike / 2.0).abs() / (spike / 2.0);
    let inside = (0.56.lerp(0.9, turned * turned) - at.length()) * 0.8;
    let cross = |turn: f32| {
        let at = at.rotate(Vec2::from_angle(turn));
        rod(at, Vec2::new(-0.26, 0.0), Vec2::new(0.26, 0.0), 0.07)
    };
    let cross = cross(TAU / 8.0).max(cross(-TAU / 8.0));
    [
        (WHITE, cover(inside)),
        (BLACK, cover(inside - 0.07)),
        (BLACK * 3.0, cover(circle(at, Vec2::ZERO, 0.44)) * 0.5),
        (WHITE, cover(cross)),
    ]
}

/// Night above, a last light below.
fn evening(at: Vec2) -> [Layer; 1] {
    let height = (at.y + 1.0) / 2.0;
    let (low, middle, high) = (Vec3::new(0.30, 0.24, 0.36), Vec3::new(0.13, 0.17, 0.32), Vec3::new(0.04, 0.06, 0.15));
    let color = if height < 0.45 { low.lerp(middle, height / 0.45) } else { middle.lerp(high, (height - 0.45) / 0.55) };
    [(color, 1.0)]
}

/// A market stall's counter, seen from the front: an edge, and planks.
fn counter(at: Vec2) -> [Layer; 3] {
    let plank = ((at.x + 1.0) * 8.0).fract();
    let grain = 0.9 + 0.1 * ((at.x + 1.0) * 8.0).floor().rem_euclid(3.0) / 2.0;
    let (wood, edge) = (Vec3::new(0.27, 0.17, 0.11), Vec3::new(0.55, 0.36, 0.20));
    let seam = if !(0.02..0.98).contains(&plank) { 0.7 } else { 0.0 };
    let above = f32::from(u8::from(at.y > 0.84));
    [(wood * grain, 1.0), (Vec3::new(0.14, 0.09, 0.06), seam), (edge, above)]
}
