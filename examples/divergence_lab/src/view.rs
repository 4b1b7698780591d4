//! Shows the garden, what is selected in the inspector, and which faults are on. It reads the game's state only.

use crate::faults::{Faults, PLANTED};
use crate::game::{Creature, Egg, Flame, GARDEN, Kind, Lantern, Nectar};
use bevy::asset::RenderAssetUsages;
use bevy::math::FloatPow;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use bevy_egui::egui::{Align2, Area, Color32, FontId, Frame, Grid, Id, LayerId, Pos2, RichText, Stroke};
use bevy_egui::{EguiContexts, EguiPrimaryContextPass};
use bevy_replay::{Inspector, InspectorSelection};

const NIGHT: Color = Color::srgb(0.035, 0.05, 0.09);
const LAWN: Color = Color::srgb(0.07, 0.12, 0.12);
const MOTH: Color = Color::srgb(0.93, 0.88, 0.72);
const BEETLE: Color = Color::srgb(0.25, 0.66, 0.58);
const BAT: Color = Color::srgb(0.72, 0.45, 0.82);
const NECTAR: Color = Color::srgb(1.0, 0.55, 0.35);
const EGG: Color = Color::srgb(0.78, 0.86, 0.98);
const LIGHT: Color = Color::srgb(1.0, 0.80, 0.42);
const RING: Color32 = Color32::from_rgb(0xF0, 0xE4, 0x42);

/// Room of the legend, in pixels.
const LEGEND: Vec2 = Vec2::new(480.0, 180.0);

/// White shapes, tinted by sprites.
#[derive(Resource)]
struct Shapes {
    disc: Handle<Image>,
    /// Points to the right.
    wing: Handle<Image>,
    glow: Handle<Image>,
}

/// The light of the lantern.
#[derive(Component)]
struct Glow;

pub struct ViewPlugin;

impl Plugin for ViewPlugin {
    fn build(&self, app: &mut App) {
        let mut images = app.world_mut().resource_mut::<Assets<Image>>();
        let shapes = Shapes {
            disc: images.add(shape(|at| (1.0 - at.length()) * 16.0)),
            wing: images.add(shape(|at| {
                let Vec2 { x, y } = at.with_y(at.y.abs());
                (0.9 - x - y * 1.9).min(x + 0.9 - (0.5 - y * 0.5)) * 14.0
            })),
            glow: images.add(shape(|at| (1.0 - at.length()).max(0.0).squared())),
        };
        app.insert_resource(ClearColor(NIGHT)).insert_resource(shapes);
        app.add_observer(show_creature).add_observer(show_nectar).add_observer(show_egg);
        app.add_systems(Startup, show_garden);
        app.add_systems(Update, (carry_light, fit_garden));
        app.add_systems(EguiPrimaryContextPass, (show_selected, show_faults));
    }
}

/// A picture from how opaque each point is; both coordinates are from -1 to 1.
fn shape(opacity: impl Fn(Vec2) -> f32) -> Image {
    const SIDE: u32 = 64;
    let place = |index: u32| (index as f32 + 0.5) / (SIDE as f32 / 2.0) - 1.0;
    let alpha = |index: u32| opacity(Vec2::new(place(index % SIDE), place(index / SIDE))).clamp(0.0, 1.0);
    let data = (0..SIDE * SIDE).flat_map(|index| [255, 255, 255, (alpha(index) * 255.0) as u8]).collect();
    let size = Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 };
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::RENDER_WORLD)
}

fn sprite(image: &Handle<Image>, color: Color, size: Vec2) -> Sprite {
    Sprite { image: image.clone(), color, custom_size: Some(size), ..Sprite::default() }
}

fn show_garden(shapes: Res<Shapes>, mut commands: Commands) {
    commands.spawn(Camera2d);
    commands.spawn(Sprite::from_color(LAWN, GARDEN * 2.0 + 16.0));
    let glow = sprite(&shapes.glow, LIGHT.with_alpha(0.5), Vec2::splat(300.0));
    commands.spawn((Glow, glow, Transform::from_xyz(0.0, 0.0, 0.5))).with_children(|glow| {
        glow.spawn((sprite(&shapes.disc, LIGHT, Vec2::splat(14.0)), Transform::from_xyz(0.0, 0.0, 0.1)));
    });
}

fn show_creature(added: On<Add<Creature>>, creatures: Query<&Creature>, shapes: Res<Shapes>, mut commands: Commands) {
    let Ok(creature) = creatures.get(added.entity) else { return };
    commands.entity(added.entity).insert(match creature.kind {
        Kind::Moth => sprite(&shapes.wing, MOTH, Vec2::new(14.0, 18.0)),
        Kind::Beetle => sprite(&shapes.disc, BEETLE, Vec2::new(20.0, 13.0)),
        Kind::Bat => sprite(&shapes.wing, BAT, Vec2::new(26.0, 48.0)),
    });
}

