/* dump_windows.c: see dump_windows.h.
**
** Clocks.  The files of TensorFlow and JAX count from the moment at which the session began, by the wall clock, and
** mostly say when that was.  The dump has both clocks at the moment when the profiler was on, and how long it took
** until then.  What the file says must lie in that time; where it does not, the wall clock was set meanwhile, and where
** it says nothing, the session is taken to have begun OPENING_PART of the way, as sessions do.
**
** Programs.  A file of JAX has the programs that XLA compiled only where something was since the one before: the last
** file that has some lends them to the later ones.  So all windows are read into one store.
**
** Rows.  The thread that opened a window is the dump's: its handle tells the number by which C++, and so the file,
** knows it.  Other threads and the devices are new, and those of later windows are the same by number and name.  Rows
** that refer to others refer to what these have become here.  Steps are the dump's: the numbers of those that the
** framework marks would be numbers of others.
*/
#include "read/dump_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "read/rows/hash.h"
#include "read/rows/list.h"
#include "read/rows/row_map.h"
#include "read/tensorflow/files.h"
#include "read/xplane/xplane.h"

enum { MAXIMUM_WINDOWS = 4096, CLOCK_SLACK_NS = 1000000 };
#define OPENING_PART 0.6
#define NOT_KNOWN INT64_MIN
#define NO_ROW UINT32_MAX

/* Threads or devices of a window. */
struct window_lanes {
  uint32_t *rows;      /* by row of the window's profile: the row here */
  uint32_t *new_rows;  /* those of the window's profile that are not here before */
  uint32_t new_count;
};

struct dump_window {
  struct profile *profile; /* NULL: its file could not be read */
  size_t lender;           /* the window that lends it programs; NONE: it has its own, or none */
  int64_t offset_ns; /* to be added to its times */
  size_t frames;
  uint64_t first_rows[TABLE_count]; /* here */
  struct window_lanes threads, devices;
};

#define NONE SIZE_MAX

struct dump_windows {
  struct store *store; /* of all of them */
  string_id *texts;    /* by text of that store: the text here */
  size_t text_count, text_capacity;
  LIST(struct dump_window) items;
  size_t lender; /* the last window with programs of its own; NONE */
  struct row_map lanes; /* of all windows so far; the value is the row here */
};

enum lane_kind { LANE_DEVICE, LANE_HOST_THREAD, LANE_STREAM };

/* ---- what the dump says ---- */

/* A row of profiler_windows; NOT_KNOWN where it is NULL or damaged. */
enum fact { FACT_FILE, FACT_THREAD, FACT_START, FACT_END, FACT_DURATION, FACT_OPENING, FACT_REALTIME, FACT_HANDLE,
            FACTS };
static const uint16_t fact_columns[FACTS] = {
    COLUMN_profiler_windows_file,       COLUMN_profiler_windows_thread_id,
    COLUMN_profiler_windows_start_ns,   COLUMN_profiler_windows_end_ns,
    COLUMN_profiler_windows_dur_ns,     COLUMN_profiler_windows_opening_ns,
    COLUMN_profiler_windows_start_realtime_ns, COLUMN_profiler_windows_thread_handle};

static enum tfprof_status read_window_column(struct dump_cursor *cursor, const struct dump_frame *frame,
                                             uint16_t column, int64_t *values, uint64_t *nulls,
                                             struct tfprof_error *error) {
  const struct dump_block *block =
      dump_frame_block(frame, schema_tables[TABLE_profiler_windows].columns[column].dump_id);
  bool is_number = block && block->encoding != DUMP_REAL && block->encoding < DUMP_BYTES;
  enum tfprof_status status = TFPROF_OK;
  memset(nulls, 0, (frame->rows + 63) / 64 * sizeof *nulls);
  if (is_number) status = dump_block_decode(cursor, frame, block, values, nulls, error);
  bool is_lost = !is_number || dump_is_damage(status); /* the column itself tells that when it is read */
  for (uint32_t row = 0; row < frame->rows; row++) {
    if (is_lost || (!status && nulls_have(nulls, row))) values[row] = NOT_KNOWN;
  }
  return is_lost ? TFPROF_OK : status;
}

