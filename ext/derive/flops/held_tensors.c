/* held_tensors.c: see held_tensors.h. */
#include "derive/flops/held_tensors.h"

#include <string.h>

#include "derive/flops/flops_call.h"
#include "derive/flops/number_types.h"

/* Of PyTorch's allocators of devices (c10/cuda/CUDACachingAllocator.cpp): kMinBlockSize, and of pieces beyond
** kSmallSize what is left over of a block and not split off. */
enum { DEVICE_UNIT = 512, DEVICE_LARGE = 1 << 20 };

bool held_piece_fits(struct held_piece piece, int64_t bytes) {
  if (bytes <= 0 || bytes > piece.bytes) return false;
  int64_t left = piece.bytes - bytes;
  return left == 0 || (piece.is_rounded && left < (bytes > DEVICE_LARGE ? DEVICE_LARGE + DEVICE_UNIT : DEVICE_UNIT));
}

struct holding {
  const struct flops_call *shapes;
  const struct moved_call *call;
  struct held_piece piece;
  const struct number_type *types[FLOPS_INPUTS]; /* NULL: no tensor, or of a type that is not known */
  struct held_tensor *tensor;
  bool is_offered; /* what the tensor is has been offered */
};

/* -1: not known. */
static int64_t elements_of(const int64_t *sizes, uint32_t count) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < count; i++)
    if (sizes[i] < 0 || __builtin_mul_overflow(elements, sizes[i], &elements)) return -1;
  return elements;
}

static bool takes(const struct holding *h, int64_t elements, int64_t width, int64_t *bytes) {
  return elements > 0 && !__builtin_mul_overflow(elements, width, bytes) && held_piece_fits(h->piece, *bytes);
}

static void set_tensor(struct holding *h, int64_t bytes, const int64_t *sizes, uint32_t count, const char *dtype) {
  h->tensor->bytes = bytes;
  h->tensor->dtype = dtype;
  h->tensor->has_shape = count <= HELD_DIMENSIONS;
  h->tensor->dimensions = h->tensor->has_shape ? count : 0;
  if (h->tensor->dimensions) memcpy(h->tensor->sizes, sizes, count * sizeof *sizes);
}

static bool take_sizes(struct holding *h, const int64_t *sizes, uint32_t count, const struct number_type *type) {
  int64_t bytes;
  if (!type || !takes(h, elements_of(sizes, count), type->bytes, &bytes)) return false;
  set_tensor(h, bytes, sizes, count, type->name);
  return true;
}

/* One of the things that an op returns: of several that would have got the piece it is what they have in common. */
static void offer(struct holding *h, const int64_t *sizes, uint32_t count, const struct number_type *type) {
  struct held_tensor before = *h->tensor;
  bool is_another = h->is_offered;
  if (!take_sizes(h, sizes, count, type)) return;
  h->is_offered = true;
  if (!is_another) return;
  bool is_alike = before.has_shape && h->tensor->has_shape && before.dimensions == h->tensor->dimensions &&
                  !memcmp(before.sizes, h->tensor->sizes, before.dimensions * sizeof *before.sizes);
  h->tensor->has_shape = is_alike;
  if (!is_alike) h->tensor->dimensions = 0;
  if (before.dtype != h->tensor->dtype) h->tensor->dtype = NULL;
  if (before.bytes != h->tensor->bytes) h->tensor->bytes = 0;
}

static bool is_told(const struct holding *h) { return h->is_offered && (h->tensor->dtype || h->tensor->has_shape); }

static const struct flops_shape *input_at(const struct holding *h, int64_t place) {
  bool is_there = place >= 0 && place < h->shapes->input_count && h->types[place];
  const struct flops_shape *shape = is_there ? &h->shapes->inputs[place].shapes[0] : NULL;
  return shape && shape->is_known ? shape : NULL;
}

static bool take_input(struct holding *h, int64_t place) {
  const struct flops_shape *shape = input_at(h, place);
  return shape && take_sizes(h, shape->sizes, shape->count, h->types[place]);
}

/* As an input, of another type if that is not NULL. */
static void offer_like(struct holding *h, int64_t place, const struct number_type *type) {
  const struct flops_shape *shape = input_at(h, place);
  if (shape) offer(h, shape->sizes, shape->count, type ? type : h->types[place]);
}

/* ---- what an op is asked to make room for ---- */

static const struct factory {
  const char *op_type;
  int sizes, strides, type; /* places of these inputs; strides -1: without gaps; type -1: that of the first input */
} factories[] = {
    {"aten::empty", 0, -1, 1},
    {"aten::empty_strided", 0, 1, 2},
    {"aten::empty_permuted", 0, -1, 2},
    {"aten::resize_", 1, -1, -1},
};

