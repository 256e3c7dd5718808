/* bench_dump_writer.c: what a recorded op costs the writer thread, in nanoseconds and bytes, and what reading it costs.
**
**   bench_dump_writer [OPS] [PATH]
**
** The ops imitate a training loop: 24 layers of a model run forward on one thread and backward on another, with an
** optimizer and two loader threads; about 250 names; shapes and types by place in the model; nested ops end before the
** op around them; ends 1 to 3 us apart with all their nanoseconds; durations log-normal around a mean of each name;
** sequence numbers on a third of the rows, shared by forward and backward; a Python stack on 40 % of the rows.  A
** twentieth of the ops is out of pattern. Time is that of this thread only (CLOCK_THREAD_CPUTIME_ID), from columns in
** memory to bytes in the page cache.
*/
#include "bench/figures.h"
#include "dump/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAYERS = 24, LAYER_OPS = 48, NAMES = 250, SHAPES = 160, TYPES = 14, STACKS = 900, THREADS = 4, COLUMNS = 10 };
enum {
  NAME = 4,
  CATEGORY = 6,
  THREAD = 8,
  END = 14,
  DURATION = 15,
  WEIGHT = 20,
  SEQUENCE = 21,
  SHAPE = 26,
  TYPE = 27,
  STACK = 36
};

struct op {
  uint16_t name, shape, type, stack;
  uint8_t category, has_sequence;
};

struct ops { /* columns of all ops */
  int64_t *name, *category, *thread, *end, *duration, *sequence, *shape, *type, *stack;
  double *weight;
  uint64_t *no_sequence, *no_stack;
  size_t count, capacity;
};

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_u64(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * 0x2545f4914f6cdd1du;
}

static double random_unit(void) { return (double)(random_u64() >> 11) / 9007199254740992.0; }

static double random_normal(void) {
  return sqrt(-2 * log(random_unit() + 1e-300)) * cos(6.283185307179586 * random_unit());
}

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (memory) return memory;
  fprintf(stderr, "out of memory\n");
  exit(1);
}

static void tell_op(const char *subject, double value, const char *unit, const char *what, const char *how) {
  tell_figure(&(struct figure){.subject = subject, .value = value, .unit = unit, .command = "bench_dump_writer"},
              "%s%s", what, how);
}

/* ---- Making ops ---- */

static struct op forward[LAYERS * LAYER_OPS], backward[LAYERS * LAYER_OPS];
static double mean_duration[NAMES];

static void make_model(void) {
  struct op layer[2][LAYER_OPS];
  for (int name = 0; name < NAMES; name++) mean_duration[name] = 1500 * exp(random_normal());
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < LAYER_OPS; i++) {
      layer[pass][i] = (struct op){.name = (uint16_t)(random_unit() * random_unit() * NAMES),
                                   .shape = (uint16_t)(random_u64() % SHAPES),
                                   .type = (uint16_t)(random_unit() * random_unit() * TYPES),
                                   .category = (uint8_t)(pass && random_u64() % 3 == 0),
                                   .has_sequence = random_u64() % 3 == 0};
    }
  }
  for (int i = 0; i < LAYERS * LAYER_OPS; i++) {
    forward[i] = layer[0][i % LAYER_OPS];
    backward[i] = layer[1][i % LAYER_OPS];
    if (i / LAYER_OPS % 6 == 5)
      forward[i].shape = (uint16_t)(forward[i].shape * 7 % SHAPES); /* not all layers are alike */
    if (i % 5 < 3) forward[i].stack = (uint16_t)(1 + i * 5 / 7 % STACKS);
  }
}

static void add_op(struct ops *ops, const struct op *op, int thread, int64_t *clock, int64_t sequence) {
  struct op odd;
  if (ops->count == ops->capacity) return;
  if (random_u64() % 20 == 0) {
    odd = (struct op){.name = (uint16_t)(random_u64() % NAMES),
                      .shape = (uint16_t)(random_u64() % SHAPES),
                      .type = (uint16_t)(random_u64() % TYPES),
                      .stack = (uint16_t)(1 + random_u64() % STACKS)};
    op = &odd;
  }
  size_t row = ops->count++;
  *clock += 1000 + (int64_t)(random_u64() % 2000);
  ops->name[row] = op->name;
  ops->category[row] = op->category;
  ops->thread[row] = thread;
  ops->end[row] = *clock;
  ops->duration[row] = (int64_t)(mean_duration[op->name] * exp(0.3 * random_normal())) + 200;
  ops->shape[row] = op->shape;
  ops->type[row] = op->type;
  ops->weight[row] = 1;
  if (op->has_sequence) ops->sequence[row] = sequence;
  else ops->no_sequence[row / 64] |= (uint64_t)1 << row % 64;
  if (op->stack) ops->stack[row] = op->stack;
  else ops->no_stack[row / 64] |= (uint64_t)1 << row % 64;
}

