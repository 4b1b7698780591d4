//! How a game says what is recorded and what is authoritative.

#[cfg(feature = "states")]
use crate::input::states;
use crate::input::{ComponentTrack, LastMessages, MessageTrack, ResourceTrack};
#[cfg(feature = "plan")]
use crate::plan::{self, Plans};
use crate::plugin::{ReplayPlugin, Seed};
use crate::random::{self, StreamLabel, StreamState};
use crate::runtime;
use crate::state::codec::Own;
#[cfg(feature = "reflect")]
use crate::state::lanes::{ComponentLane, ResourceRow};
#[cfg(feature = "reflect")]
use crate::state::reflected::Reflected;
use crate::state::registry::{AuthoritativeTypes, Derived, Registrar, refuse_resource, unfiltered};
use crate::state::restore::WriteBack;
use crate::state::{removals, sim_id};
use crate::tick::order::Place;
use crate::tick::reads::TickReads;
use crate::tick::{gate, order};
use bevy_app::{App, First};
use bevy_ecs::component::Mutable;
use bevy_ecs::message::{Message, Messages};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SystemCondition};
#[cfg(feature = "reflect")]
use bevy_reflect::{FromReflect, Typed};
use bevy_replay_tape::{Canonical, TickInput};
#[cfg(feature = "states")]
use bevy_state::state::FreelyMutableState;
use core::any::TypeId;
use core::panic::Location;

/// Registers inputs and authoritative types. Call these while plugins are built.
pub trait ReplayAppExt {
    /// Records a resource: ticks see it as it stands at their beginning, replays see the tape's.
    ///
    /// Write it between ticks (in `PreUpdate`, `Update` or `RunFixedMainLoop`), never inside one.
    /// The resource is added if it is not there.
    ///
    /// # Panics
    ///
    /// If the type is recorded already, or after the app was finished or ran its first tick.
    fn record_input<T: Resource<Mutability = Mutable> + TickInput>(&mut self) -> &mut Self;

    /// Records a component of simulated entities, entity by entity: split screen, input crates.
    ///
    /// Entities are found by their [`SimId`](crate::SimId); an entity that a tape knows nothing of gets the default.
    ///
    /// # Panics
    ///
    /// If the type is recorded already, or after the app was finished or ran its first tick.
    fn record_input_component<T: Component<Mutability = Mutable> + TickInput>(&mut self) -> &mut Self;

    /// Records messages: what is written outside ticks enters the next tick as input.
    ///
    /// The type gets a buffer of its own inside ticks, so that no tick misses a message or sees one twice,
    /// whatever the frame rate. What a tick writes is seen by `MessageReader`s outside after it, and by
    /// [`TickReader`](crate::TickReader)s in the next tick. Async results are recorded this way: write them as
    /// messages. Within a tick the messages of one type keep their order; types follow each other by name.
    ///
    /// # Panics
    ///
    /// If the type is recorded already, or after the app was finished or ran its first tick.
    fn record_messages<M: Message + Canonical + Clone>(&mut self) -> &mut Self;

    /// Offers removals of a component tick by tick, to [`TickRemovals`](crate::TickRemovals).
    ///
    /// # Panics
    ///
    /// If the type is tracked already, or after the app was finished or ran its first tick.
    fn track_removals<T: Component + Canonical>(&mut self) -> &mut Self;

    /// Makes components authoritative: one type or a tuple. Their entities get a [`SimId`](crate::SimId).
    ///
    /// # Panics
    ///
    /// If a type is registered already, or after the app was finished or ran its first tick.
    fn register_authoritative<T: AuthoritativeTypes>(&mut self) -> &mut Self;

    /// Makes a resource authoritative. Whether it is present is part of the state.
    ///
    /// # Panics
    ///
    /// If the type is registered already, or after the app was finished or ran its first tick.
    fn register_authoritative_resource<T: Resource + Canonical>(&mut self) -> &mut Self
    where
        T::Mutability: WriteBack<T>;

    /// Makes it authoritative which simulated entities are children of which, and in which order.
    ///
    /// Children and parents without a [`SimId`](crate::SimId) do not count: sprites may come and go.
    ///
    /// # Panics
    ///
    /// If it is registered already, or after the app was finished or ran its first tick.
    fn register_hierarchy(&mut self) -> &mut Self;

