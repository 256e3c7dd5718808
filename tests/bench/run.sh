#!/usr/bin/env bash
# run.sh: every benchmark that needs nothing more than the tests do, one after the other.
#
#   tests/bench/run.sh [ROWS] [MEGABYTES]      ROWS of the dumps that are read (1000000), size of the traces (500)
#
# What they tell, in the form of figures.py, is collected with the commit and the machine in build/bench/COMMIT.json,
# which compare.py takes.  To show it in README.md beside this file:
#
#   python3 tests/bench/collect.py build/bench/COMMIT.json --into tests/bench/results && tools/update_reference.sh
#
# Those that need more: bench_hta.py, frameworks.py, report_page.py, serve_page.py, soak.py, tensorflow_engine.py,
# two_ranks.py, xplane_tools.py.  They append their figures to the file that TFPROF_BENCH_RESULTS names.
#
# Nothing else should run meanwhile.  Ratios are what counts: each benchmark measures both sides in the same run.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tools/dependencies.sh
. tools/dependencies.sh
rows=${1:-1000000}
megabytes=${2:-500}
read -r load_before _ </proc/loadavg
say "Building"
build_release tests
need_python_environment
export TFPROF_BUILD=$PWD/build TFPROF_PYTHON=$PYTHON
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commit=$(git rev-parse --short=8 HEAD)
export TFPROF_BENCH_RESULTS=$PWD/build/bench/rows/$commit.jsonl # stays where a benchmark fails
mkdir -p build/bench/rows
rm -f "$TFPROF_BENCH_RESULTS"

say "The machine"
printf '%s, %s CPUs, load %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
  "$(cut -d ' ' -f 1 /proc/loadavg)"
say "Writing a dump: ns of the writer's thread and bytes for each op"
build/tests/bench_dump_writer
say "Recording: the callbacks alone"
build/tests/bench_capture_callbacks
say "Recording: what CUPTI tells of GPUs, on a double of it"
build/tests/bench_capture_cuda
say "Recording: training steps and starts, with tfprof, torch.profiler and py-spy"
"$PYTHON" tests/bench/capture.py
say "Recording: lines of Python between operations, and what py-spy says of the same run"
"$PYTHON" tests/bench/python_lines.py
say "Reading: the store, $rows ops"
build/tests/make_ops_dump "$work/ops.tfprof" "$rows"
build/tests/bench_store "$work/ops.tfprof"
say "Reading: queries on the virtual table and on a native SQLite table of the same rows"
"$PYTHON" tests/bench/bench_queries.py --rows "$rows" --build build --dump "$work/ops.tfprof"
say "Reading: advise from a cold process, $rows ops"
"$PYTHON" tests/bench/bench_advise.py --rows "$rows" --build build
say "Reading: tfprof_refresh() of runs of 1,000 files"
"$PYTHON" tests/bench/refresh_runs.py --build build
say "Reading: traces in JSON, $megabytes MB: loading, side by side with simdjson's DOM; every view"
for kind in repeat distinct; do
  "$PYTHON" tests/bench/make_kineto_trace.py "$kind" "$work/$kind.json" --megabytes "$megabytes"
  gzip -1 -k "$work/$kind.json"
  build/tests/bench_json "$work/$kind.json"
  build/tests/bench_sql_views "$work/$kind.json"
  rm "$work/$kind.json" "$work/$kind.json.gz"
done
say "The figures"
"$PYTHON" tests/bench/collect.py "$TFPROF_BENCH_RESULTS" --load-before "$load_before" \
  -o "build/bench/$commit.json"
