//! The divergence inspector: a window in which both runs are looked at side by side, at any tick.

mod compare;
mod history;
mod model;
mod palette;
mod timeline;
mod view;

use crate::deck::{Deck, DeckRefused, DeckState, Diverged, PlayOptions, ReplayFinished, Speed};
use crate::import::{ImportError, ImportSource, Imported, import_tape};
use crate::runtime::{self, names};
use crate::state::SimId;
use crate::tick::SimTick;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_egui::{EguiContexts, EguiPlugin, EguiPrimaryContextPass};
use bevy_input::ButtonInput;
use bevy_input::keyboard::KeyCode;
use bevy_platform::time::Instant;
use bevy_replay_tape::Tape;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{IoTaskPool, Task, TaskPool};
use bevy_time::{Fixed, Time};
use core::ops::Range;
use core::time::Duration;
use model::{BranchRow, Model, Seen, Selection, Status};
use std::path::PathBuf;
use std::sync::Arc;

/// Adds the inspector: a window that shows where a replay differs from its tape, and lets one go to any tick.
///
/// It opens with a key (F12). While it is open, what is played is kept, so that both runs can be looked at: digests of
/// types, eight bytes per type and tick, and values within [`trace_bytes`](Self::trace_bytes). What is expected comes
/// from the tape: values from one that was recorded with [`Detail::Values`](crate::Detail::Values), types that differ
/// from [`Detail::Lanes`](crate::Detail::Lanes). [The guide](crate::guide::inspector) shows what each part says.
///
/// What is selected is in [`InspectorSelection`], and told by [`InspectorSelected`], so that a game can highlight it.
/// Its buttons and keys write [`InspectorCommand`] messages, which a game may write, too.
///
/// # Rendering
///
/// As for the recorder bar: add `bevy_egui` 0.43 with its feature `render` to the game. [`EguiPlugin`] is added if it
/// is missing.
///
/// # Cost
///
/// Closed: nothing in ticks, and no memory but that of what was kept while it was open. Open: a copy of the state, and
/// what it changed, in each tick.
///
/// # Examples
///
/// ```no_run
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # use bevy_replay::{InspectorPlugin, InspectorSelected};
/// # let mut app = App::new();
/// // after DefaultPlugins:
/// app.add_plugins((ReplayPlugin::new("my_game"), InspectorPlugin::default()));
/// app.add_observer(|selected: On<InspectorSelected>| println!("{:?}", selected.selection.entity));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectorPlugin {
    /// Opens and closes the window. Default: F12; `None` is none.
    pub key: Option<KeyCode>,
    /// Whether it is open from the start. Default: false.
    pub is_open: bool,
    /// How many bytes of values are kept of what is played; the oldest go first. Default: 256 MiB.
    pub trace_bytes: usize,
    /// The crate's folder of tests, and the game as a Rust expression; see [`import_tape`]. Default: none.
    ///
    /// With it, the tape at hand can be turned into a test.
    pub tests: Option<(PathBuf, String)>,
}

impl Default for InspectorPlugin {
    fn default() -> Self {
        Self { key: Some(KeyCode::F12), is_open: false, trace_bytes: 256 << 20, tests: None }
    }
}

impl InspectorPlugin {
    /// Sets [`key`](Self::key).
    #[must_use]
    pub fn key(self, key: Option<KeyCode>) -> Self {
        Self { key, ..self }
    }

    /// Sets [`is_open`](Self::is_open).
    #[must_use]
    pub fn open(self, is_open: bool) -> Self {
        Self { is_open, ..self }
    }

    /// Sets [`trace_bytes`](Self::trace_bytes).
    #[must_use]
    pub fn trace_bytes(self, trace_bytes: usize) -> Self {
        Self { trace_bytes, ..self }
    }

    /// Sets [`tests`](Self::tests).
    #[must_use]
    pub fn tests(self, folder: impl Into<PathBuf>, game: impl Into<String>) -> Self {
        Self { tests: Some((folder.into(), game.into())), ..self }
    }
}

