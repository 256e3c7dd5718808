#!/usr/bin/env bash
# run.sh: fuzzes every target of this folder with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]      SECONDS for each target (60); fuzz_dump, fuzz_wire, ... (all)
#
# Needs clang.  What is found interesting is kept in build-fuzz/corpus/TARGET and is where the next run begins; an input
# that breaks something is written to build-fuzz/ as crash-..., and the run ends with status 1.
# To look at one input: build-fuzz/tests/TARGET FILE.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
if ! command -v clang >/dev/null; then
  echo "clang is missing; it brings libFuzzer (on Debian: apt-get install clang)"
  exit 77
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.c; do targets+=("$(basename "$source" .c)"); done
fi
# For a short while: optimising would take longer than it saves.
level=-O1
[ "$seconds" -ge 30 ] || level=-O0
mkdir -p build-fuzz
tests/build_preset.sh fuzz -DCMAKE_C_FLAGS_DEBUG="$level -g1" "${targets[@]}" make_ops_dump \
  >build-fuzz/build.log 2>&1 || {
  tail -n 30 build-fuzz/build.log
  exit 1
}
for target in "${targets[@]}"; do
  corpus=build-fuzz/corpus/$target
  mkdir -p "$corpus"
  # Dumps are what all targets have to do with; those that take other bytes find their way from there.
  for rows in 1 60; do
    seed=$corpus/seed-$rows
    [ -e "$seed" ] || build-fuzz/tests/make_ops_dump "$seed" "$rows" >/dev/null
  done
  # Inputs kept with the source: only read from.
  kept=()
  if [ -d "tests/fuzz/corpus/${target#fuzz_}" ]; then kept=("tests/fuzz/corpus/${target#fuzz_}"); fi
  echo "== $target, $seconds s"
  status=0
  "build-fuzz/tests/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix=build-fuzz/ "$corpus" "${kept[@]}" 2>"build-fuzz/$target.log" || status=$?
  grep -E 'ERROR|SUMMARY|runtime error|number_of_executed_units|new_units_added' "build-fuzz/$target.log" || true
  if [ $status -ne 0 ]; then
    tail -n 40 "build-fuzz/$target.log"
    echo "$target failed; the whole log is build-fuzz/$target.log"
    exit 1
  fi
done
