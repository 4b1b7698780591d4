//! The twelve missions: what each must hold, and how its plan is built.

use super::game::{COLUMNS, FLIGHT_TICKS, Throw};
use bevy_replay::rand::RngExt;
use bevy_replay::rand::seq::IndexedRandom;
use bevy_replay::{Plan, PlanBuilder, PlanContract, PlanError};

/// Version of the table below.
pub(crate) const CONTENT: u32 = 1;
/// Version of [`build`].
pub(crate) const BUILDER: u32 = 1;

/// How many missions there are.
pub(crate) const MISSIONS: u32 = 12;

/// On average a fruit is thrown after so many ticks.
const THROW_TICKS: u64 = 34;
/// At least so many ticks lie between two fruits.
const THROW_TICKS_MIN: u64 = 12;
/// A bomb is thrown at least so many ticks before and after anything else.
const BOMB_CLEAR_TICKS: u64 = 4;
/// Before anything is thrown.
const LEAD_TICKS: u64 = 30;

/// What a mission must hold.
struct Terms {
    required: usize,
    extra: usize,
    bombs: usize,
    layers: usize,
}

impl Terms {
    fn of(mission: u32) -> Self {
        let number = mission as usize;
        Self {
            required: 18 + number + usize::from(number >= 10),
            extra: 10 + usize::from(number >= 9),
            bombs: number,
            layers: if number < 4 { 2 } else { 3 },
        }
    }

    /// How many of a fruit are on the order.
    fn of_fruit(&self, fruit: usize) -> usize {
        self.required / FRUITS.len() + usize::from(fruit < self.required % FRUITS.len())
    }
}

/// A fruit in a column.
type Fruit = fn(u8) -> Throw;

const FRUITS: [(&str, Fruit); 5] = [
    ("apples", |column| Throw::Apple { column }),
    ("pears", |column| Throw::Pear { column }),
    ("lemons", |column| Throw::Lemon { column }),
    ("melons", |column| Throw::Melon { column }),
    ("plums", |column| Throw::Plum { column }),
];

/// The name of a mission.
pub(crate) fn name(mission: u32) -> String {
    format!("mission {mission:02}")
}

/// Builds the plan of a mission, counted from 1, and checks it.
pub(crate) fn build(mission: u32, builder: u32) -> Result<Plan, PlanError> {
    let terms = Terms::of(mission);
    let play_ticks = (terms.required + terms.extra) as u64 * THROW_TICKS;
    let ticks = LEAD_TICKS + play_ticks + FLIGHT_TICKS;
    let seed = 0x00C0_FFEE + u64::from(mission);
    let mut plan = PlanBuilder::new(name(mission), seed, ticks).content_version(CONTENT).builder_version(builder);

    // What the order needs comes first, then what it does not.
    let mut fruits = Vec::new();
    for (fruit, (_, throw)) in FRUITS.iter().enumerate() {
        for _ in 0..terms.of_fruit(fruit) {
            let column = plan.rng().random_range(0..COLUMNS);
            fruits.push(plan.require(throw(column)));
        }
    }
    for _ in 0..terms.extra {
        let (fruit, column) = (plan.rng().random_range(0..FRUITS.len()), plan.rng().random_range(0..COLUMNS));
        fruits.push(plan.add(FRUITS[fruit].1(column)));
    }

    // Each layer has a part of all that, in a window of its own.
    let window = play_ticks / terms.layers as u64;
    for layer in 0..terms.layers {
        let start = LEAD_TICKS + layer as u64 * window;
        let part: Vec<u32> = fruits.iter().copied().skip(layer).step_by(terms.layers).collect();
        let layer = plan.layer(format!("layer {}", layer + 1), start..start + window);
        plan.spread_in(layer, &part, THROW_TICKS_MIN);
    }

    // Bombs go where there is room: in a column through which nothing else flies at that time.
    for _ in 0..terms.bombs {
        let Some(tick) = plan.free_tick(LEAD_TICKS..LEAD_TICKS + play_ticks, BOMB_CLEAR_TICKS) else { break };
        let near = tick.saturating_sub(FLIGHT_TICKS / 2)..tick + FLIGHT_TICKS / 2;
        let taken: Vec<u8> = plan.placed(near).map(|(_, throw)| throw.column()).collect();
        let free: Vec<u8> = (0..COLUMNS).filter(|column| !taken.contains(column)).collect();
        let column = free.choose(plan.rng()).copied().unwrap_or(0);
        let bomb = plan.risk(Throw::Bomb { column });
        plan.at(bomb, tick);
    }

    let plan = plan.build()?;
    contract(mission).check(&plan)?;
    Ok(plan)
}

/// What the plan of a mission must hold.
pub(crate) fn contract(mission: u32) -> PlanContract<Throw> {
    let terms = Terms::of(mission);
    let contract = PlanContract::new()
        .events(terms.required + terms.extra + terms.bombs)
        .required(terms.required)
        .risk(terms.bombs)
        .layers(terms.layers);
    FRUITS.iter().enumerate().fold(contract, |contract, (fruit, (name, throw))| {
        let throw = *throw;
        contract.needs(*name, terms.of_fruit(fruit), move |event| *event == throw(event.column()))
    })
}

/// Builds all missions, each twice, and checks that no two are the same.
pub(crate) fn all() -> Result<Vec<Plan>, PlanError> {
    let plans: Vec<Plan> =
        (1..=MISSIONS).map(|mission| Plan::reproducible(|| build(mission, BUILDER))).collect::<Result<_, _>>()?;
    Plan::check_distinct(&plans)?;
    Ok(plans)
}
