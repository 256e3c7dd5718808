/* read_all.h: for fuzz targets of readers: opens bytes as a file and reads every value of every table. */
#ifndef TFPROF_FUZZ_READ_ALL_H
#define TFPROF_FUZZ_READ_ALL_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read/read.h"
#include "store/snapshot.h"

/* Reads whatever a store has open; the number of rows, those of diagnostics left out. */
static inline uint64_t read_all(struct store *store) {
  struct tfprof_error error;
  uint64_t rows = 0;
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct snapshot *snapshot;
    struct column_set columns = {{0, 0}};
    for (unsigned column = 2; column < schema_tables[table].column_count; column++) column_set_add(&columns, column);
    if (store_snapshot(store, table, NULL, &snapshot, &error)) abort();
    if (snapshot_require(snapshot, &columns, &error)) abort();
    size_t hint = 0;
    for (uint64_t position = 0; position < snapshot->rows; position++) {
      uint32_t row;
      const struct segment *segment = snapshot_segment(snapshot, position, &hint, &row);
      for (unsigned column = 2; column < schema_tables[table].column_count; column++)
        segment_value(segment, column, row);
    }
    if (table != TABLE_diagnostics) rows += snapshot->rows;
    snapshot_release(snapshot);
  }
  return rows;
}

/* Calls `open` with a file that has these bytes, and reads all that it opened; 0 rows when it refused. */
static inline uint64_t read_all_of(const uint8_t *data, size_t size,
                                   enum tfprof_status (*open)(struct store *store, uint32_t run,
                                                              const struct read_bundle *bundle,
                                                              struct tfprof_error *error)) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  struct store *store = store_create(NULL, 0);
  struct tfprof_error error;
  char path[64];
  uint32_t run;
  uint64_t rows = 0;
  if (fd < 0 || !store || store_add_run(store, "fuzz", NULL, &run, &error)) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (write(fd, data, size) == (ssize_t)size) {
    const struct read_file file = {.path = path};
    if (open(store, run, &(struct read_bundle){&file, 1}, &error)) {
      store_cancel_run(store, run);
    } else {
      store_publish_run(store, run);
      rows = read_all(store);
    }
  }
  store_release(store);
  close(fd);
  return rows;
}

#endif
