/* test_capture_texts.c: a program that makes ever new functions, first of one name and then of others, long ones.
** Rows of frames are no more than those of traces, which are bounded, so are the texts that stay in its memory, and
** what is left out is said. */
#include "fake_torch.h"

#include "python/stack_rows.h"

enum {
  CODES = 400000, /* of one name, and as many of others */
  NAME_LENGTH = 90,
  FORGET_AFTER = 10000,
  TEXT_BOUND = 32 << 20 /* texts.c */
};

static struct fake_schema schema;

static void *reserve(uint32_t size) {
  void *item = thread_reserve(capture_current_thread, size);
  check(item, "there is no room");
  return memset(item, 0, size);
}

/* A code object that is met for the first time, and a stack of its one frame. */
static void write_code(uint32_t number) {
  uint32_t name = number > CODES ? number : 0;
  char file[NAME_LENGTH + 1], function[NAME_LENGTH + 1];
  snprintf(file, sizeof file, "<%0*u.py>", NAME_LENGTH - 5, name);
  snprintf(function, sizeof function, "f%0*u", NAME_LENGTH - 1, name);
  uint32_t size = (uint32_t)(sizeof(struct code_item) + (size_t)2 * NAME_LENGTH + 15) & ~15u;
  struct code_item *code = reserve(size);
  code->head = (struct item){ITEM_CODE, 0, (uint16_t)(size / 16), number};
  code->first_line = (int32_t)number;
  code->file_length = code->function_length = NAME_LENGTH;
  memcpy(code->bytes, file, NAME_LENGTH);
  memcpy(code->bytes + NAME_LENGTH, function, NAME_LENGTH);
  thread_commit(capture_current_thread, size);
  struct node_item *node = reserve(sizeof *node);
  *node = (struct node_item){{ITEM_NODE, 0, sizeof *node / 16, number}, 0, number, 0, 0, {0}};
  thread_commit(capture_current_thread, sizeof *node);
  if (number % FORGET_AFTER == 0) check(thread_forget(capture_current_thread), "there is no room");
}

static void run_op(void) {
  struct fake_op op;
  fake_begin(&op, SCOPE_FUNCTION, &schema, true, -1, NULL, 0);
  fake_end(&op);
}

int main(void) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  puts("so many functions take minutes in this build, and run no other code than those of test_capture_ops");
  return 77;
#endif
  char path[4352];
  fake_torch_begin();
  fake_schema_make(&schema, "aten::one");
  check(tfprof_capture_arm(), "the library does not arm");
  uint64_t ops = 0;
  for (uint32_t number = 1; number <= 2 * CODES; number++) {
    if (number == 1 || number % FORGET_AFTER == 0) run_op(), ops++;
    write_code(number);
    if (number % FORGET_AFTER == 0) tfprof_capture_flush();
    while (number % 32 == 0 && chunk_pool_used() > CHUNK_COUNT / 2) usleep(500);
  }
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  struct read_dump dump;
  read_dump_file(path, &dump);
  uint64_t frames = rows_of(dump.file, DUMP_TABLE_code_frames), traces = rows_of(dump.file, DUMP_TABLE_code_traces);
  uint64_t bytes = 0, of_codes = 0, are_said = 0;
  for (size_t i = 1; i < dump.string_count; i++) {
    if (!dump.strings[i]) continue;
    bytes += strlen(dump.strings[i]);
    of_codes += strlen(dump.strings[i]) == NAME_LENGTH;
    are_said += strstr(dump.strings[i], "because there are too many different ones") != NULL;
  }
  check(dump.file->is_closed && dump.op_count == ops, "%zu ops", dump.op_count);
  check(frames <= traces && traces == TRACE_MAXIMUM + SHORT_TRACE_MAXIMUM, "%llu frames of %llu traces",
        (unsigned long long)frames, (unsigned long long)traces);
  check(bytes < TEXT_BOUND && of_codes > 100000 && are_said == 1, "%llu bytes, %llu names of code, said %llu times",
        (unsigned long long)bytes, (unsigned long long)of_codes, (unsigned long long)are_said);
  printf("%llu frames, %llu traces, %llu texts of %.1f MB\n", (unsigned long long)frames, (unsigned long long)traces,
         (unsigned long long)dump.string_count, (double)bytes / 1e6);
  release_dump(&dump);
  return 0;
}
