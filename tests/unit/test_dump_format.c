/* test_dump_format.c: the example of proto/FORMAT.md, byte for byte.
**
**   test_dump_format [FORMAT.md | -p]
**
** Writes the example's rows and compares the file with dump_example.h, and reads dump_example.h: whatever version this
** is, it writes what the specification shows and still reads what version 1 wrote.  Then checks that the example in
** FORMAT.md is this one; -p prints it as it stands there.
*/
#include "dump_test.h"

static const uint8_t example[] = {
#include "dump_example.h"
};

enum { ROWS = 4 };
static const int64_t names[ROWS] = {1, 2, 1, 1}, ends[ROWS] = {1000, 3500, 5200, 9000}, sequences[ROWS] = {7, 0, 0, 8};
static const uint64_t no_sequence = 6; /* rows 1 and 2 */

static struct bytes write_example(void) {
  const char *path = test_path("example.tfprof");
  struct tfprof_error error;
  struct dump_writer *writer;
  struct dump_profile profile = {.host = "node7",
                                 .clock_domain = "monotonic",
                                 .pid = 4711,
                                 .rank = 3,
                                 .world_size = 8,
                                 .boot_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                                 .created_realtime_ns = 1700000000000000000};
  check_ok(dump_writer_create(path, true, &profile, &writer, &error), &error, "create");
  check(dump_writer_string(writer, "aten::add", 9) == 1 && dump_writer_string(writer, "aten::mm", 8) == 2,
        "string ids");
  struct dump_column_data columns[] = {{.dump_id = 4, .integers = names},
                                       {.dump_id = 14, .order = DUMP_ASCENDING, .integers = ends},
                                       {.dump_id = 21, .integers = sequences, .nulls = &no_sequence}};
  check_ok(dump_writer_rows(writer, 13, ROWS, columns, 3, &error), &error, "rows");
  struct dump_clock clock = {.monotonic_ns = 500, .realtime_ns = 1700000000000000500, .uncertainty_ns = 40};
  check_ok(dump_writer_clock(writer, &clock, &error), &error, "clock");
  check_ok(dump_writer_close(writer, &error), &error, "close");
  return read_whole(path);
}

static enum tfprof_status see_string(void *context, uint32_t id, const char *text, uint32_t length) {
  static const char *const expected[] = {"aten::add", "aten::mm"};
  check(id <= 2 && length == strlen(expected[id - 1]) && memcmp(text, expected[id - 1], length) == 0, "string %u", id);
  ++*(int *)context;
  return TFPROF_OK;
}

static void read_example(void) {
  struct tfprof_error error;
  const char *path = test_path("golden.tfprof");
  write_whole(path, example, sizeof example);
  struct dump_file *file = open_file(path);
  struct dump_cursor *cursor;
  int strings = 0;
  check(file->is_closed && file->problem_count == 0 && file->frame_count == 1,
        "the example is not read through its index");
  check(file->profile.rank == 3 && strcmp(file->profile.host, "node7") == 0 && !file->profile.job, "the profile");
  check(file->clock_count == 1 && file->clocks[0].uncertainty_ns == 40, "the clock");
  check_ok(dump_file_strings(file, see_string, &strings, &error), &error, "strings");
  check(strings == 2, "%d strings", strings);
  check_ok(dump_cursor_open(file, &cursor, &error), &error, "cursor");
  static const uint16_t ids[] = {4, 14, 21};
  static const int64_t *const expected[] = {names, ends, sequences};
  for (unsigned i = 0; i < 3 && file->frame_count; i++) {
    int64_t values[ROWS];
    uint64_t nulls;
    const struct dump_block *block = dump_frame_block(&file->frames[0], ids[i]);
    check_ok(dump_block_decode(cursor, &file->frames[0], block, values, &nulls, &error), &error, "decode");
    check(nulls == (i == 2 ? no_sequence : 0), "nulls of column %u", ids[i]);
    for (int row = 0; row < ROWS; row++) {
      if (!(nulls >> row & 1)) check(values[row] == expected[i][row], "column %u row %d", ids[i], row);
    }
  }
  dump_cursor_close(cursor);
  dump_file_close(file);
}

/* The lines of the example: the offset and 16 bytes. */
static void format_line(char *line, size_t size, const uint8_t *bytes, size_t length, size_t offset) {
  int used = snprintf(line, size, "%04zx ", offset);
  for (size_t i = offset; i < offset + 16 && i < length; i++) {
    used += snprintf(line + used, size - (size_t)used, "%s%02x", i % 8 ? " " : "  ", bytes[i]);
  }
}

static void check_document(const char *path) {
  struct bytes document = read_whole(path);
  char line[128];
  for (size_t offset = 0; offset < sizeof example; offset += 16) {
    format_line(line, sizeof line, example, sizeof example, offset);
    check(memmem(document.at, document.length, line, strlen(line)) != NULL, "%s lacks the line '%s'", path, line);
  }
  free(document.at);
}

int main(int count, char **arguments) {
  char line[128];
  make_test_directory();
  struct bytes written = write_example();
  if (count == 2 && strcmp(arguments[1], "-p") == 0) {
    for (size_t offset = 0; offset < written.length; offset += 16) {
      format_line(line, sizeof line, written.at, written.length, offset);
      printf("%s\n", line);
    }
    free(written.at);
    return 0;
  }
  check(written.length == sizeof example && memcmp(written.at, example, sizeof example) == 0,
        "what is written is not the example any more: %zu and %zu bytes", written.length, sizeof example);
  read_example();
  if (count > 1) check_document(arguments[1]);
#ifdef TFPROF_SOURCE_DIRECTORY
  else check_document(TFPROF_SOURCE_DIRECTORY "/proto/FORMAT.md");
#endif
  free(written.at);
  printf("test_dump_format: %s\n", check_failures ? "failed" : "ok");
  return check_result();
}
