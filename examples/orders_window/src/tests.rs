//! From the mouse to the count, without a window on a screen.

use crate::game::{Blade, Choice, Flight, Order, Point, Stroke, Throw, Wish};
use crate::missions;
use crate::orders;
use crate::places::{Screen, to_game, to_world};
use crate::pointer::PointerPlugin;
use bevy::input::ButtonState;
use bevy::input::mouse::MouseButtonInput;
use bevy::input::touch::{TouchInput, TouchPhase};
use bevy::prelude::*;
use bevy::window::{CursorMoved, WindowEvent, WindowResolution};
use bevy_replay::prelude::*;
use bevy_replay::{EventClass, Pacing, Run};
use core::time::Duration;
use std::collections::BTreeMap;
use std::error::Error;

/// What comes from outside, by frame.
#[derive(Resource, Default, Clone)]
struct Script {
    events: BTreeMap<u32, Vec<WindowEvent>>,
    wishes: BTreeMap<u32, Wish>,
}

/// What each tick saw of the blade.
#[derive(Resource, Default)]
struct SeenBlade(Vec<Vec<Stroke>>);

impl Script {
    fn playing(mission: u32) -> Self {
        let wishes = [(0, Wish::Play(missions::name(mission)))].into();
        Self { wishes, ..Self::default() }
    }

    fn wish(mut self, frame: u32, wish: Wish) -> Self {
        self.wishes.insert(frame, wish);
        self
    }

    fn event(&mut self, frame: u32, event: WindowEvent) {
        self.events.entry(frame).or_default().push(event);
    }

    /// Presses, moves in five steps, and lets go; each of it so many frames after the last.
    fn drag(mut self, mut frame: u32, frames: u32, from: Vec2, to: Vec2) -> Self {
        self.event(frame, moved(from));
        self.event(frame, button(ButtonState::Pressed));
        for step in 1..=5_u8 {
            frame += frames;
            self.event(frame, moved(from.lerp(to, f32::from(step) / 5.0)));
        }
        self.event(frame + frames, button(ButtonState::Released));
        self
    }

    /// The whole game, with this in place of a player.
    fn plugin(self) -> Result<impl Plugin, Box<dyn Error>> {
        let game = orders()?;
        Ok(move |app: &mut App| {
            app.add_plugins((game.clone(), PointerPlugin)).add_message::<WindowEvent>();
            app.insert_resource(self.clone()).init_resource::<SeenBlade>();
            app.add_systems(Startup, |mut commands: Commands| {
                commands.spawn(Window { resolution: WindowResolution::new(1280, 720), ..Window::default() });
            });
            app.add_systems(First, act);
            app.add_systems(FixedUpdate, |blade: Res<Blade>, mut seen: ResMut<SeenBlade>| {
                seen.0.push(blade.strokes.clone());
            });
        })
    }

    fn record(self, ticks: u32, pacing: Pacing) -> Result<Run, Box<dyn Error>> {
        Ok(Headless::new(self.plugin()?).pacing(pacing).record(ticks.into())?)
    }
}

fn act(script: Res<Script>, mut frame: Local<u32>, mut events: MessageWriter<WindowEvent>, mut choice: ResMut<Choice>) {
    events.write_batch(script.events.get(&frame).cloned().unwrap_or_default());
    if let Some(wish) = script.wishes.get(&frame) {
        choice.wish = Some(wish.clone());
    }
    *frame += 1;
}

fn moved(position: Vec2) -> WindowEvent {
    CursorMoved { window: Entity::PLACEHOLDER, position, delta: None }.into()
}

fn button(state: ButtonState) -> WindowEvent {
    MouseButtonInput { button: MouseButton::Left, state, window: Entity::PLACEHOLDER }.into()
}

fn touch(phase: TouchPhase, position: Vec2) -> WindowEvent {
    TouchInput { phase, position, window: Entity::PLACEHOLDER, force: None, id: 3 }.into()
}

fn screen() -> Screen {
    Screen::of(&Window { resolution: WindowResolution::new(1280, 720), ..Window::default() })
}

/// The tick in which the first thing on the order of mission 1 is at the top of its flight, and where in the window.
///
/// The mission is chosen in tick 0.
fn first_target() -> Result<(u32, Vec2), Box<dyn Error>> {
    let plan = missions::build(1, missions::BUILDER)?;
    let event = plan.events().iter().find(|event| event.class == EventClass::Required).ok_or("nothing is required")?;
    let column = i32::from(plan.decode::<Throw>(event)?.column());
    let mut flight = Flight { at: Point { x: column * 100_000, y: 0 }, speed: 14_000 };
    let mut tick = u32::try_from(event.tick)?;
    while flight.speed > 0 {
        flight = flight.next();
        tick += 1;
    }
    Ok((tick, screen().to_window(to_world(flight.at))))
}