static const struct factory *find_factory(struct flops_text op_type) {
  for (size_t i = 0; i < sizeof factories / sizeof *factories; i++)
    if (op_type.length == strlen(factories[i].op_type) && !memcmp(op_type.bytes, factories[i].op_type, op_type.length))
      return &factories[i];
  return NULL;
}

/* How many elements lie from the first to the last; -1: not known. */
static int64_t strided_elements(const struct flops_value *sizes, const struct flops_value *strides) {
  int64_t elements = 1;
  if (sizes->count != strides->count) return -1;
  for (uint32_t i = 0; i < sizes->count; i++) {
    int64_t reach;
    if (sizes->numbers[i] < 1 || strides->numbers[i] < 0) return -1;
    if (__builtin_mul_overflow(sizes->numbers[i] - 1, strides->numbers[i], &reach)) return -1;
    if (__builtin_add_overflow(elements, reach, &elements)) return -1;
  }
  return elements;
}

static bool find_allocated(struct holding *h, const struct factory *factory) {
  struct flops_value sizes, strides, type;
  const struct number_type *number = NULL;
  int64_t bytes;
  if (!flops_placed(h->shapes, (unsigned)factory->sizes, &sizes)) return false;
  if (factory->strides >= 0 && !flops_placed(h->shapes, (unsigned)factory->strides, &strides)) return false;
  int64_t elements =
      factory->strides < 0 ? elements_of(sizes.numbers, sizes.count) : strided_elements(&sizes, &strides);
  bool is_standard = factory->type >= 0 && !flops_placed(h->shapes, (unsigned)factory->type, &type);
  if (factory->type < 0) number = h->types[0];
  else if (!is_standard && type.count == 1) number = number_type_numbered(type.numbers[0]);
  if (number) {
    if (!takes(h, elements, number->bytes, &bytes)) return false;
    set_tensor(h, bytes, sizes.numbers, sizes.count, number->name);
    return true;
  }
  /* torch.set_default_dtype() may have made it another one. */
  static const int standard[] = {6, 7};
  for (size_t i = 0; i < sizeof standard / sizeof *standard && is_standard; i++) {
    number = number_type_numbered(standard[i]);
    if (!takes(h, elements, number->bytes, &bytes)) continue;
    set_tensor(h, bytes, sizes.numbers, sizes.count, number->name);
    return true;
  }
  return false;
}

/* ---- what an op returns ---- */

/* The type that numbers of these become when they meet. A tensor of no dimension changes no other's but its kind. */
static const struct number_type *promoted(const struct holding *h) {
  const struct number_type *best = NULL;
  bool has_dimensions = false;
  for (uint32_t i = 0; i < h->shapes->input_count; i++) {
    const struct flops_shape *shape = input_at(h, i);
    if (!shape) continue;
    const struct number_type *its = h->types[i];
    bool counts_more = shape->count && !has_dimensions, counts_less = !shape->count && has_dimensions;
    if (!best || its->kind > best->kind || (its->kind == best->kind && counts_more)) {
      best = its;
    } else if (its->kind == best->kind && !counts_less) {
      if (its->bytes == best->bytes && its != best) return NULL; /* float16 and bfloat16 become float32 */
      if (its->bytes > best->bytes) best = its;
    }
    has_dimensions |= shape->count > 0;
  }
  return best;
}

static bool take_broadcast(struct holding *h, bool is_truth) {
  int64_t sizes[HELD_DIMENSIONS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < h->shapes->input_count; i++) {
    if (!h->types[i]) continue;
    const struct flops_shape *shape = input_at(h, i);
    if (!shape || shape->count > HELD_DIMENSIONS) return false;
    if (shape->count > count) count = shape->count;
  }
  for (uint32_t from_end = 0; from_end < count; from_end++) {
    int64_t *size = &sizes[count - 1 - from_end];
    *size = 1;
    for (uint32_t i = 0; i < h->shapes->input_count; i++) {
      const struct flops_shape *shape = input_at(h, i);
      int64_t its = shape && from_end < shape->count ? shape->sizes[shape->count - 1 - from_end] : 1;
      if (its != 1) *size = its;
    }
  }
  const struct number_type *type = is_truth ? number_type_numbered(11) : promoted(h);
  bool is_whole = type && !is_truth && type->kind <= NUMBER_INTEGER;
  if (take_sizes(h, sizes, count, type)) {
    /* Whole numbers of 32 bits are as large as the fractions that some ops and factors make of them. */
    if (is_whole && type->bytes == 4) h->tensor->dtype = NULL;
    return true;
  }
  return is_whole && take_sizes(h, sizes, count, number_type_numbered(6));
}

