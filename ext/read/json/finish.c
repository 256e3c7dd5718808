/* finish.c: from the chunks of a trace to a profile of the store. */
#include <stdlib.h>
#include <string.h>

#include "read/file/rank_of_name.h"
#include "read/json/sections.h"
#include "read/json/trace.h"
#include "read/json/xspace_trace.h"
#include "read/rows/sound_times.h"

/* ---- chunks ---- */

struct slot_spec { uint16_t column; bool is_time, is_device; };
static const struct slot_spec slot_specs[ROW_SLOTS] = {
#define ROWS(table)
#define KIND_IS_TIME(kind) KIND_IS_TIME_##kind
#define KIND_IS_TIME_INTEGER false
#define KIND_IS_TIME_TIME true
#define KIND_IS_TIME_REAL false
#define KIND_IS_TIME_TEXT false
#define KIND_IS_TIME_LANE false
#define KIND_IS_TIME_DEVICE false
#define KIND_IS_TIME_STACK false
#define KIND_IS_DEVICE(kind) KIND_IS_DEVICE_##kind
#define KIND_IS_DEVICE_INTEGER false
#define KIND_IS_DEVICE_TIME false
#define KIND_IS_DEVICE_REAL false
#define KIND_IS_DEVICE_TEXT false
#define KIND_IS_DEVICE_LANE false
#define KIND_IS_DEVICE_DEVICE true
#define KIND_IS_DEVICE_STACK false
#define VALUE(table, column, kind) \
  [ROW_##table##_##column] = {COLUMN_##table##_##column, KIND_IS_TIME(kind), KIND_IS_DEVICE(kind)},
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
};

static const struct { uint16_t table, first; } table_specs[ROWS_COUNT + 1] = {
#define ROWS(name) {TABLE_##name, ROW_FIRST_##name},
#define VALUE(table, column, kind)
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
    {0, ROW_SLOTS}};

static const struct { uint16_t rows, column; int64_t number; } constants[] = {
#define ROWS(table)
#define VALUE(table, column, kind)
#define CONSTANT(table, column, number) {ROWS_##table, COLUMN_##table##_##column, number},
#include "read/json/rows.def"
};

/* The op's type is its name unless the source tells another: the same array where none does. */
static struct column *op_types(struct column *types, struct column *names) {
  if (types->form == COLUMN_ABSENT) return column_retain(names);
  int64_t *values = malloc(types->rows * sizeof *values);
  if (!values) return NULL;
  for (uint32_t i = 0; i < types->rows; i++) {
    const struct column *from = column_is_null(types, i) ? names : types;
    values[i] = column_is_null(from, i) ? ROW_NULL : column_integer(from, i);
  }
  struct column *made = pack_values(values, types->rows, false);
  free(values);
  return made;
}

/* A stored value; ROW_NULL: none. */
static int64_t value_at(const struct column *column, uint32_t row) {
  return column_is_null(column, row) ? ROW_NULL : column_integer(column, row);
}

/* Moves times by the trace's base. Those beyond all times become NULL and are counted. False: no memory. */
static bool move_times(struct trace *trace, struct column **place) {
  struct column *times = *place;
  uint64_t refused = 0;
  for (uint32_t row = 0; row < times->rows; row++) {
    int64_t time = value_at(times, row);
    refused += time != ROW_NULL && trace_time(trace, time) == ROW_NULL;
  }
  trace->problems[PROBLEM_MOVED_TIME].count += refused;
  if (!refused) {
    if (times->form != COLUMN_ABSENT) times->base += trace->base_ns;
    return true;
  }
  int64_t *values = malloc(times->rows * sizeof *values);
  if (!values) return false;
  for (uint32_t row = 0; row < times->rows; row++) values[row] = trace_time(trace, value_at(times, row));
  *place = pack_values(values, times->rows, false);
  column_release(times);
  free(values);
  return *place != NULL;
}

/* Makes NULL, and counts, the durations of what begins at these stored times and ends beyond all. False: no memory. */
static bool limit_durations(struct trace *trace, const struct column *starts, struct column **place) {
  struct column *durations = *place;
  uint64_t refused = 0;
  for (uint32_t row = 0; row < durations->rows; row++) {
    int64_t duration = value_at(durations, row);
    refused += duration != ROW_NULL && trace_duration(value_at(starts, row), duration) == ROW_NULL;
  }
  trace->problems[PROBLEM_MOVED_TIME].count += refused;
  if (!refused) return true;
  int64_t *values = malloc(durations->rows * sizeof *values);
  if (!values) return false;
  for (uint32_t row = 0; row < durations->rows; row++)
    values[row] = trace_duration(value_at(starts, row), value_at(durations, row));
  *place = pack_values(values, durations->rows, false);
  column_release(durations);
  free(values);
  return *place != NULL;
}

/* The slot of a table's column among all slots, or -1. */
static int slot_of(unsigned first, unsigned count, int column) {
  for (unsigned i = 0; i < count; i++) {
    if (slot_specs[first + i].column == column) return (int)i;
  }
  return -1;
}

/* Moves all times of a chunk's table by the trace's base. */
static bool move_all_times(struct trace *trace, struct chunk_table *t, unsigned schema_table, unsigned first,
                           unsigned count) {
  const struct table_spec *spec = &schema_tables[schema_table];
  for (unsigned i = 0; i < count; i++) {
    if (slot_specs[first + i].is_time && !move_times(trace, &t->columns[i])) return false;
  }
  if (spec->start_column < 0) return true;
  int start = slot_of(first, count, spec->start_column), duration = slot_of(first, count, spec->dur_column);
  return start < 0 || duration < 0 || limit_durations(trace, t->columns[start], &t->columns[duration]);
}

/* From numbers of devices to rows of theirs. False: no memory. */
static bool place_devices(const struct trace *trace, struct chunk_table *t, unsigned first, unsigned count) {
  for (unsigned i = 0; i < count && trace->device_rows; i++) {
    struct column *devices = t->columns[i];
    if (!slot_specs[first + i].is_device || devices->form == COLUMN_ABSENT) continue;
    int64_t *values = malloc(devices->rows * sizeof *values);
    if (!values) return false;
    for (uint32_t row = 0; row < devices->rows; row++) {
      int64_t device = value_at(devices, row);
      bool is_one = device >= 0 && (uint64_t)device < trace->devices.count;
      values[row] = is_one ? (int64_t)trace->device_rows[device] : ROW_NULL;
    }
    t->columns[i] = pack_values(values, devices->rows, false);
    column_release(devices);
    free(values);
    if (!t->columns[i]) return false;
  }
  return true;
}

static bool has_texts(enum row_table table) {
  return table != ROWS_counters; /* their args are the rows */
}

/* Ops are read again by the processes that they were read by. False: no memory. */
static bool keep_processes(const struct trace *trace, struct segment_text *text) {
  if (!trace->processes.count && !trace->processes.is_own_xspace) return true;
  text->processes = malloc(sizeof *text->processes);
  if (text->processes) *text->processes = trace->processes;
  return text->processes != NULL;
}

static enum tfprof_status add_segment(struct trace *trace, struct profile *profile, struct chunk *chunk,
                                      enum row_table table, struct far_place *far_places) {
  struct chunk_table *t = &chunk->tables[table];
  unsigned first = table_specs[table].first, count = table_specs[table + 1].first - first;
  unsigned schema_table = table_specs[table].table;
  struct column_set raw = {{0, 0}};
  struct segment_text *text = NULL;
  if (has_texts(table)) {
    text = calloc(1, sizeof *text);
    if (!text) {
      free(far_places);
      return TFPROF_NO_MEMORY;
    }
    *text = (struct segment_text){.offset = chunk->offset,
                                  .length = chunk->length,
                                  .offsets = far_places ? NULL : t->offsets,
                                  .far_places = far_places,
                                  .has_quotes = trace->problems[PROBLEM_QUOTE].count != 0,
                                  .is_utf8 = far_places ? !trace->is_other_than_utf8 : chunk->is_utf8};
    if (!far_places) t->offsets = NULL;
    if (table == ROWS_ops && !keep_processes(trace, text)) {
      segment_text_free(text);
      return TFPROF_NO_MEMORY;
    }
    column_set_add(&raw, schema_tables[schema_table].column_count - 1u);
  } else {
    free(t->offsets);
    t->offsets = NULL;
  }
  struct segment *segment;
  enum tfprof_status status =
      profile_add_segment(profile, schema_table, t->first_row, t->rows, &raw, text, &segment, NULL);
  if (status) return status;
  if (!queues_apply(trace, table, t) || !place_devices(trace, t, first, count)) return TFPROF_NO_MEMORY;
  if (table == ROWS_ops) {
    struct column **types_place = &t->columns[ROW_ops_op_type - ROW_FIRST_ops];
    struct column *types = op_types(*types_place, t->columns[ROW_ops_name - ROW_FIRST_ops]);
    if (!types) return TFPROF_NO_MEMORY;
    column_release(*types_place);
    *types_place = types;
  }
  if (!move_all_times(trace, t, schema_table, first, count)) return TFPROF_NO_MEMORY;
  for (unsigned i = 0; i < count; i++) {
    struct column *column = t->columns[i];
    t->columns[i] = NULL;
    if (column->form == COLUMN_ABSENT &&
        schema_tables[schema_table].start_column != (int)slot_specs[first + i].column) {
      column_release(column); /* what the source does not have may be derived */
      continue;
    }
    trace_set_column(segment, slot_specs[first + i].column, column);
  }
  const struct table_spec *spec = &schema_tables[schema_table];
  if (spec->start_column >= 0 && segment->columns[spec->start_column] && segment->columns[spec->dur_column]) {
    struct column *end = column_sum(segment->columns[spec->start_column], segment->columns[spec->dur_column]);
    if (!end) return TFPROF_NO_MEMORY;
    trace_set_column(segment, (unsigned)spec->end_column, end);
  }
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    if (constants[i].rows != table) continue;
    struct column *column = column_constant(t->rows, constants[i].number);
    if (!column) return TFPROF_NO_MEMORY;
    trace_set_column(segment, constants[i].column, column);
  }
  return TFPROF_OK;
}

