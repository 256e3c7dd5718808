/* emit_host.c: rows of an event that a thread of the host recorded.
**
** What has a number that work on a device shares is a call of its driver, allocations are memory events; all others are
** ops: of category op by their names or because XLA compiled them, input where tf.data has them, python of its tracer,
** user where the program marked them or a step, else runtime. What tf.data has is an input event besides, and so is a
** stage of any other pipeline that says that it is one (_ipl_stage_name).
*/
#include "base/hash.h"
#include "read/xplane/batch.h"

#include <string.h>
#include <strings.h>

#define SET(row, column, x) batch_set(b, ROW_##column, row, x)

static int64_t literal(const struct batch *b, enum xplane_literal which) { return b->listing->literals[which]; }

static int64_t name_of(const struct batch *b) {
  const struct event_name *name = b->event.name;
  return name && name->name ? (int64_t)name->name : ROW_NULL;
}

static struct text_part text_of_name(const struct batch *b) {
  int64_t id = name_of(b);
  if (id == ROW_NULL) return (struct text_part){"", 0};
  return (struct text_part){pool_text(b->listing->pool, (string_id)id), pool_length(b->listing->pool, (string_id)id)};
}

/* ---- memory ---- */

static int64_t region_of(struct batch *b) {
  static const struct {
    const char *text;
    enum xplane_literal region;
  } known[] = {{"temp", LITERAL_temporary},
               {"output", LITERAL_output},
               {"persist", LITERAL_persistent},
               {"dynamic", LITERAL_dynamic}};
  struct text_part text;
  if (!event_peek_text(b, KEY_REGION, &text)) return ROW_NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    bool is_it = text.length >= strlen(known[i].text) && memcmp(text.bytes, known[i].text, strlen(known[i].text)) == 0;
    if (!is_it) continue;
    event_taken(b, KEY_REGION);
    return literal(b, known[i].region);
  }
  return event_text(b, KEY_REGION);
}

/* TPUs tell the number of the device instead of an allocator. ROW_NULL: neither. */
static int64_t number_of_device(struct batch *b) {
  int64_t number = event_count(b, KEY_INDEX_ON_HOST);
  return number == ROW_NULL ? event_count(b, KEY_DEVICE_ORDINAL) : number;
}

static int64_t device_at(const struct batch *b, int64_t number) {
  return number >= 0 && (uint64_t)number < b->listing->device_count ? b->listing->devices[number] : ROW_NULL;
}

/* An allocator that is none of a GPU is one of the host. */
static int64_t device_of(struct batch *b, int64_t number) {
  const struct event_field *field = &b->event.fields[KEY_ALLOCATOR];
  struct text_part text;
  if (number != ROW_NULL && device_at(b, number) != ROW_NULL) return device_at(b, number);
  if (!event_peek_text(b, KEY_ALLOCATOR, &text)) return ROW_NULL;
  bool is_known = field->form == FIELD_REFERENCE && field->number != ROW_MAP_NONE;
  int32_t gpu = is_known ? b->names->stats.items[field->number].gpu : xplane_gpu_of_allocator(text.bytes, text.length);
  return gpu < 0 ? b->listing->host_device : device_at(b, gpu);
}

/* Each memory by itself: without an allocator and a row of its device it goes by the device's number, as in XProf. */
static int64_t allocator_of(struct batch *b, int64_t device, int64_t number) {
  static const char tens[] =
      "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
      "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
  int64_t allocator = event_text(b, KEY_ALLOCATOR);
  if (allocator != ROW_NULL || device != ROW_NULL || number < 0 || number > 99) return allocator;
  return batch_text(b, (struct text_part){tens + 2 * number + (number < 10), number < 10 ? 1 : 2});
}

static int64_t data_type(struct batch *b) {
  const struct event_field *field = &b->event.fields[KEY_DATA_TYPE];
  bool is_number = event_has(b, KEY_DATA_TYPE) && (field->form == FIELD_INTEGER || field->form == FIELD_UNSIGNED);
  if (!is_number) return event_text(b, KEY_DATA_TYPE);
  string_id known =
      field->number < sizeof b->listing->data_types / sizeof(string_id) ? b->listing->data_types[field->number] : 0;
  if (!known) return ROW_NULL;
  event_taken(b, KEY_DATA_TYPE);
  return known;
}

