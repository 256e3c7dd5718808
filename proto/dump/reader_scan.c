/* reader_scan.c: finds frames by walking from header to header.
**
** Where there should be a frame and is none, the search goes on at steps of 8 bytes for one that proves itself.  What
** was skipped is told when the next good frame is found; when none is, it is the tail: perhaps torn by a kill, perhaps
** still being written, so nothing is decided and a refresh looks again.
**
** The whole is linear in the size of the file: a false frame found while searching costs a checksum over at most 1 MB,
** and the sum of these is bounded by a budget.
*/
#include "dump/reader_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_BYTES = 8 << 10, SEARCH_WINDOW_BYTES = 256 << 10 };

#define SEARCH_BUDGET(file_bytes) ((file_bytes)*2 + (16u << 20)) /* bytes spent on checksums that were wrong */

void reader_window_clear(struct reader_window *window) {
  free(window->buffer);
  window->buffer = NULL;
  window->length = window->capacity = 0;
}

static enum tfprof_status window_fill(struct reader_window *window, uint64_t offset, size_t wanted,
                                      struct tfprof_error *error) {
  if (wanted > window->capacity) {
    uint8_t *grown = malloc(wanted);
    if (!grown) return error_no_memory(error);
    free(window->buffer);
    window->buffer = grown;
    window->capacity = wanted;
  }
  window->offset = offset;
  window->length = 0;
  while (window->length < wanted) {
    ssize_t count =
        pread(window->fd, window->buffer + window->length, wanted - window->length, (off_t)(offset + window->length));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error_io(error, window->path, "cannot read");
    if (count == 0) break; /* it became shorter meanwhile */
    window->length += (size_t)count;
  }
  return TFPROF_OK;
}

/* Reads ahead by at least `ahead` bytes when it has to read at all. */
static enum tfprof_status window_get(struct reader_window *window, uint64_t offset, size_t length, size_t ahead,
                                     const uint8_t **bytes, struct tfprof_error *error) {
  *bytes = NULL;
  if (offset > window->size || length > window->size - offset) return TFPROF_OK;
  if (offset < window->offset || offset - window->offset > window->length ||
      length > window->length - (offset - window->offset)) {
    size_t wanted = length > ahead ? length : ahead;
    if (wanted > window->size - offset) wanted = (size_t)(window->size - offset);
    enum tfprof_status status = window_fill(window, offset, wanted, error);
    if (status || window->length < length) return status;
  }
  *bytes = window->buffer + (offset - window->offset);
  return TFPROF_OK;
}

enum tfprof_status reader_window_get(struct reader_window *window, uint64_t offset, size_t length,
                                     const uint8_t **bytes, struct tfprof_error *error) {
  return window_get(window, offset, length, WINDOW_BYTES, bytes, error);
}

enum verdict {
  FRAME_WHOLE,
  FRAME_TORN, /* header and head are right, the body is not all there */
  FRAME_WRONG
};

struct candidate {
  struct dump_frame_header header;
  const uint8_t *head;
  size_t cost; /* bytes whose checksum was computed */
};

static enum tfprof_status judge(const struct dump_file *file, struct reader_window *window, uint64_t offset,
                                struct candidate *candidate, enum verdict *verdict, struct tfprof_error *error) {
  const uint8_t *bytes;
  *verdict = FRAME_WRONG;
  candidate->cost = 0;
  enum tfprof_status status = reader_window_get(window, offset, DUMP_FRAME_HEADER_BYTES, &bytes, error);
  if (status || !bytes || !dump_frame_header_is_plausible(bytes)) return status;
  dump_frame_header_read(bytes, &candidate->header);
  size_t length = (size_t)DUMP_FRAME_HEADER_BYTES + candidate->header.head_length;
  status = reader_window_get(window, offset, length, &bytes, error);
  if (status || !bytes) return status;
  candidate->cost = length;
  candidate->head = bytes + DUMP_FRAME_HEADER_BYTES;
  if (!dump_frame_checksum_is_right(bytes, &candidate->header, candidate->head, file->private_state->salt))
    return TFPROF_OK;
  *verdict = candidate->header.body_length > window->size - offset - length ? FRAME_TORN : FRAME_WHOLE;
  return TFPROF_OK;
}

/* The offset of the next magic at or after `offset` (a multiple of 8), or the end of the file. */
static enum tfprof_status find_magic(struct reader_window *window, uint64_t *offset, struct tfprof_error *error) {
  static const uint8_t magic[4] = {0xf5, 0x54, 0x50, 0x9a};
  while (*offset + DUMP_FRAME_HEADER_BYTES <= window->size) {
    const uint8_t *bytes;
    enum tfprof_status status =
        window_get(window, *offset, DUMP_FRAME_HEADER_BYTES, SEARCH_WINDOW_BYTES, &bytes, error);
    if (status) return status;
    if (!bytes) break;
    size_t length = window->length - (size_t)(*offset - window->offset);
    for (size_t i = 0; i + DUMP_FRAME_HEADER_BYTES <= length; i += DUMP_FRAME_ALIGNMENT) {
      if (memcmp(bytes + i, magic, sizeof magic) == 0) {
        *offset += i;
        return TFPROF_OK;
      }
    }
    *offset += (length - DUMP_FRAME_HEADER_BYTES) / DUMP_FRAME_ALIGNMENT * DUMP_FRAME_ALIGNMENT + DUMP_FRAME_ALIGNMENT;
  }
  *offset = window->size;
  return TFPROF_OK;
}

