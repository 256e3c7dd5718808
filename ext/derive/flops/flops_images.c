/* flops_images.c: formulas of TensorFlow's convolutions and pools, of their gradients, and of ops that are several in
** one.
**
** Filters are kernel, c_in, c_out; images n, spatial, c or, in the formats NC..., n, c, spatial.
*/
#include <string.h>

#include "derive/flops/flops_formulas.h"

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

enum flops_status flops_count_image_convolution(const struct flops_call *call, int64_t is_depthwise, int64_t *flops) {
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

enum flops_status flops_count_dilation(const struct flops_call *call, int64_t number, int64_t *flops) {
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

enum flops_status flops_count_windowed_input_grad(const struct flops_call *call, int64_t is_depthwise, int64_t *flops) {
  if (call->input_count < 3) return FLOPS_UNKNOWN;
  return grad_of_windows(call, &call->inputs[1].shapes[0], is_depthwise, flops);
}

enum flops_status flops_count_windowed_filter_grad(const struct flops_call *call, int64_t is_depthwise,
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

enum flops_status flops_count_convolution_input_grad(const struct flops_call *call, int64_t number, int64_t *flops) {
  /* Without attributes the strides are not known. */
  if (!call->attributes.bytes) return flops_count_windowed_input_grad(call, number, flops);
  if (!call->output.count || call->input_count < 2) return FLOPS_UNKNOWN;
  return grad_of_image(call, &call->output.shapes[0], &call->inputs[1].shapes[0], flops);
}

enum flops_status flops_count_convolution_filter_grad(const struct flops_call *call, int64_t number, int64_t *flops) {
  if (!call->attributes.bytes) return flops_count_windowed_filter_grad(call, number, flops);
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

enum flops_status flops_count_pool(const struct flops_call *call, int64_t number, int64_t *flops) {
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
enum flops_status flops_count_pool_grad(const struct flops_call *call, int64_t is_maximum, int64_t *flops) {
  int64_t window = 0;
  enum flops_status status = window_of(call, &window);
  if (status) return status;
  if (call->input_count < 2 || window >= INT64_MAX / 2) return FLOPS_UNKNOWN;
  return elements(&call->inputs[1].shapes[0], is_maximum ? window + 1 : window * 2, flops);
}

/* ---- Ops that are several in one. */

enum flops_status flops_count_batch_norm(const struct flops_call *call, int64_t number, int64_t *flops) {
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

enum flops_status flops_count_fused_convolution(const struct flops_call *call, int64_t is_depthwise, int64_t *flops) {
  return add_fused(call, flops_count_image_convolution(call, is_depthwise, flops), flops);
}

enum flops_status flops_count_fused_product(const struct flops_call *call, int64_t number, int64_t *flops) {
  return add_fused(call, flops_count_matrix_product(call, number, flops), flops);
}
