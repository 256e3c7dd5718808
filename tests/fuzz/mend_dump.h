/* mend_dump.h: gives a mutated dump right checksums, so that what a forger could write is read as well. */
#ifndef TFPROF_MEND_DUMP_H
#define TFPROF_MEND_DUMP_H

#include "base/bytes.h"
#include "base/checksum.h"
#include "dump/format.h"

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
    store_u32(at, checksum_crc32(0, body + used, stored));
    used += stored;
  }
}

/* That of the file header, of every frame that can be walked to, and of every block. */
static void mend_dump(uint8_t *bytes, size_t size) {
  struct dump_frame_header header;
  if (size < DUMP_FILE_HEADER_BYTES) return;
  store_u32(bytes + 60, checksum_crc32(0, bytes, 60));
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
    uint32_t sum = checksum_crc32(salt, frame, DUMP_FRAME_CHECKED_BYTES);
    store_u32(frame + DUMP_FRAME_CHECKED_BYTES, checksum_crc32(sum, head, header.head_length));
    at += (size_t)dump_frame_span(&header);
  }
}

#endif
