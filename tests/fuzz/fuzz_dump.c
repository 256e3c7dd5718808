/* fuzz_dump.c: any bytes as a dump file: open it, read its strings, decode every block, refresh it.
**
** Checksums would stop nearly every mutation at the door, so a file whose last byte is odd first gets right ones: that
** of the file header, of every frame that can be walked to, and of every block.  What a forger could write is then read
** as well.
*/
#include "dump/bytes.h"
#include "dump/checksum.h"
#include "dump/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives the blocks of one frame right checksums, in its directory at `at`. */
static void mend_blocks(uint8_t *at, uint8_t *end, const uint8_t *body, uint32_t body_length) {
  uint64_t count, length, value, stored, flags, used = 0;
  uint8_t *next = (uint8_t *)(uintptr_t)varint_read(at, end, &count);
  for (; next && count > 0; count--) {
    at = next;
    if (!(at = (uint8_t *)(uintptr_t)varint_read(at, end, &length)) || length > (size_t)(end - at)) return;
    uint8_t *stop = next = at + length;
    if (!(at = (uint8_t *)(uintptr_t)varint_read(at, stop, &value)) ||
        !(at = (uint8_t *)(uintptr_t)varint_read(at, stop, &value)) ||
        !(at = (uint8_t *)(uintptr_t)varint_read(at, stop, &flags)) ||
        !(at = (uint8_t *)(uintptr_t)varint_read(at, stop, &value)) ||
        !(at = (uint8_t *)(uintptr_t)varint_read(at, stop, &stored)) ||
        (flags & 12 && !(at = (uint8_t *)(uintptr_t)varint_read(at, stop, &value))) || stop - at < 4 ||
        stored > body_length - used) {
      return;
    }
    store_u32(at, dump_checksum(0, body + used, stored));
    used += stored;
  }
}

static void mend(uint8_t *bytes, size_t size) {
  struct dump_frame_header header;
  if (size < DUMP_FILE_HEADER_BYTES) return;
  store_u32(bytes + 60, dump_checksum(0, bytes, 60));
  uint32_t salt = load_u32(bytes + 60);
  for (size_t at = DUMP_FILE_HEADER_BYTES; size - at >= DUMP_FRAME_HEADER_BYTES;) {
    uint8_t *frame = bytes + at, *head = frame + DUMP_FRAME_HEADER_BYTES, *directory = head;
    uint64_t ignored;
    if (!dump_frame_header_is_plausible(frame)) return;
    dump_frame_header_read(frame, &header);
    if (dump_frame_span(&header) > size - at) return;
    if (header.type == DUMP_TYPE_INDEX) {
      directory = (uint8_t *)(uintptr_t)varint_read(head, head + header.head_length, &ignored);
    }
    if (directory &&
        (header.type == DUMP_TYPE_INDEX || header.type == DUMP_TYPE_ROWS || header.type == DUMP_TYPE_STRINGS)) {
      mend_blocks(directory, head + header.head_length, head + header.head_length, header.body_length);
    }
    uint32_t sum = dump_checksum(salt, frame, DUMP_FRAME_CHECKED_BYTES);
    store_u32(frame + DUMP_FRAME_CHECKED_BYTES, dump_checksum(sum, head, header.head_length));
    at += (size_t)dump_frame_span(&header);
  }
}

static enum tfprof_status take_string(void *context, uint32_t id, const char *text, uint32_t length) {
  uint32_t *next = context;
  if (id != ++*next) abort();
  for (uint32_t i = 0; text && i < length; i++) { /* every byte can be read */
    if (((const volatile char *)text)[i] == 1) break;
  }
  return TFPROF_OK;
}

static void decode_all(struct dump_file *file) {
  static int64_t values[DUMP_MAXIMUM_FRAME_ROWS];
  static uint64_t nulls[DUMP_MAXIMUM_FRAME_ROWS / 64];
  struct dump_cursor *cursor;
  struct tfprof_error error;
  if (dump_cursor_open(file, &cursor, &error)) return;
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    if (frame->rows == 0 || frame->rows > DUMP_MAXIMUM_FRAME_ROWS) abort();
    for (unsigned k = 0; k < frame->block_count; k++) {
      const struct dump_block *block = &frame->blocks[k];
      if (dump_frame_block(frame, block->dump_id) != block) abort();
      if (dump_block_decode(cursor, frame, block, values, nulls, &error)) continue;
      for (uint32_t row = 0; row < frame->rows && block->encoding != DUMP_REAL; row++) {
        if (values[row] < block->minimum || values[row] > block->maximum) abort();
      }
    }
  }
  dump_cursor_close(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int fd = -1;
  static char path[64];
  struct dump_file *file;
  struct tfprof_error error;
  uint32_t last_string = 0;
  if (fd < 0) {
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  uint8_t *bytes = malloc(size + 1);
  if (!bytes || fd < 0) abort();
  if (size) memcpy(bytes, data, size);
  if (size && data[size - 1] & 1) mend(bytes, --size);
  /* Half of the file first, the rest for a refresh. */
  size_t half = size / 2 & ~(size_t)7;
  if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, half, 0) != (ssize_t)half) abort();
  enum tfprof_status status = dump_file_open(path, &file, &error);
  if (pwrite(fd, bytes + half, size - half, (off_t)half) != (ssize_t)(size - half)) abort();
  if (status == TFPROF_OK) {
    dump_file_strings(file, take_string, &last_string, &error);
    dump_file_refresh(file, &error);
    dump_file_strings(file, take_string, &last_string, &error);
    decode_all(file);
    dump_file_close(file);
  }
  last_string = 0;
  if (dump_file_open(path, &file, &error) == TFPROF_OK) {
    dump_file_strings(file, take_string, &last_string, &error);
    decode_all(file);
    dump_file_close(file);
  }
  free(bytes);
  return 0;
}
