#!/usr/bin/env bash
# run.sh: proves on a machine with a GPU that what is recorded of it is right, and measures what recording costs.
#
#   tests/gpu/run.sh [--build DIR] [--out DIR] [--steps N] [--rounds N] [--python PYTHON]
#
# Needs PyTorch with CUDA and nothing else: DIR is a build for machines that have but libc (cmake --preset relocatable),
# build/ otherwise; the example in CUDA is DIR/overlap_copies (a relocatable build made beside nvcc has it) or is
# compiled by nvcc; nsys is used where it is there. For each workload (a transformer, a small one that is bound by
# launches, the same as a CUDA graph, torch.compile) it
#
#   * records the same steps by tfprof-capture and by torch.profiler, and compares (compare.py): kernels by name and
#     number exactly, copies and bytes, the op of each kernel, the time of kernels within 1 %; where there is nsys, its
#     kernels, copies and bytes, too;
#   * times steps without a profiler, recorded with default settings, under torch.profiler and, where there is nsys,
#     under that, one after the other again and again.
#
# Prints a table, which README.md's Figures take over, and writes it to OUT/table.md, and below it what became of
# examples/overlap_copies.cu, also where it was not run; ends with status 1 where something was not the same, 77 without
# a GPU. How it works without one is tested by tests/gpu/test_compare.py.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build out= steps=200 rounds=5 python=${TFPROF_PYTHON:-python3}
manual() { sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0"; }
wrong() { echo "run.sh: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) manual; exit 0 ;;
    --build | --out | --steps | --rounds | --python) [ $# -ge 2 ] || wrong "$1 needs a value" ;;
    *) manual >&2; exit 2 ;;
  esac
  case $1 in
    --build) build=$(cd "$2" 2>/dev/null && pwd) || wrong "$2 is no directory" ;;
    --out) out=$2 ;;
    --steps) steps=$2 ;;
    --rounds) rounds=$2 ;;
    --python) python=$2 ;;
  esac
  shift 2
done
for program in tfprof-capture tfprof; do
  [ -x "$build/$program" ] || wrong "$build has no $program: build it, or name a build by --build"
done
command -v "$python" >/dev/null || wrong "there is no $python: name the Python that has PyTorch by --python"
[ -n "$out" ] || out=$(mktemp -d)
mkdir -p "$out"
export TFPROF_BUILD=$build
status=0
first=20 last=39 # the steps that are compared

"$python" -c 'import torch' 2>/dev/null || { echo "run.sh: $python has no PyTorch"; exit 77; }
"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
  { echo "run.sh: PyTorch sees no GPU here"; exit 77; }
"$build/tfprof-capture" --check -- "$python" | tee "$out/check.txt" || true

workload() { "$python" "$root/tests/gpu/workload.py" "$@"; }
captured() { # options of tfprof-capture up to --, then words of workload.py
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  "$build/tfprof-capture" -q --force "${options[@]}" -- "$python" "$root/tests/gpu/workload.py" "$@"
}
under_nsys() { # the report, then words of workload.py; fails where there is no nsys
  local report=$1
  shift
  command -v nsys >/dev/null && nsys profile -t cuda,nvtx --force-overwrite true -o "$report" \
    "$python" "$root/tests/gpu/workload.py" "$@"
}
median() {
  sort -n | awk '{v[NR] = $1} END {printf "%.3f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
percent() { awk -v new="$1" -v old="$2" 'BEGIN {printf "%+.1f %%", 100 * (new / old - 1)}'; }

{
  echo "| workload | same as torch.profiler | kernels | linked | copies | bytes | kernel time | step, ms | tfprof |" \
    "torch.profiler | nsys |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
} >"$out/table.md"
for mode in ${TFPROF_GPU_MODES:-eager small graph compile}; do
  echo "== $mode"
  captured -o "$out/$mode" --ops=all -- "$mode" $((last + 1)) record
  workload "$mode" $((last + 1)) profile $first "$out/$mode.json"
  same=yes
  "$python" "$root/tests/gpu/compare.py" "$out/$mode" "$out/$mode.json" $first $last | tee "$out/$mode.txt" || true
  [ "$(wc -l <"$out/$mode.txt")" = 1 ] || { same=no; status=1; }
  if under_nsys "$out/$mode" "$mode" $((last + 1)) time >/dev/null &&
      nsys export --type sqlite --force-overwrite true -o "$out/$mode.sqlite" "$out/$mode.nsys-rep" >/dev/null; then
    "$python" "$root/tests/gpu/compare_nsys.py" "$out/$mode" "$out/$mode.sqlite" || status=1
  fi
  : >"$out/off" && : >"$out/on" && : >"$out/profiler" && : >"$out/nsys"
  for _ in $(seq "$rounds"); do
    workload "$mode" "$steps" time | tail -n 1 >>"$out/off"
    captured -o "$out/timed" -- "$mode" "$steps" time | tail -n 1 >>"$out/on"
    workload "$mode" "$steps" time profile | tail -n 1 >>"$out/profiler"
    under_nsys "$out/timed" "$mode" "$steps" time | grep -E '^[0-9.]+$' | tail -n 1 >>"$out/nsys" || true
  done
  off=$(median <"$out/off") nsys=-
  [ ! -s "$out/nsys" ] || nsys=$(percent "$(median <"$out/nsys")" "$off")
  echo "| $mode | $same | $(tail -n 1 "$out/$mode.txt") | $off | $(percent "$(median <"$out/on")" "$off") |" \
    "$(percent "$(median <"$out/profiler")" "$off") | $nsys |" >>"$out/table.md"
done

program=$build/overlap_copies
if [ ! -x "$program" ] && command -v nvcc >/dev/null; then
  program=$out/overlap_copies
  nvcc -O2 -o "$program" "$root/examples/overlap_copies.cu" || program=
fi
echo "== overlap_copies"
if [ -x "$program" ]; then
  "$build/tfprof-capture" -q --force -o "$out/overlap_copies.run" -- "$program" 50
  # 4 ways of 50 batches: 3 copies and fills each; scale and add_up once, scale 20 times more, last of all in graphs.
  wanted="200,200,200,4400"
  found=$("$build/tfprof" --format csv "$out/overlap_copies.run" "SELECT
    (SELECT count(*) FROM transfers WHERE direction = 'HtoD'), (SELECT count(*) FROM transfers WHERE kind = 'memset'),
    (SELECT count(*) FROM transfers WHERE direction = 'DtoH'), (SELECT count(*) FROM kernels)" | tail -n 1)
  told="as many copies, fills and kernels as it makes ($wanted)"
  [ "$found" = "$wanted" ] || { told="$found copies in, fills, copies out and kernels instead of $wanted"; status=1; }
else
  told="not run, since there is neither an nvcc that compiles it nor $build/overlap_copies"
fi
printf '\n%s\n' "overlap_copies: $told." >>"$out/table.md"
echo
cat "$out/table.md"
exit $status
