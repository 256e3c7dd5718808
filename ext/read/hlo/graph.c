/* graph.c: see graph.h. */
#include "read/hlo/graph.h"

#include "read/hlo/fields.h"

#include <string.h>

void hlo_graph_clear(struct hlo_graph *graph) {
  graph->instructions.count = graph->computations.count = graph->shapes.count = graph->windows.count = 0;
  graph->details.count = graph->numbers.count = graph->links.count = 0;
  graph->looked_at = 0;
}

void hlo_graph_free(struct hlo_graph *graph) {
  list_free(&graph->instructions);
  list_free(&graph->computations);
  list_free(&graph->shapes);
  list_free(&graph->windows);
  list_free(&graph->details);
  list_free(&graph->numbers);
  list_free(&graph->links);
  list_free(&graph->order);
}

bool hlo_graph_begin(struct hlo_graph *graph) {
  struct hlo_computation *computation = list_add(&graph->computations);
  if (!computation) return false;
  computation->first = (uint32_t)graph->instructions.count;
  computation->root = HLO_NONE;
  return true;
}

void hlo_graph_set_ids(struct hlo_graph *graph, int64_t id, int64_t root_id) {
  struct hlo_computation *computation = &graph->computations.items[graph->computations.count - 1];
  computation->id = id;
  computation->root_id = root_id;
}

struct hlo_instruction *hlo_graph_add(struct hlo_graph *graph) {
  struct hlo_instruction *instruction = graph->instructions.count < HLO_NONE ? list_add(&graph->instructions) : NULL;
  if (!instruction) return NULL;
  instruction->shape = instruction->details = HLO_NONE;
  graph->computations.items[graph->computations.count - 1].count++;
  return instruction;
}

/* ---- shapes ---- */

/* In the order of XLA's PrimitiveType. Elements below a byte take one unless the layout packs them. */
static unsigned bits_of_type(uint64_t type) {
  static const uint8_t bits[] = {
      [1] = 8,   [2] = 8,   [3] = 16,  [4] = 32,  [5] = 64,   [6] = 8,  [7] = 16, [8] = 32, [9] = 64, [10] = 16,
      [11] = 32, [12] = 64, [15] = 64, [16] = 16, [18] = 128, [19] = 8, [20] = 8, [21] = 8, [22] = 8, [23] = 8,
      [24] = 8,  [25] = 8,  [26] = 8,  [27] = 8,  [28] = 8,   [29] = 8, [30] = 8, [31] = 8, [32] = 8, [33] = 8};
  return type < sizeof bits ? bits[type] : 0;
}

static bool add_numbers(struct hlo_graph *graph, const struct wire_field *field, uint32_t *count) {
  uint64_t value;
  for (struct wire_packed list = wire_unpack(field, WIRE_VARINT); wire_packed_next(&list, &value);) {
    int64_t *added = list_add(&graph->numbers);
    if (!added) return false;
    *added = (int64_t)value;
    ++*count;
  }
  return true;
}

static void sum_parts(int64_t *sum, int64_t part) {
  if (*sum < 0 || part < 0 || __builtin_add_overflow(*sum, part, sum)) *sum = -1;
}

/* Of an array, by its sizes. Token and opaque ones take no memory. */
static void measure(const struct hlo_graph *graph, struct hlo_shape *shape, uint64_t bits) {
  int64_t elements = 1, size;
  for (uint32_t i = 0; i < shape->size_count && elements >= 0; i++) {
    size = graph->numbers.items[shape->first_size + i];
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) elements = -1;
  }
  shape->elements = elements;
  if (elements < 0 || __builtin_mul_overflow(elements, (int64_t)bits, &size) || size > INT64_MAX - 7) shape->bytes = -1;
  else shape->bytes = (size + 7) / 8;
}

static uint64_t bits_of_layout(const struct wire_reader *outer, const struct wire_field *layout) {
  struct wire_reader reader = wire_enter(outer, layout);
  struct wire_field field;
  uint64_t bits = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == LayoutProto_element_size_in_bits) bits = wire_uint64(&field);
  }
  return bits <= 128 ? bits : 0;
}

