/* step_marks.h: which of the marks that the program sets end its steps, while it runs.
**
** As in ext/derive/steps/steps.c and proto/steps/optimizer_steps.h, for these have to agree: tfprof.step() wins, then
** the user's own profiler, then the steps that JAX's annotation marks and the batches of Keras, then the optimizer that
** steps most often, and of several the one that ended its first step last, then what NVTX marks as steps, and the calls
** of compiled functions, of several each time what covers most time.  An optimizer is an object, on whatever
** threads it steps.  Where several take turns from batch to batch, steps end where a loader is asked for the next one;
** and where a gradient scaler is updated without a step of the optimizer, that was a step, too.  How long optimizers
** take does not matter.
**
** An optimizer that has been silent while another one stepped some times more than any did between its steps is gone:
** the other one ends the steps from then on.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_STEP_MARKS_H
#define TFPROF_CAPTURE_STEP_MARKS_H

#include <stdbool.h>
#include <stdint.h>

enum step_mark { /* those that may end steps by themselves: the later, the better */
  MARK_NONE,
  MARK_BATCH,  /* a loader is asked for a batch: at its start */
  MARK_SCALER, /* a gradient scaler was updated */
  MARK_CALL,   /* of a compiled function, or of a session */
  MARK_NVTX,
  MARK_OPTIMIZER,
  MARK_FRAMEWORK, /* a batch of Keras, an annotation of JAX */
  MARK_PROFILER,
  MARK_USER
};

enum {
  WARMUP_STEPS = 3, /* as in ext/derive/steps/step_marks.c */
  FIRST_STEPS = 5,  /* after them: so many are looked at before the steps are known */
  SERIES_MAXIMUM = 1024, /* an optimizer for each parameter */
  NVTX_SERIES_MAXIMUM = 4, /* of them of NVTX, */
  CALL_SERIES_MAXIMUM = 64, /* and of calls */
  SERIES_PLACES = 2 * SERIES_MAXIMUM,
  MARKING_THREADS = 4096,
};

enum step_count { COUNT_OF_VISIT, COUNT_OF_WINDOW, STEP_COUNTS }; /* what steps are counted for, beside all */

struct mark_series {
  enum step_mark kind;
  uint32_t thread; /* 0 for optimizers */
  uint32_t name;   /* of an optimizer the object, of NVTX, calls and frameworks the name, all hashed; else 0 */
  unsigned first_ended; /* which of the series ended its first mark when */
  uint64_t count, count_then[STEP_COUNTS];
  uint64_t covered; /* ticks, of all marks */
  uint64_t turn;    /* the leader's count when it was last counted by `since` */
  uint32_t since;   /* marks since the leader's last one */
};

struct step_marks {
  struct mark_series series[SERIES_MAXIMUM];
  uint16_t places[SERIES_PLACES]; /* a hash table: 1 + place in series; 0: free */
  unsigned series_count, optimizer_count;
  struct mark_series *best[MARK_USER + 1]; /* of each kind; into series, as is the next */
  struct mark_series *leader;
  bool is_learnt;             /* the leader stays */
  bool by_batches;            /* steps are the batches in which optimizers stepped */
  uint64_t silence;           /* marks of others since the last one of the leader */
  uint32_t most_since, most_between; /* of another optimizer, since the leader's last step; between two of them */
  uint32_t in_batch;          /* optimizer steps since a loader was asked last */
  uint64_t batches;           /* in which there were any */
  /* Of the gradient scaler: since the leader's last step, or the last that was skipped; since the former; the least of
  ** these, 0 while it is not known. */
  uint32_t updates, all_updates, updates_per_step;
  uint64_t steps;             /* that have ended, of those that ran in one call the first */
  uint64_t in_calls;          /* the others of these */
  uint32_t at_once;           /* how many ran in the last call, if more than one */
  uint64_t steps_before;      /* when the series were forgotten last */
  uint64_t skipped;           /* since then, without a step of the optimizer */
  uint64_t batches_then[STEP_COUNTS], skipped_then[STEP_COUNTS], in_calls_then[STEP_COUNTS];
  uint64_t marking[MARKING_THREADS / 64]; /* threads on which optimizers stepped: a bit each */
};

/* What a mark has brought about, any of: */
enum { STEP_HAS_ENDED = 1, STEPS_ARE_LEARNT = 2, STEPS_ARE_FORGOTTEN = 4 /* the program has gone over to others */ };

enum step_mark step_mark_kind(const char *name);
/* What stands for the name of a range of that kind that the recorder notes (torch/noted_ranges.h). */
uint32_t step_mark_name(enum step_mark kind, const char *name);
void step_marks_begin(struct step_marks *marks);
/* With those that ran in one call, as many as there were: batches of Keras, by steps_per_execution. */
static inline uint64_t step_marks_all(const struct step_marks *marks) { return marks->steps + marks->in_calls; }
/* Steps are counted from here on: how many have ended since, by what ends them now. Where something else is found to
** end them, these are its marks since then, or since all was forgotten (STEPS_ARE_FORGOTTEN). */
void step_marks_count_from(struct step_marks *marks, enum step_count which);
uint64_t step_marks_counted(const struct step_marks *marks, enum step_count which);
/* A mark has ended on this thread, or of a batch begun; `name` is a number that stands for its name or optimizer. */
unsigned step_marks_add(struct step_marks *marks, enum step_mark kind, uint32_t thread, uint32_t name,
                        uint64_t start_ticks, uint64_t end_ticks);

#endif
