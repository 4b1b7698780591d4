//! Event plans: built from a seed, signed, checked, and never changed again.
#![cfg(feature = "plan")]

use bevy_replay_macros::Canonical;
use bevy_replay_tape::{
    EventClass, Header, Package, PackageError, Plan, PlanBuilder, PlanContract, PlanCounts, PlanError, PlanOnTape,
    Tape, TapeError, encode_to_vec,
};
use proptest::prelude::*;
use rand::RngExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

type Outcome = Result<(), Box<dyn core::error::Error>>;

#[derive(Canonical, Debug, Clone, PartialEq)]
#[canonical(crate = bevy_replay_tape)]
enum Throw {
    Apple { column: u8 },
    Bomb { column: u8 },
}

fn builder(seed: u64) -> PlanBuilder<Throw> {
    let mut plan = PlanBuilder::new("mission 04", seed, 600).content_version(3).builder_version(2);
    let apples: Vec<u32> = (0..6)
        .map(|_| {
            let column = plan.rng().random_range(0..8);
            plan.require(Throw::Apple { column })
        })
        .collect();
    let extra = plan.add(Throw::Apple { column: 7 });
    let layer = plan.layer("near", 100..500);
    plan.spread_in(layer, &apples, 20);
    plan.at(extra, 550);
    if let Some(tick) = plan.free_tick(0..600, 5) {
        let bomb = plan.risk(Throw::Bomb { column: 1 });
        plan.at(bomb, tick);
    }
    plan
}

fn plan(seed: u64) -> Result<Plan, PlanError> {
    builder(seed).build()
}

/// Frozen: the generator, what is drawn, and what the signature is over.
#[test]
fn a_seed_makes_this_plan_for_ever() -> Outcome {
    let plan = plan(0xC0FFEE)?;
    let cited: Vec<String> = plan.events().iter().map(|event| plan.shown(event)).collect();
    assert_eq!(
        cited,
        [
            "mission 04 / event 007 / bomb / tick 22 Bomb(column: 1)",
            "mission 04 / event 002 / apple / tick 125 Apple(column: 2)",
            "mission 04 / event 005 / apple / tick 188 Apple(column: 5)",
            "mission 04 / event 004 / apple / tick 277 Apple(column: 1)",
            "mission 04 / event 001 / apple / tick 320 Apple(column: 6)",
            "mission 04 / event 003 / apple / tick 381 Apple(column: 1)",
            "mission 04 / event 000 / apple / tick 469 Apple(column: 0)",
            "mission 04 / event 006 / apple / tick 550 Apple(column: 7)",
        ]
    );
    // Recomputed in another language from the words of `docs/plans.md`.
    assert_eq!(plan.signature(), "e8f859ab2df142c06bf5ae3898da721157589c1567996187185ee1ce513a9188");
    // A plan of layout 1 is read for ever.
    assert_eq!(Plan::from_text(include_str!("data/mission.plan.ron"))?, plan);
    Ok(())
}

#[test]
fn ids_are_those_of_making_whatever_the_order_of_ticks() -> Outcome {
    let plan = plan(7)?;
    let order: Vec<u32> = plan.events().iter().map(|event| event.id).collect();
    assert_ne!(order, (0..8).collect::<Vec<_>>());
    assert!(plan.events().is_sorted_by_key(|event| (event.tick, event.id)));
    for id in 0..6 {
        assert_eq!(plan.event(id).ok_or("missing")?.class, EventClass::Required);
    }
    assert_eq!(plan.event(6).ok_or("missing")?.class, EventClass::Extra);
    assert_eq!(plan.event(7).ok_or("missing")?.kind, "Bomb");
    assert_eq!(plan.event(8), None);
    Ok(())
}

#[test]
fn events_of_one_tick_come_in_the_order_of_their_ids() -> Outcome {
    let mut plan = PlanBuilder::new("tie", 1, 10);
    let (a, b) = (plan.add(Throw::Apple { column: 1 }), plan.add(Throw::Apple { column: 0 }));
    plan.at(b, 4);
    plan.at(a, 4);
    let ids: Vec<u32> = plan.build()?.events().iter().map(|event| event.id).collect();
    assert_eq!(ids, [a, b]);
    Ok(())
}

