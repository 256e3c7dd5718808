/* long_times.c: durations that reach far beyond all else that was recorded.
**
** A profiler that loses an end writes one that is seconds or hours later.  Where something follows on the same stream,
** stream_times.c ends it there.  Else only the rest of the recording tells.  Where a device is alone, work that was
** running when a synchronization of it began, and ends SHORT_NS and more after that has ended, is out at once, unless a
** later wait ends with it, or the program sets its device: then the synchronization was of another one.
**
** Most rows last no longer than SHORT_NS; together with moments, the starts of the longer rows and the profiler's own
** start and stop they say from when to when something is known to have happened.  The longer ones are taken by their
** ends, each of which may carry that on by as much as it has, and by SHORT_NS at least.  What ends behind the first one
** that does not is suspected, and judged in this order:
**
**   waited for      A call or op of the host that ends with suspected work of a device waited for it: both are true.
**   crosses         A thread does one thing at a time: an op or call that outlives what it began in, or anything that
**                   outlives the op it began in, has no such duration.  Marks of steps may end in what they began
**                   outside of, so these are crossed by ops and calls alone.
**   ends together   Two rows that end together bear each other out: a step and the op in it.
**   far             What stands alone has no such duration where it is FAR_TIMES as long as all else and more than
**                   FAR_NS.  A program may sleep, wait or compute on at its end, for less.
**   not waited for  Work of devices that the host's own rows do not reach to has none either where it lasts FAR_BEYOND
**                   times as long as is usual; where rows of the host are not there, where it is LONE_TIMES as long as
**                   all else.
**
** Collectives, on devices and on the host, wait for other processes: where the profiler does not say when it stopped,
** they may last WAITS_NS.
**
** In a file of few rows only crossing and synchronizations tell.
**
** Such a row keeps its start, and its duration is NULL, as of a range that never ended.  Where more than FEW rows and
** one of FEW_SHARE are like this, it is no fault of single rows, and all stay.
*/
#include "read/rows/time_faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "derive/names/communication_names.h"
#include "read/rows/eager_rows.h"

enum { ENOUGH = 8, FEW = 4, FEW_SHARE = 10, FAR_BEYOND = 1000, LONE_TIMES = 100, FAR_TIMES = 10, TOGETHER_SHARE = 100 };
enum { LOOKED_AT = 32 };
static const int64_t SHORT_NS = 100000000, SECOND_NS = 1000000000, FAR_NS = INT64_C(3600) * 1000000000;
static const int64_t WAITS_NS = INT64_C(1800) * 1000000000; /* the longest that PyTorch let collectives wait unasked */
static const int64_t SKEW_NS = 1000000;  /* by which clocks of devices and host may differ */
static const int64_t ROUNDING_NS = 2000; /* by which rows that follow one another may overlap */
static const int64_t CALL_SKEW_NS = 50000; /* by which work may seem to begin before what waits for it */

enum side { WORK_OF_DEVICE, CALL, OP, PYTHON_FRAME, MARK };

struct long_row {
  int64_t start, end;
  uint32_t thread, number, row; /* number: of the segment */
  uint8_t side;
  bool is_waited_for, is_crossing, is_out;
  int64_t away; /* of what is out: how far behind what rules it out it ends */
};

struct lane_segment {
  struct segment *segment;
  bool is_of_ranges, is_of_host; /* of_host: rows of what the program did, ops and calls */
};

struct recorded { int64_t first, last_end; };

struct long_rows {
  struct profile *profile;
  LIST(struct lane_segment) segments;
  LIST(struct long_row) rows;
  uint8_t *is_stream; /* by row of threads */
  uint64_t thread_count;
  string_id user, input, python;
  bool has_stop; /* Kineto's mark of the end of the recording */
  struct recorded recorded;
  uint64_t all, short_rows, host_rows;
};

/* ---- which rows there are ---- */

static void note_time(struct recorded *recorded, int64_t start, int64_t end) {
  if (start < recorded->first) recorded->first = start;
  if (end > recorded->last_end) recorded->last_end = end;
}

