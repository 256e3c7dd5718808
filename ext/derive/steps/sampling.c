/* sampling.c: see sampling.h. */
#include "derive/steps/sampling.h"

#include <math.h>

static bool add_change(struct sampling_changes *changes, int64_t time, double value) {
  if (changes->count == changes->capacity) {
    uint32_t capacity = changes->capacity ? changes->capacity * 2 : 64;
    int64_t *times = scratch_resize(changes->times, capacity * sizeof *times);
    if (!times) return false;
    changes->times = times;
    double *values = scratch_resize(changes->values, capacity * sizeof *values);
    if (!values) return false;
    changes->values = values;
    changes->capacity = capacity;
  }
  /* The writer wrote them in order; a damaged file need not have them so. */
  uint32_t place = changes->count++;
  for (; place && changes->times[place - 1] > time; place--) {
    changes->times[place] = changes->times[place - 1];
    changes->values[place] = changes->values[place - 1];
  }
  changes->times[place] = time;
  changes->values[place] = value;
  return true;
}

static enum tfprof_status load_counter(struct sampling_changes *changes, const struct profile *profile,
                                       const char *counter, struct tfprof_error *error) {
  const struct profile_table *counters = &profile->tables[TABLE_counters];
  string_id name = derive_known_text(profile, counter);
  if (!name) return TFPROF_OK;
  for (size_t s = 0; s < counters->segment_count; s++) {
    const struct segment *segment = counters->segments[s];
    const struct column *names = segment->columns[COLUMN_counters_name],
                        *values = segment->columns[COLUMN_counters_value];
    uint32_t row = derive_find_text(names, 0, name);
    for (; row < segment->rows; row = derive_find_text(names, row + 1, name)) {
      int64_t time;
      derive_integers(segment->columns[COLUMN_counters_time_ns], row, 1, &time);
      if (time == NO_VALUE || column_is_null(values, row)) continue;
      if (!add_change(changes, time, column_real(values, row))) return error_no_memory(error);
    }
  }
  return TFPROF_OK;
}

/* What is said again begins no new block. */
static void leave_out_repeated(struct sampling_changes *changes) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < changes->count; i++) {
    if (count && changes->values[count - 1] == changes->values[i]) continue;
    changes->times[count] = changes->times[i];
    changes->values[count++] = changes->values[i];
  }
  changes->count = count;
}

enum tfprof_status sampling_load(struct sampling *sampling, const struct profile *profile, struct tfprof_error *error) {
  *sampling = (struct sampling){.recorded = {.count = 0}};
  enum tfprof_status status = load_counter(&sampling->recorded, profile, "capture_ops_recorded", error);
  if (!status) status = load_counter(&sampling->interval, profile, "capture_ops_interval", error);
  leave_out_repeated(&sampling->interval);
  if (!status) status = load_counter(&sampling->cost, profile, "capture_op_cost", error);
  if (!status) status = load_counter(&sampling->before, profile, "capture_steps_before", error);
  if (!status) status = load_counter(&sampling->cut, profile, "capture_step_cut", error);
  return status ? status : load_counter(&sampling->calibration, profile, "capture_calibration", error);
}

bool sampling_add_interval(struct sampling *sampling, int64_t time, double steps) {
  return add_change(&sampling->interval, time, steps);
}

static void free_changes(struct sampling_changes *changes) {
  scratch_free(changes->times);
  scratch_free(changes->values);
}

void sampling_free(struct sampling *sampling) {
  free_changes(&sampling->recorded);
  free_changes(&sampling->interval);
  free_changes(&sampling->cost);
  free_changes(&sampling->calibration);
  free_changes(&sampling->before);
  free_changes(&sampling->cut);
  *sampling = (struct sampling){.recorded = {.count = 0}};
}

/* The last change at or before the time; -1: none. */
static int64_t change_at(const struct sampling_changes *changes, int64_t time) {
  uint32_t low = 0, high = changes->count; /* times[low - 1] <= time < times[high] */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (changes->times[middle] <= time) low = middle + 1; else high = middle;
  }
  return (int64_t)low - 1;
}

bool sampling_covers(const struct sampling *sampling, int64_t start, int64_t end) {
  const struct sampling_changes *changes = &sampling->recorded;
  int64_t change = change_at(changes, start);
  if (change < 0 || changes->values[change] == 0) return false;
  for (uint32_t i = (uint32_t)change + 1; i < changes->count && changes->times[i] < end; i++) {
    if (changes->values[i] == 0) return false;
  }
  return true;
}

/* The changes are of the moments at which steps end: what lies within MARGIN_NS of one is of the step beside it. */
bool sampling_is_calibration(const struct sampling *sampling, int64_t start, int64_t end) {
  enum { MARGIN_NS = 1000 };
  const struct sampling_changes *changes = &sampling->calibration;
  if (!changes->count || start > INT64_MAX - MARGIN_NS || end < INT64_MIN + MARGIN_NS) return false;
  int64_t change = change_at(changes, start + MARGIN_NS);
  if (change >= 0 && changes->values[change] != 0) return true;
  for (uint32_t i = (uint32_t)(change + 1); i < changes->count && changes->times[i] < end - MARGIN_NS; i++) {
    if (changes->values[i] != 0) return true;
  }
  return false;
}

int64_t sampling_interval_at(const struct sampling *sampling, int64_t time) {
  return change_at(&sampling->interval, time);
}

double sampling_steps_before(const struct sampling *sampling) {
  const struct sampling_changes *told = sampling->cut.count ? &sampling->cut : &sampling->before;
  double steps = told->count ? told->values[0] : 0;
  return steps >= 0 ? steps : 0;
}

enum tfprof_status sampling_cut_until(const struct profile *profile, int64_t *until_ns, int64_t *steps,
                                      struct tfprof_error *error) {
  struct sampling_changes cut = {.count = 0};
  enum tfprof_status status = load_counter(&cut, profile, "capture_step_cut", error);
  bool is_told = !status && cut.count && cut.values[0] >= 0 && cut.values[0] < 1e15;
  *until_ns = is_told ? cut.times[0] : NO_VALUE;
  *steps = is_told ? (int64_t)cut.values[0] : 0;
  free_changes(&cut);
  return status;
}

enum tfprof_status sampling_kept_from(const struct profile *profile, int64_t *from_ns, int64_t *steps,
                                      struct tfprof_error *error) {
  struct sampling_changes before = {.count = 0}, recorded = {.count = 0};
  *from_ns = NO_VALUE;
  *steps = 0;
  if (!profile->tables[TABLE_triggers].segment_count) return TFPROF_OK;
  enum tfprof_status status = load_counter(&before, profile, "capture_steps_before", error);
  if (!status) status = load_counter(&recorded, profile, "capture_ops_recorded", error);
  /* What is said first is said at the beginning, and again, with the steps so far, later on. */
  bool is_cut = before.count && (!recorded.count || before.times[0] == recorded.times[0]);
  if (!status && is_cut && before.values[0] >= 0 && before.values[0] < 1e15) {
    *from_ns = before.times[0];
    *steps = (int64_t)before.values[0];
  }
  free_changes(&before);
  free_changes(&recorded);
  return status;
}

double sampling_op_cost(const struct sampling *sampling) {
  const struct sampling_changes *cost = &sampling->cost;
  return cost->count ? cost->values[cost->count - 1] : NAN;
}
