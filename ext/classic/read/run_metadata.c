/* run_metadata.c: reads RunMetadata, and accounts what it tells to nodes.
**
** RunMetadata step_stats=1; StepStats dev_stats=1; DeviceStepStats device=1, node_stats=2, thread_names=3;
** NodeExecStats node_name=1, all_start_micros=2, op_end_rel_micros=4, memory=6, output=7, thread_id=10,
** memory_stats=12, timeline_label=8; AllocatorMemoryUsed allocator_name=1, total_bytes=2, peak_bytes=3, live_bytes=4,
** allocator_bytes_in_use=5, allocation_records=6 { alloc_micros=1, alloc_bytes=2 }; NodeOutput slot=1,
** tensor_description=3 { shape=2, allocation_description=4 { requested_bytes=1, allocated_bytes=2 } }; MemoryStats
** temp_memory_size=1, persistent_memory_size=3.
**
** An execution on a canonical device counts as CPU time (on a GPU: the time of scheduling) and as a run; on a lane
** "stream:all" as accelerator time.  Of 0 microseconds it counts as 1.  Memory counts on the node's own device only:
** what the allocators gave, with temporary and persistent memory on top; of accelerators each allocation and what was
** in use at the end of the execution are kept too.
**
** What a node computed, of what and with which shapes, is that of its last run in the step: a graph need not tell it.
*/
#include "classic/read/fields.h"
#include "classic/read/messages.h"
#include "classic/read/timeline_label.h"
#include "classic/read/transfers.h"

struct stats {
  const char *name, *label;
  size_t name_length, label_length;
  int64_t start_micros, micros, thread;
  int64_t total_bytes, peak_bytes, live_bytes; /* over all allocators */
  int64_t output_bytes, temporary_bytes, persistent_bytes;
  int64_t in_use_bytes, end_micros; /* of accelerators, at the end */
  int64_t outputs;                  /* in model->run_shapes */
  struct wire_reader message;       /* to be gone through again for the allocations */
};

struct device {
  string_id name, lower;
  bool is_canonical, is_accelerator;
};

static bool is_accelerator_allocator(struct wire_reader reader) {
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    size_t length;
    const char *name = wire_text(&field, &length);
    if (field.number == AllocatorMemoryUsed_allocator_name && memmem(name, length, "GPU", 3)) return true;
  }
  return false;
}

static void read_allocator(struct tf_model *model, struct wire_reader reader, struct stats *stats) {
  struct wire_field field;
  bool is_accelerator = is_accelerator_allocator(reader);
  while (wire_next(&reader, &field)) {
    int64_t bytes = wire_int64(&field);
    switch (field.number) {
      case AllocatorMemoryUsed_total_bytes: stats->total_bytes = tf_add(model, stats->total_bytes, bytes); break;
      case AllocatorMemoryUsed_peak_bytes: stats->peak_bytes = tf_add(model, stats->peak_bytes, bytes); break;
      case AllocatorMemoryUsed_live_bytes: stats->live_bytes = tf_add(model, stats->live_bytes, bytes); break;
      case AllocatorMemoryUsed_allocator_bytes_in_use:
        if (is_accelerator && bytes > stats->in_use_bytes) stats->in_use_bytes = bytes;
        break;
    }
  }
  tf_check(model, &reader);
}

/* The records of one allocator. */
static bool take_records(struct tf_model *model, struct wire_reader reader, uint32_t node) {
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    if (field.number != AllocatorMemoryUsed_allocation_records) continue;
    struct wire_reader record = wire_enter(&reader, &field);
    int64_t micros = 0, bytes = 0;
    while (wire_next(&record, &field)) {
      if (field.number == AllocationRecord_alloc_micros) micros = wire_int64(&field);
      else if (field.number == AllocationRecord_alloc_bytes) bytes = wire_int64(&field);
    }
    if (!tf_add_allocation(model, node, false, micros, bytes)) return false;
  }
  return true;
}

/* What an execution did to the memory of its accelerator; its run is the last one. */
static bool take_memory(struct tf_model *model, const struct stats *stats, const struct tf_exec *exec) {
  struct wire_reader reader = stats->message;
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    struct wire_reader allocator = wire_enter(&reader, &field);
    if (field.number == NodeExecStats_memory && is_accelerator_allocator(allocator) &&
        !take_records(model, allocator, exec->node))
      return false;
  }
  return tf_add_allocation(model, exec->node, true, 0, stats->persistent_bytes) &&
         tf_add_memory_point(model, exec, stats->end_micros, stats->in_use_bytes);
}