    /// Makes a component of another crate authoritative (`Transform`, those of a physics engine), through reflection, on
    /// entities that have a [`SimId`](crate::SimId) from elsewhere.
    ///
    /// It brings no id: cameras have a `Transform`, too. Fields with `#[reflect(ignore)]` do not count. Reading by
    /// reflection takes several times as long as a type's own [`Canonical`].
    ///
    /// # Panics
    ///
    /// If a field has no canonical form, if the type is registered already, or after the app was finished or ran its
    /// first tick.
    #[cfg(feature = "reflect")]
    fn register_authoritative_reflect<T: Component + FromReflect + Typed>(&mut self) -> &mut Self
    where
        T::Mutability: WriteBack<T>;

    /// Makes a resource of another crate authoritative, through reflection.
    ///
    /// # Panics
    ///
    /// As [`register_authoritative_reflect`](Self::register_authoritative_reflect).
    #[cfg(feature = "reflect")]
    fn register_authoritative_resource_reflect<T: Resource + FromReflect + Typed>(&mut self) -> &mut Self
    where
        T::Mutability: WriteBack<T>;

    /// Records a resource of another crate as input, through reflection; see [`record_input`](Self::record_input).
    ///
    /// # Panics
    ///
    /// If a field has no canonical form, if the type is recorded already, or after the app was finished or ran its first
    /// tick.
    #[cfg(feature = "reflect")]
    fn record_input_reflect<T: Resource<Mutability = Mutable> + Default + FromReflect + Typed>(&mut self) -> &mut Self;

    /// Records a component of another crate as input, entity by entity, through reflection, on entities that have a
    /// [`SimId`](crate::SimId) from elsewhere; see [`record_input_component`](Self::record_input_component).
    ///
    /// # Panics
    ///
    /// As [`record_input_reflect`](Self::record_input_reflect).
    #[cfg(feature = "reflect")]
    fn record_input_component_reflect<T: Component<Mutability = Mutable> + Default + FromReflect + Typed>(
        &mut self,
    ) -> &mut Self;

    /// Makes one of Bevy's states authoritative, and requests for it exact in ticks.
    ///
    /// A request made outside of ticks is held until the next one and recorded; a request made in a tick takes effect at
    /// the beginning of the next. There `OnExit`, `OnTransition` and `OnEnter` run inside the tick, with its clock, in the
    /// app's [`TickOrder`](crate::TickOrder). Sub-states and computed states follow; register a sub-state, too, where the game requests it.
    ///
    /// Of several requests outside of ticks the last one counts, and it goes before what the last tick requested; a request
    /// that is held cannot be taken back with `NextState::reset`. A sub-state that is not registered is not in the image.
    ///
    /// Call it after `init_state`. Do not register a state that pauses `Time<Virtual>`, as a pause menu's: no tick would
    /// come to leave it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bevy_app::prelude::*; use bevy_replay::prelude::*;
    /// use bevy_state::{app::StatesPlugin, prelude::*};
    ///
    /// #[derive(States, Canonical, Default, Debug, Clone, PartialEq, Eq, Hash)]
    /// enum Phase {
    ///     #[default]
    ///     Build,
    ///     Fight,
    /// }
    ///
    /// fn game(app: &mut App) {
    ///     app.add_plugins((ReplayPlugin::new("my_game"), StatesPlugin)).init_state::<Phase>();
    ///     app.register_authoritative_state::<Phase>();
    ///     app.add_systems(FixedUpdate, |mut next: ResMut<NextState<Phase>>| next.set_if_different(Phase::Fight));
    /// }
    /// # use bevy_ecs::prelude::*;
    /// let run = Headless::new(game).record(2)?;
    /// assert_eq!(*run.resource::<State<Phase>>()?.get(), Phase::Fight);
    /// # Ok::<(), ReplayError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `StatesPlugin` was not added, if the state is registered already, or after the app was finished or ran its
    /// first tick.
    #[cfg(feature = "states")]
    fn register_authoritative_state<S: FreelyMutableState + Canonical>(&mut self) -> &mut Self;

