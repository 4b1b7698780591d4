//! How a game says what is recorded and what is authoritative.

use crate::plugin::ReplayPlugin;
use crate::runtime;
use crate::state::registry::{AuthoritativeTypes, Registrar};
use crate::tick::{TickOrder, order};
use bevy_app::App;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ScheduleLabel;
use bevy_replay_tape::{Canonical, TickInput};
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
    fn register_authoritative_resource<T: Resource + Canonical>(&mut self) -> &mut Self;

    /// Says that a schedule runs inside the tick, so that its systems follow the app's [`TickOrder`].
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
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_input::<T>(caller));
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
    fn register_authoritative_resource<T: Resource + Canonical>(&mut self) -> &mut Self {
        let caller = Location::caller();
        runtime::with(self.world_mut(), |_, runtime| runtime.registry.add_resource::<T>(caller));
        self
    }

    #[track_caller]
    fn tick_schedule(&mut self, label: impl ScheduleLabel) -> &mut Self {
        assert!(
            self.is_plugin_added::<ReplayPlugin>(),
            "tick_schedule({label:?}) needs ReplayPlugin (add it before this call)"
        );
        let order: TickOrder = runtime::with(self.world_mut(), |_, runtime| runtime.settings.order);
        order::install_on(self, label.intern(), order);
        self
    }
}
