/* one_mark.h: of several marks that stand for one step, one. */
#ifndef TFPROF_DERIVE_STEPS_ONE_MARK_H
#define TFPROF_DERIVE_STEPS_ONE_MARK_H

#include "derive/steps/repeated_calls.h"

/* Keeps the marks of the thread that has the most of them, each step once, in the order of their starts.  Marks of the
** same name and number that overlap in time are one step: copies of a file that was merged with itself, copies that
** were cut, a mark within another one.  The longest of them stays.  A number that comes again later is another step, as
** in another window of the profiler.  *repeated: how many marks are such copies.  `are_threads_alike`: each thread
** marks its own steps, so that marks on others are none.  False: no memory. */
bool marks_keep_one(struct mark_list *list, bool are_threads_alike, uint32_t *repeated);

#endif
