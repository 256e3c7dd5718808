/* shapes.h: shapes of outputs that a graph does not tell, but that follow from what it holds. */
#ifndef TFPROF_TENSORFLOW_SHAPES_H
#define TFPROF_TENSORFLOW_SHAPES_H

#include "classic/read/model.h"

/* Sets inferred_shapes of the nodes of a GraphDef that have no _output_shapes, where constants and variables tell them.
** False: no memory. */
bool tf_infer_shapes(struct tf_model *model);

#endif
