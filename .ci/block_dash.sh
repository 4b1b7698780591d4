#!/usr/bin/env bash
# The player's loop in a real window: record with real keys, replay, export, import, replay; the score in the window is
# that of a replay without one. A damaged file is told, and the game goes on. Pictures are left in target/block_dash.
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/window.sh block_dash

start --tapes "$out/tapes" --tests "$out/tests"
press() { xdotool key --clearmodifiers "$1"; }
is_same_game() { [[ $line =~ ^"replayed, score $score: verified: replayed "[0-9,]+" ticks, 0 diverged" ]]; }
# Long enough for the entry to open and take the keyboard on a busy machine.
enter() { sleep 1.5; xdotool type --delay 20 -- "$1"; sleep 0.5; press Return; }

wait_for '^ready$'
window=$(xdotool search --sync --onlyvisible --name '^Block Dash$' | head -n 1)
xdotool windowfocus --sync "$window"
sleep 2; picture 1-start

echo "== record: run, collect a coin, jump"
press F5
wait_for '^recording$'
xdotool keydown Right
wait_for '^score [1-9][0-9]* jumps 0$'
press space
wait_for '^score [1-9][0-9]* jumps 1$'
sleep 0.3
xdotool keyup Right
press F6
wait_for '^told: mark 1 set$'
picture 2-recording
xdotool keydown Left; sleep 0.4; xdotool keyup Left
press space
wait_for 'jumps 2$'
press F5
wait_for '^recorded [0-9]+ ticks, score [0-9]+$'
score=${line##* }
wait_for '^told: saved to .*block_dash-0001.tape$'
[[ $score -ge 10 ]] || fail "no coin was collected"

echo "== replay in the window"
press F7
wait_for '^replaying$'
picture 3-replay
wait_for '^replayed, score '
is_same_game || fail "the replay is another game"

echo "== export"
press F8
sleep 1; picture 4-export
press Return
wait_for '^told: saved to '
tape=${line#told: saved to }
[[ -s $tape ]] || fail "there is no $tape"

echo "== replay the exported tape without a window"
"$program" --headless "$tape" | tee "$out/headless.txt"
grep -qE "^verified: replayed [0-9,]+ ticks, 0 diverged" "$out/headless.txt" || fail "the exported tape does not replay"
grep -qx "score $score, claimed $score" "$out/headless.txt" || fail "the window had score $score"

echo "== import, and replay in the window"
press F4
wait_for '^told: put aside'
press F9
enter "$tape"
wait_for '^told: opened '
picture 5-imported
press F7
wait_for '^replaying$'
wait_for '^replayed, score '
is_same_game || fail "the imported tape is another game"

echo "== make a test of it"
press F10
enter third_coin
wait_for '^told: wrote '
[[ -s $out/tests/third_coin.rs && -s $out/tests/tapes/third_coin.tape ]] || fail "no test was written"

echo "== import a damaged file"
damaged=$out/damaged.tape
cp "$tape" "$damaged"
printf '\xff\xff\xff\xff' | dd of="$damaged" bs=1 seek=$(($(stat -c %s "$damaged") / 2)) conv=notrunc status=none
press F9
enter "$damaged"
wait_for '^error: not opened: '
picture 6-damaged
press Escape
sleep 1

echo "== the game goes on"
press space
wait_for '^score [0-9]+ jumps [0-9]+$'
kill -0 $pid || fail "the game has ended"

echo "block_dash in a window: score $score recorded, replayed, exported, imported and replayed again, 0 diverged"
