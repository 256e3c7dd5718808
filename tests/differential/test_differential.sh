#!/usr/bin/env bash
# test_differential.sh: some thousand generated queries on the virtual tables and on copies of them, with the oldest and
# the newest SQLite.
#
#   TFPROF_DIFFERENTIAL_QUERIES   how many for each combination (1000)
#   TFPROF_DIFFERENTIAL_SEED      where they begin (the day of the year, so that every day tries others; printed)
set -eu
cd "$(dirname "$0")/../.."
build=${TFPROF_BUILD:-$PWD/build}
queries=${TFPROF_DIFFERENTIAL_QUERIES:-1000}
seed=${TFPROF_DIFFERENTIAL_SEED:-$(date +%j | sed 's/^0*//')}
dumps=$(mktemp -d)
trap 'rm -rf "$dumps"' EXIT
export TFPROF_BUILD=$build
for number in 1 2 3; do
  "$build/tests/make_random_dump" "$dumps/random$number.tfprof" $((number * 150)) "$((seed + number))"
done
"$build/tests/make_ops_dump" "$dumps/ops.tfprof" 1200 "$seed" >/dev/null
python=${TFPROF_PYTHON:-python3}
engines=(cli)
if "$python" -c 'import apsw' 2>/dev/null; then engines+=(apsw); fi
for engine in "${engines[@]}"; do
  for opened in "random1 random3" "random2 ops"; do
    arguments=()
    for name in $opened; do arguments+=(--open "$dumps/$name.tfprof"); done
    "$python" tests/differential/differential.py -n "$queries" --seed "$seed" --engine "$engine" "${arguments[@]}"
  done
done
TFPROF_VERIFY_CONSTRAINTS=1 "$python" tests/differential/differential.py -n "$((queries / 4))" --seed "$seed" \
  --open "$dumps/random2.tfprof"
if [ ${#engines[@]} -eq 1 ]; then
  echo "left out: the newest SQLite, since this Python has no apsw"
  exit 77
fi
