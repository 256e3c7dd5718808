/* ops_dump.h: a dump of made-up ops on one thread, for tests that ask about it in SQL. */
#ifndef TFPROF_OPS_DUMP_H
#define TFPROF_OPS_DUMP_H

#include <stdio.h>
#include <stdlib.h>

#include "dump/writer.h"
#include "schema/schema.h"

/* Writes frames of `rows` ops each, of which one ends each microsecond; they have `names` names, durations below 900
** ns, and as many differences between dumps as there are seeds. Not for two threads at once. */
static inline void write_ops_dump(const char *path, unsigned frames, unsigned rows, unsigned names, unsigned seed) {
  static int64_t name_ids[DUMP_FRAME_ROWS], ends[DUMP_FRAME_ROWS], durations[DUMP_FRAME_ROWS], threads[DUMP_FRAME_ROWS];
  struct tfprof_error error;
  struct dump_writer *writer;
  struct dump_profile profile = {.host = "host", .clock_domain = "realtime", .rank = -1, .created_realtime_ns = 1};
  const struct column_spec *columns = schema_tables[TABLE_ops].columns;
  struct dump_column_data ops[] = {
      {.dump_id = columns[COLUMN_ops_name].dump_id, .integers = name_ids},
      {.dump_id = columns[COLUMN_ops_thread_id].dump_id, .integers = threads},
      {.dump_id = columns[COLUMN_ops_end_ns].dump_id, .order = DUMP_ASCENDING, .integers = ends},
      {.dump_id = columns[COLUMN_ops_dur_ns].dump_id, .integers = durations},
  };
  if (dump_writer_create(path, true, &profile, &writer, &error)) abort();
  int64_t kind[1] = {dump_writer_string(writer, "host", 4)};
  struct dump_column_data thread = {
      .dump_id = schema_tables[TABLE_threads].columns[COLUMN_threads_kind].dump_id, .integers = kind};
  if (dump_writer_rows(writer, schema_tables[TABLE_threads].dump_id, 1, &thread, 1, &error)) abort();
  for (unsigned frame = 0; frame < frames; frame++) {
    for (unsigned i = 0; i < rows; i++) {
      int64_t row = (int64_t)frame * rows + i;
      char name[32];
      int length = snprintf(name, sizeof name, "op %d", (int)((row * 7 + seed) % names));
      name_ids[i] = dump_writer_string(writer, name, (size_t)length);
      ends[i] = 1000 * (row + 1);
      durations[i] = (row * 13 + seed) % 900;
    }
    if (dump_writer_rows(writer, schema_tables[TABLE_ops].dump_id, rows, ops, 4, &error)) abort();
  }
  if (dump_writer_close(writer, &error)) abort();
}

#endif