/* (*facts)[(size_t)row * FACTS + fact], to be freed. */
static enum tfprof_status read_window_rows(const struct dump_source *source, const struct dump_frame *frame,
                                           int64_t **facts, struct tfprof_error *error) {
  struct dump_cursor *cursor = NULL;
  int64_t *values = malloc(frame->rows * sizeof *values);
  uint64_t *nulls = malloc((frame->rows + 63) / 64 * sizeof *nulls);
  *facts = malloc((size_t)frame->rows * FACTS * sizeof **facts);
  enum tfprof_status status = values && nulls && *facts ? dump_cursor_open(source->file, &cursor, error)
                                                        : error_no_memory(error);
  for (unsigned fact = 0; fact < FACTS && !status; fact++) {
    status = read_window_column(cursor, frame, fact_columns[fact], values, nulls, error);
    for (uint32_t row = 0; row < frame->rows && !status; row++) (*facts)[(size_t)row * FACTS + fact] = values[row];
  }
  dump_cursor_close(cursor);
  free(values);
  free(nulls);
  return status;
}

static int64_t fact_time(int64_t value) { return value == NOT_KNOWN || !is_dump_time(value) ? NOT_KNOWN : value; }

/* When the profiler was on. */
static int64_t start_of(const int64_t *facts) {
  int64_t start = fact_time(facts[FACT_START]), end = fact_time(facts[FACT_END]);
  int64_t duration = fact_time(facts[FACT_DURATION]);
  if (start != NOT_KNOWN) return start;
  return end == NOT_KNOWN || duration == NOT_KNOWN ? NOT_KNOWN : fact_time(end - duration);
}

/* ---- texts ---- */

/* Makes the texts that the windows' store has by now texts of the profile. */
static enum tfprof_status bring_texts(struct profile *profile, struct dump_windows *windows,
                                      struct tfprof_error *error) {
  const struct pool *pool = store_pool(windows->store);
  size_t count = (size_t)pool_count(pool) + 1;
  if (!array_reserve(windows->texts, windows->text_capacity, count)) return error_no_memory(error);
  if (!windows->text_count) windows->texts[windows->text_count++] = 0;
  while (windows->text_count < count) {
    string_id id = (string_id)windows->text_count;
    enum tfprof_status status = pool_intern(store_pool(profile->store), pool_text(pool, id), pool_length(pool, id),
                                            &windows->texts[windows->text_count]);
    if (status) return error_set(error, status, "the strings of the profile cannot be kept");
    windows->text_count++;
  }
  return TFPROF_OK;
}

void dump_windows_adopt(struct dump_source *source, const string_id *map) {
  for (size_t i = 0; source->windows && i < source->windows->text_count; i++)
    source->windows->texts[i] = map[source->windows->texts[i]];
}

/* ---- threads and devices ---- */

/* Steps of the dump, what belongs to the store, and peaks of devices that the dump has itself are not taken. */
static bool is_of_windows(unsigned table) {
  return table != TABLE_runs && table != TABLE_profiles && table != TABLE_diagnostics && table != TABLE_steps &&
         table != TABLE_profiler_windows && table != TABLE_session_records && table != TABLE_device_peaks;
}

/* std::hash of a std::thread::id, as of libstdc++: the MurmurHash64A of the handle. */
static uint64_t hash_of_handle(uint64_t handle) {
  const uint64_t multiplier = UINT64_C(0xc6a4a7935bd1e995);
  uint64_t mixed = handle * multiplier, hash = UINT64_C(0xc70f6907) ^ (8 * multiplier);
  hash = (hash ^ (mixed ^ mixed >> 47) * multiplier) * multiplier;
  hash = (hash ^ hash >> 47) * multiplier;
  return hash ^ hash >> 47;
}

