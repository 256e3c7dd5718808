/* allocation_tensors.c: dtype, shape, tensor_bytes and module of allocations: which tensor a piece of memory holds, and
** whose it is.
**
** Of these the first that tells something:
**   - the source, where it tells it of each allocation (memory_events);
**   - of a parameter its node;
**   - the ops around the allocation, from the innermost on (held_tensors.h): what one was asked to make room for, or
**     what one returns, if the piece was still held when that ended;
**   - of parameters, gradients and the optimizer's state, what all parameters of that size have in common.
** Allocations by calls that are alike are looked at once, unless hardly any are.
*/
#include "derive/flops/held_tensors.h"
#include "derive/groups.h"
#include "derive/links/ancestors.h"
#include "derive/memory/parameter_pieces.h"
#include "derive/passes.h"

#include <stdio.h>
#include <string.h>

enum {
  LEVELS = 8,             /* ops around an allocation that are looked at */
  REMEMBERED = 256 * 1024 /* calls: some 30 MB */
};
enum { KEY_TYPE, KEY_SHAPES, KEY_TYPES, KEY_OUTPUTS, KEY_VALUES, KEY_BYTES, KEY_FLAGS, KEY_WIDTH };
enum { IS_ROUNDED = 1, IS_RETURNED = 2, IS_INNERMOST = 4 };

struct found {
  string_id dtype, shape;
  int64_t bytes;
  uint8_t held; /* enum held */
  bool has_tensors;
};

struct tensors {
  struct profile *profile;
  struct flops_call *memory;
  struct groups groups; /* of alike calls and pieces */
  struct found *of_groups;
  uint32_t group_room, op_count;
  uint32_t *parents; /* of ops */
  size_t hint;       /* where the op before was found */
  string_id op;      /* the category */
  struct parameter_pieces parameters;
  string_id *dtypes, *shapes, *modules; /* by row: the result */
  int64_t *sizes;                       /* the same: tensor_bytes */
};

/* ---- by ops ---- */

static struct flops_text text_of_piece(const struct tensors *t, int64_t id) {
  const struct pool *pool = store_pool(t->profile->store);
  return (struct flops_text){pool_text(pool, (string_id)id), id ? pool_length(pool, (string_id)id) : 0};
}

static enum tfprof_status shape_text(const struct tensors *t, const struct held_tensor *tensor, string_id *shape,
                                     struct tfprof_error *error) {
  char text[HELD_DIMENSIONS * 21];
  size_t length = 0;
  if (!tensor->has_shape || !tensor->dimensions) return TFPROF_OK;
  for (uint32_t i = 0; i < tensor->dimensions; i++)
    length +=
        (size_t)snprintf(text + length, sizeof text - length, "%s%lld", i ? "x" : "", (long long)tensor->sizes[i]);
  return derive_text(t->profile, text, shape, error);
}

/* Of a call and a piece that no others were like before. */
static enum tfprof_status look_at_call(const struct tensors *t, const int64_t *key, struct found *found,
                                       struct tfprof_error *error) {
  struct moved_call call = {.op_type = text_of_piece(t, key[KEY_TYPE]),
                            .input_shapes = text_of_piece(t, key[KEY_SHAPES]),
                            .input_types = text_of_piece(t, key[KEY_TYPES]),
                            .output_shapes = text_of_piece(t, key[KEY_OUTPUTS]),
                            .input_values = text_of_piece(t, key[KEY_VALUES]),
                            .flops = -1};
  struct held_piece piece = {key[KEY_BYTES], (key[KEY_FLAGS] & IS_ROUNDED) != 0};
  struct held_tensor tensor = {0};
  enum tfprof_status status = TFPROF_OK;
  *found = (struct found){.held = HELD_UNKNOWN};
  found->held = (uint8_t)held_tensor_find(t->memory, &call, piece, (key[KEY_FLAGS] & IS_RETURNED) != 0,
                                          (key[KEY_FLAGS] & IS_INNERMOST) != 0, &found->has_tensors, &tensor);
  if (found->held == HELD_UNKNOWN) return TFPROF_OK;
  found->bytes = tensor.bytes;
  if (tensor.dtype) status = derive_text(t->profile, tensor.dtype, &found->dtype, error);
  return status ? status : shape_text(t, &tensor, &found->shape, error);
}

