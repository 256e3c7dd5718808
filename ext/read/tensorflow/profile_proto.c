/* profile_proto.c: reads ProfileProto, what ProfileContext writes as profile_<step>.
**
** ProfileProto nodes=1 map, has_trace=2, steps=3, id_to_string=4 map, miss_accelerator_stream=5; ProfileNode name=1,
** inputs=2 map, shape=4, op_types=5, canonical_device=6, host_device=7, float_ops=8, op=9, trace=10, attrs=11 map,
** execs=12 map, id=13, src_output_index=14 map, output_shapes=15 map; ExecProfile run_count=1, all_start_micros=2,
** latest_end_micros=3, accelerator_execs=4 map, cpu_execs=5 map, memory_execs=7; ExecTime times=1 {int64_values=1};
** ExecMemory requested_bytes=6, peak_bytes=7, residual_bytes=8, output_bytes=9.
**
** Map entries are {key=1, value=2}.  Nodes refer to each other by number, in any order: publish.c looks the numbers up.
** Of an input, the file knows the number of the source's output only once for each source.
*/
#include "read/tensorflow/messages.h"

struct entry {
  struct wire_field key;
  struct wire_reader value; /* of a message */
  struct wire_field value_field;
};

static struct entry read_entry(const struct wire_reader *outer, const struct wire_field *field) {
  struct entry entry = {.key = {.type = WIRE_VARINT}, .value_field = {.type = WIRE_VARINT}};
  struct wire_reader reader = wire_enter(outer, field);
  struct wire_field part;
  entry.value = (struct wire_reader){.at = reader.at, .end = reader.at, .origin = reader.origin, .depth = reader.depth};
  while (wire_next(&reader, &part)) {
    if (part.number == 1) entry.key = part;
    if (part.number != 2) continue;
    entry.value_field = part;
    entry.value = wire_enter(&reader, &part);
  }
  return entry;
}

/* A time or size that is absurd is left out. */
static int64_t checked(struct tf_model *model, const struct wire_reader *reader, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return value;
  tf_trouble(model, TF_TROUBLE_TIME, wire_offset(reader));
  return 0;
}

static const int64_t most_micros = INT64_MAX / 4000, most_bytes = INT64_MAX / 4;

static bool read_runs(struct tf_model *model, const struct entry *entry, uint32_t node, struct tf_exec *exec,
                      bool is_accelerator) {
  struct wire_reader times = entry->value;
  struct wire_field field;
  size_t length;
  const char *name = wire_text(&entry->key, &length);
  string_id device;
  uint32_t lane;
  if (!tf_intern(model, name, length, &device) || !tf_get_lane(model, device, device, TF_NONE, is_accelerator, &lane))
    return false;
  while (wire_next(&times, &field)) {
    if (field.number != 1) continue;
    struct wire_reader tuple = wire_enter(&times, &field);
    int64_t values[2] = {0, 0};
    unsigned count = 0;
    while (wire_next(&tuple, &field)) {
      uint64_t value;
      if (field.number != 1) continue;
      for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT); wire_packed_next(&list, &value);) {
        if (count < 2) values[count++] = (int64_t)value;
      }
    }
    int64_t start = checked(model, &tuple, values[0], most_micros), micros = checked(model, &tuple, values[1], most_micros);
    int64_t *sum = is_accelerator ? &exec->accelerator_micros : &exec->cpu_micros;
    *sum = tf_add(model, *sum, micros);
    if (!tf_add_run(model, node, lane, start, micros)) return false;
  }
  tf_check(model, &times);
  return true;
}

static void read_memory(struct tf_model *model, struct wire_reader reader, struct tf_exec *exec) {
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    int64_t *sum = field.number == 6   ? &exec->requested_bytes
                   : field.number == 7 ? &exec->peak_bytes
                   : field.number == 8 ? &exec->residual_bytes
                   : field.number == 9 ? &exec->output_bytes
                                       : NULL;
    if (!sum) continue;
    int64_t bytes = wire_int64(&field);
    if (bytes < -most_bytes || bytes > most_bytes) tf_trouble(model, TF_TROUBLE_TIME, wire_offset(&reader));
    else *sum = tf_add(model, *sum, bytes);
  }
  tf_check(model, &reader);
}