/* Into shape `at`. The parts of a tuple lie side by side, so that room is made for them first. */
static bool read_shape(struct hlo_graph *graph, const struct wire_reader *outer, const struct wire_field *whole,
                       uint32_t at) {
  enum { TUPLE = 13 };
  struct wire_reader reader = wire_enter(outer, whole), parts = reader;
  struct wire_field field;
  struct hlo_shape shape = {.first_size = (uint32_t)graph->numbers.count};
  uint64_t type = 0, bits = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == ShapeProto_element_type) type = wire_uint64(&field);
    else if (field.number == ShapeProto_dimensions && !add_numbers(graph, &field, &shape.size_count)) return false;
    else if (field.number == ShapeProto_tuple_shapes && field.type == WIRE_BYTES) shape.part_count++;
    else if (field.number == ShapeProto_layout) bits = bits_of_layout(&reader, &field);
  }
  if (type != TUPLE) {
    shape.part_count = 0;
    measure(graph, &shape, bits ? bits : bits_of_type(type));
    graph->shapes.items[at] = shape;
    return true;
  }
  shape.first_part = (uint32_t)graph->shapes.count;
  for (uint32_t i = 0; i < shape.part_count; i++) {
    if (graph->shapes.count >= HLO_NONE || !list_add(&graph->shapes)) return false;
  }
  for (uint32_t i = 0; i < shape.part_count && wire_next(&parts, &field);) {
    if (field.number != ShapeProto_tuple_shapes || field.type != WIRE_BYTES) continue;
    if (!read_shape(graph, &parts, &field, shape.first_part + i++)) return false;
  }
  for (uint32_t i = 0; i < shape.part_count; i++) {
    sum_parts(&shape.elements, graph->shapes.items[shape.first_part + i].elements);
    sum_parts(&shape.bytes, graph->shapes.items[shape.first_part + i].bytes);
  }
  graph->shapes.items[at] = shape;
  return true;
}

/* ---- what an opcode needs ---- */

/* Of the instruction that was added last. NULL: no memory. */
static struct hlo_details *details_of(struct hlo_graph *graph) {
  struct hlo_instruction *instruction = &graph->instructions.items[graph->instructions.count - 1];
  if (instruction->details == HLO_NONE) {
    struct hlo_details *added = list_add(&graph->details);
    if (!added) return NULL;
    *added = (struct hlo_details){.feature_groups = 1, .batch_groups = 1, .spatial_count = HLO_NONE};
    instruction->details = (uint32_t)graph->details.count - 1;
  }
  return &graph->details.items[instruction->details];
}

static bool read_window(struct hlo_graph *graph, const struct wire_reader *outer, const struct wire_field *whole,
                        struct hlo_details *details) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field, part;
  details->first_window = (uint32_t)graph->windows.count;
  details->window_count = 0;
  while (wire_next(&reader, &field)) {
    if (field.number != Window_dimensions || field.type != WIRE_BYTES) continue;
    struct hlo_window_dimension *dimension = list_add(&graph->windows);
    if (!dimension) return false;
    *dimension = (struct hlo_window_dimension){1, 1, 0, 0, 1, 1};
    details->window_count++;
    struct wire_reader inner = wire_enter(&reader, &field);
    while (wire_next(&inner, &part)) {
      switch (part.number) {
        case WindowDimension_size: dimension->size = wire_int64(&part); break;
        case WindowDimension_stride: dimension->stride = wire_int64(&part); break;
        case WindowDimension_padding_low: dimension->padding_low = wire_int64(&part); break;
        case WindowDimension_padding_high: dimension->padding_high = wire_int64(&part); break;
        case WindowDimension_window_dilation: dimension->window_dilation = wire_int64(&part); break;
        case WindowDimension_base_dilation: dimension->base_dilation = wire_int64(&part); break;
        default: break;
      }
    }
  }
  return true;
}

