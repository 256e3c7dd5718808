/* writer.c: see writer.h.
**
** A frame is put together in memory and written with one pwrite(2) at the offset where the last whole frame ended, so
** that whatever went wrong before, and whoever else inherited the descriptor, the file stays a sequence of whole
** frames.  All that is done to the file is done by create_file(), append() and close_file(), each on the host's thread
** for files where there is one.  What was written is noted for the index, which goes out in pieces: memory stays
** bounded however long the recording is.
*/
#include "dump/writer.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/list.h"
#include "dump/column_codec.h"
#include "dump/descriptor.h"
#include "dump/directory.h"
#include "dump/format.h"
#include "dump/string_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  INDEX_PIECE_BYTES = 256 << 10, /* of pending index, uncompressed: then it is written */
  INDEX_LIMIT_BYTES = 4 << 20,   /* ... and when even this much could not be written, the file does without */
  INDEX_ENTRY_BYTES = 7 * VARINT_MAXIMUM_BYTES, /* the longest entry without its copy of the head */
  STRINGS_FRAME_BYTES = 1 << 20,                /* texts gathered in one frame, unless one alone is longer */
  REPLACED_MAXIMUM = 8, /* times that the descriptor of a write may be replaced by the program meanwhile */
};

struct buffer {
  uint8_t *bytes;
  size_t length, capacity;
};

struct table_count {
  uint16_t table_dump_id;
  uint64_t rows;
};

struct choice_slot {
  uint16_t table_dump_id, dump_id;
  struct column_choice choice;
};

struct dump_writer {
  struct descriptor file;
  const struct dump_host *host; /* NULL: an ordinary file */
  const struct dump_sink *sink; /* instead of a file; NULL: there is one */
  bool is_lasting, are_rows_lasting; /* of the frame that is written; of rows */
  char *path;
  uint64_t strays; /* writes during which the descriptor was replaced */
  uint32_t salt;
  uint64_t offset; /* the end of the last whole frame */
  uint64_t room;   /* bytes behind the frame that is written which the disk must have, too */
  uint64_t sequence;
  uint64_t rows;
  struct column_encoder *encoder;
  struct string_table strings;
  uint32_t strings_written;
  uint64_t text_bytes; /* of those, as dump_texts_of_bytes() counts them */
  uint64_t strings_refused;
  struct table_count *tables;
  size_t table_count, table_capacity;
  struct choice_slot *choices;
  size_t choice_count, choice_capacity, choice_next; /* where the last search ended: columns come in the same order */
  struct buffer frame, head, body, texts;
  struct buffer index;
  bool index_is_lost;
  uint64_t index_end;      /* of the last frame that an entry speaks of */
  uint64_t index_sequence; /* its sequence number */
  uint64_t last_index_offset;
};

static bool buffer_reserve(struct buffer *buffer, size_t more) {
  return array_reserve(buffer->bytes, buffer->capacity, buffer->length + more);
}

static bool buffer_append(struct buffer *buffer, const void *bytes, size_t length) {
  if (!buffer_reserve(buffer, length)) return false;
  if (length) memcpy(buffer->bytes + buffer->length, bytes, length);
  buffer->length += length;
  return true;
}

static void buffer_varint(struct buffer *buffer, uint64_t value) { /* room was reserved */
  buffer->length = (size_t)(varint_write(buffer->bytes + buffer->length, value) - buffer->bytes);
}

/* ---- The descriptor ----
**
** In somebody else's program it may be gone (dump/descriptor.h), unless the host has a thread for files whose table the
** program cannot reach. So it is looked at before each use, and after each write; a lost one is opened again. */

static int open_file(const struct dump_host *host, const char *path, int flags) {
  return host ? host->open(path, flags, DUMP_FILE_MODE) : open(path, flags | O_CLOEXEC, DUMP_FILE_MODE);
}

/* false: there is no thread for it. */
static bool do_with_file(const struct dump_host *host, void (*work)(void *argument), void *argument) {
  if (host) return host->run(work, argument);
  work(argument);
  return true;
}

