/* hang_rows.c: all threads of the process, each with what the kernel, the interpreter and its own record tell of it
** (see hang_rows.h).
*/
#include "hang_rows.h"

#include "c_stacks.h"
#include "channel/thread_rows.h"
#include "flight_recorder.h"
#include "governor/sampling.h"
#include "host/thread_looks.h"
#include "host/thread_waits.h"
#include "python/python_layout.h"
#include "python/python_peek.h"
#include "python/python_states.h"
#include "torch/op_rows.h"

#include <stdlib.h>
#include <string.h>

enum {
  HANG_START,
  HANG_NOTICED,
  HANG_STEP,
  HANG_THREAD,
  HANG_USUAL,
  HANG_LIMIT,
  HANG_THREADS,
  HANG_WORKING,
  HANG_COLUMNS
};
static const struct row_column hang_columns[HANG_COLUMNS] = {
    {DUMP_hangs_start_ns, DUMP_UNORDERED, false, true},     {DUMP_hangs_noticed_ns, DUMP_ASCENDING, false, true},
    {DUMP_hangs_step_number, DUMP_UNORDERED, false, true},  {DUMP_hangs_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_hangs_usual_ns, DUMP_UNORDERED, false, false},    {DUMP_hangs_limit_ns, DUMP_UNORDERED, false, true},
    {DUMP_hangs_thread_count, DUMP_UNORDERED, false, true}, {DUMP_hangs_is_working, DUMP_UNORDERED, false, true},
};

enum {
  THREAD_HANG,
  THREAD_THREAD,
  THREAD_TIME,
  THREAD_STATE,
  THREAD_WAIT,
  THREAD_CALL,
  THREAD_FUNCTION,
  THREAD_BUSY,
  THREAD_TRACE,
  THREAD_CHANGING,
  THREAD_OP,
  THREAD_RANGE,
  THREAD_C_STACK,
  THREAD_COLUMNS
};
static const struct row_column thread_columns[THREAD_COLUMNS] = {
    {DUMP_hang_threads_hang_id, DUMP_UNORDERED, false, true},
    {DUMP_hang_threads_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_hang_threads_time_ns, DUMP_ASCENDING, false, true},
    {DUMP_hang_threads_state, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_waits_for, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_system_call, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_kernel_function, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_busy_ratio, DUMP_UNORDERED, true, false},
    {DUMP_hang_threads_code_trace_id, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_is_changing, DUMP_UNORDERED, false, true},
    {DUMP_hang_threads_op, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_range, DUMP_UNORDERED, false, false},
    {DUMP_hang_threads_c_stack, DUMP_UNORDERED, false, false},
};

enum {
  GROUP_HANG,
  GROUP_NAME,
  GROUP_DESCRIPTION,
  GROUP_COLLECTIVE,
  GROUP_NUMBER,
  GROUP_LAST,
  GROUP_START,
  GROUP_PENDING,
  GROUP_POINT_TO_POINT,
  GROUP_COLUMNS
};
static const struct row_column group_columns[GROUP_COLUMNS] = {
    {DUMP_hang_collectives_hang_id, DUMP_UNORDERED, false, true},
    {DUMP_hang_collectives_process_group, DUMP_UNORDERED, false, false},
    {DUMP_hang_collectives_description, DUMP_UNORDERED, false, false},
    {DUMP_hang_collectives_name, DUMP_UNORDERED, false, false},
    {DUMP_hang_collectives_number, DUMP_UNORDERED, false, true},
    {DUMP_hang_collectives_last_number, DUMP_UNORDERED, false, true},
    {DUMP_hang_collectives_start_ns, DUMP_UNORDERED, false, false},
    {DUMP_hang_collectives_is_pending, DUMP_UNORDERED, false, true},
    {DUMP_hang_collectives_is_point_to_point, DUMP_UNORDERED, false, true},
};

static const struct table_form hangs_form = TABLE_FORM(hangs, TABLE_ROWS, "hangs", hang_columns, 64);
static const struct table_form threads_form =
    TABLE_FORM(hang_threads, TABLE_ROWS, "threads of hangs", thread_columns, 64);
static const struct table_form groups_form =
    TABLE_FORM(hang_collectives, TABLE_ROWS, "collectives of hangs", group_columns, 64);

static struct row_buffer hangs, threads, groups;

enum { THREADS = 4096, TRACE_TRIES = 3 };

/* What is known of a thread by its number, from several sides; in the order of the numbers once it is sorted. */
struct known_thread {
  uint32_t tid;
  int64_t ran_ns;                      /* when it was looked at first; -1: not known */
  uintptr_t python;                    /* its PyThreadState; 0: none */
  const struct capture_thread *record; /* NULL: it has none */
};

