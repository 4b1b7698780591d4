#!/usr/bin/env bash
# The inspector over a game with planted faults, in a real window: a tape of the clean game is played with each fault on,
# and the inspector stops at the tick, entity, type and field where it was planted. Pictures are left in
# target/divergence_lab.
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/window.sh divergence_lab

"$program" --make-tape "$out/clean.tape"
"$program" --headless --play "$out/clean.tape" | tee "$out/headless.txt"
# The pointer is put away from what tells of itself when pointed at.
calm_picture() { xdotool mousemove 1279 719; picture "$1"; }

echo "== no fault"
start --play "$out/clean.tape"
wait_for '^finished: verified: replayed [0-9,]+ ticks, 0 diverged'
calm_picture clean
stop

# What was planted, as the lab says it; the window is another program, with other frames.
faults=0
while read -r name tick who field; do
    echo "== $name"
    start --play "$out/clean.tape" --fault "$name"
    wait_for "^diverged at tick $tick "
    wait_for "^inspector: tick $tick, $who $field\$"
    calm_picture "$name"
    stop
    faults=$((faults + 1))
done < <("$program" --list)

echo "divergence_lab in a window: $faults faults found where they were planted, 0 false alarms"
