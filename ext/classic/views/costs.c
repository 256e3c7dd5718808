/* costs.c: what nodes cost, from the table node_steps: in one step, or the average of each node over the steps in which
** it ran.  The columns are kept as the store has them, so that nothing is copied; the values of the last step that was
** asked for are kept, since most questions are about the same one. */
#include "classic/views/costs.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024, RUN_COUNT = METRIC_cpu_micros + 1, FLOPS, COST_COUNT };

static const struct { uint16_t column, metric; } cost_columns[COST_COUNT] = {
    {COLUMN_node_steps_requested_bytes, METRIC_bytes},
    {COLUMN_node_steps_peak_bytes, METRIC_peak_bytes},
    {COLUMN_node_steps_residual_bytes, METRIC_residual_bytes},
    {COLUMN_node_steps_output_bytes, METRIC_output_bytes},
    {COLUMN_node_steps_exec_ns, METRIC_micros},
    {COLUMN_node_steps_accelerator_ns, METRIC_accelerator_micros},
    {COLUMN_node_steps_cpu_ns, METRIC_cpu_micros},
    [RUN_COUNT] = {COLUMN_node_steps_run_count, METRIC_occurrence},
    [FLOPS] = {COLUMN_node_steps_flops, METRIC_float_ops}, /* where they differ from step to step */
};

struct cost_segment {
  uint32_t rows;
  struct column *node, *step, *costs[COST_COUNT]; /* NULL: none has a value */
};

struct classic_costs {
  uint32_t *ranks;
  uint64_t node_rows;
  struct cost_segment *segments;
  size_t segment_count;
  struct classic_node_values *last;
};

static struct column *take_cost_column(const struct segment *segment, unsigned column) {
  struct column *value = segment->columns[column];
  return value && value->form != COLUMN_ABSENT ? column_retain(value) : NULL;
}

enum tfprof_status classic_costs_create(struct profile *profile, struct classic_model *model, uint32_t *ranks,
                                        uint64_t node_rows, struct tfprof_error *error) {
  const struct profile_table *table = profile ? &profile->tables[TABLE_node_steps] : NULL;
  struct column_set set = {{0, 0}};
  column_set_add(&set, COLUMN_node_steps_node_id);
  column_set_add(&set, COLUMN_node_steps_step_id);
  bool has_flops = false;
  for (uint32_t i = 0; i < model->node_count && !has_flops; i++) has_flops = model->nodes[i].has_flops_of_steps;
  for (unsigned i = 0; i < (has_flops ? COST_COUNT : FLOPS); i++) column_set_add(&set, cost_columns[i].column);
  struct classic_costs *costs = model->costs = calloc(1, sizeof *costs);
  if (!costs) {
    free(ranks);
    return error_no_memory(error);
  }
  costs->ranks = ranks;
  costs->node_rows = node_rows;
  if (!profile) return TFPROF_OK;
  enum tfprof_status status = profile_require(profile, TABLE_node_steps, &set, error);
  if (status) return status;
  costs->segments = calloc(table->segment_count + 1, sizeof *costs->segments);
  if (!costs->segments) return error_no_memory(error);
  for (size_t i = 0; i < table->segment_count; i++) {
    const struct segment *segment = table->segments[i];
    struct cost_segment *to = &costs->segments[costs->segment_count++];
    to->rows = segment->rows;
    to->node = take_cost_column(segment, COLUMN_node_steps_node_id);
    to->step = take_cost_column(segment, COLUMN_node_steps_step_id);
    for (unsigned k = 0; k < (has_flops ? COST_COUNT : FLOPS); k++)
      to->costs[k] = take_cost_column(segment, cost_columns[k].column);
  }
  return TFPROF_OK;
}

void classic_costs_free(struct classic_costs *costs) {
  if (!costs) return;
  for (size_t i = 0; i < costs->segment_count; i++) {
    column_release(costs->segments[i].node);
    column_release(costs->segments[i].step);
    for (unsigned k = 0; k < COST_COUNT; k++) column_release(costs->segments[i].costs[k]);
  }
  classic_own_values_put_back(costs->last);
  free(costs->segments);
  free(costs->ranks);
  free(costs);
}

/* ---- adding up ---- */

/* Some rows of a segment. */
struct block {
  uint32_t nodes[BLOCK]; /* places by name; UINT32_MAX: does not count */
  int64_t values[BLOCK];
  uint64_t nulls[BLOCK / 64];
};

static int64_t sum(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? (a < 0 ? INT64_MIN : INT64_MAX) : result;
}

static bool is_null(const struct block *block, uint32_t i) { return nulls_have(block->nulls, i); }

/* The rows of the table steps that are the wanted step; NULL: every step. */
struct wanted {
  const uint8_t *is_step;
  uint32_t step_count;
};

