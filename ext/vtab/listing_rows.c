/* listing_rows.c: see listing_rows.h. */
#include "vtab/listing_rows.h"

#include <stdlib.h>

#include "base/list.h"

SQLITE_EXTENSION_INIT3

static struct listing_cell *add_cell(struct listing_rows *rows) {
  if (!array_room(rows->cells, rows->count, rows->capacity)) {
    rows->is_out_of_memory = true;
    return NULL;
  }
  rows->cells[rows->count] = (struct listing_cell){0};
  return &rows->cells[rows->count++];
}

void listing_add_text(struct listing_rows *rows, const char *text) {
  struct listing_cell *cell = add_cell(rows);
  if (!cell || !text) return;
  cell->text = sqlite3_mprintf("%s", text);
  rows->is_out_of_memory |= !cell->text;
}

void listing_add_integer(struct listing_rows *rows, sqlite3_int64 integer) {
  struct listing_cell *cell = add_cell(rows);
  if (cell) *cell = (struct listing_cell){.is_integer = true, .integer = integer};
}

void listing_clear(struct listing_rows *rows) {
  for (size_t i = 0; i < rows->count; i++) sqlite3_free(rows->cells[i].text);
  free(rows->cells);
  *rows = (struct listing_rows){0};
}