    /// Adds a stream of random numbers, for systems to draw from with [`Stream`](crate::Stream).
    ///
    /// # Panics
    ///
    /// If a stream of that name is registered already, or after the app was finished or ran its first tick.
    fn register_stream<L: StreamLabel>(&mut self) -> &mut Self;

    /// Adds event plans: their events come as messages, [`Planned`](crate::Planned), each in its tick.
    ///
    /// The [`PlanCursor`](crate::PlanCursor) is part of the state, and tapes hold the plans or name them; see
    /// [`guide::plans`](crate::guide::plans).
    ///
    /// # Panics
    ///
    /// If plans of that type of events are registered already, or after the app was finished or ran its first tick.
    #[cfg(feature = "plan")]
    fn register_plans<E: Canonical + Clone + Send + Sync>(&mut self, plans: Plans<E>) -> &mut Self;

    /// Says that a component or resource, or each of a tuple, is for watching the game (traces, statistics): it cannot change
    /// it.
    ///
    /// It is not captured; the [coverage report](crate::coverage) does not ask about it again.
    ///
    /// # Panics
    ///
    /// If a type is registered already, or after the app was finished or ran its first tick.
    fn observation<T: Bundle>(&mut self) -> &mut Self;

    /// Says that a component or resource, or each of a tuple, is for showing the game (interpolation, effects): it cannot
    /// change it.
    ///
    /// # Panics
    ///
    /// If a type is registered already, or after the app was finished or ran its first tick.
    fn presentation<T: Bundle>(&mut self) -> &mut Self;

    /// Says that a component or resource is a cache, rebuilt from authoritative state before a tick reads it.
    ///
    /// Name the system that rebuilds it with [`rebuilt_by`](DerivedState::rebuilt_by), or rebuild it in the tick.
    /// [`Headless::clear_derived`](crate::Headless::clear_derived) shows whether that holds.
    ///
    /// # Panics
    ///
    /// If the type is registered already, or after the app was finished or ran its first tick.
    fn derived<T: Component<Mutability = Mutable> + Default>(&mut self) -> DerivedState<'_>;

    /// Exempts an authoritative type from the [`Guard`](crate::Guard): it is written between ticks on purpose, as by
    /// interpolation that puts the tick's value back before the next one.
    fn written_between_ticks<T: 'static>(&mut self) -> &mut Self;

    /// Exempts systems of the tick from [`Finding::FrameClockRead`](crate::Finding::FrameClockRead): they ask for a clock
    /// of the frame, and nothing that they make of it reaches the game. Systems of other crates may be so.
    ///
    /// They are named as for `before` and `after`: by the function, or by a set that they are in.
    fn reads_frame_clock<M>(&mut self, systems: impl IntoSystemSet<M>) -> &mut Self;

    /// Lets tapes begin when a condition holds: assets are loaded, the level is spawned.
    ///
    /// Until then the deck is [idle](crate::DeckState::Idle), whatever it was asked for.
    ///
    /// It is asked at the beginning of each tick until it holds, on recording and on replay alike. Ticks before that
    /// run with live input, are on no tape, and [`SimTick`](crate::SimTick) stays 0. [`Deck::record`](crate::Deck::record)
    /// and [`Deck::play`](crate::Deck::play) wait for it. The states at which tapes begin are compared: what is
    /// simulated before the gate opens must not depend on how long that takes.
    ///
    /// # Panics
    ///
    /// If a gate was set before.
    fn start_when<M>(&mut self, condition: impl SystemCondition<M> + 'static) -> &mut Self;

    /// Says that a schedule runs inside the tick, so that its systems follow the app's [`TickOrder`](crate::TickOrder).
    ///
    /// `FixedFirst` to `FixedLast` and the start-up schedules are known. Call it after [`ReplayPlugin`] was added.
    ///
    /// # Panics
    ///
    /// If [`ReplayPlugin`] was not added before.
    fn tick_schedule(&mut self, label: impl ScheduleLabel) -> &mut Self;
}

impl ReplayAppExt for App {
    #[track_caller]
    fn record_input<T: Resource<Mutability = Mutable> + TickInput>(&mut self) -> &mut Self {
        let caller = Location::caller();
        if !self.world().contains_resource::<T>() {
            self.insert_resource(T::default());
        }
        runtime::with(self.world_mut(), |_, runtime| {
            runtime.registry.add_track::<T>("record_input", ResourceTrack::<T, _>::new(Own::input()), caller);
        });
        self
    }

