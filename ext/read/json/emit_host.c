/* emit_host.c: events with a duration of the program's threads: ops, calls to devices, overheads, ranges.
**
** PyTorch's ops go by category; those of TensorFlow's timelines, of the traces that XProf writes for viewers and of our
** own timelines say in other members what they are.
*/
#include "read/json/emit.h"
#include "read/json/xspace_trace.h"

/* c10d writes the arguments of a collective also where it sets the communicator up, and where it waits. */
static bool is_exchange(const struct field *name) { return !scan_key_is(name, "wait") && !scan_key_is(name, "init"); }

void emit_collective(struct worker *w, unsigned rows, uint64_t row) {
  struct collective found = {
      .row = row, .rows = rows,
      .name = take_text_number(w, KEY_COLLECTIVE), .group = take_text_number(w, KEY_GROUP_NAME),
      .ranks = take_text_number(w, KEY_GROUP_RANKS), .dtype = take_text_number(w, KEY_DTYPE),
      .group_size = take_integer(w, KEY_GROUP_SIZE), .in_elements = take_integer(w, KEY_IN_ELEMENTS),
      .out_elements = take_integer(w, KEY_OUT_ELEMENTS), .sequence = take_integer(w, KEY_COLLECTIVE_SEQUENCE),
      .correlation = take_integer(w, KEY_EXTERNAL_ID)};
  if (!w->is_dry) ADD_ITEM(w, collectives, found);
}

/* The Trace Event Format has stacks once for the file (stackFrames), and sf says which is an event's. */
static bool note_stack(struct worker *w, uint32_t row) {
  int64_t id = has(w, KEY_STACK_FRAME) ? take_integer(w, KEY_STACK_FRAME) : ROW_NULL;
  if (id != ROW_NULL && !w->is_dry)
    ADD_ITEM(w, python_frames, (struct python_frame){.id = id, .parent = ROW_NULL, .row = row, .is_of_file = true});
  return id != ROW_NULL;
}

void emit_op(struct worker *w, enum category category) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_ops);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  int64_t name = take_name(w, &name_class), kind = LITERAL_op;
  uint32_t lane = host_lane(w);
  if (category == CATEGORY_PYTHON) {
    kind = name_class == NAME_MODULE ? LITERAL_module : LITERAL_python;
  } else if (name_class == NAME_INPUT) {
    kind = LITERAL_input;
  } else if (category == CATEGORY_USER || name_class == NAME_USER) {
    kind = LITERAL_user;
  } else if (name_class == NAME_AUTOGRAD) {
    kind = LITERAL_autograd;
  }
  SET(row, ops_name, name);
  SET(row, ops_category, kind);
  SET(row, ops_thread_id, as_value(lane));
  SET(row, ops_start_ns, start);
  SET(row, ops_dur_ns, duration);
  SET(row, ops_correlation, take_integer(w, KEY_EXTERNAL_ID));
  if (has(w, KEY_SEQUENCE)) SET(row, ops_sequence_number, take_integer(w, KEY_SEQUENCE));
  if (has(w, KEY_FORWARD_THREAD)) SET(row, ops_forward_thread, take_integer(w, KEY_FORWARD_THREAD));
  SET(row, ops_input_shapes, take_json(w, KEY_DIMS));
  SET(row, ops_input_types, take_json(w, KEY_TYPES));
  SET(row, ops_input_values, take_json(w, KEY_CONCRETE));
  if (has(w, KEY_CALL_STACK) && w->fields[KEY_CALL_STACK].kind == FIELD_TEXT) {
    const struct field *f = &w->fields[KEY_CALL_STACK];
    taken(w, KEY_CALL_STACK);
    if (f->length) {
      SET(row, ops_recorded_code_trace,
               as_value(intern(w, f->text, f->length, f->is_escaped ? TEXT_STACK_ESCAPED : TEXT_STACK)));
    }
  }
  if (has(w, KEY_MODULE_HIERARCHY)) {
    if (w->fields[KEY_MODULE_HIERARCHY].length) SET(row, ops_module, take_text(w, KEY_MODULE_HIERARCHY));
    else taken(w, KEY_MODULE_HIERARCHY);
  }
  if (has(w, KEY_COLLECTIVE) && is_exchange(&w->fields[KEY_COLLECTIVE])) emit_collective(w, ROWS_ops, row);
  bool is_mark = kind == LITERAL_user || kind == LITERAL_input;
  if (is_mark && !w->is_dry) { /* a range as well: as derive makes them of sources without any */
    uint32_t range = worker_row(w, ROWS_ranges);
    if (range == UINT32_MAX) return;
    SET(range, ranges_name, name);
    SET(range, ranges_domain, LITERAL_torch);
    SET(range, ranges_category, LITERAL_user);
    SET(range, ranges_thread_id, as_value(lane));
    SET(range, ranges_start_ns, start);
    SET(range, ranges_dur_ns, duration);
    SET(range, ranges_is_process_wide, 0);
  }
  if (!note_stack(w, row) && category == CATEGORY_PYTHON) {
    int64_t id = peek_integer(w, KEY_PYTHON_ID), parent = peek_integer(w, KEY_PYTHON_PARENT);
    bool has_stack = has(w, KEY_CALL_STACK) && w->fields[KEY_CALL_STACK].length;
    if (!w->is_dry && !has_stack && name != ROW_NULL)
      ADD_ITEM(w, python_frames, (struct python_frame){id, parent, row, (uint32_t)name, false});
  }
}

