/* test_dump.c: what is written to a dump is what is read from it, for every encoding, width and null pattern, strings,
** profiles, clocks; and files of later versions are read as far as they are understood.
**
** Prints a line for each thing that is wrong; exit status 0 when there is none, else 1.  Damage is
** test_dump_damage.c's.
*/
#include "dump_test.h"

#include <math.h>

/* ---- Columns ---- */

enum shape {
  SHAPE_CONSTANT,
  SHAPE_ONES_AND_ZEROS,
  SHAPE_SMALL,
  SHAPE_BYTE,
  SHAPE_256_VALUES,
  SHAPE_257_VALUES,
  SHAPE_16_BITS,
  SHAPE_32_BITS,
  SHAPE_64_BITS,
  SHAPE_EXTREMES,
  SHAPE_CLOCK,
  SHAPE_CLOCK_NOISE,
  SHAPE_DESCENDING,
  SHAPE_RUNS,
  SHAPE_NEGATIVE,
  SHAPE_LONELY_SPIKE,
  SHAPE_ADDRESSES,
  SHAPE_REAL_CONSTANT,
  SHAPE_REAL_ODD,
  SHAPE_REAL_RANDOM,
  SHAPE_REAL_RAMP,
  SHAPE_COUNT
};

static const char *const shape_names[SHAPE_COUNT] = {"constant",   "ones and zeros", "small",    "byte",
                                                     "256 values", "257 values",     "16 bits",  "32 bits",
                                                     "64 bits",    "extremes",       "clock",    "noisy clock",
                                                     "descending", "runs",           "negative", "lonely spike",
                                                     "addresses",  "real constant",  "real odd", "real random",
                                                     "real ramp"};

static bool is_real(enum shape shape) { return shape >= SHAPE_REAL_CONSTANT; }

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The value of a row; of reals, its bits. */
static uint64_t make_value(enum shape shape, uint32_t row, uint64_t before) {
  static const uint64_t odd[] =
      {0x7ff8000000000001u, 0xfff8dead00000000u, 0x7ff0000000000000u, 0xfff0000000000000u, 0x8000000000000000u, 0, 1,
       0x3ff0000000000000u};
  uint64_t random = random_u64();
  switch (shape) {
    case SHAPE_CONSTANT: return 77;
    case SHAPE_ONES_AND_ZEROS: return random & 1;
    case SHAPE_SMALL: return random % 100;
    case SHAPE_BYTE: return (uint64_t)-3 + (random & 255);
    case SHAPE_256_VALUES: return (random % 256) * 1000003 + 17;
    case SHAPE_257_VALUES: return (row % 257) * 1000003 + 17;
    case SHAPE_16_BITS: return random & 0xffff;
    case SHAPE_32_BITS: return random & 0xffffffffu;
    case SHAPE_64_BITS: return random;
    case SHAPE_EXTREMES: return random & 1 ? (uint64_t)INT64_MAX : (uint64_t)INT64_MIN;
    case SHAPE_CLOCK: return row == 0 ? 1795230470000000000u : before + random % 3000;
    case SHAPE_CLOCK_NOISE: return row == 0 ? 1795230470000000000u : before + random % 300000 - 20000;
    case SHAPE_DESCENDING: return (uint64_t)0 - (uint64_t)row * 100003;
    case SHAPE_RUNS: return row == 0 || random % 50 == 0 ? random % 1000000007 : before;
    case SHAPE_NEGATIVE: return (uint64_t)0 - random % 100000;
    case SHAPE_LONELY_SPIKE: return row % 1000 == 500 ? (uint64_t)INT64_MIN : 5;
    case SHAPE_ADDRESSES: return 0x7f0000000000u + random % 100000 * 512;
    case SHAPE_REAL_CONSTANT: return bits_of(1.0);
    case SHAPE_REAL_ODD: return odd[random % 8];
    case SHAPE_REAL_RANDOM: return random;
    case SHAPE_REAL_RAMP: return bits_of(row * 0.25);
    case SHAPE_COUNT: break;
  }
  return 0;
}

enum null_pattern {
  NULLS_NONE,
  NULLS_EMPTY_BITMAP, /* a bitmap without a bit */
  NULLS_FIRST,
  NULLS_LAST,
  NULLS_ALL_BUT_ONE,
  NULLS_HALF,
  NULLS_ALL,
  NULLS_COUNT
};

static bool is_null(enum null_pattern pattern, uint32_t row, uint32_t rows) {
  switch (pattern) {
    case NULLS_NONE:
    case NULLS_EMPTY_BITMAP: return false;
    case NULLS_FIRST: return row == 0;
    case NULLS_LAST: return row == rows - 1;
    case NULLS_ALL_BUT_ONE: return row != rows / 2;
    case NULLS_HALF: return random_u64() & 1;
    case NULLS_ALL:
    case NULLS_COUNT: break;
  }
  return true;
}

