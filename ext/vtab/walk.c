/* walk.c: how a walk goes on, what it leaves out, and the segments that it enters.  See cursor.h. */
#include "vtab/cursor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

enum {
  PREFETCH_DISTANCE = 16,       /* rows; enough to hide a miss of all caches */
  ROWS_BETWEEN_POLLS = 1 << 20, /* some milliseconds */
};

int cursor_finish(struct cursor *cursor, enum tfprof_status status, const struct tfprof_error *error) {
  struct table *table = cursor_table(cursor);
  connection_end(table->connection);
  return status ? connection_table_error(&table->base, table->spec->name, error) : SQLITE_OK;
}

/* ---- segments ---- */

static size_t find_segment(const struct cursor *cursor, uint64_t position) {
  const struct snapshot *snapshot = cursor->snapshot;
  size_t low = 0, high = snapshot->segment_count;
  if (cursor->seek) {
    low = cursor->seek[position >> cursor->seek_shift];
    while (snapshot->positions[low + 1] <= position) low++;
    return low;
  }
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (snapshot->positions[middle] <= position) low = middle; else high = middle;
  }
  return low;
}

/* Makes finding the segment of a position a matter of one or two steps, for walks that jump about. */
int walk_build_seek(struct cursor *cursor) {
  const struct snapshot *snapshot = cursor->snapshot;
  unsigned shift = 0;
  if (cursor->seek || snapshot->segment_count < 2 || snapshot->rows == 0) return SQLITE_OK;
  while (snapshot->rows >> shift > snapshot->segment_count * 4) shift++;
  size_t count = (size_t)((snapshot->rows - 1) >> shift) + 1, segment = 0;
  uint32_t *seek = malloc(count * sizeof *seek);
  if (!seek) return SQLITE_NOMEM;
  for (size_t i = 0; i < count; i++) {
    while (snapshot->positions[segment + 1] <= (uint64_t)i << shift) segment++;
    seek[i] = (uint32_t)segment;
  }
  cursor->seek = seek;
  cursor->seek_shift = shift;
  return SQLITE_OK;
}

static void plan_prefetch(const struct cursor *cursor, struct bound_segment *bound) {
  for (unsigned i = 0; i < cursor->slot_count && bound->prefetch_count < CURSOR_MAXIMUM_PREFETCH; i++) {
    const struct column_reader *reader = &bound->readers[i];
    unsigned shift;
    switch (reader->kind) {
      case READER_1:
      case READER_REAL_1: shift = 0; break;
      case READER_2:
      case READER_REAL_2: shift = 1; break;
      case READER_4: shift = 2; break;
      case READER_8:
      case READER_REAL: shift = 3; break;
      default: continue;
    }
    bound->prefetch[bound->prefetch_count].elements = reader->elements;
    bound->prefetch[bound->prefetch_count++].shift = shift;
  }
}

/* Loads what the plan reads of a segment and makes the readers. */
static int bind_segment(struct cursor *cursor, size_t index) {
  const struct segment *segment = cursor->snapshot->segments[index];
  struct tfprof_error error;
  bool is_loaded = true;
  for (unsigned i = 0; i < cursor->slot_count; i++) {
    unsigned column = cursor->slot_columns[i];
    is_loaded &= column <= 1 || segment->columns[column] != NULL;
  }
  if (!is_loaded) {
    connection_begin(cursor_table(cursor)->connection);
    int result =
        cursor_finish(cursor, snapshot_require_segment(cursor->snapshot, index, &cursor->plan.reads, &error), &error);
    if (result) return result;
  }
  struct bound_segment *bound = malloc(sizeof *bound + cursor->slot_count * sizeof bound->readers[0]);
  if (!bound) return SQLITE_NOMEM;
  bound->segment = segment;
  bound->prefetch_count = 0;
  for (unsigned i = 0; i < cursor->slot_count; i++) {
    assert(cursor->slot_columns[i] <= 1 || segment->columns[cursor->slot_columns[i]]);
    reader_bind(&bound->readers[i], segment, cursor->slot_columns[i]);
  }
  plan_prefetch(cursor, bound);
  cursor->bound[index] = bound;
  return SQLITE_OK;
}

int walk_enter(struct cursor *cursor, uint64_t position) {
  assert(position < cursor->snapshot->rows);
  size_t index = find_segment(cursor, position);
  assert(cursor->snapshot->positions[index] <= position && position < cursor->snapshot->positions[index + 1]);
  if (!cursor->bound[index]) {
    int result = bind_segment(cursor, index);
    if (result) return result;
  }
  cursor->current = cursor->bound[index];
  cursor->segment_begin = cursor->snapshot->positions[index];
  cursor->segment_rows = cursor->snapshot->positions[index + 1] - cursor->segment_begin;
  return SQLITE_OK;
}

