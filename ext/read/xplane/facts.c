/* facts.c: the tables devices and threads, and what the profile itself is.
**
** Small and read when the file is opened: names of lines, stats of planes.  Lines of the host with one number are one
** thread, whichever tracer wrote them; lines of one device likewise are one stream.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "dump/directory.h"
#include "read/file/run_stamp.h"
#include "read/rows/text_buffer.h"
#include "read/xplane/fields.h"
#include "read/xplane/source.h"
#include "read/xplane/xplane.h"

/* ---- stats of planes ---- */

struct fact {
  int64_t id;      /* of the stat */
  string_id name;  /* 0: unknown */
  struct event_field value;
  string_id text;  /* of a text or bytes */
};
LIST_NAMED(facts, struct fact);

enum { MAXIMUM_STATS = 1 << 20, MAXIMUM_FACT = 4096 };

struct describing {
  struct profile *profile;
  struct xplane_source *source;
  struct pool *pool;
  struct window window;
  struct tfprof_error *error;
  enum tfprof_status status;
  string_id framework, version;
  int64_t profile_start, profile_stop;
};

static string_id enter(struct describing *d, const char *text, size_t length) {
  string_id id = 0;
  enum tfprof_status status = pool_intern_mended(d->pool, text, length, &id, NULL);
  if (status && !d->status) d->status = error_set(d->error, status, "the texts of the profile cannot be kept");
  return id;
}
static int64_t enter_text(struct describing *d, const char *text) {
  string_id id = text ? enter(d, text, strlen(text)) : 0;
  return id ? (int64_t)id : ROW_NULL;
}

static enum tfprof_status read_values(struct describing *d, const struct xplane_plane *plane, struct facts *facts) {
  uint64_t offset = plane->stats;
  static const struct plane_names no_names;
  while (offset < plane->stats_end) {
    struct far_field far;
    const char *wrong = NULL;
    const uint8_t *bytes;
    size_t got;
    enum tfprof_status status = window_field(&d->window, &offset, plane->stats_end, &far, &wrong, d->error);
    if (!status && (far.number != XPlane_stats || far.length > MAXIMUM_STATS)) continue;
    if (!status) status = window_move(&d->window, far.offset, (size_t)far.length, &bytes, &got, d->error);
    if (status) return status;
    struct wire_reader reader = wire_open(bytes, got), inner = reader;
    struct wire_field whole = {.type = WIRE_BYTES, .bytes = bytes, .length = got, .limit = reader.limit}, field;
    struct fact *fact = list_add(facts);
    if (!fact) return error_no_memory(d->error);
    plane_read_stat(&no_names, &reader, &whole, &fact->value);
    while (wire_next(&inner, &field)) {
      if (field.number == XStat_metadata_id) fact->id = wire_int64(&field);
      if (field.number == XStat_ref_value) fact->value.number = wire_uint64(&field); /* resolved with the names */
    }
    if (fact->value.bytes && fact->value.length <= MAXIMUM_FACT)
      fact->text = enter(d, fact->value.bytes, fact->value.length);
    if (d->status) return d->status;
  }
  return TFPROF_OK;
}