/// Message: something is to be done, as by a button of the inspector.
#[derive(Message, Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InspectorCommand {
    /// Opens or closes the window.
    Toggle,
    /// Lets ticks go on: from the start where the tape is at its end, and with the last tape where none is played.
    Play,
    /// Stops the ticks.
    Pause,
    /// Pauses, and runs so many ticks, or goes back by so many.
    Step(i64),
    /// Goes to where so many ticks have run.
    Seek(u64),
    /// Goes to the first tick whose state differs.
    GoToDivergence,
    /// Sets how fast ticks run.
    Speed(Speed),
    /// Plays a part of the tape over and over, or no longer.
    Loop(Option<Range<u64>>),
    /// Lets the player go on from here.
    TakeOver,
    /// Puts another branch into the deck.
    SwitchTo(usize),
    /// Turns the tape at hand into a test of this name.
    ExportAsTest(String),
    /// Selects an entity, or the resources, and a field of it.
    Select {
        /// The entity; `None` for the resources.
        sim_id: Option<u64>,
        /// Name of the type, and the path of the field as in a report, as `.velocity.x`.
        field: Option<(String, String)>,
    },
    /// Ends what is going on, as a seek.
    Cancel,
}

/// What is selected in the inspector.
#[derive(Resource, Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InspectorSelection {
    /// The entity; `None` if none is, or the resources are.
    pub sim_id: Option<u64>,
    /// Who carries that sim id now; `None` where it does not exist at this tick.
    pub entity: Option<Entity>,
    /// Name of the type of the selected field.
    pub type_name: Option<String>,
    /// Path of the selected field, as in a report.
    pub path: Option<String>,
}

/// Event: something else is selected, or another entity carries the selected sim id.
#[derive(Event, Debug, Clone)]
pub struct InspectorSelected {
    /// What is selected now.
    pub selection: InspectorSelection,
}

/// The inspector's window.
#[derive(Resource)]
#[expect(missing_debug_implementations, reason = "it holds what it shows")]
pub struct Inspector {
    model: Model,
    is_open: bool,
    trace_bytes: usize,
    key: Option<KeyCode>,
    tests: Option<(PathBuf, String)>,
    export: Option<Task<Result<Imported, ImportError>>>,
}

impl Inspector {
    /// Returns whether the window is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Returns about how many bytes are kept: of what was played, and of what was found out from it.
    #[must_use]
    pub fn size_bytes(&self) -> (usize, usize) {
        self.model.size_bytes()
    }
}

/// How long work may keep a frame from being drawn, when it cannot be done at once.
const FRAME_BUDGET: Duration = Duration::from_millis(2);

impl Plugin for InspectorPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<EguiPlugin>() {
            app.add_plugins(EguiPlugin::default());
        }
        let Self { key, is_open, trace_bytes, tests } = self.clone();
        let mut inspector =
            Inspector { model: Model::default(), is_open: false, trace_bytes, key, tests, export: None };
        inspector.model.can_export = inspector.tests.is_some();
        app.insert_resource(inspector).init_resource::<InspectorSelection>().add_message::<InspectorCommand>();
        app.add_observer(|found: On<Diverged>, mut inspector: ResMut<Inspector>| {
            inspector.model.take_report(&found.report);
        });
        app.add_observer(|done: On<ReplayFinished>, mut inspector: ResMut<Inspector>| {
            inspector.model.take_report(&done.report);
        });
        app.add_observer(|no: On<DeckRefused>, mut inspector: ResMut<Inspector>| {
            inspector.model.tell_error(no.error.to_string());
        });
        app.add_systems(PreUpdate, press_hotkey.after(bevy_input::InputSystems));
        app.add_systems(Update, (carry_out, follow, announce).chain());
        app.add_systems(EguiPrimaryContextPass, draw);
        #[cfg(feature = "raw-input")]
        app.add_systems(Update, keep_keys_from_ticks);
        if is_open {
            app.add_systems(PreStartup, |mut commands: MessageWriter<InspectorCommand>| {
                commands.write(InspectorCommand::Toggle);
            });
        }
    }

    fn finish(&self, app: &mut App) {
        let has_core = app.is_plugin_added::<crate::ReplayPlugin>();
        assert!(has_core, "InspectorPlugin needs ReplayPlugin (add it to the app)");
        if self.is_open {
            // From the first tick on, whatever the first frame does.
            runtime::with(app.world_mut(), |world, runtime| runtime.run_trace(world, Some(self.trace_bytes)));
        }
    }
}

