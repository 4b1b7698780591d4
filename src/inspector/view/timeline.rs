//! The timeline as it is painted: one widget, with a label beside each of its lines.

use super::super::InspectorCommand as Command;
use super::super::model::Model;
use super::super::palette::{Palette, paint_sign};
use super::super::timeline::{Content, Mark, count};
use super::tick_text;
use bevy_egui::egui::text::{LayoutJob, TextWrapping};
use bevy_egui::egui::{
    Align2, CursorIcon, EventFilter, FontId, Id, Rect, Response, ScrollArea, Sense, Shape, Stroke, StrokeKind, Ui,
    WidgetInfo, WidgetType, pos2, vec2,
};

/// Height of a line, and of its bars.
const LINE: f32 = 20.0;
const BAR: f32 = 16.0;
/// Width of the labels.
const LABELS: f32 = 128.0;
/// Width of a column.
const COLUMN: f32 = 2.0;
/// A click may miss a sign by so much.
const REACH: f32 = 5.0;

/// What egui calls the timeline.
pub(super) fn id() -> Id {
    Id::new("bevy_replay timeline")
}

/// Returns how high it is with all its lines.
pub(super) fn height(model: &Model) -> f32 {
    model.rows.len().max(1) as f32 * LINE
}

pub(super) fn show(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    ScrollArea::vertical().id_salt("timeline").auto_shrink(false).show(ui, |ui| {
        let size = vec2(ui.available_width(), height(model));
        let (whole, _) = ui.allocate_exact_size(size, Sense::hover());
        let labels = (whole.width() * 0.25).min(LABELS);
        let rect = Rect::from_min_max(pos2(whole.left() + labels, whole.top()), whole.max);
        let columns = count(rect.width(), COLUMN).max(1);
        model.columns = columns;
        let response = ui.interact(rect, id(), Sense::click_and_drag());
        paint(ui, whole, rect, model, palette);
        describe(&response, model);
        react(ui, &response, rect, model, asked);
        if response.has_focus() {
            ui.painter().rect_stroke(rect, 2.0, Stroke::new(1.5, palette.text), StrokeKind::Inside);
        }
    });
}

fn describe(response: &Response, model: &Model) {
    let value = model.shown_tick().map_or_else(|| "before the first tick".into(), |tick| tick_text(model, tick));
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(WidgetType::Slider, true, "Timeline");
        info.value = Some(model.shown_tick().map_or(-1.0, |tick| tick as f64));
        info.current_text_value = Some(value.clone());
        info
    });
}

fn paint(ui: &Ui, whole: Rect, rect: Rect, model: &Model, palette: &Palette) {
    let Some(window) = model.window else { return };
    let painter = ui.painter_at(whole);
    let font = FontId::proportional(12.0);
    let x = |tick: f64| window.x(tick, rect.left(), rect.width());
    painter.rect_filled(rect, 2.0, palette.deep);
    if model.rows.is_empty() {
        let text = "no ticks yet: record, or play a tape";
        painter.text(rect.center(), Align2::CENTER_CENTER, text, font.clone(), palette.quiet);
    }
    for (index, row) in model.rows.iter().enumerate() {
        let top = rect.top() + index as f32 * LINE;
        let bottom = top + (LINE + BAR) / 2.0;
        if index > 0 {
            painter.hline(rect.x_range(), top, (0.5, palette.line));
        }
        let label = ui.fonts_mut(|fonts| {
            let room = rect.left() - whole.left() - 8.0;
            let mut job = LayoutJob::simple_singleline(row.label.clone(), font.clone(), palette.quiet);
            job.wrap = TextWrapping::truncate_at_width(room);
            fonts.layout_job(job)
        });
        let at = pos2(whole.left() + 2.0, top + (LINE - label.size().y) / 2.0);
        painter.galley(at, label, palette.quiet);
        match &row.content {
            Content::Bars(bars) => {
                let width = rect.width() / bars.len().max(1) as f32;
                let mut shapes = Vec::new();
                // Neighbours of one height are one bar.
                let mut start = 0;
                for end in 1..=bars.len() {
                    if end < bars.len() && bars[end] == bars[start] {
                        continue;
                    }
                    let (height, mark) = bars[start];
                    if height > 0.0 {
                        let left = rect.left() + start as f32 * width;
                        let right = rect.left() + end as f32 * width;
                        let bar = Rect::from_min_max(pos2(left, bottom - BAR * height), pos2(right, bottom));
                        shapes.push(Shape::rect_filled(bar, 0.0, palette.color(mark)));
                    }
                    start = end;
                }
                painter.extend(shapes);
            }
            Content::Points(mark, points) => {
                let mut last = f32::NEG_INFINITY;
                for (tick, _) in points {
                    let x = x(*tick as f64);
                    if x - last >= COLUMN && x >= rect.left() && x <= rect.right() {
                        let height = if *mark == Mark::Keyframe { BAR * 0.6 } else { BAR * 0.75 };
                        paint_sign(&painter, pos2(x, top + LINE / 2.0), height, *mark, palette);
                        last = x;
                    }
                }
            }
        }
    }
    if let Some(part) = &model.status.looped {
        let (left, right) = (x(part.start as f64).max(rect.left()), x(part.end as f64).min(rect.right()));
        if left < right {
            painter.hline(left..=right, rect.top() + 1.0, (2.0, palette.text));
        }
    }
    // The first difference, and where we are, over all lines.
    if let Some(found) = model.divergence_at() {
        let x = x(found.saturating_sub(1) as f64);
        if rect.x_range().contains(x) {
            painter.vline(x, rect.y_range(), (1.0, palette.color(Mark::Differs)));
            paint_sign(&painter, pos2(x, rect.top() + 6.0), 9.0, Mark::Differs, palette);
        }
    }
    let after = model.status.seek.map_or(model.status.tick, |seek| seek.target) as f64;
    let column = Rect::from_x_y_ranges(x((after - 1.0).max(window.start))..=x(after), rect.y_range()).intersect(rect);
    if column.width() > 4.0 {
        painter.rect_filled(column, 0.0, palette.text.gamma_multiply(0.18));
    }
    if rect.x_range().contains(x(after)) {
        painter.vline(x(after), rect.y_range(), (1.5, palette.text));
    }
}