/* Adds a shape to the JSON list of them, of which those that are not told are null. What has more outputs than any op
** has none here. */
static void add_output_shape(struct tf_model *model, int64_t slot, const struct tf_shape *shape, struct stats *stats) {
  enum { MOST_MISSING = 64, MOST_OUTPUTS = 4096 };
  struct text_buffer *text = &model->run_shapes;
  if (slot < stats->outputs || slot - stats->outputs > MOST_MISSING || slot >= MOST_OUTPUTS) return;
  if (!stats->outputs) text->length = 0;
  for (; stats->outputs <= slot; stats->outputs++) {
    text_buffer_add(text, stats->outputs ? "," : "[", 1);
    if (stats->outputs < slot) text_buffer_add(text, "null", 4);
  }
  tf_shape_json(shape, text);
}

static void read_output(struct tf_model *model, struct wire_reader reader, struct stats *stats) {
  struct wire_field field;
  struct tf_shape shape;
  int64_t slot = 0;
  shape.is_known = false;
  while (wire_next(&reader, &field)) {
    if (field.number == NodeOutput_slot) slot = wire_int64(&field);
    if (field.number != NodeOutput_tensor_description) continue;
    struct wire_reader tensor = wire_enter(&reader, &field);
    while (wire_next(&tensor, &field)) {
      if (field.number == TensorDescription_shape && field.type == WIRE_BYTES) {
        struct wire_reader message = wire_enter(&tensor, &field);
        tf_read_shape(&message, &shape);
      }
      if (field.number != TensorDescription_allocation_description) continue;
      struct wire_reader allocation = wire_enter(&tensor, &field);
      int64_t bytes = 0;
      while (wire_next(&allocation, &field)) {
        bool is_size = field.number == AllocationDescription_requested_bytes ||
                       field.number == AllocationDescription_allocated_bytes;
        if (is_size && wire_int64(&field) > bytes) bytes = wire_int64(&field);
      }
      stats->output_bytes = tf_add(model, stats->output_bytes, bytes);
    }
  }
  add_output_shape(model, slot, &shape, stats);
  tf_check(model, &reader);
}

static void read_stats(struct tf_model *model, struct wire_reader reader, struct stats *stats) {
  struct wire_field field;
  *stats = (struct stats){.name = "", .label = "", .thread = TF_NONE, .message = reader};
  while (wire_next(&reader, &field)) {
    struct wire_reader child = wire_enter(&reader, &field);
    switch (field.number) {
      case NodeExecStats_node_name: stats->name = wire_text(&field, &stats->name_length); break;
      case NodeExecStats_all_start_micros: stats->start_micros = wire_int64(&field); break;
      case NodeExecStats_op_end_rel_micros: stats->micros = wire_int64(&field); break;
      case NodeExecStats_memory: read_allocator(model, child, stats); break;
      case NodeExecStats_output: read_output(model, child, stats); break;
      case NodeExecStats_timeline_label: stats->label = wire_text(&field, &stats->label_length); break;
      case NodeExecStats_thread_id: stats->thread = (int64_t)wire_uint32(&field); break;
      case NodeExecStats_memory_stats:
        while (wire_next(&child, &field)) {
          if (field.number == MemoryStats_temp_memory_size) stats->temporary_bytes = wire_int64(&field);
          else if (field.number == MemoryStats_persistent_memory_size) stats->persistent_bytes = wire_int64(&field);
        }
        break;
    }
  }
  tf_check(model, &reader);
  /* Sums of what is kept here, and the same in nanoseconds, must fit. */
  const int64_t most = TF_MOST_MICROS;
  if (stats->start_micros < 0 || stats->start_micros > most || stats->micros < 0 || stats->micros > most) {
    tf_trouble(model, TF_TROUBLE_TIME, wire_offset(&reader));
    stats->start_micros = stats->micros = 0;
  }
  stats->end_micros = stats->start_micros + stats->micros;
  if (stats->micros == 0) stats->micros = 1;
}

/* Names that belong to the runtime and not to the graph. Some of them show up on several devices. */
static bool is_runtime_name(const char *name, size_t length) {
  return (length == 10 && memcmp(name, "RecvTensor", 10) == 0) || (length == 7 && memcmp(name, "_SOURCE", 7) == 0) ||
         memmem(name, length, "MEMCPY", 6);
}

static bool account_memory(struct tf_model *model, const struct stats *stats, struct tf_exec *exec) {
  int64_t persistent = stats->persistent_bytes, both = tf_add(model, persistent, stats->temporary_bytes);
  exec->requested_bytes = tf_add(model, exec->requested_bytes, tf_add(model, stats->total_bytes, both));
  exec->peak_bytes = tf_add(model, exec->peak_bytes, tf_add(model, stats->peak_bytes, both));
  exec->residual_bytes = tf_add(model, exec->residual_bytes, tf_add(model, stats->live_bytes, persistent));
  exec->output_bytes = tf_add(model, exec->output_bytes, stats->output_bytes);
  return true;
}