fn counts(run: &Run) -> Result<(u32, u32, u32), ReplayError> {
    let order = run.resource::<Order>()?;
    Ok((order.cut, order.extra, order.bombs))
}

/// A replay without the mouse comes to the same.
fn assert_replays(run: &Run) -> Result<(), Box<dyn Error>> {
    let replayed = Headless::new(orders()?).verify(run.tape())?.verified()?;
    assert_eq!(counts(&replayed)?, counts(run)?);
    assert_eq!(replayed.resource::<Order>()?.mission, run.resource::<Order>()?.mission);
    Ok(())
}

const ACROSS: Vec2 = Vec2::new(70.0, 0.0);

#[test]
fn a_drag_in_five_steps_over_ticks_cuts_what_lies_on_it_once() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    let script = Script::playing(1).drag(tick - 3, 1, at - ACROSS, at + ACROSS);
    let run = script.record(tick + 40, Pacing::TicksPerFrame(1))?;
    assert_eq!(counts(&run)?, (1, 0, 0));
    // Each tick sees one step, and goes on where the last one ended.
    let strokes: Vec<&Vec<Stroke>> = run.resource::<SeenBlade>()?.0.iter().filter(|seen| !seen.is_empty()).collect();
    assert!(strokes.iter().all(|seen| seen.len() == 1), "{strokes:?}");
    let strokes: Vec<Stroke> = strokes.into_iter().flatten().copied().collect();
    assert_eq!(strokes.len(), 5);
    assert!(strokes.windows(2).all(|pair| pair[0].to == pair[1].from), "{strokes:?}");
    let game = |at: Vec2| to_game(screen().to_world(at));
    assert_eq!((strokes[0].from, strokes[4].to), (game(at - ACROSS), game(at + ACROSS)));
    assert_replays(&run)
}

#[test]
fn a_flick_in_one_frame_between_two_ticks_cuts() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    // Frames are a third of a tick, so that two of three run none.
    let pacing = Pacing::Frames(vec![Duration::from_nanos(15_625_000 / 3 + 1)]);
    for frame in 0..3 {
        let script = Script::playing(1).drag(tick * 3 + frame, 0, at - ACROSS, at + ACROSS);
        let run = script.record(tick + 40, pacing.clone())?;
        assert_eq!(counts(&run)?, (1, 0, 0), "in frame {frame}");
        let strokes: Vec<usize> = run.resource::<SeenBlade>()?.0.iter().map(Vec::len).filter(|len| *len > 0).collect();
        assert_eq!(strokes, [5], "one tick sees all steps");
        assert_replays(&run)?;
    }
    Ok(())
}

#[test]
fn a_drag_in_a_frame_of_many_ticks_is_seen_by_one() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    let script = Script::playing(1).drag(tick / 4, 0, at - ACROSS, at + ACROSS);
    let run = script.record(tick + 40, Pacing::TicksPerFrame(4))?;
    assert_eq!(counts(&run)?, (1, 0, 0));
    assert_eq!(run.resource::<SeenBlade>()?.0.iter().filter(|seen| !seen.is_empty()).count(), 1);
    assert_replays(&run)
}

#[test]
fn a_drag_beside_a_thing_cuts_nothing() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    for aside in [Vec2::new(0.0, 65.0), Vec2::new(0.0, -65.0)] {
        let script = Script::playing(1).drag(tick - 3, 1, at - ACROSS + aside, at + ACROSS + aside);
        let run = script.record(tick + 10, Pacing::TicksPerFrame(1))?;
        assert_eq!(counts(&run)?, (0, 0, 0), "{aside}");
        assert_eq!(run.resource::<SeenBlade>()?.0.iter().flatten().count(), 5);
    }
    Ok(())
}

#[test]
fn what_is_moved_without_the_button_and_a_click_alone_cut_nothing() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    let mut script = Script::playing(1);
    script.event(tick - 2, moved(at - ACROSS));
    script.event(tick - 1, moved(at + ACROSS));
    script.event(tick, moved(at));
    script.event(tick, button(ButtonState::Pressed));
    script.event(tick + 1, button(ButtonState::Released));
    let run = script.record(tick + 10, Pacing::TicksPerFrame(1))?;
    assert_eq!(counts(&run)?, (0, 0, 0));
    Ok(())
}

