/* lanes.c: the tables devices, threads, code_frames and code_traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/json/number.h"
#include "read/json/trace.h"
#include "read/rows/stacks.h"
#include "read/rows/text_buffer.h"
#include "write/json_text.h"

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
LIST_NAMED(named_devices, struct named_device);

static uint32_t find_lane(struct row_map *lanes, struct row_key key) {
  /* row_map_number() adds what is missing: the map is not used for anything else afterwards, and rows beyond `limit`
  ** are ignored. */
  return row_map_number(lanes, key);
}

/* What is told of processes: facts of each, by the number of its key. */
struct process_facts { string_id facts[LANE_FACTS]; bool is_used; uint64_t offset; };
LIST_NAMED(facts_of_processes, struct process_facts);

static struct row_key process_key(uint64_t flags, uint64_t pid) {
  return (struct row_key){{flags & LANE_PID_IS_TEXT, pid, 0}};
}

/* The lane that a metadata event is about: a thread, or where there is none of the numbers a stream, whose process and
** thread are written as those of its device and its own. `limit` or more: neither. */
static uint32_t lane_of_name(struct trace *trace, const struct lane_name *name, uint32_t limit) {
  uint32_t lane = find_lane(&trace->lanes, name->key);
  if (lane < limit || name->key.words[0] & LANE_PID_IS_TEXT || name->key.words[1] > UINT32_MAX) return lane;
  for (uint64_t kind = DEVICE_GPU; kind < DEVICE_KINDS; kind++) {
    struct row_key stream = {{LANE_STREAM, kind << 32 | name->key.words[1], name->key.words[2]}};
    uint32_t of_device = row_map_find(&trace->lanes, stream);
    if (of_device < limit) return of_device;
  }
  return lane;
}

static void unused_metadata(struct trace *trace, uint64_t offset) {
  struct problem_tally *tally = &trace->problems[PROBLEM_METADATA];
  if (!tally->count++ || offset < tally->offset) tally->offset = offset;
}

