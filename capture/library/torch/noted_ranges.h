/* noted_ranges.h: ranges that the recorder notes by itself, because no range of PyTorch tells of them: backward passes
** (engine_callbacks.c), and what the Python hooks see (_tfprof_phases.py).
**
** They become rows of category user, as the ranges of the program do, and are recorded in every step. A profiler of the
** program does not see them. Nothing here takes a lock, allocates or calls the system, except when a thread has not run
** anything yet.
*/
#ifndef TFPROF_CAPTURE_NOTED_RANGES_H
#define TFPROF_CAPTURE_NOTED_RANGES_H

#include <stdbool.h>
#include <stdint.h>

void noted_ranges_arm(bool with_stacks);
void noted_ranges_disarm(void);

/* The moment at which a range begins; 0: none is recorded now. */
uint64_t noted_range_begin(void);
/* The same of a backward pass, and how many have begun. */
uint64_t noted_pass_begin(void);
uint64_t noted_passes(void);
/* It ends, on the thread that began it, where the calling thread's stack is what it was. */
void noted_range_end(const char *name, uint64_t start_ticks);

#endif