static bool account_time(struct tf_model *model, const struct stats *stats, const struct device *device,
                         struct tf_exec *exec) {
  int64_t end = stats->start_micros + stats->micros;
  if (exec->start_micros == 0 || stats->start_micros < exec->start_micros) exec->start_micros = stats->start_micros;
  if (end > exec->end_micros) exec->end_micros = end;
  if (!device->is_accelerator && !device->is_canonical) return true;
  if (device->is_accelerator) {
    exec->accelerator_micros = tf_add_micros(model, exec->accelerator_micros, stats->micros);
  } else {
    exec->cpu_micros = tf_add_micros(model, exec->cpu_micros, stats->micros);
    exec->run_count++;
  }
  uint32_t lane;
  return tf_get_lane(model, device->name, device->lower, stats->thread, device->is_accelerator, &lane) &&
         tf_add_run(model, tf_exec_row(model, exec), lane, stats->start_micros, stats->micros);
}

/* Adds what the graph has not, with the op that its label tells, or what stands behind the colon of its name. Without
** either its op is called as the node. */
static bool add_runtime_node(struct tf_model *model, string_id name, const struct stats *stats, size_t name_length,
                             uint32_t *row) {
  struct tf_call call;
  char plain[TF_PLAIN_OP];
  string_id op = 0, type = 0;
  if (tf_find_call(stats->label, stats->label_length, &call)) {
    size_t length = tf_plain_op(call.op, call.op_length, plain);
    if (!tf_intern(model, plain, length, &op) || !tf_intern(model, call.op, call.op_length, &type)) return false;
  } else if (name_length + 1 < stats->name_length) {
    const char *behind = stats->name + name_length + 1;
    if (!tf_intern(model, behind, stats->name_length - name_length - 1, &op)) return false;
  }
  if (!op) op = name;
  if (!tf_add_node(model, name, op, row)) return false;
  const struct tf_function_node *function = tf_find_function_node(model, stats->name, name_length, op);
  model->nodes.items[*row].is_runtime = true;
  model->nodes.items[*row].attributes = function ? function->attributes : 0;
  model->nodes.items[*row].data_format = function ? function->data_format : 0;
  return tf_add_type(model, *row, op) && (!type || type == op || tf_add_type(model, *row, type));
}

/* The end of an element of a list of shapes, "null" or "[...]". */
static const char *end_of_shape(const char *at) {
  const char *end = *at == '[' ? at + strcspn(at, "]") : at + strcspn(at, ",]");
  return *end && *at == '[' ? end + 1 : end;
}

/* Outputs that a run had not, such as the other one of a Switch, are those of the run before. */
static bool keep_outputs(struct tf_model *model, string_id before) {
  enum { LONGEST = 4096 };
  struct text_buffer *list = &model->run_shapes;
  if (pool_length(model->pool, before) > LONGEST) return true;
  char *now = tf_scratch(model, list->length + 1);
  if (!now) return false;
  memcpy(now, list->bytes, list->length + 1);
  const char *old = pool_text(model->pool, before) + 1, *at = now + 1;
  list->length = 1;
  while (*at != ']' || *old != ']') {
    const char *end = *at == ']' ? at : end_of_shape(at), *old_end = *old == ']' ? old : end_of_shape(old);
    bool is_told = *at == '[' || *old != '[';
    if (list->length > 1) text_buffer_add(list, ",", 1);
    if (is_told && *at == ']') text_buffer_add(list, "null", 4);
    else if (is_told) text_buffer_add(list, at, (size_t)(end - at));
    else text_buffer_add(list, old, (size_t)(old_end - old));
    at = end + (*end == ',');
    old = old_end + (*old_end == ',');
  }
  text_buffer_add(list, "]", 1);
  return !list->failed || tf_no_memory(model);
}

/* As tf_intern, of a text that mostly is the one before. */
static bool intern_again(struct tf_model *model, const char *text, size_t length, string_id *before, string_id *id) {
  bool is_same = *before && pool_length(model->pool, *before) == length &&
                 memcmp(pool_text(model->pool, *before), text, length) == 0;
  if (!is_same && !tf_intern(model, text, length, before)) return false;
  *id = *before;
  return true;
}

