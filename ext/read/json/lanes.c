/* lanes.c: the tables devices, threads, code_frames and code_traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"

static void fill(struct maker *m, int64_t value) {
  for (uint32_t i = 0; i < m->rows; i++) m->values[i] = value;
}

static int64_t text_id(struct trace *trace, const char *text, size_t length) {
  string_id id = 0;
  enum tfprof_status status = pool_intern(trace->pool, text, length, &id);
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
   * ignored. */
  return lane_intern(lanes, key);
}

static void apply_names(struct trace *trace, uint32_t lane_count, struct list *named) {
  const struct lane_name *names = trace->lane_names.items;
  struct lane_info *infos = trace->lane_infos.items;
  for (size_t i = 0; i < trace->lane_names.count; i++) {
    const struct lane_name *name = &names[i];
    const char *text = pool_text(trace->pool, name->text);
    if (!text) continue;
    size_t length = pool_length(trace->pool, name->text);
    if (name->what == LANE_NAME) {
      uint32_t lane = find_lane(&trace->lanes, name->key);
      if (lane < lane_count) {
        infos[lane].name = name->text;
        continue;
      }
      if (name->key.words[0] & LANE_PID_IS_TEXT || name->key.words[1] > UINT32_MAX) continue;
      struct lane_key stream = {{LANE_STREAM, (uint64_t)DEVICE_GPU << 32 | name->key.words[1], name->key.words[2]}};
      lane = find_lane(&trace->lanes, stream);
      while (length && text[length - 1] == ' ') length--; /* libkineto writes "stream 7 " */
      if (lane < lane_count) infos[lane].name = (string_id)text_id(trace, text, length);
    } else if (name->what == PROCESS_NAME) {
      struct field device = device_in_name(text, length);
      struct named_device *item = device.length ? list_add(named, sizeof *item) : NULL;
      if (item) {
        *item = (struct named_device){name->key.words[0] & LANE_PID_IS_TEXT, name->key.words[1],
                                      (string_id)text_id(trace, device.text, device.length)};
      }
    }
  }
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
    string_id name = infos[i].name ? infos[i].name : infos[i].tid_text ? infos[i].tid_text : infos[i].pid_text;
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

/* The process that most threads with a number belong to is the profile's: libkineto writes devices' numbers as pids
** too, but those lanes are streams. */
static void find_process(struct trace *trace, struct profile *profile, uint32_t lane_count) {
  const struct lane_key *keys = trace->lanes.keys;
  for (uint32_t i = 0; i < lane_count; i++) {
    if (keys[i].words[0] == LANE_HOST || keys[i].words[0] == LANE_TID_IS_TEXT) {
      profile->pid = (int64_t)keys[i].words[1];
      return;
    }
  }
}

enum tfprof_status lanes_add(struct trace *trace, struct profile *profile) {
  uint32_t lane_count = (uint32_t)trace->lane_infos.count;
  struct list named = {0};
  apply_names(trace, lane_count, &named);
  if (trace->is_kineto) find_process(trace, profile, lane_count);
  enum tfprof_status status = TFPROF_OK;
  uint32_t *devices = malloc((lane_count + 1) * sizeof *devices);
  if (!devices) status = TFPROF_NO_MEMORY;
  for (uint32_t i = 0; i < lane_count && !status; i++)
    devices[i] = device_of_lane(trace, &trace->lanes.keys[i], &named);
  if (!status) status = add_devices(trace, profile);
  if (!status && lane_count) status = add_threads(trace, profile, lane_count, devices);
  if (!status) status = add_code(trace, profile);
  free(devices);
  list_free(&named);
  return status ? status : trace->status;
}