/// Drags seek, the wheel zooms, and signs say what they are.
fn react(ui: &Ui, response: &Response, rect: Rect, model: &mut Model, asked: &mut Vec<Command>) {
    if response.has_focus() {
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    }
    if response.clicked() || response.drag_started() {
        response.request_focus();
    }
    let Some(mut window) = model.window else { return };
    let place = |x: f32| f64::from((x - rect.left()) / rect.width());
    if (response.clicked() || response.dragged())
        && let Some(pointer) = response.interact_pointer_pos()
        && !model.ticks.is_empty()
    {
        let near = |tick: u64| {
            let x = window.x(tick as f64, rect.left(), rect.width());
            (x - pointer.x).abs() <= REACH
        };
        // A click on a sign goes to just where it stands.
        let row = model.rows.get(count(pointer.y - rect.top(), LINE));
        let sign = row.filter(|_| response.clicked()).and_then(|row| match &row.content {
            Content::Points(_, points) => points.iter().map(|(tick, _)| *tick).find(|tick| near(*tick)),
            Content::Bars(_) => None,
        });
        let target = sign.unwrap_or_else(|| window.tick_at(place(pointer.x), &model.ticks) + 1);
        if model.status.seek.map_or(model.status.tick, |seek| seek.target) != target {
            if !model.status.is_paused {
                asked.push(Command::Pause);
            }
            asked.push(Command::Seek(target));
        }
    }
    if let Some(pointer) = response.hover_pos() {
        let (zoom, scroll) = ui.input(|input| (input.zoom_delta(), input.smooth_scroll_delta()));
        if scroll.y != 0.0 || zoom != 1.0 {
            let turn = scroll.y / 200.0;
            let turned = if turn > 0.0 { 1.0 / (1.0 + turn) } else { 1.0 - turn };
            let factor = f64::from(turned / zoom);
            window.zoom(place(pointer.x), factor, &model.ticks);
            ui.input_mut(|input| input.smooth_scroll_delta = vec2(input.smooth_scroll_delta.x, 0.0));
        }
        if scroll.x != 0.0 {
            window.pan(f64::from(-scroll.x / rect.width()), &model.ticks);
        }
        model.window = Some(window);
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
        if !model.ticks.is_empty() && !response.dragged() {
            let tick = window.tick_at(place(pointer.x), &model.ticks);
            let mut text = format!("tick {}", tick_text(model, tick));
            if let Some(row) = model.rows.get(count(pointer.y - rect.top(), LINE)) {
                text = format!("{}\n{text}", row.label);
                if let Content::Points(_, points) = &row.content {
                    let x = |tick: u64| window.x(tick as f64, rect.left(), rect.width());
                    let near = points.iter().find(|(tick, _)| (x(*tick) - pointer.x).abs() <= REACH);
                    if let Some((_, note)) = near.filter(|(_, note)| !note.is_empty()) {
                        text = format!("{text}\n{note}");
                    }
                }
            }
            response.clone().on_hover_text_at_pointer(text);
        }
    }
}
