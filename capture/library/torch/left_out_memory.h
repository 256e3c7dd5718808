/* left_out_memory.h: pieces of memory that were given without a row of their own.
**
** Where the file is to grow slowly only some steps have their allocations and releases as rows (byte_budget.h).  Of the
** others most come and go unseen: they are counted, by line.  But a piece is kept here until it is known that nothing
** rests on it, so that rows can still be made of it: while it is live, and after its release while it is one of those
** that were live when most was in use.
**
** On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_LEFT_OUT_MEMORY_H
#define TFPROF_CAPTURE_LEFT_OUT_MEMORY_H

#include "channel/thread_record.h"

#include <stdbool.h>

/* What a row of memory_events is made of. */
struct memory_event {
  uint32_t later_ns; /* than the item says: brief ones follow each other (thread_record.h) */
  uint32_t op_name;  /* string; of a failure */
  struct memory_item item; /* bytes and in_use as they are in the row */
  uint64_t peak;
  int64_t thread; /* its row */
  uint64_t trace; /* row of code_traces + 1, or 0 */
};

struct left_out_piece {
  struct memory_event given, taken;
  uint64_t order; /* 1, 2, ... as they were given */
  enum { PIECE_FREE, PIECE_LIVE, PIECE_TAKEN } state;
  uint32_t next; /* number: of the free ones; of those taken, as memory_rows.c has them; 0: the last */
};

struct left_out_memory {
  struct left_out_piece *pieces; /* number n is pieces[n - 1] */
  uint32_t count, capacity, first_free;
  uint64_t order; /* of the last one */
};

/* The number of a piece that was given now; 0: no memory. */
uint32_t left_out_add(struct left_out_memory *left_out, const struct memory_event *given);
struct left_out_piece *left_out_piece(struct left_out_memory *left_out, uint32_t number);
void left_out_remove(struct left_out_memory *left_out, uint32_t number);
void left_out_end(struct left_out_memory *left_out);

#endif
