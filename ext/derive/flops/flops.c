/* flops.c: the formulas of flops.def.
**
** Each works on the shapes that flops_text.c has read and multiplies in a struct product, which never wraps: it
** remembers a size that is not known and a number that is too large, and a factor of 0 makes everything 0.
*/
#include "derive/flops/flops.h"

#include <stdlib.h>
#include <string.h>

#include "derive/flops/flops_call.h"

/* For `number` of convolutions in flops.def. */
enum { NOWHERE = 255, NEVER = 254, ALWAYS = 253 };

struct product {
  int64_t value;
  bool is_zero, is_unknown, is_too_large;
};

static struct product product_from(int64_t factor) { return (struct product){.value = 1, .is_zero = factor == 0}; }

static void times(struct product *product, int64_t factor) {
  if (factor < 0) product->is_unknown = true;
  if (factor == 0) product->is_zero = true;
  if (!product->is_too_large && factor > 0)
    product->is_too_large = __builtin_mul_overflow(product->value, factor, &product->value);
}

static void times_sizes(struct product *product, const struct flops_shape *shape, uint32_t first, uint32_t last) {
  if (!shape->is_known) product->is_unknown = true;
  for (uint32_t i = first; i < last && shape->is_known; i++) times(product, shape->sizes[i]);
}

static void times_elements(struct product *product, const struct flops_shape *shape) {
  times_sizes(product, shape, 0, shape->count);
}

static enum flops_status flops_of_product(const struct product *product, int64_t *flops) {
  if (product->is_unknown) return FLOPS_UNKNOWN;
  if (product->is_too_large && !product->is_zero) return FLOPS_OVERFLOW;
  *flops = product->is_zero ? 0 : product->value;
  return FLOPS_KNOWN;
}

/* factor * (number of elements) */
static enum flops_status elements(const struct flops_shape *shape, int64_t factor, int64_t *count) {
  struct product product = product_from(1);
  times(&product, factor);
  times_elements(&product, shape);
  return flops_of_product(&product, count);
}

static enum flops_status add_to(int64_t *sum, enum flops_status status, int64_t more) {
  if (status) return status;
  return __builtin_add_overflow(*sum, more, sum) ? FLOPS_OVERFLOW : FLOPS_KNOWN;
}

static enum flops_status elements_of_all(const struct flops_input *input, int64_t factor, int64_t *count) {
  int64_t one = 0;
  enum flops_status status = FLOPS_KNOWN;
  *count = 0;
  for (uint32_t i = 0; i < input->count && !status; i++) {
    status = elements(&input->shapes[i], factor, &one);
    status = add_to(count, status, one);
  }
  return status;
}

/* The shape of an input that must be one tensor of at least `dimensions`; NULL: it is not. */
static const struct flops_shape *tensor(const struct flops_call *call, uint32_t place, uint32_t dimensions) {
  if (place >= call->input_count || call->inputs[place].is_list) return NULL;
  const struct flops_shape *shape = &call->inputs[place].shapes[0];
  return shape->is_known && shape->count >= dimensions ? shape : NULL;
}

/* ---- Elementwise. */

/* Multiplies by the sizes that two or more shapes have together when they are broadcast, the last `skipped` of each
** left out. */
static void times_broadcast(struct product *product, const struct flops_shape *const *shapes, uint32_t count,
                            uint32_t skipped) {
  for (uint32_t from_end = skipped;; from_end++) {
    int64_t size = 1;
    bool is_there = false;
    for (uint32_t i = 0; i < count; i++) {
      if (!shapes[i]->is_known) product->is_unknown = true;
      if (!shapes[i]->is_known || from_end >= shapes[i]->count) continue;
      int64_t its = shapes[i]->sizes[shapes[i]->count - 1 - from_end];
      is_there = true;
      if (its == 1 || its == size) continue;
      if (size != 1) product->is_unknown = true;
      size = its;
    }
    if (!is_there) return;
    times(product, size);
  }
}

static enum flops_status count_listed(const struct flops_call *call, int64_t factor, int64_t *flops) {
  if (!call->input_count || !call->inputs[0].is_list) return FLOPS_UNKNOWN;
  return elements_of_all(&call->inputs[0], factor, flops);
}

static enum flops_status count_elementwise(const struct flops_call *call, int64_t factor, int64_t *flops) {
  if (call->output.count) return elements_of_all(&call->output, factor, flops);
  if (call->is_foreach) return count_listed(call, factor, flops);
  const struct flops_shape *shapes[FLOPS_INPUTS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (call->inputs[i].is_list) return FLOPS_UNKNOWN;
    shapes[count++] = &call->inputs[i].shapes[0];
  }
  if (!count) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, factor);
  times_broadcast(&product, shapes, count, 0);
  return flops_of_product(&product, flops);
}

static enum flops_status count_first(const struct flops_call *call, int64_t factor, int64_t *flops) {
  if (!call->input_count || (call->is_foreach && !call->inputs[0].is_list)) return FLOPS_UNKNOWN;
  return elements_of_all(&call->inputs[0], factor, flops);
}

