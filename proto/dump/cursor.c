/* cursor.c: reads what the frames hold: columns, one block at a time, and strings.
**
** Nothing is mapped into memory: a file that is cut while it is read must be an error, not a SIGBUS in somebody's
** sqlite3.
*/
#include "dump/reader_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dump_cursor {
  const struct dump_file *file;
  int fd;
  uint8_t *stored;
  size_t capacity;
  struct column_decoder decoder;
};

enum tfprof_status dump_cursor_open(const struct dump_file *file, struct dump_cursor **result,
                                    struct tfprof_error *error) {
  uint64_t size;
  *result = NULL;
  struct dump_cursor *cursor = calloc(1, sizeof *cursor);
  if (!cursor) return error_no_memory(error);
  enum tfprof_status status = reader_reopen(file, &cursor->fd, &size, NULL, error);
  if (status) {
    free(cursor);
    return status;
  }
  cursor->file = file;
  *result = cursor;
  return TFPROF_OK;
}

void dump_cursor_close(struct dump_cursor *cursor) {
  if (!cursor) return;
  close(cursor->fd);
  column_decoder_clear(&cursor->decoder);
  free(cursor->stored);
  free(cursor);
}

const struct dump_block *dump_frame_block(const struct dump_frame *frame, uint16_t dump_id) {
  size_t low = 0, high = frame->block_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (frame->blocks[middle].dump_id < dump_id) low = middle + 1;
    else high = middle;
  }
  return low < frame->block_count && frame->blocks[low].dump_id == dump_id ? &frame->blocks[low] : NULL;
}

static enum tfprof_status read_stored(struct dump_cursor *cursor, const struct dump_block *block,
                                      struct tfprof_error *error) {
  if (block->stored_bytes > cursor->capacity || !cursor->stored) {
    size_t capacity = (size_t)block->stored_bytes + block->stored_bytes / 2 + 4096;
    uint8_t *grown = malloc(capacity);
    if (!grown) return error_no_memory(error);
    free(cursor->stored);
    cursor->stored = grown;
    cursor->capacity = capacity;
  }
  return reader_read(cursor->fd, cursor->file->path, block->offset, block->stored_bytes, cursor->stored, error);
}

static enum tfprof_status tell(const struct dump_cursor *cursor, const struct dump_block *block, uint16_t table,
                               enum tfprof_status status, const char *wrong, struct tfprof_error *error) {
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  return error_at(error, status, cursor->file->path, block->offset, "column %u of table %u cannot be read: %s",
                  block->dump_id, table, wrong);
}

enum tfprof_status dump_block_decode(struct dump_cursor *cursor, const struct dump_frame *frame,
                                     const struct dump_block *block, void *values, uint64_t *nulls,
                                     struct tfprof_error *error) {
  const char *wrong = NULL;
  enum tfprof_status status = TFPROF_OK;
  if (block->encoding < DUMP_ENCODING_COUNT) status = read_stored(cursor, block, error);
  if (status) return status;
  status = column_decode(&cursor->decoder, block, cursor->stored, frame->rows, values, nulls, &wrong);
  return status ? tell(cursor, block, frame->table_dump_id, status, wrong, error) : TFPROF_OK;
}

/* ---- Strings ---- */

struct string_batch {
  int64_t lengths[DUMP_MAXIMUM_FRAME_ROWS];
};

