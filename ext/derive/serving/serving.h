/* serving.h: requests to a server of models, and the batches that it makes of them.
**
** TensorFlow's batch schedulers, those of TensorFlow Serving among them, mark when a request is put into a batch, by
** ops that hand the batch's context on, and the thread that then runs the batch, which takes it (ProcessBatch).  In the
** batch an op tells how many examples it has, and how many of these are padding (MergeInputTensors of sessions,
** ConcatInputTensors of ops that batch in the graph).
**
** A request is found from the op that put it into a batch, outwards: through what is around an op, and through the
** contexts that threads hand to each other.  The outermost row on this way that is a request by serving_kind() is it,
** else the outermost that has a level, as what begins something has.  What is called a request, and is not met on the
** way of another or in a batch, is one that was not batched; of runs of sessions those that tell a model, as those of
** servers do.
**
** XProf's inference profile joins them by the same contexts, from groups of events that it makes before.
*/
#ifndef TFPROF_DERIVE_SERVING_H
#define TFPROF_DERIVE_SERVING_H

#include "derive/rows.h"

enum serving_kind {
  SERVING_NOT_ASKED,
  SERVING_NONE,
  SERVING_BATCH,
  SERVING_REQUEST,
  SERVING_SESSION /* a request where it tells a model */
};
/* By the name of an op, NULL where it has none; never SERVING_NOT_ASKED. */
enum serving_kind serving_kind(const char *name);

/* Whether the columns in memory show that a profile has nothing of a server. */
bool serving_has_none(const struct profile *profile);

struct served_batch {
  int64_t start, end, size, padding, padded_size, first_queued; /* NO_VALUE: not known */
  uint32_t op, thread, task_count;
  string_id name, model;
};
struct served_request {
  int64_t start, end, size;
  uint32_t op, thread, batch_count, first_batch; /* `first_batch`: NO_ROW: none */
  string_id name, model;
};
struct served_task {
  int64_t queued, size;
  uint32_t op, batch, request; /* rows of the others; `request`: NO_ROW: not known */
  string_id model;             /* of the op that batches; 0: none */
};

struct serving {
  struct served_batch *batches;     /* by start */
  struct served_request *requests;  /* by start */
  struct served_task *tasks;        /* by batch, then as they were queued */
  uint32_t batch_count, request_count, task_count;
};

/* What serving_find() reads. */
#define SERVING_READ                                                                                            \
  {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_op_type}, {TABLE_ops, COLUMN_ops_thread_id},             \
      {TABLE_ops, COLUMN_ops_start_ns}, {TABLE_ops, COLUMN_ops_end_ns}, {TABLE_ops, COLUMN_ops_parent_id},      \
      {TABLE_ops, COLUMN_ops_root_level}, {TABLE_ops, COLUMN_ops_produced_context},                             \
      {TABLE_ops, COLUMN_ops_consumed_context}, {TABLE_ops, COLUMN_ops_task_size},                              \
      {TABLE_ops, COLUMN_ops_padded_size}, {TABLE_ops, COLUMN_ops_padding}, {TABLE_ops, COLUMN_ops_model_name}

/* Free with serving_free(), also after a failure. */
enum tfprof_status serving_find(struct profile *profile, struct serving *serving, struct tfprof_error *error);
void serving_free(struct serving *serving);

#endif