/* tensorflow/python/client/timeline.py and tfprof's timeline: the name of the event is the op's type, args has name and
** op. */
void emit_tensorflow_op(struct worker *w) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_ops);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  int64_t event_name = take_name(w, &name_class), name = take_text(w, KEY_ARGUMENT_NAME), type = take_text(w, KEY_OP);
  SET(row, ops_name, name == ROW_NULL ? event_name : name);
  if (type != ROW_NULL) SET(row, ops_op_type, type);
  else if (name != ROW_NULL && event_name != name) SET(row, ops_op_type, event_name);
  w->tensorflow_count++;
  SET(row, ops_category, LITERAL_op);
  SET(row, ops_thread_id, as_value(host_lane(w)));
  SET(row, ops_start_ns, start);
  SET(row, ops_dur_ns, duration);
}

int process_of_xspace(const struct worker *w) {
  int64_t pid = w->processes.count ? peek_integer(w, KEY_PID) : ROW_NULL;
  for (unsigned i = 0; i < w->processes.count; i++) {
    if (w->processes.pids[i] == pid) return (int)i;
  }
  return -1;
}

void emit_op_of_xspace(struct worker *w, bool is_device) {
  static const struct field nameless = {.text = "", .kind = FIELD_TEXT};
  int64_t start, duration;
  struct xspace_event event;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_ops);
  if (row == UINT32_MAX) return;
  bool is_program = has(w, KEY_HLO_OP) && has(w, KEY_HLO_MODULE);
  enum xspace_framework framework = xspace_trace_classify(
      has(w, KEY_NAME) ? &w->fields[KEY_NAME] : &nameless, has(w, KEY_STEP),
      has(w, KEY_FUNCTION_CALL) || has(w, KEY_SOURCE), &event);
  w->xspace_counts[is_program ? XSPACE_OTHER : framework]++;
  taken(w, KEY_NAME);
  SET(row, ops_name, is_program ? take_text(w, KEY_HLO_OP) : as_value(intern_field(w, &event.name)));
  SET(row, ops_category, is_program                                    ? LITERAL_op
                         : is_device && event.category == LITERAL_user ? LITERAL_runtime
                                                                       : event.category);
  if (!is_program && event.type.length) SET(row, ops_op_type, as_value(intern_field(w, &event.type)));
  SET(row, ops_thread_id, as_value(host_lane(w)));
  SET(row, ops_start_ns, start);
  SET(row, ops_dur_ns, duration);
  if (has(w, KEY_HLO_MODULE)) SET(row, ops_hlo_module, take_text(w, KEY_HLO_MODULE));
  if (has(w, KEY_STEP) && !is_device) SET(row, ops_marked_step, take_integer(w, KEY_STEP));
}

