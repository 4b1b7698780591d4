//! Entities, the fields of one, and what is shown beside them.

use super::super::InspectorCommand as Command;
use super::super::history::Line as History;
use super::super::model::{Model, Pane};
use super::super::palette::{Palette, paint_sign};
use super::super::timeline::{Mark, count};
use super::{ROW_HEIGHT, WIDE, named, signed, tab};
use crate::numbers::grouped;
use bevy_egui::egui::{
    Align, Button, Label, Layout, Rect, RichText, ScrollArea, Sense, TextEdit, TextStyle, Ui, UiBuilder, Vec2, Vec2b,
    WidgetInfo, WidgetType, pos2, vec2,
};
use egui_extras::{Column, TableBuilder};
use egui_plot::{Line, LineStyle, Plot, PlotPoints, VLine};

/// Shows the three panes beside each other, or one at a time where there is no room.
pub(super) fn show(ui: &mut Ui, rect: Rect, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    let at = |ui: &mut Ui, rect: Rect, show: &mut dyn FnMut(&mut Ui)| {
        let mut ui = ui.new_child(UiBuilder::new().max_rect(rect));
        ui.set_clip_rect(ui.clip_rect().intersect(rect.expand(2.0)));
        show(&mut ui);
    };
    if rect.width() >= WIDE {
        let (left, right) = (rect.left() + 190.0, rect.right() - (rect.width() * 0.3).clamp(260.0, 420.0));
        let between = |from: f32, to: f32| Rect::from_min_max(pos2(from, rect.top()), pos2(to, rect.bottom()));
        at(ui, between(rect.left(), left - 6.0), &mut |ui| entities(ui, model, palette, asked));
        at(ui, between(left + 6.0, right - 6.0), &mut |ui| fields(ui, model, palette, asked));
        at(ui, between(right + 6.0, rect.right()), &mut |ui| {
            ui.horizontal(|ui| {
                // The other two are shown already.
                if matches!(model.pane, Pane::Entities | Pane::Fields) {
                    model.pane = Pane::History;
                }
                side_tabs(ui, model);
            });
            side(ui, model, palette, asked);
        });
        for x in [left, right] {
            ui.painter().vline(x, rect.y_range(), (1.0, palette.line));
        }
    } else {
        at(ui, rect, &mut |ui| {
            ui.horizontal_wrapped(|ui| {
                tab(ui, &mut model.pane, Pane::Entities, "Entities");
                tab(ui, &mut model.pane, Pane::Fields, "Fields");
                side_tabs(ui, model);
            });
            let before = asked.len();
            match model.pane {
                Pane::Entities => entities(ui, model, palette, asked),
                Pane::Fields => fields(ui, model, palette, asked),
                _ => side(ui, model, palette, asked),
            }
            // From an entity to its fields, and from a field to its history.
            match asked.get(before) {
                Some(Command::Select { field: None, .. }) => model.pane = Pane::Fields,
                Some(Command::Select { .. }) => model.pane = Pane::History,
                _ => {}
            }
        });
    }
}

fn side_tabs(ui: &mut Ui, model: &mut Model) {
    for (pane, name) in
        [(Pane::History, "History"), (Pane::Inputs, "Inputs"), (Pane::Streams, "Streams"), (Pane::Header, "Header")]
    {
        tab(ui, &mut model.pane, pane, name);
    }
}

fn side(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    match model.pane {
        Pane::Inputs => lines(ui, &model.inputs, "this tick read no input", palette),
        Pane::Streams => streams(ui, model, palette),
        Pane::Header => header(ui, model, palette),
        Pane::History | Pane::Entities | Pane::Fields => history(ui, model, palette, asked),
    }
}

