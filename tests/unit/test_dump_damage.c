/* test_dump_damage.c: a dump that is torn, damaged, forged, still growing or on a full disk.
**
** Whatever happened to the bytes: no crash, no hang, nothing read out of bounds (run it with sanitizers), and what is
** served is true: each value equals the one that was written for that row, or the block is refused.  Only forged
** checksums can make a reader show other values, and then these lie within the range that the directory states. Prints
** a line for each thing that is wrong; exit status 0 when there is none, else 1.
*/
#include "dump_test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

/* ---- A small dump whose every value is known ---- */

enum { TABLES = 2, FRAMES = 4, FRAME_ROWS = 20, COLUMNS = 5, FIRST_COLUMN = 4 };

/* The value of a row of a table in a column; column 3 is a real, column 4 has nulls. */
static int64_t true_value(unsigned table, uint64_t row, unsigned column) {
  uint64_t mixed = (row * 2654435761u + table * 40503u) ^ row << 7;
  switch (column) {
    case 0: return (int64_t)(1000000000000u + row * 3000 + mixed % 1000);
    case 1: return (int64_t)(mixed % 5) + 1;
    case 2: return (int64_t)table;
    case 3: return (int64_t)(row % 7);
    default: return (int64_t)mixed % 100000 - 50000;
  }
}

static bool true_null(uint64_t row, unsigned column) { return column == 4 && row % 3 == 0; }

static size_t true_string(uint32_t id, char *text, size_t size) {
  return (size_t)snprintf(text, size, "aten::op_%u%s", id,
                          id % 3 ? "" : " with a longer name, and again a longer name");
}

static void write_frame_of(struct dump_writer *writer, unsigned table, uint64_t first_row, uint32_t rows) {
  static int64_t integers[COLUMNS][FRAME_ROWS * 8];
  static double reals[FRAME_ROWS * 8];
  uint64_t nulls[3] = {0};
  struct tfprof_error error;
  struct dump_column_data columns[COLUMNS];
  for (unsigned column = 0; column < COLUMNS; column++) {
    for (uint32_t i = 0; i < rows; i++) {
      integers[column][i] = true_value(table, first_row + i, column);
      if (column == 3) reals[i] = (double)integers[column][i];
      if (true_null(first_row + i, column)) nulls[i / 64] |= (uint64_t)1 << i % 64;
    }
    columns[column] = (struct dump_column_data){.dump_id = (uint16_t)(FIRST_COLUMN + column),
                                                .order = column == 0 ? DUMP_ASCENDING : DUMP_UNORDERED,
                                                .is_real = column == 3,
                                                .integers = integers[column],
                                                .reals = reals,
                                                .nulls = column == 4 ? nulls : NULL};
  }
  check_ok(dump_writer_rows(writer, (uint16_t)(table + 1), rows, columns, COLUMNS, &error), &error, "rows");
}

static uint32_t add_true_string(struct dump_writer *writer, uint32_t id) {
  char text[128];
  size_t length = true_string(id, text, sizeof text);
  return dump_writer_string(writer, text, length);
}

/* Writes the dump; closed in order or not. Returns its bytes. */
static struct bytes make_dump(const char *name, bool is_closed) {
  struct tfprof_error error;
  struct dump_writer *writer = create_writer(test_path(name));
  uint32_t next_string = 1;
  for (unsigned frame = 0; frame < FRAMES; frame++) {
    for (int i = 0; i < 3; i++, next_string++) check(add_true_string(writer, next_string) == next_string, "string id");
    for (unsigned table = 0; table < TABLES; table++) write_frame_of(writer, table, frame * FRAME_ROWS, FRAME_ROWS);
    struct dump_clock clock = {frame, frame * 2, frame * 3, 4};
    check_ok(dump_writer_clock(writer, &clock, &error), &error, "clock");
  }
  check_ok(dump_writer_dropped(writer, 1, 9, &error), &error, "dropped");
  if (is_closed) check_ok(dump_writer_close(writer, &error), &error, "close");
  else dump_writer_abandon(writer);
  return read_whole(test_path(name));
}