static enum tfprof_status look_at_op(struct tensors *t, const int64_t *key, struct found *found,
                                     struct tfprof_error *error) {
  bool is_full = t->groups.count >= REMEMBERED;
  uint32_t before = t->groups.count, group = is_full ? groups_find(&t->groups, key) : groups_number(&t->groups, key);
  enum tfprof_status status = TFPROF_OK;
  if (is_full && group == NO_ROW) return look_at_call(t, key, found, error);
  if (group == NO_ROW) return error_no_memory(error);
  if (group == before) {
    struct found *room = scratch_grow(t->of_groups, group, &t->group_room, 256, sizeof *room);
    if (!room) return error_no_memory(error);
    t->of_groups = room;
    status = look_at_call(t, key, &room[group], error);
  }
  *found = t->of_groups[group];
  return status;
}

/* From the innermost op around the allocation on. */
static enum tfprof_status look_at_ops_around(struct tensors *t, uint32_t op, int64_t bytes, bool is_rounded,
                                             int64_t released, struct found *found, struct tfprof_error *error) {
  const struct profile_table *ops = &t->profile->tables[TABLE_ops];
  bool is_innermost = true;
  enum tfprof_status status = TFPROF_OK;
  *found = (struct found){.held = HELD_UNKNOWN};
  for (int level = 0; level < LEVELS && op != NO_ROW && found->held == HELD_UNKNOWN && !status; level++) {
    const struct segment *segment = derive_segment_of(ops, op, &t->hint);
    if (!segment) return TFPROF_OK;
    uint32_t at = op - (uint32_t)segment->first_row;
    string_id category, type, shapes, types, outputs, values;
    int64_t end;
    derive_texts(segment->columns[COLUMN_ops_category], at, 1, &category);
    if (category != t->op) return TFPROF_OK;
    derive_texts(segment->columns[COLUMN_ops_op_type], at, 1, &type);
    derive_texts(segment->columns[COLUMN_ops_input_shapes], at, 1, &shapes);
    derive_texts(segment->columns[COLUMN_ops_input_types], at, 1, &types);
    derive_texts(segment->columns[COLUMN_ops_output_shapes], at, 1, &outputs);
    derive_texts(segment->columns[COLUMN_ops_input_values], at, 1, &values);
    derive_integers(segment->columns[COLUMN_ops_end_ns], at, 1, &end);
    bool is_returned = end != NO_VALUE && (released == NO_VALUE || released > end);
    const int64_t key[KEY_WIDTH] = {
        type, shapes, types, outputs, values, bytes,
        (is_rounded ? IS_ROUNDED : 0) | (is_returned ? IS_RETURNED : 0) | (is_innermost ? IS_INNERMOST : 0)};
    if (shapes && types) status = look_at_op(t, key, found, error);
    if (found->has_tensors) is_innermost = false;
    op = t->parents[op];
  }
  return status;
}

static string_id module_of_op(struct tensors *t, uint32_t op) {
  const struct segment *segment = derive_segment_of(&t->profile->tables[TABLE_ops], op, &t->hint);
  string_id module = 0;
  if (segment) derive_texts(segment->columns[COLUMN_ops_module], op - (uint32_t)segment->first_row, 1, &module);
  return module;
}

/* ---- all of them ---- */

/* Names, and by row of nodes what stands around it. */
struct model {
  string_id *names, *dtypes, *shapes;
  int64_t *bytes;
  uint32_t *parents, count;
};

static enum tfprof_status read_model(const struct profile *profile, struct model *model, struct tfprof_error *error) {
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &model->count, error);
  if (status || !model->count) return status;
  model->names = scratch_allocate((size_t)model->count * 3 * sizeof *model->names);
  if (!model->names) return error_no_memory(error);
  model->dtypes = model->names + model->count;
  model->shapes = model->dtypes + model->count;
  status = derive_all_references(profile, TABLE_nodes, COLUMN_nodes_parent_id, &model->parents, error);
  if (!status) status = derive_all_integers(profile, TABLE_nodes, COLUMN_nodes_param_bytes, &model->bytes, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_nodes, &block, &status, error);) {
    block_texts(&block, COLUMN_nodes_name, model->names + block.row);
    block_texts(&block, COLUMN_nodes_dtype, model->dtypes + block.row);
    block_texts(&block, COLUMN_nodes_shape, model->shapes + block.row);
  }
  return status;
}