static void emit_memory(struct batch *b, bool is_release) {
  uint32_t row = batch_row(b, ROWS_memory_events);
  if (row == UINT32_MAX) return;
  int64_t bytes = event_count(b, KEY_ALLOCATION_BYTES);
  int64_t number = number_of_device(b), device = device_of(b, number);
  SET(row, memory_events_time_ns, b->event.start_ns);
  SET(row, memory_events_kind, literal(b, is_release ? LITERAL_release : LITERAL_allocate));
  SET(row, memory_events_bytes, bytes == ROW_NULL ? ROW_NULL : is_release ? -bytes : bytes);
  SET(row, memory_events_requested_bytes, event_count(b, KEY_REQUESTED_BYTES));
  SET(row, memory_events_in_use_bytes, event_integer(b, KEY_BYTES_ALLOCATED));
  SET(row, memory_events_stack_bytes, event_integer(b, KEY_BYTES_RESERVED));
  SET(row, memory_events_free_bytes, event_integer(b, KEY_BYTES_AVAILABLE));
  SET(row, memory_events_peak_bytes, event_integer(b, KEY_PEAK_BYTES));
  SET(row, memory_events_fragmentation_ratio, event_real(b, KEY_FRAGMENTATION, 1));
  SET(row, memory_events_device_id, device);
  SET(row, memory_events_allocator, allocator_of(b, device, number));
  SET(row, memory_events_region, region_of(b));
  SET(row, memory_events_dtype, data_type(b));
  SET(row, memory_events_shape, event_text(b, KEY_SHAPE));
  SET(row, memory_events_op_name, event_op_name(b));
  SET(row, memory_events_address, event_integer(b, KEY_ADDRESS));
  SET(row, memory_events_thread, b->line->thread);
}

/* ---- calls of the driver ---- */

static void emit_call(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_api_calls);
  if (row == UINT32_MAX) return;
  bool is_driver = b->event.name && b->event.name->is_driver;
  SET(row, api_calls_name, name_of(b));
  SET(row, api_calls_domain, literal(b, is_driver ? LITERAL_driver : LITERAL_runtime));
  SET(row, api_calls_thread_id, b->line->thread);
  SET(row, api_calls_start_ns, b->event.start_ns);
  SET(row, api_calls_dur_ns, b->event.dur_ns);
  SET(row, api_calls_correlation, event_integer(b, KEY_CORRELATION));
}

/* ---- the input pipeline ---- */

static int64_t stage_of(const struct batch *b) {
  static const enum xplane_literal stages[] = {[STAGE_PREPROCESS] = LITERAL_preprocess,
                                               [STAGE_READ_IN_ADVANCE] = LITERAL_read_in_advance,
                                               [STAGE_READ_ON_DEMAND] = LITERAL_read_on_demand};
  return literal(b, stages[b->event.name->stage]);
}

static void emit_iterator(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_input_events);
  if (row == UINT32_MAX) return;
  SET(row, input_events_name, b->event.name->op_name);
  SET(row, input_events_stage, stage_of(b));
  SET(row, input_events_thread_id, b->line->thread);
  SET(row, input_events_start_ns, b->event.start_ns);
  SET(row, input_events_dur_ns, b->event.dur_ns);
  SET(row, input_events_iterator, event_integer(b, KEY_ID));
  SET(row, input_events_parent_iterator, event_integer(b, KEY_PARENT_ID));
  SET(row, input_events_long_name, name_of(b));
  SET(row, input_events_parallelism, event_integer(b, KEY_PARALLELISM));
  SET(row, input_events_buffer_size, event_integer(b, KEY_BUFFER_LIMIT));
}

/* ---- stages that any program's pipeline marks ---- */

static bool is_said(struct text_part text, const char *word) {
  return text.length == strlen(word) && strncasecmp(text.bytes, word, text.length) == 0;
}

/* What reads does so when it is asked to, as XProf has it. */
static enum xplane_literal stage_of_category(const struct batch *b) {
  struct text_part category;
  if (!event_peek_text(b, KEY_STAGE_CATEGORY, &category)) return LITERAL_other;
  if (is_said(category, "enqueue")) return LITERAL_enqueue;
  if (is_said(category, "read")) return LITERAL_read_on_demand;
  return is_said(category, "preprocessing") ? LITERAL_preprocess : LITERAL_other;
}

static void emit_stage(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_input_events);
  if (row == UINT32_MAX) return;
  int64_t name = event_text(b, KEY_STAGE_NAME);
  SET(row, input_events_name, name == ROW_NULL ? name_of(b) : name);
  SET(row, input_events_stage, literal(b, stage_of_category(b)));
  event_taken(b, KEY_STAGE_CATEGORY);
  SET(row, input_events_thread_id, b->line->thread);
  SET(row, input_events_start_ns, b->event.start_ns);
  SET(row, input_events_dur_ns, b->event.dur_ns);
  SET(row, input_events_long_name, name_of(b));
}