#[test]
fn each_version_and_the_content_are_in_the_signature_and_the_name_is_not() -> Outcome {
    let signature = |builder: PlanBuilder<Throw>| builder.build().map(|plan| plan.signature().to_owned());
    let base = signature(builder(7))?;
    assert_eq!(base, signature(builder(7))?);
    assert_ne!(base, signature(builder(8))?);
    assert_ne!(base, signature(builder(7).builder_version(3))?);
    assert_ne!(base, signature(builder(7).content_version(4))?);
    let mut newer = builder(7);
    newer.event_version(2);
    let event = newer.add(Throw::Apple { column: 0 });
    newer.at(event, 1);
    assert_eq!(newer.build()?.event(event).ok_or("missing")?.version, 2);
    let text = plan(7)?.to_text().replace("mission 04", "another name");
    assert_eq!(Plan::from_text(&text)?.signature(), base);
    for version in ["layout", "generator"] {
        let text = plan(7)?.to_text().replace(&format!("{version}: 1"), &format!("{version}: 0"));
        assert!(matches!(Plan::from_text(&text), Err(PlanError::SignatureMismatch { .. })), "{version}");
    }
    Ok(())
}

#[test]
fn text_is_the_same_plan_with_one_line_per_event() -> Outcome {
    let plan = plan(7)?;
    let text = plan.to_text();
    assert_eq!(Plan::from_text(&text)?, plan);
    assert_eq!(Plan::from_text(&text.replace('\n', "\r\n"))?, plan);
    let lines = text.lines().filter(|line| line.contains("Apple(") || line.contains("Bomb("));
    assert_eq!(lines.count(), plan.events().len());
    Ok(())
}