static void free_model(struct model *model) {
  scratch_free(model->names);
  scratch_free(model->parents);
  scratch_free(model->bytes);
}

/* Whether the allocators of each device give more than is asked for; of no device, none. */
static enum tfprof_status read_devices(const struct profile *profile, uint32_t *count, bool **are_rounded,
                                       struct tfprof_error *error) {
  string_id cpu = derive_known_text(profile, "cpu");
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, count, error);
  if (status) return status;
  *are_rounded = scratch_allocate_zeroed((size_t)*count + 1, sizeof **are_rounded);
  if (!*are_rounded) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_devices, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK];
    block_texts(&block, COLUMN_devices_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) (*are_rounded)[block.row + i] = kinds[i] && kinds[i] != cpu;
  }
  return status;
}

/* What the source tells of allocations as they happen. */
static enum tfprof_status take_told_tensors(struct tensors *t, uint32_t rows, struct tfprof_error *error) {
  const struct profile *profile = t->profile;
  string_id allocate = derive_known_text(profile, "allocate");
  enum tfprof_status status = TFPROF_OK;
  if (!derive_has_value(profile, TABLE_memory_events, COLUMN_memory_events_dtype) &&
      !derive_has_value(profile, TABLE_memory_events, COLUMN_memory_events_shape))
    return TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    uint32_t of[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK], dtypes[ROWS_BLOCK], shapes[ROWS_BLOCK];
    block_references(&block, COLUMN_memory_events_allocation_id, rows, of);
    block_texts(&block, COLUMN_memory_events_kind, kinds);
    block_texts(&block, COLUMN_memory_events_dtype, dtypes);
    block_texts(&block, COLUMN_memory_events_shape, shapes);
    for (uint32_t i = 0; i < block.count; i++) {
      if (of[i] == NO_ROW || kinds[i] != allocate) continue;
      if (dtypes[i]) t->dtypes[of[i]] = dtypes[i];
      if (shapes[i]) t->shapes[of[i]] = shapes[i];
    }
  }
  return status;
}

static enum tfprof_status set_block_tensors(struct tensors *t, const struct row_block *block, const struct model *model,
                                            uint32_t device_count, const bool *are_rounded,
                                            struct tfprof_error *error) {
  const struct profile *profile = t->profile;
  string_id parameter = derive_known_text(profile, "parameter"), gradient = derive_known_text(profile, "gradient"),
            state = derive_known_text(profile, "optimizer_state"), regions[ROWS_BLOCK];
  uint32_t ops[ROWS_BLOCK], nodes[ROWS_BLOCK], devices[ROWS_BLOCK];
  int64_t bytes[ROWS_BLOCK], released[ROWS_BLOCK];
  enum tfprof_status status = TFPROF_OK;
  block_references(block, COLUMN_allocations_op_id, t->op_count, ops);
  block_references(block, COLUMN_allocations_node_id, model->count, nodes);
  block_references(block, COLUMN_allocations_device_id, device_count, devices);
  block_integers(block, COLUMN_allocations_bytes, bytes);
  block_integers(block, COLUMN_allocations_released_ns, released);
  block_texts(block, COLUMN_allocations_region, regions);
  for (uint32_t i = 0; i < block->count && !status; i++) {
    uint64_t row = block->row + i;
    bool is_rounded = devices[i] != NO_ROW && are_rounded[devices[i]], is_parameter = regions[i] == parameter;
    string_id *dtype = &t->dtypes[row], *shape = &t->shapes[row];
    const struct parameter_size *like = NULL;
    if (is_parameter || regions[i] == gradient || regions[i] == state)
      like = parameter_pieces_like(&t->parameters, bytes[i], is_rounded);
    if (nodes[i] != NO_ROW) {
      uint32_t around = model->parents[nodes[i]];
      t->modules[row] = around == NO_ROW ? 0 : model->names[around];
      if (!*dtype) *dtype = model->dtypes[nodes[i]];
      if (!*shape) *shape = model->shapes[nodes[i]];
      t->sizes[row] = model->bytes[nodes[i]];
    } else if (!is_parameter && ops[i] != NO_ROW) {
      t->modules[row] = module_of_op(t, ops[i]);
    }
    struct found found = {.held = HELD_UNKNOWN};
    bool is_asked = nodes[i] == NO_ROW && !*dtype && !*shape && bytes[i] > 0 && ops[i] != NO_ROW;
    if (is_asked)
      status = look_at_ops_around(t, ops[i], bytes[i], is_rounded, released[i], &found, error);
    if (found.held == HELD_UNKNOWN && like && nodes[i] == NO_ROW) {
      found.dtype = like->dtype;
      found.shape = like->shape;
      found.bytes = like->bytes;
    }
    if (found.bytes) t->sizes[row] = found.bytes;
    if (!*dtype) *dtype = found.dtype;
    if (!*shape) *shape = found.shape;
  }
  return status;
}

