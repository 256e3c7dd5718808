/* costs.c: how many operations the instructions of a program do, and how many bytes they read and write.
**
** Counted as XLA itself does where a device measures neither (HloCostAnalysis), so that the sum over a program is what
** JAX's compiled.cost_analysis() says: a multiplication and an addition are two operations, a function of one number
** (exp, tanh, ...) is none; what a fusion keeps to itself is not moved.  It differs in three things: a tuple is the
** arrays in it, no table of pointers; what XLA gives a number below 0, as calls of libraries that it does not know, is
** not known (NAN); and what runs other instructions in steps of their own (a loop, a call, a condition) has no costs,
** as those have them.
**
** Numbers are doubles: exact up to 2^53, and no file can make them overflow.
*/
#include "read/hlo/graph.h"

#include <math.h>

enum {
  MAXIMUM_DEPTH = 200,
  MAXIMUM_POSITIONS = 1 << 20,
  MAXIMUM_DILATION = 4096,
  MAXIMUM_SEARCH = 1 << 26, /* instructions of fusions in fusions that are looked at in a program */
  LARGE_CONSTANT = 8        /* elements */
};
enum { NOT_COUNTED, BEING_COUNTED, COUNTED };

static double flops_of_computation(struct hlo_graph *graph, uint32_t number, unsigned depth);

static struct hlo_instruction *operand_of(const struct hlo_graph *graph, const struct hlo_instruction *instruction,
                                          uint32_t place) {
  int64_t at = place < instruction->operand_count ? graph->links.items[instruction->first_operand + place] : HLO_NONE;
  return at == HLO_NONE ? NULL : &graph->instructions.items[at];
}

static const struct hlo_shape *shape_of(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  return instruction && instruction->shape != HLO_NONE ? &graph->shapes.items[instruction->shape] : NULL;
}
/* The array, or of a tuple the first in it: what a reduction of several arrays makes are equally large. */
static const struct hlo_shape *array_of(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  const struct hlo_shape *shape = shape_of(graph, instruction);
  return shape && shape->part_count ? &graph->shapes.items[shape->first_part] : shape;
}

static double known(int64_t number) { return number < 0 ? NAN : (double)number; }
static double elements_of(const struct hlo_shape *shape) { return shape ? known(shape->elements) : NAN; }
static double bytes_of(const struct hlo_shape *shape) { return shape ? known(shape->bytes) : NAN; }

static double size_of(const struct hlo_graph *graph, const struct hlo_shape *shape, int64_t dimension) {
  if (!shape || dimension < 0 || dimension >= shape->size_count) return NAN;
  return known(graph->numbers.items[shape->first_size + dimension]);
}

static const struct hlo_details *details_of(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  static const struct hlo_details none = {.feature_groups = 1, .batch_groups = 1, .spatial_count = HLO_NONE};
  return instruction->details == HLO_NONE ? &none : &graph->details.items[instruction->details];
}

/* What the computation that it applies does once. */
static double flops_of_called(struct hlo_graph *graph, const struct hlo_instruction *instruction, uint32_t place,
                              unsigned depth) {
  if (place >= instruction->called_count) return NAN;
  int64_t number = graph->links.items[instruction->first_called + place];
  return number == HLO_NONE ? NAN : flops_of_computation(graph, (uint32_t)number, depth);
}

/* ---- products and convolutions ---- */

