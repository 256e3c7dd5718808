/* depth_functions.c: how many intervals lie over each other.
**
** Starts and ends are kept apart, sorted where they did not come in order, and merged: a sweep over both.  n log n at
** worst, linear for rows in the order of time.
*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

struct point { int64_t time; double weight; };

struct points {
  struct point *items; /* sqlite3_malloc64 */
  uint64_t count, capacity;
  bool is_unordered;
};

struct sweep {
  struct points starts, ends;
  double limit; /* the last argument, the same in all rows */
  bool is_broken;
};

static bool add_depth_change(struct points *points, int64_t time, double weight) {
  if (points->count == points->capacity) {
    uint64_t capacity = points->capacity ? points->capacity * 2 : 64;
    struct point *items = sqlite3_realloc64(points->items, capacity * sizeof *items);
    if (!items) return false;
    points->items = items;
    points->capacity = capacity;
  }
  points->is_unordered |= points->count && time < points->items[points->count - 1].time;
  points->items[points->count++] = (struct point){time, weight};
  return true;
}

static int by_time(const void *left, const void *right) {
  int64_t a = ((const struct point *)left)->time, b = ((const struct point *)right)->time;
  return (a > b) - (a < b);
}

static void sort(struct points *points) {
  if (points->is_unordered) qsort(points->items, points->count, sizeof *points->items, by_time);
}

/* One row of any of the three; `weight` and `limit` are arguments or -1. */
static void step(sqlite3_context *context, int count, sqlite3_value **values, int weight, int limit,
                 bool needs_length) {
  struct sweep *sweep = sqlite3_aggregate_context(context, sizeof *sweep);
  if (!sweep) {
    sqlite3_result_error_nomem(context);
    return;
  }
  for (int i = 0; i < count; i++) {
    int type = sqlite3_value_numeric_type(values[i]);
    if (type == SQLITE_NULL) return;
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
      sweep->is_broken = true;
      sqlite3_result_error(context, "depth_ns, depth_summary and capped_ns take numbers", -1);
      return;
    }
  }
  int64_t start = sqlite3_value_int64(values[0]), end = sqlite3_value_int64(values[1]);
  if (limit >= 0) sweep->limit = sqlite3_value_double(values[limit]);
  if (needs_length && end <= start) return;
  double of_row = weight >= 0 ? sqlite3_value_double(values[weight]) : 1;
  if (!add_depth_change(&sweep->starts, start, of_row) || !add_depth_change(&sweep->ends, end, of_row)) {
    sweep->is_broken = true;
    sqlite3_result_error_nomem(context);
  }
}

static void finish_sweep(struct sweep *sweep) {
  sqlite3_free(sweep->starts.items);
  sqlite3_free(sweep->ends.items);
  memset(sweep, 0, sizeof *sweep);
}

/* The next point of the merged list and whether it is a start; false at the end. */
static inline bool next_point(const struct sweep *sweep, uint64_t *start, uint64_t *end, struct point *point,
                              bool *is_start) {
  bool has_start = *start < sweep->starts.count, has_end = *end < sweep->ends.count;
  if (!has_start && !has_end) return false;
  *is_start = has_start && (!has_end || sweep->starts.items[*start].time <= sweep->ends.items[*end].time);
  *point = *is_start ? sweep->starts.items[(*start)++] : sweep->ends.items[(*end)++];
  return true;
}

/* With ends first a weight is never counted twice where one interval follows another. */
static inline bool next_point_ends_first(const struct sweep *sweep, uint64_t *start, uint64_t *end,
                                         struct point *point, bool *is_start) {
  if (*end == sweep->ends.count) return false;
  *is_start = *start < sweep->starts.count && sweep->starts.items[*start].time < sweep->ends.items[*end].time;
  *point = *is_start ? sweep->starts.items[(*start)++] : sweep->ends.items[(*end)++];
  return true;
}

/* ---- depth_ns ---- */

static void depth_step(sqlite3_context *context, int count, sqlite3_value **values) {
  step(context, count, values, -1, 2, true);
}

static void depth_final(sqlite3_context *context) {
  struct sweep *sweep = sqlite3_aggregate_context(context, 0);
  if (!sweep || !sweep->starts.count) {
    sqlite3_result_int64(context, 0);
    return;
  }
  sort(&sweep->starts);
  sort(&sweep->ends);
  uint64_t start = 0, end = 0, length = 0;
  int64_t depth = 0, last = 0;
  struct point point;
  bool is_start;
  while (next_point_ends_first(sweep, &start, &end, &point, &is_start)) {
    if ((double)depth >= sweep->limit && depth > 0) length += (uint64_t)point.time - (uint64_t)last;
    depth += is_start ? 1 : -1;
    last = point.time;
  }
  finish_sweep(sweep);
  if (length > INT64_MAX) sqlite3_result_error(context, "integer overflow", -1);
  else sqlite3_result_int64(context, (int64_t)length);
}

/* ---- depth_summary ---- */

static void summary_step(sqlite3_context *context, int count, sqlite3_value **values) {
  step(context, count, values, -1, -1, false);
}

