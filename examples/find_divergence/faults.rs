//! The faults: eight small features of the game, each added in a hurry.
//!
//! Each module has the feature and a function `find` that records under one condition, plays the inputs in two apps, under
//! that condition and another, and returns the report.

use super::arena::{Creature, Health, Orders, Position, Rng, STRIKE, Velocity, arena, script, strike};
use bevy_app::{Plugins, prelude::*};
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Pacing, Report, Run};
use core::time::Duration;

/// A game with a fault, and where it must be found.
#[derive(Clone, Copy)]
pub(super) struct Planted {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Tick and field; `None`: there is nothing to find.
    pub(super) place: Option<(u64, &'static str)>,
    /// The end of what is said of the first wrong system.
    pub(super) system: &'static str,
    pub(super) find: fn() -> Result<Report, ReplayError>,
}

impl Planted {
    /// Whether the report names the tick, the type and the field, and the system.
    pub(super) fn is_found_by(&self, report: &Report) -> bool {
        let found = report.divergence.as_ref().and_then(|divergence| {
            let first = divergence.differences.as_ref()?.first()?;
            let system = divergence.first_wrong.as_ref()?.to_string();
            Some((divergence.tick?, format!("{}{}", first.type_name, first.path), system))
        });
        match (&found, self.place) {
            (Some((tick, field, system)), Some(place)) => (*tick, &**field) == place && system.contains(self.system),
            (None, None) => report.is_verified(),
            _ => false,
        }
    }
}

pub(super) const PLANTED: [Planted; 9] = [
    Planted {
        name: "clean",
        about: "No fault: recorded at one tick per frame, replayed on a 240 Hz display.",
        place: None,
        system: "",
        find: clean::find,
    },
    Planted {
        name: "hash-order",
        about: "Recorded and replayed alike; the order of a `HashSet` differs in each run.",
        place: Some((STRIKE, "Health.0")),
        system: "hash_order::heal (",
        find: hash_order::find,
    },
    Planted {
        name: "wall-clock",
        about: "Recorded and replayed alike; the time differs.",
        place: Some((STRIKE, "Rng.0")),
        system: "wall_clock::storm (",
        find: wall_clock::find,
    },
    Planted {
        name: "stolen-draw",
        about: "Recorded with sparks, replayed without them, as on a server.",
        place: Some((STRIKE + 1, "Rng.0")),
        system: "written between this tick and the one before",
        find: stolen_draw::find,
    },
    Planted {
        name: "system-order",
        about: "Two apps side by side: they add the same two systems in different order, and `TickOrder` is off.",
        place: Some((STRIKE, "Health.0")),
        system: "system_order::fever is not fixed",
        find: system_order::find,
    },
    Planted {
        name: "sin",
        about: "Two apps side by side: the second has the sine of another platform.",
        place: Some((STRIKE, "Velocity.x")),
        system: "sin::swaying::{{closure}} (",
        find: sin::find,
    },
    Planted {
        name: "global-transform",
        about: "Recorded at one tick per frame, replayed at four.",
        place: Some((STRIKE, "Velocity.x")),
        system: "global_transform::fling (",
        find: global_transform::find,
    },
    Planted {
        name: "removals",
        about: "Recorded at one tick per frame, replayed on a 240 Hz display.",
        place: Some((STRIKE + 1, "Score.0")),
        system: "removals::count (",
        find: removals::find,
    },
    Planted {
        name: "local",
        about: "Recorded and replayed in one process.",
        place: Some((STRIKE, "Egg.0")),
        system: "local::lay (applied after",
        find: local::find,
    },
];

fn headless<M>(feature: impl Plugins<M>) -> Headless {
    Headless::new((ReplayPlugin::new("arena"), arena, feature))
}

fn record<M>(feature: impl Plugins<M>) -> Result<Run, ReplayError> {
    headless(feature).inputs(script()).detail(Detail::Values).run()
}

/// Frames are shorter than ticks: three of four have none.
fn display_240_hz() -> Pacing {
    Pacing::Frames(vec![Duration::from_nanos(1_000_000_000 / 240)])
}

mod clean {
    use super::*;

