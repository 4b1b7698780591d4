//! The model against a real game, then the view by its labels.

use super::*;
use crate::deck::Detail;
use crate::{Canonical, Headless, ReplayAppExt, ReplayPlugin, Stream, StreamLabel, Tape, TickInput};
use bevy_app::{App, FixedUpdate, TaskPoolPlugin};
use bevy_ecs::name::Name;
use bevy_egui::egui::{Context, Event, FontId, Key, Modifiers, MouseWheelUnit, OutputCommand, TouchPhase, pos2, vec2};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, Node};
use model::Pane;
use std::sync::Arc;

type Done = Result<(), Box<dyn std::error::Error>>;

#[derive(Resource, Default, Clone, TickInput)]
struct Steer {
    x: i8,
}

#[derive(Component, Canonical, Clone)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Canonical, Clone)]
struct Speed(f32);

#[derive(Resource, Canonical, Default)]
struct Score(u32);

#[derive(StreamLabel)]
struct Loot;

/// The tick from which on the rules are others.
#[derive(Resource, Clone, Copy)]
struct Fault(Option<u64>);

/// How many ticks the tape has, and where the game differs from it.
const TICKS: u64 = 600;
const FAULT: u64 = 200;

fn game(fault: Option<u64>, detail: Detail) -> impl Fn(&mut App) + Copy + Send + Sync + 'static {
    move |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("inspected").rules(1).detail(detail))
            .record_input::<Steer>()
            .register_authoritative::<(Position, Speed)>()
            .register_authoritative_resource::<Score>()
            .register_stream::<Loot>()
            .init_resource::<Score>()
            .insert_resource(Fault(fault));
        app.add_systems(Startup, |mut commands: Commands| {
            for i in 0..20_u8 {
                let place = Position { x: f32::from(i) * 8.0, y: 1.0 };
                commands.spawn((Name::new(format!("Foe {i}")), place, Speed(0.25)));
            }
        });
        app.add_systems(FixedUpdate, play);
    }
}

fn play(
    steer: Res<Steer>,
    fault: Res<Fault>,
    tick: Res<SimTick>,
    mut score: ResMut<Score>,
    mut loot: Stream<Loot>,
    mut foes: Query<(&SimId, &mut Position, &Speed)>,
) {
    use rand::RngExt;
    let is_wrong = fault.0.is_some_and(|from| tick.0 >= from);
    for (id, mut place, speed) in &mut foes {
        place.x += speed.0 * f32::from(steer.x) * if is_wrong && id.0 == 3 { 1.5 } else { 1.0 };
    }
    if tick.0.is_multiple_of(4) && loot.random_bool(0.5) {
        score.0 += 1;
    }
}

fn recorded(ticks: u64, detail: Detail) -> Result<Arc<Tape>, crate::ReplayError> {
    let inputs = (0..ticks).map(|tick| Steer { x: if tick % 50 < 40 { 1 } else { -1 } });
    let run = Headless::new(game(None, detail)).detail(detail).inputs(inputs).run()?;
    Ok(run.tape().clone())
}

/// The game with the inspector, which plays a tape and stands before its first tick.
fn app_with(tape: Option<Arc<Tape>>, fault: Option<u64>, plugin: InspectorPlugin) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        bevy_input::InputPlugin,
        bevy_window::WindowPlugin { primary_window: None, ..Default::default() },
        game(fault, Detail::Values),
        plugin,
    ));
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    app.finish();
    app.cleanup();
    if let Some(tape) = tape {
        let mut deck = app.world_mut().resource_mut::<Deck>();
        deck.play(tape, PlayOptions::verify().held());
        for _ in 0..3 {
            app.update(); // it begins with a tick
        }
        let mut deck = app.world_mut().resource_mut::<Deck>();
        deck.pause();
        deck.seek(0);
    }
    for _ in 0..3 {
        app.update();
    }
    app
}

fn played(fault: Option<u64>, detail: Detail) -> Result<App, crate::ReplayError> {
    let tape = recorded(TICKS, detail)?;
    let mut app = app_with(Some(tape), fault, InspectorPlugin::default().open(true));
    app.world_mut().resource_mut::<Deck>().seek(TICKS);
    until(&mut app, |world| world.resource::<SimTick>().0 == TICKS);
    Ok(app)
}