/* Gives every process what is told of it to all its lanes. */
static bool share_facts(struct trace *trace, struct row_map *processes, struct facts_of_processes *facts,
                        uint32_t lane_count) {
  struct lane_info *infos = trace->lane_infos.items;
  struct process_facts *of = facts->items;
  for (uint32_t lane = 0; lane < lane_count; lane++) {
    const struct row_key *key = &trace->lanes.keys[lane];
    bool is_stream = (key->words[0] & 3) == LANE_STREAM;
    uint64_t pid = is_stream ? (uint64_t)(int64_t)(int32_t)key->words[1] : key->words[1];
    uint32_t process = row_map_number(processes, process_key(is_stream ? 0 : key->words[0], pid));
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

static bool apply_names(struct trace *trace, uint32_t lane_count, struct named_devices *named) {
  const struct lane_name *names = trace->lane_names.items;
  struct lane_info *infos = trace->lane_infos.items;
  struct row_map processes = {0};
  struct facts_of_processes facts = {0};
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
    struct row_key key = process_key(name->key.words[0], name->key.words[1]);
    uint32_t process = row_map_number(&processes, key);
    struct process_facts *of = process == facts.count ? list_add(&facts) : facts.items;
    ok = process != INTERN_NONE && of;
    if (!ok) break;
    of = &facts.items[process];
    if (!of->offset) of->offset = name->offset;
    of->facts[name->what] = fact;
    struct field device = name->what == PROCESS_NAME ? device_in_name(text, length) : (struct field){0};
    struct named_device *item = device.length ? list_add(named) : NULL;
    if (item) {
      *item = (struct named_device){key.words[0], key.words[1],
                                    (string_id)text_id(trace, device.text, device.length)};
    }
    ok = item || !device.length;
  }
  ok = ok && share_facts(trace, &processes, &facts, lane_count);
  row_map_free(&processes);
  list_free(&facts);
  return ok;
}

/* ---- attributes of threads ---- */

static void put(void *text, const void *bytes, size_t length) { text_buffer_add(text, bytes, length); }

/* What metadata events tell of a thread and its process beside its name, as JSON; ROW_NULL: nothing. */
static int64_t facts_json(struct trace *trace, const struct lane_info *info, struct text_buffer *buffer) {
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
    text_buffer_add(buffer, buffer->length ? ",\"" : "{\"", 2);
    text_buffer_add(buffer, names[i], strlen(names[i]));
    text_buffer_add(buffer, "\":", 2);
    bool is_number = i == THREAD_SORT_INDEX || i == PROCESS_SORT_INDEX;
    if (is_number && number_integer(&number, &value)) {
      char digits[32];
      text_buffer_add(buffer, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
    } else {
      json_text_write(text, length, put, buffer);
    }
  }
  if (!buffer->length) return ROW_NULL;
  text_buffer_add(buffer, "}", 1);
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

/* Of an NPU, which is told by the process that stands for it, its place among them: so many came before. */
static int64_t ordinal_of(const struct row_key *device, int64_t *npus_before) {
  return device->words[0] == DEVICE_NPU ? (*npus_before)++ : (int64_t)device->words[1];
}

static uint32_t device_of_stream(struct trace *trace, const struct row_key *key) {
  return row_map_number(&trace->devices,
                        (struct row_key){{key->words[1] >> 32, (uint64_t)(int64_t)(int32_t)key->words[1], 0}});
}

struct npu { uint64_t pid; uint32_t device; };
static int by_pid(const void *a, const void *b) {
  const struct npu *x = a, *y = b;
  return x->pid != y->pid ? x->pid < y->pid ? -1 : 1 : x->device < y->device ? -1 : x->device > y->device;
}

/* Ascend's profiler shows a device's collectives as a process of their own: that is the device whose process stands
** last before it, or first of all. False: no memory. */
static bool join_devices(struct trace *trace, uint32_t lane_count) {
  const struct lane_info *infos = trace->lane_infos.items;
  const struct row_key *keys = trace->devices.keys;
  uint32_t count = trace->devices.count, npu_count = 0, rows = 0;
  bool *is_part = calloc((size_t)count + 1, sizeof *is_part), has_part = false;
  if (!is_part) return false;
  for (uint32_t lane = 0; lane < lane_count; lane++) {
    const struct row_key *key = &trace->lanes.keys[lane];
    if ((key->words[0] & 3) != LANE_STREAM || key->words[1] >> 32 != DEVICE_NPU) continue;
    const char *process = pool_text(trace->pool, infos[lane].facts[PROCESS_NAME]);
    if (!process || (!strcasestr(process, "communication") && !strcasestr(process, "hccl"))) continue;
    uint32_t device = device_of_stream(trace, key);
    if (device < count) is_part[device] = has_part = true;
  }
  struct npu *npus = has_part ? malloc(count * sizeof *npus) : NULL;
  uint32_t *row_of = has_part ? malloc(count * sizeof *row_of) : NULL;
  bool ok = (npus && row_of) || !has_part;
  if (ok && has_part) {
    uint32_t whole = count; /* of the process before, or the first */
    for (uint32_t i = 0; i < count; i++) {
      if (keys[i].words[0] == DEVICE_NPU) npus[npu_count++] = (struct npu){keys[i].words[1], i};
    }
    qsort(npus, npu_count, sizeof *npus, by_pid);
    for (uint32_t i = 0; i < npu_count && whole == count; i++) {
      if (!is_part[npus[i].device]) whole = npus[i].device;
    }
    if (whole == count) is_part[whole = npus[0].device] = false; /* nothing but collectives */
    for (uint32_t i = 0; i < count; i++) row_of[i] = is_part[i] ? UINT32_MAX : rows++;
    for (uint32_t i = 0; i < npu_count; i++) {
      if (!is_part[npus[i].device]) whole = npus[i].device;
      else row_of[npus[i].device] = row_of[whole];
    }
    trace->device_rows = row_of;
    row_of = NULL;
  }
  free(row_of);
  free(npus);
  free(is_part);
  return ok;
}

static uint32_t row_of_device(const struct trace *trace, uint32_t device) {
  return trace->device_rows && device != INTERN_NONE ? trace->device_rows[device] : device;
}

/* The first device of each row. Freed by the caller; NULL: no memory. */
static uint32_t *devices_of_rows(const struct trace *trace, uint32_t *rows) {
  uint32_t count = trace->devices.count, *devices = malloc(((size_t)count + 1) * sizeof *devices);
  *rows = 0;
  for (uint32_t i = 0; i < count && devices; i++) {
    uint32_t row = trace->device_rows ? trace->device_rows[i] : i;
    if (trace->device_rows && row != *rows) continue; /* a part of one that has a row */
    devices[(*rows)++] = i;
  }
  return devices;
}

static enum tfprof_status add_devices(struct trace *trace, struct profile *profile) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows m;
  uint32_t rows, *devices = devices_of_rows(trace, &rows);
  if (!devices) return TFPROF_NO_MEMORY;
  if (!eager_rows_begin(&m, profile, TABLE_devices, rows, &status, trace->error)) {
    free(devices);
    return status;
  }
  const struct row_key *keys = trace->devices.keys;
  const struct device_info none = {0, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL},
                           *infos = trace->device_infos.items;
#define KEY(i) (&keys[devices[i]])
#define INFO(i) (devices[i] < trace->device_infos.count ? &infos[devices[i]] : &none)
  int64_t npus = 0;
  for (uint32_t i = 0; i < m.count; i++) {
    char name[64];
    static const char *const kinds[DEVICE_KINDS] = {"CPU", "GPU", "MTIA", "NPU", "HPU", "PrivateUse1"};
    if (KEY(i)->words[0] == NAMED_DEVICE) m.values[i] = (int64_t)KEY(i)->words[1];
    else {
      snprintf(name, sizeof name, "%s %lld", kinds[KEY(i)->words[0]], (long long)ordinal_of(KEY(i), &npus));
      m.values[i] = literal_id(trace, name);
    }
  }
  eager_rows_set(&m, COLUMN_devices_name);
  for (uint32_t i = 0; i < m.count; i++) {
    static const char *const kinds[DEVICE_KINDS] = {"cpu", "gpu", "mtia", "npu", "hpu", "privateuse1"};
    bool is_named = KEY(i)->words[0] == NAMED_DEVICE;
    m.values[i] = literal_id(
        trace, is_named ? kind_of_name(pool_text(trace->pool, (string_id)KEY(i)->words[1])) : kinds[KEY(i)->words[0]]);
  }
  eager_rows_set(&m, COLUMN_devices_kind);
  npus = 0;
  for (uint32_t i = 0; i < m.count; i++) {
    m.values[i] = KEY(i)->words[0] == NAMED_DEVICE ? ROW_NULL : ordinal_of(KEY(i), &npus);
  }
  eager_rows_set(&m, COLUMN_devices_ordinal);
  for (uint32_t i = 0; i < m.count; i++) m.values[i] = INFO(i)->model ? (int64_t)INFO(i)->model : ROW_NULL;
  eager_rows_set(&m, COLUMN_devices_model);
  for (uint32_t i = 0; i < m.count; i++) {
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
  eager_rows_set(&m, COLUMN_devices_compute_capability);
  for (uint32_t i = 0; i < m.count; i++) m.values[i] = INFO(i)->multiprocessors;
  eager_rows_set(&m, COLUMN_devices_multiprocessor_count);
  for (uint32_t i = 0; i < m.count; i++) m.values[i] = INFO(i)->memory_bytes;
  eager_rows_set(&m, COLUMN_devices_memory_bytes);
#undef INFO
#undef KEY
  eager_rows_end(&m);
  free(devices);
  return status;
}

static uint32_t device_of_lane(struct trace *trace, const struct row_key *key, const struct named_devices *named) {
  uint64_t flags = key->words[0];
  if ((flags & 3) == LANE_STREAM) return device_of_stream(trace, key);
  const struct named_device *items = named->items;
  for (size_t i = 0; i < named->count; i++) {
    if (items[i].pid == key->words[1] && items[i].flags == (flags & LANE_PID_IS_TEXT)) {
      return row_map_number(&trace->devices, (struct row_key){{NAMED_DEVICE, items[i].name, 0}});
    }
  }
  return 0; /* the CPU, see trace_init() */
}

static enum tfprof_status add_threads(struct trace *trace, struct profile *profile, uint32_t count,
                                      const uint32_t *devices) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows m;
  if (!eager_rows_begin(&m, profile, TABLE_threads, count, &status, trace->error)) return status;
  const struct row_key *keys = trace->lanes.keys;
  const struct lane_info *infos = trace->lane_infos.items;
  int64_t host = literal_id(trace, "host"), stream = literal_id(trace, "stream");
#define IS_STREAM(i) ((keys[i].words[0] & 3) == LANE_STREAM)
  for (uint32_t i = 0; i < count; i++) m.values[i] = devices[i] == INTERN_NONE ? ROW_NULL : (int64_t)devices[i];
  eager_rows_set(&m, COLUMN_threads_device_id);
  for (uint32_t i = 0; i < count; i++) m.values[i] = IS_STREAM(i) ? stream : host;
  eager_rows_set(&m, COLUMN_threads_kind);
  for (uint32_t i = 0; i < count; i++) {
    string_id told = infos[i].facts[THREAD_NAME];
    string_id name = told ? told : infos[i].tid_text ? infos[i].tid_text : infos[i].pid_text;
    m.values[i] = name ? (int64_t)name : ROW_NULL;
  }
  eager_rows_set(&m, COLUMN_threads_name);
  for (uint32_t i = 0; i < count; i++) {
    m.values[i] = IS_STREAM(i) || keys[i].words[0] & LANE_PID_IS_TEXT ? ROW_NULL : (int64_t)keys[i].words[1];
  }
  eager_rows_set(&m, COLUMN_threads_pid);
  for (uint32_t i = 0; i < count; i++) {
    m.values[i] = IS_STREAM(i) || keys[i].words[0] & LANE_TID_IS_TEXT ? ROW_NULL : (int64_t)keys[i].words[2];
  }
  eager_rows_set(&m, COLUMN_threads_tid);
  for (uint32_t i = 0; i < count; i++) m.values[i] = IS_STREAM(i) ? (int64_t)keys[i].words[2] : ROW_NULL;
  eager_rows_set(&m, COLUMN_threads_stream);
  for (uint32_t i = 0; i < count; i++) m.values[i] = infos[i].context;
  eager_rows_set(&m, COLUMN_threads_context);
  struct text_buffer buffer = {0};
  for (uint32_t i = 0; i < count; i++) m.values[i] = facts_json(trace, &infos[i], &buffer);
  text_buffer_free(&buffer);
  eager_rows_set(&m, COLUMN_threads_attributes);
#undef IS_STREAM
  eager_rows_end(&m);
  return status;
}

static enum tfprof_status add_code(struct trace *trace, struct profile *profile) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows m;
  uint32_t count = trace->frames.count;
  const struct frame_key_text *frames = trace->frame_texts.items;
  if (count) {
    if (!eager_rows_begin(&m, profile, TABLE_code_frames, count, &status, trace->error)) return status;
    for (uint32_t i = 0; i < count; i++) m.values[i] = frames[i].file ? (int64_t)frames[i].file : ROW_NULL;
    eager_rows_set(&m, COLUMN_code_frames_file);
    for (uint32_t i = 0; i < count; i++) m.values[i] = frames[i].file ? frames[i].line : ROW_NULL;
    eager_rows_set(&m, COLUMN_code_frames_line);
    for (uint32_t i = 0; i < count; i++) m.values[i] = frames[i].function ? (int64_t)frames[i].function : ROW_NULL;
    eager_rows_set(&m, COLUMN_code_frames_function);
    eager_rows_set_constant(&m, COLUMN_code_frames_language, literal_id(trace, "python"));
    eager_rows_end(&m);
    if (status) return status;
  }
  count = trace->stacks.count;
  if (!count) return TFPROF_OK;
  if (!eager_rows_begin(&m, profile, TABLE_code_traces, count, &status, trace->error)) return status;
  stacks_set(&m, &trace->stacks);
  const uint64_t *hashes = trace->stack_hashes.items;
  for (uint32_t i = 0; i < count; i++) m.values[i] = hashes[i] == (uint64_t)ROW_NULL ? 0 : (int64_t)hashes[i];
  eager_rows_set(&m, COLUMN_code_traces_hash);
  eager_rows_end(&m);
  return status;
}

