# To be sourced by the checks of windowed examples, with the example's name: builds and tests it, opens a virtual screen,
# and starts, waits for, photographs and ends the program. Linux only; installs what it needs.
example=$1
if [[ $(uname) != Linux ]]; then echo "$example in a window: only checked on Linux"; exit 0; fi

if ! type Xvfb xdotool import >/dev/null 2>&1 || ! ls /usr/share/vulkan/icd.d/lvp_icd* >/dev/null 2>&1; then
    root=(); [[ $(id -u) = 0 ]] || root=(sudo)
    "${root[@]}" apt-get update -q
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends xvfb xdotool imagemagick \
        mesa-vulkan-drivers libvulkan1 libxkbcommon-x11-0 libx11-xcb1 libxcursor1 libxi6 libxrandr2
fi

# Packages with lockfiles of their own, built from the same artefacts. A library of Bevy's renderer declares Rust 1.97.1,
# and builds on 1.95 when told to.
target=${CARGO_TARGET_DIR:-$PWD/target/windowed}
(
    cd "examples/$example"
    export CARGO_TARGET_DIR=$target CLIPPY_CONF_DIR=$OLDPWD/docs
    cargo fmt --check
    cargo clippy --all-targets --ignore-rust-version -- -D warnings
    cargo test --ignore-rust-version
    cargo build --ignore-rust-version
)
program=$target/debug/$example
out=$PWD/target/$example
rm -rf "$out"; mkdir -p "$out"
log=$out/log.txt; : >"$log"

Xvfb -displayfd 3 -screen 0 1280x720x24 -nolisten tcp 3>"$out/display" 2>"$out/xvfb.txt" &
screen=$!
pid=
trap 'kill $pid $screen 2>/dev/null || true' EXIT
for _ in {1..100}; do [[ -s $out/display ]] && break; sleep 0.1; done
export DISPLAY=:$(<"$out/display")

# Lines of the log up to here count as read.
read_lines=0
# The line that was waited for last.
line=
start() {
    : >"$log"; read_lines=0
    "$program" --log "$@" >"$log" 2>"$out/stderr.txt" &
    pid=$!
}
stop() { kill $pid; wait $pid 2>/dev/null || true; }
fail() {
    echo "FAILED: $*"; import -window root "$out/failed.png" || true
    echo "--- log"; cat "$log"; echo "--- stderr"; tail -n 20 "$out/stderr.txt"
    exit 1
}
# Waits for the next line that matches, and prints it.
wait_for() {
    for _ in {1..600}; do
        local found
        if found=$(tail -n "+$((read_lines + 1))" "$log" | grep -n -m1 -E -- "$1"); then
            read_lines=$((read_lines + ${found%%:*})); line=${found#*:}
            echo "  $line"
            return
        fi
        kill -0 $pid 2>/dev/null || fail "$example has ended while waiting for: $1"
        sleep 0.1
    done
    fail "never came: $1"
}
picture() { sleep 0.5; import -window root "$out/$1.png"; }