/* ---- times that cannot be true ---- */

/* Only of profilers: the time of any other trace may be one of a simulation. */
static enum tfprof_status mend_times(struct trace *trace, struct profile *profile, bool is_of_profiler) {
  uint16_t tables[ROWS_COUNT];
  bool is_changed; /* collectives take their times from these rows: derive/devices/collective_times.c */
  if (!is_of_profiler) return TFPROF_OK;
  for (unsigned i = 0; i < ROWS_COUNT; i++) tables[i] = table_specs[i].table;
  return sound_times_mend(profile, tables, ROWS_COUNT, &is_changed, trace->error);
}

/* ---- the profile ---- */

static const struct { const char *severity, *reason, *message;
} problem_texts[PROBLEM_COUNT] = {
    [PROBLEM_FLOW] = {"info", "flow_events", "flow events (ph s, t, f: arrows of the picture) are not kept"},
    [PROBLEM_PHASE] = {"warning", "unknown_phase", "events of a kind that is not known (member ph) were left out"},
    [PROBLEM_MALFORMED] = {"error", "malformed_json", "text that is no JSON was left out, up to the next event"},
    [PROBLEM_NOT_OBJECT] = {"warning", "not_an_event", "elements of the event array that are no objects were left out"},
    [PROBLEM_QUOTE] = {"warning", "unescaped_quote",
                       "texts with quotes that are not escaped were read up to where the text seems to end"},
    [PROBLEM_NO_TIME] = {"warning", "no_time", "events without a time were left out"},
    [PROBLEM_TIME_RANGE] = {"warning", "time_out_of_range",
                            "events with a time that is no number, or beyond 146 years, were left out"},
    [PROBLEM_MOVED_TIME] = {"warning", "time_out_of_range",
                            "times that baseTimeNanoseconds moves beyond the year 2116 are NULL"},
    [PROBLEM_NEGATIVE] = {"warning", "negative_duration",
                          "events that end before they begin have no duration here; attributes keep it"},
    [PROBLEM_SHARE] = {"warning", "value_out_of_range",
                       "occupancies outside of 0 to 100 %, and numbers of blocks and warps below 0, are NULL; "
                       "attributes keep them"},
    [PROBLEM_REPEATED] = {"warning", "repeated_events",
                          "events stand in the file once more, with the same times, numbers and names, as where it was "
                          "merged with itself; each counts once"},
    [PROBLEM_TRUNCATED] = {"error", "truncated", "the file ends in the middle; everything before is served"},
    [PROBLEM_OVERSIZED] = {"error", "oversized_element", "elements of more than 64 MB were left out"},
    [PROBLEM_TRAILING] = {"warning", "trailing_text", "text after the end of the document was ignored"},
    [PROBLEM_UNMATCHED_BEGIN] = {"warning", "unmatched_begin",
                                 "ranges were begun (ph B, b or S) and never ended; their end is NULL"},
    [PROBLEM_UNMATCHED_END] = {"warning", "unmatched_end",
                               "ends of ranges (ph E, e or F) without a beginning were left out"},
    [PROBLEM_CROSSING_END] = {"info", "crossing_ends",
                              "ranges ended (ph E, by their names) before others that had begun inside of them: they "
                              "cross, or the ends of the others are missing"},
    [PROBLEM_END_MEMBERS] = {"info", "members_of_ends",
                             "what the ends (ph E) of ops, calls and work on devices say of their own is not kept"},
    [PROBLEM_METADATA] = {"info", "unused_metadata",
                          "metadata of processes and threads that have no events, and of unknown kinds, was left out"},
    [PROBLEM_COUNTER] = {"warning", "counter_not_a_number",
                         "what counters have beside numbers was left out, and counters without any"},
    [PROBLEM_NOT_UTF8] = {"warning", "not_utf8", NOT_UTF8_MESSAGE},
    [PROBLEM_LEVEL] = {"error", "malformed_json",
                       "what stands outside of the event array is no JSON; reading ended there"},
};