/* The names of the stats, and the texts that they refer to, from the plane's stat_metadata. */
static enum tfprof_status read_fact_names(struct describing *d, const struct xplane_plane *plane,
                                          struct facts *facts) {
  uint64_t offset = plane->names;
  while (offset < plane->names_end) {
    struct far_field far;
    const char *wrong = NULL, *text = "";
    const uint8_t *bytes;
    size_t got, length = 0;
    enum tfprof_status status = window_field(&d->window, &offset, plane->names_end, &far, &wrong, d->error);
    if (!status && (far.number != XPlane_stat_metadata || far.length > MAXIMUM_STATS)) continue;
    if (!status) status = window_move(&d->window, far.offset, (size_t)far.length, &bytes, &got, d->error);
    if (status) return status;
    struct wire_reader reader = wire_open(bytes, got);
    struct wire_field field, part;
    int64_t id = 0;
    while (wire_next(&reader, &field)) {
      if (field.number == XMetadataEntry_key) id = wire_int64(&field);
      if (field.number != XMetadataEntry_value) continue;
      struct wire_reader value = wire_enter(&reader, &field);
      while (wire_next(&value, &part)) {
        if (part.number == XStatMetadata_name) text = wire_text(&part, &length);
      }
    }
    for (size_t i = 0; i < facts->count; i++) {
      struct fact *fact = &facts->items[i];
      if (fact->id == id) fact->name = enter(d, text, length);
      if (fact->value.form == FIELD_REFERENCE && (int64_t)fact->value.number == id && length)
        fact->text = enter(d, text, length);
    }
    if (d->status) return d->status;
  }
  return TFPROF_OK;
}

static enum tfprof_status read_facts(struct describing *d, const struct xplane_plane *plane, struct facts *facts) {
  facts->count = 0;
  if (plane->stats == plane->stats_end) return TFPROF_OK;
  enum tfprof_status status = read_values(d, plane, facts);
  return status ? status : read_fact_names(d, plane, facts);
}

/* The fact of a name, NULL: there is none. */
static const struct fact *find_fact(const struct describing *d, const struct facts *facts, const char *name) {
  for (size_t i = 0; i < facts->count; i++) {
    const char *text = facts->items[i].name ? pool_text(d->pool, facts->items[i].name) : "";
    if (strcmp(text, name) == 0) return &facts->items[i];
  }
  return NULL;
}

static bool is_whole(const struct fact *fact) {
  return fact && (fact->value.form == FIELD_INTEGER || fact->value.form == FIELD_UNSIGNED);
}
static int64_t fact_integer(const struct describing *d, const struct facts *facts, const char *name, int64_t factor) {
  const struct fact *fact = find_fact(d, facts, name);
  int64_t product;
  bool fits = is_whole(fact) && (int64_t)fact->value.number >= 0 &&
              !__builtin_mul_overflow((int64_t)fact->value.number, factor, &product);
  return fits ? product : ROW_NULL;
}
/* NAN: it is not told. */
static double fact_real(const struct describing *d, const struct facts *facts, const char *name) {
  const struct fact *fact = find_fact(d, facts, name);
  if (is_whole(fact)) return (double)fact->value.number;
  return fact && fact->value.form == FIELD_REAL ? wire_double_of_bits(fact->value.number) : (double)NAN;
}
static int64_t fact_text(const struct describing *d, const struct facts *facts, const char *name) {
  const struct fact *fact = find_fact(d, facts, name);
  return fact && fact->text ? (int64_t)fact->text : ROW_NULL;
}

static void put_fact(struct describing *d, struct text_buffer *json, const struct fact *fact) {
  struct stat_name names[2] = {{.text = fact->name}, {.text = fact->text}};
  struct plane_names both = {0};
  both.stats.items = names;
  both.stats.count = 2;
  struct event_field value = fact->value;
  value.stat = 0;
  value.number = value.form == FIELD_REFERENCE ? 1 : value.number;
  if (value.bytes) {
    value.bytes = fact->text ? pool_text(d->pool, fact->text) : "";
    value.length = fact->text ? pool_length(d->pool, fact->text) : 0;
  }
  xplane_put_stat(json, &both, d->pool, &value);
}

static int64_t json_id(struct describing *d, struct text_buffer *json) {
  if (!json->length) return ROW_NULL;
  text_buffer_add(json, "}", 1);
  if (json->failed && !d->status) d->status = error_no_memory(d->error);
  return d->status ? ROW_NULL : (int64_t)enter(d, json->bytes, json->length);
}

/* ---- devices ---- */