static uint64_t hash_of_name(const struct dump_window *window, uint64_t row) {
  const struct segment *segment = window->profile->tables[TABLE_devices].segments[0];
  const struct column *names = segment->columns[COLUMN_devices_name];
  const struct pool *pool = store_pool(window->profile->store);
  if (column_is_null(names, (uint32_t)row)) return row;
  string_id id = (string_id)column_integer(names, (uint32_t)row);
  return hash_fnv1a(HASH_FNV1A_START, pool_text(pool, id), pool_length(pool, id));
}

/* Numbers one table of lanes: those that another window had are the same. */
static enum tfprof_status number_lanes(struct dump_source *source, struct dump_window *window, unsigned table,
                                       const struct row_key *keys, struct window_lanes *lanes,
                                       struct tfprof_error *error) {
  uint64_t count = profile_raw_rows(window->profile, table);
  struct row_map *known = &source->windows->lanes;
  lanes->rows = malloc((count + 1) * sizeof *lanes->rows);
  lanes->new_rows = malloc((count + 1) * sizeof *lanes->new_rows);
  if (!lanes->rows || !lanes->new_rows) return error_no_memory(error);
  for (uint64_t row = 0; row < count; row++) {
    uint32_t before = known->count, number = row_map_number(known, keys[row]);
    if (number == ROW_MAP_NONE) return error_no_memory(error);
    if (number == before) {
      if (source->numbers[table].rows >= NO_ROW) return error_set(error, TFPROF_LIMIT, "too many threads or devices");
      known->values[number] = (uint32_t)source->numbers[table].rows;
      lanes->new_rows[lanes->new_count++] = (uint32_t)row;
      dump_number_others(source, table, 1);
    }
    lanes->rows[row] = known->values[number];
  }
  return TFPROF_OK;
}

/* Makes the window's thread of that number the dump's. */
static enum tfprof_status know_thread(struct dump_source *source, const int64_t *facts, struct tfprof_error *error) {
  uint64_t row;
  struct row_map *known = &source->windows->lanes;
  bool is_known = facts[FACT_THREAD] >= 0 && facts[FACT_HANDLE] != NOT_KNOWN &&
                  dump_row(source, TABLE_threads, (uint64_t)facts[FACT_THREAD], &row) && row < NO_ROW;
  if (!is_known) return TFPROF_OK;
  uint64_t id = hash_of_handle((uint64_t)facts[FACT_HANDLE]);
  uint32_t number = row_map_number(known, (struct row_key){{LANE_HOST_THREAD, id, 0}});
  if (number == ROW_MAP_NONE) return error_no_memory(error);
  known->values[number] = (uint32_t)row;
  return TFPROF_OK;
}

static enum tfprof_status take_lanes(struct dump_source *source, struct dump_window *window,
                                     struct tfprof_error *error) {
  const struct profile *guest = window->profile;
  const uint64_t threads = profile_raw_rows(guest, TABLE_threads), devices = profile_raw_rows(guest, TABLE_devices);
  struct row_key *keys = malloc((threads + devices + 1) * sizeof *keys);
  struct xplane_lane *lanes = calloc(threads + 1, sizeof *lanes);
  enum tfprof_status status = keys && lanes ? TFPROF_OK : error_no_memory(error);
  for (uint64_t row = 0; row < devices && !status; row++)
    keys[row] = (struct row_key){{LANE_DEVICE, hash_of_name(window, row), 0}};
  if (!status) status = number_lanes(source, window, TABLE_devices, keys, &window->devices, error);
  if (!status) xplane_lanes_of_threads(guest, lanes);
  for (uint64_t row = 0; row < threads && !status; row++) {
    uint64_t id = (uint64_t)lanes[row].id, device = (uint64_t)lanes[row].device;
    bool is_stream = lanes[row].device >= 0 && device < devices;
    keys[row] = is_stream ? (struct row_key){{LANE_STREAM, id, window->devices.rows[device]}}
                          : (struct row_key){{LANE_HOST_THREAD, id, 0}};
  }
  if (!status) status = number_lanes(source, window, TABLE_threads, keys, &window->threads, error);
  free(keys);
  free(lanes);
  return status;
}

