/* schema.h: what tables.def says, as C data.
**
** tables.def is the only place where a table or a column is described.  This header includes it to make
**
**   TABLE_ops, TABLE_kernels, ...          index of a table (dense, 0 ... TABLE_count-1; may change between versions)
**   COLUMN_ops_name, COLUMN_ops_dur_ns ... index of a column within its table (dense; may change between versions)
**   schema_tables[]                        the specs: name, type, unit, stable dump id, sentence
**
** Dump ids (table_spec.dump_id, column_spec.dump_id) are what dump files carry: they never change and are never reused.
**
** Column order within a table: id (0), profile_id (1), the columns of tables.def in their order, attributes.
** The hidden argument `profile` that every virtual table takes follows them in the SQL declaration only.
*/
#ifndef TFPROF_SCHEMA_H
#define TFPROF_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum table_id {
#define TABLE(table, dump_id, title) TABLE_##table,
#include "tables.def"
  TABLE_count
};

/* One enum for all tables: each table starts again at 0. COLUMN_COUNT_ops is the number of columns of ops; it is not
** called COLUMN_ops_count because that would be a column named `count`, and diagnostics has one. */
enum column_id {
#define TABLE(table, dump_id, title) COLUMN_##table##_id = 0, COLUMN_##table##_profile_id,
#define COLUMN(table, name, dump_id, type, unit, doc) COLUMN_##table##_##name,
#define REFERENCE(table, name, dump_id, target, doc) COLUMN_##table##_##name,
#define INTERNAL(table, name, dump_id, type, doc) COLUMN_##table##_##name,
#define INTERNAL_REFERENCE(table, name, dump_id, target, doc) COLUMN_##table##_##name,
#define SPAN(table, start_id, end_id, dur_id) \
  COLUMN_##table##_start_ns, COLUMN_##table##_end_ns, COLUMN_##table##_dur_ns,
#define END(table) COLUMN_##table##_attributes, COLUMN_COUNT_##table,
#include "tables.def"
};

enum { SCHEMA_MAXIMUM_COLUMNS = 96, SCHEMA_NO_TABLE = 0xffff };

enum column_type {
  TYPE_INTEGER,   /* 64-bit signed */
  TYPE_BOOLEAN,   /* 0 or 1 */
  TYPE_REAL,      /* double */
  TYPE_TEXT,      /* an id of the string pool */
  TYPE_JSON,      /* TEXT that is a JSON value */
  TYPE_TIME,      /* absolute nanoseconds; the profile's clock offset is added when a value leaves the store */
  TYPE_DURATION,  /* nanoseconds */
  TYPE_REFERENCE, /* a row number of another table (or this) in the same profile; leaves the store as that row's id */
};

enum column_visibility {
  VISIBLE,
  HIDDEN_COLUMN,   /* declared HIDDEN: not in SELECT * (runs.profile_id only) */
  INTERNAL_COLUMN, /* raw material for derive passes: stored and dumped, never declared to SQL */
};

struct column_spec {
  const char *name;
  uint16_t dump_id;     /* stable; 0 for id and profile_id, which are never stored; 3 for attributes */
  uint8_t type;         /* enum column_type */
  uint8_t visibility;   /* enum column_visibility */
  uint16_t target;      /* table index for TYPE_REFERENCE, else SCHEMA_NO_TABLE */
  const char *unit;     /* "ns", "bytes", "ratio", "" ... */
  const char *doc;      /* one sentence */
};

struct table_spec {
  const char *name;
  uint16_t dump_id;
  uint16_t column_count;
  bool is_cache; /* there for speed alone: usable by name, listed nowhere */
  /* Index of the span columns or -1. end_ns is start_ns + dur_ns and is never stored beside both. */
  int16_t start_column, end_column, dur_column;
  const char *title;
  const struct column_spec *columns;
};

extern const struct table_spec schema_tables[TABLE_count];

/* -1 when there is none. Names compare without regard to case, as in SQL. */
int schema_find_table(const char *name);
int schema_find_column(const struct table_spec *table, const char *name);
int schema_table_of_dump_id(unsigned dump_id);
int schema_column_of_dump_id(const struct table_spec *table, unsigned dump_id);

/* The CREATE TABLE text for sqlite3_declare_vtab(), with the hidden `profile` argument last. Written to `buffer`
** (NUL-terminated, truncated to `size`); returns the length it needs, as snprintf does. Columns come in the order of
** the enum, but INTERNAL ones are left out (SQL must not see them, not even hidden): `sql_columns` (room for
** column_count + 1 entries) receives the column index of each SQL position, and -1 at the position of `profile`, where
** it ends. It may be NULL. */
size_t schema_declaration(const struct table_spec *table, char *buffer, size_t size, int16_t *sql_columns);

#endif
