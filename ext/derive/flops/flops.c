/* flops.c: the table of flops.def: which formula an op type has, and what it counts. */
#include "derive/flops/flops.h"

#include <stdlib.h>
#include <string.h>

#include "derive/flops/flops_formulas.h"

struct table_row {
  struct flops_formula formula;
  enum flops_status (*count)(const struct flops_call *call, int64_t number, int64_t *flops);
  int64_t number;
};

static const struct table_row rows[] = {
#define FLOPS(op_type, kind, function, number, text, source) \
  {{op_type, FLOPS_##kind, text, source}, flops_count_##function, number},
#include "derive/flops/flops.def"
#undef FLOPS
};

static int compare_op_types(const char *name, size_t length, const char *op_type) {
  size_t other = strlen(op_type);
  int order = memcmp(name, op_type, length < other ? length : other);
  return order ? order : (length > other) - (length < other);
}

static const struct table_row *row_of(const char *name, size_t length) {
  size_t low = 0, high = sizeof rows / sizeof rows[0];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_op_types(name, length, rows[middle].formula.op_type);
    if (!order) return &rows[middle];
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

/* aten::add, then without the underscore at the end, then what follows aten::_foreach_. */
static const struct table_row *find_row(const char *name, size_t length, bool *is_foreach) {
  static const char prefix[] = "aten::_foreach_";
  enum { PREFIX = sizeof prefix - 1, LONGEST = 64 };
  char plain[LONGEST];
  *is_foreach = false;
  const struct table_row *row = row_of(name, length);
  if (row || length < 6 || memcmp(name, "aten::", 6)) return row;
  if (name[length - 1] == '_') row = row_of(name, --length);
  if (row || length <= PREFIX || length - PREFIX + 6 > LONGEST || memcmp(name, prefix, PREFIX)) return row;
  memcpy(plain, prefix, 6);
  memcpy(plain + 6, name + PREFIX, length - PREFIX);
  *is_foreach = true;
  row = row_of(plain, length - PREFIX + 6);
  return row && row->formula.kind == FLOPS_ELEMENTWISE ? row : NULL;
}

const struct flops_formula *flops_find(const char *op_type, size_t length) {
  bool is_foreach;
  const struct table_row *row = find_row(op_type, length, &is_foreach);
  return row ? &row->formula : NULL;
}

bool flops_is_of_tensorflow(const struct flops_formula *formula) {
  return strcmp(formula->source, FLOPS_OF_TENSORFLOW) == 0;
}

bool flops_is_convolution(struct flops_text op_type) {
  bool is_foreach;
  const struct table_row *row = op_type.bytes ? find_row(op_type.bytes, op_type.length, &is_foreach) : NULL;
  return row && row->count == flops_count_convolution;
}

uint32_t flops_convolved_sizes(const struct flops_call *call, struct flops_text op_type, int64_t *sizes) {
  bool is_foreach;
  const struct table_row *row = op_type.bytes ? find_row(op_type.bytes, op_type.length, &is_foreach) : NULL;
  if (!row || row->count != flops_count_convolution) return 0;
  return flops_sizes_of_convolution(call, row->number, sizes);
}

struct flops_call *flops_call_create(void) { return calloc(1, sizeof(struct flops_call)); }

void flops_call_free(struct flops_call *call) { free(call); }

static bool read_shapes(struct flops_call *call, struct flops_text input_shapes, struct flops_text output_shape) {
  call->shape_count = call->size_count = call->input_count = call->output.count = 0;
  call->has_overflow = false;
  return flops_read_inputs(call, input_shapes) && flops_read_output(call, output_shape);
}

bool flops_is_convolved(struct flops_call *call, struct flops_text input_shapes, struct flops_text output_shape) {
  if (!read_shapes(call, input_shapes, output_shape) || call->output.count != 1 || call->has_overflow) return false;
  const struct flops_shape *input = tensor(call, 0, 3), *weight = tensor(call, 1, 3), *output = call->output.shapes;
  if (!input || !weight || !output->is_known || input->count != output->count || weight->count != input->count)
    return false;
  return input->sizes[0] == output->sizes[0] &&
         (output->sizes[1] == weight->sizes[0] || input->sizes[1] == weight->sizes[0]);
}

enum flops_status flops_count(struct flops_call *call, struct flops_text op_type, struct flops_text input_shapes,
                              struct flops_text output_shape, struct flops_text attributes, int64_t *flops) {
  call->attributes = attributes;
  *flops = 0;
  const struct table_row *row = op_type.bytes ? find_row(op_type.bytes, op_type.length, &call->is_foreach) : NULL;
  if (!row) return FLOPS_NO_FORMULA;
  if (!read_shapes(call, input_shapes, output_shape)) return FLOPS_UNKNOWN;
  int64_t counted = 0;
  enum flops_status status = call->has_overflow ? FLOPS_OVERFLOW : row->count(call, row->number, &counted);
  if (status == FLOPS_KNOWN) *flops = counted;
  return status;
}