/* The repeated numbers of one field, which the writer may have parted into several. */
static bool read_repeated(struct hlo_graph *graph, const struct wire_reader *outer, const struct wire_field *whole,
                          uint32_t number, uint32_t *first, uint32_t *count) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  *first = (uint32_t)graph->numbers.count;
  *count = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == number && !add_numbers(graph, &field, count)) return false;
  }
  return true;
}

static bool read_convolution(struct hlo_graph *graph, const struct wire_reader *outer, const struct wire_field *whole,
                             struct hlo_details *details) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  uint32_t inputs = 0, kernels = 0, outputs = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == ConvolutionDimensionNumbers_input_batch_dimension) details->input_batch = wire_int64(&field);
    else if (field.number == ConvolutionDimensionNumbers_input_feature_dimension)
      details->input_feature = wire_int64(&field);
    else if (field.number == ConvolutionDimensionNumbers_output_feature_dimension)
      details->output_feature = wire_int64(&field);
  }
  enum {
    INPUTS = ConvolutionDimensionNumbers_input_spatial_dimensions,
    KERNELS = ConvolutionDimensionNumbers_kernel_spatial_dimensions,
    OUTPUTS = ConvolutionDimensionNumbers_output_spatial_dimensions
  };
  bool ok = read_repeated(graph, outer, whole, INPUTS, &details->input_spatial, &inputs) &&
            read_repeated(graph, outer, whole, KERNELS, &details->kernel_spatial, &kernels) &&
            read_repeated(graph, outer, whole, OUTPUTS, &details->output_spatial, &outputs);
  details->spatial_count = inputs == kernels && inputs == outputs ? inputs : HLO_NONE;
  return ok;
}

/* A custom call of a library that multiplies matrices or convolves, by its name. */
static enum hlo_roles roles_of_target(const struct wire_field *field) {
  static const struct {
    const char *beginning;
    enum hlo_roles roles;
  } targets[] = {{"__cublas$", ROLES_DOT},
                 {"__cudnn$convBackwardInput", ROLES_INPUT_GRADIENT},
                 {"__cudnn$convBackwardFilter", ROLES_FILTER_GRADIENT},
                 {"__cudnn$conv", ROLES_FORWARD}};
  size_t length;
  const char *target = wire_text(field, &length);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    size_t size = strlen(targets[i].beginning);
    if (length >= size && memcmp(target, targets[i].beginning, size) == 0) return targets[i].roles;
  }
  return ROLES_NONE;
}

/* The contracted dimensions stand in the JSON of a call of cuBLAS: "lhs_contracting_dimensions":["1"]. */
static bool read_backend_config(struct hlo_graph *graph, const struct wire_field *field) {
  static const char name[] = "\"lhs_contracting_dimensions\"";
  size_t length;
  const char *text = wire_text(field, &length), *end = text + length;
  const char *at = length ? memmem(text, length, name, sizeof name - 1) : NULL;
  uint32_t number = graph->instructions.items[graph->instructions.count - 1].details;
  struct hlo_details *details = number == HLO_NONE ? NULL : &graph->details.items[number];
  if (!at || !details || details->roles != ROLES_DOT) return true;
  details->first_number = (uint32_t)graph->numbers.count;
  details->number_count = 0;
  for (at += sizeof name - 1; at < end && *at != ']'; at++) {
    if (*at < '0' || *at > '9') continue;
    int64_t *added = list_add(&graph->numbers);
    if (!added) return false;
    for (; at < end && *at >= '0' && *at <= '9' && *added < 1000; at++) *added = *added * 10 + (*at - '0');
    at--;
    details->number_count++;
  }
  return true;
}

static enum hlo_cost cost_of_opcode(const char *name, size_t length) {
  static const struct {
    const char *name;
    enum hlo_cost cost;
  } opcodes[] = {
#define OPCODE(name, cost) {name, COST_##cost},
#include "read/hlo/opcodes.def"
#undef OPCODE
  };
  size_t low = 0, high = sizeof opcodes / sizeof *opcodes;
  while (low < high) {
    size_t middle = (low + high) / 2, size = strlen(opcodes[middle].name);
    int order = memcmp(name, opcodes[middle].name, length < size ? length : size);
    if (order == 0 && length == size) return opcodes[middle].cost;
    if (order > 0 || (order == 0 && length > size)) low = middle + 1;
    else high = middle;
  }
  return COST_UNKNOWN;
}

