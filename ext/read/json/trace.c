/* trace.c: the memory of a trace and of its chunks. */
#include "read/json/trace.h"

#include <stdlib.h>
#include <string.h>

const uint16_t row_first_slots[ROWS_COUNT + 1] = {
#define ROWS(table) [ROWS_##table] = ROW_FIRST_##table,
#define VALUE(table, column, kind)
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
    [ROWS_COUNT] = ROW_SLOTS};

const uint8_t row_slot_kinds[ROW_SLOTS] = {
#define ROWS(table)
#define VALUE(table, column, kind) [ROW_##table##_##column] = KIND_##kind,
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
};

void trace_fail(struct trace *trace, enum tfprof_status status) {
  if (trace->status) return;
  trace->status = status;
  if (status == TFPROF_NO_MEMORY) error_no_memory(trace->error);
  else if (status == TFPROF_INTERRUPTED) error_set(trace->error, status, "interrupted");
  else error_at(trace->error, status, trace->path, 0, "holds more than can be numbered (2^31 rows, 2^32 texts)");
}

bool trace_init(struct trace *trace, struct store *store, const char *path, struct tfprof_error *error) {
  memset(trace, 0, sizeof *trace);
  trace->store = store;
  trace->pool = store_pool(store);
  trace->path = path;
  trace->error = error;
  trace->rank = trace->world_size = -1;
  /* The host is the first device of every trace. */
  bool ok = row_map_number(&trace->devices, (struct row_key){{DEVICE_CPU, 0, 0}}) == 0;
  if (!ok) trace_free(trace);
  return ok;
}

static void chunk_free(struct chunk *chunk) {
  if (!chunk) return;
  for (unsigned table = 0; table < ROWS_COUNT; table++) {
    struct chunk_table *t = &chunk->tables[table];
    for (unsigned i = 0; t->columns && i < (unsigned)(row_first_slots[table + 1] - row_first_slots[table]); i++)
      column_release(t->columns[i]);
    free(t->columns);
    free(t->offsets);
    column_release(t->end);
  }
  free(chunk);
}

void trace_free(struct trace *trace) {
  struct chunk **chunks = trace->chunks.items;
  for (size_t i = 0; i < trace->chunks.count; i++) chunk_free(chunks[i]);
  struct member *members = trace->members.items;
  for (size_t i = 0; i < trace->members.count; i++) free(members[i].value);
  row_map_free(&trace->lanes);
  row_map_free(&trace->devices);
  row_map_free(&trace->frames);
  row_map_free(&trace->stacks);
  list_free(&trace->chunks);
  list_free(&trace->lane_infos);
  free(trace->device_rows);
  list_free(&trace->device_infos);
  list_free(&trace->frame_texts);
  list_free(&trace->stack_hashes);
  list_free(&trace->lane_names);
  list_free(&trace->halves);
  list_free(&trace->collectives);
  list_free(&trace->python_frames);
  queues_free(trace);
  list_free(&trace->members);
  free(trace->scratch);
  memset(trace, 0, sizeof *trace);
}
