/* make_ops_dump: writes a dump of made-up but realistic ops, for benchmarks and for tests that need many rows.
**
**   make_ops_dump PATH ROWS [SEED]
**
** What it looks like: four host threads; trees of ops up to six deep, in end order as a capture writes them (a child's
** row before its parent's); about 250 names with a skewed distribution; a training step of some 3000 ops, ended on the
** first thread by a row "Optimizer.step#AdamW.step" of category `user`; sequence numbers on a third of the forward ops
** and on the backward ops that answer them; shapes and types; a Python stack on every outermost op.  The same SEED
** gives the same file, another one another recording: the time of creation differs.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/writer.h"
#include "schema/schema.h"

enum { THREADS = 4, NAMES = 250, SHAPES = 600, TYPES = 40, FRAMES = 300, TRACES = 400, DEPTH = 6, OPS_PER_STEP = 3000 };

static uint64_t random_state;

static uint64_t random_bits(
    void) { /* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators" */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 2685821657736338717u;
}
static uint32_t random_below(uint32_t bound) { return (uint32_t)((random_bits() >> 32) * bound >> 32); }
static double random_unit(void) { return (double)(random_bits() >> 11) * (1.0 / 9007199254740992.0); }
/* Small numbers are much more frequent. */
static uint32_t random_skewed(uint32_t bound) {
  double unit = random_unit();
  return (uint32_t)(unit * unit * unit * bound);
}
/* Log-normal around `median`. */
static int64_t random_duration(double median) {
  double normal = sqrt(-2 * log(random_unit() + 1e-12)) * cos(6.283185307179586 * random_unit());
  double value = median * exp(0.7 * normal);
  return value > 5e7 ? 50000000 : (int64_t)value + 40;
}

struct row {
  int64_t name, category, thread, end, duration, sequence, forward_thread, shapes, types, trace;
  bool has_sequence, has_forward_thread, has_shapes, has_trace;
};

static struct dump_writer *writer;
static struct tfprof_error error;
static uint32_t names[NAMES], shapes[SHAPES], types[TYPES], category_op, category_autograd, category_user, name_step;
static struct row rows[DUMP_FRAME_ROWS];
static uint32_t row_count;
static uint64_t written, wanted;
static int64_t sequence_number;

static _Noreturn void stop(void) {
  char text[2048];
  error_text(&error, text, sizeof text);
  fprintf(stderr, "make_ops_dump: %s\n", text);
  exit(1);
}

static uint32_t string(const char *text) { return dump_writer_string(writer, text, strlen(text)); }

static uint16_t dump_id(int table, int column) { return schema_tables[table].columns[column].dump_id; }

/* One frame of at most 12 integer columns; `nulls` bitmaps by column or NULL. */
static void write_frame(int table, uint32_t count, const uint16_t *columns, const uint8_t *orders,
                        int64_t *const *values, uint64_t *const *nulls, unsigned column_count) {
  struct dump_column_data data[12];
  memset(data, 0, sizeof data);
  for (unsigned i = 0; i < column_count; i++) {
    data[i].dump_id = dump_id(table, columns[i]);
    data[i].order = orders ? orders[i] : DUMP_UNORDERED;
    data[i].integers = values[i];
    data[i].nulls = nulls ? nulls[i] : NULL;
  }
  if (dump_writer_rows(writer, schema_tables[table].dump_id, count, data, column_count, &error) != TFPROF_OK) stop();
}

static void flush_rows(void) {
  static int64_t values[10][DUMP_FRAME_ROWS];
  static uint64_t nulls[10][DUMP_FRAME_ROWS / 64];
  static const uint16_t columns[10] = {
      COLUMN_ops_name, COLUMN_ops_category, COLUMN_ops_thread_id, COLUMN_ops_end_ns, COLUMN_ops_dur_ns,
      COLUMN_ops_sequence_number, COLUMN_ops_forward_thread, COLUMN_ops_input_shapes, COLUMN_ops_input_types,
      COLUMN_ops_recorded_code_trace};
  static const uint8_t orders[10] = {DUMP_UNORDERED, DUMP_UNORDERED, DUMP_UNORDERED, DUMP_ASCENDING, DUMP_UNORDERED,
                                     DUMP_ASCENDING, DUMP_UNORDERED, DUMP_UNORDERED, DUMP_UNORDERED, DUMP_UNORDERED};
  int64_t *value_pointers[10];
  uint64_t *null_pointers[10];
  if (!row_count) return;
  memset(nulls, 0, sizeof nulls);
  for (unsigned i = 0; i < 10; i++) {
    value_pointers[i] = values[i];
    null_pointers[i] = i < 5 ? NULL : nulls[i];
  }
  for (uint32_t r = 0; r < row_count; r++) {
    const struct row *row = &rows[r];
    int64_t cells[10] = {row->name, row->category, row->thread, row->end, row->duration,
                         row->sequence, row->forward_thread, row->shapes, row->types, row->trace};
    bool has[10] = {true,
                    true,
                    true,
                    true,
                    true,
                    row->has_sequence,
                    row->has_forward_thread,
                    row->has_shapes,
                    row->has_shapes,
                    row->has_trace};
    for (unsigned i = 0; i < 10; i++) {
      values[i][r] = cells[i];
      if (!has[i]) nulls[i][r >> 6] |= (uint64_t)1 << (r & 63);
    }
  }
  write_frame(TABLE_ops, row_count, columns, orders, value_pointers, null_pointers, 10);
  row_count = 0;
}

