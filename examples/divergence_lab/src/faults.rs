//! Seven faults, each the wrong version of a system of the game, and where each must be found.

use crate::game::{
    Bloom, Creature, Dew, Egg, Energy, Flame, Kind, Position, Velocity, Weather, Wind, dew_falls, flow, frost, hunting,
    nest, thaw, wind_turns,
};
use bevy::ecs::schedule::ScheduleConfigs;
use bevy::ecs::system::ScheduleSystem;
use bevy::prelude::*;
use bevy_replay::Report;
use bevy_replay::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    HashOrder,
    WallClock,
    StolenDraw,
    SystemOrder,
    LastBit,
    HiddenLocal,
    GlobalTransform,
}

/// What is known of a fault because it was planted: a tape of the clean game must differ there, and nowhere earlier.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    pub fault: Fault,
    pub name: &'static str,
    pub about: &'static str,
    /// It is on from this tick, which is also the first to be wrong.
    pub tick: u64,
    /// `None`: a resource.
    pub sim_id: Option<u64>,
    pub type_name: &'static str,
    pub path: &'static str,
    /// The end of the system's name.
    pub system: &'static str,
}

pub const PLANTED: [Planted; 7] = [
    Planted {
        fault: Fault::HashOrder,
        name: "hash-order",
        about: "dew falls in the order of a hash set",
        tick: 120,
        sim_id: Some(0),
        type_name: "Energy",
        path: ".0",
        system: "hash_order::dew",
    },
    Planted {
        fault: Fault::WallClock,
        name: "wall-clock",
        about: "the wind comes from the clock",
        tick: 128,
        sim_id: None,
        type_name: "Wind",
        path: ".x",
        system: "wall_clock::blow",
    },
    Planted {
        fault: Fault::StolenDraw,
        name: "stolen-draw",
        about: "the flame draws from the flowers' stream",
        tick: 137,
        sim_id: None,
        type_name: "Stream<Bloom>",
        path: ".draws",
        system: "stolen_draw::flicker",
    },
    Planted {
        fault: Fault::SystemOrder,
        name: "system-order",
        about: "thaw runs before frost",
        tick: 150,
        sim_id: Some(200),
        type_name: "Energy",
        path: ".0",
        system: "system_order::early_thaw",
    },
    Planted {
        fault: Fault::LastBit,
        name: "last-bit",
        about: "beetles have another platform's last bit",
        tick: 160,
        sim_id: Some(200),
        type_name: "Velocity",
        path: ".x",
        system: "last_bit::crawl",
    },
    Planted {
        fault: Fault::HiddenLocal,
        name: "hidden-local",
        about: "eggs are numbered from a `Local`",
        tick: 168,
        sim_id: Some(332),
        type_name: "Egg",
        path: ".number",
        system: "hidden_local::lay",
    },
    Planted {
        fault: Fault::GlobalTransform,
        name: "global-transform",
        about: "bats hunt what is shown, not what is",
        tick: 176,
        sim_id: Some(280),
        type_name: "Velocity",
        path: ".x",
        system: "global_transform::hunt",
    },
];

impl Planted {
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PLANTED.iter().find(|planted| planted.name == name)
    }

    /// Whether the report names the system, as [`Headless::compare_with`] can.
    #[must_use]
    pub fn is_blamed_by(&self, report: &Report) -> bool {
        let first = report.divergence.as_ref().and_then(|divergence| divergence.first_wrong.as_ref());
        first.is_some_and(|first| first.systems.iter().any(|system| system.ends_with(self.system)))
    }

    /// The entity, as in reports.
    #[must_use]
    pub fn who(&self) -> String {
        who(self.sim_id)
    }

    /// Whether the report names the tick, the entity, the type and the field.
    #[must_use]
    pub fn is_found_by(&self, report: &Report) -> bool {
        let found = report.divergence.as_ref().and_then(|divergence| {
            let first = divergence.differences.as_ref()?.first()?;
            Some((divergence.tick?, first.sim_id, &*first.type_name, &*first.path))
        });
        found == Some((self.tick, self.sim_id, self.type_name, self.path))
    }
}

/// An entity, or a resource.
#[must_use]
pub fn who(sim_id: Option<u64>) -> String {
    sim_id.map_or("resource".into(), |id| format!("sim:{id}"))
}

impl Fault {
    #[must_use]
    pub fn planted(self) -> &'static Planted {
        &PLANTED[self as usize]
    }
}

/// Which faults are on. The game's switch for them, and no part of its state.
#[derive(Resource, Default, Clone, Debug)]
pub struct Faults([bool; PLANTED.len()]);

impl Faults {
    #[must_use]
    pub fn only(fault: Fault) -> Self {
        let mut faults = Self::default();
        faults.switch(fault);
        faults
    }

    #[must_use]
    pub fn is_on(&self, fault: Fault) -> bool {
        self.0[fault as usize]
    }

    pub fn switch(&mut self, fault: Fault) {
        self.0[fault as usize] ^= true;
    }
}

