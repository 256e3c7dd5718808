/* kept_dump.c: see kept_dump.h. */
#include "kept_dump.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "dump/format.h"
#include "library/recorder/dump_ids.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10, TRIGGER_COLUMNS = 13 };

/* The frames of an area, one after the other. */
struct stream {
  uint64_t offset, end; /* of the next frame; where they end at the latest */
  struct dump_frame_header next;
  bool has_next;
};

struct copy {
  int from, to;
  uint32_t salt;
  uint64_t written, frames, rows, texts, sequence, next_text;
  uint64_t trigger_rows; /* that are there already */
  int reason;            /* errno; 0: all is well */
  uint8_t piece[PIECE_BYTES];
};

void kept_extent_whole(struct kept_extent *extent) { memset(extent, 0xff, sizeof *extent); }

/* ---- Reading. */

static bool read_all(int file, void *bytes, size_t length, uint64_t offset) {
  uint8_t *at = bytes;
  while (length) {
    ssize_t got = pread(file, at, length, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += (uint64_t)got;
    length -= (size_t)got;
  }
  return true;
}

/* Whether header and head are those of a frame of this dump. */
static bool is_frame(struct copy *copy, const uint8_t *bytes, const struct dump_frame_header *header, uint64_t offset) {
  uint32_t sum = checksum_crc32(copy->salt, bytes, DUMP_FRAME_CHECKED_BYTES);
  for (uint32_t done = 0; done < header->head_length;) {
    uint32_t length = header->head_length - done < PIECE_BYTES ? header->head_length - done : PIECE_BYTES;
    if (!read_all(copy->from, copy->piece, length, offset + DUMP_FRAME_HEADER_BYTES + done)) return false;
    sum = checksum_crc32(sum, copy->piece, length);
    done += length;
  }
  return sum == header->crc32;
}

static void look_at_next(struct copy *copy, struct stream *stream) {
  uint8_t bytes[DUMP_FRAME_HEADER_BYTES];
  stream->has_next = stream->offset + sizeof bytes <= stream->end &&
                     read_all(copy->from, bytes, sizeof bytes, stream->offset) && dump_frame_header_is_plausible(bytes);
  if (!stream->has_next) return;
  dump_frame_header_read(bytes, &stream->next);
  stream->has_next = stream->offset + dump_frame_span(&stream->next) <= stream->end &&
                     is_frame(copy, bytes, &stream->next, stream->offset);
}

static void open_stream(struct copy *copy, struct stream *stream, uint64_t offset, uint64_t span, uint64_t length) {
  *stream = (struct stream){.offset = offset, .end = offset + (length < span ? length : span)};
  look_at_next(copy, stream);
}

/* ---- Writing. */

static void put_all(struct copy *copy, const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  while (length && !copy->reason) {
    ssize_t done = write(copy->to, at, length);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) copy->reason = done ? errno : ENOSPC;
    if (done <= 0) return;
    at += done;
    length -= (size_t)done;
    copy->written += (uint64_t)done;
  }
}

static void count_frame(struct copy *copy, const struct dump_frame_header *header) {
  copy->frames++;
  copy->sequence = header->sequence + 1;
  if (header->type == DUMP_TYPE_ROWS) copy->rows += header->row_count;
  if (header->type == DUMP_TYPE_STRINGS) {
    copy->texts += header->row_count;
    copy->next_text = header->first_row + header->row_count;
  }
  if (header->type == DUMP_TYPE_ROWS && header->table == DUMP_TABLE_triggers)
    copy->trigger_rows = header->first_row + header->row_count;
}

static void copy_frame(struct copy *copy, struct stream *stream) {
  uint64_t span = dump_frame_span(&stream->next);
  for (uint64_t done = 0; done < span && !copy->reason;) {
    size_t length = span - done < PIECE_BYTES ? (size_t)(span - done) : PIECE_BYTES;
    /* What cannot be read any more reads as zeros, which the checksums of the blocks tell. */
    if (!read_all(copy->from, copy->piece, length, stream->offset + done)) memset(copy->piece, 0, length);
    put_all(copy, copy->piece, length);
    done += length;
  }
  if (!copy->reason) count_frame(copy, &stream->next);
  stream->offset += span;
  look_at_next(copy, stream);
}

/* Each time the frame that was made first; none twice. */
static void copy_frames(struct copy *copy, struct stream *streams, unsigned count) {
  while (!copy->reason) {
    struct stream *first = NULL;
    for (unsigned i = 0; i < count; i++) {
      struct stream *stream = &streams[i];
      if (stream->has_next && (!first || stream->next.sequence < first->next.sequence)) first = stream;
    }
    if (!first) return;
    if (first->next.sequence < copy->sequence) first->has_next = false; /* no area of ours begins anew */
    else copy_frame(copy, first);
  }
}

/* A frame of its own; `body` may be empty. */
static void put_frame(struct copy *copy, struct dump_frame_header *header, const uint8_t *head, size_t head_length,
                      const void *body, size_t body_length) {
  static const uint8_t zeros[DUMP_FRAME_ALIGNMENT];
  uint8_t bytes[DUMP_FRAME_HEADER_BYTES];
  header->sequence = copy->sequence;
  header->head_length = (uint32_t)head_length;
  header->body_length = (uint32_t)body_length;
  dump_frame_header_write(bytes, header, head, copy->salt);
  put_all(copy, bytes, sizeof bytes);
  put_all(copy, head, head_length);
  put_all(copy, body, body_length);
  put_all(copy, zeros, (size_t)(dump_frame_span(header) - sizeof bytes - head_length - body_length));
  if (!copy->reason) count_frame(copy, header);
}

