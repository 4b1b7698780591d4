//! The clock of a tick comes from the tape.

use bevy_ecs::world::World;
use bevy_time::{Fixed, Time};
use core::time::Duration;

/// Builds the clock that the tape's recorder had: a tick of this length that ends at `elapsed`.
///
/// Time cannot go back on a `Time`, so a new one is made; the overstep stays the app's own.
fn tape_clock(timestep: Duration, elapsed: Duration, own: &Time<Fixed>) -> Time<Fixed> {
    let mut clock = Time::<Fixed>::from_duration(timestep);
    clock.set_wrap_period(own.wrap_period());
    clock.advance_to(elapsed.saturating_sub(timestep));
    clock.advance_by(elapsed.min(timestep));
    clock.accumulate_overstep(own.overstep());
    clock
}

/// Gives the running tick this length and end, where its own differ.
pub(crate) fn set(world: &mut World, timestep: Duration, elapsed: Duration) {
    let own = *world.resource::<Time<Fixed>>();
    if own.delta() == timestep && own.elapsed() == elapsed && own.timestep() == timestep {
        return;
    }
    let clock = tape_clock(timestep, elapsed, &own);
    *world.resource_mut::<Time<Fixed>>() = clock;
    *world.resource_mut::<Time>() = clock.as_generic();
}

/// Gives the app its own clock back, with the time that is waiting to be spent.
pub(crate) fn put_back(world: &mut World, mut own: Time<Fixed>) {
    let overstep = world.resource::<Time<Fixed>>().overstep();
    own.discard_overstep(Duration::MAX);
    own.accumulate_overstep(overstep);
    *world.resource_mut::<Time<Fixed>>() = own;
}
