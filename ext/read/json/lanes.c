/* lanes.c: the tables devices, threads, code_frames and code_traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/json/number.h"
#include "read/json/trace.h"
#include "write/json_text.h"

static void fill(struct maker *m, int64_t value) {
  for (uint32_t i = 0; i < m->rows; i++) m->values[i] = value;
}

static int64_t text_id(struct trace *trace, const char *text, size_t length) {
  string_id id = 0;
  enum tfprof_status status =
      pool_intern_mended(trace->pool, text, length, &id, &trace->problems[PROBLEM_NOT_UTF8].count);
  if (status) trace_fail(trace, status);
  return id ? (int64_t)id : ROW_NULL;
}
static int64_t literal_id(struct trace *trace, const char *text) { return text_id(trace, text, strlen(text)); }

/* ---- names from metadata events ---- */

/* TensorFlow's timelines name a device in the name of a "process": "/job:w/task:0/device:GPU:0 Compute", or behind "Op
** scheduling threads: ". Empty when there is none. */
static struct field device_in_name(const char *name, size_t length) {
  struct field found = {0};
  const char *mark = memmem(name, length, "device:", 7), *end = name + length;
  if (!mark) return found;
  const char *start = mark;
  while (start > name && start[-1] != ' ') start--;
  const char *stop = memchr(mark, ' ', (size_t)(end - mark));
  found.text = start;
  found.length = (uint32_t)((stop ? stop : end) - start);
  return found;
}

struct named_device { uint64_t flags, pid; string_id name; };

static uint32_t find_lane(struct lane_table *lanes, struct lane_key key) {
  /* lane_intern() adds what is missing: the table is not used for anything else afterwards, and rows beyond `limit` are
  ** ignored. */
  return lane_intern(lanes, key);
}

/* What is told of processes: facts of each, by the number of its key. */
struct process_facts { string_id facts[LANE_FACTS]; bool is_used; uint64_t offset; };

static struct lane_key process_key(uint64_t flags, uint64_t pid) {
  return (struct lane_key){{flags & LANE_PID_IS_TEXT, pid, 0}};
}

/* The lane that a metadata event is about: a thread, or where there is none of the numbers a stream, whose process and
** thread are written as those of its device and its own. `limit` or more: neither. */
static uint32_t lane_of_name(struct trace *trace, const struct lane_name *name, uint32_t limit) {
  uint32_t lane = find_lane(&trace->lanes, name->key);
  if (lane < limit || name->key.words[0] & LANE_PID_IS_TEXT || name->key.words[1] > UINT32_MAX) return lane;
  struct lane_key stream = {{LANE_STREAM, (uint64_t)DEVICE_GPU << 32 | name->key.words[1], name->key.words[2]}};
  return find_lane(&trace->lanes, stream);
}

static void unused_metadata(struct trace *trace, uint64_t offset) {
  struct problem_tally *tally = &trace->problems[PROBLEM_METADATA];
  if (!tally->count++ || offset < tally->offset) tally->offset = offset;
}

/* Gives every process what is told of it to all its lanes. */
static bool share_facts(struct trace *trace, struct lane_table *processes, struct list *facts, uint32_t lane_count) {
  struct lane_info *infos = trace->lane_infos.items;
  struct process_facts *of = facts->items;
  for (uint32_t lane = 0; lane < lane_count; lane++) {
    const struct lane_key *key = &trace->lanes.keys[lane];
    bool is_stream = (key->words[0] & 3) == LANE_STREAM;
    uint64_t pid = is_stream ? (uint64_t)(int64_t)(int32_t)key->words[1] : key->words[1];
    uint32_t process = lane_intern(processes, process_key(is_stream ? 0 : key->words[0], pid));
    if (process == INTERN_NONE) return false;
    if (process >= facts->count) continue;
    of[process].is_used = true;
    for (unsigned i = PROCESS_NAME; i < LANE_FACTS; i++) infos[lane].facts[i] = of[process].facts[i];
  }
  for (size_t i = 0; i < facts->count; i++) {
    if (!of[i].is_used) unused_metadata(trace, of[i].offset);
  }
  return true;
}

