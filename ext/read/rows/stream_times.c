/* stream_times.c: durations that cover many later events of their stream.
**
** Files have the work of a stream in order, so that one look at each row says for nearly all streams that nothing
** overlaps.  Only the events of other streams are gathered and sorted.  There an event is suspected that lasts over
** COVERED later ones from beginning to end, of other launches: kernels that one launch of a device graph runs beside
** each other share a stream rightly.
**
** Few suspects of a stream are faults, and so are those that last FAR_BEYOND times as long as its events do in the
** middle.  Where there are many, and no longer than that, the stream is no queue: hardware queues that several streams
** share, and streams whose kernels overlap on purpose.  Their durations stay.  How long events of a stream overlap is
** told where that is more than a hundredth of their time, as sums by kernel or op are more than the stream was busy
** for.
*/
#include "read/rows/time_faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "read/rows/eager_rows.h"

enum { COVERED = 4, LOOKED_AT = 8 * COVERED, FEW = 2, FEW_SHARE = 20, FAR_BEYOND = 1000, TOLD_SHARE = 100 };
static const int64_t LONG_NS = 10000000; /* streams with both kernels and copies are looked at where one is as long */

struct stream { /* of a row of threads */
  int64_t last_end[2], longest[2]; /* of kernels, of transfers */
  bool is_queue, is_suspect;
};

struct stream_event {
  int64_t start, end, launch;
  uint32_t thread, segment, row; /* `segment` of both tables, kernels first */
};

struct streams {
  struct profile *profile;
  struct stream *items; /* by row of threads */
  uint64_t count;
  bool has_suspects;
  LIST(struct stream_event) events;
};

static const struct {
  unsigned table, start, duration, thread, correlation;
} sources[2] = {{TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns, COLUMN_kernels_thread_id,
                 COLUMN_kernels_correlation},
                {TABLE_transfers, COLUMN_transfers_start_ns, COLUMN_transfers_dur_ns, COLUMN_transfers_thread_id,
                 COLUMN_transfers_correlation}};

/* Which rows of threads are streams; those of TPUs are none, since their ops lie inside each other. */
static bool find_streams(struct streams *all) {
  const struct pool *pool = store_pool(all->profile->store);
  const struct profile_table *threads = &all->profile->tables[TABLE_threads];
  string_id stream = pool_find(pool, "stream", strlen("stream")), tpu = pool_find(pool, "tpu", strlen("tpu"));
  const struct profile_table *devices = &all->profile->tables[TABLE_devices];
  const struct segment *device_rows = devices->segment_count ? devices->segments[0] : NULL;
  const struct column *kinds = device_rows ? device_rows->columns[COLUMN_devices_kind] : NULL;
  all->count = threads->rows;
  all->items = calloc(all->count + 1, sizeof *all->items);
  for (size_t s = 0; all->items && s < threads->segment_count; s++) {
    const struct segment *segment = threads->segments[s];
    int64_t *lane_kinds = segment_numbers(segment, COLUMN_threads_kind);
    int64_t *of = segment_numbers(segment, COLUMN_threads_device_id);
    for (uint32_t row = 0; lane_kinds && of && row < segment->rows; row++) {
      struct stream *lane = &all->items[segment->first_row + row];
      bool has_device = of[row] >= 0 && kinds && of[row] < device_rows->rows;
      bool is_tpu = has_device && !column_is_null(kinds, (uint32_t)of[row]) &&
                    (string_id)column_integer(kinds, (uint32_t)of[row]) == tpu;
      lane->is_queue = stream && lane_kinds[row] == (int64_t)stream && !is_tpu;
      for (unsigned i = 0; i < 2; i++) lane->last_end[i] = INT64_MIN;
    }
    bool ok = lane_kinds && of;
    free(lane_kinds);
    free(of);
    if (!ok) return false;
  }
  return all->items != NULL;
}

struct stream_rows { int64_t *starts, *durations, *threads, *launches; };

static bool stream_rows_read(struct stream_rows *rows, const struct segment *segment, unsigned source, bool is_whole) {
  *rows = (struct stream_rows){segment_numbers(segment, sources[source].start),
                               segment_numbers(segment, sources[source].duration),
                               segment_numbers(segment, sources[source].thread),
                               is_whole ? segment_numbers(segment, sources[source].correlation) : NULL};
  return rows->starts && rows->durations && rows->threads && (rows->launches || !is_whole);
}

static void stream_rows_free(struct stream_rows *rows) {
  free(rows->starts);
  free(rows->durations);
  free(rows->threads);
  free(rows->launches);
}