/* Its number. */
static int64_t put_trigger_text(struct copy *copy, const char *text) {
  size_t length = strlen(text);
  uint8_t head[2 * DUMP_DIRECTORY_ENTRY_BYTES + 10];
  int64_t number = (int64_t)copy->next_text;
  const struct dump_block blocks[] = {
      {.dump_id = DUMP_STRING_LENGTHS,
       .encoding = DUMP_CONSTANT,
       .minimum = (int64_t)length,
       .maximum = (int64_t)length},
      {.dump_id = DUMP_STRING_BYTES,
       .encoding = DUMP_BYTES,
       .raw_bytes = (uint32_t)length,
       .stored_bytes = (uint32_t)length,
       .crc32 = checksum_crc32(0, text, length)}};
  struct dump_frame_header header = {.type = DUMP_TYPE_STRINGS, .first_row = copy->next_text, .row_count = 1};
  put_frame(copy, &header, head, dump_directory_write(head, blocks, 2), text, length);
  return number;
}

static void put_trigger(struct copy *copy, const struct kept_trigger *trigger) {
  bool has_message = trigger->message[0] != 0;
  const char *kind = trigger->asked_by_kind;
  const struct {
    uint16_t dump_id;
    bool is_known;
    int64_t value;
  } columns[TRIGGER_COLUMNS] = {
      {DUMP_triggers_kind, true, put_trigger_text(copy, trigger->kind)},
      {DUMP_triggers_message, has_message, has_message ? put_trigger_text(copy, trigger->message) : 0},
      {DUMP_triggers_time_ns, true, trigger->time_ns},
      {DUMP_triggers_kept_from_ns, trigger->kept_from_ns != 0, trigger->kept_from_ns},
      {DUMP_triggers_keep_ns, true, trigger->keep_ns},
      {DUMP_triggers_step_number, trigger->step_plus_one != 0, trigger->step_plus_one - 1},
      {DUMP_triggers_step_ns, trigger->dur_ns != 0, trigger->dur_ns},
      {DUMP_triggers_usual_ns, trigger->usual_ns != 0, trigger->usual_ns},
      {DUMP_triggers_kept_to_ns, trigger->kept_to_ns != 0, trigger->kept_to_ns},
      {DUMP_triggers_asked_by_kind, kind != NULL, kind ? put_trigger_text(copy, kind) : 0},
      {DUMP_triggers_asked_by_process, trigger->asked_by_process != 0, trigger->asked_by_process},
      {DUMP_triggers_asked_by_rank, trigger->asked_by_rank_plus_one != 0, trigger->asked_by_rank_plus_one - 1},
      {DUMP_triggers_asked_processes, trigger->asked_processes_plus_one != 0, trigger->asked_processes_plus_one - 1},
  };
  struct dump_block blocks[TRIGGER_COLUMNS];
  uint8_t head[TRIGGER_COLUMNS * DUMP_DIRECTORY_ENTRY_BYTES + 10];
  unsigned count = 0;
  for (unsigned i = 0; i < TRIGGER_COLUMNS; i++)
    if (columns[i].is_known)
      blocks[count++] = (struct dump_block){.dump_id = columns[i].dump_id,
                                            .encoding = DUMP_CONSTANT,
                                            .minimum = columns[i].value,
                                            .maximum = columns[i].value};
  struct dump_frame_header header = {
      .type = DUMP_TYPE_ROWS, .table = DUMP_TABLE_triggers, .first_row = copy->trigger_rows, .row_count = 1};
  put_frame(copy, &header, head, dump_directory_write(head, blocks, count), NULL, 0);
}

static void put_trailer(struct copy *copy) {
  struct dump_frame_header header = {.type = DUMP_TYPE_TRAILER};
  uint8_t head[DUMP_TRAILER_HEAD_BYTES];
  const struct dump_trailer trailer = {.frame_count = copy->frames + 1,
                                       .row_count = copy->rows,
                                       .string_count = copy->texts,
                                       .file_bytes = copy->written + DUMP_TRAILER_BYTES};
  dump_trailer_write(head, &trailer);
  put_frame(copy, &header, head, sizeof head, NULL, 0);
}

int kept_dump_write(int from, const struct kept_head *head, const struct kept_extent *extent,
                    const struct kept_trigger *triggers, unsigned count, int to, uint64_t *rows) {
  static struct copy copy; /* of one thread at a time; a stack may be small */
  struct stream streams[KEPT_SLOTS + 1];
  struct dump_file_header header;
  uint8_t bytes[DUMP_FILE_HEADER_BYTES];
  copy.from = from;
  copy.to = to;
  copy.written = copy.frames = copy.rows = copy.texts = copy.sequence = copy.trigger_rows = 0;
  copy.next_text = 1;
  copy.reason = 0;
  *rows = 0;
  if (!read_all(from, bytes, sizeof bytes, kept_lasting_offset()) || memcmp(bytes, DUMP_MAGIC, 8) != 0 ||
      !dump_file_header_read(bytes, &header))
    return EILSEQ;
  copy.salt = header.crc32;
  put_all(&copy, bytes, sizeof bytes);
  uint64_t lasting = extent->lasting > sizeof bytes ? extent->lasting - sizeof bytes : 0;
  open_stream(&copy, &streams[0], kept_lasting_offset() + sizeof bytes, head->span - sizeof bytes, lasting);
  for (unsigned i = 0; i < KEPT_SLOTS; i++)
    open_stream(&copy, &streams[i + 1], kept_slot_offset(head, i), head->span, extent->slots[i]);
  if (!streams[0].has_next) return EILSEQ;
  copy_frames(&copy, streams, KEPT_SLOTS + 1);
  for (unsigned i = 0; i < count; i++) put_trigger(&copy, &triggers[i]);
  put_trailer(&copy);
  *rows = copy.rows;
  return copy.reason;
}
