//! The plans that a game can play: its own, or those of the tape that is played.

use super::{PlanCursor, Planned};
use bevy_ecs::prelude::*;
use bevy_replay_tape::{Canonical, Plan, PlanError, PlanEvent, PlanOnTape};
use core::fmt;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The plans that a game can play, of one type of events. Register them with
/// [`register_plans`](crate::ReplayAppExt::register_plans); they do not change while the game runs.
///
/// A tape brings its own: while it is played, these are the plans that it was recorded by, and no other.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::prelude::*;
/// # use bevy_replay::tape::PlanError;
/// #[derive(Canonical, Clone)]
/// struct Wave { foes: u32 }
///
/// fn level(seed: u64) -> Result<Plans<Wave>, PlanError> {
///     let mut plan = PlanBuilder::new("level 1", seed, 600);
///     let waves: Vec<u32> = (1..=5).map(|foes| plan.require(Wave { foes })).collect();
///     plan.spread(&waves, 0..600, 60);
///     Plans::new([plan.build()?])
/// }
/// # #[derive(Component, Canonical)] struct Foe;
/// fn spawn(mut waves: MessageReader<Planned<Wave>>, mut commands: Commands) {
///     for wave in waves.read() {
///         commands.spawn_batch((0..wave.event.foes).map(|_| Foe));
///     }
/// }
/// let plans = level(7)?;
/// let game = move |app: &mut App| {
///     app.add_plugins(ReplayPlugin::new("my_game")).register_authoritative::<Foe>().register_plans(plans.clone());
///     app.add_systems(FixedUpdate, spawn);
/// };
/// let recorded = Headless::new(game.clone()).record(600)?;
/// assert_eq!(recorded.resource::<PlanCursor<Wave>>()?.event_count(), 5);
/// Headless::new(game).verify(recorded.tape())?.assert_verified();
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Resource, Clone)]
pub struct Plans<E> {
    /// Those in use.
    playable: Vec<Loaded<E>>,
    /// The app's own.
    own: Vec<Loaded<E>>,
    starts: bool,
    is_stored: bool,
}

/// A plan, with its events as the game has them.
struct Loaded<E> {
    plan: Arc<Plan>,
    events: Arc<[E]>,
}

impl<E> Clone for Loaded<E> {
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), events: self.events.clone() }
    }
}

/// Plans that take more text than this are not stored on tapes, whose header must stay small.
const STORED_BYTES_MAX: usize = 1 << 20;

impl<E: Canonical> Plans<E> {
    /// Takes plans. The first one starts with the first tick; see [`waiting`](Self::waiting).
    ///
    /// # Errors
    ///
    /// [`PlanError::OtherEvents`] if a plan holds other events; [`PlanError::NoPlans`] if there is none;
    /// [`PlanError::SameContent`] if there is one twice.
    pub fn new<P: Into<Arc<Plan>>>(plans: impl IntoIterator<Item = P>) -> Result<Self, PlanError> {
        let own: Vec<Loaded<E>> = plans.into_iter().map(|plan| Loaded::new(plan.into())).collect::<Result<_, _>>()?;
        if own.is_empty() {
            return Err(PlanError::NoPlans { events: E::type_name() });
        }
        Plan::check_distinct(own.iter().map(|loaded| &*loaded.plan))?;
        let is_stored = own.iter().map(|loaded| loaded.plan.to_text().len()).sum::<usize>() <= STORED_BYTES_MAX;
        Ok(Self { playable: own.clone(), own, starts: true, is_stored })
    }

    /// Has no plan start by itself: the game calls [`PlanCursor::start`].
    #[must_use]
    pub fn waiting(self) -> Self {
        Self { starts: false, ..self }
    }

    /// Has tapes name the plans by their signatures, and not store them: players' tapes then do not show what is still to
    /// come, and are played by apps that have the same plans only.
    ///
    /// Plans that take more than a megabyte of text are never stored.
    #[must_use]
    pub fn by_signature(self) -> Self {
        Self { is_stored: false, ..self }
    }
}

