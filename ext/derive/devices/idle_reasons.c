/* idle_reasons.c: device_activities.idle_reason: what a device lacked while it was idle.
**
** A gap lies between the end of all that ran so far on a device and the start of what ran next.  Where the call that
** launched the latter had returned before the gap began, the device had all that it needed from the host (device).
** Else the host was late (host), and it is looked at what it did: at the beginning of the gap, whether it waited for
** the device (wait): a call that synchronises, or a copy to the host that was done when its call returned; and in the
** middle of the gap, whether it waited for input (input).  Moments are looked up in what all waits that began before
** reach to, so that it takes n log n however many there are.
*/
#include "derive/match.h"
#include "derive/passes.h"

#include <string.h>

/* Spans by start; `end` is that of all so far. */
struct waits {
  struct lane_span *spans;
  uint32_t count, capacity;
};

static bool add_wait(struct waits *waits, int64_t start, int64_t end) {
  if (start == NO_VALUE || end == NO_VALUE) return true;
  struct lane_span *spans = scratch_grow(waits->spans, waits->count, &waits->capacity, 256, sizeof *spans);
  if (!spans) return false;
  waits->spans = spans;
  spans[waits->count] = (struct lane_span){start, end, 0, waits->count};
  waits->count++;
  return true;
}

static enum tfprof_status sort_waits(struct waits *waits, struct tfprof_error *error) {
  enum tfprof_status status = lane_span_sort(waits->spans, waits->count, error);
  for (uint32_t i = 1; i < waits->count && !status; i++) {
    if (waits->spans[i].end < waits->spans[i - 1].end) waits->spans[i].end = waits->spans[i - 1].end;
  }
  return status;
}

static bool is_in_wait(const struct waits *waits, int64_t moment) {
  uint32_t low = 0, high = waits->count; /* those before `low` begin no later */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (waits->spans[middle].start <= moment) low = middle + 1;
    else high = middle;
  }
  return low && waits->spans[low - 1].end >= moment;
}

/* Calls that synchronise; each name is looked at once. */
static enum tfprof_status add_synchronisations(struct profile *profile, struct waits *waits,
                                               struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  enum { UNKNOWN, OTHER, WAIT };
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* by string */
  enum tfprof_status status = kinds ? TFPROF_OK : error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_api_calls, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    block_texts(&block, COLUMN_api_calls_name, names);
    block_integers(&block, COLUMN_api_calls_start_ns, starts);
    block_integers(&block, COLUMN_api_calls_end_ns, ends);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (!names[i]) continue;
      uint8_t *kind = &kinds[names[i]];
      if (*kind == UNKNOWN) *kind = strstr(pool_text(pool, names[i]), "Synchronize") ? WAIT : OTHER;
      if (*kind == WAIT && !add_wait(waits, starts[i], ends[i])) status = error_no_memory(error);
    }
  }
  scratch_free(kinds);
  return status;
}

static enum tfprof_status add_awaited_copies(struct profile *profile, struct waits *waits, struct tfprof_error *error) {
  string_id to_host = derive_known_text(profile, "DtoH");
  int64_t *starts = NULL, *ends = NULL;
  uint32_t call_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &call_count, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_end_ns, &ends, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_transfers, &block, &status, error);) {
    string_id directions[ROWS_BLOCK];
    uint32_t calls[ROWS_BLOCK];
    int64_t done[ROWS_BLOCK];
    block_texts(&block, COLUMN_transfers_direction, directions);
    block_references(&block, COLUMN_transfers_api_call_id, call_count, calls);
    block_integers(&block, COLUMN_transfers_end_ns, done);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (directions[i] != to_host || calls[i] == NO_ROW || done[i] == NO_VALUE || ends[calls[i]] < done[i]) continue;
      if (!add_wait(waits, starts[calls[i]], ends[calls[i]])) status = error_no_memory(error);
    }
  }
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

static enum tfprof_status add_input(struct profile *profile, struct waits *waits, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_input_events, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    block_integers(&block, COLUMN_input_events_start_ns, starts);
    block_integers(&block, COLUMN_input_events_end_ns, ends);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (!add_wait(waits, starts[i], ends[i])) status = error_no_memory(error);
    }
  }
  return status;
}

enum reason { WAIT, INPUT, HOST, DEVICE, REASONS };
static const char *const texts[] = {[WAIT] = "wait", [INPUT] = "input", [HOST] = "host", [DEVICE] = "device", NULL};

static enum tfprof_status set_reasons(struct profile *profile, const struct waits *waits, const struct waits *input,
                                      string_id *values, struct tfprof_error *error) {
  string_id ids[REASONS];
  enum tfprof_status status = TFPROF_OK;
  for (unsigned reason = 0; reason < REASONS && !status; reason++)
    status = derive_text(profile, texts[reason], &ids[reason], error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_device_activities, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], gaps[ROWS_BLOCK], launched[ROWS_BLOCK];
    block_integers(&block, COLUMN_device_activities_start_ns, starts);
    block_integers(&block, COLUMN_device_activities_device_idle_ns, gaps);
    block_integers(&block, COLUMN_device_activities_launch_end_ns, launched);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_known = gaps[i] > 0 && starts[i] != NO_VALUE && launched[i] != NO_VALUE;
      int64_t begin = is_known ? derive_difference(starts[i], gaps[i]) : 0;
      values[block.row + i] = !is_known                                ? 0
                              : launched[i] <= begin                   ? ids[DEVICE]
                              : is_in_wait(waits, begin)               ? ids[WAIT]
                              : is_in_wait(input, begin + gaps[i] / 2) ? ids[INPUT]
                                                                       : ids[HOST];
    }
  }
  if (status) return status;
  return derive_set_texts(profile, TABLE_device_activities, COLUMN_device_activities_idle_reason, values, error);
}

static enum tfprof_status run_idle_reasons(struct profile *profile, struct tfprof_error *error) {
  struct waits waits = {0}, input = {0};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &rows, error);
  if (status || !rows) return status;
  string_id *values = scratch_allocate((size_t)rows * sizeof *values);
  if (!values) status = error_no_memory(error);
  if (!status) status = add_synchronisations(profile, &waits, error);
  if (!status) status = add_awaited_copies(profile, &waits, error);
  if (!status) status = add_input(profile, &input, error);
  if (!status) status = sort_waits(&waits, error);
  if (!status) status = sort_waits(&input, error);
  if (!status) status = set_reasons(profile, &waits, &input, values, error);
  scratch_free(values);
  scratch_free(waits.spans);
  scratch_free(input.spans);
  return status;
}

const struct derive_pass derive_idle_reasons = {
    .name = "idle reasons",
    .summary = "What a device lacked in each gap: what the host was at when it began, and whether it had launched.",
    .reads = {{TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_device_idle_ns},
              {TABLE_device_activities, COLUMN_device_activities_launch_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_name},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns},
              {TABLE_transfers, COLUMN_transfers_direction},
              {TABLE_transfers, COLUMN_transfers_api_call_id},
              {TABLE_transfers, COLUMN_transfers_end_ns},
              {TABLE_input_events, COLUMN_input_events_start_ns},
              {TABLE_input_events, COLUMN_input_events_end_ns}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_idle_reason}},
    .run = run_idle_reasons,
    .texts = texts,
};
