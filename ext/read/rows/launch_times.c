/* launch_times.c: times of work on devices that its launch, or the end of all else, rules out.
**
** Nothing runs on a device before the call that launched it began, and after the last call of the host a device runs
** what is queued, one after the other, and then nothing.  One look at each row says for nearly all files that all is
** well.  Else the work of each device is sorted by its lag: the time from the start of its call to its own.
**
**   another clock   The clock of a device that is off is moved (device_clocks.h).
**   before a call   Few begin earlier than SKEW_NS before their call, or lie apart from all others, or many begin at
**                   one moment: these have no time.
**   out of order    What begins after work that was launched later on its stream, or before work that was launched
**                   earlier, has no time (launch_order.h), and so have calls, by their numbers, among those of their
**                   thread.  These come first: what such a call launched has its time, and no call.  Where no calls
**                   are there, work is compared by the numbers alone.
**   after all else  What begins only after a pause of `slack` behind everything of the host and of the devices has no
**                   time.
**
** Clocks of devices are told to some µs of the host's, so that what begins less than SKEW_NS early stays.
*/
#include "read/rows/time_faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "read/rows/device_clocks.h"
#include "read/rows/eager_rows.h"
#include "read/rows/launch_order.h"

enum { FEW_SHARE = 20, OUT_SHARE = 4, DENSE = 8 };
static const int64_t SKEW_NS = ORDER_SKEW_NS, SLACK_NS = 100000000;
static const int64_t CALL_SKEW_NS = 50000; /* calls of several threads for one stream may overtake each other */

struct call { int64_t correlation, start; };

struct lane { /* of calls or work that was looked at: what came last, and what was most */
  int64_t correlation, start, latest_key, latest_start, longest_lag;
};

LIST_NAMED(work_list, struct work);

struct launches {
  struct profile *profile;
  struct lane *lanes;        /* by row of threads */
  LIST(struct call) calls;   /* by correlation, each once: its first start */
  int64_t *starts;           /* by correlation less the first, where these are dense; NULL: they are not */
  int64_t first_correlation;
  uint64_t width;
  int64_t host_first, host_end, slack;
  uint32_t *devices;         /* of streams, by row of threads; NO_DEVICE: no stream of a device */
  uint64_t thread_count;
  uint32_t device_count;
  struct work_list work;
};

enum { NO_DEVICE = UINT32_MAX };

enum { OF_DEVICES = 2, SOURCES };
static const struct { unsigned table, start, duration, thread, correlation; } sources[SOURCES] = {
    {TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns, COLUMN_kernels_thread_id,
     COLUMN_kernels_correlation},
    {TABLE_transfers, COLUMN_transfers_start_ns, COLUMN_transfers_dur_ns, COLUMN_transfers_thread_id,
     COLUMN_transfers_correlation},
    {TABLE_api_calls, COLUMN_api_calls_start_ns, COLUMN_api_calls_dur_ns, COLUMN_api_calls_thread_id,
     COLUMN_api_calls_correlation}};

/* ---- the host ---- */

static int compare_calls(const void *a, const void *b) {
  const struct call *x = a, *y = b;
  if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
  return x->start < y->start ? -1 : x->start > y->start;
}

static struct lane *lane_of(const struct launches *all, int64_t thread) {
  return thread < 0 || (uint64_t)thread >= all->thread_count ? NULL : &all->lanes[thread];
}

static void forget_lanes(const struct launches *all) {
  for (uint64_t i = 0; all->lanes && i < all->thread_count; i++)
    all->lanes[i] = (struct lane){ROW_NULL, ROW_NULL, -STORE_TIME_LIMIT, -STORE_TIME_LIMIT, 0};
}

/* Whether this call came before the last one of its thread by number, and after it by time, or the other way round. */
static bool overtakes(struct lane *lane, int64_t correlation, int64_t start) {
  bool is_first = lane->correlation == ROW_NULL, is_same = correlation == lane->correlation;
  int64_t later = is_first ? 0 : correlation > lane->correlation ? start - lane->start : lane->start - start;
  lane->correlation = correlation;
  lane->start = start;
  return !is_same && later < -SKEW_NS;
}

