/* costs.h: what each node cost in each step. */
#ifndef TFPROF_CLASSIC_COSTS_H
#define TFPROF_CLASSIC_COSTS_H

#include "classic/views/classic.h"

/* Makes model->costs. `profile` NULL: the model has execs instead. Takes over `ranks`: of a row of the table nodes, its
** place by name, UINT32_MAX: none. */
enum tfprof_status classic_costs_create(struct profile *profile, struct classic_model *model, uint32_t *ranks,
                                        uint64_t node_rows, struct tfprof_error *error);
void classic_costs_free(struct classic_costs *costs);

#endif
