/* thread_times.c: durations of ops and calls that cover what follows on their thread.
**
** A thread does one thing at a time, so that what it does nests.  A profiler that loses an end writes one that is
** milliseconds or seconds later, and the op lies over all that the thread did until then.  Suspected is what takes
** FAR_TIMES as long as half of its name do, and LONG_NS at least.  It is a fault where
**
**   it crosses           it began in an op, a mark or a call that it outlives, and COVERED rows lie in the time
**                        between the two ends; or
**   it covers its like   it is a call, and COVERED calls of its own name lie in it: no launch makes launches.
**
** First uses of an op may take as long, and so may waits, compilations and reads of data: these nest.  Asynchronous ops
** cross as well: where more than FEW of a name and one of FEW_SHARE do, all of the name stay.  Python functions and
** marks are not looked at.  Of an op without any mark or op around it nothing tells that it did not call what lies in
** it.
*/
#include <stdlib.h>
#include <string.h>

#include "read/rows/eager_rows.h"
#include "read/rows/list.h"
#include "read/rows/time_faults.h"

enum { ENOUGH = 8, FAR_TIMES = 100, COVERED = 4, FEW = 2, FEW_SHARE = 10, BUCKETS = 64 };
static const int64_t LONG_NS = 1000000;
static const int64_t ROUNDING_NS = 2000; /* by which rows that follow one another may overlap */

struct usual { uint32_t buckets[BUCKETS], all, faults; }; /* rows of a name; in buckets by the bits of durations */

struct suspect {
  int64_t start, end;
  uint32_t thread, name, segment, row;
  bool is_call, is_crossing, is_out;
};

/* A suspect is waited for from a moment on, on a lane, until it ends. */
struct span {
  uint64_t lane;
  int64_t from, end;
  uint32_t suspect, found;
};

/* Spans sorted by lane and start, and the latest end of each stretch of them that is open still. */
struct spans {
  struct span *items;
  int64_t *latest; /* a binary tree with the items as its leaves */
  size_t count, leaves;
};

struct threads {
  struct profile *profile;
  LIST(struct segment *) segments; /* of ops and calls */
  LIST(struct suspect) suspects;
  LIST(struct usual) usual;
  uint32_t *usual_of_names; /* by name: its index in `usual` + 1 */
  int64_t user, input, python;
};

static bool is_call(const struct segment *segment) { return segment->table == TABLE_api_calls; }

static int64_t *names_of(const struct segment *segment) {
  return segment_numbers(segment, is_call(segment) ? COLUMN_api_calls_name : COLUMN_ops_name);
}

/* ---- suspects ---- */

/* Ops and calls; not marks, reads of data and Python functions. */
static bool is_of_program(const struct threads *all, const struct row_columns *columns, uint32_t row) {
  int64_t category = columns->categories ? columns->categories[row] : ROW_NULL;
  return category == ROW_NULL || (category != all->user && category != all->input && category != all->python);
}

static bool is_known(const struct row_columns *columns, uint32_t row) {
  int64_t thread = columns->threads[row];
  return columns->starts[row] != ROW_NULL && columns->durations[row] != ROW_NULL && thread >= 0 && thread < UINT32_MAX;
}

static bool gather_suspects(struct threads *all, uint32_t number) {
  const struct segment *segment = all->segments.items[number];
  struct bounds bounds = column_bounds(segment->columns[schema_tables[segment->table].dur_column]);
  struct row_columns columns;
  if (bounds.low > bounds.high || bounds.high <= LONG_NS) return true;
  int64_t *names = names_of(segment);
  bool ok = row_columns_read(&columns, segment) && names;
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    bool is_long = columns.durations[row] > LONG_NS && is_known(&columns, row) && names[row] > 0;
    if (!is_long || !is_of_program(all, &columns, row)) continue;
    struct suspect *suspect = list_add(&all->suspects);
    ok = suspect != NULL;
    if (ok)
      *suspect = (struct suspect){.start = columns.starts[row], .end = columns.starts[row] + columns.durations[row],
                                  .thread = (uint32_t)columns.threads[row], .name = (uint32_t)names[row],
                                  .segment = number, .row = row, .is_call = is_call(segment)};
  }
  row_columns_free(&columns);
  free(names);
  return ok;
}

