/* windows.c: see windows.h.
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
#include "read/dump/windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "read/dump/guests.h"
#include "read/file/message_head.h"
#include "read/xplane/xplane.h"

enum { MAXIMUM_WINDOWS = 4096, CLOCK_SLACK_NS = 1000000 };
#define OPENING_PART 0.6
#define NOT_KNOWN GUEST_NOT_KNOWN

struct dump_windows {
  LIST(size_t) guests; /* by window: what it is among the guests; GUEST_NONE: its file could not be read */
  size_t lender;       /* the last guest with programs of its own; GUEST_NONE */
};

/* ---- what the dump says ---- */

/* A row of profiler_windows; NOT_KNOWN where it is NULL or damaged. */
enum fact { FACT_FILE, FACT_FRAMEWORK, FACT_THREAD, FACT_START, FACT_END, FACT_DURATION, FACT_OPENING, FACT_REALTIME,
            FACT_HANDLE, FACTS };
static const uint16_t fact_columns[FACTS] = {
    COLUMN_profiler_windows_file,       COLUMN_profiler_windows_framework,
    COLUMN_profiler_windows_thread_id,
    COLUMN_profiler_windows_start_ns,   COLUMN_profiler_windows_end_ns,
    COLUMN_profiler_windows_dur_ns,     COLUMN_profiler_windows_opening_ns,
    COLUMN_profiler_windows_start_realtime_ns, COLUMN_profiler_windows_thread_handle};

static int64_t fact_time(int64_t value) { return value == NOT_KNOWN || !is_dump_time(value) ? NOT_KNOWN : value; }

/* When the profiler was on. */
static int64_t start_of(const int64_t *facts) {
  int64_t start = fact_time(facts[FACT_START]), end = fact_time(facts[FACT_END]);
  int64_t duration = fact_time(facts[FACT_DURATION]);
  if (start != NOT_KNOWN) return start;
  return end == NOT_KNOWN || duration == NOT_KNOWN ? NOT_KNOWN : fact_time(end - duration);
}

/* ---- threads and devices ---- */

/* std::hash of a std::thread::id, as of libstdc++: the MurmurHash64A of the handle. */
static uint64_t hash_of_handle(uint64_t handle) {
  const uint64_t multiplier = UINT64_C(0xc6a4a7935bd1e995);
  uint64_t mixed = handle * multiplier, hash = UINT64_C(0xc70f6907) ^ (8 * multiplier);
  hash = (hash ^ (mixed ^ mixed >> 47) * multiplier) * multiplier;
  hash = (hash ^ hash >> 47) * multiplier;
  return hash ^ hash >> 47;
}

static uint64_t hash_of_name(const struct dump_guest *window, uint64_t row) {
  const struct segment *segment = window->profile->tables[TABLE_devices].segments[0];
  const struct column *names = segment->columns[COLUMN_devices_name];
  const struct pool *pool = store_pool(window->profile->store);
  if (column_is_null(names, (uint32_t)row)) return row;
  string_id id = (string_id)column_integer(names, (uint32_t)row);
  return hash_fnv1a(HASH_FNV1A_START, pool_text(pool, id), pool_length(pool, id));
}

/* Makes the window's thread of that number the dump's. */
static enum tfprof_status know_thread(struct dump_source *source, const int64_t *facts, struct tfprof_error *error) {
  uint64_t row;
  struct row_map *known = &source->guests->known;
  bool is_known = facts[FACT_THREAD] >= 0 && facts[FACT_HANDLE] != NOT_KNOWN &&
                  dump_row(source, TABLE_threads, (uint64_t)facts[FACT_THREAD], &row) && row < GUEST_NO_ROW;
  if (!is_known) return TFPROF_OK;
  uint64_t id = hash_of_handle((uint64_t)facts[FACT_HANDLE]);
  uint32_t number = row_map_number(known, (struct row_key){{KEY_WINDOW_THREAD, id, 0}});
  if (number == ROW_MAP_NONE) return error_no_memory(error);
  known->values[number] = (uint32_t)row;
  return TFPROF_OK;
}