/* ---- going on ---- */

static void prefetch(const struct cursor *cursor, uint64_t index) {
  uint64_t position = cursor->list[index];
  const struct bound_segment *bound = cursor->current;
  uint64_t row = position - cursor->segment_begin;
  if (row >= cursor->segment_rows) {
    size_t segment = find_segment(cursor, position);
    bound = cursor->bound[segment];
    row = position - cursor->snapshot->positions[segment];
  }
  if (!bound) return;
  for (unsigned i = 0; i < bound->prefetch_count; i++) {
    __builtin_prefetch(bound->prefetch[i].elements + (row << bound->prefetch[i].shift));
  }
}

bool value_equals(const struct value *left, const struct value *right) {
  if (left->kind != right->kind) return false;
  switch (left->kind) {
    case VALUE_NULL: return true;
    case VALUE_INTEGER: return left->integer == right->integer;
    case VALUE_REAL: return left->real == right->real;
    case VALUE_TEXT: return left->text == right->text;
  }
  return false;
}

/* Puts the cursor on a position of the list. */
static int go_to(struct cursor *cursor, uint64_t index) {
  uint64_t position = cursor->list[index];
  if (position - cursor->segment_begin >= cursor->segment_rows) {
    int result = walk_enter(cursor, position);
    if (result) return result;
  }
  cursor->row = (uint32_t)(position - cursor->segment_begin);
  return SQLITE_OK;
}

/* Whether the current row equals the last one handed out in all columns of a DISTINCT. */
static bool equals_last(const struct cursor *cursor) {
  for (unsigned i = 0; i < cursor->plan.order_count; i++) {
    const struct column_reader *reader = &cursor->current->readers[cursor_slot(cursor, cursor->plan.order[i])];
    struct value value = reader_value(reader, cursor->row);
    if (!value_equals(&value, &cursor->last[i])) return false;
  }
  return true;
}

/* Goes past all rows that equal the one handed out last: with the same values, SQLite makes of them what it made of
** that one. Not where it asked for the rowid on the way, which colUsed does not tell beforehand. They lie together, so
** that their end is found in steps that double, and then by halving. */
static int skip_duplicates(struct cursor *cursor) {
  uint64_t left = cursor->step == 1 ? cursor->stop - cursor->index : cursor->index - cursor->stop;
  uint64_t equal = 0, unequal = left; /* rows ahead that are known to be equal; the first known not to be */
  for (uint64_t probe = 0; probe < unequal;) {
    int result = go_to(cursor, cursor->index + cursor->step * probe);
    if (result) return result;
    if (equals_last(cursor)) {
      equal = probe + 1;
      probe = unequal == left && probe * 2 + 1 < left ? probe * 2 + 1 : equal + (unequal - equal) / 2;
    } else {
      unequal = probe;
      probe = equal + (unequal - equal) / 2;
    }
  }
  cursor->index += cursor->step * unequal;
  return SQLITE_OK;
}

static void remember_last(struct cursor *cursor) {
  for (unsigned i = 0; i < cursor->plan.order_count; i++) {
    const struct column_reader *reader = &cursor->current->readers[cursor_slot(cursor, cursor->plan.order[i])];
    cursor->last[i] = reader_value(reader, cursor->row);
  }
  cursor->has_last = true;
  cursor->is_told_apart = false;
}

/* 1, 0, or -1: an error of a function. */
static int row_matches(struct cursor *cursor, uint32_t row) {
  for (unsigned i = 0; i < cursor->active_count; i++) {
    struct filter *filter = cursor->active[i];
    int answer =
        filter_matches(filter, cursor_table(cursor)->connection->db, &cursor->current->readers[filter->slot], row);
    if (answer <= 0) return answer;
  }
  return 1;
}

/* LIKE and the like failed, or there was no memory for their answers. */
static int filter_failed(struct cursor *cursor) {
  sqlite3 *db = cursor_table(cursor)->connection->db;
  int result = sqlite3_errcode(db);
  cursor->is_at_end = true;
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE || result == SQLITE_NOMEM)
    return SQLITE_NOMEM;
  sqlite3_free(cursor->base.pVtab->zErrMsg);
  cursor->base.pVtab->zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(db));
  return result;
}

