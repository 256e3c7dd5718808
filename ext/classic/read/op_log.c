/* op_log.c: reads OpLogProto, and the CodeDef of its entries and of ProfileNode.  Older files carry the texts of a
** frame themselves (file, function, line), newer ones keys of id_to_string. */
#include "classic/read/fields.h"
#include "classic/read/messages.h"

static bool read_frame(struct tf_model *model, struct wire_reader *reader, struct tf_frame *frame) {
  struct wire_field field;
  *frame = (struct tf_frame){.file = TF_NONE, .function = TF_NONE, .text = TF_NONE, .first_line = TF_NONE};
  while (wire_next(reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    string_id id = 0;
    bool is_text = field.number == Trace_file || field.number == Trace_function || field.number == Trace_line;
    if (is_text && length) {
      if (!tf_intern(model, text, length, &id)) return false;
      if (!frame->is_inline) frame->file = frame->function = frame->text = TF_NONE;
      frame->is_inline = true;
    }
    switch (field.number) {
      case Trace_file: if (length) frame->file = id; break;
      case Trace_function: if (length) frame->function = id; break;
      case Trace_line: if (length) frame->text = id; break;
      case Trace_lineno: frame->line = wire_int32(&field); break;
      case Trace_func_start_line: frame->first_line = wire_int32(&field); break;
      case Trace_file_id: if (!frame->is_inline) frame->file = wire_int64(&field); break;
      case Trace_function_id: if (!frame->is_inline) frame->function = wire_int64(&field); break;
      case Trace_line_id: if (!frame->is_inline) frame->text = wire_int64(&field); break;
    }
  }
  tf_check(model, reader);
  return true;
}

/* Finds bytes that were read before, mostly those of the last time; *row is where their row is kept, 0 for new ones.
** False: no memory. */
static bool find_bytes(struct tf_model *model, struct tf_known_bytes *known, const uint8_t *bytes, size_t length,
                       uint32_t **row) {
  if (!known->pool && !(known->pool = pool_create())) return tf_no_memory(model);
  string_id id = known->last;
  if (!id || pool_length(known->pool, id) != length || memcmp(pool_text(known->pool, id), bytes, length) != 0) {
    if (pool_intern(known->pool, (const char *)bytes, length, &id)) return tf_no_memory(model);
    known->last = id;
  }
  while (known->rows.count <= id) {
    if (!list_add(&known->rows)) return tf_no_memory(model);
  }
  *row = &known->rows.items[id];
  return true;
}

bool tf_read_code(struct tf_model *model, struct wire_reader *code, uint32_t *trace) {
  struct wire_field field;
  uint32_t *known, *frame;
  if (!find_bytes(model, &model->codes, code->at, (size_t)(code->end - code->at), &known)) return false;
  if (*known) {
    *trace = *known;
    return true;
  }
  bool is_whole = true;
  *trace = 0;
  while (wire_next(code, &field)) {
    if (field.number != CodeDef_traces || field.type != WIRE_BYTES) continue;
    if (!find_bytes(model, &model->code_frames, field.bytes, field.length, &frame)) return false;
    if (!*frame) {
      struct wire_reader child = wire_enter(code, &field);
      struct tf_frame read;
      uint32_t row;
      if (!read_frame(model, &child, &read) || !tf_get_frame(model, &read, &row)) return false;
      if (!child.wrong) *frame = row + 1;
      is_whole &= !child.wrong; /* what is wrong is told each time */
      if (!tf_push_frame(model, *trace, row, trace)) return false;
    } else if (!tf_push_frame(model, *trace, *frame - 1, trace)) {
      return false;
    }
  }
  tf_check(model, code);
  if (is_whole && !code->wrong) *known = *trace;
  return true;
}

static bool read_string(struct tf_model *model, struct wire_reader *entry) {
  struct wire_field field;
  int64_t key = 0;
  size_t length = 0;
  const char *text = "";
  while (wire_next(entry, &field)) {
    if (field.number == MapEntry_key) key = wire_int64(&field);
    else if (field.number == MapEntry_value) text = wire_text(&field, &length);
  }
  return tf_add_string(model, key, text, length);
}

static bool read_entry(struct tf_model *model, struct wire_reader *entry) {
  struct wire_reader whole = *entry;
  struct wire_field field;
  string_id name = 0, type;
  while (wire_next(entry, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == OpLogEntry_name && !tf_intern(model, text, length, &name)) return false;
  }
  tf_check(model, entry);
  uint32_t row = tf_find_node(model, name);
  if (row == UINT32_MAX) {
    /* By itself an op log tells which nodes there are; what ran does, too. */
    if (model->has_graph || model->steps.count) {
      tf_trouble(model, TF_TROUBLE_OP_LOG, wire_offset(&whole));
      return true;
    }
    if (!tf_add_node(model, name, 0, &row)) return false;
  }
  *entry = whole;
  while (wire_next(entry, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    struct wire_reader child = wire_enter(entry, &field);
    struct tf_node *node = &model->nodes.items[row];
    if (field.number == OpLogEntry_float_ops && wire_int64(&field)) node->flops = wire_int64(&field);
    else if (field.number == OpLogEntry_types &&
             (!tf_intern(model, text, length, &type) || !tf_add_type(model, row, type)))
      return false;
    else if (field.number == OpLogEntry_code_def && !node->trace) {
      uint32_t trace = 0;
      if (!tf_read_code(model, &child, &trace)) return false;
      model->nodes.items[row].trace = trace;
    }
  }
  return true;
}

bool tf_take_op_log(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  struct wire_reader child = wire_enter(message, field);
  if (field->number == OpLogProto_log_entries) return read_entry(model, &child);
  if (field->number == OpLogProto_id_to_string) return read_string(model, &child);
  return true;
}
