//! Known answers of digest version 1, frozen: the worked example of `docs/digest.md`, recomputed from
//! its bytes alone, and an image that crosses block borders.

use bevy_replay_tape::{BLOCK_ROWS, Canonical, Ids, Image, Lane, ResourceState, encode_to_vec};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

#[derive(Canonical)]
#[canonical(crate = bevy_replay_tape)]
struct Hero {
    x: i32,
    jumping: bool,
}

fn lane<T: Canonical>(ids: &Arc<Ids>, values: impl Iterator<Item = T>) -> Lane {
    let mut lane = Lane::new(T::type_name(), T::schema().into());
    lane.ids = ids.clone();
    for value in values {
        lane.rows.push(|out| out.extend(encode_to_vec(&value)));
    }
    lane
}

fn resource(name: &str, value: &impl Canonical, schema: bevy_replay_tape::Schema) -> ResourceState {
    let mut state = ResourceState::new(name, schema.into());
    state.present = true;
    state.bytes = encode_to_vec(value);
    state
}

fn worked_example() -> Option<Image> {
    let ids = Arc::new(Ids::new(vec![0, 3])?);
    let heroes = [Hero { x: -2, jumping: false }, Hero { x: 1000, jumping: true }];
    Some(Image {
        tick: 2,
        roster: ids.clone(),
        lanes: vec![lane(&ids, heroes.into_iter())],
        resources: vec![resource("Score", &7_u32, u32::schema()), resource("SimIds", &4_u64, u64::schema())],
    })
}

/// Little-endian `u64`s, one after another.
fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn named(name: &str, rest: &[u8]) -> Vec<u8> {
    [words(&[name.len() as u64]), name.as_bytes().to_vec(), rest.to_vec()].concat()
}

#[test]
fn the_worked_example_can_be_recomputed_from_its_bytes() -> Result<(), &'static str> {
    let ids = xxh3_64(&words(&[0, 3]));
    let rows = xxh3_64(&[0xFE, 0xFF, 0xFF, 0xFF, 0, 0xE8, 0x03, 0, 0, 1]);
    let lane = xxh3_64(&named("Hero", &words(&[2, ids, rows])));
    let score = xxh3_64(&named("Score", &[&words(&[1])[..], &[7, 0, 0, 0]].concat()));
    let sim_ids = xxh3_64(&named("SimIds", &words(&[1, 4])));
    let root = xxh3_64(&words(&[2, 2, 1, ids, 1, lane, 2, score, sim_ids]));

    let digest = worked_example().ok_or("ids are in order")?.digest();
    assert_eq!((digest.lanes, digest.resources, digest.root), (vec![lane], vec![score, sim_ids], root));
    let hex = [ids, rows, lane, score, sim_ids, root].map(|hash| format!("{hash:016X}"));
    assert_eq!(hex, DOCUMENTED, "the numbers of docs/digest.md");
    let page = include_str!("../../../docs/digest.md");
    for number in DOCUMENTED {
        assert!(page.contains(number), "docs/digest.md must show {number}");
    }
    Ok(())
}

const DOCUMENTED: [&str; 6] = [
    "A9C537F75B27A974",
    "B276AAA43ECB16BE",
    "EF1039075F4465A3",
    "2E31E9D1AD131385",
    "4862A174AE40F38A",
    "138E830AED0DEF29",
];

#[test]
fn an_image_that_crosses_block_borders_keeps_its_digest() -> Result<(), &'static str> {
    let count = BLOCK_ROWS as u64 * 3 + 1;
    let ids = Arc::new(Ids::new((0..count).map(|i| i * 3).collect()).ok_or("ids are in order")?);
    let lanes = vec![lane(&ids, (0..count).map(|i| format!("{i}"))), lane(&ids, (0..count).map(|i| i as f32 * 0.5))];
    let mut image = Image { tick: 9, roster: ids, lanes, resources: Vec::new() };
    image.lanes.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(BLOCK_ROWS, 128, "frozen with digest version 1");
    assert_eq!(format!("{:016X}", image.digest().root), "6BBF81128DA66EA1");
    Ok(())
}