/// Runs frames until something holds, and one more, so that the inspector has seen it.
fn until(app: &mut App, holds: impl Fn(&World) -> bool) {
    for _ in 0..10_000 {
        if holds(app.world()) {
            break;
        }
        app.update();
    }
    assert!(holds(app.world()), "it never holds");
    app.update();
    for _ in 0..1_000 {
        if model(app).work.is_none() {
            return;
        }
        app.update();
    }
    panic!("work never ends");
}

fn model(app: &App) -> &Model {
    &app.world().resource::<Inspector>().model
}

fn command(app: &mut App, command: InspectorCommand) {
    app.world_mut().write_message(command);
    app.update();
}

fn go_to(app: &mut App, tick: u64) {
    command(app, InspectorCommand::Seek(tick));
    until(app, |world| world.resource::<SimTick>().0 == tick && world.resource::<Deck>().transport.seek.is_none());
}

fn row<'a>(model: &'a Model, label: &str) -> Option<&'a timeline::Content> {
    model.rows.iter().find(|row| row.label == label).map(|row| &row.content)
}

/// From which part of the line on it says that the runs differ.
fn differs_from(model: &Model) -> Option<f32> {
    let Some(timeline::Content::Bars(bars)) = row(model, "types that differ") else { return None };
    let first = bars.iter().position(|(_, mark)| *mark == timeline::Mark::Differs)?;
    Some(first as f32 / bars.len() as f32)
}

#[test]
fn a_tape_with_values_says_which_fields_differ_and_both_values() -> Done {
    let mut app = played(Some(FAULT), Detail::Values)?;
    app.world_mut().resource_mut::<Inspector>().model.columns = 600;
    app.update();
    let at = differs_from(model(&app)).ok_or("it differs")?;
    assert!((at - FAULT as f32 / TICKS as f32).abs() < 0.003, "{at}");
    assert_eq!(model(&app).divergence_at(), Some(FAULT + 1));
    go_to(&mut app, FAULT);
    assert_eq!((model(&app).entities.len(), &*model(&app).types_that_differ), (0, &[][..]));
    command(&mut app, InspectorCommand::GoToDivergence);
    until(&mut app, |world| world.resource::<SimTick>().0 == FAULT + 1);
    assert_eq!(model(&app).entities, [(Some(3), 1)]);
    assert_eq!(model(&app).types_that_differ, ["Position"]);
    command(&mut app, InspectorCommand::Select { sim_id: Some(3), field: None });
    let fields: Vec<_> = model(&app).fields.iter().map(|field| (field.path.as_str(), field.differs)).collect();
    assert_eq!(fields, [(".x", true), (".y", false), (".0", false)]);
    let x = &model(&app).fields[0];
    assert!(x.expected != x.got && x.expected.is_some() && x.got.is_some() && x.ulps.is_some(), "{x:?}");
    Ok(())
}

#[test]
fn a_history_has_both_runs_and_finds_changes() -> Done {
    let mut app = played(Some(FAULT), Detail::Values)?;
    let field = Some(("Position".into(), ".x".into()));
    command(&mut app, InspectorCommand::Select { sim_id: Some(3), field });
    until(&mut app, |_| true);
    let history = model(&app).history.as_ref().ok_or("a history")?;
    let (expected, got) = (history.expected.points(), history.got.points());
    assert_eq!((expected.len() as u64, got.len() as u64), (TICKS + 1, TICKS + 1));
    let parts = expected.iter().zip(got).position(|(a, b)| a != b);
    assert_eq!(parts.map(|at| at as u64), Some(FAULT + 1), "the state after the tick of the fault");
    assert_eq!((history.change_before(300), history.change_after(300)), (Some(299), Some(301)));
    assert_eq!(history.change_after(TICKS), None);
    let drawn = history.got.strokes(0.0, TICKS as f64, 50);
    assert!(drawn.len() == 1 && drawn[0].len() <= 200, "{drawn:?}");
    Ok(())
}

