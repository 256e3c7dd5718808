/* launch_totals.c: the table launch_totals: launches of kernels, copies and fills added up.
**
** Launches of whole graphs, which start many kernels by one call, are apart, so that views can leave them out, and so
** are those that stand for different numbers of steps.
*/
#include "derive/passes.h"
#include "derive/totals/grouping.h"

#include <string.h>

enum { SLOW_CALL = 50000, LONG_DELAY = 100000 };

struct launch {
  int64_t count, short_kernels, slow_calls, long_delays, ended, longest; /* the last NO_VALUE: of none that ended */
  double call, device, delay;                                            /* the first two NAN: of nothing known */
};

struct launch_calls {
  struct profile *profile;
  uint32_t count;
  string_id *names; /* by call */
  string_id sync;
};

static bool is_graph_launch(const struct launch_calls *calls, uint32_t call) {
  string_id name = calls->names[call];
  return name && strstr(pool_text(store_pool(calls->profile->store), name), "GraphLaunch");
}

static void add_known_to(double *sum, int64_t value) {
  if (value != NO_VALUE) *sum = isnan(*sum) ? (double)value : *sum + (double)value;
}

static int64_t length_of(int64_t start, int64_t end) {
  return start == NO_VALUE || end == NO_VALUE ? NO_VALUE : derive_difference(end, start);
}

static void add_launch(struct launch *launch, int64_t start, int64_t duration, int64_t called, int64_t returned) {
  int64_t call = length_of(called, returned), delay = length_of(returned, start);
  launch->count++;
  launch->short_kernels += duration != NO_VALUE && call != NO_VALUE && duration < call;
  launch->slow_calls += call > SLOW_CALL;
  launch->long_delays += delay > LONG_DELAY;
  launch->ended += returned != NO_VALUE;
  add_known_to(&launch->call, call);
  add_known_to(&launch->device, duration);
  if (delay == NO_VALUE) return;
  if (delay < 0) delay = 0;
  launch->delay += (double)delay;
  if (delay > launch->longest) launch->longest = delay;
}

static bool add_launches_of(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  static const struct launch none = {.longest = NO_VALUE, .call = (double)NAN, .device = (double)NAN};
  const struct launch_calls *calls = grouping->context;
  int64_t starts[ROWS_BLOCK], durations[ROWS_BLOCK], called[ROWS_BLOCK], returned[ROWS_BLOCK], counts[ROWS_BLOCK];
  double weights[ROWS_BLOCK];
  string_id kinds[ROWS_BLOCK];
  uint32_t numbers[ROWS_BLOCK];
  block_integers(block, COLUMN_device_activities_start_ns, starts);
  block_integers(block, COLUMN_device_activities_dur_ns, durations);
  block_integers(block, COLUMN_device_activities_launch_ns, called);
  block_integers(block, COLUMN_device_activities_launch_end_ns, returned);
  block_integers(block, COLUMN_device_activities_is_before_last_step, counts);
  block_reals(block, COLUMN_device_activities_sample_weight, weights);
  block_texts(block, COLUMN_device_activities_kind, kinds);
  block_references(block, COLUMN_device_activities_api_call_id, calls->count, numbers);
  string_id last = 0;
  int64_t is_graph = 0; /* of calls with that name */
  for (uint32_t i = 0; i < block->count; i++) {
    if (!kinds[i] || kinds[i] == calls->sync || counts[i] != 1 || numbers[i] == NO_ROW) continue;
    string_id name = calls->names[numbers[i]];
    if (name != last) is_graph = is_graph_launch(calls, numbers[i]);
    last = name;
    uint32_t number = grouping_number(grouping, to, (int64_t[]){is_graph, key_of_real(weights[i])}, &none);
    if (number == NO_ROW) return false;
    add_launch((struct launch *)to->items + number, starts[i], durations[i], called[i], returned[i]);
  }
  return true;
}

