#!/usr/bin/env bash
# test_readme.sh: the README's table reference is up to date, and the files that it names are there.
set -eu
cd "$(dirname "$0")/../.."
tools/update_readme.sh --check "${TFPROF_BUILD:-build}"
missing=0
# shellcheck disable=SC2016  # the backquotes are Markdown's
while read -r path; do
  if [ ! -e "$path" ]; then
    echo "README.md names $path, which does not exist"
    missing=1
  fi
done < <(
  grep -oE '\]\([A-Za-z][A-Za-z0-9_./-]*\)|`(ext|proto|capture|sql|tests|examples|tools)/[A-Za-z0-9_./-]*`' README.md |
    sed -E 's/^\]\(//; s/\)$//; s/`//g' | sort -u)
exit $missing
