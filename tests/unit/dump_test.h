/* dump_test.h: what the tests of the dump share: checks, files in memory, random numbers.
**
** Each test program includes it once; everything is static.
*/
#ifndef TFPROF_DUMP_TEST_H
#define TFPROF_DUMP_TEST_H

#include "base/bytes.h"
#include "base/checksum.h"
#include "dump/column_codec.h"
#include "dump/format.h"

#include "check.h"
#include "scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void check_ok(enum tfprof_status status, const struct tfprof_error *error, const char *what) {
  char text[2400];
  if (!status) return;
  error_text(error, text, sizeof text);
  check(false, "%s: status %d: %s", what, (int)status, text);
  exit(1);
}

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_u64(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state * 0x2545f4914f6cdd1du;
}

static inline void *allocate(size_t size) {
  void *memory = malloc(size ? size : 1);
  if (!memory) abort();
  return memory;
}

/* ---- Files ---- */

struct bytes {
  uint8_t *at;
  size_t length;
};

static inline struct bytes read_whole(const char *path) {
  struct stat status;
  struct bytes file = {0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) abort();
  file.at = allocate((size_t)status.st_size);
  while (file.length < (size_t)status.st_size) {
    ssize_t count = read(fd, file.at + file.length, (size_t)status.st_size - file.length);
    if (count <= 0) abort();
    file.length += (size_t)count;
  }
  close(fd);
  return file;
}

static inline void write_whole(const char *path, const uint8_t *bytes, size_t length) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t done = 0;
  if (fd < 0) abort();
  while (done < length) {
    ssize_t count = write(fd, bytes + done, length - done);
    if (count <= 0) abort();
    done += (size_t)count;
  }
  close(fd);
}

/* ---- Frames in memory: walking and mending them ---- */

/* The offset of the frame after the one at `offset`, or 0 when there is no whole frame. */
static inline size_t frame_after(const struct bytes *file, size_t offset, struct dump_frame_header *header) {
  if (offset > file->length || file->length - offset < DUMP_FRAME_HEADER_BYTES) return 0;
  if (!dump_frame_header_is_plausible(file->at + offset)) return 0;
  dump_frame_header_read(file->at + offset, header);
  uint64_t span = dump_frame_span(header);
  return span > file->length - offset ? 0 : offset + (size_t)span;
}

static inline uint32_t file_salt(const struct bytes *file) { return load_u32(file->at + DUMP_FILE_HEADER_BYTES - 4); }

/* Gives the frame the checksum that its header and head need. */
static inline void mend_frame(struct bytes *file, size_t offset) {
  struct dump_frame_header header;
  dump_frame_header_read(file->at + offset, &header);
  uint32_t sum = checksum_crc32(file_salt(file), file->at + offset, DUMP_FRAME_CHECKED_BYTES);
  sum = checksum_crc32(sum, file->at + offset + DUMP_FRAME_HEADER_BYTES, header.head_length);
  store_u32(file->at + offset + DUMP_FRAME_CHECKED_BYTES, sum);
}

/* ---- Profiles ---- */

static inline struct dump_writer *create_writer(const char *path) {
  struct tfprof_error error;
  struct dump_writer *writer;
  struct dump_profile profile = {.host = "node7",
                                 .command = "python train.py --name 'it''s'",
                                 .recorder = "test 1",
                                 .clock_domain = "monotonic",
                                 .pid = 4711,
                                 .parent_pid = 12,
                                 .rank = 3,
                                 .world_size = 8,
                                 .boot_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                                 .created_realtime_ns = 1700000000123456789};
  check_ok(dump_writer_create(path, true, &profile, &writer, &error), &error, "create");
  return writer;
}

static inline struct dump_file *open_file(const char *path) {
  struct tfprof_error error;
  struct dump_file *file;
  check_ok(dump_file_open(path, &file, &error), &error, "open");
  return file;
}

#endif