static bool apply_names(struct trace *trace, uint32_t lane_count, struct list *named) {
  const struct lane_name *names = trace->lane_names.items;
  struct lane_info *infos = trace->lane_infos.items;
  struct lane_table processes;
  struct list facts = {0};
  if (!lane_table_init(&processes)) return false;
  bool ok = true;
  for (size_t i = 0; i < trace->lane_names.count && ok; i++) {
    const struct lane_name *name = &names[i];
    const char *text = pool_text(trace->pool, name->text);
    if (!text) continue;
    size_t length = pool_length(trace->pool, name->text);
    string_id fact = name->text;
    if (name->what == THREAD_NAME || name->what == THREAD_SORT_INDEX) {
      uint32_t lane = lane_of_name(trace, name, lane_count);
      if (lane >= lane_count) {
        unused_metadata(trace, name->offset);
        continue;
      }
      bool is_stream = (trace->lanes.keys[lane].words[0] & 3) == LANE_STREAM;
      while (is_stream && length && text[length - 1] == ' ') length--; /* libkineto writes "stream 7 " */
      if (length < pool_length(trace->pool, fact)) fact = (string_id)text_id(trace, text, length);
      infos[lane].facts[name->what] = fact;
      continue;
    }
    struct lane_key key = process_key(name->key.words[0], name->key.words[1]);
    uint32_t process = lane_intern(&processes, key);
    struct process_facts *of = process == facts.count ? list_add(&facts, sizeof *of) : facts.items;
    ok = process != INTERN_NONE && of;
    if (!ok) break;
    of = (struct process_facts *)facts.items + process;
    if (!of->offset) of->offset = name->offset;
    of->facts[name->what] = fact;
    struct field device = name->what == PROCESS_NAME ? device_in_name(text, length) : (struct field){0};
    struct named_device *item = device.length ? list_add(named, sizeof *item) : NULL;
    if (item) {
      *item = (struct named_device){key.words[0], key.words[1],
                                    (string_id)text_id(trace, device.text, device.length)};
    }
    ok = item || !device.length;
  }
  ok = ok && share_facts(trace, &processes, &facts, lane_count);
  lane_table_free(&processes);
  list_free(&facts);
  return ok;
}

/* ---- attributes of threads ---- */

struct json_buffer { char *bytes; size_t length, capacity; bool failed; };

static void put(void *user, const void *bytes, size_t length) {
  struct json_buffer *buffer = user;
  if (buffer->failed) return;
  if (buffer->length + length > buffer->capacity) {
    size_t capacity = (buffer->length + length) * 2;
    char *grown = realloc(buffer->bytes, capacity);
    if (!grown) {
      buffer->failed = true;
      return;
    }
    buffer->bytes = grown;
    buffer->capacity = capacity;
  }
  memcpy(buffer->bytes + buffer->length, bytes, length);
  buffer->length += length;
}

