//! What a headless run leaves behind.

use super::ReplayError;
use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_replay_tape::{Report, Tape};
use core::any::type_name;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An app after a headless run, with what the run found.
#[expect(missing_debug_implementations, reason = "an app cannot be printed")]
pub struct Run {
    app: App,
    report: Option<Report>,
    tape: Option<Arc<Tape>>,
    claims: BTreeMap<String, String>,
}

impl Run {
    pub(super) fn new(
        app: App,
        report: Option<Report>,
        tape: Option<Arc<Tape>>,
        claims: BTreeMap<String, String>,
    ) -> Self {
        Self { app, report, tape, claims }
    }

    /// Returns what the game said of the run with [`Deck::claim`](crate::Deck::claim) while a tape was played.
    ///
    /// The tape's own claims are in `tape.end.claims`: what a player asserts, and what the replay found.
    #[must_use]
    pub fn claims(&self) -> &BTreeMap<String, String> {
        &self.claims
    }

    /// Returns the world as the last tick left it.
    #[must_use]
    pub fn world(&self) -> &World {
        self.app.world()
    }

    /// Returns the world as the last tick left it, to run queries on.
    #[must_use]
    pub fn world_mut(&mut self) -> &mut World {
        self.app.world_mut()
    }

    /// Returns the one component of that type.
    ///
    /// # Errors
    ///
    /// [`ReplayError::NotSingle`] if there is none, or more than one.
    pub fn single<T: Component>(&self) -> Result<&T, ReplayError> {
        single(self.app.world())
    }

    /// Returns a resource.
    ///
    /// # Errors
    ///
    /// [`ReplayError::NotSingle`] if it is not there.
    pub fn resource<T: Resource>(&self) -> Result<&T, ReplayError> {
        let missing = || ReplayError::NotSingle { name: type_name::<T>().into(), found: 0 };
        self.app.world().get_resource::<T>().ok_or_else(missing)
    }

    /// Returns what a replay found.
    ///
    /// # Panics
    ///
    /// If nothing was compared: the run was recorded, or played with `replay_inputs`.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.report.as_ref().expect("only `verify` and `force` compare digests")
    }

    /// Returns the recording of the run.
    ///
    /// # Panics
    ///
    /// If nothing was recorded: the run played a tape.
    #[must_use]
    pub fn tape(&self) -> &Arc<Tape> {
        self.tape.as_ref().expect("only `record` and `run` make a tape")
    }

    /// Returns the run if all digests agreed.
    ///
    /// # Errors
    ///
    /// [`ReplayError::Diverged`] with the report otherwise.
    pub fn verified(self) -> Result<Self, ReplayError> {
        match &self.report {
            Some(report) if !report.is_verified() => Err(ReplayError::Diverged(Box::new(report.clone()))),
            _ => Ok(self),
        }
    }

    /// Panics with the report unless all digests agreed.
    ///
    /// # Panics
    ///
    /// If the run diverged, was forced, or compared nothing.
    #[track_caller]
    pub fn assert_verified(&self) {
        let report = self.report();
        assert!(report.is_verified(), "{report}");
    }
}

/// The one component of that type.
pub(super) fn single<T: Component>(world: &World) -> Result<&T, ReplayError> {
    let not_single = |found| ReplayError::NotSingle { name: type_name::<T>().into(), found };
    let mut query = world.try_query::<&T>().ok_or_else(|| not_single(0))?;
    query.single(world).map_err(|_| not_single(query.iter(world).count()))
}
