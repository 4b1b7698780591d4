//! Lockstep: two peers run the same ticks on the same inputs, and each records its tape.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::tape::Tape;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

pub const PLAYERS: usize = 2;

/// What all players do in a tick: the same on each peer.
#[derive(Resource, TickInput, Default, Clone)]
pub struct Orders {
    run: [i8; PLAYERS],
}

#[derive(Component, Canonical, Debug)]
pub struct Unit {
    pub player: u8,
    pub x: i32,
    pub health: u32,
}

/// A setting of one peer's menu, which a tick must not read.
#[derive(Resource)]
pub struct AimAssist(pub bool);

pub fn game(app: &mut App, detail: Detail) {
    app.add_plugins(ReplayPlugin::new("lockstep").detail(detail));
    app.record_input::<Orders>().register_authoritative::<Unit>().insert_resource(AimAssist(false));
    app.add_systems(Startup, |mut commands: Commands, mut deck: ResMut<Deck>| {
        commands.spawn_batch([(0, -20), (1, 20)].map(|(player, x)| Unit { player, x, health: 100 }));
        deck.record();
    });
    app.add_systems(FixedUpdate, (run, shoot).chain());
}

fn run(orders: Res<Orders>, mut units: Query<&mut Unit>) {
    for mut unit in &mut units {
        unit.x += i32::from(orders.run[usize::from(unit.player)]);
    }
}

fn shoot(assist: Res<AimAssist>, tick: Res<SimTick>, mut units: Query<&mut Unit>) {
    if tick.0 % 16 == 15 {
        for mut unit in &mut units {
            unit.health -= if assist.0 && unit.player == 1 { 2 } else { 1 };
        }
    }
}

/// An order on its way: the tick in which it counts, whose it is, and what it says.
type Order = (u64, usize, i8);

/// An order counts so many ticks after it was given: time for it to arrive.
const DELAY: u64 = 6;

/// One machine of the match.
pub struct Peer {
    pub app: App,
    player: usize,
    to_other: Sender<Order>,
    from_other: Receiver<Order>,
    known: BTreeMap<(u64, usize), i8>,
}

/// Two peers, and the wires between them.
pub fn peers(detail: Detail) -> [Peer; PLAYERS] {
    let (to_b, from_a) = channel();
    let (to_a, from_b) = channel();
    let peer = |player, to_other, from_other| {
        let mut app = App::new();
        // One tick for each update: the peer decides when a tick runs, no clock does.
        app.add_plugins(TimePlugin).insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
        game(&mut app, detail);
        app.finish();
        app.update(); // starts up; the first update of an app runs no tick
        Peer { app, player, to_other, from_other, known: BTreeMap::new() }
    };
    [peer(0, to_b, from_b), peer(1, to_a, from_a)]
}

impl Peer {
    pub fn tick(&self) -> u64 {
        self.app.world().resource::<SimTick>().0
    }

    /// Gives an order, and runs a tick if the orders of all players for it are there.
    pub fn step(&mut self, run: i8) -> bool {
        let tick = self.tick();
        self.order(tick + DELAY, run);
        let Some(orders) = self.orders(tick) else { return false };
        self.app.insert_resource(orders);
        self.app.update();
        true
    }

    fn order(&mut self, tick: u64, run: i8) {
        if !self.known.contains_key(&(tick, self.player)) {
            self.known.insert((tick, self.player), run);
            let _ = self.to_other.send((tick, self.player, run)); // one that has left needs none
        }
    }

    /// What all players do in a tick, as soon as it is known. For the first ticks nobody can have given an order.
    fn orders(&mut self, tick: u64) -> Option<Orders> {
        self.known.extend(self.from_other.try_iter().map(|(tick, player, run)| ((tick, player), run)));
        let mut orders = Orders::default();
        for (player, order) in orders.run.iter_mut().enumerate().filter(|_| tick >= DELAY) {
            *order = *self.known.get(&(tick, player))?;
        }
        self.known.retain(|(of, _), _| *of > tick);
        Some(orders)
    }

    /// Ends the recording.
    pub fn tape(&mut self) -> Option<Arc<Tape>> {
        self.app.world_mut().resource_mut::<Deck>().stop();
        self.app.insert_resource(TimeUpdateStrategy::FixedTimesteps(0)).update();
        self.app.world().resource::<Deck>().tape().cloned()
    }
}
