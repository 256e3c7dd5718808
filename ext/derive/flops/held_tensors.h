/* held_tensors.h: which tensor a piece of memory holds, as a call of an op of PyTorch tells that allocated it.
**
** No trace and no capture says at which address a tensor lies.  But ops that allocate say how many numbers of which
** type there is to be room for (aten::empty), and of others the outputs are as moved_bytes.def has them, or, where that
** does not know the op, as large as one of the inputs.  An answer counts only if it takes as many bytes as the piece.
*/
#ifndef TFPROF_HELD_TENSORS_H
#define TFPROF_HELD_TENSORS_H

#include "derive/flops/moved_bytes.h"

struct held_piece {
  int64_t bytes;
  bool is_rounded; /* its allocator gives more than is asked for: as that of CUDA, whole units and what is left over */
};

enum { HELD_DIMENSIONS = 16 };
struct held_tensor {
  int64_t bytes;     /* that it takes */
  const char *dtype; /* NULL: not known */
  bool has_shape;    /* else that is not known */
  uint32_t dimensions;
  int64_t sizes[HELD_DIMENSIONS];
};

/* Whether so many bytes would have got this piece. */
bool held_piece_fits(struct held_piece piece, int64_t bytes);

enum held {
  HELD_UNKNOWN,
  HELD_ALLOCATED, /* what the op was asked to make room for: whoever called it knows no better */
  HELD_RETURNED,  /* what it returns */
};
/* `memory` is for one call at a time. `is_returned`: the piece was held when the call had ended. `is_innermost`: it is
** the innermost call around the allocation that has tensors among its inputs, which *has_tensors tells. */
enum held held_tensor_find(struct flops_call *memory, const struct moved_call *call, struct held_piece piece,
                           bool is_returned, bool is_innermost, bool *has_tensors, struct held_tensor *tensor);

#endif
