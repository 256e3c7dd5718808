/* phase_events.c: see phase_events.h.
**
** Gradient mode.  PyTorch gives an op a sequence number where autograd watches it: an outermost op that has one ran
** with gradients.  Whether an op runs a model is told by the module on its stack, which captures record, or by its
** name: matrix products, convolutions, normalisations, attention and the like, which metrics and updates rarely call.
**
** Recomputation.  Ops that a node of the backward pass calls have no sequence numbers, for gradients are off there,
** unless the program asked for derivatives of derivatives.  A checkpoint turns gradients on and runs the forward pass
** again: from Python, so that the modules are on the stacks once more, and by ops that no derivative is made of, such
** as aten::linear.  In a node below which one such op is found, all ops with a sequence number are recomputation.
*/
#include "derive/time/phase_events.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* What a name says: a kind of range, or: */
enum name_class {
  NAME_UNKNOWN = 0,
  NAME_OTHER = PHASE_KINDS,
  NAME_RUNS_MODEL,
  NAME_ONLY_FORWARD, /* and no derivative is made of it */
  NAME_ENGINE,
  NAME_ACCUMULATES,
  NAME_CHECKPOINT,
};

static const struct name_prefix {
  const char *text;
  uint8_t is;
} prefixes[] = {
    {"enumerate(DataLoader)#", PHASE_INPUT},
    {"enumerate(DataPipe)#", PHASE_INPUT},
    {"Optimizer.step#", PHASE_OPTIMIZER},
    {"Optimizer.zero_grad#", PHASE_ZERO_GRAD},
    {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NAME_ACCUMULATES},
    {"autograd::engine::evaluate_function: CheckpointFunctionBackward", NAME_CHECKPOINT},
    {"autograd::engine::evaluate_function", NAME_ENGINE},
};

static const struct name_prefix whole_names[] = {
    {"torch.utils.data.DataLoader.__iter__", PHASE_LOADER},
    {"torch.autograd.backward", PHASE_BACKWARD},
    {"torch.autograd.grad", PHASE_GRADIENT},
    {"torch.nn.Module.eval", PHASE_EVAL},
    {"torch.nn.Module.train", PHASE_TRAIN},
    {"torch.save", PHASE_SAVE},
    {"aten::linear", NAME_ONLY_FORWARD},
    {"aten::conv1d", NAME_ONLY_FORWARD},
    {"aten::conv2d", NAME_ONLY_FORWARD},
    {"aten::conv3d", NAME_ONLY_FORWARD},
    {"aten::conv_transpose1d", NAME_ONLY_FORWARD},
    {"aten::conv_transpose2d", NAME_ONLY_FORWARD},
    {"aten::conv_transpose3d", NAME_ONLY_FORWARD},
    {"aten::layer_norm", NAME_ONLY_FORWARD},
    {"aten::batch_norm", NAME_ONLY_FORWARD},
    {"aten::group_norm", NAME_ONLY_FORWARD},
    {"aten::instance_norm", NAME_ONLY_FORWARD},
    {"aten::rms_norm", NAME_ONLY_FORWARD},
    {"aten::embedding_bag", NAME_ONLY_FORWARD},
    {"aten::lstm", NAME_ONLY_FORWARD},
    {"aten::gru", NAME_ONLY_FORWARD},
    {"aten::rnn_tanh", NAME_ONLY_FORWARD},
    {"aten::rnn_relu", NAME_ONLY_FORWARD},
    {"aten::scaled_dot_product_attention", NAME_ONLY_FORWARD},
    {"aten::dropout", NAME_ONLY_FORWARD},
    {"aten::embedding", NAME_RUNS_MODEL},
    {"aten::addmm", NAME_RUNS_MODEL},
    {"aten::mm", NAME_RUNS_MODEL},
    {"aten::bmm", NAME_RUNS_MODEL},
    {"aten::baddbmm", NAME_RUNS_MODEL},
    {"aten::matmul", NAME_RUNS_MODEL},
    {"aten::einsum", NAME_RUNS_MODEL},
    {"aten::convolution", NAME_RUNS_MODEL},
    {"CompiledFunction", NAME_RUNS_MODEL},
};