static enum flops_status count_nothing(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)call;
  (void)number;
  *flops = 0;
  return FLOPS_KNOWN;
}

static enum flops_status count_add_n(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  uint32_t count = call->input_count == 1 ? call->inputs[0].count : call->input_count;
  if (!count) return FLOPS_UNKNOWN;
  return elements(&call->inputs[0].shapes[0], (int64_t)count - 1, flops);
}

static enum flops_status less(enum flops_status status, int64_t in, int64_t out, int64_t *flops) {
  if (status) return status;
  if (out > in) return FLOPS_UNKNOWN;
  *flops = in - out;
  return FLOPS_KNOWN;
}

static enum flops_status count_reduction(const struct flops_call *call, int64_t number, int64_t *flops) {
  int64_t in = 0, out = 0;
  (void)number;
  if (!call->input_count || !call->output.count) return FLOPS_UNKNOWN;
  enum flops_status status = elements(&call->inputs[0].shapes[0], 1, &in);
  if (!status) status = elements_of_all(&call->output, 1, &out);
  return less(status, in, out, flops);
}

/* Sums over all but the channels, which are last, or second in the formats that begin with NC. */
static enum flops_status count_bias_grad(const struct flops_call *call, int64_t number, int64_t *flops) {
  struct flops_value format;
  int64_t in = 0;
  const struct flops_shape *shape = tensor(call, 0, 1);
  if (call->output.count) return count_reduction(call, number, flops);
  if (!shape) return FLOPS_UNKNOWN;
  bool is_second = flops_named(call, "data_format", &format) && format.text.length > 1 &&
                   !memcmp(format.text.bytes, "NC", 2) && shape->count > 1;
  enum flops_status status = elements(shape, 1, &in);
  return less(status, in, shape->sizes[is_second ? 1 : shape->count - 1], flops);
}

static enum flops_status count_l2_loss(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  if (!call->input_count) return FLOPS_UNKNOWN;
  enum flops_status status = elements(&call->inputs[0].shapes[0], 3, flops);
  if (!status && *flops) *flops -= 1;
  return status;
}

static enum flops_status count_embedding_bag(const struct flops_call *call, int64_t number, int64_t *flops) {
  const struct flops_shape *weight = tensor(call, 0, 2), *indices = tensor(call, 1, 1);
  if (!weight || !indices) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, number);
  times_elements(&product, indices);
  times(&product, weight->sizes[1]);
  return flops_of_product(&product, flops);
}

/* ---- Products of matrices. */

/* 2 * (broadcast of what lies before) * m * k * n; a vector is a matrix of one row on the left, of one column on the
** right. */
static enum flops_status matrices(const struct flops_shape *a, const struct flops_shape *b, bool a_is_transposed,
                                  bool b_is_transposed, int64_t *flops) {
  struct product product = product_from(1);
  times(&product, 2);
  const struct flops_shape *shapes[2] = {a, b};
  times_broadcast(&product, shapes, 2, 2);
  int64_t m = a->count == 1 ? 1 : a->sizes[a->count - (a_is_transposed ? 1 : 2)];
  int64_t k = a->sizes[a->count - (a_is_transposed && a->count > 1 ? 2 : 1)];
  int64_t inner = b->count == 1 ? b->sizes[0] : b->sizes[b->count - (b_is_transposed ? 1 : 2)];
  int64_t n = b->count == 1 ? 1 : b->sizes[b->count - (b_is_transposed ? 2 : 1)];
  if (k != inner) return FLOPS_UNKNOWN;
  times(&product, m);
  times(&product, k);
  times(&product, n);
  return flops_of_product(&product, flops);
}

static enum flops_status count_product_of(const struct flops_call *call, int64_t first, int64_t *flops) {
  const struct flops_shape *a = tensor(call, (uint32_t)first, 1), *b = tensor(call, (uint32_t)first + 1, 1);
  return a && b ? matrices(a, b, false, false, flops) : FLOPS_UNKNOWN;
}

static bool is_set(const struct flops_call *call, const char *name) {
  struct flops_value value;
  return flops_named(call, name, &value) && value.count == 1 && value.numbers[0] != 0;
}

/* Where no attribute says which operand is transposed, the result tells: it has a side of the first that is not k. */
static enum flops_status product_of_result(const struct flops_shape *a, const struct flops_shape *b,
                                           const struct flops_shape *out, int64_t *flops) {
  if (!out->is_known || out->count < 2) return FLOPS_UNKNOWN;
  const int64_t *a_sides = a->sizes + a->count - 2, *b_sides = b->sizes + b->count - 2,
                *sides = out->sizes + out->count - 2;
  for (int a_is_transposed = 0; a_is_transposed < 2; a_is_transposed++) {
    for (int b_is_transposed = 0; b_is_transposed < 2; b_is_transposed++) {
      if (a_sides[a_is_transposed] == sides[0] && b_sides[!b_is_transposed] == sides[1] &&
          a_sides[!a_is_transposed] == b_sides[b_is_transposed])
        return matrices(a, b, a_is_transposed, b_is_transposed, flops);
    }
  }
  return FLOPS_UNKNOWN;
}

