/* idle_totals.c: the table idle_totals: what streams waited for between one kernel and the next, and how long.
**
** The gaps of all streams are collected in one pass over what they ran, and sorted once by stream, category and length,
** from which follow the extremes and the percentiles.  Where work was recorded only in some steps only those count in
** which nothing else can have run, and their number and sum are weighed.
*/
#include "derive/groups.h"
#include "derive/match.h"
#include "derive/passes.h"

enum idle_category { IDLE_HOST, IDLE_KERNEL, IDLE_OTHER, IDLE_CATEGORIES };
enum { LONGEST_KERNEL_WAIT = 30000 };
static const char *const idle_names[] = {"host_wait", "kernel_wait", "other", NULL};

/* The gaps of one stream and category. */
struct idle_total {
  uint64_t count;
  double weight, sum; /* of the weights, and of gaps times them */
  /* Welford's running mean and sum of squared differences from it, of distances from the first gap. */
  int64_t first;
  double mean, squares;
};

struct idle_gaps {
  struct profile *profile;
  struct groups streams; /* by device and thread: each has an item for each category */
  struct idle_total *items;
  uint32_t capacity, device_count, thread_count;
  struct lane_span *gaps; /* `start` is how long, `lane` the item */
  uint32_t count;
};

/* ---- gaps ---- */

static void add_gap(struct idle_gaps *idle, uint32_t item, int64_t gap, double weight) {
  struct idle_total *total = &idle->items[item];
  if (!total->count++) total->first = gap;
  double distance = (double)derive_difference(gap, total->first), before = distance - total->mean;
  total->mean += before / (double)total->count;
  total->squares += before * (distance - total->mean);
  total->weight += weight;
  total->sum += (double)gap * weight;
  idle->gaps[idle->count] = (struct lane_span){gap, INT64_MAX, item, idle->count};
  idle->count++;
}

static uint32_t number_stream(struct idle_gaps *idle, uint32_t device, uint32_t thread) {
  const int64_t key[] = {device == NO_ROW ? NO_VALUE : (int64_t)device, (int64_t)thread};
  uint32_t known = idle->streams.count, number = groups_number(&idle->streams, key);
  if (number != known) return number;
  struct idle_total *items =
      scratch_grow(idle->items, known, &idle->capacity, 64, IDLE_CATEGORIES * sizeof *idle->items);
  if (!items) return NO_ROW;
  idle->items = items;
  for (unsigned i = 0; i < IDLE_CATEGORIES; i++) items[known * IDLE_CATEGORIES + i] = (struct idle_total){0};
  return number;
}

static bool add_block(struct idle_gaps *idle, const struct row_block *block, string_id sync) {
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], launches[ROWS_BLOCK], counts[ROWS_BLOCK], known[ROWS_BLOCK];
  double weights[ROWS_BLOCK];
  uint32_t devices[ROWS_BLOCK], threads[ROWS_BLOCK];
  string_id kinds[ROWS_BLOCK];
  block_integers(block, COLUMN_device_activities_start_ns, starts);
  block_integers(block, COLUMN_device_activities_previous_end_ns, ends);
  block_integers(block, COLUMN_device_activities_launch_ns, launches);
  block_integers(block, COLUMN_device_activities_is_before_last_step, counts);
  block_integers(block, COLUMN_device_activities_is_stream_gap_known, known);
  block_reals(block, COLUMN_device_activities_sample_weight, weights);
  block_references(block, COLUMN_device_activities_device_id, idle->device_count, devices);
  block_references(block, COLUMN_device_activities_thread_id, idle->thread_count, threads);
  block_texts(block, COLUMN_device_activities_kind, kinds);
  for (uint32_t i = 0; i < block->count; i++) {
    if (!kinds[i] || kinds[i] == sync || threads[i] == NO_ROW || counts[i] != 1) continue;
    if (known[i] != 1 || !(weights[i] > 0)) continue;
    uint32_t stream = number_stream(idle, devices[i], threads[i]);
    if (stream == NO_ROW) return false;
    if (ends[i] == NO_VALUE || starts[i] == NO_VALUE) continue;
    int64_t gap = derive_difference(starts[i], ends[i]);
    enum idle_category category = launches[i] != NO_VALUE && launches[i] > ends[i] ? IDLE_HOST
                                  : gap < LONGEST_KERNEL_WAIT                       ? IDLE_KERNEL
                                                                                    : IDLE_OTHER;
    add_gap(idle, stream * IDLE_CATEGORIES + category, gap > 0 ? gap : 0, weights[i]);
  }
  return true;
}

