/* profiler_messages.c: see profiler_messages.h.
**
** An answer may be of gigabytes and is read as it comes: its XSpace is handed on without being held.  Any bytes can
** come from an address that somebody typed, so lengths are checked against what is left of the message around them.
*/
#include "profiler_messages.h"

#include <string.h>

/* Numbers of fields. */
enum { REQUEST_DURATION = 1, REQUEST_OPTIONS = 4, REQUEST_SESSION = 6, REQUEST_HOST = 7, REQUEST_EMIT = 9 };
enum {
  OPTIONS_HOST = 2,
  OPTIONS_DEVICE = 3,
  OPTIONS_PYTHON = 4,
  OPTIONS_VERSION = 5,
  OPTIONS_PROGRAMS = 7, /* what XLA compiled */
  OPTIONS_DURATION = 9
};
enum { END_SESSION = 1, ANSWER_EMPTY = 7, ANSWER_SPACE = 8 };
enum { NUMBER = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* types of fields */
enum { HEAD_BYTES = 5 };

static uint8_t *write_number(uint8_t *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = (uint8_t)(value | 0x80);
  *to++ = (uint8_t)value;
  return to;
}

static uint8_t *write_number_field(uint8_t *to, unsigned field, uint64_t value) {
  return write_number(write_number(to, field << 3 | NUMBER), value);
}

static uint8_t *write_bytes_field(uint8_t *to, unsigned field, const void *bytes, size_t length) {
  to = write_number(write_number(to, field << 3 | BYTES), length);
  memcpy(to, bytes, length);
  return to + length;
}

static size_t bounded_length(const char *text) { return strnlen(text, PROFILER_TEXT_BYTES); }

/* Writes what stands before a message that ends there. */
static size_t frame(uint8_t *bytes, const uint8_t *end) {
  size_t length = (size_t)(end - bytes) - HEAD_BYTES;
  bytes[0] = 0;
  for (unsigned i = 1; i < HEAD_BYTES; i++) bytes[i] = (uint8_t)(length >> 8 * (HEAD_BYTES - 1 - i));
  return HEAD_BYTES + length;
}

size_t profiler_request_write(const struct profiler_wish *wish, const char *session, const char *host, uint8_t *bytes) {
  uint8_t options[64], *at = options, *to = bytes + HEAD_BYTES;
  at = write_number_field(at, OPTIONS_HOST, wish->host_level);
  at = write_number_field(at, OPTIONS_DEVICE, wish->device_level);
  at = write_number_field(at, OPTIONS_PYTHON, wish->python_level);
  at = write_number_field(at, OPTIONS_VERSION, 1);
  at = write_number_field(at, OPTIONS_PROGRAMS, 1);
  at = write_number_field(at, OPTIONS_DURATION, wish->duration_ms);
  to = write_number_field(to, REQUEST_DURATION, wish->duration_ms); /* older servers go by this one */
  to = write_bytes_field(to, REQUEST_OPTIONS, options, (size_t)(at - options));
  to = write_bytes_field(to, REQUEST_SESSION, session, bounded_length(session));
  to = write_bytes_field(to, REQUEST_HOST, host, bounded_length(host));
  to = write_number_field(to, REQUEST_EMIT, 1); /* or else the server writes a file where it runs */
  return frame(bytes, to);
}

size_t profiler_end_write(const char *session, uint8_t *bytes) {
  return frame(bytes, write_bytes_field(bytes + HEAD_BYTES, END_SESSION, session, bounded_length(session)));
}

/* ---- answers ---- */

static bool refuse_answer(struct profiler_answer *answer, const char *wrong) {
  answer->wrong = wrong;
  return false;
}

static bool take_head(struct profiler_answer *answer) {
  const uint8_t *head = answer->head;
  if (head[0] == 1) return refuse_answer(answer, "its answer is compressed, which it was not asked for");
  if (head[0]) return refuse_answer(answer, "its answer is no message of gRPC");
  for (unsigned i = 1; i < HEAD_BYTES; i++) answer->left = answer->left << 8 | head[i];
  if (answer->limit && answer->left > answer->limit)
    return refuse_answer(answer, "its profile is larger than --max-size allows");
  return true;
}

/* A byte of a tag, number or length. */
static bool take_digit(struct profiler_answer *answer, uint8_t byte) {
  enum { MOST_BITS = 64 };
  if (answer->shift >= MOST_BITS) return refuse_answer(answer, "its answer is damaged: a number has too many bytes");
  answer->number |= (uint64_t)(byte & 0x7f) << answer->shift;
  answer->shift += 7;
  if (byte & 0x80) return true;
  uint64_t number = answer->number;
  answer->number = 0;
  answer->shift = 0;
  if (answer->state == ANSWER_NUMBER) {
    if (answer->field == ANSWER_EMPTY) answer->is_empty = number != 0;
    answer->state = ANSWER_TAG;
    return true;
  }
  if (answer->state == ANSWER_TAG) {
    answer->field = (uint32_t)(number >> 3);
    answer->type = (uint32_t)(number & 7);
    if (number > UINT32_MAX || !answer->field)
      return refuse_answer(answer, "its answer is damaged: a field has no number");
    if (answer->type == NUMBER || answer->type == BYTES) {
      answer->state = answer->type == NUMBER ? ANSWER_NUMBER : ANSWER_LENGTH;
      return true;
    }
    number = answer->type == FIXED64 ? 8 : 4;
    if (answer->type != FIXED64 && answer->type != FIXED32)
      return refuse_answer(answer, "its answer is damaged: a field is of no type");
  }
  if (number > answer->left) return refuse_answer(answer, "its answer is damaged: a field is longer than the message");
  answer->piece = number;
  answer->state = number ? ANSWER_PIECE : ANSWER_TAG;
  return true;
}

/* Some bytes of a field; how many: 0: it has failed. */
static size_t take_piece(struct profiler_answer *answer, const uint8_t *bytes, size_t length) {
  if (length > answer->piece) length = (size_t)answer->piece;
  if (answer->field == ANSWER_SPACE && answer->type == BYTES) {
    if (!answer->put(answer->context, bytes, length)) return 0;
    answer->space += length;
  }
  answer->piece -= length;
  if (!answer->piece) answer->state = ANSWER_TAG;
  return length;
}

bool profiler_answer_take(struct profiler_answer *answer, const uint8_t *bytes, size_t length) {
  while (length && !answer->wrong) {
    size_t used = 1;
    if (answer->head_count < HEAD_BYTES) {
      answer->head[answer->head_count++] = *bytes;
      if (answer->head_count == HEAD_BYTES && !take_head(answer)) return false;
    } else if (!answer->left) {
      return refuse_answer(answer, "more comes behind its answer");
    } else if (answer->state == ANSWER_PIECE) {
      used = take_piece(answer, bytes, length); /* at most what is left, as its length was checked */
      if (!used) return false;
      answer->left -= used;
    } else {
      answer->left--;
      if (!take_digit(answer, *bytes)) return false;
    }
    bytes += used;
    length -= used;
  }
  return !answer->wrong;
}

bool profiler_answer_is_whole(const struct profiler_answer *answer) {
  return !answer->wrong && answer->head_count == HEAD_BYTES && !answer->left && answer->state == ANSWER_TAG &&
         !answer->shift;
}
