/* fake_torch.h: a PyTorch of a few lines, for tests of the capture library's callbacks, threads and writer without the
** real one.
**
** Ops are begun and ended as at::RecordFunction does it: the registered start callback gets the object and the place
** for a context, the end callback object and context.  The object has the fields that the library reads, at offsets of
** the test's choice.
*/
#ifndef TFPROF_FAKE_TORCH_H
#define TFPROF_FAKE_TORCH_H

#include "channel/thread_record.h"
#include "dump/reader.h"
#include "recorder/dump_ids.h"
#include "scratch.h"
#include "stopping_check.h"
#include "torch/torch_inputs.h"
#include "torch/torch_lock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The entry points that the Python hook calls. */
int tfprof_capture_load(void);
int tfprof_capture_arm(void);
void tfprof_capture_flush(void);
void tfprof_capture_finish(void);
const char *tfprof_capture_path(void);

enum {
  OBJECT_SCOPE = 0,
  OBJECT_NAME = 8,
  OBJECT_KIND = 16,
  OBJECT_SEQUENCE = 24,
  OBJECT_INPUTS = 32,
  OBJECT_FORWARD = 48,
  OBJECT_BYTES = 64
};

enum { FAKE_CALLBACKS = 4 };
struct fake_op {
  uint8_t object[OBJECT_BYTES];
  void *contexts[FAKE_CALLBACKS];
  void *ends[FAKE_CALLBACKS]; /* those of the callbacks which were there when it began */
};

struct fake_schema { /* c10::FunctionSchema begins with a std::string, its name */
  const char *text;
  uint64_t length;
  char within[16];
};

static inline void fake_schema_make(struct fake_schema *schema, const char *name) {
  memset(schema, 0, sizeof *schema);
  schema->length = strlen(name);
  schema->text = schema->length < sizeof schema->within ? strcpy(schema->within, name) : name;
}

static struct torch_callback fake_callbacks[FAKE_CALLBACKS]; /* by handle - 1; start is NULL where there is none */

static uint64_t fake_add(struct torch_callback callback) {
  unsigned place = 0;
  while (place < FAKE_CALLBACKS && fake_callbacks[place].start) place++;
  check(place < FAKE_CALLBACKS, "more than %d callbacks are registered", FAKE_CALLBACKS);
  fake_callbacks[place] = callback;
  return place + 1;
}
static void fake_remove(uint64_t handle) { memset(&fake_callbacks[handle - 1], 0, sizeof *fake_callbacks); }
static const char *fake_name(const void *object) {
  const char *name = (const char *)torch_pointer(object, OBJECT_NAME);
  if (((const uint8_t *)object)[OBJECT_KIND] == 1) return ((const struct fake_schema *)(const void *)name)->text;
  return name;
}
static uint64_t fake_thread(void) {
  static _Atomic uint64_t last;
  static _Thread_local uint64_t mine;
  if (!mine) mine = ++last;
  return mine;
}

static inline void fake_begin(struct fake_op *op, uint8_t scope, const void *name, bool is_schema, int64_t sequence,
                              const void *inputs, uint64_t input_count) {
  memset(op, 0, sizeof *op);
  op->object[OBJECT_SCOPE] = scope;
  memcpy(op->object + OBJECT_NAME, &name, sizeof name);
  op->object[OBJECT_KIND] = is_schema;
  memcpy(op->object + OBJECT_SEQUENCE, &sequence, sizeof sequence);
  memcpy(op->object + OBJECT_INPUTS, &inputs, sizeof inputs);
  memcpy(op->object + OBJECT_INPUTS + 8, &input_count, sizeof input_count);
  for (unsigned i = 0; i < FAKE_CALLBACKS; i++) {
    const struct torch_callback *callback = &fake_callbacks[i];
    if (!callback->start || !callback->scopes[scope]) continue;
    void *(*start)(void **, const uint8_t *);
    memcpy(&start, &callback->start, sizeof start);
    op->ends[i] = callback->end;
    start(&op->contexts[i], op->object);
  }
}

static inline void fake_end(struct fake_op *op) {
  for (unsigned i = 0; i < FAKE_CALLBACKS; i++) {
    void (*end)(const void *, void *);
    memcpy(&end, &op->ends[i], sizeof end);
    if (end) end(op->object, op->contexts[i]);
  }
}

/* The library as after a successful begin(), with the test's directory as run directory. */
static inline void fake_torch_begin(void) {
  make_test_directory();
  setenv("TFPROF_RUN_DIRECTORY", test_directory, 1);
  check(tfprof_capture_load() && thread_records_begin((uint64_t)CHUNK_COUNT * CHUNK_SIZE), "the library does not load");
  torch.add_global_callback = fake_add;
  torch.remove_callback = fake_remove;
  torch.name = fake_name;
  torch.current_thread = fake_thread;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  torch_lock = &lock;
  static const int undefined;
  torch.undefined_tensor = &undefined;
  torch_layout = (struct torch_layout){.scope = OBJECT_SCOPE,
                                       .name = OBJECT_NAME,
                                       .name_kind = OBJECT_KIND,
                                       .sequence = OBJECT_SEQUENCE,
                                       .inputs = OBJECT_INPUTS,
                                       .forward_thread = OBJECT_FORWARD,
                                       .has_details = true,
                                       .has_name_object = true,
                                       .schema_begins_with_text = true};
  /* A tensor is: how many sizes, five sizes, its type, its policy. */
  input_layout = (struct input_layout){
      .is_proved = true, .sizes = 0, .dtype = 48, .policy_word = 56, .tag_list = 15, .tag_bool = 10, .list_begin = 0};
}

