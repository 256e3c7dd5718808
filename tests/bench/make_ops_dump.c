/* make_ops_dump.c: writes a dump that looks like a recording of a transformer's training, for benchmarks.
**
**   make_ops_dump PATH ROWS [SEED]
**
** ROWS ops on four threads (the loop, autograd, two loaders of data), nested up to six deep, in the order in which they end
** as a recorder sees them; about 250 names; steps of about 3000 ops that end with Optimizer.step#AdamW.step; shapes, types,
** sequence numbers; call stacks on outermost ops.  The same arguments give the same bytes but for the time of creation.
*/
#include "dump/writer.h"
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 24, THREADS = 4, STEP_ROWS = 65536, LEVELS = 8, STACKS = 400, SHAPES = 48 };

/* What runs for a layer: calls(within calls). % is the number of the layer. */
static const char *const forward_layer[] = {
    "nn.Module: LayerNorm_%a(aten::layer_norm(aten::native_layer_norm(aten::empty,aten::empty,aten::view)))",
    "nn.Module: Linear_%q(aten::linear(aten::t(aten::transpose(aten::as_strided)),aten::addmm,aten::view))",
    "nn.Module: Linear_%k(aten::linear(aten::t(aten::transpose(aten::as_strided)),aten::addmm,aten::view))",
    "aten::reshape(aten::view)",
    "aten::transpose(aten::as_strided)",
    "aten::scaled_dot_product_attention(aten::_scaled_dot_product_flash_attention(aten::_flash_attention_forward("
    "aten::empty_like(aten::empty_strided),aten::empty)))",
    "aten::dropout(aten::native_dropout(aten::empty_like(aten::empty_strided)))",
    "aten::add",
    "nn.Module: Linear_%u(aten::linear(aten::t(aten::transpose(aten::as_strided)),aten::matmul(aten::mm),aten::add_))",
    "aten::gelu",
    "nn.Module: Linear_%d(aten::linear(aten::t(aten::transpose(aten::as_strided)),aten::matmul(aten::mm),aten::add_))",
    "aten::contiguous(aten::clone(aten::empty_like(aten::empty_strided),aten::copy_))",
    "aten::mul",
};
static const char *const backward_layer[] = {
    "autograd::engine::evaluate_function: AddmmBackward0(AddmmBackward0(aten::t(aten::transpose(aten::as_strided)),"
    "aten::mm,aten::t(aten::transpose(aten::as_strided)),aten::mm,aten::sum))",
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad(torch::autograd::AccumulateGrad(aten::detach("
    "detach)))",
    "autograd::engine::evaluate_function: NativeLayerNormBackward0(NativeLayerNormBackward0(aten::"
    "native_layer_norm_backward(aten::empty,aten::empty,aten::empty)))",
    "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0("
    "ScaledDotProductFlashAttentionBackward0(aten::_scaled_dot_product_flash_attention_backward(aten::"
    "_flash_attention_backward(aten::empty_like(aten::empty_strided),aten::empty))))",
    "autograd::engine::evaluate_function: GeluBackward0(GeluBackward0(aten::gelu_backward))",
    "autograd::engine::evaluate_function: MmBackward0(MmBackward0(aten::t(aten::transpose(aten::as_strided)),aten::mm,"
    "aten::t(aten::transpose(aten::as_strided)),aten::mm))",
    "autograd::engine::evaluate_function: TBackward0(TBackward0(aten::t(aten::transpose(aten::as_strided))))",
    "autograd::engine::evaluate_function: ViewBackward0(ViewBackward0(aten::reshape(aten::view)))",
    "autograd::engine::evaluate_function: AddBackward0(AddBackward0)",
    "autograd::engine::evaluate_function: NativeDropoutBackward0(NativeDropoutBackward0(aten::native_dropout_backward))",
    "autograd::engine::evaluate_function: TransposeBackward0(TransposeBackward0(aten::transpose(aten::as_strided)))",
};
static const char *const loader[] = {
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__(aten::stack(aten::cat(aten::narrow(aten::slice)),"
    "aten::resize_),aten::pin_memory(aten::_pin_memory(aten::empty,aten::copy_)))",
    "aten::to(aten::_to_copy(aten::empty_strided,aten::copy_))",
};
static const char *const optimizer[] = {
    "aten::_foreach_mul_(aten::mul_,aten::mul_)",
    "aten::_foreach_lerp_(aten::lerp_,aten::lerp_)",
    "aten::_foreach_addcmul_(aten::addcmul_)",
    "aten::_foreach_sqrt(aten::sqrt)",
    "aten::_foreach_div_(aten::div_,aten::div_)",
    "aten::_foreach_addcdiv_(aten::addcdiv_)",
};

struct op {
  int64_t start, end;
  int64_t name, category, shapes, types, sequence, stack, correlation, allocated;
  int64_t thread, forward_thread;
};

struct generator {
  struct dump_writer *writer;
  uint64_t random;
  int64_t now[THREADS];
  struct op *ops; /* of one step, in order of their ends within each thread */
  size_t op_count;
  int64_t correlation, sequence, rows_left;
  unsigned layer;
  int64_t shapes[SHAPES], types[6], categories[6];
};

enum category { OP, AUTOGRAD, MODULE, PYTHON, USER, INPUT };
static const char *const category_names[] = {"op", "autograd", "module", "python", "user", "input"};

static uint64_t next_random(struct generator *generator) { /* xorshift */
  uint64_t x = generator->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return generator->random = x;
}

static int64_t between(struct generator *generator, int64_t low, int64_t high) {
  return low + (int64_t)(next_random(generator) % (uint64_t)(high - low + 1));
}

/* Mostly short, seldom long. */
static int64_t own_time(struct generator *generator) {
  int64_t shift = (int64_t)__builtin_ctzll(next_random(generator) | 256);
  return between(generator, 700, 4000) << (shift > 5 ? 5 : shift);
}

static int64_t string(struct generator *generator, const char *text) {
  return dump_writer_string(generator->writer, text, strlen(text));
}

static enum category category_of(const char *name, unsigned thread) {
  if (strncmp(name, "nn.Module", 9) == 0) return MODULE;
  if (strstr(name, "Backward0") || strstr(name, "autograd::")) return AUTOGRAD;
  if (strncmp(name, "enumerate", 9) == 0) return INPUT;
  if (strncmp(name, "Optimizer", 9) == 0) return USER;
  return thread >= 2 ? INPUT : OP;
}

/* Runs the call that *at describes, with all within it, and moves on behind it. */
static void run_call(struct generator *generator, unsigned thread, const char **at, unsigned level) {
  char name[160];
  size_t length = 0;
  for (; **at && !strchr("(),", **at); (*at)++) {
    if (**at == '%') length += (size_t)sprintf(name + length, "%u", generator->layer);
    else name[length++] = **at;
    /* "enumerate(DataLoader)" has a parenthesis of its own. */
    if (length == 9 && memcmp(name, "enumerate", 9) == 0) {
      memcpy(name + length, "(DataLoader)", 12);
      length += 12;
      *at += 12;
    }
  }
  name[length] = 0;
  struct op op = {.thread = thread};
  generator->now[thread] += between(generator, 150, 900);
  op.start = generator->now[thread];
  bool has_children = **at == '(';
  if (has_children) {
    do {
      (*at)++;
      run_call(generator, thread, at, level + 1);
    } while (**at == ',');
    (*at)++;
  }
  generator->now[thread] += has_children ? between(generator, 300, 3000) : own_time(generator);
  op.end = generator->now[thread];
  op.name = string(generator, name);
  enum category category = category_of(name, thread);
  op.category = generator->categories[category];
  op.correlation = ++generator->correlation;
  if (category == OP) {
    op.shapes = generator->shapes[(generator->layer * 7 + length) % SHAPES];
    op.types = generator->types[length % 6];
    op.allocated = strstr(name, "empty") || strstr(name, "mm") ? between(generator, 1, 64) << 16 : -1;
  } else {
    op.allocated = -1;
  }
  op.sequence = thread == 0 && category == OP && level <= 2 ? ++generator->sequence : -1;
  op.forward_thread = 0;
  if (thread == 1) {
    op.forward_thread = 1;
    op.sequence = level <= 1 ? generator->sequence-- : -1;
  }
  op.stack = level == 0 && thread != 1 ? (int64_t)((generator->layer * 13 + length) % STACKS) : -1;
  if (generator->op_count < STEP_ROWS) generator->ops[generator->op_count++] = op;
}

static void run_calls(struct generator *generator, unsigned thread, const char *const *calls, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *at = calls[i];
    run_call(generator, thread, &at, 0);
  }
}

#define RUN(generator, thread, calls) run_calls(generator, thread, calls, sizeof calls / sizeof calls[0])

static void run_step(struct generator *generator) {
  static const char *const step_end[] = {"Optimizer.step#AdamW.step"};
  int64_t begin = generator->now[0];
  generator->op_count = 0;
  for (generator->layer = 0; generator->layer < LAYERS; generator->layer++) RUN(generator, 0, forward_layer);
  int64_t forward_end = generator->now[0];
  if (generator->now[1] < forward_end) generator->now[1] = forward_end;
  while (generator->layer-- > 0) RUN(generator, 1, backward_layer);
  generator->layer = 0;
  if (generator->now[0] < generator->now[1]) generator->now[0] = generator->now[1];
  int64_t optimizer_start = generator->now[0];
  for (int i = 0; i < 12; i++) RUN(generator, 0, optimizer);
  /* The step's own row covers what the optimizer did. */
  RUN(generator, 0, step_end);
  generator->ops[generator->op_count - 1].start = optimizer_start;
  for (unsigned thread = 2; thread < THREADS; thread++) {
    if (generator->now[thread] < begin) generator->now[thread] = begin;
    while (generator->now[thread] < generator->now[0] && generator->op_count + 64 < STEP_ROWS) {
      RUN(generator, thread, loader);
      generator->now[thread] += 900000;
    }
  }
}

static int compare_ends(const void *left, const void *right) {
  const struct op *a = left, *b = right;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return (a->thread > b->thread) - (a->thread < b->thread);
}

/* ---- writing ---- */

struct column_buffer {
  int64_t values[DUMP_FRAME_ROWS];
  uint64_t nulls[DUMP_FRAME_ROWS / 64];
};

static int fail(const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  fprintf(stderr, "make_ops_dump: %s\n", text);
  return 1;
}

static uint16_t dump_id(unsigned table, unsigned column) { return schema_tables[table].columns[column].dump_id; }

/* The columns of ops, and where they are in struct op. -1 is NULL, and 0 where a text is meant. */
static const struct {
  uint16_t column;
  uint16_t offset;
  uint8_t order;
} op_columns[] = {
    {COLUMN_ops_name, offsetof(struct op, name), DUMP_UNORDERED},
    {COLUMN_ops_category, offsetof(struct op, category), DUMP_UNORDERED},
    {COLUMN_ops_thread_id, offsetof(struct op, thread), DUMP_UNORDERED},
    {COLUMN_ops_end_ns, offsetof(struct op, end), DUMP_ASCENDING},
    {COLUMN_ops_dur_ns, offsetof(struct op, start), DUMP_UNORDERED},
    {COLUMN_ops_sequence_number, offsetof(struct op, sequence), DUMP_ASCENDING},
    {COLUMN_ops_correlation, offsetof(struct op, correlation), DUMP_ASCENDING},
    {COLUMN_ops_input_shapes, offsetof(struct op, shapes), DUMP_UNORDERED},
    {COLUMN_ops_input_types, offsetof(struct op, types), DUMP_UNORDERED},
    {COLUMN_ops_allocated_bytes, offsetof(struct op, allocated), DUMP_UNORDERED},
    {COLUMN_ops_forward_thread, offsetof(struct op, forward_thread), DUMP_UNORDERED},
    {COLUMN_ops_recorded_code_trace, offsetof(struct op, stack), DUMP_UNORDERED},
};
enum { OP_COLUMNS = sizeof op_columns / sizeof op_columns[0] };

static enum tfprof_status write_ops(struct dump_writer *writer, const struct op *ops, uint32_t count,
                                    struct column_buffer *buffers, struct tfprof_error *error) {
  struct dump_column_data columns[OP_COLUMNS];
  for (unsigned i = 0; i < OP_COLUMNS; i++) {
    const struct column_spec *spec = &schema_tables[TABLE_ops].columns[op_columns[i].column];
    struct column_buffer *buffer = &buffers[i];
    memset(buffer->nulls, 0, sizeof buffer->nulls);
    for (uint32_t row = 0; row < count; row++) {
      int64_t value;
      memcpy(&value, (const char *)&ops[row] + op_columns[i].offset, sizeof value);
      if (op_columns[i].column == COLUMN_ops_dur_ns) value = ops[row].end - value;
      bool is_null = value == -1 || (value == 0 && (spec->type == TYPE_TEXT || spec->type == TYPE_JSON));
      if (is_null) buffer->nulls[row / 64] |= (uint64_t)1 << (row % 64);
      buffer->values[row] = value;
    }
    columns[i] = (struct dump_column_data){.dump_id = spec->dump_id,
                                           .order = op_columns[i].order,
                                           .integers = buffer->values,
                                           .nulls = buffer->nulls};
  }
  return dump_writer_rows(writer, schema_tables[TABLE_ops].dump_id, count, columns, OP_COLUMNS, error);
}

static enum tfprof_status write_stacks(struct generator *generator, struct column_buffer *buffers,
                                       struct tfprof_error *error) {
  struct dump_writer *writer = generator->writer;
  memset(buffers[2].nulls, 0, sizeof buffers[2].nulls);
  for (int64_t i = 0; i < STACKS; i++) {
    char text[64];
    snprintf(text, sizeof text, "/home/user/model/%s.py", i % 3 ? "block" : "train");
    buffers[0].values[i] = string(generator, text);
    buffers[1].values[i] = 10 + i * 3;
    snprintf(text, sizeof text, "forward_%lld", (long long)i % 40);
    buffers[3].values[i] = string(generator, text);
    buffers[4].values[i] = i;             /* leaf frame */
    buffers[2].values[i] = (i - 1) / 3;   /* parent: always an earlier row */
    buffers[5].values[i] = 1;
    for (int64_t up = i; up > 0; up = (up - 1) / 3) buffers[5].values[i]++;
  }
  buffers[2].nulls[0] = 1;
  const struct dump_column_data frames[] = {
      {.dump_id = dump_id(TABLE_code_frames, COLUMN_code_frames_file), .integers = buffers[0].values},
      {.dump_id = dump_id(TABLE_code_frames, COLUMN_code_frames_line), .integers = buffers[1].values},
      {.dump_id = dump_id(TABLE_code_frames, COLUMN_code_frames_function), .integers = buffers[3].values},
  };
  const struct dump_column_data traces[] = {
      {.dump_id = dump_id(TABLE_code_traces, COLUMN_code_traces_depth), .integers = buffers[5].values},
      {.dump_id = dump_id(TABLE_code_traces, COLUMN_code_traces_leaf_frame_id), .integers = buffers[4].values},
      {.dump_id = dump_id(TABLE_code_traces, COLUMN_code_traces_parent_id),
       .integers = buffers[2].values,
       .nulls = buffers[2].nulls},
  };
  enum tfprof_status status = dump_writer_rows(writer, schema_tables[TABLE_code_frames].dump_id, STACKS, frames, 3, error);
  return status ? status : dump_writer_rows(writer, schema_tables[TABLE_code_traces].dump_id, STACKS, traces, 3, error);
}

static enum tfprof_status write_threads(struct generator *generator, struct tfprof_error *error) {
  static const char *const names[THREADS] = {"python", "pt_autograd_0", "loader_0", "loader_1"};
  int64_t kinds[THREADS], texts[THREADS], pids[THREADS], tids[THREADS], logical[THREADS], zero[1] = {0};
  int64_t device_name[1] = {string(generator, "cpu:0")}, device_kind[1] = {string(generator, "cpu")};
  for (int i = 0; i < THREADS; i++) {
    kinds[i] = string(generator, "host");
    texts[i] = string(generator, names[i]);
    pids[i] = 4242;
    tids[i] = 4242 + i;
    logical[i] = i + 1;
  }
  const struct dump_column_data devices[] = {
      {.dump_id = dump_id(TABLE_devices, COLUMN_devices_name), .integers = device_name},
      {.dump_id = dump_id(TABLE_devices, COLUMN_devices_kind), .integers = device_kind},
      {.dump_id = dump_id(TABLE_devices, COLUMN_devices_ordinal), .integers = zero},
  };
  int64_t device[THREADS] = {0};
  const struct dump_column_data threads[] = {
      {.dump_id = dump_id(TABLE_threads, COLUMN_threads_device_id), .integers = device},
      {.dump_id = dump_id(TABLE_threads, COLUMN_threads_kind), .integers = kinds},
      {.dump_id = dump_id(TABLE_threads, COLUMN_threads_name), .integers = texts},
      {.dump_id = dump_id(TABLE_threads, COLUMN_threads_pid), .integers = pids},
      {.dump_id = dump_id(TABLE_threads, COLUMN_threads_tid), .integers = tids},
      {.dump_id = dump_id(TABLE_threads, COLUMN_threads_logical_thread), .integers = logical},
  };
  enum tfprof_status status = dump_writer_rows(generator->writer, schema_tables[TABLE_devices].dump_id, 1, devices, 3, error);
  if (status) return status;
  return dump_writer_rows(generator->writer, schema_tables[TABLE_threads].dump_id, THREADS, threads, 6, error);
}

static void make_texts(struct generator *generator) {
  static const char *const types[6] = {"[\"float\",\"float\",\"float\"]", "[\"float\"]", "[\"c10::BFloat16\",\"c10::BFloat16\"]",
                                       "[\"float\",\"\",\"\"]", "[\"c10::BFloat16\"]", "[\"long int\",\"float\",\"Scalar\"]"};
  for (int i = 0; i < 6; i++) generator->types[i] = string(generator, types[i]);
  for (int i = 0; i < 6; i++) generator->categories[i] = string(generator, category_names[i]);
  for (int i = 0; i < SHAPES; i++) {
    char text[96];
    snprintf(text, sizeof text, i % 2 ? "[[%d,512,%d],[%d]]" : "[[%d,%d],[%d,4096],[]]", 8 << i % 3, 256 * (1 + i % 12),
             1024 + i);
    generator->shapes[i] = string(generator, text);
  }
}

/* Writes full frames of `pending`, or all that is there; returns how many rows are left. */
static enum tfprof_status write_pending(struct dump_writer *writer, struct op *pending, size_t *count, bool is_last,
                                        struct column_buffer *buffers, struct tfprof_error *error) {
  size_t written = 0;
  enum tfprof_status status = TFPROF_OK;
  while (!status && (*count - written >= DUMP_FRAME_ROWS || (is_last && written < *count))) {
    size_t rows = *count - written < DUMP_FRAME_ROWS ? *count - written : DUMP_FRAME_ROWS;
    status = write_ops(writer, pending + written, (uint32_t)rows, buffers, error);
    written += rows;
  }
  memmove(pending, pending + written, (*count - written) * sizeof *pending);
  *count -= written;
  return status;
}

int main(int argument_count, char **arguments) {
  struct tfprof_error error;
  struct generator generator = {0};
  if (argument_count < 3) {
    fprintf(stderr, "usage: make_ops_dump PATH ROWS [SEED]\n");
    return 2;
  }
  int64_t rows = strtoll(arguments[2], NULL, 10);
  generator.random = argument_count > 3 ? strtoull(arguments[3], NULL, 10) * 2654435761u + 1 : 88172645463325252u;
  struct dump_profile profile = {.host = "bench",
                                 .command = "python train.py",
                                 .framework = "pytorch",
                                 .framework_version = "2.5.1",
                                 .recorder = "make_ops_dump",
                                 .clock_domain = "monotonic",
                                 .pid = 4242,
                                 .rank = -1,
                                 .created_realtime_ns = 1750000000000000000};
  if (dump_writer_create(arguments[1], true, &profile, &generator.writer, &error)) return fail(&error);
  struct dump_clock clock = {.monotonic_ns = 5000000000, .realtime_ns = 1750000005000000000, .uncertainty_ns = 800};
  struct column_buffer *buffers = calloc(OP_COLUMNS, sizeof *buffers);
  struct op *pending = malloc(2 * STEP_ROWS * sizeof *pending);
  generator.ops = malloc(STEP_ROWS * sizeof *generator.ops);
  if (!buffers || !pending || !generator.ops) return 1;
  for (unsigned i = 0; i < THREADS; i++) generator.now[i] = 5000000000;
  make_texts(&generator);
  if (dump_writer_clock(generator.writer, &clock, &error) || write_threads(&generator, &error) ||
      write_stacks(&generator, buffers, &error)) {
    return fail(&error);
  }
  size_t count = 0;
  while (rows > 0) {
    run_step(&generator);
    qsort(generator.ops, generator.op_count, sizeof *generator.ops, compare_ends);
    size_t taken = (int64_t)generator.op_count < rows ? generator.op_count : (size_t)rows;
    memcpy(pending + count, generator.ops, taken * sizeof *pending);
    count += taken;
    rows -= (int64_t)taken;
    if (write_pending(generator.writer, pending, &count, rows == 0, buffers, &error)) return fail(&error);
  }
  if (dump_writer_close(generator.writer, &error)) return fail(&error);
  free(buffers);
  free(pending);
  free(generator.ops);
  return 0;
}
