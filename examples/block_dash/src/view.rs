//! Shows the game between two ticks. It reads the game's state and never writes it.

use crate::game::{BLOCK, COIN_SIZE, Coin, HEDGEHOG_SIZE, Hedgehog, LEVEL, PLAYER_SIZE, Player, Score, places};
use bevy::asset::RenderAssetUsages;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use bevy_egui::egui::{Align2, Area, Color32, Frame, Id, RichText, TextWrapMode};
use bevy_egui::{EguiContexts, EguiPrimaryContextPass};
use bevy_replay::DeckState;
use bevy_replay::prelude::*;

/// Side of a block on the screen. The level fills a window of 1280 × 720.
const BLOCK_PIXELS: f32 = 40.0;

const SKY: Color = Color::srgb(0.36, 0.62, 0.87);
const EARTH: Color = Color::srgb(0.36, 0.25, 0.20);
const GRASS: Color = Color::srgb(0.35, 0.65, 0.30);
const COAT: Color = Color::srgb(0.86, 0.25, 0.28);
const GOLD: Color = Color::srgb(1.0, 0.80, 0.20);
const GOLD_DARK: Color = Color::srgb(0.85, 0.58, 0.10);
const QUILLS: Color = Color::srgb(0.30, 0.22, 0.18);

/// Where an entity was after the last two ticks; frames show what lies between.
#[derive(Component, Default)]
struct Seen {
    before: Vec2,
    now: Vec2,
}

/// A picture of a disc, for coins and hedgehogs.
#[derive(Resource)]
struct Disc(Handle<Image>);

/// The player's eyes look where the player runs.
#[derive(Component)]
struct Eyes;

pub struct ViewPlugin;

impl Plugin for ViewPlugin {
    fn build(&self, app: &mut App) {
        let disc = app.world_mut().resource_mut::<Assets<Image>>().add(disc());
        app.insert_resource(ClearColor(SKY)).insert_resource(Disc(disc)).presentation::<Seen>();
        app.add_observer(show_player).add_observer(show_coin).add_observer(show_hedgehog);
        app.add_systems(Startup, show_level);
        app.add_systems(FixedPostUpdate, remember);
        app.add_systems(Update, (interpolate, look).chain());
        app.add_systems(EguiPrimaryContextPass, show_score);
    }
}

fn pixels(x: i32, y: i32) -> Vec2 {
    let middle = IVec2::new(LEVEL[0].len() as i32, LEVEL.len() as i32).as_vec2() / 2.0;
    (Vec2::new(x as f32, y as f32) / BLOCK as f32 - middle) * BLOCK_PIXELS
}

fn size_pixels(size: IVec2) -> Vec2 {
    size.as_vec2() / BLOCK as f32 * BLOCK_PIXELS
}

/// A white disc with a soft edge, tinted by sprites.
fn disc() -> Image {
    const SIDE: u32 = 64;
    let radius = SIDE as f32 / 2.0;
    let pixel = |x: u32, y: u32| {
        let from_middle = Vec2::new(x as f32 + 0.5 - radius, y as f32 + 0.5 - radius).length();
        [255, 255, 255, ((radius - from_middle).clamp(0.0, 1.0) * 255.0) as u8]
    };
    let data = (0..SIDE * SIDE).flat_map(|index| pixel(index % SIDE, index / SIDE)).collect();
    let size = Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 };
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::RENDER_WORLD)
}

fn rectangle(color: Color, size: Vec2, at: Vec3) -> (Sprite, Transform) {
    (Sprite::from_color(color, size), Transform::from_translation(at))
}

fn round(disc: &Disc, color: Color, size: Vec2, at: Vec3) -> (Sprite, Transform) {
    let sprite = Sprite { image: disc.0.clone(), color, custom_size: Some(size), ..Sprite::default() };
    (sprite, Transform::from_translation(at))
}

fn show_level(mut commands: Commands) {
    commands.spawn(Camera2d);
    let blocks: Vec<IVec2> = places('#').collect();
    for block in &blocks {
        let at = pixels(block.x, block.y);
        commands.spawn(rectangle(EARTH, Vec2::splat(BLOCK_PIXELS), at.extend(0.0)));
        if !blocks.contains(&(block + IVec2::Y * BLOCK)) {
            let grass = Vec2::new(BLOCK_PIXELS, BLOCK_PIXELS / 5.0);
            commands.spawn(rectangle(GRASS, grass, (at + Vec2::Y * BLOCK_PIXELS * 0.4).extend(0.1)));
        }
    }
}

fn show_player(added: On<Add<Player>>, players: Query<&Player>, mut commands: Commands) {
    let Ok(player) = players.get(added.entity) else { return };
    let (at, size) = (pixels(player.x, player.y), size_pixels(PLAYER_SIZE));
    commands
        .entity(added.entity)
        .insert((Seen { before: at, now: at }, rectangle(COAT, size, at.extend(3.0))))
        .with_children(|body| {
            body.spawn((Eyes, Transform::from_xyz(0.0, size.y * 0.2, 0.1), Visibility::default())).with_children(
                |eyes| {
                    for side in [-1.0, 1.0] {
                        let at = Vec3::new(side * size.x * 0.2, 0.0, 0.0);
                        eyes.spawn(rectangle(Color::WHITE, Vec2::new(7.0, 9.0), at));
                        eyes.spawn(rectangle(Color::BLACK, Vec2::new(3.0, 4.0), at + Vec3::new(1.0, -1.0, 0.1)));
                    }
                },
            );
        });
}