struct made_column {
  uint64_t *values;
  double *reals;
  uint64_t *nulls;
  bool has_nulls;
  uint32_t null_count;
};

static struct made_column make_column(enum shape shape, enum null_pattern pattern, uint32_t rows) {
  uint32_t words = (rows + 63) / 64;
  struct made_column column = {allocate(rows * 8), allocate(rows * 8), allocate(words * 8), pattern != NULLS_NONE, 0};
  memset(column.nulls, 0, words * 8);
  for (uint32_t row = 0; row < rows; row++) {
    column.values[row] = make_value(shape, row, row ? column.values[row - 1] : 0);
    if (is_null(pattern, row, rows)) {
      column.nulls[row / 64] |= (uint64_t)1 << row % 64;
      column.null_count++;
    }
  }
  memcpy(column.reals, column.values, rows * 8);
  if (rows % 64 && column.has_nulls) column.nulls[words - 1] |= ~(uint64_t)0 << rows % 64; /* garbage past the end */
  return column;
}

static void free_column(struct made_column *column) {
  free(column->values);
  free(column->reals);
  free(column->nulls);
}

/* Compares what was decoded with what was written. */
static void compare_column(const struct made_column *made, const struct dump_block *block, enum shape shape,
                           uint32_t rows, const uint64_t *values, const uint64_t *nulls, const char *what) {
  int64_t minimum = INT64_MAX, maximum = INT64_MIN;
  for (uint32_t row = 0; row < rows; row++) {
    bool expected_null = made->has_nulls && (made->nulls[row / 64] >> row % 64 & 1);
    bool got_null = nulls[row / 64] >> row % 64 & 1;
    if (expected_null != got_null) {
      check(false, "%s: row %u is %s", what, row, got_null ? "null" : "not null");
      return;
    }
    uint64_t filler = is_real(shape) ? 0 : (uint64_t)block->minimum;
    if (values[row] != (expected_null ? filler : made->values[row])) {
      check(false, "%s: row %u is %lld, not %lld", what, row, (long long)values[row], (long long)made->values[row]);
      return;
    }
    if (expected_null) continue;
    if ((int64_t)values[row] < minimum) minimum = (int64_t)values[row];
    if ((int64_t)values[row] > maximum) maximum = (int64_t)values[row];
  }
  if (rows % 64) check(nulls[rows / 64] >> rows % 64 == 0, "%s: null bits past the last row", what);
  if (is_real(shape)) return;
  check(block->minimum == minimum && block->maximum == maximum, "%s: range %lld ... %lld is not %lld ... %lld", what,
        (long long)block->minimum, (long long)block->maximum, (long long)minimum, (long long)maximum);
}

/* Three frames of each shape and order, so that choices made on one are used on the next. */
enum { COLUMN_FRAMES = 3 };

struct seen_texts {
  unsigned count;
  uint64_t bytes;
};

static enum tfprof_status see_text(void *context, uint32_t id, const char *text, uint32_t length) {
  struct seen_texts *seen = context;
  (void)id;
  seen->count += text != NULL;
  seen->bytes += length;
  return TFPROF_OK;
}

/* Rows that take next to nothing: the file is as long as it must be for readers to believe it. */
static void test_many_rows(void) {
  enum { ROWS = DUMP_MAXIMUM_FRAME_ROWS, MANY_FRAMES = 40 };
  struct tfprof_error error;
  const char *path = test_path("many.tfprof");
  int64_t *values = calloc(ROWS, sizeof *values);
  struct dump_column_data column = {.dump_id = 4, .integers = values};
  struct dump_writer *writer = create_writer(path);
  for (int i = 0; i < MANY_FRAMES; i++)
    check_ok(dump_writer_rows(writer, 13, ROWS, &column, i % 2, &error), &error, "rows");
  check_ok(dump_writer_close(writer, &error), &error, "close");
  struct dump_file *file = open_file(path);
  check(file->frame_count == MANY_FRAMES && file->problem_count == 0, "%zu frames, %zu problems", file->frame_count,
        file->problem_count);
  check(file->file_bytes * 2 >= (MANY_FRAMES - 5) * (uint64_t)ROWS, "%llu bytes", (unsigned long long)file->file_bytes);
  dump_file_close(file);
  free(values);
}

