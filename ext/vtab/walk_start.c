/* walk_start.c: where a walk begins: at a stretch of positions, an index, or an order.  See cursor.h.
**
** A lookup by a column other than id needs an index, which costs a pass over the whole column and memory for as long as
** nothing is opened or closed.  For a single query a scan that compares is cheaper.  So the first lookups scan, and the
** index is built when a column is looked up often enough: at once for what a join does, never for what is asked once.
*/
#include "base/list.h"
#include "vtab/cursor.h"

#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

enum {
  LOOKUPS_BEFORE_INDEX = 8,           /* about what sorting costs in scans */
  LOOKUPS_BEFORE_REFERENCE_INDEX = 2, /* counting instead of sorting */
  ROWS_WORTH_SETTLING = 1024,         /* filters that are the same for all rows are then looked at once */
};

/* The first position whose id is not below `id`. */
static uint64_t first_position(const struct snapshot *snapshot, int64_t id) {
  size_t low = 0, high = snapshot->segment_count;
  while (low < high) { /* the first segment whose last id is not below */
    size_t middle = low + (high - low) / 2;
    const struct segment *segment = snapshot->segments[middle];
    int64_t rows = (int64_t)(snapshot->positions[middle + 1] - snapshot->positions[middle]);
    if (id_make(segment->profile->number, segment->first_row) + rows - 1 < id) low = middle + 1;
    else high = middle;
  }
  if (low == snapshot->segment_count) return snapshot->rows;
  const struct segment *segment = snapshot->segments[low];
  int64_t first = id_make(segment->profile->number, segment->first_row);
  return snapshot->positions[low] + (id > first ? (uint64_t)(id - first) : 0);
}

struct stretch { uint64_t begin, end; };

/* Narrows the stretch to bounds on id or profile_id. False: this column cannot, the filter must. */
static bool narrow(const struct cursor *cursor, const struct filter *filter, struct stretch *stretch) {
  const struct snapshot *snapshot = cursor->snapshot;
  int64_t minimum = filter->minimum, maximum = filter->maximum;
  if (filter->kind != FILTER_INTEGER_RANGE || filter->column > 1) return false;
  if (filter->column == 1 && snapshot->table != TABLE_profiles) {
    if (snapshot->table == TABLE_runs) return false;
    if (minimum < 0) minimum = 0;
    if (minimum > (int64_t)UINT32_MAX || maximum < 0) {
      stretch->end = stretch->begin;
      return true;
    }
    if (maximum > INT64_MAX >> ID_ROW_BITS) maximum = INT64_MAX >> ID_ROW_BITS;
    if (minimum > maximum) {
      stretch->end = stretch->begin;
      return true;
    }
    minimum = id_make((uint32_t)minimum, 0);
    maximum = (int64_t)((uint64_t)id_make((uint32_t)maximum, 0) | (((uint64_t)1 << ID_ROW_BITS) - 1));
  }
  uint64_t begin = first_position(snapshot, minimum);
  uint64_t end = maximum == INT64_MAX ? snapshot->rows : first_position(snapshot, maximum + 1);
  if (begin > stretch->begin) stretch->begin = begin;
  if (end < stretch->end) stretch->end = end;
  return true;
}

/* What a filter answers for every row there is, as walk_common_answer(); -1: not the same for all, or not known. */
static int common_answer(const struct cursor *cursor, struct filter *filter) {
  const struct snapshot *snapshot = cursor->snapshot;
  int common = -1;
  for (size_t i = 0; i < snapshot->segment_count; i++) {
    int answer = walk_common_answer(cursor, filter, snapshot->segments[i]);
    if (answer < 0 || (i && answer != common)) return -1;
    common = answer;
  }
  return common;
}

/* Before a long walk: filters that every row passes need not be asked again.  False: one that no row passes. */
static bool settle_filters(struct cursor *cursor) {
  unsigned kept = 0;
  for (unsigned i = 0; i < cursor->active_count; i++) {
    int answer = common_answer(cursor, cursor->active[i]);
    if (answer == 0) return false;
    if (answer < 0) cursor->active[kept++] = cursor->active[i];
  }
  cursor->active_count = kept;
  return true;
}

static int walk_stretch(struct cursor *cursor, uint64_t begin, uint64_t end) {
  cursor->list = NULL;
  if (begin < end && end - begin >= ROWS_WORTH_SETTLING && !settle_filters(cursor)) end = begin;
  if (begin >= end) begin = end = 0;
  bool is_down = cursor->plan.order_count && cursor->plan.is_descending[0];
  cursor->index = is_down ? end - 1 : begin;
  cursor->stop = is_down ? begin - 1 : end;
  cursor->step = is_down ? (uint64_t)-1 : 1;
  cursor->is_plain = !is_down && cursor->active_count == 0 && !cursor->plan.skips_duplicates;
  cursor->is_at_end = false;
  return walk_next(cursor);
}

