//! What recording adds to a tick.

use crate::table::{Part, Row, Target, in_turns, median, random, time};
use crate::wise::Probe;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::{PlayOptions, prelude::*};
use bevy_replay_tape::{Changes, Header, Tape, Track};
use bevy_time::{Time, TimePlugin, TimeUpdateStrategy, Virtual};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tickwise::{Recorder, RecorderConfig};

/// Four bytes of input, as a Doom player's.
#[derive(Resource, Default, Clone, TickInput)]
struct Ticcmd {
    forward: i8,
    side: i8,
    turn: i8,
    buttons: u8,
}

/// Ticks in a frame, so that the frame's own cost is shared by many.
const BATCH: u32 = 500;
const BATCHES: usize = 201;
const TICKS: u64 = BATCH as u64 * (BATCHES as u64 + 3);

pub fn part() -> Result<Part, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (mut rows, mut more, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut bare_tick = 0.0;
    for (name, changing) in [("unchanged", false), ("changed each tick", true)] {
        let tape = Headless::new(game).inputs((0..TICKS).map(|tick| input(tick, changing))).run()?.tape().clone();
        let play = |record: &dyn Fn(&mut Deck)| playing(tape.clone(), record);
        let row = |rows: &mut Vec<Row>, what: &str, target, (ours, error): (f64, f64), peer: f64| {
            let (what, ratio) = (format!("input {name}{what}"), ours / peer);
            let ours = if error > 0.0 { format!("{} ± {:.0}", time(ours), error * 1e9) } else { time(ours) };
            rows.push(Row { what, ratio, target, ours, peer: ("tickwise", time(peer)) });
        };

        let (mut bare, mut with) = (play(&|_| {}), play(&|deck| deck.record()));
        let mut peer = Stream::new(std::io::sink(), changing)?;
        let mut by_hand = ByHand::new(changing);
        let [bare_times, with_times, peer_times, by_hand_times] = of_ticks(in_turns(
            BATCHES,
            [&mut || bare.update(), &mut || with.update(), &mut || peer.batch(), &mut || by_hand.batch()],
        ));
        check(&bare)?;
        check(&with)?;
        let peer = median(peer_times);
        row(&mut more, ", added to a whole tick", Target::None, added(&with_times, &bare_times), peer);
        row(&mut rows, "", Target::AtMost(1.0), (median(by_hand_times), 0.0), peer);
        bare_tick = median(bare_times);

        // Apart, as a file is written by a thread of its own.
        let path = |extension: &str| folder.path().join(format!("{changing}.{extension}"));
        let (mut bare, mut with) = (play(&|_| {}), play(&|deck| deck.record_to(path("tape"))));
        let mut peer = Stream::to(&path("rec"), changing)?;
        let [bare_times, with_times, peer_times] =
            of_ticks(in_turns(BATCHES, [&mut || bare.update(), &mut || with.update(), &mut || peer.batch()]));
        check(&bare)?;
        check(&with)?;
        row(
            &mut files,
            ", added to a tick, into a file",
            Target::None,
            added(&with_times, &bare_times),
            median(peer_times),
        );
    }
    rows.extend(more.into_iter().chain(files));
    Ok(Part {
        title: "Recorder per tick: one input of 4 bytes, a root each tick",
        rows,
        notes: vec![
            "bevy_replay: what the recorder does in a tick, on a `Tape` without an app".into(),
            format!(
                "  added to a whole tick: one that plays a tape, compares and records, less one that does not record ({}); \
                 it moves by tens of ns from run to run",
                time(bare_tick)
            ),
            "tickwise: `record_tick` into a sink, the digest given; into a file: through a buffer of 8 KiB, and unreadable \
             until it is finished"
                .into(),
            "bevy_replay into a file: each 32 ticks go to a thread, which packs and writes them; readable wherever it ends"
                .into(),
        ],
    })
}

/// The seconds of a tick, from those of a batch.
fn of_ticks<const N: usize>(times: [Vec<f64>; N]) -> [Vec<f64>; N] {
    times.map(|batches| batches.into_iter().map(|seconds| seconds / f64::from(BATCH)).collect())
}