static void diagnose_problems(struct trace *trace, struct profile *profile) {
  for (unsigned i = 0; i < PROBLEM_COUNT; i++) {
    const struct problem_tally *tally = &trace->problems[i];
    if (!tally->count || !problem_texts[i].reason) continue;
    bool has_links = i == PROBLEM_FLOW && trace->is_kineto;
    const char *more = has_links ? "; ids of the tables link the same rows, by the events' own numbers" : "";
    profile_diagnose(profile, problem_texts[i].severity, problem_texts[i].reason, (int64_t)tally->count,
                     (int64_t)tally->offset, -1, "%s%s", problem_texts[i].message, more);
  }
  uint64_t offset;
  enum source_problem problem = source_problem(trace->source, &offset);
  if (problem) {
    profile_diagnose(profile, problem == SOURCE_TRAILING ? "warning" : "error", "gzip", 1, (int64_t)offset, -1, "%s",
                     source_problem_text(problem));
  }
  if (trace->problems[PROBLEM_TRUNCATED].count || trace->problems[PROBLEM_LEVEL].count ||
      (problem && problem != SOURCE_TRAILING)) {
    profile->complete = false;
  }
  header_describe(trace, profile);
}

/* Both call each other's code; TensorFlow's events are the more telling ones. */
static const char *framework_of_xspace(const struct trace *trace) {
  if (trace->xspace_counts[XSPACE_TENSORFLOW]) return "tensorflow";
  return trace->xspace_counts[XSPACE_JAX] ? "jax" : NULL;
}

