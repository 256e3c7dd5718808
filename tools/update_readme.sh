#!/usr/bin/env bash
# update_readme.sh: brings the table reference in README.md up to date with ext/schema/tables.def.
#
#   tools/update_readme.sh [BUILD]           rewrites what stands between the two markers
#   tools/update_readme.sh --check [BUILD]   changes nothing; exit status 1 and the difference when it is not up to date
#
# BUILD is the build directory with the program schema_reference in it (build).
set -eu
cd "$(dirname "$0")/.."
check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
build=${1:-build}
begin='<!-- table reference: begin (tools/update_readme.sh) -->'
end='<!-- table reference: end -->'
for marker in "$begin" "$end"; do
  if [ "$(grep -cFx -- "$marker" README.md)" != 1 ]; then
    printf 'update_readme.sh: README.md must have this line once: %s\n' "$marker" >&2
    exit 1
  fi
done
fresh=$(mktemp) reference=$(mktemp)
trap 'rm -f "$fresh" "$reference"' EXIT
"$build/schema_reference" >"$reference"
awk -v begin="$begin" -v end="$end" -v reference="$reference" '
  $0 == end { skipped = 0 }
  !skipped { print }
  $0 == begin {
    print ""
    while ((getline line < reference) > 0) print line
    print ""
    skipped = 1
  }' README.md >"$fresh"
if $check; then
  if ! diff -u README.md "$fresh"; then
    echo 'update_readme.sh: the table reference in README.md is not up to date; run tools/update_readme.sh' >&2
    exit 1
  fi
elif ! cmp -s README.md "$fresh"; then
  cat "$fresh" >README.md
fi
