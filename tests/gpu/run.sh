#!/usr/bin/env bash
# run.sh: one short visit to a machine with a GPU: is what is recorded of it right, and what does recording cost?
#
#   tests/gpu/run.sh [--build DIR] [--out DIR] [--python PYTHON] [--quick | --rest | --only NAME,...] [--limit SECONDS]
#                    [--commit TEXT] [--list]
#
# The machine needs PyTorch with CUDA, and nothing else: no compiler, no network. What it is to run is built before,
# anywhere, and travels with the source (with nvcc, which is used where it is, also examples/overlap_copies.cu):
#
#   cmake --preset relocatable && cmake --build --preset relocatable
#   tests/gpu/run.sh --build build-relocatable --out DIR
#
# Of that folder it takes tfprof, tfprof-capture, libtfprof_*.so, python/, launch_cost, overlap_copies and commit.
#
# The checks are run one after the other, the ones that tell most first; --list names them, with what each expects.
# Each has a time limit, and whatever one of them does, the next one is run. In all they take no more than --limit
# (840 seconds; 280 with --quick, 580 with --rest): those for which no time is left are told as not run. --quick is
# the first four minutes of them, --rest all others: each of the two fits into ten minutes. A visit that is
# interrupted (SIGINT, SIGTERM) ends what runs and still prints its table. PYTHON is python3 unless TFPROF_PYTHON or
# --python names another.
#
# At once when a check ends its line of JSON is in OUT/summary.json: figures, what was expected, the verdict ("yes",
# "no", "cannot be told", "not run") and why, seconds, commit. OUT/visit.log has what the programs wrote, OUT/table.txt
# what is printed at the end; in all OUT gets no more than eight files below 16 MiB, and what else is written is in
# a folder for temporary files that is removed. Without --out it is a new folder, which is told.
#
# Ends with status 1 where a verdict is "no", 77 where PyTorch sees no GPU, 2 where the command line is wrong, else 0.
# tests/gpu/test_visit.py runs all of it without a GPU.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
manual() { sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0"; }
wrong() { echo "run.sh: $1" >&2; exit 2; }
build= python=${TFPROF_PYTHON:-python3} options=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) manual; exit 0 ;;
    --quick | --rest | --list) options+=("$1"); shift; continue ;;
    --build | --out | --python | --only | --limit | --commit) [ $# -ge 2 ] || wrong "$1 needs a value" ;;
    *) manual >&2; exit 2 ;;
  esac
  case $1 in
    --build) build=$(cd "$2" 2>/dev/null && pwd) || wrong "$2 is no directory" ;;
    --python) python=$2 ;;
    *) options+=("$1" "$2") ;;
  esac
  shift 2
done
if [ -z "$build" ]; then
  build=$here/../../build-relocatable
  [ -d "$build" ] || build=$here/../../build
fi
for program in tfprof-capture tfprof; do
  [ -x "$build/$program" ] || wrong "$build has no $program: build it, or name a build by --build"
done
python=$(command -v "$python") || wrong "there is no such Python: name the one that has PyTorch by --python"
TFPROF_BUILD=$build exec "$python" "$here/visit.py" --python "$python" "${options[@]}"
