/* test_derive.c: derive passes against slow and obvious references, on thousands of small random profiles.
**
** Profiles are made in memory and opened through the store like any other, with a source that hands out prepared
** columns, cut into segments at random places.  test_derive --time [ROWS] prints what the passes cost instead.
*/
#include "derive/derive.h"
#include "derive/rows.h"
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

__attribute__((format(printf, 2, 3))) static bool check(bool holds, const char *format, ...) {
  va_list arguments;
  if (holds) return true;
  if (++failures > 20) return false;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  return false;
}

static uint64_t random_state = 88172645463325252u;

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static uint32_t below_of(uint64_t *state, uint32_t bound) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (uint32_t)((*state * 2685821657736338717u >> 32) * bound >> 32);
}

static uint32_t below(uint32_t bound) { return below_of(&random_state, bound); }

/* ---- a profile in memory ---- */

struct content {
  int64_t *values[TABLE_count][SCHEMA_MAXIMUM_COLUMNS]; /* NO_VALUE: NULL; owned */
  uint32_t rows[TABLE_count];
};

struct opened {
  struct store *store;
  struct profile *profile;
  struct content content;
};

static enum tfprof_status load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                               unsigned count, struct column **out, struct tfprof_error *error) {
  struct content *content = profile->source_data;
  (void)error;
  for (unsigned i = 0; i < count; i++) {
    const int64_t *values = content->values[segment->table][columns[i]] + segment->first_row;
    uint64_t *nulls = calloc(segment->rows / 64 + 1, sizeof *nulls);
    bool has_nulls = false;
    for (uint32_t row = 0; row < segment->rows; row++) {
      if (values[row] != NO_VALUE) continue;
      nulls[row >> 6] |= (uint64_t)1 << (row & 63);
      has_nulls = true;
    }
    out[i] = column_from_integers(values, has_nulls ? nulls : NULL, segment->rows);
    free(nulls);
  }
  return TFPROF_OK;
}

static void free_profile(struct profile *profile) { (void)profile; }

static const struct profile_source from_start = {.format = "tfprof", .load = load, .free_profile = free_profile};
static const struct profile_source window = {.format = "kineto", .load = load, .free_profile = free_profile};

static void begin(struct opened *opened) {
  *opened = (struct opened){.store = store_create(derive_passes, derive_pass_count)};
}

static int64_t *column(struct opened *opened, unsigned table, unsigned number, uint32_t rows) {
  int64_t **values = &opened->content.values[table][number];
  *values = malloc(((size_t)rows + 1) * sizeof **values);
  for (uint32_t row = 0; row < rows; row++) (*values)[row] = NO_VALUE;
  opened->content.rows[table] = rows;
  return *values;
}

static int64_t text(struct opened *opened, const char *bytes) {
  string_id id = 0;
  pool_intern(store_pool(opened->store), bytes, strlen(bytes), &id);
  return id;
}

/* Publishes what was prepared, cut into segments of up to `piece` rows (0: one). */
static void publish(struct opened *opened, const struct profile_source *source, uint32_t piece) {
  struct tfprof_error error;
  uint32_t run;
  if (store_add_run(opened->store, "test", source->format, &run, &error) ||
      store_add_profile(opened->store, run, source, &opened->content, &opened->profile, &error)) {
    check(false, "cannot add a profile: %s", error.message);
    exit(1);
  }
  opened->profile->complete = true;
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct column_set raw = {{0, 0}};
    for (unsigned number = 0; number < SCHEMA_MAXIMUM_COLUMNS; number++) {
      if (opened->content.values[table][number]) column_set_add(&raw, number);
    }
    for (uint32_t first = 0, rows; first < opened->content.rows[table]; first += rows) {
      rows = piece ? 1 + below(piece) : opened->content.rows[table];
      if (rows > opened->content.rows[table] - first) rows = opened->content.rows[table] - first;
      if (profile_add_segment(opened->profile, table, first, rows, &raw, NULL, NULL, &error)) {
        check(false, "cannot add a segment: %s", error.message);
        exit(1);
      }
    }
  }
  store_publish_run(opened->store, run);
}

static void end(struct opened *opened) {
  store_release(opened->store);
  for (unsigned table = 0; table < TABLE_count; table++) {
    for (unsigned number = 0; number < SCHEMA_MAXIMUM_COLUMNS; number++) free(opened->content.values[table][number]);
  }
}

/* A column as the store gives it after deriving; NO_VALUE for NULL. The caller frees it. */
static int64_t *derived(struct opened *opened, unsigned table, unsigned number, uint32_t *rows) {
  struct column_set columns = {{0, 0}};
  struct tfprof_error error = {.status = TFPROF_OK};
  int64_t *values = NULL, *copy;
  column_set_add(&columns, number);
  if (profile_require(opened->profile, table, &columns, &error) ||
      derive_all_integers(opened->profile, table, number, &values, &error)) {
    check(false, "cannot derive %s.%s: %s", schema_tables[table].name, schema_tables[table].columns[number].name,
          error.message);
    exit(1);
  }
  size_t count = opened->profile->tables[table].rows;
  if (rows) *rows = (uint32_t)count;
  copy = malloc((count + 1) * sizeof *copy);
  if (!copy) exit(1);
  memcpy(copy, values, count * sizeof *copy);
  scratch_free(values);
  return copy;
}

static const char *text_of(const struct opened *opened, int64_t id) {
  const char *bytes = id == NO_VALUE ? NULL : pool_text(store_pool(opened->store), (string_id)id);
  return bytes ? bytes : "(NULL)";
}

/* ---- nesting ---- */

struct row {
  int64_t start, end;
  uint32_t thread; /* NO_ROW: none */
  bool is_user;
  int64_t true_parent; /* where the generator knows it: index of the row, -1 none */
  int64_t id;          /* the generator's own number */
};

struct row_list {
  struct row rows[400];
  uint32_t count;
};

/* A call and what it calls, in end order; the clock moves on by 0 ... 2 (or 1 ... 2) at each event. */
static int64_t next_id;
static int64_t call(struct row_list *list, uint32_t thread, int64_t *clock, int depth, bool is_strict, int64_t parent) {
  int64_t id = next_id++;
  struct row row = {.thread = thread, .id = id, .true_parent = parent, .is_user = below(6) == 0};
  *clock += is_strict + below(2);
  row.start = *clock;
  for (uint32_t children = depth ? below(4) : 0; children > 0 && list->count < 300; children--) {
    call(list, thread, clock, depth - 1, is_strict, id);
  }
  *clock += is_strict + below(2);
  row.end = *clock;
  list->rows[list->count++] = row;
  return id;
}

/* Adds user ranges that end anywhere, each row placed where its end belongs. */
static void add_async(struct row_list *list, uint32_t thread, int64_t last) {
  for (uint32_t count = below(4); count > 0; count--) {
    struct row row = {.thread = thread, .id = next_id++, .true_parent = -1, .is_user = true};
    row.start = below((uint32_t)last + 1);
    row.end = row.start + below(12);
    uint32_t place = list->count;
    while (place > 0 && (list->rows[place - 1].end > row.end ||
                         (list->rows[place - 1].end == row.end && list->rows[place - 1].start < row.start))) {
      place--;
    }
    memmove(&list->rows[place + 1], &list->rows[place], (list->count - place) * sizeof row);
    list->rows[place] = row;
    list->count++;
  }
}