static enum tfprof_status run_allocation_tensors(struct profile *profile, struct tfprof_error *error) {
  struct tensors t = {.profile = profile, .groups = {.width = KEY_WIDTH}, .op = derive_known_text(profile, "op")};
  struct model model = {0};
  bool *are_rounded = NULL;
  uint32_t rows, device_count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_allocations, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &t.op_count, error);
  if (status || !rows) return status;
  t.memory = flops_call_create();
  t.dtypes = scratch_allocate_zeroed((size_t)rows * 3, sizeof *t.dtypes);
  t.sizes = scratch_allocate((size_t)rows * sizeof *t.sizes);
  if (!t.memory || !t.dtypes || !t.sizes) status = error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) t.sizes[row] = NO_VALUE;
  t.shapes = t.dtypes + rows;
  t.modules = t.shapes + rows;
  if (!status) status = parameter_pieces_read(&t.parameters, profile, NULL, error);
  if (!status) status = read_model(profile, &model, error);
  if (!status) status = read_devices(profile, &device_count, &are_rounded, error);
  if (!status) status = derive_all_op_parents(profile, &t.parents, error);
  if (!status) status = take_told_tensors(&t, rows, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_allocations, &block, &status, error);)
    status = set_block_tensors(&t, &block, &model, device_count, are_rounded, error);
  if (!status) status = derive_set_texts(profile, TABLE_allocations, COLUMN_allocations_dtype, t.dtypes, error);
  if (!status) status = derive_set_texts(profile, TABLE_allocations, COLUMN_allocations_shape, t.shapes, error);
  if (!status) status = derive_set_texts(profile, TABLE_allocations, COLUMN_allocations_module, t.modules, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_allocations, COLUMN_allocations_tensor_bytes, t.sizes, error);
  flops_call_free(t.memory);
  groups_free(&t.groups);
  scratch_free(t.of_groups);
  scratch_free(t.dtypes);
  scratch_free(t.sizes);
  scratch_free(t.parents);
  scratch_free(are_rounded);
  parameter_pieces_free(&t.parameters);
  free_model(&model);
  return status;
}

const struct derive_pass derive_allocation_tensors = {
    .name = "tensors of allocations",
    .summary = "Which tensor a piece of memory holds, from the source, the model and the ops that allocated it.",
    .makes_table = -1,
    .reads = {{TABLE_allocations, COLUMN_allocations_op_id},
              {TABLE_allocations, COLUMN_allocations_node_id},
              {TABLE_allocations, COLUMN_allocations_device_id},
              {TABLE_allocations, COLUMN_allocations_bytes},
              {TABLE_allocations, COLUMN_allocations_released_ns},
              {TABLE_allocations, COLUMN_allocations_region},
              {TABLE_memory_events, COLUMN_memory_events_allocation_id},
              {TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_dtype},
              {TABLE_memory_events, COLUMN_memory_events_shape},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_op_type},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_module},
              {TABLE_ops, COLUMN_ops_input_shapes},
              {TABLE_ops, COLUMN_ops_input_types},
              {TABLE_ops, COLUMN_ops_input_values},
              {TABLE_ops, COLUMN_ops_output_shapes},
              {TABLE_devices, COLUMN_devices_kind},
              {TABLE_nodes, COLUMN_nodes_name},
              {TABLE_nodes, COLUMN_nodes_parent_id},
              {TABLE_nodes, COLUMN_nodes_param_bytes},
              {TABLE_nodes, COLUMN_nodes_shape},
              {TABLE_nodes, COLUMN_nodes_dtype}},
    .writes = {{TABLE_allocations, COLUMN_allocations_dtype},
               {TABLE_allocations, COLUMN_allocations_shape},
               {TABLE_allocations, COLUMN_allocations_tensor_bytes},
               {TABLE_allocations, COLUMN_allocations_module}},
    .run = run_allocation_tensors,
};
