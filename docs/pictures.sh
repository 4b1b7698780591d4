#!/usr/bin/env bash
# Makes the pictures of the guides from the running programs: the inspector over the lab, and the recorder bar.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/divergence_lab.sh
mkdir -p docs/pictures
for name in last-bit global-transform; do
    # 64 colours are enough for flat shapes and text, and keep a picture below 200 KB.
    convert "target/divergence_lab/$name.png" -colors 128 -define png:compression-level=9 "docs/pictures/$name.png"
done
ls -l docs/pictures
