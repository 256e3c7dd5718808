/* pickle_rows.h: texts and call stacks of a pickle's tree as rows, within what a file of its size may ask for.
**
** Lists may stand in each other as often as a hostile file likes, and a long text may be named again and again.  So
** what is looked at is counted, and beyond a number that grows with the file the rest is left (is_too_much).
*/
#ifndef TFPROF_PICKLE_ROWS_H
#define TFPROF_PICKLE_ROWS_H

#include "base/list.h"
#include "read/pickle/pickle.h"
#include "read/rows/stacks.h"

struct pickle_frame {
  string_id file, name; /* 0: NULL */
  int64_t line;         /* ROW_NULL: NULL */
};

struct pickle_rows {
  struct store *store;
  struct pool *pool;
  LIST(struct pickle_frame) frames;
  struct row_map frame_index, stacks;
  uint64_t item_limit, item_count; /* what was looked at */
  uint64_t mended_count;           /* texts that are not UTF-8 */
  bool is_too_much;                /* the limit was reached: the file repeats itself */
};

/* An item is looked at for each `bytes_of_item` bytes of the file, and some for nothing. */
struct pickle_rows pickle_rows_begin(struct store *store, uint64_t file_bytes, uint64_t bytes_of_item);
void pickle_rows_free(struct pickle_rows *rows);

/* All return TFPROF_NO_MEMORY, TFPROF_LIMIT of texts, or TFPROF_INTERRUPTED, and do nothing once it is too much. */
enum tfprof_status pickle_rows_count(struct pickle_rows *rows, uint64_t items);
/* *id: 0 where the value is no text, or an empty one. */
enum tfprof_status pickle_rows_text(struct pickle_rows *rows, const struct pickle_value *value, string_id *id);
enum tfprof_status pickle_rows_bytes(struct pickle_rows *rows, const char *text, size_t length, string_id *id);
/* *trace: the row of code_traces of the list `frames` of a dict, which stand innermost first; ROW_NULL: it has none. */
enum tfprof_status pickle_rows_stack(struct pickle_rows *rows, const struct pickle_value *value, int64_t *trace);

/* Calls `take` for the items of a list, until it fails or the file has been looked at long enough for its size. */
#define PICKLE_ROWS_EACH(rows, list, i, status, take) \
  for (uint64_t i = 0; (list) && i < (list)->count && !(status) && !(rows)->is_too_much; i++) { \
    (status) = pickle_rows_count((rows), 1); \
    if (!(status) && !(rows)->is_too_much) (status) = (take); \
  }

/* What was entered for a key, 0: nothing yet; the number of an item of a list, from 1. NULL: no memory. */
uint32_t *pickle_rows_number(struct row_map *map, int64_t a, int64_t b, int64_t c);

/* Makes code_frames and code_traces of the stacks. */
void pickle_rows_publish(const struct pickle_rows *rows, struct profile *profile, enum tfprof_status *status,
                         struct tfprof_error *error);
/* The error of what failed with `status`; `what` was read. */
enum tfprof_status pickle_rows_failed(enum tfprof_status status, const char *what, struct tfprof_error *error);

#endif
