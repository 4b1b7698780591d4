//! Keyboard, mouse and gamepads: what ticks see of them, live and from a tape.

mod edges;
mod pads;
mod replays;
mod text;

use crate::game::{Outcome, headless, scramble};
use bevy_app::{Plugins, prelude::*};
use bevy_ecs::prelude::*;
use bevy_input::gamepad::{
    Gamepad, GamepadAxis, GamepadButton, GamepadConnection, GamepadConnectionEvent, RawGamepadAxisChangedEvent,
    RawGamepadButtonChangedEvent, RawGamepadEvent,
};
use bevy_input::keyboard::{Key, KeyCode, KeyboardFocusLost, KeyboardInput};
use bevy_input::mouse::{
    AccumulatedMouseMotion, AccumulatedMouseScroll, MouseButton, MouseButtonInput, MouseMotion, MouseScrollUnit,
    MouseWheel,
};
use bevy_input::{ButtonInput, ButtonState, InputPlugin};
use bevy_math::Vec2;
use bevy_replay::prelude::*;
use bevy_replay::{Executor, Pacing, PlayOptions, Tape};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use core::fmt::Debug;
use core::hash::Hash;
use core::time::Duration;
use std::sync::Arc;

/// What ticks have seen: the last one, and a hash of all. Any difference diverges from there on.
#[derive(Resource, Canonical, Default)]
struct Seen {
    tick: String,
    all: u64,
}

/// One line per tick; not authoritative.
#[derive(Resource, Default)]
struct Log(Vec<String>);

/// One line per frame, as `Update` sees it.
#[derive(Resource, Default)]
struct Frames(Vec<String>);

/// Each button that is down or has an edge: `+` went down, `=` is down, `-` went up.
fn buttons<T: Clone + Eq + Hash + Debug + Send + Sync>(input: &ButtonInput<T>) -> Vec<String> {
    let mut all: Vec<&T> = Vec::new();
    for button in input.get_pressed().chain(input.get_just_pressed()).chain(input.get_just_released()) {
        if !all.contains(&button) {
            all.push(button);
        }
    }
    let mut all: Vec<String> = all
        .into_iter()
        .map(|button| {
            let mark = |is: bool, mark: &'static str| if is { mark } else { "" };
            let pressed = mark(input.just_pressed(button.clone()), "+");
            let held = mark(input.pressed(button.clone()), "=");
            let released = mark(input.just_released(button.clone()), "-");
            format!("{button:?}{pressed}{held}{released}")
        })
        .collect();
    all.sort();
    all
}

/// All devices at once, in one line; empty if nothing is held, pressed, released or moved.
fn view(
    keys: &ButtonInput<KeyCode>,
    logical: &ButtonInput<Key>,
    mouse: (&ButtonInput<MouseButton>, Vec2, &AccumulatedMouseScroll),
    pads: &Query<(&PadSlot, &Gamepad)>,
) -> String {
    let mut parts = buttons(keys);
    parts.extend(buttons(logical));
    parts.extend(buttons(mouse.0));
    if mouse.1 != Vec2::ZERO {
        parts.push(format!("moved {} {}", mouse.1.x, mouse.1.y));
    }
    if mouse.2.delta != Vec2::ZERO {
        parts.push(format!("scrolled {} {} {:?}", mouse.2.delta.x, mouse.2.delta.y, mouse.2.unit));
    }
    for (slot, pad) in pads.iter().sort::<&PadSlot>() {
        parts.push(format!("pad{}", slot.0));
        parts.extend(buttons(pad.digital()));
        let strength = |button| pad.get(button).map_or_else(|| "none".into(), |value| value.to_string());
        parts.push(format!("{} {}", pad.left_stick().x, strength(GamepadButton::RightTrigger2)));
    }
    parts.join(" ")
}

type Mouse<'w> = (Res<'w, ButtonInput<MouseButton>>, Res<'w, AccumulatedMouseMotion>, Res<'w, AccumulatedMouseScroll>);

fn look(
    keys: Res<ButtonInput<KeyCode>>,
    logical: Res<ButtonInput<Key>>,
    mouse: Mouse,
    pads: Query<(&PadSlot, &Gamepad)>,
) -> String {
    view(&keys, &logical, (&mouse.0, mouse.1.delta, &mouse.2), &pads)
}