/* The same of texts. */
static void test_many_texts(void) {
  enum { TEXTS = 40, TEXT_BYTES = 4 << 20 };
  struct tfprof_error error;
  const char *path = test_path("texts.tfprof");
  char *text = calloc(1, TEXT_BYTES);
  struct dump_writer *writer = create_writer(path);
  int64_t row = 1;
  for (int i = 0; i < TEXTS; i++) {
    text[0] = (char)i;
    check(dump_writer_string(writer, text, TEXT_BYTES) == (uint32_t)i + 1, "text %d", i);
    check_ok(dump_writer_rows(writer, 13, 1, &(struct dump_column_data){.dump_id = 4, .integers = &row}, 1, &error),
             &error, "rows");
  }
  check_ok(dump_writer_close(writer, &error), &error, "close");
  struct dump_file *file = open_file(path);
  struct seen_texts seen = {0};
  check_ok(dump_file_strings(file, see_text, &seen, &error), &error, "texts");
  check(seen.count == TEXTS && seen.bytes == (uint64_t)TEXTS * TEXT_BYTES && file->problem_count == 0,
        "%u texts, %llu bytes", seen.count, (unsigned long long)seen.bytes);
  dump_file_close(file);
  free(text);
}

static void test_columns_of(uint32_t rows, enum null_pattern pattern) {
  static struct made_column made[COLUMN_FRAMES][SHAPE_COUNT * 2];
  struct tfprof_error error;
  const char *path = test_path("columns.tfprof");
  struct dump_writer *writer = create_writer(path);
  for (int frame = 0; frame < COLUMN_FRAMES; frame++) {
    struct dump_column_data columns[SHAPE_COUNT * 2];
    for (int i = 0; i < SHAPE_COUNT * 2; i++) {
      enum shape shape = i / 2;
      made[frame][i] = make_column(shape, pattern, rows);
      columns[SHAPE_COUNT * 2 - 1 - i] = /* not in the order of ids */
          (struct dump_column_data){.dump_id = (uint16_t)(i + 4),
                                    .order = i % 2 ? DUMP_ASCENDING : DUMP_UNORDERED,
                                    .is_real = is_real(shape),
                                    .integers = is_real(shape) ? NULL : (const int64_t *)made[frame][i].values,
                                    .reals = is_real(shape) ? made[frame][i].reals : NULL,
                                    .nulls = made[frame][i].has_nulls ? made[frame][i].nulls : NULL};
    }
    check_ok(dump_writer_rows(writer, 13, rows, columns, SHAPE_COUNT * 2, &error), &error, "rows");
  }
  check(dump_writer_rows_written(writer, 13) == (uint64_t)rows * COLUMN_FRAMES, "rows_written is wrong");
  check_ok(dump_writer_close(writer, &error), &error, "close");

  struct dump_file *file = open_file(path);
  struct dump_cursor *cursor;
  uint64_t *values = allocate(rows * 8), *nulls = allocate((rows + 63) / 64 * 8);
  check(file->is_closed && file->problem_count == 0, "a good file has problems");
  check(file->frame_count == COLUMN_FRAMES, "%zu frames", file->frame_count);
  check_ok(dump_cursor_open(file, &cursor, &error), &error, "cursor");
  for (size_t frame = 0; frame < file->frame_count; frame++) {
    const struct dump_frame *found = &file->frames[frame];
    check(found->first_row == frame * rows && found->rows == rows && found->table_dump_id == 13, "frame %zu is wrong",
          frame);
    for (int i = 0; i < SHAPE_COUNT * 2; i++) {
      char what[128];
      const struct made_column *column = &made[frame][i];
      const struct dump_block *block = dump_frame_block(found, (uint16_t)(i + 4));
      snprintf(what, sizeof what, "%s, order %d, %u rows, nulls %d, frame %zu, encoding %d", shape_names[i / 2], i % 2,
               rows, pattern, frame, block ? block->encoding : -1);
      check((block == NULL) == (column->null_count == rows), "%s: block or no block", what);
      if (!block) continue;
      check(block->has_nulls == (column->null_count > 0), "%s: has_nulls is wrong", what);
      check((block->encoding == DUMP_REAL) == is_real(i / 2), "%s: the type is wrong", what);
      memset(nulls, 0xaa, (rows + 63) / 64 * 8);
      check_ok(dump_block_decode(cursor, found, block, values, nulls, &error), &error, what);
      compare_column(column, block, i / 2, rows, values, nulls, what);
    }
    check(dump_frame_block(found, 3) == NULL && dump_frame_block(found, 999) == NULL, "a block from nowhere");
  }
  dump_cursor_close(cursor);
  dump_file_close(file);
  for (int frame = 0; frame < COLUMN_FRAMES; frame++) {
    for (int i = 0; i < SHAPE_COUNT * 2; i++) free_column(&made[frame][i]);
  }
  free(values);
  free(nulls);
}

