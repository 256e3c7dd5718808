/* module_calls.c: see module_calls.h. */
#include "module_calls.h"

#include "channel/thread_record.h"
#include "recorder/dump_ids.h"

#include <stdlib.h>

enum { CALL_THREAD, CALL_END, CALL_DURATION, CALL_MODULE, CALL_DEPTH, CALL_COLUMNS };
static const struct row_column call_columns[CALL_COLUMNS] = {
    {DUMP_module_calls_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_module_calls_end_ns, DUMP_ASCENDING, false, true},
    {DUMP_module_calls_dur_ns, DUMP_UNORDERED, false, true},
    {DUMP_module_calls_recorded_module, DUMP_UNORDERED, false, false},
    {DUMP_module_calls_depth, DUMP_UNORDERED, false, true},
};

struct open_call {
  uint64_t ticks;      /* when it was told: no op inside it began before */
  uint64_t start, end; /* of its ops so far, ticks; end 0: none */
  uint32_t module; /* 0: not known */
};

bool module_calls_begin(struct module_calls *calls) {
  memset(calls, 0, sizeof *calls);
  return row_buffer_begin(&calls->rows, DUMP_TABLE_module_calls, call_columns, CALL_COLUMNS, 512);
}

void module_calls_end(struct module_calls *calls) { row_buffer_end(&calls->rows); }

/* A call without an op is none: those that ran before and after it were lost. */
static void write_call(struct module_calls *calls, const struct clock_map *clock, int64_t thread, uint32_t level,
                       const struct open_call *call) {
  if (!call->end) return;
  uint32_t row = thread < 0 ? UINT32_MAX : row_add(&calls->rows);
  if (row == UINT32_MAX) {
    calls->no_room++;
    return;
  }
  int64_t start = clock_map_ns(clock, call->start), end = clock_map_ns(clock, call->end);
  row_put(&calls->rows, row, CALL_THREAD, thread);
  row_put(&calls->rows, row, CALL_END, end);
  row_put(&calls->rows, row, CALL_DURATION, end - start);
  row_put(&calls->rows, row, CALL_DEPTH, level);
  if (call->module) row_set(&calls->rows, row, CALL_MODULE, call->module);
}

static void note_span(struct open_call *call, uint64_t start, uint64_t end) {
  if (!call->end || start < call->start) call->start = start;
  if (end > call->end) call->end = end;
}

/* Those inside the first `level` ones are over; each is a part of the one around it. */
static void close_calls(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                        int64_t thread, uint32_t level) {
  while (open->count > level) {
    const struct open_call *call = &open->calls[--open->count];
    if (call->end && open->count) note_span(&open->calls[open->count - 1], call->start, call->end);
    write_call(calls, clock, thread, open->count, call);
  }
}

static bool reserve(struct open_calls *open, uint32_t count) {
  if (count <= open->capacity) return true;
  uint32_t capacity = open->capacity ? open->capacity * 2 : 16;
  while (capacity < count) capacity *= 2;
  struct open_call *larger = realloc(open->calls, capacity * sizeof *larger);
  if (!larger) return false;
  open->calls = larger;
  open->capacity = capacity;
  return true;
}

void module_call_begins(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                        int64_t thread, uint32_t level, uint32_t module, uint64_t ticks) {
  close_calls(calls, open, clock, thread, level);
  if (level > open->count || !reserve(open, level + 1)) { /* what is around it is not known */
    calls->no_room++;
    return;
  }
  open->calls[open->count++] = (struct open_call){.ticks = ticks, .module = module};
}

void module_call_goes_on(struct open_calls *open, uint32_t level, uint32_t module) {
  if (level < open->count && module) open->calls[level].module = module;
}

void module_call_has_op(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                        int64_t thread, uint32_t level, uint64_t start_ticks, uint64_t end_ticks) {
  if (level > open->count) return;
  /* An op that began before a call and ends after it is around it. */
  if (level < open->count && open->calls[level].ticks <= start_ticks) close_calls(calls, open, clock, thread, level);
  if (level && open->calls[level - 1].ticks <= start_ticks) note_span(&open->calls[level - 1], start_ticks, end_ticks);
}

void module_calls_are_over(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                           int64_t thread) {
  close_calls(calls, open, clock, thread, 0);
}

void open_calls_free(struct open_calls *open) {
  free(open->calls);
  memset(open, 0, sizeof *open);
}
