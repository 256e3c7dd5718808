#!/usr/bin/env bash
# test_fuzz.sh: each fuzz target for a short while, those that read what other programs wrote for three seconds each;
# tests/fuzz/run.sh does the same for as long as one likes, TFPROF_FUZZ_SECONDS sets one time for all.
set -eu
cd "$(dirname "$0")"
foreign=(fuzz_flight_recorder fuzz_json fuzz_gzip fuzz_memory_snapshot fuzz_pprof fuzz_xplane) others=()
for source in fuzz_*.c; do
  name=$(basename "$source" .c)
  case " ${foreign[*]} " in *" $name "*) ;; *) others+=("$name") ;; esac
done
./run.sh "${TFPROF_FUZZ_SECONDS:-3}" "${foreign[@]}"
./run.sh "${TFPROF_FUZZ_SECONDS:-1}" "${others[@]}"