/* 0, or the errno that says why the file cannot be had. */
static int find_file(struct dump_writer *writer) {
  struct descriptor *file = &writer->file, again;
  if (descriptor_is_ours(file)) return 0;
  file->number = -1;
  if (!descriptor_take(&again, open_file(writer->host, writer->path, O_WRONLY))) return errno;
  if (again.device != file->device || again.inode != file->inode) { /* another file has that name now */
    descriptor_close(&again);
    return ESTALE;
  }
  *file = again;
  return 0;
}

struct look_for_name {
  const struct dump_writer *writer;
  bool is_found;
};

static void look_for_name(void *argument) {
  struct look_for_name *look = argument;
  struct descriptor again;
  if (!descriptor_take(&again, open_file(look->writer->host, look->writer->path, O_WRONLY))) return;
  look->is_found = again.device == look->writer->file.device && again.inode == look->writer->file.inode;
  descriptor_close(&again);
}

bool dump_writer_is_named(const struct dump_writer *writer) {
  if (writer->sink) return true;
  struct look_for_name look = {.writer = writer};
  return do_with_file(writer->host, look_for_name, &look) && look.is_found;
}

static void free_writer(struct dump_writer *writer) {
  column_encoder_free(writer->encoder);
  string_table_clear(&writer->strings);
  free(writer->tables);
  free(writer->choices);
  free(writer->frame.bytes);
  free(writer->head.bytes);
  free(writer->body.bytes);
  free(writer->texts.bytes);
  free(writer->index.bytes);
  free(writer->path);
  free(writer);
}

/* ---- Frames ---- */

/* A write past RLIMIT_FSIZE would raise SIGXFSZ, which ends a program that does not expect it; say EFBIG ourselves. */
static bool is_over_file_limit(uint64_t end) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

/* Whether the disk has `length` bytes at the end of the file and the room behind them: 0, or the errno that says why
** not. The blocks are taken without making the file longer, and those that are left go back when it is closed. File
** systems that cannot do so are believed to have the room. */
static int take_room(const struct dump_writer *writer, size_t length) {
  if (is_over_file_limit(writer->offset + length + writer->room)) return EFBIG;
  if (!writer->room) return 0;
  int result;
  do {
    result = fallocate(writer->file.number, FALLOC_FL_KEEP_SIZE, (off_t)writer->offset, (off_t)(length + writer->room));
  } while (result != 0 && errno == EINTR);
  return result == 0 || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) ? 0 : errno;
}

/* Gives back what stands behind the last whole frame, and unused room. Where the program can reach the descriptor this
** is done by name: what was cut off a file of its own would be lost. */
static void cut_off(struct dump_writer *writer) {
  struct stat named;
  off_t length = (off_t)writer->offset;
  int result;
  if (find_file(writer)) return;
  bool is_apart = !writer->host || writer->host->is_apart();
  if (!is_apart &&
      (stat(writer->path, &named) || named.st_dev != writer->file.device || named.st_ino != writer->file.inode))
    return;
  do result = is_apart ? ftruncate(writer->file.number, length) : truncate(writer->path, length);
  while (result && errno == EINTR);
}

struct append {
  struct dump_writer *writer;
  const uint8_t *bytes;
  size_t length;
  int reason; /* 0: it is written; else errno */
};

/* Of `length` bytes as many as pwrite(2) takes. Whatever another file got meanwhile is written once more into ours. */
static int append_some(struct dump_writer *writer, const uint8_t *bytes, size_t length, size_t *done) {
  for (unsigned replaced = 0; replaced < REPLACED_MAXIMUM; replaced++) {
    int reason = find_file(writer);
    if (reason) return reason;
    ssize_t count = pwrite(writer->file.number, bytes, length, (off_t)(writer->offset + *done));
    reason = count > 0 ? 0 : count == 0 ? ENOSPC : errno;
    if (descriptor_is_ours(&writer->file)) {
      if (count > 0) *done += (size_t)count;
      return reason == EINTR ? 0 : reason;
    }
    writer->strays += count > 0;
  }
  return ESTALE;
}

