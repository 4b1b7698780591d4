#!/usr/bin/env bash
# Audits two of Bevy's own examples, as docs/field-notes.md tells. Nothing of Bevy's is kept here: the examples are in the
# published crate, and are prepared in a scratch folder (the first argument, or a new one in /tmp).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=${1:-$(mktemp -d)}

echo "== fetch Bevy's examples"
mkdir -p "$scratch/fetch/src" "$scratch/src/games"
touch "$scratch/fetch/src/lib.rs"
cat >"$scratch/fetch/Cargo.toml" <<'TOML'
[workspace]
[package]
name = "fetch"
version = "0.0.0"
edition = "2024"
[dependencies]
bevy = { version = "=0.20.1", default-features = false }
TOML
# The umbrella asks for a newer Rust than its parts: it is only fetched, never built.
(cd "$scratch/fetch" && cargo fetch --quiet)
examples=$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/bevy-0.20.1/examples | head -n 1)

echo "== prepare them in $scratch"
sed "s|REPOSITORY|$(dirname "$here")|" "$here/field-notes/Cargo.toml" >"$scratch/Cargo.toml"
cp "$here"/field-notes/{main,stand_ins}.rs "$scratch/src/"
# `main` becomes a function that adds to an app; types say how they are written; the adapter sees what is private.
# Lines keep their numbers, so that a report names those of Bevy's file.
prepare() {
    local from=$1 to=$2 adapter=$3
    shift 3
    sed -E \
        -e 's|^//!|//|' \
        -e 's/^fn main\(\) \{/pub fn game(app: \&mut App) {/' \
        -e 's/^    App::new\(\)/    app/' \
        -e 's/\.add_plugins\(DefaultPlugins\)//' \
        -e 's/^        \.run\(\);/    ;/' \
        -e 's/^#\[derive\((Component|Resource, Deref, DerefMut)/#[derive(bevy_replay::Canonical, \1/' \
        "$@" "$examples/$from" >"$scratch/src/games/$to.rs"
    cp "$here/field-notes/$adapter.rs" "$scratch/src/$adapter.rs"
    printf 'use crate::stand_ins::*;\n#[path = "../%s.rs"]\npub mod adapter;\n' "$adapter" >>"$scratch/src/games/$to.rs"
}
# Breakout's stepping tool is for its window.
no_stepping=(-e 's/^mod stepping;//' -e '/^        \.add_plugins\($/,/^        \)$/s/.*//')
prepare showcase/breakout.rs breakout_published breakout "${no_stepping[@]}"
prepare showcase/breakout.rs breakout_in_ticks breakout "${no_stepping[@]}" \
    -e '/^        \.add_systems\($/,/^        \)$/s/Update,/FixedUpdate,/'
prepare ecs/iter_combinations.rs iter_combinations_published iter_combinations
prepare ecs/iter_combinations.rs iter_combinations_cured iter_combinations \
    -e 's/\(interact_bodies, integrate\)/(interact_bodies, integrate).chain()/' \
    -e '/^fn interact_bodies/s/&GlobalTransform/\&Transform/' \
    -e 's/transform([12])\.translation\(\)/transform\1.translation/g'

cd "$scratch"
cargo build --quiet --ignore-rust-version
field_notes=${CARGO_TARGET_DIR:-target}/debug/field_notes
for game in breakout_published breakout_in_ticks iter_combinations_published iter_combinations_cured; do
    printf '\n== %s\n' "$game"
    rm -f "$game.tape"
    "$field_notes" "$game" record "$game.tape"
    "$field_notes" "$game" verify "$game.tape" 2>&1 || true # 1: the answer is no
    "$field_notes" "$game" audit "$game.tape" 2>/dev/null || true
done
