/* cursor.c: see cursor.h. The methods of sqlite3_module that belong to a cursor; the walk itself is in walk.c. */
#include "vtab/cursor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/scratch.h"
#include "vtab/outer_join.h"
#include "vtab/profile_argument.h"

SQLITE_EXTENSION_INIT3

int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **opened) {
  struct cursor *cursor = calloc(1, sizeof *cursor);
  (void)table;
  if (!cursor) return SQLITE_NOMEM;
  cursor->is_at_end = true;
  scratch_keep(); /* what deriving for one table of a statement has freed is there for the next */
  *opened = &cursor->base;
  return SQLITE_OK;
}

/* Forgets which columns are in use. */
static void drop_readers(struct cursor *cursor) {
  if (cursor->bound) {
    for (size_t i = 0; i < cursor->snapshot->segment_count; i++) free(cursor->bound[i]);
  }
  free(cursor->bound);
  cursor->bound = NULL;
  cursor->current = NULL;
  cursor->segment_rows = 0;
  cursor->own_is_order = false;
}

static void drop_snapshot(struct cursor *cursor) {
  if (!cursor->snapshot) return;
  drop_readers(cursor);
  free(cursor->seek);
  cursor->seek = NULL;
  snapshot_release(cursor->snapshot);
  cursor->snapshot = NULL;
}

int cursor_close(sqlite3_vtab_cursor *base) {
  struct cursor *cursor = (struct cursor *)base;
  drop_snapshot(cursor);
  for (unsigned i = 0; i < PLAN_MAXIMUM_TERMS; i++) filter_clear(&cursor->filters[i]);
  sqlite3_value_free(cursor->selection);
  free(cursor->own_positions);
  free(cursor);
  scratch_return();
  return SQLITE_OK;
}

/* Gives every column that the plan reads a place among the readers. */
static void assign_slots(struct cursor *cursor) {
  const struct table *table = cursor_table(cursor);
  int16_t slots[SCHEMA_MAXIMUM_COLUMNS];
  cursor->slot_count = 0;
  for (unsigned column = 0; column < table->spec->column_count; column++) {
    slots[column] = -1;
    if (!column_set_has(&cursor->plan.reads, column)) continue;
    slots[column] = (int16_t)cursor->slot_count;
    cursor->slot_columns[cursor->slot_count++] = (uint16_t)column;
  }
  for (int i = 0; i < table->sql_column_count - 1; i++) cursor->slot_of_sql[i] = slots[table->sql_columns[i]];
  cursor->slot_of_sql[table->sql_column_count - 1] = -1;
  for (unsigned i = 0; i < cursor->plan.term_count; i++)
    cursor->filters[i].slot = (uint16_t)slots[cursor->plan.terms[i].column];
}

static int take_plan(struct cursor *cursor, int access, const char *text) {
  for (unsigned i = 0; i < cursor->plan.term_count; i++) filter_clear(&cursor->filters[i]);
  cursor->plan_text = NULL;
  if (!plan_parse(cursor_table(cursor)->spec, access, text, &cursor->plan)) {
    return connection_table_message(cursor->base.pVtab, cursor_table(cursor)->spec->name,
                                    "cannot read its own plan: %s", text);
  }
  assign_slots(cursor);
  if (cursor->snapshot) drop_readers(cursor);
  bool is_concerned = false;
  for (unsigned i = 0; i < cursor->plan.term_count; i++) {
    is_concerned |= outer_join_concerns((enum term_operator)cursor->plan.terms[i].operator);
  }
  cursor->has_outer_join =
      is_concerned && outer_join_is_mistaken() && outer_join_is_running(cursor_table(cursor)->connection);
  cursor->plan_text = text;
  return SQLITE_OK;
}

static bool same_value(sqlite3_value *left, sqlite3_value *right) {
  int type = sqlite3_value_type(left);
  if (type != sqlite3_value_type(right)) return false;
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(left) == sqlite3_value_int64(right);
  if (type != SQLITE_TEXT) return false;
  int length = sqlite3_value_bytes(left);
  return length == sqlite3_value_bytes(right) &&
         memcmp(sqlite3_value_text(left), sqlite3_value_text(right), (size_t)length) == 0;
}