/* What nesting.c says nested means, word for word. `order` are the thread's rows in end order. */
static void reference_nesting(const struct row *rows, const uint32_t *order, uint32_t count, int64_t *parents,
                              int64_t *selves, bool *is_async) {
  for (uint32_t i = 0; i < count; i++) {
    const struct row *a = &rows[order[i]];
    is_async[order[i]] = false;
    if (!a->is_user || a->start == a->end) continue;
    for (uint32_t k = 0; k < count; k++) {
      const struct row *b = &rows[order[k]];
      if (b->is_user || b->start == b->end) continue;
      if (k < i && b->start < a->start && a->start < b->end) is_async[order[i]] = true;
      if (k > i && a->start < b->start && b->start < a->end) is_async[order[i]] = true;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct row *a = &rows[order[i]];
    if (!a->is_user || a->start == a->end || is_async[order[i]]) continue;
    for (uint32_t k = 0; k < i; k++) {
      const struct row *b = &rows[order[k]];
      if (!is_async[order[k]] && b->start < a->start && a->start < b->end) is_async[order[i]] = true;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t row = order[i];
    parents[row] = NO_VALUE;
    for (uint32_t k = i + 1; k < count && !is_async[row] && parents[row] == NO_VALUE; k++) {
      const struct row *b = &rows[order[k]];
      if (!is_async[order[k]] && b->start < b->end && b->start <= rows[row].start) parents[row] = order[k];
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t row = order[i];
    selves[row] = is_async[row] ? NO_VALUE : rows[row].end - rows[row].start;
    /* Moment by moment. */
    for (int64_t now = rows[row].start; now < rows[row].end && !is_async[row]; now++) {
      bool is_covered = false;
      for (uint32_t k = 0; k < count; k++) {
        const struct row *child = &rows[order[k]];
        if (parents[order[k]] == row && child->start <= now && now < child->end) is_covered = true;
      }
      selves[row] -= is_covered;
    }
  }
}

enum arrangement { END_ORDER, START_ORDER, SHUFFLED };

static const struct row *sorted_rows;
static bool is_parent_first;

static int by_end_order(const void *left, const void *right) {
  uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
  const struct row *a = &sorted_rows[i], *b = &sorted_rows[k];
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  if (a->start != b->start) return a->start > b->start ? -1 : 1;
  return (i < k) == is_parent_first ? 1 : -1;
}

static bool starts_later(const struct row *a, const struct row *b) {
  return a->start != b->start ? a->start > b->start : a->end < b->end;
}

static void arrange(struct row_list *list, enum arrangement arrangement) {
  struct row *rows = list->rows, other;
  if (arrangement == SHUFFLED) {
    for (uint32_t i = list->count; i > 1; i--) {
      uint32_t k = below(i);
      other = rows[i - 1];
      rows[i - 1] = rows[k];
      rows[k] = other;
    }
  } else if (arrangement == START_ORDER) {
    for (uint32_t i = 1; i < list->count; i++) {
      for (uint32_t k = i; k > 0 && starts_later(&rows[k - 1], &rows[k]); k--) {
        other = rows[k];
        rows[k] = rows[k - 1];
        rows[k - 1] = other;
      }
    }
  }
}

/* Mixes the rows of several threads, each in its own order; a few rows get no thread or no end. */
static void mix(struct row_list *all, const struct row_list *lanes, uint32_t lane_count) {
  uint32_t next[4] = {0};
  all->count = 0;
  for (uint32_t left = 1; left > 0;) {
    uint32_t lane = below(lane_count);
    left = 0;
    for (uint32_t run = below(5); run > 0 && next[lane] < lanes[lane].count; run--) {
      all->rows[all->count++] = lanes[lane].rows[next[lane]++];
      if (below(60) == 0) all->rows[all->count - 1].thread = NO_ROW;
      if (below(60) == 0) all->rows[all->count - 1].end = NO_VALUE;
    }
    for (uint32_t i = 0; i < lane_count; i++) left += lanes[i].count - next[i];
  }
}

static void put_ops(struct opened *opened, const struct row_list *list, uint32_t threads) {
  int64_t *starts = column(opened, TABLE_ops, COLUMN_ops_start_ns, list->count);
  int64_t *ends = column(opened, TABLE_ops, COLUMN_ops_end_ns, list->count);
  int64_t *lanes = column(opened, TABLE_ops, COLUMN_ops_thread_id, list->count);
  int64_t *categories = column(opened, TABLE_ops, COLUMN_ops_category, list->count);
  int64_t *durations = column(opened, TABLE_ops, COLUMN_ops_dur_ns, list->count);
  int64_t *names = column(opened, TABLE_ops, COLUMN_ops_name, list->count);
  int64_t op = text(opened, "op"), user = text(opened, "user");
  for (uint32_t i = 0; i < list->count; i++) {
    const struct row *row = &list->rows[i];
    char name[32];
    snprintf(name, sizeof name, row->is_user ? "range %u" : "aten::%u", (unsigned)row->id % 7);
    names[i] = text(opened, name);
    starts[i] = 1000000 + row->start;
    ends[i] = row->end == NO_VALUE ? NO_VALUE : 1000000 + row->end;
    durations[i] = row->end == NO_VALUE ? NO_VALUE : row->end - row->start;
    if (row->thread != NO_ROW) lanes[i] = row->thread;
    categories[i] = row->is_user ? user : op;
  }
  int64_t *kinds = column(opened, TABLE_threads, COLUMN_threads_kind, threads);
  for (uint32_t i = 0; i < threads; i++) kinds[i] = text(opened, "host");
}

/* Whether a call stack may have written the rows as they ended. */
static bool is_in_end_order(const struct row *rows, const uint32_t *order, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = i + 1; k < count; k++) {
      const struct row *earlier = &rows[order[i]], *later = &rows[order[k]];
      if (later->end < earlier->end) return false;
      if (later->end == earlier->end && later->start > earlier->start && later->start < later->end) return false;
    }
  }
  return true;
}

static void compare_nesting(struct opened *opened, const struct row_list *list, uint32_t threads, bool is_truth_known,
                            unsigned number) {
  int64_t parents[400], selves[400];
  bool is_async[400] = {false}, nests[400];
  for (uint32_t i = 0; i < list->count; i++) nests[i] = list->rows[i].thread != NO_ROW && list->rows[i].end != NO_VALUE;
  for (uint32_t thread = 0; thread < threads; thread++) {
    uint32_t order[400], count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
      if (nests[i] && list->rows[i].thread == thread) order[count++] = i;
    }
    /* As nesting.c decides it: which way the thread's rows are closer to. */
    uint32_t end_inversions = 0, start_inversions = 0;
    for (uint32_t i = 1; i < count; i++) {
      end_inversions += list->rows[order[i]].end < list->rows[order[i - 1]].end;
      start_inversions += list->rows[order[i]].start < list->rows[order[i - 1]].start;
    }
    sorted_rows = list->rows;
    is_parent_first = start_inversions <= end_inversions;
    if (!is_in_end_order(list->rows, order, count)) qsort(order, count, sizeof *order, by_end_order);
    reference_nesting(list->rows, order, count, parents, selves, is_async);
  }
  int64_t *got_parents = derived(opened, TABLE_ops, COLUMN_ops_parent_id, NULL);
  int64_t *got_depths = derived(opened, TABLE_ops, COLUMN_ops_depth, NULL);
  int64_t *got_selves = derived(opened, TABLE_ops, COLUMN_ops_self_ns, NULL);
  for (uint32_t i = 0; i < list->count; i++) {
    int64_t parent = nests[i] ? parents[i] : NO_VALUE, depth = 0, self = nests[i] ? selves[i] : NO_VALUE;
    for (int64_t up = parent; up != NO_VALUE; up = parents[up]) depth++;
    if (!nests[i] || is_async[i]) depth = NO_VALUE;
    bool is_right = check(got_parents[i] == parent && got_depths[i] == depth && got_selves[i] == self,
                          "nesting %u, row %u (%lld ... %lld): "
                          "parent %lld depth %lld self %lld instead of %lld %lld %lld",
                          number, i, (long long)list->rows[i].start, (long long)list->rows[i].end,
                          (long long)got_parents[i], (long long)got_depths[i], (long long)got_selves[i],
                          (long long)parent, (long long)depth, (long long)self);
    if (!is_right) break;
    if (!is_truth_known || !nests[i]) continue;
    int64_t truth = list->rows[i].true_parent, found = parent == NO_VALUE ? -1 : list->rows[parent].id;
    /* A parent that lost its thread or end cannot be found; whoever is around it is. */
    bool is_found = found == truth;
    for (uint32_t k = 0; k < list->count; k++) is_found |= list->rows[k].id == truth && !nests[k];
    check(is_found, "nesting %u, row %u: the call tree says another parent", number, i);
  }
  free(got_parents);
  free(got_depths);
  free(got_selves);
}

