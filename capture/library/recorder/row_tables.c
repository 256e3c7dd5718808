/* row_tables.c: see row_tables.h. */
#include "row_tables.h"

static const struct {
  const char *name, *contents;
} words[ROW_TABLES] = {
    [ROWS_OF_THREADS] = {"threads", "threads"},
    [ROWS_OF_DEVICES] = {"devices", "devices"},
    [ROWS_OF_FRAMES] = {"code_frames", "frames of stacks"},
    [ROWS_OF_TRACES] = {"code_traces", "stacks"},
    [ROWS_OF_NODES] = {"nodes", "modules and parameters"},
    [ROWS_OF_CHANGES] = {"node_changes", "changes of modules and parameters"},
    [ROWS_OF_COUNTERS] = {"counters", "values of counters"},
    [ROWS_OF_OPS] = {"ops", "ops"},
    [ROWS_OF_MEMORY] = {"memory_events", "allocations and releases"},
    [ROWS_OF_SAMPLES] = {"python_samples", "samples of Python"},
    [ROWS_OF_CALLS] = {"module_calls", "calls of modules"},
    [ROWS_OF_TOTALS] = {"memory_totals", "sums of allocations"},
};

const char *row_table_name(enum row_table table) { return words[table].name; }
const char *row_table_contents(enum row_table table) { return words[table].contents; }

bool row_tables_define(struct row_tables *tables, struct tfprof_error *error) {
  tables->is_blocked = false;
  for (int table = 0; table < ROW_DEFINITIONS && !tables->is_blocked; table++)
    tables->is_blocked = row_buffer_write(tables->buffers[table], tables->writer, error) != TFPROF_OK;
  return !tables->is_blocked;
}

static void give_up(struct row_tables *tables, enum row_table table) {
  tables->lost[table] += tables->buffers[table]->rows;
  tables->buffers[table]->rows = 0;
}

bool row_tables_write(struct row_tables *tables, enum row_table table, struct tfprof_error *error) {
  bool is_refused =
      !tables->is_blocked && row_buffer_write(tables->buffers[table], tables->writer, error) != TFPROF_OK;
  if (is_refused || tables->is_blocked) give_up(tables, table);
  return !is_refused;
}

bool row_tables_wait(const struct row_tables *tables) {
  bool wait = false;
  for (int table = 0; table < ROW_TABLES; table++) wait |= tables->buffers[table]->rows != 0;
  return wait;
}

/* On a full disk a count takes of the room for the last words, and is told only when it has doubled. */
void row_tables_tell(struct row_tables *tables, const uint64_t others[ROW_TABLES], bool is_end) {
  for (int table = 0; table < ROW_TABLES; table++) {
    uint64_t missing = tables->lost[table] + others[table], told = tables->told[table];
    bool is_full = tables->lost[table] && !is_end;
    if (missing == told || (is_full && missing / 2 < told)) continue;
    if (dump_writer_dropped(tables->writer, tables->buffers[table]->table, missing, NULL) == TFPROF_OK)
      tables->told[table] = missing;
  }
}

void row_tables_finish(struct row_tables *tables) {
  for (int table = 0; table < ROW_DEFINITIONS; table++) give_up(tables, (enum row_table)table);
}