/* ---- Reading everything and comparing it with the truth ---- */

struct seen {
  uint64_t rows; /* of frames */
  uint64_t blocks, refused_blocks;
  uint32_t strings, null_strings;
  bool is_forged; /* then only the range counts */
};

static enum tfprof_status see_string(void *context, uint32_t id, const char *text, uint32_t length) {
  struct seen *seen = context;
  char expected[128];
  seen->strings++;
  if (!text) {
    seen->null_strings++;
  } else if (!seen->is_forged) {
    size_t expected_length = true_string(id, expected, sizeof expected);
    check(expected_length == length && memcmp(text, expected, length) == 0, "string %u is '%.*s'", id, (int)length,
          text);
  }
  return TFPROF_OK;
}

static void see_block(struct seen *seen, struct dump_cursor *cursor, const struct dump_frame *frame,
                      const struct dump_block *block) {
  struct tfprof_error error;
  int64_t *values = allocate(frame->rows * sizeof *values);
  uint64_t *nulls = allocate((frame->rows + 63) / 64 * sizeof *nulls);
  enum tfprof_status status = dump_block_decode(cursor, frame, block, values, nulls, &error);
  seen->blocks++;
  seen->refused_blocks += status != TFPROF_OK;
  if (status) check(error.message[0] && error.file[0], "a refusal without a reason");
  for (uint32_t i = 0; status == TFPROF_OK && i < frame->rows; i++) {
    uint64_t row = frame->first_row + i;
    unsigned table = frame->table_dump_id - 1u, column = block->dump_id - (unsigned)FIRST_COLUMN;
    bool is_null = nulls[i / 64] >> i % 64 & 1;
    if (block->encoding != DUMP_REAL && (values[i] < block->minimum || values[i] > block->maximum)) {
      check(false, "value %lld is out of range", (long long)values[i]);
      break;
    }
    if (seen->is_forged) continue;
    int64_t expected = true_value(table, row, column);
    double real = (double)expected;
    if (column == 3) memcpy(&expected, &real, sizeof expected);
    if (is_null != true_null(row, column) || (!is_null && values[i] != expected)) {
      check(false, "table %u row %llu column %u is wrong", table, (unsigned long long)row, column);
      break;
    }
  }
  free(values);
  free(nulls);
}

static void see_file(struct seen *seen, struct dump_file *file) {
  struct tfprof_error error;
  struct dump_cursor *cursor;
  if (dump_file_strings(file, see_string, seen, &error)) return;
  if (dump_cursor_open(file, &cursor, &error)) return;
  uint64_t next_row[TABLES + 1] = {0};
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    if (!seen->is_forged) {
      check(frame->table_dump_id >= 1 && frame->table_dump_id <= TABLES, "a frame of table %u", frame->table_dump_id);
      check(frame->first_row >= next_row[frame->table_dump_id], "rows out of order");
      next_row[frame->table_dump_id] = frame->first_row + frame->rows;
    }
    seen->rows += frame->rows;
    for (unsigned k = 0; k < frame->block_count; k++) see_block(seen, cursor, frame, &frame->blocks[k]);
  }
  dump_cursor_close(cursor);
}