/* Writes all bytes at the end of the file, or leaves the file as it was. */
static void append(void *argument) {
  struct append *append = argument;
  struct dump_writer *writer = append->writer;
  size_t done = 0;
  int reason = find_file(writer);
  if (!reason) {
    reason = take_room(writer, append->length);
    writer->strays += !descriptor_is_ours(&writer->file);
  }
  while (!reason && done < append->length)
    reason = append_some(writer, append->bytes + done, append->length - done, &done);
  /* When even this fails, the next frame overwrites the torn one all the same, and readers skip the rest by its
  ** checksum. */
  if (reason && done) cut_off(writer);
  append->reason = reason;
}

static enum tfprof_status write_bytes(struct dump_writer *writer, const uint8_t *bytes, size_t length,
                                      struct tfprof_error *error) {
  struct append wanted = {.writer = writer, .bytes = bytes, .length = length};
  if (writer->sink) wanted.reason = writer->sink->take(writer->sink->context, bytes, length, writer->is_lasting);
  else if (!do_with_file(writer->host, append, &wanted)) wanted.reason = EAGAIN;
  if (!wanted.reason) {
    writer->offset += length;
    return TFPROF_OK;
  }
  int reason = errno = wanted.reason;
  return error_io(error, writer->path,
                  reason == ENOSPC || reason == EDQUOT || reason == EFBIG
                      ? "cannot write to the dump file; free some space or record to another disk"
                  : reason == ENOENT || reason == ESTALE ? "the dump file was closed, and is not where it was any more"
                                                         : "cannot write to the dump file");
}

/* Notes a frame that was written at `offset` for the index. Failing only means that the index is not to be had. */
static void note_for_index(struct dump_writer *writer, const struct dump_frame_header *header, uint64_t offset) {
  struct buffer *index = &writer->index;
  if (writer->index_is_lost) return;
  if (index->length > INDEX_LIMIT_BYTES || !buffer_reserve(index, INDEX_ENTRY_BYTES + header->head_length)) {
    writer->index_is_lost = true;
    return;
  }
  buffer_varint(index, header->type);
  buffer_varint(index, header->table);
  buffer_varint(index, header->sequence - writer->index_sequence);
  buffer_varint(index, (offset - writer->index_end) / DUMP_FRAME_ALIGNMENT);
  buffer_varint(index, header->first_row);
  buffer_varint(index, header->row_count);
  buffer_varint(index, header->head_length);
  buffer_varint(index, header->body_length);
  buffer_append(index, writer->head.bytes, header->head_length);
  writer->index_end = offset + dump_frame_span(header);
  writer->index_sequence = header->sequence;
}

/* Writes writer->head and writer->body as one frame. `header` needs type, table, first_row and row_count. */
static enum tfprof_status write_frame(struct dump_writer *writer, struct dump_frame_header *header,
                                      struct tfprof_error *error) {
  static const uint8_t zeros[DUMP_FRAME_ALIGNMENT];
  struct buffer *frame = &writer->frame;
  if (writer->head.length > DUMP_MAXIMUM_HEAD_BYTES || writer->body.length > UINT32_MAX) {
    return error_set(error, TFPROF_LIMIT, "a frame is too large for the dump format; write fewer rows at once");
  }
  header->sequence = writer->sequence;
  header->head_length = (uint32_t)writer->head.length;
  header->body_length = (uint32_t)writer->body.length;
  size_t span = (size_t)dump_frame_span(header);
  frame->length = 0;
  if (!buffer_reserve(frame, span)) return error_no_memory(error);
  dump_frame_header_write(frame->bytes, header, writer->head.bytes, writer->salt);
  frame->length = DUMP_FRAME_HEADER_BYTES;
  buffer_append(frame, writer->head.bytes, writer->head.length);
  buffer_append(frame, writer->body.bytes, writer->body.length);
  buffer_append(frame, zeros, span - frame->length);
  uint64_t offset = writer->offset;
  writer->is_lasting = header->type == DUMP_TYPE_PROFILE || header->type == DUMP_TYPE_STRINGS ||
                       (header->type == DUMP_TYPE_ROWS && writer->are_rows_lasting);
  enum tfprof_status status = write_bytes(writer, frame->bytes, span, error);
  if (status) return status;
  writer->sequence++;
  if (header->type == DUMP_TYPE_INDEX) writer->last_index_offset = offset;
  else if (header->type != DUMP_TYPE_TRAILER) note_for_index(writer, header, offset);
  return TFPROF_OK;
}