    fn nothing(_: &mut App) {}

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(nothing)?;
        headless(nothing).compare_with(headless(nothing).pacing(display_240_hz()), recorded.tape())
    }
}

/// Everybody is healed in the order of a hash set, and each draws how much. The sum is the same in each run,
/// so `Rng` is; who got which number is not.
///
/// Cure: `for (_, mut health) in creatures.iter_mut().sort::<&SimId>()`, or a `BTreeSet<SimId>`.
mod hash_order {
    #![expect(clippy::disallowed_types, clippy::iter_over_hash_type, reason = "planted")]
    use super::*;
    use std::collections::HashSet;

    fn heal(orders: Res<Orders>, mut creatures: Query<(Entity, &mut Health)>, mut rng: ResMut<Rng>) {
        if orders.strike {
            let hurt: HashSet<Entity> = creatures.iter().map(|(entity, _)| entity).collect();
            for creature in hurt {
                if let Ok((_, mut health)) = creatures.get_mut(creature) {
                    health.0 += rng.below(1000);
                }
            }
        }
    }

    fn healing(app: &mut App) {
        app.add_systems(FixedUpdate, heal.after(strike));
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(healing)?;
        headless(healing).compare_with(headless(healing), recorded.tape())
    }
}

/// "A new storm each time": the generator is seeded from the clock.
///
/// Cure: draw the seed from the generator itself, or from [`Seed`](bevy_replay::Seed).
mod wall_clock {
    use super::*;
    use std::sync::LazyLock;
    use std::time::Instant;

    #[expect(clippy::disallowed_methods, reason = "planted")]
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

    fn storm(orders: Res<Orders>, mut rng: ResMut<Rng>) {
        if orders.strike {
            rng.0 = STARTED.elapsed().subsec_nanos();
        }
    }

    fn weather(app: &mut App) {
        app.add_systems(FixedUpdate, storm.after(strike));
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(weather)?;
        headless(weather).compare_with(headless(weather), recorded.tape())
    }
}

/// Sparks fly where a creature was, in directions drawn from the gameplay's generator.
///
/// Cure: a second generator for everything that is only seen.
mod stolen_draw {
    use super::*;

    #[derive(Component)]
    struct Spark {
        _direction: u32,
    }

    fn spark(mut gone: RemovedComponents<Creature>, mut rng: ResMut<Rng>, mut commands: Commands) {
        for _ in gone.read() {
            commands.spawn(Spark { _direction: rng.below(360) });
        }
    }

    fn effects(app: &mut App) {
        app.add_systems(Update, spark);
    }

    fn no_effects(_: &mut App) {}

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(effects)?;
        headless(effects).compare_with(headless(no_effects), recorded.tape())
    }
}

/// Poison takes ten, fever halves: the order of the two matters, and nobody said it.
///
/// Cure: `(poison, fever).chain()`. `TickOrder::Fixed`, the default, at least keeps the order in which they were
/// added, and lists the pair in `AmbiguousPairs`.
mod system_order {
    use super::*;

    fn poison(orders: Res<Orders>, mut creatures: Query<&mut Health>) {
        if orders.strike {
            creatures.iter_mut().for_each(|mut health| health.0 = health.0.saturating_sub(10));
        }
    }

    fn fever(orders: Res<Orders>, mut creatures: Query<&mut Health>) {
        if orders.strike {
            creatures.iter_mut().for_each(|mut health| health.0 /= 2);
        }
    }

    fn poisoning(app: &mut App) {
        app.add_systems(FixedUpdate, poison.after(strike));
    }

    fn illness(app: &mut App) {
        app.add_systems(FixedUpdate, fever.after(strike));
    }

    fn unordered<M>(features: impl Plugins<M>) -> Headless {
        Headless::new((ReplayPlugin::new("arena").order(TickOrder::AsScheduled), arena, features))
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        // Which of the two Bevy runs first is its own affair; with this pair it is `poison`, then `fever`.
        let recorded = unordered((illness, poisoning)).inputs(script()).run()?;
        unordered((illness, poisoning)).compare_with(unordered((poisoning, illness)), recorded.tape())
    }
}

