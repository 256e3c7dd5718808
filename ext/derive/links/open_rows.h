/* open_rows.h: the stack of one thread's rows that have ended and have no parent yet (nesting.c). Starts and ends both
** rise from its bottom to its top, and a row that is closed takes from the top what began no earlier than itself.
*/
#ifndef TFPROF_DERIVE_OPEN_ROWS_H
#define TFPROF_DERIVE_OPEN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct open_row {
  int64_t start, end;
  uint32_t row;
  bool is_frame, is_range; /* of Python, of category user: told where rows are gone through again */
};

/* Takes from the stack what lies inside a row and returns the new top. *until is how far down the row is covered by
** its children, *covered how much of it. */
static inline struct open_row *take_children(struct open_row *top, int64_t start, uint32_t row, uint32_t *parents,
                                             int64_t *until, uint64_t *covered) {
  for (; top->start >= start; top--) {
    *covered += (uint64_t)(top->end < *until ? top->end : *until) - (uint64_t)top->start;
    *until = top->start;
    parents[top->row] = row;
  }
  return top;
}

/* Makes a row the parent of what it encloses and puts it on the stack; returns the new top. */
static inline struct open_row *close_row(struct open_row *top, int64_t start, int64_t end, uint32_t row,
                                         uint32_t *parents, int64_t *selves, int64_t *until) {
  uint64_t covered = 0;
  *until = end;
  if (start < end) top = take_children(top, start, row, parents, until, &covered);
  *++top = (struct open_row){start, end, row, false, false};
  selves[row] = (int64_t)((uint64_t)end - (uint64_t)start - covered);
  return top;
}

#endif