static void start_frame(struct dump_writer *writer) { writer->head.length = writer->body.length = 0; }

static enum tfprof_status finish_directory(struct dump_writer *writer, const struct dump_block *blocks, unsigned count,
                                           struct tfprof_error *error) {
  struct buffer *head = &writer->head;
  if (!buffer_reserve(head, (size_t)count * DUMP_DIRECTORY_ENTRY_BYTES + VARINT_MAXIMUM_BYTES)) {
    return error_no_memory(error);
  }
  head->length += dump_directory_write(head->bytes + head->length, blocks, count);
  return TFPROF_OK;
}

/* Where the frame that is being put together will end; of frames that may lie in a file without those before, as if it
** were the first. */
static uint64_t frame_end(const struct dump_writer *writer) {
  return (writer->sink ? 0 : writer->offset) + DUMP_FRAME_HEADER_BYTES + writer->head.length + writer->body.length;
}

/* So many bytes that mean nothing (see dump_rows_of_bytes). */
static bool pad_body(struct dump_writer *writer, uint64_t bytes) {
  if (!buffer_reserve(&writer->body, bytes)) return false;
  memset(writer->body.bytes + writer->body.length, 0, bytes);
  writer->body.length += bytes;
  return true;
}

static enum tfprof_status write_index(struct dump_writer *writer, struct tfprof_error *error) {
  struct dump_frame_header header = {.type = DUMP_TYPE_INDEX};
  struct dump_block block;
  const uint8_t *bytes;
  start_frame(writer);
  if (!buffer_reserve(&writer->head, VARINT_MAXIMUM_BYTES)) return error_no_memory(error);
  buffer_varint(&writer->head, writer->last_index_offset / DUMP_FRAME_ALIGNMENT);
  if (column_encode_bytes(writer->encoder, writer->index.bytes, (uint32_t)writer->index.length, DUMP_INDEX_ENTRIES,
                          &block, &bytes) ||
      !buffer_append(&writer->body, bytes, block.stored_bytes)) {
    return error_no_memory(error);
  }
  enum tfprof_status status = finish_directory(writer, &block, 1, error);
  if (!status) status = write_frame(writer, &header, error);
  if (status) return status;
  writer->index.length = 0;
  writer->index_end = 0; /* each piece can be read by itself */
  writer->index_sequence = 0;
  return TFPROF_OK;
}

/* After a frame: a failure concerns the index alone, which is tried again later. */
static void write_index_if_due(struct dump_writer *writer) {
  if (writer->index.length >= INDEX_PIECE_BYTES && !writer->index_is_lost) write_index(writer, NULL);
}

/* ---- Profile, clock, dropped ---- */

enum tfprof_status dump_writer_profile(struct dump_writer *writer, const struct dump_profile *profile,
                                       struct tfprof_error *error) {
  struct dump_frame_header header = {.type = DUMP_TYPE_PROFILE};
  start_frame(writer);
  if (!buffer_reserve(&writer->head, dump_profile_packed_bytes(profile))) return error_no_memory(error);
  writer->head.length = dump_profile_pack(profile, writer->head.bytes);
  return write_frame(writer, &header, error);
}

enum tfprof_status dump_writer_clock(struct dump_writer *writer, const struct dump_clock *clock,
                                     struct tfprof_error *error) {
  struct dump_frame_header header = {.type = DUMP_TYPE_CLOCK};
  start_frame(writer);
  if (!buffer_reserve(&writer->head, (size_t)4 * VARINT_MAXIMUM_BYTES)) return error_no_memory(error);
  buffer_varint(&writer->head, zigzag(clock->monotonic_ns));
  buffer_varint(&writer->head, zigzag(clock->realtime_ns));
  buffer_varint(&writer->head, zigzag(clock->device_ns));
  buffer_varint(&writer->head, clock->uncertainty_ns);
  return write_frame(writer, &header, error);
}

