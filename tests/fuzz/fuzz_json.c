/* fuzz_json.c: any bytes as a trace in JSON: open it in chunks, read every column, attributes included.
**
** The last byte of the input says how long the chunks are, so that cuts fall everywhere. Two sizes of chunk must agree on the
** number of rows.
*/
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t open_all(const char *path, size_t chunk_bytes) {
  struct tfprof_error error;
  struct store *store = store_create(NULL, 0);
  uint32_t run;
  uint64_t rows = 0;
  if (!store || store_add_run(store, path, NULL, &run, &error)) abort();
  if (json_open_in_chunks(store, run, path, chunk_bytes, &error)) {
    store_cancel_run(store, run);
  } else {
    store_publish_run(store, run);
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
        for (unsigned column = 2; column < schema_tables[table].column_count; column++) segment_value(segment, column, row);
      }
      if (table != TABLE_diagnostics) rows += snapshot->rows;
      snapshot_release(snapshot);
    }
  }
  store_release(store);
  return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  char path[64];
  if (fd < 0) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (write(fd, data, size) == (ssize_t)size) {
    size_t chunk = size ? (size_t)data[size - 1] * 4 + 1 : 1;
    if (open_all(path, chunk) != open_all(path, 1 << 20)) abort();
  }
  close(fd);
  return 0;
}