static struct {
  struct known_thread before[THREADS]; /* sorted */
  unsigned before_count;
  uint32_t tids[THREADS];
  struct python_state states[THREADS];
  struct known_thread known[THREADS];
} list; /* untouched until something hangs */

bool hang_rows_open(struct recorder *recorder) {
  /* Of what waits they are written in this order: who sees a hang sees all of it. */
  return row_tables_add(&recorder->tables, &threads, &threads_form) &&
         row_tables_add(&recorder->tables, &groups, &groups_form) &&
         row_tables_add(&recorder->tables, &hangs, &hangs_form);
}

static int by_tid(const void *left, const void *right) {
  uint32_t a = ((const struct known_thread *)left)->tid, b = ((const struct known_thread *)right)->tid;
  return (a > b) - (a < b);
}

static struct known_thread *find(struct known_thread *among, unsigned count, uint32_t tid) {
  const struct known_thread wanted = {.tid = tid};
  return bsearch(&wanted, among, count, sizeof *among, by_tid);
}

/* All threads that the process has, by number. How many; `all`: those for which there is no room, too. */
static unsigned list_threads(struct known_thread *threads_there, unsigned *all) {
  unsigned count = thread_list(list.tids, THREADS, all);
  for (unsigned i = 0; i < count; i++) threads_there[i] = (struct known_thread){.tid = list.tids[i], .ran_ns = -1};
  qsort(threads_there, count, sizeof *threads_there, by_tid);
  return count;
}

void hang_rows_look(void) {
  unsigned all;
  list.before_count = list_threads(list.before, &all);
  for (unsigned i = 0; i < list.before_count; i++) list.before[i].ran_ns = thread_ran_ns(list.before[i].tid);
}

/* The states of threads, and what they record. One whose state was not listed is known by its record. */
static void find_records(unsigned count) {
  for (unsigned number = 1; number <= thread_count(); number++) {
    const struct capture_thread *record = thread_of_number(number);
    if (!record || thread_state_of(record) != THREAD_RUNNING) continue;
    struct known_thread *thread = find(list.known, count, record->tid);
    if (!thread) continue;
    thread->record = record;
    thread->python = (uintptr_t)atomic_load(&record->python_state);
  }
  unsigned state_count = python_layout.version ? python_states_list(list.states, THREADS) : 0;
  for (unsigned i = 0; i < state_count; i++) {
    struct known_thread *thread = find(list.known, count, list.states[i].tid);
    if (thread) thread->python = list.states[i].address;
  }
}

/* ---- Rows. */

static void set_string(struct recorder *recorder, struct row_buffer *rows, uint32_t row, unsigned column,
                       const char *text) {
  if (text && *text) row_set(rows, row, column, dump_writer_string(recorder->writer, text, strlen(text)));
}

/* Code that dies meanwhile makes a trace void: it is read again. */
static int64_t find_trace(struct recorder *recorder, uintptr_t state, bool *is_changing) {
  static struct python_place stack[STACK_MAXIMUM];
  int64_t trace = -1;
  *is_changing = false;
  if (!state || !python_layout.version) return -1;
  for (unsigned tries = 0; tries < TRACE_TRIES && trace < 0; tries++) {
    python_peek_begin();
    unsigned depth = python_peek_steady(state, stack, is_changing);
    if (!depth && !*is_changing) return -1; /* it runs no Python */
    if (depth) trace = python_peek_trace(recorder, stack, depth);
  }
  return trace;
}

/* Of a thread that stands where it is, so that what it has open stays: the innermost op, and the range begun last. */
static void set_open(uint32_t row, const struct capture_thread *record) {
  uint32_t depth = atomic_load(&record->depth), ranges = atomic_load(&record->range_count), name = 0;
  for (uint32_t i = depth < OPEN_MAXIMUM ? depth : OPEN_MAXIMUM; i-- && !name;)
    if (open_op_scope(&record->open[i]) != SCOPE_PYTHON) name = op_rows_name(record, record->open[i].name);
  if (name) row_set(&threads, row, THREAD_OP, name);
  const struct open_op *last = NULL;
  for (uint32_t i = 0; i < ranges && i < RANGE_MAXIMUM; i++) {
    const struct open_op *range = &record->ranges[i];
    bool is_open = !atomic_load(&range->is_done) && !atomic_load(&range->is_engine_range);
    if (is_open && (!last || range->start_ticks > last->start_ticks)) last = range;
  }
  name = last ? op_rows_name(record, last->name) : 0;
  if (name) row_set(&threads, row, THREAD_RANGE, name);
}

static void set_c_stack(struct recorder *recorder, uint32_t row, uint32_t tid, const struct thread_look *look) {
  static char text[C_STACK_BYTES];
  size_t length = c_stacks_take(tid, look, text, sizeof text);
  if (length) row_set(&threads, row, THREAD_C_STACK, dump_writer_string(recorder->writer, text, length));
}