static enum tfprof_status take_lanes(struct dump_source *source, struct dump_guest *window,
                                     struct tfprof_error *error) {
  const struct profile *guest = window->profile;
  const uint64_t threads = profile_raw_rows(guest, TABLE_threads), devices = profile_raw_rows(guest, TABLE_devices);
  struct row_key *keys = malloc((threads + devices + 1) * sizeof *keys);
  struct xplane_lane *lanes = calloc(threads + 1, sizeof *lanes);
  enum tfprof_status status = keys && lanes ? TFPROF_OK : error_no_memory(error);
  for (uint64_t row = 0; row < devices && !status; row++)
    keys[row] = (struct row_key){{KEY_WINDOW_DEVICE, hash_of_name(window, row), 0}};
  if (!status) status = dump_guest_know(source, window, TABLE_devices, keys, error);
  if (!status) xplane_lanes_of_threads(guest, lanes);
  for (uint64_t row = 0; row < threads && !status; row++) {
    uint64_t id = (uint64_t)lanes[row].id, device = (uint64_t)lanes[row].device;
    bool is_stream = lanes[row].device >= 0 && device < devices;
    keys[row] = is_stream ? (struct row_key){{KEY_WINDOW_STREAM, id, window->taken[TABLE_devices]->rows[device]}}
                          : (struct row_key){{KEY_WINDOW_THREAD, id, 0}};
  }
  if (!status) status = dump_guest_know(source, window, TABLE_threads, keys, error);
  free(keys);
  free(lanes);
  return status;
}

/* ---- opening ---- */