/* ---- opening ---- */

/* The path of a file that lies beside the dump, to be freed. NULL: no memory, or the name leads elsewhere. */
static char *path_beside(const char *dump, const char *name) {
  const char *slash = strrchr(dump, '/');
  char *path = NULL;
  bool is_plain = *name && *name != '.' && !strchr(name, '/');
  if (!is_plain || asprintf(&path, "%.*s%s", slash ? (int)(slash - dump) + 1 : 0, dump, name) < 0) return NULL;
  return path;
}

/* What must be added to the times of the window's profile; false: nothing tells. */
static bool find_offset(const int64_t *facts, struct dump_window *window) {
  const struct profile *guest = window->profile;
  const char *domain = pool_text(store_pool(window->profile->store), guest->clock_domain);
  int64_t start = start_of(facts), realtime = fact_time(facts[FACT_REALTIME]), opening = fact_time(facts[FACT_OPENING]);
  if (start == NOT_KNOWN) return false;
  if (opening == NOT_KNOWN || opening < 0) opening = 0;
  int64_t began = start - (int64_t)((1 - OPENING_PART) * (double)opening);
  bool is_absolute = domain && strcmp(domain, "realtime") == 0;
  if (is_absolute && realtime == NOT_KNOWN) return false;
  int64_t told = guest->clock_offset_ns;
  bool is_told = told > 0 && realtime != NOT_KNOWN && told <= realtime + CLOCK_SLACK_NS &&
                 told >= realtime - opening - CLOCK_SLACK_NS;
  window->offset_ns = is_absolute ? start - realtime : is_told ? told - realtime + start : began;
  return true;
}

/* Errors and warnings of a file by its name, the rest once. */
static void repeat_diagnostics(struct profile *profile, const struct dump_window *window, const char *name) {
  const struct pool *pool = store_pool(window->profile->store);
  for (size_t i = 0; i < window->profile->diagnostic_count; i++) {
    const struct diagnostic *told = &window->profile->diagnostics[i];
    const char *severity = pool_text(pool, told->severity), *reason = pool_text(pool, told->reason);
    const char *message = pool_text(pool, told->message);
    if (!severity || !reason || !message) continue;
    if (strcmp(severity, "info") == 0) profile_diagnose_once(profile, severity, reason, "%s", message);
    else profile_diagnose(profile, severity, reason, told->count, told->offset, told->table, "%s: %s", name, message);
  }
}

/* Whether the file begins as an XSpace does; of nothing else is it known. */
static enum tfprof_status check_beginning(const char *path, struct tfprof_error *error) {
  uint8_t head[4096];
  struct stat info;
  FILE *file = stat(path, &info) || !S_ISREG(info.st_mode) ? NULL : fopen(path, "rbe");
  if (!file) return error_set(error, TFPROF_NOT_FOUND, "there is no such file beside the recording");
  size_t length = fread(head, 1, sizeof head, file);
  bool is_space = !tf_is_trace(head, length) && xplane_reader.probe(path, head, length).format == &read_format_xplane;
  fclose(file);
  return is_space ? TFPROF_OK : error_set(error, TFPROF_WRONG_KIND, "the file is no XSpace");
}

static enum tfprof_status read_window_file(struct profile *profile, struct dump_window *window, const char *path,
                                           struct tfprof_error *error) {
  struct dump_windows *windows = ((struct dump_source *)profile->source_data)->windows;
  const struct read_file file = {.path = path, .format = &read_format_xplane};
  uint32_t run;
  enum tfprof_status status = check_beginning(path, error);
  if (!status && !windows->store) windows->store = store_create_apart(profile->store);
  if (!status && !windows->store) status = error_no_memory(error);
  if (!status) status = store_add_run(windows->store, path, NULL, &run, error);
  if (status) return status;
  status = read_format_xplane.open(windows->store, run, &(struct read_bundle){&file, 1}, error);
  if (status) {
    store_cancel_run(windows->store, run);
    return status;
  }
  store_publish_run(windows->store, run);
  struct profile *opened = store_profile_at(windows->store, store_profile_count(windows->store) - 1);
  if (windows->lender != NONE) xplane_lend_programs(windows->items.items[windows->lender].profile, opened);
  status = profile_list_all(opened, error);
  if (status) return status;
  window->profile = opened;
  bool has_own = xplane_has_programs(opened);
  window->lender = has_own ? NONE : windows->lender;
  if (has_own) windows->lender = windows->items.count; /* its place */
  return TFPROF_OK;
}

