/* test_derive_threads.c: passes on large profiles do the same on one thread and on several.
**
** test_derive_threads --time [ROWS] prints what the passes cost instead.
*/
#include "derive_test.h"

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

static uint64_t digest_segment(const struct segment *segment, unsigned number, uint64_t sum) {
  const struct column *values = segment->columns[number];
  for (uint32_t row = 0; row < segment->rows; row++) {
    double real = values->is_real ? column_real(values, row) : 0;
    uint64_t value = 0x5bd1e995u;
    if (values->is_real && !column_is_null(values, row)) memcpy(&value, &real, sizeof value);
    else if (!column_is_null(values, row)) value = (uint64_t)column_integer(values, row);
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  }
  return sum;
}

/* A number that depends on all values of a column, wherever its segments begin. */
static uint64_t digest(const struct profile *profile, unsigned table, unsigned number) {
  uint64_t sum = profile->tables[table].rows;
  for (size_t s = 0; s < profile->tables[table].segment_count; s++)
    sum = digest_segment(profile->tables[table].segments[s], number, sum);
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
      {TABLE_ops, COLUMN_ops_outermost_id},   {TABLE_ops, COLUMN_ops_parent_name},
      {TABLE_ops, COLUMN_ops_origin_code_trace_id}, {TABLE_ops, COLUMN_ops_is_backward},
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

/* Columns of which a pass makes those of one segment alone are the same as when it makes all; the second segment that
** is asked for brings the others.  Steps may need the nesting of all ops (optimizers.c), so each is asked by itself. */
static void test_one_segment(enum arrangement arrangement, const uint16_t *asked, int asked_count) {
  enum { SEGMENTS = 4 };
  struct opened whole, opened;
  struct tfprof_error error;
  struct column_set columns = {{0, 0}};
  uint64_t state = random_state;
  for (int i = 0; i < asked_count; i++) column_set_add(&columns, asked[i]);
  make_large(&whole, 60000, arrangement);
  publish_large(&whole, 60000 / SEGMENTS);
  check(!profile_require(whole.profile, TABLE_ops, &columns, &error), "%s", error.message);
  for (size_t s = 0; s < SEGMENTS; s++) {
    struct snapshot *ops;
    random_state = state;
    make_large(&opened, 60000, arrangement);
    publish_large(&opened, 60000 / SEGMENTS);
    check(!store_snapshot(opened.store, TABLE_ops, NULL, &ops, &error), "%s", error.message);
    check(!snapshot_require_segment(ops, s, &columns, &error), "%s", error.message);
    for (int i = 0; i < asked_count; i++) {
      const char *name = schema_tables[TABLE_ops].columns[asked[i]].name;
      uint64_t wanted = digest_segment(whole.profile->tables[TABLE_ops].segments[s], asked[i], 0);
      check(digest_segment(ops->segments[s], asked[i], 0) == wanted, "%s of segment %zu alone is another", name, s);
      check(!ops->segments[(s + 1) % SEGMENTS]->columns[asked[i]], "%s of a segment that nobody asked for", name);
    }
    check(!snapshot_require_segment(ops, (s + 1) % SEGMENTS, &columns, &error), "%s", error.message);
    for (int i = 0; i < asked_count; i++) {
      const char *name = schema_tables[TABLE_ops].columns[asked[i]].name;
      bool is_there = ops->segments[(s + 2) % SEGMENTS]->columns[asked[i]] != NULL;
      check(is_there, "the second segment does not bring %s of all", name);
      if (!is_there) continue;
      check(digest(opened.profile, TABLE_ops, asked[i]) == digest(whole.profile, TABLE_ops, asked[i]),
            "%s of all is another after that of segment %zu", name, s);
    }
    snapshot_release(ops);
    end(&opened);
  }
  end(&whole);
}

static void test_segments(enum arrangement arrangement) {
  static const uint16_t of_steps[] = {COLUMN_ops_step_id, COLUMN_ops_is_measured, COLUMN_ops_sample_weight};
  static const uint16_t of_nesting[] = {COLUMN_ops_outermost_id, COLUMN_ops_parent_name};
  test_one_segment(arrangement, of_steps, sizeof of_steps / sizeof of_steps[0]);
  test_one_segment(arrangement, of_nesting, sizeof of_nesting / sizeof of_nesting[0]);
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

int main(int argument_count, char **arguments) {
  if (argument_count > 1 && strcmp(arguments[1], "--time") == 0) {
    uint32_t rows = argument_count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 1000000;
    measure(rows, END_ORDER);
    measure(rows, START_ORDER);
    return check_result();
  }
  test_threads(END_ORDER);
  test_segments(END_ORDER);
  test_threads(START_ORDER);
  test_segments(START_ORDER);
  return check_result();
}
