//! One order of conflicting systems, on every executor and in every build.

use super::border::SystemKeys;
use super::probes::ScheduleProbes;
use super::reads;
use bevy_app::{
    App, FixedFirst, FixedLast, FixedMain, FixedPostUpdate, FixedPreUpdate, FixedUpdate, PostStartup, PreStartup,
    Startup,
};
use bevy_ecs::component::ComponentId;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::graph::{DiGraph, Direction};
use bevy_ecs::schedule::{
    FlattenedDependencies, InternedScheduleLabel, InternedSystemSet, NodeId, ScheduleBuildError, ScheduleBuildPass,
    ScheduleGraph, ScheduleLabel, SingleThreadedExecutor, SystemKey, SystemSetKey,
};
use bevy_ecs::system::SystemAccess;
use std::collections::{BTreeMap, BTreeSet};

/// How systems inside a tick are ordered where the game leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TickOrder {
    /// Conflicting systems run in the order in which they were added to the app. Default.
    ///
    /// Systems conflict if one writes what the other reads or writes, in their parameters or run
    /// conditions, or if both queue commands. Others still run in parallel. A schedule that gets its first systems inside a
    /// tick follows the order from the next tick on, which is told as
    /// [`Finding::AddedInside`](crate::Finding::AddedInside).
    #[default]
    Fixed,
    /// Conflicting systems run in another legal order, picked by the seed. For finding out whether the order matters.
    Shuffled {
        /// Picks the order.
        seed: u64,
    },
    /// Bevy's own order, which may change when a system is added, and from run to run on several threads.
    AsScheduled,
}

/// Systems whose order the game leaves open although it matters, as found before [`TickOrder`] fixed it.
#[derive(Resource, Debug, Clone, Default)]
pub struct AmbiguousPairs {
    /// The pairs, schedule by schedule.
    pub pairs: Vec<AmbiguousPair>,
    /// The same, by the schedules that were looked at.
    pub(crate) by_schedule: Vec<(InternedScheduleLabel, Vec<AmbiguousPair>)>,
}

impl AmbiguousPairs {
    /// Whether a schedule was looked at.
    pub(crate) fn has_seen(&self, label: &impl ScheduleLabel) -> bool {
        self.by_schedule.iter().any(|(seen, _)| *seen == label.intern())
    }
}

/// Two systems whose order the game leaves open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct AmbiguousPair {
    /// The schedule both are in.
    pub schedule: String,
    /// The system added first. Names need the feature `diagnostics`.
    pub first: String,
    /// The system added later.
    pub second: String,
    /// Authoritative types that one of them writes and the other uses, sorted; `commands` where both queue some.
    pub shared: Vec<String>,
}

/// How the schedules of the tick are built.
#[derive(Resource, Debug, Clone, Copy, Default)]
pub(crate) struct BuildSettings {
    pub(crate) order: TickOrder,
    /// Whether the state is looked at after each system.
    pub(crate) is_probed: bool,
    /// Whether schedules that come late get the single-threaded executor, as the others have got it.
    pub(crate) is_single_threaded: bool,
}

/// Where a schedule runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Inside ticks only.
    Tick,
    /// Elsewhere, too, or before them: its systems may read the frame's clocks.
    Elsewhere,
    /// As `Elsewhere`, and its systems are Bevy's.
    Engine,
}

/// Makes a schedule that runs inside the tick follow the app's [`TickOrder`].
pub(crate) fn install_on(world: &mut World, label: InternedScheduleLabel, place: Place) {
    world.init_resource::<AmbiguousPairs>();
    let mut schedules = world.get_resource_or_init::<Schedules>();
    let schedule = schedules.entry(label);
    schedule.add_build_pass(FixedOrder { label, place, probes: ScheduleProbes::default() });
    // A pass alone does not have a schedule built anew that was built before.
    schedule.configure_sets(BuiltAnew);
}