fn press_hotkey(
    pressed: Option<Res<ButtonInput<KeyCode>>>,
    inspector: Res<Inspector>,
    mut commands: MessageWriter<InspectorCommand>,
) {
    if inspector.key.zip(pressed).is_some_and(|(key, pressed)| pressed.just_pressed(key)) {
        commands.write(InspectorCommand::Toggle);
    }
}

/// Brings the model up to date with the game.
fn follow(world: &mut World) {
    if !world.resource::<Inspector>().is_open {
        return;
    }
    world.resource_scope(|world, mut inspector: Mut<Inspector>| {
        inspector.look_after_export();
        let model = &mut inspector.model;
        runtime::with(world, |world, runtime| {
            let touched = runtime.trace.as_mut().and_then(|trace| trace.take_touched());
            let filled = runtime.trace.as_mut().and_then(|trace| trace.take_filled());
            let doubtful_from = runtime.unfaithful_at;
            let tick = world.resource::<SimTick>().0;
            let known = model.tape.as_ref();
            let is_new = |tape: &Arc<Tape>| !known.is_some_and(|known| Arc::ptr_eq(known, tape));
            let has_new = runtime.playback.as_ref().is_some_and(|playback| is_new(&playback.tape));
            let header = has_new.then(|| runtime.header(world, tick));
            let inspected = runtime.inspected(world);
            let seen = Seen {
                status: Status { doubtful_from, ..status(world, inspected.tape) },
                tape: inspected.tape,
                recorded: inspected.recorded,
                history: inspected.history,
                trace: inspected.trace,
                touched,
                filled,
                image: inspected.image,
                app: &|| header.clone().unwrap_or_default(),
            };
            let until = now() + FRAME_BUDGET;
            let roster = model.roster().clone();
            model.update(&seen, &|| now() < until);
            if !Arc::ptr_eq(&roster, model.roster()) && roster != *model.roster() {
                model.name(names(world, model.roster().iter().copied().collect::<Vec<_>>().into_iter()));
            }
        });
    });
}

#[expect(clippy::disallowed_methods, reason = "a frame must be drawn now and then; it reaches no tick")]
fn now() -> Instant {
    Instant::now()
}

/// What the deck is doing.
fn status(world: &World, tape: Option<&Arc<Tape>>) -> Status {
    let (deck, tick) = (world.resource::<Deck>(), world.resource::<SimTick>());
    let row = |branch: &crate::Branch| BranchRow {
        at: branch.at,
        ticks: branch.tape.tick_count(),
        is_own: branch.parent.is_none(),
        is_current: tape.is_some_and(|tape| Arc::ptr_eq(tape, &branch.tape)),
    };
    Status {
        tick: tick.0,
        state: deck.state(),
        is_replaying: deck.is_replaying(),
        is_paused: deck.is_paused(),
        speed: deck.speed(),
        seek: deck.seek_progress(tick),
        looped: deck.transport.looped.clone(),
        branches: deck.branches().iter().map(row).collect(),
        can_play: deck.tape().is_some(),
        timestep: world.resource::<Time<Fixed>>().timestep(),
        doubtful_from: None,
    }
}

/// Does what was asked for.
fn carry_out(world: &mut World, mut cursor: Local<bevy_ecs::message::MessageCursor<InspectorCommand>>) {
    let commands: Vec<_> = cursor.read(world.resource::<Messages<InspectorCommand>>()).cloned().collect();
    for command in commands {
        world.resource_scope(|world, mut inspector: Mut<Inspector>| inspector.carry_out(world, command));
    }
}

