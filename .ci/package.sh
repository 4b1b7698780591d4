#!/usr/bin/env bash
# Packages the crates as they would be published, and follows the README with them in a new project: from `cargo new`
# to a green replay test.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $(uname) != Linux ]]; then echo "packages: only tried on Linux"; exit 0; fi

version=$(awk '/^\[workspace.package\]/ { inside = 1 } inside && /^version/ { print $3; exit }' Cargo.toml | tr -d '"')
# A tree with changes that are not committed is refused, unless ALLOW_DIRTY is set.
cargo package --workspace --no-verify --quiet ${ALLOW_DIRTY:+--allow-dirty}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=${CARGO_TARGET_DIR:-$PWD/target}
for crate in bevy_replay_macros bevy_replay_tape bevy_replay; do
    tar -xzf "$target/package/$crate-$version.crate" -C "$work"
    mv "$work/$crate-$version" "$work/$crate"
    test -s "$work/$crate/LICENSE-MIT" -a -s "$work/$crate/LICENSE-APACHE" -a -s "$work/$crate/README.md"
done
readme=$PWD/README.md
lock=$PWD/Cargo.lock
# The n-th block of Rust in the README.
block() { awk -v n="$1" '/^```rust/ { inside = ++count == n; next } /^```/ { inside = 0 } inside' "$readme"; }

cd "$work"
export CARGO_TARGET_DIR=$target
cargo new --quiet my_game
cd my_game
# What `cargo add` and the registry will do once the crates are there.
sed -i 's/^\[dependencies\]/&\nbevy_replay = "'"$version"'"/' Cargo.toml
cat >> Cargo.toml <<TOML
[patch.crates-io]
bevy_replay = { path = "$work/bevy_replay" }
bevy_replay_macros = { path = "$work/bevy_replay_macros" }
bevy_replay_tape = { path = "$work/bevy_replay_tape" }
TOML
cp "$lock" Cargo.lock
cargo add --quiet bevy_app@0.20 bevy_ecs@0.20
block 1 | sed 's|^    Ok(())$|    recorded.tape().save("first.tape")?;\n&|' > src/main.rs
cargo run --quiet | grep -x 'verified: replayed 64 ticks, 0 diverged'
block 2 | sed '/^\/\/ Beside/,$d' >> src/main.rs
cargo test 2>&1 | tee test.txt
grep -q '1 passed; 0 failed' test.txt
# A change of the rules makes it red, and says where.
sed -i 's/hero.y = if steer.jump { 5 }/hero.y = if steer.jump { 6 }/' src/main.rs
if cargo test > red.txt 2>&1; then cat red.txt; echo "the test saw no change of the rules"; exit 1; fi
grep "^diverged at tick 10 .*Hero" red.txt || { cat red.txt; exit 1; }
echo "a new project with the packaged crates: recorded, replayed, green, and red once its rules change"