static enum tfprof_status find_gaps(struct idle_gaps *idle, struct tfprof_error *error) {
  string_id sync = derive_known_text(idle->profile, "sync");
  uint32_t rows;
  enum tfprof_status status = derive_row_count(idle->profile, TABLE_device_activities, &rows, error);
  if (!status) status = derive_row_count(idle->profile, TABLE_devices, &idle->device_count, error);
  if (!status) status = derive_row_count(idle->profile, TABLE_threads, &idle->thread_count, error);
  if (status) return status;
  idle->gaps = scratch_allocate(((size_t)rows + 1) * sizeof *idle->gaps);
  if (!idle->gaps) return error_no_memory(error);
  for (struct row_block block = {0};
       derive_next_block(idle->profile, TABLE_device_activities, &block, &status, error);)
    if (!add_block(idle, &block, sync)) status = error_no_memory(error);
  return status ? status : lane_span_sort(idle->gaps, idle->count, error);
}

/* ---- columns ---- */

/* Of gaps in order of length: interpolated between neighbours. */
static double percentile_of(const struct lane_span *gaps, uint64_t count, double fraction) {
  if (!count) return (double)NAN;
  double place = fraction * (double)(count - 1);
  uint64_t below = (uint64_t)place, above = below + 1 < count ? below + 1 : below;
  double low = (double)gaps[below].start, high = (double)gaps[above].start;
  return low + (high - low) * (place - (double)below);
}

static enum tfprof_status set_idle_columns(const struct idle_gaps *idle, const string_id *names,
                                           struct tfprof_error *error) {
  uint32_t count = idle->streams.count * IDLE_CATEGORIES;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  const struct lane_span **gaps = scratch_allocate(((size_t)count + 1) * sizeof *gaps); /* where an item's begin */
  enum tfprof_status status = integers && reals && gaps ? TFPROF_OK : error_no_memory(error);
  const struct lane_span *at = idle->gaps;
  for (uint32_t i = 0; i < count && !status; at += idle->items[i++].count) gaps[i] = at;
#define SET(kind, column, expression) \
  SET_TOTALS(kind, idle->profile, TABLE_idle_totals, COLUMN_idle_totals_##column, expression)
  const struct idle_total *of = idle->items;
  const int64_t *keys = idle->streams.keys;
  SET(integers, device_id, keys[(size_t)(i / IDLE_CATEGORIES) * 2]);
  SET(integers, thread_id, keys[(size_t)(i / IDLE_CATEGORIES) * 2 + 1]);
  SET(integers, category, (int64_t)names[i % IDLE_CATEGORIES]);
  SET(reals, count, of[i].weight);
  SET(integers, sum_ns, whole_sum(of[i].sum));
  SET(reals, mean_ns, of[i].sum / of[i].weight); /* NAN: NULL */
  SET(reals, stddev_ns, of[i].count > 1 ? sqrt(of[i].squares / (double)(of[i].count - 1)) : (double)NAN);
  SET(integers, min_ns, of[i].count ? gaps[i]->start : NO_VALUE);
  SET(reals, p25_ns, percentile_of(gaps[i], of[i].count, 0.25));
  SET(reals, median_ns, percentile_of(gaps[i], of[i].count, 0.5));
  SET(reals, p75_ns, percentile_of(gaps[i], of[i].count, 0.75));
  SET(integers, max_ns, of[i].count ? gaps[i][of[i].count - 1].start : NO_VALUE);
#undef SET
  scratch_free(integers);
  scratch_free(reals);
  scratch_free(gaps);
  return status;
}

static enum tfprof_status run_idle_totals(struct profile *profile, struct tfprof_error *error) {
  struct idle_gaps idle = {.profile = profile, .streams = {.width = 2}};
  string_id names[IDLE_CATEGORIES];
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < IDLE_CATEGORIES && !status; i++)
    status = derive_text(profile, idle_names[i], &names[i], error);
  if (!status) status = find_gaps(&idle, error);
  uint32_t count = idle.streams.count * IDLE_CATEGORIES;
  if (!status) status = derive_make_table(profile, TABLE_idle_totals, count, error);
  if (!status && count) status = set_idle_columns(&idle, names, error);
  groups_free(&idle.streams);
  scratch_free(idle.items);
  scratch_free(idle.gaps);
  return status;
}

const struct derive_pass derive_idle_totals = {
    .name = "totals of idle times",
    .summary = "Gaps between what streams ran, by what was waited for, sorted by length.",
    .makes_table = TABLE_idle_totals,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_kind},
              {TABLE_device_activities, COLUMN_device_activities_device_id},
              {TABLE_device_activities, COLUMN_device_activities_thread_id},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_previous_end_ns},
              {TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_device_activities, COLUMN_device_activities_is_before_last_step},
              {TABLE_device_activities, COLUMN_device_activities_is_stream_gap_known},
              {TABLE_device_activities, COLUMN_device_activities_sample_weight},
              {TABLE_devices, COLUMN_devices_ordinal},
              {TABLE_threads, COLUMN_threads_kind}},
    .run = run_idle_totals,
    .texts = idle_names,
};