/// How much longer one takes than the other, the median of neighbours; and its standard error.
fn added(with: &[f64], without: &[f64]) -> (f64, f64) {
    let mut all: Vec<f64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    all.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| all[all.len() * quarters / 4];
    // Of a normal distribution: its middle half is 1.35 deviations wide, and a median's error is 1.25 of a mean's.
    let error = 1.25 * (quartile(3) - quartile(1)) / 1.35 / (all.len() as f64).sqrt();
    (quartile(2), error)
}

/// An app that plays a tape, many ticks in a frame.
fn playing(tape: Arc<Tape>, record: &dyn Fn(&mut Deck)) -> App {
    let mut app = App::new();
    app.add_plugins(TimePlugin).insert_resource(TimeUpdateStrategy::FixedTimesteps(BATCH));
    game(&mut app);
    app.finish();
    app.world_mut().resource_mut::<Time<Virtual>>().set_max_delta(Duration::MAX);
    let mut deck = app.world_mut().resource_mut::<Deck>();
    deck.play(tape, PlayOptions::verify());
    record(&mut deck);
    app
}

/// A tape that is written without an app.
struct ByHand {
    tape: Tape,
    changing: bool,
}

impl ByHand {
    fn new(changing: bool) -> Self {
        let mut tape = Tape::new(Header::new("peers"));
        let (name, schema) = ("Ticcmd".to_owned(), Arc::new(Ticcmd::schema()));
        tape.tracks = vec![Track { name, schema, changes: Changes::default() }];
        Self { tape, changing }
    }

    fn batch(&mut self) {
        let Self { tape, changing } = self;
        for _ in 0..BATCH {
            let tick = tape.end.tick_count;
            tape.tracks[0].changes.record(tick, &bytes(tick, *changing));
            tape.digests.roots.push(random(tick));
            tape.end.tick_count += 1;
        }
    }
}

fn game(app: &mut App) {
    app.add_plugins(ReplayPlugin::new("peers")).record_input::<Ticcmd>();
}

fn input(tick: u64, changing: bool) -> Ticcmd {
    let tick = if changing { tick } else { 1 };
    Ticcmd { forward: (tick % 251) as u8 as i8, side: (tick % 7) as i8, turn: 0, buttons: 0 }
}

fn bytes(tick: u64, changing: bool) -> [u8; 4] {
    let Ticcmd { forward, side, turn, buttons } = input(tick, changing);
    black_box([forward as u8, side as u8, turn as u8, buttons])
}

/// That the ticks have run, and are recorded.
fn check(app: &App) -> Result<(), Box<dyn Error>> {
    let ticks = app.world().resource::<SimTick>().0;
    let deck = app.world().resource::<Deck>();
    // The first frame has no time behind it, and no ticks.
    let expected = u64::from(BATCH) * (BATCHES as u64 + 1);
    if ticks != expected || !deck.is_replaying() || deck.error().is_some() {
        return Err(format!("{ticks} of {expected} ticks were played; {:?}, {:?}", deck.state(), deck.error()).into());
    }
    Ok(())
}

/// A recording of tickwise.
struct Stream<W: Write> {
    recorder: Recorder<W>,
    tick: u64,
    changing: bool,
}

impl<W: Write> Stream<W> {
    fn new(sink: W, changing: bool) -> Result<Self, tickwise::RecordError> {
        Ok(Self { recorder: Recorder::new(sink, RecorderConfig::default())?, tick: 0, changing })
    }

    fn batch(&mut self) {
        for _ in 0..BATCH {
            let bytes = bytes(self.tick, self.changing);
            let recorded = self.recorder.record_tick(self.tick, &bytes, &Probe(random(self.tick)));
            recorded.expect("ticks are in order, and the disk has room");
            self.tick += 1;
        }
    }
}

impl Stream<std::io::BufWriter<std::fs::File>> {
    fn to(path: &Path, changing: bool) -> Result<Self, Box<dyn Error>> {
        let recorder = Recorder::create(path, RecorderConfig::default())?;
        Ok(Self { recorder, tick: 0, changing })
    }
}