/* Moments by themselves, such as those of counters and of the end of the recording. */
static bool note_moments(struct long_rows *all, const struct segment *segment) {
  const struct table_spec *spec = &schema_tables[segment->table];
  for (unsigned column = 0; column < spec->column_count; column++) {
    bool is_of_span = (int)column == spec->start_column || (int)column == spec->end_column;
    if (spec->columns[column].type != TYPE_TIME || is_of_span || !segment->columns[column]) continue;
    int64_t *times = segment_numbers(segment, column);
    if (!times) return false;
    for (uint32_t row = 0; row < segment->rows; row++)
      if (times[row] != ROW_NULL) note_time(&all->recorded, times[row], times[row]);
    free(times);
  }
  return true;
}

static enum side side_of_row(const struct long_rows *all, const struct lane_segment *of, int64_t thread,
                             int64_t category) {
  bool is_known = thread >= 0 && (uint64_t)thread < all->thread_count;
  unsigned table = of->segment->table;
  if (table == TABLE_kernels || table == TABLE_transfers || (is_known && all->is_stream[thread])) return WORK_OF_DEVICE;
  if (of->is_of_ranges) return MARK;
  if (table == TABLE_api_calls || table == TABLE_syncs) return CALL;
  if (table != TABLE_ops || category == ROW_NULL) return OP;
  if ((string_id)category == all->python) return PYTHON_FRAME;
  return (string_id)category == all->user || (string_id)category == all->input ? MARK : OP;
}

static int64_t column_value(const int64_t *values, uint32_t row) { return values ? values[row] : ROW_NULL; }

/* Gathers the long rows of a segment, and what the others tell. */
static bool gather_rows(struct long_rows *all, uint32_t number) {
  const struct lane_segment *of = &all->segments.items[number];
  struct row_columns columns;
  bool ok = row_columns_read(&columns, of->segment);
  for (uint32_t i = 0; ok && i < of->segment->rows; i++) {
    int64_t start = columns.starts[i], duration = columns.durations[i];
    if (start == ROW_NULL) continue;
    int64_t thread = column_value(columns.threads, i), category = column_value(columns.categories, i);
    enum side side = side_of_row(all, of, thread, category);
    all->all++;
    all->host_rows += of->is_of_host;
    if (duration == ROW_NULL || duration <= SHORT_NS) {
      all->short_rows += duration != ROW_NULL;
      note_time(&all->recorded, start, start + (duration == ROW_NULL ? 0 : duration));
      continue;
    }
    note_time(&all->recorded, start, start);
    struct long_row *row = list_add(&all->rows);
    ok = row != NULL;
    if (ok)
      *row = (struct long_row){.start = start, .end = start + duration, .number = number, .row = i,
                               .thread = thread < 0 || thread > UINT32_MAX ? UINT32_MAX : (uint32_t)thread,
                               .side = (uint8_t)side};
  }
  row_columns_free(&columns);
  return ok;
}

/* Whether some row may last longer than SHORT_NS, which the widths of packed columns mostly rule out. */
static bool may_be_long(const struct segment *segment) {
  const struct column *durations = segment->columns[schema_tables[segment->table].dur_column];
  struct bounds bounds = column_bounds(durations);
  if (bounds.low > bounds.high || bounds.high <= SHORT_NS) return false;
  for (uint32_t row = 0; row < segment->rows; row++)
    if (!column_is_null(durations, row) && column_integer(durations, row) > SHORT_NS) return true;
  return false;
}

