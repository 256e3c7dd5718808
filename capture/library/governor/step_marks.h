/* step_marks.h: which of the marks that the program sets end its steps.
**
** As in ext/derive/steps/steps.c, for the two have to agree: tfprof.step() wins, then the user's own profiler, then the
** optimizer that steps most often, and of several the one that ended its first step last, then what NVTX marks as
** steps, and of several what covers most time.  Optimizers of one class
** make one series whose periods repeat in a pattern: the step ends where the longest pause follows.  While the pattern
** is not known the steps are not known.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_STEP_MARKS_H
#define TFPROF_CAPTURE_STEP_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum step_mark { MARK_NONE, MARK_NVTX, MARK_OPTIMIZER, MARK_PROFILER, MARK_USER }; /* the later, the better */

enum {
  WARMUP_STEPS = 3, /* as in ext/derive/steps/step_marks.c */
  FIRST_STEPS = 5,  /* after them: so many are looked at before the steps are known */
  SERIES_MAXIMUM = 8,
  NVTX_SERIES_MAXIMUM = 4, /* of them of NVTX */
  PATTERN_MAXIMUM = 8,
  KEPT_MARKS = 33, /* to find the pattern in */
};

struct mark {
  uint64_t start, end; /* ticks */
};

struct mark_series {
  enum step_mark kind;
  uint32_t thread, name; /* a hash of the name; 0 where it differs from mark to mark */
  uint64_t count;
  uint64_t covered; /* ticks, of all marks */
  unsigned first_ended; /* which of the series ended its first mark when */
  struct mark marks[KEPT_MARKS]; /* the first ones */
};

struct step_marks {
  struct mark_series series[SERIES_MAXIMUM];
  unsigned series_count;
  struct mark_series *leader; /* into series */
  bool is_learnt;             /* the leader and its pattern stay as they are */
  unsigned per_step, phase;   /* marks of the leader that make a step; which one of them ends it */
  uint64_t silence;           /* marks of others since the last one of the leader */
  uint64_t steps;             /* that have ended */
  uint64_t steps_before;      /* when the series were forgotten last */
};

/* What a mark has brought about, any of: */
enum { STEP_HAS_ENDED = 1, STEPS_ARE_LEARNT = 2, STEPS_ARE_FORGOTTEN = 4 /* the program has gone over to others */ };

enum step_mark step_mark_kind(const char *name);
void step_marks_begin(struct step_marks *marks);
/* A mark has ended on this thread; `name` is a number that stands for its name. */
unsigned step_marks_add(struct step_marks *marks, enum step_mark kind, uint32_t thread, uint32_t name,
                        uint64_t start_ticks, uint64_t end_ticks);

#endif
