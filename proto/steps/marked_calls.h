/* marked_calls.h: whether the steps that a program marks are all of its steps, by the calls of its compiled functions.
**
** A program may mark a few of its steps only, as those that it profiles itself (jax.profiler.StepTraceAnnotation within
** an `if`).  These alone are its steps then, as XProf has it; but whoever reads of 10 steps wants to know that there
** were 190 more calls of the same function.
*/
#ifndef TFPROF_STEPS_MARKED_CALLS_H
#define TFPROF_STEPS_MARKED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct marked_step_span {
  int64_t start, end;
};

struct step_call { /* of a compiled function, on the thread of the marks */
  int64_t start;
  uint64_t function;
};

struct marked_calls {
  uint64_t function; /* the one that is called in most of the marks */
  uint32_t within, beside; /* so many of its calls begin in one, and in none */
};

/* Spans by their starts, none in another; the calls are sorted. All 0 where no call begins in one. */
struct marked_calls marked_calls_count(const struct marked_step_span *spans, size_t span_count,
                                       struct step_call *calls, size_t call_count);
/* Whether that is worth saying: most of the calls are in none, and at least 8. */
bool marked_calls_are_few(const struct marked_calls *calls);

#define STEPS_MARKED_IN_PART "steps_marked_in_part"
/* Of the numbers of calls beside, all calls, and the name of the range. */
#define STEPS_MARKED_IN_PART_TEXT \
  "%u of %u calls of %s lie in none of the steps that the program marks, and these alone count as its steps: mark " \
  "each of them, or none; candidate_steps has the calls"

#endif
