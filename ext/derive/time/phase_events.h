/* phase_events.h: what tells the phases of a training step: ranges that mark them, and the outermost ops of the threads
** that have steps.
**
** Events of a lane (a thread with steps) come in the order of their starts, of two that begin together the longer one
** first.  Backward ops that run on threads of autograd are on the lane whose backward pass they belong to.
*/
#ifndef TFPROF_DERIVE_PHASE_EVENTS_H
#define TFPROF_DERIVE_PHASE_EVENTS_H

#include "derive/match.h"

enum phase_kind {
  PHASE_NONE,
  /* Ranges, recorded in every step. */
  PHASE_INPUT,       /* waiting for the next batch */
  PHASE_LOADER,      /* a data loader begins anew */
  PHASE_OPTIMIZER,   /* Optimizer.step, which may call a closure */
  PHASE_ZERO_GRAD,
  PHASE_BACKWARD,    /* a call of backward() */
  PHASE_GRADIENT,    /* a call of autograd.grad() */
  PHASE_EVAL,        /* a model is put into evaluation mode */
  PHASE_TRAIN,       /* and back */
  PHASE_SAVE,        /* a checkpoint is written */
  /* Outermost ops, recorded in some steps. */
  PHASE_OP,
  PHASE_BACKWARD_OP,
  PHASE_KINDS
};

/* Of an op. */
enum { WITH_GRADIENT = 0x20, RUNS_MODEL = 0x40, ACCUMULATES = 0x80 /* into .grad */, PHASE_KIND_BITS = 0x1f };

struct phase_events {
  uint32_t lane_count;
  uint32_t *threads;       /* row of threads, by lane */
  uint32_t *lanes;         /* by row of threads; NO_ROW: it has no steps */
  struct lane_span *spans; /* by lane, then start; `row` is that of ops */
  uint8_t *kinds;          /* by place in spans: enum phase_kind and flags */
  size_t count;
  /* Which forward op a backward op at `start` differentiates: when that began. */
  struct phase_link {
    int64_t start, forward_start;
    uint32_t lane;
  } *links;
  size_t link_count;
  /* Where a backward pass runs forward ops again, as checkpoints do; sorted as the spans are, disjoint on a lane. */
  struct lane_span *recomputations;
  size_t recomputation_count;
};

/* From ops and steps of a profile; needs PHASE_EVENTS_READ. Free with phase_events_free, also after a failure. */
enum tfprof_status phase_events_find(struct phase_events *events, const struct profile *profile,
                                     struct tfprof_error *error);
void phase_events_free(struct phase_events *events);
#define PHASE_EVENTS_READ                                                                                  \
  {TABLE_steps, COLUMN_steps_thread_id}, {TABLE_threads, COLUMN_threads_logical_thread},                   \
      {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_thread_id},   \
      {TABLE_ops, COLUMN_ops_start_ns}, {TABLE_ops, COLUMN_ops_end_ns}, {TABLE_ops, COLUMN_ops_outermost_id}, \
      {TABLE_ops, COLUMN_ops_sequence_number}, {TABLE_ops, COLUMN_ops_forward_thread},                     \
      {TABLE_ops, COLUMN_ops_forward_op_id}, {TABLE_ops, COLUMN_ops_recorded_module}

#endif