static void window_free(struct dump_window *window) {
  free(window->threads.rows);
  free(window->threads.new_rows);
  free(window->devices.rows);
  free(window->devices.new_rows);
}

static enum tfprof_status number_window_rows(struct profile *profile, struct dump_window *window,
                                             const int64_t *facts, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  for (unsigned table = 0; table < TABLE_count; table++) window->first_rows[table] = source->numbers[table].rows;
  enum tfprof_status status = bring_texts(profile, source->windows, error);
  if (!status) status = know_thread(source, facts, error);
  if (!status) status = take_lanes(source, window, error);
  for (unsigned table = 0; table < TABLE_count && !status; table++) {
    bool is_lane = table == TABLE_threads || table == TABLE_devices;
    if (is_of_windows(table) && !is_lane) dump_number_others(source, table, profile_raw_rows(window->profile, table));
  }
  return status;
}

/* `name` is that of its file, NULL where it is lost. */
static enum tfprof_status take_window(struct profile *profile, const char *name, const int64_t *facts, size_t frames,
                                      struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct dump_window window = {.frames = frames, .lender = NONE};
  struct tfprof_error reason = {0};
  char *path = name ? path_beside(pool_text(store_pool(profile->store), profile->path), name) : NULL;
  enum tfprof_status status =
      path   ? read_window_file(profile, &window, path, &reason)
      : name ? error_set(&reason, TFPROF_CORRUPT, "this is no name of a file beside the recording")
             : error_set(&reason, TFPROF_CORRUPT, "the recording does not tell the name of the file");
  free(path);
  if (!status && !find_offset(facts, &window))
    status = error_set(&reason, TFPROF_CORRUPT, "the recording does not tell when it was on");
  bool is_over = status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED;
  if (status && !is_over) {
    profile_diagnose(profile, "warning", "profiler_window", 1, -1, -1,
                     "a window of the framework's profiler has no ops here: %s%s%s", name ? name : "",
                     name ? ": " : "", reason.message);
    if (source->windows->lender == source->windows->items.count) source->windows->lender = NONE;
    window = (struct dump_window){.frames = frames, .lender = NONE};
    status = TFPROF_OK;
  } else if (!status) {
    repeat_diagnostics(profile, &window, name);
    status = number_window_rows(profile, &window, facts, &reason);
  }
  struct dump_window *item = status ? NULL : list_add(&source->windows->items);
  if (!status && !item) status = error_no_memory(&reason);
  if (item) *item = window;
  else window_free(&window);
  if (status && error) *error = reason;
  return status;
}

