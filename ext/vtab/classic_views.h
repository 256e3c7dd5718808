/* classic_views.h: scope_view, graph_view, code_view and op_view: the views of the TensorFlow profiler as tables. */
#ifndef TFPROF_CLASSIC_VIEWS_H
#define TFPROF_CLASSIC_VIEWS_H

#include "classic/classic.h"
#include "vtab/connection.h"
#include "vtab/function_spec.h"

enum { CLASSIC_VIEW_NAME_BYTES = 16 };

/* By enum classic_view. */
extern const struct function_text classic_view_texts[CLASSIC_VIEW_count];

/* "op_view". */
void classic_views_name(int view, char name[CLASSIC_VIEW_NAME_BYTES]);

int classic_views_register(struct connection *connection);

#endif