struct fake_tensor {
  uint64_t dimensions, sizes[5];
  uint64_t dtype, policy;
};
struct fake_value {
  const void *payload;
  uint32_t tag, padding;
};

/* ---- Reading what was written. */

struct read_op {
  const char *name, *shapes;
  int64_t thread, end, duration, sequence;
  uint32_t category;
};
struct read_dump {
  struct dump_file *file;
  char **strings;
  size_t string_count;
  struct read_op *ops;
  size_t op_count;
  uint64_t dropped, threads;
};

static enum tfprof_status fake_keep_string(void *context, uint32_t id, const char *text, uint32_t length) {
  struct read_dump *dump = context;
  dump->strings = realloc(dump->strings, (id + 1) * sizeof *dump->strings);
  while (dump->string_count <= id) dump->strings[dump->string_count++] = NULL;
  dump->strings[id] = strndup(text ? text : "", length);
  return TFPROF_OK;
}

static inline const char *fake_text(const struct read_dump *dump, int64_t id) {
  return id > 0 && (size_t)id < dump->string_count ? dump->strings[id] : NULL;
}

static inline void read_dump_file(const char *path, struct read_dump *dump) {
  enum { COLUMNS = 6 };
  static const uint16_t columns[COLUMNS] = {DUMP_ops_name,   DUMP_ops_thread_id,       DUMP_ops_end_ns,
                                            DUMP_ops_dur_ns, DUMP_ops_sequence_number, DUMP_ops_input_shapes};
  struct tfprof_error error;
  struct dump_cursor *cursor;
  memset(dump, 0, sizeof *dump);
  enum tfprof_status status = dump_file_open(path, &dump->file, &error);
  check(status == TFPROF_OK, "%s cannot be read: %s", path, status == TFPROF_OK ? "" : error.message);
  check(dump_file_strings(dump->file, fake_keep_string, dump, &error) == TFPROF_OK, "no strings");
  check(dump_cursor_open(dump->file, &cursor, &error) == TFPROF_OK, "no cursor");
  for (size_t i = 0; i < dump->file->problem_count; i++)
    if (!strcmp(dump->file->problems[i].reason, "dropped_rows")) dump->dropped = dump->file->problems[i].count;
  for (size_t i = 0; i < dump->file->frame_count; i++) {
    const struct dump_frame *frame = &dump->file->frames[i];
    if (frame->table_dump_id == DUMP_TABLE_threads) dump->threads += frame->rows;
    if (frame->table_dump_id != DUMP_TABLE_ops) continue;
    int64_t *values[COLUMNS];
    uint64_t nulls[COLUMNS][DUMP_MAXIMUM_FRAME_ROWS / 64];
    for (int c = 0; c < COLUMNS; c++) {
      values[c] = calloc(frame->rows, sizeof **values);
      memset(nulls[c], 0, sizeof nulls[c]);
      const struct dump_block *block = dump_frame_block(frame, columns[c]);
      if (!block)
        memset(nulls[c], 0xff, sizeof nulls[c]);
      else
        check(dump_block_decode(cursor, frame, block, values[c], nulls[c], &error) == TFPROF_OK,
              "a column cannot be read");
    }
    dump->ops = realloc(dump->ops, (dump->op_count + frame->rows) * sizeof *dump->ops);
    for (uint32_t row = 0; row < frame->rows; row++) {
      struct read_op *op = &dump->ops[dump->op_count++];
      bool has_sequence = !(nulls[4][row / 64] >> row % 64 & 1), has_shapes = !(nulls[5][row / 64] >> row % 64 & 1);
      *op = (struct read_op){.name = fake_text(dump, values[0][row]),
                             .thread = values[1][row],
                             .end = values[2][row],
                             .duration = values[3][row],
                             .sequence = has_sequence ? values[4][row] : -1,
                             .shapes = has_shapes ? fake_text(dump, values[5][row]) : NULL};
      check(op->name != NULL, "an op without a name");
    }
    for (int c = 0; c < COLUMNS; c++) free(values[c]);
  }
  dump_cursor_close(cursor);
}

static inline uint64_t rows_of(const struct dump_file *file, uint16_t table) {
  uint64_t rows = 0;
  for (size_t i = 0; i < file->frame_count; i++)
    if (file->frames[i].table_dump_id == table) rows += file->frames[i].rows;
  return rows;
}

static inline void release_dump(struct read_dump *dump) {
  for (size_t i = 0; i < dump->string_count; i++) free(dump->strings[i]);
  free(dump->strings);
  free(dump->ops);
  dump_file_close(dump->file);
}

#endif
