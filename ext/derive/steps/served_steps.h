/* served_steps.h: the batches that a server of models makes of requests, as steps. */
#ifndef TFPROF_DERIVE_STEPS_SERVED_STEPS_H
#define TFPROF_DERIVE_STEPS_SERVED_STEPS_H

#include "derive/steps/repeated_calls.h"

/* Adds the batches to an empty list, of all threads, by their starts and numbered from 0; where there are none the
** requests, each without those within it on its thread. */
enum tfprof_status find_served_steps(struct profile *profile, struct mark_list *list, struct tfprof_error *error);

#endif
