/* reader_index.c: opens a file that was closed in order by its index alone.
**
** The trailer, the last 80 bytes, names the last INDEX frame; each INDEX frame names the one before.  An entry copies
** the header and the head of a frame, so nothing else of the file is touched.  Whatever does not fit together exactly
** makes the whole index worthless, and the file is scanned instead: the index can make opening faster, never make it
** show something else.
*/
#include "base/bytes.h"
#include "base/list.h"
#include "dump/reader_private.h"

#include <stdlib.h>

struct index_piece {
  uint64_t offset; /* of the INDEX frame */
  struct dump_block block;
};

struct index_reader {
  struct dump_file *file;
  struct reader_window *window;
  struct index_piece *pieces; /* last one first */
  size_t piece_count, piece_capacity;
  uint8_t *stored;
  struct column_decoder decoder;
  uint64_t end; /* of the last frame taken in */
};

/* Reads and proves the frame at `offset`; *is_right tells. The head is valid until the window is used again. */
static enum tfprof_status read_frame(struct index_reader *reader, uint64_t offset, uint16_t type,
                                     struct dump_frame_header *header, const uint8_t **head, bool *is_right,
                                     struct tfprof_error *error) {
  const uint8_t *bytes;
  struct reader_window *window = reader->window;
  *is_right = false;
  enum tfprof_status status = reader_window_get(window, offset, DUMP_FRAME_HEADER_BYTES, &bytes, error);
  if (status || !bytes || !dump_frame_header_is_plausible(bytes)) return status;
  dump_frame_header_read(bytes, header);
  size_t length = (size_t)DUMP_FRAME_HEADER_BYTES + header->head_length;
  status = reader_window_get(window, offset, length, &bytes, error);
  if (status || !bytes) return status;
  *head = bytes + DUMP_FRAME_HEADER_BYTES;
  *is_right = header->type == type && header->body_length <= window->size - offset - length &&
              dump_frame_checksum_is_right(bytes, header, *head, reader->file->private_state->salt);
  return TFPROF_OK;
}

/* Finds the block of entries; a later version may add others. */
static bool read_directory(const uint8_t *at, size_t length, const struct dump_frame_header *header, uint64_t offset,
                           struct dump_block *entries) {
  struct dump_block blocks[DUMP_MAXIMUM_COLUMNS];
  int count = dump_directory_count(at, length);
  if (count < 0 || dump_directory_read(at, length, 0, offset + DUMP_FRAME_HEADER_BYTES + header->head_length,
                                       header->body_length, blocks, (unsigned)count)) {
    return false;
  }
  for (int i = 0; i < count; i++) {
    if (blocks[i].dump_id != DUMP_INDEX_ENTRIES) continue;
    *entries = blocks[i];
    return true;
  }
  return false;
}

/* Follows the chain from the last INDEX frame to the first. */
static enum tfprof_status read_chain(struct index_reader *reader, uint64_t offset, bool *is_right,
                                     struct tfprof_error *error) {
  uint64_t limit = reader->window->size, raw_bytes = 0; /* each piece lies before the one that names it */
  while (offset) {
    struct dump_frame_header header;
    const uint8_t *head;
    uint64_t before;
    enum tfprof_status status;
    *is_right = false;
    if (offset % DUMP_FRAME_ALIGNMENT || offset >= limit) return TFPROF_OK;
    status = read_frame(reader, offset, DUMP_TYPE_INDEX, &header, &head, is_right, error);
    if (status || !*is_right) return status;
    *is_right = false;
    const uint8_t *end = head + header.head_length, *at = varint_read(head, end, &before);
    if (!at || before > UINT64_MAX / DUMP_FRAME_ALIGNMENT) return TFPROF_OK;
    if (!array_room(reader->pieces, reader->piece_count, reader->piece_capacity)) {
      return error_no_memory(error);
    }
    struct index_piece *piece = &reader->pieces[reader->piece_count];
    piece->offset = offset;
    if (!read_directory(at, (size_t)(end - at), &header, offset, &piece->block)) return TFPROF_OK;
    /* An entry is shorter than the frame that it stands for. */
    raw_bytes += piece->block.raw_bytes;
    if (raw_bytes > reader->window->size) return TFPROF_OK;
    reader->piece_count++;
    limit = offset;
    offset = before * DUMP_FRAME_ALIGNMENT;
    *is_right = true;
  }
  return TFPROF_OK;
}

