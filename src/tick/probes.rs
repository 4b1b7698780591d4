//! Looks at the state after each system of a tick, so that the first whose effect differs can be named.
//!
//! Probes are systems of their own, chained behind each system in the order in which the schedule runs anyway. They are
//! there only in apps that are compared.

use super::reads::is_sync_point;
use crate::runtime;
use crate::state::capture::Capturer;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{
    ApplyDeferred, FlattenedDependencies, InternedScheduleLabel, NodeId, ScheduleGraph, SystemKey,
};
use bevy_ecs::system::SystemAccess;
use bevy_platform::collections::HashMap;
use bevy_replay_tape::SystemEffect;
use std::collections::BTreeMap;

/// What the probes of all schedules have seen in the running tick.
#[derive(Resource, Debug, Default)]
pub(crate) struct Probes {
    /// The steps of each schedule, as they are told.
    steps: HashMap<(InternedScheduleLabel, SystemKey), SystemEffect>,
    /// Digests of the root and of each type after the last step; empty before the first.
    last: Vec<u64>,
    /// What each step of the running tick has done.
    pub(crate) effects: Vec<SystemEffect>,
}

impl Probes {
    /// A tick begins in this state: what was written since the last one was written by no system of a tick.
    pub(crate) fn begin_tick(&mut self, state: &Capturer) {
        self.effects.clear();
        let now: Vec<u64> = digests(state).collect();
        let changed = changes(state, &self.last, &now);
        if !changed.is_empty() {
            self.effects.push(SystemEffect { changed, ..SystemEffect::default() });
        }
        self.last = now;
    }

    /// The border has led to this state, by something with a name.
    #[cfg(feature = "plan")]
    pub(crate) fn border_step(&mut self, name: &str, state: &Capturer) {
        let now: Vec<u64> = digests(state).collect();
        let changed = changes(state, &self.last, &now);
        if !changed.is_empty() {
            let (schedule, systems) = ("the tick's beginning".into(), vec![name.into()]);
            self.effects.push(SystemEffect { schedule, systems, place: (1, 1), changed, ..SystemEffect::default() });
        }
        self.last = now;
    }

    /// A step has led to this state.
    pub(crate) fn step(&mut self, step: (InternedScheduleLabel, SystemKey), state: &Capturer) {
        let Some(mut effect) = self.steps.get(&step).cloned() else { return };
        let now: Vec<u64> = digests(state).collect();
        effect.changed = changes(state, &self.last, &now);
        if effect.changed.is_empty() {
            // Entities that have none of the types.
            let root = self.last.first().copied().zip(now.first().copied()).filter(|(before, after)| before != after);
            effect.changed.extend(root.map(|pair| (String::new(), pair)));
        }
        self.last = now;
        self.effects.push(effect);
    }
}

/// The types whose digests have changed.
fn changes(state: &Capturer, before: &[u64], after: &[u64]) -> BTreeMap<String, (u64, u64)> {
    let names = state.image.lanes.iter().map(|lane| &*lane.name);
    let names = names.chain(state.image.resources.iter().map(|resource| &*resource.name));
    let pairs = before.iter().copied().zip(after.iter().copied()).skip(1);
    names.zip(pairs).filter(|(_, (a, b))| a != b).map(|(name, pair)| (name.to_owned(), pair)).collect()
}

fn digests(state: &Capturer) -> impl Iterator<Item = u64> {
    let digest = &state.digest;
    core::iter::once(digest.root).chain(digest.lanes.iter().copied()).chain(digest.resources.iter().copied())
}

/// The probes of one schedule. Kept from one build to the next, as a schedule forgets no system.
#[derive(Debug, Default)]
pub(crate) struct ScheduleProbes {
    probes: BTreeMap<SystemKey, SystemKey>,
    /// Applies what is left of commands, before the next schedule's systems run.
    flush: Option<SystemKey>,
}

impl ScheduleProbes {
    /// Chains a probe behind each system that may change the state. The order is one that the schedule may run in.
    pub(crate) fn insert(
        &mut self,
        world: &mut World,
        graph: &mut ScheduleGraph,
        dependencies: &mut FlattenedDependencies<'_>,
        schedule: InternedScheduleLabel,
        mut order: Vec<SystemKey>,
    ) {
        let count = order.iter().filter(|key| !is_sync_point(graph, **key)).count();
        let flush = *self
            .flush
            .get_or_insert_with(|| graph.systems.insert(Box::new(IntoSystem::into_system(ApplyDeferred)), Vec::new()));
        order.push(flush);

        let mut probes = world.get_resource_or_init::<Probes>();
        let (mut place, mut queued, mut last) = (0, Vec::new(), None);
        for key in order {
            let Some(node) = graph.systems.get(key) else { continue };
            let is_commands = is_sync_point(graph, key);
            let mut systems = Vec::new();
            if is_commands {
                systems.append(&mut queued);
            } else {
                place += 1;
                systems.push(node.system().name().to_string());
                if node.system().has_deferred() {
                    queued.extend(systems.iter().cloned());
                }
            }
            let is_idle = if is_commands { systems.is_empty() } else { !may_write(node.access()) };
            if let Some(last) = last.replace(key) {
                dependencies.add_edge(last, key);
            }
            if is_idle {
                continue;
            }
            let schedule_name = format!("{schedule:?}");
            let effect = SystemEffect {
                schedule: schedule_name,
                systems,
                is_commands,
                place: (place, count),
                ..Default::default()
            };
            probes.steps.insert((schedule, key), effect);
            let probe = *self.probes.entry(key).or_insert_with(|| {
                let look = move |world: &mut World| runtime::probe(world, (schedule, key));
                graph.systems.insert(Box::new(IntoSystem::into_system(look)), Vec::new())
            });
            graph.ambiguous_with_all.insert(NodeId::System(probe));
            dependencies.add_edge(key, probe);
            last = Some(probe);
        }
    }
}

fn may_write(access: &SystemAccess) -> bool {
    match access {
        SystemAccess::None => false,
        SystemAccess::Shared(access) => access.combined_access().has_any_write(),
        SystemAccess::Exclusive => true,
    }
}
