//! Goes back and forth on a tape, without a window.

use super::drive::TicksLeft;
use super::{Headless, Pacing, ReplayError, TapeSource};
use crate::deck::PlayOptions;
use crate::state::{self, suspects};
use bevy_ecs::prelude::*;
use bevy_replay_tape::Tape;
use std::sync::Arc;

/// A game on a tape, at any of its ticks.
///
/// Going back is a jump to a state that was kept, over ground that this app has played, and from there tick by tick.
/// Whether the jump has put everything back is seen by the digests of the ticks that are played again. Where it has not
/// (a `Local`, a physics engine's caches), the game is made anew and played from the start: slower, and right.
///
/// # Examples
///
/// ```
/// # use bevy_app::prelude::*; use bevy_ecs::prelude::*; use bevy_replay::{TimeTravel, prelude::*};
/// # #[derive(Resource, Default, Clone, TickInput)] struct Steer { x: i8 }
/// # #[derive(Component, Canonical)] struct Hero { x: i32 }
/// # fn game(app: &mut App) {
/// #     app.add_plugins(ReplayPlugin::new("my_game")).record_input::<Steer>().register_authoritative::<Hero>();
/// #     app.add_systems(Startup, |mut commands: Commands| { commands.spawn(Hero { x: 0 }); });
/// #     app.add_systems(FixedUpdate, |steer: Res<Steer>, mut hero: Single<&mut Hero>| hero.x += i32::from(steer.x));
/// # }
/// let recorded = Headless::new(game).inputs([1, 1, 0, -1].map(|x| Steer { x })).run()?;
/// let mut travel = TimeTravel::new(|| Headless::new(game), recorded.tape())?;
/// travel.seek(4)?;
/// travel.step(-2)?;
/// assert_eq!(travel.single::<Hero>()?.x, 2);
/// # Ok::<(), ReplayError>(())
/// ```
#[expect(missing_debug_implementations, reason = "an app cannot be printed")]
pub struct TimeTravel {
    make: Box<dyn Fn() -> Headless>,
    game: Headless,
    tape: Arc<Tape>,
    /// Why jumps are not to be trusted, once that was found.
    hidden: Option<String>,
}

/// A frame costs as much as a light tick, and nobody looks at it.
const TICKS_PER_FRAME: u32 = 64;

/// How a tick was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrival {
    /// It was there.
    Stayed,
    /// By playing on.
    PlayedOn,
    /// From a kept state.
    Jumped {
        /// The tick of that state.
        from: u64,
    },
    /// In a game made anew, from the start.
    PlayedAnew,
}

impl TimeTravel {
    /// Puts a tape into a game; it stands before its first tick. `make` makes the game, again where need be.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the tape cannot be read, or its inputs do not fit the game.
    pub fn new(make: impl Fn() -> Headless + 'static, tape: impl TapeSource) -> Result<Self, ReplayError> {
        let tape = tape.tape()?;
        let game = Self::start(&make, &tape)?;
        Ok(Self { make: Box::new(make), game, tape, hidden: None })
    }

    fn start(make: &dyn Fn() -> Headless, tape: &Arc<Tape>) -> Result<Headless, ReplayError> {
        let mut game = make();
        if game.pacing == Pacing::TicksPerFrame(1) {
            game.pacing = Pacing::TicksPerFrame(TICKS_PER_FRAME);
        }
        game.begin(tape, PlayOptions::inputs_only().held())?;
        // A frame without a tick: the game starts up.
        game.app.world_mut().insert_resource(TicksLeft { ticks: 0, exact: true });
        game.app.update();
        Ok(game)
    }

    /// Goes to where so many ticks have run. Past the end is the end.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the game cannot be run.
    pub fn seek(&mut self, tick: u64) -> Result<Arrival, ReplayError> {
        let ticks = self.tape.ticks();
        let target = tick.clamp(ticks.start, ticks.end);
        let here = self.tick();
        if here == target {
            return Ok(Arrival::Stayed);
        }
        let nearest = self.game.with(|_, runtime| runtime.history.as_ref().map(|history| history.nearest(target)));
        let arrival = match nearest {
            Some(from) if (target < here || from > here) && self.hidden.is_none() => {
                match self.game.with(|world, runtime| runtime.jump(world, from)) {
                    Ok(()) => Arrival::Jumped { from },
                    Err(error) => {
                        self.hidden = Some(error.to_string());
                        self.play_anew()?
                    }
                }
            }
            _ if target < here => self.play_anew()?,
            _ => Arrival::PlayedOn,
        };
        self.play_to(target, arrival)
    }

    /// Goes so many ticks on, or back. Past an end is that end.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if the game cannot be run.
    pub fn step(&mut self, ticks: i64) -> Result<Arrival, ReplayError> {
        self.seek(self.tick().saturating_add_signed(ticks))
    }

    fn play_anew(&mut self) -> Result<Arrival, ReplayError> {
        self.game = Self::start(&self.make, &self.tape)?;
        Ok(Arrival::PlayedAnew)
    }

    fn play_to(&mut self, target: u64, arrival: Arrival) -> Result<Arrival, ReplayError> {
        self.game.drive(target)?;
        let Some(tick) = self.game.with(|_, runtime| runtime.unfaithful_at) else { return Ok(arrival) };
        if arrival == Arrival::PlayedAnew {
            return Ok(arrival); // it is not deterministic; that is for `verify` to say
        }
        let suspects = self.game.with(|world, runtime| suspects(world, runtime));
        let found = format!("tick {tick} was not the same when it was played again after a jump{suspects}");
        tracing::warn!("{found}");
        self.hidden.get_or_insert(found);
        let arrival = self.play_anew()?;
        self.play_to(target, arrival)
    }

    /// Returns how many ticks have run.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.game.ticks()
    }

    /// Returns why going back means playing anew, once that was found; with what may be behind it.
    #[must_use]
    pub fn hidden_state(&self) -> Option<&str> {
        self.hidden.as_deref()
    }

    /// Returns the world as it is at this tick.
    #[must_use]
    pub fn world(&self) -> &World {
        self.game.app.world()
    }

    /// Returns the world as it is at this tick, to run queries on.
    #[must_use]
    pub fn world_mut(&mut self) -> &mut World {
        self.game.app.world_mut()
    }

    /// Returns the root digest at this tick.
    ///
    /// # Errors
    ///
    /// [`ReplayError`] if two entities carry one sim id.
    pub fn digest(&mut self) -> Result<u64, ReplayError> {
        state::digest(self.world_mut()).map_err(|error| crate::DeckError::from(error).into())
    }

    /// Returns the one component of that type.
    ///
    /// # Errors
    ///
    /// [`ReplayError::NotSingle`] if there is none, or more than one.
    pub fn single<T: Component>(&self) -> Result<&T, ReplayError> {
        super::run::single(self.world())
    }

    /// Returns the ticks at which states are kept, and how many bytes they take.
    pub fn keyframes(&mut self) -> (Vec<u64>, usize) {
        self.game.with(|_, runtime| {
            let history = runtime.history.as_ref();
            history.map_or_else(Default::default, |history| (history.ticks().collect(), history.size_bytes()))
        })
    }
}