/// Creatures sway. `f32::sin` is not the same on every platform; a second one is imitated by the last bit.
///
/// Cure: `bevy_math::ops::sin` with the feature `libm`, or integers.
mod sin {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "planted")]
    fn here(angle: f32) -> f32 {
        angle.sin()
    }

    fn elsewhere(angle: f32) -> f32 {
        f32::from_bits(here(angle).to_bits() + 1)
    }

    fn swaying(sine: fn(f32) -> f32) -> impl Fn(&mut App) + Send + Sync {
        let sway = move |orders: Res<Orders>, mut creatures: Query<(&Position, &mut Velocity)>| {
            if orders.strike {
                creatures.iter_mut().for_each(|(position, mut velocity)| velocity.x = sine(position.x));
            }
        };
        move |app| {
            app.add_systems(FixedUpdate, sway.after(strike));
        }
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(swaying(here))?;
        headless(swaying(here)).compare_with(headless(swaying(elsewhere)), recorded.tape())
    }
}

/// Creatures are flung from where they are drawn: Bevy brings `GlobalTransform` up to date once per frame, in
/// `PostUpdate`, so its age in ticks depends on the frame rate.
///
/// Cure: read `Position` or `Transform`, or run the propagation in `FixedPostUpdate`, too.
mod global_transform {
    use super::*;
    use bevy_transform::TransformPlugin;
    use bevy_transform::components::{GlobalTransform, Transform};

    fn place(mut creatures: Query<(&Position, &mut Transform)>) {
        for (position, mut transform) in &mut creatures {
            transform.translation.x = position.x;
            transform.translation.y = position.y;
        }
    }

    fn fling(orders: Res<Orders>, mut creatures: Query<(&GlobalTransform, &mut Velocity)>) {
        if orders.strike {
            creatures.iter_mut().for_each(|(place, mut velocity)| velocity.x = place.translation().x / 64.0);
        }
    }

    fn flinging(app: &mut App) {
        app.add_plugins(TransformPlugin);
        app.register_required_components::<Creature, Transform>();
        app.add_systems(FixedUpdate, (place, fling).chain().after(strike));
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(flinging)?;
        headless(flinging).compare_with(headless(flinging).pacing(Pacing::TicksPerFrame(4)), recorded.tape())
    }
}

/// The dead are counted one tick late. Bevy forgets removals after two frames, so with several frames between two
/// ticks nobody sees them.
///
/// Cure: `app.track_removals::<Creature>()` and `TickRemovals<Creature>`, or an observer, `On<Remove<Creature>>`.
mod removals {
    use super::*;

    #[derive(Resource, Canonical, Default)]
    struct Score(u32);

    fn count(mut gone: RemovedComponents<Creature>, mut score: ResMut<Score>) {
        for _ in gone.read() {
            score.0 += 1;
        }
    }

    fn scoring(app: &mut App) {
        app.init_resource::<Score>().register_authoritative_resource::<Score>();
        app.add_systems(FixedUpdate, count.before(strike));
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(scoring)?;
        headless(scoring).compare_with(headless(scoring).pacing(display_240_hz()), recorded.tape())
    }
}

/// Eggs are numbered from state that no image holds. Here it is a static, which lives on when a second game starts
/// in the same process; a `Local`, a captured variable or a `OnceLock` are as invisible.
///
/// Cure: count in a registered resource.
mod local {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering};

    static LAID: AtomicU32 = AtomicU32::new(0);

    #[derive(Component, Canonical)]
    struct Egg(u32);

    fn lay(orders: Res<Orders>, mut commands: Commands) {
        if orders.strike {
            commands.spawn(Egg(LAID.fetch_add(1, Ordering::Relaxed)));
        }
    }

    fn laying(app: &mut App) {
        app.register_authoritative::<Egg>().add_systems(FixedUpdate, lay.after(strike));
    }

    pub(super) fn find() -> Result<Report, ReplayError> {
        let recorded = record(laying)?;
        headless(laying).compare_with(headless(laying), recorded.tape())
    }
}
