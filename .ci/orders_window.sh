#!/usr/bin/env bash
# The planned missions in a real window, played with a real mouse: a drag in five steps across a target raises the count
# by exactly one. Recorded with real keys over two missions, exported, and replayed without a window to the same count.
# Pictures are left in target/orders_window.
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/window.sh orders_window

press() { xdotool key --clearmodifiers "$1"; }
# A picture with few colours shows no game.
full_picture() {
    sleep 1 # until it is drawn, on a busy machine
    import -window root "$out/$1.png"
    local colors; colors=$(identify -format %k "$out/$1.png")
    [[ $colors -gt 500 ]] || fail "picture $1 is empty: $colors colours"
}
# Draws the blade from the left to the right of a place in five steps, as a hand does: the button goes down, the mouse
# moves, the button goes up.
drag_across() {
    local steps=() step
    for step in -42 -14 14 42 70; do steps+=(mousemove --window "$window" $(($1 + step)) "$2" sleep 0.04); done
    xdotool mousemove --window "$window" $(($1 - 70)) "$2" sleep 0.04 mousedown 1 sleep 0.04 "${steps[@]}" mouseup 1
}
# Waits for a target, cuts it, and checks that the count goes from what it was to one more, and stays there.
cut_one() {
    local mission=$1 before=$2 target x y
    standing() { grep -E '^mission ' "$log" | tail -n 1; }
    counts() { [[ $(standing) =~ ^"mission $mission: cut $1 of "[0-9]+", missed "[0-9]+", extra 0, bombs 0"$ ]]; }
    wait_for '^target [0-9]+ at [0-9]+ [0-9]+$'
    read -r _ target _ x y <<<"$line"
    counts "$before" || fail "before the drag: $(standing)"
    drag_across "$x" "$y"
    wait_for "^mission $mission: cut $((before + 1)) of"
    full_picture "mission-$mission-cut-$((before + 1))"
    counts $((before + 1)) || fail "after the drag across target $target: $(standing)"
}

# Slowed, so that there is time for a drag on a busy machine.
start --speed 0.1 --tapes "$out/tapes"
wait_for '^ready$'
window=$(xdotool search --sync --onlyvisible --name '^Orders$' | head -n 1)
xdotool windowfocus --sync "$window"
sleep 2; full_picture missions

echo "== record mission 1: a drag cuts one"
press F5
wait_for '^recording$'
press Return
wait_for '^mission 01: cut 0 of [0-9]+, missed 0, extra 0, bombs 0$'
cut_one 01 0
cut_one 01 1

echo "== mission 12, in the same recording"
press Escape
wait_for '^no mission$'
for key in Down Down Right Right Right Return; do press $key; done
wait_for '^mission 12: cut 0 of [0-9]+, missed 0, extra 0, bombs 0$'
cut_one 12 0
cut_one 12 1
standing=$(standing)
press F5
wait_for '^recorded [0-9]+ ticks, '
[[ ${line#recorded * ticks, } = "$standing" ]] || fail "recorded something else than: $standing"
wait_for '^told: saved to .*orders-0001.tape$'
tape=${line#told: saved to }
[[ -s $tape ]] || fail "there is no $tape"
stop

echo "== replay the tape without a window"
"$program" --headless "$tape" | tee "$out/headless.txt"
grep -qE "^verified: replayed [0-9,]+ ticks, 0 diverged" "$out/headless.txt" || fail "the tape does not replay"
grep -qxF "$standing" "$out/headless.txt" || fail "the window had: $standing"

echo "orders in a window: four drags cut four, recorded and replayed to the same count, 0 diverged"