void emit_op_of_own(struct worker *w, enum category category) {
  int64_t start, duration, step;
  struct xspace_event event;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = has(w, KEY_NAME) ? row_in(w, ROWS_ops) : UINT32_MAX;
  if (row == UINT32_MAX) return;
  enum literal kind = xspace_trace_own_category(&w->fields[KEY_NAME], w->processes.is_tensorflow, &event, &step);
  bool is_mark = category == CATEGORY_USER;
  bool is_told = is_mark ? step >= 0 : event.type.length > 0;
  const struct field *name = is_told ? &event.name : &w->fields[KEY_NAME];
  taken(w, KEY_NAME);
  SET(row, ops_name, as_value(intern_field(w, name)));
  SET(row, ops_category, is_mark ? LITERAL_user : category == CATEGORY_PYTHON ? LITERAL_python : kind);
  if (!is_mark && event.type.length) SET(row, ops_op_type, as_value(intern_field(w, &event.type)));
  if (is_mark && step >= 0) SET(row, ops_marked_step, step);
  SET(row, ops_thread_id, as_value(host_lane(w)));
  SET(row, ops_start_ns, start);
  SET(row, ops_dur_ns, duration);
  note_stack(w, row);
}

void emit_api_call(struct worker *w, bool is_driver) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_api_calls);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  SET(row, api_calls_name, take_name(w, &name_class));
  SET(row, api_calls_domain, is_driver ? LITERAL_driver : LITERAL_runtime);
  SET(row, api_calls_thread_id, as_value(host_lane(w)));
  SET(row, api_calls_start_ns, start);
  SET(row, api_calls_dur_ns, duration);
  SET(row, api_calls_correlation, take_integer(w, KEY_CORRELATION));
  SET(row, api_calls_op_correlation, take_either(w, KEY_EXTERNAL_ID, KEY_OLD_EXTERNAL_ID));
  SET(row, api_calls_result, take_integer(w, KEY_RESULT));
}

/* ---- of Ascend ---- */

static void note_queue_call(struct worker *w, enum queue_call_kind kind, int64_t start, int64_t duration, uint64_t row,
                            unsigned key) {
  int64_t number = take_integer(w, key);
  if (w->is_dry || number == ROW_NULL) return;
  ADD_ITEM(w, queue_calls, (struct queue_call){.kind = kind, .start_ns = start,
                                               .dur_ns = duration == ROW_NULL ? 0 : duration, .number = number,
                                               .row = row, .lane = host_lane(w)});
}

void emit_queue_call(struct worker *w, enum queue_call_kind kind) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_api_calls);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  SET(row, api_calls_name, take_name(w, &name_class));
  SET(row, api_calls_domain, LITERAL_runtime);
  SET(row, api_calls_thread_id, as_value(host_lane(w)));
  SET(row, api_calls_start_ns, start);
  SET(row, api_calls_dur_ns, duration);
  if (kind == QUEUE_LAUNCH) SET(row, api_calls_correlation, take_integer(w, KEY_CONNECTION));
  note_queue_call(w, kind, start, duration, row, kind == QUEUE_LAUNCH ? KEY_CONNECTION : KEY_QUEUE_CORRELATION);
}

/* ---- overheads and ranges ---- */

void emit_overhead(struct worker *w) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_overheads);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  SET(row, overheads_kind, take_name(w, &name_class));
  SET(row, overheads_thread_id, as_value(host_lane(w)));
  SET(row, overheads_start_ns, start);
  SET(row, overheads_dur_ns, duration);
}

void emit_range(struct worker *w, enum category category) {
  int64_t start, duration;
  if (!take_span(w, &start, &duration)) return;
  uint32_t row = row_in(w, ROWS_ranges);
  if (row == UINT32_MAX) return;
  enum name_class name_class;
  SET(row, ranges_name, take_name(w, &name_class));
  SET(row, ranges_category, take_text(w, KEY_CAT));
  if (category == CATEGORY_GPU_USER || category == CATEGORY_TRACE) SET(row, ranges_domain, LITERAL_torch);
  if (category == CATEGORY_GPU_USER || has(w, KEY_STREAM))
    SET(row, ranges_thread_id, device_place(w, DEVICE_GPU, KEY_STREAM).lane);
  else SET(row, ranges_thread_id, as_value(host_lane(w)));
  SET(row, ranges_start_ns, start);
  SET(row, ranges_dur_ns, duration);
  SET(row, ranges_is_process_wide, 0);
  if (category == CATEGORY_DEQUEUE) note_queue_call(w, QUEUE_DEQUEUE, start, duration, 0, KEY_QUEUE_CORRELATION);
}
