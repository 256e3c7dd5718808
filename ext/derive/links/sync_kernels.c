/* sync_kernels.c: syncs.waits_on_kernel_id: the kernel whose end a wait waited for.
**
**   stream          the last kernel that was launched into the stream before the wait began
**   context, device of all streams of the device the kernel that ended last, of those launched before
**   event, stream_wait
**                   the last kernel that was launched into the stream on which the event was recorded before the call
**                   that recorded it (libkineto: wait_on_stream and wait_on_cuda_event_record_corr_id); where the call
**                   is not known that cannot be told
**
** Launched before means that the call that launched it began before the call that waits or records, on whatever thread.
** Each stream's kernels are sorted by launch; a wait is a binary search (one for each stream of the device where it
** waits for all).  Only kernels whose launching call was recorded can be found.
*/
#include "derive/match.h"
#include "derive/passes.h"

struct launches {
  struct lane_span *items; /* lane: stream, start: launch, end: end of the kernel, row: of kernels; by lane, start */
  int64_t *ends;           /* by item: the latest end of this and all before on its stream */
  uint32_t *last;          /* by item: the item with that end */
  uint32_t *first_of_lane; /* by thread row, and one more */
  uint32_t count, lanes;
};

static void launches_free(struct launches *l) {
  scratch_free(l->items);
  scratch_free(l->ends);
  scratch_free(l->last);
  scratch_free(l->first_of_lane);
}

static enum tfprof_status collect_launches(struct profile *profile, struct launches *l, struct tfprof_error *error) {
  uint32_t rows, *calls = NULL, *threads = NULL;
  int64_t *starts = NULL, *ends = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &l->lanes, error);
  if (!status) status = derive_all_references(profile, TABLE_kernels, COLUMN_kernels_api_call_id, &calls, error);
  if (!status) status = derive_all_references(profile, TABLE_kernels, COLUMN_kernels_thread_id, &threads, error);
  if (!status) status = derive_all_integers(profile, TABLE_kernels, COLUMN_kernels_end_ns, &ends, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &starts, error);
  l->items = scratch_allocate(((size_t)rows + 1) * sizeof *l->items);
  l->ends = scratch_allocate(((size_t)rows + 1) * sizeof *l->ends);
  l->last = scratch_allocate(((size_t)rows + 1) * sizeof *l->last);
  l->first_of_lane = scratch_allocate_zeroed((size_t)l->lanes + 2, sizeof *l->first_of_lane);
  if (!status && (!l->items || !l->ends || !l->last || !l->first_of_lane)) status = error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (calls[row] == NO_ROW || threads[row] == NO_ROW || starts[calls[row]] == NO_VALUE || ends[row] == NO_VALUE)
      continue;
    l->items[l->count++] = (struct lane_span){starts[calls[row]], ends[row], threads[row], row};
  }
  if (!status) status = lane_span_sort(l->items, l->count, error);
  for (uint32_t i = 0; i < l->count && !status; i++) {
    bool is_first = i == 0 || l->items[i - 1].lane != l->items[i].lane;
    bool is_later = is_first || l->items[i].end >= l->ends[i - 1];
    l->ends[i] = is_later ? l->items[i].end : l->ends[i - 1];
    l->last[i] = is_later ? i : l->last[i - 1];
    l->first_of_lane[l->items[i].lane + 1] = i + 1;
  }
  for (uint32_t lane = 0; lane < l->lanes && !status; lane++) {
    if (l->first_of_lane[lane + 1] < l->first_of_lane[lane]) l->first_of_lane[lane + 1] = l->first_of_lane[lane];
  }
  scratch_free(calls);
  scratch_free(threads);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

