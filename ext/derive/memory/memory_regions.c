/* memory_regions.c: allocations.region: what a piece of memory is for, as far as the ops that allocated and released it
** tell; and allocations.node_id: which parameter it is.
**
** A piece in which a parameter of the model was seen (parameter_places.h) is one. Of all others the first that holds:
**   input            allocated while the DataLoader was asked for a batch, or by a process of its for one
**   temporary        released before the outermost op that it was allocated in had ended, or for a piece of the
**                    optimizer, within the same call of Optimizer.step
**   optimizer_state  allocated in Optimizer.step and held beyond it
**   gradient         allocated by a backward op and held beyond the backward pass
**   autograd_detail  allocated by another backward op: gradients of what lies between layers
**   parameter        held to the end, and as large as a parameter of the model (parameter_pieces.h) that was not seen
**                    to lie elsewhere
**   persistent       allocated before the first step and held until after the last one, or in a step and held for more
**                    than the one after it: whatever else the program keeps
**   input            allocated in a step outside of all modules before the model was called, and held until it was:
**                    batches that were made or moved to a device
**   activation       allocated by another op in a step: what the backward pass needs, outputs, the loss
** NULL where no op was recorded, or none of them holds, and where it is not known how long the piece was held: without
** addresses releases pair with nothing (allocations.c).  What the source tells of an allocation itself (memory_events)
** comes before all of that.  The names are those of PyTorch's memory profiler, which follows tensors by their
** addresses; those are in no trace that it exports, and in a capture for parameters only.
*/
#include "derive/links/ancestors.h"
#include "derive/memory/parameter_pieces.h"
#include "derive/memory/parameter_places.h"
#include "derive/memory/training_passes.h"
#include "derive/passes.h"
#include "derive/steps/step_lookup.h"

#include <string.h>

enum { IN_MODULE = 1, ON_MAIN_THREAD = 2 };
enum { MARK_NONE, MARK_INPUT, MARK_OPTIMIZER, MARK_BACKWARD };

struct work {
  uint32_t op_count, step_count;
  uint32_t *marks;     /* by op: the nearest op around it, or itself, that has a kind; NO_ROW */
  uint8_t *kinds;      /* by op: MARK_x */
  uint32_t *outermost; /* by op: the outermost op around it that only ranges and functions stand around */
  int64_t *ends;       /* of ops */
  uint8_t *places;     /* by op: IN_MODULE, ON_MAIN_THREAD */
  struct training_passes passes;
  struct parameter_pieces parameters;
  int64_t first_step, last_step; /* beginning and end */
  struct step_lookup steps;
};

static uint8_t kind_of_region_op(const char *name) {
  if (strncmp(name, "enumerate(DataLoader)", 21) == 0) return MARK_INPUT;
  if (strcmp(name, "torch.utils.data.DataLoader.fetch") == 0) return MARK_INPUT;
  if (strncmp(name, "Optimizer.step#", 15) == 0) return MARK_OPTIMIZER;
  if (strncmp(name, "autograd::engine::evaluate_function", 35) == 0) return MARK_BACKWARD;
  return MARK_NONE;
}

static enum tfprof_status look_at_ops(struct profile *profile, struct work *w, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  string_id autograd = derive_known_text(profile, "autograd");
  /* What stands around ops without being one. */
  const string_id around[] = {derive_known_text(profile, "user"), derive_known_text(profile, "python"),
                              derive_known_text(profile, "module")};
  uint32_t *parents = NULL;
  enum tfprof_status status = derive_all_op_parents(profile, &parents, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_end_ns, &w->ends, error);
  w->marks = scratch_allocate((size_t)w->op_count * sizeof *w->marks);
  w->outermost = scratch_allocate((size_t)w->op_count * sizeof *w->outermost);
  w->kinds = scratch_allocate_zeroed(w->op_count, 2);
  if (!status && (!w->marks || !w->outermost || !w->kinds)) status = error_no_memory(error);
  uint8_t *is_around = w->kinds + w->op_count;
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
      is_around[op] = categories[i] == around[0] || categories[i] == around[1] || categories[i] == around[2];
    }
  }
  if (!status) {
    for (uint32_t op = 0; op < w->op_count; op++)
      w->outermost[op] = parents[op] == NO_ROW || is_around[parents[op]] ? op : NO_ROW;
    derive_inherit(parents, w->marks, w->op_count);
    derive_inherit(parents, w->outermost, w->op_count);
  }
  scratch_free(parents);
  return status;
}

