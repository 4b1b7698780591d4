//! The text readers, of RON and of JSON.
#![no_main]

use bevy_replay_tape::{Expectation, Package, Plan, Tape, TapeLimits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = core::str::from_utf8(data) else { return };
    if let Ok(line) = text.parse::<Expectation>() {
        assert_eq!(line.to_string().parse::<Expectation>().expect("what was read can be written"), line);
    }
    let mut limits = TapeLimits::default();
    limits.ticks = 1 << 20;
    if let Ok(plan) = Plan::from_text(text) {
        assert_eq!(Plan::from_text(&plan.to_text()).expect("what was read can be written"), plan);
    }
    let _ = Package::from_text_limited(text, limits);
    let Ok(tape) = Tape::from_text_limited(text, limits) else { return };
    assert_eq!(Tape::from_text(&tape.to_text()).expect("what was read can be written"), tape);
    assert_eq!(Tape::from_bytes(&tape.to_bytes()).expect("and as bytes"), tape);
});