/* What must be added to the times of the window's profile; false: nothing tells. */
static bool find_offset(const int64_t *facts, struct dump_guest *window) {
  const struct profile *guest = window->profile;
  const char *domain = pool_text(store_pool(guest->store), guest->clock_domain);
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

/* Whether the file begins as an XSpace does; of nothing else is it known. */
static enum tfprof_status check_beginning(const char *path, struct tfprof_error *error) {
  uint8_t head[4096];
  struct stat info;
  FILE *file = stat(path, &info) || !S_ISREG(info.st_mode) ? NULL : fopen(path, "rbe");
  if (!file) return error_set(error, TFPROF_NOT_FOUND, "there is no such file beside the recording");
  size_t length = fread(head, 1, sizeof head, file);
  const struct read_format *format = xplane_reader.probe(path, head, length).format;
  bool is_space = !is_trace_message(head, length) && format == &read_format_xplane;
  fclose(file);
  return is_space ? TFPROF_OK : error_set(error, TFPROF_WRONG_KIND, "the file is no XSpace");
}

static enum tfprof_status read_window_file(struct profile *profile, struct dump_guest *window, const char *path,
                                           struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  const struct read_file file = {.path = path, .format = &read_format_xplane};
  uint32_t run;
  enum tfprof_status status = check_beginning(path, error);
  if (!status) status = dump_guest_add_run(profile, path, &run, error);
  if (status) return status;
  status = read_format_xplane.open(source->guests->store, run, &(struct read_bundle){&file, 1}, error);
  window->profile = dump_guest_opened(source, run, status);
  if (status) return status;
  const size_t lender = source->windows->lender;
  if (lender != GUEST_NONE) xplane_lend_programs(source->guests->items.items[lender].profile, window->profile);
  status = profile_list_all(window->profile, error);
  window->lender = !status && xplane_has_programs(window->profile) ? GUEST_NONE : lender;
  return status;
}

/* NULL: it is lost. */
static const char *text_of_fact(const struct dump_source *source, const struct pool *pool, int64_t fact) {
  return fact > 0 && fact < source->string_count ? pool_text(pool, source->strings[fact]) : NULL;
}

/* Whose its ops are says the recording, else what stands in the file. */
static enum tfprof_status set_framework(const struct dump_source *source, const struct dump_guest *window,
                                        const struct pool *pool, const int64_t *facts, struct tfprof_error *error) {
  const char *name = text_of_fact(source, pool, facts[FACT_FRAMEWORK]);
  if (!name) return TFPROF_OK;
  enum tfprof_status status =
      pool_intern(store_pool(source->guests->store), name, strlen(name), &window->profile->framework);
  return status ? error_set(error, status, "the strings of the profile cannot be kept") : TFPROF_OK;
}

static enum tfprof_status number_window_rows(struct profile *profile, struct dump_guest *window, const int64_t *facts,
                                             struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  enum tfprof_status status = set_framework(source, window, store_pool(profile->store), facts, error);
  if (!status) status = dump_guest_place(profile, window, error);
  if (!status) status = know_thread(source, facts, error);
  if (!status) status = take_lanes(source, window, error);
  if (!status) dump_guest_number(source, window);
  return status;
}

/* `name` is that of its file, NULL where it is lost. *place: see struct dump_windows. */
static enum tfprof_status take_window(struct profile *profile, const char *name, const int64_t *facts, size_t frames,
                                      size_t *place, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  struct dump_guest window = {.frames = frames, .lender = GUEST_NONE};
  struct tfprof_error reason = {0};
  char *path = name ? dump_guest_path(profile, name) : NULL;
  enum tfprof_status status =
      path   ? read_window_file(profile, &window, path, &reason)
      : name ? error_set(&reason, TFPROF_CORRUPT, "this is no name of a file beside the recording")
             : error_set(&reason, TFPROF_CORRUPT, "the recording does not tell the name of the file");
  free(path);
  if (!status && !find_offset(facts, &window))
    status = error_set(&reason, TFPROF_CORRUPT, "the recording does not tell when it was on");
  bool is_over = status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED;
  *place = GUEST_NONE;
  if (status && !is_over) {
    profile_diagnose(profile, "warning", "profiler_window", 1, -1, -1,
                     "a window of the framework's profiler has no ops here: %s%s%s", name ? name : "",
                     name ? ": " : "", reason.message);
    return TFPROF_OK;
  }
  if (!status) dump_guest_diagnose(profile, &window, name);
  if (!status) status = number_window_rows(profile, &window, facts, &reason);
  status = dump_guest_keep(source, &window, status, &reason);
  if (!status) *place = dump_guests_count(source) - 1;
  if (!status && xplane_has_programs(window.profile)) source->windows->lender = *place;
  if (status && error) *error = reason;
  return status;
}

static enum tfprof_status take_frame(struct profile *profile, const struct dump_frame *frame, size_t frames,
                                     struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct pool *pool = store_pool(profile->store);
  int64_t *facts = NULL;
  enum tfprof_status status =
      dump_guest_facts(source, frame, TABLE_profiler_windows, fact_columns, FACTS, &facts, error);
  for (uint32_t row = 0; row < frame->rows && !status; row++) {
    const int64_t *its = &facts[(size_t)row * FACTS];
    if (source->windows->guests.count >= MAXIMUM_WINDOWS) {
      profile_diagnose_once(profile, "warning", "profiler_window",
                            "of more than %d windows of the framework's profiler the others are left out",
                            MAXIMUM_WINDOWS);
      break;
    }
    if (store_interrupted(profile->store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
    const char *name = text_of_fact(source, pool, its[FACT_FILE]);
    size_t *place = status ? NULL : list_add(&source->windows->guests);
    if (!status) status = place ? take_window(profile, name, its, frames, place, error) : error_no_memory(error);
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
    if (!source->windows && (source->windows = calloc(1, sizeof *source->windows)))
      source->windows->lender = GUEST_NONE;
    if (!source->windows || !dump_guests_begin(source)) return error_no_memory(error);
    status = dump_load_strings(profile, &reason);
    if (!status) status = take_frame(profile, &source->file->frames[i], end, &reason);
    if (!dump_is_lost(status)) continue;
    profile_tell_file(profile, &reason);
    return TFPROF_OK;
  }
  if (status && error) *error = reason;
  return status;
}

void dump_windows_free(struct dump_source *source) {
  if (!source->windows) return;
  list_free(&source->windows->guests);
  free(source->windows);
}

struct column *dump_windows_are_read(const struct dump_source *source, const struct segment *segment) {
  struct column_builder builder;
  if (column_builder_start(&builder, segment->rows, 0, 1, false, false)) return NULL;
  for (uint32_t row = 0; row < segment->rows; row++) {
    uint64_t place = segment->first_row + row;
    bool is_read = place < source->windows->guests.count && source->windows->guests.items[place] != GUEST_NONE;
    column_builder_put(&builder, row, is_read);
  }
  return column_builder_done(&builder);
}
