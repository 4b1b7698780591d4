//! The game itself, without a window: a level of blocks, a player, coins and hedgehogs. All numbers are integers.

use bevy::prelude::*;
use bevy_replay::FlightRecorder;
use bevy_replay::prelude::*;

/// Length of a block's side in units of length.
pub const BLOCK: i32 = 1024;

/// The level, seen from the front: `#` block, `o` coin, `h` hedgehog, `P` where the player starts.
pub static LEVEL: [&str; 18] = [
    "################################",
    "#..............................#",
    "#..............................#",
    "#...................o..........#",
    "#.........o........###.....o...#",
    "#........###..............###..#",
    "#..............................#",
    "#...............o..............#",
    "#..o...........###.............#",
    "#.###.................o........#",
    "#....................####......#",
    "#..........o................o..#",
    "#.........###..............###.#",
    "#..............................#",
    "#....o............##...........#",
    "#...###..........####......o...#",
    "#.P....o..o.....######..h......#",
    "################################",
];

/// Widths and heights in units of length.
pub const PLAYER_SIZE: IVec2 = IVec2::new(660, 860);
pub const COIN_SIZE: IVec2 = IVec2::new(560, 560);
pub const HEDGEHOG_SIZE: IVec2 = IVec2::new(820, 560);

/// Units of length per tick, and per tick and tick.
const RUN_SPEED: i32 = 123;
const RUN_ACCELERATION: i32 = 12;
const FRICTION: i32 = 9;
const JUMP_SPEED: i32 = 375;
const GRAVITY: i32 = 20;
const FALL_SPEED_MAX: i32 = 420;
const HEDGEHOG_SPEED: i32 = 30;

/// For so many ticks before landing a jump counts.
const JUMP_BUFFER: u8 = 6;
const POINTS_PER_COIN: u32 = 10;
/// What meeting a hedgehog costs.
const POINTS_PER_STING: u32 = 5;

/// What the player wants. It is all that reaches the game from outside, and what a tape holds.
#[derive(Resource, Default, Clone, PartialEq, Eq, Debug, TickInput)]
pub struct Controls {
    pub left: bool,
    pub right: bool,
    #[once] // a tap is one jump, however many ticks a frame has
    pub jump: bool,
}

#[derive(Component, Canonical, Default, Debug)]
pub struct Player {
    pub x: i32,
    pub y: i32,
    pub vx: i32,
    pub vy: i32,
    pub on_ground: bool,
    pub jump_buffer: u8,
}

#[derive(Component, Canonical, Debug)]
pub struct Coin {
    pub x: i32,
    pub y: i32,
}

#[derive(Component, Canonical, Debug)]
pub struct Hedgehog {
    pub x: i32,
    pub y: i32,
    pub vx: i32,
}

#[derive(Resource, Canonical, Default, Debug, PartialEq, Eq)]
pub struct Score {
    pub points: u32,
    pub coins: u32,
    pub jumps: u32,
}

/// Adds the game; `Headless::new(GamePlugin)` runs it without a window.
pub struct GamePlugin;

impl Plugin for GamePlugin {
    fn build(&self, app: &mut App) {
        let replay = ReplayPlugin::new("block_dash").rules(1).version(env!("CARGO_PKG_VERSION"));
        app.add_plugins(replay.flight(FlightRecorder::default()))
            .record_input::<Controls>()
            .register_authoritative::<(Player, Coin, Hedgehog)>()
            .register_authoritative_resource::<Score>();
        app.add_systems(Startup, build_level);
        app.add_systems(FixedUpdate, (move_player, walk_hedgehogs, collect_coins, meet_hedgehogs, claim_score).chain());
    }
}

/// The places of a sign in the level, as the middle of its block.
pub fn places(sign: char) -> impl Iterator<Item = IVec2> {
    (0..).zip(LEVEL.iter().rev()).flat_map(move |(row, line)| {
        let columns = (0..).zip(line.chars()).filter(move |(_, found)| *found == sign);
        columns.map(move |(column, _)| IVec2::new(column, row) * BLOCK + BLOCK / 2)
    })
}

fn start() -> IVec2 {
    places('P').next().unwrap_or(IVec2::splat(BLOCK * 2))
}

/// The beginning. What shows it comes from the view, when these appear: also when a replay puts them back.
fn build_level(mut commands: Commands) {
    commands.insert_resource(Score::default());
    let IVec2 { x, y } = start();
    commands.spawn(Player { x, y, ..Player::default() });
    for IVec2 { x, y } in places('o') {
        commands.spawn(Coin { x, y });
    }
    for IVec2 { x, y } in places('h') {
        commands.spawn(Hedgehog { x, y: y - (BLOCK - HEDGEHOG_SIZE.y) / 2, vx: -HEDGEHOG_SPEED });
    }
}