static enum flops_status count_matrix_product(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  const struct flops_shape *a = tensor(call, 0, 2), *b = tensor(call, 1, 2);
  bool a_is_transposed = is_set(call, "transpose_a") || is_set(call, "adj_x");
  if (a && b && !call->attributes.bytes && call->output.count == 1)
    return product_of_result(a, b, &call->output.shapes[0], flops);
  if (a && b) return matrices(a, b, a_is_transposed, is_set(call, "transpose_b") || is_set(call, "adj_y"), flops);
  /* As TensorFlow counts: one operand and the result do. */
  if (!a || call->output.count != 1) return FLOPS_UNKNOWN;
  return elements(&call->output.shapes[0], a->sizes[a->count - (a_is_transposed ? 2 : 1)], flops)
             ? FLOPS_UNKNOWN
             : (__builtin_mul_overflow(*flops, 2, flops) ? FLOPS_OVERFLOW : FLOPS_KNOWN);
}

static enum flops_status count_linear(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  const struct flops_shape *input = tensor(call, 0, 1), *weight = tensor(call, 1, 1);
  if (!input || !weight || weight->count > 2 || input->sizes[input->count - 1] != weight->sizes[weight->count - 1])
    return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, 2);
  times_elements(&product, input);
  if (weight->count == 2) times(&product, weight->sizes[0]);
  return flops_of_product(&product, flops);
}

static enum flops_status count_outer_product(const struct flops_call *call, int64_t first, int64_t *flops) {
  const struct flops_shape *a = tensor(call, (uint32_t)first, 1), *b = tensor(call, (uint32_t)first + 1, 1);
  if (!a || !b) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, first ? 2 : 1); /* addr adds */
  times_elements(&product, a);
  times_elements(&product, b);
  return flops_of_product(&product, flops);
}

/* The groups lie along a dimension of their own, or one after the other along m, k or n of a plain matrix. */
static enum flops_status count_grouped_product(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  const struct flops_shape *a = tensor(call, 0, 2), *b = tensor(call, 1, 2);
  if (!a || !b || a->count > 3 || b->count > 3) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, 2);
  times_elements(&product, a->count == 3 && b->count == 2 ? b : a);
  if (a->count == 3 && b->count == 2) times(&product, a->sizes[1]);
  else times(&product, b->sizes[b->count - 1]);
  return flops_of_product(&product, flops);
}

/* 2 * (the product of the sizes of all letters). An ellipsis stands for the dimensions that are left, broadcast. */
static enum flops_status count_einsum(const struct flops_call *call, int64_t number, int64_t *flops) {
  struct flops_value equation;
  int64_t letters[128];
  struct product product = product_from(1);
  (void)number;
  if (!flops_named(call, "equation", &equation)) return FLOPS_UNKNOWN;
  const char *at = equation.text.bytes, *end = at + equation.text.length;
  for (int i = 0; i < 128; i++) letters[i] = -1;
  times(&product, 2);
  struct flops_shape left[FLOPS_INPUTS];
  const struct flops_shape *lefts[FLOPS_INPUTS];
  uint32_t left_count = 0;
  for (uint32_t input = 0; input < call->input_count; input++) {
    const struct flops_shape *shape = tensor(call, input, 0);
    uint32_t place = 0, named = 0;
    if (!shape) return FLOPS_UNKNOWN;
    const char *last = at;
    while (last < end && *last != ',' && *last != '-') last++;
    for (const char *letter = at; letter < last; letter++) named += *letter != '.' && *letter != ' ';
    if (named > shape->count) return FLOPS_UNKNOWN;
    for (; at < last; at++) {
      if (*at == ' ') continue;
      if (*at == '.') {
        left[left_count] = (struct flops_shape){shape->sizes + place, shape->count - named, true};
        lefts[left_count] = &left[left_count];
        left_count++;
        place += shape->count - named;
        while (at + 1 < last && at[1] == '.') at++;
        continue;
      }
      if (*at < 0 || place >= shape->count) return FLOPS_UNKNOWN;
      int64_t size = shape->sizes[place++], *known = &letters[(unsigned char)*at];
      if (*known >= 0 && *known != size && *known != 1 && size != 1) return FLOPS_UNKNOWN;
      if (size > *known) *known = size;
    }
    if (place != shape->count) return FLOPS_UNKNOWN;
    if (at < end && *at == ',') at++;
  }
  if (at < end && *at != '-') return FLOPS_UNKNOWN; /* more operands than inputs */
  for (int i = 0; i < 128; i++)
    if (letters[i] >= 0) times(&product, letters[i]);
  times_broadcast(&product, lefts, left_count, 0);
  return flops_of_product(&product, flops);
}

