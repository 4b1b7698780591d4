//! Images: what leads from one to another, what differs between two, and when their digests do.

mod common;

use bevy_replay_tape::{
    BLOCK_ROWS, Canonical, DecodeError, Delta, DeltaError, Difference, Digest, Ids, Image, Lane, LaneDelta, Rows, Side,
    encode_to_vec,
};
use common::world::{Bag, Body, Frozen, Mood, Place, Thing, World, bag, body, world};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const BAG: usize = 0;
const BODY: usize = 1;
const MOOD: usize = 3;
const SCORE: usize = 1;

proptest! {
    #[test]
    fn a_delta_leads_from_one_image_to_the_other(a in world(), b in world()) {
        let (before, after) = (a.image(), b.image());
        let delta = after.delta_from(&before);
        let mut image = before.clone();
        image.apply(&delta)?;
        prop_assert_eq!(&image, &after);
        prop_assert_eq!(image.digest(), after.digest());
        let again = after.delta_from(&after);
        prop_assert_eq!(again, Delta { tick: after.tick, ..Delta::default() });
    }

    #[test]
    fn deltas_add_up_over_many_ticks(worlds in prop::collection::vec(world(), 1..6)) {
        let mut image = worlds[0].image();
        for pair in worlds.windows(2) {
            image.apply(&pair[1].image().delta_from(&pair[0].image()))?;
        }
        prop_assert_eq!(image, worlds[worlds.len() - 1].image());
    }

    #[test]
    fn nothing_differs_between_two_images_if_and_only_if_they_are_equal(a in world(), mut b in world(), same_things: bool) {
        if same_things {
            b.things.clone_from(&a.things);
        }
        b.tick = a.tick;
        let (expected, got) = (a.image(), b.image());
        let found = expected.diff(&got);
        prop_assert_eq!(found.is_empty(), expected == got);
        prop_assert_eq!(expected.digest().root == got.digest().root, expected == got);
        prop_assert!(expected.diff(&expected).is_empty());
        // The other way round the same places differ, with the sides swapped.
        let mut back = got.diff(&expected);
        for row in &mut back {
            core::mem::swap(&mut row.expected, &mut row.got);
        }
        let key = |row: &Difference| (row.sim_id, row.type_name.clone(), row.path.clone());
        let sorted = |mut rows: Vec<Difference>| { rows.sort_by_key(key); rows };
        prop_assert_eq!(sorted(back), sorted(found));
    }

    #[test]
    fn a_changed_delta_is_applied_or_refused_but_never_panics(
        a in world(),
        b in world(),
        at in any::<prop::sample::Index>(),
        id in 0..9_u64,
    ) {
        let (before, after) = (a.image(), b.image());
        let delta = after.delta_from(&before);
        let ids = |delta: &mut Delta, change: &dyn Fn(&mut Vec<u64>)| {
            change(&mut delta.spawned);
            change(&mut delta.despawned);
            for lane in &mut delta.lanes {
                change(&mut lane.changed);
                change(&mut lane.removed);
            }
        };
        type Change<'a> = &'a dyn Fn(&mut Vec<u64>);
        let changes: [Change<'_>; 4] = [
            &|ids| { ids.reverse(); },
            &|ids| ids.push(id),
            &|ids| { if !ids.is_empty() { let at = at.index(ids.len()); ids[at] = id; } },
            &|ids| { ids.pop(); },
        ];
        for change in changes {
            let mut delta = delta.clone();
            ids(&mut delta, change);
            let mut image = before.clone();
            if image.apply(&delta).is_ok() {
                // What was accepted is still an image: each component's entity exists, each value can be read.
                for lane in &image.lanes {
                    for id in lane.ids.iter() {
                        prop_assert!(image.roster.row(*id).is_some());
                        lane.value(*id)?;
                    }
                }
            }
        }
    }
}

/// One entity with everything.
fn one() -> World {
    let bag = Bag {
        items: vec![1, 2, 3],
        owner: Some(7),
        prices: BTreeMap::from([("ale".into(), 3), ("rum".into(), 5)]),
        seals: BTreeSet::from([1, 2]),
    };
    let thing = Thing { bag: Some(bag), body: Some(body(40, 1.5)), frozen: None, mood: Some(Mood::Angry(2)) };
    World { tick: 5, things: BTreeMap::from([(12, thing)]), news: Some(vec!["a".into()]), score: Some(3) }
}

