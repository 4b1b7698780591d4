//! Twelve missions whose events are planned before play, and what holds of them.
//!
//! Run it: `cargo run --release --features plan --example orders`
//!
//! | argument | does |
//! |---|---|
//! | `signatures` | prints the signatures of the plans alone |
//! | `cooldown 60` | plays with another cool-down: the consumer says what it has failed at |
//! | `export 4 FILE` | writes the package of a mission: plan, inputs and versions |
//! | `replay FILE` | plays a package, by the plan in it |
//!
//! What to look at: the plans are the same in each build and each process. Nothing is drawn while the game runs; a
//! consumer that acts through the recorded input alone completes them all, and its tapes replay without it. What was
//! changed is refused. `missions.rs` builds the plans, `game.rs` is the game, `consumer.rs` the consumer.

mod consumer;
mod game;
mod missions;

use bevy_replay::prelude::*;
use bevy_replay::tape::{PlanCounts, Tape};
use bevy_replay::{Package, Plan, PlanBuilder, PlanContract, Run};
use consumer::{game, judge, play};
use game::{Order, Rules, Throw};
use std::process::{Command, ExitCode};
use std::sync::Arc;

type Outcome<T = ()> = Result<T, Box<dyn core::error::Error>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    match arguments[..] {
        [] => show_all(),
        ["signatures"] => {
            plans()?.iter().for_each(|plan| println!("{}", plan.signature()));
            Ok(ExitCode::SUCCESS)
        }
        ["cooldown", ticks] => show_consumer(Rules { cooldown: ticks.parse()? }),
        ["export", mission, file] => export(mission.parse()?, file),
        ["replay", file] => replay(file),
        _ => {
            println!("arguments: none, signatures, cooldown TICKS, export MISSION FILE, replay FILE");
            Ok(ExitCode::from(2))
        }
    }
}

fn plans() -> Outcome<Vec<Arc<Plan>>> {
    Ok(missions::all()?.into_iter().map(Arc::new).collect())
}

