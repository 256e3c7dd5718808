/* profile_proto.c: reads ProfileProto, what ProfileContext writes as profile_<step>.
**
** ProfileProto nodes=1 map, has_trace=2, steps=3, id_to_string=4 map, miss_accelerator_stream=5; ProfileNode name=1,
** inputs=2 map, shape=4, op_types=5, canonical_device=6, host_device=7, float_ops=8, op=9, trace=10, attrs=11 map,
** execs=12 map, id=13, src_output_index=14 map, output_shapes=15 map; ExecProfile run_count=1, all_start_micros=2,
** latest_end_micros=3, accelerator_execs=4 map, cpu_execs=5 map, memory_execs=7; ExecTime times=1 {int64_values=1};
** ExecMemory memory_micros=1, accelerator_persistent_bytes=5, requested_bytes=6, peak_bytes=7, residual_bytes=8,
** output_bytes=9, allocator_bytes_in_use=10; AllocationRecord alloc_micros=1, alloc_bytes=2.
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

__attribute__((always_inline)) static inline struct entry read_entry(const struct wire_reader *outer,
                                                                     const struct wire_field *field) {
  struct entry entry = {.key = {.type = WIRE_VARINT}, .value_field = {.type = WIRE_VARINT}};
  struct wire_reader reader = wire_enter(outer, field);
  struct wire_field part;
  entry.value = reader;
  entry.value.end = entry.value.at;
  while (wire_next(&reader, &part)) {
    if (part.number == 1) entry.key = part;
    if (part.number != 2) continue;
    entry.value_field = part;
    entry.value = wire_enter(&reader, &part);
  }
  return entry;
}

/* A time or count that is absurd is left out. */
static inline int64_t checked(struct tf_model *model, const struct wire_reader *reader, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return value;
  tf_trouble(model, TF_TROUBLE_TIME, wire_offset(reader));
  return 0;
}

static const int64_t most_bytes = INT64_MAX / 4;

/* ---- what is most of a file ----
**
** Executions are nine tenths of a file, and nearly all of their fields have the same form: a tag of one byte, then a
** number or a length of at most eight.  quick_next() takes such a field and needs nothing in memory; where a field has
** another form, which is as good, wire_next() goes on.
*/

struct quick {
  const uint8_t *at, *end, *limit;
};
#define QUICK_BYTES(number) ((unsigned)(number) << 3 | WIRE_BYTES)

static inline struct quick quick_begin(const struct wire_reader *reader) {
  return (struct quick){reader->at, reader->end, reader->limit};
}

/* The number, or the length of the bytes that begin at quick->at and are to be passed over. False: quick->at is where
** it was. */
__attribute__((always_inline)) static inline bool quick_next(struct quick *quick, unsigned *tag, uint64_t *value) {
  const uint8_t *at = quick->at;
  if (quick->end - at < 2 || quick->limit - at < 10) return false;
  *tag = *at++;
  if (*tag > 0x7f || *tag < 8 || (*tag & 5)) return false;
  if (*at < 0x80) *value = *at++;
  else at = varint_read_ahead(at, value);
  if (!at || at > quick->end || ((*tag & 7) == WIRE_BYTES && *value > (size_t)(quick->end - at))) return false;
  quick->at = at;
  return true;
}

/* The part of `length` bytes that comes next, which is passed over. */
static inline struct quick quick_enter(struct quick *quick, uint64_t length) {
  struct quick part = {quick->at, quick->at + length, quick->limit};
  quick->at += length;
  return part;
}

/* The lane of a device's name. */
static bool find_lane(struct tf_model *model, const char *name, size_t length, bool is_accelerator, uint32_t *lane) {
  struct tf_last_lane *last = &model->last_lanes[is_accelerator];
  if (last->name && last->length == length && memcmp(last->name, name, length) == 0) {
    *lane = last->lane;
    return true;
  }
  string_id device;
  if (!tf_intern(model, name, length, &device) || !tf_get_lane(model, device, device, TF_NONE, is_accelerator, lane))
    return false;
  *last = (struct tf_last_lane){pool_text(model->pool, device), pool_length(model->pool, device), *lane};
  return true;
}

