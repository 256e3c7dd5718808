/* fuzz_gzip.c: any bytes as a gzip file: read it in blocks of any size, then stretches of it again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read/file/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WHOLE = 1 << 20 };

static void read_file(const char *path, size_t block) {
  static char whole[WHOLE], again[4096];
  struct source *source;
  if (source_open(path, &source, NULL)) return;
  size_t total = 0;
  for (;;) {
    size_t room = WHOLE - total < block ? WHOLE - total : block;
    size_t got = source_read(source, whole + total, room);
    total += got;
    if (got < room || total == WHOLE) break;
  }
  uint64_t offset;
  if (!*source_problem_text(source_problem(source, &offset))) abort();
  struct source_index *index = source_take_index(source);
  source_close(source);
  if (!index) return;
  size_t place = total / 3, length = total - place < sizeof again ? total - place : sizeof again;
  if (source_range(index, place, length, again, NULL) == TFPROF_OK && memcmp(again, whole + place, length) != 0)
    abort();
  struct source_ranges *ranges;
  if (source_ranges_open(index, &ranges, NULL) == TFPROF_OK) { /* forwards, and back */
    for (size_t i = 0; i < 4; i++) {
      size_t at = total / 4 * (i ^ 1), got;
      if (source_ranges_read(ranges, at, sizeof again, again, &got, NULL) == TFPROF_OK &&
          memcmp(again, whole + at, got < total - at ? got : total - at) != 0)
        abort();
    }
    source_ranges_close(ranges);
  }
  source_index_free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  char path[64];
  if (fd < 0) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  /* Inputs without the magic number get one: plain files are no challenge. */
  static const uint8_t magic[] = {0x1f, 0x8b, 8};
  bool has_magic = size >= 3 && memcmp(data, magic, 3) == 0;
  if ((has_magic || write(fd, magic, 3) == 3) && write(fd, data, size) == (ssize_t)size) {
    read_file(path, size ? (size_t)data[size - 1] * 64 + 1 : 1);
    read_file(path, WHOLE);
  }
  close(fd);
  return 0;
}