    #[track_caller]
    fn record_input_component<T: Component<Mutability = Mutable> + TickInput>(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |world, runtime| {
            runtime.registry.add_track::<T>(
                "record_input_component",
                ComponentTrack::<T, _>::new(Own::input()),
                caller,
            );
            refuse_resource::<T>(world, "record_input_component", "record_input", caller);
            sim_id::require::<T>(world);
        });
        self
    }

    #[track_caller]
    fn record_messages<M: Message + Canonical + Clone>(&mut self) -> &mut Self {
        let caller = Location::caller();
        self.add_message::<M>().init_resource::<LastMessages<M>>();
        runtime::with(self.world_mut(), |world, runtime| {
            let buffer = world.register_component::<Messages<M>>();
            world.get_resource_or_init::<TickReads>().watch(buffer, M::type_name());
            runtime.registry.add_track::<M>("record_messages", MessageTrack::<M>::new(), caller);
            runtime.registry.add_own_resource::<LastMessages<M>>();
        });
        self
    }

    #[track_caller]
    fn track_removals<T: Component + Canonical>(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |world, runtime| {
            runtime.registry.admit::<removals::Removals<T>>("track_removals", caller);
            runtime.registry.add_own_resource::<removals::Removals<T>>();
            runtime.registry.at_begin.push(removals::watch::<T>(world));
        });
        self
    }

    #[track_caller]
    fn register_authoritative<T: AuthoritativeTypes>(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |world, runtime| {
            T::register(&mut Registrar { world, registry: &mut runtime.registry, caller });
        });
        self
    }

    #[track_caller]
    fn register_authoritative_resource<T: Resource + Canonical>(&mut self) -> &mut Self
    where
        T::Mutability: WriteBack<T>,
    {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_resource::<T>(caller));
        self
    }

    #[track_caller]
    fn register_hierarchy(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_hierarchy(caller));
        self
    }

    #[cfg(feature = "reflect")]
    #[track_caller]
    fn register_authoritative_reflect<T: Component + FromReflect + Typed>(&mut self) -> &mut Self
    where
        T::Mutability: WriteBack<T>,
    {
        let (call, caller) = ("register_authoritative_reflect", Location::caller());
        runtime::with(self.world_mut(), |world, runtime| {
            runtime.registry.admit::<T>(call, caller);
            refuse_resource::<T>(world, call, "register_authoritative_resource_reflect", caller);
            let lane = ComponentLane::<T, _>::new(Reflected::new(call, caller));
            runtime.registry.lanes.push(Box::new(lane));
        });
        self
    }

    #[cfg(feature = "reflect")]
    #[track_caller]
    fn register_authoritative_resource_reflect<T: Resource + FromReflect + Typed>(&mut self) -> &mut Self
    where
        T::Mutability: WriteBack<T>,
    {
        let (call, caller) = ("register_authoritative_resource_reflect", Location::caller());
        runtime::with(self.world_mut(), |_, runtime| {
            runtime.registry.admit::<T>(call, caller);
            let row = ResourceRow::<T, _>::new(Reflected::new(call, caller));
            runtime.registry.resources.push(Box::new(row));
        });
        self
    }

    #[cfg(feature = "reflect")]
    #[track_caller]
    fn record_input_reflect<T: Resource<Mutability = Mutable> + Default + FromReflect + Typed>(&mut self) -> &mut Self {
        let (call, caller) = ("record_input_reflect", Location::caller());
        self.init_resource::<T>();
        runtime::with(self.world_mut(), |_, runtime| {
            let track = ResourceTrack::<T, _>::new(Reflected::new(call, caller));
            runtime.registry.add_track::<T>(call, track, caller);
        });
        self
    }

    #[cfg(feature = "reflect")]
    #[track_caller]
    fn record_input_component_reflect<T: Component<Mutability = Mutable> + Default + FromReflect + Typed>(
        &mut self,
    ) -> &mut Self {
        let (call, caller) = ("record_input_component_reflect", Location::caller());
        runtime::with(self.world_mut(), |world, runtime| {
            refuse_resource::<T>(world, call, "record_input_reflect", caller);
            let track = ComponentTrack::<T, _>::new(Reflected::new(call, caller));
            runtime.registry.add_track::<T>(call, track, caller);
        });
        self
    }

    #[cfg(feature = "states")]
    #[track_caller]
    fn register_authoritative_state<S: FreelyMutableState + Canonical>(&mut self) -> &mut Self {
        states::register::<S>(self, Location::caller());
        self
    }

    #[track_caller]
    fn register_stream<L: StreamLabel>(&mut self) -> &mut Self {
        let caller = Location::caller();
        self.init_resource::<Seed>().init_resource::<StreamState<L>>().add_systems(First, random::end_startup::<L>);
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_stream::<L>(caller));
        self
    }

    #[cfg(feature = "plan")]
    #[track_caller]
    fn register_plans<E: Canonical + Clone + Send + Sync>(&mut self, plans: Plans<E>) -> &mut Self {
        plan::register(self, plans, Location::caller());
        self
    }

    #[track_caller]
    fn observation<T: Bundle>(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_role::<T>("observation", caller));
        self
    }

    #[track_caller]
    fn presentation<T: Bundle>(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_role::<T>("presentation", caller));
        self
    }

    #[track_caller]
    fn derived<T: Component<Mutability = Mutable> + Default>(&mut self) -> DerivedState<'_> {
        let caller = Location::caller();
        let index = runtime::with(self.world_mut(), |_, runtime| {
            runtime.registry.add_role::<T>("derived", caller);
            runtime.registry.derived.push(Derived { clear: clear::<T>, rebuild: None });
            runtime.registry.derived.len() - 1
        });
        DerivedState { app: self, index }
    }

    fn written_between_ticks<T: 'static>(&mut self) -> &mut Self {
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.unguarded.insert(TypeId::of::<T>()));
        self
    }

    fn reads_frame_clock<M>(&mut self, systems: impl IntoSystemSet<M>) -> &mut Self {
        let set = systems.into_system_set().intern();
        self.world_mut().get_resource_or_init::<TickReads>().may_read_frame_clocks.push(set);
        self
    }

    #[track_caller]
    fn start_when<M>(&mut self, condition: impl SystemCondition<M> + 'static) -> &mut Self {
        assert!(
            !gate::has_condition(self.world()),
            "start_when: a start gate was set before (join both conditions with `.and()`)"
        );
        let condition = self.register_system(condition);
        gate::close_until(self.world_mut(), condition);
        self
    }

    #[track_caller]
    fn tick_schedule(&mut self, label: impl ScheduleLabel) -> &mut Self {
        assert!(
            self.is_plugin_added::<ReplayPlugin>(),
            "tick_schedule({label:?}) needs ReplayPlugin (add it before this call)"
        );
        order::install_on(self.world_mut(), label.intern(), Place::Tick);
        self
    }
}

/// Derived state being registered.
#[expect(missing_debug_implementations, reason = "an app cannot be printed")]
pub struct DerivedState<'a> {
    app: &'a mut App,
    index: usize,
}

impl<'a> DerivedState<'a> {
    /// Names the system that rebuilds the state from authoritative state.
    pub fn rebuilt_by<M>(self, system: impl IntoSystem<(), (), M> + 'static) -> &'a mut App {
        let rebuild = self.app.register_system(system);
        runtime::with(self.app.world_mut(), |_, runtime| {
            runtime.registry.derived[self.index].rebuild = Some(rebuild);
        });
        self.app
    }
}

/// Empties a derived component or resource everywhere.
fn clear<T: Component<Mutability = Mutable> + Default>(world: &mut World) {
    let mut all = unfiltered::<&mut T, ()>(world);
    for mut value in all.iter_mut(world) {
        *value = T::default();
    }
}