static bool add_links(struct hlo_graph *graph, const struct wire_field *field, uint32_t *first, uint32_t *count) {
  uint64_t value;
  if (!*count) *first = (uint32_t)graph->links.count;
  if (*first + *count != graph->links.count) return true; /* parted, which no writer does: those behind are left */
  for (struct wire_packed list = wire_unpack(field, WIRE_VARINT); wire_packed_next(&list, &value);) {
    int64_t *added = graph->links.count < HLO_NONE ? list_add(&graph->links) : NULL;
    if (!added) return false;
    *added = (int64_t)value;
    ++*count;
  }
  return true;
}

/* Fields whose values stand in details. */
static bool take_detail(struct hlo_graph *graph, const struct wire_reader *reader, const struct wire_field *field) {
  enum hlo_roles roles = field->number == HloInstructionProto_custom_call_target ? roles_of_target(field) : ROLES_NONE;
  if (field->number == HloInstructionProto_custom_call_target && !roles) return true;
  struct hlo_details *details = details_of(graph);
  if (!details) return false;
  switch (field->number) {
    case HloInstructionProto_window: return read_window(graph, reader, field, details);
    case HloInstructionProto_convolution_dimension_numbers: return read_convolution(graph, reader, field, details);
    case HloInstructionProto_custom_call_target: details->roles = (uint8_t)roles; return true;
    case HloInstructionProto_dot_dimension_numbers:
      return read_repeated(graph, reader, field, DotDimensionNumbers_lhs_contracting_dimensions, &details->first_number,
                           &details->number_count);
    case HloInstructionProto_fft_length:
      if (!details->number_count) details->first_number = (uint32_t)graph->numbers.count;
      return add_numbers(graph, field, &details->number_count);
    case HloInstructionProto_feature_group_count: details->feature_groups = wire_int64(field); return true;
    default: details->batch_groups = wire_int64(field); return true;
  }
}

/* How many devices a message of groups has in the first: a ReplicaGroup, or (is_list) a list of them. */
static uint32_t size_of_group(const struct wire_reader *outer, const struct wire_field *whole, bool is_list) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field, part;
  uint32_t size = 0;
  while (wire_next(&reader, &field) && !size) {
    if (is_list && field.type == WIRE_BYTES && field.number == CollectiveDeviceListProto_replica_groups)
      size = size_of_group(&reader, &field, false);
    if (is_list && field.type == WIRE_BYTES && field.number == CollectiveDeviceListProto_iota_replica_group_list) {
      struct wire_reader list = wire_enter(&reader, &field);
      while (wire_next(&list, &part)) {
        if (part.number == IotaReplicaGroupListProto_num_devices_per_group && wire_uint64(&part) <= INT32_MAX)
          size = wire_uint32(&part);
      }
    }
    if (is_list || field.number != ReplicaGroup_replica_ids) continue;
    struct wire_packed ids = wire_unpack(&field, WIRE_VARINT);
    for (uint64_t id; wire_packed_next(&ids, &id);) size++;
  }
  return size;
}