/* Long stretches without a match are the only place where SQLite itself cannot notice Ctrl-C. */
static bool is_interrupted(struct cursor *cursor) {
  struct connection *connection = cursor_table(cursor)->connection;
  connection_begin(connection);
  bool is_interrupted_now = store_interrupted(connection->store);
  connection_end(connection);
  return is_interrupted_now;
}

int walk_common_answer(const struct cursor *cursor, struct filter *filter, const struct segment *segment) {
  struct column_reader reader;
  if (filter->column > 1 && !segment->columns[filter->column]) return -1;
  reader_bind(&reader, segment, filter->column);
  bool is_same = reader.kind == READER_NULL || reader.kind == READER_CONSTANT || reader.kind == READER_REAL_CONSTANT;
  if (!is_same || reader.nulls) return -1;
  return filter_matches(filter, cursor_table(cursor)->connection->db, &reader, 0);
}

/* Whether no row of the segment can match, which a column says that has one value in all of them: then the walk goes on
** behind it. */
static bool passes_over(struct cursor *cursor, size_t index) {
  const struct segment *segment = cursor->snapshot->segments[index];
  bool is_excluded = false;
  if (cursor->list) return false;
  for (unsigned i = 0; i < cursor->active_count && !is_excluded; i++)
    is_excluded = walk_common_answer(cursor, cursor->active[i], segment) == 0;
  if (!is_excluded) return false;
  uint64_t begin = cursor->snapshot->positions[index], end = cursor->snapshot->positions[index + 1];
  uint64_t next = cursor->step == 1 ? end : begin - 1;
  bool stops_inside = cursor->step == 1 ? cursor->stop < end : cursor->stop != (uint64_t)-1 && cursor->stop >= begin;
  cursor->index = stops_inside ? cursor->stop : next;
  return true;
}

/* Enters the segment of a position. *is_passed: no row of it can match, which may be known before it is loaded or only
** then. */
static int enter_or_pass(struct cursor *cursor, uint64_t position, bool *is_passed) {
  size_t index = find_segment(cursor, position);
  bool is_known = cursor->bound[index] != NULL;
  *is_passed = !is_known && passes_over(cursor, index);
  if (*is_passed) return SQLITE_OK;
  int result = walk_enter(cursor, position);
  if (!result && !is_known) *is_passed = passes_over(cursor, index);
  return result;
}

/* Behind a row that was rejected: passes over those which its first filters reject as well, where the walk goes up. */
static void skip_rejected(struct cursor *cursor, uint32_t row) {
  uint64_t until = cursor->stop - cursor->segment_begin;
  uint32_t rows = (uint32_t)(until < cursor->segment_rows ? until : cursor->segment_rows), next = row + 1;
  for (unsigned i = 0; i < cursor->active_count; i++) {
    struct filter *filter = cursor->active[i];
    next = filter_first(filter, &cursor->current->readers[filter->slot], next, rows);
  }
  if (next > row) cursor->index = cursor->segment_begin + next;
}

int walk_next(struct cursor *cursor) {
  uint32_t rejected = 0;
  if (cursor->has_last && !cursor->is_told_apart) {
    int result = skip_duplicates(cursor);
    if (result) {
      cursor->is_at_end = true;
      return result;
    }
  }
  while (cursor->index != cursor->stop) {
    uint64_t index = cursor->index, position = index;
    cursor->index += cursor->step;
    if (cursor->list) {
      uint64_t ahead = index + PREFETCH_DISTANCE * cursor->step;
      position = cursor->list[index];
      /* One comparison for both directions: beyond either end the distance is larger than what is left. */
      if ((cursor->step == 1 ? ahead - index < cursor->stop - index : index - ahead < index - cursor->stop))
        prefetch(cursor, ahead);
    }
    if (position - cursor->segment_begin >= cursor->segment_rows) {
      bool is_passed;
      int result = enter_or_pass(cursor, position, &is_passed);
      if (result) {
        cursor->is_at_end = true;
        return result;
      }
      if (is_passed) continue;
    }
    uint32_t row = (uint32_t)(position - cursor->segment_begin);
    if (cursor->active_count) {
      int answer = row_matches(cursor, row);
      if (answer < 0) return filter_failed(cursor);
      if (!answer && ++rejected % ROWS_BETWEEN_POLLS == 0 && is_interrupted(cursor)) {
        cursor->is_at_end = true;
        return SQLITE_INTERRUPT;
      }
      if (!answer) {
        if (cursor->step == 1 && !cursor->list) skip_rejected(cursor, row);
        continue;
      }
    }
    cursor->row = row;
    if (cursor->plan.skips_duplicates) remember_last(cursor);
    return SQLITE_OK;
  }
  cursor->is_at_end = true;
  return SQLITE_OK;
}