/// The schedules that run when states change, if a registered state can change in a tick.
pub(crate) fn state_schedules(
    world: &World,
    registered: &[fn(&dyn ScheduleLabel) -> bool],
) -> Vec<(InternedScheduleLabel, Place)> {
    let schedules = world.get_resource::<Schedules>().filter(|_| !registered.is_empty());
    let all = schedules.into_iter().flat_map(Schedules::iter);
    let places = all.filter_map(|(label, schedule)| {
        let text = format!("{label:?}");
        let place = if registered.iter().any(|is| is(label)) {
            Place::Tick
        } else if text == "StateTransition" {
            Place::Engine
        } else if ["OnEnter(", "OnExit(", "OnTransition {"].iter().any(|kind| text.starts_with(kind)) {
            // Of a computed state, or of one that is not registered: nothing but the text tells.
            Place::Elsewhere
        } else {
            return None;
        };
        Some((schedule.label(), place))
    });
    places.collect()
}

/// No system is in it.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
struct BuiltAnew;

pub(crate) fn install(app: &mut App, order: TickOrder) {
    app.insert_resource(BuildSettings { order, ..BuildSettings::default() });
    // Startup is here for the first sim ids, which follow the order in which commands are applied,
    // `FixedMain` for systems that were put straight into it; its border was fixed by an earlier pass.
    for label in [PreStartup.intern(), Startup.intern(), PostStartup.intern()] {
        install_on(app.world_mut(), label, Place::Elsewhere);
    }
    install_on(app.world_mut(), FixedMain.intern(), Place::Tick);
}

/// Schedules of the tick that are not there yet. They are not made for their order's sake: Bevy makes a schedule when it
/// gets a system, and runs one without systems at the cost of one with a few.
#[derive(Debug)]
pub(crate) struct Awaited(Vec<InternedScheduleLabel>);

impl Default for Awaited {
    fn default() -> Self {
        Self(vec![
            FixedFirst.intern(),
            FixedPreUpdate.intern(),
            FixedUpdate.intern(),
            FixedPostUpdate.intern(),
            FixedLast.intern(),
        ])
    }
}

impl Awaited {
    /// Has those that have come follow the order of the tick, as the others do since the app was built. Called before the
    /// schedules of each tick run, as systems may be added late.
    pub(crate) fn install_on_those_there(&mut self, world: &mut World) {
        if self.there(world).next().is_none() {
            return;
        }
        let is_single_threaded = world.resource::<BuildSettings>().is_single_threaded;
        for label in self.there(world).collect::<Vec<_>>() {
            self.0.retain(|awaited| *awaited != label);
            install_on(world, label, Place::Tick);
            if let Some(schedule) = world.resource_mut::<Schedules>().get_mut(label) {
                schedule.set_apply_final_deferred(true);
                if is_single_threaded {
                    schedule.set_executor(SingleThreadedExecutor::new());
                }
            }
        }
    }

    /// Those that have come since the last tick began.
    pub(crate) fn there(&self, world: &World) -> impl Iterator<Item = InternedScheduleLabel> {
        let schedules = world.get_resource::<Schedules>();
        let is_there =
            move |label: &InternedScheduleLabel| schedules.is_some_and(|schedules| schedules.contains(*label));
        self.0.iter().copied().filter(is_there)
    }
}

/// Looks at the systems of a schedule, and adds an edge between each two conflicting ones.
#[derive(Debug)]
struct FixedOrder {
    label: InternedScheduleLabel,
    place: Place,
    probes: ScheduleProbes,
}

/// What is asked of each system again and again.
struct Conflicts<'a> {
    graph: &'a ScheduleGraph,
    /// The sets above a system, for their run conditions.
    sets: BTreeMap<SystemKey, Vec<SystemSetKey>>,
}