enum device_column { DEVICE_name, DEVICE_kind, DEVICE_ordinal, DEVICE_model, DEVICE_compute_capability,
                     DEVICE_multiprocessor_count, DEVICE_clock_hz, DEVICE_memory_bytes,
                     DEVICE_memory_bytes_per_second, DEVICE_attributes, DEVICE_COLUMNS };
struct device {
  int64_t values[DEVICE_COLUMNS];
  bool is_gpu, is_tensor_core; /* the latter of a TPU */
  double peak; /* operations per second that the source tells; NAN: it does not */
};
LIST_NAMED(devices, struct device);

static int64_t ordinal_in_name(const char *name) {
  const char *colon = strrchr(name, ':');
  int64_t number;
  return colon && xplane_number_behind(colon, ":", &number) && number >= 0 ? number : ROW_NULL;
}

static void describe_device(struct describing *d, const char *name, const struct facts *facts, struct device *device) {
  static const char *const known[] = {"gpu_device_name", "compute_cap_major", "compute_cap_minor", "core_count",
                                      "clock_rate", "memory_size", "memory_bandwidth", "device_type_string",
                                      "peak_teraflops_per_second", "peak_hbm_bw_gigabytes_per_second"};
  int64_t *values = device->values;
  device->is_gpu = strstr(name, "GPU") != NULL;
  device->is_tensor_core = strncmp(name, "/device:TPU:", 12) == 0;
  bool is_tpu = strstr(name, "TPU") || strncmp(name, "#Chip", 5) == 0;
  for (unsigned i = 0; i < DEVICE_COLUMNS; i++) values[i] = ROW_NULL;
  values[DEVICE_name] = enter_text(d, name);
  values[DEVICE_kind] = enter_text(d, device->is_gpu ? "gpu" : is_tpu ? "tpu" : NULL);
  values[DEVICE_ordinal] = ordinal_in_name(name);
  values[DEVICE_model] = fact_text(d, facts, "gpu_device_name");
  if (values[DEVICE_model] == ROW_NULL) values[DEVICE_model] = fact_text(d, facts, "device_type_string");
  int64_t major = fact_integer(d, facts, "compute_cap_major", 1);
  int64_t minor = fact_integer(d, facts, "compute_cap_minor", 1);
  char capability[48];
  snprintf(capability, sizeof capability, "%" PRId64 ".%" PRId64, major, minor == ROW_NULL ? 0 : minor);
  if (major != ROW_NULL) values[DEVICE_compute_capability] = enter_text(d, capability);
  values[DEVICE_multiprocessor_count] = fact_integer(d, facts, "core_count", 1);
  values[DEVICE_clock_hz] = fact_integer(d, facts, "clock_rate", 1000);
  values[DEVICE_memory_bytes] = fact_integer(d, facts, "memory_size", 1);
  values[DEVICE_memory_bytes_per_second] = fact_integer(d, facts, "memory_bandwidth", 1);
  double bandwidth = 1e9 * fact_real(d, facts, "peak_hbm_bw_gigabytes_per_second");
  if (values[DEVICE_memory_bytes_per_second] == ROW_NULL && bandwidth > 0 && bandwidth < 1e18)
    values[DEVICE_memory_bytes_per_second] = (int64_t)bandwidth;
  device->peak = 1e12 * fact_real(d, facts, "peak_teraflops_per_second");
  struct text_buffer json = {0};
  for (size_t i = 0; i < facts->count; i++) {
    const char *text = facts->items[i].name ? pool_text(d->pool, facts->items[i].name) : "";
    bool is_known = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) is_known |= strcmp(text, known[k]) == 0;
    if (!is_known) put_fact(d, &json, &facts->items[i]);
  }
  values[DEVICE_attributes] = json_id(d, &json);
  text_buffer_free(&json);
}