static int walk_list(struct cursor *cursor, const uint32_t *list, uint64_t count) {
  int result = walk_stretch(cursor, 0, 0);
  if (count >= ROWS_WORTH_SETTLING && !settle_filters(cursor)) count = 0;
  if (result || count == 0) return result;
  bool is_down = cursor->plan.order_count && cursor->plan.is_descending[0];
  cursor->is_plain = false;
  cursor->list = list;
  cursor->index = is_down ? count - 1 : 0;
  cursor->stop = is_down ? (uint64_t)-1 : count;
  cursor->step = is_down ? (uint64_t)-1 : 1;
  cursor->is_at_end = false;
  result = walk_build_seek(cursor);
  return result ? result : walk_next(cursor);
}

/* A pass over all rows, cut short by what is known about ids. */
static int walk_scan(struct cursor *cursor) {
  struct stretch stretch = {0, cursor->snapshot->rows};
  unsigned kept = 0;
  for (unsigned i = 0; i < cursor->active_count; i++) {
    if (!narrow(cursor, cursor->active[i], &stretch)) cursor->active[kept++] = cursor->active[i];
  }
  cursor->active_count = kept;
  return walk_stretch(cursor, stretch.begin, stretch.end);
}

static void deactivate(struct cursor *cursor, const struct filter *filter) {
  unsigned kept = 0;
  for (unsigned i = 0; i < cursor->active_count; i++) {
    if (cursor->active[i] != filter) cursor->active[kept++] = cursor->active[i];
  }
  cursor->active_count = kept;
}

/* Counts a lookup by the column; true when an index pays. */
static bool wants_index(const struct cursor *cursor, unsigned column) {
  struct table *table = cursor_table(cursor);
  if (cursor->snapshot->rows > SNAPSHOT_MAXIMUM_INDEXED_ROWS) return false;
  uint64_t generation = store_generation(table->connection->store);
  if (generation != table->generation) {
    memset(table->lookups, 0, sizeof table->lookups);
    table->generation = generation;
  }
  bool is_reference = table->spec->columns[column].type == TYPE_REFERENCE;
  if (table->lookups[column] >= (is_reference ? LOOKUPS_BEFORE_REFERENCE_INDEX : LOOKUPS_BEFORE_INDEX)) return true;
  table->lookups[column]++;
  return false;
}

/* The filter of the term that the access path goes by; NULL when its value turned out to be of no use for it. */
static struct filter *access_filter(struct cursor *cursor) {
  for (unsigned i = 0; i < cursor->plan.term_count; i++) {
    struct filter *filter = &cursor->filters[i];
    if (filter->column != cursor->plan.column) continue;
    if (cursor->plan.access == ACCESS_IN) {
      if (filter->operator == TERM_IN && filter->kind != FILTER_EVERYTHING) return filter;
    } else if (filter->operator == TERM_EQUAL || filter->operator == TERM_IS) {
      if (filter->kind == FILTER_INTEGER_RANGE || filter->kind == FILTER_TEXT_EQUAL || filter->kind == FILTER_NULL)
        return filter;
    }
  }
  return NULL;
}

static int walk_id(struct cursor *cursor) {
  struct filter *filter = access_filter(cursor);
  if (!filter) return walk_scan(cursor);
  int64_t position = snapshot_find_id(cursor->snapshot, filter->minimum);
  deactivate(cursor, filter);
  return position < 0 ? walk_stretch(cursor, 0, 0) : walk_stretch(cursor, (uint64_t)position, (uint64_t)position + 1);
}

/* The rows where a column equals the value: a slice of an index. */
static enum tfprof_status look_up(struct cursor *cursor, unsigned column, struct value value, const uint32_t **list,
                                  uint64_t *count, struct tfprof_error *error) {
  return snapshot_equal(cursor->snapshot, column, value, list, count, error);
}

/* The id of a text, which is in the pool for certain only once the whole column is loaded. */
static enum tfprof_status require_text(struct cursor *cursor, unsigned column, struct tfprof_error *error) {
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, column);
  return snapshot_require(cursor->snapshot, &columns, error);
}

static int walk_equal(struct cursor *cursor) {
  struct filter *filter = access_filter(cursor);
  const uint32_t *list = NULL;
  uint64_t count = 0;
  struct tfprof_error error;
  if (!filter || !wants_index(cursor, cursor->plan.column)) return walk_scan(cursor);
  struct value value = {.kind = VALUE_INTEGER, .integer = filter->minimum};
  if (filter->kind == FILTER_NULL) value.kind = VALUE_NULL;
  connection_begin(cursor_table(cursor)->connection);
  enum tfprof_status status = TFPROF_OK;
  if (filter->kind == FILTER_TEXT_EQUAL) {
    if (!filter_text(filter)) status = require_text(cursor, filter->column, &error);
    value = (struct value){.kind = VALUE_TEXT, .text = filter_text(filter)};
  }
  if (!status && (value.kind != VALUE_TEXT || value.text))
    status = look_up(cursor, filter->column, value, &list, &count, &error);
  int result = cursor_finish(cursor, status, &error);
  if (result) return result;
  deactivate(cursor, filter);
  return walk_list(cursor, list, count);
}

