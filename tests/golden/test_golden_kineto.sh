#!/usr/bin/env bash
# What the views say of the small traces in tests/fixtures/kineto stays the same: kineto/queries.sql holds the queries,
# kineto/answers.txt the answers, which were worked out by hand where that is possible.
#
#   tests/golden/test_golden_kineto.sh           compare
#   tests/golden/test_golden_kineto.sh --write   write the answers anew
set -eu
cd "$(dirname "$0")"
build=${TFPROF_BUILD:-$PWD/../../build}
status=0
made=$(mktemp)
while IFS='|' read -r fixture query; do
  case $fixture in '' | '--'*) continue ;; esac
  printf -- '-- %s: %s\n' "$fixture" "$query"
  "$build/tfprof" --format csv "../fixtures/kineto/$fixture" "$query" || { echo "failed: $query" >&2; status=1; }
done <kineto/queries.sql >"$made"
if [ "${1:-}" = --write ]; then
  cp "$made" kineto/answers.txt
elif ! diff -u kineto/answers.txt "$made"; then
  status=1
fi
rm -f "$made"
exit $status
