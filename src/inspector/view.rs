//! How the inspector looks. Reads the model, edits what is a matter of looking alone, and says what was asked for.

mod panes;
mod timeline;

use super::InspectorCommand as Command;
use super::model::{Model, Pane};
use super::palette::{Palette, paint_sign};
use super::timeline::{Mark, whole};
use crate::deck::{DeckState, Speed};
use crate::numbers::{clock, grouped, size};
use bevy_egui::egui::{
    Align, Button, ComboBox, Context, DragValue, Frame, Key, Label, Layout, Modifiers, ProgressBar, Rect, Response,
    RichText, Sense, TextEdit, Ui, UiBuilder, Vec2, WidgetInfo, WidgetType, Window, pos2, vec2,
};

/// Height of a row of text.
const ROW_HEIGHT: f32 = 18.0;
/// Distance of the window from the edges of the screen.
const MARGIN: f32 = 8.0;
/// Narrower than this, entities, fields and history take turns.
const WIDE: f32 = 860.0;

/// Shows the inspector's window.
pub(super) fn show(context: &Context, model: &mut Model, asked: &mut Vec<Command>) {
    let palette = Palette::new(context.theme() == bevy_egui::egui::Theme::Dark);
    let screen = context.content_rect().shrink(MARGIN);
    let mut style = (*context.global_style()).clone();
    palette.apply(&mut style.visuals);
    let mut frame = Frame::window(&style).inner_margin(8.0);
    frame.shadow.spread = 0;
    (frame.shadow.blur, frame.shadow.offset) = (8, [0, 2]);
    // What the frame takes.
    let around = vec2(18.0, 18.0);
    let height = (screen.height() * 0.6).max(400.0).min(screen.height() - around.y);
    let width = screen.width() - around.x;
    Window::new(RichText::new(title(model)).size(14.0).color(palette.text))
        .id("bevy_replay inspector".into())
        .frame(frame)
        .default_pos(pos2(screen.left(), screen.bottom() - height - around.y))
        .default_size(vec2(width, height))
        .min_size(vec2(480.0_f32.min(width), 240.0_f32.min(height)))
        .max_size(screen.size() - around)
        .constrain_to(screen)
        .show(context, |ui| {
            palette.apply(ui.visuals_mut());
            contents(ui, model, &palette, asked);
        });
}

fn title(model: &Model) -> String {
    match (&model.tape, model.status.state) {
        (_, DeckState::Recording { .. }) => "Replay: recording".into(),
        (Some(tape), _) => format!("Replay: {}", tape.header.origin()),
        (None, _) => "Replay: no tape".into(),
    }
}

/// Lays out what is inside the window; it takes all the room there is, and no more.
pub(super) fn contents(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
    let room = ui.available_rect_before_wrap();
    ui.set_min_size(room.size());
    // Parts do not make the window grow: what has no room is scrolled, or waits behind a tab.
    let part = |ui: &mut Ui, rect: Rect| ui.new_child(UiBuilder::new().max_rect(rect));
    let mut top = part(ui, room);
    deck(&mut top, model, palette, asked);
    let status = Rect::from_min_max(pos2(room.left(), room.bottom() - ROW_HEIGHT - 4.0), room.max);
    let middle =
        Rect::from_min_max(pos2(room.left(), top.min_rect().bottom() + 6.0), pos2(room.right(), status.top() - 6.0));
    let height = timeline::height(model).min(middle.height() * 0.45);
    let lines = Rect::from_min_size(middle.min, vec2(middle.width(), height));
    timeline::show(&mut part(ui, lines), model, palette, asked);
    let body = Rect::from_min_max(pos2(middle.left(), lines.bottom() + 8.0), middle.max);
    ui.painter().hline(body.x_range(), body.top() - 4.0, (1.0, palette.line));
    panes::show(ui, body, model, palette, asked);
    status_line(&mut part(ui, status), model, palette, asked);
    keys(ui, model, asked);
}