static uint8_t class_of_name(const char *name) {
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (strncmp(name, prefixes[i].text, strlen(prefixes[i].text)) == 0) return prefixes[i].is;
  }
  for (size_t i = 0; i < sizeof whole_names / sizeof *whole_names; i++) {
    if (strcmp(name, whole_names[i].text) == 0) return whole_names[i].is;
  }
  return NAME_OTHER;
}

/* ---- what one segment holds ---- */

struct finds {
  struct lane_span *spans; /* with the row of ops; its kind is at the same place of `kinds` */
  uint8_t *kinds;
  uint32_t count, capacity, kind_capacity;
  struct phase_link *links;
  uint32_t link_count, link_capacity;
  uint32_t *recomputing; /* outermost ops that run forward ops again, should they be backward ops */
  uint32_t recomputing_count, recomputing_capacity;
};

struct search {
  const struct profile *profile;
  struct phase_events *events;
  struct finds *finds;           /* by segment */
  _Atomic uint8_t *name_classes; /* by text */
  string_id user, input, python, module, autograd;
  uint32_t thread_count, op_count;
  int64_t *logical; /* by thread */
  atomic_int failure;
};

static uint8_t name_class(struct search *search, string_id name) {
  uint8_t class = atomic_load_explicit(&search->name_classes[name], memory_order_relaxed);
  if (class != NAME_UNKNOWN) return class;
  class = name ? class_of_name(pool_text(store_pool(search->profile->store), name)) : NAME_OTHER;
  atomic_store_explicit(&search->name_classes[name], class, memory_order_relaxed);
  return class;
}

static bool add_event(struct finds *finds, struct lane_span span, uint8_t kind) {
  struct lane_span *spans = scratch_grow(finds->spans, finds->count, &finds->capacity, 256, sizeof *spans);
  if (spans) finds->spans = spans;
  uint8_t *kinds = scratch_grow(finds->kinds, finds->count, &finds->kind_capacity, 256, sizeof *kinds);
  if (kinds) finds->kinds = kinds;
  if (!spans || !kinds) return false;
  finds->kinds[finds->count] = kind;
  finds->spans[finds->count++] = span;
  return true;
}

static bool add_link(struct finds *finds, struct phase_link link) {
  struct phase_link *links = scratch_grow(finds->links, finds->link_count, &finds->link_capacity, 256, sizeof *links);
  if (!links) return false;
  finds->links = links;
  finds->links[finds->link_count++] = link;
  return true;
}

static bool add_recomputing(struct finds *finds, uint32_t row) {
  if (finds->recomputing_count && finds->recomputing[finds->recomputing_count - 1] == row) return true;
  uint32_t *rows = scratch_grow(finds->recomputing, finds->recomputing_count, &finds->recomputing_capacity, 64,
                                sizeof *rows);
  if (!rows) return false;
  finds->recomputing = rows;
  finds->recomputing[finds->recomputing_count++] = row;
  return true;
}

/* A block of rows of ops. */
struct block {
  uint32_t first_row;
  string_id names[ROWS_BLOCK], categories[ROWS_BLOCK];
  uint32_t threads[ROWS_BLOCK], outermost[ROWS_BLOCK], forwards[ROWS_BLOCK];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], sequences[ROWS_BLOCK], forward_threads[ROWS_BLOCK],
      modules[ROWS_BLOCK];
};

