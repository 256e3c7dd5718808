/* test_source.c: stretches of a file, plain and of gzip, read again in any order, are the bytes read first. */
#include "read/file/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "check.h"
#include "scratch.h"

/* Three marks in the first member, and one in the second. */
enum { WHOLE = 5 * SOURCE_MARK_BYTES / 2, FIRST_MEMBER = WHOLE * 4 / 5, LONGEST = 1 << 18 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static char *make_bytes(void) {
  char *bytes = malloc(WHOLE);
  if (!bytes) abort();
  for (size_t i = 0; i < WHOLE; i += 16) snprintf(bytes + i, 16, "%015zx", i * 2654435761u), bytes[i + 15] = '\n';
  return bytes;
}

static void write_plain(const char *path, const char *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) abort();
}

static void write_gzip(const char *path, const char *bytes) {
  for (int member = 0; member < 2; member++) {
    gzFile file = gzopen(path, member ? "ab1" : "wb1");
    const char *from = member ? bytes + FIRST_MEMBER : bytes;
    unsigned length = member ? WHOLE - FIRST_MEMBER : FIRST_MEMBER;
    if (!file || gzwrite(file, from, length) != (int)length || gzclose(file)) abort();
  }
}

static struct source_index *read_once(const char *path, const char *bytes) {
  struct source *source;
  char *block = malloc(LONGEST);
  size_t total = 0, got = LONGEST;
  if (!block || source_open(path, &source, NULL)) abort();
  while (got == LONGEST) {
    got = source_read(source, block, LONGEST);
    check(total + got <= WHOLE && memcmp(block, bytes + total, got) == 0, "%s: other bytes at %zu", path, total);
    total += got;
  }
  uint64_t offset;
  check(total == WHOLE && source_problem(source, &offset) == SOURCE_FINE, "%s: %zu bytes", path, total);
  struct source_index *index = source_take_index(source);
  source_close(source);
  free(block);
  if (!index) abort();
  return index;
}

static void check_stretch(struct source_ranges *ranges, const char *path, const char *bytes, uint64_t offset,
                          size_t length) {
  static char block[LONGEST];
  size_t got = 0, wanted = offset >= WHOLE ? 0 : WHOLE - offset < length ? (size_t)(WHOLE - offset) : length;
  enum tfprof_status status = source_ranges_read(ranges, offset, length, block, &got, NULL);
  check(!status && got == wanted, "%s: %zu bytes of %zu at %ju", path, got, wanted, (uintmax_t)offset);
  check(!got || memcmp(block, bytes + offset, got) == 0, "%s: other bytes at %ju", path, (uintmax_t)offset);
}

/* One after the other, with gaps, from the end to the start, and anywhere. */
static void check_ranges(const char *path, const char *bytes, const struct source_index *index) {
  struct source_ranges *ranges;
  if (source_ranges_open(index, &ranges, NULL)) abort();
  uint64_t offset = 0;
  for (int i = 0; i < 300; i++) {
    size_t length = (size_t)(next_random() % LONGEST);
    check_stretch(ranges, path, bytes, offset, length);
    offset += length + (i % 3 ? 0 : next_random() % 100000);
  }
  for (int i = 20; i >= 0; i--) check_stretch(ranges, path, bytes, (uint64_t)i * (WHOLE / 20), 1000);
  for (int i = 0; i < 40; i++) check_stretch(ranges, path, bytes, next_random() % WHOLE, (size_t)next_random() % 5000);
  check_stretch(ranges, path, bytes, WHOLE - 10, 100); /* what follows the end is told as less than was asked for */
  check_stretch(ranges, path, bytes, (uint64_t)WHOLE + 10, 100);
  check_stretch(ranges, path, bytes, INT64_MAX, 100);
  check_stretch(ranges, path, bytes, 0, 100);
  source_ranges_close(ranges);
}

/* Once it is opened it is read to the end, whatever takes its name; a file that is another one is refused. */
static void check_replaced(const char *path, const char *bytes, const struct source_index *index) {
  struct source_ranges *ranges, *again;
  if (source_ranges_open(index, &ranges, NULL)) abort();
  if (remove(path)) abort();
  check_stretch(ranges, path, bytes, 100, 1000);
  check(source_ranges_open(index, &again, NULL) == TFPROF_NOT_FOUND, "%s: gone, and opened", path);
  write_plain(path, "other", 5);
  check(source_ranges_open(index, &again, NULL) == TFPROF_REPLACED, "%s: replaced, and opened", path);
  check_stretch(ranges, path, bytes, 0, 1000);
  source_ranges_close(ranges);
}

int main(void) {
  make_test_directory();
  char *bytes = make_bytes();
  const char *names[] = {"plain.txt", "packed.txt.gz"};
  for (int is_gzip = 0; is_gzip < 2; is_gzip++) {
    char path[512];
    snprintf(path, sizeof path, "%s", test_path(names[is_gzip]));
    if (is_gzip) write_gzip(path, bytes);
    else write_plain(path, bytes, WHOLE);
    struct source_index *index = read_once(path, bytes);
    check_ranges(path, bytes, index);
    check_replaced(path, bytes, index);
    source_index_free(index);
  }
  source_ranges_close(NULL);
  free(bytes);
  return check_result();
}