/* The process with most threads is the profile's: libkineto writes devices' numbers as pids too, but those lanes are
** streams, and -1 where there is none.  Where an NPU is a process, too, pids are numbers of layers, and the name tells
** which one it is. */
static bool find_process(struct trace *trace, struct profile *profile, uint32_t lane_count) {
  struct row_map pids = {0};
  uint32_t *counts = calloc((size_t)lane_count + 1, sizeof *counts), most = 0;
  if (!counts) return false;
  const struct lane_info *infos = trace->lane_infos.items;
  string_id name = 0;
  bool ok = true, has_npu = false;
  for (uint32_t i = 0; i < lane_count && ok; i++) {
    const struct row_key *key = &trace->lanes.keys[i];
    has_npu |= (key->words[0] & 3) == LANE_STREAM && key->words[1] >> 32 == DEVICE_NPU;
    if ((key->words[0] & ~(uint64_t)LANE_TID_IS_TEXT) != LANE_HOST || process_id((int64_t)key->words[1]) <= 0) continue;
    uint32_t pid = row_map_number(&pids, process_key(0, key->words[1]));
    ok = pid != INTERN_NONE;
    if (ok && ++counts[pid] > most) {
      most = counts[pid];
      profile->pid = (int64_t)key->words[1];
      name = infos[i].facts[PROCESS_NAME];
    }
  }
  trace->process_name = has_npu ? name : 0;
  row_map_free(&pids);
  free(counts);
  return ok;
}

enum tfprof_status lanes_add(struct trace *trace, struct profile *profile) {
  uint32_t lane_count = (uint32_t)trace->lane_infos.count;
  struct named_devices named = {0};
  bool ok = apply_names(trace, lane_count, &named) &&
            (!trace->is_kineto || find_process(trace, profile, lane_count)) && join_devices(trace, lane_count);
  uint32_t *devices = malloc(((size_t)lane_count + 1) * sizeof *devices);
  enum tfprof_status status = ok && devices ? TFPROF_OK : TFPROF_NO_MEMORY;
  for (uint32_t i = 0; i < lane_count && !status; i++)
    devices[i] = row_of_device(trace, device_of_lane(trace, &trace->lanes.keys[i], &named));
  if (!status) status = add_devices(trace, profile);
  if (!status && lane_count) status = add_threads(trace, profile, lane_count, devices);
  if (!status) status = add_code(trace, profile);
  free(devices);
  list_free(&named);
  return status ? status : trace->status;
}
