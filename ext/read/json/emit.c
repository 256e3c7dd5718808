/* emit.c: from the members of one event to rows.
**
** Which table an event goes to is told by its phase ("ph", the Trace Event Format) and category ("cat": libkineto's
** ActivityType.cpp, and in traces of 2021 the capitalised names that the TensorBoard plugin knew).  A member that a row
** has taken is reported by take_*(); with is_dry set it is noted, so that the column `attributes` can hold exactly the
** rest: both run the same code.  The categories are here, and the phases without a duration; events with a duration are
** in emit_host.c and emit_device.c.
*/
#include "base/hash.h"
#include "read/json/emit.h"

static bool has_part(const struct field *f, const char *part) {
  return f->kind == FIELD_TEXT && memmem(f->text, f->length, part, strlen(part));
}

static bool ends_with(const struct field *f, const char *tail) {
  size_t length = strlen(tail);
  return f->length > length && memcmp(f->text + f->length - length, tail, length) == 0;
}

static enum category find_category(const struct field *f) {
#define IS(name) (f->length == sizeof name - 1 && memcmp(f->text, name, sizeof name - 1) == 0)
  switch (f->length) {
    case 2: if (IS("Op")) return CATEGORY_TENSORFLOW; break;
    case 5: if (IS("Trace")) return CATEGORY_TRACE; break;
    case 6:
      if (IS("cpu_op")) return CATEGORY_OP;
      if (IS("hpu_op")) return CATEGORY_HPU_KERNEL;
      if (IS("kernel") || IS("Kernel")) return CATEGORY_KERNEL;
      if (IS("Memcpy")) return CATEGORY_MEMCPY;
      if (IS("Memset")) return CATEGORY_MEMSET;
      break;
    case 7:
      if (IS("Runtime")) return CATEGORY_RUNTIME;
      if (IS("enqueue")) return CATEGORY_ENQUEUE;
      if (IS("dequeue")) return CATEGORY_DEQUEUE;
      break;
    case 8:
      if (IS("Operator")) return CATEGORY_OP;
      if (IS("overhead")) return CATEGORY_OVERHEAD;
      break;
    case 9: if (IS("cuda_sync") || IS("xpu_sync")) return CATEGORY_SYNC; break;
    case 10:
      if (IS("gpu_memcpy")) return CATEGORY_MEMCPY;
      if (IS("gpu_memset")) return CATEGORY_MEMSET;
      break;
    case 12: if (IS("cuda_runtime")) return CATEGORY_RUNTIME; break;
    case 15:
      if (IS("python_function")) return CATEGORY_PYTHON;
      if (IS("user_annotation")) return CATEGORY_USER;
      if (IS("mtia_ccp_events")) return CATEGORY_MTIA_KERNEL;
      break;
    case 19: if (IS("gpu_user_annotation")) return CATEGORY_GPU_USER; break;
    default: break;
  }
#undef IS
  if (ends_with(f, "_runtime"))
    return CATEGORY_RUNTIME; /* mtia_runtime, xpu_runtime, glow_runtime, privateuse1_runtime */
  if (ends_with(f, "_driver")) return CATEGORY_DRIVER;
  if (ends_with(f, "_memcpy")) return CATEGORY_PRIVATE_MEMCPY;
  if (ends_with(f, "_memset")) return CATEGORY_PRIVATE_MEMSET;
  if (ends_with(f, "_kernel") || ends_with(f, "_kernels")) return CATEGORY_PRIVATE_KERNEL;
  return CATEGORY_OTHER;
}

/* ---- phases without a duration ---- */

