/* thread_times.c: durations of ops and calls that cover what follows on their thread.
**
** A thread does one thing at a time, so that what it does nests.  A profiler that loses an end writes one that is
** milliseconds or seconds later, and the op lies over all that the thread did until then.  Suspected is what takes
** FAR_TIMES as long as half of its name do, and LONG_NS at least.  It is a fault where
**
**   it crosses           it began in an op, a mark or a call that it outlives, and COVERED rows lie in the time
**                        between the two ends.  Calls have a clock of their own, so that a call that ends SKEW_NS or
**                        one of SKEW_SHARE of its duration after what it began in outlives nothing; or
**   it covers its like   it is a call that does not wait, and COVERED calls of its own name lie in it: no launch
**                        makes launches.  A wait among waits is one of two threads that a converter wrote as one.
**
** First uses of an op may take as long, and so may waits, compilations and reads of data: these nest.  Asynchronous ops
** cross as well: where more than FEW of a name and one of FEW_SHARE do, however long they take, all of the name stay.
** A lane on which more than FEW rows and one of LANE_SHARE cross, those suspected left out, has several threads or two
** clocks in it, and all on it stay.  Python functions and marks are not looked at.  Of an op without any mark or op
** around it nothing tells that it did not call what lies in it.
*/
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "read/rows/eager_rows.h"
#include "read/rows/time_faults.h"

enum { ENOUGH = 8, FAR_TIMES = 100, COVERED = 4, FEW = 2, FEW_SHARE = 10, LANE_SHARE = 20, SKEW_SHARE = 100 };
enum { BUCKETS = 64 };
static const int64_t LONG_NS = 1000000;
static const int64_t SKEW_NS = 100000;   /* by which clocks of calls and ops may differ */
static const int64_t ROUNDING_NS = 2000; /* by which rows that follow one another may overlap */

/* Rows of a name, in buckets by the bits of durations. */
struct usual {
  uint32_t buckets[BUCKETS], all, faults;
  uint32_t looked_at, crossing; /* on lanes that have faults; without suspects */
};

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

/* A lane that has a fault, and a row on such a lane. */
struct lane { uint32_t thread, rows, crossing; };

struct lane_row {
  int64_t start, end;
  uint32_t lane, usual; /* usual: of its name, + 1; 0: there is none */
  bool is_of_program, is_crossing;
};

LIST_NAMED(lane_row_list, struct lane_row);

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
          (struct span){row.lane, row.end - ROUNDING_NS, all->suspects.items[span->suspect].end, span->suspect, 0};
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

/* Until when a suspect has to outlast what it began in. */
static int64_t end_without_skew(const struct suspect *of) {
  int64_t skew = (of->end - of->start) / SKEW_SHARE;
  return of->is_call ? of->end - (skew > SKEW_NS ? skew : SKEW_NS) : of->end;
}

static bool is_wait(const struct threads *all, const struct suspect *of) {
  return strstr(pool_text(store_pool(all->profile->store), (string_id)of->name), "Synchronize") != NULL;
}

static bool find_faults(const struct threads *all) {
  struct spans by_question[QUESTIONS] = {{0}};
  struct spans *crossed = &by_question[CROSSED], *like = &by_question[COVERED_BY_LIKE];
  struct spans *crossing = &by_question[COVERED_BY_CROSSING];
  bool ok = true;
  for (unsigned i = 0; i < QUESTIONS && ok; i++) ok = spans_make(&by_question[i], all->suspects.count);
  for (uint32_t i = 0; i < all->suspects.count && ok; i++) {
    const struct suspect *of = &all->suspects.items[i];
    crossed->items[crossed->count++] = (struct span){lane_of(of->thread, 0), of->start, end_without_skew(of), i, 0};
    if (!of->is_call || is_wait(all, of)) continue;
    like->items[like->count++] = (struct span){lane_of(of->thread, of->name), of->start, of->end, i, 0};
  }
  ok = ok && ask(all, CROSSED, crossed, crossing) && ask(all, COVERED_BY_CROSSING, crossing, NULL) &&
       ask(all, COVERED_BY_LIKE, like, NULL);
  for (unsigned i = 0; i < QUESTIONS; i++) spans_free(&by_question[i]);
  return ok;
}

/* ---- what many have in common ---- */