static void test_columns(void) {
  static const uint32_t sizes[] = {1, 2, 3, 7, 8, 9, 63, 64, 65, 100, 255, 256, 257, 1000, 4095, 4096, 4097};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (enum null_pattern pattern = 0; pattern < NULLS_COUNT; pattern++) test_columns_of(sizes[i], pattern);
  }
  test_columns_of(65535, NULLS_HALF);
  test_columns_of(65536, NULLS_NONE);
  test_columns_of(65536, NULLS_LAST);
}

/* Many frames of one column, so that trials come and go; and the encodings that should be found are found. */
static void test_choices(void) {
  enum { ROWS = 512, FRAMES = 300 };
  static int64_t values[3][FRAMES][ROWS];
  static uint64_t decoded[ROWS];
  struct tfprof_error error;
  const char *path = test_path("choices.tfprof");
  struct dump_writer *writer = create_writer(path);
  uint64_t clock = 0;
  unsigned seen[DUMP_ENCODING_COUNT] = {0};
  for (int frame = 0; frame < FRAMES; frame++) {
    for (int row = 0; row < ROWS; row++) {
      clock += random_u64() % 5000;
      values[0][frame][row] = (int64_t)clock;
      values[1][frame][row] = frame % 3 ? (int64_t)(random_u64() % 7 * 1000) : (int64_t)(random_u64() % 400 * 1000);
      values[2][frame][row] = frame * 4 + row / 128;
    }
    struct dump_column_data columns[3] = {{.dump_id = 4, .order = DUMP_ASCENDING, .integers = values[0][frame]},
                                          {.dump_id = 5, .integers = values[1][frame]},
                                          {.dump_id = 6, .order = DUMP_ASCENDING, .integers = values[2][frame]}};
    check_ok(dump_writer_rows(writer, 1, ROWS, columns, 3, &error), &error, "rows");
  }
  check_ok(dump_writer_close(writer, &error), &error, "close");
  struct dump_file *file = open_file(path);
  struct dump_cursor *cursor;
  check_ok(dump_cursor_open(file, &cursor, &error), &error, "cursor");
  for (size_t frame = 0; frame < file->frame_count; frame++) {
    for (uint16_t i = 0; i < 3; i++) {
      const struct dump_block *block = dump_frame_block(&file->frames[frame], (uint16_t)(4 + i));
      check_ok(dump_block_decode(cursor, &file->frames[frame], block, decoded, NULL, &error), &error, "decode");
      check(memcmp(decoded, values[i][frame], sizeof decoded) == 0, "column %d of frame %zu differs", i, frame);
      seen[block->encoding]++;
    }
  }
  check(seen[DUMP_DELTA] >= FRAMES && seen[DUMP_DICTIONARY] && seen[DUMP_RUNS],
        "encodings: %u delta, %u dictionary, %u runs", seen[DUMP_DELTA], seen[DUMP_DICTIONARY], seen[DUMP_RUNS]);
  dump_cursor_close(cursor);
  dump_file_close(file);
}

/* ---- Strings ---- */

struct collected {
  char **texts;
  uint32_t *lengths;
  uint32_t count, capacity;
  uint32_t stop_at; /* id at which to refuse once */
};

static enum tfprof_status collect(void *context, uint32_t id, const char *text, uint32_t length) {
  struct collected *all = context;
  if (id == all->stop_at) {
    all->stop_at = 0;
    return TFPROF_INTERRUPTED;
  }
  check(id == all->count + 1, "string %u comes after string %u", id, all->count);
  if (all->count == all->capacity) {
    all->capacity = all->capacity ? all->capacity * 2 : 64;
    all->texts = realloc(all->texts, all->capacity * sizeof *all->texts);
    all->lengths = realloc(all->lengths, all->capacity * sizeof *all->lengths);
    if (!all->texts || !all->lengths) abort();
  }
  all->texts[all->count] = text ? allocate(length) : NULL;
  if (text && length) memcpy(all->texts[all->count], text, length);
  all->lengths[all->count++] = length;
  return TFPROF_OK;
}

static void free_collected(struct collected *all) {
  for (uint32_t i = 0; i < all->count; i++) free(all->texts[i]);
  free(all->texts);
  free(all->lengths);
}

static void check_string(const struct collected *all, uint32_t id, const char *text, size_t length) {
  if (id == 0 || id > all->count) {
    check(false, "no string %u", id);
    return;
  }
  check(all->texts[id - 1] && all->lengths[id - 1] == length && memcmp(all->texts[id - 1], text, length) == 0,
        "string %u differs: %.40s, not %.40s", id, all->texts[id - 1] ? all->texts[id - 1] : "NULL", text);
}

