//! The reference consumer: plays each mission as a careful player would, through the recorded input alone.
//!
//! It sees what a player sees and obeys the same rules. That it completes a plan shows that the plan can be completed,
//! not how hard it is.

use super::game::{Blade, Flight, Order, OrdersPlugin, Point, RADIUS, Rules, Stroke, Throw, Thrown, is_near};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{EventClass, Plan, PlanError, Run};
use core::fmt;
use std::sync::Arc;

/// The blade goes so far to both sides of what it cuts.
const STROKE: i32 = 20_000;
/// Bombs must be so far from the blade.
const CAUTION: i32 = RADIUS + 5_000;

/// Moves the blade between ticks.
pub(crate) struct ReferenceConsumer;

impl Plugin for ReferenceConsumer {
    fn build(&self, app: &mut App) {
        app.add_systems(PreUpdate, move_blade);
    }
}

fn move_blade(mut blade: ResMut<Blade>, order: Res<Order>, things: Query<(&SimId, &Thrown, &Flight)>) {
    if order.blunt > 0 {
        return;
    }
    let bombs: Vec<Point> = things
        .iter()
        .filter(|(_, thrown, _)| thrown.class == EventClass::Risk)
        .map(|(_, _, flight)| flight.next().at)
        .collect();
    // What falls first, first: the slowest to rise, and of those the lowest.
    let wanted = things.iter().filter(|(_, thrown, _)| thrown.class == EventClass::Required);
    let mut wanted: Vec<(i32, i32, SimId, Point)> =
        wanted.map(|(id, _, flight)| (flight.speed, flight.at.y, *id, flight.next().at)).collect();
    wanted.sort_by_key(|(speed, y, id, _)| (*speed, *y, *id));
    for (_, _, _, at) in wanted {
        let (from, to) = (Point { x: at.x - STROKE, ..at }, Point { x: at.x + STROKE, ..at });
        if !bombs.iter().any(|bomb| is_near(*bomb, from, to, CAUTION)) {
            blade.strokes.push(Stroke { from, to });
            return;
        }
    }
}

/// Why a mission was not completed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Plan, event and tick.
    what: String,
    remaining: u32,
    needed: u32,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, remaining, needed } = self;
        write!(f, "{what}; {remaining} of {needed} required remain")
    }
}

/// The game of one mission.
pub(crate) fn game(plan: &Arc<Plan>, rules: Rules) -> Result<OrdersPlugin, PlanError> {
    Ok(OrdersPlugin { missions: Plans::<Throw>::new([plan.clone()])?, rules })
}

/// Plays a mission to its end, and records it.
pub(crate) fn play(plan: &Arc<Plan>, rules: Rules) -> Result<Run, Box<dyn core::error::Error>> {
    Ok(Headless::new((game(plan, rules)?, ReferenceConsumer)).record(plan.ticks())?)
}

/// Says how a mission has ended.
pub(crate) fn judge(plan: &Plan, run: &Run) -> Result<Result<Order, Failed>, ReplayError> {
    let order = run.resource::<Order>()?;
    if order.is_completed() {
        return Ok(Ok(order.clone()));
    }
    let lost = order.lost.and_then(|id| plan.event(id));
    let what = match lost {
        Some(event) => format!("{} fell uncut", plan.cite(event)),
        None => format!("{}: {} bombs hit", plan.name(), order.bombs),
    };
    Ok(Err(Failed { what, remaining: order.needed - order.cut, needed: order.needed }))
}