/* `is_suspect`: some call is out of the order of its thread. False: no memory. */
static bool gather_calls(struct launches *all, bool *is_suspect) {
  const struct profile_table *table = &all->profile->tables[TABLE_api_calls];
  bool is_ordered = true, ok = true;
  all->calls.count = 0;
  for (size_t s = 0; s < table->segment_count && ok; s++) {
    const struct segment *segment = table->segments[s];
    int64_t *starts = segment_numbers(segment, COLUMN_api_calls_start_ns);
    int64_t *correlations = segment_numbers(segment, COLUMN_api_calls_correlation);
    int64_t *threads = segment_numbers(segment, COLUMN_api_calls_thread_id);
    ok = starts && correlations && threads;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      if (starts[row] == ROW_NULL || correlations[row] <= 0) continue;
      struct lane *lane = lane_of(all, threads[row]);
      if (lane) *is_suspect |= overtakes(lane, correlations[row], starts[row]);
      const struct call *last = all->calls.count ? &all->calls.items[all->calls.count - 1] : NULL;
      is_ordered &= !last || last->correlation < correlations[row];
      struct call *made = list_add(&all->calls);
      ok = made != NULL;
      if (ok) *made = (struct call){correlations[row], starts[row]};
    }
    free(starts);
    free(correlations);
    free(threads);
  }
  if (!ok || !all->calls.count) return ok;
  struct call *calls = all->calls.items;
  if (!is_ordered) qsort(calls, all->calls.count, sizeof *calls, compare_calls);
  size_t kept = 0;
  for (size_t i = 0; i < all->calls.count; i++)
    if (!i || calls[i].correlation != calls[kept - 1].correlation) calls[kept++] = calls[i];
  all->calls.count = kept;
  all->first_correlation = calls[0].correlation;
  all->width = (uint64_t)(calls[kept - 1].correlation - calls[0].correlation) + 1;
  free(all->starts);
  all->starts = NULL;
  if (all->width > DENSE * (uint64_t)kept) return true;
  all->starts = malloc(all->width * sizeof *all->starts);
  for (uint64_t i = 0; all->starts && i < all->width; i++) all->starts[i] = ROW_NULL;
  for (size_t i = 0; all->starts && i < kept; i++)
    all->starts[calls[i].correlation - all->first_correlation] = calls[i].start;
  return all->starts != NULL;
}

/* When the call began; ROW_NULL: it is not known. */
static int64_t call_start(const struct launches *all, int64_t correlation) {
  if (!all->calls.count || correlation < all->first_correlation) return ROW_NULL;
  if (all->starts) {
    uint64_t at = (uint64_t)(correlation - all->first_correlation);
    return at < all->width ? all->starts[at] : ROW_NULL;
  }
  size_t low = 0, high = all->calls.count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (all->calls.items[middle].correlation <= correlation) low = middle;
    else high = middle;
  }
  return all->calls.items[low].correlation == correlation ? all->calls.items[low].start : ROW_NULL;
}

/* From the first call to the last end of calls and ops. */
static bool find_host(struct launches *all) {
  static const uint16_t tables[] = {TABLE_api_calls, TABLE_ops};
  all->host_first = INT64_MAX;
  all->host_end = INT64_MIN;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    const struct profile_table *table = &all->profile->tables[tables[i]];
    const struct table_spec *spec = &schema_tables[tables[i]];
    for (size_t s = 0; s < table->segment_count; s++) {
      int64_t *starts = segment_numbers(table->segments[s], (unsigned)spec->start_column);
      int64_t *ends = segment_numbers(table->segments[s], (unsigned)spec->end_column);
      bool ok = starts && ends;
      for (uint32_t row = 0; ok && row < table->segments[s]->rows; row++) {
        if (starts[row] == ROW_NULL) continue;
        int64_t end = ends[row] == ROW_NULL ? starts[row] : ends[row];
        if (starts[row] < all->host_first) all->host_first = starts[row];
        if (end > all->host_end) all->host_end = end;
      }
      free(starts);
      free(ends);
      if (!ok) return false;
    }
  }
  int64_t span = all->host_end > all->host_first ? all->host_end - all->host_first : 0;
  all->slack = span > SLACK_NS ? span : SLACK_NS;
  return true;
}