#[test]
fn what_the_tape_does_not_hold_is_left_out() -> Done {
    for (detail, types) in [(Detail::Lanes, &["Position".to_owned()][..]), (Detail::Roots, &[])] {
        let mut app = played(Some(FAULT), detail)?;
        app.world_mut().resource_mut::<Inspector>().model.columns = 600;
        go_to(&mut app, FAULT + 1);
        let model = model(&app);
        assert!(differs_from(model).is_some(), "{detail:?}");
        assert_eq!(model.types_that_differ, types, "{detail:?}");
        assert!(!model.has_values() && model.entities.is_empty(), "{detail:?}");
        command(&mut app, InspectorCommand::Select { sim_id: Some(3), field: None });
        let fields = &self::model(&app).fields;
        assert!(fields.iter().all(|field| field.expected.is_none() && field.got.is_some() && !field.differs));
    }
    Ok(())
}

#[test]
fn runs_that_agree_differ_nowhere() -> Done {
    let mut app = played(None, Detail::Values)?;
    app.world_mut().resource_mut::<Inspector>().model.columns = 600;
    for tick in [TICKS, 0, 317, 64] {
        go_to(&mut app, tick);
        let model = model(&app);
        assert_eq!((differs_from(model), model.entities.len(), model.has_values()), (None, 0, true), "{tick}");
        assert_eq!(model.status.tick, tick);
    }
    Ok(())
}

#[test]
fn all_entities_are_listed_when_asked_for_and_a_filter_finds_names() -> Done {
    let mut app = played(Some(FAULT), Detail::Values)?;
    let mut inspector = app.world_mut().resource_mut::<Inspector>();
    (inspector.model.shows_all_entities, inspector.model.filter) = (true, String::new());
    app.update();
    let all = &model(&app).entities;
    assert_eq!((all.len(), all[0]), (21, (Some(3), 1)), "those that differ first, the resources among them");
    app.world_mut().resource_mut::<Inspector>().model.filter = "foe 1".into();
    app.update();
    assert_eq!(model(&app).entities.len(), 11, "1 and 10 to 19");
    Ok(())
}

#[test]
fn a_game_can_go_to_a_divergence_as_soon_as_it_hears_of_it() -> Done {
    let tape = recorded(TICKS, Detail::Values)?;
    let mut app = app_with(Some(tape), Some(FAULT), InspectorPlugin::default().open(true));
    app.add_observer(|_: On<Diverged>, mut commands: MessageWriter<InspectorCommand>| {
        commands.write(InspectorCommand::GoToDivergence);
    });
    app.world_mut().resource_mut::<Deck>().resume();
    until(&mut app, |world| world.resource::<Deck>().is_paused());
    until(&mut app, |world| world.resource::<SimTick>().0 == FAULT + 1);
    assert!(app.world().resource::<Deck>().is_paused());
    Ok(())
}

#[test]
fn a_stream_was_not_drawn_from_where_nothing_was_played() -> Done {
    let mut app = app_with(Some(recorded(TICKS, Detail::Lanes)?), None, InspectorPlugin::default().open(true));
    app.world_mut().resource_mut::<Inspector>().model.columns = 100;
    go_to(&mut app, TICKS / 2);
    let Some(timeline::Content::Bars(draws)) = row(model(&app), "draws of Loot") else { return Err("draws".into()) };
    let (played, unknown) = draws.split_at(50);
    assert!(played.iter().any(|(height, _)| *height == 1.0) && unknown.iter().all(|(height, _)| *height == 0.0));
    Ok(())
}

#[test]
fn the_timeline_has_lines_for_keyframes_inputs_and_streams() -> Done {
    let mut app = played(None, Detail::Values)?;
    app.world_mut().resource_mut::<Inspector>().model.columns = 600;
    app.update();
    let model = model(&app);
    let labels: Vec<&str> = model.rows.iter().map(|row| &*row.label).collect();
    assert_eq!(labels, ["types that differ", "keyframes", "Steer", "draws of Loot"]);
    let Some(timeline::Content::Points(_, keyframes)) = row(model, "keyframes") else { return Err("keyframes".into()) };
    assert_eq!(keyframes.len(), 10);
    let Some(timeline::Content::Bars(draws)) = row(model, "draws of Loot") else { return Err("draws".into()) };
    let drawn = draws.iter().filter(|(height, _)| *height > 0.0).count();
    assert_eq!(drawn, 150, "one draw in four ticks");
    let Some(timeline::Content::Bars(steer)) = row(model, "Steer") else { return Err("inputs".into()) };
    assert_eq!((steer[40].0, steer[45].0), (1.0, 0.5), "changes stand out of what is held");
    Ok(())
}

