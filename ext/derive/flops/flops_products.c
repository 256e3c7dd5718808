/* flops_products.c: formulas of products of matrices. */
#include "derive/flops/flops_formulas.h"

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

enum flops_status flops_count_product_of(const struct flops_call *call, int64_t first, int64_t *flops) {
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

enum flops_status flops_count_matrix_product(const struct flops_call *call, int64_t number, int64_t *flops) {
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

enum flops_status flops_count_linear(const struct flops_call *call, int64_t number, int64_t *flops) {
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

enum flops_status flops_count_outer_product(const struct flops_call *call, int64_t first, int64_t *flops) {
  const struct flops_shape *a = tensor(call, (uint32_t)first, 1), *b = tensor(call, (uint32_t)first + 1, 1);
  if (!a || !b) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, first ? 2 : 1); /* addr adds */
  times_elements(&product, a);
  times_elements(&product, b);
  return flops_of_product(&product, flops);
}

/* The groups lie along a dimension of their own, or one after the other along m, k or n of a plain matrix. */
enum flops_status flops_count_grouped_product(const struct flops_call *call, int64_t number, int64_t *flops) {
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
enum flops_status flops_count_einsum(const struct flops_call *call, int64_t number, int64_t *flops) {
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