/* What ran, and what it was like. */
static bool take_call(struct tf_model *model, const struct stats *stats, struct tf_exec *exec) {
  struct tf_node *node = &model->nodes.items[exec->node];
  struct tf_call call;
  char plain[TF_PLAIN_OP];
  if (stats->outputs) {
    text_buffer_add(&model->run_shapes, "]", 1);
    if (model->run_shapes.failed) return tf_no_memory(model);
    if (exec->output_shapes && !keep_outputs(model, exec->output_shapes)) return false;
    if (!intern_again(model, model->run_shapes.bytes, model->run_shapes.length, &node->run_shapes,
                      &exec->output_shapes))
      return false;
  }
  if (!tf_find_call(stats->label, stats->label_length, &call)) return true;
  size_t length = tf_plain_op(call.op, call.op_length, plain);
  char *text = tf_scratch(model, length + call.inputs_length);
  if (!text) return false;
  memcpy(text, plain, length);
  memcpy(text + length, call.inputs, call.inputs_length);
  return intern_again(model, text, length + call.inputs_length, &node->run_call, &exec->call);
}

static bool account(struct tf_model *model, struct wire_reader reader, const struct device *device) {
  struct stats stats;
  struct tf_exec *exec;
  string_id name;
  read_stats(model, reader, &stats);
  /* What follows a colon is no part of the name: "w:VariableV2". */
  const char *colon = memchr(stats.name, ':', stats.name_length);
  size_t length = colon ? (size_t)(colon - stats.name) : stats.name_length;
  if (!tf_intern(model, stats.name, length, &name)) return false;
  uint32_t row = tf_find_node(model, name);
  if (row == UINT32_MAX) {
    if (is_runtime_name(stats.name, length)) {
      struct tf_moved moved = {stats.name, stats.name_length, stats.label, stats.label_length, device->name,
                               device->lower, stats.start_micros, stats.micros, stats.output_bytes};
      if (tf_is_transfer(&moved)) return tf_add_transfer(model, &moved);
      tf_trouble(model, TF_TROUBLE_DROPPED, wire_offset(&reader));
      return true;
    }
    if (!add_runtime_node(model, name, &stats, length, &row)) return false;
  }
  struct tf_node *node = &model->nodes.items[row];
  if (device->is_canonical && node->device && node->device != device->lower) {
    tf_trouble(model, TF_TROUBLE_DEVICE, wire_offset(&reader));
    return true;
  }
  if (device->is_canonical && !node->device) {
    node->device = device->lower;
    if (!tf_add_type(model, row, device->lower)) return false;
  }
  if (!tf_get_exec(model, row, &exec)) return false;
  if (device->is_canonical && !take_call(model, &stats, exec)) return false;
  if (stats.start_micros == 0) {
    tf_trouble(model, TF_TROUBLE_NO_START, wire_offset(&reader));
    return true;
  }
  bool is_own_device = model->nodes.items[row].device == device->lower && device->lower;
  if (is_own_device) account_memory(model, &stats, exec);
  if (!device->is_canonical && !device->is_accelerator) tf_trouble(model, TF_TROUBLE_STREAM, wire_offset(&reader));
  return account_time(model, &stats, device, exec) && (!is_own_device || take_memory(model, &stats, exec));
}

static bool read_device_name(struct tf_model *model, struct wire_reader reader, struct device *device) {
  struct wire_field field;
  *device = (struct device){0};
  while (wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number != DeviceStepStats_device) continue;
    if (!tf_intern(model, text, length, &device->name) || !tf_intern_lower(model, text, length, &device->lower))
      return false;
  }
  const char *lower = pool_text(model->pool, device->lower);
  if (!lower) return true;
  size_t length = pool_length(model->pool, device->lower);
  device->is_accelerator = tf_is_accelerator_lane(lower, length);
  device->is_canonical = tf_is_canonical_device(lower, length);
  return true;
}

bool tf_take_run_metadata(struct tf_model *model, struct wire_reader *message, const struct wire_field *field) {
  if (field->number != RunMetadata_step_stats) return true;
  model->has_calls = true;
  struct wire_reader step = wire_enter(message, field);
  struct wire_field part;
  bool has_accelerator = false, has_streams = false;
  while (wire_next(&step, &part)) {
    if (part.number != StepStats_dev_stats) continue;
    struct wire_reader lane = wire_enter(&step, &part);
    struct device device;
    if (!read_device_name(model, lane, &device)) return false;
    const char *lower = pool_text(model->pool, device.lower);
    has_accelerator |= lower && strstr(lower, "gpu");
    has_streams |= device.is_accelerator;
    while (wire_next(&lane, &part)) {
      if (!tf_goes_on(model)) return false;
      if (part.number == DeviceStepStats_node_stats && !account(model, wire_enter(&lane, &part), &device)) return false;
    }
    tf_check(model, &lane);
  }
  tf_check(model, &step);
  if (has_accelerator && !has_streams) model->steps.items[model->step].misses_streams = true;
  return true;
}