/* The stream of a row whose times are known; NULL: it has none. */
static struct stream *stream_of(const struct streams *all, const struct stream_rows *rows, uint32_t row) {
  int64_t thread = rows->threads[row];
  if (rows->starts[row] == ROW_NULL || rows->durations[row] == ROW_NULL) return NULL;
  if (thread < 0 || (uint64_t)thread >= all->count || !all->items[thread].is_queue) return NULL;
  return &all->items[thread];
}

/* Finds the streams on which something overlaps, or may. */
static bool find_suspects(struct streams *all) {
  for (unsigned source = 0; source < 2; source++) {
    const struct profile_table *table = &all->profile->tables[sources[source].table];
    for (size_t s = 0; s < table->segment_count; s++) {
      struct stream_rows rows;
      bool ok = stream_rows_read(&rows, table->segments[s], source, false);
      for (uint32_t row = 0; ok && row < table->segments[s]->rows; row++) {
        struct stream *stream = stream_of(all, &rows, row);
        if (!stream) continue;
        int64_t end = rows.starts[row] + rows.durations[row];
        if (rows.starts[row] < stream->last_end[source]) stream->is_suspect = all->has_suspects = true;
        if (end > stream->last_end[source]) stream->last_end[source] = end;
        if (rows.durations[row] > stream->longest[source]) stream->longest[source] = rows.durations[row];
      }
      stream_rows_free(&rows);
      if (!ok) return false;
    }
  }
  for (uint64_t i = 0; i < all->count; i++) {
    struct stream *stream = &all->items[i];
    bool has_both = stream->last_end[0] != INT64_MIN && stream->last_end[1] != INT64_MIN;
    if (has_both && (stream->longest[0] > LONG_NS || stream->longest[1] > LONG_NS))
      stream->is_suspect = all->has_suspects = true;
  }
  return true;
}

static bool gather_suspects(struct streams *all) {
  uint32_t number = 0;
  for (unsigned source = 0; source < 2; source++) {
    const struct profile_table *table = &all->profile->tables[sources[source].table];
    for (size_t s = 0; s < table->segment_count; s++, number++) {
      struct stream_rows rows;
      bool ok = stream_rows_read(&rows, table->segments[s], source, true);
      for (uint32_t row = 0; ok && row < table->segments[s]->rows; row++) {
        struct stream *stream = stream_of(all, &rows, row);
        if (!stream || !stream->is_suspect) continue;
        struct stream_event *event = list_add(&all->events);
        if (event)
          *event = (struct stream_event){rows.starts[row], rows.starts[row] + rows.durations[row], rows.launches[row],
                                         (uint32_t)rows.threads[row], number, row};
        ok = event != NULL;
      }
      stream_rows_free(&rows);
      if (!ok) return false;
    }
  }
  return true;
}