/* ---- Convolutions of PyTorch: n, c, spatial; weight c_out, c_in / groups, kernel; transposed c_in, c_out / groups. */

/* A list of one number, or a number, stands for all dimensions. */
static int64_t of_dimension(const struct flops_value *value, uint32_t dimension) {
  return value->numbers[value->count == 1 ? 0 : dimension];
}

/* An argument by its place in a list of attributes, or by its name in an object, where one that is missing has its
** default. */
static bool argument(const struct flops_call *call, unsigned place, const char *name, int64_t standard,
                     struct flops_value *value) {
  const struct flops_text *attributes = &call->attributes;
  size_t spaces = 0;
  if (place != NOWHERE && (flops_placed(call, place, value) || flops_named(call, name, value))) return true;
  *value = (struct flops_value){.numbers = {standard}, .count = 1};
  while (spaces < attributes->length && attributes->bytes[spaces] == ' ') spaces++;
  return place == NOWHERE || (spaces < attributes->length && attributes->bytes[spaces] == '{');
}

static bool window_argument(const struct flops_call *call, unsigned place, const char *name, int64_t standard,
                            uint32_t dimensions, struct flops_value *value) {
  return argument(call, place, name, standard, value) && (value->count == 1 || value->count == dimensions);
}

int64_t flops_window_count(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t most = INT64_C(1) << 40;
  if (in < 0 || kernel < 1 || stride < 1 || padding < 0 || dilation < 1) return -1;
  if (in > most || kernel > most || padding > most || dilation > most / kernel) return -1;
  int64_t reach = dilation * (kernel - 1) + 1, room = in + 2 * padding - reach;
  return room < 0 ? -1 : room / stride + 1;
}

static int flag_at(const struct flops_call *call, unsigned place) {
  struct flops_value value;
  if (place == NEVER || place == ALWAYS) return place == ALWAYS;
  if (!argument(call, place, "transposed", 0, &value) || value.count != 1) return -1;
  return value.numbers[0] != 0;
}

/* Which of the two a convolution is by its channels: 0, 1 (transposed), -1: it may be both, or is neither. Where both
** fit, only one that is not transposed makes an image smaller, unless it is padded by more than its window; and where
** input and output are of one size both take as much. */
static int transposed_by_sizes(const struct flops_shape *input, const struct flops_shape *weight,
                               const struct flops_shape *output) {
  if (!output->is_known || input->count != output->count || weight->count != input->count) return -1;
  int64_t in = input->sizes[1], out = output->sizes[1], first = weight->sizes[0], second = weight->sizes[1];
  if (in < 1 || out < 1 || first < 1 || second < 1 || input->sizes[0] != output->sizes[0]) return -1;
  bool is_plain = out == first && in % second == 0 && first % (in / second) == 0;
  bool is_transposed = in == first && out % second == 0 && first % (out / second) == 0;
  bool is_larger = false;
  for (uint32_t i = 2; i < input->count; i++) is_larger |= output->sizes[i] > input->sizes[i];
  if (is_plain && is_transposed) return is_larger ? -1 : 0;
  return is_plain ? 0 : is_transposed ? 1 : -1;
}

struct windows {
  struct flops_value stride, padding, dilation;
};

static bool read_windows(const struct flops_call *call, int64_t places, uint32_t spatial, struct windows *windows) {
  return window_argument(call, places & 255, "stride", 1, spatial, &windows->stride) &&
         window_argument(call, places >> 8 & 255, "padding", 0, spatial, &windows->padding) &&
         window_argument(call, places >> 16 & 255, "dilation", 1, spatial, &windows->dilation);
}

static int64_t windows_of(const struct windows *windows, uint32_t dimension, int64_t in, int64_t kernel) {
  return flops_window_count(in, kernel, of_dimension(&windows->stride, dimension),
                      of_dimension(&windows->padding, dimension), of_dimension(&windows->dilation, dimension));
}

static enum flops_status count_convolution(const struct flops_call *call, int64_t places, int64_t *flops) {
  const struct flops_shape *input = tensor(call, 0, 1), *weight = tensor(call, 1, 3);
  if (!input || !weight || (input->count != weight->count && input->count + 1 != weight->count)) return FLOPS_UNKNOWN;
  uint32_t before = input->count == weight->count ? 2 : 1, spatial = weight->count - 2;
  struct product product = product_from(1);
  times(&product, 2);
  times_elements(&product, weight);
  if (before == 2) times(&product, input->sizes[0]);
  int is_transposed = flag_at(call, places >> 24 & 255);
  if (is_transposed < 0 && call->output.count == 1)
    is_transposed = transposed_by_sizes(input, weight, &call->output.shapes[0]);
  if (is_transposed < 0) return FLOPS_UNKNOWN;
  if (is_transposed) {
    times_sizes(&product, input, before, input->count);
    return flops_of_product(&product, flops);
  }
  if (call->output.count == 1 && call->output.shapes[0].count == input->count) {
    times_sizes(&product, &call->output.shapes[0], before, input->count);
    return flops_of_product(&product, flops);
  }
  struct windows windows;
  if (!read_windows(call, places, spatial, &windows)) return FLOPS_UNKNOWN;
  for (uint32_t i = 0; i < spatial; i++)
    times(&product, windows_of(&windows, i, input->sizes[before + i], weight->sizes[2 + i]));
  return flops_of_product(&product, flops);
}

