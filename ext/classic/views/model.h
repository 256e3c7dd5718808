/* model.h: the two ways in which a model is made: from the tables of a source that knows its graph (model.c), and from
** the ops of one that does not (ops_model.c). */
#ifndef TFPROF_CLASSIC_MODEL_H
#define TFPROF_CLASSIC_MODEL_H

#include "classic/views/classic.h"

/* Whether the profile has ops or kernels, but no accounting of nodes from its source. */
bool classic_is_of_ops(const struct profile *profile);
/* Fills everything but traces and frames. */
enum tfprof_status classic_model_of_ops(struct classic_model *model, struct profile *profile,
                                        struct tfprof_error *error);

#endif
