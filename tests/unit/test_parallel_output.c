/* test_parallel_output.c: pieces that several threads make lie in the file in their order, whatever their sizes. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "unit/check.h"
#include "unit/scratch.h"
#include "write/output_file.h"

struct making {
  size_t count, failing; /* the piece that fails */
  atomic_size_t made;
};

/* Mostly a line, of some hundreds more than a buffer holds. */
static size_t lines_of(size_t number) { return number % 100 == 7 ? 40000 : number % 3; }

static enum tfprof_status make(void *context, size_t number, struct output_file *piece) {
  struct making *making = context;
  atomic_fetch_add(&making->made, 1);
  if (number == making->failing) return TFPROF_INTERRUPTED;
  for (size_t i = 0; i < lines_of(number); i++) output_format(piece, "%zu %zu\n", number, i);
  return TFPROF_OK;
}

static char *expected_text(size_t count, size_t *length) {
  char *text = NULL;
  FILE *stream = open_memstream(&text, length);
  fputs("before\n", stream);
  for (size_t number = 0; number < count; number++) {
    for (size_t i = 0; i < lines_of(number); i++) fprintf(stream, "%zu %zu\n", number, i);
  }
  fputs("behind\n", stream);
  fclose(stream);
  return text;
}

static void check_order(size_t count) {
  struct making making = {.count = count, .failing = SIZE_MAX};
  struct output_file *file;
  struct tfprof_error error;
  unsigned char *bytes;
  size_t length, expected_length;
  check(!output_open_memory(&file, SIZE_MAX, &error), "no file");
  output_text(file, "before\n");
  check(!output_pieces(file, count, make, &making), "pieces fail");
  output_text(file, "behind\n");
  check(!output_take(file, &bytes, &length, &error), "no bytes");
  char *expected = expected_text(count, &expected_length);
  check(making.made == count, "not every piece is made once");
  check(length == expected_length && memcmp(bytes, expected, length) == 0, "%zu pieces: another text", count);
  free(expected);
  free(bytes);
}

/* The same in a file that zlib reads back. */
static void check_compressed(size_t count) {
  struct making making = {.count = count, .failing = SIZE_MAX};
  struct output_file *file;
  struct tfprof_error error;
  size_t expected_length;
  const char *path = test_path("output.gz");
  check(!output_open(&file, path, true, &error), "no file");
  output_text(file, "before\n");
  check(!output_pieces(file, count, make, &making), "pieces fail");
  output_text(file, "behind\n");
  check(!output_commit(file, &error), "no file that is whole");
  char *expected = expected_text(count, &expected_length), *found = malloc(expected_length + 2);
  gzFile stream = gzopen(path, "rb");
  int length = gzread(stream, found, expected_length + 2);
  check(length == (int)expected_length && memcmp(found, expected, expected_length) == 0, "%zu: another text", count);
  check(gzclose(stream) == Z_OK, "not a whole gzip file");
  free(found);
  free(expected);
}

static void check_failure(void) {
  struct making making = {.count = 100000, .failing = 50};
  struct output_file *file;
  check(!output_open_memory(&file, SIZE_MAX, NULL), "no file");
  check(output_pieces(file, making.count, make, &making) == TFPROF_INTERRUPTED, "the failure is not told");
  check(making.made < 1000, "after the failure %zu pieces are made", (size_t)making.made);
  output_abandon(file);
}

/* A file that is full takes no more, and has no more made. */
static void check_full(void) {
  struct making making = {.count = 100000, .failing = SIZE_MAX};
  struct output_file *file;
  unsigned char *bytes;
  size_t length;
  check(!output_open_memory(&file, 1000, NULL), "no file");
  check(!output_pieces(file, making.count, make, &making), "a full file is a failure of the pieces");
  check(making.made < 10000, "%zu pieces are made for a full file", (size_t)making.made);
  check(output_take(file, &bytes, &length, NULL) == TFPROF_LIMIT, "a full file is not told");
}

int main(void) {
  make_test_directory();
  setenv("TFPROF_THREADS", "4", 1);
  for (size_t count = 0; count < 12; count++) check_order(count);
  check_order(1000);
  check_compressed(0);
  check_compressed(1000);
  check_failure();
  check_full();
  setenv("TFPROF_THREADS", "1", 1);
  check_order(500);
  check_failure();
  return check_result();
}
