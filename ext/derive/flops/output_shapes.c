/* output_shapes.c: ops.output_shapes of convolutions, in traces that have shapes of inputs but no values of inputs.
**
** What a convolution takes depends on the size of its output, and that on stride and padding, which torch.profiler has
** written since PyTorch 2.1 only. The backward op of a convolution, though, gets the gradient of its output, which is
** as large as that is: the first input of the op that has the convolution as its forward op. It is the output of all
** convolutions around that one that carry the same number of autograd's, too (aten::conv2d calls aten::convolution,
** which calls aten::_convolution, and so on). A size that no convolution of these inputs can have is left.
**
** Releases up to 1.10 computed the two gradients in ops of their own; what the one of the weight returns is as large as
** the weight, which is the third input of the op around it.
*/
#include <string.h>

#include "derive/flops/flops.h"
#include "derive/links/ancestors.h"
#include "derive/passes.h"

struct outputs {
  struct profile *profile;
  struct flops_call *call;
  uint8_t *type_kinds; /* by text: enum type_kind */
  const uint32_t *parents;
  string_id *shapes; /* by row: the result */
};

enum type_kind { NOT_ASKED, OTHER, CONVOLUTION, WEIGHT_GRADIENT };

static struct flops_text text_of_shapes(const struct outputs *o, string_id id) {
  const struct pool *pool = store_pool(o->profile->store);
  return (struct flops_text){pool_text(pool, id), id ? pool_length(pool, id) : 0};
}

static enum type_kind kind_of_convolution(const struct outputs *o, string_id type) {
  static const char *const gradients[] = {"aten::cudnn_convolution_backward_weight",
                                          "aten::miopen_convolution_backward_weight",
                                          "aten::mkldnn_convolution_backward_weights"};
  if (o->type_kinds[type]) return (enum type_kind)o->type_kinds[type];
  struct flops_text text = text_of_shapes(o, type);
  enum type_kind kind = flops_is_convolution(text) ? CONVOLUTION : OTHER;
  for (size_t i = 0; i < sizeof gradients / sizeof gradients[0] && text.bytes; i++)
    if (!strcmp(text.bytes, gradients[i])) kind = WEIGHT_GRADIENT;
  o->type_kinds[type] = (uint8_t)kind;
  return kind;
}

/* A list of the one shape that stands at a place of a list of shapes; 0: there is none. */
static enum tfprof_status list_of_one(const struct outputs *o, string_id shapes, unsigned place, string_id *one,
                                      struct tfprof_error *error) {
  char list[256];
  struct flops_text element;
  *one = 0;
  if (!flops_element(text_of_shapes(o, shapes), place, &element) || element.length + 3 > sizeof list) return TFPROF_OK;
  if (element.length < 3 || element.bytes[0] != '[') return TFPROF_OK; /* [] is no tensor, or one number */
  list[0] = '[';
  memcpy(list + 1, element.bytes, element.length);
  list[element.length + 1] = ']';
  list[element.length + 2] = 0;
  return derive_text(o->profile, list, one, error);
}

/* `row` is a forward op, `gradient` the list of the shape of what its backward op got. */
static void set_outputs(struct outputs *o, uint32_t row, string_id gradient) {
  const struct profile_table *ops = &o->profile->tables[TABLE_ops];
  size_t hint = 0;
  int64_t number = NO_VALUE;
  for (bool is_first = true; row != NO_ROW; row = o->parents[row], is_first = false) {
    const struct segment *segment = derive_segment_of(ops, row, &hint);
    if (!segment) return;
    uint32_t at = row - (uint32_t)segment->first_row;
    int64_t its;
    string_id type, inputs;
    derive_integers(segment->columns[COLUMN_ops_sequence_number], at, 1, &its);
    if (its == NO_VALUE || (!is_first && its != number)) return;
    number = its;
    derive_texts(segment->columns[COLUMN_ops_op_type], at, 1, &type);
    if (kind_of_convolution(o, type) != CONVOLUTION) continue;
    derive_texts(segment->columns[COLUMN_ops_input_shapes], at, 1, &inputs);
    if (flops_is_convolved(o->call, text_of_shapes(o, inputs), text_of_shapes(o, gradient))) o->shapes[row] = gradient;
  }
}

