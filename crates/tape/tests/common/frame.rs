//! The frame of a tape file, written a second time, so that tests can damage what is inside.

use std::io::Read;

pub const MAGIC: &[u8] = b"BVYTAPE\n";

/// A kind and what is in it, unpacked.
pub type Chunk = ([u8; 4], Vec<u8>);

pub fn chunks(bytes: &[u8]) -> Vec<Chunk> {
    let mut rest = &bytes[MAGIC.len()..];
    let mut chunks = Vec::new();
    while let Some((head, tail)) = rest.split_first_chunk::<16>() {
        let length = head[4..12].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (payload, after) = tail.split_at(length);
        let mut content = payload[1..].to_vec();
        if payload[0] == 1 {
            content.clear();
            let mut inflate = flate2::read::DeflateDecoder::new(&payload[9..]);
            inflate.read_to_end(&mut content).expect("the tape was written whole");
        }
        chunks.push(([head[0], head[1], head[2], head[3]], content));
        rest = after;
    }
    chunks
}

pub fn chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let crc = crc32fast::hash(&[kind, &length[..], payload].concat());
    [kind, &length[..], &crc.to_le_bytes(), payload].concat()
}

pub fn file(chunks: &[Chunk]) -> Vec<u8> {
    let chunks = chunks.iter().flat_map(|(kind, content)| chunk(kind, &[&[0], &content[..]].concat()));
    MAGIC.iter().copied().chain(chunks).collect()
}
