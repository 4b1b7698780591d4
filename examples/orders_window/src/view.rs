//! Shows the game between two ticks. It reads what is in the air and [`Order`], and writes neither.
//!
//! Nothing here reads a plan: what is not in the air yet cannot be seen.

use crate::game::{Flight, Order, Rules, Stroke, Thrown};
use crate::menu::Stage;
use crate::pictures::{Pictures, SIDE, WHITE, YELLOW, color, describe};
use crate::places::{PICTURE, RADIUS_POINTS, Screen, to_world};
use crate::pointer::Pointer;
use bevy::camera::ScalingMode;
use bevy::math::ops;
use bevy::prelude::*;
use bevy_egui::egui::{self, Color32, FontId, LayerId, Pos2, Shape};
use bevy_egui::{EguiContexts, EguiPrimaryContextPass};
use bevy_replay::EventClass;
use bevy_replay::prelude::*;
use core::f32::consts::TAU;

/// Height of the counter, in points.
pub(crate) const COUNTER: f32 = 116.0;
/// For how long the blade's trail is seen, in seconds.
const TRAIL_SECONDS: f32 = 0.3;
/// Half the width of the trail where it is new, in points.
const TRAIL_WIDTH: f32 = 5.0;

/// Where an entity was after the last two ticks; frames show what lies between.
#[derive(Component)]
struct Seen {
    before: Vec2,
    now: Vec2,
}

/// Something that flies off, and fades.
#[derive(Component)]
struct Splinter {
    /// In points per second.
    speed: Vec2,
    /// In radians per second.
    spin: f32,
    /// By so much of its size it grows in a second.
    growth: f32,
    /// In seconds.
    left: f32,
    lasts: f32,
}

/// A word that rises from the counter: what fell uncut.
#[derive(Component)]
struct Word {
    text: String,
    at: Vec2,
    /// In seconds.
    left: f32,
}

/// The blade's way, with the age of each part in seconds.
#[derive(Resource, Default)]
struct Trail(Vec<(Stroke, f32)>);

pub(crate) struct ViewPlugin;

impl Plugin for ViewPlugin {
    fn build(&self, app: &mut App) {
        let pictures = Pictures::draw(&mut app.world_mut().resource_mut::<Assets<Image>>());
        app.insert_resource(pictures).init_resource::<Trail>();
        app.insert_resource(ClearColor(Color::BLACK)).presentation::<Seen>();
        app.add_observer(show_thing).add_observer(show_end_of_thing);
        app.add_systems(Startup, show_stall);
        app.add_systems(FixedPostUpdate, (remember, show_recorded_blade));
        app.add_systems(Update, (interpolate, fly_off, age_trail));
        app.add_systems(EguiPrimaryContextPass, (draw_trail, draw_bluntness, draw_words));
    }
}

fn sprite(image: &Handle<Image>, tint: Color, size: Vec2) -> Sprite {
    Sprite { image: image.clone(), color: tint, custom_size: Some(size), ..Sprite::default() }
}

/// A picture's frame is a little larger than what is cut.
pub(crate) fn size_of_thing() -> Vec2 {
    Vec2::splat(2.0 * RADIUS_POINTS)
}

fn show_stall(pictures: Res<Pictures>, mut commands: Commands) {
    let scaling_mode = ScalingMode::AutoMin { min_width: PICTURE.x, min_height: PICTURE.y };
    let projection = OrthographicProjection { scaling_mode, ..OrthographicProjection::default_2d() };
    commands.spawn((Camera2d, Projection::from(projection)));
    // Wider and higher than any window.
    commands.spawn(sprite(&pictures.evening, Color::WHITE, Vec2::new(PICTURE.x * 4.0, PICTURE.y)));
    for star in 0..60_u8 {
        // Each as far from those before it as can be: the sequence of Roberts.
        let spread = (f32::from(star) * Vec2::new(0.754_877_7, 0.569_840_3)).fract() - 0.5;
        let at = spread * Vec2::new(PICTURE.x, PICTURE.y * 0.6) + Vec2::Y * PICTURE.y * 0.2;
        let (light, size) = (0.15 + 0.4 * f32::from(star % 5) / 5.0, 2.0 + f32::from(star % 3));
        let picture = sprite(&pictures.drop, Color::WHITE.with_alpha(light), Vec2::splat(size));
        commands.spawn((picture, Transform::from_translation(at.extend(0.1))));
    }
    let counter = sprite(&pictures.counter, Color::WHITE, Vec2::new(PICTURE.x, COUNTER));
    for part in -2..=2 {
        let at = Vec3::new(part as f32 * PICTURE.x, (COUNTER - PICTURE.y) / 2.0, 5.0);
        commands.spawn((counter.clone(), Transform::from_translation(at)));
    }
}

