/* sampling_plan.h: in which steps ops are recorded, from what steps cost.
**
** Recording the ops of a step that does little but launch them costs a third of its time, most of it within PyTorch.
** So that the run as a whole slows by no more than `overhead`, ops are recorded in the first steps and then in one
** step of K.
**
** What is taken off first.  Steps, ranges and memory are recorded always, and what that takes is known: for each
** change of memory so much, and for each op a little, because PyTorch looks for callbacks now.  LEAST_SHARE of the
** overhead is left for ops in any case; of the rest SHARE is used, for a step with ops also leaves caches behind that
** the next one has to fill again.
**
** What recording a step's ops costs.  At first its ops times what one was measured to take when recording began
** (op_ns).  Later by how much more processor time the thread that ends the steps took for one with ops than for the
** steps without that came shortly before it: the median of such differences, but no less than half of the first and no
** more than twice.  Where ops run on other threads, too, that thread's share of them is scaled up to all.  A step's
** own length is the lower quartile of those without ops: on a busy machine the time that passes counts what others
** took.  After KEPT_STEPS steps with ops in a row, what is known of steps without is forgotten, and a step's length is
** what those with ops take, less the cost.
**
** K is the least for which the cost, spread over K steps, stays within what is allowed.  It is looked at again every
** REVIEW_STEPS, and when the first measurements are there, and changed when it is off by a quarter.  Which one of K
** steps is recorded is drawn anew each time, so that no rhythm of the program hides from it.  The size of the file
** counts as well: size_factor times K, and when the file is full no op is recorded any more, nor are later steps spoken
** for.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_SAMPLING_PLAN_H
#define TFPROF_CAPTURE_SAMPLING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum ops_mode { OPS_ALL, OPS_SAMPLED, OPS_NONE };

struct sampling_options {
  enum ops_mode mode;
  double overhead;                /* that is allowed: 0.02 */
  int64_t first_step, last_step;  /* only these, all of them; last_step -1: not asked */
  uint64_t max_bytes;             /* of the file; 0: no limit */
};

enum {
  REVIEW_STEPS = 50,
  INTERVAL_MAXIMUM = 1000,
  KEPT_STEPS = 32,         /* whose durations are looked at */
  NEIGHBOURS = 8,          /* steps without ops that one with ops is compared with, */
  FEWEST_NEIGHBOURS = 4,   /* at least */
  FEWEST_DIFFERENCES = 12, /* that count as a measurement */
  FEWEST_WITHOUT_OPS = 8,  /* steps that say how long one takes */
};

/* What was seen of a step, of all threads together where nothing else is said. */
struct step_seen {
  int64_t wall_ns;   /* the time that passed, without what other programs took where that is known */
  int64_t thread_ns; /* processor time of the thread that ended it; -1: it was another than the last one */
  uint64_t ops, thread_ops; /* recorded; those of that thread */
  uint64_t memory_events;
  bool has_all_ops, has_no_ops; /* neither: recording began or ended within it */
};

struct kept_values {
  double values[KEPT_STEPS];
  unsigned count; /* all that were ever kept */
};

struct sampling_plan {
  struct sampling_options options;
  double op_ns, memory_ns; /* measured when recording began: what an op and a change of memory take */
  unsigned size_factor;
  bool is_full;
  uint32_t interval, drawn_interval; /* K; the one that the block was drawn with */
  uint64_t block_end, next_step;     /* steps; the one of the block that is recorded */
  uint64_t reviewed;                 /* when K was looked at last */
  bool must_review, is_timed, is_measured; /* the last look knew steps without ops; differences */
  uint64_t recorded; /* steps after the warm-up that have all of their ops */
  struct kept_values wall_with, wall_without, ops, thread_ops, memory;
  struct kept_values differences; /* of thread_ns: of a step with ops from those before it without */
  double neighbours[NEIGHBOURS];  /* thread_ns of the last steps without ops */
  unsigned neighbour_count;       /* since there was one with ops */
  unsigned recorded_in_a_row;     /* steps with ops since the last one without */
  double cost_ns, step_ns, always_ns; /* of the ops of a step; a step; what is recorded always in a step */
  uint64_t random;
};

void sampling_plan_begin(struct sampling_plan *plan, const struct sampling_options *options, double op_ns,
                         double memory_ns, uint64_t seed);
/* Step `number`, from 0 on, has ended; those of the warm-up are not counted. */
void sampling_plan_add(struct sampling_plan *plan, uint64_t number, const struct step_seen *seen);
/* How large the file is, of what it may be. */
void sampling_plan_note_bytes(struct sampling_plan *plan, uint64_t bytes);
/* The steps have to be learnt again: all are recorded until sampling_plan_review. */
void sampling_plan_forget(struct sampling_plan *plan);
/* Chooses K where it is time to, once the steps are known; `steps` have ended. */
void sampling_plan_review(struct sampling_plan *plan, uint64_t steps);
/* Whether the ops of step `step` are wanted. `interval` is filled: for how many steps one speaks; 0: those without ops
** are not spoken for by others. To be asked once for each step, in order. */
bool sampling_plan_wants_ops(struct sampling_plan *plan, uint64_t step, uint32_t *interval);

#endif
