/* stacks.h: call stacks as rows of code_traces: a stack is a frame on top of another stack, and each is there once. */
#ifndef TFPROF_READ_ROWS_STACKS_H
#define TFPROF_READ_ROWS_STACKS_H

#include "base/row_map.h"
#include "read/rows/eager_rows.h"

/* The row + 1 of frame number `frame` on top of `parent` (row + 1, 0: nothing is below it), entered where it is new. 0:
** no memory. The values of the map are depths. */
uint32_t stacks_push(struct row_map *stacks, uint32_t parent, uint32_t frame);
static inline uint32_t stacks_parent(const struct row_map *stacks, uint32_t row) {
  assert(row < stacks->count);
  return (uint32_t)stacks->keys[row].words[0];
}
static inline uint32_t stacks_frame(const struct row_map *stacks, uint32_t row) {
  assert(row < stacks->count);
  return (uint32_t)stacks->keys[row].words[1];
}
/* code_traces.hash of a frame on top of another trace, NULL at the outermost: never ROW_NULL. The texts may be NULL. */
int64_t stacks_hash(const int64_t *below, const char *file, const char *function, int64_t line);
/* Sets parent, frame and depth of rows of code_traces, as many as there are stacks. Whether nothing has failed. */
bool stacks_set(struct eager_rows *rows, const struct row_map *stacks);

#endif