static int by_thread(const void *a, const void *b) {
  const struct lane *x = a, *y = b;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* The lanes that have faults, sorted; NULL: no memory. */
static struct lane *list_lanes(const struct threads *all, size_t *count) {
  struct lane *lanes = malloc((all->suspects.count + 1) * sizeof *lanes);
  size_t found = 0;
  *count = 0;
  for (size_t i = 0; lanes && i < all->suspects.count; i++)
    if (all->suspects.items[i].is_out) lanes[found++] = (struct lane){.thread = all->suspects.items[i].thread};
  if (found) qsort(lanes, found, sizeof *lanes, by_thread);
  for (size_t i = 0; i < found; i++)
    if (!*count || lanes[*count - 1].thread != lanes[i].thread) lanes[(*count)++] = lanes[i];
  return lanes;
}

static struct lane *lane_with_faults(struct lane *lanes, size_t count, uint32_t thread) {
  struct lane key = {.thread = thread};
  return count ? bsearch(&key, lanes, count, sizeof *lanes, by_thread) : NULL;
}

/* The rows of a segment on these lanes, without suspects and Python's functions, which have a clock of their own. */
static bool gather_lane_rows(const struct threads *all, uint32_t number, struct lane *lanes, size_t count,
                             struct lane_row_list *rows) {
  const struct segment *segment = all->segments.items[number];
  struct row_columns columns;
  int64_t *names = names_of(segment);
  bool ok = row_columns_read(&columns, segment) && names;
  for (uint32_t row = 0; ok && row < segment->rows; row++) {
    if (!is_known(&columns, row)) continue;
    if (columns.categories && columns.categories[row] == all->python) continue;
    struct lane *lane = lane_with_faults(lanes, count, (uint32_t)columns.threads[row]);
    if (!lane || (columns.durations[row] > LONG_NS && is_suspect(all, number, row))) continue;
    struct lane_row *made = list_add(rows);
    ok = made != NULL;
    if (ok)
      *made = (struct lane_row){.start = columns.starts[row], .end = columns.starts[row] + columns.durations[row],
                                .lane = (uint32_t)(lane - lanes),
                                .usual = names[row] > 0 ? all->usual_of_names[names[row]] : 0,
                                .is_of_program = is_of_program(all, &columns, row)};
  }
  row_columns_free(&columns);
  free(names);
  return ok;
}

static int by_lane_and_start(const void *a, const void *b) {
  const struct lane_row *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end;
}

/* Marks sorted rows that begin in one which they outlive, and those outlived. False: no memory. */
static bool find_crossing(struct lane_row *rows, size_t count) {
  struct lane_row **open = malloc((count + 1) * sizeof *open);
  size_t depth = 0;
  for (size_t i = 0; open && i < count; i++) {
    struct lane_row *row = &rows[i];
    while (depth && (open[depth - 1]->lane != row->lane || open[depth - 1]->end <= row->start + ROUNDING_NS)) depth--;
    for (; depth && open[depth - 1]->end < row->end - ROUNDING_NS; depth--)
      row->is_crossing = open[depth - 1]->is_crossing = true;
    open[depth++] = row;
  }
  free(open);
  return open != NULL;
}

/* Counts what crosses on the lanes, and of names. */
static void count_crossing(const struct threads *all, struct lane *lanes, const struct lane_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].is_of_program) continue;
    lanes[rows[i].lane].rows++;
    lanes[rows[i].lane].crossing += rows[i].is_crossing;
    if (!rows[i].usual) continue;
    all->usual.items[rows[i].usual - 1].looked_at++;
    all->usual.items[rows[i].usual - 1].crossing += rows[i].is_crossing;
  }
}

static bool are_many(uint32_t some, uint32_t all, uint32_t share) { return some > FEW && some > all / share; }

/* What many of a name, or on a lane, have in common is no fault. False: no memory. */
static bool keep_many(const struct threads *all, size_t *left) {
  struct lane_row_list rows = {0};
  size_t lane_count;
  struct lane *lanes = list_lanes(all, &lane_count);
  bool ok = lanes != NULL;
  *left = 0;
  for (uint32_t i = 0; i < all->segments.count && ok && lane_count; i++)
    ok = gather_lane_rows(all, i, lanes, lane_count, &rows);
  if (ok && rows.count) qsort(rows.items, rows.count, sizeof *rows.items, by_lane_and_start);
  ok = ok && find_crossing(rows.items, rows.count);
  if (ok) count_crossing(all, lanes, rows.items, rows.count);
  for (size_t i = 0; i < all->suspects.count && ok; i++) {
    const struct suspect *suspect = &all->suspects.items[i];
    usual_of(all, suspect)->faults += suspect->is_out || suspect->is_crossing;
  }
  for (size_t i = 0; i < all->suspects.count && ok; i++) {
    struct suspect *suspect = &all->suspects.items[i];
    const struct usual *usual = usual_of(all, suspect);
    const struct lane *lane = suspect->is_out ? lane_with_faults(lanes, lane_count, suspect->thread) : NULL;
    if (are_many(usual->faults, usual->all, FEW_SHARE)) suspect->is_out = false;
    if (are_many(usual->crossing, usual->looked_at, FEW_SHARE)) suspect->is_out = false;
    if (lane && are_many(lane->crossing, lane->rows, LANE_SHARE)) suspect->is_out = false;
    *left += suspect->is_out;
  }
  list_free(&rows);
  free(lanes);
  return ok;
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
  size_t left;
  bool ok = find_faults(all) && keep_many(all, &left);
  if (!ok || !left) return ok;
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
