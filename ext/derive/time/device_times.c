/* device_times.c: the table device_times: how long anything ran on each device, and how long what sorts of work did,
** overlaps counted once.
**
** One sweep over the activities of a device in the order of their starts: each set of sorts has an end up to which it
** is covered, and what reaches further is added to it.  How long two sorts ran at once follows from the sets.  Where
** work was recorded only in some steps, each of them is swept for itself, as it stands for others.
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/groups.h"

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
  double weight;
  int64_t first_start, last_end;
  uint64_t covered[SETS]; /* times of a damaged file may lie further apart than a column can tell */
  int64_t until[SETS];
};

struct device_times {
  struct profile *profile;
  uint32_t devices, steps;
  bool is_thinned;
  struct lane_span *spans; /* of a time as lane, the sort as row */
  uint32_t span_count;
  struct groups lanes; /* by device and step */
  struct device_time *times;
  uint32_t capacity;
};

static uint8_t sort_of(string_id kind, const string_id *kinds) {
  static const uint8_t sorts[] = {COMPUTE, COMMUNICATION, COPY, COPY, WAIT};
  for (unsigned i = 0; i < sizeof sorts / sizeof *sorts; i++) {
    if (kind == kinds[i]) return sorts[i];
  }
  return kind ? OTHER : WAIT;
}

/* The number of the time of a device and step; NO_ROW: no memory. */
static uint32_t number_time(struct device_times *t, uint32_t device, uint32_t step, double weight) {
  const int64_t key[] = {device == NO_ROW ? NO_VALUE : (int64_t)device, step == NO_ROW ? NO_VALUE : (int64_t)step};
  uint32_t known = t->lanes.count, number = groups_number(&t->lanes, key);
  if (number != known) return number;
  struct device_time *times = scratch_grow(t->times, known, &t->capacity, 16, sizeof *times);
  if (!times) return NO_ROW;
  t->times = times;
  times[known] = (struct device_time){.weight = weight, .first_start = NO_VALUE, .last_end = NO_VALUE};
  for (unsigned set = 0; set < SETS; set++) times[known].until[set] = INT64_MIN;
  return number;
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
    uint32_t devices[ROWS_BLOCK], steps[ROWS_BLOCK];
    double weights[ROWS_BLOCK];
    block_integers(&block, COLUMN_device_activities_start_ns, starts);
    block_integers(&block, COLUMN_device_activities_end_ns, ends);
    block_integers(&block, COLUMN_device_activities_is_before_last_step, before);
    block_texts(&block, COLUMN_device_activities_kind, of_rows);
    block_references(&block, COLUMN_device_activities_device_id, t->devices, devices);
    block_references(&block, COLUMN_device_activities_sampled_step_id, t->steps, steps);
    block_reals(&block, COLUMN_device_activities_sample_weight, weights);
    for (uint32_t i = 0; i < block.count; i++) {
      if (before[i] != 1 || (t->is_thinned && steps[i] == NO_ROW)) continue;
      uint32_t lane = number_time(t, devices[i], steps[i], weights[i]);
      if (lane == NO_ROW) return error_no_memory(error);
      struct device_time *time = &t->times[lane];
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

static enum tfprof_status set_times(const struct device_times *t, struct tfprof_error *error) {
  uint32_t count = t->lanes.count;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
#define SET(kind, column, expression) SET_TOTALS(kind, t->profile, TABLE_device_times, column, expression)
  SET(integers, COLUMN_device_times_device_id, t->lanes.keys[2 * (size_t)i]);
  SET(integers, COLUMN_device_times_sampled_step_id, t->lanes.keys[2 * (size_t)i + 1]);
  SET(reals, COLUMN_device_times_sample_weight, t->times[i].weight);
  SET(integers, COLUMN_device_times_first_start_ns, t->times[i].first_start);
  SET(integers, COLUMN_device_times_last_end_ns, t->times[i].last_end);
  for (unsigned set = 0; set < SETS; set++)
    SET(integers, sets[set].column,
        t->times[i].covered[set] > INT64_MAX ? INT64_MAX : (int64_t)t->times[i].covered[set]);
#undef SET
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

static enum tfprof_status run_device_times(struct profile *profile, struct tfprof_error *error) {
  struct device_times t = {.profile = profile};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &t.devices, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &t.steps, error);
  if (status || !rows) return status;
  t.is_thinned = derive_has_value(profile, TABLE_device_activities, COLUMN_device_activities_sampled_step_id);
  t.lanes.width = 2;
  t.spans = scratch_allocate((size_t)rows * sizeof *t.spans);
  if (!t.spans) status = error_no_memory(error);
  if (!status) status = list_activities(&t, error);
  if (!status) status = lane_span_sort(t.spans, t.span_count, error);
  if (!status) {
    cover(&t);
    status = derive_make_table(profile, TABLE_device_times, t.lanes.count, error);
  }
  if (!status && t.lanes.count) status = set_times(&t, error);
  groups_free(&t.lanes);
  scratch_free(t.spans);
  scratch_free(t.times);
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
              {TABLE_device_activities, COLUMN_device_activities_sample_weight},
              {TABLE_device_activities, COLUMN_device_activities_sampled_step_id},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_devices, COLUMN_devices_ordinal}},
    .run = run_device_times,
};
