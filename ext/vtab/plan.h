/* plan.h: what a virtual table will do for a query: decided in xBestIndex, carried as text, read again in xFilter.
**
** The text is idxStr, so EXPLAIN QUERY PLAN shows it.  Its words, separated by spaces:
**
**   dur_ns>=?        a constraint that the table evaluates; `?` stands for the next value handed to xFilter
**   name:like?       the same for operators without a sign: is, isnot, in, like, glob, regexp, null, notnull
**   profile=?        the hidden argument
**   profile:missing  the query uses the hidden argument in a way that cannot be honoured: xFilter will say so
**   skip:?           OFFSET
**   by:step_id       rows are found through this column (by:id: one row, or a few); else all rows are passed over
**   order:-dur_ns    rows come in this order, descending with the sign
**   group:name,kind  the same, for GROUP BY and DISTINCT
**   distinct:name    the same without repeating rows that are equal in these columns, unless their rowid is asked for
**   reads:name       the columns that the query reads; reads:* all
**
** idxNum is the access path (enum access), which the words `by:`, `order:`, `group:` and `distinct:` explain.
*/
#ifndef TFPROF_PLAN_H
#define TFPROF_PLAN_H

#include <sqlite3ext.h>

#include "store/snapshot.h"
#include "store/store.h"

enum access {
  ACCESS_SCAN,  /* 0: all positions, up or down */
  ACCESS_ID,    /* 1: the row of an id */
  ACCESS_EQUAL, /* 2: the rows where a column equals a value */
  ACCESS_IN,    /* 3: the rows where a column equals one of several values */
  ACCESS_RANGE, /* 4: the rows where a column lies between bounds */
  ACCESS_ORDER, /* 5: all positions in the order of one or more columns */
};

enum term_operator {
  TERM_EQUAL, TERM_IS, TERM_IN, TERM_NULL, TERM_NOT_NULL, TERM_LESS, TERM_LESS_EQUAL, TERM_GREATER, TERM_GREATER_EQUAL,
  TERM_NOT_EQUAL, TERM_IS_NOT, TERM_LIKE, TERM_GLOB, TERM_REGEXP, TERM_OPERATORS
};

struct plan_term {
  uint8_t operator;   /* enum term_operator */
  int8_t argument;    /* index into xFilter's values */
  uint16_t column;    /* of the schema */
};

enum { PLAN_MAXIMUM_TERMS = 32, PLAN_MAXIMUM_ORDER = ORDER_MAXIMUM_COLUMNS };

struct plan {
  uint8_t access;              /* enum access */
  uint16_t column;             /* of the access path; for ACCESS_ORDER the first of `order` */
  uint16_t term_count;
  struct plan_term terms[PLAN_MAXIMUM_TERMS];
  uint16_t order_count;        /* 0: any order */
  uint16_t order[PLAN_MAXIMUM_ORDER]; /* what snapshot_order sorts by; column 0 (id): the natural order */
  bool is_descending[PLAN_MAXIMUM_ORDER];
  bool skips_duplicates;       /* rows equal in all of `order` may be left out but for the first, while no more of them
                               ** is asked for */
  bool lacks_profile;
  int8_t profile_argument, skip_argument; /* -1: not given */
  struct column_set reads;
};

/* What a plan is made for. */
struct plan_table {
  const struct table_spec *spec;
  const int16_t *sql_columns;  /* schema column of each SQL column, -1: profile */
  int sql_column_count;        /* with profile */
  struct store *store;
  bool has_utf8_order;         /* text compares as its UTF-8 bytes: not in UTF-16 databases */
  bool verify_constraints;     /* never tell SQLite that it need not check again */
};

/* xBestIndex. SQLITE_OK, SQLITE_NOMEM, SQLITE_CONSTRAINT, or SQLITE_ERROR with a message (to be freed with
** sqlite3_free). */
int plan_choose(const struct plan_table *table, sqlite3_index_info *info, char **message);

/* Reads idxStr. False: not a plan of ours. */
bool plan_parse(const struct table_spec *spec, int access, const char *text, struct plan *plan);

static inline bool column_is_text(const struct table_spec *spec, unsigned column) {
  return spec->columns[column].type == TYPE_TEXT || spec->columns[column].type == TYPE_JSON;
}

static inline bool column_is_real(const struct table_spec *spec, unsigned column) {
  return spec->columns[column].type == TYPE_REAL;
}

#endif