static bool read_exec(struct tf_model *model, struct entry *entry, uint32_t node) {
  struct wire_reader *reader = &entry->value;
  struct wire_field field;
  struct tf_exec *exec;
  if (!tf_begin_step(model, wire_int64(&entry->key)) || !tf_get_exec(model, node, &exec)) return false;
  while (wire_next(reader, &field)) {
    switch (field.number) {
      case 1: exec->run_count = checked(model, reader, wire_int64(&field), INT32_MAX); break;
      case 2: exec->start_micros = checked(model, reader, wire_int64(&field), most_micros); break;
      case 3: exec->end_micros = checked(model, reader, wire_int64(&field), most_micros); break;
      case 4: case 5: {
        struct entry runs = read_entry(reader, &field);
        if (!read_runs(model, &runs, node, exec, field.number == 4)) return false;
        break;
      }
      case 7: read_memory(model, wire_enter(reader, &field), exec); break;
    }
  }
  tf_check(model, reader);
  return true;
}

/* ---- nodes ---- */

static bool read_shape(struct tf_model *model, const struct wire_field *field, struct tf_shape *shape) {
  uint64_t value;
  shape->is_known = true;
  for (struct wire_packed list = wire_unpack(field, WIRE_VARINT); wire_packed_next(&list, &value);) {
    if (shape->rank < TF_MAXIMUM_RANK) shape->sizes[shape->rank++] = (int64_t)value < 0 ? -1 : (int64_t)value;
  }
  (void)model;
  return true;
}

/* Output shapes come one by one, by number. */
struct output_shapes {
  struct tf_shape *shapes;
  unsigned count, capacity;
};

static bool read_output_shape(struct tf_model *model, struct entry *entry, struct output_shapes *outputs) {
  int32_t number = wire_int32(&entry->key);
  struct wire_field field;
  enum { MAXIMUM_OUTPUTS = 65536 };
  if (number < 0 || number >= MAXIMUM_OUTPUTS) {
    tf_trouble(model, TF_TROUBLE_WIRE, wire_offset(&entry->value));
    return true;
  }
  while ((unsigned)number >= outputs->capacity) {
    unsigned capacity = outputs->capacity ? outputs->capacity * 2 : 4;
    struct tf_shape *shapes = realloc(outputs->shapes, capacity * sizeof *shapes);
    if (!shapes) return tf_no_memory(model);
    outputs->shapes = shapes;
    outputs->capacity = capacity;
  }
  while ((unsigned)number >= outputs->count) outputs->shapes[outputs->count++].is_known = false;
  struct tf_shape *shape = &outputs->shapes[number];
  shape->rank = 0;
  while (wire_next(&entry->value, &field)) {
    if (field.number == 1) read_shape(model, &field, shape);
  }
  /* The TensorFlow profiler writes a scalar as [1] and what it does not know as []. */
  shape->is_known = shape->rank > 0;
  return true;
}

static bool set_output_shapes(struct tf_model *model, const struct output_shapes *outputs, uint32_t node) {
  struct tf_text text = {0};
  if (outputs->count == 0) return true;
  tf_text_add(&text, "[", 1);
  for (unsigned i = 0; i < outputs->count; i++) {
    if (i) tf_text_add(&text, ",", 1);
    tf_shape_json(&outputs->shapes[i], &text);
  }
  tf_text_add(&text, "]", 1);
  bool ok = text.failed ? tf_no_memory(model) : tf_intern(model, text.bytes, text.length, &model->nodes.items[node].output_shapes);
  tf_text_free(&text);
  return ok;
}

static bool set_shape(struct tf_model *model, const struct tf_shape *shape, uint32_t node) {
  struct tf_text text = {0};
  if (shape->rank == 0) return true;
  tf_shape_text(shape, &text);
  model->nodes.items[node].parameters = tf_shape_elements(shape);
  bool ok = text.failed ? tf_no_memory(model) : tf_intern(model, text.bytes, text.length, &model->nodes.items[node].shape);
  tf_text_free(&text);
  return ok;
}

/* An input, or the number of the output that it takes, as both come by themselves: edges of the node from `first` on. */
static bool read_input(struct tf_model *model, const struct entry *entry, uint32_t node) {
  struct tf_edge *edge = tf_edges_add(&model->edges);
  if (!edge) return tf_no_memory(model);
  *edge = (struct tf_edge){.node = node,
                           .position = wire_int32(&entry->key),
                           .is_by_file_id = true,
                           .source = wire_int64(&entry->value_field)};
  return true;
}

