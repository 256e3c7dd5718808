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
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
{
  sed "/^$(printf '%s' "$begin" | sed 's/[][()\.*^$/]/\\&/g')\$/q" README.md
  echo
  "$build/schema_reference"
  echo
  sed -n "/^$(printf '%s' "$end" | sed 's/[][()\.*^$/]/\\&/g')\$/,\$p" README.md
} >"$fresh"
if $check; then
  if ! diff -u README.md "$fresh"; then
    echo 'update_readme.sh: the table reference in README.md is not up to date; run tools/update_readme.sh' >&2
    exit 1
  fi
elif ! cmp -s README.md "$fresh"; then
  cat "$fresh" >README.md
fi
