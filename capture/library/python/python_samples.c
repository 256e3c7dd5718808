/* python_samples.c: see python_samples.h. */
#include "python_samples.h"

#include "channel/thread_rows.h"
#include "governor/sampling.h"
#include "host/thread_waits.h"
#include "python_calls.h"
#include "python_layout.h"
#include "python_peek.h"
#include "recorder/clock.h"
#include "recorder/gate.h"

#include <string.h>

enum { SAMPLE_THREAD, SAMPLE_TIME, SAMPLE_PERIOD, SAMPLE_TRACE, SAMPLE_WAIT, SAMPLE_COLUMNS };
static const struct row_column columns[SAMPLE_COLUMNS] = {
    {DUMP_python_samples_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_python_samples_time_ns, DUMP_ASCENDING, false, true},
    {DUMP_python_samples_period_ns, DUMP_UNORDERED, false, true},
    {DUMP_python_samples_code_trace_id, DUMP_UNORDERED, false, true},
    {DUMP_python_samples_waits_for, DUMP_UNORDERED, false, false},
};

enum {
  LONGEST_PERIOD_NS = 100000000, /* one that comes later stands for no more: the machine was busy */
  THREADS_AT_ONCE = 8, /* where no thread is known to end the steps */
  MOST_TRIES = 4, /* at a stack that changes while it is read */
};

static const struct table_form samples_form =
    TABLE_FORM(python_samples, TABLE_ROWS, "samples of Python", columns, 256);

static struct row_buffer rows;
static uint64_t covered_ns; /* until then the looks so far stand for the time; 0: no ops were recorded */

bool python_samples_open(struct recorder *recorder) {
  covered_ns = 0;
  return row_tables_add(&recorder->tables, &rows, &samples_form);
}

/* ---- Threads. */

/* On a thread of autograd, for one that waits for it. */
static bool runs_backward_elsewhere(unsigned count, const struct capture_thread *but) {
  for (unsigned number = 1; number <= count; number++) {
    const struct capture_thread *thread = thread_of_number(number);
    bool is_backward = false;
    if (thread && thread != but && thread_state_of(thread) == THREAD_RUNNING &&
        thread_runs_op(thread, &is_backward) && is_backward)
      return true;
  }
  return false;
}

static void sample(struct recorder *recorder, const struct capture_thread *thread,
                   unsigned count, int64_t now, int64_t period) {
  static struct python_place stack[STACK_MAXIMUM];
  bool is_backward;
  if (thread_runs_op(thread, &is_backward) || runs_backward_elsewhere(count, thread)) return;
  int64_t ran_ns = thread_ran_ns(thread->tid);
  const char *wait = thread_waits_for(thread->tid);
  unsigned depth = 0;
  for (unsigned tries = 0; tries < MOST_TRIES && !depth; tries++)
    depth = python_peek_stack((uintptr_t)thread->python_state, stack, STACK_MAXIMUM);
  if (!depth || thread_runs_op(thread, &is_backward)) return;
  /* Where it has run since, the stack is another than the one that it waited in. */
  bool has_run = ran_ns < 0 || thread_ran_ns(thread->tid) != ran_ns;
  if (has_run && ran_ns >= 0) wait = NULL;
  else if (!has_run && !wait) wait = "processor";
  int64_t trace = python_peek_trace(recorder, stack, depth), its_row = thread_row(recorder, thread);
  uint32_t row = trace < 0 || its_row < 0 ? UINT32_MAX : row_add(&rows);
  if (row == UINT32_MAX) return;
  row_put(&rows, row, SAMPLE_THREAD, its_row);
  row_put(&rows, row, SAMPLE_TIME, now);
  row_put(&rows, row, SAMPLE_PERIOD, period);
  row_put(&rows, row, SAMPLE_TRACE, trace);
  if (wait) row_set(&rows, row, SAMPLE_WAIT, dump_writer_string(recorder->writer, wait, strlen(wait)));
}

void python_samples_take(struct recorder *recorder, const struct pulse *pulse) {
  if (!python_layout.version || !gate_wants_full()) {
    covered_ns = 0;
    return;
  }
  if (pulse->begin_ns < covered_ns) return;
  double begin_ns = clock_thread_ns();
  /* It stands for the slots since the last look, where it comes late, too; of several looks the first for its own. */
  uint64_t now = clock_monotonic_ns(), slot = pulse->end_ns - pulse->begin_ns, end = (now / slot + 1) * slot;
  uint64_t passed = end - (covered_ns ? covered_ns : end - slot);
  int64_t period = passed < LONGEST_PERIOD_NS ? (int64_t)passed : LONGEST_PERIOD_NS;
  python_peek_begin();
  unsigned steps_end_on = sampling_step_thread(), count = thread_count(), taken = 0;
  for (unsigned number = 1; number <= count && taken < THREADS_AT_ONCE; number++) {
    const struct capture_thread *thread = thread_of_number(number);
    if (!thread || (steps_end_on && number != steps_end_on)) continue;
    if (thread_state_of(thread) != THREAD_RUNNING || !thread->python_state) continue;
    sample(recorder, thread, count, (int64_t)now, period);
    taken++;
  }
  covered_ns = end;
  recorder_note_use(recorder, begin_ns, 1, 0, 1);
}
