/* json_test.h: opens traces in JSON for tests and looks at their rows. */
#ifndef JSON_TEST_H
#define JSON_TEST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/json/json.h"
#include "scratch.h"
#include "store/snapshot.h"

static int json_test_failures;
#define CHECK(condition) json_test_check((condition), #condition, __FILE__, __LINE__)

static inline bool json_test_check(bool ok, const char *what, const char *file, int line) {
  if (!ok) {
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    json_test_failures++;
  }
  return ok;
}

struct opened {
  struct store *store;
  enum tfprof_status status;
  struct tfprof_error error;
};

static inline struct opened open_path(const char *path, size_t chunk_bytes) {
  struct opened o = {.store = store_create(NULL, 0)};
  uint32_t run = 0;
  if (!o.store || store_add_run(o.store, path, NULL, &run, &o.error)) abort();
  o.status = json_open_in_chunks(o.store, run, path, chunk_bytes, &o.error);
  if (o.status) store_cancel_run(o.store, run);
  else store_publish_run(o.store, run);
  return o;
}

static inline void close_opened(struct opened *o) { store_release(o->store); }

/* A temporary file with the bytes. */
static inline const char *temporary(const void *bytes, size_t length) {
  if (!*test_directory) make_test_directory();
  const char *path = test_path("trace.json");
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) abort();
  return path;
}

static inline struct opened open_bytes(const void *bytes, size_t length, size_t chunk_bytes) {
  return open_path(temporary(bytes, length), chunk_bytes);
}
static inline struct opened open_text(const char *text) { return open_bytes(text, strlen(text), 0); }

static inline struct opened open_fixture(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/fixtures/kineto/%s", TFPROF_SOURCE_DIRECTORY, name);
  struct opened o = open_path(path, 0);
  if (o.status) fprintf(stderr, "%s: %s\n", path, o.error.message);
  CHECK(!o.status);
  if (o.status) exit(1);
  return o;
}

static inline uint64_t row_count(struct opened *o, unsigned table) {
  struct snapshot *snapshot;
  if (store_snapshot(o->store, table, NULL, &snapshot, &o->error)) abort();
  uint64_t rows = snapshot->rows;
  snapshot_release(snapshot);
  return rows;
}

static inline struct value cell(struct opened *o, unsigned table, unsigned column, uint64_t row) {
  struct snapshot *snapshot;
  struct column_set columns = {{0, 0}};
  struct value value = {.kind = VALUE_NULL};
  column_set_add(&columns, column);
  if (store_snapshot(o->store, table, NULL, &snapshot, &o->error) || snapshot_require(snapshot, &columns, &o->error)) {
    fprintf(stderr, "%s\n", o->error.message);
    abort();
  }
  size_t hint = 0;
  uint32_t at;
  if (CHECK(row < snapshot->rows)) {
    const struct segment *segment = snapshot_segment(snapshot, row, &hint, &at);
    value = segment_value(segment, column, at);
  }
  snapshot_release(snapshot);
  return value;
}

#define CELL(o, table, column, row) cell(o, TABLE_##table, COLUMN_##table##_##column, row)
static inline bool is_integer(struct value v, int64_t expected) {
  if (v.kind == VALUE_INTEGER && v.integer == expected) return true;
  fprintf(stderr, "  is %s %lld, not %lld\n", v.kind == VALUE_INTEGER ? "the integer" : "of another kind",
          v.kind == VALUE_INTEGER ? (long long)v.integer : 0, (long long)expected);
  return false;
}
static inline bool is_real(struct value v, double expected) { return v.kind == VALUE_REAL && v.real == expected; }
static inline bool is_null(struct value v) { return v.kind == VALUE_NULL; }
static inline bool is_text(struct opened *o, struct value v, const char *expected) {
  const char *text = v.kind == VALUE_TEXT ? pool_text(store_pool(o->store), v.text) : NULL;
  if (text && strcmp(text, expected) == 0) return true;
  fprintf(stderr, "  is %s, not %s\n", text ? text : "no text", expected);
  return false;
}
#define INTEGER(table, column, row, expected) CHECK(is_integer(CELL(&o, table, column, row), expected))
#define REAL(table, column, row, expected) CHECK(is_real(CELL(&o, table, column, row), expected))
#define TEXT(table, column, row, expected) CHECK(is_text(&o, CELL(&o, table, column, row), expected))
#define IS_NULL(table, column, row) CHECK(is_null(CELL(&o, table, column, row)))
/* A reference: the row number that the id stands for. */
#define ROW(table, column, row, expected) \
  CHECK(CELL(&o, table, column, row).kind == VALUE_INTEGER && \
        id_row(CELL(&o, table, column, row).integer) == (expected))
#define ROWS(table, expected) CHECK(row_count(&o, TABLE_##table) == (expected))

/* How often a diagnostic says that it happened; 0: there is none. */
static inline int64_t diagnosed(struct opened *o, const char *reason) {
  struct profile *profile = store_profile_at(o->store, 0);
  int64_t count = 0;
  for (size_t i = 0; profile && i < profile->diagnostic_count; i++) {
    if (strcmp(pool_text(store_pool(o->store), profile->diagnostics[i].reason), reason) == 0)
      count += profile->diagnostics[i].count;
  }
  return count;
}

/* What it says; empty: there is none. */
static inline const char *diagnosis(struct opened *o, const char *reason) {
  struct profile *profile = store_profile_at(o->store, 0);
  for (size_t i = 0; profile && i < profile->diagnostic_count; i++) {
    if (strcmp(pool_text(store_pool(o->store), profile->diagnostics[i].reason), reason) == 0)
      return pool_text(store_pool(o->store), profile->diagnostics[i].message);
  }
  return "";
}

static inline int json_test_result(void) {
  if (json_test_failures) fprintf(stderr, "%d checks failed\n", json_test_failures);
  return json_test_failures != 0;
}

#endif
