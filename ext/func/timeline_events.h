/* timeline_events.h: what a row of the tables that most of a timeline comes from is written as.
**
** Rows are read from the store's columns where they lie, since a SELECT of all of them takes several times as long as
** their text.  Nothing here changes anything but the piece, so that several threads may write a piece each.
*/
#ifndef TFPROF_FUNC_TIMELINE_EVENTS_H
#define TFPROF_FUNC_TIMELINE_EVENTS_H

#include "func/timeline_places.h"
#include "store/store.h"
#include "write/output_file.h"

/* What the rows of one profile are written from; what a part does not need is not there. */
struct timeline_source {
  const struct timeline_places *places;
  const struct timeline_process *process;
  const struct profile *profile;
  const struct pool *pool;
  const struct timeline_lane **lane_of_thread;
  const uint32_t *threads_of_calls;                    /* by row of api_calls */
  const int64_t *starts_of_calls, *correlations;       /* the latter by row of ops; NULL: no row has an op */
  uint32_t thread_count, call_count, op_count, step_count, trace_count, frame_count;
  const bool *is_json;                                 /* by string id: what may stand in the file as it is */
  string_id user, python, module, op;                  /* categories */
};

/* The current row of a table. */
struct timeline_row {
  const struct profile_table *content;
  const struct segment *segment;
  size_t hint;
  uint32_t row; /* of the segment */
};

/* The text of a real number: few differ, and making one takes as long as all else of a row. */
enum { TIMELINE_REALS = 32, TIMELINE_REAL_BYTES = 32 };
struct timeline_real {
  uint64_t bits;
  size_t length; /* 0: none yet */
  char text[TIMELINE_REAL_BYTES];
};

struct timeline_piece {
  const struct timeline_source *source;
  struct output_file *file;
  struct timeline_row row;
  struct timeline_row step, trace, frame; /* that it refers to */
  int64_t event_count, next_arrow;
  struct timeline_real reals[TIMELINE_REALS]; /* by their bits */
};

/* Each writes the current row, which lies on `lane`; memory in use lies on none. */
void timeline_write_op(struct timeline_piece *piece, const struct timeline_lane *lane);
void timeline_write_kernel(struct timeline_piece *piece, const struct timeline_lane *lane);
void timeline_write_call(struct timeline_piece *piece, const struct timeline_lane *lane);
void timeline_write_launch(struct timeline_piece *piece, const struct timeline_lane *lane);
void timeline_write_memory(struct timeline_piece *piece, const struct timeline_lane *lane);

/* Where the kernel was launched, if that is drawn. */
const struct timeline_lane *timeline_caller(const struct timeline_piece *piece);

void timeline_go_to(struct timeline_row *row, uint32_t number);
/* NO_VALUE: NULL. */
int64_t timeline_integer(const struct timeline_row *row, unsigned column);
/* 0: NULL. */
string_id timeline_text(const struct timeline_row *row, unsigned column);
/* Since the origin, of a time in the profile's clock. As SQL has a time in a column of integers: NULL is 0. */
int64_t timeline_since_origin(const struct timeline_source *source, int64_t time);

/* Members of an event: the key with what stands before the value. */
static inline void timeline_put_integer(struct output_file *file, const char *key, int64_t value) {
  output_text(file, key);
  output_integer(file, value);
}
static inline void timeline_put_time(struct output_file *file, const char *key, int64_t ns) {
  output_text(file, key);
  output_thousandths(file, ns);
}

#endif