static int by_depth(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static double quantile_of_depths(const int64_t *sorted, uint64_t count, double q) {
  double at = q * (double)(count - 1);
  uint64_t low = (uint64_t)at, high = low + 1 < count ? low + 1 : low;
  return (double)sorted[low] + (at - (double)low) * (double)(sorted[high] - sorted[low]);
}

static void summary_final(sqlite3_context *context) {
  struct sweep *sweep = sqlite3_aggregate_context(context, 0);
  if (!sweep || !sweep->starts.count || sweep->is_broken) {
    if (sweep) finish_sweep(sweep);
    return;
  }
  uint64_t count = sweep->starts.count * 2, made = 0, start = 0, end = 0;
  int64_t *depths = sqlite3_malloc64(count * sizeof *depths), depth = 0;
  if (!depths) {
    finish_sweep(sweep);
    sqlite3_result_error_nomem(context);
    return;
  }
  sort(&sweep->starts);
  sort(&sweep->ends);
  struct point point;
  bool is_start;
  double sum = 0, squares = 0;
  while (next_point(sweep, &start, &end, &point, &is_start)) {
    depth += is_start ? 1 : -1;
    depths[made++] = depth;
    sum += (double)depth;
  }
  finish_sweep(sweep);
  double mean = sum / (double)made;
  for (uint64_t i = 0; i < made; i++) squares += ((double)depths[i] - mean) * ((double)depths[i] - mean);
  qsort(depths, made, sizeof *depths, by_depth);
  char *text = sqlite3_mprintf("{\"count\":%lld,\"mean\":%!.16g,\"stddev\":%!.16g,\"min\":%lld,\"p25\":%!.16g,"
                               "\"p50\":%!.16g,\"p75\":%!.16g,\"max\":%lld}",
                               (sqlite3_int64)made, mean, sqrt(squares / (double)(made - 1)), (sqlite3_int64)depths[0],
                               quantile_of_depths(depths, made, 0.25), quantile_of_depths(depths, made, 0.5),
                               quantile_of_depths(depths, made, 0.75), (sqlite3_int64)depths[made - 1]);
  sqlite3_free(depths);
  if (text) sqlite3_result_text(context, text, -1, sqlite3_free);
  else sqlite3_result_error_nomem(context);
}

/* ---- capped_ns ---- */

static void capped_step(sqlite3_context *context, int count, sqlite3_value **values) {
  step(context, count, values, 2, 3, true);
}

static void capped_final(sqlite3_context *context) {
  struct sweep *sweep = sqlite3_aggregate_context(context, 0);
  double area = 0, weight = 0;
  if (sweep && !sweep->is_broken) {
    uint64_t start = 0, end = 0, depth = 0;
    int64_t last = 0;
    struct point point;
    bool is_start;
    sort(&sweep->starts);
    sort(&sweep->ends);
    while (next_point_ends_first(sweep, &start, &end, &point, &is_start)) {
      double height = weight < sweep->limit ? weight : sweep->limit;
      if (depth) area += height * (double)((uint64_t)point.time - (uint64_t)last);
      depth += is_start ? 1 : (uint64_t)-1;
      weight = depth ? weight + (is_start ? point.weight : -point.weight) : 0; /* no remainder is carried on */
      last = point.time;
    }
  }
  if (sweep) finish_sweep(sweep);
  sqlite3_result_double(context, area);
}

const struct function_spec depth_functions[] = {
    {.name = "depth_ns",
     .argument_count = 3,
     .step = depth_step,
     .final = depth_final,
     .text = {"start, end, minimum",
              "For how long at least minimum of the intervals overlap.",
              "start and end are numbers of one unit, mostly ns. With a minimum of 1 it is union_ns. A row where one "
              "of the numbers is NULL, or that ends before it starts, does not count. A text is an error.",
              "SELECT depth_ns(start_ns, start_ns + dur_ns, 2) FROM ops"}},
    {.name = "depth_summary",
     .argument_count = 2,
     .step = summary_step,
     .final = summary_final,
     .text = {"start, end",
              "Statistics of how many intervals overlap, as a JSON object.",
              "The members are count, mean, stddev, min, p25, p50, p75 and max. They are of the depth right after "
              "each start, which makes it one more, and each end, which makes it one less. Of those at the same time "
              "the starts come first. stddev is that of a sample, and percentiles are interpolated. NULL without "
              "intervals. A row where one of the numbers is NULL does not count. An interval may end before it "
              "starts where the clocks of host and device disagree. Its end comes first then, and the depth is one "
              "less until it starts.",
              "SELECT depth_summary(start_ns, start_ns + dur_ns) FROM ops"}},
    {.name = "capped_ns",
     .argument_count = 4,
     .step = capped_step,
     .final = capped_final,
     .text = {"start, end, weight, cap",
              "The sum of the weights of overlapping intervals, at most cap at any moment, over time.",
              "start and end are numbers of one unit, mostly ns, weight and cap are numbers without one. Returns a "
              "real number of that unit. A row where one of the numbers is NULL, or that ends before it starts, does "
              "not count. A text is an error.",
              "SELECT capped_ns(start_ns, start_ns + dur_ns, 0.5, 1) FROM ops"}},
    {0},
};
