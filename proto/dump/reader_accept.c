/* reader_accept.c: takes one frame, already proven by its checksum or by that of the index, into struct dump_file.
**
** A right checksum says that the bytes are those that some writer wrote, not that the writer was ours or meant well:
** here everything is checked that later code relies on.  Row numbers of a table and string ids ascend without overlap;
** what lies between is lost and said to be so.
*/
#include "base/bytes.h"
#include "base/list.h"
#include "dump/reader_private.h"

#include <stdlib.h>

enum { CHUNK_BLOCKS = 1024 };

static struct dump_block *allocate_blocks(struct dump_reader_private *state, size_t count) {
  struct reader_chunk *chunk = state->chunks;
  if (!chunk || chunk->capacity - chunk->used < count) {
    size_t capacity = count > CHUNK_BLOCKS ? count : CHUNK_BLOCKS;
    /* A small file has few blocks; most dumps of a thousand ranks are small. */
    if (!chunk && capacity > count * 8 + 8) capacity = count * 8 + 8;
    chunk = malloc(sizeof *chunk + capacity * sizeof *chunk->blocks);
    if (!chunk) return NULL;
    chunk->before = state->chunks;
    chunk->used = 0;
    chunk->capacity = capacity;
    state->chunks = chunk;
  }
  struct dump_block *blocks = chunk->blocks + chunk->used;
  chunk->used += count;
  return blocks;
}

static uint64_t body_offset(const struct dump_frame_header *header, uint64_t offset) {
  return offset + DUMP_FRAME_HEADER_BYTES + header->head_length;
}

static enum tfprof_status accept_rows(struct dump_file *file, const struct dump_frame_header *header, uint64_t offset,
                                      const uint8_t *head, const char **refusal, struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  struct reader_table *table = reader_table_of(file, header->table);
  if (!table) return error_no_memory(error);
  if (header->table == 0 || header->row_count == 0 || header->row_count > DUMP_MAXIMUM_FRAME_ROWS) {
    *refusal = "its row count or table is impossible";
    return TFPROF_OK;
  }
  if (header->first_row < table->next_row) {
    *refusal = "its rows overlap earlier ones";
    return TFPROF_OK;
  }
  uint64_t lost = header->first_row - table->next_row;
  if (file->is_last_part && !table->next_row) lost = 0;
  if (lost > DUMP_MAXIMUM_ROW_JUMP || header->first_row > DUMP_MAXIMUM_ROW - header->row_count) {
    *refusal = "its row numbers are out of reach";
    return TFPROF_OK;
  }
  if (state->row_count + header->row_count > dump_rows_of_bytes(offset + dump_frame_span(header))) {
    *refusal = "it has more rows than its bytes allow";
    return TFPROF_OK;
  }
  int count = dump_directory_count(head, header->head_length);
  if (count < 0) {
    *refusal = "its directory has an impossible length";
    return TFPROF_OK;
  }
  if (!array_room(file->frames, file->frame_count, state->frame_capacity)) {
    return error_no_memory(error);
  }
  struct dump_block *blocks = allocate_blocks(state, (size_t)count);
  if (!blocks) return error_no_memory(error);
  *refusal = dump_directory_read(head, header->head_length, header->row_count, body_offset(header, offset),
                                 header->body_length, blocks, (unsigned)count);
  if (*refusal) {
    state->chunks->used -= (size_t)count;
    return TFPROF_OK;
  }
  if (lost) {
    reader_problem(file, "warning", "lost_rows", header->table, lost, offset, "rows before row %llu are missing: %llu",
                   (unsigned long long)header->first_row, (unsigned long long)lost);
  }
  for (int i = 0; i < count; i++) {
    if (blocks[i].encoding < DUMP_BYTES) continue;
    reader_problem(file, "warning", "unknown_encoding", header->table, header->row_count, offset,
                   "column %u is stored in a way that only a later version knows; update tfprof to read it",
                   blocks[i].dump_id);
  }
  file->frames[file->frame_count++] = (struct dump_frame){.offset = offset,
                                                          .first_row = header->first_row,
                                                          .rows = header->row_count,
                                                          .table_dump_id = header->table,
                                                          .block_count = (uint16_t)count,
                                                          .blocks = blocks};
  table->next_row = header->first_row + header->row_count;
  state->row_count += header->row_count;
  return TFPROF_OK;
}

static const char *read_string_directory(const struct dump_frame_header *header, uint64_t offset, const uint8_t *head,
                                         struct reader_strings *strings) {
  struct dump_block blocks[DUMP_MAXIMUM_COLUMNS];
  int count = dump_directory_count(head, header->head_length);
  if (count < 0) return "its directory has an impossible length";
  const char *wrong = dump_directory_read(head, header->head_length, header->row_count, body_offset(header, offset),
                                          header->body_length, blocks, (unsigned)count);
  if (wrong) return wrong;
  bool has_lengths = false, has_bytes = false;
  for (int i = 0; i < count; i++) {
    if (blocks[i].dump_id == DUMP_STRING_LENGTHS) {
      strings->lengths = blocks[i];
      has_lengths = true;
    } else if (blocks[i].dump_id == DUMP_STRING_BYTES) {
      strings->bytes = blocks[i];
      has_bytes = true;
    }
  }
  if (!has_lengths || !has_bytes || strings->lengths.has_nulls) return "it lacks lengths or bytes";
  /* Texts are distinct: one may be empty, the others have at least a byte each.  So memory for them cannot be had for
  ** nothing. */
  if (strings->bytes.raw_bytes < header->row_count - 1) return "it has more strings than bytes";
  return NULL;
}

