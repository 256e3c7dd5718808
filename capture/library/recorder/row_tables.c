/* row_tables.c: see row_tables.h. */
#include "row_tables.h"

#include <assert.h>
#include <string.h>

/* Of those that are written as they come, these are few and are no matter of the last seconds alone. */
static bool is_lasting(const struct table_form *form) {
  static const uint16_t tables[] = {DUMP_TABLE_links, DUMP_TABLE_given_names, DUMP_TABLE_hangs,
                                    DUMP_TABLE_hang_threads, DUMP_TABLE_hang_collectives};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (tables[i] == form->dump_id) return true;
  return form->role == TABLE_DEFINITION;
}

bool row_tables_add(struct row_tables *tables, struct row_buffer *rows, const struct table_form *form) {
  assert(tables->count < TABLES_MAXIMUM);
  if (!row_buffer_begin(rows, form->dump_id, form->columns, form->column_count, form->capacity)) {
    row_buffer_end(rows);
    return false;
  }
  /* Of definitions a frame may be as small or large as it comes. */
  rows->enough = form->role == TABLE_ROWS ? DUMP_FRAME_ROWS : DUMP_MAXIMUM_FRAME_ROWS / 2;
  rows->has_enough = &tables->has_full;
  rows->is_lasting = is_lasting(form);
  tables->tables[tables->count++] = (struct row_table){.rows = rows, .form = form};
  return true;
}

void row_tables_end(struct row_tables *tables) {
  for (unsigned i = 0; i < tables->count; i++) row_buffer_end(tables->tables[i].rows);
  memset(tables, 0, sizeof *tables);
}

static bool write_table(struct row_tables *tables, struct row_table *table, struct tfprof_error *error) {
  uint64_t before = dump_writer_bytes_written(tables->writer);
  bool is_written = row_buffer_write(table->rows, tables->writer, error) == TFPROF_OK;
  if (table->form->is_of_devices) tables->device_bytes += dump_writer_bytes_written(tables->writer) - before;
  return is_written;
}

bool row_tables_define(struct row_tables *tables, struct tfprof_error *error) {
  tables->is_blocked = false;
  for (unsigned i = 0; i < tables->count && !tables->is_blocked; i++) {
    struct row_table *table = &tables->tables[i];
    if (table->form->role == TABLE_DEFINITION) tables->is_blocked = !write_table(tables, table, error);
  }
  return !tables->is_blocked;
}

static void give_up(struct row_table *table) {
  table->lost += table->rows->rows;
  table->rows->rows = 0;
}

bool row_tables_write(struct row_tables *tables, enum table_role role, uint32_t least, struct tfprof_error *error) {
  bool are_taken = true;
  for (unsigned i = 0; i < tables->count; i++) {
    struct row_table *table = &tables->tables[i];
    if (table->form->role != role || table->rows->rows < least) continue;
    bool is_refused = !tables->is_blocked && !write_table(tables, table, error);
    if (is_refused || tables->is_blocked) give_up(table);
    are_taken &= !is_refused;
  }
  return are_taken;
}

uint64_t row_tables_waiting(const struct row_tables *tables, uint64_t *of_devices) {
  uint64_t rows = 0;
  *of_devices = 0;
  for (unsigned i = 0; i < tables->count; i++) {
    const struct row_table *table = &tables->tables[i];
    rows += table->rows->rows;
    if (table->form->is_of_devices) *of_devices += table->rows->rows;
  }
  return rows;
}

/* On a full disk a count takes of the room for the last words, and is told only when it has doubled. */
void row_tables_tell(struct row_tables *tables, struct row_table *table, uint64_t others, bool is_end) {
  uint64_t missing = table->lost + others;
  bool is_full = table->lost && !is_end;
  if (missing == table->told || (is_full && missing / 2 < table->told)) return;
  if (dump_writer_dropped(tables->writer, table->form->dump_id, missing, NULL) == TFPROF_OK) table->told = missing;
}

void row_tables_finish(struct row_tables *tables) {
  for (unsigned i = 0; i < tables->count; i++)
    if (tables->tables[i].form->role == TABLE_DEFINITION) give_up(&tables->tables[i]);
}
