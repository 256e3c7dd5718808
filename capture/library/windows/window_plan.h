/* window_plan.h: in which steps a window of the framework's own profiler is open, from what windows cost.
**
** TensorFlow and JAX tell of their ops through profilers of their own.  One is switched on and off at ends of steps, on
** the thread that trains; what that takes is measured there: the time until it is on, and until it has handed over what
** it saw, as the thread's processor time, or the time that passes where the thread waited; and by how much the steps
** between last longer than those without, as far as their medians tell.
**
** The account.  Each step brings in ACCOUNT_SHARE of `overhead` of its time, less where its mark takes more than the
** rest of that; one that takes much longer than others as much as of two of those; the time before the first step as
** much again, up to what SAVED_NS bring in.  A window takes out what it cost.  Once one has told that, no more than
** SAVED_WINDOWS cost is saved, so that a run of short steps does not spend on them what a long start has brought in.
**
** The level.  As with ops of PyTorch (governor/sampling_plan.h) one step of 2^L begins a window, the one that all ranks
** of a job draw alike (governor/sampling_levels.h), with the least L that would not overdraw the account if twice as
** many steps came as there were.  Windows are short, so that closing one keeps the program for no longer than a few
** steps, and their number grows with the logarithm of the time: none begins before SPACING_PART of it has passed since
** the last one.  The first begins when FIRST_AT steps have ended, whatever it costs, so that a short run has one.
**
** Where the steps were asked for (--ops=all, --steps, tfprof-capture --attach) one window follows the other.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_WINDOW_PLAN_H
#define TFPROF_CAPTURE_WINDOW_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
  FIRST_AT = 2,     /* the first step of a program compiles, as a rule */
  WINDOW_STEPS = 3, /* of one that was chosen here, */
  CHOSEN_STEPS = 10, /* and where all steps were asked for */
  LEAST_LEVEL = 3,  /* one step of eight begins a window at most */
  PLAIN_STEPS = 32, /* whose durations are looked at */
  KEPT_WINDOWS = 8,
};
#define LONGEST_WINDOW_NS 2e9 /* of several steps */
#define LARGEST_WINDOW_BYTES 4e6

/* A step has ended. */
struct window_step {
  uint64_t now_ns, steps; /* so many have */
  double overhead;        /* that is allowed: 0.02 */
  uint64_t seed;          /* of the job */
  bool wants_ops, is_chosen; /* of the next step; all of those that want ops were asked for */
  unsigned fewer_levels;  /* that the size of the files takes */
};

enum window_act { WINDOW_NOTHING, WINDOW_OPEN, WINDOW_CLOSE };

struct window_values {
  double values[PLAIN_STEPS];
  unsigned count; /* all that were ever kept */
};

struct window_plan {
  bool is_open, has_begun, has_had_one;
  uint64_t began_ns, first_steps; /* the first step that was seen has ended, and so many had */
  uint64_t last_ns;               /* the last one has */
  uint64_t opened_steps, closed_ns, not_before_ns;
  double account_ns;      /* may be below 0 */
  double spent_ns;        /* by all windows */
  struct window_values plain, in_window; /* durations of steps */
  double usual_plain_ns;                 /* the median of `plain`, but for the last few */
  struct window_values costs;            /* of windows, without those that hold the programs */
  double usual_cost_ns;                  /* what a window costs as a rule, since the last one was closed */
  struct window_values extras;           /* by how much a step in one lasts longer, as a share of the step */
  double bytes_a_step;
  unsigned failures; /* in a row */
};

void window_plan_begin(struct window_plan *plan);
/* So long the process had run before its first step ended. To be asked once for each step, in order. */
enum window_act window_plan_step(struct window_plan *plan, const struct window_step *step, double age_ns);
/* The same between two steps, after a window was closed: whether another one follows at once. */
enum window_act window_plan_again(struct window_plan *plan, const struct window_step *step);
void window_plan_opened(struct window_plan *plan, uint64_t now_ns, uint64_t steps, double cost_ns);
/* It could not be opened: it is tried again, ever more rarely. */
void window_plan_failed(struct window_plan *plan, uint64_t now_ns);
/* `cost_ns`: of closing it. */
void window_plan_closed(struct window_plan *plan, uint64_t now_ns, uint64_t steps, double cost_ns, double bytes,
                        bool has_programs);
/* How long a window of some steps lasts; 0: it is not known. */
double window_plan_expected_ns(const struct window_plan *plan, bool is_chosen);

#endif