/* The thread that has most of the forward ops. */
static enum tfprof_status find_main_thread(struct profile *profile, const struct work *w, const uint32_t *threads,
                                           const int64_t *sequences, uint32_t *main, struct tfprof_error *error) {
  uint32_t thread_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &thread_count, error);
  uint32_t *counts = scratch_allocate_zeroed((size_t)thread_count + 1, sizeof *counts);
  if (!status && !counts) status = error_no_memory(error);
  *main = NO_ROW;
  for (uint32_t op = 0; op < w->op_count && !status; op++) {
    if (w->outermost[op] != op || w->marks[op] != NO_ROW || sequences[op] == NO_VALUE || threads[op] == NO_ROW)
      continue;
    uint32_t own = ++counts[threads[op]];
    if (*main == NO_ROW || own > counts[*main]) *main = threads[op];
  }
  scratch_free(counts);
  return status;
}

static enum tfprof_status look_at_passes(struct profile *profile, struct work *w, struct tfprof_error *error) {
  int64_t *starts = NULL, *sequences = NULL, *modules = NULL;
  uint32_t *threads = NULL, main = NO_ROW;
  enum tfprof_status status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_sequence_number, &sequences, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_module, &modules, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_thread_id, &threads, error);
  if (!status) status = find_main_thread(profile, w, threads, sequences, &main, error);
  w->places = scratch_allocate_zeroed((size_t)w->op_count + 1, 1);
  if (!status && !w->places) status = error_no_memory(error);
  for (uint32_t op = 0; op < w->op_count && !status; op++) {
    uint32_t mark = w->marks[op];
    bool is_in_module = modules[op] != NO_VALUE && modules[op] != 0;
    w->places[op] =
        (is_in_module ? IN_MODULE : 0) | (threads[op] != NO_ROW && threads[op] == main ? ON_MAIN_THREAD : 0);
    if (starts[op] == NO_VALUE || w->ends[op] == NO_VALUE) continue;
    bool is_added = true;
    if (mark == op && w->kinds[op] == MARK_OPTIMIZER) {
      is_added = training_passes_add(&w->passes, PASS_OPTIMIZER, false, starts[op], w->ends[op]);
    } else if (w->outermost[op] == op && mark != NO_ROW && w->kinds[mark] == MARK_BACKWARD) {
      is_added = training_passes_add(&w->passes, PASS_BACKWARD, false, starts[op], w->ends[op]);
    } else if (w->outermost[op] == op && mark == NO_ROW && sequences[op] != NO_VALUE && threads[op] == main) {
      is_added = training_passes_add(&w->passes, PASS_FORWARD, is_in_module, starts[op], w->ends[op]);
    }
    if (!is_added) status = error_no_memory(error);
  }
  if (!status && !training_passes_sort(&w->passes)) status = error_no_memory(error);
  scratch_free(starts);
  scratch_free(sequences);
  scratch_free(modules);
  scratch_free(threads);
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

enum region {
  REGION_NONE,
  INPUT,
  TEMPORARY,
  OPTIMIZER_STATE,
  GRADIENT,
  AUTOGRAD_DETAIL,
  PARAMETER,
  PERSISTENT,
  ACTIVATION,
  REGIONS
};
static const char *const region_names[REGIONS] = {NULL,        "input",           "temporary", "optimizer_state",
                                                  "gradient",  "autograd_detail", "parameter", "persistent",
                                                  "activation"};

static bool is_before(int64_t time, int64_t limit) { return time != NO_VALUE && limit != NO_VALUE && time <= limit; }