/* The gradient of the input takes what the forward convolution took; that of the weight is counted by torch without
** regard to groups: 2 * n * c_out * c_in * kernel * spatial of the smaller side. */
static enum flops_status count_convolution_backward(const struct flops_call *call, int64_t places, int64_t *flops) {
  struct flops_value mask;
  const struct flops_shape *gradient = tensor(call, 0, 3), *input = tensor(call, 1, 3), *weight = tensor(call, 2, 3);
  if (!gradient || !input || !weight || gradient->count != weight->count || input->count != weight->count)
    return FLOPS_UNKNOWN;
  int is_transposed = flag_at(call, places & 255);
  bool has_mask = flops_placed(call, places >> 8 & 255, &mask) || flops_named(call, "output_mask", &mask);
  if (is_transposed < 0 || !has_mask || mask.count != 3) return FLOPS_UNKNOWN;
  const struct flops_shape *smaller = is_transposed ? input : gradient;
  enum flops_status status = FLOPS_KNOWN;
  *flops = 0;
  for (int which = 0; which < 2 && !status; which++) {
    int64_t one = 0;
    struct product product = product_from(1);
    if (!mask.numbers[which]) continue;
    times(&product, 2);
    times(&product, gradient->sizes[0]);
    times_sizes(&product, smaller, 2, smaller->count);
    if (which == 0) {
      times_elements(&product, weight);
    } else {
      times(&product, gradient->sizes[1]);
      times(&product, input->sizes[1]);
      times_sizes(&product, weight, 2, weight->count);
    }
    status = flops_of_product(&product, &one);
    status = add_to(flops, status, one);
  }
  return status;
}

/* The gradient of the weight alone, as a separate op: sizes of the weight's list, gradient of the output, input. */
static enum flops_status count_weight_gradient(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  const struct flops_shape *gradient = tensor(call, 1, 3), *input = tensor(call, 2, 3);
  const struct flops_shape *weight = call->output.count == 1 ? &call->output.shapes[0] : NULL;
  if (!gradient || !input || !weight || weight->count != gradient->count || input->count != gradient->count)
    return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, 2);
  times_elements(&product, gradient);
  times(&product, input->sizes[1]);
  times_sizes(&product, weight, 2, weight->count);
  return flops_of_product(&product, flops);
}

/* The gradient of the input alone: sizes of the input's list, gradient of the output, weight. */
static enum flops_status count_input_gradient(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  const struct flops_shape *gradient = tensor(call, 1, 3), *weight = tensor(call, 2, 3);
  if (!gradient || !weight || weight->count != gradient->count) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, 2);
  times(&product, gradient->sizes[0]);
  times_sizes(&product, gradient, 2, gradient->count);
  times_elements(&product, weight);
  return flops_of_product(&product, flops);
}

/* ---- Attention and recurrent layers. */

/* `lengths`: the input that, when given, holds the lengths of sequences packed one after the other, which shapes do not
** tell; sequences lie second there and heads third, elsewhere heads lie before sequences. */
static enum flops_status attend(const struct flops_call *call, uint32_t first, int64_t lengths, int64_t d_qk_factor,
                                int64_t d_v_factor, int64_t *flops) {
  const struct flops_shape *q = tensor(call, first, 2), *k = tensor(call, first + 1, 2),
                           *v = tensor(call, first + 2, 2);
  if (!q || !k || !v || q->count != k->count || k->count != v->count) return FLOPS_UNKNOWN;
  const struct flops_shape *packed = lengths ? tensor(call, (uint32_t)lengths, 1) : NULL;
  if (packed || (lengths && q->count != 4)) return FLOPS_UNKNOWN;
  uint32_t sequence = lengths ? 1 : q->count - 2, last = q->count - 1;
  if (q->sizes[last] != k->sizes[last] || k->sizes[sequence] != v->sizes[sequence]) return FLOPS_UNKNOWN;
  struct product width = product_from(1), product = product_from(1);
  int64_t sum = 0, part = 0;
  times(&width, d_qk_factor);
  times(&width, q->sizes[last]);
  enum flops_status status = flops_of_product(&width, &part);
  status = add_to(&sum, status, part);
  width = product_from(1);
  times(&width, d_v_factor);
  times(&width, v->sizes[last]);
  if (!status) status = flops_of_product(&width, &part);
  status = add_to(&sum, status, part);
  if (status) return status;
  times(&product, 2);
  times(&product, sum);
  times_sizes(&product, q, 0, last); /* heads of the queries: those of keys and values may be shared */
  times(&product, k->sizes[sequence]);
  return flops_of_product(&product, flops);
}

