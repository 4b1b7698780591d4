//! Prints the digest of each tick, so that two builds or two machines can be compared with `diff`.
//!
//! Run it: `cargo run --example digests > debug.txt; cargo run --release --example digests > release.txt`
//!
//! What to look at: both files are equal. The game uses floats (only `+ - * /` and `sqrt`, which are the
//! same everywhere), text, lists, options and random streams; with the feature `fixed` a second game uses
//! fixed-point square roots, sines and angles.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::Run;
use bevy_replay::prelude::*;

fn main() -> Result<(), ReplayError> {
    let inputs = (0..200).map(|tick: i32| Wind { push: ((tick * 7) % 5 - 2) as f32 * 0.1 });
    print("kites", &Headless::new(game).inputs(inputs).run()?);
    #[cfg(feature = "fixed")]
    print("needles", &Headless::new(needles::game).record(200)?);
    Ok(())
}

fn print(game: &str, recorded: &Run) {
    for (tick, root) in recorded.tape().digests.roots.iter().enumerate() {
        println!("{game} {}:{root:016X}", tick + 1);
    }
}

#[derive(StreamLabel)]
struct Gusts;

#[derive(Resource, Default, Clone, TickInput)]
struct Wind {
    push: f32,
}

#[derive(Component, Canonical)]
struct Kite {
    name: String,
    position: [f32; 2],
    trail: Vec<f64>,
    gust: Option<Gust>,
}

#[derive(Canonical)]
enum Gust {
    Light,
    Strong { since_tick: u64 },
}

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("kites")).record_input::<Wind>().register_authoritative::<Kite>();
    app.register_stream::<Gusts>();
    app.add_systems(Startup, |mut commands: Commands| {
        for i in 0..300_u16 {
            let position = [f32::from(i), 1.0 / f32::from(i + 1)];
            commands.spawn(Kite { name: format!("kite {i}"), position, trail: Vec::new(), gust: None });
        }
    });
    app.add_systems(FixedUpdate, fly);
}

fn fly(wind: Res<Wind>, tick: Res<SimTick>, mut gusts: Stream<Gusts>, mut kites: Query<(&SimId, &mut Kite)>) {
    let gust = gusts.random_range(-0.5..0.5);
    for (id, mut kite) in &mut kites {
        let [x, y] = kite.position;
        let own: f32 = gusts.of(*id).random();
        kite.position = [x + wind.push * y + gust, (y + x / 3.0 + own).abs().sqrt()];
        let height = f64::from(kite.position[1]);
        kite.trail.push(height / 7.0);
        if kite.trail.len() > 4 {
            kite.trail.remove(0);
        }
        kite.gust = match kite.name.len() as u64 + tick.0 {
            sum if sum % 3 == 0 => None,
            sum if sum % 3 == 1 => Some(Gust::Light),
            _ => Some(Gust::Strong { since_tick: tick.0 }),
        };
    }
}

#[cfg(feature = "fixed")]
mod needles {
    use bevy_app::prelude::*;
    use bevy_ecs::prelude::*;
    use bevy_replay::fixed::{Fx, FxVec2, sqrt};
    use bevy_replay::prelude::*;

    #[derive(Component, Canonical)]
    struct Needle {
        tip: FxVec2,
        length: Fx,
    }

    pub(super) fn game(app: &mut App) {
        app.add_plugins(ReplayPlugin::new("needles")).register_authoritative::<Needle>();
        app.add_systems(Startup, |mut commands: Commands| {
            commands.spawn_batch(
                (1..50).map(|i| Needle { tip: FxVec2::from_ints(i, 50 - i), length: Fx::ONE / i64::from(i) }),
            );
        });
        app.add_systems(FixedUpdate, turn);
    }

    fn turn(mut needles: Query<&mut Needle>) {
        for mut needle in &mut needles {
            let angle = needle.tip.angle().saturating_add(needle.length);
            let unit = needle.tip.rotate(angle).normalise().unwrap_or(FxVec2::X);
            needle.length = sqrt(needle.length.saturating_add(unit.dot(FxVec2::Y).abs())).unwrap_or_default();
            needle.tip = unit * needle.length;
        }
    }
}