static double flops_of_dot(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  const struct hlo_details *details = details_of(graph, instruction);
  const struct hlo_shape *left = shape_of(graph, operand_of(graph, instruction, 0));
  double width = 1;
  for (uint32_t i = 0; i < details->number_count; i++)
    width *= size_of(graph, left, graph->numbers.items[details->first_number + i]);
  return 2 * width * elements_of(array_of(graph, instruction));
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* How many of x = 0 ... count - 1 have offset + x * step in [0, limit * dilation) and divisible by dilation. */
static int64_t count_valid(int64_t offset, int64_t step, int64_t count, int64_t limit, int64_t dilation) {
  int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
  int64_t end = (limit - 1) * dilation; /* the last position there is */
  if (limit < 1 || offset > end) return 0;
  int64_t last = (end - offset) / step; /* the last x below the end */
  if (last > count - 1) last = count - 1;
  int64_t period = dilation / greatest_divisor(dilation, step % dilation ? step % dilation : dilation);
  for (int64_t tried = 0; tried < period && first <= last; tried++, first++) {
    if ((offset + first * step) % dilation == 0) return (last - first) / period + 1;
  }
  return 0;
}

/* Pairs of places in the kernel and in the output that meet a place of the input. All sizes are below 2^31, so that no
** product overflows. */
static double valid_positions(const struct hlo_window_dimension *window, int64_t kernel, int64_t output,
                              int64_t input) {
  const int64_t limit = INT32_MAX;
  const int64_t values[] = {kernel,
                            output,
                            input,
                            window->stride,
                            window->window_dilation,
                            window->base_dilation,
                            window->padding_low < 0 ? -window->padding_low : window->padding_low};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (values[i] < 0 || values[i] > limit) return NAN;
  }
  if (window->stride < 1 || window->window_dilation < 1 || window->base_dilation < 1) return NAN;
  if (window->base_dilation > MAXIMUM_DILATION) return NAN;
  bool is_kernel_less = kernel < output; /* both are alike: the shorter one is walked over */
  int64_t walked = is_kernel_less ? kernel : output, counted = is_kernel_less ? output : kernel;
  int64_t walked_step = is_kernel_less ? window->window_dilation : window->stride;
  int64_t counted_step = is_kernel_less ? window->stride : window->window_dilation;
  if (walked > MAXIMUM_POSITIONS / window->base_dilation) return NAN;
  double sum = 0;
  for (int64_t i = 0; i < walked; i++)
    sum +=
        (double)count_valid(i * walked_step - window->padding_low, counted_step, counted, input, window->base_dilation);
  return sum;
}

static int64_t whole(double size) { return size >= 0 && size <= INT32_MAX ? (int64_t)size : -1; }

static double flops_of_convolution(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  static const struct hlo_window_dimension plain = {1, 1, 0, 0, 1, 1};
  const struct hlo_details *details = details_of(graph, instruction);
  const struct hlo_shape *input = shape_of(graph, operand_of(graph, instruction, 0));
  const struct hlo_shape *kernel = shape_of(graph, operand_of(graph, instruction, 1));
  const struct hlo_shape *output = array_of(graph, instruction);
  if (details->roles == ROLES_INPUT_GRADIENT) {
    const struct hlo_shape *gradient = input;
    input = output;
    output = gradient;
  } else if (details->roles == ROLES_FILTER_GRADIENT) {
    const struct hlo_shape *gradient = kernel;
    kernel = output;
    output = gradient;
  }
  if (details->spatial_count == HLO_NONE || details->feature_groups < 1 || details->batch_groups < 1) return NAN;
  if (details->window_count && details->window_count != details->spatial_count) return NAN;
  double products = floor(size_of(graph, input, details->input_feature) / (double)details->feature_groups) *
                    size_of(graph, output, details->output_feature) *
                    floor(size_of(graph, input, details->input_batch) / (double)details->batch_groups);
  for (uint32_t i = 0; i < details->spatial_count; i++) {
    const struct hlo_window_dimension *window =
        details->window_count ? &graph->windows.items[details->first_window + i] : &plain;
    const int64_t *numbers = graph->numbers.items;
    products *= valid_positions(window, whole(size_of(graph, kernel, numbers[details->kernel_spatial + i])),
                                whole(size_of(graph, output, numbers[details->output_spatial + i])),
                                whole(size_of(graph, input, numbers[details->input_spatial + i])));
  }
  return 2 * products;
}

/* ---- what applies a computation to elements ---- */

static double window_elements(const struct hlo_graph *graph, const struct hlo_details *details) {
  double count = 1;
  for (uint32_t i = 0; i < details->window_count; i++)
    count *= known(graph->windows.items[details->first_window + i].size);
  return count;
}

/* A window that reduces a whole dimension and hands the result to all of it: computed once. */
static double reductions_of_window(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  const struct hlo_details *details = details_of(graph, instruction);
  const struct hlo_shape *result = array_of(graph, instruction);
  const struct hlo_window_dimension *wide = NULL;
  double outputs = elements_of(result), window = window_elements(graph, details);
  uint32_t wide_count = 0, padded_count = 0, dimension = 0;
  for (uint32_t i = 0; i < details->window_count; i++) {
    const struct hlo_window_dimension *at = &graph->windows.items[details->first_window + i];
    padded_count += at->padding_low != 0 || at->padding_high != 0;
    if (at->size == 1) continue;
    wide_count++;
    wide = at;
    dimension = i;
  }
  double size = size_of(graph, result, dimension);
  bool is_whole = wide_count == 1 && padded_count == 1 && result == shape_of(graph, instruction) &&
                  wide->padding_low > 0 && wide->padding_low == wide->padding_high &&
                  (double)wide->padding_low == size - 1 && (double)wide->size == 2 * size - 1;
  return is_whole ? outputs / size + size - 1 : outputs * (window - 1);
}

