/* optimizer_steps.h: which moments end the steps of a program that marks none, by what its optimizers did.
**
** PyTorch's own rule for its step counter: an iteration is a step of the optimizer that steps most often, where each
** optimizer is the object, however many there are of its class and on whatever threads it steps.  Two optimizers of a
** GAN, or one for each parameter, step as often as each other: then the one that ended its first step last ends the
** iteration.  Optimizers that are never there at the same time, such as those of one trial after the other, follow each
** other: of each such time the most frequent one counts.  Nothing here depends on how long anything takes.
**
** Batches.  Where several optimizers take turns, one in this batch and another one in the next, no single one has as
** many steps as there are iterations: when optimizers stepped in at least half as many batches again as the most
** frequent one has steps, the steps are these batches, and each ends where the loader is asked for the next.  Only
** loaders count that are asked on threads on which optimizers step, for others run ahead.
**
** Skipped steps.  A gradient scaler (AMP) leaves out the optimizer's step when gradients overflow, and is updated all
** the same, once after each iteration or, where it is called once for each of several optimizers, that often.  So an
** update more than there are as a rule between two steps of the optimizer is the end of an iteration without one.
**
** No optimizer.  Where none steps, as in inference, and where it steps within what torch.compile made, the steps are
** the batches of the thread that asks its loaders most often: from one call of a loader to the next.  The last call of
** an epoch gives none but says that there are no more; it is told by the loader beginning anew, where that was noted,
** and else by no op, or another than in most batches, running first before the next call.  What follows the very last
** call is no step.
**
** Used by the reader (ext/derive) and by what the launcher says at the end.  While a program runs, the recorder goes by
** the same (capture/library/governor/step_marks.h).
*/
#ifndef TFPROF_PROTO_OPTIMIZER_STEPS_H
#define TFPROF_PROTO_OPTIMIZER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum training_mark_kind { STEP_OF_OPTIMIZER, STEP_BATCH, STEP_SCALER, STEP_EPOCH };

/* The kind by the name of a range; -1: it is none of them. */
int training_mark_kind(const char *name);

struct training_mark {
  int64_t start, end;
  uint64_t object; /* which optimizer, of STEP_OF_OPTIMIZER */
  uint32_t thread;
  uint32_t row; /* the caller's */
  uint8_t kind;
  bool is_idle; /* of STEP_BATCH: what runs on its thread before the next one is no batch; false: not known */
};

struct step_end {
  int64_t end;
  uint32_t thread, row; /* of the mark that ends it */
};

struct optimizer_steps {
  struct step_end *ends; /* ascending, in the room that was given */
  uint32_t count;
  int64_t first_start; /* of the mark that ends the first of them */
  bool by_batches;     /* they end with batches */
  uint32_t skipped;    /* of them, those whose optimizer did not step */
  uint32_t optimizers; /* objects; 0: none steps, and the steps are batches */
  uint32_t chosen;     /* of them, those whose steps count: more than one follow each other */
  uint32_t all_marks;  /* steps of all optimizers */
  uint32_t batches;    /* in which optimizers stepped; 0: no loader is known */
};

/* Bytes that find needs for so many marks. */
size_t optimizer_steps_room(uint32_t count);
/* Sorts the marks; `room` is aligned as for malloc. steps->count is 0 where no
** optimizer stepped and no loader was asked. */
void optimizer_steps_find(struct training_mark *marks, uint32_t count, void *room, struct optimizer_steps *steps);

#endif