static void read_phase_block(const struct search *search, const struct segment *segment, uint32_t first, uint32_t count,
                             struct block *block) {
  struct column *const *columns = segment->columns;
  block->first_row = (uint32_t)segment->first_row + first;
  derive_texts(columns[COLUMN_ops_name], first, count, block->names);
  derive_texts(columns[COLUMN_ops_category], first, count, block->categories);
  derive_references(columns[COLUMN_ops_thread_id], first, count, search->thread_count, block->threads);
  derive_references(columns[COLUMN_ops_outermost_id], first, count, search->op_count, block->outermost);
  derive_references(columns[COLUMN_ops_forward_op_id], first, count, search->op_count, block->forwards);
  derive_integers(columns[COLUMN_ops_start_ns], first, count, block->starts);
  derive_integers(columns[COLUMN_ops_end_ns], first, count, block->ends);
  derive_integers(columns[COLUMN_ops_sequence_number], first, count, block->sequences);
  derive_integers(columns[COLUMN_ops_forward_thread], first, count, block->forward_threads);
  derive_integers(columns[COLUMN_ops_recorded_module], first, count, block->modules);
}

static bool is_backward(const struct search *search, const struct block *block, uint32_t i, uint8_t class) {
  return block->categories[i] == search->autograd || block->forward_threads[i] > 0 ||
         (class >= NAME_ENGINE && class <= NAME_CHECKPOINT);
}

/* The lane of a backward op: its own thread's, else that of the thread that ran its forward op. */
static uint32_t lane_of_backward(const struct search *search, const struct block *block, uint32_t i) {
  const struct phase_events *events = search->events;
  uint32_t thread = block->threads[i];
  if (thread != NO_ROW && events->lanes[thread] != NO_ROW) return events->lanes[thread];
  if (events->lane_count == 1) return 0;
  for (uint32_t lane = 0; lane < events->lane_count && lane < 64; lane++) {
    int64_t logical = search->logical[events->threads[lane]];
    if (logical > 0 && logical == block->forward_threads[i]) return lane;
  }
  return NO_ROW;
}

/* false: no memory. */
static bool look_at_op(struct search *search, struct finds *finds, const struct block *block, uint32_t i,
                       size_t *hint) {
  const struct phase_events *events = search->events;
  uint32_t row = block->first_row + i, thread = block->threads[i];
  uint8_t class = name_class(search, block->names[i]);
  struct lane_span span = {block->starts[i], block->ends[i], thread == NO_ROW ? NO_ROW : events->lanes[thread], row};
  if (block->categories[i] == search->user || block->categories[i] == search->input) {
    return class >= PHASE_OP || span.lane == NO_ROW || add_event(finds, span, class);
  }
  bool has_gradient = block->sequences[i] != NO_VALUE && block->sequences[i] >= 0;
  if (!is_backward(search, block, i, class)) {
    bool runs_model = block->modules[i] > 0 || class == NAME_RUNS_MODEL || class == NAME_ONLY_FORWARD;
    if (block->outermost[i] == row) {
      uint8_t kind = (uint8_t)(PHASE_OP | (has_gradient ? WITH_GRADIENT : 0) | (runs_model ? RUNS_MODEL : 0));
      return span.lane == NO_ROW || add_event(finds, span, kind);
    }
    bool is_forward_again = has_gradient && (block->modules[i] > 0 || class == NAME_ONLY_FORWARD);
    return !is_forward_again || block->outermost[i] == NO_ROW || add_recomputing(finds, block->outermost[i]);
  }
  span.lane = lane_of_backward(search, block, i);
  if (span.lane == NO_ROW) return true;
  if (block->forwards[i] != NO_ROW) {
    const struct profile_table *ops = &search->profile->tables[TABLE_ops];
    const struct segment *segment = derive_segment_of(ops, block->forwards[i], hint);
    int64_t start = NO_VALUE;
    if (segment) {
      uint32_t place = block->forwards[i] - (uint32_t)segment->first_row;
      derive_integers(segment->columns[COLUMN_ops_start_ns], place, 1, &start);
    }
    if (start != NO_VALUE && !add_link(finds, (struct phase_link){span.start, start, span.lane})) return false;
  }
  if (class == NAME_CHECKPOINT && block->outermost[i] != NO_ROW && !add_recomputing(finds, block->outermost[i]))
    return false;
  uint8_t kind = (uint8_t)(PHASE_BACKWARD_OP | (class == NAME_ACCUMULATES ? ACCUMULATES : 0));
  return block->outermost[i] != row || add_event(finds, span, kind);
}

