/* sampling.h: in which steps ops are recorded.
**
** Recording the ops of a step that does little but launch them costs a sixth of its time, most of it within PyTorch.
** So that the run as a whole slows by no more than it may, ops are recorded in the first steps and then in one step of
** K. Steps, ranges, counters and allocations are recorded always, in steps without ops the small allocations without
** their stack: the callback for ranges, which sees the marks of the steps, stays; the one for ops comes and goes at the
** end of a step (op_callbacks.h).
**
** Which mark ends a step.  As in ext/derive/steps.c, for the two have to agree: tfprof.step() wins, then the user's own
** profiler, then the optimizer that steps most often, and of several the one that ended its first step last.
** Optimizers of one class make one series whose periods repeat in a pattern: the step ends where the longest pause
** follows.  While the pattern is not known everything is recorded.  A step that was recorded in part counts as not
** recorded.
**
** K.  What recording a step costs is first taken to be its number of ops times OP_COST_NS; once there are steps of both
** kinds, the difference of their medians, but no less than half of that and no more than twice.  K is the least for
** which the cost, spread over K steps, stays within SHARE of the overhead that is allowed (the rest is for what is
** recorded always).  It is looked at again every 50 steps and changed when it is off by a quarter.  Which one of K
** steps is recorded is drawn anew each time, so that no rhythm of the program hides from it.  The file's size counts as
** well: from half of its limit on K grows, and when it is reached no op is recorded any more.
*/
#ifndef TFPROF_CAPTURE_SAMPLING_H
#define TFPROF_CAPTURE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

enum ops_mode { OPS_ALL, OPS_SAMPLED, OPS_NONE };

struct sampling_options {
  enum ops_mode mode;
  double overhead;                /* that is allowed: 0.02 */
  int64_t first_step, last_step;  /* only these, all of them; last_step -1: not asked */
  uint64_t max_bytes;             /* of the file; 0: no limit */
};

enum step_mark { MARK_NONE, MARK_OPTIMIZER, MARK_PROFILER, MARK_USER };

void sampling_begin(const struct sampling_options *options);
/* Before a fork the lock is taken, so that the child inherits whole structures. A child that records begins anew. */
void sampling_before_fork(void);
void sampling_after_fork_in_parent(void);
void sampling_after_fork_in_child(bool is_recording);
void sampling_end(void);

/* What tfprof_capture_switch and the windows of the program ask for. */
bool sampling_switch(int mode);
void sampling_window(int change);

enum step_mark sampling_mark_kind(const char *name);
/* A mark has ended on the calling thread, whose number and the number of the mark's name are given. */
void sampling_mark_ended(enum step_mark kind, uint32_t thread, uint32_t name, uint64_t start_ticks, uint64_t end_ticks);

/* ---- For the writer thread. */

/* How large the file is; false: it has just reached its limit. */
bool sampling_note_bytes(uint64_t bytes);
struct sampling_event {
  uint64_t ticks;     /* from then on */
  bool is_on;         /* ops are recorded */
  uint32_t interval;  /* K; 0: steps without ops are not spoken for by others */
  bool is_new;        /* the interval has changed */
  int64_t step;       /* the number of the step that begins */
  uint32_t cost_ns, step_ns; /* of recording a step, and of a step */
};
/* Takes the next change; false: there is none. */
bool sampling_take_event(struct sampling_event *event);
/* Counted so far: steps, and of those after the warm-up how many were recorded. */
void sampling_counts(uint64_t *steps, uint64_t *recorded);

#endif
