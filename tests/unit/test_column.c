/* test_column.c: columns hold what was put into them, in the narrowest form, whichever way it is read. */
#include "store/column.h"
#include "store/column_appender.h"
#include "store/parallel.h"

#include "store_check.h"

#include <math.h>
#include <stdatomic.h>

enum { ROWS = 1000, REAL_ROWS = 50000 };

static bool bit(const uint64_t *bits, uint32_t row) { return bits && (bits[row >> 6] >> (row & 63) & 1); }

/* The column has these values, by row and by chunk. */
static void compare(const char *what, const struct column *column, const int64_t *values, const uint64_t *nulls,
                    uint32_t rows) {
  int64_t *chunk = calloc(rows + 1, sizeof *chunk);
  uint64_t *bits = calloc(rows / 64 + 2, sizeof *bits);
  check(column->rows == rows, "%s: %u rows", what, column->rows);
  for (uint32_t row = 0; row < rows; row++) {
    bool is_null = bit(nulls, row);
    check(column_is_null(column, row) == is_null, "%s: row %u is NULL or not", what, row);
    if (is_null || column->is_real) continue;
    check(column_integer(column, row) == values[row], "%s: row %u is %lld, not %lld", what, row,
          (long long)column_integer(column, row), (long long)values[row]);
  }
  for (uint32_t first = 0; first < rows; first += 128) {
    uint32_t count = rows - first < 128 ? rows - first : 128;
    bits[2] = 42;
    bool any = column_read(column, first, count, chunk, bits), expected_any = false;
    for (uint32_t i = 0; i < count; i++) {
      bool is_null = bit(nulls, first + i);
      expected_any |= is_null;
      check(bit(bits, i) == is_null, "%s: read: row %u is NULL or not", what, first + i);
      if (!is_null) check(chunk[i] == values[first + i], "%s: read: row %u differs", what, first + i);
    }
    check(any == expected_any, "%s: NULLs are told wrongly", what);
    for (uint32_t i = count; i < (count + 63) / 64 * 64; i++) check(!bit(bits, i), "%s: a bit after the end", what);
  }
  free(chunk);
  free(bits);
}

static void test_widths(void) {
  static const struct {
    int64_t minimum;
    uint64_t range;
    unsigned width;
  } cases[] = {
      {0, 0, 0},
      {-5, 0, 0},
      {0, 255, 1},
      {-1000, 256, 2},
      {1ll << 60, 65535, 2},
      {-3, 65536, 4},
      {5, UINT32_MAX, 4},
      {0, 1ull << 32, 8},
      {INT64_MIN, UINT64_MAX, 8},
      {INT64_MIN, 255, 1},
      {INT64_MAX - 255, 255, 1},
  };
  int64_t values[ROWS];
  uint64_t nulls[(ROWS + 63) / 64];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int with_nulls = 0; with_nulls < 3; with_nulls++) {
      char what[64];
      sprintf(what, "case %zu, nulls %d", c, with_nulls);
      memset(nulls, 0, sizeof nulls);
      for (uint32_t row = 0; row < ROWS; row++) {
        uint64_t distance = row == 3 ? 0 : row == 900 ? cases[c].range : check_random(0);
        if (distance > cases[c].range) distance %= cases[c].range + 1;
        values[row] = (int64_t)((uint64_t)cases[c].minimum + distance);
        bool is_null = with_nulls == 1 && row % 3 == 1;
        if (is_null) {
          nulls[row >> 6] |= (uint64_t)1 << (row & 63);
          values[row] = (int64_t)check_random(0); /* must not matter */
        }
      }
      if (with_nulls == 2) nulls[ROWS / 64] |= ~(uint64_t)0 << ROWS % 64; /* nor these bits past the end */
      const uint64_t *given = with_nulls ? nulls : NULL;
      struct column *column = column_from_integers(values, given, ROWS);
      check(column->form == (cases[c].width ? COLUMN_ARRAY : COLUMN_CONSTANT), "%s: form %d", what, column->form);
      check(column->width == cases[c].width, "%s: width %d", what, column->width);
      check((column->nulls != NULL) == (with_nulls == 1), "%s: null bitmap", what);
      check(column_bytes(column) >= (uint64_t)ROWS * cases[c].width, "%s: bytes", what);
      compare(what, column, values, with_nulls == 1 ? nulls : NULL, ROWS);
      column_release(column);
    }
  }
}