static void set_source_output(struct tf_model *model, const struct entry *entry, size_t first) {
  for (size_t i = first; i < model->edges.count; i++) {
    struct tf_edge *edge = &model->edges.items[i];
    if (edge->source == wire_int64(&entry->key)) edge->source_output = wire_int32(&entry->value_field);
  }
}

static bool read_texts(struct tf_model *model, struct wire_reader reader, string_id *name, string_id *op,
                       string_id *device) {
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    bool ok = true;
    if (field.number == 1) ok = tf_intern(model, text, length, name);
    else if (field.number == 6) ok = tf_intern(model, text, length, device);
    else if (field.number == 9) ok = tf_intern(model, text, length, op);
    if (!ok) return false;
  }
  tf_check(model, &reader);
  return true;
}

static bool read_node(struct tf_model *model, const struct entry *outer, struct tf_attributes *attributes) {
  struct wire_reader reader = outer->value;
  struct wire_field field;
  string_id name = 0, op = 0, device = 0, type;
  uint32_t row;
  if (!read_texts(model, reader, &name, &op, &device)) return false;
  if (tf_find_node(model, name) != UINT32_MAX) {
    tf_trouble(model, TF_TROUBLE_DUPLICATE, wire_offset(&reader));
    return true;
  }
  if (!tf_add_node(model, name, op, &row)) return false;
  model->nodes.items[row].device = device;
  model->nodes.items[row].file_id = wire_int64(&outer->key);
  if (tf_map_find(&model->file_id_map, (uint64_t)model->nodes.items[row].file_id, 0) == UINT32_MAX &&
      !tf_map_put(model, &model->file_id_map, (uint64_t)model->nodes.items[row].file_id, 0, row))
    return false;
  size_t first_edge = model->edges.count;
  struct output_shapes outputs = {0};
  struct tf_shape *shape = calloc(1, sizeof *shape);
  uint32_t trace = 0;
  bool ok = shape ? true : tf_no_memory(model);
  tf_attributes_begin(attributes);
  while (ok && wire_next(&reader, &field)) {
    struct entry entry;
    switch (field.number) {
      case 2:
        entry = read_entry(&reader, &field);
        ok = read_input(model, &entry, row);
        break;
      case 4: ok = read_shape(model, &field, shape); break;
      case 5: {
        size_t length;
        const char *text = wire_text(&field, &length);
        ok = tf_intern(model, text, length, &type) && tf_add_type(model, row, type);
        break;
      }
      case 8: model->nodes.items[row].flops = wire_int64(&field); break;
      case 10: {
        struct wire_reader code = wire_enter(&reader, &field);
        ok = tf_read_code(model, &code, &trace);
        break;
      }
      case 11: {
        struct wire_reader attribute = wire_enter(&reader, &field);
        ok = tf_attributes_take(model, attributes, &attribute);
        break;
      }
      case 12:
        entry = read_entry(&reader, &field);
        ok = read_exec(model, &entry, row);
        break;
      case 14:
        entry = read_entry(&reader, &field);
        set_source_output(model, &entry, first_edge);
        break;
      case 15:
        entry = read_entry(&reader, &field);
        ok = read_output_shape(model, &entry, &outputs);
        break;
    }
  }
  /* The file's own fields are what the profiler goes by; attributes only add to them. */
  ok = ok && tf_attributes_finish(model, attributes, row);
  if (ok) {
    struct tf_node *node = &model->nodes.items[row];
    node->shape = node->output_shapes = 0;
    node->parameters = TF_NONE;
    node->trace = trace;
  }
  ok = ok && set_shape(model, shape, row) && set_output_shapes(model, &outputs, row);
  free(shape);
  free(outputs.shapes);
  return ok;
}

bool tf_take_profile(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  uint64_t value;
  if (field->number == 1) {
    struct entry entry = read_entry(message, field);
    struct tf_attributes attributes = {0};
    bool ok = read_node(model, &entry, &attributes);
    tf_attributes_free(&attributes);
    return ok;
  }
  if (field->number == 3) {
    for (struct wire_packed list = wire_unpack(field, WIRE_VARINT); wire_packed_next(&list, &value);) {
      if (!tf_begin_step(model, (int64_t)value)) return false;
    }
  } else if (field->number == 4) {
    struct entry entry = read_entry(message, field);
    size_t length;
    const char *text = wire_text(&entry.value_field, &length);
    return tf_add_string(model, wire_int64(&entry.key), text, length);
  }
  return true;
}