/* ---- ops ---- */

/* A context is a type and a number in it, and of another process its number as well: equal for both sides. */
static int64_t context_of(struct batch *b, enum xplane_key type_key, enum xplane_key key) {
  const struct event_field *field = &b->event.fields[key];
  bool is_number = event_has(b, key) && (field->form == FIELD_INTEGER || field->form == FIELD_UNSIGNED);
  int64_t type = is_number ? event_integer(b, type_key) : ROW_NULL, process = event_integer(b, KEY_PROCESS);
  if (type == ROW_NULL) return ROW_NULL;
  event_taken(b, key);
  uint64_t hash = hash_pair(field->number, (uint64_t)type); /* of any bits: some writers take them for unsigned */
  if (process != ROW_NULL) hash = hash_pair(hash, (uint64_t)process);
  return (int64_t)(hash >> 1); /* never NULL */
}

/* How what runs inside the event is run, as its name and stats tell it. */
static int64_t called_mode(struct batch *b, bool is_compiled) {
  struct text_part call;
  enum called_mode mode = b->event.name ? b->event.name->mode : CALLED_UNKNOWN;
  if (event_peek_text(b, KEY_FUNCTION_CALL, &call) && call.length) {
    bool is_eager = call.length == 5 && memcmp(call.bytes, "eager", 5) == 0;
    return literal(b, is_eager ? LITERAL_eager : LITERAL_function);
  }
  if (mode == CALLED_AS_TOLD) {
    const struct event_field *told = &b->event.fields[KEY_IS_FUNCTION];
    bool is_told = event_has(b, KEY_IS_FUNCTION) && (told->form == FIELD_INTEGER || told->form == FIELD_UNSIGNED);
    return is_told ? literal(b, told->number ? LITERAL_function : LITERAL_eager) : ROW_NULL;
  }
  if (mode == CALLED_AS_FUNCTION || is_compiled) return literal(b, LITERAL_function);
  return mode == CALLED_AS_GRAPH ? literal(b, LITERAL_graph) : ROW_NULL;
}

/* Whether the program marked it: on a thread of Python, and neither tf.function nor C++ code, which tells its line. */
static bool is_users_mark(const struct batch *b) {
  const uint64_t frameworks = KEY_BIT(FUNCTION_CALL) | KEY_BIT(SOURCE) | KEY_BIT(CONSUMED) | KEY_BIT(PRODUCED);
  enum event_class kind = b->event.name ? b->event.name->kind : EVENT_PLAIN;
  bool is_mark = kind == EVENT_MARK || kind == EVENT_STEP; /* also "train_data", which has no number */
  return is_mark && !event_has_any(b, frameworks) && !b->is_framework_thread;
}

/* What it is called and what kind of op it is, where its stats say no more than its name does. */
static void emit_op_of_name(struct batch *b, uint32_t row) {
  static const uint8_t categories[] = {[EVENT_PLAIN] = LITERAL_runtime,      [EVENT_OP] = LITERAL_op,
                                       [EVENT_ITERATOR] = LITERAL_input,     [EVENT_ALLOCATION] = LITERAL_runtime,
                                       [EVENT_RELEASE] = LITERAL_runtime,    [EVENT_PYTHON] = LITERAL_python,
                                       [EVENT_STEP] = LITERAL_runtime,       [EVENT_MARK] = LITERAL_runtime,
                                       [EVENT_COPY] = LITERAL_runtime,       [EVENT_FILL] = LITERAL_runtime};
  const struct event_name *name = b->event.name;
  enum event_class kind = name ? name->kind : EVENT_PLAIN;
  int64_t op_name = kind == EVENT_OP ? (int64_t)name->op_name : name_of(b);
  int64_t op_type = kind == EVENT_OP         ? (int64_t)name->op_type
                    : kind == EVENT_ITERATOR ? literal(b, LITERAL_Dataset)
                                             : op_name;
  SET(row, ops_name, op_name);
  SET(row, ops_op_type, op_type);
  SET(row, ops_category, literal(b, is_users_mark(b) ? LITERAL_user : (enum xplane_literal)categories[kind]));
  if (kind != EVENT_OP) return;
  if (name->module) SET(row, ops_module, name->module);
  SET(row, ops_is_backward, name->is_backward);
}

