//! What each registered thing adds to a tick, and to a tape. `docs/scaling.md` shows the table and says what follows from it.
//!
//! Run it: `cargo bench --bench scaling`
//!
//! Each line is the difference between two games that take turns, frame by frame, divided by how much more one of them has.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod common;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{AuthoritativeTypes, prelude::*};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

#[derive(Component, Canonical, Clone)]
struct Place([i64; 3]);
#[derive(Component, Canonical, Clone)]
struct Aim([i64; 3]);
#[derive(Component, Canonical, Clone)]
struct Level(i32);
#[derive(Component, Canonical, Clone)]
struct Tale(String);
#[derive(Component, Canonical, Clone)]
#[component(storage = "SparseSet")]
struct Burning(u64);

#[derive(Resource, Canonical, Clone)]
struct Map(Vec<u8>);

/// Eight types of resource and of input.
macro_rules! eight {
    ($($resource:ident $input:ident)*) => {
        $(
            #[derive(Resource, Canonical, Clone)]
            struct $resource(u64);
            #[derive(Resource, TickInput, Clone, Default)]
            struct $input(u8);
        )*

        fn resources(app: &mut App) {
            $(app.register_authoritative_resource::<$resource>().insert_resource($resource(7));)*
        }

        /// Inputs that change in each tick, or never.
        fn inputs(app: &mut App, change: bool) {
            $(app.record_input::<$input>();)*
            if change {
                $(app.add_systems(PreUpdate, |mut input: ResMut<$input>| input.0 = input.0.wrapping_add(1));)*
            } else {
                $(app.add_systems(PreUpdate, |mut input: ResMut<$input>| { core::hint::black_box(&mut *input); });)*
            }
        }

        /// The same inputs and systems, and nobody records them.
        fn unrecorded(app: &mut App) {
            $(app.init_resource::<$input>();)*
            $(app.add_systems(PreUpdate, |mut input: ResMut<$input>| input.0 = input.0.wrapping_add(1));)*
        }
    };
}
eight!(R0 I0 R1 I1 R2 I2 R3 I3 R4 I4 R5 I5 R6 I6 R7 I7);

const MANY: usize = 10_000;

fn main() -> Result<(), ReplayError> {
    println!("{:<58} {:>10}", "adds to a tick", "");
    let places = |app: &mut App| filled(app, &Place([1; 3]));
    let rows = MANY as f64;
    line("an entity with a type of 24 B, all stay", "ns", rows, |_| (), places);
    line("an entity with a type of 24 B, all change", "ns", rows, |app| moving(app, false), |app| moving(app, true));
    line("one more type of 24 B on an entity, all stay", "ns", rows, places, |app: &mut App| {
        app.register_authoritative::<(Place, Aim)>();
        app.world_mut().spawn_batch(vec![(Place([1; 3]), Aim([1; 3])); MANY]);
    });
    line("an entity with a type of 4 B, all stay", "ns", rows, |_| (), |app| filled(app, &Level(1)));
    line("an entity with a sparse type of 8 B", "ns", rows, |_| (), |app| filled(app, &Burning(1)));
    line("an entity with a `String` of 8 B", "ns", rows, |_| (), |app| filled(app, &Tale("a raven.".into())));
    line("a resource of 8 B", "ns", 8.0, |_| (), resources);
    line(
        "a resource with a list, a kB",
        "ns",
        64.0,
        |_| (),
        |app: &mut App| {
            app.register_authoritative_resource::<Map>().insert_resource(Map(vec![1; 64_000]));
        },
    );
    line("an input that stays", "ns", 8.0, unrecorded, |app| inputs(app, false));
    line("an input that changes in each tick", "ns", 8.0, unrecorded, |app| inputs(app, true));

    let thousand = |plugin: ReplayPlugin| recorded(plugin, swarm);
    let detail = |detail| plugin().detail(detail);
    let (roots, lanes) = (detail(Detail::Roots), detail(Detail::Lanes));
    print("digests of types on the tape (`Lanes`)", "us", 1.0, [thousand(roots.clone()), thousand(lanes)]);
    let values = thousand(detail(Detail::Values));
    print("values on the tape (`Values`), 1,000 of 24 B change", "us", 1.0, [thousand(roots), values]);

    println!("{:<58} {:>10}", "a tick of 1,000 moving entities on a tape", "");
    for detail in [Detail::Roots, Detail::Lanes, Detail::Values] {
        const TICKS: u32 = 640;
        let game = move |app: &mut App| {
            app.add_plugins(plugin().detail(detail));
            swarm(app);
        };
        let run = Headless::new(game).record(u64::from(TICKS))?;
        println!("{:<58} {:>10.1} B", format!("{detail:?}"), run.tape().to_bytes().len() as f64 / f64::from(TICKS));
    }
    Ok(())
}

fn plugin() -> ReplayPlugin {
    ReplayPlugin::new("scaling").detail(Detail::Roots)
}

/// Ten thousand entities that hold this.
fn filled<T: Component + AuthoritativeTypes + Clone>(app: &mut App, value: &T) {
    app.register_authoritative::<T>();
    app.world_mut().spawn_batch(vec![value.clone(); MANY]);
}

/// As many that move, registered or not.
fn moving(app: &mut App, registered: bool) {
    if registered {
        app.register_authoritative::<Place>();
    }
    app.world_mut().spawn_batch(vec![Place([1; 3]); MANY]);
    app.add_systems(FixedUpdate, go);
}

fn go(mut places: Query<&mut Place>) {
    places.iter_mut().for_each(|mut place| place.0[0] += 3);
}

/// A thousand that move.
fn swarm(app: &mut App) {
    app.register_authoritative::<Place>().add_systems(FixedUpdate, go);
    app.world_mut().spawn_batch(vec![Place([1; 3]); 1_000]);
}

/// Prints what the second game costs more than the first, a piece.
fn line(name: &str, unit: &str, pieces: f64, first: impl Fn(&mut App), second: impl Fn(&mut App)) {
    print(name, unit, pieces, [recorded(plugin(), first), recorded(plugin(), second)]);
}

fn print(name: &str, unit: &str, pieces: f64, mut apps: [App; 2]) {
    let [first, second] = common::turns(&mut apps, 1_000).map(common::median);
    let scale = if unit == "ns" { 1e9 } else { 1e6 };
    println!("{name:<58} {:>10.2} {unit}", (second - first) / pieces * scale);
}

/// A game that records, a tick in each frame.
fn recorded(plugin: ReplayPlugin, game: impl Fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, plugin)).insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    game(&mut app);
    app.world_mut().resource_mut::<Deck>().record();
    app
}