enum tfprof_status dump_writer_dropped(struct dump_writer *writer, uint16_t table_dump_id, uint64_t dropped,
                                       struct tfprof_error *error) {
  struct dump_frame_header header = {.type = DUMP_TYPE_DROPPED, .table = table_dump_id};
  start_frame(writer);
  if (!buffer_reserve(&writer->head, VARINT_MAXIMUM_BYTES)) return error_no_memory(error);
  buffer_varint(&writer->head, dropped);
  uint64_t room = writer->room;
  writer->room = 0; /* it is kept for this */
  enum tfprof_status status = write_frame(writer, &header, error);
  writer->room = room;
  return status;
}

void dump_writer_keep_room(struct dump_writer *writer, uint64_t bytes) { writer->room = bytes; }

/* ---- Strings ---- */

uint32_t dump_writer_string(struct dump_writer *writer, const char *text, size_t length) {
  if (!text) return 0;
  uint32_t id = length > DUMP_MAXIMUM_RAW_BYTES ? 0 : string_table_add(&writer->strings, text, length);
  writer->strings_refused += id == 0;
  return id;
}

uint64_t dump_writer_strings_refused(const struct dump_writer *writer) { return writer->strings_refused; }

/* How many of the unwritten strings go into the next frame; at least one. */
static uint32_t strings_for_a_frame(const struct dump_writer *writer, size_t *bytes) {
  uint32_t count = 0;
  *bytes = 0;
  while (writer->strings_written + count < writer->strings.count && count < DUMP_MAXIMUM_FRAME_ROWS) {
    size_t length = writer->strings.entries[writer->strings_written + count].length;
    if (count && *bytes + length > STRINGS_FRAME_BYTES) break;
    *bytes += length;
    count++;
  }
  return count;
}

static enum tfprof_status write_some_strings(struct dump_writer *writer, struct tfprof_error *error) {
  size_t bytes_length;
  uint32_t count = strings_for_a_frame(writer, &bytes_length);
  const struct string_table_entry *entries = writer->strings.entries + writer->strings_written;
  struct dump_frame_header header = {.type = DUMP_TYPE_STRINGS,
                                     .first_row = (uint64_t)writer->strings_written + 1,
                                     .row_count = count};
  struct dump_block blocks[2];
  const uint8_t *bytes;
  bool is_absent;
  start_frame(writer);
  writer->texts.length = 0;
  if (!buffer_reserve(&writer->texts, count * sizeof(int64_t) + bytes_length)) return error_no_memory(error);
  int64_t *lengths = (int64_t *)(void *)writer->texts.bytes;
  for (uint32_t i = 0; i < count; i++) lengths[i] = entries[i].length;
  struct dump_column_data column = {.dump_id = DUMP_STRING_LENGTHS, .integers = lengths};
  struct column_choice choice = {.encoding = DUMP_VARINT, .packing = PACKED_DEFLATE, .frames_until_trial = 2};
  if (column_encode(writer->encoder, &column, count, &choice, &blocks[0], &bytes, &is_absent) ||
      !buffer_append(&writer->body, bytes, blocks[0].stored_bytes)) {
    return error_no_memory(error);
  }
  for (uint32_t i = 0; i < count; i++) buffer_append(&writer->texts, entries[i].text, entries[i].length);
  if (column_encode_bytes(writer->encoder, writer->texts.bytes, (uint32_t)bytes_length, DUMP_STRING_BYTES, &blocks[1],
                          &bytes) ||
      !buffer_append(&writer->body, bytes, blocks[1].stored_bytes)) {
    return error_no_memory(error);
  }
  enum tfprof_status status = finish_directory(writer, blocks, 2, error);
  uint64_t all = (writer->sink ? 0 : writer->text_bytes) + bytes_length + (uint64_t)DUMP_TEXT_BYTES * count;
  uint64_t allowed = dump_texts_of_bytes(frame_end(writer));
  if (!status && all > allowed && !pad_body(writer, (all - allowed) / DUMP_TEXT_BYTES_PER_BYTE + 1))
    status = error_no_memory(error);
  if (!status) status = write_frame(writer, &header, error);
  if (status) return status;
  writer->strings_written += count;
  writer->text_bytes = all;
  return TFPROF_OK;
}

static enum tfprof_status write_strings(struct dump_writer *writer, struct tfprof_error *error) {
  while (writer->strings_written < writer->strings.count) {
    enum tfprof_status status = write_some_strings(writer, error);
    if (status) return status;
  }
  return TFPROF_OK;
}