static enum tfprof_status accept_strings(struct dump_file *file, const struct dump_frame_header *header,
                                         uint64_t offset, const uint8_t *head, const char **refusal,
                                         struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  struct reader_strings strings = {.first_id = (uint32_t)header->first_row, .count = header->row_count};
  if (header->row_count == 0 || header->row_count > DUMP_MAXIMUM_FRAME_ROWS || header->first_row == 0 ||
      header->first_row > DUMP_MAXIMUM_STRINGS || header->row_count > DUMP_MAXIMUM_STRINGS + 1 - header->first_row) {
    *refusal = "its strings have impossible ids";
    return TFPROF_OK;
  }
  if (strings.first_id < state->next_string) {
    *refusal = "its strings overlap earlier ones";
    return TFPROF_OK;
  }
  *refusal = read_string_directory(header, offset, head, &strings);
  if (*refusal) return TFPROF_OK;
  if (!array_room(state->strings, state->string_frames, state->string_capacity)) {
    return error_no_memory(error);
  }
  if (strings.first_id > state->next_string) {
    reader_problem(file, "warning", "lost_strings", 0, strings.first_id - state->next_string, offset,
                   "%u texts are missing; they show as NULL", strings.first_id - state->next_string);
  }
  state->strings[state->string_frames++] = strings;
  state->next_string = strings.first_id + strings.count;
  state->string_count += strings.count;
  return TFPROF_OK;
}

static enum tfprof_status accept_clock(struct dump_file *file, const struct dump_frame_header *header,
                                       const uint8_t *head, const char **refusal, struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  const uint8_t *at = head, *end = head + header->head_length;
  uint64_t values[4];
  for (unsigned i = 0; i < 4; i++) {
    at = varint_read(at, end, &values[i]);
    if (!at) {
      *refusal = "its clock reading is cut off";
      return TFPROF_OK;
    }
  }
  if (!array_room(file->clocks, file->clock_count, state->clock_capacity)) {
    return error_no_memory(error);
  }
  file->clocks[file->clock_count++] =
      (struct dump_clock){.monotonic_ns = unzigzag(values[0]),
                          .realtime_ns = unzigzag(values[1]),
                          .device_ns = unzigzag(values[2]),
                          .uncertainty_ns = values[3] > UINT32_MAX ? UINT32_MAX : (uint32_t)values[3]};
  return TFPROF_OK;
}

static enum tfprof_status accept_dropped(struct dump_file *file, const struct dump_frame_header *header,
                                         uint64_t offset, const uint8_t *head, const char **refusal,
                                         struct tfprof_error *error) {
  struct reader_table *table = reader_table_of(file, header->table);
  uint64_t dropped;
  if (!table) return error_no_memory(error);
  if (!varint_read(head, head + header->head_length, &dropped)) {
    *refusal = "its count is cut off";
    return TFPROF_OK;
  }
  if (!dropped) return TFPROF_OK;
  if (!table->dropped_problem) {
    int problem = reader_problem(file, "warning", "dropped_rows", header->table, dropped, offset,
                                 "rows were lost before they reached the file; a row capture_dropped says why");
    table->dropped_problem = (uint32_t)(problem + 1);
  } else { /* the count is cumulative */
    file->problems[table->dropped_problem - 1].count = dropped;
    file->problems[table->dropped_problem - 1].offset = offset;
  }
  return TFPROF_OK;
}

enum tfprof_status reader_accept(struct dump_file *file, const struct dump_frame_header *header, uint64_t offset,
                                 const uint8_t *head, const char **refusal, struct tfprof_error *error) {
  *refusal = NULL;
  switch (header->type) {
    case DUMP_TYPE_PROFILE: {
      enum tfprof_status status = dump_profile_merge(&file->profile, head, header->head_length, error);
      if (status == TFPROF_NO_MEMORY) return status;
      if (status) *refusal = "its profile message cannot be decoded";
      return TFPROF_OK;
    }
    case DUMP_TYPE_STRINGS: return accept_strings(file, header, offset, head, refusal, error);
    case DUMP_TYPE_ROWS: return accept_rows(file, header, offset, head, refusal, error);
    case DUMP_TYPE_CLOCK: return accept_clock(file, header, head, refusal, error);
    case DUMP_TYPE_DROPPED: return accept_dropped(file, header, offset, head, refusal, error);
    case DUMP_TYPE_INDEX:
    case DUMP_TYPE_TRAILER: return TFPROF_OK; /* their readers are elsewhere */
  }
  if (!(header->type & DUMP_TYPE_MAY_SKIP)) {
    reader_problem(file, "warning", "unknown_frame", header->table, 1, offset,
                   "a frame of type %u is known to later versions only; update tfprof to read it", header->type);
  }
  return TFPROF_OK;
}