static void test_empty(void) {
  uint64_t all[(ROWS + 63) / 64];
  int64_t values[ROWS] = {0};
  double reals[ROWS] = {0};
  memset(all, 0xff, sizeof all);
  struct column *absent = column_from_integers(values, all, ROWS);
  check(absent->form == COLUMN_ABSENT && !absent->elements && !absent->nulls, "all NULL is not absent");
  compare("absent", absent, values, all, ROWS);
  column_release(absent);
  absent = column_from_reals(reals, all, ROWS);
  check(absent->form == COLUMN_ABSENT, "all NULL reals are not absent");
  column_release(absent);
  struct column *none = column_from_integers(values, NULL, 0);
  check(none && none->rows == 0, "no rows");
  column_release(none);
  column_release(NULL);
}

static void test_reals(void) {
  double values[ROWS];
  uint64_t nulls[(ROWS + 63) / 64] = {0};
  for (uint32_t row = 0; row < ROWS; row++) values[row] = row % 7 == 0 ? -0.0 : (double)row / 3;
  values[5] = NAN;
  nulls[0] = 6;
  struct column *column = column_from_reals(values, nulls, ROWS);
  check(column->is_real && column->width == 8, "reals are not 8 bytes");
  for (uint32_t row = 0; row < ROWS; row++) {
    double value = column_real(column, row);
    check(column_is_null(column, row) == (row == 1 || row == 2), "real row %u is NULL or not", row);
    if (!column_is_null(column, row)) check(memcmp(&value, &values[row], 8) == 0, "real row %u differs", row);
  }
  column_release(column);
  for (uint32_t row = 0; row < ROWS; row++) values[row] = 2.5;
  values[1] = 7; /* NULL */
  column = column_from_reals(values, nulls, ROWS);
  check(column->form == COLUMN_CONSTANT && column_real(column, 9) == 2.5 && column_is_null(column, 1), "constant real");
  column_release(column);
  column = column_constant_real(3, -1.5);
  int64_t bits[3];
  uint64_t no_nulls[1];
  check(!column_read(column, 0, 3, bits, no_nulls), "a constant has NULLs");
  double back;
  memcpy(&back, &bits[2], sizeof back);
  check(back == -1.5, "reals are not read by their bits");
  column_release(column);
}

static void test_sum(void) {
  int64_t starts[ROWS], durations[ROWS], ends[ROWS];
  uint64_t start_nulls[(ROWS + 63) / 64] = {0}, duration_nulls[(ROWS + 63) / 64] = {0}, both[(ROWS + 63) / 64];
  for (uint32_t row = 0; row < ROWS; row++) {
    starts[row] = 1700000000000000000 + (int64_t)check_random(1000000);
    durations[row] = (int64_t)check_random(1 << 20);
    ends[row] = starts[row] + durations[row];
  }
  start_nulls[3] = 17;
  duration_nulls[4] = 3;
  for (size_t i = 0; i < sizeof both / sizeof *both; i++) both[i] = start_nulls[i] | duration_nulls[i];
  struct column *start = column_from_integers(starts, start_nulls, ROWS);
  struct column *duration = column_from_integers(durations, duration_nulls, ROWS);
  struct column *end = column_sum(start, duration);
  column_release(start);
  column_release(duration);
  check(end->form == COLUMN_SUM && column_bytes(end) < 200, "a sum takes memory of its own");
  compare("sum", end, ends, both, ROWS);
  struct column *absent = column_absent(ROWS);
  struct column *nothing = column_sum(end->left, absent);
  check(nothing->form == COLUMN_ABSENT, "a sum with nothing is something");
  column_release(nothing);
  column_release(absent);
  column_release(end);
}