fn first(world: &mut World) -> &mut Thing {
    world.things.get_mut(&12).expect("it was made with it")
}

/// What differs, as a report shows it, if `one` is changed.
#[track_caller]
fn differences(change: impl FnOnce(&mut World)) -> Vec<String> {
    let mut world = one();
    change(&mut world);
    let rows = one().image().diff(&world.image());
    rows.iter().map(|row| format!("{}: {} / {}", row.place(), row.expected, row.got)).collect()
}

fn bag_of(world: &mut World) -> &mut Bag {
    first(world).bag.as_mut().expect("it was made with it")
}

#[test]
fn a_field_of_a_nested_struct_is_named_with_both_values() {
    let found = differences(|world| first(world).body = Some(Body { at: Place { x: 38, y: 0 }, speed: -1.5 }));
    assert_eq!(found, ["sim:12 Body.at.x: 40 / 38", "sim:12 Body.speed: 1.5 / -1.5"]);
}

#[test]
fn items_of_lists_are_named_by_their_place_and_other_lengths_are_counted() {
    assert_eq!(differences(|world| bag_of(world).items[1] = 9), ["sim:12 Bag.items[1]: 2 / 9"]);
    let shorter = differences(|world| bag_of(world).items = vec![1]);
    assert_eq!(shorter, ["sim:12 Bag.items: 3 items / 1 item"]);
    let longer = differences(|world| bag_of(world).items = vec![1, 9, 3, 4]);
    assert_eq!(longer, ["sim:12 Bag.items: 3 items / 4 items", "sim:12 Bag.items[1]: 2 / 9"]);
    let empty = differences(|world| bag_of(world).items = Vec::new());
    assert_eq!(empty, ["sim:12 Bag.items: [1, 2, 3] / []"]);
}

#[test]
fn options_differ_by_value_or_by_presence() {
    assert_eq!(differences(|world| bag_of(world).owner = Some(8)), ["sim:12 Bag.owner: 7 / 8"]);
    assert_eq!(differences(|world| bag_of(world).owner = None), ["sim:12 Bag.owner: Some(7) / None"]);
}