/* ---- Rows ---- */

/* The count of a table's rows, or NULL when memory is short. */
static uint64_t *table_rows(struct dump_writer *writer, uint16_t table_dump_id) {
  for (size_t i = 0; i < writer->table_count; i++) {
    if (writer->tables[i].table_dump_id == table_dump_id) return &writer->tables[i].rows;
  }
  if (!array_room(writer->tables, writer->table_count, writer->table_capacity)) return NULL;
  writer->tables[writer->table_count] = (struct table_count){.table_dump_id = table_dump_id};
  return &writer->tables[writer->table_count++].rows;
}

static struct column_choice *column_choice(struct dump_writer *writer, uint16_t table_dump_id, uint16_t dump_id) {
  for (size_t i = 0; i < writer->choice_count; i++) {
    size_t at = (writer->choice_next + i) % writer->choice_count;
    struct choice_slot *slot = &writer->choices[at];
    if (slot->dump_id == dump_id && slot->table_dump_id == table_dump_id) {
      writer->choice_next = at + 1;
      return &slot->choice;
    }
  }
  if (!array_room(writer->choices, writer->choice_count, writer->choice_capacity)) return NULL;
  writer->choices[writer->choice_count] = (struct choice_slot){.table_dump_id = table_dump_id, .dump_id = dump_id};
  return &writer->choices[writer->choice_count++].choice;
}

/* The columns in the order of their dump ids; false when two have the same. */
static bool sort_columns(const struct dump_column_data **sorted, const struct dump_column_data *columns,
                         unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    unsigned at = i;
    for (; at > 0 && sorted[at - 1]->dump_id > columns[i].dump_id; at--) sorted[at] = sorted[at - 1];
    sorted[at] = &columns[i];
  }
  for (unsigned i = 1; i < count; i++) {
    if (sorted[i]->dump_id == sorted[i - 1]->dump_id) return false;
  }
  return count == 0 || sorted[0]->dump_id != 0;
}

enum tfprof_status dump_writer_rows(struct dump_writer *writer, uint16_t table_dump_id, uint32_t rows,
                                    const struct dump_column_data *columns, unsigned column_count,
                                    struct tfprof_error *error) {
  const struct dump_column_data *sorted[DUMP_MAXIMUM_COLUMNS];
  struct dump_block blocks[DUMP_MAXIMUM_COLUMNS];
  unsigned block_count = 0;
  if (rows == 0 || rows > DUMP_MAXIMUM_FRAME_ROWS || column_count > DUMP_MAXIMUM_COLUMNS || table_dump_id == 0) {
    return error_set(error, TFPROF_USAGE, "a frame takes 1 to %d rows of at most %d columns of a table",
                     DUMP_MAXIMUM_FRAME_ROWS, DUMP_MAXIMUM_COLUMNS);
  }
  if (!sort_columns(sorted, columns, column_count)) {
    return error_set(error, TFPROF_USAGE, "each column of a frame needs an id of its own, and not 0");
  }
  uint64_t *first_row = table_rows(writer, table_dump_id);
  if (!first_row) return error_no_memory(error);
  if (*first_row > DUMP_MAXIMUM_ROW - rows) return error_set(error, TFPROF_LIMIT, "a table has more than 2^36 rows");
  enum tfprof_status status = write_strings(writer, error);
  if (status) return status;
  start_frame(writer);
  for (unsigned i = 0; i < column_count; i++) {
    struct column_choice *choice = column_choice(writer, table_dump_id, sorted[i]->dump_id);
    const uint8_t *bytes;
    bool is_absent;
    if (!choice || column_encode(writer->encoder, sorted[i], rows, choice, &blocks[block_count], &bytes, &is_absent)) {
      return error_no_memory(error);
    }
    if (is_absent) continue;
    if (!buffer_append(&writer->body, bytes, blocks[block_count].stored_bytes)) return error_no_memory(error);
    block_count++;
  }
  status = finish_directory(writer, blocks, block_count, error);
  uint64_t allowed = dump_rows_of_bytes(frame_end(writer)), all = (writer->sink ? 0 : writer->rows) + rows;
  if (!status && all > allowed && !pad_body(writer, (all - allowed) / DUMP_ROWS_PER_BYTE + 1))
    status = error_no_memory(error);
  if (status) return status;
  struct dump_frame_header header = {.type = DUMP_TYPE_ROWS,
                                     .table = table_dump_id,
                                     .first_row = *first_row,
                                     .row_count = rows};
  status = write_frame(writer, &header, error);
  if (status) return status;
  *first_row += rows;
  writer->rows += rows;
  write_index_if_due(writer);
  return TFPROF_OK;
}