static inline bool add_time(struct tf_model *model, const struct wire_reader *place, struct tf_exec *exec,
                            bool is_accelerator, uint32_t lane, int64_t start, int64_t micros) {
  int64_t *sum = is_accelerator ? &exec->accelerator_micros : &exec->cpu_micros;
  start = checked(model, place, start, TF_MOST_MICROS);
  micros = checked(model, place, micros, TF_MOST_MICROS);
  *sum = tf_add_micros(model, *sum, micros);
  return tf_add_run(model, tf_exec_row(model, exec), lane, start, micros);
}

/* The entry {1: device, 2: {1: {1: start, micros}}} of one run. *is_taken: it was of this form. */
static inline bool quick_run(struct tf_model *model, const struct wire_reader *place, struct quick entry,
                             struct tf_exec *exec, bool is_accelerator, bool *is_taken) {
  unsigned tag;
  uint64_t length, start, micros;
  *is_taken = false;
  if (!quick_next(&entry, &tag, &length) || tag != QUICK_BYTES(1)) return true;
  struct quick name = quick_enter(&entry, length);
  for (unsigned level = 2; level > 0; level--) { /* the map's value, in it the only tuple */
    if (!quick_next(&entry, &tag, &length) || tag != QUICK_BYTES(level) || entry.at + length != entry.end) return true;
  }
  if (!quick_next(&entry, &tag, &length) || tag != QUICK_BYTES(1) || entry.at + length != entry.end) return true;
  if (entry.limit - entry.at < 2 * VARINT_MAXIMUM_BYTES) return true;
  const uint8_t *at = varint_read_ahead(entry.at, &start);
  at = at && at < entry.end ? varint_read_ahead(at, &micros) : NULL;
  if (at != entry.end) return true;
  uint32_t lane;
  *is_taken = true;
  return find_lane(model, (const char *)name.at, (size_t)(name.end - name.at), is_accelerator, &lane) &&
         add_time(model, place, exec, is_accelerator, lane, (int64_t)start, (int64_t)micros);
}

static bool read_runs(struct tf_model *model, const struct entry *entry, struct tf_exec *exec, bool is_accelerator) {
  struct wire_reader times = entry->value;
  struct wire_field field;
  uint32_t lane;
  size_t length;
  const char *name = wire_text(&entry->key, &length);
  if (!find_lane(model, name, length, is_accelerator, &lane)) return false;
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
    if (!add_time(model, &tuple, exec, is_accelerator, lane, values[0], values[1])) return false;
  }
  tf_check(model, &times);
  return true;
}

struct memory {
  int64_t micros, in_use, persistent;
};

static inline void take_memory(struct tf_model *model, const struct wire_reader *reader, unsigned number, int64_t value,
                               struct memory *memory, struct tf_exec *exec) {
  int64_t *sum;
  switch (number) {
    case 1: memory->micros = value; return;
    case 5: memory->persistent = value; return;
    case 10: memory->in_use = value; return;
    case 6: sum = &exec->requested_bytes; break;
    case 7: sum = &exec->peak_bytes; break;
    case 8: sum = &exec->residual_bytes; break;
    case 9: sum = &exec->output_bytes; break;
    default: return;
  }
  if (value < -most_bytes || value > most_bytes) tf_trouble(model, TF_TROUBLE_TIME, wire_offset(reader));
  else *sum = tf_add(model, *sum, value);
}

static bool read_memory(struct tf_model *model, struct wire_reader *reader, struct quick quick, struct tf_exec *exec) {
  struct memory memory = {0};
  uint64_t value;
  unsigned tag;
  while (quick_next(&quick, &tag, &value)) {
    if ((tag & 7) == WIRE_BYTES) quick.at += value;
    else take_memory(model, reader, tag >> 3, (int64_t)value, &memory, exec);
  }
  if (quick.at != quick.end) {
    struct wire_reader rest = *reader;
    struct wire_field field;
    rest.at = quick.at;
    rest.end = quick.end;
    while (wire_next(&rest, &field)) take_memory(model, &rest, field.number, wire_int64(&field), &memory, exec);
    tf_check(model, &rest);
  }
  return tf_add_allocation(model, exec->node, true, 0, memory.persistent) &&
         tf_add_memory_point(model, exec, memory.micros, memory.in_use);
}

