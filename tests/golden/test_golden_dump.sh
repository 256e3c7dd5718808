#!/usr/bin/env bash
# Dumps of every released version of the format stay readable, and say the same for ever: each directory dump-N holds
# files of format version N, the queries asked of them and the answers.  A file that has been released is never changed;
# a new version gets a new directory.
#
#   tests/golden/test_golden_dump.sh           compare
#   tests/golden/test_golden_dump.sh --write   write the answers anew (for a new directory, or when a column was added)
set -eu
cd "$(dirname "$0")"
build=${TFPROF_BUILD:-$PWD/../../build}
status=0
for directory in dump-*/; do
  while IFS= read -r query; do
    case $query in '' | '--'*) continue ;; esac
    printf -- '-- %s\n' "$query"
    "$build/tfprof" --format csv "$directory" "$query" || { echo "failed: $query" >&2; status=1; }
  done <"${directory}queries.sql" >"${TMPDIR:-/tmp}/golden-$$.txt"
  if [ "${1:-}" = --write ]; then
    cp "${TMPDIR:-/tmp}/golden-$$.txt" "${directory}answers.txt"
  elif ! diff -u "${directory}answers.txt" "${TMPDIR:-/tmp}/golden-$$.txt"; then
    status=1
  fi
  rm -f "${TMPDIR:-/tmp}/golden-$$.txt"
done
exit $status
