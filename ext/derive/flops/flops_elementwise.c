/* flops_elementwise.c: formulas of ops that take each number once, and of sums. */
#include <string.h>

#include "derive/flops/flops_formulas.h"

enum flops_status flops_count_listed(const struct flops_call *call, int64_t factor, int64_t *flops) {
  if (!call->input_count || !call->inputs[0].is_list) return FLOPS_UNKNOWN;
  return elements_of_all(&call->inputs[0], factor, flops);
}

enum flops_status flops_count_elementwise(const struct flops_call *call, int64_t factor, int64_t *flops) {
  if (call->output.count) return elements_of_all(&call->output, factor, flops);
  if (call->is_foreach) return flops_count_listed(call, factor, flops);
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

enum flops_status flops_count_first(const struct flops_call *call, int64_t factor, int64_t *flops) {
  if (!call->input_count || (call->is_foreach && !call->inputs[0].is_list)) return FLOPS_UNKNOWN;
  return elements_of_all(&call->inputs[0], factor, flops);
}

enum flops_status flops_count_nothing(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)call;
  (void)number;
  *flops = 0;
  return FLOPS_KNOWN;
}

enum flops_status flops_count_add_n(const struct flops_call *call, int64_t number, int64_t *flops) {
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

enum flops_status flops_count_reduction(const struct flops_call *call, int64_t number, int64_t *flops) {
  int64_t in = 0, out = 0;
  (void)number;
  if (!call->input_count || !call->output.count) return FLOPS_UNKNOWN;
  enum flops_status status = elements(&call->inputs[0].shapes[0], 1, &in);
  if (!status) status = elements_of_all(&call->output, 1, &out);
  return less(status, in, out, flops);
}

/* Sums over all but the channels, which are last, or second in the formats that begin with NC. */
enum flops_status flops_count_bias_grad(const struct flops_call *call, int64_t number, int64_t *flops) {
  struct flops_value format;
  int64_t in = 0;
  const struct flops_shape *shape = tensor(call, 0, 1);
  if (call->output.count) return flops_count_reduction(call, number, flops);
  if (!shape) return FLOPS_UNKNOWN;
  bool is_second = flops_named(call, "data_format", &format) && format.text.length > 1 &&
                   !memcmp(format.text.bytes, "NC", 2) && shape->count > 1;
  enum flops_status status = elements(shape, 1, &in);
  return less(status, in, shape->sizes[is_second ? 1 : shape->count - 1], flops);
}

enum flops_status flops_count_l2_loss(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)number;
  if (!call->input_count) return FLOPS_UNKNOWN;
  enum flops_status status = elements(&call->inputs[0].shapes[0], 3, flops);
  if (!status && *flops) *flops -= 1;
  return status;
}

enum flops_status flops_count_embedding_bag(const struct flops_call *call, int64_t number, int64_t *flops) {
  const struct flops_shape *weight = tensor(call, 0, 2), *indices = tensor(call, 1, 1);
  if (!weight || !indices) return FLOPS_UNKNOWN;
  struct product product = product_from(1);
  times(&product, number);
  times_elements(&product, indices);
  times(&product, weight->sizes[1]);
  return flops_of_product(&product, flops);
}

enum flops_status flops_count_unknown(const struct flops_call *call, int64_t number, int64_t *flops) {
  (void)call;
  (void)number;
  (void)flops;
  return FLOPS_UNKNOWN;
}