/* ---- the devices ---- */

static bool find_devices(struct launches *all) {
  const struct profile_table *threads = &all->profile->tables[TABLE_threads];
  string_id stream = pool_find(store_pool(all->profile->store), "stream", strlen("stream"));
  all->thread_count = threads->rows;
  all->device_count = (uint32_t)all->profile->tables[TABLE_devices].rows;
  all->devices = malloc((all->thread_count + 1) * sizeof *all->devices);
  all->lanes = malloc((all->thread_count + 1) * sizeof *all->lanes);
  for (size_t s = 0; all->devices && s < threads->segment_count; s++) {
    const struct segment *segment = threads->segments[s];
    int64_t *kinds = segment_numbers(segment, COLUMN_threads_kind);
    int64_t *of = segment_numbers(segment, COLUMN_threads_device_id);
    bool ok = kinds && of;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      bool is_stream = stream && kinds[row] == (int64_t)stream && of[row] >= 0 && of[row] < all->device_count;
      all->devices[segment->first_row + row] = is_stream ? (uint32_t)of[row] : NO_DEVICE;
    }
    free(kinds);
    free(of);
    if (!ok) return false;
  }
  return all->devices && all->lanes;
}

static uint32_t device_of(const struct launches *all, int64_t thread) {
  return thread < 0 || (uint64_t)thread >= all->thread_count ? NO_DEVICE : all->devices[thread];
}

/* Whether work may be out of order: it was launched, or begins, before other work of its stream that stands before it
** in the file, which has work in one order or the other.  `key`: the start of the call, or where calls are not there
** the number, of which `skew` may overtake each other. */
static bool overtakes_work(struct lane *lane, int64_t key, int64_t skew, int64_t start) {
  bool is_out = key < lane->latest_key - skew || start < lane->latest_start - SKEW_NS;
  if (key > lane->latest_key) lane->latest_key = key;
  if (start > lane->latest_start) lane->latest_start = start;
  return is_out;
}

/* The same of work whose call is known.  Copies, for there are few, are compared with kernels by their lag. */
static bool may_be_out_of_order(struct lane *lane, unsigned source, int64_t start, int64_t lag) {
  if (source) return lag > SLACK_NS && lag / 4 > lane->longest_lag;
  if (lag > lane->longest_lag) lane->longest_lag = lag;
  return overtakes_work(lane, start - lag, CALL_SKEW_NS, start);
}

/* Gathers all rows of some sources into `work`; NULL: says only whether any is suspect. */
static bool look_at_work(struct launches *all, unsigned first, unsigned count, struct work_list *work,
                         bool *is_suspect) {
  uint32_t number = 0;
  int64_t latest = all->host_end < INT64_MAX - all->slack ? all->host_end + all->slack : INT64_MAX;
  for (unsigned source = 0; source < first + count; source++) {
    const struct profile_table *table = &all->profile->tables[sources[source].table];
    for (size_t s = 0; s < table->segment_count; s++, number++) {
      if (source < first) continue;
      const struct segment *segment = table->segments[s];
      int64_t *starts = segment_numbers(segment, sources[source].start);
      int64_t *durations = segment_numbers(segment, sources[source].duration);
      int64_t *correlations = segment_numbers(segment, sources[source].correlation);
      int64_t *threads = segment_numbers(segment, sources[source].thread);
      bool ok = starts && durations && correlations && threads;
      for (uint32_t row = 0; ok && row < segment->rows; row++) {
        if (starts[row] == ROW_NULL || durations[row] == ROW_NULL) continue;
        int64_t call = correlations[row] <= 0 ? ROW_NULL : call_start(all, correlations[row]);
        int64_t end = starts[row] + durations[row], lag = call == ROW_NULL ? ROW_NULL : starts[row] - call;
        if (!work) {
          struct lane *lane = lane_of(all, threads[row]);
          bool is_numbered = !all->calls.count && source == 0 && correlations[row] > 0;
          *is_suspect |= (lag != ROW_NULL && lag < -SKEW_NS) || end > latest;
          if (lane && lag != ROW_NULL) *is_suspect |= may_be_out_of_order(lane, source, starts[row], lag);
          else if (lane && is_numbered) *is_suspect |= overtakes_work(lane, correlations[row], 0, starts[row]);
          continue;
        }
        struct work *made = list_add(work);
        ok = made != NULL;
        if (ok)
          *made = (struct work){.start = starts[row], .end = end, .lag = lag, .number = number,
                                .device = device_of(all, threads[row]), .row = row,
                                .correlation = correlations[row], .thread = threads[row]};
      }
      free(starts);
      free(durations);
      free(correlations);
      free(threads);
      if (!ok) return false;
    }
  }
  return true;
}

