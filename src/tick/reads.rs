//! What systems of the tick reach by their declared access, although it is not the tick's.

use bevy_ecs::component::ComponentId;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{InternedScheduleLabel, ScheduleGraph, SystemKey};
use bevy_ecs::system::SystemAccess;
use bevy_time::{Real, Time, Virtual};
use std::collections::{BTreeMap, BTreeSet};

/// Looked at whenever a schedule of the tick is built.
#[derive(Resource, Debug, Default)]
pub(crate) struct TickReads {
    /// Recorded message types: their buffer, and the name shown to people.
    messages: BTreeMap<ComponentId, String>,
    /// Systems that read a clock of the frame and were not told about yet.
    pub(crate) frame_clocks: Vec<FrameClockRead>,
    /// Who reads and writes recorded messages in each schedule, in the order in which they run.
    uses: Vec<(InternedScheduleLabel, Vec<MessageUse>)>,
}

/// A system of the tick that reads a clock of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameClockRead {
    pub(crate) system: String,
    pub(crate) clock: &'static str,
}

#[derive(Debug)]
struct MessageUse {
    system: String,
    message: ComponentId,
    writes: bool,
}

impl TickReads {
    /// Has the buffer of a recorded message type watched.
    pub(crate) fn watch(&mut self, buffer: ComponentId, name: String) {
        self.messages.insert(buffer, name);
    }

    /// Recorded message types that a system reads before another writes them, so that messages are carried from tick
    /// to tick in the reader's cursor, where no image sees them: `Hit (read by a, then written by b)`.
    ///
    /// `order` is that of the schedules of the tick; others may run at any time in it.
    pub(crate) fn carried(&self, order: &[InternedScheduleLabel]) -> BTreeSet<String> {
        let others = || self.uses.iter().filter(|(label, _)| !order.contains(label));
        let known = order.iter().filter_map(|label| self.uses.iter().find(|(of, _)| of == label));
        let mut readers: BTreeMap<ComponentId, &str> = BTreeMap::new();
        let mut carried = BTreeSet::new();
        for used in others().chain(known).chain(others()).flat_map(|(_, uses)| uses) {
            if !used.writes {
                readers.entry(used.message).or_insert(&used.system);
            } else if let Some(reader) = readers.get(&used.message) {
                let name = &self.messages[&used.message];
                carried.insert(format!("{name} (read by {reader}, then written by {})", used.system));
            }
        }
        carried
    }
}

/// Looks at the systems of a schedule, which are given in the order in which they run.
pub(super) fn note<'a>(
    world: &mut World,
    graph: &'a ScheduleGraph,
    schedule: InternedScheduleLabel,
    order: &[SystemKey],
    conditions: impl Fn(SystemKey) -> Vec<&'a SystemAccess>,
) {
    let clocks =
        [("Time<Real>", world.component_id::<Time<Real>>()), ("Time<Virtual>", world.component_id::<Time<Virtual>>())];
    let mut reads = world.get_resource_or_init::<TickReads>();
    let mut uses = Vec::new();
    for key in order {
        let Some(node) = graph.systems.get(*key) else { continue };
        let system = || node.system().name().to_string();
        for access in conditions(*key).into_iter().chain([node.access()]) {
            let SystemAccess::Shared(access) = access else { continue };
            let access = access.combined_access();
            for (clock, id) in clocks {
                // Who may write `Time<Virtual>` pauses the game or sets its speed.
                if id.is_some_and(|id| access.has_read(id) && !access.has_write(id)) {
                    let read = FrameClockRead { system: system(), clock };
                    if !reads.frame_clocks.contains(&read) {
                        reads.frame_clocks.push(read);
                    }
                }
            }
            for message in reads.messages.keys().copied() {
                if access.has_read(message) || access.has_write(message) {
                    uses.push(MessageUse { system: system(), message, writes: access.has_write(message) });
                }
            }
        }
    }
    reads.uses.retain(|(label, _)| *label != schedule);
    reads.uses.push((schedule, uses));
}
