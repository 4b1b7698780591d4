//! Which types are authoritative, and which inputs are recorded.

use super::capture::SIM_IDS;
use super::codec::Own;
use super::hierarchy::HierarchyLane;
use super::lanes::{ComponentLane, LaneSource, ResourceRow, ResourceSource};
use super::restore::WriteBack;
use super::sim_id;
use crate::input::TrackSource;
use crate::random::{StreamHandle, StreamLabel, StreamState};
use bevy_ecs::component::Mutable;
use bevy_ecs::entity_disabling::{DefaultQueryFilters, Disabled};
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::prelude::*;
use bevy_ecs::query::{QueryData, QueryFilter, QueryState};
use bevy_ecs::resource::IS_RESOURCE;
use bevy_ecs::schedule::ScheduleLabel;
use bevy_ecs::system::SystemId;
use bevy_replay_tape::Canonical;
use core::any::{TypeId, type_name};
use core::panic::Location;
use std::collections::{BTreeMap, BTreeSet};

/// Builds a query that sees disabled entities too, now and later.
///
/// The filters are looked at when the state is built; `Allow<Disabled>` would miss a game's own
/// disabling components and rule out reading whole columns.
pub(crate) fn unfiltered<D: QueryData, F: QueryFilter>(world: &mut World) -> QueryState<D, F> {
    world.resource_scope(|world, _: Mut<DefaultQueryFilters>| world.query_filtered())
}

/// What a game has registered. Frozen in `finish`, or at the first tick.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) lanes: Vec<Box<dyn LaneSource>>,
    pub(crate) resources: Vec<Box<dyn ResourceSource>>,
    pub(crate) tracks: Vec<Box<dyn TrackSource>>,
    /// Whether the state is read by the caller's thread alone, so that it is known who panics.
    pub(crate) on_one_thread: bool,
    /// Called at the beginning of each tick, before inputs are let in.
    pub(crate) at_begin: Vec<fn(&mut World)>,
    pub(crate) streams: Vec<StreamHandle>,
    #[cfg(feature = "plan")]
    pub(crate) plans: Vec<crate::plan::PlanHandle>,
    /// Components and resources share this, so that one type has one way into the image.
    known: BTreeMap<TypeId, &'static Location<'static>>,
    inputs: BTreeMap<TypeId, &'static Location<'static>>,
    pub(crate) derived: Vec<Derived>,
    /// Types that are written between ticks on purpose.
    pub(crate) unguarded: BTreeSet<TypeId>,
    /// Which schedules run inside the tick, besides the known ones.
    pub(crate) tick_schedules: Vec<fn(&dyn ScheduleLabel) -> bool>,
    frozen: bool,
}

/// Types a game may register together: one component, or a tuple of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be registered as authoritative",
    note = "it must be a component that derives `Canonical` (a tuple of up to 12 of them works too)",
    note = "where `Canonical` is implemented by hand, add `impl bevy_replay::Declared for {Self} {{}}`"
)]
pub trait AuthoritativeTypes {
    /// Registers each type.
    #[doc(hidden)]
    fn register(registrar: &mut Registrar<'_>);
}

/// Marks the game's own types; `#[derive(Canonical)]` implements it.
///
/// It is what tells a component from a tuple of components, as the compiler cannot know that tuples
/// will never be components.
pub trait Declared {}

/// Derived state: how it is emptied, and what rebuilds it.
pub(crate) struct Derived {
    pub(crate) clear: fn(&mut World),
    pub(crate) rebuild: Option<SystemId>,
}

/// Takes registrations.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "borrows the world")]
pub struct Registrar<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) registry: &'a mut Registry,
    pub(crate) caller: &'static Location<'static>,
}

impl<T: Component + Canonical + Declared> AuthoritativeTypes for T
where
    T::Mutability: WriteBack<T>,
{
    fn register(registrar: &mut Registrar<'_>) {
        let Registrar { world, registry, caller } = registrar;
        registry.admit::<T>("register_authoritative", caller);
        refuse_resource::<T>(world, "register_authoritative", "register_authoritative_resource", caller);
        sim_id::require::<T>(world);
        registry.lanes.push(Box::new(ComponentLane::<T, _>::new(Own::new())));
    }
}

/// Panics if a type that is registered as a component is a resource.
pub(crate) fn refuse_resource<T: Component>(world: &mut World, call: &str, right: &str, caller: &Location<'_>) {
    assert!(
        !is_resource::<T>(world),
        "{call}::<{name}>() at {caller}: the type is a resource (call {right}::<{name}>())",
        name = type_name::<T>(),
    );
}

/// Resources are components, too, on an entity of their own.
fn is_resource<T: Component>(world: &mut World) -> bool {
    let id = world.register_component::<T>();
    let info = world.components().get_info(id);
    info.is_some_and(|info| info.required_components().iter_ids().any(|required| required == IS_RESOURCE))
}