impl<'a> Conflicts<'a> {
    fn new(graph: &'a ScheduleGraph, systems: &[SystemKey]) -> Self {
        fn above(graph: &ScheduleGraph, node: NodeId, out: &mut Vec<SystemSetKey>) {
            let parents = graph.hierarchy().graph().neighbors_directed(node, Direction::Incoming);
            for set in parents.filter_map(|parent| parent.as_set()) {
                if !out.contains(&set) {
                    out.push(set);
                    above(graph, NodeId::Set(set), out);
                }
            }
        }
        let sets = systems.iter().map(|key| {
            let mut sets = Vec::new();
            above(graph, NodeId::System(*key), &mut sets);
            (*key, sets)
        });
        Self { graph, sets: sets.collect() }
    }

    /// The accesses of the run conditions of a system, and of the sets it is in.
    fn conditions(&self, key: SystemKey) -> impl Iterator<Item = &'a SystemAccess> {
        let graph = self.graph;
        let own = graph.systems.get_conditions(key).into_iter().flatten();
        let sets = self.sets.get(&key).cloned().unwrap_or_default();
        let inherited = sets.into_iter().filter_map(|set| graph.system_sets.get_conditions(set)).flatten();
        own.chain(inherited).map(|condition| &condition.access)
    }

    /// Whether a system is in a set, or in one inside it.
    fn is_in(&self, key: SystemKey, set: &InternedSystemSet) -> bool {
        let sets = self.sets.get(&key).into_iter().flatten();
        sets.filter_map(|key| self.graph.system_sets.get(*key)).any(|of| *of == **set)
    }

    /// Whether a run condition of the system, or of a set it is in, conflicts with an access.
    fn gated_by(&self, key: SystemKey, access: &SystemAccess) -> bool {
        self.conditions(key).any(|condition| !condition.is_compatible(access))
    }

    /// Authoritative types that one system writes and the other uses; `commands` where both queue some.
    fn shared(&self, a: SystemKey, b: SystemKey, types: &[(ComponentId, String)]) -> Vec<String> {
        let (Some(x), Some(y)) = (self.graph.systems.get(a), self.graph.systems.get(b)) else { return Vec::new() };
        let accesses =
            |key, own: &'a SystemAccess| -> Vec<&SystemAccess> { self.conditions(key).chain([own]).collect() };
        let (of_a, of_b) = (accesses(a, x.access()), accesses(b, y.access()));
        let any = |of: &[&SystemAccess], does: fn(&SystemAccess, ComponentId) -> bool, id| {
            of.iter().any(|access| does(access, id))
        };
        let shares = |id| {
            (any(&of_a, reads::writes, id) && any(&of_b, reads::uses, id))
                || (any(&of_b, reads::writes, id) && any(&of_a, reads::uses, id))
        };
        let types = types.iter().filter(|(id, _)| shares(*id)).map(|(_, name)| name.clone());
        let commands = (x.system().has_deferred() && y.system().has_deferred()).then(|| "commands".to_owned());
        let mut shared: Vec<String> = types.chain(commands).collect();
        shared.sort();
        shared
    }

    fn between(&self, a: SystemKey, b: SystemKey) -> bool {
        let (Some(x), Some(y)) = (self.graph.systems.get(a), self.graph.systems.get(b)) else { return false };
        !x.access().is_compatible(y.access())
            || (x.system().has_deferred() && y.system().has_deferred())
            || self.gated_by(a, y.access())
            || self.gated_by(b, x.access())
    }
}

