//! A tape of the clean game, played by a script.

use crate::game::{GamePlugin, Lantern};
use crate::places::PlacesPlugin;
use bevy::prelude::*;
use bevy_replay::Tape;
use bevy_replay::prelude::*;
use bevy_replay::tape::Start;

/// Six seconds.
pub const TICKS: u64 = 384;

/// The whole game without a window.
pub fn game(app: &mut App) {
    app.add_plugins((GamePlugin, PlacesPlugin));
}

/// The lantern goes round the garden in a rectangle, and its bearer claps now and then.
pub fn script() -> impl Iterator<Item = Lantern> {
    (0_i16..).take(TICKS as usize).map(|tick| {
        let (side, along) = (tick % 256 / 64, tick % 64 * 4 - 128);
        let (x, y) = [(along * 2, 96), (256, -along * 3 / 4), (-along * 2, -96), (-256, along * 3 / 4)][side as usize];
        Lantern { x, y, clap: tick % 90 == 45 }
    })
}

/// Records the clean game with all values. The tape holds the state it starts from, so it can be played at any time.
///
/// # Errors
///
/// [`ReplayError`] if the game cannot be run.
pub fn record() -> Result<Tape, ReplayError> {
    let recorded = Headless::new(game).inputs(script()).detail(Detail::Values).run()?;
    let mut tape = Tape::clone(recorded.tape());
    tape.header.start = Start::Image;
    Ok(tape)
}