static void make_ops(struct ops *ops, size_t count) {
  int64_t clock = 1795230470123456789, sequence = 1;
  size_t words = (count + 63) / 64;
  int64_t **columns[] = {&ops->name,     &ops->category, &ops->thread, &ops->end,  &ops->duration,
                         &ops->sequence, &ops->shape,    &ops->type,   &ops->stack};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) *columns[i] = allocate(count * sizeof(int64_t));
  ops->weight = allocate(count * sizeof(double));
  ops->no_sequence = allocate(words * 8);
  ops->no_stack = allocate(words * 8);
  ops->capacity = count;
  make_model();
  while (ops->count < count) {
    for (int i = 0; i < LAYERS * LAYER_OPS; i++) {
      if (forward[i].has_sequence) sequence++;
      add_op(ops, &forward[i], 0, &clock, sequence);
      if (random_u64() % 30 == 0)
        add_op(ops, &forward[random_u64() % 8], 2 + (int)(random_u64() & 1), &clock, sequence);
    }
    int64_t back = sequence;
    for (int i = LAYERS * LAYER_OPS; i-- > 0;) {
      if (backward[i].has_sequence) back--;
      add_op(ops, &backward[i], 1, &clock, back);
    }
    for (int i = 0; i < 300; i++) add_op(ops, &forward[i % 6], 0, &clock, sequence); /* optimizer */
  }
}

/* ---- Writing ---- */

static void fail(const struct tfprof_error *error) {
  char text[2400];
  error_text(error, text, sizeof text);
  fprintf(stderr, "%s\n", text);
  exit(1);
}

static void intern_names(struct dump_writer *writer, struct ops *ops) {
  static uint32_t ids[NAMES];
  char text[NAMES][40];
  size_t lengths[NAMES];
  for (int i = 0; i < NAMES; i++) {
    lengths[i] = (size_t)snprintf(text[i], sizeof text[i], "aten::some_operation_%d_backward", i * 37);
    ids[i] = dump_writer_string(writer, text[i], lengths[i]);
  }
  uint64_t start = cpu_ns();
  for (size_t row = 0; row < ops->count; row++) {
    int64_t name = ops->name[row];
    if (dump_writer_string(writer, text[name], lengths[name]) != ids[name]) abort();
  }
  double each_ns = (double)(cpu_ns() - start) / (double)ops->count;
  printf("  looking up a known text       %6.1f ns\n", each_ns);
  tell_op("recorder", each_ns, "ns", "Looking up a text that the writer knows", "");
}

static void write_ops(const char *path, struct ops *ops, bool has_stacks) {
  struct tfprof_error error;
  struct dump_writer *writer;
  struct dump_profile profile = {.host = "bench", .rank = -1, .clock_domain = "realtime"};
  if (dump_writer_create(path, true, &profile, &writer, &error)) fail(&error);
  if (has_stacks) intern_names(writer, ops);
  uint64_t start = cpu_ns(), bytes = dump_writer_bytes_written(writer);
  for (size_t row = 0; row < ops->count; row += DUMP_FRAME_ROWS) {
    size_t left = ops->count - row, word = row / 64;
    struct dump_column_data columns[COLUMNS] = {{.dump_id = NAME, .integers = ops->name + row},
                                                {.dump_id = CATEGORY, .integers = ops->category + row},
                                                {.dump_id = THREAD, .integers = ops->thread + row},
                                                {.dump_id = END, .order = DUMP_ASCENDING, .integers = ops->end + row},
                                                {.dump_id = DURATION, .integers = ops->duration + row},
                                                {.dump_id = WEIGHT, .is_real = true, .reals = ops->weight + row},
                                                {.dump_id = SEQUENCE,
                                                 .order = DUMP_ASCENDING,
                                                 .integers = ops->sequence + row,
                                                 .nulls = ops->no_sequence + word},
                                                {.dump_id = SHAPE, .integers = ops->shape + row},
                                                {.dump_id = TYPE, .integers = ops->type + row},
                                                {.dump_id = STACK,
                                                 .integers = ops->stack + row,
                                                 .nulls = ops->no_stack + word}};
    if (dump_writer_rows(writer, 13, left < DUMP_FRAME_ROWS ? (uint32_t)left : DUMP_FRAME_ROWS, columns,
                         has_stacks ? COLUMNS : COLUMNS - 1, &error)) {
      fail(&error);
    }
  }
  uint64_t ns = cpu_ns() - start;
  bytes = dump_writer_bytes_written(writer) - bytes;
  printf("%s stacks\n", has_stacks ? "with" : "without");
  printf("  bytes per op                  %6.2f\n", (double)bytes / (double)ops->count);
  printf("  ns per op                     %6.1f\n", (double)ns / (double)ops->count);
  const char *how = has_stacks ? ", with stacks" : ", without stacks";
  tell_op("recorder", (double)bytes / (double)ops->count, "B", "A recorded op in the dump", how);
  tell_op("recorder", (double)ns / (double)ops->count, "ns", "Time of the writer thread for an op", how);
  if (dump_writer_close(writer, &error)) fail(&error);
}

