//! avian.

use crate::keys::{Outcome, uneven_frames};
use avian2d::dynamics::solver::SolverConfig;
use avian2d::prelude::{Position, TimeToSleep, TransformInterpolation};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{Arrival, Executor, Pacing, Run, TimeTravel, coverage, prelude::*};
use bevy_transform::{TransformPlugin, components::Transform};
use recipes::avian::{Crate, Push, game};

/// The pile is pushed to and fro while it falls together.
fn recorded(ticks: u16) -> Result<Run, ReplayError> {
    let pushes = (0..ticks).map(|tick| Push { x: i8::from(tick % 100 < 20) - i8::from(tick % 90 > 75) });
    Headless::new(game).inputs(pushes).run()
}

/// Whether a body was ever shown where it is not.
#[derive(Resource, Default)]
struct Eased(bool);

#[test]
fn pile_of_boxes_replays_equal_from_the_start() -> Outcome {
    let mut recorded = recorded(600)?;
    assert_eq!(coverage(recorded.world_mut()).to_string(), "all components of simulated entities have a role");
    let at_another_pace = Headless::new(game).pacing(Pacing::TicksPerFrame(4)).executor(Executor::AsBuilt);
    at_another_pace.verify(recorded.tape())?.assert_verified();
    // Other entities, and what Bevy and interpolation do to transforms in each frame.
    let in_a_window = |app: &mut App| {
        app.add_plugins(TransformPlugin);
        game(app);
        app.register_required_components::<Crate, TransformInterpolation>().init_resource::<Eased>();
        app.add_systems(Last, |bodies: Query<(&Position, &Transform)>, mut eased: ResMut<Eased>| {
            eased.0 |= bodies.iter().any(|(position, transform)| position.x != transform.translation.x);
        });
    };
    let replayed = Headless::new(in_a_window).scrambled(7).pacing(uneven_frames()).verify(recorded.tape())?;
    replayed.assert_verified();
    assert!(replayed.resource::<Eased>()?.0, "interpolation is at work");
    Ok(())
}

/// No impulses are kept from tick to tick, and no body sleeps.
fn without_memory(app: &mut App) {
    game(app);
    app.world_mut().resource_mut::<SolverConfig>().warm_start_coefficient = 0.0;
    app.world_mut().resource_mut::<TimeToSleep>().0 = f32::INFINITY;
}

#[test]
fn state_that_is_put_into_another_app_goes_on_differently_at_once() -> Outcome {
    for game in [game, without_memory] {
        let recorded = Headless::new(game).inputs((0..200).map(|_| Push::default())).run()?;
        let leak = Headless::rejoin(|| Headless::new(game), recorded.tape(), 100)?.ok_or("caches are cold")?;
        assert_eq!(leak.tick, 100);
        assert!(leak.suspects.contains("ContactGraph"), "{leak}");
    }
    Ok(())
}

#[test]
fn jump_that_is_not_right_is_noticed_and_played_from_the_start() -> Outcome {
    let recorded = recorded(300)?;
    let at = |ticks| {
        let mut travel = TimeTravel::new(|| Headless::new(game), recorded.tape())?;
        travel.seek(ticks)?;
        Ok::<_, ReplayError>(travel)
    };
    let mut travel = at(300)?;
    assert_eq!(travel.seek(150)?, Arrival::PlayedAnew);
    assert!(travel.hidden_state().is_some());
    assert_eq!(travel.digest()?, at(150)?.digest()?);
    Ok(())
}
