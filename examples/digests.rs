//! Prints the digest of each tick, so that two builds or two machines can be compared with `diff`.
//!
//! Run it: `cargo run --example digests > debug.txt; cargo run --release --example digests > release.txt`
//!
//! What to look at: both files are equal. The game uses floats (only `+ - * /` and `sqrt`, which are the
//! same everywhere), text, lists and options.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;

fn main() -> Result<(), ReplayError> {
    let inputs = (0..200).map(|tick: i32| Wind { push: ((tick * 7) % 5 - 2) as f32 * 0.1 });
    let recorded = Headless::new(game).inputs(inputs).run()?;
    for (tick, root) in recorded.tape().digests.roots.iter().enumerate() {
        println!("{}:{root:016X}", tick + 1);
    }
    Ok(())
}

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
    app.add_systems(Startup, |mut commands: Commands| {
        for i in 0..300_u16 {
            let position = [f32::from(i), 1.0 / f32::from(i + 1)];
            commands.spawn(Kite { name: format!("kite {i}"), position, trail: Vec::new(), gust: None });
        }
    });
    app.add_systems(FixedUpdate, fly);
}

fn fly(wind: Res<Wind>, tick: Res<SimTick>, mut kites: Query<&mut Kite>) {
    for mut kite in &mut kites {
        let [x, y] = kite.position;
        kite.position = [x + wind.push * y, (y + x / 3.0).abs().sqrt()];
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