#[test]
fn a_selection_is_announced_with_the_entity_that_carries_it() -> Done {
    let mut app = played(None, Detail::Values)?;
    #[derive(Resource, Default)]
    struct Heard(Vec<InspectorSelection>);
    app.init_resource::<Heard>();
    app.add_observer(|on: On<InspectorSelected>, mut heard: ResMut<Heard>| heard.0.push(on.selection.clone()));
    command(&mut app, InspectorCommand::Select { sim_id: Some(7), field: Some(("Position".into(), ".x".into())) });
    app.update();
    let heard = &app.world().resource::<Heard>().0;
    assert_eq!((heard.len(), heard[0].sim_id, heard[0].path.as_deref()), (1, Some(7), Some(".x")));
    let entity = heard[0].entity.ok_or("its entity")?;
    assert_eq!(app.world().get::<SimId>(entity), Some(&SimId(7)));
    assert_eq!(app.world().resource::<InspectorSelection>(), &heard[0]);
    go_to(&mut app, 10);
    assert_eq!(app.world().resource::<Heard>().0.len(), 1, "nothing else is selected");
    Ok(())
}

#[test]
fn digests_are_the_same_with_the_inspector_open_closed_or_absent() -> Done {
    let roots = |plugin: Option<bool>| {
        let mut app = App::new();
        app.add_plugins((
            TaskPoolPlugin::default(),
            TimePlugin,
            bevy_input::InputPlugin,
            bevy_window::WindowPlugin { primary_window: None, ..Default::default() },
            game(None, Detail::Values),
        ));
        if let Some(is_open) = plugin {
            app.add_plugins(InspectorPlugin::default().open(is_open));
        }
        app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
        app.world_mut().resource_mut::<Deck>().record();
        for frame in 0..200 {
            app.world_mut().resource_mut::<Steer>().x = if frame % 9 < 5 { 1 } else { 0 };
            app.update();
        }
        app.world_mut().resource_mut::<Deck>().stop();
        app.update();
        app.world().resource::<Deck>().tape().map(|tape| tape.digests.roots.clone()).unwrap_or_default()
    };
    let bare = roots(None);
    assert!(bare.len() > 150);
    assert_eq!(roots(Some(false)), bare);
    assert_eq!(roots(Some(true)), bare);
    Ok(())
}

#[test]
fn what_was_played_stays_while_the_window_is_closed() -> Done {
    let mut app = played(Some(FAULT), Detail::Values)?;
    command(&mut app, InspectorCommand::Toggle);
    assert!(!app.world().resource::<Inspector>().is_open());
    command(&mut app, InspectorCommand::Toggle);
    until(&mut app, |_| true);
    let field = Some(("Position".into(), ".x".into()));
    command(&mut app, InspectorCommand::Select { sim_id: Some(3), field });
    until(&mut app, |_| true);
    assert_eq!(model(&app).history.as_ref().map(|history| history.got.points().len() as u64), Some(TICKS + 1));
    Ok(())
}

#[test]
fn a_tape_becomes_a_test_while_the_game_goes_on() -> Done {
    let folder = tempfile::tempdir()?;
    let plugin = InspectorPlugin::default().open(true).tests(folder.path(), "my_game::GamePlugin");
    let mut app = app_with(Some(recorded(60, Detail::Values)?), None, plugin);
    command(&mut app, InspectorCommand::ExportAsTest("third coin".into()));
    let told = |world: &World| world.resource::<Inspector>().model.notice.is_some();
    until(&mut app, told);
    assert!(model(&app).notice.as_ref().is_some_and(|notice| notice.is_error), "a bad name");
    app.world_mut().resource_mut::<Inspector>().model.notice = None;
    command(&mut app, InspectorCommand::ExportAsTest("third_coin".into()));
    until(&mut app, told);
    assert_eq!(model(&app).notice.as_ref().map(|notice| notice.is_error), Some(false), "{:?}", model(&app).notice);
    assert!(folder.path().join("third_coin.rs").is_file() && folder.path().join("tapes/third_coin.tape").is_file());
    Ok(())
}