static double flops_of_reduction(struct hlo_graph *graph, const struct hlo_instruction *instruction, unsigned depth) {
  double applied = 0;
  const struct hlo_shape *first = shape_of(graph, operand_of(graph, instruction, 0));
  switch (instruction->cost) {
    case COST_MAP: applied = elements_of(array_of(graph, instruction)); break;
    case COST_REDUCE: applied = elements_of(first) - elements_of(array_of(graph, instruction)); break;
    case COST_REDUCE_WINDOW: applied = reductions_of_window(graph, instruction); break;
    default: applied = elements_of(shape_of(graph, operand_of(graph, instruction, instruction->operand_count - 1)));
  }
  return applied * flops_of_called(graph, instruction, 0, depth);
}

static double flops_of_selection(struct hlo_graph *graph, const struct hlo_instruction *instruction, unsigned depth) {
  double sources = elements_of(shape_of(graph, operand_of(graph, instruction, 1)));
  double window = window_elements(graph, details_of(graph, instruction));
  return sources * (window - 1) * flops_of_called(graph, instruction, 0, depth) +
         sources * flops_of_called(graph, instruction, 1, depth);
}

/* ---- others ---- */

static double flops_of_transform(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  const struct hlo_details *details = details_of(graph, instruction);
  double factors = 1;
  for (uint32_t i = 0; i < details->number_count; i++) {
    int64_t length = graph->numbers.items[details->first_number + i];
    factors *= length < 1 ? (double)NAN : 63.0 - __builtin_clzll((unsigned long long)length);
  }
  return 8 * factors * elements_of(shape_of(graph, operand_of(graph, instruction, 0)));
}

static double flops_of_sort(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  double elements = elements_of(shape_of(graph, operand_of(graph, instruction, 0)));
  return elements > 1 ? elements * ceil(log2(elements)) : elements * 0;
}

/* The last dimension of the first operand times the elements of the operand at `place`. */
static double flops_of_solving(const struct hlo_graph *graph, const struct hlo_instruction *instruction,
                               uint32_t place) {
  const struct hlo_shape *matrix = shape_of(graph, operand_of(graph, instruction, 0));
  double size = matrix ? size_of(graph, matrix, (int64_t)matrix->size_count - 1) : NAN;
  return size * elements_of(shape_of(graph, operand_of(graph, instruction, place)));
}

static double largest_branch(struct hlo_graph *graph, const struct hlo_instruction *instruction, unsigned depth) {
  double largest = 0;
  for (uint32_t i = 0; i < instruction->called_count; i++) {
    double branch = flops_of_called(graph, instruction, i, depth);
    if (isnan(branch) || branch > largest) largest = branch;
    if (isnan(largest)) break;
  }
  return largest;
}

static double flops_of_loop(struct hlo_graph *graph, const struct hlo_instruction *instruction, unsigned depth) {
  return flops_of_called(graph, instruction, 0, depth) + flops_of_called(graph, instruction, 1, depth);
}

static double flops_of_custom_call(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  const struct hlo_details *details = details_of(graph, instruction);
  if (details->roles == ROLES_NONE || (details->roles == ROLES_DOT && !details->number_count)) return NAN;
  return details->roles == ROLES_DOT ? flops_of_dot(graph, instruction) : flops_of_convolution(graph, instruction);
}

/* Of a loop those of one iteration. */
static double flops_of(struct hlo_graph *graph, const struct hlo_instruction *instruction, unsigned depth) {
  const struct hlo_shape *result = array_of(graph, instruction);
  switch ((enum hlo_cost)instruction->cost) {
    case COST_UNKNOWN: return NAN;
    case COST_ELEMENTWISE: return elements_of(result);
    case COST_ALL_REDUCE: return elements_of(shape_of(graph, instruction));
    case COST_CALL:
    case COST_FUSION: return flops_of_called(graph, instruction, 0, depth);
    case COST_CHOLESKY: return floor(flops_of_solving(graph, instruction, 0) / 3);
    case COST_CONDITIONAL: return largest_branch(graph, instruction, depth);
    case COST_CONVOLUTION: return flops_of_convolution(graph, instruction);
    case COST_CUSTOM_CALL: return flops_of_custom_call(graph, instruction);
    case COST_DOT: return flops_of_dot(graph, instruction);
    case COST_FFT: return flops_of_transform(graph, instruction);
    case COST_MAP:
    case COST_REDUCE:
    case COST_REDUCE_WINDOW:
    case COST_SCATTER: return flops_of_reduction(graph, instruction, depth);
    case COST_SELECT_AND_SCATTER: return flops_of_selection(graph, instruction, depth);
    case COST_SORT: return flops_of_sort(graph, instruction);
    case COST_TRIANGULAR_SOLVE: return 2 * flops_of_solving(graph, instruction, 1);
    case COST_WHILE: return flops_of_loop(graph, instruction, depth);
    default: return 0;
  }
}