static struct segment *segment_at(const struct launches *all, uint32_t number) {
  unsigned source = 0;
  const struct profile_table *tables = all->profile->tables;
  while (number >= tables[sources[source].table].segment_count)
    number -= (uint32_t)tables[sources[source++].table].segment_count;
  assert(source < SOURCES);
  return tables[sources[source].table].segments[number];
}

static int by_correlation(const void *a, const void *b) {
  const struct work *x = a, *y = b;
  return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

/* A number that work of another stream has, too, and begins after that call, is not that of what begins before it:
** collectives of Ascend stand in a process with numbers of their own. */
static void forget_shared_numbers(const struct launches *all) {
  struct work *work = all->work.items;
  qsort(work, all->work.count, sizeof *work, by_correlation);
  for (size_t first = 0, last; first < all->work.count; first = last) {
    const struct work *sound = NULL;
    for (last = first; last < all->work.count && work[last].correlation == work[first].correlation; last++)
      if (!sound && work[last].lag >= -SKEW_NS) sound = &work[last];
    for (size_t i = first; sound && i < last; i++)
      if (work[i].lag < -SKEW_NS && work[i].thread != sound->thread) work[i].lag = ROW_NULL;
  }
}

/* By device; what has no lag first, then by lag. */
static int by_lag(const void *a, const void *b) {
  const struct work *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  return x->lag < y->lag ? -1 : x->lag > y->lag;
}

/* ---- clocks ---- */

/* Moves everything that lies on a stream of the device. False: no memory. */
static bool move_clock(const struct launches *all, uint32_t device, int64_t by) {
  static const uint16_t tables[] = {TABLE_kernels, TABLE_transfers, TABLE_syncs, TABLE_ranges};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    const struct profile_table *table = &all->profile->tables[tables[i]];
    const struct table_spec *spec = &schema_tables[tables[i]];
    int thread_column = schema_find_column(spec, "thread_id");
    for (size_t s = 0; s < table->segment_count; s++) {
      struct segment *segment = table->segments[s];
      if (!segment->columns[spec->start_column] || !segment->columns[spec->dur_column]) continue;
      int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
      int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
      int64_t *threads = segment_numbers(segment, (unsigned)thread_column);
      bool ok = starts && durations && threads, is_any = false;
      for (uint32_t row = 0; ok && row < segment->rows; row++) {
        if (starts[row] == ROW_NULL || device_of(all, threads[row]) != device) continue;
        int64_t moved = starts[row] + by; /* both lie within STORE_TIME_LIMIT */
        bool is_time = moved >= -STORE_TIME_LIMIT && moved <= STORE_TIME_LIMIT;
        starts[row] = is_time ? moved : ROW_NULL;
        if (!is_time) durations[row] = ROW_NULL;
        is_any = true;
      }
      if (ok && is_any) ok = segment_change_span(segment, starts, durations);
      free(starts);
      free(durations);
      free(threads);
      if (!ok) return false;
    }
  }
  return true;
}

