//! The missions to choose from, how the order stands, and what can be done next.
//!
//! What is chosen becomes recorded input. Nothing here reads a plan; of a mission its name is known, and [`Order`].

use crate::game::{Choice, Order, Throw, Wish};
use crate::missions::{MISSIONS, name};
use crate::pictures::{Pictures, WHITE, color};
use crate::places::{PICTURE, Screen};
use crate::view::{COUNTER, size_of_thing};
use bevy::input::InputSystems;
use bevy::input::keyboard::KeyboardInput;
use bevy::prelude::*;
use bevy_egui::egui::{self, Align2, Area, Button, Color32, FontId, Frame, Grid, Id, LayerId, RichText, Ui};
use bevy_egui::input::EguiWantsInput;
use bevy_egui::{EguiContexts, EguiPrimaryContextPass};
use bevy_replay::prelude::*;
use std::collections::BTreeSet;

/// Missions stand in so many columns.
const COLUMNS: usize = 4;

const GOLD: Color32 = Color32::from_rgb(0xF0, 0xE4, 0x42);
const CARD: Color32 = Color32::from_rgb(34, 44, 82);
const SKY: Color32 = Color32::from_rgb(0x56, 0xB4, 0xE9);

/// What the player can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Choose a mission.
    Choosing,
    /// Cut.
    Playing,
    /// Choose what comes next: the order is complete, or nothing more is thrown.
    Ended,
}

impl Stage {
    pub(crate) fn of(order: &Order) -> Self {
        if order.mission.is_empty() {
            Self::Choosing
        } else if order.is_over || order.is_completed() {
            Self::Ended
        } else {
            Self::Playing
        }
    }
}

/// Where the player stands among the missions. No tick sees it.
#[derive(Resource)]
struct Menu {
    missions: Vec<String>,
    /// Counted from 0.
    selected: usize,
    completed: BTreeSet<String>,
}

pub(crate) struct MenuPlugin;

impl Plugin for MenuPlugin {
    fn build(&self, app: &mut App) {
        let missions = (1..=MISSIONS).map(name).collect();
        app.insert_resource(Menu { missions, selected: 0, completed: BTreeSet::new() });
        app.add_systems(PreUpdate, press_keys.after(InputSystems));
        app.add_systems(Update, follow.run_if(bevy_replay::is_live));
        app.add_systems(Startup, show_legend);
        app.add_systems(EguiPrimaryContextPass, (draw_legend, draw_order, draw_missions, draw_end));
    }
}

impl Menu {
    /// Selects another mission, if there is one there.
    fn go(&mut self, by: isize) -> Option<Wish> {
        let selected = self.selected.checked_add_signed(by).filter(|selected| *selected < self.missions.len());
        self.selected = selected.unwrap_or(self.selected);
        None
    }

    fn play(&self) -> Option<Wish> {
        self.missions.get(self.selected).cloned().map(Wish::Play)
    }

    fn play_next(&mut self) -> Option<Wish> {
        self.selected = (self.selected + 1) % self.missions.len().max(1);
        self.play()
    }
}

/// Each press counts, however many a frame has.
fn press_keys(
    mut keys: MessageReader<KeyboardInput>,
    wants: Res<EguiWantsInput>,
    deck: Res<Deck>,
    order: Res<Order>,
    mut menu: ResMut<Menu>,
    mut choice: ResMut<Choice>,
) {
    if wants.wants_any_keyboard_input() || deck.is_replaying() {
        keys.clear();
        return;
    }
    for key in keys.read().filter(|key| key.state.is_pressed() && !key.repeat) {
        let wish = match (Stage::of(&order), key.key_code) {
            (Stage::Choosing, KeyCode::ArrowLeft) => menu.go(-1),
            (Stage::Choosing, KeyCode::ArrowRight) => menu.go(1),
            (Stage::Choosing, KeyCode::ArrowUp) => menu.go(-(COLUMNS as isize)),
            (Stage::Choosing, KeyCode::ArrowDown) => menu.go(COLUMNS as isize),
            (Stage::Choosing, KeyCode::Enter) => menu.play(),
            (Stage::Ended, KeyCode::Enter) if order.is_completed() => menu.play_next(),
            (Stage::Ended, KeyCode::Enter) | (Stage::Playing | Stage::Ended, KeyCode::KeyR) => menu.play(),
            (Stage::Playing | Stage::Ended, KeyCode::Escape) => Some(Wish::Leave),
            _ => None,
        };
        if wish.is_some() {
            choice.wish = wish;
        }
    }
}