bool hlo_graph_take(struct hlo_graph *graph, const struct wire_reader *reader, const struct wire_field *field) {
  struct hlo_instruction *instruction = &graph->instructions.items[graph->instructions.count - 1];
  size_t length;
  const char *text;
  switch (field->number) {
    case HloInstructionProto_opcode:
      text = wire_text(field, &length);
      instruction->cost = (uint8_t)cost_of_opcode(text, length);
      return true;
    case HloInstructionProto_shape:
      if (field->type != WIRE_BYTES) return true;
      if (graph->shapes.count >= HLO_NONE || !list_add(&graph->shapes)) return false;
      instruction->shape = (uint32_t)graph->shapes.count - 1;
      return read_shape(graph, reader, field, instruction->shape);
    case HloInstructionProto_parameter_number:
    case HloInstructionProto_tuple_index: instruction->number = wire_uint32(field); return true;
    case HloInstructionProto_id: instruction->id = wire_int64(field); return true;
    case HloInstructionProto_operand_ids:
      return add_links(graph, field, &instruction->first_operand, &instruction->operand_count);
    case HloInstructionProto_called_computation_ids:
      return add_links(graph, field, &instruction->first_called, &instruction->called_count);
    case HloInstructionProto_backend_config: return read_backend_config(graph, field);
    case HloInstructionProto_replica_groups:
    case HloInstructionProto_collective_device_list:
      if (field->type == WIRE_BYTES && !instruction->group_size)
        instruction->group_size =
            size_of_group(reader, field, field->number == HloInstructionProto_collective_device_list);
      return true;
    case HloInstructionProto_window:
    case HloInstructionProto_convolution_dimension_numbers:
    case HloInstructionProto_custom_call_target:
    case HloInstructionProto_dot_dimension_numbers:
    case HloInstructionProto_fft_length:
    case HloInstructionProto_feature_group_count:
    case HloInstructionProto_batch_group_count: return take_detail(graph, reader, field);
    default: return true;
  }
}

/* ---- linking ---- */

static int64_t id_of_computation(const struct hlo_graph *graph, uint32_t number) {
  return graph->computations.items[number].id;
}
static int64_t id_of_instruction(const struct hlo_graph *graph, uint32_t number) {
  return graph->instructions.items[number].id;
}
typedef int64_t id_of(const struct hlo_graph *graph, uint32_t number);

struct by_id {
  const struct hlo_graph *graph;
  id_of *id;
};
static int compare_ids(const void *left, const void *right, void *context) {
  const struct by_id *by = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  int64_t id_a = by->id(by->graph, a), id_b = by->id(by->graph, b);
  if (id_a != id_b) return id_a < id_b ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* Makes `order` those from `first` on, by their ids. False: no memory. */
static bool sort_ids(struct hlo_graph *graph, uint32_t first, uint32_t count, id_of *id) {
  struct by_id by = {graph, id};
  if (!list_reserve(&graph->order, count)) return false;
  graph->order.count = count;
  bool is_sorted = true; /* as most are */
  for (uint32_t i = 0; i < count; i++) {
    graph->order.items[i] = first + i;
    is_sorted &= !i || id(graph, first + i - 1) <= id(graph, first + i);
  }
  if (!is_sorted) qsort_r(graph->order.items, count, sizeof *graph->order.items, compare_ids, &by);
  return true;
}

static uint32_t find_id(const struct hlo_graph *graph, int64_t id, id_of *of) {
  size_t low = 0, high = graph->order.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (of(graph, graph->order.items[middle]) < id) low = middle + 1;
    else high = middle;
  }
  if (low == graph->order.count || of(graph, graph->order.items[low]) != id) return HLO_NONE;
  return graph->order.items[low];
}

bool hlo_graph_link(struct hlo_graph *graph) {
  if (!sort_ids(graph, 0, (uint32_t)graph->computations.count, id_of_computation)) return false;
  for (size_t i = 0; i < graph->instructions.count; i++) {
    const struct hlo_instruction *instruction = &graph->instructions.items[i];
    for (uint32_t k = 0; k < instruction->called_count; k++) {
      int64_t *called = &graph->links.items[instruction->first_called + k];
      *called = find_id(graph, *called, id_of_computation);
    }
  }
  for (uint32_t c = 0; c < graph->computations.count; c++) {
    struct hlo_computation *computation = &graph->computations.items[c];
    if (!sort_ids(graph, computation->first, computation->count, id_of_instruction)) return false;
    computation->root = find_id(graph, computation->root_id, id_of_instruction);
    for (uint32_t i = 0; i < computation->count; i++) {
      const struct hlo_instruction *instruction = &graph->instructions.items[computation->first + i];
      for (uint32_t k = 0; k < instruction->operand_count; k++) {
        int64_t *operand = &graph->links.items[instruction->first_operand + k];
        *operand = find_id(graph, *operand, id_of_instruction);
      }
    }
  }
  return true;
}