static void write_one_row(struct dump_writer *writer) {
  struct tfprof_error error;
  int64_t value = 1;
  struct dump_column_data column = {.dump_id = 4, .integers = &value};
  check_ok(dump_writer_rows(writer, 1, 1, &column, 1, &error), &error, "rows");
}

static void test_strings(void) {
  static const struct {
    const char *text;
    size_t length;
  } odd[] = {{"", 0},
             {"a", 1},
             {"it's", 4},
             {"\"quoted\"", 8},
             {"\0", 1},
             {"a\0b", 3},
             {"a\0c", 3},
             {"\xff\xfe", 2},
             {"\xc3", 1},
             {"\xed\xa0\x80", 3},
             {"new\nline\ttab", 12},
             {"ü", 2},
             {"12345678", 8},
             {"123456789", 9},
             {"1234567890123456", 16},
             {"12345678901234567", 17}};
  enum { ODD = sizeof odd / sizeof *odd, MANY = 150000 };
  static uint32_t many[MANY];
  uint32_t ids[ODD];
  struct tfprof_error error;
  const char *path = test_path("strings.tfprof");
  struct dump_writer *writer = create_writer(path);
  for (unsigned i = 0; i < ODD; i++) ids[i] = dump_writer_string(writer, odd[i].text, odd[i].length);
  for (unsigned i = 0; i < ODD; i++) {
    check(ids[i] == i + 1, "string %u has id %u", i, ids[i]);
    check(dump_writer_string(writer, odd[i].text, odd[i].length) == ids[i], "string %u has two ids", i);
  }
  write_one_row(writer);
  for (uint32_t i = 0; i < MANY; i++) {
    char text[32];
    int length = snprintf(text, sizeof text, "name_%u/%u", i, i * 7919);
    many[i] = dump_writer_string(writer, text, (size_t)length);
  }
  size_t large_length = 1 << 20, largest_length = 16 << 20;
  char *large = allocate(largest_length + 1);
  for (size_t i = 0; i <= largest_length; i++) large[i] = (char)(random_u64() >> 60);
  uint32_t large_id = dump_writer_string(writer, large, large_length);
  write_one_row(writer);
  uint32_t largest_id = dump_writer_string(writer, large, largest_length);
  check(dump_writer_string(writer, large, largest_length + 1) == 0, "a text over 16 MB was taken");
  check(dump_writer_string(writer, NULL, 5) == 0, "NULL has an id");
  check(dump_writer_strings_refused(writer) == 1, "the refused text was not counted");
  check_ok(dump_writer_close(writer, &error), &error, "close"); /* writes the last one */

  struct collected all = {.stop_at = 70000};
  struct dump_file *file = open_file(path);
  check(dump_file_strings(file, collect, &all, &error) == TFPROF_INTERRUPTED, "the callback could not stop");
  check(all.count == 69999, "stopped after %u", all.count);
  check_ok(dump_file_strings(file, collect, &all, &error), &error, "strings");
  uint32_t count = all.count;
  check_ok(dump_file_strings(file, collect, &all, &error), &error, "strings again");
  check(all.count == count && count == ODD + MANY + 2, "%u strings", count);
  check(file->problem_count == 0, "%zu problems", file->problem_count);
  for (unsigned i = 0; i < ODD; i++) check_string(&all, ids[i], odd[i].text, odd[i].length);
  for (uint32_t i = 0; i < MANY; i++) {
    char text[32];
    int length = snprintf(text, sizeof text, "name_%u/%u", i, i * 7919);
    check_string(&all, many[i], text, (size_t)length);
  }
  check_string(&all, large_id, large, large_length);
  check_string(&all, largest_id, large, largest_length);
  free_collected(&all);
  dump_file_close(file);
  free(large);
}

/* ---- Everything else that a file holds ---- */

