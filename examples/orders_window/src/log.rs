//! Prints what happens, for scripts.

#[path = "../../windowed/log.rs"]
mod windowed;

use crate::game::{Flight, Order, RADIUS, Thrown};
use crate::places::{Screen, to_world};
use bevy::prelude::*;
use bevy_replay::{EventClass, RecordingEnded, ReplayFinished};

/// A thing is told of when it is so slow, near the top of its flight.
const SLOW: i32 = 3_000;
/// And nothing else is so near that a stroke across it could meet that.
const CLEAR: i32 = 7 * RADIUS;

pub(crate) fn to_stdout(app: &mut App) {
    windowed::to_stdout(app);
    app.add_systems(Update, (say_how_it_stands, say_where_a_target_is).chain());
    app.add_observer(|ended: On<RecordingEnded>, order: Res<Order>| {
        println!("recorded {} ticks, {}", ended.tape.tick_count(), line(&order));
    });
    app.add_observer(|done: On<ReplayFinished>, order: Res<Order>| {
        println!("replayed, {}: {}", line(&order), done.report);
    });
}

/// How an order stands.
pub(crate) fn line(order: &Order) -> String {
    let Order { mission, needed, cut, extra, bombs, missed, .. } = order;
    match mission.is_empty() {
        true => "no mission".into(),
        false => format!("{mission}: cut {cut} of {needed}, missed {missed}, extra {extra}, bombs {bombs}"),
    }
}

fn say_how_it_stands(order: Res<Order>, mut before: Local<String>) {
    if order.is_changed() {
        let line = line(&order);
        if *before != line {
            println!("{line}");
            *before = line;
        }
    }
}

/// In pixels of the window, once for each.
fn say_where_a_target_is(
    things: Query<(&Thrown, &Flight)>,
    order: Res<Order>,
    window: Option<Single<&Window>>,
    mut told: Local<Option<(String, u32)>>,
) {
    let Some(window) = window.filter(|_| order.blunt == 0) else { return };
    for (thrown, flight) in things.iter().filter(|(thrown, _)| thrown.class == EventClass::Required) {
        let target = (order.mission.clone(), thrown.event);
        let is_clear = things.iter().all(|(other, at)| {
            let apart = (at.at.x - flight.at.x).abs().max((at.at.y - flight.at.y).abs());
            other.event == thrown.event || apart > CLEAR
        });
        if flight.speed.abs() <= SLOW && is_clear && told.as_ref() != Some(&target) {
            let at = Screen::of(&window).to_window(to_world(flight.at));
            println!("target {} at {:.0} {:.0}", thrown.event, at.x, at.y);
            *told = Some(target);
        }
    }
}
