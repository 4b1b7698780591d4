//! The model without egui, then the view by its labels.

use super::RecorderKeys;
use super::model::{Job, Model, Order, Outcome, RecorderAction as Action, Settings};
use super::view;
use crate::deck::DeckState;
use crate::import::{ImportSource, Imported};
use bevy_replay_tape::{Comparison, EndReason, Header, Tape, Verdict};
use core::time::Duration;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::PathBuf;
use std::sync::Arc;

type Done = Result<(), Box<dyn std::error::Error>>;

fn model() -> Model {
    let settings = Settings { folder: "tapes".into(), game: "my_game".into(), tests: None, flight_seconds: None };
    let mut model = Model::new(settings);
    model.timestep = Duration::from_nanos(15_625_000);
    model
}

fn tape(ticks: u64) -> Arc<Tape> {
    let mut tape = Tape::new(Header::new("my_game"));
    (tape.end.tick_count, tape.end.reason) = (ticks, EndReason::Stopped);
    Arc::new(tape)
}

fn recorded(ticks: u64) -> Model {
    let mut model = model();
    model.recorded(tape(ticks));
    model
}

fn last_toast(model: &Model) -> (&str, bool) {
    model.toasts.last().map_or(("", false), |toast| (&toast.told.text, toast.told.is_error))
}

fn entry(model: &mut Model, text: &str) -> Result<(), &'static str> {
    model.prompt.as_mut().ok_or("an open entry")?.entry = text.into();
    Ok(())
}

#[test]
fn one_glance_says_whether_it_records() {
    let mut model = model();
    assert_eq!(model.status(), None);
    model.deck = DeckState::Recording { tick_count: 2_624, size_bytes: 24_500 };
    assert_eq!(model.status().as_deref(), Some("00:41  2,624 ticks  24 KB"));
    model.deck = DeckState::Replaying { tick_count: 120, tick_count_max: 2_624 };
    assert_eq!(model.status().as_deref(), Some("120 of 2,624 ticks"));
}

#[test]
fn toggle_records_then_stops() {
    let mut model = model();
    assert_eq!(model.act(Action::ToggleRecording), Some(Order::Record("tapes".into())));
    model.deck = DeckState::Recording { tick_count: 5, size_bytes: 0 };
    assert_eq!(model.act(Action::ToggleRecording), Some(Order::Stop));
    model.deck = DeckState::Replaying { tick_count: 5, tick_count_max: 9 };
    assert_eq!(model.act(Action::ToggleRecording), None);
    assert_eq!(last_toast(&model), ("the recorder is busy (stop it first)", true));
}

#[test]
fn the_last_seconds_are_offered_where_the_game_keeps_them() {
    let mut model = model();
    assert_eq!(model.act(Action::SaveLast), None);
    model.settings.flight_seconds = Some(30);
    assert_eq!(model.act(Action::SaveLast), Some(Order::SaveFlight));
    let mut bar = shown(model);
    bar.get_by_label("Save last 30 s").click();
    bar.run();
    assert_eq!(bar.state().1, [Action::SaveLast]);
}

#[test]
fn marks_are_numbered_and_only_set_while_recording() {
    let mut model = model();
    assert_eq!(model.act(Action::Mark), None);
    assert!(last_toast(&model).1);
    model.deck = DeckState::Recording { tick_count: 5, size_bytes: 0 };
    assert_eq!(model.act(Action::Mark), Some(Order::Mark("mark 1".into())));
    assert_eq!(model.act(Action::Mark), Some(Order::Mark("mark 2".into())));
}

#[test]
fn a_recording_without_a_file_is_not_lost_by_recording_or_importing() {
    let mut model = recorded(30);
    for action in [Action::ToggleRecording, Action::Import] {
        assert_eq!(model.act(action), None);
        assert_eq!(last_toast(&model).0, "the last recording is not exported yet (export or discard it first)");
        assert!(model.prompt.is_none());
    }
}

#[test]
fn discarding_what_has_no_file_is_asked_twice_in_a_row() {
    let mut model = recorded(30);
    model.act(Action::Discard);
    assert_eq!(last_toast(&model), ("these 30 ticks are not exported; discard again to lose them", true));
    model.act(Action::Cancel); // something else comes between
    model.act(Action::Discard);
    assert!(model.at_hand.is_some());
    model.act(Action::Discard);
    assert!(model.at_hand.is_none());
    assert_eq!(last_toast(&model), ("discarded", false));
}