#[test]
fn two_strokes_in_one_frame_are_not_joined() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    // From the left to the right, each beside the thing; only what lies between them crosses it.
    let (left, right) = (at - Vec2::new(160.0, 0.0), at + Vec2::new(160.0, 0.0));
    let script = Script::playing(1);
    let script = script.drag(tick, 0, left - Vec2::Y * 20.0, left).drag(tick, 0, right, right + Vec2::Y * 20.0);
    let run = script.record(tick + 10, Pacing::TicksPerFrame(1))?;
    assert_eq!(counts(&run)?, (0, 0, 0));
    assert_eq!(run.resource::<SeenBlade>()?.0.iter().flatten().count(), 10);
    Ok(())
}

#[test]
fn a_finger_cuts_as_the_mouse_does() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    let mut script = Script::playing(1);
    script.event(tick, touch(TouchPhase::Started, at - ACROSS));
    script.event(tick, touch(TouchPhase::Moved, at + ACROSS));
    script.event(tick + 1, touch(TouchPhase::Ended, at + ACROSS));
    let run = script.record(tick + 10, Pacing::TicksPerFrame(1))?;
    assert_eq!(counts(&run)?, (1, 0, 0));
    assert_replays(&run)
}

#[test]
fn nothing_is_thrown_before_a_mission_is_chosen() -> Result<(), Box<dyn Error>> {
    let mut run = Script::default().record(400, Pacing::TicksPerFrame(1))?;
    assert_eq!(run.resource::<Order>()?.mission, "");
    assert_eq!(run.world_mut().query::<&Flight>().iter(run.world()).count(), 0);
    Ok(())
}

#[test]
fn a_mission_that_is_chosen_starts_on_the_tape_and_in_its_replay() -> Result<(), Box<dyn Error>> {
    for mission in [1, 7, missions::MISSIONS] {
        let run = Script::playing(mission).record(200, Pacing::TicksPerFrame(1))?;
        let (order, plan) = (run.resource::<Order>()?, missions::build(mission, missions::BUILDER)?);
        let needed = plan.events().iter().filter(|event| event.class == EventClass::Required).count();
        assert_eq!((&*order.mission, order.needed as usize), (plan.name(), needed));
        assert_replays(&run)?;
    }
    Ok(())
}

#[test]
fn a_recording_over_two_missions_verifies() -> Result<(), Box<dyn Error>> {
    let (tick, at) = first_target()?;
    let script = Script::playing(1).drag(tick - 3, 1, at - ACROSS, at + ACROSS);
    let left = tick + 30;
    let first = script.clone().record(left, Pacing::TicksPerFrame(1))?;
    assert_eq!(first.resource::<Order>()?.mission, "mission 01");
    assert_eq!(counts(&first)?, (1, 0, 0));

    // Left, and another begun while things are in the air; that one again, to its end.
    let (next, again) = (Wish::Play(missions::name(2)), left + 250);
    let script = script.wish(left, Wish::Leave).wish(left + 10, next.clone()).wish(again, next);
    let ticks = u32::try_from(missions::build(2, missions::BUILDER)?.ticks())?;
    let run = script.record(again + 1 + ticks, Pacing::TicksPerFrame(1))?;
    let order = run.resource::<Order>()?;
    assert_eq!((&*order.mission, order.cut, order.missed), ("mission 02", 0, order.needed));
    assert!(order.is_over);
    assert_replays(&run)
}

#[test]
fn places_in_the_window_are_places_in_the_game() {
    for size in [(1280, 720), (1920, 1080), (800, 900), (640, 300)] {
        let window = Window { resolution: WindowResolution::new(size.0, size.1), ..Window::default() };
        let screen = Screen::of(&window);
        for point in [Point { x: 0, y: 0 }, Point { x: 700_000, y: 336_000 }, Point { x: -30_000, y: 12_345 }] {
            let found = to_game(screen.to_world(screen.to_window(to_world(point))));
            let apart = (found.x - point.x).abs().max((found.y - point.y).abs());
            assert!(apart <= 1, "{size:?}: {point:?} {found:?}");
            let at = screen.to_window(to_world(point));
            assert!(at.cmpge(Vec2::ZERO).all() && at.cmple(window.size()).all(), "{size:?}: {point:?} is at {at}");
        }
    }
}