static enum region region_of(struct work *w, uint32_t op, int64_t allocated, int64_t released) {
  if (op == NO_ROW || allocated == NO_VALUE) return REGION_NONE;
  uint32_t mark = w->marks[op], kind = mark == NO_ROW ? MARK_NONE : w->kinds[mark];
  if (kind == MARK_INPUT) return INPUT;
  int64_t optimizer_end = INT64_MIN;
  /* Where a trace has Python's functions, too, a call of Optimizer.step need not be among what is around an op. */
  if (kind == MARK_OPTIMIZER) optimizer_end = w->ends[mark];
  else if (kind == MARK_NONE && w->places[op] & ON_MAIN_THREAD)
    optimizer_end = training_passes_optimizer_end(&w->passes, allocated);
  if (optimizer_end != INT64_MIN) return is_before(released, optimizer_end) ? TEMPORARY : OPTIMIZER_STATE;
  if (is_before(released, w->ends[w->outermost[op]])) return TEMPORARY;
  if (kind == MARK_BACKWARD)
    return is_before(released, training_passes_backward_end(&w->passes, allocated)) ? AUTOGRAD_DETAIL : GRADIENT;
  if (!w->step_count) return REGION_NONE;
  bool is_to_the_end = released == NO_VALUE || released > w->last_step;
  if (allocated < w->first_step) return is_to_the_end ? PERSISTENT : REGION_NONE;
  uint32_t step = step_lookup_find(&w->steps, allocated);
  if (step == NO_ROW) return REGION_NONE;
  uint32_t until = is_to_the_end ? w->step_count - 1 : step_lookup_find(&w->steps, released);
  if (until != NO_ROW && until > step + 1) return PERSISTENT;
  int64_t forward;
  bool is_outside = w->passes.in_modules.count && !(w->places[op] & IN_MODULE);
  bool is_input = is_outside && training_passes_is_before_forward(&w->passes, allocated, &forward) &&
                  forward != INT64_MAX && (released == NO_VALUE || released > forward);
  return is_input ? INPUT : ACTIVATION;
}

/* What the pass makes, by row of allocations. */
struct made {
  string_id *regions;
  uint32_t *nodes;
};

/* Those in which parameters were seen. */
static void set_places(const struct work *w, uint32_t rows, const struct parameter_places *places,
                       const int64_t *addresses, const int64_t *allocated, const int64_t *released, string_id parameter,
                       struct made *made) {
  for (uint32_t row = 0; row < rows && places->count; row++) {
    bool is_to_the_end = released[row] == NO_VALUE || released[row] > w->last_step;
    if (addresses[row] == NO_VALUE) continue;
    if (parameter_places_find(places, addresses[row], allocated[row], released[row], is_to_the_end, &made->nodes[row]))
      made->regions[row] = parameter;
  }
}

/* Those of which nobody knows when they were `released`, where addresses are what pairs them with that, have none. */
static void set_regions(struct work *w, uint32_t rows, const uint32_t *ops, const int64_t *addresses,
                        const int64_t *allocated, const int64_t *released, const int64_t *bytes, bool has_unpaired,
                        const string_id *texts, struct made *made) {
  for (uint32_t row = 0; row < rows; row++) {
    if (made->regions[row]) continue;
    if (has_unpaired && addresses[row] == NO_VALUE && released[row] == NO_VALUE) continue;
    enum region region = region_of(w, ops[row], allocated[row], released[row]);
    const struct parameter_size *parameter = NULL;
    if (region == PERSISTENT && bytes[row] != NO_VALUE) parameter = parameter_pieces_take(&w->parameters, bytes[row]);
    made->regions[row] = texts[parameter ? PARAMETER : region];
    if (parameter) made->nodes[row] = parameter->node;
  }
}

/* Whether there is a release that no allocation is known of. */
static enum tfprof_status find_unpaired_releases(struct profile *profile, uint32_t rows, bool *has_unpaired,
                                                 struct tfprof_error *error) {
  string_id release = derive_known_text(profile, "release");
  enum tfprof_status status = TFPROF_OK;
  *has_unpaired = false;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    uint32_t of[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK];
    block_references(&block, COLUMN_memory_events_allocation_id, rows, of);
    block_texts(&block, COLUMN_memory_events_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) *has_unpaired |= of[i] == NO_ROW && kinds[i] == release;
  }
  return status;
}

/* What the source tells of allocations as they happen. */
static enum tfprof_status take_told(struct profile *profile, uint32_t rows, string_id *made,
                                    struct tfprof_error *error) {
  string_id allocate = derive_known_text(profile, "allocate");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    uint32_t of[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK], regions[ROWS_BLOCK];
    block_references(&block, COLUMN_memory_events_allocation_id, rows, of);
    block_texts(&block, COLUMN_memory_events_kind, kinds);
    block_texts(&block, COLUMN_memory_events_region, regions);
    for (uint32_t i = 0; i < block.count; i++)
      if (of[i] != NO_ROW && kinds[i] == allocate && regions[i]) made[of[i]] = regions[i];
  }
  return status;
}

/* Of a profile without ops nothing else tells. */
static enum tfprof_status set_told(struct profile *profile, uint32_t rows, struct tfprof_error *error) {
  string_id *regions = scratch_allocate_zeroed(rows, sizeof *regions);
  enum tfprof_status status = regions ? take_told(profile, rows, regions, error) : error_no_memory(error);
  if (!status) status = derive_set_texts(profile, TABLE_allocations, COLUMN_allocations_region, regions, error);
  scratch_free(regions);
  return status;
}