impl Inspector {
    fn carry_out(&mut self, world: &mut World, command: InspectorCommand) {
        let mut deck = world.resource_mut::<Deck>();
        let model = &mut self.model;
        match command {
            InspectorCommand::Toggle => {
                self.is_open = !self.is_open;
                let budget = self.is_open.then_some(self.trace_bytes);
                runtime::with(world, |world, runtime| runtime.run_trace(world, budget));
            }
            InspectorCommand::Play => {
                let is_at_end = deck.is_replaying() && model.status.tick >= model.ticks.end;
                if is_at_end {
                    deck.seek(model.ticks.start);
                } else if deck.state() == DeckState::Idle
                    && let Some(tape) = model.tape.clone().or_else(|| deck.tape().cloned())
                {
                    deck.play(tape, PlayOptions::verify().held());
                }
                deck.resume();
            }
            InspectorCommand::Pause => deck.pause(),
            InspectorCommand::Step(ticks) => deck.step(ticks),
            InspectorCommand::Seek(tick) => deck.seek(tick),
            InspectorCommand::GoToDivergence => {
                if let Some(tick) = model.divergence_at() {
                    deck.pause();
                    deck.seek(tick);
                }
            }
            InspectorCommand::Speed(speed) => deck.set_speed(speed),
            InspectorCommand::Loop(part) => deck.set_loop(part),
            InspectorCommand::TakeOver => {
                deck.take_over();
                deck.resume();
            }
            InspectorCommand::SwitchTo(branch) => deck.switch_to(branch),
            InspectorCommand::ExportAsTest(name) => self.export(&name, deck.tape().cloned()),
            InspectorCommand::Select { sim_id, field } => model.select(Selection { of: Some(sim_id), field }),
            InspectorCommand::Cancel => {
                if model.status.seek.is_some() {
                    deck.cancel_seek();
                }
                model.cancel_work();
            }
        }
    }

    /// Begins to write a test of the tape that is shown.
    fn export(&mut self, name: &str, recorded: Option<Arc<Tape>>) {
        let (Some((tests, game)), Some(tape)) = (self.tests.clone(), self.model.tape.clone().or(recorded)) else {
            self.model.tell_error("there is no tape to export (record or play one first)");
            return;
        };
        if self.export.is_some() {
            return;
        }
        let name = name.trim().to_owned();
        let pool = IoTaskPool::get_or_init(TaskPool::new);
        let task = pool.spawn(async move { import_tape(&ImportSource::Tape(tape), &tests, &name, &game) });
        (self.export, self.model.is_exporting) = (Some(task), true);
    }

    /// Tells what became of an export. Where it failed, the entry stays open for another try.
    fn look_after_export(&mut self) {
        let Some(outcome) = self.export.as_mut().and_then(check_ready) else { return };
        (self.export, self.model.is_exporting) = (None, false);
        match outcome {
            Ok(imported) => {
                self.model.test_name = None;
                self.model.tell(format!("wrote {}; say in it what should be true", imported.test.display()));
            }
            Err(error) => self.model.tell_error(error.to_string()),
        }
    }
}

/// Tells the game what is selected, when that has changed.
fn announce(
    inspector: Res<Inspector>,
    mut selection: ResMut<InspectorSelection>,
    ids: Query<&SimId>,
    all: Query<(Entity, &SimId)>,
    mut commands: Commands,
) {
    if !inspector.is_open {
        return; // what was selected stays so
    }
    let selected = &inspector.model.selection;
    let sim_id = selected.of.flatten();
    let known = selection.entity.filter(|entity| ids.get(*entity).is_ok_and(|id| Some(id.0) == sim_id));
    let find = || all.iter().find(|(_, id)| Some(id.0) == sim_id).map(|(entity, _)| entity);
    let entity = known.or_else(|| sim_id.and_then(|_| find()));
    let (type_name, path) = selected.field.clone().unzip();
    let now = InspectorSelection { sim_id, entity, type_name, path };
    if *selection != now {
        *selection = now.clone();
        commands.trigger(InspectorSelected { selection: now });
    }
}

fn draw(mut contexts: EguiContexts, mut inspector: ResMut<Inspector>, mut commands: MessageWriter<InspectorCommand>) {
    if !inspector.is_open {
        return;
    }
    let Ok(context) = contexts.ctx_mut() else { return }; // no window yet, or no more
    let mut asked = Vec::new();
    view::show(context, &mut inspector.model, &mut asked);
    commands.write_batch(asked);
}

/// While something in the window has the keyboard, keys are not the game's: no tick sees them, and no tape holds them.
#[cfg(feature = "raw-input")]
fn keep_keys_from_ticks(
    wants: Res<bevy_egui::input::EguiWantsInput>,
    inspector: Res<Inspector>,
    focus: Option<ResMut<crate::TextFocus>>,
    mut has_keyboard: Local<bool>,
) {
    let wants = inspector.is_open && wants.wants_any_keyboard_input();
    if let Some(mut focus) = focus
        && wants != *has_keyboard
    {
        (focus.0, *has_keyboard) = (wants, wants);
    }
}

#[cfg(test)]
mod tests;