struct filling {
  struct column_builder builder;
  const int64_t *values;
};

static void fill_part(void *context, size_t part, unsigned worker) {
  struct filling *filling = context;
  (void)worker;
  for (uint32_t row = (uint32_t)part * 64; row < (part + 1) * 64 && row < ROWS; row++) {
    if (row % 5 == 0) column_builder_put_null(&filling->builder, row);
    else column_builder_put(&filling->builder, row, filling->values[row]);
  }
}

static void test_builder(void) {
  int64_t values[ROWS];
  uint64_t nulls[(ROWS + 63) / 64] = {0};
  struct filling filling = {.values = values};
  for (uint32_t row = 0; row < ROWS; row++) {
    values[row] = -100000 + (int64_t)check_random(200001);
    if (row % 5 == 0) nulls[row >> 6] |= (uint64_t)1 << (row & 63);
  }
  check(column_builder_start(&filling.builder, ROWS, -100000, 100000, false, true) == TFPROF_OK, "cannot start");
  parallel_for((ROWS + 63) / 64, fill_part, &filling);
  struct column *column = column_builder_done(&filling.builder);
  check(column->width == 4, "width %d", column->width);
  compare("built", column, values, nulls, ROWS);
  column_release(column);

  struct column_builder builder;
  column_builder_start(&builder, ROWS, 7, 7, false, false);
  column_builder_put(&builder, 3, 7);
  column_builder_allow_nulls(&builder);
  column_builder_put_null(&builder, 999);
  column = column_builder_done(&builder);
  check(column->form == COLUMN_CONSTANT && column_is_null(column, 999) && !column_is_null(column, 998), "late nulls");
  column_release(column);
  column_builder_start(&builder, ROWS, 0, 5, false, true);
  column = column_builder_done(&builder);
  check(!column->nulls, "an empty bitmap is kept");
  column_release(column);
  column_builder_start(&builder, 2, 0, 0, true, true);
  column_builder_put_real(&builder, 0, 1.25);
  column_builder_put_null(&builder, 1);
  column = column_builder_done(&builder);
  check(column_real(column, 0) == 1.25 && column_is_null(column, 1), "built reals");
  column_release(column);
  column_builder_start(&builder, 2, 0, 1, false, true);
  column_builder_cancel(&builder);
}

/* Reals of which so many differ, a tenth of them NULL: as they are, or as numbers in a dictionary. */
static void compare_reals(uint32_t kinds, unsigned width) {
  static double values[REAL_ROWS], kind_of[REAL_ROWS];
  static uint64_t nulls[REAL_ROWS / 64 + 1], read_nulls[REAL_ROWS / 64 + 1];
  static int64_t read[REAL_ROWS];
  memset(nulls, 0, sizeof nulls);
  for (uint32_t i = 0; i < kinds; i++) kind_of[i] = i == 0 ? -0.0 : i == 1 ? (double)NAN : i * 0.37 - 5;
  for (uint32_t row = 0; row < REAL_ROWS; row++) {
    uint32_t newest = row / 10 < kinds ? row / 10 : kinds - 1; /* new ones turn up one after the other */
    values[row] = kind_of[row % 10 == 0 ? newest : (uint32_t)check_random(newest + 1)];
    if (row % 10 && check_random(10) == 0) nulls[row >> 6] |= (uint64_t)1 << (row & 63);
  }
  struct column *column = column_from_reals(values, nulls, REAL_ROWS);
  check(column && column->is_real && column->width == width, "%u kinds: %d bytes wide", kinds, column->width);
  check((column->dictionary != NULL) == (width == 1 || width == 2), "%u kinds: a dictionary", kinds);
  column_read(column, 0, REAL_ROWS, read, read_nulls);
  for (uint32_t row = 0; row < REAL_ROWS; row++) {
    double real = column_real(column, row);
    bool is_null = bit(nulls, row);
    check(column_is_null(column, row) == is_null && bit(read_nulls, row) == is_null, "%u kinds: %u NULL", kinds, row);
    if (is_null) continue;
    check(memcmp(&real, &values[row], sizeof real) == 0, "%u kinds: row %u is %g", kinds, row, real);
    check(memcmp(&read[row], &values[row], sizeof real) == 0, "%u kinds: row %u reads", kinds, row);
  }
  column_release(column);
}