/// The inspector as it is shown, with the game behind it.
fn shown(app: App, size: [f32; 2], scale: f32) -> Harness<'static, App> {
    let frame = |ui: &mut bevy_egui::egui::Ui, app: &mut App| {
        let mut asked = Vec::new();
        view::show(ui.ctx(), &mut app.world_mut().resource_mut::<Inspector>().model, &mut asked);
        app.world_mut().resource_mut::<Messages<InspectorCommand>>().write_batch(asked);
        app.update();
    };
    let mut harness = Harness::builder().with_size(size).with_pixels_per_point(scale).build_ui_state(frame, app);
    harness.run_steps(4);
    harness
}

fn large(app: App) -> Harness<'static, App> {
    shown(app, [1280.0, 720.0], 1.0)
}

/// Draws frames until something holds.
#[track_caller]
fn draw_until(harness: &mut Harness<'static, App>, holds: impl Fn(&Harness<'static, App>) -> bool) {
    for _ in 0..2_000 {
        if holds(harness) {
            harness.run_steps(2);
            return;
        }
        harness.step();
    }
    panic!("it never holds");
}

fn tick_of(harness: &Harness<'static, App>) -> u64 {
    harness.state().world().resource::<SimTick>().0
}

/// It stands at a tick, and knows what is expected there.
fn is_at(tick: u64) -> impl Fn(&Harness<'static, App>) -> bool {
    move |harness| tick_of(harness) == tick && model(harness.state()).work.is_none()
}

