/* functions.h: functions of a graph's library, and the nodes that calls of them stand for. */
#ifndef TFPROF_TENSORFLOW_FUNCTIONS_H
#define TFPROF_TENSORFLOW_FUNCTIONS_H

#include "classic/read/values.h"

/* FunctionDefLibrary. */
bool tf_read_functions(struct tf_model *model, struct wire_reader library);

/* Remembers that a node names functions in its attributes, as they were taken. */
bool tf_add_calls(struct tf_model *model, uint32_t node, const struct tf_attributes *attributes);

/* Where no step says what ran: puts the nodes of functions in the place of each call, once the graph is read. */
bool tf_expand_calls(struct tf_model *model);

#endif
