/* classic_views.h: scope_view, graph_view, code_view and op_view: the views of the TensorFlow profiler as tables. */
#ifndef TFPROF_CLASSIC_VIEWS_H
#define TFPROF_CLASSIC_VIEWS_H

#include "classic/views/classic.h"
#include "vtab/connection.h"

int classic_views_register(struct connection *connection);

#endif