/// A button with a sign, which is called by a word.
fn sign_button(ui: &mut Ui, sign: &str, name: &str, tip: &str) -> Response {
    let button = Button::new(RichText::new(sign).size(14.0)).min_size(vec2(26.0, 22.0));
    named(ui, true, button, name).on_hover_text(format!("{name}  ({tip})"))
}

/// A button that is called otherwise than it looks.
fn named(ui: &mut Ui, is_enabled: bool, button: Button<'_>, name: &str) -> Response {
    let response = ui.add_enabled(is_enabled, button);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, is_enabled, name));
    response
}

/// Transport, where it stands, and what can be done with the tape.
fn deck(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        transport(ui, model, asked);
        place(ui, model, palette, asked);
        verdict(ui, model, palette, asked);
        actions(ui, model, asked);
    });
}

fn transport(ui: &mut Ui, model: &Model, asked: &mut Vec<Command>) {
    if sign_button(ui, "⏮", "First tick", "Home").clicked() {
        asked.push(Command::Seek(model.ticks.start));
    }
    if sign_button(ui, "«", "Previous keyframe", "Shift+Left").clicked() {
        asked.push(Command::Seek(model.keyframe(false)));
    }
    if sign_button(ui, "‹", "Step back", "Left").clicked() {
        asked.push(Command::Step(-1));
    }
    let (sign, name) = if is_running(model) { ("⏸", "Pause") } else { ("⏵", "Play") };
    if sign_button(ui, sign, name, "Space").clicked() {
        asked.push(toggled(model));
    }
    if sign_button(ui, "›", "Step", "Right").clicked() {
        asked.push(Command::Step(1));
    }
    if sign_button(ui, "»", "Next keyframe", "Shift+Right").clicked() {
        asked.push(Command::Seek(model.keyframe(true)));
    }
    if sign_button(ui, "⏭", "Last tick", "End").clicked() {
        asked.push(Command::Seek(model.ticks.end));
    }
}

/// Whether ticks run, as far as the user sees it.
fn is_running(model: &Model) -> bool {
    let is_at_end = model.status.is_replaying && model.status.tick >= model.ticks.end;
    let is_idle = model.status.state == DeckState::Idle && model.tape.is_some();
    !model.status.is_paused && !is_at_end && !is_idle
}

fn toggled(model: &Model) -> Command {
    if is_running(model) { Command::Pause } else { Command::Play }
}

/// Speed, tick and time.
fn place(ui: &mut Ui, model: &Model, palette: &Palette, asked: &mut Vec<Command>) {
    let speeds = [0.25, 0.5, 1.0, 2.0, 4.0, 16.0];
    let name = |speed: Speed| match speed {
        Speed::Normal => "1×".into(),
        Speed::Times(times) => format!("{times}×"),
        Speed::Max => "max".into(),
    };
    let combo = ComboBox::from_id_salt("speed").width(48.0).selected_text(name(model.status.speed));
    let combo = combo.show_ui(ui, |ui| {
        let speeds = speeds.map(|times| if times == 1.0 { Speed::Normal } else { Speed::Times(times) });
        for speed in speeds.into_iter().chain([Speed::Max]) {
            if ui.selectable_label(model.status.speed == speed, name(speed)).clicked() {
                asked.push(Command::Speed(speed));
            }
        }
    });
    combo.response.widget_info(|| WidgetInfo::labeled(WidgetType::ComboBox, true, "Speed"));
    let label = ui.label("tick");
    let first = model.ticks.start as f64 - 1.0;
    let mut tick = model.shown_tick().map_or(first, |tick| tick as f64);
    let drag = DragValue::new(&mut tick)
        .range(first..=model.ticks.end.saturating_sub(1) as f64)
        .speed(model.window.map_or(1.0, |window| window.length() / 500.0))
        .custom_formatter(move |tick, _| if tick <= first { "start".into() } else { grouped(whole(tick)) })
        .custom_parser(move |text| match text.trim() {
            "start" => Some(first),
            text => text.replace(',', "").parse().ok(),
        });
    if ui.add(drag).labelled_by(label.id).changed() {
        asked.push(Command::Seek(whole(tick + 1.0)));
    }
    let time = model.shown_tick().map_or(0.0, |tick| model.time_of(tick).as_secs_f64());
    let last = grouped(model.ticks.end.saturating_sub(1));
    ui.label(RichText::new(format!("/ {last}   {time:.2} s")).color(palette.quiet));
}