#[test]
fn every_changed_digit_of_a_plan_is_refused_or_is_its_name_or_seed() -> Outcome {
    let plan = plan(7)?;
    let text = plan.to_text();
    let mut refused = 0;
    for (at, digit) in text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()) {
        let mut changed = text.clone();
        changed.replace_range(at..=at, if digit == '9' { "8" } else { "9" });
        match Plan::from_text(&changed) {
            Ok(other) => {
                assert!(other.name() != plan.name() || other.seed() != plan.seed(), "{changed}");
                assert_eq!(other.events(), plan.events());
            }
            Err(PlanError::SignatureMismatch { stored, computed, .. }) => {
                assert_ne!(stored, computed);
                refused += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100, "{refused}");
    let text = text.replacen("content: 3", "content: 4", 1);
    let error = Plan::from_text(&text).map(drop).map_err(|error| error.to_string());
    let computed = builder(7).content_version(4).build()?;
    assert_eq!(
        error,
        Err(format!(
            "mission 04 was changed after it was built: signature {} stored, {} computed (take the plan as it was built)",
            plan.signature(),
            computed.signature()
        ))
    );
    Ok(())
}

#[test]
fn chapters_have_seeds_and_signatures_of_their_own() -> Outcome {
    let build = |first: usize| {
        let mut plan = PlanBuilder::new("campaign", 5, 1000);
        for (chapter, count, ticks) in [("woods", first, 0..400), ("caves", 4, 400..900)] {
            plan.chapter(chapter);
            let events: Vec<u32> = (0..count)
                .map(|_| {
                    let column = plan.rng().random_range(0..8);
                    plan.require(Throw::Apple { column })
                })
                .collect();
            plan.spread(&events, ticks, 5);
        }
        plan.build()
    };
    let (one, other) = (build(3)?, build(5)?);
    let [woods, caves] = one.chapters() else { return Err("two chapters".into()) };
    assert_eq!((woods.ids.clone(), caves.ids.clone()), (0..3, 3..7));
    assert_ne!(woods.seed, caves.seed);
    assert_ne!(one.signature(), other.signature());
    assert_ne!(woods.signature, other.chapters()[0].signature);
    assert_eq!(caves.signature, other.chapters()[1].signature);
    let last = one.events().last().ok_or("no events")?;
    assert!(one.cite(last).starts_with("campaign / caves / event 00"), "{}", one.cite(last));
    assert_eq!(Plan::from_text(&one.to_text())?, one);
    // What was changed is named.
    let event = format!("({}, {}, Required", last.tick, last.id);
    let changed = one.to_text().replace(&event, &format!("({}, {}, Extra", last.tick, last.id));
    let error = Plan::from_text(&changed).map(drop).map_err(|error| error.to_string());
    assert!(error.as_ref().is_err_and(|error| error.contains("computed, changed in caves (")), "{error:?}");
    Ok(())
}

/// The text of a plan whose events were altered, signed anew: only the contract can find what is wrong.
fn altered(alter: impl FnOnce(String) -> String) -> Result<String, PlanError> {
    let text = alter(plan(7)?.to_text());
    match Plan::from_text(&text) {
        Err(error) => Ok(error.to_string()),
        Ok(_) => Ok("taken".into()),
    }
}

#[test]
fn contract_failures_read_well() -> Outcome {
    let plan = plan(7)?;
    let (first, last) = (&plan.events()[0], plan.event(6).ok_or("missing")?);
    let row = |event: &bevy_replay_tape::PlanEvent| format!("({}, {}, ", event.tick, event.id);
    let inside = |event| plan.cite(event).trim_start_matches("mission 04 / ").to_owned();
    let cited = inside(first);
    assert_eq!(
        altered(|text| text.replace(&row(last), &format!("({}, {}, ", last.tick, first.id)))?,
        format!(
            "mission 04: id {} is given twice, to {cited} and to event {:03} / apple / tick 550 (ids are given \
             once, when an event is made)",
            first.id, first.id
        )
    );
    assert_eq!(
        altered(|text| text.replace(&row(last), "(600, 6, "))?,
        "mission 04: event 006 / apple / tick 600 is beyond the end: the plan has 600 ticks (move it, or make \
         the plan longer)"
    );
    let layered = plan.event(0).ok_or("missing")?;
    assert_eq!(
        altered(|text| text.replace(&row(layered), "(501, 0, "))?,
        "mission 04: event 000 / apple / tick 501 is outside of layer near, ticks 100 to 499"
    );
    assert_eq!(
        altered(|text| text.replace("Some(0)", "Some(3)"))?.split(';').next(),
        Some(&*format!("mission 04: {} is in layer 3, and there are 1 (they are counted from 0)", {
            let first = plan.events().iter().find(|event| event.layer.is_some()).ok_or("missing")?;
            inside(first)
        }))
    );
    assert_eq!(
        altered(|text| text.replace("layout: 1", "layout: 2"))?,
        "mission 04 has layout 2, this version of bevy_replay reads up to 1 (update bevy_replay)"
    );
    assert!(
        altered(|text| text.replace("Bomb(column: 1)", "Bomb(column: 1000)"))?
            .starts_with("mission 04 / event 007: `Bomb(column: 1000)` is no Throw")
            || altered(|text| text.replace("Bomb(column: 1)", "Bomb(column: 1000)"))?
                .starts_with("mission 04 / event 007: ")
    );
    Ok(())
}

#[test]
fn what_was_not_placed_or_does_not_fit_is_said() -> Outcome {
    let mut plan = PlanBuilder::new("mission 04", 7, 100);
    let apples: Vec<u32> = (0..4).map(|column| plan.require(Throw::Apple { column })).collect();
    plan.spread(&apples, 0..40, 20);
    let bomb = plan.risk(Throw::Bomb { column: 0 });
    let error = plan.build().map(drop).map_err(|error| error.to_string());
    let error = error.err().ok_or("it was built")?;
    assert!(
        error.starts_with(
            "mission 04: 4 events do not fit into ticks 0 to 39 (make the window longer, or the gap shorter)"
        ),
        "{error}"
    );
    assert!(
        error.ends_with(&format!(
            "event {bomb:03} / Bomb has no tick (put it somewhere with `at`, `spread` or `spread_in`)"
        )),
        "{error}"
    );
    let mut plan = PlanBuilder::<Throw>::new("mission 04", 7, 10);
    let late = plan.require(Throw::Apple { column: 0 });
    plan.at(late, 10);
    assert!(matches!(plan.build(), Err(PlanError::Contract { .. })));
    Ok(())
}

#[test]
#[should_panic(expected = "event 3 was not made by this builder, which has 0")]
fn an_event_of_another_builder_is_refused() {
    PlanBuilder::<Throw>::new("mission 04", 7, 10).at(3, 1);
}

#[test]
fn the_contract_of_a_game_counts_and_names_what_is_missing() -> Outcome {
    let plan = plan(7)?;
    let is_apple = |throw: &Throw| matches!(throw, Throw::Apple { .. });
    let right = || PlanContract::new().events(8).required(6).risk(1).layers(1).needs("apples", 6, is_apple);
    right().check(&plan)?;
    assert_eq!(
        right().events(9).risk(2).needs("seventh apples", 7, is_apple).check(&plan).map_err(|error| error.to_string()),
        Err("mission 04: 8 events, the contract has 9; 1 risk events, the contract has 2; 6 of 7 required seventh apples \
             (add what is missing with `require`)"
            .into())
    );
    // The bomb is there, and is not required.
    assert!(PlanContract::new().needs("bombs", 1, |throw| matches!(throw, Throw::Bomb { .. })).check(&plan).is_err());
    assert!(matches!(
        PlanContract::<u8>::new().needs("", 1, |_| true).check(&plan),
        Err(PlanError::OtherEvents { .. })
    ));
    Ok(())
}

#[test]
fn two_names_for_one_content_are_a_duplicate() -> Outcome {
    let renamed = Plan::from_text(&plan(7)?.to_text().replace("mission 04", "mission 09"))?;
    let plans = [plan(7)?, plan(8)?, renamed];
    assert_eq!(PlanCounts::of(&plans).duplicates, 1);
    assert_eq!(
        Plan::check_distinct(&plans).map_err(|error| error.to_string()),
        Err(format!(
            "mission 04 and mission 09 are the same content, signature {} (build one from another seed)",
            plans[0].signature()
        ))
    );
    assert_eq!(PlanCounts::of(&plans[..2]).duplicates, 0);
    Ok(Plan::check_distinct(&plans[..2])?)
}

#[test]
fn a_builder_that_draws_from_elsewhere_is_found() -> Outcome {
    let global = AtomicU32::new(0);
    let stolen = || {
        let mut plan = PlanBuilder::new("mission 04", 7, 100);
        let apple = plan.require(Throw::Apple { column: 0 });
        plan.at(apple, global.fetch_add(1, Ordering::Relaxed).into());
        plan.build()
    };
    assert_eq!(
        Plan::reproducible(stolen).map(drop).map_err(|error| error.to_string()),
        Err("mission 04 was built twice from one seed and differs: first mission 04 / event 000 / apple / tick 0 \
             Apple(column: 0), then mission 04 / event 000 / apple / tick 1 Apple(column: 0) (draw from `PlanBuilder::rng` \
             alone, and loop over nothing that has no order)"
            .into())
    );
    assert_eq!(Plan::reproducible(|| plan(7))?, plan(7)?);
    Ok(())
}

#[test]
fn plans_are_the_same_on_each_thread_and_in_each_order() -> Outcome {
    let forward: Vec<Plan> = (0..20).map(plan).collect::<Result<_, _>>()?;
    let threads: Vec<_> = (0..20).rev().map(|seed| std::thread::spawn(move || plan(seed))).collect();
    for (thread, expected) in threads.into_iter().rev().zip(forward) {
        assert_eq!(thread.join().map_err(|_| "it panicked")??, expected);
    }
    Ok(())
}

fn tape(stored: bool) -> Result<Tape, PlanError> {
    let plan = Arc::new(plan(7)?);
    let mut header = Header::new("orders");
    header.plans.push(PlanOnTape {
        events: "Throw".into(),
        name: plan.name().into(),
        signature: plan.signature().into(),
        plan: stored.then_some(plan),
    });
    let mut tape = Tape::new(header);
    tape.end.tick_count = 321;
    Ok(tape)
}

#[test]
fn tapes_hold_plans_in_each_form() -> Outcome {
    for stored in [true, false] {
        let tape = tape(stored)?;
        assert_eq!(Tape::from_bytes(&tape.to_bytes())?, tape);
        assert_eq!(Tape::from_text(&tape.to_text())?, tape);
        assert_eq!(Tape::from_text(&tape.to_json().to_string())?, tape);
    }
    assert_eq!(tape(true)?.header.plans[0].plan.as_deref(), Some(&plan(7)?));
    let text = tape(true)?.to_text();
    assert!(!Tape::new(Header::new("orders")).to_text().contains("plans"));
    let changed = text.replacen("content: 3", "content: 4", 1);
    assert_ne!(changed, text);
    let error = Tape::from_text(&changed).map(drop).map_err(|error| error.to_string());
    assert!(
        error.as_ref().is_err_and(|error| error.contains("mission 04 was changed after it was built: signature ")),
        "{error:?}"
    );
    let mut other = tape(true)?;
    other.header.plans[0].signature = "0".repeat(64);
    assert!(matches!(Tape::from_bytes(&other.to_bytes()), Err(TapeError::Inconsistent { .. })));
    Ok(())
}

#[test]
fn a_package_round_trips_and_is_a_tape_to_others() -> Outcome {
    let package = Package::new(tape(true)?)?;
    let text = package.to_text();
    assert_eq!(Package::from_text(&text)?, package);
    assert_eq!(Package::from_text(&text.replace('\n', "\r\n"))?, package);
    assert_eq!(Package::from_text(&format!("```ron\n{text}```\n"))?, package);
    assert_eq!(&Tape::from_text(&text)?, package.tape());
    assert_eq!(package.plans()[0].name, "mission 04");
    let error = Package::from_text(&package.tape().to_text()).map(drop).map_err(|error| error.to_string());
    assert_eq!(error, Err("this is no package: it starts with `(` (a package starts with `// bevy_replay package, signature ` and 64 digits)".into()));
    assert!(matches!(Package::new(Tape::new(Header::new("orders"))), Err(PackageError::NoPlan { .. })));
    Ok(())
}

#[test]
fn every_changed_digit_of_a_package_is_refused_naming_both_signatures() -> Outcome {
    let text = Package::new(tape(true)?)?.to_text();
    let signed = text.lines().next().and_then(|line| line.split(' ').next_back()).ok_or("no signature")?;
    for (at, digit) in text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()) {
        let mut changed = text.clone();
        changed.replace_range(at..=at, if digit == '9' { "8" } else { "9" });
        match Package::from_text(&changed) {
            Err(PackageError::SignatureMismatch { stored, computed }) => {
                assert_ne!(stored, computed);
                assert!(stored == signed || computed == signed);
            }
            other => return Err(format!("digit {at}: {other:?}").into()),
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_plan_is_its_text_and_each_spread_keeps_its_gap(
        seed: u64,
        count in 1_u64..40,
        gap in 0_u64..30,
        start in 0_u64..1000,
        spare in 0_u64..500,
    ) {
        let window = start..start + count * (gap + 1) + spare;
        let mut plan = PlanBuilder::new("any", seed, window.end);
        let events: Vec<u32> = (0..count).map(|_| plan.require(Throw::Apple { column: 0 })).collect();
        plan.spread(&events, window.clone(), gap);
        let clear = plan.free_tick(0..window.end, 3);
        let plan = plan.build()?;
        prop_assert!(plan.events().iter().all(|event| window.contains(&event.tick)));
        prop_assert!(plan.events().windows(2).all(|pair| pair[1].tick - pair[0].tick >= gap));
        prop_assert!(clear.is_none_or(|tick| plan.events().iter().all(|event| event.tick.abs_diff(tick) >= 3)));
        prop_assert_eq!(Plan::from_text(&plan.to_text())?, plan);
    }

    #[test]
    fn text_that_is_no_plan_never_panics(at in 0_usize..5000, letter: char) {
        let mut text = plan(7)?.to_text();
        if text.is_char_boundary(at) && at < text.len() {
            text.insert(at, letter);
            let _ = Plan::from_text(&text);
            let _ = Package::from_text(&text);
        }
    }
}

#[test]
fn payloads_are_the_canonical_bytes_of_events() -> Outcome {
    let plan = plan(7)?;
    let bomb = plan.event(7).ok_or("missing")?;
    assert_eq!(bomb.payload, encode_to_vec(&Throw::Bomb { column: 1 }));
    assert_eq!(plan.decode::<Throw>(bomb)?, Throw::Bomb { column: 1 });
    assert_eq!(
        plan.decode::<u8>(bomb).map(drop).map_err(|error| error.to_string()),
        Err("mission 04 has events `Throw = Apple { column: u8 } | Bomb { column: u8 }`, this game's are `u8` (play it with the game that built it)".into())
    );
    Ok(())
}
