/* repeated_calls.c: see repeated_calls.h.
**
** What calls last says little where they hand their work on, as those of JAX do: the evaluation that waits for it seems
** to take more time than training.  So where windows of the framework's own profiler were opened, which the recorder
** does between the steps that it counts, that function is taken whose calls are as many in most of them; then the time.
*/
#include "derive/steps/repeated_calls.h"
#include "derive/passes.h"
#include "derive/steps/kinds.h"
#include "derive/steps/window_steps.h"
#include "steps/step_words.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_ASKED, NO_CALL, CALL }; /* by name */
static const char call_of_jax[] = "PjitFunction(";

/* *end becomes the latest end of all rows. */
static enum tfprof_status find_calls(struct profile *profile, struct mark_list *list, int64_t *end,
                                     struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  enum tfprof_status status = TFPROF_OK;
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1);
  if (!kinds) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], programs[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    bool has_calls = false;
    if (block.segment->is_of_other_kind) continue; /* calls in windows are those that the recorder saw, again */
    block_texts(&block, COLUMN_ops_name, names);
    for (uint32_t i = 0; i < block.count; i++) {
      uint8_t *kind = &kinds[names[i]];
      if (*kind == NOT_ASKED) *kind = names[i] && is_repeated_call(pool_text(pool, names[i])) ? CALL : NO_CALL;
      has_calls |= *kind == CALL;
    }
    block_integers(&block, COLUMN_ops_end_ns, ends);
    for (uint32_t i = 0; i < block.count; i++) {
      if (ends[i] > *end) *end = ends[i]; /* no value is less than all */
    }
    if (!has_calls) continue;
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_references(&block, COLUMN_ops_thread_id, NO_ROW, threads);
    block_integers(&block, COLUMN_ops_called_program, programs);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (kinds[names[i]] != CALL || starts[i] == NO_VALUE || ends[i] < starts[i] || threads[i] == NO_ROW) continue;
      struct mark mark = {starts[i], ends[i], programs[i], (uint32_t)block.row + i, threads[i], names[i]};
      if (!mark_list_add(list, mark)) status = error_no_memory(error);
    }
  }
  scratch_free(kinds);
  return status;
}

enum tfprof_status list_repeated_calls(struct profile *profile, struct mark_list *list, struct tfprof_error *error) {
  int64_t end = NO_VALUE;
  return find_calls(profile, list, &end, error);
}

static int by_thread_name_and_start(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->name != b->name) return a->name < b->name ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static int by_number(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

/* `room` takes as many numbers as there are calls. */
static double typical_time(const struct mark *calls, uint32_t count, int64_t *room) {
  for (uint32_t i = 0; i < count; i++) room[i] = (int64_t)((uint64_t)calls[i].end - (uint64_t)calls[i].start);
  qsort(room, count, sizeof *room, by_number);
  uint32_t middle = count / 2;
  return (double)count * (double)room[middle];
}

/* How many of the calls begin before the moment. */
static uint32_t calls_before(const struct mark *calls, uint32_t count, int64_t time) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (calls[middle].start < time) low = middle + 1; else high = middle;
  }
  return low;
}

/* In how many windows there are as many of the calls, which are in order, as steps ended in it. */
static uint32_t count_agreeing(const struct counted_windows *windows, const struct mark *calls, uint32_t count) {
  uint32_t agreeing = 0;
  for (uint32_t i = 0; i < windows->count; i++) {
    const struct counted_window *window = &windows->items[i];
    int64_t within = (int64_t)calls_before(calls, count, window->end) - calls_before(calls, count, window->from);
    agreeing += within == window->step_count;
  }
  return agreeing;
}

static void extend_to_next(struct mark *calls, uint32_t count, int64_t end, int64_t *room) {
  if (count < 2) return;
  for (uint32_t i = 0; i + 1 < count; i++) {
    calls[i].end = calls[i + 1].start;
    room[i] = (int64_t)((uint64_t)calls[i].end - (uint64_t)calls[i].start);
  }
  struct mark *last = &calls[count - 1];
  qsort(room, count - 1, sizeof *room, by_number);
  uint32_t middle = (count - 1) / 2;
  int64_t usual;
  if (__builtin_add_overflow(last->start, room[middle], &usual) || usual > end) usual = end;
  if (usual > last->end) last->end = usual;
}

/* Keeps those of one function, of several that have the same name; their numbers are those of programs. */
static void keep_one_function(struct mark_list *list, uint64_t *room) {
  struct mark *marks = list->items;
  uint32_t most = 0, kept = 0;
  uint64_t chosen = 0;
  for (uint32_t i = 0; i < list->count; i++) room[i] = marks[i].number == NO_VALUE ? 0 : (uint64_t)marks[i].number;
  uint32_t period = kinds_period(room, list->count, LONGEST_PERIOD);
  for (uint32_t i = 0; i < period; i++) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < period; k++) count += room[k] == room[i];
    if (count <= most) continue;
    most = count;
    chosen = room[i];
  }
  for (uint32_t i = 0; i < list->count && period > 1; i++)
    if (room[i] == chosen) marks[kept++] = marks[i];
  if (period > 1) list->count = kept;
}

enum tfprof_status find_repeated_calls(struct profile *profile, uint32_t fewest, struct mark_list *list,
                                       bool *last_until_next, struct tfprof_error *error) {
  int64_t end_of_all = NO_VALUE, *room = NULL;
  struct counted_windows windows = {.count = 0};
  enum tfprof_status status = find_calls(profile, list, &end_of_all, error);
  uint32_t best = 0, best_count = 0, most_agreeing = 0, end;
  double most = 0;
  *last_until_next = false;
  if (!status && list->count) status = counted_windows_load(&windows, profile, error);
  if (!status && list->count && !(room = scratch_allocate(list->count * sizeof *room))) status = error_no_memory(error);
  if (status || !list->count) {
    counted_windows_free(&windows);
    return status;
  }
  struct mark *marks = list->items;
  qsort(marks, list->count, sizeof *marks, by_thread_name_and_start);
  for (uint32_t first = 0; first < list->count; first = end) {
    uint32_t kept = first;
    for (end = first; end < list->count; end++) {
      if (marks[end].thread != marks[first].thread || marks[end].name != marks[first].name) break;
      if (kept > first && marks[end].start < marks[kept - 1].end) continue; /* within another of its name */
      marks[kept++] = marks[end];
    }
    double covered = kept - first < fewest ? 0 : typical_time(marks + first, kept - first, room);
    uint32_t agreeing = covered > 0 ? count_agreeing(&windows, marks + first, kept - first) : 0;
    if (agreeing < most_agreeing || (agreeing == most_agreeing && covered <= most)) continue;
    most_agreeing = agreeing;
    most = covered;
    best = first;
    best_count = kept - first;
  }
  memmove(marks, marks + best, best_count * sizeof *marks);
  list->count = best_count;
  _Static_assert(sizeof *room == sizeof(uint64_t), "room for both");
  keep_one_function(list, (uint64_t *)room);
  best_count = list->count;
  const char *name = best_count ? pool_text(store_pool(profile->store), marks[0].name) : "";
  *last_until_next = strncmp(name, call_of_jax, strlen(call_of_jax)) == 0;
  if (*last_until_next) extend_to_next(marks, best_count, end_of_all, room);
  scratch_free(room);
  counted_windows_free(&windows);
  return TFPROF_OK;
}
