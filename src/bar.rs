//! The recorder bar: record, replay, export and import in a corner of a shipped game.

mod files;
mod model;
mod text;
mod view;

use crate::ReplayPlugin;
use crate::deck::{Deck, DeckRefused, PlayOptions, RecordingSaved, ReplayFinished};
use crate::runtime;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_egui::input::EguiWantsInput;
use bevy_egui::{EguiContexts, EguiPlugin, EguiPrimaryContextPass};
use bevy_input::ButtonInput;
use bevy_input::keyboard::KeyCode;
use bevy_replay_tape::Tape;
use bevy_time::{Fixed, Real, Time};
use files::Jobs;
use model::{Model, Order, Settings};
use std::path::PathBuf;
use std::sync::Arc;

pub use model::{RecorderAction, RecorderToast};
pub use text::RecorderText;

/// Adds a bar with which a player records, marks, replays, exports and imports tapes.
///
/// Recordings go into files while the game runs, so that a crash leaves a tape ([`Deck::record_to`]).
///
/// It works alone in a shipped game, shows nothing that the player does not see in the game anyway, and waits for
/// nothing: files and dialogs are dealt with on Bevy's I/O tasks, and a toast says where a file went or why not. File
/// dialogs come from the system (on Linux from the XDG desktop portal); a path can be typed everywhere.
///
/// A recording begins at any moment of the game and holds the state there. A replay puts that state back: afterwards the
/// game goes on from where the tape ends.
///
/// Where [`ReplayPlugin::flight`] is set, the bar also takes the last seconds of play.
///
/// Its buttons and hotkeys write [`RecorderAction`] messages, which a game's own menu may write, too. Texts are in the
/// resource [`RecorderText`].
///
/// # Rendering
///
/// The bar is drawn with egui. Add `bevy_egui` 0.43 with its feature `render` to the game, unless it has it already:
/// Bevy's renderer asks for a newer Rust than this crate, so it is not a dependency here. [`EguiPlugin`] is added if it
/// is missing.
///
/// # Cost
///
/// Nothing in ticks. In each frame, one small egui area.
///
/// # Examples
///
/// ```no_run
/// # use bevy_app::prelude::*; use bevy_replay::prelude::*; use bevy_replay::RecorderBarPlugin;
/// # let mut app = App::new();
/// // after DefaultPlugins:
/// app.add_plugins((ReplayPlugin::new("my_game"), RecorderBarPlugin::default()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RecorderBarPlugin {
    /// In which corner of the window. Default: at the top on the right.
    pub corner: BarCorner,
    /// Where tapes go unless the player says otherwise. Default: `<data dir>/<game>/tapes`, with the system's folder
    /// for data of applications (`~/.local/share` on Linux), and the game as [`ReplayPlugin`] names it.
    pub folder: Option<PathBuf>,
    /// Hotkeys.
    pub keys: RecorderKeys,
    /// For developers: the crate's folder of tests, and the game as a Rust expression. Default: none.
    ///
    /// With it the bar offers to turn the tape at hand into a test; see [`import_tape`](crate::import_tape).
    pub tests: Option<(PathBuf, String)>,
}

impl RecorderBarPlugin {
    /// Sets [`corner`](Self::corner).
    #[must_use]
    pub fn corner(self, corner: BarCorner) -> Self {
        Self { corner, ..self }
    }

    /// Sets [`folder`](Self::folder).
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Sets [`keys`](Self::keys).
    #[must_use]
    pub fn keys(self, keys: RecorderKeys) -> Self {
        Self { keys, ..self }
    }

    /// Sets [`tests`](Self::tests).
    #[must_use]
    pub fn tests(self, folder: impl Into<PathBuf>, game: impl Into<String>) -> Self {
        Self { tests: Some((folder.into(), game.into())), ..self }
    }
}

