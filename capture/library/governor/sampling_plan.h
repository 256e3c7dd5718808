/* sampling_plan.h: in which steps ops are recorded, from what steps cost.
**
** Recording the ops of a step that does little but launch them costs a third of its time, most of it within PyTorch.
** So that the run as a whole slows by no more than `overhead`, ops are recorded in the first steps and then in one
** step of K = 2^L; which one is said by sampling_levels.h.
**
** The account.  Each step brings in `overhead` of its time (of a step that takes much longer than others as much as of
** two of those), less what is recorded always: as the sources tell it, and the share of the time that the writer thread
** takes from the program for that (writer_costs.h).  LEAST_SHARE of the overhead is left for ops in any case.  The
** time before the first step brings in as much.  What SAVED_NS bring in is the most that is saved.  Each op that is
** recorded takes out what it costs, and as a step with ops also leaves caches behind that the next one has to fill
** again, 1 / USED_SHARE of that.
**
** What recording a step's ops costs.  At first what the sources tell, from what they have measured before recording
** began: it is some 30 % off, by the kind of op.  Then by how much more processor time the thread that ends the steps
** took for one with ops than for the steps without that came shortly before it, or after the first ones: the median of
** such differences.  The two are weighed by how sure they are, that is by one over the square of their errors, where
** the error of a median is told by how far the differences lie apart.  What comes out is no less than half of what the
** sources tell and no more than twice.  Where ops run on other threads, too, that thread's share of them is scaled up
** to all.  A job that launches much may have its kernels in those steps only (cuda/launch_budget.h): then both are of
** these, too.  To both comes what the writer thread takes from the program for what is recorded of them.  A step's own
** length is the lower quartile of those without ops: on a busy machine the time that passes counts what others took.
** After KEPT_STEPS steps with ops in a row, what is known of steps without is forgotten, and a step's length is what
** those with ops take, less the cost.
**
** The level.  The least for which the account would not be overdrawn if twice as many steps came as there were: so a
** short run is recorded as far as it can afford, and a long one comes to the level that its steps pay for.  It is
** looked at again at fixed numbers of steps, eight times while their number doubles and every REVIEW_STEPS at last, and
** changed when the one in force overspends, or when a lower one would leave some over.  A change takes effect where a
** block of the new level and of the old begins, so that each step that is recorded speaks for a whole block; on the way
** up, where no block of the level that is wanted begins yet, the highest one below it does.  The ranks of a job agree
** on the level of a block (sampling_agreement.h), so it may be another than this process wants.  The size of the file
** counts as well, one to three levels more, and how fast it grows (byte_budget.h), and when the file is full no op is
** recorded any more, nor are later steps spoken for.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_SAMPLING_PLAN_H
#define TFPROF_CAPTURE_SAMPLING_PLAN_H

#include "sampling_levels.h"

#include <stdbool.h>
#include <stdint.h>

enum ops_mode { OPS_ALL, OPS_SAMPLED, OPS_NONE };

struct sampling_options {
  enum ops_mode mode;
  double overhead;                /* that is allowed: 0.02 */
  int64_t first_step, last_step;  /* only these, all of them; last_step -1: not asked */
  uint64_t max_bytes;             /* of the file; 0: no limit */
  uint64_t seed;                  /* of the job: sampling_seed_of */
  double off_share;               /* of what recording a step's ops costs, what they cost where they are not recorded */
};

enum {
  REVIEW_STEPS = 64,
  KEPT_STEPS = 32,         /* whose durations are looked at */
  NEIGHBOURS = 8,          /* steps without ops that one with ops is compared with, */
  FEWEST_NEIGHBOURS = 4,   /* at least */
  FEWEST_DIFFERENCES = 4,  /* that tell how far they lie apart */
  FEWEST_WITHOUT_OPS = 8,  /* steps that say how long one takes */
};