fn entities(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let mut differing = !model.shows_all_entities;
        ui.checkbox(&mut differing, "differing");
        model.shows_all_entities = !differing;
        let entry =
            TextEdit::singleline(&mut model.filter).hint_text("filter").desired_width(ui.available_width() - 8.0);
        let entry = ui.add(entry);
        entry.widget_info(|| WidgetInfo::labeled(WidgetType::TextEdit, true, "Filter entities"));
    });
    if model.entities.is_empty() {
        quiet(ui, palette, nothing_to_list(model));
        return;
    }
    let count = model.entities.len();
    ScrollArea::vertical().id_salt("entities").auto_shrink(false).show_rows(ui, ROW_HEIGHT, count, |ui, rows| {
        for (sim_id, differing) in &model.entities[rows] {
            ui.horizontal(|ui| {
                ui.set_height(ROW_HEIGHT);
                let (rect, _) = ui.allocate_exact_size(Vec2::splat(10.0), Sense::hover());
                if *differing > 0 {
                    paint_sign(ui.painter(), rect.center(), 9.0, Mark::Differs, palette);
                }
                let is_selected = model.selection.of == Some(*sim_id);
                let name = entity_name(model, *sim_id);
                let room = ui.available_width() - 36.0;
                let size = vec2(room.max(20.0), ROW_HEIGHT);
                let response = ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
                    ui.set_min_width(size.x);
                    ui.add(Button::selectable(is_selected, name).truncate())
                });
                if response.inner.clicked() {
                    asked.push(Command::Select { sim_id: *sim_id, field: None });
                }
                if *differing > 0 {
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(differing.to_string()));
                }
            });
        }
    });
}

fn nothing_to_list(model: &Model) -> &'static str {
    if model.shows_all_entities || !model.filter.is_empty() {
        "no entity of that name"
    } else if model.has_values() {
        "no field differs after this tick"
    } else if !model.types_that_differ.is_empty() {
        "types differ (see their names beside); the tape has no values that say where: record it with Detail::Values"
    } else if model.tape.is_none() {
        "no tape is played, so nothing is expected; uncheck “differing” to see all"
    } else if model.has_expected_values() {
        "the expected state is not known here"
    } else {
        "the tape has no values: record it with Detail::Values; uncheck “differing” to see all"
    }
}

fn entity_name(model: &Model, sim_id: Option<u64>) -> String {
    match sim_id.map(|id| (id, model.names.get(&id))) {
        Some((id, Some(name))) => format!("sim:{id} {name:?}"),
        Some((id, None)) => format!("sim:{id}"),
        None => "resources".into(),
    }
}

fn fields(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        match model.selection.of {
            Some(of) => _ = ui.strong(entity_name(model, of)),
            None => _ = ui.label("no entity is selected"),
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.checkbox(&mut model.shows_all_fields, "all fields");
        });
    });
    let Some(of) = model.selection.of else {
        if !model.types_that_differ.is_empty() {
            quiet(ui, palette, &format!("types that differ after this tick: {}", model.types_that_differ.join(", ")));
        }
        return;
    };
    // What cannot be compared is shown as it is.
    let shows_all = model.shows_all_fields || !model.has_values();
    let shown: Vec<usize> = (0..model.fields.len()).filter(|index| shows_all || model.fields[*index].differs).collect();
    if shown.is_empty() {
        let text = if model.fields.is_empty() {
            "it does not exist after this tick"
        } else {
            "no field differs after this tick"
        };
        quiet(ui, palette, text);
        return;
    }
    let width = ui.available_width() - 16.0;
    let column = |part: f32| Column::exact((width * part).max(40.0)).clip(true);
    let table = TableBuilder::new(ui)
        .id_salt("fields")
        .cell_layout(Layout::left_to_right(Align::Center))
        .auto_shrink(false)
        .column(column(0.34))
        .column(column(0.28))
        .column(column(0.26))
        .column(Column::remainder().clip(true));
    let header = table.header(ROW_HEIGHT, |mut row| {
        row.col(|ui| _ = ui.label(RichText::new("field").color(palette.quiet)));
        for (mark, name) in [(Mark::Expected, "expected"), (Mark::Got, "got")] {
            row.col(|ui| _ = signed(ui, mark, name, palette));
        }
        row.col(|_| ());
    });
    header.body(|body| {
        body.rows(ROW_HEIGHT, shown.len(), |mut row| {
            let field = &model.fields[shown[row.index()]];
            let color = if field.differs { palette.text } else { palette.quiet };
            row.col(|ui| {
                let (rect, _) = ui.allocate_exact_size(Vec2::splat(10.0), Sense::hover());
                if field.differs {
                    paint_sign(ui.painter(), rect.center(), 9.0, Mark::Differs, palette);
                }
                let name = format!("{}{}", field.type_name, field.path);
                let key = (field.type_name.to_string(), field.path.clone());
                let is_selected = model.selection.field.as_ref() == Some(&key);
                let button = Button::selectable(is_selected, RichText::new(name).color(color)).truncate();
                if ui.add(button).clicked() {
                    asked.push(Command::Select { sim_id: of, field: Some(key) });
                }
            });
            for value in [&field.expected, &field.got] {
                row.col(|ui| {
                    if let Some(value) = value {
                        let text = RichText::new(value).monospace().color(color);
                        ui.add(Label::new(text).selectable(true).truncate()).on_hover_text(value);
                    }
                });
            }
            row.col(|ui| {
                if let Some(ulps) = field.ulps {
                    ui.label(RichText::new(format!("{} ulp", grouped(ulps))).color(palette.quiet));
                }
            });
        });
    });
}