static enum tfprof_status take_frame(struct profile *profile, const struct dump_frame *frame, size_t frames,
                                     struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct pool *pool = store_pool(profile->store);
  int64_t *facts = NULL;
  enum tfprof_status status = read_window_rows(source, frame, &facts, error);
  for (uint32_t row = 0; row < frame->rows && !status; row++) {
    const int64_t *its = &facts[(size_t)row * FACTS];
    bool has_name = its[FACT_FILE] > 0 && its[FACT_FILE] < source->string_count;
    if (source->windows->items.count >= MAXIMUM_WINDOWS) {
      profile_diagnose_once(profile, "warning", "profiler_window",
                            "of more than %d windows of the framework's profiler the others are left out",
                            MAXIMUM_WINDOWS);
      break;
    }
    if (store_interrupted(profile->store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
    if (!status)
      status = take_window(profile, has_name ? pool_text(pool, source->strings[its[FACT_FILE]]) : NULL, its, frames,
                           error);
  }
  free(facts);
  return status;
}

enum tfprof_status dump_windows_take(struct profile *profile, size_t first, size_t end, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct tfprof_error reason;
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = first; i < end && !status; i++) {
    if (source->file->frames[i].table_dump_id != schema_tables[TABLE_profiler_windows].dump_id) continue;
    if (!source->windows && (source->windows = calloc(1, sizeof *source->windows))) source->windows->lender = NONE;
    if (!source->windows) return error_no_memory(error);
    status = dump_load_strings(profile, &reason);
    if (!status) status = take_frame(profile, &source->file->frames[i], end, &reason);
    if (!dump_is_lost(status)) continue;
    profile_tell_file(profile, &reason);
    return TFPROF_OK;
  }
  if (status && error) *error = reason;
  return status;
}

size_t dump_windows_count(const struct dump_source *source) {
  return source->windows ? source->windows->items.count : 0;
}

size_t dump_window_frames(const struct dump_source *source, size_t window) {
  return source->windows->items.items[window].frames;
}

void dump_windows_free(struct dump_source *source) {
  for (size_t i = 0; i < dump_windows_count(source); i++) window_free(&source->windows->items.items[i]);
  if (!source->windows) return;
  store_release(source->windows->store);
  free(source->windows->texts);
  list_free(&source->windows->items);
  row_map_free(&source->windows->lanes);
  free(source->windows);
}

/* ---- segments ---- */

static const struct window_lanes *lanes_of(const struct dump_window *window, unsigned table) {
  return table == TABLE_threads ? &window->threads : table == TABLE_devices ? &window->devices : NULL;
}

static enum tfprof_status add_window_segment(struct profile *profile, size_t window, unsigned table, size_t number,
                                             struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct dump_window *from = &source->windows->items.items[window];
  const struct segment *its = from->profile->tables[table].segments[number];
  const struct window_lanes *lanes = lanes_of(from, table);
  uint32_t rows = lanes ? lanes->new_count : its->rows;
  struct column_set raw = its->is_raw;
  struct dump_segment *segment = malloc(sizeof *segment + 2 * sizeof *segment->frames);
  if (!segment) return error_no_memory(error);
  segment->is_of_window = true;
  segment->is_of_guest = false;
  segment->frame_count = 0;
  segment->frames[0] = (uint32_t)window;
  segment->frames[1] = (uint32_t)number;
  if (table == TABLE_ops) column_set_remove(&raw, COLUMN_ops_marked_step);
  struct segment *added = NULL;
  if (!rows) {
    free(segment);
    return TFPROF_OK;
  }
  enum tfprof_status status =
      profile_add_segment(profile, table, profile->tables[table].rows, rows, &raw, segment, &added, error);
  if (!status) added->is_of_other_kind = true;
  return status;
}

enum tfprof_status dump_windows_add(struct profile *profile, size_t window, unsigned table,
                                    struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct dump_window *from = &source->windows->items.items[window];
  enum tfprof_status status = TFPROF_OK;
  if (!from->profile || !is_of_windows(table) || from->profile->tables[table].is_made) return status;
  for (size_t i = 0; i < from->profile->tables[table].segment_count && !status; i++)
    status = add_window_segment(profile, window, table, i, error);
  return status;
}

/* ---- columns ---- */

struct taking { /* of a column of one segment */
  const struct dump_windows *windows;
  const struct dump_window *window;
  const struct column_spec *spec;
  const struct window_lanes *lanes; /* of the table that it refers to; NULL: of another one */
};

/* What a value of the window's profile is here; false: nothing. */
static bool bring_value(const struct taking *taking, int64_t *value) {
  const struct dump_window *window = taking->window, *of = window;
  bool is_code = taking->spec->target == TABLE_code_traces || taking->spec->target == TABLE_code_frames;
  if (is_code && window->lender != NONE) of = &taking->windows->items.items[window->lender];
  switch ((enum column_type)taking->spec->type) {
    case TYPE_TEXT:
    case TYPE_JSON:
      assert((uint64_t)*value < taking->windows->text_count);
      *value = taking->windows->texts[*value];
      return true;
    case TYPE_TIME:
      return !__builtin_add_overflow(*value, window->offset_ns, value) && is_dump_time(*value);
    case TYPE_REFERENCE:
      if ((uint64_t)*value >= profile_raw_rows(of->profile, taking->spec->target)) return false;
      *value = taking->lanes ? (int64_t)taking->lanes->rows[*value]
                             : *value + (int64_t)of->first_rows[taking->spec->target];
      return true;
    case TYPE_INTEGER:
    case TYPE_BOOLEAN:
    case TYPE_REAL:
    case TYPE_DURATION: break;
  }
  return true;
}

/* rows: those to take, NULL: all. NULL: no memory. */
static struct column *bring_column(const struct taking *taking, const struct column *column, const uint32_t *rows,
                                   uint32_t count) {
  int64_t *values = malloc((size_t)column->rows * sizeof *values);
  uint64_t *nulls = malloc(((size_t)column->rows + 63) / 64 * sizeof *nulls);
  uint64_t *own_nulls = calloc(((size_t)count + 63) / 64 + 1, sizeof *own_nulls);
  struct column *result = NULL;
  if (values && nulls && own_nulls) {
    bool is_any_null = false;
    column_read(column, 0, column->rows, values, nulls);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t row = rows ? rows[i] : i; /* never before i: they ascend */
      bool is_null = nulls_have(nulls, row) || !bring_value(taking, &values[row]);
      values[i] = is_null ? 0 : values[row];
      if (is_null) nulls_add(own_nulls, i);
      is_any_null |= is_null;
    }
    const uint64_t *mask = is_any_null ? own_nulls : NULL;
    result = column->is_real ? column_from_reals((const double *)(const void *)values, mask, count)
                             : column_from_integers(values, mask, count);
  }
  free(values);
  free(nulls);
  free(own_nulls);
  return result;
}

