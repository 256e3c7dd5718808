/* listing_rows.h: the rows of a listing (listing.h), cell by cell, row after row. */
#ifndef TFPROF_LISTING_ROWS_H
#define TFPROF_LISTING_ROWS_H

#include <stdbool.h>
#include <sqlite3ext.h>

#include "base/error.h"

struct listing_cell {
  char *text; /* from sqlite3_mprintf; NULL and no integer: NULL */
  bool is_integer;
  sqlite3_int64 integer;
};

struct listing_rows {
  struct listing_cell *cells;
  size_t count, capacity;
  bool is_out_of_memory;
  enum tfprof_status status; /* of counting; `error` says why */
  struct tfprof_error error;
};

/* The next cell. A text is copied; NULL: NULL. */
void listing_add_text(struct listing_rows *rows, const char *text);
void listing_add_integer(struct listing_rows *rows, sqlite3_int64 integer);
void listing_clear(struct listing_rows *rows);

#endif
