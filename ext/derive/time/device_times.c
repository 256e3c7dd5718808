/* device_times.c: the table device_times: how long anything ran on each device, and how long what sorts of work did,
** overlaps counted once.
**
** One sweep over the activities of a device in the order of their starts: each set of sorts has an end up to which it
** is covered, and what reaches further is added to it.  How long two sorts ran at once follows from the sets.
*/
#include "derive/match.h"
#include "derive/passes.h"

enum { COMPUTE = 1, COMMUNICATION = 2, COPY = 4, OTHER = 8, WAIT = 16 };

/* The sets of sorts that have a column. */
static const struct {
  uint16_t column;
  uint8_t sorts;
} sets[] = {
    {COLUMN_device_times_busy_ns, COMPUTE | COMMUNICATION | COPY | OTHER | WAIT},
    {COLUMN_device_times_work_ns, COMPUTE | COMMUNICATION | COPY | OTHER},
    {COLUMN_device_times_compute_ns, COMPUTE},
    {COLUMN_device_times_communication_ns, COMMUNICATION},
    {COLUMN_device_times_copy_ns, COPY},
    {COLUMN_device_times_compute_communication_ns, COMPUTE | COMMUNICATION},
    {COLUMN_device_times_compute_copy_ns, COMPUTE | COPY},
    {COLUMN_device_times_communication_copy_ns, COMMUNICATION | COPY},
};
enum { SETS = sizeof sets / sizeof *sets };

struct device_time {
  uint32_t device; /* NO_ROW: none */
  int64_t first_start, last_end;
  uint64_t covered[SETS]; /* times of a damaged file may lie further apart than a column can tell */
  int64_t until[SETS];
};

struct device_times {
  struct profile *profile;
  uint32_t devices, count;
  struct lane_span *spans; /* of the device as lane, the sort as row; of none the lane behind them */
  uint32_t span_count;
  struct device_time *times; /* by device and one of none */
  bool *is_seen;
};

static uint8_t sort_of(string_id kind, const string_id *kinds) {
  static const uint8_t sorts[] = {COMPUTE, COMMUNICATION, COPY, COPY, WAIT};
  for (unsigned i = 0; i < sizeof sorts / sizeof *sorts; i++) {
    if (kind == kinds[i]) return sorts[i];
  }
  return kind ? OTHER : WAIT;
}

static enum tfprof_status list_activities(struct device_times *t, struct tfprof_error *error) {
  const string_id kinds[] = {derive_known_text(t->profile, "compute"), derive_known_text(t->profile, "communication"),
                             derive_known_text(t->profile, "memcpy"), derive_known_text(t->profile, "memset"),
                             derive_known_text(t->profile, "sync")};
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0};
       derive_next_block(t->profile, TABLE_device_activities, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], before[ROWS_BLOCK];
    string_id of_rows[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK];
    block_integers(&block, COLUMN_device_activities_start_ns, starts);
    block_integers(&block, COLUMN_device_activities_end_ns, ends);
    block_integers(&block, COLUMN_device_activities_is_before_last_step, before);
    block_texts(&block, COLUMN_device_activities_kind, of_rows);
    block_references(&block, COLUMN_device_activities_device_id, t->devices, devices);
    for (uint32_t i = 0; i < block.count; i++) {
      if (before[i] != 1) continue;
      uint32_t lane = devices[i] == NO_ROW ? t->devices : devices[i];
      struct device_time *time = &t->times[lane];
      t->is_seen[lane] = true;
      if (starts[i] != NO_VALUE && (time->first_start == NO_VALUE || starts[i] < time->first_start))
        time->first_start = starts[i];
      if (ends[i] > time->last_end) time->last_end = ends[i]; /* NO_VALUE is below all */
      if (starts[i] != NO_VALUE && ends[i] > starts[i])
        t->spans[t->span_count++] = (struct lane_span){starts[i], ends[i], lane, sort_of(of_rows[i], kinds)};
    }
  }
  return status;
}

