//! Which state nobody has spoken for.

use super::SimId;
use crate::runtime::{self, Runtime};
use crate::tick::reads::TickReads;
use bevy_app::FixedMainScheduleOrder;
use bevy_ecs::prelude::*;
use core::any::TypeId;
use core::fmt;
use std::collections::BTreeSet;

/// What the registered types leave open: a divergence may hide there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Coverage {
    /// Component types on simulated entities that are neither registered nor given a role, sorted.
    ///
    /// Names need the feature `diagnostics`.
    pub unregistered: Vec<String>,
    /// Authoritative types that no captured image held.
    pub never_seen: Vec<String>,
    /// Authoritative types of which no captured image held two: the order of their rows was not tested.
    pub order_untested: Vec<String>,
    /// Recorded message types that one system of the tick reads before another writes them: what was written last waits in
    /// the reader's cursor, which no image holds. Read them with [`TickReader`](crate::TickReader), or after the writer.
    pub carried_messages: Vec<String>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("on simulated entities, but neither registered nor given a role", &self.unregistered),
            ("registered, but never seen", &self.never_seen),
            ("never two at a time, so their order is untested", &self.order_untested),
            ("messages carried from tick to tick where no image sees them", &self.carried_messages),
        ];
        let mut lines = lists.iter().filter(|(_, types)| !types.is_empty()).peekable();
        if lines.peek().is_none() {
            return f.write_str("all components of simulated entities have a role");
        }
        for (i, (what, types)) in lines.enumerate() {
            write!(f, "{}{what}: {}", if i == 0 { "" } else { "\n" }, types.join(", "))?;
        }
        Ok(())
    }
}

/// Recorded messages that wait in readers' cursors between ticks.
pub(crate) fn carried_messages(world: &World) -> Vec<String> {
    let (Some(reads), Some(order)) =
        (world.get_resource::<TickReads>(), world.get_resource::<FixedMainScheduleOrder>())
    else {
        return Vec::new();
    };
    reads.carried(&order.labels).into_iter().collect()
}

/// Returns what the registered types leave open, as of now and of the images captured so far.
pub fn coverage(world: &mut World) -> Coverage {
    runtime::with(world, |world, runtime| {
        runtime.freeze(world);
        look(world, runtime)
    })
}

fn look(world: &World, runtime: &Runtime) -> Coverage {
    let spoken_for = |id: TypeId| runtime.registry.has_role(id) || id == TypeId::of::<SimId>();
    let Some(sim_id) = world.component_id::<SimId>() else { return Coverage::default() };
    let mut unregistered = BTreeSet::new();
    for archetype in world.archetypes().iter().filter(|archetype| archetype.contains(sim_id) && !archetype.is_empty()) {
        for info in archetype.components().iter().filter_map(|id| world.components().get_info(*id)) {
            if info.type_id().is_none_or(|id| !spoken_for(id)) {
                unregistered.insert(info.name().to_string());
            }
        }
    }
    let counted = |wanted: usize| {
        let lanes = runtime.capturer.image.lanes.iter().zip(runtime.rows_max());
        // `Disabled` is there in each game.
        let lanes = lanes.filter(|(lane, count)| *count == wanted && &*lane.name != "Disabled");
        lanes.map(|(lane, _)| lane.name.to_string()).collect()
    };
    Coverage {
        unregistered: unregistered.into_iter().collect(),
        never_seen: counted(0),
        order_untested: counted(1),
        carried_messages: carried_messages(world),
    }
}

/// What may be behind a state that cannot be put back: what nobody registered, in words for the end of a sentence.
pub(crate) fn suspects(world: &World, runtime: &Runtime) -> String {
    let found = look(world, runtime);
    let mut suspects = Vec::new();
    if !found.unregistered.is_empty() {
        suspects.push(format!("components that nobody registered: {}", found.unregistered.join(", ")));
    }
    let resources = unregistered_resources(world, runtime);
    if !resources.is_empty() {
        suspects.push(format!("resources that nobody registered: {}", resources.join(", ")));
    }
    if !found.carried_messages.is_empty() {
        suspects.push(format!("messages in readers' cursors: {}", found.carried_messages.join(", ")));
    }
    suspects.push("`Local`s of systems, and the order in which queries visit tables".into());
    format!("; suspects: {}", suspects.join("; "))
}

/// Resources of the game of which nobody has said what they are.
fn unregistered_resources(world: &World, runtime: &Runtime) -> Vec<String> {
    // Engine and plugins keep their own house; names are known with the feature `diagnostics` only.
    let is_own = |part: &str| !["bevy_", "core::", "alloc::", "std::"].iter().any(|of| part.trim().starts_with(of));
    let is_of_game = |name: &str| {
        is_own(name) && !name.contains("<")
            || name.split(['<', ',']).skip(1).any(|part| is_own(part) && part.contains("::"))
    };
    let infos = world.resource_entities().iter().filter_map(|(id, _)| world.components().get_info(id));
    let unknown = infos.filter(|info| info.type_id().is_none_or(|id| !runtime.registry.has_role(id)));
    let names: BTreeSet<String> = unknown.map(|info| info.name().to_string()).collect();
    names.into_iter().filter(|name| is_of_game(name)).collect()
}
