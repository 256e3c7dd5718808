/* memory_regions.c: allocations.region: what a piece of memory is for, as far as the ops that allocated and released it
** tell.
**
** Of these the first that holds:
**   input            allocated while the DataLoader was asked for a batch
**   temporary        released before the outermost op that it was allocated in had ended, or for a piece of the
**                    optimizer, within the same call of Optimizer.step
**   optimizer_state  allocated in Optimizer.step and held beyond it
**   gradient         allocated by a backward op and held beyond it
**   persistent       allocated before the first step and held until after the last one, or in a step and held for more
**                    than the one after it: parameters, buffers, and whatever else the program keeps
**   activation       allocated by another op in a step: what the backward pass needs, outputs, the loss
** NULL where no op was recorded, or none of them holds.  The order and the names are those of PyTorch's memory profiler
** as far as they can be told without knowing which tensors are parameters.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/steps/step_lookup.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_NONE, MARK_INPUT, MARK_OPTIMIZER, MARK_BACKWARD };

struct work {
  uint32_t op_count, step_count;
  uint32_t *marks;     /* by op: the nearest op around it, or itself, that has a kind; NO_ROW */
  uint8_t *kinds;      /* by op: MARK_x */
  uint32_t *outermost; /* by op: the outermost op around it that no range of the user stands between */
  int64_t *ends;       /* of ops */
  int64_t first_step, last_step; /* beginning and end */
  struct step_lookup steps;
};

static uint8_t kind_of_region_op(const char *name) {
  if (strncmp(name, "enumerate(DataLoader)", 21) == 0) return MARK_INPUT;
  if (strncmp(name, "Optimizer.step#", 15) == 0) return MARK_OPTIMIZER;
  if (strncmp(name, "autograd::engine::evaluate_function", 35) == 0) return MARK_BACKWARD;
  return MARK_NONE;
}

static enum tfprof_status look_at_ops(struct profile *profile, struct work *w, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  string_id autograd = derive_known_text(profile, "autograd"), user = derive_known_text(profile, "user");
  uint32_t *parents = NULL;
  enum tfprof_status status = derive_all_op_parents(profile, &parents, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_end_ns, &w->ends, error);
  w->marks = scratch_allocate((size_t)w->op_count * sizeof *w->marks);
  w->outermost = scratch_allocate((size_t)w->op_count * sizeof *w->outermost);
  w->kinds = scratch_allocate_zeroed(w->op_count, 2);
  if (!status && (!w->marks || !w->outermost || !w->kinds)) status = error_no_memory(error);
  uint8_t *is_user = w->kinds + w->op_count;
  if (!status) memset(w->marks, 0xff, (size_t)w->op_count * sizeof *w->marks); /* NO_ROW */
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK], categories[ROWS_BLOCK], last = 0;
    uint8_t kind = MARK_NONE;
    block_texts(&block, COLUMN_ops_name, names);
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t op = (uint32_t)block.row + i;
      if (names[i] && names[i] != last) kind = kind_of_region_op(pool_text(pool, last = names[i]));
      w->kinds[op] = !names[i] ? MARK_NONE : categories[i] == autograd && !kind ? MARK_BACKWARD : kind;
      if (w->kinds[op]) w->marks[op] = op;
      is_user[op] = categories[i] == user;
    }
  }
  if (!status) {
    for (uint32_t op = 0; op < w->op_count; op++)
      w->outermost[op] = parents[op] == NO_ROW || is_user[parents[op]] ? op : NO_ROW;
    derive_inherit(parents, w->marks, w->op_count);
    derive_inherit(parents, w->outermost, w->op_count);
  }
  scratch_free(parents);
  return status;
}

