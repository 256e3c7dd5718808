/* graph_def.c: reads a GraphDef, by itself or within a MetaGraphDef or a SavedModel. */
#include "classic/read/fields.h"
#include "classic/read/functions.h"
#include "classic/read/messages.h"

/* The inputs, once the node has its row. */
static bool read_inputs(struct tf_model *model, struct wire_reader reader, uint32_t row) {
  struct wire_field field;
  int32_t position = 0;
  while (wire_next(&reader, &field)) {
    if (field.number != NodeDef_input) continue;
    size_t length;
    const char *text = wire_text(&field, &length);
    if (!tf_add_input(model, row, position++, text, length)) return false;
  }
  return true;
}

static bool read_attributes(struct tf_model *model, struct wire_reader reader, uint32_t row) {
  struct tf_attributes attributes = {0};
  struct wire_field field;
  bool ok = true;
  tf_attributes_begin(&attributes);
  while (ok && wire_next(&reader, &field)) {
    if (field.number != NodeDef_attr) continue;
    struct wire_reader entry = wire_enter(&reader, &field);
    ok = tf_attributes_take(model, &attributes, &entry);
  }
  ok = ok && tf_attributes_finish(model, &attributes, &model->nodes.items[row]) &&
       tf_add_calls(model, row, &attributes);
  tf_attributes_free(&attributes);
  return ok;
}

static bool read_node(struct tf_model *model, struct wire_reader reader) {
  struct wire_reader whole = reader;
  struct wire_field field;
  string_id name = 0, op = 0, device = 0;
  while (wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    bool ok = true;
    if (field.number == NodeDef_name) ok = tf_intern(model, text, length, &name);
    else if (field.number == NodeDef_op) ok = tf_intern(model, text, length, &op);
    else if (field.number == NodeDef_device) ok = tf_intern(model, text, length, &device);
    if (!ok) return false;
  }
  tf_check(model, &reader);
  if (tf_find_node(model, name) != UINT32_MAX) {
    tf_trouble(model, TF_TROUBLE_DUPLICATE, wire_offset(&whole));
    return true;
  }
  uint32_t row;
  if (!tf_add_node(model, name, op, &row)) return false;
  model->nodes.items[row].requested_device = device;
  return tf_add_type(model, row, op) && read_inputs(model, whole, row) && read_attributes(model, whole, row);
}

bool tf_take_graph(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  if (field->number == GraphDef_node) return read_node(model, wire_enter(message, field));
  if (field->number == GraphDef_library) return tf_read_functions(model, wire_enter(message, field));
  return true;
}

bool tf_take_partition_graphs(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  if (field->number != RunMetadata_partition_graphs) return true;
  struct wire_reader graph = wire_enter(message, field);
  struct wire_field node;
  while (wire_next(&graph, &node)) {
    if (node.number == GraphDef_node && !read_node(model, wire_enter(&graph, &node))) return false;
  }
  tf_check(model, &graph);
  return true;
}

bool tf_take_meta_graph(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  if (field->number != MetaGraphDef_graph_def) return true;
  struct wire_reader graph = wire_enter(message, field);
  struct wire_field part;
  while (wire_next(&graph, &part)) {
    if (!tf_take_graph(model, &graph, &part)) return false;
  }
  tf_check(model, &graph);
  return true;
}

bool tf_take_saved_model(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  if (field->number != SavedModel_meta_graphs) return true;
  struct wire_reader meta_graph = wire_enter(message, field);
  struct wire_field part;
  while (wire_next(&meta_graph, &part)) {
    if (!tf_take_meta_graph(model, &meta_graph, &part)) return false;
  }
  tf_check(model, &meta_graph);
  return true;
}
