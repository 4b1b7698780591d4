//! How the recorder bar looks. Reads the model, edits the text of its open entry, and says what was clicked.

use super::model::{Model, Prompt, PromptKind, RecorderAction};
use super::text::filled;
use super::{BarCorner, RecorderKeys};
use bevy_egui::egui::{
    Align, Align2, Area, Color32, Context, Frame, Id, Key, Layout, Modifiers, Order, RichText, ScrollArea, Sense,
    TextEdit, Ui, Vec2,
};
use bevy_input::keyboard::KeyCode;

const RED: Color32 = Color32::from_rgb(0xE5, 0x48, 0x4D);
const GREEN: Color32 = Color32::from_rgb(0x46, 0xA7, 0x58);
/// Brighter than egui's own grey: it is read at a glance, beside a game.
const TEXT: Color32 = Color32::from_gray(0xE6);
const ERROR: Color32 = Color32::from_rgb(0xFF, 0x95, 0x92);
/// Wide enough for a path, narrow enough for a corner.
const ENTRY_WIDTH: f32 = 420.0;

/// Shows the bar in its corner of the window.
pub(super) fn show(
    context: &Context,
    corner: BarCorner,
    model: &mut Model,
    keys: &RecorderKeys,
    clicked: &mut Vec<RecorderAction>,
) {
    let (anchor, offset) = match corner {
        BarCorner::TopLeft => (Align2::LEFT_TOP, Vec2::new(8.0, 8.0)),
        BarCorner::TopRight => (Align2::RIGHT_TOP, Vec2::new(-8.0, 8.0)),
        BarCorner::BottomLeft => (Align2::LEFT_BOTTOM, Vec2::new(8.0, -8.0)),
        BarCorner::BottomRight => (Align2::RIGHT_BOTTOM, Vec2::new(-8.0, -8.0)),
    };
    let side = if anchor.x() == Align::Min { Align::Min } else { Align::Max };
    Area::new(Id::new("bevy_replay recorder bar")).order(Order::Foreground).anchor(anchor, offset).show(
        context,
        |ui| {
            ui.with_layout(Layout::top_down(side), |ui| bar(ui, model, keys, clicked));
        },
    );
}

/// The bar itself: buttons, the open entry, toasts.
pub(super) fn bar(ui: &mut Ui, model: &mut Model, keys: &RecorderKeys, clicked: &mut Vec<RecorderAction>) {
    ui.visuals_mut().override_text_color = Some(TEXT);
    Frame::popup(ui.style()).show(ui, |ui| buttons(ui, model, keys, clicked));
    if model.prompt.is_some() {
        Frame::popup(ui.style()).show(ui, |ui| entry(ui, model, clicked));
    }
    for toast in &model.toasts {
        Frame::popup(ui.style()).show(ui, |ui| {
            ui.set_max_width(ENTRY_WIDTH);
            let text = RichText::new(&toast.told.text);
            ui.label(if toast.told.is_error { text.color(ERROR) } else { text });
        });
    }
}

/// What stands in a row.
enum Part {
    Light(Color32),
    Text(String),
    Button(String, RecorderAction, Option<KeyCode>),
}

/// Shows a row in reading order, at whichever side of the window it stands.
fn row(ui: &mut Ui, mut parts: Vec<Part>, clicked: &mut Vec<RecorderAction>) {
    ui.horizontal(|ui| {
        if ui.layout().prefer_right_to_left() {
            parts.reverse();
        }
        for part in parts {
            match part {
                // Painted, as not every font has such signs.
                Part::Light(color) => {
                    let (rect, _) = ui.allocate_exact_size(Vec2::splat(12.0), Sense::hover());
                    ui.painter().circle_filled(rect.center(), 5.0, color);
                }
                Part::Text(text) => _ = ui.label(RichText::new(text).monospace()),
                Part::Button(label, action, key) => {
                    let mut response = ui.button(label);
                    if let Some(key) = key {
                        response = response.on_hover_text(format!("{key:?}"));
                    }
                    if response.clicked() {
                        response.surrender_focus(); // else the next key would press it again
                        clicked.push(action);
                    }
                }
            }
        }
    });
}

fn buttons(ui: &mut Ui, model: &Model, keys: &RecorderKeys, clicked: &mut Vec<RecorderAction>) {
    use RecorderAction as Action;
    let text = &model.text;
    let mut parts = Vec::new();
    if model.is_recording() {
        parts.push(Part::Light(RED));
    } else if model.is_replaying() {
        parts.push(Part::Light(GREEN));
    }
    parts.extend(model.status().map(Part::Text));
    let mut button = |label: &str, action, key| parts.push(Part::Button(label.into(), action, key));
    if model.is_recording() {
        button(&text.stop, Action::ToggleRecording, keys.record);
        button(&text.mark, Action::Mark, keys.mark);
    } else if model.is_replaying() {
        button(&text.stop, Action::Replay, keys.replay);
    } else if model.at_hand.is_some() {
        button(&text.replay, Action::Replay, keys.replay);
        button(&text.export, Action::Export, keys.export);
        if model.settings.tests.is_some() {
            button(&text.make_test, Action::MakeTest, keys.make_test);
        }
        button(&text.discard, Action::Discard, keys.discard);
    }
    if !model.is_busy() && !model.has_unsaved() {
        button(&text.record, Action::ToggleRecording, keys.record);
        if let Some(seconds) = model.settings.flight_seconds {
            button(&filled(&text.save_last, &[("seconds", &seconds)]), Action::SaveLast, keys.save_last);
        }
        button(&text.import, Action::Import, keys.import);
    }
    if model.jobs > 0 {
        parts.push(Part::Text(text.working.to_string()));
    }
    row(ui, parts, clicked);
}

fn entry(ui: &mut Ui, model: &mut Model, clicked: &mut Vec<RecorderAction>) {
    let Model { text, prompt, settings, .. } = model;
    let Some(Prompt { kind, entry, is_new }) = prompt else { return };
    let folder = settings.tests.as_ref().map(|tests| tests.0.display().to_string()).unwrap_or_default();
    let (title, submit) = match kind {
        PromptKind::Export => (text.export_to.to_string(), &text.save),
        PromptKind::Import => (text.import_from.to_string(), &text.open),
        PromptKind::Test => (filled(&text.test_name, &[("folder", &folder)]), &text.write),
    };
    ui.set_max_width(ENTRY_WIDTH);
    let title = ui.label(title);
    // Taken before the field sees it: only a pasted tape has more than one line.
    if ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter)) {
        clicked.push(RecorderAction::Submit);
    }
    let field = if *kind == PromptKind::Import {
        let edit = TextEdit::multiline(entry).desired_rows(1).desired_width(ENTRY_WIDTH);
        ScrollArea::vertical().max_height(120.0).show(ui, |ui| ui.add(edit)).inner
    } else {
        ui.add(TextEdit::singleline(entry).desired_width(ENTRY_WIDTH))
    };
    let field = field.labelled_by(title.id);
    if core::mem::take(is_new) {
        field.request_focus();
    }
    if ui.input(|input| input.key_pressed(Key::Escape)) {
        clicked.push(RecorderAction::Cancel);
    }
    let mut parts = vec![Part::Button(submit.to_string(), RecorderAction::Submit, None)];
    if *kind != PromptKind::Test {
        parts.push(Part::Button(text.browse.to_string(), RecorderAction::Browse, None));
    }
    parts.push(Part::Button(text.cancel.to_string(), RecorderAction::Cancel, None));
    row(ui, parts, clicked);
}