/* What metadata events tell of a thread and its process beside its name, as JSON; ROW_NULL: nothing. */
static int64_t facts_json(struct trace *trace, const struct lane_info *info, struct json_buffer *buffer) {
  static const char *const names[LANE_FACTS] = {[THREAD_SORT_INDEX] = "sort_index", [PROCESS_NAME] = "process_name",
                                                [PROCESS_LABELS] = "process_labels",
                                                [PROCESS_SORT_INDEX] = "process_sort_index"};
  buffer->length = 0;
  for (unsigned i = THREAD_SORT_INDEX; i < LANE_FACTS; i++) {
    if (!info->facts[i]) continue;
    const char *text = pool_text(trace->pool, info->facts[i]);
    size_t length = pool_length(trace->pool, info->facts[i]);
    struct field number = {.text = text, .length = (uint32_t)length, .kind = FIELD_TEXT};
    int64_t value;
    put(buffer, buffer->length ? ",\"" : "{\"", 2);
    put(buffer, names[i], strlen(names[i]));
    put(buffer, "\":", 2);
    bool is_number = i == THREAD_SORT_INDEX || i == PROCESS_SORT_INDEX;
    if (is_number && number_integer(&number, &value)) {
      char digits[32];
      put(buffer, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
    } else {
      json_text_write(text, length, put, buffer);
    }
  }
  if (!buffer->length) return ROW_NULL;
  put(buffer, "}", 1);
  if (buffer->failed) {
    trace_fail(trace, TFPROF_NO_MEMORY);
    return ROW_NULL;
  }
  return text_id(trace, buffer->bytes, buffer->length);
}

/* ---- tables ---- */

enum { NAMED_DEVICE = 16 }; /* words[0] of a device's key: named, words[1] the name */

static const char *kind_of_name(const char *name) {
  return strcasestr(name, "gpu") ? "gpu" : strcasestr(name, "tpu") ? "tpu" : "cpu";
}

static enum tfprof_status add_devices(struct trace *trace, struct profile *profile) {
  struct maker m;
  maker_start(&m, profile, TABLE_devices, trace->devices.count, 0);
  if (m.status) return m.status;
  const struct lane_key *keys = trace->devices.keys;
  const struct device_info none = {0, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL},
                           *infos = trace->device_infos.items;
#define INFO(i) ((i) < trace->device_infos.count ? &infos[i] : &none)
  for (uint32_t i = 0; i < m.rows; i++) {
    char name[64];
    static const char *const kinds[] = {"CPU", "GPU", "MTIA"};
    if (keys[i].words[0] == NAMED_DEVICE) m.values[i] = (int64_t)keys[i].words[1];
    else {
      snprintf(name, sizeof name, "%s %lld", kinds[keys[i].words[0]], (long long)keys[i].words[1]);
      m.values[i] = literal_id(trace, name);
    }
  }
  maker_set(&m, COLUMN_devices_name);
  for (uint32_t i = 0; i < m.rows; i++) {
    static const char *const kinds[] = {"cpu", "gpu", "mtia"};
    bool is_named = keys[i].words[0] == NAMED_DEVICE;
    m.values[i] = literal_id(
        trace, is_named ? kind_of_name(pool_text(trace->pool, (string_id)keys[i].words[1])) : kinds[keys[i].words[0]]);
  }
  maker_set(&m, COLUMN_devices_kind);
  for (uint32_t i = 0; i < m.rows; i++) {
    m.values[i] = keys[i].words[0] == NAMED_DEVICE ? ROW_NULL : (int64_t)keys[i].words[1];
  }
  maker_set(&m, COLUMN_devices_ordinal);
  for (uint32_t i = 0; i < m.rows; i++) m.values[i] = INFO(i)->model ? (int64_t)INFO(i)->model : ROW_NULL;
  maker_set(&m, COLUMN_devices_model);
  for (uint32_t i = 0; i < m.rows; i++) {
    const struct device_info *info = INFO(i);
    char text[64];
    m.values[i] = ROW_NULL;
    /* ROCm fills the same members with numbers of its own. */
    const char *model = info->model ? pool_text(trace->pool, info->model) : "";
    if (info->major == ROW_NULL || info->minor == ROW_NULL || strstr(model, "AMD") || strstr(model, "Instinct"))
      continue;
    snprintf(text, sizeof text, "%lld.%lld", (long long)info->major, (long long)info->minor);
    m.values[i] = literal_id(trace, text);
  }
  maker_set(&m, COLUMN_devices_compute_capability);
  for (uint32_t i = 0; i < m.rows; i++) m.values[i] = INFO(i)->multiprocessors;
  maker_set(&m, COLUMN_devices_multiprocessor_count);
  for (uint32_t i = 0; i < m.rows; i++) m.values[i] = INFO(i)->memory_bytes;
  maker_set(&m, COLUMN_devices_memory_bytes);
#undef INFO
  return maker_finish(&m);
}

static uint32_t device_of_lane(struct trace *trace, const struct lane_key *key, const struct list *named) {
  uint64_t flags = key->words[0];
  if ((flags & 3) == LANE_STREAM) {
    return lane_intern(&trace->devices,
                       (struct lane_key){{key->words[1] >> 32, (uint64_t)(int64_t)(int32_t)key->words[1], 0}});
  }
  const struct named_device *items = named->items;
  for (size_t i = 0; i < named->count; i++) {
    if (items[i].pid == key->words[1] && items[i].flags == (flags & LANE_PID_IS_TEXT)) {
      return lane_intern(&trace->devices, (struct lane_key){{NAMED_DEVICE, items[i].name, 0}});
    }
  }
  return 0; /* the CPU, see trace_init() */
}

static enum tfprof_status add_threads(struct trace *trace, struct profile *profile, uint32_t count,
                                      const uint32_t *devices) {
  struct maker m;
  maker_start(&m, profile, TABLE_threads, count, 0);
  if (m.status) return m.status;
  const struct lane_key *keys = trace->lanes.keys;
  const struct lane_info *infos = trace->lane_infos.items;
  int64_t host = literal_id(trace, "host"), stream = literal_id(trace, "stream");
#define IS_STREAM(i) ((keys[i].words[0] & 3) == LANE_STREAM)
  for (uint32_t i = 0; i < count; i++) m.values[i] = devices[i] == INTERN_NONE ? ROW_NULL : (int64_t)devices[i];
  maker_set(&m, COLUMN_threads_device_id);
  for (uint32_t i = 0; i < count; i++) m.values[i] = IS_STREAM(i) ? stream : host;
  maker_set(&m, COLUMN_threads_kind);
  for (uint32_t i = 0; i < count; i++) {
    string_id told = infos[i].facts[THREAD_NAME];
    string_id name = told ? told : infos[i].tid_text ? infos[i].tid_text : infos[i].pid_text;
    m.values[i] = name ? (int64_t)name : ROW_NULL;
  }
  maker_set(&m, COLUMN_threads_name);
  for (uint32_t i = 0; i < count; i++) {
    m.values[i] = IS_STREAM(i) || keys[i].words[0] & LANE_PID_IS_TEXT ? ROW_NULL : (int64_t)keys[i].words[1];
  }
  maker_set(&m, COLUMN_threads_pid);
  for (uint32_t i = 0; i < count; i++) {
    m.values[i] = IS_STREAM(i) || keys[i].words[0] & LANE_TID_IS_TEXT ? ROW_NULL : (int64_t)keys[i].words[2];
  }
  maker_set(&m, COLUMN_threads_tid);
  for (uint32_t i = 0; i < count; i++) m.values[i] = IS_STREAM(i) ? (int64_t)keys[i].words[2] : ROW_NULL;
  maker_set(&m, COLUMN_threads_stream);
  for (uint32_t i = 0; i < count; i++) m.values[i] = infos[i].context;
  maker_set(&m, COLUMN_threads_context);
  struct json_buffer buffer = {0};
  for (uint32_t i = 0; i < count; i++) m.values[i] = facts_json(trace, &infos[i], &buffer);
  free(buffer.bytes);
  maker_set(&m, COLUMN_threads_attributes);
#undef IS_STREAM
  return maker_finish(&m);
}

static enum tfprof_status add_code(struct trace *trace, struct profile *profile) {
  struct maker m;
  uint32_t count = trace->frames.count;
  const struct frame_key_text *frames = trace->frame_texts.items;
  if (count) {
    maker_start(&m, profile, TABLE_code_frames, count, 0);
    if (m.status) return m.status;
    for (uint32_t i = 0; i < count; i++) m.values[i] = frames[i].file ? (int64_t)frames[i].file : ROW_NULL;
    maker_set(&m, COLUMN_code_frames_file);
    for (uint32_t i = 0; i < count; i++) m.values[i] = frames[i].file ? frames[i].line : ROW_NULL;
    maker_set(&m, COLUMN_code_frames_line);
    for (uint32_t i = 0; i < count; i++) m.values[i] = frames[i].function ? (int64_t)frames[i].function : ROW_NULL;
    maker_set(&m, COLUMN_code_frames_function);
    fill(&m, literal_id(trace, "python"));
    maker_set(&m, COLUMN_code_frames_language);
    if (maker_finish(&m)) return m.status;
  }
  count = trace->stacks.count;
  const struct trace_stack *stacks = trace->stack_items.items;
  if (!count) return TFPROF_OK;
  maker_start(&m, profile, TABLE_code_traces, count, 0);
  if (m.status) return m.status;
  for (uint32_t i = 0; i < count; i++) m.values[i] = stacks[i].depth;
  maker_set(&m, COLUMN_code_traces_depth);
  for (uint32_t i = 0; i < count; i++) m.values[i] = stacks[i].frame;
  maker_set(&m, COLUMN_code_traces_leaf_frame_id);
  for (uint32_t i = 0; i < count; i++) m.values[i] = stacks[i].parent ? (int64_t)stacks[i].parent - 1 : ROW_NULL;
  maker_set(&m, COLUMN_code_traces_parent_id);
  for (uint32_t i = 0; i < count; i++) m.values[i] = stacks[i].hash == (uint64_t)ROW_NULL ? 0 : (int64_t)stacks[i].hash;
  maker_set(&m, COLUMN_code_traces_hash);
  return maker_finish(&m);
}

/* The process with most threads is the profile's: libkineto writes devices' numbers as pids too, but those lanes are
** streams, and -1 where there is none. */
static bool find_process(struct trace *trace, struct profile *profile, uint32_t lane_count) {
  struct lane_table pids;
  uint32_t *counts = calloc((size_t)lane_count + 1, sizeof *counts), most = 0;
  if (!counts || !lane_table_init(&pids)) {
    free(counts);
    return false;
  }
  bool ok = true;
  for (uint32_t i = 0; i < lane_count && ok; i++) {
    const struct lane_key *key = &trace->lanes.keys[i];
    if ((key->words[0] & ~(uint64_t)LANE_TID_IS_TEXT) != LANE_HOST || (int64_t)key->words[1] <= 0) continue;
    uint32_t pid = lane_intern(&pids, process_key(0, key->words[1]));
    ok = pid != INTERN_NONE;
    if (ok && ++counts[pid] > most) {
      most = counts[pid];
      profile->pid = (int64_t)key->words[1];
    }
  }
  lane_table_free(&pids);
  free(counts);
  return ok;
}

enum tfprof_status lanes_add(struct trace *trace, struct profile *profile) {
  uint32_t lane_count = (uint32_t)trace->lane_infos.count;
  struct list named = {0};
  bool ok = apply_names(trace, lane_count, &named) &&
            (!trace->is_kineto || find_process(trace, profile, lane_count));
  uint32_t *devices = malloc(((size_t)lane_count + 1) * sizeof *devices);
  enum tfprof_status status = ok && devices ? TFPROF_OK : TFPROF_NO_MEMORY;
  for (uint32_t i = 0; i < lane_count && !status; i++)
    devices[i] = device_of_lane(trace, &trace->lanes.keys[i], &named);
  if (!status) status = add_devices(trace, profile);
  if (!status && lane_count) status = add_threads(trace, profile, lane_count, devices);
  if (!status) status = add_code(trace, profile);
  free(devices);
  list_free(&named);
  return status ? status : trace->status;
}