/* Which rows count, and for which node. */
static void find_nodes(const struct classic_costs *costs, const struct cost_segment *segment,
                       const struct wanted *wanted, uint32_t first, uint32_t count, struct block *block) {
  column_read(segment->node, first, count, block->values, block->nulls);
  for (uint32_t i = 0; i < count; i++) {
    bool is_known = !is_null(block, i) && block->values[i] >= 0 && (uint64_t)block->values[i] < costs->node_rows;
    block->nodes[i] = is_known ? costs->ranks[block->values[i]] : UINT32_MAX;
  }
  if (!wanted->is_step) return;
  if (segment->step) column_read(segment->step, first, count, block->values, block->nulls);
  for (uint32_t i = 0; i < count; i++) {
    bool is_known =
        segment->step && !is_null(block, i) && block->values[i] >= 0 && block->values[i] < wanted->step_count;
    if (!is_known || !wanted->is_step[block->values[i]]) block->nodes[i] = UINT32_MAX;
  }
}

/* Rows [first, end) of a block, which are of one node. */
struct stretch {
  uint32_t node, first, end;
};

/* Those of a block that count; a source mostly has all that it knows of a node in one place. */
static uint32_t find_stretches(const struct block *block, uint32_t count, struct stretch *stretches) {
  uint32_t found = 0;
  for (uint32_t first = 0, end; first < count; first = end) {
    uint32_t node = block->nodes[first];
    for (end = first + 1; end < count && block->nodes[end] == node;) end++;
    if (node != UINT32_MAX) stretches[found++] = (struct stretch){node, first, end};
  }
  return found;
}

static void to_whole_micros(int64_t *values, uint32_t count, bool is_short) {
  for (uint32_t i = 0; is_short && i < count; i++) values[i] = (int64_t)((uint32_t)values[i] / 1000);
  for (uint32_t i = 0; !is_short && i < count; i++) values[i] /= 1000;
}

/* Adds the block's values to those of a metric. */
static void add_values(struct block *block, uint32_t count, unsigned metric, bool has_nulls,
                       const struct stretch *stretches, uint32_t stretch_count, struct classic_values *values) {
  uint64_t bits = 0;
  for (uint32_t i = 0; has_nulls && i < count; i++) {
    if (is_null(block, i)) block->values[i] = 0;
  }
  for (uint32_t i = 0; i < count; i++) bits |= (uint64_t)block->values[i];
  if (metric >= METRIC_micros && metric <= METRIC_cpu_micros) to_whole_micros(block->values, count, bits <= UINT32_MAX);
  for (uint32_t s = 0; s < stretch_count; s++) {
    const struct stretch *stretch = &stretches[s];
    int64_t *to = &values[stretch->node].of[metric], all = 0;
    if (bits <= INT64_MAX / BLOCK) { /* none is below 0, and no sum of a block too large */
      for (uint32_t i = stretch->first; i < stretch->end; i++) all += block->values[i];
      *to = sum(*to, all);
    } else {
      for (uint32_t i = stretch->first; i < stretch->end; i++) *to = sum(*to, block->values[i]);
    }
  }
}

static void add_rows(const struct classic_costs *costs, const struct cost_segment *segment, const struct wanted *wanted,
                     struct classic_values *values, uint32_t *runs, struct block *block) {
  struct stretch stretches[BLOCK];
  for (uint32_t first = 0, count; segment->node && first < segment->rows; first += count) {
    count = segment->rows - first < BLOCK ? segment->rows - first : BLOCK;
    find_nodes(costs, segment, wanted, first, count, block);
    uint32_t stretch_count = find_stretches(block, count, stretches);
    for (uint32_t s = 0; s < stretch_count; s++) runs[stretches[s].node] += stretches[s].end - stretches[s].first;
    for (unsigned k = 0; k < COST_COUNT && stretch_count; k++) {
      if (!segment->costs[k]) continue;
      bool has_nulls = column_read(segment->costs[k], first, count, block->values, block->nulls);
      add_values(block, count, cost_columns[k].metric, has_nulls, stretches, stretch_count, values);
    }
  }
}

/* Of the time on accelerators and on CPUs, each rounded, and their sum. */
static void to_micros(int64_t *of) {
  of[METRIC_accelerator_micros] = sum(of[METRIC_accelerator_micros], 500) / 1000;
  of[METRIC_cpu_micros] = sum(of[METRIC_cpu_micros], 500) / 1000;
  of[METRIC_micros] = sum(of[METRIC_accelerator_micros], of[METRIC_cpu_micros]);
}

