/* xplane.c: see xplane.h.
**
** Opening indexes the planes and lines of a file (index.h) and reads what devices and threads are (facts.c).  Events
** are read when a table of theirs is first asked for: those of the host and those of devices each at once (list.c).
** Every host of a run is a profile of its own.  What XProf keeps beside the profiles (op statistics, tables of events)
** is passed over, and so is the trace for Chrome that JAX writes beside each.
*/
#include "read/xplane/xplane.h"

#include "dump/directory.h"

#include <stdio.h>
#include <string.h>

#include "read/xplane/source.h"

static void free_space_profile(struct profile *profile) {
  struct xplane_source *source = profile->source_data;
  for (size_t i = 0; i < source->index.planes.count && source->names; i++) plane_names_free(&source->names[i]);
  free(source->names);
  free(source->has_names);
  free(source->devices);
  hlo_programs_free(&source->programs);
  xplane_index_free(&source->index);
  free(source);
}

static enum tfprof_status refresh(struct profile *profile, bool *changed, struct tfprof_error *error) {
  const struct xplane_source *source = profile->source_data;
  *changed = false;
  return source_check(source->index.file, error);
}

/* Ids of texts are those of another pool: what was read of names is forgotten. */
static void adopt(struct profile *profile, const string_id *map) {
  struct xplane_source *source = profile->source_data;
  (void)map;
  for (size_t i = 0; i < source->index.planes.count; i++) {
    if (source->has_names[i]) plane_names_free(&source->names[i]);
    source->has_names[i] = false;
  }
  hlo_programs_free(&source->programs);
  source->has_programs = source->are_instructions_listed = false;
}

static enum tfprof_status verify(struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = profile_list_all(profile, error);
  struct tfprof_error reason;
  const struct xplane_source *source = profile->source_data;
  if (status) return status;
  status = source_check(source->index.file, &reason);
  if (status == TFPROF_NOT_FOUND || status == TFPROF_REPLACED || status == TFPROF_IO) {
    profile_tell_file(profile, &reason);
    return TFPROF_OK;
  }
  if (status && error) *error = reason;
  return status;
}

static const struct profile_source profile_source = {.format = "xplane",
                                                     .list = xplane_list,
                                                     .load = xplane_load,
                                                     .refresh = refresh,
                                                     .verify = verify,
                                                     .adopt = adopt,
                                                     .free_segment = segment_places_free,
                                                     .free_profile = free_space_profile};

void xplane_lend_programs(const struct profile *from, struct profile *to) {
  const struct xplane_source *lender = from->source_data;
  struct xplane_source *source = to->source_data;
  source->lent = &lender->programs;
}

bool xplane_has_programs(const struct profile *profile) {
  const struct xplane_source *source = profile->source_data;
  return source->programs.ops.count > 0;
}

int64_t xplane_process_number(const struct profile *profile) {
  return profile->source == &profile_source ? ((const struct xplane_source *)profile->source_data)->process_number : -1;
}

/* ---- opening ---- */

/* "host-a" of ".../host-a.xplane.pb" or ".../host-a.server.xplane.pb", where the file does not tell it. */
static struct text_part host_of(const struct xplane_index *index, const char *path) {
  if (index->hostnames.count && index->hostnames.items[0].length)
    return (struct text_part){index->hostnames.items[0].bytes, index->hostnames.items[0].length};
  const char *name = strrchr(path, '/'), *end;
  name = name ? name + 1 : path;
  end = strstr(name, DUMP_SERVER_SUFFIX);
  if (!end) end = strstr(name, ".xplane.pb");
  return (struct text_part){name, end ? (size_t)(end - name) : 0};
}

