/* fuzz_classic.c: the classic views over a random graph, with random options.
**
** The bytes say what a ProfileProto holds - names that lie in each other, inputs that go in circles, op types, shapes
** and costs of any size, call stacks - and then which views to show with which options.  Beyond what the sanitizers
** see, a row comes after its parent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "classic/views/classic.h"
#include "derive/derive.h"
#include "classic/read/tensorflow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
  const uint8_t *at, *end;
};

static unsigned take(struct input *input, unsigned below) {
  if (input->at == input->end) return 0;
  return *input->at++ % below;
}

/* ---- the file ---- */

struct buffer {
  uint8_t bytes[1 << 16];
  size_t length;
};

static void put_varint(struct buffer *to, uint64_t value) {
  if (to->length + VARINT_MAXIMUM_BYTES > sizeof to->bytes) return;
  to->length = (size_t)(varint_write(to->bytes + to->length, value) - to->bytes);
}

static void put_number(struct buffer *to, unsigned field, uint64_t value) {
  put_varint(to, field << 3);
  put_varint(to, value);
}

static void put_bytes(struct buffer *to, unsigned field, const void *bytes, size_t length) {
  if (to->length + length + 2 * VARINT_MAXIMUM_BYTES > sizeof to->bytes) return;
  put_varint(to, field << 3 | 2);
  put_varint(to, length);
  memcpy(to->bytes + to->length, bytes, length);
  to->length += length;
}

static void put_text(struct buffer *to, unsigned field, const char *text) { put_bytes(to, field, text, strlen(text)); }

static uint64_t size_of(struct input *input) {
  static const uint64_t sizes[] = {0,
                                   1,
                                   3,
                                   1000,
                                   999999,
                                   1u << 31,
                                   UINT64_C(1) << 40,
                                   INT64_MAX,
                                   INT64_MAX / 2,
                                   INT64_MAX / 4000,
                                   (uint64_t)-1,
                                   (uint64_t)-1000};
  return sizes[take(input, sizeof sizes / sizeof sizes[0])];
}

/* Map entry {key=1, value=2}. */
static void put_entry(struct buffer *to, unsigned field, uint64_t key, const struct buffer *value) {
  static struct buffer entry;
  entry.length = 0;
  put_number(&entry, 1, key);
  put_bytes(&entry, 2, value->bytes, value->length);
  put_bytes(to, field, entry.bytes, entry.length);
}

static void put_pair(struct buffer *to, unsigned field, uint64_t key, uint64_t value) {
  static struct buffer entry;
  entry.length = 0;
  put_number(&entry, 1, key);
  put_number(&entry, 2, value);
  put_bytes(to, field, entry.bytes, entry.length);
}

static void put_runs(struct buffer *to, unsigned field, const char *device, struct input *input) {
  static struct buffer tuple, times, entry;
  tuple.length = times.length = entry.length = 0;
  put_number(&tuple, 1, size_of(input));
  put_number(&tuple, 1, size_of(input));
  put_bytes(&times, 1, tuple.bytes, tuple.length);
  put_text(&entry, 1, device);
  put_bytes(&entry, 2, times.bytes, times.length);
  put_bytes(to, field, entry.bytes, entry.length);
}

static const char *const devices[] = {"/job:a/replica:0/task:0/device:cpu:0", "/device:gpu:0", "/gpu:1", "x"};

static void put_exec(struct buffer *node, struct input *input) {
  static struct buffer cost, memory;
  cost.length = memory.length = 0;
  uint64_t step = take(input, 4) == 3 ? size_of(input) : take(input, 3);
  put_number(&cost, 1, size_of(input));
  put_number(&cost, 2, size_of(input));
  put_number(&cost, 3, size_of(input));
  put_runs(&cost, 5, devices[take(input, 4)], input);
  if (take(input, 2)) put_runs(&cost, 4, "/device:gpu:0/stream:all", input);
  for (unsigned field = 6; field < 10; field++) put_number(&memory, field, size_of(input));
  put_bytes(&cost, 7, memory.bytes, memory.length);
  put_entry(node, 12, step, &cost);
}

static void put_trace(struct buffer *node, struct input *input) {
  static struct buffer code, frame;
  code.length = 0;
  for (unsigned count = take(input, 6); count; count--) {
    frame.length = 0;
    put_number(&frame, 2, take(input, 4));
    put_number(&frame, 6, 1 + take(input, 3));
    put_number(&frame, 7, 1 + take(input, 4));
    put_bytes(&code, 1, frame.bytes, frame.length);
  }
  put_bytes(node, 10, code.bytes, code.length);
}

/* "a/b/gradients/a/b_grad/c" and the like. */
static void put_name(struct buffer *node, struct input *input) {
  static const char *const parts[] = {"a", "b",   "gradients", "a_grad",
                                      "",  "c:0", "\xff",      "very_long_name_of_a_scope_01"};
  char name[256] = "";
  for (unsigned count = take(input, 5) + 1; count; count--) {
    strcat(name, parts[take(input, 8)]);
    if (count > 1) strcat(name, "/");
  }
  put_text(node, 1, name);
}

