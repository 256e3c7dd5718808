/* launch_times.h: what recording a kernel takes of the thread that launches it, measured in the program.
**
** What CUPTI takes lies within the launch, and nobody tells the two apart.  So launches are compared: while the job is
** thinned (launch_budget.h) kernels are recorded in some steps and not in the others, and in a number of these others
** the calls still are, with their durations and nothing else (CUDA_CALLS).  Once there are enough launches of either
** kind, in enough stretches of time that alternate, the difference of the two means counts, of which the shortest and
** longest launches are left out: those that were disturbed, or waited for room.  All kinds of launches are in both, as
** steps are alike, and what slows all of them slows both.  Nothing is lost for it: where nothing is thinned every
** kernel is recorded, and its cost is what it was taken to be before.
**
** What it does not see: what CUPTI takes before the call's first time and after its last, which is the record of the
** call itself, an estimate (cuda_costs.c), and caches that are cold afterwards: too little.  The launches with kernels
** lie in steps whose ops are recorded, so that their caches are colder: too much, by less.  The governor compares the
** times of whole steps beside it, with and without all that is recorded in some, and scales what it is told by that
** (sampling_plan.h).
**
** On the writer thread. Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_LAUNCH_TIMES_H
#define TFPROF_CAPTURE_LAUNCH_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* What CUPTI records of work; each has all that those before it have. */
enum cuda_recording { CUDA_NOTHING, CUDA_CALLS, CUDA_ALL };

/* From `begun_ns` on it changed, and from `done_ns` on it was so, of CLOCK_MONOTONIC. */
struct record_switch {
  int64_t begun_ns, done_ns;
  enum cuda_recording to;
};

enum {
  LAUNCH_SWITCHES = 4096, /* that are known at a time: records of calls come half a second later */
  LAUNCH_PLACE_NS = 16,
  LAUNCH_PLACES = 8192,    /* launches that take longer are left out */
  LEAST_KERNEL_NS = 50,    /* what recording a kernel can take: */
  MOST_KERNEL_NS = 20000,  /* what is beyond was disturbed */
  LAUNCHES_OF_ROUND = 400, /* with and without, at least, */
  STRETCHES_OF_ROUND = 6,  /* in so many stretches of time; */
  MANY_LAUNCHES = 4000,    /* so many: in */
  FEWEST_STRETCHES = 2,
  LAUNCH_ROUNDS = 4,       /* until it is known well */
};

struct launch_sample {
  uint32_t places[LAUNCH_PLACES]; /* launches, by duration */
  uint64_t count, last_stretch;
  unsigned stretches;
};

struct launch_times {
  struct record_switch switches[LAUNCH_SWITCHES];
  uint64_t switched; /* how often */
  struct {
    int64_t begin_ns, end_ns;
    enum cuda_recording recording;
    uint64_t number;
  } stretch; /* that was looked for last */
  struct {
    int64_t off_ns, on_ns, next_ns; /* off: INT64_MIN: there is none before it */
  } pause; /* the last one before what was looked for last, which ended from on_ns up to the next switch */
  bool is_measuring;
  struct launch_sample with, without;
  double kernel_ns; /* 0: not known */
  unsigned rounds;
};

/* All is recorded. */
void launch_times_begin(struct launch_times *times);
/* In their order. */
void launch_times_switch(struct launch_times *times, const struct record_switch *change);
/* What was recorded all through that time; false: not one thing only, or it is long ago. */
bool launch_times_at(struct launch_times *times, int64_t start_ns, int64_t end_ns, enum cuda_recording *recording);
/* Whether work that took so long began before all was switched off and ended after it was on again: of such work CUPTI
** may take the moment at which it was switched on for the end (https://github.com/pytorch/kineto/issues/1105). */
bool launch_times_is_over_pause(struct launch_times *times, int64_t start_ns, int64_t end_ns);
/* A call has launched a kernel: it counts while it is measured. */
void launch_times_add(struct launch_times *times, int64_t start_ns, int64_t end_ns);
void launch_times_measure(struct launch_times *times, bool is_wanted);
/* Whether a round is complete: kernel_ns is known, or known better. */
bool launch_times_learn(struct launch_times *times);

#endif
