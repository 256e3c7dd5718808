/* module_calls.c: see module_calls.h. */
#include "module_calls.h"

#include "base/list.h"
#include "channel/thread_rows.h"
#include "python/stack_nodes.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_THREAD, CALL_END, CALL_DURATION, CALL_MODULE, CALL_DEPTH, CALL_COLUMNS };
static const struct row_column call_columns[CALL_COLUMNS] = {
    {DUMP_module_calls_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_module_calls_end_ns, DUMP_ASCENDING, false, true},
    {DUMP_module_calls_dur_ns, DUMP_UNORDERED, false, true},
    {DUMP_module_calls_recorded_module, DUMP_UNORDERED, false, false},
    {DUMP_module_calls_depth, DUMP_UNORDERED, false, true},
};

static const struct table_form form = TABLE_FORM(module_calls, TABLE_ROWS, "calls of modules", call_columns, 512);

struct open_call {
  uint64_t ticks;      /* when it was told: no op inside it began before */
  uint64_t start, end; /* of its ops so far, ticks; end 0: none */
  uint32_t module; /* 0: not known */
};

/* The calls that a thread is inside of, outermost first; {0}: none. */
struct open_calls {
  struct open_call *calls;
  uint32_t count, capacity;
};

static struct row_buffer rows;
static struct open_calls of_thread[THREAD_MAXIMUM]; /* by number, from 1 on */
static uint64_t no_room;

bool module_calls_open(struct recorder *recorder) {
  memset(of_thread, 0, sizeof of_thread);
  no_room = 0;
  return row_tables_add(&recorder->tables, &rows, &form);
}

void module_calls_close(void) {
  for (unsigned i = 0; i < THREAD_MAXIMUM; i++) free(of_thread[i].calls);
}

static struct open_calls *calls_of(const struct capture_thread *thread) { return &of_thread[thread->number - 1]; }

/* A call without an op is none: those that ran before and after it were lost. */
static void write_call(struct recorder *recorder, int64_t thread, uint32_t level, const struct open_call *call) {
  if (!call->end) return;
  uint32_t row = thread < 0 ? UINT32_MAX : row_add(&rows);
  if (row == UINT32_MAX) {
    no_room++;
    return;
  }
  int64_t start = clock_map_ns(&recorder->clock, call->start), end = clock_map_ns(&recorder->clock, call->end);
  row_put(&rows, row, CALL_THREAD, thread);
  row_put(&rows, row, CALL_END, end);
  row_put(&rows, row, CALL_DURATION, clock_span_ns(start, end));
  row_put(&rows, row, CALL_DEPTH, level);
  if (call->module) row_set(&rows, row, CALL_MODULE, call->module);
}

static void note_span(struct open_call *call, uint64_t start, uint64_t end) {
  if (!call->end || start < call->start) call->start = start;
  if (end > call->end) call->end = end;
}

/* Those inside the first `level` ones are over; each is a part of the one around it. A thread of which a call has an op
** has a row. */
static void close_calls(struct recorder *recorder, const struct capture_thread *thread, uint32_t level) {
  struct open_calls *open = calls_of(thread);
  while (open->count > level) {
    const struct open_call *call = &open->calls[--open->count];
    if (call->end && open->count) note_span(&open->calls[open->count - 1], call->start, call->end);
    write_call(recorder, thread_row_known(thread), open->count, call);
  }
}

static bool reserve(struct open_calls *open, uint32_t count) {
  return array_reserve(open->calls, open->capacity, count);
}

/* `level` others are around it. */
static void begin_call(struct recorder *recorder, const struct capture_thread *thread, uint32_t level, uint32_t module,
                       uint64_t ticks) {
  struct open_calls *open = calls_of(thread);
  close_calls(recorder, thread, level);
  if (level > open->count || !reserve(open, level + 1)) { /* what is around it is not known */
    no_room++;
    return;
  }
  open->calls[open->count++] = (struct open_call){.ticks = ticks, .module = module};
}

void module_calls_item(struct recorder *recorder, const struct channel_item *item) {
  const struct call_item *call = (const struct call_item *)item->item;
  struct stack_node node = stack_node(item->thread, call->head.id);
  struct open_calls *open = calls_of(item->thread);
  if (!node.level) return;
  if (!(call->head.scope & CALL_GOES_ON))
    begin_call(recorder, item->thread, node.level - 1, node.module, call->ticks);
  else if (node.level <= open->count && node.module)
    open->calls[node.level - 1].module = node.module;
}

void module_call_has_op(struct recorder *recorder, const struct capture_thread *thread, uint32_t level,
                        uint64_t start_ticks, uint64_t end_ticks) {
  struct open_calls *open = calls_of(thread);
  if (level > open->count) return;
  /* An op that began before a call and ends after it is around it. */
  if (level < open->count && open->calls[level].ticks <= start_ticks) close_calls(recorder, thread, level);
  if (level && open->calls[level - 1].ticks <= start_ticks) note_span(&open->calls[level - 1], start_ticks, end_ticks);
}

void module_calls_thread_over(struct recorder *recorder, const struct capture_thread *thread) {
  struct open_calls *open = calls_of(thread);
  close_calls(recorder, thread, 0);
  free(open->calls);
  *open = (struct open_calls){0};
}

void module_calls_losses(struct recorder *recorder) {
  static const char why[] = "calls of modules have no row because those around them were not seen or memory was short";
  recorder_lost(recorder, (struct loss){no_room, "info", why, "module_calls", &rows});
}
