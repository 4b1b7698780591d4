//! Event plans at run time: a cursor that is part of the state, and events as messages in their tick.

mod cursor;
mod library;

use crate::state::registry::Registry;
use bevy_app::App;
use bevy_ecs::message::{Message, Messages};
use bevy_ecs::prelude::*;
use bevy_replay_tape::{Canonical, EventClass, Header, HeaderDifference, PlanError, PlanOnTape, Tape};
use core::panic::Location;

pub use cursor::PlanCursor;
pub use library::Plans;

/// An event of a plan, as a message in its tick.
///
/// Written at the beginning of the tick, before any system. Each `MessageReader` sees it once, in that tick or never; frames
/// see it after the tick. It is a copy: the plan does not change. What anything else writes is dropped.
#[derive(Message, Canonical, Debug, Clone, PartialEq, Eq)]
pub struct Planned<E> {
    /// The id of the event in its plan.
    pub id: u32,
    /// What it is to the contract.
    pub class: EventClass,
    /// Which of the plan's layers it belongs to.
    pub layer: Option<u32>,
    /// Version of the event.
    pub version: u32,
    /// What happens.
    pub event: E,
}

/// How the borders of a tick reach the plans of one type of events.
pub(crate) struct PlanHandle {
    /// Name of the type.
    events: String,
    listed: fn(&World) -> Vec<PlanOnTape>,
    knows: fn(&World, signature: &str) -> bool,
    load: fn(&mut World, &[PlanOnTape]) -> Result<Option<String>, PlanError>,
    release: fn(&mut World),
    send_due: fn(&mut World),
}

/// Adds the plans of one type of events to an app.
pub(crate) fn register<E>(app: &mut App, plans: Plans<E>, caller: &'static Location<'static>)
where
    E: Canonical + Clone + Send + Sync,
{
    use crate::input::{LastMessages, MessageTrack};
    let cursor = plans.first_to_start().map_or_else(PlanCursor::<E>::default, |plan| PlanCursor::at_start_of(plan));
    app.add_message::<Planned<E>>().init_resource::<LastMessages<Planned<E>>>().insert_resource(plans);
    app.insert_resource(cursor);
    crate::runtime::with(app.world_mut(), |world, runtime| {
        let buffer = world.register_component::<Messages<Planned<E>>>();
        let registry = &mut runtime.registry;
        world.get_resource_or_init::<crate::tick::reads::TickReads>().watch(buffer, Planned::<E>::type_name());
        registry.add_track::<Planned<E>>("register_plans", MessageTrack::<Planned<E>>::new(), caller);
        registry.add_own_resource::<LastMessages<Planned<E>>>();
        registry.add_resource::<PlanCursor<E>>(caller);
        registry.plans.push(PlanHandle {
            events: E::type_name(),
            listed: |world| world.get_resource::<Plans<E>>().map_or_else(Vec::new, Plans::on_tape),
            knows: |world, signature| world.get_resource::<Plans<E>>().is_some_and(|plans| plans.knows(signature)),
            load: load::<E>,
            release: |world| {
                let running = world.get_resource::<PlanCursor<E>>().map(|cursor| cursor.signature().to_owned());
                if let Some(mut plans) = world.get_resource_mut::<Plans<E>>() {
                    plans.release(&running.unwrap_or_default());
                }
            },
            send_due: send_due::<E>,
        });
    });
}

/// Makes the plans of a tape those of the game.
fn load<E: Canonical + Clone + Send + Sync>(
    world: &mut World,
    plans: &[PlanOnTape],
) -> Result<Option<String>, PlanError> {
    let Some(mut own) = world.get_resource_mut::<Plans<E>>() else { return Ok(None) };
    let note = own.load(plans)?;
    // A cursor that stands before a plan of this app stands before that of the tape then.
    let (own, cursor) = (world.get_resource::<Plans<E>>(), world.get_resource::<PlanCursor<E>>());
    if let Some(plan) = own.zip(cursor).and_then(|(own, cursor)| own.in_place_of(cursor)) {
        let cursor = PlanCursor::at_start_of(plan);
        *world.resource_mut::<PlanCursor<E>>() = cursor;
    }
    Ok(note)
}

/// Writes the events of the running tick, and moves the cursor.
fn send_due<E: Canonical + Clone + Send + Sync>(world: &mut World) {
    if let Some(mut messages) = world.get_resource_mut::<Messages<Planned<E>>>()
        && !messages.is_empty()
    {
        // Those of the last tick, which a reader that did not run would see now; and what was written outside.
        messages.clear();
    }
    let (plans, cursor) = (world.get_resource::<Plans<E>>(), world.get_resource::<PlanCursor<E>>());
    let Some((plans, cursor)) = plans.zip(cursor).filter(|(_, cursor)| cursor.is_running()) else { return };
    let Some(due) = plans.due(cursor) else {
        tracing::error!("plan {} is not among the plans of this app, and is stopped", cursor.signature());
        world.resource_mut::<PlanCursor<E>>().stop();
        return;
    };
    let count = due.len() as u64;
    if count > 0 {
        world.resource_mut::<Messages<Planned<E>>>().write_batch(due);
    }
    world.resource_mut::<PlanCursor<E>>().advance(count);
}

impl Registry {
    /// The plans of all types of events, as a tape names them.
    pub(crate) fn plans_on_tape(&self, world: &World) -> Vec<PlanOnTape> {
        self.plans.iter().flat_map(|handle| (handle.listed)(world)).collect()
    }

    /// Whether a plan that the app does not have in use comes with the tape, or is one of its own.
    pub(crate) fn can_load(&self, world: &World, tape: &Header, row: &HeaderDifference) -> bool {
        let handle = self.plans.iter().find(|handle| row.field.strip_prefix("plan ") == Some(&*handle.events));
        handle.is_some_and(|handle| {
            let mut plans = tape.plans.iter().filter(|plan| plan.events == handle.events);
            plans.all(|plan| plan.plan.is_some() || (handle.knows)(world, &plan.signature))
        })
    }

    /// Makes the plans of a tape those of the game; returns what is to be told of it.
    pub(crate) fn load_plans(&self, world: &mut World, tape: &Tape) -> Result<Vec<String>, PlanError> {
        let mut notes = Vec::new();
        for handle in &self.plans {
            let plans = tape.header.plans.iter().filter(|plan| plan.events == handle.events);
            let plans: Vec<PlanOnTape> = plans.cloned().collect();
            if !plans.is_empty() {
                notes.extend((handle.load)(world, &plans)?);
            }
        }
        Ok(notes)
    }

    /// The tape has ended: the app's own plans are there again, beside the one that runs.
    pub(crate) fn release_plans(&self, world: &mut World) {
        self.plans.iter().for_each(|handle| (handle.release)(world));
    }

    /// Writes the events of the running tick.
    pub(crate) fn send_due(&self, world: &mut World) {
        self.plans.iter().for_each(|handle| (handle.send_due)(world));
    }
}