/* Decodes one STRINGS frame. *bytes stays valid until the cursor reads again. */
static enum tfprof_status read_strings(struct dump_cursor *cursor, const struct reader_strings *strings,
                                       struct string_batch *batch, const uint8_t **bytes, struct tfprof_error *error) {
  const char *wrong = NULL;
  enum tfprof_status status = TFPROF_OK;
  if (strings->lengths.encoding < DUMP_ENCODING_COUNT) status = read_stored(cursor, &strings->lengths, error);
  if (status) return status;
  status =
      column_decode(&cursor->decoder, &strings->lengths, cursor->stored, strings->count, batch->lengths, NULL, &wrong);
  if (status) return tell(cursor, &strings->lengths, 0, status, wrong, error);
  uint64_t total = 0;
  for (uint32_t i = 0; i < strings->count; i++) {
    if (batch->lengths[i] < 0 || (uint64_t)batch->lengths[i] > strings->bytes.raw_bytes - total) {
      return tell(cursor, &strings->lengths, 0, TFPROF_CORRUPT, "the texts are longer than their bytes", error);
    }
    total += (uint64_t)batch->lengths[i];
  }
  if (strings->bytes.encoding < DUMP_ENCODING_COUNT) status = read_stored(cursor, &strings->bytes, error);
  if (status) return status;
  status = column_decode_bytes(&cursor->decoder, &strings->bytes, cursor->stored, bytes, &wrong);
  if (status) return tell(cursor, &strings->bytes, 0, status, wrong, error);
  if (total == strings->bytes.raw_bytes) return TFPROF_OK;
  return tell(cursor, &strings->bytes, 0, TFPROF_CORRUPT, "the texts are shorter than their bytes", error);
}

/* Passes on the ids from state->next_given up to `stop`: texts from bytes, or NULL when there are none. */
static enum tfprof_status give(struct dump_reader_private *state, uint32_t stop, const struct reader_strings *strings,
                               const struct string_batch *batch, const uint8_t *bytes, dump_string_callback add,
                               void *context) {
  if (bytes) { /* the callback may have stopped within this frame */
    for (uint32_t id = strings->first_id; id < state->next_given; id++) bytes += batch->lengths[id - strings->first_id];
  }
  while (state->next_given < stop) {
    uint32_t length = bytes ? (uint32_t)batch->lengths[state->next_given - strings->first_id] : 0;
    enum tfprof_status status = add(context, state->next_given, (const char *)bytes, length);
    if (status) return status;
    if (bytes) bytes += length;
    state->next_given++;
  }
  return TFPROF_OK;
}

static enum tfprof_status give_frame(struct dump_file *file, struct dump_cursor *cursor, struct string_batch *batch,
                                     dump_string_callback add, void *context, struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  const struct reader_strings *strings = &state->strings[state->strings_given];
  const uint8_t *bytes = NULL;
  struct tfprof_error reason;
  enum tfprof_status status = give(state, strings->first_id, NULL, NULL, NULL, add, context);
  if (status) return status;
  uint64_t text_bytes = strings->bytes.raw_bytes + (uint64_t)DUMP_TEXT_BYTES * strings->count;
  if (state->string_bytes_given + text_bytes > dump_texts_of_bytes(file->file_bytes)) {
    status = error_set(&reason, TFPROF_CORRUPT, "the texts are too many for a file of this size");
  } else {
    status = read_strings(cursor, strings, batch, &bytes, &reason);
  }
  if (status == TFPROF_NO_MEMORY || status == TFPROF_IO) {
    if (error) *error = reason;
    return status;
  }
  if (status) {
    const char *why = strstr(reason.message, ": "); /* what stands before names a block, which says nothing here */
    bytes = NULL;
    reader_problem(file, "error", "damaged_strings", 0, strings->count, strings->lengths.offset,
                   "%" PRIu32 " texts show as NULL where they cannot be read: %.160s", strings->count,
                   why ? why + 2 : reason.message);
  }
  status = give(state, strings->first_id + strings->count, strings, batch, bytes, add, context);
  if (status) return status;
  state->string_bytes_given += text_bytes;
  state->strings_given++;
  return TFPROF_OK;
}

enum tfprof_status dump_file_strings(struct dump_file *file, dump_string_callback add, void *context,
                                     struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  struct dump_cursor *cursor;
  if (state->strings_given == state->string_frames) return TFPROF_OK;
  struct string_batch *batch = malloc(sizeof *batch);
  if (!batch) return error_no_memory(error);
  enum tfprof_status status = dump_cursor_open(file, &cursor, error);
  while (!status && state->strings_given < state->string_frames) {
    status = give_frame(file, cursor, batch, add, context, error);
  }
  if (cursor) dump_cursor_close(cursor);
  free(batch);
  return status;
}