#[test]
fn a_recording_with_a_file_is_kept_and_makes_way_for_the_next() {
    let mut model = recorded(30);
    model.saved("tapes/my_game-0001.tape".as_ref());
    assert_eq!(last_toast(&model), ("saved to tapes/my_game-0001.tape", false));
    assert_eq!(model.status().as_deref(), Some("my_game-0001.tape: 30 ticks, 00:00"));
    assert!(matches!(model.act(Action::ToggleRecording), Some(Order::Record(_))));
    model.act(Action::Discard);
    assert_eq!(last_toast(&model), ("put aside; its file stays", false));
    assert!(model.at_hand.is_none());
}

#[test]
fn export_asks_where_and_says_where_the_file_went() -> Done {
    let mut model = recorded(30);
    let tape = model.at_hand.as_ref().ok_or("a tape")?.tape.clone();
    model.act(Action::Export);
    let path = PathBuf::from("tapes").join("my_game.tape");
    assert_eq!(model.prompt.as_ref().map(|prompt| prompt.entry.clone()), Some(path.display().to_string()));
    let order = model.act(Action::Submit);
    assert_eq!(order, Some(Order::Work(Job::Save { tape: tape.clone(), path: path.clone() })));
    assert_eq!(model.act(Action::Submit), None, "one job at a time");
    model.finish(Outcome::Saved { tape, path: path.clone() });
    assert_eq!(last_toast(&model), (&*format!("saved to {}", path.display()), false));
    assert!(model.prompt.is_none() && !model.has_unsaved());
    model.act(Action::Export);
    let second = model.prompt.as_ref().map(|prompt| prompt.entry.clone()).unwrap_or_default();
    assert!(second.ends_with("my_game-2.tape"), "{second}");
    Ok(())
}

#[test]
fn a_failed_export_keeps_the_entry_and_the_tape() -> Done {
    let mut model = recorded(30);
    model.act(Action::Export);
    model.act(Action::Submit);
    model.finish(Outcome::NotSaved { error: "disk full".into() });
    assert_eq!(last_toast(&model), ("not saved: disk full", true));
    assert!(model.has_unsaved() && model.prompt.is_some());
    entry(&mut model, "elsewhere.tape")?;
    assert!(
        matches!(model.act(Action::Submit), Some(Order::Work(Job::Save { path, .. })) if path.ends_with("elsewhere.tape"))
    );
    Ok(())
}

#[test]
fn import_takes_a_path_or_pasted_text() -> Done {
    let mut model = model();
    model.act(Action::Import);
    assert_eq!(model.act(Action::Submit), None, "nothing was entered");
    entry(&mut model, " \"a b.tape\" ")?;
    assert_eq!(model.act(Action::Submit), Some(Order::Work(Job::Open(ImportSource::Path("a b.tape".into())))));
    model.finish(Outcome::NotOpened { error: "damaged".into() });
    assert_eq!(last_toast(&model), ("not opened: damaged", true));
    entry(&mut model, "```ron\n(header: ())\n```")?;
    let text = ImportSource::Text("```ron\n(header: ())\n```".into());
    assert_eq!(model.act(Action::Submit), Some(Order::Work(Job::Open(text.clone()))));
    model.finish(Outcome::Opened { source: text, tape: tape(1_200) });
    assert_eq!(last_toast(&model), ("opened pasted tape, 1,200 ticks", false));
    assert_eq!(model.status().as_deref(), Some("pasted tape: 1,200 ticks, 00:18"));
    assert_eq!(model.act(Action::Replay), Some(Order::Play(tape(1_200))));
    Ok(())
}

#[test]
fn a_file_that_arrives_after_a_recording_does_not_replace_it() {
    let mut model = model();
    model.act(Action::Import);
    model.recorded(tape(7));
    model.finish(Outcome::Opened { source: ImportSource::Path("other.tape".into()), tape: tape(9) });
    assert_eq!(model.at_hand.map(|at_hand| at_hand.tape.tick_count()), Some(7));
}

#[test]
fn a_test_is_offered_to_developers_only() -> Done {
    let mut model = recorded(30);
    model.act(Action::MakeTest);
    assert!(model.prompt.is_none());
    model.settings.tests = Some(("tests".into(), "my_game::GamePlugin".into()));
    model.act(Action::MakeTest);
    entry(&mut model, "third_coin")?;
    let order = model.act(Action::Submit);
    assert!(matches!(order, Some(Order::Work(Job::MakeTest { name, .. })) if name == "third_coin"));
    model.finish(Outcome::TestWritten(Imported { tape: "t".into(), test: "tests/third_coin.rs".into() }));
    assert_eq!(last_toast(&model), ("wrote tests/third_coin.rs; say in it what should be true", false));
    Ok(())
}

