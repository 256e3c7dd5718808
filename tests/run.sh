#!/usr/bin/env bash
# run.sh: installs what is missing, builds, and runs every test.
#
#   tests/run.sh             everything
#   tests/run.sh NAME...     only the groups named (unit, asan, tsan, fuzz, or a directory of tests/: sql, shell, ...),
#                            or single tests (sql/test_views)
#
# The tests are those of ctest (tests/CMakeLists.txt).  A test is a program: exit status 0 is passed, 77 skipped (its
# last line says why), anything else failed.  They are run with these variables set:
#   TFPROF_BUILD    the build directory
#   TFPROF_PYTHON   a Python with PyTorch, NumPy and apsw (the newest SQLite)
#   TFPROF_SHARED   the folder of large real traces beside the clone, or empty: tests that use it skip without it
# and these may be set:
#   TFPROF_TENSORFLOW_PYTHON  a Python with TensorFlow: its profiler's tutorials run, and random graphs are compared
#   TFPROF_JAX_PYTHON         a Python with JAX: its example runs
#   TFPROF_TEST_JOBS          how many tests run at a time (two more than cores, as some wait for time to pass)
#   TFPROF_KEEP_TEST_FILES=1  keeps temporary files
#   CI=true                   nothing may be left out because a framework is missing; what is drawn is drawn by the same
#                             seeds each time
# A test of programs in real time that fails is tried once more, which is told at the end (run_one.sh).
# Results go to build/test-logs/junit.xml, output to build/Testing/Temporary/LastTest.log.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/dependencies.sh
. tools/dependencies.sh

need_packages "testing" "${build_packages[@]}" "${python_packages[@]}" "${test_packages[@]}"
say "Building"
build_release tests
mkdir -p build/test-logs
rm -f build/test-logs/*.first.log build/test-logs/*.cpu

# The names of the tests that the words mean, as an expression for ctest.
all=$(ctest --test-dir build -N | sed -n 's/^ *Test *#[0-9]*: //p')
chosen=""
for word in "$@"; do
  if printf '%s\n' "$all" | grep -q "^${word%/}/"; then
    chosen+="${chosen:+|}^${word%/}/"
  elif printf '%s\n' "$all" | grep -qxF "$word"; then
    chosen+="${chosen:+|}^$word\$"
  else
    fail "there is no group or test '$word'; the groups are: $(printf '%s\n' "$all" | cut -d/ -f1 | sort -u | xargs)"
  fi
done

need_test_python() {
  need_python_environment
  if ! "$PYTHON" -c 'import apsw, coverage, eventlet, gevent, numpy, nvtx' 2>/dev/null ||
    [ ! -x "$(dirname "$PYTHON")/oxlint" ]; then
    # Never into the system's Python: a virtual environment that sees the PyTorch which is already there.
    if [ "$PYTHON" != "$PWD/.venv/bin/python" ]; then
      [ -x .venv/bin/python ] || "$PYTHON" -m venv --system-site-packages .venv
      .venv/bin/python -c 'import torch' 2>/dev/null || install_pytorch
      PYTHON=$PWD/.venv/bin/python
    fi
    if ! "$PYTHON" -m pip install -q apsw coverage eventlet gevent numpy nvtx nvidia-nvtx oxlint py-spy; then
      local what="apsw, coverage, eventlet, gevent, NumPy, NVTX, oxlint and py-spy"
      [ -z "${CI:-}" ] || fail "$what could not be installed, and nothing may be left out for them"
      echo "$what could not be installed; tests that need them are skipped"
    fi
  fi
}
need_test_python
# The driver of the browser; Chromium itself is a package of the system.
"$PYTHON" -c 'import playwright' 2>/dev/null ||
  { [ "$PYTHON" = "$PWD/.venv/bin/python" ] && "$PYTHON" -m pip install -q playwright; } ||
  echo "playwright could not be installed; what looks at the page in a browser is skipped"
export TFPROF_BUILD=$PWD/build TFPROF_PYTHON=$PYTHON TFPROF_SHARED=""
if [ -d ../shared/traces ]; then TFPROF_SHARED=$(cd ../shared && pwd); export TFPROF_SHARED; fi

# What a test leaves behind goes with this folder, however the test ends; TFPROF_KEEP_TEST_FILES=1 keeps it.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/tfprof-tests-XXXXXX")
export TMPDIR
# shellcheck disable=SC2064  # the folder of now
trap "[ -n '${TFPROF_KEEP_TEST_FILES:-}' ] && echo 'kept: $TMPDIR' || rm -rf '$TMPDIR'" EXIT

say "Tests, GROUP/NAME"
export TFPROF_LEFT_OUT=$TMPDIR/left-out TFPROF_SECOND_TRIES=$TMPDIR/second-tries
[ -z "${CI:-}" ] || export TFPROF_DIFFERENTIAL_SEED="${TFPROF_DIFFERENTIAL_SEED:-1}"
status=0
ctest --test-dir build -R "${chosen:-.}" -j "${TFPROF_TEST_JOBS:-$(($(nproc) + 2))}" --no-tests=error \
  --output-on-failure --output-junit "$PWD/build/test-logs/junit.xml" || status=$?

say "Results"
[ ! -s "$TFPROF_LEFT_OUT" ] || sed 's/^/left out: /' "$TFPROF_LEFT_OUT"
if [ -s "$TFPROF_SECOND_TRIES" ]; then
  sed 's/^/tried twice: /' "$TFPROF_SECOND_TRIES"
  tail -n 15 build/test-logs/*.first.log
fi
count() { # of the first element
  sed -n "s/^.*[[:space:]]$1=\"\([0-9]*\)\".*$/\1/p" build/test-logs/junit.xml | head -n 1
}
tests=$(count tests) failures=$(count failures) skipped=$(count skipped)
printf '%d passed, %d failed, %d skipped\n' "$((tests - failures - skipped))" "$failures" "$skipped"
# Processor time is what all share; a test that takes much of it is the first to look at when they take too long.
awk '{ name = FILENAME; sub(/.*\//, "", name); sub(/\.cpu$/, "", name); sub(/-/, "/", name); print $1 + $2, name }' \
  build/test-logs/*.cpu | sort -rn | awk '
  { total += $1; if (NR <= 12) most = most sprintf("%s %s %.0f", NR > 1 ? "," : "", $2, $1) }
  END { printf "%.0f s of processor time; most:%s\n", total, most }'
exit "$status"
