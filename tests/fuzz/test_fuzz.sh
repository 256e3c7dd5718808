#!/usr/bin/env bash
# test_fuzz.sh: each fuzz target for a short while; tests/fuzz/run.sh does the same for as long as one likes.
set -eu
exec "$(dirname "$0")/run.sh" "${TFPROF_FUZZ_SECONDS:-15}"