/* The number of items of the lane that were launched before the moment is returned as the index after the last. */
static uint32_t launched_before(const struct launches *l, uint32_t lane, int64_t moment) {
  uint32_t low = l->first_of_lane[lane], high = l->first_of_lane[lane + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (l->items[middle].start < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

static uint32_t last_on_lane(const struct launches *l, uint32_t lane, int64_t moment) {
  uint32_t after = launched_before(l, lane, moment);
  return after > l->first_of_lane[lane] ? l->items[after - 1].row : NO_ROW;
}

/* Of all streams of the device. */
static uint32_t last_on_device(const struct launches *l, const uint32_t *devices, uint32_t device, int64_t moment) {
  uint32_t found = NO_ROW;
  int64_t end = INT64_MIN;
  for (uint32_t lane = 0; lane < l->lanes; lane++) {
    if (l->first_of_lane[lane + 1] == l->first_of_lane[lane] || (device != NO_ROW && devices[lane] != device)) continue;
    uint32_t after = launched_before(l, lane, moment);
    if (after == l->first_of_lane[lane] || l->ends[after - 1] <= end) continue;
    end = l->ends[after - 1];
    found = l->items[l->last[after - 1]].row;
  }
  return found;
}

struct columns {
  uint32_t *threads, *devices, *calls, *lane_devices;
  int64_t *starts, *call_starts, *streams, *records, *kinds, *lane_streams;
};

/* The lane of a stream number on a device. */
static uint32_t find_lane(const struct columns *c, uint32_t lanes, uint32_t device, int64_t stream) {
  for (uint32_t lane = 0; lane < lanes; lane++) {
    if (c->lane_streams[lane] == stream && (device == NO_ROW || c->lane_devices[lane] == device)) return lane;
  }
  return NO_ROW;
}

static enum tfprof_status find_kernels(struct profile *profile, const struct launches *l, const struct columns *c,
                                       uint32_t rows, uint32_t *kernels, struct tfprof_error *error) {
  string_id stream = derive_known_text(profile, "stream"), context = derive_known_text(profile, "context");
  string_id device = derive_known_text(profile, "device"), event = derive_known_text(profile, "event");
  string_id wait = derive_known_text(profile, "stream_wait");
  struct match calls = {0};
  enum tfprof_status status = match_make(&calls, profile, TABLE_api_calls, COLUMN_api_calls_correlation, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    int64_t moment = c->calls[row] == NO_ROW ? c->starts[row] : c->call_starts[c->calls[row]];
    kernels[row] = NO_ROW;
    if (row % ROWS_BLOCK == 0) status = derive_poll(profile, error);
    if (moment == NO_VALUE || c->kinds[row] == NO_VALUE) continue;
    if (c->kinds[row] == stream) {
      if (c->threads[row] != NO_ROW) kernels[row] = last_on_lane(l, c->threads[row], moment);
    } else if (c->kinds[row] == context || c->kinds[row] == device) {
      kernels[row] = last_on_device(l, c->lane_devices, c->devices[row], moment);
    } else if ((c->kinds[row] == event || c->kinds[row] == wait) && c->records[row] != NO_VALUE && c->records[row]) {
      uint32_t record = match_find(&calls, c->records[row]);
      uint32_t lane = c->streams[row] == NO_VALUE ? NO_ROW : find_lane(c, l->lanes, c->devices[row], c->streams[row]);
      if (record != NO_ROW && lane != NO_ROW && c->call_starts[record] != NO_VALUE)
        kernels[row] = last_on_lane(l, lane, c->call_starts[record]);
    }
  }
  match_free(&calls);
  return status;
}

static enum tfprof_status run_sync_kernels(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *kernels = NULL;
  struct launches l = {0};
  struct columns c = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_syncs, &rows, error);
  if (status || !rows) return status;
#define INTEGERS(table, column, to) \
  if (!status) status = derive_all_integers(profile, TABLE_##table, COLUMN_##table##_##column, &to, error)
#define REFERENCES(table, column, to) \
  if (!status) status = derive_all_references(profile, TABLE_##table, COLUMN_##table##_##column, &to, error)
  REFERENCES(syncs, thread_id, c.threads);
  REFERENCES(syncs, device_id, c.devices);
  REFERENCES(syncs, api_call_id, c.calls);
  REFERENCES(threads, device_id, c.lane_devices);
  INTEGERS(threads, stream, c.lane_streams);
  INTEGERS(syncs, start_ns, c.starts);
  INTEGERS(syncs, wait_stream, c.streams);
  INTEGERS(syncs, wait_correlation, c.records);
  INTEGERS(syncs, kind, c.kinds);
  INTEGERS(api_calls, start_ns, c.call_starts);
#undef INTEGERS
#undef REFERENCES
  kernels = scratch_allocate((size_t)rows * sizeof *kernels);
  if (!status && !kernels) status = error_no_memory(error);
  if (!status) status = collect_launches(profile, &l, error);
  if (!status) status = find_kernels(profile, &l, &c, rows, kernels, error);
  if (!status) status = derive_set_references(profile, TABLE_syncs, COLUMN_syncs_waits_on_kernel_id, kernels, error);
  launches_free(&l);
  scratch_free(kernels);
  scratch_free(c.threads);
  scratch_free(c.devices);
  scratch_free(c.calls);
  scratch_free(c.lane_devices);
  scratch_free(c.starts);
  scratch_free(c.call_starts);
  scratch_free(c.streams);
  scratch_free(c.records);
  scratch_free(c.kinds);
  scratch_free(c.lane_streams);
  return status;
}

const struct derive_pass derive_sync_kernels = {
    .name = "kernels waited for",
    .summary = "The last kernel launched into what a wait waits for, by binary search in the launches of each stream.",
    .makes_table = -1,
    .reads = {{TABLE_syncs, COLUMN_syncs_kind},
              {TABLE_syncs, COLUMN_syncs_thread_id},
              {TABLE_syncs, COLUMN_syncs_device_id},
              {TABLE_syncs, COLUMN_syncs_api_call_id},
              {TABLE_syncs, COLUMN_syncs_start_ns},
              {TABLE_syncs, COLUMN_syncs_wait_stream},
              {TABLE_syncs, COLUMN_syncs_wait_correlation},
              {TABLE_threads, COLUMN_threads_device_id},
              {TABLE_threads, COLUMN_threads_stream},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_correlation},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_kernels, COLUMN_kernels_thread_id},
              {TABLE_kernels, COLUMN_kernels_end_ns}},
    .writes = {{TABLE_syncs, COLUMN_syncs_waits_on_kernel_id}},
    .run = run_sync_kernels,
};