/* The same from model->execs. */
static void sum_up_execs(const struct classic_model *model, int64_t step, struct classic_values *values, uint32_t *runs,
                         uint32_t *ran) {
  for (uint32_t i = 0; i < model->node_count; i++) {
    int64_t *of = values[i].of;
    ran[i] = model->nodes[i + 1].first_exec - model->nodes[i].first_exec;
    uint32_t count = 0;
    for (uint32_t k = model->nodes[i].first_exec; k < model->nodes[i + 1].first_exec; k++) {
      const struct classic_exec *exec = &model->execs[k];
      bool is_wanted = step < 0 ? !exec->is_aside : exec->step < model->step_count && model->steps[exec->step] == step;
      if (!is_wanted) continue;
      count++;
      for (int m = 0; m <= METRIC_cpu_micros; m++) of[m] = sum(of[m], exec->of[m]);
      of[METRIC_occurrence] = sum(of[METRIC_occurrence], exec->of[METRIC_occurrence]);
    }
    runs[i] = count;
  }
}

/* What does not depend on the step. */
static void begin_costs(const struct classic_model *model, struct classic_values *values) {
  for (uint32_t i = 0; i < model->node_count; i++) {
    values[i].of[METRIC_params] = model->nodes[i].parameters;
    values[i].of[METRIC_defined] = 1;
  }
}

/* Sums become averages, each by itself and rounded down; flops are those of all runs where there are any: of one run
** as often as it ran, or of the steps themselves. */
static void finish_costs(const struct classic_model *model, int64_t step, struct classic_values *values,
                         const uint32_t *runs, const uint32_t *ran) {
  for (uint32_t i = 0; i < model->node_count; i++) {
    int64_t *of = values[i].of, flops = model->nodes[i].flops;
    bool is_summed = model->nodes[i].has_flops_of_steps && ran[i];
    if (!is_summed) of[METRIC_float_ops] = flops;
    else if (step < 0 && runs[i] > 1) of[METRIC_float_ops] /= runs[i];
    if (step < 0 && runs[i] > 1) {
      for (int m = 0; m <= METRIC_cpu_micros; m++) of[m] /= runs[i];
      of[METRIC_occurrence] /= runs[i];
    }
    if (model->is_in_nanoseconds) to_micros(of);
    if (ran[i] && !is_summed && __builtin_mul_overflow(flops, of[METRIC_occurrence], &of[METRIC_float_ops]))
      of[METRIC_float_ops] = INT64_MAX;
  }
}

/* Which nodes ran in any step. */
static void find_ran(const struct classic_costs *costs, uint32_t *ran, struct block *block) {
  const struct wanted all = {NULL, 0};
  for (size_t s = 0; s < costs->segment_count; s++) {
    const struct cost_segment *segment = &costs->segments[s];
    for (uint32_t first = 0, count; segment->node && first < segment->rows; first += count) {
      count = segment->rows - first < BLOCK ? segment->rows - first : BLOCK;
      find_nodes(costs, segment, &all, first, count, block);
      for (uint32_t i = 0; i < count; i++) {
        if (block->nodes[i] != UINT32_MAX) ran[block->nodes[i]]++;
      }
    }
  }
}

static bool sum_up(const struct classic_model *model, int64_t step, struct classic_values *values) {
  const struct classic_costs *costs = model->costs;
  size_t nodes = (size_t)model->node_count + 1;
  uint32_t *runs = calloc(nodes, sizeof *runs), *ran = calloc(nodes, sizeof *ran);
  uint8_t *is_step = malloc((size_t)model->step_count + 1);
  struct block *block = malloc(sizeof *block);
  bool ok = runs && ran && is_step && block;
  struct wanted wanted = {step < 0 ? NULL : is_step, model->step_count};
  for (uint32_t i = 0; ok && i < model->step_count; i++) is_step[i] = model->steps[i] == step;
  if (ok) begin_costs(model, values);
  for (size_t i = 0; ok && i < costs->segment_count; i++)
    add_rows(costs, &costs->segments[i], &wanted, values, runs, block);
  if (ok && step < 0) memcpy(ran, runs, nodes * sizeof *ran);
  else if (ok) find_ran(costs, ran, block);
  if (ok && model->execs) sum_up_execs(model, step, values, runs, ran);
  if (ok) finish_costs(model, step, values, runs, ran);
  free(ran);
  free(runs);
  free(is_step);
  free(block);
  return ok;
}

struct classic_node_values *classic_own_values(const struct classic_model *model, int64_t step) {
  struct classic_costs *costs = model->costs;
  if (step < 0) step = -1;
  if (costs->last && costs->last->step == step) {
    costs->last->references++;
    return costs->last;
  }
  size_t nodes = (size_t)model->node_count + 1;
  struct classic_node_values *own = calloc(1, sizeof *own + nodes * sizeof own->values[0]);
  if (!own || !sum_up(model, step, own->values)) {
    free(own);
    return NULL;
  }
  own->references = 2; /* one stays here */
  own->step = step;
  classic_own_values_put_back(costs->last);
  costs->last = own;
  return own;
}

void classic_own_values_put_back(struct classic_node_values *values) {
  if (values && --values->references == 0) free(values);
}