/* c10::DeviceType: 0 is the CPU, all others (1 CUDA, 6 HIP, 12 XPU ...) are accelerators; the CPU's Device Id is -1. */
static void emit_memory(struct worker *w, bool is_failure) {
  int64_t time;
  if (!take_time(w, &time)) return;
  uint32_t row = row_in(w, ROWS_memory_events);
  if (row == UINT32_MAX) return;
  int64_t bytes = take_integer(w, KEY_MEMORY_BYTES), type = take_integer(w, KEY_DEVICE_TYPE);
  int64_t ordinal = take_integer(w, KEY_DEVICE_ID);
  taken(w, KEY_PH);
  taken(w, KEY_NAME);
  taken(w, KEY_CAT);
  taken(w, KEY_SCOPE);
  SET(row, memory_events_time_ns, time);
  SET(row, memory_events_kind, is_failure                       ? LITERAL_out_of_memory
                               : bytes != ROW_NULL && bytes < 0 ? LITERAL_release
                                                                : LITERAL_allocate);
  SET(row, memory_events_bytes, bytes);
  SET(row, memory_events_in_use_bytes, take_integer(w, KEY_TOTAL_ALLOCATED));
  SET(row, memory_events_reserved_bytes, take_integer(w, KEY_TOTAL_RESERVED));
  if (type == 0) SET(row, memory_events_device_id, as_value(device_number(w, DEVICE_CPU, 0)));
  else if (type != ROW_NULL)
    SET(row, memory_events_device_id, as_value(device_number(w, DEVICE_GPU, ordinal == ROW_NULL ? 0 : ordinal)));
  SET(row, memory_events_address, take_integer(w, KEY_ADDRESS));
  SET(row, memory_events_thread, as_value(host_lane(w)));
}

/* Some phases are moments of another kind, such as a step of an asynchronous range or the creation of an object. The
** letter of such a phase stays in attributes. */
static void emit_instant(struct worker *w, bool is_plain) {
  enum name_class name_class = has(w, KEY_NAME) ? classify(&w->fields[KEY_NAME]) : NAME_PLAIN;
  if (name_class == NAME_MEMORY || name_class == NAME_OUT_OF_MEMORY) { /* in 2021 without a category */
    emit_memory(w, name_class == NAME_OUT_OF_MEMORY);
    return;
  }
  int64_t time;
  if (!take_time(w, &time)) return;
  if (is_plain) taken(w, KEY_PH);
  uint32_t row = row_in(w, ROWS_instants);
  if (row == UINT32_MAX) return;
  SET(row, instants_name, take_name(w, &name_class));
  SET(row, instants_domain, take_text(w, KEY_CAT));
  SET(row, instants_thread_id, as_value(host_lane(w)));
  SET(row, instants_time_ns, time);
}

/* The counter of an event: its name, and in brackets the id where it has one, as chrome://tracing shows them. Both stay
** in the chunk. */
struct counter {
  const struct field *name, *id;
};

static bool is_series_plain(const struct counter *c, const struct field *series) {
  return scan_key_is(series, "value") ||
         (c->name && series->length == c->name->length && memcmp(series->text, c->name->text, series->length) == 0);
}

/* "counter", "counter[id]", "counter.series" or "counter[id].series". */
static int64_t counter_name(struct worker *w, const struct counter *c, const struct field *series) {
  enum { PREFIX_BYTES = 256 };
  size_t prefix = (c->name ? (size_t)c->name->length : 0) + (c->id ? (size_t)c->id->length + 2 : 0);
  /* A longer one is no name that somebody reads, and once for each series it would multiply what the file holds. */
  bool is_composed = prefix && prefix <= PREFIX_BYTES;
  if (!series && (!c->id || !is_composed)) return c->name ? as_value(intern_field(w, c->name)) : ROW_NULL;
  if (!is_composed) return as_value(intern_field(w, series));
  char *composed = worker_scratch(w, prefix + 1 + (series ? series->length : 0)), *out = composed;
  if (!composed) return ROW_NULL;
  const struct field none = {.text = ""}, *name = c->name ? c->name : &none;
  memcpy(out, name->text, name->length);
  out += name->length;
  if (c->id) {
    *out++ = '[';
    memcpy(out, c->id->text, c->id->length);
    out += c->id->length;
    *out++ = ']';
  }
  if (series) {
    *out++ = '.';
    memcpy(out, series->text, series->length);
    out += series->length;
  }
  bool is_escaped = name->is_escaped || (c->id && c->id->is_escaped) || (series && series->is_escaped);
  uint32_t length = (uint32_t)(out - composed);
  uint32_t text = text_intern_copy(&w->texts, composed, length, is_escaped ? TEXT_ESCAPED : TEXT_PLAIN);
  if (text == INTERN_NONE) w->no_memory = true;
  return as_value(text);
}