#[track_caller]
fn press(harness: &mut Harness<'static, App>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

#[test]
fn dragging_the_timeline_seeks() -> Done {
    let mut harness = large(played(Some(FAULT), Detail::Values)?);
    let rect = harness.get_by_label("Timeline").rect();
    let at = |part: f32| pos2(rect.left() + rect.width() * part, rect.bottom() - 4.0);
    harness.hover_at(at(0.1));
    harness.step();
    harness.drag_at(at(0.1));
    harness.step();
    for part in [0.2, 0.4, 0.75] {
        harness.hover_at(at(part));
        harness.run_steps(3);
    }
    harness.drop_at(at(0.75));
    draw_until(&mut harness, is_at(TICKS * 3 / 4 + 1));
    let value = harness.get_by_label("Timeline").value();
    assert_eq!(value.as_deref(), Some("450 (00:07)"));
    Ok(())
}

#[test]
fn the_wheel_zooms_where_the_pointer_is() -> Done {
    let mut harness = large(played(None, Detail::Values)?);
    let rect = harness.get_by_label("Timeline").rect();
    harness.hover_at(pos2(rect.left() + rect.width() * 0.5, rect.center().y));
    harness.step();
    for _ in 0..40 {
        let (unit, delta) = (MouseWheelUnit::Point, vec2(0.0, 60.0));
        harness.event(Event::MouseWheel { unit, delta, modifiers: Modifiers::NONE, phase: TouchPhase::Move });
        harness.run_steps(4);
    }
    let window = model(harness.state()).window.ok_or("a window")?;
    assert!(window.length() < 20.0 && (window.start..window.end).contains(&300.0), "{window:?}");
    Ok(())
}

#[test]
fn the_divergence_is_gone_to_and_selecting_it_shows_expected_and_got() -> Done {
    let mut harness = large(played(Some(FAULT), Detail::Values)?);
    harness.get_by_label("diverges at 200");
    press(&mut harness, "Go");
    draw_until(&mut harness, is_at(FAULT + 1));
    press(&mut harness, "sim:3 \"Foe 3\"");
    press(&mut harness, "Position.x");
    let field = model(harness.state()).fields.iter().find(|field| field.differs).cloned().ok_or("it differs")?;
    let (expected, got) = (field.expected.ok_or("expected")?, field.got.ok_or("got")?);
    assert_ne!(expected, got);
    harness.get_by_label(&expected);
    harness.get_by_label(&got);
    assert!(harness.query_by_label("Position.y").is_none(), "it does not differ");
    press(&mut harness, "all fields");
    harness.get_by_label("Position.y");
    press(&mut harness, "Next change");
    draw_until(&mut harness, is_at(FAULT + 2));
    press(&mut harness, "Previous change");
    draw_until(&mut harness, is_at(FAULT + 1));
    press(&mut harness, "Copy report");
    let copied = harness.state().world().resource::<Inspector>().model.notice.clone();
    assert_eq!(copied.map(|notice| notice.text).as_deref(), Some("the report is in the clipboard"));
    Ok(())
}

#[test]
fn the_report_is_copied_whole() -> Done {
    let mut harness = large(played(Some(FAULT), Detail::Values)?);
    harness.get_by_label("Copy report").click();
    let mut copied = String::new();
    for _ in 0..4 {
        harness.step();
        for command in &harness.output().platform_output.commands {
            if let OutputCommand::CopyText(text) = command {
                copied.clone_from(text);
            }
        }
    }
    assert!(copied.starts_with("diverged at tick 200 (3.12 s): sim:3 \"Foe 3\" Position.x expected "), "{copied}");
    Ok(())
}

#[test]
fn buttons_and_keys_step_and_jump() -> Done {
    let mut harness = large(played(None, Detail::Values)?);
    press(&mut harness, "First tick");
    draw_until(&mut harness, is_at(0));
    for (label, tick) in [
        ("Step", 1),
        ("Step", 2),
        ("Step back", 1),
        ("Next keyframe", 64),
        ("Next keyframe", 128),
        ("Previous keyframe", 64),
        ("Last tick", TICKS),
    ] {
        press(&mut harness, label);
        draw_until(&mut harness, is_at(tick));
    }
    harness.get_by_label("Timeline").focus();
    harness.run_steps(2);
    for (modifiers, key, tick) in [
        (Modifiers::NONE, Key::Home, 0),
        (Modifiers::NONE, Key::ArrowRight, 1),
        (Modifiers::SHIFT, Key::ArrowRight, 64),
        (Modifiers::NONE, Key::ArrowLeft, 63),
        (Modifiers::SHIFT, Key::ArrowLeft, 0),
        (Modifiers::NONE, Key::End, TICKS),
    ] {
        harness.key_press_modifiers(modifiers, key);
        draw_until(&mut harness, is_at(tick));
    }
    harness.key_press(Key::Home);
    draw_until(&mut harness, is_at(0));
    harness.key_press(Key::Space);
    draw_until(&mut harness, |harness| tick_of(harness) > 5);
    harness.key_press(Key::Space);
    draw_until(&mut harness, |harness| harness.state().world().resource::<Deck>().is_paused());
    Ok(())
}

#[test]
fn a_long_seek_shows_its_progress_and_is_cancelled() -> Done {
    let ticks = 20_000;
    let mut tape = Arc::unwrap_or_clone(recorded(100, Detail::Roots)?);
    tape.end.tick_count = ticks; // the last input is held; there are no digests to compare with
    tape.digests = Default::default();
    let mut harness = large(app_with(Some(Arc::new(tape)), None, InspectorPlugin::default().open(true)));
    harness.get_by_label("Last tick").click();
    draw_until(&mut harness, |harness| harness.query_by_label("playing to tick 19,999").is_some());
    harness.get_by_label("Cancel").click();
    draw_until(&mut harness, |harness| harness.state().world().resource::<Deck>().transport.seek.is_none());
    let reached = tick_of(&harness);
    assert!(reached > 0 && reached < ticks, "{reached}");
    harness.run_steps(5);
    assert_eq!(tick_of(&harness), reached, "it stays there");
    Ok(())
}

/// What can be used: it has a role that says so.
fn controls(harness: &Harness<'static, App>) -> Vec<String> {
    let is_control = |node: &Node<'_>| {
        let role = format!("{:?}", node.accesskit_node().role());
        ["Button", "CheckBox", "TextInput", "Slider", "ComboBox", "SpinButton"].contains(&&*role)
    };
    let name = |node: Node<'_>| name_of(&node);
    harness
        .root()
        .children_recursive()
        .filter(is_control)
        .filter(|node| !node.accesskit_node().is_disabled())
        .map(name)
        .collect()
}

