/* serving_tables.c: the tables batches, requests and batch_tasks (serving.h). */
#include "derive/passes.h"
#include "derive/serving/serving.h"

/* A table that is filled from what was found; `steps`: by op. */
struct filling {
  const struct serving *found;
  const uint32_t *steps;
};

static int64_t time_between(int64_t from, int64_t to) {
  return from == NO_VALUE || to == NO_VALUE || to < from ? NO_VALUE : derive_difference(to, from);
}

/* COLUMN_OF(table, column, type, expression): a function that fills the column; `it` is an item, `all` everything. */
#define COLUMN_OF(table, item, items, column, type, expression)                                                \
  static void fill_##table##_##column(const void *context, uint32_t first, uint32_t count, void *out) {        \
    const struct filling *filling = context;                                                                   \
    const struct serving *all = filling->found;                                                                \
    type *values = out;                                                                                        \
    for (uint32_t i = 0; i < count; i++) {                                                                     \
      const struct item *it = &all->items[first + i];                                                          \
      values[i] = (expression);                                                                                \
    }                                                                                                          \
  }
#define OF_BATCH(column, type, expression) COLUMN_OF(batches, served_batch, batches, column, type, expression)
#define OF_REQUEST(column, type, expression) COLUMN_OF(requests, served_request, requests, column, type, expression)
#define OF_TASK(column, type, expression) COLUMN_OF(batch_tasks, served_task, tasks, column, type, expression)

OF_BATCH(name, string_id, it->name)
OF_BATCH(model, string_id, it->model)
OF_BATCH(op_id, uint32_t, it->op)
OF_BATCH(thread_id, uint32_t, it->thread)
OF_BATCH(step_id, uint32_t, filling->steps[it->op])
OF_BATCH(start_ns, int64_t, it->start)
OF_BATCH(end_ns, int64_t, it->end)
OF_BATCH(dur_ns, int64_t, time_between(it->start, it->end))
OF_BATCH(size, int64_t, it->size)
OF_BATCH(padding, int64_t, it->padding)
OF_BATCH(padded_size, int64_t, it->padded_size)
OF_BATCH(task_count, int64_t, it->task_count)
OF_BATCH(wait_ns, int64_t, time_between(it->first_queued, it->start))

static uint32_t op_of_step(const struct serving *all, const struct served_request *request) {
  return request->first_batch == NO_ROW ? request->op : all->batches[request->first_batch].op;
}
static int64_t wait_of_request(const struct serving *all, const struct served_request *request) {
  if (request->first_batch == NO_ROW) return NO_VALUE;
  return time_between(request->start, all->batches[request->first_batch].start);
}
OF_REQUEST(name, string_id, it->name)
OF_REQUEST(model, string_id, it->model)
OF_REQUEST(op_id, uint32_t, it->op)
OF_REQUEST(thread_id, uint32_t, it->thread)
OF_REQUEST(step_id, uint32_t, filling->steps[op_of_step(all, it)])
OF_REQUEST(start_ns, int64_t, it->start)
OF_REQUEST(end_ns, int64_t, it->end)
OF_REQUEST(dur_ns, int64_t, time_between(it->start, it->end))
OF_REQUEST(size, int64_t, it->size)
OF_REQUEST(batch_count, int64_t, it->batch_count)
OF_REQUEST(batch_id, uint32_t, it->first_batch)
OF_REQUEST(wait_ns, int64_t, wait_of_request(all, it))

OF_TASK(batch_id, uint32_t, it->batch)
OF_TASK(request_id, uint32_t, it->request)
OF_TASK(op_id, uint32_t, it->op)
OF_TASK(size, int64_t, it->size)
OF_TASK(queued_ns, int64_t, it->queued)
OF_TASK(wait_ns, int64_t, time_between(it->queued, all->batches[it->batch].start))

#define MADE(table, column, kind) {COLUMN_##table##_##column, kind, fill_##table##_##column, 0, 0}
static const struct made_column of_batches[] = {
    MADE(batches, name, MADE_TEXTS),         MADE(batches, model, MADE_TEXTS),
    MADE(batches, op_id, MADE_REFERENCES),   MADE(batches, thread_id, MADE_REFERENCES),
    MADE(batches, step_id, MADE_REFERENCES), MADE(batches, start_ns, MADE_INTEGERS),
    MADE(batches, end_ns, MADE_INTEGERS),    MADE(batches, dur_ns, MADE_INTEGERS),
    MADE(batches, size, MADE_INTEGERS),      MADE(batches, padding, MADE_INTEGERS),
    MADE(batches, padded_size, MADE_INTEGERS), MADE(batches, task_count, MADE_INTEGERS),
    MADE(batches, wait_ns, MADE_INTEGERS)};
static const struct made_column of_requests[] = {
    MADE(requests, name, MADE_TEXTS),          MADE(requests, model, MADE_TEXTS),
    MADE(requests, op_id, MADE_REFERENCES),    MADE(requests, thread_id, MADE_REFERENCES),
    MADE(requests, step_id, MADE_REFERENCES),  MADE(requests, start_ns, MADE_INTEGERS),
    MADE(requests, end_ns, MADE_INTEGERS),     MADE(requests, dur_ns, MADE_INTEGERS),
    MADE(requests, size, MADE_INTEGERS),       MADE(requests, batch_count, MADE_INTEGERS),
    MADE(requests, batch_id, MADE_REFERENCES), MADE(requests, wait_ns, MADE_INTEGERS)};
