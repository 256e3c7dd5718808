/* flops_convolutions.c: formulas of PyTorch's convolutions and of their gradients.
**
** Images are n, c, spatial; weights c_out, c_in / groups, kernel, transposed c_in, c_out / groups, kernel.
*/
#include "derive/flops/flops_formulas.h"

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

enum flops_status flops_count_convolution(const struct flops_call *call, int64_t places, int64_t *flops) {
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
enum flops_status flops_count_convolution_backward(const struct flops_call *call, int64_t places, int64_t *flops) {
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
enum flops_status flops_count_weight_gradient(const struct flops_call *call, int64_t number, int64_t *flops) {
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
enum flops_status flops_count_input_gradient(const struct flops_call *call, int64_t number, int64_t *flops) {
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

uint32_t flops_sizes_of_convolution(const struct flops_call *call, int64_t places, int64_t *sizes) {
  struct windows windows;
  const struct flops_shape *input = tensor(call, 0, 3), *weight = tensor(call, 1, 3);
  if (!input || !weight || input->count != weight->count) return 0;
  uint32_t spatial = weight->count - 2;
  if (weight->count > FLOPS_VALUES || flag_at(call, places >> 24 & 255)) return 0;
  if (!read_windows(call, places, spatial, &windows)) return 0;
  sizes[0] = input->sizes[0];
  sizes[1] = weight->sizes[0];
  for (uint32_t i = 0; i < spatial; i++) {
    sizes[2 + i] = windows_of(&windows, i, input->sizes[2 + i], weight->sizes[2 + i]);
    if (sizes[2 + i] < 0) return 0;
  }
  return weight->count;
}
