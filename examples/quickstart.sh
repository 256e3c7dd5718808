#!/usr/bin/env bash
# quickstart.sh: from a fresh clone to the first answers, in one command.
#
#   ./examples/quickstart.sh [--framework pytorch|tensorflow|jax]
#
# Installs what is missing (Debian, Ubuntu), builds, trains a small network under tfprof-capture without changing its
# script, and prints the tables that a person wants first.  Run it from anywhere; it works in the clone that it lies in
# and leaves the recording in ./run.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/dependencies.sh
. tools/dependencies.sh

framework=pytorch
while [ $# -gt 0 ]; do
  case $1 in
    --framework) [ $# -gt 1 ] || fail "--framework needs a name: pytorch, tensorflow or jax"; framework=$2; shift 2 ;;
    --framework=*) framework=${1#*=}; shift ;;
    *) fail "there is no option $1; --framework pytorch, tensorflow or jax says what is trained with" ;;
  esac
done
case $framework in
  pytorch) program=examples/train_cnn.py size='with PyTorch in .venv 1.2 GB' ;;
  tensorflow | keras) framework=tensorflow program=examples/train_keras.py size='with TensorFlow in .venv 2 GB' ;;
  jax) program=examples/train_jax.py size='with JAX in .venv 0.7 GB' ;;
  *) fail "there is no quickstart for $framework; there are pytorch, tensorflow and jax" ;;
esac

say "Building tfprof into build/: half a minute to a minute on two cores, and the packages that are missing before that;
   the clone becomes 0.2 GB, and $size"
build_release
need_python_environment "$framework"

if [ "$framework" = pytorch ] && "$PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  program=examples/train_gpu.py
fi
say "Training $program under tfprof-capture"
build/tfprof-capture --force -o run -- "$PYTHON" "$program"

width=()
[ -t 1 ] || width=(--width 120) # a log has no width of its own
show() {                         # title, query
  say "$1"
  printf '%s\n' "$2"
  build/tfprof --format box "${width[@]}" run "$2"
}

if [ "$framework" = pytorch ]; then
  show "The steps; times and all that follows are of those after the warm-up" \
    "SELECT step_count AS steps, warmup_count AS warm_up, round(median_ns / 1e6, 1) AS median_ms,
  round(max_ns / 1e6, 1) AS longest_ms, round(steps_per_second, 1) AS per_second,
  round(100 * input_ratio, 1) AS input_percent, round(100 * in_optimizer_ratio, 1) AS optimizer_percent,
  round(ops_per_step) AS ops_per_step FROM step_summary"
else # of Keras, what passes between the batches is loading as a rule
  show "The steps; times are of those after the warm-up" \
    "SELECT step_count AS steps, warmup_count AS warm_up, round(median_ns / 1e6, 1) AS median_ms,
  round(max_ns / 1e6, 1) AS longest_ms, round(between_ns / 1e6, 1) AS between_ms,
  round(steps_per_second, 1) AS per_second FROM step_summary"
fi
# Ops of TensorFlow and JAX are those of windows in which their own profilers looked, where there were any.
if build/tfprof --format csv run "SELECT count(*) FROM ops WHERE category = 'op'" | grep -q '^[1-9]'; then
  show "The most expensive ops" \
    "SELECT op, count, round(self_ns / 1e6, 1) AS self_ms, round(100 * self_ratio, 1) AS percent
  FROM op_summary LIMIT 10"
  show "Time by source line" \
    "SELECT location, trim(text) AS text, round(self_ns / 1e6, 1) AS self_ms, round(100 * self_ratio, 1) AS percent,
  round(backward_ns / 1e6, 1) AS backward_ms FROM code_summary WHERE self_ns > 0 LIMIT 8"
fi
if [ "$framework" != pytorch ]; then
  show "What was compiled, and where Keras was" \
    "SELECT CASE WHEN name GLOB 'keras.step#*' THEN 'keras.step' WHEN name GLOB 'keras.epoch#*' THEN 'keras.epoch'
  ELSE name END AS name, count(*) AS count, round(sum(dur_ns) / 1e6, 1) AS ms, round(max(dur_ns) / 1e6, 1) AS longest_ms
  FROM ranges GROUP BY 1 ORDER BY 3 DESC LIMIT 10"
fi
if [ "$program" = examples/train_gpu.py ]; then
  show "What the GPU does" \
    "SELECT coalesce(short_name, name) AS kernel, CAST(round(sum(coalesce(weight, 1))) AS INTEGER) AS count,
  round(sum(dur_ns * coalesce(weight, 1)) / 1e6, 1) AS ms FROM kernels LEFT JOIN _thinned_steps USING (step_id)
  GROUP BY 1 ORDER BY 3 DESC LIMIT 8"
  show "When it does nothing, and what it lacks then" \
    "SELECT reason, CAST(round(sum(weight)) AS INTEGER) AS gaps, round(sum(gap_ns * weight) / 1e6, 1) AS ms
  FROM gap_causes GROUP BY 1 ORDER BY 3 DESC"
fi
show "Advice" "SELECT severity, check_name, message, suggestion FROM advise"

say "The same as a picture, for a browser; nothing is fetched"
build/tfprof report run -o report.html

cat <<'TEXT'

== What to type next

  report.html                                         open it in a browser, from this disk or any other

  build/tfprof run                                    SQL at a prompt, with completion; `tables` and `views` list all
  sqlite3 -box -cmd '.load build/tfprof' -cmd "SELECT tfprof_open('run')"
  sqlite> SELECT * FROM step_summary;
  sqlite> SELECT op, count, self_ns, self_ratio FROM op_summary LIMIT 10;
  build/tfprof-capture -o my-run -- python train.py   your own program, unchanged
TEXT
