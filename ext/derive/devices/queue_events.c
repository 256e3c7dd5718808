/* queue_events.c: the table queue_events: how much launched work waits in each stream, after each change.
**
** A launch makes the queue of its stream one longer when the launching call begins, the start of the kernel, copy or
** fill makes it one shorter; of moments that are the same, launches come first.  What counts is what
** HolisticTraceAnalysis counts: nothing from the last step that the profiler marked (last_steps.c), no launches of
** whole device graphs, and nothing whose call or start was not recorded.  Two lists, of launches and of starts,
** are merged for each stream.  Saving a dump leaves the table out (read/dump/save.c).
*/
#include "derive/links/graph_launches.h"
#include "derive/match.h"
#include "derive/passes.h"

#include <stdlib.h>

struct lane { uint32_t device, thread; }; /* rows, NO_ROW for no device */

struct work {
  struct profile *profile;
  uint32_t *devices, *threads, *calls; /* by row of device_activities */
  int64_t *launches, *starts;
  uint8_t *counts;
  uint32_t rows, counted;
  struct lane *lanes; /* ascending; without a device first */
  uint32_t lane_count;
  struct lane_span *events;
};

static int compare_lanes(const void *left, const void *right) {
  const struct lane *a = left, *b = right;
  uint32_t a_device = a->device + 1, b_device = b->device + 1; /* NO_ROW becomes 0 */
  if (a_device != b_device) return a_device < b_device ? -1 : 1;
  return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static enum tfprof_status choose_rows(struct work *w, struct tfprof_error *error) {
  string_id sync = derive_known_text(w->profile, "sync");
  uint8_t *is_graph = NULL;
  int64_t *is_before = NULL;
  enum tfprof_status status = graph_launches_find_calls(w->profile, &is_graph, error);
  if (!status) {
    status = derive_all_integers(w->profile, TABLE_device_activities, COLUMN_device_activities_is_before_last_step,
                                 &is_before, error);
  }
  for (struct row_block block = {0}; derive_next_block(w->profile, TABLE_device_activities, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK];
    block_texts(&block, COLUMN_device_activities_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      bool is_known = w->launches[row] != NO_VALUE && w->starts[row] != NO_VALUE;
      bool is_launched = is_known && w->calls[row] != NO_ROW && !is_graph[w->calls[row]];
      w->counts[row] =
          is_launched && kinds[i] && kinds[i] != sync && w->threads[row] != NO_ROW && is_before[row] == 1;
      w->counted += w->counts[row];
    }
  }
  scratch_free(is_graph);
  scratch_free(is_before);
  return status;
}

/* Neighbours mostly are of one lane. */
static enum tfprof_status find_lanes(struct work *w, struct tfprof_error *error) {
  uint32_t changes = 0, made = 0;
  struct lane last = {NO_ROW, NO_ROW};
  for (int pass = 0; pass < 2; pass++) {
    last = (struct lane){NO_ROW, NO_ROW};
    for (uint32_t row = 0; row < w->rows; row++) {
      struct lane lane = {w->devices[row], w->threads[row]};
      if (!w->counts[row] || compare_lanes(&lane, &last) == 0) continue;
      last = lane;
      if (pass) w->lanes[made++] = lane; else changes++;
    }
    if (!pass) w->lanes = scratch_allocate(((size_t)changes + 1) * sizeof *w->lanes);
    if (!w->lanes) return error_no_memory(error);
  }
  qsort(w->lanes, made, sizeof *w->lanes, compare_lanes);
  for (uint32_t i = 0; i < made; i++) {
    if (i == 0 || compare_lanes(&w->lanes[i], &w->lanes[i - 1]) != 0) w->lanes[w->lane_count++] = w->lanes[i];
  }
  return TFPROF_OK;
}

/* The end of an event is what lane_span_sort goes by where the starts are the same: later ends come first. */
enum { START_MARK = 0, LAUNCH_MARK = 1 };

static enum tfprof_status sort_events(struct work *w, struct tfprof_error *error) {
  w->events = scratch_allocate(((size_t)w->counted * 2 + 1) * sizeof *w->events);
  if (!w->events) return error_no_memory(error);
  struct lane_span *launches = w->events, *starts = w->events + w->counted;
  const struct lane *lane = NULL;
  for (uint32_t row = 0, made = 0; row < w->rows; row++) {
    struct lane wanted = {w->devices[row], w->threads[row]};
    if (!w->counts[row]) continue;
    if (!lane || compare_lanes(lane, &wanted) != 0)
      lane = bsearch(&wanted, w->lanes, w->lane_count, sizeof wanted, compare_lanes);
    uint32_t number = (uint32_t)(lane - w->lanes);
    launches[made] = (struct lane_span){w->launches[row], LAUNCH_MARK, number, row};
    starts[made++] = (struct lane_span){w->starts[row], START_MARK, number, row};
  }
  return lane_span_sort(w->events, (size_t)w->counted * 2, error);
}

static enum tfprof_status set_queue_columns(const struct work *w, struct tfprof_error *error) {
  uint32_t count = w->counted * 2;
  uint32_t *references = scratch_allocate((size_t)count * sizeof *references);
  int64_t *integers = scratch_allocate((size_t)count * sizeof *integers), length = 0;
  enum tfprof_status status = references && integers ? TFPROF_OK : error_no_memory(error);
#define FILL(values, expression) for (uint32_t i = 0; i < count && !status; i++) values[i] = (expression)
  FILL(references, w->lanes[w->events[i].lane].device);
  if (!status)
    status = derive_set_references(w->profile, TABLE_queue_events, COLUMN_queue_events_device_id, references, error);
  FILL(references, w->lanes[w->events[i].lane].thread);
  if (!status)
    status = derive_set_references(w->profile, TABLE_queue_events, COLUMN_queue_events_thread_id, references, error);
  FILL(references, w->events[i].row);
  if (!status) {
    status = derive_set_references(w->profile, TABLE_queue_events, COLUMN_queue_events_device_activity_id, references,
                                   error);
  }
  FILL(integers, w->events[i].start);
  if (!status)
    status = derive_set_integers(w->profile, TABLE_queue_events, COLUMN_queue_events_time_ns, integers, error);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (i && w->events[i].lane != w->events[i - 1].lane) length = 0;
    length += w->events[i].end == LAUNCH_MARK ? 1 : -1;
    integers[i] = length;
  }
  if (!status)
    status = derive_set_integers(w->profile, TABLE_queue_events, COLUMN_queue_events_queue_length, integers, error);
#undef FILL
  scratch_free(references);
  scratch_free(integers);
  return status;
}

