/* small_file.c: see small_file.h. */
#include "small_file.h"

#include "dump/descriptor.h"
#include "file_threads.h"

#include <fcntl.h>
#include <unistd.h>

struct reading {
  const char *path;
  char *bytes;
  size_t size, length;
};

/* /proc gives a page at a time of what is longer. */
static void read_file(void *argument) {
  struct reading *reading = argument;
  struct descriptor file;
  if (!descriptor_take(&file, file_open(reading->path, O_RDONLY, 0))) return;
  for (ssize_t got = 1; got > 0 && reading->length < reading->size; reading->length += got > 0 ? (size_t)got : 0) {
    if (!descriptor_is_ours(&file)) break;
    got = read(file.number, reading->bytes + reading->length, reading->size - reading->length);
  }
  descriptor_close(&file);
}

size_t small_file_read_bytes(const char *path, char *bytes, size_t size) {
  struct reading reading = {.path = path, .bytes = bytes, .size = size};
  return file_thread_run(FILE_THREAD_QUICK, read_file, &reading) ? reading.length : 0;
}

bool small_file_read(const char *path, char *text, size_t size) {
  size_t length = small_file_read_bytes(path, text, size - 1);
  text[length] = 0;
  return length > 0;
}