static void add_row(const struct row *row) {
  if (written == wanted) return;
  rows[row_count++] = *row;
  written++;
  if (row_count == DUMP_FRAME_ROWS) flush_rows();
}

/* Makes one tree of ops from *now on; children first. Advances *now past it. */
static void make_tree(int thread, int64_t *now, unsigned depth, bool is_backward) {
  struct row row = {0};
  int64_t start = *now;
  unsigned children = depth < DEPTH ? random_below(depth == 0 ? 4 : 3) : 0;
  row.name = names[random_skewed(NAMES)];
  row.category = is_backward && depth == 0 ? category_autograd : category_op;
  row.thread = thread;
  row.has_shapes = random_below(8) != 0;
  row.shapes = shapes[random_skewed(SHAPES)];
  row.types = types[random_skewed(TYPES)];
  if (is_backward && depth == 0 && sequence_number > 0) {
    row.has_sequence = row.has_forward_thread = true;
    row.sequence =
        random_below(200) < (uint32_t)sequence_number ? sequence_number - random_below(200) : sequence_number;
    if (row.sequence < 0) row.sequence = 0;
    row.forward_thread = 1;
  } else if (!is_backward && random_below(3) == 0) {
    row.has_sequence = true;
    row.sequence = sequence_number++;
  }
  row.has_trace = depth == 0 && !is_backward;
  row.trace = random_skewed(TRACES);
  *now += random_duration(400);
  for (unsigned i = 0; i < children; i++) {
    make_tree(thread, now, depth + 1, is_backward);
    *now += random_duration(150);
  }
  *now += random_duration(children ? 300 : 900);
  row.end = *now;
  row.duration = *now - start;
  add_row(&row);
}

static void write_strings(void) {
  static const char *const dtypes[] = {"float", "c10::BFloat16", "int64_t", "double", "Scalar", ""};
  char text[256];
  for (int i = 0; i < NAMES; i++) {
    snprintf(text, sizeof text,
             i % 9 == 8 ? "autograd::engine::evaluate_function: Made%dBackward0" : "aten::made_operator_%d", i);
    names[i] = string(text);
  }
  for (int i = 0; i < SHAPES; i++) {
    snprintf(text, sizeof text, "[[%u,%u,%u],[%u],[],[]]", 1 + random_below(64), 1 + random_below(512),
             1 + random_below(512), 1 + random_below(512));
    shapes[i] = string(text);
  }
  for (int i = 0; i < TYPES; i++) {
    snprintf(text, sizeof text, "[\"%s\",\"%s\",\"Scalar\",\"%s\"]", dtypes[i % 6], dtypes[i / 6 % 6],
             i > 20 ? "" : "Scalar");
    types[i] = string(text);
  }
  category_op = string("op");
  category_autograd = string("autograd");
  category_user = string("user");
  name_step = string("Optimizer.step#AdamW.step");
}

static void write_threads(void) {
  int64_t kind[THREADS], name[THREADS], pid[THREADS], tid[THREADS], logical[THREADS];
  int64_t *values[] = {kind, name, pid, tid, logical};
  static const uint16_t columns[] = {COLUMN_threads_kind, COLUMN_threads_name, COLUMN_threads_pid, COLUMN_threads_tid,
                                     COLUMN_threads_logical_thread};
  for (int i = 0; i < THREADS; i++) {
    char text[32];
    snprintf(text, sizeof text, i ? "pt_autograd_%d" : "python", i);
    kind[i] = string("host");
    name[i] = string(text);
    pid[i] = 4242;
    tid[i] = 4242 + i;
    logical[i] = i + 1;
  }
  write_frame(TABLE_threads, THREADS, columns, NULL, values, NULL, 5);
}