static void put_node(struct buffer *file, struct input *input, unsigned number, unsigned count) {
  static const char *const ops[] = {"MatMul", "VariableV2", "NoOp", ""};
  static struct buffer node;
  const char *op = ops[take(input, 4)], *device = devices[take(input, 4)];
  node.length = 0;
  put_name(&node, input);
  for (unsigned inputs = take(input, 4), i = 0; i < inputs; i++) {
    unsigned source = take(input, count + 1);
    put_pair(&node, 2, take(input, 5), source);
    if (take(input, 2)) put_pair(&node, 14, source, take(input, 3));
  }
  for (unsigned rank = take(input, 4); rank; rank--) put_number(&node, 4, size_of(input));
  put_text(&node, 5, op);
  if (take(input, 3) == 0) put_text(&node, 5, "_trainable_variables");
  put_text(&node, 5, device);
  put_text(&node, 6, device);
  put_number(&node, 8, size_of(input));
  put_text(&node, 9, op);
  if (take(input, 2)) put_trace(&node, input);
  for (unsigned execs = take(input, 3); execs; execs--) put_exec(&node, input);
  for (unsigned outputs = take(input, 3); outputs; outputs--) {
    static struct buffer tuple;
    tuple.length = 0;
    put_number(&tuple, 1, size_of(input));
    put_entry(&node, 15, take(input, 8) ? take(input, 4) : size_of(input), &tuple);
  }
  put_number(&node, 13, number);
  put_entry(file, 1, number, &node);
}

static void put_strings(struct buffer *file) {
  static const char *const texts[] = {"/x/train.py", "model.py", "", "main", "a_function_of_twenty_letters",
                                      "<module>"};
  for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    static struct buffer entry;
    entry.length = 0;
    put_number(&entry, 1, i + 1);
    put_text(&entry, 2, texts[i]);
    put_bytes(file, 4, entry.bytes, entry.length);
  }
}

/* ---- the views ---- */

static const char *value_of(int option, struct input *input, char *number, size_t size) {
  static const char *const patterns[] = {
      ".*", "", "a", ".*a.*", "a/.*,b", "_trainable_variables", "(", "[^/]*", ".*gradient.*", "MatMul|NoOp", ",,"};
  static const char *const selects[] = {"micros",
                                        "",
                                        "params,float_ops",
                                        "bytes,peak_bytes,residual_bytes,output_bytes",
                                        "device,op_types,occurrence,input_shapes",
                                        "tensor_value,cpu_micros",
                                        "accelerator_micros,input_shapes"};
  switch (classic_option_specs[option].type) {
    case OPTION_INTEGER: snprintf(number, size, "%lld", (long long)size_of(input)); return number;
    case OPTION_BOOLEAN: return take(input, 2) ? "true" : "false";
    case OPTION_PATTERNS: return patterns[take(input, sizeof patterns / sizeof patterns[0])];
    case OPTION_TEXT: break;
  }
  if (option == OPTION_order_by) return take(input, 4) ? classic_metric_names[take(input, METRIC_defined)] : "name";
  return option == OPTION_select ? selects[take(input, 7)] : "none";
}

static void show(const struct classic_model *model, enum classic_view view, const struct classic_options *options) {
  struct classic_result *result;
  struct tfprof_error error;
  char *text = NULL;
  size_t size = 0;
  if (classic_compute(model, view, options, &result, &error)) return;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) abort();
  if (!classic_write_report(result, memory)) abort(); /* nobody interrupts */
  for (size_t row = 0; row < result->row_count; row++) {
    if (result->rows[row].parent >= (int64_t)row) abort();
    classic_write_device(result, result->rows[row].item, memory);
    classic_write_op_types(result, result->rows[row].item, memory);
    classic_write_shape(result, result->rows[row].item, memory);
    classic_write_input_shapes(result, result->rows[row].item, memory);
  }
  fclose(memory);
  free(text);
  classic_result_free(result);
}

static void show_views(const struct classic_model *model, struct input *input) {
  struct classic_options options;
  struct tfprof_error error;
  if (!classic_options_init(&options)) abort();
  if (classic_option_set(&options, OPTION_max_depth, "1000000", &error)) abort();
  for (int view = 0; view < CLASSIC_VIEW_count; view++) show(model, (enum classic_view)view, &options);
  for (unsigned turn = 0; turn < 4 && input->at < input->end; turn++) {
    for (unsigned count = take(input, 6); count; count--) {
      char number[32];
      int option = (int)take(input, OPTION_count);
      if (option != OPTION_output)
        classic_option_set(&options, option, value_of(option, input, number, sizeof number), &error);
    }
    show(model, (enum classic_view)take(input, CLASSIC_VIEW_count), &options);
  }
  classic_options_free(&options);
}

static void open_file(const char *path, struct input *input) {
  struct tfprof_error error;
  struct store *store = store_create(derive_passes, derive_pass_count);
  uint32_t run;
  if (!store || store_add_run(store, "fuzz", NULL, &run, &error)) abort();
  if (tensorflow_open(store, run, &(struct tensorflow_files){.profile = path}, &error)) {
    store_cancel_run(store, run);
  } else {
    store_publish_run(store, run);
    struct profile *profile = store_profile_by_number(store, 1);
    struct classic_model *model;
    if (!profile || classic_model_create(store, profile, false, &model, &error)) abort();
    show_views(model, input);
    classic_model_free(model);
  }
  store_release(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct buffer file;
  struct input input = {data, data + size};
  unsigned count = take(&input, 24) + 1;
  char path[64];
  file.length = 0;
  for (unsigned i = 0; i < count; i++) put_node(&file, &input, i, count);
  for (unsigned i = 0; i < 3; i++) put_number(&file, 3, i);
  put_strings(&file);
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (write(fd, file.bytes, file.length) == (ssize_t)file.length) open_file(path, &input);
  close(fd);
  return 0;
}