static bool read_allocation(struct tf_model *model, struct wire_reader reader, uint32_t node) {
  struct wire_field field;
  int64_t micros = 0, bytes = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == 1) micros = wire_int64(&field);
    else if (field.number == 2) bytes = wire_int64(&field);
  }
  tf_check(model, &reader);
  return tf_add_allocation(model, node, false, micros, bytes);
}

static bool take_number(struct tf_model *model, const struct wire_reader *reader, unsigned number, int64_t value,
                        struct tf_exec *exec) {
  switch (number) {
    case 1: exec->run_count = (uint32_t)checked(model, reader, value, INT32_MAX); break;
    case 2: exec->start_micros = checked(model, reader, value, TF_MOST_MICROS); break;
    case 3: exec->end_micros = checked(model, reader, value, TF_MOST_MICROS); break;
  }
  return true;
}

static bool take_part(struct tf_model *model, const struct wire_reader *reader, const struct wire_field *field,
                      struct tf_exec *exec) {
  switch (field->number) {
    case 4: case 5: {
      struct entry runs = read_entry(reader, field);
      return read_runs(model, &runs, exec, field->number == 4);
    }
    case 7: {
      struct wire_reader memory = wire_enter(reader, field);
      return read_memory(model, &memory, quick_begin(&memory), exec);
    }
    case 11: return read_allocation(model, wire_enter(reader, field), exec->node);
  }
  return take_number(model, reader, field->number, wire_int64(field), exec);
}

static bool read_exec(struct tf_model *model, struct wire_reader *reader, int64_t step, uint32_t node) {
  struct wire_field field;
  struct tf_exec *exec; /* stays where it is: only the next execution adds one */
  struct quick quick = quick_begin(reader);
  uint64_t value;
  unsigned tag;
  bool is_taken;
  if (!tf_begin_step(model, step) || !tf_get_exec(model, node, &exec)) return false;
  for (; quick_next(&quick, &tag, &value); reader->at = quick.at) {
    if ((tag & 7) == WIRE_VARINT) {
      take_number(model, reader, tag >> 3, (int64_t)value, exec);
      continue;
    }
    struct quick part = quick_enter(&quick, value);
    if (tag == QUICK_BYTES(6)) continue; /* names of devices, which the runs have, too */
    if (tag == QUICK_BYTES(7)) {
      if (!read_memory(model, reader, part, exec)) return false;
      continue;
    }
    is_taken = false;
    if ((tag == QUICK_BYTES(4) || tag == QUICK_BYTES(5)) &&
        !quick_run(model, reader, part, exec, tag == QUICK_BYTES(4), &is_taken))
      return false;
    field = (struct wire_field){tag >> 3, WIRE_BYTES, 0, part.at, (size_t)value, part.limit};
    if (!is_taken && !take_part(model, reader, &field, exec)) return false;
  }
  while (wire_next(reader, &field)) {
    if (!take_part(model, reader, &field, exec)) return false;
  }
  tf_check(model, reader);
  return true;
}

/* The map entry {1: step, 2: execution}. */
static inline bool read_exec_entry(struct tf_model *model, const struct wire_reader *outer,
                                   const struct wire_field *field, uint32_t node) {
  struct wire_reader reader = wire_enter(outer, field);
  struct quick quick = quick_begin(&reader);
  unsigned tag;
  uint64_t step, length;
  if (quick_next(&quick, &tag, &step) && tag == (1 << 3 | WIRE_VARINT) && quick_next(&quick, &tag, &length) &&
      tag == QUICK_BYTES(2) && quick.at + length == quick.end) {
    reader.at = quick.at;
    reader.depth++;
    return read_exec(model, &reader, (int64_t)step, node);
  }
  struct entry entry = read_entry(outer, field);
  return read_exec(model, &entry.value, wire_int64(&entry.key), node);
}

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
TF_LIST(source_outputs, struct source_output)

static int compare_sources(const void *left, const void *right) {
  const struct source_output *a = left, *b = right;
  if (a->source != b->source) return a->source < b->source ? -1 : 1;
  return a->place < b->place ? -1 : 1;
}