/// Whether the runs differ, and where.
fn verdict(ui: &mut Ui, model: &Model, palette: &Palette, asked: &mut Vec<Command>) {
    let (mark, text) = match (&model.report, model.divergence()) {
        (_, Some(found)) => {
            let at = found.tick.map_or_else(|| "before the first tick".into(), |tick| format!("at {}", grouped(tick)));
            (Mark::Differs, format!("diverges {at}"))
        }
        (Some(report), None) => {
            let mark = if report.is_verified() { Mark::Same } else { Mark::Activity };
            (mark, report.verdict.to_string())
        }
        (None, None) if model.status.is_replaying => (Mark::Same, "no difference so far".into()),
        (None, None) => return,
    };
    ui.separator();
    signed(ui, mark, &text, palette);
    if let Some(from) = model.status.doubtful_from.filter(|from| *from < model.status.tick) {
        signed(ui, Mark::Got, "doubtful", palette).on_hover_text(format!(
            "Tick {} was not the same when it was played again after a jump: the game has state that cannot be put back, and \
             what it got from there on is not that of straight playback. Play from the start to be sure.",
            grouped(from)
        ));
    }
    if model.divergence().is_some() && ui.button("Go").on_hover_text("Go to the first difference").clicked() {
        asked.push(Command::GoToDivergence);
    }
}

/// A sign and what it says.
fn signed(ui: &mut Ui, mark: Mark, text: &str, palette: &Palette) -> Response {
    let (rect, _) = ui.allocate_exact_size(Vec2::splat(12.0), Sense::hover());
    paint_sign(ui.painter(), rect.center(), 11.0, mark, palette);
    ui.label(text)
}

fn actions(ui: &mut Ui, model: &mut Model, asked: &mut Vec<Command>) {
    ui.separator();
    if let Some(report) = &model.report
        && ui.button("Copy report").clicked()
    {
        ui.copy_text(report.to_string());
        model.tell("the report is in the clipboard");
    }
    if model.can_export && (model.tape.is_some() || model.status.can_play) {
        match &mut model.test_name {
            None => {
                if ui.button("Export as test…").clicked() {
                    model.test_name = Some(String::new());
                }
            }
            Some(name) => {
                let entry = TextEdit::singleline(name).hint_text("name_of_the_test").desired_width(130.0);
                let entry = ui.add(entry);
                entry.widget_info(|| WidgetInfo::labeled(WidgetType::TextEdit, true, "Name of the test"));
                let submits = entry.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
                if (ui.button("Write").clicked() || submits) && !name.trim().is_empty() {
                    asked.push(Command::ExportAsTest(name.clone()));
                }
                if ui.button("Close entry").clicked() {
                    model.test_name = None;
                }
            }
        }
    }
    if model.status.is_replaying {
        let is_looped = model.status.looped.is_some();
        let button = Button::new("Loop view").selected(is_looped);
        if ui.add(button).on_hover_text("Play what the timeline shows, over and over").clicked() {
            let part = model.window.filter(|_| !is_looped).map(|window| {
                let place = |place: f64| window.tick_at(place, &model.ticks);
                place(0.0)..place(1.0) + 1
            });
            asked.push(Command::Loop(part));
        }
        if ui.button("Take over").on_hover_text("Live input from here on, recorded as a branch").clicked() {
            asked.push(Command::TakeOver);
        }
    }
    if model.status.branches.len() > 1 {
        let branches = &model.status.branches;
        let current = branches.iter().position(|branch| branch.is_current);
        let name =
            |index: usize| if branches[index].is_own { format!("tape {index}") } else { format!("branch {index}") };
        let combo = ComboBox::from_id_salt("branch").width(80.0).selected_text(current.map_or("…".into(), name));
        let combo = combo.show_ui(ui, |ui| {
            for (index, branch) in branches.iter().enumerate() {
                let text = format!("{}: from {}, {} ticks", name(index), grouped(branch.at), grouped(branch.ticks));
                if ui.selectable_label(branch.is_current, text).clicked() {
                    asked.push(Command::SwitchTo(index));
                }
            }
        });
        combo.response.widget_info(|| WidgetInfo::labeled(WidgetType::ComboBox, true, "Branch"));
    }
}