/// A tape may have left another mission; what is complete stays so.
fn follow(order: Res<Order>, mut menu: ResMut<Menu>) {
    if order.is_changed() && Stage::of(&order) != Stage::Choosing {
        let running = menu.missions.iter().position(|mission| *mission == order.mission);
        menu.selected = running.unwrap_or(menu.selected);
        if order.is_completed() && !menu.completed.contains(&order.mission) {
            menu.completed.insert(order.mission.clone());
        }
    }
}

/// On the counter: a thing, how far it is to the right of the middle, whether it is on the order, and what to do.
const LEGEND: [(Throw, f32, bool, &str); 3] = [
    (Throw::Apple { column: 0 }, -596.0, true, "on the order:\ncut it"),
    (Throw::Apple { column: 0 }, -416.0, false, "not on it: leave it,\nit blunts the blade"),
    (Throw::Bomb { column: 0 }, -196.0, false, "bomb:\nkeep off"),
];
const LEGEND_HEIGHT: f32 = (COUNTER - PICTURE.y) / 2.0 - 8.0;

fn show_legend(pictures: Res<Pictures>, mut commands: Commands) {
    for (what, right, is_required, _) in &LEGEND {
        let size = size_of_thing() * 0.6;
        let is_fruit = !matches!(what, Throw::Bomb { .. });
        let tint = if is_fruit && !is_required { Color::srgb(0.55, 0.58, 0.66) } else { Color::WHITE };
        let picture = |image: &Handle<Image>, color, size| Sprite {
            image: image.clone(),
            color,
            custom_size: Some(size),
            ..Sprite::default()
        };
        let at = Vec3::new(*right, LEGEND_HEIGHT, 6.0);
        let mut thing = commands.spawn((picture(pictures.of(what), tint, size), Transform::from_translation(at)));
        if *is_required {
            let ring = picture(&pictures.ring, color(WHITE), size * 1.14);
            thing.with_children(|thing| {
                thing.spawn((ring, Transform::from_xyz(0.0, 0.0, 0.1)));
            });
        }
    }
}

fn draw_legend(mut contexts: EguiContexts, window: Option<Single<&Window>>) {
    let (Ok(context), Some(window)) = (contexts.ctx_mut(), window) else { return };
    let (screen, painter) = (Screen::of(&window), context.layer_painter(LayerId::background()));
    let write = |right: f32, align: Align2, text: &str| {
        let Vec2 { x, y } = screen.to_window(Vec2::new(right, LEGEND_HEIGHT));
        let font = FontId::proportional(16.0 * screen.scale);
        painter.text(egui::pos2(x, y), align, text, font, Color32::from_gray(235));
    };
    for (_, right, _, text) in LEGEND {
        write(right + 36.0, Align2::LEFT_CENTER, text);
    }
    let keys =
        "hold the left button and draw the blade\nR again    Esc missions    F5 record    F7 replay    F8 export";
    write(620.0, Align2::RIGHT_CENTER, keys);
}

fn panel() -> Frame {
    Frame::new().fill(Color32::from_black_alpha(170)).inner_margin(12_i8).corner_radius(8_u8)
}

fn draw_order(mut contexts: EguiContexts, order: Option<Res<Order>>, deck: Res<Deck>) {
    let (Some(order), Ok(context)) = (order, contexts.ctx_mut()) else { return };
    if Stage::of(&order) == Stage::Choosing && !deck.is_replaying() {
        return;
    }
    Area::new(Id::new("order")).anchor(Align2::LEFT_TOP, [12.0, 12.0]).interactable(false).show(context, |ui| {
        ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend); // the number of digits may grow
        panel().show(ui, |ui| {
            let line = |text: String| RichText::new(text).size(22.0).color(Color32::WHITE);
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 20.0;
                ui.label(line(order.mission.clone()));
                ui.label(line(format!("cut {} / {}", order.cut, order.needed)).strong());
                let told = line(format!("missed {}    bombs hit {}", order.missed, order.bombs));
                ui.label(if order.missed + order.bombs > 0 { told.color(GOLD) } else { told });
                if deck.is_replaying() {
                    ui.label(line("Replay".into()).color(SKY));
                }
            });
        });
    });
}