/* Takes in the frames that one piece lists; they must lie before the piece itself. */
static enum tfprof_status take_entries(struct index_reader *reader, const uint8_t *at, const uint8_t *end,
                                       uint64_t piece_offset, bool *is_right, struct tfprof_error *error) {
  struct dump_reader_private *state = reader->file->private_state;
  uint64_t offset = 0, sequence = 0;
  *is_right = false;
  while (at < end) {
    uint64_t type, table, sequence_gap, gap, first_row, rows, head_length, body_length;
    struct dump_frame_header header;
    const char *refusal;
    if (!(at = varint_read(at, end, &type)) || !(at = varint_read(at, end, &table)) ||
        !(at = varint_read(at, end, &sequence_gap)) || !(at = varint_read(at, end, &gap)) ||
        !(at = varint_read(at, end, &first_row)) || !(at = varint_read(at, end, &rows)) ||
        !(at = varint_read(at, end, &head_length)) || !(at = varint_read(at, end, &body_length)) || type > UINT16_MAX ||
        table > UINT16_MAX || rows > UINT32_MAX || head_length > DUMP_MAXIMUM_HEAD_BYTES ||
        head_length > (size_t)(end - at) || body_length > UINT32_MAX || gap > piece_offset / DUMP_FRAME_ALIGNMENT) {
      return TFPROF_OK;
    }
    sequence += sequence_gap;
    offset += gap * DUMP_FRAME_ALIGNMENT;
    header = (struct dump_frame_header){.type = (uint16_t)type,
                                        .table = (uint16_t)table,
                                        .sequence = sequence,
                                        .first_row = first_row,
                                        .row_count = (uint32_t)rows,
                                        .head_length = (uint32_t)head_length,
                                        .body_length = (uint32_t)body_length};
    if (offset < reader->end || offset > piece_offset || dump_frame_span(&header) > piece_offset - offset ||
        sequence < state->next_sequence) {
      return TFPROF_OK;
    }
    enum tfprof_status status = reader_accept(reader->file, &header, offset, at, &refusal, error);
    if (status || refusal) return status;
    at += head_length;
    offset += dump_frame_span(&header);
    reader->end = offset;
    state->next_sequence = sequence + 1;
  }
  *is_right = true;
  return TFPROF_OK;
}

static enum tfprof_status take_piece(struct index_reader *reader, const struct index_piece *piece, bool *is_right,
                                     struct tfprof_error *error) {
  const uint8_t *bytes;
  const char *wrong;
  *is_right = false;
  free(reader->stored);
  reader->stored = malloc((size_t)piece->block.stored_bytes + 1);
  if (!reader->stored) return error_no_memory(error);
  enum tfprof_status status = reader_read(reader->window->fd, reader->window->path, piece->block.offset,
                                          piece->block.stored_bytes, reader->stored, error);
  if (status) return status == TFPROF_CORRUPT || status == TFPROF_IO ? TFPROF_OK : status;
  status = column_decode_bytes(&reader->decoder, &piece->block, reader->stored, &bytes, &wrong);
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  if (status) return TFPROF_OK;
  status = take_entries(reader, bytes, bytes + piece->block.raw_bytes, piece->offset, is_right, error);
  if (*is_right && piece->offset < reader->end) *is_right = false;
  return status;
}

static enum tfprof_status take_all(struct index_reader *reader, bool *is_right, struct tfprof_error *error) {
  struct dump_reader_private *state = reader->file->private_state;
  struct dump_frame_header header;
  struct dump_trailer trailer;
  const uint8_t *head;
  uint64_t offset = reader->window->size - DUMP_TRAILER_BYTES;
  enum tfprof_status status = read_frame(reader, offset, DUMP_TYPE_TRAILER, &header, &head, is_right, error);
  if (status || !*is_right) return status;
  *is_right = false;
  if (header.head_length != DUMP_TRAILER_HEAD_BYTES) return TFPROF_OK;
  dump_trailer_read(head, &trailer);
  if (trailer.file_bytes != reader->window->size || trailer.index_offset == 0) return TFPROF_OK;
  status = read_chain(reader, trailer.index_offset, is_right, error);
  for (size_t i = reader->piece_count; !status && *is_right && i-- > 0;) {
    status = take_piece(reader, &reader->pieces[i], is_right, error);
  }
  if (status || !*is_right) return status;
  *is_right = header.sequence + 1 == trailer.frame_count && header.sequence >= state->next_sequence &&
              trailer.row_count == state->row_count && trailer.string_count == state->string_count;
  state->next_sequence = trailer.frame_count;
  return TFPROF_OK;
}

enum tfprof_status reader_read_index(struct dump_file *file, struct reader_window *window, bool *is_done,
                                     struct tfprof_error *error) {
  struct index_reader reader = {.file = file, .window = window, .end = file->scanned_bytes};
  size_t problems = file->problem_count;
  *is_done = false;
  if (window->size % DUMP_FRAME_ALIGNMENT || window->size < DUMP_FILE_HEADER_BYTES + DUMP_TRAILER_BYTES)
    return TFPROF_OK;
  enum tfprof_status status = take_all(&reader, is_done, error);
  free(reader.pieces);
  free(reader.stored);
  column_decoder_clear(&reader.decoder);
  if (status) return status;
  if (!*is_done) {
    reader_forget_frames(file, problems);
    return TFPROF_OK;
  }
  file->is_closed = true;
  file->scanned_bytes = file->private_state->settled_end = window->size;
  return TFPROF_OK;
}
