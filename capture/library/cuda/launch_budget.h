/* launch_budget.h: whether every step can have its kernels, or only those whose ops are recorded.
**
** A launch that is recorded takes longer.  Where the device has work waiting while the host launches more, that slows
** nothing: the device still gets its work in time.  Where the device waits for the host it slows the program by as
** much.  So a launch counts whose kernel began before LEAD_NS after the end of its call, however long that took: as far
** as CUPTI's times go the device had nothing else to do then.  (A kernel that waits behind others begins later by all
** that these take, as a rule by milliseconds, and where so many wait that a call has to wait, too, it ends long before
** its kernel begins.)  The share of the time which such launches take of the host while they are recorded is kept below
** LAUNCH_PART of what --overhead allows; the rest is left for ops (LEAST_SHARE in sampling_plan.c).
**
** Where it is more for OVER_SECONDS the job is thinned: kernels, copies and calls are recorded in the steps whose ops
** are, and what they take counts among what ops do, so that it says with them which steps these are.  Where it is much
** less for some time, because the job has changed or because recording takes less than was thought, every step has its
** kernels again; each time after twice as long, for a job that comes and goes.
**
** What happened is told half a second after the time for which it was recorded: both are summed up, with what was
** before, which counts half with each second in which something was recorded.
**
** On the writer thread. Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_LAUNCH_BUDGET_H
#define TFPROF_CAPTURE_LAUNCH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { LEAD_NS = 50000, DEAREST_NS = 5000 /* that recording a kernel may take */ };
enum { OVER_SECONDS = 5, UNDER_SECONDS = 10, UNDER_SECONDS_MAXIMUM = 320 };

/* What was recorded, since it was told last. */
struct launch_use {
  double on_ns;             /* for how long */
  uint64_t works, calls;    /* kernels, copies and fills; calls and waits */
  uint64_t judged, exposed; /* kernels whose call is known; those that began soon after it */
};

/* What a record takes, in nanoseconds: of a thread that launches, */
struct launch_prices {
  double work_ns, call_ns;
  double writer_ns; /* and of the program, by the writer thread */
};

struct launch_budget {
  double allowed;        /* share of the time */
  double used_ns, on_ns; /* summed up */
  double works;          /* that slow the program, summed up; */
  double dearest_share;  /* and the share if each took DEAREST_NS */
  double exposed;        /* share of the launches that slow the program */
  double share;          /* of the time, that recording takes while it is on */
  unsigned over, under;  /* seconds in a row */
  unsigned patience;     /* seconds until every step has its kernels again */
  bool is_thinned;
};

/* `overhead`: what is allowed, 0.02; 0: nothing is thinned. */
void launch_budget_begin(struct launch_budget *budget, double overhead);
/* About each second; `may_thin`: there are steps which can stand for others. Whether is_thinned has changed. */
bool launch_budget_note(struct launch_budget *budget, const struct launch_use *use, const struct launch_prices *prices,
                        bool may_thin);
/* Whether it could be too much, as long as it was not measured what a kernel takes. */
static inline bool launch_budget_may_be_over(const struct launch_budget *budget) {
  return budget->allowed > 0 && budget->dearest_share > budget->allowed;
}
/* Whether it would be thinned if it could. */
static inline bool launch_budget_is_over(const struct launch_budget *budget) { return budget->over >= OVER_SECONDS; }

#endif