impl<E> Plans<E> {
    /// Returns the plan of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Plan>> {
        self.iter().find(|plan| plan.name() == name)
    }

    /// Returns the plan that runs.
    #[must_use]
    pub fn running(&self, cursor: &PlanCursor<E>) -> Option<&Arc<Plan>> {
        self.iter().find(|plan| plan.signature() == cursor.signature())
    }

    /// Returns all plans.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Plan>> {
        self.playable.iter().map(|loaded| &loaded.plan)
    }

    pub(super) fn first_to_start(&self) -> Option<&Plan> {
        self.playable.first().filter(|_| self.starts).map(|loaded| &*loaded.plan)
    }

    fn all(&self) -> impl Iterator<Item = &Loaded<E>> {
        self.playable.iter().chain(&self.own)
    }

    /// Whether a plan with that signature is at hand.
    pub(super) fn knows(&self, signature: &str) -> bool {
        self.all().any(|loaded| loaded.plan.signature() == signature)
    }

    /// The tape has ended. The plan that runs stays, as the game goes on by it.
    pub(super) fn release(&mut self, running: &str) {
        let foreign = self.playable.iter().find(|loaded| loaded.plan.signature() == running).cloned();
        self.playable.clone_from(&self.own);
        let is_own = self.own.iter().any(|loaded| loaded.plan.signature() == running);
        self.playable.extend(foreign.filter(|_| !is_own));
    }

    /// The plan of the tape for a cursor that stands before a plan which the tape does not have.
    pub(super) fn in_place_of(&self, cursor: &PlanCursor<E>) -> Option<&Plan> {
        if cursor.signature().is_empty() || cursor.time() > 0 || self.running(cursor).is_some() {
            return None;
        }
        let own = self.own.iter().find(|loaded| loaded.plan.signature() == cursor.signature());
        let namesake = own.and_then(|own| self.get(own.plan.name())).map(|plan| &**plan);
        namesake.or_else(|| self.first_to_start())
    }
}

impl<E: Canonical> Plans<E> {
    /// What a tape says of them.
    pub(super) fn on_tape(&self) -> Vec<PlanOnTape> {
        let on_tape = |plan: &Arc<Plan>| PlanOnTape {
            events: E::type_name(),
            name: plan.name().into(),
            signature: plan.signature().into(),
            plan: self.is_stored.then(|| plan.clone()),
        };
        self.iter().map(on_tape).collect()
    }

    /// Takes the plans of a tape, in its order. Returns what is to be told of it.
    pub(super) fn load(&mut self, plans: &[PlanOnTape]) -> Result<Option<String>, PlanError> {
        let mut playable = Vec::new();
        for PlanOnTape { signature, plan, .. } in plans {
            let known = self.all().find(|loaded| loaded.plan.signature() == signature).cloned();
            match (known, plan) {
                (Some(known), _) => playable.push(known),
                (None, Some(plan)) => playable.push(Loaded::new(plan.clone())?),
                (None, None) => {} // the tape was forced
            }
        }
        if !playable.is_empty() {
            self.playable = playable;
        }
        let own: BTreeSet<&str> = self.own.iter().map(|loaded| loaded.plan.signature()).collect();
        let foreign: Vec<String> =
            self.iter().filter(|plan| !own.contains(plan.signature())).map(|plan| self.told(plan)).collect();
        Ok((!foreign.is_empty()).then(|| format!("played by the plan of the tape: {}", foreign.join("; "))))
    }

    /// Says how a plan differs from the app's of that name.
    fn told(&self, plan: &Plan) -> String {
        let name = plan.name();
        let Some(own) = self.own.iter().map(|loaded| &loaded.plan).find(|own| own.name() == name) else {
            return format!("{name}, which this app does not have");
        };
        let (was, is) = (plan.versions(), own.versions());
        let versions = [
            ("layout", was.layout, is.layout),
            ("generator", was.generator, is.generator),
            ("content", was.content, is.content),
            ("builder", was.builder, is.builder),
        ];
        let differing = versions.into_iter().filter(|(_, was, is)| was != is);
        let differing: Vec<String> = differing.map(|(what, was, is)| format!("{what} {was}, here {is}")).collect();
        match differing.is_empty() {
            true => format!("{name}, which this app has with other content"),
            false => format!("{name} of {}", differing.join(", ")),
        }
    }
}

impl<E: Clone> Plans<E> {
    /// The events of the tick that runs; `None` if the plan is not there.
    pub(super) fn due(&self, cursor: &PlanCursor<E>) -> Option<Vec<Planned<E>>> {
        let loaded = self.playable.iter().find(|loaded| loaded.plan.signature() == cursor.signature())?;
        let events = loaded.plan.events();
        let next = usize::try_from(cursor.event_count()).unwrap_or(usize::MAX).min(events.len());
        let planned = events[next..].iter().zip(&loaded.events[next..]);
        let due = planned.take_while(|(event, _)| event.tick <= cursor.time());
        let message = |(planned, event): (&PlanEvent, &E)| Planned {
            id: planned.id,
            class: planned.class,
            layer: planned.layer,
            version: planned.version,
            event: event.clone(),
        };
        Some(due.map(message).collect())
    }
}

impl<E: Canonical> Loaded<E> {
    fn new(plan: Arc<Plan>) -> Result<Self, PlanError> {
        let events = plan.events().iter().map(|event| plan.decode(event)).collect::<Result<_, _>>()?;
        Ok(Self { plan, events })
    }
}

impl<E> fmt::Debug for Plans<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|plan| plan.name())).finish()
    }
}
