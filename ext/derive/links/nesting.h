/* nesting.h: what the files of the pass `nesting` share (nesting.c). nesting_segments.c nests each segment's rows among
** themselves and joins the segments; nesting_again.c goes again through threads that are not in end order or where
** something crossed; nesting.c is the pass, and writes the columns.
*/
#ifndef TFPROF_DERIVE_NESTING_H
#define TFPROF_DERIVE_NESTING_H

#include "derive/links/open_rows.h"
#include "derive/passes.h"
#include "derive/rows.h"
#include "store/parallel.h"

#include <stdatomic.h>

enum { MOST_PAIRS = 4096 };

struct crossing_pair { uint32_t rows[2]; }; /* of which one began inside the other and outlived it */

/* A row that took all that its segment had left and might take more from before the segment. */
struct reaching_row {
  int64_t start, end;
  int64_t until; /* what lies after it is covered already */
  uint32_t row;
};

/* What one segment makes of a thread. */
struct part {
  uint32_t thread;
  uint32_t rows;
  struct open_row *stack; /* ended rows without a parent so far, above one that stands for what came before */
  uint32_t count, capacity;
  struct reaching_row *reaching; /* in row order */
  uint32_t reaching_count, reaching_capacity;
  int64_t first_end, last_end;
  int64_t first_tied_start; /* of the first row with a length among those that end with the first; INT64_MIN: none */
  int64_t tied_start; /* of the last row with a length among those that ended with the last one, else its own */
  bool is_disordered, is_crossed;
  struct part *before; /* the last one of the same thread that has rows on its stack */
  size_t first_span;   /* of its rows, where its thread is gone through again */
};

struct part_list {
  struct part *items;
  uint32_t count, capacity;
};

struct lane {
  struct part *last; /* with rows on its stack; those before it hang on it */
  uint32_t rows;
  int64_t last_end, tied_start;
  bool is_disordered, is_crossed;
  size_t first_span, next_span; /* of its rows, where it is gone through again */
};

struct nesting {
  struct profile *profile;
  uint32_t rows;
  struct lane *lanes;
  uint32_t lane_count;
  int64_t *selves;   /* by row number; the other two lie behind it */
  uint32_t *parents;
  uint32_t *depths;  /* NO_ROW: nests with nothing */
  struct part_list *parts; /* by segment */
  uint32_t *part_of[PARALLEL_MAXIMUM_WORKERS]; /* by thread: 1 + index of its part in the segment that is worked on */
  atomic_int failure; /* an enum tfprof_status */
  _Atomic uint32_t crossing_ranges; /* that begin in another one and outlive it */
  _Atomic uint32_t crossing_ops;    /* the same, on threads where they are not a few */
  _Atomic uint32_t pair_count;      /* of those, that there are or would be with more room */
  struct crossing_pair pairs[MOST_PAIRS];
};

/* Makes room for `more` rows on a part's stack. Its first place is taken by a row that encloses all others, ends the
** search for children and never becomes one. */
bool nesting_reserve(struct part *part, uint32_t more);

/* Each segment by itself, side by side, then what lies across them. */
enum tfprof_status nesting_of_segments(struct nesting *nesting, struct tfprof_error *error);

/* Threads that are not in end order, or where something crossed. */
enum tfprof_status nesting_again(struct nesting *nesting, struct tfprof_error *error);

#endif