static enum flops_status count_attention(const struct flops_call *call, int64_t lengths, int64_t *flops) {
  return attend(call, 0, lengths, 1, 1, flops);
}

/* Scores anew and both gradients of theirs: three products over d_qk, two over d_v. */
static enum flops_status count_attention_backward(const struct flops_call *call, int64_t lengths, int64_t *flops) {
  return attend(call, 1, lengths, 3, 2, flops);
}

static enum flops_status count_recurrent(const struct flops_call *call, int64_t factor, int64_t *flops) {
  const struct flops_shape *input = tensor(call, 0, 2);
  int64_t sum = 0;
  enum flops_status status = input ? FLOPS_KNOWN : FLOPS_UNKNOWN;
  for (uint32_t i = 1; i <= 2 && !status; i++) {
    const struct flops_shape *weight = tensor(call, i, 2);
    struct product product = product_from(1);
    int64_t one = 0;
    if (!weight) return FLOPS_UNKNOWN;
    times(&product, factor);
    times_elements(&product, weight);
    times_sizes(&product, input, 0, input->count - 1);
    status = flops_of_product(&product, &one);
    status = add_to(&sum, status, one);
  }
  *flops = sum;
  return status;
}

static enum flops_status count_recurrent_list(const struct flops_call *call, int64_t factor, int64_t *flops) {
  const struct flops_shape *input = tensor(call, 0, 2);
  if (!input || call->input_count < 2 || !call->inputs[1].is_list) return FLOPS_UNKNOWN;
  const struct flops_input *weights = &call->inputs[1];
  enum flops_status status = FLOPS_KNOWN;
  *flops = 0;
  for (uint32_t i = 0; i < weights->count && !status; i++) {
    struct product product = product_from(1);
    int64_t one = 0;
    if (weights->shapes[i].is_known && weights->shapes[i].count < 2) continue; /* biases */
    times(&product, factor);
    times_elements(&product, &weights->shapes[i]);
    times_sizes(&product, input, 0, input->count - 1);
    status = flops_of_product(&product, &one);
    status = add_to(flops, status, one);
  }
  return status;
}

/* ---- Images of TensorFlow: filter kernel, c_in, c_out; images n, spatial, c or, in the formats NC..., n, c,
** spatial. */

static bool channels_second(const struct flops_call *call) {
  struct flops_value format;
  return flops_named(call, "data_format", &format) && format.text.length > 1 && !memcmp(format.text.bytes, "NC", 2);
}

/* The size of one dimension of a list that has an entry for each dimension of the image; 1 when the list is absent. */
static int64_t image_number(const struct flops_call *call, const char *name, uint32_t dimensions, uint32_t dimension) {
  struct flops_value value;
  if (!flops_named(call, name, &value)) return 1;
  return value.count == dimensions ? value.numbers[dimension] : -1;
}

static int64_t image_windows(const struct flops_call *call, int64_t in, int64_t kernel, uint32_t dimensions,
                             uint32_t dimension, const char *stride_name, const char *dilation_name) {
  struct flops_value padding;
  int64_t stride = image_number(call, stride_name, dimensions, dimension),
          dilation = image_number(call, dilation_name, dimensions, dimension);
  if (stride < 1 || dilation < 1 || !flops_named(call, "padding", &padding)) return -1;
  if (padding.text.length == 4 && !memcmp(padding.text.bytes, "SAME", 4)) return in < 1 ? in : (in - 1) / stride + 1;
  if (padding.text.length != 5 || memcmp(padding.text.bytes, "VALID", 5)) return -1;
  return flops_window_count(in, kernel, stride, 0, dilation);
}

/* Multiplies by the elements of the output of an op that moves a window over an image; `channels`: of the output. */
static void times_image_output(struct product *product, const struct flops_call *call, const struct flops_shape *filter,
                               int64_t channels, const char *stride_name, const char *dilation_name) {
  if (call->output.count) {
    times_elements(product, &call->output.shapes[0]);
    return;
  }
  const struct flops_shape *image = tensor(call, 0, 3);
  if (!image || !filter || filter->count + 1 < image->count) {
    product->is_unknown = true;
    return;
  }
  uint32_t first = channels_second(call) ? 2 : 1, spatial = image->count - 2;
  times(product, image->sizes[0]);
  times(product, channels);
  for (uint32_t i = 0; i < spatial; i++)
    times(product, image_windows(call, image->sizes[first + i], filter->sizes[i], image->count, first + i, stride_name,
                                 dilation_name));
}

