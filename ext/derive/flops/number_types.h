/* number_types.h: the number types of PyTorch by the names that they have in traces.
**
** Traces and captures name the type of an input as C++ does ("float", "c10::Half"), and the type that a tensor is to
** have by its number (c10::ScalarType).  Tables name both as PyTorch does: float32, float16.
*/
#ifndef TFPROF_NUMBER_TYPES_H
#define TFPROF_NUMBER_TYPES_H

#include "derive/flops/flops.h"

enum number_kind { NUMBER_TRUTH, NUMBER_INTEGER, NUMBER_FLOAT, NUMBER_COMPLEX }; /* what is promoted to what */

struct number_type {
  const char *input; /* its name in C++ */
  const char *name;
  uint8_t bytes; /* of an element */
  enum number_kind kind;
};

/* By an element of ops.input_types, with its quotation marks. NULL: it is no tensor, or its type is not known. */
const struct number_type *number_type_of_input(struct flops_text type);
/* By the number of a c10::ScalarType. */
const struct number_type *number_type_numbered(int64_t number);

#endif