/* ---- bytes ---- */

/* The part of a fusion that is told what an operand is: a parameter of that number. */
static const struct hlo_instruction *find_parameter(struct hlo_graph *graph, const struct hlo_instruction *fusion,
                                                    uint32_t number) {
  int64_t at = fusion->called_count ? graph->links.items[fusion->first_called] : HLO_NONE;
  const struct hlo_computation *computation = at == HLO_NONE ? NULL : &graph->computations.items[at];
  for (uint32_t i = 0; computation && i < computation->count && graph->looked_at < MAXIMUM_SEARCH; i++) {
    graph->looked_at++;
    const struct hlo_instruction *instruction = &graph->instructions.items[computation->first + i];
    if (instruction->cost == COST_PARAMETER && instruction->number == number) return instruction;
  }
  return NULL;
}

/* Adds to what is read of a parameter what one of its users, to which it is handed at `place`, reads: of slices and
** the like what they take; what reads all of it reads it once, together with others that do. */
static void add_reading(struct hlo_graph *graph, const struct hlo_instruction *user, uint32_t place,
                        struct hlo_instruction *parameter) {
  bool is_first = place == 0;
  double all = bytes_of(shape_of(graph, parameter));
  switch ((enum hlo_cost)user->cost) {
    case COST_FUSION: {
      const struct hlo_instruction *inner = find_parameter(graph, user, place);
      parameter->read_bytes += inner ? inner->read_bytes : NAN;
      return;
    }
    case COST_SLICE: parameter->read_bytes += bytes_of(shape_of(graph, user)); return;
    case COST_DYNAMIC_SLICE: /* but not of a gather, which by itself is counted so */
      if (!is_first) break;
      parameter->read_bytes += bytes_of(shape_of(graph, user));
      return;
    case COST_DYNAMIC_UPDATE_SLICE:
      if (is_first) return; /* it becomes the result */
      break;
    case COST_TUPLE_ELEMENT: return; /* counted by itself */
    default: break;
  }
  if (!parameter->is_read) parameter->read_bytes += all;
  parameter->is_read = true;
}

static void count_readings(struct hlo_graph *graph, const struct hlo_computation *computation) {
  for (uint32_t i = 0; i < computation->count; i++) {
    struct hlo_instruction *user = &graph->instructions.items[computation->first + i];
    const struct hlo_instruction *whole = user->cost == COST_TUPLE_ELEMENT ? operand_of(graph, user, 0) : NULL;
    user->is_handed_in = user->cost == COST_PARAMETER || (whole && whole->is_handed_in);
    for (uint32_t place = 0; place < user->operand_count; place++) {
      struct hlo_instruction *operand = operand_of(graph, user, place);
      if (operand && operand->is_handed_in) add_reading(graph, user, place, operand);
    }
  }
}

/* What a fusion writes: all of its result, but of a dynamic-update-slice that it ends in only what that updates. */
static double written_bytes(const struct hlo_graph *graph, const struct hlo_instruction *part) {
  if (!part) return NAN;
  if (part->cost == COST_DYNAMIC_UPDATE_SLICE) part = operand_of(graph, part, 1);
  return bytes_of(shape_of(graph, part));
}

static double bytes_of_fusion(const struct hlo_graph *graph, const struct hlo_instruction *fusion) {
  int64_t at = fusion->called_count ? graph->links.items[fusion->first_called] : HLO_NONE;
  const struct hlo_computation *computation = at == HLO_NONE ? NULL : &graph->computations.items[at];
  if (!computation || computation->root == HLO_NONE) return NAN;
  const struct hlo_instruction *root = &graph->instructions.items[computation->root];
  double bytes = 0;
  for (uint32_t i = 0; root->cost == COST_TUPLE && i < root->operand_count; i++)
    bytes += written_bytes(graph, operand_of(graph, root, i));
  if (root->cost != COST_TUPLE) bytes = written_bytes(graph, root);
  for (uint32_t i = 0; i < computation->count; i++) {
    const struct hlo_instruction *instruction = &graph->instructions.items[computation->first + i];
    const struct hlo_shape *shape = shape_of(graph, instruction);
    bool is_constant = instruction->cost == COST_CONSTANT && shape && shape->elements > LARGE_CONSTANT;
    if (is_constant) bytes += bytes_of(shape);
    else if (instruction->is_handed_in) bytes += instruction->read_bytes;
  }
  return bytes;
}