static enum tfprof_status load_queue_columns(struct work *w, struct tfprof_error *error) {
  static const unsigned table = TABLE_device_activities;
  enum tfprof_status status =
      derive_all_references(w->profile, table, COLUMN_device_activities_device_id, &w->devices, error);
  if (!status)
    status = derive_all_references(w->profile, table, COLUMN_device_activities_thread_id, &w->threads, error);
  if (!status)
    status = derive_all_references(w->profile, table, COLUMN_device_activities_api_call_id, &w->calls, error);
  if (!status) status = derive_all_integers(w->profile, table, COLUMN_device_activities_launch_ns, &w->launches, error);
  if (!status) status = derive_all_integers(w->profile, table, COLUMN_device_activities_start_ns, &w->starts, error);
  if (status) return status;
  w->counts = scratch_allocate_zeroed((size_t)w->rows + 1, 1);
  return w->counts ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status run_queue_events(struct profile *profile, struct tfprof_error *error) {
  struct work w = {.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &w.rows, error);
  if (status || !w.rows) return status;
  if (w.rows > NO_ROW / 2)
    return error_set(error, TFPROF_LIMIT, "too many kernels and transfers for one list of queues");
  status = load_queue_columns(&w, error);
  if (!status) status = choose_rows(&w, error);
  if (!status && w.counted) status = find_lanes(&w, error);
  if (!status && w.counted) status = sort_events(&w, error);
  if (!status && w.counted) status = derive_make_table(profile, TABLE_queue_events, w.counted * 2, error);
  if (!status && w.counted) status = set_queue_columns(&w, error);
  scratch_free(w.devices);
  scratch_free(w.threads);
  scratch_free(w.calls);
  scratch_free(w.launches);
  scratch_free(w.starts);
  scratch_free(w.counts);
  scratch_free(w.lanes);
  scratch_free(w.events);
  return status;
}

static const char *const texts[] = {"sync", NULL};

const struct derive_pass derive_queue_events = {
    .name = "queue events",
    .summary =
        "Launches into streams and starts of what was launched, merged by time, with the queue's length after each.",
    .makes_table = TABLE_queue_events,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_kind},
              {TABLE_device_activities, COLUMN_device_activities_device_id},
              {TABLE_device_activities, COLUMN_device_activities_thread_id},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_device_activities, COLUMN_device_activities_api_call_id},
              {TABLE_device_activities, COLUMN_device_activities_is_before_last_step},
              {TABLE_api_calls, COLUMN_api_calls_name}},
    .run = run_queue_events,
    .texts = texts,
};