static void test_nesting(unsigned cases) {
  for (unsigned number = 0; number < cases && failures < 20; number++) {
    static struct row_list lanes[4], all;
    struct opened opened;
    uint32_t threads = 1 + below(3);
    bool is_strict = below(2), has_async = below(3) == 0;
    enum arrangement arrangement = below(2) ? END_ORDER : below(2) ? START_ORDER : SHUFFLED;
    next_id = 0;
    for (uint32_t thread = 0; thread < threads; thread++) {
      int64_t clock = 0;
      lanes[thread].count = 0;
      for (uint32_t calls = below(5); calls > 0 && lanes[thread].count < 60; calls--) {
        call(&lanes[thread], thread, &clock, (int)below(4), is_strict, -1);
      }
      if (lanes[thread].count > 100) lanes[thread].count = 100;
      if (has_async) add_async(&lanes[thread], thread, clock);
      arrange(&lanes[thread], arrangement);
    }
    mix(&all, lanes, threads);
    begin(&opened);
    put_ops(&opened, &all, threads);
    publish(&opened, &from_start, below(2) ? 9 : 0);
    bool is_truth_known = is_strict && !has_async && arrangement == END_ORDER && lanes[0].count < 100;
    for (uint32_t thread = 0; thread < threads; thread++) is_truth_known &= lanes[thread].count < 100;
    compare_nesting(&opened, &all, threads, is_truth_known, number);
    end(&opened);
  }
}

/* Rows that nest in no way at all: whatever comes out must be a forest of enclosing rows. */
static void test_nonsense(unsigned cases) {
  for (unsigned number = 0; number < cases && failures < 20; number++) {
    static struct row_list all;
    struct opened opened;
    all.count = below(120);
    for (uint32_t i = 0; i < all.count; i++) {
      int64_t start = below(40);
      all.rows[i] = (struct row){.start = start, .end = start + below(20) - (below(30) == 0 ? 15 : 0),
                                 .thread = below(3), .is_user = below(3) == 0};
    }
    begin(&opened);
    put_ops(&opened, &all, 2); /* thread 2 does not exist */
    publish(&opened, &window, below(2) ? 20 : 0);
    int64_t *parents = derived(&opened, TABLE_ops, COLUMN_ops_parent_id, NULL);
    int64_t *depths = derived(&opened, TABLE_ops, COLUMN_ops_depth, NULL);
    int64_t *selves = derived(&opened, TABLE_ops, COLUMN_ops_self_ns, NULL);
    for (uint32_t i = 0; i < all.count; i++) {
      const struct row *row = &all.rows[i];
      bool is_usable = row->thread < 2 && row->start <= row->end;
      check(is_usable || (parents[i] == NO_VALUE && depths[i] == NO_VALUE && selves[i] == NO_VALUE),
            "nonsense %u, row %u nests although it cannot", number, i);
      if (!is_usable || depths[i] == NO_VALUE) continue;
      check(selves[i] >= 0 && selves[i] <= row->end - row->start, "nonsense %u, row %u: self", number, i);
      if (parents[i] == NO_VALUE) {
        check(depths[i] == 0, "nonsense %u, row %u: depth", number, i);
        continue;
      }
      const struct row *parent = &all.rows[parents[i]];
      check(parent->thread == row->thread && parent->start <= row->start && parent->end >= row->end &&
                depths[i] == depths[parents[i]] + 1,
            "nonsense %u, row %u does not lie in its parent", number, i);
    }
    free(parents);
    free(depths);
    free(selves);
    int64_t *ranges = derived(&opened, TABLE_ranges, COLUMN_ranges_name, NULL);
    free(ranges);
    end(&opened);
  }
}

/* Times and numbers from the ends of what 64 bits hold: nothing may overflow, hang or crash. */
static void test_extremes(unsigned cases) {
  static const int64_t values[] = {INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, 0, 1, -1, INT64_C(1) << 62, 5000, 6000};
  static const char *const texts[] = {"op", "user", "autograd", "Optimizer.step#A.step", "ProfilerStep#7",
                                      "ProfilerStep#99999999999999999999", "enumerate(DataLoader)#",
                                      "enumerate(DataPipe)#p", ""};
  enum { VALUES = sizeof values / sizeof values[0], TEXTS = sizeof texts / sizeof texts[0] };
  for (unsigned number = 0; number < cases; number++) {
    struct opened opened;
    uint32_t rows = 1 + below(40);
    begin(&opened);
    for (unsigned table = 0; table < 3; table++) {
      static const unsigned tables[] = {TABLE_ops, TABLE_threads, TABLE_steps};
      const struct table_spec *spec = &schema_tables[tables[table]];
      if (tables[table] == TABLE_steps && below(2)) continue;
      for (unsigned i = 2; i < spec->column_count; i++) {
        const struct column_spec *described = &spec->columns[i];
        bool is_text = described->type == TYPE_TEXT || described->type == TYPE_JSON;
        if (described->type == TYPE_REAL || (below(3) == 0 && i > 20)) continue;
        int64_t *to = column(&opened, tables[table], i, rows);
        for (uint32_t row = 0; row < rows; row++) {
          to[row] = is_text ? text(&opened, texts[below(TEXTS)]) : below(2) ? (int64_t)below(3) : values[below(VALUES)];
        }
      }
    }
    publish(&opened, below(2) ? &from_start : &window, below(2) ? 10 : 0);
    for (unsigned table = 0; table < TABLE_count; table++) {
      if (table == TABLE_runs || table == TABLE_profiles || table == TABLE_diagnostics) continue;
      for (unsigned i = 2; i < schema_tables[table].column_count; i++) {
        if (schema_tables[table].columns[i].type == TYPE_REAL) continue;
        free(derived(&opened, table, i, NULL));
      }
    }
    end(&opened);
  }
}

/* ---- a program, told row by row ---- */

struct script {
  struct opened opened;
  int64_t *columns[COLUMN_COUNT_ops];
  uint32_t count;
};

enum { SCRIPT_ROWS = 4096 };

static void script_begin(struct script *script, uint32_t threads) {
  static const unsigned used[] = {COLUMN_ops_name,     COLUMN_ops_category,        COLUMN_ops_thread_id,
                                  COLUMN_ops_start_ns, COLUMN_ops_end_ns,          COLUMN_ops_dur_ns,
                                  COLUMN_ops_sequence_number, COLUMN_ops_forward_thread,
                                  COLUMN_ops_recorded_code_trace};
  *script = (struct script){.count = 0};
  begin(&script->opened);
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
    script->columns[used[i]] = column(&script->opened, TABLE_ops, used[i], SCRIPT_ROWS);
  }
  int64_t *logical = column(&script->opened, TABLE_threads, COLUMN_threads_logical_thread, threads);
  for (uint32_t i = 0; i < threads; i++) logical[i] = i + 1;
  int64_t *depths = column(&script->opened, TABLE_code_traces, COLUMN_code_traces_depth, 100);
  for (uint32_t i = 0; i < 100; i++) depths[i] = 1;
}