static void defer_tables(struct profile *profile) {
  const struct xplane_source *source = profile->source_data;
  uint64_t bytes[PLANE_OTHER] = {0}, program_bytes = 0;
  enum {
    USUAL_BYTES = 64,
    PROGRAM_BYTES = 4096, /* to a stack */
    INSTRUCTION_BYTES = 128,
    RARE = 32 /* one event in so many, for plans */
  };
  for (size_t i = 0; i < source->index.planes.count; i++) {
    const struct xplane_plane *plane = &source->index.planes.items[i];
    if (plane->kind < PLANE_OTHER) bytes[plane->kind] += plane->event_bytes;
    if (hlo_is_in_plane(plane)) program_bytes += plane->names_end - plane->names;
  }
  for (size_t i = 0; i < source->index.lines.count; i++) {
    const struct xplane_line *line = &source->index.lines.items[i];
    if (line->role == LINE_STEPS || line->role == LINE_MARKS) bytes[PLANE_HOST] += line->end - line->offset;
  }
  for (unsigned table = 0; table < TABLE_count; table++) {
    enum plane_kind kind = xplane_kind_of_group(xplane_group_of_table(table));
    bool is_code = table == TABLE_code_traces || table == TABLE_code_frames;
    bool is_program = table == TABLE_hlo_instructions || table == TABLE_hlo_operands;
    if (is_program && program_bytes) profile_defer_table(profile, table, program_bytes / INSTRUCTION_BYTES + 1, true);
    if (is_code && program_bytes) profile_defer_table(profile, table, program_bytes / PROGRAM_BYTES + 1, true);
    if (kind == PLANE_OTHER || is_code || !bytes[kind]) continue;
    bool is_usual = table == TABLE_ops || table == TABLE_kernels;
    profile_defer_table(profile, table, bytes[kind] / USUAL_BYTES / (is_usual ? 1 : RARE) + 1, true);
  }
}

static void tell_recorded(struct profile *profile, const struct index_texts *texts, const char *severity) {
  for (size_t i = 0; i < texts->count; i++) {
    const struct index_text *text = &texts->items[i];
    profile_diagnose(profile, severity, "recorded", 1, -1, -1, "%.*s", (int)(text->length < 400 ? text->length : 400),
                     text->bytes);
  }
}

static enum tfprof_status describe(struct profile *profile, const char *path, struct tfprof_error *error) {
  const struct xplane_source *source = profile->source_data;
  const struct xplane_index *index = &source->index;
  struct pool *pool = store_pool(profile->store);
  struct text_part host = host_of(index, path);
  enum tfprof_status status = pool_intern_mended(pool, path, strlen(path), &profile->path, NULL);
  if (!status && host.length) status = pool_intern_mended(pool, host.bytes, host.length, &profile->host, NULL);
  if (status) return error_set(error, status, "no memory to open %s", path);
  profile->rank = profile->world_size = -1;
  bool is_packed_well = index->problem == SOURCE_FINE || index->problem == SOURCE_TRAILING;
  profile->file_bytes = (int64_t)index->stored_bytes;
  profile->complete = !index->wrong_count && is_packed_well;
  if (index->problem)
    profile_diagnose(profile, is_packed_well ? "warning" : "error", "gzip", 1, (int64_t)index->problem_offset, -1, "%s",
                     source_problem_text(index->problem));
  char missing[64] = "";
  if (index->missing_bytes)
    snprintf(missing, sizeof missing, "; %llu bytes of it are missing", (unsigned long long)index->missing_bytes);
  if (index->wrong_count)
    profile_diagnose(profile, "error", "truncated", (int64_t)index->wrong_count, (int64_t)index->wrong_offset, -1,
                     "the file is damaged or was cut off: %s%s", index->wrong, missing);
  tell_recorded(profile, &index->errors, "error");
  tell_recorded(profile, &index->warnings, "warning");
  defer_tables(profile);
  status = xplane_publish_facts(profile, error);
  bool is_jax = profile->framework && !strcmp(pool_text(pool, profile->framework), "jax");
  if (is_jax) ((struct xplane_source *)profile->source_data)->process_number = xplane_find_process_number(index);
  return status;
}

