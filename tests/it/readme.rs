//! The README shows the program that runs.

#[test]
fn the_readme_holds_the_minimal_example_and_it_is_short() {
    let unix = |text: &str| text.replace("\r\n", "\n");
    let (readme, example) = (unix(include_str!("../../README.md")), unix(include_str!("../../examples/minimal.rs")));
    assert!(readme.contains(&format!("```rust\n{example}```\n")), "copy examples/minimal.rs into the README");
    assert!(example.lines().count() <= 45, "the smallest game stays small");
}
