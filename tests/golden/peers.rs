//! Baselines of other platforms, and types whose order a scenario does not test.

use crate::Outcome;
use crate::texts::{file, given_baseline, is_fresh_process, message, scenario, sound};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_replay::prelude::*;
use bevy_replay::testing::{Baseline, Environment, ReplayTest};
use std::fs;
use std::path::Path;

/// Puts a baseline of another platform beside the own one, changed as told.
fn given_peer(folder: &Path, name: &str, change: impl Fn(String) -> String) -> Outcome {
    if is_fresh_process() {
        return Ok(());
    }
    let own = fs::read_to_string(file(folder, name, "txt"))?;
    let peer = own.replace(&format!("os={}", std::env::consts::OS), "os=amiga").replace("arch=x86_64", "arch=m68k");
    fs::write(folder.join(format!("{}.m68k-amiga.txt", name.replace('/', "."))), change(peer))?;
    Ok(())
}

#[test]
fn equal_peer_passes() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/peer")?;
    given_peer(folder.path(), "camp/peer", |text| text)?;
    let checked = scenario(folder.path(), "camp/peer", sound).cross_platform(true).check()?;
    assert_eq!(checked.notes, ["equal to m68k-amiga"]);
    Ok(())
}

#[test]
fn peer_with_one_other_digest_fails_where_platforms_must_agree_and_is_a_note_elsewhere() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/peer")?;
    let own: Baseline = fs::read_to_string(file(folder.path(), "camp/peer", "txt"))?.parse()?;
    let digest = format!("{:016X}", own.snapshots[1].1);
    given_peer(folder.path(), "camp/peer", |text| text.replace(&digest, "0123456789ABCDEF"))?;
    let test = scenario(folder.path(), "camp/peer", sound);
    assert_eq!(test.check()?.notes, ["differs from m68k-amiga from snapshot 120 on (not required to be equal)"]);
    let text = message(test.cross_platform(true).check(), folder.path());
    let expected = format!(
        "camp/peer: other digests than on m68k-amiga from snapshot 120 on: expected 0123456789ABCDEF got {digest}\n  both \
         must be the same (`cross_platform(true)`): look for floats beyond + - * / and sqrt"
    );
    assert_eq!(text, expected);
    Ok(())
}

#[test]
fn peer_of_another_schema_is_skipped_with_a_message() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/peer")?;
    given_peer(folder.path(), "camp/peer", |text| text.replace("schema=1", "schema=2"))?;
    let checked = scenario(folder.path(), "camp/peer", sound).cross_platform(true).check()?;
    assert_eq!(checked.notes, ["skipped m68k-amiga: the baseline has schema 2, this version reads schema 1"]);
    Ok(())
}

#[test]
fn no_peer_passes_and_says_what_that_means() -> Outcome {
    let folder = tempfile::tempdir()?;
    given_baseline(folder.path(), "camp/peer")?;
    let checked = scenario(folder.path(), "camp/peer", sound).cross_platform(true).check()?;
    assert_eq!(checked.notes, ["no baseline of another platform, so nothing is proved across platforms yet"]);
    Ok(())
}

#[derive(Component, Canonical)]
struct Boomerang(u32);

#[test]
fn scenario_with_one_boomerang_is_told_that_its_order_is_untested() -> Outcome {
    let game = |app: &mut App| {
        app.add_plugins(ReplayPlugin::new("boomerang")).register_authoritative::<Boomerang>();
        app.add_systems(
            FixedUpdate,
            |tick: Res<SimTick>, mut all: Query<(Entity, &mut Boomerang)>, mut commands: Commands| {
                // There are two between snapshots, but never at one.
                match tick.0 % 60 {
                    0 => drop(commands.spawn(Boomerang(0))),
                    10 => drop(commands.spawn(Boomerang(0))),
                    20 => all.iter().skip(1).for_each(|(entity, _)| commands.entity(entity).despawn()),
                    _ => all.iter_mut().for_each(|(_, mut boomerang)| boomerang.0 += 1),
                }
            },
        );
    };
    let folder = tempfile::tempdir()?;
    let test = ReplayTest::new("boomerang/one", game).ticks(60).folder(folder.path());
    let checked = test.environment(Environment::default()).bless("for this test")?;
    assert!(checked.notes.contains(&"order untested: Boomerang (never two at a snapshot)".into()), "{checked}");
    Ok(())
}