static uint32_t script_row(struct script *script, const char *category, const char *name, uint32_t thread,
                           int64_t start, int64_t finish) {
  uint32_t row = script->count++;
  script->columns[COLUMN_ops_name][row] = text(&script->opened, name);
  script->columns[COLUMN_ops_category][row] = text(&script->opened, category);
  script->columns[COLUMN_ops_thread_id][row] = thread;
  script->columns[COLUMN_ops_start_ns][row] = start;
  script->columns[COLUMN_ops_end_ns][row] = finish;
  script->columns[COLUMN_ops_dur_ns][row] = finish - start;
  return row;
}

static void script_end(struct script *script, const struct profile_source *source) {
  script->opened.content.rows[TABLE_ops] = script->count;
  publish(&script->opened, source, 50);
}

/* Compares the steps with "origin number start end warmup recorded, ..." */
static void check_steps(struct script *script, const char *what, const char *expected) {
  uint32_t rows;
  char got[4096] = "";
  size_t length = 0;
  static const unsigned wanted[] = {COLUMN_steps_origin, COLUMN_steps_number,    COLUMN_steps_start_ns,
                                    COLUMN_steps_end_ns, COLUMN_steps_is_warmup, COLUMN_steps_ops_recorded};
  int64_t *values[6], *durations, *names;
  for (unsigned i = 0; i < 6; i++) values[i] = derived(&script->opened, TABLE_steps, wanted[i], &rows);
  durations = derived(&script->opened, TABLE_steps, COLUMN_steps_dur_ns, NULL);
  names = derived(&script->opened, TABLE_steps, COLUMN_steps_name, NULL);
  for (uint32_t i = 0; i < rows && length < sizeof got; i++) {
    length += (size_t)snprintf(got + length, sizeof got - length, "%s%s %lld %lld %lld %lld %lld", i ? ", " : "",
                               text_of(&script->opened, values[0][i]), (long long)values[1][i], (long long)values[2][i],
                               (long long)values[3][i], (long long)values[4][i], (long long)values[5][i]);
    check(durations[i] == values[3][i] - values[2][i], "%s: dur_ns of step %u", what, i);
    check(strncmp(text_of(&script->opened, names[i]), "step ", 5) == 0 ||
              strncmp(text_of(&script->opened, names[i]), "ProfilerStep#", 13) == 0,
          "%s: name of step %u", what, i);
  }
  check(strcmp(got, expected) == 0, "%s: steps are\n  %s\ninstead of\n  %s", what, got, expected);
  for (unsigned i = 0; i < 6; i++) free(values[i]);
  free(durations);
  free(names);
}

static void test_steps(void) {
  struct script script;
  const char *adam = "Optimizer.step#Adam.step", *sgd = "Optimizer.step#SGD.step";

  script_begin(&script, 1);
  script_end(&script, &from_start);
  check_steps(&script, "no rows", "");
  end(&script.opened);

  script_begin(&script, 1);
  script_row(&script, "op", "aten::mm", 0, 10, 20);
  script_end(&script, &from_start);
  check_steps(&script, "no marks", "");
  end(&script.opened);

  /* Setting up, then four iterations that begin with two aten::randn each; then an evaluation. */
  script_begin(&script, 2);
  script_row(&script, "op", "aten::uniform_", 0, 10, 20);
  script_row(&script, "op", "aten::randn", 0, 30, 40);
  script_row(&script, "op", "aten::uniform_", 0, 50, 60);
  for (int64_t i = 0; i < 4; i++) {
    script_row(&script, "op", "aten::randn", 0, 110 + 100 * i, 120 + 100 * i);
    script_row(&script, "op", "aten::randn", 0, 122 + 100 * i, 130 + 100 * i);
    script_row(&script, "op", "aten::mm", 0, 130 + 100 * i, 150 + 100 * i);
    if (i != 2) script_row(&script, "op", "aten::add", 0, 160 + 100 * i, 170 + 100 * i);
    script_row(&script, "user", adam, 0, 160 + 100 * i, 190 + 100 * i);
  }
  script_row(&script, "op", "aten::mm", 0, 600, 700);
  script_end(&script, &from_start);
  check_steps(&script, "optimizer",
              "optimizer 0 110 190 1 1, optimizer 1 190 290 1 1, optimizer 2 290 390 0 1, optimizer 3 390 490 0 1");
  int64_t *steps = derived(&script.opened, TABLE_ops, COLUMN_ops_step_id, NULL);
  check(steps[0] == NO_VALUE && steps[1] == NO_VALUE && steps[3] == 0 && steps[7] == 0 && steps[8] == 1 &&
            steps[script.count - 2] == 3 && steps[script.count - 1] == NO_VALUE,
        "steps of ops: %lld %lld %lld", (long long)steps[3], (long long)steps[7], (long long)steps[8]);
  free(steps);
  end(&script.opened);

  /* Only every fourth step is recorded after the first three: warm-up must leave half of what was recorded. */
  script_begin(&script, 1);
  for (int64_t i = 0; i < 8; i++) {
    if (i < 3 || i == 6) script_row(&script, "op", "aten::mm", 0, 10 + 100 * i, 20 + 100 * i);
    script_row(&script, "user", adam, 0, 80 + 100 * i, 90 + 100 * i);
  }
  script_end(&script, &from_start);
  check_steps(&script, "sampled",
              "optimizer 0 10 90 1 1, optimizer 1 90 190 1 1, optimizer 2 190 290 0 1, optimizer 3 290 390 0 0, "
              "optimizer 4 390 490 0 0, optimizer 5 490 590 0 0, optimizer 6 590 690 0 1, optimizer 7 690 790 0 0");
  end(&script.opened);

  /* Marks of a profiler win, on the thread that has most of them; a window of another profiler has no warm-up. */
  for (int is_window = 0; is_window < 2; is_window++) {
    script_begin(&script, 2);
    script_row(&script, "user", "ProfilerStep#9", 1, 0, 900);
    script_row(&script, "user", "ProfilerStep#x", 0, 0, 900);
    for (int64_t i = 0; i < 3; i++) {
      script_row(&script, "op", "aten::mm", 0, 110 + 100 * i, 120 + 100 * i);
      script_row(&script, "user", adam, 0, 180 + 100 * i, 190 + 100 * i);
      char name[32];
      snprintf(name, sizeof name, "ProfilerStep#%d", (int)i + 5);
      script_row(&script, "user", name, 0, 100 + 100 * i, 195 + 100 * i);
    }
    script_end(&script, is_window ? &window : &from_start);
    check_steps(&script, "marks", is_window ? "profiler 5 100 195 0 1, profiler 6 200 295 0 1, profiler 7 300 395 0 1"
                                            : "profiler 5 100 195 1 1, profiler 6 200 295 0 1, profiler 7 300 395 0 1");
    end(&script.opened);
  }

  /* What is marked after the last iteration is no step. Where ops were left out, that there are none says nothing. */
  for (int is_sampled = 0; is_sampled < 2; is_sampled++) {
    for (int has_ranges = 0; has_ranges < 2; has_ranges++) {
      script_begin(&script, 2);
      for (int64_t i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        if (i < 3) script_row(&script, "op", "aten::mm", 0, 110 + 100 * i, 120 + 100 * i);
        if (i < 3 && has_ranges) script_row(&script, "user", adam, 0, 180 + 100 * i, 190 + 100 * i);
        script_row(&script, "user", name, 0, 100 + 100 * i, 195 + 100 * i);
      }
      script_row(&script, "op", "aten::mm", 1, 410, 420); /* elsewhere */
      script_row(&script, "op", "aten::mm", 0, 500, 510); /* later */
      if (is_sampled) {
        column(&script.opened, TABLE_counters, COLUMN_counters_name, 1)[0] =
            text(&script.opened, "capture_ops_recorded");
        column(&script.opened, TABLE_counters, COLUMN_counters_time_ns, 1)[0] = 0;
        column(&script.opened, TABLE_counters, COLUMN_counters_value, 1)[0] = 0;
      }
      script_end(&script, &window);
      check_steps(&script, "nothing after the last",
                  !is_sampled  ? "profiler 0 100 195 0 1, profiler 1 200 295 0 1, profiler 2 300 395 0 1"
                  : has_ranges ? "profiler 0 100 195 0 0, profiler 1 200 295 0 0, profiler 2 300 395 0 0"
                               : "profiler 0 100 195 0 0, profiler 1 200 295 0 0, profiler 2 300 395 0 0, "
                                 "profiler 3 400 495 0 0");
      end(&script.opened);
    }
  }

  /* Two optimizers of one class in each iteration: a step ends after the second. */
  script_begin(&script, 1);
  for (int64_t i = 0; i < 12; i++) {
    script_row(&script, "op", "aten::mm", 0, 1010 + 1000 * i, 1700 + 1000 * i);
    script_row(&script, "user", adam, 0, 1800 + 1000 * i, 1850 + 1000 * i);
    script_row(&script, "user", adam, 0, 1860 + 1000 * i + i % 3, 1910 + 1000 * i + i % 3);
  }
  script_end(&script, &from_start);
  uint32_t rows;
  int64_t *ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows);
  check(rows == 12 && ends[0] == 1910 && ends[11] == 12910 + 11 % 3, "two of a class: %u steps", rows);
  free(ends);
  end(&script.opened);

  /* Two optimizers, equally regular: the last of the iteration. One of them far less often: the other. */
  for (int is_rare = 0; is_rare < 2; is_rare++) {
    script_begin(&script, 1);
    for (int64_t i = 0; i < 12; i++) {
      script_row(&script, "op", "aten::mm", 0, 1010 + 1000 * i, 1300 + 1000 * i);
      script_row(&script, "user", adam, 0, 1400 + 1000 * i + i % 4, 1450 + 1000 * i + i % 4);
      if (!is_rare || i % 6 == 5) script_row(&script, "user", sgd, 0, 1900 + 1000 * i, 1950 + 1000 * i + i % 3);
    }
    script_end(&script, &from_start);
    ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows);
    check(rows == 12 && ends[0] == (is_rare ? 1450 : 1950), "two optimizers: %u steps, the first until %lld", rows,
          (long long)(rows ? ends[0] : -1));
    free(ends);
    end(&script.opened);
  }

  /* The marks cover a window only. */
  script_begin(&script, 1);
  for (int64_t i = 0; i < 20; i++) {
    script_row(&script, "op", "aten::mm", 0, 1010 + 1000 * i, 1300 + 1000 * i);
    script_row(&script, "user", adam, 0, 1900 + 1000 * i, 1950 + 1000 * i);
    const char *mark = i == 18 ? "ProfilerStep#18" : "ProfilerStep#19";
    if (i > 17) script_row(&script, "user", mark, 0, 1000 + 1000 * i, 1960 + 1000 * i);
  }
  script_end(&script, &from_start);
  ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows);
  check(rows == 20, "marks of a window: %u steps", rows);
  free(ends);
  end(&script.opened);
}