static bool move_clocks(struct launches *all, struct time_faults *faults, bool *is_changed) {
  struct work *work = all->work.items;
  for (size_t first = 0, last; first < all->work.count; first = last) {
    for (last = first; last < all->work.count && work[last].device == work[first].device;) last++;
    size_t known = first;
    while (known < last && work[known].lag == ROW_NULL) known++;
    if (work[first].device == NO_DEVICE || known == last) continue;
    int64_t by;
    if (!device_clock_find(work + known, last - known, &by)) return false;
    if (!by) continue;
    if (!move_clock(all, work[first].device, by)) return false;
    time_faults_add(faults, FAULT_CLOCK, segment_at(all, work[known].number), work[known].row, last - first,
                    0, (double)(by < 0 ? -by : by));
    *is_changed = true;
    for (size_t i = first; i < last; i++) {
      work[i].start += by;
      work[i].end += by;
      if (work[i].lag != ROW_NULL) work[i].lag += by;
    }
  }
  return true;
}

/* ---- single events ---- */

static void take_out(const struct launches *all, struct work *work, enum time_fault fault, int64_t away,
                     struct time_faults *faults) {
  double stake = (double)(work->end - work->start);
  time_faults_add(faults, fault, segment_at(all, work->number), work->row, 1, stake, (double)away);
  work->is_taken_out = true;
}

static void judge_early(const struct launches *all, struct time_faults *faults) {
  struct work *work = all->work.items;
  for (size_t i = 0; i < all->work.count; i++) {
    int64_t lag = work[i].lag;
    if (lag == ROW_NULL || (lag >= -SKEW_NS && !work[i].is_lost)) continue;
    if (lag < 0) take_out(all, &work[i], FAULT_BEFORE_LAUNCH, -lag, faults);
    else take_out(all, &work[i], FAULT_OUT_OF_ORDER, lag, faults);
  }
}

/* What lies out of the order of launches, `by_number` out of that of their numbers, where that is one of `share` of a
** lane at most. False: no memory. */
static bool judge_order(const struct launches *all, const struct work_list *list, bool by_number, unsigned share,
                        struct time_faults *faults) {
  struct in_order *events = malloc((list->count + 1) * sizeof *events);
  size_t count = 0;
  if (!events || list->count >= UINT32_MAX) {
    free(events);
    return false;
  }
  for (size_t i = 0; i < list->count; i++) {
    const struct work *work = &list->items[i];
    bool is_known = by_number ? work->correlation > 0 : work->lag != ROW_NULL;
    if (work->is_taken_out || !is_known || !lane_of(all, work->thread)) continue;
    events[count++] = (struct in_order){.key = by_number ? work->correlation : work->start - work->lag,
                                        .start = work->start, .lane = (uint32_t)work->thread, .number = (uint32_t)i};
  }
  bool ok = launch_order_find(events, count, share);
  for (size_t i = 0; ok && i < count; i++) {
    if (!events[i].away) continue;
    take_out(all, &list->items[events[i].number], FAULT_OUT_OF_ORDER, events[i].away, faults);
  }
  free(events);
  return ok;
}