static double bytes_of_operands(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  double bytes = 0;
  for (uint32_t i = 0; i < instruction->operand_count; i++)
    bytes += bytes_of(shape_of(graph, operand_of(graph, instruction, i)));
  return bytes;
}

static double bytes_of_operand(const struct hlo_graph *graph, const struct hlo_instruction *instruction,
                               uint32_t place) {
  return bytes_of(shape_of(graph, operand_of(graph, instruction, place)));
}

static double moved_bytes(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  const struct hlo_shape *result = shape_of(graph, instruction);
  uint32_t arrays = instruction->operand_count / 2; /* of a scatter: arrays, places, as many updates */
  double updates = 0;
  switch ((enum hlo_cost)instruction->cost) {
    case COST_UNKNOWN: return NAN;
    case COST_NOTHING:
    case COST_CONSTANT:
    case COST_PARAMETER:
    case COST_TUPLE:
    case COST_TUPLE_ELEMENT: return 0;
    case COST_CALL:
    case COST_CONDITIONAL:
    case COST_WHILE: return NAN;
    case COST_CHOLESKY: return bytes_of_operand(graph, instruction, 0);
    case COST_CUSTOM_CALL:
      if (details_of(graph, instruction)->roles == ROLES_NONE) return NAN;
      return bytes_of(array_of(graph, instruction)) + bytes_of_operands(graph, instruction);
    case COST_DYNAMIC_SLICE: return 2 * bytes_of(result) + bytes_of_operand(graph, instruction, 1);
    case COST_DYNAMIC_UPDATE_SLICE:
      return 2 * bytes_of_operand(graph, instruction, 1) + bytes_of_operand(graph, instruction, 2);
    case COST_FUSION: return bytes_of_fusion(graph, instruction);
    case COST_GATHER: return 2 * bytes_of(result) + bytes_of_operand(graph, instruction, 1);
    case COST_SCATTER:
      for (uint32_t i = 0; i < arrays; i++) updates += bytes_of_operand(graph, instruction, arrays + 1 + i);
      return 3 * updates + bytes_of_operand(graph, instruction, arrays);
    case COST_SLICE: return 2 * bytes_of(result);
    case COST_TRIANGULAR_SOLVE:
      return bytes_of(result) + bytes_of_operand(graph, instruction, 0) / 2 + bytes_of_operand(graph, instruction, 1);
    default: return bytes_of(result) + bytes_of_operands(graph, instruction);
  }
}

/* ---- all of it ---- */

/* One that calls itself, by whatever way, does an unknown amount. */
static double flops_of_computation(struct hlo_graph *graph, uint32_t number, unsigned depth) {
  struct hlo_computation *computation = &graph->computations.items[number];
  if (computation->state == COUNTED) return computation->flops;
  if (computation->state == BEING_COUNTED || depth > MAXIMUM_DEPTH) return NAN;
  computation->state = BEING_COUNTED;
  for (uint32_t i = 0; i < computation->count; i++) {
    struct hlo_instruction *instruction = &graph->instructions.items[computation->first + i];
    instruction->flops = flops_of(graph, instruction, depth + 1);
    computation->flops += instruction->flops;
  }
  count_readings(graph, computation); /* after those of the fusions in it */
  computation->state = COUNTED;
  return computation->flops;
}

void hlo_graph_count(struct hlo_graph *graph) {
  for (uint32_t i = 0; i < graph->computations.count; i++) flops_of_computation(graph, i, 0);
  for (size_t i = 0; i < graph->instructions.count; i++) {
    struct hlo_instruction *instruction = &graph->instructions.items[i];
    instruction->bytes = moved_bytes(graph, instruction);
    bool runs_others =
        instruction->cost == COST_CALL || instruction->cost == COST_CONDITIONAL || instruction->cost == COST_WHILE;
    if (runs_others) instruction->flops = NAN;
  }
}

double hlo_graph_exchanged_bytes(const struct hlo_graph *graph, const struct hlo_instruction *instruction) {
  double in = 0, out = bytes_of(shape_of(graph, instruction));
  for (uint32_t place = 0; place < instruction->operand_count; place++)
    in += bytes_of(shape_of(graph, operand_of(graph, instruction, place)));
  return in > out || isnan(in) ? in : out;
}
