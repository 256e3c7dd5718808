#!/usr/bin/env bash
# run_one.sh: one test, for ctest: NAME PROGRAM [ARGUMENT...], or NAME SCRIPT.
#
# What it prints goes to build/test-logs/NAME.log, which is there also after a test that had to be killed, and from
# there to ctest.  Exit status 77 is a test, or a part of one, that was left out; its last line says why, which is kept
# for the end of tests/run.sh.  With CI=true nothing may be left out for want of a framework or a tool: that counts as
# failed.  The processor time that it took, in seconds of the program and of the system, goes to
# build/test-logs/NAME.cpu.
set -u
name=$1
shift
case $1 in *.py) set -- "${TFPROF_PYTHON:-python3}" "$@" ;; *.sh) set -- bash "$@" ;; esac
mkdir -p "$TFPROF_BUILD/test-logs"
# Virtual machines tell of AMX and then refuse it, of which PyTorch's programs in bfloat16 die, recorded or not.
export ONEDNN_MAX_CPU_ISA="${ONEDNN_MAX_CPU_ISA:-AVX512_CORE}"
# SQLite prepares thousands of questions in tests of views, whose small pieces of memory take the C library a third of
# the time. What measures memory keeps the C library.
case $name in
  sql/test_bad_traces) ;;
  bounds/* | golden/* | sql/*)
    for allocator in /usr/lib/*/libjemalloc.so.2; do
      [ ! -e "$allocator" ] || export LD_PRELOAD="$allocator${LD_PRELOAD:+:$LD_PRELOAD}"
    done
    ;;
esac
# Threads of PyTorch that wait for each other leave the processors to the tests beside them.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"
log=$TFPROF_BUILD/test-logs/${name//\//-}.log
TIMEFORMAT='%U %S'
# A test needs its processor time, however long it has to wait for it: each of its processes may take some minutes of
# that, and only one that waits for what never comes is ended by the clock.
ulimit -S -t 440
# timeout gives it a process group of its own that is no orphan, in which programs can be stopped as at a terminal.
try() { { time timeout 1500 "$@" >"$log" 2>&1 </dev/null; } 2>"${log%.log}.cpu"; }
status=0
try "$@" || status=$?
case $name:$status in
  capture/*:0 | capture/*:77 | crash/*:0 | crash/*:77 | gpu/*:0 | gpu/*:77 | shell/*:0 | shell/*:77) ;;
  capture/* | crash/* | gpu/* | shell/*)
    mv "$log" "${log%.log}.first.log"
    [ -z "${TFPROF_SECOND_TRIES:-}" ] || echo "$name; the first ended with status $status" >>"$TFPROF_SECOND_TRIES"
    status=0
    try "$@" || status=$?
    ;;
esac
cat "$log"
[ "$status" -eq 77 ] || exit "$status"
reason=$(tail -n 1 "$log")
if [ -n "${CI:-}" ] && printf '%s' "$reason" | grep -qiE 'torch|apsw|numpy|framework|clang|less|mandoc'; then
  echo "may not be left out in CI"
  exit 1
fi
[ -z "${TFPROF_LEFT_OUT:-}" ] || printf '%s: %s\n' "$name" "$reason" >>"$TFPROF_LEFT_OUT"
exit 77
