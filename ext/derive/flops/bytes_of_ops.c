/* bytes_of_ops.c: ops.bytes_accessed: what ops of PyTorch read and write at least, each byte once.
**
** An op whose operations are counted (ops.flops) has the bytes of its own inputs and outputs, so that both are of the
** same op. Of all others the outermost of moved_bytes.def has, and what it calls none, nor what lies inside one whose
** operations are counted.  What looks at the same memory in another way, allocates, or is made of other ops has none.
*/
#include <string.h>

#include "derive/flops/moved_bytes.h"
#include "derive/groups.h"
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "store/scratch.h"

enum { NOT_ASKED, NOT_MOVING, MOVING }; /* op types */
enum { KEY_TYPE, KEY_SHAPES, KEY_TYPES, KEY_OUTPUTS, KEY_VALUES, KEY_FLOPS, KEY_WIDTH };

struct byte_counting {
  struct profile *profile;
  struct flops_call *memory;
  struct groups groups; /* of alike calls */
  int64_t *of_groups;   /* NO_VALUE: not known */
  uint32_t group_room;
  uint8_t *type_kinds; /* by text */
  int64_t *bytes;      /* by row */
  bool *has_flops;     /* by row */
};

static struct flops_text text_of_call(const struct byte_counting *c, int64_t id) {
  const struct pool *pool = store_pool(c->profile->store);
  return (struct flops_text){pool_text(pool, (string_id)id), id ? pool_length(pool, (string_id)id) : 0};
}

static bool is_moving(const struct byte_counting *c, string_id type) {
  if (c->type_kinds[type] == NOT_ASKED)
    c->type_kinds[type] = moved_row_find(text_of_call(c, type)) ? MOVING : NOT_MOVING;
  return c->type_kinds[type] == MOVING;
}

/* Of a call that no other was like before. */
static int64_t count_call(const struct byte_counting *c, const int64_t *key) {
  struct moved_call call = {.op_type = text_of_call(c, key[KEY_TYPE]),
                            .input_shapes = text_of_call(c, key[KEY_SHAPES]),
                            .input_types = text_of_call(c, key[KEY_TYPES]),
                            .output_shapes = text_of_call(c, key[KEY_OUTPUTS]),
                            .input_values = text_of_call(c, key[KEY_VALUES]),
                            .flops = key[KEY_FLOPS]};
  int64_t bytes;
  return moved_bytes_count(c->memory, &call, &bytes) ? bytes : NO_VALUE;
}

static enum tfprof_status bytes_of_call(struct byte_counting *c, const int64_t *key, int64_t *bytes,
                                        struct tfprof_error *error) {
  uint32_t before = c->groups.count, group = groups_number(&c->groups, key);
  if (group == NO_ROW) return error_no_memory(error);
  if (group == before) {
    int64_t *room = scratch_grow(c->of_groups, group, &c->group_room, 256, sizeof *room);
    if (!room) return error_no_memory(error);
    c->of_groups = room;
    c->of_groups[group] = count_call(c, key);
  }
  *bytes = c->of_groups[group];
  return TFPROF_OK;
}

static enum tfprof_status count_block(struct byte_counting *c, const struct row_block *block,
                                      struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  string_id types[ROWS_BLOCK], shapes[ROWS_BLOCK], input_types[ROWS_BLOCK], outputs[ROWS_BLOCK], values[ROWS_BLOCK],
      errors[ROWS_BLOCK];
  int64_t flops[ROWS_BLOCK];
  bool any = false;
  block_texts(block, COLUMN_ops_op_type, types);
  for (uint32_t i = 0; i < block->count; i++) any |= is_moving(c, types[i]);
  block_integers(block, COLUMN_ops_flops, flops);
  for (uint32_t i = 0; i < block->count; i++) {
    c->bytes[block->row + i] = NO_VALUE;
    c->has_flops[block->row + i] = flops[i] != NO_VALUE;
  }
  if (!any) return TFPROF_OK;
  block_texts(block, COLUMN_ops_input_shapes, shapes);
  block_texts(block, COLUMN_ops_input_types, input_types);
  block_texts(block, COLUMN_ops_output_shapes, outputs);
  block_texts(block, COLUMN_ops_input_values, values);
  block_texts(block, COLUMN_ops_error, errors);
  for (uint32_t i = 0; i < block->count && !status; i++) {
    if (!is_moving(c, types[i]) || !shapes[i] || !input_types[i] || errors[i]) continue;
    const int64_t key[KEY_WIDTH] = {types[i], shapes[i], input_types[i], outputs[i], values[i], flops[i]};
    status = bytes_of_call(c, key, &c->bytes[block->row + i], error);
  }
  return status;
}