/* ---- Reading ---- */

static const char *const encoding_names[] = {"constant", "varint", "delta", "real", "dictionary", "runs", "bytes"};

/* Decodes one column, or all when dump_id is 0. */
static void read_ops(const struct dump_file *file, uint16_t dump_id, const char *name, const struct ops *ops) {
  static int64_t values[DUMP_FRAME_ROWS];
  static uint64_t nulls[DUMP_FRAME_ROWS / 64];
  struct tfprof_error error;
  struct dump_cursor *cursor;
  uint64_t bytes = 0, rows = 0;
  unsigned encodings[DUMP_ENCODING_COUNT] = {0}, most = 0, width = 0;
  if (dump_cursor_open(file, &cursor, &error)) fail(&error);
  uint64_t start = cpu_ns();
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    rows += frame->rows;
    for (unsigned k = 0; k < frame->block_count; k++) {
      const struct dump_block *block = &frame->blocks[k];
      if (dump_id && block->dump_id != dump_id) continue;
      if (dump_block_decode(cursor, frame, block, values, nulls, &error)) fail(&error);
      if (dump_id == END && memcmp(values, ops->end + frame->first_row, frame->rows * sizeof *values) != 0) abort();
      bytes += block->stored_bytes;
      if (block->encoding < DUMP_ENCODING_COUNT) encodings[block->encoding]++;
      width += block->low_width;
    }
  }
  uint64_t ns = cpu_ns() - start;
  for (unsigned i = 0; i < DUMP_ENCODING_COUNT; i++) most = encodings[i] > encodings[most] ? i : most;
  printf("  reading %-20s  %6.1f ns %6.2f bytes", name, (double)ns / (double)rows, (double)bytes / (double)rows);
  if (dump_id) printf("  %s, low width %.1f", encoding_names[most], (double)width / (double)file->frame_count);
  printf("\n");
  tell_op("opening", (double)ns / (double)rows, "ns", "Decoding an op of a dump: ", name);
  tell_op("opening", (double)bytes / (double)rows, "B", "Size of an op in a dump with stacks: ", name);
  dump_cursor_close(cursor);
}

static void read_all(const char *path, const struct ops *ops) {
  static const struct {
    uint16_t dump_id;
    const char *name;
  } columns[] = {{0, "all columns"}, {NAME, "name"},         {CATEGORY, "category"}, {THREAD, "thread"},
                 {END, "end"},       {DURATION, "duration"}, {WEIGHT, "weight"},     {SEQUENCE, "sequence number"},
                 {SHAPE, "shapes"},  {TYPE, "types"},        {STACK, "stack"}};
  struct tfprof_error error;
  struct dump_file *file;
  uint64_t start = cpu_ns();
  if (dump_file_open(path, &file, &error)) fail(&error);
  printf("  opening                       %6.1f us for %zu frames\n", (double)(cpu_ns() - start) / 1000,
         file->frame_count);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    read_ops(file, columns[i].dump_id, columns[i].name, ops);
  dump_file_close(file);
}

int main(int count, char **arguments) {
  size_t op_count = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000000;
  const char *path = count > 2 ? arguments[2] : "/tmp/bench_dump_writer.tfprof";
  struct ops ops = {0};
  make_ops(&ops, op_count);
  printf("%zu ops, frames of %d\n", ops.count, DUMP_FRAME_ROWS);
  write_ops(path, &ops, false);
  write_ops(path, &ops, true);
  read_all(path, &ops);
  unlink(path);
  return 0;
}