#[test]
fn entries_of_maps_are_named_by_their_key() {
    let price = differences(|world| bag_of(world).prices = BTreeMap::from([("ale".into(), 4), ("rum".into(), 5)]));
    assert_eq!(price, [r#"sim:12 Bag.prices["ale"]: 3 / 4"#]);
    let other = differences(|world| bag_of(world).prices = BTreeMap::from([("gin".into(), 1), ("rum".into(), 6)]));
    let expected = [
        r#"sim:12 Bag.prices["ale"]: 3 / absent"#,
        r#"sim:12 Bag.prices["rum"]: 5 / 6"#,
        r#"sim:12 Bag.prices["gin"]: absent / 1"#,
    ];
    assert_eq!(other, expected);
}

#[test]
fn items_of_sets_are_there_or_not() {
    let found = differences(|world| bag_of(world).seals = BTreeSet::from([2, 3]));
    assert_eq!(found, ["sim:12 Bag.seals[1]: 1 / absent", "sim:12 Bag.seals[3]: absent / 3"]);
}

#[test]
fn enums_differ_by_field_or_by_variant() {
    assert_eq!(differences(|world| first(world).mood = Some(Mood::Angry(3))), ["sim:12 Mood.0: 2 / 3"]);
    assert_eq!(differences(|world| first(world).mood = Some(Mood::Calm)), ["sim:12 Mood: Angry(2) / Calm"]);
    let afraid = differences(|world| first(world).mood = Some(Mood::Afraid { of: 2 }));
    assert_eq!(afraid, ["sim:12 Mood: Angry(2) / Afraid(of: 2)"]);
}

#[test]
fn a_component_on_one_side_only_is_shown_with_its_value() {
    assert_eq!(differences(|world| first(world).mood = None), ["sim:12 Mood: Angry(2) / absent"]);
    assert_eq!(differences(|world| first(world).frozen = Some(Frozen)), ["sim:12 Frozen: absent / ()"]);
}

#[test]
fn an_entity_on_one_side_only_is_one_difference() {
    let found = differences(|world| {
        let thing = world.things.remove(&12).unwrap_or_default();
        world.things.insert(13, thing);
    });
    assert_eq!(found, ["sim:12: present / absent", "sim:13: absent / present"]);
}

#[test]
fn a_resource_differs_by_value_or_by_presence_and_stands_last() {
    let found = differences(|world| {
        world.score = None;
        world.news = Some(vec!["b".into()]);
        first(world).mood = None;
    });
    let expected = ["sim:12 Mood: Angry(2) / absent", r#"News[0]: "a" / "b""#, "Score: 3 / absent"];
    assert_eq!(found, expected);
}

#[test]
fn differences_stand_in_the_order_of_the_sim_ids_whatever_the_type() {
    let image = |x: i32, items: &[u16]| {
        let thing = |x, items: &[u16]| Thing {
            body: Some(body(x, 0.0)),
            bag: Some(Bag { items: items.into(), ..bag() }),
            ..Thing::default()
        };
        let things = BTreeMap::from([(1, thing(x, &[0])), (2, thing(0, items)), (3, thing(x, items))]);
        World { things, ..World::default() }.image()
    };
    let places: Vec<String> = image(0, &[1]).diff(&image(1, &[2])).iter().map(Difference::place).collect();
    assert_eq!(places, ["sim:1 Body.at.x", "sim:2 Bag.items[0]", "sim:3 Bag.items[0]", "sim:3 Body.at.x"]);
}

#[test]
fn a_type_that_one_image_does_not_know_is_absent_on_each_row() {
    let (mut expected, got) = (one().image(), one().image());
    expected.lanes.remove(MOOD);
    expected.resources.remove(SCORE);
    let found: Vec<String> =
        expected.diff(&got).iter().map(|row| format!("{}: {} / {}", row.place(), row.expected, row.got)).collect();
    assert_eq!(found, ["sim:12 Mood: absent / Angry(2)", "Score: absent / 3"]);
}

#[test]
fn fields_of_two_versions_of_a_type_are_matched_by_name() -> Result<(), DecodeError> {
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape, name = "Score")]
    struct Old {
        points: u32,
        lives: u8,
    }
    #[derive(Canonical)]
    #[canonical(crate = bevy_replay_tape, name = "Score")]
    struct New {
        level: u8,
        points: u32,
    }
    let mut expected = Image::default();
    let resource = |schema, bytes| bevy_replay_tape::ResourceState {
        name: "Score".into(),
        schema: Arc::new(schema),
        present: true,
        bytes,
    };
    expected.resources.push(resource(Old::schema(), encode_to_vec(&Old { points: 5, lives: 1 })));
    let mut got = Image::default();
    got.resources.push(resource(New::schema(), encode_to_vec(&New { level: 2, points: 6 })));
    let found: Vec<String> =
        expected.diff(&got).iter().map(|row| format!("{}: {} / {}", row.place(), row.expected, row.got)).collect();
    assert_eq!(found, ["Score.points: 5 / 6", "Score.lives: 1 / absent", "Score.level: absent / 2"]);
    Ok(())
}

#[test]
fn bytes_that_are_no_value_are_shown_as_unreadable() {
    let (expected, mut got) = (one().image(), one().image());
    got.resources[SCORE].bytes = vec![1];
    let found = expected.diff(&got);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].place().as_str(), &found[0].got), ("Score", &Side::Unreadable));
}

#[test]
fn float_distance_is_counted_in_representable_numbers() {
    let ulps = |a: f32, b: f32| {
        let image = |speed| {
            let thing = Thing { body: Some(body(0, speed)), ..Thing::default() };
            World { things: BTreeMap::from([(1, thing)]), ..World::default() }.image()
        };
        image(a).diff(&image(b)).first().and_then(Difference::ulps)
    };
    assert_eq!(ulps(1.0, f32::from_bits(1.0_f32.to_bits() + 5)), Some(5));
    assert_eq!(ulps(-0.0, 0.0), Some(0), "other bits at the same place of the number line");
    assert_eq!(ulps(f32::from_bits(1), -f32::from_bits(1)), Some(2));
    assert_eq!(ulps(f32::MIN, f32::MAX), Some(2 * u64::from(f32::MAX.to_bits())));
    assert_eq!(ulps(1.0, f32::NAN), None, "a NaN lies nowhere");
}

// Digests