static bool publish_devices(struct describing *d, const struct devices *devices) {
  static const uint16_t columns[DEVICE_COLUMNS] = {
      COLUMN_devices_name, COLUMN_devices_kind, COLUMN_devices_ordinal, COLUMN_devices_model,
      COLUMN_devices_compute_capability, COLUMN_devices_multiprocessor_count, COLUMN_devices_clock_hz,
      COLUMN_devices_memory_bytes, COLUMN_devices_memory_bytes_per_second, COLUMN_devices_attributes};
  struct eager_rows rows;
  bool ok = eager_rows_begin(&rows, d->profile, TABLE_devices, devices->count, &d->status, d->error);
  for (unsigned column = 0; column < DEVICE_COLUMNS && ok; column++) {
    for (uint32_t i = 0; i < rows.count; i++) rows.values[i] = devices->items[i].values[column];
    if (rows.count) ok = eager_rows_set_known(&rows, columns[column]);
  }
  eager_rows_end(&rows);
  return ok;
}

/* Of TPUs, whose peak is that of their matrix units. */
static bool publish_peaks(struct describing *d, const struct devices *devices) {
  int64_t dtype = enter_text(d, "bfloat16"), origin = enter_text(d, "the source file");
  struct eager_rows rows;
  size_t count = 0;
  for (size_t i = 0; i < devices->count; i++) count += devices->items[i].peak > 0;
  if (!count) return !d->status;
  bool ok = eager_rows_begin(&rows, d->profile, TABLE_device_peaks, count, &d->status, d->error);
  for (size_t i = 0, row = 0; i < devices->count && ok; i++) {
    if (devices->items[i].peak > 0) rows.values[row++] = (int64_t)i;
  }
  ok = ok && eager_rows_set(&rows, COLUMN_device_peaks_device_id);
  for (size_t i = 0, row = 0; i < devices->count && ok; i++) {
    if (devices->items[i].peak > 0) memcpy(&rows.values[row++], &devices->items[i].peak, sizeof(double));
  }
  ok = ok && eager_rows_set(&rows, COLUMN_device_peaks_flops_per_second);
  ok = ok && eager_rows_set_constant(&rows, COLUMN_device_peaks_dtype, dtype);
  ok = ok && eager_rows_set_constant(&rows, COLUMN_device_peaks_origin, origin);
  eager_rows_end(&rows);
  return ok;
}

/* ---- what a plane tells of the profile ---- */

static bool names_have(struct describing *d, const struct xplane_plane *plane, const char *const *texts) {
  const uint8_t *bytes;
  size_t got, wanted = (size_t)(plane->names_end - plane->names);
  if (wanted > (1 << 20)) wanted = 1 << 20;
  if (!wanted || window_move(&d->window, plane->names, wanted, &bytes, &got, d->error)) return false;
  for (; *texts; texts++) {
    if (memmem(bytes, got, *texts, strlen(*texts))) return true;
  }
  return false;
}

static void describe_profile(struct describing *d, const struct xplane_plane *plane, const struct facts *facts,
                             struct text_buffer *json) {
  static const char *const of_tensorflow[] = {"ExecutorState::Process", "EagerExecute", "SessionRun",
                                              "IteratorGetNext", "Iterator::", NULL};
  static const char *const of_jax[] = {"PjitFunction", "PjRt", "XlaModule", NULL};
  const struct fact *version = find_fact(d, facts, "jax_version");
  int64_t pid = fact_integer(d, facts, "process_id", 1);
  int64_t start = fact_integer(d, facts, "profile_start_time", 1);
  int64_t stop = fact_integer(d, facts, "profile_stop_time", 1);
  if (pid != ROW_NULL) d->profile->pid = process_id(pid);
  if (start != ROW_NULL) d->profile_start = start;
  if (stop != ROW_NULL) d->profile_stop = stop;
  if (version) {
    d->framework = enter(d, "jax", 3);
    d->version = version->text;
  } else if (!d->framework && plane->kind == PLANE_HOST) {
    if (names_have(d, plane, of_tensorflow)) d->framework = enter(d, "tensorflow", 10);
    else if (names_have(d, plane, of_jax)) d->framework = enter(d, "jax", 3);
  }
  for (size_t i = 0; i < facts->count; i++) {
    const struct fact *fact = &facts->items[i];
    const char *text = fact->name ? pool_text(d->pool, fact->name) : "";
    bool is_known = !strcmp(text, "process_id") || !strcmp(text, "jax_version") ||
                    !strcmp(text, "profile_start_time") || !strcmp(text, "profile_stop_time");
    if (!is_known) put_fact(d, json, fact);
  }
}

