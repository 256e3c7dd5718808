#!/usr/bin/env bash
# under_tsan.sh: tests of programs on the doubles, all of which, the recorder and the program are of the build with
# ThreadSanitizer: a report of any process is a failure, however that process ends.
#
#   under_tsan.sh BUILD SCRIPT [TEST...]
set -eu
export TFPROF_BUILD=$1
shift
reports=$(mktemp -d) status=0
trap 'rm -rf "$reports"' EXIT
# The loader frees the variables of a thread that has ended, which the runtime does not see end (_dl_deallocate_tls).
mkdir "$reports/of"
echo "race:_dl_deallocate_tls" >"$reports/suppressed"
export TSAN_OPTIONS="die_after_fork=0 halt_on_error=0 log_path=$reports/of/report suppressions=$reports/suppressed"
# Recent kernels place mappings where the runtime of older compilers does not expect them.
setarch "$(uname -m)" -R "${TFPROF_PYTHON:-python3}" "$@" || status=$?
cat "$reports"/of/* 2>/dev/null && status=1
exit $status
