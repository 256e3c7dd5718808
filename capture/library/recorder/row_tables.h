/* row_tables.h: the tables of a recording, in the order in which they are written, and what the disk did not take.
**
** Threads, devices, frames, traces and modules come first: ops and events of memory refer to their rows. Such
** definitions are never given up before the end, for their row numbers are already in use; while the disk does not take
** them nothing else is written. All others are given up when they cannot be written, and counted: each second the file
** is told of each table how many of its rows are missing, and at the end the reasons.
*/
#ifndef TFPROF_CAPTURE_ROW_TABLES_H
#define TFPROF_CAPTURE_ROW_TABLES_H

#include "row_buffer.h"

enum row_table {
  ROWS_OF_THREADS,
  ROWS_OF_DEVICES,
  ROWS_OF_FRAMES,
  ROWS_OF_TRACES,
  ROWS_OF_NODES,
  ROWS_OF_CHANGES,
  ROW_DEFINITIONS, /* so many of them are definitions */
  ROWS_OF_COUNTERS = ROW_DEFINITIONS,
  ROWS_OF_OPS,
  ROWS_OF_MEMORY,
  ROWS_OF_SAMPLES,
  ROWS_OF_CALLS,
  ROWS_OF_TOTALS,
  ROW_TABLES
};

struct row_tables {
  struct dump_writer *writer;
  struct row_buffer *buffers[ROW_TABLES];
  uint64_t lost[ROW_TABLES]; /* the disk did not take them */
  uint64_t told[ROW_TABLES]; /* what the file says of it */
  bool is_blocked;           /* the disk did not take definitions */
};

/* false: they wait, and `error` says why. */
bool row_tables_define(struct row_tables *tables, struct tfprof_error *error);
/* Writes a table, or gives its rows up. false: the disk did not take them, and `error` says why. */
bool row_tables_write(struct row_tables *tables, enum row_table table, struct tfprof_error *error);
bool row_tables_wait(const struct row_tables *tables); /* some row of any table is to be written */
/* Tells the file how many rows are missing of each table: those that the disk did not take and `others`, which were
** lost before. `is_end`: the room for the last words may be used up. */
void row_tables_tell(struct row_tables *tables, const uint64_t others[ROW_TABLES], bool is_end);
/* At the end: definitions that still wait are lost, too. */
void row_tables_finish(struct row_tables *tables);
/* Its name in the dump, and what its rows are in words. */
const char *row_table_name(enum row_table table);
const char *row_table_contents(enum row_table table);

#endif
