//! The schema resolver: two types made of the bytes, and values of the one read as the other.
#![no_main]

use bevy_replay_tape::{Resolution, Schema, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};

/// Takes the next byte; zero when there is none.
fn next(data: &mut &[u8]) -> u8 {
    let Some((first, rest)) = data.split_first() else { return 0 };
    *data = rest;
    *first
}

/// Makes a schema of a few shapes, which may refer to each other in any way.
fn schema(data: &mut &[u8]) -> Option<Schema> {
    let count = 1 + next(data) % 8;
    let shapes: Vec<Json> = (0..count).map(|_| shape(data, count)).collect();
    serde_json::from_value(Json::Array(shapes)).ok()
}

fn shape(data: &mut &[u8], count: u8) -> Json {
    let bits = [8, 16, 32, 64, 128][usize::from(next(data)) % 5];
    let mut item = |data: &mut &[u8]| next(data) % count;
    match next(data) % 16 {
        0 => json!("Bool"),
        1 => json!({ "UInt": { "bits": bits } }),
        2 => json!({ "Int": { "bits": bits } }),
        3 => json!({ "Float": { "bits": if bits < 64 { 32 } else { 64 } } }),
        4 => json!({ "Fixed": { "bits": bits, "fraction_bits": 4, "signed": true } }),
        5 => json!("Char"),
        6 => json!("String"),
        7 => json!("Duration"),
        8 => json!("Entity"),
        9 => json!({ "Option": { "item": item(data) } }),
        10 => json!({ "Array": { "item": item(data), "len": u64::from(next(data)) << (next(data) % 56) } }),
        11 => json!({ "List": { "item": item(data) } }),
        12 => json!({ "Set": { "item": item(data) } }),
        13 => json!({ "Map": { "key": item(data), "value": item(data) } }),
        14 => json!({ "Struct": { "name": "S", "fields": fields(data, count) } }),
        _ => {
            let variants: Vec<Json> = (0..next(data) % 4)
                .map(|_| {
                    let name = next(data) % 6;
                    json!({ "name": format!("V{name}"), "tag": name, "fields": fields(data, count) })
                })
                .collect();
            json!({ "Enum": { "name": "E", "variants": variants } })
        }
    }
}

fn fields(data: &mut &[u8], count: u8) -> Vec<Json> {
    (0..next(data) % 4)
        .map(|_| json!({ "name": format!("f{}", next(data) % 6), "shape": next(data) % count }))
        .collect()
}

fuzz_target!(|data: &[u8]| {
    let mut data = data;
    let (Some(from), Some(to)) = (schema(&mut data), schema(&mut data)) else { return };
    let same = Resolution::new(&from, &from).expect("a type can be read as itself");
    assert!(same.is_identity() && same.notes().is_empty());
    let Ok(resolution) = Resolution::new(&from, &to) else { return };
    let Ok(converted) = resolution.convert(data, None) else { return };
    Value::decode(&to, &converted).expect("what was converted can be read");
    if resolution.is_identity() {
        assert_eq!(converted, data);
    }
    let with_default = resolution.convert(data, Some(&converted)).expect("a default is as good as none");
    Value::decode(&to, &with_default).expect("what was converted can be read");
});
