/* interval_functions.c: how much time intervals cover.
**
** union_ns keeps a list of disjoint intervals.  Rows that come in order of their start, as most do, extend its last one
** or follow it, so that overlapping intervals take no memory; rows that do not are appended, and sorted at the end.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

struct interval { int64_t start, end; };

struct interval_list {
  struct interval *items; /* sqlite3_malloc64 */
  uint64_t count, capacity;
  bool is_unordered;
};

static bool append_interval(struct interval_list *list, int64_t start, int64_t end) {
  if (list->count) {
    struct interval *last = &list->items[list->count - 1];
    if (start >= last->start && start <= last->end) {
      if (end > last->end) last->end = end;
      return true;
    }
    if (start < last->start) list->is_unordered = true;
  }
  if (list->count == list->capacity) {
    uint64_t capacity = list->capacity ? list->capacity * 2 : 64;
    struct interval *items = sqlite3_realloc64(list->items, capacity * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = (struct interval){start, end};
  return true;
}

static void union_step(sqlite3_context *context, int count, sqlite3_value **values) {
  struct interval_list *list = sqlite3_aggregate_context(context, sizeof *list);
  int start_type = sqlite3_value_numeric_type(values[0]), end_type = sqlite3_value_numeric_type(values[1]);
  (void)count;
  if (!list) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (start_type == SQLITE_NULL || end_type == SQLITE_NULL) return;
  if (start_type == SQLITE_TEXT || start_type == SQLITE_BLOB || end_type == SQLITE_TEXT || end_type == SQLITE_BLOB) {
    sqlite3_result_error(context, "union_ns: start and end must be numbers", -1);
    return;
  }
  int64_t start = sqlite3_value_int64(values[0]), end = sqlite3_value_int64(values[1]);
  if (end > start && !append_interval(list, start, end)) sqlite3_result_error_nomem(context);
}

static int compare_starts(const void *left, const void *right) {
  int64_t a = ((const struct interval *)left)->start, b = ((const struct interval *)right)->start;
  return (a > b) - (a < b);
}

static void union_final(sqlite3_context *context) {
  struct interval_list *list = sqlite3_aggregate_context(context, 0);
  uint64_t length = 0;
  if (!list || list->count == 0) {
    sqlite3_result_int64(context, 0);
    return;
  }
  if (list->is_unordered) qsort(list->items, list->count, sizeof *list->items, compare_starts);
  struct interval current = list->items[0];
  for (uint64_t i = 1; i < list->count; i++) {
    struct interval next = list->items[i];
    if (next.start > current.end) {
      length += (uint64_t)current.end - (uint64_t)current.start;
      current = next;
    } else if (next.end > current.end) {
      current.end = next.end;
    }
  }
  length += (uint64_t)current.end - (uint64_t)current.start;
  sqlite3_free(list->items);
  memset(list, 0, sizeof *list);
  if (length > INT64_MAX) {
    sqlite3_result_error(context, "integer overflow", -1);
  } else {
    sqlite3_result_int64(context, (int64_t)length);
  }
}

static void overlap_function(sqlite3_context *context, int count, sqlite3_value **values) {
  int64_t ends[4];
  for (int i = 0; i < count; i++) {
    int type = sqlite3_value_numeric_type(values[i]);
    if (type == SQLITE_NULL) return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
      sqlite3_result_error(context, "overlap_ns: all four must be numbers", -1);
      return;
    }
    ends[i] = sqlite3_value_int64(values[i]);
  }
  int64_t start = ends[0] > ends[2] ? ends[0] : ends[2], end = ends[1] < ends[3] ? ends[1] : ends[3];
  uint64_t length = end > start ? (uint64_t)end - (uint64_t)start : 0;
  if (length > INT64_MAX) {
    sqlite3_result_error(context, "integer overflow", -1);
  } else {
    sqlite3_result_int64(context, (int64_t)length);
  }
}

const struct function_spec interval_functions[] = {
    {.name = "union_ns",
     .argument_count = 2,
     .step = union_step,
     .final = union_final,
     .text = {"start, end",
              "The time that intervals cover, overlaps counted once.",
              "start and end are numbers of one unit, mostly ns. Returns an integer of that unit, 0 without "
              "intervals. A row where either is NULL, or that ends before it starts, covers nothing. A text is an "
              "error, and so is a sum beyond 2^63 - 1.",
              "SELECT union_ns(start_ns, start_ns + dur_ns) FROM ops"}},
    {.name = "overlap_ns",
     .argument_count = 4,
     .function = overlap_function,
     .text = {"a_start, a_end, b_start, b_end",
              "The time that two intervals have in common.",
              "All four are numbers of one unit, mostly ns. Returns an integer of that unit, 0 where they do not "
              "overlap, and NULL when any of them is NULL. A text is an error.",
              "SELECT overlap_ns(0, 10, 5, 20)"}},
    {0},
};