static void look_at_segment(void *context, size_t i, unsigned worker) {
  struct search *search = context;
  const struct segment *segment = search->profile->tables[TABLE_ops].segments[i];
  struct block *block = scratch_allocate(sizeof *block);
  size_t hint = i;
  (void)worker;
  if (!block) atomic_store(&search->failure, TFPROF_NO_MEMORY);
  for (uint32_t first = 0; first < segment->rows && !atomic_load(&search->failure); first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    read_phase_block(search, segment, first, count, block);
    for (uint32_t k = 0; k < count; k++) {
      if (block->categories[k] == search->python || block->categories[k] == search->module) continue;
      if (block->starts[k] == NO_VALUE || block->ends[k] == NO_VALUE || block->ends[k] < block->starts[k]) continue;
      if (look_at_op(search, &search->finds[i], block, k, &hint)) continue;
      atomic_store(&search->failure, TFPROF_NO_MEMORY);
      break;
    }
    if (store_interrupted(search->profile->store)) atomic_store(&search->failure, TFPROF_INTERRUPTED);
  }
  scratch_free(block);
}

/* ---- recomputation ---- */

static int by_number(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

/* The outermost backward ops that run forward ops again, ascending. */
static enum tfprof_status gather_recomputing(const struct search *search, uint32_t **found, uint32_t *found_count,
                                             struct tfprof_error *error) {
  size_t segments = search->profile->tables[TABLE_ops].segment_count, count = 0, backward_count = 0, kept = 0;
  const struct phase_events *events = search->events;
  *found_count = 0;
  for (size_t i = 0; i < segments; i++) count += search->finds[i].recomputing_count;
  if (!count) return TFPROF_OK;
  for (size_t i = 0; i < events->count; i++)
    backward_count += (events->kinds[i] & PHASE_KIND_BITS) == PHASE_BACKWARD_OP;
  uint32_t *backward = scratch_allocate((backward_count + 1) * sizeof *backward);
  *found = scratch_allocate(count * sizeof **found);
  if (!backward || !*found) {
    scratch_free(backward);
    return error_no_memory(error);
  }
  backward_count = count = 0;
  for (size_t i = 0; i < events->count; i++) {
    if ((events->kinds[i] & PHASE_KIND_BITS) == PHASE_BACKWARD_OP) backward[backward_count++] = events->spans[i].row;
  }
  for (size_t i = 0; i < segments; i++) {
    const struct finds *finds = &search->finds[i];
    if (!finds->recomputing_count) continue;
    memcpy(*found + count, finds->recomputing, finds->recomputing_count * sizeof **found);
    count += finds->recomputing_count;
  }
  qsort(*found, count, sizeof **found, by_number);
  qsort(backward, backward_count, sizeof *backward, by_number);
  for (size_t i = 0, k = 0; i < count; i++) {
    while (k < backward_count && backward[k] < (*found)[i]) k++;
    bool is_new = !kept || (*found)[kept - 1] != (*found)[i];
    if (is_new && k < backward_count && backward[k] == (*found)[i]) (*found)[kept++] = (*found)[i];
  }
  *found_count = (uint32_t)kept;
  scratch_free(backward);
  return TFPROF_OK;
}

/* All ops within those, on their lanes: kinds tell which have gradients, and which are nodes of the backward pass. */
static enum tfprof_status find_within(struct search *search, const uint32_t *roots, uint32_t root_count,
                                      struct finds *within, struct tfprof_error *error) {
  struct block *block = scratch_allocate(sizeof *block);
  enum tfprof_status status = block ? TFPROF_OK : error_no_memory(error);
  for (struct row_block at = {0}; derive_next_block(search->profile, TABLE_ops, &at, &status, error);) {
    read_phase_block(search, at.segment, at.first, at.count, block);
    for (uint32_t i = 0; i < at.count && !status; i++) {
      uint32_t root = block->outermost[i];
      if (root == NO_ROW || root == block->first_row + i || block->starts[i] == NO_VALUE) continue;
      if (!bsearch(&root, roots, root_count, sizeof root, by_number)) continue;
      uint8_t class = name_class(search, block->names[i]);
      bool is_node = is_backward(search, block, i, class);
      bool is_op = block->categories[i] != search->python && block->categories[i] != search->module &&
                   block->categories[i] != search->user;
      uint32_t lane = lane_of_backward(search, block, i);
      if (!is_op || lane == NO_ROW || block->ends[i] < block->starts[i]) continue;
      bool has_gradient = block->sequences[i] != NO_VALUE && block->sequences[i] >= 0;
      uint8_t kind = is_node ? PHASE_BACKWARD_OP : (uint8_t)(PHASE_OP | (has_gradient ? WITH_GRADIENT : 0));
      struct lane_span span = {block->starts[i], block->ends[i], lane, within->count};
      if (!add_event(within, span, kind)) status = error_no_memory(error);
    }
  }
  scratch_free(block);
  return status;
}

/* From the first op with gradients to the last one before an op without or a node of the backward pass. What a forward
** op calls is left out. */
static enum tfprof_status unite_recomputations(struct phase_events *events, struct finds *within,
                                               struct tfprof_error *error) {
  enum tfprof_status status = lane_span_sort(within->spans, within->count, error);
  events->recomputations = scratch_allocate(((size_t)within->count + 1) * sizeof *events->recomputations);
  if (!status && !events->recomputations) status = error_no_memory(error);
  struct lane_span *open = NULL;
  for (uint32_t i = 0; i < within->count && !status; i++) {
    const struct lane_span *span = &within->spans[i];
    if (open && open->lane == span->lane && span->start < open->end) continue;
    if (!(within->kinds[span->row] & WITH_GRADIENT)) {
      open = NULL;
    } else if (open && open->lane == span->lane) {
      open->end = span->end;
    } else {
      open = &events->recomputations[events->recomputation_count++];
      *open = *span;
    }
  }
  return status;
}

static enum tfprof_status find_recomputations(struct search *search, struct tfprof_error *error) {
  uint32_t *roots = NULL, root_count;
  struct finds within = {.count = 0};
  enum tfprof_status status = gather_recomputing(search, &roots, &root_count, error);
  if (!status && root_count) {
    status = find_within(search, roots, root_count, &within, error);
    if (!status) status = unite_recomputations(search->events, &within, error);
  }
  scratch_free(roots);
  scratch_free(within.spans);
  scratch_free(within.kinds);
  return status;
}

/* ---- all together ---- */

static enum tfprof_status find_lanes(struct search *search, struct tfprof_error *error) {
  struct phase_events *events = search->events;
  const struct profile_table *steps = &search->profile->tables[TABLE_steps];
  enum tfprof_status status = derive_row_count(search->profile, TABLE_threads, &search->thread_count, error);
  if (status) return status;
  events->lanes = scratch_allocate(((size_t)search->thread_count + 1) * sizeof *events->lanes);
  events->threads = scratch_allocate(((size_t)search->thread_count + 1) * sizeof *events->threads);
  if (!events->lanes || !events->threads) return error_no_memory(error);
  for (uint32_t thread = 0; thread < search->thread_count; thread++) events->lanes[thread] = NO_ROW;
  for (size_t s = 0; s < steps->segment_count; s++) {
    const struct segment *segment = steps->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first), threads[ROWS_BLOCK];
      derive_references(segment->columns[COLUMN_steps_thread_id], first, count, search->thread_count, threads);
      for (uint32_t i = 0; i < count; i++) {
        if (threads[i] == NO_ROW || events->lanes[threads[i]] != NO_ROW) continue;
        events->threads[events->lane_count] = threads[i];
        events->lanes[threads[i]] = events->lane_count++;
      }
    }
  }
  return TFPROF_OK;
}

