/* test_derive.c: nesting, and the step of a moment, against slow references on thousands of small profiles. */
#include "cases.h"
#include "derive_test.h"

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
  } else if (arrangement == START_ORDER || arrangement == SOME_LATE) {
    for (uint32_t i = 1; i < list->count; i++) {
      for (uint32_t k = i; k > 0 && starts_later(&rows[k - 1], &rows[k]); k--) {
        other = rows[k];
        rows[k] = rows[k - 1];
        rows[k - 1] = other;
      }
    }
  }
  for (uint32_t moves = arrangement == SOME_LATE ? below(1 + list->count / 8) : 0; moves > 0; moves--) {
    uint32_t from = below(list->count), to = from + below(list->count - from);
    other = rows[from];
    memmove(&rows[from], &rows[from + 1], (to - from) * sizeof other);
    rows[to] = other;
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
  for (unsigned number = 0; number < cases && check_failures < 20; number++) {
    static struct row_list lanes[4], all;
    struct opened opened;
    uint32_t threads = 1 + below(3);
    bool is_strict = below(2), has_async = below(3) == 0;
    enum arrangement arrangement = (enum arrangement)below(ARRANGEMENTS);
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

/* Rows that begin before all that began before them have ended, and mostly outlive them; every fifth has the same span
** as the one before. */
static void test_staircase(void) {
  static struct row_list all;
  struct opened opened;
  for (all.count = 0; all.count < 400; all.count++) {
    int64_t number = all.count - (all.count % 5 == 4);
    all.rows[all.count] = (struct row){.start = number, .end = 1000 + 2 * (number - number % 2), .thread = 0,
                                       .is_user = all.count % 50 == 7, .true_parent = -1};
  }
  begin(&opened);
  put_ops(&opened, &all, 1);
  publish(&opened, &from_start, 0);
  compare_nesting(&opened, &all, 1, false, 0);
  end(&opened);
}

/* Rows that nest in no way at all: whatever comes out must be a forest of enclosing rows. */
static void test_nonsense(unsigned cases) {
  for (unsigned number = 0; number < cases && check_failures < 20; number++) {
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

static void test_step_lookup(unsigned cases) {
  for (unsigned number = 0; number < cases && check_failures < 20; number++) {
    static struct row_list all;
    struct opened opened;
    uint32_t step_count = below(12);
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
      check(recorded[k] == is_recorded[k], "step lookup %u: ops_recorded of %u", number, k);
    }
    free(got);
    free(got_instants);
    free(recorded);
    end(&opened);
  }
}

int main(void) {
  test_nesting(8000 / RANDOM_SHARE);
  test_staircase();
  test_nonsense(2000 / RANDOM_SHARE);
  test_extremes(1000 / RANDOM_SHARE);
  test_step_lookup(2000 / RANDOM_SHARE);
  return check_result();
}
