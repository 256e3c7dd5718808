/* flops_formulas.h: what the formulas of flops.def are made of.
**
** flops.c finds the formula of an op type.  The functions that count are in flops_elementwise.c, flops_products.c,
** flops_layers.c, flops_convolutions.c and flops_images.c.  Each works on the shapes that flops_text.c has read and
** multiplies in a struct product, which never wraps: it remembers a size that is not known and a number that is too
** large, and a factor of 0 makes everything 0.
*/
#ifndef TFPROF_FLOPS_FORMULAS_H
#define TFPROF_FLOPS_FORMULAS_H

#include "derive/flops/flops_call.h"

/* Places of arguments in flops.def: an input that is not there, and a flag that needs none. */
enum { NOWHERE = 255, NEVER = 254, ALWAYS = 253 };

/* flops_count_NAME of every line of the table. */
#define FLOPS(op_type, kind, function, number, text, source) \
  enum flops_status flops_count_##function(const struct flops_call *call, int64_t factor_or_places, int64_t *flops);
#include "derive/flops/flops.def"
#undef FLOPS

/* flops_convolved_sizes of a convolution whose arguments have these places. */
uint32_t flops_sizes_of_convolution(const struct flops_call *call, int64_t places, int64_t *sizes);

struct product {
  int64_t value;
  bool is_zero, is_unknown, is_too_large;
};

static inline struct product product_from(int64_t factor) {
  return (struct product){.value = 1, .is_zero = factor == 0};
}

static inline void times(struct product *product, int64_t factor) {
  if (factor < 0) product->is_unknown = true;
  if (factor == 0) product->is_zero = true;
  if (!product->is_too_large && factor > 0)
    product->is_too_large = __builtin_mul_overflow(product->value, factor, &product->value);
}

static inline void times_sizes(struct product *product, const struct flops_shape *shape, uint32_t first,
                               uint32_t last) {
  if (!shape->is_known) product->is_unknown = true;
  for (uint32_t i = first; i < last && shape->is_known; i++) times(product, shape->sizes[i]);
}

static inline void times_elements(struct product *product, const struct flops_shape *shape) {
  times_sizes(product, shape, 0, shape->count);
}

static inline enum flops_status flops_of_product(const struct product *product, int64_t *flops) {
  if (product->is_unknown) return FLOPS_UNKNOWN;
  if (product->is_too_large && !product->is_zero) return FLOPS_OVERFLOW;
  *flops = product->is_zero ? 0 : product->value;
  return FLOPS_KNOWN;
}

/* factor * (number of elements) */
static inline enum flops_status elements(const struct flops_shape *shape, int64_t factor, int64_t *count) {
  struct product product = product_from(1);
  times(&product, factor);
  times_elements(&product, shape);
  return flops_of_product(&product, count);
}

static inline enum flops_status add_to(int64_t *sum, enum flops_status status, int64_t more) {
  if (status) return status;
  return __builtin_add_overflow(*sum, more, sum) ? FLOPS_OVERFLOW : FLOPS_KNOWN;
}

static inline enum flops_status elements_of_all(const struct flops_input *input, int64_t factor, int64_t *count) {
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
static inline const struct flops_shape *tensor(const struct flops_call *call, uint32_t place, uint32_t dimensions) {
  if (place >= call->input_count || call->inputs[place].is_list) return NULL;
  const struct flops_shape *shape = &call->inputs[place].shapes[0];
  return shape->is_known && shape->count >= dimensions ? shape : NULL;
}

/* Multiplies by the sizes that two or more shapes have together when they are broadcast, the last `skipped` of each
** left out. */
static inline void times_broadcast(struct product *product, const struct flops_shape *const *shapes, uint32_t count,
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

#endif