/* Puts the events of all segments into one list, sorted. */
static enum tfprof_status gather(struct search *search, struct tfprof_error *error) {
  struct phase_events *events = search->events;
  size_t segments = search->profile->tables[TABLE_ops].segment_count, count = 0, links = 0;
  for (size_t i = 0; i < segments; i++) {
    count += search->finds[i].count;
    links += search->finds[i].link_count;
  }
  uint8_t *kinds = scratch_allocate(count + 1);
  uint32_t *rows = scratch_allocate((count + 1) * sizeof *rows);
  events->kinds = scratch_allocate(count + 1);
  events->spans = scratch_allocate((count + 1) * sizeof *events->spans);
  events->links = scratch_allocate((links + 1) * sizeof *events->links);
  bool has_memory = kinds && rows && events->kinds && events->spans && events->links;
  enum tfprof_status status = has_memory ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < segments && !status; i++) {
    const struct finds *finds = &search->finds[i];
    for (uint32_t k = 0; k < finds->count; k++) {
      kinds[events->count] = finds->kinds[k];
      rows[events->count] = finds->spans[k].row;
      events->spans[events->count] = finds->spans[k];
      events->spans[events->count].row = (uint32_t)events->count;
      events->count++;
    }
    if (finds->link_count)
      memcpy(events->links + events->link_count, finds->links, finds->link_count * sizeof *finds->links);
    events->link_count += finds->link_count;
  }
  if (!status) status = lane_span_sort(events->spans, events->count, error);
  for (size_t i = 0; i < events->count && !status; i++) {
    uint32_t place = events->spans[i].row;
    events->kinds[i] = kinds[place];
    events->spans[i].row = rows[place];
  }
  scratch_free(kinds);
  scratch_free(rows);
  return status;
}