fn remember(In(line): In<String>, mut seen: ResMut<Seen>, mut log: ResMut<Log>) {
    for byte in line.bytes().chain([0]) {
        seen.all = (seen.all ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    seen.tick.clone_from(&line);
    log.0.push(line);
}

/// A game whose state is what its ticks have seen of the devices.
fn game(app: &mut App) {
    app.add_plugins((InputPlugin, ReplayPlugin::new("devices"), RawInputPlugin::default()));
    app.register_authoritative_resource::<Seen>().init_resource::<Seen>().init_resource::<Log>();
    app.init_resource::<Frames>();
    app.add_systems(FixedUpdate, look.pipe(remember));
    app.add_systems(Update, look.pipe(|In(line): In<String>, mut frames: ResMut<Frames>| frames.0.push(line)));
}

/// An app with devices, run frame by frame.
struct Rig {
    app: App,
    ticks_read: usize,
}

impl Rig {
    /// Starts an app; its first frame has no tick.
    fn new() -> Self {
        Self::of(game)
    }

    fn of<M>(game: impl Plugins<M>) -> Self {
        let mut app = App::new();
        app.add_plugins((TaskPoolPlugin::default(), TimePlugin)).add_plugins(game);
        app.finish();
        app.cleanup();
        app.update();
        Self { app, ticks_read: 0 }
    }

    /// Records from the first tick on.
    fn recording() -> Self {
        let mut rig = Self::new();
        rig.app.world_mut().resource_mut::<Deck>().record();
        rig
    }

    /// Plays a tape from the first tick on.
    fn playing(tape: &Arc<Tape>) -> Self {
        let mut rig = Self::new();
        rig.app.world_mut().resource_mut::<Deck>().play(tape.clone(), PlayOptions::verify());
        rig
    }

    /// Runs a frame of so many ticks; returns what they saw.
    fn frame(&mut self, ticks: u32) -> Vec<String> {
        self.app.insert_resource(TimeUpdateStrategy::FixedTimesteps(ticks));
        self.update()
    }

    /// Runs frames of one tick.
    fn ticks(&mut self, count: usize) -> Vec<String> {
        (0..count).flat_map(|_| self.frame(1)).collect()
    }

    fn frame_of(&mut self, length: Duration) -> Vec<String> {
        self.app.insert_resource(TimeUpdateStrategy::ManualDuration(length));
        self.update()
    }

    fn update(&mut self) -> Vec<String> {
        self.app.update();
        let log = &self.app.world().resource::<Log>().0;
        let new = log[self.ticks_read..].to_vec();
        self.ticks_read = log.len();
        new
    }

    /// What `Update` saw in the last frame.
    fn last_frame(&self) -> &str {
        self.app.world().resource::<Frames>().0.last().map_or("", String::as_str)
    }

    fn message<M: Message>(&mut self, message: M) -> &mut Self {
        self.app.world_mut().write_message(message);
        self
    }

    fn key(&mut self, key: KeyCode, state: ButtonState) -> &mut Self {
        self.message(key_input(key, state))
    }

    fn press(&mut self, key: KeyCode) -> &mut Self {
        self.key(key, ButtonState::Pressed)
    }

    fn release(&mut self, key: KeyCode) -> &mut Self {
        self.key(key, ButtonState::Released)
    }

    fn click(&mut self, button: MouseButton, state: ButtonState) -> &mut Self {
        self.message(MouseButtonInput { button, state, window: Entity::PLACEHOLDER })
    }

    fn mouse(&mut self, x: f32, y: f32) -> &mut Self {
        self.message(MouseMotion { delta: Vec2::new(x, y) })
    }

    fn wheel(&mut self, y: f32, unit: MouseScrollUnit) -> &mut Self {
        self.message(wheel(y, unit))
    }

    /// Plugs in a pad.
    fn plug(&mut self) -> Entity {
        let pad = self.app.world_mut().spawn_empty().id();
        self.replug(pad);
        pad
    }

    fn replug(&mut self, pad: Entity) {
        self.message(connection(pad));
    }

    fn unplug(&mut self, pad: Entity) {
        self.message(GamepadConnectionEvent::new(pad, GamepadConnection::Disconnected));
    }

    fn pad_button(&mut self, pad: Entity, button: GamepadButton, value: f32) -> &mut Self {
        self.message(RawGamepadEvent::Button(RawGamepadButtonChangedEvent::new(pad, button, value)))
    }

    fn pad_axis(&mut self, pad: Entity, axis: GamepadAxis, value: f32) -> &mut Self {
        self.message(RawGamepadEvent::Axis(RawGamepadAxisChangedEvent::new(pad, axis, value)))
    }

    /// Ends the recording, with one more tick that is not on it.
    fn tape(&mut self) -> Arc<Tape> {
        self.app.world_mut().resource_mut::<Deck>().stop();
        self.frame(1);
        self.app.world().resource::<Deck>().tape().expect("it was recorded").clone()
    }
}

fn key_input(key: KeyCode, state: ButtonState) -> KeyboardInput {
    let name = format!("{key:?}");
    let logical_key = match name.strip_prefix("Key") {
        Some(letter) => Key::Character(letter.to_lowercase().as_str().into()),
        None => Key::Shift,
    };
    KeyboardInput { key_code: key, logical_key, state, text: None, repeat: false, window: Entity::PLACEHOLDER }
}

fn wheel(y: f32, unit: MouseScrollUnit) -> MouseWheel {
    let phase = bevy_input::touch::TouchPhase::Moved;
    MouseWheel { unit, x: 0.0, y, window: Entity::PLACEHOLDER, phase }
}

fn connection(pad: Entity) -> GamepadConnectionEvent {
    let connected = GamepadConnection::Connected { name: "pad".into(), vendor_id: Some(1), product_id: Some(2) };
    GamepadConnectionEvent::new(pad, connected)
}

/// A player who holds, taps and moves everything in each frame.
fn fidget(app: &mut App) {
    fn play(mut frame: Local<usize>, mut pads: Local<Vec<Entity>>, mut commands: Commands) {
        let (n, all) = (*frame, [KeyCode::Space, KeyCode::KeyA, KeyCode::KeyD, KeyCode::KeyW, KeyCode::ArrowRight]);
        *frame += 1;
        let state = |down: bool| if down { ButtonState::Pressed } else { ButtonState::Released };
        if n % 20 == 3 {
            let pad = commands.spawn_empty().id();
            pads.push(pad);
            commands.write_message(connection(pad));
        } else if n % 20 == 15
            && let Some(pad) = pads.pop()
        {
            commands.write_message(GamepadConnectionEvent::new(pad, GamepadConnection::Disconnected));
        }
        for (i, key) in all.into_iter().enumerate() {
            commands.write_message(key_input(key, state((n + i) % 3 != 0)));
        }
        commands.write_message(MouseButtonInput {
            button: MouseButton::Left,
            state: state(n % 4 < 2),
            window: Entity::PLACEHOLDER,
        });
        commands.write_message(MouseMotion { delta: Vec2::new(3.0, -1.0) });
        commands.write_message(wheel(1.0, MouseScrollUnit::Line));
        for pad in pads.iter().copied() {
            let value = if n % 5 < 3 { 1.0 } else { 0.0 };
            let button = RawGamepadButtonChangedEvent::new(pad, GamepadButton::South, value);
            commands.write_message(RawGamepadEvent::Button(button));
            let axis = RawGamepadAxisChangedEvent::new(pad, GamepadAxis::LeftStickX, value);
            commands.write_message(RawGamepadEvent::Axis(axis));
        }
    }
    app.add_systems(First, play);
    app.add_systems(Update, |mut keys: ResMut<ButtonInput<KeyCode>>| keys.press(KeyCode::KeyQ));
}

/// Plays a tape at several paces, in worlds with other entities, with idle and with busy devices.
fn assert_replays(tape: &Arc<Tape>, log: &[String]) -> Outcome {
    let ms = Duration::from_millis;
    let paces = [
        Pacing::TicksPerFrame(1),
        Pacing::TicksPerFrame(4),
        Pacing::Frames(vec![ms(5)]),
        Pacing::Frames(vec![ms(2), ms(40), ms(16), ms(0), ms(110)]),
    ];
    for pacing in paces {
        for player in [(|_| {}) as fn(&mut App), fidget] {
            let run = headless((scramble, game, player)).pacing(pacing.clone()).verify(tape)?;
            run.assert_verified();
            assert_eq!(run.resource::<Log>()?.0, log, "{pacing:?}");
        }
    }
    let threads = headless((game, fidget, scramble)).executor(Executor::AsBuilt).verify(tape)?;
    threads.assert_verified();
    Ok(())
}
