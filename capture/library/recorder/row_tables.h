/* row_tables.h: the tables of a recording, and what the disk did not take.
**
** Sources add them when a file is opened.  Definitions, whose rows others refer to, are written before all else, and
** never given up before the end, for their row numbers are already in use; while the disk does not take them nothing
** else is written. All others are given up when they cannot be written, and counted: each second the file is told of
** each table how many of its rows are missing, and at the end the reasons.
*/
#ifndef TFPROF_CAPTURE_ROW_TABLES_H
#define TFPROF_CAPTURE_ROW_TABLES_H

#include "dump_ids.h"
#include "row_buffer.h"

enum table_role {
  TABLE_DEFINITION,
  TABLE_CONTEXT, /* written after definitions, and whenever anything else is */
  TABLE_ROWS,
};

struct table_form {
  uint16_t dump_id;
  enum table_role role;
  const char *name, *contents; /* as users know it; what its rows are: "ops" */
  const struct row_column *columns;
  unsigned column_count;
  uint32_t capacity; /* rows that there is room for at first */
  bool is_of_devices; /* what devices did: it has a budget of its own (governor/limits.h) */
};
#define TABLE_FORM(table, role, contents, columns, capacity) \
  { DUMP_TABLE_##table, role, #table, contents, columns, sizeof(columns) / sizeof *(columns), capacity, false }
#define DEVICE_TABLE_FORM(table, role, contents, columns, capacity) \
  { DUMP_TABLE_##table, role, #table, contents, columns, sizeof(columns) / sizeof *(columns), capacity, true }

enum { TABLES_MAXIMUM = 32 };

struct row_tables {
  struct dump_writer *writer;
  struct row_table {
    struct row_buffer *rows;
    const struct table_form *form;
    uint64_t lost; /* the disk did not take them */
    uint64_t told; /* what the file says of it */
  } tables[TABLES_MAXIMUM];
  unsigned count;
  uint64_t device_bytes; /* in the file, of tables of devices */
  bool is_blocked; /* the disk did not take definitions */
  bool has_full;   /* some table has so many rows that it should be written */
};

/* `rows` and `form` are kept, until row_tables_end. false: no memory. */
bool row_tables_add(struct row_tables *tables, struct row_buffer *rows, const struct table_form *form);
void row_tables_end(struct row_tables *tables);
/* Writes definitions. false: they wait, and `error` says why. */
bool row_tables_define(struct row_tables *tables, struct tfprof_error *error);
/* Writes the tables of that role that have so many rows at least, or gives these up. false: the disk did not take some,
** and `error` says why. */
bool row_tables_write(struct row_tables *tables, enum table_role role, uint32_t least, struct tfprof_error *error);
/* How many rows of any table are to be written, and how many of those are of devices. */
uint64_t row_tables_waiting(const struct row_tables *tables, uint64_t *of_devices);
/* Tells the file how many rows are missing of a table: those that the disk did not take and `others`, which were lost
** before. `is_end`: the room for the last words may be used up. */
void row_tables_tell(struct row_tables *tables, struct row_table *table, uint64_t others, bool is_end);
/* At the end: definitions that still wait are lost, too. */
void row_tables_finish(struct row_tables *tables);

#endif