static int compare_positions(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static enum tfprof_status append_positions(struct cursor *cursor, size_t *used, const uint32_t *list, uint64_t count,
                                           struct tfprof_error *error) {
  if (!array_reserve(cursor->own_positions, cursor->own_capacity, *used + count)) return error_no_memory(error);
  if (count) memcpy(cursor->own_positions + *used, list, (size_t)count * sizeof *list);
  *used += (size_t)count;
  return TFPROF_OK;
}

/* Collects the rows of one value of an IN. */
static enum tfprof_status collect_keys(struct cursor *cursor, unsigned column, struct value value, size_t *used,
                                       struct tfprof_error *error) {
  const uint32_t *list = NULL;
  uint64_t count = 0;
  if (column == 0) {
    int64_t position = snapshot_find_id(cursor->snapshot, value.integer);
    uint32_t one = (uint32_t)position;
    return position < 0 ? TFPROF_OK : append_positions(cursor, used, &one, 1, error);
  }
  enum tfprof_status status = look_up(cursor, column, value, &list, &count, error);
  return status ? status : append_positions(cursor, used, list, count, error);
}

static enum tfprof_status collect_all(struct cursor *cursor, struct filter *filter, size_t *used,
                                      struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  if (filter->kind == FILTER_INTEGER_SET) {
    for (size_t i = 0; i < filter->integer_count && !status; i++) {
      status = collect_keys(cursor, filter->column,
                            (struct value){.kind = VALUE_INTEGER, .integer = filter->integers[i]}, used, error);
    }
    return status;
  }
  status = require_text(cursor, filter->column, error);
  for (size_t i = 0; i < filter->texts.count && !status; i++) {
    const struct text_item *item = &filter->texts.items[i];
    string_id text = pool_find(store_pool(cursor->snapshot->store), filter->texts.bytes + item->offset, item->length);
    if (text)
      status = collect_keys(cursor, filter->column, (struct value){.kind = VALUE_TEXT, .text = text}, used, error);
  }
  return status;
}

static int walk_in(struct cursor *cursor) {
  struct filter *filter = access_filter(cursor);
  struct tfprof_error error;
  size_t used = 0, kept = 0;
  if (!filter || cursor->snapshot->rows > SNAPSHOT_MAXIMUM_INDEXED_ROWS) return walk_scan(cursor);
  if (cursor->plan.column != 0 && !wants_index(cursor, cursor->plan.column)) return walk_scan(cursor);
  connection_begin(cursor_table(cursor)->connection);
  int result = cursor_finish(cursor, collect_all(cursor, filter, &used, &error), &error);
  if (result) return result;
  /* In the order of ids, once each: SQLite may count on the former and two values may be equal (2 and 2.0). */
  if (used > 1) qsort(cursor->own_positions, used, sizeof *cursor->own_positions, compare_positions);
  for (size_t i = 0; i < used; i++) {
    if (i == 0 || cursor->own_positions[i] != cursor->own_positions[i - 1])
      cursor->own_positions[kept++] = cursor->own_positions[i];
  }
  deactivate(cursor, filter);
  return walk_list(cursor, cursor->own_positions, kept);
}

static int walk_range(struct cursor *cursor) {
  unsigned column = cursor->plan.column;
  int64_t minimum = INT64_MIN, maximum = INT64_MAX;
  const uint32_t *list = NULL;
  uint64_t count = 0;
  struct tfprof_error error;
  bool must_be_ordered = cursor->plan.order_count != 0;
  if (!wants_index(cursor, column) && !must_be_ordered) return walk_scan(cursor);
  for (unsigned i = 0; i < cursor->plan.term_count; i++) {
    const struct filter *filter = &cursor->filters[i];
    if (filter->column != column || filter->kind != FILTER_INTEGER_RANGE) continue;
    if (filter->minimum > minimum) minimum = filter->minimum;
    if (filter->maximum < maximum) maximum = filter->maximum;
    deactivate(cursor, filter);
  }
  if (minimum > maximum) return walk_stretch(cursor, 0, 0);
  connection_begin(cursor_table(cursor)->connection);
  int result =
      cursor_finish(cursor, snapshot_range(cursor->snapshot, column, minimum, maximum, &list, &count, &error), &error);
  return result ? result : walk_list(cursor, list, count);
}

/* Turns every run of rows that are equal in the first `count` columns of the order round. */
static int reverse_runs(struct cursor *cursor, uint32_t *list, unsigned count) {
  struct value previous[PLAN_MAXIMUM_ORDER], value;
  uint64_t begin = 0, rows = cursor->snapshot->rows;
  for (uint64_t i = 0; i <= rows; i++) {
    bool is_same = i > 0 && i < rows;
    if (i < rows && list[i] - cursor->segment_begin >= cursor->segment_rows) {
      int result = walk_enter(cursor, list[i]);
      if (result) return result;
    }
    for (unsigned j = 0; j < count && i < rows; j++) {
      unsigned slot = cursor_slot(cursor, cursor->plan.order[j]);
      value = reader_value(&cursor->current->readers[slot], (uint32_t)(list[i] - cursor->segment_begin));
      is_same = is_same && value_equals(&value, &previous[j]);
      previous[j] = value;
    }
    if (is_same || i == 0) continue;
    for (uint64_t low = begin, high = i - 1; low < high; low++, high--) {
      uint32_t position = list[low];
      list[low] = list[high];
      list[high] = position;
    }
    begin = i;
  }
  return SQLITE_OK;
}

/* An order with both directions: the ascending one, in which runs are turned round for every change of direction. */
static int walk_mixed_order(struct cursor *cursor, const uint32_t *ascending) {
  const struct plan *plan = &cursor->plan;
  uint64_t rows = cursor->snapshot->rows;
  if (!cursor->own_is_order) {
    size_t used = 0;
    struct tfprof_error error;
    if (append_positions(cursor, &used, ascending, rows, &error)) return SQLITE_NOMEM;
    int result = walk_build_seek(cursor);
    /* The walk itself turns the whole round when the first column descends. */
    for (unsigned i = 1; i < plan->order_count && !result; i++) {
      if (plan->is_descending[i] != plan->is_descending[i - 1]) result = reverse_runs(cursor, cursor->own_positions, i);
    }
    if (result) return result;
    cursor->own_is_order = true;
  }
  return walk_list(cursor, cursor->own_positions, rows);
}

/* Loads what the filters look at, which are then settled: where no row passes nothing is put into an order. */
static int settle_before_order(struct cursor *cursor, bool *is_empty) {
  struct column_set columns = {{0, 0}};
  struct tfprof_error error;
  *is_empty = false;
  if (!cursor->active_count) return SQLITE_OK;
  for (unsigned i = 0; i < cursor->active_count; i++) column_set_add(&columns, cursor->active[i]->column);
  connection_begin(cursor_table(cursor)->connection);
  int result = cursor_finish(cursor, snapshot_require(cursor->snapshot, &columns, &error), &error);
  if (!result) *is_empty = !settle_filters(cursor);
  return result;
}

static int walk_order(struct cursor *cursor) {
  const struct plan *plan = &cursor->plan;
  const uint32_t *list;
  struct tfprof_error error;
  bool is_empty;
  int settled = settle_before_order(cursor, &is_empty);
  if (settled || is_empty) return settled ? settled : walk_stretch(cursor, 0, 0);
  connection_begin(cursor_table(cursor)->connection);
  enum tfprof_status status = snapshot_order(cursor->snapshot, plan->order, plan->order_count, &list, &error);
  /* All rows will be read, in every segment from the start: loaded together they can be loaded in parallel. */
  if (!status) status = snapshot_require(cursor->snapshot, &plan->reads, &error);
  int result = cursor_finish(cursor, status, &error);
  if (result) return result;
  for (unsigned i = 1; i < plan->order_count; i++) {
    if (plan->is_descending[i] != plan->is_descending[0]) return walk_mixed_order(cursor, list);
  }
  return walk_list(cursor, list, cursor->snapshot->rows);
}

int walk_start(struct cursor *cursor) {
  const struct plan *plan = &cursor->plan;
  cursor->active_count = 0;
  cursor->has_last = false;
  for (unsigned i = 0; i < plan->term_count; i++) {
    struct filter *filter = &cursor->filters[i];
    if (filter_is_impossible(filter)) return walk_stretch(cursor, 0, 0);
    if (filter->kind != FILTER_EVERYTHING) cursor->active[cursor->active_count++] = filter;
  }
  if (cursor->snapshot->rows == 0) return walk_stretch(cursor, 0, 0);
  switch ((enum access)plan->access) {
    case ACCESS_SCAN: return walk_scan(cursor);
    case ACCESS_ID: return walk_id(cursor);
    case ACCESS_EQUAL: return walk_equal(cursor);
    case ACCESS_IN: return walk_in(cursor);
    case ACCESS_RANGE: return walk_range(cursor);
    case ACCESS_ORDER: return walk_order(cursor);
  }
  return SQLITE_INTERNAL;
}