/* Leaves each byte counted once. */
static enum tfprof_status keep_outermost(const struct byte_counting *c, const uint32_t *parents, uint32_t rows,
                                         struct tfprof_error *error) {
  uint32_t *around = scratch_allocate((size_t)rows * sizeof *around); /* the nearest row that has them, or has flops */
  bool *is_around = scratch_allocate_zeroed(rows, sizeof *is_around); /* one with flops lies inside */
  enum tfprof_status status = around && is_around ? TFPROF_OK : error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (!c->has_flops[row]) continue;
    for (uint32_t up = parents[row]; up != NO_ROW && !is_around[up]; up = parents[up]) is_around[up] = true;
  }
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (is_around[row] && !c->has_flops[row]) c->bytes[row] = NO_VALUE;
    around[row] = c->has_flops[row] || c->bytes[row] != NO_VALUE ? row : NO_ROW;
  }
  if (!status) derive_inherit(parents, around, rows);
  for (uint32_t row = 0; row < rows && !status; row++) {
    bool is_inside = parents[row] != NO_ROW && around[parents[row]] != NO_ROW;
    if (is_inside && !c->has_flops[row]) c->bytes[row] = NO_VALUE;
  }
  scratch_free(around);
  scratch_free(is_around);
  return status;
}

static enum tfprof_status run_bytes_of_ops(struct profile *profile, struct tfprof_error *error) {
  struct byte_counting c = {.profile = profile, .groups = {.width = KEY_WIDTH}};
  uint32_t rows, *parents = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows || !derive_has_value(profile, TABLE_ops, COLUMN_ops_input_shapes)) return status;
  c.memory = flops_call_create();
  c.type_kinds = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, sizeof *c.type_kinds);
  c.bytes = scratch_allocate((size_t)rows * sizeof *c.bytes);
  c.has_flops = scratch_allocate((size_t)rows * sizeof *c.has_flops);
  if (!c.memory || !c.type_kinds || !c.bytes || !c.has_flops) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);)
    status = count_block(&c, &block, error);
  if (!status) status = derive_all_op_parents(profile, &parents, error);
  if (!status) status = keep_outermost(&c, parents, rows, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_bytes_accessed, c.bytes, error);
  flops_call_free(c.memory);
  groups_free(&c.groups);
  scratch_free(c.of_groups);
  scratch_free(c.type_kinds);
  scratch_free(c.bytes);
  scratch_free(c.has_flops);
  scratch_free(parents);
  return status;
}

const struct derive_pass derive_bytes_of_ops = {
    .name = "bytes",
    .summary = "Inputs read and outputs written by shapes and types; of ops inside one another the outermost counts.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_op_type},
              {TABLE_ops, COLUMN_ops_input_shapes},
              {TABLE_ops, COLUMN_ops_input_types},
              {TABLE_ops, COLUMN_ops_output_shapes},
              {TABLE_ops, COLUMN_ops_input_values},
              {TABLE_ops, COLUMN_ops_error},
              {TABLE_ops, COLUMN_ops_flops},
              {TABLE_ops, COLUMN_ops_parent_id}},
    .writes = {{TABLE_ops, COLUMN_ops_bytes_accessed}},
    .run = run_bytes_of_ops,
};