static void test_profile(void) {
  struct tfprof_error error;
  const char *path = test_path("profile.tfprof");
  struct dump_writer *writer = create_writer(path);
  struct dump_profile late = {.framework = "pytorch", .framework_version = "2.13", .job = "bert \xff", .rank = -1,
                              .sampling_seed = 0x8000000000000001u, .process_start_ticks = UINT64_MAX};
  struct dump_profile later = {.command = "other", .run_command = "the run", .rank = 0};
  struct dump_clock clocks[] = {{1, 2, 3, 4}, {INT64_MIN, INT64_MAX, -1, UINT32_MAX}};
  check_ok(dump_writer_profile(writer, &late, &error), &error, "profile");
  for (int i = 0; i < 2; i++) check_ok(dump_writer_clock(writer, &clocks[i], &error), &error, "clock");
  check_ok(dump_writer_dropped(writer, 13, 5, &error), &error, "dropped");
  check_ok(dump_writer_dropped(writer, 14, 0, &error), &error, "dropped");
  check_ok(dump_writer_dropped(writer, 13, 12, &error), &error, "dropped");
  struct dump_file *file = open_file(path); /* not closed */
  check(!file->is_closed && file->profile.rank == 3, "rank %d before it was set again", file->profile.rank);
  dump_file_close(file);
  check_ok(dump_writer_profile(writer, &later, &error), &error, "profile");
  check_ok(dump_writer_close(writer, &error), &error, "close");
  file = open_file(path);
  const struct dump_profile *profile = &file->profile;
  check(file->is_closed && file->version == 1, "closed %d, version %u", file->is_closed, file->version);
  check(strcmp(profile->host, "node7") == 0 && strcmp(profile->job, "bert \xff") == 0 &&
            profile->sampling_seed == 0x8000000000000001u && profile->process_start_ticks == UINT64_MAX &&
            strcmp(profile->command, "other") == 0 && strcmp(profile->run_command, "the run") == 0 &&
            strcmp(profile->framework, "pytorch") == 0 &&
            strcmp(profile->framework_version, "2.13") == 0 && strcmp(profile->recorder, "test 1") == 0 &&
            strcmp(profile->clock_domain, "monotonic") == 0,
        "a text of the profile is wrong");
  check(profile->pid == 4711 && profile->parent_pid == 12 && profile->rank == 0 && profile->world_size == 8 &&
            profile->boot_id[15] == 16 && profile->created_realtime_ns == 1700000000123456789,
        "a number of the profile is wrong");
  check(file->clock_count == 2, "%zu clocks", file->clock_count);
  for (int i = 0; i < 2; i++) {
    check(file->clocks[i].monotonic_ns == clocks[i].monotonic_ns &&
              file->clocks[i].realtime_ns == clocks[i].realtime_ns &&
              file->clocks[i].device_ns == clocks[i].device_ns &&
              file->clocks[i].uncertainty_ns == clocks[i].uncertainty_ns,
          "clock %d is wrong", i);
  }
  check(file->problem_count == 1 && strcmp(file->problems[0].reason, "dropped_rows") == 0 &&
            file->problems[0].count == 12 && file->problems[0].table_dump_id == 13,
        "dropped rows are not told");
  dump_file_close(file);
}

static void test_usage(void) {
  struct tfprof_error error;
  const char *path = test_path("usage.tfprof");
  struct dump_writer *writer = create_writer(path), *second;
  struct dump_profile profile = {.rank = -1};
  int64_t values[2] = {1, 2};
  struct dump_column_data twice[2] = {{.dump_id = 4, .integers = values}, {.dump_id = 4, .integers = values}};
  struct dump_column_data zero = {.dump_id = 0, .integers = values};
  check(dump_writer_rows(writer, 1, 2, twice, 2, &error) == TFPROF_USAGE, "the same column twice");
  check(dump_writer_rows(writer, 1, 2, &zero, 1, &error) == TFPROF_USAGE, "column 0");
  check(dump_writer_rows(writer, 1, 0, twice, 1, &error) == TFPROF_USAGE, "no rows");
  check(dump_writer_rows(writer, 1, 65537, twice, 1, &error) == TFPROF_USAGE, "too many rows");
  check(dump_writer_rows(writer, 0, 2, twice, 1, &error) == TFPROF_USAGE, "table 0");
  check_ok(dump_writer_rows(writer, 1, 2, NULL, 0, &error), &error, "rows without columns");
  check(dump_writer_create(path, false, &profile, &second, &error) == TFPROF_IO && !second, "replaced without leave");
  check(strstr(error.message, "exist") && strcmp(error.file, path) == 0, "message '%s'", error.message);
  check_ok(dump_writer_close(writer, &error), &error, "close");
  struct dump_file *file = open_file(path);
  check(file->frame_count == 1 && file->frames[0].rows == 2 && file->frames[0].block_count == 0,
        "rows without columns");
  dump_file_close(file);
  check(dump_file_open(test_path("absent"), &file, &error) == TFPROF_NOT_FOUND && !file, "an absent file");
  check(dump_file_open(test_directory, &file, &error) == TFPROF_WRONG_KIND, "a directory");
  check(mkfifo(test_path("pipe"), 0600) == 0 && dump_file_open(test_path("pipe"), &file, &error) == TFPROF_WRONG_KIND,
        "a pipe");
  write_whole(test_path("text"), (const uint8_t *)"{\"traceEvents\": []}", 19);
  check(dump_file_open(test_path("text"), &file, &error) == TFPROF_WRONG_KIND, "another format");
  write_whole(test_path("empty"), NULL, 0);
  check(dump_file_open(test_path("empty"), &file, &error) == TFPROF_WRONG_KIND, "an empty file");
}