static void write_code(void) {
  static int64_t file[FRAMES], line[FRAMES], function[FRAMES], text_of[FRAMES], language[FRAMES];
  static int64_t depth[TRACES], leaf[TRACES], parent[TRACES], hash[TRACES];
  static uint64_t parent_nulls[(TRACES + 63) / 64];
  int64_t *frame_values[] = {file, line, function, text_of, language};
  int64_t *trace_values[] = {depth, leaf, parent, hash};
  uint64_t *trace_nulls[] = {NULL, NULL, parent_nulls, NULL};
  static const uint16_t frame_columns[] = {COLUMN_code_frames_file, COLUMN_code_frames_line,
                                           COLUMN_code_frames_function, COLUMN_code_frames_text,
                                           COLUMN_code_frames_language};
  static const uint16_t trace_columns[] = {COLUMN_code_traces_depth, COLUMN_code_traces_leaf_frame_id,
                                           COLUMN_code_traces_parent_id, COLUMN_code_traces_hash};
  char text[128];
  for (int i = 0; i < FRAMES; i++) {
    snprintf(text, sizeof text, "/home/someone/project/module_%d.py", i / 20);
    file[i] = string(text);
    line[i] = 10 + 7 * (i % 20);
    snprintf(text, sizeof text, "Layer%d.forward", i / 4);
    function[i] = string(text);
    snprintf(text, sizeof text, "x = self.layer_%d(x)", i);
    text_of[i] = string(text);
    language[i] = string("python");
  }
  write_frame(TABLE_code_frames, FRAMES, frame_columns, NULL, frame_values, NULL, 5);
  for (int i = 0; i < TRACES; i++) {
    int from = i ? (int)random_below((uint32_t)i) : 0;
    bool is_root = i == 0 || depth[from] > 25;
    depth[i] = is_root ? 1 : depth[from] + 1;
    parent[i] = is_root ? 0 : from;
    if (is_root) parent_nulls[i >> 6] |= (uint64_t)1 << (i & 63);
    leaf[i] = random_below(FRAMES);
    hash[i] = (int64_t)(random_bits() >> 1);
  }
  write_frame(TABLE_code_traces, TRACES, trace_columns, NULL, trace_values, trace_nulls, 4);
}

int main(int argument_count, char **arguments) {
  if (argument_count < 3) {
    fprintf(stderr, "usage: make_ops_dump PATH ROWS [SEED]\n");
    return 2;
  }
  wanted = strtoull(arguments[2], NULL, 10);
  uint64_t seed = argument_count > 3 ? strtoull(arguments[3], NULL, 10) : 1;
  random_state = 0x9E3779B97F4A7C15u ^ seed;
  struct dump_profile profile = {
      .host = "benchmark",
      .command = "python train.py",
      .framework = "pytorch",
      .framework_version = "2.13.0",
      .recorder = "make_ops_dump",
      .clock_domain = "monotonic",
      .pid = 4242,
      .rank = -1,
      .created_realtime_ns =
          1795000000000000000 + (int64_t)(seed % 1000000000)}; /* each seed is a recording of its own */
  if (dump_writer_create(arguments[1], true, &profile, &writer, &error) != TFPROF_OK) stop();
  int64_t now[THREADS], origin = 5000000000000;
  struct dump_clock clock = {origin, profile.created_realtime_ns, 0, 40};
  if (dump_writer_clock(writer, &clock, &error) != TFPROF_OK) stop();
  write_strings();
  write_threads();
  write_code();
  for (int i = 0; i < THREADS; i++) now[i] = origin;
  while (written < wanted) {
    uint64_t step_start = written;
    int64_t step_started = now[0];
    while (written < wanted && written - step_start < OPS_PER_STEP) {
      /* Two thirds forward on the first thread, the rest backward on the others, in runs as a writer drains
      ** its rings. */
      int thread = random_below(3) ? 0 : 1 + (int)random_below(THREADS - 1);
      for (unsigned run = 0; run < 20; run++) {
        make_tree(thread, &now[thread], 0, thread != 0);
        now[thread] += random_duration(1500);
      }
      for (int i = 0; i < THREADS; i++) if (now[i] < now[thread] - 200000) now[i] = now[thread] - 200000;
    }
    struct row row = {.name = name_step, .category = category_user, .thread = 0};
    row.duration = random_duration(20000);
    row.end = now[0] += row.duration;
    if (row.duration > now[0] - step_started) row.duration = now[0] - step_started;
    add_row(&row);
    now[0] += random_duration(5000);
  }
  flush_rows();
  clock.monotonic_ns = now[0];
  clock.realtime_ns = profile.created_realtime_ns + (now[0] - origin);
  if (dump_writer_clock(writer, &clock, &error) != TFPROF_OK) stop();
  uint64_t bytes = dump_writer_bytes_written(writer);
  if (dump_writer_close(writer, &error) != TFPROF_OK) stop();
  printf("%" PRIu64 " ops, %" PRIu64 " bytes, %.2f bytes per op\n", written, bytes,
         (double)bytes / (double)(written ? written : 1));
  return 0;
}
