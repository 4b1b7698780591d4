#!/usr/bin/env bash
# The inspector over a game with planted faults, in a real window: a tape of the clean game is played with each fault on,
# and the inspector stops at the tick, entity, type and field where it was planted. Pictures are left in
# target/divergence_lab. Linux only: it brings a virtual screen and a software renderer, and installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $(uname) != Linux ]]; then echo "divergence_lab in a window: only checked on Linux"; exit 0; fi

if ! type Xvfb xdotool import >/dev/null 2>&1 || ! ls /usr/share/vulkan/icd.d/lvp_icd* >/dev/null 2>&1; then
    root=(); [[ $(id -u) = 0 ]] || root=(sudo)
    "${root[@]}" apt-get update -q
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends xvfb xdotool imagemagick \
        mesa-vulkan-drivers libvulkan1 libxkbcommon-x11-0 libx11-xcb1 libxcursor1 libxi6 libxrandr2
fi

# A package with its own lockfile, like block_dash; both are built from the same artefacts.
target=${CARGO_TARGET_DIR:-$PWD/target/block_dash_build}
out=$PWD/target/divergence_lab
(
    cd examples/divergence_lab
    export CARGO_TARGET_DIR=$target
    cargo fmt --check
    cargo test --ignore-rust-version
    cargo build --ignore-rust-version
)
lab=$target/debug/divergence_lab
rm -rf "$out"; mkdir -p "$out"
log=$out/log.txt; : >"$log"

"$lab" --make-tape "$out/clean.tape"
"$lab" --headless --play "$out/clean.tape" | tee "$out/headless.txt"

Xvfb -displayfd 3 -screen 0 1280x720x24 -nolisten tcp 3>"$out/display" 2>"$out/xvfb.txt" &
screen=$!
trap 'kill $screen 2>/dev/null || true' EXIT
for _ in {1..100}; do [[ -s $out/display ]] && break; sleep 0.1; done
export DISPLAY=:$(<"$out/display")
pid=

start() {
    : >"$log"
    "$lab" --log --play "$out/clean.tape" "$@" >"$log" 2>"$out/stderr.txt" &
    pid=$!
    trap 'kill $pid $screen 2>/dev/null || true' EXIT
}
stop() { kill $pid; wait $pid 2>/dev/null || true; }
fail() {
    echo "FAILED: $*"; import -window root "$out/failed.png" || true
    echo "--- log"; cat "$log"; echo "--- stderr"; tail -n 20 "$out/stderr.txt"
    exit 1
}
wait_for() {
    for _ in {1..600}; do
        if grep -m1 -E -- "$1" "$log"; then return; fi
        kill -0 $pid 2>/dev/null || fail "the lab has ended while waiting for: $1"
        sleep 0.1
    done
    fail "never came: $1"
}
# The pointer is put away from what tells of itself when pointed at.
picture() { xdotool mousemove 1279 719; sleep 1; import -window root "$out/$1.png"; }

echo "== no fault"
start
wait_for '^finished: verified: replayed [0-9,]+ ticks, 0 diverged'
picture clean
stop

# What was planted, as the lab says it; the window is another program, with other frames.
faults=0
while read -r name tick who field; do
    echo "== $name"
    start --fault "$name"
    wait_for "^diverged at tick $tick "
    wait_for "^inspector: tick $tick, $who $field\$"
    picture "$name"
    stop
    faults=$((faults + 1))
done < <("$lab" --list)

echo "divergence_lab in a window: $faults faults found where they were planted, 0 false alarms"