static enum tfprof_status look_at_steps(struct profile *profile, struct work *w, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &w->step_count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  w->first_step = INT64_MAX;
  w->last_step = INT64_MIN;
  for (uint32_t step = 0; step < w->step_count && !status; step++) {
    if (starts[step] != NO_VALUE && starts[step] < w->first_step) w->first_step = starts[step];
    if (ends[step] != NO_VALUE && ends[step] > w->last_step) w->last_step = ends[step];
  }
  scratch_free(starts);
  scratch_free(ends);
  return status ? status : step_lookup_of_profile(&w->steps, profile, error);
}

enum region { REGION_NONE, INPUT, TEMPORARY, OPTIMIZER_STATE, GRADIENT, PERSISTENT, ACTIVATION, REGIONS };
static const char *const region_names[REGIONS] = {
    NULL, "input", "temporary", "optimizer_state", "gradient", "persistent", "activation"};

static bool is_before(int64_t time, int64_t limit) { return time != NO_VALUE && limit != NO_VALUE && time <= limit; }

static enum region region_of(struct work *w, uint32_t op, int64_t allocated, int64_t released) {
  if (op == NO_ROW || allocated == NO_VALUE) return REGION_NONE;
  uint32_t mark = w->marks[op], kind = mark == NO_ROW ? MARK_NONE : w->kinds[mark];
  if (kind == MARK_INPUT) return INPUT;
  if (kind == MARK_OPTIMIZER) return is_before(released, w->ends[mark]) ? TEMPORARY : OPTIMIZER_STATE;
  if (is_before(released, w->ends[w->outermost[op]])) return TEMPORARY;
  if (kind == MARK_BACKWARD) return GRADIENT;
  if (!w->step_count) return REGION_NONE;
  bool is_to_the_end = released == NO_VALUE || released > w->last_step;
  if (allocated < w->first_step) return is_to_the_end ? PERSISTENT : REGION_NONE;
  uint32_t step = step_lookup_find(&w->steps, allocated);
  if (step == NO_ROW) return REGION_NONE;
  uint32_t until = is_to_the_end ? w->step_count - 1 : step_lookup_find(&w->steps, released);
  return until != NO_ROW && until > step + 1 ? PERSISTENT : ACTIVATION;
}

static enum tfprof_status run_memory_regions(struct profile *profile, struct tfprof_error *error) {
  struct work w = {0};
  uint32_t rows, *ops = NULL;
  int64_t *allocated = NULL, *released = NULL;
  string_id *regions = NULL, texts[REGIONS] = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_allocations, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &w.op_count, error);
  if (status || !rows || !w.op_count) return status;
  status = look_at_ops(profile, &w, error);
  if (!status) status = look_at_steps(profile, &w, error);
  if (!status) status = derive_all_references(profile, TABLE_allocations, COLUMN_allocations_op_id, &ops, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_allocated_ns, &allocated, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_released_ns, &released, error);
  for (int region = 1; region < REGIONS && !status; region++)
    status = derive_text(profile, region_names[region], &texts[region], error);
  regions = scratch_allocate((size_t)rows * sizeof *regions);
  if (!status && !regions) status = error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++)
    regions[row] = texts[region_of(&w, ops[row], allocated[row], released[row])];
  if (!status) status = derive_set_texts(profile, TABLE_allocations, COLUMN_allocations_region, regions, error);
  scratch_free(regions);
  scratch_free(ops);
  scratch_free(allocated);
  scratch_free(released);
  scratch_free(w.marks);
  scratch_free(w.kinds);
  scratch_free(w.outermost);
  scratch_free(w.ends);
  step_lookup_free(&w.steps);
  return status;
}

const struct derive_pass derive_memory_regions = {
    .name = "memory regions",
    .summary = "What a piece of memory is for, from the ops that allocated it and how long it was held.",
    .makes_table = -1,
    .reads = {{TABLE_allocations, COLUMN_allocations_op_id},
              {TABLE_allocations, COLUMN_allocations_allocated_ns},
              {TABLE_allocations, COLUMN_allocations_released_ns},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns}},
    .writes = {{TABLE_allocations, COLUMN_allocations_region}},
    .run = run_memory_regions,
};