static enum tfprof_status open_space(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                                     struct tfprof_error *error) {
  const char *path = bundle->files[0].path;
  struct xplane_source *source = calloc(1, sizeof *source);
  struct profile *profile;
  if (!source) return error_no_memory(error);
  source->process_number = -1;
  enum tfprof_status status = xplane_index_make(&source->index, path, error);
  if (!status) {
    source->names = calloc(source->index.planes.count, sizeof *source->names);
    source->has_names = calloc(source->index.planes.count, sizeof *source->has_names);
    if (!source->names || !source->has_names) status = error_no_memory(error);
  }
  if (status) {
    free(source->names);
    free(source->has_names);
    xplane_index_free(&source->index);
    free(source);
    return status;
  }
  status = store_add_profile(store, run_number, &profile_source, source, &profile, error);
  if (status) return status; /* the store has freed the source */
  status = describe(profile, path, error);
  if (status) store_drop_profile(store, profile);
  return status;
}

const struct read_format read_format_xplane = {
    .name = "xplane",
    .description = "XSpace of TensorFlow's, JAX's or XLA's profiler (.xplane.pb), plain or gzip",
    .may_be_gzip = true,
    .open = open_space};

/* ---- what a file is ---- */

static bool ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), size = strlen(ending);
  return length > size && strcmp(path + length - size, ending) == 0;
}

/* The beginning of a message of which only so many bytes are there: whether a plane may begin so, and how far that
** could be seen. A plane has an id (1), a name (2), then lines (3) or what these are called (4, 5). */
static bool is_plane(const uint8_t *bytes, size_t length, bool *has_name) {
  const uint8_t *at = bytes, *end = bytes + length;
  uint64_t tag, value;
  *has_name = false;
  while (at && at < end) {
    const uint8_t *next = varint_read(at, end, &tag);
    if (!next || tag >> 3 < 1 || tag >> 3 > 6) return false;
    bool is_id = tag >> 3 == 1;
    if ((tag & 7) != (is_id ? WIRE_VARINT : WIRE_BYTES)) return false;
    next = varint_read(next, end, &value);
    if (!next) return false;
    if (tag >> 3 == 2) {
      if (value > (size_t)(end - next) || value > 1000) return false;
      *has_name = value > 0 && memchr("/#THS", *next, 5); /* /host: /device: #Chip, Task Environment, Host CPUs ... */
      return *has_name;
    }
    if (!is_id) return true;
    at = next;
  }
  return false;
}

static struct recognised probe_xplane(const char *path, const uint8_t *head, size_t length) {
  const uint8_t *end = head + length;
  uint64_t tag, value;
  bool has_name = false;
  bool is_called = ends_in(path, ".xplane.pb") || ends_in(path, ".xplane.pb.gz");
  /* Nothing else is called so: what is wrong with it is told, also of one host of a run. */
  struct recognised none = {is_called ? &read_format_xplane : NULL, 10};
  const uint8_t *next = length ? varint_read(head, end, &tag) : NULL;
  if (!next || (tag & 7) != WIRE_BYTES || tag >> 3 < 1 || tag >> 3 > 4) return none;
  if (tag >> 3 != 1) return (struct recognised){is_called ? &read_format_xplane : NULL, 50};
  next = varint_read(next, end, &value);
  if (!next) return none;
  size_t there = value < (size_t)(end - next) ? (size_t)value : (size_t)(end - next);
  if (!is_plane(next, there, &has_name)) return (struct recognised){is_called ? &read_format_xplane : NULL, 20};
  return (struct recognised){has_name || is_called ? &read_format_xplane : NULL, is_called ? 95 : 75};
}

static const struct read_format *const formats[] = {&read_format_xplane, NULL};
static const char *const below_logs[] = {".xplane.pb", ".xplane.pb.gz", NULL};
/* For viewers of traces, at most a million events of it; and what people pack. */
static const struct read_copy copies[] = {
    {".xplane.pb", ".trace.json.gz"},    {".xplane.pb", ".trace.json"},    {".xplane.pb", "/perfetto_trace.json.gz"},
    {".xplane.pb.gz", ".trace.json.gz"}, {".xplane.pb.gz", ".trace.json"}, {".xplane.pb.gz", "/perfetto_trace.json.gz"},
    {".xplane.pb", ".xplane.pb.gz"},     {NULL, NULL}};
const struct reader xplane_reader = {.formats = formats, .probe = probe_xplane, .copies = copies, .below = below_logs};