/* The hidden argument: finds out what it selects. */
static int take_selection(struct cursor *cursor, sqlite3_value *value) {
  const struct table *table = cursor_table(cursor);
  if (cursor->snapshot && cursor->selection && same_value(cursor->selection, value)) return SQLITE_OK;
  drop_snapshot(cursor);
  sqlite3_value_free(cursor->selection);
  cursor->selection = sqlite3_value_dup(value);
  if (!cursor->selection) return SQLITE_NOMEM;
  struct profile_argument argument;
  struct tfprof_error error;
  connection_begin(table->connection);
  enum tfprof_status status = profile_argument_take(&argument, value, &error);
  if (!status)
    status = store_snapshot(table->connection->store, table->table, argument.text, &cursor->snapshot, &error);
  return cursor_finish(cursor, status, &error);
}

static int take_snapshot(struct cursor *cursor) {
  const struct table *table = cursor_table(cursor);
  struct tfprof_error error;
  if (cursor->selection) { /* another branch of an OR had the argument */
    drop_snapshot(cursor);
    sqlite3_value_free(cursor->selection);
    cursor->selection = NULL;
  }
  if (cursor->snapshot) return SQLITE_OK;
  connection_begin(table->connection);
  enum tfprof_status status = store_snapshot(table->connection->store, table->table, NULL, &cursor->snapshot, &error);
  return cursor_finish(cursor, status, &error);
}

static int skip_rows(struct cursor *cursor, int64_t count) {
  if (count <= 0 || cursor->is_at_end) return SQLITE_OK;
  if (cursor->active_count == 0 && !cursor->plan.skips_duplicates) {
    /* The first of them is the current row; the others lie ahead. */
    uint64_t ahead = cursor->step == 1 ? cursor->stop - cursor->index : cursor->index - cursor->stop;
    uint64_t skipped = (uint64_t)count - 1 < ahead ? (uint64_t)count - 1 : ahead;
    cursor->index += cursor->step * skipped;
    return walk_next(cursor);
  }
  int result = SQLITE_OK;
  for (; count > 0 && !cursor->is_at_end && !result; count--) result = walk_next(cursor);
  return result;
}

static int prepare_filters(struct cursor *cursor, sqlite3_value **values) {
  int result = SQLITE_OK;
  for (unsigned i = 0; i < cursor->plan.term_count && !result; i++) {
    const struct plan_term *term = &cursor->plan.terms[i];
    result =
        filter_prepare(&cursor->filters[i], cursor_table(cursor)->spec, term, values[term->argument], cursor->pool);
    if (cursor->has_outer_join && outer_join_concerns((enum term_operator)term->operator))
      cursor->filters[i].kind = FILTER_EVERYTHING;
  }
  return result;
}

static bool has_impossible_filter(const struct cursor *cursor) {
  for (unsigned i = 0; i < cursor->plan.term_count; i++) {
    if (filter_is_impossible(&cursor->filters[i])) return true;
  }
  return false;
}

int cursor_filter(sqlite3_vtab_cursor *base, int access, const char *plan_text, int count, sqlite3_value **values) {
  struct cursor *cursor = (struct cursor *)base;
  struct plan *plan = &cursor->plan;
  int result = SQLITE_OK;
  (void)count;
  cursor->is_at_end = true;
  /* The texts live as long as the statement does, and so the same pointer is the same plan. */
  if (plan_text != cursor->plan_text) result = take_plan(cursor, access, plan_text);
  if (!result && plan->lacks_profile) {
    const char *name = cursor_table(cursor)->spec->name;
    return connection_table_message(base->pVtab, name, "profile must be given as profile = value, or as %s(value)",
                                    name);
  }
  cursor->pool = store_pool(cursor_table(cursor)->connection->store);
  if (!result) result = prepare_filters(cursor, values);
  /* Where no row can pass, as where IN has no values, rows need not be there: nothing is read or derived for them. */
  if (!result && plan->profile_argument < 0 && has_impossible_filter(cursor)) return SQLITE_OK;
  if (!result)
    result =
        plan->profile_argument >= 0 ? take_selection(cursor, values[plan->profile_argument]) : take_snapshot(cursor);
  if (result) return result;
  if (!cursor->bound) {
    cursor->bound = calloc(cursor->snapshot->segment_count + 1, sizeof(struct bound_segment *));
    if (!cursor->bound) return SQLITE_NOMEM;
  }
  result = walk_start(cursor);
  if (!result && plan->skip_argument >= 0) result = skip_rows(cursor, sqlite3_value_int64(values[plan->skip_argument]));
  return result;
}

