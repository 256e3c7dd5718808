/* noted_ranges.h: ranges that the recorder notes by itself, because no range of PyTorch tells of them: backward passes
** (engine_callbacks.c), and what the Python hooks see (_tfprof_phases.py); of programs without PyTorch what the program
** marks by tfprof, and the steps of TensorFlow, Keras and JAX (_tfprof_marks.py).
**
** They become rows of category user, as the ranges of the program do, and are recorded in every step. A profiler of the
** program does not see them. Nothing here takes a lock, allocates or calls the system, except when a thread has not run
** anything yet.
*/
#ifndef TFPROF_CAPTURE_NOTED_RANGES_H
#define TFPROF_CAPTURE_NOTED_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* They are noted from now on, with stacks where these are asked for and known. */
void noted_ranges_arm(bool with_stacks);
void noted_ranges_disarm(void);

/* The moment at which a range begins; 0: none is recorded now. */
uint64_t noted_range_begin(void);
/* The same of a backward pass, and how many have begun. */
uint64_t noted_pass_begin(void);
uint64_t noted_passes(void);
/* It ends, on the thread that began it, where the calling thread's stack is what it was. */
void noted_range_end(const char *name, uint64_t start_ticks);
/* The same of one that may mark a step (governor/step_marks.h). `object`: which optimizer, as a number that is not 0;
** else 0. Whether a step has ended with it. */
bool noted_mark_end(const char *name, uint32_t object, uint64_t start_ticks);

/* Noted in programs without PyTorch, too, once one has asked for it by noted_ranges_arm(). */
struct capture_source;
extern const struct capture_source marks_source;

#endif
