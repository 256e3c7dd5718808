#!/usr/bin/env bash
# run.sh: installs what is missing, builds, and runs every test.
#
#   tests/run.sh             everything
#   tests/run.sh NAME...     only the groups named: unit, asan, tsan, fuzz, or a directory of tests/ (sql, shell, ...)
#
# A test is a program: exit status 0 is passed, 77 skipped (its last line says why), anything else failed.  C tests are
# run by ctest; every tests/DIRECTORY/test_*.py and test_*.sh is run with these variables set:
#   TFPROF_BUILD    the build directory
#   TFPROF_PYTHON   a Python with PyTorch, NumPy and apsw (the newest SQLite)
#   TFPROF_SHARED   the folder of large real traces beside the clone, or empty: tests that use it skip without it
# TFPROF_TENSORFLOW_PYTHON may name a Python with TensorFlow: then its profiler's tutorials run, and random graphs are
# compared with it.  A program that did one part and had to leave another out exits 77, too.  Output goes to
# build/test-logs/, temporary files are removed (TFPROF_KEEP_TEST_FILES=1 keeps them).  With CI=true a test that is
# skipped because a framework is missing counts as failed.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/dependencies.sh
. tools/dependencies.sh

wanted=("$@")
passed=0 failed=0 skipped=0 failures=() jobs=${TFPROF_TEST_JOBS:-$(nproc)}
wants() { # group
  local group
  [ ${#wanted[@]} -eq 0 ] && return 0
  for group in "${wanted[@]}"; do [ "$group" = "$1" ] && return 0; done
  return 1
}
# One result: name, exit status, log, seconds.
record() {
  local reason
  case $2 in
    0) passed=$((passed + 1)); printf '  passed   %s (%s s)\n' "$1" "$4" ;;
    77)
      reason=$(tail -n 1 "$3")
      if [ -n "${CI:-}" ] && printf '%s' "$reason" | grep -qiE 'torch|apsw|numpy|framework|clang'; then
        failed=$((failed + 1)); failures+=("$1"); printf '  FAILED   %s: skipped in CI: %s\n' "$1" "$reason"
      else
        skipped=$((skipped + 1)); printf '  skipped  %s: %s\n' "$1" "$reason"
      fi ;;
    *)
      failed=$((failed + 1)); failures+=("$1")
      printf '  FAILED   %s (exit status %s, %s s), the end of %s:\n' "$1" "$2" "$4" "$3"
      tail -n 25 "$3" | sed 's/^/           /' ;;
  esac
}
# Tests in flight: process id -> name.  A finished one leaves its exit status and its seconds beside its log.
declare -A running=()
record_finished() {
  local process name status seconds
  for process in "${!running[@]}"; do
    name=${running[$process]}
    [ -s "$logs/${name//\//-}.result" ] || continue
    read -r status seconds <"$logs/${name//\//-}.result"
    unset "running[$process]"
    record "$name" "$status" "$logs/${name//\//-}.log" "$seconds"
  done
}
finish_tests() { # how many may still be running
  while [ ${#running[@]} -gt "$1" ]; do
    wait -n || true
    record_finished
  done
}
run() { # name, command...
  local name=$1 file=$logs/${1//\//-}
  shift
  finish_tests $((jobs - 1))
  rm -f "$file.result"
  {
    status=0 started=$SECONDS
    timeout 900 "$@" >"$file.log" 2>&1 </dev/null || status=$?
    echo "$status $((SECONDS - started))" >"$file.result"
  } &
  running[$!]=$name
}
run_ctest() { # build directory, name prefix, pattern of names, environment...
  local name
  while read -r name; do
    [[ $name =~ $3 ]] || continue
    run "$2/$name" env "${@:4}" "$1/tests/$name"
  done < <(ctest --test-dir "$1" -N 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p')
}

need_packages "testing" "${build_packages[@]}" "${python_packages[@]}" "${test_packages[@]}"
say "Building"
build_release
logs=$PWD/build/test-logs
mkdir -p "$logs"

need_test_python() {
  need_python_environment
  if ! "$PYTHON" -c 'import apsw, coverage, numpy' 2>/dev/null; then
    # Never into the system's Python: a virtual environment that sees the PyTorch which is already there.
    if [ "$PYTHON" != "$PWD/.venv/bin/python" ]; then
      [ -x .venv/bin/python ] || "$PYTHON" -m venv --system-site-packages .venv
      .venv/bin/python -c 'import torch' 2>/dev/null || install_pytorch
      PYTHON=$PWD/.venv/bin/python
    fi
    if ! "$PYTHON" -m pip install -q apsw coverage numpy py-spy; then
      [ -z "${CI:-}" ] ||
        fail "apsw, coverage, NumPy and py-spy could not be installed, and nothing may be left out for want of them"
      echo "apsw, coverage, NumPy and py-spy could not be installed; tests that need them are skipped"
    fi
  fi
}
need_test_python
export TFPROF_BUILD=$PWD/build TFPROF_PYTHON=$PYTHON TFPROF_SHARED=""
if [ -d ../shared/traces ]; then TFPROF_SHARED=$(cd ../shared && pwd); export TFPROF_SHARED; fi

# What a test leaves behind goes with this folder, however the test ends; TFPROF_KEEP_TEST_FILES=1 keeps it.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/tfprof-tests-XXXXXX")
export TMPDIR
# shellcheck disable=SC2064  # the folder of now
trap "[ -n '${TFPROF_KEEP_TEST_FILES:-}' ] && echo 'kept: $TMPDIR' || rm -rf '$TMPDIR'" EXIT

say "Tests, GROUP/NAME"
if wants unit; then
  run_ctest build unit .
fi
if wants asan; then # AddressSanitizer and UndefinedBehaviorSanitizer
  cmake --preset asan >/dev/null
  if cmake --build --preset asan -j "$(nproc)" >"$logs/asan-build.log" 2>&1; then
    run_ctest build-asan asan . ASAN_OPTIONS=detect_leaks=1
  else
    record asan/build 1 "$logs/asan-build.log" -
  fi
fi
if wants tsan; then # ThreadSanitizer
  cmake --preset tsan >/dev/null
  if cmake --build --preset tsan -j "$(nproc)" >"$logs/tsan-build.log" 2>&1; then
    # Only those that use threads.  Recent kernels place mappings where the runtime of older compilers does not expect
    # them.
    run_ctest build-tsan tsan 'capture|parallel|store|read|threads|derive' setarch "$(uname -m)" -R
  else
    record tsan/build 1 "$logs/tsan-build.log" -
  fi
fi
for directory in tests/*/; do
  group=$(basename "$directory")
  case $group in unit | bench) continue ;; esac
  wants "$group" || continue
  shopt -s nullglob
  scripts=("$directory"test_*.py "$directory"test_*.sh)
  shopt -u nullglob
  [ ${#scripts[@]} -eq 0 ] && continue
  for script in "${scripts[@]}"; do
    case $script in
      *.py) run "$group/$(basename "$script" .py)" "$PYTHON" "$script" ;;
      *.sh) run "$group/$(basename "$script" .sh)" bash "$script" ;;
    esac
  done
done

finish_tests 0
say "Results"
for name in "${failures[@]}"; do printf 'failed: %s\n' "$name"; done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