/// Adds both versions of a system. While the fault is on, the wrong one runs from the fault's tick.
pub(crate) fn instead<W, R>(
    fault: Fault,
    wrong: impl IntoScheduleConfigs<ScheduleSystem, W>,
    right: impl IntoScheduleConfigs<ScheduleSystem, R>,
) -> ScheduleConfigs<ScheduleSystem> {
    let acts = move |faults: Res<Faults>, tick: Res<SimTick>| faults.is_on(fault) && tick.0 >= fault.planted().tick;
    (wrong.run_if(acts), right.run_if(not(acts))).chain()
}

/// Two runs have two orders of a `HashSet`, and each draws another number. The sum of draws is the same.
///
/// Cure: `creatures.iter_mut().sort::<&SimId>()`.
pub(crate) mod hash_order {
    #![expect(clippy::disallowed_types, clippy::iter_over_hash_type, reason = "planted")]
    use super::*;
    use std::collections::HashSet;

    pub(crate) fn dew(tick: Res<SimTick>, mut creatures: Query<(Entity, &mut Energy)>, mut rng: Stream<Dew>) {
        for _ in (0..3).filter(|_| dew_falls(*tick)) {
            let thirsty: HashSet<Entity> = creatures.iter().map(|(entity, _)| entity).collect();
            for creature in thirsty {
                if let Ok((_, mut energy)) = creatures.get_mut(creature) {
                    energy.0 += rng.random_range(0.0..2.0);
                }
            }
        }
    }
}

/// Cure: draw the wind from a stream.
pub(crate) mod wall_clock {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[expect(clippy::disallowed_methods, reason = "planted")]
    fn part_of_a_second() -> f32 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.subsec_nanos() as f32 / 1.0e9
    }

    /// It draws as often as the right one, so that only the wind is wrong.
    pub(crate) fn blow(tick: Res<SimTick>, mut rng: Stream<Weather>, mut wind: ResMut<Wind>) {
        if wind_turns(*tick) {
            let (_, y): (f32, f32) = (rng.random_range(-0.03..0.03), rng.random_range(-0.03..0.03));
            *wind = Wind { x: part_of_a_second() * 0.06 - 0.03, y };
        }
    }
}

/// An effect takes a number that the next flower would have had.
///
/// Cure: [`CosmeticRng`] for what is only shown.
pub(crate) mod stolen_draw {
    use super::*;

    pub(crate) fn flicker(mut rng: Stream<Bloom>, mut flame: ResMut<Flame>) {
        flame.0 = rng.random_range(0.0..1.0);
    }
}

/// Two systems write `Energy`, and their order was left open: here it is the other one. Bevy picks an order when it builds
/// the schedule; the switch picks it here, so that the fault shows on every machine.
///
/// Cure: `(frost, thaw).chain()`.
pub(crate) mod system_order {
    use super::*;

    fn early_thaw(tick: Res<SimTick>, creatures: Query<(&Creature, &mut Energy)>) {
        thaw(tick, creatures);
    }

    fn late_frost(tick: Res<SimTick>, creatures: Query<(&Creature, &mut Energy)>) {
        frost(tick, creatures);
    }

    pub(crate) fn weather() -> ScheduleConfigs<ScheduleSystem> {
        (early_thaw, late_frost).chain()
    }
}

/// `f32::sin` and fused multiplication have other last bits elsewhere; that is imitated.
///
/// Cure: `bevy_math::ops` with the feature `libm`, integers, or fixed-point numbers.
pub(crate) mod last_bit {
    use super::*;

    fn elsewhere(value: f32) -> f32 {
        f32::from_bits(value.to_bits() + 1)
    }

    pub(crate) fn crawl(mut creatures: Query<(&Creature, &Position, &mut Velocity)>) {
        for (_, position, mut velocity) in creatures.iter_mut().filter(|(creature, ..)| creature.kind == Kind::Beetle) {
            let Vec2 { x, y } = velocity.get() * 0.9 + flow(position.get()) * 0.1;
            *velocity = Velocity { x: elsewhere(x), y };
        }
    }
}

/// The number of eggs is kept where no image sees it: it starts from 0 in each app, and a seek does not put it back.
///
/// Cure: count in a registered resource, as `Laid`.
pub(crate) mod hidden_local {
    use super::*;

    pub(crate) fn lay(
        tick: Res<SimTick>,
        creatures: Query<(&SimId, &Creature, &Position, &Energy)>,
        mut laid: ResMut<crate::game::Laid>,
        mut number: Local<u32>,
        mut commands: Commands,
    ) {
        if let Some(nest) = nest(*tick, creatures) {
            commands.spawn((Egg { number: *number, hatches_at: tick.0 + 120 }, nest));
            *number += 1;
            laid.0 += 1;
        }
    }
}

/// `GlobalTransform` is written once per frame, for showing: its age in ticks depends on the frame rate.
///
/// Cure: read `Position`.
pub(crate) mod global_transform {
    use super::*;

    pub(crate) fn hunt(
        shown: Query<(&SimId, &Creature, &GlobalTransform)>,
        mut bats: Query<(&Creature, &Position, &mut Velocity)>,
    ) {
        let moths: Vec<_> = shown.iter().filter(|(_, creature, _)| creature.kind == Kind::Moth).collect();
        for (_, position, mut velocity) in bats.iter_mut().filter(|(creature, ..)| creature.kind == Kind::Bat) {
            let places = moths.iter().map(|(id, _, place)| (**id, place.translation().truncate()));
            *velocity = hunting(position.get(), velocity.get(), places);
        }
    }
}