static void test_dictionaries(void) {
  compare_reals(1, 0);
  compare_reals(2, 1);
  compare_reals(256, 1);
  compare_reals(257, 2);
  compare_reals(4096, 2);
  compare_reals(4097, 8);
  compare_reals(REAL_ROWS / 10, 8);
}

/* Rows of an appender, every `null_every`th of them NULL (0: none); the others one by one or, where none is NULL,
** `at_once` together. */
static void append_and_compare(const char *what, const int64_t *values, uint32_t null_every, uint32_t at_once,
                               unsigned most_width) {
  uint64_t nulls[(ROWS + 63) / 64] = {0};
  struct column_appender appender = {0};
  bool ok = true;
  for (uint32_t row = 0; at_once && ok && row < ROWS; row += at_once)
    ok = column_appender_put_all(&appender, row, values + row, ROWS - row < at_once ? ROWS - row : at_once);
  for (uint32_t row = 0; !at_once && row < ROWS; row++) {
    bool is_null = null_every && row % null_every == 0;
    if (is_null) nulls[row >> 6] |= (uint64_t)1 << (row & 63);
    ok = ok && (is_null ? column_appender_put_null(&appender, row) : column_appender_put(&appender, row, values[row]));
  }
  struct column *column = ok ? column_appender_done(&appender, ROWS) : NULL;
  check(column != NULL, "%s: appending failed", what);
  check(column->width <= most_width, "%s: %d bytes wide", what, column->width);
  check((column->nulls != NULL) == (null_every > 0), "%s: null bitmap", what);
  compare(what, column, values, nulls, ROWS);
  for (uint32_t row = 0; row < ROWS; row++)
    check(bit(nulls, row) || column->base <= values[row], "%s: the base is above a value", what);
  column_release(column);
}

static void test_appender(void) {
  static const struct {
    const char *what;
    int64_t first;
    uint64_t step;
    unsigned width; /* for values that go up or down by the step each row, around and around */
  } cases[] = {
      {"constant", -7, 0, 0},
      {"up", 1700000000000000000, 1, 2},
      {"up from below 0", -500, 60, 2},
      {"far up", 0, 1 << 20, 4},
      {"farther", INT64_MIN, (uint64_t)1 << 53, 8},
      {"down", 900, (uint64_t)-1, 2},
      {"down to the end", INT64_MIN + ROWS - 1, (uint64_t)-1, 2},
      {"up to the end", INT64_MAX - ROWS + 1, 1, 2},
      {"all over", 5, 0x9e3779b97f4a7c15, 8},
  };
  int64_t values[ROWS];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (uint32_t row = 0; row < ROWS; row++) values[row] = (int64_t)((uint64_t)cases[c].first + row * cases[c].step);
    append_and_compare(cases[c].what, values, 0, 0, cases[c].width);
    append_and_compare(cases[c].what, values, 0, 1, cases[c].width);
    append_and_compare(cases[c].what, values, 0, 100, cases[c].width);
    for (uint32_t row = 0; row < ROWS; row++) values[row] = values[row - row % 3]; /* so that NULLs hide nothing */
    append_and_compare(cases[c].what, values, 3, 0, cases[c].width);
  }
  for (uint32_t row = 0; row < ROWS; row++) values[row] = row < 900 ? 4 : row < 950 ? 260 : -70000;
  append_and_compare("a late change", values, 0, 0, 4);
  append_and_compare("a late change", values, 0, 60, 4);
  append_and_compare("a late change", values, 7, 0, 4);

  struct column_appender appender = {0};
  bool ok = true;
  for (uint32_t row = 0; row < 70; row++) ok = ok && column_appender_put_null(&appender, row);
  struct column *column = ok ? column_appender_done(&appender, 70) : NULL;
  check(column && column->form == COLUMN_ABSENT && !column->nulls, "NULLs alone are not absent");
  column_release(column);
  ok = true;
  for (uint32_t row = 0; row < ROWS; row++)
    ok = ok && (row == 2 ? column_appender_put_null(&appender, row) : column_appender_put(&appender, row, 3));
  column = ok ? column_appender_done(&appender, ROWS) : NULL;
  check(column && column->form == COLUMN_CONSTANT && column_is_null(column, 2) && !column_is_null(column, 999),
        "a constant with a NULL at the beginning");
  column_release(column);
}

