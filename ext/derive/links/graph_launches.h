/* graph_launches.h: which calls launch device graphs. */
#ifndef TFPROF_GRAPH_LAUNCHES_H
#define TFPROF_GRAPH_LAUNCHES_H

#include "derive/rows.h"

/* Sets *is_launch (to be freed with scratch_free), by row of api_calls, to 1 for calls whose name says GraphLaunch,
** such as cudaGraphLaunch, cuGraphLaunch and hipGraphLaunch with their suffixes, else to 0. Reads api_calls.name. */
enum tfprof_status graph_launches_find_calls(struct profile *profile, uint8_t **is_launch, struct tfprof_error *error);

#endif
