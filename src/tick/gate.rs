//! The start gate: ticks before it are the game getting ready, and on no tape.

use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemId;

/// Whether tapes may begin. Without a condition it is open from the start.
#[derive(Resource, Debug)]
pub(crate) struct StartGate {
    condition: Option<SystemId<(), bool>>,
    pub(crate) is_open: bool,
}

impl Default for StartGate {
    fn default() -> Self {
        Self { condition: None, is_open: true }
    }
}

/// Closes the gate until the condition holds.
pub(crate) fn close_until(world: &mut World, condition: SystemId<(), bool>) {
    world.insert_resource(StartGate { condition: Some(condition), is_open: false });
}

pub(crate) fn has_condition(world: &World) -> bool {
    world.get_resource::<StartGate>().is_some_and(|gate| gate.condition.is_some())
}

/// How the gate stands when a tick begins.
pub(crate) enum Gate {
    Closed,
    /// This tick is the first that counts.
    Opens,
    Open,
}

/// Asks whether the tick that begins counts. Once open, the gate stays open.
pub(crate) fn open(world: &mut World) -> Gate {
    let StartGate { condition, is_open } = *world.resource::<StartGate>();
    let holds = |world: &mut World, condition| match world.run_system(condition) {
        Ok(holds) => holds,
        Err(error) => {
            tracing::error!("the start gate stays closed: its condition cannot run: {error}");
            false
        }
    };
    if is_open {
        return Gate::Open;
    }
    if !condition.is_some_and(|condition| holds(world, condition)) {
        return Gate::Closed;
    }
    world.resource_mut::<StartGate>().is_open = true;
    Gate::Opens
}