static void join_launches_of(const struct grouping *grouping, void *item, const void *later) {
  struct launch *launch = item;
  const struct launch *more = later;
  (void)grouping;
  launch->count += more->count;
  launch->short_kernels += more->short_kernels;
  launch->slow_calls += more->slow_calls;
  launch->long_delays += more->long_delays;
  launch->ended += more->ended;
  if (more->longest > launch->longest) launch->longest = more->longest;
  if (!isnan(more->call)) launch->call = isnan(launch->call) ? more->call : launch->call + more->call;
  if (!isnan(more->device)) launch->device = isnan(launch->device) ? more->device : launch->device + more->device;
  launch->delay += more->delay;
}

static enum tfprof_status set_launch_columns(struct profile *profile, const struct grouped *grouped,
                                             struct tfprof_error *error) {
  const struct launch *items = grouped->items;
  uint32_t count = grouped->groups.count;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
#define SET(column, expression) \
  SET_TOTALS(integers, profile, TABLE_launch_totals, COLUMN_launch_totals_##column, expression)
  SET(is_graph, grouped->groups.keys[2 * (size_t)i]);
  SET(count, items[i].count);
  SET(short_count, items[i].short_kernels);
  SET(slow_count, items[i].slow_calls);
  SET(long_delay_count, items[i].long_delays);
  SET(call_ns, whole_sum(items[i].call));
  SET(sum_ns, whole_sum(items[i].device));
  SET(delay_ns, whole_sum(items[i].delay));
  SET(delayed_count, items[i].ended);
  SET(max_delay_ns, items[i].longest);
#undef SET
  SET_TOTALS(reals, profile, TABLE_launch_totals, COLUMN_launch_totals_sample_weight,
             real_of_key(grouped->groups.keys[2 * (size_t)i + 1]));
  scratch_free(reals);
  scratch_free(integers);
  return status;
}

static enum tfprof_status load_call_names(struct launch_calls *calls, struct tfprof_error *error) {
  enum tfprof_status status = derive_row_count(calls->profile, TABLE_api_calls, &calls->count, error);
  if (status) return status;
  calls->sync = derive_known_text(calls->profile, "sync");
  calls->names = scratch_allocate(((size_t)calls->count + 1) * sizeof *calls->names);
  if (!calls->names) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(calls->profile, TABLE_api_calls, &block, &status, error);)
    block_texts(&block, COLUMN_api_calls_name, calls->names + block.row);
  return status;
}

static enum tfprof_status run_launch_totals_of_calls(struct profile *profile, struct tfprof_error *error) {
  struct launch_calls calls = {.profile = profile};
  const struct grouping grouping = {.profile = profile,
                                    .table = TABLE_device_activities,
                                    .width = 2,
                                    .item_size = sizeof(struct launch),
                                    .context = &calls,
                                    .add = add_launches_of,
                                    .join = join_launches_of};
  struct grouped grouped = {.items = NULL};
  enum tfprof_status status = load_call_names(&calls, error);
  if (!status) status = grouping_run(&grouping, &grouped, error);
  if (!status) status = derive_make_table(profile, TABLE_launch_totals, grouped.groups.count, error);
  if (!status && grouped.groups.count) status = set_launch_columns(profile, &grouped, error);
  scratch_free(calls.names);
  grouped_free(&grouped);
  return status;
}

const struct derive_pass derive_totals_of_launches = {
    .name = "totals of launches",
    .summary = "Launching calls and what they launched, graphs apart, in one pass over device activities.",
    .makes_table = TABLE_launch_totals,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_kind},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_dur_ns},
              {TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_device_activities, COLUMN_device_activities_launch_end_ns},
              {TABLE_device_activities, COLUMN_device_activities_api_call_id},
              {TABLE_device_activities, COLUMN_device_activities_is_before_last_step},
              {TABLE_device_activities, COLUMN_device_activities_sample_weight},
              {TABLE_api_calls, COLUMN_api_calls_name}},
    .run = run_launch_totals_of_calls,
};