enum tfprof_status phase_events_find(struct phase_events *events, const struct profile *profile,
                                     struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  *events = (struct phase_events){.lane_count = 0};
  struct search search = {.profile = profile,
                          .events = events,
                          .user = derive_known_text(profile, "user"),
                          .input = derive_known_text(profile, "input"),
                          .python = derive_known_text(profile, "python"),
                          .module = derive_known_text(profile, "module"),
                          .autograd = derive_known_text(profile, "autograd")};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &search.op_count, error);
  if (!status) status = find_lanes(&search, error);
  if (status || !events->lane_count) return status;
  status = derive_all_integers(profile, TABLE_threads, COLUMN_threads_logical_thread, &search.logical, error);
  search.finds = scratch_allocate_zeroed(ops->segment_count + 1, sizeof *search.finds);
  search.name_classes = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, 1);
  if (!status && (!search.finds || !search.name_classes)) status = error_no_memory(error);
  if (!status) {
    derive_parallel(search.op_count, ops->segment_count, look_at_segment, &search);
    status = derive_failure(atomic_load(&search.failure), error);
  }
  if (!status) status = gather(&search, error);
  if (!status) status = find_recomputations(&search, error);
  for (size_t i = 0; search.finds && i < ops->segment_count; i++) {
    scratch_free(search.finds[i].spans);
    scratch_free(search.finds[i].kinds);
    scratch_free(search.finds[i].links);
    scratch_free(search.finds[i].recomputing);
  }
  scratch_free(search.finds);
  scratch_free((void *)search.name_classes);
  scratch_free(search.logical);
  return status;
}

void phase_events_free(struct phase_events *events) {
  scratch_free(events->threads);
  scratch_free(events->lanes);
  scratch_free(events->spans);
  scratch_free(events->kinds);
  scratch_free(events->links);
  scratch_free(events->recomputations);
  *events = (struct phase_events){.lane_count = 0};
}
