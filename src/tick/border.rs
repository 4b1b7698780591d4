//! `begin_tick` and `end_tick`: two exclusive systems of `FixedMain`, held outermost.
//!
//! Two schedules would cost ten times as much, and a plugin that inserts its own schedules first
//! would end up outside of them.

use crate::runtime;
use bevy_app::{App, FixedMain, FixedMainScheduleOrder, FixedUpdate};
use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::graph::DiGraph;
use bevy_ecs::schedule::{
    ApplyDeferred, FlattenedDependencies, NodeId, ScheduleBuildError, ScheduleBuildPass, ScheduleGraph, SystemKey,
    SystemSetKey,
};
use bevy_platform::hash::FixedHasher;
use bevy_time::DelayedCommandQueue;
use core::any::TypeId;

/// The border of a tick, in the order of a run; both sets are in `FixedMain`.
///
/// Everything else in `FixedMain`, whoever added it, runs between the two.
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplaySystems {
    /// Captures the input of the tick, or replaces it with the tape's.
    BeginTick,
    /// Applies what is left of commands, consumes one-shot input, captures and digests the state.
    EndTick,
}

pub(crate) fn install(app: &mut App) {
    app.edit_schedule(FixedMain, |schedule| {
        schedule.add_build_pass(Bracket::default());
        schedule.add_systems((
            runtime::begin_tick.in_set(ReplaySystems::BeginTick).before(FixedMain::run_fixed_main),
            runtime::end_tick.in_set(ReplaySystems::EndTick).after(FixedMain::run_fixed_main),
        ));
    });
}

/// Has all schedules of the tick apply their commands at their end, so that none are left over at the border.
///
/// This overrules `set_apply_final_deferred(false)`.
pub(crate) fn apply_final_commands(world: &mut World) {
    let labels = world.resource::<FixedMainScheduleOrder>().labels.clone();
    let mut schedules = world.resource_mut::<Schedules>();
    for label in labels {
        if let Some(schedule) = schedules.get_mut(label) {
            schedule.set_apply_final_deferred(true);
        }
    }
}

/// Commands that wait for a time. The frame's clock lets them go, so a tick must not queue any.
#[derive(Default)]
pub(crate) struct DelayedCommands(Option<QueryState<(), With<DelayedCommandQueue>>>);

impl DelayedCommands {
    pub(crate) fn count(&mut self, world: &World) -> usize {
        if self.0.is_none() {
            self.0 = world.try_query_filtered(); // nothing is there before the type is known
        }
        self.0.as_mut().map_or(0, |queues| queues.iter(world).count())
    }
}

/// Finds runs of `FixedUpdate` outside of `FixedMain`, and so outside of ticks.
#[derive(Default)]
pub(crate) struct HandRun {
    /// The change tick at the end of the last tick.
    ended_at: Option<Tick>,
}

impl HandRun {
    pub(crate) fn end_tick(&mut self, world: &mut World) {
        self.ended_at = Some(world.increment_change_tick());
    }

    /// Whether a system of `FixedUpdate` has run since the last tick.
    pub(crate) fn ran_since(&self, world: &World) -> bool {
        let Some(ended_at) = self.ended_at else { return false };
        let now = world.read_change_tick();
        let schedule = world.get_resource::<Schedules>().and_then(|schedules| schedules.get(FixedUpdate));
        let systems = schedule.and_then(|schedule| schedule.systems().ok());
        systems.into_iter().flatten().any(|(_, system)| system.get_last_run().is_newer_than(ended_at, now))
    }
}

/// Orders `begin_tick` before and `end_tick` after every other system of the schedule.
#[derive(Debug, Default)]
struct Bracket {
    /// Applies the commands of systems in `FixedMain` before `end_tick`; there only if one has commands.
    flush: Option<SystemKey>,
}

/// What tells a system from others.
pub(super) fn type_of<M>(system: impl IntoSystem<(), (), M>) -> TypeId {
    system.system_type_id()
}

pub(crate) type SystemKeys = indexmap::IndexSet<SystemKey, FixedHasher>;

impl ScheduleBuildPass for Bracket {
    type EdgeOptions = ();

    fn add_dependency(&mut self, _: NodeId, _: NodeId, _: Option<&()>) {}

    fn collapse_set(
        &mut self,
        _: SystemSetKey,
        _: &SystemKeys,
        _: &DiGraph<NodeId>,
    ) -> impl Iterator<Item = (NodeId, NodeId)> {
        core::iter::empty()
    }

    fn build(
        &mut self,
        _: &mut World,
        graph: &mut ScheduleGraph,
        mut dependencies: FlattenedDependencies<'_>,
    ) -> Result<(), ScheduleBuildError> {
        let nodes: Vec<SystemKey> = dependencies.graph().nodes().collect();
        let find = |wanted: TypeId| {
            nodes
                .iter()
                .copied()
                .find(|key| graph.systems.get(*key).is_some_and(|node| node.system().system_type() == wanted))
        };
        let (Some(begin), Some(end)) = (find(type_of(runtime::begin_tick)), find(type_of(runtime::end_tick))) else {
            return Ok(());
        };
        let has_deferred = |key: &SystemKey| graph.systems.get(*key).is_some_and(|node| node.system().has_deferred());
        let flush = nodes.iter().any(has_deferred).then(|| {
            let systems = &mut graph.systems;
            *self
                .flush
                .get_or_insert_with(|| systems.insert(Box::new(IntoSystem::into_system(ApplyDeferred)), Vec::new()))
        });
        dependencies.add_edge(begin, end);
        for &key in nodes.iter().filter(|key| ![begin, end].contains(key)) {
            dependencies.add_edge(begin, key);
            dependencies.add_edge(key, flush.unwrap_or(end));
        }
        if let Some(flush) = flush {
            dependencies.add_edge(flush, end);
        }
        Ok(())
    }
}