impl ScheduleBuildPass for FixedOrder {
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
        world: &mut World,
        graph: &mut ScheduleGraph,
        mut dependencies: FlattenedDependencies<'_>,
    ) -> Result<(), ScheduleBuildError> {
        // Sync points that Bevy has just added have no access before this, and would conflict with nothing.
        graph.initialize(world);
        let mut systems: Vec<SystemKey> = dependencies.graph().nodes().collect();
        systems.sort_unstable(); // keys ascend in the order of registration
        let by_registration = systems.clone();
        let conflicts = Conflicts::new(graph, &systems);

        let types = reads::authoritative(world);
        // Before our own edges hide them.
        let open = dependencies.analyze().map_err(ScheduleBuildError::FlatDependencySort)?;
        let mut pairs: Vec<AmbiguousPair> = Vec::new();
        for (a, b) in open.disconnected().iter().map(|(a, b)| (*a.min(b), *a.max(b))) {
            if conflicts.between(a, b) {
                let name = |key: SystemKey| {
                    graph.systems.get(key).map(|node| node.system().name().to_string()).unwrap_or_default()
                };
                let (schedule, shared) = (format!("{:?}", self.label), conflicts.shared(a, b, &types));
                pairs.push(AmbiguousPair { schedule, first: name(a), second: name(b), shared });
            }
        }
        pairs.sort();

        let settings = world.get_resource::<BuildSettings>().copied().unwrap_or_default();
        if let TickOrder::Shuffled { seed } = settings.order {
            let rank: BTreeMap<SystemKey, u64> =
                systems.iter().zip(0..).map(|(key, rank)| (*key, mix(rank, seed))).collect();
            systems.sort_by_key(|key| rank[key]);
        }
        let order = registration_order(dependencies.graph(), &systems);
        if self.place == Place::Tick {
            let conditions = |key| conflicts.conditions(key).collect();
            reads::note(world, graph, self.label, &order, &types, conditions, |key, set| conflicts.is_in(key, set));
        }
        if settings.order != TickOrder::AsScheduled {
            for (i, &before) in order.iter().enumerate() {
                for &after in &order[i + 1..] {
                    if conflicts.between(before, after) {
                        dependencies.add_edge(before, after);
                    }
                }
            }
        }
        if settings.is_probed && self.place == Place::Tick && self.label != FixedMain.intern() {
            // Systems that do not concern each other run in one order in all apps, so that each finds the same state.
            let order = match settings.order {
                TickOrder::AsScheduled => {
                    dependencies.toposort().map_err(ScheduleBuildError::FlatDependencySort)?.to_vec()
                }
                _ => registration_order(dependencies.graph(), &by_registration),
            };
            self.probes.insert(world, graph, &mut dependencies, self.label, order);
        }
        if self.place == Place::Engine {
            return Ok(()); // nobody could order its systems
        }
        let mut report = world.get_resource_or_init::<AmbiguousPairs>();
        report.by_schedule.retain(|(label, _)| *label != self.label);
        report.by_schedule.push((self.label, pairs));
        let all: Vec<AmbiguousPair> = report.by_schedule.iter().flat_map(|(_, pairs)| pairs).cloned().collect();
        report.pairs = all;
        Ok(())
    }
}

/// Sorts systems so that each stands where it was added, or just before the first that must come after it.
///
/// Adding a system, or an edge from a new one, then moves no other pair.
fn registration_order(graph: &DiGraph<SystemKey>, systems: &[SystemKey]) -> Vec<SystemKey> {
    let rank: BTreeMap<SystemKey, usize> = systems.iter().zip(0..).map(|(key, rank)| (*key, rank)).collect();
    let mut order = Vec::with_capacity(systems.len());
    let mut seen = BTreeSet::new();
    for &system in systems {
        // Depth first without recursion: (system, whether what precedes it has been placed).
        let mut stack = vec![(system, false)];
        while let Some((key, ready)) = stack.pop() {
            if ready {
                order.push(key);
            } else if seen.insert(key) {
                stack.push((key, true));
                let mut before: Vec<SystemKey> = graph.neighbors_directed(key, Direction::Incoming).collect();
                before.sort_unstable_by_key(|key| core::cmp::Reverse(rank.get(key).copied()));
                stack.extend(before.into_iter().filter(|key| !seen.contains(key)).map(|key| (key, false)));
            }
        }
    }
    order
}

/// The finaliser of MurmurHash3, over a rank and a seed.
fn mix(rank: u64, seed: u64) -> u64 {
    let mut z = (rank + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(0xD1B5_4A32_D192_ED03);
    z = (z ^ (z >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    z = (z ^ (z >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    z ^ (z >> 33)
}
