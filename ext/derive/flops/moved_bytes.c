/* moved_bytes.c: see moved_bytes.h. */
#include "derive/flops/moved_bytes.h"

#include <string.h>

#include "derive/flops/flops_call.h"
#include "derive/flops/number_types.h"

static const struct moved_row rows[] = {
#define MOVED(op_type, written, number) {op_type, WRITTEN_##written, number},
#include "derive/flops/moved_bytes.def"
#undef MOVED
};

const struct moved_row *moved_row_find(struct flops_text op_type) {
  size_t low = 0, high = sizeof rows / sizeof rows[0], length = op_type.length;
  if (!op_type.bytes || !length) return NULL;
  if (op_type.bytes[length - 1] == '_') length--;
  while (low < high) {
    size_t middle = low + (high - low) / 2, other = strlen(rows[middle].op_type);
    int order = memcmp(op_type.bytes, rows[middle].op_type, length < other ? length : other);
    if (!order && length == other) return &rows[middle];
    if (order > 0 || (!order && length > other)) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* ---- sizes ---- */

struct moving {
  const struct flops_call *shapes;
  const struct moved_call *call;
  int64_t sizes[FLOPS_INPUTS]; /* bytes of an element of each input; 0: no tensor */
  bool is_unknown;
};

static int64_t whole_elements(struct moving *m, const struct flops_shape *shape) {
  int64_t count = 1;
  if (!shape->is_known) m->is_unknown = true;
  for (uint32_t i = 0; i < shape->count && !m->is_unknown; i++) {
    if (shape->sizes[i] < 0 || __builtin_mul_overflow(count, shape->sizes[i], &count)) m->is_unknown = true;
  }
  return count;
}

static const struct flops_shape *tensor_at(struct moving *m, int64_t place) {
  static const struct flops_shape none = {.count = 0};
  bool is_there = place >= 0 && place < m->shapes->input_count && m->sizes[place] && !m->shapes->inputs[place].is_list;
  if (!is_there) m->is_unknown = true;
  return is_there ? &m->shapes->inputs[place].shapes[0] : &none;
}

static void add_bytes(struct moving *m, int64_t *sum, int64_t elements, int64_t size) {
  int64_t bytes;
  if (__builtin_mul_overflow(elements, size, &bytes) || __builtin_add_overflow(*sum, bytes, sum)) m->is_unknown = true;
}

/* Reads the types; a list of tensors has none of its own. */
static bool read_types(struct moving *m) {
  for (uint32_t i = 0; i < m->shapes->input_count; i++) {
    struct flops_text type;
    if (!flops_element(m->call->input_types, i, &type)) return false;
    const struct number_type *number = number_type_of_input(type);
    m->sizes[i] = number ? number->bytes : 0;
    bool is_empty = m->shapes->inputs[i].count == 0 || m->shapes->inputs[i].is_list;
    if (m->shapes->inputs[i].is_list && m->shapes->inputs[i].count) return false;
    if (is_empty) m->sizes[i] = 0;
  }
  return true;
}

/* ---- what is written ---- */

static int64_t size_at(struct moving *m, int64_t place) {
  tensor_at(m, place);
  return m->is_unknown ? 0 : m->sizes[place];
}

/* Elements of inputs of which each dimension counts once, from the last on. */
static int64_t broadcast_elements(struct moving *m) {
  int64_t elements = 1;
  bool is_there = true;
  for (uint32_t from_end = 0; is_there && !m->is_unknown; from_end++) {
    int64_t largest = 1;
    is_there = false;
    for (uint32_t i = 0; i < m->shapes->input_count; i++) {
      if (!m->sizes[i]) continue;
      const struct flops_shape *shape = &m->shapes->inputs[i].shapes[0];
      if (!shape->is_known) m->is_unknown = true;
      if (!shape->is_known || from_end >= shape->count) continue;
      int64_t size = shape->sizes[shape->count - 1 - from_end];
      is_there = true;
      if (size != 1) largest = size;
    }
    if (__builtin_mul_overflow(elements, largest, &elements) || elements < 0) m->is_unknown = true;
  }
  return elements;
}

static int64_t widest(const struct moving *m) {
  int64_t size = 0;
  for (uint32_t i = 0; i < m->shapes->input_count; i++) {
    /* A tensor of no dimension does not make the others wider. */
    bool counts = m->sizes[i] > size && m->shapes->inputs[i].shapes[0].count;
    if (counts) size = m->sizes[i];
  }
  for (uint32_t i = 0; i < m->shapes->input_count && !size; i++) size = m->sizes[i];
  return size;
}

/* (b,) m x k times (b,) k x n */
static int64_t product_elements(struct moving *m, int64_t place) {
  const struct flops_shape *left = tensor_at(m, place), *right = tensor_at(m, place + 1);
  if (m->is_unknown || left->count < 2 || right->count != left->count) {
    m->is_unknown = true;
    return 0;
  }
  int64_t last = right->sizes[right->count - 1], elements = whole_elements(m, left);
  int64_t inner = left->sizes[left->count - 1];
  if (!inner) return 0;
  if (__builtin_mul_overflow(elements / inner, last, &elements)) m->is_unknown = true;
  return elements;
}

/* By the operations, of which each element of the output takes two for each element of a filter; what is transposed
** counts otherwise. */
static int64_t convolved_elements(struct moving *m, int transposed) {
  struct flops_value value;
  const struct flops_input *output = &m->shapes->output;
  if (output->count == 1 && output->shapes[0].is_known) return whole_elements(m, &output->shapes[0]);
  bool is_transposed =
      transposed >= 0 && flops_placed(m->shapes, (unsigned)transposed, &value) && value.count && value.numbers[0];
  const struct flops_shape *filters = tensor_at(m, 1);
  int64_t all = whole_elements(m, filters);
  if (m->is_unknown || is_transposed || m->call->flops < 0 || filters->count < 3 || !filters->sizes[0] || !all) {
    m->is_unknown = true;
    return 0;
  }
  return m->call->flops / 2 / (all / filters->sizes[0]);
}

static void add_gradients(struct moving *m, int64_t *sum, int place) {
  struct flops_value mask;
  if (!flops_placed(m->shapes, (unsigned)place, &mask) || mask.count < 2) {
    m->is_unknown = true;
    return;
  }
  for (int64_t i = 0; i < 2; i++) { /* of the input, of the weights; that of the bias is small */
    if (mask.numbers[i]) add_bytes(m, sum, whole_elements(m, tensor_at(m, i + 1)), size_at(m, i + 1));
  }
}

/* Rows of a table are read and written; of a table of two dimensions. */
static void add_table_rows(struct moving *m, int64_t *sum) {
  const struct flops_shape *table = tensor_at(m, 0), *places = tensor_at(m, 1);
  int64_t elements = whole_elements(m, places), moved;
  if (table->count != 2) m->is_unknown = true;
  if (m->is_unknown) return;
  if (__builtin_mul_overflow(elements, table->sizes[1], &moved)) m->is_unknown = true;
  add_bytes(m, sum, moved, 2 * m->sizes[0]);
  add_bytes(m, sum, elements, m->sizes[1]);
}

static void add_written(struct moving *m, const struct moved_row *row, int64_t *sum) {
  int64_t place = row->number;
  switch (row->written) {
    case WRITTEN_BROADCAST: add_bytes(m, sum, broadcast_elements(m), row->number ? row->number / 8 : widest(m)); break;
    case WRITTEN_MASKED: add_bytes(m, sum, whole_elements(m, tensor_at(m, 0)), size_at(m, 0) + 1); break;
    case WRITTEN_FIRST: add_bytes(m, sum, whole_elements(m, tensor_at(m, place)), size_at(m, place)); break;
    case WRITTEN_INPUTS:
      for (int64_t i = place; i < place + 3; i++) add_bytes(m, sum, whole_elements(m, tensor_at(m, i)), size_at(m, i));
      break;
    case WRITTEN_PRODUCT: add_bytes(m, sum, product_elements(m, place), size_at(m, place)); break;
    case WRITTEN_CONVOLVED: add_bytes(m, sum, convolved_elements(m, row->number), widest(m)); break;
    case WRITTEN_GRADIENTS: add_gradients(m, sum, row->number); break;
    case WRITTEN_FILLED: add_bytes(m, sum, whole_elements(m, tensor_at(m, 0)), size_at(m, 0)); break;
    case WRITTEN_ROWS: add_table_rows(m, sum); break;
    case WRITTEN_NOTHING: break;
  }
}

bool moved_bytes_count(struct flops_call *memory, const struct moved_call *call, int64_t *bytes) {
  const struct moved_row *row = moved_row_find(call->op_type);
  struct moving m = {.shapes = memory, .call = call};
  memory->shape_count = memory->size_count = memory->input_count = memory->output.count = 0;
  memory->has_overflow = false;
  memory->attributes = call->input_values;
  if (!row || !flops_read_inputs(memory, call->input_shapes) || memory->has_overflow) return false;
  if (!flops_read_output(memory, call->output_shapes) || !read_types(&m)) return false;
  int64_t sum = 0;
  add_written(&m, row, &sum);
  bool is_read = row->written != WRITTEN_FILLED && row->written != WRITTEN_ROWS, has_tensor = !is_read;
  for (uint32_t i = 0; i < memory->input_count && is_read; i++) {
    if (!m.sizes[i]) continue;
    has_tensor = true;
    add_bytes(&m, &sum, whole_elements(&m, &memory->inputs[i].shapes[0]), m.sizes[i]);
  }
  *bytes = sum;
  return has_tensor && !m.is_unknown;
}
