#!/usr/bin/env bash
# run.sh: every benchmark, one after the other; the figures of the README come from here.
#
#   tests/bench/run.sh [ROWS]      ROWS of the dumps that are read (1000000)
#
# Nothing else should run meanwhile.  Ratios are what counts: each benchmark measures both sides in the same run.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tools/dependencies.sh
. tools/dependencies.sh
rows=${1:-1000000}
say "Building"
build_release
need_python_environment
export TFPROF_BUILD=$PWD/build TFPROF_PYTHON=$PYTHON
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "The machine"
printf '%s, %s CPUs, load %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
  "$(cut -d ' ' -f 1 /proc/loadavg)"
say "Writing a dump: ns of the writer's thread and bytes for each op"
build/tests/bench_dump_writer
say "Recording: the callbacks alone"
build/tests/bench_capture_callbacks
say "Recording: training steps and starts, with tfprof, torch.profiler and py-spy"
"$PYTHON" tests/bench/capture.py
say "Reading: the store, $rows ops"
build/tests/make_ops_dump "$work/ops.tfprof" "$rows"
build/tests/bench_store "$work/ops.tfprof"
say "Reading: queries on the virtual table and on a native SQLite table of the same rows"
"$PYTHON" tests/bench/bench_queries.py --rows "$rows" --build build --dump "$work/ops.tfprof"
