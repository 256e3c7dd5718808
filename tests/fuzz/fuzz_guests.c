/* fuzz_guests.c: any bytes as the files that a dump names: runs of sessions, graphs, op logs, and windows of the
** framework's profiler; every column of every table is read, with all that is derived.
**
** An input begins with how many records of sessions the dump has, each in RECORD_BYTES (kind, graph, step and start,
** place and length in the file), then with how many windows, each in WINDOW_BYTES (start, duration, thread), then with
** how many steps there are; all that follows is the content of both files.  They lie in a directory of their own.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "derive/derive.h"
#include "dump/writer.h"
#include "read_all.h"

enum { RECORDS = 8, RECORD_BYTES = 8, WINDOWS = 3, WINDOW_BYTES = 4, STEPS = 15, COLUMNS = 8, ROWS = 16 };
#define SESSIONS "f.sessions"
#define SPACE "f.xplane.pb"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct frame {
  unsigned table, rows, count;
  struct dump_column_data columns[COLUMNS];
  int64_t values[COLUMNS][ROWS];
};

static void set_cell(struct frame *frame, unsigned column, unsigned row, int64_t value) {
  unsigned place = 0;
  const uint32_t id = schema_tables[frame->table].columns[column].dump_id;
  while (place < frame->count && frame->columns[place].dump_id != id) place++;
  if (place == frame->count)
    frame->columns[frame->count++] = (struct dump_column_data){.dump_id = id, .integers = frame->values[place]};
  frame->values[place][row] = value;
}

static void write_frame(struct dump_writer *writer, const struct frame *frame) {
  if (frame->rows)
    dump_writer_rows(writer, schema_tables[frame->table].dump_id, frame->rows, frame->columns, frame->count, NULL);
}

static int64_t string_of(struct dump_writer *writer, const char *text) {
  return dump_writer_string(writer, text, strlen(text));
}

static uint8_t next(const uint8_t **data, size_t *size) {
  if (!*size) return 0;
  --*size;
  return *(*data)++;
}

static int64_t next_place(const uint8_t **data, size_t *size) {
  uint8_t high = next(data, size);
  return (int64_t)high << 8 | next(data, size);
}

/* Takes from the input what the dump says; the rest is the file's. */
static void write_dump(const char *path, const uint8_t **data, size_t *size) {
  static const char *const kinds[] = {"run", "graph", "op_log", "other"};
  struct dump_profile profile = {.host = "fuzz", .rank = -1, .clock_domain = "monotonic"};
  struct dump_writer *writer;
  if (dump_writer_create(path, true, &profile, &writer, NULL)) abort();
  struct frame records = {.table = TABLE_session_records}, windows = {.table = TABLE_profiler_windows},
               threads = {.table = TABLE_threads, .rows = 1}, steps = {.table = TABLE_ops};
  int64_t sessions = string_of(writer, SESSIONS), space = string_of(writer, SPACE), user = string_of(writer, "user");
  set_cell(&threads, COLUMN_threads_tid, 0, 7);
  records.rows = next(data, size) % (RECORDS + 1);
  for (unsigned i = 0; i < records.rows; i++) {
    uint8_t kind = next(data, size);
    set_cell(&records, COLUMN_session_records_file, i, kind & 64 ? space : sessions);
    set_cell(&records, COLUMN_session_records_kind, i, string_of(writer, kinds[kind % 4]));
    set_cell(&records, COLUMN_session_records_graph, i, next(data, size));
    int64_t at = next(data, size);
    set_cell(&records, COLUMN_session_records_step_group, i, at);
    set_cell(&records, COLUMN_session_records_start_ns, i, at * 1000);
    set_cell(&records, COLUMN_session_records_start_realtime_ns, i, at * 1000 + (kind & 128 ? 5000000000 : 0));
    set_cell(&records, COLUMN_session_records_byte_offset, i, next_place(data, size));
    set_cell(&records, COLUMN_session_records_bytes, i, next_place(data, size));
    next(data, size); /* one more, for what comes later */
  }
  windows.rows = next(data, size) % (WINDOWS + 1);
  for (unsigned i = 0; i < windows.rows; i++) {
    set_cell(&windows, COLUMN_profiler_windows_file, i, space);
    set_cell(&windows, COLUMN_profiler_windows_start_ns, i, (int64_t)next(data, size) * 1000);
    set_cell(&windows, COLUMN_profiler_windows_dur_ns, i, (int64_t)next(data, size) * 1000);
    set_cell(&windows, COLUMN_profiler_windows_thread_id, i, next(data, size) % 2);
    set_cell(&windows, COLUMN_profiler_windows_thread_handle, i, next(data, size));
  }
  steps.rows = next(data, size) % (STEPS + 1);
  for (unsigned i = 0; i < steps.rows; i++) {
    char name[32];
    snprintf(name, sizeof name, "tfprof.step#%u", i);
    set_cell(&steps, COLUMN_ops_name, i, string_of(writer, name));
    set_cell(&steps, COLUMN_ops_category, i, user);
    set_cell(&steps, COLUMN_ops_thread_id, i, 0);
    set_cell(&steps, COLUMN_ops_start_ns, i, (int64_t)i * 16000);
    set_cell(&steps, COLUMN_ops_dur_ns, i, 15000);
  }
  write_frame(writer, &threads);
  write_frame(writer, &records);
  write_frame(writer, &windows);
  write_frame(writer, &steps);
  dump_writer_close(writer, NULL);
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char folder[] = "/tmp/tfprof-fuzz-XXXXXX";
  static bool is_made;
  char dump[64], sessions[64], space[64];
  if (!is_made && !mkdtemp(folder)) abort();
  is_made = true;
  snprintf(dump, sizeof dump, "%s/f.tfprof", folder);
  snprintf(sessions, sizeof sessions, "%s/" SESSIONS, folder);
  snprintf(space, sizeof space, "%s/" SPACE, folder);
  write_dump(dump, &data, &size);
  write_file(sessions, data, size);
  write_file(space, data, size);
  struct store *store = store_create(derive_passes, derive_pass_count);
  struct tfprof_error error;
  uint32_t run;
  if (!store) abort();
  if (read_open(store, dump, &run, &error) == TFPROF_OK) read_all(store);
  store_release(store);
  unlink(dump);
  unlink(sessions);
  unlink(space);
  rmdir(folder);
  is_made = false;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  return 0;
}