fn name_of(node: &Node<'_>) -> String {
    let node = node.accesskit_node();
    node.label().or_else(|| node.value()).unwrap_or_else(|| format!("{:?} without a name", node.role()))
}

#[test]
fn every_control_has_a_name_and_is_reached_by_tab() -> Done {
    let folder = tempfile::tempdir()?;
    for (size, scale) in [([1280.0, 720.0], 1.0), ([640.0, 360.0], 2.0)] {
        let mut app = played(Some(FAULT), Detail::Values)?;
        app.world_mut().resource_mut::<Inspector>().model.can_export = true;
        app.world_mut().resource_mut::<Inspector>().tests = Some((folder.path().into(), "game".into()));
        go_to(&mut app, FAULT + 1);
        let field = Some(("Position".into(), ".x".into()));
        command(&mut app, InspectorCommand::Select { sim_id: Some(3), field });
        let mut harness = shown(app, size, scale);
        let wanted: std::collections::BTreeSet<String> = controls(&harness).into_iter().collect();
        assert!(wanted.len() > 18, "{wanted:?}");
        assert!(wanted.iter().all(|name| !name.contains("without a name") && !name.is_empty()), "{wanted:?}");
        let mut reached = std::collections::BTreeSet::new();
        for _ in 0..wanted.len() * 2 {
            harness.key_press(Key::Tab);
            harness.step();
            reached.extend(
                harness.root().children_recursive().filter(|node| node.is_focused()).map(|node| name_of(&node)),
            );
        }
        let missed: Vec<_> = wanted.difference(&reached).collect();
        assert!(missed.is_empty(), "not reached by Tab: {missed:?}; reached: {reached:?}");
    }
    Ok(())
}

#[test]
fn nothing_is_clipped_at_scale_1_and_2() -> Done {
    for (size, scale) in [([1280.0, 720.0], 1.0), ([640.0, 360.0], 2.0)] {
        for pane in [Pane::Entities, Pane::Fields, Pane::History, Pane::Inputs, Pane::Streams, Pane::Header] {
            let mut app = played(Some(FAULT), Detail::Values)?;
            go_to(&mut app, FAULT + 1);
            let field = Some(("Position".into(), ".x".into()));
            command(&mut app, InspectorCommand::Select { sim_id: Some(3), field });
            let inspector = &mut app.world_mut().resource_mut::<Inspector>();
            (inspector.model.pane, inspector.model.shows_all_fields) = (pane, true);
            let harness = shown(app, size, scale);
            let screen = bevy_egui::egui::Rect::from_min_size(pos2(0.0, 0.0), size.into());
            let mut seen: Vec<(String, bevy_egui::egui::Rect)> = Vec::new();
            for node in harness.root().children_recursive().filter(|node| node.children().next().is_none()) {
                let role = format!("{:?}", node.accesskit_node().role());
                if node.accesskit_node().bounding_box().is_none() || role == "Splitter" {
                    continue; // those at the window's edges
                }
                let (name, rect) = (name_of(&node), node.rect());
                assert!(screen.contains_rect(rect), "{name} at {rect:?} leaves the window ({scale}, {pane:?})");
                if role == "Button" {
                    let over = seen.iter().find(|(_, other)| other.shrink(1.0).intersects(rect.shrink(1.0)));
                    assert!(over.is_none(), "{name} at {rect:?} covers {over:?} ({scale}, {pane:?})");
                    seen.push((name, rect));
                }
            }
            assert!(seen.len() > 10, "{}", seen.len());
        }
    }
    Ok(())
}

#[test]
fn the_fonts_have_all_signs() {
    let context = Context::default();
    let mut output = context.run_ui(Default::default(), |ui| {
        for sign in "⏮«‹⏸⏵›»⏭×…“”".chars() {
            let has = ui.fonts_mut(|fonts| fonts.has_glyph(&FontId::proportional(14.0), sign));
            assert!(has, "{sign} {:x}", u32::from(sign));
        }
    });
    output.textures_delta.clear();
}