/// What is on the order is bright, and has a ring.
fn show_thing(
    added: On<Add<Thrown>>,
    things: Query<(&Thrown, &Flight)>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    let Ok((thrown, flight)) = things.get(added.entity) else { return };
    let at = to_world(flight.at);
    let tint = if thrown.class == EventClass::Extra { Color::srgb(0.55, 0.58, 0.66) } else { Color::WHITE };
    let picture = sprite(pictures.of(&thrown.what), tint, size_of_thing());
    let mut thing = commands.entity(added.entity);
    thing.insert((Seen { before: at, now: at }, picture, Transform::from_translation(at.extend(1.0))));
    if thrown.class == EventClass::Required {
        let ring = sprite(&pictures.ring, color(WHITE), size_of_thing() * 1.14);
        thing.with_children(|thing| {
            thing.spawn((ring, Transform::from_xyz(0.0, 0.0, 0.1)));
        });
    }
}

/// Two halves and juice, or where it fell what was missed.
fn show_end_of_thing(
    removed: On<Remove<Thrown>>,
    things: Query<(&Thrown, &Flight)>,
    order: Res<Order>,
    rules: Res<Rules>,
    trail: Res<Trail>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    let Ok((thrown, flight)) = things.get(removed.entity) else { return };
    let at = to_world(flight.at);
    let (name, juice) = describe(&thrown.what);
    if flight.at.y < 0 {
        if thrown.class == EventClass::Required {
            let at = Vec2::new(at.x, COUNTER - PICTURE.y / 2.0 + 24.0);
            commands.spawn(Word { text: format!("missed: {name}"), at, left: 1.4 });
        }
        return;
    }
    if order.blunt != rules.cooldown {
        return; // not cut: the mission has ended
    }
    let way = trail.0.last().map_or(Vec2::X, |(Stroke { from, to }, _)| to_world(*to) - to_world(*from));
    let along = Vec2::from_angle(way.to_angle());
    for side in [-1.0, 1.0] {
        let (middle, side_pixels) = (SIDE as f32 / 2.0, SIDE as f32);
        let half = if side > 0.0 { (0.0, middle) } else { (middle, side_pixels) };
        let rect = Rect::new(0.0, half.0, side_pixels, half.1);
        let size = size_of_thing() * Vec2::new(1.0, 0.5);
        let picture = Sprite { rect: Some(rect), ..sprite(pictures.of(&thrown.what), Color::WHITE, size) };
        let across = along.perp() * side;
        let place = (at + across * size.y / 2.0).extend(2.0);
        let speed = across * 130.0 + along * 60.0;
        commands.spawn((
            Splinter { speed, spin: side * 2.5, growth: 0.0, left: 0.8, lasts: 0.8 },
            picture,
            Transform::from_translation(place).with_rotation(Quat::from_rotation_z(along.to_angle())),
        ));
    }
    for drop in 0..10_u8 {
        let turn = Vec2::from_angle(f32::from(drop) / 10.0 * TAU + 0.3);
        let speed = turn * (150.0 + 40.0 * f32::from(drop % 3)) + along * 80.0;
        let size = Vec2::splat(7.0 + 3.0 * f32::from(drop % 4));
        commands.spawn((
            Splinter { speed, spin: 0.0, growth: -0.8, left: 0.6, lasts: 0.6 },
            sprite(&pictures.drop, color(juice), size),
            Transform::from_translation(at.extend(1.9)),
        ));
    }
    if thrown.class == EventClass::Risk {
        commands.spawn((
            Splinter { speed: Vec2::ZERO, spin: 0.0, growth: 14.0, left: 0.5, lasts: 0.5 },
            sprite(&pictures.ring, color(YELLOW), size_of_thing()),
            Transform::from_translation(at.extend(3.0)),
        ));
        commands.spawn(Word { text: "bomb!".into(), at, left: 1.4 });
    }
}

/// After each tick: what was now is before.
fn remember(mut things: Query<(&Flight, &mut Seen)>) {
    for (flight, mut seen) in &mut things {
        *seen = Seen { before: seen.now, now: to_world(flight.at) };
    }
}

fn interpolate(time: Res<Time<Fixed>>, mut seen: Query<(&Seen, &mut Transform)>) {
    for (seen, mut transform) in &mut seen {
        let at = seen.before.lerp(seen.now, time.overstep_fraction());
        transform.translation = at.extend(transform.translation.z);
    }
}