/* The same of one that XLA compiled. */
static void emit_op_of_program(struct batch *b, uint32_t row) {
  const struct hlo_op *made_of = event_hlo_op(b);
  struct text_part text;
  int64_t op_name = event_peek_text(b, KEY_HLO_OP, &text) ? event_text(b, KEY_HLO_OP) : name_of(b);
  SET(row, ops_name, op_name);
  SET(row, ops_op_type, made_of && made_of->op_type ? (int64_t)made_of->op_type : op_name);
  SET(row, ops_category, literal(b, LITERAL_op));
  if (!made_of) return;
  if (made_of->framework_name) SET(row, ops_framework_name, made_of->framework_name);
  if (made_of->module) SET(row, ops_module, made_of->module);
  SET(row, ops_is_backward, made_of->is_backward);
  SET(row, ops_recorded_code_trace, made_of->trace);
  SET(row, ops_hlo_instruction_id, made_of->instruction);
  SET(row, ops_flops, made_of->flops);
  SET(row, ops_bytes_accessed, made_of->bytes_accessed);
  if (!made_of->collective) return;
  SET(row, ops_collective, made_of->collective);
  SET(row, ops_exchanged_bytes, made_of->exchanged);
  SET(row, ops_exchange_group, made_of->group_size);
}

/* The same of one that is neither by its name: the stage of a pipeline, or the mark of a step. */
static void emit_op_of_stats(struct batch *b, uint32_t row) {
  enum event_class kind = b->event.name ? b->event.name->kind : EVENT_PLAIN;
  bool is_stage = event_has(b, KEY_STAGE_NAME);
  bool is_mark = (kind == EVENT_STEP || event_has(b, KEY_ROOT_LEVEL)) && event_has(b, KEY_STEP);
  emit_op_of_name(b, row);
  if (kind == EVENT_OP || kind == EVENT_ITERATOR) return;
  if (is_stage) {
    int64_t type = event_text(b, KEY_STAGE_CATEGORY);
    if (type != ROW_NULL) SET(row, ops_op_type, type);
    SET(row, ops_category, literal(b, LITERAL_input));
  } else if (is_mark && kind != EVENT_PYTHON) {
    SET(row, ops_category, literal(b, LITERAL_user));
  }
}

/* Who caused it, and what it causes. */
static void emit_connections(struct batch *b, uint32_t row) {
  SET(row, ops_root_level, event_integer(b, KEY_ROOT_LEVEL));
  SET(row, ops_produced_context, context_of(b, KEY_PRODUCED_TYPE, KEY_PRODUCED));
  SET(row, ops_consumed_context, context_of(b, KEY_CONSUMED_TYPE, KEY_CONSUMED));
  SET(row, ops_marked_step, event_integer(b, KEY_STEP));
  SET(row, ops_iteration, event_integer(b, KEY_ITERATION));
  SET(row, ops_call, event_integer(b, KEY_ID));
  SET(row, ops_calling_iterator, event_integer(b, KEY_PARENT_ID));
  SET(row, ops_element, event_integer(b, KEY_ELEMENT));
}

/* Whether the kernel is that of an op which batches. */
static bool is_batching_kernel(const struct batch *b) {
  struct text_part type;
  return event_peek_text(b, KEY_KERNEL_TYPE, &type) && is_said(type, "BatchFunction");
}

/* What servers of models tell of requests, and of the batches that they make of them. It stays among the attributes,
** since others use these words, too. */
static void emit_serving(struct batch *b, uint32_t row) {
  static const enum xplane_key sizes[] = {KEY_BATCH_SIZE, KEY_INPUT_SIZE, KEY_TASK_SIZE};
  const uint64_t consumed = b->event.consumed;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (event_has(b, sizes[i])) SET(row, ops_task_size, event_count(b, sizes[i]));
  if (event_has(b, KEY_PADDED_SIZE)) SET(row, ops_padded_size, event_count(b, KEY_PADDED_SIZE));
  if (event_has(b, KEY_PADDING)) SET(row, ops_padding, event_count(b, KEY_PADDING));
  if (event_has(b, KEY_MODEL)) SET(row, ops_model_name, event_text(b, KEY_MODEL));
  else if (is_batching_kernel(b)) SET(row, ops_model_name, event_text(b, KEY_NODE_NAME));
  b->event.consumed = consumed;
}