/* ---- threads ---- */

struct lane {
  const struct xplane_line *line;
  int64_t tid, stream;
};
LIST_NAMED(lanes, struct lane);

static bool is_derived_line(const struct xplane_plane *plane, const struct xplane_line *line) {
  static const char *const derived[] = {"Steps", "Launch Stats", "Framework Name Scope", "Framework Ops",
                                        "TensorFlow Name Scope", "TensorFlow Ops", "XLA Modules", "XLA Ops",
                                        "Source code", "XLA TraceMe", "XLA Overlays"};
  if (plane->kind != PLANE_DEVICE) return false;
  if (line->role != LINE_PLAIN) return false;
  for (size_t i = 0; i < sizeof derived / sizeof *derived; i++) {
    if (strncmp(line->name, derived[i], strlen(derived[i])) == 0) return true;
  }
  return false;
}

static struct row_key key_of_line(const struct xplane_plane *plane, const struct xplane_line *line) {
  int64_t id = line->id;
  if (plane->kind != PLANE_HOST) return (struct row_key){{(uint64_t)line->device, (uint64_t)id, 1}};
  xplane_number_behind(line->name, "Host Threads/", &id); /* whatever number it was given among others */
  return (struct row_key){{0, (uint64_t)id, 0}};
}

void xplane_lanes_of_threads(const struct profile *profile, struct xplane_lane *lanes) {
  const struct xplane_index *index = &((const struct xplane_source *)profile->source_data)->index;
  for (size_t i = index->lines.count; i-- > 0;) { /* of several lines of a thread the first */
    const struct xplane_line *line = &index->lines.items[i];
    const struct xplane_plane *plane = &index->planes.items[line->plane];
    if (line->is_derived) continue;
    lanes[line->thread].id = (int64_t)key_of_line(plane, line).words[1];
    lanes[line->thread].device = plane->kind == PLANE_HOST ? -1 : line->device;
  }
}

static bool assign_lines(struct describing *d, struct lanes *lanes) {
  struct row_map map = {0};
  struct xplane_index *index = &d->source->index;
  bool ok = true;
  for (size_t i = 0; i < index->lines.count && ok; i++) {
    struct xplane_line *line = &index->lines.items[i];
    const struct xplane_plane *plane = &index->planes.items[line->plane];
    line->is_derived = is_derived_line(plane, line);
    if (line->is_derived) {
      profile_diagnose(d->profile, "info", "derived_events", 1, (int64_t)line->offset, -1,
                       "lines that the profiler makes of the events of others, such as Steps, are not read");
      continue;
    }
    uint32_t number = row_map_number(&map, key_of_line(plane, line));
    ok = number != ROW_MAP_NONE;
    if (ok && number == lanes->count) {
      struct lane *lane = list_add(lanes);
      if (!(ok = lane != NULL)) break;
      *lane = (struct lane){line, ROW_NULL, ROW_NULL};
      int64_t id = (int64_t)map.keys[number].words[1], stream;
      if (plane->kind == PLANE_HOST && id > 0 && id < INT32_MAX) lane->tid = id;
      if (plane->kind == PLANE_DEVICE)
        lane->stream = xplane_number_behind(line->name, "Stream #", &stream) ? stream : ROW_NULL;
    }
    line->thread = number;
  }
  row_map_free(&map);
  if (!ok) d->status = error_no_memory(d->error);
  return ok;
}

