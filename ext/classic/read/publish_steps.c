/* publish_steps.c: the tables of what ran: threads, steps, node_steps. */
#include "classic/read/publish.h"

/* ---- steps ---- */

static int compare_steps(const void *left, const void *right, void *context) {
  const struct tf_step *steps = context;
  int64_t a = steps[*(const uint32_t *)left].number, b = steps[*(const uint32_t *)right].number;
  return a < b ? -1 : a > b;
}

static bool publish_step_rows(struct tf_model *model, struct profile *profile, const uint32_t *order) {
  struct eager_rows rows;
  size_t count = model->steps.count;
  string_id session;
  if (!tf_intern(model, "session", 7, &session) ||
      !eager_rows_begin(&rows, profile, TABLE_steps, count, &model->status, model->error))
    return false;
  int64_t *lengths = malloc((count + 1) * sizeof *lengths);
  bool ok = lengths ? true : tf_no_memory(model);
  for (uint32_t i = 0; ok && i < count; i++) {
    const struct tf_step *step = &model->steps.items[order[i]];
    rows.values[i] = step->start_micros ? step->start_micros * 1000 : ROW_NULL;
    lengths[i] = step->start_micros ? (step->end_micros - step->start_micros) * 1000 : ROW_NULL;
  }
  ok = ok && eager_rows_set_span(&rows, COLUMN_steps_start_ns, COLUMN_steps_dur_ns, COLUMN_steps_end_ns, lengths);
  for (uint32_t i = 0; ok && i < count; i++) rows.values[i] = model->steps.items[order[i]].number;
  ok = ok && eager_rows_set_known(&rows, COLUMN_steps_number) &&
       eager_rows_set_constant(&rows, COLUMN_steps_origin, session) &&
       eager_rows_set_constant(&rows, COLUMN_steps_ops_recorded, 1) &&
       /* Session.run is called by any thread, which nothing tells. */
       eager_rows_set_absent(&rows, COLUMN_steps_thread_id);
  free(lengths);
  eager_rows_end(&rows);
  return ok;
}

/* ---- node_steps ---- */

/* Rows of the model become rows of a table. */
static struct column *translate(const struct column *column, const uint32_t *rows, size_t row_count) {
  enum { BLOCK = 1024 };
  int64_t values[BLOCK];
  uint64_t nulls[BLOCK / 64];
  struct column_builder builder;
  if (!column || column_builder_start(&builder, column->rows, 0, (int64_t)row_count - 1, false, false)) return NULL;
  for (uint32_t first = 0; first < column->rows; first += BLOCK) {
    uint32_t count = column->rows - first < BLOCK ? column->rows - first : BLOCK;
    column_read(column, first, count, values, nulls);
    for (uint32_t i = 0; i < count; i++) values[i] = rows[values[i]];
    column_builder_put_all(&builder, first, values, count);
  }
  return column_builder_done(&builder);
}

/* Numbers of texts, of which 0 is none. */
static bool set_texts(struct eager_rows *rows, unsigned column, const struct column *texts) {
  for (uint32_t row = 0; texts && row < rows->count; row++) {
    int64_t text = column_integer(texts, row);
    rows->values[row] = text ? text : ROW_NULL;
  }
  return !texts || eager_rows_set_known(rows, column);
}

/* Takes the costs of the model. */
static bool publish_node_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order,
                               const uint32_t *rank) {
  struct column *costs[TF_COST_count] = {NULL};
  struct eager_rows rows;
  bool ok = eager_rows_begin(&rows, profile, TABLE_node_steps, model->costs.count, &model->status, model->error);
  for (int i = 0; ok && i < (model->has_calls ? TF_COST_count : TF_COST_call); i++) {
    costs[i] = column_appender_done(&model->costs.columns[i], rows.count);
    if (!costs[i]) ok = tf_no_memory(model);
  }
  ok = ok && rows.count &&
       eager_rows_take(&rows, COLUMN_node_steps_node_id,
                       translate(costs[TF_COST_node], order->rows, model->nodes.count)) &&
       eager_rows_take(&rows, COLUMN_node_steps_step_id, translate(costs[TF_COST_step], rank, model->steps.count)) &&
       eager_rows_take(&rows, COLUMN_node_steps_exec_ns, column_sum(costs[TF_COST_accelerator], costs[TF_COST_cpu])) &&
       eager_rows_take(&rows, COLUMN_node_steps_end_ns, column_sum(costs[TF_COST_start], costs[TF_COST_length]));
#define TAKE(cost, column) \
  ok = ok && eager_rows_take(&rows, COLUMN_node_steps_##column, column_retain(costs[TF_COST_##cost]))
  TAKE(run_count, run_count);
  TAKE(start, start_ns);
  TAKE(accelerator, accelerator_ns);
  TAKE(cpu, cpu_ns);
  TAKE(requested, requested_bytes);
  TAKE(peak, peak_bytes);
  TAKE(residual, residual_bytes);
  TAKE(output, output_bytes);
#undef TAKE
  ok = ok && set_texts(&rows, COLUMN_node_steps_recorded_call, costs[TF_COST_call]) &&
       set_texts(&rows, COLUMN_node_steps_output_shapes, costs[TF_COST_output_shapes]);
  for (int i = 0; i < TF_COST_count; i++) column_release(costs[i]);
  eager_rows_end(&rows);
  return !model->status;
}

bool tf_publish_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  size_t count = model->steps.count;
  uint32_t *steps = malloc((count + 1) * sizeof *steps), *rank = malloc((count + 1) * sizeof *rank);
  bool ok = steps && rank ? true : tf_no_memory(model);
  for (uint32_t i = 0; ok && i < count; i++) steps[i] = i;
  if (ok && count > 1) qsort_r(steps, count, sizeof *steps, compare_steps, model->steps.items);
  for (uint32_t i = 0; ok && i < count; i++) rank[steps[i]] = i;
  ok = ok && publish_step_rows(model, profile, steps) && publish_node_steps(model, profile, order, rank) &&
       tf_publish_warmup(model, profile) && tf_publish_memory(model, profile, rank) && tf_publish_runs(model, profile);
  free(steps);
  free(rank);
  return ok;
}