static void emit_op(struct batch *b) {
  const uint64_t connections = KEY_BIT(ROOT_LEVEL) | KEY_BIT(PRODUCED) | KEY_BIT(CONSUMED) | KEY_BIT(STEP) |
                               KEY_BIT(ITERATION) | KEY_BIT(ID) | KEY_BIT(PARENT_ID) | KEY_BIT(ELEMENT);
  const uint64_t costs = KEY_BIT(HLO_MODULE) | KEY_BIT(FLOPS) | KEY_BIT(BYTES_ACCESSED);
  const uint64_t serving = KEY_BIT(BATCH_SIZE) | KEY_BIT(INPUT_SIZE) | KEY_BIT(TASK_SIZE) | KEY_BIT(PADDED_SIZE) |
                           KEY_BIT(PADDING) | KEY_BIT(MODEL) | KEY_BIT(KERNEL_TYPE);
  uint32_t row = batch_row(b, ROWS_ops);
  if (row == UINT32_MAX) return;
  bool is_compiled = event_has(b, KEY_HLO_OP) && event_has(b, KEY_HLO_MODULE);
  if (is_compiled) emit_op_of_program(b, row);
  else if (event_has_any(b, KEY_BIT(STAGE_NAME) | KEY_BIT(STEP))) emit_op_of_stats(b, row);
  else emit_op_of_name(b, row);
  SET(row, ops_thread_id, b->line->thread);
  SET(row, ops_start_ns, b->event.start_ns);
  SET(row, ops_dur_ns, b->event.dur_ns);
  SET(row, ops_occurrence_count, b->event.occurrences == ROW_NULL ? 1 : b->event.occurrences);
  if (event_has_any(b, costs)) {
    SET(row, ops_hlo_module, event_text(b, KEY_HLO_MODULE));
    SET(row, ops_program, event_peek_integer(b, KEY_PROGRAM));
    SET(row, ops_program_run, event_peek_integer(b, KEY_RUN));
    if (event_has(b, KEY_FLOPS)) SET(row, ops_flops, event_count(b, KEY_FLOPS));
    if (event_has(b, KEY_BYTES_ACCESSED)) SET(row, ops_bytes_accessed, event_count(b, KEY_BYTES_ACCESSED));
  }
  if (event_has_any(b, connections)) emit_connections(b, row);
  if (event_has_any(b, serving)) emit_serving(b, row);
  if (is_compiled || event_has(b, KEY_FUNCTION_CALL) || (b->event.name && b->event.name->mode))
    SET(row, ops_called_mode, called_mode(b, is_compiled));
}

/* A step of a TPU goes by its number, a mark within its ops by the name that the program gave it. */
static void emit_device_mark(struct batch *b) {
  uint32_t row = batch_row(b, ROWS_ops);
  if (row == UINT32_MAX) return;
  bool is_step = b->line->role == LINE_STEPS;
  int64_t name = is_step ? literal(b, LITERAL_Steps) : name_of(b);
  SET(row, ops_name, name);
  SET(row, ops_op_type, name);
  SET(row, ops_category, literal(b, LITERAL_user));
  SET(row, ops_thread_id, b->line->thread);
  SET(row, ops_start_ns, b->event.start_ns);
  SET(row, ops_dur_ns, b->event.dur_ns);
  SET(row, ops_occurrence_count, 1);
  if (!is_step) return;
  struct text_part text = text_of_name(b);
  int64_t number = event_integer(b, KEY_STEP), told;
  bool is_number = text.length && xplane_number_behind(text.bytes, "", &told) && told >= 0;
  SET(row, ops_marked_step, is_number ? told : number);
}

void emit_host(struct batch *b) {
  if (b->line->role != LINE_PLAIN) {
    emit_device_mark(b);
    return;
  }
  const struct event_name *name = b->event.name;
  enum event_class kind = name ? name->kind : EVENT_PLAIN;
  if (kind == EVENT_ALLOCATION || kind == EVENT_RELEASE) {
    emit_memory(b, kind == EVENT_RELEASE);
  } else if (event_has(b, KEY_CORRELATION)) {
    emit_call(b);
  } else {
    bool is_stage = event_has(b, KEY_STAGE_NAME) && kind != EVENT_ITERATOR && kind != EVENT_OP;
    is_stage &= !event_has(b, KEY_HLO_OP);
    if (kind == EVENT_ITERATOR && (!b->is_dry || b->dry_table == ROWS_input_events)) emit_iterator(b);
    if (is_stage && (!b->is_dry || b->dry_table == ROWS_input_events)) emit_stage(b);
    if (!b->is_dry || b->dry_table == ROWS_ops) emit_op(b);
  }
}