static void tell_damage(struct dump_file *file, uint64_t start, uint64_t end, uint64_t lost_frames) {
  if (end > start) {
    reader_problem(file, "error", "damaged_frame", 0, lost_frames, start,
                   "%" PRIu64 " bytes are damaged and were skipped; frames lost with them: %" PRIu64,
                   end - start, lost_frames);
  } else if (lost_frames) {
    reader_problem(file, "error", "lost_frames", 0, lost_frames, start, "frames are missing: %" PRIu64, lost_frames);
  }
}

static void tell_tail(struct dump_file *file, uint64_t offset, uint64_t size) {
  file->private_state->tail_problem =
      reader_problem(file, "warning", "torn_tail", 0, size - offset, offset,
                     "the last %" PRIu64 " bytes are not a whole frame; what was recorded before them is shown",
                     size - offset);
}

/* A trailer closes the file when it is where it says that the file ends. */
static bool trailer_fits(const struct candidate *candidate, uint64_t offset) {
  struct dump_trailer trailer;
  if (candidate->header.head_length < DUMP_TRAILER_HEAD_BYTES) return false;
  dump_trailer_read(candidate->head, &trailer);
  return trailer.file_bytes == offset + dump_frame_span(&candidate->header);
}

/* Takes in the whole frame found at `offset`. *is_last: it is the trailer. */
static enum tfprof_status take_candidate(struct dump_file *file, const struct candidate *candidate, uint64_t offset,
                                         uint64_t damage_start, bool *is_last, struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  const struct dump_frame_header *header = &candidate->header;
  const char *refusal = NULL;
  *is_last = false;
  if (header->sequence < state->next_sequence) {
    tell_damage(file, damage_start, offset, 0);
    refusal = "it repeats an earlier frame";
  } else {
    tell_damage(file, damage_start, offset, file->is_last_part ? 0 : header->sequence - state->next_sequence);
    state->next_sequence = header->sequence + 1;
    enum tfprof_status status = reader_accept(file, header, offset, candidate->head, &refusal, error);
    if (status) return status;
    if (header->type == DUMP_TYPE_TRAILER) {
      *is_last = trailer_fits(candidate, offset);
      if (!*is_last) refusal = "it is a trailer, but not at the end of what it closes";
    }
  }
  if (refusal) {
    reader_problem(file, "error", "refused_frame", header->table, header->row_count, offset, "a frame was left out: %s",
                   refusal);
  }
  return TFPROF_OK;
}

enum tfprof_status reader_scan(struct dump_file *file, struct reader_window *window, struct tfprof_error *error) {
  struct dump_reader_private *state = file->private_state;
  uint64_t offset = file->scanned_bytes, damage_start = offset, budget = SEARCH_BUDGET(window->size);
  while (offset < window->size && !file->is_closed) {
    struct candidate candidate;
    enum verdict verdict;
    enum tfprof_status status = judge(file, window, offset, &candidate, &verdict, error);
    if (status) return status;
    if (verdict == FRAME_TORN) break;
    if (verdict == FRAME_WRONG) {
      if (candidate.cost > budget) {
        reader_problem(file, "error", "damaged_frame", 0, 0, offset,
                       "the file is full of false frames; what follows was not searched any further");
        file->scanned_bytes = damage_start;
        return TFPROF_OK;
      }
      budget -= candidate.cost;
      offset += DUMP_FRAME_ALIGNMENT;
      status = find_magic(window, &offset, error);
      if (status) return status;
      continue;
    }
    status = take_candidate(file, &candidate, offset, damage_start, &file->is_closed, error);
    if (status) return status;
    state->settled_end = offset + DUMP_FRAME_HEADER_BYTES + candidate.header.head_length + candidate.header.body_length;
    offset += dump_frame_span(&candidate.header);
    damage_start = offset;
    file->scanned_bytes = offset;
  }
  if (damage_start >= window->size) return TFPROF_OK;
  if (file->is_closed) {
    reader_problem(file, "warning", "bytes_after_trailer", 0, window->size - damage_start, damage_start,
                   "%" PRIu64 " bytes follow the end of the recording; they were not read",
                   window->size - damage_start);
  } else {
    tell_tail(file, damage_start, window->size);
  }
  return TFPROF_OK;
}