fn fly_off(
    time: Res<Time>,
    mut splinters: Query<(Entity, &mut Splinter, &mut Transform, &mut Sprite)>,
    mut words: Query<(Entity, &mut Word)>,
    mut commands: Commands,
) {
    let seconds = time.delta_secs();
    for (entity, mut splinter, mut transform, mut sprite) in &mut splinters {
        splinter.left -= seconds;
        if splinter.left <= 0.0 {
            commands.entity(entity).despawn();
            continue;
        }
        splinter.speed.y -= 420.0 * seconds * f32::from(u8::from(splinter.speed != Vec2::ZERO));
        transform.translation += (splinter.speed * seconds).extend(0.0);
        transform.rotate_z(splinter.spin * seconds);
        transform.scale += Vec3::splat(splinter.growth * seconds);
        sprite.color.set_alpha(splinter.left / splinter.lasts);
    }
    for (entity, mut word) in &mut words {
        word.left -= seconds;
        word.at.y += 30.0 * seconds;
        if word.left <= 0.0 {
            commands.entity(entity).despawn();
        }
    }
}

/// While a tape is played its blade is seen, not the player's.
fn show_recorded_blade(blade: Res<crate::game::Blade>, deck: Res<Deck>, mut trail: ResMut<Trail>) {
    if deck.is_replaying() {
        trail.0.extend(blade.strokes.iter().map(|stroke| (*stroke, 0.0)));
    }
}

fn age_trail(time: Res<Time>, pointer: Res<Pointer>, mut trail: ResMut<Trail>) {
    for (_, age) in &mut trail.0 {
        *age += time.delta_secs();
    }
    trail.0.retain(|(_, age)| *age < TRAIL_SECONDS);
    trail.0.extend(pointer.strokes.iter().map(|stroke| (*stroke, 0.0)));
}

/// Something to paint with below the texts, and where on the screen.
fn painter(
    contexts: &mut EguiContexts,
    window: Option<Single<&Window>>,
) -> Option<(egui::Painter, Screen, impl Fn(Vec2) -> Pos2 + use<>)> {
    let window = window?;
    let screen = Screen::of(&window);
    let context = contexts.ctx_mut().ok()?; // no window yet, or no more
    let place = move |at: Vec2| {
        let Vec2 { x, y } = screen.to_window(at);
        Pos2::new(x, y)
    };
    Some((context.layer_painter(LayerId::background()), screen, place))
}

fn draw_trail(mut contexts: EguiContexts, window: Option<Single<&Window>>, trail: Res<Trail>, order: Res<Order>) {
    let Some((painter, screen, place)) = painter(&mut contexts, window) else { return };
    let tint = if order.blunt > 0 { Color32::from_rgb(150, 155, 170) } else { Color32::from_rgb(235, 245, 255) };
    for (Stroke { from, to }, age) in &trail.0 {
        let young = 1.0 - age / TRAIL_SECONDS;
        let width = 2.0 * TRAIL_WIDTH * young * screen.scale;
        let (from, to) = (place(to_world(*from)), place(to_world(*to)));
        painter.line_segment([from, to], (width, tint.gamma_multiply(young)));
        painter.circle_filled(to, width / 2.0, tint.gamma_multiply(young));
    }
}

/// A ring around the pointer that closes until the blade is sharp.
fn draw_bluntness(
    mut contexts: EguiContexts,
    window: Option<Single<&Window>>,
    pointer: Res<Pointer>,
    order: Res<Order>,
    rules: Res<Rules>,
) {
    let Some((painter, screen, place)) = painter(&mut contexts, window) else { return };
    let Some(cursor) = pointer.cursor.filter(|_| order.blunt > 0 && Stage::of(&order) == Stage::Playing) else {
        return;
    };
    let (middle, radius) = (screen.to_world(cursor), 20.0);
    let sharp = 1.0 - order.blunt as f32 / rules.cooldown.max(1) as f32;
    painter.circle_stroke(place(middle), radius * screen.scale, (5.0, Color32::from_black_alpha(150)));
    let point = |part: u8| {
        let turn = TAU * (0.25 - sharp * f32::from(part) / 32.0);
        place(middle + radius * Vec2::new(ops::cos(turn), ops::sin(turn)))
    };
    painter.add(Shape::line((0..=32).map(point).collect(), egui::Stroke::new(3.0, Color32::WHITE)));
    let font = FontId::proportional(14.0 * screen.scale);
    let below = place(middle - Vec2::Y * (radius + 14.0));
    painter.text(below, egui::Align2::CENTER_CENTER, "blunt", font, Color32::WHITE);
}

fn draw_words(mut contexts: EguiContexts, window: Option<Single<&Window>>, words: Query<&Word>) {
    let Some((painter, screen, place)) = painter(&mut contexts, window) else { return };
    let font = FontId::proportional(24.0 * screen.scale);
    for word in &words {
        let tint = Color32::from_rgb(0xF0, 0xE4, 0x42).gamma_multiply(word.left.clamp(0.0, 1.0));
        painter.text(place(word.at), egui::Align2::CENTER_CENTER, &word.text, font.clone(), tint);
    }
}