/* One row for each number in args; their names are found by walking the event again. The series "value", and that of
** the counter's own name, go by the name of the counter. */
static void emit_counter(struct worker *w) {
  int64_t time;
  if (!take_time(w, &time)) return;
  int64_t lane = as_value(host_lane(w));
  struct counter counter = {has(w, KEY_NAME) ? &w->fields[KEY_NAME] : NULL, has(w, KEY_ID) ? &w->fields[KEY_ID] : NULL};
  struct field event = {w->event, 0, FIELD_NESTED, false, 0, 0, 0}, key, value;
  const char *close = scan_nested(w->event, w->end);
  if (!close) return;
  event.length = (uint32_t)(close - w->event);
  unsigned numbers = 0, others = 0;
  for (struct member_cursor members = scan_members(&event); scan_next(&members, &key, &value);) {
    if (!scan_key_is(&key, "args") || value.kind != FIELD_NESTED || value.text[0] != '{') continue;
    struct field series, number;
    bool has_plain = false;
    for (struct member_cursor args = scan_members(&value); scan_next(&args, &series, &number);) {
      double real;
      if (!number_real(&number, &real)) {
        others++;
        worker_problem(w, PROBLEM_COUNTER, w->event);
        continue;
      }
      uint32_t row = row_in(w, ROWS_counters);
      if (row == UINT32_MAX) return;
      bool is_plain = !has_plain && is_series_plain(&counter, &series);
      has_plain |= is_plain;
      SET(row, counters_name, counter_name(w, &counter, is_plain ? NULL : &series));
      SET(row, counters_thread_id, lane);
      SET(row, counters_time_ns, time);
      SET(row, counters_value, real_bits(real));
      numbers++;
    }
  }
  if (!numbers && !others) worker_problem(w, PROBLEM_COUNTER, w->event);
}

static void emit_metadata(struct worker *w) {
  static const struct { const char *name; unsigned key;
  } facts[LANE_FACTS] = {[THREAD_NAME] = {"thread_name", KEY_ARGUMENT_NAME},
                         [THREAD_SORT_INDEX] = {"thread_sort_index", KEY_SORT_INDEX},
                         [PROCESS_NAME] = {"process_name", KEY_ARGUMENT_NAME},
                         [PROCESS_LABELS] = {"process_labels", KEY_LABELS},
                         [PROCESS_SORT_INDEX] = {"process_sort_index", KEY_SORT_INDEX}};
  if (w->is_dry) return;
  unsigned what = 0;
  while (what < LANE_FACTS && !(has(w, KEY_NAME) && scan_key_is(&w->fields[KEY_NAME], facts[what].name))) what++;
  uint32_t pid_text, tid_text, text = what < LANE_FACTS ? take_text_number(w, facts[what].key) : INTERN_NONE;
  if (text == INTERN_NONE) {
    worker_problem(w, PROBLEM_METADATA, w->event);
    return;
  }
  uint64_t flags = LANE_HOST;
  uint64_t pid = lane_word(w, KEY_PID, LANE_PID_IS_TEXT, &flags, &pid_text);
  uint64_t tid = lane_word(w, KEY_TID, LANE_TID_IS_TEXT, &flags, &tid_text);
  uint64_t offset = w->file_offset + (uint64_t)(w->event - w->data);
  ADD_ITEM(w, lane_names, (struct lane_name){{{flags, pid, tid}}, offset, text, (uint8_t)what});
}

/* What tells the asynchronous ranges of one category and name from each other: the id, within a scope where the event
** names one, or of one process ("id2": {"local": ...}). */
static uint64_t async_id(const struct worker *w) {
  uint64_t id = 0;
  struct field key, value;
  if (has(w, KEY_ID)) id = text_hash(w->fields[KEY_ID].text, w->fields[KEY_ID].length);
  if (has(w, KEY_ID2) && w->fields[KEY_ID2].kind == FIELD_NESTED && w->fields[KEY_ID2].text[0] == '{') {
    for (struct member_cursor members = scan_members(&w->fields[KEY_ID2]); scan_next(&members, &key, &value);) {
      id = text_hash(value.text, value.length);
      if (!scan_key_is(&key, "local") || !has(w, KEY_PID)) continue;
      id = id * 31 + text_hash(w->fields[KEY_PID].text, w->fields[KEY_PID].length);
    }
  }
  if (has(w, KEY_ID_SCOPE)) id = id * 31 + text_hash(w->fields[KEY_ID_SCOPE].text, w->fields[KEY_ID_SCOPE].length);
  return id;
}