static bool read_source_output(struct tf_model *model, const struct entry *entry, struct source_outputs *sources) {
  struct source_output *item = source_outputs_add(sources);
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
TF_LIST(output_list, struct output)

/* What is collected of one node and put together at its end; the memory is used again by the next one. */
struct node_parts {
  struct tf_attributes attributes;
  struct tf_shape shape, output_shape;
  struct tf_text text, shapes;
  struct output_list outputs;
  struct source_outputs sources;
};

static bool read_output_shape(struct tf_model *model, struct entry *entry, struct node_parts *parts) {
  struct wire_field field;
  struct output *output = output_list_add(&parts->outputs);
  if (!output) return tf_no_memory(model);
  parts->output_shape.rank = 0;
  while (wire_next(&entry->value, &field)) {
    if (field.number == 1) read_shape(&field, &parts->output_shape);
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
  tf_text_add(&parts->shapes, "[", 1);
  for (size_t i = 0; i < count; i++) {
    if (outputs[i].number < 0 || (i + 1 < count && outputs[i + 1].number == outputs[i].number))
      continue; /* the last counts */
    missing += (size_t)(outputs[i].number - number);
    if (missing > MOST_MISSING) break;
    for (; number < outputs[i].number; number++) tf_text_add(&parts->shapes, number ? ",null" : "null", number ? 5 : 4);
    if (number++) tf_text_add(&parts->shapes, ",", 1);
    tf_text_add(&parts->shapes, parts->text.bytes + outputs[i].first, outputs[i].length);
  }
  tf_text_add(&parts->shapes, "]", 1);
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
static bool read_input(struct tf_model *model, const struct entry *entry, uint32_t node) {
  struct tf_edge *edge = tf_edges_add(&model->edges);
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
    if (field.number == 1) ok = tf_intern(model, text, length, name);
    else if (field.number == 6) ok = tf_intern(model, text, length, device);
    else if (field.number == 9) ok = tf_intern(model, text, length, op);
    if (!ok) return false;
  }
  return true;
}

static bool read_part(struct tf_model *model, struct wire_reader *reader, const struct wire_field *field, uint32_t row,
                      struct node_parts *parts) {
  struct entry entry;
  switch (field->number) {
    case 2: entry = read_entry(reader, field); return read_input(model, &entry, row);
    case 4: read_shape(field, &parts->shape); return true;
    case 5: {
      size_t length;
      const char *text = wire_text(field, &length);
      string_id type;
      return tf_intern(model, text, length, &type) && tf_add_type(model, row, type);
    }
    case 8: model->nodes.items[row].flops = wire_int64(field); return true;
    case 10: {
      struct wire_reader code = wire_enter(reader, field);
      return tf_read_code(model, &code, &model->nodes.items[row].trace);
    }
    case 11: {
      struct wire_reader attribute = wire_enter(reader, field);
      return tf_attributes_take(model, &parts->attributes, &attribute);
    }
    case 12: return read_exec_entry(model, reader, field, row);
    case 14: entry = read_entry(reader, field); return read_source_output(model, &entry, &parts->sources);
    case 15: entry = read_entry(reader, field); return read_output_shape(model, &entry, parts);
  }
  return true;
}

static bool read_node(struct tf_model *model, const struct entry *outer, struct node_parts *parts) {
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
  if (!tf_attributes_finish(model, &parts->attributes, row)) return false;
  struct tf_node *node = &model->nodes.items[row];
  node->shape = node->output_shapes = 0;
  node->parameters = TF_NONE;
  return set_output_shapes(model, parts, row, &reader) && set_shape(model, parts, row);
}

void tf_node_parts_free(struct node_parts *parts) {
  if (!parts) return;
  tf_attributes_free(&parts->attributes);
  tf_text_free(&parts->text);
  tf_text_free(&parts->shapes);
  output_list_free(&parts->outputs);
  source_outputs_free(&parts->sources);
  free(parts);
}

bool tf_take_profile(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  uint64_t value;
  if (field->number == 1) {
    struct entry entry = read_entry(message, field);
    if (!model->node_parts && !(model->node_parts = calloc(1, sizeof *model->node_parts))) return tf_no_memory(model);
    return read_node(model, &entry, model->node_parts);
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