fn history(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    let Some(history) = &model.history else {
        quiet(ui, palette, "select a field to see its values over the ticks");
        return;
    };
    ui.horizontal_wrapped(|ui| {
        ui.strong(format!("{}{}", history.key.type_name, history.key.path));
        signed(ui, Mark::Expected, "expected", palette);
        signed(ui, Mark::Got, "got, dashed", palette);
        let after = model.status.seek.map_or(model.status.tick, |seek| seek.target);
        for (sign, name, change) in [
            ("‹ change", "Previous change", history.change_before(after)),
            ("change ›", "Next change", history.change_after(after)),
        ] {
            let button = named(ui, change.is_some(), Button::new(sign), name).on_hover_text(name);
            if let (true, Some(change)) = (button.clicked(), change) {
                asked.push(Command::Seek(change));
            }
        }
    });
    if history.is_cancelled {
        quiet(ui, palette, "cancelled; select the field again to read its history");
        return;
    }
    let Some(window) = model.window else { return };
    if !history.expected.has_numbers() && !history.got.has_numbers() {
        quiet(ui, palette, "not a number: go from change to change");
        return;
    }
    // A state after n ticks stands at the end of tick n - 1.
    let (from, to) = (window.start, window.end);
    let columns = count(ui.available_width().max(50.0), 2.0);
    let lines = |history: &History, name: &'static str, mark: Mark| {
        let line = move |stroke| Line::new(name, PlotPoints::from(stroke)).color(palette.color(mark)).width(2.0);
        history.strokes(from, to, columns).into_iter().map(line)
    };
    let after = model.status.seek.map_or(model.status.tick, |seek| seek.target) as f64;
    Plot::new("history")
        .height(ui.available_height().max(24.0))
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_double_click_reset(false)
        .sense(Sense::hover())
        .include_x(from)
        .include_x(to)
        .set_margin_fraction(vec2(0.0, 0.08))
        .auto_bounds(Vec2b::TRUE)
        .x_axis_formatter(|mark, _| format!("{}", mark.value))
        .show(ui, |plot| {
            for line in lines(&history.expected, "expected", Mark::Expected) {
                plot.line(line);
            }
            for line in lines(&history.got, "got", Mark::Got) {
                plot.line(line.style(LineStyle::dashed_loose()));
            }
            plot.vline(VLine::new("", after).color(palette.text).width(1.0));
        });
}

fn streams(ui: &mut Ui, model: &Model, palette: &Palette) {
    let texts: Vec<String> = model.streams.iter().map(ToString::to_string).collect();
    lines(ui, &texts, "the game has no random streams", palette);
}

fn header(ui: &mut Ui, model: &Model, palette: &Palette) {
    let Some(tape) = &model.tape else {
        quiet(ui, palette, "no tape is played");
        return;
    };
    let mut texts = vec![format!("tape: {}", tape.header.origin())];
    texts.extend(model.header_differences.iter().map(ToString::to_string));
    if model.header_differences.is_empty() {
        texts.push("tape and app agree in all that their headers say".into());
    }
    lines(ui, &texts, "", palette);
}

/// Texts below each other, which can be selected.
fn lines(ui: &mut Ui, texts: &[String], nothing: &str, palette: &Palette) {
    if texts.is_empty() {
        quiet(ui, palette, nothing);
        return;
    }
    ScrollArea::vertical().id_salt("lines").auto_shrink(false).show(ui, |ui| {
        for text in texts {
            ui.add(Label::new(RichText::new(text).text_style(TextStyle::Body)).wrap().selectable(true));
        }
    });
}

fn quiet(ui: &mut Ui, palette: &Palette, text: &str) {
    ui.add(Label::new(RichText::new(text).color(palette.quiet)).wrap());
}