static bool take_product(struct holding *h, int64_t place) {
  const struct flops_shape *left = input_at(h, place), *right = input_at(h, place + 1);
  int64_t sizes[HELD_DIMENSIONS];
  if (!left || !right || left->count < 2 || left->count != right->count || left->count > HELD_DIMENSIONS) return false;
  memcpy(sizes, left->sizes, left->count * sizeof *sizes);
  sizes[left->count - 1] = right->sizes[right->count - 1];
  return take_sizes(h, sizes, left->count, h->types[place]);
}

static bool take_rows(struct holding *h) {
  const struct flops_shape *table = input_at(h, 0), *places = input_at(h, 1);
  int64_t sizes[HELD_DIMENSIONS];
  if (!table || !places || table->count != 2 || places->count >= HELD_DIMENSIONS) return false;
  memcpy(sizes, places->sizes, places->count * sizeof *sizes);
  sizes[places->count] = table->sizes[1];
  return take_sizes(h, sizes, places->count + 1, h->types[0]);
}

static bool take_convolved(struct holding *h) {
  int64_t sizes[FLOPS_VALUES];
  const struct flops_input *output = &h->shapes->output;
  if (output->count == 1 && output->shapes[0].is_known)
    return take_sizes(h, output->shapes[0].sizes, output->shapes[0].count, h->types[0]);
  uint32_t count = flops_convolved_sizes(h->shapes, h->call->op_type, sizes);
  return count && take_sizes(h, sizes, count, h->types[0]);
}

/* Of the input, of the weights, of the bias. */
static void offer_gradients(struct holding *h) {
  const struct flops_shape *weights = input_at(h, 2);
  offer_like(h, 1, NULL);
  offer_like(h, 2, NULL);
  if (weights && weights->count) offer(h, weights->sizes, 1, h->types[2]);
}

/* aten::sum, aten::mean and the like, where the dimensions that go are told: as the second input, and as the third
** whether they stay with a size of 1. */
static bool take_reduced(struct holding *h) {
  const struct flops_shape *shape = input_at(h, 0);
  struct flops_value gone, stays;
  int64_t sizes[HELD_DIMENSIONS];
  uint32_t count = 0, gone_dimensions = 0;
  if (!shape || shape->count > HELD_DIMENSIONS || !flops_placed(h->shapes, 1, &gone) || !gone.count) return false;
  if (gone.text.bytes[0] != '[') return false;
  bool is_kept = flops_placed(h->shapes, 2, &stays) && stays.count == 1 && stays.numbers[0];
  for (uint32_t i = 0; i < gone.count; i++) {
    int64_t dimension = gone.numbers[i] < 0 ? gone.numbers[i] + shape->count : gone.numbers[i];
    if (dimension < 0 || dimension >= shape->count) return false;
    gone_dimensions |= 1u << dimension;
  }
  for (uint32_t i = 0; i < shape->count; i++) {
    bool is_gone = gone_dimensions >> i & 1;
    if (!is_gone || is_kept) sizes[count++] = is_gone ? 1 : shape->sizes[i];
  }
  return take_sizes(h, sizes, count, h->types[0]);
}

static bool take_row(struct holding *h, const struct moved_row *row) {
  switch (row->written) {
    case WRITTEN_BROADCAST: return take_broadcast(h, row->number != 0);
    case WRITTEN_FIRST: return take_input(h, row->number);
    case WRITTEN_MASKED:
      offer_like(h, 0, NULL);
      offer_like(h, 0, number_type_numbered(11));
      return is_told(h);
    case WRITTEN_INPUTS:
      for (int64_t i = row->number; i < row->number + 3; i++) offer_like(h, i, NULL);
      return is_told(h);
    case WRITTEN_PRODUCT: return take_product(h, row->number);
    case WRITTEN_CONVOLVED: return take_convolved(h);
    case WRITTEN_GRADIENTS: offer_gradients(h); return is_told(h);
    case WRITTEN_ROWS: return take_rows(h);
    case WRITTEN_NOTHING: return take_reduced(h);
    case WRITTEN_FILLED: return false; /* in place */
  }
  return false;
}

/* ---- pools: what the windows hold most of, and where in the input that is ---- */

static bool is_pool(struct flops_text op_type) {
  static const char *const pools[] = {"aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"};
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
    if (op_type.length == strlen(pools[i]) && !memcmp(op_type.bytes, pools[i], op_type.length)) return true;
  return false;
}