enum tfprof_status dump_windows_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                     unsigned count, struct column **out, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  const struct dump_segment *own = segment->source_data;
  struct dump_window *window = &source->windows->items.items[own->frames[0]];
  const struct segment *its = window->profile->tables[segment->table].segments[own->frames[1]];
  const struct window_lanes *lanes = lanes_of(window, segment->table);
  struct column_set wanted = {{0, 0}};
  for (unsigned i = 0; i < count; i++)
    if (column_set_has(&its->is_raw, columns[i])) column_set_add(&wanted, columns[i]);
  size_t told = window->profile->diagnostic_count;
  enum tfprof_status status = profile_require(window->profile, segment->table, &wanted, error);
  if (!status) status = bring_texts(profile, source->windows, error);
  if (!status && window->profile->diagnostic_count > told)
    segment_diagnose(segment, columns[0], "warning", "profiler_window", 1, -1,
                     "columns of a window of the framework's profiler could not be read to the end");
  for (unsigned i = 0; i < count && !status; i++) {
    const struct column_spec *spec = &schema_tables[segment->table].columns[columns[i]];
    const struct column *column = column_set_has(&wanted, columns[i]) ? its->columns[columns[i]] : NULL;
    if (!column || column->form == COLUMN_ABSENT) continue; /* absent here as well */
    const struct taking taking = {source->windows, window, spec, lanes_of(window, spec->target)};
    out[i] = bring_column(&taking, column, lanes ? lanes->new_rows : NULL, segment->rows);
    if (!out[i]) status = error_no_memory(error);
  }
  return status;
}

struct column *dump_windows_are_read(const struct dump_source *source, const struct segment *segment) {
  struct column_builder builder;
  if (column_builder_start(&builder, segment->rows, 0, 1, false, false)) return NULL;
  for (uint32_t row = 0; row < segment->rows; row++) {
    uint64_t place = segment->first_row + row;
    bool is_read = place < dump_windows_count(source) && source->windows->items.items[place].profile;
    column_builder_put(&builder, row, is_read);
  }
  return column_builder_done(&builder);
}