static const struct made_column of_batch_tasks[] = {
    MADE(batch_tasks, batch_id, MADE_REFERENCES), MADE(batch_tasks, request_id, MADE_REFERENCES),
    MADE(batch_tasks, op_id, MADE_REFERENCES),    MADE(batch_tasks, size, MADE_INTEGERS),
    MADE(batch_tasks, queued_ns, MADE_INTEGERS),  MADE(batch_tasks, wait_ns, MADE_INTEGERS)};

static enum tfprof_status fill_serving_table(struct profile *profile, unsigned table, struct tfprof_error *error) {
  struct serving found = {.batches = NULL};
  uint32_t *steps = NULL;
  if (!profile->tables[table].is_made) return TFPROF_OK;
  enum tfprof_status status = serving_find(profile, &found, error);
  bool has_steps = table != TABLE_batch_tasks;
  uint32_t rows = table == TABLE_batches ? found.batch_count : has_steps ? found.request_count : found.task_count;
  if (!status && has_steps && rows)
    status = derive_all_references(profile, TABLE_ops, COLUMN_ops_step_id, &steps, error);
  const struct filling filling = {&found, steps};
  const struct made_column *columns = table == TABLE_batches ? of_batches : has_steps ? of_requests : of_batch_tasks;
  unsigned count = table == TABLE_batches ? sizeof of_batches / sizeof *of_batches
                   : has_steps            ? sizeof of_requests / sizeof *of_requests
                                          : sizeof of_batch_tasks / sizeof *of_batch_tasks;
  if (!status && rows) status = derive_make_table(profile, table, rows, error);
  if (!status && rows) status = derive_fill_table(profile, table, columns, count, &filling, error);
  scratch_free(steps);
  serving_free(&found);
  return status;
}

static enum tfprof_status run_batches(struct profile *profile, struct tfprof_error *error) {
  return fill_serving_table(profile, TABLE_batches, error);
}
static enum tfprof_status run_requests(struct profile *profile, struct tfprof_error *error) {
  return fill_serving_table(profile, TABLE_requests, error);
}
static enum tfprof_status run_batch_tasks(struct profile *profile, struct tfprof_error *error) {
  return fill_serving_table(profile, TABLE_batch_tasks, error);
}

const struct derive_pass derive_batches = {
    .name = "batches",
    .summary = "Batches of requests, by the contexts that their scheduler hands on, as XProf's inference profile.",
    .makes_table = TABLE_batches,
    .is_idle = serving_has_none,
    .reads = {SERVING_READ, {TABLE_ops, COLUMN_ops_step_id}},
    .writes = {{TABLE_batches, COLUMN_batches_name},
               {TABLE_batches, COLUMN_batches_model},
               {TABLE_batches, COLUMN_batches_op_id},
               {TABLE_batches, COLUMN_batches_thread_id},
               {TABLE_batches, COLUMN_batches_step_id},
               {TABLE_batches, COLUMN_batches_start_ns},
               {TABLE_batches, COLUMN_batches_end_ns},
               {TABLE_batches, COLUMN_batches_dur_ns},
               {TABLE_batches, COLUMN_batches_size},
               {TABLE_batches, COLUMN_batches_padding},
               {TABLE_batches, COLUMN_batches_padded_size},
               {TABLE_batches, COLUMN_batches_task_count},
               {TABLE_batches, COLUMN_batches_wait_ns}},
    .run = run_batches,
};

const struct derive_pass derive_requests = {
    .name = "requests",
    .summary = "Requests to a server of models: what is called so, and what began that was put into a batch.",
    .makes_table = TABLE_requests,
    .is_idle = serving_has_none,
    .reads = {SERVING_READ, {TABLE_ops, COLUMN_ops_step_id}},
    .writes = {{TABLE_requests, COLUMN_requests_name},
               {TABLE_requests, COLUMN_requests_model},
               {TABLE_requests, COLUMN_requests_op_id},
               {TABLE_requests, COLUMN_requests_thread_id},
               {TABLE_requests, COLUMN_requests_step_id},
               {TABLE_requests, COLUMN_requests_start_ns},
               {TABLE_requests, COLUMN_requests_end_ns},
               {TABLE_requests, COLUMN_requests_dur_ns},
               {TABLE_requests, COLUMN_requests_size},
               {TABLE_requests, COLUMN_requests_batch_count},
               {TABLE_requests, COLUMN_requests_batch_id},
               {TABLE_requests, COLUMN_requests_wait_ns}},
    .run = run_requests,
};

const struct derive_pass derive_batch_tasks = {
    .name = "batch tasks",
    .summary = "Which request, or part of one, is in which batch, by the context that is handed from one to the other.",
    .makes_table = TABLE_batch_tasks,
    .is_idle = serving_has_none,
    .reads = {SERVING_READ},
    .writes = {{TABLE_batch_tasks, COLUMN_batch_tasks_batch_id},
               {TABLE_batch_tasks, COLUMN_batch_tasks_request_id},
               {TABLE_batch_tasks, COLUMN_batch_tasks_op_id},
               {TABLE_batch_tasks, COLUMN_batch_tasks_size},
               {TABLE_batch_tasks, COLUMN_batch_tasks_queued_ns},
               {TABLE_batch_tasks, COLUMN_batch_tasks_wait_ns}},
    .run = run_batch_tasks,
};