static enum flops_status count_image_convolution(const struct flops_call *call, int64_t is_depthwise, int64_t *flops) {
  const struct flops_shape *filter = tensor(call, 1, 3);
  if (!filter) return FLOPS_UNKNOWN;
  struct product product = product_from(1), channels = product_from(1);
  int64_t out_channels;
  uint32_t last = filter->count - 1;
  times(&channels, filter->sizes[last]);
  if (is_depthwise) times(&channels, filter->sizes[last - 1]);
  enum flops_status status = flops_of_product(&channels, &out_channels);
  if (status) return status;
  times(&product, 2);
  times_sizes(&product, filter, 0, is_depthwise ? last - 1 : last);
  times_image_output(&product, call, filter, out_channels, "strides", "dilations");
  return flops_of_product(&product, flops);
}

static enum flops_status count_dilation(const struct flops_call *call, int64_t number, int64_t *flops) {
  const struct flops_shape *filter = tensor(call, 1, 3);
  (void)number;
  if (!filter) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, 2);
  times_sizes(&product, filter, 0, filter->count - 1);
  times_image_output(&product, call, filter, filter->sizes[filter->count - 1], "strides", "rates");
  return flops_of_product(&product, flops);
}

/* Gradients of an op that moves a window, by the gradient of its output: 2 * gradient * kernel * c_in / groups, of
** depthwise ones without the channels, since each of the output has one of the input. */
static enum flops_status grad_of_windows(const struct flops_call *call, const struct flops_shape *filter,
                                         bool is_depthwise, int64_t *flops) {
  const struct flops_shape *gradient = tensor(call, 2, 3);
  if (!gradient || !filter->is_known || filter->count < 3) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, 2);
  times_elements(&product, gradient);
  times_sizes(&product, filter, 0, filter->count - (is_depthwise ? 2 : 1));
  return flops_of_product(&product, flops);
}

static enum flops_status count_windowed_input_grad(const struct flops_call *call, int64_t is_depthwise,
                                                   int64_t *flops) {
  if (call->input_count < 3) return FLOPS_UNKNOWN;
  return grad_of_windows(call, &call->inputs[1].shapes[0], is_depthwise, flops);
}

static enum flops_status count_windowed_filter_grad(const struct flops_call *call, int64_t is_depthwise,
                                                    int64_t *flops) {
  if (call->input_count < 3 || !call->output.count) return FLOPS_UNKNOWN;
  return grad_of_windows(call, &call->output.shapes[0], is_depthwise, flops);
}

/* 2 * image * filter / (channels of the image * strides), both gradients of a convolution. */
static enum flops_status grad_of_image(const struct flops_call *call, const struct flops_shape *image,
                                       const struct flops_shape *filter, int64_t *flops) {
  if (!image->is_known || image->count < 3) return FLOPS_UNKNOWN;
  uint32_t first = channels_second(call) ? 2 : 1;
  struct product product = product_from(1), divisor = product_from(1);
  int64_t divided_by = 0;
  times(&product, 2);
  times_elements(&product, image);
  times_elements(&product, filter);
  times(&divisor, image->sizes[first == 2 ? 1 : image->count - 1]);
  for (uint32_t i = 0; i + 2 < image->count; i++)
    times(&divisor, image_number(call, "strides", image->count, first + i));
  enum flops_status status = flops_of_product(&divisor, &divided_by);
  if (!status) status = flops_of_product(&product, flops);
  if (!status && !divided_by) return FLOPS_UNKNOWN;
  if (!status) *flops /= divided_by;
  return status;
}

static enum flops_status count_convolution_input_grad(const struct flops_call *call, int64_t number, int64_t *flops) {
  if (!call->attributes.bytes) return count_windowed_input_grad(call, number, flops); /* the strides are not known */
  if (!call->output.count || call->input_count < 2) return FLOPS_UNKNOWN;
  return grad_of_image(call, &call->output.shapes[0], &call->inputs[1].shapes[0], flops);
}

static enum flops_status count_convolution_filter_grad(const struct flops_call *call, int64_t number, int64_t *flops) {
  if (!call->attributes.bytes) return count_windowed_filter_grad(call, number, flops);
  if (!call->output.count || !call->input_count) return FLOPS_UNKNOWN;
  return grad_of_image(call, &call->inputs[0].shapes[0], &call->output.shapes[0], flops);
}

static enum flops_status window_of(const struct flops_call *call, int64_t *window) {
  struct flops_value size;
  struct product product = product_from(1);
  if (!flops_named(call, "ksize", &size) || !size.count) return FLOPS_UNKNOWN;
  for (uint32_t i = 0; i < size.count; i++) times(&product, size.numbers[i]);
  return flops_of_product(&product, window);
}

static enum flops_status count_pool(const struct flops_call *call, int64_t number, int64_t *flops) {
  struct flops_value size;
  const struct flops_shape *image = tensor(call, 0, 3);
  int64_t window = 0;
  (void)number;
  enum flops_status status = window_of(call, &window);
  if (status) return status;
  if (call->output.count) return elements(&call->output.shapes[0], window, flops);
  if (!image || !flops_named(call, "ksize", &size) || size.count != image->count) return FLOPS_UNKNOWN;
  uint32_t first = channels_second(call) ? 2 : 1;
  struct flops_shape kernel = {size.numbers + first, image->count, true};
  struct product product = product_from(1);
  times(&product, window);
  times_image_output(&product, call, &kernel, image->sizes[first == 2 ? 1 : image->count - 1], "strides", "");
  return flops_of_product(&product, flops);
}