/// A corner of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BarCorner {
    /// Top left.
    TopLeft,
    /// Top right.
    #[default]
    TopRight,
    /// Bottom left.
    BottomLeft,
    /// Bottom right.
    BottomRight,
}

/// Hotkeys of the recorder bar; `None` is none. They rest while a text field has the keyboard.
#[derive(Resource, Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecorderKeys {
    /// [`RecorderAction::ToggleRecording`]. Default: F5.
    pub record: Option<KeyCode>,
    /// [`RecorderAction::SaveLast`]. Default: F3.
    pub save_last: Option<KeyCode>,
    /// [`RecorderAction::Mark`]. Default: F6.
    pub mark: Option<KeyCode>,
    /// [`RecorderAction::Replay`]. Default: F7.
    pub replay: Option<KeyCode>,
    /// [`RecorderAction::Export`]. Default: F8.
    pub export: Option<KeyCode>,
    /// [`RecorderAction::Import`]. Default: F9.
    pub import: Option<KeyCode>,
    /// [`RecorderAction::MakeTest`]. Default: F10.
    pub make_test: Option<KeyCode>,
    /// [`RecorderAction::Discard`]. Default: F4.
    pub discard: Option<KeyCode>,
}

impl Default for RecorderKeys {
    fn default() -> Self {
        Self {
            record: Some(KeyCode::F5),
            save_last: Some(KeyCode::F3),
            mark: Some(KeyCode::F6),
            replay: Some(KeyCode::F7),
            export: Some(KeyCode::F8),
            import: Some(KeyCode::F9),
            make_test: Some(KeyCode::F10),
            discard: Some(KeyCode::F4),
        }
    }
}

/// The model, and where it is shown.
#[derive(Resource)]
struct Bar {
    model: Model,
    corner: BarCorner,
    /// The recording that was taken from the deck last.
    taken: Option<Arc<Tape>>,
}

impl Plugin for RecorderBarPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<EguiPlugin>() {
            app.add_plugins(EguiPlugin::default());
        }
        let settings = Settings { tests: self.tests.clone(), ..Settings::default() };
        let model = Model::new(settings);
        app.insert_resource(Bar { model, corner: self.corner, taken: None })
            .insert_resource(self.keys)
            .init_resource::<RecorderText>()
            .init_resource::<Jobs>()
            .add_message::<RecorderAction>()
            .add_message::<RecorderToast>();
        app.add_observer(|saved: On<RecordingSaved>, mut bar: ResMut<Bar>| bar.model.saved(&saved.path));
        app.add_observer(|done: On<ReplayFinished>, mut bar: ResMut<Bar>| bar.model.replayed(&done.report));
        app.add_observer(|no: On<DeckRefused>, mut bar: ResMut<Bar>| bar.model.refused(&no.error.to_string()));
        app.add_systems(PreUpdate, press_hotkeys.after(bevy_input::InputSystems));
        app.add_systems(Update, (follow, carry_out).chain());
        app.add_systems(EguiPrimaryContextPass, draw);
        #[cfg(feature = "raw-input")]
        app.add_systems(Update, keep_text_from_ticks);
    }

    /// The game's name is known once all plugins are there, whichever was added first.
    fn finish(&self, app: &mut App) {
        assert!(app.is_plugin_added::<ReplayPlugin>(), "RecorderBarPlugin needs ReplayPlugin (add it to the app)");
        let (game, flight) = runtime::with(app.world_mut(), |_, runtime| {
            (runtime.settings.game.clone(), runtime.settings.flight.clone())
        });
        let settings = &mut app.world_mut().resource_mut::<Bar>().model.settings;
        settings.folder = self.folder.clone().unwrap_or_else(|| files::default_folder(&game));
        settings.game = game;
        settings.flight_seconds = flight.map(|flight| flight.seconds);
    }
}

