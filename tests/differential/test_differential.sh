#!/usr/bin/env bash
# test_differential.sh: generated queries on the virtual tables and on copies of them, with the oldest and the newest
# SQLite: a minute of those of one seed, the same each time.
#
#   TFPROF_DIFFERENTIAL_QUERIES   how many with each SQLite (400; all that are kept: 100000)
#   TFPROF_DIFFERENTIAL_SEED      another seed has other queries (1)
set -eu
cd "$(dirname "$0")/../.."
export TFPROF_BUILD=${TFPROF_BUILD:-$PWD/build}
queries=${TFPROF_DIFFERENTIAL_QUERIES:-400}
seed=${TFPROF_DIFFERENTIAL_SEED:-1}
python=${TFPROF_PYTHON:-python3}
engines=(cli)
if "$python" -c 'import apsw' 2>/dev/null; then engines+=(apsw); fi
for engine in "${engines[@]}"; do
  "$python" tests/differential/differential.py -n "$queries" --seed "$seed" --engine "$engine"
  # What the tables take on themselves, SQLite checks again here.
  TFPROF_VERIFY_CONSTRAINTS=1 "$python" tests/differential/differential.py -n "$((queries / 10))" --seed "$seed" \
    --engine "$engine" --data random
done
if [ ${#engines[@]} -eq 1 ]; then
  echo "left out: the newest SQLite, since this Python has no apsw"
  exit 77
fi