macro_rules! tuples {
    ($($t:ident)*) => {
        impl<$($t: AuthoritativeTypes),*> AuthoritativeTypes for ($($t,)*) {
            fn register(registrar: &mut Registrar<'_>) { $($t::register(registrar);)* }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);

impl Registry {
    /// Panics if registering is over, or if the type is known already.
    pub(crate) fn admit<T: 'static>(&mut self, call: &str, caller: &'static Location<'static>) {
        Self::check_open::<T>(self.frozen, call, caller);
        Self::check_new::<T>(&mut self.known, TypeId::of::<T>(), call, caller);
    }

    fn check_open<T>(frozen: bool, call: &str, caller: &Location<'_>) {
        assert!(
            !frozen,
            "{call}::<{}>() at {caller} comes too late: types are frozen when the app is finished or runs its first tick \
             (call it while plugins are built)",
            type_name::<T>(),
        );
    }

    fn check_new<T: 'static>(
        known: &mut BTreeMap<TypeId, &'static Location<'static>>,
        of: TypeId,
        call: &str,
        caller: &'static Location<'static>,
    ) {
        if let Some(first) = known.insert(of, caller) {
            let name = type_name::<T>();
            if of != TypeId::of::<T>() {
                panic!(
                    "{call}::<{name}>() at {caller}: a type of the tuple is registered already, at {first} (leave it out of \
                     one of the two)"
                );
            }
            panic!(
                "{call}::<{name}>() at {caller}: the type is registered already, at {first} (remove one of the two calls)"
            );
        }
    }

    pub(crate) fn add_resource<T: Resource + Canonical>(&mut self, caller: &'static Location<'static>)
    where
        T::Mutability: WriteBack<T>,
    {
        self.admit::<T>("register_authoritative_resource", caller);
        self.resources.push(Box::new(ResourceRow::<T, _>::new(Own::new())));
    }

    /// Adds which simulated entities are children of which.
    pub(crate) fn add_hierarchy(&mut self, caller: &'static Location<'static>) {
        self.admit::<Children>("register_hierarchy", caller);
        self.admit::<ChildOf>("register_hierarchy", caller);
        self.lanes.push(Box::new(HierarchyLane::new()));
    }

    /// Whether the type with this name is written between ticks on purpose.
    pub(crate) fn is_unguarded(&self, name: &str) -> bool {
        let lane = self.lanes.iter().find(|lane| lane.spec().name == name).map(|lane| lane.of());
        let of = lane.or_else(|| self.resources.iter().find(|row| row.spec().name == name).map(|row| row.of()));
        of.is_some_and(|of| self.unguarded.contains(&of))
    }

    /// Says that a component, or each of a tuple, needs no place in the image.
    pub(crate) fn add_role<T: Bundle>(&mut self, call: &str, caller: &'static Location<'static>) {
        Self::check_open::<T>(self.frozen, call, caller);
        // Not in the game's world: it would remember the bundle without components that are required of it later.
        let mut apart = World::new();
        let ids = apart.register_bundle::<T>().explicit_components().to_vec();
        for of in ids.into_iter().filter_map(|id| apart.components().get_info(id)?.type_id()) {
            Self::check_new::<T>(&mut self.known, of, call, caller);
        }
    }

    /// Whether somebody has said what the type is to the game.
    pub(crate) fn has_role(&self, id: TypeId) -> bool {
        self.known.contains_key(&id) || self.inputs.contains_key(&id)
    }

    /// Adds a recorded input under the type it stands for.
    pub(crate) fn add_track<T: 'static>(
        &mut self,
        call: &str,
        track: impl TrackSource + 'static,
        caller: &'static Location<'static>,
    ) {
        Self::check_open::<T>(self.frozen, call, caller);
        Self::check_new::<T>(&mut self.inputs, TypeId::of::<T>(), call, caller);
        self.tracks.push(Box::new(track));
    }

    /// Adds a resource of this crate that is authoritative because the game uses what it holds.
    pub(crate) fn add_own_resource<T: Resource<Mutability = Mutable> + Canonical>(&mut self) {
        self.resources.push(Box::new(ResourceRow::<T, _>::new(Own::new())));
    }

    /// Adds a stream of random numbers. Draws outside ticks are told as such, not as writes.
    pub(crate) fn add_stream<L: StreamLabel>(&mut self, caller: &'static Location<'static>) {
        self.admit::<StreamState<L>>("register_stream", caller);
        self.add_own_resource::<StreamState<L>>();
        self.unguarded.insert(TypeId::of::<StreamState<L>>());
        self.streams.push(StreamHandle::new::<L>());
    }

    /// Puts everything in its final order. Panics if two types share a name.
    pub(crate) fn freeze(&mut self, world: &mut World) {
        if self.frozen {
            return;
        }
        self.frozen = true;
        // A disabled entity takes no part in most queries: that is state in each game.
        if self.known.insert(TypeId::of::<Disabled>(), Location::caller()).is_none() {
            self.lanes.push(Box::new(ComponentLane::<Disabled, _>::new(Own::new())));
        }
        self.lanes.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        self.resources.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        self.tracks.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        let lanes = self.lanes.iter().map(|lane| &*lane.spec().name);
        let state = lanes.chain(self.resources.iter().map(|resource| &*resource.spec().name)).chain([SIM_IDS]);
        let tracks = self.tracks.iter().map(|track| &*track.spec().name);
        for names in [state.collect::<Vec<_>>(), tracks.collect()] {
            let mut seen = BTreeSet::new();
            if let Some(name) = names.into_iter().find(|name| !seen.insert(*name)) {
                panic!(
                    "two registered types are called `{name}` (give one another name: `#[canonical(name = \"…\")]`; keep that of another crate in a component of your own)"
                );
            }
        }
        for lane in &mut self.lanes {
            lane.attach(world);
        }
        for track in &mut self.tracks {
            track.attach(world);
        }
    }
}