/* *is_any: some row lasts longer than SHORT_NS, and the lists are filled. */
static bool gather_profile(struct long_rows *all, const uint16_t *tables, unsigned count, bool *is_any) {
  const struct pool *pool = store_pool(all->profile->store);
  bool ok = true;
  *is_any = false;
  for (unsigned i = 0; i < count && ok; i++) {
    const struct profile_table *table = &all->profile->tables[tables[i]];
    for (size_t s = 0; s < table->segment_count && ok; s++) {
      struct segment *segment = table->segments[s];
      if (!segment_has_span(segment)) continue;
      struct lane_segment *made = list_add(&all->segments);
      ok = made != NULL;
      if (ok) *made = (struct lane_segment){segment, tables[i] == TABLE_ranges,
                                            tables[i] == TABLE_ops || tables[i] == TABLE_api_calls};
      *is_any |= ok && may_be_long(segment);
    }
  }
  if (!ok || !*is_any) return ok;
  all->user = pool_find(pool, "user", strlen("user"));
  all->input = pool_find(pool, "input", strlen("input"));
  all->python = pool_find(pool, "python", strlen("python"));
  all->has_stop = pool_find(pool, "Record Window End", strlen("Record Window End")) != 0;
  all->recorded = (struct recorded){INT64_MAX, INT64_MIN};
  if (all->profile->has_span) note_time(&all->recorded, all->profile->start_ns, all->profile->end_ns);
  all->is_stream = threads_on_devices(all->profile, &all->thread_count);
  ok = all->is_stream != NULL;
  for (unsigned i = 0; i < count; i++) {
    const struct profile_table *table = &all->profile->tables[tables[i]];
    for (size_t s = 0; s < table->segment_count && ok; s++) ok = note_moments(all, table->segments[s]);
  }
  for (size_t i = 0; i < all->segments.count && ok; i++) ok = gather_rows(all, (uint32_t)i);
  return ok;
}

/* ---- which are suspected ---- */