/* What was seen of a step, of all threads together where nothing else is said. */
struct step_seen {
  int64_t wall_ns;   /* the time that passed, without what other programs took where that is known */
  int64_t thread_ns; /* processor time of the thread that ended it; -1: it was another than the last one */
  double full_ns,
      thread_full_ns; /* that recording what is recorded with ops took, as the sources tell; on that thread */
  double always_ns;               /* and all else */
  uint64_t records;               /* of ops, */
  double records_ns;              /* which took so much of full_ns */
  bool has_all_ops, has_no_ops; /* neither: recording began or ended within it */
};

struct kept_values {
  double values[KEPT_STEPS];
  unsigned count; /* all that were ever kept */
};

struct sampling_plan {
  struct sampling_options options;
  double writer_share, writer_record_ns; /* what the writer thread takes from the program: always, of its time; for a
                                         ** record of an op */
  unsigned size_levels, rate_levels; /* that the size of the file, and its growth, take */
  bool is_full;
  unsigned level, wanted;           /* in force; what this process wants: */
  unsigned affordable;              /* what its steps pay for, and size_levels more */
  uint64_t block_begin, block_end;  /* steps: the level may change at the end */
  bool is_wanted;                   /* the last answer of sampling_plan_wants_ops was that */
  bool must_review, is_learning; /* it is not known what the steps are */
  uint64_t recorded; /* steps after the warm-up that have all of their ops */
  double account_ns; /* may be below 0 */
  struct kept_values wall_with, wall_without, full, thread_full, records, records_ns, always;
  struct kept_values differences; /* of thread_ns: of a step with ops from those before it without */
  double neighbours[NEIGHBOURS];  /* thread_ns of the last steps without ops */
  double early[NEIGHBOURS];       /* thread_ns of steps with ops that came before there were enough neighbours */
  unsigned early_count;
  unsigned neighbour_count;       /* since there was one with ops */
  unsigned recorded_in_a_row;     /* steps with ops since the last one without */
  double cost_ns, step_ns, always_ns; /* of the ops of a step; a step; what is recorded always in a step */
  double scale;     /* what recording ops costs, by what the sources tell: without the writer thread */
  double record_ns; /* what a record of an op costs so; 0: it is not known */
};

void sampling_plan_begin(struct sampling_plan *plan, const struct sampling_options *options);
/* The first step has ended, so many nanoseconds after the process began; recording ops has taken so many of them. */
void sampling_plan_start(struct sampling_plan *plan, double process_ns, double full_ns);
/* Step `number`, from 0 on, has ended; those of the warm-up are not counted. */
void sampling_plan_add(struct sampling_plan *plan, uint64_t number, const struct step_seen *seen);
/* What the writer thread takes from the program: of its time for what is always recorded, and for a record of an op. */
void sampling_plan_note_writer(struct sampling_plan *plan, double share, double record_ns);
/* How large the file is, of what it may be. */
void sampling_plan_note_bytes(struct sampling_plan *plan, uint64_t bytes);
/* How many levels its growth takes (byte_budget.h). */
void sampling_plan_note_rate(struct sampling_plan *plan, unsigned levels);
/* The steps are not known: all are wanted until sampling_plan_review. */
void sampling_plan_wait(struct sampling_plan *plan);
/* They have to be learnt again: from the next one on all are. */
void sampling_plan_forget(struct sampling_plan *plan);
/* Looks at the level that is wanted from the next step on, where it is time to; `steps` have ended. Whether it did. */
bool sampling_plan_review(struct sampling_plan *plan, uint64_t steps);
/* Whether a block begins with step `step`, if ops are sampled: then its level has to be told. */
bool sampling_plan_begins_block(const struct sampling_plan *plan, uint64_t step);
/* Whether the ops of step `step` are wanted; `level` is that of the block, if one begins with it: plan->wanted, or what
** the ranks agreed on.  `interval` is filled: for how many steps one speaks; 0: those without ops are not spoken for by
** others.  To be asked once for each step, in order. */
bool sampling_plan_wants_ops(struct sampling_plan *plan, uint64_t step, unsigned level, uint32_t *interval);

#endif