/* ---- Index: opening through it shows what scanning shows ---- */

static void compare_files(const struct dump_file *left, const struct dump_file *right) {
  check(left->frame_count == right->frame_count, "%zu frames through the index, %zu by scanning", left->frame_count,
        right->frame_count);
  if (left->frame_count != right->frame_count) return;
  for (size_t i = 0; i < left->frame_count; i++) {
    const struct dump_frame *a = &left->frames[i], *b = &right->frames[i];
    check(a->offset == b->offset && a->first_row == b->first_row && a->rows == b->rows &&
              a->table_dump_id == b->table_dump_id && a->block_count == b->block_count,
          "frame %zu differs", i);
    for (unsigned k = 0; k < a->block_count && k < b->block_count; k++) {
      check(memcmp(&a->blocks[k], &b->blocks[k], sizeof a->blocks[k]) == 0, "block %u of frame %zu differs", k, i);
    }
  }
  check(left->clock_count == right->clock_count, "%zu and %zu clocks", left->clock_count, right->clock_count);
}

static void test_index(void) {
  enum { FRAMES = 12000 }; /* more than one piece of index */
  struct tfprof_error error;
  const char *path = test_path("index.tfprof"), *scanned_path = test_path("scanned.tfprof");
  struct dump_writer *writer = create_writer(path);
  for (int i = 0; i < FRAMES; i++) {
    int64_t values[3] = {i, (int64_t)random_u64(), i * 3};
    char text[16];
    if (i % 100 == 0) values[0] = dump_writer_string(writer, text, (size_t)snprintf(text, sizeof text, "text %d", i));
    struct dump_column_data columns[3] = {{.dump_id = 4, .integers = values},
                                          {.dump_id = 5, .integers = values + 1},
                                          {.dump_id = 6, .integers = values + 2}};
    check_ok(dump_writer_rows(writer, (uint16_t)(i % 5 + 1), 1, columns, 3, &error), &error, "rows");
    struct dump_clock clock = {i, i, i, 1};
    if (i % 50 == 0) check_ok(dump_writer_clock(writer, &clock, &error), &error, "clock");
  }
  check_ok(dump_writer_close(writer, &error), &error, "close");
  struct bytes bytes = read_whole(path);
  write_whole(scanned_path, bytes.at, bytes.length - DUMP_TRAILER_BYTES);
  unsigned index_frames = 0;
  struct dump_frame_header header;
  for (size_t at = DUMP_FILE_HEADER_BYTES; at < bytes.length; at = frame_after(&bytes, at, &header)) {
    index_frames += load_u16(bytes.at + at + 4) == DUMP_TYPE_INDEX;
  }
  check(index_frames > 1, "%u pieces of index", index_frames);
  struct dump_file *indexed = open_file(path), *scanned = open_file(scanned_path);
  check(indexed->is_closed && indexed->problem_count == 0, "the index was not used");
  check(!scanned->is_closed && scanned->problem_count == 0 && scanned->frame_count == FRAMES, "the scan failed");
  compare_files(indexed, scanned);
  check_ok(dump_file_refresh(indexed, &error), &error, "refresh of a closed file");
  struct collected all = {0};
  check_ok(dump_file_strings(indexed, collect, &all, &error), &error, "strings");
  check(all.count == FRAMES / 100, "%u strings", all.count);
  free_collected(&all);
  dump_file_close(indexed);
  dump_file_close(scanned);
  free(bytes.at);
}

/* ---- Files of later versions ---- */

static size_t append_frame(uint8_t *to, const struct bytes *file, struct dump_frame_header header, const uint8_t *head,
                           const uint8_t *body) {
  memset(to, 0, (size_t)dump_frame_span(&header));
  dump_frame_header_write(to, &header, head, file_salt(file));
  memcpy(to + DUMP_FRAME_HEADER_BYTES, head, header.head_length);
  memcpy(to + DUMP_FRAME_HEADER_BYTES + header.head_length, body, header.body_length);
  return (size_t)dump_frame_span(&header);
}