/* ---- which event is which ---- */

/* Whose work a category of the form privateuse1_..., xpu_..., mtia_... is. */
static enum device_kind private_device(const struct worker *w) {
  static const struct { const char *head; enum device_kind kind; } known[] = {
      {"privateuse1", DEVICE_PRIVATE}, {"hpu", DEVICE_HPU}, {"npu", DEVICE_NPU}, {"mtia", DEVICE_MTIA}};
  const struct field *f = &w->fields[KEY_CAT];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t length = strlen(known[i].head);
    if (f->length >= length && memcmp(f->text, known[i].head, length) == 0) return known[i].kind;
  }
  return DEVICE_GPU;
}

/* Work of PrivateUse1, whose backends name their categories as they like: it has a device and a stream. */
static bool is_private_work(const struct worker *w) {
  const struct field *f = &w->fields[KEY_CAT];
  bool is_private = f->length > 11 && memcmp(f->text, "privateuse1", 11) == 0;
  bool is_mark = has_part(f, "annotation") || has_part(f, "sync") || has_part(f, "event");
  return is_private && !is_mark && has(w, KEY_STREAM) && has(w, KEY_DEVICE);
}

/* Waiting for another stream, and what another waits for, are work of no stream. */
enum task { TASK_OTHER, TASK_SYNC, TASK_KERNEL, TASK_COPY };
static enum task find_task(const struct field *type) {
  static const char *const syncs[] = {"WAIT", "RECORD", "NOTIFY", "EVENT", "PLACE_HOLDER", "BARRIER", "PROFILER"};
  static const char *const copies[] = {"MEMCPY", "SDMA", "PCIE_DMA"};
  static const char *const kernels[] = {"AI_", "AIC", "AIV", "MIX_", "KERNEL", "HCCL", "DSA", "FFTS", "DVPP", "VPC"};
  for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++)
    if (has_part(type, syncs[i])) return TASK_SYNC;
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (has_part(type, copies[i])) return TASK_COPY;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (has_part(type, kernels[i])) return TASK_KERNEL;
  return TASK_OTHER;
}

/* Of HCCL, Ascend's library of collectives: hcom_allReduce__868_0_1, on the lanes of a process of its own. */
static bool is_exchange(const struct worker *w) {
  const struct field *name = &w->fields[KEY_NAME];
  bool is_named = has(w, KEY_NAME) && name->length > 5 && memcmp(name->text, "hcom_", 5) == 0;
  return is_named && !has(w, KEY_NATIVE_THREAD) && (has(w, KEY_CONNECTION) || has(w, KEY_DATA_TYPE));
}

/* Ascend's profiler gives its rows no category: tasks of a device have a type, launches a thread and a connection. */
static void emit_uncategorized(struct worker *w) {
  enum task task = has(w, KEY_TASK_TYPE) ? find_task(&w->fields[KEY_TASK_TYPE]) : TASK_OTHER;
  if (task == TASK_KERNEL) emit_kernel(w, DEVICE_NPU);
  else if (task == TASK_COPY) emit_transfer(w, DEVICE_NPU, true);
  else if (task == TASK_SYNC) emit_sync(w, DEVICE_NPU, has_part(&w->fields[KEY_TASK_TYPE], "WAIT"));
  else if (is_exchange(w)) emit_exchange(w);
  else if (has(w, KEY_NATIVE_THREAD) && has(w, KEY_CONNECTION)) emit_queue_call(w, QUEUE_LAUNCH);
  else emit_range(w, CATEGORY_NONE);
}