static enum tfprof_status run_memory_regions(struct profile *profile, struct tfprof_error *error) {
  struct work w = {0};
  uint32_t rows, nodes, *ops = NULL;
  bool *are_held = NULL;
  int64_t *addresses = NULL, *allocated = NULL, *released = NULL, *bytes = NULL;
  bool has_unpaired = false;
  string_id texts[REGIONS] = {0};
  struct made made = {0};
  struct parameter_places places = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_allocations, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &w.op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_nodes, &nodes, error);
  if (status || !rows) return status;
  if (!w.op_count) return set_told(profile, rows, error);
  status = look_at_ops(profile, &w, error);
  if (!status) status = look_at_passes(profile, &w, error);
  if (!status) status = look_at_steps(profile, &w, error);
  if (!status) status = parameter_places_read(&places, profile, error);
  if (!status) status = derive_all_references(profile, TABLE_allocations, COLUMN_allocations_op_id, &ops, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_allocated_ns, &allocated, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_released_ns, &released, error);
  if (!status) status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_bytes, &bytes, error);
  if (!status) status = find_unpaired_releases(profile, rows, &has_unpaired, error);
  if (!status && (has_unpaired || places.count))
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_address, &addresses, error);
  for (int region = 1; region < REGIONS && !status; region++)
    status = derive_text(profile, region_names[region], &texts[region], error);
  made.regions = scratch_allocate_zeroed(rows, sizeof *made.regions);
  made.nodes = scratch_allocate((size_t)rows * sizeof *made.nodes);
  if (!status && (!made.regions || !made.nodes)) status = error_no_memory(error);
  if (!status) {
    memset(made.nodes, 0xff, (size_t)rows * sizeof *made.nodes); /* NO_ROW */
    set_places(&w, rows, &places, addresses, allocated, released, texts[PARAMETER], &made);
    are_held = parameter_places_held(&places, nodes);
    status = are_held ? parameter_pieces_read(&w.parameters, profile, are_held, error) : error_no_memory(error);
  }
  if (!status) {
    set_regions(&w, rows, ops, addresses, allocated, released, bytes, has_unpaired, texts, &made);
    status = take_told(profile, rows, made.regions, error);
    if (!status) status = derive_set_texts(profile, TABLE_allocations, COLUMN_allocations_region, made.regions, error);
  }
  if (!status)
    status = derive_set_references(profile, TABLE_allocations, COLUMN_allocations_node_id, made.nodes, error);
  scratch_free(made.regions);
  scratch_free(made.nodes);
  scratch_free(ops);
  scratch_free(addresses);
  scratch_free(allocated);
  scratch_free(released);
  scratch_free(bytes);
  scratch_free(w.marks);
  scratch_free(w.kinds);
  scratch_free(w.outermost);
  scratch_free(w.ends);
  scratch_free(w.places);
  training_passes_free(&w.passes);
  parameter_pieces_free(&w.parameters);
  parameter_places_free(&places);
  scratch_free(are_held);
  step_lookup_free(&w.steps);
  return status;
}

const struct derive_pass derive_memory_regions = {
    .name = "memory regions",
    .summary = "What a piece of memory is for, from the ops that allocated it, how long it was held and the model.",
    .makes_table = -1,
    .reads = {{TABLE_allocations, COLUMN_allocations_op_id},
              {TABLE_allocations, COLUMN_allocations_address},
              {TABLE_allocations, COLUMN_allocations_bytes},
              {TABLE_allocations, COLUMN_allocations_allocated_ns},
              {TABLE_allocations, COLUMN_allocations_released_ns},
              {TABLE_memory_events, COLUMN_memory_events_allocation_id},
              {TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_region},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_sequence_number},
              {TABLE_ops, COLUMN_ops_module},
              {TABLE_node_changes, COLUMN_node_changes_node_id},
              {TABLE_node_changes, COLUMN_node_changes_time_ns},
              {TABLE_node_changes, COLUMN_node_changes_param_bytes},
              {TABLE_node_changes, COLUMN_node_changes_recorded_address},
              {TABLE_nodes, COLUMN_nodes_param_bytes},
              {TABLE_nodes, COLUMN_nodes_shape},
              {TABLE_nodes, COLUMN_nodes_dtype},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns}},
    .writes = {{TABLE_allocations, COLUMN_allocations_region}, {TABLE_allocations, COLUMN_allocations_node_id}},
    .run = run_memory_regions,
};