/* Which names suspects have. False: no memory. */
static bool list_names(struct threads *all) {
  all->usual_of_names = calloc((size_t)pool_count(store_pool(all->profile->store)) + 1, sizeof *all->usual_of_names);
  for (size_t i = 0; all->usual_of_names && i < all->suspects.count; i++) {
    uint32_t *at = &all->usual_of_names[all->suspects.items[i].name];
    if (*at) continue;
    if (!list_add(&all->usual)) return false;
    *at = (uint32_t)all->usual.count;
  }
  return all->usual_of_names != NULL;
}

static unsigned bits_of(int64_t duration) {
  return duration > 0 ? 64 - (unsigned)__builtin_clzll((uint64_t)duration) : 0;
}

static bool count_durations(struct threads *all, const struct segment *segment) {
  int64_t *names = names_of(segment);
  int64_t *durations = segment_numbers(segment, (unsigned)schema_tables[segment->table].dur_column);
  bool ok = names && durations;
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    uint32_t at = names[row] > 0 ? all->usual_of_names[names[row]] : 0;
    if (!at || durations[row] == ROW_NULL) continue;
    all->usual.items[at - 1].buckets[bits_of(durations[row])]++;
    all->usual.items[at - 1].all++;
  }
  free(names);
  free(durations);
  return ok;
}

static struct usual *usual_of(const struct threads *all, const struct suspect *suspect) {
  return &all->usual.items[all->usual_of_names[suspect->name] - 1];
}

/* Whether it takes FAR_TIMES as long as half of its name do. */
static bool is_far(const struct usual *usual, int64_t duration) {
  uint32_t shorter = 0;
  unsigned bits = 0;
  if (usual->all < ENOUGH) return false;
  for (; bits < BUCKETS; bits++) {
    shorter += usual->buckets[bits];
    if (shorter > usual->all / 2) break;
  }
  return bits < BUCKETS && (duration / FAR_TIMES) >> bits; /* half take less than 2^bits */
}

static bool find_suspects(struct threads *all) {
  size_t kept = 0;
  bool ok = true;
  for (uint32_t i = 0; i < all->segments.count && ok; i++) ok = gather_suspects(all, i);
  if (!ok || !all->suspects.count) return ok;
  ok = list_names(all);
  for (uint32_t i = 0; i < all->segments.count && ok; i++) ok = count_durations(all, all->segments.items[i]);
  for (size_t i = 0; i < all->suspects.count && ok; i++) {
    const struct suspect *suspect = &all->suspects.items[i];
    if (is_far(usual_of(all, suspect), suspect->end - suspect->start)) all->suspects.items[kept++] = *suspect;
  }
  all->suspects.count = kept;
  return ok;
}

/* Suspects come by segment and row. */
static bool is_suspect(const struct threads *all, uint32_t segment, uint32_t row) {
  size_t low = 0, high = all->suspects.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct suspect *at = &all->suspects.items[middle];
    bool is_before = at->segment != segment ? at->segment < segment : at->row < row;
    if (is_before) low = middle + 1;
    else high = middle;
  }
  return low < all->suspects.count && all->suspects.items[low].segment == segment &&
         all->suspects.items[low].row == row;
}

/* ---- which of many spans a row meets ---- */

static int by_lane(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->suspect < y->suspect ? -1 : x->suspect > y->suspect;
}

static bool spans_make(struct spans *spans, size_t room) {
  spans->leaves = 1;
  while (spans->leaves < room) spans->leaves *= 2;
  spans->items = malloc((room + 1) * sizeof *spans->items);
  spans->latest = malloc(2 * spans->leaves * sizeof *spans->latest);
  return spans->items && spans->latest;
}

static void spans_free(struct spans *spans) {
  free(spans->items);
  free(spans->latest);
}

static void spans_sort(struct spans *spans) {
  int64_t *latest = spans->latest;
  if (spans->count) qsort(spans->items, spans->count, sizeof *spans->items, by_lane);
  for (size_t i = 0; i < spans->leaves; i++)
    latest[spans->leaves + i] = i < spans->count ? spans->items[i].end : INT64_MIN;
  for (size_t i = spans->leaves - 1; i > 0; i--)
    latest[i] = latest[2 * i] > latest[2 * i + 1] ? latest[2 * i] : latest[2 * i + 1];
}