enum tfprof_status dump_writer_skip(struct dump_writer *writer, uint16_t table_dump_id, uint64_t rows,
                                    struct tfprof_error *error) {
  uint64_t *first_row = table_rows(writer, table_dump_id);
  if (!first_row) return error_no_memory(error);
  if (*first_row > DUMP_MAXIMUM_ROW || rows > DUMP_MAXIMUM_ROW - *first_row) {
    return error_set(error, TFPROF_LIMIT, "a table has more than 2^36 rows");
  }
  *first_row += rows;
  return TFPROF_OK;
}

uint64_t dump_writer_rows_written(const struct dump_writer *writer, uint16_t table_dump_id) {
  for (size_t i = 0; i < writer->table_count; i++) {
    if (writer->tables[i].table_dump_id == table_dump_id) return writer->tables[i].rows;
  }
  return 0;
}

uint64_t dump_writer_bytes_written(const struct dump_writer *writer) { return writer->offset; }

/* ---- Beginning and end ---- */

static enum tfprof_status write_file_header(struct dump_writer *writer, const struct dump_profile *profile,
                                            struct tfprof_error *error) {
  uint8_t bytes[DUMP_FILE_HEADER_BYTES];
  struct dump_file_header header = {.version = DUMP_VERSION,
                                    .header_bytes = DUMP_FILE_HEADER_BYTES,
                                    .pid = profile->pid,
                                    .rank = profile->rank,
                                    .world_size = profile->world_size,
                                    .created_realtime_ns = (uint64_t)profile->created_realtime_ns};
  if (writer->sink) header.optional_features = DUMP_FEATURE_LAST;
  memcpy(header.boot_id, profile->boot_id, sizeof header.boot_id);
  dump_file_header_write(bytes, &header);
  writer->salt = load_u32(bytes + DUMP_FILE_HEADER_BYTES - 4);
  return write_bytes(writer, bytes, sizeof bytes, error);
}

struct creation {
  const struct dump_host *host;
  const char *path;
  int flags;
  struct dump_writer *writer;
  const struct dump_profile *profile;
  enum tfprof_status status;
  struct tfprof_error *error;
};

static void create_file(void *argument) {
  struct creation *creation = argument;
  struct dump_writer *writer = creation->writer;
  struct tfprof_error *error = creation->error;
  if (!descriptor_take(&writer->file, open_file(creation->host, creation->path, creation->flags))) {
    creation->status = error_io(error, creation->path, "cannot create the dump file");
    return;
  }
  enum tfprof_status status = write_file_header(writer, creation->profile, error);
  if (!status) status = dump_writer_profile(writer, creation->profile, error);
  struct stat facts;
  /* Nothing is in it that anybody could read.  A device of that name stays. */
  if (status && descriptor_is_ours(&writer->file) && !fstat(writer->file.number, &facts) && S_ISREG(facts.st_mode))
    unlink(creation->path);
  if (status) descriptor_close(&writer->file);
  creation->status = status;
}

static enum tfprof_status create(struct creation *creation, struct dump_writer **result) {
  struct tfprof_error *error = creation->error;
  *result = NULL;
  struct dump_writer *writer = creation->writer = calloc(1, sizeof *writer);
  if (!writer) return error_no_memory(error);
  writer->file.number = -1;
  writer->host = creation->host;
  writer->path = strdup(creation->path);
  writer->encoder = column_encoder_create();
  if (!writer->path || !writer->encoder) {
    free_writer(writer);
    return error_no_memory(error);
  }
  if (!do_with_file(creation->host, create_file, creation)) {
    errno = EAGAIN;
    creation->status = error_io(error, creation->path, "no thread can be started that creates the dump file");
  }
  if (creation->status) free_writer(writer);
  else *result = writer;
  return creation->status;
}