fn show_nectar(added: On<Add<Nectar>>, shapes: Res<Shapes>, mut commands: Commands) {
    commands.entity(added.entity).insert(sprite(&shapes.disc, NECTAR, Vec2::splat(9.0)));
}

fn show_egg(added: On<Add<Egg>>, shapes: Res<Shapes>, mut commands: Commands) {
    commands.entity(added.entity).insert(sprite(&shapes.disc, EGG, Vec2::new(11.0, 15.0)));
}

fn carry_light(lantern: Res<Lantern>, flame: Res<Flame>, mut glow: Single<&mut Transform, With<Glow>>) {
    glow.translation = Vec3::new(lantern.x.into(), lantern.y.into(), glow.translation.z);
    glow.scale = Vec3::splat(0.9 + flame.0 * 0.1);
}

/// What is left of the window for the garden: all below the legend, or what the inspector leaves free beside it.
fn free_room(window: Vec2, is_inspector_open: bool) -> Rect {
    let room = if is_inspector_open {
        Rect::new(LEGEND.x, 0.0, window.x, window.y * 0.37)
    } else {
        Rect::new(0.0, LEGEND.y, window.x, window.y)
    };
    room.inflate(-8.0)
}

/// Moves the camera so that the garden fills what is left of the window.
fn fit_garden(
    window: Option<Single<&Window>>,
    inspector: Res<Inspector>,
    mut camera: Single<(&mut Transform, &mut Projection), With<Camera>>,
) {
    let Some(window) = window else { return };
    let room = free_room(window.size(), inspector.is_open());
    let units_per_pixel = (GARDEN * 2.0 / room.size().max(Vec2::ONE)).max_element();
    let aside = (room.center() - window.size() / 2.0) * units_per_pixel;
    let (transform, projection) = &mut *camera;
    transform.translation = Vec3::new(-aside.x, aside.y, transform.translation.z);
    if let Projection::Orthographic(projection) = &mut **projection {
        projection.scale = units_per_pixel;
    }
}

/// A ring and a label on the entity that is selected in the inspector.
fn show_selected(
    mut contexts: EguiContexts,
    selection: Res<InspectorSelection>,
    bodies: Query<(&GlobalTransform, Option<&Name>)>,
    camera: Single<(&Camera, &GlobalTransform)>,
) {
    let Ok(context) = contexts.ctx_mut() else { return }; // no window yet, or no more
    let Some((id, (place, name))) = selection.sim_id.zip(selection.entity.and_then(|found| bodies.get(found).ok()))
    else {
        return;
    };
    let (camera, eye) = *camera;
    let Ok(at) = camera.world_to_viewport(eye, place.translation()) else { return };
    let (at, painter) = (Pos2::new(at.x, at.y), context.layer_painter(LayerId::background()));
    painter.circle_stroke(at, 15.0, Stroke::new(4.0, Color32::from_black_alpha(180)));
    painter.circle_stroke(at, 15.0, Stroke::new(2.0, RING));
    let text = name.map_or_else(|| format!("sim:{id}"), |name| format!("sim:{id} \"{name}\""));
    let galley = painter.layout_no_wrap(text, FontId::proportional(14.0), RING);
    let to_the_left = at.x + 24.0 + galley.size().x > context.content_rect().right();
    let corner =
        Pos2::new(if to_the_left { at.x - 24.0 - galley.size().x } else { at.x + 24.0 }, at.y - galley.size().y / 2.0);
    let behind = bevy_egui::egui::Rect::from_min_size(corner, galley.size()).expand2([6.0, 3.0].into());
    painter.rect_filled(behind, 4.0, Color32::from_black_alpha(200));
    painter.galley(corner, galley, RING);
}

fn show_faults(mut contexts: EguiContexts, faults: Res<Faults>) {
    let Ok(context) = contexts.ctx_mut() else { return };
    let frame = Frame::new().fill(Color32::from_black_alpha(190)).inner_margin(8_i8).corner_radius(6_u8);
    Area::new(Id::new("faults")).anchor(Align2::LEFT_TOP, [8.0, 8.0]).interactable(false).show(context, |ui| {
        frame.show(ui, |ui| {
            Grid::new("legend").spacing([10.0, 2.0]).show(ui, |ui| {
                for (key, planted) in (1..).zip(&PLANTED) {
                    let is_on = faults.is_on(planted.fault);
                    let color = if is_on { RING } else { Color32::from_gray(170) };
                    let cell = |text: String| RichText::new(text).size(12.0).color(color);
                    ui.label(cell(key.to_string()).strong());
                    ui.label(cell(planted.name.into()).strong());
                    ui.label(cell(planted.about.replace('`', "")));
                    ui.label(cell(if is_on { "ON".into() } else { String::new() }).strong());
                    ui.end_row();
                }
            });
            ui.add_space(6.0);
            let keys = "1–7 switch a fault and play the tape   R play again   F12 inspector";
            ui.label(RichText::new(keys).size(12.0).color(Color32::WHITE));
        });
    });
}