static void emit_span(struct worker *w) {
  taken(w, KEY_PH);
  enum category category = has(w, KEY_CAT) ? find_category(&w->fields[KEY_CAT]) : CATEGORY_NONE;
  int process;
  switch (category) {
    case CATEGORY_OP: case CATEGORY_USER: case CATEGORY_PYTHON:
      if (w->processes.is_own_xspace) emit_op_of_own(w, category);
      else emit_op(w, category);
      break;
    case CATEGORY_TENSORFLOW: emit_tensorflow_op(w); break;
    case CATEGORY_KERNEL: emit_kernel(w, DEVICE_GPU); break;
    case CATEGORY_MTIA_KERNEL: emit_kernel(w, DEVICE_MTIA); break;
    case CATEGORY_HPU_KERNEL: emit_kernel(w, DEVICE_HPU); break;
    case CATEGORY_PRIVATE_KERNEL: emit_kernel(w, private_device(w)); break;
    case CATEGORY_MEMCPY: emit_transfer(w, DEVICE_GPU, true); break;
    case CATEGORY_MEMSET: emit_transfer(w, DEVICE_GPU, false); break;
    case CATEGORY_PRIVATE_MEMCPY: emit_transfer(w, private_device(w), true); break;
    case CATEGORY_PRIVATE_MEMSET: emit_transfer(w, private_device(w), false); break;
    case CATEGORY_ENQUEUE: emit_queue_call(w, QUEUE_ENQUEUE); break;
    case CATEGORY_RUNTIME: emit_api_call(w, false); break;
    case CATEGORY_DRIVER: emit_api_call(w, true); break;
    case CATEGORY_SYNC: emit_sync(w, DEVICE_GPU, false); break;
    case CATEGORY_OVERHEAD: emit_overhead(w); break;
    case CATEGORY_NONE:
      process = process_of_xspace(w);
      if (process >= 0) emit_op_of_xspace(w, w->processes.are_devices[process]);
      else emit_uncategorized(w);
      return;
    case CATEGORY_OTHER:
      /* Lanes that we add for viewers, of steps and of devices' scopes: what they were made of is there as well. */
      if (w->processes.is_own_xspace || (w->processes.is_own && scan_key_is(&w->fields[KEY_CAT], "step"))) return;
      if (is_private_work(w)) {
        emit_kernel(w, private_device(w));
        break;
      }
      emit_range(w, category);
      return;
    case CATEGORY_TRACE:
    case CATEGORY_DEQUEUE:
    case CATEGORY_GPU_USER: emit_range(w, category); return;
  }
  if (w->is_dry) taken(w, KEY_CAT);
}

/* ---- one end of what has a duration ---- */

/* Where what profilers of PyTorch record goes; ROWS_COUNT: it is none of that. */
static enum row_table rows_of_category(enum category category) {
  switch (category) {
    case CATEGORY_OP: case CATEGORY_USER: case CATEGORY_PYTHON: return ROWS_ops;
    case CATEGORY_KERNEL: case CATEGORY_MTIA_KERNEL: case CATEGORY_HPU_KERNEL: return ROWS_kernels;
    case CATEGORY_MEMCPY: case CATEGORY_MEMSET: return ROWS_transfers;
    case CATEGORY_RUNTIME: case CATEGORY_DRIVER: return ROWS_api_calls;
    case CATEGORY_SYNC: return ROWS_syncs;
    default: return ROWS_COUNT;
  }
}

/* Process and thread, by which B and E are put together. */
static uint64_t thread_id(struct worker *w) {
  uint64_t flags = LANE_HOST;
  uint32_t text;
  uint64_t pid = lane_word(w, KEY_PID, LANE_PID_IS_TEXT, &flags, &text);
  return hash_pair(hash_pair(pid, lane_word(w, KEY_TID, LANE_TID_IS_TEXT, &flags, &text)), flags);
}

/* What a converter wrote as two events is the same row as in one, whose duration halves_match() finds. */
static void emit_begin_of_row(struct worker *w, enum row_table table, struct half_event *half) {
  static const uint16_t durations[ROWS_COUNT] = {[ROWS_ops] = ROW_ops_dur_ns, [ROWS_kernels] = ROW_kernels_dur_ns,
      [ROWS_transfers] = ROW_transfers_dur_ns, [ROWS_api_calls] = ROW_api_calls_dur_ns,
      [ROWS_syncs] = ROW_syncs_dur_ns};
  uint32_t row = w->rows[table].count, range_row = w->rows[ROWS_ranges].count;
  emit_span(w);
  if (w->is_dry || w->rows[table].count == row) return;
  w->values[durations[table]][row] = ROW_NULL;
  half->rows = (uint8_t)table;
  half->row = row;
  if (w->rows[ROWS_ranges].count > range_row) {
    w->values[ROW_ranges_dur_ns][range_row] = ROW_NULL;
    half->range_row = range_row;
  }
  ADD_ITEM(w, halves, *half);
}