enum tfprof_status dump_writer_create(const char *path, bool replace, const struct dump_profile *profile,
                                      struct dump_writer **result, struct tfprof_error *error) {
  struct creation creation = {.path = path,
                              .flags = O_WRONLY | O_CREAT | (replace ? O_TRUNC : O_EXCL),
                              .profile = profile,
                              .error = error};
  return create(&creation, result);
}

enum tfprof_status dump_writer_create_as_guest(const char *path, const struct dump_host *host,
                                               const struct dump_profile *profile, struct dump_writer **result,
                                               struct tfprof_error *error) {
  struct creation creation = {
      .host = host, .path = path, .flags = O_WRONLY | O_CREAT | O_EXCL, .profile = profile, .error = error};
  return create(&creation, result);
}

enum tfprof_status dump_writer_create_for(const struct dump_sink *sink, const struct dump_profile *profile,
                                          struct dump_writer **result, struct tfprof_error *error) {
  *result = NULL;
  struct dump_writer *writer = calloc(1, sizeof *writer);
  if (!writer) return error_no_memory(error);
  writer->file.number = -1;
  writer->sink = sink;
  writer->is_lasting = writer->index_is_lost = true;
  writer->path = strdup("what is kept in memory");
  writer->encoder = column_encoder_create();
  enum tfprof_status status = writer->path && writer->encoder ? TFPROF_OK : error_no_memory(error);
  if (!status) status = write_file_header(writer, profile, error);
  if (!status) status = dump_writer_profile(writer, profile, error);
  if (status) free_writer(writer);
  else *result = writer;
  return status;
}

void dump_writer_set_lasting(struct dump_writer *writer, bool is_lasting) { writer->are_rows_lasting = is_lasting; }

uint64_t dump_writer_strays(const struct dump_writer *writer) { return writer->strays; }

void dump_writer_abandon(struct dump_writer *writer) {
  if (!writer) return;
  if (!writer->sink && (!writer->host || !writer->host->is_apart())) descriptor_close(&writer->file);
  free_writer(writer);
}

static enum tfprof_status write_trailer(struct dump_writer *writer, struct tfprof_error *error) {
  struct dump_frame_header header = {.type = DUMP_TYPE_TRAILER};
  struct dump_trailer trailer = {.index_offset = writer->index_is_lost ? 0 : writer->last_index_offset,
                                 .frame_count = writer->sequence + 1,
                                 .row_count = writer->rows,
                                 .string_count = writer->strings_written,
                                 .file_bytes = writer->offset + DUMP_TRAILER_BYTES};
  start_frame(writer);
  if (!buffer_reserve(&writer->head, DUMP_TRAILER_HEAD_BYTES)) return error_no_memory(error);
  dump_trailer_write(writer->head.bytes, &trailer);
  writer->head.length = DUMP_TRAILER_HEAD_BYTES;
  return write_frame(writer, &header, error);
}

struct end {
  struct dump_writer *writer;
  bool is_closed;
};

static void close_file(void *argument) {
  struct end *end = argument;
  struct dump_writer *writer = end->writer;
  cut_off(writer);
  end->is_closed = descriptor_close(&writer->file);
}

enum tfprof_status dump_writer_close(struct dump_writer *writer, struct tfprof_error *error) {
  if (!writer) return TFPROF_OK;
  if (writer->sink) {
    free_writer(writer);
    return TFPROF_OK;
  }
  writer->room = 0;
  /* Texts that are not written yet belong to no row of the file, and the index is only for speed: without room for
  ** them the end is still said. */
  enum tfprof_status status = write_strings(writer, error);
  if (!writer->index_is_lost && writer->index.length && write_index(writer, status ? NULL : error)) {
    writer->index_is_lost = true;
    if (!status) status = TFPROF_IO;
  }
  enum tfprof_status ended = write_trailer(writer, status ? NULL : error);
  if (!status) status = ended;
  struct end end = {.writer = writer};
  if (!do_with_file(writer->host, close_file, &end)) end.is_closed = false;
  if (!end.is_closed && !status) status = error_io(error, writer->path, "cannot close the dump file");
  free_writer(writer);
  return status;
}