enum tfprof_status trace_finish(struct trace *trace, uint32_t run_number, struct source_index *index,
                                const struct profile_source *sources, struct tfprof_error *error) {
  header_read(trace);
  bool is_tensorflow = trace->tensorflow_count && trace->tensorflow_count == trace->rows[ROWS_ops];
  bool is_xspace = trace->processes.count > 0, is_of_others = is_tensorflow || is_xspace;
  if ((trace->rows[ROWS_ops] && !is_of_others) || trace->rows[ROWS_kernels] || trace->rows[ROWS_api_calls])
    trace->is_kineto = true;
  struct profile *profile;
  enum tfprof_status status =
      store_add_profile(trace->store, run_number, &sources[trace->is_kineto], index, &profile, error);
  if (status) return status; /* the store has freed the index */
  struct far_place *far_places = NULL;
  size_t own_chunks = trace->chunks.count;
  status = python_stacks(trace);
  if (!status) status = halves_match(trace, &far_places);
  if (!status && !queues_link(trace)) status = error_no_memory(error);
  if (!status) status = lanes_add(trace, profile);
  struct chunk **chunks = trace->chunks.items;
  for (size_t i = 0; i < trace->chunks.count && !status; i++) {
    for (unsigned table = 0; table < ROWS_COUNT && !status; table++) {
      if (!chunks[i]->tables[table].rows) continue;
      struct far_place *far = i >= own_chunks ? far_places : NULL;
      if (far) far_places = NULL;
      status = add_segment(trace, profile, chunks[i], table, far);
    }
  }
  free(far_places);
  if (!status && trace->is_kineto) status = processes_part_links(trace, profile);
  if (!status) status = mend_times(trace, profile, trace->is_kineto || is_of_others);
  if (!status) status = collectives_add(trace, profile);
  if (!status) status = header_add_modules(trace, profile);
  if (status) {
    store_drop_profile(trace->store, profile);
    return trace->status ? trace->status : error_set(error, status, "no memory to open %s", trace->path);
  }
  string_id id = 0;
  if (pool_intern_mended(trace->pool, trace->path, strlen(trace->path), &id, NULL) == TFPROF_OK) profile->path = id;
  profile->host = trace->host;
  const char *framework = is_tensorflow      ? "tensorflow"
                          : trace->is_kineto ? "pytorch"
                          : is_xspace        ? framework_of_xspace(trace)
                                             : NULL;
  if (framework && pool_intern(trace->pool, framework, strlen(framework), &id) == TFPROF_OK) profile->framework = id;
  /* What its rows mean is what those of the XSpace do. */
  if (is_xspace && pool_intern(trace->pool, "xplane", 6, &id) == TFPROF_OK) profile->origin = id;
  if (trace->origin) profile->origin = trace->origin;
  if (trace->framework) profile->framework = trace->framework;
  profile->framework_version = trace->version;
  if (pool_intern(trace->pool, "realtime", 8, &id) == TFPROF_OK) profile->clock_domain = id;
  profile->rank = trace->part        ? trace->part->rank
                  : trace->rank >= 0 ? trace->rank
                                     : rank_of_name(trace->path);
  profile->world_size = trace->world_size >= 0 ? trace->world_size : -1;
  sections_tell(trace, profile);
  profile->file_bytes = (int64_t)source_file_bytes(trace->source);
  profile->complete = true;
  diagnose_problems(trace, profile);
  devices_tell(trace, profile);
  return TFPROF_OK;
}
