/* profile_proto.c: reads ProfileProto, what ProfileContext writes as profile_<step>.
**
** ProfileProto nodes=1 map, has_trace=2, steps=3, id_to_string=4 map, miss_accelerator_stream=5; ProfileNode name=1,
** inputs=2 map, shape=4, op_types=5, canonical_device=6, host_device=7, float_ops=8, op=9, trace=10, attrs=11 map,
** execs=12 map (profile_execs.c), id=13, src_output_index=14 map, output_shapes=15 map.
**
** Map entries are {key=1, value=2}.  Nodes refer to each other by number, in any order: publish.c looks the numbers up.
** Of an input, the file knows the number of the source's output only once for each source.
*/
#include "classic/read/profile_proto.h"

#include "classic/read/fields.h"

/* ---- nodes ---- */

static void read_shape(const struct wire_field *field, struct tf_shape *shape) {
  uint64_t value;
  shape->is_known = true;
  for (struct wire_packed list = wire_unpack(field, WIRE_VARINT); wire_packed_next(&list, &value);) {
    if (shape->rank < TF_MAXIMUM_RANK) shape->sizes[shape->rank++] = (int64_t)value < 0 ? -1 : (int64_t)value;
  }
}

/* Which of its outputs a source gives to the node, by the source's number. */
struct source_output {
  int64_t source;
  int32_t output;
  uint32_t place;
};
LIST_NAMED(source_outputs, struct source_output);

static int compare_sources(const void *left, const void *right) {
  const struct source_output *a = left, *b = right;
  if (a->source != b->source) return a->source < b->source ? -1 : 1;
  return a->place < b->place ? -1 : 1;
}

static bool read_source_output(struct tf_model *model, const struct map_entry *entry, struct source_outputs *sources) {
  struct source_output *item = list_add(sources);
  if (!item) return tf_no_memory(model);
  *item = (struct source_output){wire_int64(&entry->key), wire_int32(&entry->value_field), (uint32_t)sources->count};
  return true;
}

/* Tells the edges from `first` on. A node may have tens of thousands of inputs, which are looked up in order then. */
static void set_source_outputs(struct tf_model *model, struct source_outputs *sources, size_t first) {
  enum { FEW = 8 };
  size_t count = sources->count;
  const struct source_output *items = sources->items;
  if (count > FEW) qsort(sources->items, count, sizeof *sources->items, compare_sources);
  for (size_t i = first; i < model->edges.count; i++) {
    struct tf_edge *edge = &model->edges.items[i];
    size_t low = 0, high = count; /* the last one of that source lies before `high` */
    if (count <= FEW) {
      while (high > 0 && items[high - 1].source != edge->source) high--;
    } else {
      while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].source <= edge->source) low = middle + 1;
        else high = middle;
      }
    }
    if (high > 0 && items[high - 1].source == edge->source) edge->source_output = items[high - 1].output;
  }
}

/* Output shapes come one by one, by number, in any order. */
struct output {
  int32_t number;
  size_t first, length; /* of its JSON */
};
LIST_NAMED(output_list, struct output);

/* What is collected of one node and put together at its end; the memory is used again by the next one. */
struct node_parts {
  struct tf_attributes attributes;
  struct tf_shape shape, output_shape;
  struct text_buffer text, shapes;
  struct output_list outputs;
  struct source_outputs sources;
};

static bool read_output_shape(struct tf_model *model, struct map_entry *entry, struct node_parts *parts) {
  struct wire_field field;
  struct output *output = list_add(&parts->outputs);
  if (!output) return tf_no_memory(model);
  parts->output_shape.rank = 0;
  while (wire_next(&entry->value, &field)) {
    if (field.number == Tuple_int64_values) read_shape(&field, &parts->output_shape);
  }
  tf_check(model, &entry->value);
  /* The TensorFlow profiler writes a scalar as [1] and what it does not know as []. */
  parts->output_shape.is_known = parts->output_shape.rank > 0;
  output->number = wire_int32(&entry->key);
  output->first = parts->text.length;
  tf_shape_json(&parts->output_shape, &parts->text);
  output->length = parts->text.length - output->first;
  return true;
}

