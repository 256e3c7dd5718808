/* sampling.h: switches the recording of ops on and off, step by step.
**
** Steps, ranges, counters and allocations are recorded always, in steps without ops the small allocations without
** their stack: the callback for ranges, which sees the marks of the steps, stays; the one for ops comes and goes at
** the end of a step (set_detail).  Which mark ends a step is said by step_marks.h, in which steps ops are recorded
** by sampling_plan.h; here are the lock, the clocks and what the writer thread is told.  A step that was recorded in
** part counts as not recorded.
*/
#ifndef TFPROF_CAPTURE_SAMPLING_H
#define TFPROF_CAPTURE_SAMPLING_H

#include "recorder/source.h"
#include "sampling_plan.h"
#include "step_marks.h"

#include <pthread.h>

/* Of these sources set_detail is called under the lock, at the end of a step, and cost. Once more when more of them
** have begun: steps are learnt anew. */
void sampling_begin(const struct sampling_options *options, const struct capture_source *const *sources);
/* A child that records begins anew. */
void sampling_after_fork_in_child(void);
/* Held for a moment by whoever switches; with it PyTorch's lock of its callbacks may be taken. */
extern pthread_mutex_t sampling_lock;
void sampling_end(void);

/* ---- Of a dormant program (session.h), which is recorded for some steps when somebody asks. */

/* From now on steps are counted, and nothing else is looked at. */
void sampling_sleep(const struct sampling_options *options, const struct capture_source *const *sources);
enum visit_state {
  VISIT_NONE,
  VISIT_AWAITED,  /* it begins with the first step from begin_ns on */
  VISIT_GOES_ON,
  VISIT_OVER, /* the gate is closed; what was written is to be read */
};
/* All is ready: the next step from that moment of CLOCK_MONOTONIC on opens the gate, and the end of so many steps
** closes it (0: none does). */
void sampling_await_visit(uint64_t begin_ns, uint64_t steps);
/* What is the matter now. */
struct visit {
  enum visit_state state;
  uint64_t begin_ns, end_ns; /* when it began, if it did, and ended */
  uint64_t steps;            /* whole ones that have ended in it */
};
void sampling_look_at_visit(struct visit *facts);
/* Begins one that is awaited though no step has come: of the one that goes on only a part is there, so it does not
** count. */
void sampling_begin_visit(void);
/* Ends one, and what was awaited is awaited no more. */
void sampling_end_visit(void);
/* It has been read; before the next one is awaited. */
void sampling_forget_visit(void);
/* Steps that have ended so far. On any thread. */
uint64_t sampling_steps(void);
/* How often one has ended while something was recorded: unlike the number of steps it never goes back where the program
** turns out to have others. On any thread. */
uint64_t sampling_step_ends(void);

/* What tfprof_capture_switch and the windows of the program ask for. */
bool sampling_switch(int mode);
void sampling_window(int change);
/* Before a fork for which threads of ours rest: gives up what they keep open, until the next step that asks. */
void sampling_rest(void);
/* Ops are not recorded, and the step in which it ends is not looked at. */
void sampling_pause(bool is_paused);

/* A mark has ended on the thread of that number; `name` is a hash of its name. Whether a step has ended with it. */
bool sampling_mark_ended(enum step_mark kind, uint32_t thread, uint32_t name, uint64_t start_ticks, uint64_t end_ticks);

/* ---- For windows of the framework's own profiler (windows/window_source.h), as a step has ended. */

struct sampling_now {
  uint64_t steps;  /* that have ended */
  uint64_t in_window; /* since one was opened last (sampling_hold), by what ends them now */
  uint64_t seed;
  double overhead;
  bool wants_ops, is_chosen; /* of the next step; all of those that want ops were asked for */
};
void sampling_look(struct sampling_now *now);
/* Which share of the time they take from the program. */
void sampling_note_windows(double share);
/* The step that goes on was kept from its work for so long, as by opening a window: its pace is told without that. */
void sampling_leave_out(uint64_t ns);
/* One is open. What PyTorch does in its steps, such as loading data between the calls that are steps, is recorded until
** the one behind them has ended: only a step of which all is known is a recorded one. Steps are counted for it
** (`in_window`) from when it opens. */
void sampling_hold(bool is_open);

/* ---- For the writer thread. */

/* The number of the thread that ended the last step; 0: none has ended. */
uint32_t sampling_step_thread(void);
/* How steps have gone so far. `usual_ns`: the median of the last ones, up to PACE_STEPS; 0: it is not known. */
enum { PACE_STEPS = 31 };
struct step_pace {
  uint64_t steps;   /* that have ended */
  int64_t number;   /* of the one that goes on */
  int64_t ended_ns; /* the last of them, by clock_monotonic_ns(); 0: none has */
  int64_t usual_ns;
  bool is_paused;   /* steps are not seen */
};
void sampling_pace(struct step_pace *told);
/* What it takes from the program (writer_costs.h): always, of the time; for a record of an op. */
void sampling_note_writer(double share, double record_ns);
/* How large the file is; false: it has just reached its limit. */
bool sampling_note_bytes(uint64_t bytes);
/* How many levels of steps its growth takes. */
void sampling_note_rate(unsigned levels);
struct sampling_event {
  uint64_t ticks;     /* from then on */
  bool is_on;         /* ops are recorded */
  bool has_ops;       /* there is something that records ops: PyTorch has been imported */
  uint32_t interval;  /* K, a power of two; 0: steps without ops are not spoken for by others */
  bool is_new;        /* the interval has changed, */
  bool is_others;     /* because other ranks want a higher one than this process */
  double op_ns;       /* what recording an op takes; 0: as said before */
  int64_t step;       /* the number of the step that begins */
  bool begins_visit;  /* with it recording does: the steps before have ended unrecorded */
  bool cuts_step;     /* recording began within the step before, of which only a part is there */
  bool is_restated;   /* nothing changes: this is what holds, for who does not know what was said before */
  uint32_t cost_ns, step_ns, always_ns; /* of the ops of a step; of a step; of what is recorded always in it */
};
/* What holds now comes as an event. */
void sampling_restate(void);
/* How long the last steps took that have ended since `*seen` of them had, the first of them first, PACE_HISTORY at
** most, and how long the PACE_STEPS before each, their median, or 0. `number`: of the first. How many. */
enum { PACE_HISTORY = 128 };
unsigned sampling_took(uint64_t *seen, int64_t *took_ns, int64_t *usual_ns, int64_t *number);
/* Takes the next change; false: there is none. */
bool sampling_take_event(struct sampling_event *event);
/* Whether fewer steps after the warm-up were recorded than statistics need, of many and though nobody chose them; steps
** and recorded ones are filled. */
bool sampling_lacks_steps(uint64_t *steps, uint64_t *recorded);

#endif