int cursor_next(sqlite3_vtab_cursor *base) {
  struct cursor *cursor = (struct cursor *)base;
  /* The next row of the segment, where nothing is left out: most calls. */
  if (cursor->is_plain && cursor->index < cursor->stop && cursor->row + (uint64_t)1 < cursor->segment_rows) {
    cursor->row++;
    cursor->index++;
    return SQLITE_OK;
  }
  return walk_next(cursor);
}

int cursor_eof(sqlite3_vtab_cursor *cursor) { return ((struct cursor *)cursor)->is_at_end; }

/* Texts live as long as the store. Without a length SQLite knows that a NUL ends them, which saves it a copy later. */
static void give_text(const struct cursor *cursor, sqlite3_context *context, string_id id) {
  int length = pool_has_nul(cursor->pool, id) ? (int)pool_length(cursor->pool, id) : -1;
  sqlite3_result_text(context, pool_text(cursor->pool, id), length, SQLITE_STATIC);
}

/* -0.0 becomes 0.0, as in tables of SQLite. */
static void give_real(sqlite3_context *context, double real) { sqlite3_result_double(context, real + 0.0); }

/* The hidden argument, or a column that the plan did not expect. Apart from cursor_column, which it would slow down. */
__attribute__((noinline)) static int give_unexpected(struct cursor *cursor, sqlite3_context *context, int sql_column) {
  const struct table *table = cursor_table(cursor);
  const struct snapshot *snapshot = cursor->snapshot;
  struct column_set columns = {{0, 0}};
  struct tfprof_error error;
  size_t segment = 0;
  cursor->is_told_apart = true;
  if (sql_column == table->sql_column_count - 1) {
    if (cursor->selection) sqlite3_result_value(context, cursor->selection);
    return SQLITE_OK;
  }
  unsigned column = (unsigned)table->sql_columns[sql_column];
  column_set_add(&columns, column);
  while (snapshot->positions[segment + 1] <= cursor->segment_begin) segment++;
  connection_begin(table->connection);
  enum tfprof_status status = snapshot_require_segment(cursor->snapshot, segment, &columns, &error);
  int result = cursor_finish(cursor, status, &error);
  if (result) return result;
  struct value value = segment_value(cursor->current->segment, column, cursor->row);
  if (value.kind == VALUE_INTEGER) sqlite3_result_int64(context, value.integer);
  if (value.kind == VALUE_REAL) give_real(context, value.real);
  if (value.kind == VALUE_TEXT) give_text(cursor, context, value.text);
  return SQLITE_OK;
}

int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int sql_column) {
  struct cursor *cursor = (struct cursor *)base;
  int slot = cursor->slot_of_sql[sql_column];
  if (slot < 0) return give_unexpected(cursor, context, sql_column);
  const struct column_reader *reader = &cursor->current->readers[slot];
  uint32_t row = cursor->row;
  assert(!cursor->is_at_end && (unsigned)slot < cursor->slot_count && row < cursor->segment_rows);
  if (reader_is_null(reader, row)) return SQLITE_OK;
  if (reader->value_kind == VALUE_REAL) {
    double real = reader_real(reader, row);
    if (real == real) give_real(context, real);
    return SQLITE_OK;
  }
  int64_t integer = reader_integer(reader, row);
  if (reader->value_kind == VALUE_INTEGER) {
    sqlite3_result_int64(context, integer);
  } else if (integer) {
    give_text(cursor, context, (string_id)integer);
  }
  return SQLITE_OK;
}

int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  struct cursor *cursor = (struct cursor *)base;
  const struct segment *segment = cursor->current->segment;
  cursor->is_told_apart = true;
  *rowid = id_make(segment->profile->number, segment->first_row + cursor->row);
  return SQLITE_OK;
}