/* Inputs: what is pooled; kernel, stride (none: the kernel), padding and dilation; whether parts of windows count. */
static bool take_pooled(struct holding *h) {
  enum { KERNEL, STRIDE, PADDING, DILATION, ARGUMENTS };
  const struct flops_shape *input = input_at(h, 0);
  struct flops_value arguments[ARGUMENTS], parts;
  int64_t sizes[HELD_DIMENSIONS];
  for (unsigned i = 0; i < ARGUMENTS; i++)
    if (!flops_placed(h->shapes, i + 1, &arguments[i])) return false;
  uint32_t spatial = arguments[KERNEL].count;
  if (!arguments[STRIDE].count) arguments[STRIDE] = arguments[KERNEL];
  for (unsigned i = 0; i < ARGUMENTS; i++)
    if (arguments[i].count != spatial) return false;
  if (flops_placed(h->shapes, ARGUMENTS + 1, &parts) && parts.count == 1 && parts.numbers[0]) return false;
  if (!input || !spatial || input->count <= spatial || input->count > HELD_DIMENSIONS) return false;
  uint32_t before = input->count - spatial;
  memcpy(sizes, input->sizes, before * sizeof *sizes);
  for (uint32_t i = 0; i < spatial; i++)
    sizes[before + i] =
        flops_window_count(input->sizes[before + i], arguments[KERNEL].numbers[i], arguments[STRIDE].numbers[i],
                           arguments[PADDING].numbers[i], arguments[DILATION].numbers[i]);
  offer(h, sizes, input->count, h->types[0]);
  offer(h, sizes, input->count, number_type_numbered(4));
  return is_told(h);
}

static bool has_end(struct flops_text op_type, const char *end) {
  size_t length = strlen(end);
  return op_type.length >= length && !memcmp(op_type.bytes + op_type.length - length, end, length);
}

/* Ops that copy, or make room for a copy. */
static bool is_copy(struct flops_text op_type) {
  return has_end(op_type, "_like") || has_end(op_type, "::clone") || has_end(op_type, "::contiguous");
}

/* Whether what the op returns, or returns beside its output, is as large as an input: gradients of weights, and what a
** batch norm keeps, but not what other norms and attention do. Of an op that is not known that is a guess. */
static bool may_be_like(const struct moved_call *call, const struct moved_row *row) {
  if (!row) return true;
  if (row->written != WRITTEN_FIRST || !call->op_type.bytes) return false;
  return strstr(row->op_type, "batch_norm") || strstr(row->op_type, "_backward");
}

/* Of a piece that may be larger than what was asked for, most inputs of about its size would fit: a guess is as good as
** the room that is left is small. */
static bool is_near(const struct holding *h, int64_t bytes) {
  enum { LEAST_SHARE = 64 };
  return !h->piece.is_rounded || h->piece.bytes - bytes <= h->piece.bytes / LEAST_SHARE;
}

/* As one of the inputs. */
static bool take_likeness(struct holding *h, bool is_guess) {
  for (uint32_t i = 0; i < h->shapes->input_count; i++) {
    const struct flops_shape *shape = input_at(h, i);
    int64_t bytes;
    if (!shape || !takes(h, elements_of(shape->sizes, shape->count), h->types[i]->bytes, &bytes)) continue;
    if (!is_guess || is_near(h, bytes)) offer(h, shape->sizes, shape->count, h->types[i]);
  }
  return is_told(h);
}

enum held held_tensor_find(struct flops_call *memory, const struct moved_call *call, struct held_piece piece,
                           bool is_returned, bool is_innermost, bool *has_tensors, struct held_tensor *tensor) {
  struct holding h = {.shapes = memory, .call = call, .piece = piece, .tensor = tensor};
  memory->shape_count = memory->size_count = memory->input_count = memory->output.count = 0;
  memory->has_overflow = false;
  memory->attributes = call->input_values;
  *has_tensors = false;
  if (!flops_read_inputs(memory, call->input_shapes) || memory->has_overflow) return HELD_UNKNOWN;
  if (!flops_read_output(memory, call->output_shapes)) return HELD_UNKNOWN;
  for (uint32_t i = 0; i < memory->input_count; i++) {
    struct flops_text type;
    if (!flops_element(call->input_types, i, &type)) return HELD_UNKNOWN;
    bool is_one = memory->inputs[i].count && !memory->inputs[i].is_list;
    h.types[i] = is_one ? number_type_of_input(type) : NULL;
    *has_tensors |= h.types[i] != NULL;
  }
  const struct factory *factory = find_factory(call->op_type);
  if (factory) {
    *has_tensors = false;
    return find_allocated(&h, factory) ? HELD_ALLOCATED : HELD_UNKNOWN;
  }
  if (!is_returned) return HELD_UNKNOWN;
  if (is_pool(call->op_type)) return take_pooled(&h) ? HELD_RETURNED : HELD_UNKNOWN;
  const struct moved_row *row = moved_row_find(call->op_type);
  if (row && take_row(&h, row)) return HELD_RETURNED;
  if (!is_innermost || !may_be_like(call, row)) return HELD_UNKNOWN;
  return take_likeness(&h, !row && !is_copy(call->op_type)) ? HELD_RETURNED : HELD_UNKNOWN;
}
