/* test_sql_row_limits.c: a table of more rows than an order or an index holds is sorted and searched all the same. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "linked.h"
#include "check.h"
#include "schema/schema.h"
#include "vtab/connection.h"
#include "store/snapshot.h"


enum { SEGMENT_ROWS = 1u << 30 };

static sqlite3 *db;

/* The first column of the last row, or the error, as a text to be freed. */
static char *answer(const char *sql) {
  sqlite3_stmt *statement = NULL;
  char *text = NULL;
  int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  int last = sqlite3_column_count(statement) - 1; /* of EXPLAIN QUERY PLAN: what it says */
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *cell = (const char *)sqlite3_column_text(statement, last);
    char *longer = sqlite3_mprintf("%z%s%s", text, text ? "; " : "", cell ? cell : "NULL");
    text = longer;
    result = SQLITE_OK;
  }
  if (result != SQLITE_DONE) text = sqlite3_mprintf("error: %s", sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  return text;
}

static void expect(const char *sql, const char *expected) {
  char *text = answer(sql);
  check(text && strstr(text, expected), "%s: %s instead of %s", sql, text ? text : "nothing", expected);
  sqlite3_free(text);
}

/* A source whose columns are all absent, so that its rows take no room. */
static enum tfprof_status load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                               unsigned count, struct column **out, struct tfprof_error *error) {
  (void)profile, (void)segment, (void)columns, (void)count, (void)out, (void)error;
  return TFPROF_OK;
}

static void free_profile(struct profile *profile) { (void)profile; }

static void open_rows(struct store *store) {
  static const struct profile_source source = {.format = "made up", .load = load, .free_profile = free_profile};
  struct profile *profile;
  struct tfprof_error error;
  uint32_t run;
  struct column_set raw = {{0, 0}};
  for (unsigned column = 2; column < schema_tables[TABLE_counters].column_count; column++)
    column_set_add(&raw, column);
  if (store_add_run(store, "made up", NULL, &run, &error)) abort();
  if (store_add_profile(store, run, &source, NULL, &profile, &error)) abort();
  for (uint64_t first = 0; first <= SNAPSHOT_MAXIMUM_INDEXED_ROWS; first += SEGMENT_ROWS) {
    if (profile_add_segment(profile, TABLE_counters, first, SEGMENT_ROWS, &raw, NULL, NULL, &error)) abort();
  }
  store_publish_run(store, run);
}

int main(void) {
  char *message = NULL;
  bool is_of_other_build;
  if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true)) abort();
  open_rows(connection_find(db, &is_of_other_build)->store);
  expect("SELECT count(*) > 4294967295 FROM counters WHERE id IS NOT NULL AND profile_id = 1 AND value IS NOT NULL",
         "0");
  expect("SELECT max(rows) > 4294967295 FROM tfprof_tables WHERE is_cache >= 0", "1");
  expect("EXPLAIN QUERY PLAN SELECT id FROM counters ORDER BY value", "USE TEMP B-TREE FOR ORDER BY");
  expect("EXPLAIN QUERY PLAN SELECT name, count(*) FROM counters GROUP BY name", "USE TEMP B-TREE FOR GROUP BY");
  expect("EXPLAIN QUERY PLAN SELECT id FROM counters WHERE time_ns BETWEEN 3 AND 5 ORDER BY time_ns",
         "USE TEMP B-TREE FOR ORDER BY");
  /* Rows lie in the order of their ids anyway. */
  expect("SELECT id & 0xfffffffff FROM counters ORDER BY id DESC LIMIT 1", "4294967295");
  /* Looked up so often that an index would pay. */
  for (int i = 0; i < 12; i++) {
    expect("SELECT ifnull((SELECT id FROM counters WHERE thread_id = 5), 'none')", "none");
    expect("SELECT ifnull((SELECT id FROM counters WHERE time_ns BETWEEN 3 AND 5), 'none')", "none");
    expect("SELECT ifnull((SELECT id FROM counters WHERE thread_id IN (5, 6)), 'none')", "none");
    expect("SELECT id & 0xffffffff FROM counters WHERE device_id IS (SELECT NULL) LIMIT 1", "0");
  }
  sqlite3_close(db);
  return check_result();
}
