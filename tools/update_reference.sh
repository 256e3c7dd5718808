#!/usr/bin/env bash
# update_reference.sh: brings up to date what documents take from the programs: the views of docs/views.md (sql/views),
# the table reference of docs/tables.md (proto/schema/tables.def), the options of tfprof-capture in docs/options.md (its
# --help), the functions of docs/functions.md (tfprof_functions), the codes of docs/diagnostics.md (tfprof_reasons), and
# the figures of tests/bench/README.md and README.md (tests/bench/results).
#
#   tools/update_reference.sh [BUILD]           rewrites what stands between the markers of each
#   tools/update_reference.sh --check [BUILD]   changes nothing; exit status 1 and the difference when one is out
#                                               of date
#
# BUILD is the build directory with the programs schema_reference, tfprof and tfprof-capture in it (build).
set -eu
cd "$(dirname "$0")/.."
check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
build=${1:-build}
fresh=$(mktemp) part=$(mktemp)
trap 'rm -f "$fresh" "$part"' EXIT
status=0

replace() { # document, name; the text is in $part
  local document=$1 begin="<!-- $2: begin (tools/update_reference.sh) -->" end="<!-- $2: end -->" marker
  for marker in "$begin" "$end"; do
    if [ "$(grep -cFx -- "$marker" "$document")" != 1 ]; then
      printf 'update_reference.sh: %s must have this line once: %s\n' "$document" "$marker" >&2
      exit 1
    fi
  done
  if [ ! -s "$part" ]; then
    printf 'update_reference.sh: there is nothing to put into %s: is the build up to date?\n' "$document" >&2
    exit 1
  fi
  awk -v begin="$begin" -v end="$end" -v part="$part" '
    $0 == end { skipped = 0 }
    !skipped { print }
    $0 == begin {
      print ""
      while ((getline line < part) > 0) print line
      print ""
      skipped = 1
    }' "$document" >"$fresh"
  if ! $check; then
    cmp -s "$document" "$fresh" || cat "$fresh" >"$document"
  elif ! diff -u "$document" "$fresh"; then
    printf 'update_reference.sh: %s is not up to date; run tools/update_reference.sh\n' "$document" >&2
    status=1
  fi
}

"$build/schema_reference" >"$part"
replace docs/tables.md 'table reference'
{
  echo '```'
  env -i PATH="$PATH" "$build/tfprof-capture" --help
  echo '```'
} >"$part"
replace docs/options.md 'options of tfprof-capture'
"$build/tfprof" --format tsv -f tools/functions_page.sql | tail -n +2 >"$part"
replace docs/functions.md functions
"$build/tfprof" --format tsv -f tools/reasons_page.sql | tail -n +2 >"$part"
replace docs/diagnostics.md reasons
python=${TFPROF_PYTHON:-python3}
"$python" -B tests/bench/figures_page.py page >"$part"
replace tests/bench/README.md figures
"$python" -B tests/bench/figures_page.py headline >"$part"
replace README.md figures
"$python" -B tools/view_reference.py "$build" >"$part"
replace docs/views.md views
exit $status
