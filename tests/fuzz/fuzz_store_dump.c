/* fuzz_store_dump.c: any bytes as a dump file, read through the store.
**
** Every column of every table is required, some orders and lookups are made, and what refers to other rows is
** followed: all that the readers of the store rely on must hold, whatever the file says.
**
** The last byte chooses what the others are: a file as it stands, a file whose checksums are put right first, or
** orders to the dump writer, which reaches what no mutation of bytes would: any values in any columns of any frames.
*/
#include "dump/writer.h"
#include "mend_dump.h"
#include "read/dump/saved_runs.h"
#include "read/read.h"
#include "store/snapshot.h"

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

/* ---- a file made to order ---- */

struct orders {
  const uint8_t *at, *end;
};

static uint8_t next_byte(struct orders *orders) { return orders->at < orders->end ? *orders->at++ : 0; }

/* Small numbers, powers of two and their neighbours of both signs: where limits are. */
static int64_t next_value(struct orders *orders) {
  uint8_t kind = next_byte(orders);
  int64_t value = next_byte(orders);
  switch (kind % 6) {
    case 0: return value;
    case 1: return -value;
    case 2: return (int64_t)((uint64_t)1 << value % 64);
    case 3: return (int64_t)(((uint64_t)1 << value % 64) - 1 - kind / 6 % 2);
    case 4: return (int64_t)(0 - ((uint64_t)1 << value % 64));
    default: return value << 8 | next_byte(orders);
  }
}

static void write_frame(struct dump_writer *writer, struct orders *orders) {
  enum { MAXIMUM_COLUMNS = 12, ROWS = 96 };
  static int64_t values[MAXIMUM_COLUMNS][ROWS];
  static double reals[MAXIMUM_COLUMNS][ROWS];
  static uint64_t nulls[MAXIMUM_COLUMNS][(ROWS + 63) / 64];
  struct dump_column_data columns[MAXIMUM_COLUMNS];
  unsigned table = next_byte(orders) % TABLE_count, rows = 1 + next_byte(orders) % ROWS, count = 0;
  unsigned wanted = next_byte(orders) % MAXIMUM_COLUMNS, column = 2 + next_byte(orders) % 8;
  const struct table_spec *spec = &schema_tables[table];
  for (; count < wanted && column < spec->column_count; column += 1 + next_byte(orders) % 4) {
    uint8_t shape = next_byte(orders);
    int64_t first = next_value(orders), step = next_value(orders);
    uint64_t null_pattern = shape & 4 ? (uint64_t)next_value(orders) : 0;
    for (unsigned row = 0; row < rows; row++) {
      values[count][row] = (int64_t)((uint64_t)first + (uint64_t)step * (shape & 8 ? row : row % 3));
      reals[count][row] = (double)values[count][row] / 7;
    }
    nulls[count][0] = nulls[count][1] = null_pattern;
    columns[count] = (struct dump_column_data){.dump_id = spec->columns[column].dump_id,
                                               .order = shape & 1,
                                               .is_real = (spec->columns[column].type == TYPE_REAL) != !(shape & 48),
                                               .integers = values[count],
                                               .reals = reals[count],
                                               .nulls = shape & 4 ? nulls[count] : NULL};
    count++;
  }
  if (next_byte(orders) % 8 == 7) {
    dump_writer_skip(writer, spec->dump_id, (uint64_t)next_value(orders) % DUMP_MAXIMUM_ROW_JUMP, NULL);
  }
  dump_writer_rows(writer, spec->dump_id, rows, columns, count, NULL);
}

static void write_to_order(const char *path, const uint8_t *data, size_t size) {
  struct orders orders = {data, data + size};
  struct dump_writer *writer;
  struct dump_profile profile = {
      .host = "fuzz", .rank = -1, .clock_domain = next_byte(&orders) & 1 ? "monotonic" : NULL};
  if (dump_writer_create(path, true, &profile, &writer, NULL)) abort();
  for (unsigned i = 0; i < 5; i++) {
    char text[8];
    dump_writer_string(writer, text, (size_t)snprintf(text, sizeof text, "text%u", i));
  }
  while (orders.at < orders.end) {
    if (next_byte(&orders) % 16 == 15) {
      struct dump_clock clock = {.monotonic_ns = next_value(&orders), .realtime_ns = next_value(&orders)};
      dump_writer_clock(writer, &clock, NULL);
    }
    write_frame(writer, &orders);
  }
  dump_writer_close(writer, NULL);
}

/* ---- one input ---- */

static void read_all(const char *path, bool is_again) {
  uint32_t run;
  struct store *store = store_create(NULL, 0);
  if (read_open(store, path, &run, NULL) == TFPROF_OK) {
    uint64_t rows = 0, added;
    for (unsigned table = 0; table < TABLE_count; table++) rows += store_estimate_rows(store, table);
    for (unsigned table = 0; table < TABLE_count && rows <= MAXIMUM_ROWS; table++) read_table(store, table);
    store_refresh(store, 0, &added, NULL);
    char saved[64];
    if (!is_again && rows <= MAXIMUM_ROWS) { /* what was read can be saved, and read again */
      snprintf(saved, sizeof saved, "/tmp/fuzz_store_dump.%d", (int)getpid());
      unlink(saved);
      require_that(saved_runs_write(store, saved, NULL) == TFPROF_OK);
      read_all(saved, true);
      unlink(saved);
    }
  } else {
    require_that(!is_again);
  }
  store_release(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  if (size == 0) return 0;
  uint8_t kind = data[--size];
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  uint8_t *bytes = malloc(size + 1);
  if (fd < 0 || !bytes) abort();
  memcpy(bytes, data, size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  setenv("TFPROF_THREADS", kind & 4 ? "2" : "1", 1);
  if (kind % 4 == 1) mend_dump(bytes, size);
  if (kind % 4 >= 2) write_to_order(path, bytes, size);
  else if (write(fd, bytes, size) != (ssize_t)size) abort();
  free(bytes);
  read_all(path, false);
  close(fd);
  return 0;
}