static int by_end(const void *a, const void *b) {
  const struct long_row *x = a, *y = b;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static int64_t span_of(const struct recorded *recorded) {
  return recorded->last_end > recorded->first ? recorded->last_end - recorded->first : 0;
}

/* How far behind the last end the next one may lie. */
static int64_t room_of(const struct recorded *recorded) {
  int64_t span = span_of(recorded);
  return span > SHORT_NS ? span : SHORT_NS;
}

static int64_t times(int64_t value, int64_t by) { return value < INT64_MAX / by ? value * by : INT64_MAX; }

/* Sorts the rows by their ends; the index of the first one that is suspected. */
static size_t find_suspects(struct long_rows *all) {
  struct long_row *rows = all->rows.items;
  size_t i = 0;
  qsort(rows, all->rows.count, sizeof *rows, by_end);
  for (; i < all->rows.count; i++) {
    if (rows[i].end > all->recorded.last_end && rows[i].end - all->recorded.last_end > room_of(&all->recorded)) break;
    note_time(&all->recorded, rows[i].start, rows[i].end);
  }
  return i;
}

/* ---- judging ---- */

static int64_t behind(const struct long_rows *all, const struct long_row *row) {
  return row->end - all->recorded.last_end;
}

static bool is_far(const struct long_rows *all, const struct long_row *row) {
  int64_t span = span_of(&all->recorded), away = behind(all, row);
  bool is_lone_work = row->side == WORK_OF_DEVICE && away > SECOND_NS && away > times(span, LONE_TIMES);
  return is_lone_work || (away > FAR_NS && away > times(span, FAR_TIMES));
}

/* Collectives wait for other processes; not until later than the profiler says that it stopped. */
static bool may_wait(const struct long_rows *all, const struct long_row *row) {
  const struct segment *segment = all->segments.items[row->number].segment;
  const struct column *names = segment->table == TABLE_kernels  ? segment->columns[COLUMN_kernels_name]
                               : segment->table == TABLE_ops    ? segment->columns[COLUMN_ops_name]
                               : segment->table == TABLE_ranges ? segment->columns[COLUMN_ranges_name]
                                                                : NULL;
  if (all->has_stop || row->end - row->start > WAITS_NS || !names || column_is_null(names, row->row)) return false;
  const char *name = pool_text(store_pool(all->profile->store), (string_id)column_integer(names, row->row));
  return segment->table == TABLE_kernels ? communication_kernel(name) : communication_on_host(name);
}

/* Whether two ends behind all else are one moment.  Durations that are the same number are one fault, twice: nothing
** takes exactly as long as what lies in it. */
static bool are_together(const struct long_rows *all, const struct long_row *a, const struct long_row *b) {
  int64_t apart = a->end > b->end ? a->end - b->end : b->end - a->end, most = behind(all, a) / TOGETHER_SHARE;
  if (most > SECOND_NS) most = SECOND_NS;
  return apart <= (most > SKEW_NS ? most : SKEW_NS) && a->end - a->start != b->end - b->start;
}

/* Of each call and each work of a device the one of the other sort that ends next before it, and behind it. */
static void find_waits(const struct long_rows *all, struct long_row *rows, size_t count) {
  for (int is_back = 0; is_back < 2; is_back++) {
    struct long_row *call = NULL, *work = NULL;
    for (size_t k = 0; k < count; k++) {
      struct long_row *row = &rows[is_back ? count - 1 - k : k];
      if (row->side > CALL) continue;
      struct long_row *other = row->side == CALL ? work : call;
      if (other && are_together(all, row, other)) row->is_waited_for = other->is_waited_for = true;
      if (row->side == CALL) call = row;
      else work = row;
    }
  }
}

static int by_thread(const void *a, const void *b) {
  const struct long_row *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return by_end(a, b);
}

/* The first of the suspects that begins at `start` on the thread, or later. */
static size_t first_from(const struct long_row *rows, size_t count, uint32_t thread, int64_t start) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    bool is_before = rows[middle].thread != thread ? rows[middle].thread < thread : rows[middle].start < start;
    if (is_before) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The next of the suspects, from `at` on, that is asked for still; `next` leads there. */
static size_t next_asked(size_t *next, size_t at) {
  while (next[at] != at) {
    next[at] = next[next[at]];
    at = next[at];
  }
  return at;
}

/* Marks the suspects that begin in sound rows of a segment: in ops and calls where they are `strong`, in frames and
** marks else.  `next`: those that are asked for; each is found once. False: no memory. */
static bool find_crossing_of(const struct long_rows *all, const struct lane_segment *of, bool is_strong,
                             struct long_row *rows, size_t count, size_t *next) {
  struct row_columns columns;
  bool ok = row_columns_read(&columns, of->segment);
  for (uint32_t i = 0; ok && i < of->segment->rows; i++) {
    int64_t thread = column_value(columns.threads, i), start = columns.starts[i];
    if (start == ROW_NULL || columns.durations[i] == ROW_NULL || thread < 0 || thread > UINT32_MAX) continue;
    if (start + columns.durations[i] > all->recorded.last_end) continue; /* one of the suspects */
    enum side side = side_of_row(all, of, thread, column_value(columns.categories, i));
    if (side == WORK_OF_DEVICE || (side <= OP) != is_strong) continue;
    size_t k = first_from(rows, count, (uint32_t)thread, start + 1);
    for (k = next_asked(next, k); k < count; k = next_asked(next, k)) {
      if (rows[k].thread != (uint32_t)thread || rows[k].start >= start + columns.durations[i] - ROUNDING_NS) break;
      rows[k].is_crossing = true;
      next[k] = k + 1;
    }
  }
  row_columns_free(&columns);
  return ok;
}

/* Finds what outlives a sound row that it began in. False: no memory. */
static bool find_crossing(const struct long_rows *all, struct long_row *rows, size_t count) {
  size_t *next = malloc((count + 1) * sizeof *next);
  bool ok = next != NULL;
  qsort(rows, count, sizeof *rows, by_thread);
  for (int is_strong = 0; is_strong < 2 && ok; is_strong++) {
    for (size_t i = 0; i <= count; i++) {
      enum side side = i < count ? (enum side)rows[i].side : WORK_OF_DEVICE;
      bool is_asked = side != WORK_OF_DEVICE && (is_strong || side <= OP) && !rows[i].is_crossing;
      next[i] = is_asked || i == count ? i : i + 1;
    }
    for (size_t s = 0; s < all->segments.count && ok; s++) {
      const struct lane_segment *of = &all->segments.items[s];
      if (!of->is_of_ranges) ok = find_crossing_of(all, of, is_strong, rows, count, next); /* ranges may cross */
    }
  }
  free(next);
  qsort(rows, count, sizeof *rows, by_end);
  return ok;
}

/* Whether something else of the suspects, sorted by their ends, ends together with one. */
static bool is_borne_out(const struct long_rows *all, const struct long_row *rows, size_t count, size_t at) {
  for (size_t k = at; k-- > 0 && at - k < LOOKED_AT;)
    if (!rows[k].is_crossing && are_together(all, &rows[at], &rows[k])) return true;
  for (size_t k = at + 1; k < count && k - at < LOOKED_AT; k++)
    if (!rows[k].is_crossing && are_together(all, &rows[at], &rows[k])) return true;
  return false;
}

static void judge_host(const struct long_rows *all, struct long_row *rows, size_t count, bool is_far_told) {
  for (size_t i = 0; i < count; i++) {
    struct long_row *row = &rows[i];
    if (row->side == WORK_OF_DEVICE || row->is_waited_for || may_wait(all, row)) continue;
    row->is_out = row->is_crossing || (is_far_told && is_far(all, row) && !is_borne_out(all, rows, count, i));
  }
}

static int compare_numbers(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* What lasts longer than is usual on devices. False: no memory. */
static bool find_limit(const struct long_rows *all, int64_t *limit) {
  LIST(int64_t) durations = {0};
  bool ok = true;
  for (size_t s = 0; s < all->segments.count && ok; s++) {
    const struct segment *segment = all->segments.items[s].segment;
    if (segment->table != TABLE_kernels && segment->table != TABLE_transfers) continue;
    int64_t *values = segment_numbers(segment, (unsigned)schema_tables[segment->table].dur_column);
    ok = values != NULL;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      if (values[row] == ROW_NULL) continue;
      int64_t *made = list_add(&durations);
      ok = made != NULL;
      if (ok) *made = values[row];
    }
    free(values);
  }
  *limit = STORE_TIME_LIMIT;
  if (ok && durations.count >= ENOUGH) {
    qsort(durations.items, durations.count, sizeof *durations.items, compare_numbers);
    *limit = times(durations.items[durations.count / 2], FAR_BEYOND);
  }
  list_free(&durations);
  return ok;
}

/* Work that no row of the host that stays reaches to. */
static bool judge_devices(const struct long_rows *all, struct long_row *rows, size_t count) {
  int64_t host_end = all->recorded.last_end, limit;
  for (size_t i = 0; i < count; i++)
    if (rows[i].side != WORK_OF_DEVICE && !rows[i].is_out && rows[i].end > host_end) host_end = rows[i].end;
  if (!find_limit(all, &limit)) return false;
  for (size_t i = 0; i < count; i++) {
    struct long_row *row = &rows[i];
    if (row->side != WORK_OF_DEVICE || row->is_waited_for || row->end - SKEW_NS <= host_end) continue;
    bool is_alone = all->host_rows && row->end - host_end > room_of(&all->recorded);
    row->is_out = (is_far(all, row) || (is_alone && row->end - row->start > limit)) && !may_wait(all, row);
  }
  return true;
}

/* ---- what is out ---- */

static int by_place(const void *a, const void *b) {
  const struct long_row *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Sorts the rows by their place. False: no memory. */
static bool take_durations_out(const struct long_rows *all, struct long_row *rows, size_t count,
                               enum time_fault fault, struct time_faults *faults) {
  qsort(rows, count, sizeof *rows, by_place);
  for (size_t first = 0, last; first < count; first = last) {
    struct segment *segment = all->segments.items[rows[first].number].segment;
    const struct table_spec *spec = &schema_tables[segment->table];
    bool is_any = false;
    for (last = first; last < count && rows[last].number == rows[first].number; last++) is_any |= rows[last].is_out;
    if (!is_any) continue;
    int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
    int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
    bool ok = starts && durations;
    for (size_t i = first; ok && i < last; i++) {
      if (!rows[i].is_out) continue;
      time_faults_add(faults, fault, segment, rows[i].row, 1, (double)(rows[i].end - rows[i].start),
                      (double)rows[i].away);
      durations[rows[i].row] = ROW_NULL;
    }
    ok = ok && segment_change_span(segment, starts, durations);
    free(starts);
    free(durations);
    if (!ok) return false;
  }
  return true;
}

/* How many are out; 0 where these are many. */
static size_t count_out(const struct long_rows *all, const struct long_row *rows, size_t count) {
  size_t out = 0;
  for (size_t i = 0; i < count; i++) out += rows[i].is_out;
  return out > FEW && out > all->all / FEW_SHARE ? 0 : out;
}

static bool judge(struct long_rows *all, struct time_faults *faults, bool *is_changed) {
  bool is_enough = all->short_rows >= ENOUGH;
  size_t first = find_suspects(all), count = all->rows.count - first;
  struct long_row *rows = all->rows.items + first;
  if (!count) return true;
  find_waits(all, rows, count);
  if (!find_crossing(all, rows, count)) return false;
  judge_host(all, rows, count, is_enough);
  if (is_enough && !judge_devices(all, rows, count)) return false;
  for (size_t i = 0; i < count; i++) rows[i].away = behind(all, &rows[i]);
  if (!count_out(all, rows, count)) return true;
  *is_changed = true;
  return take_durations_out(all, rows, count, FAULT_LONG, faults);
}

/* ---- work that ends after what waited for it ---- */

struct device_sync { int64_t start, end; };

struct waits {
  LIST(struct device_sync) syncs; /* of a device, by their starts; `end` is the first of this and later ones */
  LIST(int64_t) ends;             /* of these and of waits for streams and events, sorted */
};

static int by_sync_start(const void *a, const void *b) {
  const struct device_sync *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* Whether a name is one of several, by their numbers. */
static bool is_among(const string_id *ids, size_t count, int64_t name) {
  for (size_t i = 0; i < count; i++)
    if (ids[i] && name == (int64_t)ids[i]) return true;
  return false;
}

/* Finds the numbers of names; 0: no row has it. */
static bool find_ids(const struct long_rows *all, const char *const *names, size_t count, string_id *ids) {
  string_id any = 0;
  for (size_t i = 0; i < count; i++)
    any |= ids[i] = pool_find(store_pool(all->profile->store), names[i], strlen(names[i]));
  return any != 0;
}

/* Calls that wait for work of a device; the first OF_DEVICE for all of it. */
static bool gather_waits(const struct long_rows *all, struct waits *waits) {
  static const char *const calls[] = {"cudaDeviceSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize",
                                      "cudaStreamSynchronize", "hipStreamSynchronize", "cuStreamSynchronize",
                                      "cudaEventSynchronize",  "hipEventSynchronize",  "cuEventSynchronize"};
  enum { CALLS = sizeof calls / sizeof *calls, OF_DEVICE = 3 };
  string_id ids[CALLS];
  if (!find_ids(all, calls, OF_DEVICE, ids)) return true;
  find_ids(all, calls, CALLS, ids);
  for (size_t s = 0; s < all->segments.count; s++) {
    const struct segment *segment = all->segments.items[s].segment;
    if (segment->table != TABLE_api_calls) continue;
    int64_t *names = segment_numbers(segment, COLUMN_api_calls_name);
    struct row_columns columns;
    bool ok = row_columns_read(&columns, segment) && names;
    for (uint32_t row = 0; ok && row < segment->rows; row++) {
      if (columns.starts[row] == ROW_NULL || columns.durations[row] == ROW_NULL) continue;
      if (!is_among(ids, CALLS, names[row])) continue;
      int64_t end = columns.starts[row] + columns.durations[row], *made = list_add(&waits->ends);
      ok = made != NULL;
      if (ok) *made = end;
      if (!ok || !is_among(ids, OF_DEVICE, names[row])) continue;
      struct device_sync *sync = list_add(&waits->syncs);
      ok = sync != NULL;
      if (ok) *sync = (struct device_sync){columns.starts[row], end};
    }
    row_columns_free(&columns);
    free(names);
    if (!ok) return false;
  }
  struct device_sync *syncs = waits->syncs.items;
  if (waits->syncs.count) qsort(syncs, waits->syncs.count, sizeof *syncs, by_sync_start);
  if (waits->ends.count) qsort(waits->ends.items, waits->ends.count, sizeof *waits->ends.items, compare_numbers);
  for (size_t i = waits->syncs.count; i-- > 1;)
    if (syncs[i].end < syncs[i - 1].end) syncs[i - 1].end = syncs[i].end;
  return true;
}

/* Whether some wait ends when the row does. */
static bool is_awaited(const struct waits *waits, const struct long_row *row) {
  size_t low = 0, high = waits->ends.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (waits->ends.items[middle] < row->end - SKEW_NS) low = middle + 1;
    else high = middle;
  }
  return low < waits->ends.count && waits->ends.items[low] <= row->end + SKEW_NS;
}

/* Which device a synchronization waits for is not told, so there may be one only, and none is chosen.
** *is_one: it is so. */
static bool find_one_device(const struct long_rows *all, bool *is_one) {
  static const char *const choosing[] = {"cudaSetDevice", "hipSetDevice"};
  enum { CHOOSING = sizeof choosing / sizeof *choosing };
  string_id ids[CHOOSING];
  const struct profile_table *threads = &all->profile->tables[TABLE_threads];
  int64_t device = ROW_NULL;
  *is_one = !find_ids(all, choosing, CHOOSING, ids);
  for (size_t s = 0; s < threads->segment_count; s++) {
    const struct segment *segment = threads->segments[s];
    int64_t *devices = segment_numbers(segment, COLUMN_threads_device_id);
    if (!devices) return false;
    for (uint32_t row = 0; row < segment->rows; row++) {
      if (!all->is_stream[segment->first_row + row]) continue;
      *is_one &= device == ROW_NULL || devices[row] == device;
      device = devices[row];
    }
    free(devices);
  }
  *is_one &= device != ROW_NULL;
  return true;
}

/* Marks work that was running when a synchronization began and ends long after that has ended. */
static void find_outlasting(struct long_rows *all, const struct waits *waits) {
  for (size_t i = 0; i < all->rows.count; i++) {
    struct long_row *row = &all->rows.items[i];
    size_t low = 0, high = waits->syncs.count;
    if (row->side != WORK_OF_DEVICE) continue;
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (waits->syncs.items[middle].start > row->start + CALL_SKEW_NS) high = middle;
      else low = middle + 1;
    }
    row->is_out = low < waits->syncs.count && row->end - waits->syncs.items[low].end > SHORT_NS &&
                  !is_awaited(waits, row);
    if (row->is_out) row->away = row->end - waits->syncs.items[low].end;
  }
}

/* Takes such work out, so that nothing else is judged by it. */
static bool judge_synchronized(struct long_rows *all, struct time_faults *faults, bool *is_changed) {
  struct waits waits = {0};
  bool is_one, ok = find_one_device(all, &is_one);
  if (ok && is_one) ok = gather_waits(all, &waits);
  if (ok && waits.syncs.count) find_outlasting(all, &waits);
  list_free(&waits.syncs);
  list_free(&waits.ends);
  if (!ok) return false;
  if (count_out(all, all->rows.items, all->rows.count)) {
    *is_changed = true;
    ok = take_durations_out(all, all->rows.items, all->rows.count, FAULT_OUTLASTS, faults);
  } else {
    for (size_t i = 0; i < all->rows.count; i++) all->rows.items[i].is_out = false;
  }
  size_t kept = 0;
  for (size_t i = 0; i < all->rows.count; i++)
    if (!all->rows.items[i].is_out) all->rows.items[kept++] = all->rows.items[i];
  all->rows.count = kept;
  return ok;
}

enum tfprof_status long_times_mend(struct profile *profile, const uint16_t *tables, unsigned count,
                                   struct time_faults *faults, bool *is_changed, struct tfprof_error *error) {
  struct long_rows all = {.profile = profile};
  bool is_any, ok = gather_profile(&all, tables, count, &is_any);
  if (ok && all.rows.count)
    ok = judge_synchronized(&all, faults, is_changed) && judge(&all, faults, is_changed);
  list_free(&all.segments);
  list_free(&all.rows);
  free(all.is_stream);
  return ok ? TFPROF_OK : error_no_memory(error);
}