#[test]
fn a_recording_that_reaches_a_limit_says_so() {
    let mut model = model();
    let mut full = Tape::new(Header::new("my_game"));
    (full.end.tick_count, full.end.reason) = (9, EndReason::CapacityReached);
    model.recorded(Arc::new(full));
    let text = "recorded 9 ticks, complete up to the recorder's limit; the game goes on";
    assert_eq!(last_toast(&model), (text, true));
}

#[test]
fn a_replay_tells_the_first_line_of_its_report() {
    let mut model = recorded(3);
    let header = Header::new("my_game");
    let mut report = Comparison::new(&header, &header).finish(3, 3);
    (report.verdict, report.compared) = (Verdict::Verified, 3);
    model.replayed(&report);
    assert_eq!(last_toast(&model), ("verified: replayed 3 ticks, 0 diverged", false));
    report.verdict = Verdict::Unverified;
    report.notes = vec!["a note that is too long for a toast".into()];
    model.replayed(&report);
    assert_eq!(last_toast(&model), ("unverified: replayed 3 ticks, 0 diverged", true));
}

#[test]
fn toasts_go_away_and_errors_stay_longer() {
    let mut model = model();
    model.refused("no");
    model.recorded(tape(1));
    model.pass(Duration::from_secs(10));
    assert_eq!(model.toasts.len(), 1);
    assert_eq!(last_toast(&model), ("no", true));
    model.pass(Duration::from_secs(10));
    assert!(model.toasts.is_empty());
}

/// The bar as it is shown, and what was clicked.
fn shown(model: Model) -> Harness<'static, (Model, Vec<Action>)> {
    Harness::builder().with_size([900.0, 500.0]).build_ui_state(
        |ui, state| view::bar(ui, &mut state.0, &RecorderKeys::default(), &mut state.1),
        (model, Vec::new()),
    )
}

#[test]
fn an_idle_bar_offers_to_record_and_to_import() {
    let mut bar = shown(model());
    bar.get_by_label("Import…").click();
    bar.run();
    bar.get_by_label("Record").click();
    bar.run();
    assert_eq!(bar.state().1, [Action::Import, Action::ToggleRecording]);
    assert!(bar.query_by_label("Replay").is_none());
}

#[test]
fn a_recording_bar_shows_its_length_and_offers_stop_and_mark() {
    let mut recording = model();
    recording.deck = DeckState::Recording { tick_count: 64, size_bytes: 900 };
    let mut bar = shown(recording);
    bar.get_by_label("00:01  64 ticks  900 B");
    bar.get_by_label("Mark").click();
    bar.run();
    bar.get_by_label("Stop").click();
    bar.run();
    assert_eq!(bar.state().1, [Action::Mark, Action::ToggleRecording]);
}

#[test]
fn a_bar_with_a_recording_offers_what_can_be_done_with_it() {
    let mut bar = shown(recorded(64));
    for (label, action) in [("Replay", Action::Replay), ("Export…", Action::Export), ("Discard", Action::Discard)] {
        bar.get_by_label(label).click();
        bar.run();
        assert_eq!(bar.state().1.last(), Some(&action));
    }
    assert!(bar.query_by_label("Record").is_none(), "it would be lost");
    bar.get_by_label("recorded 64 ticks");
}

#[test]
fn an_entry_takes_the_keyboard_and_enter_submits_it() {
    let mut model = recorded(64);
    model.act(Action::Export);
    let mut bar = shown(model);
    bar.run();
    bar.key_press(bevy_egui::egui::Key::End);
    bar.event(bevy_egui::egui::Event::Text("x".into()));
    bar.run();
    let entry = bar.state().0.prompt.as_ref().map(|prompt| prompt.entry.clone()).unwrap_or_default();
    assert!(entry.ends_with("my_game.tapex"), "{entry}");
    bar.key_press(bevy_egui::egui::Key::Enter);
    bar.run();
    assert_eq!(bar.state().1, [Action::Submit]);
    bar.get_by_label("Cancel").click();
    bar.run();
    assert_eq!(bar.state().1.last(), Some(&Action::Cancel));
}

#[test]
fn all_texts_come_from_one_place() {
    let mut model = model();
    model.text.record = "Aufnehmen".into();
    shown(model).get_by_label("Aufnehmen");
}