/// What is going on, and what came of the last thing.
fn status_line(ui: &mut Ui, model: &mut Model, palette: &Palette, asked: &mut Vec<Command>) {
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        let seek = model.status.seek.filter(|seek| seek.tick < seek.target).map(|seek| {
            let part = seek.tick.saturating_sub(seek.from) as f32 / seek.target.saturating_sub(seek.from).max(1) as f32;
            (format!("playing to tick {}", grouped(seek.target.saturating_sub(1))), part)
        });
        let work = model.work.map(|(what, part)| (what.to_owned(), part));
        if let Some((what, part)) = seek.or(work) {
            let bar = ui.add(ProgressBar::new(part).desired_width(160.0).show_percentage());
            bar.widget_info(|| WidgetInfo::labeled(WidgetType::ProgressIndicator, true, "Progress"));
            ui.label(&what);
            if ui.button("Cancel").clicked() {
                asked.push(Command::Cancel);
            }
        } else if model.is_exporting {
            ui.spinner();
            ui.label("writing the test"); // a file is written whole, or not at all
        } else if let Some(notice) = &model.notice {
            if notice.is_error {
                signed(ui, Mark::Differs, "", palette);
            }
            let text = notice.text.clone();
            ui.add(Label::new(&text).truncate()).on_hover_text(text);
        } else {
            let (trace, found) = model.size_bytes();
            let text = format!("kept {}", size((trace + found) as u64));
            ui.label(RichText::new(text).color(palette.quiet)).on_hover_text(format!(
                "{} of what was played, {} of what was found out from it",
                size(trace as u64),
                size(found as u64)
            ));
        }
    });
}

/// Keys as in a video player: while a tape is in the deck and nothing else wants them.
fn keys(ui: &Ui, model: &mut Model, asked: &mut Vec<Command>) {
    let focused = ui.memory(|memory| memory.focused());
    let is_free = focused.is_none() && model.status.is_replaying;
    if !is_free && focused != Some(timeline::id()) {
        return;
    }
    let mut on = |modifiers: Modifiers, key: Key, command: Command| {
        if ui.input_mut(|input| input.consume_key(modifiers, key)) {
            asked.push(command);
        }
    };
    on(Modifiers::SHIFT, Key::ArrowLeft, Command::Seek(model.keyframe(false)));
    on(Modifiers::SHIFT, Key::ArrowRight, Command::Seek(model.keyframe(true)));
    on(Modifiers::NONE, Key::ArrowLeft, Command::Step(-1));
    on(Modifiers::NONE, Key::ArrowRight, Command::Step(1));
    on(Modifiers::NONE, Key::Home, Command::Seek(model.ticks.start));
    on(Modifiers::NONE, Key::End, Command::Seek(model.ticks.end));
    on(Modifiers::NONE, Key::Space, toggled(model));
    for (key, factor) in [(Key::ArrowUp, 0.5), (Key::ArrowDown, 2.0)] {
        if ui.input_mut(|input| input.consume_key(Modifiers::NONE, key))
            && let Some(mut window) = model.window
        {
            let shown = model.shown_tick().unwrap_or(model.ticks.start);
            window.zoom(window.place(shown as f64 + 0.5).clamp(0.0, 1.0), factor, &model.ticks);
            model.window = Some(window);
        }
    }
}

/// The tick and its time, as in `482 (7.53 s)`.
fn tick_text(model: &Model, tick: u64) -> String {
    format!("{} ({})", grouped(tick), clock(model.time_of(tick)))
}

/// A tab of the panes.
fn tab(ui: &mut Ui, current: &mut Pane, pane: Pane, name: &str) {
    if ui.selectable_label(*current == pane, name).clicked() {
        *current = pane;
    }
}