static enum tfprof_status set_segment_outputs(struct outputs *o, const struct segment *segment, uint32_t op_count,
                                              struct tfprof_error *error) {
  size_t hint = 0;
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t rows = derive_block_rows(segment, first), forwards[ROWS_BLOCK];
    string_id types[ROWS_BLOCK], inputs[ROWS_BLOCK], one;
    enum tfprof_status status = derive_poll(o->profile, error);
    derive_references(segment->columns[COLUMN_ops_forward_op_id], first, rows, op_count, forwards);
    derive_texts(segment->columns[COLUMN_ops_op_type], first, rows, types);
    derive_texts(segment->columns[COLUMN_ops_input_shapes], first, rows, inputs);
    for (uint32_t i = 0; i < rows && !status; i++) {
      uint32_t row = (uint32_t)segment->first_row + first + i, parent = o->parents[row];
      if (forwards[i] != NO_ROW && inputs[i]) {
        status = list_of_one(o, inputs[i], 0, &one, error);
        if (!status && one) set_outputs(o, forwards[i], one);
      }
      if (parent == NO_ROW || kind_of_convolution(o, types[i]) != WEIGHT_GRADIENT) continue;
      const struct segment *around = derive_segment_of(&o->profile->tables[TABLE_ops], parent, &hint);
      if (!around) continue;
      string_id of_parent;
      derive_texts(around->columns[COLUMN_ops_input_shapes], parent - (uint32_t)around->first_row, 1, &of_parent);
      if (!status) status = list_of_one(o, of_parent, 2, &o->shapes[row], error);
    }
    if (status) return status;
  }
  return TFPROF_OK;
}

static enum tfprof_status run_output_shapes(struct profile *profile, struct tfprof_error *error) {
  struct outputs o = {.profile = profile};
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  uint32_t rows, *parents = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  if (!derive_has_value(profile, TABLE_ops, COLUMN_ops_input_shapes)) return TFPROF_OK;
  /* Texts of blocks were interned when the columns were loaded; those interned here are shapes, no types. */
  o.type_kinds = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, sizeof *o.type_kinds);
  o.shapes = scratch_allocate_zeroed((size_t)rows, sizeof *o.shapes);
  o.call = flops_call_create();
  if (!o.type_kinds || !o.shapes || !o.call) status = error_no_memory(error);
  if (!status) status = derive_all_op_parents(profile, &parents, error);
  o.parents = parents;
  for (size_t s = 0; s < ops->segment_count && !status; s++)
    status = set_segment_outputs(&o, ops->segments[s], rows, error);
  if (!status) status = derive_set_texts(profile, TABLE_ops, COLUMN_ops_output_shapes, o.shapes, error);
  flops_call_free(o.call);
  scratch_free(o.type_kinds);
  scratch_free(o.shapes);
  scratch_free(parents);
  return status;
}

/* Values of inputs are there, which tell as much and more, or nothing is that outputs could be told by. */
static bool are_outputs_known(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  if (!ops->segment_count) return true;
  const struct column_set *raw = &ops->segments[0]->is_raw;
  return column_set_has(raw, COLUMN_ops_input_values) || !column_set_has(raw, COLUMN_ops_input_shapes) ||
         !column_set_has(raw, COLUMN_ops_forward_thread);
}

const struct derive_pass derive_output_shapes = {
    .name = "output shapes",
    .summary = "The output of a convolution is as large as the gradient that its backward op gets.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_op_type},
              {TABLE_ops, COLUMN_ops_input_shapes},
              {TABLE_ops, COLUMN_ops_sequence_number},
              {TABLE_ops, COLUMN_ops_forward_op_id},
              {TABLE_ops, COLUMN_ops_parent_id}},
    .writes = {{TABLE_ops, COLUMN_ops_output_shapes}},
    .run = run_output_shapes,
    .is_idle = are_outputs_known,
};