static bool is_own(const struct thread_look *look) { return !strncmp(look->name, "tfprof-", 7); }

/* false: it has ended, or is the recorder's. */
static bool tell_thread(struct recorder *recorder, const struct hang *hang, int64_t hang_row,
                        const struct known_thread *thread) {
  struct thread_look look;
  if (!thread_look(thread->tid, &look) || is_own(&look)) return false;
  const struct known_thread *before = find(list.before, list.before_count, thread->tid);
  int64_t ran_ns = thread_ran_ns(thread->tid), now = (int64_t)clock_monotonic_ns();
  bool is_known = before && before->ran_ns >= 0 && ran_ns >= 0 && now > hang->looked_ns;
  double busy = is_known ? (double)(ran_ns - before->ran_ns) / (double)(now - hang->looked_ns) : 0;
  bool is_changing;
  int64_t trace = find_trace(recorder, thread->python, &is_changing);
  int64_t its_row = thread->record ? thread_row(recorder, thread->record) : thread_row_of_tid(recorder, thread->tid);
  uint32_t row = its_row < 0 ? UINT32_MAX : row_add(&threads);
  if (row == UINT32_MAX) return true;
  row_put(&threads, row, THREAD_HANG, hang_row);
  row_put(&threads, row, THREAD_THREAD, its_row);
  row_put(&threads, row, THREAD_TIME, now);
  row_put(&threads, row, THREAD_CHANGING, is_changing);
  set_string(recorder, &threads, row, THREAD_STATE, look.state);
  set_string(recorder, &threads, row, THREAD_WAIT, look.waits_for);
  set_string(recorder, &threads, row, THREAD_CALL, look.system_call);
  set_string(recorder, &threads, row, THREAD_FUNCTION, look.kernel_function);
  if (is_known) row_set_real(&threads, row, THREAD_BUSY, busy > 1 ? 1 : busy);
  if (trace >= 0) row_set(&threads, row, THREAD_TRACE, trace);
  if (thread->record && is_known && ran_ns == before->ran_ns) set_open(row, thread->record);
  if (hang->with_c_stacks) set_c_stack(recorder, row, thread->tid, &look);
  return true;
}

static void put_hang(struct recorder *recorder, const struct hang *hang, uint32_t row) {
  const struct capture_thread *ended_on = thread_of_number(sampling_step_thread());
  int64_t thread = ended_on ? thread_row(recorder, ended_on) : -1;
  row_put(&hangs, row, HANG_START, hang->start_ns);
  row_put(&hangs, row, HANG_NOTICED, hang->noticed_ns);
  row_put(&hangs, row, HANG_STEP, hang->step_number);
  if (thread >= 0) row_set(&hangs, row, HANG_THREAD, thread);
  if (hang->usual_ns) row_set(&hangs, row, HANG_USUAL, hang->usual_ns);
  row_put(&hangs, row, HANG_LIMIT, hang->limit_ns);
  row_put(&hangs, row, HANG_WORKING, hang->is_working);
}

static void put_group(struct recorder *recorder, int64_t hang_row, const struct flight_group *group) {
  uint32_t row = row_add(&groups);
  if (row == UINT32_MAX) return;
  row_put(&groups, row, GROUP_HANG, hang_row);
  set_string(recorder, &groups, row, GROUP_NAME, group->name);
  set_string(recorder, &groups, row, GROUP_DESCRIPTION, group->description);
  set_string(recorder, &groups, row, GROUP_COLLECTIVE, group->collective);
  row_put(&groups, row, GROUP_NUMBER, group->number);
  row_put(&groups, row, GROUP_LAST, group->last_number);
  row_put(&groups, row, GROUP_PENDING, group->is_pending);
  row_put(&groups, row, GROUP_POINT_TO_POINT, group->is_point_to_point);
  struct clock_reading now; /* its time is of another clock */
  clock_read(&now);
  int64_t age_ns = now.realtime_ns - group->began_ns;
  if (group->began_ns > 0 && age_ns >= 0 && age_ns <= now.monotonic_ns)
    row_set(&groups, row, GROUP_START, now.monotonic_ns - age_ns);
}

void hang_rows_tell(struct recorder *recorder, const struct hang *hang) {
  uint32_t row = row_add(&hangs);
  if (row == UINT32_MAX) return;
  put_hang(recorder, hang, row);
  unsigned all, own = 0, count = list_threads(list.known, &all);
  find_records(count);
  for (unsigned i = 0; i < count; i++)
    own += !tell_thread(recorder, hang, (int64_t)(hangs.first_row + row), &list.known[i]);
  row_put(&hangs, row, HANG_THREADS, all - own);
  const struct flight_group *told;
  unsigned group_count = flight_recorder_groups(&told);
  for (unsigned i = 0; i < group_count; i++) put_group(recorder, (int64_t)(hangs.first_row + row), &told[i]);
}