fn draw_missions(
    mut contexts: EguiContexts,
    order: Option<Res<Order>>,
    deck: Res<Deck>,
    mut menu: ResMut<Menu>,
    mut choice: ResMut<Choice>,
) {
    let (Some(order), Ok(context)) = (order, contexts.ctx_mut()) else { return };
    if Stage::of(&order) != Stage::Choosing || deck.is_replaying() {
        return;
    }
    Area::new(Id::new("missions")).anchor(Align2::CENTER_CENTER, [0.0, -40.0]).show(context, |ui| {
        panel().inner_margin(28_i8).show(ui, |ui| {
            ui.vertical_centered(|ui| {
                ui.label(RichText::new("Orders").size(52.0).strong().color(GOLD));
                let rule = "Cut what has a ring. After each cut the blade is blunt for half a second.";
                ui.label(RichText::new(rule).size(18.0).color(Color32::WHITE));
                ui.add_space(18.0);
            });
            let mut clicked = None;
            Grid::new("grid").spacing([12.0, 12.0]).show(ui, |ui| {
                for (index, mission) in menu.missions.iter().enumerate() {
                    let is_completed = menu.completed.contains(mission);
                    let text = if is_completed { format!("{mission}\ncomplete") } else { mission.clone() };
                    let text = RichText::new(text).size(18.0).color(if is_completed { GOLD } else { Color32::WHITE });
                    let is_selected = index == menu.selected;
                    let edge = if is_selected { (3.0, GOLD) } else { (1.0, Color32::from_gray(120)) };
                    let button = Button::new(text).fill(CARD).stroke(edge).corner_radius(8_u8);
                    if ui.add_sized([150.0, 66.0], button).clicked() {
                        clicked = Some(index);
                    }
                    if index % COLUMNS == COLUMNS - 1 {
                        ui.end_row();
                    }
                }
            });
            ui.add_space(14.0);
            ui.vertical_centered(|ui| {
                let keys = "click a mission, or choose with the arrow keys and press Enter";
                ui.label(RichText::new(keys).size(16.0).color(Color32::from_gray(200)));
            });
            if let Some(index) = clicked {
                menu.selected = index;
                choice.wish = menu.play();
            }
        });
    });
}

fn draw_end(
    mut contexts: EguiContexts,
    order: Option<Res<Order>>,
    deck: Res<Deck>,
    mut menu: ResMut<Menu>,
    mut choice: ResMut<Choice>,
) {
    let (Some(order), Ok(context)) = (order, contexts.ctx_mut()) else { return };
    if Stage::of(&order) != Stage::Ended || deck.is_replaying() {
        return;
    }
    let Order { mission, needed, cut, missed, bombs, .. } = &*order;
    let is_completed = order.is_completed();
    Area::new(Id::new("end")).anchor(Align2::CENTER_CENTER, [0.0, -40.0]).show(context, |ui| {
        panel().inner_margin(28_i8).show(ui, |ui| {
            ui.vertical_centered(|ui| {
                let (head, tint) = match is_completed {
                    true => (format!("{mission} is complete"), GOLD),
                    false => (format!("{mission} is not complete"), Color32::WHITE),
                };
                ui.label(RichText::new(head).size(36.0).strong().color(tint));
                let told = format!("cut {cut} of {needed}, missed {missed}, bombs hit {bombs}");
                ui.label(RichText::new(told).size(20.0).color(Color32::WHITE));
                ui.add_space(16.0);
            });
            ui.vertical_centered(|ui| {
                let button = |ui: &mut Ui, text: &str| {
                    let text = RichText::new(text).size(18.0).color(Color32::WHITE);
                    let button = Button::new(text).fill(CARD).corner_radius(8_u8);
                    ui.add_sized([240.0, 44.0], button).clicked()
                };
                if is_completed && button(ui, "Next (Enter)") {
                    choice.wish = menu.play_next();
                }
                if button(ui, if is_completed { "Again (R)" } else { "Again (Enter)" }) {
                    choice.wish = menu.play();
                }
                if button(ui, "Missions (Esc)") {
                    choice.wish = Some(Wish::Leave);
                }
            });
        });
    });
}