static void cover(struct device_times *t) {
  for (uint32_t i = 0; i < t->span_count; i++) {
    const struct lane_span *span = &t->spans[i];
    struct device_time *time = &t->times[span->lane];
    for (unsigned set = 0; set < SETS; set++) {
      if (!(sets[set].sorts & span->row) || span->end <= time->until[set]) continue;
      int64_t from = span->start > time->until[set] ? span->start : time->until[set];
      time->covered[set] += (uint64_t)span->end - (uint64_t)from;
      time->until[set] = span->end;
    }
  }
}

/* Those that anything ran on, that of none last. */
static void keep_seen(struct device_times *t) {
  for (uint32_t device = 0; device <= t->devices; device++) {
    if (t->is_seen[device]) t->times[t->count++] = t->times[device];
  }
}

static enum tfprof_status set_times(const struct device_times *t, struct tfprof_error *error) {
  uint32_t *devices = scratch_allocate(((size_t)t->count + 1) * sizeof *devices);
  int64_t *values = scratch_allocate(((size_t)t->count + 1) * sizeof *values);
  enum tfprof_status status = devices && values ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < t->count && !status; i++) devices[i] = t->times[i].device;
  if (!status)
    status = derive_set_references(t->profile, TABLE_device_times, COLUMN_device_times_device_id, devices, error);
  for (uint32_t i = 0; i < t->count && !status; i++) values[i] = t->times[i].first_start;
  if (!status)
    status = derive_set_integers(t->profile, TABLE_device_times, COLUMN_device_times_first_start_ns, values, error);
  for (uint32_t i = 0; i < t->count && !status; i++) values[i] = t->times[i].last_end;
  if (!status)
    status = derive_set_integers(t->profile, TABLE_device_times, COLUMN_device_times_last_end_ns, values, error);
  for (unsigned set = 0; set < SETS && !status; set++) {
    for (uint32_t i = 0; i < t->count; i++) {
      uint64_t covered = t->times[i].covered[set];
      values[i] = covered > INT64_MAX ? INT64_MAX : (int64_t)covered;
    }
    status = derive_set_integers(t->profile, TABLE_device_times, sets[set].column, values, error);
  }
  scratch_free(devices);
  scratch_free(values);
  return status;
}

static enum tfprof_status run_device_times(struct profile *profile, struct tfprof_error *error) {
  struct device_times t = {.profile = profile};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &t.devices, error);
  if (status || !rows) return status;
  t.spans = scratch_allocate((size_t)rows * sizeof *t.spans);
  t.times = scratch_allocate_zeroed((size_t)t.devices + 1, sizeof *t.times);
  t.is_seen = scratch_allocate_zeroed((size_t)t.devices + 1, sizeof *t.is_seen);
  if (!t.spans || !t.times || !t.is_seen) status = error_no_memory(error);
  for (uint32_t device = 0; device <= t.devices && !status; device++) {
    struct device_time *time = &t.times[device];
    time->device = device < t.devices ? device : NO_ROW;
    time->first_start = time->last_end = NO_VALUE;
    for (unsigned set = 0; set < SETS; set++) time->until[set] = INT64_MIN;
  }
  if (!status) status = list_activities(&t, error);
  if (!status) status = lane_span_sort(t.spans, t.span_count, error);
  if (!status) {
    cover(&t);
    keep_seen(&t);
    status = derive_make_table(profile, TABLE_device_times, t.count, error);
  }
  if (!status && t.count) status = set_times(&t, error);
  scratch_free(t.spans);
  scratch_free(t.times);
  scratch_free(t.is_seen);
  return status;
}

const struct derive_pass derive_device_times = {
    .name = "times of devices",
    .summary = "How long each sort of work, and any of several, ran on a device, by a sweep in the order of starts.",
    .makes_table = TABLE_device_times,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_kind},
              {TABLE_device_activities, COLUMN_device_activities_device_id},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_end_ns},
              {TABLE_device_activities, COLUMN_device_activities_is_before_last_step},
              {TABLE_devices, COLUMN_devices_ordinal}},
    .run = run_device_times,
};