/* By stream and start; of those that begin together the shorter one first, so that what is covered comes behind. */
static int by_stream(const void *a, const void *b) {
  const struct stream_event *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_durations(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Whether the first of `count` events of a stream lasts over COVERED later ones. */
static bool is_over_others(const struct stream_event *events, size_t count) {
  unsigned covered = 0;
  for (size_t i = 1; i < count && i <= LOOKED_AT && events[i].start < events->end; i++) {
    bool is_same_launch = events[i].launch != ROW_NULL && events[i].launch == events->launch;
    covered += events[i].end <= events->end && !is_same_launch;
    if (covered == COVERED) return true;
  }
  return false;
}

static struct segment *segment_at(const struct streams *all, uint32_t number) {
  const struct profile_table *kernels = &all->profile->tables[TABLE_kernels];
  if (number < kernels->segment_count) return kernels->segments[number];
  return all->profile->tables[TABLE_transfers].segments[number - kernels->segment_count];
}

/* Tells how long events of one stream, but for those of one launch, run while earlier ones do. */
static void tell_overlaps(const struct streams *all, const struct stream_event *events, size_t count,
                          const int64_t *ends, struct time_faults *faults) {
  const struct stream_event *first = NULL;
  double overlap = 0, whole = 0;
  uint64_t overlapping = 0;
  size_t latest = 0; /* which of those before ends last */
  for (size_t i = 0; i < count; i++) {
    bool is_same_launch = events[i].launch != ROW_NULL && events[i].launch == events[latest].launch;
    int64_t until = ends[i] < ends[latest] ? ends[i] : ends[latest];
    whole += (double)ends[i] - (double)events[i].start;
    if (i && !is_same_launch && until > events[i].start) {
      overlap += (double)until - (double)events[i].start;
      first = first ? first : &events[i];
      overlapping++;
    }
    if (ends[i] > ends[latest]) latest = i;
  }
  if (first && overlap * TOLD_SHARE > whole)
    time_faults_add(faults, FAULT_OVERLAPS, segment_at(all, first->segment), first->row, overlapping, overlap, 0);
}

/* What one stream's suspects come to: `ends` of the faults become where the next event begins, and the fault is told.
** False: no memory. */
static bool judge_stream(const struct streams *all, struct stream_event *events, size_t count, int64_t *ends,
                         struct time_faults *faults, bool *is_changed) {
  size_t suspects = 0;
  int64_t limit = -1; /* what lasts longer is a fault; all suspects */
  for (size_t i = count, next = count; i-- > 0;) { /* `next`: of those that begin later the first */
    if (i + 1 < count && events[i + 1].start != events[i].start) next = i + 1;
    ends[i] = events[i].end;
    if (!is_over_others(events + i, count - i)) continue;
    int64_t begins = next < count ? events[next].start : events[i].start;
    if (begins >= events[i].end) continue; /* it covers only what begins together with it */
    ends[i] = begins;
    suspects++;
  }
  if (!suspects) return true;
  if (suspects > FEW && suspects > count / FEW_SHARE) {
    int64_t *durations = malloc(count * sizeof *durations);
    if (!durations) return false;
    for (size_t i = 0; i < count; i++) durations[i] = events[i].end - events[i].start;
    qsort(durations, count, sizeof *durations, compare_durations);
    int64_t middle = durations[count / 2];
    limit = middle < STORE_TIME_LIMIT / FAR_BEYOND ? middle * FAR_BEYOND : STORE_TIME_LIMIT;
    free(durations);
  }
  for (size_t i = 0; i < count; i++) {
    if (ends[i] == events[i].end) continue;
    double less = (double)events[i].end - (double)ends[i];
    if (events[i].end - events[i].start > limit) {
      time_faults_add(faults, FAULT_OVER_OTHERS, segment_at(all, events[i].segment), events[i].row, 1, less, less);
      *is_changed = true;
      continue;
    }
    ends[i] = events[i].end;
  }
  return true;
}

static int by_place(const void *a, const void *b) {
  const struct stream_event *x = a, *y = b;
  if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Writes the ends of all gathered events back into their segments. */
static bool write_ends(const struct streams *all) {
  struct stream_event *events = all->events.items;
  qsort(events, all->events.count, sizeof *events, by_place);
  for (size_t first = 0, last; first < all->events.count; first = last) {
    struct segment *segment = segment_at(all, events[first].segment);
    const struct table_spec *spec = &schema_tables[segment->table];
    int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
    int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
    bool ok = starts && durations;
    for (last = first; last < all->events.count && events[last].segment == events[first].segment; last++)
      if (ok) durations[events[last].row] = events[last].end - events[last].start;
    ok = ok && segment_change_span(segment, starts, durations);
    free(starts);
    free(durations);
    if (!ok) return false;
  }
  return true;
}

static bool judge_streams(const struct streams *all, struct time_faults *faults, bool *is_changed) {
  struct stream_event *events = all->events.items;
  size_t count = all->events.count;
  int64_t *ends = malloc((count + 1) * sizeof *ends);
  bool ok = ends != NULL, is_any = false;
  if (ok && count) qsort(events, count, sizeof *events, by_stream);
  for (size_t first = 0, last; first < count && ok; first = last) {
    for (last = first; last < count && events[last].thread == events[first].thread;) last++;
    ok = judge_stream(all, events + first, last - first, ends + first, faults, &is_any);
    if (ok) tell_overlaps(all, events + first, last - first, ends + first, faults);
  }
  for (size_t i = 0; i < count && ok; i++) events[i].end = ends[i];
  free(ends);
  *is_changed |= is_any;
  return ok && (!is_any || write_ends(all));
}

enum tfprof_status stream_times_mend(struct profile *profile, struct time_faults *faults, bool *is_changed,
                                     struct tfprof_error *error) {
  struct streams all = {.profile = profile};
  bool ok = find_streams(&all) && find_suspects(&all);
  if (ok && all.has_suspects) ok = gather_suspects(&all) && judge_streams(&all, faults, is_changed);
  free(all.items);
  list_free(&all.events);
  return ok ? TFPROF_OK : error_no_memory(error);
}