static void test_later_versions(void) {
  struct tfprof_error error;
  const char *path = test_path("later.tfprof");
  struct dump_writer *writer = create_writer(path);
  write_one_row(writer);
  dump_writer_abandon(writer);
  struct bytes file = read_whole(path);
  uint8_t *longer = allocate(file.length + 1000);
  memcpy(longer, file.at, file.length);
  size_t length = file.length;
  /* Two frames of unknown types, one of which may be skipped in silence. */
  struct dump_frame_header header = {.type = 99, .sequence = 2, .row_count = 5, .head_length = 3, .body_length = 11};
  length += append_frame(longer + length, &file, header, (const uint8_t *)"abc", (const uint8_t *)"hello world");
  header.type |= DUMP_TYPE_MAY_SKIP;
  header.sequence++;
  length += append_frame(longer + length, &file, header, (const uint8_t *)"abc", (const uint8_t *)"hello world");
  /* Rows: a column of an unknown encoding, one with unknown flags, one whose entry is longer than we know, a plain
  ** one. */
  uint8_t head[256], entry[64];
  size_t at = varint_write(head, 4) - head;
  for (uint16_t id = 4; id < 8; id++) {
    uint8_t *end = varint_write(entry, id);
    end = varint_write(end, id == 4 ? 77 : DUMP_VARINT);
    end = varint_write(end, id == 5 ? 128 : 0);
    end = varint_write(end, 2);
    end = varint_write(end, 2);
    store_u32(end, checksum_crc32(0, "\1\2", 2));
    end = varint_write(end + 4, zigzag(10));
    end = varint_write(end, 2);
    if (id == 6) end = (uint8_t *)memcpy(end, "more", 4) + 4;
    at = (size_t)(varint_write(head + at, (uint64_t)(end - entry)) - head);
    memcpy(head + at, entry, (size_t)(end - entry));
    at += (size_t)(end - entry);
  }
  header = (struct dump_frame_header){.type = DUMP_TYPE_ROWS,
                                      .table = 1,
                                      .sequence = 4,
                                      .first_row = 1,
                                      .row_count = 2,
                                      .head_length = (uint32_t)at,
                                      .body_length = 8};
  length += append_frame(longer + length, &file, header, head, (const uint8_t *)"\1\2\1\2\1\2\1\2");
  write_whole(path, longer, length);
  struct dump_file *read = open_file(path);
  check(read->frame_count == 2, "%zu frames", read->frame_count);
  check(read->problem_count == 3 && strcmp(read->problems[0].reason, "unknown_frame") == 0 &&
            strcmp(read->problems[1].reason, "unknown_encoding") == 0,
        "%zu problems, the first %s", read->problem_count, read->problem_count ? read->problems[0].reason : "");
  struct dump_cursor *cursor;
  check_ok(dump_cursor_open(read, &cursor, &error), &error, "cursor");
  for (uint16_t id = 4; id < 8 && read->frame_count == 2; id++) {
    int64_t values[2] = {0};
    const struct dump_block *block = dump_frame_block(&read->frames[1], id);
    enum tfprof_status status = dump_block_decode(cursor, &read->frames[1], block, values, NULL, &error);
    if (id < 6) check(status == TFPROF_VERSION, "column %u: status %d", id, status);
    else check(status == TFPROF_OK && values[0] == 11 && values[1] == 12, "column %u: status %d", id, status);
  }
  dump_cursor_close(cursor);
  dump_file_close(read);
  /* A feature that must be known, and a later version. */
  struct dump_file_header file_header;
  dump_file_header_read(longer, &file_header);
  file_header.optional_features = 1u << 31;
  file_header.required_features = 2;
  dump_file_header_write(longer, &file_header);
  write_whole(path, longer, length);
  check(dump_file_open(path, &read, &error) == TFPROF_VERSION && strstr(error.message, "update"), "a required feature");
  file_header.required_features = 0;
  file_header.version = 2;
  dump_file_header_write(longer, &file_header);
  write_whole(path, longer, length);
  check(dump_file_open(path, &read, &error) == TFPROF_VERSION, "a later version");
  free(longer);
  free(file.at);
}

static void test_errors(void) {
  struct tfprof_error error;
  char text[256];
  error_at(&error, TFPROF_CORRUPT, "a/b.tfprof", 17, "bad %d", 5);
  error_text(&error, text, sizeof text);
  check(strcmp(text, "a/b.tfprof: bad 5 (at byte 17)") == 0, "error text '%s'", text);
  error_set(&error, TFPROF_USAGE, "no");
  error_text(&error, text, sizeof text);
  check(strcmp(text, "no") == 0 && error.status == TFPROF_USAGE, "error text '%s'", text);
  check(error_set(NULL, TFPROF_LIMIT, "x") == TFPROF_LIMIT && error_no_memory(NULL) == TFPROF_NO_MEMORY,
        "no error to fill");
  check(error_text(&error, text, 2) == 2 && strcmp(text, "n") == 0, "a short buffer");
}

int main(void) {
  make_test_directory();
  test_errors();
  test_columns();
  test_many_rows();
  test_many_texts();
  test_choices();
  test_strings();
  test_profile();
  test_usage();
  test_index();
  test_later_versions();
  printf("test_dump: %s\n", check_failures ? "failed" : "ok");
  return check_result();
}