static void spans_close(struct spans *spans, size_t at) {
  int64_t *latest = spans->latest;
  size_t i = spans->leaves + at;
  latest[i] = INT64_MIN;
  for (i /= 2; i > 0; i /= 2) latest[i] = latest[2 * i] > latest[2 * i + 1] ? latest[2 * i] : latest[2 * i + 1];
}

/* The first span of a lane that is waited for from `from` on, or later. */
static size_t spans_from(const struct spans *spans, uint64_t lane, int64_t from) {
  size_t low = 0, high = spans->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct span *at = &spans->items[middle];
    if (at->lane != lane ? at->lane < lane : at->from < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The first open span from `at` on that ends at `end` or later; spans->leaves: there is none. */
static size_t spans_next(const struct spans *spans, size_t at, int64_t end) {
  size_t i = spans->leaves + at;
  if (at >= spans->leaves) return spans->leaves;
  while (spans->latest[i] < end) { /* up to the next stretch on the right, of which some ends late enough */
    while (i & 1) i /= 2;
    if (!i) return spans->leaves;
    i++;
  }
  while (i < spans->leaves) i = spans->latest[2 * i] >= end ? 2 * i : 2 * i + 1;
  return i - spans->leaves;
}

/* ---- judging ---- */

enum { CROSSED, COVERED_BY_CROSSING, COVERED_BY_LIKE, QUESTIONS };

static uint64_t lane_of(uint32_t thread, uint32_t name) { return (uint64_t)thread << 32 | name; }

/* What a row says about suspects. */
static void ask_row(const struct threads *all, struct spans *spans, unsigned question, struct span row,
                    struct spans *crossing) {
  bool is_crossed = question == CROSSED;
  size_t at = spans_from(spans, row.lane, is_crossed ? row.from + 1 : INT64_MIN);
  size_t until = spans_from(spans, row.lane, is_crossed ? row.end - ROUNDING_NS : row.from + 1);
  int64_t end = is_crossed ? row.end + ROUNDING_NS + 1 : row.end;
  for (at = spans_next(spans, at, end); at < until; at = spans_next(spans, at + 1, end)) {
    struct span *span = &spans->items[at];
    if (is_crossed) {
      crossing->items[crossing->count++] =
          (struct span){row.lane, row.end - ROUNDING_NS, span->end, span->suspect, 0};
      all->suspects.items[span->suspect].is_crossing = true;
      spans_close(spans, at);
    } else if (++span->found == COVERED) {
      all->suspects.items[span->suspect].is_out = true;
      spans_close(spans, at);
    }
  }
}

static bool ask_segment(const struct threads *all, uint32_t number, unsigned question, struct spans *spans,
                        struct spans *crossing) {
  const struct segment *segment = all->segments.items[number];
  bool is_by_name = question == COVERED_BY_LIKE, ok;
  struct row_columns columns;
  int64_t *names = is_by_name ? names_of(segment) : NULL;
  ok = row_columns_read(&columns, segment) && (names || !is_by_name);
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    if (!is_known(&columns, row) || (is_by_name && names[row] <= 0)) continue;
    if (columns.durations[row] > LONG_NS && is_suspect(all, number, row)) continue;
    uint64_t lane = lane_of((uint32_t)columns.threads[row], is_by_name ? (uint32_t)names[row] : 0);
    struct span asked = {lane, columns.starts[row], columns.starts[row] + columns.durations[row], 0, 0};
    ask_row(all, spans, question, asked, crossing);
  }
  row_columns_free(&columns);
  free(names);
  return ok;
}

static bool ask(const struct threads *all, unsigned question, struct spans *spans, struct spans *crossing) {
  bool ok = true;
  spans_sort(spans);
  for (uint32_t i = 0; i < all->segments.count && ok && spans->count; i++) {
    if (question == COVERED_BY_LIKE && !is_call(all->segments.items[i])) continue;
    ok = ask_segment(all, i, question, spans, crossing);
  }
  return ok;
}

static bool find_faults(const struct threads *all) {
  struct spans by_question[QUESTIONS] = {{0}};
  struct spans *crossed = &by_question[CROSSED], *like = &by_question[COVERED_BY_LIKE];
  struct spans *crossing = &by_question[COVERED_BY_CROSSING];
  bool ok = true;
  for (unsigned i = 0; i < QUESTIONS && ok; i++) ok = spans_make(&by_question[i], all->suspects.count);
  for (uint32_t i = 0; i < all->suspects.count && ok; i++) {
    const struct suspect *of = &all->suspects.items[i];
    crossed->items[crossed->count++] = (struct span){lane_of(of->thread, 0), of->start, of->end, i, 0};
    if (!of->is_call) continue;
    like->items[like->count++] = (struct span){lane_of(of->thread, of->name), of->start, of->end, i, 0};
  }
  ok = ok && ask(all, CROSSED, crossed, crossing) && ask(all, COVERED_BY_CROSSING, crossing, NULL) &&
       ask(all, COVERED_BY_LIKE, like, NULL);
  for (unsigned i = 0; i < QUESTIONS; i++) spans_free(&by_question[i]);
  return ok;
}

/* What many of a name have in common is no fault. */
static size_t keep_many(const struct threads *all) {
  size_t left = 0;
  for (size_t i = 0; i < all->suspects.count; i++) {
    const struct suspect *suspect = &all->suspects.items[i];
    usual_of(all, suspect)->faults += suspect->is_out || suspect->is_crossing;
  }
  for (size_t i = 0; i < all->suspects.count; i++) {
    const struct usual *usual = usual_of(all, &all->suspects.items[i]);
    if (usual->faults > FEW && usual->faults > usual->all / FEW_SHARE) all->suspects.items[i].is_out = false;
    left += all->suspects.items[i].is_out;
  }
  return left;
}

/* Takes durations out of one segment, of the first of `count` suspects and those that follow it there. */
static bool take_durations_out(const struct threads *all, const struct suspect *first, size_t count,
                               struct time_faults *faults) {
  struct segment *segment = all->segments.items[first->segment];
  const struct table_spec *spec = &schema_tables[segment->table];
  int64_t *starts = segment_numbers(segment, (unsigned)spec->start_column);
  int64_t *durations = segment_numbers(segment, (unsigned)spec->dur_column);
  bool ok = starts && durations;
  for (size_t i = 0; ok && i < count; i++) {
    if (!first[i].is_out) continue;
    double length = (double)(first[i].end - first[i].start);
    time_faults_add(faults, FAULT_CROSSES, segment, first[i].row, 1, length, length);
    durations[first[i].row] = ROW_NULL;
  }
  ok = ok && segment_change_span(segment, starts, durations);
  free(starts);
  free(durations);
  return ok;
}

static bool judge_suspects(const struct threads *all, struct time_faults *faults, bool *is_changed) {
  const struct suspect *suspects = all->suspects.items;
  bool ok = find_faults(all);
  if (!ok || !keep_many(all)) return ok;
  *is_changed = true;
  for (size_t first = 0, last; first < all->suspects.count && ok; first = last) {
    bool is_any = false;
    for (last = first; last < all->suspects.count && suspects[last].segment == suspects[first].segment; last++)
      is_any |= suspects[last].is_out;
    if (is_any) ok = take_durations_out(all, suspects + first, last - first, faults);
  }
  return ok;
}

enum tfprof_status thread_times_mend(struct profile *profile, const uint16_t *tables, unsigned count,
                                     struct time_faults *faults, bool *is_changed, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  struct threads all = {.profile = profile, .user = pool_find(pool, "user", strlen("user")),
                        .input = pool_find(pool, "input", strlen("input")),
                        .python = pool_find(pool, "python", strlen("python"))};
  bool ok = true;
  for (unsigned i = 0; i < count; i++) {
    const struct profile_table *table = &profile->tables[tables[i]];
    if (tables[i] != TABLE_ops && tables[i] != TABLE_api_calls) continue;
    for (size_t s = 0; s < table->segment_count && ok; s++) {
      if (!segment_has_span(table->segments[s])) continue;
      struct segment **made = list_add(&all.segments);
      ok = made != NULL;
      if (ok) *made = table->segments[s];
    }
  }
  ok = ok && find_suspects(&all);
  if (ok && all.suspects.count) ok = judge_suspects(&all, faults, is_changed);
  list_free(&all.segments);
  list_free(&all.suspects);
  list_free(&all.usual);
  free(all.usual_of_names);
  return ok ? TFPROF_OK : error_no_memory(error);
}
