//! What systems of the tick reach by their declared access: who may write a type, and what is not the tick's.

use super::border::{ReplaySystems, type_of};
use bevy_app::FixedMain;
use bevy_ecs::component::ComponentId;
use bevy_ecs::prelude::*;
use bevy_ecs::query::FilteredAccess;
use bevy_ecs::schedule::{ApplyDeferred, InternedScheduleLabel, InternedSystemSet, ScheduleGraph, SystemKey};
use bevy_ecs::system::SystemAccess;
use bevy_time::{Real, Time, Virtual};
use core::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

/// Looked at whenever a schedule of the tick is built.
#[derive(Resource, Debug, Default)]
pub(crate) struct TickReads {
    /// Recorded message types: their buffer, and the name shown to people.
    messages: BTreeMap<ComponentId, String>,
    /// Systems that read a clock of the frame and were not told about yet.
    pub(crate) frame_clocks: Vec<FrameClockRead>,
    /// Sets of systems of which that is known.
    pub(crate) may_read_frame_clocks: Vec<InternedSystemSet>,
    /// Authoritative types, and the names shown to people.
    pub(crate) authoritative: Vec<(TypeId, String)>,
    /// Which of them are written by which systems of each schedule, in the order in which they run.
    writers: Vec<(InternedScheduleLabel, Vec<(String, String)>)>,
    /// The exclusive systems of each schedule, which may write any type.
    exclusive: Vec<(InternedScheduleLabel, Vec<String>)>,
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

    /// The systems of the tick that may write an authoritative type: those that say so, then exclusive ones.
    pub(crate) fn writers(&self, type_name: &str) -> Vec<String> {
        let all = self.writers.iter().flat_map(|(_, writers)| writers);
        let mut writers: Vec<String> =
            all.filter(|(of, _)| of == type_name).map(|(_, system)| system.clone()).collect();
        if self.authoritative.iter().any(|(_, name)| name == type_name) {
            let exclusive = self.exclusive.iter().flat_map(|(_, systems)| systems);
            writers.extend(exclusive.map(|system| format!("{system} (exclusive)")));
        }
        writers.dedup();
        writers
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

/// The components of authoritative types that the world knows by now, and their names.
pub(super) fn authoritative(world: &World) -> Vec<(ComponentId, String)> {
    let types = world.get_resource::<TickReads>().into_iter().flat_map(|reads| &reads.authoritative);
    types.filter_map(|(of, name)| Some((world.components().get_id(*of)?, name.clone()))).collect()
}

/// Whether a system, or its condition, may write a component.
pub(super) fn writes(access: &SystemAccess, of: ComponentId) -> bool {
    match access {
        SystemAccess::None => false,
        SystemAccess::Shared(access) => access.combined_access().has_write(of),
        SystemAccess::Exclusive => true,
    }
}

/// Whether a system, or its condition, may read or write a component.
pub(super) fn uses(access: &SystemAccess, of: ComponentId) -> bool {
    match access {
        SystemAccess::None => false,
        SystemAccess::Shared(shared) => shared.combined_access().has_read(of) || writes(access, of),
        SystemAccess::Exclusive => true,
    }
}

/// Whether a system only applies the commands of others.
pub(super) fn is_sync_point(graph: &ScheduleGraph, key: SystemKey) -> bool {
    graph.systems.get(key).is_some_and(|node| node.system().system_type() == type_of(ApplyDeferred))
}

/// Looks at the systems of a schedule, which are given in the order in which they run.
pub(super) fn note<'a>(
    world: &mut World,
    graph: &'a ScheduleGraph,
    schedule: InternedScheduleLabel,
    order: &[SystemKey],
    authoritative: &[(ComponentId, String)],
    conditions: impl Fn(SystemKey) -> Vec<&'a SystemAccess>,
    is_in: impl Fn(SystemKey, &InternedSystemSet) -> bool,
) {
    let clocks =
        [("Time<Real>", world.component_id::<Time<Real>>()), ("Time<Virtual>", world.component_id::<Time<Virtual>>())];
    let mut reads = world.get_resource_or_init::<TickReads>();
    let (mut uses, mut writers, mut exclusive) = (Vec::new(), Vec::new(), Vec::new());
    // What is exclusive, and not the game's.
    let borders = [ReplaySystems::BeginTick.intern(), ReplaySystems::EndTick.intern()];
    let fixed_main = type_of(FixedMain::run_fixed_main);
    for key in order {
        let Some(node) = graph.systems.get(*key) else { continue };
        let system = || node.system().name().to_string();
        let may_read_clocks = reads.may_read_frame_clocks.iter().any(|set| is_in(*key, set));
        let is_borders = borders.iter().any(|border| is_in(*key, border)) || node.system().system_type() == fixed_main;
        if node.access().is_exclusive() && !is_borders && !is_sync_point(graph, *key) {
            exclusive.push(system());
        }
        for access in conditions(*key).into_iter().chain([node.access()]) {
            let SystemAccess::Shared(shared) = access else { continue };
            let access = shared.combined_access();
            // A parameter for whole entities (`EntityRef`) names no clock.
            let names = |id| {
                let mut parameters = shared.filtered_accesses().iter().map(FilteredAccess::access);
                parameters.any(|access| access.has_read(id) && !access.has_read_all())
            };
            for (clock, id) in clocks.into_iter().filter(|_| !may_read_clocks) {
                // Who may write `Time<Virtual>` pauses the game or sets its speed.
                if id.is_some_and(|id| names(id) && !access.has_write(id)) {
                    let read = FrameClockRead { system: system(), clock };
                    if !reads.frame_clocks.contains(&read) {
                        reads.frame_clocks.push(read);
                    }
                }
            }
            let written = authoritative.iter().filter(|(of, _)| access.has_write(*of));
            writers.extend(written.map(|(_, name)| (name.clone(), system())));
            for message in reads.messages.keys().copied() {
                if access.has_read(message) || access.has_write(message) {
                    uses.push(MessageUse { system: system(), message, writes: access.has_write(message) });
                }
            }
        }
    }
    reads.uses.retain(|(label, _)| *label != schedule);
    reads.uses.push((schedule, uses));
    reads.writers.retain(|(label, _)| *label != schedule);
    reads.writers.push((schedule, writers));
    reads.exclusive.retain(|(label, _)| *label != schedule);
    reads.exclusive.push((schedule, exclusive));
}