fn root(change: impl FnOnce(&mut World)) -> u64 {
    let mut world = one();
    let other = Thing { body: Some(body(-1, 0.0)), mood: Some(Mood::Calm), ..Thing::default() };
    world.things.insert(20, other);
    change(&mut world);
    world.image().digest().root
}

#[test]
fn the_digest_changes_with_what_is_another_state() {
    let base = root(|_| ());
    assert_eq!(base, root(|_| ()));
    type Change<'a> = &'a dyn Fn(&mut World);
    let changes: [(&str, Change<'_>); 12] = [
        ("two entities swap values", &|world| {
            let a = first(world).body.replace(body(-1, 0.0));
            world.things.entry(20).or_default().body = a;
        }),
        ("a value is duplicated onto another entity", &|world| {
            let mood = first(world).mood.clone();
            world.things.entry(20).or_default().mood = mood;
        }),
        ("an entity without components is added", &|world| {
            world.things.insert(21, Thing::default());
        }),
        ("an entity with default components is added", &|world| {
            world.things.insert(21, Thing { body: Some(body(0, 0.0)), ..Thing::default() });
        }),
        ("a component without bytes is added", &|world| first(world).frozen = Some(Frozen)),
        ("an entity has another id", &|world| {
            let thing = world.things.remove(&20).unwrap_or_default();
            world.things.insert(21, thing);
        }),
        ("-0.0 for 0.0", &|world| world.things.entry(20).or_default().body = Some(body(-1, -0.0))),
        ("the tick changes", &|world| world.tick += 1),
        ("a resource goes absent", &|world| world.score = None),
        ("an empty list becomes an absent resource", &|world| world.news = None),
        ("a resource changes", &|world| world.score = Some(4)),
        ("bytes move from one row to the next", &|world| {
            bag_of(world).items.pop();
            world.things.entry(20).or_default().bag = Some(Bag { items: vec![3], ..bag() });
        }),
    ];
    let mut roots = vec![("nothing", base)];
    for (what, change) in changes {
        let digest = root(change);
        for (other, known) in &roots {
            assert_ne!(digest, *known, "{what} against {other}");
        }
        roots.push((what, digest));
    }
    assert_ne!(root(|world| world.news = Some(Vec::new())), root(|world| world.news = None));
}

#[test]
fn the_digests_of_other_types_stay() {
    let digest = |change: &dyn Fn(&mut World)| {
        let mut world = one();
        change(&mut world);
        world.image().digest()
    };
    let base = digest(&|_| ());
    let mood = digest(&|world| first(world).mood = Some(Mood::Calm));
    let differ: Vec<bool> = base.lanes.iter().zip(&mood.lanes).map(|(a, b)| a != b).collect();
    assert_eq!((differ, base.resources.clone()), (vec![false, false, false, true], mood.resources));
    let score = digest(&|world| world.score = Some(9));
    let differ: Vec<bool> = base.resources.iter().zip(&score.resources).map(|(a, b)| a != b).collect();
    assert_eq!((differ, base.lanes), (vec![false, true], score.lanes));
}

#[test]
fn a_resource_without_bytes_is_another_state_than_none() {
    let image = |present: bool| {
        let mut state = bevy_replay_tape::ResourceState::new("Paused", common::Unit::schema().into());
        state.present = present;
        Image { resources: vec![state], ..Image::default() }
    };
    let (absent, present) = (image(false), image(true));
    assert_ne!(absent.digest().root, present.digest().root);
    assert_ne!(absent.digest().resources, present.digest().resources);
    let found = absent.diff(&present);
    assert_eq!((found.len(), found[0].expected == Side::Absent, found[0].got.to_string().as_str()), (1, true, "()"));
    let mut image = absent.clone();
    assert_eq!(image.apply(&present.delta_from(&absent)), Ok(()));
    assert_eq!(image, present);
}

/// A lane of bodies and one of bags with these ids, values by id.
fn rows(ids: impl IntoIterator<Item = u64>) -> World {
    let thing = |id: u64| {
        let x = i32::try_from(id % 1000).unwrap_or_default();
        let items = vec![7; usize::try_from(id % 3).unwrap_or_default()];
        Thing { body: Some(body(x, 0.5)), bag: Some(Bag { items, ..bag() }), ..Thing::default() }
    };
    World { things: ids.into_iter().map(|id| (id, thing(id))).collect(), ..World::default() }
}

#[test]
fn rows_around_the_borders_of_blocks_count() {
    let block = BLOCK_ROWS as u64;
    let mut seen = BTreeMap::new();
    for count in [0, 1, block - 1, block, block + 1, 2 * block, 3 * block + 1, 4 * block] {
        let world = rows(0..count);
        let Digest { root, lanes, .. } = world.image().digest();
        assert_eq!(seen.insert(root, count), None, "{count} rows");
        assert_eq!(seen.insert(lanes[BODY], count), None, "{count} rows");
        assert_eq!(seen.insert(lanes[BAG], count), None, "{count} rows");
        // A change in any row of any block.
        for id in (0..count).step_by(BLOCK_ROWS / 2).chain(count.checked_sub(1)) {
            let mut changed = world.clone();
            changed.things.insert(id, Thing { body: Some(body(-5, 0.5)), ..changed.things[&id].clone() });
            let digest = changed.image().digest();
            assert_ne!(digest.root, root, "row {id} of {count}");
            assert_eq!(digest.lanes[BAG], lanes[BAG]);
        }
    }
}

#[test]
fn a_row_that_moves_over_the_border_of_a_block_changes_the_digest() {
    let block = BLOCK_ROWS as u64;
    // The same number of rows and the same bytes in the same order; only the ids shift by one place.
    let image = |ids: Vec<u64>| {
        let mut image = rows(0..ids.len() as u64).image();
        let ids = Arc::new(Ids::new(ids).expect("ascending"));
        image.roster = ids.clone();
        for lane in &mut image.lanes[..=BODY] {
            lane.ids = ids.clone();
        }
        image
    };
    for count in [block - 1, block, block + 1, 3 * block + 1] {
        let ids: Vec<u64> = (0..count).map(|id| id * 2).collect();
        let base = image(ids.clone()).digest();
        for row in [0, 1, block - 1, block, 2 * block, count - 1] {
            let Some(at) = usize::try_from(row).ok().filter(|at| *at < ids.len()) else { continue };
            let mut moved = ids.clone();
            moved[at] += 1;
            let digest = image(moved).digest();
            assert_ne!(digest.root, base.root, "row {row} of {count}");
            assert_ne!(digest.lanes[BODY], base.lanes[BODY], "row {row} of {count}");
        }
        // One row leaves the front, one joins the end: all others move a place, some over a border.
        let shifted = rows(1..=count).image().digest();
        assert_ne!(shifted.root, rows(0..count).image().digest().root);
    }
}

#[test]
fn the_digest_does_not_depend_on_capacity_or_on_how_the_image_was_built() -> Result<(), DeltaError> {
    let block = BLOCK_ROWS as u64;
    for count in [1, block - 1, block, block + 1, 3 * block + 5] {
        let image = rows(0..count).image();
        let expected = image.digest();

        // Row by row from nothing, ids in another order.
        let mut built = World::default().image();
        for id in (0..count).rev() {
            built.apply(&rows(id..count).image().delta_from(&built.clone()))?;
        }
        assert_eq!((built.digest(), &built), (expected.clone(), &image));

        // Shrunk from something larger, in memory that is used again.
        let mut shrunk = rows(0..2 * count).image();
        shrunk.apply(&image.delta_from(&shrunk.clone()))?;
        assert_eq!(shrunk.digest(), expected);
        let mut reused = rows(0..2 * count).image();
        let body = &mut reused.lanes[BODY];
        body.rows.slots(image.lanes[BODY].ids.len()).copy_from_slice(image.lanes[BODY].rows.bytes());
        body.ids = image.lanes[BODY].ids.clone();
        let bag = &mut reused.lanes[BAG];
        bag.rows.clear();
        for row in 0..image.lanes[BAG].ids.len() {
            bag.rows.push(|out| out.extend_from_slice(image.lanes[BAG].rows.row(row)));
        }
        (bag.ids, reused.roster) = (image.roster.clone(), image.roster.clone());
        let mut digest = rows(0..7).image().digest();
        reused.digest_into(&mut digest);
        assert_eq!(digest, expected);
    }
    Ok(())
}

// Deltas that do not fit

fn refused(delta: Delta) -> DeltaError {
    one().image().apply(&delta).expect_err("it does not fit")
}

#[test]
fn deltas_that_do_not_fit_are_refused_with_the_reason() {
    let base = Delta { tick: 6, ..Delta::default() };
    let lane = |lane: u32, removed: &[u64], changed: &[u64], bytes: Vec<u8>| Delta {
        lanes: vec![LaneDelta { lane, removed: removed.into(), changed: changed.into(), bytes }],
        ..base.clone()
    };
    assert_eq!(refused(lane(4, &[], &[], vec![])), DeltaError::UnknownType { tick: 6, index: 4, count: 4 });
    let resource = Delta { resources: vec![(2, None)], ..base.clone() };
    assert_eq!(refused(resource), DeltaError::UnknownType { tick: 6, index: 2, count: 2 });

    let unsorted = DeltaError::Unsorted { tick: 6 };
    assert_eq!(refused(Delta { spawned: vec![12], ..base.clone() }), unsorted, "it exists");
    assert_eq!(refused(Delta { spawned: vec![13, 13], ..base.clone() }), unsorted);
    assert_eq!(refused(Delta { despawned: vec![12, 12], ..base.clone() }), unsorted);
    assert_eq!(refused(lane(3, &[12, 12], &[], vec![])), unsorted);
    assert_eq!(refused(lane(2, &[], &[12, 12], vec![])), unsorted);

    let twice =
        Delta { lanes: [lane(2, &[], &[], vec![]).lanes, lane(2, &[], &[], vec![]).lanes].concat(), ..base.clone() };
    assert_eq!(refused(twice), unsorted);
    assert_eq!(refused(Delta { resources: vec![(1, None), (0, None)], ..base.clone() }), unsorted);

    let unknown = |sim_id| DeltaError::UnknownEntity { tick: 6, sim_id };
    assert_eq!(refused(Delta { despawned: vec![13], ..base.clone() }), unknown(13));
    assert_eq!(refused(lane(2, &[12], &[], vec![])), unknown(12), "it has no such component");
    assert_eq!(refused(lane(2, &[], &[13], vec![])), unknown(13));
    assert_eq!(refused(Delta { despawned: vec![12], ..base.clone() }), unknown(12), "it keeps its components");

    let error = refused(lane(1, &[], &[12], vec![0; 11])).to_string();
    assert_eq!(
        error,
        "the change of Body that leads to tick 6 cannot be read: the value ends early (bytes missing: 1)"
    );
    assert!(matches!(refused(lane(1, &[], &[12], vec![0; 13])), DeltaError::BadValue { .. }));
    let resource = Delta { resources: vec![(1, Some(vec![1]))], ..base };
    assert!(matches!(refused(resource), DeltaError::BadValue { type_name, .. } if type_name == "Score"));
}

#[test]
fn ids_that_do_not_ascend_are_none() {
    assert!(Ids::new(vec![2, 1]).is_none());
    assert!(Ids::new(vec![1, 1]).is_none());
    assert_eq!(Ids::new(vec![1, u64::MAX]).and_then(|ids| ids.row(u64::MAX)), Some(1));
}

#[test]
fn rows_of_any_width_are_found_again() {
    let mut rows = Rows::new(None);
    for row in [&b""[..], b"abc", b"", b"d"] {
        rows.push(|out| out.extend_from_slice(row));
    }
    assert_eq!([rows.row(0), rows.row(1), rows.row(2), rows.row(3)], [&b""[..], b"abc", b"", b"d"]);
    assert_eq!((rows.range(1..4), rows.range(0..0)), (0..4, 0..0));
    let mut fixed = Rows::new(Some(2));
    fixed.slots(2).copy_from_slice(b"abcd");
    assert_eq!((fixed.row(1), fixed.bytes()), (&b"cd"[..], &b"abcd"[..]));
}

#[test]
fn values_are_read_from_lanes_by_id() -> Result<(), DecodeError> {
    let image = one().image();
    let body = image.lane("Body").map_or_else(|| Lane::new("", u8::schema().into()), Lane::clone);
    assert_eq!(body.value(12)?.map(|value| value.to_string()).as_deref(), Some("(at: (x: 40, y: 0), speed: 1.5)"));
    assert_eq!(body.value(13)?, None);
    assert_eq!(image.resource("Score").and_then(|score| score.get()), Some(&3_u32.to_le_bytes()[..]));
    assert!(image.lane("Nothing").is_none() && image.resource("Body").is_none());
    Ok(())
}
