/* cursor.h: walks over the rows of a table that a query asked for.
**
** A walk goes over positions of a snapshot: a stretch of them, or a list (a permutation, a slice of an index, the rows
** of an IN), up or down, and stops where all active filters match.
**
** Columns are loaded segment by segment when the walk first enters one, so that a query with LIMIT loads little; for
** each entered segment the cursor keeps the readers of the columns in use.  The inner side of a join starts a new walk
** for each outer row: that reuses everything, and allocates nothing once it has seen all segments.
*/
#ifndef TFPROF_CURSOR_H
#define TFPROF_CURSOR_H

#include <sqlite3ext.h>

#include "store/snapshot.h"
#include "vtab/connection.h"
#include "vtab/filter.h"
#include "vtab/plan.h"

/* One of our tables on one connection. */
struct table {
  sqlite3_vtab base;
  struct connection *connection; /* retained */
  const struct table_spec *spec;
  unsigned table;                /* index of the spec */
  int sql_column_count;          /* with the hidden argument, which is the last */
  int16_t sql_columns[SCHEMA_MAXIMUM_COLUMNS + 1];
  bool has_utf8_order;
  /* How often rows were looked up by each column since `generation`: an index is built only when that pays. */
  uint64_t generation;
  uint8_t lookups[SCHEMA_MAXIMUM_COLUMNS];
};

enum { CURSOR_MAXIMUM_PREFETCH = 8 };

struct bound_segment {
  const struct segment *segment;
  unsigned prefetch_count;
  struct {
    const char *elements;
    unsigned shift;
  } prefetch[CURSOR_MAXIMUM_PREFETCH]; /* shift: log2 of the element's size */
  struct column_reader readers[]; /* by slot */
};

struct cursor {
  sqlite3_vtab_cursor base;
  /* Where it is. */
  bool is_at_end;
  bool is_plain; /* the walk goes up, over every position */
  uint32_t row;
  uint64_t segment_begin, segment_rows;
  struct bound_segment *current;
  struct pool *pool;
  int16_t slot_of_sql[SCHEMA_MAXIMUM_COLUMNS + 1]; /* reader of each SQL column, -1: not expected to be read */
  /* The walk. */
  const uint32_t *list;         /* NULL: indexes are positions */
  uint64_t index, stop, step;   /* step is 1, or -1 modulo 2^64 */
  struct filter *active[PLAN_MAXIMUM_TERMS];
  unsigned active_count;
  bool has_last;                /* for plan.skips_duplicates: the row handed out last */
  bool is_told_apart;           /* SQLite has asked for more of it than what its duplicates share, such as the rowid */
  struct value last[PLAN_MAXIMUM_ORDER];
  uint32_t *own_positions;      /* for IN, and for orders with both directions */
  size_t own_capacity;
  bool own_is_order;            /* they are what the plan orders by, of this snapshot */
  /* What is read; kept for the whole life of the cursor, so that one statement sees one state. */
  struct snapshot *snapshot;
  sqlite3_value *selection;     /* the hidden argument */
  struct bound_segment **bound; /* by segment, NULL: not entered yet */
  uint32_t *seek;               /* segment of the first position of each stretch of 2^seek_shift positions */
  unsigned seek_shift;
  /* The plan, read again only when SQLite comes with another. */
  const char *plan_text;
  struct plan plan;
  bool has_outer_join;          /* see outer_join.h */
  unsigned slot_count;          /* the columns that the plan reads */
  uint16_t slot_columns[SCHEMA_MAXIMUM_COLUMNS];
  struct filter filters[PLAN_MAXIMUM_TERMS]; /* by term of the plan */
};

/* xOpen, xClose, xFilter ... of the module in table_module.c. */
int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **opened);
int cursor_close(sqlite3_vtab_cursor *base);
int cursor_filter(sqlite3_vtab_cursor *base, int access, const char *plan_text, int count, sqlite3_value **values);
int cursor_next(sqlite3_vtab_cursor *base);
int cursor_eof(sqlite3_vtab_cursor *cursor);
int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int sql_column);
int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

static inline struct table *cursor_table(const struct cursor *cursor) { return (struct table *)cursor->base.pVtab; }

/* The reader of a column that the plan reads. */
static inline unsigned cursor_slot(const struct cursor *cursor, unsigned column) {
  unsigned slot = 0;
  while (cursor->slot_columns[slot] != column) slot++;
  return slot;
}

/* Ends what connection_begin() began; an error becomes the table's, and its code is returned. */
int cursor_finish(struct cursor *cursor, enum tfprof_status status, const struct tfprof_error *error);

/* walk_start.c: starts the walk of the cursor's plan; the filters are prepared. */
int walk_start(struct cursor *cursor);

/* walk.c: goes to the next row that matches, or to the end. */
int walk_next(struct cursor *cursor);
/* Makes the position's segment the current one, loading columns when it is entered for the first time. */
int walk_enter(struct cursor *cursor, uint64_t position);
/* What a filter answers for every row of the segment, 0 or 1, where its column is loaded and has one value in all of
** them; else -1. */
int walk_common_answer(const struct cursor *cursor, struct filter *filter, const struct segment *segment);
/* Makes finding the segment of a position a matter of one or two steps, for walks that jump about. */
int walk_build_seek(struct cursor *cursor);
/* As DISTINCT has it: NULL equals NULL. */
bool value_equals(const struct value *left, const struct value *right);

#endif