fn show_all() -> Outcome<ExitCode> {
    let plans = plans()?;
    println!("plan         events  ordinary  risk  layers  required  ticks  signature");
    for plan in &plans {
        let PlanCounts { events, ordinary, risk, layers, required, .. } = PlanCounts::of([&**plan]);
        let (name, ticks, signature) = (plan.name(), plan.ticks(), &plan.signature()[..16]);
        println!("{name}  {events:>8}  {ordinary:>8}  {risk:>4}  {layers:>6}  {required:>8}  {ticks:>5}  {signature}…");
    }
    let PlanCounts { plans: count, events, ordinary, risk, layers, required, duplicates, .. } =
        PlanCounts::of(plans.iter().map(|plan| &**plan));
    println!(
        "{count} plans · {events} events · {ordinary} ordinary · {risk} risk · {layers} layers · {required} required · \
         {duplicates} duplicates"
    );
    let mine: Vec<String> = plans.iter().map(|plan| plan.signature().to_owned()).collect();
    let theirs = Command::new(std::env::current_exe()?).arg("signatures").output()?;
    let same = String::from_utf8(theirs.stdout)?.lines().eq(mine.iter().map(|signature| &**signature));
    println!("another process: {}", if same { "the same signatures" } else { "OTHER SIGNATURES" });

    let mut tapes = Vec::new();
    let (mut completed, mut bombs) = (0, 0);
    for plan in &plans {
        let run = play(plan, Rules::default())?;
        match judge(plan, &run)? {
            Ok(_) => completed += 1,
            Err(failed) => println!("{failed}"),
        }
        bombs += run.resource::<Order>()?.bombs;
        tapes.push(run.tape().clone());
    }
    println!("reference consumer: {completed} of {} completed, {bombs} risk events hit", plans.len());

    let (mut replayed, mut ticks) = (0, 0);
    for (plan, tape) in plans.iter().zip(&tapes) {
        let run = Headless::new(game(plan, Rules::default())?).verify(tape)?.verified()?;
        replayed += u32::from(judge(plan, &run)?.is_ok());
        ticks += tape.tick_count();
    }
    println!("replayed without the consumer: {replayed} of {} completed, {ticks} ticks, 0 diverged", plans.len());

    println!("\nwhat does not hold is said:");
    show_refusals(&tapes[3])?;
    let is_right = same && completed == plans.len() && replayed as usize == plans.len() && bombs == 0;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a mission is not played with.
fn show_refusals(tape: &Arc<Tape>) -> Outcome {
    let plan = Arc::new(missions::build(4, missions::BUILDER)?);
    let doubled = Rules { cooldown: 2 * Rules::default().cooldown };
    if let Err(failed) = judge(&plan, &play(&plan, doubled)?)? {
        println!("- the cool-down is doubled: {failed}");
    }

    let mut extra = PlanBuilder::new("mission 04", 7, 100);
    let late = extra.require(Throw::Apple { column: 0 });
    extra.at(late, 130);
    say("an event beyond the end", extra.build());
    let mut few = PlanBuilder::new("mission 04", 7, 100);
    let apple = few.require(Throw::Apple { column: 0 });
    few.at(apple, 10);
    let contract = PlanContract::new().needs("apples", 2, |throw| matches!(throw, Throw::Apple { .. }));
    say("a required event is missing", few.build().and_then(|few| contract.check(&few)));
    say("an id is given twice", Plan::from_text(&plan.to_text().replacen(", 7, Required", ", 8, Required", 1)));
    let renamed = Plan::from_text(&plan.to_text().replacen("mission 04", "mission 13", 1))?;
    say("two missions are one content", Plan::check_distinct([&*plan, &renamed]));

    let text = Package::new((**tape).clone())?.to_text();
    let changed = text.replacen("tick_count: 1", "tick_count: 2", 1);
    say("one digit of a package is changed", Package::from_text(&changed));
    let changed = plan.to_text().replacen("builder: 1", "builder: 2", 1);
    say("one digit of a plan is changed", Plan::from_text(&changed));

    // The same seed, and another version of the code that builds.
    let rebuilt = Arc::new(missions::build(4, missions::BUILDER + 1)?);
    let run = Headless::new(game(&rebuilt, Rules::default())?).verify(tape)?;
    println!("- builder 2 plays a tape of builder 1: {}", one_line(&run));
    let mut named = (**tape).clone();
    named.header.plans.iter_mut().for_each(|plan| plan.plan = None);
    say("the same tape without its plan", Headless::new(game(&rebuilt, Rules::default())?).verify(named));
    Ok(())
}

fn one_line(run: &Run) -> String {
    run.report().to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn say<T>(what: &str, refused: Result<T, impl core::fmt::Display>) {
    match refused {
        Ok(_) => println!("- {what}: TAKEN"),
        Err(refused) => println!("- {what}: {refused}"),
    }
}

fn show_consumer(rules: Rules) -> Outcome<ExitCode> {
    let (mut completed, plans) = (0, plans()?);
    for plan in &plans {
        match judge(plan, &play(plan, rules)?)? {
            Ok(_) => completed += 1,
            Err(failed) => println!("{failed}"),
        }
    }
    println!("reference consumer, cool-down {}: {completed} of {} completed", rules.cooldown, plans.len());
    Ok(if completed == plans.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn export(mission: u32, file: &str) -> Outcome<ExitCode> {
    let plan = Arc::new(missions::build(mission, missions::BUILDER)?);
    let run = play(&plan, Rules::default())?;
    let package = Package::new((**run.tape()).clone())?;
    std::fs::write(file, package.to_text())?;
    println!("wrote {file}: {}, {} ticks", plan.name(), run.tape().tick_count());
    Ok(ExitCode::SUCCESS)
}

fn replay(file: &str) -> Outcome<ExitCode> {
    let package = match Package::from_text(&std::fs::read_to_string(file)?) {
        Ok(package) => package,
        Err(refused) => {
            println!("refused: {refused}");
            return Ok(ExitCode::from(2));
        }
    };
    // Whichever mission the game begins with, the package brings its own.
    let first = Arc::new(missions::build(1, missions::BUILDER)?);
    let run = Headless::new(game(&first, Rules::default())?).verify(package.tape())?;
    println!("{}", run.report());
    Ok(if run.report().is_verified() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
