/* compiling_steps.h: the first steps of a profile that mostly compile. */
#ifndef TFPROF_DERIVE_COMPILING_STEPS_H
#define TFPROF_DERIVE_COMPILING_STEPS_H

#include "derive/rows.h"

/* How many of the first steps spend more than half of their time on what `compilations` has; order: the rows of the
** steps by their starts.  At most `most`, and none where more than half of all steps spend a tenth of their
** time on it: then it is what the program does in a step.  Needs compilations.start_ns and end_ns. */
enum tfprof_status compiling_steps_count(const struct profile *profile, const uint32_t *order, const int64_t *starts,
                                         const int64_t *ends, uint32_t count, uint32_t most, uint32_t *found,
                                         struct tfprof_error *error);

#endif
