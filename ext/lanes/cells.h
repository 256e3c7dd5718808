/* cells.h: a timeline by the pixel: of each track and stretch of time one cell, which keeps what it stands for.
**
** Time is cut into buckets of `bucket_ns`, from 1970 on.  All events of a track that begin in one bucket are a cell:
** how many there are, how long they last together, the first and the longest of them, the category that most of
** their time is of (of equals the first).  A cell of one event is that event.  Nothing vanishes: counts and times of
** the cells add up to those of the events.
*/
#ifndef TFPROF_LANES_CELLS_H
#define TFPROF_LANES_CELLS_H

#include "lanes/sweep.h"

struct cell {
  int64_t start_ns, end_ns; /* of the first; the last end of them all */
  int64_t busy_ns;          /* at most INT64_MAX */
  int64_t bucket;           /* start_ns / bucket_ns; start_ns itself where events are not put together */
  int64_t first_id;
  uint64_t count;
  const struct segment *longest_segment; /* where the longest of them is */
  uint32_t longest_row;
  string_id category; /* 0: the word of its table */
  uint32_t track;
};

struct cells {
  struct cell *cells; /* in the order of tracks and time */
  size_t count;
  struct sweep sweep; /* the lanes and tracks that they lie in */
};

/* Of the events that touch [from, to); bucket_ns 0: each event by itself. threads and index as in struct sweep. Errors
** as sweep_run(), and TFPROF_LIMIT for more than `most` cells; after one there is nothing to clear. */
enum tfprof_status cells_make(struct cells *cells, struct store *store, int64_t from_ns, int64_t to_ns,
                              int64_t bucket_ns, const int64_t *threads, size_t thread_count, struct sweep_index *index,
                              size_t most, struct tfprof_error *error);
void cells_clear(struct cells *cells);

/* The longest event, and its name; 0: it has none. */
int64_t cell_longest_id(const struct cell *cell);
string_id cell_name(const struct cells *cells, const struct cell *cell);

#endif
