//! Lockstep.

use crate::keys::Outcome;
use crate::page::PAGE;
use bevy_replay::prelude::*;
use bevy_replay::tape::Tape;
use recipes::lockstep::{AimAssist, peers};
use std::process::Command;
use std::sync::Arc;

/// The tapes of two peers after 120 ticks, of which one runs its frames at half the speed of the other.
fn played(detail: Detail, faulty: bool) -> Result<[Arc<Tape>; 2], Box<dyn std::error::Error>> {
    let [mut a, mut b] = peers(detail);
    b.app.insert_resource(AimAssist(faulty));
    let mut waited = 0;
    for frame in 0..400_usize {
        if a.tick() < 120 && !a.step([1, 0, -1, 0][frame / 7 % 4]) {
            waited += 1;
        }
        if b.tick() < 120 && frame % 2 == 0 {
            b.step([0, -1, -1, 1][frame / 5 % 4]);
        }
    }
    assert_eq!((a.tick(), b.tick()), (120, 120));
    assert!(waited > 50, "the fast peer waits for the slow one: {waited}");
    Ok([a.tape().ok_or("a has no tape")?, b.tape().ok_or("b has no tape")?])
}

#[test]
fn peers_with_the_same_inputs_agree() -> Outcome {
    let [a, b] = played(Detail::Values, false)?;
    assert_eq!(a.diff(&b).divergence, None);
    assert_eq!(a.tick_count(), 120);
    Ok(())
}

#[test]
fn peers_that_part_are_told_by_the_diff_of_their_tapes() -> Outcome {
    let [a, b] = played(Detail::Values, true)?;
    let found = a.diff(&b).divergence.ok_or("they part")?.to_string();
    assert_eq!(found, "diverged at tick 15 (0.23 s): sim:1 Unit.health expected 99 got 98");
    assert!(PAGE.contains(&found));
    // What each detail can say.
    for (detail, text) in [
        (Detail::Lanes, "diverged at tick 15 (0.23 s): Unit differs"),
        (Detail::Roots, "diverged at tick 15 (0.23 s): digest expected "),
    ] {
        let [a, b] = played(detail, true)?;
        let found = a.diff(&b).divergence.ok_or("they part")?.to_string();
        assert!(found.starts_with(text), "{found}");
    }
    Ok(())
}

#[test]
fn the_command_says_the_same() -> Outcome {
    let folder = tempfile::tempdir()?;
    for (name, tape) in ["peerA.tape", "peerB.tape"].iter().zip(played(Detail::Values, true)?) {
        tape.save(folder.path().join(name))?;
    }
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let run = "run --quiet --package bevy_replay_tape --features cli --bin bevy-replay --manifest-path";
    let diff = Command::new(env!("CARGO"))
        .args(run.split(' ').chain([manifest, "--", "diff", "peerA.tape", "peerB.tape"]))
        .current_dir(&folder)
        .output()?;
    let text = String::from_utf8(diff.stdout)?;
    assert_eq!(diff.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&diff.stderr));
    assert!(text.starts_with("diverged at tick 15 (0.23 s): sim:1 Unit.health expected 99 got 98\n"), "{text}");
    Ok(())
}

#[test]
fn tape_of_a_peer_replays_without_the_other() -> Outcome {
    let [a, _] = played(Detail::Values, false)?;
    let replayed = Headless::new(|app: &mut bevy_app::App| recipes::lockstep::game(app, Detail::Values)).verify(a)?;
    replayed.assert_verified();
    Ok(())
}