fn is_solid(column: i32, row: i32) -> bool {
    let line = usize::try_from(row).ok().and_then(|row| LEVEL.iter().rev().nth(row));
    let sign = line.zip(usize::try_from(column).ok()).and_then(|(line, column)| line.as_bytes().get(column));
    sign.is_none_or(|sign| *sign == b'#')
}

/// Whether a box with this middle would be inside a block.
fn is_blocked(x: i32, y: i32, size: IVec2) -> bool {
    let range =
        |middle: i32, size: i32| (middle - size / 2).div_euclid(BLOCK)..=(middle + size / 2 - 1).div_euclid(BLOCK);
    range(y, size.y).any(|row| range(x, size.x).any(|column| is_solid(column, row)))
}

/// The last place of a moving box's middle before the block it meets. It moves less than a block per tick.
fn stopped(middle: i32, size: i32, speed: i32) -> i32 {
    let half = size / 2;
    if speed > 0 {
        (middle + speed + half - 1).div_euclid(BLOCK) * BLOCK - half
    } else {
        ((middle + speed - half).div_euclid(BLOCK) + 1) * BLOCK + half
    }
}

fn move_player(controls: Res<Controls>, mut player: Single<&mut Player>, mut score: ResMut<Score>) {
    let player = &mut **player;
    let direction = i32::from(controls.right) - i32::from(controls.left);
    player.vx = match direction {
        0 => player.vx - player.vx.clamp(-FRICTION, FRICTION),
        _ => (player.vx + direction * RUN_ACCELERATION).clamp(-RUN_SPEED, RUN_SPEED),
    };
    player.jump_buffer = if controls.jump { JUMP_BUFFER } else { player.jump_buffer.saturating_sub(1) };
    if player.on_ground && player.jump_buffer > 0 {
        (player.vy, player.jump_buffer) = (JUMP_SPEED, 0);
        score.jumps += 1;
    }
    player.vy = (player.vy - GRAVITY).max(-FALL_SPEED_MAX);

    if is_blocked(player.x + player.vx, player.y, PLAYER_SIZE) {
        player.x = stopped(player.x, PLAYER_SIZE.x, player.vx);
        player.vx = 0;
    } else {
        player.x += player.vx;
    }
    player.on_ground = false;
    if is_blocked(player.x, player.y + player.vy, PLAYER_SIZE) {
        player.on_ground = player.vy < 0;
        player.y = stopped(player.y, PLAYER_SIZE.y, player.vy);
        player.vy = 0;
    } else {
        player.y += player.vy;
    }
}

fn walk_hedgehogs(mut hedgehogs: Query<&mut Hedgehog>) {
    for mut hedgehog in &mut hedgehogs {
        if is_blocked(hedgehog.x + hedgehog.vx, hedgehog.y, HEDGEHOG_SIZE) {
            hedgehog.vx = -hedgehog.vx;
        } else {
            hedgehog.x += hedgehog.vx;
        }
    }
}

fn touches(player: &Player, x: i32, y: i32, size: IVec2) -> bool {
    let reach = (PLAYER_SIZE + size) / 2;
    (player.x - x).abs() < reach.x && (player.y - y).abs() < reach.y
}

fn collect_coins(
    player: Single<&Player>,
    coins: Query<(Entity, &Coin)>,
    mut score: ResMut<Score>,
    mut commands: Commands,
) {
    for (entity, coin) in &coins {
        if touches(&player, coin.x, coin.y, COIN_SIZE) {
            commands.entity(entity).despawn();
            score.coins += 1;
            score.points += POINTS_PER_COIN;
        }
    }
}

/// A sting sends the player back to the start.
fn meet_hedgehogs(mut player: Single<&mut Player>, hedgehogs: Query<&Hedgehog>, mut score: ResMut<Score>) {
    if hedgehogs.iter().any(|hedgehog| touches(&player, hedgehog.x, hedgehog.y, HEDGEHOG_SIZE)) {
        let IVec2 { x, y } = start();
        **player = Player { x, y, ..Player::default() };
        score.points = score.points.saturating_sub(POINTS_PER_STING);
    }
}

/// Writes the score on the tape, so that whoever verifies it can compare.
fn claim_score(score: Res<Score>, mut deck: ResMut<Deck>, mut claimed: Local<Option<u32>>) {
    if !deck.is_recording() {
        *claimed = None;
    } else if *claimed != Some(score.points) {
        deck.claim("score", score.points.to_string());
        *claimed = Some(score.points);
    }
}
