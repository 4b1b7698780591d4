//! docs/recipes.md shows the code that runs.

use crate::keys::Outcome;

pub const PAGE: &str = include_str!("../../../../docs/recipes.md");

const SOURCES: [&str; 5] = [
    include_str!("../../src/avian.rs"),
    include_str!("../../src/enhanced_input.rs"),
    include_str!("../../src/leafwing.rs"),
    include_str!("../../src/lockstep.rs"),
    include_str!("lockstep.rs"),
];

/// Lines without indentation, so that a part of a function can stand alone.
fn flat(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim())).collect()
}

/// The blocks of a language.
fn blocks(fence: &str) -> Vec<String> {
    let (page, fence) = (flat(PAGE), format!("```{fence}\n"));
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or(rest).to_owned()).collect()
}

#[test]
fn code_of_the_page_is_code_of_the_recipes() -> Outcome {
    let sources = SOURCES.map(flat);
    let shown = blocks("rust,ignore");
    assert!(shown.len() >= 8, "{} blocks", shown.len());
    for block in shown {
        assert!(
            sources.iter().any(|source| source.contains(&block)),
            "no recipe has this code of docs/recipes.md:\n{block}"
        );
    }
    assert_eq!(
        PAGE.matches("```rust").count(),
        PAGE.matches("```rust,ignore\n").count(),
        "other blocks are not checked"
    );
    Ok(())
}

/// The first text in quotes: a version.
fn version(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(" = ")?;
    Some((name, value.split('"').nth(1)?))
}

#[test]
fn versions_on_the_page_are_those_that_are_built() -> Outcome {
    let manifest = include_str!("../../Cargo.toml");
    let built: Vec<_> = manifest.lines().filter_map(version).collect();
    let shown = blocks("toml").concat();
    let shown: Vec<_> = shown.lines().filter_map(version).filter(|(name, _)| *name != "bevy_replay").collect();
    assert_eq!(shown.len(), 3, "{shown:?}");
    for dependency in shown {
        assert!(built.contains(&dependency), "{dependency:?} is not in {built:?}");
    }
    Ok(())
}
