//! Each fault is found where it was planted, and the clean game replays.

use bevy::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::{Pacing, Report, Tape};
use divergence_lab::faults::{Fault, Faults, PLANTED, Planted};
use divergence_lab::tape;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

type Outcome = Result<(), Box<dyn std::error::Error>>;

static TAPE: LazyLock<Arc<Tape>> = LazyLock::new(|| Arc::new(tape::record().expect("the clean game runs")));

fn clean() -> Headless {
    Headless::new(tape::game)
}

fn with(fault: Fault) -> Headless {
    Headless::new((tape::game, move |app: &mut App| {
        app.insert_resource(Faults::only(fault));
    }))
}

#[track_caller]
fn assert_found(planted: &Planted, report: &Report) {
    assert!(planted.is_found_by(report), "{planted:?}\n{report}");
}

#[test]
fn clean_game_replays_at_any_pace() -> Outcome {
    let frame = Duration::from_nanos(1_000_000_000 / 144);
    for pacing in [Pacing::TicksPerFrame(1), Pacing::TicksPerFrame(4), Pacing::Frames(vec![frame])] {
        clean().pacing(pacing).verify(&*TAPE)?.assert_verified();
    }
    Ok(())
}

#[test]
fn clean_game_can_be_gone_back_in() -> Outcome {
    assert_eq!(Headless::rejoin(clean, &*TAPE, 60)?, None);
    assert_eq!(Headless::twice(clean, &*TAPE)?, None);
    assert_eq!(Headless::seeks(clean, &*TAPE, 20, 1)?, None);
    Ok(())
}

#[test]
fn each_fault_is_found_where_it_was_planted() -> Outcome {
    for planted in &PLANTED {
        assert_found(planted, with(planted.fault).verify(&*TAPE)?.report());
    }
    Ok(())
}

#[test]
fn each_fault_is_found_side_by_side_and_its_system_named() -> Outcome {
    for planted in &PLANTED {
        let report = clean().compare_with(with(planted.fault), &*TAPE)?;
        assert_found(planted, &report);
        assert!(planted.is_blamed_by(&report), "{planted:?}\n{report}");
    }
    Ok(())
}

#[test]
fn wrong_answer_does_not_count() -> Outcome {
    let report = with(Fault::LastBit).verify(&*TAPE)?.report().clone();
    let elsewhere = Planted { tick: 161, ..*Fault::LastBit.planted() };
    assert!(!elsewhere.is_found_by(&report) && !elsewhere.is_blamed_by(&report));
    Ok(())
}