static int compare_outputs(const void *left, const void *right) {
  const struct output *a = left, *b = right;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return a->first < b->first ? -1 : 1;
}

/* Outputs that are not named are null; so many that the file cannot mean it are left out. */
static bool set_output_shapes(struct tf_model *model, struct node_parts *parts, uint32_t node,
                              const struct wire_reader *reader) {
  enum { MOST_MISSING = 1000 };
  struct output *outputs = parts->outputs.items;
  size_t count = parts->outputs.count, missing = 0;
  int32_t number = 0;
  if (count == 0) return true;
  for (size_t i = 1; i < count; i++) {
    if (outputs[i - 1].number < outputs[i].number) continue;
    qsort(outputs, count, sizeof *outputs, compare_outputs);
    break;
  }
  text_buffer_add(&parts->shapes, "[", 1);
  for (size_t i = 0; i < count; i++) {
    if (outputs[i].number < 0 || (i + 1 < count && outputs[i + 1].number == outputs[i].number))
      continue; /* the last counts */
    missing += (size_t)(outputs[i].number - number);
    if (missing > MOST_MISSING) break;
    for (; number < outputs[i].number; number++)
      text_buffer_add(&parts->shapes, number ? ",null" : "null", number ? 5 : 4);
    if (number++) text_buffer_add(&parts->shapes, ",", 1);
    text_buffer_add(&parts->shapes, parts->text.bytes + outputs[i].first, outputs[i].length);
  }
  text_buffer_add(&parts->shapes, "]", 1);
  if (outputs[0].number < 0 || missing > MOST_MISSING) tf_trouble(model, TF_TROUBLE_WIRE, wire_offset(reader));
  if (number == 0) return true;
  if (parts->text.failed || parts->shapes.failed) return tf_no_memory(model);
  return tf_intern(model, parts->shapes.bytes, parts->shapes.length, &model->nodes.items[node].output_shapes);
}

static bool set_shape(struct tf_model *model, struct node_parts *parts, uint32_t node) {
  if (parts->shape.rank == 0) return true;
  parts->text.length = 0;
  tf_shape_text(&parts->shape, &parts->text);
  model->nodes.items[node].parameters = tf_shape_elements(&parts->shape);
  return parts->text.failed ? tf_no_memory(model)
                            : tf_intern(model, parts->text.bytes, parts->text.length, &model->nodes.items[node].shape);
}

/* An input; which output of its source it takes comes by itself. */
static bool read_input(struct tf_model *model, const struct map_entry *entry, uint32_t node) {
  struct tf_edge *edge = list_add(&model->edges);
  if (!edge) return tf_no_memory(model);
  *edge = (struct tf_edge){.node = node,
                           .position = wire_int32(&entry->key),
                           .is_by_file_id = true,
                           .source = wire_int64(&entry->value_field)};
  return true;
}

/* Name, op and device, which come first in files that TensorFlow wrote. */
static bool read_texts(struct tf_model *model, struct wire_reader reader, string_id *name, string_id *op,
                       string_id *device) {
  struct wire_field field;
  while ((!*name || !*op || !*device) && wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    bool ok = true;
    if (field.number == ProfileNode_name) ok = tf_intern(model, text, length, name);
    else if (field.number == ProfileNode_canonical_device) ok = tf_intern(model, text, length, device);
    else if (field.number == ProfileNode_op) ok = tf_intern(model, text, length, op);
    if (!ok) return false;
  }
  return true;
}