static void test_step_lookup(unsigned cases) {
  for (unsigned number = 0; number < cases && failures < 20; number++) {
    static struct row_list all;
    struct opened opened;
    uint32_t step_count = below(12), recorded_steps = 0;
    all.count = 1 + below(60);
    for (uint32_t i = 0; i < all.count; i++) {
      all.rows[i] = (struct row){.start = below(50), .thread = 0, .is_user = below(2)};
      all.rows[i].end = all.rows[i].start + below(9);
    }
    begin(&opened);
    put_ops(&opened, &all, 1);
    int64_t *starts = column(&opened, TABLE_steps, COLUMN_steps_start_ns, step_count);
    int64_t *ends = column(&opened, TABLE_steps, COLUMN_steps_end_ns, step_count);
    int64_t *times = column(&opened, TABLE_instants, COLUMN_instants_time_ns, all.count);
    for (uint32_t i = 0; i < step_count; i++) {
      starts[i] = below(20) ? 1000000 + (int64_t)below(50) : NO_VALUE;
      ends[i] = below(20) ? 1000000 + (int64_t)below(60) : NO_VALUE;
    }
    for (uint32_t i = 0; i < all.count; i++) times[i] = below(20) ? 1000000 + (int64_t)below(50) : NO_VALUE;
    publish(&opened, &window, 7);
    int64_t *got = derived(&opened, TABLE_ops, COLUMN_ops_step_id, NULL);
    int64_t *got_instants = derived(&opened, TABLE_instants, COLUMN_instants_step_id, NULL);
    int64_t *recorded = derived(&opened, TABLE_steps, COLUMN_steps_ops_recorded, NULL);
    int64_t is_recorded[12] = {0};
    for (uint32_t i = 0; i < 2 * all.count; i++) {
      int64_t time = i < all.count ? 1000000 + all.rows[i].start : times[i - all.count], best = NO_VALUE;
      for (uint32_t k = 0; k < step_count; k++) {
        if (starts[k] == NO_VALUE || ends[k] == NO_VALUE || time == NO_VALUE) continue;
        if (starts[k] <= time && time < ends[k] && (best == NO_VALUE || starts[k] >= starts[best])) best = k;
      }
      int64_t found = i < all.count ? got[i] : got_instants[i - all.count];
      if (i < all.count && best != NO_VALUE && !all.rows[i].is_user) is_recorded[best] = 1;
      check(found == best, "step lookup %u, row %u: %lld instead of %lld", number, i, (long long)found,
            (long long)best);
    }
    for (uint32_t k = 0; k < step_count; k++) {
      recorded_steps += (uint32_t)is_recorded[k];
      check(recorded[k] == is_recorded[k], "step lookup %u: ops_recorded of %u", number, k);
    }
    free(got);
    free(got_instants);
    free(recorded);
    end(&opened);
  }
}

/* ---- forward ops and code traces ---- */

static void test_forward(unsigned cases) {
  for (unsigned number = 0; number < cases && failures < 20; number++) {
    struct script script;
    script_begin(&script, 3);
    uint32_t count = below(80);
    for (uint32_t i = 0; i < count; i++) {
      int64_t start = below(60);
      uint32_t row = script_row(&script, "op", "x", below(3), start, start + 1 + below(5));
      if (below(3)) script.columns[COLUMN_ops_sequence_number][row] = (int64_t)below(8) - 1;
      if (below(3) == 0) script.columns[COLUMN_ops_forward_thread][row] = below(5);
    }
    script_end(&script, &window);
    int64_t *got = derived(&script.opened, TABLE_ops, COLUMN_ops_forward_op_id, NULL);
    const int64_t *sequences = script.columns[COLUMN_ops_sequence_number];
    const int64_t *forwards = script.columns[COLUMN_ops_forward_thread];
    const int64_t *starts = script.columns[COLUMN_ops_start_ns], *threads = script.columns[COLUMN_ops_thread_id];
    for (uint32_t i = 0; i < count; i++) {
      int64_t best = NO_VALUE;
      for (uint32_t k = 0; k < count && forwards[i] > 0 && sequences[i] >= 0; k++) {
        if (forwards[k] > 0 || sequences[k] != sequences[i] || threads[k] + 1 != forwards[i]) continue;
        if (starts[k] < starts[i] && (best == NO_VALUE || starts[k] >= starts[best])) best = k;
      }
      check(got[i] == best, "forward %u, row %u: %lld instead of %lld", number, i, (long long)got[i], (long long)best);
    }
    free(got);
    end(&script.opened);
  }
}