fn show_coin(added: On<Add<Coin>>, coins: Query<&Coin>, disc: Res<Disc>, mut commands: Commands) {
    let Ok(coin) = coins.get(added.entity) else { return };
    let (at, size) = (pixels(coin.x, coin.y), size_pixels(COIN_SIZE));
    commands.entity(added.entity).insert(round(&disc, GOLD_DARK, size, at.extend(1.0))).with_children(|edge| {
        edge.spawn(round(&disc, GOLD, size * 0.75, Vec3::Z * 0.1));
    });
}

fn show_hedgehog(added: On<Add<Hedgehog>>, hedgehogs: Query<&Hedgehog>, disc: Res<Disc>, mut commands: Commands) {
    let Ok(hedgehog) = hedgehogs.get(added.entity) else { return };
    let (at, size) = (pixels(hedgehog.x, hedgehog.y), size_pixels(HEDGEHOG_SIZE));
    let body = round(&disc, QUILLS, size, at.extend(2.0));
    commands.entity(added.entity).insert((Seen { before: at, now: at }, body)).with_children(|body| {
        for quill in -2..=2 {
            let lean = quill as f32;
            let at = Vec3::new(lean * size.x * 0.17, size.y * (0.42 - lean.abs() * 0.07), -0.1);
            let (sprite, place) = rectangle(QUILLS, Vec2::splat(9.0), at);
            body.spawn((sprite, place.with_rotation(Quat::from_rotation_z(core::f32::consts::FRAC_PI_4))));
        }
        for side in [-1.0, 1.0] {
            body.spawn(round(&disc, Color::WHITE, Vec2::splat(5.0), Vec3::new(side * size.x * 0.3, -1.0, 0.1)));
        }
    });
}

/// After each tick: what was now is before.
fn remember(
    mut players: Query<(&Player, &mut Seen), Without<Hedgehog>>,
    mut hedgehogs: Query<(&Hedgehog, &mut Seen), Without<Player>>,
) {
    let players = players.iter_mut().map(|(player, seen)| (pixels(player.x, player.y), seen));
    let hedgehogs = hedgehogs.iter_mut().map(|(hedgehog, seen)| (pixels(hedgehog.x, hedgehog.y), seen));
    for (now, mut seen) in players.chain(hedgehogs) {
        // A sting moves the player across the level at once; nothing lies between.
        let jumped = now.distance(seen.now) > BLOCK_PIXELS;
        *seen = Seen { before: if jumped { now } else { seen.now }, now };
    }
}

fn interpolate(time: Res<Time<Fixed>>, mut seen: Query<(&Seen, &mut Transform)>) {
    for (seen, mut transform) in &mut seen {
        let at = seen.before.lerp(seen.now, time.overstep_fraction());
        transform.translation = at.extend(transform.translation.z);
    }
}

fn look(player: Option<Single<&Player>>, mut eyes: Query<&mut Transform, With<Eyes>>) {
    let Some(player) = player else { return };
    for mut eyes in &mut eyes {
        eyes.translation.x += (player.vx.signum() as f32 * 4.0 - eyes.translation.x) * 0.2;
    }
}

fn show_score(mut contexts: EguiContexts, score: Option<Res<Score>>, coins: Query<(), With<Coin>>, deck: Res<Deck>) {
    let (Some(score), Ok(context)) = (score, contexts.ctx_mut()) else { return }; // the window is going, or coming
    let line = |text: String| RichText::new(text).size(20.0).strong().color(Color32::WHITE);
    let frame = Frame::new().fill(Color32::from_black_alpha(150)).inner_margin(8_i8).corner_radius(6_u8);
    Area::new(Id::new("score")).anchor(Align2::LEFT_TOP, [8.0, 8.0]).interactable(false).show(context, |ui| {
        ui.style_mut().wrap_mode = Some(TextWrapMode::Extend); // the number of digits may grow
        frame.show(ui, |ui| {
            let all = score.coins as usize + coins.iter().count();
            ui.label(line(format!("Score {}   Coins {} of {all}", score.points, score.coins)));
            if coins.is_empty() {
                ui.label(line("All coins are yours!".into()));
            }
            if let DeckState::Replaying { .. } = deck.state() {
                ui.label(line("Replay".into()).color(Color32::from_rgb(0x8F, 0xE3, 0x88)));
            }
        });
    });
    Area::new(Id::new("keys")).anchor(Align2::LEFT_BOTTOM, [8.0, -8.0]).interactable(false).show(context, |ui| {
        frame.show(ui, |ui| {
            let keys = "Arrows run    Space jump    F5 record    F7 replay    F8 export    F9 import";
            ui.label(RichText::new(keys).color(Color32::WHITE));
        });
    });
}