static bool read_part(struct tf_model *model, struct wire_reader *reader, const struct wire_field *field, uint32_t row,
                      struct node_parts *parts) {
  struct map_entry entry;
  switch (field->number) {
    case ProfileNode_inputs: entry = read_map_entry(reader, field); return read_input(model, &entry, row);
    case ProfileNode_shape: read_shape(field, &parts->shape); return true;
    case ProfileNode_op_types: {
      size_t length;
      const char *text = wire_text(field, &length);
      string_id type;
      return tf_intern(model, text, length, &type) && tf_add_type(model, row, type);
    }
    case ProfileNode_float_ops: model->nodes.items[row].flops = wire_int64(field); return true;
    case ProfileNode_trace: {
      struct wire_reader code = wire_enter(reader, field);
      return tf_read_code(model, &code, &model->nodes.items[row].trace);
    }
    case ProfileNode_attrs: {
      struct wire_reader attribute = wire_enter(reader, field);
      return tf_attributes_take(model, &parts->attributes, &attribute);
    }
    case ProfileNode_execs: return tf_read_exec(model, reader, field, row);
    case ProfileNode_src_output_index:
      entry = read_map_entry(reader, field);
      return read_source_output(model, &entry, &parts->sources);
    case ProfileNode_output_shapes:
      entry = read_map_entry(reader, field);
      return read_output_shape(model, &entry, parts);
  }
  return true;
}

static bool read_node(struct tf_model *model, const struct map_entry *outer, struct node_parts *parts) {
  struct wire_reader reader = outer->value;
  struct wire_field field;
  string_id name = 0, op = 0, device = 0;
  uint32_t row;
  if (!read_texts(model, reader, &name, &op, &device)) return false;
  if (tf_find_node(model, name) != UINT32_MAX) {
    tf_trouble(model, TF_TROUBLE_DUPLICATE, wire_offset(&reader));
    return true;
  }
  if (!tf_add_node(model, name, op, &row)) return false;
  model->nodes.items[row].device = device;
  model->nodes.items[row].file_id = wire_int64(&outer->key);
  size_t first_edge = model->edges.count;
  parts->shape.rank = 0;
  parts->text.length = parts->shapes.length = 0;
  parts->outputs.count = parts->sources.count = 0;
  tf_attributes_begin(&parts->attributes);
  while (wire_next(&reader, &field)) {
    if (!read_part(model, &reader, &field, row, parts)) return false;
  }
  tf_check(model, &reader);
  if (!tf_end_execs(model)) return false;
  set_source_outputs(model, &parts->sources, first_edge);
  /* The file's own fields are what the profiler goes by; attributes only add to them. */
  if (!tf_attributes_finish(model, &parts->attributes, &model->nodes.items[row])) return false;
  struct tf_node *node = &model->nodes.items[row];
  node->shape = node->output_shapes = 0;
  node->parameters = TF_NONE;
  return set_output_shapes(model, parts, row, &reader) && set_shape(model, parts, row);
}

static void free_node_parts(struct node_parts *parts) {
  tf_attributes_free(&parts->attributes);
  text_buffer_free(&parts->text);
  text_buffer_free(&parts->shapes);
  list_free(&parts->outputs);
  list_free(&parts->sources);
  free(parts);
}

bool tf_take_profile(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  uint64_t value;
  if (field->number == ProfileProto_nodes) {
    struct map_entry entry = read_map_entry(message, field);
    if (!model->node_parts && !(model->node_parts = calloc(1, sizeof *model->node_parts))) return tf_no_memory(model);
    model->free_node_parts = free_node_parts;
    return read_node(model, &entry, model->node_parts);
  }
  if (field->number == ProfileProto_steps) {
    for (struct wire_packed list = wire_unpack(field, WIRE_VARINT); wire_packed_next(&list, &value);) {
      if (!tf_begin_step(model, (int64_t)value)) return false;
    }
  } else if (field->number == ProfileProto_id_to_string) {
    struct map_entry entry = read_map_entry(message, field);
    size_t length;
    const char *text = wire_text(&entry.value_field, &length);
    return tf_add_string(model, wire_int64(&entry.key), text, length);
  } else if (field->number == ProfileProto_miss_accelerator_stream) {
    model->misses_streams |= wire_int64(field) != 0;
  }
  return true;
}