static void test_code_traces(void) {
  struct script script;
  script_begin(&script, 2);
  int64_t *recorded = script.columns[COLUMN_ops_recorded_code_trace];
  int64_t *sequences = script.columns[COLUMN_ops_sequence_number];
  int64_t *forwards = script.columns[COLUMN_ops_forward_thread];
  uint32_t inner = script_row(&script, "op", "aten::addmm", 0, 12, 18); /* 0 */
  sequences[inner] = 5;
  uint32_t outer = script_row(&script, "op", "aten::linear", 0, 10, 20); /* 1 */
  recorded[outer] = 7;
  uint32_t leaf = script_row(&script, "op", "aten::mm", 1, 32, 33);
  uint32_t backward = script_row(&script, "autograd", "AddmmBackward0", 1, 31, 34);
  uint32_t later = script_row(&script, "op", "aten::add", 1, 35, 36);
  uint32_t task = script_row(&script, "op", "autograd::engine::evaluate_function: AddmmBackward0", 1, 30, 40);
  sequences[backward] = sequences[task] = 5;
  forwards[backward] = forwards[task] = 1;
  /* In the calling thread the line of backward() was recorded, and stays. */
  uint32_t here = script_row(&script, "autograd", "AddmmBackward0", 0, 51, 52);
  uint32_t here_task = script_row(&script, "op", "autograd::engine::evaluate_function: AddmmBackward0", 0, 50, 53);
  recorded[here_task] = 9;
  sequences[here] = 5;
  forwards[here] = 1;
  /* A task without numbers of its own takes what the op inside has. */
  uint32_t second = script_row(&script, "autograd", "AddmmBackward0", 1, 61, 64);
  uint32_t bare_task = script_row(&script, "op", "autograd::engine::evaluate_function: AddmmBackward0", 1, 60, 70);
  sequences[second] = 5;
  forwards[second] = 1;
  uint32_t alone = script_row(&script, "op", "aten::copy_", 1, 80, 90);
  /* An op with a trace of its own inside a range of the user. */
  uint32_t inside = script_row(&script, "op", "aten::relu", 0, 102, 105);
  uint32_t range = script_row(&script, "user", "block", 0, 100, 110);
  recorded[inside] = 11;
  recorded[range] = 10;
  /* The gradient of the gradient: its forward op is the backward op on thread 1. */
  sequences[leaf] = 3;
  uint32_t twice = script_row(&script, "autograd", "MmBackward0", 1, 120, 130);
  sequences[twice] = 3;
  forwards[twice] = 2;
  script_end(&script, &from_start);
  int64_t *traces = derived(&script.opened, TABLE_ops, COLUMN_ops_code_trace_id, NULL);
  const struct {
    uint32_t row;
    int64_t trace;
  } expected[] = {{inner, 7},     {outer, 7},  {leaf, 7},      {backward, 7},     {later, 7},
                  {task, 7},      {here, 9},   {here_task, 9}, {second, 7},       {bare_task, 7},
                  {inside, 11},   {range, 10}, {twice, 7},     {alone, NO_VALUE}};
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    check(traces[expected[i].row] == expected[i].trace, "code trace of row %u: %lld instead of %lld", expected[i].row,
          (long long)traces[expected[i].row], (long long)expected[i].trace);
  }
  free(traces);
  int64_t *forward = derived(&script.opened, TABLE_ops, COLUMN_ops_forward_op_id, NULL);
  check(forward[backward] == inner && forward[task] == inner && forward[twice] == leaf && forward[leaf] == NO_VALUE,
        "forward ops");
  free(forward);
  end(&script.opened);
}

/* ---- ranges and input events ---- */

static void test_made_tables(void) {
  struct script script;
  uint32_t rows;
  script_begin(&script, 1);
  script_row(&script, "op", "aten::mm", 0, 14, 15);
  script_row(&script, "user", "inner", 0, 13, 16);                                                         /* range 0 */
  script_row(&script, "op", "aten::linear", 0, 12, 17);
  script_row(&script, "user", "outer", 0, 10, 20);                                                         /* range 1 */
  script_row(&script, "op", "aten::stack", 0, 31, 33);
  script_row(&script, "user", "enumerate(DataPipe)#Mapper", 0, 30, 35);                                    /* range 2 */
  script_row(&script, "user", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 28, 40);   /* range 3 */
  script_row(&script, "op", "aten::add", 0, 50, 60);
  script_row(&script, "user", "gloo:all_reduce", 0, 55, 70);                                               /* range 4 */
  script_row(&script, "op", "aten::mul", 0, 62, 64);
  script_row(&script, "user", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 80, 85); /* range 5 */
  script_end(&script, &from_start);
  int64_t *parents = derived(&script.opened, TABLE_ranges, COLUMN_ranges_parent_id, &rows);
  int64_t *depths = derived(&script.opened, TABLE_ranges, COLUMN_ranges_depth, NULL);
  int64_t *wide = derived(&script.opened, TABLE_ranges, COLUMN_ranges_is_process_wide, NULL);
  int64_t *names = derived(&script.opened, TABLE_ranges, COLUMN_ranges_name, NULL);
  int64_t *domains = derived(&script.opened, TABLE_ranges, COLUMN_ranges_domain, NULL);
  int64_t *starts = derived(&script.opened, TABLE_ranges, COLUMN_ranges_start_ns, NULL);
  check(rows == 6, "%u ranges instead of 6", rows);
  check(parents[0] == 1 && parents[1] == NO_VALUE && parents[2] == 3 && parents[4] == NO_VALUE, "parents of ranges");
  check(depths[0] == 1 && depths[1] == 0 && depths[2] == 1 && depths[4] == NO_VALUE, "depths of ranges");
  check(wide[0] == 0 && wide[4] == 1 && wide[5] == 0, "process-wide ranges");
  check(strcmp(text_of(&script.opened, names[4]), "gloo:all_reduce") == 0 && starts[4] == 55, "columns of ranges");
  check(strcmp(text_of(&script.opened, domains[0]), "torch") == 0, "domain of ranges");
  int64_t *selves = derived(&script.opened, TABLE_ops, COLUMN_ops_self_ns, NULL);
  int64_t *op_parents = derived(&script.opened, TABLE_ops, COLUMN_ops_parent_id, NULL);
  check(selves[8] == NO_VALUE && op_parents[9] == NO_VALUE, "an asynchronous range swallowed an op");
  free(parents), free(depths), free(wide), free(names), free(domains), free(starts), free(selves), free(op_parents);

  int64_t *stages = derived(&script.opened, TABLE_input_events, COLUMN_input_events_stage, &rows);
  int64_t *pipelines = derived(&script.opened, TABLE_input_events, COLUMN_input_events_pipeline, NULL);
  int64_t *times = derived(&script.opened, TABLE_input_events, COLUMN_input_events_self_ns, NULL);
  parents = derived(&script.opened, TABLE_input_events, COLUMN_input_events_parent_id, NULL);
  check(rows == 3, "%u input events instead of 3", rows);
  check(strcmp(text_of(&script.opened, stages[0]), "preprocess") == 0 &&
            strcmp(text_of(&script.opened, stages[1]), "read_on_demand") == 0 &&
            strcmp(text_of(&script.opened, stages[2]), "read_in_advance") == 0,
        "stages of input events");
  check(strcmp(text_of(&script.opened, pipelines[0]), "Mapper") == 0 &&
            strcmp(text_of(&script.opened, pipelines[1]), "_SingleProcessDataLoaderIter") == 0,
        "pipelines of input events");
  check(times[0] == 5 && times[1] == 7 && times[2] == 5 && parents[0] == 1 && parents[1] == NO_VALUE,
        "self times of input events");
  free(stages), free(pipelines), free(times), free(parents);

  int64_t *types = derived(&script.opened, TABLE_ops, COLUMN_ops_op_type, NULL);
  check(types[0] == script.columns[COLUMN_ops_name][0], "op_type is not the name");
  free(types);
  struct column_set weights = {{0, 0}};
  column_set_add(&weights, COLUMN_ops_sample_weight);
  struct tfprof_error error;
  check(!profile_require(script.opened.profile, TABLE_ops, &weights, &error), "sample_weight: %s", error.message);
  const struct segment *segment = script.opened.profile->tables[TABLE_ops].segments[0];
  check(column_real(segment->columns[COLUMN_ops_sample_weight], 0) == 1.0, "sample_weight is not 1");
  end(&script.opened);
}

