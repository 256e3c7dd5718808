/* flops_layers.c: formulas of attention and of recurrent layers. */
#include "derive/flops/flops_formulas.h"

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

enum flops_status flops_count_attention(const struct flops_call *call, int64_t lengths, int64_t *flops) {
  return attend(call, 0, lengths, 1, 1, flops);
}

/* Scores anew and both gradients of theirs: three products over d_qk, two over d_v. */
enum flops_status flops_count_attention_backward(const struct flops_call *call, int64_t lengths, int64_t *flops) {
  return attend(call, 1, lengths, 3, 2, flops);
}

enum flops_status flops_count_recurrent(const struct flops_call *call, int64_t factor, int64_t *flops) {
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

enum flops_status flops_count_recurrent_list(const struct flops_call *call, int64_t factor, int64_t *flops) {
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

/* Steps of a recurrent layer that are one op. Places: of the input, which is (time,) batch and width, and of the weight
** matrices. */
enum flops_status flops_count_recurrent_block(const struct flops_call *call, int64_t places, int64_t *flops) {
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
