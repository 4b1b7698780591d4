//! The binary reader: any bytes, and chunks with right checksums that hold any bytes.
#![no_main]

use bevy_replay_tape::{Tape, TapeLimits};
use libfuzzer_sys::fuzz_target;

const KINDS: [&[u8; 4]; 12] =
    [b"OPEN", b"HEAD", b"INIT", b"INPT", b"CLCK", b"ROOT", b"LANE", b"DELT", b"MARK", b"TICK", b"END ", b"NEW!"];

/// A header with an input of two columns, one of any width, a lane and a resource.
const HEAD: &str = r#"{"format":1,"tracks":[{"name":"Said","schema":["String"]},{"name":"Steer","schema":[{"Struct":
{"name":"Steer","fields":[{"name":"x","shape":1},{"name":"jump","shape":2}]}},{"Int":{"bits":8}},"Bool"]}],"lanes":[
{"name":"Bag","schema":[{"List":{"item":1}},{"UInt":{"bits":16}}]},{"name":"Body","schema":[{"UInt":{"bits":32}}]}],
"resources":[{"name":"Score","schema":[{"Option":{"item":1}},{"UInt":{"bits":8}}]}]}"#;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    match first % 3 {
        0 => read(rest),
        1 => read(&framed(rest, Vec::new())),
        _ => read(&framed(rest, chunk(b"HEAD", 0, HEAD.as_bytes()))),
    }
});

/// Puts the bytes into chunks: a kind, a length and a packing each.
fn framed(mut rest: &[u8], start: Vec<u8>) -> Vec<u8> {
    let mut out = [&b"BVYTAPE\n"[..], &start].concat();
    while let Some(([kind, length, packing], tail)) = rest.split_first_chunk() {
        let (content, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        out.extend(chunk(KINDS[usize::from(*kind) % KINDS.len()], packing % 2, content));
        rest = tail;
    }
    out
}

fn chunk(kind: &[u8; 4], packing: u8, content: &[u8]) -> Vec<u8> {
    let payload = [&[packing], content].concat();
    let length = (payload.len() as u64).to_le_bytes();
    let crc = crc32fast::hash(&[kind, &length[..], &payload].concat());
    [kind, &length[..], &crc.to_le_bytes(), &payload].concat()
}

fn read(bytes: &[u8]) {
    let mut limits = TapeLimits::default();
    limits.unpacked_bytes = 1 << 20;
    limits.header_bytes = 1 << 16;
    let recovered = Tape::recover(bytes, limits);
    let Ok(tape) = Tape::from_bytes_limited(bytes, limits) else { return };
    assert_eq!(recovered.expect("what can be read can be recovered").tape, tape);
    assert_eq!(Tape::from_bytes(&tape.to_bytes()).expect("what was read can be written"), tape);
    assert_eq!(Tape::from_text(&tape.to_text()).expect("and as text"), tape);
}