fn press_hotkeys(
    pressed: Option<Res<ButtonInput<KeyCode>>>,
    wants: Res<EguiWantsInput>,
    keys: Res<RecorderKeys>,
    bar: Res<Bar>,
    mut actions: MessageWriter<RecorderAction>,
) {
    let Some(pressed) = pressed.filter(|_| !wants.wants_any_keyboard_input()) else { return };
    let RecorderKeys { record, save_last, mark, replay, export, import, make_test, discard } = *keys;
    let tests = make_test.filter(|_| bar.model.settings.tests.is_some());
    for (key, action) in [
        (record, RecorderAction::ToggleRecording),
        (save_last, RecorderAction::SaveLast),
        (mark, RecorderAction::Mark),
        (replay, RecorderAction::Replay),
        (export, RecorderAction::Export),
        (import, RecorderAction::Import),
        (tests, RecorderAction::MakeTest),
        (discard, RecorderAction::Discard),
    ] {
        if key.is_some_and(|key| pressed.just_pressed(key)) {
            actions.write(action);
        }
    }
}

/// Brings the model up to date with what it shows.
fn follow(
    deck: Res<Deck>,
    text: Res<RecorderText>,
    fixed: Res<Time<Fixed>>,
    real: Res<Time<Real>>,
    mut jobs: ResMut<Jobs>,
    mut bar: ResMut<Bar>,
    mut toasts: MessageWriter<RecorderToast>,
) {
    let Bar { model, taken, .. } = &mut *bar;
    if let Some(tape) = deck.tape()
        && !taken.as_ref().is_some_and(|taken| Arc::ptr_eq(taken, tape))
    {
        *taken = Some(tape.clone());
        model.recorded(tape.clone());
    }
    model.deck = deck.state();
    model.timestep = fixed.timestep();
    if text.is_changed() {
        model.text = text.clone();
    }
    model.pass(real.delta());
    for outcome in jobs.finished() {
        model.finish(outcome);
    }
    toasts.write_batch(model.news.drain(..));
}

/// Does what the player wants. Exclusive, so that it runs on the main thread: dialogs are made here.
fn carry_out(world: &mut World, mut actions: Local<bevy_ecs::message::MessageCursor<RecorderAction>>) {
    let wanted: Vec<_> = actions.read(world.resource::<Messages<RecorderAction>>()).copied().collect();
    for action in wanted {
        let Some(order) = world.resource_mut::<Bar>().model.act(action) else { continue };
        let mut deck = world.resource_mut::<Deck>();
        match order {
            // A path with a slash at its end is a folder, also where it does not exist yet.
            Order::Record(folder) => deck.record_to(folder.join("")),
            Order::SaveFlight => deck.save_flight(),
            Order::Stop => deck.stop(),
            Order::Mark(text) => deck.mark(text),
            Order::Play(tape) => deck.play(tape, PlayOptions::verify()),
            Order::Work(job) => world.resource_mut::<Jobs>().start(job),
        }
    }
}

fn draw(
    mut contexts: EguiContexts,
    keys: Res<RecorderKeys>,
    mut bar: ResMut<Bar>,
    mut actions: MessageWriter<RecorderAction>,
) {
    let Ok(context) = contexts.ctx_mut() else { return }; // no window yet, or no more
    let Bar { model, corner, .. } = &mut *bar;
    let mut clicked = Vec::new();
    view::show(context, *corner, model, &keys, &mut clicked);
    actions.write_batch(clicked);
}

/// While the player types a path, keys are text: no tick sees them, and no tape holds them.
#[cfg(feature = "raw-input")]
fn keep_text_from_ticks(
    wants: Res<EguiWantsInput>,
    bar: Res<Bar>,
    focus: Option<ResMut<crate::TextFocus>>,
    mut has_keyboard: Local<bool>,
) {
    let types = bar.model.prompt.is_some() && wants.wants_any_keyboard_input();
    if let Some(mut focus) = focus
        && types != *has_keyboard
    {
        (focus.0, *has_keyboard) = (types, types);
    }
}

#[cfg(test)]
mod tests;
