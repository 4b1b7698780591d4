//! What two headers have in common, and what a tape is refused for.

mod common;

use bevy_replay_tape::{Canonical, Header, HeaderDifference, Tape, TypeSpec, encode_to_vec};
use common::tapes::{Steer, header};
use common::world::World;
use std::sync::Arc;

/// What differs if a header is changed, and whether it is refused.
fn header_differences(change: impl Fn(&mut Header)) -> Vec<(String, String, String, bool)> {
    let expected = full_header();
    let mut got = expected.clone();
    change(&mut got);
    let rows = expected.differences(&got).into_iter();
    rows.map(|HeaderDifference { field, expected, got, refused, .. }| (field, expected, got, refused)).collect()
}

fn full_header() -> Header {
    let mut header = header(&World::default().image());
    header.game_version = "0.4.1".into();
    header.crate_version = "0.1.0".into();
    header.bevy_version = "0.20.1".into();
    header.target = "x86_64-linux".into();
    header
}

#[test]
fn what_a_tape_is_refused_for_is_marked() {
    let one = |change: &dyn Fn(&mut Header)| {
        let mut rows = header_differences(change);
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    };
    let row =
        |field: &str, expected: &str, got: &str, refused: bool| (field.into(), expected.into(), got.into(), refused);
    assert_eq!(header_differences(|_| ()), []);

    assert_eq!(one(&|header| header.game = "other".into()), row("game", "`my_game`", "`other`", true));
    assert_eq!(one(&|header| header.rules = 2), row("rules", "0", "2", true));
    assert_eq!(one(&|header| header.digest_version = 9), row("digest version", "1", "9", true));
    assert_eq!(one(&|header| header.timestep_ns = 5), row("timestep", "15625000 ns", "5 ns", true));
    let none = "none of that name";
    let steer = "`Steer { x: i8, jump: bool }`";
    assert_eq!(
        one(&|header| {
            header.tracks.pop();
        }),
        row("input Steer", steer, none, true)
    );
    let spec = |name: &str| TypeSpec { name: name.into(), schema: Arc::new(u8::schema()) };
    assert_eq!(one(&|header| header.lanes.push(spec("New"))), row("type New", none, "`u8`", true));
    assert_eq!(one(&|header| header.resources[1] = spec("Score")), row("resource Score", "`u32`", "`u8`", true));

    assert_eq!(one(&|header| header.seed = 255), row("seed", "0000000000000000", "00000000000000FF", false));
    assert_eq!(one(&|header| header.game_version = "1".into()), row("game version", "0.4.1", "1", false));
    assert_eq!(one(&|header| header.crate_version = "1".into()), row("bevy_replay", "0.1.0", "1", false));
    assert_eq!(one(&|header| header.bevy_version = "1".into()), row("Bevy", "0.20.1", "1", false));
    assert_eq!(one(&|header| header.target = "wasm".into()), row("target", "x86_64-linux", "wasm", false));
    assert_eq!(one(&|header| header.features.push("libm".into())), row("features", "none", "libm", false));
    let content = |header: &mut Header| {
        header.content.insert("level".into(), "12".into());
    };
    assert_eq!(one(&content), row("content", "none", "level=12", false));
}

#[test]
fn what_says_nothing_of_the_app_is_no_difference() {
    let rows = header_differences(|header| {
        header.format += 1;
        header.tick_first = 100;
        header.elapsed_ns = 7;
        header.start = bevy_replay_tape::Start::Image;
        header.notes = "a note".into();
    });
    assert_eq!(rows, []);
    let unknown = header_differences(|header| {
        for text in [&mut header.game_version, &mut header.crate_version, &mut header.bevy_version, &mut header.target]
        {
            text.clear();
        }
    });
    assert_eq!(unknown, [], "what one side does not say is no difference");
}

#[test]
fn types_renamed_for_people_are_the_same_and_other_encodings_are_not() {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape)]
    struct Control {
        x: i8,
        jump: bool,
    }
    assert_eq!(encode_to_vec(&Control { x: 1, jump: true }), encode_to_vec(&Steer { x: 1, jump: true }));
    assert_eq!(header_differences(|header| header.tracks[1].schema = Arc::new(Control::schema())), []);

    // What differs so deep inside that the text of the schema does not show it is refused all the same.
    type Deep<T> = (((((((T,),),),),),),);
    let (mut expected, mut got) = (full_header(), full_header());
    expected.tracks[1].schema = Arc::new(Deep::<u8>::schema());
    got.tracks[1].schema = Arc::new(Deep::<u16>::schema());
    let rows = expected.differences(&got);
    assert_eq!((rows.len(), rows[0].refused), (1, true));
    assert_eq!(rows[0].to_string(), "input Steer.0.0.0.0.0.0.0: the tape has `u8`, this app has `u16`");
}

#[test]
fn header_differences_read_as_a_sentence() {
    let (expected, mut got) = (full_header(), full_header());
    got.rules = 4;
    assert_eq!(expected.differences(&got)[0].to_string(), "rules: the tape has 0, this app has 4");
    assert_eq!(expected.origin(), "my_game 0.4.1 rules 0, x86_64-linux");
    assert_eq!(Tape::new(Header::default()).header.origin(), "unknown game rules 0");
}
