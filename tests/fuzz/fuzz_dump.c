/* fuzz_dump.c: any bytes as a dump file: open it, read its strings, decode every block, refresh it.
**
** Checksums would stop nearly every mutation at the door, so a file whose last byte is odd first gets right ones.
*/
#include "mend_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
  if (size && data[size - 1] & 1) mend_dump(bytes, --size);
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