static bool publish_lanes(struct describing *d, const struct lanes *lanes) {
  int64_t host = enter_text(d, "host"), stream = enter_text(d, "stream");
  struct eager_rows rows;
  const struct xplane_plane *planes = d->source->index.planes.items;
  bool ok = eager_rows_begin(&rows, d->profile, TABLE_threads, lanes->count, &d->status, d->error) && rows.count;
#define COLUMN_OF(column, expression)                   \
  for (uint32_t i = 0; ok && i < rows.count; i++) {     \
    const struct lane *lane = &lanes->items[i];         \
    (void)lane;                                         \
    rows.values[i] = (expression);                      \
  }                                                     \
  ok = ok && eager_rows_set_known(&rows, COLUMN_threads_##column);
  COLUMN_OF(device_id, lane->line->device)
  COLUMN_OF(kind, planes[lane->line->plane].kind == PLANE_DEVICE ? stream : host)
  COLUMN_OF(name, *lane->line->name ? enter_text(d, lane->line->name) : ROW_NULL)
  COLUMN_OF(tid, lane->tid)
  COLUMN_OF(stream, lane->stream)
#undef COLUMN_OF
  eager_rows_end(&rows);
  return !d->status;
}

/* ---- all of it ---- */

static void describe_planes(struct describing *d, struct devices *devices, struct text_buffer *json) {
  struct xplane_index *index = &d->source->index;
  struct facts facts = {0};
  size_t next = 0; /* line: they come plane by plane */
  d->source->host_device = ROW_NULL;
  for (size_t i = 0; i < index->planes.count && !d->status; i++) {
    const struct xplane_plane *plane = &index->planes.items[i];
    int64_t row = ROW_NULL;
    enum tfprof_status status = read_facts(d, plane, &facts);
    if (status) d->status = status;
    if (plane->kind != PLANE_DEVICE) describe_profile(d, plane, &facts, json);
    bool is_host = strcmp(plane->name, "/host:CPU") == 0 && d->source->host_device == ROW_NULL;
    if (plane->kind == PLANE_DEVICE || is_host) {
      struct device *device = list_add(devices);
      if (!device) {
        d->status = error_no_memory(d->error);
        break;
      }
      row = (int64_t)devices->count - 1;
      if (is_host) {
        static const struct facts none;
        describe_device(d, "/host:CPU", &none, device);
        device->values[DEVICE_kind] = enter_text(d, "cpu");
        device->values[DEVICE_ordinal] = 0;
        d->source->host_device = row;
      } else {
        describe_device(d, plane->name, &facts, device);
      }
    }
    for (; next < index->lines.count && index->lines.items[next].plane == i; next++)
      index->lines.items[next].device = plane->kind == PLANE_DEVICE ? row : ROW_NULL;
  }
  list_free(&facts);
}

/* devices[n] is the row of GPU n, where there is none of TPU n. */
static bool number_devices(struct describing *d, const struct devices *devices) {
  enum { MAXIMUM = 1024 };
  struct xplane_source *source = d->source;
  for (size_t k = 0; k < 2 * devices->count; k++) {
    size_t i = k % devices->count;
    const struct device *device = &devices->items[i];
    int64_t ordinal = device->values[DEVICE_ordinal];
    if (k < devices->count ? !device->is_gpu : !device->is_tensor_core) continue;
    if (ordinal < 0 || ordinal >= MAXIMUM) continue;
    while (source->device_count <= (size_t)ordinal) {
      if (!array_room(source->devices, source->device_count, source->device_capacity)) return false;
      source->devices[source->device_count++] = ROW_NULL;
    }
    if (device->is_gpu || source->devices[ordinal] == ROW_NULL) source->devices[ordinal] = (int64_t)i;
  }
  return true;
}

/* Times of a file that was saved count from the start of the profile; those of one that a collector just wrote from
** 1970. */
static void set_clock(struct describing *d) {
  struct profile *profile = d->profile;
  const struct xplane_index *index = &d->source->index;
  int64_t first = INT64_MAX;
  for (size_t i = 0; i < index->lines.count; i++) {
    const struct xplane_line *line = &index->lines.items[i];
    if (line->events < line->end && line->timestamp_ns < first) first = line->timestamp_ns;
  }
  bool is_absolute = first != INT64_MAX && first > INT64_C(1000000000000000000);
  bool is_known = d->profile_start > 0 && d->profile_start < STORE_TIME_LIMIT / 2;
  profile->clock_domain = enter(d, is_absolute ? "realtime" : "profile", is_absolute ? 8 : 7);
  if (is_absolute || !is_known) return;
  profile->clock_offset_ns = d->profile_start;
  if (d->profile_stop < d->profile_start || d->profile_stop > STORE_TIME_LIMIT) return;
  profile->has_span = true;
  profile->start_ns = 0;
  profile->end_ns = d->profile_stop - d->profile_start;
}

/* Where the file does not say when it began, what the name of its directory says of that. */
static void describe_start(const struct describing *d, struct text_buffer *json) {
  const struct profile *profile = d->profile;
  if (d->profile_start > 0 || !profile->path) return;
  int64_t stamp = run_stamp_of_file(pool_text(d->pool, profile->path));
  if (stamp > 0 && stamp < STORE_TIME_LIMIT / 1000000000)
    text_buffer_print(json, "%s\"run_started_ns\":%" PRId64, json->length ? "," : "{", stamp * 1000000000);
}

/* The address of the profiler server that sent it, which tells processes of one host apart. The file is called
** HOST_PORT, a later one of that server HOST_PORT-2. */
static void describe_server(const struct describing *d, struct text_buffer *json) {
  const char *path = d->profile->path ? pool_text(d->pool, d->profile->path) : "", *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path, *end = strstr(name, DUMP_SERVER_SUFFIX);
  char address[256];
  size_t length = end ? (size_t)(end - name) : 0;
  if (!length || length >= sizeof address || end[strlen(DUMP_SERVER_SUFFIX)]) return;
  memcpy(address, name, length);
  address[length] = 0;
  char *port = strrchr(address, '_');
  size_t digits = port ? strspn(port + 1, "0123456789") : 0;
  if (!digits || strspn(address, "abcdefghijklmnopqrstuvwxyz0123456789._-") != length) return; /* of somebody else */
  *port = ':';
  port[1 + digits] = 0;
  text_buffer_print(json, "%s\"server\":\"%s\"", json->length ? "," : "{", address);
}

enum tfprof_status xplane_publish_facts(struct profile *profile, struct tfprof_error *error) {
  struct describing d = {.profile = profile, .source = profile->source_data, .pool = store_pool(profile->store),
                         .error = error, .profile_start = -1, .profile_stop = -1};
  struct devices devices = {0};
  struct lanes lanes = {0};
  struct text_buffer json = {0};
  d.window = (struct window){.file = d.source->index.file, .file_bytes = d.source->index.file_bytes};
  describe_planes(&d, &devices, &json);
  bool ok = !d.status && publish_devices(&d, &devices) && publish_peaks(&d, &devices);
  ok = ok && assign_lines(&d, &lanes) && publish_lanes(&d, &lanes);
  if (ok && !number_devices(&d, &devices)) d.status = error_no_memory(error);
  if (!d.status) {
    set_clock(&d);
    describe_start(&d, &json);
    describe_server(&d, &json);
    profile->framework = d.framework;
    profile->framework_version = d.version;
    int64_t attributes = json_id(&d, &json);
    if (attributes != ROW_NULL) profile->attributes = (string_id)attributes;
  }
  text_buffer_free(&json);
  list_free(&devices);
  list_free(&lanes);
  window_free(&d.window);
  return d.status;
}