static void count_up(void *context, size_t i, unsigned worker) {
  atomic_uint *counts = context;
  atomic_fetch_add(&counts[i], 1);
  check(worker < parallel_workers(), "worker %u", worker);
}

static void test_parallel(void) {
  static atomic_uint counts[5000];
  parallel_for(5000, count_up, counts);
  for (unsigned i = 0; i < 5000; i++) check(counts[i] == 1, "iteration %u ran %u times", i, counts[i]);
  parallel_for(0, count_up, counts);
  parallel_for(1, count_up, counts);
  check(counts[0] == 2 && counts[1] == 1, "a loop of one");
  check(parallel_workers() >= 1 && parallel_workers() <= 16, "%u workers", parallel_workers());
  setenv("TFPROF_THREADS", "7", 1);
  check(parallel_workers() == 7, "TFPROF_THREADS is not heard");
  parallel_for(5000, count_up, counts);
  setenv("TFPROF_THREADS", "1000", 1);
  check(parallel_workers() == 16, "%u workers", parallel_workers());
  unsetenv("TFPROF_THREADS");
}

static void test_no_memory(void) {
  int64_t values[3] = {1, 2, 300};
  uint64_t nulls[1] = {2};
  double reals[3] = {1, 2, 3};
  for (long allowed = 0; can_fail_allocations && allowed < 6; allowed++) {
    struct column_builder builder;
    fail_allocation_after(allowed);
    struct column *integers = column_from_integers(values, nulls, 3);
    fail_allocation_after(allowed);
    struct column *real = column_from_reals(reals, nulls, 3);
    fail_allocation_after(allowed);
    enum tfprof_status status = column_builder_start(&builder, 3, 0, 9, false, true);
    fail_allocation_after(-1);
    check(!integers == (allowed < 3) && !real == (allowed < 3), "columns without memory");
    check(status == (allowed < 3 ? TFPROF_NO_MEMORY : TFPROF_OK), "a builder without memory");
    if (!status) column_builder_cancel(&builder);
    column_release(integers);
    column_release(real);
    struct column_appender appender = {0};
    fail_allocation_after(allowed);
    bool ok = column_appender_put(&appender, 0, 1) && column_appender_put_null(&appender, 1) &&
              column_appender_put(&appender, 2, 300);
    struct column *appended = ok ? column_appender_done(&appender, 3) : NULL;
    fail_allocation_after(-1);
    check(!appended == (allowed < 3), "an appender without memory");
    column_appender_free(&appender);
    column_release(appended);
  }
}

int main(void) {
  test_widths();
  test_empty();
  test_reals();
  test_sum();
  test_builder();
  test_dictionaries();
  test_appender();
  test_parallel();
  test_no_memory();
  return check_result();
}
