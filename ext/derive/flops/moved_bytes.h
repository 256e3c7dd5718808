/* moved_bytes.h: how many bytes a call of an op of PyTorch reads and writes at least.
**
** Every tensor that it is given is read once, and what it returns is written once, as shapes and number types tell:
** what caches spare or a kernel reads again is not in it.  Op types stand in moved_bytes.def, with what is known of
** their outputs; ops that only look at the same memory in another way move nothing and are not there.
*/
#ifndef TFPROF_MOVED_BYTES_H
#define TFPROF_MOVED_BYTES_H

#include "derive/flops/flops.h"

/* A line of moved_bytes.def, which tells what each kind means. */
enum written {
  WRITTEN_BROADCAST,
  WRITTEN_FIRST,
  WRITTEN_MASKED,
  WRITTEN_INPUTS,
  WRITTEN_NOTHING,
  WRITTEN_FILLED,
  WRITTEN_ROWS,
  WRITTEN_PRODUCT,
  WRITTEN_CONVOLVED,
  WRITTEN_GRADIENTS
};
struct moved_row {
  const char *op_type;
  enum written written;
  int number;
};
/* NULL: the op type is none whose bytes can be told. */
const struct moved_row *moved_row_find(struct flops_text op_type);

struct moved_call {
  struct flops_text op_type, input_shapes, input_types, output_shapes, input_values;
  int64_t flops; /* of the call; below 0: not known */
};
/* False: something that is needed is missing, unknown or too large. `memory` is for one call at a time. */
bool moved_bytes_count(struct flops_call *memory, const struct moved_call *call, int64_t *bytes);

#endif
