#!/usr/bin/env bash
# update_readme.sh: brings up to date what README.md takes from elsewhere: the table reference (ext/schema/tables.def)
# and the options of tfprof-capture (its --help).
#
#   tools/update_readme.sh [BUILD]           rewrites what stands between the markers of each
#   tools/update_readme.sh --check [BUILD]   changes nothing; exit status 1 and the difference when it is not up to date
#
# BUILD is the build directory with the programs schema_reference and tfprof-capture in it (build).
set -eu
cd "$(dirname "$0")/.."
check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
build=${1:-build}
fresh=$(mktemp) before=$(mktemp) part=$(mktemp)
trap 'rm -f "$fresh" "$before" "$part"' EXIT
cp README.md "$fresh"

replace() { # name; its text is in $part
  local begin="<!-- $1: begin (tools/update_readme.sh) -->" end="<!-- $1: end -->" marker
  for marker in "$begin" "$end"; do
    if [ "$(grep -cFx -- "$marker" README.md)" != 1 ]; then
      printf 'update_readme.sh: README.md must have this line once: %s\n' "$marker" >&2
      exit 1
    fi
  done
  cp "$fresh" "$before"
  awk -v begin="$begin" -v end="$end" -v part="$part" '
    $0 == end { skipped = 0 }
    !skipped { print }
    $0 == begin {
      print ""
      while ((getline line < part) > 0) print line
      print ""
      skipped = 1
    }' "$before" >"$fresh"
}

"$build/schema_reference" >"$part"
replace 'table reference'
{
  echo '```'
  env -i PATH="$PATH" "$build/tfprof-capture" --help
  echo '```'
} >"$part"
replace 'options of tfprof-capture'

if $check; then
  if ! diff -u README.md "$fresh"; then
    echo 'update_readme.sh: README.md is not up to date; run tools/update_readme.sh' >&2
    exit 1
  fi
elif ! cmp -s README.md "$fresh"; then
  cat "$fresh" >README.md
fi