/* ---- cost ---- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* Four threads, trees up to six deep, steps of some 3000 ops, a third with sequence numbers; 64 Ki rows a segment. As
** in a training loop every step calls the same ops in the same order, and only the times differ. */
static void make_large(struct opened *opened, uint32_t wanted, enum arrangement arrangement) {
  static const unsigned used[] = {COLUMN_ops_name,     COLUMN_ops_category,        COLUMN_ops_thread_id,
                                  COLUMN_ops_start_ns, COLUMN_ops_end_ns,          COLUMN_ops_dur_ns,
                                  COLUMN_ops_sequence_number, COLUMN_ops_forward_thread,
                                  COLUMN_ops_recorded_code_trace};
  int64_t *columns[COLUMN_COUNT_ops] = {0}, clock = 0, sequence = 1, backward = 0;
  struct { int64_t start, children; } open[8];
  begin(opened);
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
    columns[used[i]] = column(opened, TABLE_ops, used[i], wanted);
  }
  int64_t *logical = column(opened, TABLE_threads, COLUMN_threads_logical_thread, 4);
  int64_t *trace_depths = column(opened, TABLE_code_traces, COLUMN_code_traces_depth, 500);
  for (int64_t i = 0; i < 4; i++) logical[i] = i + 1;
  for (int64_t i = 0; i < 500; i++) trace_depths[i] = 1;
  int64_t op = text(opened, "op"), user = text(opened, "user"), autograd = text(opened, "autograd");
  int64_t step = text(opened, "Optimizer.step#AdamW.step"), names[200];
  for (int i = 0; i < 200; i++) {
    char name[32];
    snprintf(name, sizeof name, "aten::op_%d", i);
    names[i] = text(opened, name);
  }
  uint64_t times = random_state, program = random_state + 1;
  random_state = program;
  for (uint32_t row = 0; row < wanted;) {
    uint32_t thread = below(8) < 5 ? 0 : below(4), depth = 0, since = row;
    /* One outermost op with what it calls, in end order. */
    open[depth].start = clock += 1 + below_of(&times, 2000);
    open[depth++].children = below(5);
    while (depth && row < wanted) {
      if (depth < 6 && open[depth - 1].children > 0) {
        open[depth - 1].children--;
        open[depth].start = clock += 1 + below_of(&times, 900);
        open[depth++].children = (int64_t)below(4) - 1;
        continue;
      }
      int64_t start = open[--depth].start, finish = clock += 1 + below_of(&times, 3000);
      bool is_backward = thread == 1 && below(3) == 0;
      columns[COLUMN_ops_name][row] = names[below(200)];
      columns[COLUMN_ops_category][row] = is_backward ? autograd : op;
      columns[COLUMN_ops_thread_id][row] = thread;
      columns[COLUMN_ops_start_ns][row] = start;
      columns[COLUMN_ops_end_ns][row] = finish;
      columns[COLUMN_ops_dur_ns][row] = finish - start;
      if (is_backward && backward < sequence) {
        columns[COLUMN_ops_sequence_number][row] = backward++;
        columns[COLUMN_ops_forward_thread][row] = 1;
      } else if (thread == 0 && below(3) == 0) {
        columns[COLUMN_ops_sequence_number][row] = sequence++;
      }
      if (depth == 0 && thread != 1) columns[COLUMN_ops_recorded_code_trace][row] = below(500);
      row++;
    }
    if (row / 3000 != since / 3000 && row < wanted) {
      random_state = program;
      int64_t start = clock += 100, finish = clock += 5000;
      columns[COLUMN_ops_name][row] = step;
      columns[COLUMN_ops_category][row] = user;
      columns[COLUMN_ops_thread_id][row] = 0;
      columns[COLUMN_ops_start_ns][row] = start;
      columns[COLUMN_ops_end_ns][row] = finish;
      columns[COLUMN_ops_dur_ns][row] = finish - start;
      row++;
    }
  }
  for (uint32_t row = 0; row < wanted / 2 && arrangement == START_ORDER; row++) { /* anything but end order */
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
      int64_t *values = columns[used[i]], other = values[row];
      values[row] = values[wanted - 1 - row];
      values[wanted - 1 - row] = other;
    }
  }
}

static void publish_large(struct opened *opened, uint32_t piece) {
  struct tfprof_error error;
  uint32_t run, rows;
  store_add_run(opened->store, "test", "tfprof", &run, &error);
  store_add_profile(opened->store, run, &from_start, &opened->content, &opened->profile, &error);
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct column_set raw = {{0, 0}};
    for (unsigned number = 0; number < SCHEMA_MAXIMUM_COLUMNS; number++) {
      if (opened->content.values[table][number]) column_set_add(&raw, number);
    }
    for (uint32_t first = 0; first < opened->content.rows[table]; first += rows) {
      rows = opened->content.rows[table] - first < piece ? opened->content.rows[table] - first : piece;
      profile_add_segment(opened->profile, table, first, rows, &raw, NULL, NULL, &error);
    }
  }
  store_publish_run(opened->store, run);
}

/* A number that depends on all values of a column, wherever its segments begin. */
static uint64_t digest(const struct profile *profile, unsigned table, unsigned number) {
  uint64_t sum = profile->tables[table].rows;
  for (size_t s = 0; s < profile->tables[table].segment_count; s++) {
    const struct segment *segment = profile->tables[table].segments[s];
    const struct column *values = segment->columns[number];
    for (uint32_t row = 0; row < segment->rows; row++) {
      uint64_t value = column_is_null(values, row) ? 0x5bd1e995u : (uint64_t)column_integer(values, row);
      sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
      sum ^= sum >> 29;
    }
  }
  return sum;
}

/* However many threads and segments there are, the same comes out. Enough rows that there are threads. */
static void test_threads(enum arrangement arrangement) {
  static const struct {
    const char *threads;
    uint32_t piece;
  } ways[] = {{"1", 1 << 30}, {"1", 20000}, {"4", 20000}, {"3", 4999}};
  static const struct table_column asked[] = {
      {TABLE_ops, COLUMN_ops_parent_id},      {TABLE_ops, COLUMN_ops_depth},
      {TABLE_ops, COLUMN_ops_self_ns},        {TABLE_ops, COLUMN_ops_step_id},
      {TABLE_ops, COLUMN_ops_forward_op_id},  {TABLE_ops, COLUMN_ops_code_trace_id},
      {TABLE_steps, COLUMN_steps_start_ns},   {TABLE_steps, COLUMN_steps_ops_recorded},
      {TABLE_ranges, COLUMN_ranges_parent_id}};
  enum { ASKED = sizeof asked / sizeof asked[0] };
  const char *before = getenv("TFPROF_THREADS");
  char *kept = before ? strdup(before) : NULL;
  uint64_t expected[ASKED] = {0}, state = random_state;
  for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
    struct opened opened;
    struct tfprof_error error;
    random_state = state;
    setenv("TFPROF_THREADS", ways[way].threads, 1);
    make_large(&opened, 60000, arrangement);
    publish_large(&opened, ways[way].piece);
    for (int i = 0; i < ASKED; i++) {
      struct column_set columns = {{0, 0}};
      column_set_add(&columns, asked[i].column);
      bool is_made = profile_require(opened.profile, asked[i].table, &columns, &error) == TFPROF_OK;
      check(is_made, "%s: %s", schema_tables[asked[i].table].columns[asked[i].column].name, error.message);
      if (!is_made) continue;
      uint64_t found = digest(opened.profile, asked[i].table, asked[i].column);
      if (way == 0) expected[i] = found;
      check(found == expected[i], "%s.%s is another with %s threads and segments of %lu rows",
            schema_tables[asked[i].table].name, schema_tables[asked[i].table].columns[asked[i].column].name,
            ways[way].threads, (unsigned long)ways[way].piece);
    }
    end(&opened);
  }
  if (kept) setenv("TFPROF_THREADS", kept, 1);
  else unsetenv("TFPROF_THREADS");
  free(kept);
}