static void emit_half(struct worker *w, bool is_begin, bool is_async) {
  int64_t time;
  if (!take_time(w, &time)) return;
  struct half_event half = {.time_ns = time,
                            .is_begin = is_begin,
                            .is_async = is_async,
                            .lane = INTERN_NONE,
                            .name = INTERN_NONE,
                            .category = INTERN_NONE,
                            .rows = ROWS_COUNT,
                            .row = HALF_NO_ROW,
                            .range_row = HALF_NO_ROW};
  half.offset = w->file_offset + (uint64_t)(w->event - w->data);
  half.id = is_async ? async_id(w) : thread_id(w);
  for (unsigned key = KEY_ARGS + 1; key <= KEY_UNKNOWN; key++) half.has_more |= has(w, key);
  bool may_be_row = is_begin && !is_async && has(w, KEY_CAT) && !w->processes.is_own_xspace;
  enum row_table table = may_be_row ? rows_of_category(find_category(&w->fields[KEY_CAT])) : ROWS_COUNT;
  half.name = take_text_number(w, KEY_NAME);
  if (table != ROWS_COUNT) {
    emit_begin_of_row(w, table, &half);
    return;
  }
  taken(w, KEY_PH);
  half.category = take_text_number(w, KEY_CAT);
  if (is_begin || is_async || w->is_dry) half.lane = host_lane(w);
  if (w->is_dry) w->row_table = ROWS_ranges;
  else ADD_ITEM(w, halves, half);
}

void emit_event(struct worker *w) {
  if (w->part) {
    uint64_t offset = w->file_offset + (uint64_t)(w->event - w->data);
    if (!part_takes(w->part, &w->fields[KEY_PID], has(w, KEY_PID), offset)) return;
  }
  w->event_count++;
  if (!has(w, KEY_PH) || w->fields[KEY_PH].kind != FIELD_TEXT || w->fields[KEY_PH].length != 1) {
    worker_problem(w, PROBLEM_PHASE, w->event);
    return;
  }
  switch (w->fields[KEY_PH].text[0]) {
    case 'X': emit_span(w); break;
    case 's': case 't': case 'f': worker_problem(w, PROBLEM_FLOW, w->event); break;
    case 'i': case 'I': emit_instant(w, true); break;
    /* A mark; steps of asynchronous ranges; a sample; objects created, shown, deleted; memory dumps; a clock's
    ** synchronisation; contexts entered and left. */
    case 'R': case 'n': case 'T': case 'p': case 'P': case 'N': case 'O': case 'D': case 'v': case 'V': case 'c':
    case '(': case ')': emit_instant(w, false); break;
    case 'M': emit_metadata(w); break;
    case 'C': emit_counter(w); break;
    case 'B': emit_half(w, true, false); break;
    case 'E': emit_half(w, false, false); break;
    case 'b': case 'S': emit_half(w, true, true); break;
    case 'e': case 'F': emit_half(w, false, true); break;
    default: worker_problem(w, PROBLEM_PHASE, w->event); break;
  }
}

bool emit_dry(struct worker *w, const char *text, size_t length) {
  struct field event = {text, (uint32_t)length, FIELD_NESTED, false, 0, 0, 0}, key, value;
  w->is_dry = true;
  w->data = w->event = text;
  w->end = text + length;
  w->present = w->consumed = (struct key_set){{0, 0}};
  w->row_table = -1;
  for (struct member_cursor members = scan_members(&event); scan_next(&members, &key, &value);) {
    unsigned found = key_find(key.text, key.length, 0);
    if (found == KEY_ARGS && value.kind == FIELD_NESTED && value.text[0] == '{') {
      struct field name, argument;
      for (struct member_cursor args = scan_members(&value); scan_next(&args, &name, &argument);) {
        unsigned inner = key_find(name.text, name.length, 1);
        w->fields[inner] = argument;
        key_set_add(&w->present, inner);
      }
      continue;
    }
    w->fields[found] = value;
    key_set_add(&w->present, found);
  }
  emit_event(w);
  return w->row_table >= 0;
}
