#!/usr/bin/env bash
# Makes the pictures of the guides from the running programs: the inspector over the lab, at planted faults, and the
# planned missions.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/divergence_lab.sh
.ci/orders_window.sh
mkdir -p docs/pictures
make() {
    local picture=docs/pictures/$2.png
    convert "target/$1.png" -strip -define png:compression-level=9 "$picture"
    [[ $(stat -c %s "$picture") -lt 200000 ]] || { echo "$picture is too large"; exit 1; }
}
make divergence_lab/last-bit last-bit
make divergence_lab/global-transform global-transform
make orders_window/mission-12-cut-2 orders