static int by_start(const void *a, const void *b) {
  const struct work *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

/* What begins after a pause of `slack` in which nothing ran, on devices that did work before. */
static void judge_late(const struct launches *all, struct time_faults *faults) {
  struct work *work = all->work.items;
  int64_t last_end = all->host_end;
  bool has_begun = false, is_over = false;
  for (size_t i = 0; i < all->work.count; i++) {
    if (work[i].is_taken_out) continue;
    is_over |= has_begun && work[i].start > last_end && work[i].start - last_end > all->slack;
    has_begun = true;
    if (!is_over || work[i].lag == ROW_NULL) {
      if (work[i].end > last_end) last_end = work[i].end;
      continue;
    }
    take_out(all, &work[i], FAULT_AFTER_ALL, work[i].start - all->host_end, faults);
  }
}

static int by_place(const void *a, const void *b) {
  const struct work *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static bool write_times(const struct launches *all, const struct work_list *list, bool *is_changed) {
  struct work *work = list->items;
  if (list->count) qsort(work, list->count, sizeof *work, by_place);
  for (size_t first = 0, last; first < list->count; first = last) {
    bool is_any = false;
    for (last = first; last < list->count && work[last].number == work[first].number; last++)
      is_any |= work[last].is_taken_out;
    if (!is_any) continue;
    struct segment *segment = segment_at(all, work[first].number);
    const struct table_spec *spec = &schema_tables[segment->table];
    int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
    int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
    bool ok = starts && durations;
    for (size_t i = first; ok && i < last; i++) {
      if (work[i].is_taken_out) starts[work[i].row] = durations[work[i].row] = ROW_NULL;
    }
    ok = ok && segment_change_span(segment, starts, durations);
    free(starts);
    free(durations);
    if (!ok) return false;
    *is_changed = true;
  }
  return true;
}

static bool judge_work(struct launches *all, bool is_clock_only, struct time_faults *faults, bool *is_changed) {
  if (!look_at_work(all, 0, OF_DEVICES, &all->work, NULL)) return false;
  if (!all->work.count) return true;
  forget_shared_numbers(all);
  qsort(all->work.items, all->work.count, sizeof *all->work.items, by_lag);
  if (!move_clocks(all, faults, is_changed)) return false;
  if (is_clock_only) return true;
  qsort(all->work.items, all->work.count, sizeof *all->work.items, by_start);
  judge_early(all, faults);
  if (!judge_order(all, &all->work, false, OUT_SHARE, faults)) return false;
  judge_late(all, faults);
  return write_times(all, &all->work, is_changed);
}

/* Calls lose their times first, so that nothing is measured by these. */
static bool judge_calls(struct launches *all, struct time_faults *faults, bool *is_changed) {
  struct work_list calls = {0};
  bool is_suspect = false;
  bool ok = look_at_work(all, OF_DEVICES, 1, &calls, NULL) && judge_order(all, &calls, true, FEW_SHARE, faults) &&
            write_times(all, &calls, is_changed) && gather_calls(all, &is_suspect);
  list_free(&calls);
  return ok;
}

/* Work on devices alone: launches are numbered as they are made. */
static bool judge_by_numbers(struct launches *all, struct time_faults *faults, bool *is_changed) {
  bool is_suspect = false, ok = look_at_work(all, 0, OF_DEVICES, NULL, &is_suspect);
  if (!ok || !is_suspect) return ok;
  return look_at_work(all, 0, OF_DEVICES, &all->work, NULL) &&
         judge_order(all, &all->work, true, OUT_SHARE, faults) && write_times(all, &all->work, is_changed);
}

enum tfprof_status launch_times_mend(struct profile *profile, bool has_host, bool is_clock_only,
                                     struct time_faults *faults, bool *is_changed, struct tfprof_error *error) {
  struct launches all = {.profile = profile, .host_end = INT64_MAX};
  bool is_suspect = false, ok = find_devices(&all);
  forget_lanes(&all);
  if (ok && has_host) ok = gather_calls(&all, &is_suspect);
  if (ok && is_suspect && !is_clock_only) ok = judge_calls(&all, faults, is_changed);
  if (ok && !all.calls.count && !is_clock_only) ok = judge_by_numbers(&all, faults, is_changed);
  bool has_calls = ok && all.calls.count;
  is_suspect = false;
  if (has_calls) ok = find_host(&all) && look_at_work(&all, 0, OF_DEVICES, NULL, &is_suspect);
  if (ok && is_suspect) ok = judge_work(&all, is_clock_only, faults, is_changed);
  list_free(&all.calls);
  list_free(&all.work);
  free(all.starts);
  free(all.devices);
  free(all.lanes);
  return ok ? TFPROF_OK : error_no_memory(error);
}