/* The path of a file in memory that holds these bytes. */
static const char *memory_path(const uint8_t *bytes, size_t length) {
  static char path[64];
  static int fd = -1;
  if (fd < 0) fd = memfd_create("dump", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return path;
}

/* Reads a file of these bytes. False when it could not be opened. */
static bool see_bytes(struct seen *seen, const uint8_t *bytes, size_t length) {
  struct tfprof_error error;
  struct dump_file *file;
  const char *path = memory_path(bytes, length);
  memset(&error, 0, sizeof error);
  enum tfprof_status status = dump_file_open(path, &file, &error);
  if (status) {
    check(!file && error.message[0], "a refusal without a reason");
    return false;
  }
  see_file(seen, file);
  dump_file_close(file);
  return true;
}

/* ---- Torn and damaged ---- */

static void test_truncation(void) {
  struct bytes whole = make_dump("torn.tfprof", true);
  struct seen seen = {0};
  check(see_bytes(&seen, whole.at, whole.length) && seen.rows == TABLES * FRAMES * FRAME_ROWS, "the whole file");
  check(seen.refused_blocks == 0 && seen.strings == FRAMES * 3 && seen.null_strings == 0, "the whole file has gaps");
  for (size_t length = 0; length < whole.length; length++) {
    /* The rows of the frames that are whole, no more and no less. */
    struct dump_frame_header header;
    uint64_t rows = 0;
    for (size_t at = DUMP_FILE_HEADER_BYTES, next; (next = frame_after(&whole, at, &header)) != 0; at = next) {
      size_t end = at + DUMP_FRAME_HEADER_BYTES + header.head_length + header.body_length;
      if (header.type == DUMP_TYPE_ROWS && end <= length) rows += header.row_count;
      if (next >= whole.length) break;
    }
    memset(&seen, 0, sizeof seen);
    bool is_open = see_bytes(&seen, whole.at, length);
    check(is_open == (length >= DUMP_FILE_HEADER_BYTES), "cut at %zu: open %d", length, is_open);
    check(seen.rows == rows && seen.refused_blocks == 0 && seen.null_strings == 0, "cut at %zu: %llu of %llu rows",
          length, (unsigned long long)seen.rows, (unsigned long long)rows);
  }
  free(whole.at);
}

#ifdef __SANITIZE_ADDRESS__ /* three times as slow; all of them are for the other build */
static const uint8_t masks[] = {1, 128, 255};
#else
static const uint8_t masks[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
#endif

static void test_flips(bool is_closed) {
  struct bytes whole = make_dump("flip.tfprof", is_closed);
  uint64_t all_rows = TABLES * FRAMES * FRAME_ROWS;
  for (size_t at = 0; at < whole.length; at++) {
    for (size_t i = 0; i < sizeof masks; i++) {
      struct seen seen = {0};
      whole.at[at] ^= masks[i];
      bool is_open = see_bytes(&seen, whole.at, whole.length);
      whole.at[at] ^= masks[i];
      if (at >= DUMP_FILE_HEADER_BYTES) {
        check(is_open, "flip %02x at %zu: cannot open", masks[i], at);
        /* One flip costs one frame or one block; of a closed file, no frame at all. */
        check(seen.rows >= all_rows - FRAME_ROWS && seen.refused_blocks <= 1 && seen.null_strings <= 3,
              "flip %02x at %zu: %llu rows, %llu blocks refused, %u texts lost", masks[i], at,
              (unsigned long long)seen.rows, (unsigned long long)seen.refused_blocks, seen.null_strings);
      } else if (at >= 16) {
        check(is_open && seen.rows == all_rows, "flip %02x at %zu of the header: not forgiven", masks[i], at);
      }
    }
  }
  free(whole.at);
}

static void test_wounds(void) {
  struct bytes whole = make_dump("wound.tfprof", false), other = make_dump("wound2.tfprof", true);
  uint8_t *wounded = allocate(whole.length * 3);
  for (int round = 0; round < 3000; round++) {
    struct seen seen = {0};
    size_t length = whole.length;
    memcpy(wounded, whole.at, whole.length);
    for (unsigned wounds = random_u64() % 4 + 1; wounds > 0; wounds--) {
      size_t at = DUMP_FILE_HEADER_BYTES + random_u64() % (length - DUMP_FILE_HEADER_BYTES);
      size_t bytes = random_u64() % 300, from;
      if (bytes > length - at) bytes = length - at;
      if (bytes > length - DUMP_FILE_HEADER_BYTES) bytes = 1;
      from = random_u64() % (length - bytes);
      switch (random_u64() % 5) {
        case 0: memset(wounded + at, 0, bytes); break;
        case 1:
          for (size_t i = 0; i < bytes; i++) wounded[at + i] = (uint8_t)random_u64();
          break;
        case 2: memmove(wounded + at, wounded + from, bytes); break; /* also old frames over new ones */
        case 3: /* bytes are lost, in steps that keep the alignment */
          bytes &= ~(size_t)7;
          memmove(wounded + at, wounded + at + bytes, length - at - bytes);
          length -= bytes;
          break;
        default:
          bytes = random_u64() % 500 & ~(size_t)7;
          if (length + bytes > whole.length * 3) break;
          memmove(wounded + at + bytes, wounded + at, length - at);
          length += bytes;
      }
    }
    see_bytes(&seen, wounded, length);
  }
  /* The same frames once more: refused. Frames of another file: not even seen. */
  struct seen seen = {0};
  memcpy(wounded, whole.at, whole.length);
  memcpy(wounded + whole.length, whole.at + DUMP_FILE_HEADER_BYTES, whole.length - DUMP_FILE_HEADER_BYTES);
  check(see_bytes(&seen, wounded, whole.length * 2 - DUMP_FILE_HEADER_BYTES), "doubled");
  check(seen.rows == TABLES * FRAMES * FRAME_ROWS, "doubled: %llu rows", (unsigned long long)seen.rows);
  memset(&seen, 0, sizeof seen);
  other.at[48] ^= 1; /* another creation time */
  struct dump_file_header header;
  dump_file_header_read(other.at, &header);
  dump_file_header_write(other.at, &header);
  for (size_t at = DUMP_FILE_HEADER_BYTES; at < other.length;) {
    struct dump_frame_header frame;
    mend_frame(&other, at);
    at = frame_after(&other, at, &frame);
  }
  memcpy(wounded + whole.length, other.at + DUMP_FILE_HEADER_BYTES, other.length - DUMP_FILE_HEADER_BYTES);
  check(see_bytes(&seen, wounded, whole.length + other.length - DUMP_FILE_HEADER_BYTES), "two files");
  check(seen.rows == TABLES * FRAMES * FRAME_ROWS, "two files: %llu rows", (unsigned long long)seen.rows);
  free(wounded);
  free(whole.at);
  free(other.at);
}

/* A file full of headers that look right must not take quadratic time. */
static void test_false_frames(void) {
  size_t length = 4 << 20;
  uint8_t *bytes = allocate(length);
  struct bytes whole = make_dump("false.tfprof", false);
  memset(bytes, 0, length);
  for (size_t at = whole.length; at + DUMP_FRAME_HEADER_BYTES <= length; at += 32) {
    store_u32(bytes + at, DUMP_FRAME_MAGIC);
    store_u32(bytes + at + 28, DUMP_MAXIMUM_HEAD_BYTES); /* each asks for a checksum over 1 MB */
  }
  memcpy(bytes, whole.at, whole.length);
  struct timespec start, end;
  struct seen seen = {0};
  clock_gettime(CLOCK_MONOTONIC, &start);
  check(see_bytes(&seen, bytes, length), "false frames");
  clock_gettime(CLOCK_MONOTONIC, &end);
  check(seen.rows == TABLES * FRAMES * FRAME_ROWS, "false frames: %llu rows", (unsigned long long)seen.rows);
  check(end.tv_sec - start.tv_sec < 5, "false frames took %ld s", (long)(end.tv_sec - start.tv_sec));
  free(bytes);
  free(whole.at);
}

/* ---- Forged: the checksums are right, what they protect is not ---- */

/* Flips every byte of every frame's header and head, with the checksum made right again. */
static void test_forged_heads(bool is_closed) {
  struct bytes whole = make_dump("forged.tfprof", is_closed);
  struct dump_frame_header header;
  for (size_t at = DUMP_FILE_HEADER_BYTES, next; at < whole.length; at = next) {
    next = frame_after(&whole, at, &header);
    for (size_t i = 4; i < DUMP_FRAME_HEADER_BYTES + header.head_length; i++) {
      if (i >= 28 && i < 32) continue; /* the length of the head: then the checksum is elsewhere */
      if (i >= DUMP_FRAME_CHECKED_BYTES && i < DUMP_FRAME_HEADER_BYTES) continue;
      for (size_t k = 0; k < sizeof masks; k++) {
        struct seen seen = {.is_forged = true};
        whole.at[at + i] ^= masks[k];
        mend_frame(&whole, at);
        see_bytes(&seen, whole.at, whole.length);
        whole.at[at + i] ^= masks[k];
        mend_frame(&whole, at);
      }
    }
  }
  free(whole.at);
}

/* Finds the head entry of a block by its checksum, which is stored as it is, and makes it right for the block's
** bytes. */
static void mend_block(struct bytes *file, size_t frame, const struct dump_frame_header *header, size_t block_offset,
                       uint32_t stored_bytes, uint32_t old_sum) {
  uint8_t *head = file->at + frame + DUMP_FRAME_HEADER_BYTES;
  for (size_t i = 0; i + 4 <= header->head_length; i++) {
    if (load_u32(head + i) != old_sum) continue;
    store_u32(head + i, checksum_crc32(0, file->at + block_offset, stored_bytes));
    break;
  }
  mend_frame(file, frame);
}

/* Changes bytes inside the blocks, right checksums again: what the decoders make of anything. */
static void test_forged_blocks(void) {
  struct bytes whole = make_dump("forged.tfprof", false);
  uint8_t *copy = allocate(whole.length);
  struct dump_file *file = open_file(test_path("forged.tfprof"));
  memcpy(copy, whole.at, whole.length);
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    struct dump_frame_header header;
    dump_frame_header_read(whole.at + frame->offset, &header);
    for (unsigned k = 0; k < frame->block_count; k++) {
      const struct dump_block *block = &frame->blocks[k];
      for (uint32_t byte = 0; byte < block->stored_bytes; byte++) {
        for (int round = 0; round < 8; round++) {
          struct seen seen = {.is_forged = true};
          for (unsigned changes = random_u64() % 3 + 1, at = byte; changes > 0; changes--) {
            whole.at[block->offset + at] = (uint8_t)random_u64();
            at = (unsigned)(random_u64() % block->stored_bytes);
          }
          mend_block(&whole, frame->offset, &header, block->offset, block->stored_bytes, block->crc32);
          see_bytes(&seen, whole.at, whole.length);
          memcpy(whole.at, copy, whole.length);
        }
      }
    }
  }
  dump_file_close(file);
  free(whole.at);
  free(copy);
}

/* Changes the index, which is trusted for where frames are; and lies about it in the trailer. */
static void test_forged_index(void) {
  struct bytes whole = make_dump("forged.tfprof", true);
  struct dump_frame_header header;
  struct dump_trailer trailer;
  size_t trailer_at = whole.length - DUMP_TRAILER_BYTES;
  dump_trailer_read(whole.at + trailer_at + DUMP_FRAME_HEADER_BYTES, &trailer);
  size_t index_at = (size_t)trailer.index_offset;
  dump_frame_header_read(whole.at + index_at, &header);
  check(header.type == DUMP_TYPE_INDEX, "the trailer does not point to the index");
  /* Unpack the index, and pack it again uncompressed, so that every byte can be changed. */
  const uint8_t *head = whole.at + index_at + DUMP_FRAME_HEADER_BYTES, *bytes, *at;
  uint64_t before;
  struct dump_block block;
  at = varint_read(head, head + header.head_length, &before);
  check(at && !dump_directory_read(at, (size_t)(head + header.head_length - at), 0,
                                   index_at + DUMP_FRAME_HEADER_BYTES + header.head_length, header.body_length, &block,
                                   1),
        "the index has no directory");
  struct column_decoder decoder = {0};
  const char *wrong = "no reason";
  check(column_decode_bytes(&decoder, &block, whole.at + block.offset, &bytes, &wrong) == TFPROF_OK, "index: %s",
        wrong);
  uint8_t *forged = allocate(whole.length + block.raw_bytes + 1000), *raw = allocate(block.raw_bytes);
  memcpy(forged, whole.at, index_at);
  memcpy(raw, bytes, block.raw_bytes);
  for (uint32_t i = 0; i <= block.raw_bytes; i++) {
    for (int round = 0; round < 12; round++) {
      struct seen seen = {.is_forged = i < block.raw_bytes};
      uint8_t new_head[DUMP_DIRECTORY_ENTRY_BYTES + 20] = {0};
      struct dump_block new_block = block;
      uint8_t kept = i < block.raw_bytes ? raw[i] : 0;
      if (i < block.raw_bytes) raw[i] = round < 8 ? (uint8_t)(kept ^ 1 << round) : (uint8_t)random_u64();
      new_block.is_compressed = false;
      new_block.stored_bytes = block.raw_bytes;
      new_block.crc32 = checksum_crc32(0, raw, block.raw_bytes);
      header.head_length = (uint32_t)(1 + dump_directory_write(new_head + 1, &new_block, 1));
      header.body_length = block.raw_bytes;
      struct bytes file = {forged, 0};
      memset(forged + index_at, 0, block.raw_bytes + 1000);
      dump_frame_header_write(forged + index_at, &header, new_head, file_salt(&file));
      memcpy(forged + index_at + DUMP_FRAME_HEADER_BYTES, new_head, header.head_length);
      memcpy(forged + index_at + DUMP_FRAME_HEADER_BYTES + header.head_length, raw, block.raw_bytes);
      size_t new_trailer_at = index_at + (size_t)dump_frame_span(&header);
      struct dump_trailer new_trailer = trailer;
      new_trailer.file_bytes = new_trailer_at + DUMP_TRAILER_BYTES;
      memcpy(forged + new_trailer_at, whole.at + trailer_at, DUMP_FRAME_HEADER_BYTES);
      dump_trailer_write(forged + new_trailer_at + DUMP_FRAME_HEADER_BYTES, &new_trailer);
      file.length = new_trailer_at + DUMP_TRAILER_BYTES;
      mend_frame(&file, new_trailer_at);
      check(see_bytes(&seen, forged, file.length), "a forged index cannot be opened");
      if (i == block.raw_bytes) check(seen.rows == TABLES * FRAMES * FRAME_ROWS, "the repacked index is not read");
      else raw[i] = kept;
    }
  }
  /* The trailer points to every place in the file. */
  for (uint64_t offset = 0; offset < whole.length + 16; offset++) {
    struct seen seen = {0};
    trailer.index_offset = offset;
    dump_trailer_write(whole.at + trailer_at + DUMP_FRAME_HEADER_BYTES, &trailer);
    mend_frame(&whole, trailer_at);
    check(see_bytes(&seen, whole.at, whole.length) && seen.rows == TABLES * FRAMES * FRAME_ROWS,
          "index at %llu: not found by scanning", (unsigned long long)offset);
  }
  column_decoder_clear(&decoder);
  free(forged);
  free(raw);
  free(whole.at);
}

/* ---- Reading while it is written ---- */

static void test_refresh(void) {
  struct tfprof_error error;
  const char *path = test_path("growing.tfprof");
  struct dump_writer *writer = create_writer(path);
  struct dump_file *file = open_file(path);
  struct seen seen = {0};
  uint64_t row = 0;
  for (int i = 0; i < 40; i++) {
    check(add_true_string(writer, (uint32_t)i + 1) == (uint32_t)i + 1, "string id");
    write_frame_of(writer, 0, row, 1 + (uint32_t)i);
    row += 1 + (uint32_t)i;
    if (i == 20) check_ok(dump_writer_dropped(writer, 1, 3, &error), &error, "dropped");
    check_ok(dump_file_refresh(file, &error), &error, "refresh");
    check(file->frame_count == (size_t)i + 1, "%zu frames after %d", file->frame_count, i + 1);
    memset(&seen, 0, sizeof seen);
    see_file(&seen, file);
    check(seen.rows == row && seen.refused_blocks == 0 && seen.strings == 1, "%llu rows of %llu, %u new strings",
          (unsigned long long)seen.rows, (unsigned long long)row, seen.strings);
  }
  check(!file->is_closed, "closed too soon");
  check_ok(dump_writer_close(writer, &error), &error, "close");
  check_ok(dump_file_refresh(file, &error), &error, "refresh");
  check(file->is_closed && file->frame_count == 40 && file->problem_count == 1, "the end was not noticed");
  dump_file_close(file);
}

/* The file grows by a few bytes at a time, as a reader on another machine may see it. */
static void test_refresh_of_pieces(void) {
  struct tfprof_error error;
  struct bytes whole = make_dump("pieces.tfprof", true);
  const char *path = test_path("piecewise.tfprof");
  for (unsigned step = 1; step < 400; step = step * 2 + 5) {
    size_t length = DUMP_FILE_HEADER_BYTES;
    write_whole(path, whole.at, length);
    struct dump_file *file = open_file(path);
    struct seen strings = {0};
    while (length < whole.length) {
      size_t more = step < whole.length - length ? step : whole.length - length;
      int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
      check(fd >= 0 && write(fd, whole.at + length, more) == (ssize_t)more, "cannot append");
      close(fd);
      length += more;
      check_ok(dump_file_refresh(file, &error), &error, "refresh");
      check_ok(dump_file_strings(file, see_string, &strings, &error), &error, "strings");
    }
    struct seen seen = {0};
    see_file(&seen, file);
    check(file->is_closed && seen.rows == TABLES * FRAMES * FRAME_ROWS && seen.refused_blocks == 0 &&
              strings.strings == FRAMES * 3 && strings.null_strings == 0,
          "steps of %u: %llu rows, closed %d", step, (unsigned long long)seen.rows, file->is_closed);
    check(file->problem_count == 1, "steps of %u: %zu problems, the last %s", step, file->problem_count,
          file->problem_count ? file->problems[file->problem_count - 1].reason : "");
    dump_file_close(file);
  }
  /* Cut, replaced, gone. */
  struct dump_file *file = open_file(path);
  struct dump_cursor *cursor;
  struct seen before = {0}, cut = {0}, mended = {0};
  see_file(&before, file);
  write_whole(path, whole.at, whole.length / 2);
  check_ok(dump_file_refresh(file, &error), &error, "a cut file");
  check(file->problem_count == 2 && !strcmp(file->problems[1].reason, "cut_file"), "it is not told: %zu problems",
        file->problem_count);
  check(file->frame_count == TABLES * FRAMES, "it was not left as it was");
  see_file(&cut, file);
  check(cut.refused_blocks > 0 && cut.rows > 0, "what is left of a cut file: %llu rows, %u blocks refused",
        (unsigned long long)cut.rows, (unsigned)cut.refused_blocks);
  write_whole(path, whole.at, 20); /* within its header */
  check_ok(dump_file_refresh(file, &error), &error, "a file that was cut within its header");
  write_whole(path, whole.at, whole.length);
  check_ok(dump_file_refresh(file, &error), &error, "a file that is whole again");
  check(file->problem_count == 1, "the cut is still told");
  see_file(&mended, file);
  check(mended.refused_blocks == 0, "it is not read again");
  /* A copy of it is the same recording. */
  write_whole(test_path("other.tfprof"), whole.at, whole.length);
  check(rename(test_path("other.tfprof"), path) == 0 && dump_file_refresh(file, &error) == TFPROF_OK, "a copy");
  whole.at[20] ^= 1;
  write_whole(path, whole.at, whole.length); /* the same file, as long as before, with another header */
  check(dump_file_refresh(file, &error) == TFPROF_REPLACED, "an overwritten file");
  check(dump_cursor_open(file, &cursor, &error) == TFPROF_REPLACED && !cursor, "a cursor on another file");
  write_whole(test_path("other.tfprof"), whole.at, whole.length);
  check(rename(test_path("other.tfprof"), path) == 0 && dump_file_refresh(file, &error) == TFPROF_REPLACED,
        "a replaced file");
  check(unlink(path) == 0 && mkdir(path, 0777) == 0 && dump_file_refresh(file, &error) == TFPROF_REPLACED,
        "a directory in its place");
  rmdir(path);
  write_whole(path, whole.at, whole.length);

  check(unlink(path) == 0 && dump_file_refresh(file, &error) == TFPROF_NOT_FOUND, "a file that is gone");
  dump_file_close(file);
  free(whole.at);
}

/* ---- The disk is full ---- */

static void test_full_disk(void) {
  struct tfprof_error error;
  const char *path = test_path("full.tfprof");
  struct rlimit unlimited, limit;
  getrlimit(RLIMIT_FSIZE, &unlimited);
  signal(SIGXFSZ, SIG_DFL); /* the writer must not even raise it */
  for (uint64_t room = 0; room < 300; room += 7) {
    struct dump_writer *writer = create_writer(path);
    uint64_t row = 0, before = 0;
    int64_t value;
    struct dump_column_data column = {.dump_id = FIRST_COLUMN + 2, .integers = &value};
    value = true_value(0, 0, 2);
    write_frame_of(writer, 0, row, FRAME_ROWS);
    row += FRAME_ROWS;
    before = dump_writer_bytes_written(writer);
    limit = unlimited;
    limit.rlim_cur = before + room;
    setrlimit(RLIMIT_FSIZE, &limit);
    enum tfprof_status status;
    while ((status = dump_writer_rows(writer, 1, 1, &column, 1, &error)) == TFPROF_OK) row++;
    check(status == TFPROF_IO && strstr(error.message, "space"), "full: status %d, '%s'", status, error.message);
    check(dump_writer_rows_written(writer, 1) == row, "full: the rows are counted wrong");
    struct seen seen = {0};
    struct dump_file *file = open_file(path);
    see_file(&seen, file);
    check(seen.rows == row && file->problem_count == 0, "full: %llu of %llu rows, %zu problems",
          (unsigned long long)seen.rows, (unsigned long long)row, file->problem_count);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    write_frame_of(writer, 0, row, FRAME_ROWS); /* the very same writer */
    row += FRAME_ROWS;
    check_ok(dump_file_refresh(file, &error), &error, "refresh");
    memset(&seen, 0, sizeof seen);
    see_file(&seen, file);
    check(seen.rows == row && file->problem_count == 0, "full: %llu of %llu rows later", (unsigned long long)seen.rows,
          (unsigned long long)row);
    dump_file_close(file);
    check_ok(dump_writer_close(writer, &error), &error, "close");
    file = open_file(path);
    memset(&seen, 0, sizeof seen);
    see_file(&seen, file);
    check(file->is_closed && seen.rows == row && file->problem_count == 0, "full: not closed in order");
    dump_file_close(file);
  }
  struct dump_profile profile = {.rank = -1};
  struct dump_writer *writer;
  limit = unlimited;
  limit.rlim_cur = 40;
  setrlimit(RLIMIT_FSIZE, &limit);
  check(dump_writer_create(path, true, &profile, &writer, &error) == TFPROF_IO && access(path, F_OK) != 0,
        "a file that could not even be begun is left behind");
  setrlimit(RLIMIT_FSIZE, &unlimited);
  if (access("/dev/full", W_OK) == 0) {
    check(dump_writer_create("/dev/full", true, &profile, &writer, &error) == TFPROF_IO && !writer, "/dev/full");
    check(access("/dev/full", W_OK) == 0, "/dev/full was removed");
  }
}

int main(void) {
  make_test_directory();
  test_truncation();
  test_flips(false);
  test_flips(true);
  test_wounds();
  test_false_frames();
  test_forged_heads(false);
  test_forged_heads(true);
  test_forged_blocks();
  test_forged_index();
  test_refresh();
  test_refresh_of_pieces();
  test_full_disk();
  printf("test_dump_damage: %s\n", check_failures ? "failed" : "ok");
  return check_result();
}