/* is_maximum: MaxPoolGrad(input, output, gradient), else AvgPoolGrad(shape of the input, gradient). */
static enum flops_status count_pool_grad(const struct flops_call *call, int64_t is_maximum, int64_t *flops) {
  int64_t window = 0;
  enum flops_status status = window_of(call, &window);
  if (status) return status;
  if (call->input_count < 2 || window >= INT64_MAX / 2) return FLOPS_UNKNOWN;
  return elements(&call->inputs[1].shapes[0], is_maximum ? window + 1 : window * 2, flops);
}

/* ---- Ops of TensorFlow that are several in one. */

static enum flops_status count_batch_norm(const struct flops_call *call, int64_t number, int64_t *flops) {
  struct flops_value is_training;
  (void)number;
  bool is_told = flops_named(call, "is_training", &is_training) && is_training.count == 1;
  bool has_moments = is_told && !is_training.numbers[0];
  return call->input_count ? elements(&call->inputs[0].shapes[0], has_moments ? 4 : 7, flops) : FLOPS_UNKNOWN;
}

/* An operation of each number for each input beyond the first two: the bias, the four of a normalisation (difference,
** quotient, scale and shift), and what is added. */
static enum flops_status add_fused(const struct flops_call *call, enum flops_status status, int64_t *flops) {
  uint32_t more = call->input_count > 2 ? call->input_count - 2 : 0;
  int64_t extra = 0;
  if (status || !more) return status;
  if (!call->output.count) return FLOPS_UNKNOWN;
  status = elements(&call->output.shapes[0], more, &extra);
  return add_to(flops, status, extra);
}

static enum flops_status count_fused_convolution(const struct flops_call *call, int64_t is_depthwise, int64_t *flops) {
  return add_fused(call, count_image_convolution(call, is_depthwise, flops), flops);
}

static enum flops_status count_fused_product(const struct flops_call *call, int64_t number, int64_t *flops) {
  return add_fused(call, count_matrix_product(call, number, flops), flops);
}

/* Steps of a recurrent layer that are one op. Places: of the input, which is (time,) batch and width, and of the weight
** matrices. */
static enum flops_status count_recurrent_block(const struct flops_call *call, int64_t places, int64_t *flops) {
  const struct flops_shape *input = tensor(call, places & 255, 2);
  enum flops_status status = input ? FLOPS_KNOWN : FLOPS_UNKNOWN;
  *flops = 0;
  for (int shift = 8; shift <= 16 && !status; shift += 8) {
    uint32_t place = places >> shift & 255;
    if (place == NOWHERE) continue;
    const struct flops_shape *weight = tensor(call, place, 2);
    struct product product = product_from(1);
    int64_t one = 0;
    if (!weight) return FLOPS_UNKNOWN;
    times(&product, 2);
    times_sizes(&product, input, 0, input->count - 1);
    times_elements(&product, weight);
    status = flops_of_product(&product, &one);
    status = add_to(flops, status, one);
  }
  return status;
}

static enum flops_status count_unknown(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)call;
  (void)number;
  (void)flops;
  return FLOPS_UNKNOWN;
}

/* ---- The table. */

struct table_row {
  struct flops_formula formula;
  enum flops_status (*count)(const struct flops_call *call, int64_t number, int64_t *flops);
  int64_t number;
};

static const struct table_row rows[] = {
#define FLOPS(op_type, kind, function, number, text, source) \
  {{op_type, FLOPS_##kind, text, source}, count_##function, number},
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
  return row && row->count == count_convolution;
}

uint32_t flops_convolved_sizes(const struct flops_call *call, struct flops_text op_type, int64_t *sizes) {
  struct windows windows;
  bool is_foreach;
  const struct table_row *row = op_type.bytes ? find_row(op_type.bytes, op_type.length, &is_foreach) : NULL;
  const struct flops_shape *input = tensor(call, 0, 3), *weight = tensor(call, 1, 3);
  if (!row || row->count != count_convolution || !input || !weight || input->count != weight->count) return 0;
  uint32_t spatial = weight->count - 2;
  if (weight->count > FLOPS_VALUES || flag_at(call, row->number >> 24 & 255)) return 0;
  if (!read_windows(call, row->number, spatial, &windows)) return 0;
  sizes[0] = input->sizes[0];
  sizes[1] = weight->sizes[0];
  for (uint32_t i = 0; i < spatial; i++) {
    sizes[2 + i] = windows_of(&windows, i, input->sizes[2 + i], weight->sizes[2 + i]);
    if (sizes[2 + i] < 0) return 0;
  }
  return weight->count;
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