static void measure(uint32_t rows, enum arrangement arrangement) {
  enum { PASSES = 9, ROUNDS = 7 };
  static const struct {
    unsigned table, column;
    const char *what;
  } asked[PASSES] = {
      {TABLE_ops, COLUMN_ops_parent_id, "nesting"},
      {TABLE_steps, COLUMN_steps_start_ns, "steps"},
      {TABLE_steps, COLUMN_steps_ops_recorded, "kinds of steps"},
      {TABLE_ops, COLUMN_ops_step_id, "steps of ops"},
      {TABLE_ops, COLUMN_ops_forward_op_id, "forward ops"},
      {TABLE_ops, COLUMN_ops_code_trace_id, "code traces"},
      {TABLE_ranges, COLUMN_ranges_name, "ranges"},
      {TABLE_input_events, COLUMN_input_events_name, "input events"},
      {TABLE_ops, COLUMN_ops_sample_weight, "op types"},
  };
  double best[PASSES], best_all = 1e9;
  uint32_t step_count = 0;
  for (int i = 0; i < PASSES; i++) best[i] = 1e9;
  for (int round = 0; round < ROUNDS; round++) {
    struct opened opened;
    struct column_set raw = {{0, 0}};
    struct tfprof_error error;
    make_large(&opened, rows, arrangement);
    publish_large(&opened, 65536);
    for (unsigned number = 0; number < COLUMN_COUNT_ops; number++) {
      if (opened.content.values[TABLE_ops][number]) column_set_add(&raw, number);
    }
    profile_require(opened.profile, TABLE_ops, &raw, &error); /* loading is not deriving */
    double all = 0;
    for (int i = 0; i < PASSES; i++) {
      struct column_set columns = {{0, 0}};
      column_set_add(&columns, asked[i].column);
      double before = now();
      check(!profile_require(opened.profile, asked[i].table, &columns, &error), "%s: %s", asked[i].what, error.message);
      double cost = now() - before;
      if (cost < best[i]) best[i] = cost;
      all += cost;
    }
    if (all < best_all) best_all = all;
    step_count = (uint32_t)opened.profile->tables[TABLE_steps].rows;
    end(&opened);
  }
  printf("%u rows, %u steps, %s; CPU ms, best of %d\n", rows, step_count,
         arrangement == END_ORDER ? "end order" : "reversed", ROUNDS);
  for (int i = 0; i < PASSES; i++) printf("%8.2f  %s\n", best[i], asked[i].what);
  printf("%8.2f  all\n", best_all);
}

/* A million ops, calls, kernels and waits that all carry one number: every pass that joins by it must stay linear (were
** one not, this would take hours), and each finds the first of those it looks for. */
static void test_duplicates(void) {
  enum { MANY = 1000000 };
  struct opened opened;
  begin(&opened);
  int64_t host = text(&opened, "host"), stream = text(&opened, "stream"), launch = text(&opened, "cudaGraphLaunch");
  int64_t *kinds = column(&opened, TABLE_threads, COLUMN_threads_kind, 2);
  int64_t *streams = column(&opened, TABLE_threads, COLUMN_threads_stream, 2);
  kinds[0] = host;
  kinds[1] = stream;
  streams[1] = 7;
  static const struct {
    uint16_t table, start, end, thread, correlation, op_correlation;
  } tables[] = {{TABLE_ops, COLUMN_ops_start_ns, COLUMN_ops_end_ns, COLUMN_ops_thread_id, COLUMN_ops_correlation, 0},
                {TABLE_api_calls, COLUMN_api_calls_start_ns, COLUMN_api_calls_end_ns, COLUMN_api_calls_thread_id,
                 COLUMN_api_calls_correlation, COLUMN_api_calls_op_correlation},
                {TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_end_ns, COLUMN_kernels_thread_id,
                 COLUMN_kernels_correlation, COLUMN_kernels_op_correlation},
                {TABLE_syncs, COLUMN_syncs_start_ns, COLUMN_syncs_end_ns, COLUMN_syncs_thread_id,
                 COLUMN_syncs_correlation, COLUMN_syncs_op_correlation}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    int64_t *starts = column(&opened, tables[i].table, tables[i].start, MANY);
    int64_t *ends = column(&opened, tables[i].table, tables[i].end, MANY);
    int64_t *threads = column(&opened, tables[i].table, tables[i].thread, MANY);
    int64_t *correlations = column(&opened, tables[i].table, tables[i].correlation, MANY);
    int64_t *op_correlations = i ? column(&opened, tables[i].table, tables[i].op_correlation, MANY) : NULL;
    for (uint32_t row = 0; row < MANY; row++) {
      starts[row] = (int64_t)row * 10 + (int64_t)i;
      ends[row] = starts[row] + 3;
      threads[row] = i > 1;
      correlations[row] = INT64_C(1) << 40;
      if (op_correlations) op_correlations[row] = INT64_C(1) << 40;
    }
  }
  int64_t *names = column(&opened, TABLE_api_calls, COLUMN_api_calls_name, MANY);
  int64_t *sync_kinds = column(&opened, TABLE_syncs, COLUMN_syncs_kind, MANY);
  for (uint32_t row = 0; row < MANY; row++) {
    names[row] = launch;
    sync_kinds[row] = stream;
  }
  publish(&opened, &from_start, 0);
  int64_t *calls = derived(&opened, TABLE_kernels, COLUMN_kernels_api_call_id, NULL);
  int64_t *launches = derived(&opened, TABLE_kernels, COLUMN_kernels_graph_launch_id, NULL);
  int64_t *waits = derived(&opened, TABLE_syncs, COLUMN_syncs_waits_on_kernel_id, NULL);
  uint32_t rows;
  int64_t *activities = derived(&opened, TABLE_device_activities, COLUMN_device_activities_launch_ns, &rows);
  check(rows == 2 * MANY, "%u device activities", rows);
  for (uint32_t row = 0; row < MANY; row += 99999) {
    check(calls[row] == 0 && launches[row] == 0, "kernel %u: call %lld", row, (long long)calls[row]);
    /* All waits begin with call 0, before which nothing was launched. */
    check(waits[row] == NO_VALUE, "wait %u waits for %lld", row, (long long)waits[row]);
    check(activities[row] == 1, "activity %u: launched at %lld", row, (long long)activities[row]);
  }
  free(calls);
  free(launches);
  free(waits);
  free(activities);
  end(&opened);
}

int main(int argument_count, char **arguments) {
  if (argument_count > 1 && strcmp(arguments[1], "--time") == 0) {
    uint32_t rows = argument_count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 1000000;
    measure(rows, END_ORDER);
    measure(rows, START_ORDER);
    return failures > 0;
  }
  test_nesting(6000);
  test_nonsense(2000);
  test_extremes(1000);
  test_steps();
  test_step_lookup(2000);
  test_forward(2000);
  test_code_traces();
  test_made_tables();
  test_threads(END_ORDER);
  test_threads(START_ORDER);
  test_duplicates();
  if (failures) printf("%d failures\n", failures);
  return failures > 0;
}
