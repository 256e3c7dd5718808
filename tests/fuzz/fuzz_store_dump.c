/* fuzz_store_dump.c: any bytes as a dump file, read through the store.
**
** Every column of every table is required, some orders and lookups are made, and what refers to other rows is followed: all
** that the readers of the store rely on must hold, whatever the file says.
*/
#include "read/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A small file may claim very many rows; what that costs is no matter of this test. */
enum { MAXIMUM_ROWS = 1 << 19 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_that(bool holds) {
  if (!holds) abort();
}

static void check_value(const struct snapshot *snapshot, unsigned column, struct value value) {
  const struct column_spec *spec = &schema_tables[snapshot->table].columns[column];
  if (value.kind == VALUE_NULL) return;
  if (value.kind == VALUE_TEXT) require_that(pool_text(store_pool(snapshot->store), value.text) != NULL);
  if (spec->type == TYPE_BOOLEAN) require_that(value.integer == 0 || value.integer == 1);
  if (column < 2 || spec->type != TYPE_REFERENCE || spec->target == TABLE_runs) return;
  const struct profile *profile = store_profile_by_number(snapshot->store, id_profile(value.integer));
  require_that(profile && id_row(value.integer) < profile->tables[spec->target].rows);
}

/* Parents of traces come before them, so that walks end. */
static void check_traces(struct snapshot *traces) {
  for (uint64_t i = 0; i < traces->rows; i++) {
    size_t hint = 0;
    uint32_t row;
    const struct segment *segment = snapshot_segment(traces, i, &hint, &row);
    struct value parent = segment_value(segment, COLUMN_code_traces_parent_id, row);
    if (parent.kind == VALUE_INTEGER) require_that(id_row(parent.integer) < segment->first_row + row);
  }
}

static void read_table(struct store *store, unsigned table) {
  struct snapshot *snapshot;
  struct column_set all = {{0, 0}};
  const struct table_spec *spec = &schema_tables[table];
  if (store_snapshot(store, table, NULL, &snapshot, NULL)) return;
  for (unsigned column = 0; column < spec->column_count; column++) column_set_add(&all, column);
  if (snapshot->rows <= MAXIMUM_ROWS && snapshot_require(snapshot, &all, NULL) == TFPROF_OK) {
    uint64_t step = 1 + snapshot->rows / 500;
    for (uint64_t position = 0; position < snapshot->rows; position += step) {
      size_t hint = 0;
      uint32_t row;
      const struct segment *segment = snapshot_segment(snapshot, position, &hint, &row);
      require_that(snapshot_find_id(snapshot, segment_value(segment, 0, row).integer) == (int64_t)position);
      for (unsigned column = 0; column < spec->column_count; column++) {
        check_value(snapshot, column, segment_value(segment, column, row));
      }
    }
    if (table == TABLE_code_traces) check_traces(snapshot);
    for (uint16_t column = 2; column < spec->column_count; column += 3) {
      const uint32_t *positions;
      uint64_t count;
      size_t hint = 0;
      uint32_t row;
      uint16_t columns[2] = {column, (uint16_t)(column - 1)};
      if (snapshot_order(snapshot, columns, 2, &positions, NULL) || snapshot->rows == 0) continue;
      const struct segment *segment = snapshot_segment(snapshot, snapshot->rows / 2, &hint, &row);
      struct value value = segment_value(segment, column, row);
      require_that(snapshot_equal(snapshot, column, value, &positions, &count, NULL) == TFPROF_OK && count > 0);
      snapshot_range(snapshot, column, -5, 1000000, &positions, &count, NULL);
    }
  }
  snapshot_release(snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  uint32_t run;
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  setenv("TFPROF_THREADS", "2", 1);
  struct store *store = store_create(NULL, 0);
  if (read_open(store, path, &run, NULL) == TFPROF_OK) {
    uint64_t rows = 0, added;
    for (unsigned table = 0; table < TABLE_count; table++) rows += store_estimate_rows(store, table);
    if (rows <= MAXIMUM_ROWS) {
      for (unsigned table = 0; table < TABLE_count; table++) read_table(store, table);
      store_refresh(store, &added, NULL);
    }
  }
  store_release(store);
  close(fd);
  return 0;
}
