#!/bin/sh
# man_page.sh: makes a page of the manual of what a program prints for --help (man_page.awk).
#
#   man_page.sh PROGRAM DATE VERSION SEE OUTPUT [COMMAND...]
#
# SEE is the program of the other page.  Each COMMAND of PROGRAM has a help of its own, which becomes a section.
set -eu
program=$1 date=$2 version=$3 see=$4 output=$5
shift 5
name=$(basename "$program")
here=$(dirname "$0")
mkdir -p "$(dirname "$output")"
parts=
for command; do parts=${parts:+$parts,}"$name $command"; done
text=$(
  env -i PATH="$PATH" "$program" --help
  for command; do
    printf '\f\n'
    env -i PATH="$PATH" "$program" "$command" --help
  done
)
printf '%s\n' "$text" | awk -v name="$name" -v date="$date" -v release="$version" -v see="$see" -v parts="$parts" \
  -f "$here/man_page.awk" >"$output.part"
mv "$output.part" "$output"
