#!/usr/bin/env bash
# Makes the pictures of the guides from the running program: the inspector over the lab, at planted faults.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/divergence_lab.sh
mkdir -p docs/pictures
for name in last-bit global-transform; do
    picture=docs/pictures/$name.png
    convert "target/divergence_lab/$name.png" -strip -define png:compression-level=9 "$picture"
    [[ $(stat -c %s "$picture") -lt 200000 ]] || { echo "$picture is too large"; exit 1; }
done
