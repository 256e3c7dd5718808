/* parameter_pieces.h: which of the pieces of memory that a program keeps are the parameters of its model.
**
** A source has the parameters with their sizes (nodes) and pieces of memory with theirs, but it need not have seen
** where the parameters lie (parameter_places.h). So as many of the kept pieces of a size as the model has parameters of
** that size are these, the first that were allocated before the others: what else is as large, such as a copy of the
** model, came later. Allocators of devices round up to 512 bytes.
*/
#ifndef TFPROF_DERIVE_PARAMETER_PIECES_H
#define TFPROF_DERIVE_PARAMETER_PIECES_H

#include "derive/rows.h"

struct parameter_size {
  int64_t bytes;
  uint32_t count;         /* parameters of this size that no piece was found for yet */
  uint32_t node;          /* NO_ROW: there are several */
  string_id shape, dtype; /* 0: of those of this size not all have the same */
};

struct parameter_pieces {
  struct parameter_size *sizes; /* by bytes */
  uint32_t count;
};

/* Needs nodes.param_bytes, shape, dtype. `are_found`: by node, those that are left out; NULL: none. */
enum tfprof_status parameter_pieces_read(struct parameter_pieces *pieces, const struct profile *profile,
                                         const bool *are_found, struct tfprof_error *error);
void parameter_pieces_free(struct parameter_pieces *pieces);
/* Whether a kept piece is one; to be asked in the order of allocation. The parameters of its size are one less then. */
const struct parameter_size *parameter_pieces_take(struct parameter_pieces *pieces, int64_t bytes);
/* What the parameters of the size of a piece have in common, as their gradients do; NULL: there are none, or, where the
** allocator rounds up, some of another size that would have got the same. */
const struct parameter_size *parameter_pieces_like(const struct parameter_pieces *pieces, int64_t bytes,
                                                   bool is_rounded);

#endif
